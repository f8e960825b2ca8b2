/*
 * Numbers as text: exactly rounded reading and shortest exact writing, whatever the locale. Text is a pair of
 * pointers [p, end) and need not be 0-terminated; nothing at or past end is read.
 */
#ifndef HG_NUMBER_H
#define HG_NUMBER_H

#include "lib/base/base.h"

/* Return the place behind the number, or NULL where none begins. The double may be decimal, hexadecimal, infinite or
 * NaN ("inf", "nan"), so that a caller who refuses one can name it; too large a one is infinite. */
const char *hg_parse_double(const char *p, const char *end, double *value);
/* Returns NULL also where the number does not fit. The size has no sign. */
const char *hg_parse_size(const char *p, const char *end, size_t *value);

/* Loads the bytes of p[8], the first one lowest; compilers make one load of it. */
static inline uint64_t hg_load8(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 |
           (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

/* Returns the value of eight digits, given as eight bytes of 0 to 9: neighbours are joined to twos, fours and the
 * whole. */
static inline uint64_t hg_value_of_digits(uint64_t bytes)
{
    bytes = (bytes * 10 + (bytes >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    bytes = (bytes * 100 + (bytes >> 16)) & UINT64_C(0x0000ffff0000ffff);
    return (bytes * 10000 + (bytes >> 32)) & UINT64_C(0xffffffff);
}

/* Returns how many digits p[8] begins with, if 1 to 7, and their value; otherwise 0. Without branches on the digits,
 * which in data files are as good as random. */
static inline unsigned hg_parse_short(const char *p, size_t *value)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t bytes = hg_load8(p) ^ 0x30 * ones; /* 0 to 9, or something larger */
    uint64_t others = (((bytes & 0x7f * ones) + 0x76 * ones) | bytes) & 0x80 * ones;
    unsigned n = others == 0 ? 8 : (unsigned)__builtin_ctzll(others) / 8;
    if (n == 0 || n == 8)
        return 0;
    *value = (size_t)hg_value_of_digits(bytes << (64 - 8 * n));
    return n;
}

enum { HG_NUMBER_ROOM = 32 }; /* what the longest number needs; no 0 is written behind it */

/* Writes the shortest decimal that reads back as v, in the manner of %.17g; returns its length. */
size_t hg_format_double(char *buffer, double v);
size_t hg_format_size(char *buffer, uint64_t v);
/* Writes the decimal of %.*g, with a point whatever the locale has; returns its length. */
size_t hg_format_digits(char *buffer, double v, int digits);

#endif
