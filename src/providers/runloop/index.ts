/** Public: the `runloop` provider. */
import { defineProvider, type ProviderModule } from '../../provider/define-provider.ts';
import { CAPABILITIES, OPTIONS } from './runloop-config.ts';

export const provider: ProviderModule = defineProvider({
  id: 'runloop',
  title: 'Runloop',
  summary: 'Devboxes of Runloop, from a blueprint or a snapshot.',
  capabilities: CAPABILITIES,
  options: OPTIONS,
  async probe(context) {
    const { probeRunloop } = await import('./probe.ts');
    return probeRunloop(context);
  },
  async open(context) {
    const { openRunloopProvider } = await import('./open-runloop-provider.ts');
    return openRunloopProvider(context);
  },
});
