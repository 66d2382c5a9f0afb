/** Commands on the bare host: a tagged shell for each, in the sandbox's directory and with its environment. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
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
import type { FifoPool } from '../../provider/posix/fifo-pool.ts';
import type { LaunchLine, LaunchRequest } from '../../provider/posix/launch-line.ts';
import { killTagged, newTag, type ProcessTag, tagScript } from '../../provider/posix/process-tree.ts';
import { runProcess } from '../../provider/posix/run-process.ts';
import { commandArgv } from '../../provider/posix/shell-quote.ts';
import { spawnPiped } from '../../provider/posix/spawn-piped.ts';
import { baseEnvironment, type LocalPaths } from './local-config.ts';
import { lostError } from './local-errors.ts';
import type { LocalRecord } from './local-record.ts';

export interface LocalCommandsOptions {
  readonly record: LocalRecord;
  readonly paths: LocalPaths;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly pipes: FifoPool;
}

/** Linux takes no single argument above 128 KiB: a longer script goes through a descriptor. */
const MAX_ARGUMENT_BYTES = 100_000;

export class LocalCommands implements Commands {
  readonly #options: LocalCommandsOptions;
  readonly #background: BackgroundCommands;

  constructor(options: LocalCommandsOptions) {
    this.#options = options;
    this.#background = new BackgroundCommands({
      dir: options.paths.commands,
      clock: options.clock,
      launch: (request) => this.#launch(request),
      kill: async (tag, signal) => void (await killTagged({ tag }, signal)),
      newTag: () => this.#newTag(),
    });
  }

  async run(command: Command, options: RunOptions = {}): Promise<CommandResult> {
    if (options.signal?.aborted === true) throw abortedError(options.signal);
    const tag = this.#newTag();
    const line = await this.#launch({ command, cwd: options.cwd, env: options.env, tag, onTerminal: false });
    const child = await spawnPiped(line, this.#options.pipes, { stdin: options.stdin !== undefined });
    return runProcess(child, options, { clock: this.#options.clock, killTree: () => killTree(child.pid, tag) });
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

  #newTag(): ProcessTag {
    return newTag(this.#options.record.tagGroup);
  }

  async #launch(request: LaunchRequest): Promise<LaunchLine> {
    const { record, env } = this.#options;
    const cwd = await this.#directory(request.cwd);
    const line = { file: '/bin/sh', cwd, env: { ...baseEnvironment(record.workdir), ...env, ...request.env } };
    const argv = commandArgv(request.command, '/bin/sh');
    if (typeof request.command !== 'string' || Buffer.byteLength(request.command) < MAX_ARGUMENT_BYTES) {
      return { ...line, args: ['-c', `${tagScript(request.tag)}; exec "$@"`, 'sh', ...argv] };
    }
    const script = `${tagScript(request.tag)}; script=$(cat <&3); exec 3<&-; eval "unset script\n$script"`;
    return { ...line, args: ['-c', script, 'sh'], input: request.command };
  }

  /** A missing directory would make the start of the shell fail with a misleading "not found". */
  async #directory(cwd: string | undefined): Promise<string> {
    const { record, paths } = this.#options;
    const path = cwd === undefined ? record.workdir : resolve(record.workdir, cwd);
    if ((await stat(path).catch(() => undefined))?.isDirectory() === true) return path;
    if ((await stat(paths.record).catch(() => undefined)) === undefined) throw lostError(record.name);
    throw new SubletError('FILE_NOT_FOUND', `The working directory ${path} does not exist.`, { details: { path } });
  }
}

/** The group first: the very first shell may not have tagged itself yet. */
async function killTree(pid: number, tag: ProcessTag): Promise<void> {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is already gone.
  }
  await killTagged({ tag });
}
