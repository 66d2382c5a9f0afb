/** What a provider may be able to do beyond create, attach, destroy and list. */

export const CAPABILITIES = [
  'pause',
  'stop',
  'extend',
  'snapshot',
  'reset',
  'metrics',
  'pty',
  'ports',
  'volumes',
  'mounts',
  'labels',
  'network-none',
  'network-open',
  'network-allowlist',
  'network-live',
  'limit-memory',
  'limit-cpu',
  'limit-pids',
  'limit-disk',
  'background',
  'isolation',
  // An ephemeral sandbox's processes end with the process that made it, however that ends.
  'dies-with-owner',
] as const;

export type Capability = (typeof CAPABILITIES)[number];
