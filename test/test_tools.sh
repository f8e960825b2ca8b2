#!/bin/sh
# The hinge command, from outside: options and refusals, files, reports, interruption.
# usage: test_tools.sh HINGE SOURCE_DIR. Ends with 0, 1 if a check failed, 77 if nothing could be tried.

hinge=$1
[ -x "$hinge" ] || { echo "no hinge command at '$hinge'"; exit 77; }
hinge=$(realpath "$hinge") source=$(realpath "$2") digits=$(realpath "$2")/data/digits.train.xz
. "$(dirname "$0")/outside.sh"
unset OMP_NUM_THREADS

# check NAME COMMAND...: the command succeeds. What hinge prints is in out and err until it runs again
check() {
    name=$1
    shift
    "$@" >new.out 2>new.err
    code=$?
    if [ "$1" = "$hinge" ]; then
        mv new.out out
        mv new.err err
    fi
    if [ $code = 0 ]; then ok "$name"; else not_ok "$name: $*" err; fi
}

# refuses CODE WORDS ARGUMENT...: hinge ends with CODE, and one line on stderr that has the words
refuses() {
    code=$1 words=$2
    shift 2
    "$hinge" "$@" >out 2>err </dev/null
    got=$?
    if [ "$got" = "$code" ] && grep -q "^hinge: .*$words" err && [ "$(wc -l <err)" -eq 1 ]; then
        ok "refuses $*"
    else
        not_ok "refuses $*: code $got instead of $code, or no '$words' on stderr" err
    fi
}

# has FILE WORDS
has() { grep -q -e "$2" "$1"; }

# keys FILE KEY...: the file is one JSON object with the keys
keys() {
    file=$1
    shift
    if command -v python3 >/dev/null 2>&1; then
        python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
missing = [key for key in sys.argv[2:] if key not in report]
sys.exit("missing: " + " ".join(missing) if missing else 0)' "$file" "$@"
    else
        for key in "$@"; do grep -q "\"$key\":" "$file" || { echo "missing: $key" >&2; return 1; }; done
    fi
}

# make ROWS COLS KIND: data that are the same everywhere. two: classes +1, -1 by a noisy plane; three: classes
# 1 2 3; noise: labels by chance; real: targets
make() {
    awk -v rows="$1" -v cols="$2" -v kind="$3" 'function next_real() {
        state = (state * 16807) % 2147483647
        return state / 2147483647
    }
    BEGIN {
        state = 12345
        for (i = 0; i < rows; i++) {
            sum = 0
            text = ""
            for (k = 1; k <= cols; k++) {
                value = 2 * next_real() - 1
                if (k <= 3) sum += value
                text = text sprintf(" %d:%.6f", k, value)
            }
            sum += 0.4 * (next_real() - 0.5)
            if (kind == "two") label = sum > 0 ? "+1" : "-1"
            else if (kind == "three") label = sum > 0.5 ? 3 : sum > -0.5 ? 2 : 1
            else if (kind == "noise") label = next_real() > 0.5 ? 1 : -1
            else label = sprintf("%.6f", 3 * sum + 10)
            print label text
        }
    }'
}

make 240 5 two >two
make 60 5 two >two.test
make 240 5 three >three
make 240 4 real >real

echo "# command line"
check "prints its version" "$hinge" --version
check "which is hinge's" has out '^hinge [0-9]'
check "prints help" "$hinge" --help
for command in train predict calibrate scale info; do
    check "prints help of $command" "$hinge" $command --help
    check "which is complete" has out '^usage: hinge '$command
    check "prints help of $command the other way" "$hinge" help $command
done
refuses 2 "hinge help" nonsense
refuses 2 "--nonsense" train --nonsense two
refuses 2 "-Z" train -Z two
refuses 2 "training file" train
refuses 2 "too many" train two m1 m2
refuses 2 "-c: needs a value" train two -c
refuses 2 "--json: takes no value" train --json=1 two
refuses 2 "--gamma: 'abc' is not a number" train --gamma abc two
refuses 2 "-g: '-1'" train -g -1 two
refuses 2 "-c: '0'" train -c 0 two
refuses 2 "-c: 'nan'" train -c nan two
refuses 1 "C: inf" train -s 4 -c inf two
refuses 2 "-c: '1x'" train -c 1x two
refuses 2 "-n: '1.5'" train -n 1.5 two
refuses 2 "-p: '-1'" train -p -1 two
refuses 2 "-e: '0'" train -e 0 two
refuses 2 "-d: '2.5'" train -d 2.5 two
refuses 2 "-s: '6'" train -s 6 two
refuses 2 "--kernel: 'cubic'" train --kernel cubic two
refuses 2 "-m: '0'" train -m 0 two
refuses 2 "--cache: '4Q'" train --cache 4Q two
refuses 2 "-h: '2'" train -h 2 two
refuses 2 "-b: '2'" train -b 2 two
refuses 2 "-v: '1'" train -v 1 two
refuses 2 "--test" train -v 5 --test two.test two
refuses 2 "--certify" train -v 5 --certify two
refuses 2 "--multiclass: 'all'" train --multiclass all two
refuses 2 "--seed: '-1'" train --seed -1 two
refuses 2 "--scale-lower 1" train --scale --scale-lower 1 two
refuses 2 "--scale-restore" train --scale-upper 2 --scale-restore ranges two
refuses 2 "precomputed" train -t 4 --scale two
refuses 2 "--threads: '0'" train --threads 0 two
refuses 2 "--precision: 'f16'" train --precision f16 two
refuses 2 "LABEL=WEIGHT" train --weight 5 two
refuses 2 "-w: '-2'" train -w1 -2 two
refuses 2 "test file and a model" predict two
refuses 2 "-b: '2'" predict -b 2 two m out
refuses 2 "model file and a data" calibrate two
refuses 2 "too many" calibrate two two two
refuses 2 "standard output" calibrate --json -o - two two
refuses 2 "standard output" predict --json two m -
refuses 2 "-l 2" scale -l 2 -u 1 two
refuses 2 "second value" scale -y 1
refuses 2 "-t linear" train --solver sgd two
refuses 2 "-t linear" train --solver perceptron -t 0 -s 3 two
refuses 2 "--certify" train --solver sgd -t 0 --certify two
refuses 2 "--weight" train --solver sgd -t 0 -w1 2 two
refuses 2 "-c inf" train --solver sgd -t 0 -c inf two
refuses 2 "--loss is for" train --solver perceptron -t 0 --loss logistic two
refuses 2 "--ball is for" train -t 0 --ball 2 two
for option in "--tolerance 0.01" "--cache 10" "--shrinking 0" "--newton 0" "--rank 5" "--precision f32" \
    "--working-set 9" "--cpu-level 1" "--multiclass ovr" "--max-iter 9"; do
    for solver in perceptron sgd; do
        # shellcheck disable=SC2086 # an option and its value
        refuses 2 "know no ${option% *}" train --solver $solver -t 0 $option two
    done
done
check "options at their defaults are let pass" "$hinge" train -q --solver sgd -t 0 -h 1 --precision auto two sgd.model
refuses 2 "--epochs" train -t 0 --epochs 5 two
refuses 2 "--batch" train -t 0 --batch 5 two
refuses 2 "-s and -r" scale -s a -r b two

echo "# data errors"
printf '1 1:1\n-1 1:abc\n' >bad
refuses 1 "absent" train absent
refuses 1 "bad" train bad
refuses 1 "no-folder/model: cannot write: there is no folder no-folder/" train two no-folder/model
cp two twice
refuses 2 "twice: cannot write: the command uses this file twice" train twice twice
refuses 2 "twice: cannot" train twice ./twice
refuses 2 "twice: cannot" predict twice two.model twice
refuses 2 "twice: cannot" predict two twice twice
refuses 2 "absent: cannot" predict --decisions absent two two.model absent
check "and they are as they were" cmp two twice
refuses 1 "absent" train --json absent
check "an error is JSON with --json" keys out error exit_status
check "with the message" has out '"error": "absent: '
refuses 2 "--nonsense" predict --nonsense --json
check "and so is a wrong option" has out '"exit_status": 2'
refuses 1 "absent" info --json two absent
check "and an error behind what was right" test "$(grep -c '' out)" = 4
refuses 1 "absent" predict two absent out
refuses 1 "two" predict two two out
refuses 1 "absent" scale absent
refuses 1 "absent" train --scale-restore absent two
refuses 1 "two:1: x expected" train --scale-restore two two
refuses 1 "absent" calibrate absent two
refuses 1 "real: these are data, where a model is expected" calibrate real two
refuses 1 "absent" scale -r absent two
refuses 1 "two" scale -r two two
printf '1 1:-1e308\n2 1:1e308\n1 1:0\n' >wide
refuses 1 "1e+308" scale wide
refuses 1 "feature 1" train --scale wide
refuses 1 "threads: 5000" train --threads 5000 two
refuses 1 "absent" info absent
printf '1 0:1 1:1 2:0\n-1 0:3 1:0 2:1\n' >kernel.bad
refuses 1 "kernel.bad:2: 0:3" train -t 4 kernel.bad
seq 239 >w.short 2>/dev/null || awk 'BEGIN { for (i = 1; i < 240; i++) print i }' >w.short
refuses 1 "w.short" train --weights w.short two
awk '{ print NR == 7 ? -1 : 1 }' two >w.negative
refuses 1 "w.negative:7" train --weights w.negative two
check "leaves no model after a failure" test ! -e bad.model -a ! -e out.model

echo "# train and predict"
check "trains" "$hinge" train -c 10 two
check "reports" has out '^outcome *converged'
check "into the default name" test -s two.model
mkdir -p deep
cp two deep/other
check "trains on a file elsewhere" "$hinge" train -q deep/other
check "into this folder" test -s other.model
check "is silent with -q" test ! -s out
"$hinge" train -c 10 -q --no-restart two again >out 2>err
check "is reproducible" cmp two.model again
"$hinge" train -c 10 -q --threads 1 two again >out 2>err
check "with one thread too" cmp two.model again
check "trains by the long names" "$hinge" train -q --type c_svc --kernel rbf --gamma auto --cost 10 \
    --tolerance 1e-3 --shrinking 1 two again
check "to the same model" cmp two.model again
check "predicts" "$hinge" predict two.test two.model labels
check "and prints the accuracy" has out '^Accuracy = [0-9.]*% ([0-9]*/60) (classification)$'
cp out accuracy
check "a label a line" test "$(grep -c '^-\{0,1\}1$' labels)" = 60
"$hinge" predict -q two.test two.model - >out 2>err
check "the same to standard output" cmp labels out
check "writes decision values" "$hinge" predict -q --decisions decisions two.test two.model
paste labels decisions >both
check "whose sign is the label" awk '($1 > 0) != ($2 > 0) { bad = 1 } END { exit bad || NR != 60 }' both
"$hinge" predict --json two.test two.model labels >report 2>err
check "predict --json" keys report seconds seconds_load seconds_model n n_sv threads accuracy
check "writes to a device" "$hinge" predict -q two.test two.model /dev/null
check "and leaves it one" test -c /dev/null
echo old >kept
chmod 640 kept
check "replaces a file" "$hinge" predict -q two.test two.model kept
check "by a new one" cmp labels kept
check "leaves no temporary files" test "$(echo kept*)" = kept
if [ -c /dev/full ]; then
    refuses 1 "/dev/full" predict -q two.test two.model /dev/full
fi

"$hinge" train --json --certify --test two.test -c 10 two m >report 2>err
check "train --json" keys report outcome seconds seconds_load seconds_save iterations rounds objective \
    task kernel gamma C eps violation error n distinct d n_classes n_sv n_bsv rho rows_computed rows_asked rows_evicted cache_bytes \
    peak_bytes memory_bytes threads precision path blas primal dual gap kkt slackness \
    seconds_certificate accuracy seconds_predict n_test
"$hinge" train --certify --test two.test -c 10 two m >out 2>err
check "--test agrees with predict" has out "$(sed 's/[(%]/./g; s/).*//' accuracy)"
"$hinge" train --json --test real -s 3 real m >report 2>err
check "regression --json" keys report objective mse squared_correlation
check "predicts values" "$hinge" predict real m values
check "with an error" has out '^Mean squared error = .* (regression)$'
check "and a correlation" has out '^Squared correlation coefficient = .* (regression)$'
"$hinge" train --json --certify --test real -s quantile --tau 0.9 -c 10 real m >report 2>err
check "quantile --json" keys report task tau C objective pinball coverage primal gap
check "its model" "$hinge" info m
check "tells the task and the level" has out '^task *quantile, tau 0.9$'
check "info --json" "$hinge" info --json m
check "likewise" has out '"tau": 0.9'
check "predicts quantiles" "$hinge" predict real m values
check "with the loss" has out '^Mean pinball loss = .* (quantile 0.9)$'
check "and the share of targets below" has out '^Coverage = .* (quantile 0.9)$'
above=$(paste -d ' ' real values | awk '{ above += $1 > $NF } END { print NR - above "/" NR }')
check "as counted" has out "($above)"
check "reports on it" "$hinge" report -c 10 m real
check "whose coefficients fit" sh -c '! grep "do not fit" out'
check "with another C" "$hinge" report -c 5 m real
check "they do not" has out 'do not fit: coefficients are outside their bounds'
refuses 1 "does not hold C" report --leave-one-out m real
check "cross-validates quantiles" "$hinge" train -q -v 3 -s 5 --tau 0.2 real
check "by the loss" has out '^Cross Validation Mean pinball loss = '
refuses 2 "--tau: '1' must be above 0 and below 1" train -s 5 --tau 1 real
refuses 2 "tau" train -s 5 --tau 0 real
refuses 1 "probability: a quantile" train -s 5 -b 1 real
for task in 0 1 2 3 4 5; do
    for kernel in 0 1 2 3; do
        check "task $task, kernel $kernel" "$hinge" train -q -s $task -t $kernel -n 0.3 -g 0.2 two m
        check "its model" "$hinge" predict -q two.test m labels
    done
done
check "three classes" "$hinge" train -q -c 10 three m
check "with decisions of three pairs" "$hinge" predict -q --decisions decisions three m
check "in three columns" awk 'NF != 3 { bad = 1 } END { exit bad || NR != 240 }' decisions

printf '5 1:1\n5 1:2\n5 1:3\n' >flat
check "trains on targets that are all equal" "$hinge" train -q -s 3 flat m
check "which have no correlation" "$hinge" predict flat m
check "without a sign" has out '^Squared correlation coefficient = nan (regression)$'
sed '1,/^mkdir/d' "$source/demo" >demo
check "the demo runs" sh -c 'cd "$0" && hinge=$1 out=$2 && . "$2/demo"' "$source" "$hinge" "$work"
grep -v "kernels without AVX-512" new.err >err || :
check "without a warning" test ! -s err

echo "# perceptron and sgd"
number() { sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p" out; } # of the JSON printed last
check "trains exactly" "$hinge" train -t 0 -c 1 -e 1e-6 --certify --json two exact.model
exact=$(number primal)
check "trains by sgd" "$hinge" train -t 0 -c 1 --solver sgd --json two sgd.model
check "to within 1 % of the optimum" awk -v a="$(number objective)" -v b="$exact" \
    'BEGIN { exit !(b > 0 && a >= b * (1 - 1e-9) && a <= 1.01 * b) }'
check "is the same with another number of threads" "$hinge" train -q -t 0 --solver sgd --threads 1 two again.model
check "bit for bit" cmp sgd.model again.model
check "takes another loss" "$hinge" train -t 0 --solver sgd --loss logistic --epochs 20 two loss.model
check "and tells of it" grep -q "C sum of logistic losses" out
check "and a ball" "$hinge" train -t 0 --solver sgd --ball 0.01 --epochs 20 two ball.model
check "in which w lies" awk '/^SV/ { getline; s = 0; for (i = 2; i <= NF; i++) { split($i, v, ":"); s += v[2]^2 }
    exit !(s > 0 && s <= 0.0100001) }' ball.model
check "without a threshold" "$hinge" train -q -t 0 --solver sgd --no-bias --epochs 20 --batch 8 two origin.model
check "which is 0" has origin.model '^rho -*0$'
check "warns where the perceptron cannot separate" "$hinge" train -t 0 --solver perceptron --epochs 3 two some.model
check "in words" has err 'not separated in 3 rounds'
awk '{ split($2, a, ":"); split($3, b, ":"); split($4, c, ":"); s = a[2] + b[2] + c[2] } s > 0.3 || s < -0.3' two >apart
for batch in "" "--batch 1"; do
    # shellcheck disable=SC2086 # nothing, or words
    check "separates by the perceptron $batch" "$hinge" train -t 0 --solver perceptron $batch apart apart.model
    check "without an error" has out '^errors *0 of'
    check "predicts by it" "$hinge" predict apart apart.model apart.out
    check "all of them" has out '^Accuracy = 100%'
done
refuses 1 "more than two classes" train -t 0 --solver sgd three

echo "# weights"
check "weighs a class" "$hinge" train -q -c 0.01 -w1 50 -w-1 0.02 two m
"$hinge" predict -q two.test m labels >out 2>err
check "so that it wins everywhere" awk '$1 != 1 { bad = 1 } END { exit bad }' labels
"$hinge" train -q -c 0.01 --weight 1=50 --weight -1=0.02 two again >out 2>err
check "by either name" cmp m again
"$hinge" train -q -c 0.01 -w1 5 -w-1 0.02 -w1 10 two again >out 2>err
check "the product if named twice" cmp m again
awk '{ print ($1 > 0 ? 50 : 0.02) }' two >w
"$hinge" train -q -c 0.01 --weights w two again >out 2>err
check "weighs examples" cmp m again
"$hinge" train -q -w9 2 two m >out 2>err
check "warns of an absent class" has err 'warning.* 9$'

echo "# formats"
if command -v xz >/dev/null 2>&1; then
    xz -k two
    if "$hinge" train -q -c 10 two.xz again >out 2>err; then
        check "reads xz" cmp two.model again
    else
        check "says that it cannot read xz" has err xz
    fi
fi
sed 's/ [0-9]*:/,/g; s/^+//' two >two.csv
"$hinge" train -q -c 10 two.csv again >out 2>err
check "reads CSV" cmp two.model again

# tables: columns, headers, labels
cut -d, -f1-5 two.csv >narrow.csv
sed 's/$/,1/' two.csv >wide.csv
sed 's/$/,0/' two.csv >zeros.csv
cut -d, -f2- two.csv >bare.csv
{ echo y,a,b,c,d,e; cat two.csv; } >headed.csv
awk -F, '{ print $2 "," $3 "," $4 "," $5 "," $6 "," $1 }' two.csv >last.csv
refuses 1 "narrow.csv: 4 features an example, and the model has 5; column 1" predict narrow.csv two.model labels
refuses 1 "narrow.csv: 4 features" train --test narrow.csv two.csv never.model
refuses 1 "narrow.csv: 4 features" report two.model narrow.csv
refuses 1 "narrow.csv: 4 features" calibrate -o never.model two.model narrow.csv
refuses 1 "wide.csv: 6 features an example, and the model has 5$" predict wide.csv two.model labels
refuses 1 "bare.csv: 4 features.* column 1 was taken for the label: say --no-labels" predict bare.csv two.model labels
refuses 1 "two.csv: 6 features.*leave out --no-labels" predict --no-labels two.csv two.model labels
check "trains nothing where the test file does not fit" test ! -e never.model
check "takes fewer columns where it is said" "$hinge" predict -q --features 5 narrow.csv two.model labels
check "and more that are 0" "$hinge" predict -q zeros.csv two.model again
"$hinge" predict -q two.csv two.model labels >out 2>err
check "which do not count" cmp labels again
check "predicts CSV without labels" "$hinge" predict -q --no-labels bare.csv two.model again
check "likewise" cmp labels again
refuses 2 "nothing to do: no output_file is named, and bare.csv has no labels" predict --no-labels bare.csv two.model
check "a header is passed over" "$hinge" predict -q headed.csv two.model again
check "so that it does not count" cmp labels again
check "or where it is said" "$hinge" predict -q --header headed.csv two.model again
check "it does not count either" cmp labels again
refuses 1 "headed.csv:1: column 2: 'a' is not a number" predict -q --no-header headed.csv two.model again
{ echo 9,1,2,3,4,5; cat two.csv; } >numbers.csv
check "a header of numbers is passed over where it is said" "$hinge" predict -q --header numbers.csv two.model again
check "and does not count" cmp labels again
{ echo 1,NA,2,3,4,5; cat two.csv; } >mixed.csv
refuses 1 "mixed.csv:1: missing value: column 2 is 'NA'" train mixed.csv
{ echo 1,b,2,3,4,5; cat two.csv; } >mixed.csv
refuses 1 "mixed.csv:1: column 2: 'b' beside numbers.*--no-header" train mixed.csv
refuses 2 "--header and --no-header" train --header --no-header two.csv
check "the label last" "$hinge" predict -q --label-column -1 last.csv two.model again
check "to the same" cmp labels again
check "or by its number from 1" "$hinge" predict -q --label-column 6 last.csv two.model again
check "likewise" cmp labels again
refuses 2 "--label-column: '0' is none: columns count from 1" train --label-column 0 two.csv
refuses 1 "two.csv: --label-column 7: there are 6 columns" train --label-column 7 two.csv
refuses 1 "two.csv: --labels is for .npy data only, and this is CSV" train --labels y.npy two.csv
cp two.csv two.txt
refuses 1 "two.txt:1: .* looks like CSV: read it as such (--format csv" train two.txt
check "reads it so" "$hinge" predict -q --format csv two.txt two.model again
check "to the same" cmp labels again
check "info tells of the header" "$hinge" info headed.csv
check "in words" has out '^header *line 1$'
check "and of the label" has out '^label *column 1, y$'
check "and of names" has out '^names *a, b, c, d, e$'
"$hinge" info --json --label-column -1 last.csv >report 2>err
check "in JSON too" has report '"label_column": 6'

# wide text: the same examples far apart and close together, and more features where they are predicted
awk 'BEGIN { for (i = 0; i < 3000; i++) { line = i % 2 ? 1 : -1
    for (k = 1; k <= 20; k++) { state = (state * 16807 + 11) % 2147483647
        if (state % 3 == 0) line = line " " k ":" (state % 1000) / 500 - (i % 2 && k % 2) }
    print line } }' >close
head -n 200 close | awk '{ print $0 " 21:" NR % 3 " 22:0.5" }' >close.test
spread() { awk '{ for (k = 2; k <= NF; k++) { split($k, e, ":"); $k = e[1] * 95000 - e[1] % 3 ":" e[2] } print }' "$1"; }
spread close >far
spread close.test >far.test
for kernel in "-t 2 -g 0.5" "-t 1 -g 0.1 -d 2" "-t 0 -c 0.1"; do
    # shellcheck disable=SC2086 # words
    "$hinge" train -q $kernel -e 1e-7 close close.model >out 2>err
    # shellcheck disable=SC2086 # words
    check "trains on wide text $kernel" "$hinge" train --certify --test far.test $kernel -e 1e-7 far far.model
    check "as well as on narrow" has out '^ *kkt [0-9.]*e-0[89]\|^ *kkt [0-9.]*e-1'
    "$hinge" predict --decisions decisions close.test close.model labels >accuracy 2>err
    check "--test agrees" has out "$(sed 's/[(%]/./g; s/).*//' accuracy)"
    check "predicts wide text" "$hinge" predict -q --decisions again far.test far.model labels.again
    check "to the same" cmp labels labels.again
    paste decisions again >both
    check "nearly" awk '{ d = $1 - $2; bad += d > 1e-5 || d < -1e-5 } END { exit bad || NR != 200 }' both
done
check "names their features as the file does" has far.model ' 1899998:'
check "tells of them" "$hinge" info far.model
check "and where they are" has out '^features *20, from 94999 to 1899998'
check "tells of wide text" "$hinge" info far
check "how much of it is not empty" has out '^features *1899998, 20 of them'
"$hinge" train -q far far.model >out 2>err
check "gamma counts all features" has far.model '^gamma 5.263163[0-9]*e-07$'
check "cross-validates wide text" "$hinge" train -q -v 3 -g 0.5 far
check "scales it" "$hinge" scale -s ranges.far --output far.scaled far
"$hinge" scale -s ranges.close --output close.scaled close
spread close.scaled >close.spread
sed 's/ $//' far.scaled >out
check "as narrow text" cmp out close.spread
check "to ranges by feature" test "$(awk 'NR > 2 { $1 = $1 * 95000 - $1 % 3 } 1' ranges.close)" = "$(cat ranges.far)"
"$hinge" train -v 3 --scale -g 0.5 close | grep Cross >accuracy
check "cross-validates it scaled" sh -c "'$hinge' train -v 3 --scale -g 0.5 far | grep Cross | cmp - accuracy"
if command -v gnuplot >/dev/null 2>&1; then
    check "a path over C of it" "$hinge" plot --path -g 0.5 --folds 3 --costs 0,1,1 --keep path.far -o far.svg far
    "$hinge" plot --path -g 0.5 --folds 3 --costs 0,1,1 --keep path.close -o far.svg close >out
    for name in far close; do
        sed -n '/^\$path/,/^END/p' path.$name/plot.gp >path.$name.data
    done
    check "likewise" cmp path.far.data path.close.data
fi
check "trains on it by sgd" "$hinge" train -q -t 0 --solver sgd --epochs 3 far far.model
check "and predicts by that" "$hinge" predict -q far far.model labels
refuses 1 "too wide to be drawn" plot -o far.svg far.model far
refuses 1 "only LIBSVM text" predict two.csv far.model labels
if command -v svm-predict >/dev/null 2>&1; then
    "$hinge" train -q -g 0.5 far far.model >out 2>err
    "$hinge" predict -q far.test far.model labels >out 2>err
    check "svm-predict takes the model" svm-predict far.test far.model expected
    check "and says the same" cmp expected labels
fi

# labels that look like something else
awk '{ sub(/^[^ ]*/, NR % 40 + 0.5); print }' two >values
check "trains on values" "$hinge" train -q -g 0.1 values m
check "but warns" has err 'warning: values: 40 different labels in 240 examples .* -s 3'
"$hinge" train -q -s 3 values m >out 2>err
check "not where they are values" test ! -s err
printf ',y,a\n0,1,0.3\n1,2,0.7\n2,1,0.1\n' >index.csv
"$hinge" train -q -s 3 index.csv m >out 2>err
check "warns of an index taken for the label" has err 'warning: index.csv: column 1.* numbers the rows'
"$hinge" train -q --label-column 2 index.csv m >out 2>err
check "and of one taken for a feature" has err 'warning: index.csv: column 1, .*--ignore 1 leaves it out'
cut -d, -f1 two.csv >alone.csv
refuses 1 "alone.csv: there are labels and no features to train on" train -q alone.csv m
"$hinge" check alone.csv >out 2>err
check "checking warns" has err 'warning: alone.csv: a line has its label and no feature'
check "tells no values where there are none" sh -c "! $hinge info alone.csv 2>/dev/null | grep inf"
sed 's/^[^ ]*/7/' two >one
check "trains on one class" "$hinge" train -q one m
check "but warns" has err 'warning: one: all examples have the label 7'
check "predicts strange labels" "$hinge" predict one two.model
check "but warns" has err 'warning: one: none of its labels'
"$hinge" train -q --test one two m >out 2>err
check "in training too" has err 'warning: one: none of its labels'
refuses 1 "one: the label of example 1 is 7" calibrate -o m two.model one
"$hinge" train -q -s 2 bare.csv m >out 2>err
check "warns of a feature taken for the label" has err 'warning: bare.csv: column 1 was taken for the label'
"$hinge" train -q -s 2 two.csv m >out 2>err
check "not of a label" test ! -s err
printf '1 0:1 1:4 2:1\n-1 0:2 1:1 2:3\n' >kernel
check "takes a precomputed kernel" "$hinge" train -q -t 4 kernel m
check "predicts by it" "$hinge" predict -q kernel m labels
printf '1\n-1\n' >expected
check "as it should" cmp expected labels
printf '1 1:0.5 2:0.5 3:0.5 9:7\n-1 1:-0.5 2:-0.5\n' >wide
check "predicts data with more features" "$hinge" predict -q wide two.model labels
check "which do not count" cmp expected labels

echo "# limits"
"$hinge" train --max-iter 3 two m >out 2>err
check "stops at an iteration limit" has out '^outcome *iteration'
check "warns of it" has err 'warning: not converged'
check "saves a model nevertheless" "$hinge" predict -q two.test m labels

echo "# scale"
printf '1 1:1 2:5 3:7\n2 1:2 2:5 4:-4\n3 1:3 2:5 3:1\n' >raw
printf '1 1:-1 3:1 4:1 \n2 3:-1 4:-1 \n3 1:1 3:-0.714286 4:1 \n' >expected
"$hinge" scale -s ranges raw >out 2>err
check "scales" cmp expected out
printf 'x\n-1 1\n1 1 3\n3 0 7\n4 -4 0\n' >expected
check "saves ranges" cmp expected ranges
printf '5 1:5 4:-2 9:1\n' >more
printf '5 1:3 3:-1 \n' >expected
"$hinge" scale -r ranges more >out 2>err
check "restores ranges" cmp expected out
"$hinge" scale -y 0 1 -s ranges raw >out 2>err
check "scales labels" test "$(cut -d' ' -f1 out | tr '\n' ' ')" = "0 0.5 1 "
check "saves their range" test "$(head -3 ranges | tr '\n' ' ')" = "y 0 1 1 3 "
"$hinge" scale --output scaled raw >out 2>err
check "writes a file" test -s scaled
printf '1,1,5,7,0\n2,2,5,0,-4\n3,3,5,1,0\n' >raw.csv
check "scales CSV" "$hinge" scale --output csv.scaled raw.csv
check "to the same" cmp scaled csv.scaled
cut -d, -f2- raw.csv >bare.csv
check "scales without labels" "$hinge" scale --no-labels --output bare bare.csv
check "likewise" test "$(cut -d' ' -f2- bare)" = "$(cut -d' ' -f2- scaled)"
if command -v python3 >/dev/null 2>&1; then
    python3 -c 'import struct
head = "{\x27descr\x27: \x27<f8\x27, \x27fortran_order\x27: False, \x27shape\x27: (3, 4), }"
head += " " * (117 - len(head)) + "\n"
values = struct.pack("<12d", 1, 5, 7, 0, 2, 5, 0, -4, 3, 5, 1, 0)
open("raw.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + values)'
    check "scales .npy" "$hinge" scale --output npy.scaled raw.npy
    check "features to the same" test "$(cut -d' ' -f2- npy.scaled)" = "$(cut -d' ' -f2- scaled)"
fi
if command -v svm-scale >/dev/null 2>&1; then
    for file in two three real raw; do
        for options in "" "-l 0" "-y -2 3" "-l -3.5 -u 7"; do
            # shellcheck disable=SC2086
            svm-scale $options -s ranges.svm $file >scaled.svm 2>/dev/null
            # shellcheck disable=SC2086
            "$hinge" scale $options -s ranges $file >scaled 2>err
            check "scales $file as svm-scale $options" cmp scaled.svm scaled
            check "with the same ranges" cmp ranges.svm ranges
        done
    done
fi

echo "# scaling in the model"
# feature 1 is wide, 2 narrow, 3 does not tell, 4 never changes
sed 's/ 2:[^ ]*//; s/ 3:[^ ]*//; s/ 4:[^ ]*//; s/ 5:[^ ]*//' two |
    awk '{ split($2, e, ":"); print $1, "1:" 1000 * e[2] + 5000, "2:" e[2] * e[2] / 100, "3:" NR % 7, "4:3" }' >wide
sed 's/ 2:[^ ]*//; s/ 3:[^ ]*//; s/ 4:[^ ]*//; s/ 5:[^ ]*//' two.test |
    awk '{ split($2, e, ":"); print $1, "1:" 1000 * e[2] + 5000, "2:" e[2] * e[2] / 100, "3:" NR % 7, "4:5" }' >wide.test
"$hinge" scale -s ranges wide >wide.scaled 2>err
"$hinge" scale -r ranges wide.test >wide.scaled.test 2>err
check "trains on scaled data" "$hinge" train -q -g 0.5 wide.scaled m
"$hinge" predict --decisions decisions wide.scaled.test m labels >accuracy 2>err
check "trains with --scale" "$hinge" train --certify -g 0.5 --scale --test wide.test wide scaled.model
check "to as good a certificate" has out 'kkt [0-9.]*e-0[45],\|kkt 0.000[0-9]*,'
check "--test scales" has out "$(sed 's/[(%]/./g; s/).*//' accuracy)"
check "predicts raw data" "$hinge" predict --decisions again wide.test scaled.model labels.again
check "as well as scaled ones" cmp accuracy out
check "with the same labels" cmp labels labels.again
paste decisions again >both
check "and nearly the same decisions" awk '{ d = $1 - $2; bad += d > 1e-3 || d < -1e-3 } END { exit bad || NR != 60 }' both
sed 's/$/ 9:12345/' wide.test >wider.test
check "leaves out features without a range" "$hinge" predict -q wider.test scaled.model labels.again
check "so that they do not count" cmp labels labels.again
check "tells of the scaling" "$hinge" info scaled.model
check "and what it leaves out" has out '^scaling .*1 of 4 features left out$'
"$hinge" info --json scaled.model >report 2>err
check "in JSON too" has report '"scale_factor": \['
check "restores ranges" "$hinge" train -q -g 0.5 --scale-restore ranges wide again
check "to the same model" cmp scaled.model again
check "scales to other ends" "$hinge" train -q -g 0.5 --scale-lower 0 --scale-upper 2 wide again
check "which make another model" test "$(cmp -s scaled.model again; echo $?)" = 1
"$hinge" scale -l 0 -u 2 -s ranges wide >wide.scaled 2>err
"$hinge" train -q -g 0.5 --scale-restore ranges wide m >out 2>err
check "that of a range file with those ends" cmp again m
"$hinge" scale -y 0 1 -s ranges wide >wide.scaled 2>err
"$hinge" train -q -g 0.5 --scale-restore ranges wide m >out 2>err
check "leaves labels alone" cmp scaled.model m
check "and says so" has err 'warning.*labels'
grep -v '^2 ' ranges | tail -n +4 >few
"$hinge" train -q -g 0.5 --scale-restore few wide m >out 2>err
check "warns of a feature without range" has err 'warning.*no range for feature 2'
if command -v svm-predict >/dev/null 2>&1; then
    check "svm-predict refuses the model" test "$(svm-predict wide.test scaled.model out >/dev/null 2>&1; echo $?)" != 0
fi

# leaving one out, by hand: each training has the ranges of its own rows
awk 'BEGIN { for (k = 1; k <= 9; k++) print k * k, "1:" (k == 9 ? 400 : 10 * k + 3), "2:" k % 4 }' >steep
k=1
while [ $k -le 9 ]; do
    sed "${k}d" steep >rest
    sed -n "${k}p" steep >one
    "$hinge" train -q -s 3 -c 100 -e 1e-7 --scale rest m 2>err
    "$hinge" predict -q one m label 2>err
    echo "$((k * k)) $(cat label)"
    k=$((k + 1))
done | awk '{ sum += ($1 - $2) * ($1 - $2) } END { printf "%.4f\n", sum / NR }' >expected
"$hinge" train -q -v 9 -s 3 -c 100 -e 1e-7 --scale steep >out 2>err
check "each fold has ranges of its own" awk -v got="$(sed -n 's/.*Mean squared error = //p' out)" \
    '{ exit !(got > $1 * (1 - 1e-4) && got < $1 * (1 + 1e-4)) }' expected

echo "# classes"
check "trains with another positive class" "$hinge" train -q --positive -1 two other.model
check "the first of the model" has other.model '^label -1 1$'
refuses 2 "--positive: no example has label 9" train --positive 9 two
check "trains one-vs-rest" "$hinge" train -q -c 10 --multiclass ovr three rest.model
check "predicts by it" "$hinge" predict --decisions decisions three rest.model labels
paste labels decisions >both
"$hinge" info --json rest.model >report 2>err
check "info tells one-vs-rest" has report '"multiclass": "ovr"'
check "the labels too" has report '"labels": \['
order=$(sed -n 's/.*"labels": \[\([^]]*\)\].*/\1/p' report)
check "the largest decision wins" awk -v order="$order" 'BEGIN { split(order, label, ", ") }
    { best = 1; for (k = 2; k <= 3; k++) if ($(k + 1) > $(best + 1)) best = k; bad += $1 != label[best] }
    END { exit bad || NF != 4 || NR != 240 }' both
check "one-vs-one by name" "$hinge" train -q -c 10 --multiclass one-vs-one three m
"$hinge" train -q -c 10 three again >out 2>err
check "which is the default" cmp m again

echo "# cross-validation"
cp two.model two.model.kept
rm -f real.model three.model
check "cross-validates" "$hinge" train -v 5 -c 10 two
check "and prints the accuracy last" test "$(tail -n 1 out | sed 's/[0-9.]*%$/N/')" = "Cross Validation Accuracy = N"
check "writes no model" cmp two.model two.model.kept
cp out first
check "prints it alone with -q" "$hinge" train -q -v 5 -c 10 two
check "which is the same" test "$(cat out)" = "$(tail -n 1 first)"
check "reproducibly, with any threads" "$hinge" train -q -v 5 -c 10 --threads 1 two
check "likewise" test "$(cat out)" = "$(tail -n 1 first)"
check "a good one" awk '{ sub("%", "", $5); exit !($5 + 0 > 80 && $5 + 0 <= 100) }' out
check "takes another seed" "$hinge" train -q -v 5 -c 10 --seed 7 two
check "cross-validates a regression" "$hinge" train -q -v 3 -s 3 real
sed 's/= [-0-9.e+]*$/= N/' out >lines
printf 'Cross Validation Mean squared error = N\nCross Validation Squared correlation coefficient = N\n' >expected
check "and prints its two lines" cmp expected lines
"$hinge" train --json -v 3 -s 3 real >report 2>err
check "train -v --json" keys report folds mse squared_correlation outcome seconds n_sv
"$hinge" train --json -v 3 --scale --multiclass ovr three >report 2>err
check "with scaling, one-vs-rest" keys report folds accuracy
check "writes no model of them" test ! -e real.model -a ! -e three.model
head -n 12 two >few
check "leaves one out where folds are too many" "$hinge" train -v 99 few
check "and says how many folds there were" grep -q "^folds  *$(wc -l <few)," out
check "warns of it" has err 'warning: -v: 99 folds of 12 examples'
head -n 1 few >single
refuses 1 "single: cross-validation needs 2 examples or more" train -q -s 3 -v 2 single
refuses 1 "no labels" train -v 3 --no-labels -s 2 two.csv

echo "# probabilities"
# rows FILE COLUMNS: each line behind the header has a label and COLUMNS - 1 probabilities that sum to 1
rows() {
    awk -v columns="$2" 'NR > 1 {
        sum = 0
        for (k = 2; k <= NF; k++) { sum += $k; if ($k < 0 || $k > 1) bad = 1 }
        if (NF != columns || sum < 0.9999 || sum > 1.0001) bad = 1
    } END { exit bad || NR < 2 }' "$1"
}
check "trains with -b 1" "$hinge" train -q -b 1 -c 10 two b.model
check "and calibrates" "$hinge" info b.model
check "as info tells" has out '^calibrated'
"$hinge" train -q -b 1 -c 10 --threads 1 two again >out 2>err
check "reproducibly" cmp b.model again
"$hinge" train -q --probability 1 -c 10 --seed 5 two again >out 2>err
check "differently with another seed" test "$(cmp -s b.model again; echo $?)" = 1
check "predicts with -b 1" "$hinge" predict -b 1 two.test b.model p
check "and prints the accuracy" has out '^Accuracy = [0-9.]*% ([0-9]*/60) (classification)$'
check "writes a header" test "$(head -n 1 p)" = "$(sed -n 's/^label /labels /p' b.model)"
check "and probabilities" rows p 3
check "of which the label's is the largest" awk 'NR == 1 { split($0, l); next }
    { bad += $1 != ($2 >= $3 ? l[2] : l[3]) } END { exit bad }' p
check "without -b labels only" "$hinge" predict -q two.test b.model labels
check "a word a line" awk 'NF != 1 { bad = 1 } END { exit bad || NR != 60 }' labels
"$hinge" predict -q -b 1 --decisions decisions two.test b.model p >out 2>err
tail -n +2 p | paste - decisions | sort -g -k 4 >both
check "monotone in the decision" awk -v first="$(head -n 1 p | cut -d' ' -f2)" '
    NR > 1 && $2 < last { bad = 1 } { last = $2 } END { exit bad || NR != 60 || first != 1 }' both
"$hinge" predict --json -b 1 two.test b.model p >report 2>err
check "predict -b 1 --json" keys report seconds n accuracy
check "three classes" "$hinge" train -q -b 1 -c 10 three m
check "their probabilities" "$hinge" predict -q -b 1 three m p
check "in three columns" rows p 4
check "regression" "$hinge" train -q -b 1 -s 3 real m
check "predicts with sigma" "$hinge" predict -b 1 real m values
check "as svm-predict tells it" has out '^z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma=[0-9.e-]*$'
check "before the error" test "$(wc -l <out)" = 4
check "and plain values" awk 'NF != 1 { bad = 1 } END { exit bad || NR != 240 }' values
"$hinge" predict --json -b 1 real m values >report 2>err
check "sigma in JSON" keys report sigma mse
check "one-class" "$hinge" train -q -b 1 -s 2 -n 0.2 two m
check "its probabilities" "$hinge" predict -q -b 1 two m p
check "under their header" test "$(head -n 1 p)" = "label normal outlier"
check "in two columns" rows p 3
head -n 8 two >few
"$hinge" train -q -b 1 -s 2 -n 0.5 few m 2>err
check "none of 8 examples, and why" grep -q "no probabilities: they take 5 examples on either side" err
refuses 1 "two.model: the model has no probabilities.*calibrate" predict -b 1 two.test two.model p
check "one-vs-rest" "$hinge" train -q -b 1 -c 10 --multiclass ovr three m
check "its probabilities" "$hinge" predict -q -b 1 three m p
check "a column a class" rows p 4
check "or calibrated later" "$hinge" calibrate -q -o m rest.model three
check "with three of them" "$hinge" predict -q -b 1 three m p
check "and folds" "$hinge" train -q -b 1 -v 3 -c 10 --multiclass ovr three

"$hinge" train -q -b 1 -c 1e6 -e 1e-9 --max-iter 2 two m >out 2>err
check "predicts after a limit, or warns that it cannot" sh -c "grep -q 'no probabilities' err || $hinge info m | grep -q ^calibrated"

echo "# calibrate"
cp two.model held.model
check "calibrates on other data" "$hinge" calibrate two.model two.test -o held.model
check "tells about it" has out '^calibrated on *60 examples'
check "leaves the model itself" cmp two.model two.model.kept
check "the new one predicts" "$hinge" predict -q -b 1 two.test held.model p
check "probabilities" rows p 3
"$hinge" predict -q two.test held.model labels >out 2>err
"$hinge" predict -q two.test two.model again >out 2>err
check "and the same labels as before" cmp labels again
cp two.model held
check "replaces a model" "$hinge" calibrate -q held two.test
check "silently with -q" test ! -s out
check "by the same as -o" cmp held held.model
check "leaves no temporary files" test "$(echo held*)" = "held held.model"
"$hinge" calibrate --json held two.test >report 2>err
check "calibrate --json" keys report model n seconds
"$hinge" train -q -s 3 real m >out 2>err
check "calibrates a regression" "$hinge" calibrate m real
check "and tells sigma" has out '^sigma *[0-9]'
check "a model that scales" "$hinge" calibrate -q scaled.model wide.test
check "which then predicts" "$hinge" predict -q -b 1 wide.test scaled.model p
check "its probabilities" rows p 3
refuses 1 "leave out --no-labels" calibrate --no-labels two.model two.csv

echo "# info"
check "tells about the machine" "$hinge" info
check "its BLAS" has out '^blas  *[^ ]'
"$hinge" info --json >report 2>err
check "info --json" keys report version cpu_level blas blas_is_openmp blas_slow threads total_memory
check "tells about a model" "$hinge" info two.model
check "its kernel" has out '^kernel *rbf, gamma 0.2$'
"$hinge" train -t 0 -c 0.1 two linear.model >out 2>err
rho=$(sed -n 's/^rho *//p' out)
check "training tells rho" awk -v a="$rho" -v b="$(sed -n 's/^rho //p' linear.model)" \
    'BEGIN { d = a - b; exit !(a && d < 1e-9 && d > -1e-9) }'
check "tells of a linear model" "$hinge" info linear.model
# f = <w,x> + b, as the decisions of predict
sed -n 's/^w *//p; s/^b *//p' out | tr '\n' ' ' >w
"$hinge" predict -q --decisions decisions two.test linear.model
check "its w and b" awk 'NR == FNR { split($0, w); next } FNR == 1 && NR != FNR && !n { n = 1 }
    FILENAME == "decisions" { f[FNR] = $1; next }
    { s = w[6]; for (k = 2; k <= NF; k++) { split($k, e, ":"); s += w[e[1]] * e[2] }
      d = s - f[FNR]; bad += d > 1e-6 || d < -1e-6; rows++ } END { exit bad || rows != 60 }' w decisions two.test
"$hinge" info --json linear.model >report 2>err
check "in JSON too" keys report files
check "with w and b" has report '"w": \['
check "tells about data" "$hinge" info two
check "their size" has out '^rows *240$'
"$hinge" info --json two two.model >report 2>err
check "info --json of files" keys report files
cat two | "$hinge" info /dev/stdin >out
check "tells about data from a pipe" has out '^rows *240$'
cat two.model | "$hinge" info /dev/stdin >out
check "and about a model" has out '^kernel *rbf, gamma 0.2$'
gzip -c two.model >two.model.gz
check "and about one that is packed" "$hinge" info two.model.gz
check "its kernel" has out '^kernel *rbf, gamma 0.2$'
check "reads data and models that are called -" sh -c '"$0" train -q -c 10 - piped <two &&
    cmp two.model piped && "$0" predict -q - piped labels.piped <two && "$0" predict -q two - labels <piped &&
    cmp labels labels.piped && "$0" info - <two | grep -q "^rows *240$" &&
    "$0" calibrate -q - two.test <piped | grep -q "^probA" && "$0" check - <two' "$hinge"
cat two | "$hinge" check /dev/stdin >out
check "checks a pipe" has out '^No error'

echo "# makers"
make 300 20 two >makers
for maker in gemm panels lists; do
    check "trains by $maker" "$hinge" train --maker $maker -t 2 -g 0.05 -c 10 makers makers.model
    check "as the path tells" has out "^path .*, $maker f"
    check "predicts by it" "$hinge" predict --maker $maker makers makers.model labels.$maker
done
check "the same labels" sh -c 'cmp labels.gemm labels.panels && cmp labels.gemm labels.lists'
refuses 1 "maker: counts cannot make the kernel values of these data" train --maker counts makers makers.model
refuses 1 "and not of predictions" predict --maker counts makers makers.model
refuses 2 "--maker: 'blas'" train --maker blas makers

echo "# profile"
make 3000 20 noise >noisy
check "profiles a training" "$hinge" train --profile -t 2 -g 0.05 -c 10 noisy noisy.model
check "with all phases, whose shares add up" awk '/^  [a-zA-Z]+ +[0-9.]+ s +[0-9.]+ %/ { n++; sum += $4 }
    END { exit !(n == 7 && sum > 99 && sum < 101) }' out
check "rows by stage, whose shares add up to theirs" awk '/^  rows / { rows = $4 }
    /^    [a-z]+ +-?[0-9.]+ s +-?[0-9.]+ %/ { n++; sum += $4 }
    END { exit !(n == 6 && sum > rows - 0.5 && sum < rows + 0.5) }' out
check "and what the system took" has out '^  system .* page faults'
check "and with a floor" has out '^  floor .* one pass'
check "profiles as JSON" "$hinge" train --profile --json -t 2 -g 0.05 -c 10 noisy noisy.model
check "by the report's counters" python3 -c 'import json
r = json.load(open("out"))
p = r["profile"]
phases = sum(r["seconds_" + k] for k in ("rows", "select", "block", "subproblem", "newton", "check"))
assert abs(phases + p["seconds_other"] - r["seconds"]) < 1e-9 and p["seconds_other"] > -1e-6, (phases, r, p)
stages = p["stages"]
assert list(stages) == ["gather", "products", "map", "update", "read", "rest"], stages
assert abs(sum(stages.values()) - r["seconds_rows"]) < 1e-9 and min(stages.values()) > -1e-6, stages
assert 0 < p["gflop_rows"] < r["gflop"] and 0 < 1e9 * p["gbytes_rows_read"] < r["bytes_read"], p
assert p["page_faults"] >= 0 and p["seconds_system"] >= 0
assert p["rows_found"] == max(r["rows_asked"] - r["rows_computed"], 0)
assert 0 < r["bytes_read"] <= r["rows_asked"] * r["n"] * (4 if r["precision"] == "f32" else 8)
assert p["seconds_floor"] > 0 and p["rows_floor"] in (2048, 3000)'
check "profiles several problems" "$hinge" train --profile --threads 2 -g 0.001 "$digits" digits.model
check "side by side, so that nobody knows what the clock leaves over" awk '/^  other / { n++ }
    END { exit n != 0 }' out
check "profiles them as JSON" "$hinge" train --profile --json --threads 2 -g 0.001 "$digits" digits.model
check "which is null in JSON" has out '"seconds_other": null'
make 5000 80 noise >large # rows that are worth keeping
for precision in f32 f64; do
    check "counts bytes of $precision rows" "$hinge" train --json --precision $precision -h 0 -g 0.05 -c 1 large large.model
    check "as they are in the cache" python3 -c 'import json
r = json.load(open("out"))
found, computed, n = r["rows_asked"] - r["rows_computed"], r["rows_computed"], r["n"]
assert found > 500 and computed > 500 and r["corrections"] == 0, r
want = n * (found + computed) * (4 if r["precision"] == "f32" else 8)
assert r["bytes_read"] == want, (r["bytes_read"], want)'
done
check "of a linear kernel, without a floor" "$hinge" train --profile -t 0 two two.profile
check "which it does not have" awk '/^  floor/ { exit 1 }' out

echo "# interruption"
make 4000 20 noise >hard
if python3 -c 'import os; os.openpty()' 2>/dev/null; then # a chroot may have none to give
    # at a terminal, which Python gives: progress a tenth of a second
    for folds in 3 ""; do
        # shellcheck disable=SC2086 # an option, or nothing
        check "shows progress${folds:+ of folds}" python3 -c 'import os, pty, sys
pty.spawn(sys.argv[2:], lambda fd: (lambda text: (open(sys.argv[1], "ab").write(text), text)[1])(os.read(fd, 4096)))
' "shown$folds" "$hinge" train ${folds:+-v $folds} -t 2 -g 0.01 -c 1e7 -e 2e-12 --time-limit 1 hard pty.model
        check "and where it stops" has "shown$folds" 'violation [^ ]*, stops at 2.0e-12'
    done
    check "and the fold" has shown3 'fold 1/3'
    check "but only where there are some" test "$(grep -c fold shown)" = 0
fi
"$hinge" train --verbose -t 2 -g 0.01 -c 1e7 -e 1e-12 hard stopped.model >log 2>err &
child=$!
# until it has begun, and catches SIGINT, which is 2
until { has err '^4000 examples' && has /proc/$child/status '^SigCgt:.*[2367abef]$'; } || ! kill -0 $child; do
    sleep 0.1
done
kill -INT $child
wait $child
check "an interrupted training ends with 130" test $? = 130
check "with a model" "$hinge" info stopped.model
check "that predicts" "$hinge" predict -q hard stopped.model labels

"$hinge" train -t 2 -g 0.01 -c 1e7 -e 1e-12 --time-limit 0.1 hard limited.model >out 2>err
check "a time limit ends a training well" test $? = 0
check "and is told" has out '^outcome *time limit'
check "with a model" "$hinge" info limited.model
make 6000 10 noise | awk '{ $1 = NR % 26; print }' >many
"$hinge" train -t 2 -g 1 -c 1e5 --threads 1 --time-limit 0.02 many limited.model >out 2>err
check "pairs that had not begun are told" has out '^not begun *[0-9]* of 325 problems: [0-9]*, [0-9]*; '
check "and warned of" has err 'warning: [0-9]* of 325 problems of two classes had not begun'
"$hinge" train --json -t 2 -g 1 -c 1e5 --threads 1 --time-limit 0.02 many limited.model >out 2>err
check "in JSON all of them" python3 -c 'import json
pairs = json.load(open("out"))["not_begun"]
words = open("limited.model").read().split("\n")
labels = next(line for line in words if line.startswith("label ")).split()[1:]
count = list(map(int, next(line for line in words if line.startswith("nr_sv ")).split()[1:]))
rows = [line.split()[:25] for line in words[next(k for k, line in enumerate(words) if line[:2] == "SV") + 1:] if line]
empty, start = [], [sum(count[:k]) for k in range(27)]
for a in range(26):
    for b in range(a + 1, 26):
        if not any(float(r[b - 1]) for r in rows[start[a]:start[a + 1]]) and not any(
                float(r[a]) for r in rows[start[b]:start[b + 1]]):
            empty.append(f"{labels[a]}, {labels[b]}")
assert 0 < len(pairs) <= 325 and pairs == empty, (len(pairs), len(empty))'
"$hinge" train --json -q two m >out 2>err
check "none where all are done" has out '"not_begun": \[$'
for solver in "sgd --batch 1" "perceptron --batch 1" perceptron; do
    # shellcheck disable=SC2086 # a solver and its option
    "$hinge" train --verbose -t 0 --solver $solver --epochs 1000000000 hard stopped.model >log 2>err &
    child=$!
    until { has err '^4000 examples' && has /proc/$child/status '^SigCgt:.*[2367abef]$'; } || ! kill -0 $child; do
        sleep 0.1
    done
    kill -INT $child
    wait $child
    code=$?
    check "$solver: interrupted, it ends with 130" test $code = 130
    check "says so" has err 'interrupted; the best model so far is in stopped.model'
    check "has a model" "$hinge" predict -q hard stopped.model labels
    # shellcheck disable=SC2086
    "$hinge" train -t 0 --solver $solver --epochs 1000000000 --time-limit 0.2 hard limited.model >out 2>err
    check "$solver: a time limit ends it well" test $? = 0
    check "is told" has err 'not converged: time limit after [0-9]* whole epochs'
    check "has a model too" "$hinge" predict -q hard limited.model labels
done
"$hinge" train -v 5 --time-limit 0.0001 hard >out 2>err
code=$?
check "a cross-validation out of time is refused" test $code = 1
check "without an accuracy" test ! -s out

echo "# words for labels"
awk '{ w = $1 > 0 ? "a cat" : "dog"; printf "%s", w; for (k = 2; k <= NF; k++) { split($k, v, ":"); printf ",%s", v[2] }
       print "" }' two >words.csv
sed 's/^a cat/cat/; s/,/ 1:/; s/,/ 2:/; s/,/ 3:/; s/,/ 4:/; s/,/ 5:/' words.csv >words.txt
check "labels that are words" "$hinge" train -q --seed 1 words.csv words.model
check "are as good as numbers" "$hinge" train -q --seed 1 two two.model
check "to the same vectors" test "$(sed 1,/^SV/d words.model)" = "$(sed 1,/^SV/d two.model)"
check "stand in the model" has words.model '^SV hinge_words [a-z%0-9]* [a-z%0-9]*$'
check "are told" "$hinge" info words.model
"$hinge" info words.model >out
check "by name" has out '^classes  *a cat: '
"$hinge" info words.csv >out
check "in data too" has out 'dog: [0-9]* rows'
check "predicts words" "$hinge" predict -q words.csv words.model labels
check "predicts numbers" "$hinge" predict -q two two.model numbers
check "the same" test "$(sed 's/a cat/1/; s/dog/-1/' labels)" = "$(cat numbers)"
check "trains on words in LIBSVM text, with probabilities" "$hinge" train -q -b 1 words.txt cat.model
check "predicts them with a header of words" "$hinge" predict -q -b 1 words.txt cat.model labels
check "which names them" has labels '^labels \(cat dog\|dog cat\)$'
check "weighs a word" "$hinge" train -q -c 0.01 "-wa cat" 50 --weight dog=0.02 words.csv m
"$hinge" train -q -c 0.01 -w1 50 -w-1 0.02 two again
check "as a number" test "$(sed 1,/^SV/d m)" = "$(sed 1,/^SV/d again)"
"$hinge" train -q -wbird 2 --positive dog words.csv m 2>err
check "warns of a word that is none" has err 'no example has label bird'
"$hinge" info m >out
check "takes a word as positive class" has out '^classes  *dog'
refuses 2 "--weight: 'bird' is not a number, and the labels are" train -wbird 2 two
refuses 1 "its labels are words, as '.*', where numbers are needed to train on" train -s 3 words.csv
sed 's/dog/bird/' words.csv >birds.csv
sed 's/a cat/fish/' birds.csv >fish.csv
"$hinge" predict birds.csv words.model labels >out 2>err
check "an unknown word is wrong" has out 'Accuracy = [1-9]'
"$hinge" predict fish.csv words.model labels >out 2>err
check "only unknown words are warned of" has err 'none of its labels is a class'
"$hinge" predict words.csv two.model labels >out 2>err
check "a model of numbers is not compared with words" has err 'the model.s are numbers: they are not compared'
check "and has no accuracy" test ! -s out
"$hinge" predict two words.model labels >out 2>err
check "numbers for a model of words are warned of" has err "1 is taken for '"
"$hinge" report words.model words.csv >out
check "a report names them" has out '^  *dog  *[0-9]'
check "JSON too" sh -c "'$hinge' report --json words.model words.csv | grep -q '\"a cat\"'"
check "scales what has words" "$hinge" scale --output scaled.txt words.txt
check "and keeps them" has scaled.txt '^cat '
refuses 1 "the label 'a cat' holds a character that no label of LIBSVM text may have" scale words.csv

echo "# several targets"
awk '{ print $1 "," (-2 * $1) }' real >both.csv
awk '{ $1 = -2 * $1; print }' real >second
check "trains on two" "$hinge" train -s 3 -e 1e-6 --certify --targets both.csv real both.model
check "and sums over them" has out '^support vectors.*summed over targets'
check "with a certificate" has out '^certificate '
check "predicts both" "$hinge" predict -q real both.model both
check "info counts them" "$hinge" info both.model
check "two" has out '^targets  *2$'
for k in 1 2; do
    data=$([ $k = 1 ] && echo real || echo second)
    "$hinge" train -q -s 3 -e 1e-6 "$data" one.model
    "$hinge" predict -q "$data" one.model one
    check "value $k is that of a training alone" sh -c "cut -d' ' -f$k both | paste -d' ' - one |
        awk '{ if (\$1 - \$2 > 1e-4 || \$2 - \$1 > 1e-4) exit 1 } END { exit NR != 240 }'"
done
awk '{ print ($1 > 10 ? 1 : -1) }' real >signs.csv
check "trains on signs" "$hinge" train -q --targets signs.csv real signs.model
refuses 1 "both.csv: 240 by 2 numbers instead of a row for each of 60 examples" train --targets both.csv two.test
refuses 1 "is not +1 or -1" train --targets both.csv real
refuses 2 "--targets goes without -v" train -v 5 --targets both.csv real
refuses 2 "--targets goes without -s one_class" train -s 2 --targets both.csv real
refuses 1 "several targets" export --c both.model
refuses 1 "many targets is not calibrated" calibrate both.model real
refuses 1 "many targets has none" report both.model real

end
