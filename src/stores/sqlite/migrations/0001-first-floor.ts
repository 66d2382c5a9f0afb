/** Schema version 1: owners, sandboxes, sessions, events, counters. */
import type { Migration } from '../../../store/migrations.ts';

// Instants are reals: epoch milliseconds fit without loss, and a limit computed from a fraction of a minute stays exact.
// Every index costs a page in every write that touches it, so there is one only where a query must not scan.
// Events have none but their number: they are pruned to a bounded count, written at every move and read rarely.
export const firstFloor: Migration = {
  version: 1,
  name: 'first-floor',
  sql: `
    create table installation (
      id text not null
    ) strict;

    create table owners (
      id             text primary key,
      host_id        text not null,
      host_name      text not null,
      boot_id        text not null,
      pid            integer not null,
      pid_started_at real not null,
      started_at     real not null,
      heartbeat_at   real not null
    ) strict, without rowid;

    create table sandboxes (
      id             text primary key,
      name           text not null,
      provider       text not null,
      profile        text not null,
      kind           text not null,
      state          text not null,
      ephemeral      integer not null,
      owner_id       text not null,
      host_id        text not null,
      session_key    text,
      provider_id    text,
      network        text not null,
      policy         text not null,
      spec           text not null,
      created_at     real not null,
      state_at       real not null,
      last_active_at real not null,
      due_at         real,
      dead_man_at    real,
      cause          text not null,
      version        integer not null
    ) strict;

    create index sandboxes_due     on sandboxes (due_at) where due_at is not null;
    create index sandboxes_session on sandboxes (session_key) where session_key is not null;
    create index sandboxes_owner   on sandboxes (owner_id);
    create index sandboxes_state   on sandboxes (state, created_at, kind);

    create table sessions (
      key            text primary key,
      kind           text not null,
      profile        text not null,
      sandbox_id     text not null unique references sandboxes (id),
      network        text not null,
      private_reason text,
      created_at     real not null,
      version        integer not null
    ) strict, without rowid;

    create index sessions_created on sessions (created_at);

    create table events (
      seq         integer primary key autoincrement,
      at          real not null,
      type        text not null,
      sandbox_id  text,
      session_key text,
      owner_id    text,
      cause       text not null,
      details     text
    ) strict;

    create table counters (
      kind  text not null,
      name  text not null,
      value integer not null,
      primary key (kind, name)
    ) strict, without rowid;
  `,
};
