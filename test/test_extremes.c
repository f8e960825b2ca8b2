/*
 * Numbers at the edge of what can be meant: each input gives a defined result, checked against a closed form, plain
 * loops or another statement of the same problem, or it is refused by name.
 */
#include "test/support.h"

#include <hinge/io.h>

#include <float.h>

/* Trains; plain loops must find the solution feasible and its duality gap small, relative to the objective. */
static void check_optimum(const char *name, const struct set *set, const hinge_params *params, double tolerance)
{
    hinge_report report;
    hinge_model *model = fit(set, params, &report);
    struct plain_certificate c = plain_certify(model, set, params);
    if (report.outcome != HINGE_CONVERGED)
        fail_msg("%s: %s (violation %g)", name, hinge_outcome_text(report.outcome), report.violation);
    double gap = (c.primal - c.dual) / fmax(fabs(c.primal), fabs(c.dual));
    if (!(gap <= tolerance && c.box <= 1e-12 && c.sum <= 1e-9) || c.kkt > 2 * params->eps * 1.01)
        fail_msg("%s: gap %g, kkt %g, box %g, sum %g", name, gap, c.kkt, c.box, c.sum);
    assert_close(report.objective, -c.dual, 1e-4);
}

/* With C = 1e10, or in f32, F itself may not be known to eps: "stalled" says so, and the objective is right all the
 * same. */
static double objective_of(const struct set *set, const hinge_params *params)
{
    hinge_report report;
    fit(set, params, &report);
    bool excused = params->C == 1e10 || params->precision == HINGE_PRECISION_F32;
    if (report.outcome != HINGE_CONVERGED && !(excused && report.outcome == HINGE_STALLED))
        fail_msg("%s (violation %g)", hinge_outcome_text(report.outcome), report.violation);
    return report.objective;
}

static hinge_report report_of(const struct set *set, hinge_params params, hinge_precision precision)
{
    hinge_report report;
    params.precision = precision;
    fit(set, &params, &report);
    return report;
}

/* ---- Data -------------------------------------------------------------------------------------------------------- */

/* A kernel that is the same for all pairs leaves 1/2 beta'K beta = 0: alpha = C for as many of the larger class as the
 * smaller one has, and the objective is -2 C min(n+, n-). */
TEST(constant_kernels)
{
    struct set set = set_two_class(2, 61, 3, 1), tiny = set_two_class(2, 61, 3, 1), same = set_two_class(2, 61, 3, 1);
    size_t positive = 0;
    for (size_t i = 0; i < set.n; i++)
        positive += set.y[i] > 0;
    set_multiply(&tiny, 4e-311); /* denormal, as are their products: 0 */
    for (size_t i = 0; i < same.n * same.d; i++)
        same.x[i] = 3;
    double fewer = (double)(positive < set.n - positive ? positive : set.n - positive);
    const double C[] = { 1e-10, 1, 1e10 };
    for (size_t k = 0; k < 3; k++)
        for (int precision = 0; precision <= HINGE_PRECISION_F64; precision++) {
            const struct {
                const struct set *set;
                hinge_kernel kernel;
            } tries[] = { { &set, hinge_kernel_rbf(0) },
                          { &set, hinge_kernel_polynomial(0, 1, 1) },
                          { &set, hinge_kernel_polynomial(3, 0, 1) },
                          { &set, hinge_kernel_sigmoid(0, 0) },
                          { &tiny, hinge_kernel_rbf(1e10) },
                          { &tiny, hinge_kernel_linear() },
                          { &same, hinge_kernel_rbf(0.5) },
                          { &same, hinge_kernel_polynomial(20, 0.1, 0) } };
            for (size_t t = 0; t < sizeof tries / sizeof *tries; t++) {
                hinge_params params = params_for(HINGE_C_SVC, tries[t].kernel, C[k]);
                params.precision = (hinge_precision)precision;
                assert_close(objective_of(tries[t].set, &params), -2 * C[k] * fewer, 1e-6);
            }
        }
}

/* Denormal values beside ordinary ones change nothing that can be seen; constant ones neither, where the kernel is of
 * differences. */
TEST(odd_features)
{
    struct set set = set_two_class(3, 80, 4, 1), wide = set_new(80, 6);
    for (size_t i = 0; i < 80; i++) {
        memcpy(wide.x + i * 6, set.x + i * 4, 4 * sizeof(double));
        wide.x[i * 6 + 4] = -7e3;
        wide.x[i * 6 + 5] = 5e-324 * (double)i;
        wide.y[i] = set.y[i];
    }
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.5), 10);
    double plain = objective_of(&set, &params);
    for (int precision = 0; precision <= HINGE_PRECISION_F64; precision++) {
        params.precision = (hinge_precision)precision;
        assert_close(objective_of(&wide, &params), plain, 1e-5);
    }
    check_optimum("odd features", &wide, &params, 1e-3);
}

/* Rows many times over, with contradicting labels among them. */
TEST(equal_rows)
{
    struct set few = set_two_class(4, 10, 3, 1), many = set_new(200, 3);
    for (size_t i = 0; i < 200; i++) {
        memcpy(many.x + i * 3, few.x + i % 10 * 3, 3 * sizeof(double));
        many.y[i] = i < 150 ? few.y[i % 10] : -few.y[i % 10];
    }
    const hinge_kernel kernels[] = { hinge_kernel_linear(), hinge_kernel_rbf(1), hinge_kernel_polynomial(2, 1, 1) };
    for (size_t k = 0; k < 3; k++)
        for (int task = 0; task < 2; task++) {
            hinge_params params = params_for(task == 0 ? HINGE_C_SVC : HINGE_EPSILON_SVR, kernels[k], 3);
            check_optimum("equal rows", &many, &params, 1e-3);
        }
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */

/* One row: regression predicts it to within p, one-class has it on the border, a single class is always that one. */
TEST(one_row)
{
    double x = 0.7, y = 1234.5, label, f;
    hinge_matrix one = hinge_matrix_f64(&x, 1, 1);
    for (int task = 0; hinge_task_info((hinge_task)task) != NULL; task++) {
        hinge_params params = params_for((hinge_task)task, hinge_kernel_rbf(1), 1);
        hinge_model *model = NULL;
        if (task == HINGE_NU_SVC) /* needs two classes: a named error, or the one class */
            params.nu = 0.5;
        hinge_status status = hinge_train(&model, &one, &y, &params, NULL, &err);
        if (status != HINGE_OK)
            fail_msg("task %d: %s", task, err.text);
        assert_int_equal(hinge_predict(model, &one, NULL, &label, task < 2 ? NULL : &f, &err), HINGE_OK);
        if (task < 2)
            assert_true(label == y);
        else if (task == HINGE_ONE_CLASS)
            assert_near(f, 0, 1e-9);
        else
            assert_near(label, y, params.p + 1e-9);
        hinge_model_free(model);
    }
}

TEST(one_feature_and_many)
{
    const hinge_kernel kernels[] = { hinge_kernel_linear(), hinge_kernel_rbf(0.3), hinge_kernel_polynomial(3, 0.5, 1) };
    struct set narrow = set_two_class(5, 150, 1, 0.5), wide = set_two_class(6, 60, 20000, 1);
    for (size_t k = 0; k < 3; k++) {
        hinge_params params = params_for(HINGE_C_SVC, kernels[k], 2);
        check_optimum("one feature", &narrow, &params, 1e-3);
        params.kernel.gamma /= 20000;
        params.eps = 1e-9; /* the linear kernel's values are about 2e4, its optimum is a small number */
        check_optimum("20,000 features", &wide, &params, 1e-3);
        params.task = HINGE_EPSILON_SVR;
        check_optimum("20,000 features, regression", &wide, &params, 1e-3);
    }
}

/* n*n is beyond 2^31: 50,000 rows that are 5,000 ten times over have the optimum of these with weights of 10. */
TEST(fifty_thousand_rows)
{
    enum { FEW = 5000, TIMES = 10 };
    struct set few = set_two_class(7, FEW, 8, 1), many = set_new(FEW * TIMES, 8);
    double *weights = get(FEW, sizeof *weights), scaled[8];
    for (size_t i = 0; i < FEW * TIMES; i++) {
        memcpy(many.x + i * 8, few.x + i % FEW * 8, sizeof scaled);
        many.y[i] = few.y[i % FEW];
    }
    for (size_t i = 0; i < FEW; i++)
        weights[i] = TIMES;
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.1), 0.5);
    double of_many = objective_of(&many, &params);
    params.weights = weights;
    assert_close(of_many, objective_of(&few, &params), 1e-5);
}

/* ---- Parameters -------------------------------------------------------------------------------------------------- */

TEST(small_and_large_c)
{
    struct set set = set_two_class(8, 60, 3, 1), line = set_regression(9, 60, 2);
    const hinge_kernel kernels[] = { hinge_kernel_linear(), hinge_kernel_rbf(2), hinge_kernel_polynomial(2, 1, 1) };
    const double C[] = { 1e-10, 1e10 };
    for (size_t k = 0; k < 3; k++)
        for (size_t c = 0; c < 2; c++) {
            hinge_params params = params_for(HINGE_C_SVC, kernels[k], C[c]);
            if (C[c] == 1e-10) {
                check_optimum("C", &set, &params, 1e-3);
                params.task = HINGE_EPSILON_SVR;
                check_optimum("C, regression", &line, &params, 1e-3);
                continue;
            }
            if (k == 1) { /* separable: the optimum is the hard margin's, by the other solver */
                params.eps = 1e-6;
                double soft = objective_of(&set, &params);
                params.C = INFINITY;
                params.rank = set.n;
                assert_close(soft, objective_of(&set, &params), 1e-4);
                continue;
            }
            params.max_iter = 1000000; /* no optimum in reach of rounding: it must end, say so, and be finite */
            hinge_report report;
            hinge_model *model = fit(&set, &params, &report);
            assert_true(isfinite(report.objective) && isfinite(hinge_model_rho(model)[0]));
        }
}

/* gamma so large that K = I. With as many rows of each class, alpha = min(C, 1) and b = 0; the objective is
 * n (alpha^2 / 2 - alpha). */
TEST(identity_kernel)
{
    struct set set = set_two_class(10, 100, 3, 1);
    for (size_t i = 0; i < set.n; i++)
        set.y[i] = i % 2 == 0 ? 1 : -1;
    const double C[] = { 1e-10, 0.25, 10, 1e10 };
    for (size_t k = 0; k < 4; k++)
        for (int precision = 0; precision <= HINGE_PRECISION_F64; precision++) {
            double a = fmin(C[k], 1);
            hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(1e10), C[k]);
            params.precision = (hinge_precision)precision;
            params.eps = 1e-5;
            hinge_report r = report_of(&set, params, params.precision);
            if (r.outcome != HINGE_CONVERGED)
                fail_msg("C = %g, precision %d: %s", C[k], precision, hinge_outcome_text(r.outcome));
            assert_close(r.objective, 100 * (a * a / 2 - a), 1e-6);
        }
}

/* Narrow RBF kernels on rows that come twice, K = I but for the twins: alpha = min(C, 1/2) for each. Asked for f32, the
 * objective is right to what f32 can hold, and decision values at examples of the training are +-1. */
TEST(narrow_kernels)
{
    enum { HALF = 600, D = 60 };
    struct set once = set_two_class(10, HALF, D, 1);
    for (size_t i = 0; i < once.n; i++)
        once.y[i] = i % 2 == 0 ? 1 : -1;
    struct set set = set_join(&once, &once);
    double *decisions = get(set.n, sizeof *decisions);
    const double gammas[] = { 10, 300, 1e4, 1e6, 1e10 };
    for (size_t k = 0; k < 5; k++)
        for (int precision = 0; precision <= HINGE_PRECISION_F64; precision++) {
            hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(gammas[k]), 10);
            params.precision = (hinge_precision)precision;
            params.eps = 1e-5;
            hinge_report r;
            hinge_model *model = fit(&set, &params, &r);
            assert_close(r.objective, -0.5 * HALF, 1e-2);
            for (int of = 0; of <= HINGE_PRECISION_F64; of++) {
                hinge_predict_options options = { .threads = 1, .precision = (hinge_precision)of };
                assert_int_equal(hinge_predict(model, matrix_of(&set), &options, NULL, decisions, NULL), HINGE_OK);
                for (size_t i = 0; i < set.n; i++)
                    assert_near(decisions[i], set.y[i], 0.02);
            }
        }
}

TEST(high_degree)
{
    struct set set = set_two_class(11, 80, 4, 1);
    set_scale(&set);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_polynomial(20, 0.25, 1), 1);
    check_optimum("degree 20", &set, &params, 1e-3);
    set_multiply(&set, 1e10); /* K is about 1e400 */
    for (int precision = 0; precision <= HINGE_PRECISION_F64; precision++) {
        hinge_report report;
        params.precision = (hinge_precision)precision;
        hinge_model *model = fit(&set, &params, &report);
        assert_int_equal(report.outcome, HINGE_NONFINITE);
        for (size_t i = 0; i < hinge_model_n_sv(model); i++)
            assert_true(isfinite(hinge_model_coef(model)[i]));
    }
}

/* ---- Labels ------------------------------------------------------------------------------------------------------ */

TEST(labels_at_the_limits)
{
    const double labels[] = { DBL_MAX, -DBL_MAX, DBL_TRUE_MIN, -DBL_TRUE_MIN, 1 + DBL_EPSILON, 1, 0, 1.7, 3e9, 4e9 };
    enum { K = 10 };
    struct set set = set_new(K * 10, 1);
    for (size_t i = 0; i < set.n; i++) {
        set.x[i] = (double)(i % K) + 0.01 * (double)(i / K);
        set.y[i] = labels[i % K];
    }
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(10), 100);
    hinge_model *model = fit(&set, &params, NULL), *again = written_and_read(model);
    for (int k = 0; k < 2; k++) {
        double *predicted = fit_labels(k == 0 ? model : again, &set);
        for (size_t i = 0; i < set.n; i++)
            assert_true(predicted[i] == set.y[i]);
    }
}

/* Targets so large that every coefficient is at its bound: objective -sum C |y|, as K and p are nothing beside them.
 * Where that sum overflows, the outcome says so. */
TEST(targets_at_the_limits)
{
    const double sizes[] = { 1e100, 1e300, DBL_MAX / 4, DBL_MAX };
    for (size_t k = 0; k < 4; k++) {
        struct set set = set_regression(12, 40, 2);
        double sum = 0;
        for (size_t i = 0; i < set.n; i++) {
            set.y[i] = (i % 2 == 0 ? 1 : -1) * sizes[k] * (1 - 0.01 * (double)(i / 2));
            sum += fabs(set.y[i]);
        }
        hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(1), 1);
        params.max_iter = 100000;
        hinge_report report;
        hinge_model *model = fit(&set, &params, &report);
        for (size_t i = 0; i < hinge_model_n_sv(model); i++)
            assert_true(isfinite(hinge_model_coef(model)[i]));
        if (isinf(sum))
            assert_int_equal(report.outcome, HINGE_NONFINITE);
        else
            assert_close(report.objective, -sum, 1e-6);
    }
}

/* ---- Single and double precision --------------------------------------------------------------------------------- */

TEST(f32_as_f64)
{
    struct set set = set_two_class(13, 1200, 10, 1.2), line = set_regression(14, 1200, 4);
    const hinge_kernel kernels[] = { hinge_kernel_rbf(0.1), hinge_kernel_polynomial(3, 0.1, 1),
                                     hinge_kernel_sigmoid(0.01, -0.5) };
    for (size_t k = 0; k < 3; k++)
        for (int regression = 0; regression < 2; regression++) {
            const struct set *s = regression ? &line : &set;
            hinge_params params = params_for(regression ? HINGE_EPSILON_SVR : HINGE_C_SVC, kernels[k], 1);
            hinge_report r32 = report_of(s, params, HINGE_PRECISION_F32);
            hinge_report r64 = report_of(s, params, HINGE_PRECISION_F64);
            assert_int_equal(r32.precision, HINGE_PRECISION_F32);
            assert_int_equal(r64.precision, HINGE_PRECISION_F64);
            assert_true(r32.outcome == HINGE_CONVERGED && r64.outcome == HINGE_CONVERGED);
            assert_close(r32.objective, r64.objective, 1e-4);
            assert_true(r32.error <= 1e-3);
        }
}

static struct set moved(const struct set *set, double offset)
{
    struct set far = set_new(set->n, set->d);
    memcpy(far.y, set->y, set->n * sizeof *far.y);
    for (size_t i = 0; i < set->n * set->d; i++)
        far.x[i] = set->x[i] + offset;
    return far;
}

/* Far from 0, products have no digits left in f32: a polynomial kernel is taken in f64 unasked. The RBF kernel is of
 * differences, which are exact once the mean is off: f32 does, and the optimum is that of the data where they were. */
TEST(far_from_zero)
{
    struct set set = set_two_class(15, 400, 4, 1);
    for (size_t i = 0; i < set.n * set.d; i++)
        set.x[i] = round(set.x[i] * 256) / 256; /* moved without rounding */
    struct set far = moved(&set, 1e4);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.5), 10);
    hinge_report near = report_of(&set, params, HINGE_PRECISION_F64), r = report_of(&far, params, HINGE_PRECISION_AUTO);
    assert_int_equal(r.precision, HINGE_PRECISION_F32);
    assert_int_equal(r.outcome, HINGE_CONVERGED);
    assert_non_null(strstr(r.path, "centred"));
    assert_close(r.objective, near.objective, 1e-4);
    assert_true(r.violation + r.error <= 2 * params.eps * 1.01);
    hinge_model *model = fit(&far, &params, NULL), *there = fit(&set, &params, NULL);
    double *a = fit_decisions(model, &far, HINGE_PRECISION_AUTO), *b = fit_decisions(there, &set, HINGE_PRECISION_F64);
    assert_true(largest_difference(a, b, set.n) < 20 * params.eps);

    params.kernel = hinge_kernel_polynomial(2, 1, 0); /* values about 1e17, of which the data are the last digits */
    params.C = 1e-9;
    params.max_iter = 1000000;
    r = report_of(&far, params, HINGE_PRECISION_AUTO);
    if (r.precision != HINGE_PRECISION_F64 && r.corrections == 0 && r.newton_steps == 0) /* all three are in f64 */
        fail_msg("polynomial kernel at 1e4: f32, unnoticed (error %g)", r.error);
}

/* What f32 rows make of cod-rna at C = 1e4 is an error of F of half a margin; it must not pass as converged. */
TEST(cod_rna)
{
    struct set set = set_shared("cod-rna", "train", 8, 0, 12, 4000);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(2), 1e4);
    set_scale(&set);
    hinge_report r = report_of(&set, params, HINGE_PRECISION_AUTO), r64 = report_of(&set, params, HINGE_PRECISION_F64);
    hinge_model *model = fit(&set, &params, NULL);
    hinge_certificate c = certified(model, &set, &params);
    assert_int_equal(r.outcome, HINGE_CONVERGED);
    assert_true(r.precision == HINGE_PRECISION_F64 || r.corrections > 0);
    assert_true(c.kkt <= 2.02 * params.eps);
    assert_close(r.objective, r64.objective, 1e-4);
}

/* Two points side by side lose digits of their distance in f32 that all others have, where both are far from the rest:
 * few points that are measured do not show it, and yet no model is converged that plain loops find is not. */
TEST(near_points_far_from_the_rest)
{
    enum { N = 1200, D = 6, FAR = 40, PAIRS = 6 };
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t state = seed;
        struct set set = set_new(N, D);
        for (size_t i = 0; i < N; i++) {
            bool second = i >= FAR && i < FAR + 2 * PAIRS && (i - FAR) % 2 == 1;
            double scale = i < FAR ? 24 : second ? 0.03 : i < FAR + 2 * PAIRS ? 8 : 1;
            for (size_t c = 0; c < D; c++)
                set.x[i * D + c] = scale * draw_normal(&state) + (second ? set.x[(i - 1) * D + c] : 0);
            set.y[i] = second ? -set.y[i - 1] : draw_unit(&state) < 0.5 ? -1 : 1;
        }
        hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_matern52(6.4), 2500);
        params.eps = 0.005;
        hinge_report report;
        hinge_model *model = fit(&set, &params, &report);
        double kkt = plain_certify(model, &set, &params).kkt;
        if (report.outcome == HINGE_CONVERGED && !(kkt <= 1.05 * params.eps))
            fail_msg("seed %llu: told violation %g, error %g; plain loops %g", (unsigned long long)seed,
                     report.violation, report.error, kkt);
    }
}

/* nu-SVR of targets that a plane goes through has both sides of examples in use, each of them 1e14 times what a model
 * keeps of them, their difference: its certificate's dual objective is that of the model all the same. */
TEST(sides_much_larger_than_coefficients)
{
    enum { N = 30 };
    for (uint64_t seed = 1; seed <= 8; seed++) {
        uint64_t state = seed;
        struct set set = set_new(N, 2);
        for (size_t i = 0; i < N; i++) {
            for (size_t c = 0; c < 2; c++)
                set.x[i * 2 + c] = floor(10 * draw_unit(&state));
            set.y[i] = 2 - 0.3 * set.x[i * 2] - 0.2 * set.x[i * 2 + 1];
        }
        hinge_params params = params_for(HINGE_NU_SVR, hinge_kernel_polynomial(1, 1.7e6, 0.0075), 4.5e6);
        params.nu = 0.033;
        hinge_model *model = converged(&set, &params, NULL);
        double *beta = fit_beta(model, N), *k = plain_gram(&params.kernel, &set, &set), dual = 0;
        for (size_t i = 0; i < N; i++) {
            double g = 0;
            for (size_t j = 0; j < N; j++)
                g += k[i * N + j] * beta[j];
            dual += beta[i] * (set.y[i] - g / 2);
        }
        assert_close(certified(model, &set, &params).dual, dual, 1e-9);
    }
}

/* Returns a regression's dual objective of minimising beta, by plain loops: 0 of a model without coefficients. */
static double plain_worth(const hinge_model *model, const struct set *set, const hinge_params *params)
{
    double *beta = fit_beta(model, set->n), *k = plain_gram(&params->kernel, set, set), worth = 0;
    for (size_t i = 0; i < set->n; i++) {
        double g = 0;
        for (size_t j = 0; j < set->n; j++)
            g += k[i * set->n + j] * beta[j];
        worth += beta[i] * (g / 2 - set->y[i]) + params->p * fabs(beta[i]);
    }
    return worth;
}

/* Three points of 1e4 among points of 1 have K of 1e8, whose rounding in f32 is more than what there is to gain: rows
 * in f32 that the caller asks for lead to no model that is worse than none, as plain loops have it. */
TEST(no_model_worse_than_none)
{
    enum { N = 968, D = 13 };
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t state = seed;
        struct set set = set_new(N, D);
        for (size_t i = 0; i < N; i++) {
            set.y[i] = -0.0557;
            for (size_t c = 0; c < D; c++) {
                set.x[i * D + c] = (float)(draw_normal(&state) + (i < 3 ? 12322 : 0));
                set.y[i] += 1.123e-4 * set.x[i * D + c];
            }
        }
        hinge_params params = params_for(HINGE_QUANTILE, hinge_kernel_linear(), 0.0104);
        params.tau = 0.479;
        params.eps = 0.0751;
        params.p = 0;
        params.precision = HINGE_PRECISION_F32;
        params.solver = HINGE_SOLVER_SMO;
        params.working_set = 15;
        double worth = plain_worth(fit(&set, &params, NULL), &set, &params);
        if (worth > 1e-9)
            fail_msg("seed %llu: an objective of %g", (unsigned long long)seed, worth);
    }
}

/* Points that are equal but for 1e-6 have kernel values that f32 cannot tell apart, by which coefficients grow to C. By
 * values in f64 from there on, SMO comes to within eps where much of them is still there: worse than no model. */
TEST(no_model_worse_than_none_of_coarse_rows)
{
    enum { N = 834 };
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t state = seed;
        struct set set = set_new(N, 2);
        for (size_t i = 0; i < N; i++) {
            bool second = draw_unit(&state) < 0.55;
            set.x[i * 2] = (second ? 1 : 0) + (i % 3 != 0 ? 1e-6 * draw_normal(&state) : 0);
            set.x[i * 2 + 1] = 1.25;
            set.y[i] = (second ? -3.3e-5 : 2.05e-5) + 5e-7 * draw_normal(&state);
        }
        hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_chi2(0.7), 100);
        params.eps = 4e-6;
        params.p = 4.26e-7;
        double worth = plain_worth(converged(&set, &params, NULL), &set, &params);
        if (worth > 1e-6)
            fail_msg("seed %llu: an objective of %g", (unsigned long long)seed, worth);
    }
}

/* Counts are whole numbers, whose products other makers than GEMM make; of few rows with many features the matrix goes
 * whole, by GEMM, in f32 too. */
TEST(few_rows_of_counts_in_f32)
{
    for (size_t n = 51; n <= 700; n += 649) {
        struct set set = set_new(n, 3432);
        uint64_t state = n;
        for (size_t i = 0; i < n * set.d; i++)
            set.x[i] = floor(10 * draw_unit(&state));
        for (size_t i = 0; i < n; i++)
            set.y[i] = draw_normal(&state);
        hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_matern32(1.5e-6), 1);
        params.solver = HINGE_SOLVER_SMO;
        for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F32; precision++) {
            params.precision = (hinge_precision)precision;
            hinge_report report;
            hinge_model *model = converged(&set, &params, &report);
            assert_true(plain_certify(model, &set, &params).kkt <= 1.05 * params.eps + report.error);
        }
    }
}
