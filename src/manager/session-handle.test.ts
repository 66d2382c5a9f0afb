/** A session held exclusively: the same right as a lease, kept through the replacement of its sandbox. */
import { describe, expect, it } from 'vitest';
import { SECOND, Stage } from '../../test/setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };
const NOT_LIVE = { capabilities: ['pause', 'stop', 'labels', 'network-none', 'network-open', 'background'] } as const;

describe('an exclusive session', () => {
  it('keeps others out until it is released', async () => {
    const stage = new Stage();
    const [mine, theirs] = [await stage.process(), await stage.process()];
    const session = await mine.manager.session({ ...KEY, exclusive: { holder: 'planner' } });
    expect(session.lease).toMatchObject({ token: 1, holder: 'planner' });
    const held = { code: 'LEASE_HELD', message: expect.stringContaining('planner') };
    await expect(theirs.manager.session(KEY)).rejects.toMatchObject(held);
    await expect(mine.manager.session(KEY)).rejects.toMatchObject(held);
    await expect(theirs.manager.session({ ...KEY, exclusive: true })).rejects.toMatchObject(held);
    await session.release();
    const next = await theirs.manager.session({ ...KEY, exclusive: true });
    expect(next.lease?.token).toBe(2);
    expect(next.sandboxId).toBe(session.sandboxId);
  });

  it('names its process when nobody says who holds it', async () => {
    const stage = new Stage();
    const { manager, ports } = await stage.process();
    const session = await manager.session({ ...KEY, exclusive: true });
    expect(session.lease?.holder).toBe(`process ${ports.identity.pid} on alpha`);
  });

  it('is refused while another has the sandbox by its id', async () => {
    const stage = new Stage();
    const { manager } = await stage.process();
    const { sandboxId } = await manager.session(KEY);
    await using _lease = await manager.lease({ sandboxId });
    await expect(manager.session({ ...KEY, exclusive: true })).rejects.toMatchObject({ code: 'LEASE_HELD' });
  });

  it('is given to one of many who ask at once', async () => {
    const stage = new Stage();
    const processes = await Promise.all([1, 2, 3].map(() => stage.process()));
    const asked = processes.flatMap(({ manager }) => [1, 2].map(() => manager.session({ ...KEY, exclusive: true })));
    const results = await stage.passing(Promise.allSettled(asked));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(stage.world.calls.create).toBe(1);
  });

  it('has the exclusive use of the sandbox that takes the place of its own, and hears nothing of the old right', async () => {
    const stage = new Stage();
    const { manager } = await stage.process(NOT_LIVE);
    const session = await manager.session({ ...KEY, exclusive: true });
    const first = { id: session.sandboxId, lease: session.lease };
    await session.markPrivate('customer data read');
    expect(session.sandboxId).not.toBe(first.id);
    const other = await stage.process(NOT_LIVE);
    await expect(other.manager.session(KEY)).rejects.toMatchObject({ code: 'LEASE_HELD' });
    expect((await session.commands.run('echo on')).stdout).toBe('on\n');
    await stage.clock.advance(60 * SECOND);
    expect(first.lease?.lost.aborted).toBe(false);
    expect(session.lease?.lost.aborted).toBe(false);
  });

  it('does not take the token of its old sandbox for that of another', async () => {
    const stage = new Stage();
    const { manager } = await stage.process(NOT_LIVE);
    const plain = await manager.session(KEY);
    const exclusive = await manager.session({ ...KEY, exclusive: true });
    // The ratchet is everybody's: what is private must be cut, whoever holds the sandbox.
    await plain.markPrivate('customer data read');
    const other = await stage.process(NOT_LIVE);
    const theirs = await other.manager.session({ ...KEY, exclusive: true });
    expect(theirs.lease?.token).toBe(exclusive.lease?.token);
    await expect(exclusive.commands.run('echo no')).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await expect(plain.commands.run('echo no')).rejects.toMatchObject({ code: 'LEASE_HELD' });
    expect((await theirs.commands.run('echo yes')).stdout).toBe('yes\n');
  });
});
