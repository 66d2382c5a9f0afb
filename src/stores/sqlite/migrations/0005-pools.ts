/** Schema version 5: what a pool's sandboxes are of, who waits for one, who keeps a pool, and what was counted. */
import type { Migration } from '../../../store/migrations.ts';

// One index serves taking, counting and listing: whether nobody has it is an expression in it. Sandboxes of no pool are not in it.
export const pools: Migration = {
  version: 5,
  name: 'pools',
  sql: `
    alter table sandboxes add column pool text;
    alter table sandboxes add column lane text;
    alter table sandboxes add column terms text;

    create index sandboxes_pool on sandboxes (pool, state, (lease is null), created_at) where pool is not null;

    create table pool_tickets (
      number   integer primary key autoincrement,
      pool     text not null,
      lane     text not null,
      owner_id text not null,
      host_id  text not null,
      until_at real not null,
      ttl_ms   real not null
    ) strict;

    create index pool_tickets_lane on pool_tickets (pool, lane, number);

    create table pool_keepers (
      pool     text not null,
      owner_id text not null,
      lane     text not null,
      primary key (pool, owner_id)
    ) strict, without rowid;

    create table pool_tallies (
      pool  text not null,
      name  text not null,
      value real not null,
      primary key (pool, name)
    ) strict, without rowid;
  `,
};
