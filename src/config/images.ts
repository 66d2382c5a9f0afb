/** Images by name: links under `images/` in the home to the directories and tarballs that were added. */
import { mkdir, readdir, readlink, realpath, rename, rm, stat, symlink } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join, resolve } from 'node:path';
import { SubletError } from '../core/errors.ts';
import { ensureHome, type HomePaths } from './home.ts';
import { nearest } from '../core/nearest.ts';
import { isForbidden, isMissing, unreadableError, unwritableError } from './private-file.ts';

export interface NamedImage {
  readonly name: string;
  /** Where it is, or was. */
  readonly path: string;
  readonly kind: 'directory' | 'tarball' | 'missing';
}

const NAME = /^[a-z0-9][a-z0-9._-]*$/i;

export async function listImages(home: HomePaths): Promise<readonly NamedImage[]> {
  const names = await readdir(imagesDir(home)).catch((cause: unknown) => {
    if (isMissing(cause)) return [];
    throw unreadableError(imagesDir(home), cause);
  });
  return Promise.all(
    names
      .filter((name) => NAME.test(name))
      .toSorted()
      .map((name) => describe(home, name)),
  );
}

/** Adds it, or points the name to another place. */
export async function addImage(home: HomePaths, name: string, path: string): Promise<NamedImage> {
  if (!NAME.test(name) || name === 'host') {
    throw new SubletError('USAGE', `"${name}" cannot be an image's name.`, {
      hint: 'A name is letters, digits, dots, dashes and underscores; "host" is taken.',
    });
  }
  const target = await realpath(resolve(path)).catch((cause: unknown) => {
    throw new SubletError('USAGE', `There is nothing at ${path}.`, {
      cause,
      hint: 'Give a directory or a tarball that holds a root file system.',
    });
  });
  await ensureHome(home);
  try {
    await mkdir(imagesDir(home), { recursive: true, mode: 0o700 });
    const draft = join(imagesDir(home), `.${randomUUID()}`);
    await symlink(target, draft);
    await rename(draft, linkOf(home, name));
  } catch (cause) {
    throw isForbidden(cause) ? unwritableError(linkOf(home, name), cause) : cause;
  }
  return describe(home, name);
}

/** Forgets the name; the directory or tarball stays. CONFIG_INVALID when there is no such name. */
export async function removeImage(home: HomePaths, name: string): Promise<void> {
  const known = (await listImages(home)).map((image) => image.name);
  if (!known.includes(name)) throw unknownImage(name, known);
  await rm(linkOf(home, name));
}

/** The path that a known name stands for; anything else is the provider's to understand. */
export async function resolveImage(home: HomePaths, image: string): Promise<string> {
  const found = (await listImages(home)).find(({ name }) => name === image);
  if (found === undefined) return image;
  if (found.kind === 'missing') {
    throw new SubletError('CONFIG_INVALID', `The image "${image}" was at ${found.path} and is there no more.`, {
      hint: `sublet images add ${image} PATH points it elsewhere; sublet images rm ${image} forgets it.`,
    });
  }
  return found.path;
}

async function describe(home: HomePaths, name: string): Promise<NamedImage> {
  const link = linkOf(home, name);
  try {
    const [path, info] = await Promise.all([realpath(link), stat(link)]);
    return { name, path, kind: info.isDirectory() ? 'directory' : 'tarball' };
  } catch (cause) {
    if (!isMissing(cause)) throw unreadableError(link, cause);
    return { name, path: await readlink(link), kind: 'missing' };
  }
}

function unknownImage(name: string, known: readonly string[]): SubletError {
  const close = nearest(name, known);
  return new SubletError('CONFIG_INVALID', `No image is called "${name}".`, {
    details: { image: name, known },
    hint:
      close === undefined
        ? `sublet images add ${name} PATH adds one; an absolute path works without.`
        : `Did you mean "${close}"?`,
  });
}

function imagesDir(home: HomePaths): string {
  return join(home.home, 'images');
}

function linkOf(home: HomePaths, name: string): string {
  return join(imagesDir(home), name);
}
