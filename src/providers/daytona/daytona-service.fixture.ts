/** Daytona on loopback with namespaces of this machine behind it, ready to be spoken to. */
import { serveNamespaces } from '../../../test/setup/serve-namespaces.ts';
import { DaytonaServer, type DaytonaServerOptions } from './daytona-server.fixture.ts';

export const API_KEY = 'dtn_test_key';

export function startDaytonaService(
  options: Partial<DaytonaServerOptions> = {},
): Promise<{ readonly server: DaytonaServer; close(): Promise<void> }> {
  return serveNamespaces((backing) => new DaytonaServer(backing, { apiKey: API_KEY, ...options }));
}
