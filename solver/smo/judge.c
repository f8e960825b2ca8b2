/*
 * What a round's violation means for the run: whether it goes on, is corrected, is left to Newton, or ends. Read run.h
 * before. It ends, the first that is so:
 *
 *   halted                                      as the halt says
 *   a violation that is not finite              NONFINITE
 *   rows whose error outweighs it               STALLED, coarse: rows in f64 may get further
 *   at most eps, proven in f64                  CONVERGED
 *   so it seems, but no correction proves it    STALLED, coarse
 *   steps as many as were given                 MAX_ITER
 *   no progress for long, by Newton neither     STALLED, coarse
 */
#include "solver/smo/run.h"

#include <string.h>

enum {
    LOOK = 32,     /* rounds, after which the error of rows that are not exact is looked at */
    AHEAD = 20,    /* and on the way, at so many times the violation to be reached */
    MAX_CHECKS = 8 /* that find the violation larger than it seemed, before the gradient is corrected */
};

/* ---- the Newton finish ------------------------------------------------------------------------------------------- */

bool hg_is_out_of_steps(const struct hg_run *r)
{
    return r->opt->max_iter > 0 && r->report->iterations >= r->opt->max_iter;
}

static bool may_use_newton(const struct hg_run *r)
{
    return r->opt->newton_bytes > 0 && !r->qp->no_sum && !hg_is_out_of_steps(r); /* its systems hold the sums */
}

bool hg_run_wants_newton(struct hg_run *r, uint64_t steps)
{
    double low = INFINITY, high = -INFINITY, violation = r->report->violation;
    if (!may_use_newton(r) || hg_is_stopped(r))
        return false;
    r->newton.work +=
        r->store.work * (double)r->m + (double)r->in_w * (2 * (double)steps + (1 + r->rows->cost) * (double)r->n_fresh);
    if (r->in_w < r->m && !hg_looks_around(r))
        return false;
    for (size_t at = 0; at < r->m; at++) {
        double f = r->g[at] + r->qp->off[0][r->active[at]];
        low = HG_MIN(low, f);
        high = HG_MAX(high, f);
    }
    return hg_newton_is_due(&r->newton, r->qp, r->exact, violation, high - low, r->target);
}

static void newton_progress(void *arg, double violation)
{
    struct hg_run *r = arg;
    r->report->rounds++;
    r->report->violation = violation;
    hg_report_progress(r);
}

hinge_status hg_run_newton(struct hg_run *r, double most_work)
{
    struct hg_newton_result result;
    /* its own: what the arena holds depends on which problems ran there before */
    size_t rows = r->store.cache.most_bytes;
    uint64_t rounds = r->report->rounds;
    double *g = r->sv_coef, begin = hg_now(), violation = r->report->violation;
    struct hg_newton_options options = {
        .eps = r->target,
        .bytes = r->opt->newton_bytes - HG_MIN(r->opt->newton_bytes, rows),
        .most_work = most_work,
        .max_steps = r->opt->max_iter > 0 ? r->opt->max_iter - r->report->iterations : 0,
        .threads = r->opt->threads,
        .cpu_level = r->opt->cpu_level,
        .halt = r->halt,
        .progress = newton_progress,
        .progress_arg = r
    };
    hinge_status status = hg_newton_finish(r->qp, r->exact, g, &options, &result);
    hg_newton_tell(&r->newton, &result);
    r->report->phase.newton += hg_now() - begin;
    r->report->newton_steps += result.systems;
    r->report->newton_no_room = result.end == HG_NEWTON_NO_ROOM ? result.bytes : 0;
    r->report->iterations += result.systems + result.steps;
    r->report->violation = violation;
    r->best_round += r->report->rounds - rounds;
    if (result.end != HG_NEWTON_NO_ROOM)
        r->newton_bytes = HG_MAX(r->newton_bytes, result.bytes);
    if (status != HINGE_OK || !result.gained)
        return status;
    r->m = r->n;
    hg_store_extend(&r->store, r->n);
    r->unseen = 0;
    hg_gather(g, sizeof *g, r->active, r->n, r->g);
    for (size_t at = 0; at < r->n; at++)
        hg_set_offsets(r, at);
    r->objective = hg_qp_objective(r->qp, g);
    r->best = INFINITY;
    hg_scan(r);
    return HINGE_OK;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

static hinge_status end_with(struct hg_run *r, hinge_outcome outcome)
{
    r->ended = true;
    r->report->outcome = outcome;
    return HINGE_OK;
}

double hg_recompute_objective(struct hg_run *r)
{
    double *by_point = r->sv_coef;
    for (size_t at = 0; at < r->n; at++)
        by_point[r->active[at]] = r->g[at];
    return hg_qp_objective(r->qp, by_point);
}

/* The violation is small enough: is it so for all points, and are the rows exact enough to say so? */
static hinge_status verify(struct hg_run *r)
{
    hinge_report *report = r->report;
    bool proven = false;
    if (r->m < r->n)
        return hg_wake(r);
    HG_TRY(hg_prove(r, &proven));
    if (hg_is_stopped(r))
        return HINGE_OK;
    if (proven)
        return end_with(r, HINGE_CONVERGED);
    if (report->violation > r->opt->eps && ++r->checks % MAX_CHECKS != 0)
        return HINGE_OK; /* the points that decide are exact now, and say that there is more to do */
    double left = r->opt->eps - 2.2 * report->error;
    if (left >= 0.25 * r->opt->eps && r->target > 1.05 * left) { /* cheaper than a gradient in f64 */
        r->target = left;
        return HINGE_OK;
    }
    if (report->corrections < HG_MAX_CORRECTIONS)
        return hg_correct_gradient(r);
    r->res->coarse = !r->exact_rows;
    return end_with(r, HINGE_STALLED);
}

/* On the way: where the rows' error will not do in the end, the active gradient is corrected while it is still far from
 * the goal, and what follows is not done twice. */
static hinge_status look_ahead(struct hg_run *r)
{
    r->looked = true;
    HG_TRY(hg_measure_error(r));
    if (!hg_is_stopped(r) && r->report->error > r->opt->eps)
        HG_TRY(hg_correct_gradient(r));
    r->report->error = NAN;
    return HINGE_OK;
}

void hg_keep(struct hg_run *r)
{
    if (!(r->objective + HG_CERTAIN * r->noise <= r->kept.objective))
        return;
    r->kept.objective = r->objective;
    r->kept.violation = r->report->violation;
    for (int l = 0; l < r->qp->layers; l++) {
        memcpy(r->kept.beta[l], r->qp->beta[l], r->n * sizeof(double));
        r->kept.bias[l] = hg_qp_bias(r->qp, r->active, r->m, r->g, l);
    }
}

/* The gradient of all points in f64, added up in two orders: what they differ by is the noise of the objective. */
static hinge_status recompute(struct hg_run *r)
{
    double *other = r->up[0]; /* set anew below */
    if (r->m < r->n)
        hg_store_extend(&r->store, r->n);
    r->m = r->n;
    hinge_status status = hg_compute_gradient(r, r->exact, 0, true);
    memcpy(other, r->g, r->n * sizeof *other);
    if (status == HINGE_OK && !hg_is_stopped(r))
        status = hg_compute_gradient(r, r->exact, 0, false);
    r->torn = status != HINGE_OK || hg_is_stopped(r);
    r->noise = 0;
    for (size_t at = 0; at < r->n; at++) {
        r->noise += fabs(hg_qp_beta(r->qp, r->active[at]) * (r->g[at] - other[at]));
        hg_set_offsets(r, at);
    }
    return status;
}

/* No progress for long, or so it seems: the gradient and the objective anew say whether it is so. Rounding is none. */
static hinge_status look_back(struct hg_run *r)
{
    HG_TRY(recompute(r));
    if (r->torn)
        return HINGE_OK;
    hg_scan(r);
    r->objective = hg_recompute_objective(r);
    hg_keep(r);
    r->last_objective = r->objective;
    return HINGE_OK;
}

/* What takes time and is no round. */
static hinge_status in_checks(struct hg_run *r, hinge_status (*check)(struct hg_run *r))
{
    double begin = hg_now();
    hinge_status status = check(r);
    r->report->phase.certificate += hg_now() - begin;
    return status;
}

/* Whether a run that is neither there nor stopped has gained anything for long. */
static hinge_status look_for_progress(struct hg_run *r)
{
    hinge_report *report = r->report;
    uint64_t patience = r->in_w == r->n ? HG_STALL_WHOLE : HG_STALL_ROUNDS + r->n / r->q;
    bool enough = hg_has_worked_enough(r), better = report->violation < 0.999 * r->best;
    if (enough || (!better && report->rounds - r->best_round > patience)) {
        double before = r->last_objective;
        HG_TRY(in_checks(r, look_back));
        if (hg_is_stopped(r) || !isfinite(report->violation) || report->violation <= r->target)
            return hg_judge(r);
        better = before - r->objective > r->noise;
        if ((enough || !better) && !r->resorted && may_use_newton(r)) {
            r->resorted = true;
            return hg_run_newton(r, hg_newton_granted(&r->newton, r->qp, r->exact));
        }
        if (enough || !better) {
            r->res->coarse = !r->exact_rows; /* f64 rows may get further */
            return end_with(r, HINGE_STALLED);
        }
    }
    if (better) {
        r->best = report->violation;
        r->best_round = report->rounds;
    }
    return HINGE_OK;
}

/* Rows are not exact, and their errors add up in gradients of points outside W. */
static bool may_err(const struct hg_run *r)
{
    return r->rows != r->exact && r->in_w < r->m;
}

bool hg_is_broken_off(struct hg_run *r)
{
    if (hg_is_stopped(r))
        r->report->outcome = hg_halt_outcome(&r->halt);
    else if (!isfinite(r->report->violation))
        r->report->outcome = HINGE_NONFINITE;
    else
        return false;
    return true;
}

hinge_status hg_judge(struct hg_run *r)
{
    hinge_report *report = r->report;
    r->ended = hg_is_broken_off(r);
    if (r->ended)
        return HINGE_OK;
    if (may_err(r) && (report->rounds + 1) % LOOK == 0) {
        HG_TRY(in_checks(r, hg_look_at_rows));
        if (r->res->coarse)
            return end_with(r, HINGE_STALLED);
    }
    if (report->violation <= r->target) {
        size_t m = r->m;
        int corrections = report->corrections;
        HG_TRY(in_checks(r, verify));
        bool changed = m != r->m || corrections != report->corrections || hg_is_stopped(r);
        if (changed && !r->ended && report->violation <= r->target)
            return hg_judge(r);
        if (changed || r->ended || report->violation <= r->target)
            return HINGE_OK;
        r->looked = true; /* and whether there is progress from here on is asked as ever */
    }
    if (!r->looked && report->violation <= AHEAD * r->target && may_err(r)) {
        HG_TRY(in_checks(r, look_ahead));
        /* no other W: the bias may have to come from this one */
        return hg_is_stopped(r) ? hg_judge(r) : HINGE_OK;
    }
    if (hg_is_out_of_steps(r) || (r->opt->leaves != NULL && r->opt->leaves(r->opt->leaves_arg, report->iterations)))
        return end_with(r, HINGE_MAX_ITER);
    return look_for_progress(r);
}
