/** Public: the library. */
export type {
  AgentHandle,
  CodeLanguage,
  EphemeralRunOptions,
  HeldLease,
  KindMetrics,
  Lease,
  LeaseOptions,
  LeaseTerms,
  ManagerMetrics,
  ReapOptions,
  ReapReport,
  ReapVerdict,
  SandboxDetails,
  SandboxFilter,
  SandboxInfo,
  SandboxLease,
  SandboxOptions,
  SandboxOwner,
  Sandboxes,
  Session,
  SessionNotice,
  SessionOptions,
  Shell,
  ShellOptions,
  Sublet,
  SweepReport,
} from './core/api.ts';
export { CODE_LANGUAGES } from './core/api.ts';
export type { Clock } from './core/clock.ts';
export type {
  Command,
  CommandExit,
  CommandInfo,
  CommandOptions,
  CommandResult,
  Commands,
  OutputChunk,
  OutputStream,
  PtySize,
  RunningCommand,
  RunOptions,
  StartOptions,
} from './core/commands.ts';
export { DEFAULT_MAX_OUTPUT_BYTES } from './core/commands.ts';
export type { ErrorCode, ErrorCodeInfo, SubletErrorOptions } from './core/errors.ts';
export { ERROR_CODES, SubletError } from './core/errors.ts';
export type { EventFilter, EventType, SubletEvent } from './core/events.ts';
export { EVENT_TYPES } from './core/events.ts';
export type { FileContent, FileInfo, FileKind, FileOptions, Files, ReadOptions } from './core/files.ts';
export type { CommandId, OwnerId, SandboxId } from './core/ids.ts';
export type { LeftBehind, MigrateOptions, MigrationPlace, MigrationReport } from './core/migration.ts';
export type { Need } from './core/needs.ts';
export { NEEDS } from './core/needs.ts';
export type { NetworkLevel } from './core/network.ts';
export { NETWORK_LEVELS } from './core/network.ts';
export type { ExitAction, IdleAction, LifecyclePolicy, LostAction } from './core/policy.ts';
export { DEFAULT_POLICY, defaultPolicy } from './core/policy.ts';
export type {
  PoolCounts,
  PoolDefinition,
  PoolHistogram,
  PoolInfo,
  PoolLeaseOptions,
  Pools,
  PoolSettings,
  PoolStats,
  WarmOptions,
} from './core/pools.ts';
export { DEFAULT_POOL } from './core/pool-settings.ts';
export type { RecoveryAction } from './core/recovery.ts';
export type { PassedOver } from './core/routing.ts';
export type { SandboxKind, SessionKey, SessionKeyInput, SessionKeyParts } from './core/session-key.ts';
export { formatSessionKey, parseSessionKey, SANDBOX_KINDS, sessionKey } from './core/session-key.ts';
export type { SnapshotInfo } from './core/snapshots.ts';
export type { Labels, Limits, Mount, SandboxMetrics } from './core/spec.ts';
export type { SandboxState } from './core/states.ts';
export { SANDBOX_STATES } from './core/states.ts';
export type { OpenOptions } from './open.ts';
export { open } from './open.ts';
export { silentLog, type Log } from './telemetry/log.ts';
