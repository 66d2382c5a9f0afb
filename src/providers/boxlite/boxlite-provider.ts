/** Sandboxes that are boxes of BoxLite. BoxLite, or its server, is the only place where anything about them is kept. */
import { SubletError } from '../../core/errors.ts';
import type { Labels, SandboxMetrics } from '../../core/spec.ts';
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
  SandboxSpec,
} from '../../provider/provider.ts';
import { HeldSandboxes } from '../../provider/service/held-sandboxes.ts';
import { ServiceSandboxes } from '../../provider/service/service-sandboxes.ts';
import { type Box, idleMsOf, networkOf, readBox } from './box-facts.ts';
import type { BoxliteApi } from './boxlite-api.ts';
import { createBoxliteCommands } from './boxlite-commands.ts';
import { type BoxliteConfig, capabilitiesOf } from './boxlite-config.ts';
import { assertPossible } from './boxlite-errors.ts';
import { BoxliteService } from './boxlite-service.ts';
import { assertVmSupport } from './vm-support.ts';

interface Held {
  readonly commands: RemoteCommands;
  /** When it was last seen to be in use; BoxLite does not say. */
  usedAt: number;
}

export class BoxliteProvider implements SandboxProvider {
  readonly id = 'boxlite';
  readonly capabilities: ReadonlySet<Capability>;
  readonly boundToHost: false | 'home';
  readonly #context: ProviderContext;
  readonly #config: BoxliteConfig;
  readonly #api: BoxliteApi;
  readonly #boxes: ServiceSandboxes<Box>;
  readonly #held = new HeldSandboxes<Held>();

  constructor(context: ProviderContext, config: BoxliteConfig, api: BoxliteApi) {
    this.#context = context;
    this.#config = config;
    this.#api = api;
    this.boundToHost = config.place.kind === 'machine' && 'home';
    this.capabilities = capabilitiesOf(config);
    this.#boxes = new ServiceSandboxes(new BoxliteService(api, config), context);
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    assertPossible(spec);
    if (this.boundToHost === 'home') await assertVmSupport();
    return this.#handle(spec.name, await this.#boxes.create(spec, signal), spec.env);
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    const box = await this.#boxes.find(ref, signal);
    return box && this.#handle(ref.name, box, options.env);
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#boxes.destroy(ref, signal);
    this.#held.forget(ref.name);
  }

  list(filter: Labels, signal: AbortSignal): AsyncIterable<ListedSandbox> {
    return this.#boxes.list(filter, signal);
  }

  async stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#boxes.move(ref, 'stopped', ({ id }) => this.#api.stop(id), signal);
  }

  async start(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<void> {
    this.#held.find(ref.name, ref.providerId, options.env);
    await this.#boxes.wake(ref, signal);
  }

  /** A server counts from the last use, and a command that does nothing is one. */
  async extend(ref: SandboxRef, _ms: number, signal: AbortSignal): Promise<number> {
    const box = await this.#boxes.known(ref, signal);
    await this.#api.execute(box.id, ':', {});
    const now = this.#context.clock.now();
    const held = this.#held.find(ref.name, box.id);
    if (held !== undefined) held.usedAt = now;
    return now + (idleMsOf(box) ?? 0);
  }

  async metrics(ref: SandboxRef, signal: AbortSignal): Promise<SandboxMetrics> {
    return this.#api.metrics((await this.#boxes.known(ref, signal)).id);
  }

  async portUrl(ref: SandboxRef, port: number, signal: AbortSignal): Promise<string> {
    const box = await this.#boxes.known(ref, signal);
    const published = box.ports.find(({ guestPort }) => guestPort === port);
    if (published !== undefined) return `http://${published.hostIp}:${published.hostPort}`;
    const uri = await this.#api.tunnelUri(box.id, port, signal);
    if (uri !== undefined) return uri;
    throw new SubletError('UNSUPPORTED', `The box has no way from this machine to its port ${port}.`, {
      hint: 'Name the port in boxlite.ports of the profile before the box is made.',
    });
  }

  async close(): Promise<void> {
    this.#held.clear();
    await this.#api.close();
  }

  #handle(name: string, box: Box, env: SandboxSpec['env']): SandboxHandle {
    const { commands, usedAt } = this.#hold(name, box, env);
    const { cwd } = this.#config;
    const idleMs = idleMsOf(box);
    return {
      ref: { name, providerId: box.id },
      state: readBox(box)?.state ?? 'unknown',
      network: networkOf(box),
      workdir: cwd,
      deadManAt: idleMs === undefined ? undefined : usedAt + idleMs,
      commands,
      files: createShellFiles((command, options) => commands.run(command, options), cwd),
      close: () => Promise.resolve(),
    };
  }

  #hold(name: string, { id, createdAt }: Box, given: SandboxSpec['env']): Held {
    const { clock } = this.#context;
    const options = { clock, api: this.#api, name, id, workdir: this.#config.cwd };
    const usedAt = createdAt ?? clock.now();
    return (
      this.#held.find(name, id, given) ??
      this.#held.keep(name, id, given, (env) => ({ commands: createBoxliteCommands({ ...options, env }), usedAt }))
    );
  }
}
