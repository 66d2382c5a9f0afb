/** Daytona on loopback with namespaces of this machine behind it, ready to be spoken to. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../core/system-clock.ts';
import { provider as namespace } from '../namespace/index.ts';
import { DaytonaServer, type DaytonaServerOptions } from './daytona-server.fixture.ts';

export interface DaytonaService {
  /** Of the API. */
  readonly url: string;
  readonly apiKey: string;
  readonly server: DaytonaServer;
  close(): Promise<void>;
}

export async function startDaytonaService(options: Partial<DaytonaServerOptions> = {}): Promise<DaytonaService> {
  const stateDir = await mkdtemp(join(tmpdir(), 'sublet-daytona-'));
  const log = { debug() {}, info() {}, warn() {} };
  const backing = await namespace.open({ stateDir, clock: systemClock, log, options: {}, secret: () => undefined });
  const apiKey = 'dtn_test_key';
  const server = new DaytonaServer(backing, { apiKey, ...options });
  await server.open();
  return {
    url: `${server.url}/api`,
    apiKey,
    server,
    close: async () => {
      await server.close();
      await backing.close();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}
