/*
 * What the interior point says of its ends, by plain loops: converged only where gap and conditions are met, whatever
 * the features, the kernel and its factor are like; as many columns as there are rows; stops in the middle of LAPACK.
 */
#include "test/support.h"

#include "solver/ipm/cholesky.h"
#include "solver/ipm/sweep.h"

static hinge_params inside(hinge_task task, hinge_kernel kernel, double C)
{
    hinge_params p = params_for(task, kernel, C);
    p.solver = HINGE_SOLVER_INTERIOR_POINT;
    return p;
}

/* C-SVC or epsilon-SVR, without weights: report against plain loops. Returns the outcome. */
static hinge_outcome truth_told(const struct set *set, const hinge_params *params, const char *what, uint64_t seed)
{
    hinge_report report;
    hinge_model *model = fit(set, params, &report);
    struct plain_certificate c = plain_certify(model, set, params);
    double gap = (c.primal - c.dual) / fmax(fmax(fabs(c.primal), fabs(c.dual)), 1e-300);
    bool no_gap = c.primal - c.dual <= 1e-9 * params->C * (double)set->n; /* where the optimum is 0 */
    if (report.outcome == HINGE_CONVERGED && !((gap <= 1.1e-6 || no_gap) && c.kkt <= 1.05 * params->eps + 1e-9))
        fail_msg("%s, seed %llu: converged, gap %g (told %g), kkt %g (told %g)", what, (unsigned long long)seed, gap,
                 report.gap, c.kkt, report.violation);
    if (!(-c.dual <= 1e-9 * params->C * (double)set->n))
        fail_msg("%s, seed %llu: objective %g, worse than none", what, (unsigned long long)seed, -c.dual);
    assert_near(report.objective, -c.dual, 1e-6 * (1 + fabs(c.dual)));
    assert_true(c.box == 0 && c.sum <= 1e-12);
    return report.outcome;
}

/* C-SVC, converged, by plain loops. */
static void ends_at_eps(const struct set *set, const hinge_params *params, hinge_report *report)
{
    hinge_model *model = fit(set, params, report);
    struct plain_certificate c = plain_certify(model, set, params);
    assert_int_equal(report->outcome, HINGE_CONVERGED);
    assert_true(c.kkt <= 1.05 * params->eps && c.box == 0);
}

/* A polynomial of few monomials, few points, a smooth kernel, the solver left open: it ends at eps, by plain loops,
 * also where SMO would stall or take long, and with the same bits by two threads. */
TEST(open_solver_ends)
{
    const hinge_kernel square = hinge_kernel_polynomial(2, 0.5, 1), smooth = hinge_kernel_rbf(0.003);
    const struct {
        hinge_kernel kernel;
        size_t n, d;
        double C, factor;
        bool inside; /* in the end */
    } row[] = {
        { square, 700, 4, 1e5, 1, true }, { square, 700, 4, 1e-3, 1, false }, { square, 190, 11, 1, 24, true },
        { smooth, 240, 3, 1e6, 1, true }, { smooth, 2400, 2, 1e5, 1, true },  { smooth, 2400, 2, 1, 1, false }
    };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        struct set set = set_two_class(40 + k, row[k].n, row[k].d, 4);
        hinge_params params = params_for(HINGE_C_SVC, row[k].kernel, row[k].C);
        hinge_report report, other;
        for (size_t i = 0; i < set.n * set.d; i++)
            set.x[i] *= row[k].factor;
        params.eps = 1e-4;
        ends_at_eps(&set, &params, &report);
        assert_int_equal(report.rank > row[k].d, row[k].inside);
        params.threads = 2;
        fit(&set, &params, &other);
        assert_true(other.objective == report.objective && other.iterations == report.iterations);
    }
}

/* A row far away, beside which the interior point that the work speaks for loses the others, goes on by SMO; SMO by a
 * working set of a few that was asked for goes on inside. */
TEST(what_stalls_goes_on)
{
    const struct {
        size_t n, d, working_set;
        double C, factor; /* of row 7 */
    } row[] = { { 424, 3, 0, 0.0252967, 5e4 }, { 300, 4, 8, 1e4, 1 } };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        struct set set = set_two_class(row[k].working_set > 0 ? 1 : 2019, row[k].n, row[k].d, k == 0 ? 1 : 4);
        hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_linear(), row[k].C);
        hinge_report report;
        params.working_set = row[k].working_set;
        params.newton = row[k].working_set == 0; /* systems of W would get there */
        for (size_t c = 0; c < set.d; c++)
            set.x[7 * set.d + c] *= row[k].factor;
        ends_at_eps(&set, &params, &report);
        assert_true(report.rank > 0 && strstr(report.path, "block-smo") != NULL &&
                    strstr(report.path, "interior-point") != NULL);
    }
}

/* Features of 0, constant ones, ones of 1e-12 to 1e3, with the rest as it is. */
static void shape(struct set *set, uint64_t *seed)
{
    uint64_t how = draw(seed) % 5;
    for (size_t k = 0; k < set->d; k++) {
        uint64_t kind = how < 4 ? how : draw(seed) % 4;
        double factor = kind == 3 ? pow(10, 3 * draw_unit(seed)) : kind == 2 ? 1e-12 : 0;
        for (size_t i = 0; i < set->n; i++)
            set->x[i * set->d + k] = set->x[i * set->d + k] * factor + (kind == 1 ? 3 : 0);
    }
}

TEST(features_of_any_size)
{
    size_t converged = 0, all = 0;
    for (uint64_t t = 0; t < 150; t++) {
        uint64_t seed = t;
        size_t n = 3 + draw(&seed) % 60, d = 1 + draw(&seed) % (t % 3 == 0 ? 80 : 6);
        hinge_task task = t % 2 == 0 ? HINGE_EPSILON_SVR : HINGE_C_SVC;
        struct set set = task == HINGE_C_SVC ? set_two_class(t, n, d, 1) : set_regression(t, n, d);
        if (task == HINGE_C_SVC)
            set.y[0] = 1, set.y[1] = -1;
        shape(&set, &seed);
        hinge_params params = inside(task, hinge_kernel_linear(), pow(10, 6 * draw_unit(&seed) - 3));
        params.p = draw(&seed) % 4 == 0 ? 0 : 0.1;
        converged += truth_told(&set, &params, "features", t) == HINGE_CONVERGED;
        all++;
    }
    assert_true(converged >= all * 9 / 10);
}

/* -|x - z|, as a user may have it: symmetric, and not positive semi-definite */
static int distance(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < b->rows; j++) {
            double sum = 0;
            const double *x = (const double *)a->data + i * a->stride, *z = (const double *)b->data + j * b->stride;
            for (size_t k = 0; k < a->cols; k++)
                sum += fabs(x[k] - z[k]);
            out[i * ld + j] = 1 - sum;
        }
    return 0;
}

TEST(indefinite_kernels)
{
    for (uint64_t t = 0; t < 60; t++) {
        uint64_t seed = t;
        size_t n = 4 + draw(&seed) % 60;
        hinge_task task = t % 2 == 0 ? HINGE_EPSILON_SVR : HINGE_C_SVC;
        struct set set = task == HINGE_C_SVC ? set_two_class(t, n, 3, 1) : set_regression(t, n, 3);
        if (task == HINGE_C_SVC)
            set.y[0] = 1, set.y[1] = -1;
        hinge_kernel kernel = t % 3 == 0   ? hinge_kernel_sigmoid(0.5, -1)
                              : t % 3 == 1 ? hinge_kernel_polynomial(3, 0.5, -1)
                                           : hinge_kernel_user("distance", distance, NULL);
        hinge_params params = inside(task, kernel, pow(10, 4 * draw_unit(&seed) - 2));
        if (t % 3 == 2) { /* the plain loops know LIBSVM's kernels: by its matrix */
            hinge_matrix x = set_matrix(&set);
            struct set matrix = set_new(n, n);
            distance(NULL, &x, &x, matrix.x, n);
            matrix.y = set.y;
            set = matrix;
            params.kernel = hinge_kernel_precomputed();
            hinge_report report;
            hinge_model *model = fit(&set, &params, &report);
            x = set_matrix(&set);
            hinge_certificate c = certified(model, &set, &params);
            assert_true(report.outcome != HINGE_CONVERGED || c.kkt <= 1.05 * params.eps);
            assert_near(report.violation, c.kkt, 1e-9 * (1 + fabs(c.kkt)));
            assert_true(c.dual >= -1e-9);
        } else {
            truth_told(&set, &params, "indefinite kernel", t);
        }
    }
}

/* Where the diagonal is 0 and other values are not, as of -|x - z|, it does not tell what a coefficient moves: ones of
 * 1e-8 are no roundings, though the start had some of 1e7. The kernel is positive where coefficients sum to 0. */
TEST(test_a_diagonal_of_0)
{
    uint64_t seed = 23;
    for (int t = 0; t < 4; t++) {
        size_t n = 120 + 60 * (size_t)t;
        struct set set = set_new(n, 40), matrix = set_new(n, n);
        for (size_t k = 0; k < n * set.d; k++)
            set.x[k] = 1e5 * draw_normal(&seed);
        for (size_t i = 0; i < n; i++)
            matrix.y[i] = draw_normal(&seed);
        hinge_matrix x = set_matrix(&set);
        distance(NULL, &x, &x, matrix.x, n);
        for (size_t k = 0; k < n * n; k++)
            matrix.x[k] -= 1; /* the distance alone */
        hinge_params params = hinge_params_default(HINGE_EPSILON_SVR);
        params.kernel = hinge_kernel_precomputed();
        params.C = 1e7;
        params.p = 0.003;
        params.precision = HINGE_PRECISION_F64;
        double *beta0 = get(n, sizeof *beta0);
        beta0[0] = params.C, beta0[1] = -params.C; /* by which roundings are reckoned from then on */
        params.beta0 = beta0;
        hinge_report report;
        hinge_model *model = fit(&matrix, &params, &report);
        params.beta0 = NULL;
        hinge_certificate c = certified(model, &matrix, &params);
        assert_int_equal(report.outcome, HINGE_CONVERGED);
        assert_true(c.kkt <= 1.05 * params.eps);
    }
}

static int stop_later(void *arg, const hinge_progress *progress)
{
    int *left = arg;
    return (*left)-- <= 0;
}

/* A run that is stopped where its solution is about to be judged by the kernel has not converged. */
TEST(stopped_before_the_verdict)
{
    for (uint64_t t = 0; t < 40; t++) {
        struct set set = set_two_class(t % 4, 50, 2, 1);
        hinge_kernel kernel = t % 2 == 0 ? hinge_kernel_sigmoid(0.5, -1) : hinge_kernel_polynomial(3, 0.5, -1);
        hinge_params params = inside(HINGE_C_SVC, kernel, 1);
        int left = (int)t / 4;
        params.progress = stop_later;
        params.progress_arg = &left;
        truth_told(&set, &params, "stopped", t);
    }
}

/* More rows than the default rank has columns, no two of them alike to the kernel: it takes as many as it needs. */
TEST(rank_as_needed)
{
    struct set set = set_two_class(3, 1010, 2, 1);
    set_multiply(&set, 100);
    hinge_params params = inside(HINGE_C_SVC, hinge_kernel_rbf(1), INFINITY);
    hinge_report report;
    hinge_model *model = fit(&set, &params, &report);
    hinge_certificate c = certified(model, &set, &params);
    assert_int_equal(report.outcome, HINGE_CONVERGED);
    assert_true(report.rank > 1000 && c.kkt <= 1.05 * params.eps && c.gap <= 1.1e-6 * c.primal);
    params.rank = 60; /* too few, and it is said */
    model = fit(&set, &params, &report);
    assert_int_equal(report.outcome, HINGE_STALLED);
    assert_non_null(strstr(report.path, "approximate"));
}

/* Hard margin with more features than rows: rank and memory go by the rows. */
TEST(wide)
{
    for (uint64_t t = 0; t < 6; t++) {
        struct set set = set_two_class(t, 10 + 6 * t, 500 + 300 * t, 1);
        set.y[0] = 1, set.y[1] = -1;
        for (size_t k = 0; t % 2 == 1 && k < set.n * set.d; k++)
            set.x[k] += 50; /* far from the origin */
        hinge_params params = inside(HINGE_C_SVC, hinge_kernel_linear(), INFINITY);
        hinge_report report;
        hinge_model *model = converged(&set, &params, &report);
        assert_true(report.rank <= set.n && report.memory_bytes < 8 * set.d * set.d);
        hinge_certificate c = certified(model, &set, &params);
        assert_true(c.kkt <= 1.05 * params.eps && c.gap <= 1.1e-6 * c.primal);
    }
}

/* Rows not many more than columns: memory is that of some matrices of the columns, not of one for every 256 rows. */
TEST(few_rows_a_column)
{
    struct set set = set_two_class(7, 900, 880, 1);
    hinge_params params = inside(HINGE_NU_SVC, hinge_kernel_linear(), 1);
    hinge_report report;
    params.nu = 0.3;
    params.max_iter = 2;
    params.threads = 1;
    fit(&set, &params, &report);
    assert_true(report.iterations > 0 && report.memory_bytes < 9 * sizeof(double) * set.d * set.d);
}

/* A far row leaves the others no part in the factor. In the kernel's space, of x^2, sqrt(2) x and 1, a margin of
 * sqrt(2) separates them: that there is none above some number is told of larger ones alone. */
TEST(hidden_by_a_far_row)
{
    double x[] = { 1, -1, 1e4, 2, -2 }, y[] = { 1, -1, 1, 1, -1 };
    struct set set = { .n = 5, .d = 1, .x = x, .y = y };
    hinge_params params = inside(HINGE_C_SVC, hinge_kernel_polynomial(2, 1, 1), INFINITY);
    hinge_report report;
    fit(&set, &params, &report);
    const char *words = strstr(report.path, "no margin above ");
    assert_true(report.outcome == HINGE_CONVERGED || words != NULL);
    if (words != NULL)
        assert_true(strtod(words + strlen("no margin above "), NULL) >= sqrt(2));
}

/* Points of both classes mixed, whose kernel is smooth: the first factor's coefficients leave no margin above rounding
 * by the kernel itself, and a factor of all columns is not made for that. */
TEST(no_margin_by_the_kernel)
{
    struct set set = set_new(1300, 2);
    uint64_t seed = 12;
    for (size_t i = 0; i < set.n; i++) {
        set.x[2 * i] = draw_normal(&seed);
        set.x[2 * i + 1] = draw_normal(&seed);
        set.y[i] = draw_unit(&seed) < 0.5 ? 1 : -1;
    }
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_matern52(0.07), INFINITY);
    hinge_report report;
    hinge_model *model = fit(&set, &params, &report);
    const char *words = strstr(report.path, "no margin above ");
    assert_int_equal(report.outcome, HINGE_NO_MARGIN);
    assert_true(report.rank == 1000 && report.trace_error > 1e-12 && words != NULL);
    assert_true(strtod(words + strlen("no margin above "), NULL) < 1e-5);
    assert_true(report.n_sv == 0 && hinge_model_rho(model)[0] == 0);
}

/* In pieces the factor is what it is in one; a stop between pieces ends it. */
TEST(factor_in_pieces)
{
    size_t n = 2300;
    struct hg_cholesky c;
    int stop = 0;
    struct hg_halt halt = { .stop = &stop }, past = { .stop = &stop, .deadline = 1e-9 };
    assert_int_equal(hg_cholesky_init(&c, n, NULL), HINGE_OK);
    double *matrix = get(n * c.ld, sizeof *matrix), *x = get(n, sizeof *x);
    for (size_t i = 0; i < n; i++) { /* 1 / (1 + |i - j|) and a diagonal: x = 1 */
        for (size_t j = 0; j < n; j++) {
            double distance = i > j ? (double)(i - j) : (double)(j - i), value = i == j ? 20 : 1 / (1 + distance);
            x[i] += value;
            if (j <= i)
                matrix[i * c.ld + j] = value;
        }
    }
    assert_true(hg_cholesky_factor(&c, matrix, &halt));
    hg_cholesky_solve(&c, x);
    for (size_t i = 0; i < n; i++)
        assert_near(x[i], 1, 1e-12);
    assert_false(hg_cholesky_factor(&c, matrix, &past));
    assert_int_equal(stop, 1);
    hg_cholesky_free(&c);
}

/* All Newton systems, those of the finish too, are max_iter at most. */
TEST(max_iter_holds)
{
    struct set set = set_two_class(5, 400, 6, 1);
    hinge_params params = inside(HINGE_C_SVC, hinge_kernel_linear(), 1);
    hinge_report report;
    params.eps = 1e-9;
    for (params.max_iter = 1; params.max_iter < 40; params.max_iter++) {
        fit(&set, &params, &report);
        assert_true(report.iterations <= params.max_iter);
        assert_true(report.outcome == HINGE_MAX_ITER || report.outcome == HINGE_CONVERGED);
    }
    assert_int_equal(report.outcome, HINGE_CONVERGED);
}
