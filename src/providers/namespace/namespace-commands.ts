/** Commands in one sandbox: foreground ones through armed shells, background ones through processes of their own. */
import { resolve } from 'node:path/posix';
import type {
  Command,
  CommandInfo,
  CommandResult,
  Commands,
  RunningCommand,
  RunOptions,
  StartOptions,
} from '../../core/commands.ts';
import { abortedError } from '../../core/errors.ts';
import type { CommandId } from '../../core/ids.ts';
import { BackgroundCommands } from '../../provider/posix/background-commands.ts';
import { commandScript } from '../../provider/posix/command-script.ts';
import type { LaunchLine, LaunchRequest } from '../../provider/posix/launch-line.ts';
import {
  type KillSignal,
  killTagged,
  newTag,
  newTagGroup,
  type ProcessTag,
  tagScript,
} from '../../provider/posix/process-tree.ts';
import { runInTime } from '../../provider/posix/run-in-time.ts';
import { runArmed } from './armed-command.ts';
import { type ArmedShell, OnlyShell } from './armed-shell.ts';
import { type EnterContext, enterSandbox } from './enter-sandbox.ts';
import { WORKDIR } from './layout.ts';
import { lostError } from './namespace-errors.ts';
import { enterLine } from './enter-line.ts';
import { BASE_ENV } from './privileges.ts';
import type { ResidentShell } from './resident-shell.ts';
import { isRunning } from './sandbox-record.ts';
import type { FirstShell } from './start-sandbox.ts';

export interface CommandsContext extends EnterContext {
  readonly env: Readonly<Record<string, string>>;
}

const REST_AFTER_MS = 60_000;

export class NamespaceCommands implements Commands {
  readonly #context: CommandsContext;
  readonly #background: BackgroundCommands;
  readonly #tags = newTagGroup();
  #env: Readonly<Record<string, string>>;
  #resident: Promise<ResidentShell> | undefined;
  #only: OnlyShell | undefined;
  #cancelRest: () => void = () => undefined;

  /** `first` is the shell that came with the sandbox, if this process started it. */
  constructor(context: CommandsContext, first?: FirstShell) {
    this.#context = context;
    this.#env = context.env;
    if (first instanceof OnlyShell) this.#only = first;
    else if (first !== undefined) this.#resident = Promise.resolve(first);
    this.#background = new BackgroundCommands({
      dir: context.paths.commands,
      clock: context.clock,
      launch: (request) => this.#launch(request),
      kill: (tag, signal) => killInside(tag, signal, context.record.init?.pid),
    });
  }

  /** What every command from now on is given besides its own. */
  setEnv(env: Readonly<Record<string, string>>): void {
    this.#env = env;
  }

  async run(command: Command, options: RunOptions = {}): Promise<CommandResult> {
    if (options.signal?.aborted === true) throw abortedError(options.signal);
    const tag = newTag(this.#tags);
    const script = commandScript({
      command,
      cwd: this.#resolve(options.cwd),
      env: { ...this.#env, ...options.env },
      tag,
    });
    this.#cancelRest();
    const { clock, record } = this.#context;
    const result = await runInTime(this.#armedShell(), options, clock, {
      run: (shell, left) => runArmed(shell, { script, tag, init: record.init?.pid }, left, clock),
      discard: (shell) => shell.leave(),
    }).finally(() => this.#restLater());
    if (result.exitCode === null && !result.timedOut && !(await isRunning(record)))
      throw await this.#orMemoryKill(lostError(record.name));
    return result;
  }

  start(command: Command, options?: StartOptions): Promise<RunningCommand> {
    return this.#background.start(command, options);
  }

  attach(id: CommandId): Promise<RunningCommand> {
    return this.#background.attach(id);
  }

  list(): Promise<readonly CommandInfo[]> {
    return this.#background.list();
  }

  /** After the sandbox's processes have ended: see `BackgroundCommands.end`. */
  end(): Promise<void> {
    return this.#background.end();
  }

  /** Ends the waiting shells; commands that run go on, and the next one finds its way in anew. */
  async close(): Promise<void> {
    this.#cancelRest();
    this.#takeOnly()?.close();
    const resident = await this.#resident?.catch(() => undefined);
    resident?.close();
  }

  async #orMemoryKill(cause: unknown): Promise<unknown> {
    const { orMemoryKill } = await import('./memory-kill.ts');
    return orMemoryKill(this.#context.record, 'SANDBOX_LOST', cause);
  }

  #takeOnly(): OnlyShell | undefined {
    const only = this.#only;
    this.#only = undefined;
    return only;
  }

  /** Once more by a way in of its own when the agent has killed or stopped what would have brought one: nothing has begun yet. */
  async #armedShell(): Promise<ArmedShell> {
    try {
      const first = this.#takeOnly() ?? (await this.#residentShell());
      return await first.take().catch(async () => (await this.#residentShell()).take());
    } catch (cause) {
      throw await this.#orMemoryKill(cause);
    }
  }

  async #residentShell(): Promise<ResidentShell> {
    const known = this.#resident;
    const present = await known?.catch(() => undefined);
    if (present?.isOpen === true) return present;
    // Of those who waited for the same one, the first enters for all.
    const newer = this.#resident === known ? undefined : this.#resident;
    this.#resident = newer ?? enterSandbox(this.#context);
    return this.#resident;
  }

  /** After a while without commands the waiting shells end; the next command finds its way in anew. */
  #restLater(): void {
    this.#cancelRest();
    this.#cancelRest = this.#context.clock.schedule(REST_AFTER_MS, () => void this.close(), { ref: false });
  }

  /** Background commands get their script on descriptor 3, so that no value of theirs is in an argument or on the host. */
  async #launch(request: LaunchRequest): Promise<LaunchLine> {
    const { record, privileges } = this.#context;
    // Its number may be another's by now.
    if (!(await isRunning(record))) throw lostError(record.name);
    const [file = '', ...args] = enterLine(privileges, record, tagScript(request.tag), request.onTerminal);
    const input = commandScript({
      command: request.command,
      cwd: this.#resolve(request.cwd),
      env: { ...this.#env, ...request.env },
      tag: request.tag,
    });
    return {
      file,
      args: [
        ...args,
        'sh',
        '-c',
        'sublet_script=$(cat <&3); exec 3<&-; eval "unset sublet_script; $sublet_script"',
        'sh',
      ],
      env: BASE_ENV,
      cwd: '/',
      input,
    };
  }

  #resolve(cwd: string | undefined): string {
    return cwd === undefined ? WORKDIR : resolve(WORKDIR, cwd);
  }
}

/** Gentle signals are for the command, not for the host's program that waits for it; one on its way in is ended from outside. */
async function killInside(tag: ProcessTag, signal: KillSignal, init: number | undefined): Promise<void> {
  if (signal !== 'SIGKILL' && (await killTagged({ tag, inPidNamespaceOf: init }, signal)) > 0) return;
  await killTagged({ tag }, signal);
}
