/**
 * Random sequences of what users do, on two managers and a provider that goes wrong, against a simple model.
 * `SUBLET_PROPERTY_RUNS` multiplies the number of runs; a failure prints how to repeat it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { createDatabase, type TestDatabase } from '../setup/postgres.ts';
import { requirement } from '../setup/requirements.ts';
import { steps, type Step } from './actions.ts';
import { Model } from './model.ts';
import { System } from './system.ts';

const TITLE = 'any sequence keeps every promise';

/** Runs are many, shrinking takes more, and machines are slow. */
const TIMEOUT_MS = 600_000;

const policies = fc.record({
  idleAction: fc.constantFrom('pause' as const, 'stop' as const),
  onExit: fc.constantFrom('pause' as const, 'keep' as const),
  autoStopMinutes: fc.constantFrom(0, 5),
  timeoutSeconds: fc.constant(20),
});

describe('with the memory store', { timeout: TIMEOUT_MS }, () => {
  it(TITLE, () => holds('memory', 40, async () => createMemoryStore()));
});

describe('with the SQLite store', { timeout: TIMEOUT_MS }, () => {
  let directory: string;
  let opened = 0;

  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'sublet-property-'));
  });

  afterAll(() => rm(directory, { recursive: true }));

  it(TITLE, () => holds('SQLite', 15, () => openSqliteStore({ path: path.join(directory, `${opened++}.db`) })));
});

describe.runIf(await requirement('postgres'))('with the Postgres store', { timeout: TIMEOUT_MS }, () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });

  afterAll(() => database.drop());

  it(TITLE, () =>
    holds('Postgres', 4, async () => {
      const store = await openPostgresStore({ url: database.url });
      await database.empty();
      return store;
    }),
  );
});

async function holds(name: string, runs: number, open: () => Promise<Store>): Promise<void> {
  const property = fc.asyncProperty(policies, steps, async (policy, sequence) => {
    const store = await open();
    try {
      await runAll(store, policy, sequence);
    } finally {
      await store.close();
    }
  });
  const { SUBLET_PROPERTY_SEED: seed, SUBLET_PROPERTY_PATH: path, SUBLET_PROPERTY_RUNS: times = '1' } = process.env;
  const details = await fc.check(property, {
    numRuns: runs * Number(times),
    endOnFailure: false,
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(path === undefined ? {} : { path }),
  });
  if (!details.failed) return;
  const replay = `SUBLET_PROPERTY_SEED=${details.seed} SUBLET_PROPERTY_PATH=${details.counterexamplePath ?? ''}`;
  throw new Error(
    `${fc.defaultReportMessage(details)}\n\nTo repeat it: ${replay} npx vitest run test/property -t '${name}'`,
    { cause: details.errorInstance },
  );
}

async function runAll(
  store: Store,
  policy: ConstructorParameters<typeof System>[1],
  sequence: readonly Step[],
): Promise<void> {
  const system = new System(store, policy);
  await system.open();
  const model = new Model(system);
  for (const step of sequence) await model.take(step);
  await model.end();
}
