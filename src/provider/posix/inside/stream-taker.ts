/** One stream of a program whose service only answers calls. */
import { Readable } from 'node:stream';
import { TrailerScanner } from '../trailer-scanner.ts';
import { NOTHING_THERE, SILENT, TOO_LATE } from './call-scripts.ts';
import type { ShellAnswer } from './shell-call.ts';

export interface TakerOptions {
  ask(isFirst: boolean): Promise<ShellAnswer>;
  ended(): void;
  fail(error: unknown): void;
}

/** One stream, taken at the pace of its reader. */
export class StreamTaker {
  readonly readable: Readable;
  trailer: string | undefined;
  /** Somebody was quicker: it comes with the answer of the start. */
  isLeftToStart = false;
  readonly #options: TakerOptions;
  readonly #scanner: TrailerScanner;
  #hasBegun = false;
  #isAsking = false;
  #isWanted = false;
  #isFirst = true;
  #isClosed = false;

  constructor(token: string, options: TakerOptions) {
    this.#options = options;
    this.#scanner = new TrailerScanner(token);
    this.readable = new Readable({
      read: () => {
        this.#isWanted = true;
        this.#ask();
      },
    });
  }

  get hasTrailer(): boolean {
    return this.trailer !== undefined;
  }

  begin(): void {
    this.#hasBegun = true;
    this.#ask();
  }

  /** Returns what comes behind the trailer. */
  give(bytes: Uint8Array): Uint8Array {
    const { output, trailer, rest } = this.#scanner.push(bytes, false);
    if (output.length > 0) {
      this.#isWanted = false;
      if (!this.readable.destroyed && this.readable.push(output)) this.#isWanted = true;
    }
    if (trailer === SILENT) return this.give(rest);
    if (trailer !== undefined) {
      this.trailer = trailer;
      this.end();
      this.#options.ended();
    }
    return rest;
  }

  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.readable.destroyed) this.readable.push(null);
  }

  #ask(): void {
    if (!this.#hasBegun || this.#isAsking || this.#isClosed || this.isLeftToStart || !this.#isWanted) return;
    this.#isAsking = true;
    this.#options.ask(this.#isFirst).then(
      (answer) => this.#answered(answer),
      (error: unknown) => this.#options.fail(error),
    );
  }

  #answered(answer: ShellAnswer): void {
    this.#isAsking = false;
    if (this.#isClosed) return;
    if (answer.exitCode === NOTHING_THERE && this.#isFirst) return this.#ask();
    this.#isFirst = false;
    if (answer.exitCode === TOO_LATE || answer.exitCode === NOTHING_THERE) {
      this.isLeftToStart = true;
      return this.#options.ended();
    }
    this.give(Buffer.from(answer.output, 'base64'));
    this.#ask();
  }
}
