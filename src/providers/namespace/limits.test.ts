import { describe, expect, it } from 'vitest';
import { DEFAULT_PIDS, defaultLimits, limitScript } from './limits.ts';

describe('limits without a control group', () => {
  it('bound the processes of a sandbox that asked for nothing', () => {
    expect(limitScript({}, false)).toContain(`ulimit -u ${DEFAULT_PIDS}`);
    expect(limitScript({}, false)).not.toContain('ulimit -d');
  });
  it('bound each process’s memory, in KiB, only where no group bounds the sum', () => {
    expect(limitScript({ memoryBytes: 1025 }, false)).toContain('ulimit -d 2');
    expect(limitScript({ memoryBytes: 1025 }, true)).not.toContain('ulimit -d');
  });
  it('write no core dumps', () => {
    expect(limitScript({ pids: 7 }, true)).toMatch(/ulimit -u 7 .*ulimit -c 0/u);
  });
  it('leave half of the machine’s memory by default', () => {
    expect(defaultLimits(1001)).toMatchObject({ memoryBytes: 500, pids: DEFAULT_PIDS });
  });
});
