/** The `commits` table: marks by which a try knows that an earlier one was committed. */
import type { Db } from '../driver.ts';

// Far longer than anybody tries, by the server's clock alone.
const PRUNE = `delete from sublet.commits where mark in (
  select mark from sublet.commits where at < now() - interval '10 minutes' limit $1)`;

/** Deletes up to `limit` of them. */
export function deleteOldMarks(db: Db, limit: number): Promise<number> {
  return db.change(PRUNE, [limit]);
}
