/** AgentBay's protocol: a command through the adapter, and the same by a single request. */
import { randomUUID } from 'node:crypto';
import { provider } from 'sublet/providers/agentbay';
import { benchContext } from '../provider-context.ts';
import type { AdapterRow } from './adapter-row.ts';
import { startService } from './start-service.ts';

const COMMAND = 'echo hi';
const signal = new AbortController().signal;

export const agentbayRow: AdapterRow = {
  id: 'agentbay',
  async open() {
    const { url, apiKey, end } = await startService('agentbay-service.ts');
    const opened = await provider.open({
      ...benchContext('', { endpoint: url, cwd: '/workspace' }),
      secret: (name) => (name === 'AGENTBAY_API_KEY' ? apiKey : undefined),
    });
    const spec = { name: 'sublet-bench', labels: {}, kind: 'execution', network: 'open', ephemeral: false } as const;
    const { commands, ref } = await opened.create(spec, signal);
    const bare = (command: string): Promise<unknown> => callShell(url, apiKey, ref.providerId ?? '', command);
    return {
      runs: [
        {
          what: 'a command',
          against: 'one request with the command, by fetch',
          ours: () => commands.run(COMMAND),
          bare: () => bare(COMMAND),
        },
      ],
      close: async () => {
        await opened.destroy(ref, signal);
        await end();
      },
    };
  },
};

async function callShell(url: string, apiKey: string, id: string, command: string): Promise<unknown> {
  const query = new URLSearchParams({
    Action: 'CallMcpTool',
    Version: '2025-05-06',
    Format: 'json',
    Timestamp: new Date().toISOString(),
    SignatureNonce: randomUUID(),
  });
  const body = new URLSearchParams({
    Authorization: `Bearer ${apiKey}`,
    SessionId: id,
    Name: 'shell',
    Args: JSON.stringify({ command, timeout_ms: 50_000 }),
  });
  const response = await fetch(`${url}/?${query.toString()}`, { method: 'POST', body });
  return JSON.parse(((await response.json()) as { Data: { content: [{ text: string }] } }).Data.content[0].text);
}
