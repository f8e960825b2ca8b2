/*
 * Reading: w * 10^q with w < 2^64 is rounded by one or two 64 x 64 bit products with the leading 128 bits of
 * 5^q (D. Lemire, "Number parsing at a gigabyte per second", 2021). Writing: the shortest decimal within the
 * interval that rounds to v, from products with the same powers (R. Giulietti, "The Schubfach way to render
 * doubles", 2020). Both use integers only, so neither depends on the rounding mode. What the table does not
 * reach goes to strtod_l and snprintf.
 */
#include "lib/files/number.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_POWER (-65)
#define MAX_POWER 65

struct pair64 {
    uint64_t high, low;
};

/* The leading 128 bits of 5^q, leading bit set, from MIN_POWER on: exact for 0 <= q <= 55, rounded up for
 * -27 <= q < 0 (so that exact quotients come out exact), truncated elsewhere. */
static const struct pair64 powers[MAX_POWER - MIN_POWER + 1] = {
    { 0x86ccbb52ea94baea, 0x98e947129fc2b4e9 }, { 0xa87fea27a539e9a5, 0x3f2398d747b36224 },
    { 0xd29fe4b18e88640e, 0x8eec7f0d19a03aad }, { 0x83a3eeeef9153e89, 0x1953cf68300424ac },
    { 0xa48ceaaab75a8e2b, 0x5fa8c3423c052dd7 }, { 0xcdb02555653131b6, 0x3792f412cb06794d },
    { 0x808e17555f3ebf11, 0xe2bbd88bbee40bd0 }, { 0xa0b19d2ab70e6ed6, 0x5b6aceaeae9d0ec4 },
    { 0xc8de047564d20a8b, 0xf245825a5a445275 }, { 0xfb158592be068d2e, 0xeed6e2f0f0d56712 },
    { 0x9ced737bb6c4183d, 0x55464dd69685606b }, { 0xc428d05aa4751e4c, 0xaa97e14c3c26b886 },
    { 0xf53304714d9265df, 0xd53dd99f4b3066a8 }, { 0x993fe2c6d07b7fab, 0xe546a8038efe4029 },
    { 0xbf8fdb78849a5f96, 0xde98520472bdd033 }, { 0xef73d256a5c0f77c, 0x963e66858f6d4440 },
    { 0x95a8637627989aad, 0xdde7001379a44aa8 }, { 0xbb127c53b17ec159, 0x5560c018580d5d52 },
    { 0xe9d71b689dde71af, 0xaab8f01e6e10b4a6 }, { 0x9226712162ab070d, 0xcab3961304ca70e8 },
    { 0xb6b00d69bb55c8d1, 0x3d607b97c5fd0d22 }, { 0xe45c10c42a2b3b05, 0x8cb89a7db77c506a },
    { 0x8eb98a7a9a5b04e3, 0x77f3608e92adb242 }, { 0xb267ed1940f1c61c, 0x55f038b237591ed3 },
    { 0xdf01e85f912e37a3, 0x6b6c46dec52f6688 }, { 0x8b61313bbabce2c6, 0x2323ac4b3b3da015 },
    { 0xae397d8aa96c1b77, 0xabec975e0a0d081a }, { 0xd9c7dced53c72255, 0x96e7bd358c904a21 },
    { 0x881cea14545c7575, 0x7e50d64177da2e54 }, { 0xaa242499697392d2, 0xdde50bd1d5d0b9e9 },
    { 0xd4ad2dbfc3d07787, 0x955e4ec64b44e864 }, { 0x84ec3c97da624ab4, 0xbd5af13bef0b113e },
    { 0xa6274bbdd0fadd61, 0xecb1ad8aeacdd58e }, { 0xcfb11ead453994ba, 0x67de18eda5814af2 },
    { 0x81ceb32c4b43fcf4, 0x80eacf948770ced7 }, { 0xa2425ff75e14fc31, 0xa1258379a94d028d },
    { 0xcad2f7f5359a3b3e, 0x096ee45813a04330 }, { 0xfd87b5f28300ca0d, 0x8bca9d6e188853fc },
    { 0x9e74d1b791e07e48, 0x775ea264cf55347e }, { 0xc612062576589dda, 0x95364afe032a819e },
    { 0xf79687aed3eec551, 0x3a83ddbd83f52205 }, { 0x9abe14cd44753b52, 0xc4926a9672793543 },
    { 0xc16d9a0095928a27, 0x75b7053c0f178294 }, { 0xf1c90080baf72cb1, 0x5324c68b12dd6339 },
    { 0x971da05074da7bee, 0xd3f6fc16ebca5e04 }, { 0xbce5086492111aea, 0x88f4bb1ca6bcf585 },
    { 0xec1e4a7db69561a5, 0x2b31e9e3d06c32e6 }, { 0x9392ee8e921d5d07, 0x3aff322e62439fd0 },
    { 0xb877aa3236a4b449, 0x09befeb9fad487c3 }, { 0xe69594bec44de15b, 0x4c2ebe687989a9b4 },
    { 0x901d7cf73ab0acd9, 0x0f9d37014bf60a11 }, { 0xb424dc35095cd80f, 0x538484c19ef38c95 },
    { 0xe12e13424bb40e13, 0x2865a5f206b06fba }, { 0x8cbccc096f5088cb, 0xf93f87b7442e45d4 },
    { 0xafebff0bcb24aafe, 0xf78f69a51539d749 }, { 0xdbe6fecebdedd5be, 0xb573440e5a884d1c },
    { 0x89705f4136b4a597, 0x31680a88f8953031 }, { 0xabcc77118461cefc, 0xfdc20d2b36ba7c3e },
    { 0xd6bf94d5e57a42bc, 0x3d32907604691b4d }, { 0x8637bd05af6c69b5, 0xa63f9a49c2c1b110 },
    { 0xa7c5ac471b478423, 0x0fcf80dc33721d54 }, { 0xd1b71758e219652b, 0xd3c36113404ea4a9 },
    { 0x83126e978d4fdf3b, 0x645a1cac083126ea }, { 0xa3d70a3d70a3d70a, 0x3d70a3d70a3d70a4 },
    { 0xcccccccccccccccc, 0xcccccccccccccccd }, { 0x8000000000000000, 0x0000000000000000 },
    { 0xa000000000000000, 0x0000000000000000 }, { 0xc800000000000000, 0x0000000000000000 },
    { 0xfa00000000000000, 0x0000000000000000 }, { 0x9c40000000000000, 0x0000000000000000 },
    { 0xc350000000000000, 0x0000000000000000 }, { 0xf424000000000000, 0x0000000000000000 },
    { 0x9896800000000000, 0x0000000000000000 }, { 0xbebc200000000000, 0x0000000000000000 },
    { 0xee6b280000000000, 0x0000000000000000 }, { 0x9502f90000000000, 0x0000000000000000 },
    { 0xba43b74000000000, 0x0000000000000000 }, { 0xe8d4a51000000000, 0x0000000000000000 },
    { 0x9184e72a00000000, 0x0000000000000000 }, { 0xb5e620f480000000, 0x0000000000000000 },
    { 0xe35fa931a0000000, 0x0000000000000000 }, { 0x8e1bc9bf04000000, 0x0000000000000000 },
    { 0xb1a2bc2ec5000000, 0x0000000000000000 }, { 0xde0b6b3a76400000, 0x0000000000000000 },
    { 0x8ac7230489e80000, 0x0000000000000000 }, { 0xad78ebc5ac620000, 0x0000000000000000 },
    { 0xd8d726b7177a8000, 0x0000000000000000 }, { 0x878678326eac9000, 0x0000000000000000 },
    { 0xa968163f0a57b400, 0x0000000000000000 }, { 0xd3c21bcecceda100, 0x0000000000000000 },
    { 0x84595161401484a0, 0x0000000000000000 }, { 0xa56fa5b99019a5c8, 0x0000000000000000 },
    { 0xcecb8f27f4200f3a, 0x0000000000000000 }, { 0x813f3978f8940984, 0x4000000000000000 },
    { 0xa18f07d736b90be5, 0x5000000000000000 }, { 0xc9f2c9cd04674ede, 0xa400000000000000 },
    { 0xfc6f7c4045812296, 0x4d00000000000000 }, { 0x9dc5ada82b70b59d, 0xf020000000000000 },
    { 0xc5371912364ce305, 0x6c28000000000000 }, { 0xf684df56c3e01bc6, 0xc732000000000000 },
    { 0x9a130b963a6c115c, 0x3c7f400000000000 }, { 0xc097ce7bc90715b3, 0x4b9f100000000000 },
    { 0xf0bdc21abb48db20, 0x1e86d40000000000 }, { 0x96769950b50d88f4, 0x1314448000000000 },
    { 0xbc143fa4e250eb31, 0x17d955a000000000 }, { 0xeb194f8e1ae525fd, 0x5dcfab0800000000 },
    { 0x92efd1b8d0cf37be, 0x5aa1cae500000000 }, { 0xb7abc627050305ad, 0xf14a3d9e40000000 },
    { 0xe596b7b0c643c719, 0x6d9ccd05d0000000 }, { 0x8f7e32ce7bea5c6f, 0xe4820023a2000000 },
    { 0xb35dbf821ae4f38b, 0xdda2802c8a800000 }, { 0xe0352f62a19e306e, 0xd50b2037ad200000 },
    { 0x8c213d9da502de45, 0x4526f422cc340000 }, { 0xaf298d050e4395d6, 0x9670b12b7f410000 },
    { 0xdaf3f04651d47b4c, 0x3c0cdd765f114000 }, { 0x88d8762bf324cd0f, 0xa5880a69fb6ac800 },
    { 0xab0e93b6efee0053, 0x8eea0d047a457a00 }, { 0xd5d238a4abe98068, 0x72a4904598d6d880 },
    { 0x85a36366eb71f041, 0x47a6da2b7f864750 }, { 0xa70c3c40a64e6c51, 0x999090b65f67d924 },
    { 0xd0cf4b50cfe20765, 0xfff4b4e3f741cf6d }, { 0x82818f1281ed449f, 0xbff8f10e7a8921a4 },
    { 0xa321f2d7226895c7, 0xaff72d52192b6a0d }, { 0xcbea6f8ceb02bb39, 0x9bf4f8a69f764490 },
    { 0xfee50b7025c36a08, 0x02f236d04753d5b4 }, { 0x9f4f2726179a2245, 0x01d762422c946590 },
    { 0xc722f0ef9d80aad6, 0x424d3ad2b7b97ef5 }, { 0xf8ebad2b84e0d58b, 0xd2e0898765a7deb2 },
    { 0x9b934c3b330c8577, 0x63cc55f49f88eb2f }, { 0xc2781f49ffcfa6d5, 0x3cbf6b71c76b25fb },
    { 0xf316271c7fc3908a, 0x8bef464e3945ef7a },
};

static struct pair64 multiply(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (struct pair64){ (uint64_t)(product >> 64), (uint64_t)product };
#else
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    return (struct pair64){ a1 * b1 + (middle >> 32) + (other >> 32), a * b };
#endif
}

static double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || (unsigned char)((c | 0x20) - 'a') < 6;
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

/* "e-12", or "p-12" for marker 'p', if it is there; saturates far beyond the range of doubles. */
static const char *parse_exponent(const char *p, const char *end, char marker, int64_t *exponent)
{
    const char *start = p;
    *exponent = 0;
    if (p == end || (*p | 0x20) != marker)
        return start;
    bool negative = ++p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end || !is_digit(*p))
        return start;
    for (; p < end && is_digit(*p); p++)
        if (*exponent < INT64_C(1000000000000000))
            *exponent = *exponent * 10 + (*p - '0');
    if (negative)
        *exponent = -*exponent;
    return p;
}

/* Rounds w * 10^q, w > 0, q within the table. False in the rare case that 128 bits do not decide. The result is
 * always a normal number: 1e-65 <= w 10^q < 2e84. */
static bool round_decimal(uint64_t w, int q, double *value)
{
    int zeros = __builtin_clzll(w);
    struct pair64 power = powers[q - MIN_POWER];
    w <<= zeros;
    struct pair64 z = multiply(w, power.high);
    if ((z.high & 0x1ff) == 0x1ff) { /* the low half of the power may carry into the bits that count */
        uint64_t more = multiply(w, power.low).high;
        z.low += more;
        z.high += z.low < more;
        if (z.low == UINT64_MAX && (q < -27 || q > 55))
            return false;
    }
    int top = (int)(z.high >> 63), shift = top + 9;
    uint64_t m = z.high >> shift; /* 53 bits and one to round by */
    /* halfway between two doubles is possible for small q only; then to even */
    if (z.low <= 1 && q >= -4 && q <= 23 && (m & 3) == 1 && m << shift == z.high)
        m &= ~UINT64_C(1);
    m = (m + (m & 1)) >> 1;
    int exponent = (217706 * q >> 16) + 63 + top - zeros + 1023; /* floor(q log2(10)), biased */
    /* m counts the hidden bit; where rounding carried to 2^53, that carries on into the exponent */
    *value = double_of_bits(((uint64_t)(exponent - 1) << 52) + m);
    return true;
}

/* Numbers of any length, exponent and of both bases through strtod, from p behind the sign. Digits beyond those
 * that can matter (767 decimal ones) are folded into one that says whether any of them was not 0. */
static const char *parse_slowly(const char *p, const char *end, bool hex, double *value)
{
    enum { KEPT = 780 };
    char text[KEPT + 40] = "0x";
    size_t head = hex ? 2 : 0, kept = 0;
    int64_t exponent = 0, written;
    bool any = false, point = false, more = false;
    for (; p < end; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (!(hex ? is_hex_digit(*p) : is_digit(*p)))
            break;
        any = true;
        if (kept == 0 && *p == '0') {
            exponent -= point;
        } else if (kept < KEPT) {
            text[head + kept++] = *p;
            exponent -= point;
        } else {
            more |= *p != '0';
            exponent += !point;
        }
    }
    if (!any)
        return NULL;
    p = parse_exponent(p, end, hex ? 'p' : 'e', &written);
    *value = 0;
    if (kept == 0)
        return p;
    if (more) {
        text[head + kept++] = '1';
        exponent--;
    }
    exponent = written + exponent * (hex ? 4 : 1);
    exponent = HG_MAX(-100000, HG_MIN(exponent, 100000));
    snprintf(text + head + kept, sizeof text - head - kept, "%c%d", hex ? 'p' : 'e', (int)exponent);
    int saved = errno;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return NULL;
    *value = strtod_l(text, NULL, c);
    freelocale(c);
    errno = saved;
    return p;
}

static const char *parse_word(const char *p, const char *end, const char *word)
{
    for (; *word != '\0'; p++, word++)
        if (p == end || (*p | 0x20) != *word)
            return NULL;
    return p;
}

/* "inf", "infinity", "nan" in either case. */
static const char *parse_special(const char *p, const char *end, double *value)
{
    const char *next = parse_word(p, end, "inf"), *whole = parse_word(p, end, "infinity");
    *value = HUGE_VAL;
    if (next == NULL && (next = parse_word(p, end, "nan")) != NULL)
        *value = (double)NAN;
    return whole != NULL ? whole : next;
}

/* From behind the sign. */
static const char *parse_magnitude(const char *p, const char *end, double *value)
{
    const char *start = p;
    uint64_t w = 0;
    int64_t q;
    p = parse_digits(p, end, &w);
    ptrdiff_t digits = p - start, fraction = 0;
    if (p < end && *p == '.') {
        const char *point = p;
        p = parse_many_digits(p + 1, end, &w);
        fraction = p - point - 1;
        digits += fraction;
    }
    if (digits == 0)
        return parse_special(start, end, value);
    if (p == start + 1 && w == 0 && end - p >= 2 && (*p | 0x20) == 'x' &&
        (is_hex_digit(p[1]) || (p[1] == '.' && end - p >= 3 && is_hex_digit(p[2]))))
        return parse_slowly(p + 1, end, true, value);
    p = parse_exponent(p, end, 'e', &q);
    q -= fraction;
    if (digits > 19) /* w may have overflowed, unless the first of them are zeros */
        for (const char *s = start; digits > 0 && (*s == '0' || *s == '.'); s++)
            digits -= *s == '0';
    if (digits > 19)
        return parse_slowly(start, end, false, value);
    if (w == 0 || (q == 0 && w < UINT64_C(1) << 53)) {
        *value = (double)w;
        return p;
    }
    if (q >= MIN_POWER && q <= MAX_POWER && round_decimal(w, (int)q, value))
        return p;
    return parse_slowly(start, end, false, value);
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

struct decimal {
    uint64_t digits; /* value = digits * 10^exponent */
    int exponent;
};

/* The leading 64 bits of power * c / 2^128, the last one set where anything was cut off. */
static uint64_t multiply_to_odd(struct pair64 power, uint64_t c)
{
    struct pair64 x = multiply(power.low, c), y = multiply(power.high, c);
    y.low += x.high;
    y.high += y.low < x.high;
    return y.high | (y.low > 1);
}

/* The shortest decimal that rounds to the finite v > 0, of those the closest. False: beyond the table.
 * v = c 2^q, and all within [c - 1/2, c + 1/2] 2^q rounds to v (the ends if c is even; below a power of 2 the
 * lower half is half as wide). Scaled by 4 10^-k with 10^k just below the interval's width, at least one and at
 * most two multiples of 4 lie in the interval (k digits), and at most one of 40 (one digit less). */
static bool shortest_decimal(double v, struct decimal *d)
{
    uint64_t bits = bits_of_double(v), fraction = bits & ((UINT64_C(1) << 52) - 1);
    int biased = (int)(bits >> 52), q = HG_MAX(biased, 1) - 1075;
    uint64_t c = biased > 0 ? fraction | UINT64_C(1) << 52 : fraction;
    bool narrow = fraction == 0 && biased > 1;
    int k = (q * 1262611 - (narrow ? 524031 : 0)) >> 22; /* floor(log10(2^q)), of 3/4 2^q if narrow */
    if (-k < MIN_POWER || -k > MAX_POWER)
        return false;
    struct pair64 power = powers[-k - MIN_POWER];
    if (-k < -27 || -k > 55) { /* the truncated ones: the proof wants them rounded up */
        power.low++;
        power.high += power.low == 0;
    }
    int shift = q + (-k * 1741647 >> 19) + 1; /* floor(log2(10^-k)): the products then are 4 v 10^-k */
    uint64_t low = multiply_to_odd(power, (4 * c - 2 + narrow) << shift) + (c & 1);
    uint64_t middle = multiply_to_odd(power, 4 * c << shift);
    uint64_t high = multiply_to_odd(power, (4 * c + 2) << shift) - (c & 1);
    uint64_t s = middle / 4, tens = s / 10;
    if (s >= 10) {
        bool below = low <= 40 * tens, above = 40 * tens + 40 <= high;
        if (below != above) {
            *d = (struct decimal){ tens + above, k + 1 };
            return true;
        }
    }
    bool below = low <= 4 * s, above = 4 * s + 4 <= high;
    bool nearer_above = middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1));
    *d = (struct decimal){ s + (below != above ? above : nearer_above), k };
    return true;
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

/* "e-07", as printf has it. */
static size_t format_exponent(char *buffer, int exponent)
{
    char *out = buffer;
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    if (abs(exponent) < 10)
        *out++ = '0';
    out += hg_format_size(out, (uint64_t)abs(exponent));
    return (size_t)(out - buffer);
}

/* digits[n] with the first one worth 10^exponent: 123, 1.23, 0.00123 or 1.23e+45. */
static size_t layout(char *buffer, const char *digits, size_t n, int exponent)
{
    char *out = buffer;
    size_t whole = 1;
    bool plain = exponent >= -4 && exponent < 17;
    if (plain && exponent < 0) {
        memcpy(out, "0.000", 5);
        out += 1 - exponent;
        memcpy(out, digits, n);
        return (size_t)(out - buffer) + n;
    }
    if (plain)
        whole = (size_t)exponent + 1;
    memcpy(out, digits, HG_MIN(n, whole));
    out += HG_MIN(n, whole);
    for (size_t i = n; i < whole; i++)
        *out++ = '0';
    if (n > whole) {
        *out++ = '.';
        memcpy(out, digits + whole, n - whole);
        out += n - whole;
    }
    if (!plain)
        out += format_exponent(out, exponent);
    return (size_t)(out - buffer);
}

/* The shortest printf format that reads back, its decimal point made one whatever the locale's is. 15 digits
 * are always exact and %g drops the zeros; subnormal numbers may have fewer. */
static size_t format_slowly(char *buffer, double v)
{
    for (int precision = v < DBL_MIN ? 1 : 15;; precision++) {
        char text[64];
        double back;
        int length = snprintf(text, sizeof text, "%.*g", precision, v), kept = 0;
        for (int i = 0; i < length; i++) {
            bool plain = is_digit(text[i]) || strchr("+-einfa", text[i]) != NULL;
            if (plain)
                buffer[kept++] = text[i];
            else if (buffer[kept - 1] != '.') /* a point may be of several bytes */
                buffer[kept++] = '.';
        }
        if (precision == 17 || (hg_parse_double(buffer, buffer + kept, &back) != NULL && back == v))
            return (size_t)kept;
    }
}

size_t hg_format_double(char *buffer, double v)
{
    char *out = buffer, room[HG_NUMBER_ROOM], *end = room + sizeof room;
    struct decimal d;
    if (!isfinite(v)) {
        const char *word = isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
        memcpy(buffer, word, strlen(word));
        return strlen(word);
    }
    if (signbit(v))
        *out++ = '-';
    v = fabs(v);
    if (v < 1e15 && v == (double)(uint64_t)v)
        return (size_t)(out - buffer) + hg_format_size(out, (uint64_t)v);
    if (!shortest_decimal(v, &d))
        return (size_t)(out - buffer) + format_slowly(out, v);
    for (; d.digits % 10 == 0; d.digits /= 10)
        d.exponent++;
    const char *digits = digits_before(end, d.digits);
    size_t n = (size_t)(end - digits);
    return (size_t)(out - buffer) + layout(out, digits, n, d.exponent + (int)n - 1);
}
