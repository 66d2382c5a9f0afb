/** Public: the `e2b` provider. */
import { defineProvider, type ProviderModule } from '../../provider/define-provider.ts';
import { CAPABILITIES, OPTIONS } from './e2b-config.ts';

export const provider: ProviderModule = defineProvider({
  id: 'e2b',
  title: 'E2B',
  summary: 'Micro-VMs of E2B, or of any server that speaks its protocol.',
  capabilities: CAPABILITIES,
  options: OPTIONS,
  async probe(context) {
    const { probeE2b } = await import('./probe.ts');
    return probeE2b(context);
  },
  async open(context) {
    const { E2bProvider } = await import('./e2b-provider.ts');
    return new E2bProvider(context);
  },
});
