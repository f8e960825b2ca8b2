/*
 * One problem over ranks, around its rounds (round.c): boxes and a feasible start, the verdict, and what comes out.
 * Read run.h before.
 */
#include "mpi/save.h"
#include "lib/base/team.h"
#include "lib/base/teller.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    FEW = 1024 /* points whose gradient is always recomputed in f64 */
};

/* ---- sums over tiles --------------------------------------------------------------------------------------------- */

void hm_sum_tiles(const struct hm_run *r, hm_part_fn *form, size_t m, double *sums)
{
    for (size_t t = 0; t < r->points.n_tiles; t++) {
        double one[HM_REALS] = { 0 };
        form(r, r->points.tile[t].at, r->points.tile[t].n, one);
        for (size_t k = 0; k < m; k++)
            r->total.part[k * r->points.n_tiles + t] = one[k];
    }
    hm_add_reals(r->net, r->total.part, r->points.n_tiles, m, sums);
}

/* ---- the start --------------------------------------------------------------------------------------------------- */

static void form_weights(const struct hm_run *r, size_t at, size_t n, double *part)
{
    for (size_t i = at; i < at + n; i++)
        part[hm_is_first(r, i) ? 0 : 1] += r->own->weight[r->points.of[i]];
}

/* Sums up, of each layer, the sum of its coefficients, then of their sizes. */
static void form_beta(const struct hm_run *r, size_t at, size_t n, double *part)
{
    for (size_t i = at; i < at + n; i++)
        for (int l = 0; l < r->qp.layers; l++) {
            part[l] += r->qp.beta[l][i];
            part[r->qp.layers + l] += fabs(r->qp.beta[l][i]);
        }
}

/* Coefficients of a layer that are inside their box, all of a layer, or those of both layers of a point together. */
enum which { INSIDE, ALL, BOTH };

/* How far an entry goes of what is left, and with `moves` it does. */
static double take(struct hg_qp *qp, enum which which, int l, size_t i, double sign, double left, bool moves)
{
    double *b = &qp->beta[l][i], up = qp->hi[l][i] - *b, down = *b - qp->lo[l][i];
    double room = which == INSIDE && !(up > 0 && down > 0) ? 0
                  : which == BOTH ? HG_MIN(qp->hi[0][i] - qp->beta[0][i], qp->beta[1][i] - qp->lo[1][i])
                                  : sign > 0 ? up : down;
    double step = HG_MIN(room, left);
    if (!moves || !(step > 0))
        return step;
    *b = room < left && which != BOTH ? (sign > 0 ? qp->hi[l][i] : qp->lo[l][i]) : *b + sign * step;
    if (which == BOTH)
        qp->beta[1][i] -= sign * step;
    return step;
}

/* Moves the first entries of layer l, in the order of all points, by `amount` together, each as far as its box goes;
 * BOTH: those of layer 1 the other way. Returns what is left of it. */
static double pour(struct hm_run *r, enum which which, int l, double amount)
{
    double *room = r->total.room;
    double sign = amount < 0 ? -1 : 1, left = fabs(amount);
    const struct hm_tile *end = r->points.tile + r->points.n_tiles;
    memset(room, 0, r->own->n_tiles * sizeof *room);
    for (const struct hm_tile *t = r->points.tile; t < end; t++)
        for (size_t i = t->at; i < t->at + t->n; i++)
            room[t->number] += take(&r->qp, which, l, i, sign, INFINITY, false);
    hm_add_counts(r->net, (uint64_t *)(void *)room, r->own->n_tiles); /* bits: all ranks but one have 0 there */
    for (size_t t = 0; t < r->own->n_tiles; t++) { /* what is left when its turn comes */
        double most = room[t];
        room[t] = left;
        left = HG_MAX(left - most, 0.0);
    }
    for (const struct hm_tile *t = r->points.tile; t < end; t++)
        for (size_t i = t->at; i < t->at + t->n && room[t->number] > 0; i++)
            room[t->number] -= take(&r->qp, which, l, i, sign, room[t->number], true);
    return sign * left;
}

/* Coefficients of a start, or of a checkpoint, into their boxes and to their sums, as hg_qp_project and hg_problem_qp
 * have them: what a nu-SVR of tube 0 lacks goes to both sides of points; then entries inside their box come first, and
 * those at a bound stay there for what is rounding. */
static void make_feasible(struct hm_run *r)
{
    double now[HM_REALS];
    struct hg_qp *qp = &r->qp;
    const double *sums = r->sums;
    const int layers = qp->layers;
    for (int l = 0; l < layers; l++)
        for (size_t i = 0; i < qp->n; i++)
            qp->beta[l][i] = fmin(fmax(qp->beta[l][i], qp->lo[l][i]), qp->hi[l][i]);
    hm_sum_tiles(r, form_beta, 2 * (size_t)layers, now);
    double lacking = r->own->pr.params.task == HINGE_NU_SVR ? HG_MIN(sums[0] - now[0], now[1] - sums[1]) : 0;
    if (r->own->starts > 0 && lacking > 1e-9 * sums[0]) {
        lacking -= pour(r, BOTH, 0, lacking);
        now[0] += lacking;
        now[1] -= lacking;
    }
    for (int l = 0; l < layers && !qp->no_sum; l++) {
        double missing = sums[l] - now[l], rounding = 1e-12 * (fabs(sums[l]) + now[layers + l]);
        if (now[layers + l] > 0 && missing != 0)
            missing = pour(r, INSIDE, l, missing);
        if (fabs(missing) > rounding)
            pour(r, ALL, l, missing);
    }
}

/* Takes the start that params.beta0 brought with the rows. Those of nu-SVC come divided by r: each layer goes back to
 * its sum. */
static void take_start(struct hm_run *r)
{
    struct hg_qp *qp = &r->qp;
    double now[HM_REALS];
    for (size_t at = 0; at < r->points.n; at++)
        hg_qp_put(qp, at, r->own->start[r->points.of[at] * r->own->starts + r->problem]);
    if (r->own->pr.params.task != HINGE_NU_SVC)
        return;
    hm_sum_tiles(r, form_beta, 2 * (size_t)qp->layers, now);
    for (int l = 0; l < qp->layers; l++)
        for (size_t at = 0; at < r->points.n && now[l] != 0 && isfinite(now[l]); at++)
            qp->beta[l][at] = hg_qp_snap(qp->beta[l][at] * r->sums[l] / now[l], qp->lo[l][at], qp->hi[l][at], 1e-10);
}

static hinge_status make_qp(struct hm_run *r, hinge_error *err)
{
    const struct hg_problem *pr = &r->own->pr;
    double weight[HM_REALS];
    HG_TRY(hm_agree(r->net, hg_qp_init(&r->qp, r->points.n, pr->task->two_sums ? 2 : 1, err), err));
    hm_sum_tiles(r, form_weights, 2, weight);
    HG_TRY(hg_problem_sums(pr, &pr->params, r->problem, weight[0], weight[1], r->sums, err)); /* on all ranks alike */
    r->qp.no_sum = pr->params.no_bias;
    r->qp.kink = pr->task->uses_p ? pr->params.p : 0;
    for (size_t at = 0; at < r->points.n; at++)
        hg_problem_box(&pr->params, r->own->weight[r->points.of[at]], r->own->y[r->points.of[at]], hm_is_first(r, at),
                       &r->qp, at);
    return HINGE_OK;
}

bool hm_has_group(const struct hm_run *r, size_t c)
{
    size_t a, b;
    hg_problem_pair(&r->own->pr, r->problem, &a, &b);
    return !r->own->pr.classifies || c == a || c == b || b == SIZE_MAX;
}

/* Finds the groups of the problem, and this rank's points of them. */
static hinge_status find_points(struct hm_run *r, hinge_error *err)
{
    const struct hm_own *own = r->own;
    const struct hg_problem *pr = &own->pr;
    struct hm_points *all = &r->points;
    size_t a, b;
    hg_problem_pair(pr, r->problem, &a, &b);
    size_t most = own->n / own->tile + own->n_groups; /* tiles */
    bool ok = HG_ROOM(HG_ZEROS(all->part, own->n_groups), HG_ARRAY(all->tile, most));
    for (size_t k = 0; ok && k < own->n_groups; k++) {
        size_t c = k == 0 ? a : k <= a ? k - 1 : k; /* the first class first */
        if (!hm_has_group(r, c))
            continue;
        struct hm_part *part = &all->part[all->n_parts++];
        part->begin = own->begin[c];
        part->n = own->begin[c + 1] - own->begin[c];
        part->at = all->n;
        for (size_t i = 0; i < part->n; i += own->tile)
            all->tile[all->n_tiles++] = (struct hm_tile){
                all->n + i, HG_MIN(own->tile, part->n - i),
                own->first_tile[c] + (own->number[part->begin + i] - pr->start[c]) / own->tile, all->n_parts - 1 };
        all->n += part->n;
        r->n_all += pr->start[c + 1] - pr->start[c];
    }
    size_t n = all->n, both = pr->task->two_sums ? n : 0;
    ok = ok && HG_ROOM(HG_ARRAY(all->of, n), HG_ZEROS(all->g, n), HG_ZEROS(all->up[0], n), HG_ZEROS(all->down[0], n),
                       HG_ZEROS(all->up[1], both), HG_ZEROS(all->down[1], both), HG_ZEROS(all->mended, n),
                       HG_ZEROS(all->in_w, n),
                       HG_ARRAY(r->total.part, HM_REALS * all->n_tiles), HG_ARRAY(r->total.room, own->n_tiles));
    for (size_t p = 0; ok && p < all->n_parts; p++)
        for (size_t i = 0; i < all->part[p].n; i++)
            all->of[all->part[p].at + i] = (uint32_t)(all->part[p].begin + i);
    return HM_HAVE(r->net, ok, err, "no memory for %zu rows", n);
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

/* W, messages and rows kept, for rows of r->type; what was there goes. */
static hinge_status make_block(struct hm_run *r, hinge_error *err)
{
    double cost = r->course.cost = hm_cost(r, r->type);
    size_t q = r->w.q = hg_choose_q(cost, r->n_all, r->params->working_set, r->qp.layers);
    size_t size = hg_size_of(r->type), most = 4 * q;
    size_t vector = sizeof(struct hm_fresh) + (r->own->pr.data.d * size + 7) / 8 * 8;
    size_t rows = HG_MIN(r->memory / (r->n_all * size), r->n_all);
    if (q == r->n_all || !hg_keeps_rows(cost, r->n_all))
        rows = 0;
    struct hm_slots *slots = &r->slots;
    struct hm_winners *winners = &r->winners;
    slots->room = HG_MAX(q, (size_t)HG_TILE_COLS); /* as many as that each source has columns for */
    winners->room = q * 8 + (most + 2 * q) * vector + (size_t)r->net->ranks * 8;
    r->w.n = 0;
    memset(r->points.in_w, 0, r->points.n);
    hinge_status status =
        HG_MAKE(err, "a working set", HG_ZEROS(slots->number, q), HG_ZEROS(r->w.age, q), HG_ZEROS(slots->owner, q),
                HG_ZEROS(slots->at, q), HG_ZEROS(r->w.before[0], q), HG_ZEROS(r->w.before[1], q),
                HG_ZEROS(r->w.fresh, 2 * q), HG_ZEROS(slots->ids, 2 * slots->room),
                HG_ZEROS(r->w.row, 2 * slots->room), HG_ZEROS(slots->coef, slots->room), HG_ZEROS(winners->at, most),
                HG_ZEROS(winners->kind, most), HG_ZEROS(winners->all, most), HG_ZEROS(slots->x, r->own->pr.data.d),
                HG_ZEROS(winners->message, winners->room), HG_ZEROS(winners->messages, winners->room));
    HG_THEN(status, hm_make_vectors(r, slots->room, r->type, &slots->others, err));
    HG_THEN(status, hg_inner_init(&r->w.inner, q, &r->qp, r->type, r->loops, err));
    HG_THEN(status, hg_cache_init(&r->cache, HG_MAX(rows, (size_t)1), r->points.n, size,
                                  rows * (r->points.n * size + 128), NULL, err));
    HG_THEN(status, hm_make_grams(r, r->points.part, r->type, &slots->others, err));
    return hm_agree(r->net, status, err);
}

static void free_block(struct hm_run *r)
{
    hm_free_grams(r, r->points.part);
    r->report.rows_evicted += r->cache.evicted;
    hg_cache_free(&r->cache);
    hg_face_free(&r->w.face);
    hg_inner_free(&r->w.inner);
    hg_free((void *)r->slots.others.data);
    hg_free(r->slots.number);
    r->slots.others.data = NULL;
    r->slots.number = NULL;
}

uint64_t hm_run_free(struct hm_run *r)
{
    free_block(r);
    uint64_t values = r->report.kernel_values;
    hg_qp_free(&r->qp);
    hg_free(r->points.of);
    hg_free(r->points.part);
    memset(r, 0, sizeof *r);
    return values;
}

static hinge_status start(struct hm_run *r, struct hm_watch *watch, hinge_error *err)
{
    bool restored = false;
    HG_TRY(find_points(r, err));
    HG_TRY(hm_check_maker(r, err));
    HG_TRY(make_qp(r, err));
    if (watch->save != NULL)
        HG_TRY(hm_restore(watch->save, r, &restored, err));
    watch->restored |= restored;
    if (!restored && r->own->starts > 0)
        take_start(r);
    make_feasible(r);
    HG_TRY(make_block(r, err));
    if (restored || r->own->starts > 0 || r->sums[0] != 0 || r->sums[1] != 0)
        HG_TRY(hm_compute_gradient(r, err));
    r->course.exact_at = UINT64_MAX;
    r->report.error = NAN;
    for (size_t at = 0; at < r->points.n; at++)
        hm_set_offsets(r, at);
    return HINGE_OK;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

static void form_objective(const struct hm_run *r, size_t at, size_t n, double *part)
{
    for (size_t i = at; i < at + n; i++)
        for (int l = 0; l < r->qp.layers; l++) {
            double b = r->qp.beta[l][i], lo = r->qp.lo[l][i], hi = r->qp.hi[l][i], kink = r->qp.kink;
            if (b != 0)
                part[0] += b * (0.5 * r->points.g[i] + r->qp.off[l][i]) + kink * fabs(b);
            part[1] += b != 0 && (b >= hi || b <= lo);
            if (b > lo && b < hi && (kink == 0 || b != 0)) {
                part[2 + 2 * l] += r->points.g[i] + r->qp.off[l][i] + (b > 0 ? kink : -kink);
                part[3 + 2 * l]++;
            }
        }
}

/* Objective, bounded points, and the thresholds as hg_qp_bias has them. */
static void sum_up(struct hm_run *r)
{
    double sum[HM_REALS];
    hm_sum_tiles(r, form_objective, 6, sum);
    r->report.objective = sum[0];
    r->report.n_bsv = (size_t)llrint(sum[1]);
    for (int l = 0; l < r->qp.layers; l++) {
        const struct hm_extremes *e = &r->course.now[l];
        r->bias[l] = r->qp.no_sum            ? 0
                     : sum[3 + 2 * l] > 0.5  ? -sum[2 + 2 * l] / rint(sum[3 + 2 * l])
                                             : hg_middle_bias(e->high, e->low);
    }
}

static void conclude(struct hm_run *r)
{
    sum_up(r);
    r->report.rows_evicted += r->cache.evicted;
    r->report.phase.certificate += r->last.spent[HM_CHECKS];
    r->report.precision = r->type == HINGE_F32 ? HINGE_PRECISION_F32 : HINGE_PRECISION_F64;
}

/* Stops and limits of this rank, into what all sum up next. */
static void ask(struct hm_run *r, struct hm_watch *watch, bool first)
{
    const hinge_params *p = r->params;
    struct hm_most *most = r->total.sum.most;
    double now = hg_now();
    memset(most, 0, sizeof r->total.sum.most);
    if (r->net->rank == 0) {
        most[HM_TIME].key = p->time_limit > 0 && now - watch->begin > p->time_limit;
        most[HM_SAVE].key = watch->save != NULL && now - watch->saved > watch->every;
    }
    struct hg_teller teller = { .progress = p->progress, .arg = p->progress_arg, .begin = watch->begin };
    if (p->progress == NULL || first)
        return;
    hinge_progress told = { .problem = r->problem, .n_problems = r->own->pr.n_problems, .rounds = r->report.rounds,
                            .iterations = r->report.iterations, .violation = r->report.violation, .n = r->n_all,
                            .n_active = r->n_all, .rows_computed = r->report.rows_computed };
    most[HM_STOP].key = hg_tell(&teller, &told);
}

/* What the rules of a run of its own (solver/smo/rules.h) ask of one over ranks, and have it do. All ranks are asked
 * the same, and answer alike; of halts they agree before they look (run_rounds). */

static hinge_outcome halt(const void *run)
{
    (void)run;
    return HINGE_CONVERGED;
}

/* Counts what rows of this type have taken. */
static bool has_worked_enough(const void *run)
{
    const struct hm_run *r = run;
    const struct hm_course *c = &r->course;
    double rows = (double)(r->report.rows_computed - c->rows_before);
    return hg_is_work_enough(r->report.iterations - c->steps_before, r->report.rounds - c->rounds_before, r->n_all,
                             rows * (double)r->n_all);
}

static double work(const void *run)
{
    return ((const struct hm_run *)run)->course.work;
}

/* A look back is taken for a gradient by the rows of all points. */
static uint64_t patience(const void *run)
{
    const struct hm_run *r = run;
    double n = (double)r->n_all, look = (1 + r->course.cost) * n * n;
    return hg_patience(r->w.q == r->n_all, r->n_all, r->w.q, r->course.work - r->judged.best_work, look);
}

/* Makes g, and what follows from it, in f64. */
static hinge_status look_again(struct hm_run *r)
{
    HG_TRY(hm_compute_gradient(r, r->err));
    HG_TRY(hm_look(r, HINGE_OK));
    r->report.error = 0;
    r->course.exact_at = r->report.rounds;
    return HINGE_OK;
}

static bool is_known(const void *run)
{
    const struct hm_run *r = run;
    return r->course.exact_at == r->report.rounds;
}

/* Measures g on some of many points; of few it is made anew. Nothing is mended: the vectors of points that decide would
 * have to travel. */
static hinge_status prove(void *run, bool *proven)
{
    struct hm_run *r = run;
    r->judged.is_off = r->n_all <= FEW;
    if (r->judged.is_off)
        return HINGE_OK;
    HG_TRY(hm_measure_error(r, r->err));
    *proven = r->report.violation + 2 * r->report.error <= HG_SLACK * r->params->eps;
    return HINGE_OK;
}

static hinge_status correct(void *run)
{
    struct hm_run *r = run;
    r->report.corrections++;
    r->judged.best = INFINITY; /* the violation may well be larger now */
    return look_again(r);
}

static hinge_status recompute(void *run)
{
    struct hm_run *r = run;
    HG_TRY(look_again(r));
    sum_up(r);
    r->judged.objective = r->judged.last_objective = r->report.objective;
    r->judged.noise = HG_USUAL_NOISE * fabs(r->report.objective); /* a second sum would have to travel */
    return HINGE_OK;
}

static const struct hg_verbs verbs = { .halt = halt, .has_worked_enough = has_worked_enough, .work = work,
                                       .patience = patience, .is_known = is_known, .prove = prove, .correct = correct,
                                       .recompute = recompute };

/* Begins to judge rounds by rows of r->type. Those in f64 may be corrected as often as a run of its own checks them, as
 * checks mend nothing here. */
static void begin_judging(struct hm_run *r)
{
    r->course.steps_before = r->report.iterations;
    r->course.rounds_before = r->report.rounds;
    r->course.rows_before = r->report.rows_computed;
    r->judged = (struct hg_course){ .verbs = &verbs, .run = r, .report = &r->report };
    hg_course_begin(&r->judged, r->params->eps, r->params->max_iter);
    r->judged.phase = HG_NEAR;
    r->judged.objective = r->judged.last_objective = INFINITY;
    r->judged.most_corrections = r->report.corrections + (r->type == HINGE_F32 ? HG_MAX_CORRECTIONS : HG_CHECKS);
}

/* Judges the last round; *done where the run ends, as the outcome says. Where rows in f32 will not do, those in f64 go
 * on, if they may. */
static hinge_status judge(struct hm_run *r, bool *done)
{
    HG_TRY(hg_judge(&r->judged, NULL));
    hm_lap(r, HM_CHECKS);
    bool stalled = r->judged.phase == HG_ENDED && r->report.outcome == HINGE_STALLED;
    *done = r->judged.phase == HG_ENDED;
    if (stalled && !is_known(r)) /* what is told of it, or gone on from, is so in f64 */
        HG_TRY(look_again(r));
    if (!stalled || r->type == HINGE_F64 || r->params->precision == HINGE_PRECISION_F32)
        return HINGE_OK;
    *done = false;
    free_block(r);
    r->type = HINGE_F64;
    begin_judging(r);
    return make_block(r, r->err);
}

/* A line of what the round took, where that is wanted: HM_ROUNDS names its columns. */
static void tell_round(struct hm_run *r, FILE *file)
{
    hinge_report *to = &r->report;
    double *const phases[HM_STAGES] = { &to->phase.select, &to->phase.select, &to->phase.block, &to->phase.subproblem,
                                        &to->phase.rows, &to->phase.certificate };
    if (file != NULL)
        fprintf(file, "%zu %zu %zu %zu %zu %d %d %" PRIu64 " %zu %zu %zu %" PRIu64 " %zu", r->problem, r->n_all,
                r->own->pr.data.d, hg_size_of(r->type), r->w.q, r->net->ranks, r->threads, r->report.rounds,
                r->w.n_fresh, r->last.moved, r->last.made, r->last.steps, r->last.bytes);
    for (int k = 0; k < HM_STAGES; k++) {
        if (file != NULL)
            fprintf(file, " %.6f%s", r->last.spent[k], k + 1 < HM_STAGES ? "" : "\n");
        *phases[k] += r->last.spent[k];
        r->last.spent[k] = 0;
    }
}

static hinge_status save(struct hm_run *r, struct hm_watch *watch, hinge_error *err)
{
    if (watch->save == NULL)
        return HINGE_OK;
    HG_TRY(hm_save(watch->save, r, err));
    watch->saved = hg_now();
    return HINGE_OK;
}

static hinge_status run_rounds(struct hm_run *r, struct hm_watch *watch, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    const struct hm_most *most = r->total.sum.most;
    r->last.at = hg_now();
    for (bool first = true, done;; first = false) {
        ask(r, watch, first);
        hinge_status failed = hm_look(r, status);
        if (first && failed == HINGE_OK) { /* histograms are by the extremes before */
            memcpy(r->course.before, r->course.now, sizeof r->course.now);
            failed = hm_look(r, status);
        }
        if (failed != HINGE_OK)
            return hm_agree(r->net, status == HINGE_OK ? HINGE_OK
                                                       : hg_fail(err, status, "the kernel function reported a failure, "
                                                                              "or there is no memory"), err);
        bool ended = most[HM_STOP].key || most[HM_TIME].key;
        if (most[HM_SAVE].key || ended)
            HG_TRY(save(r, watch, err));
        if (ended) {
            r->report.outcome = most[HM_STOP].key ? HINGE_STOPPED : HINGE_TIME_LIMIT;
            return HINGE_OK;
        }
        HG_TRY(judge(r, &done));
        if (done)
            return save(r, watch, err);
        status = hm_round(r);
        tell_round(r, watch->rounds);
    }
}

hinge_status hm_solve(struct hm_run *r, const struct hm_net *net, const struct hm_own *own, size_t problem,
                      struct hm_watch *watch, hinge_error *err)
{
    const hinge_params *p = &own->pr.params;
    memset(r, 0, sizeof *r);
    r->net = net;
    r->own = own;
    r->params = p;
    r->problem = problem;
    r->threads = hg_threads(p->threads);
    r->loops = hg_loops(hg_cpu_level(p->cpu_level));
    bool beyond = hg_kernel_beyond_f32(&p->kernel, own->pr.data.norm) || p->kernel.type == HINGE_USER;
    r->type = p->precision == HINGE_PRECISION_F64 || beyond ? HINGE_F64 : HINGE_F32;
    const struct hm_machines machines = hm_ask_machines(net, p);
    r->mixed = machines.mixed;
    r->memory = machines.memory;
    r->err = err;
    HG_TRY(start(r, watch, err));
    begin_judging(r);
    HG_TRY(run_rounds(r, watch, err));
    bool early = r->report.outcome != HINGE_CONVERGED && r->report.outcome != HINGE_NONFINITE;
    if (early && r->n_all <= FEW) /* what is told of it is so at once */
        HG_TRY(look_again(r));
    conclude(r);
    return HINGE_OK;
}
