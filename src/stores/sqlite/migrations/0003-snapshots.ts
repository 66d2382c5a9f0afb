/** Schema version 3: the last copy of a session's working directory. */
import type { Migration } from '../../../store/migrations.ts';

export const snapshots: Migration = {
  version: 3,
  name: 'snapshots',
  sql: 'alter table sessions add column snapshot text;',
};
