/** Connections that wait to be used again. How many there are is decided by how many are borrowed at once. */
import type { Connection } from './driver.ts';

const IDLE_MS = 30_000;

interface Idle {
  readonly connection: Connection;
  readonly timer: NodeJS.Timeout;
}

export class Pool {
  readonly #connect: () => Promise<Connection>;
  readonly #idle: Idle[] = [];

  constructor(connect: () => Promise<Connection>) {
    this.#connect = connect;
  }

  /** The one that was used last, so that those which are not needed grow old. */
  async borrow(): Promise<Connection> {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      clearTimeout(idle.timer);
      if (!idle.connection.isAlive) continue;
      idle.connection.hold(true);
      return idle.connection;
    }
    return this.#connect();
  }

  /** A connection whose state is not known is not used again. */
  giveBack(connection: Connection, state: 'clean' | 'unknown'): void {
    if (state === 'unknown' || !connection.isAlive) {
      void connection.end();
      return;
    }
    // An open store is no reason for a process to stay.
    connection.hold(false);
    const timer = setTimeout(() => this.#retire(connection), IDLE_MS).unref();
    this.#idle.push({ connection, timer });
  }

  /** Ends what nobody uses. */
  async end(): Promise<void> {
    const idle = this.#idle.splice(0);
    for (const { timer } of idle) clearTimeout(timer);
    await Promise.all(idle.map(({ connection }) => connection.end()));
  }

  #retire(connection: Connection): void {
    const index = this.#idle.findIndex((idle) => idle.connection === connection);
    if (index !== -1) this.#idle.splice(index, 1);
    void connection.end();
  }
}
