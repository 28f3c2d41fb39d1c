#!/bin/bash
# Installs the Debian/Ubuntu packages of the given lists that are missing; asks for rights only then.
# Usage: tools/system_packages.sh LIST...
# SKIP_SYSTEM=1 leaves the system alone.
set -euo pipefail

[[ -n ${SKIP_SYSTEM:-} ]] && exit 0
python=$("$(dirname "$0")/find_python.sh")

wanted=()
for list in "$@"; do
    while read -r name _; do
        [[ -z $name || $name == \#* ]] || wanted+=("$name")
    done <"$list"
done

# Debian splits Python: the headers that a C++ extension needs, and venv, are packages of their own.
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if ! "$python" -c 'import sysconfig, pathlib, sys
sys.exit(not (pathlib.Path(sysconfig.get_paths()["include"]) / "Python.h").exists())'; then
    wanted+=("python$version-dev")
fi
"$python" -c 'import ensurepip, venv' 2>/dev/null || wanted+=("python$version-venv")
command -v c++ >/dev/null || wanted+=(g++)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "This is not a Debian or Ubuntu system. Kazeia needs what these packages hold; install it if something fails:"
    printf '  %s\n' "${wanted[@]}"
    exit 0
fi

missing=()
for name in "${wanted[@]}"; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$name" 2>/dev/null || true)
    [[ $status == installed ]] || missing+=("$name")
done
((${#missing[@]} == 0)) && exit 0

echo "Kazeia needs these system packages, which are not installed: ${missing[*]}"
as_root=()
if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
        echo "Installing them needs an administrator: run 'apt-get install ${missing[*]}' as root, then make again." >&2
        exit 1
    fi
    echo "Installing them needs an administrator's rights: sudo may ask for your password."
    as_root=(sudo)
fi
# env: sudo drops variables. A failed update is no reason to stop: the lists may be fresh enough.
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq || echo "apt-get update failed; going on."
if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; then
    echo "These packages could not be installed: ${missing[*]}. On Ubuntu, enable 'universe' first." >&2
    exit 1
fi
