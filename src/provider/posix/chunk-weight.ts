/**
 * Chunks that are given away are collected by V8 when its own heap has filled up, and there a chunk of 64 KiB weighs next
 * to nothing: dozens of megabytes of dropped ones gather first. Twice each chunk's size is laid on that heap beside it, in
 * pieces that still go into the part that is collected often, so that they are collected in time, also where that part
 * has grown to all that it may have. Nobody holds the pieces: what is alive when it is collected lets it grow.
 */
const BYTES_OF_AN_ELEMENT = 8;
const TIMES = 2;
const PIECE_BYTES = 64 * 1024;

/** For a chunk that is its receiver's own from now on. */
export function weighChunk<T extends Uint8Array>(chunk: T): T {
  for (let left = chunk.length * TIMES; left > 0; left -= PIECE_BYTES) {
    const weight: unknown[] = [];
    weight.length = Math.ceil(Math.min(left, PIECE_BYTES) / BYTES_OF_AN_ELEMENT);
  }
  return chunk;
}
