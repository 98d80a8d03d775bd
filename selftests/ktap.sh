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

# Indents a program's output live; the rest of the line is left as it is.
ktap_nest() {
	sed -u -E -e 's/\r$//' -e 's/^TAP version 1[34]$/KTAP version 1/' \
		-e '/^ *(KTAP version |1\.\.[0-9]|(not )?ok [0-9]|#)/!s/^/# /' \
		-e 's/^/  /'
}

# Says why a nested result is incomplete: the plan and the cases differ.
ktap_incomplete() { # FILE
	awk '/^  1\.\.[0-9]+/ { plan = substr($1, 4) + 0; planned = 1 }
		/^  (not )?ok [0-9]/ { n++; bad += $1 == "not" }
		END { if (planned && n != plan)
			print n + 0 " of " plan " cases ran"
		else if (bad)
			print bad " of " n " cases failed" }' "$1"
}

# Ends the program that runs, with all it started.
ktap_child=
ktap_stop() {
	[ -z "$ktap_child" ] || kill -TERM -- "-$ktap_child" 2>/dev/null || :
}

# Runs a program with a time limit and prints its result. The reason of a
# skip is the program's last line. timeout gives the program a process group,
# which is emptied afterwards: nothing stays behind, nobody keeps the pipe.
ktap_program() { # NAME SECONDS COMMAND...
	local name=$1 limit=$2 status=0 reason folder reader
	shift 2
	folder=$(mktemp -d)
	mkfifo "$folder/pipe"
	ktap_nest <"$folder/pipe" | tee "$folder/log" &
	reader=$!
	timeout -k 10 "$limit" "$@" </dev/null >"$folder/pipe" 2>&1 &
	ktap_child=$!
	wait $ktap_child || status=$?
	kill -KILL -- "-$ktap_child" 2>/dev/null || :
	ktap_child=
	wait $reader || :
	reason=$(ktap_incomplete "$folder/log")
	ktap_last=$(sed -n '$s/^[ #]*\(.*SKIP \)\{0,1\}//p' "$folder/log")
	case $status in
	0) [ -z "$reason" ] || status=1 ;;
	4) reason=$ktap_last ;;
	97) reason="the kernel complained" ;;
	124 | 137) reason="time limit of $limit s" ;;
	*) reason=${reason:-exit status $status} ;;
	esac
	rm -rf "$folder"
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
		[[ $name != $pattern && $name != *$pattern* ]] || return 0
	done
	return 1
}
