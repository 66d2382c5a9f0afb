/** An event as a line: when, what, to whom and why. */
import type { SubletEvent } from '../../core/events.ts';
import { printable } from './printable.ts';

/** `withSubject`: also which sandbox and session, and the number to go on from. */
export function renderEvent(event: SubletEvent, withSubject: boolean): string {
  const { seq, at, type, sandboxId, sessionKey, cause } = event;
  const subject = [sandboxId, sessionKey].filter((part) => part !== undefined).join(' ');
  const [number, who] = withSubject ? [`${seq}  `, `  ${subject}`] : ['', ''];
  const line = `${number}${new Date(at).toISOString()}  ${type.padEnd(18)}${who}  ${cause}`;
  return `${printable(line).trimEnd()}\n`;
}
