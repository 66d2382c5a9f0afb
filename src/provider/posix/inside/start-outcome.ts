/** Whether a background command was started, from what the script that starts it said. Pure. */
import type { CommandResult } from '../../../core/commands.ts';
import { SubletError } from '../../../core/errors.ts';
import { TOOL_MISSING } from './background-scripts.ts';

/** PROVIDER_UNAVAILABLE, or UNSUPPORTED naming the program that the image lacks. */
export function assertStarted({ exitCode, stderr }: CommandResult): void {
  if (exitCode === 0) return;
  const reason = stderr.trim();
  if (exitCode === TOOL_MISSING) {
    throw new SubletError('UNSUPPORTED', `Background commands need the program ${reason}, which the sandbox lacks.`, {
      hint: 'Use run(), or an image with coreutils or busybox.',
    });
  }
  throw new SubletError('PROVIDER_UNAVAILABLE', `The command could not be started in the background: ${reason}`, {
    hint: 'Background commands keep their output under /tmp, which must be writable.',
  });
}
