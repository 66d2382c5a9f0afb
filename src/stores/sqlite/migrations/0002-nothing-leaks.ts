/** Schema version 2: leases, where a process and a sandbox are, and what processes that clean up tell each other. */
import type { Migration } from '../../../store/migrations.ts';

export const nothingLeaks: Migration = {
  version: 2,
  name: 'nothing-leaks',
  sql: `
    alter table owners add column pid_namespace text not null default '';

    alter table sandboxes add column host_name text not null default '';
    alter table sandboxes add column lease text;
    alter table sandboxes add column fence integer not null default 0;

    create table sightings (
      scope    text not null,
      name     text not null,
      first_at real not null,
      count    integer not null,
      primary key (scope, name)
    ) strict, without rowid;

    create table turns (
      name     text primary key,
      owner_id text not null,
      until_at real not null
    ) strict, without rowid;

    create table placements (
      provider text not null,
      profile  text not null,
      primary key (provider, profile)
    ) strict, without rowid;
    insert into placements select distinct provider, profile from sandboxes;
  `,
};
