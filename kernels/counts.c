/*
 * The loops of hamming.h, for processors with AVX-512 alone (HG_COUNTS_LEVEL): counts, and sums of the values that they
 * stand for. A count c, 0 to 255, is a code of two digits: its value is high[c >> 4] low[c & 15], and a table of 16
 * floats is one register, of 16 doubles two. So a value costs two permutations and a product; counting takes 0.108 ns a
 * value, adding 0.071 (doc/performance.md, "Micro-benchmarks"). test_counts compares all of this with plain loops.
 */
#include "kernels/hamming.h"

#include <immintrin.h>

typedef uint8_t wide8 __attribute__((vector_size(64), aligned(64), may_alias));

#define LINE(at) ((const wide8 *)(const void *)(panel + (at)))

/* Sums a row's lines of the panel, two registers for its 128 columns: bytes of 1 where both have the rarer value. What
 * comes out is both lengths less twice that. Bytes may overflow on the way: the count is below 256, and right modulo
 * 256. */
void hg_count_rows(const struct hg_gathered *gathered, size_t row0, size_t rows, const uint8_t *panel, uint8_t *counts)
{
    const wide8 *lengths = LINE(0);
    for (size_t r = 0; r < rows; r++) {
        uint8_t length = gathered->length[row0 + r];
        const uint32_t *at = gathered->at + (row0 + r) * gathered->capacity, *end = at + length;
        wide8 a = { 0 }, b = { 0 }; /* features in which both have the rarer value */
        for (; at < end; at += HG_COUNTED) {
            const wide8 *p = LINE(at[0]), *q = LINE(at[1]), *s = LINE(at[2]), *t = LINE(at[3]);
            a += (p[0] + q[0]) + (s[0] + t[0]);
            b += (p[1] + q[1]) + (s[1] + t[1]);
        }
        wide8 *to = (wide8 *)(void *)(counts + r * HG_COUNT_COLS);
        to[0] = lengths[0] + length - (a + a);
        to[1] = lengths[1] + length - (b + b);
    }
}

/* ---- sums of their values ---------------------------------------------------------------------------------------- */

enum {
    AT_ONCE = 64,    /* columns: their sums stay in registers */
    NARROW_ROWS = 16 /* added up in f32 */
};

/* Holds the factors of 16 codes' values, each by one look into a table of 16: a permutation uses the lowest 4 bits
 * only. */
struct factors {
    __m512 high, low;
};

static inline struct factors look_up(const uint8_t *code, __m512 high, __m512 low)
{
    __m512i c = _mm512_cvtepu8_epi32(_mm_load_si128((const __m128i *)(const void *)code));
    return (struct factors){ _mm512_permutexvar_ps(_mm512_srli_epi32(c, 4), high), _mm512_permutexvar_ps(c, low) };
}

static inline __m512 add_16(__m512 sum, const uint8_t *code, __m512 high, __m512 low)
{
    struct factors f = look_up(code, high, low);
    return _mm512_fmadd_ps(f.low, f.high, sum);
}

/* Sums rows at 64 columns in f32. The coefficient is put into the table of high digits once a row, so that a value and
 * its product with the coefficient cost one multiply-add. At most 16 rows come at a time, after which f64 takes over.
 * With all sums in f64 a training at a large C takes a third more processor time (doc/tried.md); hg_how.narrow = 0 asks
 * for that. */
static void sum_codes(size_t n_rows, const double *coef, const struct hg_codes *codes, const uint8_t *code, double *sum)
{
    __m512 a = _mm512_setzero_ps(), b = a, c = a, d = a;
    __m512 table = _mm512_loadu_ps(codes->high32), low = _mm512_loadu_ps(codes->low32);
    for (size_t r = 0; r < n_rows; r++, code += HG_COUNT_COLS) {
        __m512 high = _mm512_mul_ps(table, _mm512_set1_ps((float)coef[r]));
        a = add_16(a, code, high, low);
        b = add_16(b, code + 16, high, low);
        c = add_16(c, code + 32, high, low);
        d = add_16(d, code + 48, high, low);
    }
    float narrow[AT_ONCE];
    _mm512_storeu_ps(narrow, a);
    _mm512_storeu_ps(narrow + 16, b);
    _mm512_storeu_ps(narrow + 32, c);
    _mm512_storeu_ps(narrow + 48, d);
    for (size_t j = 0; j < AT_ONCE; j++)
        sum[j] = (double)narrow[j];
}

/* Holds the same for f64: 8 codes, by tables of two registers each. */
struct tables {
    __m512d high[2], low[2];
};

static inline __m512d add_8(__m512d sum, const uint8_t *code, const struct tables *t)
{
    __m512i c = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)code));
    __m512d high = _mm512_permutex2var_pd(t->high[0], _mm512_srli_epi64(c, 4), t->high[1]);
    return _mm512_fmadd_pd(_mm512_permutex2var_pd(t->low[0], c, t->low[1]), high, sum);
}

/* Sums rows at 64 columns in f64, for moves too large for f32 and for rows in f64: both halves of the table of high
 * digits take the coefficient, and eight registers hold the sums. */
static void sum_codes_wide(size_t n_rows, const double *coef, const struct hg_codes *codes, const uint8_t *code,
                           double *sum)
{
    const __m512d first = _mm512_loadu_pd(codes->high), second = _mm512_loadu_pd(codes->high + 8);
    struct tables t = { .low = { _mm512_loadu_pd(codes->low), _mm512_loadu_pd(codes->low + 8) } };
    __m512d s[8];
    for (size_t b = 0; b < 8; b++)
        s[b] = _mm512_setzero_pd();
    for (size_t r = 0; r < n_rows; r++, code += HG_COUNT_COLS) {
        t.high[0] = _mm512_mul_pd(first, _mm512_set1_pd(coef[r]));
        t.high[1] = _mm512_mul_pd(second, _mm512_set1_pd(coef[r]));
        for (size_t b = 0; b < 8; b++)
            s[b] = add_8(s[b], code + 8 * b, &t);
    }
    for (size_t b = 0; b < 8; b++)
        _mm512_storeu_pd(sum + 8 * b, s[b]);
}

/* Reads whole vectors of codes, which a row has room for, and writes only those asked for. */
void hg_decode_codes(const struct hg_codes *codes, const uint8_t *code, size_t n, float *out)
{
    __m512 high = _mm512_loadu_ps(codes->high32), low = _mm512_loadu_ps(codes->low32);
    for (size_t j = 0; j < n; j += 16) {
        struct factors f = look_up(code + j, high, low);
        __mmask16 wanted = (__mmask16)(n - j < 16 ? (1U << (n - j)) - 1 : 0xffffU);
        _mm512_mask_storeu_ps(out + j, wanted, _mm512_mul_ps(f.high, f.low));
    }
}

/* Takes 64 columns at a time, whose sums stay in registers, over all rows, or over 16 where sums are in f32. */
void hg_sum_codes(size_t n_rows, const double *coef, bool narrow, const struct hg_codes *codes, const uint8_t *code,
                  size_t n, double *restrict g)
{
    size_t at_once = narrow ? NARROW_ROWS : n_rows;
    for (size_t b = 0; b < n; b += AT_ONCE)
        for (size_t r = 0; r < n_rows; r += at_once) {
            double sum[AT_ONCE];
            (narrow ? sum_codes : sum_codes_wide)(HG_MIN(at_once, n_rows - r), coef + r, codes,
                                                  code + r * HG_COUNT_COLS + b, sum);
#pragma omp simd
            for (size_t j = 0; j < HG_MIN((size_t)AT_ONCE, n - b); j++)
                g[b + j] += sum[j];
        }
}
