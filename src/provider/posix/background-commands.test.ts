import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Clock } from '../../core/clock.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { RunningCommand } from '../../core/commands.ts';
import { BackgroundCommands } from './background-commands.ts';
import { findTagged, killTagged } from './process-tree.ts';
import { commandArgv } from './shell-quote.ts';

const MIB = 1024 * 1024;
let dir = '';
let commands: BackgroundCommands;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sublet-background-'));
  commands = open(join(dir, 'commands'));
});

afterAll(async () => {
  for (const { id } of await commands.list()) await (await commands.attach(id)).kill();
  await rm(dir, { recursive: true, force: true, maxRetries: 5 });
});

describe.runIf(process.platform === 'linux')('background commands', () => {
  it('goes on when the process that started it is killed, and its time-out holds', async () => {
    const [id, limited] = await startInProcessThatDies();
    const command = await commands.attach(id);
    const start = await command.output('stdout', 0, { wait: true });
    expect((await command.output('stdout', start.next, { wait: true })).data.length).toBeGreaterThan(0);
    await command.writeStdin('stop\n');
    expect(await command.wait()).toEqual({ exitCode: 4, timedOut: false });
    const exit = await (await commands.attach(limited)).wait();
    expect(exit).toEqual({ exitCode: null, signal: 'SIGKILL', timedOut: true });
  });

  it('keeps a bounded part of any amount of output on disk and never holds the command back', async () => {
    const command = await commands.start(`head -c ${200 * MIB} /dev/zero; echo end`);
    expect(await command.wait()).toEqual({ exitCode: 0, timedOut: false });
    expect(await diskBytes(command)).toBeLessThan(18 * MIB);
    const tail = await command.output('stdout', 200 * MIB);
    expect([Buffer.from(tail.data).toString(), tail.end]).toEqual(['end\n', true]);
  });

  it('tells of output that could not be kept, after what was', async () => {
    const command = await commands.start('echo begun');
    await command.wait();
    await writeFile(join(dir, 'commands', command.id, 'stdout.failed'), '');
    const { data, next, end } = await command.output('stdout', 0);
    expect([Buffer.from(data).toString(), end]).toEqual(['begun\n', false]);
    await expect(command.output('stdout', next)).rejects.toMatchObject({ code: 'FILE_FAILED' });
    await expect(textOf(command)).rejects.toMatchObject({ code: 'FILE_FAILED' });
  });

  it('keeps every small write apart from its neighbours and in order', async () => {
    const command = await commands.start('i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done');
    await command.wait();
    const expected = Array.from({ length: 3000 }, (_, index) => `${index}\n`).join('');
    expect(await textOf(command)).toBe(expected);
  });

  it('a reader that is slower than the writer is told what it lost and never reads a wrong byte', async () => {
    const line = 64;
    const command = await commands.start(
      `i=0; while [ $i -lt 4 ]; do seq -f '%063.0f' $((i*100000)) $((i*100000+99999)); i=$((i+1)); done`,
    );
    let cursor = 0;
    for (;;) {
      const chunk = await command.output('stdout', cursor, { wait: true, maxBytes: line * 500 });
      cursor = chunk.next;
      const at = chunk.next - chunk.data.length;
      const first = Math.ceil(at / line);
      const text = Buffer.from(chunk.data)
        .subarray(first * line - at, first * line - at + line)
        .toString();
      if (text.length === line) expect(Number(text)).toBe(first);
      if (chunk.end) break;
    }
    expect(cursor).toBe(400_000 * line);
  });

  it('a stream whose beginning is no longer kept says so, and where to go on', async () => {
    const command = await commands.start(`head -c ${32 * MIB} /dev/zero; echo end`);
    await command.wait();
    const lost: unknown = await textOf(command).catch((error: unknown) => error);
    expect(lost).toMatchObject({ code: 'OUTPUT_LOST' });
    const { next } = (lost as { details: { next: number } }).details;
    let bytes = 0;
    for await (const chunk of command.stream('stdout', { cursor: next })) bytes += chunk.length;
    expect(next + bytes).toBe(32 * MIB + 4);
  });

  it('a runner that died without an exit is not running and has no exit code', async () => {
    const command = await commands.start('sleep 1000');
    const runner = await readFile(join(dir, 'commands', command.id, 'runner'), 'utf8');
    const waiting = command.wait();
    process.kill(Number.parseInt(runner.split('\n')[1] ?? '', 10), 'SIGKILL');
    expect(await waiting).toEqual({ exitCode: null, timedOut: false });
    expect(await command.info()).toMatchObject({ running: false, exitCode: null });
    await command.kill();
    const { tag } = JSON.parse(await readFile(join(dir, 'commands', command.id, 'meta.json'), 'utf8')) as {
      tag: string;
    };
    expect(await findTagged({ tag })).toEqual([]);
  });

  it('a command of an earlier boot, and one whose start never came to pass, are not running', async () => {
    const command = await commands.start('sleep 1000');
    const files = join(dir, 'commands', command.id);
    const [, line] = (await readFile(join(files, 'runner'), 'utf8')).split('\n');
    await writeFile(join(files, 'runner'), `00000000-0000-0000-0000-000000000000\n${line}\n`);
    expect((await command.info()).running).toBe(false);
    await rm(join(files, 'runner'));
    expect((await command.info()).running).toBe(true);
    const later = open(join(dir, 'commands'), { ...systemClock, now: () => Date.now() + 60_000 });
    expect((await (await later.attach(command.id)).info()).running).toBe(false);
    await command.kill();
  });

  it("the command's variables do not reach the host's own tools", async () => {
    const command = await commands.start('echo "$LD_PRELOAD|$PATH|$LC_ALL|$X"', {
      env: { LD_PRELOAD: '', PATH: '/nowhere:/usr/bin:/bin', X: "a'b\n" },
    });
    expect(await command.wait()).toEqual({ exitCode: 0, timedOut: false });
    expect(await textOf(command)).toBe("|/nowhere:/usr/bin:/bin||a'b\n\n");
  });

  it('forgets the oldest finished commands and none that runs', async () => {
    const few = open(join(dir, 'few'));
    const running = await few.start('sleep 1000');
    for (let round = 0; round < 40; round++) await (await few.start('true')).wait();
    const listed = await few.list();
    expect(listed.length).toBeLessThanOrEqual(35);
    expect(listed.some(({ id }) => id === running.id)).toBe(true);
    await running.kill();
  });

  it('refuses input after it was closed, and ends the input for the command', async () => {
    const command = await commands.start('cat; echo over', { stdin: true });
    await command.writeStdin('x\n');
    await command.closeStdin();
    await command.closeStdin();
    await expect(command.writeStdin('y')).rejects.toMatchObject({ code: 'CLOSED' });
    expect((await command.wait()).exitCode).toBe(0);
    expect(await textOf(command)).toBe('x\nover\n');
  });

  it('takes more input than a pipe holds, and stops when the command ends', async () => {
    const counting = await commands.start('wc -c', { stdin: true });
    await counting.writeStdin(Buffer.alloc(3 * MIB, 'x'));
    await counting.closeStdin();
    await counting.wait();
    expect((await textOf(counting)).trim()).toBe(String(3 * MIB));
    const deaf = await commands.start('sleep 0.3', { stdin: true });
    await expect(deaf.writeStdin(Buffer.alloc(3 * MIB))).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('leaves no directory behind when a start fails', async () => {
    const failing = open(join(dir, 'failing'));
    await expect(failing.start('true', { env: { 'not-a-name': 'x' } })).rejects.toMatchObject({ code: 'USAGE' });
    expect(await readdir(join(dir, 'failing'))).toEqual([]);
  });
});

function open(where: string, withClock: Clock = systemClock): BackgroundCommands {
  return new BackgroundCommands({
    dir: where,
    clock: withClock,
    launch({ command, env }) {
      const [file, ...args] = commandArgv(command);
      return { file, args, env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...env }, cwd: dir };
    },
    kill: async (tag, signal) => void (await killTagged({ tag }, signal)),
  });
}

/** Starts two commands from another Node process, which is then killed without warning. */
async function startInProcessThatDies(): Promise<readonly [string, string]> {
  const program = `
    import { BackgroundCommands } from ${JSON.stringify(new URL('./background-commands.ts', import.meta.url).href)};
    import { systemClock } from ${JSON.stringify(new URL('../../core/system-clock.ts', import.meta.url).href)};
    import { commandArgv } from ${JSON.stringify(new URL('./shell-quote.ts', import.meta.url).href)};
    const commands = new BackgroundCommands({
      dir: ${JSON.stringify(join(dir, 'commands'))},
      clock: systemClock,
      launch({ command }) { const [file, ...args] = commandArgv(command); return { file, args, env: { PATH: process.env.PATH } }; },
      kill: async () => undefined,
    });
    const beat = await commands.start('(while :; do echo beat; sleep 0.05; done) & read line; kill $!; exit 4', { stdin: true });
    const limited = await commands.start('sleep 1000', { timeoutMs: 1500 });
    process.stdout.write(beat.id + ' ' + limited.id + '\\n');
    setInterval(() => undefined, 1000);
  `;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  child.kill('SIGKILL');
  await once(child, 'exit');
  const [beat = '', limited = ''] = line.toString().trim().split(' ');
  return [beat, limited];
}

async function textOf(command: RunningCommand): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of command.stream('stdout')) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function diskBytes(command: RunningCommand): Promise<number> {
  const files = join(dir, 'commands', command.id);
  const sizes = await Promise.all((await readdir(files)).map(async (name) => (await stat(join(files, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
