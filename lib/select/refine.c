/*
 * To what folds are trained where hinge chooses: what decision values are measured by, and folds whose violation is not
 * small beside it, which go on. Read line.c before.
 */
#include "lib/select/select.h"

#include <math.h>
#include <string.h>

/* Returns the root of the mean squared error of a regression's held-out rows, infinite where there are none; *shift:
 * the same of how far their values are from those of the last look. What is seen is noted where predictions will be. */
static double held_out_error(const struct hg_selecting *s, const struct hg_part *part, double *shift)
{
    size_t fold = hg_fold_of(s, part), at = hg_repeat_of(s, fold), count = 0;
    double square = 0, moved = 0;
    hg_decide_held(s, part, part->g, false);
    for (size_t row = 0; row < s->rows; row++)
        if (s->used[row] && s->out->fold[at + row] == (int)fold) {
            double value = s->decisions[at + row], last = s->predictions[at + row];
            square += (value - s->y[row]) * (value - s->y[row]);
            moved += (value - last) * (value - last);
            s->predictions[at + row] = value;
            count++;
        }
    *shift = sqrt(moved / (double)count);
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
 * solution. What a violation makes of values has no bound: rows far from all others move most. Taken that they are as
 * far from their ends as the root of the violation, v now and u at the last look, what is left is the shift since then
 * times sqrt(v / (u - v)), and at most that. It may be an eighth of the error, and the violation half of it; an eighth
 * where nothing has moved, which tells nothing. */
static bool error_is_open(const struct hg_selecting *s, struct hg_part *part)
{
    double shift, error = held_out_error(s, part, &shift), violation = part->many.report.violation;
    double fall = part->looked_at - violation, left = shift * fmin(sqrt(violation / fmax(fall, 0)), 1);
    bool goes = !isnan(fall) && left > error / 8;
    part->looked_at = violation;
    return violation > error / (!isnan(fall) && shift == 0 ? 8 : 2) || goes;
}

/* Says whether a problem is to go on: its violation is not small, and the eps of the last training is not reached. */
static bool is_coarse(const struct hg_selecting *s, struct hg_part *part)
{
    bool is_open =
        s->problem.task->regresses ? error_is_open(s, part) : part->many.report.violation > small_violation(s, part);
    return is_open && part->many.report.outcome == HINGE_CONVERGED && part->eps > s->params.eps;
}

/* Says whether eps of folds is hinge's choice, and depends on what comes out: only decision values of C-SVC have a
 * unit, the margin of 1. */
static bool may_refine(const struct hg_selecting *s)
{
    return (!s->problem.classifies || s->problem.task->uses_nu) && s->options.eps == 0;
}

/* Solves a regression's batch to twice the usual eps on the way to it, for a first look at its held-out errors, which
 * costs nothing where that is near. A limit of steps is for one training, and the interior point has no way. */
hinge_status hg_look_ahead(struct hg_selecting *s, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    for (size_t b = 0; b < s->n_batch; b++) {
        s->batch[b]->eps = 2 * s->out->eps;
        s->batch[b]->looked_at = NAN;
    }
    if (!may_refine(s) || !s->problem.task->regresses || s->params.max_iter > 0 || hg_select_asks_inside(s))
        return HINGE_OK;
    status = hg_solve_some(s, s->batch, s->n_batch, hg_select_look_steps(s), err);
    for (size_t b = 0; b < s->n_batch && status == HINGE_OK; b++) {
        struct hg_part *part = s->batch[b];
        double shift, error = held_out_error(s, part, &shift);
        bool ended = isfinite(error) && part->many.report.outcome == HINGE_CONVERGED;
        part->looked_at = ended ? part->many.report.violation : NAN;
    }
    return status;
}

/* Decision values of nu-SVC and one-class are as large as the kernel makes them, and regression may be as near to its
 * targets as it likes: where the usual eps is too coarse for a problem, it goes on to a quarter of it, and so on. */
hinge_status hg_refine(struct hg_selecting *s, hinge_error *err)
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
        status = hg_solve_to(s, eps, err);
    }
    s->batch = all;
    s->n_batch = count;
    hg_free(some);
    return status;
}
