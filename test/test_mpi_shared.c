/*
 * Trainings over ranks that all have all rows, which are threads here: the same bytes for any number of ranks and
 * threads, the optimum that hinge_train finds, work that is shared, ends that one rank brings about.
 */
#include "mpi/mpi_train.h"
#include "test/ranks_job.h"

#include <hinge/scaling.h>

#include <math.h>

/* By 1 to 4 and 8 ranks, of 1 and 2 threads: the same model and the same figures of the run; as good as hinge_train's,
 * and certified by it. */
static struct job check_task(struct job one)
{
    hinge_report report;
    hinge_params params = one.params;
    run_ranks(1, train_rank, &one);
    assert_string_equal(one.err[0].text, "");
    for (int ranks = 2; ranks <= MOST_RANKS; ranks = ranks < 4 ? ranks + 1 : 2 * ranks) {
        struct job other = one;
        other.params.threads = 1 + ranks % 2;
        run_ranks(ranks, train_rank, &other);
        assert_string_equal(other.err[0].text, "");
        assert_same_model(one.model, other.model);
        assert_int_equal(one.report.rounds, other.report.rounds);
        assert_int_equal(one.report.iterations, other.report.iterations);
        assert_int_equal(one.report.rows_computed, other.report.rows_computed);
        assert_int_equal(one.report.outcome, other.report.outcome);
        if (ranks == 2) {
            assert_non_null(strstr(other.report.path, ", 2 ranks"));
            assert_memory_equal(&one.certificate.kkt, &other.certificate.kkt, sizeof one.certificate.kkt);
        }
    }
    params.weights = one.weights;
    params.beta0 = one.beta0;
    (void)fit(one.set, &params, &report);
    assert_int_equal(one.report.outcome, report.outcome);
    assert_int_equal(one.report.n_problems, report.n_problems);
    if (report.outcome == HINGE_CONVERGED)
        assert_close(one.report.objective, report.objective, 2e-3);
    if (one.report.outcome == HINGE_CONVERGED && params.task != HINGE_QUANTILE && one.certificate.seconds > 0)
        assert_true(one.certificate.kkt <= 1.06 * params.eps * (params.task == HINGE_NU_SVC ? 1e3 : 1));
    return one;
}

TEST(test_two_classes)
{
    struct set set = set_two_class(5500001, 2600, 5, 2);
    double weights[2600];
    for (size_t i = 0; i < set.n; i++)
        weights[i] = i % 7 == 0 ? 0 : 0.5 + (double)(i % 5);
    struct job job = job_of(&set, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.1), 1));
    check_task(job);
    job.weights = weights;
    check_task(job);
    job.params.cache_bytes = 400 * 2600 * 4; /* rows make way for others, and systems have room or not */
    job.params.kernel = hinge_kernel_polynomial(2, 0.2, 1);
    job.params.working_set = 100;
    check_task(job);
    job.params = params_for(HINGE_C_SVC, hinge_kernel_rbf(50), 1); /* most values are negligible */
    check_task(job);
    for (size_t i = 0; i < set.n * set.d; i++) /* counts, and equal rows */
        set.x[i] = set.x[i] > 0.2 ? 2 : 0;
    job.params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.1), 1);
    job = check_task(job);
    assert_true(job.report.distinct <= 32 + 32);
}

/* Rows of many features are kept, in a cache that holds some of them and one that holds all; others make way. */
TEST(test_kept_rows)
{
    struct set set = set_two_class(5500002, 1500, 150, 6);
    struct job job = job_of(&set, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.002), 10));
    job.params.working_set = 60;
    job = check_task(job);
    uint64_t all = job.report.rows_computed;
    job.params.cache_bytes = 200 * 1500 * 4;
    job = check_task(job);
    assert_true(job.report.rows_evicted > 0 && job.report.rows_computed > all);
    job.params.precision = HINGE_PRECISION_F64;
    check_task(job);
}

TEST(test_other_tasks)
{
    const double labels[] = { 4, -1, 2 };
    struct set blobs = set_blobs(5500003, 1500, 4, 3, labels, 2), line = set_regression(5500004, 1400, 4);
    struct job job = job_of(&blobs, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.3), 2));
    hinge_scaling scaling = { .lower = 0, .upper = 1 };
    check_task(job);
    job.params.multiclass = HINGE_ONE_VS_REST;
    check_task(job);
    job.params.scaling = &scaling;
    run_ranks(3, train_rank, &job);
    assert_string_equal(job.err[0].text, "");
    assert_non_null(hinge_model_scale_factor(job.model));
    job.params = params_for(HINGE_NU_SVC, hinge_kernel_rbf(0.3), 1);
    job.params.nu = 0.4;
    job.params.eps = 1e-4;
    job.params.threads = 1;
    check_task(job);
    job.params = params_for(HINGE_ONE_CLASS, hinge_kernel_rbf(0.3), 1);
    job.params.nu = 0.2;
    check_task(job);
    check_task(job_of(&line, params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3), 1)));
    check_task(job_of(&line, params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.5), 2000))); /* by Newton's steps */
    job = job_of(&line, params_for(HINGE_NU_SVR, hinge_kernel_rbf(0.3), 1));
    job.params.nu = 0.3;
    check_task(job);
    job.params.task = HINGE_QUANTILE;
    job.params.tau = 0.8;
    check_task(job);
}

/* What ranks that are dealt rows do not have: the interior point, hard margins, factors, matrices. */
TEST(test_whole_rows_alone)
{
    struct set set = set_two_class(5500005, 1200, 4, 0.4), near = set_two_class(5500006, 300, 3, 0.02);
    struct job job = job_of(&set, params_for(HINGE_C_SVC, hinge_kernel_linear(), 1));
    job.params.solver = HINGE_SOLVER_INTERIOR_POINT;
    check_task(job);
    job.params.kernel = hinge_kernel_rbf(0.05);
    job.params.rank = 40;
    check_task(job);
    check_task(job_of(&near, params_for(HINGE_C_SVC, hinge_kernel_linear(), INFINITY)));
    const hinge_kernel rbf = hinge_kernel_rbf(0.5);
    struct set matrix = { near.n, near.n, plain_gram(&rbf, &near, &near), near.y };
    job = check_task(job_of(&matrix, params_for(HINGE_C_SVC, hinge_kernel_precomputed(), 1)));
}

/* Starts are those of all ranks' rows. */
TEST(test_start)
{
    const double labels[] = { 4, -1, 2 };
    struct set blobs = set_blobs(5500007, 900, 4, 3, labels, 2);
    struct job cold = job_of(&blobs, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.3), 2)), warm = cold;
    run_ranks(2, train_rank, &cold);
    hinge_params params = cold.params;
    params.eps /= 2;
    warm.beta0 = fit_beta(fit(&blobs, &params, NULL), blobs.n);
    warm.problems = 3;
    warm = check_task(warm);
    assert_true(warm.report.iterations * 20 <= cold.report.iterations);
}

/* Each rank makes its share of the values, and little beside it. */
TEST(test_shares)
{
    struct set set = set_two_class(5500008, 3000, 4, 1.5);
    struct job job = job_of(&set, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.1), 1));
    job.params.kernel.type = HINGE_USER;
    run_ranks(1, train_rank, &job);
    assert_string_equal(job.err[0].text, "");
    double alone = job.values[0];
    for (int ranks = 2; ranks <= MOST_RANKS; ranks *= 2) {
        run_ranks(ranks, train_rank, &job);
        for (int r = 0; r < ranks; r++)
            assert_true(job.values[r] <= 1.2 * alone / ranks);
    }
}

/* What is counted is what ranks told each other, by the count of those who carried it, and the values that kernels
 * made. A round of cheap values takes a sum and a gather of the gradient; several problems none. */
static void check_traffic(const struct set *set, int ranks, bool counts)
{
    struct job job = job_of(set, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.1), 1));
    const struct hm_traffic *t = job.traffic;
    uint64_t calls = 0, bytes = 0, p = (uint64_t)ranks, told = sizeof(struct hm_sum) * (p > 1 ? p : 0);
    double most = 0, all = 0;
    job.params.kernel.type = counts ? HINGE_USER : HINGE_RBF;
    struct traffic carried = run_ranks(ranks, train_rank, &job);
    assert_string_equal(job.err[0].text, "");
    for (int k = 0; k < HM_PARTS; k++) {
        const struct hm_exchange *e = &t->part[k];
        calls += e->calls;
        bytes += e->bytes;
        assert_true(e->most <= e->bytes && e->most * p >= e->bytes);
        for (int r = 1; r < ranks; r++)
            assert_true(e->bytes == job.traffic[r].part[k].bytes && e->calls == job.traffic[r].part[k].calls);
    }
    assert_int_equal(calls + 1, carried.sums + carried.gathers + carried.broadcasts); /* the sum of these */
    bytes -= counts ? 0 : (p - 1) * sizeof job.certificate;
    assert_int_equal(bytes, (p - 1) * carried.gathered + (carried.sums - 1) * told);
    for (int r = 0; r < ranks; r++) {
        most = fmax(most, job.values[r]);
        all += job.values[r];
    }
    if (counts) {
        assert_close((double)t->values, all, 0.05);
        assert_close((double)t->most_values, most, 0.05);
        return;
    }
    const struct hm_exchange *e = &t->part[HM_SOLVING];
    uint64_t gradients = (e->bytes - e->sums * told) / HG_MAX((p - 1) * set->n * sizeof(double), (uint64_t)1);
    if (job.report.n_problems > 1)
        assert_true(gradients <= job.report.n_problems && e->calls <= 4);
    else
        assert_in_range(gradients, p > 1 ? job.report.rounds - 1 : 0, job.report.rounds + 4);
}

TEST(test_traffic)
{
    const double labels[] = { 4, -1, 2 };
    struct set set = set_two_class(5500011, 3000, 4, 1.5), blobs = set_blobs(5500012, 900, 4, 3, labels, 2);
    for (int ranks = 1; ranks <= MOST_RANKS; ranks = ranks == 1 ? 3 : ranks + 5)
        for (int counts = 0; counts < 2; counts++) {
            check_traffic(&set, ranks, counts != 0);
            check_traffic(&blobs, ranks, counts != 0);
        }
}

/* Begun by one number of ranks, stopped, and gone on with by another one: the same bytes for all such numbers, as good
 * as in one go, and in less than that. */
static void check_checkpoint(struct job whole)
{
    struct job begun = whole, rest, first = whole;
    run_ranks(2, train_rank, &whole);
    assert_string_equal(whole.err[0].text, "");
    begun.checkpoint = folder();
    begun.calls = (int)(whole.report.rounds / (whole.report.n_problems > 1 ? 8 : 2));
    for (int ranks = 1; ranks <= 4; ranks++) {
        begun.stopped_rank = -1;
        begun.every = ranks == 3 ? 1e-9 : 0; /* after each round, which changes nothing */
        run_ranks(ranks, train_rank, &begun);
        assert_same_model(begun.model, whole.model);
        empty_folder();
        begun.every = 0;
        begun.stopped_rank = begun.report.n_problems > 1 ? 0 : ranks - 1;
        run_ranks(ranks, train_rank, &begun);
        assert_int_equal(begun.report.outcome, HINGE_STOPPED);
        rest = begun;
        rest.stopped_rank = -1;
        run_ranks(5 - ranks, train_rank, &rest);
        assert_int_equal(rest.report.outcome, HINGE_CONVERGED);
        assert_non_null(strstr(rest.report.path, ", from a checkpoint"));
        assert_null(strstr(begun.report.path, "checkpoint"));
        assert_true(rest.report.rounds < whole.report.rounds);
        assert_close(rest.report.objective, whole.report.objective, 1e-3);
        assert_true(rest.certificate.kkt <= 1.06 * rest.params.eps * (rest.params.task == HINGE_NU_SVC ? 1e3 : 1));
        if (ranks > 1 && rest.report.n_problems == 1)
            assert_same_model(first.model, rest.model);
        first = rest;
        empty_folder();
    }
}

TEST(test_checkpoint)
{
    const double labels[] = { 4, -1, 2 };
    struct set set = set_two_class(5500013, 1500, 5, 2), blobs = set_blobs(5500014, 900, 4, 3, labels, 2);
    struct set line = set_regression(5500015, 1000, 4);
    struct job job = job_of(&set, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.2), 10));
    job.params.working_set = 40;
    check_checkpoint(job);
    job.set = &blobs;
    check_checkpoint(job);
    job.params.task = HINGE_NU_SVC;
    job.params.nu = 0.3;
    job.set = &set;
    check_checkpoint(job);
    job.params.task = HINGE_NU_SVR;
    job.set = &line;
    check_checkpoint(job);
}

/* What is not this training's, or not whole, is refused by all ranks alike, and so is a folder that is not there. */
static void check_refusal(struct job job, int ranks, hinge_status status, const char *part)
{
    run_ranks(ranks, train_rank, &job);
    for (int r = 0; r < ranks; r++) {
        assert_int_equal(job.err[r].status, status);
        assert_non_null(strstr(job.err[r].text, part));
    }
}

TEST(test_bad_checkpoints)
{
    const double labels[] = { 4, -1, 2 };
    struct set set = set_two_class(5500016, 800, 5, 2), blobs = set_blobs(5500017, 900, 4, 3, labels, 2);
    for (int several = 0; several < 2; several++) {
        struct job job = job_of(several ? &blobs : &set, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.2), 10)), other;
        const char *name = NULL;
        job.params.working_set = 40;
        job.checkpoint = folder();
        for (int cut = 0; cut < 2; cut++) {
            run_ranks(3, train_rank, &job);
            assert_int_equal(count_files("problem-", &name), several ? 6 : 2); /* of each, a part and a manifest */
            other = job;
            other.params.C = 11;
            check_refusal(other, 2, HINGE_EINVAL, "other data or parameters");
            other.params.C = 10;
            set.y[0] = -set.y[0];
            blobs.y[0] = blobs.y[0] == 4 ? 2 : 4;
            check_refusal(other, 2, HINGE_EINVAL, "other data or parameters");
            set.y[0] = -set.y[0];
            blobs.y[0] = blobs.y[0] == 4 ? 2 : 4;
            assert_int_equal(count_files(several ? "problem-2.1.part" : "problem-0.1.part", &name), 1);
            spoil(name, cut);
            check_refusal(job, 3, HINGE_EFORMAT, "part-0");
            empty_folder();
        }
        job.checkpoint = path_of("none");
        check_refusal(job, 3, HINGE_EIO, "none");
    }
}

/* Predicts by 1 to 5 and 8 ranks the same, and as hinge_cross_validate does; `way` is how, as reports name it. */
static void check_folds(struct job job, const char *way, double tolerance)
{
    size_t n = job.set->n;
    hinge_matrix x = set_matrix(job.set);
    hinge_params params = job.params;
    hinge_report report;
    double *truth = get(3 * n, sizeof *truth), *one = truth + n;
    job.folds = 5;
    params.weights = job.weights;
    assert_int_equal(hinge_cross_validate(&x, job.set->y, &params, job.folds, truth, &report, NULL), HINGE_OK);
    assert_non_null(strstr(report.path, way));
    for (int ranks = 1; ranks <= MOST_RANKS; ranks = ranks < 5 ? ranks + 1 : ranks + 3) {
        job.predictions = ranks == 1 ? one : one + n;
        job.params.threads = 1 + ranks % 2;
        run_ranks(ranks, train_rank, &job);
        assert_string_equal(job.err[0].text, "");
        assert_memory_equal(job.predictions, one, n * sizeof *one);
        assert_non_null(strstr(job.report.path, job.params.threads == 1 ? way : " folds "));
        assert_int_equal(job.report.outcome, report.outcome);
        assert_close((double)job.report.iterations, (double)report.iterations, 0.1);
        assert_close(job.report.objective, report.objective, 1e-3);
    }
    if (tolerance == 0)
        assert_true(share_equal(one, truth, n) >= 0.995);
    else
        assert_true(largest_difference(one, truth, n) <= tolerance);
}

/* Examples of two classes, of three, and with targets, and weights of which some are 0. */
struct examples {
    struct set two, three, line;
    double *weights;
};

static struct examples examples_of(uint64_t seed, size_t n, double noise)
{
    const double labels[] = { 4, -1, 2 };
    struct examples e = { set_two_class(seed, n, 5, 2), set_blobs(seed + 1, n, 4, 3, labels, noise),
                          set_regression(seed + 2, n - 100, 4), get(n, sizeof *e.weights) };
    for (size_t i = 0; i < n; i++)
        e.weights[i] = i % 7 == 0 ? 0 : 0.5 + (double)(i % 5);
    return e;
}

TEST(test_folds)
{
    const hinge_scaling unit = { .lower = 0, .upper = 1 };
    struct examples e = examples_of(7100001, 900, 1.5);
    struct job job = job_of(&e.two, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.2), 10));
    check_folds(job, "5 folds from its solution", 0);
    job.set = &e.three;
    check_folds(job, "5 folds from its solution", 0);
    job.params.multiclass = HINGE_ONE_VS_REST;
    check_folds(job, "5 folds from its solution", 0);
    job.weights = e.weights;
    check_folds(job, "5 folds in turn", 0);
    job.params.scaling = &unit;
    job.params.kernel.gamma = 3;
    check_folds(job, "5 folds in turn", 0);
    job = job_of(&e.two, params_for(HINGE_NU_SVC, hinge_kernel_rbf(0.2), 1));
    job.params.nu = 0.3;
    check_folds(job, "5 folds in turn", 0);
    job = job_of(&e.line, params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3), 1));
    check_folds(job, "5 folds from its solution", 5e-3);
}

/* Of five folds each of five ranks makes the values of one. */
TEST(test_shares_of_folds)
{
    struct set set = set_two_class(7100004, 600, 5, 2);
    double predictions[600], all = 0, most = 0;
    struct job job = job_of(&set, params_for(HINGE_NU_SVC, hinge_kernel_rbf(0.2), 1));
    job.params.nu = 0.3;
    job.params.kernel.type = HINGE_USER;
    job.folds = 5;
    job.predictions = predictions;
    run_ranks(5, train_rank, &job);
    assert_string_equal(job.err[0].text, "");
    for (int k = 0; k < 5; most = HG_MAX(most, job.values[k]), k++)
        all += job.values[k];
    assert_true(most <= 0.3 * all);
}

/* Probabilities: the same model by 1 to 3 and 8 ranks, and hinge_train's but for eps. */
static void check_calibration(struct job job)
{
    size_t n = job.set->n;
    hinge_matrix x = set_matrix(job.set);
    job.params.probability = 1;
    job.params.eps = 1e-6;
    job.params.precision = HINGE_PRECISION_F64;
    hinge_params params = job.params;
    params.weights = job.weights;
    hinge_model *plain = fit(job.set, &params, NULL), *one = NULL;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks = ranks < 3 ? ranks + 1 : ranks + 5) {
        job.params.threads = 1 + ranks % 2;
        run_ranks(ranks, train_rank, &job);
        assert_string_equal(job.err[0].text, "");
        one = one != NULL ? one : job.model;
        assert_same_model(one, job.model);
    }
    size_t k = hinge_model_n_classes(plain);
    double *p = get(2 * n * k + 1, sizeof *p), *q = p + n * k;
    if (hinge_model_laplace(plain, p, NULL) == HINGE_OK) {
        assert_int_equal(hinge_model_laplace(one, p + 1, NULL), HINGE_OK);
        assert_close(p[1], p[0], 1e-3);
        return;
    }
    assert_int_equal(hinge_predict_probability(plain, &x, NULL, NULL, p, NULL), HINGE_OK);
    assert_int_equal(hinge_predict_probability(one, &x, NULL, NULL, q, NULL), HINGE_OK);
    assert_true(largest_difference(p, q, n * k) <= 1e-3);
}

TEST(test_calibration)
{
    const hinge_scaling unit = { .lower = 0, .upper = 1 };
    struct examples e = examples_of(7100005, 400, 2);
    struct job job = job_of(&e.two, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.3), 2));
    check_calibration(job);
    job.set = &e.three;
    check_calibration(job);
    job.params.multiclass = HINGE_ONE_VS_REST;
    job.weights = e.weights;
    job.params.scaling = &unit; /* each fold has its own */
    check_calibration(job);
    job = job_of(&e.three, params_for(HINGE_NU_SVC, hinge_kernel_rbf(0.3), 1));
    job.params.nu = 0.3;
    check_calibration(job);
    check_calibration(job_of(&e.line, params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3), 1)));
}

static void check_failing(struct job job)
{
    for (job.failing_rank = 0; job.failing_rank < 3; job.failing_rank++) {
        run_ranks(3, train_rank, &job);
        for (int r = 0; r < 3; r++) {
            assert_int_equal(job.err[r].status, HINGE_ECALLBACK);
            assert_string_equal(job.err[r].text, job.err[0].text);
        }
    }
}

/* One rank's callback, kernel, or limit of time ends all of them alike. */
TEST(test_ends)
{
    const double labels[] = { 4, -1, 2 };
    const hinge_scaling unit = { .lower = 0, .upper = 1 };
    double predictions[1500];
    struct set set = set_two_class(5500009, 1500, 5, 2), blobs = set_blobs(5500010, 900, 4, 3, labels, 2);
    struct job job = job_of(&set, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.1), 10));
    job.params.working_set = 40;
    job.stopped_rank = 2;
    run_ranks(4, train_rank, &job);
    assert_string_equal(job.err[0].text, "");
    assert_int_equal(job.report.outcome, HINGE_STOPPED);
    assert_in_range(job.report.rounds, 3, 4);
    job.stopped_rank = -1;
    job.params.time_limit = 1e-9;
    run_ranks(3, train_rank, &job);
    assert_int_equal(job.report.outcome, HINGE_TIME_LIMIT);
    job.params.time_limit = 0;
    job.folds = 4; /* at once, and one by one */
    job.predictions = predictions;
    for (int scales = 0; scales < 2; scales++) {
        job.params.scaling = scales ? &unit : NULL;
        job.stopped_rank = 2;
        run_ranks(4, train_rank, &job);
        assert_string_equal(job.err[0].text, "");
        assert_int_equal(job.report.outcome, HINGE_STOPPED);
        size_t missing = 0;
        for (size_t i = 0; i < set.n; i++)
            missing += isnan(predictions[i]);
        assert_true(missing >= set.n / 4);
    }
    job.params.scaling = NULL;
    job.stopped_rank = -1;
    job.params.kernel.type = HINGE_USER;
    check_failing(job);
    job.params.task = HINGE_NU_SVC;
    job.params.nu = 0.3;
    check_failing(job);
    job.set = &blobs;
    check_failing(job);
    job.params.task = HINGE_C_SVC;
    check_failing(job);
    job.folds = 0;
    check_failing(job); /* whose pairs go to the ranks */
    job.set = &set;
    check_failing(job);
}
