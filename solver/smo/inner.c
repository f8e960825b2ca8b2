/*
 * Two-variable steps on K_WW, in f32 as long as that is exact enough, then in f64. Read inner.h and loops.h before.
 *
 * The order is that of a step: room, and a slot's entries; units; the choice of the pair (scan, second); the move of
 * the pair (move_pair), and of g by it (move_on); the loop of steps (run); and what turns the block to f32 and back
 * (narrow_down, widen). With F up_i = g_i + up_i and F down_j = g_j + down_j a step within a layer is
 *
 *     t = min((F down_j - F up_i) / (K_ii + K_jj - 2 K_ij), room of i upward, room of j downward)
 *     b_i += t,   b_j -= t,   g += t K_i - t K_j
 *
 * Coefficients are f64 at all times: f32 is only what g and its offsets are kept in meanwhile.
 */
#include "solver/smo/inner.h"
#include "hg_config.h"

#include <math.h>
#include <string.h>

extern const struct hg_loops hg_loops_plain;
#if HG_X86_LEVELS
extern const struct hg_loops hg_loops_v2, hg_loops_v3, hg_loops_v4;
#endif

/* Picks the table by the level, 1 (plain) to 4 (AVX-512); elsewhere than on x86-64 there is one. */
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

/* Makes room for cap slots, and one more where no sum is held (make_last_slot). ld is 16 values more than that, rounded
 * up: q is mostly a power of two, and rows that far apart would fall on the same sets of a cache. */
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

/* Sets an entry's up and down by its beta, and their copies in f32 while these hold. A copy is relative to off[0], as
 * g32 has that in it: g32 + up32 is (F up - middle) * unit.f, a small number where F are close to each other. */
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

/* Returns the power of two that brings a value to between 1 and 2; 1 for none. */
static double unit_of(double value)
{
    int exponent;
    frexp(value, &exponent);
    return value > 0 && isfinite(value) ? ldexp(1, HG_MIN(1 - exponent, 1023)) : 1;
}

/* Sets the units of the block, by the largest |K_kk|: kernels whose values f32 holds, and their gains too, may have
 * rows in f32 (hg_kernel_beyond_f32), and are not scaled. The least curvature is LIBSVM's 1e-12, and of kernels whose
 * values are less than 1 that share of the largest. */
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

/* Finds the extremes of F of a layer, in the type that g is kept in. */
static struct hg_extremes scan(const struct hg_inner *in, int l)
{
    return in->narrow ? in->loops->scan_narrow(in->qp.n, in->g32, in->up32[l], in->down32[l])
                      : in->loops->scan(in->qp.n, in->g, in->up[l], in->down[l]);
}

/* Chooses the second entry of the pair whose first, i, is the lowest of F up: the one of the largest gain, to second
 * order (Fan, Chen, Lin 2005). In f64 the unit of F is taken anew for each step, as F's range shrinks by orders of
 * magnitude. */
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

/* Moves the pair, b_i += step, b_j -= step; exactly onto the bound where it is the bound that ends the step. The
 * objective falls by step (slope - step curvature / 2), which is summed in *decrease. The offsets of the two follow at
 * once: the sweep that adds the step to g looks for extremes by them. */
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

/* Makes steps until the violation is at most target, or max_steps are made in all. e: the extremes of each layer, kept
 * up to date: the layer of a step by the step's own sweep, the other one, whose F move too, by a scan. The layer of the
 * larger violation makes the step. A violation that is NaN ends the loop. */
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

/* Turns to f32 where its rounding is well below target: a thousand steps lose some 1e-6 of the largest F, and target is
 * to be 2e-5 of it at least. F is taken relative to the middle of its extremes, as only differences of F decide, and
 * what they have in common would take digits. start keeps beta, by which widen knows what has moved. Buys: 1.1 to 0.65
 * us a step at q = 1024, with reductions over 256 entries and reciprocals of 3 digits (doc/tried.md); rows in f64 turn
 * it off. */
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

/* Turns back to f64. Without `exact` g is what f32 has of it, good enough where the caller makes g anew from beta's
 * moves, as block.c does with the rows of the points that moved. With it, g is the old g plus K_WW times what beta has
 * moved since narrow_down, and all that f32 has rounded away is there again. */
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

/* Makes the last slot of no_sum: K = 0 with all others and itself, and no bounds, so that its g and F stay 0 whatever
 * the others do. A pair with it is a step of one entry alone. */
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
