import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readCommandLine } from './command-line.ts';

const READS = 5_000;

it.runIf(process.platform === 'linux')('is of one program while a process becomes another', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'sublet-line-'));
  try {
    const script = join(dir, 'turn');
    await writeFile(script, 'if [ "$1" = short ]; then exec sh "$0" much longer; else exec sh "$0" short; fi\n');
    const child = spawn('sh', [script, 'short'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const seen = new Set<string>();
    for (let read = 0; read < READS; read++) seen.add(await readCommandLine(`/proc/${child.pid}/cmdline`));
    child.kill('SIGKILL');
    await once(child, 'exit');
    // Between two programs it has no words.
    seen.delete('');
    expect([...seen].toSorted()).toEqual([`sh ${script} much longer`, `sh ${script} short`]);
    expect(await readCommandLine(`/proc/${child.pid}/cmdline`)).toBe('');
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
