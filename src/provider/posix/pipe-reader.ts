/** Reads a pipe through one buffer that is used again for every read, so that output nobody keeps costs no memory. */
import { close } from 'node:fs';
import { Socket } from 'node:net';
import { type Bare, bareHandles } from './bare-handles.ts';

/** As much as a pipe holds. */
const BUFFER_BYTES = 64 * 1024;

type Take = (chunk: Uint8Array) => boolean;

/** What reads it, once somebody wants to have what is read. */
interface Reading {
  resume(): void;
  destroy(): void;
}

export class PipeReader {
  readonly #fd: number;
  #reading: Reading | undefined;
  #isDestroyed = false;
  /** Its other end is closed by all who had it, and everything was read; or it was destroyed. */
  readonly over: Promise<void>;
  #isOver = false;
  #onOver: () => void = () => undefined;

  /** Takes over the descriptor of a pipe's reading end. Nothing is read before `consume`. */
  constructor(fd: number) {
    this.#fd = fd;
    this.over = new Promise((resolve) => (this.#onOver = resolve));
  }

  /** `take` has the chunk only for the time of the call; when it returns false, reading stops until `resume`. */
  consume(take: Take, onEnd: () => void): void {
    const over = (): void => {
      this.#isOver = true;
      this.#onOver();
      onEnd();
    };
    const bare = bareHandles();
    this.#reading = bare === undefined ? readStream(this.#fd, take, over) : readBare(bare, this.#fd, take, over);
    this.#reading.resume();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  resume(): void {
    this.#reading?.resume();
  }

  destroy(): void {
    if (this.#reading === undefined && !this.#isDestroyed) close(this.#fd, () => undefined);
    this.#isDestroyed = true;
    this.#reading?.destroy();
  }
}

function readStream(fd: number, take: Take, onClose: () => void): Reading {
  const onread = {
    buffer: Buffer.allocUnsafeSlow(BUFFER_BYTES),
    callback: (bytes: number, buffer: Uint8Array): boolean => take(buffer.subarray(0, bytes)),
  };
  // The types of this constructor lack the option; Node has it.
  const options = { fd, readable: true, writable: false, onread };
  const socket = new Socket(options);
  socket.on('error', () => undefined);
  socket.once('close', onClose);
  return { resume: () => void socket.resume(), destroy: () => void socket.destroy() };
}

function readBare(bare: Bare, fd: number, take: Take, onClose: () => void): Reading {
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  const pipe = bare.newPipe();
  let isClosed = false;
  const destroy = (): void => {
    if (isClosed) return;
    isClosed = true;
    pipe.close();
    // Later, as a stream would: whoever destroys it is in the middle of something.
    process.nextTick(onClose);
  };
  pipe.open(fd);
  pipe.useUserBuffer(buffer);
  pipe.onread = () => {
    const { bytes } = bare.readState();
    if (bytes < 0) destroy();
    else if (bytes > 0 && !take(buffer.subarray(0, bytes)) && !isClosed) pipe.readStop();
  };
  return {
    resume: () => {
      if (!isClosed) pipe.readStart();
    },
    destroy,
  };
}
