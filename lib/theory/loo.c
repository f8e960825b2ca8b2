/*
 * Exact leave-one-out. A row that is no support vector is predicted as by the model of all rows: its alpha is 0, so
 * that model is optimal without it too, unless it takes a class with it. Each of the others is left out by a training
 * that starts from the coefficients of all rows; what the row takes with it is made up for by the others
 * (hg_qp_project). Read lib/folds/folds.h before, whose jobs these trainings are.
 *
 * There are as many trainings as support vectors instead of rows, and each of them starts near its solution.
 */
#include "lib/folds/folds.h"
#include "lib/base/team.h"
#include "lib/data/params.h"
#include "lib/model/model.h"
#include "lib/data/problem.h"

#include <hinge/theory.h>
#include <math.h>
#include <string.h>

/* Holds one leave-one-out, all arrays in one block whose first is fold. Jobs write their own entries of prediction
 * and outcome. */
struct leaving {
    struct hg_jobs jobs;
    const struct hg_problem *problem; /* all rows */
    size_t n;                         /* rows of x */
    uint32_t *fold;                   /* [n] the job that leaves a row out; none: HG_NO_FOLD */
    bool *used, *alone;               /* [n] hg_folds_mark's */
    double *beta;                     /* [n_problems * n] of all rows */
    double *prediction;               /* [n] */
    hinge_outcome *outcome;           /* [n_jobs] */
};

/* Trains without one row and predicts it: job `number`, after the training of all rows, which progress counts as the
 * first. */
static hinge_status leave_out(void *arg, int thread, size_t number, int threads, hinge_error *err)
{
    struct leaving *l = arg;
    (void)thread;
    const struct hg_split rows = { .n = l->n, .fold = l->fold, .used = l->used, .alone = l->alone };
    struct hg_job job = { .number = number + 1, .threads = threads, .y = l->jobs.y, .params = l->jobs.params };
    job.params.beta0 = l->beta;
    hinge_status status = hg_jobs_hold_out(&l->jobs, &job, &rows, number, true, l->prediction, err);
    l->outcome[number] = job.report.outcome;
    return status;
}

/* Says whether the bias of each problem is held by a margin support vector (0 < alpha < C). Where it is not, b lies in
 * a range, and a row without coefficient may be what bounds it: then all rows are left out. */
static bool bias_is_held(const struct leaving *l, size_t n_problems)
{
    const struct hg_problem *pr = l->problem;
    for (size_t p = 0; p < n_problems; p++) {
        bool held = false;
        for (size_t k = 0; k < pr->data.n && !held; k++) {
            double beta = l->beta[p * l->n + pr->order[k]], C = pr->params.C * pr->weight[k];
            if (pr->task->uses_tau)
                C *= beta > 0 ? pr->params.tau : 1 - pr->params.tau;
            held = hinge_sv_kind_of(fabs(beta), C) == HINGE_MARGIN_SV;
        }
        if (!held)
            return false;
    }
    return true;
}

/* Lists the rows to be left out: support vectors, rows that are alone in their class, or all (bias_is_held). */
static void choose_rows(struct leaving *l, const hinge_model *m)
{
    const struct hg_problem *pr = l->problem;
    bool all = !bias_is_held(l, m->n_problems);
    hg_folds_mark(pr, l->used, l->alone);
    bool *sv = l->alone + l->n; /* room behind */
    for (size_t k = 0; k < m->n_sv; k++)
        sv[m->sv_index[k]] = true;
    for (size_t i = 0; i < l->n; i++)
        l->fold[i] = l->used[i] && (all || sv[i] || l->alone[i]) ? (uint32_t)l->jobs.n_jobs++ : HG_NO_FOLD;
}

/* Sums up errors, or squares of residuals (pinball losses of a quantile), over rows of weight above 0. The bound is the
 * share of support vectors, as no other row can be an error by its leaving. */
static void summarise(const struct leaving *l, const hinge_model *m, hinge_leave_one_out_report *r)
{
    double square = 0;
    r->n = l->problem->data.n;
    r->n_sv = m->n_sv;
    r->retrained = l->jobs.n_jobs;
    for (size_t i = 0; i < l->n; i++) {
        double miss = l->prediction[i] - l->jobs.y[i];
        r->errors += l->used[i] && miss != 0;
        square += !l->used[i] ? 0 : m->tau > 0 ? hinge_pinball(m->tau, -miss) : miss * miss;
    }
    r->error = (double)r->errors / (double)r->n;
    r->bound = hinge_bound_leave_one_out(r->n_sv, r->n);
    if (!l->problem->classifies) {
        r->errors = 0;
        r->error = square / (double)r->n;
        r->bound = NAN;
    }
    for (size_t j = 0; j < l->jobs.n_jobs; j++)
        r->outcome = hg_worse_outcome(r->outcome, l->outcome[j]);
    if (l->jobs.stopped)
        r->outcome = HINGE_STOPPED;
    r->seconds = hg_now() - l->jobs.begin;
}

/* Trains on all rows for coefficients and predictions, then runs a job for each row that is to be left out; a job
 * writes its row's prediction over the model's. */
static hinge_status run(struct leaving *l, hinge_leave_one_out_report *report, hinge_error *err)
{
    const struct hg_problem *pr = l->problem;
    hinge_model *m = NULL;
    hinge_report first;
    HG_TRY(HG_MAKE(err, "the rows to be left out", HG_ARRAY(l->fold, l->n), HG_ZEROS(l->used, l->n),
                   HG_ZEROS(l->alone, 2 * l->n), HG_ARRAY(l->prediction, l->n), HG_ZEROS(l->outcome, l->n),
                   HG_TABLE(l->beta, pr->n_problems, l->n)));
    hinge_status status = hinge_train(&m, l->jobs.x, l->jobs.y, &l->jobs.params, &first, err);
    HG_THEN(status, hinge_model_beta(m, l->n, l->beta, err));
    HG_THEN(status, hinge_predict(m, l->jobs.x, NULL, l->prediction, NULL, err));
    if (status == HINGE_OK) {
        report->outcome = first.outcome;
        l->jobs.stopped = first.outcome == HINGE_STOPPED;
        l->jobs.params.beta0 = NULL;
        choose_rows(l, m);
        status = hg_jobs_run(&l->jobs, NULL, err);
    }
    if (status == HINGE_OK)
        summarise(l, m, report);
    hinge_model_free(m);
    return status;
}

/* Refuses tasks with nu, whose sums change with each row. A limit of time or a stop leaves predictions untouched, and
 * says so in the report. */
static hinge_status leave_each_out(const hinge_matrix *x, const double *y, const hinge_params *params,
                                   double *predictions, hinge_leave_one_out_report *report, hinge_error *err)
{
    struct hg_problem problem;
    hinge_leave_one_out_report r = { 0 };
    struct leaving l = { .problem = &problem };
    hg_ok(err);
    HG_NEED(err, params, "params");
    if (hinge_task_info(params->task) != NULL && hinge_task_info(params->task)->uses_nu)
        return hg_fail(err, HINGE_EINVAL,
                       "task: one with nu, in which each row changes the problem; cross-validate with as many folds as "
                       "rows");
    HG_TRY(hg_problem_init(&problem, x, y, params, NULL, err));
    l.n = x->rows;
    l.jobs = (struct hg_jobs){ .x = x, .y = y, .params = *params, .begin = hg_now(), .job = leave_out, .arg = &l };
    l.jobs.params.probability = 0;
    l.jobs.largest = hg_problem_largest(&problem);
    hinge_status status = problem.data.n >= 2
                              ? run(&l, &r, err)
                              : hg_fail(err, HINGE_EINVAL, "x: one row of weight > 0 cannot be left out");
    if (status == HINGE_OK && predictions != NULL && !hg_ended_early(r.outcome))
        memcpy(predictions, l.prediction, l.n * sizeof *predictions);
    if (status == HINGE_OK && report != NULL)
        *report = r;
    hg_free(l.fold);
    hg_problem_free(&problem);
    return status == HINGE_OK ? hg_ok(err) : status;
}

hinge_status hinge_leave_one_out(const hinge_matrix *x, const double *y, const hinge_params *params,
                                 double *predictions, hinge_leave_one_out_report *report, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    HG_TEAM(hg_params_team(params, x, y, x != NULL ? x->rows : 1))
    status = leave_each_out(x, y, params, predictions, report, err);
    return status;
}
