/** The command's first file: it is quick where V8's code was kept, and works where it was not. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { MAIN } from './installation.ts';

const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, '../..');
const places: string[] = [];

afterEach(async () => {
  for (const place of places.splice(0)) await rm(place, { recursive: true });
});

describe('the launcher', () => {
  it('has V8’s code for this Node, and V8 takes it', async () => {
    const kept = (await readdir(path.dirname(MAIN))).filter((name) => name.endsWith('.code'));
    expect(kept).toContain(`engine.cjs.${process.version}-${process.arch}.code`);
    const { stdout } = await run(process.execPath, ['--require', await recorder(), MAIN, 'config', 'path']);
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual([]);
  });

  it.each(['missing', 'of another version', 'damaged'])('runs with code that is %s', async (how) => {
    const { main, codes } = await copied();
    for (const code of codes) {
      if (how === 'missing') await rm(code);
      else await writeFile(code, how === 'damaged' ? 'no code at all' : '');
    }
    const env = { ...process.env, SUBLET_HOME: path.join(path.dirname(main), 'home') };
    const { stdout, stderr } = await run(process.execPath, [main, 'ls', '--json'], { env });
    expect([stdout, stderr]).toEqual(['', '']);
  });
});

/** Preloaded: prints, last of all, the chunks whose code V8 refused. */
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

async function copied(): Promise<{ readonly main: string; readonly codes: readonly string[] }> {
  const place = await mkdtemp(path.join(tmpdir(), 'sublet-launcher-'));
  places.push(place);
  const cli = path.join(place, 'dist/cli');
  await cp(path.dirname(MAIN), cli, { recursive: true });
  await cp(path.join(ROOT, 'package.json'), path.join(place, 'package.json'));
  await symlink(path.join(ROOT, 'node_modules'), path.join(place, 'node_modules'));
  const codes = (await readdir(cli)).filter((name) => name.endsWith('.code')).map((name) => path.join(cli, name));
  return { main: path.join(cli, 'main.cjs'), codes };
}
