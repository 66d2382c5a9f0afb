/** Schema version 3: who had a sandbox before its owner. */
import type { Migration } from '../../../store/migrations.ts';

export const heirs: Migration = {
  version: 3,
  name: 'heirs',
  sql: "alter table sublet.sandboxes add column heirs jsonb not null default '[]';",
};
