/** Finds the engine and learns what it can do. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import { DockerApi } from './docker-api.ts';
import { CAPABILITIES, parseDockerConfig } from './docker-config.ts';
import { DockerProvider } from './docker-provider.ts';
import { surroundingsOf } from './engine-candidates.ts';
import { findEngine } from './find-engine.ts';
import { canLimitDisk } from './probe.ts';

export async function openDockerProvider(context: ProviderContext): Promise<DockerProvider> {
  const config = parseDockerConfig(context.options);
  const api = new DockerApi(await findEngine(config.host, context.clock, surroundingsOf(context)));
  const hasDiskLimit = canLimitDisk(await api.info());
  const capabilities = CAPABILITIES.filter((capability) => capability !== 'limit-disk' || hasDiskLimit);
  return new DockerProvider(context, api, config, capabilities);
}
