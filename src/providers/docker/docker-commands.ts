/** Commands in one container: through slots where the image has a shell, as plain programs where it has none. */
import { resolve } from 'node:path/posix';
import type { Clock } from '../../core/clock.ts';
import type {
  Command,
  CommandInfo,
  CommandResult,
  Commands,
  RunningCommand,
  RunOptions,
  StartOptions,
} from '../../core/commands.ts';
import { abortedError, SubletError } from '../../core/errors.ts';
import type { CommandId } from '../../core/ids.ts';
import { commandScript } from '../../provider/posix/command-script.ts';
import { InsideCommands } from '../../provider/posix/inside/inside-commands.ts';
import { KILL_TREE } from '../../provider/posix/inside/kill-tree.ts';
import { newTag, newTagGroup, type ProcessTag } from '../../provider/posix/process-tree.ts';
import { runInTime } from '../../provider/posix/run-in-time.ts';
import { runProcess } from '../../provider/posix/run-process.ts';
import type { DockerApi } from './docker-api.ts';
import { isConflict, isGone, lostError, noShellError, notRunningError } from './docker-errors.ts';
import { openDockerTerminal } from './docker-terminal.ts';
import { BEGIN_MS, type ExecGate } from './exec-gate.ts';
import { readFrozenCommand } from './frozen-command.ts';
import { Waking } from './freeze-container.ts';
import { runPlainExec } from './plain-exec.ts';
import { slotCommand } from './shell-scripts.ts';
import { ShellSlot } from './shell-slot.ts';
import { SlotPool } from './slot-pool.ts';

export interface DockerCommandsOptions {
  readonly api: DockerApi;
  readonly clock: Clock;
  readonly gate: ExecGate;
  readonly name: string;
  /** The engine's id: a new container of the same name is another one. */
  readonly containerId: string;
  readonly image: string;
  readonly workdir: string;
  readonly hasShell: boolean;
  readonly env: Readonly<Record<string, string>>;
}

/** A kill looks at all processes of the container, several times. */
const KILL_TIMEOUT_MS = 30_000;

export class DockerCommands implements Commands {
  readonly #options: DockerCommandsOptions;
  readonly #pool: SlotPool;
  readonly #background: InsideCommands;
  readonly #tags = newTagGroup();
  readonly waking: Waking;
  #env: Readonly<Record<string, string>>;

  /** `first` is the slot that came with the container, if it is this process's own. */
  constructor(options: DockerCommandsOptions, first?: Promise<ShellSlot>) {
    this.#options = options;
    this.#env = options.env;
    this.waking = new Waking(options.clock);
    this.#pool = new SlotPool({ clock: options.clock, open: (once) => this.#openSlot(once) }, first);
    this.#background = new InsideCommands({
      clock: options.clock,
      run: (script, runOptions) => this.#runScript(script, runOptions),
      newTag: () => newTag(this.#tags),
      scriptFor: (command, tag, { cwd, env }) => this.#scriptFor(command, tag, cwd, env),
      environment: (env) => ({ ...this.#env, ...env }),
      directory: (cwd) => this.#resolve(cwd),
      openTerminal: (request) => openDockerTerminal(options, request),
      readFrozen: (id) => readFrozenCommand(options.api, options.containerId, id),
    });
  }

  /** What every command from now on is given besides its own. */
  setEnv(env: Readonly<Record<string, string>>): void {
    this.#env = env;
  }

  async run(command: Command, options: RunOptions = {}): Promise<CommandResult> {
    if (options.signal?.aborted === true) throw abortedError(options.signal);
    if (!this.#options.hasShell) return this.#runPlain(command, options);
    const tag = newTag(this.#tags);
    return this.#runScript(this.#scriptFor(command, tag, options.cwd, options.env), options, tag);
  }

  async start(command: Command, options: StartOptions = {}): Promise<RunningCommand> {
    this.#needShell();
    return this.#background.start(command, options);
  }

  async attach(id: CommandId): Promise<RunningCommand> {
    this.#needShell();
    return this.#background.attach(id);
  }

  async list(): Promise<readonly CommandInfo[]> {
    return this.#options.hasShell ? this.#background.list() : [];
  }

  /** Ends the waiting shells and waits until they have; commands that run go on. */
  leave(): Promise<void> {
    return this.#pool.leave();
  }

  /** Ends the waiting shells; commands that run go on. */
  close(): void {
    this.#pool.close();
  }

  #runScript(script: string, options: RunOptions, tag?: ProcessTag): Promise<CommandResult> {
    const { clock } = this.#options;
    const hasInput = options.stdin !== undefined;
    return runInTime(hasInput ? this.#pool.takeForInput() : this.#pool.take(), options, clock, {
      run: (slot, left) => this.#runIn(slot, script, left, tag),
      discard: (slot) => (hasInput ? slot.close() : this.#pool.giveBack(slot)),
    });
  }

  async #runIn(slot: ShellSlot, script: string, options: RunOptions, tag?: ProcessTag): Promise<CommandResult> {
    const killTree = (): Promise<void> => (tag === undefined ? Promise.resolve() : this.#kill(tag));
    const running = runProcess(slot.start(script), options, { clock: this.#options.clock, killTree });
    const result = await running.finally(() => this.#pool.giveBack(slot));
    if (result.exitCode === null && !result.timedOut) await this.#assertThere();
    return result;
  }

  #runPlain(command: Command, options: RunOptions): Promise<CommandResult> {
    const { api, clock, gate, containerId, image } = this.#options;
    if (typeof command === 'string') throw noShellError(image);
    const env = { ...this.#env, ...options.env };
    const exec = { gate, containerId, command, cwd: this.#resolve(options.cwd), env };
    return this.#translated(this.waking.orLater(() => runPlainExec(api, clock, exec, options), isAsleep));
  }

  #scriptFor(
    command: Command,
    tag: ProcessTag,
    cwd: string | undefined,
    env: Readonly<Record<string, string>> | undefined,
  ): string {
    return commandScript({ command, tag, cwd: this.#resolve(cwd), env: { ...this.#env, ...env } });
  }

  async #openSlot(once: boolean): Promise<ShellSlot> {
    const { gate, containerId } = this.#options;
    const opened = this.waking.orLater(() => gate.begin(containerId, () => this.#beginSlot(once)), isAsleep);
    return this.#translated(opened);
  }

  /** The shell's first word tells that it is in the container. */
  async #beginSlot(once: boolean): Promise<ShellSlot> {
    const { api, clock, containerId } = this.#options;
    const body = { Cmd: slotCommand(once), AttachStdin: true, AttachStdout: true, AttachStderr: true };
    const socket = await api.startExec(await api.createExec(containerId, body));
    const slot = new ShellSlot(socket, { once });
    const cancel = clock.schedule(BEGIN_MS, () => slot.close(), { ref: false });
    return slot.ready().finally(cancel);
  }

  /** Through a slot of its own: those of the commands to be killed are busy. */
  async #kill(tag: ProcessTag): Promise<void> {
    const script = `set -- ${tag} KILL\n${KILL_TREE}`;
    // However long an engine that hangs takes to bring it: until then the command is not ended.
    const slot = await this.#pool.take();
    const result = await this.#runIn(slot, script, { timeoutMs: KILL_TIMEOUT_MS });
    if (result.exitCode === 0) return;
    throw new SubletError('PROVIDER_UNAVAILABLE', `Processes in the container ${this.#options.name} do not end.`, {
      hint: 'Destroy the sandbox, or try again later.',
    });
  }

  /** SANDBOX_LOST or STATE_CONFLICT when the container is the reason for an unknown end. */
  async #assertThere(): Promise<void> {
    const { api, containerId, name } = this.#options;
    const { State } = await this.#translated(api.inspect(containerId));
    if (!State.Running) throw notRunningError(name);
  }

  #translated<T>(answer: Promise<T>): Promise<T> {
    const { name } = this.#options;
    return answer.catch((cause: unknown) => {
      if (isGone(cause)) throw lostError(name, cause);
      throw isConflict(cause) ? notRunningError(name, cause) : cause;
    });
  }

  #needShell(): void {
    const { hasShell, image } = this.#options;
    if (hasShell) return;
    throw new SubletError('UNSUPPORTED', `Background commands need a shell, and the image ${image} has none.`, {
      hint: 'Use run(), or choose an image with sh.',
    });
  }

  #resolve(cwd: string | undefined): string {
    const { workdir } = this.#options;
    return cwd === undefined ? workdir : resolve(workdir, cwd);
  }
}

function isAsleep(error: unknown): boolean {
  return isConflict(error) && /paused/i.test((error as Error).message);
}
