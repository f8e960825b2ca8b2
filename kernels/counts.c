/*
 * The loop of hamming.h, compiled once a level like map.c. Bytes may overflow on the way: what comes out is below 256,
 * and right modulo 256.
 */
#include "kernels/hamming.h"

typedef uint8_t wide8 __attribute__((vector_size(64), aligned(64), may_alias));

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define COUNTS      JOIN(hg_counts_, HG_LEVEL)

#define LINE(at)    ((const wide8 *)(const void *)(panel + (at)))

hg_hamming_rows COUNTS;

void COUNTS(const struct hg_gathered *gathered, size_t row0, size_t rows, const uint8_t *panel, uint8_t *counts)
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
