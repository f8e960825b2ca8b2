/*
 * The gradient of a problem, anew in f64 from data and coefficients, and what it says entry by entry: for certificates,
 * for runs that have ended early, and for the judgement of an interior point's factor. problem.h declares all of it.
 */
#include "lib/data/problem.h"

#include <math.h>
#include <string.h>

/* Makes g = X w, w = X'beta: the linear kernel without its matrix, in n d operations. Sums are long double, since a
 * certificate is to have digits that the solver's sums have not. */
static hinge_status linear_gradient(const struct hg_problem *pr, const uint32_t *subset, const struct hg_qp *qp,
                                    double *g, hinge_error *err)
{
    size_t d = pr->data.d;
    long double *w;
    double *x;
    HG_TRY(HG_MAKE(err, "the weights of features", HG_ZEROS(w, d), HG_ARRAY(x, d)));
    for (size_t i = 0; i < qp->n; i++) {
        double beta = hg_qp_beta(qp, i);
        if (beta == 0)
            continue;
        hg_points_pack(&pr->data.points, subset + i, 0, 1, HINGE_F64, x, d);
        for (size_t c = 0; c < d; c++)
            w[c] += (long double)beta * x[c];
    }
    for (size_t i = 0; i < qp->n; i++) {
        long double sum = 0;
        hg_points_pack(&pr->data.points, subset + i, 0, 1, HINGE_F64, x, d);
        for (size_t c = 0; c < d; c++)
            sum += w[c] * x[c];
        g[i] = (double)sum;
    }
    hg_free(w);
    return HINGE_OK;
}

/* Makes g = sum over support vectors of beta_j K(x_j, .) in f64 from the caller's rows, without cells or copies. */
hinge_status hg_problem_gradient(const struct hg_problem *pr, const uint32_t *subset, const struct hg_qp *qp,
                                 int threads, const struct hg_halt *halt, double *g, hinge_error *err)
{
    struct hg_gram gram = { 0 };
    if (pr->data.kernel.type == HINGE_LINEAR)
        return linear_gradient(pr, subset, qp, g, err);
    uint32_t *point;
    double *coef;
    HG_TRY(HG_MAKE(err, "the coefficients of a gradient", HG_ARRAY(point, qp->n), HG_ARRAY(coef, qp->n)));
    hinge_status status = hg_dataset_exact(&pr->data, subset, qp->n, threads, &gram, err);
    if (status == HINGE_OK) {
        size_t n_sv = hg_qp_support(qp, NULL, point, coef);
        memset(g, 0, qp->n * sizeof *g);
        status = hg_rows_apply(&gram.super, point, n_sv, coef, NULL, qp->n, g, &(struct hg_how){ .halt = halt });
        hg_rows_told(status, err);
    }
    hg_gram_free(&gram);
    hg_free(point);
    return status;
}

/* Returns what a variable lacks in complementary slackness, alpha (y f - 1 + xi) or (C - alpha) xi, divided by C: alpha
 * / C times slope where slope = y f - 1 > 0, (C - alpha) / C times -slope otherwise, where xi = -slope. Hard margin:
 * alpha |y f - 1|. */
static double slack(double alpha, double c, double slope)
{
    if (c <= 0)
        return 0;
    if (isinf(c))
        return alpha * fabs(slope);
    return slope > 0 ? alpha / c * slope : (c - alpha) / c * -slope;
}

/* Takes an entry as its two variables, alpha = max(beta, 0) and alpha* = max(-beta, 0), whose slopes have the kink
 * added. */
double hg_entry_gap(double beta, double lo, double hi, double kink, double slope, double *slackness)
{
    *slackness = hg_larger(*slackness, slack(fmax(beta, 0), hi, slope + kink));
    *slackness = hg_larger(*slackness, slack(fmax(-beta, 0), -lo, -slope + kink));
    return hg_qp_gap(beta, lo, hi, kink, slope);
}

/* Finds the half width by halving over the bits of doubles: numbers above 0 are in the order of their bits, so that 63
 * questions are exact to the last one. The result is the largest that leaves more than `allowed` outside, one digit
 * below the least that does not; 0 where no tube does. */
double hg_tube(double (*outside)(void *arg, double half), void *arg, double allowed)
{
    uint64_t key = 0;
    double half;
    for (uint64_t bit = (uint64_t)1 << 62; bit > 0; bit /= 2) { /* numbers above 0 are in the order of their bits */
        key |= bit;
        memcpy(&half, &key, sizeof half);
        key -= outside(arg, half) > allowed ? 0 : bit;
    }
    memcpy(&half, &key, sizeof half);
    return half;
}
