/** Sandboxes that are devboxes of Runloop. The service is the only place where anything about them is kept. */
import { sleep } from '../../core/clock.ts';
import { abortedError, SubletError } from '../../core/errors.ts';
import type { Labels } from '../../core/spec.ts';
import { abortable } from '../../provider/abortable.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { RemoteCommands } from '../../provider/posix/inside/remote-commands.ts';
import { createShellFiles } from '../../provider/posix/shell-files.ts';
import type {
  AttachOptions,
  ListedSandbox,
  ProviderState,
  SandboxHandle,
  SandboxProvider,
  SandboxRef,
  SandboxSpec,
} from '../../provider/provider.ts';
import { idleMsOf, isOver, labelsOf, NAME, networkOf, stateOf } from './devbox-facts.ts';
import { DevboxMaker } from './devbox-maker.ts';
import type { Devbox, RunloopApi } from './runloop-api.ts';
import { createRunloopCommands } from './runloop-commands.ts';
import { capabilitiesOf, type RunloopConfig } from './runloop-config.ts';
import { assertPossible, isGone, notFoundError } from './runloop-errors.ts';

/** What this process holds of a devbox. */
interface Held {
  readonly id: string;
  readonly commands: RemoteCommands;
  env: Readonly<Record<string, string>>;
  /** When it was last seen to be in use; Runloop does not say. */
  usedAt: number;
}

const FIRST_LOOK_MS = 50;
const MAX_LOOK_MS = 1000;
/** A shutdown that takes longer is stuck. */
const SHUTDOWN_LOOKS = 120;

export class RunloopProvider implements SandboxProvider {
  readonly id = 'runloop';
  readonly capabilities: ReadonlySet<Capability>;
  readonly #context: ProviderContext;
  readonly #config: RunloopConfig;
  readonly #api: RunloopApi;
  readonly #maker: DevboxMaker;
  readonly #held = new Map<string, Held>();

  constructor(context: ProviderContext, config: RunloopConfig, api: RunloopApi) {
    this.#context = context;
    this.#config = config;
    this.#api = api;
    this.capabilities = capabilitiesOf(config);
    this.#maker = new DevboxMaker(api, config, context.log, (id, isDone, signal) => this.#until(id, isDone, signal));
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    throwIfAborted(signal);
    assertPossible(spec, this.#config);
    const devbox = await abortable(this.#maker.make(spec, signal), signal);
    return this.#handle(spec.name, devbox, spec.env);
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    throwIfAborted(signal);
    const devbox = await this.#find(ref, signal);
    return devbox === undefined ? undefined : this.#handle(ref.name, devbox, options.env);
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    // A create that was given up may still be on its way there.
    await abortable(this.#maker.settled(ref.name), signal);
    const found =
      ref.providerId === undefined ? await this.#maker.named(ref.name, signal) : [await this.#find(ref, signal)];
    for (const devbox of found) if (devbox !== undefined) await this.#shutdown(devbox, ref.name, signal);
    this.#held.delete(ref.name);
  }

  async *list(filter: Labels, signal: AbortSignal): AsyncGenerator<ListedSandbox> {
    throwIfAborted(signal);
    for await (const devbox of this.#api.list(signal)) {
      const name = devbox.metadata[NAME];
      // The service filters by status alone.
      const isWanted = Object.entries(filter).every(([key, value]) => devbox.metadata[key] === value);
      if (name === undefined || !isWanted || isOver(devbox)) continue;
      const ref = { name, providerId: devbox.id };
      yield { ref, labels: labelsOf(devbox), state: stateOf(devbox), createdAt: devbox.create_time_ms };
      throwIfAborted(signal);
    }
  }

  async stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#move(ref, 'stopped', ({ id }) => this.#api.suspend(id, signal), signal);
  }

  async start(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<void> {
    const held = this.#held.get(ref.name);
    if (held !== undefined && options.env !== undefined) held.env = options.env;
    await this.#move(ref, 'running', ({ id }) => this.#api.resume(id, signal), signal);
  }

  /** The idle time is as it was made; it begins anew. */
  async extend(ref: SandboxRef, _ms: number, signal: AbortSignal): Promise<number> {
    const devbox = await this.#known(ref, signal);
    await this.#api.keepAlive(devbox.id, signal);
    const now = this.#context.clock.now();
    const held = this.#held.get(ref.name);
    if (held?.id === devbox.id) held.usedAt = now;
    return now + (idleMsOf(devbox) ?? 0);
  }

  async portUrl(ref: SandboxRef, port: number, signal: AbortSignal): Promise<string> {
    return this.#api.portUrl((await this.#known(ref, signal)).id, port, signal);
  }

  async close(): Promise<void> {
    this.#held.clear();
    await this.#api.close();
  }

  #handle(name: string, devbox: Devbox, env: SandboxSpec['env']): SandboxHandle {
    const held = this.#hold(name, devbox, env);
    const { cwd } = this.#config;
    const idleMs = idleMsOf(devbox);
    return {
      ref: { name, providerId: devbox.id },
      state: stateOf(devbox),
      network: networkOf(devbox, this.#config),
      workdir: cwd,
      deadManAt: idleMs === undefined ? undefined : held.usedAt + idleMs,
      commands: held.commands,
      files: createShellFiles((command, options) => held.commands.run(command, options), cwd),
      close: () => Promise.resolve(),
    };
  }

  #hold(name: string, { id, create_time_ms: createdAt }: Devbox, env: SandboxSpec['env']): Held {
    const present = this.#held.get(name);
    if (present?.id === id) {
      present.env = env ?? present.env;
      return present;
    }
    const { clock } = this.#context;
    const commands = createRunloopCommands({
      clock,
      api: this.#api,
      name,
      id,
      workdir: this.#config.cwd,
      env: () => held.env,
    });
    const held: Held = { id, commands, env: env ?? {}, usedAt: createdAt };
    this.#held.set(name, held);
    return held;
  }

  async #move(
    ref: SandboxRef,
    wanted: ProviderState,
    move: (devbox: Devbox) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const devbox = await this.#known(ref, signal);
    if (stateOf(devbox) === wanted) return;
    await move(devbox).catch(async (error: unknown) => {
      if (stateOf(await this.#known(ref, signal)) !== wanted) throw error;
    });
    await this.#until(devbox.id, (each) => stateOf(each) === wanted, signal);
  }

  async #shutdown(devbox: Devbox, name: string, signal: AbortSignal): Promise<void> {
    const isGoneAlready = await this.#api.shutdown(devbox.id, signal).then(
      () => false,
      (error: unknown) => isGone(error) || Promise.reject(error as Error),
    );
    if (isGoneAlready) return;
    for (let look = 0, waitMs = FIRST_LOOK_MS; look < SHUTDOWN_LOOKS; look++) {
      if ((await this.#find({ name, providerId: devbox.id }, signal)) === undefined) return;
      await this.#wait(waitMs, signal);
      waitMs = Math.min(waitMs * 1.3, MAX_LOOK_MS);
    }
    throw new SubletError('PROVIDER_UNAVAILABLE', `Runloop is shutting ${name} down and has not finished.`, {
      hint: 'Try again later; look at it in the dashboard if it stays so.',
    });
  }

  async #until(id: string, isDone: (devbox: Devbox) => boolean, signal: AbortSignal): Promise<Devbox> {
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * 1.3, MAX_LOOK_MS)) {
      const devbox = await this.#api.get(id, signal);
      if (isDone(devbox)) return devbox;
      if (isOver(devbox)) throw failedError(devbox);
      await this.#wait(waitMs, signal);
    }
  }

  /** undefined when there is none, or one that is not ours. */
  async #find(ref: SandboxRef, signal: AbortSignal): Promise<Devbox | undefined> {
    if (ref.providerId === undefined) return (await this.#maker.named(ref.name, signal))[0];
    const devbox = await this.#api.get(ref.providerId, signal).catch((error: unknown) => {
      if (isGone(error)) return undefined;
      throw error;
    });
    return devbox === undefined || isOver(devbox) || devbox.metadata[NAME] !== ref.name ? undefined : devbox;
  }

  async #known(ref: SandboxRef, signal: AbortSignal): Promise<Devbox> {
    throwIfAborted(signal);
    return (await this.#find(ref, signal)) ?? Promise.reject(notFoundError(ref.name));
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    await sleep(this.#context.clock, ms, signal).catch(() => undefined);
    throwIfAborted(signal);
  }
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortedError(signal);
}

function failedError({ id, status, failure_reason: failed, shutdown_reason: ended }: Devbox): SubletError {
  const reason = failed ?? ended ?? 'no reason given';
  return new SubletError('CREATE_FAILED', `The devbox ${id} is in the state "${status}": ${reason}.`, {
    hint: 'Look at its blueprint and its logs in the dashboard.',
  });
}
