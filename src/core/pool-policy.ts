/** What a pool needs now, and what goes: pure functions of its settings, what there is, and time. */
import type { SandboxId } from './ids.ts';
import type { NetworkLevel } from './network.ts';
import type { PoolCounts, PoolSettings, PoolTerms } from './pool-settings.ts';
import type { SandboxState } from './states.ts';

const MINUTE_MS = 60_000;
/** Of its age limit, how much less one may have, so that sandboxes made together do not go together. */
const AGE_JITTER = 0.2;

export interface MakeFacts extends PoolCounts {
  /** What this process is making. */
  readonly making: number;
  /** How many the provider bears, as far as it has said. */
  readonly ceiling: number;
  /** How many the refill rate allows by now. */
  readonly allowance: number;
}

/** How many to begin now: for those who wait and for the minimum, within every limit. */
export function howManyToMake(settings: PoolSettings, facts: MakeFacts): number {
  const missing = settings.minIdle + settings.minPaused + facts.waiting - facts.idle - facts.paused - facts.creating;
  const room = Math.min(settings.maxTotal, facts.ceiling) - facts.total;
  const hands = settings.createConcurrency - facts.making;
  return Math.max(0, Math.min(missing, room, hands, Math.floor(facts.allowance)));
}

/** True when there may not be more: whoever wants one has to wait for one that comes back. */
export function isFull(settings: PoolSettings, counts: PoolCounts, ceiling: number): boolean {
  return counts.total >= Math.min(settings.maxTotal, ceiling);
}

/** The refill rate as a bucket that fills with time and holds one second's worth. */
export function allowanceAt(settings: PoolSettings, before: number, elapsedMs: number): number {
  const { refillPerSecond: rate } = settings;
  if (rate <= 0) return Infinity;
  return Math.min(Math.max(1, rate), (Number.isFinite(before) ? before : rate) + (rate * elapsedMs) / 1000);
}

/** What a new sandbox of the pool is made under. `random`: from 0 to 1. */
export function termsFor(settings: PoolSettings, network: NetworkLevel, now: number, random: number): PoolTerms {
  const ageMs = settings.maxAgeMinutes * MINUTE_MS * (1 - AGE_JITTER * random);
  return {
    network,
    reuse: settings.reuse,
    maxUses: settings.maxUses,
    expiresAt: ageMs > 0 ? now + ageMs : undefined,
    idleMs: settings.idleTimeoutMinutes * MINUTE_MS,
  };
}

export interface IdleSandbox {
  readonly id: SandboxId;
  readonly state: SandboxState;
  readonly network: NetworkLevel;
  readonly terms: PoolTerms;
  /** Idle since. */
  readonly lastActiveAt: number;
  /** Somebody keeps a pool of what it is. */
  readonly isWanted: boolean;
}

export interface Tidying {
  readonly id: SandboxId;
  readonly action: 'destroy' | 'pause';
  readonly reason: string;
}

/** What goes of the idle ones, and what is put to sleep, in the order given. `idle` are of one pool. */
export function tidyIdle(
  settings: PoolSettings,
  idle: readonly IdleSandbox[],
  facts: { readonly waiting: number; readonly canPause: boolean; readonly now: number },
): readonly Tidying[] {
  const unfit = idle.flatMap((sandbox): readonly Tidying[] => {
    const reason = unfitness(sandbox, facts.now);
    return reason === undefined ? [] : [{ id: sandbox.id, action: 'destroy', reason }];
  });
  const gone = new Set(unfit.map(({ id }) => id));
  const left = idle.filter(({ id }) => !gone.has(id));
  return [...unfit, ...shrink(settings, left, facts)];
}

/** Why it must not be handed over to anybody; undefined when it may. */
export function unfitness(
  sandbox: Pick<IdleSandbox, 'state' | 'network' | 'terms' | 'isWanted'>,
  now: number,
): string | undefined {
  if (!sandbox.isWanted) return 'not what the pool makes now';
  if (sandbox.network !== sandbox.terms.network) return 'network tightened';
  if (sandbox.state === 'stopped') return 'stopped';
  return isTooOld(sandbox.terms, now) ? 'too old' : undefined;
}

function isTooOld({ expiresAt }: PoolTerms, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}

// Those that were idle for longest go first. Whoever waits is about to take them all.
function shrink(
  settings: PoolSettings,
  idle: readonly IdleSandbox[],
  { waiting, canPause, now }: { readonly waiting: number; readonly canPause: boolean; readonly now: number },
): readonly Tidying[] {
  if (waiting > 0) return [];
  const byIdleness = idle.toSorted((a, b) => a.lastActiveAt - b.lastActiveAt);
  const running = byIdleness.filter(({ state }) => state === 'running');
  const paused = byIdleness.filter(({ state }) => state === 'paused');
  const sleepers = Math.max(0, settings.minPaused - paused.length);
  let spare = running.length - settings.minIdle;
  let asleep = 0;
  const done: Tidying[] = [];
  for (const { id, lastActiveAt, terms } of running) {
    if (spare <= 0) break;
    if (canPause && asleep < sleepers) {
      done.push({ id, action: 'pause', reason: 'kept paused' });
      asleep += 1;
    } else if (now - lastActiveAt >= terms.idleMs) done.push({ id, action: 'destroy', reason: 'idle for too long' });
    else break;
    spare -= 1;
  }
  const excess = paused.slice(0, Math.max(0, paused.length - settings.minPaused));
  for (const { id, lastActiveAt, terms } of excess)
    if (now - lastActiveAt >= terms.idleMs) done.push({ id, action: 'destroy', reason: 'idle for too long' });
  return done;
}

export interface UsedSandbox {
  readonly network: NetworkLevel;
  readonly terms: PoolTerms;
  readonly uses: number;
  readonly canReset: boolean;
}

/** Why it does not go back after its use; undefined when it may, once it is reset. */
export function whyDiscard(used: UsedSandbox, now: number): string | undefined {
  const { terms, uses } = used;
  if (terms.reuse !== 'reset') return 'used once';
  if (used.network !== terms.network) return 'network tightened';
  if (!used.canReset) return 'its provider cannot reset';
  if (terms.maxUses > 0 && uses >= terms.maxUses) return 'used often enough';
  return isTooOld(terms, now) ? 'too old' : undefined;
}
