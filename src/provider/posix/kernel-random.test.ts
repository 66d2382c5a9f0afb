import { expect, it } from 'vitest';
import { kernelRandom } from './kernel-random.ts';

it('gives as many bytes as asked for, and others each time', () => {
  expect(kernelRandom(0)).toHaveLength(0);
  const many = Array.from({ length: 100 }, () => Buffer.from(kernelRandom(16)).toString('hex'));
  expect(many.every((each) => each.length === 32)).toBe(true);
  expect(new Set(many).size).toBe(many.length);
});

it('fills every place', () => {
  const sum = new Uint8Array(64);
  for (let round = 0; round < 64; round++) for (const [at, byte] of kernelRandom(64).entries()) sum[at]! |= byte;
  expect([...sum].every((byte) => byte > 0)).toBe(true);
});
