/*
 * To what folds are trained where hinge chooses: what decision values are measured by, and folds whose violation is not
 * small beside it, which go on. Read line.c before.
 */
#include "lib/select/select.h"

#include <math.h>
#include <string.h>

/* Returns the root of the mean squared error of a regression's held-out rows; infinite where there are none. */
static double held_out_error(const struct hg_selecting *s, const struct hg_part *part)
{
    size_t fold = hg_fold_of(s, part), at = hg_repeat_of(s, fold), count = 0;
    double square = 0;
    hg_decide_held(s, part, part->g, false);
    for (size_t row = 0; row < s->rows; row++)
        if (s->used[row] && s->out->fold[at + row] == (int)fold) {
            square += (s->decisions[at + row] - s->y[row]) * (s->decisions[at + row] - s->y[row]);
            count++;
        }
    return count > 0 ? sqrt(square / (double)count) : INFINITY;
}

/* Returns a violation that is small beside what decision values are measured by: a tenth of the margin r of nu-SVC, by
 * which they are divided, or, where there is none, of their standard deviation. */
static double small_violation(const struct hg_selecting *s, const struct hg_part *part)
{
    double r = (part->many.bias[1] - part->many.bias[0]) / 2;
    return (s->problem.classifies && r > 0 ? r : hg_deviation(part->g, NULL, part->n)) / 10;
}

/* Says whether the held-out error of a regression, which is looked at here, may still be that of an unfinished
 * solution. How much error a violation makes differs by a factor of ten: 0.3 times itself on cadata, twice itself on
 * smooth targets at a large C. So the violation is at most half of the error, and at most a twentieth where the error
 * has moved by more than a tenth since the last look, an eighth where nothing has moved, which tells nothing. */
static bool error_is_open(const struct hg_selecting *s, struct hg_part *part)
{
    double before = part->held_out, error = held_out_error(s, part), moved = fabs(error - before);
    part->held_out = error;
    return part->many.report.violation > error / (moved > error / 10 ? 20 : moved == 0 ? 8 : 2);
}

/* Says whether a problem is to go on: its violation is not small, and the eps of the last training is not reached. */
static bool is_coarse(const struct hg_selecting *s, struct hg_part *part)
{
    bool is_open = s->problem.task->regresses ? error_is_open(s, part)
                                              : part->many.report.violation > small_violation(s, part);
    return is_open && part->many.report.outcome == HINGE_CONVERGED && part->eps > s->params.eps;
}

/* Says whether eps of folds is hinge's choice, and depends on what comes out: only decision values of C-SVC have a
 * unit, the margin of 1. */
static bool may_refine(const struct hg_selecting *s)
{
    return (!s->problem.classifies || s->problem.task->uses_nu) && s->options.eps == 0;
}

/* Solves a regression's batch to twice the usual eps on the way to it, for a first look at its held-out errors, which
 * costs nothing. A limit of steps is for one training, and the interior point has no way. */
hinge_status hg_look_ahead(struct hg_selecting *s, const hinge_grid_point *point, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    for (size_t b = 0; b < s->n_batch; b++) {
        s->batch[b]->eps = 2 * s->out->eps;
        s->batch[b]->held_out = NAN;
    }
    if (!may_refine(s) || !s->problem.task->regresses || s->params.max_iter > 0 || hg_select_asks_inside(s))
        return HINGE_OK;
    status = hg_solve_some(s, s->batch, s->n_batch, hg_select_steps(s, point) / 2, err);
    for (size_t b = 0; b < s->n_batch && status == HINGE_OK; b++)
        if (s->batch[b]->many.report.outcome == HINGE_CONVERGED)
            s->batch[b]->held_out = held_out_error(s, s->batch[b]);
    return status;
}

/* Decision values of nu-SVC and one-class are as large as the kernel makes them, and regression may be as near to its
 * targets as it likes: where the usual eps is too coarse for a problem, it goes on to a quarter of it, and so on. */
hinge_status hg_refine(struct hg_selecting *s, const hinge_grid_point *point, hinge_error *err)
{
    struct hg_part **all = s->batch, **some;
    size_t count = s->n_batch, left = count;
    hinge_status status = HINGE_OK;
    if (!may_refine(s))
        return HINGE_OK;
    HG_TRY(HG_MAKE(err, "the problems of folds", HG_ARRAY(some, count)));
    memcpy(some, all, count * sizeof *some);
    for (double eps = s->out->eps; status == HINGE_OK && eps > s->params.eps && !hg_halted(&s->halt);) {
        size_t open = 0;
        for (size_t b = 0; b < left; b++)
            if (is_coarse(s, some[b]))
                some[open++] = some[b];
        left = open;
        if (left == 0)
            break;
        eps = HG_MAX(eps / 4, s->params.eps);
        s->batch = some;
        s->n_batch = left;
        status = hg_solve_to(s, point, eps, err);
    }
    s->batch = all;
    s->n_batch = count;
    hg_free(some);
    return status;
}
