/** The prepared root of an image: empty mount points, links and the few files that are ours. Made once, then only read. */
import { randomUUID } from 'node:crypto';
import { type Stats, statSync } from 'node:fs';
import { cp, lstat, mkdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SubletError } from '../../core/errors.ts';
import { makerMark } from '../../provider/posix/maker-mark.ts';
import { contentName } from './content-name.ts';
import { HOST_ETC, type Image } from './image.ts';
import { DISK_DIRS, draftName, HOME, INNER_UID } from './layout.ts';
import type { MountPoint } from './mount-rules.ts';
import { ARMED, INIT, RESIDENT } from './scripts.ts';

export const DEVICES: readonly string[] = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];

/** `extraTargets` are the mount points that this sandbox's own mounts need. Returns the root's path. */
export async function prepareSkeleton(
  stateDir: string,
  image: Image,
  extraTargets: readonly MountPoint[],
): Promise<string> {
  const etc = image.isHost ? presentEtc() : [];
  const content = JSON.stringify([image.id, image.entries, etc, extraTargets, OWN_ETC, INIT, RESIDENT, ARMED]);
  const root = `${stateDir}/roots/${contentName(content)}`;
  if (look(root) === undefined) await build(root, image, etc, extraTargets);
  return root;
}

/** An entry of the host's `/etc` and when it last changed: a changed one makes a new root. */
type EtcEntry = readonly [name: string, changedAt: number];

// At once: to hand each of two dozen looks at a local directory to another thread takes ten times as long.
function presentEtc(): readonly EtcEntry[] {
  return HOST_ETC.flatMap((name): readonly EtcEntry[] => {
    const info = look(`/etc/${name}`);
    return info === undefined ? [] : [[name, info.ctimeMs]];
  });
}

function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Built beside its place and renamed, so that several may do it at once. */
async function build(
  root: string,
  image: Image,
  etc: readonly EtcEntry[],
  extraTargets: readonly MountPoint[],
): Promise<void> {
  const draft = draftName(root, makerMark(), randomUUID());
  const directory = (path: string): Promise<unknown> => mkdir(join(draft, path), { recursive: true, mode: 0o755 });
  const file = async (path: string, text: string): Promise<void> => {
    await directory(dirname(path));
    await writeFile(join(draft, path), text, { mode: 0o644 });
  };
  for (const path of [
    'proc',
    'dev/pts',
    'dev/shm',
    'etc',
    'run/sublet/channel',
    'var',
    ...DISK_DIRS.map((dir) => dir.target),
  ])
    await directory(path);
  for (const name of DEVICES) await file(`dev/${name}`, '');
  for (const [path, target] of LINKS) await symlink(target, join(draft, path));
  for (const [name, text] of Object.entries({ init: INIT, resident: RESIDENT, armed: ARMED }))
    await file(`run/sublet/scripts/${name}`, text);
  for (const entry of image.entries) {
    if (entry.kind === 'link') await symlink(entry.target, join(draft, entry.name));
    else await directory(entry.name);
  }
  for (const [name] of etc) await copyPublic(join('/etc', name), join(draft, 'etc', name));
  if (image.isHost) for (const [name, text] of Object.entries(OWN_ETC)) await file(`etc/${name}`, text);
  for (const target of extraTargets) await makePoint(draft, image, target);
  await rename(draft, root).catch(async () => {
    // Another process has made the same root in the meantime.
    await stat(root);
    await rm(draft, { recursive: true, force: true });
  });
}

/** In the draft, where it is in nothing that will be mounted over it; else it must be there already. */
async function makePoint(draft: string, image: Image, { path, isFile }: MountPoint): Promise<void> {
  const parts = path.split('/').filter((part) => part !== '');
  refuseBehindLink(image, parts);
  const [first = '', ...rest] = parts;
  const covering = image.entries.find((entry) => entry.kind === 'bind' && entry.name === first);
  const place = covering?.kind === 'bind' ? join(covering.source, ...rest) : join(draft, ...parts);
  const present = look(place);
  if (present === undefined && covering === undefined) {
    await mkdir(isFile ? dirname(place) : place, { recursive: true, mode: 0o755 });
    if (isFile) await writeFile(place, '', { mode: 0o644 });
    return;
  }
  if (present !== undefined && present.isDirectory() !== isFile) return;
  const problem = present === undefined ? `/${first} is read-only and has no such place` : 'a file and a directory';
  throw new SubletError('CONFIG_INVALID', `Nothing can be mounted at ${path}: ${problem}.`, {
    hint: 'Choose a place of its own, such as /mnt/data.',
  });
}

/** A link leads nowhere yet: a directory made behind it would be made on the host. */
function refuseBehindLink(image: Image, parts: readonly string[]): void {
  const links = [
    ...LINKS.map(([path]) => path),
    ...image.entries.flatMap((entry) => (entry.kind === 'link' ? [entry.name] : [])),
  ];
  if (!links.some((link) => `${parts.join('/')}/`.startsWith(`${link}/`))) return;
  throw new SubletError('CONFIG_INVALID', `The mount target /${parts.join('/')} lies behind a link of the image.`, {
    hint: 'Mount it at the place the link points to, or somewhere else.',
  });
}

/** Only what every user of the host may read anyway, whoever runs this. */
async function copyPublic(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o755 });
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: async (path) => {
      const info = await lstat(path);
      return info.isSymbolicLink() || ((info.isFile() || info.isDirectory()) && (info.mode & 0o004) !== 0);
    },
  });
}

const LINKS: readonly (readonly [string, string])[] = [
  ['var/tmp', '/tmp'],
  ['dev/ptmx', 'pts/ptmx'],
  ['dev/fd', '/proc/self/fd'],
  ['dev/stdin', '/proc/self/fd/0'],
  ['dev/stdout', '/proc/self/fd/1'],
  ['dev/stderr', '/proc/self/fd/2'],
];

/** Generated: the host's own account, group and host files name people and machines. */
export const OWN_ETC: Readonly<Record<string, string>> = {
  passwd: `root:x:0:0:root:/:/usr/sbin/nologin\nsandbox:x:${INNER_UID}:${INNER_UID}:sandbox:${HOME}:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n`,
  group: `root:x:0:\nsandbox:x:${INNER_UID}:\nnogroup:x:65534:\n`,
  hosts: '127.0.0.1 localhost sandbox\n::1 localhost sandbox\n',
  hostname: 'sandbox\n',
  'resolv.conf': '',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n',
  'host.conf': 'multi on\n',
};
