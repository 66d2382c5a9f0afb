/** What processes that were killed left behind and that never became a sandbox: drafts, reserved names, empty control groups. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { judgeMaker } from '../../provider/posix/maker-mark.ts';
import { sweepCgroups } from './cgroup.ts';
import type { CgroupHost } from './cgroup-host.ts';
import { draftOf } from './layout.ts';
import { removeTree } from './remove-tree.ts';

/** Where nobody here can tell whether the maker lives. */
const ABANDONED_MS = 24 * 60 * 60_000;

/** Takes nothing from a process that lives, and never fails: what cannot be removed now is tried again by the next. */
export async function removeRemains(stateDir: string, cgroups: CgroupHost | undefined): Promise<void> {
  await Promise.all([
    ...['roots', 'images', 'spares'].map((name) => removeDrafts(join(stateDir, name))),
    cgroups === undefined ? undefined : sweepCgroups(cgroups),
  ]);
}

/** A name gets its record within milliseconds of being reserved; one that never did is nobody's. */
export async function removeReserved(dir: string): Promise<void> {
  if (await isOld(dir)) await removeQuietly(dir);
}

async function removeDrafts(dir: string): Promise<void> {
  for (const name of await readdir(dir).catch(() => [])) {
    const draft = draftOf(name);
    if (draft !== undefined && (await isNobodys(draft, join(dir, name)))) await removeQuietly(join(dir, name));
  }
}

async function isNobodys(draft: string, path: string): Promise<boolean> {
  const maker = judgeMaker(draft);
  return maker === 'gone' || (maker === 'unknown' && (await isOld(path)));
}

async function isOld(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  return info !== undefined && Date.now() - info.mtimeMs > ABANDONED_MS;
}

function removeQuietly(path: string): Promise<void> {
  return removeTree(path).catch(() => undefined);
}
