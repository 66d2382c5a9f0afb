/** What is Docker's own: on a real engine, beyond the contract that every provider keeps. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { dockerHost, dockerImage, podmanHost, requirement } from '../../../test/setup/requirements.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { SandboxHandle, SandboxProvider, SandboxSpec } from '../../provider/provider.ts';
import type { ContainerDetails } from './docker-types.ts';
import { DockerApi } from './docker-api.ts';
import { findEngine } from './find-engine.ts';
import { provider as module } from './index.ts';
import { tarFile } from './tar-file.ts';

const engines = [
  { name: 'docker', host: dockerHost(), isThere: await requirement('docker') },
  { name: 'podman', host: podmanHost(), isThere: await requirement('podman') },
] as const;

const run = promisify(execFile);
const MIB = 1024 * 1024;

for (const { name, host, isThere } of engines) {
  describe.runIf(isThere)(`a sandbox on ${name}`, () => {
    const signal = AbortSignal.timeout(600_000);
    const opened: SandboxProvider[] = [];
    const made = new Set<string>();
    let api: DockerApi;
    let provider: SandboxProvider;

    beforeAll(async () => {
      api = new DockerApi(await findEngine(host, systemClock));
      provider = await open({});
    });
    afterEach(async () => {
      for (const each of made) await provider.destroy({ name: each }, signal);
      made.clear();
    });
    afterAll(async () => {
      for (const each of opened) await each.close();
      api.client.close();
    });

    async function open(options: Readonly<Record<string, unknown>>): Promise<SandboxProvider> {
      const log = { debug() {}, info() {}, warn() {} };
      const context = {
        stateDir: tmpdir(),
        clock: systemClock,
        log,
        options: { host, ...options },
        secret: () => undefined,
      };
      const instance = await module.open(context);
      opened.push(instance);
      return instance;
    }

    function spec(overrides: Partial<SandboxSpec> = {}): SandboxSpec {
      const id = `sublet-${crypto.randomUUID().slice(0, 13)}`;
      made.add(id);
      const image = dockerImage();
      return { name: id, labels: {}, kind: 'execution', image, network: 'none', ephemeral: false, ...overrides };
    }

    function inspect(
      sandbox: SandboxHandle,
    ): Promise<ContainerDetails & { readonly ExecIDs: readonly string[] | null }> {
      return api.inspect(sandbox.ref.name) as never;
    }

    it('does not show its variables to whoever may inspect it', async () => {
      const sandbox = await provider.create(spec({ env: { TOKEN: 's3cret-value' } }), signal);
      expect((await sandbox.commands.run('echo $TOKEN')).stdout).toBe('s3cret-value\n');
      expect(JSON.stringify(await inspect(sandbox))).not.toContain('s3cret-value');
    });

    it('drops capabilities and cannot gain privileges', async () => {
      const sandbox = await provider.create(spec(), signal);
      const status = (await sandbox.commands.run('grep -E "^(CapEff|NoNewPrivs)" /proc/self/status')).stdout;
      // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID.
      expect(status).toMatch(/CapEff:\t0*fb\nNoNewPrivs:\t1/);
    });

    it('ends with its maker when it is ephemeral', async () => {
      const maker = await open({});
      const wanted = spec({ ephemeral: true });
      const sandbox = await maker.create(wanted, signal);
      await sandbox.commands.run('sleep 1000 & echo left behind');
      expect((await sandbox.commands.run('echo still here')).stdout).toBe('still here\n');
      await maker.close();
      await expect.poll(() => provider.attach(sandbox.ref, signal), { timeout: 20_000 }).toBeUndefined();
    });

    it('keeps an ephemeral sandbox when only its handle is closed', async () => {
      const sandbox = await provider.create(spec({ ephemeral: true }), signal);
      await sandbox.close();
      expect((await sandbox.commands.run('echo alive')).stdout).toBe('alive\n');
    });

    it('says that it is lost when it was removed by hand', async () => {
      const sandbox = await provider.create(spec(), signal);
      await sandbox.commands.run('true');
      await api.remove(sandbox.ref.name);
      await expect(sandbox.commands.run('echo x')).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
      expect(await provider.attach(sandbox.ref, signal)).toBeUndefined();
      await provider.destroy(sandbox.ref, signal);
    });

    it('says that it does not run when it was stopped by hand', async () => {
      const sandbox = await provider.create(spec(), signal);
      await sandbox.commands.run('true');
      await api.stop(sandbox.ref.name, 1);
      await expect(sandbox.commands.run('echo x')).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
      await provider.start?.(sandbox.ref, signal);
      expect((await sandbox.commands.run('echo again')).stdout).toBe('again\n');
    });

    it('leaves a container alone that is not its own', async () => {
      const wanted = spec();
      made.delete(wanted.name);
      const body = {
        Image: dockerImage(),
        Cmd: ['sh'],
        WorkingDir: '/',
        Labels: {},
        OpenStdin: false,
        StdinOnce: false,
      };
      const foreign = await api.createContainer(wanted.name, { ...body, HostConfig: { NetworkMode: 'none' } } as never);
      try {
        expect(await provider.attach({ name: wanted.name }, signal)).toBeUndefined();
        await provider.destroy({ name: wanted.name }, signal);
        await expect(provider.create(wanted, signal)).rejects.toMatchObject({ code: 'CREATE_FAILED' });
        expect((await api.inspect(foreign)).Id).toBe(foreign);
      } finally {
        await api.remove(foreign);
      }
    });

    it('names the image that cannot be had', async () => {
      const image = 'localhost:1/sublet-no-such-image:1';
      const messages: string[] = [];
      const creating = provider.create(spec({ image, onProgress: (message) => void messages.push(message) }), signal);
      await expect(creating).rejects.toMatchObject({
        code: 'CREATE_FAILED',
        message: expect.stringContaining(image) as string,
      });
      expect(messages).toEqual([`Pulling the image ${image}.`]);
    });

    it('runs as another user, who owns the working directory and what is written', async () => {
      const other = await open({ user: '1234:1235' });
      const { commands, files } = await other.create(spec(), signal);
      expect((await commands.run('id -u; id -g; touch made && stat -c %u:%g made')).stdout).toBe(
        '1234\n1235\n1234:1235\n',
      );
      await files.write('small', 'x', { mode: 0o640 });
      await files.write('large', Buffer.alloc(2 * MIB, 7));
      expect((await commands.run('stat -c "%u:%g %a %s" small large')).stdout).toBe(
        `1234:1235 640 1\n1234:1235 644 ${2 * MIB}\n`,
      );
      await expect(files.write('/etc/large', Buffer.alloc(2 * MIB))).rejects.toMatchObject({ code: 'FILE_FAILED' });
      const background = await commands.start('id -u');
      await background.wait();
      expect(Buffer.from((await background.output('stdout', 0)).data).toString()).toBe('1234\n');
    });

    it('keeps owner and mode of a large file that is replaced, and writes through a link', async () => {
      const { commands, files } = await provider.create(spec(), signal);
      await commands.run('touch old && chmod 604 old && chown 77:78 old && ln -s real link');
      await files.write('old', Buffer.alloc(3 * MIB, 1));
      await files.write('link', Buffer.alloc(3 * MIB, 2));
      const facts = await commands.run('stat -c "%u:%g %a %s" old real; readlink link');
      expect(facts.stdout).toBe(`77:78 604 ${3 * MIB}\n0:0 644 ${3 * MIB}\nreal\n`);
    });

    it('works with a root that cannot be written', async () => {
      const other = await open({ readonlyRootfs: true });
      const { commands, files } = await other.create(spec(), signal);
      expect((await commands.run('touch /etc/x')).exitCode).not.toBe(0);
      await files.write('large', Buffer.alloc(2 * MIB, 3));
      await files.write('/tmp/in-memory', Buffer.alloc(2 * MIB, 4));
      expect((await commands.run('wc -c <large; wc -c </tmp/in-memory')).stdout).toBe(`${2 * MIB}\n${2 * MIB}\n`);
      const background = await commands.start('echo kept');
      await background.wait();
      expect(Buffer.from((await background.output('stdout', 0)).data).toString()).toBe('kept\n');
    });

    it('writes to a directory in memory', async () => {
      const { commands, files } = await provider.create(spec(), signal);
      await files.write('/dev/shm/large', Buffer.alloc(2 * MIB, 5));
      expect((await commands.run('wc -c </dev/shm/large')).stdout.trim()).toBe(String(2 * MIB));
    });

    it('refuses the engine’s socket, the whole machine, and links to them', async () => {
      const dir = await mkdtemp(join(tmpdir(), 'sublet-mounts-'));
      try {
        const socket = new URL(host ?? '').pathname;
        await run('ln', ['-s', socket, join(dir, 'way-in')]);
        await run('ln', ['-s', '/', join(dir, 'everything')]);
        for (const source of ['/', socket, join(dir, 'way-in'), join(dir, 'everything'), '/proc', '/no/such']) {
          const creating = provider.create(spec({ mounts: [{ source, target: '/mnt/x' }] }), signal);
          await expect(creating, source).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
        }
      } finally {
        await rm(dir, { recursive: true, force: true });
      }
    });

    it('runs many commands in few processes of the engine', async () => {
      const sandbox = await provider.create(spec(), signal);
      for (let index = 0; index < 300; index++) {
        expect((await sandbox.commands.run(`echo ${index}`)).stdout).toBe(`${index}\n`);
      }
      expect((await inspect(sandbox)).ExecIDs?.length ?? 0).toBeLessThan(5);
      expect(await sandbox.commands.list()).toEqual([]);
    });

    it('gives the whole output of commands that leave their input unread', async () => {
      const sandbox = await provider.create(spec(), signal);
      const inputs = Array.from({ length: 24 }, (_, index) => (index % 2 === 0 ? 'unread' : 'x'.repeat(200_000)));
      const work = inputs.values();
      const lane = async (): Promise<void> => {
        for (const stdin of work) {
          const { exitCode, stdout, stderr } = await sandbox.commands.run('echo all of it', { stdin });
          expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: 'all of it\n', stderr: '' });
        }
      };
      await Promise.all([lane(), lane(), lane()]);
      // Each had two processes of its own, which have ended but for those that wait for the next command.
      const inside = async (): Promise<number> =>
        Number((await sandbox.commands.run('ls -d /proc/[0-9]* | wc -l')).stdout);
      await expect.poll(inside, { timeout: 20_000 }).toBeLessThan(16);
    });

    it('keeps what a command left behind out of the next command’s output', async () => {
      const { commands } = await provider.create(spec(), signal);
      await commands.run('while :; do echo noise; echo noise >&2; sleep 0.01; done & sleep 0.05');
      for (let index = 0; index < 20; index++) {
        const result = await commands.run('echo clean; echo err >&2');
        expect([result.stdout, result.stderr]).toEqual(['clean\n', 'err\n']);
      }
    });

    it('takes the network away from new and from open connections, and keeps it away', async () => {
      const server = await provider.create(spec({ network: 'open' }), signal);
      const client = await provider.create(spec({ network: 'open' }), signal);
      expect(client.network).toBe('open');
      const address = new URL((await provider.portUrl?.(server.ref, 7000, signal)) ?? '').hostname;
      await server.files.write('index.html', 'served');
      await server.commands.start('nc -l -p 7000 -e tee -a heard');
      await server.commands.start('httpd -f -p 8080 -h .');
      const reach = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 ${address} 8080 | grep served`;
      expect((await client.commands.run(`until ${reach}; do sleep 0.05; done`, { timeoutMs: 10_000 })).exitCode).toBe(
        0,
      );
      const talking = await client.commands.start(`nc ${address} 7000`, { stdin: true });
      await talking.writeStdin('before\n');
      const echoed = await talking.output('stdout', 0, { wait: true });
      expect(Buffer.from(echoed.data).toString()).toBe('before\n');

      await provider.setNetwork?.(client.ref, 'none', signal);
      await talking.writeStdin('after\n').catch(() => undefined);
      expect((await client.commands.run(reach)).exitCode).not.toBe(0);
      expect((await client.commands.run('ls /sys/class/net')).stdout).toBe('lo\n');
      expect((await server.commands.run('sleep 1; cat heard')).stdout).toBe('before\n');

      await provider.stop?.(client.ref, signal);
      await provider.start?.(client.ref, signal);
      expect((await provider.attach(client.ref, signal))?.network).toBe('none');
      expect((await client.commands.run('ls /sys/class/net')).stdout).toBe('lo\n');
      await expect(provider.setNetwork?.(client.ref, 'open', signal)).rejects.toMatchObject({
        code: 'NETWORK_NOT_ENFORCEABLE',
      });
    });

    it('does not show this machine’s loopback to an open sandbox', async () => {
      const listener = createServer((socket) => socket.end('host')).listen(0, '127.0.0.1');
      try {
        await once(listener, 'listening');
        const { port } = listener.address() as AddressInfo;
        const { commands } = await provider.create(spec({ network: 'open' }), signal);
        const gateway = (await commands.run("ip route | sed -n 's/default via \\([^ ]*\\).*/\\1/p'")).stdout.trim();
        for (const address of ['127.0.0.1', gateway].filter((each) => each !== '')) {
          const result = await commands.run(`nc -w 2 ${address} ${port} </dev/null`, { timeoutMs: 10_000 });
          expect(result.stdout, address).toBe('');
        }
      } finally {
        listener.close();
      }
    });

    it('serves a port of an open sandbox, published or by its address', async () => {
      const publishing = await open({ ports: ['8080'] });
      for (const [maker, host] of [[publishing, '127.0.0.1'] as const, [provider, undefined] as const]) {
        const sandbox = await maker.create(spec({ network: 'open' }), signal);
        await sandbox.files.write('index.html', 'served from inside');
        const serving = await sandbox.commands.start('httpd -f -p 8080 -h .');
        const url = (await maker.portUrl?.(sandbox.ref, 8080, signal)) ?? '';
        if (host !== undefined) expect(new URL(url).hostname).toBe(host);
        const get = async (): Promise<string> =>
          fetch(url)
            .then((answer) => answer.text())
            .catch(() => '');
        await expect.poll(get, { timeout: 10_000 }).toBe('served from inside');
        await serving.kill();
      }
    });

    it('runs programs of an image without a shell, and says what cannot be', async () => {
      const image = `sublet-no-shell-${crypto.randomUUID().slice(0, 8)}:latest`;
      await importProgram(api, image);
      try {
        const plain = await open({ command: ['/bin/busybox', 'sleep', '1000'] });
        const { commands, files } = await plain.create(spec({ image }), signal);
        const result = await commands.run(['/bin/busybox', 'sh', '-c', 'echo $A; pwd; cat; exit 3'], {
          env: { A: 'b' },
          stdin: 'in',
        });
        expect([result.stdout, result.exitCode]).toEqual(['b\n/workspace\nin', 3]);
        expect((await commands.run(['no-such-program'])).exitCode).toBe(127);
        // Podman may drop what is said before the input is read; then that is said instead.
        const unread = await commands.run(['/bin/busybox', 'echo', 'x'], { stdin: 'unread' }).catch((error) => error);
        expect(unread).toMatchObject(
          name === 'podman' && 'code' in unread ? { code: 'PROVIDER_UNAVAILABLE' } : { stdout: 'x\n' },
        );
        await expect(commands.run('echo x')).rejects.toMatchObject({ code: 'UNSUPPORTED' });
        await expect(commands.start(['x'])).rejects.toMatchObject({ code: 'UNSUPPORTED' });
        await files.write('dir/a', 'content', { mode: 0o600 });
        expect(await files.readText('dir/a')).toBe('content');
        expect((await files.list('dir')).map((info) => [info.name, info.kind, info.sizeBytes, info.mode])).toEqual([
          ['a', 'file', 7, 0o600],
        ]);
        expect((await files.stat('dir')).kind).toBe('directory');
        expect(await files.exists('none')).toBe(false);
        await expect(files.read('none')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
        const refused = provider.create(spec({ image }), signal);
        await expect(refused).rejects.toMatchObject({
          code: 'CREATE_FAILED',
          hint: expect.stringContaining('docker.command') as string,
        });
      } finally {
        for (const each of made) await provider.destroy({ name: each }, signal);
        await api.client.json({ method: 'DELETE', path: `/images/${image}?force=true`, what: 'remove an image' });
      }
    });

    it('survives that every process inside is killed', async () => {
      const { commands } = await provider.create(spec(), signal);
      await commands.run('kill -9 -1').catch(() => undefined);
      expect((await commands.run('echo back')).stdout).toBe('back\n');
    });
  });
}

/** An image that holds one program and nothing else. */
async function importProgram(api: DockerApi, image: string): Promise<void> {
  const { stdout } = await run('sh', ['-c', 'command -v busybox']);
  const program = await readFile(stdout.trim());
  const [repo = '', tag = ''] = image.split(':');
  // In full, because Podman would take it for a name of this machine's own.
  const path = `/images/create?fromSrc=-&repo=docker.io/library/${repo}&tag=${tag}`;
  const header = { name: 'bin/busybox', mode: 0o755, uid: 0, gid: 0, sizeBytes: program.length, modifiedSeconds: 0 };
  const headers = { 'content-type': 'application/x-tar' };
  await api.client.upload({ method: 'POST', path, what: 'import an image', headers }, tarFile(header, [program]));
  await expect
    .poll(
      () =>
        api.inspectImage(image).then(
          () => true,
          () => false,
        ),
      { timeout: 10_000 },
    )
    .toBe(true);
}
