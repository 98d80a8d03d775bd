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
#
#	namespaces n0 … n<N-1>, each with nic<i> (node i)       nodes N
#	   e0    e1    …
#	   |     |
#	   h0    h1    …    ports of br0
#	    \____|_br0_/    namespace hub

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

# A run with less than its whole load (LOAD) is without what takes minutes
short() { [ "${LOAD:-100}" -lt 100 ]; }

# What fuzzers try follows from it: always the same with less than the whole load, so that
# what fails then is what was changed
fuzz_seed() {
	if short; then
		echo "${SEED:-1}"
	else
		echo "${SEED:-$((SRANDOM % 1000000))}"
	fi
}

whole_load_only() {
	! short || {
		echo "# SKIP takes minutes; runs with LOAD=100"
		exit 4
	}
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

# As many namespaces as nodes on a bridge; more words go to "nicctl dev add"
nodes_make() { # NODES MTU [WORD...]
	local count=$1 mtu=$2 i
	shift 2
	nodes_wire "$count" "$mtu"
	for ((i = 0; i < count; i++)); do
		ip netns exec "n$i" nicctl dev add "nic$i" type ether netdev "e$i" \
			node "$i" "$@"
	done
}

nodes_wire() { # NODES MTU
	local i
	ip netns add hub
	ip -n hub link add br0 type bridge
	ip -n hub link set br0 mtu "$2" up
	for ((i = 0; i < $1; i++)); do
		ip netns add "n$i"
		ip link add "e$i" mtu "$2" netns "n$i" type veth \
			peer name "h$i" mtu "$2" netns hub
		ip -n hub link set "h$i" master br0 up
		ip -n "n$i" link set "e$i" up
	done
}

# The bridge knows where they are, and learns nothing: what a hostile neighbour sends comes,
# whoever it says to be. Else who speaks as the victim takes all that is for it away, its own
# frames as well
nodes_fix() { # NODES
	local i
	for ((i = 0; i < $1; i++)); do
		ip netns exec hub bridge link set dev "h$i" learning off &&
			ip netns exec hub bridge fdb replace "$(address "$i")" dev "h$i" master static ||
			return
	done
}

nodes_remove() { # NODES
	local i
	for ((i = 0; i < $1; i++)); do
		ip netns del "n$i"
		within 10 gone "nic$i"
	done
	ip netns del hub
}

# The first two nodes' devices, and the module: nothing holds any of them
nodes_go() {
	local i
	for i in 0 1; do
		in_n $i nicctl dev del "nic$i" || return
	done
	rmmod dmanic && modprobe dmanic
}

# A rank for each node, in its namespace
nodes_run() { # NODES COMMAND...
	local count=$1
	shift
	# shellcheck disable=SC2016 # the rank's shell
	nicrun -n "$count" -- bash -c 'exec ip netns exec "n$NIC_RANK" "$@"' rank "$@"
}

in_n() { ip netns exec "n$1" "${@:2}"; }
address() { in_n "$1" cat "/sys/class/net/e$1/address"; }
counted() { in_n "$1" nicctl stats "nic$1" | awk -v name="$2" '$1 == name { print $2 }'; }

# selftests/fuzz/neighbor.c at the device of one namespace sends to a node of another, for
# FUZZ_TIME seconds at most, if that is set; a minute with less than the whole load, if it is
# not said how many FRAMES
neighbor() { # IN TO [WORD...]
	local seed time=0
	seed=$(fuzz_seed)
	! short || [ -n "${FRAMES-}" ] || time=60
	time=${FUZZ_TIME:-$time}
	echo "again: SEED=$seed FRAMES=${FRAMES:-} FUZZ_TIME=$time $0; it was neighbor ${*:3}" \
		>>/tmp/again
	in_n "$1" "$top/build/user/neighbor" --netdev "e$1" --to "$(address "$2")" \
		--seed "$seed" --time "$time" "${@:3}"
}

frames_sent() { sed -n 's/ frames sent.*//p' /tmp/neighbor; }

# What the port of node 0 sent it, but for what node 1 says to have sent
came_from_neighbor() {
	echo $(($(ip netns exec hub cat /sys/class/net/h0/statistics/tx_packets) - $(counted 1 frames_sent)))
}

# What did not come is nothing that anybody withstood
most_came() { # BEFORE
	local came=$(($(came_from_neighbor) - $1))
	# What others say by themselves is among it
	[ "$came" -le "$(frames_sent)" ] || came=$(frames_sent)
	echo "note: $(cat /tmp/neighbor), $came came"
	[ "$(frames_sent)" -gt 0 ] && [ "$came" -ge $((9 * $(frames_sent) / 10)) ]
}

# Ranks 0 and 1 exchange until COMMAND has ended
attacked() { # COMMAND...
	local status=0 attacker
	"$@" >/tmp/neighbor 2>&1 &
	attacker=$!
	while kill -0 $attacker 2>/dev/null; do
		nodes_run 2 exchange every --bytes 50k --rounds 5 >/tmp/attacked 2>&1 ||
			{ cat /tmp/attacked; status=1; }
	done
	wait $attacker || { cat /tmp/neighbor; status=1; }
	return $status
}

# What nothing that comes from others is a reason for, as nicrun says it: SIGILL, SIGTRAP,
# SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS
crashes='killed by signal (4|5|6|7|8|11|31) '

# Ranks 0 and 1 exchange until ATTACKER has ended, as well as it lets them; but none crashes
attacked_by() { # ATTACKER
	local said status=0
	while kill -0 "$1" 2>/dev/null; do
		# shellcheck disable=SC2016 # the rank's shell
		said=$(timeout 20 nicrun -n 2 -- bash -c \
			'exec ip netns exec "n$NIC_RANK" exchange every --bytes 50k --wait 10s' 2>&1)
		[[ ! $said =~ $crashes ]] || { echo "$said"; status=1; }
	done
	wait "$1" || { cat /tmp/neighbor; status=1; }
	return $status
}

# A program of node 0 that asks node 9 for all kinds of things, until there is /tmp/trusted
trusting() {
	while [ ! -e /tmp/trusted ]; do
		nicrun -n 1 -- ip netns exec n0 exchange trust --to 9 --time 2s >>/tmp/trust 2>&1 ||
			{ cat /tmp/trust; return 1; }
	done
}

# "TIMES WELL ALL": how often it connected, and how many operations went well
trust_told() {
	awk '{ times += $2; well += $4; all += $6 }
		END { print times + 0, well + 0, all + 0 }' /tmp/trust
}

# Something that node 9 answered was believed
trust_was_abused() {
	local told
	read -ra told < <(trust_told)
	[ "${told[1]}" -gt 0 ]
}

# Whether so many frames came to node 0
more() { # FRAMES
	[ "$(counted 0 frames_received)" -gt "$1" ]
}

# Node 9 is hostile, but it is a node: most of what it says is looked at to the end. Who trusts
# it does not crash, and all others do not notice; more words go to the neighbour, which
# goes on until answers of it were believed
member_disturbs_nobody() { # FRAMES [WORD...]
	local before came dropped refused sent=0 round status=0 truster told
	dropped=$(counted 0 dropped)
	refused=$(counted 0 refused)
	before="$(counted 1 deaths) $(counted 1 restarts)"
	rm -f /tmp/trusted
	: >/tmp/trust
	trusting &
	truster=$!
	for round in {0..19}; do
		came=$(came_from_neighbor)
		SEED=$(($(fuzz_seed) + round)) attacked neighbor 2 0 --member 9 --frames "$@" || status=1
		most_came "$came" || status=1
		sent=$((sent + $(frames_sent)))
		# What it did is told in the end
		[ $status = 0 ] && ! within 3 trust_was_abused || break
	done
	touch /tmp/trusted
	wait $truster || status=1
	dropped=$(($(counted 0 dropped) - dropped))
	refused=$(($(counted 0 refused) - refused))
	read -ra told < <(trust_told)
	echo "note: $dropped of them dropped, $refused operations refused"
	echo "note: connected ${told[0]} times, ${told[1]} of ${told[2]} operations went well"
	[ "$(counted 1 deaths) $(counted 1 restarts)" = "$before" ] ||
		{ echo "node 1: before $before"; in_n 1 nicctl stats nic1; status=1; }
	[ $dropped -lt $((sent / 2)) ] && [ $refused -gt $((sent / 200)) ] ||
		{ echo "most of them came to nothing"; status=1; }
	trust_was_abused || { echo "none of its answers was believed"; status=1; }
	return $status
}

# What "nicctl --json dev show" says on standard input: how many counts of what programs have
# are not zero. Nothing, and fails, when a device does not tell all of them
kinds_in_use() {
	awk -F: '/"(contexts|segments|queues|interrupts|pinned_bytes)":/ {
			told++
			used += $2 + 0 != 0
		}
		END {
			if (!told || told % 5)
				exit 1
			print used + 0
		}'
}

# Until COMMAND succeeds, at most SECONDS
within() { # SECONDS COMMAND...
	within_exactly $(($1 * ${SCALE:-1})) "${@:2}"
}

# The same where the time is what is tested: however slow the kernel is
within_exactly() { # SECONDS COMMAND...
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

# The same with two programs, from nic1 to nic0: each time other data, so that nothing old
# or misplaced goes unseen
poured() { # TIME
	nicrun -n 2 exchange flood --time "$1" --wait 30s
}

median() { # NUMBER...
	printf '%s\n' "$@" | sort -g | sed -n "$((($# + 1) / 2))p"
}

# Somebody in a namespace listens to a family of generic netlink
# shellcheck disable=SC2016 # awk has words with a dollar, too
listening() { # NAMESPACE
	[ -n "$(ip netns exec "$1" awk '$2 == 16 && $4 !~ /^0*$/' /proc/net/netlink)" ]
}

# One case: its function has the name with _ for __, and says why it failed; of one that
# did not, lines with "note: " are printed; and how long it took, if that was long. What it
# wrote to /tmp/again, to try the same again, is printed when it failed
case_run() { # NAME [SHOWN-AS]
	local said status=0 before=$SECONDS
	rm -f /tmp/again
	said=$("${1//__/_}" 2>&1) || status=$?
	if [ $status = 0 ]; then
		said=$(sed -n 's/^note: //p' <<<"$said")
	elif [ -e /tmp/again ]; then
		said+=$'\n'$(</tmp/again)
	fi
	[ -z "$said" ] || echo "# ${said//$'\n'/$'\n'# }"
	[ $((SECONDS - before)) -lt 10 ] || echo "# ${2-$1} took $((SECONDS - before)) s"
	ktap_result $status "${2-$1}"
}

# How often the driver called a function of its own since then; 4 where nobody can tell
probe_begin() { # FUNCTION
	if [ ! -e /sys/kernel/tracing/kprobe_events ]; then
		echo "this kernel has no kprobes"
		return 4
	fi
	echo "p:dmanic_probe dmanic:$1" >/sys/kernel/tracing/kprobe_events || return 1
	echo 1 >/sys/kernel/tracing/events/kprobes/dmanic_probe/enable
}

probe_hits() {
	awk '$1 == "dmanic_probe" { print $2 }' /sys/kernel/tracing/kprobe_profile
}

probe_end() {
	echo 0 >/sys/kernel/tracing/events/kprobes/dmanic_probe/enable
	echo >/sys/kernel/tracing/kprobe_events
}
