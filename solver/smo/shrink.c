/*
 * Shrinking: points that are part of no violating pair are left out until the rest has converged. Read run.h before.
 *
 * Without shrinking, large trainings take up to 1.6 times the processor time, and others no more than with it
 * (doc/tried.md); of rows that fit the cache next to nothing is ever shrunk. Without options.shrinking (-h 0) all
 * points stay active.
 *
 * A point that rests stays in the list, behind the active ones, but has no gradient: g, up and down are by position,
 * and only the first m positions hold. When it wakes, its gradient goes on from what was known as the first points went
 * to rest (hg_note_known), or is summed anew from all of beta.
 */
#include "solver/smo/run.h"

#include <string.h>

enum { WOKEN = 4 }; /* of so many support vectors one is taken to change while points rest */

/* Says whether a point is part of no violating pair in any layer: F up > max F down and F down < min F up, so neither
 * direction of it makes a pair with any other point. Points of W stay: the next round loads their gradient. */
static bool may_rest(const struct hg_run *r, size_t at)
{
    const struct hg_active *a = &r->active;
    for (int l = 0; l < r->qp->layers; l++)
        if (!(a->g[at] + a->up[l][at] > a->extremes[l].high && a->g[at] + a->down[l][at] < a->extremes[l].low))
            return false;
    return !r->w.holds[a->point[at]];
}

/* Positions [first, end): those that may not rest come first, then the others, each in their order, so that neighbours
 * stay neighbours. Returns where the latter begin; their g and offsets are gone. */
static size_t part_resting(struct hg_run *r, size_t first, size_t end)
{
    struct hg_active *a = &r->active;
    size_t kept = first, resting = 0;
    for (size_t at = first; at < end; at++) {
        if (may_rest(r, at)) {
            r->spare.point[resting++] = a->point[at];
            continue;
        }
        a->point[kept] = a->point[at];
        a->g[kept] = a->g[at];
        for (int l = 0; l < r->qp->layers; l++) {
            a->up[l][kept] = a->up[l][at];
            a->down[l][kept] = a->down[l][at];
        }
        kept++;
    }
    memcpy(a->point + kept, r->spare.point, resting * sizeof *a->point);
    for (size_t at = first; at < end; at++)
        a->position[a->point[at]] = (uint32_t)at;
    return kept;
}

/* Lets all active points rest that may; rows in the cache are as wide as before, and are forgotten. What is known of g
 * stays that of the time when all were active, one beta for all of them. */
static void shrink(struct hg_run *r)
{
    if (r->active.m == r->n && r->first.g == NULL) {
        if (r->known.g == NULL && HG_ROOM(HG_ARRAY(r->known.g, r->n), HG_ARRAY(r->known.beta, r->n)))
            r->report->memory_bytes += 2 * r->n * sizeof *r->known.g;
        hg_note_known(r);
    }
    r->active.m = part_resting(r, 0, r->active.m);
    hg_store_change(&r->store, r->active.m);
    r->active.waste = 0;
}

/* Keeps active a sixth of the points and as many as the first problem has support vectors, those nearest to violating
 * at its solution. A point's slack is its distance from violating: the least of F up + bias and -bias - F down over the
 * layers. The slack of the last point kept takes the place of the extremes, so that may_rest lets every point rest
 * whose slack is larger. It pays only where rows are made rather than kept, as the cost of a row is then by active
 * points: folds take up to three tenths fewer kernel values (doc/tried.md). */
void hg_rest_far(struct hg_run *r)
{
    struct hg_active *a = &r->active;
    struct hg_candidate *slack = r->spare.candidates;
    size_t kept = r->n / 6 + hg_qp_support(r->first.qp, NULL, NULL, NULL);
    if (!r->opt->shrinking || r->store.cache.n_slots > 0 || kept > r->n / 4 * 3 || r->w.q == r->n)
        return;
    for (size_t at = 0; at < r->n; at++) {
        double least = INFINITY;
        for (int l = 0; l < r->qp->layers; l++)
            least = HG_MIN(least, HG_MIN(a->g[at] + a->up[l][at] + r->first.bias[l],
                                         -r->first.bias[l] - a->g[at] - a->down[l][at]));
        slack[at] = (struct hg_candidate){ least, at, (uint32_t)at };
    }
    hg_worst_first(slack, r->n, kept);
    double far = 0;
    for (size_t k = 0; k < kept; k++)
        far = HG_MAX(far, slack[k].value);
    for (int l = 0; l < r->qp->layers; l++) {
        a->extremes[l].high = far - r->first.bias[l];
        a->extremes[l].low = -far - r->first.bias[l];
    }
    shrink(r);
}

/* Returns the source of the gradient of points at rest: where g was corrected once, or is Newton's, the one in f64
 * again. */
static struct hg_rows *waking_source(const struct hg_run *r)
{
    return r->report->corrections > 0 || r->newton_bytes > 0 ? r->exact : r->rows;
}

/* Adds up what the rounds since the last look have spent on points that may rest, and shrinks once it exceeds
 *
 *     later = (1 + cost) n_sv / WOKEN (points that rest already, or may)  +  what the cached rows are worth
 *
 * which is what it takes to wake them all at the end, as far as coefficients change until then, and to make rows again
 * that shrinking forgets. It is all of n_sv where rows are kept, which then lose their use, and for two sums, which let
 * points rest that should not. Fewer than an eighth of the active points are not worth a list of columns of their own
 * (doc/tried.md). */
void hg_consider_shrinking(struct hg_run *r)
{
    if (!r->opt->shrinking || r->w.n == r->active.m || !hg_looks_around(r))
        return;
    size_t resting = 0, n_sv = hg_qp_support(r->qp, NULL, NULL, NULL);
    for (size_t at = 0; at < r->active.m; at++)
        resting += may_rest(r, at);
    r->active.waste += (double)hg_every(r) * r->store.work * (double)resting;
    bool few = r->qp->layers == 1 && waking_source(r) == r->rows && r->store.cache.n_slots == 0;
    double woken = (double)n_sv / (few ? WOKEN : 1) * (double)(r->n - r->active.m + resting);
    double later = (1 + waking_source(r)->cost) * woken + hg_store_worth(&r->store); /* and rows held no longer */
    if (resting > r->active.m / 8 && r->active.waste > later)
        shrink(r);
}

/* Makes all points active, with their gradient. The best violation seen so far was one of fewer points, and is
 * forgotten. */
hinge_status hg_wake_all(struct hg_run *r)
{
    size_t old = r->active.m;
    hg_activate_all(r);
    hinge_status status = hg_note_torn(r, hg_compute_gradient(r, waking_source(r), old, false));
    if (r->active.torn)
        return status;
    for (size_t at = old; at < r->n; at++)
        hg_set_offsets(r, at);
    r->course.best = INFINITY;
    hg_note_known(r);
    hg_scan(r);
    return HINGE_OK;
}

/* Wakes all points. Where the violation of all is too large, those of the woken ones that may rest go back to rest, and
 * only the others stay active; points that were active before stay so in any case. */
hinge_status hg_wake(struct hg_run *r)
{
    size_t old = r->active.m;
    hinge_status status = hg_wake_all(r);
    if (r->active.torn || r->report->violation <= r->course.target)
        return status; /* they were rightly left alone */
    r->active.m = part_resting(r, old, r->n);
    hg_store_change(&r->store, r->active.m);
    return HINGE_OK;
}
