/** Modal's protocol: a command through the adapter, and the same through the SDK. */
import { ModalClient } from 'modal';
import { provider } from 'sublet/providers/modal';
import { benchContext } from '../provider-context.ts';
import type { AdapterRow } from './adapter-row.ts';
import { startService } from './start-service.ts';

const COMMAND = 'echo hi';
const APP = 'sublet';
const signal = new AbortController().signal;

export const modalRow: AdapterRow = {
  id: 'modal',
  async open() {
    const { url, apiKey, end } = await startService('modal-service.ts');
    const opened = await provider.open({
      ...benchContext('', { serverUrl: url, app: APP }),
      secret: (name) => (name.startsWith('MODAL_TOKEN_') ? apiKey : undefined),
    });
    const spec = { name: 'sublet-bench', labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;
    const { commands, ref } = await opened.create(spec, signal);
    // The SDK takes its address from the environment alone.
    process.env['MODAL_SERVER_URL'] = url;
    const client = new ModalClient({ tokenId: apiKey, tokenSecret: apiKey, logLevel: 'error' });
    delete process.env['MODAL_SERVER_URL'];
    const sandbox = await client.sandboxes.fromName(APP, ref.name);
    return {
      runs: [
        {
          what: 'a command',
          against: 'exec of the SDK, both of its streams and its exit code',
          ours: () => commands.run(COMMAND),
          bare: async () => {
            const process = await sandbox.exec(['sh', '-c', COMMAND]);
            return Promise.all([process.stdout.readText(), process.stderr.readText(), process.wait()]);
          },
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
