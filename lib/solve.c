/*
 * One two-class problem meets its solver: block SMO over kernel rows by GEMM, or the interior point over a factor of
 * the kernel, to which SMO turns where it has taken long. Read training.h before.
 */
#include "lib/lowrank.h"
#include "lib/params.h"
#include "lib/training.h"
#include "solver/smo/block.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static const double ASK_EVERY = 0.1; /* seconds, where a round takes longer */

/* One problem's solve: hg_solve_problem owns what it holds. */
struct work {
    struct hg_training *t;
    struct hg_solution *s;
    hinge_error *err;
    struct hg_reduced reduced;
    struct hg_smo_options options; /* of the run at hand */
    hinge_progress last;           /* told, or about to be */
    double told;                   /* when, on hg_now's clock */
    struct hg_gram rows, exact;    /* while SMO runs: in f32, where it takes those, and in f64 */
    struct hg_lowrank factor;      /* one that takes less time than SMO's steps: there where factor.z is not NULL, */
    uint64_t look;                 /* and looked for after so many steps */
};

/* ---- what SMO runs with ------------------------------------------------------------------------------------------ */

static int tell(struct work *w)
{
    const hinge_params *p = w->t->params;
    pthread_mutex_lock(&w->t->lock);
    w->told = hg_now();
    w->last.seconds = w->told - w->t->begin;
    int stop = hg_halted(&w->options.halt) || p->progress(p->progress_arg, &w->last);
    pthread_mutex_unlock(&w->t->lock);
    return stop;
}

static int on_progress(void *arg, const hinge_progress *progress)
{
    struct work *w = arg;
    size_t problem = w->last.problem, n_problems = w->last.n_problems;
    w->last = *progress;
    w->last.problem = problem;
    w->last.n_problems = n_problems;
    return tell(w);
}

/* Reports progress in the middle of a round, with what the last one came to. */
static void on_question(void *arg)
{
    struct work *w = arg;
    if (hg_now() - w->told >= ASK_EVERY && tell(w))
        hg_request_halt(&w->options.halt, 2);
}

/* Returns the arenas of the problem that runs here with so many threads. */
static struct hg_arenas *room_of(const struct hg_training *t, int threads)
{
    return &t->rooms[threads < t->threads ? omp_get_thread_num() : 0];
}

/* Begins problem p by so many threads. */
static void work_init(struct work *w, size_t p, int threads)
{
    struct hg_training *t = w->t;
    const hinge_params *params = t->params;
    size_t n = hg_problem_size(&t->distinct.problem, p), n_problems = t->problem.n_problems;
    /* Where there are several problems, some of them may run at once, as many as there are threads. */
    size_t some = HG_MAX(hg_problem_bytes(t, n), t->cache_bytes / 16);
    size_t newton = n_problems > 1 ? HG_MIN(some, t->cache_bytes) : t->cache_bytes;
    w->told = t->begin;
    w->last = (hinge_progress){ .problem = p, .n_problems = n_problems, .n = n, .n_active = n, .violation = INFINITY };
    w->options = (struct hg_smo_options){
        .eps = params->eps,
        .working_set = params->working_set,
        .max_iter = params->max_iter,
        .shrinking = params->shrinking,
        .warm = params->beta0 != NULL,
        .cache_bytes = t->cache_bytes,
        .arena = &room_of(t, threads)->rows,
        .newton_bytes = params->newton ? newton : 0,
        .threads = threads,
        .cpu_level = hg_cpu_level(params->cpu_level),
        .profile = params->profile != 0,
        .f64_follows = params->precision == HINGE_PRECISION_AUTO,
        .symmetric = params->kernel.type != HINGE_USER && params->kernel.type != HINGE_PRECOMPUTED,
        .measured = HG_MAX((size_t)64, 512 / n_problems), /* 512 at least in all */
        .halt.stop = &t->stop,
        .halt.deadline = params->time_limit > 0 ? t->begin + params->time_limit : 0,
        .halt.ask = params->progress != NULL ? on_question : NULL,
        .halt.arg = w,
        .progress = params->progress != NULL ? on_progress : NULL,
        .progress_arg = w,
        .leaves_arg = w,
    };
}

/* ---- block SMO --------------------------------------------------------------------------------------------------- */

/* Says whether coefficients are worth less than none: then rows were too coarse for them. */
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

/* The objective in f64, which asks for the gradient of support vectors alone; it stays as it is where a halt ends
 * that. */
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

/* A run that was ended on the way knows what it is worth from a gradient by f32 rows, or one that was being made: all
 * is taken anew where that is done at once, and of one that converged the objective, where its error may be much to it.
 * One that has not converged gives no coefficients back that are worth less than none. */
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

/* Runs by rows in f32. *again: they turned out too coarse, and it is to be gone on by rows in f64, or begun again. */
static hinge_status run_f32(struct work *w, const struct hg_smo_options *o, struct hg_arena *panels,
                            struct hg_smo_result *smo, bool *again)
{
    struct hg_training *t = w->t;
    struct hg_reduced *r = &w->reduced;
    hinge_report *report = &smo->report;
    HG_TRY(hg_copy_rows(&t->copy, &t->distinct.problem, r->points, r->qp.n, o->threads, &w->rows, w->err));
    w->rows.lent = panels;
    HG_TRY(hg_block_smo(&r->qp, &w->rows.super, &w->exact.super, o, smo, w->err));
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

/* Runs by f32 rows first, where they are wanted; where they turn out too coarse, f64 rows from there on. */
static hinge_status run_rows(struct work *w, const struct hg_smo_options *o, struct hg_smo_result *smo)
{
    struct hg_training *t = w->t;
    struct hg_reduced *r = &w->reduced;
    struct hg_arena *panels = t->problem.n_problems > 1 ? &room_of(t, o->threads)->panels : NULL;
    bool again = true;
    HG_TRY(hg_problem_exact(&t->distinct.problem, r->points, r->qp.n, o->threads, &w->exact, w->err));
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
    HG_TRY(hg_block_smo(&r->qp, &w->exact.super, &w->exact.super, &rest, smo, w->err));
    hg_add_work(&smo->report, &before.report);
    smo->columns_computed += before.columns_computed;
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
    s->f_error = HG_MAX(report->error, report->violation / 2);
    s->maker = report->precision == HINGE_PRECISION_F32 ? rows->tiler.maker : exact->tiler.maker;
    memcpy(s->bias, smo.bias, sizeof s->bias);
    hg_gram_free(rows);
    hg_gram_free(exact);
    return status;
}

/* ---- the interior point ------------------------------------------------------------------------------------------ */

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
 * *all: there are no more. Where there may be more, and they are a good part of the kernel, it is not worth solving. */
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

/* The interior point, on the factor at hand, which is given up, or on the data, or on a factor of their kernel, which
 * gets more columns where nobody said how many and they are too few for eps. */
static hinge_status run_inside(struct work *w)
{
    const struct hg_smo_options *o = &w->options;
    struct hg_reduced *r = &w->reduced;
    hinge_report *report = &w->s->report;
    struct hg_interior_options options = { .eps = o->eps,
                                           .gap = fmin(fmax(o->eps, 1e-12), 1e-6),
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

/* ---- one after the other ----------------------------------------------------------------------------------------- */

/* The interior point may go on for SMO, which was chosen; with a working set that was asked for, where it stalls. */
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

static void keep(struct hg_reduced *r, bool back)
{
    double *all = r->kept;
    for (int l = 0; l < r->qp.layers; l++, all += r->qp.n)
        memcpy(back ? r->qp.beta[l] : all, back ? all : r->qp.beta[l], r->qp.n * sizeof *all);
}

/* The interior point goes on where SMO has taken so many steps or has stalled, as it does where coefficients are large:
 * to the interior point their size is nothing. Where that does not end at eps, SMO goes on from the better of both, if
 * that is not where it stalled; where all columns were not enough, for rounding, it is not given steps without end. */
static hinge_status go_on(struct work *w, size_t columns)
{
    struct hg_reduced *r = &w->reduced;
    struct hg_solution *s = w->s, best = *s; /* its coefficients are kept */
    bool made = w->factor.z != NULL, stalled = s->report.outcome == HINGE_STALLED;
    keep(r, false);
    hinge_status status = made || columns <= hg_lowrank_most(r->qp.n) ? run_inside(w) : HINGE_ENOMEM;
    if (status != HINGE_OK && status != HINGE_ENOMEM)
        return status;
    hinge_report work = s->report;
    if (status == HINGE_ENOMEM || (work.outcome != HINGE_CONVERGED && !hg_ended_early(work.outcome))) {
        bool better = status == HINGE_OK && work.objective < best.report.objective;
        keep(r, !better);
        if (better)
            best = *s;
        else
            *s = best;
        hg_ok(w->err);
        s->report.outcome = HINGE_STALLED;
        struct hg_smo_options rest = w->options;
        rest.warm = true;
        rest.max_iter = made ? 0 : HG_LAST_STEPS * hg_lowrank_steps(r->qp.n, columns);
        if (better || !stalled) {
            HG_TRY(run_smo(w, &rest));
            hg_add_work(&s->report, &work);
        }
        if (rest.max_iter > 0 && s->report.outcome == HINGE_MAX_ITER)
            s->report.outcome = HINGE_STALLED;
    }
    hinge_outcome outcome = s->report.outcome;
    if (outcome != HINGE_CONVERGED && !(s->report.objective <= best.report.objective)) {
        keep(r, true);
        *s = best;
        s->report.outcome = outcome;
    }
    return HINGE_OK;
}

/* Goes back to what there was before a run, and adds the work of that. */
static void go_back(struct work *w, const struct hg_solution *before, hinge_outcome outcome)
{
    hinge_report work = w->s->report;
    keep(&w->reduced, true);
    *w->s = *before;
    hg_add_work(&w->s->report, &work);
    w->s->report.outcome = outcome;
}

static uint64_t later(uint64_t look, uint64_t times)
{
    return look > UINT64_MAX / 4 ? UINT64_MAX : times * look;
}

/* Looks now and then, while SMO takes its steps, whether the kernel has a factor that takes less. */
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
             !leaves(w, UINT64_MAX / 2) && t->params->kernel.type != HINGE_SIGMOID)
        HG_TRY(go_on(w, n));
    while (w->factor.z != NULL) {
        w->look = later(w->look, 4);
        HG_TRY(go_on(w, 0));
    }
    return HINGE_OK;
}

/* A violation may be below eps, and r hardly more or less: then the model and its sign hang on chance, so SMO goes on
 * to smaller eps until r has a digit. Where that is not found, at the expense of some times the steps taken so far, the
 * model is what it was. */
static hinge_status find_r(struct work *w)
{
    struct hg_solution *s = w->s;
    struct hg_smo_options finer = w->options;
    uint64_t first = s->report.iterations, most = first + 5 * (first + w->reduced.qp.n);
    most = finer.max_iter > 0 ? HG_MIN(finer.max_iter, most) : most;
    for (finer.eps /= 100; hg_margin_is_lost(w->t, s, 10) && finer.eps > 1e-13; finer.eps /= 100) {
        struct hg_solution before = *s;
        if (before.report.iterations >= most)
            break;
        finer.max_iter = most - before.report.iterations;
        keep(&w->reduced, false);
        HG_TRY(run_smo(w, &finer));
        hinge_outcome outcome = s->report.outcome;
        if (outcome != HINGE_CONVERGED) {
            go_back(w, &before, hg_ended_early(outcome) ? outcome : HINGE_CONVERGED);
            break;
        }
        hg_add_work(&s->report, &before.report);
    }
    return HINGE_OK;
}

/* The interior point that was chosen by counted work; SMO goes on where it stalls, as it does where rows or columns are
 * of sizes whose squares no double holds beside each other. */
static hinge_status start_inside(struct work *w)
{
    HG_TRY(run_inside(w));
    struct hg_solution *s = w->s, best = *s;
    const hinge_params *p = w->t->params;
    if (s->report.outcome != HINGE_STALLED || !hg_params_leave_solver(p) || hg_params_need_interior(p))
        return HINGE_OK;
    keep(&w->reduced, false);
    w->options.warm = true;
    HG_TRY(run_smo(w, &w->options));
    size_t q = s->working_set;
    if (s->report.outcome == HINGE_CONVERGED || s->report.objective < best.report.objective) {
        hg_add_work(&s->report, &best.report);
        s->report.gap = NAN;
        s->report.rank = best.report.rank;
    } else {
        go_back(w, &best, s->report.outcome);
        s->working_set = q;
    }
    return HINGE_OK;
}

/* Solves the problem over its distinct points: by SMO, or inside, or first by the one and then by the other where that
 * is allowed. */
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
    HG_TRY(finish_inside(w, columns));
    w->options.leaves = NULL;
    return find_r(w);
}

/* ---- the entry --------------------------------------------------------------------------------------------------- */

hinge_status hg_solve_problem(void *arg, size_t p, int threads, hinge_error *err)
{
    struct hg_training *t = arg;
    struct work w = { .t = t, .s = &t->solutions[p], .err = err };
    struct hg_refolding refolding = { t, &w.reduced, p };
    work_init(&w, p, threads);
    w.options.then = t->refold != NULL ? hg_refold : NULL;
    w.options.then_arg = &refolding;
    hinge_status status = hg_reduced_init(&w.reduced, &t->distinct, &t->problem, p, err);
    HG_THEN(status, solve_reduced(&w));
    HG_THEN(status, hg_keep_solution(t, &w.reduced, w.s, err));
    hg_lowrank_free(&w.factor);
    hg_reduced_free(&w.reduced);
    return status;
}
