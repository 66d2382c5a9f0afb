import { OVER_ROOT } from './layout.ts';

/**
 * The first process of new namespaces, on the host's files. It says which one it is, on descriptor 4, waits until it is root of the outer user
 * namespace, and learns from descriptor 3, line by line, what to become: the mount table, the new root, the limits, the
 * doors of its control groups, and how long to live. Its arguments are how many user namespaces may still be made, and the
 * line that drops privileges. It never runs a program of the image: for those no capability is left to inherit, and none can
 * be gained any more.
 */
export const SETUP: string = `
exec 4>&2
read -r pid _ </proc/self/stat
echo "p $pid" >&4
read -r go <&3 || exit 0
inner=$1; shift
ip link set lo up 2>/dev/null &
{ echo sandbox >/proc/sys/kernel/hostname || hostname sandbox; } 2>/dev/null &
{ IFS= read -r table && IFS= read -r root && IFS= read -r limits && IFS= read -r doors && IFS= read -r life; } <&3 || exit 0
for door in $doors; do echo 0 >"$door" || exit 94; done
mount -n -c -a -T "$table" || exit 90
wait
eval "$limits" && echo "$inner" >/proc/sys/user/max_user_namespaces || exit 92
if [ "$root" != ${OVER_ROOT} ]; then
  cd "$root" || exit 91
  { read -r go <&5 && mount -n -c --move . / && echo m >&4; } &
  exec 5<&-
fi
exec setpriv --no-new-privs --inh-caps=-all "$@" "$life"
`;
