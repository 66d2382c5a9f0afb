/** A manager on a host whose network a test has made: opens a sandbox's network, looks around in it, cuts it, and says what it saw. */
import { provider as module } from '../../src/providers/namespace/index.ts';
import { systemClock } from '../../src/core/system-clock.ts';

export interface Seen {
  /** What the server on the host's other address said. */
  readonly other: string;
  /** What servers on the host's loopback said, at any address. */
  readonly loopback: string;
  /** Lines that came over one connection before the cut, and at two moments after it. */
  readonly lines: readonly number[];
  readonly processLives: boolean;
  readonly otherAfterwards: string;
}

const [stateDir = '', name = '', uplink = ''] = process.argv.slice(2);
const signal = AbortSignal.timeout(50_000);
const log = { debug() {}, info() {}, warn() {} };
const provider = await module.open({ stateDir, clock: systemClock, log, options: { uplink }, secret: () => undefined });
const sandbox = await provider.create(
  { name, labels: {}, kind: 'execution', network: 'open', ephemeral: true },
  signal,
);
const run = async (script: string): Promise<string> => (await sandbox.commands.run(script)).stdout;
const ask = (target: string): string => `timeout 2 bash -c 'exec 3<>/dev/tcp/${target} && head -n 1 <&3' 2>/dev/null`;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const other = await run(ask('10.98.0.1/7001'));
const addresses = [
  '127.0.0.1',
  '10.99.0.1',
  '10.99.0.2',
  '10.98.0.1',
  '10.0.2.2',
  '10.0.2.3',
  '169.254.1.1',
  '::1',
  'fe80::1',
];
const loopback = await run(
  addresses.flatMap((address) => [7002, 7003].map((port) => `${ask(`${address}/${port}`)} &`)).join(' ') + ' wait',
);
const command = await sandbox.commands.start(['bash', '-c', 'exec 3<>/dev/tcp/10.98.0.1/7001; cat <&3']);
await command.output('stdout', 0, { wait: true });
const count = async (): Promise<number> => (await command.output('stdout', 0)).next;
const before = await count();
await provider.setNetwork?.(sandbox.ref, 'none', signal);
const lines = [before, await pause(300).then(count), await pause(500).then(count)];
const processLives = (await command.info()).running;
const otherAfterwards = await run(ask('10.98.0.1/7001'));
const seen: Seen = { other, loopback, lines, processLives, otherAfterwards };
await provider.destroy(sandbox.ref, signal);
await provider.close();
process.stdout.write(`${JSON.stringify(seen)}\n`);
