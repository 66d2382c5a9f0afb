/** Input for a called process: what comes together is sent together, and what comes alone does not wait for more. */
import { Writable } from 'node:stream';
import type { Clock } from '../../../core/clock.ts';

export type Feed = (bytes: Buffer, isLast: boolean) => Promise<void>;

/** So long a piece waits for the end, which then costs no call of its own. */
const HOLD_MS = 2;

/** `pieceBytes` is what is sent at once at most. */
export function createCallInput(clock: Clock, pieceBytes: number, feed: Feed): Writable {
  let kept = Buffer.alloc(0);
  let fed: Promise<void> = Promise.resolve();
  let cancel = (): void => undefined;

  const flush = (isLast: boolean): Promise<void> => {
    cancel();
    fed = fed.then(async () => {
      while (kept.length > pieceBytes) {
        const piece = kept.subarray(0, pieceBytes);
        kept = kept.subarray(pieceBytes);
        await feed(piece, false);
      }
      const rest = kept;
      kept = Buffer.alloc(0);
      if (rest.length > 0 || isLast) await feed(rest, isLast);
    });
    return fed;
  };

  const input = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      kept = Buffer.concat([kept, chunk]);
      if (kept.length > pieceBytes) return void settle(flush(false), done);
      cancel();
      cancel = clock.schedule(HOLD_MS, () => void settle(flush(false), (error) => error && input.destroy(error)));
      return done();
    },
    final: (done) => void settle(flush(true), done),
    destroy: (error, done) => {
      cancel();
      done(error);
    },
  });
  return input;
}

async function settle(work: Promise<void>, done: (error?: Error) => unknown): Promise<void> {
  let failure: Error | undefined;
  try {
    await work;
  } catch (error) {
    failure = error as Error;
  }
  done(failure);
}
