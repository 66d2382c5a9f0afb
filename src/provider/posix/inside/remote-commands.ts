/**
 * All of `Commands` for a sandbox in which a provider can start a program and give its streams. Time-outs, aborts and
 * background commands are made of that: the tree of a command carries a tag and is ended from inside by it.
 */
import { resolve } from 'node:path/posix';
import type { Clock } from '../../../core/clock.ts';
import type {
  Command,
  CommandInfo,
  CommandResult,
  Commands,
  RunningCommand,
  RunOptions,
  StartOptions,
} from '../../../core/commands.ts';
import { abortedError, SubletError } from '../../../core/errors.ts';
import type { CommandId } from '../../../core/ids.ts';
import { commandScript } from '../command-script.ts';
import { newTag, newTagGroup, type ProcessTag, tagScript } from '../process-tree.ts';
import { type ProcessStreams, runProcess } from '../run-process.ts';
import { commandArgv, shellExports, shellQuote } from '../shell-quote.ts';
import { type FrozenCommand } from './inside-command.ts';
import { InsideCommands } from './inside-commands.ts';
import type { TerminalChannel, TerminalRequest } from './inside-terminal.ts';
import { IS_TREE_ALIVE, KILL_TREE } from './kill-tree.ts';

export interface RemoteRequest {
  readonly argv: readonly [string, ...string[]];
  /** Secrets: to be passed as variables, not in the words. */
  readonly env: Readonly<Record<string, string>>;
  /** Input will come; otherwise the program's is empty. */
  readonly stdin: boolean;
  /** All of it, where it is short and there already. Whoever sends it along with the program gives no stream for it. */
  readonly input?: Uint8Array | undefined;
  /** Whether something that the program has started lives, and may hold its streams. Absent where nothing can. */
  readonly isAlive?: (() => Promise<boolean>) | undefined;
}

export interface RemoteProcess extends ProcessStreams {
  /** Why the end is not known, once `exit` has given no exit code: the connection broke, the sandbox is gone. */
  failure(): Promise<SubletError | undefined>;
}

export interface RemoteCommandsOptions {
  readonly clock: Clock;
  readonly workdir: string;
  /** The sandbox's own. */
  readonly env: Readonly<Record<string, string>>;
  /** What the service takes at most in all words of a program together. Longer ones travel as input. */
  readonly maxWordsBytes?: number | undefined;
  /** Resolves when the program has been started. Rejects with an error of the table. */
  exec(request: RemoteRequest): Promise<RemoteProcess>;
  readonly openTerminal?: ((request: TerminalRequest) => Promise<TerminalChannel>) | undefined;
  readonly readFrozen?: ((id: CommandId) => Promise<FrozenCommand>) | undefined;
}

/** Linux takes no single argument above 128 KiB. */
const MAX_ARGUMENT_BYTES = 100_000;
/** Such an input goes along with its program. */
const SHORT_INPUT_BYTES = 16 * 1024;
/** A kill and a look at what lives see all processes of the sandbox, a kill several times. */
const KILL_TIMEOUT_MS = 30_000;

const LONG_SCRIPT = 'sublet_script=$(cat -- "$1"); rm -f -- "$1"; shift; eval "unset sublet_script\n$sublet_script"';

export class RemoteCommands implements Commands {
  readonly #options: RemoteCommandsOptions;
  readonly #background: InsideCommands;
  readonly #tags = newTagGroup();

  constructor(options: RemoteCommandsOptions) {
    this.#options = options;
    this.#background = new InsideCommands({
      clock: options.clock,
      run: (script, runOptions) => this.#script(script, runOptions),
      newTag: () => newTag(this.#tags),
      // Its variables are inherited from the script that starts it.
      scriptFor: (command, tag, { cwd }) => commandScript({ command, tag, cwd: this.#resolve(cwd), env: {} }),
      environment: (env) => this.#environment(env),
      directory: (cwd) => this.#resolve(cwd),
      openTerminal: options.openTerminal,
      readFrozen: options.readFrozen,
    });
  }

  async run(command: Command, options: RunOptions = {}): Promise<CommandResult> {
    if (options.signal?.aborted === true) throw abortedError(options.signal);
    const tag = newTag(this.#tags);
    const env = this.#environment(options.env);
    const enter = `${tagScript(tag)}\ncd -- ${shellQuote(this.#resolve(options.cwd))} || exit 126\n`;
    const argv = commandArgv(command);
    if (typeof command === 'string') return this.#run(await this.#shellWords(`${enter}${command}`), env, options, tag);
    const words: RemoteRequest['argv'] = ['sh', '-c', `${enter}exec "$@"`, 'sh', ...argv];
    if (byteLength(words) <= (this.#options.maxWordsBytes ?? Number.POSITIVE_INFINITY))
      return this.#run(words, env, options, tag);
    const script = `${enter}exec ${argv.map(shellQuote).join(' ')}`;
    return this.#run(await this.#shellWords(script), env, options, tag);
  }

  start(command: Command, options: StartOptions = {}): Promise<RunningCommand> {
    return this.#background.start(command, options);
  }

  attach(id: CommandId): Promise<RunningCommand> {
    return this.#background.attach(id);
  }

  list(): Promise<readonly CommandInfo[]> {
    return this.#background.list();
  }

  async #script(script: string, options: RunOptions): Promise<CommandResult> {
    return this.#run(await this.#shellWords(script), options.env ?? {}, options, undefined);
  }

  async #run(
    argv: RemoteRequest['argv'],
    env: Readonly<Record<string, string>>,
    options: RunOptions,
    tag: ProcessTag | undefined,
  ): Promise<CommandResult> {
    const killTree = (): Promise<void> => (tag === undefined ? Promise.resolve() : this.#kill(tag));
    const isAlive = tag === undefined ? undefined : (): Promise<boolean> => this.#isAlive(tag);
    const request = { argv, env, stdin: options.stdin !== undefined, input: shortInput(options.stdin), isAlive };
    const process = await this.#options.exec(request).catch(async (error: unknown) => {
      // Only the answer may be lost, and then it runs.
      if (SubletError.is(error, 'PROVIDER_UNAVAILABLE')) await killTree().catch(() => undefined);
      throw error;
    });
    const result = await runProcess(process, options, { clock: this.#options.clock, killTree });
    if (result.exitCode !== null || result.timedOut) return result;
    const failure = await process.failure();
    if (failure === undefined) return result;
    await killTree().catch(() => undefined);
    throw failure;
  }

  async #shellWords(script: string): Promise<RemoteRequest['argv']> {
    const maxBytes = Math.min(MAX_ARGUMENT_BYTES, this.#options.maxWordsBytes ?? MAX_ARGUMENT_BYTES);
    if (Buffer.byteLength(script) < maxBytes) return ['sh', '-c', script];
    const kept = await this.#run(
      ['sh', '-c', 'umask 077; file=$(mktemp) && cat >"$file" && echo "$file"'],
      {},
      { stdin: script },
      undefined,
    );
    if (kept.exitCode === 0) return ['sh', '-c', LONG_SCRIPT, 'sh', kept.stdout.trim()];
    throw new SubletError('PROVIDER_UNAVAILABLE', `A long script could not be kept: ${kept.stderr.trim()}`, {
      hint: 'It needs a place under /tmp in the sandbox. Make room there.',
    });
  }

  async #isAlive(tag: ProcessTag): Promise<boolean> {
    const script = `set -- ${tag}\n${IS_TREE_ALIVE}`;
    return (await this.#script(script, { timeoutMs: KILL_TIMEOUT_MS })).exitCode === 0;
  }

  async #kill(tag: ProcessTag): Promise<void> {
    const result = await this.#script(`set -- ${tag} KILL\n${KILL_TREE}`, { timeoutMs: KILL_TIMEOUT_MS });
    if (result.exitCode === 0) return;
    throw new SubletError('PROVIDER_UNAVAILABLE', 'Processes in the sandbox do not end.', {
      hint: 'Destroy the sandbox, or try again later.',
    });
  }

  #environment(env: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
    const all = { ...this.#options.env, ...env };
    // For its refusals: a name that a shell cannot hold, a NUL byte.
    shellExports(all);
    return all;
  }

  #resolve(cwd: string | undefined): string {
    const { workdir } = this.#options;
    return cwd === undefined ? workdir : resolve(workdir, cwd);
  }
}

function shortInput(input: RunOptions['stdin']): Uint8Array | undefined {
  if (typeof input !== 'string' && !(input instanceof Uint8Array)) return undefined;
  const bytes = typeof input === 'string' ? Buffer.from(input) : input;
  return bytes.length <= SHORT_INPUT_BYTES ? bytes : undefined;
}

function byteLength(words: readonly string[]): number {
  return words.reduce((total, word) => total + Buffer.byteLength(word), 0);
}
