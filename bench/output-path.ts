/**
 * A process that takes 256 MiB and then 1 GiB of output one way and says by how many MiB its memory grew at the worst
 * moment, as the kernel counts it. The same way has taken a little before: code that is loaded late is no growth.
 */
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { type Session, SubletError } from 'sublet';
import { withSublet } from './scratch-home.ts';

export type OutputPath = 'run' | 'callback' | 'stream' | 'bare';

/** MiB. */
export interface Growth {
  readonly total: number;
  /** What the 1 GiB took beyond the 256 MiB before. */
  readonly further: number;
}

const MIB = 1024 * 1024;
const WARM_UP_BYTES = 4 * MIB;
const BYTES = 1024 * MIB;
const STEP_BYTES = 4 * MIB;

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

async function growth(takeOutput: (bytes: number) => Promise<number>): Promise<Growth> {
  await takeAll(takeOutput, WARM_UP_BYTES);
  const before = process.memoryUsage.rss();
  const first = await peakDuring(() => takeAll(takeOutput, BYTES / 4));
  const second = await peakDuring(() => takeAll(takeOutput, BYTES));
  return { total: (Math.max(first, second) - before) / MIB, further: (second - first) / MIB };
}

/** Bytes. The kernel is told to forget the highest use so far. */
async function peakDuring(work: () => Promise<void>): Promise<number> {
  await writeFile('/proc/self/clear_refs', '5');
  await work();
  const status = await readFile('/proc/self/status', 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

async function takeAll(takeOutput: (bytes: number) => Promise<number>, bytes: number): Promise<void> {
  const taken = await takeOutput(bytes);
  if (taken !== bytes) throw new Error(`${taken} bytes came of ${bytes}.`);
}

async function take({ commands }: Session, way: OutputPath, bytes: number): Promise<number> {
  const command = ['head', '-c', String(bytes), '/dev/zero'];
  let taken = 0;
  if (way === 'run') return (await commands.run(command)).stdoutBytes;
  if (way === 'callback') {
    await commands.run(command, { onStdout: (chunk) => void (taken += chunk.length) });
    return taken;
  }
  return takeStream(commands, bytes);
}

/** A background command does not wait for its readers, and only the newest output is kept: one that falls behind goes on from there. */
async function takeStream(commands: Session['commands'], bytes: number): Promise<number> {
  const running = await commands.start(paced(bytes));
  let cursor = 0;
  let lost = 0;
  for (;;) {
    try {
      for await (const chunk of running.stream('stdout', { cursor })) cursor += chunk.length;
      // Much less than all would be another measurement.
      if (lost > (bytes * 3) / 4) throw new Error(`${lost} bytes of ${bytes} were lost.`);
      return cursor;
    } catch (error) {
      if (!SubletError.is(error, 'OUTPUT_LOST')) throw error;
      lost += error.details['lostBytes'] as number;
      cursor = error.details['next'] as number;
    }
  }
}

/** A pace that a reader keeps up with. */
function paced(bytes: number): string {
  return `i=0; while [ $i -lt ${bytes / STEP_BYTES} ]; do head -c ${STEP_BYTES} /dev/zero; sleep 0.04; i=$((i + 1)); done`;
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
