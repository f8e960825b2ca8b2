# Shared by ./demo, ./check and benchmarks/compare, which source it from the top of the source tree: install what is
# missing, build with Meson, run with the right BLAS.

# What the library and the hinge command need on Debian; "package=command" where a command does as well.
build_packages='meson=meson ninja-build=ninja gcc=cc libc6-dev pkg-config=pkg-config libopenblas-openmp-dev
    liblapacke-dev liblzma-dev zlib1g-dev'
# What the tests need beyond that; gfortran where they link OpenBLAS statically.
test_packages='libcmocka-dev libsvm-dev libsvm-tools=svm-train g++=c++ python3=python3 xz-utils=xz
    gfortran=gfortran doxygen=doxygen mandoc=mandoc groff-base=groff cmake=cmake make=make gnuplot-nox=gnuplot
    libopenmpi-dev openmpi-bin=mpirun.openmpi libmpich-dev mpich=mpirun.mpich'
# What the Python module and its tests need; those of the estimators run where scikit-learn 1.6 is too.
python_packages='python3-dev python3-cffi python3-numpy python3-pytest mypy'

# What continuous integration needs beyond that: other compilers and processors, static analysis, Python's environments.
analysis_packages='clang=clang clang-tidy=clang-tidy clang-format=clang-format cppcheck=cppcheck libomp-dev python3-venv
    python3-sphinx python3-myst-parser python3-breathe'
cross_packages='gcc-aarch64-linux-gnu=aarch64-linux-gnu-gcc libc6-dev-arm64-cross qemu-user=qemu-aarch64'

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# is_there PACKAGE[=COMMAND]: the command runs, or the package is installed
is_there() {
    case $1 in
    *=*) command -v "${1#*=}" >/dev/null 2>&1 ;;
    *) dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed ;;
    esac
}

# need PACKAGE[=COMMAND]...: installs those that are missing by apt-get, as root or through sudo
need() {
    if ! command -v dpkg-query >/dev/null 2>&1; then
        echo "No Debian-like system: going on with what is installed (README.md lists what is needed)"
        return 0
    fi
    missing=
    for item in "$@"; do
        is_there "$item" || missing="$missing ${item%%=*}"
    done
    [ -n "$missing" ] || return 0
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 ||
            fail "packages are missing, and there is no root or sudo; have root run: apt-get install$missing"
        as_root=sudo
    fi
    echo "Installing:$missing"
    # Lists that cannot be renewed (one source out of reach) may still do: the installation decides.
    $as_root apt-get -q update || echo "apt-get update failed; trying with the lists there are" >&2
    # shellcheck disable=SC2086 # a list of words
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing ||
        fail "apt-get could not install:$missing"
}

# build FOLDER [TARGET...] with $meson_options, which are set anew where the folder is there already
build() {
    folder=$1
    shift
    # shellcheck disable=SC2086 # a list of words
    if [ ! -f "$folder/build.ninja" ]; then
        meson setup "$folder" --buildtype=release ${meson_options:-}
    elif [ -n "${meson_options:-}" ]; then
        meson configure "$folder" $meson_options
    fi
    ninja -C "$folder" "$@"
}

# Debian keeps its OpenBLAS builds side by side, and what is called libblas.so.3 may be the pthread one. The
# library finds the OpenMP build by itself; this is for programs that get at BLAS in other ways. Nothing global
# changes.
use_openmp_blas() {
    blas_folder=/usr/lib/$(${CC:-cc} -print-multiarch 2>/dev/null || true)/openblas-openmp
    if [ -d "$blas_folder" ]; then
        LD_LIBRARY_PATH=$blas_folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        export LD_LIBRARY_PATH
    fi
}
