/** Making a sandbox whose intent is on record. It ends as `running`, or as nothing. */
import { sleep } from '../core/clock.ts';
import { SubletError, toSubletError } from '../core/errors.ts';
import { dueAt } from '../core/expiry.ts';
import { violates } from '../core/network.ts';
import type { SandboxState } from '../core/states.ts';
import type { SandboxHandle, SandboxProvider } from '../provider/provider.ts';
import type { SandboxRecord } from '../store/records.ts';
import { settlesWithin, withDeadline } from './deadline.ts';
import { finishDestroying } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import { givenUpCause, GOING } from './given-up.ts';
import { LiveSandbox } from './live-sandbox.ts';
import type { SandboxPlan } from './plan-sandbox.ts';

/** Puts into a new sandbox what is to be there before anybody uses it. */
export type FillSandbox = (
  handle: SandboxHandle,
  intent: SandboxRecord,
  signal: AbortSignal | undefined,
) => Promise<void>;

const AT_REST: readonly SandboxState[] = ['paused', 'stopped'];
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;

/**
 * `intent` is the committed row of `plan`. Rejects with CREATE_TIMEOUT after the policy's `timeoutSeconds`, ABORTED or
 * CLOSED when the signal or the manager says so, the provider's error otherwise; each time the provider's copy is looked
 * up by name and destroyed, also one that is finished only after its caller gave up.
 */
export async function createSandbox(
  engine: Engine,
  provider: SandboxProvider,
  plan: SandboxPlan,
  intent: SandboxRecord,
  signal: AbortSignal | undefined,
  fill?: FillSandbox,
): Promise<LiveSandbox> {
  let making: Promise<SandboxHandle> | undefined;
  engine.making.add(intent.id);
  try {
    let progress: string | undefined;
    const onProgress = (message: string): void => {
      progress = message;
      engine.config.onProgress({ sandboxId: intent.id, message });
    };
    const late = (): SubletError => timeoutError(intent, progress);
    const deadline = { ms: intent.policy.timeoutSeconds * 1000, late, signals: [signal, engine.closing] };
    const handle = await withDeadline(engine.ports.clock, deadline, (either) => {
      making = provider.create({ ...plan.spec, onProgress }, either);
      return making;
    });
    if (violates(handle.network, intent.network)) throw networkError(intent, handle);
    await fill?.(handle, intent, signal);
    const live = await markRunning(engine, intent, handle, plan);
    engine.making.delete(intent.id);
    return live;
  } catch (cause) {
    const error = toSubletError(cause, 'CREATE_FAILED', signal);
    const undone = abandon(engine, intent, making, error).finally(() => engine.making.delete(intent.id));
    engine.inBackground('create not undone', undone);
    await settlesWithin(engine.ports.clock, engine.config.abortGraceMs, undone);
    throw error;
  }
}

async function markRunning(
  engine: Engine,
  intent: SandboxRecord,
  handle: SandboxHandle,
  plan: SandboxPlan,
): Promise<LiveSandbox> {
  const now = engine.now();
  const running = await engine.ports.store.moveSandbox(intent.id, {
    to: 'running',
    at: now,
    cause: intent.cause,
    ownerId: engine.ownerId,
    from: ['creating'],
    patch: {
      providerId: handle.ref.providerId,
      deadManAt: handle.deadManAt,
      lastActiveAt: now,
      dueAt: dueAt({ ...intent, state: 'running', lastActiveAt: now }),
    },
  });
  if (running === undefined) {
    throw new SubletError(
      'CREATE_FAILED',
      `Sandbox ${intent.id} was given up on by another process before it was ready.`,
      {
        hint: 'Try again; raise timeoutSeconds if creates are this slow.',
      },
    );
  }
  // The session may have been tightened while it was made.
  if (violates(handle.network, running.network)) throw networkError(running, handle);
  engine.count(running.kind, 'created');
  // Another use of this process may have found it running before this one heard so: what it runs there is known by its handle.
  const found = engine.lives.get(running.id);
  if (found !== undefined) return found;
  const live = new LiveSandbox(running, handle, plan.spec.env ?? {}, now);
  live.lastHealthyAt = now;
  engine.lives.set(live.id, live);
  return live;
}

/** The row leaves `creating` at once; the provider's copy goes when the create is over, since only then is there one to find. */
async function abandon(
  engine: Engine,
  intent: SandboxRecord,
  making: Promise<SandboxHandle> | undefined,
  error: SubletError,
): Promise<void> {
  const given = giveUpAtLast(engine, intent, error);
  given.catch(() => undefined);
  const handle = await making?.catch(() => undefined);
  await handle
    ?.close()
    .catch((cause: unknown) =>
      engine.ports.log.debug({ sandboxId: intent.id, error: describe(cause) }, 'handle did not close cleanly'),
    );
  const row = await given;
  // Only the answer was lost that it runs, and another process has picked it up.
  if (row !== undefined && row.state !== 'destroying') return;
  // Whoever moved the row on believes the provider's copy is gone; it may be there all the same, finished late.
  await finishDestroying(engine, row ?? intent).catch(() => {});
}

/** Tried until the store does it: the create may never be over, and while this process lives nobody else gives the row up. */
async function giveUpAtLast(
  engine: Engine,
  intent: SandboxRecord,
  error: SubletError,
): Promise<SandboxRecord | undefined> {
  for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(2 * waitMs, LAST_RETRY_MS)) {
    try {
      return await giveUp(engine, intent, error);
    } catch (cause) {
      if (engine.closing.aborted) throw cause;
      engine.ports.log.debug({ sandboxId: intent.id, error: describe(cause) }, 'create not given up yet');
    }
    await sleep(engine.ports.clock, waitMs, engine.closing).catch(() => undefined);
  }
}

/** The row as it is being destroyed, or as somebody else has it by now; undefined when another process moved it on. */
async function giveUp(engine: Engine, intent: SandboxRecord, error: SubletError): Promise<SandboxRecord | undefined> {
  const { store } = engine.ports;
  for (;;) {
    const present = await store.getSandbox(intent.id);
    if (present === undefined || GOING.includes(present.state)) return undefined;
    if (isInUse(engine, present)) return present;
    const now = engine.now();
    const moved = await store.moveSandbox(intent.id, {
      to: 'destroying',
      at: now,
      cause: givenUpCause(error.code),
      ...engine.signature,
      from: [present.state],
      version: present.version,
      patch: { dueAt: now + intent.policy.timeoutSeconds * 1000 },
    });
    if (moved !== undefined) return moved;
  }
}

/** Somebody has picked it up, or put it to rest for its session. What was made for one purpose goes when that has failed. */
function isInUse(engine: Engine, { state, ownerId, ephemeral, pool, lease }: SandboxRecord): boolean {
  // What is taken for lost may be there all the same, and nobody uses it again.
  if (state === 'creating' || state === 'lost') return false;
  // Whoever leases it by its id owns it only a moment later.
  if (pool !== undefined && lease !== undefined && lease.ownerId !== engine.ownerId) return true;
  return ownerId !== engine.ownerId || (!ephemeral && AT_REST.includes(state));
}

function timeoutError(intent: SandboxRecord, progress: string | undefined): SubletError {
  const seconds = intent.policy.timeoutSeconds;
  const doing = progress === undefined ? '' : ` Last heard: ${progress}`;
  return new SubletError(
    'CREATE_TIMEOUT',
    `Provider "${intent.provider}" did not finish creating ${intent.id} within ${seconds} s.${doing}`,
    {
      details: { provider: intent.provider, sandboxId: intent.id, timeoutSeconds: seconds },
      hint: 'Raise timeoutSeconds in the profile or the call.',
    },
  );
}

function networkError(intent: SandboxRecord, handle: SandboxHandle): SubletError {
  return new SubletError(
    'NETWORK_NOT_ENFORCEABLE',
    `Provider "${intent.provider}" made ${intent.id} with network "${handle.network}" where "${intent.network}" was asked for.`,
    {
      details: { provider: intent.provider, capability: `network-${intent.network}` },
      hint: 'The sandbox was destroyed. Choose another provider.',
    },
  );
}
