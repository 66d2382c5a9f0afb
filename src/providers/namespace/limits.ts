/** Limits that every process can be given without a cgroup. Pure. */
import { SubletError } from '../../core/errors.ts';
import type { Limits } from '../../core/spec.ts';

export const DEFAULT_PIDS = 2048;
/** The sandbox’s own and the way in take up to eight, an ordinary user’s one or two more, and a command some of its own. */
const MIN_PIDS = 16;
/** The kernel takes no less. */
const MIN_CPU_MILLIS = 10;

/** CONFIG_INVALID for what no sandbox can work with. How much memory one needs the kernel knows. */
export function checkLimits({ pids, cpuMillis }: Limits): void {
  const problems = [
    ...(pids !== undefined && pids < MIN_PIDS ? [`pids: ${pids} is too few, at least ${MIN_PIDS} are needed`] : []),
    ...(cpuMillis !== undefined && cpuMillis < MIN_CPU_MILLIS
      ? [`cpuMillis: ${cpuMillis} is too little, at least ${MIN_CPU_MILLIS} (--cpus 0.01) are needed`]
      : []),
  ];
  if (problems.length === 0) return;
  throw new SubletError('CONFIG_INVALID', `A sandbox cannot work within these limits: ${problems.join('; ')}.`);
}

/** A sandbox without limits of its own may not take the machine: half its memory, and a number of processes. */
export function defaultLimits(machineBytes: number): Limits {
  return { memoryBytes: Math.floor(machineBytes / 2), pids: DEFAULT_PIDS };
}

/**
 * A shell line for the host's sh, which fails when a limit does not hold. The process limit counts per user namespace, so it
 * holds for the sandbox as a whole; the data limit holds for each process and matters where no cgroup bounds the sum.
 */
export function limitScript(limits: Limits, hasMemoryCgroup: boolean): string {
  const lines = [limitLine(['-u', '-p'], limits.pids ?? DEFAULT_PIDS), 'ulimit -c 0'];
  if (limits.memoryBytes !== undefined && !hasMemoryCgroup)
    lines.push(limitLine(['-d'], Math.ceil(limits.memoryBytes / 1024)));
  return lines.join(' && ');
}

/** By whichever option this shell knows. One that is refused because this user has a tighter one holds all the same. */
function limitLine(options: readonly string[], value: number): string {
  const set = options.map((option) => `ulimit ${option} ${value} 2>/dev/null`).join(' || ');
  const read = options.map((option) => `ulimit -H ${option} 2>/dev/null`).join(' || ');
  return `{ ${set} || [ "$(${read})" -le ${value} ]; }`;
}
