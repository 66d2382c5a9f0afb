/** Rows for measurements on a store: sessions with a running sandbox. */
import { DEFAULT_POLICY } from 'sublet';
import type { openSqliteStore } from 'sublet/stores/sqlite';

export type Store = Awaited<ReturnType<typeof openSqliteStore>>;
type NewSession = Parameters<Store['claimSession']>[0];
type NewSandbox = Parameters<Store['claimSession']>[1];

const OWNER = 'own_bench';
const YEAR_MINUTES = 525_600;

export interface SeedOptions {
  readonly provider: string;
  readonly now: number;
  /** Its hard deadline is over. */
  readonly due: boolean;
}

/** A session `number` whose sandbox runs. */
export async function seedSession(store: Store, number: number | string, options: SeedOptions): Promise<void> {
  const { session, sandbox } = newRows(number, options);
  await store.claimSession(session, sandbox);
  await moveToRunning(store, sandbox.id, options);
}

export async function moveToRunning(store: Store, id: string, { now, due }: SeedOptions): Promise<void> {
  const patch = { lastActiveAt: now, dueAt: due ? now - 1 : now + YEAR_MINUTES * 60_000 };
  await store.moveSandbox(id, { to: 'running', at: now, cause: 'bench', ownerId: OWNER, patch });
}

export function newRows(
  number: number | string,
  options: SeedOptions,
): { readonly session: NewSession; readonly sandbox: NewSandbox } {
  const { provider, now, due } = options;
  const key = `execution:bench:task-${number}`;
  const id = `sbx_${number}`;
  const createdAt = due ? now - 120_000 : now;
  const policy = { ...DEFAULT_POLICY, autoStopMinutes: YEAR_MINUTES, autoDeleteMinutes: due ? 1 : YEAR_MINUTES };
  return {
    session: { key, kind: 'execution', profile: provider, network: 'none', privateReason: undefined, createdAt },
    sandbox: {
      id,
      name: `sublet-${id}`,
      provider,
      profile: provider,
      kind: 'execution',
      ephemeral: false,
      ownerId: OWNER,
      hostId: 'bench',
      hostName: 'bench',
      sessionKey: key,
      network: 'none',
      policy,
      spec: {},
      createdAt,
      dueAt: undefined,
      deadManAt: undefined,
      cause: 'bench',
    },
  };
}
