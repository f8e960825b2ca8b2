/*
 * The solver's inner loops against plain loops, function by function at every level this processor runs: random
 * lengths with tails, any alignment, ties (lowest index wins), infinite offsets, NaN and infinite gradients.
 *
 * Extremes and lists are compared exactly: their values are single sums, rounded alike everywhere. Sums of
 * products may be contracted and reordered: they are compared within a few units of the sum of the absolute
 * terms, and the extremes of a step against the gradient that the step itself left. The second-order gain ranks
 * in f32: what is chosen must be within f32's error of the best, and where ties are exact, the lowest.
 */
#include "test/tests.h"
#include "lib/base/base.h"
#include "solver/smo/loops.h"

enum { MAX_N = 700, MAX_ROWS = 19, SHIFT = 9, GUARD = 8, ROOM = MAX_N + SHIFT + GUARD, ROUNDS = 400 };
static const double sentinel = 12345.678;

static double between(uint64_t *state, double low, double high)
{
    return low + (high - low) * (double)(hg_random(state) >> 11) * 0x1p-53;
}

/* Lengths around blocks and vectors, or any. */
static size_t some_length(uint64_t *state)
{
    static const size_t edges[] = { 0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 511, 512, 513, MAX_N };
    size_t pick = hg_random_below(state, 40);
    return pick < sizeof edges / sizeof *edges ? edges[pick] : hg_random_below(state, MAX_N + 1);
}

/* One problem: arrays at a random misalignment, guards behind them. */
struct arrays {
    size_t n;
    double *g, *up, *down;
    double room_g[ROOM], room_up[ROOM], room_down[ROOM];
};

static const struct hg_loops *loops; /* of the level under test */

static void guard(double *values, size_t n)
{
    for (size_t j = 0; j < GUARD; j++)
        values[n + j] = sentinel;
}

static void check_guard(const double *values, size_t n)
{
    for (size_t j = 0; j < GUARD; j++)
        assert_true(values[n + j] == sentinel);
}

/* coarse: few distinct values, so that there are ties; blocked: the share of offsets that are infinite. */
static void draw(struct arrays *a, uint64_t *state, bool coarse, double blocked)
{
    a->n = some_length(state);
    a->g = a->room_g + hg_random_below(state, SHIFT);
    a->up = a->room_up + hg_random_below(state, SHIFT);
    a->down = a->room_down + hg_random_below(state, SHIFT);
    for (size_t j = 0; j < a->n; j++) {
        a->g[j] = coarse ? (double)hg_random_below(state, 5) - 2 : between(state, -3, 3);
        double off = coarse ? (double)hg_random_below(state, 3) - 1 : between(state, -1, 1);
        a->up[j] = between(state, 0, 1) < blocked ? INFINITY : off;
        a->down[j] = between(state, 0, 1) < blocked ? -INFINITY : off;
    }
    guard(a->g, a->n);
    guard(a->up, a->n);
    guard(a->down, a->n);
}

static struct hg_extremes plain_scan(size_t n, const double *g, const double *up, const double *down)
{
    struct hg_extremes e = { INFINITY, -INFINITY, n, n, 0 };
    for (size_t j = 0; j < n; j++) {
        if (g[j] + up[j] < e.low)
            e.low = g[j] + up[j], e.i_low = j;
        if (g[j] + down[j] > e.high)
            e.high = g[j] + down[j], e.i_high = j;
        if (!isfinite(g[j]))
            e.nan = NAN;
    }
    return e;
}

static void same_extremes(const struct hg_extremes *got, const struct hg_extremes *want)
{
    assert_true(got->low == want->low);
    assert_true(got->high == want->high);
    assert_int_equal(got->i_low, want->i_low);
    assert_int_equal(got->i_high, want->i_high);
}

/* ---- scan ------------------------------------------------------------------------------------------------ */

TEST(test_scan)
{
    static struct arrays a;
    uint64_t seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        draw(&a, &seed, round % 2 == 0, round % 4 == 3 ? 1 : 0.1 * (round % 11));
        struct hg_extremes got = loops->scan(a.n, a.g, a.up, a.down), want = plain_scan(a.n, a.g, a.up, a.down);
        same_extremes(&got, &want);
        assert_true(got.nan == 0);
    }
}

TEST(test_scan_nothing_may_move)
{
    double g[100] = { 0 }, up[100], down[100];
    for (size_t j = 0; j < 100; j++)
        up[j] = INFINITY, down[j] = -INFINITY;
    for (size_t n = 0; n <= 100; n++) {
        struct hg_extremes e = loops->scan(n, g, up, down);
        assert_true(e.low == INFINITY && e.high == -INFINITY && e.nan == 0);
        assert_int_equal(e.i_low, n);
        assert_int_equal(e.i_high, n);
    }
}

TEST(test_scan_flags_what_is_not_finite)
{
    static struct arrays a;
    static const double bad[] = { NAN, INFINITY, -INFINITY, -NAN };
    uint64_t seed = 2;
    for (int round = 0; round < ROUNDS; round++) {
        draw(&a, &seed, false, 0.3);
        if (a.n == 0)
            continue;
        a.g[hg_random_below(&seed, a.n)] = bad[round % 4];
        struct hg_extremes e = loops->scan(a.n, a.g, a.up, a.down);
        assert_true(isnan(e.nan));
    }
}

/* ---- add_rows -------------------------------------------------------------------------------------------- */

static void check_add_rows(bool f32)
{
    static float rows32[MAX_ROWS][ROOM];
    static double rows64[MAX_ROWS][ROOM];
    static struct arrays a;
    uint64_t seed = 3;
    for (int round = 0; round < ROUNDS; round++) {
        draw(&a, &seed, false, 0);
        size_t n_rows = hg_random_below(&seed, MAX_ROWS + 1), shift = hg_random_below(&seed, SHIFT);
        double coef[MAX_ROWS];
        const float *row32[MAX_ROWS];
        const double *row64[MAX_ROWS];
        for (size_t r = 0; r < n_rows; r++) {
            coef[r] = between(&seed, -1, 1) * (r % 3 == 0 ? 1000 : 1);
            row32[r] = rows32[r] + shift;
            row64[r] = rows64[r] + shift;
            for (size_t j = 0; j < ROOM; j++)
                rows32[r][j] = (float)(rows64[r][j] = between(&seed, -1, 1));
        }
        long double want[MAX_N], size[MAX_N];
        for (size_t j = 0; j < a.n; j++) {
            want[j] = a.g[j];
            size[j] = fabs(a.g[j]);
            for (size_t r = 0; r < n_rows; r++) {
                long double k = f32 ? (long double)row32[r][j] : (long double)row64[r][j], term = coef[r] * k;
                want[j] += term;
                size[j] += fabsl(term);
            }
        }
        if (f32)
            loops->add.f32(n_rows, coef, row32, a.n, a.g);
        else
            loops->add.f64(n_rows, coef, row64, a.n, a.g);
        for (size_t j = 0; j < a.n; j++)
            assert_true(fabsl(a.g[j] - want[j]) <= (long double)(n_rows + 2) * 0x1p-53L * size[j]);
        check_guard(a.g, a.n);
    }
}

TEST(test_add_rows)
{
    check_add_rows(true);
    check_add_rows(false);
}

TEST(test_add_rows_cut_anywhere)
{
    static double row[11][300], whole[300], cut[300];
    const double *at[11];
    double coef[11];
    uint64_t seed = 4;
    for (size_t r = 0; r < 11; r++) {
        coef[r] = between(&seed, -1, 1);
        for (size_t j = 0; j < 300; j++)
            row[r][j] = between(&seed, -1, 1);
    }
    for (size_t first = 0; first < 300; first += 7) {
        memset(whole, 0, sizeof whole);
        memset(cut, 0, sizeof cut);
        for (size_t r = 0; r < 11; r++)
            at[r] = row[r];
        loops->add.f64(11, coef, at, 300, whole);
        loops->add.f64(11, coef, at, first, cut);
        for (size_t r = 0; r < 11; r++)
            at[r] = row[r] + first;
        loops->add.f64(11, coef, at, 300 - first, cut + first);
        assert_memory_equal(whole, cut, sizeof whole);
    }
}

/* ---- step ------------------------------------------------------------------------------------------------ */

static void check_step(bool f32)
{
    static float i32[ROOM], j32[ROOM];
    static double i64[ROOM], j64[ROOM], before[MAX_N];
    static struct arrays a;
    uint64_t seed = 5;
    for (int round = 0; round < ROUNDS; round++) {
        bool coarse = round % 2 == 0;
        draw(&a, &seed, coarse, 0.1 * (round % 11));
        size_t shift = hg_random_below(&seed, SHIFT);
        for (size_t j = 0; j < ROOM; j++) {
            i32[j] = (float)(i64[j] = coarse ? (double)hg_random_below(&seed, 3) : between(&seed, -2, 2));
            j32[j] = (float)(j64[j] = coarse ? (double)hg_random_below(&seed, 3) : between(&seed, -2, 2));
        }
        double di = coarse ? 1 : between(&seed, -1, 1), dj = coarse ? -1 : between(&seed, -1, 1);
        memcpy(before, a.g, a.n * sizeof *before);
        struct hg_extremes got = f32 ? loops->step_f32(a.n, a.g, di, i32 + shift, dj, j32 + shift, a.up, a.down)
                                     : loops->step_f64(a.n, a.g, di, i64 + shift, dj, j64 + shift, a.up, a.down);
        for (size_t j = 0; j < a.n; j++) {
            long double ki = f32 ? (long double)i32[shift + j] : (long double)i64[shift + j];
            long double kj = f32 ? (long double)j32[shift + j] : (long double)j64[shift + j];
            long double want = before[j] + di * ki + dj * kj;
            long double size = fabs(before[j]) + fabsl(di * ki) + fabsl(dj * kj);
            assert_true(fabsl(a.g[j] - want) <= 4 * 0x1p-53L * size);
        }
        check_guard(a.g, a.n);
        struct hg_extremes want = plain_scan(a.n, a.g, a.up, a.down);
        want.i_high = a.n; /* no step asks for it */
        same_extremes(&got, &want);
    }
}

TEST(test_step)
{
    check_step(true);
    check_step(false);
}

/* ---- second ---------------------------------------------------------------------------------------------- */

static const struct hg_unit unit = { 1, 1, HG_TAU };

static long double gain(double v, double kii, double kij, double kjj)
{
    long double a = (long double)kii + kjj - 2 * (long double)kij;
    return v > 0 ? (long double)v * v / (a > HG_TAU ? a : (long double)HG_TAU) : 0;
}

/* Gram entries such that kii + kjj - 2 kij is well away from 0 and f32 can rank. */
static void check_second(bool f32)
{
    static float diagonal[ROOM], k32[ROOM];
    static double k64[ROOM];
    static struct arrays a;
    uint64_t seed = 6;
    for (int round = 0; round < ROUNDS; round++) {
        bool coarse = round % 2 == 0; /* powers of two and small integers: gains are exact, ties too */
        draw(&a, &seed, coarse, 0.1 * (round % 11));
        size_t shift = hg_random_below(&seed, SHIFT);
        double kii = coarse ? 1 : between(&seed, 1, 2), fi = coarse ? -1 : between(&seed, -4, 2);
        for (size_t j = 0; j < ROOM; j++) {
            diagonal[j] = coarse ? 1 : (float)between(&seed, 1, 2);
            k64[j] = coarse ? (double)hg_random_below(&seed, 2) / 2 : between(&seed, -0.9, 0.9);
            k32[j] = (float)k64[j];
        }
        size_t got = f32 ? loops->second_f32(a.n, a.g, a.down, fi, k32 + shift, kii, diagonal + shift, &unit)
                         : loops->second_f64(a.n, a.g, a.down, fi, k64 + shift, kii, diagonal + shift, &unit);
        long double best = 0, of_got = 0;
        size_t want = a.n;
        for (size_t j = 0; j < a.n; j++) {
            long double w = gain(a.g[j] + a.down[j] - fi, kii, k64[shift + j], (double)diagonal[shift + j]);
            if (w > best)
                best = w, want = j;
            if (j == got)
                of_got = w;
        }
        if (coarse)
            assert_int_equal(got, want);
        else
            assert_true(want == a.n ? got == a.n : got < a.n && of_got >= best * (1 - 1e-4L));
        check_guard(a.g, a.n);
        const struct hg_unit far = { 0x1p150, 0x1p-250, HG_TAU }; /* values that f32 does not hold */
        for (size_t j = 0; j < ROOM && !f32; j++)
            k64[j] = ldexp(k64[j], 250);
        for (size_t j = 0; j < a.n && !f32; j++)
            a.g[j] = ldexp(a.g[j], -150), a.down[j] = ldexp(a.down[j], -150);
        fi = ldexp(fi, -150), kii = ldexp(kii, 250);
        if (!f32)
            assert_int_equal(loops->second_f64(a.n, a.g, a.down, fi, k64 + shift, kii, diagonal + shift, &far), got);
    }
}

TEST(test_second)
{
    check_second(true);
    check_second(false);
}

/* A curvature of 0 or less counts as tau: such an entry wins over any other of the same slope. */
TEST(test_second_without_curvature)
{
    double g[200], down[200], k[200];
    float diagonal[200];
    for (size_t at = 0; at < 200; at++) {
        for (size_t j = 0; j < 200; j++)
            g[j] = 1, down[j] = 0, k[j] = 0, diagonal[j] = 1;
        k[at] = at % 2 == 0 ? 1 : 3; /* 1 + 1 - 2 k = 0 or -4 */
        assert_int_equal(loops->second_f64(200, g, down, 0, k, 1, diagonal, &unit), at);
    }
    assert_int_equal(loops->second_f64(200, g, down, 1, k, 1, diagonal, &unit), 200); /* b = 0 is not positive */
}

/* Where values of K are so large that their tau is next to nothing in units of them, slopes rank entries without
 * curvature: the gains of all of them are no infinity. */
TEST(test_second_of_large_values)
{
    const struct hg_unit large = { 1, 0x1p-110, HG_TAU * 0x1p-110 };
    double g[200], down[200], k64[200];
    float g32[200], down32[200], k32[200], diagonal[200];
    for (size_t at = 0; at < 200; at++) {
        for (size_t j = 0; j < 200; j++) {
            g[j] = g32[j] = j == at ? 1.5F : 1;
            down[j] = down32[j] = 0;
            k64[j] = 0x1p110;
            k32[j] = diagonal[j] = 1;
        }
        assert_int_equal(loops->second_f64(200, g, down, 0, k64, 0x1p110, diagonal, &large), at);
        assert_int_equal(loops->second_narrow(200, g32, down32, 0, k32, 1, diagonal, large.tau), at);
    }
}

/* ---- in f32 ---------------------------------------------------------------------------------------------- */

static void to_narrow(float *to, const double *from, size_t n)
{
    for (size_t j = 0; j < n + GUARD; j++)
        to[j] = j < n ? (float)from[j] : 4711;
}

/* Steps and choices in f32 against plain loops; where values are whole numbers all is exact, ties too. */
TEST(test_narrow)
{
    static struct arrays a;
    static float g32[ROOM], up32[ROOM], down32[ROOM], ki[ROOM], kj[ROOM], diagonal[ROOM];
    uint64_t seed = 8;
    for (int round = 0; round < ROUNDS; round++) {
        bool coarse = round % 2 == 0;
        draw(&a, &seed, coarse, 0.1 * (round % 11));
        size_t shift = hg_random_below(&seed, SHIFT);
        float *g = g32 + shift, *up = up32 + shift, *down = down32 + shift;
        to_narrow(g, a.g, a.n);
        to_narrow(up, a.up, a.n);
        to_narrow(down, a.down, a.n);
        for (size_t j = 0; j < a.n; j++) {
            ki[j] = coarse ? (float)hg_random_below(&seed, 2) / 2 : (float)between(&seed, -0.9, 0.9);
            kj[j] = coarse ? (float)hg_random_below(&seed, 2) / 2 : (float)between(&seed, -0.9, 0.9);
            diagonal[j] = coarse ? 1 : (float)between(&seed, 1, 2);
        }
        double step = coarse ? 2 : between(&seed, -1, 1), fi = coarse ? -1 : between(&seed, -4, 2);
        struct hg_extremes e = loops->step_narrow(a.n, g, step, ki, -step, kj, up, down);
        struct hg_extremes want = { INFINITY, -INFINITY, a.n, a.n, 0 };
        for (size_t j = 0; j < a.n; j++) {
            double now = a.g[j] + step * ((double)ki[j] - (double)kj[j]);
            assert_true(fabs((double)g[j] - now) <= (coarse ? 0 : 1e-6));
            if ((double)(g[j] + up[j]) < want.low)
                want.low = (double)(g[j] + up[j]), want.i_low = j;
            want.high = HG_MAX(want.high, (double)(g[j] + down[j]));
        }
        assert_true(e.low == want.low && e.high == want.high && e.nan == 0);
        assert_int_equal(e.i_low, want.i_low);
        e = loops->scan_narrow(a.n, g, up, down);
        assert_true(e.low == want.low && e.high == want.high && e.i_low == want.i_low);
        size_t got = loops->second_narrow(a.n, g, down, fi, ki, 1, diagonal, HG_TAU), best_at = a.n;
        long double best = 0, of_got = 0;
        for (size_t j = 0; j < a.n; j++) {
            long double w = gain((double)(g[j] + down[j]) - fi, 1, (double)ki[j], (double)diagonal[j]);
            if (w > best * (coarse ? 1.01L : 1))
                best = w, best_at = j;
            of_got = j == got ? w : of_got;
        }
        assert_true(best_at == a.n ? got == a.n : got < a.n && of_got >= best * (1 - 0.01L));
        if (coarse) /* gains are quarters of whole numbers, and equal ones are the first's */
            assert_int_equal(got, best_at);
        for (size_t j = a.n; j < a.n + GUARD; j++)
            assert_true(g[j] == 4711);
    }
}

/* ---- below ----------------------------------------------------------------------------------------------- */

TEST(test_below)
{
    static struct arrays a;
    static uint32_t got[MAX_N + GUARD];
    uint64_t seed = 7;
    for (int round = 0; round < ROUNDS; round++) {
        draw(&a, &seed, round % 2 == 0, 0.1 * (round % 11));
        double sign = round % 3 == 0 ? -1 : 1;
        double bound = round % 5 == 0 ? INFINITY : (double)hg_random_below(&seed, 5) - 2;
        const double *off = sign < 0 ? a.down : a.up;
        size_t cap = round % 4 == 0 ? hg_random_below(&seed, 20) : MAX_N, want = 0;
        memset(got, 0xA5, sizeof got);
        size_t count = loops->below(a.n, a.g, off, sign, bound, got, cap);
        for (size_t j = 0; j < a.n && want < cap; j++)
            if (sign * (a.g[j] + off[j]) < bound)
                assert_int_equal(got[want++], j);
        assert_int_equal(count, want);
        for (size_t j = cap; j < MAX_N + GUARD; j++)
            assert_int_equal(got[j], 0xA5A5A5A5);
    }
}

int main(void)
{
    static const char *const levels[] = { "plain", "v2", "v3", "v4" };
    int best = hg_cpu_level(0), failed = 0;
    for (int level = 1; level <= 4; level++) {
        loops = hg_loops(level);
        if (level > best || (level > 1 && loops == hg_loops(1))) {
            print_message("level %s: not run here\n", levels[level - 1]);
            continue;
        }
        print_message("level %s:\n", levels[level - 1]);
        failed += run_program(NULL);
    }
    return failed;
}
