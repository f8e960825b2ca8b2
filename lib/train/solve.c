/*
 * One two-class problem meets its solver: block SMO over kernel rows by GEMM, or the interior point over a factor of
 * the kernel, to which SMO turns where it has taken long. Read training.h and work.h before; solvers.c runs either.
 *
 * Here is how one goes on for the other (lib/train/lowrank.h has what that buys; --solver smo, or a limit of steps,
 * keeps SMO alone). solve_reduced is the way through all of it, hg_solve_problem the entry.
 */
#include "lib/train/work.h"
#include "lib/data/params.h"

#include <math.h>
#include <string.h>

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
    struct hg_work *w = arg;
    const struct hg_reduced *r = &w->reduced;
    if (w->factor.z != NULL || iterations < w->look)
        return w->factor.z != NULL;
    iterations = HG_MAX(w->look, iterations);
    w->look = later(iterations, 2);
    return hg_lowrank_find(&w->factor, &w->t->distinct.problem, r->points, &r->qp, w->t->params->eps, iterations,
                           w->options.threads, &w->options.halt);
}

/* ---- one after the other ----------------------------------------------------------------------------------------- */

/* A turn's run (turns.h). What a run tells is of that run alone; settle adds what came before. */
static hinge_status run_turn(struct hg_turns *t, enum hg_solver who)
{
    struct hg_work *w = t->arg;
    hinge_status status;
    if (who == HG_INSIDE) {
        w->s->report = (hinge_report){ 0 };
        status = hg_run_inside(w);
    } else {
        struct hg_smo_options o = w->options;
        o.warm = true;
        o.look_at = t->look.work;
        o.look = hg_turns_look;
        o.look_arg = t;
        status = hg_run_smo(w, &o);
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
    struct hg_work *w = t->arg;
    w->before = *w->s;
}

/* Takes the run's solution, or the one before it; the work is that of both. SMO that has gone on for the interior point
 * that was chosen is told with that. */
static void settle_turn(struct hg_turns *t, enum hg_solver who, bool taken)
{
    struct hg_work *w = t->arg;
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
static void begin_turns(struct hg_work *w)
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
static hinge_status go_on(struct hg_work *w, size_t columns)
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
static hinge_status finish_inside(struct hg_work *w, size_t columns)
{
    const struct hg_training *t = w->t;
    size_t n = w->reduced.qp.n;
    hinge_outcome outcome = w->s->report.outcome;
    if (columns > 0 && (outcome == HINGE_STALLED || outcome == HINGE_MAX_ITER))
        HG_TRY(go_on(w, columns));
    else if (columns == 0 && outcome == HINGE_STALLED && may_end_inside(t) && n <= HG_RANK_EXACT &&
             !leaves(w, UINT64_MAX / 2) && !hg_kernel_is_indefinite(&t->problem.data.kernel))
        HG_TRY(go_on(w, n));
    while (w->factor.z != NULL) {
        w->look = later(w->look, 4);
        HG_TRY(go_on(w, 0));
    }
    return HINGE_OK;
}

/* Runs the interior point that was chosen by counted work; SMO takes a turn where it stalls, as it does where rows or
 * columns are of sizes whose squares no double holds beside each other. */
static hinge_status start_inside(struct hg_work *w)
{
    HG_TRY(hg_run_inside(w));
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
static hinge_status solve_reduced(struct hg_work *w)
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
    HG_TRY(hg_run_smo(w, &w->options));
    w->options.max_iter = t->params->max_iter;
    hinge_status status = finish_inside(w, columns);
    w->options.leaves = NULL;
    return status;
}

/* Solves once more, for hg_settle_margin: by the interior point where the kernel's features are few, otherwise by the
 * solver that the training has. */
static hinge_status solve_again(void *arg, double eps, uint64_t max_iter, struct hg_turns *finer)
{
    struct hg_work *w = arg;
    w->options.eps = eps;
    w->options.max_iter = max_iter;
    w->s->report = (hinge_report){ 0 };
    struct hg_smo_options o = w->options;
    o.look_at = finer != NULL ? finer->look.work : 0;
    o.look = hg_turns_look;
    o.look_arg = finer;
    bool few = may_end_inside(w->t) && hg_lowrank_inside(&w->t->distinct.problem, w->reduced.qp.n) > 0;
    hinge_status status = w->t->interior || few ? hg_run_inside(w) : hg_run_smo(w, &o);
    w->options.eps = w->t->params->eps;
    w->options.max_iter = w->t->params->max_iter;
    return status;
}

/* ---- coefficients that are kept ---------------------------------------------------------------------------------- */

/* Goes on from what an earlier training has kept, if it has. */
static hinge_status take_kept(struct hg_work *w)
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
static void keep_last(struct hg_work *w)
{
    if (w->keeper != NULL)
        (void)w->keeper->keep(w->keeper, w->last.problem, &w->reduced.qp, true);
    w->keeper = NULL;
}

/* ---- the entry --------------------------------------------------------------------------------------------------- */

hinge_status hg_work_solve(struct hg_work *w, int threads)
{
    struct hg_training *t = w->t;
    struct hg_refolding refolding = { t, &w->reduced, w->last.problem };
    struct hg_margin margin = { .problem = &t->distinct.problem,
                                .interior = t->interior,
                                .nu = t->params->nu,
                                .reduced = &w->reduced,
                                .s = w->s,
                                .threads = threads,
                                .halt = &w->options.halt,
                                .solve = solve_again,
                                .arg = w };
    w->options.then = t->refold != NULL ? hg_refold : NULL;
    w->options.then_arg = &refolding;
    HG_TRY(take_kept(w));
    HG_TRY(solve_reduced(w));
    keep_last(w);
    if (w->s->report.outcome == HINGE_STALLED &&
        hg_halted(&w->options.halt)) /* at the last call, too late for a rule */
        w->s->report.outcome = hg_halt_outcome(&w->options.halt);
    w->options.then = NULL;
    margin.work = w->done;
    HG_TRY(hg_settle_margin(&margin, w->err));
    return hg_keep_solution(t, &w->reduced, w->s, w->err);
}

/* Solves problem p of a training into t->solutions[p]; hg_each's job. Several may run at once: they share `stop`, the
 * lock and what is const. */
hinge_status hg_solve_problem(void *arg, int thread, size_t p, int threads, hinge_error *err)
{
    struct hg_training *t = arg;
    struct hg_work w = { .t = t, .s = &t->solutions[p], .err = err };
    hg_work_init(&w, p, thread, threads);
    hinge_status status = hg_reduced_init(&w.reduced, &t->distinct, &t->problem, p, err);
    HG_THEN(status, hg_work_solve(&w, threads));
    hg_lowrank_free(&w.factor);
    hg_reduced_free(&w.reduced);
    return status;
}
