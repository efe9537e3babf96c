#!/bin/sh
# Prints the flags with which go builds a program whose goroutines the runtime does
# not interrupt for having run long: a copy of the runtime's proc.go with a time
# slice of ten hours in place of 10 ms, laid over it. A simulation then repeats to
# the byte on a busy machine too.
#
#	go run $(tools/steady.sh) ./internal/simulate -v -seed 17
set -eu
go=${GO:-go}
slice='^const forcePreemptNS = '
proc=$("$go" env GOROOT)/src/runtime/proc.go
if [ "$(grep -c "$slice" "$proc")" != 1 ]; then
	echo "steady.sh: $("$go" env GOVERSION) keeps its time slice elsewhere: look for it in $proc and mend this script; without it a busy machine makes one run in some hundreds differ" >&2
	exit 1
fi
dir=$(cd "$(dirname "$0")/.." && pwd)/bin/_steady # no package of ./...
mkdir -p "$dir"
sed "s/$slice.*/const forcePreemptNS = 36000 * 1000 * 1000 * 1000/" "$proc" >"$dir/proc.go.$$"
mv "$dir/proc.go.$$" "$dir/proc.go"
printf '{"Replace":{"%s":"%s"}}\n' "$proc" "$dir/proc.go" >"$dir/overlay.json.$$"
mv "$dir/overlay.json.$$" "$dir/overlay.json"
echo "-overlay=$dir/overlay.json"
