/*
 * Folds that SMO side by side has not ended. As in hinge_train (lib/train/solve.c), where SMO has taken too many steps,
 * or has stalled, the interior point ends them (linear kernels and polynomials of few monomials, and any kernel of few
 * points); folds that have stalled all the same go on by themselves. Who takes a turn, and for how long, is decided by
 * solver/turns.h. The interior point gains as much as in a training (lib/train/lowrank.h). With params.solver =
 * HINGE_SOLVER_SMO there is SMO alone. Read line.c before.
 */
#include "lib/train/lowrank.h"
#include "lib/data/params.h"
#include "lib/select/select.h"
#include "solver/turns.h"

#include <math.h>
#include <string.h>

/* Says so where the caller names the interior point, or asks for what it alone does. */
bool hg_select_asks_inside(const struct hg_selecting *s)
{
    return s->params.solver == HINGE_SOLVER_INTERIOR_POINT || hg_params_need_interior(&s->params);
}

/* Columns of the kernel in hand where they are so few that the interior point goes on at once; 0: they are not. */
static size_t columns_of(const struct hg_selecting *s, const struct hg_problem *pr, size_t n)
{
    return hg_params_leave_solver(&s->params) ? hg_lowrank_inside(pr, n) : 0;
}

/* Points of the batch's largest problem. */
static size_t largest_of(const struct hg_selecting *s)
{
    size_t n = 0;
    for (size_t b = 0; b < s->n_batch; b++)
        n = HG_MAX(n, s->batch[b]->n);
    return n;
}

/* Returns the steps of the batch's largest problem: where the kernel has few columns, as many as take as long as the
 * interior point on them; otherwise 50 a row, after which it is worth looking for a factor; and the caller's limit
 * where the solver is not left to hinge. */
uint64_t hg_select_steps(const struct hg_selecting *s)
{
    const struct hg_problem *pr = &hg_field_of(s, 0)->problem;
    size_t n = largest_of(s);
    size_t columns = columns_of(s, pr, n);
    if (!hg_params_leave_solver(&s->params))
        return s->params.max_iter;
    return columns > 0 ? hg_lowrank_steps(n, columns) : HG_RANK_LOOK * (uint64_t)n;
}

uint64_t hg_select_look_steps(const struct hg_selecting *s)
{
    uint64_t steps = hg_select_steps(s);
    return HG_MAX((steps > 0 ? steps : HG_RANK_LOOK * (uint64_t)largest_of(s)) / 2, (uint64_t)1);
}

/* Says whether a factor is nearer to the kernel than those that the interior point has ended on; it begins anew each
 * time, so that it would end where it did. */
static bool is_nearer(struct hg_part *part, const struct hg_lowrank *factor)
{
    double trace_error = HG_MAX(factor->trace_error, HG_NOTHING_LEFT);
    if (!(trace_error < part->trace_error))
        return false;
    part->trace_error = trace_error;
    return true;
}

/* Solves the part's problem anew, whatever its start, on a factor ZZ' of its kernel. made: the factor, or NULL: it is
 * made here. Leaves g and bias as SMO would; the outcome STALLED says that the violation is above eps. All stays as it
 * is where no factor is nearer than those before. */
static hinge_status solve_inside(const struct hg_selecting *s, struct hg_part *part, const struct hg_lowrank *made,
                                 hinge_error *err)
{
    const struct hg_problem *pr = &hg_part_field(s, part)->problem;
    struct hg_lowrank own = { 0 };
    struct hg_interior_result result;
    struct hg_interior_options options = { .eps = part->eps, .gap = hg_turns_inside_gap(part->eps), .sums = part->sums,
                                           .threads = pr->data.threads, .halt = s->halt };
    size_t rank = pr->params.rank;
    if (rank == 0 && hg_lowrank_columns(pr) == 0)
        rank = HG_MIN(part->n, (size_t)HG_RANK_EXACT);
    if (made == NULL)
        HG_TRY(hg_lowrank_init(&own, pr, part->point, part->n, rank, pr->data.threads, &s->halt, err));
    made = made != NULL ? made : &own;
    if (!is_nearer(part, made)) {
        hg_lowrank_free(&own);
        return HINGE_OK;
    }
    hinge_status status = hg_lowrank_solve(made, pr, &part->qp, &options, part->g, true, &result, err);
    size_t columns = made->super.d;
    hg_lowrank_free(&own);
    HG_TRY(status);
    bool ends = result.report.outcome == HINGE_STALLED && result.report.violation <= part->eps;
    part->many.report.outcome = ends ? HINGE_CONVERGED : result.report.outcome;
    part->many.report.violation = result.report.violation;
    part->many.reach = hg_qp_length(&part->qp);
    part->many.unseen = 0;
    part->steps += result.report.iterations;
    part->work += hg_turns_inside_work(&part->qp, columns, result.report.iterations);
    memcpy(part->many.bias, result.bias, sizeof part->many.bias);
    return HINGE_OK;
}

hinge_status hg_part_smo(const struct hg_selecting *s, const struct hg_part *part, struct hg_smo_options options,
                         struct hg_qp *qp, struct hg_smo_result *result, hinge_error *err)
{
    const struct hg_field *field = hg_part_field(s, part);
    int threads = field->problem.data.threads;
    struct hg_gram exact = { 0 };
    options.shrinking = s->params.shrinking;
    options.cache_bytes = (s->params.cache_bytes > 0 ? s->params.cache_bytes : hg_total_memory() / 2) / 4;
    options.newton_bytes = s->params.newton ? options.cache_bytes : 0;
    options.threads = threads;
    options.cpu_level = field->many.cpu_level;
    options.measured = 64;
    options.halt = s->halt;
    options.warm = true;
    hinge_status status = hg_dataset_exact(&field->problem.data, part->point, part->n, threads, &exact, err);
    HG_THEN(status, hg_block_smo(qp, &exact.super, &exact.super, &options, result, err));
    hg_gram_free(&exact);
    return status;
}

hinge_status hg_part_settle(const struct hg_selecting *s, struct hg_part *part, hinge_outcome outcome, hinge_error *err)
{
    const struct hg_problem *pr = &hg_part_field(s, part)->problem;
    struct hg_many_problem *many = &part->many;
    HG_TRY(hg_problem_gradient(pr, part->point, &part->qp, pr->data.threads, &s->halt, part->g, err));
    many->report.outcome = hg_halted(&s->halt) ? hg_halt_outcome(&s->halt) : outcome;
    many->report.violation = hg_qp_violation(&part->qp, part->g);
    many->moved = NULL;
    many->reach = hg_qp_length(&part->qp);
    many->unseen = 0;
    for (int l = 0; l < part->qp.layers; l++)
        many->bias[l] = hg_qp_bias(&part->qp, NULL, part->n, part->g, l);
    return HINGE_OK;
}

/* Goes on with the part's problem by itself, for the steps that are left of those that a problem may take. */
static hinge_status solve_alone(const struct hg_selecting *s, struct hg_part *part, struct hg_turns *turns,
                                hinge_error *err)
{
    struct hg_smo_result result;
    const struct hg_smo_options options = { .eps = part->eps, .max_iter = hg_smo_steps_left(part->n, part->steps),
                                            .look_at = turns->look.work, .look = hg_turns_look, .look_arg = turns };
    HG_TRY(hg_part_smo(s, part, options, &part->qp, &result, err));
    HG_TRY(hg_part_settle(s, part, result.report.outcome, err));
    if (part->many.report.outcome == HINGE_MAX_ITER)
        part->many.report.outcome = HINGE_STALLED;
    part->steps += result.report.iterations;
    part->work += result.work;
    return HINGE_OK;
}

/* A part's turns: what both of its solvers go by, and what is known of the point before a turn. */
struct turn {
    const struct hg_selecting *s;
    struct hg_part *part;
    const struct hg_lowrank *made; /* the interior point's factor; NULL: it makes one */
    struct hg_many_problem before;
    double *g; /* [n] */
    hinge_error *err;
};

static hinge_status run_turn(struct hg_turns *t, enum hg_solver who)
{
    struct turn *turn = t->arg;
    struct hg_part *part = turn->part;
    hinge_status status = who == HG_SMO ? solve_alone(turn->s, part, t, turn->err)
                                        : solve_inside(turn->s, part, turn->made, turn->err);
    t->outcome = part->many.report.outcome;
    t->objective = status == HINGE_OK ? hg_qp_objective(&part->qp, part->g) : NAN;
    t->violation = part->many.report.violation;
    t->work = part->work;
    if (status == HINGE_ENOMEM)
        hg_ok(turn->err);
    return status;
}

static void keep_turn(struct hg_turns *t)
{
    struct turn *turn = t->arg;
    turn->before = turn->part->many;
    memcpy(turn->g, turn->part->g, turn->part->n * sizeof *turn->g);
}

static void settle_turn(struct hg_turns *t, enum hg_solver who, bool taken)
{
    struct turn *turn = t->arg;
    (void)who;
    if (taken)
        return;
    turn->part->many = turn->before;
    memcpy(turn->part->g, turn->g, turn->part->n * sizeof *turn->g);
}

/* Lets a solver take a turn at a part, if it is worth it. The interior point goes by a factor that is made, or by one
 * of so many columns. */
static hinge_status improve(const struct hg_selecting *s, struct hg_part *part, enum hg_solver who,
                            const struct hg_lowrank *made, size_t columns, hinge_error *err)
{
    double *g, *kept;
    if (!HG_ROOM(HG_ARRAY(g, part->n), HG_TABLE(kept, part->n, (size_t)part->qp.layers)))
        return HINGE_OK;
    struct turn turn = { .s = s, .part = part, .made = made, .g = g, .err = err };
    struct hg_turns t = { .qp = &part->qp, .eps = part->eps, .kept = kept, .outcome = part->many.report.outcome,
                          .objective = hg_qp_objective(&part->qp, part->g),
                          .violation = part->many.report.violation, .work = part->work, .run = run_turn,
                          .keep = keep_turn, .settle = settle_turn, .arg = &turn };
    hinge_status status = HINGE_OK;
    if (who == HG_SMO || columns == 0 || hg_turns_may_inside(&t, columns))
        status = hg_turns_take(&t, who);
    part->many.report.outcome = t.outcome;
    part->many.moved = NULL;
    hg_free(g);
    return status;
}

/* Brings those of some problems that have been stopped on the way, or have stalled (where that is asked for), to the
 * front. */
static size_t unfinished(struct hg_part **some, size_t count, bool stalled)
{
    size_t left = 0;
    for (size_t k = 0; k < count; k++)
        if (some[k]->many.report.outcome == HINGE_MAX_ITER ||
            (stalled && some[k]->many.report.outcome == HINGE_STALLED))
            some[left++] = some[k];
    return left;
}

/* Does what can be done for problems for which SMO has taken so many steps. */
static hinge_status improve_all(struct hg_selecting *s, struct hg_part *const *some,
                                size_t count, uint64_t steps, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    for (size_t k = 0; k < count && status == HINGE_OK; k++) {
        struct hg_part *part = some[k];
        const struct hg_problem *pr = &hg_part_field(s, part)->problem;
        size_t columns = columns_of(s, pr, part->n);
        struct hg_lowrank z = { 0 };
        if (columns > hg_lowrank_most(part->n))
            continue;
        if (columns > 0)
            status = improve(s, part, HG_INSIDE, NULL, columns, err);
        else if (hg_lowrank_find(&z, pr, part->point, &part->qp, part->eps, steps, pr->data.threads, &s->halt))
            status = improve(s, part, HG_INSIDE, &z, 0, err);
        else
            break; /* other folds have none either */
        hg_lowrank_free(&z);
    }
    return status;
}

/* Solves the whole batch by the interior point, problem by problem with all threads. */
static hinge_status all_inside(struct hg_selecting *s, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    for (size_t b = 0; b < s->n_batch && status == HINGE_OK; b++)
        status = solve_inside(s, s->batch[b], NULL, err);
    return status;
}

/* Keeps those of some problems that SMO has stopped on the way, and that gain by it; the others have stalled. */
static size_t gaining(struct hg_part **some, size_t count)
{
    size_t left = 0;
    for (size_t k = 0; k < count; k++) {
        hinge_report *report = &some[k]->many.report;
        struct hg_way way = { some[k]->work, report->violation, hg_qp_objective(&some[k]->qp, some[k]->g), 0 };
        struct hg_turns turns = { .objective = some[k]->look.objective, .look = some[k]->look };
        if (report->outcome != HINGE_MAX_ITER)
            continue;
        bool gains = hg_turns_look(&turns, &way) > 0;
        some[k]->look = turns.look;
        if (gains)
            some[left++] = some[k];
        else
            report->outcome = HINGE_STALLED;
    }
    return left;
}

/* Goes on with problems that SMO has not finished: by turns the interior point and SMO side by side, with twice the
 * steps each time, for as long as they gain. Where the kernel has few columns the interior point has one turn, as it
 * has all of them. */
static hinge_status go_on_inside(struct hg_selecting *s, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    struct hg_part **some;
    HG_TRY(HG_MAKE(err, "the problems of folds", HG_ARRAY(some, s->n_batch)));
    memcpy(some, s->batch, s->n_batch * sizeof *some);
    size_t count = unfinished(some, s->n_batch, true);
    uint64_t steps = hg_select_steps(s);
    for (size_t k = 0; k < count; k++)
        some[k]->look = (struct hg_look){ .objective = hg_qp_objective(&some[k]->qp, some[k]->g),
                                          .violation = some[k]->many.report.violation };
    for (int turn = 0; count > 0 && status == HINGE_OK && !hg_halted(&s->halt); turn++) {
        const struct hg_problem *pr = &hg_part_field(s, some[0])->problem;
        if (turn == 0 || columns_of(s, pr, some[0]->n) == 0)
            status = improve_all(s, some, count, steps, err);
        count = unfinished(some, count, false);
        if (status == HINGE_OK && count > 0)
            status = hg_solve_some(s, some, count, steps, err);
        if (status == HINGE_OK && !hg_halted(&s->halt))
            count = gaining(some, count);
        steps *= 2;
    }
    hg_free(some);
    return status;
}

/* Goes on only where the caller leaves the solver to hinge. */
hinge_status hg_select_finish(struct hg_selecting *s, hinge_error *err)
{
    if (hg_select_asks_inside(s))
        return all_inside(s, err);
    return hg_params_leave_solver(&s->params) ? go_on_inside(s, err) : HINGE_OK;
}

/* Says whether a problem has no solution to eps, though nobody has ended it. */
static bool lacks_an_end(const struct hg_part *part)
{
    return part->many.report.outcome == HINGE_STALLED || part->many.report.outcome == HINGE_NONFINITE;
}

/* The interior point with all columns that the kernel has, where points are few. */
static hinge_status finish_part(struct hg_selecting *s, struct hg_part *part, hinge_error *err)
{
    const struct hg_problem *pr = &hg_part_field(s, part)->problem;
    hinge_status status = HINGE_OK;
    bool few = part->n <= HG_RANK_EXACT && !hg_kernel_is_indefinite(&pr->data.kernel);
    if (few && hg_params_leave_solver(&s->params) && columns_of(s, pr, part->n) == 0)
        status = improve(s, part, HG_INSIDE, NULL, part->n, err);
    if (status == HINGE_OK && lacks_an_end(part) && !hg_halted(&s->halt))
        status = improve(s, part, HG_SMO, NULL, 0, err);
    return status;
}

/* Leaves a problem as it is where the caller limits steps, or where values overflow f32 and the caller wants f32. */
hinge_status hg_select_alone(struct hg_selecting *s, hinge_grid_point *point, hinge_outcome before, hinge_error *err)
{
    const hinge_params *p = &s->params;
    hinge_status status = HINGE_OK;
    hinge_outcome worst = before;
    bool may = p->max_iter == 0 && !hg_select_asks_inside(s);
    for (size_t b = 0; b < s->n_batch && status == HINGE_OK; b++) {
        const struct hg_part *part = s->batch[b];
        uint64_t steps = part->steps;
        bool overflows = part->many.report.outcome == HINGE_NONFINITE && p->precision == HINGE_PRECISION_F32;
        if (may && lacks_an_end(part) && !overflows && !hg_halted(&s->halt))
            status = finish_part(s, s->batch[b], err);
        point->iterations += part->steps - steps;
        s->out->iterations += part->steps - steps;
        worst = hg_worse_outcome(worst, part->many.report.outcome);
    }
    point->outcome = worst;
    return status;
}
