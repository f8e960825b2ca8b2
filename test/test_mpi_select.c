/* Grids over ranks, which are threads here: the points, scores and model of hinge_select, whoever tried them. */
#include "mpi/train.h"
#include "test/ranks.h"
#include "test/support.h"

#include <math.h>
#include <string.h>

struct grid {
    struct set set;
    hinge_params params;
    hinge_select_options options;
    hinge_selection *selection; /* rank 0's */
    hinge_error err;
    int bad_rank;               /* -1: none; its eps is negative */
    int stopped_rank;           /* -1: none */
};

static int stop_now(void *arg, const hinge_progress *progress)
{
    (void)arg, (void)progress;
    return 1;
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
    assert_int_equal(status, err.status);
    if (net->rank == 0) {
        g->selection = selection;
        g->err = err;
    } else {
        assert_null(selection);
        assert_string_equal(err.text, g->bad_rank >= 0 ? "eps: -1 is not a finite number > 0" : "");
    }
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
static void test_same_points(void **state)
{
    (void)state;
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
    set_free(&g.set);
}

/* More ranks than kernels, and than points; points that are dropped, known, or cannot be trained. */
static void test_other_points(void **state)
{
    (void)state;
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
    set_free(&g.set);
}

/* A rank that is stopped leaves its points; one that fails ends all. */
static void test_ends(void **state)
{
    (void)state;
    struct grid g = grid_of(800);
    g.options.no_refit = 1;
    g.stopped_rank = 1;
    run_ranks(4, select_rank, &g);
    assert_int_equal(g.selection->outcome, HINGE_STOPPED);
    for (size_t k = 0; k < g.selection->n_points; k++)
        assert_true(g.selection->points[k].gamma == some_gamma[1] ||
                    g.selection->points[k].state == HINGE_POINT_DONE);
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
    set_free(&g.set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_points),
        cmocka_unit_test(test_other_points),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
