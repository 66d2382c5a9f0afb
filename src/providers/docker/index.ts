/** Public: the `docker` provider. */
import { defineProvider, type ProviderModule } from '../../provider/define-provider.ts';
import { CAPABILITIES, OPTIONS } from './docker-config.ts';

export const provider: ProviderModule = defineProvider({
  id: 'docker',
  title: 'Docker and Podman',
  summary: 'Containers of any image, on an engine that is here or elsewhere: Docker, Colima, Podman.',
  capabilities: CAPABILITIES,
  automatic: 2,
  options: OPTIONS,
  async probe(context) {
    const { probeDocker } = await import('./probe.ts');
    return probeDocker(context);
  },
  async open(context) {
    const { openDockerProvider } = await import('./open-docker-provider.ts');
    return openDockerProvider(context);
  },
});
