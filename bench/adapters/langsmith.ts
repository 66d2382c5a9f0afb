/** LangSmith's protocol: a command through the adapter, and the same through the SDK's own run. */
import { SandboxClient } from 'langsmith/sandbox';
import { provider } from 'sublet/providers/langsmith';
import { benchContext } from '../provider-context.ts';
import type { AdapterRow } from './adapter-row.ts';
import { startService } from './start-service.ts';

const COMMAND = 'echo hi';
const signal = new AbortController().signal;

export const langsmithRow: AdapterRow = {
  id: 'langsmith',
  async open() {
    const { url, apiKey, end } = await startService('langsmith-service.ts');
    const opened = await provider.open({
      ...benchContext('', { endpoint: url, cwd: '/workspace' }),
      secret: (name) => (name === 'LANGSMITH_API_KEY' ? apiKey : undefined),
    });
    const spec = { name: 'sublet-bench', labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;
    const { commands, ref } = await opened.create(spec, signal);
    const client = new SandboxClient({ apiKey, apiEndpoint: `${url}/api/v2/sandboxes` });
    const bare = await client.getSandbox(ref.name);
    return {
      runs: [
        {
          what: 'a command',
          against: 'run of the SDK, through a WebSocket',
          ours: () => commands.run(COMMAND),
          bare: () => bare.run(COMMAND),
        },
      ],
      close: async () => {
        await opened.destroy(ref, signal);
        await opened.close();
        await end();
      },
    };
  },
};
