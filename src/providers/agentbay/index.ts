/** Public: the `agentbay` provider. */
import { defineProvider, type ProviderModule } from '../../provider/define-provider.ts';
import { CAPABILITIES, OPTIONS } from './agentbay-config.ts';

export const provider: ProviderModule = defineProvider({
  id: 'agentbay',
  title: 'AgentBay',
  summary: 'Sessions of Alibaba’s AgentBay, over plain HTTP: nothing to install.',
  capabilities: CAPABILITIES,
  options: OPTIONS,
  async probe(context) {
    const { probeAgentBay } = await import('./probe.ts');
    return probeAgentBay(context);
  },
  async open(context) {
    const { openAgentBayProvider } = await import('./open-agentbay-provider.ts');
    return openAgentBayProvider(context);
  },
});
