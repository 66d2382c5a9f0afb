import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../core/system-clock.ts';
import type { CommandResult, RunOptions } from '../../core/commands.ts';
import { ManualClock } from '../../testing/manual-clock.ts';
import { FifoPool } from './fifo-pool.ts';
import { killTagged, newTag, tagScript } from './process-tree.ts';
import { runProcess } from './run-process.ts';
import { spawnPiped } from './spawn-piped.ts';

const MIB = 1024 * 1024;
let dir = '';
let pipes: FifoPool;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sublet-run-'));
  pipes = new FifoPool(dir);
});

afterAll(async () => {
  await pipes.close();
  await rm(dir, { recursive: true });
});

describe.runIf(process.platform === 'linux')('runProcess over real pipes', () => {
  it('a command can open all three of its streams again', async () => {
    const result = await run('cat /dev/stdin; echo out >/dev/stdout; echo err >/dev/stderr; cat /dev/stdin', {
      stdin: 'in\n',
    });
    expect(result).toMatchObject({ exitCode: 0, stdout: 'in\nout\n', stderr: 'err\n' });
  });

  it('1 GiB of output grows this process by less than 32 MiB', async () => {
    const before = process.memoryUsage.rss();
    const result = await run(`head -c ${1024 * MIB} /dev/zero`);
    expect(result.stdoutBytes).toBe(1024 * MIB);
    expect((process.memoryUsage.rss() - before) / MIB).toBeLessThan(32);
  });

  it('what a callback is given and drops is collected while the command runs', async () => {
    const before = process.memoryUsage().arrayBuffers;
    let peak = before;
    let chunks = 0;
    const onStdout = (): void => {
      if (chunks++ % 16 === 0) peak = Math.max(peak, process.memoryUsage().arrayBuffers);
    };
    expect((await run(`head -c ${1024 * MIB} /dev/zero`, { onStdout })).stdoutBytes).toBe(1024 * MIB);
    expect((peak - before) / MIB).toBeLessThan(128);
  });

  it('returns although a daemon keeps writing, and without its later output', async () => {
    const tag = newTag();
    const result = await run('(while :; do echo more; sleep 0.02; done) & echo first', {}, tag);
    expect(result).toMatchObject({ exitCode: 0, timedOut: false });
    expect(result.stdout).toMatch(/^(more\n)*first\n/);
    await killTagged({ tag });
  });

  it('does not count the time a consumer takes as quiet', async () => {
    const seen: string[] = [];
    const onStdout = async (chunk: Uint8Array): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 250));
      seen.push(Buffer.from(chunk).toString());
    };
    await run('echo one; sleep 0.3; echo two; sleep 0.3; echo three', { onStdout });
    expect(seen.join('')).toBe('one\ntwo\nthree\n');
  });

  it('names the signal that ended the command', async () => {
    expect(await run('kill -TERM $$')).toMatchObject({ exitCode: null, signal: 'SIGTERM', timedOut: false });
  });

  it('reports a program that cannot be started', async () => {
    const line = { file: join(dir, 'missing'), args: [], env: {} };
    await expect(spawnPiped(line, pipes, { stdin: true })).rejects.toMatchObject({ code: 'PROVIDER_UNUSABLE' });
  });

  it('gives up on a process that survives its kill', async () => {
    const child = await spawnPiped({ file: '/bin/sh', args: ['-c', 'sleep 1000'], env: ENV }, pipes, { stdin: false });
    const result = await runProcess(
      child,
      { timeoutMs: 10 },
      { clock: systemClock, killTree: () => Promise.resolve() },
    );
    expect(result).toMatchObject({ exitCode: null, timedOut: true });
    process.kill(-child.pid, 'SIGKILL');
  });

  it('does not wait for ever for a kill that is not answered', async () => {
    const clock = new ManualClock();
    const streams = {
      stdin: null,
      stdout: new PassThrough(),
      stderr: new PassThrough(),
      exit: new Promise<never>(() => {}),
    };
    const running = runProcess(streams, { timeoutMs: 100 }, { clock, killTree: () => new Promise(() => {}) });
    const refused = expect(running).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    await clock.advance(30_000);
    await refused;
  });

  it('leaves no descriptor open', async () => {
    const { readdir } = await import('node:fs/promises');
    const count = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
    await run('cat', { stdin: 'x' });
    const before = await count();
    for (let round = 0; round < 40; round++) await run('cat', { stdin: 'x' });
    expect(await count()).toBeLessThan(before + 10);
  });

  it('refuses pipes once the pool is closed', async () => {
    const pool = new FifoPool(dir);
    const pipe = await pool.take();
    await pool.close();
    await pool.close();
    await expect(pool.take()).rejects.toMatchObject({ code: 'CLOSED' });
    const { closeFd } = await import('./fifo-pool.ts');
    await Promise.all([closeFd(pipe.readFd), closeFd(pipe.writeFd)]);
  });
});

const ENV = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' };

async function run(script: string, options: RunOptions = {}, tag: string = newTag()): Promise<CommandResult> {
  const line = { file: '/bin/sh', args: ['-c', `${tagScript(tag)}; ${script}`], env: ENV };
  const child = await spawnPiped(line, pipes, { stdin: options.stdin !== undefined });
  return runProcess(child, options, { clock: systemClock, killTree: async () => void (await killTagged({ tag })) });
}
