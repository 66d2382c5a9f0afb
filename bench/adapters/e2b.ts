/** E2B's protocol, served by a process of its own: its work is not part of what is measured. */
import { Sandbox } from 'e2b';
import { provider } from 'sublet/providers/e2b';
import { benchContext } from '../provider-context.ts';
import type { AdapterRow } from './adapter-row.ts';
import { startService } from './start-service.ts';

const COMMAND = 'echo hi';
const signal = new AbortController().signal;

export const e2bRow: AdapterRow = {
  id: 'e2b',
  async open() {
    const { url, apiKey, end } = await startService('e2b-service.ts');
    const connection = { apiUrl: url, sandboxUrl: url };
    const opened = await provider.open({
      ...benchContext('', { ...connection, cwd: '/workspace' }),
      secret: () => apiKey,
    });
    const spec = { name: 'sublet-bench', labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;
    const { commands, ref } = await opened.create(spec, signal);
    const bare = await Sandbox.connect(ref.providerId ?? '', { ...connection, apiKey });
    return {
      runs: [
        {
          what: 'a command',
          against: 'commands.run of the SDK, a login shell',
          ours: () => commands.run(COMMAND),
          bare: () => bare.commands.run(COMMAND),
        },
        {
          what: 'the same login shell',
          against: 'commands.run of the SDK, a login shell',
          ours: () => commands.run(['/bin/bash', '-l', '-c', COMMAND]),
          bare: () => bare.commands.run(COMMAND),
        },
      ],
      close: async () => {
        await opened.destroy(ref, signal);
        await end();
      },
    };
  },
};
