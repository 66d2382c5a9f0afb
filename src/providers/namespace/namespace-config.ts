/** What the namespace provider can do at best. A machine may allow less; `probe` says what and why. */
import type { Capability } from '../../provider/capabilities.ts';

export const CAPABILITIES = [
  'pause',
  'stop',
  'metrics',
  'pty',
  'volumes',
  'mounts',
  'labels',
  'network-none',
  'network-open',
  'network-live',
  'limit-memory',
  'limit-cpu',
  'limit-pids',
  'limit-disk',
  'background',
  'isolation',
  'dies-with-owner',
] as const satisfies readonly Capability[];
