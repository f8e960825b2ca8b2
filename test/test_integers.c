/*
 * Whole numbers (kernels/integers.h): which points are such; products of every loop that the processor runs, at the
 * largest numbers too, by plain sums in 64 bits; tiles of every kernel from every type by the scalar definition;
 * trainings and predictions by whole numbers and by values that are near such.
 */
#include "kernels/gram.h"
#include "kernels/integers.h"
#include "kernels/kernel.h"
#include "lib/data/copy.h"
#include "test/typed.h"

#include <float.h>
#include <math.h>

/* ---- loops ------------------------------------------------------------------------------------------------------- */

enum { ROWS = 61, COLS = 130 }; /* more than a block of rows, and than two panels */

/* Bytes k of all points: 0: drawn from 0..255, 1: all 255, 2: 0 and 255, 3: 0 and 1. */
static uint8_t *bytes_drawn(uint64_t *seed, size_t count, int kind)
{
    uint8_t *k = get(count, 1);
    for (size_t i = 0; i < count; i++)
        k[i] = kind == 0 ? (uint8_t)draw(seed) : kind == 1 ? 255 : (uint8_t)(draw(seed) % 2 * (kind == 2 ? 255 : 1));
    return k;
}

static void check_loop(const struct hg_integer_loop *loop, size_t d, int kind)
{
    enum { N = ROWS + COLS };
    uint64_t seed = 20261127 + d;
    uint8_t *k = bytes_drawn(&seed, N * d, kind);
    uint32_t *square = get(N, sizeof *square), *sum = get(N, sizeof *sum);
    for (size_t i = 0; i < N; i++)
        for (size_t f = 0; f < d; f++)
            sum[i] += k[i * d + f], square[i] += (uint32_t)k[i * d + f] * k[i * d + f];
    bool bits = loop->group == 32;
    struct hg_integers n = { .grid = { 0, 1, bits ? 1 : 255, bits }, .n = N, .d = d, .stride = d, .code = k, .one = 1,
                             .square = square, .sum = sum, .loop = loop };
    struct hg_points points = { .x = { k, HINGE_U8, N, d, d }, .n = N, .integers = &n };
    struct hg_tiler tiler = { hinge_kernel_linear(), hg_maps(1), HINGE_F64, d, .maker = &hg_by_integers };
    struct hg_left left = { .origin = { &points, NULL, 0 } };
    char *memory = get(hg_by_integers.lay_left(&tiler, &points, ROWS, NULL, &left), 1);
    hg_by_integers.lay_left(&tiler, &points, ROWS, memory, &left);
    for (size_t r = 0; r < ROWS; r++)
        hg_by_integers.set_left(&tiler, &left, r, NULL);
    uint32_t *panel = get(hg_by_integers.right_bytes(&tiler, &points, COLS), 1);
    struct hg_right right = { .count = COLS, .origin = { &points, NULL, ROWS } };
    hg_by_integers.set_right(&tiler, &right, panel, NULL);
    size_t group = (size_t)loop->group, words = (d + group - 1) / group;
    size_t side = (words + HG_INTEGER_HEAD) * HG_INTEGER_COLS;
    int32_t out[ROWS * HG_INTEGER_COLS];
    for (size_t c0 = 0; c0 < COLS; c0 += HG_INTEGER_COLS, panel += side) {
        size_t cols = HG_MIN((size_t)HG_INTEGER_COLS, COLS - c0);
        loop->products((const uint32_t *)left.x + 4, left.ld, ROWS, panel + HG_INTEGER_HEAD * HG_INTEGER_COLS, words,
                       out, HG_INTEGER_COLS);
        for (size_t r = 0; r < ROWS; r++) {
            struct hg_integer_row row = { .bits = bits, .square = square[r] };
            double distance[HG_INTEGER_COLS], dot[HG_INTEGER_COLS];
            loop->measure(&row, cols, out + r * HG_INTEGER_COLS, panel, HINGE_F64, distance);
            row.dots = true;
            row.unit = 1;
            loop->measure(&row, cols, out + r * HG_INTEGER_COLS, panel, HINGE_F64, dot);
            for (size_t c = 0; c < cols; c++) {
                int64_t far = 0, product = 0;
                for (size_t f = 0; f < d; f++) {
                    int64_t a = k[r * d + f], b = k[(ROWS + c0 + c) * d + f];
                    far += (a - b) * (a - b);
                    product += a * b;
                }
                assert_true(distance[c] == (double)far);
                assert_true(dot[c] == (double)product);
            }
        }
    }
}

TEST(test_products_of_every_loop)
{
    static const size_t d[] = { 1, 2, 3, 4, 5, 31, 32, 33, 63, 67, 128, 784, 1025 };
    const struct hg_integer_loop *loop;
    size_t ran = 0;
    for (size_t k = 0; (loop = hg_integer_loop_number(k)) != NULL; k++) {
        if (!hg_integer_loop_runs(loop))
            continue;
        ran++;
        for (size_t i = 0; i < sizeof d / sizeof *d; i++)
            for (int kind = loop->group == 32 ? 3 : 0; kind < 4; kind++)
                check_loop(loop, d[i], kind);
    }
    assert_true(ran >= 2 * (size_t)hg_cpu_level(0));
}

/* At the most features that sums have room for: of 0 and 255 all products are the largest, or none. */
TEST(test_products_near_overflow)
{
    const struct hg_integer_loop *loop;
    for (size_t k = 0; (loop = hg_integer_loop_number(k)) != NULL; k++)
        if (hg_integer_loop_runs(loop) && loop->group != 32) {
            check_loop(loop, 33000, 1);
            check_loop(loop, 33000, 2);
        }
}

/* ---- which points are such --------------------------------------------------------------------------------------- */

static void free_integers(void *integers)
{
    hg_integers_free(integers);
}

static struct hg_integers *integers_of(const struct hg_points *points)
{
    struct hg_integers *n = get(1, sizeof *n);
    assert_int_equal(hg_integers_init(n, points, false, hg_cpu_level(0), 2, NULL), HINGE_OK);
    at_end(free_integers, n);
    return n;
}

static struct hg_grid grid_of(const struct set *s)
{
    struct hg_points points = { .x = set_matrix(s), .n = s->n };
    return integers_of(&points)->grid;
}

/* Points that are centred for a kernel that is no function of x - z are no whole numbers any more. */
TEST(test_centred_points_are_none)
{
    struct set s = set_on_grid(3, 300, 8, 2400, 1, 10);
    double shift[8] = { 2404, 2404, 2404, 2404, 2404, 2404, 2404, 2404 };
    for (int kernel = 0; kernel < 2; kernel++)
        for (int centred = 0; centred < 2; centred++) {
            struct hg_dataset data = { .maker = HINGE_MAKER_INTEGERS, .n = s.n, .d = 8, .threads = 1 };
            struct hg_copy copy;
            data.kernel = kernel == 0 ? hinge_kernel_linear() : hinge_kernel_rbf(1);
            data.points = (struct hg_points){ .x = hinge_matrix_f64(s.x, s.n, 8), .n = s.n };
            data.points.shift = centred ? shift : NULL;
            assert_int_equal(hg_copy_init(&copy, &data, true, true, NULL), HINGE_OK);
            assert_int_equal(data.points.integers != NULL, kernel == 1 || !centred);
            hg_copy_free(&copy);
        }
}

TEST(test_what_is_on_a_grid)
{
    static const struct grid {
        double origin, step;
        unsigned levels;
    } like[] = { { 0, 1, 256 }, { -128, 1, 256 }, { 0, 1.0 / 255, 256 }, { -1, 2.0 / 255, 256 }, { 0, 1, 3 },
                 { -1, 2, 2 },  { 5, 1, 16 },     { 1e6, 0.25, 100 },    { -0.7, 0.1, 15 },      { 0, 1e-30, 200 } };
    for (size_t k = 0; k < sizeof like / sizeof *like; k++) {
        const struct grid *g = &like[k];
        struct set s = set_on_grid(k, 300, 7, g->origin, g->step, g->levels);
        struct hg_points points = { .x = set_matrix(&s), .n = s.n };
        const struct hg_integers *n = integers_of(&points);
        assert_close(n->grid.step, g->step, 1e-12);
        assert_true(n->grid.most < 256 && n->grid.bits == (g->levels == 2));
        for (size_t i = 0; i < s.n * s.d; i++)
            assert_near(n->grid.origin + n->code[i] * n->grid.step, s.x[i], 1e-14 * (fabs(g->origin) + 256 * g->step));
        for (size_t i = 0; i < s.n; i++) {
            uint32_t square = 0, sum = 0;
            for (size_t f = 0; f < s.d; f++)
                sum += n->code[i * 7 + f], square += (uint32_t)n->code[i * 7 + f] * n->code[i * 7 + f];
            assert_true(n->sum[i] == sum && n->square[i] == square);
        }
        double *last = s.x + s.n * s.d - 1, was = *last;
        *last += g->step * 1e-6; /* off its place */
        assert_int_equal(grid_of(&s).most, 0);
        *last = was + 300 * g->step; /* too far */
        assert_int_equal(grid_of(&s).most, 0);
        *last = was;
    }
    struct set same = set_on_grid(1, 50, 3, 7, 0, 1);
    assert_int_equal(grid_of(&same).most, 0);
    struct set real = set_blobs(3, 100, 5, 2, NULL, 0.5);
    assert_int_equal(grid_of(&real).most, 0);
    struct set wide = set_on_grid(2, 2, 33100, 0, 1, 256); /* sums of so many squares are beyond 31 bits */
    assert_int_equal(grid_of(&wide).most, 0);
    wide = set_on_grid(2, 2, 33100, 0, 1, 200);
    assert_true(grid_of(&wide).most > 0);
}

/* Numbers a few steps from 0 have bytes for theirs: products are as exact as those of the values themselves, whatever
 * the step, though bytes' origin is 128 steps away. */
TEST(test_dot_products_far_from_the_origin)
{
    enum { N = 64, D = 301 };
    static const double step[] = { 1, 1e7, 0.1, 1.0 / 3, 0x1p-40, 1e-30 };
    for (size_t k = 0; k < sizeof step / sizeof *step; k++) {
        struct set s = set_on_grid(k, N, D, -2 * step[k], step[k], 5);
        struct hg_points points = { .x = set_matrix(&s), .n = N };
        struct hg_tiler tiler = { hinge_kernel_linear(), hg_maps(hg_cpu_level(0)), HINGE_F64, D, .maker = NULL };
        struct hg_gram gram;
        uint32_t rows[N];
        void *out[N];
        points.integers = integers_of(&points);
        assert_true(points.integers->grid.most == 130);
        assert_int_equal(hg_gram_init(&gram, &tiler, &points, NULL, N, NULL, NULL, 2, NULL), HINGE_OK);
        assert_string_equal(gram.tiler.maker->name, "integers");
        for (uint32_t r = 0; r < N; r++) {
            rows[r] = r;
            out[r] = get(N, sizeof(double));
        }
        struct hg_fetch f = { rows, N, NULL, N, out, NULL, NULL, NULL, 0, false };
        assert_int_equal(gram.super.ops->fetch(&gram.super, &f), HINGE_OK);
        for (size_t r = 0; r < N; r++)
            for (size_t c = 0; c < N; c++) {
                long double dot = 0, size = 0;
                for (size_t j = 0; j < D; j++) {
                    long double product = (long double)s.x[r * D + j] * s.x[c * D + j];
                    dot += product;
                    size += fabsl(product);
                }
                assert_near(((double *)out[r])[c], (double)dot, hg_dot_error(HINGE_F64, D) * (double)size);
            }
        hg_gram_free(&gram);
    }
}

/* Values are off their places by roundings of their range, not by those of the origin, which may be far away. */
TEST(test_values_near_their_places)
{
    struct set s = set_on_grid(7, 300, 7, -2, 1, 5), far = set_on_grid(7, 300, 7, 71660.25, 0.1, 5);
    double *last = s.x + s.n * s.d - 1;
    assert_int_equal(grid_of(&far).most, 0); /* tenths are off by 1e-11 there, and so would be distances */
    *last = 1 + 4 * DBL_EPSILON;
    assert_true(grid_of(&s).most > 0);
    *last = 1 + 128 * DBL_EPSILON;
    assert_int_equal(grid_of(&s).most, 0);
}

/* Examples are to have the numbers of support vectors. */
TEST(test_examples_on_the_grid_of_others)
{
    struct set s = set_on_grid(5, 60, 9, 0, 0.5, 100), other = set_on_grid(6, 40, 9, 0, 0.5, 250);
    struct hg_points points = { .x = set_matrix(&s), .n = s.n }, examples = { .x = set_matrix(&other), .n = other.n };
    struct hg_grid grid = integers_of(&points)->grid;
    struct hg_integers n;
    assert_int_equal(hg_integers_match(&n, &grid, &examples, hg_cpu_level(0), 2, NULL), HINGE_OK);
    assert_int_equal(n.grid.most, 249);
    for (size_t i = 0; i < other.n * other.d; i++)
        assert_true(n.code[i] * 0.5 == other.x[i]);
    hg_integers_free(&n);
    other.x[77] = -0.5;
    assert_int_equal(hg_integers_match(&n, &grid, &examples, hg_cpu_level(0), 2, NULL), HINGE_OK);
    assert_int_equal(n.grid.most, 0);
    other.x[77] = 0.25;
    assert_int_equal(hg_integers_match(&n, &grid, &examples, hg_cpu_level(0), 2, NULL), HINGE_OK);
    assert_int_equal(n.grid.most, 0);
    struct set bits = set_on_grid(7, 60, 9, -1, 2, 2); /* examples of bits are bits */
    struct hg_points two = { .x = set_matrix(&bits), .n = bits.n };
    grid = integers_of(&two)->grid;
    bits.x[5] = 3;
    assert_int_equal(hg_integers_match(&n, &grid, &two, hg_cpu_level(0), 2, NULL), HINGE_OK);
    assert_int_equal(n.grid.most, 0);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

TEST(test_tiles_of_every_kernel_and_type)
{
    enum { N = 150, D = 75, M = 83 };
    hinge_kernel kernel[] = { hinge_kernel_linear(), hinge_kernel_polynomial(3, 1e-4, 0.5), hinge_kernel_rbf(3e-5),
                              hinge_kernel_sigmoid(1e-5, -0.1) };
    for (int k = 0; k < 4 * TYPES * 2 * 2; k++) {
        hinge_dtype type = types[k / 4 % TYPES], of = k / (4 * TYPES) % 2 ? HINGE_F32 : HINGE_F64;
        bool columns = k / (8 * TYPES) != 0, has_signs = type == HINGE_I8 || type == HINGE_F16;
        struct set s = set_on_grid((uint64_t)k, N, D, has_signs ? -128 : 0, 1, 256);
        hinge_matrix x = set_typed(&s, type, columns);
        uint32_t order[N], rows[M];
        for (uint32_t i = 0; i < N; i++)
            order[i] = (i * 7 + 3) % N;
        double shift[D];
        for (int f = 0; f < D; f++)
            shift[f] = 3.7 * f;
        const hinge_kernel *kind = &kernel[k % 4];
        struct hg_points points = { .x = x, .n = N, .order = order,
                                    .shift = kind->type == HINGE_RBF ? shift : NULL };
        points.integers = integers_of(&points);
        assert_true(points.integers->grid.most == 255);
        bool borrowed = (type == HINGE_U8 || type == HINGE_I8) && !columns;
        assert_true((points.integers->own == NULL) == borrowed);
        struct hg_tiler tiler = { *kind, hg_maps(hg_cpu_level(0)), of, D, .maker = NULL };
        struct hg_gram gram;
        assert_int_equal(hg_gram_init(&gram, &tiler, &points, NULL, N, NULL, NULL, 2, NULL), HINGE_OK);
        assert_string_equal(gram.tiler.maker->name, "integers");
        void *out[M];
        for (uint32_t r = 0; r < M; r++) {
            rows[r] = (r * 11 + 1) % N;
            out[r] = get(N, sizeof(double));
        }
        struct hg_fetch f = { rows, M, NULL, N, out, NULL, NULL, NULL, 0, false };
        assert_int_equal(gram.super.ops->fetch(&gram.super, &f), HINGE_OK);
        for (size_t r = 0; r < M; r++)
            for (size_t c = 0; c < N; c++) {
                double value = of == HINGE_F32 ? (double)((float *)out[r])[c] : ((double *)out[r])[c];
                double truth = plain_kernel(kind, s.x + order[rows[r]] * D, s.x + order[c] * D, D);
                assert_near(value, truth, (of == HINGE_F32 ? 1e-6 : 1e-14) * fmax(1, fabs(truth)));
                if (kind->type == HINGE_RBF && rows[r] == c)
                    assert_true(value == 1);
            }
        hg_gram_free(&gram);
    }
}

TEST(test_same_bits_for_any_threads)
{
    struct set s = set_on_grid(11, 900, 64, 0, 1, 256);
    hinge_matrix x = set_typed(&s, HINGE_U8, false);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    params.kernel = hinge_kernel_rbf(1e-7);
    params.C = 5;
    double *one = NULL, decisions[2][900];
    for (params.threads = 1; params.threads <= 4; params.threads *= 2) {
        hinge_model *model = trained(&x, s.y, &params, NULL);
        one = params.threads == 1 ? fit_beta(model, s.n) : one;
        assert_memory_equal(one, fit_beta(model, s.n), s.n * sizeof *one);
        hinge_predict_options options = { .threads = params.threads };
        assert_ok(hinge_predict(model, &x, &options, NULL, decisions[params.threads > 1], &err));
        assert_memory_equal(decisions[0], decisions[params.threads > 1], sizeof decisions[0]);
    }
}

/* Integers asked for, where others would be faster, and where there are none. */
TEST(test_asked_for_by_name)
{
    struct set s = set_on_grid(31, 300, 5, 0, 1, 40), real = set_two_class(32, 300, 5, 0.5);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_report report;
    hinge_model *model;
    params.kernel = hinge_kernel_rbf(1e-3);
    params.maker = HINGE_MAKER_INTEGERS;
    params.cpu_level = 1;
    fit(&s, &params, &report);
    assert_says(report.path, "integers f");
    hinge_matrix x = set_matrix(&real);
    assert_refused(hinge_train(&model, &x, real.y, &params, NULL, &err), HINGE_EINVAL,
                   "maker: integers cannot make the kernel values of these data, but those of values that are whole");
    struct set wide = set_on_grid(33, 300, 50, 0, 1, 40);
    hinge_predict_options options = { .maker = HINGE_MAKER_INTEGERS };
    double decisions[300];
    params.maker = HINGE_MAKER_AUTO;
    params.cpu_level = 0;
    model = fit(&wide, &params, NULL);
    x = set_matrix(&wide);
    if (hg_cpu_level(0) >= 4) {
        assert_ok(hinge_predict(model, &x, &options, NULL, decisions, &err));
        assert_true(largest_difference(decisions, plain_decisions(model, &wide), 300) < 1e-9);
    }
    wide.x[3] = 0.5;
    assert_refused(hinge_predict(model, &x, &options, NULL, decisions, &err), HINGE_EINVAL, "maker: integers cannot");
}

/* Values that f32 has rounded, as pixels divided by 255: rows in f32 are made of integers, in f64 they are not. */
TEST(test_rough_grids)
{
    static const double origin[] = { 0, -1 }, step[] = { 1.0 / 255, 2.0 / 255 };
    for (int k = 0; k < 2; k++) {
        struct set s = set_on_grid(21, 600, 60, origin[k], step[k], 256);
        for (size_t i = 0; i < s.n * s.d; i++)
            s.x[i] = (double)(float)s.x[i];
        hinge_matrix x = set_typed(&s, HINGE_F32, false);
        struct hg_points points = { .x = x, .n = s.n, .nonzeros = 60 };
        assert_int_equal(integers_of(&points)->grid.most, 0);
        struct hg_integers n;
        assert_int_equal(hg_integers_init(&n, &points, true, hg_cpu_level(0), 2, NULL), HINGE_OK);
        assert_true(n.grid.most == 255 && n.grid.rough);
        for (size_t i = 0; i < s.n * s.d; i++)
            assert_near(n.grid.origin + n.code[i] * n.grid.step, s.x[i], 0x1p-23);
        points.integers = &n;
        for (int f32 = 0; f32 < 2; f32++) {
            hinge_dtype of = f32 ? HINGE_F32 : HINGE_F64;
            struct hg_tiler tiler = { hinge_kernel_rbf(0.1), hg_maps(4), of, 60, .maker = NULL };
            hg_tiler_choose(&tiler, &points);
            assert_true((tiler.maker == &hg_by_integers) == (f32 == 1));
        }
        hg_integers_free(&n);
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        params.kernel = hinge_kernel_rbf(0.02);
        params.C = 100;
        params.eps = 1e-5;
        hinge_report report;
        hinge_model *model = trained(&x, s.y, &params, &report);
        if (hg_cpu_level(0) >= 4)
            assert_says(report.path, "integers f");
        assert_true(plain_certify(model, &s, &params).kkt <= 2 * params.eps * 1.01);
        double *ours = fit_decisions(model, &s, HINGE_PRECISION_AUTO), *plain = plain_decisions(model, &s);
        assert_true(largest_difference(ours, plain, s.n) < 1e-4 * 100);
    }
}

/* Examples that are not on the support vectors' grid are predicted by reals. */
TEST(test_predictions_off_the_grid)
{
    struct set s = set_on_grid(12, 400, 50, 0, 1, 256);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    params.kernel = hinge_kernel_rbf(1e-6);
    hinge_model *model = fit(&s, &params, NULL);
    struct set t = set_on_grid(13, 70, 50, 0, 1, 256);
    for (int k = 0; k < 3; k++) {
        double *ours = fit_decisions(model, &t, HINGE_PRECISION_F64), *plain = plain_decisions(model, &t);
        assert_true(largest_difference(ours, plain, t.n) < 1e-10);
        ours = fit_decisions(model, &t, HINGE_PRECISION_AUTO);
        assert_true(largest_difference(ours, plain, t.n) < 2e-4);
        t.x[k * 100 + 7] = k == 0 ? 0.5 : 1e4;
    }
}

/* A feature of so large values that others are no more than what rounding takes of it, or that values of its own are:
 * what numbers would lose of them, plain sums show. */
TEST(test_what_large_values_hide)
{
    const hinge_kernel kernels[] = { hinge_kernel_rbf(1e-3), hinge_kernel_sigmoid(1e-3, 0),
                                     hinge_kernel_matern32(1e-3) };
    for (int k = 0; k < 6; k++) {
        struct set s = set_on_grid(14 + (uint64_t)k, 200, 100, 0, 1, 2);
        for (size_t i = 0; i < s.n; i++) {
            s.x[i * s.d] *= k < 3 ? 1e17 : 1.5e18 + 1024. * (double)(i % 2);
            s.x[i * s.d + 1] *= k < 3 ? 1 : 1.5e18;
            s.y[i] = (k < 3 ? s.x[i * s.d + 2] : (double)(i % 2)) > 0 ? 1 : -1;
        }
        for (size_t f = 2; k >= 3 && f < s.n * s.d; f += f % s.d == s.d - 1 ? 3 : 1)
            s.x[f] *= 1.5e18;
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        params.kernel = kernels[k % 3];
        hinge_model *model = converged(&s, &params, NULL);
        assert_true(plain_certify(model, &s, &params).kkt <= params.eps * 1.05);
        double *ours = fit_decisions(model, &s, HINGE_PRECISION_F64), *plain = plain_decisions(model, &s);
        assert_true(largest_difference(ours, plain, s.n) < 1e-9);
    }
}
