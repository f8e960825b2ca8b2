#!/bin/sh
# LIBSVM's own programs, unmodified, with hinge in place of their library, against the same programs as they
# are.
# usage: test_dropin.sh FOLDER_WITH_libsvm.so.3 SOURCE_DIR [COUNT_PROGRAM]
# HINGE_DATA: heart_scale from there too. HINGE_LIBSVM_OFFICIAL: folder of PyPI's package libsvm, where Python
# does not find it.
# Ends with 0, 1 if a check failed, 77 without svm-train.

folder=$1 source=$2 count=$3
for program in svm-train svm-predict svm-scale xz awk; do
    command -v $program >/dev/null 2>&1 || { echo "no $program"; exit 77; }
done
folder=$(realpath "$folder") source=$(realpath "$source")
[ -z "$count" ] || count=$(realpath "$count")
[ -f "$folder/libsvm.so.3" ] || { echo "no libsvm.so.3 in '$folder'"; exit 77; }

. "$(dirname "$0")/outside.sh"
unset LD_LIBRARY_PATH LD_PRELOAD
export OMP_WAIT_POLICY=passive

ours() { LD_LIBRARY_PATH=$folder "$@"; }
# check NAME COMMAND...
check() {
    name=$1
    shift
    if "$@" >check.out 2>&1; then ok "$name"; else not_ok "$name" check.out; fi
}

# ---- which library runs --------------------------------------------------------------------------------------

# binds PROGRAM FUNCTION ARGUMENT...: the dynamic linker takes the program's function from our library
binds() {
    program=$1 function=$2
    shift 2
    LD_DEBUG=bindings LD_BIND_NOW=1 LD_LIBRARY_PATH=$folder "$program" "$@" 2>&1 |
        grep "binding file .*$program.* to $folder/libsvm.so.3 .*$function" >/dev/null
}

# ---- comparing outputs ---------------------------------------------------------------------------------------

# same_lines OBJ RHO: ours.log has the lines of real.log in their order, objective and bias within the
# tolerances, counts within 2 % and 3 (linear kernels 15 %: the coefficients are not unique there); progress
# dots and iteration counts aside
same_lines() {
    counts=0.02
    case $what in *"-t 0"*) counts=0.15 ;; esac
    for log in ours real; do
        sed -e 's/^[.*]*//' -e 's/#iter = .*/#iter/' $log.log | grep . >$log.lines
    done
    awk -v obj="$1" -v rho="$2" -v counts=$counts '
    function abs(v) { return v < 0 ? -v : v }
    function near(name, a, b,    room) {
        room = name == "obj" ? obj * abs(b) + 2e-6 : name == "rho" ? rho * (1 + abs(b)) : \
               name ~ /nSV|nBSV/ ? counts * b + 3 : rho * (1 + abs(b))
        if (abs(a - b) <= room) return
        print name " = " a ", but " b " of LIBSVM, in line " FNR
        bad = 1
    }
    NR == FNR { line[FNR] = $0; lines = FNR; next }
    {
        n = split($0, b, /[=,] */)
        if (split(line[FNR], a, /[=,] */) != n) { print "line " FNR ": " line[FNR] " | " $0; bad = 1 }
        for (i = 1; i < n; i += 2) {
            gsub(/ /, "", a[i])
            gsub(/ /, "", b[i])
            if (a[i] != b[i]) { print "line " FNR ": " line[FNR] " | " $0; bad = 1 }
            else if (b[i] != "optimizationfinished") near(b[i], a[i + 1] + 0, b[i + 1] + 0)
        }
    }
    END { if (lines != FNR || lines == 0) { print lines " lines, but " FNR " of LIBSVM"; bad = 1 }; exit bad }
    ' ours.lines real.lines
}

# same_values A B SHARE ROOM: on that share of lines the first numbers differ by at most ROOM
same_values() {
    paste -d ' ' "$1" "$2" | awk -v share="$3" -v room="$4" '
    { d = $1 - $2; if (d <= room && -d <= room) same++ }
    END { if (NR == 0 || same < share * NR) { print same + 0 " of " NR " alike"; exit 1 } }'
}

# compare NAME OBJ RHO SHARE ROOM DATA OPTION...: trains with both, compares what is printed and predicted, and
# has each library predict from the model of the other
compare() {
    what=$1 obj=$2 rho=$3 share=$4 room=$5 data=$6
    shift 6
    svm-train "$@" $data real.model >real.log 2>&1
    ours svm-train "$@" $data ours.model >ours.log 2>&1
    check "$what: lines" same_lines $obj $rho
    svm-predict $data real.model real.out >/dev/null
    ours svm-predict $data ours.model ours.out >/dev/null
    check "$what: predictions" same_values ours.out real.out $share $room
    svm-predict $data ours.model cross.out >/dev/null
    check "$what: LIBSVM reads our model" same_values cross.out ours.out 1 1e-9
    ours svm-predict $data real.model cross.out >/dev/null
    check "$what: we read LIBSVM's model" same_values cross.out real.out 1 1e-9
}

grid() { # SET NU: five tasks, four kernels
    for task in 0 1 2 3 4; do
        for kernel in 0 1 2 3; do
            obj=1e-4 rho=1e-3 share=0.99 room=0
            [ $task -lt 3 ] || { share=1 room=2e-3; }
            [ $task -ne 2 ] || share=0.9 # support vectors lie where the sign changes
            # indefinite: where a solver stops depends on its path
            [ $kernel -ne 3 ] || { obj=0.05 rho=1 share=0.9; }
            [ $kernel -ne 3 ] || [ $task -lt 3 ] || room=0.5
            compare "$1 -s $task -t $kernel" $obj $rho $share $room "$1" -s $task -t $kernel -n $2 -e 1e-5
        done
    done
}

# ---- the programs --------------------------------------------------------------------------------------------

xz -dc "$source/data/breast_cancer.train.xz" | head -200 >raw
svm-scale raw >cancer
xz -dc "$source/data/digits.train.xz" | head -300 >raw
svm-scale -l 0 raw >digits

check "svm-train takes svm_train from our library" binds svm-train svm_train -q cancer bound.model
check "svm-predict takes svm_predict from our library" \
    binds svm-predict svm_predict cancer bound.model bound.out
if [ -x "$count" ]; then check "a program for 3.24 has hinge train, by its counter" ours "$count"; fi

grid cancer 0.3
if [ -f "$HINGE_DATA/heart_scale.train.xz" ]; then
    xz -dc "$HINGE_DATA/heart_scale.train.xz" "$HINGE_DATA/heart_scale.test.xz" >heart
    grid heart 0.5
fi
compare "ten classes" 1e-4 1e-3 0.99 0 digits -e 1e-5 -g 0.05
compare "ten classes, nu" 1e-3 1e-2 0.99 0 digits -e 1e-6 -s 1 -n 0.1 -g 0.05
compare "class weights" 1e-4 1e-3 0.99 0 cancer -e 1e-5 -w1 2 -w-1 0.5
compare "no shrinking, small cache" 1e-4 1e-3 0.99 0 cancer -e 1e-5 -h 0 -m 1

awk 'NR <= 80 { label[NR] = $1
    for (i = 2; i <= NF; i++) { split($i, part, ":"); x[NR, part[1]] = part[2] } }
END { for (i = 1; i <= 80; i++) {
    printf "%s 0:%d", label[i], i
    for (j = 1; j <= 80; j++) {
        sum = 0
        for (c = 1; c <= 30; c++) sum += x[i, c] * x[j, c]
        printf " %d:%.10g", j, sum
    }
    print ""
} }' cancer >kernel
compare "kernel values" 1e-4 1e-3 0.99 0 kernel -t 4 -e 1e-5
sed -n '1~2p' kernel >some
compare "kernel values of some examples" 1e-4 1e-3 0.99 0 some -t 4 -e 1e-5

# ---- probability, cross-validation, refusals -----------------------------------------------------------------

probabilities() { # DATA OPTION...: mean absolute difference below 0.02, equal headers
    data=$1
    shift
    svm-train -q -b 1 "$@" $data real.model && svm-predict -b 1 $data real.model real.out >/dev/null &&
        ours svm-train -q -b 1 "$@" $data ours.model &&
        ours svm-predict -b 1 $data ours.model ours.out >/dev/null &&
        [ "$(head -1 ours.out)" = "$(head -1 real.out)" ] &&
        paste -d ' ' ours.out real.out | awk 'NR > 1 { k = NF / 2
            for (i = 2; i <= k; i++) { d = $i - $(i + k); sum += d < 0 ? -d : d; n++ } }
        END { print sum / n; exit !(n > 0 && sum / n < 0.02) }' &&
        svm-predict -b 1 $data ours.model cross.out &&
        cmp cross.out ours.out
}
check "probabilities, two classes" probabilities cancer
check "probabilities, ten classes" probabilities digits -g 0.05

number_of() { sed -n "s/^$1 = \([-0-9.e+]*\).*/\1/p" "$2"; }
folds() { # WORDS ROOM OPTION...: cross-validation figures alike
    words=$1 room=$2
    shift 2
    svm-train -q "$@" cancer >real.log && ours svm-train -q "$@" cancer >ours.log || return 1
    awk -v a="$(number_of "$words" ours.log)" -v b="$(number_of "$words" real.log)" -v room="$room" 'BEGIN {
        print a, b; exit !(a != "" && b != "" && a - b <= room && b - a <= room) }'
}
check "five folds, classes" folds "Cross Validation Accuracy" 3 -v 5
check "five folds, regression" folds "Cross Validation Mean squared error" 0.05 -v 5 -s 3

laplace() {
    svm-train -q -s 3 -b 1 cancer real.model && ours svm-train -q -s 3 -b 1 cancer ours.model || return 1
    awk '$1 == "probA" { a[++n] = $2 }
        END { print a[1], a[2]; exit !(n == 2 && a[1] / a[2] < 1.2 && a[2] / a[1] < 1.2) }' \
        ours.model real.model
}
check "Laplace width" laplace

refuses() { # WORDS DATA OPTION...: no model, and a line that says why
    words=$1 data=$2
    shift 2
    rm -f refused.model
    if ours svm-train "$@" $data refused.model >refused.log 2>&1; then return 1; fi
    [ ! -f refused.model ] && grep "$words" refused.log
}
printf '1 1:1\n-1 1:nan\n' >nan
check "a value that is no number" refuses "not a finite number" nan
check "nu out of reach" refuses "specified nu is infeasible" cancer -s 1 -n 0.99
check "C = 0" refuses "C <= 0" cancer -c 0

# ---- C++ and Perl --------------------------------------------------------------------------------------------

for library in "$folder/libsvm.so.3" "$folder/libsvm.so.4"; do
    [ -f "$library" ] || continue
    check "${library##*/} brings the runtime of C++" sh -c 'readelf -d "$1" | grep "NEEDED.*libstdc++"' - "$library"
done
cat >train.pl <<'END'
use Algorithm::SVM;
use Algorithm::SVM::DataSet;
my @set = map { Algorithm::SVM::DataSet->new(Label => $_ % 3 ? 1 : 2, Data => [$_ % 3, sin($_)]) } 0 .. 99;
for my $type ("C-SVC", "nu-SVC", "one-class", "epsilon-SVR", "nu-SVR") {
    for my $kernel ("linear", "polynomial", "radial", "sigmoid") {
        my $svm = Algorithm::SVM->new(Type => $type, Kernel => $kernel, Gamma => 0.5, C => 1, Nu => 0.3);
        $svm->train(@set) or die "$type, $kernel\n";
    }
}
END
if perl -MAlgorithm::SVM -e 1 2>/dev/null; then
    check "Perl's Algorithm::SVM" ours perl train.pl
else
    echo "ok - Perl's Algorithm::SVM # skip: not there"
fi

# ---- Python --------------------------------------------------------------------------------------------------

# python NAME COMMAND...: 77 is a module that is not there
python() {
    name=$1
    shift
    "$@" >check.out 2>&1
    code=$?
    case $code in
    0) ok "$name" ;;
    77) echo "ok - $name # skip: $(tail -1 check.out)" ;;
    *) not_ok "$name" check.out ;;
    esac
}
if [ -x /usr/bin/python3 ]; then
    python "python3-libsvm" ours /usr/bin/python3 "$source/test/dropin.py" svmutil cancer
fi
package=$HINGE_LIBSVM_OFFICIAL
if [ -z "$package" ] && command -v python3 >/dev/null 2>&1; then
    package=$(python3 -c 'import importlib.util
spec = importlib.util.find_spec("libsvm")
print(spec.submodule_search_locations[0] if spec else "")')
fi
library=$(ls "$package"/clib*.so 2>/dev/null | head -1)
if [ -n "$library" ] && [ -f "$folder/libsvm.so.4" ]; then
    mkdir site && cp -R "$package" site/libsvm && cp "$folder/libsvm.so.4" "site/libsvm/${library##*/}"
    python "PyPI's libsvm-official" \
        env PYTHONPATH="$work/site" python3 "$source/test/dropin.py" libsvm.svmutil cancer
else
    echo "ok - PyPI's libsvm-official # skip: no package libsvm"
fi

end
