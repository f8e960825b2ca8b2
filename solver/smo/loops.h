/*
 * The solver's inner loops. Like kernels/map.c, the one source loops.c is compiled plain and once an x86-64 level;
 * hg_loops() picks a table at run time.
 */
#ifndef HG_LOOPS_H
#define HG_LOOPS_H

#include "lib/rows/rows.h"

#include <stddef.h>
#include <stdint.h>

/* The lowest of g + up and the highest of g + down with their places (lowest index among equals). nan: some g is
 * not finite. */
struct hg_extremes {
    double low, high;
    size_t i_low, i_high;
    double nan; /* 0, or NaN; scan's only */
};

/* Powers of two that values of F and of K are multiplied by, so that f32 holds their gains, and the least curvature
 * that counts, of values so scaled. */
struct hg_unit {
    double f, k, tau;
};

struct hg_loops {
    struct hg_adders add;
    struct hg_extremes (*scan)(size_t n, const double *g, const double *up, const double *down);
    /* An inner step: g += di * ki + dj * kj, then the extremes as scan finds them, but for i_high, which is n. */
    struct hg_extremes (*step_f32)(size_t n, double *g, double di, const float *ki, double dj, const float *kj,
                                   const double *up, const double *down);
    struct hg_extremes (*step_f64)(size_t n, double *g, double di, const double *ki, double dj, const double *kj,
                                   const double *up, const double *down);
    /* Second-order choice (Fan, Chen, Lin 2005, WSS 2): the j that maximises b^2 / a, b = (g[j] + down[j] - fi) unit->f
     * > 0, a = max(kii unit->k + diagonal[j] - 2 ki[j] unit->k, unit->tau). n if no b is positive. */
    size_t (*second_f32)(size_t n, const double *g, const double *down, double fi, const float *ki, double kii,
                         const float *diagonal, const struct hg_unit *unit);
    size_t (*second_f64)(size_t n, const double *g, const double *down, double fi, const double *ki, double kii,
                         const float *diagonal, const struct hg_unit *unit);
    /* Makes out all j with sign * (g[j] + off[j]) < bound in ascending order, cap of them at most; returns how many.
     * What is behind them in out, up to cap, may be overwritten. */
    size_t (*below)(size_t n, const double *g, const double *off, double sign, double bound, uint32_t *out, size_t cap);
    /* Do scan, step and second with everything in f32, second with no units but tau: about 1e-6 of the largest |g| is
     * lost in a thousand steps, and second ranks by gains good to 3 digits. */
    struct hg_extremes (*scan_narrow)(size_t n, const float *g, const float *up, const float *down);
    struct hg_extremes (*step_narrow)(size_t n, float *g, double di, const float *ki, double dj, const float *kj,
                                      const float *up, const float *down);
    size_t (*second_narrow)(size_t n, const float *g, const float *down, double fi, const float *ki, double kii,
                            const float *diagonal, double tau);
};

/* Picks the table of a level, which is as hg_cpu_level returns it. */
const struct hg_loops *hg_loops(int level);

#define HG_TAU 1e-12 /* LIBSVM's least curvature; of kernels whose values are less than 1, so much of the largest */

#endif
