/*
 * Many targets of a linear kernel with few features: as many of them at once as vector registers have lanes are brought
 * near their solutions by the interior point in lockstep (solver/ipm/lanes.h), and each goes on from there as a
 * training of its own does. Read work.h before.
 *
 * Targets of 547 rows and 22 features take a third of the processor time (doc/tried.md). Lanes do not depend on
 * each other: which targets are together changes no bit.
 */
#include "lib/data/params.h"
#include "lib/train/work.h"

#include <math.h>

/* Returns how many problems go together: fewer where there would be none for some threads. */
static size_t at_once(const struct hg_training *t)
{
    size_t threads = (size_t)t->threads, most = hg_lanes_code(hg_cpu_level(t->params->cpu_level))->lanes;
    return HG_MIN(most, (t->problem.n_problems + threads - 1) / threads);
}

size_t hg_blocks_of_lanes(const struct hg_training *t)
{
    const hinge_params *p = t->params;
    const struct hg_problem *pr = &t->distinct.problem;
    bool goes = t->interior && pr->targets != NULL && t->problem.n_problems > 1 && p->kernel.type == HINGE_LINEAR &&
                pr->data.d <= HG_MIN((size_t)HG_LANES_COLS, pr->data.n) && p->rank == 0 && p->max_iter == 0 &&
                !hg_params_hard_tube(p) && t->peers == NULL && t->refold == NULL;
    return goes ? (t->problem.n_problems + at_once(t) - 1) / at_once(t) : 0;
}

/* Says whether a problem can be in a lane: by itself, so that it does not hang on which others are with it. */
static bool fits_lane(const struct hg_reduced *r, size_t n)
{
    bool fits = r->qp.n == n;
    for (size_t i = 0; i < n && fits; i++)
        for (int l = 0; l < r->qp.layers; l++)
            fits = fits && r->points[i] == i && isfinite(r->qp.lo[l][i]) && isfinite(r->qp.hi[l][i]);
    return fits;
}

/* Brings problems that have all rows to where they go on. */
static hinge_status begin(struct hg_work *w, size_t count, struct hg_lowrank *rows, struct hg_begun_inside *begun,
                          hinge_error *err)
{
    const struct hg_problem *pr = &w->t->distinct.problem;
    const struct hg_smo_options *o = &w->options;
    const struct hg_interior_options options = {
        .eps = o->eps, .gap = hg_turns_inside_gap(o->eps), .threads = o->threads, .halt = o->halt
    };
    struct hg_work *in[HG_LANES];
    struct hg_qp *qps[HG_LANES];
    const double *sums[HG_LANES];
    size_t lanes = 0;
    bool fits = true;
    for (size_t k = 0; k < count; k++)
        if (fits_lane(&w[k].reduced, pr->data.n)) {
            in[lanes] = &w[k];
            qps[lanes] = &w[k].reduced.qp;
            sums[lanes++] = w[k].reduced.sums;
        }
    if (lanes == 0)
        return HINGE_OK;
    HG_TRY(hg_lowrank_init(rows, pr, in[0]->reduced.points, pr->data.n, 0, o->threads, &o->halt, err));
    HG_TRY(hg_interior_begin(begun, qps, sums, lanes, &rows->super, &options, hg_cpu_level(w->t->params->cpu_level),
                             &fits, err));
    for (size_t k = 0; k < lanes && fits; k++) {
        in[k]->begun = begun;
        in[k]->lane = k;
    }
    return HINGE_OK;
}

hinge_status hg_solve_lanes(void *arg, int thread, size_t number, int threads, hinge_error *err)
{
    struct hg_training *t = arg;
    struct hg_work w[HG_LANES] = { 0 };
    struct hg_begun_inside begun = { 0 };
    struct hg_lowrank rows = { 0 };
    size_t first = number * at_once(t), count = HG_MIN(at_once(t), t->problem.n_problems - first);
    hinge_status status = HINGE_OK;
    for (size_t k = 0; k < count && status == HINGE_OK; k++) {
        w[k].t = t, w[k].s = &t->solutions[first + k], w[k].err = err;
        hg_work_init(&w[k], first + k, thread, threads);
        status = hg_reduced_init(&w[k].reduced, &t->distinct, &t->problem, first + k, err);
    }
    HG_THEN(status, begin(w, count, &rows, &begun, err));
    for (size_t k = 0; k < count; k++) {
        HG_THEN(status, hg_work_solve(&w[k], threads));
        hg_lowrank_free(&w[k].factor);
        hg_reduced_free(&w[k].reduced);
    }
    hg_begun_inside_free(&begun);
    hg_lowrank_free(&rows);
    return status;
}
