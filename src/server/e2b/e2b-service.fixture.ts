/** The service on loopback: the server over an engine of its own, with real sandboxes and faults in front. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sublet } from '../../core/api.ts';
import { open } from '../../open.ts';
import { FaultSwitchboard } from '../../testing/loopback/fault-switchboard.ts';
import { E2bServer, type E2bServerOptions } from './e2b-server.ts';

export interface E2bService {
  readonly url: string;
  readonly apiKey: string;
  readonly faults: FaultSwitchboard;
  readonly server: E2bServer;
  readonly sublet: Sublet;
  setPageSize(size: number): void;
  close(): Promise<void>;
}

export const API_KEY = 'e2b_0123456789abcdef0123456789abcdef01234567';

export async function startE2bService(
  options: Partial<E2bServerOptions> & { sandbox?: string } = {},
): Promise<E2bService> {
  const { sandbox = 'namespace', ...rest } = options;
  const home = await mkdtemp(join(tmpdir(), 'sublet-e2b-'));
  const sublet = await open({
    home,
    env: { PATH: process.env['PATH'] },
    store: 'memory',
    handleSignals: false,
    watchdog: false,
  });
  const faults = new FaultSwitchboard();
  let pageSize = 100;
  const server = new E2bServer({
    sublet,
    apiKeys: [API_KEY],
    templates: { base: { sandbox, network: 'none' }, desktop: { sandbox, network: 'none', kind: 'desktop' } },
    front: (serve) => faults.wrap(serve),
    pageSize: () => pageSize,
    ...rest,
  });
  const url = await server.listen();
  return {
    url,
    apiKey: API_KEY,
    faults,
    server,
    sublet,
    setPageSize: (size) => void (pageSize = size),
    close: async () => {
      faults.clear();
      await server.close();
      await sublet.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
