/** What depends on who runs it, run again by a user without rights. A run that is not root's is that already. */
import { spawn } from 'node:child_process';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { ordinaryUser, requirement } from './setup/requirements.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const FOLDERS = ['src/provider/', 'src/providers/local', 'src/providers/namespace', 'test/isolation'];
// Engines whose sockets are root's: who may use them is not a matter of ours.
const ENGINES = ['docker', 'podman'];
// Root's own may name directories that others cannot enter, and there a missing command is a forbidden one.
const USER_PATH = [path.dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'].join(
  ':',
);
const TIMEOUT_MS = 8 * 60_000;

const isRoot = process.getuid?.() === 0;

describe.runIf(await requirement('user'))('an ordinary user', () => {
  if (isRoot) it('passes the tests of the providers too', { timeout: TIMEOUT_MS }, runAsOrdinaryUser);
  else it('is who runs these tests', () => expect(process.getuid?.()).not.toBe(0));
});

async function runAsOrdinaryUser(): Promise<void> {
  const { uid, gid, prefix } = ordinaryUser();
  const home = await mkdtemp(path.join(tmpdir(), 'sublet-user-'));
  try {
    await chown(home, uid, gid);
    // The runner keeps its configuration in memory: the user may not write beside the sources.
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--configLoader', 'runner', '--reporter', 'default'];
    const line = [...prefix, process.execPath, ...vitest, ...FOLDERS];
    const { code, output } = await run(line, { ...process.env, ...withoutEngines(), HOME: home, PATH: USER_PATH });
    expect(code, output.split('\n').slice(-200).join('\n')).toBe(0);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

function withoutEngines(): NodeJS.ProcessEnv {
  const required = process.env['SUBLET_TEST_REQUIRE']?.split(',').filter((name) => !ENGINES.includes(name));
  const hosts = ENGINES.map((name) => [`SUBLET_TEST_${name.toUpperCase()}_HOST`, undefined]);
  return { ...Object.fromEntries(hosts), SUBLET_TEST_REQUIRE: required?.join(',') };
}

async function run(
  [command = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await exited, output: `${stdout}\n${stderr}` };
}
