/**
 * The shell scripts that connect a sandbox by a pair of devices, and that cut it. POSIX sh. One at a time on a machine:
 * addresses, rules and the host's forwarding are everybody's.
 *
 * What passes: from the sandbox to any address that is not the host's, and the answers. What does not: to an address of
 * the host's (also one whose port the host would pass on to somebody else), from the host or others into the sandbox,
 * between two sandboxes, and IPv6. Refusals come first in the host's chains and permissions last, so that a rule of the
 * administrator's that forbids something still does.
 */

const BEGIN = `
set -e
umask 077
exec 9>/run/sublet-network.lock
flock 9
`;

/** Removes the rules of devices that are gone, and with the last device the forwarding that was switched on for it. */
const COLLECT = `
saved() { iptables-save 2>/dev/null; }
collect() {
  alive=
  dead=
  for one in $(saved | sed -n 's/.*--comment "\\{0,1\\}\\(sublet-[0-9a-f]\\{8\\}\\).*/\\1/p' | sort -u); do
    if [ -e "/proc/sys/net/ipv4/conf/$one" ]; then alive=$one; else dead="$dead $one"; fi
  done
  for one in $dead; do remove "$one"; done
  [ -z "$alive" ] || return 0
  for one in $(saved | sed -n 's/.*--comment "\\{0,1\\}sublet-forwarding:\\([^" ]*\\).*/\\1/p'); do
    # Somebody else may want it for all by now.
    [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 ] || echo 0 >"/proc/sys/net/ipv4/conf/$one/forwarding" || :
    remove "sublet-forwarding:$one"
  done
}
remove() {
  saved | sed -n "/^\\*/p; /^COMMIT/p; /--comment \\"\\{0,1\\}$1[\\": ]/s/^-A/-D/p" | iptables-restore --wait --noflush
}
`;

/** $1 device, $2 first process, $3 sandbox, then pairs of addresses to try: the host's and the sandbox's. */
export const OPEN_VETH: string = `
${BEGIN}${COLLECT}
device=$1 init=$2 name=$3 mtu=
shift 3
collect
for pair; do
  here=\${pair%,*} there=\${pair#*,}
  [ -n "$(ip -4 route show table all match "$there" | grep -v ^default)" ] || break
  here=
done
[ -n "$here" ] || { echo 'every private range is routed on this host' >&2; exit 1; }
uplink=$(ip -4 route show default | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p' | head -n 1)
[ -z "$uplink" ] || mtu=$(ip -o link show dev "$uplink" | sed -n 's/.* mtu \\([0-9]*\\) .*/\\1/p')
ip link add name "$device" mtu "\${mtu:=1500}" type veth peer name eth0 mtu "$mtu" netns "$init"
trap 'ip link delete "$device" 2>/dev/null; collect' EXIT
iptables-restore --wait --noflush <<END
*mangle
-I PREROUTING -i $device -m addrtype --dst-type LOCAL -m comment --comment "$device:$name" -j DROP
COMMIT
*filter
-I INPUT -i $device -m comment --comment "$device:$name" -j DROP
-I FORWARD -i $device -o sublet-+ -m comment --comment "$device:$name" -j DROP
-I FORWARD -o $device -m conntrack ! --ctstate RELATED,ESTABLISHED -m comment --comment "$device:$name" -j DROP
-A FORWARD -i $device -m comment --comment "$device:$name" -j ACCEPT
-A FORWARD -o $device -m comment --comment "$device:$name" -j ACCEPT
COMMIT
*nat
-A POSTROUTING -s $there/32 ! -o $device -m comment --comment "$device:$name" -j MASQUERADE
COMMIT
END
forward() {
  [ "$(cat "/proc/sys/net/ipv4/conf/$1/forwarding")" = 1 ] || echo 1 >"/proc/sys/net/ipv4/conf/$1/forwarding"
}
# Answers come in by the host's devices: where they do not forward they begin to, for nothing but these answers.
for one in $(ip -4 route show | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p' | sort -u); do
  case $one in sublet-*) continue ;; esac
  [ "$(cat "/proc/sys/net/ipv4/conf/$one/forwarding")" = 0 ] || continue
  iptables --wait -A FORWARD -i "$one" -m conntrack ! --ctstate RELATED,ESTABLISHED -m comment --comment "sublet-forwarding:$one" -j DROP
  forward "$one"
done
forward "$device"
no6=/proc/sys/net/ipv6/conf
[ ! -e "$no6" ] || echo 1 >"$no6/$device/disable_ipv6"
ip -4 addr add "$here/30" dev "$device"
ip link set "$device" up
nsenter --target "$init" --net sh -e -c '
[ ! -e "$1" ] || echo 1 >"$1/eth0/disable_ipv6"
ip -4 addr add "$2/30" dev eth0
ip link set eth0 up
ip -4 route add default via "$3"
' sh "$no6" "$there" "$here"
trap - EXIT
`;

/** $1 device. With the device every open connection over it goes; rules that keep it in go after it. */
export const CLOSE_VETH: string = `
${BEGIN}${COLLECT}
ip link delete "$1" 2>/dev/null || [ ! -e "/proc/sys/net/ipv4/conf/$1" ]
collect
`;
