#!/bin/sh
# Ranks of hinge-mpi that are killed at random moments: what goes on from their checkpoints, with another number of
# ranks, ends with the model of a training that nobody disturbed.
# usage: test_kills.sh HINGE_MPI HINGE MPIRUN. Ends with 0, 1 if a check failed, 77 if there is no mpirun.
# Four are killed, 10 where CI=true, 100 where HINGE_CI=all.

hinge_mpi=$1 hinge=$2 mpirun=$3
command -v "$mpirun" >/dev/null 2>&1 || { echo "no mpirun to start ranks with"; exit 77; }
for program in "$hinge_mpi" "$hinge"; do
    [ -x "$program" ] || { echo "no program at '$program'"; exit 1; }
done
hinge_mpi=$(realpath "$hinge_mpi") hinge=$(realpath "$hinge")
. "$(dirname "$0")/outside.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mpi_yield_when_idle=1 LC_ALL=C OMP_WAIT_POLICY=passive HWLOC_HIDE_ERRORS=2 UCX_LOG_LEVEL=fatal
if ! timeout 120 "$mpirun" -np 2 "$hinge_mpi" --version >out 2>&1; then
    echo "$mpirun starts no ranks here: $(head -n 1 out)"
    exit 77
fi
kills=4
[ "${CI-}" != true ] || kills=10
[ "${HINGE_CI-}" != all ] || kills=100

awk 'BEGIN { srand(1); for (i = 0; i < 1500; i++) { y = rand() < 0.5 ? -1 : 1
    printf "%d 1:%.4f 2:%.4f 3:%.4f\n", y, y * 0.4 + rand() * 2, rand(), rand() * y } }' >blobs

# train RANKS MODEL: a training of some 30 rounds that keeps its state after each. Open MPI's mpirun may wait for itself
# for ever where a rank is killed, when all ranks have ended.
train() {
    # shellcheck disable=SC2086 # words, or none
    exec timeout -k 10 100 "$mpirun" -np "$1" "$hinge_mpi" train -c 100 -g 5 -e 1e-6 --working-set 64 $way --threads 1 \
        --checkpoint state --checkpoint-every 1e-9 blobs "$2"
}

# random N: the next of the random numbers, below N
seed=${HINGE_SEED-20261127}
echo "# seed $seed"
random() {
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    draw=$((seed / 65536 % $1))
}

mkdir state
way="--tile 512" # rows are dealt
began=$(date +%s%N)
(train 2 whole) >out 2>&1
took=$((($(date +%s%N) - began) / 1000000)) # milliseconds
if [ -e whole ]; then ok "the model that nobody disturbed"; else not_ok "the model that nobody disturbed" out; fi
"$hinge" predict -q --decisions truth blobs whole

killed=0 gone_on=0
for trial in $(seq $kills); do
    ranks=$((trial % 3 + 1))
    way="--tile 512"
    [ $((trial % 2)) = 0 ] || way="" # they are shared
    (train $ranks "model$trial") >long 2>&1 &
    mpirun_pid=$!
    random $took
    after=$draw
    sleep "$((after / 1000)).$(printf %03d $((after % 1000)))"
    random $ranks
    rank=$(pgrep -f "^$hinge_mpi train .* model$trial\$" | sed -n "$((draw + 1))p")
    [ -z "$rank" ] || kill -9 "$rank" 2>/dev/null
    wait $mpirun_pid 2>/dev/null
    if [ ! -e "model$trial" ]; then
        killed=$((killed + 1))
        (train $(((trial + draw) % 3 + 1)) "model$trial") >out 2>&1
        gone_on=$((gone_on + $(grep -c "^path .*from a checkpoint" out)))
    fi
    "$hinge" predict -q --decisions values blobs "model$trial"
    # shellcheck disable=SC2016 # awk's own
    if paste truth values | awk '{ far += ($1 - $2) ^ 2 > 1e-8 || $1 * $2 < 0 } END { exit far || NR != 1500 }'; then
        ok "trial $trial: $ranks ranks, one killed after $after ms: the same model"
    else
        not_ok "trial $trial: the same model" out
    fi
    if ls state/problem-* >left 2>/dev/null; then not_ok "trial $trial: its state is gone" left; fi
done
echo "# $killed of $kills trainings were killed, $gone_on went on from a checkpoint"
end
