/*
 * The gradient g = K beta of block SMO, by the store of rows (store.h): its start, its updates by what moved, g made
 * anew from all of beta, and the extremes of F by it. proof.c says how wrong it is. Read run.h before.
 */
#include "solver/smo/run.h"

#include <string.h>

hinge_status hg_update_gradient(struct hg_run *r)
{
    return hg_note_torn(r, hg_store_apply(&r->store, r->w.moved, r->w.n_moved, r->active.g));
}

/* Takes g from the caller, or sums it over the start's support vectors; where beta = 0 it is 0 already. g by point
 * comes to be by position, as all points are active. */
hinge_status hg_first_gradient(struct hg_run *r)
{
    size_t n_sv = hg_qp_support(r->qp, r->active.point, r->spare.point, r->spare.coef);
    hinge_status status = HINGE_OK;
    if (r->opt->g != NULL)
        hg_gather(r->opt->g, sizeof *r->active.g, r->active.point, r->n, r->active.g);
    else if (n_sv > 0)
        status = hg_store_begin(&r->store, r->spare.point, r->spare.coef, n_sv, r->active.g);
    return hg_note_torn(r, status);
}

/* Lists where beta differs from that whose g is known, and by how much. */
static size_t find_changes(struct hg_run *r)
{
    size_t count = 0;
    for (size_t at = 0; at < r->n; at++) {
        uint32_t i = r->active.point[at];
        double change = hg_qp_beta(r->qp, i) - r->known.beta[i];
        r->spare.point[count] = i;
        r->spare.coef[count] = change;
        count += change != 0;
    }
    return count;
}

/* Keeps g, by point, with the beta that it belongs to: points that rest later, and come back, begin at it and add only
 * the rows of what has changed since (hg_compute_gradient). Of large trainings that is a tenth to a half of their
 * support vectors (doc/tried.md), of problems near another one's solution (hg_smo_again) fewer. */
void hg_note_known(struct hg_run *r)
{
    for (size_t at = 0; at < r->n && r->known.g != NULL; at++) {
        uint32_t i = r->active.point[at];
        r->known.g[i] = r->active.g[at];
        r->known.beta[i] = hg_qp_beta(r->qp, i);
    }
}

/* Keeps the beta for which all of g is made in f64, where there is room: without it g is doubted more. */
static void note_mended(struct hg_run *r)
{
    if (r->doubts.mended == NULL && HG_ROOM(HG_ARRAY(r->doubts.mended, r->n)))
        r->report->memory_bytes += r->n * sizeof *r->doubts.mended;
    r->doubts.proven = 0;
    for (size_t i = 0; i < r->n && r->doubts.mended != NULL; i++)
        r->doubts.mended[i] = hg_qp_beta(r->qp, i);
}

/* Sums over all of beta, or over what beta has changed by since g was known, where the rows of that g were the same
 * source and only points that rested are to be filled in (first > 0). Nothing is kept in the cache. The other order of
 * terms (backwards) is for the noise of an objective: two sums of the same terms differ by their rounding alone. Where
 * as many coefficients have changed as there are, the sum is made from scratch. */
hinge_status hg_compute_gradient(struct hg_run *r, struct hg_rows *source, size_t first, bool backwards)
{
    bool goes_on = r->known.g != NULL && first > 0 && source == r->rows;
    size_t n_sv = goes_on ? find_changes(r) : 0;
    goes_on = goes_on && n_sv < hg_qp_support(r->qp, r->active.point, NULL, NULL);
    if (!goes_on)
        n_sv = hg_qp_support(r->qp, r->active.point, r->spare.point, r->spare.coef);
    struct hg_how how = hg_store_how(&r->store);
    r->doubts.unseen = first == 0 ? 0 : r->doubts.unseen;
    if (first == 0)
        note_mended(r);
    for (size_t k = 0, last = n_sv; backwards && k + 1 < last--; k++) {
        uint32_t point = r->spare.point[k];
        double coef = r->spare.coef[k];
        r->spare.point[k] = r->spare.point[last];
        r->spare.coef[k] = r->spare.coef[last];
        r->spare.point[last] = point;
        r->spare.coef[last] = coef;
    }
    const struct hg_active *a = &r->active;
    if (goes_on)
        hg_gather(r->known.g, sizeof *a->g, a->point + first, a->m - first, a->g + first);
    else
        memset(a->g + first, 0, (a->m - first) * sizeof *a->g);
    return hg_rows_apply(source, r->spare.point, n_sv, r->spare.coef, a->point + first, a->m - first, a->g + first,
                         &how);
}

/* Sets each layer's extremes of F and the violation, 0 at least, over the active points. Without a sum 0 is among the
 * extremes, as a step of one entry alone has a partner whose F is 0. A g that is not finite makes the violation NaN,
 * which ends the run. */
void hg_scan(struct hg_run *r)
{
    double violation = -INFINITY;
    for (int l = 0; l < r->qp->layers; l++) {
        struct hg_extremes *e = &r->active.extremes[l];
        *e = r->loops->scan(r->active.m, r->active.g, r->active.up[l], r->active.down[l]);
        violation = HG_MAX(violation, hg_violation(r->qp, e->high, e->low));
        if (r->qp->no_sum) { /* 0 stands for the partner of a step alone */
            e->high = HG_MAX(e->high, 0.0);
            e->low = HG_MIN(e->low, 0.0);
        }
    }
    r->report->violation = HG_MAX(violation, 0.0);
    if (r->active.extremes[0].nan != 0) /* NaN */
        r->report->violation = NAN;
}
