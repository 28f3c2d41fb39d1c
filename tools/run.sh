#!/bin/bash
# Opens the window where one can be seen and spoken to; elsewhere runs the same turn from a spoken question.
set -euo pipefail
cd "$(dirname "$0")/.."

kazeia=.venv/bin/kazeia
question=/usr/share/asterisk/sounds/fr_CA_f_June/vm-savefolder.wav
reply=reply.wav

missing=()
[[ -n ${DISPLAY:-}${WAYLAND_DISPLAY:-} ]] || missing+=("display")
devices=$("$kazeia" devices --json) || devices='{"inputs": []}'
.venv/bin/python -c 'import json, sys; sys.exit(not json.loads(sys.argv[1])["inputs"])' "$devices" || missing+=("microphone")
((${#missing[@]} == 0)) && exec "$kazeia"

printf -v listed ' and no %s' "${missing[@]}"
echo "This machine has${listed# and}: Kazeia answers a recorded question instead of opening its window."
echo "The question: $question"
"$kazeia" ask "$question" -o "$reply"
