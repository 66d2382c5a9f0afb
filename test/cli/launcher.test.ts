/** The command's first file: it is quick where V8's code was kept, and works where it was not. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { requirement } from '../setup/requirements.ts';
import { MAIN } from './installation.ts';

interface Failed {
  readonly code?: number;
  readonly stdout: string;
  readonly stderr: string;
}

const usable = await requirement('namespace');
const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, '../..');
/** The lengths of a pack's code and text. */
const HEADER_BYTES = 16;
const places: string[] = [];

afterEach(async () => {
  for (const place of places.splice(0)) await rm(place, { recursive: true });
});

describe('the launcher', () => {
  it('has V8’s code for this Node, and V8 takes it', async () => {
    const kept = (await readdir(path.dirname(MAIN))).filter((name) => name.endsWith('.pack'));
    expect(kept).toEqual(['engine', 'first', 'start'].map((pack) => `${pack}.${process.version}-${process.arch}.pack`));
    const { stdout } = await run(process.execPath, ['--require', await recorder(), MAIN, 'config', 'path']);
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual([]);
  });

  describe.runIf(usable)('a plain run', () => {
    it('reads nothing of the engine that it does not call', async () => {
      const { main } = await copied();
      const env = { ...process.env, SUBLET_HOME: path.join(path.dirname(main), 'home') };
      // The first makes pipes by a program.
      await run(process.execPath, [main, 'run', '--', 'true'], { env });
      await writeFile(path.join(path.dirname(main), 'rest.cjs'), 'throw new Error("read");');
      const { stdout } = await run(
        'sh',
        ['-c', `"$@" </dev/null`, 'sh', process.execPath, main, 'run', '--', 'echo', 'hi'],
        { env },
      );
      expect(stdout).toBe('hi\n');
    });

    it('loads none of Node’s modules for processes and streams when it has nothing to say', async () => {
      const place = await mkdtemp(path.join(tmpdir(), 'sublet-launcher-'));
      places.push(place);
      const env = { ...process.env, SUBLET_HOME: place };
      // Without input, which is a stream.
      const args = [
        '-c',
        'exec "$@" </dev/null',
        'sh',
        process.execPath,
        '--require',
        await lister(),
        MAIN,
        'run',
        '--',
        'true',
      ];
      // The first makes pipes by a program.
      await run(process.execPath, [MAIN, 'run', '--', 'true'], { env });
      const { stdout } = await run('sh', args, { env });
      expect(stdout).toBe('');
    });

    it.each([[[]], [['--pending-deprecation']]])('does the same with %j', async (options) => {
      const place = await mkdtemp(path.join(tmpdir(), 'sublet-launcher-'));
      places.push(place);
      const env = { ...process.env, SUBLET_HOME: place };
      const script = 'head -c 300000 /dev/zero; echo err >&2; exit 3';
      const args = [...options, MAIN, 'run', '--', 'sh', '-c', script];
      const { code, stdout, stderr }: Failed = await run(process.execPath, args, { env }).catch(
        (error: Failed) => error,
      );
      expect([code, stdout.length, stderr]).toEqual([3, 300_000, 'err\n']);
    });
  });

  it.each(['missing', 'empty', 'cut short', 'not V8’s'])('runs with packs that are %s', async (how) => {
    const { main, packs } = await copied();
    for (const pack of packs) await spoil(pack, how);
    const env = { ...process.env, SUBLET_HOME: path.join(path.dirname(main), 'home') };
    const { stdout, stderr } = await run(process.execPath, [main, 'ls', '--json'], { env });
    expect([stdout, stderr]).toEqual(['', '']);
  });
});

/** Preloaded: prints, last of all, the packs whose code V8 refused. */
async function recorder(): Promise<string> {
  const place = await mkdtemp(path.join(tmpdir(), 'sublet-launcher-'));
  places.push(place);
  const file = path.join(place, 'recorder.cjs');
  await writeFile(
    file,
    `const vm = require('node:vm'); const { Script } = vm; const refused = [];
     vm.Script = class extends Script { constructor(source, options) { super(source, options); if (this.cachedDataRejected) refused.push(options.filename); } };
     process.on('exit', () => process.stdout.write(JSON.stringify(refused) + '\\n'));`,
  );
  return file;
}

/** Preloaded: prints those of Node's modules that are not to be there at the end. */
async function lister(): Promise<string> {
  const place = await mkdtemp(path.join(tmpdir(), 'sublet-launcher-'));
  places.push(place);
  const file = path.join(place, 'lister.cjs');
  const names = ['child_process', 'net', 'stream', 'fs/promises', 'internal/fs/promises'];
  await writeFile(
    file,
    `process.on('exit', () => {
       const loaded = process.moduleLoadList.filter((name) => ${JSON.stringify(names)}.includes(name.replace('NativeModule ', '')));
       if (loaded.length > 0) require('node:fs').writeSync(1, loaded.join());
     });`,
  );
  return file;
}

async function spoil(pack: string, how: string): Promise<void> {
  if (how === 'missing') return rm(pack);
  const bytes = await readFile(pack);
  const end = HEADER_BYTES + bytes.readUInt32LE(0);
  if (how === 'not V8’s') bytes.fill('x', HEADER_BYTES, end);
  const kept: Readonly<Record<string, number>> = { empty: 0, 'cut short': bytes.length - 1 };
  await writeFile(pack, bytes.subarray(0, kept[how] ?? bytes.length));
}

async function copied(): Promise<{ readonly main: string; readonly packs: readonly string[] }> {
  const place = await mkdtemp(path.join(tmpdir(), 'sublet-launcher-'));
  places.push(place);
  const cli = path.join(place, 'dist/cli');
  await cp(path.dirname(MAIN), cli, { recursive: true });
  await cp(path.join(ROOT, 'package.json'), path.join(place, 'package.json'));
  await symlink(path.join(ROOT, 'node_modules'), path.join(place, 'node_modules'));
  const packs = (await readdir(cli)).filter((name) => name.endsWith('.pack')).map((name) => path.join(cli, name));
  return { main: path.join(cli, 'main.cjs'), packs };
}
