/** Public: the `daytona` provider. */
import { defineProvider, type ProviderModule } from '../../provider/define-provider.ts';
import { CAPABILITIES, OPTIONS } from './daytona-config.ts';

export const provider: ProviderModule = defineProvider({
  id: 'daytona',
  title: 'Daytona',
  summary: 'Sandboxes of Daytona, its cloud or a server of your own.',
  capabilities: CAPABILITIES,
  options: OPTIONS,
  async probe(context) {
    const { probeDaytona } = await import('./probe.ts');
    return probeDaytona(context);
  },
  async open(context) {
    const { openDaytonaProvider } = await import('./open-daytona-provider.ts');
    return openDaytonaProvider(context);
  },
});
