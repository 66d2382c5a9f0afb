import { Runloop } from '@runloop/api-client';
import { provider } from 'sublet/providers/runloop';
import { NO_NETWORK } from '../../src/providers/runloop/runloop-server.fixture.ts';
import { type AdapterRow, adapterRow, BY_HAND, COMMAND } from './adapter-row.ts';

export const runloopRow: AdapterRow = adapterRow({
  id: 'runloop',
  service: 'runloop-service.ts',
  provider,
  keyName: 'RUNLOOP_API_KEY',
  options: ({ url }) => ({ baseUrl: url, cwd: '/workspace', noNetworkPolicy: NO_NETWORK }),
  async runs({ commands, ref }, { url, apiKey }) {
    const bare = new Runloop({ bearerToken: apiKey, baseURL: url, http2: false });
    const id = ref.providerId ?? '';
    return [
      {
        what: 'a command',
        against: 'executeAndAwaitCompletion of the SDK',
        ours: () => commands.run(COMMAND),
        bare: () => bare.devboxes.executeAndAwaitCompletion(id, { command: COMMAND }),
      },
      {
        what: 'byte for byte',
        against: 'executeAndAwaitCompletion with files and base64',
        ours: () => commands.run(COMMAND),
        bare: () => bare.devboxes.executeAndAwaitCompletion(id, { command: BY_HAND }),
      },
    ];
  },
});
