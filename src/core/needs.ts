/** What a caller can insist on beside what the rest of its options says: a provider without it is not asked. */

export const NEEDS = [
  'pause',
  'stop',
  'snapshot',
  'reset',
  'metrics',
  'pty',
  'ports',
  'volumes',
  'background',
  'network-live',
  'isolation',
] as const;

export type Need = (typeof NEEDS)[number];
