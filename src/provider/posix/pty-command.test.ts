import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../core/clock.ts';
import { systemClock } from '../../core/system-clock.ts';
import { startPty } from './pty-command.ts';

let dir = '';
const hurried: Clock = {
  ...systemClock,
  schedule: (ms, callback, options) => systemClock.schedule(ms / 50, callback, options),
};

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sublet-pty-'));
});
afterEach(() => rm(dir, { recursive: true }));

describe.runIf(process.platform === 'linux')('a command in a terminal', () => {
  it('is ended at its time-out, also when that fails at first', async () => {
    let tries = 0;
    const kill = async (): Promise<void> => {
      tries++;
      if (tries === 1) throw new Error('too many open files');
      process.kill(Number(await readFile(join(dir, 'pid'), 'utf8')), 'SIGKILL');
    };
    const line = { file: '/bin/sh', args: ['-c', 'echo $$ >pid; exec sleep 1000'], env: {}, cwd: dir };
    const size = { cols: 80, rows: 24 };
    const { ended } = await startPty({ dir, line, size, clock: hurried, timeoutMs: 5_000, kill });
    await ended;
    expect(tries).toBeGreaterThan(1);
    expect(await readFile(join(dir, 'exit'), 'utf8')).toBe('137\n');
    expect(await readFile(join(dir, 'timed-out'), 'utf8')).toBe('');
  });
});
