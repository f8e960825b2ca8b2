/*
 * Many targets of the same rows (hinge_train_many): their checks, and what one of them makes of parameters and rows.
 */
#include "lib/data/params.h"
#include "lib/data/problem.h"

#include <math.h>

hinge_status hg_targets_need(const hinge_targets *targets, const hinge_params *params, hinge_error *err)
{
    HG_NEED(err, params, "params");
    HG_NEED(err, targets, "targets");
    HG_NEED(err, targets->y, "targets: y");
    if (targets->n == 0)
        return hg_fail(err, HINGE_EINVAL, "targets: none");
    if (params->task == HINGE_NU_SVC || params->task == HINGE_ONE_CLASS)
        return hg_fail(err, HINGE_EINVAL, "task: %s has no many targets", hinge_task_info(params->task)->keyword);
    if (params->probability || hg_params_hard(params))
        return hg_fail(err, HINGE_EINVAL, "%s: not for many targets",
                       params->probability ? "probability" : "C: infinity");
    return HINGE_OK;
}

hinge_status hg_targets_check(const struct hg_problem *pr, hinge_error *err)
{
    const hinge_targets *t = pr->targets;
    size_t rows = pr->x.rows, count = t->n * rows;
    HG_TRY(hg_check_finite(t->y, count, "targets: value", err));
    for (size_t k = 0; k < count; k++) {
        double w = t->weights != NULL ? t->weights[k] : 1;
        if (!(w >= 0 && isfinite(w)))
            return hg_fail(err, HINGE_EINVAL,
                           "targets: weight %g of row %zu for target %zu is not a finite number >= 0", w, k % rows,
                           k / rows);
        if (pr->task->classifies && fabs(t->y[k]) != 1)
            return hg_fail(err, HINGE_EINVAL, "targets: label %g of row %zu for target %zu is not +1 or -1", t->y[k],
                           k % rows, k / rows);
    }
    for (size_t k = 0; k < t->n; k++) {
        double sum = 0;
        for (size_t i = 0; i < pr->data.n; i++)
            sum += t->weights != NULL ? t->weights[k * rows + pr->order[i]] : 1;
        if (!(sum > 0))
            return hg_fail(err, HINGE_EINVAL, "targets: all rows have weight 0 for target %zu", k);
        double C = t->C != NULL ? t->C[k] : pr->params.C, p = t->p != NULL ? t->p[k] : pr->params.p;
        if (!(C > 0 && isfinite(C) && p >= 0 && isfinite(p)))
            return hg_fail(err, HINGE_EINVAL, "targets: C %g, p %g of target %zu: not finite, or C <= 0, p < 0", C, p,
                           k);
    }
    return HINGE_OK;
}

double hg_targets_most(const struct hg_problem *pr, double most)
{
    const hinge_targets *t = pr->targets;
    double weight = 1;
    for (size_t k = 0; t->C != NULL && k < t->n; k++)
        most = HG_MAX(t->C[k], most);
    for (size_t k = 0; t->weights != NULL && k < t->n * pr->x.rows; k++)
        weight = HG_MAX(t->weights[k], weight);
    return most * weight;
}

void hg_target_params(const hinge_targets *t, size_t p, hinge_params *params)
{
    if (t != NULL && t->C != NULL)
        params->C = t->C[p];
    if (t != NULL && t->p != NULL)
        params->p = t->p[p];
}

struct hg_entry hg_entry_of(const struct hg_problem *pr, const double *given, size_t p, uint32_t point, bool is_first)
{
    const hinge_targets *t = pr->targets;
    size_t row = pr->order[point];
    if (t == NULL)
        return (struct hg_entry){ given[point], pr->y != NULL ? pr->y[row] : 0, is_first };
    size_t at = p * pr->x.rows + row;
    double weight = given[point] * (pr->task->classifies ? hg_class_weight(&pr->params, t->y[at]) : 1);
    return (struct hg_entry){ weight * (t->weights != NULL ? t->weights[at] : 1), t->y[at], t->y[at] > 0 };
}

hinge_task hg_task_of_model(const struct hg_problem *pr)
{
    bool signs = pr->targets != NULL && pr->params.task == HINGE_C_SVC; /* labels +-1 have no names */
    return signs ? HINGE_EPSILON_SVR : pr->params.task;
}
