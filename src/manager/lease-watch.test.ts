/** Whether a lease still keeps others away: its end is of its holder's clock, so its holder's life counts too. */
import { describe, expect, it } from 'vitest';
import type { SandboxRecord } from '../store/records.ts';
import { FaultyMachine, createFaultyPorts } from '../testing/index.ts';
import { sandboxIn } from '../testing/store-contract/rows.ts';
import { SECOND, Stage } from '../../test/setup/stage.ts';
import { LeaseWatch } from './lease-watch.ts';
import { OwnerWatch } from './owner-watch.ts';

const TTL = 30 * SECOND;

describe('a lease', () => {
  it('that nobody has does not stand', async () => {
    const { stage, watch } = watching();
    expect(await watch.standing(await sandboxIn(stage.store, 'running'), 0)).toBeUndefined();
  });

  it('stands until its end, whether or not its holder lives', async () => {
    const { stage, watch, lease } = watching();
    const row = await lease('own_gone');
    expect(await watch.standing(row, stage.clock.now() + TTL - 1)).toMatchObject({ token: 1 });
    expect(await watch.standing(row, stage.clock.now() + TTL)).toBeUndefined();
  });

  it('of a living holder stands beyond its end until it has stood still under our eyes for a term', async () => {
    const { stage, watch, lease } = watching();
    await stage.store.putOwner({ ...stage.machine.start().identity, id: 'own_alive', startedAt: 0, heartbeatAt: 0 });
    const row = await lease('own_alive');
    const later = stage.clock.now() + 100 * TTL;
    expect(await watch.standing(row, later)).toBeDefined();
    await stage.clock.advance(TTL - 1);
    expect(await watch.standing(row, later)).toBeDefined();
    await stage.clock.advance(1);
    expect(await watch.standing(row, later)).toBeUndefined();
  });

  it('begins anew with every renewal that is seen', async () => {
    const { stage, watch, lease } = watching();
    const { identity } = new FaultyMachine('beta').start();
    await stage.store.putOwner({ ...identity, id: 'own_far', startedAt: 0, heartbeatAt: 0 });
    const row = await lease('own_far');
    const later = stage.clock.now() + 100 * TTL;
    for (let renewal = 0; renewal < 5; renewal++) {
      const renewed = await stage.store.leases.renew(row.id, 1, stage.clock.now());
      expect(await watch.standing(renewed ?? row, later)).toBeDefined();
      await stage.clock.advance(TTL - 1);
    }
  });
});

function watching(): {
  readonly stage: Stage;
  readonly watch: LeaseWatch;
  readonly lease: (ownerId: string) => Promise<SandboxRecord>;
} {
  const stage = new Stage();
  const ports = createFaultyPorts(stage.world, stage.store, { machine: stage.machine });
  const lease = async (ownerId: string): Promise<SandboxRecord> => {
    const row = await sandboxIn(stage.store, 'running');
    const wish = { holder: 'worker', ownerId, ttlMs: TTL, at: stage.clock.now() };
    return (await stage.store.leases.acquire(row.id, wish)) ?? row;
  };
  return { stage, watch: new LeaseWatch(ports, new OwnerWatch(ports, 'own_self')), lease };
}
