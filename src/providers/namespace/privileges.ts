/** The two ways to make a sandbox: by root, which maps its own id and an unprivileged one, and by an ordinary user. */
import { readFileSync } from 'node:fs';
import { HOME, HOST_UID, INNER_UID, OVER_ROOT, WORKDIR } from './layout.ts';

const NAMESPACES = ['--mount', '--propagation', 'slave', '--pid', '--fork', '--net', '--ipc', '--uts', '--cgroup'];

export interface Privileges {
  readonly isRoot: boolean;
  /** Who owns the files of a sandbox's disk on the host. */
  readonly diskOwner: number | undefined;
  /** Makes the outer namespaces and runs the rest of the line as their root. */
  readonly unshare: readonly string[];
  /** The agent's id as the outer root counts it. */
  readonly outerUid: number;
  /** Ids the host must map before the outer root is one; none where `unshare` maps its own. */
  readonly idMap: string | undefined;
  /** User namespaces that `drop` itself makes. The agent may make none: in one of its own it would hold capabilities. */
  readonly innerUserNamespaces: number;
  /**
   * The new root is mounted elsewhere and moved over the host's when privileges are dropped: the kernel grants no user
   * namespace to whoever's root is covered.
   */
  readonly movesRoot: boolean;
  /** Drops every privilege, changes to the new root, and runs the rest of the line. */
  readonly drop: readonly string[];
}

const ROOT: Privileges = {
  isRoot: true,
  diskOwner: HOST_UID,
  unshare: ['unshare', '--user', '--keep-caps', ...NAMESPACES],
  outerUid: INNER_UID,
  idMap: `0 0 1\n${INNER_UID} ${HOST_UID} 1\n`,
  innerUserNamespaces: 0,
  movesRoot: false,
  drop: ['unshare', '--setgid', `${INNER_UID}`, '--setuid', `${INNER_UID}`, `--root=${OVER_ROOT}`, `--wd=${WORKDIR}`],
};

/** One user namespace holds the mounts, a second one inside it the agent: it has no rights over the first. */
const USER: Privileges = {
  isRoot: false,
  diskOwner: undefined,
  unshare: ['unshare', '--map-root-user', ...NAMESPACES],
  outerUid: 0,
  idMap: undefined,
  innerUserNamespaces: 1,
  movesRoot: true,
  drop: ['unshare', `--map-user=${INNER_UID}`, `--map-group=${INNER_UID}`, '--root=.', `--wd=${WORKDIR}`],
};

export function currentPrivileges(): Privileges {
  return process.getuid?.() === 0 ? ROOT : USER;
}

/** Root of a user namespace may lack the id that a sandbox runs as there: nothing can be made, whatever else is allowed. */
export function lacksSandboxId({ diskOwner }: Privileges): boolean {
  if (diskOwner === undefined) return false;
  const ranges = readFileSync('/proc/self/uid_map', 'utf8').trim().split('\n');
  return !ranges.some((range) => {
    const [first = 0, , count = 0] = range.trim().split(/\s+/u).map(Number);
    return first <= diskOwner && diskOwner < first + count;
  });
}

/** Of everything inside; the first process there says so to all that it starts. */
export const LANG = 'C.UTF-8';

/**
 * The environment of everything inside before a command adds its own, and of the host's tools on the way there:
 * never the caller's, and never the agent's, whose LD_PRELOAD would run outside.
 */
export const BASE_ENV: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME,
  USER: 'sandbox',
  LOGNAME: 'sandbox',
  SHELL: '/bin/sh',
  LANG,
};

/** The same for the tools that set a sandbox up: each would read a dozen files of the language, to say nothing in it. */
export const SETUP_ENV: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(BASE_ENV).filter(([name]) => name !== 'LANG'),
);
