/** Whether there is a key and a way to speak to Daytona, for `sublet doctor`. The service is not asked. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { Probe } from '../../provider/provider.ts';
import { probeService, sdkCheck } from '../../provider/service/probe-service.ts';
import { parseDaytonaConfig, SDK } from './daytona-config.ts';

export function probeDaytona(context: ProviderContext): Promise<Probe> {
  const key = { name: 'key', find: () => `There is one for ${parseDaytonaConfig(context).apiUrl}.` };
  const isPlain = context.options['transport'] === 'toolbox';
  return probeService([key, ...(isPlain ? [] : [sdkCheck('daytona', SDK, () => import('@daytona/sdk'))])]);
}
