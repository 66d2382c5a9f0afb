/** Signals that many may follow at once. */
import { setMaxListeners } from 'node:events';

/** A caller may end any number of commands and sandboxes with one signal: Node would take the eleventh listener for a leak. */
export function letManyFollow(signal: AbortSignal | undefined): void {
  if (signal !== undefined) setMaxListeners(0, signal);
}
