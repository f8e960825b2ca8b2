#!/bin/sh
# hinge-mpi under mpirun: the same model file for 1 to 4 ranks of 1 and 2 threads, predictions as hinge's, one message
# where a rank cannot go on, and a training that is killed and goes on with another number of ranks.
# usage: test_mpi.sh HINGE_MPI HINGE MPIRUN SOURCE_DIR. Ends with 0, 1 if a check failed, 77 if there is no mpirun.
# Of the numbers of ranks, 2 and 4 are tried where CI=true.

hinge_mpi=$1 hinge=$2 mpirun=$3 source=$4
command -v "$mpirun" >/dev/null 2>&1 || { echo "no mpirun to start ranks with"; exit 77; }
for program in "$hinge_mpi" "$hinge"; do
    [ -x "$program" ] || { echo "no program at '$program'"; exit 1; }
done
hinge_mpi=$(realpath "$hinge_mpi") hinge=$(realpath "$hinge") source=$(realpath "$source")
. "$(dirname "$0")/outside.sh"
# Open MPI's: more ranks than processors, root in a container; MPICH ignores them
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mpi_yield_when_idle=1 LC_ALL=C OMP_WAIT_POLICY=passive
# what MPI's own libraries say on stderr where there is no /sys is no message of hinge's
export HWLOC_HIDE_ERRORS=2 UCX_LOG_LEVEL=fatal
sizes="1 3"
[ "${CI-}" != true ] || sizes="1 2 3 4"

# expect NAME COMMAND...: the command succeeds
expect() {
    name=$1
    shift
    if "$@" >out 2>&1; then ok "$name"; else not_ok "$name" out; fi
}

ranks() {
    np=$1
    shift
    timeout 120 "$mpirun" -np "$np" "$hinge_mpi" "$@"
}

if ! ranks 2 --version >out 2>&1; then
    echo "$mpirun starts no ranks here: $(head -n 1 out)"
    exit 77
fi

xz -dc "$source/data/digits.train.xz" >numbers
awk 'BEGIN { srand(1); for (i = 0; i < 1500; i++) { y = rand() < 0.5 ? -1 : 1
    printf "%d 1:%.4f 2:%.4f 3:%.4f\n", y, y * 0.4 + rand() * 2, rand(), rand() * y } }' >blobs
for np in $sizes; do
    expect "train by $np ranks" ranks $np train -q -c 10 -g 0.5 --tile 512 --threads $((1 + np / 2 % 2)) blobs model$np
    expect "the model of $np ranks" cmp model1 model$np
done
expect "train alone" "$hinge" train -q -c 10 -g 0.5 blobs model0
expect "a profile" ranks 2 train --profile -c 10 -g 0.5 blobs model
mv out said
expect "tells what ranks exchanged" grep -Eq "^    rounds .* in [0-9]+ calls of MPI, which brought 0.[0-9]+ MB" said
expect "and how they shared the work" grep -Eq "ranks +2, of which the busiest made 5[0-9.]+ %" said
expect "predict alone" "$hinge" predict -q blobs model1 truth
expect "predict by 3 ranks" ranks 3 predict blobs model1 predicted
expect "the same predictions" cmp truth predicted
expect "regression by 2 ranks" ranks 2 train -q -s 3 -c 1 numbers svr2
expect "regression by 1 rank" ranks 1 train -q -s 3 -c 1 numbers svr1
expect "the same regression" cmp svr1 svr2
expect "scaled alone" "$hinge" train -q -c 10 -g 0.5 --scale 0,1 blobs scaled0
for np in 1 3; do
    expect "scaled by $np ranks" ranks $np train -q -c 10 -g 0.5 --scale 0,1 blobs scaled$np
done
expect "the same scaled model" cmp scaled1 scaled3
"$hinge" predict -q blobs scaled0 a && "$hinge" predict -q blobs scaled3 b
expect "scaled as alone" test "$(diff a b | grep -c '^<')" -le 2
expect "the same ranges" test "$(grep ^hinge_scale scaled0)" = "$(grep ^hinge_scale scaled3)"
printf 'x\n0 1\n1 -1 3\n3 -2 2\n' >ranges
expect "by ranges of a file, alone" "$hinge" train -q -c 10 -g 0.5 --scale-restore ranges blobs ranged0
for np in 1 3; do
    expect "by ranges of a file, $np ranks" ranks $np train -q -c 10 -g 0.5 --scale-restore ranges blobs ranged$np
    grep warning out >told$np
done
expect "the same model by ranges" cmp ranged1 ranged3
expect "the ranges of the file" test "$(grep ^hinge_scale ranged0)" = "$(grep ^hinge_scale ranged3)"
expect "a feature without a range is told" grep -q "no range for feature 2" told3
xz -k -c numbers >numbers.xz
expect "a compressed file" ranks 2 train -q -s 3 -c 1 numbers.xz svrx
expect "its model" cmp svr1 svrx

# the same examples in files that a manifest names
mkdir parts
sed -n '1,300p' blobs >parts/a
sed -n '301,310p' blobs | gzip >parts/b.gz
sed -n '311,$p' blobs >parts/c
printf '# of three\na\n\nb.gz\nc\n' >parts/list.txt
for np in $sizes; do
    expect "a manifest by $np ranks" ranks $np train -q -c 10 -g 0.5 --tile 512 @parts/list.txt modelm
    expect "the model of one file" cmp model1 modelm
done
expect "a manifest alone" "$hinge" train -q -c 10 -g 0.5 @parts/list.txt
expect "its model alone, by the manifest's name" cmp model0 list.txt.model
expect "predict a manifest" ranks 3 predict @parts/list.txt model1 predicted
expect "the predictions of one file" cmp truth predicted
echo '1 1:x' >>parts/c
ranks 3 train -q @parts/list.txt none >said 2>&1
expect "an error by its file and line" grep -q "^hinge: parts/c:1191: " said

# labels that are words, of which each part has others first: the model's lines are those of hinge train
awk '{ $1 = $1 < 0 ? "no" : substr($2, 3) < 1.2 ? "yes" : "may%20be"; print }' blobs >words
sed -n '1!G;h;$p' words >other # backwards
told() { grep -E '^(svm_type|kernel_type|gamma|nr_class|label|SV)' "$1"; }
expect "words alone" "$hinge" train -q -c 10 -g 0.5 -w yes=2 words words0
for np in $sizes; do
    expect "words by $np ranks" ranks $np train -q -c 10 -g 0.5 -w yes=2 words words$np
    expect "the same model of words" cmp words1 words$np
    ranks $np predict other words1 "said$np" >score$np
done
told words0 >a
told words1 >b
expect "words where hinge train has them" cmp a b
expect "words are told" grep -q hinge_words b
expect "predict words alone" "$hinge" predict other words1 said0
mv out score0
for np in $sizes; do
    expect "the same words, predicted by $np ranks" cmp said0 said$np
    expect "the same accuracy of words" cmp score0 score$np
done
expect "words in the output" grep -qx 'may%20be' said3
expect "a weight of a word" ranks 4 train -q -w no=2 -w cow=3 words heavy
expect "which no rank has" test "$(grep warning out)" = "hinge: warning: --weight: no example has label cow"
ranks 2 train -q -s 3 words none >said 2>&1
expect "words where values are needed" grep -q "words: its labels are words, as 'yes', where numbers are needed" said

# tables: columns by name, words of the whole file, rows that are dropped by the rank that has them
awk 'BEGIN { print "id,kind,size,y,age"
    for (i = 0; i < 300; i++) {
        age = i % 29 == 3 ? "NA" : i * 3 % 17
        print i "," substr("abcd", 1 + i * i % 4, 1) "," i * 7 % 50 / 10 "," (i * 7 % 50 > 20 + i % 9) "," age
    } }' >table.csv
table="--label-column y --ignore id --categories kind --drop-missing --scale"
# shellcheck disable=SC2086 # words
for np in 1 2 3; do
    expect "a table by $np ranks" ranks $np train -q $table table.csv table$np
    mv out told
    expect "rows that are left out are those of all" grep -q "table.csv: 11 rows with missing values" told
    expect "the same model of it" cmp table1 table$np
    expect "which predicts by names" ranks $np predict --drop-missing table.csv table1 table.out$np
    expect "the same" cmp table.out1 table.out$np
done
# shellcheck disable=SC2086 # words
"$hinge" train -q $table table.csv table0 2>err
told table0 >a
told table1 >b
expect "names where hinge train has them" cmp a b
expect "names are told" grep -q "hinge_names 4 1 kind=a kind=b size age y" b

# .npy, each rank its rows
python3 - <<'END'
import array
rows = [[float(word.split(":")[-1]) for word in line.split()] for line in open("blobs")]
def write(path, kind, fortran, rows, cols, values):
    head = "{'descr': '<%s', 'fortran_order': %s, 'shape': (%d, %d), }\n" % (kind, fortran, rows, cols)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
        array.array("f" if kind == "f4" else "d", values).tofile(file)
write("x8.npy", "f8", False, len(rows), 3, [v for row in rows for v in row[1:]])
write("x4.npy", "f4", True, len(rows), 3, [row[k] for k in (1, 2, 3) for row in rows])
write("y.npy", "f8", False, len(rows), 1, [row[0] for row in rows])
END
for np in $sizes; do
    expect "f8 by $np ranks" ranks $np train -q -c 10 -g 0.5 --tile 512 --labels y.npy x8.npy npy8
    expect "the model of the text" cmp model1 npy8
    expect "f4 by $np ranks" ranks $np train -q -c 10 -g 0.5 --labels y.npy x4.npy npy4.$np
    expect "the same model of f4" cmp npy4.1 npy4.$np
    expect "f4 predicted by $np ranks" ranks $np predict --labels y.npy x4.npy model1 guesses
done
mv out score3
expect "f4 predicted alone" "$hinge" predict --labels y.npy x4.npy model1 truth
mv out score0
expect "the same of f4" cmp truth guesses
expect "the same accuracy of f4" cmp score0 score3
expect "scaled f4" ranks 3 train -q -c 10 -g 0.5 --scale 0,1 --labels y.npy x4.npy npys
ranks 2 train -q x8.npy none >said 2>&1
expect "no labels" grep -q "x8.npy: the file has no labels to train on; give --labels FILE.npy" said

# cross-validation: the lines of hinge train -v, and its rate but for examples where eps decides
names() { grep -Ev "^(examples|hinge: warning)" "$1" | cut -c 1-16; } # hinge train solves equal examples as one
rate() { sed -n 's/.*Accuracy = \(.*\)%.*/\1/p' "$1"; }
expect "folds alone" "$hinge" train -v 4 -c 10 -g 0.5 --seed 3 --scale -w yes=2 words
mv out folds0
for np in $sizes; do
    expect "folds by $np ranks" ranks $np train -v 4 -c 10 -g 0.5 --seed 3 --scale -w yes=2 words
    mv out folds$np
    expect "the same rate" awk -v a="$(rate folds0)" -v b="$(rate folds$np)" \
        'BEGIN { exit !(a > 50 && a - b < 0.2 && b - a < 0.2) }'
    expect "the same names of lines" test "$(names folds0)" = "$(names folds$np)"
    expect "the same line of folds" test "$(grep ^folds folds0)" = "$(grep ^folds folds$np)"
done
expect "quiet folds of values" ranks 2 train -q -v 3 -s 3 blobs
expect "their two lines" test "$(grep -c '^Cross Validation' out)" -eq 2 -a "$(wc -l <out)" -eq 2
ranks 2 train -v 3 --checkpoint state blobs >said 2>&1
expect "no checkpoint of folds" grep -q "leave out --checkpoint or -v, which trains no model" said

# probabilities and decision values
cp words1 model.p
expect "probabilities" "$hinge" calibrate -q model.p words
for options in "-b 1" "-b 1 --json"; do
    # shellcheck disable=SC2086
    "$hinge" predict $options other model.p table0 2>&1 | grep -Ev "seconds|threads" >said0
    for np in 1 3; do
        # shellcheck disable=SC2086
        ranks $np predict $options other model.p table$np 2>&1 | grep -Ev "seconds|threads" >said$np
        expect "predict $options by $np ranks" cmp table0 table$np
        expect "what it tells" cmp said0 said$np
    done
done
expect "decision values alone" "$hinge" predict -q --decisions values0 other model.p
expect "decision values by 3 ranks" ranks 3 predict -q --decisions values3 other model.p
paste -d ' ' values0 values3 >values # of three pairs of classes
# shellcheck disable=SC2016 # awk's own
expect "which are the same" awk '{ for (i = 1; i <= 3; i++) far += ($i - $(i + 3)) ^ 2 > 1e-8 }
    END { exit far || NR != 1500 || NF != 6 }' values
expect "a training with them" ranks 3 train -q -b 1 -c 10 -g 0.5 words model.b
expect "which tells them" ranks 2 predict -q -b 1 other model.b table.b
expect "as hinge train does" "$hinge" train -q -b 1 -c 10 -g 0.5 words model.b
expect "alone" "$hinge" predict -q -b 1 other model.b table.a
# shellcheck disable=SC2016 # awk's own
expect "or nearly" awk 'NR == FNR { for (i = 2; i <= NF; i++) p[FNR, i] = $i; next }
    FNR > 1 { for (i = 2; i <= NF; i++) far += ($i - p[FNR, i]) ^ 2 > 1e-3 } END { exit far > 0 }' table.a table.b
# the folds of a calibration have the ranges of all examples, as hinge train's, also where ranks have none of them
head -n 4 blobs >few
for data in blobs few; do
    expect "scaled probabilities of $data" "$hinge" train -q -b 1 --scale -c 10 -g 0.5 $data scaled.a
    expect "by 6 ranks" ranks 6 train -q -b 1 --scale -c 10 -g 0.5 $data scaled.b
    expect "which are the same" cmp scaled.a scaled.b
done
expect "ranges of a file where ranks have no examples" ranks 6 train -q --scale-restore ranges few model
ranks 2 predict -b 1 other words1 none >said 2>&1
expect "a model without probabilities" grep -q "words1: the model has no probabilities" said
expect "no table of them" test ! -e none

# features that the model has not count, as they do alone; a model of wide text tells which columns it takes
awk '{ print $0, "5:" NR % 3 / 2 }' blobs >broader
awk '{ printf "%s", $1; for (i = 1; i < 9; i++) printf " %d:%.2f", i * (NR * 7 % 90 + 1) * 99, $1 + (NR * i) % 5
    print "" }' blobs | head -n 400 >wide
expect "a model of wide text" "$hinge" train -q -g 0.1 wide model.wide
for words in "broader model1" "wide model.wide"; do
    # shellcheck disable=SC2086
    expect "$words alone" "$hinge" predict $words truth
    # shellcheck disable=SC2086
    expect "$words by 3 ranks" ranks 3 predict $words predicted
    expect "$words the same" cmp truth predicted
done

# start_long FOLDER MODEL RANKS: a training that takes half a minute and more, since it writes a checkpoint in each of
# its 10,000 rounds, once it has written one
start_long() {
    "$mpirun" -np "$3" "$hinge_mpi" train -q -c 1000 -g 20 -e 1e-9 --working-set 4 --checkpoint "$1" \
        --checkpoint-every 1e-9 blobs "$2" >long 2>&1 &
    mpirun_pid=$!
    for _ in $(seq 1200); do # two minutes, on a machine however busy
        [ -e "$1/problem-0.manifest" ] && break
        kill -0 $mpirun_pid 2>/dev/null || break
        sleep 0.1
    done
}

# one_rank FOLDER: a rank's process id, of those that write their checkpoints there
one_rank() {
    pgrep -f "^$hinge_mpi train .*--checkpoint $1 " | tail -n 1
}

# a signal ends a training, which saves what it has: SIGUSR1 to mpirun, SIGINT and SIGTERM to a rank, since mpirun would
# kill the ranks a while after
for signal in USR1 INT TERM; do
    mkdir "state.$signal"
    start_long "state.$signal" "saved.$signal" 2
    if [ $signal = USR1 ]; then kill -USR1 $mpirun_pid; else kill -$signal "$(one_rank "state.$signal")"; fi
    wait $mpirun_pid
    code=$?
    expect "SIG$signal: is told" grep -q "^hinge: interrupted; the best model so far is in saved.$signal" long
    # MPICH's mpirun ends with 0 where it passed the signal on, whatever the ranks' status
    expect "SIG$signal: a status" test $signal = USR1 -o $code -ne 0
    expect "SIG$signal: a model" "$hinge" predict -q blobs "saved.$signal" guesses
    expect "SIG$signal: which goes on" ranks 1 train -q -c 1000 -g 20 --checkpoint "state.$signal" blobs more
done

# the job script for Slurm, whose commands are stand-ins: when its time ends it asks for the queue, and goes on then
mkdir commands
cat >commands/srun <<END
#!/bin/sh
while [ "\${1#--}" != "\$1" ]; do shift; done # srun's options
shift # hinge-mpi
"$mpirun" -np 2 "$hinge_mpi" "\$@" &
for _ in \$(seq 600); do
    [ -e first ] || [ ! -e hinge-state.7/problem-0.manifest ] || break
    kill -0 \$! 2>/dev/null || break
    sleep 0.1
done
[ -e first ] || kill -USR1 "\$(pgrep -f "^$hinge_mpi train .*--checkpoint hinge-state.7 " | tail -n 1)"
wait \$!
code=\$?
[ -e first ] || code=130 # which not all mpiruns pass on
touch first
exit \$code
END
printf '#!/bin/sh\necho "$@" >asked\n' >commands/scontrol
chmod +x commands/*
# job OPTION...: the script, as sbatch starts it
job() {
    PATH=$PWD/commands:$PATH SLURM_JOB_ID=7 SLURM_CPUS_PER_TASK=1 timeout 300 sh "$source/examples/train.sbatch" blobs \
        job.model -c 1000 -g 20 --tile 512 "$@"
}
job -e 1e-9 --working-set 4 --checkpoint-every 1e-9 >out 2>&1
expect "a job whose time ends" test $? = 130
expect "goes back into the queue" test "$(cat asked)" = "requeue 7"
expect "with its state" test -e hinge-state.7/problem-0.manifest
rm asked
expect "then it goes on" job
mv out said
expect "from there" grep -q "^path .*from a checkpoint" said
expect "to the end" test ! -e asked -a ! -e hinge-state.7 -a -s job.model
job -x >said 2>&1
expect "what is wrong is said" grep -q "hinge-mpi ended with .*; the state is in hinge-state.7" said

# a grid: what hinge grid finds, by as many ranks as there are kernels
lists="--list c=1,10 --list g=0.1,0.5,2 -v 3 --drop none"
# shellcheck disable=SC2086
expect "a grid alone" "$hinge" grid $lists --out points0 blobs best0
mv out grid0
# shellcheck disable=SC2086
expect "a grid by 3 ranks" ranks 3 grid $lists --out points3 blobs best3
mv out grid3
expect "the same table" test "$(tail -n 4 grid0)" = "$(tail -n 4 grid3)"
expect "as many lines" test "$(grep -c '^\[local\]' grid0)" = "$(grep -c '^\[local\]' grid3)"
expect "the same model of the best" cmp best0 best3
sort points0 >points.a
sort points3 >points.b
expect "the same file of points" cmp points.a points.b
# rows that are dealt: all ranks train one fold after the other
for np in $sizes; do
    # shellcheck disable=SC2086
    expect "a grid of dealt rows by $np ranks" ranks $np grid --deal $lists -e 1e-4 --fold-tolerance 1e-4 --scale \
        --out dealt$np blobs bestd$np
done
# shellcheck disable=SC2086
expect "alone" "$hinge" grid $lists -e 1e-4 --fold-tolerance 1e-4 --scale --out dealt0 blobs bestd0
mv out said
for np in $sizes; do
    sort dealt$np >points.b
    sort dealt0 >points.a
    expect "the same points of data that are the same" cmp points.a points.b
    expect "the same model of the dealt best" cmp bestd1 bestd$np
done
# shellcheck disable=SC2086
expect "a grid that goes on" ranks 3 grid --deal $lists -e 1e-4 --fold-tolerance 1e-4 --scale --resume dealt3 \
    --out dealt.again blobs
mv out told
expect "its line" test "$(tail -n 1 said)" = "$(tail -n 1 told)"
expect "no point is tried again" test "$(grep -c '^\[local\]' told)" = 0
expect "no more than grids take" test "$(ranks 1 grid --help | grep -c checkpoint)" = 0

# a bad line in the last rank's part: one message, of the line of the whole file
cp blobs bad
echo "1 2:x" >>bad
ranks 3 train -q bad none >said 2>&1
expect "a status" test $? -ne 0
expect "one message" test "$(grep -c "bad:1501: " said)" = 1
expect "no model" test ! -e none

# what one rank alone cannot do ends all, and is told once, with its rank: it lacks a file, has another one, has no memory
cat >alone <<END
#!/bin/sh
[ "\${OMPI_COMM_WORLD_RANK-\$PMI_RANK}" != 1 ] || { cd elsewhere && ulimit -v "\$LIMIT"; }
exec "$hinge_mpi" "\$@"
END
chmod +x alone
mkdir elsewhere
sed 's/.*/1/' blobs >weights

# one_ends MESSAGE ARGUMENTS...: the message that 3 ranks end with, of which one is in another folder
one_ends() {
    message=$1
    shift
    LIMIT=${LIMIT-unlimited} timeout 60 "$mpirun" -np 3 ./alone "$@" >said 2>&1
    code=$?
    expect "$*: ends" test $code -ne 0 -a $code -ne 124
    expect "$*: is told once" test "$(grep -c "^hinge: " said)" = 1
    expect "$*: and how" grep -q "^hinge: $message (rank 1 on .*)\$" said
}

one_ends "blobs: No such file or directory" train -q blobs none
one_ends "blobs: No such file or directory" grid -q --list c=1 blobs
one_ends "model1: No such file or directory" predict blobs model1 none
head -n 1000 blobs >elsewhere/blobs
one_ends "blobs: [0-9]* bytes here, and [0-9]* where the first reader is" train -q blobs none
cp blobs elsewhere
one_ends "weights: No such file or directory" train -q --weights weights blobs none
one_ends "ranges: cannot read: No such file or directory" train -q --scale-restore ranges blobs none
for _ in $(seq 30); do cat numbers; done >elsewhere/many # rows of 2.5 GB a rank, of which none comes to be
cp elsewhere/many many
LIMIT=2000000 one_ends "no memory for a kernel row cache of [0-9]* bytes" train -q -s 3 -m 30000 --tile 512 many none
expect "no model where a rank ends" test ! -e none

# what cannot be written is found by rank 0 alone, and ends the others
for words in "train -q blobs state.d" "train -q blobs blobs" "predict -q blobs model1 model1"; do
    mkdir -p state.d
    # shellcheck disable=SC2086
    ranks 2 $words >said 2>&1
    code=$?
    expect "$words: ends before its time" test $code -ne 0 -a $code -ne 124
    expect "$words: says why" grep -q "^hinge: ${words##* }: cannot write" said
done
expect "the model is as it was" cmp model1 model3

# a rank is killed on its way, which ends the others; on with two
mkdir state
start_long state none 3
kill -9 "$(one_rank state)"
wait $mpirun_pid 2>/dev/null
expect "a checkpoint" test -e state/problem-0.manifest
expect "the rest by 2 ranks" ranks 2 train -q -c 1000 -g 20 --checkpoint state blobs rest
expect "its state is gone with the model saved" test ! -e state/problem-0.manifest
expect "all by 2 ranks" ranks 2 train -q -c 1000 -g 20 blobs whole
"$hinge" predict -q blobs rest a && "$hinge" predict -q blobs whole b
expect "as good a model" test "$(diff a b | grep -c '^<')" -le 2

end
