#!/bin/sh
# hinge train and predict beside Debian's svm-train and svm-predict, over a grid of tasks, kernels and parameters:
# what they predict, what they print, the models of each read by the other, and the layout of probabilities.
# usage: test_grid.sh HINGE SOURCE_DIR. Ends with 0, 1 if a check failed, 77 if nothing could be tried.
# Data: heart_scale and abalone from the folder HINGE_DATA if it has them, otherwise those of the source.

hinge=$1 source=$2
[ -x "$hinge" ] || { echo "no hinge command at '$hinge'"; exit 77; }
for program in svm-train svm-predict; do
    command -v $program >/dev/null 2>&1 || { echo "no $program to compare with"; exit 77; }
done
hinge=$(realpath "$hinge") source=$(realpath "$source")
[ -z "$HINGE_DATA" ] || HINGE_DATA=$(realpath "$HINGE_DATA")
. "$(dirname "$0")/outside.sh"
export LC_ALL=C

# verdict NAME: ok unless the file why has a line; its lines are the reasons
verdict() {
    if [ -s why ]; then not_ok "$1" why; else ok "$1"; fi
}

# ---- Data: rows enough for a comparison, few enough to be quick ----

# take NAME ROWS SCALE_OPTIONS DATA: the first rows of DATA.train as NAME and of DATA.test as NAME.test, scaled
take() {
    # shellcheck disable=SC2086
    "$hinge" scale $3 -s ranges "$4.train.xz" 2>err | head -n "$2" >"$1"
    "$hinge" scale -r ranges "$4.test.xz" 2>err | head -n "$2" >"$1.test"
    if [ ! -s "$1" ] || [ ! -s "$1.test" ]; then
        echo "cannot read $4: $(cat err)"
        exit 77
    fi
}

two=$source/data/breast_cancer
[ ! -r "$HINGE_DATA/heart_scale.train.xz" ] || two=$HINGE_DATA/heart_scale
take two 250 "-l -1" "$two"
take many 300 "-l 0" "$source/data/digits"
if [ -r "$HINGE_DATA/abalone.train.xz" ]; then
    take real 300 "-l -1" "$HINGE_DATA/abalone"
else
    cp many real # the digit as a target
    cp many.test real.test
fi
echo "# two: $two; rows: two $(wc -l <two), many $(wc -l <many), real $(wc -l <real)"

# precomputed FILE OTHER: the linear kernel of the rows of FILE with those of OTHER, as LIBSVM's -t 4 wants it
precomputed() {
    awk 'FNR == NR { n++; for (k = 2; k <= NF; k++) { split($k, e, ":"); x[n, e[1]] = e[2] } next }
    {
        printf "%s 0:%d", $1, FNR
        for (j = 1; j <= n; j++) {
            sum = 0
            for (k = 2; k <= NF; k++) { split($k, e, ":"); sum += e[2] * x[j, e[1]] }
            printf " %d:%.12g", j, sum
        }
        printf "\n"
    }' "$2" "$1"
}
precomputed two two >gram
precomputed two.test two >gram.test

# ---- Comparisons ----

# layout FILE: its lines with every number as N
layout() { sed -E 's/[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?|nan|inf/N/g' "$1"; }

# differ FILE FILE: percentage of lines whose first words are not the same number
differ() { paste -d' ' "$1" "$2" | awk '{ bad += $1 + 0 != $2 + 0 } END { print NR ? 100 * bad / NR : 100 }'; }

# distance FILE FILE DATA: largest difference of the values, in deviations of DATA's targets
distance() {
    paste -d' ' "$1" "$2" | awk 'FNR == NR { n++; s += $1; ss += $1 * $1; next }
    { d = $1 - $2; if (d < 0) d = -d; if (!(d <= most)) most = d }
    END { print (most + 0) / sqrt(ss / n - s * s / n / n) }' "$3" -
}

# within VALUE LIMIT
within() { awk -v value="$1" -v limit="$2" 'BEGIN { exit !(value ~ /^[0-9]/ && value + 0 <= limit + 0) }'; }

# numbers FILE FILE: largest relative difference of the numbers in two texts of the same layout
numbers() {
    for file in "$1" "$2"; do grep -oE '[-+]?[0-9]+\.?[0-9]*(e[-+]?[0-9]+)?' "$file" >"$file.numbers"; done
    paste -d' ' "$1.numbers" "$2.numbers" | awk '{
        d = $1 - $2; if (d < 0) d = -d
        size = ($2 < 0 ? -$2 : $2) + 1e-12
        if (!(d / size <= most)) most = d / size
    } END { print most + 0 }'
}

# same_model MODEL TEST KIND: hinge predict and svm-predict agree on one model; leaves MODEL.hinge, MODEL.svm
same_model() {
    "$hinge" predict --precision f64 "$2" "$1" "$1.hinge" >"$1.hinge.text" 2>err ||
        { echo "hinge predict of $1: $(cat err)"; return; }
    svm-predict "$2" "$1" "$1.svm" >"$1.svm.text" 2>err || { echo "svm-predict of $1: $(cat err)"; return; }
    if [ "$3" = values ]; then
        off=$(distance "$1.hinge" "$1.svm" "$2")
        within "$off" 1e-9 || echo "values of $1 in the two programs are $off deviations apart"
        off=$(numbers "$1.hinge.text" "$1.svm.text")
        within "$off" 2e-5 || echo "numbers printed for $1 differ by $off"
    else
        cmp -s "$1.hinge" "$1.svm" || echo "labels of $1 differ between the two programs"
        cmp -s "$1.hinge.text" "$1.svm.text" || echo "lines printed for $1 differ: $(cat "$1.hinge.text")"
    fi
    layout "$1.hinge.text" >a
    layout "$1.svm.text" >b
    cmp -s a b || echo "lines printed for $1 have another layout: $(cat "$1.hinge.text")"
}

# compare KIND DATA OPTIONS: trains with both programs and predicts all four ways; KIND is labels or values
compare() {
    kind=$1 data=$2 off=
    shift 2
    rm -f ours* theirs*
    {
        "$hinge" train -q -e 1e-6 "$@" "$data" ours 2>err || echo "hinge train: $(cat err)"
        svm-train -q -e 1e-6 "$@" "$data" theirs >err 2>&1 || echo "svm-train: $(cat err)"
        if [ -s ours ] && [ -s theirs ]; then
            same_model ours "$data.test" "$kind"
            same_model theirs "$data.test" "$kind"
            "$hinge" predict -q "$data.test" ours default 2>err || echo "hinge predict: $(cat err)"
            sed '/^SV/q' ours | cut -d' ' -f1 >a
            sed '/^SV/q' theirs | cut -d' ' -f1 >b
            cmp -s a b || echo "other keys in the model"
            if [ "$kind" = values ]; then
                off=$(distance default theirs.svm "$data.test")
                within "$off" 1e-3 || echo "predictions are $off deviations apart"
            else
                off=$(differ default theirs.svm)
                within "$off" 1 || echo "$off % of the labels differ"
            fi
        fi
    } >why
    verdict "$data $*: ${off:-?} $([ "$kind" = values ] && echo deviations || echo '% of labels') apart"
}

# No nu for which nu n or nu n / 2 is a whole number: the bias is then an interval, and any of it is right. Nor one
# too small for classes that overlap: nu-SVC has then no direction that separates.
echo "# grid"
for kernel in "-t 0" "-t 1" "-t 1 -d 2 -g 0.1 -r 1" "-t 2" "-t 2 -g 0.5" "-t 3 -g 0.01" "-t 3 -g 0.02 -r -0.5"; do
    # shellcheck disable=SC2086
    {
        for task in "-s 0" "-s 0 -c 20" "-s 0 -c 0.5 -w1 3 -w-1 0.7" \
            "-s 1 -n 0.41" "-s 1 -n 0.55" "-s 2 -n 0.11" "-s 2 -n 0.51"; do
            compare labels two $task $kernel
        done
        for task in "-s 3" "-s 3 -p 0.5 -c 10" "-s 3 -p 0" "-s 4 -n 0.31" "-s 4 -n 0.69 -c 10"; do
            compare values real $task $kernel
        done
        for task in "-s 0" "-s 0 -c 5 -w3 4 -w7 0.2" "-s 1 -n 0.1"; do
            compare labels many $task $kernel
        done
    }
done
for task in "-s 0" "-s 1 -n 0.55" "-s 2 -n 0.21"; do
    # shellcheck disable=SC2086
    compare labels gram $task -t 4
done
compare values gram -s 3 -t 4
compare values gram -s 4 -t 4

# ---- Probabilities ----

# both_probabilities MODEL TEST: -b 1 of the two programs for one model, in p.MODEL.hinge and p.MODEL.svm
both_probabilities() {
    "$hinge" predict -b 1 --precision f64 "$2" "$1" "p.$1.hinge" >"p.$1.hinge.text" 2>err ||
        echo "hinge predict -b 1 of $1: $(cat err)"
    svm-predict -b 1 "$2" "$1" "p.$1.svm" >"p.$1.svm.text" 2>err || echo "svm-predict -b 1 of $1: $(cat err)"
    [ -s "p.$1.hinge" ] && [ -s "p.$1.svm" ] || return 1
    layout "p.$1.hinge.text" >a
    layout "p.$1.svm.text" >b
    cmp -s a b || echo "lines printed for $1 have another layout: $(cat "p.$1.hinge.text")"
    grep -q '^labels' "p.$1.svm" || return 0
    off=$(numbers "p.$1.hinge" "p.$1.svm")
    within "$off" 1e-4 || echo "the programs' probabilities of $1 differ by $off"
}

# mean_distance FILE FILE: of probabilities
mean_distance() {
    paste -d' ' "$1" "$2" | awk 'NR > 1 {
        if (NF % 2 || NF < 6) bad = 1
        for (k = 2; k <= NF / 2; k++) { d = $k - $(k + NF / 2); sum += d < 0 ? -d : d; n++ }
    } END { print bad || !n ? "other columns" : sum / n }'
}

# sigma_distance TEXT TEXT: relatively
sigma_distance() {
    sed -n 's/.*sigma=//p' "$1" "$2" | awk '{ s[NR] = $1 } END {
        d = s[1] / s[2] - 1
        print NR != 2 ? "no sigma" : d < 0 ? -d : d
    }'
}

# probabilities DATA OPTIONS: -b 1 of both programs, their layout and mean distance; models read by the other too
probabilities() {
    data=$1 off=
    shift
    rm -f ours* theirs* p.*
    {
        "$hinge" train -q -b 1 "$@" "$data" ours 2>err || echo "hinge train: $(cat err)"
        svm-train -q -b 1 "$@" "$data" theirs >err 2>&1 || echo "svm-train: $(cat err)"
        if both_probabilities ours "$data.test" && both_probabilities theirs "$data.test"; then
            if grep -q '^labels' p.theirs.svm; then
                head -n 1 p.ours.hinge >a
                head -n 1 p.theirs.svm >b
                cmp -s a b || echo "header '$(cat a)' instead of '$(cat b)'"
                off=$(mean_distance p.ours.hinge p.theirs.svm)
                within "$off" 0.05 || echo "probabilities are apart by $off in the mean"
            else
                off=$(sigma_distance p.ours.hinge.text p.theirs.svm.text)
                within "$off" 0.2 || echo "sigma is apart by $off"
            fi
        fi
    } >why
    verdict "$data -b 1 $*: ${off:-?} apart"
}

echo "# probabilities"
probabilities two -s 0
probabilities two -s 0 -t 0 -c 0.1
probabilities two -s 1 -n 0.41
probabilities many -s 0
probabilities many -s 1 -n 0.1 -t 0
probabilities real -s 3
probabilities real -s 4 -t 0
probabilities gram -s 0 -t 4

# ---- Cross-validation: other folds, the same lines and nearly the same numbers ----

# folds LIMIT DATA OPTIONS: numbers may be LIMIT apart, relatively
folds() {
    limit=$1 data=$2 off=
    shift 2
    {
        "$hinge" train -q -v 5 "$@" "$data" >ours.text 2>err || echo "hinge train: $(cat err)"
        svm-train -q -v 5 "$@" "$data" >theirs.text 2>err || echo "svm-train: $(cat err)"
        layout ours.text >a
        layout theirs.text >b
        cmp -s a b || echo "lines printed have another layout: $(cat ours.text)"
        off=$(numbers ours.text theirs.text)
        within "$off" "$limit" || echo "$(cat ours.text) instead of $(cat theirs.text)"
    } >why
    verdict "$data -v 5 $*: ${off:-?} apart"
}

echo "# cross-validation"
folds 0.05 two -s 0
folds 0.05 two -s 0 -b 1
folds 0.05 two -s 1 -n 0.41
folds 0.1 two -s 2 -n 0.31
folds 0.05 many -s 0
folds 0.15 real -s 3
folds 0.15 real -s 4

end
