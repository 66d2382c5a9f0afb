/** A provider whose package is not installed: said in words, with the line that installs it. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const PROGRAM = path.resolve(import.meta.dirname, '../../dist/cli/main.cjs');

/** As if these had never been installed. */
const WITHOUT = ['e2b', '@e2b/desktop'];
const HOOKS = `export async function resolve(name, context, next) {
  if (${JSON.stringify(WITHOUT)}.includes(name)) throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  return next(name, context);
}`;
const PRELOAD = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(HOOKS))});`;
/** As if what was installed were for another kind of processor. */
const WITHOUT_NATIVE = "Object.defineProperty(process, 'arch', { value: 'mips' });";

let home = '';
beforeAll(async () => (home = await mkdtemp(path.join(tmpdir(), 'sublet-missing-'))));
afterAll(() => rm(home, { recursive: true, force: true }));

describe('a provider whose package is missing', () => {
  it('is named by doctor with the line that installs it', async () => {
    const { stdout } = await sublet(['doctor', 'e2b']);
    expect(stdout).toContain('e2b: not usable here');
    expect(stdout).toContain('npm install e2b@^2.51.0');
    expect(stdout).toContain('npm install @e2b/desktop@^2.4.0');
  });

  it('is listed as not usable, with the reason', async () => {
    const { stdout } = await sublet(['providers', '--json']);
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; usable: boolean; reason?: string });
    const reason = 'Provider "e2b" needs e2b@^2.51.0, which did not load.';
    expect(rows.find(({ id }) => id === 'e2b')).toMatchObject({ usable: false, reason });
  });

  it('fails with that line, and without a stack', async () => {
    const { code, stderr } = await sublet(['run', '--sandbox', 'e2b', '--', 'true']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('npm install e2b@^2.51.0');
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});

describe('SQLite that was not installed, or for another machine', () => {
  it('is said in words, with the line that installs it, and nothing is blamed on the disk', async () => {
    const { code, stderr } = await sublet(['ls'], WITHOUT_NATIVE);
    expect(code).toBe(74);
    expect(stderr).toMatch(/^sublet: STORE_FAILED: SQLite did not load: .+\n {2}Install the packages again.*npm ci/);
    expect(stderr).not.toMatch(/\n\s+at |disk/);
  });
});

async function sublet(
  args: readonly string[],
  preload = PRELOAD,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'], SUBLET_HOME: home, E2B_API_KEY: 'e2b_00' };
  const words = ['--import', dataUrl(preload), PROGRAM, ...args];
  return run(process.execPath, words, { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

function dataUrl(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}
