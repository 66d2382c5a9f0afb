/** The shell scripts inside a container. POSIX sh and its builtins, so that an image needs a shell and no other program. */
import { READ_SCRIPT } from '../../provider/posix/command-script.ts';

/** An armed shell: it waits for one script on descriptor 3 and becomes it. At the end of its input it ends the slot too. */
const ARMED = `${READ_SCRIPT}[ "$sublet_line" = "#sublet-end" ] || { kill -KILL $PPID; exit; }
eval "$sublet_script"
`;

/**
 * A slot: it arms one shell after the other, and tells on both streams how each ended. Its first line of input is the
 * token its trailers carry. $1 is the armed shell's script; $2 "once" for a slot whose input goes on to the command.
 *
 * A command may leave processes behind that hold its output, and these must not speak into the next command's. Only what
 * was born since the command began can be such a process, so only those are looked at. A slot that has one is given up,
 * and so is one whose new processes cannot be looked at.
 *
 * What a command left of its input is taken to the end, which comes with the end of the connection: Podman drops what was
 * said when a process ends before its input does.
 */
const SLOT = `
IFS= read -r sublet_token || exit 0
trap : TERM INT HUP QUIT USR1 USR2
exec 3<&0 4>&2 </dev/null 2>/dev/null
sublet_newest() { read -r sublet_a sublet_a sublet_a sublet_a sublet_pid </proc/loadavg || sublet_pid=0; }
sublet_holds() {
  sublet_seen=
  for sublet_fd in "$1"/fd/*; do
    if [ "$sublet_fd" -ef /proc/$$/fd/1 ] || [ "$sublet_fd" -ef /proc/$$/fd/4 ]; then return 0; fi
    if [ -e "$sublet_fd" ]; then sublet_seen=1; fi
  done
  [ -z "$sublet_seen" ] && read -r sublet_a <"$1/stat" || return 1
  case \${sublet_a##*)} in ' Z'*|' X'*) return 1 ;; esac
}
sublet_survivors() {
  sublet_left= sublet_first=$sublet_pid
  sublet_newest
  if [ "$sublet_pid" -gt "$sublet_first" ] && [ $((sublet_pid - sublet_first)) -lt 500 ]; then
    while [ "$sublet_first" -lt "$sublet_pid" ]; do
      sublet_first=$((sublet_first + 1))
      if [ -d /proc/$sublet_first ] && sublet_holds /proc/$sublet_first; then sublet_left=1; fi
    done
  else
    for sublet_a in /proc/[0-9]*; do
      case $sublet_a in /proc/1|/proc/$$) continue ;; esac
      if sublet_holds "$sublet_a"; then sublet_left=1; fi
    done
  fi
}
printf '\\036%s:ready\\036%s' "$sublet_token" "$sublet_token"
while :; do
  sublet_newest
  sh -c "$1" sh 2>&4 4>&-
  sublet_status=$?
  sublet_survivors
  printf '\\036%s:%s %s\\036%s' "$sublet_token" $sublet_status "$sublet_left" "$sublet_token" >&4
  printf '\\036%s:%s %s\\036%s' "$sublet_token" $sublet_status "$sublet_left" "$sublet_token"
  [ -z "$sublet_left" ] || exit 0
  [ -z "$2" ] || { cat || while read -r sublet_a; do :; done; exit 0; } <&3 >/dev/null
done
`;

/** The words that start a slot. */
export function slotCommand(once: boolean): readonly string[] {
  return ['sh', '-c', SLOT, 'sublet', ARMED, once ? 'once' : ''];
}

/**
 * The first process of a container that stays: it collects orphans and ends when it is told to. It waits for a stopped
 * process, which needs neither a program of the image nor time of the processor.
 */
const STAY = `
trap 'exit 0' TERM
while :; do sh -c 'kill -STOP $$' & wait $!; done
`;

/**
 * The first process of a container that is its maker's: a slot on its own input and output, and when that is over, the
 * end of the input. The input ends with the maker's connection, and the container with the input.
 */
const OWNED = `
trap 'exit 0' TERM
exec 3<&0
sh -c "$1" sublet "$2" '' 3<&-
exec >/dev/null 2>&1
until { ( while read -r line; do :; done ) <&3 & wait $!; }; do :; done
`;

export function initCommand(owned: boolean): readonly string[] {
  return owned ? ['sh', '-c', OWNED, 'sublet', SLOT, ARMED] : ['sh', '-c', STAY, 'sublet'];
}
