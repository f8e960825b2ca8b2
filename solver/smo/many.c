/*
 * Many problems on one Gram, in turn. Read many.h and lane.h before.
 *
 * hg_many_solve takes up to HG_LANES problems at a time and goes in turns. In a turn each lane makes rounds, by one
 * thread, for as long as the pool has the rows of what it moved (hg_lane_run): they are added at the beginning of its
 * next round, so a lane that lacks some stops there, and goes on at the same place. Then one thread asks the pool for
 * the rows of all lanes, in their order, and all threads make them (make_lacking). The pool changes in between alone,
 * and which rows a lane finds depends on the lanes before it and not on the threads.
 *
 * Problems that make their rows apart (many->apart) lack none, and share nothing but the source: they go on by the
 * store of their own, which keeps no rows.
 */
#include "lib/base/team.h"
#include "solver/smo/lane.h"

#include <string.h>

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

/* Makes what does not depend on the source. Lanes come and go with their K_WW, and hg_let_heap_stay has the heap keep
 * their pages, which spares grids of small problems nearly half of their processor time (doc/tried.md). */
hinge_status hg_many_init(struct hg_many *many, size_t n, int threads, int cpu_level, size_t bytes, hinge_error *err)
{
    memset(many, 0, sizeof *many);
    many->n = n;
    many->threads = threads;
    many->cpu_level = cpu_level;
    hg_let_heap_stay();
    hinge_status status = hg_pool_init(&many->pool, n, bytes, err);
    HG_THEN(status, HG_MAKE(err, "many problems", HG_ZEROS(many->supports, n), HG_ARRAY(many->diagonal, n),
                            HG_ARRAY(many->size, n)));
    if (status != HINGE_OK)
        hg_many_free(many);
    return status;
}

void hg_many_free(struct hg_many *many)
{
    hg_pool_free(&many->pool);
    hg_free(many->supports);
    many->supports = NULL;
}

/* Takes a source, and decides whether problems make their own rows: where a value costs less than a read, and points
 * are so many that shrinking pays; grids of fewer would take a fifth more time (doc/tried.md). The diagonal is made
 * once for all problems. */
hinge_status hg_many_take(struct hg_many *many, struct hg_rows *rows, struct hg_rows **own, hinge_error *err)
{
    many->own = own;
    many->apart = rows->cost < 1 && many->n > HG_SMALL;
    hg_pool_take(&many->pool, rows);
    many->exact = NULL;
    memset(many->supports, 0, many->n);
    hinge_status status = hg_rows_diagonal(rows, many->diagonal, many->size);
    return status == HINGE_OK ? status : hg_fail(err, status, "the kernel failed on the diagonal");
}

/* Counts what the solutions have marked (hg_lane_end): how many different rows any of them needs. */
size_t hg_many_supports(const struct hg_many *many)
{
    size_t count = 0;
    for (size_t i = 0; i < many->n; i++)
        count += many->supports[i];
    return count;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Frees the lane that a problem has kept. A lane's K_WW is of the source that was there when it was made, and must be
 * gone before another is taken. */
void hg_many_forget(struct hg_many *many, struct hg_many_problem *problem)
{
    if (problem->lane == NULL)
        return;
    many->kept_bytes -= hg_lane_bytes(problem->lane);
    hg_lane_free(problem->lane);
    problem->lane = NULL;
}

/* Makes the rows that problems wait for; where there is no room for those of all, of the first of them, so that at
 * least one goes on. Problems that move more points at once than there are slots ask for none: update_alone serves
 * them. */
static hinge_status make_lacking(struct hg_many *many, struct hg_lane *const *lane, size_t lanes,
                                 const struct hg_halt *halt)
{
    double begin = hg_now();
    hg_pool_begin(&many->pool);
    for (size_t k = 0; k < lanes; k++)
        if (lane[k]->n_moves <= many->pool.cache.n_slots && !hg_pool_ask(&many->pool, lane[k]->point, lane[k]->n_moves))
            break;
    hinge_status status = hg_pool_make(&many->pool, halt);
    many->seconds += hg_now() - begin;
    return status;
}

struct lanes {
    struct hg_many *many;
    struct hg_lane *const *lane;
};

static void run_one(void *arg, int thread, size_t k, size_t end)
{
    const struct lanes *l = arg;
    (void)end;
    l->lane[k]->view.thread = l->lane[k]->exact.thread = thread;
    hg_lane_run(l->lane[k], l->many);
}

/* Runs all lanes side by side, each by one thread, until each of them ends or lacks a row. The status is that of the
 * first lane that failed, by number, whichever was first in time. Problems' reports tell how far they are, for the
 * caller's progress. */
static hinge_status run_lanes(struct hg_many *many, struct hg_lane *const *lane, size_t lanes)
{
    hg_share(many->threads, lanes, 1, run_one, &(struct lanes){ many, lane });
    hinge_status status = HINGE_OK;
    for (size_t k = 0; k < lanes && status == HINGE_OK; k++) {
        status = lane[k]->status;
        lane[k]->problem->report = lane[k]->result.report;
        lane[k]->problem->report.objective = lane[k]->run.course.objective;
    }
    return status;
}

/* Ends problems that are done, and all where rows that they wait for will not come; returns how many are left, which
 * are the first of lane then. The most memory that lanes have taken at once is noted before any is freed. */
static size_t end_lanes(struct hg_many *many, struct hg_lane **lane, size_t lanes, const struct hg_halt *halt)
{
    size_t left = 0, bytes = many->kept_bytes;
    for (size_t k = 0; k < lanes; k++)
        bytes += hg_lane_bytes(lane[k]);
    many->most_bytes = HG_MAX(many->most_bytes, bytes);
    for (size_t k = 0; k < lanes; k++)
        if (lane[k]->done || hg_halted(halt)) {
            lane[k]->result.report.outcome = lane[k]->done ? lane[k]->result.report.outcome : hg_halt_outcome(halt);
            hg_lane_end(lane[k], many);
        } else
            lane[left++] = lane[k];
    return left;
}

/* Keeps up to HG_LANES problems in work: more of them share a row that is made, and take more memory. New ones begin in
 * the order of the list as others end. After a failure all that are in work lose their lanes: their g is of no use. */
hinge_status hg_many_solve(struct hg_many *many, struct hg_many_problem *const *problem, size_t count, double eps,
                           uint64_t max_iter, const struct hg_halt *halt, hinge_error *err)
{
    struct hg_smo_options options = { .eps = eps, .max_iter = max_iter, .halt = *halt };
    struct hg_lane *lane[HG_LANES];
    size_t lanes = 0, next = 0;
    hinge_status status = HINGE_OK;
    while (status == HINGE_OK && (lanes > 0 || next < count)) {
        for (; lanes < HG_LANES && next < count && status == HINGE_OK; next++) {
            status = hg_lane_begin(&lane[lanes], many, problem[next], &options, err);
            lanes += status == HINGE_OK;
        }
        if (status != HINGE_OK)
            break;
        status = run_lanes(many, lane, lanes);
        if (status == HINGE_OK) {
            lanes = end_lanes(many, lane, lanes, halt);
            status = many->apart ? status : make_lacking(many, lane, lanes, halt);
        }
        if (status != HINGE_OK)
            hg_fail(err, status, "the kernel function failed, or there is no memory for its values");
        hg_poll_halt(halt);
    }
    for (size_t k = 0; k < lanes; k++) {
        lane[k]->problem->lane = NULL;
        hg_lane_free(lane[k]);
    }
    return status;
}

/* Goes on with the last range where the point follows it, and begins a new one otherwise; a range that is begun has
 * room in `range`, which is the caller's. */
size_t hg_add_to_ranges(struct hg_range *range, size_t count, size_t point)
{
    if (count == 0 || point != (size_t)range[count - 1].first + range[count - 1].count)
        range[count++] = (struct hg_range){ (uint32_t)point, 0 };
    range[count - 1].count++;
    return count;
}
