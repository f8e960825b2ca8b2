#!/bin/sh
# test_reference.sh SOURCE: doxygen has no complaint about the public headers, its first page leads to each of them, and
# every exported function is explained in what it makes of them. Exit 77 without doxygen.
set -eu
command -v doxygen >/dev/null || { echo "no doxygen"; exit 77; }
SOURCE=$1
OUTPUT=$(mktemp -d)
export SOURCE OUTPUT
trap 'rm -rf "$OUTPUT"' EXIT
doxygen "$SOURCE/doc/reference/Doxyfile"
for header in "$SOURCE"/include/hinge/*.h "$SOURCE"/include/hinge/compat/*.h; do
    name=${header#"$SOURCE/include/"}
    grep -q "<a .*>$name</a>" "$OUTPUT/html/index.html" || { echo "the first page does not lead to $name"; exit 1; }
done
while read -r name; do
    grep -rqF ">$name()</h2>" "$OUTPUT/html" || { echo "$name is not in the reference"; exit 1; }
done <"$SOURCE/test/symbols.txt"
