#!/usr/bin/env bash
# Installs ministack, pinned, into this folder: apart from the other servers,
# since moto and ministack pin different releases of botocore. Quick when it is
# here already.
set -euo pipefail
cd "$(dirname "$0")"
if [ -f .venv/.pin ] && cmp -s .venv/.pin requirements.txt; then
	exit 0
fi
rm -rf .venv
python3 -m venv .venv || { echo "integration/lambda: python3 cannot make a virtual environment; on Debian install python3-venv" >&2; exit 1; }
.venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt ||
	{ echo "integration/lambda: pip could not install $(cat requirements.txt); is a package index reachable?" >&2; exit 1; }
cp requirements.txt .venv/.pin
