#!/bin/sh
# ci.sh WHEN COMMAND...: runs it where WHEN is "always" and CI=true, or WHEN is "all" and HINGE_CI=all; it takes minutes,
# or needs what the other tests do not. Skipped elsewhere.
when=$1
shift
[ "${HINGE_CI:-}" = all ] || { [ "$when" = always ] && [ "${CI:-}" = true ]; } || {
    echo "skipped: CI=true runs some of these, HINGE_CI=all every one"
    exit 77
}
unset LD_LIBRARY_PATH MALLOC_PERTURB_
exec nice "$@"
