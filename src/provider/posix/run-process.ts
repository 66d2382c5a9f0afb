/** Follows one process to its end: capped output, streaming with back-pressure, stdin, time-out and abort. */
import type { Readable, Writable } from 'node:stream';
import { type Clock, sleep } from '../../core/clock.ts';
import type { CommandResult, RunOptions } from '../../core/commands.ts';
import { DEFAULT_MAX_OUTPUT_BYTES } from '../../core/commands.ts';
import { abortedError, SubletError } from '../../core/errors.ts';
import { feedStdin } from './feed-stdin.ts';
import { weighChunk } from './chunk-weight.ts';
import { OutputCapture } from './output-capture.ts';
import { PipeReader } from './pipe-reader.ts';

export interface ProcessExit {
  readonly exitCode: number | null;
  readonly signal: string | undefined;
}

/** A process with its three streams. `exit` never rejects. */
export interface ProcessStreams {
  /** null when the process has no input. */
  readonly stdin: Writable | null;
  readonly stdout: PipeReader | Readable;
  readonly stderr: PipeReader | Readable;
  readonly exit: Promise<ProcessExit>;
}

export interface RunControl {
  readonly clock: Clock;
  /** Kills everything the command started and resolves when that is done. */
  killTree(): Promise<void>;
}

/** A process that keeps a pipe open after the command has ended is waited for this long after its last byte. */
const QUIET_MS = 100;
/** And not longer than this in all, however much it writes. */
const MAX_LINGER_MS = 2_000;
/** A kill that takes longer has no answer from its provider. */
const KILL_WITHIN_MS = 15_000;

/**
 * Resolves when the command has ended and its pipes are closed, or have been quiet for a moment: a daemon that kept
 * standard output does not hold the result back, and its later output is not in it. Rejects with ABORTED after the kill
 * when the signal aborts, and with the callback's or the input's own error, after a kill too, when one of those fails.
 */
export async function runProcess(
  streams: ProcessStreams,
  options: RunOptions,
  control: RunControl,
): Promise<CommandResult> {
  const startedAt = control.clock.now();
  const maxBytes = options.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES;
  const stopper = new Stopper(options, control);
  const fail = (error: unknown): void => stopper.stop({ error: toError(error) });
  const stdout = new OutputDrain(streams.stdout, maxBytes, options.onStdout, fail);
  const stderr = new OutputDrain(streams.stderr, maxBytes, options.onStderr, fail);
  const input = feedStdin(streams.stdin, options.stdin).catch(fail);
  try {
    const exit = await Promise.race([streams.exit, stopper.gaveUp]);
    stopper.cancelTimeout();
    await drained([stdout, stderr], stopper, control.clock);
    streams.stdin?.destroy();
    await input;
    const { timedOut, error } = await stopper.outcome();
    if (error !== undefined) throw error;
    return {
      exitCode: timedOut ? null : exit.exitCode,
      stdout: stdout.capture.text(),
      stderr: stderr.capture.text(),
      durationMs: control.clock.now() - startedAt,
      timedOut,
      signal: exit.signal,
      truncated: stdout.capture.truncated || stderr.capture.truncated,
      stdoutBytes: stdout.capture.bytes,
      stderrBytes: stderr.capture.bytes,
    };
  } finally {
    stopper.dispose();
    for (const stream of [streams.stdin, streams.stdout, streams.stderr]) stream?.destroy();
  }
}

interface StopReason {
  readonly timedOut?: boolean;
  readonly error?: Error;
}

/** The first reason to end the command early, and the kill that follows from it. */
class Stopper {
  /** Resolves when the kill is done and the exit has not come even so: an unknown end. */
  readonly gaveUp: Promise<ProcessExit>;
  readonly #control: RunControl;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => this.stop({ error: abortedError(this.#signal as AbortSignal) });
  #giveUp: (exit: ProcessExit) => void = () => undefined;
  #reason: StopReason | undefined;
  #kill: Promise<void> | undefined;
  #cancelTimeout: () => void = () => undefined;
  #cancelGrace: () => void = () => undefined;

  constructor(options: RunOptions, control: RunControl) {
    this.#control = control;
    this.#signal = options.signal;
    this.gaveUp = new Promise((resolve) => (this.#giveUp = resolve));
    if (options.timeoutMs !== undefined) {
      this.#cancelTimeout = control.clock.schedule(options.timeoutMs, () => this.stop({ timedOut: true }));
    }
    if (options.signal?.aborted === true) this.#onAbort();
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get stopped(): boolean {
    return this.#reason !== undefined;
  }

  stop(reason: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#kill = this.#killInTime().catch((error: unknown) => {
      this.#reason = { error: toError(error) };
    });
    void this.#kill.then(() => {
      this.#cancelGrace = this.#control.clock.schedule(MAX_LINGER_MS, () =>
        this.#giveUp({ exitCode: null, signal: undefined }),
      );
    });
  }

  /** Whoever waits is told in the end, also when the way into the sandbox is blocked. The kill itself goes on. */
  async #killInTime(): Promise<void> {
    const over = new AbortController();
    const late = sleep(this.#control.clock, KILL_WITHIN_MS, over.signal).then(
      () => Promise.reject(notEndedError()),
      () => undefined,
    );
    await Promise.race([this.#control.killTree(), late]).finally(() => over.abort());
  }

  /** The command has ended by itself: time is no longer a reason. */
  cancelTimeout(): void {
    this.#cancelTimeout();
  }

  async outcome(): Promise<{ readonly timedOut: boolean; readonly error: Error | undefined }> {
    await this.#kill;
    return { timedOut: this.#reason?.timedOut === true, error: this.#reason?.error };
  }

  dispose(): void {
    this.#cancelTimeout();
    this.#cancelGrace();
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}

function notEndedError(): SubletError {
  return new SubletError(
    'PROVIDER_UNAVAILABLE',
    `The command was to be ended, and its provider did not do so within ${KILL_WITHIN_MS / 1000} s.`,
    { hint: 'It may still run, and is ended when the provider answers. Look whether the provider works.' },
  );
}

/** Reads one stream to its end; waits for the consumer's promise before it reads on. */
class OutputDrain {
  readonly capture: OutputCapture;
  /** The stream has ended and the consumer has taken all of it. */
  readonly ended: Promise<void>;
  /** Grows with every chunk. */
  activity = 0;
  /** The consumer has not yet taken the last chunk. */
  isHeld = false;
  readonly #source: PipeReader | Readable;
  readonly #fail: (error: unknown) => void;
  #consume: RunOptions['onStdout'];
  #hasEnded = false;
  #resolveEnded: () => void = () => undefined;

  constructor(
    source: PipeReader | Readable,
    maxBytes: number,
    consume: RunOptions['onStdout'],
    fail: (error: unknown) => void,
  ) {
    this.capture = new OutputCapture(maxBytes);
    this.#source = source;
    this.#consume = consume;
    this.#fail = fail;
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
    if (source instanceof PipeReader) {
      source.consume(
        (chunk) => this.#take(chunk, (shared) => new Uint8Array(shared)),
        () => this.#end(),
      );
    } else {
      source.on('data', (chunk: Buffer) => this.#take(chunk, (own) => own) || source.pause());
      for (const event of ['end', 'error', 'close']) source.on(event, () => this.#end());
    }
  }

  /** False when the source must wait. `keepable` makes the chunk the consumer's own. */
  #take(chunk: Uint8Array, keepable: (chunk: Uint8Array) => Uint8Array): boolean {
    this.activity++;
    this.capture.push(chunk);
    if (this.#consume === undefined) return true;
    try {
      const taken = this.#consume(weighChunk(keepable(chunk)));
      if (taken === undefined) return true;
      this.isHeld = true;
      taken.then(
        () => this.#release(),
        (error: unknown) => this.#refuse(error),
      );
      return false;
    } catch (error) {
      this.#refuse(error);
      return true;
    }
  }

  #release(): void {
    this.isHeld = false;
    this.#source.resume();
    if (this.#hasEnded) this.#resolveEnded();
  }

  #refuse(error: unknown): void {
    this.#consume = undefined;
    this.#fail(error);
    this.#release();
  }

  /** A socket ends even while it is paused, and then the last chunk may not have been taken yet. */
  #end(): void {
    this.#hasEnded = true;
    if (!this.isHeld) this.#resolveEnded();
  }
}

/** Resolves when both streams ended, or when only a survivor of the command still holds them. */
async function drained(drains: readonly OutputDrain[], stopper: Stopper, clock: Clock): Promise<void> {
  const ended = Promise.all(drains.map((drain) => drain.ended)).then((): true => true);
  const activity = (): number => drains.reduce((sum, drain) => sum + drain.activity, 0);
  for (let lingeredMs = 0; lingeredMs < MAX_LINGER_MS;) {
    const before = activity();
    if (await endedWithin(ended, QUIET_MS, clock)) return;
    if (!stopper.stopped && drains.some((drain) => drain.isHeld)) continue;
    lingeredMs += QUIET_MS;
    if (activity() === before) return;
  }
}

async function endedWithin(ended: Promise<true>, ms: number, clock: Clock): Promise<boolean> {
  let cancel = (): void => undefined;
  // Past the timer the loop polls the pipes once more: a busy process is not mistaken for a quiet pipe.
  const waited = new Promise<false>((resolve) => {
    cancel = clock.schedule(ms, () => setImmediate(() => setImmediate(() => resolve(false))));
  });
  const result = await Promise.race([ended, waited]);
  cancel();
  return result;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
