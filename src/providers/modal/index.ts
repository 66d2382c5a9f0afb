/** Public: the `modal` provider. */
import { defineProvider, type ProviderModule } from '../../provider/define-provider.ts';
import { CAPABILITIES, OPTIONS } from './modal-config.ts';

export const provider: ProviderModule = defineProvider({
  id: 'modal',
  title: 'Modal',
  summary: 'Sandboxes of Modal, from an image of a registry or a snapshot.',
  capabilities: CAPABILITIES,
  options: OPTIONS,
  async probe(context) {
    const { probeModal } = await import('./probe.ts');
    return probeModal(context);
  },
  async open(context) {
    const { openModalProvider } = await import('./open-modal-provider.ts');
    return openModalProvider(context);
  },
});
