import { randomUUID } from 'node:crypto';
import { provider } from 'sublet/providers/agentbay';
import { NO_NETWORK } from '../../src/providers/agentbay/agentbay-server.fixture.ts';
import { type AdapterRow, adapterRow, BY_HAND, COMMAND } from './adapter-row.ts';

export const agentbayRow: AdapterRow = adapterRow({
  id: 'agentbay',
  service: 'agentbay-service.ts',
  provider,
  keyName: 'AGENTBAY_API_KEY',
  options: ({ url }) => ({ endpoint: url, cwd: '/workspace', noNetworkPolicy: NO_NETWORK }),
  async runs({ commands, ref }, { url, apiKey }) {
    const bare = (command: string): Promise<unknown> => callShell(url, apiKey, ref.providerId ?? '', command);
    return [
      {
        what: 'a command',
        against: 'one request, by fetch',
        ours: () => commands.run(COMMAND),
        bare: () => bare(COMMAND),
      },
      {
        what: 'byte for byte',
        against: 'one request with files and base64',
        ours: () => commands.run(COMMAND),
        bare: () => bare(BY_HAND),
      },
    ];
  },
});

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
