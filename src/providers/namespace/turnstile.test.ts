import { describe, expect, it } from 'vitest';
import { Turnstile } from './turnstile.ts';

describe('a turnstile', () => {
  it('lets no more pass at once than it has places, and everybody in the order they came', async () => {
    const turnstile = new Turnstile(2);
    const leave: (() => void)[] = [];
    const entered: number[] = [];
    const all = Array.from({ length: 5 }, (_, index) =>
      turnstile.pass(async () => {
        entered.push(index);
        await new Promise<void>((resolve) => leave.push(resolve));
        return index;
      }),
    );
    for (let left = 0; left < 5; left++) {
      await new Promise(setImmediate);
      expect(entered.length).toBe(Math.min(left + 2, 5));
      leave[left]?.();
    }
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4]);
    expect(entered).toEqual([0, 1, 2, 3, 4]);
  });

  it('frees the place of one that fails', async () => {
    const turnstile = new Turnstile(1);
    await expect(turnstile.pass(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await turnstile.pass(() => Promise.resolve('in'))).toBe('in');
  });
});
