/* Numbers as text against strtod and printf in the C locale. */
#include "lib/files/number.h"
#include "test/support.h"

#include <float.h>
#include <locale.h>

static locale_t c_locale;

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static double random_double(uint64_t *seed)
{
    for (;;) {
        uint64_t bits = hg_random(seed);
        double v;
        memcpy(&v, &bits, sizeof v);
        if (isfinite(v))
            return v;
    }
}

/* A double of a size that data has: 2^-60 .. 2^60. */
static double usual_double(uint64_t *seed)
{
    uint64_t bits = hg_random(seed);
    double m = 1 + (double)(bits >> 12) * 0x1p-52;
    return ldexp(bits & 1 ? -m : m, (int)(hg_random(seed) % 121) - 60);
}

/* The text without a 0 behind it: a copy of exactly its length, so that sanitizers see any step too far. */
static const char *parse_bounded(const char *text, size_t length, double *value, bool *whole)
{
    char *copy = malloc(length == 0 ? 1 : length);
    assert_non_null(copy);
    memcpy(copy, text, length);
    const char *end = hg_parse_double(copy, copy + length, value);
    *whole = end == copy + length;
    free(copy);
    return end;
}

static void check_parse(const char *text)
{
    double value = -1, truth = strtod_l(text, NULL, c_locale);
    bool whole;
    if (parse_bounded(text, strlen(text), &value, &whole) == NULL || !whole || bits_of(value) != bits_of(truth))
        fail_msg("'%s': %.17g, not %.17g", text, value, truth);
}

TEST(parse_edges)
{
    static const char *const texts[] = { "0",
                                         "-0",
                                         "+0",
                                         "0.0",
                                         "-0.0e5",
                                         "1",
                                         "+1",
                                         "+01e0",
                                         "-1",
                                         ".5",
                                         "5.",
                                         "-.25",
                                         "1e3",
                                         "1E+3",
                                         "1e-3",
                                         "9007199254740993",
                                         "9007199254740992",
                                         "9007199254740991",
                                         "9007199254740993.0",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "9999999999999999999",
                                         "99999999999999999999",
                                         "0.1",
                                         "0.3",
                                         "1e22",
                                         "1e23",
                                         "8.5e22",
                                         "1e65",
                                         "1e66",
                                         "1e-65",
                                         "1e-66",
                                         "9999999999999999999e65",
                                         "1e308",
                                         "1.7976931348623157e308",
                                         "1.7976931348623159e308",
                                         "1e309",
                                         "-1e400",
                                         "2.2250738585072014e-308",
                                         "2.2250738585072011e-308",
                                         "5e-324",
                                         "4.9e-324",
                                         "2.4703282292062327e-324",
                                         "2.4703282292062328e-324",
                                         "1e-400",
                                         "0e999999999999999999999",
                                         "1e-999999999999999999999",
                                         "1e99999999999999999999",
                                         "0x1p3",
                                         "0x1.8p1",
                                         "-0X1.FFFFFFFFFFFFFp1023",
                                         "0x1.fffffffffffff8p0",
                                         "0x1.fffffffffffff7ffp0",
                                         "0x.8",
                                         "0x1p-1080",
                                         "0x1p-1074",
                                         "1.00000000000000011102230246251565404236316680908203125",
                                         "1.00000000000000011102230246251565404236316680908203124",
                                         "1.00000000000000011102230246251565404236316680908203126",
                                         "0.000000000000000000000000000000000000000123456",
                                         "00000000000000000000000000000000000000000.5",
                                         "123456789012345678901234567890",
                                         "7.2057594037927933e16",
                                         "9214843084008499",
                                         "0.500000000000000166533453693773481063544750213623046875",
                                         "30078505129381147446200",
                                         "1777820000000000000001",
                                         "0.000000000000000000000",
                                         "000000000000000000000",
                                         "00000000000000000000000.",
                                         "0000000000000000000000.0e7",
                                         "1.0000000000000000000e-5",
                                         "inf",
                                         "-inf",
                                         "Infinity",
                                         "INF" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_parse(texts[i]);
    double value;
    bool whole;
    assert_non_null(parse_bounded("-NaN", 4, &value, &whole));
    assert_true(isnan(value) && whole);
}

TEST(parse_long_texts)
{
    enum { LENGTH = 3000 };
    char text[LENGTH + 32];
    /* a halfway case decided by the 3000th digit */
    strcpy(text, "1.00000000000000011102230246251565404236316680908203125");
    size_t start = strlen(text);
    memset(text + start, '0', LENGTH - start);
    strcpy(text + LENGTH, "");
    check_parse(text);
    strcpy(text + LENGTH - 1, "1");
    check_parse(text);
    memset(text, '9', LENGTH);
    strcpy(text + LENGTH, "e-2990");
    check_parse(text);
    memset(text, '0', LENGTH);
    memcpy(text, "0.", 2);
    strcpy(text + LENGTH, "17e3001");
    check_parse(text);
    memset(text, '1', LENGTH);
    memcpy(text, "0x", 2);
    strcpy(text + LENGTH, "p-11990");
    check_parse(text);
}

TEST(parse_stops_and_refuses)
{
    static const struct {
        const char *text;
        int length; /* of the number, -1: none */
        double value;
    } cases[] = { { "", -1, 0 },
                  { "+", -1, 0 },
                  { "-", -1, 0 },
                  { ".", -1, 0 },
                  { "e5", -1, 0 },
                  { "-.e5", -1, 0 },
                  { "abc", -1, 0 },
                  { " 1", -1, 0 },
                  { "--1", -1, 0 },
                  { "in", -1, 0 },
                  { "na", -1, 0 },
                  { "+-1", -1, 0 },
                  { "1e", 1, 1 },
                  { "1e+", 1, 1 },
                  { "1e-x", 1, 1 },
                  { "2.5.3", 3, 2.5 },
                  { "3,5", 1, 3 },
                  { "4:2", 1, 4 },
                  { "0x", 1, 0 },
                  { "0.x8", 2, 0 },
                  { "0xg", 1, 0 },
                  { "0x.", 1, 0 },
                  { "1x3", 1, 1 },
                  { "00x3", 2, 0 },
                  { "7 8", 1, 7 },
                  { "infinit", 3, HUGE_VAL },
                  { "12345678a", 8, 12345678 },
                  { "0.12345678:", 10, 0.12345678 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        double value = -1;
        const char *end = hg_parse_double(text, text + strlen(text), &value);
        if (cases[i].length < 0) {
            assert_null(end);
        } else {
            assert_ptr_equal(end, text + cases[i].length);
            assert_true(value == cases[i].value);
        }
    }
    /* digits beyond the end are not read */
    double value;
    const char digits[] = "123456789012345678";
    for (int length = 1; length < 18; length++) {
        assert_ptr_equal(hg_parse_double(digits, digits + length, &value), digits + length);
        char copy[32];
        snprintf(copy, sizeof copy, "%.*s", length, digits);
        assert_true(value == strtod_l(copy, NULL, c_locale));
    }
}

TEST(parse_random_doubles)
{
    uint64_t seed = 1;
    char text[64];
    for (int i = 0; i < 400000; i++) {
        double v = i % 2 ? random_double(&seed) : usual_double(&seed);
        snprintf(text, sizeof text, "%.*e", (int)(hg_random(&seed) % 22), v);
        check_parse(text);
        if (fabs(v) < 1e18) {
            snprintf(text, sizeof text, "%.*f", (int)(hg_random(&seed) % 22), v);
            check_parse(text);
        }
    }
}

/* Random digits and exponents, many of them near the middle between two doubles. */
TEST(parse_random_decimals)
{
    uint64_t seed = 2;
    char text[64];
    for (int i = 0; i < 400000; i++) {
        uint64_t digits = hg_random(&seed) >> hg_random(&seed) % 64;
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, (int)(hg_random(&seed) % 160) - 80);
        check_parse(text);
        /* a double of 53 bits and half a unit, as an integer, and neighbours */
        uint64_t half = (hg_random(&seed) >> 11 | UINT64_C(1) << 52) * 2 + 1 - 1 + hg_random(&seed) % 3;
        snprintf(text, sizeof text, "%llu", (unsigned long long)half);
        check_parse(text);
        snprintf(text, sizeof text, "%llu.%de-%d", (unsigned long long)half / 2, (int)(half & 1) * 5,
                 (int)(hg_random(&seed) % 30));
        check_parse(text);
    }
    for (int n = 0; n <= 255; n++) {
        snprintf(text, sizeof text, "%.17g", n / 255.0);
        check_parse(text);
    }
}

static void check_format(double v)
{
    char text[HG_NUMBER_ROOM + 1], other[400];
    memset(text, '#', sizeof text);
    size_t length = hg_format_double(text, v);
    assert_true(length > 0 && length <= HG_NUMBER_ROOM && text[HG_NUMBER_ROOM] == '#');
    text[length] = '\0';
    if (bits_of(strtod_l(text, NULL, c_locale)) != bits_of(v))
        fail_msg("%.17g written as %s", v, text);
    /* no decimal of fewer digits reads back: compare with the shortest that printf finds */
    size_t digits = 0, leading = 0;
    for (const char *p = text; *p != '\0' && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9') {
            leading += *p == '0' && leading == digits;
            digits++;
        }
    digits -= leading;
    bool trailing = strchr(text, '.') == NULL && strchr(text, 'e') == NULL; /* zeros of an integer */
    for (int precision = 1; !trailing && precision < (int)digits; precision++) {
        snprintf(other, sizeof other, "%.*g", precision, v);
        if (strtod_l(other, NULL, c_locale) == v)
            fail_msg("%s is longer than %s", text, other);
    }
    if (trailing)
        return;
    /* and of that many digits it is the closest */
    snprintf(other, sizeof other, "%.*g", (int)HG_MAX(digits, 1), v);
    double value;
    assert_non_null(hg_parse_double(other, other + strlen(other), &value));
    if (value == v && fabsl(strtold(other, NULL) - v) < fabsl(strtold(text, NULL) - v))
        fail_msg("%s is not as close as %s", text, other);
}

TEST(format_examples)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = { { 0, "0" },
                  { -0.0, "-0" },
                  { 1, "1" },
                  { -17, "-17" },
                  { 0.5, "0.5" },
                  { 0.1, "0.1" },
                  { -1.5, "-1.5" },
                  { 100, "100" },
                  { 1234567, "1234567" },
                  { 0.0001, "0.0001" },
                  { 0.00001, "1e-05" },
                  { 0.000012345, "1.2345e-05" },
                  { 1e15, "1000000000000000" },
                  { 1e16, "10000000000000000" },
                  { 1e17, "1e+17" },
                  { 1e22, "1e+22" },
                  { 1.5e300, "1.5e+300" },
                  { 5e-324, "5e-324" },
                  { 1.0 / 3, "0.3333333333333333" },
                  { 2.0 / 255, "0.00784313725490196" },
                  { DBL_MAX, "1.7976931348623157e+308" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[HG_NUMBER_ROOM + 1];
        text[hg_format_double(text, cases[i].v)] = '\0';
        assert_string_equal(text, cases[i].text);
    }
    char text[HG_NUMBER_ROOM + 1];
    text[hg_format_double(text, HUGE_VAL)] = '\0';
    assert_string_equal(text, "inf");
    text[hg_format_double(text, -HUGE_VAL)] = '\0';
    assert_string_equal(text, "-inf");
    text[hg_format_double(text, (double)NAN)] = '\0';
    assert_string_equal(text, "nan");
}

TEST(format_random)
{
    uint64_t seed = 3;
    for (int i = 0; i < (in_full() ? 100000 : 10000); i++) {
        check_format(usual_double(&seed));
        check_format((double)(hg_random(&seed) % 1000000) / 1000);
        check_format((double)(float)usual_double(&seed));
        check_format(random_double(&seed));
        if (i < 400)
            for (int step = -1; step <= 1; step++) /* powers of two, where the interval is lopsided */
                check_format(nextafter(ldexp(1, i - 200), step < 0 ? 0 : step > 0 ? HUGE_VAL : ldexp(1, i - 200)));
    }
    for (int i = 0; i < (in_full() ? 2000000 : 200000); i++) { /* round trips only: cheap */
        char text[HG_NUMBER_ROOM];
        double v = i % 2 ? random_double(&seed) : usual_double(&seed), back;
        size_t length = hg_format_double(text, v);
        assert_ptr_equal(hg_parse_double(text, text + length, &back), text + length);
        assert_true(bits_of(back) == bits_of(v));
    }
}

TEST(integers)
{
    const char *const none[] = { "", "-", "x", "-5", "+5", "99999999999999999999" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        size_t value = 77;
        assert_null(hg_parse_size(none[i], none[i] + strlen(none[i]), &value));
    }
    const char *some = "12x";
    size_t twelve;
    assert_ptr_equal(hg_parse_size(some, some + 3, &twelve), some + 2);
    assert_int_equal(twelve, 12);
    size_t size;
    char text[64];
    text[hg_format_size(text, SIZE_MAX)] = '\0';
    assert_non_null(hg_parse_size(text, text + strlen(text), &size));
    assert_true(size == SIZE_MAX);
    text[strlen(text) - 1]++; /* ...616 */
    assert_null(hg_parse_size(text, text + strlen(text), &size));
    const char *negative = "-1";
    assert_null(hg_parse_size(negative, negative + 2, &size));
    uint64_t seed = 4;
    for (int i = 0; i < 1000; i++) {
        uint64_t v = hg_random(&seed) >> hg_random(&seed) % 64;
        char other[64];
        text[hg_format_size(text, v)] = '\0';
        snprintf(other, sizeof other, "%llu", (unsigned long long)v);
        assert_string_equal(text, other);
    }
}

/* Under a locale with a decimal comma nothing changes. */
TEST(foreign_locale)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ru_RU.UTF-8", "de_DE" };
    locale_t comma = (locale_t)0;
    for (size_t i = 0; i < sizeof names / sizeof *names && comma == (locale_t)0; i++)
        comma = newlocale(LC_ALL_MASK, names[i], (locale_t)0);
    if (comma == (locale_t)0)
        skip_because("no locale with a decimal comma");
    locale_t before = uselocale(comma);
    char text[HG_NUMBER_ROOM + 1], check[32];
    snprintf(check, sizeof check, "%.1f", 0.5);
    text[hg_format_double(text, 1.5e-300)] = '\0';
    double slow = 0, fast = 0;
    const char *small = "1.5e-300", *usual = "1.5";
    hg_parse_double(small, small + 8, &slow);
    hg_parse_double(usual, usual + 3, &fast);
    uselocale(before);
    freelocale(comma);
    assert_string_equal(check, "0,5");
    assert_string_equal(text, "1.5e-300");
    assert_true(slow == 1.5e-300 && fast == 1.5);
}

int main(int argc, char **argv)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    int failed = run_program(argv[argc > 1 ? 1 : argc]);
    freelocale(c_locale);
    return failed;
}
