import { describe, expect, it } from 'vitest';
import { untar } from '../../core/tar/untar.ts';
import { tarFile, type TarHeader } from './tar-file.ts';

const header: TarHeader = { name: 'a', mode: 0o640, uid: 1, gid: 2, sizeBytes: 3, modifiedSeconds: 1_700_000_000 };

async function roundTrip(wanted: TarHeader, body: string): Promise<readonly unknown[]> {
  const entries: unknown[] = [];
  for await (const entry of untar(tarFile(wanted, [Buffer.from(body)]))) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of entry.body) chunks.push(Uint8Array.from(chunk));
    entries.push([
      entry.name,
      entry.kind,
      entry.mode,
      entry.sizeBytes,
      entry.modifiedSeconds,
      Buffer.concat(chunks).toString(),
    ]);
  }
  return entries;
}

describe('an archive of one file', () => {
  it.each(['a', 'dir/b', '-rf', 'new\nline', '漢字 🦊', 'x'.repeat(100), 'long/'.repeat(60)])(
    'holds the name %j',
    async (name) => {
      const wanted = { ...header, name: name.replace(/\/$/, '') };
      expect(await roundTrip(wanted, 'abc')).toEqual([[wanted.name, 'file', 0o640, 3, 1_700_000_000, 'abc']]);
    },
  );

  it('holds a directory', async () => {
    const directory = { ...header, name: 'd/', isDirectory: true, sizeBytes: 0 };
    expect(await roundTrip(directory, '')).toEqual([['d/', 'directory', 0o640, 0, 1_700_000_000, '']]);
  });

  it('says a size that the header has no room for', async () => {
    const { value: head } = await tarFile({ ...header, sizeBytes: 9 * 1024 ** 3 }).next();
    expect(Buffer.from(head as Uint8Array).toString('latin1')).toContain('size=9663676416\n');
  });
});
