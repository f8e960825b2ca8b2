#!/bin/sh
# test_r.sh SOURCE BUILD [check]: the package of compat/r, compiled against the library of the build folder, its tests
# (compat/r/tests) and the examples of doc/octave-r.md; check: what R CMD check says of it, which must be OK. Exit 77
# where R is not there.
set -eu
source=${1:?source directory} build=${2:?build directory}
command -v R >/dev/null || { echo "skipped: no R"; exit 77; }
. "$(dirname "$0")/page.sh"
echo 'CFLAGS = -O1 -Wall -Wextra -Wno-cast-function-type -Werror' >"$work/Makevars"
export R_MAKEVARS_USER="$work/Makevars" R_LIBS="$work" _R_CHECK_FORCE_SUGGESTS_=false
cd "$work"
R CMD build "$source/compat/r" >log 2>&1 || { cat log; exit 1; }
if [ "${3:-}" = check ]; then
    unset R_MAKEVARS_USER # whose warnings are not portable; and no repository is asked
    sed 's,@CRAN@\|%bm,http://localhost:9,' "$(R RHOME)/etc/repositories" >repositories
    export R_REPOSITORIES="$work/repositories" R_PROFILE=/dev/null
    R CMD check --no-manual hinge_*.tar.gz && tail -n 3 hinge.Rcheck/00check.log | grep -qx 'Status: OK'
    exit
fi
R CMD INSTALL --no-docs --no-test-load --no-byte-compile --library=. hinge_*.tar.gz >log 2>&1 || { cat log; exit 1; }
for test in plain e1071; do
    R --vanilla --no-echo -f "$source/compat/r/tests/$test.R"
done
page r 'R --vanilla --no-echo -f'
