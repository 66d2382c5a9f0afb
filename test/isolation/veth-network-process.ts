/** A manager that is root on a host of its own, with an internet beyond it: connects sandboxes by pairs of devices, looks around, and says what it saw. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { systemClock } from '../../src/core/system-clock.ts';
import type { SandboxHandle } from '../../src/provider/provider.ts';
import { provider as module } from '../../src/providers/namespace/index.ts';
import { readRecord } from '../../src/providers/namespace/sandbox-record.ts';

export interface VethSeen {
  /** Whom a server beyond the host takes the sandbox for. */
  readonly source: string;
  /** What servers on addresses of the host's said, asked on any of them. */
  readonly host: string;
  /** The same, asked by the host itself. */
  readonly hostByItself: string;
  /** What a server in one sandbox said to another, and to the host. */
  readonly between: string;
  readonly inbound: string;
  readonly interfaces: string;
  /** Whether a stranger beyond the host may have it forward while a sandbox is connected. */
  readonly guarded: boolean;
  readonly sourceAfterPause: string;
  readonly sourceAfterStop: string;
  /** Bytes that came over one connection: before the cut, and at two moments after it. */
  readonly bytes: readonly number[];
  readonly processLives: boolean;
  readonly sourceAfterCut: string;
  /** Devices, rules and forwarding of the host: before, with a crashed sandbox, and in the end. */
  readonly traces: readonly string[];
}

const [stateDir = '', prefix = '', forwarding = ''] = process.argv.slice(2);
const signal = AbortSignal.timeout(50_000);
const log = { debug() {}, info() {}, warn() {} };
const context = { stateDir, clock: systemClock, log, options: { uplink: 'veth' }, secret: () => undefined };
const run = async (file: string, ...args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(file, args, { signal })).stdout;
const shell = (script: string): Promise<string> => run('bash', '-c', script);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const INTERNET = `
require('node:net').createServer((socket) => {
  const timer = setInterval(() => socket.write(socket.remoteAddress + '\\n'), 20);
  socket.on('error', () => {}).on('close', () => clearInterval(timer));
}).listen(7001, '203.0.113.1', () => console.log('ready'));
`;

async function makeHost(): Promise<ChildProcess> {
  await shell('ip link set lo up');
  await writeFile('/proc/sys/net/ipv4/ip_forward', forwarding);
  const beyond = spawn('unshare', ['--net', 'sleep', '60'], { stdio: 'ignore' });
  await once(beyond, 'spawn');
  await pause(200);
  const inside = `nsenter --net --target ${beyond.pid}`;
  await shell(`
    set -e
    ip link add first type veth peer name far netns ${beyond.pid}
    ip addr add 203.0.113.2/24 dev first && ip addr add 198.51.100.9/24 dev first && ip link set first up
    ip route add default via 203.0.113.1
    ${inside} ip addr add 203.0.113.1/24 dev far
    ${inside} ip link set far up && ${inside} ip link set lo up`);
  const server = spawn('nsenter', ['--net', '--target', String(beyond.pid), process.execPath, '-e', INTERNET]);
  await once(server.stdout, 'data');
  for (const [port, address] of [
    [7002, '127.0.0.1'],
    [7003, '203.0.113.2'],
    [7004, '0.0.0.0'],
    [7005, '::'],
  ] as const) {
    const listener = createServer((socket) => socket.on('error', () => undefined).end('host\n')).listen(port, address);
    await once(listener, 'listening');
    listener.unref();
  }
  // What the host would pass on to somebody beyond it is a service of the host's too.
  await shell(
    'iptables -t nat -A PREROUTING -d 198.51.100.9 -p tcp --dport 7006 -j DNAT --to-destination 203.0.113.1:7001',
  );
  process.once('exit', () => [server, beyond].forEach((child) => child.kill('SIGKILL')));
  return server;
}

const ask = (target: string): string => `timeout 2 bash -c 'exec 3<>/dev/tcp/${target} && head -n 1 <&3' 2>/dev/null`;
const inside = async (sandbox: SandboxHandle, script: string): Promise<string> =>
  (await sandbox.commands.run(script)).stdout;
const source = (sandbox: SandboxHandle): Promise<string> => inside(sandbox, ask('203.0.113.1/7001'));
const addressOf = async (sandbox: SandboxHandle): Promise<string> =>
  /inet ([\d.]+)/u.exec(await inside(sandbox, 'ip -4 addr show dev eth0'))?.[1] ?? '';

async function traces(): Promise<string> {
  const rules = await shell("iptables-save | grep ^- | sort; ip -o link | sed 's/.*: \\(.*\\)@.*/\\1/' | sort");
  return rules + (await readFile('/proc/sys/net/ipv4/conf/first/forwarding', 'utf8'));
}

await makeHost();
const provider = await module.open(context);
const create = (name: string): Promise<SandboxHandle> =>
  provider.create({ name: prefix + name, labels: {}, kind: 'execution', network: 'open', ephemeral: false }, signal);
// Chains appear with the first rule, so that what is there before is a state that can come back.
const before = await traces();

const one = await create('one');
const two = await create('two');
const seenSource = await source(one);
const gateway = /via ([\d.]+)/u.exec(await inside(one, 'ip -4 route show default'))?.[1] ?? '';
const local = ['127.0.0.1', '203.0.113.2', '198.51.100.9', gateway, '::1', 'fe80::1%eth0'];
const ports = [7002, 7003, 7004, 7005, 7006];
const askAll = local.flatMap((address) => ports.map((port) => `${ask(`${address}/${port}`)} &`)).join(' ') + ' wait';
const host = await inside(one, askAll);
const hostByItself = await shell(askAll);
const serve = `import socketserver as s
class H(s.BaseRequestHandler):
  def handle(self): self.request.sendall(b'sandbox\\n')
s.TCPServer(('0.0.0.0', 7007), H).serve_forever()`;
await two.commands.start(['python3', '-c', serve]);
const other = await addressOf(two);
for (let tries = 0; tries < 100 && (await inside(two, ask('127.0.0.1/7007'))) === ''; tries++) await pause(50);
const between = await inside(one, ask(`${other}/7007`));
const inbound = await shell(`${ask(`${other}/7007`)} || true`);
const interfaces = await inside(one, "ip -6 addr show dev eth0; ip -o link | cut -d: -f2 | cut -d@ -f1 | tr -d ' '");
const guarded = (await shell('iptables -S FORWARD')).includes('sublet-forwarding:first');

await provider.pause?.(one.ref, signal);
await provider.resume?.(one.ref, signal);
const sourceAfterPause = await source(one);
await provider.stop?.(two.ref, signal);
await provider.start?.(two.ref, signal);
const again = (await provider.attach(two.ref, signal)) as SandboxHandle;
const sourceAfterStop = await source(again);

const command = await one.commands.start(['bash', '-c', 'exec 3<>/dev/tcp/203.0.113.1/7001; cat <&3']);
await command.output('stdout', 0, { wait: true });
const count = async (): Promise<number> => (await command.output('stdout', 0)).next;
const atCut = await count();
await provider.setNetwork?.(one.ref, 'none', signal);
const bytes = [atCut, await pause(300).then(count), await pause(500).then(count)];
const processLives = (await command.info()).running;
const sourceAfterCut = await source(one);

// A sandbox that ends from outside leaves its rules to whoever destroys it.
const { init } = (await readRecord(stateDir, again.ref.name)) ?? {};
process.kill(init?.pid as number, 'SIGKILL');
const crashed = await traces();
await (await module.open(context)).destroy(again.ref, signal);
await provider.destroy(one.ref, signal);
const seen: VethSeen = {
  source: seenSource,
  host,
  hostByItself,
  between,
  inbound,
  interfaces,
  guarded,
  sourceAfterPause,
  sourceAfterStop,
  bytes,
  processLives,
  sourceAfterCut,
  traces: [before, crashed, await traces()],
};
await provider.close();
process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit());
