/** Public: the `langsmith` provider. */
import { defineProvider, type ProviderModule } from '../../provider/define-provider.ts';
import { CAPABILITIES, OPTIONS } from './langsmith-config.ts';

export const provider: ProviderModule = defineProvider({
  id: 'langsmith',
  title: 'LangSmith',
  summary: 'Micro-VMs of LangSmith, from a snapshot.',
  capabilities: CAPABILITIES,
  options: OPTIONS,
  async probe(context) {
    const { probeLangsmith } = await import('./probe.ts');
    return probeLangsmith(context);
  },
  async open(context) {
    const { openLangsmithProvider } = await import('./open-langsmith-provider.ts');
    return openLangsmithProvider(context);
  },
});
