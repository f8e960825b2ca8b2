/* Two-variable steps on K_WW (inner.h), in f32 as long as that is exact enough, then in f64. */
#include "solver/smo/inner.h"
#include "hg_config.h"

#include <math.h>
#include <string.h>

extern const struct hg_loops hg_loops_plain;
#if HG_X86_LEVELS
extern const struct hg_loops hg_loops_v2, hg_loops_v3, hg_loops_v4;
#endif

const struct hg_loops *hg_loops(int level)
{
#if HG_X86_LEVELS
    const struct hg_loops *const tables[] = { &hg_loops_plain, &hg_loops_v2, &hg_loops_v3, &hg_loops_v4 };
    return tables[level - 1];
#else
    (void)level;
    return &hg_loops_plain;
#endif
}

hinge_status hg_inner_init(struct hg_inner *in, size_t cap, const struct hg_qp *whole, hinge_dtype type,
                           const struct hg_loops *loops, hinge_error *err)
{
    memset(in, 0, sizeof *in);
    cap += whole->no_sum;
    in->ld = (cap + 15) / 16 * 16 + 16; /* not a power of two, for the caches' sake */
    in->type = type;
    in->loops = loops;
    HG_TRY(hg_qp_init(&in->qp, cap, whole->layers, err));
    in->qp.no_sum = whole->no_sum;
    in->qp.kink = whole->kink;
    size_t both = whole->layers == 2 ? cap : 0;
    return HG_MAKE(err, "a working set", HG_VALUES(in->k, cap * in->ld, hg_size_of(type)), HG_ZEROS(in->g, cap),
                   HG_ZEROS(in->diagonal, cap), HG_ZEROS(in->diagonal32, cap), HG_ZEROS(in->g32, cap),
                   HG_ZEROS(in->start, cap), HG_ZEROS(in->coef, cap), HG_ZEROS(in->row, cap), HG_ZEROS(in->up[0], cap),
                   HG_ZEROS(in->down[0], cap), HG_ZEROS(in->up32[0], cap), HG_ZEROS(in->down32[0], cap),
                   HG_ZEROS(in->up[1], both), HG_ZEROS(in->down[1], both), HG_ZEROS(in->up32[1], both),
                   HG_ZEROS(in->down32[1], both));
}

void hg_inner_free(struct hg_inner *in)
{
    hg_qp_free(&in->qp);
    hg_free(in->k);
    in->k = NULL;
}

/* Returns the kink of an entry: the last slot of a set without a sum has none. */
static double kink_of(const struct hg_inner *in, size_t k)
{
    return in->qp.no_sum && k + 1 == in->qp.n ? 0 : in->qp.kink;
}

static void set_offsets(struct hg_inner *in, int l, size_t k)
{
    double b = in->qp.beta[l][k], off = in->qp.off[l][k], kink = kink_of(in, k);
    in->up[l][k] = hg_up(b, in->qp.hi[l][k], off, kink);
    in->down[l][k] = hg_down(b, in->qp.lo[l][k], off, kink);
    if (in->narrow) {
        in->up32[l][k] = (float)((in->up[l][k] - in->qp.off[0][k]) * in->unit.f);
        in->down32[l][k] = (float)((in->down[l][k] - in->qp.off[0][k]) * in->unit.f);
    }
}

static const void *row(const struct hg_inner *in, size_t i)
{
    return (const char *)in->k + i * in->ld * hg_size_of(in->type);
}

static double value(const struct hg_inner *in, size_t i, size_t j)
{
    return hg_get(in->k, in->type, i * in->ld + j);
}

void hg_inner_put(struct hg_inner *in, size_t slot, const struct hg_qp *qp, size_t i)
{
    for (int l = 0; l < in->qp.layers; l++) {
        in->qp.beta[l][slot] = qp->beta[l][i];
        in->qp.lo[l][slot] = qp->lo[l][i];
        in->qp.hi[l][slot] = qp->hi[l][i];
        in->qp.off[l][slot] = qp->off[l][i];
    }
}

void hg_inner_take_diagonal(struct hg_inner *in, size_t slot)
{
    in->diagonal[slot] = value(in, slot, slot);
}

/* The power of two that brings a value to between 1 and 2; 1 for none. */
static double unit_of(double value)
{
    int exponent;
    frexp(value, &exponent);
    return value > 0 && isfinite(value) ? ldexp(1, HG_MIN(1 - exponent, 1023)) : 1;
}

/* Rows in f32 are those of kernels whose values f32 holds, and their gains too: hg_kernel_beyond_f32. */
static void set_unit(struct hg_inner *in)
{
    double largest = 0;
    for (size_t k = 0; k < in->qp.n; k++)
        largest = HG_MAX(largest, fabs(in->diagonal[k]));
    double unit = unit_of(largest), of_k = in->type == HINGE_F64 ? unit : 1;
    in->unit = (struct hg_unit){ 1, of_k, HG_TAU * HG_MIN(1, 1 / unit) * of_k };
    for (size_t k = 0; k < in->qp.n; k++)
        in->diagonal32[k] = (float)(in->diagonal[k] * in->unit.k);
}

static struct hg_extremes scan(const struct hg_inner *in, int l)
{
    return in->narrow ? in->loops->scan_narrow(in->qp.n, in->g32, in->up32[l], in->down32[l])
                      : in->loops->scan(in->qp.n, in->g, in->up[l], in->down[l]);
}

/* The second entry of the pair whose first, i, is the lowest of F up. */
static size_t second(const struct hg_inner *in, int l, const struct hg_extremes *e)
{
    size_t i = e->i_low;
    if (in->narrow)
        return in->loops->second_narrow(in->qp.n, in->g32, in->down32[l], e->low, row(in, i), in->diagonal[i],
                                        in->diagonal32, in->unit.tau);
    const struct hg_unit unit = { unit_of(e->high - e->low), in->unit.k, in->unit.tau };
    const double *g = in->g, *down = in->down[l];
    if (in->type == HINGE_F32)
        return in->loops->second_f32(in->qp.n, g, down, e->low, row(in, i), in->diagonal[i], in->diagonal32, &unit);
    return in->loops->second_f64(in->qp.n, g, down, e->low, row(in, i), in->diagonal[i], in->diagonal32, &unit);
}

/* Returns max F down - min F up, which the pair may win by moving. */
static double slope_of(const struct hg_inner *in, int l, size_t i, size_t j)
{
    if (in->narrow)
        return ((double)(in->g32[j] + in->down32[l][j]) - (double)(in->g32[i] + in->up32[l][i])) / in->unit.f;
    return (in->g[j] + in->down[l][j]) - (in->g[i] + in->up[l][i]);
}

/* Moves the pair, b_i += step, b_j -= step; exactly onto the bound where it is the bound that ends the step. */
static double move_pair(struct hg_inner *in, int l, size_t i, size_t j, double *decrease)
{
    double *bi = &in->qp.beta[l][i], *bj = &in->qp.beta[l][j];
    double slope = slope_of(in, l, i, j);
    double least = in->unit.tau / in->unit.k;
    double curvature = HG_MAX(in->diagonal[i] + in->diagonal[j] - 2 * value(in, i, j), least);
    double kink_i = kink_of(in, i), kink_j = kink_of(in, j);
    double room_i = hg_room_up(*bi, in->qp.hi[l][i], kink_i), room_j = hg_room_down(*bj, in->qp.lo[l][j], kink_j);
    double step = HG_MIN(slope / curvature, HG_MIN(room_i, room_j));
    double end_i = kink_i > 0 && *bi < 0 ? 0 : in->qp.hi[l][i], end_j = kink_j > 0 && *bj > 0 ? 0 : in->qp.lo[l][j];
    *bi = step >= room_i ? end_i : *bi + step;
    *bj = step >= room_j ? end_j : *bj - step;
    *decrease += step * (slope - 0.5 * step * curvature);
    set_offsets(in, l, i);
    set_offsets(in, l, j);
    return step;
}

/* Adds the pair's step to g of all entries, and finds the new extremes of its layer in the same sweep. */
static struct hg_extremes move_on(struct hg_inner *in, int l, size_t i, size_t j, double step)
{
    double scaled = step * in->unit.f;
    if (in->narrow)
        return in->loops->step_narrow(in->qp.n, in->g32, scaled, row(in, i), -scaled, row(in, j), in->up32[l],
                                      in->down32[l]);
    if (in->type == HINGE_F32)
        return in->loops->step_f32(in->qp.n, in->g, step, row(in, i), -step, row(in, j), in->up[l], in->down[l]);
    return in->loops->step_f64(in->qp.n, in->g, step, row(in, i), -step, row(in, j), in->up[l], in->down[l]);
}

/* Sets all offsets and finds the extremes of each layer; returns the violation. */
static double look(struct hg_inner *in, struct hg_extremes *e)
{
    double violation = -INFINITY;
    for (int l = 0; l < in->qp.layers; l++) {
        for (size_t k = 0; k < in->qp.n; k++)
            set_offsets(in, l, k);
        e[l] = scan(in, l);
        violation = HG_MAX(violation, e[l].high - e[l].low);
    }
    return violation / in->unit.f;
}

/* Steps until the violation is at most target. */
static void run(struct hg_inner *in, struct hg_extremes *e, double target, uint64_t max_steps,
                struct hg_inner_result *result)
{
    for (;; result->steps++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): look() filled e of each layer */
        int l = in->qp.layers == 2 && e[1].high - e[1].low > e[0].high - e[0].low;
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        result->violation = (e[l].high - e[l].low) / in->unit.f;
        if (!(result->violation > target) || result->steps >= max_steps)
            return;
        size_t i = e[l].i_low, j = second(in, l, &e[l]);
        if (j >= in->qp.n)
            return; /* gains that underflow: nothing left to win */
        double step = move_pair(in, l, i, j, &result->decrease);
        e[l] = move_on(in, l, i, j, step);
        if (in->qp.layers == 2)
            e[1 - l] = scan(in, 1 - l);
    }
}

/* Turns to f32 where its rounding is well below target: F is good to some 1e-6 of its largest value. */
static bool narrow_down(struct hg_inner *in, double target, const struct hg_extremes *e)
{
    double low = INFINITY, high = -INFINITY, largest = 0;
    if (in->type != HINGE_F32)
        return false;
    for (int l = 0; l < in->qp.layers; l++) {
        low = HG_MIN(low, e[l].low);
        high = HG_MAX(high, e[l].high);
    }
    in->middle = (low + high) / 2;
    for (size_t k = 0; k < in->qp.n; k++) {
        double g = in->g[k] + in->qp.off[0][k] - in->middle;
        largest = HG_MAX(largest, fabs(g));
        in->start[k] = hg_qp_beta(&in->qp, k);
    }
    in->unit.f = unit_of(largest + in->qp.kink);
    for (size_t k = 0; k < in->qp.n; k++)
        in->g32[k] = (float)((in->g[k] + in->qp.off[0][k] - in->middle) * in->unit.f);
    in->narrow = target >= 2e-5 * (largest + in->qp.kink); /* false for NaN */
    if (!in->narrow)
        in->unit.f = 1;
    return in->narrow;
}

/* Back to f64: g from f32's, or by what beta has moved since. */
static void widen(struct hg_inner *in, bool exact)
{
    in->narrow = false;
    size_t moved = 0;
    for (size_t k = 0; k < in->qp.n; k++) {
        double delta = hg_qp_beta(&in->qp, k) - in->start[k];
        if (!exact)
            in->g[k] = (double)in->g32[k] / in->unit.f - in->qp.off[0][k] + in->middle;
        else if (delta != 0) {
            in->row[moved] = (float *)in->k + k * in->ld;
            in->coef[moved++] = delta;
        }
    }
    in->unit.f = 1;
    if (moved > 0)
        in->loops->add.f32(moved, in->coef, (const float *const *)in->row, in->qp.n, in->g);
}

/* The last slot of no_sum: g = 0 and F = 0 whatever the others do. */
static void make_last_slot(struct hg_inner *in)
{
    size_t last = in->qp.n - 1, size = hg_size_of(in->type);
    memset((char *)in->k + last * in->ld * size, 0, in->qp.n * size);
    for (size_t k = 0; k < last; k++)
        memset((char *)in->k + (k * in->ld + last) * size, 0, size);
    in->g[last] = in->diagonal[last] = in->qp.beta[0][last] = in->qp.off[0][last] = 0;
    in->qp.lo[0][last] = -INFINITY;
    in->qp.hi[0][last] = INFINITY;
}

/* Solves in f32 and in f64 by turns while f32 brings the violation down by half, and then in f64: what f32 has lost is
 * made up for by K_WW times what beta has moved in all, once a turn. */
struct hg_inner_result hg_inner_solve(struct hg_inner *in, double eps, double shrink, bool exact, uint64_t max_steps)
{
    struct hg_inner_result result = { 0 };
    struct hg_extremes e[2];
    if (in->qp.no_sum)
        make_last_slot(in);
    set_unit(in);
    double violation = look(in, e), target = HG_MAX(eps, shrink * violation);
    result.target = target;
    while (violation > target && narrow_down(in, target, e)) {
        look(in, e);
        run(in, e, target, max_steps, &result);
        widen(in, exact);
        if (!exact)
            return result;
        double before = violation;
        violation = look(in, e);
        if (violation > before / 2) /* f32 is of no more use */
            break;
    }
    run(in, e, target, max_steps, &result);
    return result;
}
