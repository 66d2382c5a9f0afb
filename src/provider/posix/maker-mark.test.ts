import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { judgeMaker, makerMark } from './maker-mark.ts';

describe('a name with its maker’s mark', () => {
  it('tells that this process lives', async () => {
    expect(judgeMaker(`${makerMark()}x`)).toBe('lives');
  });

  it('tells that a process has ended, also while nobody has collected it', async () => {
    const child = spawn('sleep', ['600']);
    const own = makerMark();
    const ofChild = own.replace(`-${process.pid}-`, `-${child.pid}-`);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(judgeMaker(`${ofChild}x`)).toBe('gone');
  });

  it('tells a later process with the same pid from its maker', async () => {
    expect(judgeMaker(makerMark().replace(/-\d+-$/, '-1-x'))).toBe('gone');
  });

  it('says nothing of another boot, another numbering of processes, or a name without a mark', async () => {
    const mark = makerMark();
    expect(judgeMaker(`${mark.replace(/^[0-9a-f]{8}/, '00000000')}x`)).toBe('unknown');
    expect(judgeMaker(`${mark.replace(/^([0-9a-f]{8})-\d+/, '$1-1')}x`)).toBe('unknown');
    expect(judgeMaker('sublet-abc')).toBe('unknown');
  });
});
