/*
 * Training: data and parameters become two-class problems (problem.c), each is solved over its distinct rows
 * (distinct.c, solve.c), and what comes out is packed into a model (pack.c). This file makes what all problems share,
 * and chooses the solver and the way in which problems run. Its caller is the entry, hinge_train (lib/folds/entry.c).
 * Read training.h before, and solve.c after.
 */
#include "lib/train/training.h"
#include "lib/base/team.h"
#include "lib/train/lowrank.h"
#include "lib/data/params.h"

#include <math.h>
#include <string.h>

/* ---- the points -------------------------------------------------------------------------------------------------- */

enum { TINY = 64 }; /* examples whose rows take no longer in f64 than the proof of what f32 made of them */

bool hg_wants_f32(const struct hg_training *t)
{
    bool wanted = t->params->precision == HINGE_PRECISION_F32 ||
                  (t->params->precision == HINGE_PRECISION_AUTO && t->problem.x.rows > TINY && !t->whole_in_f64);
    return wanted && t->problem.data.kernel.type != HINGE_USER && !t->interior && !t->beyond_f32;
}

/* Chooses whether the matrices of problems are made whole, and in which type. That of many targets is one, made once,
 * and so in f64, whose values need no proof. */
static void choose_whole(struct hg_training *t)
{
    size_t n = hg_problem_largest(&t->distinct.problem);
    t->is_whole = !t->interior && t->params->working_set == 0 && hg_training_peers(t) == NULL &&
                  hg_copy_goes_whole(&t->distinct.problem.data, n, t->cache_bytes);
    t->whole_in_f64 = t->is_whole && (t->problem.targets != NULL || hg_whole_pays_in_f64(n));
}

/* Features of two values each come first, as their values are not dear. */
static hinge_status make_copy(struct hg_training *t, hinge_error *err)
{
    t->beyond_f32 = hg_kernel_beyond_f32(&t->problem.data.kernel, t->problem.data.norm);
    HG_TRY(hg_copy_init(&t->copy, &t->distinct.problem.data, !t->interior, hg_wants_f32(t), err));
    choose_whole(t);
    if (hg_wants_f32(t))
        HG_TRY(hg_copy_round(&t->copy, &t->distinct.problem.data, err));
    hinge_dtype type = hg_wants_f32(t) ? HINGE_F32 : HINGE_F64;
    return t->interior ? HINGE_OK : hg_copy_check(&t->copy, &t->distinct.problem.data, type, err);
}

/* Makes cells, where values between some of them are negligible: kernels/cells.h says what they buy. Pairs are far from
 * squared distance d2 on, where (sum of all boxes) K <= eps / 10,000: what is left out then changes no
 * gradient by more than that, whatever the coefficients. Counts cost less than what cells would spare, and go
 * without. */
static hinge_status make_cells(struct hg_training *t, hinge_error *err)
{
    const hinge_params *p = t->params;
    double box = 0;
    for (size_t i = 0; i < t->problem.data.n; i++)
        box += t->problem.weight[i] * HG_MAX(p->C, 1.0);
    double reach = hg_kernel_reach(&p->kernel, p->eps / (1e4 * box));
    if (isinf(reach) || t->interior || t->copy.hamming.features > 0 || t->problem.targets != NULL)
        return HINGE_OK;
    hinge_status status = hg_cells_init(&t->cells, &t->copy.points, reach, t->threads, err);
    if (status == HINGE_OK && t->cells.count > 0)
        t->distinct.problem.data.points.cells = t->copy.points.cells = &t->cells;
    return status;
}

/* ---- all problems ------------------------------------------------------------------------------------------------ */

/* Counts (n + 64)^2 doubles for SMO, whether they are rows or Newton's K_AA; the interior point's systems are some 40
 * of (d + 64)^2. An overflow is more than any budget: SIZE_MAX. */
size_t hg_problem_bytes(const struct hg_training *t, size_t n)
{
    size_t side = (t->interior ? t->problem.data.d : n) + 64, bytes;
    return hg_mul(side, side * (t->interior ? 40 : 1) * sizeof(double), &bytes) ? bytes : SIZE_MAX;
}

static size_t most_bytes(const struct hg_training *t)
{
    return t->problem.n_problems > 0 ? hg_problem_bytes(t, hg_problem_largest(&t->distinct.problem)) : 0;
}

/* Problems run side by side, one thread each, where `threads` of the largest fit the cache budget whole: then no row is
 * evicted, Newton's steps have room as they have in turn, and the results are the same. One thread, or a budget that is
 * too small (params.cache_bytes), switches it off. Many targets whose rows are there need none. */
bool hg_side_by_side(const struct hg_training *t)
{
    size_t all;
    return t->threads > 1 && t->problem.n_problems > 1 &&
           (t->shared.k != NULL || (hg_mul(most_bytes(t), (size_t)t->threads, &all) && all <= t->cache_bytes));
}

/* Returns the budget for rows where the caller gives none: what the largest problem needs, but at least an eighth and
 * at most half of the machine's memory. Problems of 512 KB and less get 64 MB without asking the system for its memory,
 * which takes longer than they do. */
static size_t default_cache(const struct hg_training *t)
{
    const size_t small = (size_t)1 << 19;
    size_t need = most_bytes(t);
    if (need <= small)
        return 128 * small; /* several problems side by side, as below */
    size_t half = t->peers != NULL ? t->peers->memory : hg_total_memory() / 2;
    return HG_MIN(HG_MAX(need, half / 4), half);
}

/* Chooses the solver: the one asked for; else the interior point where it alone serves (hard margin, a rank), or where
 * counted work says that it pays (linear kernels of few features) and nothing asks for what SMO alone has. A start is
 * such a thing: the interior point needs none and has no use for it. */
static bool uses_interior(const struct hg_problem *pr)
{
    const hinge_params *p = &pr->params;
    if (p->solver != HINGE_SOLVER_AUTO)
        return p->solver == HINGE_SOLVER_INTERIOR_POINT;
    return hg_params_need_interior(p) || (hg_params_leave_solver(p) && p->beta0 == NULL && hg_lowrank_pays(pr));
}

/* Frees a training at any stage of being made: what is not there yet is NULL. */
static void training_free(struct hg_training *t)
{
    for (size_t p = 0; t->solutions != NULL && p < t->problem.n_problems; p++)
        hg_free(t->solutions[p].point);
    for (int k = 0; t->rooms != NULL && k < t->threads; k++) {
        hg_arena_free(&t->rooms[k].rows);
        hg_arena_free(&t->rooms[k].panels);
    }
    hg_free(t->solutions); /* and with them the rooms */
    hg_whole_free(&t->shared);
    hg_gram_free(&t->shared_of);
    hg_copy_free(&t->copy);
    hg_cells_free(&t->cells);
    hg_distinct_free(&t->distinct);
    hg_problem_free(&t->problem);
    pthread_mutex_destroy(&t->lock);
}

/* Makes all that problems of a training share: classes and weights, distinct rows, the copy that kernels read, cells.
 * The order is that of need: the choice of the solver decides which copy there is, and counts decide whether there are
 * cells. */
static hinge_status training_init(struct hg_training *t, struct hg_peers *peers, const hinge_matrix *x, const double *y,
                                  const hinge_targets *targets, const hinge_params *params, hinge_error *err)
{
    *t = (struct hg_training){ .begin = hg_now(), .peers = peers };
    pthread_mutex_init(&t->lock, NULL);
    HG_TRY(hg_problem_init(&t->problem, x, y, params, &(struct hg_given){ .targets = targets }, err));
    HG_TRY(hg_distinct_init(&t->distinct, &t->problem, err));
    t->params = &t->problem.params;
    t->threads = t->problem.data.threads;
    t->interior = uses_interior(&t->distinct.problem);
    t->cache_bytes = t->params->cache_bytes > 0 ? t->params->cache_bytes : default_cache(t);
    HG_TRY(HG_MAKE(err, "two-class problems", HG_ZEROS(t->solutions, t->problem.n_problems),
                   HG_ZEROS(t->rooms, (size_t)t->threads)));
    size_t most = hg_problem_largest(&t->distinct.problem);
    for (int k = 0; k < t->threads; k++)
        t->rooms[k].rows.most_points = t->rooms[k].panels.most_points = most;
    if (most <= 2048) /* of larger ones memory is what counts */
        hg_let_heap_stay();
    HG_TRY(make_copy(t, err));
    return make_cells(t, err);
}

struct hg_peers *hg_training_peers(const struct hg_training *t)
{
    return t->problem.n_problems == 1 ? t->peers : NULL;
}

/* Makes the matrix that many targets share, by all threads. */
static hinge_status make_shared(struct hg_training *t, hinge_error *err)
{
    const struct hg_halt halt = { .stop = &t->stop,
                                  .deadline = t->params->time_limit > 0 ? t->begin + t->params->time_limit : 0 };
    const struct hg_problem *pr = &t->problem;
    if (pr->targets == NULL || !t->is_whole || hg_wants_f32(t))
        return HINGE_OK;
    HG_TRY(hg_dataset_exact(&pr->data, NULL, pr->data.n, t->threads, &t->shared_of, err));
    HG_TRY(hg_whole_init(&t->shared, &t->shared_of.super, &halt, err));
    t->begun_bytes = hg_whole_bytes(&t->shared) + t->shared_of.work_bytes;
    return HINGE_OK;
}

/* Solves all problems, from their common start where they have one. */
static hinge_status solve_all(struct hg_training *t, hinge_error *err)
{
    if (t->peers != NULL && t->problem.n_problems > 1)
        return hg_solve_dealt(t, err);
    HG_TRY(make_shared(t, err));
    HG_TRY(hg_begin_together(t, err));
    size_t blocks = hg_blocks_of_lanes(t);
    if (blocks > 0)
        return hg_each(blocks, hg_side_by_side(t), t->threads, hg_solve_lanes, t, err);
    return hg_each(t->problem.n_problems, hg_side_by_side(t), t->threads, hg_solve_problem, t, err);
}

hinge_status hg_train(struct hg_peers *peers, hinge_model **model, const hinge_matrix *x, const double *y,
                      const hinge_targets *targets, const hinge_params *params, struct hg_refold *refold,
                      hinge_report *report, hinge_error *err)
{
    struct hg_training t;
    hinge_status status = training_init(&t, peers, x, y, targets, params, err);
    t.refold = status == HINGE_OK && refold != NULL && hg_refold_may(&t) ? refold : NULL;
    if (t.refold != NULL)
        status = hg_refold_init(refold, &t.problem, err);
    if (status == HINGE_OK && refold != NULL && refold->fold != NULL && t.refold == NULL) {
        training_free(&t);
        return HINGE_OK;
    }
    HG_THEN(status, solve_all(&t, err));
    hg_end_together(&t);
    HG_THEN(status, hg_build_model(&t, t.solutions, model, err));
    if (t.refold != NULL && t.refold->solutions != NULL)
        status = hg_refold_predict(&t, status, err);
    if (status == HINGE_OK)
        hg_fill_report(&t, *model, report);
    training_free(&t);
    return status;
}
