/** Images: the host's system directories, a directory that holds a root file system, or a tarball of one. */
import { createHash, randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { lstatSync, readlinkSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { SubletError } from '../../core/errors.ts';
import { makerMark } from '../../provider/posix/maker-mark.ts';
import { draftName } from './layout.ts';

export type ImageEntry =
  | { readonly kind: 'bind'; readonly name: string; readonly source: string }
  | { readonly kind: 'link'; readonly name: string; readonly target: string };

export interface Image {
  /** Names the prepared root that belongs to it. */
  readonly id: string;
  readonly entries: readonly ImageEntry[];
  /** Files laid over or added to the image's `/etc`, from the host or by text. */
  readonly isHost: boolean;
}

const HOST_DIRS = ['usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32', 'nix'];

/** What under the host's `/etc` programs need and nobody minds being read. Everything else stays out. */
export const HOST_ETC: readonly string[] = [
  'alternatives',
  'ca-certificates',
  'ca-certificates.conf',
  'crypto-policies',
  'debian_version',
  'fonts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'magic',
  'mime.types',
  'os-release',
  'pki/tls/certs',
  'pki/ca-trust',
  'protocols',
  'services',
  'shells',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
  'timezone',
];

// Ours, whatever the image has there.
const RESERVED = new Set([
  'proc',
  'sys',
  'dev',
  'run',
  'tmp',
  'workspace',
  'home',
  'root',
  'var',
  'mnt',
  'media',
  'boot',
  'lost+found',
]);

export async function openImage(
  stateDir: string,
  image: string | undefined,
  onProgress: (message: string) => void,
): Promise<Image> {
  if (image === undefined || image === 'host') return hostImage();
  if (!isAbsolute(image)) {
    throw new SubletError(
      'CONFIG_INVALID',
      `The namespace provider takes "host", a directory or a tarball as image, not "${image}".`,
      {
        hint: 'Give an absolute path to an unpacked root file system or to a .tar, .tar.gz, .tar.xz or .tar.zst of one.',
      },
    );
  }
  const info = await stat(image).catch((cause: unknown) => {
    throw new SubletError('CONFIG_INVALID', `The image ${image} cannot be read.`, {
      cause,
      hint: 'Check the path and its permissions.',
    });
  });
  if (info.isDirectory()) return directoryImage(image, info.mtimeMs);
  const id = imageId(`${image}\0${info.size}\0${info.mtimeMs}`);
  const root = `${stateDir}/images/${id}`;
  if (!(await exists(root))) await unpack(image, root, onProgress);
  return directoryImage(root, info.mtimeMs);
}

function hostImage(): Image {
  return { id: 'host', entries: readEntries('/', HOST_DIRS), isHost: true };
}

async function directoryImage(root: string, modifiedAt: number): Promise<Image> {
  const names = (await readdir(root)).filter((name) => !RESERVED.has(name));
  const entries = readEntries(root, names);
  if (!entries.some((entry) => entry.name === 'bin' || entry.name === 'usr')) {
    throw new SubletError(
      'CONFIG_INVALID',
      `${root} does not look like a root file system: it has neither bin nor usr.`,
      {
        hint: 'Unpack the image so that its bin, usr and etc directories are directly in this directory.',
      },
    );
  }
  return { id: imageId(`${root}\0${modifiedAt}`), entries, isHost: false };
}

// At once: a dozen looks, one after the other through another thread, would be most of what a first sandbox waits for.
function readEntries(root: string, names: readonly string[]): readonly ImageEntry[] {
  const entries: ImageEntry[] = [];
  for (const name of names) {
    const path = `${root === '/' ? '' : root}/${name}`;
    const info = lstatSync(path, { throwIfNoEntry: false });
    if (info?.isSymbolicLink() === true) entries.push({ kind: 'link', name, target: readlinkSync(path) });
    else if (info?.isDirectory() === true) entries.push({ kind: 'bind', name, source: path });
  }
  return entries;
}

/** Unpacks beside the final place and renames, so that a cut-short unpacking is never taken for an image. */
async function unpack(tarball: string, root: string, onProgress: (message: string) => void): Promise<void> {
  onProgress(`unpacking ${tarball}`);
  const draft = draftName(root, makerMark(), randomUUID());
  await mkdir(draft, { recursive: true, mode: 0o755 });
  try {
    await tar([
      '--extract',
      '--file',
      tarball,
      '--directory',
      draft,
      '--no-same-owner',
      '--exclude=dev/*',
      '--exclude=./dev/*',
    ]);
    await rename(draft, root).catch(async (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'ENOTEMPTY' && cause.code !== 'EEXIST') throw cause;
    });
  } catch (cause) {
    throw new SubletError('CONFIG_INVALID', `The image ${tarball} cannot be unpacked: ${(cause as Error).message}`, {
      cause,
      hint: 'Check that it is a tar archive of a root file system, for example one made by `docker export`.',
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

function tar(args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('tar', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let message = '';
    child.stderr.on('data', (chunk: Buffer) => {
      if (message.length < 2_000) message += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(message.trim() || `tar ended with ${code}`)),
    );
  });
}

function imageId(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
