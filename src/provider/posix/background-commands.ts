/** Commands that go on when the manager ends, and that any process can list, read, kill and wait for. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import type { Command, CommandInfo, Commands, RunningCommand, StartOptions } from '../../core/commands.ts';
import { abortedError, SubletError } from '../../core/errors.ts';
import { newId, type CommandId } from '../../core/ids.ts';
import { BackgroundCommand, type KillTree } from './background-command.ts';
import { commandIds, readInfo, readMeta, writeMeta } from './command-record.ts';
import { startRunner } from './command-runner.ts';
import type { LaunchLine, LaunchRequest } from './launch-line.ts';
import { newTag, type ProcessTag } from './process-tree.ts';
import type { PtySession } from './pty-command.ts';
import { shellCommand } from './shell-quote.ts';

export interface BackgroundCommandsOptions {
  /** On the host, where the sandbox cannot see it. Made on first use. */
  readonly dir: string;
  readonly clock: Clock;
  /** The host process that runs the command inside. */
  launch(request: LaunchRequest): LaunchLine | Promise<LaunchLine>;
  readonly kill: KillTree;
  /** Where tags come from; default: any. */
  newTag?(): ProcessTag;
}

/** Finished commands are kept until this many newer ones have been started. */
const KEPT_COMMANDS = 32;

export class BackgroundCommands implements Pick<Commands, 'start' | 'attach' | 'list'> {
  readonly #options: BackgroundCommandsOptions;
  /** Terminals live in this process only. */
  readonly #ptys = new Map<CommandId, PtySession>();

  constructor(options: BackgroundCommandsOptions) {
    this.#options = options;
  }

  async start(command: Command, options: StartOptions = {}): Promise<RunningCommand> {
    if (options.signal?.aborted === true) throw abortedError(options.signal);
    const { clock } = this.#options;
    const tag = this.#options.newTag?.() ?? newTag();
    const { cwd, env, pty } = options;
    const line = await this.#options.launch({ command, cwd, env, tag, onTerminal: pty !== undefined });
    const id = newId('cmd');
    const dir = join(this.#options.dir, id);
    await this.#prune();
    await mkdir(dir, { recursive: true, mode: 0o700 });
    try {
      const stdin = options.stdin === true || options.pty !== undefined;
      await writeMeta(dir, {
        id,
        command: shellCommand(command),
        startedAt: clock.now(),
        pty: options.pty !== undefined,
        stdin,
        tag,
      });
      if (options.pty === undefined) await startRunner({ dir, line, tag, stdin, timeoutMs: options.timeoutMs }, clock);
      else await this.#startPty(id, dir, line, tag, options);
    } catch (error) {
      await rm(dir, { recursive: true, force: true });
      throw error;
    }
    const running = await this.attach(id);
    killOnAbort(running, options.signal);
    return running;
  }

  async attach(id: CommandId): Promise<RunningCommand> {
    const dir = join(this.#options.dir, id);
    const meta = /^cmd_[0-9a-z]+$/.test(id) ? await readMeta(dir) : undefined;
    if (meta === undefined) {
      throw new SubletError('COMMAND_NOT_FOUND', `The sandbox has no background command "${id}".`, {
        hint: 'List them: finished commands are forgotten when many newer ones have been started.',
      });
    }
    return new BackgroundCommand({
      dir,
      meta,
      clock: this.#options.clock,
      kill: this.#options.kill,
      pty: this.#ptys.get(id),
    });
  }

  async list(): Promise<readonly CommandInfo[]> {
    const ids = await commandIds(this.#options.dir);
    const infos = await Promise.all(ids.map((id) => readInfo(join(this.#options.dir, id), this.#options.clock.now())));
    return infos.filter((info) => info !== undefined).sort((a, b) => b.startedAt - a.startedAt);
  }

  /** Its sandbox has ended: what was still on its way in ends too, and every command is known to be over. */
  async end(): Promise<void> {
    const running = (await this.list()).filter((info) => info.running);
    await Promise.all(
      running.map(async ({ id }) => {
        const command = await this.attach(id);
        await command.kill();
        await command.wait();
      }),
    );
  }

  async #startPty(id: CommandId, dir: string, line: LaunchLine, tag: ProcessTag, options: StartOptions): Promise<void> {
    const { startPty } = await import('./pty-command.ts');
    const { clock, kill } = this.#options;
    const size = options.pty ?? { cols: 80, rows: 24 };
    const session = await startPty({
      dir,
      line,
      size,
      clock,
      timeoutMs: options.timeoutMs,
      kill: () => kill(tag, 'SIGKILL'),
    });
    this.#ptys.set(id, session);
    void session.ended.then(() => this.#ptys.delete(id));
  }

  async #prune(): Promise<void> {
    const ids = await commandIds(this.#options.dir);
    if (ids.length <= KEPT_COMMANDS) return;
    const finished = (await this.list()).slice(KEPT_COMMANDS).filter((info) => !info.running);
    await Promise.all(finished.map((info) => rm(join(this.#options.dir, info.id), { recursive: true, force: true })));
  }
}

function killOnAbort(command: RunningCommand, signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  const onAbort = (): void => void command.kill().catch(() => undefined);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  void command
    .wait()
    .catch(() => undefined)
    .then(() => signal.removeEventListener('abort', onAbort));
}
