/* Classes against the rest on shared rows (lib/train/together.c), against problems of two classes that are trained
 * alone. */
#include "test/support.h"

enum { N = 2100, D = 220, K = 4 };

static struct set four_classes(uint64_t seed, double noise)
{
    const double labels[] = { 3, 1, 7, 5 };
    return set_blobs(seed, N, D, K, labels, noise);
}

static hinge_params against_the_rest(double C)
{
    hinge_params params = params_for(HINGE_C_SVC, (hinge_kernel){ .type = HINGE_RBF, .gamma = 0.5 / D }, C);
    params.multiclass = HINGE_ONE_VS_REST;
    return params;
}

static bool shares(const hinge_report *report)
{
    return strstr(report->path, ", rows shared") != NULL;
}

/* Each class has the objective and the decision values of a training of its own, and all together need fewer rows. */
TEST(against_two_classes)
{
    struct set set = four_classes(1, 1.2);
    hinge_params params = against_the_rest(10), two = params;
    hinge_report report, own;
    hinge_model *model = fit(&set, &params, &report);
    double *f = fit_decisions(model, &set, HINGE_PRECISION_F64), objective = 0;
    uint64_t rows = 0;
    assert_true(shares(&report) && report.outcome == HINGE_CONVERGED && report.violation <= params.eps);
    two.multiclass = HINGE_ONE_VS_ONE;
    for (size_t c = 0; c < K; c++) {
        struct set rest = set_join(&set, &(struct set){ 0, D, NULL, NULL });
        double first = 1;
        for (size_t i = 0; i < N; i++)
            rest.y[i] = set.y[i] == hinge_model_labels(model)[c] ? 1 : -1;
        two.positive_class = &first;
        hinge_model *alone = fit(&rest, &two, &own);
        double *g = fit_decisions(alone, &rest, HINGE_PRECISION_F64);
        assert_true(!shares(&own));
        for (size_t i = 0; i < N; i++)
            assert_near(f[i * K + c], g[i], 4e-3);
        objective += own.objective;
        rows += own.rows_computed;
    }
    assert_close(report.objective, objective, 1e-5);
    assert_true(report.rows_computed > 0 && report.rows_computed < 0.7 * (double)rows);
    assert_true(report.rows_asked > report.rows_computed && report.iterations > 0 && report.rounds >= K);
    assert_true(report.kernel_values >= report.rows_computed * N && report.memory_bytes > report.cache_used);
    hinge_certificate certificate = certified(model, &set, &params);
    assert_true(certificate.kkt <= 1.05 * params.eps && certificate.gap <= 2e-2 * certificate.primal);
}

TEST(any_number_of_threads)
{
    struct set set = four_classes(2, 1.2);
    hinge_params params = against_the_rest(10);
    hinge_model *first = NULL;
    for (int threads = 1; threads <= 4; threads *= 2) {
        hinge_report report;
        params.threads = threads;
        hinge_model *model = fit(&set, &params, &report);
        first = first == NULL ? model : first;
        size_t n = hinge_model_n_sv(model);
        assert_true(shares(&report) && n == hinge_model_n_sv(first));
        assert_memory_equal(hinge_model_coef(model), hinge_model_coef(first), n * K * sizeof(double));
        assert_memory_equal(hinge_model_rho(model), hinge_model_rho(first), K * sizeof(double));
    }
}

/* What takes more steps than there are side by side, or ends in rows of f64, is gone on with, from where it is. */
TEST(hard_problems)
{
    struct set set = four_classes(3, 4);
    for (int k = 0; k < 2; k++) {
        hinge_params params = against_the_rest(k == 0 ? 10 : 1e3);
        hinge_report report, own;
        hinge_model *model = fit(&set, &params, &report);
        assert_true(shares(&report) && report.outcome == HINGE_CONVERGED);
        assert_true(certified(model, &set, &params).kkt <= 1.05 * params.eps);
        params.precision = HINGE_PRECISION_F64;
        fit(&set, &params, &own);
        assert_true(!shares(&own));
        assert_close(report.objective, own.objective, 1e-5);
    }
}

/* Rows that are equal are one point there too, whatever their weights. */
TEST(equal_rows)
{
    struct set once = four_classes(4, 1.5), set = set_join(&once, &once);
    hinge_params params = against_the_rest(1);
    double *weights = get(set.n, sizeof *weights);
    uint64_t seed = 5;
    for (size_t i = 0; i < set.n; i++)
        weights[i] = 0.5 + draw_unit(&seed);
    params.weights = weights;
    hinge_report report;
    hinge_model *model = fit(&set, &params, &report);
    assert_true(shares(&report) && report.distinct == N && report.outcome == HINGE_CONVERGED);
    hinge_certificate certificate = certified(model, &set, &params);
    assert_true(certificate.kkt <= 1.05 * params.eps && certificate.gap <= 2e-2 * certificate.primal);
}

struct watch {
    size_t calls, most;
};

static int stop_after(void *arg, const hinge_progress *progress)
{
    struct watch *watch = arg;
    assert_true(progress->problem < K && progress->n_problems == K && progress->n == N);
    assert_true(progress->n_sv <= N && progress->violation > 0);
    return ++watch->calls >= watch->most;
}

/* Progress is told on the way, changes nothing, and may end it: the model is what there is. */
TEST(ends)
{
    struct set set = four_classes(6, 1.2);
    hinge_params params = against_the_rest(10);
    hinge_report report, whole;
    struct watch watch = { 0, SIZE_MAX };
    hinge_model *silent = fit(&set, &params, &whole);
    params.progress = stop_after;
    params.progress_arg = &watch;
    hinge_model *told = fit(&set, &params, &report);
    assert_true(watch.calls > 2 && report.outcome == HINGE_CONVERGED);
    assert_memory_equal(hinge_model_coef(told), hinge_model_coef(silent),
                        hinge_model_n_sv(silent) * K * sizeof(double));
    for (size_t most = 1; most <= watch.calls / 2; most += 1 + watch.calls / 8) {
        struct watch few = { 0, most };
        params.progress_arg = &few;
        hinge_model *model = fit(&set, &params, &report);
        assert_true(few.calls == most && report.outcome == HINGE_STOPPED);
        params.progress_arg = &watch;
        hinge_certificate certificate = certified(model, &set, &params);
        assert_true(certificate.box_residual <= 1e-9 && certificate.sum_residual <= 1e-9);
        assert_near(-certificate.dual, report.objective, 1e-3 * (1 + certificate.primal));
    }
    params.progress = NULL;
    params.time_limit = 1e-9;
    fit(&set, &params, &report);
    assert_int_equal(report.outcome, HINGE_TIME_LIMIT);
}

/* What is asked for of each problem's own run, or of little memory, is done there. */
TEST(runs_of_their_own)
{
    struct set set = four_classes(7, 1.2);
    for (int way = 0; way < 4; way++) {
        hinge_params params = against_the_rest(10);
        hinge_report report;
        params.max_iter = way == 0 ? 1000000 : 0;
        params.eps = way == 1 ? 1e-5 : params.eps;
        params.cache_bytes = way == 2 ? 1 << 20 : 0;
        params.working_set = way == 3 ? 100 : 0;
        fit(&set, &params, &report);
        assert_true(!shares(&report) && report.outcome == HINGE_CONVERGED);
    }
}
