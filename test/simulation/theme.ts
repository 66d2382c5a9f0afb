/** What a seed is about. Most are about everything; some dwell on one thing, so that its rare turns come up too. */
import type { PoolDefinition } from '../../src/core/pools.ts';
import { Chance } from './chance.ts';

/** What agents may do, and how often. */
const ACTIONS = { run: 3, session: 6, lease: 3, byHand: 1.5, sweep: 0.7, reap: 0.7, destroyAll: 0.1 };
/** What they may do with a session that they have. */
const USES = { command: 5, background: 1, file: 1, markPrivate: 1 };
const UPHEAVALS = { crash: 6, freeze: 4, leave: 2, setClock: 2, outage: 1, lose: 2, reboot: 1 };

export type Action = keyof typeof ACTIONS | 'pooled';
export type Use = keyof typeof USES | 'migrate';
export type UpheavalKind = keyof typeof UPHEAVALS;

type Weights<K extends string> = Readonly<Partial<Record<K, number>>>;

export interface Theme {
  readonly name: string;
  /** The tasks of the session keys. */
  readonly tasks: readonly string[];
  readonly actions: Weights<Action>;
  readonly uses: Weights<Use>;
  /** How likely a session is asked for exclusively. */
  readonly exclusive: number;
  readonly upheavals: Weights<UpheavalKind>;
  readonly mostUpheavals: number;
  readonly processes: readonly number[];
  /** How long an agent thinks between two things, at most. */
  readonly paceMs: number;
  /** All agents begin what they do next at a multiple of this, or soon after; absent where each has its own pace. */
  readonly beatMs?: number | undefined;
  readonly standstillsMs: readonly number[];
  /** How long a store takes for anything, at most. */
  readonly storeMs: number;
  /** How likely a call to the store fails. */
  readonly storeTrouble: number;
  /** How likely the provider can cut a network in place. */
  readonly cutsInPlace: number;
  /** How likely a caller names two choices; absent where none does. */
  readonly routes?: number | undefined;
  /** What the pool is that agents lease from; absent where there is none. */
  readonly pool?: PoolDefinition | undefined;
}

/** Leases from one pool, by processes that come and go. A theme with seeds of its own. */
export function poolTheme(chance: Chance): Theme {
  const everything = pickTheme(chance);
  const minIdle = chance.pick([0, 1, 1, 2]);
  const minPaused = chance.pick([0, 0, 1]);
  return {
    ...everything,
    name: 'pools',
    tasks: ['a'],
    actions: { pooled: 8, lease: 0.7, session: 0.5, run: 0.5, byHand: 0.5, sweep: 0.5, reap: 0.5 },
    exclusive: 0,
    upheavals: { crash: 6, leave: 4, freeze: 4, lose: 2, outage: 1, setClock: 1, reboot: 1 },
    mostUpheavals: 5,
    processes: [2, 3, 4],
    paceMs: chance.pick([300, 2_000, 8_000]),
    standstillsMs: [200, 4_000, 40_000, 400_000],
    pool: {
      sandbox: { policy: { timeoutSeconds: chance.pick([2, 4]) } },
      minIdle,
      minPaused,
      maxTotal: Math.max(1, minIdle + minPaused) + chance.pick([0, 0, 1, 2]),
      maxAgeMinutes: chance.pick([0, 0, 2]),
      idleTimeoutMinutes: 1,
      createConcurrency: chance.pick([1, 2]),
      refillPerSecond: chance.pick([0, 0, 0.5]),
      whenFull: chance.pick(['wait', 'wait', 'wait', 'fail', 'create']),
      waitTimeoutSeconds: chance.pick([5, 20]),
      reuse: chance.pick(['never', 'reset', 'reset']),
    },
  };
}

export function pickTheme(chance: Chance): Theme {
  const everything: Theme = {
    name: 'everything',
    tasks: ['a', 'b'],
    actions: chance.someOf(ACTIONS),
    uses: USES,
    exclusive: 0.3,
    upheavals: chance.someOf(UPHEAVALS),
    mostUpheavals: 4,
    processes: [1, 2, 2, 3, 3, 4],
    paceMs: chance.pick([300, 4_000, 40_000]),
    standstillsMs: [200, 5_000, 90_000, 400_000],
    storeMs: chance.pick([2, 2, 200]),
    storeTrouble: chance.pick([0, 0, 0.01, 0.05]),
    cutsInPlace: 0.75,
  };
  return {
    ...everything,
    ...DWELLINGS[chance.weighted({ everything: 10, meeting: 2, leases: 2, ratchet: 2, firstUse: 2, leaving: 2 })],
  };
}

/** What the seed is about, by its name. */
export function themeOf(seed: number): string {
  return pickTheme(new Chance(seed)).name;
}

const DWELLINGS: Readonly<Record<string, Partial<Theme>>> = {
  everything: {},
  /** Processes that meet over what others left: some pick it up in the same moment in which some find it idle or abandoned. */
  meeting: {
    name: 'meeting',
    tasks: ['a'],
    actions: { session: 6, sweep: 3, reap: 3 },
    exclusive: 0,
    upheavals: { leave: 4, crash: 4 },
    mostUpheavals: 6,
    processes: [3, 4],
    paceMs: 1_000,
    beatMs: 65_000,
    storeMs: 400,
  },
  /** Holders that stand still for longer than their terms. */
  leases: {
    name: 'leases',
    tasks: ['a'],
    actions: { lease: 3, session: 2 },
    exclusive: 0.8,
    upheavals: { freeze: 6, crash: 1, setClock: 1 },
    mostUpheavals: 6,
    processes: [2, 3, 4],
    paceMs: 4_000,
    standstillsMs: [2_500, 6_000, 12_000],
    storeTrouble: 0.1,
  },
  /** Several processes on one session whose network is cut under them. */
  ratchet: {
    name: 'ratchet',
    tasks: ['a'],
    actions: { session: 6, byHand: 1 },
    uses: { command: 4, background: 1, markPrivate: 2, migrate: 1.5 },
    exclusive: 0,
    processes: [2, 3, 4],
    paceMs: 1_000,
    storeMs: 200,
    cutsInPlace: 0.3,
  },
  /** Many who want one key while those who make its sandbox die or are not heard. */
  firstUse: {
    name: 'first use',
    routes: 0.4,
    tasks: ['a'],
    actions: { session: 6, byHand: 1 },
    exclusive: 0,
    upheavals: { crash: 5, freeze: 3, lose: 1 },
    mostUpheavals: 6,
    processes: [3, 4],
    paceMs: 400,
    standstillsMs: [2_000, 20_000],
    storeMs: 300,
    storeTrouble: 0.1,
  },
  /** Processes that come and go, and leave sandboxes running that others find idle or pick up. */
  leaving: {
    name: 'leaving',
    actions: { session: 6, sweep: 2, reap: 1 },
    exclusive: 0,
    upheavals: { leave: 6, crash: 3 },
    mostUpheavals: 6,
    processes: [3, 4],
    paceMs: 40_000,
    storeMs: 400,
  },
};
