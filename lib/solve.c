/*
 * One two-class problem meets its solver: block SMO over kernel rows by GEMM, or the interior point over a factor of
 * the kernel. Read training.h before.
 */
#include "lib/lowrank.h"
#include "lib/params.h"
#include "lib/training.h"
#include "solver/smo/block.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double ASK_EVERY = 0.1; /* seconds, where a round takes longer */

struct callback {
    struct hg_training *t;
    struct hg_halt halt;
    hinge_progress last; /* told, or about to be */
    double told;         /* when, on hg_now's clock */
};

static int tell(struct callback *c)
{
    struct hg_training *t = c->t;
    omp_set_lock(&t->lock);
    c->told = hg_now();
    c->last.seconds = c->told - t->begin;
    int stop = hg_halted(&c->halt) || t->params->progress(t->params->progress_arg, &c->last);
    omp_unset_lock(&t->lock);
    return stop;
}

static int on_progress(void *arg, const hinge_progress *progress)
{
    struct callback *c = arg;
    size_t problem = c->last.problem, n_problems = c->last.n_problems;
    c->last = *progress;
    c->last.problem = problem;
    c->last.n_problems = n_problems;
    return tell(c);
}

/* In the middle of a round; with what the last one came to. */
static void on_question(void *arg)
{
    struct callback *c = arg;
    if (hg_now() - c->told >= ASK_EVERY && tell(c))
        hg_request_halt(&c->halt, 2);
}

static struct callback callback_of(struct hg_training *t, size_t problem)
{
    const hinge_params *p = t->params;
    struct callback c = { .t = t, .told = t->begin };
    c.halt.stop = &t->stop;
    c.halt.deadline = p->time_limit > 0 ? t->begin + p->time_limit : 0;
    c.halt.ask = p->progress != NULL ? on_question : NULL;
    c.last.problem = problem;
    c.last.n_problems = t->problem.n_problems;
    c.last.n = c.last.n_active = hg_problem_size(&t->distinct.problem, problem);
    c.last.violation = INFINITY;
    return c;
}

/* Of the problem that runs here with so many threads. */
static struct hg_arenas *room_of(const struct hg_training *t, int threads)
{
    return &t->rooms[threads < t->threads ? omp_get_thread_num() : 0];
}

static struct hg_smo_options options_for(struct hg_training *t, struct callback *callback, int threads)
{
    const hinge_params *p = t->params;
    /* where there are several problems, some of them may run at once */
    size_t newton =
        t->problem.n_problems > 1 ? HG_MIN(hg_problem_bytes(t, callback->last.n), t->cache_bytes) : t->cache_bytes;
    return (struct hg_smo_options){
        .eps = p->eps,
        .working_set = p->working_set,
        .max_iter = p->max_iter,
        .shrinking = p->shrinking,
        .warm = p->beta0 != NULL,
        .cache_bytes = t->cache_bytes,
        .arena = &room_of(t, threads)->rows,
        .newton_bytes = p->newton ? newton : 0,
        .threads = threads,
        .cpu_level = hg_cpu_level(p->cpu_level),
        .profile = p->profile != 0,
        .f64_follows = p->precision == HINGE_PRECISION_AUTO,
        .symmetric = t->params->kernel.type != HINGE_USER && t->params->kernel.type != HINGE_PRECOMPUTED,
        .measured = HG_MAX((size_t)64, 512 / t->problem.n_problems), /* 512 at least in all */
        .halt = callback->halt,
        .progress = p->progress != NULL ? on_progress : NULL,
        .progress_arg = callback,
    };
}

static const double LOOK_AGAIN = 1e10; /* multiply-adds at most: a fraction of a second */

/* beta becomes 0, and what is told of it what holds there. */
static void take_zero(struct hg_reduced *reduced, hinge_report *report, double *bias)
{
    struct hg_qp *qp = &reduced->qp;
    memset(reduced->g, 0, qp->n * sizeof *reduced->g);
    memset(qp->beta[0], 0, qp->n * sizeof *reduced->g);
    report->objective = 0;
    bias[0] = hg_qp_bias(qp, NULL, qp->n, reduced->g, 0);
    report->violation = hg_qp_violation(qp, reduced->g);
}

/* Multiply-adds of a gradient. */
static double gradient_work(const struct hg_training *t, const struct hg_qp *qp)
{
    return (double)hg_qp_support(qp, NULL, NULL, NULL) * (double)qp->n * (double)(t->problem.d + 8);
}

static bool is_worse_than_none(const struct hg_qp *qp, const double *sums, const struct hg_smo_result *result)
{
    return (qp->no_sum || sums[0] == 0) && qp->layers == 1 && result->report.objective > 0;
}

/* The objective in f64, which asks for the gradient of support vectors alone; it stays as it is where halt ends
 * that. */
static hinge_status recompute_objective(struct hg_reduced *reduced, struct hg_rows *exact, const struct hg_halt *halt,
                                        hinge_report *report, hinge_error *err)
{
    struct hg_qp *qp = &reduced->qp;
    size_t n_sv = hg_qp_support(qp, NULL, NULL, NULL);
    uint32_t *sv;
    double *coef, *g;
    if (!HG_ROOM(HG_ARRAY(sv, n_sv), HG_ARRAY(coef, n_sv), HG_ZEROS(g, n_sv)))
        return hg_fail(err, HINGE_ENOMEM, "no memory for the gradient of %zu rows", n_sv);
    hg_qp_support(qp, NULL, sv, coef);
    struct hg_how how = { .halt = halt };
    hinge_status status = hg_rows_apply(exact, sv, n_sv, coef, sv, n_sv, g, &how);
    memset(reduced->g, 0, qp->n * sizeof *reduced->g);
    for (size_t k = 0; k < n_sv; k++)
        reduced->g[sv[k]] = g[k];
    hg_free(sv);
    if (status != HINGE_OK)
        return hg_fail(err, status, "the kernel function reported a failure");
    if (!hg_halted(halt))
        report->objective = hg_qp_objective(qp, reduced->g);
    return HINGE_OK;
}

/* A run that was ended on the way knows what it is worth from a gradient by f32 rows, or one that was being made: all
 * is taken anew where that is done at once, and of one that converged the objective, where its error may be much to it.
 * One that has not converged gives no coefficients back that are worth less than none. */
static hinge_status look_again(const struct hg_training *t, struct hg_reduced *reduced,
                               const struct hg_smo_options *options, struct hg_rows *exact,
                               struct hg_smo_result *result, hinge_error *err)
{
    struct hg_qp *qp = &reduced->qp;
    hinge_report *report = &result->report;
    bool early = hg_ended_early(report->outcome) || report->outcome == HINGE_MAX_ITER;
    bool converged = report->outcome == HINGE_CONVERGED;
    if (converged && result->objective_error > 1e-4 * fabs(report->objective) && gradient_work(t, qp) <= LOOK_AGAIN)
        HG_TRY(recompute_objective(reduced, exact, &options->halt, report, err));
    if (!(early || report->outcome == HINGE_STALLED) || gradient_work(t, qp) > (early ? LOOK_AGAIN / 10 : LOOK_AGAIN))
        return HINGE_OK;
    HG_TRY(hg_problem_gradient(&t->distinct.problem, reduced->points, qp, options->threads, NULL, reduced->g, err));
    report->objective = hg_qp_objective(qp, reduced->g);
    report->violation = hg_qp_violation(qp, reduced->g);
    report->error = 0;
    if (report->outcome == HINGE_STALLED)
        report->outcome = report->violation <= options->eps ? HINGE_CONVERGED : HINGE_STALLED;
    for (int l = 0; l < qp->layers; l++)
        result->bias[l] = hg_qp_bias(qp, NULL, qp->n, reduced->g, l);
    if (report->outcome != HINGE_CONVERGED && is_worse_than_none(qp, reduced->sums, result))
        take_zero(reduced, report, result->bias);
    return HINGE_OK;
}

/* f32 rows first where they are wanted; where they turn out too coarse, f64 rows from there on. */
static hinge_status solve(struct hg_training *t, struct hg_reduced *reduced, const struct hg_smo_options *options,
                          struct hg_solution *s, hinge_error *err)
{
    const struct hg_problem *pr = &t->distinct.problem;
    const uint32_t *subset = reduced->points;
    struct hg_qp *qp = &reduced->qp;
    struct hg_smo_result smo = { 0 };
    hinge_report *report = &smo.report;
    struct hg_gram exact = { 0 }, rows = { 0 };
    hinge_status status = hg_problem_exact(pr, subset, qp->n, options->threads, &exact, err);
    bool f32 = hg_wants_f32(t);
    struct hg_arena *panels = t->problem.n_problems > 1 ? &room_of(t, options->threads)->panels : NULL;
    if (status == HINGE_OK && f32) {
        struct hg_tiler tiler = exact.tiler;
        tiler.type = HINGE_F32;
        status = hg_gram_init(&rows, &tiler, &t->copy.points, subset, qp->n, pr->column, t->copy.norms,
                              options->threads, err);
        rows.lent = panels;
        if (status == HINGE_OK)
            status = hg_block_smo(qp, &rows.super, &exact.super, options, &smo, err);
    }
    bool useless = f32 && (report->outcome == HINGE_NONFINITE ||
                           (report->outcome == HINGE_CONVERGED && is_worse_than_none(qp, reduced->sums, &smo)));
    if (smo.coarse && options->max_iter > 0 && report->iterations >= options->max_iter) {
        smo.coarse = false; /* no step is left for f64 rows */
        report->outcome = HINGE_MAX_ITER;
    }
    if (status == HINGE_OK && (!f32 || ((smo.coarse || useless) && t->params->precision == HINGE_PRECISION_AUTO))) {
        struct hg_smo_result before = smo;
        struct hg_smo_options rest = *options;
        if (rest.max_iter > 0)
            rest.max_iter -= HG_MIN(rest.max_iter - 1, before.report.iterations);
        hg_gram_free(&rows);
        exact.lent = panels;
        if (useless)
            hg_reduced_start(reduced);
        status = hg_block_smo(qp, &exact.super, &exact.super, &rest, &smo, err);
        hg_add_work(report, &before.report);
        smo.columns_computed += before.columns_computed;
        f32 = false;
    }
    if (status == HINGE_OK)
        status = look_again(t, reduced, options, &exact.super, &smo, err);
    report->precision = f32 ? HINGE_PRECISION_F32 : HINGE_PRECISION_F64;
    report->gflop = rows.super.gflop + exact.super.gflop;
    report->kernel_values = rows.super.values + exact.super.values;
    report->memory_bytes += rows.work_bytes + exact.work_bytes;
    s->report = *report;
    s->rows_computed = (double)smo.columns_computed / (double)HG_MAX(qp->n, (size_t)1);
    s->working_set = smo.working_set;
    s->f_error = HG_MAX(report->error, report->violation / 2);
    s->maker = f32 ? rows.tiler.maker : exact.tiler.maker;
    memcpy(s->bias, smo.bias, sizeof s->bias);
    hg_gram_free(&rows);
    hg_gram_free(&exact);
    return status;
}

static void keep_interior(const struct hg_interior_result *r, const struct hg_lowrank *z, struct hg_solution *s)
{
    hinge_report before = s->report;
    s->report = r->report;
    hg_add_work(&s->report, &before);
    s->report.error = z->trace_error > 0 && hg_ended_early(r->report.outcome) ? NAN : 0; /* others are judged by K */
    s->report.memory_bytes += z->bytes;
    s->report.rank = before.rank;
    s->report.trace_error = before.trace_error;
    memcpy(s->bias, r->bias, sizeof s->bias);
    s->margin_bound = r->margin_bound;
    s->f_error = r->report.violation / 2;
}

/* What a factor's solution is worth by the kernel itself: also of a run that was ended, where that is told at once. */
static hinge_status judge_by_kernel(const struct hg_training *t, struct hg_reduced *reduced,
                                    const struct hg_interior_options *options, struct hg_interior_result *result,
                                    hinge_error *err)
{
    const struct hg_halt *halt = gradient_work(t, &reduced->qp) > LOOK_AGAIN ? &options->halt : NULL;
    HG_TRY(hg_problem_gradient(&t->distinct.problem, reduced->points, &reduced->qp, options->threads, halt, reduced->g,
                               err));
    if (halt != NULL && hg_halted(halt))
        result->report.outcome = hg_halt_outcome(halt);
    else
        hg_interior_judge(&reduced->qp, reduced->g, options, result);
    return HINGE_OK;
}

/* By so much a margin in the kernel's space may be larger than one in that of the factor, whose sums of rows with
 * weights of sum 1 lack a square of trace(K - ZZ') at most; with what rounding leaves of that. */
static double hidden_margin(const struct hg_lowrank *z)
{
    double trace = 0;
    for (size_t i = 0; z->z != NULL && i < z->super.n * z->super.d; i++)
        trace += z->z[i] * z->z[i];
    return sqrt(HG_MAX(z->trace_error, 8 * DBL_EPSILON) * trace);
}

/* On the factor made, which is given up, or (NULL) one of so many columns at most, or the data where rank is 0 and they
 * are such. *all: there are no more. Where there may be more, and they are a good part of the kernel, it is not worth
 * solving. */
static hinge_status solve_by_factor(struct hg_training *t, struct hg_reduced *reduced, size_t rank,
                                    const struct hg_lowrank *made, bool may_be_more,
                                    const struct hg_interior_options *options, struct hg_solution *s, bool *all,
                                    hinge_error *err)
{
    struct hg_lowrank z;
    struct hg_interior_result result;
    double begin = hg_now();
    if (made != NULL)
        z = *made;
    else
        HG_TRY(hg_lowrank_init(&z, &t->distinct.problem, reduced->points, reduced->qp.n, rank, options->threads,
                               &options->halt, err));
    *all = z.z == NULL || z.super.d < z.most;
    s->report.rank = z.super.d;
    s->report.trace_error = z.trace_error;
    s->report.kernel_values += z.values;
    s->report.phase.rows += hg_now() - begin;
    s->report.outcome = HINGE_STALLED;
    if (may_be_more && !*all && z.trace_error > 1e-3) {
        hg_lowrank_free(&z);
        return HINGE_OK;
    }
    hinge_status status = hg_interior_point(&reduced->qp, &z.super, options, &result, err);
    bool has_margin = result.report.outcome != HINGE_NO_MARGIN;
    if (status == HINGE_OK && (z.z != NULL || result.report.objective > 0) && has_margin)
        status = judge_by_kernel(t, reduced, options, &result, err);
    if (!has_margin && z.trace_error > 1e-12)
        result.report.outcome = HINGE_STALLED; /* what ZZ' does not separate K may */
    result.margin_bound += has_margin ? 0 : hidden_margin(&z);
    if (status == HINGE_OK)
        keep_interior(&result, &z, s);
    hg_lowrank_free(&z);
    return status;
}

/* The interior point, on the data or on a factor of their kernel, which gets more columns where nobody said how many
 * and they are too few for eps. made: NULL, or the factor, which is given up */
static hinge_status solve_inside(struct hg_training *t, struct hg_reduced *reduced, struct hg_lowrank *made,
                                 const struct hg_smo_options *o, struct hg_solution *s, hinge_error *err)
{
    struct hg_interior_options options = { .eps = o->eps,
                                           .gap = fmin(o->eps, 1e-6),
                                           .sums = reduced->sums,
                                           .threads = o->threads,
                                           .halt = o->halt,
                                           .progress = o->progress,
                                           .progress_arg = o->progress_arg };
    size_t asked = t->params->rank, most = hg_lowrank_most(reduced->qp.n);
    bool all = false, enough = false;
    for (size_t rank = asked; !enough; rank = HG_MIN(most, 2 * s->report.rank)) {
        options.max_iter = o->max_iter > 0 ? o->max_iter - s->report.iterations : 0;
        size_t columns = HG_MIN(rank > 0 ? rank : (size_t)HG_RANK_DEFAULT, most);
        bool may_be_more = asked == 0 && made == NULL && columns < most;
        HG_TRY(solve_by_factor(t, reduced, rank, made, may_be_more, &options, s, &all, err));
        enough = all || made != NULL || asked > 0 || s->report.outcome != HINGE_STALLED || s->report.rank >= most ||
                 (o->max_iter > 0 && s->report.iterations >= o->max_iter);
    }
    if (hg_ended_early(s->report.outcome) && !isfinite(s->report.objective) && reduced->sums[0] == 0)
        take_zero(reduced, &s->report, s->bias); /* it ended before its first step */
    return HINGE_OK;
}

/* nu-SVC's coefficients are divided by r, half of what the two biases differ by, which should be so many times as large
 * as its error. */
static bool is_lost(const struct hg_training *t, const struct hg_solution *s, double digits)
{
    double b, factor;
    hg_problem_bias(&t->problem, s->bias, &b, &factor);
    return t->params->task == HINGE_NU_SVC && s->report.outcome == HINGE_CONVERGED &&
           (factor == 0 || 1 / factor <= digits * s->f_error);
}

static hinge_status keep_solution(struct hg_training *t, const struct hg_qp *qp, const uint32_t *subset,
                                  struct hg_solution *s, hinge_error *err)
{
    double b, factor;
    hg_problem_bias(&t->problem, s->bias, &b, &factor);
    if (!isfinite(b)) /* HINGE_NONFINITE */
        b = 0;
    s->report.outcome = is_lost(t, s, 1) ? HINGE_NO_MARGIN : s->report.outcome;
    if (factor == 0 || s->report.outcome == HINGE_NO_MARGIN)
        factor = 1; /* a run cut short has not found out whether there is a margin */
    double largest = 0;
    s->n_sv = hg_qp_support(qp, NULL, NULL, NULL);
    for (int l = 0; l < qp->layers; l++)
        for (size_t i = 0; i < qp->n; i++) {
            double beta = qp->beta[l][i];
            largest = HG_MAX(largest, fabs(beta));
            s->report.n_bsv += beta != 0 && (beta >= qp->hi[l][i] || beta <= qp->lo[l][i]);
        }
    if (!isfinite(largest * factor)) { /* coefficients stay finite */
        factor = 1;
        s->report.outcome = HINGE_NONFINITE;
    }
    if (!HG_ROOM(HG_ARRAY(s->point, s->n_sv), HG_ARRAY(s->beta, s->n_sv)))
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu coefficients", s->n_sv);
    hg_qp_support(qp, NULL, s->point, s->beta);
    for (size_t k = 0; k < s->n_sv; k++) {
        s->point[k] = subset[s->point[k]];
        s->beta[k] *= factor;
    }
    s->rho = b != 0 ? -b * factor : 0; /* never -0 */
    s->report.objective = s->report.objective * factor * factor;
    if (!hg_params_hard(t->params) && (!isfinite(s->report.objective) || !isfinite(s->rho)))
        s->report.outcome = HINGE_NONFINITE;
    return HINGE_OK;
}

/* Where the caller leaves the solver open, eps is what is asked for, and not the interior point's gap as well. */
static void end_by_eps(const struct hg_training *t, hinge_report *report)
{
    bool open = t->params->solver == HINGE_SOLVER_AUTO && !hg_params_need_interior(t->params);
    if (open && report->outcome == HINGE_STALLED && report->violation <= t->params->eps)
        report->outcome = HINGE_CONVERGED;
}

/* The interior point may go on for SMO, which was chosen. */
static bool is_open(const struct hg_training *t)
{
    return hg_params_leave_solver(t->params) && !t->interior;
}

static void keep(struct hg_reduced *reduced, bool back)
{
    double *all = reduced->kept;
    for (int l = 0; l < reduced->qp.layers; l++, all += reduced->qp.n)
        memcpy(back ? reduced->qp.beta[l] : all, back ? all : reduced->qp.beta[l], reduced->qp.n * sizeof *all);
}

/* The interior point goes on where SMO has taken so many steps or has stalled, as it does where coefficients are large:
 * to the interior point their size is nothing. Where that does not end at eps, SMO goes on from the better of both, if
 * that is not where it stalled; where all columns were not enough, for rounding, it is not given steps without end. */
static hinge_status go_on_inside(struct hg_training *t, struct hg_reduced *reduced, size_t columns,
                                 struct hg_lowrank *made, const struct hg_smo_options *options, struct hg_solution *s,
                                 hinge_error *err)
{
    size_t n = reduced->qp.n;
    struct hg_solution best = *s; /* its coefficients are kept */
    bool stalled = s->report.outcome == HINGE_STALLED;
    keep(reduced, false);
    hinge_status status = HINGE_ENOMEM;
    if (made != NULL || columns <= hg_lowrank_most(n))
        status = solve_inside(t, reduced, made, options, s, err);
    end_by_eps(t, &s->report);
    bool ends = status == HINGE_OK && (s->report.outcome == HINGE_CONVERGED || hg_ended_early(s->report.outcome));
    if (!ends && (status == HINGE_OK || status == HINGE_ENOMEM)) {
        hinge_report work = s->report;
        bool better = status == HINGE_OK && s->report.objective < best.report.objective;
        keep(reduced, !better);
        if (better)
            best = *s;
        else
            *s = best;
        hg_ok(err);
        s->report.outcome = HINGE_STALLED;
        struct hg_smo_options rest = *options;
        rest.warm = true;
        rest.max_iter = made == NULL ? HG_LAST_STEPS * hg_lowrank_steps(n, columns) : 0;
        status = better || !stalled ? solve(t, reduced, &rest, s, err) : HINGE_OK;
        if (better || !stalled)
            hg_add_work(&s->report, &work);
        if (rest.max_iter > 0 && s->report.outcome == HINGE_MAX_ITER)
            s->report.outcome = HINGE_STALLED;
    }
    hinge_outcome outcome = s->report.outcome;
    if (status == HINGE_OK && outcome != HINGE_CONVERGED && !(s->report.objective <= best.report.objective)) {
        keep(reduced, true);
        *s = best;
        s->report.outcome = outcome;
    }
    return status;
}

/* A violation may be below eps, and r hardly more or less: then the model and its sign hang on chance, so SMO goes on
 * to smaller eps until r has a digit. Where that is not found, at the expense of some times the steps taken so far, the
 * model is what it was. */
static hinge_status find_r(struct hg_training *t, struct hg_reduced *reduced, const struct hg_smo_options *options,
                           struct hg_solution *s, hinge_error *err)
{
    struct hg_smo_options finer = *options;
    uint64_t first = s->report.iterations, most = first + 5 * (first + reduced->qp.n);
    most = options->max_iter > 0 ? HG_MIN(options->max_iter, most) : most;
    for (finer.eps /= 100; is_lost(t, s, 10) && finer.eps > 1e-13; finer.eps /= 100) {
        struct hg_solution before = *s;
        if (before.report.iterations >= most)
            break;
        finer.max_iter = most - before.report.iterations;
        keep(reduced, false);
        HG_TRY(solve(t, reduced, &finer, s, err));
        hinge_report work = s->report;
        if (work.outcome == HINGE_CONVERGED) {
            hg_add_work(&s->report, &before.report);
            continue;
        }
        *s = before;
        hg_add_work(&s->report, &work);
        keep(reduced, true);
        s->report.outcome = hg_ended_early(work.outcome) ? work.outcome : HINGE_CONVERGED;
        break;
    }
    return HINGE_OK;
}

/* Looks now and then, while SMO takes its steps, whether the kernel has a factor that takes less. */
struct prospect {
    const struct hg_training *t;
    const struct hg_reduced *reduced;
    uint64_t next;       /* look: after so many steps */
    struct hg_lowrank z; /* it */
    bool found;
    const struct hg_smo_options *options;
};

static bool leaves(void *arg, uint64_t iterations)
{
    struct prospect *p = arg;
    const struct hg_reduced *reduced = p->reduced;
    if (p->found || iterations < p->next)
        return p->found;
    p->next = HG_MAX(p->next, iterations);
    p->found = hg_lowrank_find(&p->z, &p->t->distinct.problem, reduced->points, &reduced->qp, p->options->eps, p->next,
                               p->options->threads, &p->options->halt);
    p->next = p->next > UINT64_MAX / 4 ? UINT64_MAX : 2 * p->next;
    return p->found;
}

static bool is_unfinished(const hinge_report *report)
{
    return report->outcome == HINGE_STALLED || report->outcome == HINGE_MAX_ITER;
}

/* What SMO has left unfinished goes on inside, by the columns that the kernel has or by a factor that was found; where
 * it has stalled on few points, and none is near enough, as of a kernel that rounding has left a little indefinite, by
 * all columns there are. */
static hinge_status finish_inside(struct hg_training *t, struct prospect *prospect, size_t columns,
                                  struct hg_reduced *reduced, const struct hg_smo_options *options,
                                  struct hg_solution *s, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    if (columns > 0 && is_unfinished(&s->report))
        status = go_on_inside(t, reduced, columns, NULL, options, s, err);
    else if (columns == 0 && s->report.outcome == HINGE_STALLED && is_open(t) && reduced->qp.n <= HG_RANK_EXACT &&
             !leaves(prospect, UINT64_MAX / 2) && t->params->kernel.type != HINGE_SIGMOID)
        status = go_on_inside(t, reduced, reduced->qp.n, NULL, options, s, err);
    while (prospect->found && status == HINGE_OK) {
        struct hg_lowrank z = prospect->z;
        prospect->found = false;
        prospect->next = prospect->next > UINT64_MAX / 4 ? UINT64_MAX : 4 * prospect->next;
        status = go_on_inside(t, reduced, 0, &z, options, s, err);
    }
    return status;
}

static hinge_status solve_part(struct hg_training *t, struct hg_reduced *reduced, struct prospect *prospect,
                               struct hg_smo_options *options, struct hg_solution *s, hinge_error *err)
{
    if (t->interior) {
        HG_TRY(solve_inside(t, reduced, NULL, options, s, err));
        end_by_eps(t, &s->report);
        return HINGE_OK;
    }
    size_t columns = is_open(t) ? hg_lowrank_inside(&t->distinct.problem, reduced->qp.n) : 0;
    prospect->next = HG_RANK_LOOK * (uint64_t)reduced->qp.n;
    options->leaves_arg = prospect;
    if (columns > 0)
        options->max_iter = hg_lowrank_steps(reduced->qp.n, columns);
    else if (is_open(t))
        options->leaves = leaves;
    HG_TRY(solve(t, reduced, options, s, err));
    options->max_iter = t->params->max_iter;
    HG_TRY(finish_inside(t, prospect, columns, reduced, options, s, err));
    options->leaves = NULL;
    return find_r(t, reduced, options, s, err);
}

hinge_status hg_solve_problem(void *arg, size_t p, int threads, hinge_error *err)
{
    struct hg_training *t = arg;
    struct hg_solution *s = &t->solutions[p];
    struct callback callback = callback_of(t, p);
    callback.halt.arg = &callback;
    struct hg_smo_options options = options_for(t, &callback, threads);
    struct hg_reduced reduced;
    struct prospect prospect = { t, &reduced, .options = &options };
    hinge_status status = hg_reduced_init(&reduced, &t->distinct, &t->problem, p, err);
    if (status == HINGE_OK)
        status = solve_part(t, &reduced, &prospect, &options, s, err);
    if (prospect.found)
        hg_lowrank_free(&prospect.z);
    if (status == HINGE_OK) {
        hg_reduced_finish(&reduced);
        status = keep_solution(t, &reduced.whole, reduced.rows, s, err);
    }
    hg_reduced_free(&reduced);
    return status;
}
