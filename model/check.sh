#!/bin/sh
# Checks the models in this directory exhaustively with spin, and that each
# mutant of them is found out by the promise that it breaks. Prints a line for
# each; fails on any error, on a search that is not complete, and on a mutant
# that is not caught. See ../doc/model.md.
set -u
cd "$(dirname "$0")" || exit 1
here=$(pwd)
for tool in spin cc; do
	command -v $tool >/dev/null || {
		echo "model: $tool is missing: install it with: apt-get install -y spin gcc" >&2
		exit 1
	}
done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=$dir/failed
depth=100000

# build <name> <model> <optimization> <definition>...: a verifier in $dir/<name>.
build() {
	name=$1 model=$2 opt=$3
	shift 3
	defs='' safety='-DSAFETY'
	for d in "$@"; do
		defs="$defs -D$d"
		[ "$d" = LIVENESS ] && safety='-DNFAIR=1'
	done
	mkdir -p "$dir/$name"
	(cd "$dir/$name" && spin $defs -a "$here/$model.pml" && cc "-O$opt" -w $safety -DNOREDUCE -o pan pan.c) \
		>"$dir/$name/build" 2>&1 || {
		echo "model: $name does not build:" && cat "$dir/$name/build"
		touch "$failed"
		return 1
	}
}

# run <name> <definition>...: its whole search, or up to the first error.
run() {
	name=$1
	shift
	flags=''
	case " $* " in *' LIVENESS '*) flags=-a ;; esac
	(cd "$dir/$name" && ./pan -m$depth $flags) >"$dir/$name/out" 2>&1
}

# verify <name> <model> <promises> <definition>...
verify() {
	name=$1 model=$2 promises=$3
	shift 3
	build "$name" "$model" 2 "$@" || return
	run "$name" "$@"
	out=$dir/$name/out
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$out")
	found=$(sed -n 's/.*depth reached \([0-9]*\), errors: \([0-9]*\).*/depth \1 errors \2/p' "$out")
	printf 'model: %s states %s %s %s (%s)\n' "$model" "${states:-none}" "${found:-no answer}" "$promises" "$*"
	case "$found" in *'errors 0') ;; *) cat "$out" && touch "$failed" ;; esac
	if grep -qE 'Search not completed|max search depth too small|out of memory' "$out"; then
		echo "model: the search of $model ($*) is not complete" && touch "$failed"
	fi
}

# mutant <model> <bug> <promise> <definition>...
mutant() {
	model=$1 bug=$2 promise=$3
	shift 3
	only=''
	case $promise in [A-Z]*) only=ONLY=${promise#?} ;; esac
	build "$bug" "$model" 0 "$@" "$bug" $only || return
	run "$bug" "$@"
	case $promise in
	live) sign='acceptance cycle' ;;
	*) sign="assertion violated .*||$promise)" ;;
	esac
	if grep -q "$sign" "$dir/$bug/out"; then
		echo "model: mutant $bug caught by $promise"
	else
		echo "model: mutant $bug of $model is NOT caught by $promise:"
		grep -E 'assertion|acceptance|errors:' "$dir/$bug/out"
		touch "$failed"
	fi
}

if [ "${1:-all}" != mutants ]; then
	verify commit-claims commit 'assertions C1 C2 C3 C4 C5' ITEMS=2 CLAIMS=3 LATE=1
	verify commit-items commit 'assertions C1 C2 C3 C4 C5' ITEMS=3 CLAIMS=2 LATE=2 HELD
	verify commit-late commit 'assertions C1 C2 C3 C4 C5' ITEMS=2 CLAIMS=2 LATE=2
	verify commit-deletes commit 'assertions C1 C2 C3 C4 C5' ITEMS=1 CLAIMS=3 LATE=1 DELETES
	verify commit-live commit 'liveness: when faults stop the frontier and completion become durable' ITEMS=2 CLAIMS=2 LATE=1 LIVENESS
	b='assertions B1 B2 B4 B7 B8'
	verify handoff-segments handoff "$b" ATTEMPTS=2 SEGMENTS=2 PAGES=2
	verify handoff-attempts handoff "$b" ATTEMPTS=3 SEGMENTS=1 PAGES=1
	verify handoff-plain handoff "$b" ATTEMPTS=3 SEGMENTS=0 PAGES=2
	verify handoff-restarts handoff "$b" ATTEMPTS=3 SEGMENTS=1 PAGES=1 RESTARTS TOGETHER
	verify handoff-live handoff 'liveness: when faults stop the stream is read' ATTEMPTS=3 SEGMENTS=1 PAGES=1 LIVENESS
	verify handoff-live-restarts handoff 'liveness: when faults stop the stream is read' ATTEMPTS=2 SEGMENTS=1 PAGES=1 LIVENESS RESTARTS
fi
while read -r model bug promise bounds; do
	case $model in '' | '#'*) continue ;; esac
	# shellcheck disable=SC2086
	mutant "$model" "$bug" "$promise" $bounds
done <mutants
[ ! -e "$failed" ]
