/** Takers of a pool: each takes, runs `echo`, releases, again and again. */
import { readFile } from 'node:fs/promises';
import type { Sublet } from 'sublet';
import { distribution, type Distribution } from './measure.ts';

const ECHO = ['/bin/echo', 'hi'];

export interface Load {
  readonly pool: string;
  readonly takers: number;
  /** Until this many leases were begun, or this long has passed. */
  readonly leases?: number;
  readonly ms?: number;
  readonly runsEcho: boolean;
}

export interface LoadResult {
  /** How long a caller waited for its lease. */
  readonly lease: Distribution;
  readonly perSecond: number;
  /** Processor time of the whole machine for each lease: sandboxes are processes of their own. */
  readonly cpuMs: number;
}

export async function runLoad(sublet: Sublet, load: Load): Promise<LoadResult> {
  const { leases = Infinity, ms = Infinity } = load;
  const times: number[] = [];
  const cpuBefore = await machineCpuMs();
  const startedAt = performance.now();
  let begun = 0;
  const take = async (): Promise<void> => {
    while (begun < leases && performance.now() - startedAt < ms) {
      begun += 1;
      const askedAt = performance.now();
      const lease = await sublet.lease(load.pool, { timeoutMs: 120_000 });
      times.push(performance.now() - askedAt);
      if (load.runsEcho) await lease.commands.run(ECHO);
      await lease.release();
    }
  };
  await Promise.all(Array.from({ length: load.takers }, take));
  const elapsedMs = performance.now() - startedAt;
  const cpuMs = ((await machineCpuMs()) - cpuBefore) / times.length;
  return { lease: distribution(times), perSecond: (times.length * 1000) / elapsedMs, cpuMs };
}

/** All that the machine's processors have worked since it began. */
async function machineCpuMs(): Promise<number> {
  const [first = ''] = (await readFile('/proc/stat', 'utf8')).split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = first.split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softIrq) * 10;
}
