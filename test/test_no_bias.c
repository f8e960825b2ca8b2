/* Machines through the origin (params.no_bias) by SMO: every kernel against the dual as a general QP, the kernel K + 1
 * against a feature of ones, and what files and LIBSVM make of them. */
#include "test/support.h"

#include <hinge/io.h>
#include <hinge/qp.h>

#include <unistd.h>

/* The dual in its plain form: variable v of row v % n, with sign s[v]: min 1/2 u'Qu + p'u, 0 <= u <= C. Decision values
 * go to f [n]; returns the optimum. */
static double dense_dual(const double *gram, const double *s, const double *p, const double *C, size_t n, size_t count,
                         double *f)
{
    double *q = get(count * count, sizeof *q), *a = get(2 * count * count, sizeof *a);
    double *c = get(2 * count, sizeof *c), *u = get(count, sizeof *u);
    for (size_t v = 0; v < count; v++) {
        for (size_t t = 0; t < count; t++)
            q[v * count + t] = s[v] * s[t] * gram[v % n * n + t % n];
        a[v * count + v] = 1;
        a[(count + v) * count + v] = -1;
        c[count + v] = -C[v];
    }
    hinge_qp qp = { .n = count, .q = q, .p = p, .n_inequalities = 2 * count, .a = a, .c = c };
    hinge_qp_result r = { .u = u };
    assert_ok(hinge_qp_solve(&qp, &r, &err));
    assert_int_equal(r.outcome, HINGE_QP_SOLVED);
    memset(f, 0, n * sizeof *f);
    for (size_t i = 0; i < n; i++)
        for (size_t v = 0; v < count; v++)
            f[i] += s[v] * u[v] * gram[i * n + v % n];
    return r.primal;
}

/* By the dense dual; the class that comes first is positive. */
static double expected(const struct set *set, const double *gram, const hinge_params *params, double *f)
{
    size_t n = set->n, count = params->task == HINGE_C_SVC ? n : 2 * n;
    double *s = get(count, sizeof *s), *p = get(count, sizeof *p), *C = get(count, sizeof *C);
    double first = set->y[0] == -1 ? 1 : set->y[0];
    for (size_t v = 0; v < count; v++) {
        double y = set->y[v % n];
        s[v] = params->task == HINGE_C_SVC ? (y == first ? 1 : -1) : v < n ? 1 : -1;
        p[v] = params->task == HINGE_C_SVC ? -1 : params->p - s[v] * y;
        C[v] = params->C * (params->weights != NULL ? params->weights[v % n] : 1);
    }
    double optimum = dense_dual(gram, s, p, C, n, count, f);
    return optimum;
}

static hinge_params exactly(hinge_task task, hinge_kernel kernel, double C)
{
    hinge_params p = params_for(task, kernel, C);
    p.no_bias = 1;
    p.solver = HINGE_SOLVER_SMO;
    p.eps = 1e-10;
    p.precision = HINGE_PRECISION_F64;
    return p;
}

static int cauchy(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < b->rows; j++) {
            double square = *(const double *)cookie;
            for (size_t c = 0; c < a->cols; c++) {
                double t = ((const double *)a->data)[i * a->stride + c] - ((const double *)b->data)[j * b->stride + c];
                square += t * t;
            }
            out[i * ld + j] = 1 / square;
        }
    return 0;
}

static void check(const struct set *set, const double *gram, const hinge_params *params)
{
    hinge_report report;
    double *f = get(set->n, sizeof *f), optimum = expected(set, gram, params, f);
    hinge_model *model = fit(set, params, &report);
    double *g = fit_decisions(model, set, HINGE_PRECISION_F64);
    assert_int_equal(report.outcome, HINGE_CONVERGED);
    assert_int_equal(strncmp(report.path, "block-smo", 9), 0);
    assert_non_null(strstr(report.path, "no bias"));
    assert_true(hinge_model_rho(model)[0] == 0 && !signbit(hinge_model_rho(model)[0]));
    assert_true(report.violation <= params->eps);
    assert_close(report.objective, optimum, 1e-8);
    assert_true(largest_difference(f, g, set->n) <= 1e-8 * (1 + fabs(optimum)));
    hinge_certificate c = certified(model, set, params);
    assert_true(c.gap >= 0 && c.gap <= 1e-8 * (1 + fabs(c.dual)) && c.kkt <= 2 * params->eps);
    assert_true(c.sum_residual == 0 && c.box_residual == 0);
}

TEST(against_the_dense_dual)
{
    double softness = 0.7;
    const hinge_kernel kernels[] = { hinge_kernel_linear(), hinge_kernel_polynomial(2, 0.5, 1), hinge_kernel_rbf(0.8),
                                     hinge_kernel_user("cauchy", cauchy, &softness) };
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int t = 0; t < 4; t++) {
            hinge_task task = t % 2 == 0 ? HINGE_C_SVC : HINGE_EPSILON_SVR;
            struct set set = t % 2 == 0 ? set_two_class(3 + k, 60, 3, 1) : set_regression(3 + k, 40, 3);
            hinge_params params = exactly(task, kernels[k], t < 2 ? 0.3 : 5);
            double *weights = get(set.n, sizeof *weights), *gram = get(set.n * set.n, sizeof *gram);
            for (size_t i = 0; i < set.n; i++) {
                set.x[i * set.d] += 0.5; /* a bias would matter */
                weights[i] = 0.5 + (double)(i % 3);
            }
            params.weights = t > 1 ? weights : NULL;
            if (kernels[k].type == HINGE_USER) {
                cauchy(&softness, matrix_of(&set), matrix_of(&set), gram, set.n);
            } else {
                gram = plain_gram(&kernels[k], &set, &set);
            }
            check(&set, gram, &params);
            struct set values = { set.n, set.n, gram, set.y };
            params.kernel = hinge_kernel_precomputed();
            check(&values, gram, &params);
        }
}

/* <x, z> + 1 is the linear kernel of x with a feature of ones; with a bias, where sum beta = 0, the 1 makes no
 * difference. */
TEST(ones)
{
    for (int t = 0; t < 2; t++) {
        hinge_task task = t == 0 ? HINGE_C_SVC : HINGE_EPSILON_SVR;
        struct set set = t == 0 ? set_two_class(9, 150, 3, 1) : set_regression(9, 120, 3), more = set_new(set.n, 4);
        hinge_params params = exactly(task, hinge_kernel_polynomial(1, 1, 1), 1);
        hinge_report plus, column;
        for (size_t i = 0; i < set.n; i++) {
            memcpy(more.x + 4 * i, set.x + 3 * i, 3 * sizeof *set.x);
            more.x[4 * i + 3] = 1;
            more.y[i] = set.y[i];
        }
        hinge_model *a = fit(&set, &params, &plus);
        params.kernel = hinge_kernel_linear();
        hinge_model *b = fit(&more, &params, &column);
        double *f = fit_decisions(a, &set, HINGE_PRECISION_F64), *g = fit_decisions(b, &more, HINGE_PRECISION_F64);
        assert_close(plus.objective, column.objective, 1e-9);
        assert_true(largest_difference(f, g, set.n) <= 1e-8);
        params.solver = HINGE_SOLVER_INTERIOR_POINT; /* and the other solver */
        hinge_model *c = fit(&more, &params, &column);
        double *h = fit_decisions(c, &more, HINGE_PRECISION_F64);
        assert_close(plus.objective, column.objective, 1e-9);
        assert_true(largest_difference(f, h, set.n) <= 1e-7);
        params = exactly(task, hinge_kernel_polynomial(1, 1, 1), 1);
        params.no_bias = 0;
        a = fit(&set, &params, &plus);
        params.kernel = hinge_kernel_linear();
        b = fit(&set, &params, &column);
        assert_close(plus.objective, column.objective, 1e-9);
    }
}

/* Larger than a working set, in f32 with shrinking, for 1 and 2 threads; classes; an indefinite kernel. */
TEST(larger)
{
    const double labels[] = { 5, 2, 7 };
    struct set set = set_blobs(11, 1800, 4, 3, labels, 2);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_report report, again;
    hinge_certificate c;
    params.no_bias = 1;
    params.kernel = hinge_kernel_rbf(0.2);
    params.C = 10;
    params.working_set = 128;
    params.threads = 1;
    hinge_model *model = fit(&set, &params, &report);
    params.threads = 2;
    hinge_model *two = fit(&set, &params, &again);
    assert_int_equal(report.outcome, HINGE_CONVERGED);
    assert_true(report.rounds > 3 * report.n_problems);
    assert_true(report.objective == again.objective && report.iterations == again.iterations);
    for (size_t p = 0; p < 3; p++)
        assert_true(hinge_model_rho(model)[p] == 0 && hinge_model_rho(two)[p] == 0);
    c = certified(model, &set, &params);
    assert_true(c.kkt <= 2e-3 && c.gap >= 0 && c.gap <= 0.01 * c.dual);
    double *beta = fit_beta(model, set.n);
    params.beta0 = beta; /* a start at the optimum: nothing is moved to mend a sum */
    fit(&set, &params, &again);
    assert_int_equal(again.iterations, 0);
    params.beta0 = NULL;
    params.kernel = hinge_kernel_sigmoid(0.3, -1);
    hinge_model *indefinite = converged(&set, &params, &report);
    c = certified(indefinite, &set, &params);
    assert_true(c.kkt <= 2e-3 && c.box_residual == 0);
}

TEST(degenerate)
{
    struct set set = set_two_class(15, 60, 3, 1);
    hinge_params params = exactly(HINGE_C_SVC, hinge_kernel_linear(), 1);
    hinge_report report;
    memset(set.x, 0, set.n * 3 * sizeof *set.x); /* K = 0: all at C */
    converged(&set, &params, &report);
    assert_near(report.objective, -60, 1e-9);
    for (size_t i = 0; i < set.n; i++)
        set.y[i] = 1; /* one class: with a bias there would be nothing to learn */
    hinge_model *model = NULL;
    hinge_matrix x = set_matrix(&set);
    if (hinge_train(&model, &x, set.y, &params, &report, &err) == HINGE_OK)
        assert_int_equal(report.n_problems, 0);
    hinge_model_free(model);
    set = set_regression(16, 50, 2);
    for (size_t i = 0; i < set.n; i++)
        set.y[i] = 0.05; /* within the tube of 0 */
    params = exactly(HINGE_EPSILON_SVR, hinge_kernel_rbf(1), 1);
    converged(&set, &params, &report);
    assert_int_equal(report.n_sv, 0);
}

/* A saved model has rho 0, comes back as it was, and LIBSVM computes the same. */
TEST(files)
{
    struct set set = set_two_class(4, 80, 3, 1);
    hinge_params params = exactly(HINGE_C_SVC, hinge_kernel_rbf(0.5), 2);
    hinge_model *model = fit(&set, &params, NULL), *loaded = NULL;
    struct oracle theirs = oracle_read(model);
    assert_int_equal(hinge_model_load(&loaded, path_of("model"), NULL, NULL), HINGE_OK);
    given_back(loaded);
    assert_true(hinge_model_rho(loaded)[0] == 0 && theirs.model->rho[0] == 0);
    double *f = fit_decisions(model, &set, HINGE_PRECISION_F64), *g = fit_decisions(loaded, &set, HINGE_PRECISION_F64);
    assert_memory_equal(f, g, set.n * sizeof *f);
    oracle_predict(&theirs, &set, NULL, g);
    assert_true(largest_difference(f, g, set.n) <= 1e-6);
}
