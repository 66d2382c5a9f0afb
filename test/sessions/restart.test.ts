/** A session whose processes ended behind its back: files are kept, and the caller is told what is gone. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { open, type Sublet, type SubletError } from '../../src/index.ts';
import { requirement } from '../setup/requirements.ts';

let home = '';
let sublet: Sublet;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sublet-restart-'));
  sublet = await open({ home, handleSignals: false });
});

afterAll(async () => {
  await sublet.destroyAllSessions();
  await sublet.close();
  await rm(home, { recursive: true, force: true });
});

describe.runIf(await requirement('namespace'))('a session', () => {
  it('whose processes were killed from outside is started again with its files and a notice', async () => {
    const before = await sublet.session({ task: 'killed' });
    await before.files.write('kept.txt', 'still here');
    await before.release();
    const { name } = await sublet.sandboxes.get(before.sandboxId);
    process.kill(await initPid(name), 'SIGKILL');
    await sublet.close();

    sublet = await open({ home, handleSignals: false });
    const after = await sublet.session({ task: 'killed' });
    expect(after.sandboxId).toBe(before.sandboxId);
    expect(await after.files.readText('kept.txt')).toBe('still here');
    expect(after.notices.map((notice) => notice.type)).toEqual(['restarted']);
    expect((await sublet.session({ task: 'killed' })).notices).toEqual([]);
  });

  it('whose processes ended under a command is not left as running by who found out', async () => {
    const session = await sublet.session({ task: 'ended' });
    const { name } = await sublet.sandboxes.get(session.sandboxId);
    process.kill(await initPid(name), 'SIGKILL');
    // Which it is depends on whether the command had begun.
    const ended = await session.commands.run('sleep 60').then(
      ({ exitCode }) => exitCode,
      ({ code }: SubletError) => code,
    );
    expect([null, 'SANDBOX_LOST']).toContain(ended);
    await sublet.close();

    sublet = await open({ home, handleSignals: false });
    const { state, cause } = await sublet.sandboxes.get(session.sandboxId);
    expect([state, cause]).toEqual(['stopped', expect.stringContaining('its processes had ended')]);
    const again = await sublet.session({ task: 'ended' });
    expect((await again.commands.run('echo back')).stdout).toBe('back\n');
  });
});

async function initPid(name: string): Promise<number> {
  const file = join(home, 'providers', 'namespace', 'sandboxes', name, 'sandbox.json');
  return (JSON.parse(await readFile(file, 'utf8')) as { init: { pid: number } }).init.pid;
}
