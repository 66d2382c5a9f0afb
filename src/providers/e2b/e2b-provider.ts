/** Sandboxes of E2B or of a server that speaks its protocol. */
import type { NetworkFact, NetworkLevel } from '../../core/network.ts';
import { abortedError, SubletError } from '../../core/errors.ts';
import type { Labels, SandboxMetrics } from '../../core/spec.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import { createShellFiles } from '../../provider/posix/shell-files.ts';
import type {
  AttachOptions,
  ListedSandbox,
  SandboxHandle,
  SandboxProvider,
  SandboxRef,
  SandboxSpec,
} from '../../provider/provider.ts';
import { E2bApi, type SandboxDetail } from './e2b-api.ts';
import { createE2bCommands } from './e2b-commands.ts';
import { CAPABILITIES, DEFAULT_CWD, type E2bConfig, readConfig } from './e2b-config.ts';
import { isGone, notFoundError, toE2bError } from './e2b-errors.ts';
import { makeSandbox, NAME, oldestOf } from './make-sandbox.ts';

export class E2bProvider implements SandboxProvider {
  readonly id = 'e2b';
  readonly capabilities: ReadonlySet<Capability>;
  readonly #config: E2bConfig;
  readonly #context: ProviderContext;
  /** Creates of this process that are under way, by name. */
  readonly #making = new Map<string, Promise<SandboxDetail>>();
  #api: Promise<E2bApi> | undefined;

  constructor(context: ProviderContext) {
    this.#context = context;
    this.#config = readConfig(context);
    const left = this.#config.keepMemory ? 'stop' : 'pause';
    this.capabilities = new Set(CAPABILITIES.filter((capability) => capability !== left));
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    if (signal.aborted) throw abortedError(signal);
    return this.#asked(signal, async (api) => {
      const underWay = this.#making.get(spec.name);
      const making = underWay
        ?.catch(() => undefined)
        .then((made) => made ?? makeSandbox(api, this.#config, spec, signal));
      const made = making ?? makeSandbox(api, this.#config, spec, signal);
      this.#making.set(spec.name, made);
      try {
        const handle = this.#handle(api, await made, spec.name, spec.env);
        await this.#prepare(handle);
        return handle;
      } finally {
        if (this.#making.get(spec.name) === made) this.#making.delete(spec.name);
      }
    });
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    return this.#asked(signal, async (api) => {
      const detail = await this.#find(api, ref, signal);
      return detail && this.#handle(api, detail, ref.name, options.env);
    });
  }

  /** By its id where that is known; else everything of that name. */
  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#asked(signal, async (api) => {
      if (ref.providerId !== undefined) return api.kill(ref.providerId, signal);
      const ids: string[] = [];
      for await (const { sandboxID } of api.list({ [NAME]: ref.name }, signal)) ids.push(sandboxID);
      await Promise.all(ids.map((id) => api.kill(id, signal)));
    });
  }

  async *list(filter: Labels, signal: AbortSignal): AsyncGenerator<ListedSandbox> {
    if (signal.aborted) throw abortedError(signal);
    try {
      for await (const detail of (await this.#open()).list(filter, signal)) {
        const { [NAME]: name, ...labels } = detail.metadata ?? {};
        if (signal.aborted) throw abortedError(signal);
        // What has no name of ours is not ours.
        if (name === undefined) continue;
        const createdAt = detail.startedAt === undefined ? undefined : Date.parse(detail.startedAt);
        yield { ref: { name, providerId: detail.sandboxID }, labels, state: this.#stateOf(detail), createdAt };
      }
    } catch (cause) {
      throw toE2bError(cause, signal);
    }
  }

  async pause(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#change(ref, signal, (api, id) => api.pause(id, this.#config.keepMemory, signal));
  }

  async resume(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const { keepMemory, timeoutMs } = this.#config;
    const body = { timeout: Math.ceil(timeoutMs / 1000), ...(keepMemory ? {} : { memory: false }) };
    await this.#change(ref, signal, (api, id) => api.connect(id, body, signal));
  }

  /** A pause without memory: the disk is kept, processes are gone. */
  stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    return this.pause(ref, signal);
  }

  start(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    return this.resume(ref, signal);
  }

  async extend(ref: SandboxRef, ms: number, signal: AbortSignal): Promise<number> {
    const granted = Math.min(ms, this.#config.maxTimeoutMs);
    await this.#change(ref, signal, (api, id) => api.setTimeout(id, Math.ceil(granted / 1000), signal));
    return this.#context.clock.now() + granted;
  }

  async setNetwork(ref: SandboxRef, level: NetworkLevel, signal: AbortSignal): Promise<void> {
    if (level !== 'none') {
      throw new SubletError('NETWORK_NOT_ENFORCEABLE', `The network of a sandbox of E2B cannot be made "${level}".`, {
        hint: 'It can be cut: "none".',
      });
    }
    await this.#change(ref, signal, (api, id) => api.cutNetwork(id, signal));
  }

  async portUrl(ref: SandboxRef, port: number, signal: AbortSignal): Promise<string> {
    return this.#asked(signal, async (api) => {
      const detail = await this.#find(api, ref, signal);
      if (detail === undefined) throw notFoundError(ref.name);
      const host = api.sandbox(detail).getHost(port);
      // A domain with a port is a server on plain HTTP.
      return `${/:\d+$/.test(host) ? 'http' : 'https'}://${host}`;
    });
  }

  async metrics(ref: SandboxRef, signal: AbortSignal): Promise<SandboxMetrics> {
    return this.#asked(signal, async (api) => {
      const id = await this.#idOf(api, ref, signal);
      const last = (await api.metrics(id, signal)).at(-1);
      return {
        memoryBytes: last?.memUsed,
        memoryLimitBytes: last?.memTotal || undefined,
        diskBytes: last?.diskUsed,
        diskLimitBytes: last?.diskTotal || undefined,
      };
    });
  }

  async close(): Promise<void> {
    // The SDK's connections are the process's, and keep it neither alive nor busy.
  }

  /** Every template has the default directory. */
  async #prepare(handle: SandboxHandle): Promise<void> {
    if (handle.workdir === DEFAULT_CWD) return;
    const made = await handle.commands.run(['mkdir', '-p', '--', handle.workdir], { cwd: '/' });
    if (made.exitCode === 0) return;
    throw new SubletError(
      'CREATE_FAILED',
      `The working directory ${handle.workdir} cannot be made: ${made.stderr.trim()}`,
      {
        hint: 'Set e2b.cwd to a directory that the user of the template may make.',
      },
    );
  }

  #handle(api: E2bApi, detail: SandboxDetail, name: string, env: SandboxSpec['env']): SandboxHandle {
    const { cwd: workdir } = this.#config;
    const sandbox = api.sandbox(detail);
    const { clock } = this.#context;
    const commands = createE2bCommands({ api, sandbox, clock, name, workdir, env: env ?? {} });
    const state = this.#stateOf(detail);
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

  #stateOf({ state }: SandboxDetail): ListedSandbox['state'] {
    if (state !== 'paused') return 'running';
    return this.#config.keepMemory ? 'paused' : 'stopped';
  }

  async #find(api: E2bApi, ref: SandboxRef, signal: AbortSignal): Promise<SandboxDetail | undefined> {
    const id = ref.providerId ?? (await oldestOf(api, ref.name, signal))?.sandboxID;
    return id === undefined ? undefined : api.find(id, signal);
  }

  async #idOf(api: E2bApi, ref: SandboxRef, signal: AbortSignal): Promise<string> {
    const id = ref.providerId ?? (await oldestOf(api, ref.name, signal))?.sandboxID;
    if (id === undefined) throw notFoundError(ref.name);
    return id;
  }

  async #change(
    ref: SandboxRef,
    signal: AbortSignal,
    change: (api: E2bApi, id: string) => Promise<unknown>,
  ): Promise<void> {
    await this.#asked(signal, async (api) => {
      try {
        await change(api, await this.#idOf(api, ref, signal));
      } catch (cause) {
        throw isGone(cause) ? notFoundError(ref.name, cause) : cause;
      }
    });
  }

  async #asked<T>(signal: AbortSignal, work: (api: E2bApi) => Promise<T>): Promise<T> {
    if (signal.aborted) throw abortedError(signal);
    try {
      return await work(await this.#open());
    } catch (cause) {
      throw toE2bError(cause, signal);
    }
  }

  #open(): Promise<E2bApi> {
    this.#api ??= E2bApi.open(this.#config);
    // What was not installed may be there the next time.
    this.#api.catch(() => (this.#api = undefined));
    return this.#api;
  }
}

/** null is E2B's default, which is open. What a server does not tell is not known. */
function networkOf({ allowInternetAccess, network }: SandboxDetail): NetworkFact {
  if (allowInternetAccess === false) return 'none';
  if (network?.denyOut?.includes('0.0.0.0/0') === true)
    return (network.allowOut ?? []).length === 0 ? 'none' : 'allowlist';
  return allowInternetAccess === undefined ? 'unknown' : 'open';
}
