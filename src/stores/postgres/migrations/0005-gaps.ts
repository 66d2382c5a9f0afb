/** Schema version 5: the gaps between a session's uses, which its idle time-out may follow. */
import type { Migration } from '../../../store/migrations.ts';

export const gaps: Migration = {
  version: 5,
  name: 'gaps',
  sql: 'alter table sublet.sandboxes add column gaps json;',
};
