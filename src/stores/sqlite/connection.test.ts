import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../core/clock.ts';
import type { Store } from '../../store/store.ts';
import { moveTo, sandboxRow, sessionIn } from '../../testing/store-contract/rows.ts';
import { openSqliteStore } from './index.ts';

const FAILURE = { at: 1, type: 'health.failed', cause: 'no answer' } as const;

describe('transactions that are asked for in one turn', () => {
  let directory: string;
  let path: string;
  let store: Store;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sublet-together-'));
    path = join(directory, 'sublet.db');
    store = await openSqliteStore({ path });
  });

  afterEach(async () => {
    await store.close();
    await rm(directory, { recursive: true });
  });

  it('are committed together', async () => {
    const before = await commits(path);
    await Promise.all(Array.from({ length: 8 }, () => store.insertSandbox(sandboxRow())));
    expect((await commits(path)) - before).toBe(1);
    expect(await store.findSandboxes({})).toHaveLength(8);
  });

  it('fail alone', async () => {
    const row = sandboxRow();
    const results = await Promise.allSettled([row, row, sandboxRow()].map((each) => store.insertSandbox(each)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'STATE_CONFLICT' } });
    expect(await store.listEvents({})).toHaveLength(2);
  });

  it('see each other, and are seen by what is asked after them', async () => {
    const { id } = await store.insertSandbox(sandboxRow());
    const [once, twice, seen] = await Promise.all([
      store.moveSandbox(id, moveTo('running', { from: ['creating'] })),
      store.moveSandbox(id, moveTo('running', { from: ['creating'] })),
      store.getSandbox(id),
    ]);
    expect([once?.state, twice, seen?.state]).toEqual(['running', undefined, 'running']);
  });

  it('leave no session in memory as it was before them', async () => {
    const [one, other] = await Promise.all(
      ['a', 'b'].map((task) => sessionIn(store, `execution:u:${task}`, 'running')),
    );
    for (const { session } of [one!, other!]) await store.getSession(session.key);
    await Promise.all([one!, other!].map(({ sandbox }) => store.patchSandbox(sandbox.id, { providerId: 'new' })));
    for (const { session } of [one!, other!])
      expect((await store.getSession(session.key))?.sandbox.providerId).toBe('new');
  });

  it('are all done, however many', async () => {
    const many = Array.from({ length: 100 }, () => sandboxRow());
    await Promise.all(many.map((each) => store.insertSandbox(each)));
    expect(await store.findSandboxes({})).toHaveLength(100);
  });
});

/** How often the log was committed to: each commit ends in a frame that says how large the file is. */
async function commits(path: string): Promise<number> {
  const log = await readFile(`${path}-wal`);
  const [header, frame] = [32, 24 + 4096];
  let count = 0;
  for (let at = header; at + frame <= log.length; at += frame) if (log.readUInt32BE(at + 4) > 0) count += 1;
  return count;
}

describe('a store that another process has locked', () => {
  let directory: string;
  let store: Store;
  let holder: InstanceType<typeof DatabaseSync>;
  let clock: SkippingClock;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sublet-busy-'));
    const path = join(directory, 'sublet.db');
    clock = new SkippingClock();
    store = await openSqliteStore({ path, clock });
    holder = new DatabaseSync(path);
    holder.exec('begin immediate');
  });

  afterEach(async () => {
    holder.close();
    await store.close();
    await rm(directory, { recursive: true });
  });

  it('can be read', async () => {
    expect(await store.listEvents({})).toEqual([]);
    expect(clock.pauses).toEqual([]);
  });

  it('is written as soon as the lock is free, in the order of the calls', async () => {
    clock.onPause = (count) => {
      if (count === 3) holder.exec('rollback');
    };
    await Promise.all(['a', 'b', 'c'].map((cause) => store.appendEvents([{ ...FAILURE, cause }])));
    expect((await store.listEvents({})).map((event) => event.cause)).toEqual(['a', 'b', 'c']);
    expect(clock.pauses).toHaveLength(3);
  });

  it('reports STORE_BUSY with a hint after ten seconds, and works again when the lock is free', async () => {
    const startedAt = clock.now();
    await expect(store.appendEvents([FAILURE])).rejects.toMatchObject({
      code: 'STORE_BUSY',
      retryable: true,
      hint: expect.stringMatching(/Try again/),
    });
    expect(clock.now() - startedAt).toBeGreaterThanOrEqual(10_000);
    expect(clock.now() - startedAt).toBeLessThan(10_100);
    holder.exec('rollback');
    await store.appendEvents([FAILURE]);
    expect(await store.listEvents({})).toHaveLength(1);
  });

  it('gives every call that waits the same ten seconds, not ten more each', async () => {
    const startedAt = clock.now();
    const results = await Promise.allSettled([1, 2, 3, 4].map(() => store.appendEvents([FAILURE])));
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected']);
    expect(clock.now() - startedAt).toBeLessThan(10_100);
  });

  it('pauses longer each time, up to a limit, and never by a fixed beat', async () => {
    await expect(store.appendEvents([FAILURE])).rejects.toMatchObject({ code: 'STORE_BUSY' });
    expect(clock.pauses[0]).toBeLessThanOrEqual(2);
    expect(Math.max(...clock.pauses)).toBeLessThanOrEqual(50);
    expect(Math.max(...clock.pauses)).toBeGreaterThan(25);
    expect(new Set(clock.pauses).size).toBeGreaterThan(clock.pauses.length / 2);
  });

  it('tells what waits that the store was closed', async () => {
    clock.onPause = (count) => {
      if (count === 2) void store.close();
    };
    await expect(store.appendEvents([FAILURE])).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

/** Time passes at once when somebody waits. */
class SkippingClock implements Clock {
  readonly pauses: number[] = [];
  onPause: (count: number) => void = () => undefined;
  #now = 1_700_000_000_000;

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#now;
  }

  schedule(ms: number, callback: () => void): () => void {
    this.pauses.push(ms);
    this.#now += ms;
    this.onPause(this.pauses.length);
    const immediate = setImmediate(callback);
    return () => clearImmediate(immediate);
  }
}
