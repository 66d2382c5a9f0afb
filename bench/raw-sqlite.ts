/** SQLite by itself: what the store is measured against. */
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';

export async function withDatabase<T>(path: string, use: (database: DatabaseSyncInstance) => Promise<T>): Promise<T> {
  const database = new DatabaseSync(path);
  try {
    // As the store has it.
    database.exec('pragma journal_mode = wal; pragma synchronous = normal');
    return await use(database);
  } finally {
    database.close();
  }
}
