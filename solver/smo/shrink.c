/*
 * Shrinking: points that are part of no violating pair are left out until the rest has converged. Read run.h before.
 *
 * Buys: a9a, C = 100, takes 2.4 s instead of 3.6; sets of fewer features gain little. Without options.shrinking (-h 0)
 * all points stay active.
 */
#include "solver/smo/run.h"

#include <string.h>

static bool may_rest(const struct hg_run *r, size_t at)
{
    for (int l = 0; l < r->qp->layers; l++)
        if (!(r->g[at] + r->up[l][at] > r->extremes[l].high && r->g[at] + r->down[l][at] < r->extremes[l].low))
            return false;
    return !r->is_in_w[r->active[at]];
}

/* Positions [first, end): those that may not rest come first, then the others, each in their order, so that neighbours
 * stay neighbours. found: where the former were. Returns where the latter begin; their g and offsets are gone. */
static size_t part_resting(struct hg_run *r, size_t first, size_t end)
{
    size_t kept = first, resting = 0;
    for (size_t at = first; at < end; at++) {
        if (may_rest(r, at)) {
            r->sv[resting++] = r->active[at];
            continue;
        }
        r->found[kept - first] = (uint32_t)at;
        r->active[kept] = r->active[at];
        r->g[kept] = r->g[at];
        for (int l = 0; l < r->qp->layers; l++) {
            r->up[l][kept] = r->up[l][at];
            r->down[l][kept] = r->down[l][at];
        }
        kept++;
    }
    memcpy(r->active + kept, r->sv, resting * sizeof *r->active);
    for (size_t at = first; at < end; at++)
        r->position[r->active[at]] = (uint32_t)at;
    return kept;
}

static void shrink(struct hg_run *r)
{
    r->m = part_resting(r, 0, r->m);
    hg_store_keep(&r->store, r->found, r->m);
    r->waste = 0;
}

/* What the gradient of points at rest is computed from: where it was corrected once, or Newton's, in f64 again. */
static struct hg_rows *waking_source(const struct hg_run *r)
{
    return r->report->corrections > 0 || r->newton_bytes > 0 ? r->exact : r->rows;
}

void hg_consider_shrinking(struct hg_run *r)
{
    if (!r->opt->shrinking || r->in_w == r->m || !hg_looks_around(r))
        return;
    size_t resting = 0, n_sv = hg_qp_support(r->qp, NULL, NULL, NULL);
    for (size_t at = 0; at < r->m; at++)
        resting += may_rest(r, at);
    r->waste += (double)hg_every(r) * r->store.work * (double)resting;
    double later = (1 + waking_source(r)->cost) * (double)n_sv * (double)(r->n - r->m + resting) +
                   /* waking the points, and compacting the cache */
                   3 * hg_store_reads(&r->store);
    if (resting > r->m / 8 && r->waste > later)
        shrink(r);
}

hinge_status hg_wake_all(struct hg_run *r)
{
    size_t old = r->m;
    r->m = r->n;
    hg_store_extend(&r->store, r->n);
    hinge_status status = hg_compute_gradient(r, waking_source(r), old, false);
    r->torn = status != HINGE_OK || hg_is_stopped(r);
    if (r->torn)
        return status;
    for (size_t at = old; at < r->n; at++)
        hg_set_offsets(r, at);
    r->best = INFINITY;
    hg_scan(r);
    return HINGE_OK;
}

hinge_status hg_wake(struct hg_run *r)
{
    size_t old = r->m;
    hinge_status status = hg_wake_all(r);
    if (r->torn || r->report->violation <= r->target)
        return status; /* they were rightly left alone */
    r->m = part_resting(r, old, r->n);
    hg_store_extend(&r->store, r->m);
    return HINGE_OK;
}
