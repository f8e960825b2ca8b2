#!/bin/sh
# test_octave.sh SOURCE BUILD: the package of compat/octave, compiled against the library of the build folder: what
# test_octave.m checks, and the examples of doc/octave-r.md. Exit 77 where Octave or its mkoctfile is not there.
set -eu
source=${1:?source directory} build=${2:?build directory}
command -v octave && command -v mkoctfile || { echo "skipped: no Octave with mkoctfile"; exit 77; }
. "$(dirname "$0")/page.sh"
cp -R "$source/compat/octave" "$work"
make -s -C "$work/octave/src" CFLAGS='-O1 -Wall -Wextra -Werror'
run="octave --no-gui --norc --quiet --path $work/octave/inst --path $work/octave/src"
cd "$source"
$run test/test_octave.m
page octave "$run"
