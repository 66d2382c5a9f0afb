/** The slow way to a session's sandbox: claim it, wait for whoever claimed it, wake it, or replace it. */
import type { SandboxOptions, SessionNotice } from '../core/api.ts';
import type { GapSummary } from '../core/adaptive-idle.ts';
import { isAdaptive, observeGap } from '../core/adaptive-idle.ts';
import { sleep } from '../core/clock.ts';
import { SubletError } from '../core/errors.ts';
import type { SandboxId } from '../core/ids.ts';
import type { SandboxKind, SessionKey } from '../core/session-key.ts';
import type { ResolvedSandbox } from '../core/spec.ts';
import type { BoundSession, SessionRecord } from '../store/records.ts';
import { beginDestroying, destroySandbox } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import { isGivenUp } from './given-up.ts';
import { asTightAsFamily, followFamily } from './session-family.ts';
import { assertMayUse } from './lease-check.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import { markLost } from './mark-lost.ts';
import { TAKEOVER_GRACE_MS } from './plan-sandbox.ts';
import { readySandbox } from './ready-sandbox.ts';
import { recreateTighter } from './recreate-tighter.ts';
import type { Routed, RoutedWork } from './routing/make-routed.ts';
import { choicesOf, makeRouted } from './routing/make-routed.ts';
import { restoring } from './snapshots.ts';
import {
  assertSameSandbox,
  elsewhere,
  envFor,
  replacedNotice,
  restartedNotice,
  routedNotice,
  tighterThanAskedNotice,
  wantedAgain,
} from './session-wants.ts';

export interface SessionRequest {
  readonly key: SessionKey;
  readonly kind: SandboxKind;
  readonly options: SandboxOptions;
  readonly signal: AbortSignal;
}

export interface Acquired {
  readonly session: SessionRecord;
  readonly live: LiveSandbox;
  /** This acquire made the sandbox. */
  readonly created: boolean;
  readonly notices: readonly SessionNotice[];
}

const FIRST_POLL_MS = 2;
const LONGEST_POLL_MS = 50;
/** How often those who wait for a create look whether its maker still lives. */
const JUDGE_EVERY_MS = 500;
const MAX_ROUNDS = 100;

/** Each round either ends it or found that another process moved on; then it looks again. */
export async function acquireSession(engine: Engine, request: SessionRequest): Promise<Acquired> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    request.signal.throwIfAborted();
    const bound = await engine.ports.store.getSession(request.key);
    const acquired = bound === undefined ? await claim(engine, request) : await use(engine, request, bound);
    if (acquired !== undefined) return acquired;
  }
  throw new SubletError('STATE_CONFLICT', `Session ${request.key} kept changing while it was being acquired.`, {
    details: { sessionKey: request.key },
    hint: 'Try again; look for processes that keep destroying it with: sublet events',
  });
}

async function claim(engine: Engine, { key, kind, options, signal }: SessionRequest): Promise<Acquired | undefined> {
  const { store } = engine.ports;
  const asked = choicesOf(await engine.ports.resolve(options, { kind }));
  const choices = await Promise.all(asked.map((choice) => asTightAsFamily(engine, key, choice)));
  let bound: BoundSession | undefined;
  const commit: RoutedWork['commit'] = async (row, { profile, network }, failed) => {
    const first = { key, kind, profile, network, privateReason: undefined, createdAt: row.createdAt };
    const claimed =
      failed === undefined ? await store.claimSession(first, row) : await store.replaceSandbox(key, failed, row);
    if (!claimed.won || claimed.bound === undefined) return undefined;
    bound = claimed.bound;
    bound = await followFamily(engine, bound);
    return bound.sandbox;
  };
  const request = (): ReturnType<RoutedWork['request']> => ({
    kind,
    sessionKey: key,
    cause: 'first use of the session',
  });
  try {
    const routed = await makeRouted(engine, { choices, request, commit, signal });
    if (routed === undefined || bound === undefined) return undefined;
    const { session } = bound;
    return { session, live: routed.live, created: true, notices: routedNotices(engine, routed) };
  } catch (cause) {
    if (bound !== undefined) await forgetIfUnmade(engine, key, bound.sandbox.id);
    throw cause;
  }
}

function routedNotices(engine: Engine, { live, passedOver }: Routed): readonly SessionNotice[] {
  return passedOver.length === 0 ? [] : [routedNotice(live.record.profile, passedOver, engine.now())];
}

/** A key that never had a sandbox is forgotten; one that did keeps its ratchet, see `replace`, and one that may have one keeps that. */
async function forgetIfUnmade(engine: Engine, key: SessionKey, id: SandboxId): Promise<void> {
  const { store } = engine.ports;
  const unmade = await store.getSandbox(id);
  if (unmade !== undefined && isGivenUp(unmade))
    await store.removeSession(key, id, 'its first sandbox could not be made', engine.now());
}

async function use(engine: Engine, request: SessionRequest, bound: BoundSession): Promise<Acquired | undefined> {
  await assertMayUse(engine, bound.sandbox);
  await assertSameSandbox(engine, request.options, bound);
  const { sandbox } = bound;
  switch (sandbox.state) {
    case 'creating':
      return waitForCreate(engine, request, bound);
    case 'running':
    case 'paused':
    case 'stopped':
      return reuse(engine, request, bound);
    case 'lost':
      return handleLoss(engine, request, bound);
    case 'destroying':
    case 'destroyed':
      return replace(engine, request, bound, isGivenUp(sandbox) ? undefined : `was destroyed (${sandbox.cause})`);
  }
}

/** Another process is making it. When its time is over, or it has died, exactly one of those who wait takes over. */
async function waitForCreate(
  engine: Engine,
  request: SessionRequest,
  bound: BoundSession,
): Promise<Acquired | undefined> {
  const { clock, store } = engine.ports;
  const { id, policy, ownerId } = bound.sandbox;
  // By our own patience too, not by an instant on somebody else's clock alone; its maker may ask for more time.
  let { dueAt } = bound.sandbox;
  const waitUntil = clock.elapsed() + policy.timeoutSeconds * 1000 + TAKEOVER_GRACE_MS;
  let judgedAt = -Infinity;
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 1.5, LONGEST_POLL_MS)) {
    const isOverdue = clock.elapsed() >= waitUntil && engine.now() >= (dueAt ?? Infinity);
    if (isOverdue) return takeOver(engine, request, bound, 'not ready in time');
    if (clock.elapsed() - judgedAt >= JUDGE_EVERY_MS) {
      const owner = await engine.owners.judge(ownerId);
      if (owner === 'dead' || owner === 'none')
        return takeOver(engine, request, bound, 'half-made when its owner died');
      judgedAt = clock.elapsed();
    }
    await sleep(clock, pollMs, request.signal);
    const present = await store.getSandbox(id);
    if (present?.state !== 'creating') return undefined;
    ({ dueAt } = present);
  }
}

/** The half-made one is given up before the key gets another, so that its maker cannot finish it meanwhile. */
async function takeOver(
  engine: Engine,
  request: SessionRequest,
  bound: BoundSession,
  cause: string,
): Promise<Acquired | undefined> {
  const abandoned = await beginDestroying(engine, bound.sandbox, cause, { from: ['creating'] });
  return abandoned && replace(engine, request, { ...bound, sandbox: abandoned }, undefined);
}

async function reuse(engine: Engine, request: SessionRequest, bound: BoundSession): Promise<Acquired | undefined> {
  const { sandbox, session } = bound;
  const readiness = await readySandbox(engine, sandbox, {
    env: () => envFor(engine, request.options, sandbox),
    cause: 'used again',
    signal: request.signal,
  });
  switch (readiness.status) {
    case 'ready': {
      engine.count(sandbox.kind, 'reused');
      const restarted = readiness.restarted === true ? restartedNotice(sandbox, engine.now()) : undefined;
      const tighter = tighterThanAskedNotice(request.options, bound, engine.now());
      const notices = [restarted, tighter].filter((notice) => notice !== undefined);
      return { session, live: readiness.live, created: false, notices };
    }
    case 'changed':
      return undefined;
    case 'lost':
      return handleLoss(engine, request, bound);
    case 'unsafe': {
      const wanted = await wantedAgain(engine, request.options, bound);
      const recreated = await recreateTighter(engine, bound, readiness.live, wanted, request.signal);
      return (
        recreated && { session: recreated.session, live: recreated.live, created: true, notices: [recreated.notice] }
      );
    }
  }
}

/**
 * A loss is told exactly once. With `onLost: fail` the call that meets it rejects with SANDBOX_LOST and the remains are
 * destroyed; the next call for the key makes a fresh sandbox and says so in a notice. The key keeps its network level
 * throughout. `restore` without a snapshot behaves as `recreate`, and the notice says so.
 */
async function handleLoss(engine: Engine, request: SessionRequest, bound: BoundSession): Promise<Acquired | undefined> {
  const { sandbox } = bound;
  const lost = sandbox.state === 'lost' ? sandbox : await markLost(engine, sandbox);
  if (lost === undefined) return undefined;
  if (sandbox.policy.onLost === 'fail') {
    await destroySandbox(engine, lost, 'lost; its remains are removed').catch(() => {});
    throw new SubletError(
      'SANDBOX_LOST',
      `Sandbox ${sandbox.id} of session ${request.key} is gone, and Sublet did not destroy it.`,
      {
        details: { sandboxId: sandbox.id, sessionKey: request.key, provider: sandbox.provider },
        hint: 'Its files are lost. Ask for the session again to start with a fresh sandbox.',
      },
    );
  }
  const isBare = sandbox.policy.onLost === 'restore' && bound.session.snapshot === undefined;
  const bare = isBare ? ' and there is no snapshot to restore' : '';
  return replace(engine, request, { ...bound, sandbox: lost }, `was lost by provider "${sandbox.provider}"${bare}`);
}

/** `what` became of the old one, for the notice; undefined when nobody ever used it. A sandbox that it had replaced in turn is told of. */
async function replace(
  engine: Engine,
  request: SessionRequest,
  bound: BoundSession,
  what: string | undefined,
): Promise<Acquired | undefined> {
  const { key, kind, signal } = request;
  const old = bound.sandbox;
  const again = await wantedAgain(engine, request.options, bound);
  const others = await elsewhere(engine, request.options, bound);
  // Where it could not be made a moment ago comes last.
  const choices = isGivenUp(old) ? [...others, again] : [again, ...others];
  const cause = `${old.id} ${what ?? (isGivenUp(old) ? 'could not be made' : 'was not ready in time')}`;
  const gapsFor = ({ policy }: ResolvedSandbox): GapSummary | undefined =>
    isAdaptive(policy) ? observeGap(old.gaps, engine.now() - old.lastActiveAt) : undefined;
  const restore = await restoring(engine, bound);
  let session = bound.session;
  const routed = await makeRouted(engine, {
    choices,
    request: (wanted) => ({ kind, sessionKey: key, cause, gaps: gapsFor(wanted) }),
    commit: async (row, _wanted, failed) => {
      const replaced = await engine.ports.store.replaceSandbox(key, failed ?? old.id, row);
      if (!replaced.won || replaced.bound === undefined) return undefined;
      session = replaced.bound.session;
      // Also what is said to be gone: a provider that was wrong about it must not keep it.
      if (failed === undefined && old.state !== 'destroyed')
        engine.inBackground('replaced sandbox not destroyed', destroySandbox(engine, old, `replaced by ${row.id}`));
      return replaced.bound.sandbox;
    },
    signal,
    fill: restore?.fill,
  });
  if (routed === undefined) return undefined;
  const { live } = routed;
  const notices = routedNotices(engine, routed);
  if (restore !== undefined) return { session, live, created: true, notices: [restore.notice(), ...notices] };
  const isFirst = old.createdAt === bound.session.createdAt;
  const told = what ?? (isFirst ? undefined : 'took the place of another and was not ready in time');
  const replacedNotices = told === undefined ? [] : [replacedNotice(old, live.id, engine.now(), told)];
  return { session, live, created: true, notices: [...replacedNotices, ...notices] };
}
