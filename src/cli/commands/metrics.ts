/** `sublet metrics`: the counters by kind, or what one sandbox uses. */
import type { KindMetrics } from '../../core/api.ts';
import type { SandboxMetrics } from '../../core/spec.ts';
import { defineCommand } from '../command.ts';
import { formatBytes, formatSpan } from '../render/amounts.ts';
import { toJsonLine } from '../render/json-lines.ts';
import { printTable } from '../render/print-table.ts';
import type { Column } from '../render/rows.ts';

type KindRow = KindMetrics & { readonly kind: string };

const KIND_COLUMNS: readonly Column<KindRow>[] = [
  { title: 'KIND', value: (row) => row.kind },
  { title: 'ACTIVE', value: (row) => String(row.active) },
  { title: 'CREATED', value: (row) => String(row.created) },
  { title: 'CLEANED', value: (row) => String(row.cleaned) },
  { title: 'REUSED', value: (row) => String(row.reused) },
  { title: 'HEALTH FAILURES', value: (row) => String(row.healthCheckFailures) },
];

const USE_COLUMNS: readonly Column<UseRow>[] = [
  { title: 'RESOURCE', value: (row) => row.resource },
  { title: 'USED', value: (row) => row.used },
  { title: 'LIMIT', value: (row) => row.limit },
];

export const command = defineCommand({
  summary: 'show counters, or what a sandbox uses',
  arguments: [{ name: 'ID', optional: true, isSandbox: true }],
  options: { json: { type: 'boolean', help: 'print a JSON object' } },
  examples: [
    ['sublet metrics', 'how many were made, reused and cleaned, by kind'],
    ['sublet metrics sbx_7k', 'processor, memory, disk and processes of one'],
  ],
  async run({ options, arguments: [id] }, { sublet, terminal }) {
    const engine = await sublet();
    if (id !== undefined) {
      const used = await engine.sandboxes.metrics(id);
      if (options.json) await terminal.write('stdout', toJsonLine(used));
      else await printTable(toUseRows(used), USE_COLUMNS, terminal);
      return 0;
    }
    const metrics = await engine.metrics();
    if (options.json) await terminal.write('stdout', toJsonLine(metrics));
    else {
      const kinds = Object.entries(metrics.kinds).map(([kind, counts]) => ({ kind, ...counts }));
      await printTable([...kinds, { kind: 'total', ...metrics.total }], KIND_COLUMNS, terminal);
    }
    return 0;
  },
});

interface UseRow {
  readonly resource: string;
  readonly used: string;
  readonly limit: string;
}

function toUseRows(used: SandboxMetrics): readonly UseRow[] {
  const text = (value: number | undefined, format: (value: number) => string): string =>
    value === undefined ? '' : format(value);
  return [
    { resource: 'cpu time', used: text(used.cpuMs, formatSpan), limit: '' },
    { resource: 'memory', used: text(used.memoryBytes, formatBytes), limit: text(used.memoryLimitBytes, formatBytes) },
    { resource: 'disk', used: text(used.diskBytes, formatBytes), limit: text(used.diskLimitBytes, formatBytes) },
    { resource: 'processes', used: text(used.processes, String), limit: text(used.processLimit, String) },
  ];
}
