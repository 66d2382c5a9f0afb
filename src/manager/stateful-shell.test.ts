/** The stateful shell, over a real `sh`. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Shell } from '../core/api.ts';
import { systemClock } from '../core/system-clock.ts';
import type { Commands, OutputStream, RunningCommand, StartOptions } from '../core/commands.ts';
import { openShell } from './stateful-shell.ts';

let directory: string;
let shell: Shell;
let starts: number;

beforeEach(async () => {
  directory = await realpath(await mkdtemp(path.join(os.tmpdir(), 'sublet-shell-')));
  starts = 0;
  shell = await openShell(hostCommands(), systemClock, { cwd: directory, env: { GIVEN: 'from the caller' } });
});

afterEach(async () => {
  await shell.close();
  await rm(directory, { recursive: true });
});

it('carries the directory, variables and functions over', async () => {
  await shell.run('mkdir sub; cd sub; A="x y"; export B=z; greet() { echo "hello $1"; }');
  expect((await shell.run('pwd; echo "$A" "$B" "$GIVEN"; greet you')).stdout).toBe(
    `${directory}/sub\nx y z from the caller\nhello you\n`,
  );
});

it('gives exact exit codes and keeps the streams apart', async () => {
  expect(await shell.run('echo out; echo err >&2; (exit 42)')).toMatchObject({
    exitCode: 42,
    stdout: 'out\n',
    stderr: 'err\n',
    stdoutBytes: 4,
    stderrBytes: 4,
    truncated: false,
    timedOut: false,
  });
  expect(await shell.run('true')).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
  expect((await shell.run('printf "no newline"')).stdout).toBe('no newline');
});

it('takes quotes, newlines and here-documents as they are', async () => {
  const { stdout } = await shell.run(`printf '%s\\n' "it's" 'a "b"' \\\n  $((1+1))\ncat <<'END'\n$HOME 'x'\nEND`);
  expect(stdout).toBe(`it's\na "b"\n2\n$HOME 'x'\n`);
});

it('survives a syntax error', async () => {
  await shell.run('A=kept');
  const result = await shell.run('if then (');
  expect(result.exitCode).not.toBe(0);
  expect(result.stderr).not.toBe('');
  expect((await shell.run('echo $A')).stdout).toBe('kept\n');
});

it('gives commands an empty standard input', async () => {
  expect(await shell.run('cat; read line; echo "got:$line"')).toMatchObject({ stdout: 'got:\n', exitCode: 0 });
});

it('is not confused by what the shell echoes of itself', async () => {
  await shell.run('set -x; set -v');
  expect(await shell.run('echo traced')).toMatchObject({ stdout: 'traced\n', exitCode: 0 });
  await shell.run('set +x; set +v');
  expect((await shell.run('printf "\\036"')).stdout).toBe('\u001e');
});

it('finds the end although the command redirected the shell itself', async () => {
  expect((await shell.run('exec >log 2>&1; echo hidden')).stdout).toBe('');
  expect((await shell.run('cat log >/dev/null; exit 0')).exitCode).toBe(0);
});

it('runs one command at a time, in order', async () => {
  const results = await Promise.all([shell.run('sleep 0.1; echo one'), shell.run('echo two'), shell.run('echo three')]);
  expect(results.map((result) => result.stdout)).toEqual(['one\n', 'two\n', 'three\n']);
  expect(starts).toBe(1);
});

it('caps what it keeps and lets a callback see everything', async () => {
  let seen = 0;
  const result = await shell.run('head -c 300000 /dev/zero | tr "\\0" x', {
    maxOutputBytes: 1000,
    onStdout: (chunk) => void (seen += chunk.length),
  });
  expect(result).toMatchObject({ exitCode: 0, stdoutBytes: 300_000, truncated: true });
  expect(seen).toBe(300_000);
  expect(result.stdout.length).toBeLessThan(1100);
});

it('gives the status of exit and goes on in the last directory with a fresh shell', async () => {
  await shell.run('mkdir deep; cd deep; A=gone');
  expect((await shell.run('exit 7')).exitCode).toBe(7);
  expect((await shell.run('pwd; echo "[$A]"')).stdout).toBe(`${directory}/deep\n[]\n`);
  expect(starts).toBe(2);
});

it('kills what runs too long and goes on with a fresh shell', async () => {
  const result = await shell.run('sleep 600', { timeoutMs: 300 });
  expect(result).toMatchObject({ exitCode: null, timedOut: true });
  expect((await shell.run('echo after')).stdout).toBe('after\n');
});

it('kills what its caller gives up on', async () => {
  const abort = new AbortController();
  const running = shell.run('echo ready; sleep 600', { signal: abort.signal, onStdout: () => abort.abort() });
  await expect(running).rejects.toMatchObject({ code: 'ABORTED' });
  expect((await shell.run('echo after')).stdout).toBe('after\n');
});

it('refuses to run once closed', async () => {
  await shell.close();
  await shell.close();
  await expect(shell.run('true')).rejects.toMatchObject({ code: 'CLOSED' });
});

/** Background commands as a provider has them, on this machine and for this test only. */
function hostCommands(): Commands {
  const unused = (): Promise<never> => Promise.reject(new Error('not used by the shell'));
  return {
    run: unused,
    attach: unused,
    list: unused,
    start: async (command, options) => start(command as readonly string[], options ?? {}),
  };
}

function start([file = '', ...args]: readonly string[], options: StartOptions): RunningCommand {
  starts += 1;
  const env = { PATH: process.env['PATH'], ...options.env };
  const child = spawn(file, args, { cwd: options.cwd, env, detached: true, stdio: 'pipe' });
  const exited = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const output = { stdout: collect(child, 'stdout'), stderr: collect(child, 'stderr') };
  const unused = (): never => {
    throw new Error('not used by the shell');
  };
  return {
    id: `cmd_${child.pid}`,
    info: unused,
    stream: unused,
    resize: unused,
    closeStdin: unused,
    output: (stream, cursor) => output[stream](cursor),
    writeStdin: async (data) => void child.stdin.write(data),
    async kill() {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
        process.kill(-child.pid, 'SIGKILL');
      await exited;
    },
    async wait() {
      const [exitCode, signal] = await exited;
      return { exitCode, timedOut: false, ...(signal === null ? {} : { signal }) };
    },
  };
}

type Read = (cursor: number) => ReturnType<RunningCommand['output']>;

function collect(child: ChildProcess, name: OutputStream): Read {
  let bytes = Buffer.alloc(0);
  let isOver = false;
  let wake = (): void => {};
  child[name]?.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    wake();
  });
  child[name]?.on('close', () => {
    isOver = true;
    wake();
  });
  return async (cursor) => {
    while (bytes.length <= cursor && !isOver) await new Promise<void>((resolve) => (wake = resolve));
    const data = bytes.subarray(cursor);
    return { data, next: cursor + data.length, lostBytes: 0, end: isOver };
  };
}
