/** Exact amounts from a stream of chunks, without holding more than one chunk. */

export class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** `length` bytes, or fewer at the end of the stream. */
  async read(length: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let left = length; left > 0;) {
      const part = await this.readSome(left);
      if (part.length === 0) break;
      parts.push(part);
      left -= part.length;
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }

  /** Up to `max` bytes as they come; none only at the end of the stream. */
  async readSome(max: number): Promise<Uint8Array> {
    while (this.#rest.length === 0) {
      const next = await this.#chunks.next();
      if (next.done === true) return this.#rest;
      this.#rest = next.value;
    }
    const part = this.#rest.subarray(0, max);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }

  async skip(length: number): Promise<void> {
    for (let left = length; left > 0;) {
      const part = await this.readSome(left);
      if (part.length === 0) return;
      left -= part.length;
    }
  }
}
