/** Sandboxes of Modal. The service is the only place where anything about them is kept. */
import { setMaxListeners } from 'node:events';
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
import { ServiceSandboxes } from '../../provider/service/service-sandboxes.ts';
import type { ModalApi } from './modal-api.ts';
import { CAPABILITIES, type ModalConfig } from './modal-config.ts';
import { assertPossible } from './modal-errors.ts';
import { type ModalBox, ModalService } from './modal-service.ts';
import { endsAt, networkOf, stateOf } from './sandbox-facts.ts';

interface Held {
  readonly id: string;
  readonly commands: RemoteCommands;
  /** Aborted when this process ends the sandbox: Modal's streams would be asked for again and again. */
  readonly leaving: AbortController;
  /** When this process last began a command; Modal does not say. */
  usedAt: number | undefined;
}

export class ModalProvider implements SandboxProvider {
  readonly id = 'modal';
  readonly capabilities: ReadonlySet<Capability> = new Set(CAPABILITIES);
  readonly #context: ProviderContext;
  readonly #config: ModalConfig;
  readonly #api: ModalApi;
  readonly #service: ModalService;
  readonly #boxes: ServiceSandboxes<ModalBox>;
  readonly #held = new HeldSandboxes<Held>();

  constructor(context: ProviderContext, config: ModalConfig, api: ModalApi) {
    this.#context = context;
    this.#config = config;
    this.#api = api;
    this.#service = new ModalService(api, config, context.clock);
    this.#boxes = new ServiceSandboxes(this.#service, context);
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    assertPossible(spec);
    const box = await this.#boxes.create(spec, signal);
    this.#hold(spec.name, box, spec.env).usedAt ??= this.#context.clock.now();
    return this.#handle(spec.name, box, spec.env);
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    const box = await this.#boxes.find(ref, signal);
    return box && this.#handle(ref.name, box, options.env);
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#boxes.destroy(ref, signal);
    this.#leave(ref.name);
  }

  list(filter: Labels, signal: AbortSignal): AsyncIterable<ListedSandbox> {
    return this.#boxes.list(filter, signal);
  }

  async stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    let before: ModalBox | undefined;
    const stop = (box: ModalBox): Promise<void> => {
      before = box;
      return this.#service.stop(box, this.#hold(ref.name, box, undefined).commands, signal);
    };
    await this.#boxes.move(ref, 'stopped', stop, signal);
    this.#leave(ref.name);
    if (before !== undefined) await this.#service.dropOlder(before, signal);
  }

  async start(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<void> {
    await this.#boxes.wake(ref, signal);
    this.#hold(ref.name, await this.#boxes.known(ref, signal), options.env);
  }

  async snapshot(ref: SandboxRef, signal: AbortSignal): Promise<SandboxSnapshot> {
    const box = await this.#boxes.known(ref, signal);
    if (stateOf(box) === 'running') return { image: await this.#api.snapshot(box.id, 'for good', signal) };
    throw new SubletError('STATE_CONFLICT', `The sandbox "${ref.name}" is stopped.`, { hint: 'Start it first.' });
  }

  async portUrl(ref: SandboxRef, port: number, signal: AbortSignal): Promise<string> {
    const box = await this.#boxes.known(ref, signal);
    const isOpen = networkOf(box) === 'open';
    const url = isOpen ? (await this.#api.tunnels(box.id, signal)).get(port) : undefined;
    if (url !== undefined) return url;
    throw new SubletError('UNSUPPORTED', `The port ${port} of the sandbox "${ref.name}" is not open.`, {
      hint: isOpen
        ? 'Name it in modal.ports before the sandbox is made.'
        : 'A sandbox without a network has no ports either.',
    });
  }

  async close(): Promise<void> {
    this.#held.clear();
    await this.#api.close();
  }

  #handle(name: string, box: ModalBox, env: SandboxSpec['env']): SandboxHandle {
    const { commands, usedAt } = this.#hold(name, box, env);
    const { cwd } = this.#config;
    return {
      ref: { name },
      state: stateOf(box),
      network: networkOf(box),
      workdir: cwd,
      deadManAt: endsAt(box, usedAt),
      commands,
      files: createShellFiles((command, options) => commands.run(command, options), cwd),
      close: () => Promise.resolve(),
    };
  }

  #hold(name: string, { id }: ModalBox, given: SandboxSpec['env']): Held {
    const { clock } = this.#context;
    const make = (env: () => Readonly<Record<string, string>>): Held => {
      const leaving = new AbortController();
      // Every command that runs listens.
      setMaxListeners(0, leaving.signal);
      const used = (): void => void (held.usedAt = clock.now());
      const place = { name, id, workdir: this.#config.cwd, left: leaving.signal, env, used };
      const held: Held = { id, commands: this.#service.commandsIn(place), leaving, usedAt: undefined };
      return held;
    };
    return this.#held.find(name, id, given) ?? this.#held.keep(name, id, given, make);
  }

  #leave(name: string): void {
    const held = this.#held.find(name, undefined);
    if (held === undefined) return;
    held.leaving.abort();
    this.#api.detach(held.id);
    this.#held.forget(name);
  }
}
