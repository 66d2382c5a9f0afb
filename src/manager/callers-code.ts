/** What the caller's own code throws while a sandbox works for it: told apart from what the provider does, and never translated. */
import type { RunOptions } from '../core/commands.ts';
import { SubletError } from '../core/errors.ts';
import type { FileContent } from '../core/files.ts';

type Callback = NonNullable<RunOptions['onStdout']>;
type Source = AsyncIterable<Uint8Array>;

/** The callbacks and sources of one call. */
export class CallersCode {
  /** The first error of any of them; boxed, because anything can be thrown. */
  failure: { readonly error: unknown } | undefined;
  readonly #signal: AbortSignal | undefined;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** The options, with everything in them that can throw watched. The same object when there is nothing. */
  watch<O extends Pick<RunOptions, 'onStdout' | 'onStderr' | 'stdin'>>(options: O | undefined): O | undefined {
    const { onStdout, onStderr, stdin } = options ?? {};
    if (onStdout === undefined && onStderr === undefined && !isSource(stdin)) return options;
    return {
      ...options,
      onStdout: onStdout && this.#callback(onStdout),
      onStderr: onStderr && this.#callback(onStderr),
      stdin: this.content(stdin),
    } as O;
  }

  content<C extends FileContent | undefined>(content: C): C {
    return isSource(content) ? (this.#source(content) as C) : content;
  }

  #callback(callback: Callback): Callback {
    return (chunk) => {
      try {
        const taken = callback(chunk);
        return taken === undefined ? undefined : Promise.resolve(taken).catch((error: unknown) => this.#fail(error));
      } catch (error) {
        return this.#fail(error);
      }
    };
  }

  // Without `throw`, by which a reader would hand its own error through as if it were the source's.
  #source(source: Source): Source {
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = source[Symbol.asyncIterator]();
        return {
          next: async () => {
            try {
              const step = await iterator.next();
              if (step.done !== true) assertBytes(step.value);
              return step;
            } catch (error) {
              return this.#fail(error);
            }
          },
          return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
        };
      },
    };
  }

  // What follows the signal that ends the call fails because of it: that is ABORTED.
  #fail(error: unknown): never {
    if (this.#signal?.aborted !== true) this.failure ??= { error };
    throw error;
  }
}

function isSource(content: unknown): content is Source {
  return typeof content === 'object' && content !== null && Symbol.asyncIterator in content;
}

function assertBytes(chunk: unknown): void {
  if (chunk instanceof Uint8Array || typeof chunk === 'string') return;
  throw new SubletError('USAGE', `A source of bytes gave ${chunk === null ? 'null' : `a ${typeof chunk}`}.`, {
    hint: 'Give Uint8Array chunks, or strings.',
  });
}
