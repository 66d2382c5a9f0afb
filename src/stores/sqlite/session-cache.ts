/**
 * Sessions as they were last read or written. Acquiring a live session is the most frequent question, and looking for
 * the answer in the file takes longer the more sessions there are. A row is given again only while it cannot have
 * changed: SQLite tells when another connection has written anything, here or in another process; the connection counts
 * its own statements that write these tables, and whoever does not say what such a statement changed has everything
 * forgotten.
 */
import type { SessionKey } from '../../core/session-key.ts';
import type { BoundSession, SandboxRecord } from '../../store/records.ts';
import type { Connection, Writes } from './connection.ts';
import { selectSession } from './tables/sessions.ts';

export const MAX_ROWS = 10_000;

export class SessionCache {
  readonly #connection: Connection;
  readonly #rows = new Map<SessionKey, BoundSession>();
  #othersVersion: unknown;
  #ownWrites = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** As `selectSession` would answer now. Not inside a transaction, whose writes may yet be undone. */
  get(key: SessionKey): BoundSession | undefined {
    this.#forgetIfWritten();
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    // Read after the version: a write in between is noticed by the next question.
    const bound = selectSession(this.#connection, key);
    if (bound !== undefined) this.#put(bound);
    return bound;
  }

  /** A transaction with these writes is committed, and has changed these sandboxes and no session. */
  changed(writes: Writes, sandboxes: readonly (SandboxRecord | undefined)[]): void {
    if (!this.#accepts(writes)) return;
    for (const sandbox of sandboxes) {
      const bound = sandbox?.sessionKey === undefined ? undefined : this.#rows.get(sandbox.sessionKey);
      if (sandbox !== undefined && bound?.sandbox.id === sandbox.id) this.#put({ session: bound.session, sandbox });
    }
  }

  /** The same, of one that has bound a key for the first time. */
  bound(writes: Writes, bound: BoundSession): void {
    if (this.#accepts(writes)) this.#put(bound);
  }

  #accepts({ before, after }: Writes): boolean {
    if (this.#ownWrites !== before) return false;
    this.#ownWrites = after;
    return true;
  }

  #put(bound: BoundSession): void {
    if (this.#rows.size >= MAX_ROWS && !this.#rows.has(bound.session.key)) this.#forgetOldest();
    this.#rows.set(bound.session.key, bound);
  }

  #forgetOldest(): void {
    for (const key of this.#rows.keys()) {
      this.#rows.delete(key);
      return;
    }
  }

  #forgetIfWritten(): void {
    const othersVersion = this.#connection.statement('pragma data_version').get()?.[0];
    const ownWrites = this.#connection.rowWrites;
    if (othersVersion === this.#othersVersion && ownWrites === this.#ownWrites) return;
    this.#rows.clear();
    this.#othersVersion = othersVersion;
    this.#ownWrites = ownWrites;
  }
}
