import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findCgroupHost, hasMemoryGroup } from './cgroup-host.ts';

/** Directories that stand for the kernel's: what is written to them can be read again. */
let root = '';
beforeEach(async () => (root = await mkdtemp(join(tmpdir(), 'sublet-cgroup-'))));
afterEach(() => rm(root, { recursive: true, force: true }));

const NO_GROUPS = '22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n';
const version1 = (names: readonly string[]): string =>
  names
    .map(
      (name, index) => `${30 + index} 29 0:${index} / ${root}/${name} rw,nosuid shared:9 - cgroup cgroup rw,${name}\n`,
    )
    .join('');
const version2 = (point: string): string =>
  `40 29 0:40 / ${point} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n`;

describe('finding control groups', () => {
  it('finds none on a machine without', async () => {
    expect(await findCgroupHost(NO_GROUPS, '0::/\n')).toBeUndefined();
    expect(hasMemoryGroup(undefined)).toBe(false);
  });

  it('finds every writable controller of version 1', async () => {
    for (const name of ['memory', 'pids', 'cpu,cpuacct', 'freezer', 'devices']) await mkdir(join(root, name));
    const host = await findCgroupHost(
      NO_GROUPS + version1(['memory', 'pids', 'cpu,cpuacct', 'freezer', 'devices']),
      '',
    );
    expect(host).toEqual({
      version: 1,
      roots: {
        memory: join(root, 'memory'),
        pids: join(root, 'pids'),
        cpu: join(root, 'cpu,cpuacct'),
        freezer: join(root, 'freezer'),
      },
    });
    expect(hasMemoryGroup(host)).toBe(true);
  });

  it('leaves out a controller that cannot be written', async () => {
    await mkdir(join(root, 'pids'));
    expect(await findCgroupHost(version1(['memory', 'pids']), '')).toEqual({
      version: 1,
      roots: { pids: join(root, 'pids') },
    });
  });

  it('finds version 2 with the controllers that it has', async () => {
    await writeFile(join(root, 'cgroup.controllers'), 'cpuset cpu io memory pids\n');
    const host = await findCgroupHost(NO_GROUPS + version2(root), '0::/\n');
    expect(host).toEqual({ version: 2, roots: { memory: root, cpu: root, pids: root, freezer: root } });
  });

  it('finds the delegated group above an ordinary user’s process', async () => {
    const delegated = join(root, 'user.slice/user@1000.service');
    await mkdir(join(delegated, 'app.slice'), { recursive: true });
    await writeFile(join(delegated, 'cgroup.controllers'), 'memory pids\n');
    const host = await findCgroupHost(version2(root), '0::/user.slice/user@1000.service/app.slice\n');
    expect(host).toEqual({ version: 2, roots: { memory: delegated, pids: delegated, freezer: delegated } });
  });

  it('prefers version 1 on a hybrid, whose version 2 has no controllers', async () => {
    for (const name of ['memory', 'unified']) await mkdir(join(root, name));
    await writeFile(join(root, 'unified/cgroup.controllers'), '\n');
    expect((await findCgroupHost(version1(['memory']) + version2(join(root, 'unified')), '0::/\n'))?.version).toBe(1);
    expect(await findCgroupHost(version2(join(root, 'unified')), '0::/\n')).toBeUndefined();
  });
});

describe('the weight of all sandboxes together', () => {
  const find = async (version: 1 | 2): Promise<unknown> =>
    version === 1 ? findCgroupHost(version1(['cpu']), '') : findCgroupHost(version2(root), '0::/\n');

  it.each([
    [1, 'cpu/sublet/cpu.shares', '1024\n', '256'],
    [2, 'sublet/cpu.weight', '100\n', '25'],
  ] as const)(
    'is a quarter of the usual in version %i, unless somebody has set it',
    async (version, path, usual, less) => {
      await mkdir(join(root, 'cpu/sublet'), { recursive: true });
      await mkdir(join(root, 'sublet'));
      await writeFile(join(root, 'cgroup.controllers'), 'cpu\n');
      for (const [before, after] of [
        [usual, less],
        ['7\n', '7\n'],
      ] as const) {
        await writeFile(join(root, path), before);
        for (let time = 0; time < 2; time++) await find(version);
        expect(await readFile(join(root, path), 'utf8')).toBe(after);
      }
    },
  );
});
