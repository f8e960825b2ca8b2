/*
 * Block SMO over a source of rows: rounds, and a run as a whole. Read block.h and run.h before.
 *
 *     g     gradient K beta on the active points, in double, whatever the rows' type
 *     W     working set of q points: the newer ones stay, the rest are the worst violators
 *     K_WW  kept between rounds; only the part of the points new in W is computed, as a small GEMM
 *
 * A round: select, load (K_WW), solve (inner.c), update: g += K[moved, :]' dbeta, fused with the tiles of rows that are
 * not in the cache, then the violation of all. Rows are computed only for points that moved. Nothing that decides looks
 * at the clock or the number of threads, so the result depends on neither.
 *
 * The parts in their order: how much work is enough; set-up; a round, whose hg_solve_w serves distributed trainings too
 * (mpi/round.c); the run, from begin to finish, with judge.c asked after each round; and other problems on the run's
 * points, which folds are (hg_smo_again).
 */
#include "solver/smo/run.h"

#include <float.h>
#include <string.h>

/* Returns the steps after which a run ends, whatever it gains: a fraction of a second's for small problems, and for
 * large ones more than any is known to take that converges. doc/tried.md has the most that were seen. */
static uint64_t most_steps(size_t n)
{
    return HG_MIN(5000 * ((uint64_t)n + 100), 10000000 + 1000 * (uint64_t)n);
}

/* Bounds steps, rounds and kernel values, whichever is reached first. All are counts, so that a run ends at the same
 * place on any machine; each is far beyond what a run that converges is known to take. The values are those of 1e5 +
 * 250 n rows of all points. */
bool hg_is_work_enough(uint64_t steps, uint64_t rounds, size_t n, double columns)
{
    uint64_t most_rounds = HG_MAX((uint64_t)100000, 100000000 / HG_MAX((uint64_t)n, (uint64_t)1));
    return steps >= most_steps(n) || rounds >= most_rounds || columns >= (double)n * (1e5 + 250 * (double)n);
}

uint64_t hg_smo_steps_left(size_t n, uint64_t taken)
{
    return most_steps(n) - HG_MIN(most_steps(n) - 1, taken);
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

/* Doubles q while n is more than 24 q, to the most. Larger W ask for fewer rows, but K_WW and steps grow: q of 4,096
 * and 8,192 ask for 10 to 25 % fewer and take as long, 512 takes more rounds and as long (doc/tried.md). A caller sets
 * it by options.working_set. */
size_t hg_choose_q(double cost, size_t n, size_t asked, int layers)
{
    size_t q = 256, most = hg_is_cheap(cost) ? 1024 : 2048;
    if (asked > 0) /* half of it holds a pair of each layer */
        return HG_MIN(HG_MAX(asked, 4 * (size_t)layers), n);
    if (n <= HG_FEW_POINTS)
        return n;
    while (q < most && q * 24 < n)
        q *= 2;
    return q;
}

void hg_run_free(struct hg_run *r)
{
    hg_free(r->active.point);
    hg_free(r->known.g);
    hg_free(r->doubts.size);
    hg_free(r->doubts.mended);
    hg_face_free(&r->w.face);
    hg_inner_free(&r->w.inner);
    hg_store_free(&r->store);
}

/* Makes room for all arrays of a run, in one block, of which active.point is the owner. memory_bytes begins with it and
 * with K_WW, whose rows are padded. */
static bool allocate(struct hg_run *r)
{
    size_t n = r->n, q = r->w.q, both = r->qp->layers == 2 ? n : 0, bytes;
    struct hg_active *a = &r->active;
    struct hg_w *w = &r->w;
    struct hg_spare *spare = &r->spare;
    double **kept = r->kept.beta;
    struct hg_array arrays[] = {
        HG_ZEROS(a->point, n),          HG_ZEROS(a->position, n),        HG_ZEROS(a->g, n),
        HG_ZEROS(a->up[0], n),          HG_ZEROS(a->down[0], n),         HG_ZEROS(a->up[1], both),
        HG_ZEROS(a->down[1], both),     HG_ZEROS(r->doubts.diagonal, n), HG_ZEROS(r->doubts.is_exact, n),
        HG_ZEROS(w->point, q),          HG_ZEROS(w->age, q),             HG_ZEROS(w->holds, n),
        HG_ZEROS(w->fresh, q),          HG_ZEROS(w->row, q),             HG_ZEROS(w->asked, q),
        HG_ZEROS(w->before[0], q),      HG_ZEROS(w->before[1], q),       HG_ZEROS(w->g_before, q),
        HG_ZEROS(w->moved, q),          HG_ZEROS(spare->point, n),       HG_ZEROS(spare->coef, n),
        HG_ZEROS(spare->candidates, n), HG_ZEROS(spare->found, n),       HG_ZEROS(kept[0], n),
        HG_ZEROS(kept[1], both)
    };
    bool ok = hg_room(arrays, sizeof arrays / sizeof *arrays, &bytes);
    r->report->memory_bytes = bytes + q * (q + 32) * hg_size_of(r->rows->type);
    return ok;
}

/* Takes K(x, x) of all points, and lists those whose values rounding alters most, which the source tells by their size:
 * their error is always measured. There is no list where so few points are all measured anyway. */
static hinge_status look_at_diagonal(struct hg_run *r)
{
    struct hg_doubts *d = &r->doubts;
    struct hg_candidate *candidates = r->spare.candidates;
    double *size = r->spare.coef;
    hinge_status status = hg_rows_diagonal(r->rows, d->diagonal, size);
    for (size_t i = 0; i < r->n; i++)
        candidates[i] = (struct hg_candidate){ -size[i], i, (uint32_t)i };
    hg_worst_first(candidates, r->n, HG_MIN(r->n, (size_t)HG_DOUBTFUL));
    for (size_t k = 0; k < HG_DOUBTFUL && r->n > HG_DOUBTFUL; k++)
        d->point[k] = candidates[k].at;
    return status;
}

/* Sets what judge.c goes by to the state of a run that has not begun: nothing is known, and eps is to be reached. */
static void begin_judging(struct hg_run *r)
{
    r->course = (struct hg_course){ .verbs = &hg_run_verbs, .run = r, .report = r->report };
    hg_course_begin(&r->course, r->opt->eps, r->opt->max_iter);
    r->course.phase = r->opt->close ? HG_NEAR : HG_FAR;
    r->look_at = r->opt->look_at;
    r->newton = (struct hg_newton_rule){ .least = INFINITY };
    r->newton_bytes = 0;
    r->kept.objective = r->doubts.looked_at = INFINITY;
    r->active.waste = 0;
    r->w.fresh_moved = 0;
}

/* Makes a run ready: W's size, room, all points active in the source's order, the block of W, the store and the
 * diagonal. A run that nobody can halt has a stop of its own, as progress may ask for it. What fails is left to
 * hg_run_free. */
hinge_status hg_run_init(struct hg_run *r, hinge_error *err)
{
    r->n = r->active.m = r->qp->n;
    r->loops = hg_loops(r->opt->cpu_level);
    r->w.q = hg_choose_q(r->rows->cost, r->n, r->opt->working_set, r->qp->layers);
    if (r->rows->lies && r->opt->working_set == 0)
        r->w.q = r->n;
    r->halt = r->opt->halt;
    if (r->halt.stop == NULL)
        r->halt.stop = &r->own_stop;
    begin_judging(r);
    if (!allocate(r))
        return hg_fail(err, HINGE_ENOMEM, "no memory for a problem of %zu examples", r->n);
    for (size_t i = 0; i < r->n; i++)
        r->active.point[i] = r->rows->order != NULL ? r->rows->order[i] : (uint32_t)i;
    for (size_t i = 0; i < r->n; i++)
        r->active.position[r->active.point[i]] = (uint32_t)i;
    hinge_status status = hg_inner_init(&r->w.inner, r->w.q, r->qp, r->rows->type, r->loops, err);
    r->store = (struct hg_store){ .rows = r->rows, .loops = r->loops, .halt = &r->halt, .opt = r->opt, .res = r->res,
                                  .n = r->n, .q = r->w.q, .columns = r->active.point };
    HG_THEN(status, hg_store_init(&r->store, err));
    if (status == HINGE_OK && (status = look_at_diagonal(r)) != HINGE_OK)
        hg_fail(err, status, "the kernel failed on the diagonal");
    return status;
}

/* Takes the offsets of the point at a position from its beta, which has moved, or from a new problem. */
void hg_set_offsets(struct hg_run *r, size_t at)
{
    hg_qp_offsets(r->qp, r->active.point[at], at, r->active.up, r->active.down);
}

/* ---- a round ----------------------------------------------------------------------------------------------------- */

enum {
    FEW_STEPS = 20,  /* on two entries, an entry of W, before systems are solved; */
    MOST_STEPS = 40, /* where there are none; */
    FACES_WORTH = 3  /* so many times their work for systems */
};

/* Returns a number of steps that most W take less than, by far: the others are worth another way. */
static uint64_t some_steps(size_t n)
{
    return FEW_STEPS * (uint64_t)n + 1024;
}

/* Makes room for systems in W, where they may be solved there: they spare regression at a large C most of its time and
 * rows (doc/tried.md). Returns false where there are none: no room, f64 or sum. newton_bytes = 0 leaves them out. */
static bool has_faces(struct hg_w *w, const struct hg_aim *aim)
{
    size_t bytes = hg_face_bytes(w->q, w->inner.qp.layers);
    if (w->inner.qp.no_sum || w->inner.type != HINGE_F64 || aim->face_bytes < bytes)
        return false;
    if (w->face.low != NULL)
        return true;
    w->face = (struct hg_face){ .in = &w->inner, .threads = 1, .halt = aim->halt };
    if (hg_face_init(&w->face, w->q) != HINGE_OK)
        return false;
    w->face_bytes = bytes;
    return true;
}

/* Solves W in two parts: some steps of two entries, after which most are done; then systems on all free entries of it,
 * where rows are f64 and there is room, or else more steps. Systems may take FACES_WORTH times the work of the steps
 * that they stand for; a step reads two rows of f64, which is four reads of f32 an entry. Where steps were the caller's
 * last (most_steps), nothing follows. */
struct hg_inner_result hg_solve_w(struct hg_w *w, const struct hg_aim *aim)
{
    struct hg_face *face = &w->face;
    double n = (double)w->n;
    uint64_t most = HG_MIN(aim->most_steps, MOST_STEPS * (uint64_t)w->n + 4096);
    uint64_t some = HG_MIN(most, some_steps(w->n));
    struct hg_inner_result done = hg_inner_solve(&w->inner, aim->target, aim->shrink, aim->whole, some);
    face->systems = face->steps = 0;
    face->work = 0;
    if (!(done.violation > done.target) || done.steps < some || some == aim->most_steps)
        return done;
    if (has_faces(w, aim)) {
        face->max_steps = aim->most_steps == UINT64_MAX ? 0 : aim->most_steps - done.steps;
        face->most_work = FACES_WORTH * 4 * MOST_STEPS * n * n;
        done.violation = hg_face_solve(face, done.target, &done.decrease);
        done.steps += face->steps + face->systems;
    } else {
        struct hg_inner_result more = hg_inner_solve(&w->inner, done.target, 0, aim->whole, most - some);
        done.violation = more.violation;
        done.decrease += more.decrease;
        done.steps += more.steps;
        w->unsolved += more.violation > done.target;
    }
    return done;
}

/* Solves W to half of the violation wanted, or to a share of its own, but to all of it where W is all there is. The
 * share is a tenth; a coarser one takes fewer steps and more rounds (doc/tried.md). Where a fold begins near its
 * solution it is a fiftieth. Steps end early where half of W would do instead of all points (hg_may_halve_w). */
static struct hg_inner_result solve_inside(struct hg_run *r, bool whole)
{
    size_t rows = r->store.cache.most_bytes, newton = r->opt->newton_bytes;
    uint64_t made = r->report->iterations, most = r->opt->max_iter;
    uint64_t left = most == 0 ? UINT64_MAX : most - HG_MIN(most, made);
    struct hg_aim aim = { .target = whole ? r->course.target : r->course.target / 2,
                          .shrink = whole ? 0 : r->opt->close ? 0.02 : 0.1, /* near a solution W draws others in */
                          .whole = whole,
                          .most_steps = hg_may_halve_w(r) ? HG_MIN(left, some_steps(r->n)) : left,
                          .face_bytes = newton - HG_MIN(newton, rows),
                          .halt = &r->halt };
    struct hg_inner_result done = hg_solve_w(&r->w, &aim);
    r->report->newton_steps += r->w.face.systems;
    return done;
}

/* Brings g up to date by K_WW where W is all there is: with what each entry has moved in all (in->coef), as the inner
 * solver's g has the rounding of steps that went far and came back. */
static void update_by_block(struct hg_run *r)
{
    struct hg_w *w = &r->w;
    struct hg_inner *in = &w->inner;
    size_t count = 0;
    for (size_t k = 0; k < w->n; k++)
        if (in->coef[k] != 0) {
            in->coef[count] = in->coef[k];
            in->row[count++] = (char *)in->k + k * in->ld * hg_size_of(in->type);
        }
    memcpy(in->g, w->g_before, w->n * sizeof *in->g);
    hg_add_stretch(&r->loops->add, in->type, count, in->coef, in->row, 0, w->n, in->g);
    for (size_t k = 0; k < w->n; k++)
        r->active.g[r->active.position[w->point[k]]] = in->g[k];
}

/* Loads beta and g of W, solves, and brings back beta; g of other points is hg_update_gradient's. A point of two layers
 * may have moved in both and not in their sum: its offsets are set anew, but its row is not asked for. */
void hg_solve_block(struct hg_run *r)
{
    struct hg_active *a = &r->active;
    struct hg_w *w = &r->w;
    struct hg_inner *in = &w->inner;
    bool whole = w->n == a->m;
    for (size_t k = 0; k < w->n; k++) {
        in->g[k] = w->g_before[k] = a->g[a->position[w->point[k]]];
        for (int l = 0; l < r->qp->layers; l++)
            in->qp.beta[l][k] = w->before[l][k] = r->qp->beta[l][w->point[k]];
    }
    struct hg_inner_result done = solve_inside(r, whole);
    r->report->iterations += done.steps;
    w->halves = done.violation > done.target && hg_may_halve_w(r);
    w->decrease = done.decrease;
    w->n_moved = w->fresh_moved = 0;
    for (size_t k = 0; k < w->n; k++) {
        double delta = 0;
        bool touched = false;
        uint32_t at = a->position[w->point[k]];
        for (int l = 0; l < r->qp->layers; l++) {
            delta += in->qp.beta[l][k] - w->before[l][k];
            touched = touched || in->qp.beta[l][k] != w->before[l][k];
            r->qp->beta[l][w->point[k]] = in->qp.beta[l][k];
        }
        w->fresh_moved += touched && w->age[k] == r->report->rounds;
        if (touched)
            hg_set_offsets(r, at);
        if (delta != 0)
            w->moved[w->n_moved++] = (struct hg_move){ w->point[k], at, delta };
        in->coef[k] = delta;
    }
    if (whole)
        update_by_block(r);
}

/* Sums over the moves of W, entry by entry,
 *
 *     (b' - b) ((g + g') / 2 + off)  +  kink (|b'| - |b|)
 *
 * with g before and g' after the update: exact for a quadratic function, whatever rows g was updated by. */
double hg_change_of_objective(const struct hg_run *r)
{
    const struct hg_w *w = &r->w;
    double change = 0;
    for (size_t k = 0; k < w->n; k++) {
        double g = (w->g_before[k] + r->active.g[r->active.position[w->point[k]]]) / 2;
        for (int l = 0; l < r->qp->layers; l++) {
            double now = w->inner.qp.beta[l][k], before = w->before[l][k];
            if (now != before)
                change += (now - before) * (g + w->inner.qp.off[l][k]) + r->qp->kink * (fabs(now) - fabs(before));
        }
    }
    return change;
}

/* Makes one round: W, K_WW, the inner solve, the gradient, the new extremes. Where W is all points, the inner solve has
 * brought the gradient up to date already. Each step's seconds go to its own phase of the report. An update that was
 * ended half-way leaves g torn: then the objective goes by K_WW, and the run ends in hg_judge, as it was halted or has
 * failed. */
static hinge_status one_round(struct hg_run *r)
{
    double t = hg_now();
    r->report->rounds++;
    hg_select_block(r);
    t = hg_lap(&r->report->phase.select, t);
    hinge_status status = hg_load_block(r);
    t = hg_lap(&r->report->phase.block, t);
    if (status != HINGE_OK || hg_is_stopped(r))
        return status;
    hg_solve_block(r);
    t = hg_lap(&r->report->phase.subproblem, t);
    r->rows->stages = r->opt->profile ? &r->report->stages : NULL;
    if (r->w.n < r->active.m)
        status = hg_update_gradient(r);
    r->rows->stages = NULL;
    r->course.objective += r->active.torn ? -r->w.decrease : hg_change_of_objective(r);
    t = hg_lap(&r->report->phase.rows, t);
    hg_poll_halt(&r->halt);
    hg_scan(r);
    hg_lap(&r->report->phase.select, t);
    return status;
}

/* Tells the callback how far the run is; a word of it ends the run as a halt by the caller. */
void hg_report_progress(struct hg_run *r)
{
    if (r->opt->progress == NULL)
        return;
    hinge_progress p = { .rounds = r->report->rounds,
                         .iterations = r->report->iterations,
                         .violation = r->report->violation,
                         .objective = r->course.objective,
                         .n = r->n,
                         .n_active = r->active.m,
                         .n_sv = hg_qp_support(r->qp, NULL, NULL, NULL),
                         .rows_computed = r->res->columns_computed / HG_MAX(r->n, (size_t)1) };
    if (r->opt->progress(r->opt->progress_arg, &p) != 0)
        hg_request_halt(&r->halt, 2);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Begins a run whose g has been made, or was torn: offsets, violation and objective as the first rounds need them. */
static hinge_status begin(struct hg_run *r)
{
    for (size_t at = 0; at < r->active.m; at++)
        hg_set_offsets(r, at);
    hg_scan(r);
    hinge_status status = hg_look_at_start(r);
    r->course.objective = r->course.last_objective = hg_recompute_objective(r);
    for (size_t i = 0; i < r->n; i++)
        if (!isfinite(r->doubts.diagonal[i]))
            r->report->violation = NAN;
    if (!r->active.torn)
        hg_keep(r);
    return status;
}

/* Says whether |K_ij| may be at most the largest K(x, x), as for every positive semi-definite kernel: |g_i| is at most
 * that times the sum of |beta_j| then. A thousandth is left for rounding. */
static bool may_bound(const struct hg_run *r, double largest)
{
    double g = 0, sum = 0;
    for (size_t at = 0; at < r->active.m; at++)
        g = HG_MAX(g, fabs(r->active.g[at]));
    for (size_t i = 0; i < r->n; i++)
        sum += fabs(hg_qp_beta(r->qp, i));
    return g <= 1.001 * largest * sum;
}

/* Tidies beta by at most max(eps / (1000 n), 2^-52 max |beta_i| K_ii) / max K(x, x) an entry: |K_ij| is at most the
 * largest diagonal value, so that n such moves change no F by more than eps / 1000, or one of them by no more than a
 * term of some F is rounded by anyway. Where the diagonal bounds nothing, as of a kernel -|x - z|, it is 2^-52 of the
 * largest |beta_i|: what that coefficient is itself rounded by. */
void hg_tidy(struct hg_run *r)
{
    double largest = 0, term = 0, beta = 0;
    for (size_t i = 0; i < r->n; i++) {
        largest = HG_MAX(largest, fabs(r->doubts.diagonal[i]));
        term = HG_MAX(term, fabs(hg_qp_beta(r->qp, i) * r->doubts.diagonal[i]));
        beta = HG_MAX(beta, fabs(hg_qp_beta(r->qp, i)));
    }
    double most = HG_MAX(r->opt->eps / (1000 * (double)r->n), DBL_EPSILON * term);
    hg_qp_tidy(r->qp, may_bound(r, largest) ? most / largest : DBL_EPSILON * beta); /* infinite for a kernel of 0 */
}

/* Makes the result of what the run has come to. A torn gradient tells no objective, and its bias comes from W alone.
 * Where the best objective that was recomputed is certainly lower than the last, its beta is given back: rounding may
 * lead a run away from it. */
static void finish(struct hg_run *r)
{
    const struct hg_active *a = &r->active;
    const struct hg_start *kept = &r->kept;
    hinge_report *report = r->report;
    hg_share_stages(&report->stages, r->opt->threads);
    hg_tidy(r);
    r->res->working_set = r->w.q;
    r->res->coarse = r->course.coarse && r->rows->type != HINGE_F64; /* rows in f64 may get further */
    hg_store_tell(&r->store);
    report->memory_bytes += HG_MAX(r->newton_bytes, r->w.face_bytes) + r->doubts.most_bytes;
    report->objective = a->m == r->n && !a->torn ? hg_recompute_objective(r) : r->course.objective;
    for (int l = 0; l < r->qp->layers; l++)
        r->res->bias[l] = a->torn ? hg_qp_bias(r->qp, r->w.point, r->w.n, r->w.inner.g, l)
                                  : hg_qp_bias(r->qp, a->point, a->m, a->g, l);
    if (report->outcome == HINGE_CONVERGED || report->outcome == HINGE_NONFINITE || isinf(kept->objective) ||
        report->objective + HG_CERTAIN * r->course.noise <= kept->objective)
        return;
    report->objective = kept->objective; /* rounding may have led away from it */
    report->violation = kept->violation;
    for (int l = 0; l < r->qp->layers; l++) {
        memcpy(r->qp->beta[l], kept->beta[l], r->n * sizeof(double));
        r->res->bias[l] = kept->bias[l];
    }
    hg_tidy(r);
}

/* Runs rounds until judge.c ends them. After each, Newton's steps are tried where they are less work than what is left;
 * otherwise points may be set to rest. */
static hinge_status go_on(struct hg_run *r, hinge_status status, hinge_error *err)
{
    HG_THEN(status, begin(r));
    double *checks = &r->report->phase.certificate;
    while (HG_THEN(status, hg_judge(&r->course, checks)) == HINGE_OK && r->course.phase != HG_ENDED) {
        uint64_t steps = r->report->iterations;
        status = one_round(r);
        hg_report_progress(r);
        hg_count_work(r, r->report->iterations - steps);
        if (status == HINGE_OK && hg_run_wants_newton(r))
            status = hg_run_newton(r, r->newton.most_work);
        else if (status == HINGE_OK && !hg_is_stopped(r))
            hg_consider_shrinking(r);
    }
    if (status == HINGE_OK)
        finish(r);
    else if (status == HINGE_ENOMEM)
        hg_fail(err, status, "no memory while solving a problem of %zu examples", r->n);
    else if (err == NULL || err->status == HINGE_OK)
        hg_fail(err, status, "the kernel function reported a failure");
    return status;
}

/* ---- other problems on its points -------------------------------------------------------------------------------- */

/* Lets the caller solve other problems on the run's points, with its rows, W and gradient (hg_smo_again), before they
 * are freed. */
static hinge_status call_then(struct hg_run *r, hinge_error *err)
{
    r->first.qp = r->qp;
    r->first.rounds = r->report->rounds;
    r->first.error = r->report->error;
    memcpy(r->first.bias, r->res->bias, sizeof r->first.bias);
    if (r->known.g == NULL)
        HG_TRY(HG_MAKE(err, "a gradient that is known", HG_ARRAY(r->known.g, r->n), HG_ARRAY(r->known.beta, r->n)));
    HG_TRY(HG_MAKE(err, "the gradient of a solution", HG_ARRAY(r->first.g, r->n)));
    for (size_t at = 0; at < r->n; at++)
        r->first.g[r->active.point[at]] = r->active.g[at];
    hinge_status status = r->opt->then(r->opt->then_arg, r, r->first.g, r->res, err);
    hg_free(r->first.g);
    r->first.g = NULL;
    return status;
}

/* Takes boxes, offsets and beta of the new problem into the slots of W. Slots, their ages and K_WW are of points and
 * stay as they are. */
void hg_renew_block(struct hg_run *r)
{
    for (size_t k = 0; k < r->w.n; k++)
        hg_inner_put(&r->w.inner, k, r->qp, r->w.point[k]);
    r->w.inner.qp.kink = r->qp->kink;
}

/* Makes g = K beta of the new start: g of the first problem's solution, and the rows of the points whose coefficients
 * differ from it, q at a time, as the store takes no more moves. Points far from their bounds rest before that, and
 * cost nothing in these sums. */
static hinge_status start_again(struct hg_run *r)
{
    hinge_status status = HINGE_OK;
    r->active.m = r->n;
    r->w.n_moved = 0;
    memset(r->doubts.is_exact, 0, r->n);
    r->doubts.proven = 0;
    hg_gather(r->first.g, sizeof *r->active.g, r->active.point, r->n, r->active.g);
    memcpy(r->known.g, r->first.g, r->n * sizeof *r->first.g);
    for (size_t at = 0; at < r->n; at++) {
        r->known.beta[r->active.point[at]] = hg_qp_beta(r->first.qp, r->active.point[at]);
        hg_set_offsets(r, at);
    }
    hg_rest_far(r);
    for (size_t at = 0; at < r->n && status == HINGE_OK; at++) {
        uint32_t i = r->active.point[at];
        double delta = hg_qp_beta(r->qp, i) - r->known.beta[i];
        if (delta != 0)
            r->w.moved[r->w.n_moved++] = (struct hg_move){ i, (uint32_t)at, delta };
        if (r->w.n_moved == r->w.q || (at + 1 == r->n && r->w.n_moved > 0)) {
            status = hg_update_gradient(r);
            r->w.n_moved = 0;
            if (hg_is_stopped(r))
                break;
        }
    }
    return status;
}

/* Goes on as a run that is close to its end: the error is measured at few points, points of a small violation stay out
 * of W, and no other solver is turned to (leaves). Rounds are numbered on from the first problem's, because ages in W
 * and stamps in the cache are rounds; the report counts its rounds from here. The first problem's options are back in
 * place afterwards. Five folds that go on take about half the time of the training itself; trainings of their own take
 * two to six times as long as that one (doc/tried.md). options.then = NULL turns it off. */
hinge_status hg_smo_again(struct hg_run *r, struct hg_qp *qp, double eps, uint64_t max_iter, double *g,
                          struct hg_smo_result *result, hinge_error *err)
{
    const struct hg_smo_options *first = r->opt;
    struct hg_smo_options options = *first;
    options.eps = eps;
    options.max_iter = max_iter > 0 ? max_iter : options.max_iter;
    options.leaves = NULL;
    options.look_at = 0;
    options.warm = false;
    options.close = true;
    options.measured = HG_EARLY;
    options.most_off = eps;
    options.cut = HG_CUT;
    *result = (struct hg_smo_result){ .report = { .rounds = r->first.rounds, .error = NAN }, .objective_error = NAN };
    r->opt = &options;
    r->res = result;
    r->report = &result->report;
    r->qp = qp;
    begin_judging(r);
    hg_store_renew(&r->store, &options, result);
    hg_renew_block(r);
    hinge_status status = go_on(r, start_again(r), err);
    for (size_t at = 0; at < r->n; at++)
        g[r->active.point[at]] = r->active.g[at];
    uint64_t before = r->first.rounds;
    r->first.rounds = result->report.rounds;
    result->report.rounds -= before;
    r->opt = r->store.opt = first;
    return status;
}

/* Makes the run, which lives on this function's stack and nowhere else, and frees it however it ends. Other problems
 * may follow only where g of all points is proven. */
hinge_status hg_block_smo(struct hg_qp *qp, struct hg_rows *rows, struct hg_rows *exact,
                          const struct hg_smo_options *options, struct hg_smo_result *result, hinge_error *err)
{
    struct hg_run r = { .rows = rows, .exact = exact, .qp = qp, .opt = options, .res = result,
                        .report = &result->report };
    memset(result, 0, sizeof *result);
    result->report.error = result->objective_error = NAN;
    hinge_status status = hg_run_init(&r, err);
    if (status == HINGE_OK)
        status = go_on(&r, hg_first_gradient(&r), err);
    if (status == HINGE_OK && options->then != NULL && result->report.outcome == HINGE_CONVERGED && r.active.m == r.n)
        status = call_then(&r, err);
    hg_run_free(&r);
    return status;
}
