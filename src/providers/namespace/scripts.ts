/**
 * The shell scripts of a sandbox's life inside, in the order they run. POSIX sh: dash, bash and busybox all run them.
 * Status lines go to file descriptor 4: `p PID` first process (`setup-script.ts`), `c` privileges dropped, `m` host out of sight where that comes later, `r` the
 * resident shell listens; then, on a pipe of its own that ends with it, `a N` slot armed, `x N CODE` its command ended.
 * Where one command is expected there is no such pipe: its slot's lines come here.
 */
import { READ_SCRIPT } from '../../provider/posix/command-script.ts';
import { LANG } from './privileges.ts';

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
export LANG=${LANG}
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
