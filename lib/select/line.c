#include "lib/folds.h"
#include "lib/select/select.h"

#include <math.h>
#include <string.h>

double hg_select_most_nu(const struct hg_selecting *s, size_t f)
{
    const struct hg_problem *pr = &s->problem;
    const int *fold = f != SIZE_MAX ? s->out->fold + f / s->folds * s->rows : NULL;
    double *weight = pr->classifies ? hg_zalloc(pr->n_classes, sizeof *weight) : NULL;
    if (weight == NULL || pr->params.task != HINGE_NU_SVC) {
        hg_free(weight);
        return 1;
    }
    for (size_t c = 0; c < pr->n_classes; c++)
        for (size_t i = pr->start[c]; i < pr->start[c + 1]; i++)
            weight[c] += fold == NULL || fold[pr->order[i]] != (int)f ? pr->weight[i] : 0;
    double most = hg_most_nu(weight, pr->n_classes, pr->one_vs_rest);
    hg_free(weight);
    return most;
}

/* A fold's decision values by the fold's classes, to those of all classes. */
static void spread(const struct hg_selecting *s, const hinge_model *model, const double *from, double *to)
{
    if (hinge_model_n_problems(model) == s->n_problems)
        memcpy(to, from, s->n_problems * sizeof *to);
}

hinge_status hg_train_fold(struct hg_selecting *s, hinge_point *point, size_t f, hinge_error *err)
{
    size_t at = f / s->folds * s->rows, n = 0, held = 0;
    bool misses = false;
    const int *fold = s->out->fold + at;
    hinge_params params = hg_point_params(s, point);
    struct hg_jobs jobs = { .x = &s->x, .y = s->y, .params = params, .n_jobs = 1, .begin = s->begin };
    hinge_model *model = NULL;
    hinge_report report;
    uint32_t *rows;
    double *label, *decision;
    if (!HG_ROOM(HG_ARRAY(rows, s->rows), HG_ARRAY(label, s->rows), HG_TABLE(decision, s->rows, s->n_problems + 1)))
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu rows", s->rows);
    for (size_t i = 0; i < s->rows; i++)
        if (fold[i] != (int)f && s->used[i])
            rows[n++] = (uint32_t)i;
    for (size_t i = 0; i < s->rows; i++)
        if (fold[i] == (int)f)
            rows[n + held++] = (uint32_t)i;
    for (size_t c = 0; s->problem.classifies && c < s->problem.n_classes; c++) {
        size_t i = s->problem.start[c];
        while (i < s->problem.start[c + 1] && fold[s->problem.order[i]] == (int)f)
            i++;
        misses = misses || i == s->problem.start[c + 1];
    }
    params.eps = s->out->eps;
    params.nu = HG_MIN(params.nu, hg_select_most_nu(s, f));
    params.probability = 0;
    params.beta0 = NULL;
    omp_init_lock(&jobs.lock);
    hinge_status status =
        hg_jobs_train(&jobs, 0, s->params.threads, rows, n, s->y, misses, &params, &model, &report, err);
    omp_destroy_lock(&jobs.lock);
    if (status == HINGE_OK) {
        point->outcome = hg_worse_outcome(point->outcome, report.outcome);
        point->iterations += report.iterations;
        s->out->iterations += report.iterations;
        s->out->trainings += report.n_problems;
        s->out->rows_computed += report.rows_computed;
        s->out->kernel_values += report.kernel_values;
        status = hg_predict_rows(model, &s->x, rows + n, held, false, NULL, label, decision, err);
    }
    for (size_t i = 0; status == HINGE_OK && i < held; i++) {
        size_t row = rows[n + i];
        s->predictions[at + row] = label[i];
        spread(s, model, decision + i * hinge_model_n_problems(model), s->decisions + (at + row) * s->n_problems);
    }
    hinge_model_free(model);
    hg_free(rows);
    return status;
}
