import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RUNNER_SCRIPT } from './command-runner.ts';
import { newTag } from './process-tree.ts';

let dir = '';

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sublet-runner-'));
});
afterEach(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));

describe.runIf(process.platform === 'linux')('the runner of a background command', () => {
  it('says of a stream that it could not keep more of it, and lets the command go on', async () => {
    await run('head -c 300000 /dev/zero; echo fine >&2; exit 7', '128');
    // On a busy machine what pumps the output may come to its end after the runner.
    await expect.poll(() => readdir(dir)).toEqual(expect.arrayContaining(['stdout.failed', 'stderr.end']));
    expect(await readdir(dir)).not.toContain('stdout.end');
    expect((await stat(join(dir, 'stdout.0'))).size).toBeLessThan(300_000);
    expect(await readFile(join(dir, 'stderr.0'), 'utf8')).toBe('fine\n');
    expect(await readFile(join(dir, 'exit'), 'utf8')).toBe('7\n');
  });
});

/** No file may have more than so many blocks, as if the disk were full. */
async function run(command: string, maxBlocks: string): Promise<void> {
  const words = ['sublet-command', newTag(), '', '', 'sh', '-c', command];
  const limited = `ulimit -f ${maxBlocks}; exec sh -c "$@" 3<<'END' 4</dev/null\n#complete\nEND\n`;
  const child = spawn('sh', ['-c', limited, 'sh', RUNNER_SCRIPT, ...words], { cwd: dir, stdio: 'ignore' });
  await once(child, 'exit');
}
