/*
 * Data of every type: trainings from bytes and floats of two bytes beside those from the same values in doubles; models
 * whose support vectors are bytes, and files of them; kernel blocks by the scalar definition; what is no number of a
 * matrix of two-byte floats.
 */
#include "lib/model/model.h"
#include "test/typed.h"

#include <hinge/explain.h>
#include <hinge/io.h>
#include <math.h>

/* What is asked of all types: kernel blocks, trainings, predictions, certificates. */
TEST(test_trainings_from_every_type)
{
    for (int levels = 2; levels <= 256; levels += 127)
        for (int task = 0; task < 3; task++) {
            struct set s = set_on_grid(9, 500, 41, 0, 1, (unsigned)HG_MIN(levels, 128)),
                       t = set_on_grid(10, 90, 41, 0, 1, 100);
            if (levels == 2)
                t = set_on_grid(10, 90, 41, 0, 1, 2);
            hinge_params params =
                hinge_params_default((hinge_task[]){ HINGE_C_SVC, HINGE_ONE_CLASS, HINGE_EPSILON_SVR }[task]);
            params.kernel = hinge_kernel_rbf(0.5 / (41.0 * levels * levels));
            params.C = 10;
            params.nu = 0.3;
            hinge_report report;
            double objective = 0, *first = NULL;
            for (int k = 0; k < TYPES; k++) {
                hinge_matrix x = set_typed(&s, types[k], false), z = set_typed(&t, types[k], k == 3);
                hinge_model *model = trained(&x, s.y, &params, &report);
                assert_int_equal(report.outcome, HINGE_CONVERGED);
                if (hg_cpu_level(0) >= 4 && levels > 2)
                    assert_says(report.path, "integers f");
                double violation = plain_certify(model, &s, &params).kkt;
                assert_true(violation <= 2 * params.eps * 1.01);
                objective = k == 0 ? report.objective : objective;
                assert_close(report.objective, objective, 1e-12);
                double decisions[90], *plain = plain_decisions(model, &t);
                assert_ok(hinge_predict(model, &z, NULL, NULL, decisions, &err));
                assert_true(largest_difference(decisions, plain, 90) < 1e-9);
                first = k == 0 ? fit_beta(model, s.n) : first;
                assert_memory_equal(first, fit_beta(model, s.n), s.n * sizeof *first);
                hinge_certificate certificate;
                assert_ok(hinge_certify(model, &x, s.y, &params, &certificate, &err));
                assert_close(certificate.dual, -report.objective, 1e-9);
            }
        }
}

/* All that models answer about examples, one after the other: decision values in three precisions, gradients, Shapley
 * values. */
static double *answers(const hinge_model *model, const hinge_matrix *x, size_t *count)
{
    bool product = hinge_model_kernel(model).type == HINGE_LAPLACIAN; /* any of those that hinge_explain takes */
    size_t each = x->rows * x->cols;
    double *all = get(3 * x->rows + 2 * each, sizeof *all), *to = all, base;
    for (int k = 0; k < 3; k++, to += x->rows) {
        hinge_predict_options o = { .precision = (hinge_precision)k };
        assert_ok(hinge_predict(model, x, &o, NULL, to, &err));
    }
    assert_ok(hinge_gradients(model, x, NULL, to, &err));
    if (product)
        assert_ok(hinge_explain(model, x, x, NULL, to + each, &base, &err));
    *count = 3 * x->rows + (product ? 2 : 1) * each;
    return all;
}

/* Puts the support vectors of a model into f64, and leaves what is derived of them; returns them as they were. */
static void *widened(hinge_model *model)
{
    void *bytes = model->sv;
    double *sv = hg_alloc(model->n_sv * model->d, sizeof *sv);
    for (size_t i = 0; i < model->n_sv; i++)
        assert_ok(hinge_model_sv(model, i, sv + i * model->d, &err));
    model->sv = sv;
    model->sv_type = HINGE_F64;
    return bytes;
}

/* Large models of bytes hold their support vectors as such, whatever type the data had, and answer and are saved as if
 * these were doubles. One row in eight stands twice, for prediction to merge. */
TEST(test_models_of_bytes)
{
    enum { N = 512, D = 150, ASKED = 3 };
    const hinge_kernel kernels[] = { hinge_kernel_rbf(1e-7), hinge_kernel_linear(), hinge_kernel_polynomial(2, 1e-6, 1),
                                     hinge_kernel_laplacian(1e-4) };
    for (int k = 0; k < 3 * 4; k++) {
        bool has_signs = k % 3 == 1;
        hinge_dtype held = has_signs ? HINGE_I8 : HINGE_U8;
        struct set s = set_on_grid(21, N, D, has_signs ? -128 : 0, 1, k % 3 == 2 ? 128 : 256);
        for (size_t i = 0; i < N; i++)
            s.y[i] = i % 16 < 8 ? 1 : -1;
        for (size_t i = 8; i < N; i += 8)
            memcpy(s.x + i * D, s.x + (i - 1) * D, D * sizeof *s.x), s.y[i] = s.y[i - 1];
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        params.kernel = kernels[k / 3];
        params.C = params.kernel.type == HINGE_LINEAR ? 1e-9 : 1e-5; /* that leaves all rows at their bounds */
        hinge_matrix x = set_typed(&s, k % 3 == 2 ? HINGE_I8 : held, k % 2 != 0), same = set_matrix(&s);
        hinge_model *model = trained(&x, s.y, &params, NULL), *other = trained(&same, s.y, &params, NULL), *read = NULL;
        assert_true(model->n_sv > N * 9 / 10);
        assert_true(model->sv_type == held && other->sv_type == held);
        assert_true((model->merged != NULL) == (kernels[k / 3].type == HINGE_RBF || kernels[k / 3].degree == 2));
        for (size_t i = 0; i < model->n_sv; i++)
            for (size_t f = 0; f < D; f++)
                assert_true(hg_model_value(model, i, f) == s.x[model->sv_index[i] * D + f]);
        struct text text = text_of(model);
        assert_true(same_text(text, text_of(other)));
        assert_ok(hinge_model_parse(&read, "text", text.bytes, text.size, NULL, &err));
        given_back(read);
        assert_true(read->sv_type == held && same_text(text, text_of(read)));
        struct set asked = set_on_grid(22, ASKED, D, has_signs ? -128 : 0, 1, 128);
        hinge_matrix z = set_typed(&asked, held, false);
        size_t count;
        double *first = answers(model, &z, &count);
        if (params.kernel.type != HINGE_LAPLACIAN)
            assert_true(largest_difference(first, plain_decisions(model, &asked), ASKED) < 1e-9);
        assert_memory_equal(answers(read, &z, &count), first, count * sizeof *first);
        hinge_model *predicts = read->merged != NULL ? read->merged : read;
        void *bytes = widened(predicts);
        assert_memory_equal(answers(read, &z, &count), first, count * sizeof *first);
        assert_true(same_text(text, text_of(read)));
        hg_free(predicts->sv);
        predicts->sv = bytes;
        predicts->sv_type = held;
        assert_ok(hinge_model_widen(read, D + 1, &err));
        assert_true(read->sv_type == held && hg_model_value(read, 3, D) == 0 &&
                    hg_model_value(read, 3, D - 1) == hg_model_value(model, 3, D - 1));
    }
}

/* -0 and one half are no bytes, and -1 and 255 none of one type. */
TEST(test_models_of_no_bytes)
{
    enum { N = 512, D = 150 };
    static const double strange[][2] = { { -0.0, 0 }, { 0.5, 1 }, { -1, 255 }, { 256, 256 }, { -129, 5 } };
    for (size_t k = 0; k < sizeof strange / sizeof *strange; k++) {
        struct set s = set_on_grid(23, N, D, 0, 1, 127);
        for (size_t i = 0; i < N; i++)
            s.y[i] = i % 2 == 0 ? 1 : -1;
        s.x[400 * D + 7] = strange[k][0], s.x[411 * D + 8] = strange[k][1];
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        params.kernel = hinge_kernel_rbf(1e-6);
        params.C = 1e-5;
        hinge_matrix x = set_matrix(&s);
        hinge_model *model = trained(&x, s.y, &params, NULL);
        assert_true(model->n_sv == N && model->sv_type == HINGE_F64);
        for (size_t i = 0; i < model->n_sv; i++)
            assert_memory_equal((double *)model->sv + i * D, s.x + model->sv_index[i] * D, D * sizeof *s.x);
        hinge_model *read = written_and_read(model);
        assert_true(read->sv_type == HINGE_F64);
        assert_memory_equal(read->sv, model->sv, N * D * sizeof(double));
    }
}

/* A line that is wrong is the first of them that is told, whether a value before it is no byte or not. */
TEST(test_lines_behind_values_of_no_bytes)
{
    enum { N = 2048, D = 150, LINES = 12 }; /* of the header, SV among them */
    struct set s = set_on_grid(5820030, N, D, 0, 1, 127);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    for (size_t i = 0; i < N; i++)
        s.y[i] = i < N / 2 ? 1 : -1; /* so that vectors stay in their order */
    params.kernel = hinge_kernel_rbf(1e-6);
    params.C = 1e-5;
    for (size_t k = 0; k < 4; k++) {
        s.x[3 * D] = k % 2 == 0 ? 0.5 : 1;
        struct text text = text_of(fit(&s, &params, NULL));
        const char *line[N + LINES + 1] = { text.bytes };
        size_t lines = 1, header = 0;
        for (size_t i = 0; i < text.size && lines < N + LINES; i++)
            if (text.bytes[i] == '\n')
                line[lines++] = text.bytes + i + 1;
        while (memcmp(line[header], "SV", 2) != 0)
            header++;
        size_t first = header + (k < 2 ? 8 : 1200), number;
        *strchr(line[first], ':') = ';';
        *strchr(line[header + 1700], ':') = ';';
        hinge_model *model;
        assert_refused(hinge_model_parse(&model, "text", text.bytes, text.size, NULL, &err), HINGE_EFORMAT, "text:");
        assert_true(sscanf(err.text, "text:%zu", &number) == 1 && number == first + 1);
    }
}

TEST(test_kernel_blocks_of_bytes)
{
    struct set a = set_on_grid(14, 70, 33, -128, 1, 256), b = set_on_grid(15, 50, 33, -128, 1, 256);
    hinge_kernel kernel = hinge_kernel_rbf(1e-5);
    for (int k = 0; k < 2 * TYPES; k++) {
        if (types[k / 2] == HINGE_U8)
            continue;
        hinge_matrix x = set_typed(&a, types[k / 2], false), z = set_typed(&b, HINGE_I8, k % 2 != 0);
        double out[70 * 50], square[70 * 70];
        assert_ok(hinge_kernel_block(&kernel, &x, &z, NULL, HINGE_F64, out, 50, &err));
        assert_ok(hinge_kernel_block(&kernel, &x, &x, NULL, HINGE_F64, square, 70, &err));
        for (size_t i = 0; i < 70; i++) {
            for (size_t j = 0; j < 50; j++)
                assert_near(out[i * 50 + j], plain_kernel(&kernel, a.x + i * 33, b.x + j * 33, 33), 1e-11);
            for (size_t j = 0; j < 70; j++)
                assert_near(square[i * 70 + j], plain_kernel(&kernel, a.x + i * 33, a.x + j * 33, 33), 1e-11);
        }
    }
}

/* ---- floats of two bytes ----------------------------------------------------------------------------------------- */

TEST(test_floats_of_two_bytes)
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
        double sign = bits >> 15 ? -1 : 1, value = hg_from_f16((uint16_t)bits);
        if (exponent == 31)
            assert_true(fraction == 0 ? value == sign * INFINITY : isnan(value));
        else
            assert_true(value == sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25)));
    }
    uint16_t half[6] = { 0x3c00, 0x0001, 0x83ff, 0x7bff, 0xc000, 0x0000 }; /* 1, subnormals, 65504, -2, 0 */
    hinge_matrix x = { half, HINGE_F16, 3, 2, 2 };
    double y[3] = { 1, -1, 1 };
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    trained(&x, y, &params, NULL);
    hinge_model *model;
    half[3] = 0x7c00;
    assert_refused(hinge_train(&model, &x, y, &params, NULL, &err), HINGE_EINVAL, "x: row 1, column 1 is inf");
    half[3] = 0x7e01;
    assert_refused(hinge_train(&model, &x, y, &params, NULL, &err), HINGE_EINVAL, "x: row 1, column 1 is nan");
    x.type = (hinge_dtype)6;
    assert_refused(hinge_train(&model, &x, y, &params, NULL, &err), HINGE_EINVAL,
                   "x: not a matrix whose type is a hinge_dtype");
    x.type = HINGE_U8;
    assert_refused(hinge_kernel_block(&params.kernel, &x, &x, NULL, HINGE_U8, half, 3, &err), HINGE_EINVAL,
                   "neither HINGE_F32 nor HINGE_F64");
}
