/*
 * Training: the place where a kernel meets a solver. Data and parameters become two-class QPs (problem.c); each
 * is solved by block SMO over kernel rows by GEMM, or by the interior point over a factor of the kernel; what comes out
 * is packed into a model.
 */
#include "lib/copy.h"
#include "lib/lowrank.h"
#include "lib/model.h"
#include "lib/params.h"
#include "lib/proba.h"
#include "lib/problem.h"
#include "lib/scaling.h"
#include "solver/smo/block.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

/* One two-class problem solved: coefficients by point of the training. */
struct solution {
    uint32_t *point; /* [n_sv] */
    double *beta;    /* [n_sv] */
    size_t n_sv;
    double rho, bias[2];
    hinge_report report; /* of this problem: the interior point tells of itself in SMO's terms */
    double rows_computed; /* whole ones */
    size_t working_set;
    bool lists;           /* its kernel rows came from lists, not GEMM */
    double margin_bound;  /* interior point */
};

/* What one problem after the other takes. */
struct room {
    struct hg_arena rows, panels;
};

struct training {
    struct hg_problem problem;
    const hinge_params *params; /* the problem's, resolved */
    int threads;
    bool interior;             /* the solver */
    bool beyond_f32;           /* hg_kernel_beyond_f32: rows are f64, whatever is asked for */
    size_t cache_bytes;
    double begin;
    int stop;                  /* for all problems; 1: time, 2: callback */
    omp_lock_t lock;           /* of the callback */
    struct hg_copy copy;       /* of the points, as rows in f32 are made from it */
    struct hg_cells cells;     /* of the points; empty where no kernel values are negligible */
    struct solution *solutions; /* [n_problems] */
    struct room *rooms;         /* [threads] of those that problems run in */
};

/* ---- the points -------------------------------------------------------------------------------------------------- */

enum { TINY = 64 }; /* examples whose rows take no longer in f64 than the proof of what f32 made of them */

static bool wants_f32(const struct training *t)
{
    bool wanted = t->params->precision == HINGE_PRECISION_F32 ||
                  (t->params->precision == HINGE_PRECISION_AUTO && t->problem.x.rows > TINY);
    return wanted && t->params->kernel.type != HINGE_USER && !t->interior && !t->beyond_f32;
}

static hinge_status make_copy(struct training *t, hinge_error *err)
{
    t->beyond_f32 = hg_kernel_beyond_f32(&t->params->kernel, t->problem.n, t->problem.norms);
    return hg_copy_init(&t->copy, &t->problem, !t->interior, wants_f32(t), err);
}

/* RBF: values that, all together, change no gradient by more than eps / 10,000 need not be computed: cells as far from
 * each other as that. */
static hinge_status make_cells(struct training *t, hinge_error *err)
{
    const hinge_params *p = t->params;
    double box = 0;
    if (p->kernel.type != HINGE_RBF || !(p->kernel.gamma > 0) || t->interior || t->copy.hamming.features > 0)
        return HINGE_OK;
    for (size_t i = 0; i < t->problem.n; i++)
        box += t->problem.weight[i] * HG_MAX(p->C, 1.0);
    hinge_status status =
        hg_cells_init(&t->cells, &t->copy.points, log(1e4 * box / p->eps) / p->kernel.gamma, t->threads, err);
    if (status == HINGE_OK && t->cells.count > 0)
        t->problem.points.cells = t->copy.points.cells = &t->cells;
    return status;
}

/* ---- one problem ------------------------------------------------------------------------------------------------- */

static const double ASK_EVERY = 0.1; /* seconds, where a round takes longer */

struct callback {
    struct training *t;
    struct hg_halt halt;
    hinge_progress last; /* told, or about to be */
    double told;         /* when, on hg_now's clock */
};

static int tell(struct callback *c)
{
    struct training *t = c->t;
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

static struct callback callback_of(struct training *t, size_t problem)
{
    const hinge_params *p = t->params;
    struct callback c = { .t = t, .told = t->begin };
    c.halt.stop = &t->stop;
    c.halt.deadline = p->time_limit > 0 ? t->begin + p->time_limit : 0;
    c.halt.ask = p->progress != NULL ? on_question : NULL;
    c.last.problem = problem;
    c.last.n_problems = t->problem.n_problems;
    c.last.n = c.last.n_active = hg_problem_size(&t->problem, problem);
    c.last.violation = INFINITY;
    return c;
}

/* Bytes that a problem can use at most: all its rows, and what goes with them. */
static size_t problem_bytes(const struct training *t, size_t p)
{
    size_t n = hg_problem_size(&t->problem, p), bytes;
    if (t->interior)
        return hg_mul(t->problem.d + 64, (t->problem.d + 64) * 40 * sizeof(double), &bytes) ? bytes : SIZE_MAX;
    return hg_mul(n + 64, (n + 64) * sizeof(double), &bytes) ? bytes : SIZE_MAX;
}

/* Of the problem that runs here with so many threads. */
static struct room *room_of(const struct training *t, int threads)
{
    return &t->rooms[threads < t->threads ? omp_get_thread_num() : 0];
}

static struct hg_smo_options options_for(struct training *t, struct callback *callback, int threads)
{
    const hinge_params *p = t->params;
    /* where there are several problems, some of them may run at once */
    size_t newton = t->problem.n_problems > 1 ? HG_MIN(problem_bytes(t, callback->last.problem), t->cache_bytes)
                                              : t->cache_bytes;
    return (struct hg_smo_options){
        .eps = p->eps,
        .working_set = p->working_set,
        .max_iter = p->max_iter,
        .shrinking = p->shrinking,
        .cache_bytes = t->cache_bytes,
        .arena = &room_of(t, threads)->rows,
        .newton_bytes = p->newton ? newton : 0,
        .threads = threads,
        .cpu_level = hg_cpu_level(p->cpu_level),
        .profile = p->profile != 0,
        .symmetric = t->params->kernel.type != HINGE_USER && t->params->kernel.type != HINGE_PRECOMPUTED,
        .measured = HG_MAX((size_t)64, 512 / t->problem.n_problems), /* 512 at least in all */
        .halt = callback->halt,
        .progress = p->progress != NULL ? on_progress : NULL,
        .progress_arg = callback,
    };
}

/* Rows in f32 were of no use: the problem anew, from its start. */
static hinge_status start_again(const struct training *t, size_t p, const uint32_t *subset, struct hg_qp *qp,
                                hinge_error *err)
{
    double sums[2];
    size_t n = qp->n;
    hg_qp_free(qp);
    return hg_problem_qp(&t->problem, p, subset, n, qp, sums, err);
}

static const double LOOK_AGAIN = 1e10; /* multiply-adds at most: a fraction of a second */

/* beta becomes 0, and what is told of it what holds there. */
static hinge_status take_zero(struct hg_qp *qp, hinge_report *report, double *bias)
{
    double *zero = hg_zalloc(qp->n, sizeof *zero);
    if (zero == NULL)
        return HINGE_ENOMEM;
    memcpy(qp->beta[0], zero, qp->n * sizeof *zero);
    report->objective = 0;
    bias[0] = hg_qp_bias(qp, NULL, qp->n, zero, 0);
    report->violation = hg_qp_violation(qp, zero);
    hg_free(zero);
    return HINGE_OK;
}

static bool is_worse_than_none(const struct hg_qp *qp, const double *sums, const struct hg_smo_result *result)
{
    return (qp->no_sum || sums[0] == 0) && qp->layers == 1 && result->report.objective > 0;
}

/* A run that was ended on the way knows its objective from a gradient by f32 rows, or one that was being made: it is
 * taken anew where that is done at once, and no coefficients are given back that are worth less than none. */
static hinge_status look_again(const struct training *t, struct hg_rows *exact, struct hg_qp *qp, const double *sums,
                               struct hg_smo_result *result)
{
    double n_sv = (double)hg_qp_support(qp, NULL, NULL, NULL);
    bool ended = hg_ended_early(result->report.outcome) || result->report.outcome == HINGE_MAX_ITER ||
                 result->report.outcome == HINGE_STALLED;
    if (!ended || n_sv * n_sv * (double)(t->problem.d + 8) > LOOK_AGAIN)
        return HINGE_OK;
    hinge_status status = hg_objective(exact, qp, &result->report.objective);
    if (status != HINGE_OK || !is_worse_than_none(qp, sums, result))
        return status;
    return take_zero(qp, &result->report, result->bias);
}

/* f32 rows first where they are wanted; where they turn out too coarse, f64 rows from there on. */
static hinge_status solve(struct training *t, size_t p, struct hg_qp *qp, const uint32_t *subset, const double *sums,
                          const struct hg_smo_options *options, struct solution *s, hinge_error *err)
{
    const struct hg_problem *pr = &t->problem;
    struct hg_smo_result smo = { 0 };
    hinge_report *report = &smo.report;
    struct hg_gram exact = { 0 }, rows = { 0 };
    hinge_status status = hg_problem_exact(pr, subset, qp->n, options->threads, &exact, err);
    bool f32 = wants_f32(t);
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
                           (report->outcome == HINGE_CONVERGED && is_worse_than_none(qp, sums, &smo)));
    if (smo.coarse && options->max_iter > 0 && report->iterations >= options->max_iter) {
        smo.coarse = false; /* no step is left for f64 rows */
        report->outcome = HINGE_MAX_ITER;
    }
    if (status == HINGE_OK &&
        (!f32 || ((smo.coarse || useless) && t->params->precision == HINGE_PRECISION_AUTO))) {
        struct hg_smo_result before = smo;
        struct hg_smo_options rest = *options;
        if (rest.max_iter > 0)
            rest.max_iter -= HG_MIN(rest.max_iter - 1, before.report.iterations);
        hg_gram_free(&rows);
        exact.lent = panels;
        if (useless)
            status = start_again(t, p, subset, qp, err);
        if (status == HINGE_OK)
            status = hg_block_smo(qp, &exact.super, &exact.super, &rest, &smo, err);
        hg_add_work(report, &before.report);
        smo.columns_computed += before.columns_computed;
        f32 = false;
    }
    if (status == HINGE_OK && look_again(t, &exact.super, qp, sums, &smo) != HINGE_OK)
        status = hg_fail(err, HINGE_ENOMEM, "no memory for %zu rows, or the kernel function failed", qp->n);
    report->precision = f32 ? HINGE_PRECISION_F32 : HINGE_PRECISION_F64;
    report->gflop = rows.super.gflop + exact.super.gflop;
    report->kernel_values = rows.super.values + exact.super.values;
    report->memory_bytes += rows.work_bytes + exact.work_bytes;
    s->report = *report;
    s->rows_computed = (double)smo.columns_computed / (double)HG_MAX(qp->n, (size_t)1);
    s->working_set = smo.working_set;
    s->lists = f32 ? rows.tiler.lists : exact.tiler.lists;
    memcpy(s->bias, smo.bias, sizeof s->bias);
    hg_gram_free(&rows);
    hg_gram_free(&exact);
    return status;
}

static void keep_interior(const struct hg_interior_result *r, const struct hg_lowrank *z, struct solution *s)
{
    hinge_report before = s->report;
    s->report = r->report;
    hg_add_work(&s->report, &before);
    s->report.error = z->trace_error > 0 ? NAN : 0;
    s->report.memory_bytes += z->bytes;
    s->report.rank = before.rank;
    s->report.trace_error = before.trace_error;
    s->bias[0] = r->bias;
    s->margin_bound = r->margin_bound;
}

/* What a factor's solution is worth by the kernel itself: also of a run that was ended, where that is told at once. */
static hinge_status judge_by_kernel(const struct training *t, struct hg_qp *qp, const uint32_t *subset,
                                    const struct hg_interior_options *options, struct hg_interior_result *result,
                                    hinge_error *err)
{
    double *g = hg_alloc(qp->n, sizeof *g);
    if (g == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu rows", qp->n);
    double work = (double)hg_qp_support(qp, NULL, NULL, NULL) * (double)qp->n * (double)(t->problem.d + 8);
    const struct hg_halt *halt = work > LOOK_AGAIN ? &options->halt : NULL;
    hinge_status status = hg_problem_gradient(&t->problem, subset, qp, options->threads, halt, g, err);
    if (status == HINGE_OK && halt != NULL && hg_halted(halt))
        result->report.outcome = hg_halt_outcome(halt);
    else if (status == HINGE_OK)
        hg_interior_judge(qp, g, options, result);
    hg_free(g);
    return status;
}

/* On a factor of so many columns at most, or the data where rank is 0 and they are such. *all: there are no more. Where
 * there may be more, and they are a good part of the kernel, it is not worth solving. */
static hinge_status solve_by_factor(struct training *t, struct hg_qp *qp, const uint32_t *subset, size_t rank,
                                    bool may_be_more, const struct hg_interior_options *options, struct solution *s,
                                    bool *all, hinge_error *err)
{
    struct hg_lowrank z;
    struct hg_interior_result result;
    double begin = hg_now();
    hinge_status status =
        hg_lowrank_init(&z, &t->problem, subset, qp->n, rank, options->threads, &options->halt, err);
    if (status != HINGE_OK)
        return status;
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
    status = hg_interior_point(qp, &z.super, options, &result, err);
    bool has_margin = result.report.outcome != HINGE_NO_MARGIN;
    if (status == HINGE_OK && (z.z != NULL || result.report.objective > 0) && has_margin)
        status = judge_by_kernel(t, qp, subset, options, &result, err);
    if (status == HINGE_OK && !has_margin && z.trace_error > 1e-12)
        result.report.outcome = HINGE_STALLED; /* what ZZ' does not separate K may */
    if (status == HINGE_OK)
        keep_interior(&result, &z, s);
    hg_lowrank_free(&z);
    return status;
}

/* The interior point, on the data or on a factor of their kernel, which gets more columns where nobody said how many
 * and they are too few for eps. */
static hinge_status solve_inside(struct training *t, struct hg_qp *qp, const uint32_t *subset, double sum,
                                 const struct hg_smo_options *o, struct solution *s, hinge_error *err)
{
    struct hg_interior_options options = {
        .eps = o->eps, .gap = fmin(o->eps, 1e-6), .sum = sum, .threads = o->threads, .halt = o->halt,
        .progress = o->progress, .progress_arg = o->progress_arg
    };
    size_t asked = t->params->rank, most = hg_lowrank_most(qp->n);
    hinge_status status = HINGE_OK;
    bool all = false, enough = false;
    for (size_t rank = asked; status == HINGE_OK && !enough; rank = HG_MIN(most, 2 * s->report.rank)) {
        options.max_iter = o->max_iter > 0 ? o->max_iter - s->report.iterations : 0;
        size_t columns = HG_MIN(rank > 0 ? rank : (size_t)HG_RANK_DEFAULT, most);
        status = solve_by_factor(t, qp, subset, rank, asked == 0 && columns < most, &options, s, &all, err);
        enough = all || asked > 0 || s->report.outcome != HINGE_STALLED || s->report.rank >= most ||
                 (o->max_iter > 0 && s->report.iterations >= o->max_iter);
    }
    bool unknown = hg_ended_early(s->report.outcome) && !isfinite(s->report.objective) && sum == 0;
    /* ended before its first step */
    if (status == HINGE_OK && unknown && take_zero(qp, &s->report, s->bias) != HINGE_OK)
        status = hg_fail(err, HINGE_ENOMEM, "no memory for %zu coefficients", qp->n);
    return status;
}

static hinge_status keep_solution(struct training *t, const struct hg_qp *qp, const uint32_t *subset,
                                  struct solution *s, hinge_error *err)
{
    double b, factor;
    hg_problem_bias(&t->problem, s->bias, &b, &factor);
    if (!isfinite(b)) /* HINGE_NONFINITE */
        b = 0;
    bool converged = s->report.outcome == HINGE_CONVERGED;
    bool lost = t->params->task == HINGE_NU_SVC && 1 / factor <= s->report.error; /* r in F's error (NaN: not known) */
    if (factor == 0 || (converged && lost)) { /* r <= 0 */
        factor = 1;
        s->report.outcome = converged ? HINGE_NO_MARGIN : s->report.outcome; /* a run cut short has not found out */
    }
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
    s->point = hg_alloc(s->n_sv, sizeof *s->point);
    s->beta = hg_alloc(s->n_sv, sizeof *s->beta);
    if (s->point == NULL || s->beta == NULL)
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

static hinge_status solve_problem(struct training *t, size_t p, int threads, hinge_error *err)
{
    struct callback callback = callback_of(t, p);
    callback.halt.arg = &callback;
    struct hg_smo_options options = options_for(t, &callback, threads);
    struct hg_qp qp = { 0 };
    double sums[2];
    uint32_t *subset = hg_alloc(t->problem.n, sizeof *subset);
    if (subset == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu rows", t->problem.n);
    size_t n = hg_problem_points(&t->problem, p, subset);
    hinge_status status = hg_problem_qp(&t->problem, p, subset, n, &qp, sums, err);
    if (status == HINGE_OK && t->interior)
        status = solve_inside(t, &qp, subset, sums[0], &options, &t->solutions[p], err);
    else if (status == HINGE_OK)
        status = solve(t, p, &qp, subset, sums, &options, &t->solutions[p], err);
    if (status == HINGE_OK)
        status = keep_solution(t, &qp, subset, &t->solutions[p], err);
    hg_qp_free(&qp);
    hg_free(subset);
    return status;
}

/* ---- all problems ------------------------------------------------------------------------------------------------ */

/* Problems run side by side, one thread each, where `threads` of the largest fit the cache budget whole: no row
 * is evicted then, and the results are those of running them in turn. */
static bool side_by_side(const struct training *t)
{
    size_t largest = 0, all;
    if (t->threads < 2 || t->problem.n_problems < 2)
        return false;
    for (size_t p = 0; p < t->problem.n_problems; p++)
        largest = HG_MAX(largest, problem_bytes(t, p));
    return hg_mul(largest, (size_t)t->threads, &all) && all <= t->cache_bytes;
}

static hinge_status solve_all(struct training *t, hinge_error *err)
{
    size_t count = t->problem.n_problems;
    hinge_status status = HINGE_OK;
    if (!side_by_side(t)) {
        for (size_t p = 0; p < count && status == HINGE_OK; p++)
            status = solve_problem(t, p, t->threads, err);
        return status;
    }
#pragma omp parallel for num_threads(t->threads) schedule(dynamic, 1)
    for (size_t p = 0; p < count; p++) {
        hinge_error mine;
        hg_ok(&mine);
        hinge_status done = HINGE_OK;
        omp_set_lock(&t->lock);
        bool failed = status != HINGE_OK;
        omp_unset_lock(&t->lock);
        if (!failed)
            done = solve_problem(t, p, 1, &mine);
        if (done != HINGE_OK) {
            omp_set_lock(&t->lock);
            if (status == HINGE_OK) {
                status = done;
                if (err != NULL)
                    *err = mine;
            }
            omp_unset_lock(&t->lock);
        }
    }
    return status;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* Marks the points that are SVs of any problem; then numbers them. */
static size_t number_sv(const struct training *t, uint32_t *number)
{
    size_t n_sv = 0;
    for (size_t p = 0; p < t->problem.n_problems; p++)
        for (size_t k = 0; k < t->solutions[p].n_sv; k++)
            number[t->solutions[p].point[k]] = 1;
    for (size_t i = 0; i < t->problem.n; i++)
        if (number[i] != 0)
            number[i] = (uint32_t)n_sv++;
        else
            number[i] = UINT32_MAX;
    return n_sv;
}

static void fill_sv(const struct training *t, const uint32_t *number, hinge_model *m)
{
    const struct hg_problem *pr = &t->problem;
    struct hg_points plain = pr->points;
    plain.shift = NULL;
    for (size_t i = 0, c = 0; i < pr->n; i++) {
        size_t sv = number[i];
        while (m->labels != NULL && i >= pr->start[c + 1])
            c++;
        if (sv == UINT32_MAX)
            continue;
        m->sv_index[sv] = pr->order[i];
        if (m->class_sv != NULL)
            m->class_sv[c]++;
        if (m->sv != NULL)
            hg_points_pack(&plain, NULL, i, 1, HINGE_F64, m->sv + sv * m->d, m->d);
        else
            m->sv_serial[sv] = pr->column[i];
    }
    for (size_t sv = 0; m->sv_serial != NULL && sv < m->n_sv; sv++)
        m->d = HG_MAX(m->d, m->sv_serial[sv] + 1);
}

static void fill_coef(const struct training *t, const uint32_t *number, hinge_model *m)
{
    const struct hg_problem *pr = &t->problem;
    for (size_t p = 0; p < pr->n_problems; p++) {
        const struct solution *s = &t->solutions[p];
        size_t a, b;
        hg_problem_pair(pr, p, &a, &b);
        for (size_t k = 0; k < s->n_sv; k++) {
            bool first = s->point[k] < pr->start[a + 1];
            size_t row = !pr->classifies ? 0 : pr->one_vs_rest ? p : first ? b - 1 : a;
            m->coef[row * m->n_sv + number[s->point[k]]] = s->beta[k];
        }
        m->rho[p] = s->rho;
        m->objectives[p] = s->report.objective;
    }
}

static hinge_status build_model(const struct training *t, hinge_model **out, hinge_error *err)
{
    const struct hg_problem *pr = &t->problem;
    uint32_t *number = hg_zalloc(pr->n, sizeof *number);
    if (number == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu rows", pr->n);
    size_t n_sv = number_sv(t, number);
    size_t d = t->params->kernel.type == HINGE_PRECOMPUTED ? 0 : pr->d;
    hinge_model *m =
        hg_model_new(t->params->task, t->params->kernel, t->params->multiclass, pr->n_classes, n_sv, d);
    if (m != NULL) {
        m->sv_index = hg_alloc(n_sv, sizeof *m->sv_index);
        m->objectives = hg_zalloc(m->n_problems, sizeof *m->objectives);
    }
    hinge_status status = HINGE_OK;
    if (m == NULL || m->sv_index == NULL || m->objectives == NULL) {
        status = hg_fail(err, HINGE_ENOMEM, "no memory for a model of %zu support vectors of %zu features",
                         n_sv, pr->d);
    } else {
        m->n_trained = pr->x.rows;
        m->tau = pr->task->uses_tau ? t->params->tau : 0;
        if (m->labels != NULL)
            memcpy(m->labels, pr->labels, pr->n_classes * sizeof *m->labels);
        fill_sv(t, number, m);
        fill_coef(t, number, m);
        status = hg_model_finish(m, err);
    }
    hg_free(number);
    if (status == HINGE_OK)
        *out = m;
    else
        hinge_model_free(m);
    return status;
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

/* margin: no hyperplane has a larger one (hard margin) */
static void report_path(const struct training *t, size_t q, double margin, hinge_report *r)
{
    const struct hg_problem *pr = &t->problem;
    const struct hg_kernel_row *row = hg_kernel_row(t->params->kernel.type);
    static const char *const source[] = { "gemm", "matrix", "callback" };
    if (t->interior) {
        bool approximate = r->trace_error > 0 && r->outcome == HINGE_STALLED;
        int used = snprintf(r->path, sizeof r->path, "interior-point d=%zu, %s%s%s%s", r->rank, row->keyword,
                            t->params->no_bias ? ", no bias" : "", side_by_side(t) ? ", pairs side by side" : "",
                            approximate ? ", approximate" : "");
        if (r->outcome == HINGE_NO_MARGIN && used > 0 && (size_t)used < sizeof r->path)
            snprintf(r->path + used, sizeof r->path - (size_t)used, ", no margin above %.2g", margin);
        return;
    }
    bool lists = t->problem.n_problems > 0 && t->solutions[0].lists;
    char near[32] = "";
    if (t->cells.count > 0)
        snprintf(near, sizeof near, ", %.2g %% near", 100 * t->cells.near);
    snprintf(r->path, sizeof r->path, "block-smo q=%zu, %s %s, %s %s%s%s%s%s%s%s", q,
             t->copy.hamming.features > 0 ? "counts" : lists ? "lists" : source[row->source],
             r->precision == HINGE_PRECISION_F32 ? "f32" : "f64", row->keyword,
             hg_maps(hg_cpu_level(t->params->cpu_level))->level, pr->shift != NULL ? ", centred" : "", near,
             t->params->no_bias ? ", no bias" : "",
             side_by_side(t) ? ", pairs side by side" : "", r->newton_steps > 0 ? ", newton" : "",
             r->newton_no_room > 0 ? ", no room for newton" : "");
}

static void fill_report(const struct training *t, const hinge_model *m, hinge_report *r)
{
    const struct hg_problem *pr = &t->problem;
    hinge_machine machine = hg_processor_info();
    size_t q = 0;
    double margin = INFINITY, rows_computed = 0, gap = t->interior ? 0 : NAN;
    *r = (hinge_report){ .precision = wants_f32(t) ? HINGE_PRECISION_F32 : HINGE_PRECISION_F64,
                         .error = m->n_problems > 0 ? 0 : NAN };
    for (size_t p = 0; p < m->n_problems; p++) {
        const struct solution *s = &t->solutions[p];
        hg_add_report(r, &s->report);
        gap = hg_larger(gap, s->report.gap);
        if (s->report.outcome == HINGE_NO_MARGIN)
            margin = fmin(margin, s->margin_bound);
        rows_computed += s->rows_computed;
        q = HG_MAX(q, s->working_set);
    }
    r->n = pr->n;
    r->d = pr->d;
    r->n_classes = m->n_classes;
    r->n_problems = m->n_problems;
    r->n_sv = m->n_sv;
    r->gap = gap;
    r->threads = hg_threads(t->params->threads);
    r->cache_bytes = t->cache_bytes;
    r->rows_computed = (uint64_t)(rows_computed + 0.5);
    r->memory_bytes = r->memory_bytes * (side_by_side(t) ? (size_t)t->threads : 1) + pr->n * 64 +
                      hg_hamming_bytes(&t->copy.hamming) +
                      (t->copy.values != NULL ? pr->n * (t->copy.points.x.stride + 1) * sizeof(float) : 0) +
                      m->n_sv * m->d * (sizeof(double) + (m->f32_is_enough ? sizeof(float) : 0)) +
                      (m->panels != NULL && !m->f32_is_enough ? m->n_sv * m->d * sizeof(double) : 0);
    memcpy(r->blas, machine.blas, sizeof r->blas);
    r->blas_slow = machine.blas_slow;
    r->seconds = hg_now() - t->begin;
    report_path(t, q, margin, r);
}

/* An allocator like glibc's gives free memory back to the system unless a block as large was freed before, and finding
 * the same pages again takes a small training a third of its time. A block that nobody touches costs nothing; without
 * memory for it nothing is lost. */
static void hold_small(size_t n)
{
    if (n <= 1024)
        hg_free(hg_alloc(n * n * 6 + (1 << 20), 1));
}

/* ---- the entry --------------------------------------------------------------------------------------------------- */

/* Asking the system for its memory takes longer than a small training, which any machine has memory for. */
static size_t default_cache(const struct training *t)
{
    const size_t small = (size_t)1 << 19;
    size_t need = 0;
    for (size_t p = 0; p < t->problem.n_problems; p++)
        need = HG_MAX(need, problem_bytes(t, p));
    if (need <= small)
        return 128 * small; /* several problems side by side */
    size_t half = hg_total_memory() / 2;
    if (need > half / 4)
        return HG_MIN(need, half);
    return half / 4; /* several problems side by side */
}

static bool uses_interior(const struct hg_problem *pr)
{
    const hinge_params *p = &pr->params;
    if (p->solver != HINGE_SOLVER_AUTO)
        return p->solver == HINGE_SOLVER_INTERIOR_POINT;
    if (hg_params_need_interior(p))
        return true;
    bool asks_for_smo =
        p->beta0 != NULL || p->max_iter > 0 || p->working_set > 0 || p->precision == HINGE_PRECISION_F32;
    return !asks_for_smo && hg_lowrank_pays(pr);
}

static void training_free(struct training *t)
{
    for (size_t p = 0; t->solutions != NULL && p < t->problem.n_problems; p++) {
        hg_free(t->solutions[p].point);
        hg_free(t->solutions[p].beta);
    }
    for (int k = 0; t->rooms != NULL && k < t->threads; k++) {
        hg_arena_free(&t->rooms[k].rows);
        hg_arena_free(&t->rooms[k].panels);
    }
    hg_free(t->rooms);
    hg_free(t->solutions);
    hg_copy_free(&t->copy);
    hg_cells_free(&t->cells);
    hg_problem_free(&t->problem);
    omp_destroy_lock(&t->lock);
}

/* Without calibration, which is checked all the same. */
static hinge_status train_plain(hinge_model **model, const hinge_matrix *x, const double *y, const hinge_params *params,
                                double begin, hinge_report *report, hinge_error *err)
{
    struct training t;
    memset(&t, 0, sizeof t);
    t.begin = begin;
    omp_init_lock(&t.lock);
    hinge_status status = hg_problem_init(&t.problem, x, y, params, err);
    if (status == HINGE_OK) {
        t.params = &t.problem.params;
        t.threads = t.problem.threads;
        t.interior = uses_interior(&t.problem);
        t.cache_bytes = t.params->cache_bytes > 0 ? t.params->cache_bytes : default_cache(&t);
        t.solutions = hg_zalloc(t.problem.n_problems, sizeof *t.solutions);
        t.rooms = hg_zalloc((size_t)t.threads, sizeof *t.rooms);
        size_t most = 0;
        for (size_t p = 0; p < t.problem.n_problems; p++)
            most = HG_MAX(most, hg_problem_size(&t.problem, p));
        for (int k = 0; t.rooms != NULL && k < t.threads; k++)
            t.rooms[k].rows.most_points = t.rooms[k].panels.most_points = most;
        if (t.solutions == NULL || t.rooms == NULL)
            status = hg_fail(err, HINGE_ENOMEM, "no memory for %zu two-class problems", t.problem.n_problems);
    }
    if (status == HINGE_OK)
        hold_small(t.problem.n);
    if (status == HINGE_OK)
        status = make_copy(&t, err);
    if (status == HINGE_OK)
        status = make_cells(&t, err);
    if (status == HINGE_OK)
        status = solve_all(&t, err);
    if (status == HINGE_OK)
        status = build_model(&t, model, err);
    if (status == HINGE_OK)
        fill_report(&t, *model, report);
    training_free(&t);
    return status;
}

hinge_status hinge_train(hinge_model **model, const hinge_matrix *x, const double *y,
                         const hinge_params *params, hinge_report *report, hinge_error *err)
{
    struct hg_scaled scaled;
    hinge_report r = { 0 };
    hinge_model *m = NULL;
    double begin = hg_now();
    hg_ok(err);
    if (model == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: NULL");
    if (params == NULL)
        return hg_fail(err, HINGE_EINVAL, "params: NULL");
    hinge_status status = hg_scaled_init(&scaled, x, params, err);
    if (status != HINGE_OK)
        return status;
    status = train_plain(&m, &scaled.x, y, &scaled.params, begin, &r, err);
    if (status == HINGE_OK && params->scaling != NULL)
        status = hinge_scaling_attach(&scaled.scaling, m, err);
    r.memory_bytes += scaled.data != NULL ? x->rows * x->cols * sizeof *scaled.data : 0;
    hg_scaled_free(&scaled);
    bool ended = hg_ended_early(r.outcome);
    if (status == HINGE_OK && params->probability && !ended) {
        status = hg_calibrate_by_folds(m, x, y, params, begin, &r.outcome, err);
        r.seconds = hg_now() - begin;
    }
    if (status == HINGE_OK && report != NULL)
        *report = r;
    if (status == HINGE_OK)
        *model = m;
    else
        hinge_model_free(m);
    return status;
}
