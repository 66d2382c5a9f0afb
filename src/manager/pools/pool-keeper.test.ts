/** Who looks after a pool: one at a time, whoever of them lives, and never more than the provider bears. */
import { describe, expect, it } from 'vitest';
import type { PoolDefinition, PoolInfo } from '../../core/pools.ts';
import { MINUTE, SECOND, Stage } from '../../../test/setup/stage.ts';
import type { StageOptions, StageProcess } from '../../../test/setup/stage.ts';

const POOL = 'python';

describe('refilling', () => {
  it('keeps the minimum, and makes one for each who waits', async () => {
    const { stage, manager } = await kept({ minIdle: 2, createConcurrency: 9 });
    expect(await info(manager)).toMatchObject({ idle: 2, total: 2, keepers: 1 });
    const leases = await stage.passing(Promise.all([1, 2, 3, 4].map(() => manager.lease(POOL))), SECOND);
    expect(new Set(leases.map(({ sandboxId }) => sandboxId)).size).toBe(4);
    await stage.clock.advance(SECOND);
    expect(await info(manager)).toMatchObject({ idle: 2, leased: 4 });
  });

  it('is done by one of several processes, and each of them may take', async () => {
    const { stage, manager } = await kept({ minIdle: 2 });
    const others = [await join(stage, { minIdle: 2 }), await join(stage, { minIdle: 2 })];
    await stage.clock.advance(10 * SECOND);
    expect(await info(manager)).toMatchObject({ idle: 2, total: 2, keepers: 3 });
    const lease = await stage.passing((others[1] as StageProcess).manager.lease(POOL), SECOND);
    expect((await lease.commands.run('echo theirs')).stdout).toBe('theirs\n');
    await stage.clock.advance(10 * SECOND);
    expect(await info(manager)).toMatchObject({ idle: 2, total: 3 });
  });

  it('leaves alone what was made and taken while it looked through what waits', async () => {
    const { stage, manager } = await kept({ minIdle: 0 }, { manager: { poolIntervalMs: MINUTE } });
    await stage.clock.advance(10 * SECOND);
    const look = holdLooks(stage);
    const lease = await stage.passing(manager.lease(POOL), SECOND);
    const { attach } = stage.world.calls;
    expect(look.held).toBe(1);
    look.letGo();
    await stage.clock.advance(SECOND);
    expect((await lease.commands.run('echo mine')).stdout).toBe('mine\n');
    expect(stage.world.calls.attach).toBe(attach);
  });

  it('is one look at a time, and one more however often it is asked for meanwhile', async () => {
    const { stage, manager } = await kept({ minIdle: 0, maxTotal: 1 }, { manager: { poolIntervalMs: MINUTE } });
    await stage.clock.advance(10 * SECOND);
    const look = holdLooks(stage);
    const lease = await stage.passing(manager.lease(POOL), SECOND);
    let timers = 0;
    const schedule = stage.clock.schedule.bind(stage.clock);
    stage.clock.schedule = (ms, ...rest) => {
      if (ms < 10) timers += 1;
      return schedule(ms, ...rest);
    };
    const waiting = manager.lease(POOL).catch(() => undefined);
    await stage.clock.advance(20 * SECOND);
    expect(look.held).toBe(1);
    expect(timers).toBeLessThan(5);
    look.letGo();
    await lease.release();
    await stage.passing(waiting, SECOND);
  });

  it('goes on under another leader when the one that led died, and what it left waits on', async () => {
    const first = await kept({ minIdle: 2 });
    const { stage } = first;
    const second = await join(stage, { minIdle: 2 });
    const [waiting] = await stage.store.findSandboxes({ pool: POOL, states: ['running'] });
    first.kill();
    await stage.clock.advance(2 * MINUTE);
    const rows = await stage.store.findSandboxes({ pool: POOL, states: ['running'] });
    expect(rows.map(({ id }) => id)).toContain(waiting?.id);
    const [owner] = await stage.store.listOwners();
    expect(rows.map(({ ownerId }) => ownerId)).toEqual([owner?.id, owner?.id]);
    for (let left = 3; left > 0; left--) await stage.passing(second.manager.lease(POOL), SECOND);
    await stage.clock.advance(5 * SECOND);
    expect(await info(second.manager)).toMatchObject({ idle: 2, leased: 3, keepers: 1 });
  });

  it('is not faster than the pool allows', async () => {
    const stage = new Stage();
    const { manager } = await stage.process();
    manager.pools.define(POOL, { minIdle: 8, refillPerSecond: 1, createConcurrency: 9 });
    const lease = await stage.passing(manager.lease(POOL), SECOND);
    await stage.clock.advance(3 * SECOND);
    const { total } = await info(manager);
    expect(total).toBeGreaterThanOrEqual(3);
    expect(total).toBeLessThanOrEqual(5);
    await lease.release();
  });

  it('follows a definition that changes, and discards what it made before', async () => {
    const { stage, manager } = await kept({ minIdle: 1 });
    manager.pools.define(POOL, { minIdle: 1, sandbox: { image: 'newer' } });
    const lease = await stage.passing(manager.lease(POOL), SECOND);
    expect((await stage.row(lease.sandboxId)).spec.image).toBe('newer');
    await stage.clock.advance(10 * SECOND);
    expect((await manager.pools.stats(POOL)).discards).toEqual({ 'not what the pool makes now': 1 });
  });
});

describe('a provider that fails', () => {
  it('is asked less and less often, and those who wait are told why', async () => {
    const { stage, manager } = await kept({});
    stage.world.seed(1, 1, { create: [{ type: 'refused' }] });
    const waiting = manager.lease(POOL, { timeoutMs: MINUTE });
    await expect(stage.passing(waiting, MINUTE)).rejects.toMatchObject({
      code: 'POOL_EXHAUSTED',
      message: expect.stringContaining('Making more fails'),
    });
    expect(stage.world.calls.create).toBeLessThanOrEqual(9);
    expect(await types(manager)).toContain('pool.tripped');
    stage.world.heal();
    expect((await stage.passing(manager.lease(POOL, { timeoutMs: 2 * MINUTE }), 2 * MINUTE)).token).toBe(1);
    expect(await types(manager)).toContain('pool.recovered');
  });

  it('that has no room is asked for no more than it bears, until it may have some again', async () => {
    const { stage, manager } = await kept({ minIdle: 2, maxTotal: 9 });
    stage.world.plan('create', { type: 'rate-limited', retryAfterMs: 5_000 });
    manager.pools.define(POOL, { minIdle: 6, maxTotal: 9, createConcurrency: 1 });
    await stage.passing(manager.lease(POOL), SECOND);
    const { create } = stage.world.calls;
    await stage.clock.advance(4 * SECOND);
    expect(stage.world.calls.create).toBe(create);
    await stage.clock.advance(5 * MINUTE);
    expect(await info(manager)).toMatchObject({ idle: 6 });
  });
});

describe('what waits', () => {
  it('shrinks to the minimum when it is quiet', async () => {
    const { stage, manager } = await kept({ minIdle: 1, idleTimeoutMinutes: 2 });
    await stage.passing(manager.pools.warm(POOL, { count: 4 }), SECOND);
    await stage.clock.advance(MINUTE);
    expect(await info(manager)).toMatchObject({ idle: 4 });
    await stage.clock.advance(2 * MINUTE);
    expect(await info(manager)).toMatchObject({ idle: 1, total: 1 });
  });

  it('is replaced when it is too old', async () => {
    const { stage, manager } = await kept({ minIdle: 1, maxAgeMinutes: 20 });
    const [before] = await stage.store.findSandboxes({ pool: POOL, states: ['running'] });
    await stage.clock.advance(21 * MINUTE);
    const [after] = await stage.store.findSandboxes({ pool: POOL, states: ['running'] });
    expect(after?.id).not.toBe(before?.id);
    expect(await info(manager)).toMatchObject({ idle: 1, total: 1 });
  });

  it('is kept paused where the pool says so, and woken when it is handed over', async () => {
    const { stage, manager } = await kept({ minPaused: 2 });
    await stage.clock.advance(10 * SECOND);
    expect(await info(manager)).toMatchObject({ idle: 0, paused: 2 });
    expect(stage.world.boxes.map(({ state }) => state)).toEqual(['paused', 'paused']);
    const lease = await stage.passing(manager.lease(POOL), SECOND);
    expect((await lease.commands.run('echo awake')).stdout).toBe('awake\n');
    await stage.clock.advance(10 * SECOND);
    expect(await info(manager)).toMatchObject({ paused: 2, leased: 1 });
  });

  it('and turns out to be gone is passed over for the next', async () => {
    const { stage, manager } = await kept({ minIdle: 2 });
    const [older] = await stage.store.findSandboxes({ pool: POOL, states: ['running'] });
    await stage.clock.advance(MINUTE);
    stage.world.lose(older?.name ?? '');
    const lease = await stage.passing(manager.lease(POOL), SECOND);
    expect(lease.sandboxId).not.toBe(older?.id);
    expect((await manager.pools.stats(POOL)).discards).toEqual({ 'not usable when it was handed over': 1 });
  });

  it('is drained on demand, and what is in use is left alone', async () => {
    const { stage, manager } = await kept({ maxTotal: 4 });
    const lease = await stage.passing(manager.lease(POOL), SECOND);
    await stage.passing(manager.pools.warm(POOL, { count: 2 }), SECOND);
    expect(await manager.pools.drain(POOL)).toBe(2);
    await stage.clock.advance(SECOND);
    expect(await info(manager)).toMatchObject({ total: 1, leased: 1 });
    expect((await lease.commands.run('true')).exitCode).toBe(0);
    expect(await types(manager)).toContain('pool.drained');
  });
});

describe('a process that leaves', () => {
  it('gives what waits to another that keeps the pool', async () => {
    const first = await kept({ minIdle: 2 });
    const { stage } = first;
    const second = await join(stage, { minIdle: 2 });
    const made = stage.world.calls.create;
    await stage.passing(first.manager.close(), SECOND);
    await stage.clock.advance(10 * SECOND);
    expect(await info(second.manager)).toMatchObject({ idle: 2, total: 2, keepers: 1 });
    expect(stage.world.calls.create).toBe(made);
  });

  it('destroys what waits, paused or not, when nobody else keeps it', async () => {
    const { stage, manager } = await kept({ minIdle: 1, minPaused: 1 });
    await stage.clock.advance(10 * SECOND);
    const lease = await manager.lease(POOL);
    await stage.passing(manager.close(), SECOND);
    expect((await stage.row(lease.sandboxId)).state).toBe('destroyed');
    expect(stage.world.boxes).toEqual([]);
    expect(await stage.store.listOwners()).toEqual([]);
  });

  it('keeps what was warmed by hand for whoever comes next, until it was idle for too long', async () => {
    const stage = new Stage();
    const hand = await stage.process();
    hand.manager.pools.define(POOL, { idleTimeoutMinutes: 10 });
    await stage.passing(hand.manager.pools.warm(POOL, { count: 2, keep: true }), SECOND);
    await stage.passing(hand.manager.close(), SECOND);
    expect(stage.world.boxes).toHaveLength(2);
    const next = await stage.process();
    next.manager.pools.define(POOL, { idleTimeoutMinutes: 10 });
    const { create } = stage.world.calls;
    const lease = await stage.passing(next.manager.lease(POOL), SECOND);
    expect(stage.world.calls.create).toBe(create);
    await stage.passing(next.manager.close(), SECOND);
    expect((await stage.row(lease.sandboxId)).state).toBe('destroyed');
    const sweeper = await stage.process();
    await stage.clock.advance(9 * MINUTE);
    await sweeper.manager.reap();
    expect(stage.world.boxes).toHaveLength(1);
    await stage.clock.advance(3 * MINUTE);
    await sweeper.manager.sweep();
    expect(stage.world.boxes).toEqual([]);
  });
});

describe('a process that dies', () => {
  it('leaves nothing when nobody else keeps the pool', async () => {
    const { stage, kill } = await kept({ minIdle: 2, minPaused: 1 });
    await stage.clock.advance(10 * SECOND);
    kill();
    const other = await stage.process();
    const { verdicts } = await stage.passing(other.manager.reap(), SECOND);
    expect(verdicts.map(({ action, reason }) => [action, reason])).toEqual(
      Array.from({ length: 3 }, () => ['destroy', 'its owner died, and no process keeps its pool']),
    );
    await stage.clock.advance(SECOND);
    expect(stage.world.boxes).toEqual([]);
  });

  it('with a lease leaves a sandbox that nobody gets', async () => {
    const { stage, manager, kill } = await kept({ minIdle: 1, reuse: 'reset' });
    const other = await join(stage, { minIdle: 1, reuse: 'reset' });
    const lease = await manager.lease(POOL);
    kill();
    await stage.passing(other.manager.sweep(), SECOND);
    expect(await stage.row(lease.sandboxId)).toMatchObject({
      state: 'destroyed',
      cause: 'in use when its owner died: nobody sees what it left',
    });
  });

  it('while it destroys what was used leaves that to be finished', async () => {
    const { stage, manager, kill } = await kept({ minIdle: 1 });
    const lease = await manager.lease(POOL);
    stage.world.plan('destroy', { type: 'stuck' });
    await lease.release();
    kill();
    const other = await stage.process();
    await stage.passing(other.manager.reap(), 2 * MINUTE);
    expect((await stage.row(lease.sandboxId)).state).toBe('destroyed');
    expect(stage.world.boxes).toEqual([]);
  });
});

describe('a pool that cannot be', () => {
  it.each<[string, PoolDefinition, RegExp]>([
    [
      'contradicts itself',
      { minIdle: 5, maxTotal: 2, maxUses: 3 },
      /minIdle must not exceed maxTotal[^]*maxUses: needs reuse/,
    ],
    [
      'is of nonsense',
      { minIdle: -1, whenFull: 'hope' as 'wait' },
      /minIdle: must be a whole[^]*whenFull: must be one of/,
    ],
  ])('is refused with all that is wrong: it %s', async (_what, definition, message) => {
    const { manager } = await new Stage().process();
    expect(() => manager.pools.define(POOL, definition)).toThrow(message);
  });

  it.each<[string, PoolDefinition['sandbox']]>([
    ['a volume', { contextId: 'shared' } as PoolDefinition['sandbox']],
    ['a directory that can be written', { mounts: [{ source: '/data', target: '/data', readOnly: false }] }],
  ])('because it would show one holder what another left: %s', async (_what, sandbox) => {
    const { manager } = await new Stage().process();
    manager.pools.define(POOL, { sandbox });
    await expect(manager.lease(POOL)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('is not found under a name that its profile does not have', async () => {
    const { manager } = await new Stage().process();
    await expect(manager.lease('python/other')).rejects.toMatchObject({ code: 'PROFILE_NOT_FOUND' });
  });
});

async function kept(
  definition: PoolDefinition,
  options: StageOptions = {},
): Promise<StageProcess & { readonly stage: Stage }> {
  const stage = new Stage();
  return { ...(await join(stage, definition, options)), stage };
}

async function join(stage: Stage, definition: PoolDefinition, options: StageOptions = {}): Promise<StageProcess> {
  const process = await stage.process(options);
  process.manager.pools.define(POOL, definition);
  await stage.passing(process.manager.pools.warm(POOL), SECOND);
  return process;
}

function info(manager: StageProcess['manager']): Promise<PoolInfo> {
  return manager.pools.get(POOL);
}

async function types(manager: StageProcess['manager']): Promise<readonly string[]> {
  return (await manager.events({})).map(({ type }) => type);
}

/** Whoever looks through what waits has read it, and is not answered until it is let go. */
function holdLooks({ store }: Stage): { readonly held: number; letGo(): void } {
  const find = store.findSandboxes.bind(store);
  let held = 0;
  let letGo = (): void => undefined;
  const released = new Promise<void>((resolve) => (letGo = resolve));
  store.findSandboxes = async (query) => {
    const rows = await find(query);
    if (query.pool === undefined) return rows;
    held += 1;
    await released;
    return rows;
  };
  return {
    get held() {
      return held;
    },
    letGo,
  };
}
