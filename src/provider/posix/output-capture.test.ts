import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OutputCapture } from './output-capture.ts';

describe('OutputCapture', () => {
  it('gives back exactly what fits', () => {
    const capture = pushed(10, Buffer.from('hello'), Buffer.from('world'));
    expect(capture).toMatchObject({ bytes: 10, truncated: false });
    expect(capture.text()).toBe('helloworld');
  });

  it('keeps the first and the last half and says how much is left out', () => {
    const capture = pushed(10, Buffer.from(`first${'x'.repeat(1000)}final`));
    expect(capture).toMatchObject({ bytes: 1010, truncated: true });
    expect(capture.text()).toBe('first\n… 1000 bytes left out …\nfinal');
  });

  it('keeps nothing when told to, and still counts', () => {
    const capture = pushed(0, Buffer.from('abc'));
    expect(capture).toMatchObject({ bytes: 3, truncated: true });
    expect(capture.text()).toBe('\n… 3 bytes left out …\n');
  });

  it('does not split a character at either side of the gap', () => {
    for (let limit = 1; limit < 40; limit++) {
      const capture = pushed(limit, Buffer.from('漢🦊é'.repeat(100)));
      expect(capture.text()).not.toContain('\ufffd');
      expect(capture.text()).toContain('bytes left out');
    }
  });

  it('joins a character that two chunks share', () => {
    const bytes = Buffer.from('a🦊b');
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(pushed(100, bytes.subarray(0, cut), bytes.subarray(cut)).text()).toBe('a🦊b');
    }
  });

  it('shows bytes that are not UTF-8 as U+FFFD', () => {
    expect(pushed(100, Uint8Array.of(0x61, 0xff, 0x62)).text()).toBe('a\ufffdb');
    expect(pushed(8, Buffer.alloc(100, 0x80)).text()).toContain('\ufffd');
  });

  it('does not depend on how the bytes are cut into chunks', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 30 });
    fc.assert(
      fc.property(chunks, fc.nat(200), (parts, limit) => {
        const whole = pushed(limit, Buffer.concat(parts));
        const pieces = pushed(limit, ...parts);
        expect(pieces.text()).toBe(whole.text());
        expect(pieces.bytes).toBe(whole.bytes);
        expect(pieces.truncated).toBe(whole.bytes > limit);
      }),
    );
  });

  it('does not keep the chunk it was given', () => {
    const chunk = Buffer.from('before');
    const capture = pushed(100, chunk);
    chunk.fill('x');
    expect(capture.text()).toBe('before');
  });

  it('holds no more than its limit however much passes', () => {
    const capture = new OutputCapture(1024 * 1024);
    const before = process.memoryUsage().arrayBuffers;
    for (let pushedBytes = 0; pushedBytes < 1024 ** 3; pushedBytes += 65_536) capture.push(BLOCK);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(3 * 1024 * 1024);
    expect(capture.bytes).toBe(1024 ** 3);
    expect(capture.text().length).toBeLessThan(1024 * 1024 + 100);
  });
});

const BLOCK = Buffer.alloc(65_536, 'x');

function pushed(limit: number, ...chunks: readonly Uint8Array[]): OutputCapture {
  const capture = new OutputCapture(limit);
  for (const chunk of chunks) capture.push(chunk);
  return capture;
}
