/** Background commands of one sandbox whose insides only commands reach: kept inside it, so that they outlive this process and any other finds them. */
import type { Clock } from '../../../core/clock.ts';
import type {
  Command,
  CommandInfo,
  CommandResult,
  RunningCommand,
  RunOptions,
  StartOptions,
} from '../../../core/commands.ts';
import { abortedError, SubletError } from '../../../core/errors.ts';
import { type CommandId, newId } from '../../../core/ids.ts';
import type { ProcessTag } from '../process-tree.ts';
import { shellCommand } from '../shell-quote.ts';
import { COMMAND_MISSING, factsScript, LIST_SCRIPT, startScript } from './background-scripts.ts';
import { type CommandFacts, type CommandMeta, FACT_FIELDS, parseFacts, toInfo } from './command-facts.ts';
import { type FrozenCommand, InsideCommand } from './inside-command.ts';
import { type InsideTerminal, startTerminal, type TerminalChannel, type TerminalRequest } from './inside-terminal.ts';
import { assertStarted } from './start-outcome.ts';

export interface InsideCommandsOptions {
  readonly clock: Clock;
  /** Runs a script of ours in the sandbox with `sh`. `env` is what the command it starts may be given by inheritance. */
  run(script: string, options: RunOptions): Promise<CommandResult>;
  newTag(): ProcessTag;
  scriptFor(command: Command, tag: ProcessTag, options: StartOptions): string;
  environment(env: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>>;
  directory(cwd: string | undefined): string;
  /** Runs these words in a terminal. Absent: UNSUPPORTED. */
  readonly openTerminal?: ((request: TerminalRequest) => Promise<TerminalChannel>) | undefined;
  /** Where files can be read while nothing runs. */
  readonly readFrozen?: ((id: CommandId) => Promise<FrozenCommand>) | undefined;
}

const KEPT_TERMINALS = 8;

export class InsideCommands {
  readonly #options: InsideCommandsOptions;
  /** Terminals live in this process only. */
  readonly #terminals = new Map<CommandId, InsideTerminal>();

  constructor(options: InsideCommandsOptions) {
    this.#options = options;
  }

  async start(command: Command, options: StartOptions): Promise<RunningCommand> {
    if (options.signal?.aborted === true) throw abortedError(options.signal);
    const { clock } = this.#options;
    const tag = this.#options.newTag();
    const id = newId('cmd');
    const pty = options.pty !== undefined;
    const meta = {
      id,
      command: shellCommand(command),
      startedAt: clock.now(),
      pty,
      stdin: pty || options.stdin === true,
      tag,
    };
    if (options.pty === undefined) await this.#startRunner(command, meta, options);
    else await this.#startTerminal(command, meta, options);
    const running = this.#handle(meta);
    killOnAbort(running, options.signal);
    return running;
  }

  async attach(id: CommandId): Promise<RunningCommand> {
    const facts = /^cmd_[0-9a-z]+$/.test(id) ? await readFacts(this.#options, id) : undefined;
    if (facts !== undefined) return this.#handle(facts.meta);
    throw new SubletError('COMMAND_NOT_FOUND', `The sandbox has no background command "${id}".`, {
      hint: 'List them: finished commands are forgotten when many newer ones have been started.',
    });
  }

  async list(): Promise<readonly CommandInfo[]> {
    const fields = (await outputOf(this.#options, LIST_SCRIPT)).toString('utf8').split('\0');
    const infos: CommandInfo[] = [];
    for (let at = 0; at + FACT_FIELDS < fields.length; at += FACT_FIELDS) {
      infos.push(toInfo(parseFacts(fields.slice(at, at + FACT_FIELDS)), this.#options.clock.now()));
    }
    return infos.sort((a, b) => b.startedAt - a.startedAt);
  }

  async #startRunner(command: Command, meta: CommandMeta, options: StartOptions): Promise<void> {
    const { id, tag, stdin } = meta;
    const script = this.#options.scriptFor(command, tag, options);
    const start = { id, tag, stdin, script, timeoutMs: options.timeoutMs, meta: JSON.stringify(meta) };
    const env = this.#options.environment(options.env);
    assertStarted(await this.#options.run(startScript(start), { env }));
  }

  async #startTerminal(command: Command, meta: CommandMeta, options: StartOptions): Promise<void> {
    const { openTerminal } = this.#options;
    if (openTerminal === undefined) throw noTerminalError();
    const terminal = await startTerminal({
      ...this.#options,
      openTerminal,
      command,
      meta,
      options,
      kill: () => this.#handle(meta).kill(),
    });
    this.#terminals.set(meta.id, terminal);
    // What it wrote is kept here alone, so an ended one is kept for a while too.
    for (const [id, { hasEnded }] of [...this.#terminals].slice(0, -KEPT_TERMINALS))
      if (hasEnded) this.#terminals.delete(id);
  }

  #handle(meta: CommandMeta): InsideCommand {
    const { clock, readFrozen } = this.#options;
    return new InsideCommand({
      meta,
      clock,
      terminal: this.#terminals.get(meta.id),
      run: (script) => this.#options.run(script, {}),
      read: (script) => outputOf(this.#options, script),
      readFrozen,
    });
  }
}

async function readFacts(options: InsideCommandsOptions, id: CommandId): Promise<CommandFacts | undefined> {
  const output = await outputOf(options, factsScript(id), COMMAND_MISSING);
  return output.length === 0 ? undefined : parseFacts(output.toString('utf8').split('\0'));
}

/** Everything the script writes. `tolerated` is an exit status that is no failure. */
async function outputOf(options: InsideCommandsOptions, script: string, tolerated = 0): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const result = await options.run(script, { maxOutputBytes: 1000, onStdout: (chunk) => void chunks.push(chunk) });
  if (result.exitCode === 0 || result.exitCode === tolerated) return Buffer.concat(chunks);
  if (result.exitCode === COMMAND_MISSING) {
    throw new SubletError('COMMAND_NOT_FOUND', 'The background command is no longer kept.', {
      hint: 'List the commands: finished ones are forgotten when many newer ones have been started.',
    });
  }
  throw new SubletError(
    'PROVIDER_UNAVAILABLE',
    `A background command could not be looked at: ${result.stderr.trim()}`,
    {
      hint: 'Try again; if it stays so, destroy the sandbox.',
    },
  );
}

function noTerminalError(): SubletError {
  return new SubletError('UNSUPPORTED', 'This provider has no terminals.', {
    hint: 'Start the command without pty; its standard input and output are then pipes.',
  });
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
