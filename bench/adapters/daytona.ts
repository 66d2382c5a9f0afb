import { Daytona } from '@daytona/sdk';
import { provider } from 'sublet/providers/daytona';
import { type AdapterRow, adapterRow, BY_HAND, COMMAND } from './adapter-row.ts';

const rowOver = (transport: 'sdk' | 'toolbox'): AdapterRow =>
  adapterRow({
    id: `daytona, ${transport}`,
    service: 'daytona-service.ts',
    provider,
    keyName: 'DAYTONA_API_KEY',
    options: ({ url }) => ({ apiUrl: url, target: 'eu', transport, cwd: '/workspace' }),
    async runs({ commands, ref }, { url, apiKey }) {
      const client = new Daytona({ apiKey, apiUrl: url, target: 'eu', useDeprecatedPolling: true });
      const bare = await client.get(ref.providerId ?? '');
      return [
        {
          what: 'a command',
          against: 'executeCommand of the SDK',
          ours: () => commands.run(COMMAND),
          bare: () => bare.process.executeCommand(COMMAND, '/workspace'),
        },
        {
          what: 'streams apart, byte for byte',
          against: 'executeCommand of the SDK with files and base64',
          ours: () => commands.run(COMMAND),
          bare: () => bare.process.executeCommand(BY_HAND, '/workspace'),
        },
      ];
    },
  });

export const daytonaRows: readonly AdapterRow[] = [rowOver('sdk'), rowOver('toolbox')];
