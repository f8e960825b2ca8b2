#include "solver/loops.h"
#include "hg_config.h"

#include <float.h>
#include <math.h>

enum { BLOCK = 64 };

/* ---- gradient update: memory bandwidth; eight rows a sweep so that g is read and written once for eight ---------- */

#define ADD_ROWS(NAME, REAL)                                                                                   \
    static void NAME##_8(const double *c, const REAL *const *row, size_t n, double *restrict g)                \
    {                                                                                                          \
        const REAL *restrict r0 = row[0], *restrict r1 = row[1], *restrict r2 = row[2], *restrict r3 = row[3]; \
        const REAL *restrict r4 = row[4], *restrict r5 = row[5], *restrict r6 = row[6], *restrict r7 = row[7]; \
        double c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], c4 = c[4], c5 = c[5], c6 = c[6], c7 = c[7];         \
        _Pragma("omp simd") for (size_t j = 0; j < n; j++) g[j] +=                                             \
            ((c0 * (double)r0[j] + c1 * (double)r1[j]) + (c2 * (double)r2[j] + c3 * (double)r3[j])) +          \
            ((c4 * (double)r4[j] + c5 * (double)r5[j]) + (c6 * (double)r6[j] + c7 * (double)r7[j]));           \
    }                                                                                                          \
    static void NAME(size_t n_rows, const double *coef, const REAL *const *row, size_t n, double *restrict g)  \
    {                                                                                                          \
        size_t r = 0;                                                                                          \
        for (; r + 8 <= n_rows; r += 8)                                                                        \
            NAME##_8(coef + r, row + r, n, g);                                                                 \
        for (; r < n_rows; r++) {                                                                              \
            const REAL *restrict k = row[r];                                                                   \
            double c = coef[r];                                                                                \
            _Pragma("omp simd") for (size_t j = 0; j < n; j++) g[j] += c * (double)k[j];                       \
        }                                                                                                      \
    }

ADD_ROWS(add_rows_f32, float)
ADD_ROWS(add_rows_f64, double)

/* ---- extremes: the value of each block by a vector reduction, the place by a look into the best block --------- */

/* Where nothing may move, the value is infinite; clang's reductions begin with the largest finite number. */
static void mark_none(struct hg_extremes *e)
{
    e->low = e->low < DBL_MAX ? e->low : INFINITY;
    e->high = e->high > -DBL_MAX ? e->high : -INFINITY;
}

static size_t place(size_t begin, size_t end, const double *g, const double *off, double value)
{
    for (size_t j = begin; j < end; j++)
        if (g[j] + off[j] == value)
            return j;
    return begin;
}

static struct hg_extremes scan(size_t n, const double *g, const double *up, const double *down)
{
    struct hg_extremes e = { INFINITY, -INFINITY, n, n, 0 };
    size_t low_block = 0, high_block = 0;
    double nan = 0;
    for (size_t b = 0; b < n; b += BLOCK) {
        size_t end = b + BLOCK < n ? b + BLOCK : n;
        double low = INFINITY, high = -INFINITY;
#pragma omp simd reduction(min : low) reduction(max : high) reduction(+ : nan)
        for (size_t j = b; j < end; j++) {
            double u = g[j] + up[j], d = g[j] + down[j];
            low = u < low ? u : low;
            high = d > high ? d : high;
            nan += g[j] * 0.0;
        }
        if (low < e.low)
            e.low = low, low_block = b;
        if (high > e.high)
            e.high = high, high_block = b;
    }
    mark_none(&e);
    if (e.low < INFINITY)
        e.i_low = place(low_block, n, g, up, e.low);
    if (e.high > -INFINITY)
        e.i_high = place(high_block, n, g, down, e.high);
    e.nan = nan;
    return e;
}

#define STEP(NAME, REAL)                                                                                       \
    static struct hg_extremes NAME(size_t n, double *restrict g, double di, const REAL *ki, double dj,         \
                                   const REAL *kj, const double *up, const double *down) {                     \
        struct hg_extremes e = { INFINITY, -INFINITY, n, n, 0 };                                               \
        size_t low_block = 0, high_block = 0;                                                                  \
        for (size_t b = 0; b < n; b += BLOCK) {                                                                \
            size_t end = b + BLOCK < n ? b + BLOCK : n;                                                        \
            double low = INFINITY, high = -INFINITY;                                                           \
            _Pragma("omp simd reduction(min : low) reduction(max : high)") for (size_t j = b; j < end; j++)    \
            {                                                                                                  \
                double v = g[j] + (di * (double)ki[j] + dj * (double)kj[j]);                                   \
                double u = v + up[j], d = v + down[j];                                                         \
                g[j] = v;                                                                                      \
                low = u < low ? u : low;                                                                       \
                high = d > high ? d : high;                                                                    \
            }                                                                                                  \
            if (low < e.low)                                                                                   \
                e.low = low, low_block = b;                                                                    \
            if (high > e.high)                                                                                 \
                e.high = high, high_block = b;                                                                 \
        }                                                                                                      \
        mark_none(&e);                                                                                         \
        if (e.low < INFINITY)                                                                                  \
            e.i_low = place(low_block, n, g, up, e.low);                                                       \
        if (e.high > -INFINITY)                                                                                \
            e.i_high = place(high_block, n, g, down, e.high);                                                  \
        return e;                                                                                              \
    }

STEP(step_f32, float)
STEP(step_f64, double)

/* ---- second-order choice; the gain only ranks, so f32 is enough -------------------------------------------------- */

#define SECOND(NAME, REAL)                                                                                     \
    static size_t NAME(size_t n, const double *g, const double *down, double fi, const REAL *ki, double kii,   \
                       const float *diagonal)                                                                  \
    {                                                                                                          \
        float best = 0;                                                                                        \
        size_t best_j = n;                                                                                     \
        for (size_t b = 0; b < n; b += BLOCK) {                                                                \
            size_t count = b + BLOCK < n ? BLOCK : n - b;                                                      \
            float gain[BLOCK], high = 0, k0 = (float)kii;                                                      \
            _Pragma("omp simd reduction(max : high)") for (size_t j = 0; j < count; j++)                       \
            {                                                                                                  \
                float v = (float)(g[b + j] + down[b + j] - fi);                                                \
                float a = k0 + diagonal[b + j] - 2 * (float)ki[b + j];                                         \
                a = a > (float)HG_TAU ? a : (float)HG_TAU;                                                     \
                float w = v > 0 ? v * v / a : 0;                                                               \
                gain[j] = w;                                                                                   \
                high = w > high ? w : high;                                                                    \
            }                                                                                                  \
            if (high > best) {                                                                                 \
                best = high;                                                                                   \
                for (best_j = 0; gain[best_j] != high; best_j++)                                               \
                    ;                                                                                          \
                best_j += b;                                                                                   \
            }                                                                                                  \
        }                                                                                                      \
        return best_j;                                                                                         \
    }

SECOND(second_f32, float)
SECOND(second_f64, double)

static size_t below(size_t n, const double *g, const double *off, double sign, double bound, uint32_t *out,
                    size_t cap)
{
    size_t count = 0;
    for (size_t b = 0; b < n; b += BLOCK) {
        size_t end = b + BLOCK < n ? b + BLOCK : n;
        double low = INFINITY;
#pragma omp simd reduction(min : low)
        for (size_t j = b; j < end; j++) {
            double v = sign * (g[j] + off[j]);
            low = v < low ? v : low;
        }
        if (!(low < bound))
            continue;
        for (size_t j = b; j < end && count < cap; j++)
            if (sign * (g[j] + off[j]) < bound)
                out[count++] = (uint32_t)j;
    }
    return count;
}

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define QUOTE_(a)   #a
#define QUOTE(a)    QUOTE_(a)

extern const struct hg_loops JOIN(hg_loops_, HG_LEVEL);
const struct hg_loops JOIN(hg_loops_, HG_LEVEL) = {
    QUOTE(HG_LEVEL), add_rows_f32, add_rows_f64, scan, step_f32, step_f64, second_f32, second_f64, below,
};
