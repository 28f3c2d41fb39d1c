#!/bin/bash
# Builds and runs the C++ tests: on this machine, with sanitizers, and for ARM under qemu where that is installed.
# Usage: tools/native_tests.sh [--require-arm]
set -euo pipefail
cd "$(dirname "$0")/.."

# run NAME CMAKE_OPTION... : configure, build, test; believes CTest's closing line, not only its exit code.
run() {
    local name=$1 folder=build/native-$1 log=build/native-$1.log
    shift
    mkdir -p build
    if ! { cmake -S native -B "$folder" -G Ninja -DKAZEIA_TESTS=ON "$@" && cmake --build "$folder"; } >"$log" 2>&1; then
        cat "$log"
        echo "C++ tests ($name): the build failed" >&2
        exit 1
    fi
    ctest --test-dir "$folder" --output-on-failure >"$log" 2>&1 || true
    if ! grep -E '^100% tests passed.* out of [1-9]' "$log" >/dev/null; then
        cat "$log"
        echo "C++ tests ($name): failed" >&2
        exit 1
    fi
    echo "C++ tests ($name): $(grep -E '^100% tests passed' "$log")"
}

run host
run sanitize -DKAZEIA_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo
if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64 >/dev/null; then
    run aarch64 "-DCMAKE_TOOLCHAIN_FILE=$PWD/native/cmake/aarch64-linux-gnu.cmake"
elif [[ ${1:-} == --require-arm && $(uname -m) == x86_64 ]]; then
    echo "C++ tests (aarch64): g++-aarch64-linux-gnu or qemu-user is missing" >&2
    exit 1
else
    echo "C++ tests (aarch64): skipped, g++-aarch64-linux-gnu or qemu-user is missing"
fi
