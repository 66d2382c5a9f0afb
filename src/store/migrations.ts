/** Forward migrations: what a store must still apply, and the refusal of a store that a newer version wrote. */
import { SubletError } from '../core/errors.ts';

export interface Migration {
  /** 1, 2, 3 … without gaps: the schema's version once this one is applied. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** What to apply, in order, to bring a store at `current` up to date. `where` names the store to the user. */
export function pendingMigrations(
  migrations: readonly Migration[],
  current: number,
  where: string,
): readonly Migration[] {
  const newest = migrations.at(-1)?.version ?? 0;
  if (current > newest) {
    throw new SubletError(
      'STORE_TOO_NEW',
      `${where} has schema version ${current}; this Sublet knows up to ${newest}.`,
      {
        hint: 'Upgrade Sublet to the version that wrote it, or name another store for this one in SUBLET_STORE.',
        details: { found: current, known: newest },
      },
    );
  }
  return migrations.filter((migration) => migration.version > current);
}
