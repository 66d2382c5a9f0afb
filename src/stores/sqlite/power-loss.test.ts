/**
 * The file as a loss of power may leave it: a log that ends anywhere, pages that were half written while the log was
 * copied into the file, files that are missing. Each time the store opens with everything up to some commit and nothing
 * of a later one, or says that it is damaged and leaves the files as they are.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import type { Store } from '../../store/store.ts';
import { moveTo, ownerRow, sandboxRow, sessionRow, T0 } from '../../testing/store-contract/rows.ts';
import { openSqliteStore } from './index.ts';

const PAGE = 4096;
const WAL_HEADER = 32;
const FRAME_HEADER = 24;
const FRAME = FRAME_HEADER + PAGE;
const ROUNDS = 2;

let directory = '';
let path = '';
/** What the store says after each commit, the oldest first. */
const history: string[] = [];
/** Where the durable commit is in it: nothing before it may ever be missing. */
let durable = 0;
/** The files before the log was copied into the first, and that one after it. */
let main: Buffer;
let log: Buffer;
let copied: Buffer;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sublet-power-'));
  const source = join(directory, 'source.db');
  const store = await openSqliteStore({ path: source });
  history.push(await everything(store));
  await write(store, 0);
  checkpoint(source, 'restart');
  await write(store, 1);
  [main, log] = await Promise.all([readFile(source), readFile(`${source}-wal`)]);
  await place(main, log);
  checkpoint(path, 'truncate');
  copied = await readFile(path);
  await store.close();
});

afterAll(() => rm(directory, { recursive: true, force: true }));

describe('after a loss of power', () => {
  it('the log may end anywhere: what was committed before that is there, and nothing of what came after', async () => {
    let before = 0;
    for (const end of cuts(log.length)) {
      await place(main, log.subarray(0, end));
      const commit = await openedCommit();
      expect(commit, `a log of ${end} bytes`).toBeGreaterThanOrEqual(before);
      before = commit;
    }
    expect(before).toBe(history.length - 1);
  });

  it('a frame of the log may be half written: it and what follows count as never written', async () => {
    for (let frame = 0; frame < frames(log); frame++) {
      const torn = Buffer.from(log);
      torn.fill(0, WAL_HEADER + frame * FRAME + FRAME_HEADER + PAGE / 2, WAL_HEADER + (frame + 1) * FRAME);
      await place(main, torn);
      expect(await openedCommit()).toBeLessThan(history.length);
    }
  });

  it('pages may be half copied from the log into the file: the log has them all', async () => {
    const pages = Math.floor(copied.length / PAGE);
    for (let page = 0; page <= pages; page++) {
      for (const torn of [page * PAGE, page * PAGE + 512, page * PAGE + PAGE / 2]) {
        await place(Buffer.concat([copied.subarray(0, torn), main.subarray(torn)]), log);
        expect(await openedCommit()).toBe(history.length - 1);
      }
    }
  });

  it('the log may be gone: the file alone is an earlier state of the same installation', async () => {
    await place(main, undefined);
    expect(await openedCommit()).toBeGreaterThan(0);
  });

  it('the index of the log may be gone, or anything', async () => {
    await place(main, log);
    await writeFile(`${path}-shm`, Buffer.alloc(32 * 1024, 0x5a));
    expect(await openedCommit()).toBe(history.length - 1);
  });

  it('what was tightened stays so, whatever was written after it', async () => {
    expect(durable).toBeGreaterThan(0);
    const end = log.length - FRAME;
    await place(main, log.subarray(0, end));
    expect(await openedCommit()).toBeGreaterThanOrEqual(durable);
  });
});

describe('a file that no loss of power explains', () => {
  it('that was cut short is reported as damaged and left as it is, or is whole', async () => {
    for (let end = PAGE; end < copied.length; end += PAGE) {
      for (const size of [end, ...(end === PAGE ? [1, 100, 511, 512, PAGE - 1] : [])]) {
        await place(copied.subarray(0, size), undefined);
        await expectDamageOrEverything();
      }
    }
  });

  it('with a page of zeros is reported as damaged and left as it is, or is whole', async () => {
    for (let page = 0; page < copied.length / PAGE; page++) {
      const zeroed = Buffer.from(copied);
      zeroed.fill(0, page * PAGE, (page + 1) * PAGE);
      await place(zeroed, undefined);
      await expectDamageOrEverything();
    }
  });

  it('beside a whole log is whole, or reported as damaged every time: it is not begun anew', async () => {
    for (let page = 0; page < main.length / PAGE; page++) {
      const zeroed = Buffer.from(main);
      zeroed.fill(0, page * PAGE, (page + 1) * PAGE);
      await place(zeroed, log);
      for (let time = 0; time < 2; time++) {
        const commit = await openedCommit().catch((cause: unknown) => {
          if (SubletError.is(cause, 'STORE_CORRUPT')) return history.length - 1;
          throw cause;
        });
        expect(commit).toBe(history.length - 1);
      }
    }
  });
});

/** Every kind of change, a commit each. */
async function write(store: Store, part: number): Promise<void> {
  const committed = async (change: Promise<unknown>): Promise<void> => {
    await change;
    history.push(await everything(store));
  };
  await committed(store.putOwner(ownerRow({ id: `own_${part}` })));
  for (let round = 0; round < ROUNDS; round++) {
    const [id, other, key] = [`sbx_${part}a${round}`, `sbx_${part}b${round}`, `execution:u:${part}-${round}`];
    await committed(store.insertSandbox(sandboxRow({ id })));
    await committed(
      store.claimSession(sessionRow(key, { network: 'open' }), sandboxRow({ id: other, network: 'open' })),
    );
    await committed(store.moveSandbox(id, moveTo('running')));
    await committed(store.moveSandbox(other, moveTo('running')));
    await committed(store.touch([{ sandboxId: other, lastActiveAt: T0 + 60_000 + round, dueAt: T0 + 120_000 }]));
    await committed(store.tightenSession(key, 'none', 'private', T0 + round));
    durable = history.length - 1;
    await committed(store.moveSandbox(id, moveTo('destroying')));
    await committed(store.addToCounters([{ kind: 'execution', name: 'created', value: 1 }]));
  }
}

async function everything(store: Store): Promise<string> {
  return JSON.stringify([
    await store.installation(),
    await store.listOwners(),
    await store.findSandboxes({ afterId: '' }),
    await store.listSessions(),
    await store.listEvents({}),
    await store.counters(),
    await store.ledger.placements(),
  ]);
}

function checkpoint(file: string, mode: 'restart' | 'truncate'): void {
  const database = new DatabaseSync(file);
  database.exec(`pragma wal_checkpoint(${mode})`);
  database.close();
}

/** Around every frame or page, and inside each. */
function cuts(length: number): readonly number[] {
  const ends = new Set([0, 1, WAL_HEADER - 1, WAL_HEADER, length]);
  for (let start = WAL_HEADER; start < length; start += FRAME)
    for (const inside of [-1, 0, FRAME_HEADER, FRAME_HEADER + 512, FRAME - 1]) ends.add(start + inside);
  for (let start = PAGE; start < length; start += PAGE) ends.add(start);
  return [...ends].filter((end) => end <= length).toSorted((a, b) => a - b);
}

function frames(file: Buffer): number {
  return Math.floor((file.length - WAL_HEADER) / FRAME);
}

/** At a path of its own: nobody may know of an earlier file there. */
async function place(file: Buffer, wal: Buffer | undefined): Promise<void> {
  path = join(await mkdtemp(join(directory, 'case-')), 'sublet.db');
  await writeFile(path, file, { mode: 0o600 });
  if (wal !== undefined) await writeFile(`${path}-wal`, wal, { mode: 0o600 });
}

/** The file and its log; an empty log is none. */
async function files(): Promise<readonly Buffer[]> {
  const wal = await readFile(`${path}-wal`).catch(() => Buffer.alloc(0));
  return [await readFile(path), wal];
}

/** After which commit the store is: exactly there, or this fails. */
async function openedCommit(): Promise<number> {
  const store = await openSqliteStore({ path });
  try {
    const commit = history.lastIndexOf(await everything(store));
    expect(commit, 'it is a state that never was').toBeGreaterThanOrEqual(0);
    return commit;
  } finally {
    await store.close();
  }
}

async function expectDamageOrEverything(): Promise<void> {
  const before = await files();
  try {
    expect(await openedCommit()).toBe(history.length - 1);
  } catch (cause) {
    if (!SubletError.is(cause)) throw cause;
    expect(cause.code).toBe('STORE_CORRUPT');
    const after = await files();
    expect(after.map((file, index) => file.equals(before[index] ?? file))).toEqual([true, true]);
  }
}
