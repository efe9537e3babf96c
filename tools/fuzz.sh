#!/bin/sh
# Runs every fuzz target of the root module, as -fuzztime says, one after another.
set -eu
time=${1:-3000x}
go=${GO:-go}
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
for dir in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz' | xargs -n1 dirname | sort -u); do
	(
		cd "$dir"
		"$go" test -c -o "$cache/fuzz.test" .
		for target in $("$cache/fuzz.test" -test.list '^Fuzz' | grep '^Fuzz'); do
			printf 'fuzz %s %s: ' "$dir" "$target"
			"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" . >"$cache/log" 2>&1 || { cat "$cache/log"; exit 1; }
			echo ok
		done
	)
done
