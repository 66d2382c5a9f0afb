/** A network that is cut by a new sandbox: what the next use finds when that did not come to its end. */
import { describe, expect, it } from 'vitest';
import { MINUTE, Stage } from '../../test/setup/stage.ts';
import { settle } from '../testing/index.ts';

const KEY = { user: 'ada', task: 'thesis' };
const CAPABILITIES = ['network-open', 'network-none', 'pause'] as const;

describe('a sandbox that takes the place of an open one', () => {
  it('is not used when its maker died before the files were there, and the next user is told', async () => {
    const stage = new Stage();
    const [a, b] = [
      await stage.process({ capabilities: CAPABILITIES }),
      await stage.process({ capabilities: CAPABILITIES }),
    ];
    const session = await a.manager.session(KEY);
    await session.files.write('a.txt', 'kept');
    await stage.clock.advance(1_000);
    stage.world.plan('command', { type: 'stuck' }, { type: 'stuck' });
    session.markPrivate('customer data read').catch(() => undefined);
    await settle();
    const halfFilled = (await stage.store.getSession(session.key))?.sandbox;
    expect(halfFilled?.state).toBe('creating');
    a.kill();
    const next = await stage.passing(b.manager.session(KEY));
    expect(next.sandboxId).not.toBe(halfFilled?.id);
    expect(next.notices).toMatchObject([{ type: 'replaced' }]);
    await stage.passing(b.manager.sweep());
    const old = stage.world.boxes.find((box) => box.network === 'open');
    expect(old?.state).toBe('paused');
  });

  it('goes when the files cannot be carried over, and the next user is told', async () => {
    const stage = new Stage();
    const { manager } = await stage.process({ capabilities: CAPABILITIES });
    const session = await manager.session(KEY);
    await session.files.write('a.txt', 'kept');
    await stage.clock.advance(1_000);
    stage.world.plan('command', { type: 'refused' }, { type: 'refused' });
    await expect(stage.passing(session.markPrivate('secret'), MINUTE)).rejects.toMatchObject({
      code: 'NETWORK_NOT_ENFORCEABLE',
    });
    expect(stage.world.boxes.map((box) => [box.network, box.state])).toEqual([['open', 'paused']]);
    expect((await manager.session(KEY)).notices).toMatchObject([{ type: 'replaced' }]);
  });
});

describe('a sandbox that is replaced while it is being put to rest', () => {
  it.each(['pause', 'stop'] as const)('does not run on when the %s fails', async (verb) => {
    const stage = new Stage();
    const capabilities = [...CAPABILITIES, 'stop'] as const;
    const [a, b] = [await stage.process({ capabilities }), await stage.process({ capabilities })];
    const { sandboxId, key } = await a.manager.session(KEY);
    stage.world.plan(verb, { type: 'stuck' });
    const failed = expect(a.manager.sandboxes[verb](sandboxId)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    await settle();
    // As by a process that died before it had acted on it.
    await stage.store.tightenSession(key, 'none', 'customer data read', stage.clock.now());
    const next = await b.manager.session(KEY);
    expect(next.notices).toMatchObject([{ type: 'replaced', lostSandboxId: sandboxId }]);
    await stage.passing(failed, 2 * MINUTE);
    await stage.passing(a.manager.sweep());
    expect((await stage.row(sandboxId)).state).toBe('paused');
    expect(stage.world.boxes.map((box) => [box.network, box.state])).toEqual([
      ['open', 'paused'],
      ['none', 'running'],
    ]);
  });
});
