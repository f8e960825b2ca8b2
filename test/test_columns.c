/* Matrices by columns, of bytes and of two-byte floats: all that takes a matrix does the same with it as with the same
 * values by rows, in f64. */
#include "test/support.h"

#include <hinge/io.h>
#include <hinge/scaling.h>
#include <hinge/theory.h>

enum { N = 150, D = 6, LD = N + 3 };

static double by_rows[N * D], by_columns[D * LD], signs[N], targets[N];
static float by_rows32[N * D], by_columns32[D * LD];

/* The same values twice, all of them floats. */
static void fill(hinge_dtype type, bool sparse, hinge_matrix *rows, hinge_matrix *columns)
{
    struct set set = set_two_class(3, N, D, 1.5);
    for (size_t i = 0; i < N; i++) {
        for (size_t c = 0; c < D; c++) {
            float value = sparse && (i + c) % 5 ? 0 : (float)set.x[i * D + c];
            by_rows[i * D + c] = by_rows32[i * D + c] = value;
            by_columns[c * LD + i] = by_columns32[c * LD + i] = value;
        }
        signs[i] = set.y[i];
        targets[i] = set.x[i * D] + 0.5 * set.x[i * D + 1];
    }
    for (size_t c = 0; c < D; c++) /* between the columns */
        by_columns[c * LD + N] = by_columns32[c * LD + N] = NAN;
    *rows = type == HINGE_F32 ? hinge_matrix_f32(by_rows32, N, D) : hinge_matrix_f64(by_rows, N, D);
    *columns = *rows;
    columns->data = type == HINGE_F32 ? (const void *)by_columns32 : by_columns;
    columns->order = HINGE_COLUMN_MAJOR;
    columns->stride = LD;
}

static void same_training(const hinge_matrix *rows, const hinge_matrix *columns, const double *y, hinge_params params)
{
    double one[2 * N], two[2 * N], labels[N], again[N];
    hinge_certificate certificate;
    hinge_model *a = trained(rows, y, &params, NULL), *b = trained(columns, y, &params, NULL);
    assert_true(same_text(text_of(a), text_of(b)));
    for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F64; precision++) {
        hinge_predict_options options = { .precision = (hinge_precision)precision };
        assert_int_equal(hinge_predict(a, rows, &options, labels, one, NULL), HINGE_OK);
        assert_int_equal(hinge_predict(a, columns, &options, again, two, NULL), HINGE_OK);
        assert_memory_equal(labels, again, sizeof labels);
        assert_memory_equal(one, two, N * sizeof *one);
    }
    if (hinge_model_has_probability(a) && params.task != HINGE_EPSILON_SVR) {
        assert_int_equal(hinge_predict_probability(a, rows, NULL, labels, one, NULL), HINGE_OK);
        assert_int_equal(hinge_predict_probability(a, columns, NULL, again, two, NULL), HINGE_OK);
        assert_memory_equal(one, two, sizeof one);
    }
    assert_int_equal(hinge_certify(b, columns, y, &params, &certificate, NULL), HINGE_OK);
    assert_true(fabs(certificate.gap) <= 1e-2 * (1 + fabs(certificate.primal)));
    assert_int_equal(hinge_model_locate(b, columns, y, NULL, NULL), HINGE_OK);
    assert_int_equal(hinge_cross_validate(rows, y, &params, 4, labels, NULL, NULL), HINGE_OK);
    assert_int_equal(hinge_cross_validate(columns, y, &params, 4, again, NULL, NULL), HINGE_OK);
    assert_memory_equal(labels, again, sizeof labels);
}

TEST(trainings)
{
    const hinge_kernel kernels[] = { hinge_kernel_linear(), hinge_kernel_polynomial(2, 0.5, 1), hinge_kernel_rbf(0.2),
                                     hinge_kernel_sigmoid(0.05, 0) };
    const hinge_scaling ends = { .lower = -1, .upper = 1 };
    for (int sparse = 0; sparse < 2; sparse++)
        for (int type = HINGE_F32; type <= HINGE_F64; type++)
            for (size_t k = 0; k < 4; k++) {
                hinge_matrix rows, columns;
                hinge_params params = hinge_params_default(HINGE_C_SVC);
                fill((hinge_dtype)type, sparse, &rows, &columns);
                params.kernel = kernels[k];
                params.eps = 1e-4;
                params.probability = k == 2;
                same_training(&rows, &columns, signs, params);
                params.task = HINGE_EPSILON_SVR;
                same_training(&rows, &columns, targets, params);
                params.precision = HINGE_PRECISION_F64;
                params.scaling = &ends;
                params.probability = 0;
                hinge_model *a = trained(&rows, targets, &params, NULL), *b = trained(&columns, targets, &params, NULL);
                assert_memory_equal(hinge_model_rho(a), hinge_model_rho(b), sizeof(double));
            }
}

TEST(precomputed)
{
    struct set set = set_two_class(9, 40, 3, 1);
    hinge_kernel rbf = hinge_kernel_rbf(0.4);
    double *gram = plain_gram(&rbf, &set, &set);
    hinge_matrix rows = hinge_matrix_f64(gram, 40, 40), columns = rows;
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    columns.order = HINGE_COLUMN_MAJOR; /* symmetric, but for what is asked of row 5 */
    params.kernel = hinge_kernel_precomputed();
    hinge_model *a = trained(&rows, set.y, &params, NULL), *b = trained(&columns, set.y, &params, NULL);
    assert_true(same_text(text_of(a), text_of(b)));
    double turned[80], one[2], two[2]; /* 2 rows of 40 by columns */
    for (size_t c = 0; c < 40; c++)
        for (size_t i = 0; i < 2; i++)
            turned[2 * c + i] = gram[(5 + i) * 40 + c];
    hinge_matrix some = {
        .data = turned, .type = HINGE_F64, .rows = 2, .cols = 40, .stride = 2, .order = HINGE_COLUMN_MAJOR
    };
    rows = hinge_matrix_f64(gram + 5 * 40, 2, 40);
    assert_int_equal(hinge_predict(a, &rows, NULL, NULL, one, NULL), HINGE_OK);
    assert_int_equal(hinge_predict(a, &some, NULL, NULL, two, NULL), HINGE_OK);
    assert_memory_equal(one, two, sizeof one);
}

static void same_theory(const hinge_matrix *rows, const hinge_matrix *columns)
{
    double w[2][D], b[2], f[2][N], radius[2], z[2][N * 28];
    hinge_kernel kernel = hinge_kernel_rbf(0.3), square = hinge_kernel_polynomial(2, 1, 1);
    hinge_mercer mercer[2];
    hinge_scaling scaling[2];
    hinge_kinds kinds[2];
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = trained(rows, signs, &params, NULL);
    for (int k = 0; k < 2; k++) {
        const hinge_matrix *x = k ? columns : rows;
        hinge_perceptron_options p = { .rounds = 5, .batch = 8, .bias = 1 };
        hinge_sgd_options s = { .lambda = 0.01, .epochs = 3, .bias = 1 };
        assert_int_equal(hinge_perceptron(x, signs, &p, w[k], &b[k], NULL, NULL, NULL), HINGE_OK);
        assert_int_equal(hinge_sgd(x, signs, &s, w[k], &b[k], NULL, NULL), HINGE_OK);
        s.bias = 0;
        assert_int_equal(hinge_sgd(x, signs, &s, w[k], NULL, NULL, NULL), HINGE_OK);
        assert_int_equal(hinge_linear_decisions(x, w[0], NULL, 1, 0, f[k], NULL), HINGE_OK);
        assert_int_equal(hinge_radius(x, &kernel, 1, 0, &radius[k], NULL), HINGE_OK);
        assert_int_equal(hinge_mercer_check(x, &kernel, 0, 0, &mercer[k], NULL), HINGE_OK);
        assert_int_equal(hinge_polynomial_features(x, &square, 0, z[k], NULL), HINGE_OK);
        assert_int_equal(hinge_scaling_fit(&scaling[k], x, NULL, 0, 1, NULL), HINGE_OK);
        assert_int_equal(hinge_kinds_of(model, x, signs, &params, 0, 1e-3, &kinds[k], NULL, NULL), HINGE_OK);
    }
    assert_memory_equal(w[0], w[1], sizeof w[0]);
    assert_true(b[0] == b[1] && radius[0] == radius[1] && mercer[0].smallest == mercer[1].smallest);
    assert_true(largest_difference(f[0], f[1], N) <= 1e-13);
    assert_memory_equal(z[0], z[1], sizeof z[0]);
    assert_memory_equal(scaling[0].low, scaling[1].low, D * sizeof(double));
    assert_memory_equal(&kinds[0], &kinds[1], sizeof kinds[0]);
    hinge_scaling_free(&scaling[0]);
    hinge_scaling_free(&scaling[1]);
}

TEST(theory)
{
    for (int type = HINGE_F32; type <= HINGE_F64; type++) {
        hinge_matrix rows, columns;
        fill((hinge_dtype)type, false, &rows, &columns);
        same_theory(&rows, &columns);
    }
}

/* Whole numbers in types of one and two bytes, by rows and by columns, beside the same in f64. */
TEST(small_types)
{
    static uint8_t bytes[2][D * LD];
    static uint16_t halves[2][D * LD];
    hinge_matrix rows, columns;
    fill(HINGE_F64, false, &rows, &columns);
    for (int has_signs = 0; has_signs < 2; has_signs++) {
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; c < D; c++) {
                /* 0 to 6, or -3 to 3, and what these are in two bytes */
                static const uint16_t half[] = { 0xc200, 0xc000, 0xbc00, 0,      0x3c00,
                                                 0x4000, 0x4200, 0x4400, 0x4500, 0x4600 };
                int k = (int)(i * 7 + c * 5 + i * c) % 7 - (signs[i] > 0 ? 1 : 0), v = (k < 0 ? 0 : k) - 3 * has_signs;
                by_rows[i * D + c] = v;
                bytes[0][i * D + c] = bytes[1][c * LD + i] = (uint8_t)v;
                halves[0][i * D + c] = halves[1][c * LD + i] = half[v + 3];
            }
        for (int by_columns = 0; by_columns < 2; by_columns++)
            for (int two = 0; two < 2; two++) {
                hinge_matrix x = by_columns ? columns : rows;
                x.type = two ? HINGE_F16 : has_signs ? HINGE_I8 : HINGE_U8;
                x.data = two ? (const void *)halves[by_columns] : bytes[by_columns];
                hinge_params params = hinge_params_default(HINGE_C_SVC);
                params.kernel = two ? hinge_kernel_rbf(0.02) : hinge_kernel_polynomial(2, 0.1, 1);
                params.eps = 1e-4;
                params.probability = 1;
                same_training(&rows, &x, signs, params);
                params.task = HINGE_EPSILON_SVR;
                same_training(&rows, &x, targets, params);
                same_theory(&rows, &x);
                hinge_data data;
                const char *path = path_of("small");
                assert_ok(hinge_data_write(path, &x, signs, &err));
                assert_ok(hinge_data_read(path, NULL, &data, &err));
                assert_memory_equal(data.x.data, by_rows, sizeof by_rows);
                hinge_data_free(&data);
            }
    }
}

TEST(files_and_refusals)
{
    hinge_matrix rows, columns;
    hinge_data data;
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model;
    const char *path = path_of("data");
    fill(HINGE_F64, true, &rows, &columns);
    assert_int_equal(hinge_data_write(path, &columns, signs, &err), HINGE_OK);
    assert_int_equal(hinge_data_read(path, NULL, &data, &err), HINGE_OK);
    assert_memory_equal(data.x.data, by_rows, sizeof by_rows);
    hinge_data_free(&data);
    columns.stride = N - 1;
    assert_refused(hinge_train(&model, &columns, signs, &params, NULL, &err), HINGE_EINVAL, "less than rows");
    columns.stride = LD;
    columns.order = (hinge_order)2;
    assert_refused(hinge_train(&model, &columns, signs, &params, NULL, &err), HINGE_EINVAL, "order");
    columns.order = HINGE_COLUMN_MAJOR;
    by_columns[2 * LD + 7] = INFINITY;
    assert_refused(hinge_train(&model, &columns, signs, &params, NULL, &err), HINGE_EINVAL, "row 7, column 2");
}
