/** A session's handle in one process while another, the command line, moves its sandbox. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SubletError } from '../../src/core/errors.ts';
import { open, type Sublet } from '../../src/index.ts';
import { MAIN } from '../cli/installation.ts';
import { requirement } from '../setup/requirements.ts';

const PATIENCE = { timeoutMs: 30_000 };
let home = '';
let sublet: Sublet;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sublet-elsewhere-'));
  sublet = await open({ home, handleSignals: false });
});

afterAll(async () => {
  await sublet.destroyAllSessions();
  await sublet.close();
  await rm(home, { recursive: true, force: true });
});

async function elsewhere(...args: readonly string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [MAIN, ...args], { env: { ...process.env, SUBLET_HOME: home } });
}

describe.runIf(await requirement('namespace'))('a handle whose sandbox another process', () => {
  it('paused resumes it for the next command, and what ran goes on', async () => {
    const session = await sublet.session({ task: 'paused' });
    const counting = await session.commands.start('i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done');
    await counting.output('stdout', 0, { wait: true });
    await elsewhere('pause', session.sandboxId);
    expect((await sublet.sandboxes.get(session.sandboxId)).state).toBe('paused');
    const { stdout, timedOut } = await session.commands.run('echo back', PATIENCE);
    expect([stdout, timedOut]).toEqual(['back\n', false]);
    expect((await sublet.sandboxes.get(session.sandboxId)).state).toBe('running');
    const { next } = await counting.output('stdout', 0);
    expect((await counting.output('stdout', next, { wait: true })).data.length).toBeGreaterThan(0);
    await counting.kill();
  });

  it('paused resumes it for files and for another handle', async () => {
    const session = await sublet.session({ task: 'files' });
    await elsewhere('pause', session.sandboxId);
    await session.files.write('note', 'kept');
    await elsewhere('pause', session.sandboxId);
    const again = await sublet.session({ task: 'files' });
    expect(await again.files.readText('note')).toBe('kept');
  });

  it('stopped starts it, with its files', async () => {
    const session = await sublet.session({ task: 'stopped' });
    await session.files.write('note', 'kept');
    await elsewhere('stop', session.sandboxId);
    expect((await session.commands.run('cat note', PATIENCE)).stdout).toBe('kept');
  });

  it('destroyed says so, and what to do', async () => {
    const session = await sublet.session({ task: 'destroyed' });
    await session.commands.run('true');
    await elsewhere('rm', '--yes', session.sandboxId);
    const error = await session.commands.run('echo hi', PATIENCE).catch((cause: unknown) => cause);
    expect(SubletError.is(error, 'CLOSED') && error.hint).toContain('Ask for the session again');
  });
});
