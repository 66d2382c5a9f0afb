/** One pass of the sweep: what it costs is what is due, not what there is. */
import path from 'node:path';
import { openSqliteStore } from 'sublet/stores/sqlite';
import type { Figure } from './figure.ts';
import { compare } from './measure.ts';
import { PROVIDER, standingClock, withMemorySandboxes, type MemorySandboxes } from './memory-sandboxes.ts';
import { multiplySessions } from './multiply-rows.ts';
import { withDatabase } from './raw-sqlite.ts';
import { seedSession, type Store } from './rows.ts';

const FEW = 1_000;
const MANY = 100_000;
const DUE = 10;
const ROUNDS = 40;

export async function measure(): Promise<readonly Figure[]> {
  return withMemorySandboxes(async (few) => withMemorySandboxes(async (many) => sweepBoth(few, many)));
}

async function sweepBoth(few: MemorySandboxes, many: MemorySandboxes): Promise<readonly Figure[]> {
  const stores = await Promise.all(
    [few, many].map(({ home }) => openSqliteStore({ path: path.join(home, 'sublet.db') })),
  );
  const [fewStore, manyStore] = stores as [Store, Store];
  let made = 0;
  try {
    await seedMany(fewStore, FEW);
    await seedMany(manyStore, FEW);
    await withDatabase(path.join(many.home, 'sublet.db'), async (database) => multiplySessions(database, MANY / FEW));
    const { ours, raw } = await compare({
      prepare: async () => {
        for (let number = 0; number < DUE; number++, made++) {
          for (const store of stores) await seedSession(store, `due-${made}`, seedOptions(true));
        }
      },
      ours: () => sweepTen(many),
      raw: () => sweepTen(few),
      rounds: ROUNDS,
    });
    return [
      {
        name: `a sweep over ${MANY.toLocaleString('en-US')} of which ${DUE} are due`,
        unit: 'ms',
        ours,
        raw,
        against: `the same over ${FEW.toLocaleString('en-US')}`,
        target: { of: 'ratio', atMost: 2 },
      },
    ];
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
}

async function seedMany(store: Store, count: number): Promise<void> {
  for (let number = 0; number < count; number++) await seedSession(store, number, seedOptions(false));
}

function seedOptions(due: boolean): Parameters<typeof seedSession>[2] {
  return { provider: PROVIDER, now: standingClock.now(), due };
}

/** A sweep that did something else is not the one to measure. */
async function sweepTen({ sublet }: MemorySandboxes): Promise<void> {
  const { actions } = await sublet.sweep();
  const destroyed = actions.filter(({ action, error }) => action === 'destroy' && error === undefined);
  if (destroyed.length !== DUE) throw new Error(`The sweep destroyed ${destroyed.length} instead of ${DUE}.`);
}
