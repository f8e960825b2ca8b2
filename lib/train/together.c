/*
 * Problems of one-versus-rest, and those of many targets, begin on one Gram: all of them have the same points, and a
 * kernel row that one needs serves the others (solver/smo/many.h). What they come to side by side is where each
 * problem's own run begins (solve.c), which proves it, or goes on by rows of its own. Read training.h first.
 *
 * Where values are dear, one-versus-rest takes half to two thirds of the processor time (doc/tried.md). Where they cost
 * less, or all rows are more than memory is cheap for (MOST_BYTES), each problem makes rows of its own. It does so too
 * where the caller asks for anything that many.h cannot do (may_begin): eps below 1e-4, rows in f64, a limit of steps
 * or a working set of the caller's own switch sharing off. report.path has ", rows shared" where it was on.
 */
#include "lib/train/lowrank.h"
#include "lib/base/teller.h"
#include "lib/data/params.h"
#include "lib/train/training.h"

#include <math.h>
#include <string.h>

/* A value's cost in reads from memory, from which on fewer values are worth the threads' waiting for each other: below
 * it two threads take 1.2 to 1.9 times as long on a busy machine (doc/tried.md). */
static const double DEAR = 10;
/* Bytes of all rows, beyond which finding memory for them may take as long as making values (doc/tried.md). */
static const double MOST_BYTES = 2e9;

enum {
    RANGES = 3, /* a class, those before it, those behind */
    FEW = 2000, /* points: their rows are made sooner than threads have met */
    STEPS = 8   /* a point: a problem of more is left to its own run, which knows Newton's finish */
};

/* Holds one common start. hg_begin_together owns all of it but what stays in the training: t->begun has each problem's
 * QP, gradient and report until hg_end_together. All arrays are one block, whose first is `point`. */
struct together {
    struct hg_training *t;
    size_t n, n_problems;
    uint32_t *point;        /* [n_problems * n] all points in each problem's order */
    struct hg_range *range; /* [n_problems * RANGES] the same points as ranges */
    struct hg_shared shared;
    struct hg_many many;
    struct hg_many_problem **list; /* [n_problems] those that t->begun has */
    struct hg_halt halt;
    hinge_stages stages; /* of rows that are made */
    struct hg_teller teller;
    uint64_t steps; /* of all problems, when progress was told last */
};

/* Says whether the problems may begin so: what a run of its own does beyond many.h is then not asked for. */
static bool may_begin(const struct hg_training *t)
{
    const hinge_params *p = t->params;
    const struct hg_problem *pr = &t->distinct.problem;
    bool alike = pr->targets != NULL ? !pr->task->two_sums : pr->one_vs_rest && p->task == HINGE_C_SVC;
    return alike && !hg_params_hard(p) && !hg_params_hard_tube(p) && p->beta0 == NULL && p->max_iter == 0 &&
           p->working_set == 0 && p->eps >= HG_F32_EPS && t->shared.k == NULL && t->refold == NULL && hg_wants_f32(t) &&
           pr->data.n > FEW && t->cells.count == 0 && hg_lowrank_inside(pr, pr->data.n) == 0;
}

/* Makes problem p at beta = 0, whose gradient K beta is 0 too, by the same reduction to distinct points as its own run
 * makes (hg_reduced_init): the QP stays here, the rest is freed. Points ascend but for the first class, which comes
 * first, so they are three ranges at most. */
static hinge_status begin_problem(struct together *g, size_t p, hinge_error *err)
{
    const struct hg_training *t = g->t;
    struct hg_begun *begun = &t->begun[p];
    struct hg_reduced reduced;
    uint32_t *point = g->point + p * g->n;
    struct hg_range *range = g->range + p * RANGES;
    hinge_status status = hg_reduced_init(&reduced, &t->distinct, &t->problem, p, err);
    if (status == HINGE_OK)
        memcpy(point, reduced.points, g->n * sizeof *point);
    begun->qp = reduced.qp;
    reduced.qp = (struct hg_qp){ 0 };
    hg_reduced_free(&reduced);
    HG_TRY(status);
    begun->many = (struct hg_many_problem){ .qp = &begun->qp, .point = point, .range = range };
    HG_TRY(HG_MAKE(err, "the gradient of a problem", HG_ZEROS(begun->many.g, g->n)));
    for (size_t k = 0; k < g->n; k++)
        begun->many.n_ranges = hg_add_to_ranges(range, begun->many.n_ranges, point[k]);
    g->list[p] = &begun->many;
    return HINGE_OK;
}

/* Tells the callback of the problem that has farthest to go: when there is something new, or nothing for HG_ASK_EVERY.
 * Called by the thread that called hg_many_solve, while no problem is at work, so that all reports stand still. */
static void on_question(void *arg)
{
    struct together *g = arg;
    uint64_t steps = 0;
    size_t p = 0;
    for (size_t k = 0; k < g->n_problems; k++) {
        steps += g->list[k]->report.iterations;
        p = g->list[k]->report.violation > g->list[p]->report.violation ? k : p;
    }
    if (steps == g->steps && !hg_is_due(&g->teller))
        return;
    g->steps = steps;
    const hinge_report *report = &g->list[p]->report;
    hinge_progress progress = { .problem = p,
                                .n_problems = g->n_problems,
                                .rounds = report->rounds,
                                .iterations = report->iterations,
                                .violation = report->rounds > 0 ? report->violation : INFINITY,
                                .objective = report->objective,
                                .n = g->n,
                                .n_active = g->n,
                                .n_sv = hg_qp_support(g->list[p]->qp, NULL, NULL, NULL),
                                .rows_computed = g->many.pool.rows_made };
    (void)hg_tell(&g->teller, &progress);
}

/* Notes what it took. What was made for all problems is told with the first, since reports are added up in the end.
 * begun_bytes counts rows, panels, and of each problem its QP (4 n doubles), gradient and points. */
static void tell_work(struct together *g)
{
    struct hg_training *t = g->t;
    const struct hg_pool *pool = &g->many.pool;
    hinge_report *first = &g->list[0]->report;
    for (size_t p = 0; p < g->n_problems; p++) {
        hinge_report *report = &g->list[p]->report;
        report->memory_bytes = 0; /* begun_bytes has that of all */
        report->stages.read = g->shared.rows.super.stages != NULL ? report->phase.rows : 0;
        report->stages.gbytes = g->shared.rows.super.stages != NULL ? 1e-9 * (double)report->bytes_read : 0;
    }
    hg_share_stages(&g->stages, t->threads);
    hg_add_stages(&first->stages, &g->stages);
    first->kernel_values += hg_shared_values(&g->shared);
    first->gflop += g->shared.rows.super.gflop;
    for (int k = 0; k < t->threads; k++) {
        first->gflop += g->shared.own[k].super.gflop;
        t->begun_bytes += g->shared.own[k].work_bytes;
    }
    first->rows_computed = pool->rows_made;
    first->cache_used = pool->cache.most_bytes;
    first->phase.rows += g->many.seconds;
    t->begun_bytes += g->shared.rows.work_bytes + pool->cache.most_bytes + g->many.most_bytes;
    t->begun_bytes += g->n_problems * g->n * (6 * sizeof(double) + sizeof *g->point); /* programs, gradients */
}

/* Makes all that the problems share. *wanted: values are dear enough, and there is room for all rows; with room for
 * fewer, rows that give way would be made again by each problem that needs them, and nothing would be spared
 * (doc/tried.md). Each thread has a source of its own for K_WW. */
static hinge_status share(struct together *g, bool *wanted, hinge_error *err)
{
    struct hg_training *t = g->t;
    const struct hg_problem *pr = &t->distinct.problem;
    double bytes = (double)g->n * (double)g->n * sizeof(float);
    *wanted = bytes <= fmin(MOST_BYTES, (double)t->cache_bytes);
    if (!*wanted)
        return HINGE_OK;
    HG_TRY(HG_MAKE(err, "the problems of all classes", HG_TABLE(g->point, g->n_problems, g->n),
                   HG_TABLE(g->range, g->n_problems, (size_t)RANGES), HG_ZEROS(g->list, g->n_problems)));
    HG_TRY(hg_shared_init(&g->shared, &t->copy, &pr->data, t->threads, err));
    *wanted = g->shared.rows.super.cost >= DEAR;
    if (!*wanted)
        return HINGE_OK;
    g->shared.rows.super.stages = t->params->profile != 0 ? &g->stages : NULL;
    HG_TRY(hg_many_init(&g->many, g->n, t->threads, hg_cpu_level(t->params->cpu_level), t->cache_bytes, err));
    g->many.whole = true;
    return hg_many_take(&g->many, &g->shared.rows.super, g->shared.each, err);
}

/* Runs all problems side by side until each is at eps, or at STEPS steps a point, and frees their working sets: their
 * own runs choose other ones. */
static hinge_status solve(struct together *g, hinge_error *err)
{
    struct hg_training *t = g->t;
    hinge_status status = HINGE_OK;
    HG_TRY(HG_MAKE(err, "the starts of problems", HG_ZEROS(t->begun, g->n_problems)));
    for (size_t p = 0; p < g->n_problems && status == HINGE_OK; p++)
        status = begin_problem(g, p, err);
    HG_THEN(status,
            hg_many_solve(&g->many, g->list, g->n_problems, t->params->eps, STEPS * (uint64_t)g->n, &g->halt, err));
    if (status == HINGE_OK)
        tell_work(g);
    for (size_t p = 0; p < g->n_problems; p++)
        hg_many_forget(&g->many, &t->begun[p].many);
    return status;
}

/* Returns HINGE_OK with t->begun NULL where the problems cannot begin so, or it would not pay. t->begun stays on
 * failure too, for hg_end_together. */
hinge_status hg_begin_together(struct hg_training *t, hinge_error *err)
{
    const hinge_params *p = t->params;
    bool wanted = false;
    struct together g = { .t = t, .n = t->distinct.problem.data.n, .n_problems = t->problem.n_problems };
    if (!may_begin(t))
        return HINGE_OK;
    g.halt = (struct hg_halt){ .stop = &t->stop, .ask = p->progress != NULL ? on_question : NULL, .arg = &g };
    g.halt.deadline = p->time_limit > 0 ? t->begin + p->time_limit : 0;
    g.teller = (struct hg_teller){ p->progress, p->progress_arg, t->begin, t->begin, &t->stop, NULL };
    hinge_status status = share(&g, &wanted, err);
    if (status == HINGE_OK && wanted)
        status = solve(&g, err);
    hg_many_free(&g.many);
    hg_shared_free(&g.shared);
    hg_free(g.point);
    return status;
}

/* Hands beta, g = K beta by rows in f32, and whether it converged to the problem's own run, which then begins near its
 * end (hg_smo_options.close). After a stop g may lack the last moves, and is made anew. */
void hg_take_begun(const struct hg_training *t, size_t p, struct hg_qp *qp, struct hg_smo_options *options)
{
    if (t->begun == NULL)
        return;
    const struct hg_begun *begun = &t->begun[p];
    memcpy(qp->beta[0], begun->qp.beta[0], qp->n * sizeof *qp->beta[0]);
    options->g = t->stop == 0 ? begun->many.g : NULL; /* it may be torn */
    options->close = begun->many.report.outcome == HINGE_CONVERGED;
}

/* Adds the common work to the reports of the problems it was for; called on failure too. */
void hg_end_together(struct hg_training *t)
{
    for (size_t p = 0; t->begun != NULL && p < t->problem.n_problems; p++) {
        hg_add_work(&t->solutions[p].report, &t->begun[p].many.report);
        t->solutions[p].rows_computed += (double)t->begun[p].many.report.rows_computed;
        hg_qp_free(&t->begun[p].qp);
        hg_free(t->begun[p].many.g);
    }
    hg_free(t->begun);
    t->begun = NULL;
}
