/** Sandboxes that are sessions of AgentBay. The service is the only place where anything about them is kept. */
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
import type { AgentBayApi } from './agentbay-api.ts';
import { createAgentBayCommands } from './agentbay-commands.ts';
import { type AgentBayConfig, capabilitiesOf } from './agentbay-config.ts';
import { assertPossible, isUnsupported } from './agentbay-errors.ts';
import { AgentBayService } from './agentbay-service.ts';
import { type BaySession, idleMsOf, networkOf, readSession } from './session-facts.ts';

interface Held {
  readonly commands: RemoteCommands;
  /** When it was last seen to be in use; AgentBay does not say. */
  usedAt: number;
}

/** The only ports of a session that can be reached. */
const PORTS = { first: 30_100, last: 30_199 } as const;

export class AgentBayProvider implements SandboxProvider {
  readonly id = 'agentbay';
  readonly capabilities: ReadonlySet<Capability>;
  readonly #context: ProviderContext;
  readonly #config: AgentBayConfig;
  readonly #api: AgentBayApi;
  readonly #sessions: ServiceSandboxes<BaySession>;
  readonly #held = new HeldSandboxes<Held>();
  /** Why a session cannot be paused, by its id: AgentBay said so once, and is not asked again. */
  readonly #cannotPause = new Map<string, SubletError>();

  constructor(context: ProviderContext, config: AgentBayConfig, api: AgentBayApi) {
    this.#context = context;
    this.#config = config;
    this.#api = api;
    this.capabilities = capabilitiesOf(config);
    const { clock, log } = context;
    this.#sessions = new ServiceSandboxes(new AgentBayService({ api, config, clock, log }), context);
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    assertPossible(spec, this.#config);
    return this.#handle(spec.name, await this.#sessions.create(spec, signal), spec.env);
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    const session = await this.#sessions.find(ref, signal);
    return session && this.#handle(ref.name, session, options.env);
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#sessions.destroy(ref, signal);
    this.#held.forget(ref.name);
    if (ref.providerId !== undefined) this.#cannotPause.delete(ref.providerId);
  }

  list(filter: Labels, signal: AbortSignal): AsyncIterable<ListedSandbox> {
    return this.#sessions.list(filter, signal);
  }

  async pause(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const id = await this.#sessions.idOf(ref, signal);
    const known = this.#cannotPause.get(id);
    if (known !== undefined) throw known;
    await this.#sessions
      .move({ ...ref, providerId: id }, 'paused', () => this.#api.pause(id, signal), signal)
      .catch((error: unknown) => {
        if (isUnsupported(error)) this.#cannotPause.set(id, error);
        throw error;
      });
  }

  async resume(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    await this.#sessions.wake(ref, signal);
  }

  /** The idle time is as it was made; it begins anew. */
  async extend(ref: SandboxRef, _ms: number, signal: AbortSignal): Promise<number> {
    const session = await this.#sessions.known(ref, signal);
    await this.#api.keepAlive(session.id, signal);
    const now = this.#context.clock.now();
    const held = this.#held.find(ref.name, session.id);
    if (held !== undefined) held.usedAt = now;
    return now + (idleMsOf(session) ?? 0);
  }

  async metrics(ref: SandboxRef, signal: AbortSignal): Promise<SandboxMetrics> {
    return this.#api.metrics(await this.#sessions.idOf(ref, signal), signal);
  }

  async portUrl(ref: SandboxRef, port: number, signal: AbortSignal): Promise<string> {
    const { id } = await this.#sessions.known(ref, signal);
    if (port >= PORTS.first && port <= PORTS.last) return this.#api.link(id, port, signal);
    throw new SubletError('UNSUPPORTED', `AgentBay reaches no port ${port} of a session.`, {
      hint: `Listen on a port from ${PORTS.first} to ${PORTS.last}.`,
    });
  }

  async close(): Promise<void> {
    this.#held.clear();
    this.#cannotPause.clear();
  }

  #handle(name: string, session: BaySession, env: SandboxSpec['env']): SandboxHandle {
    const { commands, usedAt } = this.#hold(name, session, env);
    const { cwd } = this.#config;
    const idleMs = idleMsOf(session);
    return {
      ref: { name, providerId: session.id },
      state: readSession(session)?.state ?? 'unknown',
      network: networkOf(session, this.#config),
      workdir: cwd,
      deadManAt: idleMs === undefined ? undefined : usedAt + idleMs,
      commands,
      files: createShellFiles((command, options) => commands.run(command, options), cwd),
      close: () => Promise.resolve(),
    };
  }

  #hold(name: string, session: BaySession, given: SandboxSpec['env']): Held {
    const { clock } = this.#context;
    const options = { clock, api: this.#api, name, id: session.id, workdir: this.#config.cwd };
    const usedAt = readSession(session)?.createdAt ?? clock.now();
    return (
      this.#held.find(name, session.id, given) ??
      this.#held.keep(name, session.id, given, (env) => ({
        commands: createAgentBayCommands({ ...options, env }),
        usedAt,
      }))
    );
  }
}
