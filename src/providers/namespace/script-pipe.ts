/** Our end of the pipe by which an armed shell gets its script, and its command the standard input. */
import { closeSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';

/** An empty pipe takes this much whole, and nobody waits for its reader (PIPE_BUF). */
const AT_ONCE_BYTES = 4_096;

export class ScriptPipe {
  readonly #fd: number;
  #socket: Socket | undefined;
  #isClosed = false;

  /** Takes over a descriptor that does not block. Until something is sent it is only that: a stream costs more than a short script. */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** All there is: the shell finds the end behind it. */
  end(text: string): void {
    if (Buffer.byteLength(text) > AT_ONCE_BYTES) {
      this.#open().end(text);
      return;
    }
    writeSync(this.#fd, text);
    this.destroy();
  }

  /** More will follow, on the stream that this returns. It keeps this process alive. */
  begin(text: string): Socket {
    const socket = this.#open().ref();
    socket.write(text);
    return socket;
  }

  /** Twice is harmless. */
  destroy(): void {
    if (this.#socket === undefined && !this.#isClosed) closeSync(this.#fd);
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  /** The other side may end at any time: that shows as the end of the command. */
  #open(): Socket {
    this.#socket = new Socket({ fd: this.#fd, readable: false, writable: true });
    this.#socket.on('error', () => undefined);
    return this.#socket.unref();
  }
}
