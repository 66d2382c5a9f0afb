/** A shell inside the container that runs one command after the other over one connection, each in a fresh `sh`. */
import type { Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { SubletError } from '../../core/errors.ts';
import { cryptoBytes } from '../../core/ids.ts';
import { armedScript } from '../../provider/posix/command-script.ts';
import type { ProcessExit, ProcessStreams } from '../../provider/posix/run-process.ts';
import { TrailerScanner } from '../../provider/posix/trailer-scanner.ts';
import { type FrameStream, StreamDemux } from './stream-demux.ts';

const UNKNOWN_EXIT: ProcessExit = { exitCode: null, signal: undefined };
/** What a shell that does not start says about it. */
const MAX_COMPLAINT_BYTES = 2_000;

export interface SlotOptions {
  /** For one command, which gets the rest of the input. */
  readonly once?: boolean;
  /** The connection is more than a slot: it outlives it, and its owner closes it. */
  readonly keepsConnection?: boolean;
}

export class ShellSlot {
  readonly #socket: Socket;
  readonly #once: boolean;
  readonly #keepsConnection: boolean;
  readonly #token = Buffer.from(cryptoBytes(16)).toString('hex');
  readonly #ready: Promise<void>;
  #run: SlotRun | undefined;
  #isOpen = true;

  /** Takes over the connection of a slot script that has just been started. */
  constructor(socket: Socket, options: SlotOptions = {}) {
    this.#socket = socket;
    this.#once = options.once === true;
    this.#keepsConnection = options.keepsConnection === true;
    const greeting = new Greeting(this.#token);
    this.#ready = greeting.heard;
    const demux = new StreamDemux((stream, chunk) => {
      if (this.#run !== undefined) this.#run.take(stream, chunk);
      else greeting.take(chunk);
    });
    socket.on('data', (chunk: Buffer) => demux.push(chunk));
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#isOpen = false;
      greeting.fail();
      this.#run?.end();
    });
    socket.write(`${this.#token}\n`);
  }

  /** Resolves when the shell listens; rejects with what it said when it does not. */
  async ready(): Promise<this> {
    await this.#ready;
    // A waiting shell does not keep this process alive; a command does.
    this.#socket.unref();
    return this;
  }

  /** Whether another command can be run. */
  get isOpen(): boolean {
    return this.#isOpen && (this.#run === undefined || (this.#run.isClean && !this.#once));
  }

  /** Runs a script; the slot must be open. With a slot for one command, what is written to `stdin` is its input. */
  start(script: string): ProcessStreams {
    const run = new SlotRun(this.#token, this.#socket, () => {
      if (!run.isClean) this.close();
    });
    this.#run = run;
    this.#socket.ref();
    void run.exit.then(() => {
      if (run.isClean) this.#socket.unref();
    });
    this.#socket.write(armedScript(script.endsWith('\n') ? script : `${script}\n`, this.#once));
    if (!this.#isOpen) run.end();
    return { stdin: this.#once ? inputOf(this.#socket) : null, stdout: run.stdout, stderr: run.stderr, exit: run.exit };
  }

  /** Ends the waiting shell, and resolves when it has: it reads the end of its input. */
  async leave(): Promise<void> {
    if (this.#keepsConnection || this.#socket.destroyed) return this.close();
    this.#isOpen = false;
    await new Promise<void>((resolve) => {
      this.#socket.once('close', () => resolve());
      this.#socket.ref().resume().end();
    });
  }

  /** Ends the waiting shell. A command that runs goes on without its streams. */
  close(): void {
    this.#isOpen = false;
    if (!this.#keepsConnection) this.#socket.destroy();
    else if (!this.#socket.destroyed) this.#socket.unref().resume();
  }
}

/** One command's share of the connection. */
class SlotRun {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exit: Promise<ProcessExit>;
  /** It is over and nothing of it is left. */
  isClean = false;
  readonly #scanners: Readonly<Record<FrameStream, TrailerScanner>>;
  readonly #trailers = new Map<FrameStream, string>();
  #onExit: (exit: ProcessExit) => void = () => undefined;

  constructor(token: string, socket: Socket, onDestroyed: () => void) {
    const options = { read: () => void socket.resume(), destroy: callThen(onDestroyed) };
    this.stdout = new Readable(options);
    this.stderr = new Readable(options);
    this.exit = new Promise((resolve) => (this.#onExit = resolve));
    this.#scanners = { stdout: new TrailerScanner(token), stderr: new TrailerScanner(token) };
    this.#pause = () => void socket.pause();
  }

  readonly #pause: () => void;

  take(stream: FrameStream, chunk: Uint8Array): void {
    if (this.#trailers.has(stream)) return this.#give(stream, chunk);
    const { output, trailer } = this.#scanners[stream].push(chunk, false);
    this.#give(stream, output);
    if (trailer === undefined) return;
    this.#trailers.set(stream, trailer);
    if (this.#trailers.size === 2) this.#finish(trailer);
  }

  /** The connection is gone: what was held back is output after all, and how it ended is not known. */
  end(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      if (!this.#trailers.has(stream)) this.#give(stream, this.#scanners[stream].push(new Uint8Array(), true).output);
      if (!this[stream].destroyed) this[stream].push(null);
    }
    this.#onExit(UNKNOWN_EXIT);
  }

  #finish(trailer: string): void {
    const [status = '', survivors = ''] = trailer.split(' ');
    this.isClean = survivors === '';
    this.#onExit({ exitCode: /^\d{1,3}$/.test(status) ? Number(status) : null, signal: undefined });
    if (!this.isClean) return;
    for (const stream of [this.stdout, this.stderr]) if (!stream.destroyed) stream.push(null);
  }

  #give(stream: FrameStream, chunk: Uint8Array): void {
    if (chunk.length === 0 || this[stream].destroyed) return;
    if (!this[stream].push(chunk)) this.#pause();
  }
}

/** The first words of a slot: that it listens, or why it does not. */
class Greeting {
  readonly heard: Promise<void>;
  readonly #scanner: TrailerScanner;
  #complaint = '';
  #onHeard: () => void = () => undefined;
  #onFailed: (error: Error) => void = () => undefined;

  constructor(token: string) {
    this.#scanner = new TrailerScanner(token);
    this.heard = new Promise((resolve, reject) => {
      this.#onHeard = resolve;
      this.#onFailed = reject;
    });
    this.heard.catch(() => undefined);
  }

  take(chunk: Uint8Array): void {
    const { output, trailer } = this.#scanner.push(chunk, false);
    if (this.#complaint.length < MAX_COMPLAINT_BYTES) this.#complaint += Buffer.from(output).toString();
    if (trailer !== undefined) this.#onHeard();
  }

  fail(): void {
    const complaint = this.#complaint.trim() || 'it ended without a word';
    this.#onFailed(
      new SubletError('PROVIDER_UNAVAILABLE', `No shell could be started in the container: ${complaint}`, {
        details: { complaint },
        hint: 'See docker logs and docker inspect of the container; then try again.',
      }),
    );
  }
}

/** Ends by closing the connection's one direction, so that the other still brings the output. */
function inputOf(socket: Socket): Writable {
  return new Writable({
    write: (chunk: Uint8Array, _encoding, done) => void socket.write(chunk, (error) => done(error)),
    final: (done) => void socket.end(() => done()),
  });
}

function callThen(call: () => void): (error: Error | null, done: (error: Error | null) => void) => void {
  return (error, done) => {
    call();
    done(error);
  };
}
