/** Whether there is a token and the SDK, for `sublet doctor`. The service is not asked. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { Probe } from '../../provider/provider.ts';
import { probeService, sdkCheck } from '../../provider/service/probe-service.ts';
import { parseModalConfig, SDK } from './modal-config.ts';

export function probeModal(context: ProviderContext): Promise<Probe> {
  return probeService([
    { name: 'key', find: () => `There is one for ${parseModalConfig(context).serverUrl}.` },
    sdkCheck('modal', SDK, () => import('modal')),
  ]);
}
