/** Schema version 2: the last copy of a session's working directory. */
import type { Migration } from '../../../store/migrations.ts';

export const snapshots: Migration = {
  version: 2,
  name: 'snapshots',
  sql: 'alter table sublet.sessions add column snapshot json;',
};
