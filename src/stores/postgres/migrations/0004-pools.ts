/** Schema version 4: what a pool's sandboxes are of, who waits for one, who keeps a pool, and what was counted. */
import type { Migration } from '../../../store/migrations.ts';

export const pools: Migration = {
  version: 4,
  name: 'pools',
  sql: `
    alter table sublet.sandboxes add column pool text collate "C";
    alter table sublet.sandboxes add column lane text collate "C";
    alter table sublet.sandboxes add column terms json;

    create index sandboxes_pool on sublet.sandboxes (pool, state, (lease is null), created_at) where pool is not null;

    create table sublet.pool_tickets (
      number   bigint generated always as identity primary key,
      pool     text collate "C" not null,
      lane     text collate "C" not null,
      owner_id text not null,
      host_id  text not null,
      until_at double precision not null,
      ttl_ms   double precision not null
    );

    create index pool_tickets_lane on sublet.pool_tickets (pool, lane, number);

    create table sublet.pool_keepers (
      pool     text collate "C" not null,
      owner_id text collate "C" not null,
      lane     text not null,
      primary key (pool, owner_id)
    );

    create table sublet.pool_tallies (
      pool  text collate "C" not null,
      name  text collate "C" not null,
      value double precision not null,
      primary key (pool, name)
    );
  `,
};
