#!/bin/sh
# ci.sh COMMAND...: runs it where CI=true; it takes minutes, or needs what the other tests do not. Skipped elsewhere.
[ "${CI:-}" = true ] || {
    echo "skipped: CI is not true"
    exit 77
}
unset LD_LIBRARY_PATH MALLOC_PERTURB_
exec nice "$@"
