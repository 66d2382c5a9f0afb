/** Sandboxes of Daytona. The service is the only place where anything about them is kept. */
import { SubletError } from '../../core/errors.ts';
import type { NetworkLevel } from '../../core/network.ts';
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
  SandboxSpec,
} from '../../provider/provider.ts';
import { abortable } from '../../provider/abortable.ts';
import { HeldSandboxes } from '../../provider/service/held-sandboxes.ts';
import { ServiceSandboxes } from '../../provider/service/service-sandboxes.ts';
import type { DaytonaApi, DaytonaBox } from './daytona-api.ts';
import { createDaytonaCommands } from './daytona-commands.ts';
import { capabilitiesOf, type DaytonaConfig } from './daytona-config.ts';
import { assertPossible, deletingError } from './daytona-errors.ts';
import { DaytonaService, deadManOf, fixedWorkdir, MINUTE_MS, networkOf, toState } from './daytona-service.ts';

interface Held {
  readonly workdir: string;
  readonly commands: RemoteCommands;
}

export class DaytonaProvider implements SandboxProvider {
  readonly id = 'daytona';
  readonly capabilities: ReadonlySet<Capability>;
  readonly #context: ProviderContext;
  readonly #config: DaytonaConfig;
  readonly #api: DaytonaApi;
  readonly #boxes: ServiceSandboxes<DaytonaBox>;
  readonly #held = new HeldSandboxes<Held>();

  constructor(context: ProviderContext, config: DaytonaConfig, api: DaytonaApi) {
    this.#context = context;
    this.#config = config;
    this.#api = api;
    this.capabilities = capabilitiesOf(config);
    this.#boxes = new ServiceSandboxes(new DaytonaService(api, config), context);
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    assertPossible(spec);
    return this.#handle(spec.name, await this.#boxes.create(spec, signal), spec.env, signal);
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    const box = await this.#boxes.find(ref, signal);
    if (box?.state === 'destroying') throw deletingError(ref.name);
    return box && this.#handle(ref.name, box, options.env, signal);
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#boxes.destroy(ref, signal);
    this.#held.forget(ref.name);
  }

  list(filter: Labels, signal: AbortSignal): AsyncIterable<ListedSandbox> {
    return this.#boxes.list(filter, signal);
  }

  async pause(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#boxes.move(ref, 'paused', (box) => box.pause(), signal);
  }

  async resume(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#boxes.wake(ref, signal);
  }

  async stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const stop = async (box: DaytonaBox): Promise<void> => {
      if (box.autoDelete !== 0) return box.stop();
      throw new SubletError('UNSUPPORTED', `The sandbox ${ref.name} is ephemeral: it is gone when it stops.`, {
        hint: 'Use a session, whose sandbox can be stopped and started.',
      });
    };
    await this.#boxes.move(ref, 'stopped', stop, signal);
  }

  async start(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<void> {
    this.#held.find(ref.name, ref.providerId, options.env);
    await this.#boxes.wake(ref, signal);
  }

  async extend(ref: SandboxRef, ms: number, signal: AbortSignal): Promise<number> {
    const box = await this.#boxes.known(ref, signal);
    const minutes = Math.max(1, Math.ceil(ms / MINUTE_MS));
    await abortable(box.setAutoStop(minutes), signal);
    return this.#context.clock.now() + minutes * MINUTE_MS;
  }

  async setNetwork(ref: SandboxRef, level: NetworkLevel, signal: AbortSignal): Promise<void> {
    const box = await this.#boxes.known(ref, signal);
    const fact = networkOf(box);
    if (level === 'none') return fact === 'none' ? undefined : abortable(box.blockNetwork(), signal);
    if (fact === level) return undefined;
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', `The network of ${ref.name} cannot become "${level}".`, {
      hint: 'A network only tightens, here to "none". Make a new sandbox for another level.',
    });
  }

  async portUrl(ref: SandboxRef, port: number, signal: AbortSignal): Promise<string> {
    return abortable((await this.#boxes.known(ref, signal)).previewUrl(port), signal);
  }

  async close(): Promise<void> {
    this.#held.clear();
    await this.#api.close();
  }

  async #handle(name: string, box: DaytonaBox, env: SandboxSpec['env'], signal: AbortSignal): Promise<SandboxHandle> {
    const { workdir, commands } = await this.#hold(name, box, env, signal);
    return {
      ref: { name, providerId: box.id },
      state: toState(box.state),
      network: networkOf(box),
      workdir,
      deadManAt: deadManOf(box),
      commands,
      files: createShellFiles((command, options) => commands.run(command, options), workdir),
      close: () => Promise.resolve(),
    };
  }

  async #hold(name: string, box: DaytonaBox, env: SandboxSpec['env'], signal: AbortSignal): Promise<Held> {
    const present = this.#held.find(name, box.id, env);
    if (present !== undefined) return present;
    const known = fixedWorkdir(box) ?? (box.state === 'started' ? await abortable(box.workdir(), signal) : undefined);
    const workdir = known ?? this.#config.cwd ?? '/home/daytona';
    const { clock } = this.#context;
    const { passesEnv } = this.#api;
    const held = this.#held.keep(name, box.id, env, (current) => ({
      workdir,
      commands: createDaytonaCommands({ clock, name, box, passesEnv, workdir, env: current }),
    }));
    // What rests cannot be asked; where its working directory is matters when it runs again.
    if (known === undefined) this.#held.forget(name);
    return held;
  }
}
