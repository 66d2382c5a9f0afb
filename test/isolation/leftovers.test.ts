import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { canRun, isAlive, openWorld, sh, signal, until } from './world.ts';

const world = await openWorld();
const RUNAWAY =
  'for i in 1 2 3; do setsid sh -c \'trap "" TERM HUP INT; while :; do sleep 1; done\' >/dev/null 2>&1 & done; mkdir -p deep/er; chmod 0 deep/er; echo x >/tmp/x';

describe.runIf(canRun)('a destroyed sandbox', () => {
  it('leaves no process, mount, control group or file', async () => {
    const sandbox = await world.create({ ephemeral: false });
    await sandbox.commands.start(['sleep', '600']);
    await sh(sandbox, RUNAWAY);
    const { init, holder, cgroups } = await world.record(sandbox);
    const processes = await world.processesBeside(init?.pid);
    expect((await processes()).length).toBeGreaterThan(4);
    await world.provider.destroy(sandbox.ref, signal);
    expect(await processes()).toEqual([]);
    expect(await isAlive(holder?.pid as number)).toBe(false);
    expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(world.stateDir);
    for (const group of cgroups) await expect(readdir(group)).rejects.toThrow(/ENOENT/u);
    expect(await readdir(`${world.stateDir}/sandboxes`)).toEqual([]);
  });

  it('leaves nothing when it was paused or stopped before', async () => {
    for (const move of ['pause', 'stop'] as const) {
      const sandbox = await world.create({ ephemeral: false });
      await sh(sandbox, RUNAWAY);
      const record = await world.record(sandbox);
      const processes = await world.processesBeside(record.init?.pid);
      await world.provider[move]?.(sandbox.ref, signal);
      await world.provider.destroy(sandbox.ref, signal);
      expect(await processes()).toEqual([]);
      for (const group of record.cgroups) await expect(readdir(group)).rejects.toThrow(/ENOENT/u);
      expect(await readdir(`${world.stateDir}/sandboxes`)).toEqual([]);
    }
  });

  it('leaves nothing when its commands have stopped themselves', async () => {
    const sandbox = await world.create({ ephemeral: false });
    const processes = await world.processesBeside((await world.record(sandbox)).init?.pid);
    await sandbox.commands.start('kill -STOP $$');
    await until(async () => (await Promise.all((await processes()).map(isStopped))).includes(true), 'it has stopped');
    await (await world.open()).destroy(sandbox.ref, signal);
    expect(await processes()).toEqual([]);
    expect(await readdir(`${world.stateDir}/sandboxes`)).toEqual([]);
  });

  it('leaves nothing when another process destroys it', async () => {
    const sandbox = await world.create();
    const processes = await world.processesBeside((await world.record(sandbox)).init?.pid);
    await (await world.open()).destroy(sandbox.ref, signal);
    expect(await processes()).toEqual([]);
    expect(await world.provider.attach(sandbox.ref, signal)).toBeUndefined();
  });
});

async function isStopped(pid: string): Promise<boolean> {
  return / T /u.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''));
}
