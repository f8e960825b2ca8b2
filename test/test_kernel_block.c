/*
 * hinge_kernel_block against the plain scalar definition of each kernel: types and orders of both matrices and of what
 * comes out, sizes around the tiles' edges, dense data, few non-zeros, features of two values; K(A, A) symmetric to the
 * bit; equal rows; what is refused.
 */
#include "test/support.h"

enum { PAD = 3 };

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* A matrix in any layout, and its values by rows. */
struct rows {
    double *plain;
    void *data;
    hinge_matrix view;
};

static struct rows rows_new(const double *values, size_t n, size_t d, hinge_dtype type, hinge_order order)
{
    struct rows r = { malloc((n * d + 1) * 8), NULL, { NULL, type, n, d, 0, order } };
    bool by_rows = order == HINGE_ROW_MAJOR;
    r.view.stride = (by_rows ? d : n) + PAD;
    size_t lines = by_rows ? n : d;
    r.data = malloc((lines * r.view.stride + 1) * 8);
    for (size_t at = 0; at < lines * r.view.stride; at++) /* what is between the lines is not read */
        if (type == HINGE_F32)
            ((float *)r.data)[at] = NAN;
        else
            ((double *)r.data)[at] = NAN;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < d; c++) {
            size_t at = by_rows ? i * r.view.stride + c : c * r.view.stride + i;
            double v = values[i * d + c];
            if (type == HINGE_F32)
                v = ((float *)r.data)[at] = (float)v;
            else
                ((double *)r.data)[at] = v;
            r.plain[i * d + c] = v;
        }
    r.view.data = r.data;
    return r;
}

static void rows_free(struct rows *r)
{
    free(r->plain);
    free(r->data);
}

enum data { DENSE, SPARSE, TWO_VALUES, FAR, DATA };

static double *draw_data(enum data data, uint64_t seed, size_t n, size_t d)
{
    double *x = malloc((n * d + 1) * 8);
    for (size_t at = 0; at < n * d; at++) {
        double u = draw_unit(&seed);
        x[at] = data == TWO_VALUES ? u < 0.2 : data == SPARSE && u < 0.9 ? 0 : 2 * draw_unit(&seed) - 1;
        x[at] += data == FAR ? 3000 : 0;
    }
    return x;
}

static int user(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < b->rows; j++) {
            double sum = 0;
            for (size_t c = 0; c < a->cols; c++)
                sum +=
                    fabs(((const double *)a->data)[i * a->stride + c] - ((const double *)b->data)[j * b->stride + c]);
            out[i * ld + j] = 1 / (1 + sum);
        }
    return cookie != NULL;
}

static hinge_kernel kernel_of(int type)
{
    return type == HINGE_LINEAR       ? hinge_kernel_linear()
           : type == HINGE_POLYNOMIAL ? hinge_kernel_polynomial(3, 0.1, 0.5)
           : type == HINGE_RBF        ? hinge_kernel_rbf(0.2)
           : type == HINGE_SIGMOID    ? hinge_kernel_sigmoid(0.05, -0.1)
                                      : hinge_kernel_user("l1", user, NULL);
}

static double truth(const hinge_kernel *k, const double *x, const double *z, size_t d)
{
    double value;
    if (k->type != HINGE_USER)
        return plain_kernel(k, x, z, d);
    hinge_matrix a = hinge_matrix_f64(x, 1, d), b = hinge_matrix_f64(z, 1, d);
    user(NULL, &a, &b, &value, 1);
    return value;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static double at(const void *out, hinge_dtype type, size_t i)
{
    return type == HINGE_F32 ? (double)((const float *)out)[i] : ((const double *)out)[i];
}

/* How wrong values may be that are made in a type; far from the origin, products of 1e7 a feature lose their digits
 * without the kernel's being wrong, so that only a kernel of differences is tried there. */
static double allowed(const hinge_kernel *k, hinge_dtype made, double value, size_t d)
{
    double scale = k->type == HINGE_POLYNOMIAL ? pow(0.5 + 0.1 * d, 3) : k->type == HINGE_LINEAR ? d : 1;
    return (made == HINGE_F32 ? 3e-6 : 1e-11) * (scale + fabs(value));
}

static void check_values(const hinge_kernel *k, const struct rows *a, const struct rows *b, hinge_precision precision,
                         hinge_dtype type)
{
    size_t n = a->view.rows, m = b->view.rows, d = a->view.cols, ld = m + PAD;
    double *out = malloc((n * ld + 1) * 8);
    hinge_predict_options options = { .threads = 2, .precision = precision };
    memset(out, 0x5a, (n * ld + 1) * 8);
    assert_ok(hinge_kernel_block(k, &a->view, &b->view, &options, type, out, ld, &err));
    hinge_dtype made = precision == HINGE_PRECISION_F64 || (precision == HINGE_PRECISION_AUTO && type == HINGE_F64)
                           ? HINGE_F64
                           : HINGE_F32;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            double wanted = truth(k, a->plain + i * d, b->plain + j * d, d), got = at(out, type, i * ld + j);
            double error = allowed(k, made, wanted, d) + (type == HINGE_F32 ? 0x1p-23 * fabs(wanted) : 0);
            if (!(fabs(got - wanted) <= error))
                fail_msg("%s, %zu x %zu x %zu: K(%zu, %zu) is %.17g, not %.17g", hinge_kernel_info(k->type)->keyword, n,
                         m, d, i, j, got, wanted);
        }
        for (size_t j = m * (type == HINGE_F32 ? 4 : 8); j < ld * (type == HINGE_F32 ? 4 : 8); j++)
            assert_int_equal(((unsigned char *)out)[i * ld * (type == HINGE_F32 ? 4 : 8) + j], 0x5a);
    }
    free(out);
}

TEST(values_are_those_of_the_definition)
{
    static const size_t shape[][3] = { { 1, 1, 1 }, { 3, 70, 7 }, { 65, 33, 130 }, { 515, 64, 5 }, { 2, 530, 40 } };
    uint64_t seed = 5;
    for (int type = 0; type < 5; type++)
        for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
            for (int data = 0; data < DATA; data++)
                for (unsigned bits = 0; bits < 16; bits++) {
                    hinge_kernel k = kernel_of(type < HINGE_PRECOMPUTED ? type : HINGE_USER);
                    size_t n = shape[s][0], m = shape[s][1], d = shape[s][2];
                    if (data == FAR && k.type != HINGE_RBF && k.type != HINGE_USER)
                        continue;
                    double *x = draw_data(data, draw(&seed), n, d), *z = draw_data(data, draw(&seed), m, d);
                    memcpy(z + (m - 1) * d, x, d * sizeof *z); /* two are equal, if their types are */
                    struct rows a = rows_new(x, n, d, bits & 1 ? HINGE_F32 : HINGE_F64, bits >> 1 & 1),
                                b = rows_new(z, m, d, bits & 4 ? HINGE_F32 : HINGE_F64, bits >> 3 & 1);
                    check_values(&k, &a, &b, (bits + s) % 3, bits % 5 < 3 ? HINGE_F32 : HINGE_F64);
                    rows_free(&a);
                    rows_free(&b);
                    free(x);
                    free(z);
                }
}

/* Values too large for f32's products are made in f64 all the same. */
TEST(features_beyond_f32)
{
    double x[] = { 1e30, 0, 1e30, 1e29 };
    float out[4];
    hinge_matrix m = hinge_matrix_f64(x, 2, 2);
    hinge_kernel narrow = hinge_kernel_rbf(1e-60), linear = hinge_kernel_linear();
    assert_int_equal(hinge_kernel_block(&narrow, &m, &m, NULL, HINGE_F32, out, 2, NULL), HINGE_OK);
    assert_true(out[0] == 1 && fabsf(out[1] - expf(-0.01F)) < 1e-6F);
    assert_int_equal(hinge_kernel_block(&linear, &m, &m, NULL, HINGE_F32, out, 2, NULL), HINGE_OK);
    assert_true(isinf(out[0]) && out[0] > 0);
}

/* ---- one matrix -------------------------------------------------------------------------------------------------- */

TEST(symmetric_to_the_bit)
{
    for (int type = 0; type < 5; type++)
        for (int data = 0; data < FAR; data++)
            for (unsigned bits = 0; bits < 4; bits++) {
                size_t n = 1027, d = 37;
                hinge_kernel k = kernel_of(type < HINGE_PRECOMPUTED ? type : HINGE_USER);
                hinge_dtype out_type = bits & 1 ? HINGE_F32 : HINGE_F64;
                double *x = draw_data(data, 9, n, d), *one = malloc(n * n * 8), *three = malloc(n * n * 8);
                memcpy(x + 600 * d, x + 5 * d, d * sizeof *x);
                struct rows a = rows_new(x, n, d, bits & 2 ? HINGE_F32 : HINGE_F64, bits == 3);
                hinge_predict_options options = { .threads = 1 }, more = { .threads = 3 };
                assert_int_equal(hinge_kernel_block(&k, &a.view, &a.view, &options, out_type, one, n, NULL), HINGE_OK);
                assert_int_equal(hinge_kernel_block(&k, &a.view, &a.view, &more, out_type, three, n, NULL), HINGE_OK);
                assert_memory_equal(one, three, n * n * (out_type == HINGE_F32 ? 4 : 8));
                for (size_t i = 0; i < n; i++) {
                    for (size_t j = 0; j < i; j++)
                        assert_true(at(one, out_type, i * n + j) == at(one, out_type, j * n + i));
                    assert_true(k.type != HINGE_RBF || at(one, out_type, i * n + i) == 1);
                    double wanted = truth(&k, a.plain + i * d, a.plain + (i / 2) * d, d);
                    double error = allowed(&k, out_type, wanted, d);
                    assert_true(fabs(at(one, out_type, i * n + i / 2) - wanted) <= error);
                }
                assert_true(k.type != HINGE_RBF || at(one, out_type, 600 * n + 5) == 1);
                rows_free(&a);
                free(x);
                free(one);
                free(three);
            }
}

/* Of two matrices too, whatever their types and orders. */
TEST(equal_rows_have_the_value_1)
{
    size_t n = 70, d = 11;
    double *x = draw_data(DENSE, 4, n, d);
    for (size_t i = 0; i < n * d; i++)
        x[i] = (float)x[i] * 100;
    struct rows a = rows_new(x, n, d, HINGE_F32, HINGE_COLUMN_MAJOR);
    struct rows b = rows_new(x, n, d, HINGE_F64, HINGE_ROW_MAJOR);
    hinge_kernel k = hinge_kernel_rbf(3);
    float *out = get(n * n, sizeof *out);
    assert_int_equal(hinge_kernel_block(&k, &a.view, &b.view, NULL, HINGE_F32, out, n, NULL), HINGE_OK);
    for (size_t i = 0; i < n; i++)
        assert_true(out[i * n + i] == 1);
    rows_free(&a);
    rows_free(&b);
    free(x);
}

/* ---- the edges --------------------------------------------------------------------------------------------------- */

static int stop_at_once(void *arg, const hinge_progress *p)
{
    assert_true(p->n == 1100 && p->n_active < p->n);
    return ++*(int *)arg;
}

TEST(refusals)
{
    double x[] = { 1, 2, 3, 4, 5, 6 }, bad[] = { 1, NAN, 3, 4 }, out[9] = { 7, 7 };
    hinge_matrix a = hinge_matrix_f64(x, 3, 2), b = hinge_matrix_f64(x, 2, 3), c = hinge_matrix_f64(bad, 2, 2);
    hinge_matrix none = a;
    hinge_kernel rbf = hinge_kernel_rbf(1), pre = hinge_kernel_precomputed(), negative = hinge_kernel_rbf(-2),
                 failing = hinge_kernel_user("l1", user, x);
    hinge_predict_options crowd = { .threads = 5000 };
    none.rows = 0;
    const struct {
        const hinge_kernel *kernel;
        const hinge_matrix *a, *b;
        const hinge_predict_options *options;
        int type;
        void *out;
        size_t ld;
        hinge_status status;
        const char *text;
    } try[] = {
        { NULL, &a, &a, NULL, HINGE_F64, out, 3, HINGE_EINVAL, "kernel: NULL" },
        { &pre, &a, &a, NULL, HINGE_F64, out, 3, HINGE_EINVAL, "precomputed" },
        { &negative, &a, &a, NULL, HINGE_F64, out, 3, HINGE_EINVAL, "kernel.gamma" },
        { &rbf, NULL, &a, NULL, HINGE_F64, out, 3, HINGE_EINVAL, "a: not a matrix" },
        { &rbf, &a, NULL, NULL, HINGE_F64, out, 3, HINGE_EINVAL, "b: not a matrix" },
        { &rbf, &a, &b, NULL, HINGE_F64, out, 3, HINGE_EINVAL, "b.cols: 3" },
        { &rbf, &a, &c, NULL, HINGE_F64, out, 3, HINGE_EINVAL, "b: row 0, column 1" },
        { &rbf, &c, &c, NULL, HINGE_F64, out, 3, HINGE_EINVAL, "a: row 0, column 1" },
        { &rbf, &a, &a, &crowd, HINGE_F64, out, 3, HINGE_EINVAL, "threads: 5000" },
        { &rbf, &a, &a, NULL, 7, out, 3, HINGE_EINVAL, "type: 7" },
        { &rbf, &a, &a, NULL, HINGE_F64, out, 2, HINGE_EINVAL, "ld: 2" },
        { &rbf, &a, &a, NULL, HINGE_F64, out, SIZE_MAX / 4, HINGE_ESIZE, "out: 3 x" },
        { &rbf, &a, &a, NULL, HINGE_F64, NULL, 3, HINGE_EINVAL, "out: NULL" },
        { &rbf, &none, &a, NULL, HINGE_F64, NULL, 3, HINGE_OK, "" },
        { &rbf, &a, &none, NULL, HINGE_F64, NULL, 0, HINGE_OK, "" },
    };
    for (size_t i = 0; i < sizeof try / sizeof *try; i++) {
        hinge_status status = hinge_kernel_block(try[i].kernel, try[i].a, try[i].b, try[i].options,
                                                 (hinge_dtype)try[i].type, try[i].out, try[i].ld, &err);
        assert_int_equal(status, try[i].status);
        assert_says(err.text, try[i].text);
    }
    assert_true(out[0] == 7 && out[1] == 7);
    assert_int_equal(hinge_kernel_block(&failing, &a, &a, NULL, HINGE_F64, out, 3, &err), HINGE_ECALLBACK);
}

TEST(a_callback_ends_it)
{
    size_t n = 1100, d = 2;
    int called = 0;
    double *x = draw_data(DENSE, 1, n, d), *out = malloc(n * n * 8);
    hinge_matrix a = hinge_matrix_f64(x, n, d);
    hinge_kernel k = hinge_kernel_rbf(1);
    hinge_predict_options options = { .progress = stop_at_once, .progress_arg = &called };
    assert_int_equal(hinge_kernel_block(&k, &a, &a, &options, HINGE_F64, out, n, &err), HINGE_ECALLBACK);
    assert_int_equal(called, 1);
    assert_non_null(strstr(err.text, "of 1100 rows"));
    free(x);
    free(out);
}
