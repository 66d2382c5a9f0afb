/** A program in a sandbox whose service only runs a script and answers with what it wrote: its streams, made of such calls. */
import { randomBytes } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../../core/clock.ts';
import { SubletError, toSubletError } from '../../../core/errors.ts';
import type { ProcessExit } from '../run-process.ts';
import { shellExports, shellQuote } from '../shell-quote.ts';
import { createCallInput } from './call-input.ts';
import { CallPace } from './call-pace.ts';
import {
  CANNOT_CALL,
  type CalledStream,
  type CallInput,
  dropCallScript,
  endCallScript,
  feedBrieflyScript,
  feedCallScript,
  keepCallScript,
  keptWords,
  LET_GO,
  letFeedGoScript,
  letGoScript,
  NOT_YET,
  NOTHING_THERE,
  nudgeScript,
  startCallScript,
  takeCallScript,
  TOO_LATE,
  waitCallScript,
  waitFeedScript,
} from './call-scripts.ts';
import type { RemoteProcess, RemoteRequest } from './remote-commands.ts';
import type { ShellAnswer, ShellCall } from './shell-call.ts';
import { StreamTaker } from './stream-taker.ts';

export type { ShellAnswer, ShellCall } from './shell-call.ts';

export interface CalledProcessOptions {
  readonly clock: Clock;
  readonly call: ShellCall;
  /** Variables arrive by `env` of the call. Otherwise they are part of the script. */
  readonly passesEnv: boolean;
  /**
   * Puts a file into the sandbox, if the service can, and returns the shell's word for it: for more input than a call carries.
   * Not together with `maxCallMs`.
   */
  readonly upload?: ((name: string, bytes: Uint8Array) => Promise<string>) | undefined;
  /** The service ends a call that takes longer, however long the program takes. Absent: it does not. */
  readonly maxCallMs?: number | undefined;
}

/** Linux takes no single argument above 128 KiB, and quoting for the service may make it four times as long. */
const MAX_SCRIPT_BYTES = 24 * 1024;
/** One call carries at most this much. */
const FEED_BYTES = 48 * 1024;
/** One file that is put into the sandbox has at most this much. */
const UPLOAD_BYTES = 4 * 1024 * 1024;
/** The part of a call's time after which its script is asked to answer. */
const IN_TIME = 0.8;
const STREAMS: readonly CalledStream[] = ['stdout', 'stderr'];

/** Starts programs in one sandbox, and learns from each how long its calls take. */
export function processCaller(options: CalledProcessOptions): (request: RemoteRequest) => Promise<RemoteProcess> {
  const pace = new CallPace();
  return (request) => callProcess(options, request, pace);
}

async function callProcess(
  options: CalledProcessOptions,
  request: RemoteRequest,
  pace: CallPace,
): Promise<RemoteProcess> {
  const token = randomBytes(12).toString('hex');
  const { exports, env } = passedVariables(request.env, options.passesEnv);
  const words = request.argv.map(shellQuote).join(' ');
  const isLong = Buffer.byteLength(words) + Buffer.byteLength(exports) > MAX_SCRIPT_BYTES;
  const kept = isLong ? await keepScript(options.call, token, `exec ${words}\n`) : words;
  const isBrief = options.maxCallMs !== undefined;
  const input = request.input && Buffer.from(request.input).toString('base64');
  const stdin = request.stdin && input === undefined;
  const start = startCallScript({ token, words: kept, exports, stdin, input, isBrief });
  return new CalledProcess(options, pace, token, startCall(options, token, start, env), stdin);
}

/** The answer of the start, however many calls it takes to wait for it. */
async function startCall(
  options: CalledProcessOptions,
  token: string,
  script: string,
  env: Readonly<Record<string, string>>,
): Promise<ShellAnswer> {
  const letGo = letGoScript(token);
  let answer = await callBriefly(options, letGo, options.call(script, env));
  while (answer.output === LET_GO) answer = await callBriefly(options, letGo, options.call(waitCallScript(token), {}));
  return answer;
}

/** In time before the service ends the call, `letGo` makes its script answer. */
async function callBriefly(
  { clock, call, maxCallMs }: CalledProcessOptions,
  letGo: string,
  answer: Promise<ShellAnswer>,
): Promise<ShellAnswer> {
  if (maxCallMs === undefined) return answer;
  const cancel = clock.schedule(maxCallMs * IN_TIME, () => void call(letGo, {}).catch(() => undefined));
  return answer.finally(cancel);
}

/** Puts a script into the sandbox and returns the words that run it. It goes with the call of that token, or when it removes itself. */
export async function keepScript(call: ShellCall, token: string, script: string): Promise<string> {
  const bytes = Buffer.from(script);
  for (let at = 0; at < bytes.length; at += FEED_BYTES) {
    const piece = bytes.subarray(at, at + FEED_BYTES).toString('base64');
    await call(keepCallScript(token, piece), {}).then(assertCallable);
  }
  return keptWords(token);
}

/** Under other names, so that a PATH of the program's does not become that of the scripts. */
function passedVariables(
  env: Readonly<Record<string, string>>,
  passesEnv: boolean,
): { readonly exports: string; readonly env: Readonly<Record<string, string>> } {
  if (!passesEnv) return { exports: shellExports(env), env: {} };
  shellExports(env);
  const passed = Object.entries(env).map(([name, value], index) => ({ name, value, as: `SUBLET_ENV_${index}` }));
  return {
    exports: passed.map(({ name, as }) => `export ${name}="$${as}"; unset ${as}\n`).join(''),
    env: Object.fromEntries(passed.map(({ as, value }) => [as, value])),
  };
}

class CalledProcess implements RemoteProcess {
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exit: Promise<ProcessExit>;
  readonly #options: CalledProcessOptions;
  readonly #pace: CallPace;
  readonly #startedAt: number;
  readonly #token: string;
  readonly #takers: Readonly<Record<CalledStream, StreamTaker>>;
  readonly #cancelPatience: () => void;
  #resolveExit: (exit: ProcessExit) => void = () => undefined;
  #failure: SubletError | undefined;
  #isTaking = false;
  #isOver = false;
  #hasFed = false;

  constructor(
    options: CalledProcessOptions,
    pace: CallPace,
    token: string,
    started: Promise<ShellAnswer>,
    hasInput: boolean,
  ) {
    this.#options = options;
    this.#pace = pace;
    this.#startedAt = options.clock.now();
    this.#token = token;
    this.exit = new Promise((resolve) => (this.#resolveExit = resolve));
    const taker = (stream: CalledStream): StreamTaker =>
      new StreamTaker(token, {
        ask: (isFirst) =>
          callBriefly(options, nudgeScript(token, stream), options.call(takeCallScript(token, stream, isFirst), {})),
        ended: () => this.#streamEnded(),
        fail: (error) => this.#fail(error),
      });
    this.#takers = { stdout: taker('stdout'), stderr: taker('stderr') };
    this.stdout = this.#takers.stdout.readable;
    this.stderr = this.#takers.stderr.readable;
    const pieceBytes = options.upload === undefined ? FEED_BYTES : UPLOAD_BYTES;
    this.stdin = hasInput
      ? createCallInput(options.clock, pieceBytes, (bytes, isLast) => this.#feed(bytes, isLast))
      : null;
    this.#cancelPatience = options.clock.schedule(pace.patienceMs, () => this.#takeFromNowOn());
    started.then(
      (answer) => this.#started(answer),
      (error: unknown) => this.#fail(error),
    );
  }

  failure(): Promise<SubletError | undefined> {
    return Promise.resolve(this.#failure);
  }

  #takeFromNowOn(): void {
    this.#isTaking = true;
    for (const stream of STREAMS) this.#takers[stream].begin();
  }

  /** The program has ended; what was not taken came with the answer. */
  #started(answer: ShellAnswer): void {
    this.#cancelPatience();
    if (this.#isOver) return;
    try {
      assertCallable(answer);
      const [taken = '', encoded = ''] = answer.output.split(' ');
      // It was over before anybody could begin to take.
      if (taken === 'oe') this.#pace.note(this.#options.clock.now() - this.#startedAt);
      let bytes: Uint8Array = Buffer.from(encoded, 'base64');
      if (taken.includes('o')) bytes = this.#takers.stdout.give(bytes);
      if (taken.includes('e')) this.#takers.stderr.give(bytes);
    } catch (error) {
      return this.#fail(error);
    }
    // The script that started it was ended before it could tell how.
    if (!STREAMS.every((stream) => this.#takers[stream].hasTrailer)) this.#lose();
  }

  #streamEnded(): void {
    const takers = STREAMS.map((stream) => this.#takers[stream]);
    // What the start has taken comes with its answer, which comes when the rest has been taken.
    if (this.#isTaking && takers.every((taker) => taker.hasTrailer || taker.isLeftToStart)) {
      this.#isTaking = false;
      void this.#end();
    }
    if (!takers.every((taker) => taker.hasTrailer)) return;
    const status = Number(takers[0]?.trailer);
    this.#over({ exitCode: Number.isInteger(status) ? status : null, signal: undefined });
  }

  async #end(): Promise<void> {
    const { clock, call } = this.#options;
    const askedAt = clock.now();
    await call(endCallScript(this.#token), {}).then(
      () => this.#pace.note(clock.now() - askedAt),
      () => undefined,
    );
  }

  #fail(error: unknown): void {
    this.#failure ??= toSubletError(error, 'PROVIDER_UNAVAILABLE');
    this.#lose();
  }

  #lose(): void {
    if (this.#isOver) return;
    this.#options.call(dropCallScript(this.#token), {}).catch(() => undefined);
    for (const stream of STREAMS) this.#takers[stream].end();
    this.#over({ exitCode: null, signal: undefined });
  }

  #over(exit: ProcessExit): void {
    this.#isOver = true;
    this.#cancelPatience();
    this.#resolveExit(exit);
  }

  async #feed(bytes: Buffer, isLast: boolean): Promise<void> {
    // A pipe that is empty takes a piece at once; after that the program's pace counts.
    const { maxCallMs } = this.#options;
    const isQuick = !this.#hasFed || bytes.length === 0 || maxCallMs === undefined;
    this.#hasFed = true;
    if (isQuick) return this.#feedBy(feedCallScript(this.#token, await this.#input(bytes), isLast));
    await this.#feedBy(feedBrieflyScript(this.#token, bytes.toString('base64')));
    if (isLast) await this.#feedBy(feedCallScript(this.#token, { encoded: '' }, true));
  }

  async #input(bytes: Buffer): Promise<CallInput> {
    const file = bytes.length > FEED_BYTES ? await this.#options.upload?.(`sublet-${this.#token}`, bytes) : undefined;
    return file === undefined ? { encoded: bytes.toString('base64') } : { file };
  }

  async #feedBy(script: string): Promise<void> {
    const letGo = letFeedGoScript(this.#token);
    const call = (text: string): Promise<ShellAnswer> =>
      callBriefly(this.#options, letGo, this.#options.call(text, {}));
    let { exitCode } = await call(script);
    while (exitCode === NOTHING_THERE && !this.#isOver) ({ exitCode } = await call(script));
    while (exitCode === NOT_YET && !this.#isOver) ({ exitCode } = await call(waitFeedScript(this.#token)));
    if (exitCode === NOTHING_THERE || exitCode === NOT_YET || exitCode === TOO_LATE)
      throw Object.assign(new Error('The program has ended.'), { code: 'EPIPE' });
  }
}

function assertCallable({ exitCode }: ShellAnswer): void {
  if (exitCode !== CANNOT_CALL) return;
  throw new SubletError('UNSUPPORTED', 'The sandbox lacks mkfifo, dd or base64, or cannot write below /tmp.', {
    hint: 'Use an image with coreutils or busybox, and a /tmp that can be written.',
  });
}
