/*
 * What is said of a run is so: outcomes, figures of reports and certificates, and what a warm start or a file keeps,
 * each beside plain loops or a second way to the same thing.
 */
#include "test/support.h"

#include <hinge/io.h>
#include <hinge/theory.h>

/* ---- Outcomes ---------------------------------------------------------------------------------------------------- */

static int stop_at_once(void *arg, const hinge_progress *progress)
{
    return 1;
}

static int stop_later(void *arg, const hinge_progress *progress)
{
    int *left = arg;
    return (*left)-- <= 0;
}

/* A run of nu-SVC that was cut short says so, also where its r is not above 0 yet; one to the end on two classes that
 * are the same says that there is no margin. */
TEST(nu_svc_cut_short)
{
    struct set set = set_two_class(3, 900, 4, 6);
    for (int way = 0; way < 3; way++) {
        hinge_params params = params_for(HINGE_NU_SVC, hinge_kernel_rbf(0.01), 1);
        params.nu = 0.9;
        params.working_set = 16;
        params.max_iter = way == 0 ? 2 : 0;
        params.time_limit = way == 1 ? 1e-9 : 0;
        params.progress = way == 2 ? stop_at_once : NULL;
        const hinge_outcome expected[] = { HINGE_MAX_ITER, HINGE_TIME_LIMIT, HINGE_STOPPED };
        hinge_report report;
        fit(&set, &params, &report);
        assert_int_equal(report.outcome, expected[way]);
    }
    double x[] = { 0, 1, 2, 0, 1, 2 }, y[] = { 1, 1, 1, -1, -1, -1 };
    struct set same = { 6, 1, x, y };
    hinge_params params = hinge_params_default(HINGE_NU_SVC);
    hinge_report report;
    fit(&same, &params, &report);
    assert_int_equal(report.outcome, HINGE_NO_MARGIN);
}

/* Of other tasks nobody says that there is no margin: not where the error of F is larger than 1 either. */
TEST(margin_is_of_nu_svc)
{
    struct set set = set_two_class(4, 940, 3, 1);
    uint64_t seed = 1;
    double beta0[940];
    for (size_t i = 0; i < set.n * set.d; i++)
        set.x[i] = (float)(43000 + draw_normal(&seed));
    for (size_t i = 0; i < set.n; i++)
        beta0[i] = draw_unit(&seed);
    hinge_params params = params_for(HINGE_ONE_CLASS, hinge_kernel_linear(), 1);
    params.nu = 0.38;
    params.solver = HINGE_SOLVER_SMO;
    params.beta0 = beta0;
    hinge_report report;
    fit(&set, &params, &report);
    assert_int_not_equal(report.outcome, HINGE_NO_MARGIN);
}

/* Whenever a run is stopped, what it tells of the objective is what plain loops find of its coefficients, and no worse
 * than what it began with. */
TEST(stopped_anywhere)
{
    for (int task = 0; task <= HINGE_NU_SVR; task++) {
        struct set set = task == HINGE_EPSILON_SVR || task == HINGE_NU_SVR ? set_regression(9, 3000, 4)
                                                                           : set_two_class(9, 3000, 4, 2);
        hinge_params params = hinge_params_default((hinge_task)task);
        params.kernel = hinge_kernel_rbf(0.05);
        params.nu = 0.3;
        params.threads = 1;
        double *gram = plain_gram(&params.kernel, &set, &set);
        for (int look = 0; look < 4; look++) {
            int left = look;
            params.progress = look == 0 ? stop_at_once : stop_later;
            params.progress_arg = &left;
            params.time_limit = look == 3 ? 1e-9 : 0;
            hinge_report report;
            hinge_model *model = fit(&set, &params, &report);
            double *beta = fit_beta(model, set.n), square = 0, linear = 0;
            for (size_t i = 0; i < set.n; i++) {
                for (size_t j = 0; beta[i] != 0 && j < set.n; j++)
                    square += beta[i] * beta[j] * gram[i * set.n + j];
                linear += task == HINGE_C_SVC         ? -fabs(beta[i])
                          : task == HINGE_EPSILON_SVR ? params.p * fabs(beta[i]) - set.y[i] * beta[i]
                          : task == HINGE_NU_SVR      ? -set.y[i] * beta[i]
                                                      : 0;
            }
            assert_true(report.outcome == HINGE_STOPPED || report.outcome == HINGE_TIME_LIMIT);
            assert_near(report.objective, square / 2 + linear, 1e-8 * (square + fabs(linear)));
            assert_true((task != HINGE_C_SVC && task != HINGE_EPSILON_SVR) || report.objective <= 0);
        }
    }
}

/* Targets far from 0, and the two sides of nu-SVR, large and equal but for a little, leave of the objective what plain
 * loops find, and coefficients that sum to 0. */
TEST(far_targets)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++)
        for (int task = HINGE_EPSILON_SVR; task <= HINGE_QUANTILE; task++) {
            struct set set = set_regression(seed, 12, 4);
            hinge_params params = hinge_params_default((hinge_task)task);
            params.kernel = hinge_kernel_rbf(0.1);
            params.C = 2000;
            params.p = 0.01;
            params.tau = 0.3;
            params.solver = (hinge_solver)(seed % 3);
            for (size_t i = 0; i < set.n; i++)
                set.y[i] = 0.1 * set.y[i] + (seed % 2 == 0 ? 1e8 : -3e9);
            hinge_report report;
            hinge_model *model = fit(&set, &params, &report);
            hinge_certificate certificate = certified(model, &set, &params);
            double *beta = fit_beta(model, set.n), *gram = plain_gram(&params.kernel, &set, &set);
            long double sum = 0, size = 0, objective = 0;
            for (size_t i = 0; i < set.n; i++) {
                for (size_t j = 0; j < set.n; j++)
                    objective += 0.5L * beta[i] * beta[j] * gram[i * set.n + j];
                objective -= (long double)beta[i] * set.y[i];
                objective += task == HINGE_EPSILON_SVR ? params.p * fabs(beta[i]) : 0;
                sum += beta[i];
                size += fabs(beta[i]);
            }
            assert_true(fabsl(sum) <= 1e-16L * size);
            assert_near(report.objective, (double)objective, 1e-6 * fabs((double)objective));
            assert_near(-certificate.dual, (double)objective, 1e-6 * fabs((double)objective));
        }
}

/* Of a start with coefficients of 1e4 steps leave a sum of 1e-11, which is more than a billionth of the small ones that
 * they end at. The objective is that of the coefficients returned, which sum to 0. */
TEST(far_starts)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct set set = set_regression(seed, 60, 17);
        hinge_params params = hinge_params_default(HINGE_QUANTILE);
        uint64_t from = seed;
        double beta0[60];
        params.kernel = hinge_kernel_polynomial(3, 0.0005, 0.9);
        params.C = 1e4;
        params.tau = 0.2;
        params.eps = 0.025;
        params.solver = HINGE_SOLVER_SMO;
        params.beta0 = beta0;
        for (size_t i = 0; i < set.n; i++) {
            set.y[i] = 1;
            beta0[i] = draw_normal(&from) * params.C;
        }
        hinge_report report;
        double *beta = fit_beta(fit(&set, &params, &report), set.n);
        double *gram = plain_gram(&params.kernel, &set, &set);
        long double size = 0, sum = 0, square = 0;
        for (size_t i = 0; i < set.n; i++) {
            for (size_t j = 0; j < set.n; j++)
                square += 0.5L * beta[i] * beta[j] * gram[i * set.n + j];
            sum += beta[i];
            size += fabs(beta[i]);
        }
        assert_near(report.objective, (double)(square - sum), 1e-9 * (double)size);
    }
}

/* The primal objective of nu-SVR is that of the tube that makes it least: one of those that end at an example. */
TEST(best_tube)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct set set = set_regression(seed, 30, 3);
        hinge_params params = hinge_params_default(HINGE_NU_SVR);
        params.nu = 0.05 * (double)seed;
        double size = seed < 20 ? 1 : 1e-6; /* the two sides of the last are large beside what they differ by */
        for (size_t i = 0; i < set.n; i++)
            set.y[i] *= size;
        params.eps = 0.1 * size;
        params.C = 10;
        hinge_certificate certificate;
        hinge_kernel kernel = hinge_kernel_rbf(1.0 / 3);
        hinge_model *model = fit(&set, &params, NULL);
        assert_int_equal(hinge_certify(model, matrix_of(&set), set.y, &params, &certificate, NULL), HINGE_OK);
        double *beta = fit_beta(model, set.n), *gram = plain_gram(&kernel, &set, &set), off[31] = { 0 };
        double square = 0, best = INFINITY;
        for (size_t i = 0; i < set.n; i++) {
            double f = -hinge_model_rho(model)[0];
            for (size_t j = 0; j < set.n; j++) {
                f += beta[j] * gram[i * set.n + j];
                square += beta[i] * beta[j] * gram[i * set.n + j];
            }
            off[i] = fabs(f - set.y[i]);
        }
        for (size_t k = 0; k <= set.n; k++) {
            double slack = params.nu * (double)set.n * off[k];
            for (size_t i = 0; i < set.n; i++)
                slack += fmax(0, off[i] - off[k]);
            best = fmin(best, square / 2 + params.C * slack);
        }
        assert_near(certificate.primal, best, (seed < 20 ? 1e-9 : 1e-7) * best);
    }
}

/* <a, b>, and NaN for the pairs with an example whose first feature is the cookie's. */
static int with_a_hole(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    double hole = *(double *)cookie;
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < b->rows; j++) {
            const double *u = (const double *)a->data + i * a->stride, *v = (const double *)b->data + j * b->stride;
            out[i * ld + j] = u[0] == hole || v[0] == hole ? NAN : u[0] * v[0] + u[1] * v[1];
        }
    return 0;
}

/* One kernel value that is no number makes violation and certificate no numbers, not 0: in one problem, and where only
 * one of three has it. */
TEST(nan_is_not_0)
{
    for (size_t k = 2; k <= 3; k++) {
        struct set set = set_blobs(5, 60, 2, k, NULL, 1);
        double hole = INFINITY;
        hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_user("hole", with_a_hole, &hole), 1);
        hinge_model *model = fit(&set, &params, NULL);
        for (size_t i = 0; i < set.n; i += 7) {
            hole = set.x[i * 2];
            hinge_certificate c = certified(model, &set, &params);
            assert_true(isnan(c.kkt) && isnan(c.gap) && isnan(c.slackness));
        }
        hinge_report report;
        hinge_model *other = fit(&set, &params, &report);
        assert_int_equal(report.outcome, HINGE_NONFINITE);
        assert_true(isnan(report.violation));
        for (size_t m = 0; m < (k - 1) * report.n_sv; m++)
            assert_true(isfinite(hinge_model_coef(other)[m]));
    }
}

/* Of three classes two are the same, so that nu-SVC has no margin between them, and one has values that are no numbers,
 * which is the worse: objective and violation are no numbers either. */
TEST(nan_is_worse_than_no_margin)
{
    double x[] = { 0, 0, 1, 0, 2, 0, 0, 0, 1, 0, 2, 0, 5, 1, 6, 1, 7, 1 }, y[] = { 1, 1, 1, 2, 2, 2, 3, 3, 3 },
           hole = 6;
    struct set set = { 9, 2, x, y };
    for (double last = 3; last >= 0; last -= 3) { /* the class of the hole is the last, or the first */
        y[6] = y[7] = y[8] = last;
        hinge_params params = params_for(HINGE_NU_SVC, hinge_kernel_user("hole", with_a_hole, &hole), 1);
        hinge_report report;
        params.nu = 0.9;
        fit(&set, &params, &report);
        assert_int_equal(report.outcome, HINGE_NONFINITE);
        assert_true(isnan(report.objective) && isnan(report.violation));
    }
}

/* Bounds whose sum is beyond all numbers are refused by name; below that, coefficients are numbers. */
TEST(bounds_that_overflow)
{
    struct set set = set_two_class(6, 40, 2, 1);
    double weights[40];
    for (int task = 0; task <= HINGE_NU_SVR; task++)
        for (int way = 0; way < 2; way++) {
            bool has_c = task != HINGE_NU_SVC && task != HINGE_ONE_CLASS;
            hinge_params params = hinge_params_default((hinge_task)task);
            hinge_model *model = NULL;
            for (size_t i = 0; i < set.n; i++)
                weights[i] = way == 0 ? 1e307 : 1e200;
            params.weights = weights;
            params.C = has_c && way == 1 ? 1e107 : 1;
            params.max_iter = 1000;
            assert_int_equal(hinge_train(&model, matrix_of(&set), set.y, &params, NULL, &err),
                             way == 0 || has_c ? HINGE_EINVAL : HINGE_OK);
            for (size_t m = 0; model != NULL && m < hinge_model_n_sv(model); m++)
                assert_true(isfinite(hinge_model_coef(model)[m]));
            assert_true(model != NULL || strstr(err.text, "weights") != NULL);
            hinge_model_free(model);
        }
}

/* ---- Certificates ------------------------------------------------------------------------------------------------ */

/* The model's text with another rho, read again, its support vectors found. */
static hinge_model *with_rho(const hinge_model *model, const struct set *set, double rho)
{
    struct text bare = text_of(model);
    hinge_model *changed = NULL;
    size_t size = bare.size;
    char *text = get(size + 1, 1), *copy = get(size + 40, 1); /* with an end to it */
    memcpy(text, bare.bytes, size);
    char *line = strstr(text, "\nrho ") + 1, *end = strchr(line, '\n');
    snprintf(copy, size + 40, "%.*srho %.17g%s", (int)(line - text), text, rho, end);
    assert_int_equal(hinge_model_parse(&changed, "changed", copy, strlen(copy), NULL, NULL), HINGE_OK);
    assert_int_equal(hinge_model_locate(changed, matrix_of(set), set->y, NULL, NULL), HINGE_OK);
    return given_back(changed);
}

/* Duality gap of nu-SVC's coefficients as a model has them: those of C-SVC with C = 1/r, found from their sum. */
static double plain_gap(const hinge_model *model, const struct set *set, double nu)
{
    double *f = plain_decisions(model, set), *beta = fit_beta(model, set->n), gap = 0, sum = 0;
    for (size_t i = 0; i < set->n; i++)
        sum += fabs(beta[i]);
    for (size_t i = 0; i < set->n; i++) {
        double margin = set->y[i] * f[i] - 1, C = sum / (nu * (double)set->n);
        gap += fabs(beta[i]) * margin + (margin < 0 ? -C * margin : 0);
    }
    return gap;
}

/* The certificate of the nu tasks is that of the model with its rho: moved, the gap of nu-SVC is what plain loops find,
 * that of nu-SVR grows, and the slackness of both. */
TEST(rho_is_judged)
{
    for (int task = HINGE_NU_SVC; task <= HINGE_NU_SVR; task += HINGE_NU_SVR - HINGE_NU_SVC) {
        struct set set = task == HINGE_NU_SVC ? set_two_class(8, 120, 3, 1) : set_regression(8, 120, 3);
        hinge_params params = hinge_params_default((hinge_task)task);
        params.nu = 0.4;
        params.eps = 1e-8;
        hinge_model *model = fit(&set, &params, NULL);
        for (int step = -2; step <= 2; step++) {
            hinge_model *moved = with_rho(model, &set, hinge_model_rho(model)[0] + 0.25 * step);
            hinge_certificate c = certified(moved, &set, &params);
            assert_true(step == 0 ? fabs(c.gap) < 1e-4 : c.gap > 0.1);
            assert_true(step == 0 ? c.slackness < 1e-6 : c.slackness > 0.01);
            if (task == HINGE_NU_SVC)
                assert_near(c.gap, plain_gap(moved, &set, params.nu), 1e-9 * (1 + fabs(c.primal)));
        }
    }
}

/* The range of b that a report gives holds the model's b, its ends in order. */
TEST(range_in_order)
{
    for (uint64_t t = 0; t < 40; t++) {
        struct set set = set_two_class(t, 10 + 3 * t, 2, 1);
        hinge_matrix x = set_matrix(&set);
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        params.C = t % 2 == 0 ? 0.01 : 5;
        hinge_report report;
        hinge_model *model = fit(&set, &params, &report);
        hinge_kinds kinds;
        if (report.n_problems == 1) {
            assert_int_equal(hinge_kinds_of(model, &x, set.y, &params, 0, 1e-3, &kinds, NULL, NULL), HINGE_OK);
            assert_true(kinds.bias_low <= kinds.bias_high);
            assert_true(kinds.bias >= kinds.bias_low - 1e-9 && kinds.bias <= kinds.bias_high + 1e-9);
        }
    }
}

/* ---- Cross-validation -------------------------------------------------------------------------------------------- */

/* With as many folds as rows each fold's training is known, whatever the draw: the report has the largest gap, rank and
 * trace error of all. */
TEST(largest_of_folds)
{
    struct set set = set_two_class(11, 24, 2, 1);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(1), 1);
    params.solver = HINGE_SOLVER_INTERIOR_POINT;
    params.rank = 7;
    params.threads = 1;
    double predictions[24], weights[24], gap = 0, trace_error = 0;
    size_t rank = 0;
    hinge_report all, one;
    assert_int_equal(hinge_cross_validate(matrix_of(&set), set.y, &params, set.n, predictions, &all, NULL), HINGE_OK);
    for (size_t i = 0; i < set.n; i++) {
        for (size_t k = 0; k < set.n; k++)
            weights[k] = k != i;
        params.weights = weights;
        fit(&set, &params, &one);
        gap = fmax(gap, one.gap);
        rank = one.rank > rank ? one.rank : rank;
        trace_error = fmax(trace_error, one.trace_error);
    }
    assert_true(all.gap == gap && all.rank == rank && all.trace_error == trace_error);
}

/* nu as large as all rows allow is more than some folds do, whose classes lack a row: there it is what they allow. More
 * than all rows allow is refused. */
TEST(nu_of_folds)
{
    const double labels[] = { 1, 2, 3 };
    for (int way = 0; way < 3; way++) { /* two classes, three, and one against the rest */
        struct set set = set_new(way == 0 ? 10 : 15, 2);
        for (size_t i = 0; i < set.n; i++) {
            set.y[i] = labels[i < 4 ? 0 : i < 10 ? 1 : 2];
            set.x[2 * i] = set.y[i] + 0.1 * (double)(i % 3);
            set.x[2 * i + 1] = (double)(i % 2);
        }
        hinge_matrix x = set_matrix(&set);
        hinge_params params = hinge_params_default(HINGE_NU_SVC);
        params.multiclass = way == 2 ? HINGE_ONE_VS_REST : HINGE_ONE_VS_ONE;
        params.nu = way == 2 ? 8.0 / 15 : 0.8;
        double predictions[15];
        fit(&set, &params, NULL);
        for (size_t folds = 2; folds <= set.n; folds++) {
            assert_int_equal(hinge_cross_validate(&x, set.y, &params, folds, predictions, NULL, &err), HINGE_OK);
            for (size_t i = 0; i < set.n; i++)
                assert_true(predictions[i] == 1 || predictions[i] == 2 || predictions[i] == 3);
        }
        params.nu *= 1.01;
        assert_refused(hinge_cross_validate(&x, set.y, &params, 5, predictions, NULL, &err), HINGE_EINVAL,
                       "infeasible");
    }
}

/* ---- Warm starts ------------------------------------------------------------------------------------------------- */

/* Every coefficient is 0 or C: b is the middle of a range. What rounding leaves of a start where 0 or C is meant does
 * not hold it. */
TEST(rounding_holds_no_bias)
{
    double x[] = { -1, 1, 5, -7 }, y[] = { -1, 1, 1, -1 };
    struct set set = { 4, 1, x, y };
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_linear(), 0.125);
    params.eps = 1e-9;
    hinge_model *cold = fit(&set, &params, NULL);
    for (int way = 0; way < 4; way++) {
        double tiny = way % 2 == 0 ? 0x1p-55 : 0x1p-56;
        double beta0[] = { way < 2 ? -0.125 : -0.125 + tiny, 0.125, way < 2 ? tiny : 0, way == 1 ? -tiny : 0 };
        params.beta0 = beta0;
        hinge_model *warm = fit(&set, &params, NULL);
        assert_near(hinge_model_rho(warm)[0], hinge_model_rho(cold)[0], 1e-9);
        assert_int_equal(hinge_model_n_sv(warm), 2);
    }
}

/* One row of nu-SVR has both coefficients, which cancel: from any start, none is left. */
TEST(both_sides_cancel)
{
    double x[] = { 1 }, y[] = { 2 };
    struct set set = { 1, 1, x, y };
    hinge_params params = hinge_params_default(HINGE_NU_SVR);
    for (uint64_t t = 0; t < 200; t++) {
        uint64_t seed = t;
        double beta0 = draw_unit(&seed) - 0.5;
        params.C = draw_unit(&seed) + 0.1;
        params.nu = draw_unit(&seed) + 0.0001;
        params.beta0 = &beta0;
        hinge_model *model = fit(&set, &params, NULL);
        if (hinge_model_n_sv(model) != 0)
            fail_msg("C %g, nu %g, beta0 %g: %g", params.C, params.nu, beta0, hinge_model_coef(model)[0]);
    }
}

/* nu-SVR whose tube is 0: points have coefficients on both sides, of which a model keeps the difference. A start from
 * it is at the solution, and so is what the certificate sees. */
TEST(tube_of_0)
{
    struct set set = set_new(300, 1);
    for (size_t i = 0; i < set.n; i++) {
        set.x[i] = (double)i / 30;
        set.y[i] = 2 * set.x[i] - 1;
    }
    hinge_params params = params_for(HINGE_NU_SVR, hinge_kernel_linear(), 1);
    params.nu = 0.9;
    hinge_report cold, warm;
    hinge_model *model = fit(&set, &params, &cold);
    double *beta = fit_beta(model, set.n), sum = 0;
    for (size_t i = 0; i < set.n; i++)
        sum += fabs(beta[i]);
    assert_true(sum < 0.9 * params.C * params.nu * (double)set.n); /* the tube is 0, or the test says nothing */
    hinge_certificate c = certified(model, &set, &params);
    assert_true(c.sum_residual < 1e-12 && c.kkt < 1e-3 && c.gap >= 0 && c.gap < 1);
    params.beta0 = beta;
    converged(&set, &params, &warm);
    assert_true(warm.iterations < cold.iterations / 10 + 10);
    assert_close(warm.objective, cold.objective, 1e-6);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* A model without support vectors knows its number of features in a file too, and LIBSVM reads the file. */
TEST(features_without_vectors)
{
    struct set set = set_regression(2, 20, 5);
    hinge_params params = hinge_params_default(HINGE_EPSILON_SVR);
    params.p = 1e3;
    hinge_model *model = fit(&set, &params, NULL), *again = written_and_read(model);
    assert_int_equal(hinge_model_n_sv(model), 0);
    assert_int_equal(hinge_model_n_features(again), 5);
    double *a = fit_labels(model, &set), *b = fit_labels(again, &set);
    assert_memory_equal(a, b, set.n * sizeof *a);
    const struct svm_model *theirs = oracle_read(model).model;
    assert_int_equal(theirs->l, 0);
    assert_true(theirs->rho[0] == hinge_model_rho(model)[0]);
    const char bad[] = "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho 0\nSV hinge_features x\n";
    hinge_model *none = NULL;
    assert_int_equal(hinge_model_parse(&none, "bad", bad, strlen(bad), NULL, NULL), HINGE_EFORMAT);
}

/* -0 is another number than 0 to a kernel of one's own: model and data files keep it. */
TEST(minus_0_in_files)
{
    double x[] = { -0.0, 1, 1, -0.0, 0, 2 }, y[] = { 1, -1, -1 }, v[2];
    struct set set = { 3, 2, x, y };
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = fit(&set, &params, NULL), *again = written_and_read(model);
    for (size_t i = 0; i < hinge_model_n_sv(model); i++) {
        double w[2];
        assert_int_equal(hinge_model_sv(model, i, v, NULL), HINGE_OK);
        assert_int_equal(hinge_model_sv(again, i, w, NULL), HINGE_OK);
        assert_memory_equal(v, w, sizeof v);
    }
    const char *path = path_of("data");
    hinge_data data;
    assert_int_equal(hinge_data_write(path, matrix_of(&set), y, NULL), HINGE_OK);
    assert_int_equal(hinge_data_read(path, NULL, &data, NULL), HINGE_OK);
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal((const double *)data.x.data + i * data.x.stride, x + 2 * i, 2 * sizeof *x);
    hinge_data_free(&data);
}

/* Of two equal rows, one of weight 0, the other is the support vector that a model from a file has: its certificate is
 * that of the model as it was trained. */
TEST(weightless_rows_have_no_coefficient)
{
    struct set set = set_two_class(4, 60, 2, 1);
    double weights[60];
    for (size_t i = 0; i < 30; i++) {
        memcpy(set.x + (30 + i) * 2, set.x + i * 2, 2 * sizeof(double));
        set.y[30 + i] = set.y[i];
        weights[i] = i % 2;
        weights[30 + i] = 1 - i % 2;
    }
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    params.weights = weights;
    hinge_model *model = fit(&set, &params, NULL), *again = written_and_read(model);
    hinge_certificate a, b;
    assert_int_equal(hinge_model_locate(again, matrix_of(&set), set.y, NULL, NULL), HINGE_OK);
    a = certified(model, &set, &params);
    b = certified(again, &set, &params);
    assert_true(a.primal == b.primal && a.dual == b.dual && a.kkt == b.kkt && a.slackness == b.slackness);
}

static void check_reloaded(const struct set *set, const hinge_params *params)
{
    hinge_model *model = fit(set, params, NULL), *again = written_and_read(model);
    assert_int_equal(hinge_model_locate(again, matrix_of(set), set->y, NULL, NULL), HINGE_OK);
    hinge_certificate a = certified(model, set, params), b = certified(again, set, params);
    assert_near(a.kkt, b.kkt, 1e-6);
    assert_near(a.primal, b.primal, 1e-6 * fabs(a.primal) + 1e-10);
    assert_near(a.dual, b.dual, 1e-6 * fabs(a.primal) + 1e-10);
    assert_true(b.box_residual <= 1e-9);
}

/* Nor does a model from a file lose which of equal rows has which target, where they have weights. */
TEST(weights_tell_equal_rows_apart)
{
    static const hinge_task tasks[] = { HINGE_EPSILON_SVR, HINGE_NU_SVR, HINGE_QUANTILE };
    double weights[60] = { 2, 1 }, one[] = { 1, 1 }, y[] = { 3, 4 };
    struct set two = { 2, 1, one, y }; /* coefficients of one size, at one's bound */
    hinge_params params = hinge_params_default(HINGE_EPSILON_SVR);
    (void)state;
    params.weights = weights;
    check_reloaded(&two, &params);
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct set set = set_regression(seed, 60, 2);
        for (size_t i = 0; i < set.n; i++) {
            memcpy(set.x + i * 2, set.x + i % 20 * 2, 2 * sizeof(double));
            weights[i] = 0.25 * (double)(1 + i * 7 % 11 * (i * 7 % 11));
        }
        params = hinge_params_default(tasks[seed % 3]);
        params.weights = weights;
        params.tau = 0.3;
        params.eps = 1e-6;
        check_reloaded(&set, &params);
    }
}

/* nu-SVC's boxes are told by its coefficients, which were divided by r, each problem's by its own. Of a user's kernel
 * equal rows are not taken as one. */
TEST(weights_tell_equal_rows_of_nu_svc_apart)
{
    double weights[60], hole = INFINITY;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct set set = set_blobs(seed, 60, 2, 2 + seed % 2, NULL, 0.5);
        for (size_t i = 0; i < set.n; i++) {
            memcpy(set.x + i * 2, set.x + i % 18 * 2, 2 * sizeof(double));
            set.y[i] = set.y[i % 18];
            weights[i] = 0.25 * (double)(1 + i * 7 % 11 * (i * 7 % 11));
        }
        hinge_params params = params_for(HINGE_NU_SVC, hinge_kernel_user("dot", with_a_hole, &hole), 1);
        params.weights = weights;
        params.nu = 0.2;
        params.eps = 1e-6;
        check_reloaded(&set, &params);
    }
}

/* LIBSVM writes 16 digits of a coefficient: one that is at its bound but for them is not free. */
TEST(sixteen_digits)
{
    static const char text[] = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 4\nrho 0\nlabel 1 -1\n"
                               "nr_sv 2 2\nSV\n0.30000000000000004 1:0.5\n0.3 1:0.5\n-0.3 1:-0.5\n-0.3 1:-0.5\n";
    double x[] = { 0.5, 0.5, -0.5, -0.5 }, y[] = { 1, 1, -1, -1 };
    struct set set = { 4, 1, x, y };
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_linear(), 0.30000000000000004);
    hinge_model *model;
    (void)state;
    assert_int_equal(hinge_model_parse(&model, "text", text, sizeof text - 1, NULL, NULL), HINGE_OK);
    assert_int_equal(hinge_model_locate(model, matrix_of(&set), y, NULL, NULL), HINGE_OK);
    assert_true(certified(model, &set, &params).kkt == 0);
    hinge_model_free(model);
}
