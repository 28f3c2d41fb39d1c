#!/bin/bash
# clang-format and clang-tidy on native/; both come with the development dependencies, pinned.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(find native -name '*.cpp' -o -name '*.h' | sort)
clang-format --dry-run -Werror "${files[@]}"

# tidy FOLDER FILE... : each file with the flags of its build; quiet unless it has something to say.
tidy() {
    local folder=$1 log=build/clang-tidy.log
    shift
    if ! printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$folder" --quiet >"$log" 2>&1; then
        cat "$log"
        exit 1
    fi
}

tests=build/native-host
cmake -S native -B "$tests" -G Ninja -DKAZEIA_TESTS=ON >/dev/null
extension=$(find build/cp3* -maxdepth 1 -name compile_commands.json -printf '%h\n' | head -n 1)
mapfile -t portable < <(find native/src native/kernels native/tests -name '*.cpp' ! -name '*_avx*.cpp' ! -name '*_neon*.cpp' \
    ! -name 'llama_*.cpp' ! -path '*/llm/*' ! -path '*/talker/*' | sort)
case $(uname -m) in
    x86_64) mapfile -t vector < <(find native/kernels -name '*_avx2.cpp' -o -name '*_avx512.cpp') ;;
    *) mapfile -t vector < <(find native/kernels -name '*_neon*.cpp') ;;
esac
tidy "$tests" "${portable[@]}" "${vector[@]}"
tidy "$extension" $(find native/bindings -name '*.cpp') $(find native/src -name 'llama_*.cpp' -o -path '*/llm/*.cpp' -o -path '*/talker/*.cpp')
echo "native: clang-format and clang-tidy have nothing to say"
