/** What every store refuses, in the same words. */
import { SubletError } from '../core/errors.ts';
import type { SandboxId } from '../core/ids.ts';
import type { SessionKey } from '../core/session-key.ts';

/** Databases end a text at NUL; two keys that differ only behind it would share a sandbox. */
export function checkKey(key: SessionKey): void {
  if (!key.includes('\0')) return;
  throw new SubletError('USAGE', 'A session key may not contain a NUL character.', {
    hint: 'Remove it from the user or task name.',
  });
}

export function duplicateSandbox(id: SandboxId): SubletError {
  return new SubletError('STATE_CONFLICT', `Sandbox ${id} is already recorded.`, {
    hint: 'Give every new sandbox an id of its own.',
    details: { sandboxId: id },
  });
}

export function storeClosed(): SubletError {
  return new SubletError('CLOSED', 'The store is closed.', { hint: 'Open it again.' });
}
