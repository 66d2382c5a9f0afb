import { ApiKeyCredential, BoxliteRestOptions, JsBoxlite } from '@boxlite-ai/boxlite';
import { provider } from 'sublet/providers/boxlite';
import { type AdapterRow, adapterRow, BY_HAND, COMMAND } from './adapter-row.ts';

export const boxliteRow: AdapterRow = adapterRow({
  id: 'boxlite',
  service: 'boxlite-service.ts',
  provider,
  keyName: 'BOXLITE_API_KEY',
  options: ({ url }) => ({ url }),
  async runs({ commands, ref }, { url, apiKey }) {
    const runtime = JsBoxlite.rest(new BoxliteRestOptions({ url, credential: new ApiKeyCredential(apiKey) }));
    const box = await runtime.get(ref.providerId ?? '');
    if (box === null) throw new Error('the box is gone');
    const bare = async (command: string): Promise<unknown> => {
      const execution = await box.exec('sh', ['-c', command]);
      const stdout = await execution.stdout();
      while ((await stdout.next()) !== null);
      return execution.wait();
    };
    return [
      {
        what: 'a command',
        against: 'exec of the SDK',
        ours: () => commands.run(COMMAND),
        bare: () => bare(COMMAND),
      },
      {
        what: 'byte for byte',
        against: 'exec of the SDK with files and base64',
        ours: () => commands.run(COMMAND),
        bare: () => bare(BY_HAND),
      },
    ];
  },
});
