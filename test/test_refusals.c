/* Bad input is refused with a text that says what and where, and leaves outputs alone; odd input is taken. */
#include "test/support.h"

#include <hinge/scaling.h>
#include <hinge/theory.h>

enum { N = 12, D = 3 };

/* A good problem that each test spoils in one place. */
static double good_x[N * D], good_y[N], good_weights[N];
static struct set good = { N, D, good_x, good_y };

static int restore(void **state)
{
    uint64_t seed = 1;
    for (size_t i = 0; i < N; i++) {
        for (size_t c = 0; c < D; c++)
            good_x[i * D + c] = draw_normal(&seed) + (i % 3 == 0 ? 1 : -1);
        good_y[i] = i % 3 == 0 ? 1 : 2;
        good_weights[i] = 1;
    }
    return 0;
}

#undef TEST
#define TEST(name) TEST_WITH(name, restore, give_back)

static bool says(const char *text, const char *word)
{
    return word == NULL || strcasestr(text, word) != NULL;
}

/* Training is refused, says all three words (any may be NULL), and touches neither model nor report. */
static void refused_at(int line, const hinge_matrix *x, const double *y, const hinge_params *params,
                       const char *a, const char *b, const char *c)
{
    hinge_model *untouched = (hinge_model *)&good, *model = untouched;
    hinge_report report, before;
    memset(&report, 0x5a, sizeof report);
    memset(&before, 0x5a, sizeof before);
    memset(&err, 0x5a, sizeof err);
    if (hinge_train(&model, x, y, params, &report, &err) != HINGE_EINVAL)
        fail_msg("line %d: not refused", line);
    assert_ptr_equal(model, untouched);
    assert_memory_equal(&report, &before, sizeof report);
    assert_int_equal(err.status, HINGE_EINVAL);
    assert_int_equal(err.line, 0);
    assert_non_null(memchr(err.text, 0, sizeof err.text));
    assert_true(strlen(err.text) > 5 && strchr(err.text, '\n') == NULL);
    if (!says(err.text, a) || !says(err.text, b) || !says(err.text, c))
        fail_msg("line %d: \"%s\" does not say \"%s\", \"%s\", \"%s\"", line, err.text, a ? a : "",
                 b ? b : "", c ? c : "");
    assert_int_equal(hinge_train(&model, x, y, params, NULL, NULL), HINGE_EINVAL); /* no one listens */
    assert_ptr_equal(model, untouched);
}

#define refused(x, y, params, a, b, c) refused_at(__LINE__, (x), (y), (params), (a), (b), (c))

static hinge_params params_of(hinge_task task)
{
    return params_for(task, hinge_kernel_rbf(0.5), 1);
}

/* ---- Data -------------------------------------------------------------------------------------------------------- */

TEST(nonfinite_values)
{
    hinge_params params = params_of(HINGE_C_SVC);
    hinge_matrix x = set_matrix(&good);
    const double bad[] = { NAN, INFINITY, -INFINITY };
    const char *const words[] = { "nan", "inf", "inf" };
    for (size_t k = 0; k < 3; k++) {
        good_x[7 * D + 2] = bad[k];
        refused(&x, good_y, &params, "7", "2", words[k]);
        restore(NULL);
        good_y[5] = bad[k];
        refused(&x, good_y, &params, "y", "5", words[k]);
        restore(NULL);
        params.weights = good_weights;
        good_weights[4] = bad[k];
        refused(&x, good_y, &params, "weight", "4", words[k]);
        restore(NULL);
        params.weights = NULL;

        float narrow[N * D] = { 0 };
        narrow[9 * D + 1] = (float)bad[k];
        hinge_matrix x32 = hinge_matrix_f32(narrow, N, D);
        refused(&x32, good_y, &params, "9", "1", words[k]);

        for (int task = 0; hinge_task_info((hinge_task)task) != NULL; task++) {
            hinge_params other = params_of((hinge_task)task);
            good_x[8 * D] = bad[k];
            refused(&x, good_y, &other, "8", "0", words[k]);
            restore(NULL);
            good_y[11] = bad[k];
            if (task == HINGE_ONE_CLASS) /* it has no labels */
                fit(&good, &other, NULL);
            else
                refused(&x, good_y, &other, "y", "11", words[k]);
            restore(NULL);
        }
    }
    params.weights = good_weights;
    good_weights[6] = -0.5;
    refused(&x, good_y, &params, "weight", "6", "-0.5");
    restore(NULL);
}

/* One bad value in a long matrix is found wherever it is. */
TEST(nonfinite_anywhere)
{
    struct set set = set_two_class(1, 1500, 17, 1);
    hinge_params params = params_of(HINGE_C_SVC);
    for (size_t i = 0; i < set.n * set.d; i += 1237) {
        char row[24], column[24];
        double kept = set.x[i];
        snprintf(row, sizeof row, "%zu", i / set.d);
        snprintf(column, sizeof column, "%zu", i % set.d);
        set.x[i] = NAN;
        refused(matrix_of(&set), set.y, &params, row, column, "nan");
        set.x[i] = kept;
    }
}

TEST(shapes)
{
    hinge_params params = params_of(HINGE_C_SVC);
    hinge_matrix x = set_matrix(&good);
    x.rows = 0;
    refused(&x, good_y, &params, "row", NULL, NULL);
    x = set_matrix(&good);
    x.stride = 2;
    refused(&x, good_y, &params, "stride", "2", NULL);
    x = set_matrix(&good);
    x.type = (hinge_dtype)6;
    refused(&x, good_y, &params, "type", NULL, NULL);
    x = set_matrix(&good);
    x.data = NULL;
    refused(&x, good_y, &params, NULL, NULL, NULL);
    x = set_matrix(&good);
    refused(NULL, good_y, &params, NULL, NULL, NULL);
    refused(&x, NULL, &params, "y", NULL, NULL);
    refused(&x, good_y, NULL, NULL, NULL, NULL);
    assert_int_equal(hinge_train(NULL, &x, good_y, &params, NULL, NULL), HINGE_EINVAL);
    x.rows = SIZE_MAX / 4; /* sizes that overflow are no crash */
    x.stride = SIZE_MAX / 4;
    hinge_model *model = NULL;
    hinge_status status = hinge_train(&model, &x, good_y, &params, NULL, NULL);
    assert_true(status == HINGE_EINVAL || status == HINGE_ESIZE);
    assert_null(model);
}

/* ---- Parameters -------------------------------------------------------------------------------------------------- */

/* hinge_params_check says what hinge_train says, and takes what it takes. */
static void same_without_training(const hinge_matrix *x, const hinge_params *params)
{
    hinge_model *model;
    hinge_error error, trained;
    assert_int_equal(hinge_train(&model, x, good_y, params, NULL, &trained), HINGE_EINVAL);
    assert_int_equal(hinge_params_check(params, N, D, &error), HINGE_EINVAL);
    assert_string_equal(error.text, trained.text);
    assert_int_equal(hinge_params_check(params, N, D, NULL), HINGE_EINVAL);
}

#define SPOIL(task, field, value, shown)                                                                       \
    do {                                                                                                       \
        hinge_params params = params_of(task);                                                                 \
        params.field = value;                                                                                  \
        const char *dot = strrchr(#field, '.');                                                                \
        refused(&x, good_y, &params, dot != NULL ? dot + 1 : #field, shown, NULL);                             \
        same_without_training(&x, &params);                                                                    \
    } while (0)

TEST(parameters)
{
    hinge_matrix x = set_matrix(&good);
    SPOIL(HINGE_C_SVC, task, (hinge_task)17, "17");
    SPOIL(HINGE_C_SVC, kernel.type, (hinge_kernel_type)19, "19");
    SPOIL(HINGE_C_SVC, C, -1.5, "-1.5");
    SPOIL(HINGE_C_SVC, C, NAN, "nan");
    SPOIL(HINGE_NU_SVR, C, INFINITY, "inf");
    SPOIL(HINGE_EPSILON_SVR, C, -INFINITY, "-inf");
    SPOIL(HINGE_EPSILON_SVR, C, -2, "-2");
    SPOIL(HINGE_NU_SVR, C, -2, "-2");
    SPOIL(HINGE_NU_SVC, nu, -0.25, "-0.25");
    SPOIL(HINGE_NU_SVC, nu, 1.25, "1.25");
    SPOIL(HINGE_ONE_CLASS, nu, 1.25, "1.25");
    SPOIL(HINGE_ONE_CLASS, nu, NAN, "nan");
    SPOIL(HINGE_NU_SVR, nu, 2, "2");
    SPOIL(HINGE_EPSILON_SVR, p, -0.5, "-0.5");
    SPOIL(HINGE_EPSILON_SVR, p, NAN, "nan");
    SPOIL(HINGE_EPSILON_SVR, p, INFINITY, "inf");
    SPOIL(HINGE_C_SVC, eps, -1e-3, "-0.001");
    SPOIL(HINGE_C_SVC, eps, NAN, "nan");
    SPOIL(HINGE_C_SVC, kernel.gamma, -0.5, "-0.5");
    SPOIL(HINGE_C_SVC, kernel.gamma, NAN, "nan");
    SPOIL(HINGE_C_SVC, kernel.gamma, INFINITY, "inf");
    SPOIL(HINGE_C_SVC, precision, (hinge_precision)3, "3");
    SPOIL(HINGE_C_SVC, shrinking, 2, "2");
    SPOIL(HINGE_C_SVC, newton, 2, "2");
    SPOIL(HINGE_C_SVC, profile, -1, "-1");
    SPOIL(HINGE_C_SVC, threads, -1, "-1");
    SPOIL(HINGE_C_SVC, time_limit, -1, "-1");
    SPOIL(HINGE_C_SVC, time_limit, NAN, "nan");
    SPOIL(HINGE_C_SVC, cpu_level, 5, "5");
    SPOIL(HINGE_C_SVC, cpu_level, -1, "-1");

    hinge_params params = params_of(HINGE_C_SVC);
    assert_int_equal(hinge_params_check(&params, N, D, &err), HINGE_OK);
    assert_string_equal(err.text, "");
    assert_int_equal(hinge_params_check(NULL, N, D, &err), HINGE_EINVAL);
    good_weights[3] = -1;
    params.weights = good_weights;
    assert_int_equal(hinge_params_check(&params, 0, D, &err), HINGE_OK);
    same_without_training(&x, &params);
    restore(NULL);
    params = params_of(HINGE_C_SVC);
    params.kernel = hinge_kernel_polynomial(-1, 1, 0);
    refused(&x, good_y, &params, "degree", "-1", NULL);
    same_without_training(&x, &params);
    params.kernel = hinge_kernel_polynomial(2, 1, NAN);
    refused(&x, good_y, &params, "coef0", "nan", NULL);
    params.kernel = hinge_kernel_sigmoid(1, INFINITY);
    refused(&x, good_y, &params, "coef0", "inf", NULL);
    params.kernel = hinge_kernel_user("none", NULL, NULL);
    refused(&x, good_y, &params, "user", NULL, NULL);
}

static int never_called(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    return 1;
}

/* The table of tasks says which parameters and targets a training looks at, and what its model holds. */
TEST(table_of_tasks)
{
    hinge_matrix x = set_matrix(&good);
    hinge_model *model = NULL;
    int n = 0;
    for (const hinge_task_row *row; (row = hinge_task_info((hinge_task)n)) != NULL; n++) {
        struct {
            int looks;
            double C, nu, p, tau;
        } spoilt[] = { { row->uses_C, -1, 0.5, 0.1, 0.5 }, { row->uses_nu, 1, -1, 0.1, 0.5 },
                       { row->uses_p, 1, 0.5, -1, 0.5 }, { row->uses_tau, 1, 0.5, 0.1, -1 } };
        hinge_params params = params_of(row->task);
        assert_int_equal(row->task, n);
        assert_int_equal(row->libsvm, n == HINGE_QUANTILE ? HINGE_EPSILON_SVR : n); /* whose models predict alike */
        assert_int_equal(row->classifies + row->regresses + row->one_class, 1);
        for (size_t k = 0; k < sizeof spoilt / sizeof *spoilt; k++) {
            params.C = spoilt[k].C, params.nu = spoilt[k].nu, params.p = spoilt[k].p, params.tau = spoilt[k].tau;
            assert_int_equal(hinge_params_check(&params, N, D, NULL), spoilt[k].looks ? HINGE_EINVAL : HINGE_OK);
        }
        params = params_of(row->task);
        assert_int_equal(hinge_train(&model, &x, NULL, &params, NULL, NULL), row->one_class ? HINGE_OK : HINGE_EINVAL);
        if (!row->one_class)
            assert_int_equal(hinge_train(&model, &x, good_y, &params, NULL, NULL), HINGE_OK);
        assert_int_equal(hinge_model_labels(model) != NULL, row->classifies);
        hinge_model_free(model);
        params.solver = HINGE_SOLVER_INTERIOR_POINT;
        assert_int_equal(hinge_params_check(&params, N, D, NULL), HINGE_OK);
    }
    assert_true(n > HINGE_QUANTILE);
    assert_null(hinge_task_info((hinge_task)-1));
}

/* The table of kernels says at which parameters of its kernel a training looks. */
TEST(table_of_kernels)
{
    const hinge_kernel_part linear = { .kernel = { .type = HINGE_LINEAR } };
    int n = 0;
    for (const hinge_kernel_row *row; (row = hinge_kernel_info((hinge_kernel_type)n)) != NULL; n++) {
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        struct {
            int looks, degree;
            double gamma, coef0;
        } spoilt[] = { { row->uses_degree, -1, 1, 0 }, { row->uses_gamma, 3, -2, 0 }, { row->uses_coef0, 3, 1, NAN } };
        params.kernel = hinge_kernel_user("own", never_called, NULL);
        params.kernel.type = row->kernel;
        params.kernel.parts = &linear;
        params.kernel.n_parts = 1;
        assert_int_equal(row->kernel, n);
        for (size_t k = 0; k < sizeof spoilt / sizeof *spoilt; k++) {
            params.kernel.degree = spoilt[k].degree;
            params.kernel.gamma = spoilt[k].gamma;
            params.kernel.coef0 = spoilt[k].coef0;
            assert_int_equal(hinge_params_check(&params, N, N, NULL), spoilt[k].looks ? HINGE_EINVAL : HINGE_OK);
        }
    }
    assert_true(n > HINGE_USER);
    assert_null(hinge_kernel_info((hinge_kernel_type)-1));
}

TEST(class_weights)
{
    hinge_matrix x = set_matrix(&good);
    hinge_params params = params_of(HINGE_C_SVC);
    double labels[] = { 1, 2 }, weights[] = { 1, -3 };
    params.n_class_weights = 2;
    refused(&x, good_y, &params, "class", NULL, NULL);
    params.class_labels = labels;
    refused(&x, good_y, &params, "class_weights", NULL, NULL);
    params.class_weights = weights;
    params.class_labels = NULL;
    refused(&x, good_y, &params, "class", "NULL", NULL);
    params.class_labels = labels;
    refused(&x, good_y, &params, "weight", "-3", NULL);
    weights[1] = NAN;
    refused(&x, good_y, &params, "weight", "nan", NULL);
    weights[1] = 0; /* class 2 would be gone */
    refused(&x, good_y, &params, "class 2", NULL, NULL);
    weights[1] = 1;
    for (size_t i = 0; i < N; i++)
        good_weights[i] = good_y[i] == 1 ? 0 : 1;
    params.weights = good_weights;
    refused(&x, good_y, &params, "class 1", NULL, NULL);
    memset(good_weights, 0, sizeof good_weights);
    refused(&x, good_y, &params, NULL, NULL, NULL);
    params = params_of(HINGE_EPSILON_SVR);
    params.weights = good_weights;
    refused(&x, good_y, &params, "weight", NULL, NULL);
    restore(NULL);
}

TEST(infeasible_nu)
{
    hinge_matrix x = set_matrix(&good); /* 4 of class 1, 8 of class 2: nu 12 / 2 <= 4 */
    hinge_params params = params_of(HINGE_NU_SVC);
    params.nu = 0.7;
    refused(&x, good_y, &params, "nu", "1", "2");
    for (size_t i = 0; i < N; i++)
        good_y[i] = i < 5 ? 40 : i < 10 ? 50 : 60; /* 5, 5, 2 */
    params.nu = 0.8;                               /* 40 and 50 could, 60 cannot */
    refused(&x, good_y, &params, "nu", "60", NULL);
    restore(NULL);
    params.nu = 0.66;
    fit(&good, &params, NULL);
}

TEST(precomputed_index)
{
    hinge_params params = params_of(HINGE_C_SVC);
    params.kernel = hinge_kernel_precomputed();
    refused(matrix_of(&good), good_y, &params, NULL, NULL, NULL); /* 12 rows need 12 columns */
    size_t index[N] = { 0, 1, 2, 0, 1, 2, 0, 1, 5, 0, 1, 2 };
    params.precomputed_index = index;
    refused(matrix_of(&good), good_y, &params, "precomputed_index", "8", "5");
}

static int gives_up(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < b->rows; j++)
            out[i * ld + j] = 0;
    return 7;
}

TEST(user_kernel_fails)
{
    hinge_params params = params_of(HINGE_C_SVC);
    params.kernel = hinge_kernel_user("quitter", gives_up, NULL);
    hinge_model *model = NULL;
    assert_int_equal(hinge_train(&model, matrix_of(&good), good_y, &params, NULL, &err), HINGE_ECALLBACK);
    assert_null(model);
    assert_int_equal(err.status, HINGE_ECALLBACK);
    params.kernel = hinge_kernel_user("two words", gives_up, NULL);
    refused(matrix_of(&good), good_y, &params, "name", NULL, NULL);
    params.kernel = hinge_kernel_user("", gives_up, NULL);
    refused(matrix_of(&good), good_y, &params, "name", NULL, NULL);
}

static int rows_left;

static int gives_up_later(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    for (size_t i = 0; i < a->rows; i++)
        for (size_t k = 0; k < b->rows; k++)
            out[i * ld + k] = i == k;
    return __atomic_sub_fetch(&rows_left, (int)a->rows, __ATOMIC_RELAXED) < 0;
}

/* It gives up after some of the rows: none of their results is told. */
TEST(user_kernel_fails_later)
{
    hinge_params params = params_of(HINGE_C_SVC);
    params.kernel = hinge_kernel_user("quitter", gives_up_later, NULL);
    rows_left = 1 << 20;
    hinge_model *model = fit(&good, &params, NULL);
    struct set many = set_two_class(3, 700, D, 1);
    double labels[700], decisions[700];
    for (int threads = 1; threads <= 2; threads++) {
        hinge_predict_options options = { .threads = threads };
        for (size_t i = 0; i < 700; i++)
            labels[i] = decisions[i] = -77;
        rows_left = 500;
        assert_int_equal(hinge_predict(model, matrix_of(&many), &options, labels, decisions, &err), HINGE_ECALLBACK);
        for (size_t i = 0; i < 700; i++)
            assert_true(labels[i] == -77 && decisions[i] == -77);
    }
    rows_left = 1 << 20;
    assert_int_equal(hinge_predict(model, matrix_of(&many), NULL, labels, decisions, &err), HINGE_OK);
    for (size_t i = 0; i < 700; i++)
        assert_true(labels[i] != -77 && decisions[i] != -77);
}

/* ---- Prediction and accessors ------------------------------------------------------------------------------------ */

TEST(predictions)
{
    hinge_params params = params_of(HINGE_C_SVC);
    hinge_model *model = fit(&good, &params, NULL);
    hinge_matrix x = set_matrix(&good);
    double labels[N], f[N];
    for (size_t i = 0; i < N; i++)
        labels[i] = f[i] = 1234;
    for (int way = 0; way < 8; way++) {
        hinge_matrix bad = x;
        hinge_predict_options options = { 0 };
        double spoiled[N * D];
        memcpy(spoiled, good_x, sizeof spoiled);
        const char *words[2] = { NULL, NULL };
        if (way == 0) {
            bad.cols = 2;
            words[0] = "2", words[1] = "3";
        } else if (way == 1) {
            bad = hinge_matrix_f64(good_x, 9, 4);
            words[0] = "4", words[1] = "3";
        } else if (way == 2) {
            bad.stride = 2;
            words[0] = "stride";
        } else if (way == 3) {
            bad.data = NULL;
        } else if (way == 4) {
            spoiled[6 * D + 1] = NAN;
            bad.data = spoiled;
            words[0] = "6", words[1] = "1";
        } else if (way == 5) {
            options.threads = -1;
            words[0] = "threads";
        } else if (way == 6) {
            options.precision = (hinge_precision)9;
            words[0] = "precision";
        } else {
            options.cpu_level = 7;
            words[0] = "cpu_level";
        }
        assert_int_equal(hinge_predict(model, &bad, &options, labels, f, &err), HINGE_EINVAL);
        assert_int_equal(err.status, HINGE_EINVAL);
        if (!says(err.text, words[0]) || !says(err.text, words[1]))
            fail_msg("way %d: \"%s\"", way, err.text);
        assert_int_equal(hinge_predict(model, &bad, &options, labels, f, NULL), HINGE_EINVAL);
    }
    assert_int_equal(hinge_predict(NULL, &x, NULL, labels, f, NULL), HINGE_EINVAL);
    assert_int_equal(hinge_predict(model, NULL, NULL, labels, f, NULL), HINGE_EINVAL);
    for (size_t i = 0; i < N; i++)
        assert_true(labels[i] == 1234 && f[i] == 1234);
    assert_int_equal(hinge_predict(model, &x, NULL, labels, f, &err), HINGE_OK);
    assert_string_equal(err.text, "");
    assert_int_equal(err.status, HINGE_OK);
    assert_int_equal(hinge_predict(model, &x, NULL, NULL, NULL, NULL), HINGE_OK);

    double sv[D] = { 9, 9, 9 }, beta[N] = { 9 };
    assert_int_equal(hinge_model_sv(model, hinge_model_n_sv(model), sv, &err), HINGE_EINVAL);
    assert_int_equal(hinge_model_weights(model, 0, sv, &err), HINGE_EINVAL); /* no linear kernel */
    assert_true(sv[0] == 9 && sv[2] == 9);
    assert_int_equal(hinge_model_beta(model, N - 1, beta, &err), HINGE_EINVAL);
    assert_true(beta[0] == 9);
    hinge_certificate certificate = { .gap = 77 };
    hinge_matrix narrow = hinge_matrix_f64(good_x, N, 2);
    assert_int_equal(hinge_certify(model, &narrow, good_y, &params, &certificate, &err), HINGE_EINVAL);
    hinge_matrix few = hinge_matrix_f64(good_x, N - 1, D);
    assert_int_equal(hinge_certify(model, &few, good_y, &params, &certificate, &err), HINGE_EINVAL);
    hinge_params linear = params;
    linear.kernel = hinge_kernel_linear();
    assert_int_equal(hinge_certify(model, &x, good_y, &linear, &certificate, &err), HINGE_EINVAL);
    assert_string_equal(err.text, "kernel: linear, and the model's is rbf");
    assert_int_equal(hinge_certify(NULL, &x, good_y, &params, &certificate, &err), HINGE_EINVAL);
    assert_true(certificate.gap == 77);
    hinge_model_free(NULL);
}

/* ---- Odd, and taken ---------------------------------------------------------------------------------------------- */

/* Trains and predicts; every figure is finite. Returns the first label predicted. */
static double taken(const struct set *set, const hinge_params *params, hinge_outcome outcome)
{
    hinge_report report;
    hinge_model *model = fit(set, params, &report);
    assert_int_equal(report.outcome, outcome);
    assert_true(isfinite(report.objective));
    for (size_t p = 0; p < hinge_model_n_problems(model); p++)
        assert_true(isfinite(hinge_model_rho(model)[p]));
    double *labels = fit_labels(model, set), first = labels[0];
    double *f = fit_decisions(model, set, HINGE_PRECISION_AUTO);
    for (size_t i = 0; i < set->n * hinge_model_n_problems(model); i++)
        assert_true(isfinite(f[i]));
    return first;
}

TEST(one_class_only)
{
    struct set set = set_two_class(2, 30, 3, 1);
    for (size_t i = 0; i < set.n; i++)
        set.y[i] = 42.5;
    hinge_params params = params_of(HINGE_C_SVC);
    assert_true(taken(&set, &params, HINGE_CONVERGED) == 42.5);
    hinge_model *model = fit(&set, &params, NULL);
    assert_int_equal(hinge_model_n_classes(model), 1);
    assert_int_equal(hinge_model_n_problems(model), 0);
    assert_true(hinge_model_labels(model)[0] == 42.5);
}

TEST(tiny_and_degenerate)
{
    const hinge_task tasks[] = { HINGE_C_SVC, HINGE_ONE_CLASS, HINGE_EPSILON_SVR, HINGE_NU_SVR };
    const hinge_kernel kernels[] = { hinge_kernel_linear(), hinge_kernel_polynomial(3, 1, 0), hinge_kernel_rbf(1) };
    for (size_t t = 0; t < 4; t++)
        for (size_t k = 0; k < 3; k++) {
            hinge_params params = hinge_params_default(tasks[t]);
            params.kernel = kernels[k];
            params.max_iter = 100000; /* rather than hang */
            for (size_t n = 1; n <= 3; n++) {
                double x[] = { 0.5, -1, 2 }, y[] = { 1, 2, 1 };
                struct set line = { n, 1, x, y };
                taken(&line, &params, HINGE_CONVERGED);
            }
            struct set set = set_two_class(3, 60, 4, 1);
            memset(set.x, 0, set.n * set.d * sizeof(double)); /* nothing to tell rows apart */
            taken(&set, &params, HINGE_CONVERGED);
            for (size_t i = 0; i < set.n * set.d; i++) /* one row, many times, of both labels */
                set.x[i] = 0.25 * (double)(i % set.d);
            taken(&set, &params, HINGE_CONVERGED);
            for (size_t i = 0; i < set.n; i++) /* five rows, each many times */
                set.x[i * set.d] = (double)(i % 5);
            taken(&set, &params, HINGE_CONVERGED);
        }
    hinge_params params = params_of(HINGE_C_SVC);
    params.kernel.gamma = 0; /* a constant kernel is legal */
    taken(&good, &params, HINGE_CONVERGED);
    params.kernel = hinge_kernel_polynomial(0, 1, 0);
    taken(&good, &params, HINGE_CONVERGED);
}

/* A warm start that is no number is refused. */
TEST(nonfinite_start)
{
    struct set set = set_two_class(7, 60, 3, 1);
    const double bad[] = { NAN, INFINITY, -INFINITY };
    for (size_t k = 0; k < 3; k++) {
        hinge_params params = params_of(HINGE_C_SVC);
        hinge_model *model = NULL;
        double beta[60] = { 0 };
        beta[3] = bad[k];
        params.beta0 = beta;
        assert_refused(hinge_train(&model, matrix_of(&set), set.y, &params, NULL, &err), HINGE_EINVAL,
                       "beta0: coefficient 3 is");
        assert_null(model);
    }
}

/* Rows without features are all alike. */
TEST(no_features)
{
    struct set set = { N, 0, good_x, good_y };
    hinge_params params = params_of(HINGE_C_SVC);
    taken(&set, &params, HINGE_CONVERGED);
}

/* Too large for f32, at home in f64: auto finds the way. */
TEST(beyond_f32)
{
    struct set set = set_two_class(6, 80, 3, 0.5);
    set_multiply(&set, 1e25); /* <x,x> = 1e50 */
    hinge_params params = params_of(HINGE_C_SVC);
    params.kernel = hinge_kernel_rbf(1e-51);
    taken(&set, &params, HINGE_CONVERGED);
}

/* Every function of a model refuses NULL, or tells 0, NULL or nothing of it. */
TEST(no_model)
{
    hinge_model *none = NULL;
    hinge_params params = params_of(HINGE_C_SVC);
    hinge_scaling scaling = { -1, 1, D, good_x, good_x + D };
    size_t n = 7;
    double v[N * D] = { 0 };
    const hinge_status refused[] = {
        hinge_model_sv(none, 0, v, &err),
        hinge_model_weights(none, 0, v, &err),
        hinge_model_beta(none, 0, v, &err),
        hinge_model_widen(none, 3, &err),
        hinge_model_set_columns(none, &n, 1, &err),
        hinge_model_set_words(none, NULL, &err),
        hinge_model_set_training(none, &params, &err),
        hinge_model_set_scaling(none, v, v, &err),
        hinge_scaling_attach(&scaling, none, &err),
        hinge_model_locate(none, matrix_of(&good), good_y, &n, &err),
        hinge_predict(none, matrix_of(&good), NULL, v, NULL, &err),
    };
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        assert_int_equal(refused[k], HINGE_EINVAL);
    assert_null(hinge_model_columns(none, &n));
    assert_int_equal(n, 0);
    assert_int_equal(hinge_model_task(none) + hinge_model_multiclass(none) + hinge_model_kernel(none).type, 0);
    assert_int_equal(hinge_model_n_features(none) + hinge_model_n_classes(none) + hinge_model_n_problems(none), 0);
    assert_int_equal(hinge_model_n_sv(none) + (size_t)hinge_model_training(none, &params, NULL), 0);
    assert_true(hinge_model_tau(none) == 0);
    assert_true(!hinge_model_words(none) && !hinge_model_sv_index(none) && !hinge_model_class_sv(none));
    assert_true(!hinge_model_labels(none) && !hinge_model_rho(none) && !hinge_model_objectives(none));
    assert_true(!hinge_model_coef(none) && !hinge_model_scale_factor(none) && !hinge_model_scale_offset(none));
    assert_true(!hinge_model_scale_origin(none) && !hinge_model_scale_base(none));
}
