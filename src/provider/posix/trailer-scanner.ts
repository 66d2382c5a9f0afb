/** Finds, in a stream of bytes, the trailer that ends a command's output. */

const MARK = '\u001e';
const NOTHING = new Uint8Array();

export interface Scanned {
  /** What is certainly the command's own. */
  readonly output: Uint8Array;
  /** The trailer's text, once all of it has come. */
  readonly trailer: string | undefined;
  /** What came behind the trailer. */
  readonly rest: Uint8Array;
}

/** The trailer is `MARK token : text MARK token`. The token is random and made after the command was given. */
export class TrailerScanner {
  readonly #opening: Buffer;
  readonly #closing: Buffer;
  #held: Buffer = Buffer.alloc(0);

  constructor(token: string) {
    this.#opening = Buffer.from(`${MARK}${token}:`);
    this.#closing = Buffer.from(`${MARK}${token}`);
  }

  /** Holds back what may be the start of a trailer, unless it is the `end`. */
  push(chunk: Uint8Array, end: boolean): Scanned {
    const bytes = this.#held.length === 0 ? viewOf(chunk) : Buffer.concat([this.#held, chunk]);
    const start = bytes.indexOf(this.#opening);
    if (start === -1) return this.#keep(bytes, end ? bytes.length : bytes.length - this.#partialLength(bytes));
    const textAt = start + this.#opening.length;
    const close = bytes.indexOf(this.#closing, textAt);
    if (close === -1) return this.#keep(bytes, end ? bytes.length : start);
    this.#held = Buffer.alloc(0);
    const rest = bytes.subarray(close + this.#closing.length);
    return { output: bytes.subarray(0, start), trailer: bytes.toString('utf8', textAt, close), rest };
  }

  #keep(bytes: Buffer, outputLength: number): Scanned {
    // Its own copy: what is held must not keep a large chunk alive, nor change when the chunk is used again.
    this.#held = Buffer.from(bytes.subarray(outputLength));
    return { output: bytes.subarray(0, outputLength), trailer: undefined, rest: NOTHING };
  }

  /** How many bytes at the end could be the beginning of the opening. */
  #partialLength(bytes: Buffer): number {
    const longest = Math.min(bytes.length, this.#opening.length - 1);
    for (let length = longest; length > 0; length--) {
      if (this.#opening.subarray(0, length).equals(bytes.subarray(bytes.length - length))) return length;
    }
    return 0;
  }
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
