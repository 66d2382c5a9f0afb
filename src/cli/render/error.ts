/** An error as the user sees it: the code, what happened, what to do now. */
import { ERROR_CODES, type SubletError } from '../../core/errors.ts';
import type { Colours } from './colours.ts';
import { printableLines } from './printable.ts';

/** `sublet: CODE: message` and the hint, indented. A fault of ours shows its stack when `debug`. */
export function renderError(error: SubletError, colours: Colours, debug: boolean): string {
  const [first = '', ...more] = printableLines(error.message).split('\n');
  const lines = [`sublet: ${colours('bad', error.code)}: ${first}`, ...more];
  const hint = error.hint ?? (error.code === 'INTERNAL' ? 'SUBLET_LOG=debug shows where it happened.' : undefined);
  if (hint !== undefined)
    lines.push(
      ...printableLines(hint)
        .split('\n')
        .map((line) => `  ${line}`),
    );
  if (debug && error.stack !== undefined) lines.push(colours('dim', stackOf(error)));
  return `${lines.join('\n')}\n`;
}

export function exitStatusOf(error: SubletError): number {
  return ERROR_CODES[error.code].exit;
}

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\nCaused by: ${stackOf(error.cause)}` : '';
  return `${error.stack ?? error.message}${cause}`;
}
