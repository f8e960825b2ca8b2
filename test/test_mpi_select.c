/* Grids and cross-validation over ranks, which are threads here: the points, scores and model of hinge_select, whoever
 * tried them; the folds of hinge_cross_validate, and what it predicts. */
#include "mpi/mpi_train.h"
#include "test/ranks.h"
#include "test/support.h"

struct grid {
    struct set set;
    hinge_params params;
    hinge_select_options options;
    hinge_selection *selection; /* rank 0's */
    hinge_error err;
    int bad_rank;     /* -1: none; its eps is negative */
    int stopped_rank; /* -1: none */
};

static int stop_now(void *arg, const hinge_progress *progress)
{
    return 1;
}

/* What a rank was told: rank 0 alone has a selection. */
static void keep(struct grid *g, const struct hm_net *net, hinge_status status, hinge_selection *selection,
                 const hinge_error *err)
{
    assert_int_equal(status, err->status);
    if (net->rank == 0) {
        g->selection = selection;
        g->err = *err;
    } else {
        assert_null(selection);
    }
}

static void select_rank(const struct hm_net *net, void *arg)
{
    struct grid *g = arg;
    hinge_matrix x = set_matrix(&g->set);
    hinge_params params = g->params;
    hinge_selection *selection;
    hinge_error err;
    if (net->rank == g->bad_rank)
        params.eps = -1;
    if (net->rank == g->stopped_rank)
        params.progress = stop_now;
    hinge_status status = hm_select(net, &selection, &x, g->set.y, &params, &g->options, &err);
    keep(g, net, status, selection, &err);
    if (net->rank != 0)
        assert_string_equal(err.text, g->bad_rank >= 0 ? "eps: -1 is not a finite number > 0" : "");
}

static const double some_C[] = { 0.5, 4, 32 }, some_gamma[] = { 0.02, 0.1, 0.5, 2 };

static struct grid grid_of(size_t n)
{
    struct grid g = { .set = set_two_class(3, n, 4, 0.5), .bad_rank = -1, .stopped_rank = -1 };
    g.params = params_for(HINGE_C_SVC, hinge_kernel_rbf(1), 1);
    g.params.threads = 1;
    g.options = (hinge_select_options){ .C = { some_C, 3 }, .gamma = { some_gamma, 4 }, .folds = 3 };
    return g;
}

static hinge_selection *alone(const struct grid *g)
{
    hinge_selection *selection;
    hinge_matrix x = set_matrix(&g->set);
    assert_int_equal(hinge_select(&selection, &x, g->set.y, &g->params, &g->options, NULL), HINGE_OK);
    return selection;
}

static void assert_same_best(const hinge_selection *a, const hinge_selection *b)
{
    assert_non_null(a->best);
    assert_true(a->best->C == b->best->C && a->best->gamma == b->best->gamma);
    assert_true(a->params.C == b->params.C && a->params.kernel.gamma == b->params.kernel.gamma);
    assert_int_equal(hinge_model_n_sv(a->model), hinge_model_n_sv(b->model));
    assert_memory_equal(hinge_model_sv_index(a->model), hinge_model_sv_index(b->model),
                        hinge_model_n_sv(a->model) * sizeof(size_t));
}

/* One rank or two for each kernel at most: all scores, bit for bit. */
TEST(test_same_points)
{
    struct grid g = grid_of(200);
    hinge_selection *truth = alone(&g);
    for (int ranks = 1; ranks <= 4; ranks++) {
        run_ranks(ranks, select_rank, &g);
        assert_string_equal(g.err.text, "");
        assert_int_equal(g.selection->n_points, truth->n_points);
        for (size_t k = 0; k < truth->n_points; k++) {
            const hinge_grid_point *a = &truth->points[k], *b = &g.selection->points[k];
            assert_true(a->C == b->C && a->gamma == b->gamma);
            assert_int_equal(b->state, HINGE_POINT_DONE);
            assert_memory_equal(a->score, b->score, sizeof a->score);
            assert_memory_equal(a->mean, b->mean, sizeof a->mean);
            assert_memory_equal(a->fold_score, b->fold_score, truth->n_folds * HINGE_N_SCORES * sizeof(double));
            assert_int_equal(a->iterations, b->iterations);
        }
        assert_same_best(truth, g.selection);
        assert_int_equal(g.selection->trainings, truth->trainings);
        assert_int_equal(g.selection->kernel_values, truth->kernel_values);
        assert_int_equal(g.selection->outcome, HINGE_CONVERGED);
        hinge_selection_free(g.selection);
    }
    hinge_selection_free(truth);
}

/* More ranks than kernels, and than points; points that are dropped, known, or cannot be trained. */
TEST(test_other_points)
{
    struct grid g = grid_of(150);
    const double nus[] = { 0.3, 2, 0.5 };
    g.options.eps = 1e-4; /* scores do not depend on where trainings start */
    hinge_selection *truth = alone(&g);
    for (int ranks = 5; ranks <= 17; ranks += 6) {
        run_ranks(ranks, select_rank, &g);
        for (size_t k = 0; k < truth->n_points; k++)
            assert_true(g.selection->points[k].score[HINGE_SCORE_ACCURACY] ==
                        truth->points[k].score[HINGE_SCORE_ACCURACY]);
        assert_same_best(truth, g.selection);
        hinge_selection_free(g.selection);
    }
    g.options.drop = HINGE_DROP_EXACT;
    run_ranks(3, select_rank, &g);
    assert_same_best(truth, g.selection);
    hinge_selection_free(g.selection);
    g.options.known = truth->points;
    g.options.n_known = 5;
    run_ranks(3, select_rank, &g);
    assert_same_best(truth, g.selection);
    for (size_t k = 0; k < 5; k++)
        assert_int_equal(g.selection->points[k].state, HINGE_POINT_KNOWN);
    assert_in_range(g.selection->trainings, 1, 7 * 3);
    hinge_selection_free(g.selection);
    hinge_selection_free(truth);
    g.options = (hinge_select_options){ .nu = { nus, 3 }, .gamma = { some_gamma, 2 }, .folds = 3, .no_refit = 1 };
    g.params.task = HINGE_NU_SVC;
    run_ranks(2, select_rank, &g);
    for (size_t k = 0; k < g.selection->n_points; k++)
        assert_int_equal(g.selection->points[k].state,
                         g.selection->points[k].nu > 1 ? HINGE_POINT_FAILED : HINGE_POINT_DONE);
    assert_null(g.selection->model);
    hinge_selection_free(g.selection);
}

/* ---- rows that are dealt ----------------------------------------------------------------------------------------- */

/* Each rank gives every so many-th row; those of all are numbered one rank's after the other's. */
static void select_dealt(const struct hm_net *net, void *arg)
{
    struct grid *g = arg;
    const struct hm_options own = { .tile = 512 };
    hinge_selection *selection;
    size_t first = g->set.n * (size_t)net->rank / (size_t)net->ranks;
    size_t end = g->set.n * (size_t)(net->rank + 1) / (size_t)net->ranks;
    hinge_matrix x = set_matrix(&g->set);
    hinge_params params = g->params;
    hinge_error err;
    x.data = g->set.x + first * g->set.d;
    x.rows = end - first;
    params.weights = params.weights != NULL ? params.weights + first : NULL;
    if (net->rank == g->stopped_rank)
        params.progress = stop_now;
    hinge_status status = hm_select_dealt(net, &selection, &x, g->set.y + first, &params, &g->options, &own, &err);
    keep(g, net, status, selection, &err);
}

/* Scores are those of hinge_select but for rows whose decision values eps can turn, by any number of ranks the same,
 * and the best point's model is as good as its. */
static void check_dealt(struct grid *g, hinge_score score, double off)
{
    hinge_selection *first = NULL, *truth = alone(g);
    for (int ranks = 1; ranks <= 3; ranks++) {
        run_ranks(ranks, select_dealt, g);
        assert_string_equal(g->err.text, "");
        hinge_selection *found = selection_given_back(g->selection);
        assert_int_equal(found->n_points, truth->n_points);
        assert_int_equal(found->outcome, HINGE_CONVERGED);
        for (size_t k = 0; k < truth->n_points; k++) {
            const hinge_grid_point *a = &truth->points[k], *b = &found->points[k];
            assert_true(a->C == b->C && a->gamma == b->gamma && a->nu == b->nu && a->p == b->p);
            assert_int_equal(a->state, b->state);
            for (size_t f = 0; f < truth->n_folds && a->state == HINGE_POINT_DONE; f++)
                assert_near(b->fold_score[f * HINGE_N_SCORES + score], a->fold_score[f * HINGE_N_SCORES + score], off);
            if (first != NULL && a->state == HINGE_POINT_DONE)
                assert_memory_equal(b->score, first->points[k].score, sizeof b->score);
        }
        assert_near(found->best->score[score], truth->best->score[score], off);
        assert_non_null(found->model);
        assert_int_equal(found->report.outcome, HINGE_CONVERGED);
        first = found;
    }
    selection_given_back(truth);
}

TEST(test_dealt_points)
{
    struct grid g = grid_of(300);
    double weights[300];
    g.params.eps = g.options.eps = 1e-5;
    check_dealt(&g, HINGE_SCORE_ACCURACY, 1e-12);
    check_dealt(&g, HINGE_SCORE_AUC, 1e-3);
    for (size_t i = 0; i < g.set.n; i++)
        weights[i] = (double)(i % 3);
    weights[0] = weights[1] = weights[2] = 1;
    g.params.weights = weights;
    g.options.repeats = 2;
    check_dealt(&g, HINGE_SCORE_ACCURACY, 1e-12);
    struct grid three = grid_of(200);
    three.set = set_blobs(7, 240, 5, 3, NULL, 0.8);
    three.params.eps = three.options.eps = 1e-5;
    check_dealt(&three, HINGE_SCORE_ACCURACY, 1e-12);
    struct grid real = grid_of(200);
    real.set = set_regression(5, 200, 3);
    real.params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(1), 1);
    real.params.eps = real.options.eps = 1e-6;
    real.options.drop = HINGE_DROP_EXACT;
    check_dealt(&real, HINGE_SCORE_MSE, 1e-4);
}

/* What cannot be is refused on all ranks; a rank that is stopped ends all, and points that are done stay. */
TEST(test_dealt_ends)
{
    struct grid g = grid_of(100);
    g.options.decisions = 1;
    run_ranks(3, select_dealt, &g);
    assert_int_equal(g.err.status, HINGE_EINVAL);
    assert_says(g.err.text, "dealt to ranks have none");
    g.options.decisions = 0;
    g.set.y[0] = 7; /* the one row of a class */
    run_ranks(2, select_dealt, &g);
    assert_int_equal(g.err.status, HINGE_EINVAL);
    assert_says(g.err.text, "holds out all rows of class 7");
    struct grid large = grid_of(800);
    large.options.no_refit = 1;
    large.stopped_rank = 1;
    run_ranks(2, select_dealt, &large);
    assert_int_equal(large.selection->outcome, HINGE_STOPPED);
    assert_null(large.selection->best);
    hinge_selection_free(large.selection);
}

/* A rank that is stopped leaves its points; one that fails ends all. */
TEST(test_ends)
{
    struct grid g = grid_of(800);
    g.options.no_refit = 1;
    g.stopped_rank = 1;
    run_ranks(4, select_rank, &g);
    assert_int_equal(g.selection->outcome, HINGE_STOPPED);
    for (size_t k = 0; k < g.selection->n_points; k++)
        assert_true(g.selection->points[k].gamma == some_gamma[1] || g.selection->points[k].state == HINGE_POINT_DONE);
    assert_non_null(g.selection->best);
    hinge_selection_free(g.selection);
    g.stopped_rank = -1;
    g.bad_rank = 2;
    run_ranks(3, select_rank, &g);
    assert_null(g.selection);
    assert_string_equal(g.err.text, "eps: -1 is not a finite number > 0");
    g.bad_rank = -1;
    g.options.decisions = 1;
    run_ranks(1, select_rank, &g);
    assert_int_equal(g.err.status, HINGE_EINVAL);
}

/* ---- cross-validation -------------------------------------------------------------------------------------------- */

struct folds {
    struct set set;
    double *weights;
    hinge_params params;
    size_t folds, stop_after; /* folds; SIZE_MAX: to the end */
    double *predictions;      /* of all ranks */
    hinge_report report;
    hinge_error err;
};

static int stop_behind(void *arg, const hinge_progress *progress)
{
    return progress->problem >= *(const size_t *)arg;
}

static void validate_rank(const struct hm_net *net, void *arg)
{
    struct folds *f = arg;
    size_t n = f->set.n, first = n * (size_t)net->rank / (size_t)net->ranks;
    struct set mine = { n * ((size_t)net->rank + 1) / (size_t)net->ranks - first, f->set.d, f->set.x + first * f->set.d,
                        f->set.y + first };
    hinge_matrix x = set_matrix(&mine);
    hinge_params params = f->params;
    const struct hm_options options = { .tile = 512 };
    hinge_report report;
    hinge_error err;
    params.weights = f->weights != NULL ? f->weights + first : NULL;
    if (f->stop_after != SIZE_MAX && net->rank == net->ranks - 1) {
        params.progress = stop_behind;
        params.progress_arg = &f->stop_after;
    }
    hinge_status status =
        hm_cross_validate(net, &x, mine.y, &params, f->folds, &options, f->predictions + first, &report, &err);
    assert_int_equal(status, err.status);
    if (net->rank > 0) {
        assert_string_equal(err.text, f->err.text);
        return;
    }
    f->err = err;
    f->report = report;
}

/* What is wrong is told in the same words; what is not, predicts the same but for labels where eps decides. */
static void check_folds(struct folds *f, double tolerance)
{
    size_t n = f->set.n;
    hinge_matrix x = set_matrix(&f->set);
    hinge_params params = f->params;
    hinge_report report;
    hinge_error err;
    double *truth = get(2 * n, sizeof *truth);
    f->predictions = truth + n;
    f->stop_after = SIZE_MAX;
    params.weights = f->weights;
    params.solver = HINGE_SOLVER_SMO;
    hinge_status status = hinge_cross_validate(&x, f->set.y, &params, f->folds, truth, &report, &err);
    for (int ranks = 1; ranks <= 4; ranks++) {
        run_ranks(ranks, validate_rank, f);
        assert_string_equal(f->err.text, err.text);
        if (status != HINGE_OK)
            continue;
        if (tolerance == 0)
            assert_true(share_equal(f->predictions, truth, n) >= 0.995);
        else
            assert_true(largest_difference(f->predictions, truth, n) <= tolerance);
        assert_int_equal(f->report.outcome, HINGE_CONVERGED);
        assert_int_equal(f->report.n, report.n);
        assert_int_equal(f->report.n_problems, report.n_problems);
        assert_close(f->report.objective, report.objective, 1e-4);
        assert_non_null(strstr(f->report.path, " folds in turn"));
    }
}

TEST(test_folds)
{
    const double labels[] = { 4, -1, 2 };
    const hinge_scaling unit = { .lower = 0, .upper = 1 };
    struct folds f = { .set = set_blobs(11, 700, 4, 3, labels, 1.5), .folds = 5 };
    f.params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.3), 2);
    f.params.threads = 1;
    f.params.eps = 1e-6;
    check_folds(&f, 0);
    f.params.seed = 7;
    f.params.scaling = &unit;
    f.params.kernel.gamma = 3;
    check_folds(&f, 0);
    double *weights = get(f.set.n, sizeof *weights);
    for (size_t i = 0; i < f.set.n; i++)
        weights[i] = i % 6 == 0 ? 0 : 0.5 + (double)(i % 5);
    f.weights = weights;
    f.params.multiclass = HINGE_ONE_VS_REST;
    f.params.positive_class = &labels[2];
    check_folds(&f, 0);
    f.params = params_for(HINGE_NU_SVC, hinge_kernel_rbf(0.3), 1);
    f.params.nu = 0.3;
    f.params.threads = 1;
    f.params.eps = 1e-6;
    check_folds(&f, 0);
    f.params.nu = 0.99;
    check_folds(&f, 0); /* refused */
    assert_int_equal(f.err.status, HINGE_EINVAL);
    f.weights = NULL;
    for (size_t i = 0; i < f.set.n; i++) /* 99 of 4, 601 of -1 */
        f.set.y[i] = i % 7 == 0 && i != 7 ? 4 : -1;
    f.params.nu = 2 * 99 / 700.0; /* the most that all rows allow; a fold has 20 of the 99, and the others allow less */
    check_folds(&f, 0);
    assert_int_equal(f.err.status, HINGE_OK);
    f.set.y[100] = 9; /* a class of one row, which its fold's training does not see */
    f.params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.3), 2);
    f.params.eps = 1e-6;
    f.params.threads = 1;
    f.params.positive_class = &labels[1];
    check_folds(&f, 0);
    f.folds = 701;
    check_folds(&f, 0); /* refused */
    assert_string_equal(f.err.text, "folds: 701 is not in 2 .. 700 rows");
    f = (struct folds){ .set = set_regression(12, 600, 4), .folds = 4, .weights = weights };
    f.params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3), 1);
    f.params.eps = 1e-6;
    f.params.threads = 1;
    check_folds(&f, 1e-4);
    f.params.task = HINGE_ONE_CLASS;
    f.params.nu = 0.2;
    check_folds(&f, 0);
}

/* A callback that ends it leaves the folds that are not done without predictions. */
TEST(test_stopped_folds)
{
    enum { N = 600 };
    double predictions[N];
    size_t missing = 0;
    struct folds f = { .set = set_two_class(13, N, 4, 1), .folds = 4, .stop_after = 2, .predictions = predictions };
    f.params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.3), 2);
    f.params.threads = 1;
    f.params.working_set = 16;
    run_ranks(3, validate_rank, &f);
    assert_int_equal(f.report.outcome, HINGE_STOPPED);
    for (size_t i = 0; i < N; i++)
        missing += isnan(predictions[i]);
    assert_int_equal(missing, N / 2);
}
