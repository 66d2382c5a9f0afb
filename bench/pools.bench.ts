/** Leases from warm pools: how long they take, how many a second, and how often there is one. */
import { setTimeout as delay } from 'node:timers/promises';
import path from 'node:path';
import { open, type PoolDefinition, type Sublet } from 'sublet';
import type { Figure, Result } from './figure.ts';
import { PROVIDER, withMemorySandboxes } from './memory-sandboxes.ts';
import { compare, distribution, mapDistribution, single, time } from './measure.ts';
import { runLoad } from './pool-load.ts';
import { withDatabase } from './raw-sqlite.ts';
import { benchEngine, RawEngine } from './raw-engine.ts';
import { withScratchHome } from './scratch-home.ts';

const TAKERS = 20;
const ROUNDS = 8;
const SUSTAINED_MS = 4_000;
const GOAL_PER_SECOND = 500;
const BURST = 20;
const BURSTS = 4;
const HELD_MS = 20;
const BETWEEN_MS = 1_200;

export async function measure(): Promise<readonly Result[]> {
  return withScratchHome(async (home) => {
    await using sublet = await open({ home, env: { PATH: process.env['PATH'] } });
    const warm = await warmLease(sublet, home);
    return [
      ...warm,
      await againstDocker(warm[0]),
      ...(await sustained(sublet, 'used once', { reuse: 'never' })),
      ...(await sustained(sublet, 'reset', { reuse: 'reset' })),
      ...(await sustainedInMemory()),
      ...(await bursts(sublet)),
    ];
  });
}

/** Nothing is made meanwhile: what is measured is the hand-over, committed to SQLite. */
async function warmLease(sublet: Sublet, home: string): Promise<readonly [Figure, Figure]> {
  const pool = 'namespace';
  sublet.pools.define(pool, { maxTotal: 1_000, createConcurrency: 4 });
  await runLoad(sublet, { pool, takers: 1, leases: 3, runsEcho: true });
  const crowd: number[] = [];
  for (let round = -2; round < ROUNDS; round++) {
    await sublet.pools.warm(pool, { count: TAKERS });
    await delay(100);
    const leases = await Promise.all(
      Array.from({ length: TAKERS }, async () => {
        const askedAt = performance.now();
        const lease = await sublet.lease(pool);
        if (round >= 0) crowd.push(performance.now() - askedAt);
        return lease;
      }),
    );
    await Promise.all(leases.map((lease) => lease.release()));
  }
  await sublet.pools.warm(pool, { count: 30 });
  const alone = await runLoad(sublet, { pool, takers: 1, leases: 30, runsEcho: false });
  const raw = await withDatabase(path.join(home, 'raw.db'), async (database) => {
    database.exec('create table rows (id integer primary key, body text not null) strict');
    database.prepare('insert into rows (id, body) values (1, ?)').run('x'.repeat(500));
    const update = database.prepare('update rows set body = ? where id = 1');
    const write = async (): Promise<unknown> => update.run('y'.repeat(500));
    return (await compare({ ours: write, raw: write, rounds: 500 })).ours;
  });
  const against = 'an update of one row, committed';
  const name = `a warm lease, ${TAKERS} takers at once`;
  return [
    { name, unit: 'ms', ours: distribution(crowd), raw, against, target: { of: 'median', atMost: 1 } },
    { name: 'a warm lease, one taker', unit: 'ms', ours: alone.lease, raw, against },
  ];
}

async function againstDocker(warm: Figure): Promise<Result> {
  const name = warm.name;
  const target = benchEngine();
  if (target === undefined) return { name, reason: 'SUBLET_BENCH_DOCKER_HOST names no engine on a socket' };
  const engine = new RawEngine(target);
  const times: number[] = [];
  for (let round = 0; round < 10; round++) {
    const container = `sublet-bench-pool-${process.pid}-${round}`;
    times.push(await time(() => engine.createAndStart(container)));
    await engine.remove(container);
  }
  engine.close();
  return {
    name,
    unit: 'ms',
    ours: warm.ours,
    raw: distribution(times),
    against: 'Docker: create and start',
    target: { of: 'ratio', atMost: 0.01 },
  };
}

async function sustained(sublet: Sublet, how: string, reuse: PoolDefinition): Promise<readonly Figure[]> {
  const pool = `namespace/${how.replaceAll(' ', '-')}`;
  sublet.pools.define(pool, { minIdle: 20, maxTotal: 60, createConcurrency: 6, ...reuse });
  await sublet.pools.warm(pool);
  const result = await runLoad(sublet, { pool, takers: TAKERS, ms: SUSTAINED_MS, runsEcho: true });
  const fresh = await sublet.pools.stats(pool);
  await delay(500);
  await sublet.pools.drain(pool);
  sublet.pools.define(pool, {});
  const what = `take, echo, release, ${how}`;
  const hits = fresh.hits / (fresh.hits + fresh.misses);
  return [
    rate(what, result.perSecond),
    {
      name: `${what}: processor time`,
      unit: 'ms',
      ours: single(result.cpuMs),
      raw: single(2_000 / GOAL_PER_SECOND),
      against: `two cores at ${GOAL_PER_SECOND} a second`,
    },
    { name: `${what}: had at once`, unit: 'of them', ours: single(hits), raw: single(1), against: 'all of them' },
  ];
}

/** What the engine and the store take of it, where a sandbox costs nothing. */
async function sustainedInMemory(): Promise<readonly Figure[]> {
  return withMemorySandboxes(async ({ sublet }) => {
    const pool = PROVIDER;
    sublet.pools.define(pool, { minIdle: 40, maxTotal: 200, createConcurrency: 10 });
    await sublet.pools.warm(pool);
    const result = await runLoad(sublet, { pool, takers: TAKERS, ms: 4_000, runsEcho: false });
    return [
      rate('take, release, used once, sandboxes in memory', result.perSecond),
      {
        name: 'take, release, sandboxes in memory: processor time',
        unit: 'ms',
        ours: single(result.cpuMs),
        raw: single(2_000 / GOAL_PER_SECOND),
        against: `two cores at ${GOAL_PER_SECOND} a second`,
      },
    ];
  });
}

function rate(name: string, perSecond: number): Figure {
  return { name, unit: '/s', ours: single(perSecond), raw: single(GOAL_PER_SECOND), against: 'the goal' };
}

/** Twenty at once, again and again: how many of them find one ready, by how many are kept. */
async function bursts(sublet: Sublet): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const minIdle of [2, 5, 10, 20]) {
    const pool = `namespace/burst-${minIdle}`;
    sublet.pools.define(pool, { minIdle, maxTotal: 60, createConcurrency: 4 });
    await sublet.pools.warm(pool);
    const waits: number[] = [];
    for (let burst = 0; burst < BURSTS; burst++) {
      await Promise.all(
        Array.from({ length: BURST }, async () => {
          const askedAt = performance.now();
          const lease = await sublet.lease(pool, { timeoutMs: 60_000 });
          waits.push(performance.now() - askedAt);
          await delay(HELD_MS);
          await lease.release();
        }),
      );
      await delay(BETWEEN_MS);
    }
    const { hits, misses } = await sublet.pools.stats(pool);
    await sublet.pools.drain(pool);
    sublet.pools.define(pool, {});
    const name = `bursts of ${BURST}, ${minIdle} kept`;
    figures.push(
      {
        name: `${name}: had at once`,
        unit: 'of them',
        ours: single(hits / (hits + misses)),
        raw: single(1),
        against: 'all of them',
      },
      {
        name: `${name}: wait`,
        unit: 'ms',
        ours: distribution(waits),
        raw: mapDistribution(single(1), () => 1),
        against: 'a millisecond',
      },
    );
  }
  return figures;
}
