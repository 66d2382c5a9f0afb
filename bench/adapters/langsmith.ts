import { SandboxClient } from 'langsmith/sandbox';
import { provider } from 'sublet/providers/langsmith';
import { type AdapterRow, adapterRow, BY_HAND, COMMAND } from './adapter-row.ts';

export const langsmithRow: AdapterRow = adapterRow({
  id: 'langsmith',
  service: 'langsmith-service.ts',
  provider,
  keyName: 'LANGSMITH_API_KEY',
  options: ({ url }) => ({ endpoint: url, cwd: '/workspace' }),
  async runs({ commands, ref }, { url, apiKey }) {
    const client = new SandboxClient({ apiKey, apiEndpoint: `${url}/api/v2/sandboxes` });
    const bare = await client.getSandbox(ref.name);
    return [
      {
        what: 'a command',
        against: 'run of the SDK, through a WebSocket',
        ours: () => commands.run(COMMAND),
        bare: () => bare.run(COMMAND),
      },
      {
        what: 'byte for byte',
        against: 'run of the SDK with files and base64',
        ours: () => commands.run(COMMAND),
        bare: () => bare.run(BY_HAND),
      },
    ];
  },
});
