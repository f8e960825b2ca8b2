/*
 * Has what every solver needs of the QP (qp.h, which is to be read before): feasible starts and tidy ends, then what a
 * beta is worth (objective, gap), then bias and violation.
 *
 * Every function is a plain loop over all entries by one thread, in ascending order, so that its bits depend on the
 * problem alone. Inner loops of the solvers use the inline functions of qp.h, or their own (solver/smo/loops.c).
 *
 * Rounding decides in three places here, each with its own measure: an entry counts as at its bound within 8 roundings
 * of the largest beta (hg_qp_tidy), a sum as reached within 1e-12 of the sum of sizes (settle_sum), a sum of beta as 0
 * within 1e-9 of it (hg_qp_of_sum).
 */
#include "solver/qp.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Makes the four arrays, cleared, in one block, of which off[0] is the owner. A second layer is the second half of each
 * array: whoever wants to can take both layers for one problem of 2 n entries, as the interior point does. The caller
 * fills in off, lo, hi and a feasible beta. */
hinge_status hg_qp_init(struct hg_qp *qp, size_t n, int layers, hinge_error *err)
{
    memset(qp, 0, sizeof *qp);
    qp->n = n;
    qp->layers = layers;
    size_t entries = n * (size_t)layers;
    HG_TRY(HG_MAKE(err, "the coefficients of a problem", HG_ZEROS(qp->off[0], entries), HG_ZEROS(qp->lo[0], entries),
                   HG_ZEROS(qp->hi[0], entries), HG_ZEROS(qp->beta[0], entries)));
    if (layers == 2) {
        qp->off[1] = qp->off[0] + n;
        qp->lo[1] = qp->lo[0] + n;
        qp->hi[1] = qp->hi[0] + n;
        qp->beta[1] = qp->beta[0] + n;
    }
    return HINGE_OK;
}

void hg_qp_free(struct hg_qp *qp)
{
    hg_free(qp->off[0]);
    qp->off[0] = NULL;
}

/* Counts by a loop of its own where nothing is listed, as shrinking and progress do round after round: it has no use
 * for the order, and reads beta as it lies in memory. */
size_t hg_qp_support(const struct hg_qp *qp, const uint32_t *order, uint32_t *point, double *coef)
{
    size_t count = 0;
    bool only_count = point == NULL && coef == NULL;
    for (size_t k = 0; k < qp->n && only_count; k++)
        count += hg_qp_beta(qp, k) != 0;
    for (size_t k = 0; k < qp->n && !only_count; k++) {
        size_t i = order != NULL ? order[k] : k;
        double b = hg_qp_beta(qp, i);
        if (b == 0)
            continue;
        if (point != NULL)
            point[count] = (uint32_t)i;
        if (coef != NULL)
            coef[count] = b;
        count++;
    }
    return count;
}

double hg_qp_length(const struct hg_qp *qp)
{
    double square = 0;
    for (size_t i = 0; i < qp->n; i++)
        square += hg_qp_beta(qp, i) * hg_qp_beta(qp, i);
    return sqrt(square);
}

/* Returns beta, or 0, hi or lo, in this order, where it is within `tiny` of them. */
static double snap(double beta, double lo, double hi, double tiny)
{
    if (fabs(beta) <= tiny && lo <= 0 && hi >= 0)
        return 0;
    return fabs(hi - beta) <= tiny ? hi : fabs(beta - lo) <= tiny ? lo : beta;
}

/* Tidies the only entry of a layer inside its box, if there is one: it may be there for what rounding makes of the
 * layer's sum, and would hold the bias alone. */
static void tidy_only(struct hg_qp *qp, int l, double most)
{
    double sizes = 0;
    size_t count = 0, only = 0;
    for (size_t i = 0; i < qp->n; i++) {
        bool inside = hg_qp_is_inside(qp, l, i);
        sizes += fabs(qp->beta[l][i]);
        count += inside;
        only = inside ? i : only;
    }
    if (count != 1)
        return;
    double lo = qp->lo[l][only], hi = qp->hi[l][only], tiny = HG_MIN(8 * DBL_EPSILON * sizes, (hi - lo) / 16);
    qp->beta[l][only] = snap(qp->beta[l][only], lo, hi, HG_MIN(most, tiny));
}

/* Takes an entry for at 0, hi or lo where it is no further away than
 *
 *     tiny = min(most, 8 * 2^-52 * min(size, hi - lo)), size: the largest |beta| so far
 *
 * Steps of two entries leave roundings of the larger one in the smaller one, hence size; the box's width keeps the ends
 * of a narrow box apart. size only grows, over all calls, as do the roundings that beta carries. Of
 * two layers (nu-SVR: both signs of a point) b_1 + b_2 may be such a rounding too, and is made 0 by the second. */
void hg_qp_tidy(struct hg_qp *qp, double most)
{
    for (int l = 0; l < qp->layers; l++)
        for (size_t i = 0; i < qp->n; i++)
            qp->size = HG_MAX(qp->size, fabs(qp->beta[l][i]));
    for (int l = 0; l < qp->layers; l++)
        for (size_t i = 0; i < qp->n; i++) {
            double lo = qp->lo[l][i], hi = qp->hi[l][i], tiny = 8 * DBL_EPSILON * HG_MIN(qp->size, hi - lo);
            qp->beta[l][i] = snap(qp->beta[l][i], lo, hi, HG_MIN(most, tiny));
        }
    for (int l = 0; l < qp->layers && !qp->no_sum; l++)
        tidy_only(qp, l, most);
    for (size_t i = 0; qp->layers == 2 && i < qp->n; i++) { /* both sides of a point may cancel too */
        double first = qp->beta[0][i], sum = first + qp->beta[1][i];
        double tiny = HG_MIN(most, 8 * DBL_EPSILON * HG_MIN(qp->size, qp->hi[0][i]));
        if (sum != 0 && first > 0 && fabs(sum) <= tiny && -first >= qp->lo[1][i])
            qp->beta[1][i] = -first;
    }
}

/* Moves one layer's beta until its sum is target. The sum is taken in long double, so that only the entries' own
 * rounding is left of it. false: the boxes leave less room than is missing; 1e-9 of all room is granted, as targets (nu
 * n, say) are rounded themselves. On the way `missing` is what the entries behind are still to take. */
static bool settle_sum(size_t n, double *beta, const double *lo, const double *hi, double target)
{
    double up = 0, down = 0;
    long double sum = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        sum += beta[i];
        size += fabs(beta[i]);
        up += hi[i] - beta[i];
        down += beta[i] - lo[i];
    }
    double missing = (double)(target - sum), room = missing > 0 ? up : down;
    if (fabs(missing) > room + 1e-9 * (up + down))
        return false;
    /* Entries inside their box come first. Those at a bound stay there for what rounding made of a warm start's sum:
     * one that left it by so little would hold the bias alone. */
    double rounding = 1e-12 * (double)size;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n && fabs(missing) > (pass == 0 ? 0 : rounding); i++)
            if (pass == 1 || (beta[i] > lo[i] && beta[i] < hi[i])) {
                double end = missing > 0 ? hi[i] : lo[i], step = end - beta[i];
                beta[i] = fabs(step) <= fabs(missing) ? end : beta[i] + missing;
                missing = fabs(step) <= fabs(missing) ? missing - step : 0;
            }
    return true;
}

/* Tidies twice: what was clipped to next to a bound is to count as at it when entries inside are looked for, and what
 * settle_sum moved last may stop next to a bound too. Sums are settled twice: what moves by far more than is left of it
 * keeps the rounding of what it was. */
bool hg_qp_project(struct hg_qp *qp, const double *sums)
{
    for (int l = 0; l < qp->layers; l++)
        for (size_t i = 0; i < qp->n; i++) {
            double *beta = &qp->beta[l][i], lo = qp->lo[l][i], hi = qp->hi[l][i];
            *beta = *beta > hi ? hi : *beta >= lo ? *beta : lo; /* NaN goes to lo */
        }
    hg_qp_tidy(qp, INFINITY);
    for (int l = 0; l < 2 * qp->layers && !qp->no_sum; l++)
        if (!settle_sum(qp->n, qp->beta[l / 2], qp->lo[l / 2], qp->hi[l / 2], sums[l / 2]))
            return false;
    hg_qp_tidy(qp, INFINITY);
    return true;
}

double hg_qp_common_offset(const struct hg_qp *qp, double *width)
{
    double least = INFINITY, largest = -INFINITY;
    for (size_t i = 0; i < qp->n; i++) {
        least = HG_MIN(least, qp->off[0][i]);
        largest = HG_MAX(largest, qp->off[0][i]);
    }
    *width = largest - least;
    return qp->no_sum ? 0 : least > 0 ? least : HG_MIN(largest, 0); /* the largest: all are negative */
}

double hg_qp_of_sum(const struct hg_qp *qp)
{
    double width, total = 0, size = 0, common = hg_qp_common_offset(qp, &width);
    for (size_t i = 0; i < qp->n && common != 0; i++) {
        double b = hg_qp_beta(qp, i);
        total += b;
        size += fabs(b);
    }
    return fabs(total) > 1e-9 * size ? common * total : 0;
}

/* Sums, with c the offset that all have in common,
 *
 *     sum_i b_i (g_i / 2 + off_1,i - c) + kink |b_i| + b_2,i (off_2,i - off_1,i), and then c sum_i b_i
 *
 * Large parts are taken off first: of targets far from 0, and of two sides that are large and cancel, rounding would
 * leave nothing. A sum of b that is 0 but for rounding is 0, as c would make much of it. */
double hg_qp_objective(const struct hg_qp *qp, const double *g)
{
    double width, sum = 0, common = hg_qp_common_offset(qp, &width);
    for (size_t i = 0; i < qp->n; i++) {
        double b = hg_qp_beta(qp, i);
        if (b != 0)
            sum += b * ((g != NULL ? 0.5 * g[i] : 0) + (qp->off[0][i] - common)) + qp->kink * fabs(b);
        if (qp->layers == 2 && qp->beta[1][i] != 0)
            sum += qp->beta[1][i] * (qp->off[1][i] - qp->off[0][i]);
    }
    return sum + hg_qp_of_sum(qp);
}

/* Uses that h(t) = slope t + kink |t| is convex and has its one corner at 0: its least over the box is at lo, at hi, or
 * at 0 where the box holds it. The difference is never negative but for the rounding of one entry's terms; sums of it
 * lose no digits as primal less dual would. */
double hg_qp_gap(double beta, double lo, double hi, double kink, double slope)
{
    double least = fmin(slope * lo + kink * fabs(lo), slope * hi + kink * fabs(hi));
    if (lo <= 0 && hi >= 0)
        least = fmin(least, 0);
    return slope * beta + kink * fabs(beta) - least;
}

/* Finds the extremes of F of a layer over the points listed: max F down and min F up, which bound the negated bias from
 * below and above at an optimum. A gradient that is NaN makes both NaN (hg_larger), and does not pass for a small one.
 * hg_up and hg_down are infinite for entries that may not move, which therefore bound nothing. */
static void bounds(const struct hg_qp *qp, const uint32_t *point, size_t count, const double *g, int l,
                   double *max_down, double *min_up)
{
    *max_down = -INFINITY;
    *min_up = INFINITY;
    for (size_t k = 0; k < count; k++) {
        size_t i = point != NULL ? point[k] : k;
        double b = qp->beta[l][i], off = qp->off[l][i];
        *min_up = -hg_larger(-*min_up, -(g[k] + hg_up(b, qp->hi[l][i], off, qp->kink)));
        *max_down = hg_larger(*max_down, g[k] + hg_down(b, qp->lo[l][i], off, qp->kink));
    }
}

double hg_middle_bias(double max_down, double min_up)
{
    if (isinf(max_down) || isinf(min_up)) /* one side only: the bound there is; none at all: 0 */
        return isinf(max_down) && isinf(min_up) ? 0 : isinf(max_down) ? -min_up : -max_down;
    return -(max_down + min_up) / 2;
}

/* Prefers the mean over all free entries to any of them: at the optimum all their F are equal, and before it each of
 * them is off by the violation at most. */
double hg_qp_bias(const struct hg_qp *qp, const uint32_t *point, size_t count, const double *g, int l)
{
    double sum = 0, max_down, min_up;
    size_t free = 0;
    if (qp->no_sum)
        return 0;
    for (size_t k = 0; k < count; k++) {
        size_t i = point != NULL ? point[k] : k;
        if (hg_qp_is_inside(qp, l, i)) {
            sum += g[k] + qp->off[l][i] + (qp->beta[l][i] > 0 ? qp->kink : -qp->kink);
            free++;
        }
    }
    if (free > 0)
        return -sum / (double)free;
    bounds(qp, point, count, g, l, &max_down, &min_up);
    return hg_middle_bias(max_down, min_up);
}

/* Takes the larger of two layers, 0 at least; a NaN in either is not passed over. */
double hg_qp_violation(const struct hg_qp *qp, const double *g)
{
    double violation = 0;
    for (int l = 0; l < qp->layers; l++) {
        double max_down, min_up;
        bounds(qp, NULL, qp->n, g, l, &max_down, &min_up);
        violation = hg_larger(violation, hg_violation(qp, max_down, min_up));
    }
    return violation;
}
