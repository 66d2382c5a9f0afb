/** Reads a pipe through one buffer that is used again for every read, so that output nobody keeps costs no memory. */
import { close } from 'node:fs';
import { Socket } from 'node:net';

/** As much as a pipe holds. */
const BUFFER_BYTES = 64 * 1024;

export class PipeReader {
  readonly #fd: number;
  #socket: Socket | undefined;
  #isDestroyed = false;
  #isOver = false;

  /** Takes over the descriptor of a pipe's reading end. Nothing is read before `consume`. */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** `take` has the chunk only for the time of the call; when it returns false, reading stops until `resume`. */
  consume(take: (chunk: Uint8Array) => boolean, onEnd: () => void): void {
    const onread = {
      buffer: Buffer.allocUnsafeSlow(BUFFER_BYTES),
      callback: (bytes: number, buffer: Uint8Array): boolean => take(buffer.subarray(0, bytes)),
    };
    // The types of this constructor lack the option; Node has it.
    const options = { fd: this.#fd, readable: true, writable: false, onread };
    this.#socket = new Socket(options);
    this.#socket.on('error', () => undefined);
    this.#socket.once('close', () => {
      this.#isOver = true;
      onEnd();
    });
    this.#socket.resume();
  }

  /** Its other end is closed by all who had it, and everything was read. */
  get isOver(): boolean {
    return this.#isOver;
  }

  resume(): void {
    this.#socket?.resume();
  }

  destroy(): void {
    if (this.#socket === undefined && !this.#isDestroyed) close(this.#fd, () => undefined);
    this.#isDestroyed = true;
    this.#socket?.destroy();
  }
}
