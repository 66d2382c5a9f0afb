/** When the user no longer wants an answer: Ctrl-C, a request to end, or a reader that went away. */
import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import { SubletError } from '../core/errors.ts';

/** Nobody reads our output any more. Ends quietly. */
export class BrokenPipe extends Error {
  override readonly name = 'BrokenPipe';
}

/** A full disk, a terminal that is gone. */
export class OutputFailed extends SubletError {
  constructor(cause: Error) {
    super('OUTPUT_LOST', `The output cannot be written: ${cause.message}`, { cause });
  }
}

export interface GivingUp {
  readonly signal: AbortSignal;
  /** Output cannot be written: quietly when it is because nobody reads any more. */
  readonly outputFailed: (error: NodeJS.ErrnoException) => void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const STDERR = 2;

/** The first signal aborts, so that sandboxes are put away; the second ends the process at once and says what that means. */
export function watchForGivingUp(process: NodeJS.Process): GivingUp {
  const controller = new AbortController();
  const { signal } = controller;
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (!signal.aborted) {
        controller.abort(new SubletError('ABORTED', `Stopped by ${name}.`, { details: { signal: name } }));
        return;
      }
      // Standard error may be a full pipe: this must neither wait nor fail.
      try {
        writeSync(STDERR, '\nsublet: gave up before everything was put away; "sublet ls" shows what is left.\n');
      } finally {
        process.exit(128 + constants.signals[name]);
      }
    });
  }
  return {
    signal,
    outputFailed: (cause) => {
      const isUnread = cause.code === 'EPIPE' || cause.code === 'ERR_STREAM_DESTROYED';
      controller.abort(isUnread ? new BrokenPipe() : new OutputFailed(cause));
    },
  };
}
