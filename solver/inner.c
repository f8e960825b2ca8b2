#include "solver/inner.h"

#include <math.h>
#include <string.h>

hinge_status hg_inner_init(struct hg_inner *in, size_t cap, int layers, double kink, hinge_dtype type,
                           const struct hg_loops *loops, hinge_error *err)
{
    memset(in, 0, sizeof *in);
    in->cap = cap;
    in->ld = (cap + 15) / 16 * 16 + 16; /* not a power of two, for the caches' sake */
    in->layers = layers;
    in->kink = kink;
    in->type = type;
    in->loops = loops;
    in->k = hg_alloc(cap * in->ld, hg_size_of(type));
    in->g = hg_zalloc(cap, sizeof(double));
    in->diagonal = hg_zalloc(cap, sizeof(double));
    in->diagonal32 = hg_zalloc(cap, sizeof(float));
    bool ok = in->k != NULL && in->g != NULL && in->diagonal != NULL && in->diagonal32 != NULL;
    double **arrays[] = { in->beta, in->lo, in->hi, in->off, in->up, in->down };
    for (int l = 0; l < layers; l++)
        for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
            ok = (arrays[a][l] = hg_zalloc(cap, sizeof(double))) != NULL && ok;
    if (!ok) {
        hg_inner_free(in);
        return hg_fail(err, HINGE_ENOMEM, "no memory for a working set of %zu examples", cap);
    }
    return HINGE_OK;
}

void hg_inner_free(struct hg_inner *in)
{
    for (int l = 0; l < 2; l++) {
        double *arrays[] = { in->beta[l], in->lo[l], in->hi[l], in->off[l], in->up[l], in->down[l] };
        for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
            hg_free(arrays[a]);
    }
    hg_free(in->k);
    hg_free(in->g);
    hg_free(in->diagonal);
    hg_free(in->diagonal32);
    memset(in, 0, sizeof *in);
}

static void set_offsets(struct hg_inner *in, int l, size_t k)
{
    double b = in->beta[l][k], off = in->off[l][k];
    in->up[l][k] = hg_up(b, in->hi[l][k], off, in->kink);
    in->down[l][k] = hg_down(b, in->lo[l][k], off, in->kink);
}

static const void *row(const struct hg_inner *in, size_t i)
{
    return (const char *)in->k + i * in->ld * hg_size_of(in->type);
}

static double value(const struct hg_inner *in, size_t i, size_t j)
{
    size_t at = i * in->ld + j;
    return in->type == HINGE_F32 ? (double)((const float *)in->k)[at] : ((const double *)in->k)[at];
}

/* The second entry of the pair whose first, i, is the lowest of F up. */
static size_t second(const struct hg_inner *in, int l, const struct hg_extremes *e)
{
    size_t i = e->i_low;
    if (in->type == HINGE_F32)
        return in->loops->second_f32(in->q, in->g, in->down[l], e->low, row(in, i), in->diagonal[i],
                                     in->diagonal32);
    return in->loops->second_f64(in->q, in->g, in->down[l], e->low, row(in, i), in->diagonal[i],
                                 in->diagonal32);
}

/* b_i += step, b_j -= step; exactly onto the bound where it is the bound that ends the step. */
static double move_pair(struct hg_inner *in, int l, size_t i, size_t j, double *decrease)
{
    double *bi = &in->beta[l][i], *bj = &in->beta[l][j];
    double slope = (in->g[j] + in->down[l][j]) - (in->g[i] + in->up[l][i]);
    double curvature = HG_MAX(in->diagonal[i] + in->diagonal[j] - 2 * value(in, i, j), HG_TAU);
    double room_i = hg_room_up(*bi, in->hi[l][i], in->kink), room_j = hg_room_down(*bj, in->lo[l][j], in->kink);
    double step = HG_MIN(slope / curvature, HG_MIN(room_i, room_j));
    double end_i = in->kink > 0 && *bi < 0 ? 0 : in->hi[l][i],
           end_j = in->kink > 0 && *bj > 0 ? 0 : in->lo[l][j];
    *bi = step >= room_i ? end_i : *bi + step;
    *bj = step >= room_j ? end_j : *bj - step;
    *decrease += step * (slope - 0.5 * step * curvature);
    set_offsets(in, l, i);
    set_offsets(in, l, j);
    return step;
}

static struct hg_extremes move_on(struct hg_inner *in, int l, size_t i, size_t j, double step)
{
    if (in->type == HINGE_F32)
        return in->loops->step_f32(in->q, in->g, step, row(in, i), -step, row(in, j), in->up[l], in->down[l]);
    return in->loops->step_f64(in->q, in->g, step, row(in, i), -step, row(in, j), in->up[l], in->down[l]);
}

struct hg_inner_result hg_inner_solve(struct hg_inner *in, double eps, double shrink, uint64_t max_steps)
{
    struct hg_inner_result result = { 0, 0, 0 };
    struct hg_extremes e[2];
    double target = eps;
    for (int l = 0; l < in->layers; l++) {
        for (size_t k = 0; k < in->q; k++)
            set_offsets(in, l, k);
        e[l] = in->loops->scan(in->q, in->g, in->up[l], in->down[l]);
    }
    for (;; result.steps++) {
        int l = in->layers == 2 && e[1].high - e[1].low > e[0].high - e[0].low;
        result.violation = e[l].high - e[l].low;
        if (result.steps == 0)
            target = HG_MAX(eps, shrink * result.violation);
        if (!(result.violation > target) || result.steps >= max_steps)
            return result;
        size_t i = e[l].i_low, j = second(in, l, &e[l]);
        if (j >= in->q)
            return result; /* gains that underflow: nothing left to win */
        double step = move_pair(in, l, i, j, &result.decrease);
        e[l] = move_on(in, l, i, j, step);
        if (in->layers == 2)
            e[1 - l] = in->loops->scan(in->q, in->g, in->up[1 - l], in->down[1 - l]);
    }
}
