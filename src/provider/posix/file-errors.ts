/** What a file tool said, as one of our errors. */
import { SubletError } from '../../core/errors.ts';

// A path that goes through a file leads nowhere; but making something there fails for another reason than absence.
const MISSING = /No such file|nonexistent|can't cd to|(?<!^mkdir: .*)Not a directory/i;

/** FILE_NOT_FOUND or FILE_FAILED, with the tool's own words. */
export function fileError(path: string, toolMessage: string): SubletError {
  const reason = toolMessage.trim().split('\n').at(-1) ?? '';
  const details = { path };
  if (MISSING.test(reason))
    return new SubletError('FILE_NOT_FOUND', `${path} does not exist in the sandbox (${reason}).`, { details });
  return new SubletError('FILE_FAILED', `${path}: ${reason}`, { details, hint: hintFor(reason) });
}

export function isMissing(error: unknown): boolean {
  return SubletError.is(error, 'FILE_NOT_FOUND');
}

function hintFor(reason: string): string | undefined {
  if (/Permission denied|Operation not permitted|Read-only/i.test(reason))
    return 'Choose a path the sandbox user may write, such as the working directory.';
  if (/No space|quota/i.test(reason)) return 'Remove files in the sandbox, or raise its disk limit.';
  return /Is a directory/i.test(reason) ? 'Name a file, or use list() for a directory.' : undefined;
}
