/**
 * The shell scripts of a sandbox's life, in the order they run. POSIX sh: dash, bash and busybox all run them.
 * Status lines go to file descriptor 4: `p PID` first process, `c` privileges dropped, `m` host out of sight where that comes later, `r` the
 * resident shell listens; then, on a pipe of its own that ends with it, `a N` slot armed, `x N CODE` its command ended.
 * Where one command is expected there is no such pipe: its slot's lines come here.
 */
import { READ_SCRIPT } from '../../provider/posix/command-script.ts';

import { OVER_ROOT } from './layout.ts';

/**
 * The first process of new namespaces. It says which one it is and waits until it is root of the outer user namespace;
 * then no capability is left to inherit, none can be gained any more, and $1 goes on with the other arguments.
 */
export const BEGIN: string = `
read -r pid _ </proc/self/stat
echo "p $pid" >&4
read -r go <&3 || exit 0
setup=$1; shift
exec setpriv --no-new-privs --inh-caps=-all sh -c "$setup" sh "$@"
`;

/**
 * Runs on the host's files as root of the outer user namespace, and learns from descriptor 3, line by line, what to
 * become: the mount table, the new root, the limits, and how long to live. Its arguments are how many user namespaces
 * may still be made, and the line that drops privileges. It never runs a program of the image: those see no capability.
 */
export const SETUP: string = `
inner=$1; shift
ip link set lo up 2>/dev/null &
{ echo sandbox >/proc/sys/kernel/hostname || hostname sandbox; } 2>/dev/null &
{ IFS= read -r table && IFS= read -r root && IFS= read -r limits && IFS= read -r life; } <&3 || exit 0
mount -n -c -a -T "$table" || exit 90
wait
eval "$limits"
echo "$inner" >/proc/sys/user/max_user_namespaces
if [ "$root" != ${OVER_ROOT} ]; then
  cd "$root" || exit 91
  { read -r go <&5 && mount -n -c --move . / && echo m >&4; } &
  exec 5<&-
fi
exec "$@" "$life"
`;

/** Arms a shell for the slot in $slot, in a session of its own, and reports how its command ended. */
const ARM = `{ $alone sh -c ". /run/sublet/scripts/armed" sh "$slot"; echo "x $slot $?" >&4; } </dev/null >/dev/null 2>&1 3<&- 5<&- &`;

const FIND_SETSID = `
alone=
command -v setsid >/dev/null && alone=setsid
`;

/** The resident shell: for every slot named on the control pipe it arms one shell. $1 names its pipes. */
export const RESIDENT: string = `
exec 5<"/run/sublet/channel/$1.control" 6>"/run/sublet/channel/$1.status"
echo r >&4
exec 4>&6 6>&-
${FIND_SETSID.trim()}
while IFS= read -r slot <&5; do
  ${ARM}
done
`;

/** The names of the resident shell that comes with a sandbox, and of its first slot. */
export const FIRST_RESIDENT = 'first';
export const FIRST_SLOT = `${FIRST_RESIDENT}0`;

/**
 * The sandbox's first process, on the image's files and without privileges. Before it starts anything it waits until it is
 * in its control groups, which its children inherit: the kernel takes its time to move a process. Then it starts the resident shell and waits, which
 * also collects orphans: for its maker's end of descriptor 3 when $1 is "owned", else for ever. A maker that dies before it
 * has opened the resident shell's pipes leaves that one waiting for good, so what is owned does not wait for it. When $1 is
 * "once" it arms a single shell in place of the resident one and is owned.
 */
export const INIT: string = `
echo c >&4
read -r go <&3 || exit 0
keep=$1
if [ "$keep" = once ]; then
  slot=${FIRST_SLOT}
  ${FIND_SETSID.trim()}
  ${ARM}
  exec 2>/dev/null 4>&-
else
  set -- ${FIRST_RESIDENT}
  ( ${RESIDENT.trim()} ) 3<&- &
  [ "$keep" = owned ] || exec 3<>/run/sublet/channel/keep
  exec 2>/dev/null 4>&-
  [ "$keep" = owned ] || wait $!
fi
until ( while read -r line <&3; do :; done ); do :; done
`;

/** An armed shell: it has its streams, waits for one script, becomes it. */
export const ARMED: string = `
exec 3<"/run/sublet/channel/$1.script" >"/run/sublet/channel/$1.out" 2>"/run/sublet/channel/$1.err"
echo "a $1" >&4
exec 4>&-
${READ_SCRIPT.trim()}
eval "$sublet_script"
`;

/** Joins the sandbox's limits on the host's side, then becomes the rest of the line. $1 cgroup files, $2 limits. */
export const JOIN: string = `
for file in $1; do echo $$ >"$file" || exit 94; done
eval "$2"
shift 2
exec "$@"
`;
