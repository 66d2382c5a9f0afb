/** Public: the bare host as a provider. */
import { defineProvider, type ProviderModule } from '../../provider/define-provider.ts';
import { LOCAL_CAPABILITIES, LocalProvider } from './local-provider.ts';

export { LocalProvider };

export const provider: ProviderModule = defineProvider({
  id: 'local',
  title: 'Local',
  summary: 'This machine itself, without any isolation; only when asked for by name.',
  capabilities: LOCAL_CAPABILITIES,
  options: {},
  probe: () => Promise.resolve(probeLocal(process.platform)),
  open: (context) => Promise.resolve(new LocalProvider(context)),
});

function probeLocal(platform: string): Awaited<ReturnType<ProviderModule['probe']>> {
  if (platform !== 'linux') {
    return {
      usable: false,
      findings: [
        {
          name: 'platform',
          level: 'fail',
          message: `Process trees are found through /proc, which ${platform} does not have.`,
        },
      ],
    };
  }
  return {
    usable: true,
    findings: [{ name: 'isolation', level: 'note', message: 'Commands run on this machine without isolation.' }],
  };
}
