/*
 * Vector code of the solver: one source for all levels of instructions. Read loops.h before, which says what each
 * function is to compute.
 *
 * Sections, each of which says what bounds it: rows added to the gradient; extremes of F, alone and within a step; the
 * second-order choice of a partner; steps wholly in f32; points below a bound. The build compiles this file once for
 * each level, with HG_LEVEL as the end of the table's name. Functions that differ in types alone are made by macros, as
 * each must be a loop of its own that the compiler turns into vector code (omp simd); only steps in f32 with AVX-512
 * are written by hand.
 *
 * Each sweep is over entries that are not in any order. An extreme is found in two parts, since a vector reduction of
 * values alone is fast and one of values with places is not: the value of each BLOCK of 256, then the place within the
 * one block that has the best. test/test_loops.c compares all levels with plain loops; hg_loops(1), or cpu_level = 1
 * among the options, takes the plain one.
 */
#include "solver/smo/loops.h"
#include "hg_config.h"

#include <float.h>
#include <math.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

enum {
    BLOCK = 256, /* entries summarised by one minimum and one maximum */
    GROUP = 16   /* entries compared per vector instruction */
};

/* ---- gradient update: memory bandwidth; eight rows a sweep so that g is read and written once for eight ---------- */

/* Makes NAME: g[j] += sum over r of c[r] row[r][j], products and sums in f64 whatever the rows' type. Eight rows are
 * summed as a tree of pairs, which is one fixed order with short chains of sums. */
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

/* Makes the value infinite where no entry may move that way; clang's reductions begin with the largest finite number
 * instead of infinity. */
static void mark_none(struct hg_extremes *e, double largest)
{
    e->low = e->low < largest ? e->low : INFINITY;
    e->high = e->high > -largest ? e->high : -INFINITY;
}

/* Makes NAME: the first j >= begin whose g + off is value, which is there, as the same sum of the same two numbers gave
 * it. Groups are looked through without a branch for each entry. */
#define PLACE(NAME, SUM)                                                                                       \
    static size_t NAME(size_t begin, size_t end, const SUM *g, const SUM *off, double value)                   \
    {                                                                                                          \
        SUM wanted = (SUM)value;                                                                               \
        for (; begin + GROUP <= end; begin += GROUP) {                                                         \
            int any = 0;                                                                                       \
            _Pragma("omp simd reduction(| : any)") for (size_t j = 0; j < GROUP; j++)                          \
                any |= g[begin + j] + off[begin + j] == wanted;                                                \
            if (any)                                                                                           \
                break;                                                                                         \
        }                                                                                                      \
        while (begin + 1 < end && g[begin] + off[begin] != wanted)                                             \
            begin++;                                                                                           \
        return begin;                                                                                          \
    }

PLACE(place, double)
PLACE(place_narrow, float)

/* Makes the body of a sweep: v is VALUE (of entry j), and AFTER is done with it. It finds the least v + up and the
 * largest v + down and their places, in types SUM. A block is the best where it is strictly better than those before,
 * and places are looked for from its beginning: so the first of equal entries is found, at any width of vectors. g must
 * hold v by then, since places are found by it. BOTH: the largest one's place is wanted too. */
#define EXTREMES(SUM, PLACE_NAME, LARGEST, BOTH, VALUE, AFTER)                                                 \
    struct hg_extremes e = { INFINITY, -INFINITY, n, n, 0 };                                                   \
    size_t low_block = 0, high_block = 0;                                                                      \
    SUM nan = 0;                                                                                               \
    for (size_t b = 0; b < n; b += BLOCK) {                                                                    \
        size_t end = b + BLOCK < n ? b + BLOCK : n;                                                            \
        SUM low = (SUM)INFINITY, high = (SUM)-INFINITY;                                                        \
        _Pragma("omp simd reduction(min : low) reduction(max : high) reduction(+ : nan)") for (size_t j = b;   \
                                                                                               j < end; j++)   \
        {                                                                                                      \
            SUM v = VALUE, u = v + up[j], d = v + down[j];                                                     \
            AFTER;                                                                                             \
            low = u < low ? u : low;                                                                           \
            high = d > high ? d : high;                                                                        \
        }                                                                                                      \
        if (low < (SUM)e.low)                                                                                  \
            e.low = low, low_block = b;                                                                        \
        if (high > (SUM)e.high)                                                                                \
            e.high = high, high_block = b;                                                                     \
    }                                                                                                          \
    mark_none(&e, LARGEST);                                                                                    \
    if (e.low < INFINITY)                                                                                      \
        e.i_low = PLACE_NAME(low_block, n, g, up, e.low);                                                      \
    if ((BOTH) && e.high > -INFINITY)                                                                          \
        e.i_high = PLACE_NAME(high_block, n, g, down, e.high);                                                 \
    e.nan = (double)nan;                                                                                       \
    return e;

/* Finds the extremes of g as it stands. v * 0 is 0 but for values that are not finite, which make the sum NaN: that is
 * told once for all entries, without a branch. */
static struct hg_extremes scan(size_t n, const double *g, const double *up, const double *down)
{
    EXTREMES(double, place, DBL_MAX, true, g[j], nan += v * 0.0)
}

static struct hg_extremes scan_narrow(size_t n, const float *g, const float *up, const float *down)
{
    EXTREMES(float, place_narrow, (double)FLT_MAX, true, g[j], nan += v * 0.0F)
}

/* Makes NAME: a step of two entries, g[j] += ci K_i[j] + cj K_j[j], and the extremes of the new g in the same sweep, so
 * that g is read and written once a step; but for the place of the highest, as no step asks for it. */
#define STEP(NAME, SUM, REAL, PLACE_NAME, LARGEST)                                                             \
    static struct hg_extremes NAME(size_t n, SUM *restrict g, double di, const REAL *ki, double dj,            \
                                   const REAL *kj, const SUM *up, const SUM *down)                             \
    {                                                                                                          \
        SUM ci = (SUM)di, cj = (SUM)dj;                                                                        \
        EXTREMES(SUM, PLACE_NAME, LARGEST, false, g[j] + (ci * (SUM)ki[j] + cj * (SUM)kj[j]), g[j] = v)        \
    }

STEP(step_f32, double, float, place, DBL_MAX)
STEP(step_f64, double, double, place, DBL_MAX)

/* ---- second-order choice; the gain only ranks, so f32 is enough -------------------------------------------------- */

/* The least curvature that gains are ranked by, whatever tau is: by less of it they would be infinite, all of one rank,
 * and a processor takes some hundred cycles to divide by a subnormal number. */
static const float LEAST = 16 * FLT_MIN;

/* Returns the first place of a value that is there. */
static size_t first_of(size_t n, const float *values, float value)
{
    size_t j = 0;
    for (; j + GROUP <= n; j += GROUP) {
        int any = 0;
#pragma omp simd reduction(| : any)
        for (size_t k = 0; k < GROUP; k++)
            any |= values[j + k] == value;
        if (any)
            break;
    }
    while (values[j] != value)
        j++;
    return j;
}

/* Makes NAME: the j of the largest GAIN of v = F down_j - fi > 0 and a = K_ii + K_jj - 2 K_ij, at least TAU; n where no
 * entry has v > 0. F and K are powers of two that scale v and a before they are rounded to f32, so that squares and
 * products neither overflow nor vanish. Gains of a block are kept until its best is known, whose place is then looked
 * for only where the block beats those before. */
#define SECOND(NAME, SUM, REAL, GAIN, UNIT, F, K, TAU)                                                         \
    static size_t NAME(size_t n, const SUM *g, const SUM *down, double fi, const REAL *ki, double kii,         \
                       const float *diagonal, UNIT)                                                            \
    {                                                                                                          \
        SUM low = (SUM)fi, of_f = (SUM)(F);                                                                    \
        REAL of_k = (REAL)(K);                                                                                 \
        float best = 0, k0 = (float)(kii * (double)of_k), tau = fmaxf((float)(TAU), LEAST);                    \
        size_t best_j = n;                                                                                     \
        for (size_t b = 0; b < n; b += BLOCK) {                                                                \
            size_t count = b + BLOCK < n ? BLOCK : n - b;                                                      \
            float gain[BLOCK], high = 0;                                                                       \
            _Pragma("omp simd reduction(max : high)") for (size_t j = 0; j < count; j++)                       \
            {                                                                                                  \
                float v = (float)((g[b + j] + down[b + j] - low) * of_f);                                      \
                float a = k0 + diagonal[b + j] - 2 * (float)(ki[b + j] * of_k);                                \
                a = a > tau ? a : tau;                                                                         \
                float w = v > 0 ? GAIN : 0;                                                                    \
                gain[j] = w;                                                                                   \
                high = w > high ? w : high;                                                                    \
            }                                                                                                  \
            if (high > best) {                                                                                 \
                best = high;                                                                                   \
                best_j = b + first_of(count, gain, high);                                                      \
            }                                                                                                  \
        }                                                                                                      \
        return best_j;                                                                                         \
    }

#define UNIT const struct hg_unit *unit
SECOND(second_f32, double, float, v * v / a, UNIT, unit->f, unit->k, unit->tau)
SECOND(second_f64, double, double, v * v / a, UNIT, unit->f, unit->k, unit->tau)

/* ---- steps in f32: most of a subproblem's time ------------------------------------------------------------------- */

static const uint32_t RECIPROCAL = 0x7ef311c7; /* less a float's bits: those of 1 / a to one digit */

#ifdef __AVX512F__

/* Lanes hold the first best value that each has seen, and its place: one reduction a sweep, and no second look for the
 * place. Of equal lanes the least place is taken, which is the first of all, as elsewhere. A step takes about three
 * quarters of the time that it takes without, with the same bits (doc/tried.md). A cpu_level of 1 to 3 turns it off. */
static const int lanes[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* Returns which of the 16 entries from j on there are, of n. */
static inline __mmask16 inside(size_t j, size_t n)
{
    return (__mmask16)(n - j < 16 ? (1U << (n - j)) - 1 : 0xffffU);
}

/* The first place of the value in lanes. */
static size_t first_place(__m512 values, float value, __m512i places)
{
    __mmask16 equal = _mm512_cmp_ps_mask(values, _mm512_set1_ps(value), _CMP_EQ_OQ);
    return (size_t)_mm512_mask_reduce_min_epu32(equal, places);
}

/* Makes a step in f32 and finds the lowest F up with its place; of the highest F down the value alone, as no step asks
 * for its place. */
static struct hg_extremes step_narrow(size_t n, float *restrict g, double di, const float *ki, double dj,
                                      const float *kj, const float *up, const float *down)
{
    const __m512 ci = _mm512_set1_ps((float)di), cj = _mm512_set1_ps((float)dj), none = _mm512_set1_ps(INFINITY);
    __m512 low = none, high = _mm512_set1_ps(-INFINITY);
    __m512i here = _mm512_loadu_si512(lanes), at_low = here;
    for (size_t j = 0; j < n; j += 16, here = _mm512_add_epi32(here, _mm512_set1_epi32(16))) {
        __mmask16 in = inside(j, n);
        __m512 change = _mm512_mul_ps(cj, _mm512_maskz_loadu_ps(in, kj + j));
        change = _mm512_fmadd_ps(ci, _mm512_maskz_loadu_ps(in, ki + j), change);
        __m512 v = _mm512_add_ps(change, _mm512_maskz_loadu_ps(in, g + j));
        _mm512_mask_storeu_ps(g + j, in, v);
        __m512 u = _mm512_mask_add_ps(none, in, v, _mm512_maskz_loadu_ps(in, up + j));
        __mmask16 lower = _mm512_cmp_ps_mask(u, low, _CMP_LT_OQ);
        low = _mm512_mask_mov_ps(low, lower, u);
        at_low = _mm512_mask_mov_epi32(at_low, lower, here);
        high = _mm512_mask_max_ps(high, in, _mm512_add_ps(v, _mm512_maskz_loadu_ps(in, down + j)), high);
    }
    float lowest = _mm512_reduce_min_ps(low), highest = _mm512_reduce_max_ps(high);
    return (struct hg_extremes){ lowest, highest, lowest < INFINITY ? first_place(low, lowest, at_low) : n, n, 0 };
}

/* Chooses the partner: gain v^2 / a with 1 / a to 3 digits, by the complement of a float's bits and one step of
 * Newton's method, x (2 - a x). */
static size_t second_narrow(size_t n, const float *g, const float *down, double fi, const float *ki, double kii,
                            const float *diagonal, double least)
{
    const __m512 two = _mm512_set1_ps(2), k0 = _mm512_set1_ps((float)kii);
    const __m512 tau = _mm512_set1_ps(fmaxf((float)least, LEAST));
    __m512 best = _mm512_setzero_ps(), fi_16 = _mm512_set1_ps((float)fi);
    __m512i here = _mm512_loadu_si512(lanes), at = here;
    for (size_t j = 0; j < n; j += 16, here = _mm512_add_epi32(here, _mm512_set1_epi32(16))) {
        __mmask16 in = inside(j, n);
        __m512 v = _mm512_add_ps(_mm512_maskz_loadu_ps(in, g + j), _mm512_maskz_loadu_ps(in, down + j));
        v = _mm512_sub_ps(v, fi_16);
        __m512 a = _mm512_add_ps(k0, _mm512_maskz_loadu_ps(in, diagonal + j));
        a = _mm512_max_ps(_mm512_fnmadd_ps(two, _mm512_maskz_loadu_ps(in, ki + j), a), tau);
        __m512 x = _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32((int)RECIPROCAL), _mm512_castps_si512(a)));
        x = _mm512_mul_ps(x, _mm512_fnmadd_ps(a, x, two));
        __mmask16 better = _mm512_mask_cmp_ps_mask(in, v, _mm512_setzero_ps(), _CMP_GT_OQ);
        __m512 gain = _mm512_mul_ps(_mm512_mul_ps(v, v), x);
        better = _mm512_mask_cmp_ps_mask(better, gain, best, _CMP_GT_OQ);
        best = _mm512_mask_mov_ps(best, better, gain);
        at = _mm512_mask_mov_epi32(at, better, here);
    }
    float most = _mm512_reduce_max_ps(best);
    return most > 0 ? first_place(best, most, at) : n;
}

#else

STEP(step_narrow, float, float, place_narrow, (double)FLT_MAX)

/* 1 / a to 3 digits, a > 0: the exponent's complement, and one step of Newton's. */
static inline float inverse(float a)
{
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    bits = RECIPROCAL - bits;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x * (2 - a * x);
}

SECOND(second_narrow, float, float, v * v * inverse(a), double least, 1, 1, least)

#endif

/* Lists entries whose sign (g + off) is below the bound, ascending. A stretch whose least value is not below it, as
 * most are, is passed over by one vector reduction. */
static size_t below(size_t n, const double *g, const double *off, double sign, double bound, uint32_t *out, size_t cap)
{
    enum { STRETCH = 64 };
    size_t count = 0;
    for (size_t b = 0; b < n; b += STRETCH) {
        size_t end = b + STRETCH < n ? b + STRETCH : n;
        double low = INFINITY;
#pragma omp simd reduction(min : low)
        for (size_t j = b; j < end; j++) {
            double v = sign * (g[j] + off[j]);
            low = v < low ? v : low;
        }
        if (!(low < bound))
            continue;
        for (size_t j = b; j < end && count < cap; j++) { /* no branch that is taken at random */
            out[count] = (uint32_t)j;
            count += sign * (g[j] + off[j]) < bound;
        }
    }
    return count;
}

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

extern const struct hg_loops JOIN(hg_loops_, HG_LEVEL);
const struct hg_loops JOIN(hg_loops_, HG_LEVEL) = {
    { add_rows_f32, add_rows_f64 }, scan, step_f32, step_f64, second_f32, second_f64, below, scan_narrow, step_narrow,
    second_narrow
};
