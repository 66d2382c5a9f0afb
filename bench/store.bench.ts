/** What the store adds to SQLite. */
import path from 'node:path';
import { openSqliteStore } from 'sublet/stores/sqlite';
import type { Figure } from './figure.ts';
import { compare, mapDistribution, type Comparison } from './measure.ts';
import { moveToRunning, newRows, seedSession, type Store } from './rows.ts';
import { withDatabase } from './raw-sqlite.ts';
import { withScratchHome } from './scratch-home.ts';

const SESSIONS = 1_000;
const ROUNDS = 2_000;
const SEED = { provider: 'bench', now: Date.now(), due: false };
const LOOKUP = 'select * from sessions join sandboxes on sandboxes.id = sessions.sandbox_id where sessions.key = ?';

type Database = Parameters<Parameters<typeof withDatabase>[1]>[0];

export async function measure(): Promise<readonly Figure[]> {
  return withScratchHome(async (home) => {
    const file = path.join(home, 'sublet.db');
    const store = await openSqliteStore({ path: file });
    try {
      for (let number = 0; number < SESSIONS; number++) await seedSession(store, number, SEED);
      // The raw statements have a file of their own: two writers on one would measure each other's locks.
      return await withDatabase(file, (same) =>
        withDatabase(path.join(home, 'raw.db'), async (own) => [
          await getSession(store, same),
          await claimSession(store, own),
          await moveSandbox(store, own),
        ]),
      );
    } finally {
      await store.close();
    }
  });
}

async function getSession(store: Store, database: Database): Promise<Figure> {
  const lookup = database.prepare(LOOKUP);
  let turn = 0;
  const key = (): string => `execution:bench:task-${turn++ % SESSIONS}`;
  const times = await compare({
    ours: () => store.getSession(key()),
    raw: async () => lookup.get(key()),
    rounds: ROUNDS,
  });
  return perSecond('store: getSession', times, 'the same select, prepared');
}

/** Two rows, their indexes and two events, against a transaction that inserts one row without an index. */
async function claimSession(store: Store, database: Database): Promise<Figure> {
  database.exec('create table claims (key text primary key, body text not null) strict, without rowid');
  const insert = database.prepare('insert into claims (key, body) values (?, ?)');
  const body = 'x'.repeat(1_000);
  let turn = SESSIONS;
  const times = await compare({
    ours: () => {
      const { session, sandbox } = newRows(turn++, SEED);
      return store.claimSession(session, sandbox);
    },
    raw: async () => insert.run(`key-${turn++}`, body),
    rounds: ROUNDS,
  });
  return perSecond('store: claimSession', times, 'an insert of one row');
}

/** A read, a compare, an update and an event, against one update. */
async function moveSandbox(store: Store, database: Database): Promise<Figure> {
  database.exec('create table moves (id integer primary key, state text not null) strict');
  const insert = database.prepare('insert into moves (id, state) values (?, ?)');
  const update = database.prepare('update moves set state = ? where id = ?');
  let turn = 1_000_000;
  const times = await compare({
    prepare: async () => {
      turn++;
      const { session, sandbox } = newRows(turn, SEED);
      await store.claimSession(session, sandbox);
      insert.run(turn, 'creating');
    },
    ours: () => moveToRunning(store, `sbx_${turn}`, SEED),
    raw: async () => update.run('running', turn),
    rounds: ROUNDS,
  });
  return perSecond('store: moveSandbox', times, 'an update of one row');
}

function perSecond(name: string, { ours, raw }: Comparison, against: string): Figure {
  const rate = (ms: number): number => 1000 / ms;
  return { name, unit: '/s', ours: mapDistribution(ours, rate), raw: mapDistribution(raw, rate), against };
}
