/** A use said that the sandbox is gone or does not run: what its provider says of it goes on record. */
import { SubletError } from '../core/errors.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import { markLost } from './mark-lost.ts';
import { restAsFound } from './move-sandbox.ts';
import { callProvider } from './provider-call.ts';

/** True when it does not run, and its row says so. Without an answer nothing is written: unknown is not gone. */
export async function recordEnd(engine: Engine, record: SandboxRecord): Promise<boolean> {
  try {
    const found = await callProvider(engine, record, 'attach', (provider, ref, signal) => provider.attach(ref, signal));
    if (found === undefined) return (await markLost(engine, record)) !== undefined;
    await found.close();
    if (found.state !== 'stopped') return false;
    const cause = 'its processes had ended; its files are kept';
    return (await restAsFound(engine, record, 'stopped', cause)) !== undefined;
  } catch (cause) {
    if (!SubletError.is(cause)) throw cause;
    engine.ports.log.debug({ sandboxId: record.id, error: describe(cause) }, 'not known whether it still runs');
    return false;
  }
}
