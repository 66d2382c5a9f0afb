/** A child process with pipes to it, however it was started. */
import type { Stdio } from './inherited-descriptors.ts';

export interface ChildPipe {
  write(text: string): void;
  onData(take: (chunk: Uint8Array) => void): void;
  /** Resolves when nothing more comes. */
  readonly heard: Promise<void>;
  /** Twice is harmless. */
  destroy(): void;
  ref(): void;
  unref(): void;
}

export interface PipedChild {
  /** undefined when it could not be started. */
  readonly pid: number | undefined;
  readonly hasEnded: boolean;
  /** By the number that the child has them under. */
  readonly pipes: readonly (ChildPipe | undefined)[];
  /** Resolves when it has ended, or could not be started. */
  readonly exited: Promise<void>;
  /** The exit code, when all it said was heard; null when a signal ended it. Rejects when it could not be started. */
  readonly code: Promise<number | null>;
  kill(): void;
  ref(): void;
  unref(): void;
}

export interface PipedChildOptions {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdio: readonly Stdio[];
}
