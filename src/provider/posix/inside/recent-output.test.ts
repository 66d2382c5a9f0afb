import { describe, expect, it } from 'vitest';
import { RecentOutput } from './recent-output.ts';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

describe('recent output', () => {
  it('is read from any cursor, across chunks, as often as one likes', () => {
    const output = new RecentOutput();
    for (const part of ['one ', 'two ', 'three']) output.append(Buffer.from(part));
    expect(text(output.read(0).data)).toBe('one two three');
    expect(text(output.read(2, 5).data)).toBe('e two');
    expect(output.read(13)).toMatchObject({ next: 13, lostBytes: 0, isLast: true });
  });

  it('says how much is lost once it is longer than what is kept', () => {
    const output = new RecentOutput();
    for (let index = 0; index < 6; index++) output.append(Buffer.alloc(1024 * 1024, index));
    const { lostBytes, data, next } = output.read(0, 10);
    expect([lostBytes, next, data[0]]).toEqual([2 * 1024 * 1024, 2 * 1024 * 1024 + 10, 2]);
  });

  it('wakes who waits, and gives up when told', async () => {
    const output = new RecentOutput();
    const more = output.more(undefined);
    output.append(Buffer.from('x'));
    await more;
    await expect(output.more(AbortSignal.abort())).rejects.toMatchObject({ code: 'ABORTED' });
    const waiting = output.more(undefined);
    output.end();
    await waiting;
    await output.more(undefined);
  });
});
