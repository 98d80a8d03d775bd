# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Owns: how results are printed and counted (KTAP version 1). Sourced by the
# scripts that run tests. A program's own KTAP (or TAP) lines are nested below
# its result; whatever else it prints becomes a comment.

ktap_number=0
ktap_failed=0
ktap_passed=0
ktap_last=	# what the last program said last

ktap_header() { # CASES
	echo 'KTAP version 1'
	echo "1..$1"
}

# Of which sources what is counted here tells
ktap_sources() {
	echo "# of $(git describe --always --dirty 2>/dev/null || echo 'sources without git')"
}

ktap_result() { # STATUS NAME [REASON]: exit status as kselftest has it
	local word=ok directive=
	ktap_number=$((ktap_number + 1))
	case $1 in
	0) ktap_passed=$((ktap_passed + 1)) ;;
	4) directive=" # SKIP" ;;
	*) word='not ok' directive=${3:+ #} ktap_failed=$((ktap_failed + 1)) ;;
	esac
	echo "$word $ktap_number - $2$directive${3:+ $3}"
}

# Indents a program's output, live, and makes comments of what is no KTAP, until
# a line ends with END. Then tells on 3: the plan ("-": none), the cases, how many
# of them failed, and the last line. The shell reads here: to start programs for
# every test takes longer, in a VM, than most tests do.
ktap_nest() { # END
	local end=$1 line plan=- cases=0 bad=0 last=''
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		"$end") break ;;
		*"$end") line=${line%"$end"} && end='' ;;
		esac
		line=${line%$'\r'}
		case $line in
		# From the beginning: what was before does not count
		KTAP\ version\ 1) plan=- cases=0 bad=0 ;;
		TAP\ version\ 1[34]) line='KTAP version 1' ;;
		1..[0-9]*) [ "$plan" != - ] || plan=${line#1..} ;;
		'ok '[0-9]*) cases=$((cases + 1)) ;;
		'not ok '[0-9]*) cases=$((cases + 1)) bad=$((bad + 1)) ;;
		esac
		[[ $line =~ ^\ *(KTAP\ version\ |1\.\.[0-9]|(not\ )?ok\ [0-9]|#) ]] ||
			line="# $line"
		printf '  %s\n' "$line"
		last=$line
		[ -n "$end" ] || break
	done
	printf '%s\n' "${plan%%[!0-9-]*}" "$cases" "$bad" "$last" >&3
}

# Ends the program that runs, with all it started.
ktap_child=
ktap_stop() {
	[ -z "$ktap_child" ] || kill -TERM -- "-$ktap_child" 2>/dev/null || :
}

# Runs a program with a time limit and prints its result. The reason of a
# skip is the program's last line. timeout gives the program a process group,
# which is emptied afterwards; what left the group cannot keep this waiting. When
# the caller has a function ktap_after, it is called with the program's name; what
# it prints is nested too, and its status counts unless it is 0. Where the caller sets
# ktap_demands_plan, a program that tells of no cases has failed.
ktap_program() { # NAME SECONDS COMMAND...
	local name=$1 limit=$2 status=0 reason='' end out in answer
	local plan cases bad began=${EPOCHREALTIME/[.,]/}
	shift 2
	end="end of $name $SRANDOM$SRANDOM"
	exec {out}>&1
	coproc ktap_reader { ktap_nest "$end" 3>&1 >&"$out"; }
	exec {in}>&"${ktap_reader[1]}" {answer}<&"${ktap_reader[0]}" {out}>&-
	timeout -k 10 "$limit" "$@" </dev/null >&"$in" 2>&1 {in}>&- {answer}<&- &
	ktap_child=$!
	wait $ktap_child || status=$?
	kill -KILL -- "-$ktap_child" 2>/dev/null || :
	ktap_child=
	if declare -F ktap_after >/dev/null; then
		ktap_after "$name" >&"$in" 2>&1 || status=$?
	fi
	printf '%s\n' "$end" >&"$in"
	{
		read -r plan
		read -r cases
		read -r bad
		IFS= read -r ktap_last
	} <&"$answer"
	exec {in}>&- {answer}<&-
	# shellcheck disable=SC2154 # bash sets it
	wait "$ktap_reader_PID" 2>/dev/null || :
	if [ "$plan" != - ] && [ "$plan" != "$cases" ]; then
		reason="$cases of $plan cases ran"
	elif [ "$plan" = - ] && [ -n "${ktap_demands_plan-}" ]; then
		reason="it told of no cases"
	elif [ "$bad" != 0 ]; then
		reason="$bad of $cases cases failed"
	fi
	[[ ! $ktap_last =~ ^[\ #]*(.*SKIP )?(.*)$ ]] ||
		ktap_last=${BASH_REMATCH[2]}
	case $status in
	0) [ -z "$reason" ] || status=1 ;;
	4) reason=$ktap_last ;;
	97) reason="the kernel complained: $ktap_last" ;;
	124 | 137) reason="time limit of $limit s" ;;
	*) reason=${reason:-exit status $status} ;;
	esac
	began=$(((${EPOCHREALTIME/[.,]/} - began) / 100000))
	printf '  # %s took %d.%d s\n' "$name" $((began / 10)) $((began % 10))
	ktap_result "$status" "$name" "$reason"
}

# The plan of COUNT programs. That none was chosen is a mistake, not a success.
ktap_plan() { # COUNT [PATTERN...]
	ktap_header "$1"
	[ "$1" = 0 ] || return 0
	shift
	echo "# no test matches $*"
	exit 1
}

# Kselftest's exit status for what was run so far.
ktap_status() {
	[ "$ktap_failed" = 0 ] || return 1
	[ "$ktap_passed" != 0 ] || return 4
}

# Counts the leaves of KTAP text on stdin: "PASSED FAILED SKIPPED". A parent
# that failed though none of its cases did (it died, or the kernel complained)
# is a failure of its own.
ktap_count() {
	awk '!/^ *(not )?ok [0-9]/ { next }
	{
		match($0, /^ */)
		column = RLENGTH
		failed = $1 == "not"
		cases = bad = 0
		while (depth && at[depth] > column) {
			cases = 1
			bad += fails[depth--]
		}
		if (!cases && / # SKIP/)
			skip++
		else if (failed && !bad)
			fail++
		else if (!cases)
			pass++
		if (!depth || at[depth] < column) {
			at[++depth] = column
			fails[depth] = 0
		}
		fails[depth] += failed
	}
	END { print pass + 0, fail + 0, skip + 0 }'
}

# True when NAME matches one of the patterns, or there is none.
ktap_chosen() { # NAME [PATTERN...]
	local name=$1 pattern
	shift
	[ $# != 0 ] || return 0
	for pattern; do
		# shellcheck disable=SC2053 # a pattern is meant
		[[ $name != ${pattern#=} && ($pattern = =* || $name != *$pattern*) ]] || return 0
	done
	return 1
}
