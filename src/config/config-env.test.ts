import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SubletError } from '../core/errors.ts';
import { parseConfigEnv, readConfigEnv, setConfigEnv } from './config-env.ts';
import { homePaths, type HomePaths } from './home.ts';

function parsed(text: string): Record<string, string> {
  return Object.fromEntries([...parseConfigEnv(text)].map(([name, secret]) => [name, secret.reveal()]));
}

describe('parseConfigEnv', () => {
  it.each([
    ['A=1', { A: '1' }],
    ['export A=1', { A: '1' }],
    ['  A = 1  ', { A: '1' }],
    ['A=', { A: '' }],
    ['A=x=y', { A: 'x=y' }],
    ['A=1 # note', { A: '1' }],
    ['A=x#y', { A: 'x#y' }],
    ['A= # note', { A: '' }],
    [`A='x # y'`, { A: 'x # y' }],
    [`A='x' # note`, { A: 'x' }],
    [String.raw`A='x\n'`, { A: String.raw`x\n` }],
    [String.raw`A="x\n\"y\"\\"`, { A: 'x\n"y"\\' }],
    ['# A=1\n\n  # B=2\nC=3\r\nD=4', { C: '3', D: '4' }],
    ['A=1\nA=2', { A: '2' }],
  ])('reads %j', (text, expected) => {
    expect(parsed(text)).toEqual(expected);
  });

  it('reports the number of a line it cannot read, and reads the others', () => {
    const bad: number[] = [];
    const values = parseConfigEnv(`A=1\nnot a line\n1B=2\nC="open\nD=4`, (line) => bad.push(line));
    expect(bad).toEqual([2, 3, 4]);
    expect([...values.keys()]).toEqual(['A', 'D']);
  });
});

describe('the file', () => {
  let paths: HomePaths;
  let root: string;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'sublet-config-'));
    paths = homePaths({ SUBLET_HOME: join(root, 'home') });
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function read(): Promise<{ values: Record<string, string>; warnings: string[] }> {
    const warnings: string[] = [];
    const secrets = await readConfigEnv(paths, (message) => warnings.push(message));
    return { values: Object.fromEntries([...secrets].map(([name, secret]) => [name, secret.reveal()])), warnings };
  }

  it('is empty when it is missing, and reading makes nothing', async () => {
    expect(await read()).toEqual({ values: {}, warnings: [] });
    expect(await readdir(root)).toEqual([]);
  });

  it('loses no key of several that are set at once, also after one who was killed at it', async () => {
    await mkdir(paths.home, { recursive: true });
    await writeFile(`${paths.configEnv}.lock`, '');
    await utimes(`${paths.configEnv}.lock`, 0, 0);
    const names = Array.from({ length: 20 }, (_, index) => `KEY_${index}`);
    await Promise.all(names.map((name) => setConfigEnv(paths, name, 'value')));
    expect([...(await readConfigEnv(paths, () => {})).keys()].toSorted()).toEqual(names.toSorted());
    expect(await readdir(paths.home)).toEqual(['config.env']);
  });

  it('is made with mode 600 in a home of mode 700', async () => {
    await setConfigEnv(paths, 'E2B_API_KEY', 'e2b_1');
    expect((await stat(paths.configEnv)).mode & 0o777).toBe(0o600);
    expect((await stat(paths.home)).mode & 0o777).toBe(0o700);
    expect(await read()).toEqual({ values: { E2B_API_KEY: 'e2b_1' }, warnings: [] });
  });

  it('keeps comments, order and other keys when one is set', async () => {
    await mkdir(paths.home);
    await writeFile(paths.configEnv, '# keys\nexport A=1 # old\n\nB=2\nA=3\n', { mode: 0o600 });
    await setConfigEnv(paths, 'A', 'new');
    expect(await readFile(paths.configEnv, 'utf8')).toBe('# keys\nA=new\n\nB=2\n');
    await setConfigEnv(paths, 'C', 'x y');
    expect(await readFile(paths.configEnv, 'utf8')).toBe(`# keys\nA=new\n\nB=2\nC='x y'\n`);
  });

  it('loses a key that is set to nothing, and only that', async () => {
    await setConfigEnv(paths, 'A', '1');
    await setConfigEnv(paths, 'B', '2');
    await setConfigEnv(paths, 'A', undefined);
    expect((await read()).values).toEqual({ B: '2' });
  });

  it.each(['\u2028', "'\u2029", 'a\u2028 # b', '\u0085'])(
    'gives back %j, which some take for a line break',
    async (text) => {
      await setConfigEnv(paths, 'KEY', text);
      expect((await read()).values).toEqual({ KEY: text });
    },
  );

  it('gives back any value that was set', async () => {
    const value = fc
      .oneof(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^['"\\$`#\n\r =]{0,8}$/))
      .filter((text) => !text.includes('\0'));
    await fc.assert(
      fc.asyncProperty(value, async (text) => {
        await setConfigEnv(paths, 'KEY', text);
        expect((await read()).values).toEqual({ KEY: text });
      }),
      { numRuns: 60 },
    );
  });

  it('becomes private again when a key is set, and leaves no draft behind', async () => {
    await setConfigEnv(paths, 'A', '1');
    await chmod(paths.configEnv, 0o644);
    await setConfigEnv(paths, 'A', '2');
    expect((await stat(paths.configEnv)).mode & 0o777).toBe(0o600);
    expect(await readdir(paths.home)).toEqual(['config.env']);
  });

  it('stays a link when it is one', async () => {
    await mkdir(paths.home);
    const target = join(root, 'dotfiles.env');
    await writeFile(target, 'A=1\n', { mode: 0o600 });
    await symlink(target, paths.configEnv);
    await setConfigEnv(paths, 'B', '2');
    expect(await readFile(target, 'utf8')).toBe('A=1\nB=2\n');
  });

  it('warns with the chmod line when others can read it', async () => {
    await setConfigEnv(paths, 'A', 'hunter2');
    await chmod(paths.configEnv, 0o640);
    const { values, warnings } = await read();
    expect(values).toEqual({ A: 'hunter2' });
    expect(warnings).toEqual([`${paths.configEnv} can be read by other users. Run: chmod 600 ${paths.configEnv}`]);
  });

  it('warns about a line it cannot read without repeating it', async () => {
    await mkdir(paths.home);
    await writeFile(paths.configEnv, 'hunter2\n', { mode: 0o600 });
    const { warnings } = await read();
    expect(warnings).toEqual([`${paths.configEnv} line 1 is not NAME=value and is ignored.`]);
  });

  it.each([
    ['A B', 'x'],
    ['', 'x'],
    ['A=B', 'x'],
    ['A', 'x\0'],
  ])('is not touched by a name or value it cannot hold: %j', async (name, value) => {
    await expect(setConfigEnv(paths, name, value)).rejects.toSatisfy((error) => SubletError.is(error, 'USAGE'));
    expect(await readdir(root)).toEqual([]);
  });

  it('reports that it cannot be read instead of starting over', async () => {
    await mkdir(paths.configEnv, { recursive: true });
    await expect(setConfigEnv(paths, 'A', '1')).rejects.toSatisfy((error) => SubletError.is(error, 'CONFIG_INVALID'));
  });
});
