/*
 * Plain numbers: losses, slack, conventions of the trade-off, bounds. Formulas and sources stand in hinge/theory.h.
 */
#include "lib/base/base.h"

#include <hinge/theory.h>
#include <math.h>

/* ---- losses ------------------------------------------------------------------------------------------------------ */

static const char *const loss_names[HINGE_N_LOSSES] = { "hinge", "perceptron", "logistic", "0-1", "exponential" };

const char *hinge_loss_name(hinge_loss loss)
{
    return (size_t)loss < HINGE_N_LOSSES ? loss_names[loss] : NULL;
}

/* Computes losses by functions that neither overflow nor cancel: log2(1 + exp(-m)) is of exp(-|m|) <= 1. */
double hinge_loss_value(hinge_loss loss, double m)
{
    const double log2_e = 1.4426950408889634;
    if (isnan(m))
        return NAN;
    switch (loss) {
    case HINGE_LOSS_HINGE:
        return fmax(0, 1 - m);
    case HINGE_LOSS_PERCEPTRON:
        return fmax(0, -m);
    case HINGE_LOSS_LOGISTIC: /* of exp(-|m|), which does not overflow */
        return log2_e * (log1p(exp(-fabs(m))) + fmax(0, -m));
    case HINGE_LOSS_ZERO_ONE:
        return m <= 0;
    case HINGE_LOSS_EXPONENTIAL:
        return exp(-m);
    default:
        return NAN;
    }
}

double hinge_loss_slope(hinge_loss loss, double m)
{
    const double log2_e = 1.4426950408889634;
    if (isnan(m) || (size_t)loss >= HINGE_N_LOSSES)
        return NAN;
    return loss == HINGE_LOSS_HINGE         ? m < 1
           : loss == HINGE_LOSS_PERCEPTRON  ? m <= 0
           : loss == HINGE_LOSS_LOGISTIC    ? log2_e / (1 + exp(m))
           : loss == HINGE_LOSS_EXPONENTIAL ? exp(fmin(-m, 300))
                                            : 0;
}

double hinge_loss_mean(hinge_loss loss, const double *margins, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += hinge_loss_value(loss, margins[i]);
    return sum / (double)n; /* 0 / 0: NaN */
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

/* Takes alpha for C from a 1e-12th below on, as coefficients read from text may be rounded. */
hinge_sv_kind hinge_sv_kind_of(double alpha, double C)
{
    if (!(alpha > 0))
        return HINGE_NO_SV;
    return alpha >= C * (1 - 1e-12) ? HINGE_NON_MARGIN_SV : HINGE_MARGIN_SV;
}

double hinge_pinball(double tau, double residual)
{
    return tau >= 0 && tau <= 1 ? (residual < 0 ? tau - 1 : tau) * residual : NAN;
}

double hinge_slack(double y, double f)
{
    return isnan(y * f) ? NAN : fmax(0, 1 - y * f);
}

hinge_slack_class hinge_slack_class_of(double slack, double tolerance)
{
    if (slack <= tolerance)
        return HINGE_SLACK_NONE;
    if (fabs(slack - 1) <= tolerance)
        return HINGE_SLACK_BOUNDARY;
    return slack < 1 ? HINGE_SLACK_INSIDE : HINGE_SLACK_WRONG;
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

double hinge_margin(double norm2)
{
    return norm2 > 0 ? 1 / sqrt(norm2) : NAN;
}

double hinge_distance(double f, double norm2)
{
    return norm2 > 0 ? fabs(f) / sqrt(norm2) : NAN;
}

double hinge_bound_leave_one_out(size_t n_sv, size_t n)
{
    return n > 0 ? (double)n_sv / (double)n : NAN;
}

double hinge_bound_vc_fat(double radius, double margin, double d)
{
    if (!(radius >= 0 && margin > 0 && d >= 0))
        return NAN;
    return fmin(ceil(radius * radius / (margin * margin)), d) + 1;
}

double hinge_bound_vc_slides(double radius, double margin, double d)
{
    if (!(radius >= 0 && margin > 0 && d >= 0))
        return NAN;
    return fmin(d, ceil(4 * radius * radius / (margin * margin)));
}

double hinge_bound_growth(size_t h, size_t n)
{
    double term = 1, sum = 1;
    for (size_t i = 1; i <= h && i <= n && isfinite(sum); i++) {
        term *= (double)(n - i + 1) / (double)i;
        sum += term;
    }
    return sum;
}

/* Sums C(n, i) / 2^n for i > h from the small end, i = n, on, where h is below half of n, from the other: nothing
 * cancels and, by logarithms, nothing overflows. */
double hinge_bound_falsification(size_t h, size_t n)
{
    bool low = 2 * h < n; /* then the few first terms are what lacks to 1 */
    double sum = 0, m = (double)n;
    for (size_t i = low ? 0 : h + 1; i <= (low ? h : n); i++) {
        double k = (double)i;
        sum += exp(lgamma(m + 1) - lgamma(k + 1) - lgamma(m - k + 1) - m * log(2));
    }
    return low ? 1 - sum : sum;
}

/* Computes R + 2 sqrt(2 (h ln(2 e n / h) + ln(2 / delta)) / n); there is no bound where n < h. */
double hinge_bound_vc_risk(double risk, double h, size_t n, double delta)
{
    double m = (double)n;
    if (!(risk >= 0 && h > 0 && n > 0 && delta > 0 && delta < 1))
        return NAN;
    if (m < h)
        return INFINITY;
    return risk + 2 * sqrt(2 * (h * (1 + log(2 * m / h)) + log(2 / delta)) / m); /* ln(2 e n / h) = 1 + ln(2 n / h) */
}

double hinge_bound_stability(double risk, double norm2, double lambda, double radius, size_t m)
{
    if (!(risk >= 0 && norm2 >= 0 && lambda > 0 && radius >= 0 && m > 0))
        return NAN;
    return risk + lambda * norm2 + 2 * radius * radius / (lambda * (double)m);
}

double hinge_bound_stability_best(double radius, double B, size_t m)
{
    return radius >= 0 && B >= 0 && m > 0 ? radius * B * sqrt(8 / (double)m) : NAN;
}

double hinge_stability_lambda(double radius, double B, size_t m)
{
    return radius > 0 && B > 0 && m > 0 ? radius / B * sqrt(2 / (double)m) : NAN;
}

/* ---- conventions of the trade-off -------------------------------------------------------------------------------- */

/* Converts by way of C, the factor of the sum of slacks. */
double hinge_tradeoff_convert(hinge_tradeoff from, hinge_tradeoff to, double value, size_t m)
{
    double n = (double)m;
    if (!(value > 0) || m == 0)
        return NAN;
    /* divided by 2 lambda, the objective of LAMBDA is 1/2 ||w||^2 + 1/(2 lambda m) sum xi */
    double C = from == HINGE_TRADEOFF_SUM      ? value
               : from == HINGE_TRADEOFF_MEAN   ? value / n
               : from == HINGE_TRADEOFF_LAMBDA ? 1 / (2 * value * n)
                                               : NAN;
    return to == HINGE_TRADEOFF_SUM      ? C
           : to == HINGE_TRADEOFF_MEAN   ? C * n
           : to == HINGE_TRADEOFF_LAMBDA ? 1 / (2 * C * n)
                                         : NAN;
}

double hinge_tradeoff_max_margin(double C, double sum_alpha)
{
    return C > 0 && sum_alpha > 0 ? C / sum_alpha : NAN;
}

double hinge_tradeoff_nu(double C_mm, size_t m)
{
    return C_mm * (double)m >= 1 ? 1 / (C_mm * (double)m) : NAN;
}
