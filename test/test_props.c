/* What must hold for any data: symmetries of the problem, weak duality, and certificates by plain loops. */
#include "test/support.h"

static const hinge_kernel_type types[] = { HINGE_LINEAR, HINGE_POLYNOMIAL, HINGE_RBF };

static hinge_params small_problem(hinge_task task, hinge_kernel_type type, double C)
{
    hinge_params params = hinge_params_default(task);
    params.kernel = (hinge_kernel){ .type = type, .degree = 2, .gamma = 0.2, .coef0 = 1 };
    params.C = C;
    params.eps = 1e-6;
    return params;
}

/* Decision values of a model trained on set, at the rows of test; the objective in *objective. */
static double *decisions_of(const struct set *set, const hinge_params *params, const struct set *test,
                            double *objective)
{
    hinge_report report;
    hinge_model *model = converged(set, params, &report);
    double *f = fit_decisions(model, test, HINGE_PRECISION_F64);
    *objective = report.objective;
    return f;
}

/* Both ways of asking have one optimum: g = sign * f, objectives in the given ratio. */
static void same_optimum(const struct set *a, const hinge_params *params_a, const struct set *test_a,
                         const struct set *b, const hinge_params *params_b, const struct set *test_b, double sign,
                         double ratio)
{
    double objective_a, objective_b;
    double *f = decisions_of(a, params_a, test_a, &objective_a), *g = decisions_of(b, params_b, test_b, &objective_b);
    assert_close(objective_b, objective_a * ratio, 1e-6);
    for (size_t i = 0; i < test_a->n; i++)
        assert_near(g[i], sign * f[i], 1e-4);
}

TEST(permuting)
{
    for (size_t t = 0; t < 6; t++) {
        hinge_task task = t < 3 ? HINGE_C_SVC : HINGE_EPSILON_SVR;
        struct set set = t < 3 ? set_two_class(40 + t, 350, 5, 1) : set_regression(40 + t, 350, 5);
        size_t rows[350];
        uint64_t seed = t;
        for (size_t i = 0; i < set.n; i++) {
            size_t j = draw(&seed) % (i + 1);
            rows[i] = rows[j];
            rows[j] = i;
        }
        struct set other = set_rows(&set, rows, set.n);
        hinge_params params = small_problem(task, types[t % 3], 0.5);
        same_optimum(&set, &params, &set, &other, &params, &set, 1, 1); /* +1 is positive in both */
    }
}

TEST(flipping_labels)
{
    for (size_t k = 0; k < 3; k++) {
        struct set set = set_two_class(50 + k, 300, 4, 1), flipped = set_two_class(50 + k, 300, 4, 1);
        for (size_t i = 0; i < set.n; i++)
            flipped.y[i] = -set.y[i];
        hinge_params params = small_problem(HINGE_C_SVC, types[k], 0.7);
        same_optimum(&set, &params, &set, &flipped, &params, &set, -1, 1);
        set = set_regression(53 + k, 300, 4);
        flipped = set_regression(53 + k, 300, 4);
        for (size_t i = 0; i < set.n; i++)
            flipped.y[i] = -set.y[i];
        params = small_problem(HINGE_EPSILON_SVR, types[k], 0.7);
        same_optimum(&set, &params, &set, &flipped, &params, &set, -1, 1);
    }
}

TEST(duplicating)
{
    for (size_t t = 0; t < 6; t++) {
        hinge_task task = t < 3 ? HINGE_C_SVC : HINGE_EPSILON_SVR;
        struct set set = t < 3 ? set_two_class(60 + t, 250, 4, 1) : set_regression(60 + t, 250, 4);
        struct set copies = set_join(&set, &set);
        copies.n = 250 + 80; /* the first 80 rows twice */
        double weights[250];
        for (size_t i = 0; i < 250; i++)
            weights[i] = i < 80 ? 2 : 1;
        hinge_params params = small_problem(task, types[t % 3], 0.6), weighted = params;
        weighted.weights = weights;
        same_optimum(&copies, &params, &set, &set, &weighted, &set, 1, 1);
        for (size_t i = 0; i < 250; i++) /* C w and weight 1/w: nothing changes */
            weights[i] = 0.25;
        weighted.C = 4 * params.C;
        same_optimum(&set, &params, &set, &set, &weighted, &set, 1, 1);
    }
}

/* alpha' Q alpha / 2 - sum alpha under alpha -> alpha / s: objective / s. */
TEST(scaling_kernel_and_C)
{
    for (double s = 0.25; s <= 16; s *= 64) {
        struct set set = set_two_class(70, 300, 5, 1), scaled = set_two_class(70, 300, 5, 1);
        set_multiply(&scaled, sqrt(s));
        hinge_params params = small_problem(HINGE_C_SVC, HINGE_LINEAR, 0.8), other = params;
        other.C = params.C / s;
        same_optimum(&set, &params, &set, &scaled, &other, &scaled, 1, 1 / s);

        hinge_kernel rbf = hinge_kernel_rbf(0.3); /* and a kernel that is no inner product of the data */
        struct set gram = { set.n, set.n, plain_gram(&rbf, &set, &set), set.y };
        params.kernel = rbf;
        other.kernel = hinge_kernel_precomputed();
        set_multiply(&gram, s);
        same_optimum(&set, &params, &set, &gram, &other, &gram, 1, 1 / s);
    }
}

/* Givens rotations of pairs of features: no distance changes. */
TEST(rotating)
{
    struct set set = set_two_class(80, 400, 6, 1), turned = set_two_class(80, 400, 6, 1);
    for (size_t c = 0; c + 1 < set.d; c++)
        for (size_t i = 0; i < set.n; i++) {
            double *a = turned.x + i * set.d + c, u = a[0], v = a[1], angle = 0.3 + (double)c;
            a[0] = cos(angle) * u - sin(angle) * v;
            a[1] = sin(angle) * u + cos(angle) * v;
        }
    hinge_params params = small_problem(HINGE_C_SVC, HINGE_RBF, 2);
    same_optimum(&set, &params, &set, &turned, &params, &turned, 1, 1);
    params.kernel.type = HINGE_LINEAR;
    same_optimum(&set, &params, &set, &turned, &params, &turned, 1, 1);
}

TEST(moving_far_from_origin)
{
    for (double offset = 1e3; offset <= 1e4; offset *= 10) {
        struct set set = set_two_class(81, 500, 6, 1), moved = set_two_class(81, 500, 6, 1);
        for (size_t i = 0; i < set.n * set.d; i++) {
            set.x[i] = round(set.x[i] * 0x1p20) * 0x1p-20; /* the sum below is exact */
            moved.x[i] = set.x[i] + offset;
        }
        hinge_params params = small_problem(HINGE_C_SVC, HINGE_RBF, 2);
        for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F64; precision++) {
            params.precision = (hinge_precision)precision;
            params.eps = precision == HINGE_PRECISION_F32 ? 1e-4 : 1e-6;
            double objective, moved_objective;
            double *f = decisions_of(&set, &params, &set, &objective);
            hinge_model *model = fit(&moved, &params, NULL);
            double *g = fit_decisions(model, &moved, HINGE_PRECISION_AUTO);
            decisions_of(&moved, &params, &moved, &moved_objective);
            assert_close(moved_objective, objective, 1e-6);
            for (size_t i = 0; i < set.n; i++)
                assert_near(g[i], f[i], params.eps * 100);
        }
    }
}

/* ---- Certificates ------------------------------------------------------------------------------------------------ */

static void check_certificate(const struct set *set, const hinge_params *params, bool converges)
{
    hinge_report report;
    hinge_model *model = fit(set, params, &report);
    hinge_certificate c = certified(model, set, params);
    struct plain_certificate plain = plain_certify(model, set, params);
    double size = 1 + fabs(plain.primal) + fabs(plain.dual);
    assert_near(c.primal, plain.primal, 1e-9 * size);
    assert_near(c.dual, plain.dual, 1e-9 * size);
    assert_near(c.gap, plain.primal - plain.dual, 1e-9 * size);
    assert_near(c.kkt, fmax(plain.kkt, 0), 1e-8 * size);
    if (params->task == HINGE_C_SVC) /* regression: see slackness_of_regression */
        assert_near(c.slackness, plain.slackness, 1e-8 * size);
    assert_near(c.sum_residual, plain.sum, 1e-12);
    assert_near(c.box_residual, plain.box, 1e-15);
    assert_true(c.gap >= 0);
    assert_true(plain.box <= 1e-15 && plain.sum <= 1e-12);
    /* the report's running figures are these, within the error it owns up to */
    assert_near(-report.objective, plain.dual,
                1e-6 * size + (isfinite(report.error) ? report.error * plain.bounds : 0));
    if (converges) {
        assert_int_equal(report.outcome, HINGE_CONVERGED);
        assert_true(report.violation + report.error <= 2 * params->eps);
        assert_true(report.violation <= params->eps);
        assert_true(plain.kkt <= report.violation + 2 * report.error + 1e-9 * size);
    }
    if (converges && params->kernel.type == HINGE_RBF)
        assert_true(c.gap <= 2 * (fmax(plain.kkt, 0) + 1e-12) * plain.bounds);
}

/* nu-SVC: coefficients are divided by r; those at a bound are to be there still when it is multiplied again, also they
 * are no free support vectors. */
TEST(certificates_of_nu)
{
    for (uint64_t t = 0; t < 40; t++) {
        struct set set = set_two_class(t, 60 + 7 * t, 2 + t % 9, 0.2);
        hinge_params params = small_problem(HINGE_NU_SVC, HINGE_RBF, 1);
        params.nu = 0.3 + 0.01 * (double)t;
        params.eps = 1e-8;
        hinge_report r;
        hinge_model *model = converged(&set, &params, &r);
        hinge_certificate c = certified(model, &set, &params);
        assert_close(c.dual, -r.objective, 1e-6);
        if (!(c.gap >= 0 && c.gap <= 1e-4 * fabs(c.dual)))
            fail_msg("%zu examples, nu = %g: gap %g of %g", set.n, params.nu, c.gap, c.dual);
    }
}

TEST(certificates)
{
    for (uint64_t t = 0; t < 48; t++) {
        uint64_t seed = 900 + t;
        size_t n = 10 + draw(&seed) % 220, d = 1 + draw(&seed) % 9;
        bool svr = t % 2 == 1;
        struct set set = svr ? set_regression(t, n, d) : set_two_class(t, n, d, 0.3 + draw_unit(&seed));
        set.y[0] = svr ? set.y[0] : 1;
        set.y[1] = svr ? set.y[1] : -1; /* both classes */
        hinge_params params = small_problem(svr ? HINGE_EPSILON_SVR : HINGE_C_SVC, types[t / 2 % 3], 1);
        params.C = pow(10, 3 * draw_unit(&seed) - 2);
        params.eps = pow(10, -2 - 4 * draw_unit(&seed));
        params.p = 0.2 * draw_unit(&seed);
        double weights[230], labels[] = { 1, -1 }, class_weights[] = { 0.5, 3 };
        for (size_t i = 0; i < n; i++)
            weights[i] = i >= 2 && draw(&seed) % 5 == 0 ? 0 : 2 * draw_unit(&seed) + 0.1;
        if (t / 6 % 2 == 1)
            params.weights = weights;
        if (!svr && t / 6 % 3 == 1) {
            params.n_class_weights = 2;
            params.class_labels = labels;
            params.class_weights = class_weights;
        }
        check_certificate(&set, &params, true);
        params.max_iter = 5; /* far from the optimum */
        check_certificate(&set, &params, false);
    }
}

/* A value of a feature: dense, of two values, mostly 0. */
static double value_of_kind(unsigned kind, uint64_t *seed)
{
    switch (kind) {
    case 0:
        return draw_normal(seed);
    case 1:
        return draw(seed) % 3 == 0;
    case 2:
        return draw(seed) % 2 == 0 ? 1 : -1;
    default:
        return draw(seed) % 20 == 0 ? draw_unit(seed) : 0;
    }
}

/* Two rows or hundreds, one feature or thousands: whichever way rows are made, the optimum is one. */
TEST(shapes_at_random)
{
    static const size_t widths[] = { 1, 2, 7, 12, 40, 130, 700 };
    static const double Cs[] = { 0.1, 1, 30 };
    uint64_t seed = 97;
    for (unsigned t = 0; t < 200; t++) {
        unsigned kind = t % 4;
        bool is_long = t % 100 == 3, is_regression = draw(&seed) % 3 == 0, repeats = draw(&seed) % 5 == 0;
        size_t d = is_long ? 5003 : widths[draw(&seed) % 7];
        size_t n = is_long ? 450 : 2 + draw(&seed) % (t % 8 < 4 ? 140 : d < 200 ? 400 : 12);
        struct set set = set_new(n, d);
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t j = 0; j < d; j++) {
                double v = repeats && i % 2 == 1 ? set.x[(i - 1) * d + j] : value_of_kind(kind, &seed);
                set.x[i * d + j] = v;
                sum += j % 3 == 0 ? v : -v;
            }
            sum += draw_normal(&seed);
            set.y[i] = is_regression ? sum : i < 2 ? (i == 0 ? 1 : -1) : sum > 0 ? 1 : -1;
        }
        hinge_params params =
            small_problem(is_regression ? HINGE_EPSILON_SVR : HINGE_C_SVC, types[draw(&seed) % 3], Cs[draw(&seed) % 3]);
        params.kernel.gamma = (t % 3 == 0 ? 5.0 : 0.5) / (double)d;
        params.eps = 1e-4;
        params.threads = 1 + (int)(draw(&seed) % 2);
        params.working_set = draw(&seed) % 3 == 0 ? 16 : 0;
        params.solver = HINGE_SOLVER_SMO;
        print_message("%u: %zu x %zu of kind %u%s, kernel %d, C = %g, %s\n", t, n, d, kind,
                      repeats ? ", each twice" : "", (int)params.kernel.type, params.C,
                      is_regression ? "regression" : "classes");
        check_certificate(&set, &params, true);
    }
}

/* Complementary slackness of each of a point's two variables, alpha and alpha*, as the header has it. */
TEST(slackness_of_regression)
{
    for (size_t t = 0; t < 6; t++) {
        struct set set = set_regression(95 + t, 7 + 20 * t, 1 + t % 3);
        hinge_params params = small_problem(HINGE_EPSILON_SVR, types[t % 3], 1);
        params.eps = 1e-2;
        params.max_iter = t % 2 == 0 ? 4 : 0;
        hinge_model *model = fit(&set, &params, NULL);
        hinge_certificate c = certified(model, &set, &params);
        struct plain_certificate plain = plain_certify(model, &set, &params);
        assert_near(c.slackness, plain.slackness, 1e-9 * (1 + plain.slackness));
    }
}

/* On real data whose kernel values are large, the report's error is no understatement. */
TEST(honest_error)
{
    struct set set = set_shipped("breast_cancer", "train", 30, 0, 1, 0);
    for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F64; precision++)
        for (int scaled = 0; scaled < 2; scaled++) {
            if (scaled)
                set_scale(&set);
            hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(scaled ? 0.05 : 1e-6), 1e4);
            params.precision = (hinge_precision)precision;
            hinge_report report;
            hinge_model *model = fit(&set, &params, &report);
            struct plain_certificate plain = plain_certify(model, &set, &params);
            assert_true(isfinite(report.error));
            assert_true(plain.kkt <= report.violation + 2 * report.error + 1e-8);
            if (precision != HINGE_PRECISION_F32)
                assert_int_equal(report.outcome, HINGE_CONVERGED);
            if (report.outcome == HINGE_CONVERGED)
                assert_true(plain.kkt <= 4 * params.eps);
        }
}
