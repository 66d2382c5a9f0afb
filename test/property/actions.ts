/** What may be done to two managers, as data: random sequences of it are easy to print, to shrink and to repeat. */
import fc from 'fast-check';
import { NETWORK_LEVELS, type NetworkLevel } from '../../src/core/network.ts';
import type { Fault, FaultyOperation } from '../../src/testing/index.ts';

export const KEYS = ['a', 'b', 'c'] as const;
export type Key = (typeof KEYS)[number];

/** Which of the two managers does it. */
export type Who = 0 | 1;

export type Action =
  | { readonly type: 'session'; readonly who: Who; readonly key: Key; readonly network?: NetworkLevel | undefined }
  /** Both managers at the same time. */
  | { readonly type: 'both'; readonly key: Key }
  | { readonly type: 'run'; readonly who: Who }
  | { readonly type: 'pause' | 'resume' | 'stop' | 'destroy'; readonly who: Who; readonly key: Key }
  | { readonly type: 'markPrivate'; readonly who: Who; readonly key: Key }
  | { readonly type: 'sweep'; readonly who: Who }
  /** Leaves in order, and another one takes its place. */
  | { readonly type: 'reopen'; readonly who: Who }
  /** The provider loses the key's sandbox. */
  | { readonly type: 'lose'; readonly key: Key }
  | { readonly type: 'wait'; readonly minutes: number };

/** An action, and what the provider gets wrong while it is done. */
export interface Step {
  readonly action: Action;
  readonly fault?: readonly [operation: FaultyOperation, fault: Fault] | undefined;
}

const who = fc.constantFrom<Who>(0, 1);
const key = fc.constantFrom(...KEYS);

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('session' as const),
      who,
      key,
      network: fc.option(fc.constantFrom(...NETWORK_LEVELS), { nil: undefined, freq: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('both' as const), key }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('run' as const), who }) },
  {
    weight: 5,
    arbitrary: fc.record({ type: fc.constantFrom('pause', 'resume', 'stop', 'destroy'), who, key }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('markPrivate' as const), who, key }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('sweep' as const), who }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('reopen' as const), who }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('lose' as const), key }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 12 }) }) },
);

// Without those that say "gone" of what is there: what follows from them is for the search for orphans.
const ANY: readonly Fault[] = [
  { type: 'slow', ms: 700 },
  { type: 'refused' },
  { type: 'lost-answer' },
  { type: 'rate-limited', retryAfterMs: 2000 },
  { type: 'stuck' },
];
const OPERATIONS = ['create', 'attach', 'destroy', 'pause', 'resume', 'stop', 'start'] as const;

const fault: fc.Arbitrary<Step['fault']> = fc.oneof(
  fc.tuple(fc.constantFrom(...OPERATIONS), fc.constantFrom(...ANY)),
  fc.constant(['create', { type: 'duplicate' }] as const),
);

export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({ action, fault: fc.option(fault, { nil: undefined, freq: 3 }) }),
  { minLength: 3, maxLength: 25, size: 'max' },
);
