/** Whether a session has given its sandbox up for another. */
import type { SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';

/** True when the key is bound to another sandbox. */
export async function isReplaced(engine: Engine, { id, sessionKey }: SandboxRecord): Promise<boolean> {
  const bound = sessionKey === undefined ? undefined : await engine.ports.store.getSession(sessionKey);
  return bound !== undefined && bound.sandbox.id !== id;
}
