/** A command through each adapter of a service, against the same command through the service's bare SDK, over loopback. */
import { agentbayRow } from './adapters/agentbay.ts';
import { boxliteRow } from './adapters/boxlite.ts';
import { daytonaRows } from './adapters/daytona.ts';
import { e2bRow } from './adapters/e2b.ts';
import { runloopRow } from './adapters/runloop.ts';
import { langsmithRow } from './adapters/langsmith.ts';
import { modalRow } from './adapters/modal.ts';
import type { AdapterRow } from './adapters/adapter-row.ts';
import type { Result } from './figure.ts';
import { compare } from './measure.ts';

/** One or more for each adapter. */
const ROWS: readonly AdapterRow[] = [
  e2bRow,
  ...daytonaRows,
  runloopRow,
  agentbayRow,
  boxliteRow,
  langsmithRow,
  modalRow,
];
const ROUNDS = 200;

export async function measure(): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const row of ROWS) {
    const stage = await row.open();
    try {
      for (const { what, against, ours, bare } of stage.runs) {
        const compared = await compare({ ours, raw: bare, rounds: ROUNDS });
        const target = { of: 'ratio', atMost: 1.1 } as const;
        results.push({ name: `${row.id}: ${what}`, unit: 'ms', ...compared, against, target });
      }
    } finally {
      await stage.close();
    }
  }
  return results;
}
