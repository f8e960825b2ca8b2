#!/bin/sh
# sanitize.sh KIND SOURCE FOLDER [TEST...]: builds SOURCE in FOLDER with -Db_sanitize=KIND and runs the TESTs there, or
# the unit tests (the long ones with HINGE_CI=all). It takes minutes. KIND thread: clang, and LLVM's OpenMP with its tool
# libarcher, by which ThreadSanitizer knows what OpenMP orders; BLAS, which is not built so, is not looked into.
set -eu
kind=$1 source=$2 folder=$3
shift 3
if [ "$kind" = thread ]; then
    CC=$(command -v clang || command -v clang-14) || { echo "skipped: no clang"; exit 77; }
    export CC
    archer=$("$CC" -print-file-name=libarcher.so)
    [ -f "$archer" ] || archer=$(dirname "$("$CC" -print-resource-dir)")/../libarcher.so
    [ -f "$archer" ] || { echo "skipped: no libarcher.so (Debian: libomp-dev)"; exit 77; }
    printf 'int main(void) { return 0; }' | "$CC" -x c -fopenmp -fsanitize=thread -o /dev/null - 2>/dev/null ||
        { echo "skipped: clang cannot link OpenMP with ThreadSanitizer"; exit 77; }
    export OMP_TOOL_LIBRARIES="$archer" KMP_BLOCKTIME=0
    export TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1 exitcode=66 ${TSAN_OPTIONS:-}"
fi
[ -f "$folder/build.ninja" ] ||
    meson setup "$folder" "$source" --buildtype=debugoptimized -Db_sanitize="$kind" -Db_lundef=false \
        -Db_ndebug=false -Dtools=disabled -Dcompat=disabled -Dexamples=disabled -Dbenchmarks=disabled
programs=
for name; do programs="$programs test/$name"; done
# shellcheck disable=SC2086 # a list of words
ninja -C "$folder" $programs
# OpenMP's threads live as long as the process, and so does what they hold
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
if [ $# -eq 0 ]; then # those that take minutes here only on request
    set -- --suite unit
    [ "${HINGE_CI:-}" = all ] || set -- "$@" --no-suite long
fi
exec meson test -C "$folder" --no-rebuild --print-errorlogs --timeout-multiplier 6 "$@"
