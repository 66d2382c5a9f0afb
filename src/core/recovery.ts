/** What recovery does with each thing it meets, and why, in words: pure functions of facts. */
import type { Liveness } from './liveness.ts';
import type { LifecyclePolicy } from './policy.ts';
import type { SandboxState } from './states.ts';

/**
 * `none`: the owner's record is gone, because it left or was given up. What it still has then was handed to it too late, or could
 * not be put away. `nobody`: who left kept it on purpose.
 */
export type OwnerFact = 'self' | 'none' | 'nobody' | Liveness;

export type RecoveryAction = 'keep' | 'adopt' | 'destroy' | 'pause' | 'stop' | 'mark-lost' | 'watch';

export interface Verdict {
  readonly action: RecoveryAction;
  readonly reason: string;
}

export interface AbandonedFacts {
  readonly state: SandboxState;
  readonly ephemeral: boolean;
  readonly policy: Pick<LifecyclePolicy, 'onExit'>;
  readonly owner: OwnerFact;
  /** Its session has another sandbox by now. */
  readonly isReplaced?: boolean | undefined;
  readonly canPause: boolean;
  readonly canStop: boolean;
  /** Who uses it besides its owner, as far as is known. */
  readonly user?: 'this process' | 'the holder of its lease' | 'a process that had it before' | undefined;
  /** Of a pool's sandbox. */
  readonly pooled?: PooledFacts | undefined;
}

export interface PooledFacts {
  /** Nobody has had it since it was made or reset. */
  readonly isClean: boolean;
  /** Who keeps a pool of what it is. */
  readonly keeper: 'this process' | 'another process' | undefined;
}

/** What is in a sandbox's row, by the fate of its owner alone. */
export function judgeByOwner(facts: AbandonedFacts): Verdict {
  if (facts.owner === 'self') return keep('this process has it');
  if (facts.owner === 'alive') return keep('its owner lives');
  if (facts.owner === 'unknown') return keep('its owner may live: unknown is not dead');
  const who = facts.owner === 'dead' ? 'its owner died' : 'its owner is gone';
  switch (facts.state) {
    case 'creating':
      return { action: 'destroy', reason: `half-made when ${who}` };
    case 'destroying':
      return { action: 'destroy', reason: `being destroyed when ${who}` };
    case 'destroyed':
    case 'lost':
      return keep(`it is ${facts.state}`);
    case 'running':
    case 'paused':
    case 'stopped':
      if (facts.pooled !== undefined) return judgePooled(facts, facts.pooled, who);
      return facts.ephemeral ? { action: 'destroy', reason: `ephemeral, and ${who}` } : judgeSession(facts, who);
  }
}

function judgeSession(facts: AbandonedFacts, who: string): Verdict {
  if (facts.state !== 'running') return keep(`${who}; the next use of its session adopts it`);
  if (facts.owner === 'nobody') return keep('left running on purpose; the next use of its session adopts it');
  // Whoever still has a handle on what its session gave up for another is told so by its next use.
  if (facts.isReplaced === true && facts.user !== 'the holder of its lease') return judgeReplaced(facts, who);
  if (facts.user !== undefined) return { action: 'adopt', reason: `${who}, and ${facts.user} uses it` };
  const { onExit } = facts.policy;
  if (onExit === 'keep') return keep(`${who}, and onExit is keep`);
  if (onExit === 'destroy') return { action: 'destroy', reason: `${who}, and onExit is destroy` };
  if (facts.canPause) return { action: 'pause', reason: `${who}, and onExit is pause` };
  if (facts.canStop) return { action: 'stop', reason: `${who}, onExit is pause, and its provider can only stop` };
  return keep(`${who}, onExit is pause, and its provider can neither pause nor stop`);
}

// What waits belongs to the pool and not to whoever made it; what was used belongs to nobody.
function judgePooled(facts: AbandonedFacts, { isClean, keeper }: PooledFacts, who: string): Verdict {
  if (facts.user === 'the holder of its lease') return { action: 'adopt', reason: `${who}, and ${facts.user} uses it` };
  if (!isClean) return { action: 'destroy', reason: `in use when ${who}: nobody sees what it left` };
  if (facts.state === 'stopped') return { action: 'destroy', reason: `of a pool, stopped, and ${who}` };
  if (keeper !== undefined) return { action: 'adopt', reason: `${who}, and ${keeper} keeps its pool` };
  if (facts.policy.onExit === 'keep') return keep(`${who}; it was warmed by hand and waits for its pool`);
  return { action: 'destroy', reason: `${who}, and no process keeps its pool` };
}

// Nobody comes back for it, but it may hold files that were not carried over.
function judgeReplaced(facts: AbandonedFacts, who: string): Verdict {
  const reason = `${who}, and its session has another sandbox`;
  if (facts.canPause) return { action: 'pause', reason };
  return { action: facts.canStop ? 'stop' : 'destroy', reason };
}

export interface SightedFacts {
  /** In how many passes in a row, this one included. */
  readonly sightings: number;
  readonly firstAt: number;
  readonly now: number;
}

export const ORPHAN_SIGHTINGS = 2;
export const ORPHAN_GRACE_MS: number = 2 * 60_000;

/** Something at the provider with our label and no row that claims it. `owner`: whom its label names. */
export function judgeOrphan(facts: SightedFacts, owner: OwnerFact): Verdict {
  const what = 'at the provider, but no record claims it';
  if (owner === 'alive' || owner === 'unknown') return keep(`${what}; the owner its label names may still be at it`);
  const wait = waitFor(facts);
  return wait === undefined
    ? { action: 'destroy', reason: `${what}: an orphan, seen ${facts.sightings} times` }
    : { action: 'watch', reason: `${what}; ${wait}` };
}

/** A row that says it lives, of which the provider lists nothing and of which a direct question said it is gone. */
export function judgeMissing(facts: SightedFacts): Verdict {
  const what = 'on record, but the provider does not have it';
  const wait = waitFor(facts);
  return wait === undefined
    ? { action: 'mark-lost', reason: `${what}, ${facts.sightings} times` }
    : { action: 'watch', reason: `${what}; ${wait}` };
}

/** A row that says it rests, of what the provider has awake, or only paused: whoever put it to rest died before it was done. */
export function judgeAwake(facts: SightedFacts, state: 'paused' | 'stopped'): Verdict {
  const fact = state === 'paused' ? 'has it running' : 'still has its processes';
  const what = `on record as ${state}, but the provider ${fact}`;
  const wait = waitFor(facts);
  return wait === undefined
    ? { action: state === 'paused' ? 'pause' : 'stop', reason: `${what}, ${facts.sightings} times` }
    : { action: 'watch', reason: `${what}; ${wait}` };
}

// A clock that was set back may make it look as if it was first seen in the future.
function waitFor({ sightings, firstAt, now }: SightedFacts): string | undefined {
  if (sightings < ORPHAN_SIGHTINGS) return `seen once, and twice is needed`;
  const ageMs = now - firstAt;
  if (ageMs >= ORPHAN_GRACE_MS) return undefined;
  return `seen for ${Math.max(0, Math.round(ageMs / 1000))} s, and ${ORPHAN_GRACE_MS / 1000} s are needed`;
}

function keep(reason: string): Verdict {
  return { action: 'keep', reason };
}
