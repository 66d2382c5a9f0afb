import { describe, expect, it } from 'vitest';
import { type HostMounts, parseHostMounts } from './host-mounts.ts';
import { type MountFacts, mountTable } from './mount-table.ts';

const NO_MOUNTS: HostMounts = { lockedFlags: () => [], mountsBelow: () => [] };

function facts(overrides: Partial<MountFacts> = {}): MountFacts {
  return {
    root: '/state/root',
    target: '/..',
    image: {
      id: 'host',
      isHost: true,
      entries: [
        { kind: 'bind', name: 'usr', source: '/usr' },
        { kind: 'link', name: 'bin', target: 'usr/bin' },
      ],
    },
    diskDir: '/state/disk',
    channelDir: '/state/channel',
    volumeDir: undefined,
    mounts: [],
    diskUid: 1000,
    diskBytes: undefined,
    memoryBytes: undefined,
    resolvConf: undefined,
    host: NO_MOUNTS,
    ...overrides,
  };
}

/** Source, target, type and options of the line for a target. */
const lineFor = (table: string, target: string): string =>
  table
    .split('\n')
    .filter((line) => line.split(' ')[1] === `/..${target}`)
    .at(-1) ?? '';

describe('the mount table', () => {
  it('begins with the root, and makes it and the image read-only', () => {
    const table = mountTable(facts());
    expect(table.split('\n')[0]).toBe('/state/root /.. none rbind,rprivate,nosuid,nodev,ro 0 0');
    expect(lineFor(table, '/usr')).toBe('/usr /../usr none rbind,rprivate,nosuid,nodev,ro 0 0');
    expect(table).not.toContain('/../bin ');
  });

  it('makes the channel and /proc/sys read-only and the disk writable', () => {
    const table = mountTable(facts());
    expect(lineFor(table, '/run/sublet/channel')).toMatch(/[ ,]ro[ ,]/u);
    expect(lineFor(table, '/proc/sys')).toMatch(/[ ,]ro[ ,]/u);
    expect(lineFor(table, '/workspace')).toBe(
      '/state/disk/workspace /../workspace none rbind,rprivate,nosuid,nodev 0 0',
    );
  });

  it('gives every line nosuid', () => {
    for (const line of mountTable(facts({ diskBytes: 1024, mounts: [{ source: '/a', target: '/b', readOnly: false }] }))
      .trim()
      .split('\n'))
      expect(line).toContain('nosuid');
  });

  it('writes spaces, tabs, hashes and backslashes in octal', () => {
    const table = mountTable(facts({ mounts: [{ source: '/a b\t#\\c', target: '/mnt/x y' }] }));
    expect(table).toContain('/a\\040b\\011\\043\\134c /../mnt/x\\040y none');
  });

  it('refuses a line break, which would begin a mount of its own', () => {
    expect(() => mountTable(facts({ mounts: [{ source: '/a\n/etc', target: '/b' }] }))).toThrow(/line break/u);
  });

  it('mounts read-only unless asked otherwise, below the source too', () => {
    const mountsBelow = (path: string): readonly string[] =>
      path === '/data' ? ['/data/below', '/data/below/more'] : [];
    const mounts = [
      { source: '/data', target: '/one' },
      { source: '/data', target: '/two', readOnly: false },
    ];
    const table = mountTable(facts({ mounts, host: { ...NO_MOUNTS, mountsBelow } }));
    for (const target of ['/one', '/one/below', '/one/below/more'])
      expect(lineFor(table, target), target).toMatch(/,ro 0 0$/u);
    expect(lineFor(table, '/two')).toBe('/data /../two none rbind,rprivate,nosuid,nodev 0 0');
  });

  it('keeps the flags that the host has locked', () => {
    const table = mountTable(
      facts({
        mounts: [{ source: '/home/me', target: '/me', readOnly: false }],
        host: parseHostMounts(
          '22 1 254:0 / / rw - ext4 a rw\n23 22 0:22 / /home ro,nosuid,nodev,noatime - ext4 b rw\n',
        ),
      }),
    );
    expect(lineFor(table, '/me')).toBe('/home/me /../me none rbind,rprivate,nosuid,nodev,ro,noatime 0 0');
  });

  it('keeps a limited disk in memory, its parts within the limit together', () => {
    const table = mountTable(facts({ diskBytes: 8_000_000, diskUid: 0 }));
    const sizes = ['/workspace', '/home/sandbox', '/tmp'].map((target) =>
      Number(/size=(\d+)/u.exec(lineFor(table, target))?.[1]),
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(8_000_000);
    expect(lineFor(table, '/workspace')).toContain('uid=0,gid=0');
    expect(table).not.toContain('/state/disk');
  });

  it('keeps shared memory within the memory limit', () => {
    expect(lineFor(mountTable(facts()), '/dev/shm')).toContain(`size=${256 * 1024 * 1024}`);
    expect(lineFor(mountTable(facts({ memoryBytes: 1000 })), '/dev/shm')).toContain('size=500 ');
  });

  it('puts a volume over the working directory', () => {
    expect(lineFor(mountTable(facts({ volumeDir: '/state/volumes/v' })), '/workspace')).toContain('/state/volumes/v ');
  });
});
