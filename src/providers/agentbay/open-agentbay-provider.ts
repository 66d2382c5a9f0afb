/** Puts the provider together. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { AgentBayApi } from './agentbay-api.ts';
import { parseAgentBayConfig } from './agentbay-config.ts';
import { AgentBayProvider } from './agentbay-provider.ts';

export async function openAgentBayProvider(context: ProviderContext): Promise<SandboxProvider> {
  const config = parseAgentBayConfig(context);
  return new AgentBayProvider(context, config, new AgentBayApi(config, context.clock));
}
