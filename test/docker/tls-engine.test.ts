/** A real engine behind TLS with certificates of both sides, as DOCKER_TLS_VERIFY and DOCKER_CERT_PATH name it. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer, type Server } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { dockerHost, dockerImage, requirement } from '../setup/requirements.ts';
import { openProvider, signal, specFor } from './providers.ts';

const MIB = 1024 * 1024;
const isOpenSslThere = await promisify(execFile)('openssl', ['version']).then(
  () => true,
  () => false,
);

// An authority, and for each of the two sides a key that it vouches for; then an authority that nobody knows.
const CERTIFICATES = `
set -e; cd "$1"; mkdir own other
authority() { openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$2" -keyout "$1/ca-key.pem" -out "$1/ca.pem"; }
vouch() {
  openssl req -newkey rsa:2048 -nodes -subj "/CN=$2" -keyout "$1/$3key.pem" -out "$1/$3.csr"
  printf 'subjectAltName=IP:127.0.0.1\\nextendedKeyUsage=serverAuth,clientAuth\\n' >ext
  openssl x509 -req -days 2 -in "$1/$3.csr" -CA "$1/ca.pem" -CAkey "$1/ca-key.pem" -CAcreateserial -extfile ext -out "$1/$3cert.pem"
}
authority own engine-authority; vouch own engine server-; vouch own client ''
authority other strange-authority; vouch other client ''
`;

describe.runIf((await requirement('docker')) && isOpenSslThere)('an engine behind TLS', () => {
  const before = { ...process.env };
  let dir = '';
  let server: Server;
  let host = '';

  beforeAll(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'sublet-tls-'));
    await promisify(execFile)('sh', ['-c', CERTIFICATES, 'sh', dir]);
    const pem = (name: string): Promise<Buffer> => readFile(path.join(dir, 'own', name));
    const [ca, cert, key] = await Promise.all([pem('ca.pem'), pem('server-cert.pem'), pem('server-key.pem')]);
    server = createServer(
      { ca, cert, key, requestCert: true, rejectUnauthorized: true, allowHalfOpen: true },
      (secure) => {
        const engine = connect({ path: new URL(dockerHost() ?? '').pathname, allowHalfOpen: true });
        secure.on('error', () => engine.destroy()).pipe(engine);
        engine.on('error', () => secure.destroy()).pipe(secure);
        secure.once('close', () => engine.destroy());
      },
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    host = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    for (const name of ['DOCKER_HOST', 'DOCKER_TLS_VERIFY', 'DOCKER_CERT_PATH']) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  });
  afterAll(async () => {
    server.close();
    await rm(dir, { recursive: true, force: true });
  });

  function trust(certificates: string): void {
    process.env['DOCKER_HOST'] = host;
    process.env['DOCKER_TLS_VERIFY'] = '1';
    process.env['DOCKER_CERT_PATH'] = path.join(dir, certificates);
  }

  it('is used as any other: commands with input, files small and large', async () => {
    trust('own');
    const provider = await openProvider({});
    const { commands, files } = await provider.create(specFor(dockerImage()), signal);
    expect((await commands.run('cat; echo err >&2; exit 3', { stdin: 'over tls' })).stdout).toBe('over tls');
    const content = Buffer.alloc(3 * MIB, 'sublet');
    await files.write('large', content);
    expect(Buffer.from(await files.read('large')).equals(content)).toBe(true);
    // Directories of this machine are not that machine's.
    const mounts = [{ source: tmpdir(), target: '/mnt/x' }];
    await expect(provider.create(specFor(dockerImage(), { mounts }), signal)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('another machine') as string,
    });
  });

  it('is not believed when a stranger vouches for it, and does not believe a stranger', async () => {
    trust('other');
    const refused = {
      code: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining(`DOCKER_HOST, ${host}`) as string,
    };
    await expect(openProvider({})).rejects.toMatchObject(refused);
  });

  it('is named with certificates that are not there: the error names one', async () => {
    trust('none');
    await expect(openProvider({})).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(path.join(dir, 'none/')) as string,
    });
  });
});
