/*
 * Problems of two of several classes that single ranks solve: the bytes that one rank comes to, which knows no such
 * ways; work that is shared; rows that travel, counted; ends, failures and checkpoints.
 */
#include "test/ranks_job.h"

enum { CLASSES = 6, PAIRS = CLASSES * (CLASSES - 1) / 2 };

static const double labels[] = { 4, -1, 2, 9, 7, 0 };

/* Rows of six classes that meet, in tiles of 512. */
static struct job job_of_classes(struct set *set, uint64_t seed)
{
    *set = set_blobs(seed, 900, 4, CLASSES, labels, 2);
    struct job job = job_of(set, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.3), 5));
    job.tile = 512;
    return job;
}

/* Returns how many problems single ranks solved, as the path tells. */
static size_t alone(const hinge_report *report)
{
    const char *at = strstr(report->path, " of 15 pairs by one rank each");
    while (at != NULL && at > report->path && at[-1] != ' ')
        at--;
    return at != NULL ? (size_t)atoi(at) : 0;
}

static void assert_same_run(const struct job *one, const struct job *other)
{
    assert_string_equal(other->err[0].text, "");
    assert_same_model(one->model, other->model);
    assert_true(one->report.objective == other->report.objective && one->report.rounds == other->report.rounds);
    assert_int_equal(one->report.rows_computed, other->report.rows_computed);
    assert_int_equal(one->report.iterations, other->report.iterations);
    if (one->params.kernel.type == HINGE_USER)
        return;
    assert_true(one->certificate.primal == other->certificate.primal);
    assert_true(one->certificate.gap == other->certificate.gap && one->certificate.kkt == other->certificate.kkt);
}

/* By 1 to 8 ranks, of 1 and 2 threads; how many problems of 2 to 4 and of 8 ranks are for one alone. */
static void check_ranks(struct job one, const size_t *expected)
{
    run_ranks(1, train_rank, &one);
    assert_string_equal(one.err[0].text, "");
    assert_int_equal(alone(&one.report), 0);
    for (int ranks = 2; ranks <= MOST_RANKS; ranks = ranks < 4 ? ranks + 1 : 2 * ranks) {
        struct job other = one;
        other.params.threads = 1 + ranks % 2;
        run_ranks(ranks, train_rank, &other);
        assert_same_run(&one, &other);
        assert_int_equal(alone(&other.report), expected[ranks < 5 ? ranks - 2 : 3]);
    }
}

TEST(test_same_bytes)
{
    static const size_t all[] = { 15, 15, 15, 15 }, none[4] = { 0 };
    struct set set;
    struct job job = job_of_classes(&set, 50001);
    double weights[900];
    for (size_t i = 0; i < set.n; i++)
        weights[i] = i % 7 == 0 ? 0 : 0.5 + (double)(i % 5);
    check_ranks(job, all);
    job.params.cache_bytes = 900 * 900; /* too little for a pair's rows, of one kernel row and a half on average */
    check_ranks(job, none);
    job.params.cache_bytes = 0;
    job.weights = weights;
    job.params.task = HINGE_NU_SVC;
    job.params.nu = 0.3;
    job.params.precision = HINGE_PRECISION_F64;
    check_ranks(job, all);
    job.params.task = HINGE_C_SVC;
    job.params.multiclass = HINGE_ONE_VS_REST; /* each problem has all points */
    check_ranks(job, none);
    job = job_of_classes(&set, 50002);
    for (size_t i = 0; i < set.n * set.d; i++) /* which f32 does not hold */
        set.x[i] += 1e-9;
    job.params.kernel = hinge_kernel_polynomial(2, 0.2, 1);
    check_ranks(job, all);
}

/* Classes of many sizes: those that are too large for one rank are for all. */
TEST(test_large_and_small)
{
    struct set set;
    struct job one = job_of_classes(&set, 50003), other;
    for (size_t i = 0; i < set.n; i++)
        set.y[i] = labels[i % 3 > 0 ? 0 : i % CLASSES < 3 ? 1 + i % 2 : 1 + i % 5];
    one.params.kernel.type = HINGE_USER; /* whose rows are always kept */
    one.params.cache_bytes = (size_t)4 << 20;
    run_ranks(1, train_rank, &one);
    other = one;
    run_ranks(3, train_rank, &other);
    assert_same_run(&one, &other);
    assert_int_equal(alone(&other.report), 9); /* of ten, of the small classes: what is left over is for all */
}

/* Ranks share the kernel values, and make none twice; each row travels to those who solve its five problems, and its
 * coefficients come back; calls do not grow with rounds. */
TEST(test_traffic)
{
    struct set set;
    struct job job = job_of_classes(&set, 50004);
    for (int ranks = 1; ranks <= MOST_RANKS; ranks = ranks == 1 ? 3 : ranks + 5) {
        double most = 0, part = 1.0 / ranks;
        run_ranks(ranks, train_rank, &job);
        assert_string_equal(job.err[0].text, "");
        assert_int_equal(job.traffic[0].values, job.report.kernel_values);
        most = (double)job.traffic[0].most_values / (double)job.report.kernel_values;
        assert_in_range(most * 100, part * 100, part * 140);
        const struct hm_exchange *rounds = &job.traffic[0].part[HM_SOLVING];
        if (ranks == 1)
            continue;
        double bytes = (double)(CLASSES - 1) * (double)set.n * (32 + 4 * 4 + 8); /* of a row and a coefficient */
        assert_in_range(rounds->calls, 5, 40);
        assert_true((double)rounds->bytes > bytes * (ranks - 1) / ranks / 2);
        assert_true((double)rounds->bytes < bytes * 2 + (double)ranks * (PAIRS * 4096 + 40 * sizeof(struct hm_sum)));
    }
}

TEST(test_checkpoint)
{
    struct set set;
    struct job whole = job_of_classes(&set, 50005), begun, rest;
    const char *name = NULL;
    whole.params.working_set = 40;
    run_ranks(2, train_rank, &whole);
    begun = whole;
    begun.checkpoint = folder();
    for (int ranks = 1; ranks <= 4; ranks++) {
        run_ranks(ranks, train_rank, &begun); /* to the end, which is kept: there is next to nothing left to do */
        assert_same_model(begun.model, whole.model);
        assert_int_equal(count_files("problem-1", &name), 12); /* of each a part and a manifest */
        rest = begun;
        run_ranks(5 - ranks, train_rank, &rest);
        assert_non_null(strstr(rest.report.path, ", from a checkpoint"));
        assert_true(rest.report.iterations * 20 < whole.report.iterations);
        assert_close(rest.report.objective, whole.report.objective, 1e-3);
        empty_folder();
        begun.stopped_rank = 0;
        begun.calls = (int)whole.report.rounds / 8;
        run_ranks(ranks, train_rank, &begun);
        assert_int_equal(begun.report.outcome, HINGE_STOPPED);
        rest = begun;
        rest.stopped_rank = begun.stopped_rank = -1;
        run_ranks(5 - ranks, train_rank, &rest);
        assert_int_equal(rest.report.outcome, HINGE_CONVERGED);
        assert_true(rest.report.iterations < whole.report.iterations);
        assert_close(rest.report.objective, whole.report.objective, 1e-3);
        assert_int_equal(count_files("problem-3.manifest", &name), 1);
        assert_true(count_files("problem-3.", &name) > 1);
        spoil(strstr(name, "part") != NULL ? name : path_of("problem-3.manifest"), true);
        run_ranks(3, train_rank, &rest);
        for (int r = 0; r < 3; r++) {
            assert_int_equal(rest.err[r].status, HINGE_EFORMAT);
            assert_string_equal(rest.err[r].text, rest.err[0].text);
        }
        empty_folder();
    }
}

/* A rank whose kernel fails ends all; a callback or a limit ends all problems. */
TEST(test_ends)
{
    struct set set;
    struct job job = job_of_classes(&set, 50006);
    job.params.time_limit = 1e-9;
    run_ranks(3, train_rank, &job);
    assert_string_equal(job.err[0].text, "");
    assert_int_equal(job.report.outcome, HINGE_TIME_LIMIT);
    job.params.time_limit = 0;
    job.params.kernel.type = HINGE_USER;
    for (job.failing_rank = 0; job.failing_rank < 3; job.failing_rank++) {
        run_ranks(3, train_rank, &job);
        for (int r = 0; r < 3; r++) {
            assert_int_equal(job.err[r].status, HINGE_ECALLBACK);
            assert_string_equal(job.err[r].text, job.err[0].text);
        }
    }
}
