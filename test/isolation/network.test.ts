import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { SubletError } from '../../src/core/errors.ts';
import { canRun, openWorld, sh, signal } from './world.ts';

const world = await openWorld();
const servers: Server[] = [];
let connections = 0;

afterAll(() => servers.forEach((server) => server.close()));

async function listen(target: string | { host: string; port: number }): Promise<number> {
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => undefined).end('hello from the host\n');
  });
  servers.push(server);
  server.listen(target);
  await once(server, 'listening');
  return typeof target === 'string' ? 0 : (server.address() as AddressInfo).port;
}

const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
const targetsOf = (port: number, port6: number): string =>
  [
    '127.0.0.1',
    '127.0.0.53',
    '0.0.0.0',
    '10.0.2.2',
    '169.254.1.1',
    ...addresses.filter((each) => each.family === 'IPv4').map((each) => each.address),
  ]
    .map((address) => `${address}/${port}`)
    .concat(
      [
        '::1',
        ...addresses.filter((each) => each.family === 'IPv6' && each.scopeid === 0).map((each) => each.address),
      ].map((address) => `${address}/${port6}`),
    )
    .join(' ');
const script = (targets: string): string =>
  `for t in ${targets}; do timeout 2 bash -c "exec 3<>/dev/tcp/$t && cat <&3" 2>/dev/null; done; true`;

describe.runIf(canRun)('a sandbox without a network', () => {
  it('reaches no address of the host, loopback or other', async () => {
    const port = await listen({ host: '0.0.0.0', port: 0 });
    const port6 = await listen({ host: '::', port: 0 }).catch(() => port);
    const attempt = script(targetsOf(port, port6));
    const { stdout: onHost } = await promisify(execFile)('bash', ['-c', attempt]);
    expect(onHost).toContain('hello from the host');
    connections = 0;
    const sandbox = await world.create();
    expect((await sh(sandbox, attempt)).stdout).toBe('');
    expect(connections).toBe(0);
  });

  it('has its own loopback and no other interface', async () => {
    const sandbox = await world.create();
    expect((await sh(sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '")).stdout).toBe('lo\n');
    expect((await sh(sandbox, 'tail -n +2 /proc/net/route')).stdout).toBe('');
  });

  it('sees no abstract socket of the host', async () => {
    const name = `sublet-isolation-${process.pid}`;
    await listen(`\0${name}`);
    expect(await readFile('/proc/net/unix', 'utf8')).toContain(`@${name}`);
    const sandbox = await world.create();
    expect((await sh(sandbox, 'cat /proc/net/unix')).stdout).not.toContain(name);
    const connect = `import socket; socket.socket(socket.AF_UNIX).connect('\\0${name}'); print('connected')`;
    expect((await sandbox.commands.run(['python3', '-c', connect])).stdout).toBe('');
  });

  it('cannot be given one by its own doing', async () => {
    const sandbox = await world.create();
    expect((await sh(sandbox, 'ip link add veth0 type veth peer name veth1')).exitCode).not.toBe(0);
    expect((await sh(sandbox, 'ip addr add 192.0.2.9/24 dev lo')).exitCode).not.toBe(0);
    await expect(world.provider.setNetwork?.(sandbox.ref, 'open', signal)).rejects.toThrow(/cannot become open/u);
  });

  it('is refused an allow list, which could not be enforced', async () => {
    const error = await world.create({ network: 'allowlist' }).catch((cause: unknown) => cause);
    expect(SubletError.is(error, 'NETWORK_NOT_ENFORCEABLE')).toBe(true);
  });
});
