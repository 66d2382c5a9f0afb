/** A session whose processes ended behind its back: files are kept, and the caller is told what is gone. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { open, type Sublet } from '../../src/index.ts';
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
});

async function initPid(name: string): Promise<number> {
  const file = join(home, 'providers', 'namespace', 'sandboxes', name, 'sandbox.json');
  return (JSON.parse(await readFile(file, 'utf8')) as { init: { pid: number } }).init.pid;
}
