/** Schema version 1: owners, sandboxes, sessions, events, counters, and what processes that clean up tell each other. */
import type { Migration } from '../../../store/migrations.ts';

// Instants are double precision: epoch milliseconds fit without loss, and a fraction of a minute stays exact. Ids and keys
// compare byte by byte, whatever language the database sorts in. `json`, not `jsonb`: what was written comes back as it was.
//
// Events are numbered in the order in which they become visible: the trigger lets one transaction at a time number and
// commit, so that a reader who continues after a number misses nothing. Inserting events is the last step of a transaction,
// so nobody waits for a row while holding that lock.
export const firstFloor: Migration = {
  version: 1,
  name: 'first-floor',
  sql: `
    create table sublet.installation (
      id text not null
    );

    create table sublet.commits (
      mark uuid primary key,
      at   timestamptz not null default now()
    );

    create table sublet.owners (
      id             text collate "C" primary key,
      host_id        text not null,
      host_name      text not null,
      boot_id        text not null,
      pid_namespace  text not null,
      pid            integer not null,
      pid_started_at double precision not null,
      started_at     double precision not null,
      heartbeat_at   double precision not null
    );

    create table sublet.sandboxes (
      id             text collate "C" primary key,
      name           text not null,
      provider       text not null,
      profile        text not null,
      kind           text not null,
      state          text not null,
      ephemeral      boolean not null,
      owner_id       text not null,
      host_id        text not null,
      host_name      text not null,
      session_key    text collate "C",
      provider_id    text,
      network        text not null,
      policy         json not null,
      spec           json not null,
      created_at     double precision not null,
      state_at       double precision not null,
      last_active_at double precision not null,
      due_at         double precision,
      dead_man_at    double precision,
      cause          text not null,
      lease          json,
      fence          integer not null,
      version        integer not null
    );

    create index sandboxes_due     on sublet.sandboxes (due_at) where due_at is not null;
    create index sandboxes_session on sublet.sandboxes (session_key) where session_key is not null;
    create index sandboxes_owner   on sublet.sandboxes (owner_id);
    create index sandboxes_state   on sublet.sandboxes (state, created_at);

    create table sublet.sessions (
      key            text collate "C" primary key,
      kind           text not null,
      profile        text not null,
      sandbox_id     text collate "C" not null references sublet.sandboxes (id) deferrable initially deferred,
      network        text not null,
      private_reason text,
      created_at     double precision not null,
      version        integer not null
    );

    create index sessions_sandbox on sublet.sessions (sandbox_id);
    create index sessions_created on sublet.sessions (created_at);

    create table sublet.events (
      seq         bigint generated always as identity primary key,
      at          double precision not null,
      type        text not null,
      sandbox_id  text,
      session_key text,
      owner_id    text,
      cause       text not null,
      details     json
    );

    create function sublet.take_event_turn() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock('sublet.events'::regclass::oid::bigint);
      return null;
    end $$;

    create trigger events_in_order before insert on sublet.events
      for each statement execute function sublet.take_event_turn();

    create table sublet.counters (
      kind  text not null,
      name  text not null,
      value bigint not null,
      primary key (kind, name)
    );

    create table sublet.sightings (
      scope    text not null,
      name     text not null,
      first_at double precision not null,
      count    integer not null,
      primary key (scope, name)
    );

    create table sublet.turns (
      name     text primary key,
      owner_id text not null,
      until_at double precision not null
    );

    create table sublet.placements (
      provider text not null,
      profile  text not null,
      primary key (provider, profile)
    );
  `,
};
