import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionKey } from '../../core/session-key.ts';
import type { BoundSession } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { OWNER, sandboxRow, sessionRow, T0 } from '../../testing/store-contract/rows.ts';
import { openSqliteStore } from './index.ts';
import { MAX_ROWS } from './session-cache.ts';

const KEY = 'execution:ada:report';

/** Everything that changes what a key is bound to. */
const WRITES: Readonly<Record<string, (store: Store, bound: BoundSession) => Promise<unknown>>> = {
  moves: (store, { sandbox }) =>
    store.moveSandbox(sandbox.id, { to: 'running', at: T0 + 1, cause: 'a test', ownerId: OWNER }),
  patches: (store, { sandbox }) => store.patchSandbox(sandbox.id, { providerId: 'there' }),
  replaces: (store, { sandbox }) => store.replaceSandbox(KEY, sandbox.id, sandboxRow({ sessionKey: KEY })),
  tightens: (store) => store.tightenSession(KEY, 'none', 'a secret was read', T0 + 1),
  removes: (store, { sandbox }) => store.removeSession(KEY, sandbox.id, 'a test', T0 + 1),
};

describe('a session that was read before', () => {
  let directory: string;
  let store: Store;
  let other: Store;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sublet-cache-'));
    store = await openSqliteStore({ path: join(directory, 'sublet.db') });
    other = await openSqliteStore({ path: join(directory, 'sublet.db') });
  });

  afterEach(async () => {
    await store.close();
    await other.close();
    await rm(directory, { recursive: true });
  });

  async function readBefore(): Promise<BoundSession> {
    await store.claimSession(sessionRow(KEY), sandboxRow({ sessionKey: KEY }));
    const first = await store.getSession(KEY);
    expect(await store.getSession(KEY)).toBe(first);
    return first as BoundSession;
  }

  it.each(Object.keys(WRITES))('is read anew when another connection %s it', async (write) => {
    const before = await readBefore();
    await WRITES[write]?.(other, before);
    const after = await store.getSession(KEY);
    expect(after).not.toEqual(before);
    expect(after).toEqual(await other.getSession(KEY));
  });

  it.each(Object.keys(WRITES))('is as this connection %s it', async (write) => {
    const before = await readBefore();
    await WRITES[write]?.(store, before);
    const after = await store.getSession(KEY);
    expect(after).not.toEqual(before);
    expect(after).toEqual(await other.getSession(KEY));
  });

  it('is as it was when a write was refused', async () => {
    const before = await readBefore();
    await expect(store.insertSandbox(sandboxRow({ id: before.sandbox.id }))).rejects.toThrow();
    expect(await store.getSession(KEY)).toEqual(before);
  });

  it('is not read again because of another session or a counter of this connection', async () => {
    const before = await readBefore();
    await store.claimSession(sessionRow('execution:ada:other'), sandboxRow({ sessionKey: 'execution:ada:other' }));
    await store.addToCounters([{ kind: 'execution', name: 'created', value: 1 }]);
    expect(await store.getSession(KEY)).toBe(before);
  });

  it('is not forgotten for one session more than are kept, unless it is the oldest', async () => {
    const key = (number: number): SessionKey => `execution:ada:${number}`;
    // Only then does it know what has been written before.
    await store.getSession(KEY);
    for (let number = 0; number < MAX_ROWS; number++)
      await store.claimSession(sessionRow(key(number)), sandboxRow({ sessionKey: key(number) }));
    const [oldest, next] = [await store.getSession(key(0)), await store.getSession(key(1))];
    await store.claimSession(sessionRow(KEY), sandboxRow({ sessionKey: KEY }));
    expect(await store.getSession(key(1))).toBe(next);
    expect(await store.getSession(key(0))).not.toBe(oldest);
  });
});
