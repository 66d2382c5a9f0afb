/** The one interface to the engine. The in-process manager and the HTTP client both implement it; surfaces see only this. */
import type { Command, CommandResult, Commands, RunOptions } from './commands.ts';
import type { EventFilter, SubletEvent } from './events.ts';
import type { Files } from './files.ts';
import type { OwnerId, SandboxId } from './ids.ts';
import type { Liveness } from './liveness.ts';
import type { MigrateOptions, MigrationReport } from './migration.ts';
import type { NetworkLevel } from './network.ts';
import type { LeaseTerms, SandboxOptions } from './options.ts';
import type { LifecyclePolicy } from './policy.ts';
import type { PoolLeaseOptions, Pools } from './pools.ts';
import type { Verdict } from './recovery.ts';
import type { SandboxSetOptions, SetPlace, SetSandboxOptions } from './sandbox-sets.ts';
import type { SandboxKind, SessionKey, SessionKeyInput } from './session-key.ts';
import type { SessionNotice } from './session-notice.ts';
import type { SnapshotInfo } from './snapshots.ts';
import type { SandboxMetrics } from './spec.ts';
import type { SandboxState } from './states.ts';

export type { LeaseTerms, SandboxOptions } from './options.ts';
export type { SandboxSetOptions, SetPlace, SetSandboxOptions } from './sandbox-sets.ts';
export type { SessionNotice } from './session-notice.ts';

export interface EphemeralRunOptions extends Omit<RunOptions, 'env'>, SandboxOptions {
  /** Called when the sandbox is there and the command is about to begin. */
  readonly onStart?: ((sandboxId: SandboxId) => void) | undefined;
}

export interface SessionOptions extends SessionKeyInput, SandboxOptions {
  /** Nobody else uses it until it is released; LEASE_HELD when somebody does. */
  readonly exclusive?: boolean | LeaseTerms | undefined;
}

export interface LeaseOptions extends LeaseTerms {
  /** An id or a unique prefix of one. */
  readonly sandboxId: string;
  readonly signal?: AbortSignal | undefined;
}

/** A right that can be lost. Every use carries the token; once it is lost every use is refused before anything runs. */
export interface HeldLease {
  readonly token: number;
  readonly holder: string;
  /** Fires when somebody else may have the sandbox: what runs is stopped. */
  readonly lost: AbortSignal;
}

/** The exclusive use of a sandbox. Disposing releases it. */
export interface Lease extends AgentHandle, HeldLease, AsyncDisposable {
  readonly agent: AgentHandle;
  /** Private data has entered: the network is cut, now and for good, and a pool never gets the sandbox back. */
  markPrivate(reason: string): Promise<void>;
  /** Tightens to `level`; a weaker level than the present one is refused. */
  setNetwork(level: NetworkLevel, reason: string): Promise<void>;
  release(): Promise<void>;
}

export const CODE_LANGUAGES = ['python', 'javascript', 'bash'] as const;
export type CodeLanguage = (typeof CODE_LANGUAGES)[number];

/** What an agent gets. It cannot pause, re-network or destroy the sandbox it runs in. */
export interface AgentHandle {
  readonly sandboxId: SandboxId;
  readonly commands: Commands;
  readonly files: Files;
  /** INTERPRETER_MISSING when the sandbox has none for the language. */
  runCode(language: CodeLanguage, code: string, options?: RunOptions): Promise<CommandResult>;
  /** A shell whose directory and variables carry over from one command to the next. FILE_NOT_FOUND for a `cwd` that is not there. */
  shell(options?: ShellOptions): Promise<Shell>;
}

export interface ShellOptions {
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** One command at a time: a second `run` waits for the first. */
export interface Shell extends AsyncDisposable {
  run(
    command: string,
    options?: Pick<RunOptions, 'timeoutMs' | 'signal' | 'maxOutputBytes' | 'onStdout' | 'onStderr'>,
  ): Promise<CommandResult>;
  close(): Promise<void>;
}

/** A conversation's sandbox. Disposing lets go of it; it does not destroy the sandbox. */
export interface Session extends AgentHandle, AsyncDisposable {
  readonly key: SessionKey;
  readonly network: NetworkLevel;
  /** What happened since the key's last use. Empty most of the time. */
  readonly notices: readonly SessionNotice[];
  /** True when this call made the sandbox. */
  readonly created: boolean;
  /** The part to hand to an agent. */
  readonly agent: AgentHandle;
  /** Present when it is held exclusively. */
  readonly lease: HeldLease | undefined;
  /** Private data has entered: the network is cut, now and for good. Already cut is success. */
  markPrivate(reason: string): Promise<void>;
  /** Tightens to `level`; a weaker level than the present one is refused. */
  setNetwork(level: NetworkLevel, reason: string): Promise<void>;
  /** Keeps a copy of the working directory, from which `onLost: restore` makes it again. */
  snapshot(): Promise<SnapshotInfo>;
  /**
   * Carries the working directory over to a sandbox elsewhere, compares every file there, and gives the key to that one. Until
   * then the session is where it was, and nobody else uses it; whatever fails leaves it there. Its network does not loosen.
   */
  migrate(options: MigrateOptions): Promise<MigrationReport>;
  release(): Promise<void>;
}

/** Each of its sandboxes is a session of its own; the network of all tightens together. */
export interface SandboxSet {
  /** Of the session whose set it is. */
  readonly key: SessionKey;
  readonly maxPerRuntime: number;
  /**
   * The most recently used sandbox of the runtime: found alive, or replaced in its place; made when there is none. LEASE_HELD
   * when another one is needed, there is no room, and all are in use.
   */
  sandbox(options?: SetSandboxOptions): Promise<Session>;
  /** What there is, the most recently used first. */
  list(runtime?: string): Promise<readonly SetPlace[]>;
}

export interface SandboxInfo {
  readonly id: SandboxId;
  readonly name: string;
  readonly provider: string;
  readonly profile: string;
  readonly kind: SandboxKind;
  readonly state: SandboxState;
  readonly ephemeral: boolean;
  readonly sessionKey: SessionKey | undefined;
  /** The pool that it is of. */
  readonly pool: string | undefined;
  readonly image: string | undefined;
  readonly network: NetworkLevel;
  readonly policy: LifecyclePolicy;
  readonly createdAt: number;
  readonly stateAt: number;
  readonly lastActiveAt: number;
  /** When policy will act next. */
  readonly dueAt: number | undefined;
  /** What the provider does by itself if we die now: an instant, or undefined for nothing. */
  readonly deadManAt: number | undefined;
  /** Why it is in its state. */
  readonly cause: string;
  readonly host: string;
  /** The process that it follows has died, and nobody has seen to it yet: the next sweep does. Told by `list`. */
  readonly ownerDied?: true | undefined;
}

/** One sandbox with those who have it and what happened to it: who destroyed it, and why. */
export interface SandboxDetails extends SandboxInfo {
  /** The process that it follows; undefined when that left, or everything it had was seen to. */
  readonly owner: SandboxOwner | undefined;
  readonly lease: SandboxLease | undefined;
  /** How long it may be idle, and why it is that long. */
  readonly idleTimeout: string;
  /** The last ones, oldest first. */
  readonly events: readonly SubletEvent[];
}

export interface SandboxOwner {
  readonly id: OwnerId;
  readonly host: string;
  readonly pid: number;
  /** `self`: the process that was asked. */
  readonly life: 'self' | Liveness;
  readonly heartbeatAt: number;
}

export interface SandboxLease {
  readonly holder: string;
  readonly token: number;
  readonly expiresAt: number;
}

export interface SandboxFilter {
  readonly states?: readonly SandboxState[] | undefined;
  readonly provider?: string | undefined;
  readonly sessionKey?: SessionKey | undefined;
  /** Include destroyed and lost ones. Default false. */
  readonly all?: boolean | undefined;
  readonly limit?: number | undefined;
}

/** Management by id. Ids may be any unique prefix; several matches → SANDBOX_AMBIGUOUS with the candidates. */
export interface Sandboxes {
  list(filter?: SandboxFilter): Promise<readonly SandboxInfo[]>;
  get(idOrPrefix: string): Promise<SandboxInfo>;
  inspect(idOrPrefix: string): Promise<SandboxDetails>;
  /** The agent's handle on a live sandbox; wakes a paused or stopped one. */
  open(idOrPrefix: string): Promise<AgentHandle>;
  /** Each move succeeds when the sandbox is already so. `cause` is what the event log will say. */
  pause(idOrPrefix: string, cause?: string): Promise<SandboxInfo>;
  resume(idOrPrefix: string, cause?: string): Promise<SandboxInfo>;
  stop(idOrPrefix: string, cause?: string): Promise<SandboxInfo>;
  destroy(idOrPrefix: string, cause?: string): Promise<SandboxInfo>;
  /** Of a session's sandbox: see `Session.snapshot`. */
  snapshot(idOrPrefix: string, cause?: string): Promise<SnapshotInfo>;
  /** Of a session's sandbox: see `Session.migrate`. */
  migrate(idOrPrefix: string, options: MigrateOptions): Promise<MigrationReport>;
  metrics(idOrPrefix: string): Promise<SandboxMetrics>;
}

export interface KindMetrics {
  readonly active: number;
  readonly created: number;
  readonly cleaned: number;
  readonly reused: number;
  readonly healthCheckFailures: number;
}

export interface ManagerMetrics {
  readonly kinds: Readonly<Record<SandboxKind, KindMetrics>>;
  readonly total: KindMetrics;
}

export interface SweepReport {
  readonly examined: number;
  readonly actions: readonly {
    readonly sandboxId: SandboxId;
    readonly action: string;
    readonly reason: string;
    readonly error?: string | undefined;
  }[];
}

export interface ReapOptions {
  /** Says what would be done, and does nothing. */
  readonly dryRun?: boolean | undefined;
}

export interface ReapVerdict extends Verdict {
  /** undefined for what is at a provider and was never on record. */
  readonly sandboxId: SandboxId | undefined;
  readonly name: string;
  readonly provider: string;
  readonly state: SandboxState | undefined;
  /** What went wrong while doing it; it will be tried again. */
  readonly error?: string | undefined;
}

export interface ReapReport {
  readonly dryRun: boolean;
  /** One for everything that was looked at, what is kept included. */
  readonly verdicts: readonly ReapVerdict[];
  /** Each provider that was asked, and what was wrong with it if it did not answer. */
  readonly providers: readonly {
    readonly provider: string;
    readonly profile: string;
    readonly listed: number;
    readonly error?: string | undefined;
  }[];
}

export interface Sublet extends AsyncDisposable {
  /** Creates a sandbox, runs, destroys it, whatever happens in between. */
  run(command: Command, options?: EphemeralRunOptions): Promise<CommandResult>;
  runCode(language: CodeLanguage, code: string, options?: EphemeralRunOptions): Promise<CommandResult>;
  /** Like `run` for a body: the sandbox lives as long as `use` does. */
  ephemeral<T>(options: SandboxOptions, use: (sandbox: AgentHandle) => Promise<T>): Promise<T>;
  /** The key's sandbox: the same one every time, made on first use. */
  session(options?: SessionOptions): Promise<Session>;
  /** Up to a number of sandboxes for each runtime of a session. Nothing is made before one is asked for. */
  sandboxSet(options: SandboxSetOptions): SandboxSet;
  readonly sandboxes: Sandboxes;
  /** Destroys every session's sandbox of this installation and returns how many. */
  destroyAllSessions(cause?: string): Promise<number>;
  events(filter?: EventFilter): Promise<readonly SubletEvent[]>;
  metrics(): Promise<ManagerMetrics>;
  /** The exclusive use of a sandbox that exists. LEASE_HELD when somebody else has it. */
  lease(options: LeaseOptions): Promise<Lease>;
  /** The exclusive use of a clean sandbox of a pool, named by its profile. POOL_EXHAUSTED when there was none in time. */
  lease(pool: string, options?: PoolLeaseOptions): Promise<Lease>;
  readonly pools: Pools;
  /** One pass over what is due and over what dead processes left. The manager does this by itself every minute. */
  sweep(): Promise<SweepReport>;
  /** Compares everything on record with what every provider has, and returns what is nobody's. */
  reap(options?: ReapOptions): Promise<ReapReport>;
  /** Applies `onExit` to what this process holds and lets go of everything. Twice is harmless. */
  close(): Promise<void>;
}
