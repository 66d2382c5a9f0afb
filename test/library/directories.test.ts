/** Directories that are not there. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { open, type Session, type Sublet } from '../../src/index.ts';
import { requirement } from '../setup/requirements.ts';

let home = '';
let sublet: Sublet;
let session: Session;

describe.runIf(await requirement('namespace'))('a directory that is not there', () => {
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sublet-directories-'));
    sublet = await open({ home, handleSignals: false });
    session = await sublet.session({ task: 'directories' });
  });

  afterAll(async () => {
    await sublet.destroyAllSessions();
    await sublet.close();
    await rm(home, { recursive: true, force: true });
  });

  it('is a result of a command', async () => {
    const { exitCode, stderr } = await session.commands.run('true', { cwd: '/none' });
    expect([exitCode, stderr]).toEqual([126, expect.stringContaining('/none')]);
  });

  it('is an error of a shell', async () => {
    await expect(session.shell({ cwd: '/none' })).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await using shell = await session.shell({ cwd: '/tmp' });
    expect((await shell.run('pwd')).stdout).toBe('/tmp\n');
  });

  it('does not keep a shell from beginning anew elsewhere', async () => {
    await using shell = await session.shell();
    await shell.run('mkdir gone; cd gone');
    await shell.run('rmdir /workspace/gone; exit 1');
    expect((await shell.run('pwd')).exitCode).toBe(126);
    expect((await shell.run('pwd')).stdout).toBe('/workspace\n');
  });
});
