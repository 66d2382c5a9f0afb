/** Writes a command's input, at the pace the command reads it. */
import { Readable } from 'node:stream';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { RunOptions } from '../../core/commands.ts';

/** A command may end without reading it all: that is its right, not an error. */
const READER_GONE = new Set([
  'EPIPE',
  'ECONNRESET',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
]);

/** Resolves when all is written or the stream is closed. Rejects only when the source itself fails. */
export async function feedStdin(stdin: Writable | null, input: RunOptions['stdin']): Promise<void> {
  if (stdin === null) return;
  stdin.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => stdin.once('close', () => resolve()));
  if (input === undefined || typeof input === 'string' || input instanceof Uint8Array) {
    await Promise.race([closed, endWith(stdin, input)]);
    return;
  }
  const source = Readable.from(input, { objectMode: false });
  const fed = pipeline(source, stdin).catch((error: NodeJS.ErrnoException) => {
    if (!READER_GONE.has(error.code ?? '')) throw error;
  });
  // A source that is still waiting for its next chunk does not hold a finished command back.
  await Promise.race([closed.then(() => (stdin.errored === null ? undefined : fed)), fed]);
  fed.catch(() => undefined);
}

function endWith(stdin: Writable, data: string | Uint8Array | undefined): Promise<void> {
  return new Promise((resolve) => stdin.end(data ?? '', () => resolve()));
}
