/** A name for what is the same, told apart from all that differs. Nobody gains by a collision, and `node:crypto` takes long to load. */

const LANES = [0x9e3779b9, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f] as const;

/** 128 bits in hexadecimal digits: four lanes, each mixed with its neighbour. */
export function contentName(text: string): string {
  const state = new Uint32Array(LANES);
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    for (const [lane, factor] of LANES.entries()) {
      const neighbour = state[(lane + 1) % 4] as number;
      const mixed = Math.imul((state[lane] as number) ^ unit ^ (neighbour >>> 15), factor | 1);
      state[lane] = mixed ^ (mixed >>> 13);
    }
  }
  return [...state].map((word) => word.toString(16).padStart(8, '0')).join('');
}
