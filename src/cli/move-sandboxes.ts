/** The same move for each of several sandboxes: one failure does not keep the rest from moving. */
import type { SandboxInfo, Sandboxes } from '../core/api.ts';
import { toSubletError } from '../core/errors.ts';
import type { CommandContext } from './command.ts';
import { withProgress } from './progress.ts';
import { createColours } from './render/colours.ts';
import { exitStatusOf, renderError } from './render/error.ts';
import { toJsonLine } from './render/json-lines.ts';

export interface SandboxMove {
  readonly json: boolean;
  /** `Pausing`, for the progress line. */
  readonly doing: string;
  readonly move: (sandboxes: Sandboxes, id: string) => Promise<SandboxInfo>;
}

/** Prints each id as it is done; the status is the first failure's, else 0. */
export async function moveSandboxes(
  ids: readonly string[],
  context: CommandContext,
  { json, doing, move }: SandboxMove,
): Promise<number> {
  const { terminal, signal } = context;
  const { sandboxes } = await context.sublet();
  let status = 0;
  for (const id of ids) {
    signal.throwIfAborted();
    try {
      const info = await withProgress(terminal, `${doing} ${id}`, () => move(sandboxes, id));
      await terminal.write('stdout', json ? toJsonLine(info) : `${info.id}\n`);
    } catch (cause) {
      const error = toSubletError(cause, 'INTERNAL', signal);
      status ||= exitStatusOf(error);
      await terminal.write('stderr', renderError(error, createColours(terminal.colours('stderr')), false));
    }
  }
  return status;
}
