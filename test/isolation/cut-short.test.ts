/** What a process leaves that is killed in the middle of a move: the kernel knows better than what was written down. */
import { mkdir, readdir, readFile, rmdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { findCgroupHost } from '../../src/providers/namespace/cgroup-host.ts';
import { freeze, thaw } from '../../src/providers/namespace/freezer.ts';
import { pathsIn } from '../../src/providers/namespace/layout.ts';
import { identifySelf, isSameProcess } from '../../src/providers/namespace/process-identity.ts';
import { writeRecord } from '../../src/providers/namespace/sandbox-record.ts';
import { canRun, openWorld, sh, signal } from './world.ts';

const world = await openWorld();
const [mountInfo = '', own = ''] = await Promise.all(
  ['/proc/self/mountinfo', '/proc/self/cgroup'].map((path) => readFile(path, 'utf8')),
);
const cgroups = await findCgroupHost(mountInfo, own);

describe.runIf(canRun)('a move that was cut short', () => {
  // Without a control group there is nothing to ask: stopped processes look like a program's own doing.
  const isTold = cgroups !== undefined && process.getuid?.() === 0;
  it('leaves a frozen sandbox that is known to be paused, and can be resumed', async ({ skip }) => {
    if (!isTold) skip('no control group of this user tells a frozen sandbox from a stopped program');
    const sandbox = await world.create({ ephemeral: false });
    await sh(sandbox, 'echo kept >note');
    await freeze(cgroups, await world.record(sandbox));
    const other = await world.open();
    expect((await other.attach(sandbox.ref, signal))?.state).toBe('paused');
    await other.resume?.(sandbox.ref, signal);
    const found = await other.attach(sandbox.ref, signal);
    expect(found?.state).toBe('running');
    expect(await found?.files.readText('note')).toBe('kept\n');
  });

  it('leaves a frozen sandbox that can be destroyed', async () => {
    const sandbox = await world.create({ ephemeral: false });
    const record = await world.record(sandbox);
    await freeze(cgroups, record);
    await (await world.open()).destroy(sandbox.ref, signal);
    expect(record.init !== undefined && isSameProcess(record.init)).toBe(false);
    expect(await readdir(`${world.stateDir}/sandboxes`)).toEqual([]);
  });

  it('leaves a woken sandbox that is known to run', async () => {
    const sandbox = await world.create({ ephemeral: false });
    await world.provider.pause?.(sandbox.ref, signal);
    await thaw(cgroups, await world.record(sandbox));
    expect((await (await world.open()).attach(sandbox.ref, signal))?.state).toBe('running');
  });

  it('leaves a half-started sandbox that nobody enters: it is started anew', async () => {
    const sandbox = await world.create({ ephemeral: false });
    const record = await world.record(sandbox);
    const self = identifySelf();
    const maker = self && { ...self, startTicks: 1 };
    writeRecord(world.stateDir, { ...record, maker });
    const other = await world.open();
    expect((await other.attach(sandbox.ref, signal))?.state).toBe('stopped');
    await other.start?.(sandbox.ref, signal);
    expect(record.init !== undefined && isSameProcess(record.init)).toBe(false);
    const again = await world.record(sandbox);
    expect(again.maker).toBeUndefined();
    expect((await (await other.attach(sandbox.ref, signal))?.commands.run('echo up'))?.stdout).toBe('up\n');
  });

  it('leaves a half-made disk that the next start completes', async () => {
    const sandbox = await world.create({ ephemeral: false });
    await sh(sandbox, 'echo kept >$HOME/note; chmod 700 $HOME');
    await world.provider.stop?.(sandbox.ref, signal);
    const { disk } = pathsIn(`${world.stateDir}/sandboxes/${sandbox.ref.name}`);
    await rmdir(`${disk}/tmp`);
    await rmdir(`${disk}/workspace`);
    await mkdir(`${disk}/workspace`);
    await world.provider.start?.(sandbox.ref, signal);
    const again = await world.provider.attach(sandbox.ref, signal);
    const write = 'touch /tmp/a /workspace/b && cat ~/note && stat -c %a ~ /tmp';
    expect(await again?.commands.run(write)).toMatchObject({ stdout: 'kept\n700\n1777\n', stderr: '' });
  });

  it('leaves a volume that the next sandbox completes', async () => {
    const made = await world.create({ contextId: 'cut-short' });
    await world.provider.destroy(made.ref, signal);
    const volumes = `${world.stateDir}/volumes`;
    const [volume = ''] = await readdir(volumes);
    await rmdir(`${volumes}/${volume}`);
    await mkdir(`${volumes}/${volume}`);
    const sandbox = await world.create({ contextId: 'cut-short' });
    expect(await sh(sandbox, 'touch it && ls')).toMatchObject({ stdout: 'it\n', stderr: '' });
  });
});

describe.runIf(canRun)('moves of one sandbox at once', () => {
  it('forget no process, however stops and starts of two managers overlap', async () => {
    const sandbox = await world.create({ ephemeral: false });
    const [first, second] = [world.provider, await world.open()];
    const inits = new Set<number>();
    for (let round = 0; round < 5; round++) {
      await Promise.all([
        first.stop?.(sandbox.ref, signal),
        second.start?.(sandbox.ref, signal),
        second.stop?.(sandbox.ref, signal),
        first.start?.(sandbox.ref, signal),
      ]);
      const { init } = await world.record(sandbox);
      if (init !== undefined) inits.add(init.pid);
    }
    const looks = await Promise.all([...inits].map((pid) => world.processesBeside(pid).catch(() => async () => [])));
    await second.destroy(sandbox.ref, signal);
    expect((await Promise.all(looks.map((look) => look()))).flat()).toEqual([]);
    expect(await readdir(`${world.stateDir}/sandboxes`)).toEqual([]);
  });
});
