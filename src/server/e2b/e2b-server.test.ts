/** Seen by E2B's own client, unmodified. */
import { type IncomingMessage, request } from 'node:http';
import { CommandExitError, FilesystemEventType, Sandbox, SandboxNotFoundError, type SandboxOpts } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requirement } from '../../../test/setup/requirements.ts';
import { type E2bService, startE2bService } from './e2b-service.fixture.ts';

const isThere = await requirement('namespace');
let service: E2bService;
let connection: { apiKey: string; apiUrl: string; sandboxUrl: string };

beforeAll(async () => {
  if (!isThere) return;
  service = await startE2bService();
  connection = { apiKey: service.apiKey, apiUrl: service.url, sandboxUrl: service.url };
});
afterAll(() => service?.close());

describe.runIf(isThere)("E2B's client", () => {
  it('creates, finds, lists and kills', async () => {
    const metadata = { team: 'a b&c=d/é', n: '1' };
    const sandbox = await Sandbox.create('base', { ...connection, metadata, timeoutMs: 60_000 });
    const info = await sandbox.getInfo();
    expect(info).toMatchObject({ sandboxId: sandbox.sandboxId, metadata, state: 'running' });
    const listed = await Sandbox.list({ ...connection, query: { metadata } }).nextItems();
    expect(listed.map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId]);
    expect(await Sandbox.list({ ...connection, query: { metadata: { team: 'b' } } }).nextItems()).toEqual([]);
    expect(await sandbox.isRunning()).toBe(true);
    expect(await sandbox.kill()).toBe(true);
    expect(await sandbox.kill()).toBe(false);
    expect(await sandbox.isRunning()).toBe(false);
    await expect(sandbox.commands.run('true')).rejects.toThrow(SandboxNotFoundError);
    await expect(Sandbox.connect(sandbox.sandboxId, connection)).rejects.toThrow(SandboxNotFoundError);
  });

  it('reads every page', async () => {
    service.setPageSize(2);
    const made = await Promise.all([1, 2, 3].map(() => Sandbox.create({ ...connection, metadata: { paged: 'yes' } })));
    const pages = Sandbox.list({ ...connection, query: { metadata: { paged: 'yes' } } });
    const seen = [];
    while (pages.hasNext) seen.push(...(await pages.nextItems()).map(({ sandboxId }) => sandboxId));
    expect(seen.toSorted()).toEqual(made.map(({ sandboxId }) => sandboxId).toSorted());
    service.setPageSize(100);
    await Promise.all(made.map((sandbox) => sandbox.kill()));
  });

  it('is refused with a bad key, an unknown template, bad metadata and too long a time', async () => {
    await expect(Sandbox.create({ ...connection, apiKey: 'e2b_00' })).rejects.toThrow(/Unauthorized/);
    await expect(Sandbox.create('nothing', connection)).rejects.toThrow(/template 'nothing' not found/);
    const metadata = { n: 1 } as unknown as Record<string, string>;
    await expect(Sandbox.create({ ...connection, metadata })).rejects.toThrow(/"metadata.n" must be a string/);
    await expect(Sandbox.create({ ...connection, timeoutMs: 25 * 3600_000 })).rejects.toThrow(/greater than 24 hours/);
    const network = { allowOut: ['example.com'], denyOut: ['0.0.0.0/0'] };
    await expect(Sandbox.create({ ...connection, network })).rejects.toThrow(/all or nothing/);
  });

  it('refuses a path that is none, and goes on', async () => {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request(service.url, { path: '//' }, resolve).on('error', reject).end();
    });
    answer.resume();
    expect(answer.statusCode).toBe(400);
    expect((await fetch(`${service.url}/sandboxes`)).status).toBe(401);
  });

  it('lets nobody into a sandbox without its token', async () => {
    await using guard = await made();
    const answer = await fetch(`${service.url}/files?path=/etc/hostname`, {
      headers: { 'e2b-sandbox-id': guard.sandbox.sandboxId, 'x-access-token': 'wrong' },
    });
    expect(answer.status).toBe(401);
  });

  it('runs commands: output, exit codes, input, variables, time-outs', async () => {
    await using guard = await made({ envs: { FROM: 'create' } });
    const { commands } = guard.sandbox;
    expect(await commands.run('echo out; echo err >&2; echo $FROM $CALL', { envs: { CALL: 'call' } })).toMatchObject({
      exitCode: 0,
      stdout: 'out\ncreate call\n',
      stderr: 'err\n',
    });
    const failed = await commands.run('exit 3').catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(CommandExitError);
    expect((failed as CommandExitError).exitCode).toBe(3);
    expect((await commands.run('pwd', { cwd: '/tmp' })).stdout).toBe('/tmp\n');
    await expect(commands.run('sleep 100', { timeoutMs: 300 })).rejects.toThrow(/timeoutMs/);
    // Its own clock may be a little ahead of the server's.
    await until(async () => (await commands.list()).length === 0);
  });

  it('runs in the background: input, joining by pid, killing', async () => {
    await using guard = await made();
    const { commands } = guard.sandbox;
    const echo = await commands.run('while read line; do echo "got $line"; done; echo closed', {
      background: true,
      stdin: true,
      timeoutMs: 0,
    });
    const joined = await commands.connect(echo.pid, { timeoutMs: 0 });
    await commands.sendStdin(echo.pid, 'x\n');
    await commands.closeStdin(echo.pid);
    expect((await echo.wait()).stdout).toBe('got x\nclosed\n');
    expect((await joined.wait()).stdout).toContain('closed\n');
    const sleeper = await commands.run('sleep 1000', { background: true, timeoutMs: 0 });
    await sleeper.disconnect();
    expect((await commands.list()).map(({ pid }) => pid)).toEqual([sleeper.pid]);
    expect(await commands.kill(sleeper.pid)).toBe(true);
    await until(async () => (await commands.list()).length === 0);
    expect(await commands.kill(sleeper.pid)).toBe(false);
  });

  it('has terminals', async () => {
    await using guard = await made();
    const { pty } = guard.sandbox;
    let seen = '';
    const terminal = await pty.create({
      cols: 80,
      rows: 24,
      timeoutMs: 0,
      onData: (data) => void (seen += Buffer.from(data).toString()),
    });
    await pty.resize(terminal.pid, { cols: 101, rows: 41 });
    await pty.sendInput(terminal.pid, Buffer.from('stty size; echo "it $((40+2))"; exit 0\n'));
    expect((await terminal.wait()).exitCode).toBe(0);
    expect(seen).toContain('41 101');
    expect(seen).toContain('it 42');
  });

  it('moves files in and out', async () => {
    await using guard = await made();
    const { files } = guard.sandbox;
    const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index & 255);
    await files.write('/tmp/a/b.bin', bytes.buffer);
    expect(await files.read('/tmp/a/b.bin', { format: 'bytes' })).toEqual(bytes);
    await files.write([
      { path: '/tmp/a/one', data: 'eins' },
      { path: '/tmp/a/two', data: new Blob(['zwei']).stream() },
    ]);
    expect((await files.list('/tmp/a')).map(({ name }) => name).toSorted()).toEqual(['b.bin', 'one', 'two']);
    expect(await files.read('/tmp/a/two')).toBe('zwei');
    expect(await files.makeDir('/tmp/a/dir')).toBe(true);
    expect(await files.makeDir('/tmp/a/dir')).toBe(false);
    await files.rename('/tmp/a/one', '/tmp/a/dir/moved');
    expect(await files.exists('/tmp/a/one')).toBe(false);
    expect((await files.list('/tmp/a', { depth: 2 })).map(({ path }) => path)).toContain('/tmp/a/dir/moved');
    expect(await files.getInfo('/tmp/a/dir/moved')).toMatchObject({ type: 'file', size: 4, permissions: '-rw-r--r--' });
    await files.remove('/tmp/a');
    expect(await files.exists('/tmp/a')).toBe(false);
    await expect(files.read('/tmp/none')).rejects.toThrow(/No such file/);
    await expect(files.read('/tmp')).rejects.toThrow(/directory/);
  });

  it('signs URLs', async () => {
    await using guard = await made();
    const { sandbox } = guard;
    await sandbox.files.write('/tmp/signed', 'secret');
    const url = await sandbox.downloadUrl('/tmp/signed', { useSignatureExpiration: 60 });
    expect(await (await fetch(url)).text()).toBe('secret');
    const forged = new URL(url);
    forged.searchParams.set('path', '/etc/hostname');
    expect((await fetch(forged)).status).toBe(502);
    const late = await sandbox.downloadUrl('/tmp/signed', { useSignatureExpiration: -5 });
    expect((await fetch(late)).status).toBe(502);
    const form = new FormData();
    form.append('file', new Blob(['uploaded']), 'x');
    await fetch(await sandbox.uploadUrl('/tmp/up'), { method: 'POST', body: form });
    expect(await sandbox.files.read('/tmp/up')).toBe('uploaded');
  });

  it('watches directories', async () => {
    await using guard = await made();
    const { files } = guard.sandbox;
    await files.makeDir('/tmp/watched/sub');
    const seen: string[] = [];
    const watch = await files.watchDir('/tmp/watched', ({ name, type }) => void seen.push(`${type} ${name}`), {
      recursive: true,
      timeoutMs: 0,
    });
    await files.write('/tmp/watched/sub/new', 'x');
    await until(async () => seen.includes(`${FilesystemEventType.CREATE} sub/new`));
    await files.remove('/tmp/watched/sub/new');
    await until(async () => seen.includes(`${FilesystemEventType.REMOVE} sub/new`));
    await watch.stop();
  });

  it('pauses with and without memory, and resumes by connecting', async () => {
    await using guard = await made();
    const { sandbox } = guard;
    const beat = await sandbox.commands.run('while :; do echo beat; sleep 0.05; done', {
      background: true,
      timeoutMs: 0,
    });
    expect(await sandbox.pause()).toBe(true);
    expect(await sandbox.pause()).toBe(false);
    expect((await sandbox.getInfo()).state).toBe('paused');
    await expect(sandbox.commands.run('true')).rejects.toThrow(SandboxNotFoundError);
    const again = await Sandbox.connect(sandbox.sandboxId, { ...connection, timeoutMs: 60_000 });
    expect((await again.commands.list()).map(({ pid }) => pid)).toContain(beat.pid);
    await again.files.write('/tmp/../workspace/kept', 'on disk');
    await sandbox.pause({ keepMemory: false });
    const rebooted = await Sandbox.connect(sandbox.sandboxId, connection);
    expect(await rebooted.commands.list()).toEqual([]);
    expect(await rebooted.files.read('/workspace/kept')).toBe('on disk');
  });

  it('has its time moved, ended, and cut short never by connecting', async () => {
    await using guard = await made({ timeoutMs: 600_000 });
    const { sandbox } = guard;
    await Sandbox.connect(sandbox.sandboxId, { ...connection, timeoutMs: 10_000 });
    expect((await sandbox.getInfo()).endAt.getTime()).toBeGreaterThan(Date.now() + 500_000);
    await sandbox.setTimeout(1_000);
    await until(async () => !(await sandbox.isRunning()));
    const paused = await Sandbox.create({ ...connection, timeoutMs: 1_000, lifecycle: { onTimeout: 'pause' } });
    await until(async () => (await paused.getInfo()).state === 'paused');
    await paused.kill();
  });

  it('gets figures', async () => {
    await using guard = await made();
    const [idle] = await guard.sandbox.getMetrics();
    expect(idle?.memUsed).toBeGreaterThan(0);
    await guard.sandbox.commands.run('i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done');
    const [busy] = await guard.sandbox.getMetrics();
    expect(busy?.cpuUsedPct).toBeGreaterThan(0);
  });
});

async function made(options: SandboxOpts = {}): Promise<{ sandbox: Sandbox } & AsyncDisposable> {
  const sandbox = await Sandbox.create({ ...connection, ...options });
  return { sandbox, [Symbol.asyncDispose]: async () => void (await sandbox.kill()) };
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 50));
}
