/** Time, injectable. Nothing in core or manager reads the machine's clock directly. */

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds since some instant: only grows, however the machine's time is set. */
  elapsed(): number;
  /** Calls once after `ms`; the returned function cancels. `ref: false` does not keep the process alive. */
  schedule(ms: number, callback: () => void, options?: { readonly ref?: boolean }): () => void;
}

/** Resolves after `ms`, or rejects with the signal's reason. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    // Listening before scheduling, because a clock may call back at once.
    let cancel = (): void => {};
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    cancel = clock.schedule(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
  });
}
