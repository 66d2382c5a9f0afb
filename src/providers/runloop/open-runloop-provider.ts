/** Puts the provider together. The SDK is loaded by its first call. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { parseRunloopConfig } from './runloop-config.ts';
import { RunloopApi } from './runloop-api.ts';
import { RunloopProvider } from './runloop-provider.ts';

export async function openRunloopProvider(context: ProviderContext): Promise<SandboxProvider> {
  const config = parseRunloopConfig(context);
  return new RunloopProvider(context, config, new RunloopApi(config));
}
