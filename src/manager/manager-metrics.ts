/** Counts by kind and in total: what the store has, and what this process has not written yet. */
import type { KindMetrics, ManagerMetrics } from '../core/api.ts';
import { SANDBOX_KINDS } from '../core/session-key.ts';
import type { SandboxKind } from '../core/session-key.ts';
import type { SandboxState } from '../core/states.ts';
import type { CounterRow } from '../store/store.ts';
import type { Engine } from './engine.ts';

const ACTIVE_STATES: readonly SandboxState[] = ['creating', 'running', 'paused', 'stopped'];

export async function readMetrics(engine: Engine): Promise<ManagerMetrics> {
  const { store } = engine.ports;
  const [active, written] = await Promise.all([store.countSandboxes({ states: ACTIVE_STATES }), store.counters()]);
  return toManagerMetrics(active, [...written, ...engine.unwrittenCounts()]);
}

export function toManagerMetrics(
  active: Readonly<Record<SandboxKind, number>>,
  counters: readonly CounterRow[],
): ManagerMetrics {
  const kindMetrics = (kind: SandboxKind): KindMetrics => {
    const sum = (name: CounterRow['name']): number =>
      counters.filter((row) => row.kind === kind && row.name === name).reduce((total, row) => total + row.value, 0);
    return {
      active: active[kind],
      created: sum('created'),
      cleaned: sum('cleaned'),
      reused: sum('reused'),
      healthCheckFailures: sum('healthCheckFailures'),
    };
  };
  const kinds = { execution: kindMetrics('execution'), app: kindMetrics('app'), desktop: kindMetrics('desktop') };
  return { kinds, total: SANDBOX_KINDS.map((kind) => kinds[kind]).reduce(add) };
}

function add(a: KindMetrics, b: KindMetrics): KindMetrics {
  return {
    active: a.active + b.active,
    created: a.created + b.created,
    cleaned: a.cleaned + b.cleaned,
    reused: a.reused + b.reused,
    healthCheckFailures: a.healthCheckFailures + b.healthCheckFailures,
  };
}
