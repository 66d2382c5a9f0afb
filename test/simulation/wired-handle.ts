/** The inside of a sandbox as a process reaches it: commands and files over the wire. */
import type { Command, Commands, RunningCommand } from '../../src/core/commands.ts';
import { SubletError } from '../../src/core/errors.ts';
import type { Files } from '../../src/core/files.ts';
import type { SandboxHandle } from '../../src/provider/provider.ts';
import { untilAborted } from '../../src/manager/deadline.ts';
import { ENGINES_OWN } from './engines-own.ts';
import type { Simulation } from './simulation.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import { ask } from './wire.ts';

type CallBox = <T>(
  what: string,
  signal: AbortSignal | undefined,
  perform: (signal: AbortSignal | undefined) => Promise<T>,
) => Promise<T>;

/** A command is asked for; then it begins; then it is over. */
type Begin = (command: Command) => () => () => void;

export function wireHandle(simulation: Simulation, process: SimulatedProcess, handle: SandboxHandle): SandboxHandle {
  const { name } = handle.ref;
  const closed = new AbortController();
  const refusal = (): SubletError => new SubletError('PROVIDER_UNAVAILABLE', `The connection to ${name} broke.`);
  const call: CallBox = async (what, signal, perform) => {
    const answer = ask(simulation, process, { to: 'box', what, about: name, signal, perform, refusal });
    return untilAborted(answer, closed.signal);
  };
  const begins: Begin = (command) => {
    simulation.laws.commandAsked(process, name, String(command));
    return () => {
      simulation.laws.commandStarts(process, name, String(command));
      return ENGINES_OWN.includes(String(command)) ? () => {} : simulation.laws.truth.commandBegan(process, name);
    };
  };
  return {
    ...handle,
    commands: wireCommands(handle.commands, call, begins),
    files: wireFiles(handle.files, call, (path) => simulation.laws.fileWritten(name, path)),
    close: async () => {
      closed.abort(refusal());
      await handle.close();
    },
  };
}

function wireCommands(commands: Commands, call: CallBox, begins: Begin): Commands {
  return {
    run: (command, options) => {
      const start = begins(command);
      let end = (): void => {};
      let isGivenUp = false;
      const giveUp = (): void => {
        isGivenUp = true;
        end();
      };
      options?.signal?.addEventListener('abort', giveUp, { once: true });
      // One whose connection broke is known to nobody, whether or not it still runs.
      return call(`run "${String(command)}"`, options?.signal, (signal) => {
        end = start();
        if (isGivenUp) end();
        return commands.run(command, { ...options, signal });
      }).finally(giveUp);
    },
    start: async (command, options) => {
      const start = begins(command);
      const running = await call(`start "${String(command)}"`, options?.signal, async (signal) => {
        const end = start();
        const started = await commands.start(command, { ...options, signal }).catch((cause: unknown) => {
          end();
          throw cause;
        });
        started.wait().then(end, end);
        return started;
      });
      return wireRunning(running, call);
    },
    attach: async (id) => wireRunning(await call('attach to a command', undefined, () => commands.attach(id)), call),
    list: () => call('list commands', undefined, () => commands.list()),
  };
}

function wireRunning(running: RunningCommand, call: CallBox): RunningCommand {
  return {
    ...running,
    info: () => call('command info', undefined, () => running.info()),
    kill: (signal) => call('kill', undefined, () => running.kill(signal)),
    wait: (signal) => call('wait', signal, (inner) => running.wait(inner)),
  };
}

function wireFiles(files: Files, call: CallBox, written: (path: string) => void): Files {
  return new Proxy(files, {
    get(target, name) {
      const member = Reflect.get(target, name, target) as (...given: unknown[]) => Promise<unknown>;
      if (name === 'readStream') {
        return async function* (path: string): AsyncIterable<Uint8Array> {
          yield await call(`read ${path}`, undefined, () => target.read(path));
        };
      }
      if (name === 'write') {
        return (...given: Parameters<Files['write']>) =>
          call('files.write', undefined, () => target.write(...given).then(() => written(given[0])));
      }
      return (...given: unknown[]) =>
        call(`files.${String(name)}`, undefined, () => Reflect.apply(member, target, given));
    },
  });
}
