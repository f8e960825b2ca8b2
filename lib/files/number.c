/*
 * Numbers as text (number.h). A decimal of a size that data have, of up to 19 digits times a power of ten from 10^-27
 * to 10^27, is rounded once: as the quotient or product of two doubles where digits and power of ten are such,
 * otherwise by integers of 128 bits, since 5^27 takes 63. What is written is the first of 15, 16 and 17 digits that
 * reads back. All that is larger, longer or written otherwise goes to strtod_l and snprintf, and so does what is no
 * such double where the compiler has no such integers.
 *
 * Buys: reading 17 digits takes 30 ns a number instead of strtod_l's 151, 16 digits 20 instead of 37; writing 15 digits
 * 24 instead of 333 (doc/tried.md). Numbers beyond these sizes go the slow way, as test/test_number.c has them.
 */
#include "lib/files/number.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FIVES = 27, MOST_EXACT = 22 }; /* 10^22 is a double, 10^23 is none */

static const uint64_t five_to_the[MOST_FIVES + 1] = {
    1U, 5U, 25U, 125U, 625U, 3125U, 15625U, 78125U, 390625U, 1953125U, 9765625U, 48828125U, 244140625U, 1220703125U,
    6103515625U, 30517578125U, 152587890625U, 762939453125U, 3814697265625U, 19073486328125U, 95367431640625U,
    476837158203125U, 2384185791015625U, 11920928955078125U, 59604644775390625U, 298023223876953125U,
    1490116119384765625U, 7450580596923828125U
};

/* Makes 2^exponent by its bits; exponents are those of normal doubles. */
static double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;

/* Rounds w * 10^q, w > 0, |q| <= 27: w 5^|q| or w / 5^|q| in 128 bits, then a power of two, which is exact. The product
 * is below 2^127, and the conversion rounds it once. The quotient has at least 63 bits, and a bit for what was cut
 * off. */
static bool round_wide(uint64_t w, int q, double *value)
{
    if (q >= 0) {
        *value = (double)((wide)w * five_to_the[q]) * power_of_two(q);
        return true;
    }
    int w_zeros = __builtin_clzll(w), zeros = __builtin_clzll(five_to_the[-q]);
    wide dividend = (wide)(w << w_zeros) << 63;
    uint64_t divisor = five_to_the[-q] << zeros, quotient = (uint64_t)(dividend / divisor); /* of 63 or 64 bits */
    quotient |= (wide)quotient * divisor != dividend; /* what was cut off counts at rounding */
    *value = (double)quotient * power_of_two(zeros - w_zeros - 63 + q);
    return true;
}

/* Makes 18 digits of v, floor(v 10^*k), and tells whether v is more than they say. v is from 10^-4 to 10^13 and normal.
 * 1262611 / 2^22 is log10(2); the guess of k may be one too many, and then the digits are 19. */
static uint64_t scale_wide(double v, int *k, bool *more)
{
    uint64_t c, digits;
    memcpy(&c, &v, sizeof c);
    int q = (int)(c >> 52) - 1075;
    wide scaled;
    c = (c & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52; /* v = c 2^q */
    *k = 18 - ((q + 52) * 1262611 >> 22); /* less floor(log10(2^(q + 52))), and one too many */
    do {
        scaled = (wide)c * five_to_the[--*k];
        digits = (uint64_t)(scaled >> -(q + *k));
    } while (digits >= UINT64_C(1000000000000000000));
    *more = scaled != (wide)digits << -(q + *k);
    return digits;
}
#else
#define round_wide(w, q, value) false
#define scale_wide(v, k, more) 0
#endif

/* ---- reading ------------------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Appends the digits at p to w (modulo 2^64), where they may be many by eights: a byte is a digit if its high half is
 * 3, and still is after adding 6. */
static inline const char *parse_digits(const char *p, const char *end, bool many, uint64_t *w)
{
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0), threes = UINT64_C(0x3030303030303030);
    uint64_t value = *w;
    for (; many && end - p >= 8; p += 8) {
        uint64_t bytes = hg_load8(p);
        if ((bytes & high) != threes || ((bytes + UINT64_C(0x0606060606060606)) & high) != threes)
            break;
        value = value * 100000000 + hg_value_of_digits(bytes - threes);
    }
    for (; p < end && is_digit(*p); p++)
        value = value * 10 + (uint64_t)(*p - '0');
    *w = value;
    return p;
}

/* "e-12", if it is there, added to *exponent; saturates beyond the range of doubles. */
static inline const char *parse_exponent(const char *p, const char *end, ptrdiff_t *exponent)
{
    const char *start = p;
    ptrdiff_t value = 0;
    if (p == end || (*p | 0x20) != 'e')
        return start;
    bool negative = ++p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end || !is_digit(*p))
        return start;
    for (; p < end && is_digit(*p); p++)
        value = HG_MIN(value * 10 + (*p - '0'), 100000);
    *exponent += negative ? -value : value;
    return p;
}

/* Rounds w * 10^q once. False: it is not of the sizes that this is for. */
static inline bool round_decimal(uint64_t w, ptrdiff_t q, double *value)
{
    const ptrdiff_t size = q < 0 ? -q : q;
    if (w == 0 || (q == 0 && w < UINT64_C(1) << 53)) {
        *value = (double)(int64_t)w;
        return true;
    }
    if (size > MOST_FIVES)
        return false;
    if (w >= UINT64_C(1) << 53 || size > MOST_EXACT)
        return round_wide(w, (int)q, value);
    double ten = (double)(int64_t)five_to_the[size] * power_of_two((int)size);
    *value = q < 0 ? (double)(int64_t)w / ten : (double)(int64_t)w * ten;
    return true;
}

/* Reads a number of any kind and length, from behind the sign on, by a copy with an end. */
static const char *parse_slowly(const char *p, const char *end, double *value)
{
    char few[128], *text = few, *stop;
    int saved = errno;
    size_t n = 0, length = (size_t)(end - p);
    while (n < length && (is_digit(p[n]) || (unsigned char)((p[n] | 0x20) - 'a') < 26 ||
                          (n > 0 && (p[n] == '-' || p[n] == '+')) || p[n] == '.'))
        n++;
    if (n >= sizeof few && (text = hg_alloc(n + 1, 1)) == NULL)
        return NULL;
    memcpy(text, p, n);
    text[n] = '\0';
    double number = hg_number(text, &stop);
    n = (size_t)(stop - text);
    if (n > 0)
        *value = number;
    if (text != few)
        hg_free(text);
    errno = saved;
    return n > 0 ? p + n : NULL;
}

/* Reads digits, point, digits and exponent as w 10^q. Digits in front are taken one by one, as they are few; those
 * behind the point by eights. Zeros in front do not count as digits. */
const char *hg_parse_double(const char *p, const char *end, double *value)
{
    const bool negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    const char *start = p;
    uint64_t w = 0;
    ptrdiff_t q = 0;
    double magnitude;
    p = parse_digits(p, end, false, &w);
    ptrdiff_t digits = p - start;
    if (p < end && *p == '.') {
        const char *point = p;
        p = parse_digits(p + 1, end, true, &w);
        q = point + 1 - p;
        digits -= q;
    }
    if (digits > 19) /* w may have overflowed, unless the first of them are zeros */
        for (const char *s = start; s < p && (*s == '0' || *s == '.'); s++)
            digits -= *s == '0' && s + 1 < p;
    bool hex = p == start + 1 && w == 0 && p < end && (*p | 0x20) == 'x';
    const char *stop = parse_exponent(p, end, &q);
    if (digits < 1 || digits > 19 || hex || !round_decimal(w, q, &magnitude))
        stop = parse_slowly(start, end, &magnitude);
    if (stop != NULL)
        *value = negative ? -magnitude : magnitude;
    return stop;
}

/* Reads digits; a size that does not fit is no number. */
const char *hg_parse_size(const char *p, const char *end, size_t *value)
{
    const char *start = p;
    size_t v = 0;
    for (; p < end && is_digit(*p); p++) {
        size_t digit = (size_t)(*p - '0');
        if (v > (SIZE_MAX - digit) / 10)
            return NULL;
        v = v * 10 + digit;
    }
    *value = v;
    return p == start ? NULL : p;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static const char pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
    "4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

size_t hg_format_size(char *buffer, uint64_t v)
{
    char room[HG_NUMBER_ROOM], *end = room + sizeof room, *start = end;
    for (; v >= 10; v /= 100)
        memcpy(start -= 2, &pairs[v % 100 * 2], 2);
    if (v > 0 || start == end)
        *--start = (char)('0' + v);
    memcpy(buffer, start, (size_t)(end - start));
    return (size_t)(end - start);
}

/* Writes v, not whole and from 10^-4 to 10^13, by the first of 15, 16 or 17 digits that reads back; 0: not that way. */
static size_t format_wide(char *buffer, double v)
{
    bool more;
    int k;
    uint64_t digits = scale_wide(v, &k, &more), decimal;
    double back;
    if (digits == 0)
        return 0;
    k -= 3;
    for (uint64_t unit = 1000;; unit /= 10, k++) {
        decimal = digits / unit;
        decimal += 2 * (digits % unit) + more + (decimal & 1) > unit; /* the nearest, the even one of two */
        if (unit == 10 || (round_decimal(decimal, -k, &back) && back == v))
            break;
    }
    for (; decimal % 10 == 0; decimal /= 10)
        k--;
    if (v < 1) {
        int zeros = (v < 0.1) + (v < 0.01) + (v < 0.001);
        memcpy(buffer, "0.000", 5);
        return 2 + (size_t)zeros + hg_format_size(buffer + 2 + zeros, decimal);
    }
    size_t length = hg_format_size(buffer, decimal), whole = length - (size_t)k;
    memmove(buffer + whole + 1, buffer + whole, (size_t)k);
    buffer[whole] = '.';
    return length + 1;
}

/* Prints by the C library under whatever locale there is, and puts a point for what that has between digits. */
size_t hg_format_digits(char *buffer, double v, int digits)
{
    char text[64];
    int length = snprintf(text, sizeof text, "%.*g", digits, v);
    size_t kept = 0;
    for (int i = 0; i < length; i++) {
        if (is_digit(text[i]) || strchr("+-einfa", text[i]) != NULL)
            buffer[kept++] = text[i];
        else if (buffer[kept - 1] != '.') /* a point may be of several bytes */
            buffer[kept++] = '.';
    }
    return kept;
}

/* Writes whole numbers below 1e17 as such, the sizes of data by format_wide, and the rest by trying 15, 16, 17
 * digits. */
size_t hg_format_double(char *buffer, double v)
{
    double size = fabs(v), back = 0;
    size_t sign = signbit(v) && !isnan(v), length = 0;
    buffer[0] = '-';
    if (size < 1e17 && size == (double)(int64_t)size)
        return sign + hg_format_size(buffer + sign, (uint64_t)size);
    if (size >= 1e-4 && size < 1e13 && (length = format_wide(buffer + sign, size)) > 0)
        return sign + length;
    if (isnan(v)) /* whose sign is not told */
        return hg_format_digits(buffer, fabs(v), 1);
    /* Tries 15 digits first, which are always exact, and %g drops the zeros; subnormal numbers may have fewer. */
    for (int digits = size < DBL_MIN ? 1 : 15; digits <= 17 && back != v; digits++) {
        length = hg_format_digits(buffer, v, digits);
        (void)hg_parse_double(buffer, buffer + length, &back);
    }
    return length;
}

/* ---- text of labels ---------------------------------------------------------------------------------------------- */

/* A word is that of one of the numbers 1 .. count. */
const char *hinge_word(const hinge_words *words, double label, char room[HINGE_WORD_ROOM])
{
    bool one = words != NULL && label >= 1 && label <= (double)words->count && label == (double)(size_t)label;
    if (one)
        return words->word[(size_t)label - 1];
    if (room != NULL)
        room[hg_format_double(room, label)] = '\0';
    return room;
}
