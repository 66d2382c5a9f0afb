/** Does a sandbox still answer? */
import { needsHealthCheck } from '../core/policy.ts';
import type { SandboxRecord } from '../store/records.ts';
import { withDeadline } from './deadline.ts';
import { SubletError } from '../core/errors.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import type { LiveSandbox } from './live-sandbox.ts';

export function isHealthKnown(live: LiveSandbox, now: number): boolean {
  return !live.isDoubted && !needsHealthCheck(live.record.policy, live.lastHealthyAt, now);
}

/** Runs `echo`. A failure is counted and put on record. */
export async function checkHealth(engine: Engine, live: LiveSandbox, signal?: AbortSignal): Promise<boolean> {
  const problem = await findProblem(engine, live, signal);
  signal?.throwIfAborted();
  if (problem === undefined) {
    live.lastHealthyAt = engine.now();
    live.isDoubted = false;
    return true;
  }
  await recordFailure(engine, live.record, problem);
  return false;
}

async function findProblem(
  engine: Engine,
  live: LiveSandbox,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const ms = engine.config.healthCheckTimeoutMs;
  const late = (): SubletError => new SubletError('PROVIDER_UNAVAILABLE', `no answer within ${ms / 1000} s`);
  try {
    const result = await withDeadline(engine.ports.clock, { ms, late, signals: [signal] }, (either) =>
      live.handle.commands.run('echo sublet', { timeoutMs: ms, signal: either }),
    );
    if (result.timedOut) return late().message;
    return result.exitCode === 0 && result.stdout.trim() === 'sublet'
      ? undefined
      : `echo ended with ${result.exitCode ?? 'no exit code'}`;
  } catch (cause) {
    return describe(cause);
  }
}

async function recordFailure(engine: Engine, record: SandboxRecord, problem: string): Promise<void> {
  engine.count(record.kind, 'healthCheckFailures');
  engine.ports.log.warn({ sandboxId: record.id, problem }, 'health check failed');
  await engine.ports.store.appendEvents([
    {
      at: engine.now(),
      type: 'health.failed',
      sandboxId: record.id,
      sessionKey: record.sessionKey,
      ownerId: engine.ownerId,
      cause: problem,
    },
  ]);
}
