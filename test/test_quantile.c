/* Quantile regression: against its dual as a general QP and a linear program, LIBSVM's epsilon-SVR at the median, plain
 * loops of the certificate, the share of targets below, and files that LIBSVM reads. */
#include "test/support.h"

#include <hinge/io.h>
#include <hinge/qp.h>
#include <hinge/theory.h>

#include <unistd.h>

static hinge_params quantile(double tau, hinge_kernel kernel, double C)
{
    hinge_params p = params_for(HINGE_QUANTILE, kernel, C);
    p.tau = tau;
    p.eps = 1e-9;
    p.precision = HINGE_PRECISION_F64;
    return p;
}

static double plain_pinball(double tau, double target, double f)
{
    return target > f ? tau * (target - f) : (1 - tau) * (f - target);
}

static double weight_of(const hinge_params *p, size_t i)
{
    return p->C * (p->weights != NULL ? p->weights[i] : 1);
}

/* ---- against other programs for the same problem ----------------------------------------------------------------- */

/* min 1/2 b'Kb - y'b, C w (tau - 1) <= b <= C w tau, and sum b = 0 unless there is no bias: the optimum. */
static double dual_optimum(const double *gram, const struct set *set, const hinge_params *params)
{
    size_t n = set->n;
    double *p = get(n, sizeof *p), *a = get(2 * n * n, sizeof *a), *c = get(2 * n, sizeof *c);
    double *e = get(n, sizeof *e), f = 0;
    for (size_t i = 0; i < n; i++) {
        p[i] = -set->y[i];
        e[i] = 1;
        a[i * n + i] = 1;
        c[i] = weight_of(params, i) * (params->tau - 1);
        a[(n + i) * n + i] = -1;
        c[n + i] = -weight_of(params, i) * params->tau;
    }
    hinge_qp qp = { .n = n, .q = gram, .p = p, .n_inequalities = 2 * n, .a = a, .c = c,
                    .n_equalities = params->no_bias ? 0 : 1, .e = e, .f = &f };
    hinge_qp_result r = { .u = NULL };
    assert_int_equal(hinge_qp_solve(&qp, &r, NULL), HINGE_OK);
    assert_int_equal(r.outcome, HINGE_QP_SOLVED);
    return r.primal;
}

/* The model's coefficients by plain loops: inside their boxes, worth `optimum`, and what the certificate says. */
static void check(const struct set *set, const double *gram, const hinge_params *params, const char *path)
{
    size_t n = set->n;
    double optimum = dual_optimum(gram, set, params), loss = 0, square = 0, linear = 0, sum = 0;
    double up = INFINITY, down = -INFINITY;
    hinge_report report;
    hinge_model *model = fit(set, params, &report);
    double *beta = fit_beta(model, n), rho = hinge_model_rho(model)[0];
    assert_int_equal(report.outcome, HINGE_CONVERGED);
    assert_int_equal(strncmp(report.path, path, strlen(path)), 0);
    assert_true(hinge_model_tau(model) == params->tau && hinge_model_task(model) == HINGE_QUANTILE);
    for (size_t i = 0; i < n; i++) {
        double g = 0, low = weight_of(params, i) * (params->tau - 1), high = weight_of(params, i) * params->tau;
        for (size_t j = 0; j < n; j++)
            g += gram[i * n + j] * beta[j];
        assert_true(beta[i] >= low * (1 + 1e-15) && beta[i] <= high * (1 + 1e-15));
        square += beta[i] * g;
        linear -= set->y[i] * beta[i];
        sum += beta[i];
        loss += weight_of(params, i) * plain_pinball(params->tau, set->y[i], g - rho);
        if (beta[i] < high * (1 - 1e-14))
            up = fmin(up, g - set->y[i]);
        if (beta[i] > low * (1 - 1e-14))
            down = fmax(down, g - set->y[i]);
    }
    assert_true(params->no_bias ? rho == 0 : fabs(sum) <= 1e-12 * params->C * (double)n);
    assert_close(square / 2 + linear, optimum, 1e-7);
    assert_close(report.objective, optimum, 1e-7);
    hinge_certificate c = certified(model, set, params);
    assert_close(c.primal, square / 2 + loss, 1e-9);
    assert_close(c.dual, -(square / 2 + linear), 1e-9);
    assert_near(c.kkt, fmax(0, params->no_bias ? fmax(down, -up) : down - up), 1e-10);
    assert_true(c.gap >= -1e-9 * c.primal && c.gap <= 1e-6 * c.primal && c.sum_residual <= 1e-13 &&
                c.box_residual <= 1e-15);
}

TEST(against_the_dense_dual)
{
    const hinge_kernel kernels[] = { hinge_kernel_linear(), hinge_kernel_polynomial(2, 0.5, 1), hinge_kernel_rbf(0.8) };
    const double taus[] = { 0.03, 0.5, 0.8 };
    for (size_t k = 0; k < 3; k++)
        for (size_t t = 0; t < 3; t++)
            for (int how = 0; how < 4; how++) { /* weights, no bias */
                struct set set = set_regression(3 * k + t, 45, 3);
                double *gram = plain_gram(&kernels[k], &set, &set), weights[45];
                hinge_params params = quantile(taus[t], kernels[k], how % 2 ? 0.4 : 6);
                for (size_t i = 0; i < set.n; i++)
                    weights[i] = 0.25 + (double)(i % 4);
                params.weights = how % 2 ? weights : NULL;
                params.no_bias = how > 1;
                params.solver = HINGE_SOLVER_SMO;
                check(&set, gram, &params, "block-smo");
                params.newton = 0;
                params.eps = 1e-7;
                check(&set, gram, &params, "block-smo");
                params.eps = 1e-9;
                params.newton = 1;
                struct set values = { set.n, set.n, gram, set.y };
                params.kernel = hinge_kernel_precomputed();
                check(&values, gram, &params, "block-smo");
                params.kernel = kernels[k];
                params.solver = HINGE_SOLVER_INTERIOR_POINT;
                params.eps = 1e-6;
                params.rank = kernels[k].type == HINGE_LINEAR ? 0 : set.n;
                check(&set, gram, &params, "interior-point");
            }
}

/* At the median, with twice C, the problem is epsilon-SVR's without a tube: the same bits. And LIBSVM's objective. */
TEST(median)
{
    struct set set = set_regression(7, 300, 4);
    hinge_params params = quantile(0.5, hinge_kernel_rbf(0.3), 4), svr = params;
    svr.task = HINGE_EPSILON_SVR;
    svr.p = 0;
    svr.C = 2;
    params.eps = svr.eps = 1e-6;
    hinge_report report, theirs;
    hinge_model *a = fit(&set, &params, &report), *b = fit(&set, &svr, &theirs);
    double *beta = fit_beta(a, set.n), *beta_svr = fit_beta(b, set.n);
    assert_memory_equal(beta, beta_svr, set.n * sizeof *beta);
    assert_true(hinge_model_rho(a)[0] == hinge_model_rho(b)[0] && report.objective == theirs.objective);
    struct oracle oracle = oracle_train(&set, &svr);
    assert_close(report.objective, oracle.objective, 1e-5);
}

/* min sum tau u + (1 - tau) v, X w + b + u - v = y, u, v >= 0 by hinge_qp_solve: the least loss of any line, and w. */
static double least_loss(const struct set *set, double tau, double *square)
{
    size_t n = set->n, d = set->d, all = d + 1 + 2 * n;
    double *p = get(all, sizeof *p), *a = get(2 * n * all, sizeof *a), *c = get(2 * n, sizeof *c);
    double *e = get(n * all, sizeof *e), *u = get(all, sizeof *u);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < d; k++)
            e[i * all + k] = set->x[i * d + k];
        e[i * all + d] = e[i * all + d + 1 + i] = 1;
        e[i * all + d + 1 + n + i] = -1;
        p[d + 1 + i] = tau;
        p[d + 1 + n + i] = 1 - tau;
        a[i * all + d + 1 + i] = a[(n + i) * all + d + 1 + n + i] = 1;
    }
    hinge_qp lp = { .n = all, .p = p, .n_inequalities = 2 * n, .a = a, .c = c, .n_equalities = n, .e = e, .f = set->y };
    hinge_qp_result r = { .u = u };
    assert_int_equal(hinge_qp_solve(&lp, &r, NULL), HINGE_OK);
    assert_int_equal(r.outcome, HINGE_QP_SOLVED);
    *square = 0;
    for (size_t k = 0; k < d; k++)
        *square += u[k] * u[k];
    return r.primal;
}

/* With a linear kernel and a large C the loss is the linear program's, but for |w|^2 / 2 C. */
TEST(linear_program)
{
    for (int t = 0; t < 3; t++) {
        double tau = 0.1 + 0.4 * t, C = 1e6, square, loss = 0;
        struct set set = set_regression(20 + t, 60, 3);
        double least = least_loss(&set, tau, &square);
        hinge_params params = quantile(tau, hinge_kernel_linear(), C);
        params.solver = t == 1 ? HINGE_SOLVER_SMO : HINGE_SOLVER_INTERIOR_POINT;
        hinge_model *model = fit(&set, &params, NULL);
        double *f = fit_decisions(model, &set, HINGE_PRECISION_F64);
        for (size_t i = 0; i < set.n; i++)
            loss += plain_pinball(tau, set.y[i], f[i]);
        assert_true(least > 0.1 && loss >= least * (1 - 1e-9));
        assert_true(loss <= least * (1 + 1e-7) + square / (2 * C));
    }
}

/* ---- what a quantile is ------------------------------------------------------------------------------------------ */

/* Of the rows trained on, at most tau are below f and at most 1 - tau above, since coefficients sum to 0; by
 * `tolerance` f is not exact. */
static void splits(const struct set *set, const hinge_params *params, double tolerance)
{
    hinge_report report;
    hinge_model *model = fit(set, params, &report);
    double *f = fit_decisions(model, set, HINGE_PRECISION_F64), below = 0, above = 0, n = (double)set->n;
    assert_int_equal(report.outcome, HINGE_CONVERGED);
    for (size_t i = 0; i < set->n; i++) {
        below += set->y[i] < f[i] - tolerance;
        above += set->y[i] > f[i] + tolerance;
    }
    assert_true(below <= params->tau * n && above <= (1 - params->tau) * n);
    assert_true(below > 0 && above > 0 && below + above > n / 2); /* and not by letting f meet all targets */
}

/* The first feature as the target of the others. */
static void first_as_target(struct set *set)
{
    set_scale(set);
    for (size_t i = 0; i < set->n; i++) {
        set->y[i] = set->x[i * set->d];
        set->x[i * set->d] = 0;
    }
}

TEST(share_below)
{
    struct set set = set_shipped("breast_cancer", "train", 30, 0, 1, 0);
    first_as_target(&set);
    for (int t = 0; t < 3; t++) {
        hinge_params params = quantile(0.1 + 0.4 * t, hinge_kernel_rbf(0.05), 0.1);
        params.eps = 1e-5;
        params.precision = HINGE_PRECISION_AUTO;
        splits(&set, &params, 3e-5);
        params.kernel = hinge_kernel_linear();
        splits(&set, &params, 3e-5);
    }
}

/* Held-out rows are below f about as often: within four standard deviations, and a hundredth for what is learned. */
TEST(coverage_of_shared)
{
    struct set train = set_shared("cadata", "train", 8, 0, 4, 0), test = set_shared("cadata", "test", 8, 0, 1, 0);
    struct set all = set_join(&train, &test);
    set_scale(&all);
    memcpy(train.x, all.x, train.n * train.d * sizeof *train.x);
    memcpy(test.x, all.x + train.n * train.d, test.n * test.d * sizeof *test.x);
    for (size_t i = 0; i < all.n; i++)
        *(i < train.n ? train.y + i : test.y + (i - train.n)) = all.y[i] / 1e5;
    for (int t = 0; t < 3; t++) {
        hinge_params params = quantile(0.1 + 0.4 * t, hinge_kernel_rbf(0.5), 3);
        double n = (double)test.n, covered = 0;
        params.eps = 1e-3;
        params.precision = HINGE_PRECISION_AUTO;
        splits(&train, &params, 3e-3);
        hinge_model *model = fit(&train, &params, NULL);
        double *f = fit_labels(model, &test);
        for (size_t i = 0; i < test.n; i++)
            covered += test.y[i] <= f[i];
        assert_near(covered / n, params.tau, 4 * sqrt(params.tau * (1 - params.tau) / n) + 0.01);
    }
}

TEST(pinball)
{
    for (int k = -3; k <= 3; k++) {
        assert_near(hinge_pinball(0.9, k), plain_pinball(0.9, k, 0), 1e-15);
        assert_near(hinge_pinball(0.25, k), plain_pinball(0.25, k, 0), 1e-15);
    }
    assert_true(isnan(hinge_pinball(-0.1, 1)) && isnan(hinge_pinball(1.1, 1)) && isnan(hinge_pinball(0.5, NAN)));
}

/* ---- the rest of the library ------------------------------------------------------------------------------------- */

/* From its own solution a training has nothing to do; from that of another level, which is outside the box, it gets to
 * the same place. */
TEST(warm_start)
{
    struct set set = set_regression(5, 120, 3);
    hinge_params params = quantile(0.3, hinge_kernel_rbf(0.5), 2), other = params;
    hinge_report cold, warm;
    other.tau = 0.95;
    hinge_model *a = fit(&set, &params, &cold), *b = fit(&set, &other, NULL);
    double *beta = fit_beta(a, set.n), *far = fit_beta(b, set.n);
    params.beta0 = beta;
    fit(&set, &params, &warm);
    assert_true(warm.outcome == HINGE_CONVERGED && warm.iterations < cold.iterations / 4);
    params.beta0 = far;
    fit(&set, &params, &warm);
    assert_true(warm.outcome == HINGE_CONVERGED);
    assert_close(warm.objective, cold.objective, 1e-9);
}

/* Each fold, and each row left out, as a training of the others says. */
TEST(held_out)
{
    enum { N = 60 };
    struct set set = set_regression(11, N, 2);
    hinge_params params = quantile(0.7, hinge_kernel_rbf(0.5), 1);
    double predictions[N], alone[N], loss = 0;
    hinge_leave_one_out_report loo;
    assert_int_equal(hinge_cross_validate(matrix_of(&set), set.y, &params, N, predictions, NULL, NULL), HINGE_OK);
    assert_int_equal(hinge_leave_one_out(matrix_of(&set), set.y, &params, alone, &loo, NULL), HINGE_OK);
    for (size_t i = 0; i < N; i++) {
        size_t rest[N], n = 0;
        for (size_t j = 0; j < N; j++)
            if (j != i)
                rest[n++] = j;
        struct set others = set_rows(&set, rest, n), one = set_rows(&set, &i, 1);
        hinge_model *model = fit(&others, &params, NULL);
        double *f = fit_labels(model, &one);
        assert_near(predictions[i], f[0], 1e-6);
        assert_near(alone[i], f[0], 1e-6);
        loss += plain_pinball(0.7, set.y[i], alone[i]) / N;
    }
    assert_close(loo.error, loss, 1e-9);
}

/* Every coefficient is at its bound, C tau or C (tau - 1), but that of the middle row, which is 0: it holds b without
 * being a support vector. Without it b is the middle of a range, 2.5 of [2, 3] at most a hundredth off. */
TEST(held_by_no_vector)
{
    double x[5] = { 0, 1, 2, 3, 4 }, y[5] = { 1, 2, 2.9, 3, 4 }, predictions[5];
    struct set set = { 5, 1, x, y };
    hinge_params params = quantile(0.5, hinge_kernel_rbf(1), 1e-3);
    hinge_leave_one_out_report loo;
    assert_int_equal(hinge_leave_one_out(matrix_of(&set), y, &params, predictions, &loo, NULL), HINGE_OK);
    assert_true(loo.n_sv == 4 && loo.retrained == 5);
    assert_near(predictions[2], 2.5, 0.01);
}

/* A file is one of epsilon_svr to LIBSVM, which predicts the same; hinge finds the task and its level again. */
TEST(files)
{
    struct set set = set_regression(13, 80, 3);
    hinge_params params = quantile(0.1 + 0.2, hinge_kernel_rbf(0.5), 2); /* a level of many digits */
    hinge_model *model = fit(&set, &params, NULL);
    assert_int_equal(hinge_model_set_training(model, &params, NULL), HINGE_OK);
    hinge_model *again = written_and_read(model);
    hinge_params told;
    assert_int_equal(hinge_model_training(again, &told, NULL), 1);
    assert_true(told.task == HINGE_QUANTILE && told.tau == params.tau && told.C == 2);
    assert_true(hinge_model_task(again) == HINGE_QUANTILE && hinge_model_tau(again) == params.tau);
    assert_int_equal(hinge_model_set_training(model, NULL, NULL), HINGE_OK); /* a key that LIBSVM refuses */
    struct oracle theirs = oracle_read(model);
    assert_int_equal(svm_get_svm_type(theirs.model), EPSILON_SVR);
    double *f = fit_labels(again, &set), *g = get(set.n, sizeof *g);
    oracle_predict(&theirs, &set, g, NULL);
    assert_true(largest_difference(f, g, set.n) <= 1e-4);
    assert_int_equal(hinge_model_locate(again, matrix_of(&set), set.y, NULL, NULL), HINGE_OK);
    hinge_certificate c = certified(again, &set, &params);
    assert_true(c.gap >= 0 && c.gap < 1e-6 * c.primal);
    params.tau = 0.5;
    assert_refused(hinge_certify(again, matrix_of(&set), set.y, &params, &c, &err),
                   HINGE_EINVAL, "tau: 0.5, and the model was trained for 0.3");
}

TEST(spoilt_files)
{
    const struct {
        const char *type, *more, *behind, *says;
    } bad[] = { { "epsilon_svr", "", "hinge_tau 0", "text:6: hinge_tau '0' is not in (0, 1)" },
                { "epsilon_svr", "", "hinge_tau 1", "is not in (0, 1)" },
                { "epsilon_svr", "", "hinge_tau x", "'x' is not in (0, 1)" },
                { "epsilon_svr", "", "hinge_tau nan", "is not in (0, 1)" },
                { "epsilon_svr", "", "hinge_features 2 hinge_tau", "is not in (0, 1)" },
                { "nu_svr", "", "hinge_tau 0.5", "svm_type 'nu_svr' has no hinge_tau" },
                { "quantile", "", "hinge_tau 0.5", "svm_type 'quantile' is not known" },
                { "epsilon_svr", "probA 1\n", "hinge_tau 0.5", "probA '1' of a model that has none" } };
    hinge_model *model = NULL;
    char text[256];
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        int size = snprintf(text, sizeof text,
                            "svm_type %s\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho 0\n%sSV %s\n", bad[k].type,
                            bad[k].more, bad[k].behind);
        assert_int_equal(hinge_model_parse(&model, "text", text, (size_t)size, NULL, &err), HINGE_EFORMAT);
        assert_says(err.text, bad[k].says);
    }
    const char good[] = "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho -1\n"
                        "SV hinge_features 3 hinge_tau 0.25\n";
    assert_int_equal(hinge_model_parse(&model, "text", good, sizeof good - 1, NULL, NULL), HINGE_OK);
    assert_true(hinge_model_n_features(model) == 3 && hinge_model_tau(model) == 0.25);
    struct text again = text_of(given_back(model));
    assert_true(again.size == sizeof good - 1 && memcmp(again.bytes, good, again.size) == 0);
}

static void refused(const hinge_params *params, const char *says)
{
    assert_int_equal(hinge_params_check(params, 0, 3, &err), HINGE_EINVAL);
    assert_says(err.text, says);
}

TEST(refusals)
{
    const double taus[] = { -0.5, 1, 1.5, NAN, INFINITY };
    hinge_params params = quantile(0, hinge_kernel_rbf(1), 1);
    assert_int_equal(hinge_params_check(&params, 0, 3, NULL), HINGE_OK); /* 0: the median */
    for (size_t k = 0; k < sizeof taus / sizeof *taus; k++) {
        params.tau = taus[k];
        refused(&params, "is not in (0, 1)");
        params.task = HINGE_EPSILON_SVR; /* which does not look at it */
        assert_int_equal(hinge_params_check(&params, 0, 3, NULL), HINGE_OK);
        params.task = HINGE_QUANTILE;
    }
    params.tau = 0.5;
    params.C = INFINITY;
    refused(&params, "C: inf");
    params.C = 1;
    params.probability = 1;
    refused(&params, "probability");
    params.probability = 0;
    struct set set = set_regression(1, 20, 2);
    hinge_model *model = fit(&set, &params, NULL);
    assert_int_equal(hinge_calibrate(model, matrix_of(&set), set.y, NULL, &err), HINGE_EINVAL);
    assert_false(hinge_model_has_probability(model));
}
