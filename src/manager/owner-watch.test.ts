import { describe, expect, it } from 'vitest';
import { SILENCE_LIMIT_MS } from '../core/liveness.ts';
import { FaultyMachine, createFaultyPorts } from '../testing/index.ts';
import { MINUTE, SECOND, Stage } from '../../test/setup/stage.ts';
import { OwnerWatch } from './owner-watch.ts';

const SELF = 'own_self';
const OTHER = 'own_other';

describe('on the same machine', () => {
  it('is as alive as the kernel says, and dead the moment it is not', async () => {
    const { stage, watch, put } = await watching();
    const process = stage.machine.start();
    await put(process.identity);
    expect((await watch.census()).of(OTHER)).toBe('alive');
    process.kill();
    const census = await watch.census();
    expect(census.of(OTHER)).toBe('dead');
    expect(census.dead.map(({ id }) => id)).toEqual([OTHER]);
    expect(census.untouchable).toEqual([]);
    expect(await watch.judge(OTHER)).toBe('dead');
  });

  it('is dead when its pid was given to another process', async () => {
    const { stage, watch, put } = await watching();
    const process = stage.machine.start();
    await put(process.identity);
    process.kill();
    stage.machine.start(process.identity.pid);
    expect(await watch.judge(OTHER)).toBe('dead');
  });

  it('is dead after a reboot, also when the same pid runs again', async () => {
    const { stage, put } = await watching();
    const process = stage.machine.start();
    await put(process.identity);
    stage.machine.reboot();
    const { watch } = await watching(stage);
    expect((await watch.census()).of(OTHER)).toBe('dead');
  });

  it('is not judged by its heartbeats, however old', async () => {
    const { stage, watch, put } = await watching();
    await put(stage.machine.start().identity, 0);
    for (let look = 0; look < 20; look++) {
      await stage.clock.advance(MINUTE);
      expect((await watch.census()).of(OTHER)).toBe('alive');
    }
  });
});

describe('on another machine', () => {
  it('may live until its heartbeat has stood still under our eyes for the whole limit', async () => {
    const { stage, watch, put } = await watching();
    await put(new FaultyMachine('beta').start().identity);
    for (let silentMs = 0; silentMs < SILENCE_LIMIT_MS; silentMs += 30 * SECOND) {
      expect((await watch.census()).of(OTHER)).toBe('unknown');
      await stage.clock.advance(30 * SECOND);
    }
    expect((await watch.census()).of(OTHER)).toBe('dead');
  });

  it('begins anew with every heartbeat, whatever instant it names', async () => {
    const { stage, watch, put } = await watching();
    await put(new FaultyMachine('beta').start().identity);
    for (const heartbeatAt of [5, 3, 9_999_999_999_999, 1, 2, 3, 4]) {
      await watch.census();
      await stage.clock.advance(MINUTE - SECOND);
      await stage.store.heartbeat(OTHER, heartbeatAt);
      expect((await watch.census()).of(OTHER)).toBe('unknown');
    }
  });

  it('is not dead because its clock or ours is set', async () => {
    const { stage, watch, put } = await watching();
    await put(new FaultyMachine('beta').start().identity);
    await watch.census();
    for (const jumpMs of [365 * 24 * 60 * MINUTE, -2 * 365 * 24 * 60 * MINUTE]) {
      stage.clock.jump(jumpMs);
      expect((await watch.census()).of(OTHER)).toBe('unknown');
    }
  });

  it('is not dead because the one who looks has slept', async () => {
    const { stage, watch, put } = await watching();
    await put(new FaultyMachine('beta').start().identity);
    await watch.census();
    await stage.clock.advance(24 * 60 * MINUTE);
    expect((await watch.census()).of(OTHER)).toBe('unknown');
  });
});

it('knows itself, and says none of who is not on record', async () => {
  const { watch, put, stage } = await watching();
  await put(stage.machine.start().identity);
  const census = await watch.census();
  expect(census.of('own_unknown')).toBe('none');
  expect(await watch.judge('own_unknown')).toBe('none');
  expect(await watch.judge(SELF)).toBe('self');
  expect(census.untouchable).toEqual([OTHER]);
});

it('calls a neighbour unknown that the kernel cannot be asked about', async () => {
  const { watch, put, stage } = await watching(undefined, { isRunning: async () => undefined });
  await put(stage.machine.start().identity);
  expect(await watch.judge(OTHER)).toBe('unknown');
});

async function watching(
  stage: Stage = new Stage(),
  instead: Partial<ReturnType<typeof createFaultyPorts>> = {},
): Promise<{
  readonly stage: Stage;
  readonly watch: OwnerWatch;
  readonly put: (identity: ReturnType<FaultyMachine['start']>['identity'], heartbeatAt?: number) => Promise<void>;
}> {
  const ports = createFaultyPorts(stage.world, stage.store, { machine: stage.machine });
  const put = (identity: typeof ports.identity, heartbeatAt = stage.clock.now()): Promise<void> =>
    stage.store.putOwner({ ...identity, id: OTHER, startedAt: 0, heartbeatAt });
  return { stage, watch: new OwnerWatch({ ...ports, ...instead }, SELF), put };
}
