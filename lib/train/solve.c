/*
 * One two-class problem meets its solver: block SMO over kernel rows by GEMM, or the interior point over a factor of
 * the kernel, to which SMO turns where it has taken long. Read training.h before, and solver/smo/block.h and
 * solver/ipm/interior.h for what the two solvers are asked.
 *
 * The order of the parts is that of a run: what SMO runs with; SMO by rows in f32, then f64 where those are too coarse
 * (--precision f64 begins there; lib/data/copy.h has what f32 buys); the interior point; and how one goes on for the
 * other (lib/train/lowrank.h has what that buys; --solver smo, or a limit of steps, keeps SMO alone). solve_reduced is
 * the way through all of it, hg_solve_problem the entry.
 */
#include "lib/train/lowrank.h"
#include "lib/base/team.h"
#include "lib/base/teller.h"
#include "lib/data/params.h"
#include "lib/train/training.h"
#include "solver/smo/block.h"
#include "solver/turns.h"

#include <math.h>
#include <string.h>

/* Holds one problem's solve, on hg_solve_problem's stack, which owns what it holds. s is written run by run: report,
 * bias and what else came out; coefficients stay in reduced.qp until hg_keep_solution. */
struct work {
    struct hg_training *t;
    struct hg_solution *s;
    hinge_error *err;
    int thread; /* of the team, whose arenas it takes */
    struct hg_reduced reduced;
    struct hg_smo_options options; /* of the run at hand */
    struct hg_teller teller;
    hinge_progress last;        /* told, or about to be */
    struct hg_gram rows, exact; /* while SMO runs: in f32, where it takes those, and in f64 */
    struct hg_lowrank factor;   /* one that takes less time than SMO's steps; z NULL: none was found */
    struct hg_peers *peers;     /* who solves it too; NULL: nobody */
    uint64_t met;               /* how often they had met when progress was told last */
    struct hg_peers *keeper;    /* who keeps coefficients; NULL: nobody, or those of the moment are another problem's */
    uint64_t look;              /* steps after which a factor is looked for */
    struct hg_turns turns;
    struct hg_solution before; /* what a turn began with */
    double done;               /* by SMO and the interior point, as turns count it */
};

/* ---- what SMO runs with ------------------------------------------------------------------------------------------ */

/* Tells of a round. The solver does not know which problem of how many it has: these fields stay as work_init set
 * them. With peers a callback's word is a wish until they meet, which they do here where no sum of rows has made them;
 * returns 1 where that shows that one of them has failed. */
static int on_progress(void *arg, const hinge_progress *progress)
{
    struct work *w = arg;
    const hinge_progress before = w->last; /* of which the solver keeps newton itself */
    w->last = *progress;
    w->last.problem = before.problem;
    w->last.n_problems = before.n_problems;
    w->last.newton = before.newton;
    w->last.newton_steps = before.newton_steps;
    bool stops = w->teller.progress != NULL && hg_tell(&w->teller, &w->last);
    if (w->keeper != NULL && !w->keeper->keep(w->keeper, w->last.problem, &w->reduced.qp, false))
        stops = true;
    if (w->peers == NULL)
        return stops;
    uint64_t none = 0;
    if (w->peers->met == w->met)
        (void)w->peers->bring(w->peers, HINGE_OK, &w->options.halt, &none, NULL, 0, 1);
    w->met = w->peers->met;
    return w->peers->failed != HINGE_OK;
}

/* Reports progress in the middle of a round, with what the last one came to. */
static void on_question(void *arg)
{
    struct work *w = arg;
    if (hg_is_due(&w->teller))
        (void)hg_tell(&w->teller, &w->last);
}

/* Begins problem p by a thread of the team, whose arenas it takes, and so many threads for its loops: sets what SMO is
 * asked for by the parameters. Newton's finish has the budget of rows, or of several problems a share of it: what a
 * problem needs at most, or a sixteenth, if that is more, so that it does not depend on how many run at once. */
static void work_init(struct work *w, size_t p, int thread, int threads)
{
    struct hg_training *t = w->t;
    const hinge_params *params = t->params;
    size_t n = hg_problem_size(&t->distinct.problem, p), n_problems = t->problem.n_problems;
    /* Where there are several problems, some of them may run at once, as many as there are threads. */
    size_t some = HG_MAX(hg_problem_bytes(t, n), t->cache_bytes / 16);
    size_t newton = n_problems > 1 ? HG_MIN(some, t->cache_bytes) : t->cache_bytes;
    w->thread = thread;
    struct hg_peers *peers = w->peers = hg_training_peers(t);
    w->keeper = t->peers != NULL && t->peers->keep != NULL ? t->peers : NULL;
    w->teller = (struct hg_teller){
        params->progress, params->progress_arg, t->begin, t->begin, peers != NULL ? &peers->wish : &t->stop, &t->lock
    };
    w->last = (hinge_progress){ .problem = p, .n_problems = n_problems, .n = n, .n_active = n, .violation = INFINITY };
    w->options = (struct hg_smo_options){
        .eps = params->eps,
        .working_set = params->working_set,
        .max_iter = params->max_iter,
        .shrinking = params->shrinking,
        .warm = params->beta0 != NULL,
        .cache_bytes = t->cache_bytes,
        .arena = &t->rooms[thread].rows,
        .newton_bytes = params->newton ? newton : 0,
        .threads = threads,
        .cpu_level = hg_cpu_level(params->cpu_level),
        .profile = params->profile != 0,
        .f64_follows = params->precision == HINGE_PRECISION_AUTO,
        .symmetric = params->kernel.type != HINGE_USER && params->kernel.type != HINGE_PRECOMPUTED,
        .measured = HG_MAX((size_t)64, 512 / n_problems), /* 512 at least in all */
        .halt.stop = &t->stop,
        .halt.deadline = params->time_limit > 0 && peers == NULL ? t->begin + params->time_limit : 0,
        .halt.ask = params->progress != NULL && peers == NULL ? on_question : NULL,
        .halt.arg = w,
        .progress = params->progress != NULL || t->peers != NULL ? on_progress : NULL,
        .progress_arg = w,
        .live = &w->last,
        .leaves_arg = w,
    };
}

/* ---- block SMO --------------------------------------------------------------------------------------------------- */

/* Says whether coefficients are worth less than none: beta = 0 is feasible, of objective 0, where there is no sum or a
 * sum of 0. Then rows were too coarse for them. Two layers have sums above 0. */
static bool is_worse_than_none(const struct hg_reduced *r, double objective)
{
    return (r->qp.no_sum || r->sums[0] == 0) && r->qp.layers == 1 && objective > 0;
}

/* Makes beta 0, and what is told of it what holds there. */
static void take_zero(struct hg_reduced *r, hinge_report *report, double *bias)
{
    memset(r->g, 0, r->qp.n * sizeof *r->g);
    memset(r->qp.beta[0], 0, r->qp.n * sizeof *r->g);
    report->objective = 0;
    bias[0] = hg_qp_bias(&r->qp, NULL, r->qp.n, r->g, 0);
    report->violation = hg_qp_violation(&r->qp, r->g);
}

/* Makes the objective in f64, 1/2 beta'K beta and linear terms, which asks for the gradient at support vectors alone:
 * n_sv^2 kernel values. It stays as it is where a halt ends that. */
static hinge_status recompute_objective(struct work *w, hinge_report *report)
{
    struct hg_qp *qp = &w->reduced.qp;
    size_t n_sv = hg_qp_support(qp, NULL, NULL, NULL);
    uint32_t *sv;
    double *coef, *g, *all = w->reduced.g;
    HG_TRY(HG_MAKE(w->err, "the gradient of support vectors", HG_ARRAY(sv, n_sv), HG_ARRAY(coef, n_sv),
                   HG_ZEROS(g, n_sv)));
    hg_qp_support(qp, NULL, sv, coef);
    struct hg_how how = { .halt = &w->options.halt };
    hinge_status status = hg_rows_apply(&w->exact.super, sv, n_sv, coef, sv, n_sv, g, &how);
    memset(all, 0, qp->n * sizeof *all);
    for (size_t k = 0; k < n_sv; k++)
        all[sv[k]] = g[k];
    hg_free(sv);
    HG_TRY(hg_rows_told(status, w->err));
    if (!hg_halted(how.halt))
        report->objective = hg_qp_objective(qp, all);
    return HINGE_OK;
}

/* Takes anew what a run is worth where it is not known well. A run that was ended on the way knows it from a gradient
 * by f32 rows, or one that was being made: the gradient of all points is made in f64 where that is done at once
 * (HG_AT_ONCE multiply-adds of a stalled run, a tenth of that where the caller waits for the end). Of one that
 * converged it is the objective, where its error may be more than 1e-4 of it. A run that has not converged gives no
 * coefficients back that are worth less than none. eps: a stalled run whose violation turns out to be at most that has
 * converged. */
static hinge_status look_again(struct work *w, double eps, struct hg_smo_result *result)
{
    struct hg_qp *qp = &w->reduced.qp;
    hinge_report *report = &result->report;
    const struct hg_problem *pr = &w->t->distinct.problem;
    double *g = w->reduced.g, work = hg_problem_gradient_work(pr, qp);
    bool early = hg_ended_early(report->outcome) || report->outcome == HINGE_MAX_ITER;
    bool stalled = report->outcome == HINGE_STALLED;
    if (report->outcome == HINGE_CONVERGED && result->objective_error > 1e-4 * fabs(report->objective) &&
        work <= HG_AT_ONCE)
        return recompute_objective(w, report);
    if (!(early || stalled) || work > (early ? HG_AT_ONCE / 10 : HG_AT_ONCE))
        return HINGE_OK;
    HG_TRY(hg_problem_gradient(pr, w->reduced.points, qp, w->options.threads, NULL, g, w->err));
    report->objective = hg_qp_objective(qp, g);
    report->violation = hg_qp_violation(qp, g);
    report->error = 0;
    if (stalled && report->violation <= eps)
        report->outcome = HINGE_CONVERGED;
    for (int l = 0; l < qp->layers; l++)
        result->bias[l] = hg_qp_bias(qp, NULL, qp->n, g, l);
    if (report->outcome != HINGE_CONVERGED && is_worse_than_none(&w->reduced, report->objective))
        take_zero(&w->reduced, report, result->bias);
    return HINGE_OK;
}

/* Runs SMO by the matrix that many targets share. */
static hinge_status run_by_shared(struct work *w, const struct hg_smo_options *o, struct hg_smo_result *smo)
{
    struct hg_whole view;
    HG_TRY(hg_whole_view(&view, &w->t->shared, o->threads, w->err));
    hinge_status status = hg_block_smo(&w->reduced.qp, &view.super, &view.super, o, smo, w->err);
    w->s->is_whole = true;
    hg_whole_free(&view);
    return status;
}

/* Runs SMO by a source's rows, or by the whole matrix of them, where that pays and there is memory for it. */
static hinge_status run_by(struct work *w, struct hg_gram *gram, const struct hg_smo_options *o,
                           struct hg_smo_result *smo)
{
    struct hg_rows *rows = &gram->super;
    struct hg_rows *exact = gram == &w->exact ? rows : &w->exact.super;
    struct hg_whole whole;
    hinge_stages stages = { 0 };
    double begin = hg_now();
    if (w->t->shared.k != NULL)
        return run_by_shared(w, o, smo);
    rows->stages = o->profile ? &stages : NULL;
    w->s->is_whole = w->t->is_whole && rows->order == NULL && hg_whole_init(&whole, rows, &o->halt, NULL) == HINGE_OK;
    rows->stages = NULL;
    if (!w->s->is_whole)
        return hg_block_smo(&w->reduced.qp, rows, exact, o, smo, w->err);
    double seconds = hg_now() - begin;
    exact = exact == rows ? &whole.super : exact;
    hinge_status status = hg_block_smo(&w->reduced.qp, &whole.super, exact, o, smo, w->err);
    hg_share_stages(&stages, o->threads);
    hg_add_stages(&smo->report.stages, &stages);
    smo->report.phase.rows += seconds;
    smo->columns_computed = (uint64_t)rows->n * rows->n;
    smo->report.memory_bytes += hg_whole_bytes(&whole);
    hg_whole_free(&whole);
    return status;
}

/* Runs by rows in f32. *again: they turned out too coarse, or led to nothing of use, and it is to be gone on by rows in
 * f64 from where they ended, or begun again. A limit of steps that is used up leaves nothing to go on with. */
static hinge_status run_f32(struct work *w, const struct hg_smo_options *o, struct hg_arena *panels,
                            struct hg_smo_result *smo, bool *again)
{
    struct hg_training *t = w->t;
    struct hg_reduced *r = &w->reduced;
    hinge_report *report = &smo->report;
    HG_TRY(hg_copy_rows(&t->copy, &t->distinct.problem, r->points, r->qp.n, o->threads, &w->rows, w->err));
    hg_gram_share(&w->rows, w->peers);
    w->rows.lent = panels;
    HG_TRY(run_by(w, &w->rows, o, smo));
    bool useless = report->outcome == HINGE_NONFINITE ||
                   (report->outcome == HINGE_CONVERGED && is_worse_than_none(r, report->objective));
    if (smo->coarse && o->max_iter > 0 && report->iterations >= o->max_iter) {
        smo->coarse = false; /* no step is left for f64 rows */
        report->outcome = HINGE_MAX_ITER;
    }
    *again = (smo->coarse || useless) && t->params->precision == HINGE_PRECISION_AUTO;
    if (*again && useless)
        hg_reduced_start(r);
    return HINGE_OK;
}

/* Runs by f32 rows first, where they are wanted; where they turn out too coarse, f64 rows from there on, by the steps
 * that are left. The work of both is the report's. w->exact is there in both: f32 rows are judged by it. */
static hinge_status run_rows(struct work *w, const struct hg_smo_options *o, struct hg_smo_result *smo)
{
    struct hg_training *t = w->t;
    struct hg_reduced *r = &w->reduced;
    struct hg_arena *panels = t->problem.n_problems > 1 ? &t->rooms[w->thread].panels : NULL;
    bool again = true;
    HG_TRY(hg_problem_exact(&t->distinct.problem, r->points, r->qp.n, o->threads, &w->exact, w->err));
    hg_gram_share(&w->exact, w->peers);
    if (hg_wants_f32(t))
        HG_TRY(run_f32(w, o, panels, smo, &again));
    smo->report.precision = again ? HINGE_PRECISION_F64 : HINGE_PRECISION_F32;
    w->options.g = NULL; /* of the first run's start; o may point there */
    if (!again)
        return HINGE_OK;
    struct hg_smo_result before = *smo;
    struct hg_smo_options rest = *o;
    if (rest.max_iter > 0)
        rest.max_iter -= HG_MIN(rest.max_iter - 1, before.report.iterations);
    hg_gram_free(&w->rows);
    w->exact.lent = panels;
    HG_TRY(run_by(w, &w->exact, &rest, smo));
    hg_add_work(&smo->report, &before.report);
    smo->columns_computed += before.columns_computed;
    smo->work += before.work;
    smo->report.precision = HINGE_PRECISION_F64;
    return HINGE_OK;
}

/* Runs block SMO, and tells what it took: sources of rows are its own, and freed here. */
static hinge_status run_smo(struct work *w, const struct hg_smo_options *o)
{
    struct hg_solution *s = w->s;
    struct hg_gram *rows = &w->rows, *exact = &w->exact;
    struct hg_smo_result smo = { 0 };
    hinge_report *report = &smo.report;
    hinge_status status = run_rows(w, o, &smo);
    HG_THEN(status, look_again(w, o->eps, &smo));
    report->gflop = rows->super.gflop + exact->super.gflop;
    report->kernel_values = rows->super.values + exact->super.values;
    report->memory_bytes += rows->work_bytes + exact->work_bytes;
    s->report = *report;
    s->rows_computed = (double)smo.columns_computed / (double)HG_MAX(w->reduced.qp.n, (size_t)1);
    s->working_set = smo.working_set;
    w->done += smo.work;
    s->f_error = HG_MAX(report->error, report->violation / 2);
    s->maker = report->precision == HINGE_PRECISION_F32 ? rows->tiler.maker : exact->tiler.maker;
    memcpy(s->bias, smo.bias, sizeof s->bias);
    hg_gram_free(rows);
    hg_gram_free(exact);
    return status;
}

/* ---- the interior point ------------------------------------------------------------------------------------------ */

/* Takes the interior point's result for the solution's, adding the work done before. The error is 0, as K itself has
 * judged the result, but for a run on a factor that was halted before it was. */
static void keep_interior(struct work *w, const struct hg_interior_result *r)
{
    struct hg_solution *s = w->s;
    const struct hg_lowrank *z = &w->factor;
    hinge_report before = s->report;
    s->report = r->report;
    s->report.memory_bytes += z->bytes;
    hg_add_work(&s->report, &before);
    s->report.error = z->trace_error > 0 && hg_ended_early(r->report.outcome) ? NAN : 0; /* others are judged by K */
    s->report.rank = before.rank;
    s->report.trace_error = before.trace_error;
    memcpy(s->bias, r->bias, sizeof s->bias);
    s->margin_bound = r->margin_bound;
    s->f_error = r->report.violation / 2;
}

/* Solves on the factor at hand, or on one of so many columns at most, or the data where rank is 0 and they are such.
 * *all: there are no more columns to be had. Where there may be more, and what is left of the trace is more than 1e-3,
 * it is not worth solving: the outcome is STALLED, and the caller asks for more columns. */
static hinge_status solve_by_factor(struct work *w, size_t rank, bool may_be_more,
                                    const struct hg_interior_options *options, bool *all)
{
    const struct hg_problem *pr = &w->t->distinct.problem;
    struct hg_reduced *r = &w->reduced;
    struct hg_lowrank *z = &w->factor;
    struct hg_interior_result result;
    hinge_report *report = &w->s->report;
    double begin = hg_now();
    if (z->z == NULL)
        HG_TRY(hg_lowrank_init(z, pr, r->points, r->qp.n, rank, options->threads, &options->halt, w->err));
    *all = z->z == NULL || z->super.d < z->most;
    report->rank = z->super.d;
    report->trace_error = z->trace_error;
    report->kernel_values += z->values;
    report->phase.rows += hg_now() - begin;
    report->outcome = HINGE_STALLED;
    if (may_be_more && !*all && z->trace_error > 1e-3)
        return HINGE_OK;
    HG_TRY(hg_lowrank_solve(z, pr, &r->qp, options, r->g, false, &result, w->err));
    w->done += hg_turns_inside_work(&r->qp, z->super.d, result.report.iterations);
    keep_interior(w, &result);
    return HINGE_OK;
}

/* Takes the result as it is where the caller leaves the solver open: then eps is what is asked for, and not the
 * interior point's gap as well. */
static void end_by_eps(const struct hg_training *t, hinge_report *report)
{
    bool open = t->params->solver == HINGE_SOLVER_AUTO && !hg_params_need_interior(t->params);
    if (open && report->outcome == HINGE_STALLED && report->violation <= t->params->eps)
        report->outcome = HINGE_CONVERGED;
}

/* Runs the interior point: on the factor at hand, which is given up, or on the data, or on a factor of their kernel,
 * which gets twice as many columns where nobody said how many and they are too few for eps. The steps of all these
 * runs count for max_iter. */
static hinge_status run_inside(struct work *w)
{
    const struct hg_smo_options *o = &w->options;
    struct hg_reduced *r = &w->reduced;
    hinge_report *report = &w->s->report;
    struct hg_interior_options options = { .eps = o->eps,
                                           .gap = hg_turns_inside_gap(o->eps),
                                           .sums = r->sums,
                                           .threads = o->threads,
                                           .halt = o->halt,
                                           .progress = o->progress,
                                           .progress_arg = o->progress_arg };
    size_t asked = w->t->params->rank, most = hg_lowrank_most(r->qp.n);
    bool made = w->factor.z != NULL, all = false, enough = false;
    for (size_t rank = asked; !enough; rank = HG_MIN(most, 2 * report->rank)) {
        options.max_iter = o->max_iter > 0 ? o->max_iter - report->iterations : 0;
        size_t columns = HG_MIN(rank > 0 ? rank : (size_t)HG_RANK_DEFAULT, most);
        bool may_be_more = asked == 0 && !made && columns < most;
        hinge_status status = solve_by_factor(w, rank, may_be_more, &options, &all);
        hg_lowrank_free(&w->factor);
        HG_TRY(status);
        enough = all || made || asked > 0 || report->outcome != HINGE_STALLED || report->rank >= most ||
                 (o->max_iter > 0 && report->iterations >= o->max_iter);
    }
    if (hg_ended_early(report->outcome) && !isfinite(report->objective) && r->sums[0] == 0)
        take_zero(r, report, w->s->bias); /* it ended before its first step */
    end_by_eps(w->t, report);
    return HINGE_OK;
}

/* ---- looks at SMO on its way ------------------------------------------------------------------------------------- */

/* Says whether the interior point may go on for SMO, which was chosen, while SMO is at work; may_end_inside: where SMO
 * has stalled, also with a working set that was asked for. */
static bool may_turn_inside(const struct hg_training *t)
{
    return hg_params_leave_solver(t->params) && !t->interior;
}

static bool may_end_inside(const struct hg_training *t)
{
    hinge_params params = *t->params;
    params.working_set = 0;
    return hg_params_leave_solver(&params) && !t->interior;
}

/* Multiplies, and saturates. */
static uint64_t later(uint64_t look, uint64_t times)
{
    return look > UINT64_MAX / 4 ? UINT64_MAX : times * look;
}

/* Looks now and then, while SMO takes its steps, whether the kernel has a factor that takes less: after HG_RANK_LOOK
 * steps a row, and each time that they are twice as many. True ends SMO's run; the factor is w->factor. */
static bool leaves(void *arg, uint64_t iterations)
{
    struct work *w = arg;
    const struct hg_reduced *r = &w->reduced;
    if (w->factor.z != NULL || iterations < w->look)
        return w->factor.z != NULL;
    iterations = HG_MAX(w->look, iterations);
    w->look = later(iterations, 2);
    return hg_lowrank_find(&w->factor, &w->t->distinct.problem, r->points, &r->qp, w->t->params->eps, iterations,
                           w->options.threads, &w->options.halt);
}

static double look(void *arg, const struct hg_way *way)
{
    struct work *w = arg;
    return hg_turns_look(&w->turns, way);
}

/* ---- one after the other ----------------------------------------------------------------------------------------- */

/* A turn's run (turns.h). What a run tells is of that run alone; settle adds what came before. */
static hinge_status run_turn(struct hg_turns *t, enum hg_solver who)
{
    struct work *w = t->arg;
    hinge_status status;
    if (who == HG_INSIDE) {
        w->s->report = (hinge_report){ 0 };
        status = run_inside(w);
    } else {
        struct hg_smo_options o = w->options;
        o.warm = true;
        o.look_at = t->look.work;
        o.look = look;
        o.look_arg = w;
        status = run_smo(w, &o);
    }
    t->outcome = w->s->report.outcome;
    if (t->outcome == HINGE_MAX_ITER && w->factor.z == NULL)
        t->outcome = HINGE_STALLED; /* by a look at it */
    t->objective = w->s->report.objective;
    t->violation = w->s->report.violation;
    t->work = w->done;
    if (status == HINGE_ENOMEM)
        hg_ok(w->err);
    return status;
}

static void keep_turn(struct hg_turns *t)
{
    struct work *w = t->arg;
    w->before = *w->s;
}

/* Takes the run's solution, or the one before it; the work is that of both. SMO that has gone on for the interior point
 * that was chosen is told with that. */
static void settle_turn(struct hg_turns *t, enum hg_solver who, bool taken)
{
    struct work *w = t->arg;
    struct hg_solution *s = w->s;
    hinge_report work = s->report;
    size_t q = s->working_set;
    if (taken) {
        hg_add_work(&s->report, &w->before.report);
        if (who == HG_SMO && w->t->interior) {
            s->report.gap = NAN;
            s->report.rank = w->before.report.rank;
        }
        return;
    }
    *s = w->before;
    hg_add_work(&s->report, &work);
    if (who == HG_SMO)
        s->working_set = q;
}

/* Says where the problem stands, after the first solver. */
static void begin_turns(struct work *w)
{
    const hinge_report *report = &w->s->report;
    w->turns = (struct hg_turns){ .qp = &w->reduced.qp,
                                  .eps = w->t->params->eps,
                                  .kept = w->reduced.kept,
                                  .outcome = report->outcome,
                                  .objective = report->objective,
                                  .violation = report->violation,
                                  .work = w->done,
                                  .run = run_turn,
                                  .keep = keep_turn,
                                  .settle = settle_turn,
                                  .arg = w };
}

/* Lets the solvers go on by turns. columns: those of the kernel's own features, or all rows; 0: the factor was found
 * (w->factor), whose iterations take as long as SMO has. */
static hinge_status go_on(struct work *w, size_t columns)
{
    begin_turns(w);
    bool may =
        w->factor.z != NULL || (columns <= hg_lowrank_most(w->reduced.qp.n) && hg_turns_may_inside(&w->turns, columns));
    hinge_status status = hg_turns_go_on(&w->turns, may);
    w->s->report.outcome = w->turns.outcome;
    return status;
}

/* Goes on inside with what SMO has left unfinished, by the columns that the kernel has or by a factor that was found;
 * where it has stalled on few points, and none is near enough, as of a kernel that rounding has left a little
 * indefinite, by all columns there are. */
static hinge_status finish_inside(struct work *w, size_t columns)
{
    const struct hg_training *t = w->t;
    size_t n = w->reduced.qp.n;
    hinge_outcome outcome = w->s->report.outcome;
    if (columns > 0 && (outcome == HINGE_STALLED || outcome == HINGE_MAX_ITER))
        HG_TRY(go_on(w, columns));
    else if (columns == 0 && outcome == HINGE_STALLED && may_end_inside(t) && n <= HG_RANK_EXACT &&
             !leaves(w, UINT64_MAX / 2) && !hg_kernel_is_indefinite(&t->params->kernel))
        HG_TRY(go_on(w, n));
    while (w->factor.z != NULL) {
        w->look = later(w->look, 4);
        HG_TRY(go_on(w, 0));
    }
    return HINGE_OK;
}

/* Runs the interior point that was chosen by counted work; SMO takes a turn where it stalls, as it does where rows or
 * columns are of sizes whose squares no double holds beside each other. */
static hinge_status start_inside(struct work *w)
{
    HG_TRY(run_inside(w));
    const hinge_params *p = w->t->params;
    if (w->s->report.outcome != HINGE_STALLED || !hg_params_leave_solver(p) || hg_params_need_interior(p))
        return HINGE_OK;
    begin_turns(w);
    hinge_status status = hg_turns_take(&w->turns, HG_SMO);
    w->s->report.outcome = w->turns.outcome;
    return status;
}

/* Solves the problem over its distinct points: by SMO, or inside, or first by the one and then by the other where that
 * is allowed. Kernels of few features limit SMO's steps beforehand, by counted work; of others `leaves` asks on the
 * way. */
static hinge_status solve_reduced(struct work *w)
{
    const struct hg_training *t = w->t;
    size_t n = w->reduced.qp.n, columns = may_end_inside(t) ? hg_lowrank_inside(&t->distinct.problem, n) : 0;
    if (t->interior)
        return start_inside(w);
    hg_take_begun(t, w->last.problem, &w->reduced.qp, &w->options);
    w->look = HG_RANK_LOOK * (uint64_t)n;
    if (columns > 0 && may_turn_inside(t))
        w->options.max_iter = hg_lowrank_steps(n, columns);
    else if (may_turn_inside(t))
        w->options.leaves = leaves;
    HG_TRY(run_smo(w, &w->options));
    w->options.max_iter = t->params->max_iter;
    hinge_status status = finish_inside(w, columns);
    w->options.leaves = NULL;
    return status;
}

/* Solves once more, for hg_settle_margin: by the interior point where the kernel's features are few, otherwise by the
 * solver that the training has. */
static hinge_status solve_again(void *arg, double eps, uint64_t max_iter)
{
    struct work *w = arg;
    w->options.eps = eps;
    w->options.max_iter = max_iter;
    w->s->report = (hinge_report){ 0 };
    bool few = may_end_inside(w->t) && hg_lowrank_inside(&w->t->distinct.problem, w->reduced.qp.n) > 0;
    hinge_status status = w->t->interior || few ? run_inside(w) : run_smo(w, &w->options);
    w->options.eps = w->t->params->eps;
    w->options.max_iter = w->t->params->max_iter;
    return status;
}

/* ---- coefficients that are kept ---------------------------------------------------------------------------------- */

/* Goes on from what an earlier training has kept, if it has. */
static hinge_status take_kept(struct work *w)
{
    struct hg_reduced *r = &w->reduced;
    bool found = false;
    if (w->keeper == NULL)
        return HINGE_OK;
    HG_TRY(w->keeper->take(w->keeper, w->last.problem, &r->qp, &found, w->err));
    if (found && !hg_qp_project(&r->qp, r->sums))
        hg_reduced_start(r);
    w->options.warm = w->options.warm || found;
    return HINGE_OK;
}

/* Keeps the solution. A margin that is settled then may be that of another nu. */
static void keep_last(struct work *w)
{
    if (w->keeper != NULL)
        (void)w->keeper->keep(w->keeper, w->last.problem, &w->reduced.qp, true);
    w->keeper = NULL;
}

/* ---- the entry --------------------------------------------------------------------------------------------------- */

/* Solves problem p of a training into t->solutions[p]; hg_each's job. Several may run at once: they share `stop`, the
 * lock and what is const. */
hinge_status hg_solve_problem(void *arg, int thread, size_t p, int threads, hinge_error *err)
{
    struct hg_training *t = arg;
    struct work w = { .t = t, .s = &t->solutions[p], .err = err };
    struct hg_refolding refolding = { t, &w.reduced, p };
    struct hg_margin margin = { t, &w.reduced, w.s, threads, &w.options.halt, solve_again, &w };
    work_init(&w, p, thread, threads);
    w.options.then = t->refold != NULL ? hg_refold : NULL;
    w.options.then_arg = &refolding;
    hinge_status status = hg_reduced_init(&w.reduced, &t->distinct, &t->problem, p, err);
    HG_THEN(status, take_kept(&w));
    HG_THEN(status, solve_reduced(&w));
    if (status == HINGE_OK)
        keep_last(&w);
    if (w.s->report.outcome == HINGE_STALLED && hg_halted(&w.options.halt)) /* at the last call, too late for a rule */
        w.s->report.outcome = hg_halt_outcome(&w.options.halt);
    w.options.then = NULL;
    HG_THEN(status, hg_settle_margin(&margin, err));
    HG_THEN(status, hg_keep_solution(t, &w.reduced, w.s, err));
    hg_lowrank_free(&w.factor);
    hg_reduced_free(&w.reduced);
    return status;
}
