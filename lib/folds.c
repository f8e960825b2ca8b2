/*
 * Cross-validation, and what it shares with calibration: dealing rows to folds, running trainings that belong
 * together, predicting the rows held out.
 */
#include "lib/folds.h"
#include "lib/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- dealing --------------------------------------------------------------------------------------------- */

void hg_folds_deal(uint64_t *state, const size_t *start, size_t groups, size_t folds, uint32_t *work,
                   uint32_t *fold)
{
    for (size_t g = 0; g < groups; g++) {
        size_t n = start[g + 1] - start[g];
        for (size_t i = 0; i < n; i++)
            work[i] = (uint32_t)(start[g] + i);
        for (size_t i = 0; i + 1 < n; i++) { /* Fisher and Yates */
            size_t j = i + hg_random_below(state, n - i);
            uint32_t other = work[j];
            work[j] = work[i];
            work[i] = other;
        }
        for (size_t i = 0; i < n; i++)
            fold[work[i]] = (uint32_t)((start[g] + i) % folds);
    }
}

/* ---- trainings that belong together ---------------------------------------------------------------------- */

/* Where `threads` of the largest problems fit the cache budget whole, and hardly a thread would have nothing to
 * do. */
static bool side_by_side(const struct hg_jobs *jobs, int threads)
{
    size_t n = jobs->largest + 64, t = (size_t)threads, bytes;
    size_t budget = jobs->params.cache_bytes > 0 ? jobs->params.cache_bytes : hg_total_memory() / 2;
    size_t rounds = (jobs->n_jobs + t - 1) / t;
    if (threads < 2 || jobs->n_jobs < 2)
        return false;
    if (!hg_mul(n, n * sizeof(double), &bytes) || !hg_mul(bytes, t, &bytes) || bytes > budget)
        return false;
    return jobs->largest < 2048 || 4 * jobs->n_jobs >= 3 * rounds * t;
}

static hinge_status run_side_by_side(struct hg_jobs *jobs, int threads, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    size_t failed = SIZE_MAX; /* the first job that failed */
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (size_t j = 0; j < jobs->n_jobs; j++) {
        hinge_error mine;
        hg_ok(&mine);
        if (__atomic_load_n(&failed, __ATOMIC_RELAXED) != SIZE_MAX)
            continue;
        hinge_status done = jobs->job(jobs->arg, j, 1, &mine);
        if (done == HINGE_OK)
            continue;
        omp_set_lock(&jobs->lock);
        if (j < failed) {
            __atomic_store_n(&failed, j, __ATOMIC_RELAXED);
            status = done;
            if (err != NULL)
                *err = mine;
        }
        omp_unset_lock(&jobs->lock);
    }
    return status;
}

hinge_status hg_jobs_run(struct hg_jobs *jobs, bool *by_side, hinge_error *err)
{
    int threads = hg_threads(jobs->params.threads);
    bool together = side_by_side(jobs, threads);
    hinge_status status = HINGE_OK;
    omp_init_lock(&jobs->lock);
    if (together)
        status = run_side_by_side(jobs, threads, err);
    for (size_t j = 0; j < jobs->n_jobs && status == HINGE_OK && !together; j++)
        status = jobs->job(jobs->arg, j, threads, err);
    omp_destroy_lock(&jobs->lock);
    if (by_side != NULL)
        *by_side = together;
    return status;
}

hinge_outcome hg_jobs_ended(const struct hg_jobs *jobs)
{
    if (__atomic_load_n(&jobs->stopped, __ATOMIC_RELAXED))
        return HINGE_STOPPED;
    bool late = jobs->params.time_limit > 0 && hg_now() - jobs->begin >= jobs->params.time_limit;
    return late ? HINGE_TIME_LIMIT : HINGE_CONVERGED;
}

struct ticket {
    struct hg_jobs *jobs;
    size_t number;
};

/* Problems are counted over all jobs; a stop of one is a stop of all. */
static int on_progress(void *arg, const hinge_progress *progress)
{
    const struct ticket *ticket = arg;
    struct hg_jobs *jobs = ticket->jobs;
    hinge_progress p = *progress;
    p.problem += ticket->number * p.n_problems;
    p.n_problems *= jobs->n_jobs;
    p.seconds = hg_now() - jobs->begin;
    omp_set_lock(&jobs->lock);
    int stop = __atomic_load_n(&jobs->stopped, __ATOMIC_RELAXED) ||
               jobs->params.progress(jobs->params.progress_arg, &p);
    if (stop)
        __atomic_store_n(&jobs->stopped, 1, __ATOMIC_RELAXED);
    omp_unset_lock(&jobs->lock);
    return stop;
}

static size_t row_bytes(const hinge_matrix *x, size_t cols)
{
    return cols * (x->type == HINGE_F32 ? sizeof(float) : sizeof(double));
}

/* out, in x's type without gaps, gets the rows named. */
static void gather(const hinge_matrix *x, const uint32_t *rows, size_t n, void *out)
{
    size_t bytes = row_bytes(x, x->cols), step = row_bytes(x, x->stride);
    for (size_t i = 0; i < n * x->cols && !hg_matrix_by_rows(x); i++) {
        double value = hg_matrix_value(x, rows[i / x->cols], i % x->cols);
        if (x->type == HINGE_F32)
            ((float *)out)[i] = (float)value;
        else
            ((double *)out)[i] = value;
    }
    for (size_t i = 0; i < n && bytes > 0 && hg_matrix_by_rows(x); i++)
        memcpy((char *)out + i * bytes, (const char *)x->data + rows[i] * step, bytes);
}

static hinge_status train_by_weights(const struct hg_jobs *jobs, const uint32_t *rows, size_t n, const double *y,
                                     hinge_params *p, hinge_model **model, hinge_report *report, hinge_error *err)
{
    double *weights = hg_zalloc(jobs->x->rows, sizeof *weights);
    if (weights == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for the weights of %zu rows", jobs->x->rows);
    for (size_t i = 0; i < n; i++)
        weights[rows[i]] = p->weights != NULL ? p->weights[rows[i]] : 1;
    p->weights = weights;
    hinge_status status = hinge_train(model, jobs->x, y, p, report, err);
    hg_free(weights);
    return status;
}

static hinge_status train_on_copy(const struct hg_jobs *jobs, const uint32_t *rows, size_t n, const double *all_y,
                                  hinge_params *p, hinge_model **model, hinge_report *report, hinge_error *err)
{
    hinge_matrix x = *jobs->x;
    bool indexed = p->kernel.type == HINGE_PRECOMPUTED;
    char *data;
    double *y, *weights;
    size_t *index;
    if (!HG_ROOM(HG_TABLE(data, n, row_bytes(&x, x.cols)), HG_ARRAY(y, n), HG_ARRAY(weights, n), HG_ARRAY(index, n)))
        return hg_fail(err, HINGE_ENOMEM, "no memory for a copy of %zu rows of %zu features", n, x.cols);
    gather(jobs->x, rows, n, data);
    for (size_t i = 0; i < n; i++) {
        y[i] = all_y != NULL ? all_y[rows[i]] : 0;
        weights[i] = p->weights != NULL ? p->weights[rows[i]] : 1;
        index[i] = p->precomputed_index != NULL ? p->precomputed_index[rows[i]] : rows[i];
    }
    x.data = data;
    x.rows = n;
    x.stride = x.cols;
    x.order = HINGE_ROW_MAJOR;
    p->weights = weights;
    p->precomputed_index = indexed ? index : NULL;
    hinge_status status = hinge_train(model, &x, y, p, report, err);
    hg_free(data);
    return status;
}

hinge_status hg_jobs_train(struct hg_jobs *jobs, size_t number, int threads, const uint32_t *rows, size_t n,
                           const double *y, bool copy, const hinge_params *params, hinge_model **model,
                           hinge_report *report, hinge_error *err)
{
    struct ticket ticket = { jobs, number };
    hinge_params p = *params;
    p.threads = threads;
    if (copy) /* its rows are not those of x, nor need the positive class be there */
        p.beta0 = p.positive_class = NULL;
    if (p.time_limit > 0) /* what is left of it */
        p.time_limit = fmax(p.time_limit - (hg_now() - jobs->begin), 1e-9);
    if (p.progress != NULL) {
        p.progress = on_progress;
        p.progress_arg = &ticket;
    }
    return copy ? train_on_copy(jobs, rows, n, y, &p, model, report, err)
                : train_by_weights(jobs, rows, n, y, &p, model, report, err);
}

/* ---- rows held out --------------------------------------------------------------------------------------- */

hinge_status hg_predict_rows(const hinge_model *model, const hinge_matrix *x, const uint32_t *rows, size_t n,
                             bool probable, const hinge_predict_options *options, double *labels,
                             double *decisions, hinge_error *err)
{
    size_t bytes = HG_MAX(row_bytes(x, x->cols), (size_t)1);
    size_t classes = probable ? hinge_model_n_classes(model) : 0, problems = hinge_model_n_problems(model);
    /* 64 MB; long chunks, since each of them may sort the support vectors (lib/nearby.h) */
    size_t chunk = HG_MIN(n, HG_MAX((size_t)256, ((size_t)64 << 20) / (bytes + classes * sizeof(double))));
    char *data;
    double *probability;
    hinge_status status = HINGE_OK;
    if (!HG_ROOM(HG_TABLE(data, chunk, bytes), HG_TABLE(probability, chunk, classes)))
        return hg_fail(err, HINGE_ENOMEM, "no memory for a copy of %zu rows of %zu features", chunk, x->cols);
    for (size_t i = 0; i < n && status == HINGE_OK; i += chunk) {
        hinge_matrix part = { data, x->type, HG_MIN(chunk, n - i), x->cols, x->cols };
        double *label = labels != NULL ? labels + i : NULL;
        double *decision = decisions != NULL ? decisions + i * problems : NULL;
        gather(x, rows + i, part.rows, data);
        if (probable)
            status = hinge_predict_probability(model, &part, options, label, probability, err);
        else
            status = hinge_predict(model, &part, options, label, decision, err);
    }
    hg_free(data);
    return status;
}

/* ---- cross-validation ------------------------------------------------------------------------------------ */

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

/* Rows of weight 0 are dealt last, for prediction alone. */
static hinge_status draw_folds(struct validation *v, hinge_error *err)
{
    const struct hg_problem *pr = v->problem;
    size_t groups = pr->classifies ? pr->n_classes : 1, last = pr->n;
    uint64_t state = v->jobs.params.seed;
    uint32_t *row, *fold, *work;
    size_t *start;
    if (!HG_ROOM(HG_ARRAY(row, v->n), HG_ARRAY(fold, v->n), HG_ARRAY(work, v->n), HG_ARRAY(start, groups + 2)))
        return hg_fail(err, HINGE_ENOMEM, "no memory for the folds of %zu rows", v->n);
    memcpy(start, pr->start, (groups + 1) * sizeof *start);
    start[groups + 1] = v->n;
    for (size_t i = 0; i < pr->n; i++) {
        row[i] = pr->order[i];
        v->used[row[i]] = true;
    }
    for (size_t i = 0; i < v->n; i++)
        if (!v->used[i])
            row[last++] = (uint32_t)i;
    hg_folds_deal(&state, start, groups + 1, v->folds, work, fold);
    for (size_t i = 0; i < v->n; i++)
        v->fold[row[i]] = fold[i];
    for (size_t g = 0; g < groups && pr->classifies; g++)
        if (start[g + 1] - start[g] == 1)
            v->misses_class[fold[start[g]]] = true;
    hg_free(row);
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

/* The largest nu that the classes allow without fold f (folds: with all rows); work: [n_classes]. */
static double most_nu(const struct validation *v, size_t f, double *work)
{
    const struct hg_problem *pr = v->problem;
    for (size_t c = 0; c < pr->n_classes; c++) {
        work[c] = 0;
        for (size_t k = pr->start[c]; k < pr->start[c + 1]; k++)
            work[c] += v->fold[pr->order[k]] != f ? pr->weight[k] : 0;
    }
    return hg_most_nu(work, pr->n_classes, pr->one_vs_rest);
}

static hinge_status validate_fold(void *arg, size_t f, int threads, hinge_error *err)
{
    struct validation *v = arg;
    hinge_params params = v->jobs.params;
    hinge_predict_options options = { .threads = threads, .cpu_level = params.cpu_level };
    size_t n_train, n_held;
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
        params.nu = HG_MIN(v->problem->params.nu, most_nu(v, f, label));
    if (status == HINGE_OK && v->reports[f].outcome == HINGE_CONVERGED)
        status = hg_jobs_train(&v->jobs, f, threads, rows, n_train, v->jobs.y, v->misses_class[f], &params, &model,
                               &v->reports[f], &mine);
    bool ended = hg_ended_early(v->reports[f].outcome);
    if (status == HINGE_OK && !ended)
        status = hg_predict_rows(model, v->jobs.x, rows + n_train, n_held,
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

static size_t largest_problem(const struct hg_problem *pr)
{
    size_t largest = 0;
    for (size_t p = 0; p < pr->n_problems; p++)
        largest = HG_MAX(largest, hg_problem_size(pr, p));
    return largest;
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
        double most = most_nu(v, v->folds, v->prediction);
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

hinge_status hinge_cross_validate(const hinge_matrix *x, const double *y, const hinge_params *params,
                                  size_t folds, double *predictions, hinge_report *report, hinge_error *err)
{
    struct hg_problem problem = { 0 };
    struct validation v = { .problem = &problem, .folds = folds };
    v.jobs = (struct hg_jobs){ .x = x, .y = y, .n_jobs = folds, .begin = hg_now(), .job = validate_fold };
    v.jobs.arg = &v;
    if (params == NULL)
        return hg_fail(err, HINGE_EINVAL, "params: NULL");
    if (predictions == NULL)
        return hg_fail(err, HINGE_EINVAL, "predictions: NULL");
    v.jobs.params = *params;
    v.jobs.params.beta0 = NULL;
    v.jobs.params.scaling = NULL;
    hinge_status status = hg_problem_init(&problem, x, y, &v.jobs.params, err);
    v.jobs.params.scaling = params->scaling;
    if (status != HINGE_OK)
        return status;
    v.n = x->rows;
    v.jobs.largest = largest_problem(&problem);
    if (!problem.classifies) /* a calibration would be for nothing */
        v.jobs.params.probability = 0;
    if (folds < 2 || folds > x->rows)
        status = hg_fail(err, HINGE_EINVAL, "folds: %zu is not in 2 .. %zu rows", folds, x->rows);
    else
        status = validate(&v, predictions, report, err);
    hg_problem_free(&problem);
    return status == HINGE_OK ? hg_ok(err) : status;
}
