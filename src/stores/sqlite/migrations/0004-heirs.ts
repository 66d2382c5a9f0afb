/** Schema version 4: who had a sandbox before its owner. */
import type { Migration } from '../../../store/migrations.ts';

export const heirs: Migration = {
  version: 4,
  name: 'heirs',
  sql: "alter table sandboxes add column heirs text not null default '[]';",
};
