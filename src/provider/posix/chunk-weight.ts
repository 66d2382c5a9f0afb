/**
 * Chunks that are given away are collected by V8 when its own heap has filled up, and there a chunk of 64 KiB weighs next
 * to nothing: dozens of megabytes of dropped ones gather first. An eighth of each chunk's size is laid on that heap beside
 * it, so that they are collected in time. It costs an allocation that is dropped at once.
 */
const BYTES_OF_AN_ELEMENT = 8;
const SHARE = 8;

/** Held until the next one, so that the allocation is not left out as unused. */
const scales: { weight: readonly unknown[] } = { weight: [] };

/** For a chunk that is its receiver's own from now on. */
export function weighChunk<T extends Uint8Array>(chunk: T): T {
  scales.weight = Array.from({ length: Math.ceil(chunk.length / SHARE / BYTES_OF_AN_ELEMENT) });
  return chunk;
}
