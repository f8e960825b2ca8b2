#!/bin/sh
# headers.sh SOURCE: each public header alone compiles as C99, C11 and C++17, without a warning, twice included, and so
# do all together, with every compiler that is there. Exit 77 if there is none.
set -u
source=${1:?source directory}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tried=0 failed=0

# try COMPILER STANDARD SUFFIX
try() {
    command -v "$1" >/dev/null 2>&1 || return 0
    all=$(cd "$source/include" && find . -name '*.h' | sort)
    mpi=$(pkg-config --cflags ompi-c 2>/dev/null | sed 's/-I/-isystem /g')
    [ -n "$mpi" ] || all=$(echo "$all" | grep -v /mpi.h)
    for name in $all "$all"; do
        { for header in $name $name; do
            echo "#include <$header>"
        done
        printf 'extern int nothing;\nint nothing;\n'; } >"$work/alone.$3"
        tried=$((tried + 1))
        if ! "$1" -std="$2" -Wall -Wextra -Wpedantic -Werror -I"$source/include" $mpi -fsyntax-only "$work/alone.$3"; then
            echo "$name does not stand alone: $1 -std=$2"
            failed=$((failed + 1))
        fi
    done
}

for compiler in gcc clang; do
    try $compiler c99 c
    try $compiler c11 c
done
for compiler in g++ clang++; do
    try $compiler c++17 cc
done
echo "$tried compilations, $failed failed"
[ "$tried" -gt 0 ] || { echo "no compiler"; exit 77; }
[ "$failed" -eq 0 ]
