#!/bin/bash
# Prints the first Python that Kazeia runs on (3.11 to 3.13). PYTHON in the environment is asked first.
set -uo pipefail

for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python; do
    # By running it: a version manager's stand-in exists also for versions that are not installed.
    found=$("$candidate" -c 'import sys
print(sys.executable if (3, 11) <= sys.version_info[:2] <= (3, 13) else "")' 2>/dev/null) || continue
    if [[ -n $found ]]; then
        echo "$found"
        exit 0
    fi
done
echo "Kazeia needs Python 3.11, 3.12 or 3.13: install one (for example python3.12 and python3.12-venv) and run make again." >&2
exit 1
