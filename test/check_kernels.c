/*
 * Kernel maps against long double, slot by slot: every level this processor runs x kind x number type, with
 * random lengths, misalignments, guard entries around the output, in place and out of place, and special
 * numbers.
 *
 * A map works in its own type with unit eps, so what is allowed is the error of its input arithmetic, carried
 * through the derivative, plus a fixed number of ulps for the function itself. For the RBF kernel
 *   |K - K_ref| <= 2 ulp + K gamma eps (norm + norms + |dot|), without FMA K gamma d2 eps more
 * and with norm = norms = 0, where d2 is exact, 2 ulp alone.
 *
 *   check_kernels           one line a slot; levels that this processor or build lacks are skipped by name
 *   check_kernels --bench   medians, by level: maps, ns an entry, n = 512, out of place; inner SMO steps, ns, on a
 *                           random RBF block of q points (the solution is checked), in f32, in f64 on f32 rows, and
 *                           in f64; updates of the gradient by rows in memory, ns a value and GB/s;
 *                           counts of 14 features of 123, and what is made of them; rows of kernel values by GEMM and
 *                           by panels of 64 to 4,096 features
 */
#include "kernels/gram.h"
#include "lib/base/base.h"
#include "solver/smo/inner.h"
#include "test/support.h"

#include <float.h>

enum { MAX_N = 600, GUARD = 16, SHIFT = 16, ROOM = MAX_N + SHIFT + 2 * GUARD, ROUNDS = 300 };
enum { SAMPLES = 101, REPEATS = 50, BENCH_N = 512 };
enum { RUNS = 9, FEATURES = 8, BENCH_ROWS = 256, COLUMNS = 1 << 17, TILE = 2048 };

#define WORD(name, NAME, factor) #name,
#define TYPE(name, NAME, factor) HINGE_##NAME,
static const char *const kind_names[] = { HG_MAPS(WORD) };
static const hinge_kernel_type kinds[] = { HG_MAPS(TYPE) };
enum { KINDS = sizeof kinds / sizeof *kinds };
static const char *const level_names[] = { "", "plain", "v2", "v3", "v4" };

/* One number type at one level, values kept as double outside of the map. */
struct slot {
    const struct hg_maps *maps;
    int level;
    bool f32;
    double eps; /* the distance from 1 to the next number */
    int kind; /* place in kinds */
};

static double to_type(const struct slot *s, double x)
{
    return s->f32 ? (double)(float)x : x;
}

static double between(uint64_t *state, double low, double high)
{
    return low + (high - low) * (double)(hg_random(state) >> 11) * 0x1p-53;
}

/* Guard bytes 0xA5 everywhere, then runs the slot on numbers of its own type; out and the guards are checked.
 */
static void run(const struct slot *s, const hinge_kernel *args, size_t n, const double *dot, double *out,
                double norm, const double *norms, size_t shift, bool in_place)
{
    static _Alignas(64) unsigned char in[ROOM * 8], to[ROOM * 8], nn[ROOM * 8];
    size_t size = s->f32 ? 4 : 8, start = (GUARD + shift) * size;
    unsigned char *input = (in_place ? to : in) + start;
    memset(to, 0xA5, sizeof to);
    for (size_t j = 0; j < n; j++) {
        float d = (float)dot[j], z = norms ? (float)norms[j] : 0;
        memcpy(input + j * size, s->f32 ? (void *)&d : (const void *)(dot + j), size);
        if (norms != NULL) /* another misalignment */
            memcpy(nn + start + (3 + j) * size, s->f32 ? (void *)&z : (const void *)(norms + j), size);
    }
    void *z = norms ? nn + start + 3 * size : NULL;
    hinge_kernel kernel = *args;
    kernel.type = kinds[s->kind];
    s->maps->map[s->f32 ? HINGE_F32 : HINGE_F64](&kernel, n, input, to + start, norm, z);
    for (size_t i = 0; i < sizeof to; i++)
        if (i < start || i >= start + n * size)
            assert_int_equal(to[i], 0xA5);
    for (size_t j = 0; j < n; j++) {
        float f;
        memcpy(&f, to + start + j * size, sizeof f);
        if (s->f32)
            out[j] = (double)f;
        else
            memcpy(out + j, to + start + j * size, sizeof *out);
    }
}

static long double power(long double x, int degree)
{
    long double p = 1;
    for (int i = 0; i < degree; i++)
        p *= x;
    return p;
}

static long double ulps(const struct slot *s, double got, long double want)
{
    int exponent;
    (void)frexpl(want, &exponent);
    return fabsl(got - want) / ldexpl(s->eps, exponent - 1);
}

/* The value, and in *allowed the error a map may make. */
static long double reference(const struct slot *s, const hinge_kernel *a, double dot, double norm,
                             double nj, long double *allowed)
{
    long double eps = s->eps, g = a->gamma, product = g * dot, u = product + a->coef0;
    long double spread = eps * (fabsl(product) + fabsl(a->coef0 / 2.0L) + fabsl(u) / 2), value = dot;
    *allowed = 0;
    if (kinds[s->kind] == HINGE_POLYNOMIAL) {
        value = a->degree == 0 && isnan(u) ? u : power(u, a->degree);
        if (a->degree > 0)
            *allowed = a->degree * (power(fabsl(u) + spread, a->degree - 1) * spread + eps / 2 * fabsl(value));
        *allowed += s->f32 ? FLT_MIN : DBL_MIN;
    } else if (kinds[s->kind] == HINGE_RBF) {
        long double d2 = (long double)norm + nj - 2.0L * dot;
        d2 = d2 < 0 ? 0 : d2;
        value = g > 0 ? expl(-g * d2) : isnan(d2) ? d2 : 1;
        spread = norm + nj > 0 ? g * eps * (norm + nj + fabsl((long double)dot)) : 0;
        if (s->level < 3)
            spread += g * d2 * eps;
        int exponent;
        (void)frexpl(value, &exponent);
        *allowed = 2 * ldexpl(eps, exponent - 1) + value * expm1l(spread);
        if (value < (s->f32 ? 0x1.7p-126L : 0x1.7p-1022L)) /* may be taken for 0 */
            *allowed = s->f32 ? 0x1.7p-126L : 0x1.7p-1022L;
    } else if (kinds[s->kind] == HINGE_TANIMOTO) {
        long double share = fminl(1, fmaxl(0, dot));
        value = isnan(dot) ? dot : (1 - share) / (1 + share);
        *allowed = 2 * eps * value;
    } else if (kinds[s->kind] == HINGE_LAPLACIAN || kinds[s->kind] == HINGE_CHI2) {
        long double sum = dot > 0 ? dot : isnan(dot) ? dot : 0;
        value = g > 0 ? expl(-g * sum) : isnan(sum) ? sum : 1;
        *allowed = (4 + (s->level < 3 ? 2 * g * sum : 0)) * eps * value + (s->f32 ? 0x1.7p-126L : 0x1.7p-1022L);
    } else if (kinds[s->kind] == HINGE_MATERN32 || kinds[s->kind] == HINGE_MATERN52) {
        long double d2 = (long double)norm + nj - 2.0L * dot, t = g * (d2 < 0 ? 0 : d2), r = sqrtl(t);
        long double lost = g * eps * (norm + nj + fabsl((long double)dot)) / 2; /* the slope along t is at most 1/2 */
        bool is_32 = kinds[s->kind] == HINGE_MATERN32;
        value = isnan(d2) ? d2 : isinf(r) ? 0 : (is_32 ? 1 + r : 1 + r + t / 3) * expl(-r);
        *allowed = lost + (4 + 2 * r) * eps * value + (s->f32 ? 0x1.7p-120L : 0x1.7p-1014L);
    } else if (kinds[s->kind] == HINGE_SIGMOID) {
        value = tanhl(u);
        *allowed = fminl(4, 128 * fabsl(value)) * eps + spread * (1 - value * value) + spread * spread +
                   (s->f32 ? FLT_MIN : DBL_MIN);
    }
    return value;
}

/* The error as a fraction of the allowed one; 0 where NaN or infinity is as it should be, else infinity. */
static long double compare(const struct slot *s, const hinge_kernel *a, double got, double dot,
                           double norm, double nj)
{
    long double allowed, want = reference(s, a, dot, norm, nj, &allowed);
    long double most = s->f32 ? FLT_MAX : DBL_MAX;
    if (isnan(want))
        return isnan(got) ? 0 : INFINITY;
    if (fabsl(want) > most)
        return isinf(got) && (got > 0) == (want > 0) ? 0 : fabsl(want) - allowed > most ? INFINITY : 0;
    if (isinf(got))
        return fabsl(want) + allowed > most ? 0 : INFINITY;
    long double error = fabsl(got - want);
    return error > 0 ? error / allowed : error == 0 ? 0 : INFINITY;
}

static void expect(const struct slot *s, const hinge_kernel *a, size_t n, const double *dot,
                   const double *out, double norm, const double *norms, long double *worst)
{
    for (size_t j = 0; j < n; j++) {
        long double share = compare(s, a, out[j], dot[j], norm, norms ? norms[j] : 0);
        if (!(share <= 1))
            fail_msg(
                "%s %s f%d [%zu of %zu]: gamma %g coef0 %g degree %d dot %.17g norms %.17g %.17g gives %.17g",
                s->maps->level, kind_names[s->kind], s->f32 ? 32 : 64, j, n, a->gamma, a->coef0, a->degree,
                dot[j], norm, norms ? norms[j] : 0, out[j]);
        *worst = HG_MAX(*worst, share);
    }
}

static double dot_[MAX_N], out_[MAX_N], again[MAX_N], norms_[MAX_N];

/* The norms, for maps of kernels that need them. */
static const double *norms_of(const struct slot *s)
{
    return hg_kernel_row(kinds[s->kind])->of_distance ? norms_ : NULL;
}

/* Random numbers: values, guards, in place, and that an entry's bits do not depend on where it stands. */
static void check_random(const struct slot *s, uint64_t *state, long double *worst)
{
    static const int degrees[] = { 0, 1, 2, 3, 7, 20 };
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = round < 70 ? (size_t)round : hg_random_below(state, MAX_N + 1);
        hinge_kernel a = { .gamma = pow(10, between(state, -4, 2)),
                                 .coef0 = round % 5 == 0 ? 0 : between(state, -1, 1),
                                 .degree = degrees[hg_random_below(state, 6)] };
        if (round % 17 == 0)
            a.gamma = 0;
        double norm = to_type(s, between(state, 0, 4)), reach = pow(10, between(state, -3, 2)) / (a.gamma + 1e-3);
        for (size_t j = 0; j < n; j++) {
            norms_[j] = to_type(s, between(state, 0, 4));
            double d2 = between(state, -1e-7, reach);
            dot_[j] = to_type(s, kinds[s->kind] == HINGE_RBF ? (norm + norms_[j] - d2) / 2
                                                             : between(state, -reach, reach));
        }
        const double *norms = norms_of(s);
        run(s, &a, n, dot_, out_, norm, norms, hg_random_below(state, SHIFT - 3), false);
        expect(s, &a, n, dot_, out_, norm, norms, worst);
        run(s, &a, n, dot_, again, norm, norms, hg_random_below(state, SHIFT - 3), true);
        assert_memory_equal(out_, again, n * sizeof *out_);
        size_t skip = hg_random_below(state, n + 1);
        run(s, &a, n - skip, dot_ + skip, again, norm, norms ? norms + skip : NULL, 1, false);
        assert_memory_equal(out_ + skip, again, (n - skip) * sizeof *out_);
    }
}

/* Exact squared distances: the exponential alone, over its whole range. Returns the largest error in ulps. */
static long double check_exponential(const struct slot *s, uint64_t *state, long double *worst)
{
    long double most = 0;
    memset(norms_, 0, sizeof norms_);
    for (int round = 0; round < ROUNDS; round++) {
        hinge_kernel a = { .gamma = pow(10, between(state, -6, 6)) };
        double reach = (round % 2 ? 1 : s->f32 ? 86.9 : 708) / a.gamma;
        for (size_t j = 0; j < MAX_N; j++)
            dot_[j] = to_type(s, -0.5 * between(state, 0, reach));
        run(s, &a, MAX_N, dot_, out_, 0, norms_, 0, false);
        expect(s, &a, MAX_N, dot_, out_, 0, norms_, worst);
        for (size_t j = 0; j < MAX_N; j++)
            most = HG_MAX(most, ulps(s, out_[j], expl((long double)a.gamma * dot_[j] * 2)));
    }
    return most;
}

static void check_special(const struct slot *s, long double *worst)
{
    static const double dots[] = { 0,     -0.0, 1,    -1,   1e-30, -1e-30,   0.5, 50,    -50,   -500,     5000,
                                   -5000, 1e9,  -1e9, 1e30, -1e30, INFINITY, NAN, -1e35, 1e-45, -INFINITY };
    static const double gammas[] = { 0, 1e-30, 1e-3, 0.5, 1, 1000, 1e20 };
    static const double shifts[] = { 0, 1, -1, 1e10 };
    static const int degrees[] = { 0, 1, 2, 3, 7, 20 };
    enum { COUNT = sizeof dots / sizeof *dots };
    for (size_t k = 0; k < 7 * 4 * 6; k++) {
        hinge_kernel a = { .gamma = gammas[k % 7],
                                 .coef0 = shifts[k / 7 % 4],
                                 .degree = degrees[k / 28] };
        for (size_t j = 0; j < COUNT; j++) {
            dot_[j] = to_type(s, dots[j]);
            norms_[j] = 1;
        }
        run(s, &a, COUNT, dot_, out_, 1, norms_of(s), 1, false);
        expect(s, &a, COUNT, dot_, out_, 1, norms_of(s), worst);
        run(s, &a, COUNT, dot_, out_, NAN, norms_of(s), 1, false);
        for (size_t j = 0; kinds[s->kind] == HINGE_RBF && j < COUNT; j++)
            assert_true(isnan(out_[j]));
    }
    hinge_kernel a = { .gamma = 3 };
    for (size_t j = 0; j < MAX_N; j++) { /* identical points whose dot product was rounded up */
        norms_[j] = 7;
        dot_[j] = 7 * (1 + (double)(j % 5) * s->eps);
    }
    run(s, &a, MAX_N, dot_, out_, 7, norms_, 0, false);
    for (size_t j = 0; kinds[s->kind] == HINGE_RBF && j < MAX_N; j++)
        assert_true(out_[j] == 1);
}

static void check_slots(void **state)
{
    const struct slot *which = *state;
    const struct hg_maps *maps = hg_maps(which->level);
    if (hg_cpu_level(which->level) != which->level || strcmp(maps->level, level_names[which->level]) != 0)
        skip_because("not built, or not run by this processor");
    for (int kind = 0; kind < KINDS; kind++) {
        struct slot s = *which;
        s.maps = maps;
        s.kind = kind;
        long double worst = 0, exact = 0;
        uint64_t seed = 20240601;
        check_random(&s, &seed, &worst);
        check_special(&s, &worst);
        if (kinds[kind] == HINGE_RBF)
            exact = check_exponential(&s, &seed, &worst);
        print_message("%-5s %-10s f%d: error %.3f of what is allowed", maps->level, kind_names[kind],
                      s.f32 ? 32 : 64, (double)worst);
        if (kinds[kind] == HINGE_RBF)
            print_message(", %.2f ulp where the distance is exact", (double)exact);
        print_message("\n");
    }
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, ascending);
    return values[n / 2];
}

/* A C-SVC block from beta = 0: q random points of two classes, g = 0, off = -y, 0 <= y beta <= C. */
static void draw_block(struct hg_inner *in, size_t q, uint64_t *state)
{
    static double x[2048][FEATURES];
    in->qp.n = q;
    for (size_t i = 0; i < q; i++) {
        double y = i % 2 ? 1 : -1, c = 10;
        for (size_t k = 0; k < FEATURES; k++)
            x[i][k] = between(state, -1, 1) + (k == 0 ? 0.3 * y : 0);
        in->qp.beta[0][i] = in->g[i] = 0;
        in->qp.off[0][i] = -y;
        in->qp.lo[0][i] = y > 0 ? 0 : -c;
        in->qp.hi[0][i] = y > 0 ? c : 0;
        in->diagonal[i] = 1;
        for (size_t j = 0; j <= i; j++) {
            double d2 = 0;
            for (size_t k = 0; k < FEATURES; k++)
                d2 += (x[i][k] - x[j][k]) * (x[i][k] - x[j][k]);
            size_t at = i * in->ld + j, mirror = j * in->ld + i;
            if (in->type == HINGE_F32)
                ((float *)in->k)[at] = ((float *)in->k)[mirror] = (float)exp(-0.5 * d2);
            else
                ((double *)in->k)[at] = ((double *)in->k)[mirror] = exp(-0.5 * d2);
        }
    }
}

/* The violation of beta, from K in plain loops; infinite where beta leaves its box or its sum is not 0. */
static double block_violation(const struct hg_inner *in)
{
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (size_t i = 0; i < in->qp.n; i++) {
        double f = in->qp.off[0][i], b = in->qp.beta[0][i];
        for (size_t j = 0; j < in->qp.n; j++) {
            size_t at = i * in->ld + j;
            f += (in->type == HINGE_F32 ? (double)((float *)in->k)[at] : ((double *)in->k)[at]) * in->qp.beta[0][j];
        }
        low = b < in->qp.hi[0][i] ? HG_MIN(low, f) : low;
        high = b > in->qp.lo[0][i] ? HG_MAX(high, f) : high;
        sum += b;
        if (!(b >= in->qp.lo[0][i] && b <= in->qp.hi[0][i]))
            return INFINITY;
    }
    return fabs(sum) > 1e-9 * (double)in->qp.n ? INFINITY : high - low;
}

/* Steps in f32 are made down to 2e-5 of the largest |F|, 1 here: eps says whether they are. */
static bool bench_inner(int level)
{
    static const struct {
        const char *name;
        hinge_dtype type;
        double eps;
    } kinds[] = { { "f32", HINGE_F32, 1e-2 }, { "f32, sums in f64", HINGE_F32, 1e-5 }, { "f64", HINGE_F64, 1e-2 } };
    static const size_t sizes[] = { 64, 256, 1024, 2048 };
    bool right = true;
    for (size_t c = 0; c < 12; c++) {
        hinge_dtype type = kinds[c / 4].type;
        double eps = kinds[c / 4].eps, time[RUNS];
        struct hg_inner in;
        struct hg_inner_result result = { 0 };
        uint64_t seed = 7;
        if (hg_inner_init(&in, sizes[c % 4], &(struct hg_qp){ .layers = 1 }, type, hg_loops(level), NULL) != HINGE_OK)
            return false;
        draw_block(&in, sizes[c % 4], &seed);
        for (int run_no = 0; run_no < RUNS; run_no++) {
            int repeats = sizes[c % 4] < 1024 ? 20 : 1;
            double seconds = 0;
            uint64_t steps = 0;
            for (int k = 0; k < repeats; k++) {
                memset(in.g, 0, in.qp.n * sizeof *in.g);
                memset(in.qp.beta[0], 0, in.qp.n * sizeof *in.qp.beta[0]);
                double start = hg_now();
                result = hg_inner_solve(&in, eps, 0, false, UINT64_MAX);
                seconds += hg_now() - start;
                steps += result.steps;
            }
            time[run_no] = seconds / (double)steps * 1e9;
        }
        double violation = block_violation(&in);
        printf("%-5s step, %-16s q %4zu: %.0f ns, %zu steps\n", level_names[level], kinds[c / 4].name, sizes[c % 4],
               median(time, RUNS), (size_t)result.steps);
        if (!(violation <= 1.01 * eps)) {
            printf("wrong: violation %g, %g was to be reached\n", violation, eps);
            right = false;
        }
        hg_inner_free(&in);
    }
    return right;
}

/* One thread's updates as the solver makes them: a tile of columns of all rows, eight at a time. */
static void sweep(const struct hg_loops *loops, size_t size, const char *rows, const double *coef, double *g)
{
    for (size_t at = 0; at < COLUMNS; at += TILE)
        for (size_t r = 0; r < BENCH_ROWS; r += 8) {
            const void *row[8];
            for (size_t k = 0; k < 8; k++)
                row[k] = rows + ((r + k) * COLUMNS + at) * size;
            hg_add_rows(&loops->add, size == sizeof(float) ? HINGE_F32 : HINGE_F64, 8, coef, row, TILE, g + at);
        }
}

/* Rows of random values; more than a processor's caches hold. */
static bool bench_rows(void)
{
    const size_t values = (size_t)BENCH_ROWS * COLUMNS;
    char *rows = hg_alloc(values, sizeof(double));
    double *g = hg_zalloc(COLUMNS, sizeof *g), coef[8], time[RUNS];
    uint64_t seed = 3;
    bool room = rows != NULL && g != NULL;
    for (size_t k = 0; k < 8; k++)
        coef[k] = between(&seed, -1, 1);
    for (size_t size = sizeof(float); size <= sizeof(double) && room; size *= 2) {
        for (size_t k = 0; k < values; k++)
            hg_put(rows, size == sizeof(float) ? HINGE_F32 : HINGE_F64, k, between(&seed, 0, 1));
        for (int level = 1; level <= hg_cpu_level(0); level++) {
            sweep(hg_loops(level), size, rows, coef, g); /* memory is there afterwards */
            for (int i = 0; i < RUNS; i++) {
                double start = hg_now();
                sweep(hg_loops(level), size, rows, coef, g);
                time[i] = (hg_now() - start) / (double)values * 1e9;
            }
            double ns = median(time, RUNS);
            printf("%-5s add_rows_f%zu %.3f ns a value, %.1f GB/s\n", level_names[level], 8 * size, ns,
                   (double)size / ns);
        }
    }
    hg_free(rows);
    hg_free(g);
    return room;
}

/* 64 points of 123 features of two values, 14 of them the rarer one, against 128: in L1, as the solver does it. */
static bool bench_counts(void)
{
    enum { POINTS = HG_COUNT_COLS, D = 123, LISTED = 14 };
    static const char *const names[] = { "counts", "add_codes", "add wide", "decode" };
    static _Alignas(64) uint8_t panel[(D + 2) * HG_COUNT_COLS], counts[HG_COUNT_ROWS * HG_COUNT_COLS];
    static double x[POINTS * D], g[HG_COUNT_COLS], coef[HG_COUNT_ROWS];
    static float out[HG_COUNT_COLS];
    uint32_t ids[POINTS];
    uint64_t seed = 5;
    struct hg_codes codes;
    struct hg_points points = { .x = hinge_matrix_f64(x, POINTS, D), .n = POINTS };
    for (uint32_t i = 0; i < POINTS; i++) {
        ids[i] = i;
        for (size_t k = 0; k < LISTED; k++)
            x[i * D + k * 8 + hg_random_below(&seed, 8)] = 1;
    }
    for (size_t c = 0; c < 16; c++) {
        codes.high[c] = c < 7 ? exp(-8.0 * (double)c) : 0;
        codes.low[c] = exp(-0.5 * (double)c);
        codes.high32[c] = (float)codes.high[c];
        codes.low32[c] = (float)codes.low[c];
    }
    for (size_t r = 0; r < HG_COUNT_ROWS; r++)
        coef[r] = between(&seed, -1, 1);
    struct hg_hamming h;
    struct hg_left left = { .origin = { &points, ids, 0 } };
    struct hg_right right = { .count = POINTS, .origin = { &points, ids, 0 } };
    points.hamming = &h;
    if (hg_hamming_init(&h, &points, 2, NULL) != HINGE_OK ||
        hg_by_counts.right_bytes(NULL, &points, POINTS) > sizeof panel)
        return false;
    char *memory = hg_alloc(1, hg_by_counts.lay_left(NULL, &points, HG_COUNT_ROWS, NULL, &left));
    if (memory == NULL)
        return false;
    hg_by_counts.lay_left(NULL, &points, HG_COUNT_ROWS, memory, &left);
    for (uint32_t r = 0; r < HG_COUNT_ROWS; r++)
        hg_by_counts.set_left(NULL, &left, r, NULL);
    hg_by_counts.set_right(NULL, &right, panel, NULL);
    for (int level = HG_COUNTS_LEVEL; level <= hg_cpu_level(0); level++)
        for (int which = 0; which < 4; which++) {
            const struct hg_maps *maps = hg_maps(level);
            double time[SAMPLES];
            for (int i = 0; i < SAMPLES; i++) {
                double start = hg_now();
                for (int n = 0; n < REPEATS; n++)
                    if (which == 0)
                        maps->counts(&left.gathered, 0, HG_COUNT_ROWS, panel, counts);
                    else if (which < 3)
                        maps->add_codes(HG_COUNT_ROWS, coef, which == 1, &codes, counts, HG_COUNT_COLS, g);
                    else
                        for (size_t r = 0; r < HG_COUNT_ROWS; r++)
                            maps->decode(&codes, counts + r * HG_COUNT_COLS, HG_COUNT_COLS, out);
                time[i] = (hg_now() - start) / REPEATS / sizeof counts * 1e9;
            }
            printf("%-5s %-13s %.3f ns a value\n", level_names[level], names[which], median(time, SAMPLES));
        }
    hg_free(memory);
    hg_hamming_free(&h);
    return true;
}

static void bench_maps(void)
{
    static _Alignas(64) float d32[BENCH_N], o32[BENCH_N], n32[BENCH_N];
    static _Alignas(64) double d64[BENCH_N], o64[BENCH_N], n64[BENCH_N];
    hinge_kernel a = { .gamma = 0.5, .coef0 = 0.1, .degree = 3 };
    uint64_t seed = 1;
    for (size_t j = 0; j < BENCH_N; j++) {
        d32[j] = (float)(d64[j] = between(&seed, -1, 1));
        n32[j] = (float)(n64[j] = 2);
    }
    for (int level = 1; level <= hg_cpu_level(0); level++)
        for (int slot = 0; slot < 2 * KINDS; slot++) {
            const struct hg_maps *maps = hg_maps(level);
            int kind = slot % KINDS;
            double time[SAMPLES];
            for (int i = 0; i < SAMPLES; i++) {
                double start = hg_now();
                a.type = kinds[kind];
                for (int r = 0; r < REPEATS; r++)
                    if (slot < KINDS)
                        maps->map[HINGE_F32](&a, BENCH_N, d32, o32, 2, n32);
                    else
                        maps->map[HINGE_F64](&a, BENCH_N, d64, o64, 2, n64);
                time[i] = (hg_now() - start) / REPEATS / BENCH_N * 1e9;
            }
            printf("%-5s %-10s f%d: %.3f ns\n", maps->level, kind_names[kind], slot < KINDS ? 32 : 64,
                   median(time, SAMPLES));
        }
}

/* Rows of n dense points by one maker, fetched again and again as a training does: ns a value. */
static double time_of_rows(const struct hg_points *points, hinge_maker asked, hinge_dtype type, size_t rows)
{
    const size_t n = points->n, d = points->x.cols;
    struct hg_tiler tiler = { { .type = HINGE_RBF, .gamma = 1 / (double)d }, hg_maps(hg_cpu_level(0)), type, d,
                              .asked = asked };
    struct hg_gram gram;
    double time[RUNS], *norms = hg_alloc(n, sizeof *norms);
    uint32_t *left = hg_alloc(rows, sizeof *left);
    hg_points_norms(points, type, norms, 1);
    if (hg_gram_init(&gram, &tiler, points, NULL, n, NULL, norms, 1, NULL) != HINGE_OK)
        return NAN;
    for (size_t r = 0; r < rows; r++)
        left[r] = (uint32_t)(r * 7 % n);
    for (int i = -1; i < RUNS; i++) { /* columns are gathered, and memory is there, before the clock runs */
        double start = hg_now();
        hg_rows_fill(&gram.super, left, rows, NULL, n, NULL, &(struct hg_how){ .list = 1 });
        if (i >= 0)
            time[i] = (hg_now() - start) / (double)(rows * n) * 1e9;
    }
    hg_gram_free(&gram);
    hg_free(left);
    hg_free(norms);
    return median(time, RUNS);
}

/* GEMM and panels by the number of features, for rows as many as a round of a small and of a large training makes:
 * what the rule of cost.c rests on. */
static bool bench_makers(void)
{
    enum { POINTS = 2048, MOST = 4096 };
    static const size_t features[] = { 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, MOST };
    static const size_t many[] = { 32, 128, 512 };
    float *x = hg_alloc(POINTS * (size_t)MOST, sizeof *x);
    double *wide = hg_alloc(POINTS * (size_t)MOST, sizeof *wide);
    uint64_t seed = 11;
    if (x == NULL || wide == NULL)
        return false;
    for (size_t k = 0; k < POINTS * (size_t)MOST; k++)
        x[k] = (float)(wide[k] = between(&seed, -1, 1));
    for (int wider = 0; wider < 2; wider++)
        for (size_t f = 0; f < sizeof features / sizeof *features; f++)
            for (size_t m = 0; m < sizeof many / sizeof *many; m++) {
                size_t d = features[f];
                hinge_matrix data = wider ? hinge_matrix_f64(wide, POINTS, d) : hinge_matrix_f32(x, POINTS, d);
                struct hg_points points = { .x = data, .n = POINTS, .nonzeros = (double)d };
                hinge_dtype type = wider ? HINGE_F64 : HINGE_F32;
                double gemm = time_of_rows(&points, HINGE_MAKER_GEMM, type, many[m]);
                double panels = time_of_rows(&points, HINGE_MAKER_PANELS, type, many[m]);
                printf("%s d %4zu, %3zu rows: gemm %.2f ns a value, %.0f GFLOP/s; panels %.2f, %.0f; %.2f\n",
                       wider ? "f64" : "f32", d, many[m], gemm, 2 * (double)d / gemm, panels, 2 * (double)d / panels,
                       gemm / panels);
            }
    hg_free(x);
    hg_free(wide);
    return true;
}

static bool bench(void)
{
    bool right = bench_makers();
    bench_maps();
    for (int level = 1; level <= hg_cpu_level(0); level++)
        right = bench_inner(level) && right;
    return bench_counts() && bench_rows() && right;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0)
        return bench() ? EXIT_SUCCESS : EXIT_FAILURE;
    static struct slot slots[8];
    static const char *const names[] = { "plain f32", "plain f64", "v2 f32", "v2 f64",
                                         "v3 f32",    "v3 f64",    "v4 f32", "v4 f64" };
    for (int i = 0; i < 8; i++) {
        slots[i].level = 1 + i / 2;
        slots[i].f32 = i % 2 == 0;
        slots[i].eps = slots[i].f32 ? FLT_EPSILON : DBL_EPSILON;
        add_test(i, (struct CMUnitTest){ names[i], check_slots, NULL, give_back, slots + i });
    }
    return run_program(NULL);
}
