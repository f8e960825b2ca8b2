#!/bin/sh
# sanitize_address.sh SOURCE BUILD: builds hinge with the address, leak and undefined-behaviour sanitizers in BUILD and
# runs the unit tests there. Only where CI=true, as it takes minutes.
set -eu
[ "${CI:-}" = true ] || { echo "skipped: CI is not true"; exit 77; }
source=$1 build=$2
[ -f "$build/build.ninja" ] ||
    meson setup "$build" "$source" --buildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false \
        -Db_ndebug=false -Dtools=disabled -Dcompat=disabled -Dexamples=disabled -Dbenchmarks=disabled
ninja -C "$build"
# OpenMP's threads live as long as the process, and so does what they hold
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
exec meson test -C "$build" --suite unit --print-errorlogs --timeout-multiplier 6
