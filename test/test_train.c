/* Training against LIBSVM, against published values, and against itself by other ways of asking. */
#include "test/golden.h"
#include "test/support.h"

static hinge_params c_svc(hinge_kernel kernel, double C, double eps)
{
    hinge_params params = params_for(HINGE_C_SVC, kernel, C);
    params.eps = eps;
    return params;
}

/* ---- Against LIBSVM on data -------------------------------------------------------------------------------------- */

enum source { SHARED, SHIPPED, TWO_CLASS, FIVE_CLASS, REGRESSION };

struct data_case {
    enum source source;
    const char *name;
    size_t d, n, step; /* rows 0, step, 2 step ...: n of them; the rows after each of them are predicted */
    double factor;     /* of all values; 0: every feature to [-1, 1] */
    hinge_task task;
    hinge_kernel_type type;
    double gamma, coef0, C;
};

static struct set load(const struct data_case *c, size_t first)
{
    const double labels[] = { 5, -3, 0, 7, 2 };
    struct set set;
    switch (c->source) {
    case SHARED:
        set = set_shared(c->name, "train", c->d, first, c->step, c->n);
        break;
    case SHIPPED:
        set = set_shipped(c->name, "train", c->d, first, c->step, c->n);
        break;
    case TWO_CLASS:
        set = set_two_class(1, c->n, c->d, 0.8);
        break;
    case FIVE_CLASS:
        set = set_blobs(2, c->n, c->d, 5, labels, 0.7);
        break;
    default:
        set = set_regression(3, c->n, c->d);
    }
    if (c->factor > 0)
        set_multiply(&set, c->factor);
    else
        set_scale(&set);
    return set;
}

static const struct data_case data_cases[] = {
    { SHARED, "heart_scale", 13, 0, 1, 1, HINGE_C_SVC, HINGE_RBF, 0.1, 0, 10 },
    { SHARED, "a9a", 123, 2500, 5, 1, HINGE_C_SVC, HINGE_RBF, 0.05, 0, 1 },
    { SHARED, "ijcnn1", 22, 3000, 10, 1, HINGE_C_SVC, HINGE_RBF, 2, 0, 32 },
    { SHARED, "cod-rna", 8, 2500, 15, 1, HINGE_C_SVC, HINGE_RBF, 0.5, 0, 2 },
    { SHARED, "covtype.binary", 54, 2500, 20, 0, HINGE_C_SVC, HINGE_RBF, 2, 0, 10 },
    { SHARED, "satimage", 36, 2200, 2, 0, HINGE_C_SVC, HINGE_RBF, 1, 0, 16 },
    { SHARED, "letter", 16, 2000, 7, 1, HINGE_C_SVC, HINGE_RBF, 1, 0, 4 },
    { SHARED, "mnist", 780, 1500, 2, 1.0 / 255, HINGE_C_SVC, HINGE_RBF, 0.02, 0, 1 },
    { SHARED, "cod-rna", 8, 1500, 20, 1, HINGE_C_SVC, HINGE_LINEAR, 0, 0, 1 },
    { SHARED, "a9a", 123, 1500, 4, 1, HINGE_C_SVC, HINGE_POLYNOMIAL, 0.05, 1, 1 },
    { SHARED, "cpusmall", 12, 1500, 2, 0, HINGE_EPSILON_SVR, HINGE_RBF, 0.5, 0, 1 },
    { SHIPPED, "breast_cancer", 30, 0, 1, 0, HINGE_C_SVC, HINGE_RBF, 0.1, 0, 10 },
    { SHIPPED, "breast_cancer", 30, 0, 1, 0, HINGE_C_SVC, HINGE_LINEAR, 0, 0, 1 },
    { SHIPPED, "digits", 64, 1000, 1, 1.0 / 16, HINGE_C_SVC, HINGE_RBF, 0.1, 0, 0.5 },
    { SHIPPED, "digits", 64, 1000, 1, 1.0 / 16, HINGE_C_SVC, HINGE_POLYNOMIAL, 0.1, 0.5, 1 },
    { TWO_CLASS, "two classes", 10, 2000, 1, 1, HINGE_C_SVC, HINGE_RBF, 0.1, 0, 1 },
    { TWO_CLASS, "two classes", 10, 700, 1, 1, HINGE_C_SVC, HINGE_LINEAR, 0, 0, 0.1 },
    { TWO_CLASS, "two classes", 10, 1000, 1, 1, HINGE_C_SVC, HINGE_POLYNOMIAL, 0.1, 1, 0.5 },
    { TWO_CLASS, "two classes", 10, 1000, 1, 1, HINGE_C_SVC, HINGE_SIGMOID, 0.001, 0, 1 },
    { FIVE_CLASS, "five classes", 8, 1500, 1, 1, HINGE_C_SVC, HINGE_RBF, 0.2, 0, 2 },
    { REGRESSION, "waves", 5, 1200, 1, 1, HINGE_EPSILON_SVR, HINGE_RBF, 0.5, 0, 4 },
    { REGRESSION, "waves", 5, 800, 1, 1, HINGE_EPSILON_SVR, HINGE_LINEAR, 0, 0, 0.5 },
};

static void against_libsvm(void **state)
{
    const struct data_case *c = *state;
    struct set set = load(c, 0);
    hinge_params params = hinge_params_default(c->task);
    params.kernel = (hinge_kernel){ .type = c->type, .degree = 3, .gamma = c->gamma, .coef0 = c->coef0 };
    params.C = c->C;
    params.eps = 1e-6;
    struct oracle oracle = oracle_train(&set, &params);
    hinge_report report;
    hinge_model *model = converged(&set, &params, &report);
    hinge_certificate certificate = certified(model, &set, &params);
    assert_true(fmax(report.violation, certificate.kkt) <= 1.05e-6);
    assert_int_equal(report.n, set.n);
    assert_int_equal(report.d, set.d);
    assert_int_equal(report.n_problems, oracle.n_problems);
    assert_close(report.objective, oracle.objective, 1e-6);
    double sum = 0;
    for (size_t p = 0; p < report.n_problems; p++) {
        sum += hinge_model_objectives(model)[p];
        assert_near(hinge_model_rho(model)[p], oracle.model->rho[p], 1e-4 * (1 + fabs(oracle.model->rho[p])));
    }
    assert_close(report.objective, sum, 1e-12);

    /* rows next to the training ones, where there are some */
    struct set other = c->step > 1 ? load(c, 1) : load(c, 0);
    double *f = fit_decisions(model, &other, HINGE_PRECISION_AUTO), *labels = fit_labels(model, &other);
    double *expected = get(other.n, sizeof *expected);
    double *expected_f = get(other.n * report.n_problems, sizeof *expected_f);
    oracle_predict(&oracle, &other, expected, expected_f);
    if (c->task == HINGE_C_SVC)
        assert_true(share_equal(labels, expected, other.n) >= 0.99);
    double largest = largest_difference(f, expected_f, other.n * report.n_problems);
    assert_near(largest, 0, 1e-3);
}

/* ---- Published values -------------------------------------------------------------------------------------------- */

static struct set heart(void)
{
    struct set train = set_shared("heart_scale", "train", 13, 0, 1, 0);
    struct set test = set_shared("heart_scale", "test", 13, 0, 1, 0);
    struct set both = set_join(&train, &test);
    return both;
}

static void golden(void **state)
{
    const struct golden *g = *state;
    struct set set = heart();
    assert_int_equal(set.n, 270);
    hinge_params params = hinge_params_default((hinge_task)g->task);
    params.kernel = (hinge_kernel){ .type = (hinge_kernel_type)g->kernel, .degree = 3, .gamma = HINGE_GAMMA_AUTO };
    params.eps = 1e-6;
    hinge_report report;
    hinge_model *model = converged(&set, &params, &report);
    double r = 1;
    for (size_t i = 0; i < hinge_model_n_sv(model) && g->task == HINGE_NU_SVC; i++) /* bounded coefficients are 1 / r */
        r = fmin(r, g->C / fabs(hinge_model_coef(model)[i]));
    /* the sigmoid is indefinite: where a solver ends is its own affair */
    double loose = g->kernel == HINGE_SIGMOID ? 1000 : 1;
    assert_close(report.objective * r * r, g->objective, 1e-5 * loose);
    assert_near(hinge_model_rho(model)[0] * r, g->rho, 1e-4 * loose * (1 + fabs(g->rho)));
    if (g->correct > 0) {
        double *labels = fit_labels(model, &set);
        double correct = share_equal(labels, set.y, set.n) * (double)set.n;
        assert_near(correct, g->correct, g->kernel == HINGE_SIGMOID ? 2.5 : 0.5);
    }
}

/* ---- What a model holds ------------------------------------------------------------------------------------------ */

static void layout_is_libsvms(const struct set *set, double C)
{
    hinge_params params = c_svc(hinge_kernel_rbf(0.3), C, 1e-9);
    struct oracle oracle = oracle_train(set, &params);
    hinge_report report;
    hinge_model *model = fit(set, &params, &report);
    const struct svm_model *theirs = oracle.model;
    size_t k = (size_t)theirs->nr_class, l = (size_t)theirs->l;
    assert_int_equal(hinge_model_task(model), HINGE_C_SVC);
    assert_int_equal(hinge_model_n_features(model), set->d);
    assert_int_equal(hinge_model_n_classes(model), k);
    assert_int_equal(hinge_model_n_problems(model), k * (k - 1) / 2);
    assert_int_equal(hinge_model_n_sv(model), l);
    assert_int_equal(report.n_sv, l);
    for (size_t i = 0; i < k; i++) {
        assert_true(hinge_model_labels(model)[i] == theirs->label[i]);
        assert_int_equal(hinge_model_class_sv(model)[i], theirs->nSV[i]);
    }
    for (size_t p = 0; p < k * (k - 1) / 2; p++)
        assert_near(hinge_model_rho(model)[p], theirs->rho[p], 1e-5);
    for (size_t i = 0; i < l; i++) {
        assert_int_equal(hinge_model_sv_index(model)[i], theirs->sv_indices[i] - 1);
        double *x = get(set->d, sizeof *x);
        assert_int_equal(hinge_model_sv(model, i, x, NULL), HINGE_OK);
        assert_memory_equal(x, set->x + (theirs->sv_indices[i] - 1) * set->d, set->d * sizeof *x);
        for (size_t m = 0; m < k - 1; m++)
            assert_near(hinge_model_coef(model)[m * l + i], theirs->sv_coef[m][i], 1e-5 * C);
    }
}

TEST(layout)
{
    const double labels[] = { 7, -2, 4 };
    struct set three = set_blobs(7, 90, 3, 3, labels, 0.9), digits = set_shipped("digits", "train", 64, 0, 4, 250);
    layout_is_libsvms(&three, 1);
    set_multiply(&digits, 1.0 / 16);
    layout_is_libsvms(&digits, 0.5);
    /* -1 first, +1 second are swapped; +1 first, and others, are not */
    for (int i = 0; i < 3; i++) {
        struct set two = set_two_class(8, 80, 3, 1);
        for (size_t r = 0; r < two.n; r++)
            two.y[r] = i == 0 ? two.y[r] : i == 1 ? -two.y[r] : (two.y[r] + 3) / 2;
        layout_is_libsvms(&two, 1);
    }
}

/* ---- Weights ----------------------------------------------------------------------------------------------------- */

TEST(class_weights)
{
    const double labels[] = { 3, 1, 2 }, named[] = { 2, 3, 77 }, weights[] = { 0.2, 5, 9 };
    struct set set = set_blobs(10, 500, 4, 3, labels, 1);
    hinge_params params = c_svc(hinge_kernel_rbf(0.3), 2, 1e-6), unweighted = params;
    params.n_class_weights = 3; /* 77 is no class here: LIBSVM warns, hinge takes it as said */
    params.class_labels = named;
    params.class_weights = weights;
    hinge_report report, plain_report;
    struct oracle oracle = oracle_train(&set, &params);
    params.n_class_weights = 2;
    fit(&set, &params, &report);
    assert_close(report.objective, oracle.objective, 1e-6);
    fit(&set, &unweighted, &plain_report);
    assert_true(fabs(plain_report.objective / report.objective - 1) > 1e-2);
}

TEST(example_weights)
{
    const double labels[] = { 3, 1, 2 };
    for (size_t k = 2; k <= 3; k++) { /* weight w: w copies of the row, or none */
        struct set set = set_blobs(11, 400, 4, k, labels, 1);
        size_t rows[1600], count = 0;
        double weights[400];
        for (size_t i = 0; i < set.n; i++) {
            size_t times = (i + 1) % 4; /* row 0 stays: classes are ordered by first appearance */
            weights[i] = (double)times;
            while (times-- > 0)
                rows[count++] = i;
        }
        struct set copies = set_rows(&set, rows, count);
        hinge_params params = c_svc(hinge_kernel_rbf(0.3), 1.5, 1e-6);
        struct oracle oracle = oracle_train(&copies, &params);
        params.weights = weights;
        hinge_report report;
        hinge_model *model = converged(&set, &params, &report);
        assert_int_equal(report.n, 300);
        for (size_t c = 0; c < k; c++)
            assert_true(hinge_model_labels(model)[c] == oracle.model->label[c]);
        assert_close(report.objective, oracle.objective, 1e-6);
        for (size_t i = 0; i < hinge_model_n_sv(model); i++)
            assert_true(hinge_model_sv_index(model)[i] % 4 != 3);
        double *beta = fit_beta(model, set.n);
        size_t problems = report.n_problems;
        for (size_t i = 0; i < problems * set.n; i++)
            assert_true(i % set.n % 4 != 3 || beta[i] == 0);
        for (size_t p = 0; p < problems; p++)
            assert_near(hinge_model_rho(model)[p], oracle.model->rho[p], 1e-4);
    }
}

/* ---- The same asked in other ways -------------------------------------------------------------------------------- */

TEST(precomputed)
{
    struct set all = set_blobs(12, 400, 5, 3, NULL, 0.9);
    size_t rows[300];
    for (size_t j = 0; j < 300; j++)
        rows[j] = 399 - j; /* a subset, and permuted */
    struct set set = set_rows(&all, rows, 300);
    hinge_params params = c_svc(hinge_kernel_rbf(0.2), 3, 1e-6);
    hinge_report report, indexed;
    hinge_model *model = fit(&set, &params, &report);
    struct set gram = { 300, 400, plain_gram(&params.kernel, &set, &all), set.y };
    params.kernel = hinge_kernel_precomputed();
    params.precomputed_index = rows;
    hinge_model *other = fit(&gram, &params, &indexed);
    assert_close(indexed.objective, report.objective, 1e-6);
    struct set test = { all.n, all.n, plain_gram(&(hinge_kernel){ .type = HINGE_RBF, .gamma = 0.2 }, &all, &all),
                        all.y };
    double *f = fit_decisions(model, &all, HINGE_PRECISION_F64);
    double *g = fit_decisions(other, &test, HINGE_PRECISION_F64);
    assert_near(largest_difference(f, g, 3 * all.n), 0, 1e-4);

    /* index NULL: square */
    gram.d = 300;
    gram.x = plain_gram(&(hinge_kernel){ .type = HINGE_RBF, .gamma = 0.2 }, &set, &set);
    params.precomputed_index = NULL;
    other = fit(&gram, &params, &indexed);
    assert_close(indexed.objective, report.objective, 1e-6);
    struct oracle oracle = oracle_train(&gram, &params);
    assert_close(indexed.objective, oracle.objective, 1e-6);
}

/* The same numbers as f32 or f64, and with rows further apart (NaN between them, never to be read). */
TEST(views)
{
    struct set set = set_two_class(14, 700, 6, 0.8);
    hinge_params params = c_svc(hinge_kernel_rbf(0.2), 2, 1e-6);
    float *narrow = get(set.n * 6, sizeof *narrow), *wide = get(set.n * 9, sizeof *wide);
    double *wide64 = get(set.n * 11, sizeof *wide64);
    for (size_t i = 0; i < set.n; i++) {
        for (size_t c = 0; c < 11; c++)
            wide64[i * 11 + c] = c < 6 ? set.x[i * 6 + c] : (double)NAN;
        for (size_t c = 0; c < 9; c++)
            wide[i * 9 + c] = (float)wide64[i * 11 + c];
        for (size_t c = 0; c < 6; c++)
            narrow[i * 6 + c] = (float)set.x[i * 6 + c];
    }
    hinge_matrix forms[] = { set_matrix(&set),
                             hinge_matrix_f32(narrow, set.n, 6),
                             { wide, HINGE_F32, set.n, 6, 9 },
                             { wide64, HINGE_F64, set.n, 6, 11 } };
    double *first = NULL;
    for (size_t i = 0; i < 4; i++) {
        hinge_model *model = trained(&forms[i], set.y, &params, NULL);
        double *f = get(set.n, sizeof *f);
        assert_int_equal(hinge_predict(model, &forms[i], NULL, NULL, f, NULL), HINGE_OK);
        hinge_certificate certificate;
        assert_int_equal(hinge_certify(model, &forms[i], set.y, &params, &certificate, NULL), HINGE_OK);
        assert_true(certificate.kkt <= 2e-6);
        if (first == NULL)
            first = f;
        else
            assert_near(largest_difference(f, first, set.n), 0, 1e-12);
    }
}

TEST(objectives_agree)
{
    struct set sets[] = { set_two_class(15, 2500, 12, 0.9), set_blobs(16, 1200, 6, 3, NULL, 0.9) };
    for (size_t s = 0; s < 2; s++) {
        hinge_params params = c_svc(hinge_kernel_rbf(0.1), 5, 1e-6);
        hinge_report first, other;
        converged(&sets[s], &params, &first);
        for (int way = 0; way < 9; way++) {
            hinge_params p = params;
            if (way < 4)
                p.cpu_level = way + 1;
            p.shrinking = way != 4;
            if (way == 5)
                p.precision = HINGE_PRECISION_F64;
            if (way == 6)
                p.working_set = 64;
            if (way == 7)
                p.cache_bytes = 1 << 20;
            if (way == 8)
                p.seed = 12345;
            converged(&sets[s], &p, &other);
            assert_close(other.objective, first.objective, 1e-6);
            if (way == 7)
                assert_true(other.cache_bytes <= 1 << 20 && other.cache_used <= 1 << 20);
        }
    }
}

/* At a large C a training in f32 takes about as many steps as in f64, and ends in f32. */
TEST(f32_serves_a_large_c)
{
    struct set set = set_two_class(7, 4300, 4, 1);
    hinge_params params = c_svc(hinge_kernel_rbf(0.1), 1000, 0.1);
    hinge_report first, exact;
    params.newton = 0;
    fit(&set, &params, &first);
    params.precision = HINGE_PRECISION_F64;
    fit(&set, &params, &exact);
    assert_int_equal(first.outcome, HINGE_CONVERGED);
    assert_int_equal(exact.outcome, HINGE_CONVERGED);
    assert_close(first.objective, exact.objective, 1e-3);
    assert_true(first.iterations <= 3 * exact.iterations);
    assert_non_null(strstr(first.path, "f32"));
}

/* At a large C rounding of a smooth kernel in f32 leads steps astray. A training that begins with such rows takes not
 * many more of them than one in f64, and ends where that does. */
TEST(rows_in_f32_are_left)
{
    struct set set = set_regression(8, 2500, 5);
    hinge_params params = hinge_params_default(HINGE_EPSILON_SVR);
    hinge_report first, exact;
    params.kernel = hinge_kernel_rbf(0.02);
    params.C = 1e5;
    params.p = 0.01;
    params.eps = 0.1;
    params.newton = 0;
    fit(&set, &params, &first);
    params.precision = HINGE_PRECISION_F64;
    fit(&set, &params, &exact);
    assert_int_equal(first.outcome, HINGE_CONVERGED);
    assert_int_equal(exact.outcome, HINGE_CONVERGED);
    assert_close(first.objective, exact.objective, 1e-2);
    assert_true(2 * first.iterations <= 3 * exact.iterations);
}

/* The class asked for is the first of the model, and f > 0 there; all else is as it would be. */
TEST(positive_class)
{
    const double labels[] = { 7, 3, 5 };
    struct set two = set_two_class(31, 200, 4, 1.5), three = set_blobs(32, 210, 3, 3, labels, 1.0);
    hinge_matrix x2 = set_matrix(&two), x3 = set_matrix(&three);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_certificate certificate;
    double cross[2][210];
    params.eps = 1e-6;
    params.probability = 1;
    hinge_model *plain = fit(&two, &params, NULL);
    double *f = fit_decisions(plain, &two, HINGE_PRECISION_F64), *y = fit_labels(plain, &two);
    assert_true(hinge_model_labels(plain)[0] == 1);
    for (double label = -1; label <= 1; label += 2) {
        params.positive_class = &label;
        hinge_model *model = fit(&two, &params, NULL);
        double *g = fit_decisions(model, &two, HINGE_PRECISION_F64), *z = fit_labels(model, &two), p[400];
        assert_true(hinge_model_labels(model)[0] == label && hinge_model_labels(model)[1] == -label);
        for (size_t i = 0; i < two.n; i++) {
            assert_near(g[i], label * f[i], 1e-4);
            assert_true(y[i] == z[i] || fabs(f[i]) < 1e-4);
        }
        assert_int_equal(hinge_certify(model, &x2, two.y, &params, &certificate, NULL), HINGE_OK);
        assert_true(certificate.gap >= -1e-9 && certificate.gap <= 1e-3 * certificate.primal);
        assert_int_equal(hinge_predict_probability(model, &x2, NULL, NULL, p, NULL), HINGE_OK);
        for (size_t i = 0; i < two.n; i++) /* probabilities in the order of the labels */
            assert_true(fabs(g[i]) < 0.7 || (p[2 * i] > 0.5) == (g[i] > 0));
    }
    params.probability = 0;
    const double third = 5, none = 4;
    for (int ovr = 0; ovr < 2; ovr++) {
        params.multiclass = ovr ? HINGE_ONE_VS_REST : HINGE_ONE_VS_ONE;
        params.positive_class = &third;
        hinge_model *model = fit(&three, &params, NULL);
        assert_true(hinge_model_labels(model)[0] == 5);
        assert_int_equal(hinge_certify(model, &x3, three.y, &params, &certificate, NULL), HINGE_OK);
        assert_true(certificate.gap <= 1e-3 * certificate.primal);
        for (int k = 0; k < 2; k++) {
            params.positive_class = k ? &third : NULL;
            assert_int_equal(hinge_cross_validate(&x3, three.y, &params, 3, cross[k], NULL, NULL), HINGE_OK);
        }
        double right[2] = { 0 }; /* folds are dealt class by class, so that they are others */
        for (size_t i = 0; i < 2 * three.n; i++)
            right[i % 2] += cross[i % 2][i / 2] == three.y[i / 2];
        assert_near(right[0], right[1], 12);
        assert_true(right[0] > 0.5 * (double)three.n);
    }
    params.positive_class = &none;
    assert_refused(hinge_train(&plain, &x3, three.y, &params, NULL, &err), HINGE_EINVAL,
                   "positive_class: no row has label 4");
}

int main(void)
{
    static char names[sizeof data_cases / sizeof *data_cases + sizeof goldens / sizeof *goldens][64];
    char *name = names[0];
    for (size_t i = 0; i < sizeof data_cases / sizeof *data_cases; i++, name += sizeof *names) {
        const struct data_case *c = &data_cases[i];
        snprintf(name, sizeof *names, "%s %s", c->name, hinge_kernel_info(c->type)->keyword);
        add_test(0, (struct CMUnitTest){ name, against_libsvm, NULL, give_back, (void *)(uintptr_t)c });
    }
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++, name += sizeof *names) {
        const struct golden *g = &goldens[i];
        snprintf(name, sizeof *names, "golden %s %s", hinge_task_info((hinge_task)g->task)->keyword,
                 hinge_kernel_info((hinge_kernel_type)g->kernel)->keyword);
        add_test(1, (struct CMUnitTest){ name, golden, NULL, give_back, (void *)(uintptr_t)g });
    }
    return run_program(NULL);
}
