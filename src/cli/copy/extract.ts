/** Writes a tar stream that nobody vouches for below one directory, and nowhere else. */
import { chmod, link, lstat, mkdir, open, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { SubletError } from '../../core/errors.ts';
import { untar, type TarEntry } from '../../core/tar/untar.ts';

export interface ExtractReport {
  readonly files: number;
  /** What was left out, and why. */
  readonly skipped: readonly string[];
}

/**
 * Names that leave the directory are refused. Links are made last, so that nothing is written through one; a link
 * that points outside, a device, a socket or a name that is not UTF-8 is left out. Set-id bits are dropped.
 */
export async function extract(source: AsyncIterable<Uint8Array>, root: string): Promise<ExtractReport> {
  const directories = new Map<string, number>();
  const links = new Map<string, TarEntry>();
  const skipped: string[] = [];
  let files = 0;
  await mkdir(root, { recursive: true });
  for await (const entry of untar(source)) {
    const path = safePath(entry.name);
    // What takes the place of bytes that are no text: it is another name, and two names may become one.
    if (entry.name.includes('\uFFFD')) skipped.push(`${entry.name}: its name is not UTF-8`);
    else if (entry.kind === 'directory') {
      await makeDirectories(root, path);
      if (path.length > 0) directories.set(path.join('/'), entry.mode & 0o777);
    } else if (entry.kind === 'link') {
      if (staysInside(path, entry.linkName)) links.set(path.join('/'), entry);
      else skipped.push(`${entry.name}: a link out of the copied directory`);
    } else if (entry.kind === 'other' || path.length === 0) {
      skipped.push(`${entry.name}: neither a file, a directory nor a link`);
    } else {
      await makeDirectories(root, path.slice(0, -1));
      await writeEntry(root, path, entry);
      files += 1;
    }
  }
  for (const [path, entry] of links) await makeLink(root, path.split('/'), entry.linkName);
  // Deepest first and last of all: a directory may be read-only.
  for (const [path, mode] of [...directories].toReversed()) await chmod(join(root, path), mode);
  return { files: files + links.size, skipped };
}

/** The parts of a name that stays below the directory, or FILE_FAILED. */
export function safePath(name: string): readonly string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || name.includes('\0') || parts.includes('..')) {
    throw new SubletError(
      'FILE_FAILED',
      `The sandbox sent a file name that leaves the target: ${JSON.stringify(name)}.`,
      {
        hint: 'Nothing outside the target was touched.',
      },
    );
  }
  return parts;
}

/**
 * A target that climbs first and then only descends stays inside whatever links are on its way; one that climbs again
 * after a name may leave through a link.
 */
export function staysInside(path: readonly string[], target: string): boolean {
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const climbs = parts.findIndex((part) => part !== '..');
  const up = climbs === -1 ? parts.length : climbs;
  return !target.startsWith('/') && path.length > 0 && up <= path.length - 1 && !parts.slice(up).includes('..');
}

async function makeDirectories(root: string, path: readonly string[]): Promise<void> {
  let at = root;
  for (const part of path) {
    at = join(at, part);
    const info = await lstat(at).catch(() => undefined);
    if (info === undefined) await mkdir(at);
    else if (!info.isDirectory()) throw new SubletError('FILE_FAILED', `${at} is in the way: it is not a directory.`);
  }
}

// What is there is removed first and the file must be new: a link with its name is replaced, never followed.
async function writeEntry(root: string, path: readonly string[], entry: TarEntry): Promise<void> {
  const target = join(root, ...path);
  await makeRoom(target);
  if (entry.kind === 'hard-link') {
    const original = safePath(entry.linkName);
    await makeDirectories(root, original.slice(0, -1));
    await link(join(root, ...original), target);
    return;
  }
  const file = await open(target, 'wx', 0o600);
  try {
    for await (const chunk of entry.body) await file.writeFile(chunk);
    await file.chmod(entry.mode & 0o777);
    await file.utimes(entry.modifiedSeconds, entry.modifiedSeconds);
  } finally {
    await file.close();
  }
}

async function makeLink(root: string, path: readonly string[], target: string): Promise<void> {
  await makeDirectories(root, path.slice(0, -1));
  await makeRoom(join(root, ...path));
  await symlink(target, join(root, ...path));
}

async function makeRoom(target: string): Promise<void> {
  const info = await lstat(target).catch(() => undefined);
  if (info?.isDirectory() === true) throw new SubletError('FILE_FAILED', `${target} is in the way: it is a directory.`);
  if (info !== undefined) await rm(target);
}
