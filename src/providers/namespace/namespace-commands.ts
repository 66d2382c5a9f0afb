/** Commands in one sandbox: foreground ones through armed shells, background ones through processes of their own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path/posix';
import type { Socket } from 'node:net';
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
import { BackgroundCommands } from '../../provider/posix/background-commands.ts';
import { commandScript } from '../../provider/posix/command-script.ts';
import { withoutInherited } from '../../provider/posix/inherited-descriptors.ts';
import type { LaunchLine, LaunchRequest } from '../../provider/posix/launch-line.ts';
import {
  findTagged,
  type KillSignal,
  killTagged,
  newTag,
  newTagGroup,
  type ProcessTag,
  tagScript,
} from '../../provider/posix/process-tree.ts';
import { type ProcessExit, runProcess } from '../../provider/posix/run-process.ts';
import { ownTurn } from '../../provider/posix/own-turn.ts';
import { type ArmedShell, OnlyShell, UNKNOWN_EXIT } from './armed-shell.ts';
import { Channel } from './channel.ts';
import { WORKDIR, type SandboxPaths } from './layout.ts';
import { lostError } from './namespace-errors.ts';
import type { PipeStock } from './pipe-stock.ts';
import { enterLine } from './enter-line.ts';
import { BASE_ENV, type Privileges } from './privileges.ts';
import { ResidentShell } from './resident-shell.ts';
import { isRunning, type SandboxRecord } from './sandbox-record.ts';
import type { FirstShell } from './start-sandbox.ts';

export interface CommandsContext {
  readonly record: SandboxRecord;
  readonly paths: SandboxPaths;
  readonly privileges: Privileges;
  readonly stock: PipeStock;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

const REST_AFTER_MS = 60_000;
/** When a command that has not ended is looked for among the sandbox's processes, first and at most. */
const FIRST_LOOK_MS = 2_000;
const MAX_LOOK_MS = 60_000;

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
    const shell = await (this.#takeOnly() ?? (await this.#residentShell())).take();
    const stdin = shell.start(script, options.stdin !== undefined);
    const streams = { stdin, stdout: shell.stdout, stderr: shell.stderr, exit: this.#exitOf(shell, tag) };
    const result = await runProcess(streams, options, {
      clock: this.#context.clock,
      killTree: () => this.#kill(tag),
    }).finally(() => this.#restLater());
    if (result.exitCode === null && !result.timedOut && !(await isRunning(this.#context.record)))
      throw lostError(this.#context.record.name);
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

  #takeOnly(): OnlyShell | undefined {
    const only = this.#only;
    this.#only = undefined;
    return only;
  }

  async #residentShell(): Promise<ResidentShell> {
    const present = await this.#resident?.catch(() => undefined);
    if (present?.isOpen === true) return present;
    this.#resident = this.#enter();
    return this.#resident;
  }

  /** Starts a resident shell in a sandbox that another process made, or whose own shell was killed. */
  async #enter(): Promise<ResidentShell> {
    const { record, privileges, paths, stock } = this.#context;
    if (!(await isRunning(record))) throw lostError(record.name);
    const channel = new Channel(paths.channel, `${process.pid}-${newTagGroup()}-`, stock);
    await channel.makeResident();
    const [program = '', ...args] = enterLine(privileges, record);
    const stdio = withoutInherited(['ignore', 'ignore', 'pipe', 'ignore', 'pipe']);
    await ownTurn();
    const child = spawn(
      program,
      [...args, 'sh', '-c', `cd ${WORKDIR}; exec sh /run/sublet/scripts/resident "$1"`, 'sh', channel.name],
      {
        detached: true,
        cwd: '/',
        env: BASE_ENV,
        stdio,
      },
    );
    child.unref();
    return ResidentShell.open(channel, said(child, record.name));
  }

  /**
   * How it ended, or unknown once nothing of the command is left: the agent can kill the shell that would have told. A process
   * that sheds its tag still holds its streams.
   */
  #exitOf(shell: ArmedShell, tag: ProcessTag): Promise<ProcessExit> {
    let cancel: () => void;
    const vanished = new Promise<ProcessExit>((resolve) => {
      const look = (ms: number): void => {
        cancel = this.#context.clock.schedule(ms, () => {
          void findTagged({ tag, inPidNamespaceOf: this.#context.record.init?.pid }).then((left) =>
            left.length === 0 && shell.stdout.isOver && shell.stderr.isOver
              ? resolve(UNKNOWN_EXIT)
              : look(Math.min(ms * 2, MAX_LOOK_MS)),
          );
        });
      };
      look(FIRST_LOOK_MS);
    });
    return Promise.race([shell.exit, vanished]).finally(() => cancel());
  }

  /** After a while without commands the waiting shells end; the next command finds its way in anew. */
  #restLater(): void {
    this.#cancelRest();
    this.#cancelRest = this.#context.clock.schedule(REST_AFTER_MS, () => void this.close(), { ref: false });
  }

  async #kill(tag: ProcessTag): Promise<void> {
    await killTagged({ tag, inPidNamespaceOf: this.#context.record.init?.pid });
  }

  /** Background commands get their script on descriptor 3, so that no value of theirs is in an argument or on the host. */
  async #launch(request: LaunchRequest): Promise<LaunchLine> {
    const { record, privileges } = this.#context;
    // Its number may be another's by now.
    if (!(await isRunning(record))) throw lostError(record.name);
    const [file = '', ...args] = enterLine(privileges, record, tagScript(request.tag));
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

/** Resolves with the first status line; rejects with what the way in said when it ends instead. */
function said(child: ChildProcess, name: string): Promise<void> {
  const [, , stderr, , status] = child.stdio as unknown as [null, null, Socket, null, Socket];
  let errors = '';
  stderr.on('data', (chunk: Buffer) => {
    if (errors.length < 2_000) errors += chunk.toString();
  });
  return new Promise<void>((resolve, reject) => {
    status.once('data', () => resolve());
    const fail = (): void =>
      reject(
        new SubletError('PROVIDER_UNAVAILABLE', `The sandbox ${name} could not be entered: ${errors.trim()}`, {
          hint: 'Try again; if it stays so, destroy the sandbox.',
        }),
      );
    child.once('error', fail);
    child.once('close', fail);
  }).finally(() => {
    stderr.destroy();
    status.destroy();
  });
}

/** Gentle signals are for the command, not for the host's program that waits for it; one on its way in is ended from outside. */
async function killInside(tag: ProcessTag, signal: KillSignal, init: number | undefined): Promise<void> {
  if (signal !== 'SIGKILL' && (await killTagged({ tag, inPidNamespaceOf: init }, signal)) > 0) return;
  await killTagged({ tag }, signal);
}
