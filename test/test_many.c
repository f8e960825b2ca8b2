/* Many targets of the same rows: each against a training of its own to a tight eps, and its optimality by plain loops;
 * weights, C and p of each; files; the bits for threads; refusals. */
#include "test/support.h"

#include <hinge/explain.h>
#include <hinge/io.h>
#include <hinge/scaling.h>
#include <hinge/theory.h>

enum { N = 150, D = 5, M = 4 };

static double values[M * N], weights[M * N];

/* Targets that are alike: products and sums of two features, with some noise; labels: their signs. Weights are those of
 * bootstraps, many of them 0. */
static struct set draw_targets(uint64_t seed, bool labels)
{
    struct set set = set_regression(seed, N, D);
    for (size_t t = 0; t < M; t++)
        for (size_t i = 0; i < N; i++) {
            double a = set.x[i * D], b = set.x[i * D + 1 + t % 3],
                   y = a * b + 0.3 * (double)t * a + 0.1 * draw_normal(&seed);
            values[t * N + i] = labels ? (y > 0 ? 1 : -1) : y;
            weights[t * N + i] = 0;
        }
    for (size_t t = 0; t < M; t++)
        for (size_t i = 0; i < N; i++)
            weights[t * N + draw(&seed) % N] += 1;
    return set;
}

static hinge_params tight(hinge_task task, hinge_kernel kernel)
{
    hinge_params params = params_for(task, kernel, 2);
    params.eps = 1e-7;
    params.precision = HINGE_PRECISION_F64;
    params.nu = 0.4;
    params.tau = task == HINGE_QUANTILE ? 0.7 : 0;
    return params;
}

static hinge_model *train_many(const struct set *set, const hinge_targets *targets, const hinge_params *params)
{
    hinge_model *model = NULL;
    hinge_report report;
    hinge_matrix x = set_matrix(set);
    assert_ok(hinge_train_many(&model, &x, targets, params, &report, &err));
    assert_int_equal(report.outcome, HINGE_CONVERGED);
    assert_int_equal(hinge_model_n_targets(model), targets->n);
    assert_int_equal(hinge_model_n_problems(model), targets->n);
    return given_back(model);
}

static double *values_of(const hinge_model *many, const struct set *set, hinge_precision precision)
{
    hinge_predict_options options = { .precision = precision };
    hinge_matrix x = set_matrix(set);
    double *f = get(set->n * hinge_model_n_targets(many), sizeof *f);
    assert_ok(hinge_predict(many, &x, &options, NULL, f, &err));
    return f;
}

/* Each target's values and objective are those of a training of it alone. */
static void same_as_alone(const struct set *set, const hinge_targets *targets, const hinge_params *params)
{
    hinge_model *many = train_many(set, targets, params);
    double *f = values_of(many, set, HINGE_PRECISION_F64);
    for (size_t t = 0; t < targets->n; t++) {
        struct set one = *set;
        hinge_params own = *params;
        one.y = values + t * N;
        own.weights = targets->weights != NULL ? targets->weights + t * N : params->weights;
        own.C = targets->C != NULL ? targets->C[t] : params->C;
        own.p = targets->p != NULL ? targets->p[t] : params->p;
        double first = 1;
        own.positive_class = params->task == HINGE_C_SVC ? &first : NULL;
        hinge_model *alone = fit(&one, &own, NULL);
        double *g = fit_decisions(alone, &one, HINGE_PRECISION_F64);
        assert_close(hinge_model_objectives(many)[t], hinge_model_objectives(alone)[0], 1e-5);
        for (size_t i = 0; i < N; i++)
            assert_near(f[i * targets->n + t], g[i], 1e-4);
    }
}

static const hinge_task tasks[] = { HINGE_EPSILON_SVR, HINGE_NU_SVR, HINGE_QUANTILE, HINGE_C_SVC };

TEST(each_as_alone)
{
    for (size_t k = 0; k < 4; k++)
        for (int linear = 0; linear < 2; linear++) {
            struct set set = draw_targets(5302000 + k, tasks[k] == HINGE_C_SVC);
            hinge_params params = tight(tasks[k], linear ? hinge_kernel_linear() : hinge_kernel_rbf(0.3));
            hinge_targets targets = { .n = M, .y = values };
            same_as_alone(&set, &targets, &params);
            params.solver = HINGE_SOLVER_INTERIOR_POINT;
            same_as_alone(&set, &targets, &params);
            params.solver = HINGE_SOLVER_SMO;
            targets.weights = weights;
            same_as_alone(&set, &targets, &params);
        }
}

/* C and p of each, class weights, weights of rows and of targets at once, no room for the whole matrix. */
TEST(own_parameters)
{
    const double C[M] = { 0.1, 1, 10, 3 }, p[M] = { 0.01, 0.1, 0.3, 0 }, labels[] = { 1, -1 }, factors[] = { 2, 0.5 };
    struct set set = draw_targets(5302100, false);
    hinge_params params = tight(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3));
    hinge_targets targets = { .n = M, .y = values, .C = C, .p = p };
    same_as_alone(&set, &targets, &params);
    params.cache_bytes = 1000 * sizeof(double);
    same_as_alone(&set, &targets, &params);
    params.cache_bytes = 0;
    double rows[N];
    for (size_t i = 0; i < N; i++)
        rows[i] = i % 3;
    params.weights = rows;
    same_as_alone(&set, &targets, &params);
    set = draw_targets(5302101, true);
    params = tight(HINGE_C_SVC, hinge_kernel_rbf(0.3));
    params.n_class_weights = 2;
    params.class_labels = labels;
    params.class_weights = factors;
    targets.p = NULL;
    same_as_alone(&set, &targets, &params);
}

TEST(one_target)
{
    struct set set = draw_targets(5302200, false);
    hinge_params params = tight(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3));
    hinge_targets targets = { .n = 1, .y = values };
    same_as_alone(&set, &targets, &params);
}

/* In one file, by which the same bits are predicted, in each precision; shares sum to values. */
TEST(files)
{
    for (int linear = 0; linear < 2; linear++) {
        struct set set = draw_targets(5302300, false);
        hinge_params params = params_for(HINGE_EPSILON_SVR, linear ? hinge_kernel_linear() : hinge_kernel_rbf(0.3), 1);
        hinge_scaling scaling = { .lower = -1, .upper = 1 };
        hinge_targets targets = { .n = M, .y = values };
        params.scaling = &scaling;
        hinge_model *model = train_many(&set, &targets, &params), *again = written_and_read(model);
        assert_int_equal(hinge_model_n_targets(again), M);
        assert_true(oracle_refuses(model));
        for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F64; precision++) {
            double *f = values_of(model, &set, (hinge_precision)precision);
            assert_memory_equal(f, values_of(again, &set, (hinge_precision)precision), N * M * sizeof *f);
        }
        double *f = values_of(model, &set, HINGE_PRECISION_F64), shares[M * D], base[M];
        hinge_matrix x = set_matrix(&set);
        x.rows = 1;
        assert_ok(hinge_explain(model, &x, NULL, NULL, shares, base, &err));
        for (size_t t = 0; t < M; t++) {
            for (size_t c = 0; c < D; c++)
                base[t] += shares[t * D + c];
            assert_near(base[t], f[t], 1e-10);
        }
    }
}

/* The certificate is that of each alone: sums of objectives and gaps, the largest of the others. */
TEST(certificate)
{
    for (size_t k = 0; k < 4; k++) {
        struct set set = draw_targets(5302600 + k, tasks[k] == HINGE_C_SVC);
        hinge_matrix x = set_matrix(&set);
        hinge_params params = tight(tasks[k], hinge_kernel_rbf(0.3));
        hinge_targets targets = { .n = M, .y = values, .weights = weights };
        hinge_model *many = train_many(&set, &targets, &params);
        hinge_certificate of_all, of_one;
        double primal = 0, dual = 0, first = 1;
        assert_ok(hinge_certify_many(many, &x, &targets, &params, &of_all, &err));
        for (size_t t = 0; t < M; t++) {
            struct set one = set;
            hinge_params own = params;
            one.y = values + t * N;
            own.weights = weights + t * N;
            own.positive_class = tasks[k] == HINGE_C_SVC ? &first : NULL;
            assert_ok(hinge_certify(fit(&one, &own, NULL), &x, one.y, &own, &of_one, &err));
            primal += of_one.primal;
            dual += of_one.dual;
        }
        assert_close(of_all.primal, primal, 1e-5);
        assert_close(of_all.dual, dual, 1e-5);
        assert_true(of_all.kkt <= 1.001e-7 && of_all.gap >= 0 && of_all.gap <= 1e-4 * fabs(primal));
        assert_true(of_all.sum_residual < 1e-12 && of_all.box_residual <= 1e-12);
        weights[3] += 1; /* another problem, whose conditions these coefficients miss */
        for (size_t i = 0; i < N; i++)
            values[i] += i % 2 ? 0.5 : -0.5;
        if (tasks[k] != HINGE_C_SVC) {
            assert_ok(hinge_certify_many(many, &x, &targets, &params, &of_one, &err));
            assert_true(of_one.kkt > 0.1);
        }
    }
}

TEST(threads)
{
    struct set set = draw_targets(5302400, false);
    hinge_targets targets = { .n = M, .y = values, .weights = weights };
    hinge_params params = params_for(HINGE_NU_SVR, hinge_kernel_rbf(0.3), 1);
    params.threads = 1;
    struct text one = text_of(train_many(&set, &targets, &params));
    for (params.threads = 2; params.threads <= 4; params.threads++)
        assert_true(same_text(one, text_of(train_many(&set, &targets, &params))));
}

TEST(refusals)
{
    struct set set = draw_targets(5302500, false);
    hinge_matrix x = set_matrix(&set);
    hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3), 1);
    hinge_model *model = NULL;
    double labels[N], C[M] = { 1, 1, 0, 1 }, none[M * N] = { 0 };
    hinge_targets targets = { .n = M, .y = values };
#define REFUSED(words) assert_refused(hinge_train_many(&model, &x, &targets, &params, NULL, &err), HINGE_EINVAL, words)
    params.task = HINGE_C_SVC;
    REFUSED("is not +1 or -1");
    params.task = HINGE_ONE_CLASS;
    REFUSED("one_class has no many targets");
    params.task = HINGE_EPSILON_SVR;
    params.probability = 1;
    REFUSED("probability");
    params.probability = 0;
    targets.C = C;
    REFUSED("of target 2");
    targets.C = NULL;
    targets.weights = none;
    REFUSED("all rows have weight 0 for target 0");
    none[N + 3] = -1;
    REFUSED("weight -1 of row 3 for target 1");
    targets.weights = NULL;
    values[2 * N + 5] = NAN;
    REFUSED("targets: value");
    values[2 * N + 5] = 0;
    targets.n = 0;
    REFUSED("targets: none");
    targets.n = M;
    model = train_many(&set, &targets, &params);
    assert_refused(hinge_predict(model, &x, NULL, labels, NULL, &err), HINGE_EINVAL, "labels");
    assert_refused(hinge_calibrate(model, &x, values, NULL, &err), HINGE_EINVAL, "many targets");
    hinge_certificate certificate;
    assert_refused(hinge_certify(model, &x, values, &params, &certificate, &err), HINGE_EINVAL, "one of 4 targets");
    targets.n = 3;
    assert_refused(hinge_certify_many(model, &x, &targets, &params, &certificate, &err), HINGE_EINVAL, "3 are given");
    assert_refused(hinge_model_locate(model, &x, values, NULL, &err), HINGE_EINVAL, "many targets");
}
