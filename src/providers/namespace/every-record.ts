/** The records of all sandboxes on this host, one after the other. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import { sandboxPaths } from './layout.ts';
import { removeReserved } from './remains.ts';
import { readRecord, recordNames, type SandboxRecord } from './sandbox-record.ts';

/** A name that never got a record goes when it is old. What cannot be read is told, and left as it is: its processes may run. */
export async function* everyRecord(stateDir: string, log: ProviderContext['log']): AsyncIterable<SandboxRecord> {
  for (const name of await recordNames(stateDir)) {
    const record = await readRecord(stateDir, name).catch((error: unknown) => {
      log.warn({ name, error: String(error) }, 'a sandbox is left out of the list');
      return 'in doubt' as const;
    });
    if (record === undefined) await removeReserved(sandboxPaths(stateDir, name).dir);
    else if (record !== 'in doubt') yield record;
  }
}
