import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makerMark } from '../../provider/posix/maker-mark.ts';
import { findCgroupHost, hasMemoryGroup, limitCgroups, makeCgroups, sweepCgroups } from './cgroup.ts';

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

describe('limits in control groups', () => {
  const limits = { memoryBytes: 1000, pids: 5, cpuMillis: 1500 };

  it('are written where version 1 has them', async () => {
    for (const name of ['memory', 'pids', 'cpu']) await mkdir(join(root, name));
    const host = {
      version: 1,
      roots: { memory: join(root, 'memory'), pids: join(root, 'pids'), cpu: join(root, 'cpu') },
    } as const;
    const dirs = await makeCgroups(host, 'box');
    limitCgroups(host, dirs, limits, {});
    const [memory = '', pids = '', cpu = ''] = dirs;
    expect(await readFile(join(memory, 'memory.limit_in_bytes'), 'utf8')).toBe('1000');
    expect(await readFile(join(pids, 'pids.max'), 'utf8')).toBe('5');
    expect(await readFile(join(cpu, 'cpu.cfs_quota_us'), 'utf8')).toBe('150000');
  });

  it('are written in one group of version 2, and only those it enforces', async () => {
    const host = { version: 2, roots: { memory: root, cpu: root, freezer: root } } as const;
    const dirs = await makeCgroups(host, 'box');
    limitCgroups(host, dirs, { ...limits, cpuMillis: undefined }, { cpuMillis: 250 });
    const [group = ''] = dirs;
    expect(dirs).toEqual([join(root, 'sublet', `${makerMark()}box`)]);
    expect(await readFile(join(group, 'memory.max'), 'utf8')).toBe('1000');
    expect(await readFile(join(group, 'cpu.max'), 'utf8')).toBe('25000 100000');
    expect(await readdir(group)).not.toContain('pids.max');
  });
});

describe('a memory limit', () => {
  const limits = { memoryBytes: 1000 };

  it.each([
    [1, 'memory.memsw.limit_in_bytes', '1000'],
    [2, 'memory.swap.max', '0'],
  ] as const)('of version %i leaves no swap beside it, where that is counted', async (version, file, value) => {
    const host = { version, roots: { memory: root, freezer: root } } as const;
    const [counted = ''] = await makeCgroups(host, 'counted');
    const [uncounted = ''] = await makeCgroups(host, 'uncounted');
    await writeFile(join(counted, file), '');
    for (const dir of [counted, uncounted]) limitCgroups(host, [dir], limits, {});
    expect(await readFile(join(counted, file), 'utf8')).toBe(value);
    expect(await readdir(uncounted)).not.toContain(file);
  });
});

describe('groups that were left behind', () => {
  it('go at once when their maker was killed, and never while it lives or something is in them', async () => {
    const host = { version: 2, roots: { freezer: root } } as const;
    const [own = ''] = await makeCgroups(host, 'own');
    const dead = makerMark().replace(/-\d+-$/, '-1-');
    const groups = { empty: join(root, 'sublet', `${dead}empty`), full: join(root, 'sublet', `${dead}full`) };
    await mkdir(groups.empty);
    await mkdir(join(groups.full, 'a-process'), { recursive: true });
    await mkdir(join(root, 'sublet/of-somebody-elsewhere'));
    await sweepCgroups(host);
    expect((await readdir(join(root, 'sublet'))).map((name) => join(root, 'sublet', name)).toSorted()).toEqual(
      [own, groups.full, join(root, 'sublet/of-somebody-elsewhere')].toSorted(),
    );
  });
});
