/** A process that lives beside those that are killed, and must not notice: `neighbour.mjs LIBRARY ORDERS`. */
import { setTimeout as delay } from 'node:timers/promises';
import type * as Library from 'sublet';

export interface NeighbourOrders {
  readonly number: number;
  readonly provider: string;
}

export interface NeighbourReport {
  readonly faults: readonly string[];
  readonly looks: number;
}

const LOOK_EVERY_MS = 200;

const [, , library = '', orders = '{}'] = process.argv;
const { open } = (await import(library)) as typeof Library;
const { number, provider } = JSON.parse(orders) as NeighbourOrders;
const marker = `neighbour ${number} of ${process.pid}`;
const faults: string[] = [];
let looks = 0;
let isOver = false;
process.once('message', () => (isOver = true));

const sublet = await open({ handleSignals: false, env: { ...process.env, SUBLET_SANDBOX: provider } });
await sublet.ephemeral({}, async (ephemeral) => {
  const session = await sublet.session({ user: 'neighbour', task: `${number}`, policy: { onExit: 'destroy' } });
  const background = await session.commands.start(['sleep', '600']);
  for (const sandbox of [ephemeral, session]) await sandbox.files.write('marker', marker);
  process.send?.('ready');
  while (!isOver) {
    await look(ephemeral, session, background.id).catch((cause: unknown) => faults.push(String(cause)));
    await sublet.sweep();
    await delay(LOOK_EVERY_MS);
  }
});
await sublet.close();
process.send?.({ faults, looks } satisfies NeighbourReport);
process.disconnect();

async function look(ephemeral: Library.AgentHandle, session: Library.Session, background: string): Promise<void> {
  looks++;
  for (const sandbox of [ephemeral, session]) {
    const { exitCode, stdout } = await sandbox.commands.run('cat marker');
    if (exitCode !== 0 || stdout !== marker) faults.push(`${sandbox.sandboxId} answers ${exitCode} "${stdout}"`);
  }
  const commands = await session.commands.list();
  if (commands.find(({ id }) => id === background)?.running !== true) faults.push('its background command has ended');
  const again = await sublet.session({ user: 'neighbour', task: `${number}` });
  if (again.created || again.sandboxId !== session.sandboxId) faults.push('its session has another sandbox');
  await again.release();
}
