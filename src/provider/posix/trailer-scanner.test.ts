/** Finding the end of a command's output, however it is cut into chunks. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { TrailerScanner } from './trailer-scanner.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';
const trailer = (text: string): Buffer => Buffer.from(`\u001e${TOKEN}:${text}\u001e${TOKEN}`);

it('separates output and trailer wherever the stream is cut', () => {
  // Letters of the mark and the token, so that near misses are common.
  const output = fc
    .array(fc.constantFrom('\u001e', '0', '1', TOKEN, `\u001e${TOKEN}`, 'x', '\n'))
    .map((parts) => Buffer.from(parts.join('')));
  fc.assert(
    fc.property(output, fc.array(fc.nat({ max: 7 })), (bytes, sizes) => {
      const seen = scan(Buffer.concat([bytes, trailer('0 /a b')]), sizes);
      expect(seen.trailer).toBe('0 /a b');
      expect(seen.output.equals(bytes)).toBe(true);
    }),
  );
});

it('gives everything when the stream ends without a trailer', () => {
  const bytes = Buffer.from(`left\u001e${TOKEN}`);
  expect(new TrailerScanner(TOKEN).push(bytes, true)).toMatchObject({ output: bytes, trailer: undefined });
});

function scan(bytes: Buffer, sizes: readonly number[]): { output: Buffer; trailer: string | undefined } {
  const scanner = new TrailerScanner(TOKEN);
  const outputs: Uint8Array[] = [];
  let from = 0;
  for (const size of [...sizes, bytes.length]) {
    const scanned = scanner.push(bytes.subarray(from, from + size), false);
    outputs.push(Uint8Array.from(scanned.output));
    if (scanned.trailer !== undefined) return { output: Buffer.concat(outputs), trailer: scanned.trailer };
    from += size;
  }
  return { output: Buffer.concat(outputs), trailer: undefined };
}
