/** `sublet pool`: what is warmed by one command waits for the next, and is gone when it is drained. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requirement } from '../setup/requirements.ts';
import { Installation } from './installation.ts';

describe.runIf(await requirement('namespace'))('sublet pool', () => {
  let sublet: Installation;

  beforeEach(async () => {
    sublet = await Installation.create();
    await mkdir(path.join(sublet.home, 'sandboxes'), { recursive: true });
    const profile = { provider: 'namespace', pools: { default: { minIdle: 1, maxTotal: 3 }, batch: {} } };
    await writeFile(path.join(sublet.home, 'sandboxes', 'python.json'), JSON.stringify(profile));
  });

  afterEach(() => sublet.remove());

  it('lists the pools of profiles, with what they have and what they are to have', async () => {
    const pools = await sublet.json(['pool', 'ls', '--json']);
    expect(pools.map(({ name, total }) => [name, total])).toEqual([
      ['python', 0],
      ['python/batch', 0],
    ]);
    expect(await sublet.output(['pool'])).toMatch(/POOL +PROFILE[^]*python +python +0\/1/);
  });

  it('warms sandboxes that wait after it ended, and drains them', async () => {
    expect(await sublet.output(['pool', 'warm', 'python', '--count', '2'])).toBe('python: 2 idle, 0 paused');
    expect(await sublet.json(['pool', 'ls', '--json'])).toMatchObject([{ name: 'python', idle: 2, keepers: 0 }, {}]);
    const [id] = (await sublet.output(['ls', '--quiet'])).split('\n');
    const opened = await sublet.run(['exec', id ?? '', '--', 'true']);
    expect(opened.stderr).toContain('waits in pool "python"');
    expect(await sublet.json(['pool', 'stats', 'python', '--json'])).toMatchObject([{ made: 2, hits: 0 }]);
    expect(await sublet.output(['pool', 'drain', 'python'])).toBe('python: 2 drained');
    expect(await sublet.output(['ls', '--quiet'])).toBe('');
    expect(await sublet.output(['pool', 'stats', 'python'])).toMatch(/discarded: drained by hand +2/);
  });

  it('says what is wrong with what it is asked', async () => {
    expect(await sublet.run(['pool', 'warm'])).toMatchObject({ status: 64 });
    expect((await sublet.run(['pool', 'warm', 'python', '--count', '9'])).stderr).toContain('at most 3');
    expect((await sublet.run(['pool', 'stats', 'python/none'])).stderr).toContain('batch');
  });
});
