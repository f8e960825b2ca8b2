/*
 * The loops of integers.h, compiled once a level: products of words, whose parts are whole numbers of 16 or 8 bits, or
 * bits. One function a loop: blocks of rows and columns whose sums stay in registers, word after word. Products of
 * bytes need VNNI, which no level has, and bits by VPOPCNTDQ neither: hg_integer_loop asks the processor. On ARM bytes
 * need SDOT, which is taken where the compiler may (-march=armv8.2-a+dotprod, or a later one). Sums are modulo 2^32 and
 * exact where they are below 2^31 (integers.c sees to that).
 */
#include "kernels/integers.h"
#include "lib/base/level.h"

#include "hg_config.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

enum { COLS = HG_INTEGER_COLS };

/* Whether compilers know AVX-VNNI, which is younger than the other sets of instructions. */
#if defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 11
#define KNOWS_AVX_VNNI
#endif

/* Makes a loop of steps on vectors: ROWS rows by VECTORS vectors of columns at a time, then what is left of the rows,
 * one by one. load, all, add, store: of a vector; all: one word everywhere; add(sum, p, l): of the products of a
 * panel's words and a row's. */
#define LOOP(NAME, TARGET, VEC, WIDTH, ROWS, VECTORS, ZERO, LOAD, ALL, ADD, STORE) \
    TARGET static inline __attribute__((always_inline)) void GLUE(NAME, _block)( \
        const uint32_t *left, size_t lead, int rows, const uint32_t *panel, size_t words, int32_t *out, size_t ld) \
    { \
        VEC sum[ROWS][VECTORS]; \
        for (int r = 0; r < rows; r++) \
            for (int v = 0; v < (VECTORS); v++) \
                sum[r][v] = ZERO; \
        for (size_t w = 0; w < words; w++, panel += COLS) { \
            VEC p[VECTORS]; \
            for (int v = 0; v < (VECTORS); v++) \
                p[v] = LOAD(panel + v * (WIDTH)); \
            for (int r = 0; r < rows; r++) { \
                VEC l = ALL(left[(size_t)r * lead + w]); \
                for (int v = 0; v < (VECTORS); v++) \
                    sum[r][v] = ADD(sum[r][v], p[v], l); \
            } \
        } \
        for (int r = 0; r < rows; r++) \
            for (int v = 0; v < (VECTORS); v++) \
                STORE(out + (size_t)r * ld + v * (WIDTH), sum[r][v]); \
    } \
    TARGET static void NAME(const uint32_t *left, size_t lead, size_t rows, const uint32_t *panel, size_t words, \
                            int32_t *out, size_t ld) \
    { \
        size_t r = 0; \
        for (; r + (ROWS) <= rows; r += (ROWS)) \
            for (int c = 0; c < COLS; c += (WIDTH) * (VECTORS)) \
                GLUE(NAME, _block)(left + r * lead, lead, ROWS, panel + c, words, out + r * ld + c, ld); \
        for (; r < rows; r++) \
            for (int c = 0; c < COLS; c += (WIDTH) * (VECTORS)) \
                GLUE(NAME, _block)(left + r * lead, lead, 1, panel + c, words, out + r * ld + c, ld); \
    }

/* ---- steps ------------------------------------------------------------------------------------------------------- */

#if NUMBER == 4

#define NONE
#define LOAD512(p) _mm512_loadu_si512((const void *)(p))
#define ALL512(w) _mm512_set1_epi32((int)(w))
#define STORE512(p, s) _mm512_storeu_si512((void *)(p), s)
#define HALVES512(s, p, l) _mm512_add_epi32(s, _mm512_madd_epi16(p, l))
#define BYTES512(s, p, l) _mm512_dpbusd_epi32(s, p, l)
#define BITS512(s, p, l) _mm512_add_epi32(s, _mm512_popcnt_epi32(_mm512_xor_si512(p, l)))

LOOP(halves, NONE, __m512i, 16, 6, 4, _mm512_setzero_si512(), LOAD512, ALL512, HALVES512, STORE512)
LOOP(bytes, __attribute__((target("avx512vnni"))), __m512i, 16, 6, 4, _mm512_setzero_si512(), LOAD512, ALL512, BYTES512,
     STORE512)
LOOP(bits, __attribute__((target("avx512vpopcntdq"))), __m512i, 16, 6, 4, _mm512_setzero_si512(), LOAD512, ALL512,
     BITS512, STORE512)

#elif NUMBER == 3

#define NONE
#define LOAD256(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define ALL256(w) _mm256_set1_epi32((int)(w))
#define STORE256(p, s) _mm256_storeu_si256((__m256i *)(void *)(p), s)
#define HALVES256(s, p, l) _mm256_add_epi32(s, _mm256_madd_epi16(p, l))
#define BYTES256(s, p, l) _mm256_dpbusd_avx_epi32(s, p, l)

/* Counts bits by a table of those of four, twice a byte (Mula 2011), and adds bytes up to words. */
static inline __m256i add_bits(__m256i s, __m256i p, __m256i l)
{
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2,
                                           2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(15);
    __m256i x = _mm256_xor_si256(p, l), high = _mm256_and_si256(_mm256_srli_epi32(x, 4), low);
    __m256i count =
        _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(x, low)), _mm256_shuffle_epi8(table, high));
    __m256i pairs = _mm256_maddubs_epi16(count, _mm256_set1_epi8(1));
    return _mm256_add_epi32(s, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

LOOP(halves, NONE, __m256i, 8, 6, 2, _mm256_setzero_si256(), LOAD256, ALL256, HALVES256, STORE256)
#ifdef KNOWS_AVX_VNNI
LOOP(bytes, __attribute__((target("avxvnni"))), __m256i, 8, 6, 2, _mm256_setzero_si256(), LOAD256, ALL256, BYTES256,
     STORE256)
#endif
LOOP(bits, NONE, __m256i, 8, 3, 2, _mm256_setzero_si256(), LOAD256, ALL256, add_bits, STORE256)

#else

/* Makes products of halves word by word, and counts of bits: SSE2's instructions, or as compilers have it. */
#ifdef __SSE2__
#define NONE
#define LOAD128(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define ALL128(w) _mm_set1_epi32((int)(w))
#define STORE128(p, s) _mm_storeu_si128((__m128i *)(void *)(p), s)
#define HALVES128(s, p, l) _mm_add_epi32(s, _mm_madd_epi16(p, l))

LOOP(halves, NONE, __m128i, 4, 4, 2, _mm_setzero_si128(), LOAD128, ALL128, HALVES128, STORE128)
#else
static void halves(const uint32_t *left, size_t lead, size_t rows, const uint32_t *panel, size_t words, int32_t *out,
                   size_t ld)
{
    for (size_t r = 0; r < rows; r++) {
        int32_t *sum = memset(out + r * ld, 0, COLS * sizeof *out);
        for (size_t w = 0; w < words; w++) {
            int16_t l[2], p[2 * COLS];
            memcpy(l, left + r * lead + w, sizeof l);
            memcpy(p, panel + w * COLS, sizeof p);
            for (int c = 0; c < COLS; c++)
                sum[c] += (int32_t)l[0] * p[2 * c] + (int32_t)l[1] * p[2 * c + 1];
        }
    }
}
#endif

#ifdef __ARM_FEATURE_DOTPROD
#define NONE
#define LOAD_SDOT(p) vreinterpretq_s32_u32(veorq_u32(vld1q_u32(p), vdupq_n_u32(0x80808080U))) /* k - 128 */
#define ALL_SDOT(w) vdupq_n_s32((int32_t)(w))
#define STORE_SDOT(p, s) vst1q_s32(p, s)
#define SDOT(s, p, l) vdotq_s32(s, vreinterpretq_s8_s32(p), vreinterpretq_s8_s32(l))

LOOP(sdots, NONE, int32x4_t, 4, 6, 4, vdupq_n_s32(0), LOAD_SDOT, ALL_SDOT, SDOT, STORE_SDOT)

/* Makes products of bytes that both have a sign, k - 128 on either side, and adds what that leaves out: 128 times the
 * sum of the row's. */
static void bytes(const uint32_t *left, size_t lead, size_t rows, const uint32_t *panel, size_t words, int32_t *out,
                  size_t ld)
{
    sdots(left, lead, rows, panel, words, out, ld);
    for (size_t r = 0; r < rows; r++) {
        uint32_t sum = 0;
        for (size_t w = 0; w < words; w++) {
            int8_t l[4];
            memcpy(l, left + r * lead + w, sizeof l);
            sum += (uint32_t)(l[0] + l[1] + l[2] + l[3]);
        }
        for (int c = 0; c < COLS; c++)
            out[r * ld + (size_t)c] = (int32_t)((uint32_t)out[r * ld + (size_t)c] + 128 * sum);
    }
}
#endif

/* Counts bits side by side in a word (Wilkes, Wheeler, Gill 1957), as compilers make vectors of it. */
static void bits(const uint32_t *left, size_t lead, size_t rows, const uint32_t *panel, size_t words, int32_t *out,
                 size_t ld)
{
    for (size_t r = 0; r < rows; r++) {
        int32_t *sum = memset(out + r * ld, 0, COLS * sizeof *out);
        for (size_t w = 0; w < words; w++) {
            uint32_t l = left[r * lead + w];
            for (int c = 0; c < COLS; c++) {
                uint32_t x = panel[w * COLS + c] ^ l;
                x -= x >> 1 & 0x55555555U;
                x = (x & 0x33333333U) + (x >> 2 & 0x33333333U);
                x = (x + (x >> 4)) & 0x0f0f0f0fU;
                x += x >> 8;
                sum[c] += (int32_t)((x + (x >> 16)) & 63U);
            }
        }
    }
}

#endif

/* ---- what products stand for ------------------------------------------------------------------------------------- */

/* Makes the whole numbers first, without a branch on what the row is, and turns them into reals after. */
static void measure(const struct hg_integer_row *row, size_t n, const int32_t *product, const uint32_t *head,
                    hinge_dtype type, void *out)
{
    const uint32_t *more = head, *squares = head + COLS, *sums = squares + COLS;
    const uint32_t times = row->bits ? 0U - 1U : 2, add = row->bits ? 0 : row->square, any = row->bits ? 0 : ~0U;
    int32_t distance[COLS];
    double dot[COLS];
#pragma omp simd
    for (size_t c = 0; c < COLS; c++)
        distance[c] = (int32_t)(add + (more[c] & any) - times * (uint32_t)product[c]);
    if (row->dots) {
        const double base = row->base + (double)row->square / 2, first = row->first, unit = row->unit;
#pragma omp simd
        for (size_t c = 0; c < COLS; c++)
            dot[c] = unit * (base + first * (double)(int32_t)sums[c] +
                             ((double)(int32_t)squares[c] - (double)distance[c]) / 2);
    }
    float *out32 = out;
    double *out64 = out;
    if (type == HINGE_F32)
        for (size_t c = 0; c < n; c++)
            out32[c] = row->dots ? (float)dot[c] : (float)distance[c];
    else
        for (size_t c = 0; c < n; c++)
            out64[c] = row->dots ? dot[c] : (double)distance[c];
}

/* Figures of ns: measured by check_kernels --bench on an Intel Sapphire Rapids (AVX-512 and below). */
const struct hg_integer_loop GLUE(hg_integers_, HG_LEVEL)[] = {
#if NUMBER == 4
    { "AVX-512", 4, 2, HG_CPU_LEVEL, halves, measure, 0.018 },
    { "AVX512-VNNI", 4, 4, HG_CPU_AVX512_VNNI, bytes, measure, 0.010 },
    { "VPOPCNTDQ", 4, 32, HG_CPU_VPOPCNTDQ, bits, measure, 0.025 },
#elif NUMBER == 3
    { "AVX2", 3, 2, HG_CPU_LEVEL, halves, measure, 0.025 },
#ifdef KNOWS_AVX_VNNI
    { "AVX-VNNI", 3, 4, HG_CPU_AVX_VNNI, bytes, measure, 0.02 },
#else
    { NULL, 3, 4, HG_CPU_AVX_VNNI, NULL, measure, 0 },
#endif
    { "AVX2", 3, 32, HG_CPU_LEVEL, bits, measure, 0.12 },
#else
    { "plain", NUMBER, 2, HG_CPU_LEVEL, halves, measure, 0.056 },
#ifdef __ARM_FEATURE_DOTPROD
    { "SDOT", NUMBER, 4, HG_CPU_LEVEL, bytes, measure, 0.05 }, /* a guess: two a cycle */
#else
    { NULL, NUMBER, 4, HG_CPU_LEVEL, NULL, measure, 0 },
#endif
    { "plain", NUMBER, 32, HG_CPU_LEVEL, bits, measure, 0.42 },
#endif
};
