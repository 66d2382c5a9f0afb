import { type ChildProcess, spawn } from 'node:child_process';
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

  it('takes the output of a command also where nothing can be written', async () => {
    const done = `${dir}-done`;
    const child = start(`while [ -d ${dir} ]; do :; done; head -c 3000000 /dev/zero && echo fine >${done}`);
    await Promise.all([once(child, 'exit'), removeWhenBegun()]);
    expect(await readFile(done, 'utf8')).toBe('fine\n');
    await rm(done);
  });

  it('ends a command at its time-out also where nothing can be written', async () => {
    const child = start('exec sleep 1000', { seconds: '1' });
    await Promise.all([once(child, 'exit'), removeWhenBegun()]);
    expect(child.exitCode).not.toBeNull();
  });
});

/** No file may have more than so many blocks, as if the disk were full. */
async function run(command: string, maxBlocks: string): Promise<void> {
  await once(start(command, { before: `ulimit -f ${maxBlocks}` }), 'exit');
}

function start(command: string, { before = ':', seconds = '' } = {}): ChildProcess {
  const words = ['sublet-command', newTag(), seconds, '', 'sh', '-c', command];
  const script = `${before}; exec sh -c "$@" 3<<'END' 4</dev/null\n#complete\nEND\n`;
  return spawn('sh', ['-c', script, 'sh', RUNNER_SCRIPT, ...words], { cwd: dir, stdio: 'ignore' });
}

/** Nothing can be written there any more. */
async function removeWhenBegun(): Promise<void> {
  await expect.poll(() => readdir(dir)).toContain('runner');
  await rm(dir, { recursive: true });
}
