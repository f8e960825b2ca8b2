/*
 * Which of two points is better, and which points cannot win. Read select.h before.
 *
 * HINGE_DROP_RACE leaves out points that are surely worse than the best, and takes a quarter of the time of
 * HINGE_DROP_EXACT, which leaves out only those that cannot win (doc/tried.md). HINGE_DROP_NONE drops none: every point
 * has its scores.
 */
#include "lib/select/select.h"

#include <math.h>
#include <stdio.h>

/* ---- which is better --------------------------------------------------------------------------------------------- */

/* Says whether a point may be the best: its scores are known. */
bool hg_is_scored(const hinge_grid_point *point)
{
    return point->state == HINGE_POINT_DONE || point->state == HINGE_POINT_KNOWN;
}

/* Returns what points are compared by: the score over all rows held out, or the mean over folds. */
static double score_of(const struct hg_selecting *s, const hinge_grid_point *point)
{
    bool by_fold = s->options.by_fold || s->options.one_se;
    return (by_fold ? point->mean : point->score)[s->out->score];
}

/* Compares points; less than 0: a is simpler, as a smaller C, a larger nu and a smaller gamma make smoother
 * decisions. */
static int compare_simplicity(const hinge_grid_point *a, const hinge_grid_point *b)
{
    if (a->C != b->C)
        return a->C < b->C ? -1 : 1;
    if (a->nu != b->nu)
        return a->nu > b->nu ? -1 : 1;
    return a->gamma < b->gamma ? -1 : a->gamma > b->gamma;
}

/* Says whether a beats b, or NULL: by score, then by simplicity, then by place in the table. NaN is never better. */
bool hg_point_beats(const struct hg_selecting *s, const hinge_grid_point *a, const hinge_grid_point *b)
{
    double of_a = score_of(s, a), of_b = b != NULL ? score_of(s, b) : NAN;
    if (b == NULL || isnan(of_a) || isnan(of_b))
        return !isnan(of_a) && (b == NULL || isnan(of_b));
    if (of_a == of_b)
        return compare_simplicity(a, b) < 0 || (compare_simplicity(a, b) == 0 && a < b);
    return hinge_score_rises(s->out->score) ? of_a > of_b : of_a < of_b;
}

/* Finds the best point of all, or with one_se the simplest one within a standard error of it, which is the deviation
 * over folds by sqrt(folds - 1). */
const hinge_grid_point *hg_best_point(const struct hg_selecting *s)
{
    const hinge_selection *out = s->out;
    const hinge_grid_point *best = NULL, *simplest;
    for (size_t i = 0; i < out->n_points; i++)
        if (hg_is_scored(&out->points[i]) && hg_point_beats(s, &out->points[i], best))
            best = &out->points[i];
    if (best != NULL && isnan(score_of(s, best)))
        return NULL;
    simplest = best;
    double error = best != NULL ? best->deviation[out->score] / sqrt((double)out->n_folds - 1) : 0;
    for (size_t i = 0; best != NULL && s->options.one_se && i < out->n_points; i++)
        if (hg_is_scored(&out->points[i]) && fabs(score_of(s, &out->points[i]) - score_of(s, best)) <= error &&
            compare_simplicity(&out->points[i], simplest) < 0)
            simplest = &out->points[i];
    return simplest;
}

/* ---- dropping ---------------------------------------------------------------------------------------------------- */

/* Returns, of n fair coins, the probability of so many heads at most: sum over i of n over i, 2^-n, by logarithms, as
 * 2^-n alone would be 0 for many rows. With heads = rows on which a point is better, and n those on which the two
 * differ, it is McNemar's exact test, or the sign test. */
static double binomial_tail(double heads, double n)
{
    double sum = 0, term = -n * log(2); /* the logarithm of a number of heads' */
    for (size_t i = 0; (double)i <= heads; i++) {
        sum += exp(term);
        term += log((n - (double)i) / ((double)i + 1));
    }
    return sum;
}

/* The standing of a point beside the best, by the folds that are done. */
struct standing {
    double loss, seen, held; /* sum of losses on rows so many; rows of all folds */
    double worse, better;    /* rows on which the best point is nearer, or farther */
};

/* Compares a point's predictions with the best point's, row by row, on folds that are done; false: the score is no sum
 * of losses over rows. */
static bool look_at_rows(const struct hg_selecting *s, struct standing *standing)
{
    *standing = (struct standing){ 0 };
    for (size_t r = 0; r < s->out->repeats; r++)
        for (size_t i = 0; i < s->rows; i++) {
            size_t at = r * s->rows + i;
            int fold = s->out->fold[at];
            double loss, best;
            if (!s->used[i] || fold < 0)
                continue;
            standing->held++;
            if (!s->is_done[fold])
                continue;
            if (!hg_row_loss(s, s->out->score, i, s->predictions[at], &loss) ||
                !hg_row_loss(s, s->out->score, i, s->best_predictions[at], &best))
                return false;
            standing->loss += loss;
            standing->seen++;
            standing->worse += loss > best;
            standing->better += loss < best;
        }
    return true;
}

/* Says whether points may be dropped at all: one_se and by_fold compare means over folds, which say nothing of single
 * rows. */
static bool may_drop(const struct hg_selecting *s)
{
    return s->options.drop != HINGE_DROP_NONE && !s->options.one_se && !s->options.by_fold && s->out->best != NULL;
}

/* Returns the loss of the best point on rows so many: its score is a mean of losses, or 1 less that. */
static double loss_of_best(const struct hg_selecting *s, double rows)
{
    double score = score_of(s, s->out->best);
    return rows * (hinge_score_rises(s->out->score) ? 1 - score : score);
}

/* Returns the state of a point that cannot win as things stand; waiting: it may. EXACT: it has lost more on the folds
 * seen than the best point on all, but for rounding. RACE: chance would be so much worse once in a hundred times. */
static hinge_point_state judge(const struct hg_selecting *s, const struct standing *st)
{
    double most = loss_of_best(s, st->held);
    if (st->loss > most + 1e-9 * (most + st->held * (s->out->score == HINGE_SCORE_ACCURACY)))
        return HINGE_POINT_EXACT;
    if (s->options.drop == HINGE_DROP_RACE && s->out->best->state == HINGE_POINT_DONE && st->worse > st->better &&
        binomial_tail(st->better, st->worse + st->better) < 0.01)
        return HINGE_POINT_RACE;
    return HINGE_POINT_WAITING;
}

/* Sets the state of a point the rest of whose folds need not be trained. */
void hg_drop_point(const struct hg_selecting *s, hinge_grid_point *point)
{
    struct standing st;
    if (!may_drop(s) || !look_at_rows(s, &st))
        return;
    point->state = judge(s, &st);
    if (point->state == HINGE_POINT_EXACT)
        snprintf(point->text, sizeof point->text, "loss %.9g so far, the best point's is %.9g in all", st.loss,
                 loss_of_best(s, st.held));
    else if (point->state == HINGE_POINT_RACE)
        snprintf(point->text, sizeof point->text, "worse than the best point on %.0f held-out rows, better on %.0f",
                 st.worse, st.better);
}

/* Says whether a point whose folds are all trained would have been dropped without the last of them, or so it seems:
 * counts are taken in proportion. */
bool hg_would_be_dropped(const struct hg_selecting *s)
{
    struct standing st;
    double share = 1 - 1 / (double)s->out->n_folds;
    if (!may_drop(s) || !look_at_rows(s, &st))
        return false;
    st.loss *= share;
    st.worse *= share;
    st.better *= share;
    return judge(s, &st) != HINGE_POINT_WAITING;
}

/* Counts the points of a line in a row that were dropped, or would have been, with a larger loss than the one before
 * each of them. */
void hg_follow_line(struct hg_selecting *s)
{
    struct standing st;
    double before = s->line_loss;
    bool known = s->options.drop == HINGE_DROP_RACE && may_drop(s) && look_at_rows(s, &st);
    s->line_loss = known ? st.loss / st.seen : NAN;
    s->falls = s->drops && s->line_loss > before ? s->falls + 1 : 0;
}

/* Drops points of a line after two in a row that were surely worse than the best, each with a larger loss than the one
 * before it. Those of still larger C or nu are taken to be worse too, and would take longest: a race takes a third of
 * its time without them (doc/tried.md). */
bool hg_drop_with_line(const struct hg_selecting *s, hinge_grid_point *point)
{
    if (s->falls < 2)
        return false;
    point->state = HINGE_POINT_RACE;
    snprintf(point->text, sizeof point->text, "the two points before it on its line were surely worse than the best");
    return true;
}
