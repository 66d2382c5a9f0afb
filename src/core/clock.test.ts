import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { sleep, type Clock } from './clock.ts';

/** Calls back when told to. */
function handClock(): { clock: Clock; ring: () => void; pending: () => number } {
  const waiting = new Set<() => void>();
  const clock: Clock = {
    now: () => 0,
    elapsed: () => 0,
    schedule: (_ms, callback) => {
      waiting.add(callback);
      return () => waiting.delete(callback);
    },
  };
  return { clock, ring: () => waiting.forEach((callback) => callback()), pending: () => waiting.size };
}

describe('sleep', () => {
  it('resolves when the clock says so and stops listening to the signal', async () => {
    const { clock, ring } = handClock();
    const { signal } = new AbortController();
    const slept = sleep(clock, 10, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    ring();
    await expect(slept).resolves.toBeUndefined();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('rejects with the reason at once when aborted, and cancels its timer', async () => {
    const { clock, pending } = handClock();
    const controller = new AbortController();
    const slept = sleep(clock, 10, controller.signal);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(slept).rejects.toBe(reason);
    expect(pending()).toBe(0);
  });

  it('sets no timer when the signal is already aborted', async () => {
    const { clock, pending } = handClock();
    await expect(sleep(clock, 10, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    expect(pending()).toBe(0);
  });

  it('works on a clock that calls back within schedule', async () => {
    const { signal } = new AbortController();
    const instant: Clock = {
      now: () => 0,
      elapsed: () => 0,
      schedule: (_ms, callback) => {
        callback();
        return () => {};
      },
    };
    await expect(sleep(instant, 0, signal)).resolves.toBeUndefined();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});
