#!/bin/sh
# build.sh SOURCE OUT COMPILER...: makes OpenBLAS in a copy of SOURCE below OUT and leaves library and headers in OUT.
# A run that was interrupted is gone on with (after other OPENBLAS_OPTIONS, remove the copy first).
set -eu
source=$1 out=$(cd "$2" && pwd)
shift 2
copy=$out/copy
rm -rf "$copy.part"
if [ ! -d "$copy" ]; then
    cp -r "$source" "$copy.part"
    mv "$copy.part" "$copy"
fi
# ninja's own settings are none of make's
unset MAKEFLAGS MFLAGS MAKELEVEL
# BUILD_...: hinge needs no complex numbers, which would take as long again
# shellcheck disable=SC2086 # words
make_it() {
    make -s -C "$copy" CC="$cc" USE_OPENMP=1 NUM_THREADS=64 NO_AFFINITY=1 DYNAMIC_ARCH=1 NOFORTRAN=1 \
        BUILD_SINGLE=1 BUILD_DOUBLE=1 ${OPENBLAS_OPTIONS:-} "$@"
}
cc=$*
make_it -j"$(getconf _NPROCESSORS_ONLN)" libs netlib
make_it NO_SHARED=1 PREFIX="$copy/installed" install
cp "$copy/installed/lib/libopenblas.a" "$copy"/installed/include/*.h "$out"
mv "$copy" "$copy.part"
rm -rf "$copy.part"
