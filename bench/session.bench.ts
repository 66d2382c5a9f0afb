/** Acquiring a session that this process already holds, among few and among many. */
import path from 'node:path';
import type { Sublet } from 'sublet';
import type { Figure } from './figure.ts';
import { PROVIDER, withMemorySandboxes } from './memory-sandboxes.ts';
import { compare, mapDistribution } from './measure.ts';
import { withDatabase } from './raw-sqlite.ts';

const FEW = 10;
const MANY = 10_000;
const ROUNDS = 5_000;
const LOOKUP = 'select * from sessions join sandboxes on sandboxes.id = sessions.sandbox_id where sessions.key = ?';

export async function measure(): Promise<readonly Figure[]> {
  return withMemorySandboxes(async (few) =>
    withMemorySandboxes(async (many) => {
      await openSessions(few.sublet, FEW);
      await openSessions(many.sublet, MANY);
      return [
        await againstLookup(few.sublet, few.home, FEW),
        await againstLookup(many.sublet, many.home, MANY),
        await manyAgainstFew(many.sublet, few.sublet),
        await oneOfManyAgainstFew(many.sublet, few.sublet),
      ];
    }),
  );
}

async function againstLookup(sublet: Sublet, home: string, count: number): Promise<Figure> {
  return withDatabase(path.join(home, 'sublet.db'), async (database) => {
    const lookup = database.prepare(LOOKUP);
    const turn = turns(count);
    const times = await compare({
      ours: () => acquire(sublet, turn()),
      raw: async () => lookup.get(`execution:bench:task-${turn()}`),
      rounds: ROUNDS,
    });
    return {
      name: `a live session among ${count.toLocaleString('en-US')}`,
      unit: 'µs',
      ours: mapDistribution(times.ours, toMicroseconds),
      raw: mapDistribution(times.raw, toMicroseconds),
      against: 'a prepared select of its row',
      target: { of: 'median', atMost: 100 },
    };
  });
}

async function manyAgainstFew(many: Sublet, few: Sublet): Promise<Figure> {
  const manyTurn = turns(MANY);
  const fewTurn = turns(FEW);
  const { ours, raw } = await compare({
    ours: () => acquire(many, manyTurn()),
    raw: () => acquire(few, fewTurn()),
    rounds: ROUNDS,
  });
  return {
    name: `a live session among ${MANY.toLocaleString('en-US')}`,
    unit: 'µs',
    ours: mapDistribution(ours, toMicroseconds),
    raw: mapDistribution(raw, toMicroseconds),
    against: `the same among ${FEW}`,
    target: { of: 'ratio', atMost: 1.5 },
  };
}

/** One session again and again: what is left of the difference when the processor has it at hand, among however many. */
async function oneOfManyAgainstFew(many: Sublet, few: Sublet): Promise<Figure> {
  const { ours, raw } = await compare({
    ours: () => acquire(many, FEW - 1),
    raw: () => acquire(few, FEW - 1),
    rounds: ROUNDS,
  });
  return {
    name: `one live session among ${MANY.toLocaleString('en-US')}, again and again`,
    unit: 'µs',
    ours: mapDistribution(ours, toMicroseconds),
    raw: mapDistribution(raw, toMicroseconds),
    against: `the same among ${FEW}`,
    target: { of: 'ratio', atMost: 1.1 },
  };
}

async function openSessions(sublet: Sublet, count: number): Promise<void> {
  for (let number = 0; number < count; number++) {
    await sublet.session({
      user: 'bench',
      task: `task-${number}`,
      sandbox: PROVIDER,
      policy: { onExit: 'keep' },
    });
  }
}

function acquire(sublet: Sublet, number: number): Promise<unknown> {
  return sublet.session({ user: 'bench', task: `task-${number}` });
}

/** Every number below `count`, far from the one before: neither of the databases' caches is spared. */
function turns(count: number): () => number {
  let turn = 0;
  return () => (turn++ * 7_919) % count;
}

function toMicroseconds(ms: number): number {
  return ms * 1000;
}
