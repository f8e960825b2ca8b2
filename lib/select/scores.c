/*
 * Scores of held-out predictions, by fold and of all rows; and the loss of a row, of which some of them are a mean.
 * Read select.h before; hinge/select.h says what each score is. Rows to be scored together are a sample: those of a
 * fold, or those of all folds of a repeat, pooled. What a score needs of them (a table of counts, decision values in
 * order, a sigmoid) is made sample by sample; a score that a sample does not give is NaN.
 */
#include "lib/folds/proba.h"
#include "lib/base/team.h"
#include "lib/select/select.h"

#include <math.h>
#include <stdlib.h>

const char *hinge_score_name(hinge_score score)
{
    static const char *const name[] = {
        "auto", "accuracy", "balanced_accuracy", "f1", "auc", "mcc", "log_loss", "mse", "mae", "r2", "pinball"
    };
    return (size_t)score < HINGE_N_SCORES ? name[score] : NULL;
}

/* Lists the scores of which more is better; the others are losses. */
int hinge_score_rises(hinge_score score)
{
    return score == HINGE_SCORE_ACCURACY || score == HINGE_SCORE_BALANCED || score == HINGE_SCORE_F1 ||
           score == HINGE_SCORE_AUC || score == HINGE_SCORE_MCC || score == HINGE_SCORE_R2;
}

/* Lets AUTO be what the task is mostly judged by, and refuses what it cannot have: losses of targets are for
 * regression, the area under the curve and the log loss for two classes, those of one-class for rows of known class. */
bool hg_score_of_task(const struct hg_selecting *s, hinge_score *score)
{
    const hinge_task_row *task = s->problem.task;
    if (*score == HINGE_SCORE_AUTO)
        *score = task->uses_tau ? HINGE_SCORE_PINBALL : task->regresses ? HINGE_SCORE_MSE : HINGE_SCORE_ACCURACY;
    if ((size_t)*score >= HINGE_N_SCORES)
        return false;
    if (*score >= HINGE_SCORE_MSE)
        return task->regresses;
    bool two = task->one_class || s->problem.n_classes == 2;
    if (*score == HINGE_SCORE_AUC || (task->one_class && *score != HINGE_SCORE_ACCURACY))
        return two && (*score != HINGE_SCORE_LOG_LOSS) && (!task->one_class || s->y != NULL) && !task->regresses;
    return !task->regresses && (*score != HINGE_SCORE_LOG_LOSS || two);
}

/* Return the class of a row, and of a prediction: one-class has 0 for normal rows and 1 for others. */
static size_t class_of(const struct hg_selecting *s, size_t row)
{
    if (s->problem.task->one_class)
        return s->y != NULL && !(s->y[row] > 0);
    return s->class_of[row];
}

static size_t class_predicted(const struct hg_selecting *s, double prediction)
{
    if (s->problem.task->one_class)
        return !(prediction > 0);
    size_t c = 0;
    while (c + 1 < s->problem.n_classes && s->problem.labels[c] != prediction)
        c++;
    return c;
}

/* Rows to be scored together. */
struct sample {
    const struct hg_selecting *s;
    size_t n;
    uint32_t *row;            /* [n] */
    const double *prediction; /* [rows] */
    const double *decision;   /* [rows * n_problems] */
    double *work;             /* [2 n] */
    size_t *count;            /* [n_classes * n_classes] class by class predicted */
    double tau, score[HINGE_N_SCORES];
};

/* ---- classes ----------------------------------------------------------------------------------------------------- */

/* Fills the table count[c * k + p]: rows of class c that were predicted as p. */
static void count_classes(const struct sample *m)
{
    size_t k = m->s->problem.n_classes;
    for (size_t c = 0; c < k * k; c++)
        m->count[c] = 0;
    for (size_t i = 0; i < m->n; i++)
        m->count[class_of(m->s, m->row[i]) * k + class_predicted(m->s, m->prediction[m->row[i]])]++;
}

/* Scores predictions of classes by the table of how many rows of each class were predicted as each. With n rows, of
 * which n_c are of class c and p_c predicted as c: accuracy = sum count_cc / n; balanced, the mean of count_cc / n_c;
 * F1 of c, 2 count_cc / (n_c + p_c); MCC = (n sum count_cc - sum n_c p_c) / sqrt((n^2 - sum n_c^2) (n^2 - sum p_c^2)).
 * MCC is Matthews' correlation, generalised to k classes (Gorodkin 2004); F1 is that of the first of two classes, or
 * the mean over those that occur. */
static void score_classes(const struct sample *m, double *score)
{
    size_t k = m->s->problem.n_classes, right = 0, there = 0, named = 0;
    double recalls = 0, f1 = 0, first_f1 = 0, products = 0, of_rows = 0, of_predictions = 0, n = (double)m->n;
    count_classes(m);
    for (size_t c = 0; c < k; c++) {
        size_t rows = 0, predicted = 0, hits = m->count[c * k + c];
        for (size_t other = 0; other < k; other++) {
            rows += m->count[c * k + other];
            predicted += m->count[other * k + c];
        }
        double one = rows + predicted > 0 ? 2 * (double)hits / (double)(rows + predicted) : 0;
        right += hits;
        there += rows > 0;
        recalls += rows > 0 ? (double)hits / (double)rows : 0;
        named += rows + predicted > 0;
        f1 += one;
        first_f1 = c == 0 ? one : first_f1;
        products += (double)rows * (double)predicted;
        of_rows += (double)rows * (double)rows;
        of_predictions += (double)predicted * (double)predicted;
    }
    double spread = sqrt((n * n - of_rows) * (n * n - of_predictions));
    score[HINGE_SCORE_ACCURACY] = (double)right / n;
    if (m->s->problem.task->one_class && m->s->y == NULL)
        return;
    score[HINGE_SCORE_BALANCED] = recalls / (double)there;
    score[HINGE_SCORE_F1] = k == 2 ? first_f1 : f1 / (double)named;
    score[HINGE_SCORE_MCC] = spread > 0 ? ((double)right * n - products) / spread : 0;
}

/* ---- decision values --------------------------------------------------------------------------------------------- */

/* Returns the area under the ROC curve: the share of pairs of a row of the first class and one of the other that
 * decision values put in order, where equal ones count half. Values are sorted, and each stretch of equal ones is
 * counted against what is below it. */
static double area(const struct sample *m)
{
    struct hg_numbered *ranked = (struct hg_numbered *)(void *)m->work; /* 1: of the first class */
    double wins = 0, firsts = 0, others = 0;
    for (size_t i = 0; i < m->n; i++) {
        ranked[i] = (struct hg_numbered){ m->decision[m->row[i]], class_of(m->s, m->row[i]) == 0 };
        if (isnan(ranked[i].value))
            return NAN;
    }
    qsort(ranked, m->n, sizeof *ranked, hg_by_value);
    for (size_t i = 0, end; i < m->n; i = end) {
        double first = 0;
        for (end = i; end < m->n && ranked[end].value == ranked[i].value; end++)
            first += (double)ranked[end].number;
        double other = (double)(end - i) - first;
        wins += first * (others + other / 2);
        firsts += first;
        others += other;
    }
    return firsts > 0 && others > 0 ? wins / firsts / others : NAN;
}

/* Returns the log loss of a row, by a sigmoid: -log of the probability of its class, without overflow whatever the sign
 * of f. */
static double log_loss(const struct sample *m, const double *ab, size_t row)
{
    double f = ab[0] * m->decision[row] + ab[1]; /* P(first) = 1 / (1 + exp(f)) */
    f = class_of(m->s, row) == 0 ? f : -f;
    return f > 0 ? f + log1p(exp(-f)) : log1p(exp(f));
}

/* Fits the sigmoid 1 / (1 + exp(A f + B)) to a sample's decision values, as lib/folds/proba.c wants them: the first
 * class first. ab: A and B; NaN where a decision value is not finite, or there is no memory. */
static void fit_sigmoid(const struct sample *m, double *ab)
{
    double *value = hg_alloc(m->n, sizeof *value);
    size_t firsts = 0;
    bool finite = value != NULL;
    ab[0] = ab[1] = NAN;
    for (size_t i = 0; i < m->n; i++) {
        firsts += class_of(m->s, m->row[i]) == 0;
        finite = finite && isfinite(m->decision[m->row[i]]);
    }
    size_t at[2] = { 0, firsts }; /* the next of the first class, and of the other */
    for (size_t i = 0; i < m->n && finite; i++)
        value[at[class_of(m->s, m->row[i]) != 0]++] = m->decision[m->row[i]];
    if (finite)
        hg_fit_sigmoid(value, firsts, m->n, &ab[0], &ab[1]);
    hg_free(value);
}

/* ---- targets ----------------------------------------------------------------------------------------------------- */

/* Returns the loss of a target that is missed by so much, miss = y - prediction: pinball unless another one is
 * named. */
static double loss_of(hinge_score score, double tau, double miss)
{
    return score == HINGE_SCORE_MSE   ? miss * miss
           : score == HINGE_SCORE_MAE ? fabs(miss)
                                      : (miss >= 0 ? tau * miss : (tau - 1) * miss);
}

/* Scores predictions of targets: mean squared, absolute and pinball losses, and the share of variance explained. */
static void score_targets(const struct sample *m, double *score)
{
    const double *y = m->s->y;
    double mean = 0, variance = 0, square = 0, absolute = 0, pinball = 0, n = (double)m->n;
    double one = y[m->row[0]]; /* from which equal targets differ by 0, whatever their mean is rounded to */
    for (size_t i = 0; i < m->n; i++)
        mean += (y[m->row[i]] - one) / n;
    for (size_t i = 0; i < m->n; i++) {
        double away = y[m->row[i]] - one - mean, miss = y[m->row[i]] - m->prediction[m->row[i]];
        variance += away * away / n;
        square += miss * miss / n;
        absolute += fabs(miss) / n;
        pinball += loss_of(HINGE_SCORE_PINBALL, m->tau, miss) / n;
    }
    score[HINGE_SCORE_MSE] = square;
    score[HINGE_SCORE_MAE] = absolute;
    score[HINGE_SCORE_R2] = variance > 0 ? 1 - square / variance : NAN;
    score[HINGE_SCORE_PINBALL] = pinball;
}

/* Returns the tau of the pinball loss: the point's, or 0.5 of tasks without one, half of the absolute error. */
static double tau_of(const struct hg_selecting *s, const hinge_grid_point *point)
{
    return s->problem.task->uses_tau ? point->tau : 0.5;
}

/* Knows the losses by which points are dropped; of pinball losses only where one tau stands for all points. */
bool hg_row_loss(const struct hg_selecting *s, hinge_score score, size_t row, double prediction, double *loss)
{
    if (score == HINGE_SCORE_ACCURACY)
        *loss = class_of(s, row) != class_predicted(s, prediction);
    else if (score == HINGE_SCORE_MSE || score == HINGE_SCORE_MAE ||
             (score == HINGE_SCORE_PINBALL && s->options.tau.value == NULL))
        *loss = loss_of(score, s->problem.task->uses_tau ? s->params.tau : 0.5, s->y[row] - prediction);
    else
        return false;
    return true;
}

/* ---- a point ----------------------------------------------------------------------------------------------------- */

/* Makes all scores but for the log loss. */
static void score_sample(struct sample *m)
{
    for (int k = 0; k < HINGE_N_SCORES; k++)
        m->score[k] = NAN;
    if (m->n == 0)
        return;
    const hinge_task_row *task = m->s->problem.task;
    if (task->regresses) {
        score_targets(m, m->score);
        return;
    }
    score_classes(m, m->score);
    if (m->s->n_problems == 1 && (!task->one_class || m->s->y != NULL))
        m->score[HINGE_SCORE_AUC] = area(m);
}

/* Lists rows of weight > 0 that fold f holds out (SIZE_MAX: that any does) into row [rows]; returns how many. */
static size_t rows_of(const struct hg_selecting *s, const int *fold, size_t f, uint32_t *row)
{
    size_t n = 0;
    for (size_t i = 0; i < s->rows; i++)
        if (s->used[i] && fold[i] >= 0 && (f == SIZE_MAX || (size_t)fold[i] == f))
            row[n++] = (uint32_t)i;
    return n;
}

/* Makes means and deviations over the folds that have the score, and score, so far a sum over repeats, their mean. */
static void take_means(const struct hg_selecting *s, hinge_grid_point *point)
{
    size_t folds = s->out->n_folds;
    for (int k = 0; k < HINGE_N_SCORES; k++) {
        double sum = 0, square = 0, n = 0;
        for (size_t f = 0; f < folds; f++) {
            double score = point->fold_score[f * HINGE_N_SCORES + (size_t)k];
            n += !isnan(score);
            sum += isnan(score) ? 0 : score;
        }
        for (size_t f = 0; f < folds; f++) {
            double away = point->fold_score[f * HINGE_N_SCORES + (size_t)k] - sum / n;
            square += isnan(away) ? 0 : away * away;
        }
        point->mean[k] = sum / n;
        point->deviation[k] = sqrt(square / n);
        point->score[k] /= (double)s->out->repeats;
    }
}

struct scoring { /* of a repeat: its folds, and all together */
    struct sample *sample;
    size_t folds, jobs;
    double ab[2]; /* of the sigmoid */
};

/* Scores a sample, the longest first, or fits the sigmoid before. */
static void score_one(void *arg, int thread, size_t k, size_t end)
{
    struct scoring *s = arg;
    (void)thread;
    (void)end;
    if (s->jobs - k > s->folds + 1)
        fit_sigmoid(&s->sample[s->folds], s->ab);
    else
        score_sample(&s->sample[s->jobs - 1 - k]);
}

/* Scores all folds of a repeat, sample[0 ..], and their rows together, sample[folds]; each sample by one thread. The
 * log loss comes afterwards: its sigmoid is fitted to the rows of all folds, whose losses are then taken fold by
 * fold. */
static void score_repeat(const struct hg_selecting *s, struct sample *sample, bool whole)
{
    struct sample *pooled = &sample[s->folds];
    bool has_loss = s->n_problems == 1 && s->problem.classifies;
    struct scoring scoring = { sample, s->folds, s->folds + 1 + (has_loss && whole), { NAN, NAN } };
    hg_share(hg_threads(s->params.threads), scoring.jobs, 1, score_one, &scoring);
    pooled->score[HINGE_SCORE_LOG_LOSS] = has_loss ? 0 : NAN;
    for (size_t f = 0; f < s->folds && has_loss; f++) {
        struct sample *m = &sample[f];
        double sum = 0;
        for (size_t i = 0; i < m->n; i++)
            sum += log_loss(m, scoring.ab, m->row[i]);
        m->score[HINGE_SCORE_LOG_LOSS] = sum / (double)m->n;
        pooled->score[HINGE_SCORE_LOG_LOSS] += sum / (double)pooled->n;
    }
}

/* Scores each fold's rows by themselves, and those of all folds of a repeat together. Scores of a point some of whose
 * folds were not trained are not told. */
static void score_samples(const struct hg_selecting *s, hinge_grid_point *point, struct sample *sample, uint32_t *row,
                          double *work, size_t *count)
{
    size_t classes = s->problem.n_classes;
    bool all = true;
    for (size_t r = 0; r < s->out->repeats; r++) {
        const int *fold = s->out->fold + r * s->rows;
        for (size_t k = 0, at = 0; k <= s->folds; k++, at += sample[k - 1].n) {
            struct sample *m = &sample[k];
            size_t f = r * s->folds + k;
            *m = (struct sample){ .s = s, .row = row + at, .work = work + 2 * at,
                                  .count = count + k * classes * classes, .tau = tau_of(s, point),
                                  .prediction = s->predictions + r * s->rows,
                                  .decision = s->decisions + r * s->rows * s->n_problems };
            if (k == s->folds || s->is_done[f])
                m->n = rows_of(s, fold, k == s->folds ? SIZE_MAX : f, m->row);
            all = all && (k == s->folds || s->is_done[f]);
        }
        score_repeat(s, sample, all);
        for (size_t k = 0; k <= s->folds; k++)
            for (int j = 0; j < HINGE_N_SCORES; j++)
                if (k == s->folds)
                    point->score[j] += all ? sample[k].score[j] : NAN;
                else
                    point->fold_score[(r * s->folds + k) * HINGE_N_SCORES + (size_t)j] = sample[k].score[j];
    }
    take_means(s, point);
    for (int j = 0; j < HINGE_N_SCORES && !all; j++) /* of folds done alone they would mislead */
        point->mean[j] = point->deviation[j] = NAN;
}

/* Takes room for a repeat: each row stands in two samples, its fold's and the pooled one. */
hinge_status hg_score_point(const struct hg_selecting *s, hinge_grid_point *point, hinge_error *err)
{
    size_t k = s->problem.n_classes;
    struct sample *sample;
    uint32_t *row;
    double *work;
    size_t *count;
    HG_TRY(HG_MAKE(err, "the scores of rows", HG_ARRAY(sample, s->folds + 1), HG_ARRAY(row, 2 * s->rows),
                   HG_ARRAY(work, 4 * s->rows), HG_TABLE(count, (s->folds + 1) * k, k)));
    for (int j = 0; j < HINGE_N_SCORES; j++)
        point->score[j] = 0;
    score_samples(s, point, sample, row, work, count);
    hg_free(sample);
    return HINGE_OK;
}
