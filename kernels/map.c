/*
 * Kernel maps: k(x, z_j) from the dot products s = <x, z_j>, one row of a tile at a time.
 *
 *   linear      s                             polynomial  (gamma s + coef0)^degree
 *   rbf         exp(-gamma d2),  d2 = max(0, ||x||^2 + ||z||^2 - 2 s)
 *   matern32    (1 + r) exp(-r),  r = sqrt(gamma d2);   matern52    (1 + r + r^2 / 3) exp(-r)
 *   laplacian   exp(-gamma s), where s is the sum of absolute differences instead (differences.c)
 *   sigmoid     tanh u = sign(u) (1 - e) / (1 + e),  u = gamma s + coef0,  e = exp(-2 |u|);  where |u| < 1/32, and
 *               1 - e would lose digits, Taylor's series up to u^9 (2e-17 of the value are left)
 *
 * All exponentials are exp(c d) with d >= 0 and c known for the whole row. So c goes over to base 2 once, in
 * two parts, hi + lo = c log2(e), and with fused multiply-add no product c d is ever rounded (without it that
 * rounding costs |c d| / 2 ulp):
 *
 *   n = round(d hi)        by adding 1.5 2^23 (f32) or 1.5 2^52 (f64), where the ulp is 1, and subtracting it
 *   f = d hi - n + d lo    in [-1/2, 1/2]
 *   2 2^f ~ 2 + f q(f)     q minimises the largest relative error: computed for this file by Remez exchange in
 *                          50 digits, degree 5 (f32, 2.0e-9) and 10 (f64, 3.4e-18); exp(0) is exactly 1
 *   2^(n-1)                the low bits of the shifted sum, biased on the way, moved into the exponent field
 *
 * The factor 2 keeps every result normal: n - 1 runs from -126 to 127 in f32, and the field of n = -126 is 0,
 * so that exp is 0 there. Results under 2^-125.5 (c d < -86.99), in f64 under 2^-1021.5 (c d < -708.05), are 0;
 * overflow gives infinity. d is clamped from above to where that happens, for RBF from below, instead of to 0,
 * to where exp(c d) rounds to 1: nothing on the way is infinite or denormal. The clamps let NaN pass. Their
 * bounds are variables, because gcc forms max instructions with these but not with a literal 0.
 *
 * The f32 polynomial is in Horner's form, as its loop is bound by the number of multiply-adds, not by their
 * latency; the f64 one is in powers of f^2, a shorter chain, which is faster on SSE and no slower on AVX.
 *
 * With AVX-512 RBF's vectors go side by side, for their latency. In f64 2^(k/16) is looked up in two registers: n is
 * rounded to sixteenths, |f| <= 1/32, q of degree 5 (7.1e-18) does, and 2^n with its limits is one instruction.
 *
 * Every entry goes through the same whole blocks, the last one padded, so its bits do not depend on its place.
 * Compiled once a level with HG_LEVEL = plain, v2, v3 or v4; FMA contraction is wanted, no fast-math.
 */
#include "lib/base/level.h"
#include "kernels/panel.h"

#include "hg_config.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define LOG2E 1.4426950408889634074
#define LOG2E_LO 2.0355273740931033e-17 /* log2(e) - (double)LOG2E */
#define SHIFT32 (12582912.0F + 126.0F)
#define SHIFT64 (6755399441055744.0 + 1022.0)

/* Makes a b + c with one rounding where that is an instruction; clang contracts no product that is used twice */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(FP_FAST_FMA)
#define FMA32(a, b, c) fmaf(a, b, c)
#define FMA64(a, b, c) fma(a, b, c)
#else
#define FMA32(a, b, c) ((a) * (b) + (c))
#define FMA64(a, b, c) ((a) * (b) + (c))
#endif

#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
/* of HG_MAPS */
#define BLOCKS_OF(name, NAME, factor) [HINGE_##NAME] = OF(name),
#define EXPONENT_OF(name, NAME, factor) : kernel->type == HINGE_##NAME ? (factor)

enum { BLOCK = HG_MAP_BLOCK };

/* ---- exp(c d) ---------------------------------------------------------------------------------------------------- */

struct scale32 {
    float hi, lo;       /* exp(c d) = 2^(hi d + lo d) */
    float floor, limit; /* where exp(c d) rounds to 1; where it is 0 or infinite */
};

struct scale64 {
    double hi, lo, floor, limit;
};

/* Rounds a parameter to f32, one that f32 does not hold to its largest number. */
static float real32(double x)
{
    return x > FLT_MAX ? FLT_MAX : x < -FLT_MAX ? -FLT_MAX : (float)x;
}

static double real64(double x)
{
    return x;
}

/* Prepares exp(c d): b = c log2(e) in f64 gives both parts of the f32 product. The limits are where 2^(b d) leaves what
 * the exponent field holds, and the floor where it rounds to 1; sizes are clamped so that no limit is infinite. */
static struct scale32 exp_scale32(double c)
{
    double b = c * LOG2E;
    b = b > 1e37 ? 1e37 : b < -1e37 ? -1e37 : b;
    float hi = (float)b;
    double size = fabs(b) < 1e-36 ? 1e-36 : fabs(b);
    return (struct scale32){ hi, (float)(b - hi), (float)(0x1p-30 / size), (float)((b > 0 ? 129 : 126) / size) };
}

static const float q32[] = {
    0x1.41fb28p-12F, 0x1.5f3e54p-9F, 0x1.3b2d4ep-6F, 0x1.c6aee8p-4F, 0x1.ebfbdcp-2F, 0x1.62e430p+0F, 2.0F
};
enum { TERMS32 = sizeof q32 / sizeof *q32 };

/* Returns exp(c d) = 2^n 2^f: SHIFT32 rounds hi d to the integer n, which then stands in the low bits of the sum; f
 * is what is left, with the low part of c log2(e), and p the polynomial of 2^f; n is put into the exponent of the
 * result. */
static inline float exp32(struct scale32 c, float d)
{
    d = d > c.limit ? c.limit : d;
    float shifted = d * c.hi + SHIFT32;
    float n = shifted - SHIFT32;
    float f = FMA32(d, c.hi, -n) + d * c.lo;
    float p = q32[0];
    for (int i = 1; i < TERMS32; i++)
        p = p * f + q32[i];
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits <<= 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* Does the same in f64; lo is the product's own rounding and what LOG2E lacks. */
static struct scale64 exp_scale64(double c)
{
    double hi = c * LOG2E;
    double lo = fma(c, LOG2E, -hi) + c * LOG2E_LO;
    if (fabs(hi) > 1e305) {
        hi = hi > 0 ? 1e305 : -1e305;
        lo = 0;
    }
    double size = fabs(hi) < 1e-300 ? 1e-300 : fabs(hi);
    return (struct scale64){ hi, lo, 0x1p-60 / size, (hi > 0 ? 1025 : 1022) / size };
}

/* Does the same in f64, by a polynomial whose terms are taken in pairs, so that they need not wait for each other. */
static inline double exp64(struct scale64 c, double d)
{
    d = d > c.limit ? c.limit : d;
    double shifted = d * c.hi + SHIFT64;
    double n = shifted - SHIFT64;
    double f = FMA64(d, c.hi, -n) + d * c.lo;
    double ff = f * f;
    double p = 0x1.b5267ce63eb10p-23 + 0x1.e61b4ef8bc5dap-27 * f;
    p = 0x1.e79babe52ee4ep-31 * ff + p;
    p = p * ff + (0x1.ffcbfba97e94ep-16 + 0x1.62bfc79dac09ep-19 * f);
    p = p * ff + (0x1.5d87fe78cd6d4p-9 + 0x1.4309130ed8a61p-12 * f);
    p = p * ff + (0x1.c6b08d7049fe8p-4 + 0x1.3b2ab6fba011ap-6 * f);
    p = p * ff + (0x1.62e42fefa39efp+0 + 0x1.ebfbdff82c5a4p-2 * f);
    p = p * f + 2.0;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits <<= 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef float vector32 __attribute__((vector_size(VECTOR), aligned(VECTOR), may_alias));
typedef double vector64 __attribute__((vector_size(VECTOR), aligned(VECTOR), may_alias));
typedef float loose32 __attribute__((vector_size(VECTOR), aligned(4), may_alias));
typedef double loose64 __attribute__((vector_size(VECTOR), aligned(8), may_alias));

/* Adds sum [8] += part [16], in f32 after halves of it are added up: one rounding more, and half of the conversions. */
static inline void add_lanes32(double *sum, const float *part)
{
#ifdef __AVX512F__
    __m512 p = _mm512_loadu_ps(part);
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(p), _mm512_extractf32x8_ps(p, 1));
    _mm512_storeu_pd(sum, _mm512_add_pd(_mm512_loadu_pd(sum), _mm512_cvtps_pd(h)));
#else
#pragma omp simd
    for (int k = 0; k < HG_SUM_LANES; k++)
        sum[k] += (double)(part[k] + part[k + HG_SUM_LANES]);
#endif
}

/* Adds sum [8] += part [8]. */
static inline void add_lanes64(double *sum, const double *part)
{
#pragma omp simd
    for (int k = 0; k < HG_SUM_LANES; k++)
        sum[k] += part[k];
}

#ifdef __AVX512F__
#define SHIFT_16 422212465065984.0 /* 1.5 2^48, where the ulp is 1/16 */

enum { SIDE = 4 };

/* Makes value [count], at most SIDE, a constant: exp(c d), d = max(floor, norm + norms - 2 dot), side by side */
static inline __attribute__((always_inline)) void exp_side32(struct scale32 c, float norm, const float *dot,
                                                             const float *norms, int count, __m512 *value)
{
    const __m512 hi = _mm512_set1_ps(c.hi), lo = _mm512_set1_ps(c.lo), shift = _mm512_set1_ps(SHIFT32);
    const __m512 floor = _mm512_set1_ps(c.floor), limit = _mm512_set1_ps(c.limit);
    __m512 f[SIDE], power[SIDE], p[SIDE];
    for (int k = 0; k < count; k++) {
        __m512 d = _mm512_set1_ps(norm) + _mm512_loadu_ps(norms + 16 * k);
        d = _mm512_fnmadd_ps(_mm512_set1_ps(2), _mm512_loadu_ps(dot + 16 * k), d);
        d = _mm512_min_ps(limit, _mm512_max_ps(floor, d)); /* of NaN and a number the second is taken */
        __m512 shifted = _mm512_fmadd_ps(d, hi, shift);
        f[k] = _mm512_fmadd_ps(d, lo, _mm512_fmsub_ps(d, hi, shifted - shift));
        power[k] = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(shifted), 23));
        p[k] = _mm512_set1_ps(q32[0]);
    }
    for (int i = 1; i < TERMS32; i++)
        for (int k = 0; k < count; k++)
            p[k] = _mm512_fmadd_ps(p[k], f[k], _mm512_set1_ps(q32[i]));
    for (int k = 0; k < count; k++)
        value[k] = p[k] * power[k];
}

/* Do the same in f64, 2^(k/16) by a table. Buys: 0.45 ns a value instead of 0.66 (doc/tried.md). */
static inline __attribute__((always_inline)) void exp_side64(struct scale64 c, double norm, const double *dot,
                                                             const double *norms, int count, __m512d *value)
{
    static const double q[] = { 0x1.430cbb59a53f4p-13, 0x1.5d89c0bb7649ep-10, 0x1.3b2ab6f894503p-7,
                                0x1.c6b08d6e85546p-5,  0x1.ebfbdff82c5b1p-3,  0x1.62e42fefa39fdp-1 };
    const __m512d low =
        _mm512_setr_pd(1, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0, 0x1.306fe0a31b715p+0,
                       0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0);
    const __m512d high =
        _mm512_setr_pd(0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
                       0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0);
    const __m512d hi = _mm512_set1_pd(c.hi), lo = _mm512_set1_pd(c.lo), shift = _mm512_set1_pd(SHIFT_16);
    const __m512d floor = _mm512_set1_pd(c.floor), limit = _mm512_set1_pd(c.limit * 1.1); /* 2^n is 0 there */
    __m512d n[SIDE], f[SIDE], power[SIDE], p[SIDE];
    for (int k = 0; k < count; k++) {
        __m512d d = _mm512_set1_pd(norm) + _mm512_loadu_pd(norms + 8 * k);
        d = _mm512_fnmadd_pd(_mm512_set1_pd(2), _mm512_loadu_pd(dot + 8 * k), d);
        d = _mm512_min_pd(limit, _mm512_max_pd(floor, d)); /* of NaN and a number the second is taken */
        __m512d shifted = _mm512_fmadd_pd(d, hi, shift);
        n[k] = shifted - shift;
        f[k] = _mm512_fmadd_pd(d, lo, _mm512_fmsub_pd(d, hi, n[k]));
        power[k] = _mm512_permutex2var_pd(low, _mm512_castpd_si512(shifted), high);
        p[k] = _mm512_set1_pd(q[0]);
    }
    for (int i = 1; i < (int)(sizeof q / sizeof *q); i++)
        for (int k = 0; k < count; k++)
            p[k] = _mm512_fmadd_pd(p[k], f[k], _mm512_set1_pd(q[i]));
    for (int k = 0; k < count; k++) {
        p[k] = _mm512_fmadd_pd(power[k] * f[k], p[k], power[k]);
        value[k] = _mm512_scalef_pd(p[k], n[k]);
    }
}
#endif

#define REAL float
#define BITS 32
#define FABS fabsf
#define SQRT sqrtf
#define COPYSIGN copysignf
#include "kernels/map_rows.h"
#include "kernels/panel_rows.h"

#define REAL double
#define BITS 64
#define FABS fabs
#define SQRT sqrt
#define COPYSIGN copysign
#include "kernels/map_rows.h"
#include "kernels/panel_rows.h"

/* ---- the tables -------------------------------------------------------------------------------------------------- */

extern const struct hg_differences GLUE(hg_differences_, HG_LEVEL);
extern const struct hg_few GLUE(hg_few_, HG_LEVEL);

const struct hg_maps GLUE(hg_maps_, HG_LEVEL) = {
    .level = TEXT(HG_LEVEL),
    .number = NUMBER,
    .map = { [HINGE_F32] = map32, [HINGE_F64] = map64 },
    .panel = { [HINGE_F32] = panel32, [HINGE_F64] = panel64 },
    .sum = { [HINGE_F32] = sum32, [HINGE_F64] = sum64 },
    .differences = &GLUE(hg_differences_, HG_LEVEL),
    .few = &GLUE(hg_few_, HG_LEVEL),
#if NUMBER == 4
    .counts = hg_count_rows,
    .add_codes = hg_sum_codes,
    .decode = hg_decode_codes,
#endif
};

/* Picks a table; the plain compilation holds the choice as well. */
#if NUMBER == 1

extern const struct hg_maps hg_maps_v2, hg_maps_v3, hg_maps_v4;

const struct hg_maps *hg_maps(int level)
{
#if HG_X86_LEVELS
    static const struct hg_maps *const levels[] = { &hg_maps_plain, &hg_maps_v2, &hg_maps_v3, &hg_maps_v4 };
    return levels[level < 1 ? 0 : level > 4 ? 3 : level - 1];
#else
    (void)level;
    return &hg_maps_plain;
#endif
}

#endif
