import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { identify, identifySelf, isSameProcess, type ProcessIdentity } from './process-identity.ts';

describe.runIf(process.platform === 'linux')('a process', () => {
  it('is itself, and nobody with its pid who began at another time', () => {
    const self = identifySelf() as ProcessIdentity;
    expect(isSameProcess(self)).toBe(true);
    expect(isSameProcess({ ...self, startTicks: self.startTicks - 1 })).toBe(false);
  });

  it('is nobody when it has ended', async () => {
    const child = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] });
    const identity = identify(child.pid as number) as ProcessIdentity;
    child.stdin.end();
    await once(child, 'close');
    expect([isSameProcess(identity), identify(identity.pid)]).toEqual([false, undefined]);
  });

  it('is not taken for ended by one who cannot look', async () => {
    const program = `
      import { openSync } from 'node:fs';
      import { identifySelf, isSameProcess } from '${join(import.meta.dirname, 'process-identity.ts')}';
      const self = identifySelf();
      try { for (;;) openSync('/dev/null', 'r'); } catch {}
      try { console.log(isSameProcess(self)); } catch (cause) { console.log(cause.code); }`;
    const line = 'ulimit -n 64; exec "$0" --import tsx --input-type=module --eval "$1"';
    const { stdout } = await promisify(execFile)('sh', ['-c', line, process.execPath, program]);
    expect(stdout).toBe('EMFILE\n');
  });
});
