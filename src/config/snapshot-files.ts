/** Snapshots as files in the home: `snapshots/<hash of the key>/<id>.tar`, and beside them whose they are. */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SubletError } from '../core/errors.ts';
import type { SessionKey } from '../core/session-key.ts';
import type { SnapshotArchive, SnapshotInfo } from '../core/snapshots.ts';
import { isMissing, writePrivateFile } from './private-file.ts';

const KEPT = 3;
const DRAFT_MS = 24 * 60 * 60_000;
const OWNER_FILE = 'session.json';
const EXTENSION = '.tar';

export function createSnapshotFiles(root: string): SnapshotArchive {
  const folderOf = (key: SessionKey): string => join(root, createHash('sha256').update(key).digest('hex').slice(0, 32));
  return {
    async save(key, content) {
      const folder = folderOf(key);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writePrivateFile(join(folder, OWNER_FILE), JSON.stringify({ key }));
      const id = newSnapshotId();
      const draft = join(folder, `.${id}`);
      try {
        const written = await writeDraft(draft, content);
        await rename(draft, join(folder, id + EXTENSION));
        await syncFolder(folder);
        return { id, ...written };
      } catch (cause) {
        await rm(draft, { force: true });
        throw cause;
      }
    },

    async *read(key, snapshot) {
      const file = join(folderOf(key), snapshot.id + EXTENSION);
      await verify(file, snapshot);
      yield* createReadStream(file);
    },

    async trim(key, current) {
      const folder = folderOf(key);
      const names = (await namesIn(folder)).toSorted().toReversed();
      const others = names.filter((name) => name.endsWith(EXTENSION) && name !== current.id + EXTENSION);
      // Drafts that nobody can be at work on any more: their process was killed.
      const drafts = names.filter((name) => name.startsWith('.') && name < `.${timeName(Date.now() - DRAFT_MS)}`);
      const old = [...others.slice(KEPT - 1), ...drafts];
      await Promise.all(old.map((name) => rm(join(folder, name), { force: true })));
    },

    async prune(isKnown) {
      for (const name of await namesIn(root)) {
        const key = await ownerOf(join(root, name));
        if (key !== undefined && !(await isKnown(key))) await rm(join(root, name), { recursive: true, force: true });
      }
    },
  };
}

function newSnapshotId(): string {
  return `${timeName(Date.now())}-${randomUUID().slice(0, 8)}`;
}

// Sorted by name they are sorted by age.
function timeName(at: number): string {
  return new Date(at).toISOString().replaceAll(/[-:.]/g, '');
}

async function writeDraft(
  draft: string,
  content: AsyncIterable<Uint8Array>,
): Promise<Pick<SnapshotInfo, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256');
  let bytes = 0;
  await using file = await open(draft, 'wx', 0o600);
  for await (const chunk of content) {
    hash.update(chunk);
    bytes += chunk.length;
    await file.writeFile(chunk);
  }
  await file.sync();
  return { bytes, sha256: hash.digest('hex') };
}

// The name of a file is safe only once its folder is.
async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r');
  await handle.sync();
}

async function verify(file: string, { id, sha256 }: SnapshotInfo): Promise<void> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(file)) hash.update(chunk as Uint8Array);
  } catch (cause) {
    throw unreadable(id, isMissing(cause) ? 'is not on this machine' : 'cannot be read', cause);
  }
  if (hash.digest('hex') !== sha256) throw unreadable(id, 'is damaged');
}

function unreadable(id: string, what: string, cause?: unknown): SubletError {
  return new SubletError('SNAPSHOT_UNREADABLE', `Snapshot ${id} ${what}.`, {
    cause,
    hint: 'Take a new one: sublet snapshot ID',
  });
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    if (isMissing(cause)) return [];
    throw cause;
  }
}

async function ownerOf(folder: string): Promise<SessionKey | undefined> {
  try {
    return (JSON.parse(await readFile(join(folder, OWNER_FILE), 'utf8')) as { readonly key?: SessionKey }).key;
  } catch {
    return undefined;
  }
}
