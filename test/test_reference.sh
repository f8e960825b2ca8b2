#!/bin/sh
# test_reference.sh SOURCE: doxygen has no complaint about the public headers, and every exported function is explained
# in what it makes of them. Exit 77 without doxygen.
set -eu
command -v doxygen >/dev/null || { echo "no doxygen"; exit 77; }
SOURCE=$1
OUTPUT=$(mktemp -d)
export SOURCE OUTPUT
trap 'rm -rf "$OUTPUT"' EXIT
doxygen "$SOURCE/doc/reference/Doxyfile"
while read -r name; do
    grep -rqF ">$name()</h2>" "$OUTPUT/html" || { echo "$name is not in the reference"; exit 1; }
done <"$SOURCE/test/symbols.txt"
