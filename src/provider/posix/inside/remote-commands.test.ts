/** Over the plainest way into a place there is: a shell of this machine in a directory of its own. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SubletError } from '../../../core/errors.ts';
import { systemClock } from '../../../core/system-clock.ts';
import type { ProcessExit } from '../run-process.ts';
import { RemoteCommands, type RemoteProcess, type RemoteRequest } from './remote-commands.ts';

let workdir = '';

beforeAll(async () => {
  workdir = await mkdtemp(join(tmpdir(), 'sublet-remote-'));
  await mkdir(join(workdir, 'sub dir'));
});

afterAll(() => rm(workdir, { recursive: true, force: true }));

async function exec({ argv: [file, ...args], env, stdin }: RemoteRequest): Promise<RemoteProcess> {
  const child = spawn(file, args, {
    env: { PATH: process.env['PATH'], SUBLET_TMPDIR: workdir, TMPDIR: workdir, ...env },
    stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const exit = new Promise<ProcessExit>((resolve) =>
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal: signal ?? undefined })),
  );
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('no pipes');
  return { stdin: child.stdin, stdout, stderr, exit, failure: () => Promise.resolve(undefined) };
}

function commands(over: Partial<ConstructorParameters<typeof RemoteCommands>[0]> = {}): RemoteCommands {
  return new RemoteCommands({ clock: systemClock, workdir, env: { A: 'sandbox' }, exec, ...over });
}

describe.runIf(process.platform === 'linux')('remote commands', () => {
  it('run in the directory and with the variables asked for', async () => {
    const result = await commands().run('pwd; echo "$A $B"', { cwd: 'sub dir', env: { B: "c'all" } });
    expect(result).toMatchObject({ exitCode: 0, stdout: `${workdir}/sub dir\nsandbox c'all\n` });
  });

  it('run a script that is longer than an argument may be, and leave no copy of it', async () => {
    const before = await readdir(workdir);
    expect((await commands().run(`${': x\n'.repeat(60_000)}echo end`)).stdout).toBe('end\n');
    expect(await readdir(workdir)).toEqual(before);
  });

  it('send words that are too many for the service as input, and leave no copy of them', async () => {
    const before = await readdir(workdir);
    const maxWordsBytes = 2_000;
    const limited = commands({
      maxWordsBytes,
      exec: (request) => {
        expect(request.argv.join('').length).toBeLessThanOrEqual(maxWordsBytes);
        return exec(request);
      },
    });
    const word = "it's ".repeat(1_000);
    expect((await limited.run(['printf', '%s', word])).stdout).toBe(word);
    expect((await limited.run(`printf %s '${'x'.repeat(3_000)}'; cat`, { stdin: '!' })).stdout).toBe(
      `${'x'.repeat(3_000)}!`,
    );
    expect(await readdir(workdir)).toEqual(before);
  });

  it('can say whether something of a program lives, wherever it has gone', async () => {
    const asked: RemoteRequest[] = [];
    const subject = commands({
      exec: (request) => {
        asked.push(request);
        return exec(request);
      },
    });
    const { stdout } = await subject.run('setsid sleep 1000 >/dev/null 2>&1 & echo $!');
    const isAlive = asked[0]?.isAlive;
    expect(await isAlive?.()).toBe(true);
    process.kill(Number(stdout), 'SIGKILL');
    await expect.poll(() => isAlive?.()).toBe(false);
  });

  it('end the whole tree at the time-out', async () => {
    const result = await commands().run("setsid sh -c 'sleep 1000 & wait' & echo on; sleep 1000", { timeoutMs: 500 });
    expect(result).toMatchObject({ exitCode: null, timedOut: true, stdout: 'on\n' });
  });

  it('in the background inherit their variables and are found by another handle', async () => {
    const command = await commands().start('echo "$A $B"; read line; echo "got $line"', {
      env: { B: 'b' },
      stdin: true,
    });
    const other = await commands().attach(command.id);
    await other.writeStdin('x\n');
    expect(await command.wait()).toEqual({ exitCode: 0, timedOut: false });
    expect(Buffer.from((await other.output('stdout', 0)).data).toString()).toBe('sandbox b\ngot x\n');
  });

  it('throw the reason when the end is not known, after ending what may still run', async () => {
    const lost = new SubletError('PROVIDER_UNAVAILABLE', 'The connection broke.');
    const broken = async (request: RemoteRequest): Promise<RemoteProcess> => {
      const real = await exec(request);
      if (!request.argv.join(' ').includes('marked')) return real;
      return {
        ...real,
        exit: Promise.resolve({ exitCode: null, signal: undefined }),
        failure: () => Promise.resolve(lost),
      };
    };
    const subject = commands({ exec: broken });
    await expect(subject.run('echo marked >started; sleep 1000; echo >ended')).rejects.toBe(lost);
    expect((await commands().run('ls')).stdout).not.toContain('ended');
  });

  it('refuse a terminal where there is none', async () => {
    const start = commands().start('true', { pty: { cols: 80, rows: 24 } });
    await expect(start).rejects.toMatchObject({ code: 'UNSUPPORTED' });
  });
});
