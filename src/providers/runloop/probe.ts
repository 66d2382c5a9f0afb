/** Whether there is a key and the SDK, for `sublet doctor`. The service is not asked. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { Probe } from '../../provider/provider.ts';
import { probeService, sdkCheck } from '../../provider/service/probe-service.ts';
import { parseRunloopConfig, SDK } from './runloop-config.ts';

export function probeRunloop(context: ProviderContext): Promise<Probe> {
  return probeService([
    { name: 'key', find: () => `There is one for ${parseRunloopConfig(context).baseUrl}.` },
    sdkCheck('runloop', SDK, () => import('@runloop/api-client')),
  ]);
}
