import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StreamDemux } from './stream-demux.ts';

function frame(stream: number, text: Uint8Array): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(text.length, 4);
  return Buffer.concat([header, text]);
}

describe('taking two streams apart', () => {
  it('gives every byte to its stream, however the frames are cut', () => {
    const frames = fc.array(fc.record({ stream: fc.constantFrom(1, 2), body: fc.uint8Array({ maxLength: 40 }) }));
    fc.assert(
      fc.property(frames, fc.integer({ min: 1, max: 17 }), (wanted, size) => {
        const seen = { stdout: [] as number[], stderr: [] as number[] };
        const demux = new StreamDemux((stream, chunk) => seen[stream].push(...chunk));
        const bytes = Buffer.concat(wanted.map(({ stream, body }) => frame(stream, body)));
        for (let at = 0; at < bytes.length; at += size) demux.push(bytes.subarray(at, at + size));
        const of = (stream: number): number[] =>
          wanted.filter((each) => each.stream === stream).flatMap(({ body }) => [...body]);
        expect(seen).toEqual({ stdout: of(1), stderr: of(2) });
      }),
    );
  });
});
