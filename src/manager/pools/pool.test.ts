/** Pools: a clean sandbox for everybody who asks, in the order of coming, and nobody sees what another left. */
import { describe, expect, it } from 'vitest';
import type { Lease } from '../../core/api.ts';
import { sleep } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import type { PoolDefinition, PoolInfo } from '../../core/pools.ts';
import { settle } from '../../testing/index.ts';
import { SECOND, Stage } from '../../../test/setup/stage.ts';
import type { StageOptions, StageProcess } from '../../../test/setup/stage.ts';

const POOL = 'python';

describe('a lease from a pool', () => {
  it('is of a warm sandbox, without asking the provider for anything', async () => {
    const { stage, manager } = await pool({ minIdle: 1 });
    const { create, attach, command } = stage.world.calls;
    const lease = await manager.lease(POOL, { holder: 'worker 7' });
    expect(stage.world.calls).toMatchObject({ create, attach, command });
    expect(lease).toMatchObject({ holder: 'worker 7', token: 1 });
    expect((await lease.commands.run('echo hi')).stdout).toBe('hi\n');
    expect(await manager.pools.stats(POOL)).toMatchObject({
      hits: 1,
      misses: 0,
      made: 1,
      wait: { count: 1, sumMs: 0 },
    });
  });

  it('of a pool that nobody configured is made on demand', async () => {
    const stage = new Stage();
    const { manager } = await stage.process();
    const lease = await stage.passing(manager.lease('anything'), SECOND);
    expect(await manager.sandboxes.get(lease.sandboxId)).toMatchObject({ pool: 'anything', profile: 'anything' });
    expect(await manager.pools.stats('anything')).toMatchObject({ hits: 0, misses: 1, waits: 1 });
  });

  it('is consumed once: its sandbox is destroyed behind its holder’s back and another takes its place', async () => {
    const { stage, manager } = await pool({ minIdle: 1 });
    const lease = await manager.lease(POOL);
    await lease.release();
    expect((await stage.row(lease.sandboxId)).state).not.toBe('running');
    await lease.release();
    await expect(lease.commands.run('true')).rejects.toMatchObject({ code: 'CLOSED' });
    await stage.clock.advance(SECOND);
    expect(await stage.row(lease.sandboxId)).toMatchObject({ state: 'destroyed', cause: 'used once (pool python)' });
    const next = await manager.lease(POOL);
    expect(next.sandboxId).not.toBe(lease.sandboxId);
  });

  it('brings its holder’s variables, and what waits has none', async () => {
    const { manager, stage } = await pool({ minIdle: 1, sandbox: { env: { SECRET: 'of the profile' } } });
    expect(stage.world.boxes[0]?.spec.env).toEqual({});
    const lease = await manager.lease(POOL, { env: { OTHER: 'of the holder' } });
    const variable = async (name: string): Promise<string> => (await lease.commands.run(`printenv ${name}`)).stdout;
    expect([await variable('SECRET'), await variable('OTHER')]).toEqual(['of the profile\n', 'of the holder\n']);
  });

  it('ends when it is not renewed: what runs is stopped, and nobody gets the sandbox', async () => {
    const { stage, manager } = await pool({ minIdle: 1 });
    const lease = await manager.lease(POOL, { ttlMs: 10 * SECOND });
    const running = lease.commands.run('sleep 500').catch((error: unknown) => error);
    stage.store.leases.renew = async () => undefined;
    await stage.clock.advance(10 * SECOND);
    expect(lease.lost.aborted).toBe(true);
    expect(await running).toMatchObject({ code: 'LEASE_LOST' });
    expect(await stage.row(lease.sandboxId)).toMatchObject({ state: 'destroyed', cause: 'lease lost (pool python)' });
    expect((await manager.pools.stats(POOL)).discards).toEqual({ 'lease lost': 1 });
  });

  it('comes in time or not at all, also when what was to be woken does not answer', async () => {
    const { stage, manager } = await pool({ minPaused: 2, maxTotal: 2, waitTimeoutSeconds: 5 });
    stage.world.plan('resume', { type: 'stuck' });
    stage.world.plan('resume', { type: 'stuck' });
    const refused = manager.lease(POOL).catch((error: unknown) => error);
    await stage.clock.advance(40 * SECOND);
    expect(await Promise.race([refused, settle().then(() => 'still waiting')])).toMatchObject({
      code: 'POOL_EXHAUSTED',
    });
  });

  it('by its id keeps the sandbox from a maker who did not hear that it runs', async () => {
    const stage = new Stage();
    const [maker, taker] = [await stage.process(), await stage.process()];
    const move = stage.store.moveSandbox.bind(stage.store);
    let lease: Promise<Lease> | undefined;
    stage.store.moveSandbox = async (id, to) => {
      const moved = await move(id, to);
      if (to.to !== 'running' || lease !== undefined) return moved;
      stage.world.plan('attach', { type: 'slow', ms: 3 * SECOND });
      lease = taker.manager.lease({ sandboxId: id });
      await settle();
      throw new SubletError('STORE_BUSY', 'The answer was lost.');
    };
    maker.manager.pools.define(POOL, { minIdle: 1, maxTotal: 1 });
    await stage.passing(maker.manager.pools.warm(POOL), 5 * SECOND).catch(() => undefined);
    const held = await stage.passing(lease ?? Promise.reject(new Error('nobody made it')), 5 * SECOND);
    expect((await held.commands.run('echo mine')).stdout).toBe('mine\n');
    expect((await stage.row(held.sandboxId)).state).toBe('running');
  });

  it('can be had by the sandbox’s id too, and then nobody else gets it, nor what it left', async () => {
    const { stage, manager } = await pool({ minIdle: 1, maxTotal: 2 });
    const [{ id } = { id: '' }] = await manager.sandboxes.list();
    await expect(manager.sandboxes.open(id)).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    await expect(manager.sandboxes.resume(id)).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    const lease = await manager.lease({ sandboxId: id });
    const other = await stage.passing(manager.lease(POOL), SECOND);
    expect(other.sandboxId).not.toBe(id);
    await lease.release();
    await stage.clock.advance(SECOND);
    expect((await stage.row(id)).state).toBe('destroyed');
    await expect(manager.lease({ sandboxId: 'sbx_unknown' })).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
    await expect(manager.lease({ sandboxId: other.sandboxId })).rejects.toMatchObject({ code: 'LEASE_HELD' });
  });
});

describe('a full pool', () => {
  it('lets callers wait, serves them in the order of coming, and overtakes nobody', async () => {
    const { stage, manager } = await pool({ maxTotal: 1 });
    const first = await stage.passing(manager.lease(POOL), SECOND);
    const order: number[] = [];
    const waiting = [1, 2, 3].map(async (number) => {
      const lease = await manager.lease(POOL);
      order.push(number);
      await lease.release();
    });
    await stage.clock.advance(SECOND);
    expect(order).toEqual([]);
    await first.release();
    await stage.passing(Promise.all(waiting), 20 * SECOND);
    expect(order).toEqual([1, 2, 3]);
  });

  it('serves those of several processes in the order of coming', async () => {
    const { stage, manager } = await pool({ maxTotal: 1 });
    const other = await member(stage, { maxTotal: 1 });
    const first = await stage.passing(manager.lease(POOL), SECOND);
    const order: string[] = [];
    const wait = async (name: string, at: StageProcess): Promise<void> => {
      const lease = await at.manager.lease(POOL);
      order.push(name);
      await lease.release();
    };
    const waiting: Promise<void>[] = [];
    for (const [name, at] of [
      ['b1', other],
      ['a1', { manager } as StageProcess],
      ['b2', other],
    ] as const) {
      waiting.push(wait(name, at));
      await stage.clock.advance(200);
    }
    await first.release();
    await stage.passing(Promise.all(waiting), 20 * SECOND);
    expect(order).toEqual(['b1', 'a1', 'b2']);
  });

  it('tells who waited too long what there is', async () => {
    const { stage, manager } = await pool({ maxTotal: 1 });
    await stage.passing(manager.lease(POOL), SECOND);
    const waiting = manager.lease(POOL, { timeoutMs: 5 * SECOND });
    await expect(stage.passing(waiting, 5 * SECOND)).rejects.toMatchObject({
      code: 'POOL_EXHAUSTED',
      message: expect.stringContaining('total=1, idle=0, leased=1, waiting=1'),
      details: { total: 1, idle: 0, leased: 1, waiting: 1, maxTotal: 1 },
    });
    expect(await info(manager)).toMatchObject({ waiting: 0 });
    const events = await manager.events({});
    expect(events.filter(({ type }) => type === 'pool.exhausted')).toHaveLength(1);
    expect(await manager.pools.stats(POOL)).toMatchObject({ timeouts: 1 });
  });

  it('puts back what came for one who is just being told that nothing came', async () => {
    const { stage, manager } = await pool({ maxTotal: 1 });
    const { pools } = stage.store;
    const first = await stage.passing(manager.lease(POOL), SECOND);
    const [take, counts] = [pools.take.bind(pools), pools.counts.bind(pools)];
    let isTaken = false;
    pools.take = async (wish) => {
      const taken = await take(wish);
      isTaken ||= taken !== undefined;
      if (taken !== undefined) await sleep(stage.clock, 6 * SECOND);
      return taken;
    };
    const waiting = manager.lease(POOL, { timeoutMs: 5 * SECOND }).catch((error: unknown) => error);
    await settle();
    await stage.passing(first.release(), 3 * SECOND);
    expect(isTaken).toBe(true);
    pools.counts = (...asked) => sleep(stage.clock, 8 * SECOND).then(() => counts(...asked));
    await stage.clock.advance(20 * SECOND);
    pools.counts = counts;
    expect(await waiting).toMatchObject({ code: 'POOL_EXHAUSTED' });
    expect(await info(manager)).toMatchObject({ total: 1, idle: 1, leased: 0 });
  });

  it('refuses at once where the pool says so', async () => {
    const { stage, manager } = await pool({ maxTotal: 1, whenFull: 'fail' });
    await stage.passing(manager.lease(POOL), SECOND);
    await expect(manager.lease(POOL)).rejects.toMatchObject({ code: 'POOL_EXHAUSTED' });
  });

  it('has one made outside where the pool says so, which goes with its lease', async () => {
    const { stage, manager } = await pool({ maxTotal: 1, whenFull: 'create' });
    await stage.passing(manager.lease(POOL), SECOND);
    const outside = await stage.passing(manager.lease(POOL), SECOND);
    expect(await stage.row(outside.sandboxId)).toMatchObject({ pool: undefined, ephemeral: true });
    expect((await outside.commands.run('echo out')).stdout).toBe('out\n');
    await outside.release();
    await stage.clock.advance(SECOND);
    expect((await stage.row(outside.sandboxId)).state).toBe('destroyed');
    expect(await manager.pools.stats(POOL)).toMatchObject({ outside: 1 });
  });

  it('does not hold a place for who gave up', async () => {
    const { stage, manager } = await pool({ maxTotal: 1 });
    const first = await stage.passing(manager.lease(POOL), SECOND);
    const abort = new AbortController();
    const impatient = manager.lease(POOL, { signal: abort.signal });
    const patient = manager.lease(POOL);
    await stage.clock.advance(SECOND);
    abort.abort();
    await expect(impatient).rejects.toMatchObject({ code: 'ABORTED' });
    await first.release();
    expect((await stage.passing(patient, SECOND)).token).toBe(1);
  });

  it('is not held up by a process that died while it waited', async () => {
    const { stage, manager } = await pool({ maxTotal: 1 });
    const other = await member(stage, { maxTotal: 1 });
    const first = await stage.passing(manager.lease(POOL), SECOND);
    void other.manager.lease(POOL);
    await stage.clock.advance(SECOND);
    const waiting = manager.lease(POOL);
    await settle();
    other.kill();
    await first.release();
    expect((await stage.passing(waiting, 10 * SECOND)).token).toBe(1);
  });
});

describe('reuse after a reset', () => {
  const reused = { maxTotal: 1, reuse: 'reset' } as const;

  it('gives the same sandbox again, as it was made', async () => {
    const { stage, manager } = await pool(reused);
    const first = await stage.passing(manager.lease(POOL), SECOND);
    await first.files.write('left', 'behind');
    await first.release();
    const second = await stage.passing(manager.lease(POOL), SECOND);
    expect(second).toMatchObject({ sandboxId: first.sandboxId, token: 2 });
    expect(await second.files.exists('left')).toBe(false);
    expect(await manager.pools.stats(POOL)).toMatchObject({ resets: 1, discards: {} });
    expect((await manager.events({})).map(({ type }) => type)).toContain('pool.returned');
  });

  it.each<[string, Partial<PoolDefinition>, (stage: Stage) => unknown, string]>([
    ['what is not as it was', {}, (stage) => stage.world.plan('reset', { type: 'unclean' }), 'reset not clean'],
    ['what could not be reset', {}, (stage) => stage.world.plan('reset', { type: 'refused' }), 'reset failed'],
    ['what was used often enough', { maxUses: 1 }, () => {}, 'used often enough'],
    [
      'what is too old',
      { maxAgeMinutes: 0.01, idleTimeoutMinutes: 0.01 },
      (stage) => stage.clock.advance(SECOND),
      'too old',
    ],
  ])('discards %s, and says so', async (_what, fields, before, reason) => {
    const { stage, manager } = await pool({ ...reused, ...fields });
    const lease = await stage.passing(manager.lease(POOL), 100);
    await before(stage);
    await lease.release();
    await stage.clock.advance(SECOND);
    expect(await stage.row(lease.sandboxId)).toMatchObject({ state: 'destroyed', cause: `${reason} (pool python)` });
    expect((await manager.pools.stats(POOL)).discards).toEqual({ [reason]: 1 });
    const told = (await manager.events({})).find(({ type }) => type === 'pool.discarded');
    expect(told).toMatchObject({ sandboxId: lease.sandboxId, cause: reason, details: { pool: POOL } });
  });

  it('discards what its provider cannot reset', async () => {
    const { stage, manager } = await pool(reused, { capabilities: ['network-open', 'network-none', 'labels'] });
    const lease = await stage.passing(manager.lease(POOL), SECOND);
    await lease.release();
    await stage.clock.advance(SECOND);
    expect((await manager.pools.stats(POOL)).discards).toEqual({ 'its provider cannot reset': 1 });
  });

  it('can be cut off the network by its holder, and its sandbox never comes back', async () => {
    const { stage, manager } = await pool({ minIdle: 1, reuse: 'reset', sandbox: { network: 'open' } });
    const lease = await manager.lease(POOL);
    await lease.markPrivate('customer data read');
    expect(stage.world.boxes.find(({ name }) => name.endsWith(lease.sandboxId.slice(4)))?.network).toBe('none');
    await expect(lease.setNetwork('open', 'no')).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    expect((await lease.commands.run('echo on')).stdout).toBe('on\n');
    const events = await stage.store.listEvents({ sandboxId: lease.sandboxId });
    expect(events.find(({ type }) => type === 'network.tightened')).toMatchObject({ cause: 'customer data read' });
    await lease.release();
    await stage.clock.advance(SECOND);
    expect((await manager.pools.stats(POOL)).discards).toEqual({ 'network tightened': 1 });
    await expect(lease.markPrivate('again')).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('is put to rest when its network cannot be cut', async () => {
    const { stage, manager } = await pool(
      { minIdle: 1, sandbox: { network: 'open' } },
      { capabilities: ['network-open', 'network-none', 'labels', 'pause'] },
    );
    const lease = await manager.lease(POOL);
    await expect(lease.markPrivate('secret')).rejects.toMatchObject({ code: 'NETWORK_NOT_ENFORCEABLE' });
    expect((await stage.row(lease.sandboxId)).state).toBe('paused');
  });

  it('never takes back one whose network was tightened', async () => {
    const { stage, manager } = await pool(reused);
    const lease = await stage.passing(manager.lease(POOL), SECOND);
    await stage.store.patchSandbox(lease.sandboxId, { network: 'none' });
    await lease.release();
    await stage.clock.advance(SECOND);
    expect((await manager.pools.stats(POOL)).discards).toEqual({ 'network tightened': 1 });
  });

  it('by another process is noticed by one that still has a handle from before', async () => {
    const { stage, manager } = await pool(reused);
    const other = await member(stage, reused);
    for (const taker of [manager, other.manager, manager, other.manager]) {
      const lease = await stage.passing(taker.lease(POOL), SECOND);
      expect((await lease.commands.run('echo works')).stdout).toBe('works\n');
      await lease.release();
      await stage.clock.advance(SECOND);
    }
    expect(await manager.pools.stats(POOL)).toMatchObject({ made: 1 });
  });

  it('goes on behind the holder’s back, and one who leaves in the middle of it leaves nothing', async () => {
    const { stage, manager } = await pool(reused);
    const lease = await stage.passing(manager.lease(POOL), SECOND);
    stage.world.plan('reset', { type: 'stuck' });
    await lease.release();
    expect((await stage.row(lease.sandboxId)).lease).toBeDefined();
    await stage.passing(manager.close(), 20 * SECOND);
    expect((await stage.row(lease.sandboxId)).state).toBe('destroyed');
    expect(stage.world.boxes).toEqual([]);
  });
});

async function pool(
  definition: PoolDefinition,
  options: StageOptions = {},
): Promise<StageProcess & { readonly stage: Stage }> {
  const stage = new Stage();
  const process = await member(stage, definition, options);
  return { ...process, stage };
}

/** A process that keeps the pool, with its minimum there. */
async function member(stage: Stage, definition: PoolDefinition, options: StageOptions = {}): Promise<StageProcess> {
  const process = await stage.process(options);
  process.manager.pools.define(POOL, definition);
  await stage.passing(process.manager.pools.warm(POOL), SECOND);
  return process;
}

function info(manager: StageProcess['manager']): Promise<PoolInfo> {
  return manager.pools.get(POOL);
}
