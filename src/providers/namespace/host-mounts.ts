/** What the host has mounted, as its table says. Pure: facts from text. */

export interface HostMounts {
  /** Flags the host has set on the file system that holds a path, which a user namespace may not clear. */
  lockedFlags(path: string): readonly string[];
  /** What is mounted below a path, upper before lower. */
  mountsBelow(path: string): readonly string[];
}

interface HostMount {
  readonly point: string;
  readonly flags: readonly string[];
}

const LOCKABLE = new Set(['nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime', 'relatime', 'ro']);

/** From the text of /proc/self/mountinfo. */
export function parseHostMounts(mountInfo: string): HostMounts {
  const mounts = parseMountInfo(mountInfo);
  return {
    lockedFlags(path) {
      let best: HostMount = { point: '', flags: [] };
      for (const mount of mounts) {
        // Later entries cover earlier ones at the same point.
        if (mount.point.length >= best.point.length && isWithin(path, mount.point)) best = mount;
      }
      return best.flags;
    },
    mountsBelow(path) {
      const points = mounts.map(({ point }) => point).filter((point) => point !== path && isWithin(point, path));
      return [...new Set(points)].sort((a, b) => a.length - b.length);
    },
  };
}

/** The same path counts. */
function isWithin(path: string, above: string): boolean {
  if (!path.startsWith(above)) return false;
  return above === '/' || path.length === above.length || path[above.length] === '/';
}

function parseMountInfo(text: string): readonly HostMount[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [, , , , point = '/', flags = ''] = line.split(' ');
    return { point: unescapeOctal(point), flags: flags.split(',').filter((flag) => LOCKABLE.has(flag)) };
  });
}

function unescapeOctal(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\([0-7]{3})/gu, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
