/** Everything a manager needs around a faulty world: one call makes one process. */
import type { SandboxOptions } from '../core/api.ts';
import type { Clock } from '../core/clock.ts';
import { SubletError } from '../core/errors.ts';
import type { LifecyclePolicy } from '../core/policy.ts';
import { defaultPolicy } from '../core/policy.ts';
import { routeNames } from '../core/routing.ts';
import type { SandboxKind } from '../core/session-key.ts';
import type { ResolvedSandbox } from '../core/spec.ts';
import type { SandboxProvider } from '../provider/provider.ts';
import type { Store } from '../store/store.ts';
import type { FaultyIdentity, FaultyProcess } from './faulty-machine.ts';
import { FaultyMachine } from './faulty-machine.ts';
import type { FaultyWorld } from './faulty-provider-world.ts';
import type { FaultyProviderOptions } from './faulty-provider.ts';
import { createFaultyProvider } from './faulty-provider.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export interface FaultyPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Record<LogLine['level'], (fields: Readonly<Record<string, unknown>>, message: string) => void>;
  readonly lines: readonly LogLine[];
  isRunning(process: { readonly pid: number; readonly pidStartedAt: number }): Promise<boolean | undefined>;
  readonly identity: FaultyIdentity;
  resolve(
    options: SandboxOptions,
    facts: { readonly kind: SandboxKind; readonly previousProfile?: string | undefined },
  ): Promise<ResolvedSandbox>;
  provider(id: string, profile: string): Promise<SandboxProvider>;
}

export interface FaultyPlace extends Omit<FaultyProviderOptions, 'id'> {
  readonly world: FaultyWorld;
}

export interface FaultyPortsOptions extends FaultyProviderOptions {
  readonly policy?: Partial<LifecyclePolicy> | undefined;
  /** Other clouds, by their provider's id, which is also the name of a profile. */
  readonly places?: Readonly<Record<string, FaultyPlace>> | undefined;
  /** Where the process runs. Default: a machine of its own. */
  readonly machine?: FaultyMachine | undefined;
  /** Which of the machine's processes it is, so that it can be killed. Default: one that is not. */
  readonly process?: FaultyProcess | undefined;
}

/** The profile is what the caller names, else what the session used before, else "default"; the network is "open" unless asked. */
export function createFaultyPorts(world: FaultyWorld, store: Store, options: FaultyPortsOptions = {}): FaultyPorts {
  const machine = options.machine ?? new FaultyMachine();
  const process = options.process ?? machine.start();
  const provider = process.provider(createFaultyProvider(world, options));
  const places = new Map(
    Object.entries(options.places ?? {}).map(([id, place]) => [
      id,
      process.provider(createFaultyProvider(place.world, { ...options, ...place, id })),
    ]),
  );
  const resolveOne = (name: string, asked: SandboxOptions, kind: SandboxKind): ResolvedSandbox => ({
    profile: name,
    provider: places.has(name) ? name : provider.id,
    image: asked.image,
    network: asked.network ?? 'open',
    env: asked.env ?? {},
    limits: asked.limits ?? {},
    mounts: asked.mounts ?? [],
    contextId: asked.contextId,
    policy: { ...defaultPolicy(kind), ...options.policy, ...asked.policy },
    needs: asked.needs,
  });
  const lines: LogLine[] = [];
  const write =
    (level: LogLine['level']) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void => {
      lines.push({ level, fields, message });
    };
  return {
    store: process.store(store),
    clock: process.clock(world.clock),
    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    lines,
    identity: process.identity,
    resolve: async (asked, facts) => {
      const names = routeNames(asked.sandbox ?? facts.previousProfile ?? 'default');
      const [first, ...others] = names.map((name) => resolveOne(name, asked, facts.kind));
      if (first === undefined) throw new SubletError('CONFIG_INVALID', 'No sandbox is named.');
      return others.length === 0 ? first : { ...first, otherwise: others };
    },
    provider: async (id) => places.get(id) ?? provider,
    isRunning: (asked) => machine.isRunning(asked),
  };
}
