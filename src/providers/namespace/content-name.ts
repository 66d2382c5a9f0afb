/** A name for what is the same, told apart from all that differs. Nobody gains by a collision, and `node:crypto` takes long to load. */

/**
 * 128 bits in hexadecimal digits: four lanes, each mixed with its neighbour, over four bytes at a time. Written out, because
 * a fresh process interprets it.
 */
export function contentName(text: string): string {
  const bytes = Buffer.byteLength(text);
  const words = new Uint32Array(Math.ceil(bytes / 4));
  Buffer.from(words.buffer).write(text);
  let [a, b, c, d] = [0x9e3779b9 ^ bytes, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f];
  for (const word of words) {
    a = Math.imul(a ^ word ^ (b >>> 15), 0x9e3779b9);
    b = Math.imul(b ^ word ^ (c >>> 15), 0x85ebca6b);
    c = Math.imul(c ^ word ^ (d >>> 15), 0xc2b2ae35);
    d = Math.imul(d ^ word ^ (a >>> 15), 0x27d4eb2f);
    a ^= a >>> 13;
    b ^= b >>> 13;
    c ^= c >>> 13;
    d ^= d >>> 13;
  }
  // As often again as it takes for the last word to reach every bit.
  for (let round = 0; round < 4; round++) {
    a = Math.imul(a ^ (b >>> 15), 0x9e3779b9);
    b = Math.imul(b ^ (c >>> 15), 0x85ebca6b);
    c = Math.imul(c ^ (d >>> 15), 0xc2b2ae35);
    d = Math.imul(d ^ (a >>> 15), 0x27d4eb2f);
  }
  return [a, b, c, d].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}
