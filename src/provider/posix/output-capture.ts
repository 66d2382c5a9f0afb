/** Keeps the first and the last half of a stream of any length in bounded memory. */

const FIRST_ALLOCATION = 4096;

export class OutputCapture {
  readonly #head: GrowingBuffer;
  readonly #tail: GrowingBuffer;
  /** Where the tail's oldest byte is, once the tail is full. */
  #tailStart = 0;
  #bytes = 0;

  constructor(maxBytes: number) {
    const tailBytes = Math.floor(Math.max(0, maxBytes) / 2);
    this.#head = new GrowingBuffer(Math.max(0, maxBytes) - tailBytes);
    this.#tail = new GrowingBuffer(tailBytes);
  }

  /** Bytes seen, kept or not. */
  get bytes(): number {
    return this.#bytes;
  }

  get truncated(): boolean {
    return this.#bytes > this.#head.length + this.#tail.length;
  }

  /** Copies what it keeps: the chunk may be reused at once. */
  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    const rest = chunk.subarray(this.#head.append(chunk));
    const overflow = rest.subarray(this.#tail.append(rest));
    if (overflow.length > 0) this.#overwriteTail(overflow);
  }

  /** Counts bytes that were lost before they could be pushed. */
  skip(bytes: number): void {
    this.#bytes += bytes;
  }

  /** The kept text, cut between characters, with a line that says how much is missing. */
  text(): string {
    const head = this.#head.bytes();
    const tail = Buffer.concat([
      this.#tail.bytes().subarray(this.#tailStart),
      this.#tail.bytes().subarray(0, this.#tailStart),
    ]);
    if (!this.truncated) return Buffer.concat([head, tail]).toString('utf8');
    const headKept = head.subarray(0, head.length - unfinishedSuffix(head));
    const tailKept = tail.subarray(continuationPrefix(tail));
    const left = this.#bytes - headKept.length - tailKept.length;
    return `${headKept.toString('utf8')}\n… ${left} bytes left out …\n${tailKept.toString('utf8')}`;
  }

  #overwriteTail(chunk: Uint8Array): void {
    const ring = this.#tail.bytes();
    if (ring.length === 0) return;
    const newest = chunk.subarray(Math.max(0, chunk.length - ring.length));
    const untilEnd = Math.min(newest.length, ring.length - this.#tailStart);
    ring.set(newest.subarray(0, untilEnd), this.#tailStart);
    ring.set(newest.subarray(untilEnd), 0);
    this.#tailStart = (this.#tailStart + newest.length) % ring.length;
  }
}

/** Doubles up to its limit, so that the many small outputs cost little. */
class GrowingBuffer {
  readonly #limit: number;
  #buffer: Buffer = Buffer.alloc(0);
  length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Appends as much as fits and returns how much that was. */
  append(chunk: Uint8Array): number {
    const taken = Math.min(chunk.length, this.#limit - this.length);
    if (taken === 0) return 0;
    this.#reserve(this.length + taken);
    this.#buffer.set(chunk.subarray(0, taken), this.length);
    this.length += taken;
    return taken;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.length);
  }

  #reserve(needed: number): void {
    if (needed <= this.#buffer.length) return;
    const size = Math.min(this.#limit, Math.max(needed, this.#buffer.length * 2, FIRST_ALLOCATION));
    const grown = Buffer.allocUnsafeSlow(size);
    grown.set(this.bytes());
    this.#buffer = grown;
  }
}

/** Length of a character at the end whose last bytes are missing; 0 when the end is whole or was never UTF-8. */
function unfinishedSuffix(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    return characterLength(byte) > back ? back : 0;
  }
  return 0;
}

/** Bytes at the start that belong to a character begun before. More than three is not UTF-8 and stays. */
function continuationPrefix(bytes: Uint8Array): number {
  let count = 0;
  while (count < bytes.length && isContinuation(bytes[count] ?? 0)) count++;
  return count > 3 ? 0 : count;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

function characterLength(first: number): number {
  if (first >= 0xf0 && first < 0xf8) return 4;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xc0 && first < 0xe0 ? 2 : 1;
}
