/** Moves 1 GiB into a container and out again, and tells by how much the process grew at its worst: `big-files.fixture.ts HOST IMAGE`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { systemClock } from '../../src/core/system-clock.ts';
import { provider as module } from '../../src/providers/docker/index.ts';

const BYTES = 2 ** 30;
const MIB = 2 ** 20;
const CHUNK = Buffer.alloc(256 * 1024, 'sublet');
const signal = new AbortController().signal;

const [, , host = '', image = ''] = process.argv;
const log = { debug() {}, info() {}, warn() {} };
const context = { stateDir: '/tmp', clock: systemClock, log, options: { host }, secret: () => undefined };
const provider = await module.open(context);
const name = `sublet-big-${crypto.randomUUID().slice(0, 8)}`;
try {
  const spec = { name, labels: {}, kind: 'execution', image, network: 'none', ephemeral: false } as const;
  const { files } = await provider.create(spec, signal);
  // Once for all that is loaded and grown only once.
  await files.write('warm-up', chunks(8 * MIB));
  for await (const _chunk of files.readStream('warm-up'));
  const inMib = await growth(() => files.write('big', chunks(BYTES)));
  let seen = 0;
  const outMib = await growth(async () => {
    for await (const chunk of files.readStream('big')) seen += chunk.length;
  });
  process.send?.({ inMib, outMib, seen });
} finally {
  await provider.destroy({ name }, signal);
  await provider.close();
}

async function* chunks(bytes: number): AsyncGenerator<Uint8Array> {
  for (let left = bytes; left > 0; left -= CHUNK.length) yield CHUNK.subarray(0, Math.min(left, CHUNK.length));
}

/** MiB at the kernel's own peak over what was there before. */
async function growth(work: () => Promise<unknown>): Promise<number> {
  writeFileSync('/proc/self/clear_refs', '5');
  const before = status('VmRSS');
  await work();
  return (status('VmHWM') - before) / 1024;
}

function status(field: string): number {
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}
