/*
 * Calibration of a model (proba.c has what is fitted): on decision values of a 5-fold cross-validation, which
 * hinge_train asks for, or of data held out. Regression: the width of a Laplace density of the residuals. One-class:
 * where a decision value stands among those of training. Read folds.h and training.h before.
 *
 * Values of examples that a model was trained on are too far from 0, therefore folds. Where the training has solved
 * them already (refold.c), nothing is trained here; what that buys is said there.
 */
#include "lib/folds/folds.h"
#include "lib/base/team.h"
#include "lib/data/params.h"
#include "lib/folds/proba.h"
#include "lib/data/problem.h"
#include "lib/train/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- from decision values to what a model keeps ---------------------------------------------------------- */

/* Holds a calibration's results, which move into the model as a whole. */
struct calibrated {
    double *a, *b, *marks;
};

static void calibrated_free(struct calibrated *c)
{
    hg_free(c->a);
    hg_free(c->b);
    hg_free(c->marks);
    memset(c, 0, sizeof *c);
}

/* Moves results into the model as a whole, so that a failure leaves a model calibrated as it was; what it had is in c
 * then, and calibrated_free frees it. */
static void calibrated_install(struct calibrated *c, hinge_model *m)
{
    struct calibrated old = { m->prob_a, m->prob_b, m->density_marks };
    m->prob_a = c->a;
    m->prob_b = c->b;
    m->density_marks = c->marks;
    *c = old;
}

/* Makes room for what the task is calibrated by: ten marks, or a (and of classes b) of each problem. */
static hinge_status calibrated_init(struct calibrated *c, const hinge_model *m, hinge_error *err)
{
    bool one = hinge_task_info(m->task)->one_class, classes = m->labels != NULL;
    *c = (struct calibrated){ 0 };
    if (one)
        return HG_MAKE(err, "the marks of a density", HG_ZEROS(c->marks, HG_MARKS));
    hinge_status status = HG_MAKE(err, "the calibration of problems", HG_ZEROS(c->a, m->n_problems));
    if (classes)
        HG_THEN(status, HG_MAKE(err, "the calibration of problems", HG_ZEROS(c->b, m->n_problems)));
    return status;
}

static bool all_finite(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return false;
    return true;
}

/* Returns the mean absolute residual, which is the likeliest sigma of a density exp(-|z| / sigma) / (2 sigma), those
 * beyond five standard deviations (sqrt(2) sigma) left out, as LIBSVM has it. */
static double laplace_width(const double *residual, size_t n)
{
    double mean = 0, kept = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        mean += fabs(residual[i]);
    mean /= (double)n;
    for (size_t i = 0; i < n; i++)
        if (fabs(residual[i]) <= 5 * sqrt(2) * mean) {
            kept += fabs(residual[i]);
            count++;
        }
    return kept / (double)count; /* the smallest is never beyond the mean */
}

/* Sorts the values into five bins of equal count below 0 and five above; the marks are the middles of the bins' ranges,
 * as in LIBSVM. The middle edge is 0. false: fewer than five values on a side. */
static bool density_marks(double *decision, size_t n, double *marks)
{
    enum { HALF = HG_MARKS / 2 };
    double edge[HG_MARKS + 1] = { 0 };
    size_t below = 0;
    qsort(decision, n, sizeof *decision, hg_by_value);
    while (below < n && decision[below] < 0)
        below++;
    if (below < HALF || n - below < HALF)
        return false;
    for (size_t i = 0; i < HALF; i++)
        edge[i] = decision[i * below / HALF];
    for (size_t i = 1; i <= HALF; i++)
        edge[HALF + i] = decision[below - 1 + i * (n - below) / HALF];
    for (size_t i = 0; i < HG_MARKS; i++)
        marks[i] = (edge[i] + edge[i + 1]) / 2;
    return true;
}

/* Problem p's part, by decision values of n examples that were held out, those n_first of the first class first, or
 * regression's residuals; one-class: of those trained on, which are sorted. Values that are not finite, and too few for
 * one-class, leave it as it is, and are told by false. */
static bool calibrated_fit(struct calibrated *c, size_t p, double *decision, size_t n_first, size_t n)
{
    if (!all_finite(decision, n))
        return false;
    if (c->marks != NULL)
        return density_marks(decision, n, c->marks);
    if (c->b != NULL)
        hg_fit_sigmoid(decision, n_first, n, &c->a[p], &c->b[p]);
    else
        c->a[p] = laplace_width(decision, n);
    return true;
}

/* ---- calibration by folds -------------------------------------------------------------------------------- */

/* Holds the calibration of one model by folds: jobs run calibrate_fold, each for one fold of one problem. */
struct calibration {
    struct hg_jobs jobs; /* job p * HG_FOLDS + f: fold f of problem p */
    const struct hg_problem *problem;
    struct hg_refold *refold; /* decision values of each problem, in the order of its points: first class first */
    hinge_outcome ended; /* TIME_LIMIT or STOPPED; otherwise CONVERGED */
};

/* Is one fold of one problem, all arrays in one block whose first is `row`. */
struct part {
    struct hg_job job;
    size_t n;
    uint32_t *row, *fold, *work; /* [n] by position among the problem's points */
    double *y, *weight;          /* one-vs-rest: [rows] labels of two classes, with the weights of all classes */
    double first, second;        /* summed weights of the training rows */
};

/* Makes labels of a class against the rest, +1 and -1, so that the job is a training of two classes. Weights of classes
 * are in pr->weight already, and are not to be multiplied in again. */
static void part_set_rest(struct part *part, const struct hg_problem *pr, size_t class)
{
    for (size_t i = 0; i < pr->x.rows; i++)
        part->y[i] = -1;
    for (size_t i = 0; i < pr->data.n; i++) {
        part->y[pr->order[i]] = i >= pr->start[class] && i < pr->start[class + 1] ? 1 : -1;
        part->weight[pr->order[i]] = pr->weight[i];
    }
    part->job.y = part->y;
    part->job.params.weights = part->weight;
    part->job.params.n_class_weights = 0;
    part->job.params.positive_class = NULL;
}

/* Deals a problem's points, by hg_folds_deal_problem, so that folds solved in the training and those trained here are
 * the same; and sums the weights of both sides without fold f. */
static void split(const struct hg_problem *pr, size_t p, size_t f, struct part *part)
{
    size_t n_first = hg_problem_firsts(pr, p);
    hg_problem_points(pr, p, part->row);
    hg_folds_deal_problem(pr, p, HG_FOLDS, part->work, part->fold);
    for (size_t i = 0; i < part->n; i++) {
        if (part->fold[i] != f)
            *(i < n_first ? &part->first : &part->second) += pr->weight[part->row[i]];
        part->row[i] = pr->order[part->row[i]];
    }
}

/* Makes decision values whose sign is as the whole model has it; label: of its first class. A fold's training may meet
 * its classes in the other order, and then has the other sign. Where it sees one class only there is no model: all held
 * out are that class, by +1 or -1. */
static hinge_status decide_held(struct calibration *c, struct part *part, size_t f, double label, double *decision,
                                hinge_error *err)
{
    const struct hg_problem *pr = c->problem;
    struct hg_job *job = &part->job;
    const struct hg_split rows = { .n = part->n, .row = part->row, .fold = part->fold };
    bool has_both = !pr->classifies || (part->first > 0 && part->second > 0);
    if (job->params.task == HINGE_NU_SVC) /* a fold's share of the classes can differ by a row */
        job->params.nu = HG_MIN(job->params.nu, hg_most_nu((double[]){ part->first, part->second }, 2, false));
    if (has_both)
        HG_TRY(hg_jobs_hold_out(&c->jobs, job, &rows, f, false, decision, err));
    for (size_t i = 0; i < part->n; i++)
        if (part->fold[i] == f && !has_both)
            decision[i] = part->first > 0 ? 1 : -1;
        else if (part->fold[i] == f)
            decision[i] *= pr->classifies && job->first != label ? -1 : 1;
    return HINGE_OK;
}

/* Makes the decision values of a fold's held-out rows for one problem, by a training on the problem's other rows; a job
 * of hg_jobs_run. A pair of three classes or more trains on a copy, since rows of other classes have no part; a problem
 * that the training's own folds have solved is passed over. */
static hinge_status calibrate_fold(void *arg, int thread, size_t number, int threads, hinge_error *err)
{
    struct calibration *c = arg;
    (void)thread;
    const struct hg_problem *pr = c->problem;
    size_t p = number / HG_FOLDS, f = number % HG_FOLDS, a, b;
    if (c->refold->is_solved[p])
        return HINGE_OK;
    struct part part = { .n = hg_problem_size(pr, p),
                         .job = { .number = number, .threads = threads, .y = c->jobs.y, .params = c->jobs.params,
                                  .copy = pr->n_classes > 2 && !pr->one_vs_rest } };
    size_t rest = pr->one_vs_rest ? pr->x.rows : 0;
    HG_TRY(HG_MAKE(err, "the rows of a fold", HG_ARRAY(part.row, part.n), HG_ARRAY(part.fold, part.n),
                   HG_ARRAY(part.work, part.n), HG_ARRAY(part.y, rest), HG_ZEROS(part.weight, rest)));
    if (pr->one_vs_rest)
        part_set_rest(&part, pr, p);
    hg_problem_pair(pr, p, &a, &b);
    split(pr, p, f, &part);
    double label = pr->one_vs_rest || !pr->classifies ? 1 : pr->labels[a];
    hinge_status status = decide_held(c, &part, f, label, c->refold->decision + c->refold->start[p], err);
    hg_free(part.row);
    return status;
}

struct fitting {
    const struct calibration *c;
    struct calibrated *result;
    int unsound; /* atomic: some value was not finite */
};

static void fit_one(void *arg, int thread, size_t p, size_t end)
{
    struct fitting *f = arg;
    const struct hg_problem *pr = f->c->problem;
    double *decision = f->c->refold->decision + f->c->refold->start[p];
    (void)thread;
    (void)end;
    if (!calibrated_fit(f->result, p, decision, hg_problem_firsts(pr, p), hg_problem_size(pr, p)))
        __atomic_store_n(&f->unsound, 1, __ATOMIC_RELAXED);
}

/* Fits each problem's decision values to its sigmoid, or the residuals, target - f, to their width; says whether all
 * were finite. Problems are dealt to threads, each writing its own a and b. */
static bool fit_problems(const struct calibration *c, struct calibrated *result)
{
    const struct hg_problem *pr = c->problem;
    for (size_t i = 0; i < pr->data.n && !pr->classifies; i++)
        c->refold->decision[i] = pr->y[pr->order[i]] - c->refold->decision[i];
    struct fitting fitting = { c, result, 0 };
    hg_share(pr->data.threads, pr->n_problems, 1, fit_one, &fitting);
    return fitting.unsound == 0;
}

struct told { /* a decision value, by its place among all */
    uint64_t at;
    double value;
};

/* Brings what peers have decided to all, and how their jobs have ended. */
static hinge_status share_decisions(struct calibration *c, hinge_status status, hinge_error *err)
{
    struct hg_refold *refold = c->refold;
    size_t n = refold->start[c->problem->n_problems], count = 1, total;
    void *all = NULL;
    struct told *mine;
    hinge_status made = HG_MAKE(err, "decision values", HG_ARRAY(mine, n + 1));
    for (size_t p = 0; p < c->problem->n_problems && made == HINGE_OK; p++)
        for (size_t k = refold->start[p]; k < refold->start[p + 1] && !refold->is_solved[p]; k++)
            if (!isnan(refold->decision[k]))
                mine[count++] = (struct told){ k, refold->decision[k] };
    if (made == HINGE_OK)
        mine[0] = (struct told){ UINT64_MAX, (double)c->ended };
    status = hg_jobs_collect(&c->jobs, status, made == HINGE_OK ? mine : NULL, count * sizeof *mine, &all, &total, err);
    for (const struct told *t = all; status == HINGE_OK && t < (const struct told *)all + total / sizeof *t; t++)
        if (t->at == UINT64_MAX)
            c->ended = hg_worse_outcome(c->ended, (hinge_outcome)t->value);
        else
            refold->decision[t->at] = t->value;
    hg_free(mine);
    hg_free(all);
    return status;
}

/* Marks what is not decided yet. */
static void forget_decisions(const struct calibration *c)
{
    struct hg_refold *refold = c->refold;
    for (size_t p = 0; p < c->problem->n_problems; p++)
        for (size_t k = refold->start[p]; k < refold->start[p + 1] && !refold->is_solved[p]; k++)
            refold->decision[k] = NAN;
}

/* Trains each problem's folds and fits a sigmoid to what they say of the rows that they have not seen: values of rows
 * trained on would be too far from 0. Where a stop or the time limit ends the folds, the model stays as it is. */
static hinge_status by_folds(struct calibration *c, hinge_model *model, hinge_error *err)
{
    const struct hg_problem *pr = c->problem;
    struct calibrated result = { 0 };
    if (c->refold->start == NULL)
        HG_TRY(hg_refold_init(c->refold, pr, err));
    c->jobs.largest = hg_problem_largest(pr);
    forget_decisions(c);
    hinge_status status = calibrated_init(&result, model, err);
    HG_THEN(status, hg_jobs_run(&c->jobs, NULL, err));
    c->ended = hg_jobs_ended(&c->jobs);
    if (c->jobs.peers != NULL)
        status = share_decisions(c, status, err);
    if (status == HINGE_OK && c->ended == HINGE_CONVERGED && fit_problems(c, &result))
        calibrated_install(&result, model);
    calibrated_free(&result);
    return status;
}

/* Calibrates one-class by the model's own decision values for the examples it was trained on, as LIBSVM does. */
static hinge_status by_training_rows(struct calibration *c, hinge_model *model, hinge_error *err)
{
    const struct hg_problem *pr = c->problem;
    struct hg_job job = { .threads = pr->params.threads, .params = c->jobs.params, .model = model };
    struct hg_split rows = { .n = pr->data.n, .row = pr->order };
    struct calibrated result;
    uint32_t *fold;
    double *decision;
    HG_TRY(HG_MAKE(err, "decision values", HG_ZEROS(fold, pr->data.n), HG_ARRAY(decision, pr->data.n)));
    rows.fold = fold;
    hinge_status status = calibrated_init(&result, model, err);
    HG_THEN(status, hg_jobs_hold_out(&c->jobs, &job, &rows, 0, false, decision, err));
    if (status == HINGE_OK && calibrated_fit(&result, 0, decision, 0, pr->data.n))
        calibrated_install(&result, model);
    calibrated_free(&result);
    hg_free(fold);
    return status;
}

/* Fits a scaling on each fold's training part, as the whole training fitted it on all rows; therefore the problem here
 * is made of rows as they are. */
hinge_status hg_calibrate_by_folds(struct hg_others *others, struct hg_peers *peers, struct hg_refold *refold,
                                   hinge_model *model, const hinge_matrix *x, const double *y,
                                   const hinge_params *params, double begin, hinge_outcome *outcome, hinge_error *err)
{
    struct hg_problem problem = { 0 };
    struct hg_refold nothing = { 0 };
    struct calibration c = { .problem = &problem, .refold = refold != NULL ? refold : &nothing };
    hinge_params plain = *params;
    plain.probability = 0;
    plain.beta0 = NULL;
    plain.scaling = NULL;
    HG_TRY(hg_problem_init(&problem, x, y, &plain, &(struct hg_given){ .is_elsewhere = others != NULL }, err));
    plain.scaling = params->scaling; /* fitted on each fold's training part */
    hinge_status status = HINGE_OK;
    c.jobs = (struct hg_jobs){ .others = others,
                               .peers = peers,
                               .x = x,
                               .y = y,
                               .params = plain,
                               .n_jobs = HG_FOLDS * problem.n_problems,
                               .begin = begin,
                               .stopped = c.refold->stopped,
                               .job = calibrate_fold,
                               .arg = &c };
    if (problem.task->one_class)
        status = by_training_rows(&c, model, err);
    else if (problem.classifies || problem.data.n > 1)
        status = by_folds(&c, model, err);
    *outcome = hg_worse_outcome(*outcome, c.ended);
    hg_free(nothing.start);
    hg_problem_free(&problem);
    return status;
}

/* ---- calibration on data held out ------------------------------------------------------------------------ */

static size_t class_of(const hinge_model *m, double label)
{
    size_t c = 0;
    while (c < m->n_classes && m->labels[c] != label)
        c++;
    return c;
}

/* Finds the class of each row, and whether each class is there. count: [n_classes] cleared */
static hinge_status classify_rows(const hinge_model *m, const double *y, size_t n, uint32_t *class,
                                  size_t *count, hinge_error *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t c = class_of(m, y[i]);
        if (c == m->n_classes)
            return hg_fail(err, HINGE_EINVAL, "y: the label of row %zu is %g, no class of the model", i, y[i]);
        class[i] = (uint32_t)c;
        count[c]++;
    }
    for (size_t c = 0; c < m->n_classes; c++)
        if (count[c] == 0)
            return hg_fail(err, HINGE_EINVAL, "y: no row is of class %g", m->labels[c]);
    return HINGE_OK;
}

/* Fits each problem's sigmoid to the decision values of rows of its classes: of a pair those of both, of one-vs-rest
 * all rows. The first class's rows come first in `mine` [n]; a and b walk through the pairs in their order. */
static hinge_status fit_classes(const hinge_model *m, const double *y, const double *decision, size_t n,
                              struct calibrated *result, hinge_error *err)
{
    uint32_t *class;
    size_t *count;
    double *mine;
    HG_TRY(HG_MAKE(err, "the classes of rows", HG_ARRAY(class, n), HG_ZEROS(count, m->n_classes), HG_ARRAY(mine, n)));
    hinge_status status = classify_rows(m, y, n, class, count, err);
    bool rest = m->multiclass == HINGE_ONE_VS_REST;
    for (size_t p = 0, a = 0, b = 1; p < m->n_problems && status == HINGE_OK; p++) {
        size_t at[2] = { 0, count[a] }; /* the next of the first class, and of others */
        for (size_t i = 0; i < n; i++)
            if (rest || class[i] == a || class[i] == b)
                mine[at[class[i] != a]++] = decision[i * m->n_problems + p];
        calibrated_fit(result, p, mine, count[a], at[1]);
        a += rest || ++b == m->n_classes;
        b = b == m->n_classes ? a + 1 : b;
    }
    hg_free(class);
    return status;
}

/* Fits a sigmoid to each problem's decision values; decision is spoilt. */
static hinge_status fit_held_out(const hinge_model *m, const double *y, double *decision, size_t n,
                                 struct calibrated *result, hinge_error *err)
{
    if (!all_finite(decision, n * m->n_problems))
        return hg_fail(err, HINGE_EINVAL, "x: its decision values are not all finite");
    if (m->labels != NULL)
        return fit_classes(m, y, decision, n, result, err);
    if (hinge_task_info(m->task)->one_class)
        return calibrated_fit(result, 0, decision, 0, n)
                   ? HINGE_OK
                   : hg_fail(err, HINGE_EINVAL,
                             "x: %zu rows are too few: five are needed on either side of the "
                             "decision value 0",
                             n);
    HG_TRY(hg_check_finite(y, n, "y: the target of row", err));
    for (size_t i = 0; i < n; i++)
        decision[i] = y[i] - decision[i];
    calibrated_fit(result, 0, decision, 0, n);
    return HINGE_OK;
}

/* Predicts rows that the model has not seen, and fits what its task is calibrated by. The model changes only where all
 * has gone well, and keeps no trace of these rows. */
hinge_status hinge_calibrate(hinge_model *m, const hinge_matrix *x, const double *y,
                             const hinge_predict_options *options, hinge_error *err)
{
    struct calibrated result = { 0 };
    double *decision;
    if (m == NULL || x == NULL)
        return hg_fail(err, HINGE_EINVAL, "model or x: NULL");
    if (m->n_targets > 0)
        return hg_fail(err, HINGE_EINVAL, "model: one of many targets is not calibrated");
    if (hinge_task_info(m->task)->uses_tau)
        return hg_fail(err, HINGE_EINVAL, "model: a quantile is no mean that targets spread around");
    if (y == NULL && !hinge_task_info(m->task)->one_class)
        return hg_fail(err, HINGE_EINVAL, "y: NULL, but this model needs labels or targets");
    if (x->rows == 0)
        return hg_fail(err, HINGE_EINVAL, "x: no rows to calibrate on");
    HG_TRY(HG_MAKE(err, "decision values", HG_TABLE(decision, x->rows, m->n_problems)));
    hinge_status status = calibrated_init(&result, m, err);
    HG_THEN(status, hinge_predict(m, x, options, NULL, decision, err));
    HG_THEN(status, fit_held_out(m, y, decision, x->rows, &result, err));
    if (status == HINGE_OK)
        calibrated_install(&result, m);
    calibrated_free(&result);
    hg_free(decision);
    return status == HINGE_OK ? hg_ok(err) : status;
}
