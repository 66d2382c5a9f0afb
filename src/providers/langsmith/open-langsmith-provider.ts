/** Puts the provider together. The SDK is loaded by its first call. */
import { createRequire } from 'node:module';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { LangsmithApi } from './langsmith-api.ts';
import { parseLangsmithConfig, SOCKETS } from './langsmith-config.ts';
import { LangsmithProvider } from './langsmith-provider.ts';

export async function openLangsmithProvider(
  context: ProviderContext,
  hasSockets: boolean = isInstalled(SOCKETS.package),
): Promise<SandboxProvider> {
  const config = parseLangsmithConfig(context);
  return new LangsmithProvider(context, config, new LangsmithApi(config), hasSockets);
}

/** Whether it is there for the SDK to load. */
function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}
