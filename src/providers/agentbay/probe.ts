/** Whether there is a key, for `sublet doctor`. The service is not asked. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { Probe } from '../../provider/provider.ts';
import { probeService } from '../../provider/service/probe-service.ts';
import { parseAgentBayConfig } from './agentbay-config.ts';

export function probeAgentBay(context: ProviderContext): Promise<Probe> {
  return probeService([{ name: 'key', find: () => `There is one for ${parseAgentBayConfig(context).endpoint}.` }]);
}
