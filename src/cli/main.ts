/** The `sublet` command: finds the command, runs it, and turns whatever happens into an exit status. */
import { ERROR_CODES, SubletError, toSubletError } from '../core/errors.ts';
import type { CommandContext } from './command.ts';
import { COMMANDS } from './command-table.ts';
import { createEngine, type Engine } from './engine.ts';
import { BrokenPipe, OutputFailed, watchForGivingUp } from './giving-up.ts';
import { parseCommandLine } from './parse/command-line.ts';
import { withProgress } from './progress.ts';
import { createTerminal, type Terminal } from './terminal.ts';

const BROKEN_PIPE_STATUS = 141;
/** Until there is another: a process that ends before it knows how has not succeeded. */
process.exitCode = ERROR_CODES.INTERNAL.exit;

async function main(args: readonly string[]): Promise<number> {
  const { signal, outputFailed } = watchForGivingUp(process);
  const terminal = createTerminal(process, outputFailed);
  const engine = createEngine(process.env, terminal);
  if (wantsPlainSandbox(args, process.env)) (await import('../head-start.ts')).takeHeadStart();
  let status: number;
  try {
    const context = { terminal, env: process.env, signal, sublet: engine.sublet };
    status = await Promise.race([dispatch(args, context), stalled()]);
    await closeEngine(engine, terminal);
    await terminal.flush();
    if (signal.reason instanceof OutputFailed) throw signal.reason;
  } catch (cause) {
    status = await fail(cause, signal, terminal);
    await closeEngine(engine, terminal).catch((second: unknown) => fail(second, signal, terminal));
  }
  await terminal.flush();
  return signal.reason instanceof BrokenPipe ? BROKEN_PIPE_STATUS : status;
}

/** Rejects when nothing is left that could bring an answer: the loop would run empty, and the process end as if all were well. */
function stalled(): Promise<never> {
  return new Promise((_, reject) => {
    process.once('beforeExit', () =>
      reject(new SubletError('INTERNAL', 'The answer never came: nothing is left that could bring it.')),
    );
  });
}

/** What `run` makes when nothing on its line or around it names another kind. What follows the command's name is the agent's. */
function wantsPlainSandbox([name, ...args]: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const end = args.indexOf('--');
  const own = end === -1 ? args : args.slice(0, end);
  return (
    name === 'run' &&
    end !== -1 &&
    !env['SUBLET_SANDBOX'] &&
    !own.some((arg) => /^(--sandbox|--thread|--help|-h)/u.test(arg))
  );
}

async function dispatch([name, ...args]: readonly string[], context: CommandContext): Promise<number> {
  if (name === undefined || name === 'help' || name === '--help' || name === '-h')
    return showHelp(args[0], context.terminal);
  const known = name === '--version' || name === '-V' ? 'version' : name;
  const load = Object.hasOwn(COMMANDS, known) ? COMMANDS[known] : undefined;
  if (load === undefined) throw await unknownCommand(name);
  const { command } = await load();
  const parsed = parseCommandLine(known, command, args);
  return parsed.help ? showHelp(known, context.terminal) : command.run(parsed.input, context);
}

async function showHelp(name: string | undefined, terminal: Terminal): Promise<number> {
  const { loadSpec, renderCommandHelp, renderProgramHelp } = await import('./render/help.ts');
  const { createColours } = await import('./render/colours.ts');
  const colours = createColours(terminal.colours('stdout'));
  const spec = name === undefined ? undefined : await loadSpec(name);
  if (name !== undefined && spec === undefined) throw await unknownCommand(name);
  const help = spec === undefined ? renderProgramHelp(colours) : renderCommandHelp(name ?? '', spec, colours);
  await terminal.write('stdout', await help);
  return 0;
}

async function unknownCommand(name: string): Promise<SubletError> {
  const { nearest } = await import('../core/nearest.ts');
  const close = nearest(name, Object.keys(COMMANDS));
  const hint = close === undefined ? 'sublet --help lists the commands.' : `Did you mean "sublet ${close}"?`;
  return new SubletError('USAGE', `There is no command "${name}".`, { hint });
}

async function closeEngine(engine: Engine, terminal: Terminal): Promise<void> {
  if (!engine.isOpen) return;
  await withProgress(terminal, 'Putting sandboxes away', () => engine.close());
}

async function fail(cause: unknown, signal: AbortSignal, terminal: Terminal): Promise<number> {
  const { createColours } = await import('./render/colours.ts');
  const { exitStatusOf, renderError } = await import('./render/error.ts');
  const error = toSubletError(cause, 'INTERNAL', signal);
  if (signal.reason instanceof BrokenPipe) return BROKEN_PIPE_STATUS;
  const debug = process.env['SUBLET_LOG'] === 'debug' || process.env['SUBLET_LOG'] === 'trace';
  await terminal.write('stderr', renderError(error, createColours(terminal.colours('stderr')), debug));
  return exitStatusOf(error);
}

// Exits by itself rather than when nothing is left to do: standard input may stay open for ever.
void main(process.argv.slice(2)).then((status) => process.exit(status));
