import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requirement } from '../../../test/setup/requirements.ts';
import type { Clock } from '../../core/clock.ts';
import type { Commands } from '../../core/commands.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxHandle, SandboxProvider } from '../../provider/provider.ts';
import { provider as module } from './index.ts';

/** How long a shell may take to be there. */
const PATIENCE_MS = 10_000;

let stateDir = '';
let provider: SandboxProvider;
/** So many of the next waits for a shell are over at once. */
let impatience = 0;
const clock: Clock = {
  ...systemClock,
  schedule: (ms, callback, options) =>
    systemClock.schedule(ms === PATIENCE_MS && impatience-- > 0 ? 0 : ms, callback, options),
};

function context(): ProviderContext {
  const log = { debug() {}, info() {}, warn() {} };
  return { stateDir, clock, log, options: {}, secret: () => undefined };
}

const usable = await requirement('namespace', async () => {
  const probe = await module.probe(context());
  return probe.usable ? undefined : (probe.findings.find((finding) => finding.level === 'fail')?.message ?? 'unusable');
});

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'sublet-commands-'));
  provider = await module.open(context());
});

afterAll(async () => {
  await provider.close();
  await rm(stateDir, { recursive: true, force: true });
});

async function withSandbox(name: string, use: (handle: SandboxHandle) => Promise<void>): Promise<void> {
  const spec = { name: `sublet-${name}`, labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;
  const never = new AbortController().signal;
  const handle = await provider.create(spec, never);
  try {
    await use(handle);
  } finally {
    impatience = 0;
    await provider.destroy(handle.ref, never);
  }
}

/** The resident shell is the first process's only child. */
async function stopResident(commands: Commands): Promise<void> {
  const script =
    'for stat in /proc/[0-9]*/stat; do read -r pid _ _ ppid _ <$stat; [ $ppid = 1 ] && kill -STOP $pid; done';
  expect(await commands.run(`${script}; true`)).toMatchObject({ exitCode: 0 });
}

describe.runIf(usable)('commands in a sandbox whose agent stops our shells', () => {
  it('time out while they wait for a shell', () =>
    withSandbox('late', async ({ commands }) => {
      await stopResident(commands);
      const result = await commands.run('echo on', { timeoutMs: 50 });
      expect(result).toMatchObject({ timedOut: true, exitCode: null, stdout: '' });
    }));

  it('are aborted while they wait for a shell, and so are files', () =>
    withSandbox('aborted', async ({ commands, files }) => {
      await stopResident(commands);
      const stop = new AbortController();
      const waiting = [commands.run('echo on', { signal: stop.signal }), files.readText('x', { signal: stop.signal })];
      stop.abort();
      for (const each of waiting) await expect(each).rejects.toMatchObject({ code: 'ABORTED' });
    }));

  it('go another way in when no shell comes', () =>
    withSandbox('stopped', async ({ commands }) => {
      await stopResident(commands);
      impatience = 1;
      expect(await commands.run('echo on')).toMatchObject({ exitCode: 0, stdout: 'on\n' });
    }));

  it('fail when no way leads in', () =>
    withSandbox('shut', async ({ commands }) => {
      await stopResident(commands);
      impatience = 2;
      await expect(commands.run('echo on')).rejects.toMatchObject({
        code: 'PROVIDER_UNAVAILABLE',
        hint: expect.any(String) as string,
      });
      impatience = 0;
      expect(await commands.run('echo on')).toMatchObject({ exitCode: 0, stdout: 'on\n' });
    }));

  it('have not timed out when they ended and nobody could tell how', () =>
    withSandbox('untold', async ({ commands }) => {
      const result = await commands.run('kill -STOP $PPID; echo done', { timeoutMs: 1_000 });
      expect(result).toMatchObject({ timedOut: false, exitCode: null, stdout: 'done\n' });
    }));
});

describe.runIf(usable)('a process without descriptors', () => {
  it('outlives the look for a command, and looks again', async () => {
    const fixture = join(import.meta.dirname, 'no-descriptors.fixture.ts');
    const words = ['-c', 'ulimit -n 1024; exec "$@"', 'sh', process.execPath, '--import', 'tsx', fixture, stateDir];
    const { stdout } = await promisify(execFile)('sh', words);
    expect(JSON.parse(stdout)).toEqual({ stdout: 'done\n', exitCode: null });
  });
});

describe.runIf(usable)('commands in a sandbox that another process made', () => {
  it('enter it once, however many come at once', () =>
    withSandbox('entered', async ({ ref }) => {
      const other = await module.open(context());
      try {
        const handle = await other.attach(ref, new AbortController().signal);
        await Promise.all(Array.from({ length: 10 }, async () => handle?.commands.run('true')));
        const found = await handle?.commands.run('ls /run/sublet/channel | grep -c control');
        // That of the maker's shell, and of this one's.
        expect(found?.stdout.trim()).toBe('2');
      } finally {
        await other.close();
      }
    }));
});
