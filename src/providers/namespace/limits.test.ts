import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { ordinaryUser } from '../../../test/setup/requirements.ts';
import { checkLimits, DEFAULT_PIDS, defaultLimits, limitScript } from './limits.ts';

describe('limits without a control group', () => {
  it('bound the processes of a sandbox that asked for nothing', () => {
    expect(limitScript({}, false)).toContain(`ulimit -u ${DEFAULT_PIDS}`);
    expect(limitScript({}, false)).not.toContain('ulimit -d');
  });
  it('are refused by name when nothing could run within them', () => {
    expect(() => checkLimits({ pids: 15, cpuMillis: 9 })).toThrow(/pids: 15 is too few.*cpuMillis: 9 is too little/u);
    expect(() => checkLimits({ pids: 16, cpuMillis: 10, memoryBytes: 1 })).not.toThrow();
  });

  it('bound each process’s memory, in KiB, only where no group bounds the sum', () => {
    expect(limitScript({ memoryBytes: 1025 }, false)).toContain('ulimit -d 2');
    expect(limitScript({ memoryBytes: 1025 }, true)).not.toContain('ulimit -d');
  });
  it('write no core dumps', () => {
    expect(limitScript({ pids: 7 }, true)).toMatch(/ulimit -u 7 .*&& ulimit -c 0$/u);
  });
  it.each([
    ['are as asked', '', 0, '1000 2000'],
    [
      'are those of this user where they are tighter, which nobody may loosen',
      'ulimit -u 900 2>/dev/null || ulimit -p 900; ulimit -d 1900',
      0,
      '900 1900',
    ],
    ['are all or nothing', 'ulimit() { case $1 in -c) command ulimit "$@";; *) false;; esac; }', 1, ''],
  ])('%s', (_, before, code, said) => {
    const script = `${before}\n${limitScript({ pids: 1000, memoryBytes: 2000 * 1024 }, false)} || exit 1; echo $(ulimit -u 2>/dev/null || ulimit -p) $(ulimit -d)`;
    const [file, ...args] = [...ordinaryUser().prefix, 'sh', '-c', script];
    const { status, stdout } = spawnSync(file, args, { encoding: 'utf8', cwd: '/' });
    expect([status, stdout.trim()]).toEqual([code, said]);
  });
  it('leave half of the machine’s memory by default', () => {
    expect(defaultLimits(1001)).toMatchObject({ memoryBytes: 500, pids: DEFAULT_PIDS });
  });
});
