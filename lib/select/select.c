/*
 * hinge_select: points one after the other, the choice, and the last training. Read select.h before, and drop.c for
 * which points are dropped on the way.
 */
#include "lib/select/select.h"
#include "lib/base/team.h"
#include "lib/base/teller.h"
#include "lib/data/params.h"
#include "lib/data/partition.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double USUAL_EPS = 0.1; /* of folds */

enum { FOLDS_AT_ONCE = 2 };   /* where points like it were dropped */
enum { SMALL_DATA = 100000 }; /* values: folds of regression are trained nearly to the end */

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

/* Returns the parameters given, with values that any training takes in place of those that the grid tries: these are
 * checked point by point (check_point). */
static hinge_params template_of(const hinge_params *given, const hinge_select_options *o)
{
    hinge_params p = *given;
    p.C = 1;
    p.nu = 0.5;
    p.kernel.gamma = 1;
    p.p = o->p.value != NULL ? 0 : p.p;
    p.tau = o->tau.value != NULL ? 0 : p.tau;
    p.kernel.degree = o->degree.value != NULL ? 3 : p.kernel.degree;
    p.kernel.coef0 = o->coef0.value != NULL ? 0 : p.kernel.coef0;
    p.beta0 = NULL;
    p.scaling = NULL;
    return p;
}

/* Notes which rows count (weight > 0), and the class of each. */
static hinge_status find_rows(struct hg_selecting *s, hinge_error *err)
{
    const struct hg_problem *pr = &s->problem;
    HG_TRY(HG_MAKE(err, "the classes of rows", HG_ZEROS(s->used, s->rows), HG_ZEROS(s->class_of, s->rows),
                   HG_ARRAY(s->class_weight, pr->n_classes + 1)));
    hg_folds_mark(pr, s->used, NULL);
    for (size_t c = 0; pr->classifies && c < pr->n_classes; c++)
        for (size_t i = pr->start[c]; i < pr->start[c + 1]; i++)
            s->class_of[pr->order[i]] = (uint32_t)c;
    return HINGE_OK;
}

/* Takes room for what the point in work predicts, and for each point's scores by fold, which are NaN until they are
 * known. */
static hinge_status make_room(struct hg_selecting *s, hinge_error *err)
{
    hinge_selection *out = s->out;
    size_t all = out->repeats * s->rows; /* deal.c has held them in memory */
    HG_TRY(HG_MAKE(err, "the predictions of rows", HG_TABLE(s->decisions, all, s->n_problems),
                   HG_ARRAY(s->predictions, all), HG_ARRAY(s->best_predictions, all),
                   HG_ARRAY(s->is_done, out->n_folds), HG_ARRAY(s->reached, out->n_folds),
                   HG_ARRAY(s->line, out->n_points)));
    for (size_t i = 0; i < out->n_points; i++) {
        hinge_grid_point *point = &out->points[i];
        size_t count = out->n_folds * HINGE_N_SCORES;
        double *scores;
        HG_TRY(HG_MAKE(err, "the scores of folds", HG_ARRAY(scores, count)));
        for (size_t k = 0; k < count; k++)
            scores[k] = NAN;
        point->fold_score = scores;
    }
    return HINGE_OK;
}

/* Says why the score asked for is none of this task. */
static hinge_status refuse_score(const struct hg_selecting *s, hinge_error *err)
{
    const char *name = hinge_score_name(s->options.score), *task = s->problem.task->keyword;
    if (name == NULL)
        return hg_fail(err, HINGE_EINVAL, "score: %d is no score", (int)s->options.score);
    if (!s->problem.classifies)
        return hg_fail(err, HINGE_EINVAL, "score: %s has no score \"%s\"", task, name);
    return hg_fail(err, HINGE_EINVAL, "score: %s with %zu classes has no score \"%s\"", task, s->problem.n_classes,
                   name);
}

/* The standard deviation of targets, in whose units decision values are; 1 of other tasks. */
static double unit_of(const struct hg_selecting *s)
{
    const struct hg_problem *pr = &s->problem;
    return pr->task->regresses ? hg_deviation(s->y, pr->order, pr->data.n) : 1;
}

/* Returns the eps that folds are trained to at first where the caller names none: 0.1. In regression it is a quarter of
 * the targets' standard deviation where that is less, since a tolerance as wide as the targets would end all folds
 * before they begin; and a thousandth of it where data are small, as there is no bound on what a violation makes of
 * rows that are far from all others. From there all tasks but C-SVC go on to a finer eps where that matters
 * (refine.c). */
static double usual_eps(const struct hg_selecting *s)
{
    double share = (double)s->rows * (double)s->x.cols <= SMALL_DATA ? 1e-3 : 0.25;
    double most = s->problem.task->regresses ? fmin(USUAL_EPS, s->unit * share) : USUAL_EPS;
    return HG_MAX(s->params.eps, most);
}

/* Checks what the caller gave, and makes all that no training is needed for: the problem of rows of weight > 0, folds,
 * points, room. */
static hinge_status begin(struct hg_selecting *s, hinge_error *err)
{
    hinge_select_options *o = &s->options;
    hinge_params given = template_of(s->given, o);
    HG_TRY(hg_problem_init(&s->problem, &s->x, s->y, &given, &(struct hg_given){ .is_elsewhere = s->others != NULL },
                           err));
    s->params = s->problem.params;
    s->rows = s->x.rows;
    s->n_problems = s->problem.n_problems;
    s->out->score = o->score;
    if ((size_t)o->drop > HINGE_DROP_RACE)
        return hg_fail(err, HINGE_EINVAL, "drop: there is no way %d", (int)o->drop);
    if ((size_t)o->ties > HINGE_TIES_VALUES)
        return hg_fail(err, HINGE_EINVAL, "ties: there is no rule %d", (int)o->ties);
    if (!(o->eps >= 0) || !isfinite(o->eps))
        return hg_fail(err, HINGE_EINVAL, "eps: %g of the folds is not 0 or more", o->eps);
    if (!hg_score_of_task(s, &s->out->score))
        return refuse_score(s, err);
    s->unit = unit_of(s);
    s->out->eps = o->eps > 0 ? o->eps : usual_eps(s);
    HG_TRY(find_rows(s, err));
    HG_TRY(hg_deal(s, err));
    HG_TRY(hg_grid_points(s, err));
    return make_room(s, err);
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* Copies decision values and predictions of the rows held out to the point, where the caller wants them. */
static hinge_status keep_predictions(const struct hg_selecting *s, hinge_grid_point *point, hinge_error *err)
{
    size_t all = s->out->repeats * s->rows;
    if (!s->options.decisions)
        return HINGE_OK;
    HG_TRY(HG_MAKE(err, "the decision values of rows", HG_TABLE(point->decisions, all, s->n_problems),
                   HG_ARRAY(point->predictions, all)));
    memcpy(point->decisions, s->decisions, all * s->n_problems * sizeof *point->decisions);
    memcpy(point->predictions, s->predictions, all * sizeof *point->predictions);
    return HINGE_OK;
}

/* Scores a point, and makes it the best so far where it is: later points are dropped by its predictions. */
static hinge_status note_point(struct hg_selecting *s, hinge_grid_point *point, hinge_error *err)
{
    HG_TRY(hg_score_point(s, point, err));
    hinge_status status = keep_predictions(s, point, err);
    if (status != HINGE_OK || point->state != HINGE_POINT_DONE || !hg_point_beats(s, point, s->out->best))
        return status;
    s->out->best = point;
    memcpy(s->best_predictions, s->predictions, s->out->repeats * s->rows * sizeof *s->predictions);
    return HINGE_OK;
}

/* Trains so many folds of a point, by whoever does. */
static hinge_status train_folds(struct hg_selecting *s, hinge_grid_point *point, size_t first, size_t count,
                                hinge_error *err)
{
    hinge_status status = HINGE_OK;
    if (s->others == NULL)
        return hg_train_folds(s, point, first, count, err);
    for (size_t f = first; f < first + count && status == HINGE_OK && !hg_ended_early(point->outcome); f++) {
        status = s->others->train(s->others->arg, s, point, f, err);
        if (status == HINGE_OK && !hg_ended_early(point->outcome))
            status = hg_predict_fold(s, f, err);
    }
    return status;
}

/* Points of the line that were dropped, as they cannot win, have folds that were not trained. Trains these folds at
 * those points first: each then starts at this point from what it would have started from if nothing had been dropped,
 * and the winner is the same. */
static hinge_status catch_up(struct hg_selecting *s, hinge_grid_point *point, size_t first, size_t count,
                             hinge_error *err)
{
    for (size_t k = 0; k < s->n_line && s->options.drop == HINGE_DROP_EXACT && s->others == NULL; k++) {
        hinge_grid_point *left = s->line[k];
        hinge_outcome before = left->outcome;
        size_t f = first;
        while (f < first + count && s->reached[f] > k)
            f++;
        if (f == first + count)
            continue;
        HG_TRY(hg_train_folds(s, left, f, first + count - f, err));
        if (hg_ended_early(left->outcome)) {
            point->outcome = left->outcome;
            left->outcome = before;
            break;
        }
    }
    return HINGE_OK;
}

/* Trains a point's folds side by side: all of them, as threads then wait for each other least; or, where the point
 * before was dropped, a few at a time until this one is. */
static hinge_status try_point(struct hg_selecting *s, hinge_grid_point *point, hinge_error *err)
{
    size_t folds = s->out->n_folds, all = s->out->repeats * s->rows;
    size_t at_once = s->drops ? FOLDS_AT_ONCE : folds, count;
    memset(s->is_done, 0, folds * sizeof *s->is_done);
    for (size_t i = 0; i < all; i++)
        s->predictions[i] = NAN;
    for (size_t i = 0; i < all * s->n_problems; i++)
        s->decisions[i] = NAN;
    for (size_t f = 0; f < folds && point->state == HINGE_POINT_WAITING; f += count) {
        count = HG_MIN(at_once, folds - f);
        hinge_status status = catch_up(s, point, f, count, err);
        if (status == HINGE_OK && !hg_ended_early(point->outcome))
            status = train_folds(s, point, f, count, err);
        if (status != HINGE_OK || hg_ended_early(point->outcome))
            return status;
        for (size_t k = f; k < f + count; k++) {
            s->is_done[k] = true;
            s->reached[k] = s->n_line + 1;
        }
        if (f + count < folds)
            hg_drop_point(s, point);
    }
    s->line[s->n_line++] = point;
    s->drops = point->state != HINGE_POINT_WAITING || hg_would_be_dropped(s);
    hg_follow_line(s);
    if (point->state == HINGE_POINT_WAITING)
        point->state = HINGE_POINT_DONE;
    return note_point(s, point, err);
}

/* Checks a point; one that cannot be trained says why, and is no error of the call. */
static bool check_point(const struct hg_selecting *s, hinge_grid_point *point)
{
    hinge_params params = hg_point_params(s, point), resolved;
    const hinge_task_row *task = s->problem.task;
    hinge_error mine;
    char *text = point->text;
    size_t room = sizeof point->text;
    params.scaling = NULL;
    params.beta0 = NULL;
    if (task->uses_C && !(point->C > 0))
        snprintf(text, room, "C: %g is not positive", point->C);
    else if (task->uses_nu && !(point->nu > 0))
        snprintf(text, room, "nu: %g is not in (0, 1]", point->nu);
    else if (task->uses_tau && !(point->tau > 0))
        snprintf(text, room, "tau: %g is not in (0, 1)", point->tau);
    else if (hg_params_check(&params, s->rows, s->x.cols, &resolved, &mine) != HINGE_OK)
        snprintf(text, room, "%.*s", (int)room - 1, mine.text);
    else if (point->nu > hg_select_most_nu(s, SIZE_MAX, s->class_weight) * (1 + 1e-12))
        snprintf(text, room, "nu: %g is infeasible for these classes; at most %g", point->nu,
                 hg_select_most_nu(s, SIZE_MAX, s->class_weight));
    else
        return true;
    point->state = HINGE_POINT_FAILED;
    return false;
}

/* Tells the caller; true: the rest is not wanted. */
static bool tell(struct hg_selecting *s, hinge_grid_point *point, size_t done)
{
    hinge_select_progress progress = { done, s->out->n_points, point, s->out->best, hg_now() - s->begin };
    point->seconds = progress.seconds;
    return s->options.point != NULL && s->options.point(s->options.point_arg, &progress) != 0;
}

/* Gives points the scores that an earlier call found, so that they are not trained; the best of them begins as the best
 * so far. */
static void take_known(struct hg_selecting *s)
{
    for (size_t i = 0; i < s->out->n_points; i++)
        for (size_t k = 0; k < s->options.n_known; k++) {
            hinge_grid_point *point = &s->out->points[i];
            const hinge_grid_point *known = &s->options.known[k];
            if (!hg_same_point(point, known) || known->state == HINGE_POINT_WAITING)
                continue;
            point->state = hg_is_scored(known) ? HINGE_POINT_KNOWN : known->state;
            memcpy(point->score, known->score, sizeof point->score);
            memcpy(point->mean, known->mean, sizeof point->mean);
            memcpy(point->deviation, known->deviation, sizeof point->deviation);
            memcpy(point->text, known->text, sizeof point->text);
            if (point->state == HINGE_POINT_KNOWN && hg_point_beats(s, point, s->out->best))
                s->out->best = point;
        }
}

/* Asks the caller, now and then while points are trained, whether to go on. */
static void ask(void *arg)
{
    struct hg_selecting *s = arg;
    hinge_progress progress = { .problem = s->done,
                                .n_problems = s->out->n_points,
                                .iterations = s->out->iterations,
                                .violation = INFINITY,
                                .n = s->problem.data.n, .n_active = s->problem.data.n };
    struct hg_teller teller = { .progress = s->given->progress, .arg = s->given->progress_arg, .begin = s->begin,
                                .stop = s->halt.stop };
    (void)hg_tell(&teller, &progress);
}

/* Goes from the last point that was trained to this one: on the same line nothing changes; on another, starts are
 * forgotten; of another kernel, working sets too, and the rows are its own. */
static hinge_status go_to(struct hg_selecting *s, const hinge_grid_point *point, const hinge_grid_point *last,
                          hinge_error *err)
{
    bool same_kernel = last != NULL && hg_same_kernel(point, last);
    if (last != NULL && hg_same_line(point, last))
        return HINGE_OK;
    s->falls = s->n_line = 0;
    s->line_loss = NAN;
    memset(s->reached, 0, s->out->n_folds * sizeof *s->reached);
    if (s->others != NULL)
        return HINGE_OK;
    hg_parts_forget(s, !same_kernel);
    return same_kernel ? HINGE_OK : hg_fields_take(s, point, false, err);
}

/* Tries points in the order that makes each cheap after the last. A point that was interrupted stays waiting, and ends
 * the selection. */
static hinge_status try_in_order(struct hg_selecting *s, const struct hg_turn *order, hinge_error *err)
{
    hinge_selection *out = s->out;
    const hinge_grid_point *last = NULL;
    hinge_status status = HINGE_OK;
    for (size_t i = 0; i < out->n_points && status == HINGE_OK && out->outcome == HINGE_CONVERGED; i++) {
        hinge_grid_point *point = order[i].point;
        if (point->state != HINGE_POINT_WAITING)
            continue;
        if (check_point(s, point)) {
            status = go_to(s, point, last, err);
            if (status == HINGE_OK && !hg_drop_with_line(s, point))
                status = try_point(s, point, err);
            last = point;
        }
        if (status == HINGE_OK && point->state == HINGE_POINT_WAITING)
            out->outcome = point->outcome;
        else if (status == HINGE_OK && tell(s, point, ++s->done))
            out->outcome = HINGE_STOPPED;
    }
    return status;
}

/* Tries all points by those who have the rows; of the parts of folds it is asked here alone whether they are absent. */
static hinge_status try_by_others(struct hg_selecting *s, const struct hg_turn *order, hinge_error *err)
{
    HG_TRY(HG_MAKE(err, "the problems of folds", HG_ZEROS(s->part, s->out->n_folds * s->n_problems)));
    hinge_status status = try_in_order(s, order, err);
    hg_free(s->part);
    return status;
}

/* Tries all points: rows' kernels (fields) and problems (parts) are made once for all of them. */
static hinge_status try_points(struct hg_selecting *s, hinge_error *err)
{
    hinge_selection *out = s->out;
    double limit = s->params.time_limit;
    struct hg_turn *order;
    HG_TRY(HG_MAKE(err, "the order of points of the grid", HG_ARRAY(order, out->n_points)));
    s->halt = (struct hg_halt){ .stop = &s->stop, .deadline = limit > 0 ? s->begin + limit : 0, .arg = s,
                               .ask = s->given->progress != NULL ? ask : NULL };
    hg_grid_order(s, order);
    for (size_t i = 0; i < out->n_points; i++)
        s->done += out->points[i].state != HINGE_POINT_WAITING;
    if (s->others != NULL) {
        hinge_status theirs = try_by_others(s, order, err);
        hg_free(order);
        return theirs;
    }
    hinge_status status = hg_fields_init(s, err);
    HG_THEN(status, hg_parts_init(s, err));
    HG_THEN(status, try_in_order(s, order, err));
    hg_parts_forget(s, true);
    hg_free(s->held);
    hg_free(s->part);
    hg_fields_free(s);
    hg_free(order);
    return status;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

/* Chooses the best point, and trains on all rows by it where that is wanted. */
static hinge_status finish(struct hg_selecting *s, hinge_error *err)
{
    hinge_selection *out = s->out;
    out->best = hg_best_point(s);
    out->params = *s->given;
    if (out->best == NULL)
        return HINGE_OK;
    out->params = hg_point_params(s, out->best);
    if (s->options.no_refit)
        return HINGE_OK;
    hinge_params params = out->params;
    params.beta0 = NULL;
    return hinge_train(&out->model, &s->x, s->y, &params, &out->report, err);
}

/* Does all in three parts: what needs no training, the points, the choice. What they worked on is freed here, whichever
 * of them failed; what was found is the caller's only on success. */
hinge_status hg_select(hinge_selection **selection, const hinge_matrix *x, const double *y, const hinge_params *params,
                       const hinge_select_options *options, bool tries, struct hg_select_others *others,
                       hinge_error *err)
{
    struct hg_selecting s = { .others = others, .y = y, .given = params, .begin = hg_now() };
    HG_NEED(err, selection, "selection");
    HG_NEED(err, params, "params");
    if (others == NULL)
        HG_TRY(hg_matrix_check(x, "x", err));
    s.x = *x;
    if (options != NULL)
        s.options = *options;
    HG_TRY(HG_MAKE(err, "a selection", HG_ZEROS(s.out, 1)));
    hinge_status status = begin(&s, err);
    if (status == HINGE_OK)
        take_known(&s);
    HG_THEN(status, tries ? try_points(&s, err) : HINGE_OK);
    HG_THEN(status, finish(&s, err));
    s.out->seconds = hg_now() - s.begin;
    hg_problem_free(&s.problem);
    hg_free(s.used);
    hg_free(s.decisions);
    if (status != HINGE_OK) {
        hinge_selection_free(s.out);
        return status;
    }
    *selection = s.out;
    return hg_ok(err);
}

hinge_status hinge_select(hinge_selection **selection, const hinge_matrix *x, const double *y,
                          const hinge_params *params, const hinge_select_options *options, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    HG_TEAM(hg_params_team(params, x, y, 100))
        status = hg_select(selection, x, y, params, options, true, NULL, err);
    return status;
}

void hinge_selection_free(hinge_selection *selection)
{
    if (selection == NULL)
        return;
    for (size_t i = 0; i < selection->n_points; i++) {
        hg_free(selection->points[i].fold_score);
        hg_free(selection->points[i].decisions); /* and with them the predictions */
    }
    hg_free(selection->points);
    hg_free(selection->fold);
    hinge_model_free(selection->model);
    hg_free(selection);
}
