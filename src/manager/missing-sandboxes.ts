/** Sandboxes on record that a provider did not list. */
import type { ReapVerdict } from '../core/api.ts';
import type { Verdict } from '../core/recovery.ts';
import { judgeMissing } from '../core/recovery.ts';
import type { SandboxRecord } from '../store/records.ts';
import { describe } from './engine.ts';
import { markLost } from './mark-lost.ts';
import { callProvider } from './provider-call.ts';
import type { Pass } from './reconcile-pass.ts';
import { sight } from './reconcile-pass.ts';
import { toReapVerdict } from './settle-sandbox.ts';

const AT_ONCE = 8;

/** A list may lag behind, so each is asked for by itself; only what is gone by both, in two passes, is lost. */
export async function judgeMissingSandboxes(
  pass: Pass,
  unlisted: readonly SandboxRecord[],
): Promise<readonly ReapVerdict[]> {
  const gone: SandboxRecord[] = [];
  const verdicts: ReapVerdict[] = [];
  for (let from = 0; from < unlisted.length; from += AT_ONCE) {
    const batch = unlisted.slice(from, from + AT_ONCE);
    const facts = await Promise.all(batch.map((record) => ask(pass, record)));
    for (const [index, record] of batch.entries()) {
      const fact = facts[index];
      if (fact === undefined) gone.push(record);
      else verdicts.push(toReapVerdict(record, fact));
    }
  }
  const sightings = await sight(
    pass,
    'missing',
    gone.map(({ name }) => name),
  );
  for (const record of gone) {
    const now = pass.engine.now();
    const { count = 1, firstAt = now } = sightings.get(record.name) ?? {};
    const verdict = judgeMissing({ sightings: count, firstAt, now });
    if (verdict.action === 'mark-lost' && !pass.dryRun) await markLost(pass.engine, record);
    verdicts.push(toReapVerdict(record, verdict));
  }
  return verdicts;
}

/** undefined when the provider is certain that it is gone. */
async function ask({ engine }: Pass, record: SandboxRecord): Promise<Verdict | undefined> {
  try {
    const handle = await callProvider(engine, record, 'attach', (provider, ref, signal) =>
      provider.attach(ref, signal),
    );
    await handle?.close();
    return handle && { action: 'keep', reason: 'the provider did not list it, but has it' };
  } catch (cause) {
    return { action: 'keep', reason: `the provider did not list it, and unknown is not gone: ${describe(cause)}` };
  }
}
