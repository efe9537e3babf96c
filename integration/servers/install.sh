#!/usr/bin/env bash
# Installs the servers that the integration tests run against, pinned, into this
# folder. Quick when they are here already.
set -euo pipefail
cd "$(dirname "$0")"

fail() {
	echo "integration/servers: $*" >&2
	exit 1
}

# installed FOLDER PIN: the folder was filled from exactly this pin.
installed() { [ -f "$1/.pin" ] && cmp -s "$1/.pin" "$2"; }

if ! installed .venv requirements.txt; then
	command -v python3 >/dev/null || fail "moto needs python3, which is not installed"
	rm -rf .venv
	python3 -m venv .venv || fail "python3 cannot make a virtual environment; on Debian install python3-venv"
	.venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt ||
		fail "pip could not install $(cat requirements.txt); is a package index reachable?"
	cp requirements.txt .venv/.pin
	echo "integration/servers: installed $(cat requirements.txt)"
fi

if ! installed node_modules package-lock.json; then
	command -v npm >/dev/null || fail "dynalite needs npm, which is not installed"
	npm ci --no-audit --no-fund --loglevel=error ||
		fail "npm could not install what package-lock.json pins; is a package registry reachable?"
	cp package-lock.json node_modules/.pin
	echo "integration/servers: installed dynalite"
fi
