/**
 * Chunks that are given away are collected by V8 when its own heap has filled up, and there a chunk of 64 KiB weighs next
 * to nothing: dozens of megabytes of dropped ones gather first. Half of each chunk's size is laid on that heap beside it, up to
 * what still goes into the part that is collected often, so that they are collected in time. It is dropped at once.
 */
const BYTES_OF_AN_ELEMENT = 8;
const SHARE = 2;
const MOST_BYTES = 64 * 1024;

/** Held until the next one, so that the allocation is not left out as unused. */
const scales: { weight: readonly unknown[] } = { weight: [] };

/** For a chunk that is its receiver's own from now on. */
export function weighChunk<T extends Uint8Array>(chunk: T): T {
  const weight: unknown[] = [];
  weight.length = Math.ceil(Math.min(chunk.length / SHARE, MOST_BYTES) / BYTES_OF_AN_ELEMENT);
  scales.weight = weight;
  return chunk;
}
