/**
 * A process that takes 1 GiB of output one way and says by how many MiB its memory grew at the worst moment, as the
 * kernel counts it. The same way has taken 64 MiB before: what a process needs once is no growth.
 */
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import type { Session } from 'sublet';
import { withSublet } from './scratch-home.ts';

export type OutputPath = 'run' | 'callback' | 'stream' | 'bare';

const MIB = 1024 * 1024;
const WARM_UP_BYTES = 64 * MIB;
const BYTES = 1024 * MIB;
const PACE_BYTES = 2 * MIB;

const outputPath = process.argv[2] as OutputPath;
process.send?.(
  outputPath === 'bare'
    ? await growth(takeBare)
    : await withSublet(async (sublet) => {
        const session = await sublet.session({ user: 'bench', task: 'memory' });
        return growth((bytes) => take(session, outputPath, bytes));
      }),
);
process.disconnect?.();

async function growth(takeOutput: (bytes: number) => Promise<number>): Promise<number> {
  await takeNearly(takeOutput, WARM_UP_BYTES);
  const before = process.memoryUsage.rss();
  // The kernel forgets the highest use so far.
  await writeFile('/proc/self/clear_refs', '5');
  await takeNearly(takeOutput, BYTES);
  return ((await peakBytes()) - before) / MIB;
}

/** A stream's reader that is held up by a busy machine misses some; much less than all would be another measurement. */
async function takeNearly(takeOutput: (bytes: number) => Promise<number>, bytes: number): Promise<void> {
  const taken = await takeOutput(bytes);
  if (taken < bytes * 0.9) throw new Error(`${taken} bytes came of ${bytes}.`);
}

async function take({ commands }: Session, way: OutputPath, bytes: number): Promise<number> {
  const command = ['head', '-c', String(bytes), '/dev/zero'];
  let taken = 0;
  if (way === 'run') return (await commands.run(command)).stdoutBytes;
  if (way === 'callback') {
    await commands.run(command, { onStdout: (chunk) => void (taken += chunk.length) });
    return taken;
  }
  const running = await commands.start(paced(bytes));
  for await (const chunk of running.stream('stdout')) taken += chunk.length;
  return taken;
}

/** A background command does not wait for its readers, and only the newest output is kept: a pace that a reader keeps up with. */
function paced(bytes: number): string {
  return `i=0; while [ $i -lt ${bytes / PACE_BYTES} ]; do head -c ${PACE_BYTES} /dev/zero; sleep 0.05; i=$((i + 1)); done`;
}

function takeBare(bytes: number): Promise<number> {
  const child = spawn('head', ['-c', String(bytes), '/dev/zero'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let taken = 0;
  child.stdout.on('data', (chunk: Buffer) => (taken += chunk.length));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => resolve(taken));
  });
}

async function peakBytes(): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
