import { Sandbox } from 'e2b';
import { provider } from 'sublet/providers/e2b';
import { type AdapterRow, adapterRow, COMMAND } from './adapter-row.ts';

export const e2bRow: AdapterRow = adapterRow({
  id: 'e2b',
  service: 'e2b-service.ts',
  provider,
  keyName: 'E2B_API_KEY',
  options: ({ url }) => ({ apiUrl: url, sandboxUrl: url, cwd: '/workspace' }),
  async runs({ commands, ref }, { url, apiKey }) {
    const bare = await Sandbox.connect(ref.providerId ?? '', { apiUrl: url, sandboxUrl: url, apiKey });
    const against = 'commands.run of the SDK, a login shell';
    return [
      {
        what: 'a command',
        against,
        ours: () => commands.run(COMMAND),
        bare: () => bare.commands.run(COMMAND),
      },
      {
        what: 'the same login shell',
        against,
        ours: () => commands.run(['/bin/bash', '-l', '-c', COMMAND]),
        bare: () => bare.commands.run(COMMAND),
      },
    ];
  },
});
