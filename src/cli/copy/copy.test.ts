import { execFile, spawn } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChunkHandover } from './chunk-handover.ts';
import { packDirectory } from './copy-in.ts';
import { extract, safePath, staysInside } from './extract.ts';
import { parseLocation } from './location.ts';

let dir: string;
let target: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sublet-copy-'));
  target = join(dir, 'target');
});

afterEach(() => rm(dir, { recursive: true, force: true }));

describe('parseLocation', () => {
  it.each([
    ['-', { kind: 'stream' }],
    ['a.txt', { kind: 'local', path: 'a.txt' }],
    ['./a:b', { kind: 'local', path: './a:b' }],
    ['/a:b', { kind: 'local', path: '/a:b' }],
    ['sbx_1:a/b', { kind: 'sandbox', id: 'sbx_1', path: 'a/b' }],
    ['sbx_1:/a:b\nc', { kind: 'sandbox', id: 'sbx_1', path: '/a:b\nc' }],
    ['sbx_1:', { kind: 'sandbox', id: 'sbx_1', path: '.' }],
  ])('reads %j', (text, location) => {
    expect(parseLocation(text)).toEqual(location);
  });
});

describe('extract', () => {
  it.runIf(process.platform === 'linux')('leaves out names that are not UTF-8, and says so', async () => {
    const source = join(dir, 'source');
    await mkdir(Buffer.concat([Buffer.from(`${source}/`), Buffer.from([0xfe])]), { recursive: true });
    await writeFile(Buffer.concat([Buffer.from(`${source}/`), Buffer.from([0xff, 0xfe])]), 'one');
    await writeFile(Buffer.concat([Buffer.from(`${source}/`), Buffer.from([0xfe, 0xff])]), 'another');
    await writeFile(join(source, 'ünï'), 'text');
    const { files, skipped } = await extract(packed(source, []), target);
    expect([files, skipped.length]).toEqual([1, 3]);
    expect(skipped[0]).toContain('its name is not UTF-8');
    expect(await readdir(target)).toEqual(['ünï']);
  });

  it('reads what tar writes: long names, odd names, empty files, links, modes', async () => {
    const source = join(dir, 'source');
    const long = join('d'.repeat(90), 'e'.repeat(90), 'f'.repeat(120));
    await mkdir(join(source, 'd'.repeat(90), 'e'.repeat(90)), { recursive: true });
    await writeFile(join(source, long), 'long');
    await writeFile(join(source, "-odd 'name'\n\u00e9"), Buffer.from([0, 255, 10]));
    await writeFile(join(source, 'empty'), '');
    await writeFile(join(source, 'tool'), '#!/bin/sh\n', { mode: 0o755 });
    await symlink('tool', join(source, 'alias'));
    for (const format of ['gnu', 'pax']) {
      const into = `${target}-${format}`;
      expect(await extract(packed(source, [`--format=${format}`]), into)).toEqual({ files: 5, skipped: [] });
      expect(await readFile(join(into, long), 'utf8')).toBe('long');
      expect(await readFile(join(into, "-odd 'name'\n\u00e9"))).toEqual(Buffer.from([0, 255, 10]));
      expect((await readFile(join(into, 'empty'))).length).toBe(0);
      expect((await lstat(join(into, 'tool'))).mode & 0o777).toBe(0o755);
      expect(await readlink(join(into, 'alias'))).toBe('tool');
    }
  });

  it('keeps a read-only directory read-only, with its files in it', async () => {
    const source = join(dir, 'source');
    await mkdir(join(source, 'sealed'), { recursive: true });
    await writeFile(join(source, 'sealed', 'a'), 'x');
    await promisify(execFile)('chmod', ['555', join(source, 'sealed')]);
    await extract(packed(source), target);
    expect((await lstat(join(target, 'sealed'))).mode & 0o777).toBe(0o555);
    expect(await readFile(join(target, 'sealed', 'a'), 'utf8')).toBe('x');
    await promisify(execFile)('chmod', ['755', join(source, 'sealed'), join(target, 'sealed')]);
  });

  it('refuses a name that climbs out and leaves the outside alone', async () => {
    await expect(extract(archive({ name: '../escaped', body: 'x' }), target)).rejects.toMatchObject({
      code: 'FILE_FAILED',
    });
    await expect(extract(archive({ name: '/tmp/escaped', body: 'x' }), target)).rejects.toMatchObject({
      code: 'FILE_FAILED',
    });
    await expect(lstat(join(dir, 'escaped'))).rejects.toThrow();
  });

  it('does not write through a link that came earlier in the archive', async () => {
    const entries = archive({ name: 'door', type: '2', link: dir }, { name: 'door/escaped', body: 'x' });
    const report = await extract(entries, target);
    expect(report.skipped).toEqual(['door: a link out of the copied directory']);
    expect(await readFile(join(target, 'door', 'escaped'), 'utf8')).toBe('x');
    await expect(lstat(join(dir, 'escaped'))).rejects.toThrow();
  });

  it('does not write through a link that was there before', async () => {
    await mkdir(target);
    await symlink(dir, join(target, 'door'));
    await expect(extract(archive({ name: 'door/escaped', body: 'x' }), target)).rejects.toMatchObject({
      code: 'FILE_FAILED',
    });
    await symlink(join(dir, 'victim'), join(target, 'file'));
    await extract(archive({ name: 'file', body: 'x' }), target);
    expect((await lstat(join(target, 'file'))).isFile()).toBe(true);
    await expect(lstat(join(dir, 'victim'))).rejects.toThrow();
  });

  it('does not link a file from outside', async () => {
    await writeFile(join(dir, 'secret'), 'secret');
    await expect(extract(archive({ name: 'a', type: '1', link: '../secret' }), target)).rejects.toMatchObject({
      code: 'FILE_FAILED',
    });
  });

  it('leaves out devices and drops set-id bits', async () => {
    const report = await extract(
      archive({ name: 'null', type: '3' }, { name: 'tool', body: 'x', mode: 0o6755 }),
      target,
    );
    expect(report).toEqual({ files: 1, skipped: ['null: neither a file, a directory nor a link'] });
    expect((await lstat(join(target, 'tool'))).mode & 0o7777).toBe(0o755);
  });

  it('reports a stream that is cut short or is no archive', async () => {
    const whole = await collect(archive({ name: 'a', body: 'x'.repeat(2_000) }));
    await expect(extract(chunks(whole.subarray(0, 1_000)), target)).rejects.toMatchObject({ code: 'FILE_FAILED' });
    await expect(extract(chunks(new Uint8Array()), target)).rejects.toMatchObject({ code: 'FILE_FAILED' });
    await expect(extract(chunks(Buffer.alloc(1_024, 'no tar')), target)).rejects.toMatchObject({ code: 'FILE_FAILED' });
  });
});

describe('packDirectory', () => {
  it('loses nothing when the reader is slower than tar', async () => {
    await mkdir(join(dir, 'source'));
    await writeFile(join(dir, 'source', 'a'), 'small');
    const archived = packDirectory(join(dir, 'source'), new AbortController().signal);
    // Longer than tar takes, were it running already.
    await promisify(execFile)('tar', ['-c', '-f', '/dev/null', '-C', dir, '.']);
    expect(await extract(archived, target)).toEqual({ files: 1, skipped: [] });
    expect(await readFile(join(target, 'a'), 'utf8')).toBe('small');
  });

  it('reports a directory that cannot be read', async () => {
    const archived = packDirectory(join(dir, 'nothing'), new AbortController().signal);
    await expect(collect(archived)).rejects.toMatchObject({ code: 'FILE_FAILED' });
  });
});

describe('safePath', () => {
  it('keeps the parts of a name that stays inside', () => {
    expect(safePath('./a//b/.')).toEqual(['a', 'b']);
    expect(safePath('..a/b..')).toEqual(['..a', 'b..']);
  });
});

describe('staysInside', () => {
  it.each([
    ['a', 'b', true],
    ['x/y/a', '../../b', true],
    ['x/y/a', '../../../b', false],
    ['a', '/etc/passwd', false],
    ['a', '..', false],
    // Lexically inside, but a link named p could lead up first.
    ['x/y/z/q', 'p/../../..', false],
  ])('from %s to %s is %s', (path, link, inside) => {
    expect(staysInside(path.split('/'), link)).toBe(inside);
  });
});

describe('ChunkHandover', () => {
  it('holds the giver until the chunk is used', async () => {
    const handover = new ChunkHandover();
    let given = 0;
    const giving = (async () => {
      for (let i = 0; i < 3; i++) {
        await handover.give(Buffer.from([i]));
        given += 1;
      }
      handover.end();
    })();
    const seen: number[] = [];
    for await (const chunk of handover) seen.push(chunk[0] ?? -1, given);
    await giving;
    expect(seen).toEqual([0, 0, 1, 1, 2, 2]);
  });

  it('hands the error over and lets a giver go when cancelled', async () => {
    const failed = new ChunkHandover();
    failed.end(new Error('lost'));
    await expect(collect(failed)).rejects.toThrow('lost');
    const cancelled = new ChunkHandover();
    const giving = cancelled.give(Buffer.from('x'));
    cancelled.cancel();
    await expect(giving).resolves.toBeUndefined();
    await expect(cancelled.give(Buffer.from('y'))).resolves.toBeUndefined();
  });

  it('lets a giver go whose taker stopped in the middle of a chunk', async () => {
    const handover = new ChunkHandover();
    const giving = handover.give(Buffer.from('x'));
    const taker = handover[Symbol.asyncIterator]();
    expect((await taker.next()).done).toBe(false);
    handover.cancel();
    await expect(giving).resolves.toBeUndefined();
  });
});

async function* packed(source: string, options: readonly string[] = []): AsyncGenerator<Uint8Array, void, void> {
  yield* spawn('tar', [...options, '-c', '-f', '-', '-C', source, '.'], { stdio: ['ignore', 'pipe', 'inherit'] })
    .stdout;
}

interface Forged {
  readonly name: string;
  readonly type?: string;
  readonly body?: string;
  readonly link?: string;
  readonly mode?: number;
}

/** An archive that no tar would write. */
function archive(...entries: readonly Forged[]): AsyncIterable<Uint8Array> {
  const blocks = entries.flatMap(({ name, type = '0', body = '', link = '', mode = 0o644 }) => {
    const header = Buffer.alloc(512);
    header.write(name, 0, 100);
    header.write(mode.toString(8).padStart(7, '0'), 100);
    header.write(body.length.toString(8).padStart(11, '0'), 124);
    header.write('0'.repeat(11), 136);
    header.write(' '.repeat(8), 148);
    header.write(type, 156);
    header.write(link, 157, 100);
    header.write('ustar\u000000', 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    return [header, Buffer.from(body), Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return chunks(Buffer.concat([...blocks, Buffer.alloc(1_024)]));
}

// Odd pieces, so that no boundary of the format falls together with one of the stream.
async function* chunks(data: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < data.length; at += 97) yield data.subarray(at, at + 97);
}

async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of source) parts.push(part);
  return Buffer.concat(parts);
}
