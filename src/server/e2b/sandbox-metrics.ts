/** What a sandbox uses, in the service's terms. */
import type { SandboxMetrics } from '../../core/spec.ts';

/** Remembers the last look at one sandbox: processor time used so far becomes the share of a processor since then. */
export class MetricsGauge {
  #last: { readonly cpuMs: number; readonly at: number } | undefined;

  read(metrics: SandboxMetrics, now: number): Readonly<Record<string, unknown>> {
    const { cpuMs } = metrics;
    const last = this.#last;
    if (cpuMs !== undefined) this.#last = { cpuMs, at: now };
    const share =
      cpuMs === undefined || last === undefined || now <= last.at ? 0 : (cpuMs - last.cpuMs) / (now - last.at);
    return {
      timestamp: new Date(now).toISOString(),
      timestampUnix: Math.floor(now / 1000),
      cpuCount: 1,
      cpuUsedPct: Math.max(0, Math.round(share * 10_000) / 100),
      memUsed: metrics.memoryBytes ?? 0,
      memTotal: metrics.memoryLimitBytes ?? 0,
      memCache: 0,
      diskUsed: metrics.diskBytes ?? 0,
      diskTotal: metrics.diskLimitBytes ?? 0,
    };
  }
}
