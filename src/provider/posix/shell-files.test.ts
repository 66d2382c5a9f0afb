import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Command, CommandResult, RunOptions } from '../../core/commands.ts';
import type { Files } from '../../core/files.ts';
import { runProcess } from './run-process.ts';
import { commandArgv } from './shell-quote.ts';
import { childStreams } from './spawn-piped.ts';
import { createShellFiles } from './shell-files.ts';

/** A `find` without -printf and a `mv` without -T, as in the smallest of images. */
const POOR_TOOLS = {
  find: '#!/bin/sh\ncase "$*" in *-printf*) echo "find: unrecognized: -printf" >&2; exit 1;; esac\nexec /usr/bin/find "$@"\n',
  // Its words one by one: a temporary directory may have -T in its name.
  mv: '#!/bin/sh\nfor word; do case "$word" in --help) exit 1;; -T*|-fT*) echo "mv: invalid option -T" >&2; exit 1;; esac; done\nexec /bin/mv "$@"\n',
};
const clock = {
  now: () => Date.now(),
  elapsed: () => Date.now(),
  schedule(ms: number, callback: () => void) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
let dir = '';
let rounds = 0;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sublet-files-'));
  await mkdir(join(dir, 'poor'));
  for (const [name, script] of Object.entries(POOR_TOOLS)) {
    await writeFile(join(dir, 'poor', name), script);
    await chmod(join(dir, 'poor', name), 0o755);
  }
});

afterAll(() => rm(dir, { recursive: true }));

describe.runIf(process.platform === 'linux')('files over a shell', () => {
  it('reads what never ends only as far as may be held in memory, and so with directories', async () => {
    const files = await filesWith('full');
    await files.mkdir('many');
    const { path } = await files.stat('many');
    await symlink('/dev/zero', join(path, 'endless'));
    await expect(files.read('many/endless')).rejects.toMatchObject({
      code: 'FILE_FAILED',
      hint: expect.stringContaining('readStream') as string,
    });
    // A link of as many letters as the kernel lets it have makes long entries.
    for (let count = 0; count < 4_200; count++) await symlink('x'.repeat(4_095), join(path, String(count)));
    await expect(files.list('many')).rejects.toMatchObject({ code: 'FILE_FAILED' });
  });
});

describe.runIf(process.platform === 'linux').each(['full', 'poor'])('files over a shell with %s tools', (tools) => {
  it('lists, moves and tells apart the same', async () => {
    const files = await filesWith(tools);
    const names = ['a', '-', '.hidden', '..odd', 'new\nline', "it's", 'ünï', 'sp ace'];
    await files.writeMany(names.map((name) => ({ path: `d/${name}`, content: name, mode: 0o640 })));
    await files.mkdir('d/sub');
    const listed = [...(await files.list('d'))].sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(listed.map(({ name }) => name)).toEqual([...names, 'sub'].sort());
    for (const info of listed)
      expect(await files.stat(`d/${info.name}`)).toEqual({ ...info, modifiedAt: expect.any(Number) });
    expect(listed.find(({ name }) => name === 'a')).toMatchObject({ kind: 'file', sizeBytes: 1, mode: 0o640 });
    expect(listed.find(({ name }) => name === 'sub')).toMatchObject({ kind: 'directory' });
  });

  it('moves onto an empty directory, and not into one or over a full one', async () => {
    const files = await filesWith(tools);
    await files.write('from/x', '1');
    await files.write('full/y', '2');
    await files.mkdir('empty');
    await expect(files.move('from', 'full')).rejects.toMatchObject({ code: 'FILE_FAILED' });
    await expect(files.move('from/x', 'full')).rejects.toMatchObject({ code: 'FILE_FAILED' });
    await files.move('from', 'empty');
    expect(await files.readText('empty/x')).toBe('1');
    expect(await files.readText('full/y')).toBe('2');
  });

  it('tells links and their targets', async () => {
    const files = await filesWith(tools);
    await files.write('x', '');
    await shell(tools, ['sh', '-c', "ln -s 'odd\n\n' link; ln -s /nowhere broken"], {});
    expect(await files.stat('link')).toMatchObject({ kind: 'link', target: 'odd\n\n' });
    expect(await files.stat('broken')).toMatchObject({ kind: 'link', target: '/nowhere' });
    expect(await files.exists('broken')).toBe(true);
  });

  it('reports what fails with the words of the tool', async () => {
    const files = await filesWith(tools);
    await files.write('file', 'x');
    await expect(files.list('none')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await expect(files.list('file')).rejects.toMatchObject({ code: 'FILE_FAILED' });
    await expect(files.stat('file/below')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await expect(files.mkdir('file/below')).rejects.toMatchObject({ code: 'FILE_FAILED' });
    await expect(files.write('/dev/full', 'x')).rejects.toMatchObject({
      code: 'FILE_FAILED',
      message: expect.stringContaining('No space left') as string,
      hint: expect.stringContaining('disk') as string,
    });
  });
});

describe.runIf(process.platform === 'linux')('files over a shell', () => {
  it('writes a stream as it comes and stops when the source fails', async () => {
    const files = await filesWith('full');
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half');
      await Promise.resolve();
      throw new Error('the source broke');
    }
    await expect(files.write('f', broken())).rejects.toThrow('the source broke');
    await files.write('precious', 'kept', { mode: 0o640 });
    await expect(files.write('precious', broken())).rejects.toThrow('the source broke');
    expect(await files.readText('precious')).toBe('kept');
    expect((await files.list('.')).map(({ name }) => name)).toEqual(['precious']);
  });

  it('writes from a source as from bytes: through links, with modes, onto what is there', async () => {
    const files = await filesWith('full');
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('streamed');
    };
    await files.write('old', 'before, and longer', { mode: 0o640 });
    await symlink('old', join(dir, 'full-work', 'link'));
    await files.write('link', source());
    expect([await files.readText('old'), (await files.stat('old')).mode]).toEqual(['streamed', 0o640]);
    expect((await files.stat('link')).kind).toBe('link');
    await files.write('deep/new', source(), { mode: 0o400 });
    expect((await files.stat('deep/new')).mode).toBe(0o400);
    await files.write('plain', source());
    expect((await files.stat('plain')).mode).toBe(0o666 & ~process.umask());
    await files.write('/dev/null', source());
    await expect(files.write('deep', source())).rejects.toMatchObject({ code: 'FILE_FAILED' });
    expect((await files.list('.')).map(({ name }) => name).toSorted()).toEqual(['deep', 'link', 'old', 'plain']);
  });

  it('does not remove the working directory, nor what holds it, nor what is in it', async () => {
    const files = await filesWith('full');
    await files.write('precious', 'kept');
    for (const path of ['.', '', join(dir, 'full-work'), `${join(dir, 'full-work')}/x/..`, dir, '/'])
      await expect(files.remove(path), path).rejects.toMatchObject({ code: 'FILE_FAILED' });
    expect(await files.readText('precious')).toBe('kept');
    await files.remove(`${dir}/full-workbench`);
  });

  it('asks once what find can do', async () => {
    const files = await filesWith('full');
    await files.list('.');
    const before = rounds;
    await files.list('.');
    expect(rounds - before).toBe(1);
  });

  it('reads no further than the reader wants', async () => {
    const files = await filesWith('full');
    let bytes = 0;
    for await (const chunk of files.readStream('/dev/zero')) {
      bytes += chunk.length;
      if (bytes > 200_000) break;
    }
    expect(bytes).toBeGreaterThan(200_000);
  });

  it('makes a file with a mode private before it has content', async () => {
    const files = await filesWith('full');
    await files.write('secret', 'x', { mode: 0o400 });
    expect((await files.stat('secret')).mode).toBe(0o400);
    expect(await readFile(join(dir, 'full-work', 'secret'), 'utf8')).toBe('x');
  });
});

async function filesWith(tools: string): Promise<Files> {
  const workdir = join(dir, `${tools}-work`);
  await rm(workdir, { recursive: true, force: true });
  await mkdir(workdir);
  return createShellFiles((command, options) => shell(tools, command, options ?? {}), workdir);
}

async function shell(tools: string, command: Command, options: RunOptions): Promise<CommandResult> {
  rounds++;
  const [file, ...args] = commandArgv(command);
  const path = process.env['PATH'] ?? '/usr/bin:/bin';
  const child = spawn(file, args, {
    cwd: join(dir, `${tools}-work`),
    env: { ...options.env, PATH: tools === 'poor' ? `${join(dir, 'poor')}:${path}` : path },
    stdio: 'pipe',
  });
  return runProcess(childStreams(child), options, {
    clock,
    killTree: () => Promise.resolve(void child.kill('SIGKILL')),
  });
}
