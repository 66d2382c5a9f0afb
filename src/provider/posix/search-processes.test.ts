import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { searchProcesses } from './search-processes.ts';

describe.runIf(process.platform === 'linux')('a search among all processes', () => {
  it('finds the child of one that was listed, and forked and exited before it was looked at', async () => {
    const parent = spawn('sh', ['-c', 'read go; sleep 1000 >/dev/null & echo $!'], { stdio: 'pipe' });
    let child = 0;
    const found = await searchProcesses(async (pid) => {
      if (pid === child) return 'sought';
      if (pid !== parent.pid) return 'other';
      const exited = once(parent, 'exit');
      parent.stdin.end('go\n');
      const [said] = (await once(parent.stdout, 'data')) as [Buffer];
      child = Number(said.toString());
      await exited;
      return 'gone';
    });
    process.kill(child, 'SIGKILL');
    expect(found).toEqual([child]);
  });

  it('asks once about each', async () => {
    const asked: number[] = [];
    await searchProcesses(async (pid) => {
      asked.push(pid);
      return 'gone';
    });
    expect(asked).toContain(process.pid);
    expect(new Set(asked).size).toBe(asked.length);
  });
});
