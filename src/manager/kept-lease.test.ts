/** Leases: one holder, who knows at once when it is no longer one. */
import { describe, expect, it } from 'vitest';
import type { Lease } from '../core/api.ts';
import { SubletError, abortedError } from '../core/errors.ts';
import type { Files } from '../core/files.ts';
import { FaultyMachine, settle } from '../testing/index.ts';
import { MINUTE, SECOND, Stage } from '../../test/setup/stage.ts';
import type { StageOptions, StageProcess } from '../../test/setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };
const TTL = 30 * SECOND;

describe('a lease', () => {
  it('excludes everybody else, by every way in, before anything runs', async () => {
    const { stage, manager, sandboxId } = await leasable();
    const session = await manager.session(KEY);
    const opened = await manager.sandboxes.open(sandboxId);
    const other = await stage.process();
    const lease = await manager.lease({ sandboxId, holder: 'worker 7' });
    const held = { code: 'LEASE_HELD', message: expect.stringContaining('in exclusive use by worker 7') };
    const commands = stage.world.calls.command;
    for (const { manager: any } of [other, { manager }]) {
      await expect(any.lease({ sandboxId })).rejects.toMatchObject(held);
      await expect(any.session(KEY)).rejects.toMatchObject(held);
      await expect(any.sandboxes.open(sandboxId)).rejects.toMatchObject(held);
    }
    for (const handle of [session, opened]) {
      await expect(handle.commands.run('echo no')).rejects.toMatchObject(held);
      await expect(handle.files.write('no', 'no')).rejects.toMatchObject(held);
    }
    expect(stage.world.calls.command).toBe(commands);
    expect((await lease.commands.run('echo yes')).stdout).toBe('yes\n');
  });

  it('is refused on what was made for one purpose, which goes on undisturbed', async () => {
    const stage = new Stage();
    const [maker, other] = [await stage.process(), await stage.process()];
    const working = maker.manager.run('sleep 5');
    await stage.clock.advance(1);
    const [{ id } = { id: '' }] = await other.manager.sandboxes.list();
    await expect(other.manager.lease({ sandboxId: id })).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    expect(await stage.passing(working)).toMatchObject({ exitCode: 0 });
  });

  it('is renewed at a third of its term, for as long as its holder lives', async () => {
    const { stage, lease, sandboxId } = await leased();
    const ends = async (): Promise<number | undefined> => (await stage.row(sandboxId)).lease?.expiresAt;
    const first = (await ends()) ?? 0;
    await stage.clock.advance(TTL / 3 - 1);
    expect(await ends()).toBe(first);
    await stage.clock.advance(1);
    expect(await ends()).toBe(first + TTL / 3);
    await stage.clock.advance(60 * MINUTE);
    expect(await ends()).toBeGreaterThan(stage.clock.now());
    expect(lease.lost.aborted).toBe(false);
    expect((await lease.commands.run('echo on')).stdout).toBe('on\n');
  });

  it('is released exactly once, and is free at once', async () => {
    const { stage, manager, lease, sandboxId } = await leased();
    await Promise.all([lease.release(), lease.release(), lease[Symbol.asyncDispose]()]);
    expect((await stage.row(sandboxId)).lease).toBeUndefined();
    const released = (await manager.events({ sandboxId })).filter(({ type }) => type === 'lease.released');
    expect(released).toMatchObject([{ cause: 'released by its holder', details: { token: 1 } }]);
    await expect(lease.commands.run('echo no')).rejects.toMatchObject({ code: 'CLOSED' });
    expect(lease.lost.aborted).toBe(false);
    expect((await manager.lease({ sandboxId })).token).toBe(2);
  });

  it('is released when its manager closes', async () => {
    const { stage, manager, sandboxId } = await leased();
    await manager.close();
    expect((await stage.row(sandboxId)).lease).toBeUndefined();
  });

  it('ends with its sandbox: what runs is stopped and its holder is told', async () => {
    const { stage, manager, lease, sandboxId } = await leased();
    await manager.sandboxes.destroy(sandboxId);
    await expect(lease.commands.run('echo no')).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await stage.clock.advance(TTL / 3);
    expect(lease.lost.reason).toMatchObject({ code: 'LEASE_LOST' });
  });

  it('wakes what sleeps, and stays through pause and resume', async () => {
    const { stage, manager, sandboxId } = await leasable();
    await manager.sandboxes.pause(sandboxId);
    const lease = await manager.lease({ sandboxId });
    expect(stage.world.boxes[0]?.state).toBe('running');
    await manager.sandboxes.pause(sandboxId);
    expect((await lease.commands.run('echo on')).stdout).toBe('on\n');
  });

  it('refuses what cannot be leased, and leaves no lease on what cannot be used', async () => {
    const { stage, manager, sandboxId } = await leasable();
    await expect(manager.lease({ sandboxId, ttlMs: 10 })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(manager.lease({ sandboxId: 'sbx_none' })).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
    stage.world.plan('attach', { type: 'refused' });
    const other = await stage.process();
    await expect(other.manager.lease({ sandboxId })).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    expect((await stage.row(sandboxId)).lease).toBeUndefined();
    await manager.sandboxes.destroy(sandboxId);
    await expect(manager.lease({ sandboxId })).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
  });
});

describe('a lease of a process that died', () => {
  it('is taken with a greater token when it has expired', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    const { sandboxId } = await dead.manager.session(KEY);
    const first = await dead.manager.lease({ sandboxId });
    dead.kill();
    const { manager } = await stage.process();
    await expect(manager.lease({ sandboxId })).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await stage.clock.advance(TTL);
    expect((await manager.lease({ sandboxId })).token).toBeGreaterThan(first.token);
  });
});

describe('a holder that was away', () => {
  it('is refused before anything runs once another has the lease', async () => {
    const { stage, lease, sandboxId, other } = await leased();
    const next = await takeOver(stage, sandboxId, other);
    const commands = stage.world.calls.command;
    await expect(lease.commands.run('echo no')).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await expect(lease.files.write('a', 'b')).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await expect(lease.files.readText('a')).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(stage.world.calls.command).toBe(commands);
    expect((await next.commands.run('echo yes')).stdout).toBe('yes\n');
  });

  it('is told by a signal, and what it runs is killed', async () => {
    const { stage, lease, sandboxId, other } = await leased();
    const running = expect(lease.commands.run('sleep 1000')).rejects.toMatchObject({ code: 'LEASE_LOST' });
    const background = await lease.commands.start('sleep 1000');
    await settle();
    await takeOver(stage, sandboxId, other);
    await stage.clock.advance(TTL / 3);
    expect(lease.lost.reason).toMatchObject({ code: 'LEASE_LOST' });
    await running;
    expect((await stage.world.boxes[0]?.commands.list())?.map((command) => command.running)).toEqual([false]);
    await expect(background.info()).resolves.toMatchObject({ running: false });
  });

  it('does not go on with a file that it was writing or reading', async () => {
    const { stage, lease, sandboxId, other } = await leased();
    let isAborted = false;
    const files: Files = stage.world.boxes[0]!.files;
    files.write = (_path, _content, options) =>
      new Promise((_, reject) =>
        options?.signal?.addEventListener('abort', () => {
          isAborted = true;
          reject(abortedError(options.signal!));
        }),
      );
    const writing = expect(lease.files.write('big', 'x')).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await settle();
    await takeOver(stage, sandboxId, other);
    await stage.clock.advance(TTL / 3);
    await writing;
    expect(isAborted).toBe(true);
  });

  it('does not go on with a stream that brings nothing', async () => {
    const { stage, lease, sandboxId, other } = await leased();
    const files: Files = stage.world.boxes[0]!.files;
    files.readStream = async function* (_path, options) {
      yield await new Promise<Uint8Array>((_, reject) =>
        options?.signal?.addEventListener('abort', () => reject(abortedError(options.signal!))),
      );
    };
    const stream = lease.files.readStream('slow')[Symbol.asyncIterator]();
    const reading = expect(stream.next()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await settle();
    await takeOver(stage, sandboxId, other);
    await stage.clock.advance(TTL / 3);
    await reading;
  });

  it('leaves nothing running that it started while it was being told', async () => {
    const { stage, lease, sandboxId, other } = await leased();
    const { commands } = stage.world.boxes[0]!;
    const start = commands.start.bind(commands);
    let go = (): void => {};
    commands.start = async (...call) => {
      await new Promise<void>((resolve) => (go = resolve));
      return start(...call);
    };
    const starting = expect(lease.commands.start('sleep 1000')).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await settle();
    await takeOver(stage, sandboxId, other);
    await stage.clock.advance(TTL / 3);
    go();
    await starting;
    expect((await commands.list()).map((command) => command.running)).toEqual([false]);
  });

  it('for longer than its term does not get it back, though nobody took it', async () => {
    const { stage, lease, sandboxId } = await leased();
    // Its timers did not fire: the machine stood still.
    Object.assign(stage.clock, { elapsed: () => 10 * TTL });
    const { lease: before } = await stage.row(sandboxId);
    await stage.clock.advance(TTL / 3);
    expect(lease.lost.aborted).toBe(true);
    expect((await stage.row(sandboxId)).lease).toEqual(before);
    await expect(lease.commands.run('echo no')).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });
});

describe('while the store does not answer', () => {
  it.each(['fails', 'hangs'])(
    'a lease is kept until its term is over, and then it is lost, when the store %s',
    async (how) => {
      let isDown = false;
      const { stage, lease } = await leased({
        ports: ({ store }) => ({
          store: new Proxy(store, {
            get: (target, name) => {
              const down = (): Promise<never> =>
                how === 'hangs' ? new Promise(() => {}) : Promise.reject(new SubletError('STORE_FAILED', 'down'));
              return isDown && name === 'leases' ? { ...target.leases, renew: down } : Reflect.get(target, name);
            },
          }),
        }),
      });
      await stage.clock.advance(TTL / 3);
      isDown = true;
      await stage.clock.advance(TTL - 1);
      expect(lease.lost.aborted).toBe(false);
      await stage.clock.advance(1);
      expect(lease.lost.reason).toMatchObject({ code: 'LEASE_LOST' });
    },
  );

  it('one failure does not lose it', async () => {
    let failures = 1;
    const { stage, lease } = await leased({
      ports: ({ store }) => ({
        store: new Proxy(store, {
          get: (target, name) =>
            name === 'leases' && failures-- > 0
              ? { ...target.leases, renew: () => Promise.reject(new SubletError('STORE_BUSY', 'busy')) }
              : Reflect.get(target, name),
        }),
      }),
    });
    await stage.clock.advance(10 * TTL);
    expect(lease.lost.aborted).toBe(false);
  });
});

describe('a clock that is set', () => {
  it.each([365 * 24 * 60 * MINUTE, -365 * 24 * 60 * MINUTE])('by %i ms takes no lease away', async (jumpMs) => {
    const { stage, lease, sandboxId, other } = await leased();
    stage.clock.jump(jumpMs);
    const late = await stage.process({ machine: new FaultyMachine('beta') });
    for (let round = 0; round < 5; round++) {
      for (const { manager } of [other, late])
        await expect(manager.lease({ sandboxId })).rejects.toMatchObject({ code: 'LEASE_HELD' });
      await stage.clock.advance(TTL / 2);
    }
    expect((await lease.commands.run('echo on')).stdout).toBe('on\n');
  });
});

async function leasable(
  options: StageOptions = {},
): Promise<{ readonly stage: Stage; readonly manager: StageProcess['manager']; readonly sandboxId: string }> {
  const stage = new Stage();
  const { manager } = await stage.process(options);
  const { sandboxId } = await manager.session({ ...KEY, policy: { autoStopMinutes: 0 } });
  return { stage, manager, sandboxId };
}

async function leased(
  options: StageOptions = {},
): Promise<Awaited<ReturnType<typeof leasable>> & { readonly lease: Lease; readonly other: StageProcess }> {
  const subject = await leasable(options);
  const lease = await subject.manager.lease({ sandboxId: subject.sandboxId, ttlMs: TTL });
  return { ...subject, lease, other: await subject.stage.process() };
}

/** As if the holder had not renewed for so long that another could have it. */
async function takeOver(stage: Stage, sandboxId: string, { manager }: StageProcess): Promise<Lease> {
  const { lease } = await stage.row(sandboxId);
  await stage.store.leases.release(sandboxId, lease?.token ?? 0, 'expired', stage.clock.now());
  return manager.lease({ sandboxId, ttlMs: TTL });
}
