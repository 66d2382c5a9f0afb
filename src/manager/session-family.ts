/** A session and its members hold one network level: what one of them is tightened to, all are. */
import type { NetworkLevel } from '../core/network.ts';
import { isAtLeastAsTight } from '../core/network.ts';
import type { SessionKey } from '../core/session-key.ts';
import { familyKey } from '../core/session-key.ts';
import type { ResolvedSandbox } from '../core/spec.ts';
import type { BoundSession, SessionRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';

/** What is asked for, at least as tight as its relatives are. */
export async function asTightAsFamily(
  engine: Engine,
  key: SessionKey,
  wanted: ResolvedSandbox,
): Promise<ResolvedSandbox> {
  const tighter = await tighterRelative(engine, key, wanted.network);
  return tighter === undefined ? wanted : { ...wanted, network: tighter.network };
}

/**
 * Once a key is claimed and before anything is made for it: a relative that was tightened by somebody who did not see the
 * claim is seen now.
 */
export async function followFamily(engine: Engine, bound: BoundSession): Promise<BoundSession> {
  const { key, network } = bound.session;
  const tighter = await tighterRelative(engine, key, network);
  if (tighter === undefined) return bound;
  const reason = tighter.privateReason ?? 'as tight as the others of its session';
  return (await engine.ports.store.tightenSession(key, tighter.network, reason, engine.now())) ?? bound;
}

/**
 * Puts the level on every relative's row, and returns those it moved. Until none is found weaker: whoever claims a key
 * meanwhile is seen here, or looks at these rows after they have the level.
 */
export async function tightenRelatives(
  engine: Engine,
  key: SessionKey,
  level: NetworkLevel,
  reason: string,
): Promise<readonly BoundSession[]> {
  const moved: BoundSession[] = [];
  for (;;) {
    const weaker = (await relatives(engine, key)).filter(({ session }) => !isAtLeastAsTight(session.network, level));
    if (weaker.length === 0) return moved;
    for (const { session } of weaker) {
      const bound = await engine.ports.store.tightenSession(session.key, level, reason, engine.now());
      if (bound !== undefined) moved.push(bound);
    }
  }
}

async function relatives(engine: Engine, key: SessionKey): Promise<readonly BoundSession[]> {
  const family = await engine.ports.store.listSessions(Infinity, familyKey(key));
  return family.filter(({ session }) => session.key !== key);
}

/** The tightest of those that are tighter than `level`. */
async function tighterRelative(
  engine: Engine,
  key: SessionKey,
  level: NetworkLevel,
): Promise<SessionRecord | undefined> {
  const others = (await relatives(engine, key)).map(({ session }) => session);
  return others.reduce<SessionRecord | undefined>(
    (tightest, each) => (isAtLeastAsTight(tightest?.network ?? level, each.network) ? tightest : each),
    undefined,
  );
}
