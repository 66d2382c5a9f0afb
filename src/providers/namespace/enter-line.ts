/** The way into a running sandbox from the host. */
import { boundMemory } from './cgroup.ts';
import { INNER_UID } from './layout.ts';
import { limitScript } from './limits.ts';
import type { Privileges } from './privileges.ts';
import type { SandboxRecord } from './sandbox-record.ts';

/**
 * The line that runs a program of the image inside a running sandbox, under its limits and without privileges. `before` is
 * run by the host's sh on the way. On a terminal the keys that interrupt are the command's alone.
 */
export function enterLine(
  privileges: Privileges,
  record: SandboxRecord,
  before = ':',
  onTerminal = false,
): readonly string[] {
  const { init, holder } = record;
  if (init === undefined || holder === undefined) throw new Error('A sandbox that is not running cannot be entered.');
  const join = [
    'sh',
    '-c',
    JOIN,
    'sh',
    record.cgroups.join(' '),
    `${limitScript(record.limits, boundMemory(record.cgroups))} || exit 92; ${before}`,
    'setpriv',
    '--no-new-privs',
  ];
  const target = ['--target', String(init.pid)];
  const all = [...target, '--user', '--mount', '--net', '--ipc', '--uts', '--cgroup', ...(onTerminal ? [] : ['--pid'])];
  // What waits on the host for the command is in the terminal's foreground too.
  const waiting = onTerminal ? ['nsenter', ...target, '--pid', '--no-fork', '--', 'sh', '-c', WAIT, 'sh'] : [];
  if (privileges.isRoot)
    return [...join, ...waiting, 'nsenter', ...all, '--setgid', String(INNER_UID), '--setuid', String(INNER_UID), '--'];
  // First into the outer user namespace, whose root may join the others; then all at once, the inner one last.
  return [
    ...join,
    'nsenter',
    '--target',
    String(holder.pid),
    '--user',
    '--preserve-credentials',
    '--',
    ...waiting,
    'nsenter',
    ...all,
    '--preserve-credentials',
    '--',
  ];
}

/** Joins the sandbox's limits on the host's side, by a door where there is one, then becomes the rest of the line. $1 groups, $2 limits. */
const JOIN: string = `
for group in $1; do
  if [ -e "$group/tasks" ]; then echo 0 >"$group/tasks"; else echo $$ >"$group/cgroup.procs"; fi || exit 94
done
eval "$2"
shift 2
exec "$@"
`;

/** Outlives what interrupts the command, which gets the signals as they are: a handler is not inherited, as ignoring them would be. */
const WAIT = 'trap : INT QUIT; "$@"; exit';
