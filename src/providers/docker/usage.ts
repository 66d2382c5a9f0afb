/** The engine's statistics as metrics. Pure. */
import type { SandboxMetrics } from '../../core/spec.ts';
import type { ContainerStats } from './docker-types.ts';

/** An engine without a limit answers with the largest number there is. */
const NO_LIMIT = 2 ** 52;

export function toMetrics(stats: ContainerStats): SandboxMetrics {
  const { cpu_stats: cpu, memory_stats: memory, pids_stats: pids } = stats;
  const nanoseconds = cpu?.cpu_usage?.total_usage;
  // What is cached from files can be taken back; cgroup v1 and v2 name it differently.
  const cache = memory?.stats?.['total_inactive_file'] ?? memory?.stats?.['inactive_file'] ?? 0;
  return {
    cpuMs: nanoseconds === undefined ? undefined : Math.round(nanoseconds / 1_000_000),
    memoryBytes: memory?.usage === undefined ? undefined : Math.max(0, memory.usage - cache),
    memoryLimitBytes: limit(memory?.limit),
    processes: pids?.current,
    processLimit: limit(pids?.limit),
  };
}

function limit(value: number | undefined): number | undefined {
  return value === undefined || value === 0 || value >= NO_LIMIT ? undefined : value;
}
