/** Finds and ends a tagged tree from inside the sandbox: POSIX sh and its builtins, `grep` where there is one. */

/** `sublet_living` puts into $found who carries the tag ($1) and lives. */
const FIND_TREE = `
sublet_find() {
  if command -v grep >/dev/null 2>&1; then grep -l "^Max file locks  *$1 " /proc/[0-9]*/limits 2>/dev/null; return; fi
  for file in /proc/[0-9]*/limits; do
    while read -r a b c value rest; do
      if [ "$a $b $c" = "Max file locks" ] && [ "$value" = "$1" ]; then echo "$file"; fi
    done 2>/dev/null <"$file"
  done
}
sublet_living() {
  found=
  for file in $(sublet_find "$1"); do
    pid=\${file#/proc/}; pid=\${pid%/limits}
    { read -r line <"/proc/$pid/stat"; } 2>/dev/null || continue
    case \${line##*)} in ' Z'*|' X'*) continue ;; esac
    found="$found $pid"
  done
}
`;

/** Succeeds when something that carries the tag ($1) lives. */
export const IS_TREE_ALIVE: string = `${FIND_TREE}
sublet_living "$1"
[ -n "$found" ]
`;

/** Sends a signal ($2) to everything that carries the tag ($1); SIGKILL until twice in a row nothing is left. */
export const KILL_TREE: string = `${FIND_TREE}
round=0 empty=0
while [ $empty -lt 2 ]; do
  sublet_living "$1"
  # All at once, so that a shell does not report the end of its children.
  [ -z "$found" ] || kill -"$2" $found 2>/dev/null
  [ "$2" = KILL ] || exit 0
  if [ -n "$found" ]; then empty=0; else empty=$((empty + 1)); fi
  round=$((round + 1)); [ $round -lt 2000 ] || exit 1
done
`;
