/** Public: the `boxlite` provider. */
import { defineProvider, type ProviderModule } from '../../provider/define-provider.ts';
import { CAPABILITIES, OPTIONS } from './boxlite-config.ts';

export const provider: ProviderModule = defineProvider({
  id: 'boxlite',
  title: 'BoxLite',
  summary: 'Micro-VMs of BoxLite: on this machine, or at a BoxLite server.',
  capabilities: CAPABILITIES,
  options: OPTIONS,
  async probe(context) {
    const { probeBoxlite } = await import('./probe.ts');
    return probeBoxlite(context);
  },
  async open(context) {
    const { openBoxliteProvider } = await import('./open-boxlite-provider.ts');
    return openBoxliteProvider(context);
  },
});
