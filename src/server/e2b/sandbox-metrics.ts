/** What a sandbox uses, in the service's terms. Pure. */
import type { SandboxMetrics } from '../../core/spec.ts';

export function toMetrics(metrics: SandboxMetrics, now: number): Readonly<Record<string, unknown>> {
  return {
    timestamp: new Date(now).toISOString(),
    timestampUnix: Math.floor(now / 1000),
    cpuCount: 1,
    // Of time used so far there is no share of now.
    cpuUsedPct: 0,
    memUsed: metrics.memoryBytes ?? 0,
    memTotal: metrics.memoryLimitBytes ?? 0,
    memCache: 0,
    diskUsed: metrics.diskBytes ?? 0,
    diskTotal: metrics.diskLimitBytes ?? 0,
  };
}
