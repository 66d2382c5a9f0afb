/** A local sandbox on disk: a directory that appears complete or not at all. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { Labels } from '../../core/spec.ts';
import { makeDirectories } from '../../provider/posix/make-directories.ts';
import { newTagGroup, type TagGroup } from '../../provider/posix/process-tree.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { type LocalPaths, sandboxesDir, volumePath } from './local-config.ts';

export interface LocalRecord {
  readonly name: string;
  readonly labels: Labels;
  readonly createdAt: number;
  /** Every process of the sandbox carries a tag of this group. */
  readonly tagGroup: TagGroup;
  readonly workdir: string;
}

/** Makes the sandbox, or leaves the one of that name as it is. True when this call made it. */
export async function makeSandbox(
  stateDir: string,
  paths: LocalPaths,
  spec: SandboxSpec,
  now: number,
): Promise<boolean> {
  makeDirectories(sandboxesDir(stateDir), 0o700);
  const workdir = spec.contextId === undefined ? paths.workspace : volumePath(stateDir, spec.contextId);
  const record: LocalRecord = {
    name: spec.name,
    labels: spec.labels,
    createdAt: now,
    tagGroup: newTagGroup(),
    workdir,
  };
  const unfinished = await mkdtemp(join(sandboxesDir(stateDir), unfinishedPrefix(spec.name)));
  try {
    await mkdir(join(unfinished, basename(paths.workspace)));
    await mkdir(workdir === paths.workspace ? unfinished : workdir, { recursive: true });
    await writeFile(join(unfinished, basename(paths.record)), JSON.stringify(record), { mode: 0o600 });
    await rename(unfinished, paths.root);
    return true;
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // A directory that is not empty is never replaced: somebody else was first.
    if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** undefined when there is no such sandbox. */
export async function readRecord(paths: LocalPaths): Promise<LocalRecord | undefined> {
  try {
    return JSON.parse(await readFile(paths.record, 'utf8')) as LocalRecord;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export async function sandboxNames(stateDir: string): Promise<readonly string[]> {
  const names = await readdir(sandboxesDir(stateDir)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.filter((name) => !name.startsWith('.'));
}

/** The record goes last, so that a removal that was interrupted is still listed. */
export async function removeSandbox(stateDir: string, paths: LocalPaths): Promise<void> {
  const root = await readdir(paths.root).catch(() => []);
  for (const name of root) if (name !== basename(paths.record)) await removeTree(join(paths.root, name));
  await removeTree(paths.root);
  const siblings = await readdir(sandboxesDir(stateDir)).catch(() => []);
  const unfinished = siblings.filter((name) => name.startsWith(unfinishedPrefix(basename(paths.root))));
  for (const name of unfinished) await removeTree(join(sandboxesDir(stateDir), name));
}

function unfinishedPrefix(name: string): string {
  return `.${name}:`;
}

async function removeTree(path: string): Promise<void> {
  const remove = (): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 3 });
  await remove().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EACCES') throw error;
    // A command can take its own permission to enter a directory away; the owner can give it back.
    await promisify(execFile)('chmod', ['-R', 'u+rwX', '--', path]).catch(() => undefined);
    await remove();
  });
}
