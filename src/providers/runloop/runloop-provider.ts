/** Sandboxes that are devboxes of Runloop. The service is the only place where anything about them is kept. */
import { SubletError } from '../../core/errors.ts';
import type { Labels } from '../../core/spec.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { RemoteCommands } from '../../provider/posix/inside/remote-commands.ts';
import { createShellFiles } from '../../provider/posix/shell-files.ts';
import type {
  AttachOptions,
  ListedSandbox,
  SandboxHandle,
  SandboxProvider,
  SandboxRef,
  SandboxSnapshot,
  SandboxSpec,
} from '../../provider/provider.ts';
import { HeldSandboxes } from '../../provider/service/held-sandboxes.ts';
import { lookUntil } from '../../provider/service/look-until.ts';
import { ServiceSandboxes } from '../../provider/service/service-sandboxes.ts';
import { idleMsOf, networkOf, stateOf } from './devbox-facts.ts';
import type { Devbox, RunloopApi } from './runloop-api.ts';
import { createRunloopCommands } from './runloop-commands.ts';
import { capabilitiesOf, type RunloopConfig } from './runloop-config.ts';
import { assertPossible } from './runloop-errors.ts';
import { RunloopService } from './runloop-service.ts';

interface Held {
  readonly commands: RemoteCommands;
  /** When it was last seen to be in use; Runloop does not say. */
  usedAt: number;
}

export class RunloopProvider implements SandboxProvider {
  readonly id = 'runloop';
  readonly capabilities: ReadonlySet<Capability>;
  readonly #context: ProviderContext;
  readonly #config: RunloopConfig;
  readonly #api: RunloopApi;
  readonly #devboxes: ServiceSandboxes<Devbox>;
  readonly #held = new HeldSandboxes<Held>();

  constructor(context: ProviderContext, config: RunloopConfig, api: RunloopApi) {
    this.#context = context;
    this.#config = config;
    this.#api = api;
    this.capabilities = capabilitiesOf(config);
    this.#devboxes = new ServiceSandboxes(new RunloopService(api, config), context);
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    assertPossible(spec, this.#config);
    return this.#handle(spec.name, await this.#devboxes.create(spec, signal), spec.env);
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    const devbox = await this.#devboxes.find(ref, signal);
    return devbox && this.#handle(ref.name, devbox, options.env);
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#devboxes.destroy(ref, signal);
    this.#held.forget(ref.name);
  }

  list(filter: Labels, signal: AbortSignal): AsyncIterable<ListedSandbox> {
    return this.#devboxes.list(filter, signal);
  }

  async stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#devboxes.move(ref, 'stopped', ({ id }) => this.#api.suspend(id, signal), signal);
  }

  async start(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<void> {
    this.#held.find(ref.name, ref.providerId, options.env);
    await this.#devboxes.wake(ref, signal);
  }

  /** The idle time is as it was made; it begins anew. */
  async extend(ref: SandboxRef, _ms: number, signal: AbortSignal): Promise<number> {
    const devbox = await this.#devboxes.known(ref, signal);
    await this.#api.keepAlive(devbox.id, signal);
    const now = this.#context.clock.now();
    const held = this.#held.find(ref.name, devbox.id);
    if (held !== undefined) held.usedAt = now;
    return now + (idleMsOf(devbox) ?? 0);
  }

  /** Of its disk alone; it stays at Runloop. */
  async snapshot(ref: SandboxRef, signal: AbortSignal): Promise<SandboxSnapshot> {
    const { id } = await this.#devboxes.known(ref, signal);
    const { clock } = this.#context;
    const image = await this.#api.takeSnapshot(id, `${ref.name}-${clock.now().toString(36)}`, signal);
    const look = async (): Promise<SandboxSnapshot | undefined> => {
      const { status, error_message: reason } = await this.#api.snapshotStatus(image, signal);
      if (status === 'in_progress') return undefined;
      if (status === 'complete') return { image };
      const said = `The snapshot ${image} of ${ref.name} is in the state "${status}": ${reason ?? 'no reason given'}.`;
      throw new SubletError('PROVIDER_UNAVAILABLE', said, { hint: 'Try again, or look at it in the dashboard.' });
    };
    return (await lookUntil(clock, look, signal)) as SandboxSnapshot;
  }

  async portUrl(ref: SandboxRef, port: number, signal: AbortSignal): Promise<string> {
    return this.#api.portUrl((await this.#devboxes.known(ref, signal)).id, port, signal);
  }

  async close(): Promise<void> {
    this.#held.clear();
    await this.#api.close();
  }

  #handle(name: string, devbox: Devbox, env: SandboxSpec['env']): SandboxHandle {
    const { commands, usedAt } = this.#hold(name, devbox, env);
    const { cwd } = this.#config;
    const idleMs = idleMsOf(devbox);
    return {
      ref: { name, providerId: devbox.id },
      state: stateOf(devbox),
      network: networkOf(devbox, this.#config),
      workdir: cwd,
      deadManAt: idleMs === undefined ? undefined : usedAt + idleMs,
      commands,
      files: createShellFiles((command, options) => commands.run(command, options), cwd),
      close: () => Promise.resolve(),
    };
  }

  #hold(name: string, { id, create_time_ms: usedAt }: Devbox, given: SandboxSpec['env']): Held {
    const { clock } = this.#context;
    const options = { clock, api: this.#api, name, id, workdir: this.#config.cwd };
    return (
      this.#held.find(name, id, given) ??
      this.#held.keep(name, id, given, (env) => ({ commands: createRunloopCommands({ ...options, env }), usedAt }))
    );
  }
}
