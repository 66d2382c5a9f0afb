/** A process that does everything at random and in parallel until it is killed: `victim.mjs LIBRARY ORDERS`. */
import type * as Library from 'sublet';
import { pick, seededRandom } from './random.ts';

export interface VictimOrders {
  readonly seed: number;
  readonly provider: string;
  readonly watchdog: boolean;
  readonly network: readonly ('none' | 'open')[];
}

/** Several victims use these at once. */
const SHARED_TASKS = ['shared-1', 'shared-2'];
const AT_ONCE = 3;
const ON_EXIT = ['pause', 'destroy', 'keep'] as const;

const [, , library = '', orders = '{}'] = process.argv;
const { open, SubletError } = (await import(library)) as typeof Library;
const { seed, provider, watchdog, network } = JSON.parse(orders) as VictimOrders;
const random = seededRandom(seed);
let sublet = await openAgain();

async function goOn(): Promise<void> {
  for (;;) {
    try {
      await pick(random, ACTIONS)(sublet);
    } catch (cause) {
      // Others hold, destroy and replace what it uses; anything else is a fault.
      const isExpected = SubletError.is(cause) && cause.code !== 'INTERNAL' && cause.code !== 'STORE_CORRUPT';
      if (!isExpected) process.stdout.write(`fault ${cause instanceof Error ? cause.stack : String(cause)}\n`);
    }
  }
}

function openAgain(): Promise<Library.Sublet> {
  return open({ watchdog, handleSignals: false, env: { ...process.env, SUBLET_SANDBOX: provider } });
}

function session(
  engine: Library.Sublet,
  task = `own-${process.pid}-${Math.floor(random() * 2)}`,
): Promise<Library.Session> {
  return engine.session({
    user: 'victim',
    task,
    network: pick(random, network),
    policy: { onExit: task.startsWith('shared') ? 'pause' : pick(random, ON_EXIT), autoStopMinutes: 60 },
  });
}

type Action = (engine: Library.Sublet) => Promise<unknown>;

const ACTIONS: readonly Action[] = [
  (engine) => engine.run('echo hi; sleep 0.02'),
  (engine) => engine.run(['sleep', '5'], { timeoutMs: 50 }),
  (engine) =>
    engine.ephemeral({}, async ({ files, commands }) => {
      await files.write('note', 'ephemeral');
      await commands.run('cat note');
    }),
  async (engine) => {
    const held = await session(engine);
    await held.files.write('note', 'own');
    await held.commands.start(['sleep', '600']);
    await held.release();
  },
  async (engine) => (await session(engine, pick(random, SHARED_TASKS))).commands.run('echo >>shared; wc -l shared'),
  async (engine) => {
    const { sandboxId } = await session(engine);
    await engine.sandboxes.pause(sandboxId);
    await engine.sandboxes.resume(sandboxId);
  },
  async (engine) => {
    const { sandboxId } = await session(engine);
    await engine.sandboxes.stop(sandboxId);
    await engine.sandboxes.resume(sandboxId);
  },
  async (engine) => engine.sandboxes.pause((await session(engine)).sandboxId),
  async (engine) => {
    const { sandboxId } = await session(engine, pick(random, SHARED_TASKS));
    const lease = await engine.lease({ sandboxId, ttlMs: 2_000 });
    await lease.commands.run('echo leased');
    await lease.release();
  },
  async (engine) => {
    const held = await engine.session({ user: 'victim', task: pick(random, SHARED_TASKS), exclusive: true });
    await held.commands.run('echo alone');
    await held.release();
  },
  async (engine) => {
    const held = await session(engine);
    await held.files.write('note', 'moved');
    await held.migrate({ to: provider, endCommands: true });
    await held.commands.run('cat note');
  },
  async (engine) => engine.sandboxes.destroy((await session(engine)).sandboxId),
  (engine) => engine.sweep(),
  async (engine) => {
    if (random() < 0.8) return;
    await engine.close();
    sublet = await openAgain();
  },
];

process.stdout.write('ready\n');
await Promise.all(Array.from({ length: AT_ONCE }, () => goOn()));
