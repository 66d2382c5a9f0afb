import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makerMark } from '../../provider/posix/maker-mark.ts';
import { limitCgroups, makeCgroups, sweepCgroups } from './cgroup.ts';

/** Directories that stand for the kernel's: what is written to them can be read again. */
let root = '';
beforeEach(async () => (root = await mkdtemp(join(tmpdir(), 'sublet-cgroup-'))));
afterEach(() => rm(root, { recursive: true, force: true }));

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

  it.each([1, 2] as const)('come without a weight in version %i: that of all is their parent’s', async (version) => {
    const host = { version, roots: { cpu: root, freezer: root } } as const;
    const dirs = await makeCgroups(host, 'box');
    limitCgroups(host, dirs, {}, {});
    expect(await readdir(dirs[0] ?? '')).toEqual([]);
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
