/** Everything a manager needs around a faulty world: one call makes one process. */
import type { SandboxOptions } from '../core/api.ts';
import type { Clock } from '../core/clock.ts';
import type { LifecyclePolicy } from '../core/policy.ts';
import { defaultPolicy } from '../core/policy.ts';
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

export interface FaultyPortsOptions extends FaultyProviderOptions {
  readonly policy?: Partial<LifecyclePolicy> | undefined;
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
    resolve: async (asked, facts) => ({
      profile: asked.sandbox ?? facts.previousProfile ?? 'default',
      provider: provider.id,
      image: asked.image,
      network: asked.network ?? 'open',
      env: asked.env ?? {},
      limits: asked.limits ?? {},
      mounts: asked.mounts ?? [],
      contextId: asked.contextId,
      policy: { ...defaultPolicy(facts.kind), ...options.policy, ...asked.policy },
    }),
    provider: async () => provider,
    isRunning: (asked) => machine.isRunning(asked),
  };
}
