/*
 * One problem's rounds among many. Read lane.h before.
 *
 * A lane is a run of block SMO of which only the parts are used that need no other lane: working sets, inner steps,
 * gradient, shrinking. Its source (view) is the problem's points among the source's. It is judged by the rules of a
 * run of its own (rules.h), of which it lacks the Newton finish and looks at rows on the way: what rows in f32, or many
 * sums in f64, may have made of g is looked at where it may matter, and in the end alone.
 */
#include "lib/rows/source.h"
#include "solver/smo/lane.h"

#include <string.h>

/* What it costs to gather a value of a stored row, in reads of one from memory: values of K_WW that cost less are made.
 * That spares grids up to a fifth of their time where values are cheap; dear ones would take half as long again if they
 * were made too (doc/tried.md). */
static const double FROM_POOL = 3;

enum {
    ROUNDS = 64,       /* of a problem until the caller is asked whether to go on */
    SHARE = 4          /* of the steps that a problem may take, one in so many: a run of its own goes on */
};

/* ---- its points as a source -------------------------------------------------------------------------------------- */

/* Gathers the problem's part of the diagonal that hg_many_take has made. */
static hinge_status view_diagonal(const struct hg_rows *rows, double *diagonal, double *size)
{
    const struct hg_view *view = (const struct hg_view *)rows;
    hg_gather(view->many->diagonal, sizeof *diagonal, view->point, rows->n, diagonal);
    if (size != NULL)
        hg_gather(view->many->size, sizeof *size, view->point, rows->n, size);
    return HINGE_OK;
}

/* Has the source make all of the rows, tile by tile. A list of columns that the lane asks for again has a number of its
 * own among all lanes': each thread's source keeps what it gathered of the last list it was asked for. */
static hinge_status fetch_apart(struct hg_view *view, const struct hg_fetch *f)
{
    struct hg_rows *own = view->own[view->thread];
    struct hg_fetch through = *f;
    through.rows = view->row;
    through.cols = view->col;
    hg_gather(view->point, sizeof *view->point, f->rows, f->n_rows, view->row);
    hg_gather(view->point, sizeof *view->point, f->cols, f->n_cols, view->col);
    if (f->list != 0 && f->list != view->list) {
        view->list = f->list;
        view->columns = __atomic_add_fetch(&view->many->columns, 1, __ATOMIC_RELAXED);
    }
    if (f->list != 0)
        through.list = view->columns;
    uint64_t before = own->values;
    hinge_status status = own->ops->fetch(own, &through);
    view->super.values += own->values - before;
    return status;
}

/* Gathers values from rows that are stored, where that is cheaper; the others are made, of these columns. */
static hinge_status view_fetch(struct hg_rows *rows, const struct hg_fetch *f)
{
    struct hg_view *view = (struct hg_view *)rows;
    const struct hg_many *many = view->many;
    size_t lacking = 0;
    if (many->apart)
        return fetch_apart(view, f);
    hg_gather(view->point, sizeof *view->point, f->cols, f->n_cols, view->col);
    for (size_t r = 0; r < f->n_rows; r++) {
        uint32_t point = view->point[f->rows[r]];
        const void *row = many->pool.rows->cost > FROM_POOL ? hg_pool_row(&many->pool, point) : NULL;
        if (row != NULL) {
            hg_gather(row, hg_size_of(rows->type), view->col, f->n_cols, f->out[r]);
            continue;
        }
        view->row[lacking] = point;
        view->out[lacking++] = f->out[r];
    }
    hinge_status status =
        hg_rows_fill(many->own[view->thread], view->row, lacking, view->col, f->n_cols, view->out, NULL);
    struct hg_tile tile = { 0, f->n_rows, 0, f->n_cols, (const void *const *)f->out, NULL, NULL };
    if (status == HINGE_OK && f->tile != NULL)
        f->tile(f->arg, &tile);
    return status;
}

static hinge_status exact_fetch(struct hg_rows *rows, const struct hg_fetch *f)
{
    return fetch_apart((struct hg_view *)rows, f);
}

static const struct hg_rows_ops view_ops = { view_diagonal, view_fetch }, exact_ops = { view_diagonal, exact_fetch };

/* ---- how it is judged -------------------------------------------------------------------------------------------- */

static struct hg_lane *lane_of(void *run)
{
    return run;
}

/* Says whether nothing that rows are off by shows in g: errors of random sign add up to their size times the length of
 * the coefficients, and of those whose part in g the rows have taken back since (many.h, reach). */
static bool is_known(const void *run)
{
    const struct hg_lane *lane = lane_of((void *)run);
    const struct hg_many *many = lane->view.many;
    double most = lane->options.eps / 40; /* twice that are the 5 % that a violation may be larger by */
    return many->exact == NULL || (hg_qp_length(lane->run.qp) + lane->problem->reach) * many->value_error <= most;
}

/* Notes how far the coefficients are from 0. mended: some of g is what it is in f64 here; otherwise adding up their
 * rows has rounded it as sums in f64 do. */
static void note_reach(struct hg_lane *lane, bool mended)
{
    const double sums = lane->run.rows->type == HINGE_F64 ? 1 : 0x1p-29; /* their rounding, to that of values */
    if (lane->view.many->exact != NULL)
        lane->problem->reach = HG_MAX(lane->problem->reach, (mended ? 1 : sums) * hg_qp_length(lane->run.qp));
}

/* Finds out whether the violation is small by g in f64 where it decides (hg_prove), and whether g elsewhere, by which
 * held-out rows are decided, is off by half of eps at most. */
static hinge_status prove(void *run, bool *proven)
{
    struct hg_run *r = run;
    note_reach(lane_of(run), true);
    hinge_status status = hg_prove(r, proven);
    r->course.is_off = 2 * r->doubts.unseen > r->opt->eps;
    return status;
}

static hinge_status correct(void *run)
{
    note_reach(lane_of(run), true);
    return hg_run_correct(run);
}

static bool has_worked_enough(const void *run)
{
    const struct hg_run *r = run;
    const hinge_report *report = r->report;
    return hg_is_work_enough(SHARE * (report->iterations + lane_of((void *)run)->problem->before), report->rounds, r->n,
                             (double)r->res->columns_computed);
}

static const struct hg_verbs lane_verbs = {
    .halt = hg_run_halt, .has_worked_enough = has_worked_enough, .work = hg_run_work, .patience = hg_run_patience,
    .rests = hg_run_rests, .wake = hg_run_wake, .is_known = is_known, .prove = prove, .correct = correct
};

/* ---- its begin and its end --------------------------------------------------------------------------------------- */

/* Frees a lane with its run; point is the owner of its lists. */
void hg_lane_free(struct hg_lane *lane)
{
    hg_free(lane->point);
    hg_run_free(&lane->run);
    hg_free(lane);
}

/* Returns the number of points of W: all of a small problem, 256 up to 2,000, 512 up to 6,000 or where problems make
 * their own rows, 1,024 beyond; where problems are of all points, as many as a run of its own has. With 128 up to 2,000
 * points some grids would take a tenth less time, and others a third more (doc/tried.md). */
static size_t working_set(const struct hg_many *many, size_t n)
{
    if (many->whole)
        return hg_choose_q(many->pool.rows->cost, n, 0, 1);
    return n <= HG_FEW_POINTS ? n : n <= 2000 ? 256 : n <= 6000 || many->apart ? 512 : 1024;
}

size_t hg_lane_bytes(const struct hg_lane *lane)
{
    return lane->run.report->memory_bytes + lane->run.w.face_bytes + lane->run.n * sizeof(double) * 6;
}

/* Makes a lane, which is a run of block SMO whose rows and exact rows are both a view of the source. It has no Newton
 * finish and keeps no rows: the pool keeps those of all lanes together. newton_bytes is for systems in W, where the
 * caller wants them: an equal part of the pool's room for each lane. A value has a cost only where rows are made apart;
 * otherwise it is there already. */
static hinge_status lane_new(struct hg_lane **new, struct hg_many *many, struct hg_many_problem *problem,
                             hinge_error *err)
{
    size_t n = problem->qp->n;
    struct hg_lane *lane;
    HG_TRY(HG_MAKE(err, "a problem of many", HG_ZEROS(lane, 1)));
    struct hg_view *view = &lane->view;
    lane->options = (struct hg_smo_options){
        .working_set = working_set(many, n), .cut = HG_CUT, .threads = 1, .cpu_level = many->cpu_level,
        .shrinking = many->apart, .newton_bytes = many->newton ? many->pool.cache.arena_bytes / HG_LANES : 0,
        .measured = HG_EARLY
    };
    const struct hg_rows *rows = many->pool.rows;
    *view = (struct hg_view){ .super = { .ops = &view_ops, .n = n, .type = rows->type, .threads = 1, .adds = rows->adds,
                                      .error_near = rows->error_near,
                                      .errors_fall = rows->errors_fall,
                                      .cost = many->apart ? rows->cost : 0 },
                           .many = many,
                           .own = many->own,
                           .point = problem->point };
    lane->run = (struct hg_run){ .rows = &view->super,
                                 .exact = &view->super,
                                 .qp = problem->qp,
                                 .opt = &lane->options,
                                 .res = &lane->result,
                                 .report = &lane->result.report };
    hinge_status status = HG_MAKE(err, "the moves of a problem", HG_ARRAY(lane->point, n), HG_ARRAY(lane->coef, n),
                                  HG_ARRAY(lane->row, n), HG_ARRAY(view->row, n), HG_ARRAY(view->col, n),
                                  HG_ARRAY(view->out, n));
    lane->exact = *view;
    if (many->exact != NULL) {
        lane->exact.own = many->exact;
        lane->exact.super.ops = &exact_ops;
        lane->exact.super.type = many->exact[0]->type;
        lane->run.exact = &lane->exact.super;
    }
    HG_THEN(status, hg_run_init(&lane->run, err));
    lane->run.store.narrow = 0; /* sums of many rounds, never made anew, drift in f32 (doc/tried.md) */
    if (status == HINGE_OK)
        *new = lane;
    else
        hg_lane_free(lane);
    return status;
}

/* Has the lane begin anew for other boxes on the same points: W and K_WW stay, with the bounds of the new problem. Ages
 * are taken down so that the oldest is 1, and rounds with them, as a run's rounds are limited and a lane may serve a
 * whole grid. */
static void renew(struct hg_run *r)
{
    hinge_report *report = r->report;
    uint64_t oldest = report->rounds;
    for (size_t k = 0; k < r->w.n; k++)
        oldest = HG_MIN(oldest, r->w.age[k] - 1);
    for (size_t k = 0; k < r->w.n; k++)
        r->w.age[k] -= oldest;
    hg_renew_block(r);
    hg_free(r->doubts.mended);
    r->doubts.mended = NULL;
    r->res->columns_computed = 0;
    r->res->work = 0;
    r->active.waste = 0;
    *report = (hinge_report){ .memory_bytes = report->memory_bytes, .rounds = report->rounds - oldest };
}

hinge_status hg_lane_begin(struct hg_lane **begun, struct hg_many *many, struct hg_many_problem *problem,
                               const struct hg_smo_options *options, hinge_error *err)
{
    size_t n = problem->qp->n;
    hinge_status status = HINGE_OK;
    if (problem->lane == NULL)
        status = lane_new(&problem->lane, many, problem, err);
    else {
        many->kept_bytes -= hg_lane_bytes(problem->lane);
        problem->lane->run.qp = problem->qp;
        renew(&problem->lane->run);
    }
    if (status != HINGE_OK)
        return status;
    struct hg_lane *lane = *begun = problem->lane;
    lane->problem = problem;
    lane->done = lane->solved = false;
    lane->options.eps = lane->options.most_off = options->eps;
    lane->options.max_iter = options->max_iter;
    lane->run.course.verbs = &lane_verbs;
    hg_course_begin(&lane->run.course, options->eps, options->max_iter);
    if (many->pool.rows->type != HINGE_F64 && !many->corrects)
        lane->run.course.most_corrections = 0;
    lane->run.doubts.unseen = problem->moved == NULL ? problem->unseen : 0;
    lane->run.doubts.proven = 0;
    lane->result.report.error = NAN;
    problem->coarse = false;
    lane->run.halt = options->halt;
    lane->run.halt.ask = NULL;
    lane->n_moves = 0;
    hg_gather(problem->g, sizeof *problem->g, lane->run.active.point, n, lane->run.active.g);
    for (size_t k = 0; k < n; k++) {
        hg_set_offsets(&lane->run, k);
        if (problem->moved == NULL || problem->moved[k] == 0)
            continue;
        lane->point[lane->n_moves] = many->apart ? (uint32_t)k : problem->point[k];
        lane->coef[lane->n_moves++] = problem->moved[k];
    }
    return HINGE_OK;
}

void hg_lane_end(struct hg_lane *lane, struct hg_many *many)
{
    struct hg_many_problem *p = lane->problem;
    struct hg_run *r = &lane->run;
    hg_tidy(r);
    for (size_t at = 0; at < r->n; at++)
        p->g[r->active.point[at]] = r->active.g[at];
    if (many->apart)
        many->pool.rows_made += lane->result.columns_computed / many->n;
    p->report = lane->result.report;
    p->work = lane->result.work;
    p->unseen = r->doubts.unseen;
    for (int l = 0; l < p->qp->layers; l++)
        p->bias[l] = hg_qp_bias(p->qp, NULL, r->n, p->g, l);
    for (size_t k = 0; k < r->n; k++)
        if (hg_qp_beta(p->qp, k) != 0)
            many->supports[p->point[k]] = 1;
    many->kept_bytes += hg_lane_bytes(lane);
    if (many->kept_bytes > many->pool.cache.arena_bytes / 4)
        hg_many_forget(many, p);
}

/* ---- its rounds -------------------------------------------------------------------------------------------------- */

/* Adds the rows of what has moved to g; false: some are not there, and nothing is added. Positions are the problem's
 * points in their order, which are ranges of the source's: a row in the pool is read range by range, without a list. */
static bool lane_update(struct hg_lane *lane, const struct hg_many *many)
{
    const struct hg_range *range = lane->problem->range, *end = range + lane->problem->n_ranges;
    struct hg_run *r = &lane->run;
    size_t at = 0;
    for (size_t k = 0; k < lane->n_moves; k++) {
        lane->row[k] = hg_pool_row(&many->pool, lane->point[k]);
        if (lane->row[k] == NULL)
            return false;
    }
    r->report->rows_asked += lane->n_moves;
    r->report->bytes_read += lane->n_moves * r->n * hg_size_of(many->pool.rows->type);
    for (; range < end; at += range->count, range++)
        hg_add_stretch(&r->loops->add, many->pool.rows->type, lane->n_moves, lane->coef, lane->row, range->first,
                       range->count, r->active.g + at);
    lane->n_moves = 0;
    return true;
}

/* Adds the rows of moves by the lane's own source, which makes them and keeps none: those of a round apart; and where
 * there is no room for so many, those of one, or of what moved before the first. */
static hinge_status update_alone(struct hg_lane *lane, struct hg_many *many)
{
    struct hg_run *r = &lane->run;
    struct hg_how how = hg_store_how(&r->store);
    hinge_status status = HINGE_OK;
    size_t n_moves = lane->n_moves;
    lane->n_moves = 0;
    if (n_moves > 0 && many->apart)
        return hg_rows_apply(&lane->view.super, lane->point, n_moves, lane->coef, r->active.point, r->n, r->active.g,
                             &how);
    if (n_moves > 0) {
        how.rough = false;
        __atomic_add_fetch(&many->pool.rows_made, n_moves, __ATOMIC_RELAXED);
        return hg_rows_apply(many->own[lane->view.thread], lane->point, n_moves, lane->coef, lane->problem->point,
                             r->n, r->active.g, &how);
    }
    if (r->w.n < r->active.m)
        status = hg_update_gradient(r);
    r->w.n_moved = 0;
    return status;
}

/* Says whether the problem is solved, or given up: its status or outcome says why. All points are active then, but for
 * those of a problem that was stopped; hg_wake makes the last ones active before anything counts as solved. A problem
 * that stalls after rows in f32 were found wrong where they decide is left to better rows. */
static bool is_at_its_end(struct hg_lane *lane)
{
    struct hg_run *r = &lane->run;
    hg_scan(r);
    hg_poll_halt(&r->halt);
    lane->status = hg_judge(&r->course, NULL);
    if (lane->status == HINGE_OK && r->course.phase != HG_ENDED)
        return false;
    lane->problem->coarse = r->course.coarse && r->course.most_corrections == 0 && !isnan(r->report->error);
    if (lane->status == HINGE_OK && r->active.m < r->n)
        lane->status = hg_wake_all(r);
    return true;
}

void hg_lane_run(struct hg_lane *lane, struct hg_many *many)
{
    struct hg_run *r = &lane->run;
    double t = hg_now();
    for (int round = 0; round < ROUNDS && !lane->done; round++) {
        if (many->apart || lane->n_moves > many->pool.cache.n_slots)
            lane->status = update_alone(lane, many);
        else if (!lane_update(lane, many))
            return;
        t = hg_lap(&r->report->phase.rows, t);
        if (lane->solved)
            r->course.objective += hg_change_of_objective(r);
        lane->solved = false;
        lane->done = lane->status != HINGE_OK || is_at_its_end(lane);
        if (lane->done)
            return;
        hg_consider_shrinking(r);
        r->report->rounds++;
        hg_select_block(r);
        t = hg_lap(&r->report->phase.select, t);
        lane->status = hg_load_block(r);
        lane->done = lane->status != HINGE_OK;
        t = hg_lap(&r->report->phase.block, t);
        if (lane->done)
            return;
        uint64_t steps = r->report->iterations;
        hg_solve_block(r);
        r->res->work += (double)r->w.n * 2 * (double)(r->report->iterations - steps) + r->w.face.work +
                        (double)r->w.n_moved * (double)r->n;
        note_reach(lane, false);
        lane->solved = true;
        t = hg_lap(&r->report->phase.subproblem, t);
        for (size_t k = 0; k < r->w.n_moved && r->w.n < r->active.m && !many->apart; k++) {
            lane->point[lane->n_moves] = lane->problem->point[r->w.moved[k].point];
            lane->coef[lane->n_moves++] = r->w.moved[k].delta;
        }
    }
}
