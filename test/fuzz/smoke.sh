#!/bin/sh
# smoke.sh SOURCE FOLDER [SECONDS]: builds the fuzz targets with clang in FOLDER and runs them, SECONDS in all (60).
# It takes minutes, and the inputs in corpus/ are replayed in any case.
set -eu
source=$1 folder=$2 seconds=${3:-60}
clang=$(command -v clang || command -v clang-14) || { echo "no clang"; exit 77; }
echo 'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { return p == 0 && n > 0; }' |
    "$clang" -x c -fsanitize=fuzzer,address -o /dev/null - 2>/dev/null || { echo "no libFuzzer"; exit 77; }

targets="data model ranges npy csv options"
[ -f "$folder/build.ninja" ] ||
    CC=$clang meson setup "$folder" "$source" --buildtype=debugoptimized -Dfuzz=true -Db_sanitize=address,undefined \
        -Db_lundef=false -Dtools=disabled -Dcompat=disabled -Dexamples=disabled -Dbenchmarks=disabled
programs=
for name in $targets; do programs="$programs test/fuzz/fuzz_$name"; done
# shellcheck disable=SC2086 # a list of words
ninja -C "$folder" $programs

found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
for name in $targets; do
    dict=$source/test/fuzz/$name.dict
    [ -f "$dict" ] && dict=-dict=$dict || dict=
    mkdir "$found/$name"
    # shellcheck disable=SC2086 # one word or none
    "$folder/test/fuzz/fuzz_$name" -max_total_time=$((seconds / 6)) -timeout=60 -rss_limit_mb=1500 -max_len=2000 \
        -artifact_prefix="$folder/$name-" $dict "$found/$name" "$source/test/fuzz/corpus/$name" >"$found/log" 2>&1 ||
        { cat "$found/log"; echo "fuzz_$name: failed; the input is kept in $folder"; exit 1; }
    echo "fuzz_$name: $(grep '^Done' "$found/log")"
done
