import { describe, expect, it } from 'vitest';
import { parseHostMounts } from './host-mounts.ts';

const MOUNTINFO = [
  '22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw',
  '23 22 0:22 / /home ro,nosuid,nodev,noatime - ext4 /dev/vdb rw',
  '24 23 0:23 / /home/a\\040b rw,nosuid,noexec master:2 - tmpfs none rw',
  '25 22 0:24 / /tmp rw,nosuid - tmpfs none rw',
  '26 25 0:25 / /tmp rw,nodev,relatime - tmpfs none rw',
  '27 22 0:26 / /homestead rw,noexec - tmpfs none rw',
  '28 22 0:27 / /mnt/back\\134slash rw,noexec - tmpfs none rw',
  '',
].join('\n');

describe('locked flags', () => {
  const flags = parseHostMounts(MOUNTINFO).lockedFlags;
  it('are those of the nearest mount above a path', () => {
    expect(flags('/etc')).toEqual(['relatime']);
    expect(flags('/home/me')).toEqual(['ro', 'nosuid', 'nodev', 'noatime']);
    expect(flags('/home')).toEqual(['ro', 'nosuid', 'nodev', 'noatime']);
    expect(flags('/homestead/x')).toEqual(['noexec']);
  });
  it('read names with spaces and backslashes', () => {
    expect(flags('/home/a b/c')).toEqual(['nosuid', 'noexec']);
    expect(flags('/mnt/back\\slash')).toEqual(['noexec']);
  });
  it('are those of the upper of two mounts at one point', () => {
    expect(flags('/tmp/x')).toEqual(['nodev', 'relatime']);
  });
  it('are none without any mount', () => {
    expect(parseHostMounts('').lockedFlags('/x')).toEqual([]);
  });
});

describe('mounts below a path', () => {
  it('are found by whole names, each once, upper before lower', () => {
    const below = parseHostMounts(MOUNTINFO).mountsBelow;
    expect(below('/home')).toEqual(['/home/a b']);
    expect(below('/')).toEqual(['/tmp', '/home', '/home/a b', '/homestead', '/mnt/back\\slash']);
    expect(below('/tmp')).toEqual([]);
  });
});
