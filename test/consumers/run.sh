#!/bin/sh
# run.sh SOURCE: hinge as other projects take it. The project in this folder is built with hinge as its Meson
# subproject, installed into a temporary prefix, and built again on what lies there by Meson, by make and the
# pkg-config file (shared and static), and by CMake; in C and in C++. Every program checks its numbers itself.
set -eu
source=${1:?source directory}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$source"/test/consumers/* "$work"
cd "$work"
prefix=$work/prefix
openblas=/usr/lib/$(${CC:-cc} -print-multiarch 2>/dev/null || true)/openblas-openmp # Debian's
failed=0

# step NAME COMMAND...
step() {
    name=$1
    shift
    if "$@" >log 2>&1; then
        echo "ok - $name"
    else
        echo "not ok - $name: $*"
        cat log
        failed=$((failed + 1))
    fi
}

# uses_ours PROGRAM: it runs, on the shared library in the prefix, which found OpenBLAS's OpenMP build if that is there
uses_ours() {
    ldd "$1" >libraries && cat libraries && grep -q "libhinge.so.0 => $prefix/" libraries && runs "$1"
}

# has_its_own PROGRAM: it runs, and holds hinge itself
has_its_own() {
    ldd "$1" >libraries && cat libraries && ! grep libhinge libraries && runs "$1"
}

runs() {
    "$@" >said && cat said || return 1
    [ ! -d "$openblas" ] || grep -q 'OpenBLAS .* openmp' said
}

# keeps_run_path LIBRARY: Meson drops what only the link line named
keeps_run_path() {
    readelf -d "$1" >dynamic && cat dynamic
    [ ! -d "$openblas" ] || grep -q "RUNPATH.*$openblas" dynamic
}

is_fast() {
    grep -A9 'lib_base_base\.c\.o:' sub/build.ninja >rule && cat rule && grep -q -- '-O3' rule
}

is_not_fast() {
    ! is_fast
}

# has_no_run_path: nothing that is installed, nor hinge.pc, has one
has_no_run_path() {
    ! grep -r rpath "$prefix/lib/pkgconfig" || return 1
    for file in "$prefix"/bin/hinge "$prefix"/lib/lib*.so; do
        readelf -d "$file" >dynamic && ! grep RUNPATH dynamic || return 1
    done
}

# one_folder: programs are told of one folder of headers, hinge's own
one_folder() {
    flags=$(pkg-config --cflags hinge) && echo "$flags" && [ "${flags% }" = "-I$prefix/include" ]
}

# --- a Meson subproject; its tools are asked for, so that the command is installed too
mkdir subprojects
ln -s "$source" subprojects/hinge
step 'subproject: set up' meson setup sub --buildtype=debug --prefix="$prefix" --libdir=lib --force-fallback-for=hinge \
    -Dhinge:tools=enabled -Dhinge:werror=false
step 'subproject: is fast in a project that is not' is_fast
step 'subproject: asked to be as the project is' meson configure sub --buildtype=plain -Dhinge:always_fast=false
step 'subproject: build' ninja -C sub # in half the time
step 'subproject: is not fast' is_not_fast
step 'subproject: the programs run' meson test -C sub --no-rebuild
step 'without run paths: set up' meson configure sub -Dhinge:rpath=false
step 'without run paths: install' meson install -C sub
step 'without run paths: none is left' has_no_run_path
step 'with run paths: set up' meson configure sub -Dhinge:rpath=true
step 'install' meson install -C sub
for kind in static shared; do
    step "default_library=$kind: set up" meson setup only-$kind subprojects/hinge/ -Ddefault_library=$kind
done
rm subprojects/hinge
[ "$failed" -eq 0 ] || exit 1

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
step 'the installed command runs' runs env -u LD_LIBRARY_PATH "$prefix/bin/hinge" info
step 'the installed library knows which OpenBLAS it was built with' keeps_run_path "$prefix/lib/libhinge.so.0"
export LD_LIBRARY_PATH="$prefix/lib"

# --- the installed library, by Meson and by make
step 'installed, Meson: set up' meson setup installed --wrap-mode=nofallback
step 'installed, Meson: build' ninja -C installed
step 'installed, Meson: C' uses_ours installed/use
step 'installed, Meson: C++' uses_ours installed/use++
step 'pkg-config: headers' one_folder
step 'pkg-config: build' make
step 'pkg-config: C' uses_ours ./use
step 'pkg-config: C++' uses_ours ./use++

# --- CMake
if command -v cmake >/dev/null; then
    step 'CMake: set up' cmake -S . -B cmake -DCMAKE_PREFIX_PATH="$prefix"
    step 'CMake: build' cmake --build cmake
    step 'CMake: C' uses_ours cmake/use
    step 'CMake, find_package: C' uses_ours cmake/found
    step 'CMake, static: set up' cmake -S . -B cmake-static -DCMAKE_PREFIX_PATH="$prefix" -DHINGE_STATIC=1
    step 'CMake, static: build' cmake --build cmake-static
    step 'CMake, static: C' has_its_own cmake-static/found
else
    echo "skipped - CMake is not there"
fi

# --- the static library: where the shared one lies too, the linker would take that
rm "$prefix"/lib/libhinge.so*
step 'pkg-config --static: build' make -B STATIC=1
step 'pkg-config --static: C' has_its_own ./use
step 'pkg-config --static: C++' has_its_own ./use++

echo "$failed failed"
[ "$failed" -eq 0 ]
