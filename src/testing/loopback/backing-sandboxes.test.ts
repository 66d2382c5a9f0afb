import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../core/system-clock.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { provider as local } from '../../providers/local/index.ts';
import { BackingSandboxes } from './backing-sandboxes.ts';

let stateDir = '';
let provider: SandboxProvider;

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'sublet-backing-'));
  const log = { debug() {}, info() {}, warn() {} };
  provider = await local.open({ stateDir, clock: systemClock, log, options: {}, secret: () => undefined });
});
afterAll(async () => {
  await provider.close();
  await rm(stateDir, { recursive: true, force: true });
});

describe.runIf(process.platform === 'linux')('backing sandboxes', () => {
  it('are real, listed by label in pages, and gone when they are removed', async () => {
    const sandboxes = new BackingSandboxes(provider);
    sandboxes.pageSize = 2;
    const made = [];
    for (const team of ['a', 'b', 'a', 'a']) made.push(await sandboxes.create({ labels: { team } }));
    expect((await made[0]?.handle.commands.run('echo real'))?.stdout).toBe('real\n');
    const first = sandboxes.list({ labels: { team: 'a' } });
    const second = sandboxes.list({ labels: { team: 'a' }, after: first.next });
    const ids = [...first.sandboxes, ...second.sandboxes].map(({ id }) => id);
    expect(ids).toEqual([made[0]?.id, made[2]?.id, made[3]?.id]);
    expect(second.next).toBeUndefined();
    await sandboxes.close();
    expect(sandboxes.size).toBe(0);
    expect(await readdir(join(stateDir, 'sandboxes'))).toEqual([]);
  });

  it('stay when a deletion is stuck, and say so', async () => {
    const sandboxes = new BackingSandboxes(provider);
    const { id } = await sandboxes.create({});
    sandboxes.isDeletingStuck = true;
    expect(await sandboxes.remove(id)).toBe(true);
    expect(sandboxes.get(id)?.state).toBe('deleting');
    sandboxes.isDeletingStuck = false;
    expect(await sandboxes.remove(id)).toBe(true);
    expect(await sandboxes.remove(id)).toBe(false);
  });
});
