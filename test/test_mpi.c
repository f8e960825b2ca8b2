/*
 * Training over ranks, which are threads here: the same bytes for any number of them, the optimum that hinge_train
 * finds, what is exchanged, checkpoints, failures of one rank. test_mpi.sh has the same over MPI.
 */
#include "mpi/mpi_train.h"
#include "test/hulls.h"
#include "test/ranks.h"
#include "test/support.h"

#include <hinge/io.h>
#include <hinge/theory.h>

#include <dirent.h>
#include <unistd.h>

/* ---- trainings --------------------------------------------------------------------------------------------------- */

struct training {
    const struct set *set;
    const double *weights; /* [n] or NULL */
    hinge_params params;
    struct hm_options options;
    int bad_rank;        /* -1: none; whose first label is NaN */
    const double *beta0; /* [problems * n] of all, or NULL */
    size_t problems;
    int lacks_beta0; /* -1: none; a rank without its part */
    hinge_model *model;
    hinge_report report;
    hinge_error err, errs[8];      /* of rank 0, and of the first ones */
    hinge_certificate certificate; /* of rank 0, */
    struct hm_traffic traffic;     /* and what it counted */
};

/* Rank r has rows [n r^2 / R^2, n (r + 1)^2 / R^2): shares that differ, some of them empty. */
static size_t share(size_t n, int rank, int ranks)
{
    return n * (size_t)rank * (size_t)rank / ((size_t)ranks * (size_t)ranks);
}

static void train_rank(const struct hm_net *net, void *arg)
{
    struct training *t = arg;
    size_t first = share(t->set->n, net->rank, net->ranks), end = share(t->set->n, net->rank + 1, net->ranks);
    struct set mine = { end - first, t->set->d, t->set->x + first * t->set->d, t->set->y + first };
    hinge_matrix x = set_matrix(&mine);
    hinge_params params = t->params;
    hinge_model *model = NULL;
    hinge_report report = { 0 };
    hinge_error err = { 0 };
    double kept = mine.n > 0 ? mine.y[0] : 0;
    if (t->weights != NULL)
        params.weights = t->weights + first;
    double *beta0 = get((t->problems * mine.n + 1), sizeof *beta0);
    for (size_t p = 0; t->beta0 != NULL && p < t->problems; p++)
        memcpy(beta0 + p * mine.n, t->beta0 + p * t->set->n + first, mine.n * sizeof *beta0);
    params.beta0 = t->beta0 != NULL && net->rank != t->lacks_beta0 ? beta0 : NULL;
    if (net->rank != 0)
        params.progress = NULL;
    if (net->rank == t->bad_rank)
        mine.y[0] = NAN;
    hinge_certificate certificate;
    struct hm_options options = t->options;
    struct hm_traffic traffic = { 0 };
    options.certificate = &certificate;
    options.traffic = &traffic;
    hinge_status status = hm_train(net, &x, mine.y, &params, &options, &model, &report, &err);
    if (net->rank == t->bad_rank)
        mine.y[0] = kept;
    assert_int_equal(status, err.status);
    if (net->rank == 0) {
        t->model = given_back(model);
        t->report = report;
        t->certificate = certificate;
        t->traffic = traffic;
        t->err = err;
    } else {
        assert_null(model);
    }
    if (net->rank < 8)
        t->errs[net->rank] = err;
}

static struct training training_of(const struct set *set, hinge_params params)
{
    params.threads = params.threads > 0 ? params.threads : 1;
    return (
        struct training){ .set = set, .params = params, .options = { .tile = 512 }, .bad_rank = -1, .lacks_beta0 = -1 };
}

static void assert_same_model(const hinge_model *a, const hinge_model *b)
{
    assert_true(same_text(text_of(a), text_of(b)));
    assert_memory_equal(hinge_model_sv_index(a), hinge_model_sv_index(b), hinge_model_n_sv(a) * sizeof(size_t));
}

/* All ranks fail alike. */
static void check_failure(struct training *t, int ranks, hinge_status status, const char *part)
{
    run_ranks(ranks, train_rank, t);
    for (int r = 0; r < ranks; r++) {
        assert_int_equal(t->errs[r].status, status);
        assert_string_equal(t->errs[r].text, t->err.text);
    }
    assert_non_null(strstr(t->err.text, part));
}

static void assert_same_worth(const hinge_certificate *a, const hinge_certificate *b)
{
    assert_close(a->primal, b->primal, 1e-9);
    assert_close(a->dual, b->dual, 1e-9);
    assert_true(fabs(a->gap - b->gap) <= 1e-8 * (1 + fabs(b->primal)));
    assert_true(fabs(a->kkt - b->kkt) <= 1e-9);
    assert_true(fabs(a->slackness - b->slackness) <= 1e-6);
    assert_true(a->sum_residual <= 1e-9 && a->box_residual <= 1e-9);
}

/* By 1 to 4 ranks, of 1 and 2 threads: the same model, certified, and as good as hinge_train's. */
static void check_task(const struct set *set, hinge_params params, const double *weights)
{
    struct training one = training_of(set, params);
    hinge_certificate certificate;
    hinge_report report;
    hinge_error err;
    one.weights = weights;
    run_ranks(1, train_rank, &one);
    assert_string_equal(one.err.text, "");
    assert_int_equal(one.report.outcome, HINGE_CONVERGED);
    if (params.task != HINGE_NU_SVC) /* whose violation is divided by r */
        assert_true(one.report.error >= 0 && one.report.violation + 2 * one.report.error <= 1.06 * params.eps);
    for (int ranks = 2; ranks <= 4; ranks++) {
        struct training other = training_of(set, params);
        other.weights = weights;
        other.params.threads = 1 + ranks % 2;
        run_ranks(ranks, train_rank, &other);
        assert_same_model(one.model, other.model);
    }
    for (size_t k = 0; k < hinge_model_n_sv(one.model); k++) { /* their vectors are those of the rows that it names */
        double x[8];
        assert_int_equal(hinge_model_sv(one.model, k, x, &err), HINGE_OK);
        assert_memory_equal(x, set->x + hinge_model_sv_index(one.model)[k] * set->d, set->d * sizeof *x);
    }
    params.weights = weights;
    params.solver = HINGE_SOLVER_SMO;
    hinge_matrix x = set_matrix(set);
    if (params.task != HINGE_QUANTILE) {
        assert_int_equal(hinge_certify(one.model, &x, set->y, &params, &certificate, &err), HINGE_OK);
        assert_true(certificate.kkt <= 1.06 * params.eps * (params.task == HINGE_NU_SVC ? 1e3 : 1));
        assert_same_worth(&one.certificate, &certificate);
        assert_true(certificate.box_residual <= 1e-9 && certificate.sum_residual <= 1e-9);
    }
    hinge_model *plain = fit(set, &params, &report);
    assert_int_equal(report.n, one.report.n);
    assert_int_equal(hinge_model_n_classes(plain), hinge_model_n_classes(one.model));
    if (hinge_model_labels(plain) != NULL)
        assert_memory_equal(hinge_model_labels(plain), hinge_model_labels(one.model),
                            hinge_model_n_classes(plain) * sizeof(double));
    assert_close(one.report.objective, report.objective, 2e-3);
    const char *way = strstr(report.path, "counts f32"); /* rows are made in the same way */
    assert_int_equal(way != NULL, strstr(one.report.path, "counts f32") != NULL);
}

TEST(test_two_classes)
{
    struct set set = set_two_class(1, 2600, 5, 2);
    double weights[2600];
    for (size_t i = 0; i < set.n; i++)
        weights[i] = i % 7 == 0 ? 0 : 0.5 + (double)(i % 5);
    check_task(&set, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.1), 1), NULL);
    check_task(&set, params_for(HINGE_C_SVC, hinge_kernel_polynomial(2, 0.2, 1), 1), weights);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.2), 10);
    params.cache_bytes = 400 * 2600 * 4; /* rows make way for others */
    params.working_set = 100;
    check_task(&set, params, NULL);
    params.precision = HINGE_PRECISION_F64;
    params.no_bias = 1;
    check_task(&set, params, NULL);
    for (size_t i = 0; i < set.n * set.d; i++) /* two values each, 2 apart; the fifth feature varies late */
        set.x[i] = i % 5 == 4 ? (i < set.n * set.d * 7 / 8 || set.x[i] < 0.5 ? 3 : 5) : set.x[i] > 0.2 ? 2 : 0;
    params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.1), 1);
    check_task(&set, params, NULL);
    set.x[set.n * set.d - 1] = 4; /* a third value, which the last rank alone sees */
    check_task(&set, params, NULL);
}

/* Rows in f32 that leave no progress are followed by those in f64; a run cut short on the way tells what holds. */
TEST(test_coarse_rows)
{
    struct set set = set_regression(7, 12, 4);
    for (size_t i = 0; i < set.n * set.d; i++)
        set.x[i] += 15;
    for (int cut = 0; cut <= 1; cut++) {
        struct training t = training_of(&set, params_for(HINGE_EPSILON_SVR, hinge_kernel_polynomial(3, 0.2, 1), 1));
        t.params.max_iter = cut ? 20 : 0;
        run_ranks(3, train_rank, &t);
        assert_int_equal(t.report.outcome, cut ? HINGE_MAX_ITER : HINGE_CONVERGED);
        assert_close(t.report.objective, -t.certificate.dual, 1e-6);
        assert_close(t.report.violation, t.certificate.kkt, 1e-6);
    }
}

/* At a large C the violation rises for hundreds of rounds while the objective falls, and working sets are solved by
 * systems of their free entries, on all ranks alike. */
TEST(test_large_C)
{
    struct set set = set_regression(9, 1100, 4);
    hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.5), 2000);
    params.eps = 0.1;
    params.p = 0.05;
    params.precision = HINGE_PRECISION_F64;
    double optimum = 0;
    hinge_report report;
    (void)fit(&set, &params, &report);
    optimum = report.objective;
    for (size_t q = 64; q <= 128; q += 64) {
        struct training one = training_of(&set, params), two;
        one.params.working_set = q;
        two = one;
        run_ranks(1, train_rank, &one);
        assert_int_equal(one.report.outcome, HINGE_CONVERGED);
        assert_true(one.certificate.kkt <= 1.06 * params.eps);
        assert_close(one.report.objective, optimum, 0.01);
        if (q == 64)
            continue;
        assert_true(one.report.newton_steps > 0);
        run_ranks(2, train_rank, &two);
        assert_same_model(one.model, two.model);
    }
}

TEST(test_other_tasks)
{
    const double labels[] = { 4, -1, 2 };
    struct set blobs = set_blobs(2, 1500, 4, 3, labels, 2), line = set_regression(3, 1400, 4);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.3), 2);
    const double class_weight = 3;
    check_task(&blobs, params, NULL);
    params.multiclass = HINGE_ONE_VS_REST;
    params.n_class_weights = 1;
    params.class_labels = &labels[1];
    params.class_weights = &class_weight;
    params.positive_class = &labels[2];
    check_task(&blobs, params, NULL);
    params = params_for(HINGE_NU_SVC, hinge_kernel_rbf(0.3), 1);
    params.nu = 0.4;
    params.eps = 1e-4;
    check_task(&blobs, params, NULL);
    params.multiclass = HINGE_ONE_VS_REST; /* whose problems do not have their tiles in the order of all */
    check_task(&blobs, params, NULL);
    params = params_for(HINGE_ONE_CLASS, hinge_kernel_rbf(0.3), 1);
    params.nu = 0.2;
    check_task(&blobs, params, NULL);
    check_task(&line, params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3), 1), NULL);
    params = params_for(HINGE_NU_SVR, hinge_kernel_rbf(0.3), 1);
    params.nu = 0.3;
    check_task(&line, params, NULL);
    params = params_for(HINGE_QUANTILE, hinge_kernel_rbf(0.3), 1);
    params.tau = 0.8;
    check_task(&line, params, NULL);
}

/* Classes that are drawn, so that the reduced hulls mostly meet: a solution that is told to have a margin, for the nu
 * asked for or another, shows one. */
TEST(test_margins)
{
    size_t without = 0, found = 0, sets = in_full() ? 150 : 50;
    for (uint64_t seed = 0; seed < sets; seed++) {
        uint64_t s = seed;
        struct set set = set_new(20 + draw(&s) % 100, 1 + draw(&s) % 5);
        double first = 0;
        for (size_t i = 0; i < set.n * set.d; i++)
            set.x[i] = draw_normal(&s);
        for (size_t i = 0; i < set.n; i++) {
            set.y[i] = draw(&s) % 2 ? 1 : -1;
            first += set.y[i] > 0;
        }
        hinge_params params = params_for(HINGE_NU_SVC, hinge_kernel_linear(), 1);
        params.nu = fmin(0.2 + 0.6 * draw_unit(&s), 2 * fmin(first, (double)set.n - first) / (double)set.n);
        params.eps = draw(&s) % 2 ? 1e-3 : 1e-8;
        struct training one = training_of(&set, params);
        run_ranks(1 + (int)(seed % 2), train_rank, &one);
        assert_string_equal(one.err.text, "");
        const char *words = strstr(one.report.path, "margin from nu=");
        double nu = words != NULL ? atof(words + strlen("margin from nu=")) : 0;
        without += one.report.outcome == HINGE_NO_MARGIN;
        found += nu > 0;
        if (nu > 0 && seed < 10) { /* that of a training, but for both intervals' hundredth, and above what was asked */
            hinge_report report;
            fit(&set, &params, &report);
            words = strstr(report.path, "margin from nu=");
            assert_non_null(words);
            assert_near(nu / atof(words + strlen("margin from nu=")), 1, 0.03);
            assert_true(nu > params.nu && one.report.outcome == HINGE_NO_MARGIN);
        }
        if (one.report.outcome != HINGE_CONVERGED && nu == 0)
            continue;
        double *beta = fit_beta(one.model, set.n), sum = 0;
        for (size_t i = 0; i < set.n; i++)
            sum += fabs(beta[i]);
        for (size_t i = 0; i < set.n; i++)
            beta[i] /= sum;
        if (!(least_product(&set, beta, nu > 0 ? nu : params.nu) > 0))
            fail_msg("seed %d, n %zu, d %zu: no margin, and told as one", (int)seed, set.n, set.d);
    }
    assert_true(found > without / 2);
    assert_true(without > sets / 3);
}

/* Probabilities: the same model by 1 to 3 ranks, and hinge_train's sigmoids and marks but for eps. */
static void check_calibration(const struct set *set, hinge_params params, const double *weights)
{
    struct training one = training_of(set, params);
    one.params.probability = params.probability = 1;
    one.params.eps = params.eps = 1e-7;
    one.params.precision = params.precision = HINGE_PRECISION_F64;
    one.weights = params.weights = weights;
    params.solver = HINGE_SOLVER_SMO;
    run_ranks(1, train_rank, &one);
    assert_string_equal(one.err.text, "");
    for (int ranks = 2; ranks <= 3; ranks++) {
        struct training other = training_of(set, one.params);
        other.weights = weights;
        run_ranks(ranks, train_rank, &other);
        assert_same_model(one.model, other.model);
    }
    hinge_model *plain = fit(set, &params, NULL);
    hinge_matrix x = set_matrix(set);
    size_t k = hinge_model_n_classes(plain);
    double *p = get(set->n * k, sizeof *p), *q = get(set->n * k, sizeof *q);
    assert_true(hinge_model_has_probability(plain) && hinge_model_has_probability(one.model));
    if (hinge_model_laplace(plain, p, NULL) == HINGE_OK) {
        assert_int_equal(hinge_model_laplace(one.model, q, NULL), HINGE_OK);
        assert_close(q[0], p[0], 1e-4);
    } else {
        assert_int_equal(hinge_predict_probability(plain, &x, NULL, NULL, p, NULL), HINGE_OK);
        assert_int_equal(hinge_predict_probability(one.model, &x, NULL, NULL, q, NULL), HINGE_OK);
        bool one_class = params.task == HINGE_ONE_CLASS; /* in tenths, between marks that eps moves; SVs lie at 0 */
        for (size_t i = 0; i < set->n; i++) {
            double f = 1;
            if (one_class)
                assert_int_equal(
                    hinge_predict(plain,
                                  &(hinge_matrix){ set->x + i * set->d, HINGE_F64, 1, set->d, set->d, HINGE_ROW_MAJOR },
                                  NULL, NULL, &f, NULL),
                    HINGE_OK);
            for (size_t c = 0; c < k && fabs(f) > 1e-3; c++)
                assert_true(fabs(p[i * k + c] - q[i * k + c]) <= (one_class ? 0.1001 : 1e-4));
        }
    }
}

TEST(test_calibration)
{
    const double labels[] = { 4, -1, 2 }, class_weight = 3;
    struct set blobs = set_blobs(2, 300, 4, 3, labels, 2), line = set_regression(3, 250, 4);
    struct set few = set_blobs(5, 40, 3, 3, labels, 2); /* of which two of a class count: a fold may have them both */
    double weights[300];
    size_t kept = 0;
    for (size_t i = 0; i < blobs.n; i++)
        weights[i] = i % 7 == 0 ? 0 : 0.5 + (double)(i % 5);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.3), 2);
    check_calibration(&blobs, params, weights);
    params.n_class_weights = 1;
    params.class_labels = &labels[1];
    params.class_weights = &class_weight;
    params.positive_class = &labels[2];
    check_calibration(&blobs, params, NULL);
    params.multiclass = HINGE_ONE_VS_REST;
    check_calibration(&blobs, params, weights);
    for (size_t i = 0; i < few.n; i++)
        weights[i] = few.y[i] != labels[1] || kept++ < 2;
    check_calibration(&few, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.3), 2), weights);
    params = params_for(HINGE_NU_SVC, hinge_kernel_rbf(0.3), 1);
    params.nu = 0.4;
    check_calibration(&blobs, params, NULL);
    params = params_for(HINGE_ONE_CLASS, hinge_kernel_rbf(0.3), 1);
    params.nu = 0.2;
    check_calibration(&blobs, params, NULL);
    check_calibration(&line, params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3), 1), NULL);
}

/* From hinge_train's solution to one that is near: the same model by 1 to 4 ranks, of the optimum, in few steps. From
 * what is in no box, the optimum. */
static void check_start(const struct set *set, hinge_params params, const double *weights)
{
    struct training cold = training_of(set, params), warm;
    cold.weights = weights;
    run_ranks(1, train_rank, &cold);
    params.weights = weights;
    params.solver = HINGE_SOLVER_SMO;
    params.eps /= 2;
    hinge_model *model = fit(set, &params, NULL);
    double *beta = fit_beta(model, set->n);
    warm = cold;
    warm.beta0 = beta;
    warm.problems = hinge_model_n_problems(model);
    for (int ranks = 1; ranks <= 4; ranks++) {
        struct training other = warm;
        run_ranks(ranks, train_rank, &other);
        assert_string_equal(other.err.text, "");
        assert_int_equal(other.report.outcome, HINGE_CONVERGED);
        assert_close(other.report.objective, cold.report.objective, 1e-3);
        assert_true(other.report.iterations * 20 <= cold.report.iterations);
        if (ranks == 1)
            warm.model = other.model;
        else
            assert_same_model(warm.model, other.model);
    }
    for (size_t i = 0; i < warm.problems * set->n; i++)
        beta[i] = i % 50 == 0 ? NAN : i % 3 == 0 ? 1e3 : -5;
    run_ranks(3, train_rank, &warm);
    assert_int_equal(warm.report.outcome, HINGE_CONVERGED);
    assert_close(warm.report.objective, cold.report.objective, 1e-3);
}

TEST(test_start)
{
    const double labels[] = { 4, -1, 2 };
    struct set blobs = set_blobs(2, 1500, 4, 3, labels, 2), line = set_regression(3, 1400, 4);
    double weights[1500];
    for (size_t i = 0; i < blobs.n; i++)
        weights[i] = i % 7 == 0 ? 0 : 0.5 + (double)(i % 5);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.3), 2);
    check_start(&blobs, params, NULL);
    params.multiclass = HINGE_ONE_VS_REST;
    check_start(&blobs, params, weights);
    params = params_for(HINGE_NU_SVC, hinge_kernel_rbf(0.3), 1);
    params.nu = 0.4;
    params.eps = 1e-4;
    check_start(&blobs, params, NULL);
    params = params_for(HINGE_ONE_CLASS, hinge_kernel_rbf(0.3), 1);
    params.nu = 0.2;
    check_start(&blobs, params, NULL);
    check_start(&line, params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3), 1), NULL);
    params = params_for(HINGE_NU_SVR, hinge_kernel_rbf(0.3), 1);
    params.nu = 0.3;
    check_start(&line, params, NULL);
    params.nu = 1; /* of tube 0: points have coefficients on both sides */
    params.C = 100;
    check_start(&line, params, NULL);
    struct training t = training_of(&line, params);
    t.beta0 = calloc(line.n, sizeof *t.beta0);
    t.problems = 1;
    t.lacks_beta0 = 1;
    check_failure(&t, 3, HINGE_EINVAL, "beta0: NULL on a rank that has rows");
    free((void *)t.beta0);
}

/* ---- traffic ----------------------------------------------------------------------------------------------------- */

/* A round sums once and gathers once, or twice where ranks are so many that each has few winners: a count a rank, and
 * what does not depend on how many there are. A look at the error of the gradient gathers twice.
 * Before the rounds each rank tells its rows, its labels and its points of either class. */
TEST(test_many_ranks)
{
    enum { Q = 64 }; /* which each rank solves */
    struct set set = set_two_class(4, 3000, 4, 0.7);
    struct training one = training_of(&set, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.5), 1));
    one.params.working_set = Q;
    struct traffic alone = run_ranks(1, train_rank, &one);
    for (int ranks = 64; ranks <= (in_full() ? 1024 : 64); ranks *= 16) {
        struct training many = one;
        size_t telling = 0, labels = 0;
        for (int r = 0; r < ranks; r++) {
            size_t rows = share(set.n, r + 1, ranks) - share(set.n, r, ranks), kinds = 0;
            for (size_t i = 1; i < rows && kinds == 0; i++)
                kinds = set.y[share(set.n, r, ranks)] != set.y[share(set.n, r, ranks) + i];
            labels += rows > 0 ? 1 + kinds : 0;
        }
        struct traffic traffic = run_ranks(ranks, train_rank, &many);
        assert_same_model(one.model, many.model);
        telling = 16 * (labels - 2) + (size_t)(ranks - 1) * (8 + 8 + 16);
        size_t looks = (alone.gathers - 4 - many.report.rounds) / 2;
        assert_in_range(looks, 1, 4);
        assert_int_equal(traffic.gathered - alone.gathered,
                         telling + (size_t)(ranks - 1) * (8 * many.report.rounds + 8 * looks));
        assert_int_equal(alone.gathers, 4 + many.report.rounds + 2 * looks);
        assert_int_equal(traffic.gathers, 4 + 2 * (many.report.rounds + looks));
        assert_int_equal(traffic.sums, alone.sums);
        assert_true(traffic.sums < 60 + 200 * looks + many.report.rounds);
        const struct hm_exchange *part = many.traffic.part, *rounds = &part[HM_SOLVING];
        assert_int_equal(part[HM_DEAL].sums + rounds->sums + part[HM_REST].sums + 1, traffic.sums);
        assert_true(rounds->sums >= many.report.rounds && rounds->most <= rounds->bytes);
        assert_int_equal(many.report.kernel_values, many.traffic.values);
        assert_true(many.traffic.values > one.traffic.values); /* each makes K_WW */
        assert_true(many.traffic.most_values < one.traffic.values);
    }
    assert_true(one.traffic.most_values == one.traffic.values && one.traffic.part[HM_SOLVING].bytes == 0);
    /* fresh points: at most q a round, 104 bytes and their features; g of those that stay; points measured */
    size_t vector = 104 + 4 * 4, looks = (alone.gathers - 4 - one.report.rounds) / 2;
    assert_true(alone.gathered <= 80 + one.report.rounds * (8 + Q * 8 + (Q / 2 + Q / 4) * vector) + Q * vector +
                                      looks * (8 + 640 * (16 + 4 * 8)));
}

/* A line of --rounds: what it says was gathered is what went over the table. */
struct round {
    size_t ranks, fresh, moved, computed, gathered;
};

static size_t read_rounds(const char *path, struct round *round, size_t room)
{
    char line[1024];
    size_t n = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_non_null(strstr(line, " q ranks threads round fresh moved computed steps gathered select "));
    for (; n < room && fgets(line, sizeof line, file) != NULL; n++)
        assert_int_equal(sscanf(line, "%*s %*s %*s %*s %*s %zu %*s %*s %zu %zu %zu %*s %zu", &round[n].ranks,
                                &round[n].fresh, &round[n].moved, &round[n].computed, &round[n].gathered),
                         5);
    fclose(file);
    return n;
}

/* Of few ranks each sends as many winners as it may need: nearly all rounds gather once, and what they bring is as told
 * by --rounds, at most twice what one rank has to tell. */
TEST(test_two_collectives)
{
    enum { ROOM = 1000 };
    struct set set = set_two_class(6, 6000, 4, 0.7);
    struct round round[ROOM];
    const char *path = path_of("rounds");
    struct training one = training_of(&set, params_for(HINGE_C_SVC, hinge_kernel_rbf(0.5), 1));
    one.params.working_set = 512;
    one.options.rounds = path;
    size_t whole = 0;
    for (int ranks = 1; ranks <= 4; ranks++) {
        struct training t = one;
        struct traffic traffic = run_ranks(ranks, train_rank, &t);
        size_t n = read_rounds(path, round, ROOM), told = 0;
        assert_int_equal(n, t.report.rounds);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(round[k].ranks, ranks);
            assert_true(round[k].fresh <= 512 && round[k].moved <= 512 && round[k].computed <= round[k].moved);
            told += round[k].gathered;
        }
        assert_in_range(traffic.gathered - told, 1, 5000 + 640 * 8 * 6 * 4);
        assert_in_range(traffic.gathers, n + 4, n + n / 10 + 4 + 2 * 4);
        whole = ranks == 1 ? told : whole;
        assert_true(told <= 2 * whole + n * 8 * (size_t)ranks);
    }
    one.options.rounds = path_of("none/rounds");
    check_failure(&one, 2, HINGE_EIO, "none/rounds: cannot write");
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static int stop_at(void *arg, const hinge_progress *p)
{
    return p->rounds >= *(const size_t *)arg;
}

TEST(test_checkpoint)
{
    struct set set = set_two_class(6, 2600, 5, 2);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.2), 10);
    params.working_set = 60;
    const char *name = NULL;
    size_t rounds = 300;
    struct training whole = training_of(&set, params), begun = whole, rest = whole;
    run_ranks(2, train_rank, &whole);
    begun.options.checkpoint = rest.options.checkpoint = folder();
    begun.params.progress = stop_at;
    begun.params.progress_arg = &rounds;
    run_ranks(3, train_rank, &begun);
    assert_int_equal(begun.report.outcome, HINGE_STOPPED);
    assert_int_equal(count_files("problem-0.1.part-", &name), 3);
    run_ranks(2, train_rank, &rest);
    assert_int_equal(rest.report.outcome, HINGE_CONVERGED);
    assert_true(rest.report.rounds < whole.report.rounds);
    assert_close(rest.report.objective, whole.report.objective, 1e-5);

    rest.params.kernel.gamma = 0.3; /* another training's */
    check_failure(&rest, 2, HINGE_EINVAL, "other data or parameters");
    rest.params.kernel.gamma = 0.2;
    for (int cut = 0; cut < 2; cut++) {
        empty_folder();
        run_ranks(3, train_rank, &begun);
        assert_true(count_files("problem-0.1.part-1", &name) == 1);
        spoil(name, cut);
        check_failure(&rest, 2, HINGE_EFORMAT, "part-1");
    }
    write_file(path_of("problem-0.manifest"), "hinge-mpi 1\nidentity 12", 23);
    check_failure(&rest, 2, HINGE_EFORMAT, "manifest");
    empty_folder();
}

/* ---- failures and prediction ------------------------------------------------------------------------------------- */

TEST(test_one_rank_fails)
{
    struct set set = set_two_class(7, 300, 3, 1);
    struct training t = training_of(&set, params_for(HINGE_C_SVC, hinge_kernel_rbf(1), 1));
    t.bad_rank = 2;
    check_failure(&t, 4, HINGE_EINVAL, "not a finite number");
    t.bad_rank = -1;
    t.params.C = -1;
    check_failure(&t, 4, HINGE_EINVAL, "C:");
    t.params.C = 1;
    t.params.kernel = hinge_kernel_precomputed();
    check_failure(&t, 3, HINGE_EINVAL, "precomputed");
}

struct prediction {
    const struct set *set;
    const hinge_model *model;
    const double *truth;
};

static void predict_rank(const struct hm_net *net, void *arg)
{
    const struct prediction *p = arg;
    size_t first = share(p->set->n, net->rank, net->ranks), end = share(p->set->n, net->rank + 1, net->ranks);
    struct set mine = { end - first, p->set->d, p->set->x + first * p->set->d, p->set->y + first };
    hinge_matrix x = set_matrix(&mine);
    double *labels = get((mine.n + 1), sizeof *labels);
    hinge_predict_options options = { .threads = 1 };
    hinge_error err;
    assert_int_equal(hm_predict(net, net->rank == 0 ? p->model : NULL, &x, &options, false, labels, NULL, &err),
                     HINGE_OK);
    assert_memory_equal(labels, p->truth + first, mine.n * sizeof *labels);
}

TEST(test_prediction)
{
    struct set set = set_two_class(8, 400, 3, 1);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(1), 1);
    hinge_model *model = fit(&set, &params, NULL);
    double *truth = fit_labels(model, &set);
    struct prediction p = { &set, model, truth };
    run_ranks(3, predict_rank, &p);
}
