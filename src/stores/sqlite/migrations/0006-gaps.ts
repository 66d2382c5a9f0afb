/** Schema version 6: the gaps between a session's uses, which its idle time-out may follow. */
import type { Migration } from '../../../store/migrations.ts';

export const gaps: Migration = {
  version: 6,
  name: 'gaps',
  sql: 'alter table sandboxes add column gaps text;',
};
