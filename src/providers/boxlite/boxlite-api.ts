/** BoxLite through its SDK. What may be asked again is; a create, a command and a change of state never are. */
import { type Clock, sleep } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import type { SandboxMetrics } from '../../core/spec.ts';
import type { ShellAnswer } from '../../provider/posix/inside/called-process.ts';
import { notFoundError } from '../../provider/service/service-errors.ts';
import type { Box, NewBox } from './box-facts.ts';
import type { BoxliteConfig } from './boxlite-config.ts';
import { toBoxliteError, translated } from './boxlite-errors.ts';
import { openRuntime, type Runtime } from './boxlite-runtime.ts';
import { assertServer, listServerBoxes, tunnelUri } from './server-boxes.ts';
import { assertWhole } from './whole-answer.ts';

type Handle = Awaited<ReturnType<Runtime['create']>>;
type Info = Awaited<ReturnType<Runtime['listInfo']>>[number];

/** The SDK gives a connection up that is silent for ten seconds, and may then wait for ever: calls answer before that. */
export const MAX_CALL_MS = 10_000;
const PATIENCE_MS = 5_000;
/** The SDK does not tell how long a server wants to be left alone. */
const BUSY_MS = 1_000;

export class BoxliteApi {
  readonly #config: BoxliteConfig;
  readonly #clock: Clock;
  readonly #handles = new Map<string, Promise<Handle>>();
  #runtime: Promise<Runtime> | undefined;

  constructor(config: BoxliteConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /** The new box's id. It is not started. */
  async create(wanted: NewBox, name: string): Promise<string> {
    const runtime = await this.#load();
    return (await translated(runtime.create(wanted, name))).id;
  }

  /** undefined when there certainly is none. */
  async get(idOrName: string, signal: AbortSignal): Promise<Box | undefined> {
    const runtime = await this.#load();
    const info = await this.#read(() => runtime.getInfo(idOrName), signal);
    if (info !== null) return fromInfo(info);
    const { place } = this.#config;
    // The SDK takes any 404 for an answer about the box.
    if (place.kind === 'server') await this.#read(() => assertServer(place, signal), signal);
    return undefined;
  }

  /** Every page. */
  async *list(signal: AbortSignal): AsyncGenerator<Box> {
    const { place } = this.#config;
    try {
      if (place.kind === 'server') yield* listServerBoxes(place, signal);
      else for (const info of await (await this.#load()).listInfo()) yield fromInfo(info);
    } catch (cause) {
      throw toBoxliteError(cause, signal);
    }
  }

  /** Already gone is success. */
  async remove(id: string): Promise<void> {
    const runtime = await this.#load();
    this.#handles.delete(id);
    await translated(runtime.remove(id, true));
  }

  async start(id: string): Promise<void> {
    await translated((await this.#handle(id)).start());
  }

  async stop(id: string): Promise<void> {
    await translated((await this.#handle(id)).stop());
  }

  async metrics(id: string): Promise<SandboxMetrics> {
    const { memoryBytes } = await translated((await this.#handle(id)).metrics());
    return { memoryBytes };
  }

  /** Where a server serves a port of the box; undefined on this machine. */
  async tunnelUri(id: string, port: number, signal: AbortSignal): Promise<string | undefined> {
    const { place } = this.#config;
    return place.kind === 'server' ? translated(tunnelUri(place, id, port, signal), signal) : undefined;
  }

  /** Runs a script with `sh`. What is read is text, so the script writes text. */
  async execute(id: string, script: string, env: Readonly<Record<string, string>>): Promise<ShellAnswer> {
    const handle = await this.#handle(id);
    const answer = translated(run(handle, script, env));
    let cancel = (): void => undefined;
    const late = new Promise<never>((_, reject) => {
      cancel = this.#clock.schedule(MAX_CALL_MS + PATIENCE_MS, () => reject(lostAnswer('it does not come')));
    });
    return Promise.race([answer, late]).finally(cancel);
  }

  close(): Promise<void> {
    this.#runtime = undefined;
    this.#handles.clear();
    return Promise.resolve();
  }

  async #read<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return translated(ask(), signal).catch(async (error: unknown) => {
      if (!SubletError.is(error, 'RATE_LIMITED')) throw error;
      await sleep(this.#clock, BUSY_MS, signal).catch(() => undefined);
      return translated(ask(), signal);
    });
  }

  #handle(id: string): Promise<Handle> {
    const present = this.#handles.get(id) ?? this.#find(id);
    this.#handles.set(id, present);
    return present.catch((error: unknown) => {
      this.#handles.delete(id);
      throw error;
    });
  }

  async #find(id: string): Promise<Handle> {
    const runtime = await this.#load();
    const handle = await translated(runtime.get(id));
    if (handle === null) throw notFoundError('BoxLite', id);
    return handle;
  }

  #load(): Promise<Runtime> {
    this.#runtime ??= openRuntime(this.#config.place).catch((error: unknown) => {
      this.#runtime = undefined;
      throw error;
    });
    return this.#runtime;
  }
}

async function run(handle: Handle, script: string, env: Readonly<Record<string, string>>): Promise<ShellAnswer> {
  const execution = await handle.exec('sh', ['-c', script], Object.entries(env), false);
  const stdout = await execution.stdout();
  let output = '';
  for (let chunk = await stdout.next(); chunk !== null; chunk = await stdout.next()) output += chunk;
  const { exitCode, errorMessage } = await execution.wait();
  if (exitCode < 0) throw lostAnswer(errorMessage ?? 'no reason given');
  assertWhole(output);
  return { exitCode, output };
}

function lostAnswer(reason: string): SubletError {
  return new SubletError('PROVIDER_UNAVAILABLE', `BoxLite lost the answer of a command: ${reason}.`, {
    hint: 'Try again; look at the connection to the server.',
  });
}

function fromInfo({ id, name, state, createdAt, autoStop, network }: Info): Box {
  const at = Date.parse(createdAt);
  return {
    id,
    name,
    status: state.status,
    createdAt: Number.isNaN(at) ? undefined : at,
    autoStop,
    outbound: network?.outbound.mode,
    ports: network?.publishedPorts ?? [],
  };
}
