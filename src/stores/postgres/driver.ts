/** The part of `pg` that the store uses, its late loading, and the line between what the server said and what was lost. */
import type * as Pg from 'pg';
import { SubletError } from '../../core/errors.ts';
import { LostConnection } from './postgres-errors.ts';

export type SqlValue = string | number | boolean | null | readonly (string | number | null)[];
export type Row = readonly unknown[];

/** One connection, while it is borrowed. */
export interface Db {
  /** Rows as arrays, in the order of the selected columns. */
  rows(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  /** How many rows the statement changed. */
  change(sql: string, values?: readonly SqlValue[]): Promise<number>;
  /** Several statements in one round trip, without values. Returns the rows of the last. */
  script(sql: string): Promise<readonly Row[]>;
}

export interface Connection extends Db {
  /** False once the server or the network has ended it. */
  readonly isAlive: boolean;
  /** Whether it keeps the process from ending. */
  hold(isHeld: boolean): void;
  /** Never fails. */
  end(): Promise<void>;
}

export interface ServerOptions {
  readonly url: string;
  readonly connectTimeoutMs: number;
  readonly queryTimeoutMs: number;
}

/** Of the driver's client, what its types leave out. */
interface Holdable {
  ref(): void;
  unref(): void;
}

type Driver = Pick<typeof Pg, 'Client' | 'DatabaseError'>;

const PACKAGE = 'pg@^8.16.0';

/** What makes a new connection each time it is called. UNSUPPORTED when the package is not installed. */
export async function loadConnect(options: ServerOptions): Promise<() => Promise<Connection>> {
  const driver = await loadDriver();
  return () => connect(driver, options);
}

async function loadDriver(): Promise<Driver> {
  try {
    return await import('pg');
  } catch (cause) {
    throw new SubletError('UNSUPPORTED', `The Postgres store needs ${PACKAGE}, which did not load.`, {
      cause,
      hint: `npm install ${PACKAGE}`,
    });
  }
}

async function connect(driver: Driver, { url, connectTimeoutMs, queryTimeoutMs }: ServerOptions): Promise<Connection> {
  const client = new driver.Client({
    connectionString: url,
    fallback_application_name: 'sublet',
    connectionTimeoutMillis: connectTimeoutMs,
    // Kept by this side, because a server that vanished without a word keeps nothing.
    query_timeout: queryTimeoutMs,
    keepAlive: true,
  });
  const connection = toConnection(client, (cause) => cause instanceof driver.DatabaseError);
  try {
    await client.connect();
    return connection;
  } catch (cause) {
    // The driver leaves a socket open on which it gave up by itself, as it does when it has no password.
    await connection.end();
    throw cause instanceof driver.DatabaseError ? cause : new LostConnection(cause);
  }
}

function toConnection(client: Pg.Client, isAnswer: (cause: unknown) => boolean): Connection {
  const socket = client as unknown as Holdable;
  let isAlive = true;
  const die = (): void => {
    isAlive = false;
  };
  // Without a listener for errors Node ends the process.
  client.on('error', die);
  client.on('end', die);
  // Unnamed statements: a pooler may give every transaction another server connection, which knows no names. What is not
  // the server's own answer is the driver's report of a connection that broke or timed out.
  const query = async (sql: string, values: readonly SqlValue[]): Promise<Pg.QueryArrayResult> => {
    try {
      return await client.query({ text: sql, values: values.map(storable), rowMode: 'array' });
    } catch (cause) {
      throw isAnswer(cause) ? cause : new LostConnection(cause);
    }
  };
  return {
    get isAlive() {
      return isAlive;
    },
    rows: async (sql, values = []) => (await query(sql, values)).rows,
    change: async (sql, values = []) => (await query(sql, values)).rowCount ?? 0,
    // One result for each statement when there are several.
    script: async (sql) => [await query(sql, [])].flat().at(-1)?.rows ?? [],
    hold: (isHeld) => (isHeld ? socket.ref() : socket.unref()),
    end: () => client.end().catch(() => undefined),
  };
}

// Postgres has no NUL in a text, and a cause with a substitute is worth more than none.
function storable(value: SqlValue): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '\u{FFFD}');
  return Array.isArray(value) ? value.map(storable) : value;
}
