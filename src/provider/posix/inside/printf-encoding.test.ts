import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeForPrintf } from './printf-encoding.ts';

const shellsHere = ['dash', 'bash', 'busybox'].filter((shell) => {
  try {
    execFileSync('sh', ['-c', `command -v ${shell}`]);
    return true;
  } catch {
    return false;
  }
});

describe.each(shellsHere.map((shell) => (shell === 'busybox' ? ['busybox', 'sh'] : [shell])))(
  'printf of %s',
  (...shell) => {
    it('gives back every byte', () => {
      const bytes = Buffer.from(Uint8Array.from({ length: 512 }, (_, index) => index & 255));
      expect(print(shell, bytes).equals(bytes)).toBe(true);
    });

    it('gives back any bytes in any order', () => {
      fc.assert(
        fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (bytes) => print(shell, bytes).equals(bytes)),
        { numRuns: 20 },
      );
    });
  },
);

function print(shell: readonly string[], bytes: Uint8Array): Buffer {
  const [program = 'sh', ...args] = shell;
  return execFileSync(program, [...args, '-c', `printf %b '${encodeForPrintf(bytes)}'`]);
}
