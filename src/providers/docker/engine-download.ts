/**
 * A large answer, read from a connection of its own straight into large blocks: Node's HTTP hands out each piece as the
 * engine happened to write it, which takes several times the processor that the bytes themselves do. The question is
 * HTTP/1.0, so that the answer is not cut into chunks and ends with the connection; that it ended too early is for the
 * reader to see, as an archive shows it.
 */
import { connect, type Socket, type TcpNetConnectOpts, type IpcNetConnectOpts } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import { abortedError, type SubletError } from '../../core/errors.ts';

/** The bytes as they come. Whoever does not read them to their end destroys it. */
export interface Download extends AsyncIterable<Uint8Array> {
  destroy(): void;
}

export interface DownloadOptions {
  readonly connection: TcpNetConnectOpts | IpcNetConnectOpts;
  /** With the API version. */
  readonly path: string;
  readonly clock: Clock;
  /** How long the engine may be silent while somebody waits for it. */
  readonly patienceMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly silent: () => SubletError;
  readonly failure: (cause: unknown) => SubletError;
}

export const BLOCK_BYTES: number = 512 * 1024;
/** A read gets at least this much room. */
const ROOM_BYTES = 64 * 1024;
/** So that the engine goes on while the reader is busy with a block. */
const BLOCKS_AHEAD = 4;
const HEAD_END = Buffer.from('\r\n\r\n');

export class EngineDownload implements Download {
  readonly #options: DownloadOptions;
  readonly #socket: Socket;
  readonly #full: Buffer[] = [];
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  /** What of the block is taken, from where it is the body's. */
  #at = 0;
  #from = 0;
  #head: string | undefined;
  #error: SubletError | undefined;
  #isOver = false;
  #received = 0;
  #wake: () => void = () => undefined;

  constructor(options: DownloadOptions) {
    this.#options = options;
    const onread = { buffer: () => this.#room(), callback: (bytes: number) => this.#take(bytes) };
    this.#socket = connect({ ...options.connection, onread });
    this.#socket.on('error', (cause) => (this.#error ??= options.failure(cause)));
    const { signal } = options;
    const onAbort = (): void => this.destroy(abortedError(signal as AbortSignal));
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#socket.once('close', () => {
      signal?.removeEventListener('abort', onAbort);
      this.#give();
      this.#isOver = true;
      this.#wake();
    });
    this.#socket.write(`GET ${options.path} HTTP/1.0\r\nHost: docker\r\n\r\n`);
  }

  /** The status; what follows is the body. */
  async status(): Promise<number> {
    while (this.#head === undefined) {
      if (this.#isOver) throw this.#error ?? this.#options.failure(new Error('it closed the connection'));
      await this.#news();
    }
    return Number(/^HTTP\/1\.\d (\d{3})/.exec(this.#head)?.[1] ?? 500);
  }

  /** False when somebody between us and the engine speaks another HTTP than it was asked for. */
  get isPlain(): boolean {
    return !/^transfer-encoding:/im.test(this.#head ?? '');
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const block = this.#full.shift();
      if (block !== undefined) {
        this.#socket.resume();
        yield block;
      } else if (this.#error !== undefined) throw this.#error;
      else if (this.#isOver) return;
      else await this.#news();
    }
  }

  destroy(error?: SubletError): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  #room(): Buffer {
    if (this.#block.length - this.#at < ROOM_BYTES) {
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
      this.#from = this.#at = 0;
    }
    return this.#block.subarray(this.#at);
  }

  /** False to be left alone until somebody reads on. */
  #take(bytes: number): boolean {
    this.#at += bytes;
    this.#received += bytes;
    if (this.#head === undefined) this.#lookForHead();
    if (this.#block.length - this.#at < ROOM_BYTES) this.#give();
    return this.#full.length < BLOCKS_AHEAD;
  }

  #lookForHead(): void {
    const end = this.#block.subarray(0, this.#at).indexOf(HEAD_END);
    if (end === -1) return;
    this.#head = this.#block.toString('latin1', 0, end);
    this.#from = end + HEAD_END.length;
    this.#wake();
  }

  #give(): void {
    if (this.#head === undefined || this.#at <= this.#from) return;
    this.#full.push(this.#block.subarray(this.#from, this.#at));
    this.#from = this.#at;
    this.#wake();
  }

  async #news(): Promise<void> {
    const { clock, patienceMs, silent } = this.#options;
    let seen = this.#received;
    const look = (): void => {
      if (seen === this.#received) this.destroy(silent());
      else cancel = clock.schedule(patienceMs, look);
      seen = this.#received;
    };
    let cancel = clock.schedule(patienceMs, look);
    await new Promise<void>((resolve) => (this.#wake = resolve));
    cancel();
  }
}
