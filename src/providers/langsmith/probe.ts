/** Whether there is a key and the SDK, for `sublet doctor`. The service is not asked. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import { loadSdk } from '../../provider/load-sdk.ts';
import type { Probe } from '../../provider/provider.ts';
import { probeService, sdkCheck } from '../../provider/service/probe-service.ts';
import { parseLangsmithConfig, SDK, SOCKETS } from './langsmith-config.ts';

export function probeLangsmith(context: ProviderContext): Promise<Probe> {
  const key = { name: 'key', find: () => `There is one for ${parseLangsmithConfig(context).endpoint}.` };
  const sockets = {
    name: 'streaming',
    isOptional: true,
    find: async () => {
      await loadSdk('langsmith', SOCKETS, () => import('ws'));
      return `${SOCKETS.package} loads.`;
    },
  };
  return probeService([key, sdkCheck('langsmith', SDK, () => import('langsmith/sandbox')), sockets]);
}
