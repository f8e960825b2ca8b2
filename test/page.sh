# Shared by test_octave.sh and test_r.sh: the build's library for pkg-config, compiler and linker, a folder $work that
# is removed in the end, and the examples of doc/octave-r.md.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH="$build/meson-uninstalled" CPATH="$source/include" LD_LIBRARY_PATH="$build"
export OMP_WAIT_POLICY=passive LC_ALL=C.UTF-8
unset DISPLAY

# page LANGUAGE COMMAND: the page's blocks of the language as one program, which must print what stands behind "#> "
page() {
    awk -v begin="^\`\`\`$1\$" '/^```$/ { on = 0 } on; $0 ~ begin { on = 1 }' "$source/doc/octave-r.md" >"$work/page.m"
    sed -n 's/^#> \{0,1\}//p' "$work/page.m" >"$work/expected"
    [ -s "$work/expected" ] || { echo "doc/octave-r.md has no examples of $1"; exit 1; }
    $2 "$work/page.m" >"$work/printed"
    diff "$work/expected" "$work/printed" || { echo "doc/octave-r.md: $1 prints something else (>)"; exit 1; }
}
