/*
 * Training and cross-validation: LIBSVM's problem and parameters in hinge's words, and hinge's model in
 * LIBSVM's fields.
 */
#include "compat/svm_own.h"
#include "lib/folds/proba.h"

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters ------------------------------------------------------------------------------------------ */

/* Steps of each two-class problem, from the progress reports. Those of folds, for probability, are about
 * fewer examples of the problem and do not count. */
struct steps {
    unsigned long long *iterations; /* [n_problems] */
    size_t *examples;               /* [n_problems] */
    size_t n_problems;
};

/* Room is made at the first report; without memory the counts stay away. */
static int on_progress(void *arg, const hinge_progress *progress)
{
    struct steps *s = arg;
    size_t p = progress->problem;
    if (s->iterations == NULL) {
        s->iterations = calloc(progress->n_problems, sizeof *s->iterations);
        s->examples = calloc(progress->n_problems, sizeof *s->examples);
        s->n_problems = s->iterations != NULL && s->examples != NULL ? progress->n_problems : 0;
    }
    if (p < s->n_problems && progress->n >= s->examples[p]) {
        s->iterations[p] = progress->iterations;
        s->examples[p] = progress->n;
    }
    return 0;
}

static size_t cache_bytes(const struct svm_parameter *p)
{
    double bytes = p->cache_size * 1048576;
    return !(bytes >= 1) ? 1 : bytes < (double)(SIZE_MAX / 2) ? (size_t)bytes : SIZE_MAX / 2;
}

/* Ten times LIBSVM's own limit of two-variable steps: a block of hinge's takes more of them, at less each. */
static uint64_t step_limit(size_t examples)
{
    return examples > 100000 ? 1000 * (uint64_t)examples : 100000000;
}

static bool wants_probability(const struct svm_parameter *p)
{
#ifdef HINGE_LIBSVM_324
    if (p->svm_type == ONE_CLASS)
        return false;
#endif
    return p->probability != 0;
}

static const double almost_0 = 1e-200; /* a weight: hinge wants each class to have one; */

/* Makes hinge's parameters; class_labels: [2 nr_weight] room of the caller's, for the weights too. */
static hinge_params params_of(const struct svm_parameter *p, const struct hgc_dense *dense, double *class_labels)
{
    const hinge_task_row *task = hgc_task(p->svm_type);
    hinge_params q = hinge_params_default(task->task);
    q.kernel = hgc_kernel_of(p);
    q.eps = p->eps;
    q.C = task->uses_C ? p->C : 1;
    q.nu = task->uses_nu ? p->nu : 0;
    q.p = task->uses_p ? p->p : 0;
    q.shrinking = p->shrinking != 0;
    q.probability = wants_probability(p);
    q.cache_bytes = cache_bytes(p);
    q.precomputed_index = dense->serial;
    q.threads = hgc_threads();
    q.max_iter = p->svm_type == C_SVC && isinf(p->C) ? 0 : step_limit(dense->x.rows);
    if (p->svm_type == C_SVC && p->nr_weight > 0) {
        double *weights = class_labels + p->nr_weight;
        for (int k = 0; k < p->nr_weight; k++) {
            class_labels[k] = p->weight_label[k];
            weights[k] = p->weight[k] > 0 ? p->weight[k] : almost_0;
        }
        q.n_class_weights = (size_t)p->nr_weight;
        q.class_labels = class_labels;
        q.class_weights = weights;
    }
    return q;
}

/* Problem and parameters as hinge takes them. */
struct job {
    struct hgc_dense dense;
    double *class_labels;
    hinge_params params;
};

static bool job_init(struct job *job, const struct svm_problem *prob, const struct svm_parameter *param)
{
    memset(job, 0, sizeof *job);
    const char *fault = hgc_fault(prob, param);
    if (fault == NULL)
        fault = hgc_dense_make(&job->dense, prob, param);
    if (fault == NULL) {
        size_t n = param->svm_type == C_SVC && param->nr_weight > 0 ? (size_t)param->nr_weight : 0;
        job->class_labels = malloc((2 * n + 1) * sizeof *job->class_labels);
        if (job->class_labels == NULL)
            fault = "no memory for the weights";
        else
            job->params = params_of(param, &job->dense, job->class_labels);
    }
    if (fault != NULL)
        hgc_warn("ERROR: %s\n", fault);
    return fault == NULL;
}

static void job_free(struct job *job)
{
    hgc_dense_free(&job->dense);
    free(job->class_labels);
}

/* ---- the model ------------------------------------------------------------------------------------------- */

static void *room_of(size_t n, size_t size, bool *ok)
{
    void *room = calloc(n + 1, size);
    *ok = *ok && room != NULL;
    return room;
}

/* NULL, if values are. */
static double *copy_doubles(const double *values, size_t n, bool *ok)
{
    double *copy = values != NULL ? room_of(n, sizeof *copy, ok) : NULL;
    if (copy != NULL && n > 0)
        memcpy(copy, values, n * sizeof *copy);
    return copy;
}

struct svm_model *hgc_model_new(const hinge_model *h)
{
    bool ok = true, classes = h->labels != NULL;
    struct svm_model *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->nr_class = (int)h->n_classes;
    m->l = (int)h->n_sv;
    m->rho = copy_doubles(h->rho, h->n_problems, &ok);
    m->probA = copy_doubles(h->prob_a, h->n_problems, &ok);
    m->probB = copy_doubles(h->prob_b, h->n_problems, &ok);
#ifndef HINGE_LIBSVM_324
    m->prob_density_marks = copy_doubles(h->density_marks, HG_MARKS, &ok);
#endif
    m->label = classes ? room_of(h->n_classes, sizeof *m->label, &ok) : NULL;
    m->nSV = classes ? room_of(h->n_classes, sizeof *m->nSV, &ok) : NULL;
    m->SV = room_of(h->n_sv, sizeof *m->SV, &ok);
    m->sv_coef = room_of(h->n_classes, sizeof *m->sv_coef, &ok);
    for (size_t k = 0; ok && k + 1 < h->n_classes; k++)
        m->sv_coef[k] = room_of(h->n_sv, sizeof **m->sv_coef, &ok);
    for (size_t c = 0; ok && classes && c < h->n_classes; c++) {
        m->label[c] = (int)h->labels[c];
        m->nSV[c] = (int)h->class_sv[c];
    }
    if (!ok)
        svm_free_and_destroy_model(&m);
    return m;
}

static struct svm_model *model_of(const hinge_model *h, const struct svm_problem *prob,
                                  const struct svm_parameter *param)
{
    struct svm_model *m = hgc_model_new(h);
    bool ok = m != NULL;
    if (!ok)
        return NULL;
    m->param = *param;
    m->sv_indices = room_of(h->n_sv, sizeof *m->sv_indices, &ok);
    for (size_t k = 0; k + 1 < h->n_classes && h->n_sv > 0; k++)
        memcpy(m->sv_coef[k], h->coef + k * h->n_sv, h->n_sv * sizeof **m->sv_coef);
    for (size_t i = 0; ok && i < h->n_sv; i++) {
        m->SV[i] = prob->x[h->sv_index[i]];
        m->sv_indices[i] = (int)h->sv_index[i] + 1;
    }
    if (!ok)
        svm_free_and_destroy_model(&m);
    return m;
}

/* ---- the entries ----------------------------------------------------------------------------------------- */

static void warn_of_weights(const struct svm_parameter *param, const hinge_model *h)
{
    for (int k = 0; param->svm_type == C_SVC && k < param->nr_weight; k++) {
        size_t c = 0, classes = hinge_model_n_classes(h);
        while (c < classes && hinge_model_labels(h)[c] != param->weight_label[k])
            c++;
        if (c == classes)
            hgc_warn("WARNING: a weight is given for class %d, which does not occur\n", param->weight_label[k]);
    }
}

static struct svm_model *train(const struct job *job, const struct svm_problem *prob, const struct svm_parameter *param)
{
    struct steps steps = { NULL, NULL, 0 };
    hinge_params params = job->params;
    hinge_model *trained = NULL;
    struct svm_model *m = NULL;
    hinge_report report;
    hinge_error err;
    params.progress = on_progress;
    params.progress_arg = &steps;
    if (hinge_train(&trained, &job->dense.x, job->dense.y, &params, &report, &err) != HINGE_OK) {
        hgc_warn("ERROR: %s\n", err.text);
    } else {
        m = model_of(trained, prob, param);
        warn_of_weights(param, trained);
        if (hgc_classifies(param->svm_type) && hinge_model_n_classes(trained) == 1)
            hgc_print("WARNING: all examples are of one class\n");
        if (m != NULL)
            hgc_print_problems(&job->params, &job->dense, trained, m, steps.n_problems > 0 ? steps.iterations : NULL);
        else
            hgc_warn("ERROR: no memory for the model\n");
        if (report.outcome != HINGE_CONVERGED)
            hgc_warn("WARNING: training ended early: %s\n", hinge_outcome_text(report.outcome));
    }
    hinge_model_free(trained);
    free(steps.iterations);
    free(steps.examples);
    return m;
}

/* Fills target[l]; all NaN after a failure. */
static void validate(const struct job *job, const struct svm_problem *prob, bool ok, int nr_fold, double *target)
{
    hinge_error err = { HINGE_OK, 0, "" };
    if (ok && hinge_cross_validate(&job->dense.x, job->dense.y, &job->params, nr_fold > 0 ? (size_t)nr_fold : 0, target,
                                   NULL, &err) == HINGE_OK)
        return;
    if (ok)
        hgc_warn("ERROR: %s\n", err.text);
    for (int i = 0; i < prob->l; i++)
        target[i] = NAN;
}

/* Trains; target: NULL for a model, otherwise for the predictions of folds. */
static struct svm_model *run_here(const struct svm_problem *prob, const struct svm_parameter *param, int nr_fold,
                                  double *target)
{
    struct job job;
    struct svm_model *m = NULL;
    bool ok = job_init(&job, prob, param);
    if (ok)
        hgc_count_training();
    if (target != NULL)
        validate(&job, prob, ok, nr_fold, target);
    else if (ok)
        m = train(&job, prob, param);
    job_free(&job);
    return m;
}

/* A child that fork made of a process that trained waits for ever in a region of several threads: it has one, also
 * where nobody says how many, for as long as it is in here. */
static struct svm_model *run(const struct svm_problem *prob, const struct svm_parameter *param, int nr_fold,
                             double *target)
{
    struct svm_model *m = NULL;
    if (!hgc_is_child())
        return run_here(prob, param, nr_fold, target);
#pragma omp parallel num_threads(1)
    {
        omp_set_num_threads(1);
        m = run_here(prob, param, nr_fold, target);
    }
    return m;
}

struct svm_model *svm_train(const struct svm_problem *prob, const struct svm_parameter *param)
{
    return run(prob, param, 0, NULL);
}

void svm_cross_validation(const struct svm_problem *prob, const struct svm_parameter *param, int nr_fold,
                          double *target)
{
    if (prob == NULL || param == NULL || target == NULL)
        return;
    if (nr_fold > prob->l) {
        hgc_warn("WARNING: %d folds asked for of %d examples: one example a fold\n", nr_fold, prob->l);
        nr_fold = prob->l;
    }
    run(prob, param, nr_fold, target);
}
