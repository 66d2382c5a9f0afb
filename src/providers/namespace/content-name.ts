/** A name for what is the same, told apart from all that differs. Nobody gains by a collision, and `node:crypto` takes long to load. */

/** 128 bits in hexadecimal digits: four lanes, each mixed with its neighbour. Written out, because a fresh process interprets it. */
export function contentName(text: string): string {
  let [a, b, c, d] = [0x9e3779b9, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    a = Math.imul(a ^ unit ^ (b >>> 15), 0x9e3779b9);
    b = Math.imul(b ^ unit ^ (c >>> 15), 0x85ebca6b);
    c = Math.imul(c ^ unit ^ (d >>> 15), 0xc2b2ae35);
    d = Math.imul(d ^ unit ^ (a >>> 15), 0x27d4eb2f);
    a ^= a >>> 13;
    b ^= b >>> 13;
    c ^= c >>> 13;
    d ^= d >>> 13;
  }
  return [a, b, c, d].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}
