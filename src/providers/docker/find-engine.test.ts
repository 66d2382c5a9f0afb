import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, link, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ordinaryUser, requirement } from '../../../test/setup/requirements.ts';
import { systemClock } from '../../core/system-clock.ts';
import { ManualClock } from '../../testing/manual-clock.ts';
import { agreedVersion, EngineClient } from './engine-client.ts';
import { engineCandidates } from './engine-candidates.ts';
import { describeEndpoint, parseEndpoint } from './engine-endpoint.ts';
import { findEngine } from './find-engine.ts';
import { open } from '../../open.ts';

const hasOrdinaryUser = await requirement('user');
let home = '';
const servers: { close(): unknown }[] = [];
beforeEach(async () => (home = await mkdtemp(join(tmpdir(), 'dk-'))));
afterEach(async () => {
  for (const server of servers.splice(0)) server.close();
  await rm(home, { recursive: true, force: true });
});

async function listen(path: string, version = '1.41'): Promise<Server> {
  await mkdir(dirname(path), { recursive: true });
  const server = createServer((_request, answer) => answer.setHeader('api-version', version).end('OK')).listen(path);
  servers.push(server);
  await once(server, 'listening');
  return server;
}

async function found(host: string | undefined, env: Record<string, string> = {}): Promise<string> {
  const client = await findEngine(host, systemClock, { env, home });
  client.close();
  return client.address;
}

describe('the engine', () => {
  it('is the one the profile names, before all others', async () => {
    await listen(join(home, 'a.sock'));
    expect(await found(`unix://${home}/a.sock`, { DOCKER_HOST: 'unix:///nowhere' })).toBe(`unix://${home}/a.sock`);
  });

  it('is the one of DOCKER_HOST', async () => {
    await listen(join(home, 'b.sock'));
    expect(await found(undefined, { DOCKER_HOST: `unix://${home}/b.sock` })).toBe(`unix://${home}/b.sock`);
  });

  it('is the one of the Docker context', async () => {
    await listen(join(home, 'c.sock'));
    const meta = join(home, '.docker/contexts/meta', createHash('sha256').update('lab').digest('hex'), 'meta.json');
    await mkdir(dirname(meta), { recursive: true });
    await writeFile(meta, JSON.stringify({ Endpoints: { docker: { Host: `unix://${home}/c.sock` } } }));
    await writeFile(join(home, '.docker/config.json'), JSON.stringify({ currentContext: 'lab' }));
    expect(await found(undefined)).toBe(`unix://${home}/c.sock`);
    await expect(found(undefined, { DOCKER_CONTEXT: 'other' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('is looked for where rootless Docker, Docker Desktop, Colima and Podman listen', async () => {
    const candidates = await engineCandidates(undefined, {
      env: { XDG_RUNTIME_DIR: '/run/user/7' },
      home: '/home/ann',
    });
    expect(candidates.map(({ endpoint }) => describeEndpoint(endpoint))).toEqual([
      'unix:///run/user/7/docker.sock',
      'unix:///home/ann/.docker/run/docker.sock',
      'unix:///home/ann/.colima/default/docker.sock',
      'unix:///var/run/docker.sock',
      'unix:///run/user/7/podman/podman.sock',
      'unix:///run/podman/podman.sock',
    ]);
  });

  it.each(['run/docker.sock', '.docker/run/docker.sock', '.colima/default/docker.sock', 'run/podman/podman.sock'])(
    'is found at %s, past a socket where nobody listens any more',
    async (path) => {
      const stale = createNetServer().listen(join(home, 'stale.sock'));
      await once(stale, 'listening');
      await mkdir(join(home, 'run/podman'), { recursive: true });
      await mkdir(join(home, '.docker/run'), { recursive: true });
      // A name of the socket outlives its listener.
      for (const place of ['run/docker.sock', '.docker/run/docker.sock'])
        if (place !== path) await link(join(home, 'stale.sock'), join(home, place));
      stale.close();
      await listen(join(home, path));
      expect(await found(undefined, { XDG_RUNTIME_DIR: join(home, 'run') })).toBe(`unix://${home}/${path}`);
    },
  );

  it('is not there: the error says what was tried, and how to name one', async () => {
    const error = await found(`unix://${home}/none.sock`).catch((cause: unknown) => cause);
    expect(error).toMatchObject({
      code: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining(`the profile, unix://${home}/none.sock: there is no such socket`) as string,
      hint: expect.stringContaining('DOCKER_HOST') as string,
    });
  });

  it.runIf(hasOrdinaryUser)('may not be spoken to: the error says so, and how to be allowed', async () => {
    const { prefix } = ordinaryUser();
    const path = join(home, 'root.sock');
    await listen(path);
    await chmod(home, 0o755);
    // Whoever runs this owns the socket; nobody may open it unless they are root, whom nothing keeps out.
    await chmod(path, 0o000);
    const source = `
      import { findEngine } from ${JSON.stringify(join(import.meta.dirname, 'find-engine.ts'))};
      import { systemClock } from ${JSON.stringify(join(import.meta.dirname, '../../core/system-clock.ts'))};
      const error = await findEngine('unix://${path}', systemClock).catch((cause) => cause);
      console.log(JSON.stringify({ code: error.code, message: error.message, hint: error.hint }));`;
    const [program, ...words] = [...prefix, process.execPath, '--import', 'tsx', '--input-type=module', '-e', source];
    const { stdout } = await promisify(execFile)(program, words, { cwd: join(import.meta.dirname, '../../..') });
    expect(JSON.parse(stdout)).toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining(`unix://${path}: this user may not open it`) as string,
      hint: expect.stringContaining('docker group') as string,
    });
  });

  it('hangs: it is given up after a while', async () => {
    const path = join(home, 'hung.sock');
    const server = createNetServer().listen(path);
    servers.push(server);
    await once(server, 'listening');
    const clock = new ManualClock();
    const connected = once(server, 'connection');
    const connecting = EngineClient.connect({ kind: 'unix', path }, clock, { patienceMs: 5_000 });
    const failure = expect(connecting).rejects.toMatchObject({
      code: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('has not answered for 5 s') as string,
    });
    await connected;
    await clock.advance(5_000);
    await failure;
  });
});

describe('the version', () => {
  it.each([
    ['1.41', '1.41'],
    ['1.47', '1.47'],
    ['1.52', '1.47'],
    ['', '1.40'],
    ['2.1', '1.40'],
  ])('offered as %j is agreed as %s', (offered, agreed) => {
    expect(agreedVersion(offered)).toBe(agreed);
  });
});

describe('an address', () => {
  it.each([
    ['/x/docker.sock', 'unix:///x/docker.sock'],
    ['unix:///x/docker.sock', 'unix:///x/docker.sock'],
    ['tcp://engine', 'tcp://engine:2375'],
    ['tcp://[::1]:99', 'tcp://[::1]:99'],
    ['https://engine', 'tcp://engine:2376'],
  ])('%s is %s', (address, described) => {
    expect(describeEndpoint(parseEndpoint(address))).toBe(described);
  });

  it.each(['ssh://user@host', 'docker', 'unix://', 'fd://'])('%s is refused', (address) => {
    expect(() => parseEndpoint(address)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error);
  });
});

it('is the one of the variables that Sublet is opened with, not of the process', async () => {
  const env = { DOCKER_HOST: `unix://${home}/its-own.sock` };
  const sublet = await open({ home: join(home, 'sublet'), env, store: 'memory', handleSignals: false });
  try {
    await expect(sublet.run('true', { sandbox: 'docker' })).rejects.toMatchObject({
      message: expect.stringContaining(`DOCKER_HOST, ${env.DOCKER_HOST}`) as string,
    });
  } finally {
    await sublet.close();
  }
});
