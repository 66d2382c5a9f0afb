/** Archives in real files. */
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SnapshotArchive, SnapshotInfo } from '../core/snapshots.ts';
import { createSnapshotFiles } from './snapshot-files.ts';

const KEY = 'execution:ada:thesis';
let root: string;
let files: SnapshotArchive;

beforeEach(async () => {
  root = path.join(await mkdtemp(path.join(os.tmpdir(), 'sublet-snapshots-')), 'snapshots');
  files = createSnapshotFiles(root);
});

afterEach(() => rm(path.dirname(root), { recursive: true, force: true }));

describe('a snapshot', () => {
  it('is given back byte for byte', async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 256));
    const saved = await save(bytes.subarray(0, 100_001), bytes.subarray(100_001));
    expect(saved).toMatchObject({ bytes: 300_000, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect((await contentOf(saved)).equals(bytes)).toBe(true);
  });

  it('is readable by its owner only, and does not show the words of the key', async () => {
    await save(Buffer.from('x'));
    for (const name of await readdir(root, { recursive: true })) {
      const { mode } = await stat(path.join(root, name));
      expect(mode & 0o077, name).toBe(0);
      expect(name).not.toContain('ada');
    }
  });

  it('leaves nothing when its content fails on the way', async () => {
    const failing = async function* (): AsyncIterable<Uint8Array> {
      yield Buffer.from('half');
      throw new Error('the sandbox died');
    };
    await expect(files.save(KEY, failing())).rejects.toThrow('the sandbox died');
    expect(await archives()).toEqual([]);
  });

  it('that was changed or is gone is refused before its first byte', async () => {
    const saved = await save(Buffer.from('what was saved'));
    const [file = ''] = await archives();
    await writeFile(file, 'something else');
    await expect(contentOf(saved)).rejects.toMatchObject({
      code: 'SNAPSHOT_UNREADABLE',
      message: expect.stringContaining('is damaged'),
    });
    await rm(file);
    await expect(contentOf(saved)).rejects.toMatchObject({ message: expect.stringContaining('not on this machine') });
  });
});

describe('trimming', () => {
  it('keeps the newest three, and the current one however old', async () => {
    const saved: SnapshotInfo[] = [];
    for (let n = 0; n < 6; n++) {
      saved.push(await save(Buffer.from(String(n))));
      // Names are made of milliseconds.
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await files.trim(KEY, saved[0]!);
    const left = (await archives()).map((file) => path.basename(file, '.tar'));
    expect(left.toSorted()).toEqual([saved[0]?.id, saved[4]?.id, saved[5]?.id]);
  });

  it('removes drafts of processes that were killed, and not those of today', async () => {
    const saved = await save(Buffer.from('x'));
    const folder = path.dirname((await archives())[0] ?? '');
    await writeFile(path.join(folder, '.20200101T000000000Z-dead'), 'half');
    await writeFile(path.join(folder, '.29990101T000000000Z-live'), 'half');
    await files.trim(KEY, saved);
    expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual(['.29990101T000000000Z-live']);
  });
});

it('forgets those of keys that are forgotten, and no other', async () => {
  await save(Buffer.from('x'));
  await files.save('app:bob:site', content(Buffer.from('y')));
  await files.prune(async (key) => key === KEY);
  expect(await archives()).toHaveLength(1);
  const folder = path.dirname((await archives())[0] ?? '');
  expect(JSON.parse(await readFile(path.join(folder, 'session.json'), 'utf8'))).toEqual({ key: KEY });
});

it('has nothing to forget where nothing was ever saved', async () => {
  await files.prune(async () => false);
  expect(await archives()).toEqual([]);
});

async function save(...chunks: readonly Uint8Array[]): Promise<SnapshotInfo> {
  return { ...(await files.save(KEY, content(...chunks))), at: 0 };
}

async function* content(...chunks: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* chunks;
}

async function contentOf(snapshot: SnapshotInfo): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of files.read(KEY, snapshot)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function archives(): Promise<readonly string[]> {
  const names = await readdir(root, { recursive: true }).catch(() => []);
  return names.filter((name) => name.endsWith('.tar')).map((name) => path.join(root, name));
}
