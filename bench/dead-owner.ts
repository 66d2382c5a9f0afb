/** A home in which a process died that had thousands of sandboxes, all of them in memory. */
import path from 'node:path';
import { DEFAULT_POLICY, open, type Sublet } from 'sublet';
import { defineProvider } from 'sublet/provider';
import { openSqliteStore } from 'sublet/stores/sqlite';
import { createFaultyProvider, FAULTY_CAPABILITIES, FaultyWorld } from 'sublet/testing';
import { standingClock } from './memory-sandboxes.ts';
import type { Store } from './rows.ts';
import { withScratchHome } from './scratch-home.ts';

const PROVIDER = 'memory-sandboxes';
const DEAD = 'own_dead';
/** As many as providers put on a page. */
const PAGE = 100;
/** Greater than Linux gives to any process. */
const NO_PID = 2 ** 22 + 1;

export interface DeadOwnersHome {
  /** A fresh process, which has looked at nothing yet. */
  readonly sublet: Sublet;
  readonly store: Store;
  readonly world: FaultyWorld;
}

export async function withDeadOwner<T>(sandboxes: number, use: (home: DeadOwnersHome) => Promise<T>): Promise<T> {
  const world = new FaultyWorld(standingClock);
  const module = defineProvider({
    id: PROVIDER,
    title: 'Sandboxes in memory',
    summary: 'Nothing runs: what is left is the manager and the store.',
    capabilities: FAULTY_CAPABILITIES,
    options: {},
    probe: async () => ({ usable: true, findings: [] }),
    open: async () => createFaultyProvider(world, { id: PROVIDER, pageSize: PAGE }),
  });
  const env = { SUBLET_SANDBOX: PROVIDER };
  return withScratchHome(async (home) => {
    const openAgain = (): Promise<Sublet> =>
      open({ home, env, providers: [module], clock: standingClock, watchdog: false });
    const store = await openSqliteStore({ path: path.join(home, 'sublet.db') });
    const before = await openAgain();
    await before.run('true');
    await seed(store, world, sandboxes);
    await before.close();
    const sublet = await openAgain();
    try {
      return await use({ sublet, store, world });
    } finally {
      await sublet.close();
      await store.close();
    }
  });
}

async function seed(store: Store, world: FaultyWorld, sandboxes: number): Promise<void> {
  const [living] = await store.listOwners();
  if (living === undefined) throw new Error('The process that made the home is not on record.');
  const installation = await store.installation();
  await store.putOwner({ ...living, id: DEAD, pid: NO_PID });
  const { hostId, hostName } = living;
  const now = standingClock.now();
  for (let number = 0; number < sandboxes; number++) {
    const id = `sbx_dead${String(number).padStart(12, '0')}`;
    const name = `sublet-${id.slice(4)}`;
    const what = { kind: 'execution', ephemeral: true, network: 'none' } as const;
    await store.insertSandbox({
      ...what,
      id,
      name,
      provider: PROVIDER,
      profile: PROVIDER,
      ownerId: DEAD,
      hostId,
      hostName,
      sessionKey: undefined,
      policy: DEFAULT_POLICY,
      spec: {},
      createdAt: now,
      dueAt: undefined,
      deadManAt: undefined,
      cause: 'bench',
    });
    await store.moveSandbox(id, { to: 'running', at: now, cause: 'bench', ownerId: DEAD });
    const labels = { 'sublet.installation': installation, 'sublet.sandbox': id, 'sublet.owner': DEAD };
    world.add({ ...what, name, labels });
  }
}
