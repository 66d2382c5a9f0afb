/** How an adapter presents itself: what is known without loading or starting anything, and how to make one. */
import type { Clock } from '../core/clock.ts';
import type { Capability } from './capabilities.ts';
import type { Probe, SandboxProvider } from './provider.ts';

export interface ProviderContext {
  /** A directory of the provider's own, made on first use. */
  readonly stateDir: string;
  readonly clock: Clock;
  readonly log: ProviderLog;
  /** The provider's part of the profile, e.g. `namespace: { … }`, validated by `parseOptions`. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The variables that the engine goes by. Absent: the process's own. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Resolves a secret by variable name: profile, environment, then config.env. */
  secret(name: string): string | undefined;
}

export interface ProviderLog {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export interface ProviderOptionField {
  readonly type: 'string' | 'number' | 'boolean' | 'strings';
  readonly description: string;
  readonly default?: string | number | boolean | undefined;
  /** Makes it a secret: the variable that holds it when the profile does not. Read by `secret(name)`; never in `options`. */
  readonly secret?: string | undefined;
}

export interface ProviderModule {
  readonly id: string;
  readonly title: string;
  /** One line for the README's table. */
  readonly summary: string;
  /** What it can do at best; a machine may allow less, and then `create` refuses and `probe` says why. */
  readonly capabilities: readonly Capability[];
  /** Chosen by itself in this order when nobody names a sandbox; absent = never. */
  readonly automatic?: number | undefined;
  /** Options its profile section takes, by name. */
  readonly options: Readonly<Record<string, ProviderOptionField>>;
  probe(context: ProviderContext): Promise<Probe>;
  open(context: ProviderContext): Promise<SandboxProvider>;
}

/** Identity, for the types. */
export function defineProvider(module: ProviderModule): ProviderModule {
  return module;
}
