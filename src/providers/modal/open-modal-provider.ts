/** Puts the provider together. The SDK is loaded by its first call. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { ModalApi } from './modal-api.ts';
import { parseModalConfig } from './modal-config.ts';
import { ModalProvider } from './modal-provider.ts';

export async function openModalProvider(context: ProviderContext): Promise<SandboxProvider> {
  const config = parseModalConfig(context);
  return new ModalProvider(context, config, new ModalApi(config));
}
