#!/bin/sh
# sanitize.sh KIND SOURCE FOLDER TEST...: builds SOURCE in FOLDER with -Db_sanitize=KIND (clang's) and runs the TESTs there.
# Only in CI (CI=true), since it takes minutes. KIND thread: LLVM's OpenMP with its tool libarcher, by which
# ThreadSanitizer knows what OpenMP orders; BLAS, which is not built so, is not looked into.
set -eu
kind=$1 source=$2 folder=$3
shift 3
[ "${CI:-}" = true ] || { echo "set CI=true to run it"; exit 77; }
clang=$(command -v clang || command -v clang-14) || { echo "no clang"; exit 77; }
if [ "$kind" = thread ]; then
    archer=$("$clang" -print-file-name=libarcher.so)
    [ -f "$archer" ] || archer=$(dirname "$("$clang" -print-resource-dir)")/../libarcher.so
    [ -f "$archer" ] || { echo "no libarcher.so (Debian: libomp-dev)"; exit 77; }
    export OMP_TOOL_LIBRARIES="$archer" KMP_BLOCKTIME=0
    export TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1 exitcode=66 ${TSAN_OPTIONS:-}"
fi
printf 'int main(void) { return 0; }' | "$clang" -x c -fopenmp -fsanitize="$kind" -o /dev/null - 2>/dev/null ||
    { echo "clang cannot link OpenMP with -fsanitize=$kind"; exit 77; }

[ -f "$folder/build.ninja" ] ||
    CC=$clang meson setup "$folder" "$source" --buildtype=debugoptimized -Db_sanitize="$kind" -Db_lundef=false \
        -Dtools=disabled -Dcompat=disabled -Dexamples=disabled -Dbenchmarks=disabled
programs=
for name; do programs="$programs test/$name"; done
# shellcheck disable=SC2086 # a list of words
ninja -C "$folder" $programs
meson test -C "$folder" --no-rebuild --print-errorlogs --timeout-multiplier 3 "$@"
