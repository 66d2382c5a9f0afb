/** Over calls that a shell of this machine answers, as a service would. */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { requirement } from '../../../../test/setup/requirements.ts';
import type { Clock } from '../../../core/clock.ts';
import { SubletError } from '../../../core/errors.ts';
import { systemClock } from '../../../core/system-clock.ts';
import { ManualClock } from '../../../testing/manual-clock.ts';
import { processCaller, type ShellAnswer, type ShellCall } from './called-process.ts';
import { shellQuote } from '../shell-quote.ts';
import { RemoteCommands } from './remote-commands.ts';

const SHELLS = ['sh', ...((await requirement('busybox')) ? ['busybox sh'] : [])];
let workdir = '';
let calls = 0;

beforeAll(async () => {
  workdir = await mkdtemp(join(tmpdir(), 'sublet-called-'));
});

afterAll(() => rm(workdir, { recursive: true, force: true }));

const call: ShellCall = (script, env) => {
  calls++;
  return new Promise<ShellAnswer>((resolve) => {
    const child = spawn('sh', ['-c', script], {
      env: { PATH: process.env['PATH'], SUBLET_TMPDIR: workdir, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('close', (exitCode) => resolve({ exitCode, output: Buffer.concat(chunks).toString() }));
  });
};

function commands(passesEnv = true, by: ShellCall = call, clock: Clock = systemClock): RemoteCommands {
  const exec = processCaller({ clock, call: by, passesEnv });
  return new RemoteCommands({ clock: systemClock, workdir, env: {}, exec });
}

describe.runIf(process.platform === 'linux')('a called process', () => {
  it('is one call when it is quick and small, with its streams apart and byte for byte', async () => {
    const seen: Uint8Array[] = [];
    calls = 0;
    // Its time does not pass: patience does not end before the program.
    const result = await commands(true, call, new ManualClock()).run("printf 'a\\377\\000b'; echo bad >&2; exit 3", {
      onStdout: (chunk) => void seen.push(chunk),
    });
    expect(result).toMatchObject({ exitCode: 3, stdout: 'a\ufffd\0b', stderr: 'bad\n', stdoutBytes: 4 });
    expect(Buffer.concat(seen)).toEqual(Buffer.from([0x61, 0xff, 0, 0x62]));
    expect(calls).toBe(1);
  });

  it('is one call where calls take long, once that is known', async () => {
    const clock = new ManualClock();
    let own = 0;
    const far: ShellCall = async (script, env) => {
      own++;
      const answer = await call(script, env);
      // The call that starts a program.
      if (script.includes('mkfifo')) await clock.advance(300);
      return answer;
    };
    const there = commands(true, far, clock);
    await there.run('echo first');
    expect(own).toBeGreaterThan(1);
    for (let count = 0; count < 3; count++) await there.run('echo next');
    own = 0;
    expect((await there.run('echo later')).stdout).toBe('later\n');
    expect(own).toBe(1);
  });

  it('has its output taken while it runs, more than a pipe holds', async () => {
    const result = await commands().run('echo first; head -c 5000000 /dev/zero; echo last >&2; exit 7', {
      maxOutputBytes: 100,
    });
    expect(result).toMatchObject({ exitCode: 7, stdoutBytes: 5_000_006, stderr: 'last\n', truncated: true });
  });

  it('reads input of any size, and its end', async () => {
    const bytes = Buffer.alloc(300_000, 'abc');
    expect((await commands().run('wc -c; cat', { stdin: bytes })).stdoutBytes).toBe(7);
    expect((await commands().run('cat', { stdin: 'short' })).stdout).toBe('short');
    expect((await commands().run('echo done', { stdin: bytes })).stdout).toBe('done\n');
  });

  it.each(SHELLS)('brings a short input along in its one call, byte for byte, for %s', async (shell) => {
    // Its own count: a call that an earlier test left may still come.
    let own = 0;
    const by: ShellCall = (script, env) => {
      own++;
      return call(`exec ${shell} -c ${shellQuote(script)}`, env);
    };
    const bytes = Uint8Array.from({ length: 16 * 1024 }, (_, index) => index & 255);
    for (const stdin of [bytes, 'END\n', '']) {
      const seen: Uint8Array[] = [];
      own = 0;
      const onStdout = (chunk: Uint8Array): void => void seen.push(chunk);
      const result = await commands(true, by, new ManualClock()).run('cat; exit 5', { stdin, onStdout });
      expect(result).toMatchObject({ exitCode: 5, stderr: '' });
      expect(Buffer.concat(seen)).toEqual(Buffer.from(stdin));
      expect(own).toBe(1);
    }
    expect((await commands(true, by).run('exit 4', { stdin: bytes })).exitCode).toBe(4);
  });

  it('gets what there is of an input that goes on', async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('first line\n');
      await new Promise(() => undefined);
    }
    expect((await commands().run('head -n 1', { stdin: endless() })).stdout).toBe('first line\n');
  });

  it.each([true, false])('gets its variables, whichever way (%s), and the scripts do not', async (passesEnv) => {
    const env = { PATH: `/nowhere:${process.env['PATH']}`, ODD: "it's\n$HOME `id`" };
    expect((await commands(passesEnv).run('printf "%s|%s" "$PATH" "$ODD"', { env })).stdout).toBe(
      `${env.PATH}|${env.ODD}`,
    );
  });

  it('may have more words than fit in one call', async () => {
    const words = Array.from({ length: 40 }, (_, index) => String(index).padEnd(5000, 'x'));
    expect((await commands().run(['sh', '-c', 'echo $#', 'sh', ...words])).stdout).toBe('40\n');
  });

  it('whose call is lost has no exit code but the reason', async () => {
    const lost = new SubletError('PROVIDER_UNAVAILABLE', 'The connection broke.');
    const losing: ShellCall = async (script, env) => {
      const answer = await call(script, env);
      if (script.includes('marked')) throw lost;
      return answer;
    };
    await expect(commands(true, losing).run('echo marked')).rejects.toBe(lost);
  });

  it('whose starting script is killed has no exit code and lets nobody wait', async () => {
    const result = await commands().run('echo before; kill -9 $(ps -o ppid= -p $$)');
    expect(result.exitCode).toBeNull();
  });

  describe('whose calls are ended by the service after a while', () => {
    const MAX_CALL_MS = 1_000;
    /** Far more, for a machine that is busy. */
    const SERVICE_MS = 3_000;
    let ended = 0;
    const limited: ShellCall = (script, env) => {
      const started = Date.now();
      return call(script, env).then((answer) => {
        if (Date.now() - started > SERVICE_MS) ended++;
        return answer;
      });
    };
    const brief = (by: ShellCall = limited): RemoteCommands =>
      new RemoteCommands({
        clock: systemClock,
        workdir,
        env: {},
        exec: processCaller({ clock: systemClock, call: by, passesEnv: true, maxCallMs: MAX_CALL_MS }),
      });

    it('is one call when it is quick, with its exit code', async () => {
      calls = 0;
      const clock = new ManualClock();
      const commands = new RemoteCommands({
        clock: systemClock,
        workdir,
        env: {},
        exec: processCaller({ clock, call, passesEnv: true, maxCallMs: 50_000 }),
      });
      expect(await commands.run("printf 'a\\377'; echo bad >&2; exit 3")).toMatchObject({
        exitCode: 3,
        stdoutBytes: 2,
      });
      expect(calls).toBe(1);
    });

    it('runs longer than any of them, silent or not, and loses nothing', async () => {
      const command = 'i=0; while [ $i -lt 3 ]; do echo $i; echo e$i >&2; sleep 1; i=$((i+1)); done; sleep 2; exit 9';
      const result = await brief().run(command);
      expect(result).toMatchObject({ exitCode: 9, stdout: '0\n1\n2\n', stderr: 'e0\ne1\ne2\n' });
      expect(ended).toBe(0);
    }, 30_000);

    it('leaves nothing behind when its answer is fetched as soon as it is there', async () => {
      const calls = join(workdir, '.sublet', 'calls');
      const slow = await mkdtemp(join(workdir, 'slow-'));
      const has = async (ending: string): Promise<boolean> =>
        (await readdir(calls)).some((name) => name.endsWith(ending));
      // The script that has moved the answer there goes on only when somebody has fetched it.
      const move = `#!/bin/sh\nPATH=\${PATH#*:}; echo $PPID >${slow}/mover; mv "$@"; until [ ! -e "$2" ]; do sleep 0.02; done\n`;
      await writeFile(join(slow, 'mv'), move, { mode: 0o755 });
      const by: ShellCall = async (script, env) => {
        const isWait = script.includes('cat ');
        if (isWait) await vi.waitFor(async () => expect(await has('.f')).toBe(true), 10_000);
        return call(script, { ...env, PATH: `${slow}:${process.env['PATH']}` });
      };
      expect((await brief(by).run('sleep 1; exit 6')).exitCode).toBe(6);
      // The exit code comes with the streams, and may be here before.
      const mover = await vi.waitFor(async () => Number(await readFile(join(slow, 'mover'), 'utf8')), 10_000);
      await vi.waitFor(() => expect(() => process.kill(mover, 0)).toThrow('ESRCH'), 10_000);
      expect(await has('.w')).toBe(false);
    });

    it('reads its input as slowly as it likes', async () => {
      const bytes = Buffer.alloc(150_000, 'abcdefg');
      const result = await brief().run('sleep 2; wc -c; sleep 1; echo over', { stdin: bytes });
      expect(result).toMatchObject({ exitCode: 0, stdout: '150000\nover\n' });
      expect((await brief().run('sleep 1.5; exit 4', { stdin: bytes })).exitCode).toBe(4);
    }, 30_000);

    it('has a reader that comes late', async () => {
      const seen: string[] = [];
      const result = await brief().run('echo first; sleep 2; head -c 300000 /dev/zero; echo last', {
        onStdout: async (chunk) => {
          seen.push(Buffer.from(chunk.subarray(0, 5)).toString());
          if (seen.length === 1) await new Promise((resolve) => setTimeout(resolve, 2_500));
        },
      });
      expect([result.exitCode, result.stdoutBytes, seen[0]]).toEqual([0, 300_011, 'first']);
    }, 30_000);

    it('ends with its whole tree when it takes too long', async () => {
      const result = await brief().run('sleep 100 & sleep 100', { timeoutMs: 2_500 });
      expect([result.timedOut, result.exitCode]).toEqual([true, null]);
    }, 30_000);

    it('whose shell is killed has no exit code and lets nobody wait', async () => {
      const result = await brief().run('echo before; kill -9 $(ps -o ppid= -p $$)');
      expect(result.exitCode).toBeNull();
    });
  });

  it('has its input ended also when that is asked for while its pipes are made', async () => {
    const slow = await mkdtemp(join(workdir, 'slow-'));
    const script = '#!/bin/sh\nfor pipe; do PATH=${PATH#*:} mkfifo "$pipe"; sleep 0.1; done\n';
    await writeFile(join(slow, 'mkfifo'), script, { mode: 0o755 });
    const slowly: ShellCall = (line, env) => call(line, { ...env, PATH: `${slow}:${process.env['PATH']}` });
    expect((await commands(true, slowly).run('cat; echo end', { stdin: '' })).stdout).toBe('end\n');
  });

  it.each([0, 0.6])('reads all input when what holds it open is slow, and it is itself (%s s)', async (seconds) => {
    const bytes = Buffer.alloc(150_000, 'abcdefg');
    const slow = (script: string): string =>
      script
        .replace('( exec >/dev/null', '( sleep 0.3; exec >/dev/null')
        .replace('( umask 022', `( sleep ${seconds}; umask 022`);
    let slowed = 0;
    const slowly: ShellCall = (script, env) => {
      if (slow(script) !== script) slowed++;
      return call(slow(script), env);
    };
    expect((await commands(true, slowly).run('wc -c', { stdin: bytes })).stdout.trim()).toBe('150000');
    expect(slowed).toBe(1);
  });

  it('leaves no file behind', async () => {
    await vi.waitFor(async () => expect(await readdir(join(workdir, '.sublet', 'calls'))).toEqual([]), 10_000);
  });
});
