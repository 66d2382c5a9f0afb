import { mkdtemp, rm, writeFile, appendFile, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogReader } from './log-reader.ts';

let dir = '';
beforeEach(async () => (dir = await mkdtemp(join(tmpdir(), 'sublet-log-'))));
afterEach(() => rm(dir, { recursive: true, force: true }));

const readers: LogReader[] = [];
afterEach(() => readers.splice(0).forEach((reader) => reader.close()));

function readerAt(cursor: number): LogReader {
  const reader = new LogReader(dir, 'stdout', cursor);
  readers.push(reader);
  return reader;
}

async function nextOf(reader: LogReader, maxBytes?: number): Promise<readonly [text: string, lostBytes: number]> {
  const { data, lostBytes } = await reader.next(maxBytes);
  return [Buffer.from(data).toString(), lostBytes];
}

describe('LogReader', () => {
  it('has nothing where nothing was written, and goes on when something is', async () => {
    const reader = readerAt(0);
    expect(await nextOf(reader)).toEqual(['', 0]);
    await writeFile(join(dir, 'stdout.0'), 'one');
    expect(await nextOf(reader)).toEqual(['one', 0]);
    expect(await nextOf(reader)).toEqual(['', 0]);
    await appendFile(join(dir, 'stdout.0'), 'two');
    expect(await nextOf(reader)).toEqual(['two', 0]);
    expect(reader.cursor).toBe(6);
  });

  it('goes from one segment to the next, and stays out of the other stream', async () => {
    await writeFile(join(dir, 'stdout.0'), 'abc');
    await writeFile(join(dir, 'stdout.3'), 'def');
    await writeFile(join(dir, 'stdout.end'), '');
    await writeFile(join(dir, 'stderr.0'), 'xyz');
    const reader = readerAt(2);
    expect(await nextOf(reader)).toEqual(['c', 0]);
    expect(await nextOf(reader, 2)).toEqual(['de', 0]);
    expect(await nextOf(reader)).toEqual(['f', 0]);
  });

  it('reads what a segment got before the following one was begun', async () => {
    await writeFile(join(dir, 'stdout.0'), 'abc');
    const reader = readerAt(0);
    await nextOf(reader);
    await appendFile(join(dir, 'stdout.0'), 'de');
    await writeFile(join(dir, 'stdout.5'), 'f');
    expect(await nextOf(reader)).toEqual(['de', 0]);
    expect(await nextOf(reader)).toEqual(['f', 0]);
  });

  it('reads a segment to its end that was removed while it was read', async () => {
    await writeFile(join(dir, 'stdout.0'), 'abc');
    await writeFile(join(dir, 'stdout.3'), 'def');
    const reader = readerAt(0);
    await nextOf(reader, 1);
    await unlink(join(dir, 'stdout.0'));
    expect(await nextOf(reader)).toEqual(['bc', 0]);
    expect(await nextOf(reader)).toEqual(['def', 0]);
  });

  it('says how much was removed before it was read, and goes on from the oldest that is kept', async () => {
    await writeFile(join(dir, 'stdout.10'), 'abc');
    const reader = readerAt(4);
    expect(await nextOf(reader)).toEqual(['abc', 6]);
    expect(reader.cursor).toBe(13);
  });

  it('waits behind the end', async () => {
    await writeFile(join(dir, 'stdout.0'), 'abc');
    expect(await nextOf(readerAt(100))).toEqual(['', 0]);
  });
});
