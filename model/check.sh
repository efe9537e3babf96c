#!/bin/sh
# Checks the models in this directory with spin: each line of the file checks by
# an exhaustive search, and each line of the file mutants by finding the promise
# broken that it names. Prints a line for each; fails on any error, on a search
# that is not complete, and on a mutant that is not caught. See ../doc/model.md.
#
# JOBS of them run side by side; the default is one for each processor. With DEEP
# set, the longer searches of checks.deep instead: some minutes, and memory.
set -u
cd "$(dirname "$0")" || exit 1
depth=200000 # steps of the longest path; a search that meets it is not complete

# build <definition>...: a verifier of $model in the current directory.
build() {
	defs='' kind=-DSAFETY
	for d in "$@"; do
		defs="$defs -D$d"
		[ "$d" = LIVENESS ] && kind=-DNOFAIR
	done
	# shellcheck disable=SC2086
	if ! { spin $defs -a "$here/$model.pml" && cc $cc -w $kind -DNOREDUCE -DMEMLIM=4096 -o pan pan.c; } >built 2>&1; then
		echo "model: $model ($*) does not build:"
		cat built
		return 1
	fi
}

# search <hash> <definition>...: the whole search, or up to the first error.
search() {
	hash=$1 flags=''
	shift
	case " $* " in *' LIVENESS '*) flags=-a ;; esac
	./pan -m$depth -w"$hash" $flags >out 2>&1
}

# verify <definition>...: prints its line; fails if there is any error.
verify() {
	build "$@" || return 1
	search 24 "$@"
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out | head -n 1)
	found=$(sed -n 's/.*depth reached \([0-9]*\), errors: \([0-9]*\).*/depth \1 errors \2/p' out)
	case $promises in
	live) what='liveness' ;;
	*) what="assertions $(echo "$promises" | tr , ' ')" ;;
	esac
	echo "model: $model states ${states:-none} ${found:-unfinished} $what ($*)"
	if grep -qE 'Search not completed|max search depth too small|out of memory' out; then
		echo "model: this search was not complete:"
		cat out
		return 1
	fi
	case $found in
	*' errors 0') ;;
	*) cat out && return 1 ;;
	esac
}

# mutant <definition>...: prints its line; fails if it is not caught.
mutant() {
	case $promises in
	live) only='' sign='acceptance cycle' ;;
	*) only=ONLY=${promises#?} sign="assertion violated .*||$promises)" ;;
	esac
	# shellcheck disable=SC2086
	build "$@" "$bug" $only || return 1
	search 18 "$@"
	if ! grep -q "$sign" out; then
		echo "model: mutant $bug of $model NOT caught by $promises ($*)"
		cat out
		return 1
	fi
	echo "model: mutant $bug caught by $promises ($model)"
}

# one <line number> <line>: what one line of checks or mutants asks for.
one() {
	number=$1
	# shellcheck disable=SC2086
	set -- $2
	model=$1 cc=-O0 bug=''
	case $2 in
	BUG_*) bug=$2 promises=$3 ;;
	*) promises=$2 cc=$3 ;;
	esac
	shift 3
	mkdir "$dir/$number" && cd "$dir/$number" || return 1
	if [ -n "$bug" ]; then mutant "$@"; else verify "$@"; fi >line || echo "$number" >>"$dir/failed"
	rm -f pan pan.*
}

here=$(pwd)
if [ $# -gt 0 ]; then # called by the lines below
	dir=$MODEL_DIR
	one "$1" "$2"
	exit 0
fi

for tool in spin cc; do
	command -v $tool >/dev/null || {
		echo "model: $tool is missing: get it with: apt-get install -y spin gcc" >&2
		exit 1
	}
done

# mapping: every function that a table of doc/model.md names is in a file of its line.
mapping() {
	cd ../doc || return 1
	grep '^| .*](\.\./' model.md | sed 's/^|[^|]*|//' | while read -r line; do
		files=$(echo "$line" | grep -o '(\.\./[^)]*)' | tr -d '()')
		for name in $(echo "$line" | grep -oE '`[A-Za-z]+`' | tr -d '`'); do
			# shellcheck disable=SC2086
			grep -qE "^func (\([^)]*\) )?$name\b" $files || echo "model: doc/model.md: no func $name in" $files
		done
	done
}
lost=$(mapping 2>&1)
if [ -n "$lost" ]; then
	echo "$lost" >&2
	exit 1
fi

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
if [ -n "${DEEP:-}" ]; then set -- checks.deep; else set -- checks mutants; fi
grep -hv '^#' "$@" >"$dir/lines"
n=$(wc -l <"$dir/lines")
i=0
while read -r line; do
	i=$((i + 1))
	printf '%s\0%s\0' $i "$line"
done <"$dir/lines" | MODEL_DIR=$dir xargs -0 -n 2 -P "${JOBS:-$(nproc)}" sh "$here/check.sh"
for i in $(seq "$n"); do
	cat "$dir/$i/line" || echo "$i" >>"$dir/failed"
done
if [ -e "$dir/failed" ]; then
	echo "model: $(wc -l <"$dir/failed") of $n failed" >&2
	exit 1
fi
