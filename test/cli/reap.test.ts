/** What is left by a process that was killed, as the command line finds and explains it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requirement } from '../setup/requirements.ts';
import { Installation } from './installation.ts';

let sublet: Installation;
beforeAll(async () => (sublet = await Installation.create()));
afterAll(() => sublet.remove());

describe.runIf(await requirement('namespace'))('sublet reap', () => {
  let id = '';
  let pid = 0;

  it('has nothing to do where nothing is', async () => {
    expect(await sublet.output(['reap'])).toBe('nothing there');
  });

  it('says what it would do with what a killed process had, and does nothing', async () => {
    id = await sublet.output(['new', '--thread', 'ada:report']);
    const holder = sublet.start(['exec', id, '--', 'sh', '-c', 'echo up; sleep 600'], {
      env: { SUBLET_WATCHDOG: '0' },
    });
    await holder.waitFor('up');
    pid = holder.child.pid ?? 0;
    expect(await sublet.output(['reap', '--explain'])).toMatch(new RegExp(`^${id} .* keep +its owner lives$`, 'm'));
    holder.child.kill('SIGKILL');
    await holder.ended;
    const dry = await sublet.output(['reap', '--dry-run']);
    expect(dry).toMatch(new RegExp(`^${id} +namespace +running +pause +its owner died, and onExit is pause$`, 'm'));
    expect(dry).toMatch(/^dry run: 1 paused$/m);
    expect(await sublet.json(['inspect', '--json', id])).toMatchObject([
      { state: 'running', owner: { pid, life: 'dead' } },
    ]);
  });

  it('is what the list shows to be due', async () => {
    expect(await sublet.output(['ls'])).toMatch(new RegExp(`^${id} +running, its owner died +`, 'm'));
    expect(await sublet.json(['ls', '--json'])).toMatchObject([{ id, state: 'running', ownerDied: true }]);
  });

  it('is what the doctor advises', async () => {
    const { stdout } = await sublet.run(['doctor', 'namespace']);
    expect(stdout).toMatch(new RegExp(`note  owners: what these processes left waits to be seen to: ${pid} on `));
    expect(stdout).toMatch(/^ +sublet reap$/m);
  });

  it('does it, and the sandbox tells who did what and why', async () => {
    const [report] = await sublet.json<{ verdicts: unknown; providers: unknown }>(['reap', '--json']);
    expect(report?.verdicts).toMatchObject([{ sandboxId: id, action: 'pause' }]);
    expect(report?.providers).toEqual([{ provider: 'namespace', profile: 'namespace', listed: 1 }]);
    const story = await sublet.output(['inspect', id]);
    expect(story).toMatch(/^owner +none: /m);
    expect(story).toMatch(/^ +\S+ +sandbox\.paused +its owner died, and onExit is pause$/m);
    expect(await sublet.output(['events'])).toMatch(new RegExp(`owner\\.died +process ${pid} on `));
    expect(await sublet.output(['reap'])).toBe('1 kept');
    expect(await sublet.output(['ls'])).toMatch(new RegExp(`^${id} +paused +namespace `, 'm'));
  });
});
