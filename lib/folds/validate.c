/*
 * Cross-validation: each fold is predicted by a training on all others. There are two ways to have these: folds go on
 * from the solution of all rows (refold.c) where that is possible and pays; otherwise each is trained from the
 * beginning. Read folds.h and training.h before.
 *
 * Five folds of the first way take 0.7 to 2.3 times as long as one training (doc/performance.md, "Folds of one
 * training"). An eps below AT_ONCE, a time limit, a scaling, rows of weight 0 or probabilities switch it off, and
 * report.path says "from its solution" where it was on.
 */
#include "lib/folds/folds.h"
#include "lib/base/team.h"
#include "lib/data/params.h"
#include "lib/rows/peers.h"
#include "lib/train/training.h"

#include <math.h>
#include <string.h>

/* Holds one cross-validation. Jobs write to their own rows of `prediction` and their own report, so that they need no
 * lock. */
struct validation {
    struct hg_jobs jobs;
    const struct hg_problem *problem; /* all rows */
    size_t n, folds;
    uint32_t *fold;        /* [n] by row */
    bool *used, *alone;    /* [n] by row: hg_folds_mark's */
    double *prediction;    /* [n] */
    double *most_nu;       /* [folds] nu-SVC: a fold's share of the classes can differ by a row */
    hinge_report *reports; /* [folds] */
    hinge_model *model;    /* NULL, or that of the fold at hand */
};

/* Trains without a fold's rows and predicts them; what is not predicted stays NaN. */
static hinge_status validate_fold(void *arg, int thread, size_t f, int threads, hinge_error *err)
{
    struct validation *v = arg;
    (void)thread;
    struct hg_job job = { .number = f, .threads = threads, .y = v->jobs.y, .params = v->jobs.params,
                          .model = v->model };
    const struct hg_split rows = { .n = v->n, .fold = v->fold, .used = v->used, .alone = v->alone };
    hinge_error mine;
    if (job.params.task == HINGE_NU_SVC)
        job.params.nu = HG_MIN(v->problem->params.nu, v->most_nu[f]);
    hinge_status status = hg_jobs_hold_out(&v->jobs, &job, &rows, f, true, v->prediction, &mine);
    v->reports[f] = job.report;
    return status == HINGE_OK ? HINGE_OK
                              : hg_fail(err, status, "fold %zu of %zu: %s", f + 1, v->folds, mine.text);
}

/* Adds up the folds' reports as one: rows and features are those of the data, memory that of as many folds as ran at
 * once. */
static void sum_reports(const struct validation *v, bool by_side, hinge_report *report)
{
    hinge_report sum = v->reports[0];
    for (size_t f = 1; f < v->folds; f++)
        hg_add_report(&sum, &v->reports[f]);
    sum.n = v->problem->data.n;
    sum.d = v->problem->data.d;
    sum.distinct = 0;
    sum.threads = hg_threads(v->jobs.params.threads);
    if (by_side) {
        sum.memory_bytes *= HG_MIN((size_t)sum.threads, v->folds);
        sum.cache_used *= HG_MIN((size_t)sum.threads, v->folds);
    }
    sum.seconds = hg_now() - v->jobs.begin;
    hg_tell_path(&sum, ", %zu folds %s", v->folds, by_side ? "side by side" : "in turn");
    *report = sum;
}

/* The least eps at which folds that go on from the solution of all rows take less time than trainings of their own,
 * unless C is large (doc/tried.md). */
static const double AT_ONCE = 0.001;

/* Bound on folds, as of several problems each fold keeps its solutions until all are there: more folds are trained by
 * themselves. */
enum { MOST_KEPT = 50 };

/* Predicts a fold by the model that its problems' solutions make: a job that has its model and trains nothing. */
static hinge_status predict_fold(void *arg, size_t f, hinge_model *model, int threads, hinge_error *err)
{
    struct validation *v = arg;
    v->model = model;
    return validate_fold(v, 0, f, threads, err);
}

/* Trains on all rows and has each fold go on from the solution. Of one problem the decision values of the rows held out
 * are there, in the order of points, and give labels by their sign; of several, predict_fold is called for each fold's
 * model. *done: all problems are solved so, or were ended early; otherwise the trainings of folds follow, and what was
 * found here is dropped. */
static hinge_status validate_at_once(struct validation *v, hinge_report *report, bool *done, hinge_error *err)
{
    const struct hg_problem *pr = v->problem;
    struct hg_refold refold = { .fold = v->fold, .folds = v->folds, .eps = pr->params.eps, .arg = v,
                                .predict = pr->n_problems > 1 ? predict_fold : NULL };
    hinge_model *model = NULL; /* nobody wants it */
    hinge_status status =
        hg_train(v->jobs.peers, &model, v->jobs.x, v->jobs.y, NULL, &pr->params, &refold, report, err);
    hinge_model_free(model);
    bool known = status == HINGE_OK && refold.start != NULL;
    bool solved = known && hg_refold_solved(&refold, pr->n_problems);
    v->model = NULL;
    *done = solved || (known && (hg_ended_early(report->outcome) || refold.stopped));
    for (size_t k = 0; k < pr->data.n && *done; k++) {
        double f = refold.decision[k];
        if (pr->n_problems == 1)
            v->prediction[pr->order[k]] = isnan(f) || !pr->classifies ? f : pr->labels[f > 0 ? 0 : 1];
        else if (!solved)
            v->prediction[pr->order[k]] = NAN;
    }
    if (*done) {
        for (size_t p = 0; p < pr->n_problems; p++)
            hg_add_work(report, &refold.work[p]);
        report->outcome = refold.stopped ? HINGE_STOPPED : report->outcome;
        report->seconds = hg_now() - v->jobs.begin;
        hg_tell_path(report, ", %zu folds from its solution", v->folds);
    }
    hg_free(refold.start);
    return status;
}

/* Says whether folds may go on from the solution of all rows: nothing is asked for that they cannot have, and every row
 * is a point, as the values of rows of weight 0 would not be known. */
static bool may_go_at_once(const struct validation *v)
{
    const hinge_params *params = &v->problem->params;
    size_t n_problems = v->problem->n_problems;
    return params->eps >= AT_ONCE && !params->probability && !(params->time_limit > 0) &&
           v->jobs.params.scaling == NULL && v->jobs.others == NULL && v->problem->data.n == v->n &&
           (n_problems == 1 || (n_problems > 1 && v->folds <= MOST_KEPT));
}

/* Returns how many bytes a fold takes on its way, and packs it there, or takes it, where that is given: its report, and
 * what is predicted of its rows. */
static size_t move_fold(struct validation *v, size_t f, char *to, const char *from)
{
    size_t at = sizeof *v->reports;
    if (to != NULL)
        memcpy(to, &v->reports[f], at);
    if (from != NULL)
        memcpy(&v->reports[f], from, at);
    for (size_t i = 0; i < v->n; i++)
        if (v->fold[i] == f) {
            if (to != NULL)
                memcpy(to + at, &v->prediction[i], sizeof *v->prediction);
            if (from != NULL)
                memcpy(&v->prediction[i], from + at, sizeof *v->prediction);
            at += sizeof *v->prediction;
        }
    return at;
}

/* Brings each peer's folds to all. */
static hinge_status share_folds(struct validation *v, hinge_status status, hinge_error *err)
{
    const struct hg_peers *peers = v->jobs.peers;
    size_t bytes = 0, total;
    void *all = NULL;
    if (peers == NULL)
        return status;
    for (size_t f = peers->rank; f < v->folds; f += peers->count)
        bytes += move_fold(v, f, NULL, NULL);
    char *mine = hg_alloc(bytes, 1), *to = mine;
    for (size_t f = peers->rank; f < v->folds && mine != NULL; f += peers->count)
        to += move_fold(v, f, to, NULL);
    status = hg_jobs_collect(&v->jobs, status, mine, bytes, &all, &total, err);
    const char *from = all;
    for (size_t r = 0; r < peers->count && status == HINGE_OK; r++)
        for (size_t f = r; f < v->folds; f += peers->count)
            from += move_fold(v, f, NULL, from);
    hg_free(mine);
    hg_free(all);
    return status;
}

/* Validates by folds that go on from the solution of all rows, where that may be and comes to its end, and otherwise by
 * a training each. */
static hinge_status validate(struct validation *v, double *predictions, hinge_report *report, hinge_error *err)
{
    const hinge_params *params = &v->problem->params;
    bool by_side = false, at_once = false;
    hinge_report whole = { 0 };
    HG_TRY(HG_MAKE(err, "the folds of the rows", HG_ARRAY(v->fold, v->n), HG_ZEROS(v->used, v->n),
                   HG_ZEROS(v->alone, v->n), HG_ARRAY(v->prediction, v->n), HG_ARRAY(v->most_nu, v->folds),
                   HG_ZEROS(v->reports, v->folds)));
    uint64_t state = params->seed;
    hinge_status status = hg_folds_draw(v->problem, &state, v->folds, v->fold, err);
    hg_folds_mark(v->problem, v->used, v->alone);
    if (status == HINGE_OK && params->task == HINGE_NU_SVC) { /* not for the want of rows in a fold alone */
        double most = hg_folds_most_nu(v->problem, NULL, 0, v->prediction);
        if (params->nu > most * (1 + 1e-12))
            status = hg_fail(err, HINGE_EINVAL, "nu: %g is infeasible for these classes; at most %g", params->nu, most);
    }
    for (size_t f = 0; f < v->folds && params->task == HINGE_NU_SVC; f++)
        v->most_nu[f] = hg_folds_most_nu(v->problem, v->fold, f, v->prediction);
    for (size_t i = 0; i < v->n; i++)
        v->prediction[i] = NAN;
    if (status == HINGE_OK && may_go_at_once(v))
        status = validate_at_once(v, &whole, &at_once, err);
    if (!at_once)
        HG_THEN(status, hg_jobs_run(&v->jobs, &by_side, err));
    if (!at_once || v->problem->n_problems > 1)
        status = share_folds(v, status, err);
    if (status == HINGE_OK) {
        memcpy(predictions, v->prediction, v->n * sizeof *predictions);
        if (report != NULL && at_once)
            *report = whole;
        else if (report != NULL)
            sum_reports(v, by_side, report);
    }
    hg_free(v->fold);
    return status;
}

/* Makes the problem over all rows to check what is asked for before any training, and to deal rows by class. A start
 * (beta0) is of all rows, and no fold's. */
static hinge_status cross_validate(struct hg_others *others, struct hg_peers *peers, const hinge_matrix *x,
                                   const double *y, const hinge_params *params, size_t folds, double *predictions,
                                   hinge_report *report, hinge_error *err)
{
    struct hg_problem problem = { 0 };
    struct validation v = { .problem = &problem, .folds = folds };
    v.jobs = (struct hg_jobs){ .others = others, .peers = peers, .x = x, .y = y, .n_jobs = folds,
                               .begin = hg_now(), .job = validate_fold, .arg = &v };
    HG_NEED(err, params, "params");
    HG_NEED(err, predictions, "predictions");
    v.jobs.params = *params;
    v.jobs.params.beta0 = NULL;
    v.jobs.params.scaling = NULL;
    HG_TRY(hg_problem_init(&problem, x, y, &v.jobs.params, &(struct hg_given){ .is_elsewhere = others != NULL }, err));
    v.jobs.params.scaling = params->scaling;
    v.n = x->rows;
    v.jobs.largest = hg_problem_largest(&problem);
    if (!problem.classifies) /* a calibration would be for nothing */
        v.jobs.params.probability = 0;
    hinge_status status =
        folds >= 2 && folds <= x->rows
            ? validate(&v, predictions, report, err)
            : hg_fail(err, HINGE_EINVAL, "folds: %zu is not in 2 .. %zu rows", folds, x->rows);
    hg_problem_free(&problem);
    return status == HINGE_OK ? hg_ok(err) : status;
}

/* Opens no team where others train: each of their trainings has one of its own. */
hinge_status hg_cross_validate(struct hg_others *others, struct hg_peers *peers, const hinge_matrix *x, const double *y,
                               const hinge_params *params, size_t folds, double *predictions, hinge_report *report,
                               hinge_error *err)
{
    hinge_status status = HINGE_OK;
    if (others != NULL)
        return cross_validate(others, peers, x, y, params, folds, predictions, report, err);
    HG_TEAM(hg_params_team(params, x, y, folds))
        status = cross_validate(others, peers, x, y, params, folds, predictions, report, err);
    return status;
}

hinge_status hinge_cross_validate(const hinge_matrix *x, const double *y, const hinge_params *params,
                                  size_t folds, double *predictions, hinge_report *report, hinge_error *err)
{
    return hg_cross_validate(NULL, NULL, x, y, params, folds, predictions, report, err);
}
