/*
 * One problem by one of its two solvers: block SMO, or the interior point. Read work.h before, and solver/smo/block.h
 * and solver/ipm/interior.h for what the two are asked; solve.c says who is.
 *
 * The order of the parts is that of a run: what SMO runs with; SMO by rows in f32, then f64 where those are too coarse
 * (--precision f64 begins there; lib/data/copy.h has what f32 buys); the interior point.
 */
#include "lib/train/work.h"
#include "lib/data/params.h"

#include <math.h>
#include <string.h>

/* ---- what SMO runs with ------------------------------------------------------------------------------------------ */

/* Tells of a round. The solver does not know which problem of how many it has: these fields stay as hg_work_init set
 * them. With peers a callback's word is a wish until they meet, which they do here where no sum of rows has made them;
 * returns 1 where that shows that one of them has failed. */
static int on_progress(void *arg, const hinge_progress *progress)
{
    struct hg_work *w = arg;
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
    struct hg_work *w = arg;
    if (hg_is_due(&w->teller))
        (void)hg_tell(&w->teller, &w->last);
}

/* Begins problem p by a thread of the team, whose arenas it takes, and so many threads for its loops: sets what SMO is
 * asked for by the parameters. Newton's finish has the budget of rows, or of several problems a share of it: what a
 * problem needs at most, or a sixteenth, if that is more, so that it does not depend on how many run at once. */
void hg_work_init(struct hg_work *w, size_t p, int thread, int threads)
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
        .symmetric = hg_kernel_is_of_features(hg_kernel_row(t->problem.data.kernel.type)),
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
static hinge_status recompute_objective(struct hg_work *w, hinge_report *report)
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
static hinge_status look_again(struct hg_work *w, double eps, struct hg_smo_result *result)
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
static hinge_status run_by_shared(struct hg_work *w, const struct hg_smo_options *o, struct hg_smo_result *smo)
{
    struct hg_whole view;
    HG_TRY(hg_whole_view(&view, &w->t->shared, o->threads, w->err));
    hinge_status status = hg_block_smo(&w->reduced.qp, &view.super, &view.super, o, smo, w->err);
    w->s->is_whole = true;
    hg_whole_free(&view);
    return status;
}

/* Runs SMO by a source's rows, or by the whole matrix of them, where that pays and there is memory for it. */
static hinge_status run_by(struct hg_work *w, struct hg_gram *gram, const struct hg_smo_options *o,
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
 * f64 from where they ended, or begun again; also where the caller wants f32, if the model is worse than none. A limit
 * of steps that is used up leaves nothing to go on with. */
static hinge_status run_f32(struct hg_work *w, const struct hg_smo_options *o, struct hg_arena *panels,
                            struct hg_smo_result *smo, bool *again)
{
    struct hg_training *t = w->t;
    struct hg_reduced *r = &w->reduced;
    hinge_report *report = &smo->report;
    HG_TRY(hg_copy_rows(&t->copy, &t->distinct.problem.data, r->points, r->qp.n, o->threads, &w->rows, w->err));
    hg_gram_share(&w->rows, w->peers);
    w->rows.lent = panels;
    HG_TRY(run_by(w, &w->rows, o, smo));
    bool worse = report->outcome == HINGE_CONVERGED && is_worse_than_none(r, report->objective);
    bool useless = worse || report->outcome == HINGE_NONFINITE;
    if (smo->coarse && o->max_iter > 0 && report->iterations >= o->max_iter) {
        smo->coarse = false; /* no step is left for f64 rows */
        report->outcome = HINGE_MAX_ITER;
    }
    *again = worse || ((smo->coarse || useless) && t->params->precision == HINGE_PRECISION_AUTO);
    if (*again && useless)
        hg_reduced_start(r);
    return HINGE_OK;
}

/* Goes on by rows in f64 from the coefficients at hand, by the steps that are left. The work of all runs is the
 * report's. */
static hinge_status go_on_by_f64(struct hg_work *w, const struct hg_smo_options *o, struct hg_smo_result *smo)
{
    struct hg_smo_result before = *smo;
    struct hg_smo_options rest = *o;
    if (rest.max_iter > 0)
        rest.max_iter -= HG_MIN(rest.max_iter - 1, before.report.iterations);
    HG_TRY(run_by(w, &w->exact, &rest, smo));
    hg_add_work(&smo->report, &before.report);
    smo->columns_computed += before.columns_computed;
    smo->work += before.work;
    smo->report.precision = HINGE_PRECISION_F64;
    return HINGE_OK;
}

/* Runs by f32 rows first, where they are wanted; where they turn out too coarse, by f64 rows from there on: or from the
 * start, where that has led to a model within eps that is worse than none. w->exact is there in both: f32 rows are
 * judged by it. */
static hinge_status run_rows(struct hg_work *w, const struct hg_smo_options *o, struct hg_smo_result *smo)
{
    struct hg_training *t = w->t;
    struct hg_reduced *r = &w->reduced;
    struct hg_arena *panels = t->problem.n_problems > 1 ? &t->rooms[w->thread].panels : NULL;
    bool by_f32 = hg_wants_f32(t), again = true;
    HG_TRY(hg_dataset_exact(&t->distinct.problem.data, r->points, r->qp.n, o->threads, &w->exact, w->err));
    hg_gram_share(&w->exact, w->peers);
    if (by_f32)
        HG_TRY(run_f32(w, o, panels, smo, &again));
    smo->report.precision = again ? HINGE_PRECISION_F64 : HINGE_PRECISION_F32;
    w->options.g = NULL; /* of the first run's start; o may point there */
    if (!again)
        return HINGE_OK;
    hg_gram_free(&w->rows);
    w->exact.lent = panels;
    HG_TRY(go_on_by_f64(w, o, smo));
    if (by_f32 && smo->report.outcome == HINGE_CONVERGED && is_worse_than_none(r, smo->report.objective)) {
        hg_reduced_start(r);
        HG_TRY(go_on_by_f64(w, o, smo));
    }
    return HINGE_OK;
}

/* Runs block SMO, and tells what it took: sources of rows are its own, and freed here. */
hinge_status hg_run_smo(struct hg_work *w, const struct hg_smo_options *o)
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
static void keep_interior(struct hg_work *w, const struct hg_interior_result *r)
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
static hinge_status solve_by_factor(struct hg_work *w, size_t rank, bool may_be_more,
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
    z->finer = may_be_more;
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
hinge_status hg_run_inside(struct hg_work *w)
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
                                           .progress_arg = o->progress_arg,
                                           .begun = w->begun,
                                           .lane = w->lane };
    size_t asked = w->t->params->rank, most = hg_lowrank_most(r->qp.n);
    bool made = w->factor.z != NULL, all = false, enough = false;
    for (size_t rank = asked; !enough; rank = HG_MIN(most, 2 * report->rank)) {
        options.max_iter = o->max_iter > 0 ? o->max_iter - report->iterations : 0;
        size_t columns = HG_MIN(rank > 0 ? rank : (size_t)HG_RANK_DEFAULT, most);
        bool may_be_more = asked == 0 && !made && columns < most;
        hinge_status status = solve_by_factor(w, rank, may_be_more, &options, &all);
        hg_lowrank_free(&w->factor);
        HG_TRY(status);
        w->begun = options.begun = NULL;
        enough = all || made || asked > 0 || report->outcome != HINGE_STALLED || report->rank >= most ||
                 (o->max_iter > 0 && report->iterations >= o->max_iter);
    }
    bool comes_to_none = hg_ended_early(report->outcome) || report->outcome == HINGE_STALLED;
    if (comes_to_none && !isfinite(report->objective) && r->sums[0] == 0)
        take_zero(r, report, w->s->bias); /* it ended before its first step, or went beyond all numbers */
    end_by_eps(w->t, report);
    return HINGE_OK;
}
