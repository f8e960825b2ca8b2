/*
 * Processes that solve one problem together. All hold its points and make the same steps; what they share is the making
 * of rows: of a sum of rows each has the columns of some tiles made, and then all bring each other theirs. Tiles are
 * dealt in turn, and what a tile's values are does not depend on how many processes there are. So all come to the same
 * bits, and to those that one process alone has. The library knows no way to reach a process: whoever opens a training
 * by peers gives the verbs (mpi/shared.c).
 */
#ifndef HG_PEERS_H
#define HG_PEERS_H

#include "lib/base/base.h"

struct hg_qp;

struct hg_peers {
    size_t rank, count;
    size_t memory;       /* that each has for rows and systems where the caller names no budget, bytes */
    double deadline;     /* on hg_now's clock, or 0; and */
    int wish;            /* 0, or this process's reason to halt: all halt for it when they meet next */
    uint64_t met;        /* how often all have met */
    uint64_t spared;     /* kernel values that others made, and this one did not */
    hinge_status failed; /* that all have agreed on, and ended with */
    hinge_error err;     /* what it was, of the first that failed; before that, of this one, where it knows */
    void *arg;
    /* Agrees with all on a status; where some process wishes to halt, *halt is set for all (NULL: it waits). Then sums
     * [n], dealt in tiles of `grain`, become whole (n = 0: no more than that), and *values is added up over all. */
    hinge_status (*bring)(struct hg_peers *peers, hinge_status status, const struct hg_halt *halt, uint64_t *values,
                          double *sums, size_t n, size_t grain);
    /* Collects bytes of all processes, in their order: *all of *total bytes, to be freed by hg_free. */
    hinge_status (*collect)(struct hg_peers *peers, const void *mine, size_t bytes, void **all, size_t *total);
    /* NULL, or keeps a problem's coefficients outside of the training: after each round where that is due, and `now`.
     * Whoever solves the problem calls it, from any thread. What fails does so for all when they meet next; false:
     * there is no sense in going on. */
    bool (*keep)(struct hg_peers *peers, size_t problem, const struct hg_qp *qp, bool now);
    /* Takes what was kept by an earlier training, if there is any. */
    hinge_status (*take)(struct hg_peers *peers, size_t problem, struct hg_qp *qp, bool *found, hinge_error *err);
};

/* Returns how many of n columns are in tiles of process `rank`, the last of which may be narrower. */
static inline size_t hg_peers_columns(const struct hg_peers *peers, size_t rank, size_t n, size_t grain)
{
    size_t whole = n / grain, mine = whole / peers->count + (rank < whole % peers->count);
    return mine * grain + (rank == whole % peers->count ? n % grain : 0);
}

/* Returns which of things, the largest first, is the k-th of one of `count` processes: they draw in turn, from the
 * first to the last and back again. */
static inline size_t hg_drawn(size_t rank, size_t count, size_t k)
{
    return k * count + (k % 2 == 0 ? rank : count - 1 - rank);
}

/* Says whether the k-th of things that peers take in turn is this process's. */
static inline bool hg_peers_mine(const struct hg_peers *peers, size_t k)
{
    return k % peers->count == peers->rank;
}

#endif
