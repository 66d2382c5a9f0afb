/**
 * Takes a connection's two streams apart: the engine sends frames of eight bytes of header (which stream, how long)
 * and a body. What comes out are pieces of what went in; nothing is copied but a header that was cut.
 */

export type FrameStream = 'stdout' | 'stderr';

const HEADER_BYTES = 8;
const STDERR = 2;

export class StreamDemux {
  readonly #take: (stream: FrameStream, chunk: Uint8Array) => void;
  #header: Buffer = Buffer.alloc(0);
  #stream: FrameStream = 'stdout';
  #left = 0;

  constructor(take: (stream: FrameStream, chunk: Uint8Array) => void) {
    this.#take = take;
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#left === 0) at = this.#readHeader(chunk, at);
      const end = Math.min(chunk.length, at + this.#left);
      if (end > at) this.#take(this.#stream, chunk.subarray(at, end));
      this.#left -= end - at;
      at = end;
    }
  }

  #readHeader(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + HEADER_BYTES - this.#header.length);
    const header = Buffer.concat([this.#header, chunk.subarray(at, end)]);
    this.#header = header;
    if (header.length < HEADER_BYTES) return end;
    this.#stream = header[0] === STDERR ? 'stderr' : 'stdout';
    this.#left = header.readUInt32BE(4);
    this.#header = Buffer.alloc(0);
    return end;
  }
}
