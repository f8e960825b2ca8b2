/*
 * Kernels made of others (hinge_kernel_combine): values by plain loops over sums of products, in both types and orders;
 * trainings, predictions, certificates and folds by the same values as a matrix or a function of the caller's; files
 * and text; what is refused.
 */
#include "test/support.h"

#include <hinge/explain.h>
#include <hinge/io.h>
#include <hinge/theory.h>

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

enum { COLS = 14 };

/* Columns overlap, and each built-in kernel is there. */
static const hinge_kernel_part all_parts[] = {
    { .kernel = { .type = HINGE_RBF, .gamma = 0.3 }, .first = 0, .count = 5, .factor = 2 },
    { .kernel = { .type = HINGE_POLYNOMIAL, .degree = 2, .gamma = HINGE_GAMMA_AUTO, .coef0 = 1 },
      .first = 3,
      .count = 4,
      .factor = 0.5,
      .times = 1 },
    { .kernel = { .type = HINGE_LINEAR }, .first = 6, .count = 3, .factor = 0.25 },
    { .kernel = { .type = HINGE_LAPLACIAN, .gamma = HINGE_GAMMA_AUTO }, .first = 9 },
    { .kernel = { .type = HINGE_MATERN32, .gamma = 0.7 }, .first = 1, .count = 1, .times = 1 },
    { .kernel = { .type = HINGE_MATERN52, .gamma = 0.1 }, .times = 1 },
    { .kernel = { .type = HINGE_CHI2, .gamma = 0.2 }, .first = 13, .count = 1 },
    { .kernel = { .type = HINGE_TANIMOTO }, .first = 2, .count = 11, .factor = 3 },
};

static hinge_kernel all_kinds(void)
{
    return hinge_kernel_combine(all_parts, sizeof all_parts / sizeof *all_parts);
}

/* What everybody would take first: a distance on some columns and a line in others. */
static hinge_kernel usual(void)
{
    static const hinge_kernel_part parts[] = { { .kernel = { .type = HINGE_RBF, .gamma = 0.4 }, .count = 6 },
                                               { .kernel = { .type = HINGE_LINEAR }, .first = 6, .factor = 0.1 } };
    return hinge_kernel_combine(parts, 2);
}

static hinge_kernel one_part(const hinge_kernel_part *part)
{
    return hinge_kernel_combine(part, 1);
}

static struct set drawn(uint64_t seed, size_t n, double scale)
{
    struct set set = set_new(n, COLS);
    for (size_t at = 0; at < n * COLS; at++)
        set.x[at] = draw_unit(&seed) < 0.2 ? 0 : scale * draw_normal(&seed);
    for (size_t i = 0; i < n; i++)
        set.y[i] = set.x[i * COLS] * set.x[i * COLS + 1] + set.x[i * COLS + 8] + 0.3 * draw_normal(&seed) > 0 ? 1 : -1;
    return set;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Blocks of all shapes that tiles have edges for; an equal pair, and one that is nearly so. */
static void check_block(const hinge_kernel *kernel, size_t n, size_t m, double scale, bool f32)
{
    struct set a = drawn(5400200 + n, n, scale), b = drawn(5400300 + m, m, scale);
    memcpy(b.x, a.x, COLS * sizeof *b.x);
    if (m > 1)
        for (size_t c = 0; c < COLS; c++)
            b.x[COLS + c] = a.x[c] * (1 + 1e-7);
    const double *wanted = plain_gram(kernel, &a, &b);
    double *out = get(n * m, sizeof *out), most = 1;
    hinge_predict_options options = { .threads = 2, .precision = f32 ? HINGE_PRECISION_F32 : HINGE_PRECISION_F64 };
    hinge_matrix by_columns = { get((m + 3) * COLS, sizeof(double)), HINGE_F64, m, COLS, m + 3, HINGE_COLUMN_MAJOR };
    for (size_t i = 0; i < m; i++)
        for (size_t c = 0; c < COLS; c++)
            ((double *)by_columns.data)[c * (m + 3) + i] = b.x[i * COLS + c];
    assert_ok(hinge_kernel_block(kernel, matrix_of(&a), n % 2 ? &by_columns : matrix_of(&b), &options, HINGE_F64, out,
                                 m, &err));
    for (size_t at = 0; at < n * m; at++)
        most = fmax(most, fabs(wanted[at]));
    for (size_t at = 0; at < n * m; at++)
        assert_near(out[at], wanted[at], (f32 ? 1e-5 : 1e-11) * most);
}

TEST(values_are_those_of_the_parts)
{
    static const size_t shape[][2] = { { 1, 1 }, { 3, 70 }, { 65, 33 }, { 200, 64 }, { 2, 530 } };
    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
        for (int f32 = 0; f32 <= 1; f32++) {
            hinge_kernel kernel = all_kinds(), simple = usual();
            check_block(&kernel, shape[s][0], shape[s][1], 1, f32);
            check_block(&simple, shape[s][0], shape[s][1], 30, f32);
        }
    for (size_t k = 0; k < sizeof all_parts / sizeof *all_parts; k++) {
        hinge_kernel kernel = one_part(&all_parts[k]);
        check_block(&kernel, 64, 65, 0.01, false);
    }
}

/* ---- trainings --------------------------------------------------------------------------------------------------- */

static void check_certificate(const hinge_model *model, const struct set *set, const hinge_params *params)
{
    hinge_certificate told = certified(model, set, params);
    struct plain_certificate plain = plain_certify(model, set, params);
    assert_true(plain.kkt <= params->eps * (1 + 1e-6));
    assert_close(told.dual, plain.dual, 1e-9);
    assert_near(told.kkt, plain.kkt, 1e-9);
}

/* What is trained in either type is the optimum by plain loops, and predicts what its vectors say. */
static void check_training(hinge_task task, hinge_kernel kernel, hinge_precision precision, size_t n)
{
    struct set set = drawn(5400400 + n, n, 1), new = drawn(5400500, 90, 1);
    hinge_params params = params_for(task, kernel, 2);
    params.eps = 1e-4;
    params.precision = precision;
    hinge_report report;
    hinge_model *model = converged(&set, &params, &report);
    assert_says(report.path, precision == HINGE_PRECISION_F64 ? "parts f64, combined" : "parts f32, combined");
    check_certificate(model, &set, &params);
    double *plain = plain_decisions(model, &new);
    assert_true(largest_difference(fit_decisions(model, &new, HINGE_PRECISION_F64), plain, new.n) < 1e-9);
    assert_true(largest_difference(fit_decisions(model, &new, HINGE_PRECISION_AUTO), plain, new.n) < 1e-4);
}

TEST(trainings_and_certificates)
{
    check_training(HINGE_C_SVC, usual(), HINGE_PRECISION_AUTO, 400);
    check_training(HINGE_C_SVC, all_kinds(), HINGE_PRECISION_AUTO, 300);
    check_training(HINGE_EPSILON_SVR, all_kinds(), HINGE_PRECISION_F64, 200);
    check_training(HINGE_EPSILON_SVR, usual(), HINGE_PRECISION_F64, 200);
}

/* The same bits whatever the threads. */
TEST(threads)
{
    struct set set = drawn(5400600, 700, 1);
    struct text first = { 0 };
    for (int threads = 1; threads <= 3; threads++) {
        hinge_params params = params_for(HINGE_C_SVC, all_kinds(), 1);
        params.threads = threads;
        struct text text = text_of(fit(&set, &params, NULL));
        first = threads == 1 ? text : first;
        assert_true(same_text(text, first));
    }
}

/* Large models begin in f32, where all parts have bounds: labels are those of f64, values within the promise, and some
 * rows stay with f32. Parts without a bound are predicted in f64. */
TEST(predictions_in_f32)
{
    struct set set = drawn(5400700, 3000, 0.3), new = drawn(5400701, 2000, 0.3);
    for (int bounded = 0; bounded <= 1; bounded++) {
        static const hinge_kernel_part without[] = { { .kernel = { .type = HINGE_LAPLACIAN, .gamma = 0.2 } },
                                                     { .kernel = { .type = HINGE_LINEAR }, .count = 3 } };
        hinge_params params = params_for(HINGE_C_SVC, bounded ? usual() : hinge_kernel_combine(without, 2), 1);
        hinge_model *model = fit(&set, &params, NULL);
        hinge_predict_report report;
        hinge_predict_options options = { .report = &report };
        double *f = get(new.n, sizeof *f), *exact = fit_decisions(model, &new, HINGE_PRECISION_F64);
        double *labels = get(new.n, sizeof *labels);
        assert_ok(hinge_predict(model, matrix_of(&new), &options, labels, NULL, &err));
        assert_true(bounded ? report.rows_f64 < new.n / 4 : report.rows_f64 == new.n);
        for (size_t i = 0; i < new.n; i++)
            assert_true(labels[i] == (exact[i] > 0 ? hinge_model_labels(model)[0] : hinge_model_labels(model)[1]));
        assert_ok(hinge_predict(model, matrix_of(&new), &options, NULL, f, &err));
        assert_true(largest_difference(f, exact, new.n) <= 1e-4);
    }
}

/* Folds and a grid over C find what the same kernel as a function of the caller's finds. */
TEST(folds_and_grids)
{
    struct set set = drawn(5400800, 240, 1);
    hinge_kernel kernel = usual(), own = hinge_kernel_user("own", plain_block, &kernel);
    double C[] = { 0.1, 1, 10 }, *predicted[2], best[2];
    for (int k = 0; k < 2; k++) {
        hinge_params params = params_for(HINGE_C_SVC, k == 0 ? kernel : own, 1);
        params.eps = 1e-5;
        hinge_select_options options = { .C = { C, 3 }, .folds = 4 };
        hinge_selection *s = NULL;
        predicted[k] = get(set.n, sizeof(double));
        assert_ok(hinge_cross_validate(matrix_of(&set), set.y, &params, 5, predicted[k], NULL, &err));
        assert_ok(hinge_select(&s, matrix_of(&set), set.y, &params, &options, &err));
        best[k] = selection_given_back(s)->best->C;
    }
    assert_near(best[0], best[1], 0);
    assert_true(share_equal(predicted[0], predicted[1], set.n) == 1);
}

/* ---- files and text ---------------------------------------------------------------------------------------------- */

/* A file keeps all of it, and the model predicts the same bits; LIBSVM refuses the file. */
TEST(files)
{
    struct set set = drawn(5400900, 150, 1);
    hinge_params params = params_for(HINGE_C_SVC, all_kinds(), 1);
    hinge_model *model = fit(&set, &params, NULL), *again = written_and_read(model);
    assert_true(same_text(text_of(model), text_of(again)));
    double *f = fit_decisions(model, &set, HINGE_PRECISION_AUTO), *g = fit_decisions(again, &set, HINGE_PRECISION_AUTO);
    assert_memory_equal(f, g, set.n * sizeof *f);
    hinge_kernel kernel = hinge_model_kernel(again);
    assert_int_equal(kernel.n_parts, sizeof all_parts / sizeof *all_parts);
    assert_int_equal(kernel.parts[3].count, 5);
    assert_near(kernel.parts[3].kernel.gamma, 0.2, 0);
    assert_true(oracle_refuses(model));
    assert_ok(hinge_model_locate(again, matrix_of(&set), set.y, NULL, &err));
    check_certificate(again, &set, &params);
}

static hinge_model *read_model(const char *kernel, const char *vectors)
{
    char text[1000];
    hinge_model *model = NULL;
    snprintf(text, sizeof text,
             "svm_type c_svc\nkernel_type combined\n%snr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\nSV\n%s",
             kernel, vectors);
    if (hinge_model_parse(&model, "text", text, strlen(text), NULL, &err) == HINGE_OK)
        given_back(model);
    return model;
}

/* Columns that no vector has anything in are the model's too; what is left to be decided is resolved. */
TEST(files_by_hand)
{
    hinge_model *model = read_model("hinge_kernel poly( 2- , gamma=auto)+rbf(1-4)\n", "1 1:1\n-1 2:2\n");
    assert_non_null(model);
    assert_int_equal(hinge_model_n_features(model), 4);
    hinge_kernel kernel = hinge_model_kernel(model);
    assert_int_equal(kernel.parts[0].count, 3);
    assert_near(kernel.parts[0].kernel.gamma, 1.0 / 3, 0);
    assert_near(kernel.parts[1].kernel.gamma, 0.25, 0);
    static const char *const refused[][2] = { { "", "hinge_kernel is missing" },
                                              { "hinge_kernel \n", "text:3: hinge_kernel: kernel: '' is missing" },
                                              { "hinge_kernel rbf(0)\n", "'0)' is no column" },
                                              { "hinge_kernel rbf(2-)*user\n", "'user' is no kernel of features" },
                                              { "hinge_kernel rbf(5-)\ngamma 1\n", NULL } };
    for (size_t k = 0; k < 4; k++) {
        assert_null(read_model(refused[k][0], "1 1:1\n-1 2:2\n"));
        assert_says(err.text, refused[k][1]);
    }
}

static void check_text(const char *text, const char *again)
{
    hinge_kernel kernel, same;
    hinge_kernel_part *parts, *same_parts;
    char *written, *twice;
    assert_ok(hinge_kernel_parse(text, &kernel, &parts, &err));
    assert_ok(hinge_kernel_format(&kernel, &written, &err));
    assert_string_equal(written, again);
    assert_ok(hinge_kernel_parse(written, &same, &same_parts, &err));
    assert_ok(hinge_kernel_format(&same, &twice, &err));
    assert_string_equal(twice, written);
    assert_true((parts != NULL) == (kernel.type == HINGE_COMBINED) && same.type == kernel.type);
    hinge_free(parts);
    hinge_free(same_parts);
    hinge_free(written);
    hinge_free(twice);
}

TEST(text)
{
    check_text("rbf", "rbf");
    check_text(" rbf ( gamma = 0.5 ) ", "rbf(gamma=0.5)");
    check_text("poly(degree=2,coef0=1e-3)", "polynomial(coef0=0.001,degree=2)");
    check_text("rbf(1-10,gamma=0.1)+2*linear(11-20)", "rbf(1-10,gamma=0.1)+2*linear(11-20)");
    check_text("2 * rbf(3-) * 3 * chi2(gamma=0) + tanimoto(7)", "2*rbf(3-)*3*chi2(gamma=0)+tanimoto(7)");
    check_text("1*rbf*2*3+linear", "6*rbf+linear");
    static const char *const refused[][2] = {
        { "", "'' is missing: it ends" },
        { "rbf+", "'' is missing" },
        { "rbf linear", "'linear' is no '+' or '*'" },
        { "2", "'2' multiplies no kernel" },
        { "-1*rbf", "'-1*rbf' is no kernel" },
        { "0*rbf", "'0*rbf' is not a finite number above 0" },
        { "1e999*rbf", "'1e999*rbf' is not a finite" },
        { "1e300*1e300*rbf", "has a factor beyond" },
        { "rbf(1-3,5)", "'5)' are columns once more" },
        { "rbf(3-1)", "'3-1)' are no columns" },
        { "rbf(1.5)", "'.5)' stands where ')' should" },
        { "rbf(gamma=-1)", "'-1)' is negative" },
        { "rbf(gamma=x)", "'x)' is not a finite number" },
        { "rbf(gamma=nan)", "is not a finite number" },
        { "linear(gamma=1)", "'gamma=1)' is neither columns nor a parameter" },
        { "poly(degree=1.5)", "'1.5)' is not a degree" },
        { "rbf(1-3", "'' is missing" },
        { "precomputed", "'precomputed' is no kernel of features" },
        { "combined(1)", "is no kernel of features" },
        { "rbf(99999999999999999999)", "is no column" },
    };
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        hinge_kernel kernel = { .degree = 77 };
        hinge_kernel_part *parts = NULL;
        assert_refused(hinge_kernel_parse(refused[k][0], &kernel, &parts, &err), HINGE_EINVAL, refused[k][1]);
        assert_true(kernel.degree == 77 && parts == NULL);
    }
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

TEST(parts_are_checked)
{
    double x[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, out[4];
    hinge_matrix rows = hinge_matrix_f64(x, 2, 5);
    static const struct {
        hinge_kernel_part part;
        const char *words;
    } refused[] = {
        { { .kernel = { .type = HINGE_RBF, .gamma = -3 } }, "kernel.parts[0]: kernel.gamma: -3" },
        { { .kernel = { .type = HINGE_LINEAR }, .first = 4, .count = 2 }, "columns 5 to 6, counted from 1, of 5" },
        { { .kernel = { .type = HINGE_LINEAR }, .first = 5 }, "columns 6 to 6, counted from 1, of 5" },
        { { .kernel = { .type = HINGE_LINEAR }, .first = 1, .count = SIZE_MAX }, "counted from 1, of 5" },
        { { .kernel = { .type = HINGE_LINEAR }, .factor = -1 }, "factor -1" },
        { { .kernel = { .type = HINGE_LINEAR }, .factor = NAN }, "factor" },
        { { .kernel = { .type = HINGE_PRECOMPUTED } }, "a precomputed kernel cannot be a part" },
        { { .kernel = { .type = HINGE_USER } }, "a user kernel cannot be a part" },
        { { .kernel = { .type = HINGE_COMBINED } }, "a combined kernel cannot be a part" },
        { { .kernel = { .type = (hinge_kernel_type)99 } }, "kernel.parts[0]: kernel.type: 99" },
    };
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        hinge_kernel kernel = one_part(&refused[k].part);
        assert_refused(hinge_kernel_block(&kernel, &rows, &rows, NULL, HINGE_F64, out, 2, &err), HINGE_EINVAL,
                       refused[k].words);
    }
    hinge_kernel none = hinge_kernel_combine(NULL, 0);
    assert_refused(hinge_kernel_block(&none, &rows, &rows, NULL, HINGE_F64, out, 2, &err), HINGE_EINVAL, "no parts");
}

/* What knows each kernel by itself says that it does not know this one. */
TEST(elsewhere)
{
    struct set set = drawn(5401000, 60, 1);
    hinge_params params = params_for(HINGE_C_SVC, usual(), 1);
    hinge_model *model = fit(&set, &params, NULL);
    double *values = get(set.n * COLS, sizeof *values), base;
    assert_refused(hinge_gradients(model, matrix_of(&set), NULL, values, &err), HINGE_EINVAL, "combined");
    assert_refused(hinge_explain(model, matrix_of(&set), NULL, NULL, values, &base, &err), HINGE_EINVAL, "combined");
    params.maker = HINGE_MAKER_LISTS;
    model = NULL;
    assert_refused(hinge_train(&model, matrix_of(&set), set.y, &params, NULL, &err), HINGE_EINVAL, "combined");
}

/* A sum with a kernel that is none is told apart from one of kernels alone. */
TEST(positive_semidefinite)
{
    static const hinge_kernel_part parts[] = { { .kernel = { .type = HINGE_SIGMOID, .gamma = 2, .coef0 = -1 } },
                                               { .kernel = { .type = HINGE_RBF, .gamma = 1 }, .factor = 1e-3 } };
    struct set set = drawn(5401100, 80, 1);
    hinge_kernel kernel = usual(), indefinite = hinge_kernel_combine(parts, 2);
    hinge_mercer mercer;
    assert_ok(hinge_mercer_check(matrix_of(&set), &kernel, 0, 1, &mercer, &err));
    assert_true(mercer.symmetric && mercer.semidefinite);
    assert_ok(hinge_mercer_check(matrix_of(&set), &indefinite, 0, 1, &mercer, &err));
    assert_true(mercer.symmetric && !mercer.semidefinite);
}
