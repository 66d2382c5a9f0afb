/** Whether nothing is missing in the middle of an answer. Pure. */
import { SubletError } from '../../core/errors.ts';

const HEAD = /^[oe]{0,2} /;

/**
 * Answers are base64, in lines of one length but the last. The SDK goes on with a new connection when one breaks, and does not
 * tell that something was on its way.
 */
export function assertWhole(output: string): void {
  const lines = output.replace(HEAD, '').replace(/\n$/, '').split('\n');
  const [width, last] = [lines[0]?.length ?? 0, lines.at(-1)?.length ?? 0];
  if (last <= width && lines.slice(0, -1).every(({ length }) => length === width)) return;
  throw new SubletError('PROVIDER_UNAVAILABLE', 'BoxLite lost a part of the answer of a command.', {
    hint: 'Try again; look at the connection to the server.',
  });
}
