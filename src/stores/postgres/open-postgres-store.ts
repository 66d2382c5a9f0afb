/** Opens the Postgres store at a URL, and makes its schema on first use. */
import type { Clock } from '../../core/clock.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { Store } from '../../store/store.ts';
import { Connections } from './connections.ts';
import { loadConnect } from './driver.ts';
import { Pool } from './pool.ts';
import { PostgresStore } from './postgres-store.ts';
import { prepareSchema } from './schema.ts';
import { describeServer } from './server-url.ts';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, with the options that libpq knows, such as `?sslmode=verify-full`. */
  readonly url: string;
  /** How many connections this process opens at most. Default 5. */
  readonly maxConnections?: number | undefined;
  /** How long a connection may take to be made. Default 5000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long the server may take to answer a statement before the connection counts as lost. Default 15000. */
  readonly queryTimeoutMs?: number | undefined;
  /** Times the pauses between tries. */
  readonly clock?: Clock | undefined;
}

/**
 * AUTH_FAILED, PERMISSION_DENIED or STORE_FAILED when the server does not let this user in or does not answer;
 * STORE_TOO_NEW when a newer version has written there; UNSUPPORTED when the package `pg` is not installed.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, maxConnections = 5, connectTimeoutMs = 5000, queryTimeoutMs = 15_000 } = options;
  const where = describeServer(url);
  const pool = new Pool(await loadConnect({ url, connectTimeoutMs, queryTimeoutMs }));
  const connections = new Connections(where, pool, maxConnections, options.clock ?? systemClock);
  try {
    await prepareSchema(connections);
    return new PostgresStore(connections);
  } catch (cause) {
    await connections.close();
    throw cause;
  }
}
