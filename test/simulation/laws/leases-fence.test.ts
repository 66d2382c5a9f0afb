/** What the law on leases takes for a use of what somebody else has. */
import { expect, it } from 'vitest';
import type { SandboxRecord } from '../../../src/store/records.ts';
import { sandboxIn } from '../../../src/testing/store-contract/rows.ts';
import { SimulatedProcess } from '../simulated-process.ts';
import { Simulation } from '../simulation.ts';

const TTL_MS = 5_000;

it('forbids a use of what somebody has had to itself all along', async () => {
  const scene = await leased();
  // Sent and done in time: the lease has not ended since it was taken.
  scene.renew({ sentAt: 4_000, at: 4_100 });
  expect(scene.useAt(6_000)).toMatch(/has had to itself for 6000 ms$/);
});

it('allows a use that is on its way when a lease that had lapsed is renewed late', async () => {
  const scene = await leased();
  scene.renew({ sentAt: 4_000, at: 5_900 });
  expect(scene.useAt(6_000)).toBeUndefined();
});

interface Scene {
  renew(when: { readonly sentAt: number; readonly at: number }): void;
  /** What is wrong with a use by another process at that instant. */
  useAt(at: number): string | undefined;
}

async function leased(): Promise<Scene> {
  const simulation = new Simulation(1);
  const { store, timeline } = simulation;
  const [holder, stranger] = ['holder', 'stranger'].map((name) => processOf(simulation, name)) as [Process, Process];
  const { id, name } = await sandboxIn(store, 'running');
  const lease = { holder: 'holder', ownerId: 'own_holder', ttlMs: TTL_MS, at: timeline.now, over: 0 };
  const token = (await takes(simulation, holder, 0, () => store.leases.acquire(id, lease)))?.lease?.token ?? 0;
  return {
    renew({ sentAt, at }) {
      timeline.step(at);
      void takes(simulation, holder, sentAt, () => store.leases.renew(id, token, at));
    },
    useAt(at) {
      timeline.step(at);
      simulation.laws.commandAsked(stranger, name, 'true');
      return simulation.violation?.message;
    },
  };
}

type Process = SimulatedProcess;

function processOf({ hosts, timeline, chance }: Simulation, name: string): Process {
  const [host] = hosts;
  if (host === undefined) throw new Error('There is no host.');
  return new SimulatedProcess(name, host, timeline, chance.fork(), false);
}

/** Takes effect now, and was sent then. */
function takes(
  simulation: Simulation,
  by: Process,
  sentAt: number,
  work: () => Promise<SandboxRecord | undefined>,
): Promise<SandboxRecord | undefined> {
  simulation.askedAt = sentAt;
  return simulation.actingFor(by, work);
}
