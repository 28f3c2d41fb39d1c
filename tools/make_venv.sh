#!/bin/bash
# Makes .venv with a Python that Kazeia runs on, unless there is one already.
set -euo pipefail
cd "$(dirname "$0")/.."

if .venv/bin/python -c 'import pip' 2>/dev/null; then
    exit 0
fi
python=$(tools/find_python.sh)
echo "Making .venv with $python"
"$python" -m venv --clear .venv
