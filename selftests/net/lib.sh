# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Owns: what tests over network devices share: namespaces, veth pairs, ether
# devices on them, cases. Sourced; needs root in a machine of its own (a VM).
#
#	namespace a             namespace b            pair
#	   nic0 (node 0)           nic1 (node 1)
#	   va  <---- veth pair --->  vb
#
#	nic0 … nic3 on v0 … v3, whose other ends are ports of br0   star
#
#	   v0    v1    v2    v3
#	   |     |     |     |
#	   w0    w1    w2    w3
#	    \____|_br0_|____/

top=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
# shellcheck source=selftests/ktap.sh
. "$top/selftests/ktap.sh"

need_root() {
	[ "$(id -u)" = 0 ] || {
		echo "# SKIP needs root, in a VM: selftests/vm -- $0"
		exit 4
	}
	modprobe dmanic || exit
}

in_a() { ip netns exec a "$@"; }
in_b() { ip netns exec b "$@"; }

# Two namespaces; more words go to "nicctl dev add"
pair_make() { # MTU [WORD...]
	local mtu=$1
	shift
	ip netns add a
	ip netns add b
	ip link add va mtu "$mtu" netns a type veth peer name vb mtu "$mtu" netns b
	ip -n a link set va up
	ip -n b link set vb up
	in_a nicctl dev add nic0 type ether netdev va node 0 "$@"
	in_b nicctl dev add nic1 type ether netdev vb node 1 "$@"
}

# Namespaces take their devices along, some time later
pair_remove() {
	ip netns del a 2>/dev/null || :
	ip netns del b 2>/dev/null || :
	within 10 gone nic0
	within 10 gone nic1
}

gone() { [ ! -e "/dev/dmanic/$1" ]; }

star_make() { # MTU
	local i
	ip link add br0 type bridge
	ip link set br0 mtu "$1" up
	for i in 0 1 2 3; do
		ip link add "v$i" mtu "$1" type veth peer name "w$i" mtu "$1"
		ip link set "w$i" master br0 up
		ip link set "v$i" up
	done
}

star_remove() {
	local i
	for i in 0 1 2 3; do
		ip link del "v$i"
	done
	ip link del br0
}

# Until COMMAND succeeds, at most SECONDS
within() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return
		sleep 0.05
	done
}

# Moves bytes from nic0 to nic1 for so long, and compares with what was sent
traffic() { # TIME
	nicperf bandwidth --device nic0 --peer-device nic1 --size 64k --depth 4 \
		--op put,get --time "$1" --samples 5
}

# One case: its function has the name with _ for __, and says why it failed
case_run() { # NAME
	local said status=0
	said=$("${1//__/_}" 2>&1) || status=$?
	[ -z "$said" ] || [ $status = 0 ] || echo "# ${said//$'\n'/$'\n'# }"
	ktap_result $status "$1"
}
