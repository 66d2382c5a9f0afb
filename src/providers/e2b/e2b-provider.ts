/** Sandboxes of E2B or of a server that speaks its protocol. */
import { SubletError } from '../../core/errors.ts';
import type { NetworkLevel } from '../../core/network.ts';
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
import { E2bApi, type SandboxDetail } from './e2b-api.ts';
import { createE2bCommands } from './e2b-commands.ts';
import { CAPABILITIES, type E2bConfig, readConfig } from './e2b-config.ts';
import { E2bService, networkOf } from './e2b-service.ts';

export class E2bProvider implements SandboxProvider {
  readonly id = 'e2b';
  readonly capabilities: ReadonlySet<Capability>;
  readonly #config: E2bConfig;
  readonly #context: ProviderContext;
  readonly #api: E2bApi;
  readonly #service: E2bService;
  readonly #sandboxes: ServiceSandboxes<SandboxDetail>;
  readonly #held = new HeldSandboxes<RemoteCommands>();

  constructor(context: ProviderContext) {
    this.#context = context;
    this.#config = readConfig(context);
    const left = this.#config.keepMemory ? 'stop' : 'pause';
    this.capabilities = new Set(CAPABILITIES.filter((capability) => capability !== left));
    this.#api = new E2bApi(this.#config);
    this.#service = new E2bService(this.#api, this.#config, context.clock);
    this.#sandboxes = new ServiceSandboxes(this.#service, context);
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    assertPossible(spec);
    return this.#handle(await this.#sandboxes.create(spec, signal), spec.name, spec.env);
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    const detail = await this.#sandboxes.find(ref, signal);
    return detail && this.#handle(detail, ref.name, options.env);
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#sandboxes.destroy(ref, signal);
    this.#held.forget(ref.name);
  }

  list(filter: Labels, signal: AbortSignal): AsyncIterable<ListedSandbox> {
    return this.#sandboxes.list(filter, signal);
  }

  async pause(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#api.pause(await this.#sandboxes.idOf(ref, signal), this.#config.keepMemory, signal);
  }

  async resume(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#service.wake(await this.#sandboxes.idOf(ref, signal), signal);
  }

  /** A pause without memory: the disk is kept, processes are gone. */
  stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    return this.pause(ref, signal);
  }

  async start(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<void> {
    this.#held.find(ref.name, undefined, options.env);
    await this.resume(ref, signal);
  }

  async extend(ref: SandboxRef, ms: number, signal: AbortSignal): Promise<number> {
    const granted = Math.min(ms, this.#config.maxTimeoutMs);
    await this.#api.setTimeout(await this.#sandboxes.idOf(ref, signal), Math.ceil(granted / 1000), signal);
    return this.#context.clock.now() + granted;
  }

  async setNetwork(ref: SandboxRef, level: NetworkLevel, signal: AbortSignal): Promise<void> {
    if (level !== 'none') {
      throw new SubletError('NETWORK_NOT_ENFORCEABLE', `The network of a sandbox of E2B cannot be made "${level}".`, {
        hint: 'It can be cut: "none".',
      });
    }
    await this.#api.cutNetwork(await this.#sandboxes.idOf(ref, signal), signal);
  }

  async portUrl(ref: SandboxRef, port: number, signal: AbortSignal): Promise<string> {
    const sandbox = await this.#api.sandbox(await this.#sandboxes.known(ref, signal));
    const host = sandbox.getHost(port);
    // A domain with a port is a server on plain HTTP.
    return `${/:\d+$/.test(host) ? 'http' : 'https'}://${host}`;
  }

  async metrics(ref: SandboxRef, signal: AbortSignal): Promise<SandboxMetrics> {
    const last = (await this.#api.metrics(await this.#sandboxes.idOf(ref, signal), signal)).at(-1);
    return {
      memoryBytes: last?.memUsed,
      memoryLimitBytes: last?.memTotal || undefined,
      diskBytes: last?.diskUsed,
      diskLimitBytes: last?.diskTotal || undefined,
    };
  }

  async close(): Promise<void> {
    // The SDK's connections are the process's, and keep it neither alive nor busy.
    this.#held.clear();
  }

  async #handle(detail: SandboxDetail, name: string, env: SandboxSpec['env']): Promise<SandboxHandle> {
    const { cwd: workdir } = this.#config;
    const commands = await this.#commands(detail, name, env);
    const state = this.#service.stateOf(detail);
    const endAt = detail.endAt === undefined ? undefined : Date.parse(detail.endAt);
    return {
      ref: { name, providerId: detail.sandboxID },
      state,
      network: networkOf(detail),
      workdir,
      deadManAt: state === 'running' ? endAt : undefined,
      commands,
      files: createShellFiles((command, options) => commands.run(command, options), workdir),
      close: () => Promise.resolve(),
    };
  }

  async #commands(detail: SandboxDetail, name: string, given: SandboxSpec['env']): Promise<RemoteCommands> {
    const { sandboxID, envdAccessToken = '' } = detail;
    // Who has another token now is spoken to anew.
    const id = `${sandboxID} ${envdAccessToken}`;
    const present = this.#held.find(name, id, given);
    if (present !== undefined) return present;
    const sandbox = await this.#api.sandbox(detail);
    const { clock } = this.#context;
    const options = { api: this.#api, sandbox, clock, name, workdir: this.#config.cwd };
    return this.#held.keep(name, id, given, (env) => createE2bCommands({ ...options, env }));
  }
}

/** For what does not come through the manager, which asks the capabilities. */
function assertPossible(spec: SandboxSpec): void {
  if (spec.network === 'allowlist') {
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', 'The provider "e2b" cannot enforce network "allowlist".', {
      hint: 'It can enforce: open, none.',
    });
  }
}
