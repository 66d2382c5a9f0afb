/** What the namespace provider can do at best, and what its profile section takes. A machine may allow less; `probe` says what and why. */
import { SubletError } from '../../core/errors.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderOptionField } from '../../provider/define-provider.ts';
import type { UplinkTool } from './uplink.ts';

export const CAPABILITIES = [
  'pause',
  'stop',
  'reset',
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

const UPLINKS: readonly UplinkTool[] = ['pasta', 'slirp4netns', 'veth'];

export const OPTIONS: Readonly<Record<string, ProviderOptionField>> = {
  uplink: { type: 'string', description: `the way to an open network: ${UPLINKS.join(', ')}; else the first there is` },
};

/** CONFIG_INVALID for a way that there is not. */
export function uplinkOption(options: Readonly<Record<string, unknown>>): UplinkTool | undefined {
  const { uplink } = options;
  const known = UPLINKS.find((tool) => tool === uplink);
  if (uplink === undefined || known !== undefined) return known;
  throw new SubletError('CONFIG_INVALID', `namespace.uplink is ${JSON.stringify(uplink)}.`, {
    hint: `It is one of ${UPLINKS.join(', ')}, or not given.`,
  });
}
