/** Several processes may use a session's sandbox. When the one it follows goes, the last of the others that lives gets it. */
import type { OwnerId } from '../core/ids.ts';
import type { OwnerRecord, SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';

/** Of those who had it before its owner; undefined when all of them have left or died. */
export async function livingHeir(engine: Engine, { heirs }: SandboxRecord): Promise<OwnerRecord | undefined> {
  for (const ownerId of heirs.toReversed()) {
    const heir = await livingOwner(engine, ownerId);
    if (heir !== undefined) return heir;
  }
  return undefined;
}

/** Another process that is on record and not certainly dead. */
export async function livingOwner(engine: Engine, ownerId: OwnerId): Promise<OwnerRecord | undefined> {
  if (ownerId === engine.ownerId) return undefined;
  const owner = await engine.ports.store.getOwner(ownerId);
  return owner === undefined || (await engine.owners.judge(ownerId)) === 'dead' ? undefined : owner;
}

/** False when the row has changed, or when the heir left while it was being given to it: then it is as it was. */
export async function giveTo(engine: Engine, record: SandboxRecord, heir: OwnerRecord): Promise<boolean> {
  const { store } = engine.ports;
  const { id: ownerId, hostId, hostName } = heir;
  const heirs = record.heirs.filter((id) => id !== ownerId);
  const given = await store.patchSandbox(record.id, { ownerId, heirs, hostId, hostName }, record.version);
  if (given === undefined) return false;
  if ((await store.getOwner(ownerId)) !== undefined) return true;
  const { ownerId: giver, hostId: host, hostName: name } = record;
  await store.patchSandbox(record.id, { ownerId: giver, heirs, hostId: host, hostName: name }, given.version);
  return false;
}
