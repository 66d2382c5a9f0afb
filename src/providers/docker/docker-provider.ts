/** Sandboxes that are containers of a Docker-compatible engine. The engine is the only place where anything about them is kept. */
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { abortedError, SubletError, toSubletError } from '../../core/errors.ts';
import type { NetworkLevel } from '../../core/network.ts';
import type { Labels, SandboxMetrics } from '../../core/spec.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type {
  AttachOptions,
  ListedSandbox,
  ProviderState,
  ResetReport,
  SandboxHandle,
  SandboxProvider,
  SandboxRef,
  SandboxSnapshot,
  SandboxSpec,
} from '../../provider/provider.ts';
import { askedLabels, CONTAINER_LABEL, type ContainerFacts, readFacts } from './container-label.ts';
import { ContainerMaker } from './container-maker.ts';
import type { DockerApi } from './docker-api.ts';
import { DockerCommands } from './docker-commands.ts';
import type { DockerConfig } from './docker-config.ts';
import { isGone, lostError, noAllowlistError, notFoundError } from './docker-errors.ts';
import { createDockerFiles } from './docker-files.ts';
import type { ContainerDetails } from './docker-types.ts';
import { isLocal } from './engine-endpoint.ts';
import { ExecGate } from './exec-gate.ts';
import { freezeContainer, type Sleeper, thawContainer, whileNoneBegins } from './freeze-container.ts';
import { networkOf, setNetworkLevel } from './network-level.ts';
import { portUrlOf } from './port-url.ts';
import { resetContainer } from './reset-container.ts';
import type { ShellSlot } from './shell-slot.ts';
import { describeContainer } from './stuck-engine.ts';
import { toMetrics } from './usage.ts';

/** What this process holds of a container. */
interface Held {
  readonly containerId: string;
  readonly commands: DockerCommands;
  readonly leash: Socket | undefined;
}

interface OurContainer {
  readonly details: ContainerDetails;
  readonly facts: ContainerFacts;
}

/** The first process of a container ends at once when it is asked to. */
const STOP_GRACE_SECONDS = 2;

export class DockerProvider implements SandboxProvider {
  readonly id = 'docker';
  readonly capabilities: ReadonlySet<Capability>;
  /** A socket is this machine's; an engine that listens on the network is everybody's who may speak to it. */
  readonly boundToHost: boolean;
  readonly #context: ProviderContext;
  readonly #api: DockerApi;
  readonly #gate: ExecGate;
  readonly #maker: ContainerMaker;
  readonly #held = new Map<string, Held>();

  constructor(context: ProviderContext, api: DockerApi, config: DockerConfig, capabilities: readonly Capability[]) {
    this.#context = context;
    this.#api = api;
    this.capabilities = new Set(capabilities);
    this.boundToHost = isLocal(api.client.endpoint);
    this.#gate = new ExecGate(join(context.stateDir, 'execs'), context.clock);
    this.#maker = new ContainerMaker(api, config, this.#gate, context);
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    throwIfAborted(signal);
    if (spec.network === 'allowlist') throw noAllowlistError();
    try {
      for (;;) {
        const made = await this.#maker.make(spec, signal);
        if (made !== undefined) return this.#hold(made.details, spec.env ?? {}, made.leash, made.firstSlot);
        // Same name, same sandbox: the one that is there, unless it is gone again by now.
        if (!(await this.#maker.adopt(spec, signal))) continue;
        const found = await this.attach({ name: spec.name }, signal, { env: spec.env });
        if (found !== undefined) return found;
      }
    } catch (cause) {
      throw toSubletError(cause, 'CREATE_FAILED', signal);
    }
  }

  async attach(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<SandboxHandle | undefined> {
    throwIfAborted(signal);
    const found = await this.#find(ref, signal);
    if (found === undefined) return undefined;
    const held = this.#held.get(ref.name);
    if (held?.containerId !== found.details.Id) return this.#hold(found.details, options.env ?? {});
    if (options.env !== undefined) held.commands.setEnv(options.env);
    return this.#handle(found, held.commands);
  }

  async destroy(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    const held = this.#held.get(ref.name);
    // A name that this process does not hold may be somebody else's container.
    const id = held?.containerId ?? (await this.#find(ref, signal))?.details.Id;
    if (id !== undefined) await this.#maker.remove(id, signal);
    this.#letGo(ref.name);
  }

  async *list(filter: Labels, signal: AbortSignal): AsyncIterable<ListedSandbox> {
    throwIfAborted(signal);
    const labels = Object.entries(filter).map(([name, value]) => `${name}=${value}`);
    for (const listed of await this.#api.list([CONTAINER_LABEL, ...labels], signal)) {
      const facts = readFacts(listed.Labels);
      const name = listed.Names[0]?.replace(/^\//, '');
      if (facts === undefined || name === undefined) continue;
      yield {
        ref: { name, providerId: listed.Id },
        labels: askedLabels(listed.Labels, facts),
        state: toState(listed.State),
        createdAt: listed.Created * 1000,
      };
    }
  }

  async pause(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    // Waiting shells are not the agent's; frozen, they would wait for a manager that may be gone by then.
    await this.#held.get(ref.name)?.commands.leave();
    await freezeContainer(this.#sleeper(ref, signal), signal);
  }

  async resume(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    if (!(await thawContainer(this.#sleeper(ref, signal), signal))) throw lostError(ref.name);
  }

  async stop(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const { details, facts } = await this.#known(ref, signal);
    if (facts.ephemeral) {
      throw new SubletError('UNSUPPORTED', `The container ${ref.name} is ephemeral: it is gone when it stops.`, {
        hint: 'Pause it, or use a session, whose sandbox can be stopped and started.',
      });
    }
    this.#held.get(ref.name)?.commands.close();
    if (details.State.Paused) await thawContainer(this.#sleeper(ref, signal), signal);
    if (details.State.Running) await this.#api.stop(details.Id, STOP_GRACE_SECONDS, signal);
  }

  async start(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<void> {
    const { details } = await this.#known(ref, signal);
    if (options.env !== undefined) this.#held.get(ref.name)?.commands.setEnv(options.env);
    if (details.State.Running) return;
    await this.#maker.restart(details, signal);
  }

  async setNetwork(ref: SandboxRef, level: NetworkLevel, signal: AbortSignal): Promise<void> {
    await setNetworkLevel(this.#api, (await this.#known(ref, signal)).details, level, signal);
  }

  async reset(ref: SandboxRef, signal: AbortSignal, options: AttachOptions = {}): Promise<ResetReport> {
    const { details, facts } = await this.#known(ref, signal);
    const { report, made } = await resetContainer(this.#api, this.#maker, details, facts, signal);
    if (made !== undefined) {
      this.#letGo(ref.name);
      this.#hold(made, options.env ?? {});
    }
    return report;
  }

  async metrics(ref: SandboxRef, signal: AbortSignal): Promise<SandboxMetrics> {
    const { details } = await this.#known(ref, signal);
    return toMetrics(await this.#api.stats(details.Id, signal));
  }

  async snapshot(ref: SandboxRef, signal: AbortSignal): Promise<SandboxSnapshot> {
    const { details } = await this.#known(ref, signal);
    const tag = `${this.#context.clock.now().toString(36)}-${details.Id.slice(0, 12)}`;
    // The engine puts the container to sleep for it.
    const commit = (): Promise<string> => this.#api.commit(details.Id, SNAPSHOT_REPOSITORY, tag, signal);
    await whileNoneBegins(this.#sleeper(ref, signal), commit, signal);
    return { image: `${SNAPSHOT_REPOSITORY}:${tag}` };
  }

  async portUrl(ref: SandboxRef, port: number, signal: AbortSignal): Promise<string> {
    return portUrlOf((await this.#known(ref, signal)).details, port, this.#api.client.endpoint);
  }

  close(): Promise<void> {
    for (const name of [...this.#held.keys()]) this.#letGo(name);
    this.#api.client.close();
    return Promise.resolve();
  }

  #hold(
    details: ContainerDetails,
    env: Readonly<Record<string, string>>,
    leash?: Socket,
    firstSlot?: Promise<ShellSlot>,
  ): SandboxHandle {
    const facts = readFacts(details.Config.Labels) as ContainerFacts;
    const name = details.Name.replace(/^\//, '');
    this.#held.get(name)?.commands.close();
    const commands = new DockerCommands(
      {
        api: this.#api,
        clock: this.#context.clock,
        gate: this.#gate,
        name,
        containerId: details.Id,
        image: details.Config.Image,
        workdir: facts.workdir,
        hasShell: facts.hasShell,
        env,
      },
      firstSlot,
    );
    this.#held.set(name, { containerId: details.Id, commands, leash });
    return this.#handle({ details, facts }, commands);
  }

  #handle({ details, facts }: OurContainer, commands: DockerCommands): SandboxHandle {
    return {
      ref: { name: details.Name.replace(/^\//, ''), providerId: details.Id },
      state: toState(details.State.Paused ? 'paused' : details.State.Status),
      network: networkOf(details),
      workdir: facts.workdir,
      commands,
      files: createDockerFiles({ api: this.#api, details, facts, commands, now: () => this.#context.clock.now() }),
      close: () => Promise.resolve(commands.close()),
    };
  }

  #sleeper(ref: SandboxRef, signal: AbortSignal): Sleeper {
    const look = async (): Promise<ContainerDetails> => (await this.#known(ref, signal)).details;
    const waking = this.#held.get(ref.name)?.commands.waking;
    return { api: this.#api, clock: this.#context.clock, gate: this.#gate, waking, look };
  }

  #letGo(name: string): void {
    const held = this.#held.get(name);
    this.#held.delete(name);
    held?.commands.close();
    held?.leash?.destroy();
  }

  /** undefined when the name is nobody's, or a container's that is not ours. */
  async #find({ name }: SandboxRef, signal: AbortSignal): Promise<OurContainer | undefined> {
    const part = { api: this.#api, clock: this.#context.clock };
    const details = await describeContainer(part, name, signal).catch((error: unknown) => {
      if (isGone(error)) return undefined;
      throw error;
    });
    const facts = readFacts(details?.Config.Labels);
    // The engine also takes the beginning of an id for a name.
    return details === undefined || facts === undefined || details.Name.replace(/^\//, '') !== name
      ? undefined
      : { details, facts };
  }

  async #known(ref: SandboxRef, signal: AbortSignal): Promise<OurContainer> {
    return (await this.#find(ref, signal)) ?? Promise.reject(notFoundError(ref.name));
  }
}

const SNAPSHOT_REPOSITORY = 'sublet-snapshot';

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortedError(signal);
}

function toState(status: string): ProviderState {
  if (status === 'running' || status === 'paused') return status;
  return ['created', 'configured', 'initialized', 'exited', 'stopped', 'dead'].includes(status) ? 'stopped' : 'unknown';
}
