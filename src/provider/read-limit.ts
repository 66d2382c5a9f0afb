/** How much of a sandbox's files is collected into memory: the sandbox decides how long they are, and some never end. */
import { SubletError } from '../core/errors.ts';
import { DEFAULT_MAX_READ_BYTES } from '../core/files.ts';

/** As much as some hundred thousand names take. */
const MAX_LISTING_BYTES = 16 * 1024 * 1024;

export class ReadLimit {
  readonly #maxBytes: number;
  readonly #hint: string;
  #left: number;

  constructor(maxBytes: number = DEFAULT_MAX_READ_BYTES, hint = 'Read it with readStream(), or raise maxBytes.') {
    this.#maxBytes = maxBytes;
    this.#hint = hint;
    this.#left = maxBytes;
  }

  static ofListing(): ReadLimit {
    return new ReadLimit(MAX_LISTING_BYTES, 'Run find in the sandbox, and read what it prints as it comes.');
  }

  /** FILE_FAILED when so many more are too many. All that share the limit fill it together. */
  take(path: string, bytes: number): void {
    this.#left -= bytes;
    if (this.#left >= 0) return;
    throw new SubletError('FILE_FAILED', `${path}: more than the ${this.#maxBytes} bytes that are read into memory.`, {
      details: { path, maxBytes: this.#maxBytes },
      hint: this.#hint,
    });
  }
}
