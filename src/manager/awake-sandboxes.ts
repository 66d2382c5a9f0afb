/** Sandboxes on record as resting that their provider has running, or paused instead of stopped: whoever put them to rest died on the way. */
import type { ReapVerdict } from '../core/api.ts';
import { judgeAwake } from '../core/recovery.ts';
import type { SandboxRecord } from '../store/records.ts';
import { describe } from './engine.ts';
import { restAgain } from './move-sandbox.ts';
import type { Pass } from './reconcile-pass.ts';
import { sight } from './reconcile-pass.ts';
import { toReapVerdict } from './settle-sandbox.ts';

export function isAtRest(record: SandboxRecord): record is SandboxRecord & { readonly state: 'paused' | 'stopped' } {
  return record.state === 'paused' || record.state === 'stopped';
}

/** Seen twice, because who wakes one tells the provider before the record. */
export async function judgeAwakeSandboxes(
  pass: Pass,
  awake: readonly SandboxRecord[],
): Promise<readonly ReapVerdict[]> {
  const sightings = await sight(
    pass,
    'awake',
    awake.map(({ name }) => name),
  );
  const verdicts: ReapVerdict[] = [];
  for (const record of awake.filter(isAtRest)) {
    const now = pass.engine.now();
    const { count = 1, firstAt = now } = sightings.get(record.name) ?? {};
    const verdict = judgeAwake({ sightings: count, firstAt, now }, record.state);
    const told = toReapVerdict(record, verdict);
    const isDue = verdict.action !== 'watch' && !pass.dryRun;
    const error = isDue ? await restAgain(pass.engine, record).then(() => undefined, describe) : undefined;
    verdicts.push(error === undefined ? told : { ...told, error });
  }
  return verdicts;
}
