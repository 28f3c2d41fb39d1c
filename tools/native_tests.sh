#!/bin/bash
# Builds and runs the C++ tests: on this machine, with sanitizers, and for ARM under qemu where that is installed.
# Usage: tools/native_tests.sh [--require-arm]
set -euo pipefail
cd "$(dirname "$0")/.."

golden=$PWD/build/native-golden
python=.venv/bin/python
[[ -x $python ]] || python=python3
rm -rf "$golden"
"$python" tools/export_native_goldens.py flat "$golden"

# build NAME "TARGET..." CMAKE_OPTION... : configure and build; no target means all.
build() {
    local folder=build/native-$1 log=build/native-$1.log targets=$2
    local name=$1
    shift 2
    # shellcheck disable=SC2086 -- targets are words
    if ! { cmake -S native -B "$folder" -G Ninja -DKAZEIA_TESTS=ON -DKAZEIA_GOLDEN="$golden" "$@" \
        && cmake --build "$folder" ${targets:+--target $targets}; } >"$log" 2>&1; then
        cat "$log"
        echo "C++ tests ($name): the build failed" >&2
        exit 1
    fi
}

# check NAME FOLDER [CTEST_OPTION...] : run; believes CTest's closing line, not only its exit code.
check() {
    local name=$1 folder=build/native-$2 log=build/native-$1.log
    shift 2
    ctest --test-dir "$folder" --output-on-failure "$@" >"$log" 2>&1 || true
    if ! grep -E '^100% tests passed.* out of [1-9]' "$log" >/dev/null; then
        cat "$log"
        echo "C++ tests ($name): failed" >&2
        exit 1
    fi
    echo "C++ tests ($name): $(grep -E '^100% tests passed' "$log")${KAZEIA_TEST_ISAS:+, with $KAZEIA_TEST_ISAS}"
}

# What the tests must find on this machine, by the kernel's account of it; elsewhere than on Linux they try what they
# find. A test that does not find exactly these instruction sets fails: none is left out by mistake.
isas_here() {
    local flags found=""
    flags=" $(grep -m 1 -E '^(flags|Features)' /proc/cpuinfo | cut -d : -f 2) "
    has() {
        local flag
        for flag in "$@"; do [[ $flags == *" $flag "* ]] || return 1; done
    }
    if has avx2 fma f16c avx512f avx512bw avx512vl avx512_vnni; then found+="avx512 "; fi
    if has avx2 fma f16c; then found+="avx2 "; fi
    if has asimddp i8mm; then found+="neon-i8mm "; fi
    if has asimddp; then found+="neon-dotprod "; fi
    if has asimd; then found+="neon "; fi
    echo "${found}scalar"
}
if [[ -r /proc/cpuinfo ]]; then
    KAZEIA_TEST_ISAS=$(isas_here)
    export KAZEIA_TEST_ISAS
fi

build host ""
check host host
build sanitize "" -DKAZEIA_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo
check sanitize sanitize
build threads "thread_team_test decoder_test native_talker_test" -DKAZEIA_SANITIZE=thread -DCMAKE_BUILD_TYPE=RelWithDebInfo
check threads threads -R '^(thread_team|decoder|native_talker)_test$'
if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64 >/dev/null; then
    build aarch64 "" "-DCMAKE_TOOLCHAIN_FILE=$PWD/native/cmake/aarch64-linux-gnu.cmake"
    # A processor without the 8-bit products, one with dot products, one with matrix products besides.
    KAZEIA_TEST_ISAS="neon scalar" QEMU_CPU=cortex-a53 check aarch64-oldest aarch64 -j "$(nproc)"
    KAZEIA_TEST_ISAS="neon-dotprod neon scalar" QEMU_CPU=neoverse-n1 \
        check aarch64-dotprod aarch64 -j "$(nproc)" -R '^(cpu|panel_matvec|decoder)_test$'
    KAZEIA_TEST_ISAS="neon-i8mm neon-dotprod neon scalar" QEMU_CPU=max check aarch64-newest aarch64 -j "$(nproc)"
elif [[ ${1:-} == --require-arm && $(uname -m) == x86_64 ]]; then
    echo "C++ tests (aarch64): g++-aarch64-linux-gnu or qemu-user is missing" >&2
    exit 1
else
    echo "C++ tests (aarch64): skipped, g++-aarch64-linux-gnu or qemu-user is missing"
fi
