/** One of several processes that use one store at once: `contend <path> <number>` or `claim <path>`. */
import { once } from 'node:events';
import type { SandboxId } from '../../core/ids.ts';
import { newId } from '../../core/ids.ts';
import type { SessionKey } from '../../core/session-key.ts';
import type { Store } from '../../store/store.ts';
import type { Contention } from './contention.fixture.ts';
import { BUSY, ROUNDS, sandbox, session, T0, TICKET } from './contention.fixture.ts';
import { openSqliteStore } from './index.ts';

const [, , mode, path = '', place] = process.argv;
await (mode === 'contend' ? contend(path, Number(place)) : claimForever(path));

/** Prints "ready", waits for a line, works, prints what it did. */
async function contend(file: string, number: number): Promise<void> {
  process.stdout.write('ready\n');
  await once(process.stdin, 'data');
  const store = await openSqliteStore({ path: file });
  const claimed: Record<SessionKey, SandboxId> = {};
  const seen: Record<SessionKey, SandboxId> = {};
  const moved: SandboxId[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const key = `execution:u:${round}`;
    const { won, bound } = await store.claimSession(session(key), sandbox(newId('sbx')));
    if (won) claimed[key] = bound.sandbox.id;
    seen[key] = bound.sandbox.id;
    const at = T0 + 1 + round * 10 + number;
    await store.touch([{ sandboxId: BUSY, lastActiveAt: at, dueAt: at + 1000 }]);
    const id = `sbx_shared${round}`;
    if (await store.moveSandbox(id, { to: 'destroying', at, cause: 'mine', ownerId: `own_${number}` })) moved.push(id);
    await takeTicket(store);
    await store.addToCounters([{ kind: 'execution', name: 'reused', value: 1 }]);
  }
  const result: Contention = { installation: await store.installation(), claimed, seen, moved };
  await store.close();
  process.stdout.write(`${JSON.stringify(result)}\n`);
  process.stdin.destroy();
}

// Read, add one, write only if nobody wrote in between: a lost update would lose a ticket.
async function takeTicket(store: Store): Promise<void> {
  for (;;) {
    const ticket = await store.getSandbox(TICKET);
    if (ticket === undefined) throw new Error('The ticket is gone.');
    const next = { dueAt: (ticket.dueAt ?? 0) + 1 };
    if ((await store.patchSandbox(TICKET, next, ticket.version)) !== undefined) return;
  }
}

/** Prints each key only after it is bound. */
async function claimForever(file: string): Promise<void> {
  const store = await openSqliteStore({ path: file });
  for (let index = 0; ; index += 1) {
    const key = `execution:u:${index}`;
    await store.claimSession(session(key), sandbox(newId('sbx')));
    process.stdout.write(`${key}\n`);
  }
}
