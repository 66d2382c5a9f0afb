/** The provider contract: what an adapter over one sandbox technology guarantees. */
import type { Commands } from '../core/commands.ts';
import type { Files } from '../core/files.ts';
import type { NetworkFact, NetworkLevel } from '../core/network.ts';
import type { SandboxKind } from '../core/session-key.ts';
import type { Labels, Limits, Mount, SandboxMetrics } from '../core/spec.ts';
import type { Capability } from './capabilities.ts';

export interface SandboxSpec {
  /** Unique within the installation. Same name, same sandbox. */
  readonly name: string;
  readonly labels: Labels;
  readonly kind: SandboxKind;
  readonly image?: string | undefined;
  readonly network: NetworkLevel;
  /** Set for every command. Values are secrets: never logged, stored or put in arguments. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly limits?: Limits | undefined;
  readonly mounts?: readonly Mount[] | undefined;
  readonly contextId?: string | undefined;
  /** True when it need not outlive its maker: a provider that can ties it to the maker's life. */
  readonly ephemeral: boolean;
  /** One command is all that is expected to run in it: a provider may be quicker with that one and slower with others. */
  readonly expectsOneCommand?: boolean | undefined;
  /** What the provider should do by itself if nobody speaks to it for this long. Ignored where it cannot. */
  readonly deadManMs?: number | undefined;
  /** Tells the user what a slow create is doing. */
  readonly onProgress?: ((message: string) => void) | undefined;
}

/** What is known of a sandbox before it has a name. */
export type ExpectedSandbox = Omit<SandboxSpec, 'name' | 'labels'>;

/** How a sandbox is found again. */
export interface SandboxRef {
  readonly name: string;
  /** The provider's own id, where it differs from the name. */
  readonly providerId?: string | undefined;
}

export type ProviderState = 'running' | 'paused' | 'stopped' | 'unknown';

export interface SandboxHandle {
  readonly ref: SandboxRef;
  readonly state: ProviderState;
  /** What the provider says its network is now. */
  readonly network: NetworkFact;
  readonly workdir: string;
  /** When the provider ends or pauses it by itself; absent when it does not, or does not say. */
  readonly deadManAt?: number | undefined;
  readonly commands: Commands;
  readonly files: Files;
  /** Lets go of connections and helper processes of this process; the sandbox stays. Twice is harmless. */
  close(): Promise<void>;
  /** Nobody uses it again, and `destroy` follows: what takes time to end may begin to. Neither waits nor fails. */
  retire?(): void;
}

export interface ListedSandbox {
  readonly ref: SandboxRef;
  readonly labels: Labels;
  readonly state: ProviderState;
  readonly createdAt?: number | undefined;
}

export interface SandboxProvider {
  readonly id: string;
  readonly capabilities: ReadonlySet<Capability>;
  /**
   * Its sandboxes can be reached, listed and destroyed only from the machine on which they were made. `home`: only from the home in
   * which they were made, because what it knows of them is kept there.
   */
  readonly boundToHost?: boolean | 'home' | undefined;
  /**
   * Makes the sandbox and returns when commands can run. The same name again returns the same sandbox.
   * If `signal` aborts or it throws, nothing is left behind that `destroy(ref)` would not remove.
   */
  create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle>;
  /**
   * A create like this is about to come: what needs no name is made ready. Resolves when that goes on without this
   * process, which may then be busy with other things. Nothing of it outlasts `close`, nor this process.
   */
  warm?(expected: ExpectedSandbox): Promise<void>;
  /** Finds it; never starts, wakes or makes one. undefined = certainly gone; doubt throws PROVIDER_UNAVAILABLE. */
  attach(ref: SandboxRef, signal: AbortSignal, options?: AttachOptions): Promise<SandboxHandle | undefined>;
  /** Nothing of it remains, processes and disk included. Already gone is success. */
  destroy(ref: SandboxRef, signal: AbortSignal): Promise<void>;
  /** Everything carrying these labels, all pages, also what the store forgot. */
  list(filter: Labels, signal: AbortSignal): AsyncIterable<ListedSandbox>;
  /** With 'pause'. Already so is success. Memory and processes are kept. */
  pause?(ref: SandboxRef, signal: AbortSignal): Promise<void>;
  resume?(ref: SandboxRef, signal: AbortSignal): Promise<void>;
  /** With 'stop'. Disk is kept, processes are gone. */
  stop?(ref: SandboxRef, signal: AbortSignal): Promise<void>;
  start?(ref: SandboxRef, signal: AbortSignal, options?: AttachOptions): Promise<void>;
  /**
   * With 'extend'. Its provider acts by itself this long from now and not before; returns that instant, which may be
   * earlier than asked for where the account allows no more. SANDBOX_NOT_FOUND when it is gone.
   */
  extend?(ref: SandboxRef, ms: number, signal: AbortSignal): Promise<number>;
  /** With 'network-live'. Tightens without losing processes; open connections die. */
  setNetwork?(ref: SandboxRef, level: NetworkLevel, signal: AbortSignal): Promise<void>;
  /** With 'snapshot'. What is on its disk, volumes and mounts left out, as an image that `create` takes. It stays until it is removed at the provider. */
  snapshot?(ref: SandboxRef, signal: AbortSignal): Promise<SandboxSnapshot>;
  /**
   * With 'reset'. Everything that was done in it is undone, and that is proven against what it was when it was made; or
   * the report says what differs, and the caller destroys it. Whatever state it was in, it runs afterwards, at the
   * network level it was made with. Handles from before are of no use any more: whoever goes on attaches again.
   */
  reset?(ref: SandboxRef, signal: AbortSignal, options?: AttachOptions): Promise<ResetReport>;
  /** With 'ports'. Where this machine reaches what listens on that port inside. UNSUPPORTED when it cannot, with the reason. */
  portUrl?(ref: SandboxRef, port: number, signal: AbortSignal): Promise<string>;
  /** With 'metrics'. */
  metrics?(ref: SandboxRef, signal: AbortSignal): Promise<SandboxMetrics>;
  /** Lets go of everything this process holds. Twice is harmless. */
  close(): Promise<void>;
}

export interface SandboxSnapshot {
  /** For the `image` of a spec. */
  readonly image: string;
}

export interface ResetReport {
  readonly clean: boolean;
  /** What is not as it was, in words. Empty when clean. */
  readonly differences: readonly string[];
}

export interface AttachOptions {
  /** The env of the spec again: it is not stored anywhere. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** What this machine allows, in words, for `sublet doctor`. */
export interface Finding {
  readonly name: string;
  readonly level: 'ok' | 'note' | 'fail';
  readonly message: string;
  /** The line that enables it. */
  readonly fix?: string | undefined;
}

export interface Probe {
  readonly usable: boolean;
  readonly findings: readonly Finding[];
}
