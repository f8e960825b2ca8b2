/* What the rules (rules.h) ask of a run of its own, and of a problem among many. Read run.h before. */
#include "solver/smo/run.h"

#include <string.h>

enum { ERRS_MORE = 8 }; /* times the error of the first problem is more than another one near its solution has */

/* ---- work -------------------------------------------------------------------------------------------------------- */

/* Counts the round's work in reads of a value: rows for m active points, two rows of K_WW a step, and the fresh rows of
 * K_WW. */
void hg_count_work(struct hg_run *r, uint64_t steps)
{
    double of_fresh = (1 + r->rows->cost) * (double)r->w.n_fresh;
    double work = r->store.work * (double)r->active.m + (double)r->w.n * (2 * (double)steps + of_fresh) +
                  r->w.face.work;
    r->newton.work += work;
    r->res->work += work;
}

/* ---- the objective ----------------------------------------------------------------------------------------------- */

/* Brings g from positions to points, as hg_qp_objective takes it. */
double hg_recompute_objective(struct hg_run *r)
{
    double *by_point = r->spare.coef;
    for (size_t at = 0; at < r->n; at++)
        by_point[r->active.point[at]] = r->active.g[at];
    return hg_qp_objective(r->qp, by_point);
}

/* Keeps beta as the one to go back to. Objectives are compared with HG_CERTAIN times the noise of the new one between
 * them: rounding may lead a run back and forth, and a beta is not to be kept for what rounding made of it. What is
 * known of it, violation and biases, is kept beside it. */
void hg_keep(struct hg_run *r)
{
    struct hg_course *c = &r->course;
    if (!(c->objective + HG_CERTAIN * c->noise <= r->kept.objective))
        return;
    r->kept.objective = c->objective;
    r->kept.violation = r->report->violation;
    for (int l = 0; l < r->qp->layers; l++) {
        memcpy(r->kept.beta[l], r->qp->beta[l], r->n * sizeof(double));
        r->kept.bias[l] = hg_qp_bias(r->qp, r->active.point, r->active.m, r->active.g, l);
    }
}

/* The gradient of all points in f64, added up in two orders: what they differ by is the noise of the objective. */
static hinge_status recompute(struct hg_run *r)
{
    double *g = r->active.g, *other = r->active.up[0]; /* set anew below */
    hg_activate_all(r);
    hinge_status status = hg_compute_gradient(r, r->exact, 0, true);
    memcpy(other, g, r->n * sizeof *other);
    if (status == HINGE_OK && !hg_is_stopped(r))
        status = hg_compute_gradient(r, r->exact, 0, false);
    r->course.noise = 0;
    for (size_t at = 0; at < r->n; at++) {
        r->course.noise += fabs(hg_qp_beta(r->qp, r->active.point[at]) * (g[at] - other[at]));
        hg_set_offsets(r, at);
    }
    return hg_note_torn(r, status);
}

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

hinge_outcome hg_run_halt(const void *run)
{
    const struct hg_run *r = run;
    return hg_is_stopped(r) ? hg_halt_outcome(&r->halt) : HINGE_CONVERGED;
}

bool hg_run_rests(const void *run)
{
    const struct hg_run *r = run;
    return r->active.m < r->n;
}

double hg_run_work(const void *run)
{
    return ((const struct hg_run *)run)->res->work;
}

/* Returns the work of two gradients of all points in f64, which a look back makes. */
static double work_of_look(const struct hg_run *r)
{
    double n_sv = (double)hg_qp_support(r->qp, NULL, NULL, NULL);
    return 2 * (1 + r->exact->cost) * n_sv * (double)r->n;
}

/* Where W is all active points a round is a whole run, and few of them are many. */
static bool is_whole(const struct hg_run *r)
{
    return r->w.n > 0 && r->w.n == r->active.m;
}

/* Returns the patience where a look back is so much work. */
static uint64_t patience_by(const struct hg_run *r, double look)
{
    return hg_patience(is_whole(r), r->n, r->w.q, r->res->work - r->course.best_work, look);
}

uint64_t hg_run_patience(const void *run)
{
    return patience_by(run, work_of_look(run));
}

/* Has more patience, of so many times the rounds, while those since the best violation are less work than a look: of
 * small working sets, and rows that cost much, looks would take most of the time. */
static uint64_t patience(const void *run)
{
    enum { MORE = 16 };
    const struct hg_run *r = run;
    double look = work_of_look(r);
    bool cheap = r->res->work - r->course.best_work < look;
    return patience_by(r, look) * (cheap && !is_whole(r) ? MORE : 1);
}

static bool has_worked_enough(const void *run)
{
    const struct hg_run *r = run;
    return hg_is_work_enough(r->report->iterations, r->report->rounds, r->n, (double)r->res->columns_computed);
}

static bool leaves(void *run)
{
    const struct hg_run *r = run;
    return r->opt->leaves != NULL && r->opt->leaves(r->opt->leaves_arg, r->report->iterations);
}

static bool may_err(const void *run)
{
    const struct hg_run *r = run;
    return r->rows != r->exact && r->w.n < r->active.m;
}

/* Where a first problem was proven with an error far below eps, this one's near its solution (ERRS_MORE times that) is
 * small as well, and nothing is measured, if no one value can make it larger: its error stays unknown. */
static bool is_known(const void *run)
{
    const struct hg_run *r = run;
    return r->first.g != NULL && r->report->corrections == 0 && ERRS_MORE * r->first.error <= r->opt->eps &&
           hg_near_doubt(r) <= r->opt->eps;
}

static bool is_shown(const void *run)
{
    const struct hg_run *r = run;
    return r->look_at > 0 && r->res->work >= r->look_at;
}

/* ---- what is done ------------------------------------------------------------------------------------------------ */

hinge_status hg_run_wake(void *run)
{
    return hg_wake(run);
}

hinge_status hg_run_correct(void *run)
{
    return hg_correct_gradient(run);
}

static hinge_status look_at_rows(void *run)
{
    return hg_look_at_rows(run);
}

static hinge_status look_ahead(void *run)
{
    struct hg_run *r = run;
    HG_TRY(hg_measure_error(r));
    if (!hg_is_stopped(r) && r->report->error > r->opt->eps)
        HG_TRY(hg_correct_gradient(r));
    r->report->error = NAN;
    return HINGE_OK;
}

static hinge_status prove(void *run, bool *proven)
{
    return hg_prove(run, proven);
}

static hinge_status recompute_all(struct hg_run *r)
{
    HG_TRY(recompute(r));
    if (r->active.torn)
        return HINGE_OK;
    hg_scan(r);
    r->course.objective = r->course.last_objective = hg_recompute_objective(r);
    hg_keep(r);
    return HINGE_OK;
}

/* The best beta that was kept is the result's where this is the end (block.c, finish). */
static hinge_status look_back(void *run)
{
    struct hg_run *r = run;
    double begin = hg_now();
    hinge_status status = recompute_all(r);
    r->report->phase.certificate += hg_now() - begin;
    return status;
}

/* Makes the gradient and the objective anew for the caller, who says whether the run gains. */
static hinge_status show(void *run, bool *goes_on)
{
    struct hg_run *r = run;
    HG_TRY(recompute_all(r));
    if (r->active.torn)
        return HINGE_OK;
    r->res->work += work_of_look(r);
    struct hg_way way = { r->res->work, r->report->violation, r->course.objective, HG_CERTAIN * r->course.noise };
    r->look_at = r->opt->look(r->opt->look_arg, &way);
    *goes_on = r->look_at > 0;
    return HINGE_OK;
}

static hinge_status resort(void *run, bool *tried)
{
    struct hg_run *r = run;
    *tried = hg_may_use_newton(r);
    return *tried ? hg_run_newton(r, hg_newton_granted(&r->newton, r->qp, r->exact)) : HINGE_OK;
}

const struct hg_verbs hg_run_verbs = {
    .halt = hg_run_halt, .has_worked_enough = has_worked_enough, .work = hg_run_work, .patience = patience,
    .leaves = leaves, .may_err = may_err, .look_at_rows = look_at_rows, .look_ahead = look_ahead, .rests = hg_run_rests,
    .wake = hg_run_wake, .is_known = is_known, .prove = prove, .correct = hg_run_correct, .is_shown = is_shown,
    .show = show, .recompute = look_back, .resort = resort
};
