/** Public: the `namespace` provider. */
import { SubletError } from '../../core/errors.ts';
import { defineProvider, type ProviderModule } from '../../provider/define-provider.ts';
import { CAPABILITIES, OPTIONS } from './namespace-config.ts';

export const provider: ProviderModule = defineProvider({
  id: 'namespace',
  title: 'Linux namespaces',
  summary: 'This machine’s kernel, nothing to install: util-linux is enough, root is not needed.',
  capabilities: CAPABILITIES,
  automatic: 1,
  options: OPTIONS,
  async probe() {
    const { probeNamespaces } = await import('./probe.ts');
    return probeNamespaces();
  },
  async open(context) {
    if (process.platform !== 'linux') {
      throw new SubletError('PROVIDER_UNUSABLE', `Namespaces are a feature of Linux; this is ${process.platform}.`, {
        hint: 'Install Docker Desktop, Colima or Podman and use --sandbox docker.',
      });
    }
    const { NamespaceProvider } = await import('./namespace-provider.ts');
    return new NamespaceProvider(context);
  },
});
