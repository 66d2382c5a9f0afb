/** Puts the provider together. The SDK is loaded by its first call. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { BoxliteApi } from './boxlite-api.ts';
import { parseBoxliteConfig } from './boxlite-config.ts';
import { BoxliteProvider } from './boxlite-provider.ts';

export async function openBoxliteProvider(context: ProviderContext): Promise<SandboxProvider> {
  const config = parseBoxliteConfig(context);
  return new BoxliteProvider(context, config, new BoxliteApi(config, context.clock));
}
