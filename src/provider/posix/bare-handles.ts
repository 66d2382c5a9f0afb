/**
 * Node's own handles of processes and pipes, without the modules that make streams of them: to load and compile those is an
 * eighth of a plain run. They are no public interface, so they are used only by a command line that
 * was packed with, and recorded by, the very version of Node that runs it; the public way is there for every other.
 */

/** Whose methods answer with 0 or a negative number of an error. */
export interface BarePipe {
  /** Called for what was read, and at the end; how much is in `Bare.readState`. */
  onread: (bytes?: ArrayBuffer) => void;
  open(fd: number): number;
  readStart(): number;
  readStop(): number;
  useUserBuffer(buffer: Uint8Array): void;
  writeUtf8String(request: object, text: string): number;
  close(): void;
  ref(): void;
  unref(): void;
}

export interface BareProcess {
  readonly pid: number;
  onexit: (exitCode: number, signal: string) => void;
  spawn(options: object): number;
  kill(signal: number): number;
  close(): void;
  ref(): void;
  unref(): void;
}

export interface Bare {
  readonly newProcess: () => BareProcess;
  readonly newPipe: () => BarePipe;
  readonly newWrite: () => object;
  /** Bytes that were read last, or a negative number at the end, and where they begin. */
  readonly readState: () => { readonly bytes: number; readonly offset: number };
}

/** Set when the command line is packed. */
const PACKED_WITH: string = '';

let chosen: Bare | undefined;

/** For a program that starts a process or two and ends. Does nothing where they are not to be used. */
export function chooseBareHandles(): void {
  if (process.version !== PACKED_WITH || isWarnedOf()) return;
  try {
    chosen = findBareHandles();
  } catch {
    // Forbidden by an option of Node's.
  }
}

export function bareHandles(): Bare | undefined {
  return chosen;
}

/** Who asks Node to warn of them wants to see what is not public. */
function isWarnedOf(): boolean {
  const { NODE_OPTIONS = '', NODE_PENDING_DEPRECATION } = process.env;
  const options = [NODE_OPTIONS, ...process.execArgv];
  return NODE_PENDING_DEPRECATION === '1' || options.some((text) => text.includes('--pending-deprecation'));
}

interface Binder {
  binding(name: string): unknown;
}

type Constructor<T, A extends readonly unknown[] = readonly []> = new (...args: A) => T;

/** Throws where Node forbids them. */
export function findBareHandles(): Bare {
  const binding = (name: string): unknown => (process as unknown as Binder).binding(name);
  const { Process } = binding('process_wrap') as { Process: Constructor<BareProcess> };
  const { Pipe, constants } = binding('pipe_wrap') as {
    Pipe: Constructor<BarePipe, readonly [kind: number]>;
    constants: { readonly SOCKET: number };
  };
  const { WriteWrap, streamBaseState, kReadBytesOrError, kArrayBufferOffset } = binding('stream_wrap') as {
    WriteWrap: Constructor<object>;
    streamBaseState: Int32Array;
    kReadBytesOrError: number;
    kArrayBufferOffset: number;
  };
  return {
    newProcess: () => new Process(),
    newPipe: () => new Pipe(constants.SOCKET),
    newWrite: () => new WriteWrap(),
    readState: () => ({
      bytes: streamBaseState[kReadBytesOrError] ?? 0,
      offset: streamBaseState[kArrayBufferOffset] ?? 0,
    }),
  };
}
