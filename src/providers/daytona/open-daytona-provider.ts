/** Puts the provider together. The SDK is loaded by its first call. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { parseDaytonaConfig } from './daytona-config.ts';
import { DaytonaProvider } from './daytona-provider.ts';
import { HttpApi } from './http-api.ts';
import { SdkApi } from './sdk-api.ts';

export async function openDaytonaProvider(context: ProviderContext): Promise<SandboxProvider> {
  const config = parseDaytonaConfig(context);
  const api = config.transport === 'sdk' ? new SdkApi(config, context.clock) : new HttpApi(config, context.clock);
  return new DaytonaProvider(context, config, api);
}
