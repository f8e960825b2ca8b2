/*
 * The one QP behind every task, over n points in one or two layers:
 *
 *     min 1/2 b'Kb + sum_l off_l'b_l + kink sum_i |b_1,i|,   b = sum_l b_l
 *     s.t. lo_l <= b_l <= hi_l,  sum_i b_l,i = as in the start, for each layer l
 *
 * b = s * alpha, signed. C-SVC: one layer, off = -y, box [0, C] or [-C, 0]. epsilon-SVR: one layer, off = -target,
 * kink = epsilon, box [-C, C]: the two variables of a point are the two sides of the kink. One-class: off = 0. The nu
 * tasks have two sums, hence two layers: by class (nu-SVC; lo = hi = 0 for the other class), by sign (nu-SVR).
 *
 * With g = K b, an entry may move up if b < hi: F up = g + off +- kink; down if b > lo. The violation is the largest
 * over layers of max F over down - min F over up; at the optimum it is <= 0.
 *
 * Without a sum (f through the origin: no bias), 0 takes part in both: the violation is the larger of max F down and
 * - min F up. One layer only.
 */
#ifndef HG_QP_H
#define HG_QP_H

#include "lib/base/base.h"

struct hg_qp {
    size_t n;    /* points */
    int layers;  /* 1, or 2: then a point has an entry in each */
    bool no_sum; /* no sum is held to, and the bias is 0; one layer only */
    double kink; /* >= 0; one layer only */
    /* [n] each, the second layer's right behind the first's, beta's too. hg_qp_init makes them, the caller fills them;
     * a solver changes beta alone. */
    double *off[2], *lo[2], *hi[2];
    double *beta[2]; /* in: a feasible start; out: the solution */
    double size;     /* largest |beta| that hg_qp_tidy has met: rounding is relative to it */
};

/* Offsets such that g + up, g + down are an entry's F in either direction, +inf / -inf where it may not move. At the
 * kink (beta = 0) the two differ by 2 kink, elsewhere by nothing where both directions are open. */
static inline double hg_up(double beta, double hi, double off, double kink)
{
    return beta < hi ? (beta < 0 ? off - kink : off + kink) : (double)__builtin_inf();
}

static inline double hg_down(double beta, double lo, double off, double kink)
{
    return beta > lo ? (beta > 0 ? off + kink : off - kink) : -(double)__builtin_inf();
}

/* How far an entry may go in one step: to the end of its box, or to the kink at 0 where that comes before, since F
 * jumps there. */
static inline double hg_room_up(double beta, double hi, double kink)
{
    return kink > 0 && beta < 0 ? -beta : hi - beta;
}

static inline double hg_room_down(double beta, double lo, double kink)
{
    return kink > 0 && beta > 0 ? beta : beta - lo;
}

/* Makes the arrays of n points, 0 all of them; hg_qp_free in any case, which may be called twice. */
hinge_status hg_qp_init(struct hg_qp *qp, size_t n, int layers, hinge_error *err);
void hg_qp_free(struct hg_qp *qp);

/* Returns the signed coefficient of a point, b of the formula above. */
static inline double hg_qp_beta(const struct hg_qp *qp, size_t i)
{
    return qp->layers == 1 ? qp->beta[0][i] : qp->beta[0][i] + qp->beta[1][i];
}

/* Says whether an entry is at none of its bounds, the kink among them, and whether one of a point's entries is. */
static inline bool hg_qp_is_inside(const struct hg_qp *qp, int l, size_t i)
{
    double b = qp->beta[l][i];
    return b > qp->lo[l][i] && b < qp->hi[l][i] && (qp->kink == 0 || b != 0);
}

static inline bool hg_qp_is_free(const struct hg_qp *qp, size_t i)
{
    return hg_qp_is_inside(qp, 0, i) || (qp->layers == 2 && hg_qp_is_inside(qp, 1, i));
}

/* Makes a point's coefficient b: of two layers, 0 has what is positive of it, 1 what is negative. */
static inline void hg_qp_put(struct hg_qp *qp, size_t i, double b)
{
    qp->beta[0][i] = qp->layers == 1 ? b : HG_MAX(b, 0.0);
    if (qp->layers == 2)
        qp->beta[1][i] = HG_MIN(b, 0.0);
}

/* Returns a beta that was scaled: at the bound that it misses by no more than a share of it. */
static inline double hg_qp_snap(double beta, double lo, double hi, double share)
{
    double bound = beta > 0 ? hi : lo, miss = beta - bound, size = bound < 0 ? -bound : bound;
    return (miss < 0 ? -miss : miss) <= share * size && size < (double)__builtin_inf() ? bound : beta;
}

/* Lists the points with beta != 0, in the order given (NULL: by number), and their beta; returns how many. point and
 * coef [n] may be NULL: they are only counted. */
size_t hg_qp_support(const struct hg_qp *qp, const uint32_t *order, uint32_t *point, double *coef);

/* Returns the length of beta, the root of its sum of squares: errors of kernel values add up in g to their size times
 * that where their signs are random. */
double hg_qp_length(const struct hg_qp *qp);

/* Brings entries that are a few roundings from 0 or from a bound there, as steps that should cancel leave them: they
 * are not inside their box, and the bias must not hang on them; the only one inside where it is a few roundings of the
 * sum of sizes from there. None moves by more than `most`. */
void hg_qp_tidy(struct hg_qp *qp, double most);

/* Sets up and down of each layer at a position: what is added to g there for F of entries that may move up, or down. */
static inline void hg_qp_offsets(const struct hg_qp *qp, size_t i, size_t at, double *const *up, double *const *down)
{
    for (int l = 0; l < qp->layers; l++) {
        up[l][at] = hg_up(qp->beta[l][i], qp->hi[l][i], qp->off[l][i], qp->kink);
        down[l][at] = hg_down(qp->beta[l][i], qp->lo[l][i], qp->off[l][i], qp->kink);
    }
}

/* Moves beta into the box and its layers' sums to those given: clips, then takes what is over (or missing) from the
 * entries inside their box, one after the other, and only then from those at a bound. false: the sums cannot be
 * reached. Without a sum it clips, and no more. */
bool hg_qp_project(struct hg_qp *qp, const double *sums);

/* The first layer's offset nearest to 0, where all are on one side of it and there is a sum, otherwise 0; *width: what
 * they differ by. */
double hg_qp_common_offset(const struct hg_qp *qp, double *width);

/* What that offset makes of the sum of beta: their product, and 0 where the sum is 0 but for rounding. */
double hg_qp_of_sum(const struct hg_qp *qp);

/* 1/2 beta'g + off'beta + kink |beta|_1; g NULL: 0. A sum of beta that is 0 but for rounding counts as 0. */
double hg_qp_objective(const struct hg_qp *qp, const double *g);

/* Returns an entry's part of the duality gap at slope = g + off + bias: slope beta + kink |beta|, less its least in the
 * box. */
double hg_qp_gap(double beta, double lo, double hi, double kink, double slope);

/* The threshold of layer l: the mean of -F over entries strictly inside the box (and off the kink), or, where there
 * is none, the midpoint of the bounds on it; without a sum 0. Over `count` points; g[k] is that of point[k] (point
 * NULL: of k). */
double hg_qp_bias(const struct hg_qp *qp, const uint32_t *point, size_t count, const double *g, int layer);

/* Returns that midpoint, of the extremes of F. */
double hg_middle_bias(double max_down, double min_up);

/* The violation of all points, 0 at least; NaN where a gradient is. g by point. */
double hg_qp_violation(const struct hg_qp *qp, const double *g);

/* Returns the violation of one layer, by its extremes. */
static inline double hg_violation(const struct hg_qp *qp, double max_down, double min_up)
{
    return qp->no_sum ? HG_MAX(max_down, -min_up) : max_down - min_up;
}

/* Says whether F up or F down of an entry may break the bounds on F if it is wrong by `off`: bounds of width eps around
 * the middle of max F down and min F up, or eps from 0 where no sum is held. */
static inline bool hg_may_break(const struct hg_qp *qp, double max_down, double min_up, double eps, double off,
                                double up, double down)
{
    double half = qp->no_sum ? eps : eps / 2, middle = qp->no_sum ? 0 : (max_down + min_up) / 2;
    return up < middle - half + off || down > middle + half - off;
}

#endif
