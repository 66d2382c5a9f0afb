/** What is there before anything is asked of the service: a key, and the SDK. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { Probe } from '../../provider/provider.ts';
import { probeService, sdkCheck } from '../../provider/service/probe-service.ts';
import { API_KEY, DESKTOP_SDK, E2B_SDK, readConfig } from './e2b-config.ts';

export function probeE2b(context: ProviderContext): Promise<Probe> {
  const findKey = (): string => {
    readConfig(context);
    return `${API_KEY} is set.`;
  };
  return probeService([
    { name: 'key', find: findKey },
    sdkCheck('e2b', E2B_SDK, () => import('e2b')),
    // Without it there are no sandboxes of kind desktop.
    { ...sdkCheck('e2b', DESKTOP_SDK, () => import('@e2b/desktop')), isOptional: true },
  ]);
}
