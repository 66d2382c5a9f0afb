/** The process's three streams, as commands see them: what is a terminal, how wide, with what colours, and writes that wait. */
import { fstatSync } from 'node:fs';
import { isatty, type WriteStream } from 'node:tty';

export type OutputName = 'stdout' | 'stderr';

export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  /** Both ends are a person: a TTY makes sense. */
  readonly isInteractive: boolean;
  /** Somebody feeds us: a pipe, a socket or a file. */
  readonly isStdinPiped: boolean;
  isTerminal(name: OutputName): boolean;
  /** undefined when it is not a terminal: nothing is cut then. */
  columns(): number | undefined;
  size(): { readonly cols: number; readonly rows: number };
  colours(name: OutputName): boolean;
  /** Resolves when the stream wants more, so that a slow reader slows the writer down. */
  write(name: OutputName, data: string | Uint8Array): Promise<void>;
  onResize(listener: () => void): () => void;
  flush(): Promise<void>;
}

export type OutputFailure = (error: NodeJS.ErrnoException) => void;

type Environment = Readonly<Record<string, string | undefined>>;

const FD: Readonly<Record<OutputName, number>> = { stdout: 1, stderr: 2 };

// A stream is made on first use, and its kind is asked of the descriptor: making all three costs start-up time.
export function createTerminal(process: NodeJS.Process, onFailed: OutputFailure): Terminal {
  const used = new Map<OutputName, WriteStream>();
  const stream = (name: OutputName): WriteStream => {
    const known = used.get(name);
    if (known !== undefined) return known;
    const made = process[name].on('error', onFailed);
    used.set(name, made);
    return made;
  };
  return {
    get stdin() {
      return process.stdin;
    },
    get isInteractive() {
      return isTerminal(1) && isTerminal(0);
    },
    get isStdinPiped() {
      return isFed(0);
    },
    isTerminal: (name) => isTerminal(FD[name]),
    columns: () => (isTerminal(1) ? stream('stdout').columns : undefined),
    size: () => ({ cols: stream('stdout').columns || 80, rows: stream('stdout').rows || 24 }),
    colours: (name) => wantsColours(process.env, isTerminal(FD[name])),
    write: (name, data) => write(stream(name), data, onFailed),
    onResize(listener) {
      const stdout = stream('stdout').on('resize', listener);
      return () => stdout.off('resize', listener);
    },
    async flush() {
      await Promise.all([...used.values()].map(flush));
    },
  };
}

/** NO_COLOR and FORCE_COLOR decide; else a terminal that is not dumb. */
export function wantsColours(environment: Environment, isTerminal: boolean): boolean {
  if (environment['NO_COLOR']) return false;
  const force = environment['FORCE_COLOR'];
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false';
  return isTerminal && environment['TERM'] !== 'dumb';
}

// Asked of the kernel first: most often it is a pipe or a file, and Node's module for terminals need not be loaded.
function isTerminal(fd: number): boolean {
  return isCharacterDevice(fd) === true && isatty(fd);
}

// A character device is a terminal or /dev/null: neither is input that somebody prepared.
function isFed(fd: number): boolean {
  return isCharacterDevice(fd) === false;
}

/** undefined when it is closed. */
function isCharacterDevice(fd: number): boolean | undefined {
  try {
    return fstatSync(fd).isCharacterDevice();
  } catch {
    return undefined;
  }
}

function write(stream: WriteStream, data: string | Uint8Array, onFailed: OutputFailure): Promise<void> {
  try {
    if (stream.destroyed || stream.write(data)) return Promise.resolve();
  } catch (cause) {
    // A file's errors are thrown by some versions of Node, and leave the stream as if it were still writing.
    stream.destroy();
    onFailed(cause as NodeJS.ErrnoException);
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done).off('error', done);
      resolve();
    };
    stream.on('drain', done).on('close', done).on('error', done);
  });
}

function flush(stream: WriteStream): Promise<void> {
  // An error is told a moment after it happened.
  if (stream.destroyed || (stream.writableLength === 0 && stream.errored === null)) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('close', resolve);
    stream.write('', () => resolve());
  });
}
