/*
 * Equal support vectors. Those of one class have one kernel value each with any example, so prediction takes them as
 * one vector whose coefficients are the sums of theirs. The model itself, as it is told and saved, keeps them all.
 *
 * Prediction takes less time in proportion to the vectors that are left (doc/tried.md). A model whose vectors all
 * differ goes without.
 */
#include "lib/model/model.h"

#include <string.h>

/* Makes the model of the `count` vectors that stay, each with the sums of coefficients of those that are equal to it
 * within its class, in every row of coef. It has what prediction reads, no more: no indices, objectives or
 * calibration. */
static hinge_model *merged_of(const hinge_model *m, const uint32_t *to, const uint32_t *stays, size_t count)
{
    size_t classes = m->labels != NULL ? m->n_classes : 2;
    hinge_model *one = hg_model_new(m->task, m->kernel, m->multiclass, classes, m->n_targets, count, m->d, m->sv_type);
    if (one == NULL)
        return NULL;
    memcpy(one->rho, m->rho, m->n_problems * sizeof *one->rho);
    if (m->labels != NULL)
        memcpy(one->labels, m->labels, m->n_classes * sizeof *one->labels);
    size_t bytes = m->d * hg_size_of(m->sv_type);
    for (size_t k = 0; k < count; k++)
        memcpy((char *)one->sv + k * bytes, (const char *)m->sv + stays[k] * bytes, bytes);
    for (size_t row = 0; row < hg_model_coef_rows(m); row++)
        for (size_t i = 0; i < m->n_sv; i++)
            one->coef[row * count + to[i]] += m->coef[row * m->n_sv + i];
    for (size_t c = 0, k = 0, end = 0; m->class_sv != NULL && c < m->n_classes; c++)
        for (end += m->class_sv[c]; k < count && stays[k] < end; k++)
            one->class_sv[c]++;
    return one;
}

/* Does nothing unless a twentieth of the vectors would go: with fewer, prediction would gain less than a
 * twentieth, for a second copy of the vectors. Vectors of different classes stay apart, since their coefficients belong
 * to other problems. */
hinge_status hg_model_merge(const hinge_model *m, int threads, hinge_model **merged, hinge_error *err)
{
    *merged = NULL;
    size_t again = 0, worth = m->n_sv / 20 + 1; /* vectors of their own */
    for (size_t i = 0; i < m->n_sv && m->equal.next != NULL; i++)
        again += m->equal.next[i] != 0;
    if (again < worth)
        return HINGE_OK;
    uint32_t *first, *to, *stays;
    double *class;
    size_t count = 0;
    HG_TRY(HG_MAKE(err, "the numbers of support vectors", HG_ARRAY(first, m->n_sv), HG_ARRAY(to, m->n_sv),
                   HG_ARRAY(stays, m->n_sv), HG_ARRAY(class, m->n_sv)));
    hg_equal_table_first(&m->equal, first);
    for (size_t c = 0, i = 0; c < hg_model_groups(m); c++)
        for (size_t end = i + hg_model_group_sv(m, c); i < end; i++)
            class[i] = (double)c;
    hinge_status status = hg_equal_number(first, class, m->n_sv, to, stays, &count, err);
    bool few = m->n_sv - count < worth; /* others are of different classes */
    *merged = few || status != HINGE_OK ? NULL : merged_of(m, to, stays, count);
    hg_free(first);
    HG_TRY(status);
    if (*merged == NULL)
        return few ? HINGE_OK : hg_fail(err, HINGE_ENOMEM, "no memory to merge %zu support vectors", m->n_sv);
    status = hg_model_finish(*merged, threads, err);
    if (status != HINGE_OK) {
        hinge_model_free(*merged);
        *merged = NULL;
    }
    return status;
}
