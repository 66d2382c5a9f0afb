/** A tighter network where it cannot be cut in place: the same workspace in a new sandbox, and the old one gone. */
import type { SessionNotice } from '../core/api.ts';
import { sleep } from '../core/clock.ts';
import { SubletError, toSubletError } from '../core/errors.ts';
import type { ResolvedSandbox } from '../core/spec.ts';
import type { BoundSession, SandboxRecord, SessionRecord } from '../store/records.ts';
import { carryOver } from './carry-over.ts';
import { contain } from './contain.ts';
import type { FillSandbox } from './create-sandbox.ts';
import { withDeadline } from './deadline.ts';
import { beginDestroying, finishDestroying } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import { makeSandbox, prepareSandbox } from './make-sandbox.ts';
import { TAKEOVER_GRACE_MS } from './plan-sandbox.ts';

const PUT_AWAY_POLL_MS = 50;
/** However large a working directory is, until it is carried over the old sandbox is on the network. */
const CARRY_OVER_MS = 10 * 60_000;

export interface Recreated {
  readonly session: SessionRecord;
  readonly live: LiveSandbox;
  readonly notice: SessionNotice;
}

/**
 * undefined when another process replaced the sandbox first. When it cannot be done the old sandbox is paused, else stopped, else
 * destroyed, never left open, and the call rejects with NETWORK_NOT_ENFORCEABLE.
 */
export async function recreateTighter(
  engine: Engine,
  bound: BoundSession,
  old: LiveSandbox,
  wanted: ResolvedSandbox,
  signal: AbortSignal | undefined,
): Promise<Recreated | undefined> {
  const isAwake = bound.sandbox.state === 'running';
  const end = old.begin(() => engine.now());
  try {
    if (isAwake) await inTime(engine, engine.config.providerTimeoutMs, () => killCommands(old));
    const isCarried = isAwake && wanted.contextId === undefined;
    const made = await makeBound(engine, bound, wanted, isCarried ? carrying(engine, old) : undefined, signal);
    if (made === undefined) return undefined;
    await putAway(engine, bound.sandbox, isCarried || wanted.contextId !== undefined);
    return { ...made, notice: notice(engine, bound.sandbox, made.live, isCarried) };
  } catch (cause) {
    const kept = await contain(engine, bound.sandbox);
    throw notEnforceable(bound, toSubletError(cause, 'PROVIDER_UNAVAILABLE', signal), kept);
  } finally {
    end();
    await old.close().catch(() => {});
  }
}

/** Another process replaces it: it is off the network when this returns, at the latest when that takes too long. */
export async function untilPutAway(engine: Engine, { id, policy }: SandboxRecord): Promise<void> {
  const { clock, store } = engine.ports;
  const until = clock.elapsed() + policy.timeoutSeconds * 1000;
  for (;;) {
    const present = await store.getSandbox(id);
    if (present?.state !== 'running' && present?.state !== 'destroying') return;
    if (clock.elapsed() >= until) {
      if (present.state === 'running') await contain(engine, present);
      return;
    }
    await sleep(clock, PUT_AWAY_POLL_MS);
  }
}

/** Sandboxes the session had before and that may still run: off the network when this returns, as above. */
export async function untilForerunnersGone(engine: Engine, { session, sandbox }: BoundSession): Promise<void> {
  const query = { sessionKey: session.key, states: ['running', 'destroying'] as const };
  const { store } = engine.ports;
  const rows = await store.findSandboxes(query);
  // What took its place meanwhile was made after the session was tightened, as tight as that.
  const present = await store.getSession(session.key);
  const forerunners = rows.filter(({ id }) => id !== sandbox.id && id !== present?.sandbox.id);
  await Promise.all(forerunners.map((row) => untilPutAway(engine, row)));
}

async function makeBound(
  engine: Engine,
  { session, sandbox }: BoundSession,
  wanted: ResolvedSandbox,
  fill: FillSandbox | undefined,
  signal: AbortSignal | undefined,
): Promise<Pick<Recreated, 'session' | 'live'> | undefined> {
  const cause = `network tightened to "${session.network}"`;
  const { gaps } = sandbox;
  const prepared = await prepareSandbox(engine, { wanted, kind: session.kind, sessionKey: session.key, cause, gaps });
  let rebound = session;
  const live = await makeSandbox(
    engine,
    prepared,
    async (row) => {
      const replaced = await engine.ports.store.replaceSandbox(session.key, sandbox.id, row);
      if (!replaced.won || replaced.bound === undefined) return undefined;
      rebound = replaced.bound.session;
      return replaced.bound.sandbox;
    },
    signal,
    fill,
  );
  return live && { session: rebound, live };
}

/** Before it counts as running: whoever finds it half-filled takes it for half-made, and nobody uses it. */
function carrying(engine: Engine, old: LiveSandbox): FillSandbox {
  return async (handle, { id }, signal) => {
    // Until then nobody takes the create for one that hangs.
    await engine.ports.store.patchSandbox(id, { dueAt: engine.now() + CARRY_OVER_MS + TAKEOVER_GRACE_MS });
    await inTime(engine, CARRY_OVER_MS, (late) => carryOver(old.handle, handle, late), signal);
  };
}

function inTime<T>(
  engine: Engine,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const late = (): SubletError =>
    new SubletError('PROVIDER_UNAVAILABLE', `The sandbox could not be emptied within ${ms / 1000} s.`);
  return withDeadline(engine.ports.clock, { ms, late, signals: [signal, engine.closing] }, work);
}

// What runs on in an open sandbox can still send what it has read.
async function killCommands(old: LiveSandbox): Promise<void> {
  const commands = await old.handle.commands.list();
  const running = commands.filter((command) => command.running);
  await Promise.all(running.map(async ({ id }) => (await old.handle.commands.attach(id)).kill()));
}

async function putAway(engine: Engine, old: SandboxRecord, isWorkspaceSafe: boolean): Promise<void> {
  if (!isWorkspaceSafe) {
    await contain(engine, old);
    return;
  }
  const cause = 'replaced by one with a tighter network';
  const going = await beginDestroying(engine, old, cause);
  // The row is `destroying` whatever the provider answers, so the sweep finishes what fails here.
  if (going !== undefined) await finishDestroying(engine, going).catch(() => {});
}

function notice(engine: Engine, old: SandboxRecord, live: LiveSandbox, isCarried: boolean): SessionNotice {
  const files = isCarried ? 'Its working directory was carried over' : 'Its files were left behind';
  const message = `Sandbox ${old.id} could not be cut off in place. ${files}; its processes are gone; ${live.id} takes its place.`;
  return { type: 'replaced', at: engine.now(), lostSandboxId: old.id, message };
}

function notEnforceable({ session, sandbox }: BoundSession, cause: SubletError, kept: string): SubletError {
  return new SubletError(
    'NETWORK_NOT_ENFORCEABLE',
    `Sandbox ${sandbox.id} cannot be brought to network level "${session.network}": ${cause.message} It is ${kept} now.`,
    {
      cause,
      details: { sandboxId: sandbox.id, provider: sandbox.provider, level: session.network, state: kept },
      hint: `Use a provider that can enforce "${session.network}".`,
    },
  );
}
