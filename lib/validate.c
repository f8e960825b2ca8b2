/*
 * Cross-validation: a training on all folds but one each, which predicts that one.
 */
#include "lib/folds.h"
#include "lib/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct validation {
    struct hg_jobs jobs;
    const struct hg_problem *problem; /* all rows */
    size_t n, folds;
    uint32_t *fold;        /* [n] by row */
    bool *used;            /* [n] by row: weight > 0 */
    bool *misses_class;    /* [folds] the rows of some class are all in this fold */
    double *prediction;    /* [n] */
    hinge_report *reports; /* [folds] */
};

static hinge_status draw_folds(struct validation *v, hinge_error *err)
{
    const struct hg_problem *pr = v->problem;
    uint64_t state = v->jobs.params.seed;
    HG_TRY(hg_folds_draw(pr, &state, v->folds, v->fold, err));
    for (size_t i = 0; i < pr->n; i++)
        v->used[pr->order[i]] = true;
    for (size_t c = 0; c < pr->n_classes && pr->classifies; c++)
        if (pr->start[c + 1] - pr->start[c] == 1)
            v->misses_class[v->fold[pr->order[pr->start[c]]]] = true;
    return HINGE_OK;
}

/* rows: those of weight > 0 in other folds from the front, those of this fold behind them. */
static void split_rows(const struct validation *v, size_t f, uint32_t *rows, size_t *n_train, size_t *n_held)
{
    *n_train = *n_held = 0;
    for (size_t i = 0; i < v->n; i++)
        if (v->fold[i] != f && v->used[i])
            rows[(*n_train)++] = (uint32_t)i;
    for (size_t i = 0; i < v->n; i++)
        if (v->fold[i] == f)
            rows[*n_train + (*n_held)++] = (uint32_t)i;
}

static hinge_status validate_fold(void *arg, size_t f, int threads, hinge_error *err)
{
    struct validation *v = arg;
    hinge_params params = v->jobs.params;
    hinge_predict_options options = { .threads = threads, .cpu_level = params.cpu_level };
    size_t n_train = 0, n_held = 0;
    hinge_model *model = NULL;
    hinge_error mine;
    uint32_t *rows = hg_alloc(v->n, sizeof *rows);
    double *label = hg_alloc(v->n, sizeof *label);
    hinge_status status = HINGE_OK;
    hg_ok(&mine);
    if (rows == NULL || label == NULL)
        status = hg_fail(&mine, HINGE_ENOMEM, "no memory for %zu rows", v->n);
    v->reports[f].outcome = hg_jobs_ended(&v->jobs);
    if (status == HINGE_OK)
        split_rows(v, f, rows, &n_train, &n_held);
    if (status == HINGE_OK && params.task == HINGE_NU_SVC) /* a fold's share of the classes can differ by a row */
        params.nu = HG_MIN(v->problem->params.nu, hg_folds_most_nu(v->problem, v->fold, f, label));
    if (status == HINGE_OK && v->reports[f].outcome == HINGE_CONVERGED)
        status = hg_jobs_train(&v->jobs, f, threads, rows, n_train, v->jobs.y, v->misses_class[f], &params, &model,
                               &v->reports[f], &mine);
    bool ended = hg_ended_early(v->reports[f].outcome);
    if (status == HINGE_OK && !ended)
        status = hg_jobs_predict(&v->jobs, model, rows + n_train, n_held,
                                 params.probability && hinge_model_has_probability(model), &options, label,
                                 NULL, &mine);
    for (size_t i = 0; status == HINGE_OK && i < n_held; i++)
        v->prediction[rows[n_train + i]] = ended ? NAN : label[i];
    hinge_model_free(model);
    hg_free(rows);
    hg_free(label);
    return status == HINGE_OK ? HINGE_OK
                              : hg_fail(err, status, "fold %zu of %zu: %s", f + 1, v->folds, mine.text);
}

static void sum_reports(const struct validation *v, bool by_side, hinge_report *report)
{
    hinge_report sum = v->reports[0];
    for (size_t f = 1; f < v->folds; f++)
        hg_add_report(&sum, &v->reports[f]);
    sum.n = v->problem->n;
    sum.d = v->problem->d;
    sum.threads = hg_threads(v->jobs.params.threads);
    if (by_side) {
        sum.memory_bytes *= HG_MIN((size_t)sum.threads, v->folds);
        sum.cache_used *= HG_MIN((size_t)sum.threads, v->folds);
    }
    sum.seconds = hg_now() - v->jobs.begin;
    size_t used = strlen(sum.path);
    snprintf(sum.path + used, sizeof sum.path - used, ", %zu folds %s", v->folds,
             by_side ? "side by side" : "in turn");
    *report = sum;
}

static hinge_status validate(struct validation *v, double *predictions, hinge_report *report, hinge_error *err)
{
    const hinge_params *params = &v->problem->params;
    bool by_side = false;
    if (!HG_ROOM(HG_ARRAY(v->fold, v->n), HG_ZEROS(v->used, v->n), HG_ZEROS(v->misses_class, v->folds),
                 HG_ARRAY(v->prediction, v->n), HG_ZEROS(v->reports, v->folds)))
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu folds of %zu rows", v->folds, v->n);
    hinge_status status = draw_folds(v, err);
    if (status == HINGE_OK && params->task == HINGE_NU_SVC) { /* not for the want of rows in a fold alone */
        double most = hg_folds_most_nu(v->problem, NULL, 0, v->prediction);
        if (params->nu > most * (1 + 1e-12))
            status = hg_fail(err, HINGE_EINVAL, "nu: %g is infeasible for these classes; at most %g", params->nu, most);
    }
    if (status == HINGE_OK)
        status = hg_jobs_run(&v->jobs, &by_side, err);
    if (status == HINGE_OK) {
        memcpy(predictions, v->prediction, v->n * sizeof *predictions);
        if (report != NULL)
            sum_reports(v, by_side, report);
    }
    hg_free(v->fold);
    return status;
}

hinge_status hg_cross_validate(const struct hg_others *others, const hinge_matrix *x, const double *y,
                               const hinge_params *params, size_t folds, double *predictions, hinge_report *report,
                               hinge_error *err)
{
    struct hg_problem problem = { 0 };
    struct validation v = { .problem = &problem, .folds = folds };
    v.jobs = (struct hg_jobs){ .others = others, .x = x, .y = y, .n_jobs = folds, .begin = hg_now(),
                               .job = validate_fold, .train = hinge_train };
    v.jobs.arg = &v;
    v.jobs.params = *params;
    v.jobs.params.beta0 = NULL;
    v.jobs.params.scaling = NULL;
    hinge_status status = hg_problem_init(&problem, x, y, &v.jobs.params, err);
    v.jobs.params.scaling = params->scaling;
    if (status != HINGE_OK)
        return status;
    v.n = x->rows;
    v.jobs.largest = hg_problem_largest(&problem);
    if (!problem.classifies) /* a calibration would be for nothing */
        v.jobs.params.probability = 0;
    if (folds < 2 || folds > x->rows)
        status = hg_fail(err, HINGE_EINVAL, "folds: %zu is not in 2 .. %zu rows", folds, x->rows);
    else
        status = validate(&v, predictions, report, err);
    hg_problem_free(&problem);
    return status == HINGE_OK ? hg_ok(err) : status;
}

hinge_status hinge_cross_validate(const hinge_matrix *x, const double *y, const hinge_params *params,
                                  size_t folds, double *predictions, hinge_report *report, hinge_error *err)
{
    if (params == NULL || predictions == NULL)
        return hg_fail(err, HINGE_EINVAL, "%s: NULL", params == NULL ? "params" : "predictions");
    return hg_cross_validate(NULL, x, y, params, folds, predictions, report, err);
}
