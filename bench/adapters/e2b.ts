/** E2B's protocol, served by a process of its own: its work is not part of what is measured. */
import { fork } from 'node:child_process';
import path from 'node:path';
import { Sandbox } from 'e2b';
import { provider } from 'sublet/providers/e2b';
import { benchContext } from '../provider-context.ts';
import type { AdapterRow } from './adapter-row.ts';

const COMMAND = 'echo hi';
const signal = new AbortController().signal;

export const e2bRow: AdapterRow = {
  id: 'e2b',
  async open() {
    const { url, apiKey, end } = await startService();
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

async function startService(): Promise<{ url: string; apiKey: string; end: () => Promise<void> }> {
  const child = fork(path.join(import.meta.dirname, 'e2b-service.ts'), { stdio: 'inherit' });
  const said = await new Promise<{ url: string; apiKey: string }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { url: string; apiKey: string }));
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}`)));
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    ...said,
    end: async () => {
      child.disconnect();
      await ended;
    },
  };
}
