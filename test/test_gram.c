/*
 * Gram blocks against the scalar definition of each kernel in long double: every row of the kernel table, both
 * working types, both types of the data, strides, order, factor, shift, subset, lists of columns, and row and
 * column counts around the tiles' edges.
 *
 * The reference takes the vectors as they are rounded to the working type and bounds what GEMM may lose, d eps
 * sum |x_c z_c|, carried through the kernel's derivative. Apart from the values: every (row, column) comes to
 * the callback once, ascending in row0 within a range of columns; what it sees is what is kept; the bits do not
 * depend on the number of threads; nothing is written beside the rows asked for.
 */
#include "test/tests.h"
#include "kernels/gram.h"
#include "solver/smo/loops.h"

#include <float.h>
#include <omp.h>

enum { POINTS = 1400, PAD = 5, CHECKED = 6000 };

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* A source of rows with all that it borrows. */
struct source {
    struct hg_gram gram;
    void *data, *norms;
    double *shift, *factor;
    uint32_t *order, *subset, *column;
    int calls_left; /* of the user's kernel; negative: no limit */
};

/* (1 + <a,b>)^2 - sum |a_c - b_c|: no function of the dot product alone */
static int user_kernel(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    int *left = cookie;
    if (__atomic_load_n(left, __ATOMIC_RELAXED) >= 0 && __atomic_fetch_sub(left, 1, __ATOMIC_RELAXED) <= 0)
        return 3;
    if (a->type != HINGE_F64 || b->type != HINGE_F64 || a->cols != b->cols)
        return 4;
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < b->rows; j++) {
            const double *x = (const double *)a->data + i * a->stride,
                         *z = (const double *)b->data + j * b->stride;
            double dot = 0, distance = 0;
            for (size_t c = 0; c < a->cols; c++)
                dot += x[c] * z[c], distance += fabs(x[c] - z[c]);
            out[i * ld + j] = (1 + dot) * (1 + dot) - distance;
        }
    return 0;
}

static double unit(uint64_t *seed)
{
    return (double)(hg_random(seed) >> 11) * 0x1p-52 - 1;
}

static uint32_t *shuffled(uint64_t *seed, size_t n)
{
    uint32_t *list = malloc(n * sizeof *list);
    for (size_t i = 0; i < n; i++) {
        size_t at = hg_random_below(seed, i + 1);
        list[i] = list[at];
        list[at] = (uint32_t)i;
    }
    return list;
}

/* 2 k + l m of other kernels, of which the first has one column alone. */
static const hinge_kernel_part parts[] = {
    { .kernel = { .type = HINGE_RBF, .gamma = 0.3 }, .count = 1, .factor = 2 },
    { .kernel = { .type = HINGE_POLYNOMIAL, .degree = 2, .gamma = 0.5, .coef0 = 1 } },
    { .kernel = { .type = HINGE_LAPLACIAN, .gamma = 0.1 }, .times = 1 },
};

static hinge_kernel kernel_of(hinge_kernel_type type, int *calls_left)
{
    switch (type) {
    case HINGE_LINEAR:
        return hinge_kernel_linear();
    case HINGE_POLYNOMIAL:
        return hinge_kernel_polynomial(3, 0.5, 1);
    case HINGE_RBF:
        return hinge_kernel_rbf(0.3);
    case HINGE_SIGMOID:
        return hinge_kernel_sigmoid(0.2, -0.1);
    case HINGE_LAPLACIAN:
        return hinge_kernel_laplacian(0.3);
    case HINGE_CHI2:
        return hinge_kernel_chi2(0.3);
    case HINGE_TANIMOTO:
        return hinge_kernel_tanimoto();
    case HINGE_MATERN32:
        return hinge_kernel_matern32(0.3);
    case HINGE_MATERN52:
        return hinge_kernel_matern52(0.3);
    case HINGE_PRECOMPUTED:
        return hinge_kernel_precomputed();
    case HINGE_COMBINED:
        return hinge_kernel_combine(parts, sizeof parts / sizeof *parts);
    default:
        return hinge_kernel_user("own", user_kernel, calls_left);
    }
}

struct shape {
    hinge_kernel_type kernel;
    hinge_dtype type, data_type;
    size_t n, d, gap; /* points of the source; features; elements between rows */
    bool order, shift, factor, subset;
    size_t each; /* not 0: one value in so many is not 0, so that rows come by lists */
    hinge_maker asked;
};

static struct source *source_new(const struct shape *s, int threads, uint64_t seed)
{
    struct source *o = calloc(1, sizeof *o);
    bool table = s->kernel == HINGE_PRECOMPUTED;
    size_t rows = s->n + (s->subset ? 9 : 0), d = table ? rows + 3 : s->d, stride = d + s->gap;
    o->calls_left = -1;
    o->data = malloc((rows + 1) * stride * 8);
    for (size_t at = 0; at < rows * stride; at++) {
        double v = unit(&seed);
        v = s->each > 0 && at % s->each != 0 ? 0 : v;
        if (s->data_type == HINGE_F32)
            ((float *)o->data)[at] =
                at % stride < d ? (float)v : NAN; /* what is between the rows is not read */
        else
            ((double *)o->data)[at] = at % stride < d ? v : (double)NAN;
    }
    o->order = s->order ? shuffled(&seed, rows) : NULL;
    o->subset = s->subset ? shuffled(&seed, rows) : NULL;
    o->column = table && s->gap > 0 ? shuffled(&seed, rows) : NULL;
    if (s->shift)
        o->shift = malloc(d * sizeof(double));
    if (s->factor)
        o->factor = malloc(d * sizeof(double));
    for (size_t c = 0; c < d && s->shift; c++)
        o->shift[c] = unit(&seed);
    for (size_t c = 0; c < d && s->factor; c++)
        o->factor[c] = 1 + unit(&seed) / 2;
    struct hg_points points = { .x = { o->data, s->data_type, rows, d, stride },
                                .order = o->order,
                                .shift = o->shift,
                                .factor = o->factor,
                                .n = rows,
                                .nonzeros = s->each > 0 ? (double)d / (double)s->each : 0 };
    if (hg_kernel_row(s->kernel)->of_distance) {
        o->norms = malloc(rows * 8);
        hg_points_norms(&points, s->type, o->norms, threads);
    }
    struct hg_tiler tiler = { kernel_of(s->kernel, &o->calls_left), hg_maps(hg_cpu_level(0)), s->type, d,
                              .asked = s->asked };
    tiler.kernel.n_features = d;
    assert_int_equal(
        hg_gram_init(&o->gram, &tiler, &points, o->subset, s->n, o->column, o->norms, threads, NULL), HINGE_OK);
    assert_int_equal(o->gram.super.n, s->n);
    assert_int_equal(o->gram.super.type, s->type);
    return o;
}

static void source_free(struct source *o)
{
    hg_gram_free(&o->gram);
    free(o->data), free(o->norms), free(o->shift), free(o->factor);
    free(o->order), free(o->subset), free(o->column);
    free(o);
}

/* ---- the definition ---------------------------------------------------------------------------------------------- */

static size_t point_of(const struct source *o, size_t i)
{
    return o->subset != NULL ? o->subset[i] : i;
}

/* Feature c of point i as rounded to the working type. */
static long double feature(const struct source *o, size_t i, size_t c)
{
    const hinge_matrix *x = &o->gram.points.x;
    size_t p = point_of(o, i), at = (o->order != NULL ? o->order[p] : p) * x->stride + c;
    double v = x->type == HINGE_F32 ? (double)((const float *)x->data)[at] : ((const double *)x->data)[at];
    if (o->factor != NULL)
        v *= o->factor[c];
    if (o->shift != NULL)
        v -= o->shift[c];
    return o->gram.tiler.type == HINGE_F32 ? (long double)(float)v : (long double)v;
}

/* K(i, j) by columns [first, first + d), and how far a value in the working type may be from it. */
static long double value_of(const struct source *o, const hinge_kernel *k, size_t first, size_t d, size_t i, size_t j,
                            long double *tolerance)
{
    long double dot = 0, size = 0, ni = 0, nj = 0, distance = 0, eps = FLT_EPSILON;
    long double ratio = 0, least = 0, most = 0;
    if (o->gram.tiler.type == HINGE_F64)
        eps = DBL_EPSILON;
    if (k->type == HINGE_PRECOMPUTED) {
        size_t col = o->column != NULL ? o->column[point_of(o, j)] : point_of(o, j);
        *tolerance = 0;
        return feature(o, i, col);
    }
    for (size_t c = first; c < first + d; c++) {
        long double x = feature(o, i, c), z = feature(o, j, c);
        dot += x * z, size += fabsl(x * z), ni += x * x, nj += z * z, distance += fabsl(x - z);
        long double sum = fabsl(x) + fabsl(z), of_both = x * z > 0 ? fminl(fabsl(x), fabsl(z)) : 0;
        ratio += sum > 0 ? (x - z) * (x - z) / sum : 0, least += of_both, most += sum - of_both;
    }
    long double lost = (long double)d * eps * size, u = k->gamma * dot + k->coef0;
    long double lost_u =
        fabsl((long double)k->gamma) * (lost + eps * fabsl(dot)) + 2 * eps * (fabsl(u) + fabs(k->coef0));
    switch (k->type) {
    case HINGE_LINEAR:
        *tolerance = lost;
        return dot;
    case HINGE_POLYNOMIAL:
        *tolerance =
            k->degree * powl(fabsl(u) + lost_u, k->degree - 1) * lost_u + 4 * eps * powl(fabsl(u), k->degree);
        return powl(u, k->degree);
    case HINGE_RBF: {
        long double value = expl(-k->gamma * (ni + nj - 2 * dot));
        *tolerance =
            value * (expl(k->gamma * (2 * lost + 4 * eps * (ni + nj + fabsl(dot)))) - 1) + 4 * eps * value;
        return value;
    }
    case HINGE_LAPLACIAN:
        *tolerance = k->gamma * (long double)d * eps * distance * expl(-k->gamma * distance) + 4 * eps;
        return expl(-k->gamma * distance);
    case HINGE_CHI2:
        *tolerance = (k->gamma * ratio * (long double)d + 4) * eps;
        return expl(-k->gamma * ratio);
    case HINGE_TANIMOTO:
        *tolerance = 2 * ((long double)d + 4) * eps;
        return most > 0 ? least / most : 1;
    case HINGE_MATERN32:
    case HINGE_MATERN52: {
        long double d2 = ni + nj - 2 * dot, t = k->gamma * (d2 > 0 ? d2 : 0), r = sqrtl(t);
        *tolerance = k->gamma / 2 * (2 * lost + 4 * eps * (ni + nj + fabsl(dot))) + 16 * eps;
        return (k->type == HINGE_MATERN32 ? 1 + r : 1 + r + t / 3) * expl(-r);
    }
    case HINGE_SIGMOID:
        *tolerance = lost_u + 4 * eps;
        return tanhl(u);
    default:
        *tolerance =
            (2 * (1 + size) * lost + (long double)d * eps * distance) + 4 * eps * ((1 + size) * (1 + size) + distance);
        return (1 + dot) * (1 + dot) - distance;
    }
}

static long double plain_value(const struct source *o, size_t i, size_t j, long double *tolerance)
{
    const hinge_kernel *k = &o->gram.tiler.kernel;
    size_t d = o->gram.tiler.d;
    long double value[3], lost[3], eps = o->gram.tiler.type == HINGE_F32 ? FLT_EPSILON : DBL_EPSILON;
    if (k->type != HINGE_COMBINED)
        return value_of(o, k, 0, d, i, j, tolerance);
    for (int p = 0; p < 3; p++)
        value[p] = value_of(o, &parts[p].kernel, 0, parts[p].count > 0 ? parts[p].count : d, i, j, &lost[p]);
    long double product = value[1] * value[2];
    *tolerance = 2 * lost[0] + fabsl(value[1]) * lost[2] + fabsl(value[2]) * lost[1] + lost[1] * lost[2] +
                 4 * eps * (2 * fabsl(value[0]) + fabsl(product));
    return 2 * value[0] + product;
}

/* ---- fetching with everything watched ---------------------------------------------------------------------------- */

struct watch {
    struct source *source;
    size_t n_rows, n_cols, size, tiles;
    char *seen;               /* [n_rows * n_cols] values as the callback saw them */
    unsigned char *times;     /* [n_rows * n_cols] */
    size_t *next_row, *width; /* [n_cols] at each col0: the row0 that must come next; n_cols of the range */
    int *busy;                /* [n_cols] */
    int stop, stop_at, bad;
};

static void watch_tile(void *arg, const struct hg_tile *t)
{
    struct watch *w = arg;
    int bad = t->n_rows == 0 || t->n_cols == 0 || t->row0 + t->n_rows > w->n_rows || t->col0 + t->n_cols > w->n_cols;
    if (!bad) {
        bad |= __atomic_exchange_n(&w->busy[t->col0], 1, __ATOMIC_ACQUIRE) != 0;
        bad |= t->row0 != w->next_row[t->col0] || (w->width[t->col0] != 0 && w->width[t->col0] != t->n_cols);
        w->next_row[t->col0] = t->row0 + t->n_rows;
        w->width[t->col0] = t->n_cols;
        for (size_t r = 0; r < t->n_rows; r++) {
            size_t at = (t->row0 + r) * w->n_cols + t->col0;
            memcpy(w->seen + at * w->size, t->row[r], t->n_cols * w->size);
            for (size_t c = 0; c < t->n_cols; c++)
                w->times[at + c]++;
        }
        __atomic_store_n(&w->busy[t->col0], 0, __ATOMIC_RELEASE);
    }
    if (bad)
        __atomic_store_n(&w->bad, 1, __ATOMIC_RELAXED);
    if ((int)__atomic_add_fetch(&w->tiles, 1, __ATOMIC_RELAXED) == w->stop_at)
        __atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
}

static struct watch *watch_new(struct source *o, size_t n_rows, size_t n_cols)
{
    struct watch *w = calloc(1, sizeof *w);
    *w = (struct watch){ .source = o,
                         .n_rows = n_rows,
                         .n_cols = n_cols,
                         .size = o->gram.super.type == HINGE_F32 ? sizeof(float) : sizeof(double) };
    w->seen = calloc(n_rows * n_cols + 1, w->size);
    w->times = calloc(n_rows * n_cols + 1, 1);
    w->next_row = calloc(n_cols + 1, sizeof(size_t));
    w->width = calloc(n_cols + 1, sizeof(size_t));
    w->busy = calloc(n_cols + 1, sizeof(int));
    return w;
}

static void watch_free(struct watch *w)
{
    free(w->seen), free(w->times), free(w->next_row), free(w->width), free(w->busy);
    free(w);
}

static double value_at(const void *values, size_t size, size_t at)
{
    return size == sizeof(float) ? (double)((const float *)values)[at] : ((const double *)values)[at];
}

static void check_values(const struct watch *w, const uint32_t *rows, const uint32_t *cols, uint64_t seed)
{
    size_t all = w->n_rows * w->n_cols;
    for (size_t k = 0; k < HG_MIN(all, (size_t)CHECKED); k++) {
        size_t at = all <= CHECKED ? k : k < 200 ? (k % 2 ? all - k : k) : hg_random_below(&seed, all);
        size_t r = at / w->n_cols, c = at % w->n_cols;
        long double tolerance, want = plain_value(w->source, rows[r], cols != NULL ? cols[c] : c, &tolerance);
        double got = value_at(w->seen, w->size, at);
        if (!(fabsl(got - want) <= tolerance))
            print_error("K[%zu, %zu] = %.17g, want %.17Lg within %Lg\n", r, c, got, want, tolerance);
        assert_true(fabsl(got - want) <= tolerance);
    }
}

enum keep { KEEP_NONE, KEEP_ALL, KEEP_SOME, KEEP_KINDS };

/* Fetches, checks all but the values, and returns the watch. */
static struct watch *fetch(struct source *o, const uint32_t *rows, size_t n_rows, const uint32_t *cols,
                           size_t n_cols, enum keep keep)
{
    struct watch *w = watch_new(o, n_rows, n_cols);
    size_t bytes = (n_cols + PAD) * w->size;
    unsigned char *memory = malloc(n_rows * bytes + 1);
    void **out = malloc((n_rows + 1) * sizeof *out);
    memset(memory, 0xA5, n_rows * bytes);
    for (size_t r = 0; r < n_rows; r++)
        out[r] = keep == KEEP_SOME && r % 3 == 1 ? NULL : memory + r * bytes;
    uint64_t values = o->gram.super.values;
    struct hg_fetch f = { rows, n_rows, cols, n_cols, keep == KEEP_NONE ? NULL : out, watch_tile, w, &w->stop, 0,
                          false };
    assert_int_equal(o->gram.super.ops->fetch(&o->gram.super, &f), HINGE_OK);
    assert_int_equal(o->gram.super.values - values, n_rows * n_cols);
    assert_int_equal(w->bad, 0);
    for (size_t at = 0; at < n_rows * n_cols; at++)
        assert_int_equal(w->times[at], 1);
    for (size_t r = 0; r < n_rows; r++) {
        const unsigned char *row = memory + r * bytes;
        bool kept = keep != KEEP_NONE && out[r] != NULL;
        if (kept)
            assert_memory_equal(row, w->seen + r * n_cols * w->size, n_cols * w->size);
        for (size_t b = kept ? n_cols * w->size : 0; b < bytes; b++)
            assert_int_equal(row[b], 0xA5);
    }
    free(out);
    free(memory);
    return w;
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

static uint32_t *some_points(uint64_t *seed, size_t n, size_t count, bool contiguous)
{
    uint32_t *list = malloc((count + 1) * sizeof *list);
    size_t first = contiguous ? hg_random_below(seed, n - count + 1) : 0;
    for (size_t k = 0; k < count; k++)
        list[k] = (uint32_t)(contiguous ? first + k : hg_random_below(seed, n));
    return list;
}

static void check_shape(const struct shape *s, size_t n_rows, size_t n_cols, int pick, uint64_t *seed)
{
    enum { NO_LIST, SCATTERED, CONTIGUOUS };
    bool run = pick % 4 == 3 && n_rows <= s->n; /* rows one after the other need no gathering */
    uint32_t *rows = some_points(seed, s->n, n_rows, run);
    uint32_t *cols = pick % 3 == NO_LIST ? NULL : some_points(seed, s->n, n_cols, pick % 3 == CONTIGUOUS);
    uint64_t data = hg_random(seed);
    struct watch *first = NULL;
    static const int threads[] = { 1, 2, 4, 3 };
    for (int t = 0; t < (pick % 2 ? 4 : 2); t++) {
        struct source *o = source_new(s, threads[t], data);
        struct watch *w = fetch(o, rows, n_rows, cols, n_cols, (enum keep)((pick + t) % KEEP_KINDS));
        if (first == NULL) {
            check_values(w, rows, cols, data);
            first = w;
        } else {
            assert_memory_equal(w->seen, first->seen, n_rows * n_cols * w->size);
            watch_free(w);
        }
        source_free(o);
    }
    watch_free(first);
    free(rows);
    free(cols);
}

static void test_fetch(void **state)
{
    const hinge_kernel_type kernel = *(const hinge_kernel_type *)*state;
    static const size_t n_rows[] = { 1, 7, 255, 256, 257, 600 }, n_cols[] = { 1, 511, 512, 513, 1300, 40 };
    uint64_t seed = 100 + (uint64_t)kernel;
    int pick = 0;
    for (int type = kernel == HINGE_USER ? HINGE_F64 : HINGE_F32; type <= HINGE_F64;
         type++) /* user's are f64 */
        for (int data_type = HINGE_F32; data_type <= HINGE_F64; data_type++)
            for (size_t a = 0; a < 6; a++)
                for (size_t b = 0; b < 6; b++, pick++) {
                    unsigned bits = (unsigned)hg_random(&seed);
                    if ((a + b + (size_t)pick / 36) % 2 != 0 && a + b > 6) /* half of the large ones */
                        continue;
                    struct shape s = { kernel,
                                       type,
                                       data_type,
                                       HG_MAX(n_cols[b], n_rows[a] / (a == 5 ? 2 : 1)),
                                       1 + hg_random_below(&seed, 40),
                                       bits & 1 ? 3 : 0,
                                       bits & 2,
                                       bits & 4,
                                       bits & 8,
                                       bits & 16,
                                       0 };
                    if (kernel == HINGE_PRECOMPUTED)
                        s.shift = s.factor = false;
                    check_shape(&s, n_rows[a], n_cols[b], pick + (int)a, &seed);
                }
}

/* Long vectors: narrow tiles, and fewer rows at once than are asked for. */
TEST(test_long_vectors)
{
    uint64_t seed = 5;
    for (int gathered = 0; gathered < 2; gathered++) {
        struct shape s = { HINGE_RBF, HINGE_F32, HINGE_F32, 130, 70001, 0, false, gathered, false, false, 0 };
        struct source *o = source_new(&s, 2, 9);
        assert_true(o->gram.max_rows < 130 && o->gram.tile_cols < 130 && o->gram.tile_cols >= 32);
        o->gram.tiler.kernel.gamma = 1e-5;
        uint32_t *rows = some_points(&seed, 130, 130, true);
        struct watch *w = fetch(o, rows, 130, NULL, 130, KEEP_SOME);
        for (size_t k = 0; k < 60; k++) {
            size_t at = k * 287 % (130 * 130);
            long double tolerance, want = plain_value(o, at / 130, at % 130, &tolerance);
            assert_true(fabsl(value_at(w->seen, w->size, at) - want) <= tolerance);
        }
        watch_free(w);
        free(rows);
        source_free(o);
    }
}

/* Vectors so long that a tile has fewer columns than it might; the last panel of a tile is whole. By lists of few
 * non-zeros, and by panels of dense rows, which have to be asked for. */
TEST(test_long_lists)
{
    uint64_t seed = 6;
    for (int kind = 0; kind < 4; kind++) {
        bool dense = kind / 2 == 1;
        struct shape s = { dense ? HINGE_POLYNOMIAL : HINGE_RBF, kind % 2 ? HINGE_F64 : HINGE_F32, HINGE_F32, 450,
                           5003, 0, .each = dense ? 1 : 11,
                           .asked = dense ? HINGE_MAKER_PANELS : HINGE_MAKER_AUTO };
        struct source *o = source_new(&s, 1, 9);
        assert_true(o->gram.tiler.maker == (dense ? &hg_by_panels : &hg_by_lists) && o->gram.tile_cols < 450);
        assert_true(o->gram.tiler.dense == dense);
        o->gram.tiler.kernel.gamma = dense ? 1e-4 : 1e-3;
        for (int level = 1; level <= hg_cpu_level(0); level++)
            for (size_t n = 1; n <= 15; n += 2 + (size_t)level) {
                uint32_t *rows = some_points(&seed, 450, n, false);
                o->gram.tiler.maps = hg_maps(level);
                struct watch *w = fetch(o, rows, n, NULL, 450, KEEP_SOME);
                for (size_t at = 0; at < n * 450; at += 4) {
                    long double tolerance, want = plain_value(o, rows[at / 450], at % 450, &tolerance);
                    assert_true(fabsl(value_at(w->seen, w->size, at) - want) <= tolerance);
                }
                watch_free(w);
                free(rows);
            }
        source_free(o);
    }
}

TEST(test_nothing_asked)
{
    struct shape s = { HINGE_RBF, HINGE_F32, HINGE_F64, 20, 5, 0, false, false, false, false, 0 };
    struct source *o = source_new(&s, 2, 9);
    uint32_t rows[3] = { 1, 2, 3 };
    watch_free(fetch(o, rows, 0, NULL, 20, KEEP_ALL));
    watch_free(fetch(o, rows, 3, NULL, 0, KEEP_ALL));
    source_free(o);
}

/* The verbs: a block row by row, and a sum over rows that is added to what is there, with coefficients or without. */
TEST(test_verbs)
{
    enum { ROWS = 70, N = 600 };
    struct shape s = { HINGE_RBF, HINGE_F64, HINGE_F32, N, 5, 0, false, false, false, true, 0 };
    struct source *o = source_new(&s, 2, 9);
    uint32_t rows[ROWS], cols[N];
    double coef[N], g[2][N], block[ROWS * N], sum[N], square[N], kept[ROWS][N];
    for (uint32_t c = 0; c < N; c++) {
        cols[c] = (c * 7 + 1) % N;
        g[0][c] = g[1][c] = c;
        coef[c] = c % 2 ? 1.5 : -0.5;
    }
    void *out[ROWS];
    for (uint32_t r = 0; r < ROWS; r++) {
        rows[r] = N - 1 - r;
        out[r] = r % 3 == 0 ? kept[r] : NULL;
    }
    assert_int_equal(hg_rows_block(&o->gram.super, rows, ROWS, cols, N, block), HINGE_OK);
    assert_int_equal(hg_rows_apply(&o->gram.super, rows, ROWS, coef, cols, N, g[0], NULL), HINGE_OK);
    assert_int_equal(hg_rows_apply(&o->gram.super, rows, ROWS, NULL, NULL, N, g[1], NULL), HINGE_OK);
    assert_int_equal(hg_rows_apply(&o->gram.super, rows, 0, coef, cols, N, g[0], NULL), HINGE_OK);
    assert_int_equal(hg_rows_dot(&o->gram.super, cols, N, coef, rows, ROWS, sum, square, NULL), HINGE_OK);
    for (size_t c = 0; c < N; c++) {
        long double tolerance, total = (long double)c, plain = (long double)c, squares = 0;
        for (size_t r = 0; r < ROWS; r++) {
            long double want = plain_value(o, rows[r], cols[c], &tolerance);
            assert_true(fabsl(block[r * N + c] - want) <= tolerance);
            total += coef[r] * want;
            squares += coef[r] * want * coef[r] * want;
            plain += plain_value(o, rows[r], c, &tolerance);
        }
        assert_true(fabsl(g[0][c] - total) < 1e-9 && fabsl(g[1][c] - plain) < 1e-9);
        assert_true(fabsl(sum[c] - (total - c)) < 1e-9 && fabsl(square[c] - squares) < 1e-9);
    }
    /* by adders, with rows kept; halted from the start */
    int stop = 1;
    struct hg_how how = { .add = &hg_loops(1)->add, .out = out };
    memset(g, 0, sizeof g);
    assert_int_equal(hg_rows_apply(&o->gram.super, rows, ROWS, coef, cols, N, g[0], NULL), HINGE_OK);
    assert_int_equal(hg_rows_apply(&o->gram.super, rows, ROWS, coef, cols, N, g[1], &how), HINGE_OK);
    for (size_t c = 0; c < N; c++)
        assert_true(fabs(g[0][c] - g[1][c]) < 1e-12);
    for (size_t r = 0; r < ROWS; r += 3)
        assert_memory_equal(kept[r], block + r * N, sizeof kept[r]);
    how = (struct hg_how){ .halt = &(struct hg_halt){ .stop = &stop } };
    assert_int_equal(hg_rows_apply(&o->gram.super, rows, ROWS, coef, cols, N, g[1], &how), HINGE_OK);
    for (size_t c = 0; c < N; c++)
        assert_true(fabs(g[0][c] - g[1][c]) < 1e-12);
    /* sums over several ranges of columns; none; no row */
    assert_int_equal(hg_rows_dot(&o->gram.super, rows, ROWS, coef, cols, N, sum, NULL, NULL), HINGE_OK);
    for (size_t r = 0; r < ROWS; r++) {
        double want = 0;
        for (size_t c = 0; c < N; c++)
            want += coef[c] * block[r * N + c];
        assert_true(fabs(sum[r] - want) < 1e-9);
    }
    assert_int_equal(hg_rows_dot(&o->gram.super, rows, 2, coef, cols, 0, sum, square, NULL), HINGE_OK);
    assert_true(sum[0] == 0 && sum[1] == 0 && square[0] == 0 && square[1] == 0);
    assert_int_equal(hg_rows_dot(&o->gram.super, rows, 0, coef, cols, N, NULL, NULL, NULL), HINGE_OK);
    source_free(o);
}

TEST(test_stop)
{
    struct shape s = { HINGE_RBF, HINGE_F32, HINGE_F32, 10000, 4, 0, false, false, false, false, 0 };
    for (int threads = 1; threads <= 3; threads++) {
        struct source *o = source_new(&s, threads, 9);
        struct watch *w = watch_new(o, 2, 10000);
        uint32_t rows[2] = { 1, 9999 };
        struct hg_fetch f = { rows, 2, NULL, 10000, NULL, watch_tile, w, &w->stop, 0, false };
        w->stop_at = 3;
        assert_int_equal(o->gram.super.ops->fetch(&o->gram.super, &f), HINGE_OK);
        assert_true(w->tiles >= 3 && w->tiles < (size_t)(3 + threads)); /* of 20; those begun are finished */
        w->tiles = 0;                                                   /* and a flag already set */
        assert_int_equal(o->gram.super.ops->fetch(&o->gram.super, &f), HINGE_OK);
        assert_int_equal(w->tiles, 0);
        watch_free(w);
        source_free(o);
    }
}

TEST(test_user_failure)
{
    struct shape s = { HINGE_USER, HINGE_F64, HINGE_F32, 1300, 4, 0, false, false, false, false, 0 };
    uint32_t rows[2] = { 1, 2 };
    double diagonal[1300];
    for (int threads = 1; threads <= 3; threads++)
        for (int calls = 0; calls < 3; calls++) {
            struct source *o = source_new(&s, threads, 9);
            struct hg_fetch f = { .rows = rows, .n_rows = 2, .n_cols = 1300 };
            o->calls_left = calls;
            assert_int_equal(o->gram.super.ops->fetch(&o->gram.super, &f), HINGE_ECALLBACK);
            o->calls_left = calls;
            assert_int_equal(o->gram.super.ops->diagonal(&o->gram.super, diagonal, NULL), HINGE_ECALLBACK);
            o->calls_left = 11; /* tiles of 128 columns */
            assert_int_equal(o->gram.super.ops->fetch(&o->gram.super, &f), HINGE_OK);
            source_free(o);
        }
}

TEST(test_diagonal)
{
    static double diagonal[300];
    for (int kernel = 0; hinge_kernel_info((hinge_kernel_type)kernel) != NULL; kernel++)
        for (unsigned bits = 0; bits < 64; bits++) {
            struct shape s = { kernel,
                               bits & 1 && kernel != HINGE_USER ? HINGE_F32 : HINGE_F64,
                               bits & 2 ? HINGE_F32 : HINGE_F64,
                               300,
                               17,
                               bits & 4 ? 2 : 0,
                               bits & 8,
                               bits & 16 && kernel != HINGE_PRECOMPUTED,
                               bits & 32 && kernel != HINGE_PRECOMPUTED,
                               bits & 4,
                               0 };
            struct source *o = source_new(&s, 1, bits);
            assert_int_equal(o->gram.super.ops->diagonal(&o->gram.super, diagonal, NULL), HINGE_OK);
            for (size_t i = 0; i < 300; i++) {
                long double tolerance, want = plain_value(o, i, i, &tolerance);
                if (kernel == HINGE_PRECOMPUTED) /* always in double: f32 rows may round it */
                    tolerance = fabsl(want) * FLT_EPSILON;
                assert_true(fabsl(diagonal[i] - want) <= tolerance);
                assert_true(kernel != HINGE_RBF || diagonal[i] == 1);
            }
            source_free(o);
        }
}

/* ---- how wrong values can be ------------------------------------------------------------------------------------- */

/* Random, in [0, 1) far from 0, and alike: of those, each product rounds the same way. */
static void fill_kind(int kind, struct source *o, size_t values, double scale, uint64_t *seed)
{
    double alike = scale * (0.05 + fabs(unit(seed)));
    for (size_t at = 0; at < values; at++)
        ((double *)o->data)[at] = kind == 0   ? scale * unit(seed)
                                  : kind == 1 ? scale * (1 + unit(seed) / 4)
                                              : alike * (1 + 1e-7 * unit(seed));
}

/* The largest error of a block against long double on the vectors as given, as a share of the bound; at most 1. */
static double worst_share(const struct shape *s, int kind, double gamma_norm, uint64_t *seed)
{
    struct source *o = source_new(s, 2, hg_random(seed));
    hinge_kernel *k = &o->gram.tiler.kernel;
    fill_kind(kind, o, s->n * s->d, pow(10, 4 * unit(seed)), seed);
    if (o->norms != NULL)
        hg_points_norms(&o->gram.points, s->type, o->norms, 1);
    uint32_t rows[64];
    double norm = 0, worst = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        rows[i] = i;
        norm = HG_MAX(norm, hg_points_norm(&o->gram.points, i, HINGE_F64));
    }
    k->gamma = gamma_norm / norm;
    double bound = hg_kernel_error(k, s->type, s->d, norm);
    struct watch *w = fetch(o, rows, s->n, NULL, s->n, KEEP_NONE);
    hinge_dtype type = s->type;
    o->gram.tiler.type = HINGE_F64; /* the definition's: vectors are not rounded */
    for (size_t at = 0; at < s->n * s->n; at++) {
        long double tolerance, want = plain_value(o, at / s->n, at % s->n, &tolerance);
        double share = (double)fabsl(value_at(w->seen, w->size, at) - want) / bound;
        if (!(share <= 1))
            print_error("K[%zu, %zu] of %zu features: %g of the bound %g\n", at / s->n, at % s->n, s->d, share, bound);
        assert_true(share <= 1);
        worst = HG_MAX(worst, share);
    }
    o->gram.tiler.type = type;
    watch_free(w);
    source_free(o);
    return worst;
}

TEST(test_error_bound)
{
    static const size_t d[] = { 1, 2, 9, 40, 300, 784, 1500 };
    static const hinge_kernel_type kernels[] = { HINGE_LINEAR, HINGE_POLYNOMIAL, HINGE_RBF, HINGE_SIGMOID };
    uint64_t seed = 77;
    for (int k = 0; k < 4; k++)
        for (int type = HINGE_F32; type <= HINGE_F64; type++) {
            double most = 0;
            for (size_t c = 0; c < 7; c++)
                for (int kind = 0; kind < 3; kind++)
                    for (double gamma_norm = 0.01; gamma_norm < 1e6; gamma_norm *= 100) {
                        struct shape s = { kernels[k], type, HINGE_F64, 24, d[c], 0, .each = kind == 2 ? 0 : 1 };
                        double share = worst_share(&s, kind, gamma_norm, &seed);
                        most = HG_MAX(most, share);
                    }
            assert_true(most > 0.05); /* it is not an idle one */
        }
}

enum { GROUPS = 40, SIDE_BY_SIDE = 16 };

/* Points in groups that lie side by side, of `nonzeros` features at most, all above 0: dot products lose most then. */
static void draw_groups(double *x, float *narrow, size_t d, size_t nonzeros, uint64_t *seed)
{
    for (size_t i = 0; i < GROUPS * (size_t)SIDE_BY_SIDE; i++)
        for (size_t c = 0; c < d; c++) {
            bool first = i % SIDE_BY_SIDE == 0;
            double same = first ? (c * nonzeros % d < nonzeros ? 1 + unit(seed) : 0) : x[(i - 1) * d + c];
            x[i * d + c] = first ? same : same * (1 + 1e-5 * unit(seed));
            narrow[i * d + c] = (float)x[i * d + c];
        }
}

/* Where values of two points that lie side by side are off by more than others are, the sizes that a source in f32
 * tells are not less than that, and not idle. */
TEST(test_near_points_are_off_by_their_sizes)
{
    static const size_t most[][2] = { { 1, 1 },   { 3, 3 },   { 5, 5 },   { 54, 4 },
                                      { 54, 12 }, { 16, 16 }, { 64, 64 }, { 300, 300 } };
    static const hinge_maker makers[] = { HINGE_MAKER_LISTS, HINGE_MAKER_PANELS, HINGE_MAKER_GEMM };
    enum { N = GROUPS * SIDE_BY_SIDE, D = 300 };
    double *x = malloc(N * D * sizeof *x), size[N], diagonal[N], largest = 0;
    float *narrow = malloc(N * D * sizeof *narrow), norms[N], row[N];
    uint64_t seed = 5;
    for (int t = 0; t < 8 * 3 * 6; t++) {
        size_t d = most[t % 8][0];
        draw_groups(x, narrow, d, most[t % 8][1], &seed);
        struct hg_points points = { .x = { narrow, HINGE_F32, N, d, d }, .n = N, .most_nonzeros = most[t % 8][1] };
        hg_points_norms(&points, HINGE_F32, norms, 1);
        double gamma = pow(10, 2 * unit(&seed)) / norms[0];
        struct hg_tiler tiler = { hinge_kernel_rbf(gamma), hg_maps(hg_cpu_level(0)), HINGE_F32, d,
                                  .asked = makers[t / 8 % 3] };
        struct hg_gram gram;
        assert_int_equal(hg_gram_init(&gram, &tiler, &points, NULL, N, NULL, norms, 1, NULL), HINGE_OK);
        assert_true(gram.super.error_near > 0 && gram.super.errors_fall);
        assert_int_equal(hg_rows_diagonal(&gram.super, diagonal, size), HINGE_OK);
        for (uint32_t i = 0; i < N; i++) {
            assert_int_equal(hg_rows_fill(&gram.super, &i, 1, NULL, N, (void *[]){ row }, NULL), HINGE_OK);
            for (size_t j = i / SIDE_BY_SIDE * SIDE_BY_SIDE, end = j + SIDE_BY_SIDE; j < end; j++) {
                double square = 0;
                for (size_t c = 0; c < d; c++)
                    square += pow(x[i * d + c] - x[j * d + c], 2);
                double off = fabs(row[j] - exp(-gamma * square));
                largest = HG_MAX(largest, off / size[i]);
                assert_true(size[i] <= gram.super.error_near);
                if (!(off <= size[i]))
                    fail_msg("%zu features, maker %d: off by %g of the size told", d, makers[t / 8 % 3], off / size[i]);
            }
        }
        hg_gram_free(&gram);
    }
    assert_true(largest > 0.3);
    free(x), free(narrow);
}

/* The caller's thread counts are its own. */
TEST(test_settings_are_left_alone)
{
    struct shape s = { HINGE_RBF, HINGE_F32, HINGE_F32, 600, 4, 0, false, false, false, false, 0 };
    omp_set_num_threads(3);
    struct source *o = source_new(&s, 2, 9);
    uint32_t rows[2] = { 1, 2 };
    watch_free(fetch(o, rows, 2, NULL, 600, KEEP_ALL));
    assert_int_equal(omp_get_max_threads(), 3);
    source_free(o);
}

int main(void)
{
    static hinge_kernel_type kernels[16];
    for (size_t k = 0; hinge_kernel_info((hinge_kernel_type)k) != NULL; k++) {
        kernels[k] = (hinge_kernel_type)k;
        add_test(0, (struct CMUnitTest){ hinge_kernel_info(kernels[k])->keyword, test_fetch, NULL, NULL, &kernels[k] });
    }
    return run_program(NULL);
}
