/*
 * The gradient g = K beta of block SMO, by the store of rows (store.h); how wrong it is, and what is done about it.
 * Read run.h before.
 */
#include "solver/smo/run.h"

#include <float.h>
#include <string.h>

/* The certificate's violation may be so many eps where rounding in f64 is what keeps it from 1. */
static const double SLACK = 1.05;

hinge_status hg_update_gradient(struct hg_run *r)
{
    hinge_status status = hg_store_apply(&r->store, r->moved, r->n_moved, r->g);
    r->torn = status != HINGE_OK || hg_is_stopped(r);
    return status;
}

hinge_status hg_first_gradient(struct hg_run *r)
{
    size_t n_sv = hg_qp_support(r->qp, r->active, r->sv, r->sv_coef);
    hinge_status status = n_sv > 0 ? hg_store_begin(&r->store, r->sv, r->sv_coef, n_sv, r->g) : HINGE_OK;
    r->torn = status != HINGE_OK || hg_is_stopped(r);
    return status;
}

hinge_status hg_compute_gradient(struct hg_run *r, struct hg_rows *source, size_t first, bool backwards)
{
    size_t n_sv = hg_qp_support(r->qp, r->active, r->sv, r->sv_coef);
    struct hg_how how = hg_store_how(&r->store);
    r->unseen = first == 0 ? 0 : r->unseen;
    for (size_t k = 0, last = n_sv; backwards && k + 1 < last--; k++) {
        uint32_t point = r->sv[k];
        double coef = r->sv_coef[k];
        r->sv[k] = r->sv[last];
        r->sv_coef[k] = r->sv_coef[last];
        r->sv[last] = point;
        r->sv_coef[last] = coef;
    }
    memset(r->g + first, 0, (r->m - first) * sizeof *r->g);
    return hg_rows_apply(source, r->sv, n_sv, r->sv_coef, r->active + first, r->m - first, r->g + first, &how);
}

void hg_scan(struct hg_run *r)
{
    double violation = -INFINITY;
    for (int l = 0; l < r->qp->layers; l++) {
        struct hg_extremes *e = &r->extremes[l];
        *e = r->loops->scan(r->m, r->g, r->up[l], r->down[l]);
        violation = HG_MAX(violation, hg_violation(r->qp, e->high, e->low));
        if (r->qp->no_sum) { /* 0 stands for the partner of a step alone */
            e->high = HG_MAX(e->high, 0.0);
            e->low = HG_MIN(e->low, 0.0);
        }
    }
    r->report->violation = HG_MAX(violation, 0.0);
    if (r->extremes[0].nan != 0) /* NaN */
        r->report->violation = NAN;
}

/* ---- its error --------------------------------------------------------------------------------------------------- */

/* What hg_rows_dot makes of all active points' coefficients, from K_WW where all points are in W. */
static void measure_block(struct hg_run *r, const uint32_t *point, size_t count, size_t n_sv, double *sum,
                          double *square)
{
    uint32_t *slot = r->block_points; /* of a point */
    for (size_t k = 0; k < r->in_w; k++)
        slot[r->w[k]] = (uint32_t)k;
    for (size_t k = 0; k < count; k++) {
        const double *row = (const double *)r->inner.k + slot[point[k]] * r->inner.ld;
        sum[k] = square[k] = 0;
        for (size_t c = 0; c < n_sv; c++) {
            double term = row[slot[r->sv[c]]] * r->sv_coef[c];
            sum[k] += term;
            square[k] += term * term;
        }
    }
}

/* The points measured, `most` at most: the worst violators of both directions, those whose values rounding alters most,
 * and, in the end, a random sample of *drawn; or all active ones. */
static size_t choose_measured(struct hg_run *r, size_t most, uint32_t *point, size_t *drawn)
{
    size_t count = 0, each = most / 4 / (size_t)r->qp->layers;
    *drawn = 0;
    if (r->m <= most) {
        memcpy(point, r->active, r->m * sizeof *point);
        return r->m;
    }
    for (int l = 0; l < r->qp->layers; l++)
        for (int direction = 0; direction < 2; direction++) {
            const double *off = direction == 0 ? r->up[l] : r->down[l];
            double sign = direction == 0 ? 1 : -1;
            size_t n = 0;
            for (size_t at = 0; at < r->m; at++)
                if (!isinf(off[at]))
                    r->candidates[n++] = (struct hg_candidate){ sign * (r->g[at] + off[at]), at, (uint32_t)at };
            hg_worst_first(r->candidates, n, HG_MIN(each, n));
            for (size_t c = 0; c < each && c < n; c++)
                point[count++] = r->active[r->candidates[c].at];
        }
    for (size_t k = 0; k < r->n_doubtful && count < most * 3 / 4; k++)
        if (r->position[r->doubtful[k]] < r->m)
            point[count++] = r->doubtful[k];
    uint64_t state = r->report->rounds; /* others than the last time: those are exact already, perhaps */
    *drawn = most - count;
    while (count < most)
        point[count++] = r->active[hg_random_below(&state, r->m)];
    return count;
}

struct measured {
    double error;    /* the largest |g - g in f64| */
    double rounding; /* what adding up in f64 may make of g */
};

/* Over active points; with `mend` g becomes what it is in f64. */
static hinge_status measure(struct hg_run *r, const uint32_t *point, size_t count, bool mend, struct measured *result)
{
    size_t n_sv = hg_qp_support(r->qp, r->active, r->sv, r->sv_coef);
    double most = 0, *g, *square;
    hinge_status status = HG_ROOM(HG_ARRAY(g, count), HG_ARRAY(square, count)) ? HINGE_OK : HINGE_ENOMEM;
    r->measuring_bytes = HG_MAX(r->measuring_bytes, hg_rows_dot_bytes(count, n_sv) + 2 * count * sizeof *g);
    result->error = 0;
    if (status == HINGE_OK && r->exact_rows && r->in_w == r->n && r->opt->symmetric)
        measure_block(r, point, count, n_sv, g, square);
    else if (status == HINGE_OK)
        status = hg_rows_dot(r->exact, point, count, r->sv_coef, r->sv, n_sv, g, square, &r->halt);
    for (size_t k = 0; k < count && status == HINGE_OK && !hg_is_stopped(r); k++) {
        double *old = &r->g[r->position[point[k]]];
        result->error = HG_MAX(result->error, fabs(g[k] - *old));
        most = HG_MAX(most, square[k]);
        *old = mend ? g[k] : *old;
    }
    result->rounding = DBL_EPSILON * sqrt(most) * (1 + sqrt((double)n_sv) / 8);
    hg_free(g);
    return status;
}

hinge_status hg_measure_error(struct hg_run *r)
{
    uint32_t point[HG_EARLY];
    size_t drawn, count = choose_measured(r, HG_EARLY, point, &drawn);
    struct measured result;
    hinge_status status = measure(r, point, count, false, &result);
    if (!hg_is_stopped(r))
        r->report->error = result.error;
    return status;
}

/* Active points not yet made exact that may break the bounds on F if g is wrong by `error` there: bounds of width eps
 * around the middle of the extremes, or 0 where no sum is held. */
static size_t find_doubted(struct hg_run *r, double error, uint32_t *point)
{
    size_t count = 0;
    for (size_t at = 0; at < r->m; at++) {
        bool doubted = false;
        for (int l = 0; l < r->qp->layers; l++) {
            const struct hg_extremes *e = &r->extremes[l];
            double half = r->qp->no_sum ? r->opt->eps : r->opt->eps / 2;
            double middle = r->qp->no_sum ? 0 : (e->high + e->low) / 2;
            doubted = doubted || r->g[at] + r->up[l][at] < middle - half + error ||
                      r->g[at] + r->down[l][at] > middle + half - error;
        }
        if (doubted && !r->is_exact[r->active[at]])
            point[count++] = r->active[at];
    }
    return count;
}

/* Half the sum of beta times the error of g over all points: as `drawn` points at random have it, whose g was `before`,
 * and six times what such a sample may be off by where errors do not know of the coefficients. */
static double error_of_objective(const struct hg_run *r, const uint32_t *point, size_t drawn, const double *before)
{
    double sum = 0, errors = 0, sizes = 0, n = (double)r->n, share = n / (double)HG_MAX(drawn, (size_t)1);
    for (size_t k = 0; k < drawn; k++) {
        double error = r->g[r->position[point[k]]] - before[k];
        sum += hg_qp_beta(r->qp, point[k]) * error;
        errors += error * error;
    }
    for (size_t i = 0; i < r->n; i++)
        sizes += hg_qp_beta(r->qp, i) * hg_qp_beta(r->qp, i);
    return (share * fabs(sum) + 6 * share * sqrt(errors * sizes / n)) / 2;
}

hinge_status hg_prove(struct hg_run *r, bool *proven)
{
    uint32_t *point = r->found;
    size_t most = r->opt->measured > 0 ? HG_MIN(r->opt->measured, (size_t)HG_MEASURED) : HG_MEASURED;
    size_t drawn, count = choose_measured(r, most, point, &drawn), room = HG_MAX(r->m / 4, (size_t)HG_MEASURED);
    const uint32_t *sample = point + (count - drawn);
    double before[HG_MEASURED];
    struct measured result;
    *proven = false;
    memset(r->is_exact, 0, r->n);
    for (size_t k = 0; k < drawn; k++)
        before[k] = r->g[r->position[sample[k]]];
    hinge_status status = measure(r, point, count, true, &result);
    r->res->objective_error = error_of_objective(r, sample, drawn, before);
    double rounding = result.rounding;
    r->unseen = count == r->m ? 0 : HG_MAX(r->unseen, result.error * (1 + 64 / (double)count));
    double error = r->unseen;
    while (status == HINGE_OK && !hg_is_stopped(r)) {
        for (size_t k = 0; k < count; k++)
            r->is_exact[point[k]] = 1;
        hg_scan(r);
        r->report->error = error + rounding;
        if (!(r->report->violation <= r->opt->eps && r->report->violation + 2 * rounding <= SLACK * r->opt->eps))
            break;
        count = r->report->violation + 2 * error <= r->opt->eps ? 0 : find_doubted(r, error, point);
        *proven = count == 0;
        if (*proven || count > room)
            break;
        room -= count;
        status = measure(r, point, count, true, &result);
        error = r->unseen = HG_MAX(error, result.error);
        rounding = HG_MAX(rounding, result.rounding);
    }
    return status;
}

hinge_status hg_correct_gradient(struct hg_run *r)
{
    r->report->corrections++;
    hinge_status status = hg_compute_gradient(r, r->exact, 0, false);
    r->torn = status != HINGE_OK || hg_is_stopped(r);
    if (!r->torn)
        hg_scan(r);
    r->best = INFINITY; /* the violation may well be larger now */
    return status;
}

hinge_status hg_look_at_start(struct hg_run *r)
{
    if (!r->opt->warm || r->rows == r->exact || hg_is_stopped(r))
        return HINGE_OK;
    hinge_status status = hg_measure_error(r);
    double error = r->report->error;
    r->report->error = NAN; /* that of few points */
    bool hides = error > r->opt->eps && error > r->report->violation / 16;
    return status != HINGE_OK || hg_is_stopped(r) || !hides ? status : hg_correct_gradient(r);
}

hinge_status hg_look_at_rows(struct hg_run *r)
{
    double violation = r->report->violation, before = r->looked_at, error;
    hinge_status status = hg_measure_error(r);
    error = r->report->error;
    r->report->error = NAN; /* that of few points */
    r->looked_at = violation;
    bool in_vain = error > HG_MAX(r->opt->eps / 4, violation / 16) && violation > before / 2;
    if (status != HINGE_OK || hg_is_stopped(r) || !(error > violation / 4 || in_vain))
        return status;
    r->looked_at = INFINITY;
    r->res->coarse = r->opt->f64_follows && r->report->corrections > 0;
    return r->res->coarse || r->report->corrections >= HG_MAX_CORRECTIONS ? HINGE_OK : hg_correct_gradient(r);
}
