# shellcheck shell=sh
# What tests of programs share, sourced by them once paths are absolute: a folder of the test's own, which goes when it
# ends, and checks, which are counted. A test ends with `end`.

work=$(mktemp -d) || exit 77
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 77
export HINGE_NO_RESTART=1
failures=0 cases=0

ok() { cases=$((cases + 1)) && echo "ok - $1"; }
# not_ok NAME [FILE]: what is in the file says why
not_ok() {
    cases=$((cases + 1)) failures=$((failures + 1))
    echo "not ok - $1"
    [ ! -s "${2-}" ] || sed 's/^/#   /' "$2"
}

end() {
    echo "# $failures of $cases checks failed"
    [ $failures = 0 ]
}
