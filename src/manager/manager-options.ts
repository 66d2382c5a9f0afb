/** What can be tuned about the engine. Everything has a default that suits production. */
import { HEARTBEAT_MS } from '../core/liveness.ts';
import { HEALTH_CHECK_TIMEOUT_MS } from '../core/policy.ts';
import type { RandomBytes, SandboxId } from '../core/ids.ts';
import { cryptoBytes } from '../core/ids.ts';

export interface ManagerOptions {
  /** How often what is due is looked for. 0 = only when `sweep()` is called. */
  readonly sweepIntervalMs?: number | undefined;
  /** How often what is on record is compared with what providers have, by one of all processes. 0 = only by `reap()`. */
  readonly reconcileIntervalMs?: number | undefined;
  /** How often this process says that it lives. 0 = never. */
  readonly heartbeatIntervalMs?: number | undefined;
  /** How often activity is written down, in one batch for all sandboxes. 0 = only at release and close. */
  readonly touchIntervalMs?: number | undefined;
  /** How often a pool is looked after by whoever leads it. 0 = only when something of it changes in this process. */
  readonly poolIntervalMs?: number | undefined;
  /** How often somebody who waits looks whether another process gave something back. */
  readonly poolPollMs?: number | undefined;
  /** How long `close` may take in all. */
  readonly exitDeadlineMs?: number | undefined;
  /** How long a caller who gives up on a create waits for it to be undone; after that it is undone in the background. */
  readonly abortGraceMs?: number | undefined;
  /** How long a provider may take for anything but a create. */
  readonly providerTimeoutMs?: number | undefined;
  readonly healthCheckTimeoutMs?: number | undefined;
  /** How large a snapshot may become: what a sandbox says is in its working directory costs it nothing. */
  readonly maxSnapshotBytes?: number | undefined;
  /** Injectable so that a simulation is repeatable. */
  readonly random?: RandomBytes | undefined;
  /** What a slow create is doing. */
  readonly onProgress?: ((progress: { readonly sandboxId: SandboxId; readonly message: string }) => void) | undefined;
  /** Called last by `close`: whoever made the ports lets go of them here. `hasLeft`: nothing of this process is on record. */
  readonly onClose?: ((hasLeft: boolean) => Promise<void>) | undefined;
}

export interface ManagerConfig {
  readonly sweepIntervalMs: number;
  readonly reconcileIntervalMs: number;
  readonly heartbeatIntervalMs: number;
  readonly touchIntervalMs: number;
  readonly poolIntervalMs: number;
  readonly poolPollMs: number;
  readonly exitDeadlineMs: number;
  readonly abortGraceMs: number;
  readonly providerTimeoutMs: number;
  readonly healthCheckTimeoutMs: number;
  readonly maxSnapshotBytes: number;
  readonly random: RandomBytes;
  readonly onProgress: (progress: { readonly sandboxId: SandboxId; readonly message: string }) => void;
  readonly onClose: (hasLeft: boolean) => Promise<void>;
}

export function toManagerConfig(options: ManagerOptions): ManagerConfig {
  return Object.freeze({
    sweepIntervalMs: options.sweepIntervalMs ?? 60_000,
    reconcileIntervalMs: options.reconcileIntervalMs ?? 3 * 60_000,
    heartbeatIntervalMs: options.heartbeatIntervalMs ?? HEARTBEAT_MS,
    touchIntervalMs: options.touchIntervalMs ?? 15_000,
    poolIntervalMs: options.poolIntervalMs ?? 250,
    poolPollMs: options.poolPollMs ?? 50,
    exitDeadlineMs: options.exitDeadlineMs ?? 10_000,
    abortGraceMs: options.abortGraceMs ?? 5_000,
    providerTimeoutMs: options.providerTimeoutMs ?? 60_000,
    healthCheckTimeoutMs: options.healthCheckTimeoutMs ?? HEALTH_CHECK_TIMEOUT_MS,
    maxSnapshotBytes: options.maxSnapshotBytes ?? 8 * 2 ** 30,
    random: options.random ?? cryptoBytes,
    onProgress: options.onProgress ?? ((): void => {}),
    onClose: options.onClose ?? (async (): Promise<void> => {}),
  });
}
