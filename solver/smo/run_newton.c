/*
 * How a run takes the Newton finish (newton.h): when it is due, and what is known of the run once it has been there.
 * Read run.h before.
 */
#include "solver/smo/run.h"

bool hg_may_use_newton(const struct hg_run *r)
{
    /* its systems hold the sums */
    return r->opt->newton_bytes > 0 && !r->qp->no_sum && !hg_is_out_of_steps(&r->course);
}

/* Looks now and then only at the range of F, by which a violation is near or far, as it takes a pass over the active
 * points; but where W is all of them: there a round is a whole run. */
bool hg_run_wants_newton(struct hg_run *r)
{
    const struct hg_active *a = &r->active;
    double low = INFINITY, high = -INFINITY, violation = r->report->violation;
    if (!hg_may_use_newton(r) || hg_is_stopped(r))
        return false;
    if (r->w.n < a->m && !hg_looks_around(r))
        return false;
    for (size_t at = 0; at < a->m; at++) {
        double f = a->g[at] + r->qp->off[0][a->point[at]];
        low = HG_MIN(low, f);
        high = HG_MAX(high, f);
    }
    return hg_newton_is_due(&r->newton, r->qp, r->exact, violation, high - low, r->course.target);
}

/* Counts a face as a round, and tells the callback of the block's violation. */
static void newton_progress(void *arg, double violation)
{
    struct hg_run *r = arg;
    r->report->rounds++;
    r->report->violation = violation;
    hg_report_progress(r);
}

/* Lets the finish go on from beta, by rows in f64, with the memory that the rows in the cache leave. Its rounds are
 * none of patience's: best_round and best_work move with them. Where it gains, g of all points is in f64, the points at
 * rest are active, and nothing that was known to be wrong about g holds any more; where it does not, beta and g are as
 * they were. */
hinge_status hg_run_newton(struct hg_run *r, double most_work)
{
    struct hg_newton_result result;
    /* Counts the run's own rows alone: what the arena holds depends on which problems ran there before. */
    size_t rows = r->store.cache.most_bytes;
    uint64_t rounds = r->report->rounds;
    double *g = r->spare.coef, begin = hg_now(), violation = r->report->violation;
    struct hg_newton_options options = { .eps = r->course.target,
                                         .bytes = r->opt->newton_bytes - HG_MIN(r->opt->newton_bytes, rows),
                                         .most_work = most_work,
                                         .max_steps =
                                             r->opt->max_iter > 0 ? r->opt->max_iter - r->report->iterations : 0,
                                         .threads = r->opt->threads,
                                         .cpu_level = r->opt->cpu_level,
                                         .halt = r->halt,
                                         .progress = newton_progress,
                                         .progress_arg = r,
                                         .told = r->opt->live != NULL ? &r->opt->live->newton_steps : NULL };
    if (r->opt->live != NULL) {
        r->opt->live->newton = 1;
        r->opt->live->newton_steps = 0;
    }
    hg_face_free(&r->w.face); /* made anew where it is needed again */
    hinge_status status = hg_newton_finish(r->qp, r->exact, g, &options, &result);
    hg_newton_tell(&r->newton, &result);
    if (r->opt->live != NULL)
        r->opt->live->newton = 0;
    r->report->phase.newton += hg_now() - begin;
    r->report->newton_steps += result.systems;
    r->res->work += result.work;
    r->report->newton_no_room = result.end == HG_NEWTON_NO_ROOM ? result.bytes : 0;
    r->report->iterations += result.systems + result.steps;
    r->report->violation = violation;
    r->course.best_round += r->report->rounds - rounds;
    r->course.best_work += result.work;
    if (result.end != HG_NEWTON_NO_ROOM)
        r->newton_bytes = HG_MAX(r->newton_bytes, result.bytes);
    if (status != HINGE_OK || !result.gained)
        return status;
    hg_activate_all(r);
    r->doubts.unseen = 0;
    hg_gather(g, sizeof *g, r->active.point, r->n, r->active.g);
    for (size_t at = 0; at < r->n; at++)
        hg_set_offsets(r, at);
    r->course.objective = hg_qp_objective(r->qp, g);
    r->course.best = INFINITY;
    hg_scan(r);
    return HINGE_OK;
}
