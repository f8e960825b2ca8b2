/*
 * Reading and writing go by exact integers of 128 bits where a number has a size that data have: a decimal of up to 19
 * digits times a power of ten from 10^-27 to 10^27, whose factor 5^27 takes 63 bits. What is larger, longer or written
 * otherwise goes to strtod_l and snprintf, and so does all of it where the compiler has no such integers.
 */
#include "lib/files/number.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FIVES = 27 };

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;

static const uint64_t five_to_the[MOST_FIVES + 1] = {
    1U, 5U, 25U, 125U, 625U, 3125U, 15625U, 78125U, 390625U, 1953125U, 9765625U, 48828125U, 244140625U, 1220703125U,
    6103515625U, 30517578125U, 152587890625U, 762939453125U, 3814697265625U, 19073486328125U, 95367431640625U,
    476837158203125U, 2384185791015625U, 11920928955078125U, 59604644775390625U, 298023223876953125U,
    1490116119384765625U, 7450580596923828125U
};

static double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
#endif

/* ---- reading ------------------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* A byte is a digit if its high half is 3, and still is after adding 6. */
static bool are_digits(uint64_t bytes)
{
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0), threes = UINT64_C(0x3030303030303030);
    return (bytes & high) == threes && ((bytes + UINT64_C(0x0606060606060606)) & high) == threes;
}

/* Appends the digits at p to w (modulo 2^64). */
static const char *parse_digits(const char *p, const char *end, uint64_t *w)
{
    uint64_t value = *w;
    for (; p < end && is_digit(*p); p++)
        value = value * 10 + (uint64_t)(*p - '0');
    *w = value;
    return p;
}

static const char *parse_many_digits(const char *p, const char *end, uint64_t *w)
{
    uint64_t bytes;
    for (; end - p >= 8 && are_digits(bytes = hg_load8(p)); p += 8)
        *w = *w * 100000000 + hg_value_of_digits(bytes - UINT64_C(0x3030303030303030));
    return parse_digits(p, end, w);
}

/* "e-12", if it is there, added to *exponent; saturates beyond the range of doubles. */
static const char *parse_exponent(const char *p, const char *end, ptrdiff_t *exponent)
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

/* Rounds w * 10^q, w > 0, once. False: it is not of the sizes that this is for. */
static bool round_decimal(uint64_t w, ptrdiff_t q, double *value)
{
#ifdef __SIZEOF_INT128__
    if (q < -MOST_FIVES || q > MOST_FIVES)
        return false;
    if (q >= 0) {
        *value = (double)((wide)w * five_to_the[q]) * power_of_two((int)q);
        return true;
    }
    uint64_t fives = five_to_the[-q];
    if (w < UINT64_C(1) << 53 && fives < UINT64_C(1) << 53) { /* both sides are doubles */
        *value = (double)w / ((double)fives * power_of_two((int)-q));
        return true;
    }
    int w_zeros = __builtin_clzll(w), zeros = __builtin_clzll(fives);
    wide dividend = (wide)(w << w_zeros) << 63;
    uint64_t divisor = fives << zeros, quotient = (uint64_t)(dividend / divisor); /* of 63 or 64 bits */
    quotient |= (wide)quotient * divisor != dividend; /* what was cut off counts at rounding */
    *value = (double)quotient * power_of_two(zeros - w_zeros - 63 + (int)q);
    return true;
#else
    (void)w, (void)q, (void)value;
    return false;
#endif
}

/* A number of any kind and length, from behind the sign on, by a copy with an end. */
static const char *parse_slowly(const char *p, const char *end, double *value)
{
    char few[128], *text = few, *stop;
    size_t n = 0, length = (size_t)(end - p);
    while (n < length && (is_digit(p[n]) || (unsigned char)((p[n] | 0x20) - 'a') < 26 ||
                          (n > 0 && (p[n] == '-' || p[n] == '+')) || p[n] == '.'))
        n++;
    if (n >= sizeof few && (text = hg_alloc(n + 1, 1)) == NULL)
        return NULL;
    memcpy(text, p, n);
    text[n] = '\0';
    int saved = errno;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    n = 0;
    if (c != (locale_t)0) {
        *value = strtod_l(text, &stop, c);
        n = (size_t)(stop - text);
        freelocale(c);
    }
    errno = saved;
    if (text != few)
        hg_free(text);
    return n > 0 ? p + n : NULL;
}

/* From behind the sign. */
static const char *parse_magnitude(const char *p, const char *end, double *value)
{
    const char *start = p;
    uint64_t w = 0;
    ptrdiff_t q = 0;
    p = parse_digits(p, end, &w);
    ptrdiff_t digits = p - start;
    if (p < end && *p == '.') {
        const char *point = p;
        p = parse_many_digits(p + 1, end, &w);
        q = point + 1 - p;
        digits -= q;
    }
    bool hex = p == start + 1 && w == 0 && p < end && (*p | 0x20) == 'x';
    if (digits == 0 || hex)
        return parse_slowly(start, end, value);
    p = parse_exponent(p, end, &q);
    if (digits > 19) /* w may have overflowed, unless the first of them are zeros */
        for (const char *s = start; digits > 0 && (*s == '0' || *s == '.'); s++)
            digits -= *s == '0';
    if (digits > 19)
        return parse_slowly(start, end, value);
    if (w == 0 || (q == 0 && w < UINT64_C(1) << 53)) {
        *value = (double)w;
        return p;
    }
    return round_decimal(w, q, value) ? p : parse_slowly(start, end, value);
}

const char *hg_parse_double(const char *p, const char *end, double *value)
{
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    double magnitude;
    p = parse_magnitude(p, end, &magnitude);
    if (p != NULL)
        *value = negative ? -magnitude : magnitude;
    return p;
}

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

/* The closest decimal of 15 digits, or of 16 or 17 where fewer do not read back as the finite v > 0; the first digit is
 * worth 10^*exponent. False: v is not of the sizes that this is for. v = c 2^q, and what is nearer to it than 2^q / 2
 * reads back; below a power of two 2^q / 4. */
static bool shortest_decimal(double v, uint64_t *digits, int *exponent)
{
#ifdef __SIZEOF_INT128__
    const uint64_t most = UINT64_C(100000000000000000); /* 10^17 */
    uint64_t c, whole;
    memcpy(&c, &v, sizeof c);
    int q = (int)(c >> 52) - 1075, k = 16 - ((q + 52) * 1262611 >> 22), shift; /* less floor(log10(2^(q + 52))) */
    c = (c & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    wide scaled; /* v 10^k, with so many bits behind the point */
    do {
        shift = -(q + k);
        if (k < 1 || k > MOST_FIVES || shift < 1)
            return false;
        scaled = (wide)c * five_to_the[k--];
        whole = (uint64_t)(scaled >> shift);
    } while (whole >= most); /* of 18 digits: 10^k was one power too large */
    /* 2^q / 2 is 11.2 of the last of 17 digits at most */
    for (uint64_t unit = whole % 100 - 12 < 76 ? 10 : 100;; unit /= 10) {
        uint64_t least = whole / unit;
        wide below = scaled - ((wide)(least * unit) << shift), gap = (wide)unit << shift;
        bool up = 2 * below > gap || (2 * below == gap && (least & 1) != 0), narrow = c == UINT64_C(1) << 52 && !up;
        if (unit == 1 || (up ? gap - below : below) * (narrow ? 4 : 2) < five_to_the[k + 1]) {
            bool carried = (least + up) * unit == most;
            *digits = least + up;
            *exponent = 15 - k + carried;
            return true;
        }
    }
#else
    (void)v, (void)digits, (void)exponent;
    return false;
#endif
}

/* Writes the decimal digits of v so that they end at end; returns where they begin. */
static char *digits_before(char *end, uint64_t v)
{
    static const char twos[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
        "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
        "8081828384858687888990919293949596979899";
    for (; v >= 100; v /= 100) {
        end -= 2;
        memcpy(end, twos + 2 * (v % 100), 2);
    }
    if (v >= 10) {
        end -= 2;
        memcpy(end, twos + 2 * v, 2);
    } else {
        *--end = (char)('0' + v);
    }
    return end;
}

size_t hg_format_size(char *buffer, uint64_t v)
{
    char room[HG_NUMBER_ROOM], *start = digits_before(room + sizeof room, v);
    size_t length = (size_t)(room + sizeof room - start);
    memcpy(buffer, start, length);
    return length;
}

/* digits[n] with the first one worth 10^exponent, from -99 to 16, and not all before the point: 1.23, 0.00123 or
 * 1.23e-05, as printf has it. */
static size_t layout(char *buffer, const char *digits, size_t n, int exponent)
{
    size_t whole = exponent > 0 ? (size_t)exponent + 1 : 1;
    char *out = buffer;
    if (exponent < 0 && exponent >= -4) {
        memcpy(out, "0.000", 5);
        out += 1 - exponent;
        memcpy(out, digits, n);
        return (size_t)(out - buffer) + n;
    }
    memcpy(out, digits, whole);
    out += whole;
    if (n > whole) {
        *out++ = '.';
        memcpy(out, digits + whole, n - whole);
        out += n - whole;
    }
    if (exponent < 0) {
        memcpy(out, "e-0", 3);
        out += exponent > -10 ? 3 : 2;
        out += hg_format_size(out, (uint64_t)-exponent);
    }
    return (size_t)(out - buffer);
}

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

/* The shortest that reads back. 15 digits are always exact and %g drops the zeros; subnormal numbers may have fewer. */
static size_t format_slowly(char *buffer, double v)
{
    for (int digits = v < DBL_MIN ? 1 : 15;; digits++) {
        double back;
        size_t length = hg_format_digits(buffer, v, digits);
        if (digits == 17 || (hg_parse_double(buffer, buffer + length, &back) != NULL && back == v))
            return length;
    }
}

size_t hg_format_double(char *buffer, double v)
{
    char *out = buffer, room[HG_NUMBER_ROOM], *end = room + sizeof room;
    uint64_t decimal;
    int exponent;
    if (!isfinite(v)) {
        const char *word = isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
        memcpy(buffer, word, strlen(word));
        return strlen(word);
    }
    if (signbit(v))
        *out++ = '-';
    v = fabs(v);
    if (v < 1e17 && v == (double)(uint64_t)v)
        return (size_t)(out - buffer) + hg_format_size(out, (uint64_t)v);
    if (!shortest_decimal(v, &decimal, &exponent))
        return (size_t)(out - buffer) + format_slowly(out, v);
    while (decimal % 10 == 0)
        decimal /= 10;
    const char *digits = digits_before(end, decimal);
    return (size_t)(out - buffer) + layout(out, digits, (size_t)(end - digits), exponent);
}
