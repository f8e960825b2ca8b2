/* Cross-validation: how rows are dealt, that no model sees what it predicts, and LIBSVM's figures. */
#include "lib/folds/folds.h"
#include "test/support.h"

static hinge_params c_svc(double gamma, double C)
{
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(gamma), C);
    params.seed = 3;
    return params;
}

static double *validate(const struct set *set, const hinge_params *params, size_t folds, hinge_report *report)
{
    double *prediction = get(set->n, sizeof *prediction);
    for (size_t i = 0; i < set->n; i++)
        prediction[i] = INFINITY;
    assert_ok(hinge_cross_validate(matrix_of(set), set->y, params, folds, prediction, report, &err));
    bool ended = report != NULL && (report->outcome == HINGE_STOPPED || report->outcome == HINGE_TIME_LIMIT);
    size_t missing = 0;
    for (size_t i = 0; i < set->n; i++)
        if (isnan(prediction[i]))
            missing++;
        else
            assert_true(isfinite(prediction[i]));
    assert_int_equal(missing > 0, ended);
    return prediction;
}

/* ---- Dealing --------------------------------------------------------------------------------------------- */

static void check_counts(const uint32_t *fold, size_t from, size_t to, size_t folds)
{
    size_t *count = get(folds, sizeof *count);
    for (size_t i = from; i < to; i++) {
        assert_true(fold[i] < folds);
        count[fold[i]]++;
    }
    for (size_t f = 0; f < folds; f++)
        assert_true(count[f] == (to - from) / folds || count[f] == (to - from) / folds + 1);
}

TEST(deals)
{
    enum { N = 103 };
    const size_t start[] = { 0, 50, 51, 51, 53, N };
    uint32_t fold[N], other[N], work[N];
    for (size_t folds = 1; folds <= N; folds++) {
        uint64_t seed = folds, again = folds, different = folds + 1;
        hg_folds_deal(&seed, start, 5, folds, work, fold);
        check_counts(fold, 0, N, folds);
        for (size_t g = 0; g < 5; g++)
            check_counts(fold, start[g], start[g + 1], folds);
        hg_folds_deal(&again, start, 5, folds, work, other);
        assert_memory_equal(fold, other, sizeof fold);
        hg_folds_deal(&different, start, 5, folds, work, other);
        assert_true(folds == 1 || memcmp(fold, other, sizeof fold) != 0);
    }
    /* every order of four is as likely as any other */
    const size_t four[] = { 0, 4 };
    size_t seen[256] = { 0 }, orders = 0;
    uint64_t seed = 1;
    for (size_t draws = 0; draws < 24000; draws++) {
        hg_folds_deal(&seed, four, 1, 4, work, fold);
        seen[fold[0] * 64 + fold[1] * 16 + fold[2] * 4 + fold[3]]++;
    }
    for (size_t i = 0; i < 256; i++) {
        orders += seen[i] > 0;
        assert_true(seen[i] == 0 || (seen[i] > 840 && seen[i] < 1160)); /* five standard deviations */
    }
    assert_int_equal(orders, 24);
}

/* ---- No model sees what it predicts ---------------------------------------------------------------------- */

/* With K = 1 a regression that did not see a row predicts its bias, one value a fold; one that did comes near
 * y. */
TEST(held_out)
{
    struct set set = set_regression(30, 203, 4);
    hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(1e9), 1e4);
    for (size_t folds = 2; folds <= 7; folds += 5) {
        params.eps = folds == 2 ? 0.001 : 0.02; /* folds of their own, and those that go on from the whole's solution */
        double *p = validate(&set, &params, folds, NULL), value[8];
        size_t count[8] = { 0 }, values = 0;
        for (size_t i = 0; i < set.n; i++) {
            size_t v = 0;
            while (v < values && value[v] != p[i])
                v++;
            if (v == values) {
                assert_true(values < folds);
                value[values++] = p[i];
            }
            count[v]++;
        }
        assert_int_equal(values, folds);
        for (size_t v = 0; v < folds; v++)
            assert_true(count[v] == set.n / folds || count[v] == set.n / folds + 1);
    }
}

TEST(labels_at_random)
{
    struct set set = set_two_class(31, 600, 5, 1);
    uint64_t seed = 5;
    for (size_t i = 0; i < set.n; i++)
        set.y[i] = draw(&seed) % 2 ? 1 : -1;
    hinge_params params = c_svc(50, 100);
    hinge_model *model = fit(&set, &params, NULL);
    double *trained = fit_labels(model, &set), *held = validate(&set, &params, 5, NULL);
    assert_true(share_equal(trained, set.y, set.n) > 0.99);
    assert_near(share_equal(held, set.y, set.n), 0.5, 0.1);
}

/* As many folds as rows: whatever the seed, each row is predicted by a model of all others. */
TEST(leave_one_out)
{
    struct set set = set_regression(32, 40, 3);
    hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3), 1);
    params.eps = 1e-6;
    double *p = validate(&set, &params, set.n, NULL);
    for (size_t i = 0; i < set.n; i++) {
        size_t rows[40], n = 0;
        double alone;
        for (size_t r = 0; r < set.n; r++)
            if (r != i)
                rows[n++] = r;
        struct set rest = set_rows(&set, rows, n);
        hinge_model *model = fit(&rest, &params, NULL);
        hinge_matrix x = hinge_matrix_f64(set.x + i * set.d, 1, set.d);
        assert_int_equal(hinge_predict(model, &x, NULL, &alone, NULL, NULL), HINGE_OK);
        assert_near(p[i], alone, 1e-5);
    }
}

/* From eps = 0.001 on folds go on from the solution of all rows: what they predict is what folds of their own do, as
 * far as eps leaves it open. */
TEST(go_on)
{
    for (uint64_t seed = 200; seed < 212; seed++) {
        struct set two = set_two_class(seed, 150 + 90 * (seed % 7), 4, 1), line = set_regression(seed, two.n, 4);
        for (size_t i = 0; i < two.n / 4; i++) /* rows that are there twice */
            memcpy(two.x + (two.n - 1 - i) * two.d, two.x + i * two.d, two.d * sizeof *two.x);
        hinge_params params = c_svc(0.3, seed % 2 ? 1 : 30), fine;
        params.no_bias = seed % 3 == 0;
        params.working_set = seed % 4 == 0 ? 40 : 0;
        params.eps = 0.01;
        fine = params;
        fine.eps = 1e-5;
        hinge_report report, apart;
        double *p = validate(&two, &params, 5, &report), *q = validate(&two, &fine, 5, &apart);
        assert_non_null(strstr(report.path, "5 folds from its solution"));
        assert_true(report.distinct > 0 && apart.distinct == 0); /* of all rows; of no one training */
        assert_int_equal(report.outcome, HINGE_CONVERGED);
        assert_true(share_equal(p, q, two.n) > 0.98);
        params.task = fine.task = HINGE_EPSILON_SVR;
        p = validate(&line, &params, 7, NULL), q = validate(&line, &fine, 7, NULL);
        for (size_t i = 0; i < line.n; i++)
            assert_near(p[i], q[i], 0.05);
        struct set four = set_blobs(seed, two.n, 3, 4, NULL, 0.9);
        params.task = fine.task = HINGE_C_SVC;
        params.multiclass = fine.multiclass = seed % 3 == 1 ? HINGE_ONE_VS_REST : HINGE_ONE_VS_ONE;
        p = validate(&four, &params, 4, &report), q = validate(&four, &fine, 4, NULL);
        assert_non_null(strstr(report.path, "4 folds from its solution"));
        assert_int_equal(report.outcome, HINGE_CONVERGED);
        assert_true(share_equal(p, q, four.n) > 0.98);
    }
}

/* Where rows are made rather than kept, folds let points rest from their start, whose values are known in the end. */
TEST(rests_from_the_start)
{
    struct set line = set_regression(50, 4000, 3);
    hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(2), 32), fine = params;
    params.eps = 0.01;
    fine.eps = 1e-5;
    double *p = validate(&line, &params, 5, NULL), *q = validate(&line, &fine, 5, NULL);
    for (size_t i = 0; i < line.n; i++)
        assert_near(p[i], q[i], 0.05);
}

/* ---- Seeds and threads ----------------------------------------------------------------------------------- */

static void same_for_threads(const struct set *set, hinge_params params)
{
    double *first = NULL;
    const int threads[] = { 1, 2, 3 };
    for (size_t i = 0; i < 3; i++) {
        params.threads = threads[i];
        hinge_report report;
        double *p = validate(set, &params, 5, &report);
        assert_int_equal(report.outcome, HINGE_CONVERGED);
        assert_int_equal(report.threads, threads[i]);
        assert_true(strstr(report.path, "5 folds") != NULL);
        if (first == NULL) {
            first = p;
            continue;
        }
        assert_memory_equal(first, p, set->n * sizeof *p);
    }
    params.seed++;
    double *other = validate(set, &params, 5, NULL);
    assert_true(memcmp(first, other, set->n * sizeof *other) != 0);
}

TEST(threads_and_seeds)
{
    const double labels[] = { 4, 2, 8 };
    struct set blobs = set_blobs(33, 900, 6, 3, labels, 1.5), line = set_regression(34, 800, 5);
    hinge_params params = c_svc(0.2, 3);
    same_for_threads(&blobs, params);
    params.probability = 1;
    same_for_threads(&blobs, params);
    params.probability = 0;
    params.multiclass = HINGE_ONE_VS_REST;
    same_for_threads(&blobs, params);
    hinge_params svr = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3), 1);
    same_for_threads(&line, svr);
    svr.cache_bytes = 1 << 20; /* in turn */
    same_for_threads(&line, svr);
    svr.eps = 0.02; /* from the whole's solution */
    same_for_threads(&line, svr);
    hinge_params one = hinge_params_default(HINGE_ONE_CLASS);
    one.nu = 0.3;
    same_for_threads(&line, one);
}

/* ---- LIBSVM's figures ------------------------------------------------------------------------------------ */

static void libsvm_accuracy(const struct set *set, hinge_params params, double tolerance)
{
    double *ours = validate(set, &params, 5, NULL), *theirs = oracle_validate(set, &params, 5);
    double a = share_equal(ours, set->y, set->n), b = share_equal(theirs, set->y, set->n);
    print_message("accuracy %.4f, LIBSVM's %.4f\n", a, b);
    assert_near(a, b, tolerance);
}

TEST(like_libsvm)
{
    struct set set = set_shipped("breast_cancer", "train", 30, 0, 1, 0);
    set_scale(&set);
    libsvm_accuracy(&set, c_svc(0.1, 1), 0.015);
    hinge_params nu = c_svc(0.1, 1);
    nu.task = HINGE_NU_SVC;
    nu.nu = 0.2;
    libsvm_accuracy(&set, nu, 0.015);
    set = set_shipped("digits", "train", 64, 0, 2, 0);
    set_scale(&set);
    libsvm_accuracy(&set, c_svc(0.02, 2), 0.015);
    set = set_regression(35, 500, 5);
    hinge_params svr = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.2), 1);
    double *ours = validate(&set, &svr, 5, NULL), *theirs = oracle_validate(&set, &svr, 5), a = 0, b = 0;
    for (size_t i = 0; i < set.n; i++) {
        a += (ours[i] - set.y[i]) * (ours[i] - set.y[i]);
        b += (theirs[i] - set.y[i]) * (theirs[i] - set.y[i]);
    }
    print_message("MSE %.4g, LIBSVM's %.4g\n", a / (double)set.n, b / (double)set.n);
    assert_close(a, b, 0.1);
}

/* ---- Odd sets -------------------------------------------------------------------------------------------- */

/* A class of one row is unknown to the fold that predicts it; rows of weight 0 are predicted, not trained on.
 */
TEST(odd_classes)
{
    struct set set = set_blobs(36, 60, 4, 2, NULL, 0.2);
    set.y[17] = 7;
    hinge_params params = c_svc(0.25, 10);
    double *p = validate(&set, &params, 6, NULL);
    assert_true(p[17] == 1 || p[17] == 2);
    assert_true(share_equal(p, set.y, set.n) > 0.8);
    double weights[60];
    for (size_t i = 0; i < set.n; i++)
        weights[i] = i % 3 == 0 ? 0 : 1;
    weights[17] = 1;
    params.weights = weights;
    hinge_report report;
    p = validate(&set, &params, 60, &report);
    assert_int_equal(report.n, 40);
    assert_true(p[17] == 1 || p[17] == 2);
    /* what rows of weight 0 hold does not matter to the others */
    double *before = validate(&set, &params, 5, NULL);
    for (size_t i = 0; i < set.n; i++)
        if (weights[i] == 0)
            set.x[i * set.d] = 50;
    double *after = validate(&set, &params, 5, NULL);
    for (size_t i = 0; i < set.n; i++)
        assert_true(weights[i] == 0 || before[i] == after[i]);
    set = set_two_class(37, 2, 1, 0.1); /* one row left to train on */
    set.y[0] = 1;
    set.y[1] = -1;
    params = c_svc(1, 1);
    p = validate(&set, &params, 2, NULL);
    assert_true(p[0] == -1 && p[1] == 1);
    set.y[0] = set.y[1] = 4; /* one class */
    params.probability = 1;
    p = validate(&set, &params, 2, NULL);
    assert_true(p[0] == 4 && p[1] == 4);
}

TEST(precomputed)
{
    struct set set = set_blobs(38, 150, 4, 3, NULL, 0.8);
    set.y[3] = 9; /* on its own */
    hinge_params params = c_svc(0.3, 1);
    double *gram = plain_gram(&params.kernel, &set, &set), *direct = validate(&set, &params, 5, NULL);
    struct set matrix = { set.n, set.n, gram, set.y };
    params.kernel = hinge_kernel_precomputed();
    double *p = validate(&matrix, &params, 5, NULL);
    assert_true(share_equal(p, direct, set.n) > 0.99);
    /* columns in another order */
    size_t index[150];
    double *turned = get(set.n * set.n, sizeof *turned);
    for (size_t j = 0; j < set.n; j++) {
        index[j] = set.n - 1 - j;
        for (size_t i = 0; i < set.n; i++)
            turned[i * set.n + index[j]] = gram[i * set.n + j];
    }
    matrix.x = turned;
    params.precomputed_index = index;
    double *q = validate(&matrix, &params, 5, NULL);
    assert_memory_equal(p, q, set.n * sizeof *p);
}

/* ---- Errors, stops --------------------------------------------------------------------------------------- */

static int gives_up(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    return 1;
}

static void refused(const struct set *set, const hinge_params *params, size_t folds, hinge_status status,
                    const char *part)
{
    double p[64] = { 42 };
    assert_int_equal(hinge_cross_validate(matrix_of(set), set->y, params, folds, p, NULL, &err), status);
    assert_says(err.text, part);
    assert_int_equal(hinge_cross_validate(matrix_of(set), set->y, params, folds, p, NULL, NULL), status);
    assert_true(p[0] == 42);
}

TEST(errors)
{
    struct set set = set_blobs(39, 60, 2, 3, NULL, 1);
    hinge_params params = c_svc(1, 1);
    refused(&set, &params, 1, HINGE_EINVAL, "folds: 1 is not in 2 .. 60");
    refused(&set, &params, 61, HINGE_EINVAL, "folds: 61");
    refused(&set, NULL, 5, HINGE_EINVAL, "params: NULL");
    assert_int_equal(hinge_cross_validate(matrix_of(&set), set.y, &params, 5, NULL, NULL, NULL), HINGE_EINVAL);
    assert_int_equal(hinge_cross_validate(NULL, set.y, &params, 5, set.y, NULL, NULL), HINGE_EINVAL);
    params.kernel = hinge_kernel_user("bad", gives_up, NULL);
    for (params.threads = 1; params.threads <= 2; params.threads++)
        refused(&set, &params, 5, HINGE_ECALLBACK, "the kernel");
    params = c_svc(1, 1);
    params.C = -1;
    refused(&set, &params, 5, HINGE_EINVAL, "C: -1");
}

struct watch {
    size_t calls, allowed, problems, highest;
};

static int watching(void *arg, const hinge_progress *progress)
{
    struct watch *w = arg;
    w->problems = progress->n_problems;
    w->highest = progress->problem > w->highest ? progress->problem : w->highest;
    return ++w->calls > w->allowed;
}

TEST(stops)
{
    struct set set = set_blobs(40, 600, 4, 3, NULL, 1.5);
    for (int way = 0; way < 4; way++) {
        bool goes_on = way >= 2; /* from the solution of all rows: then only its problems are told of */
        size_t problems = goes_on ? 3 : 15;
        struct watch all = { .allowed = SIZE_MAX }, few = { .allowed = 2 };
        hinge_params params = c_svc(0.3, 1);
        hinge_report report;
        params.threads = 1 + way % 2;
        params.eps = goes_on ? 0.001 : 0.0001;
        params.progress = watching;
        params.progress_arg = &all;
        validate(&set, &params, 5, &report);
        assert_int_equal(report.outcome, HINGE_CONVERGED);
        assert_int_equal(all.problems, problems);
        assert_int_equal(all.highest, problems - 1);
        params.working_set = 32;
        params.progress_arg = &few;
        validate(&set, &params, 5, &report);
        assert_int_equal(report.outcome, HINGE_STOPPED);
        assert_int_equal(few.calls, 3); /* not called again after the stop */
        params.progress = NULL;
        params.time_limit = 1e-6;
        validate(&set, &params, 5, &report);
        assert_int_equal(report.outcome, HINGE_TIME_LIMIT);
    }
}
