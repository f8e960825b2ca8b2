/*
 * What cannot be trained, and the words for it. svm_check_parameter looks at what LIBSVM's looks at: parameters, and
 * for nu-SVC the labels; some programs call it before they have examples. What hinge does not train beside that is
 * found by svm_train.
 */
#include "compat/svm_own.h"
#include "lib/model/model.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

static const hinge_kernel_row *kernel_row(const struct svm_parameter *p)
{
    return hinge_kernel_info((hinge_kernel_type)p->kernel_type);
}

static const char *check_kinds(const struct svm_parameter *p)
{
    if (hgc_task(p->svm_type) == NULL)
        return "unknown svm type";
    if (p->kernel_type < LINEAR || p->kernel_type > PRECOMPUTED)
        return "unknown kernel type";
    if (kernel_row(p)->uses_gamma && p->gamma < 0)
        return "gamma < 0";
    if (kernel_row(p)->uses_degree && p->degree < 0)
        return "degree of polynomial kernel < 0";
    return NULL;
}

static const char *check_numbers(const struct svm_parameter *p)
{
    const hinge_task_row *task = hgc_task(p->svm_type);
    if (!(p->eps > 0))
        return "eps <= 0";
    if (task->uses_C && !(p->C > 0))
        return "C <= 0";
    if (task->uses_nu && !(p->nu > 0 && p->nu <= 1))
        return "nu <= 0 or nu > 1";
    if (task->uses_p && !(p->p >= 0))
        return "p < 0";
    return NULL;
}

static const char *check_switches(const struct svm_parameter *p)
{
    if (p->shrinking != 0 && p->shrinking != 1)
        return "shrinking != 0 and shrinking != 1";
    if (p->probability != 0 && p->probability != 1)
        return "probability != 0 and probability != 1";
#ifdef HINGE_LIBSVM_324
    if (p->probability == 1 && p->svm_type == ONE_CLASS)
        return "one-class SVM probability output not supported yet";
#endif
    return NULL;
}

static int compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Checks that for every two classes nu (n1 + n2) / 2 <= min(n1, n2): it holds for all if it does for the smallest and
 * largest. */
static const char *check_nu(const struct svm_problem *prob, double nu)
{
    int *label = malloc((size_t)prob->l * sizeof *label);
    int smallest = INT_MAX, largest = 0, classes = 0;
    if (label == NULL)
        return "no memory for the labels";
    for (int i = 0; i < prob->l; i++)
        label[i] = (int)prob->y[i];
    qsort(label, (size_t)prob->l, sizeof *label, compare_ints);
    for (int i = 0, run = 1; i < prob->l; i++, run++)
        if (i + 1 == prob->l || label[i + 1] != label[i]) {
            smallest = run < smallest ? run : smallest;
            largest = run > largest ? run : largest;
            classes++;
            run = 0;
        }
    free(label);
    return classes > 1 && nu * ((double)smallest + largest) / 2 > smallest ? "specified nu is infeasible" : NULL;
}

/* LIBSVM would go on with these, to infinite loops, NaN, or merged classes. */
static const char *check_targets(const struct svm_problem *prob, const struct svm_parameter *p)
{
    if (prob->l < 1)
        return "no examples";
    if (prob->x == NULL || (prob->y == NULL && p->svm_type != ONE_CLASS))
        return "x or y is NULL";
    for (int i = 0; i < prob->l && p->svm_type != ONE_CLASS; i++) {
        if (!isfinite(prob->y[i]))
            return "a label or target is not a finite number";
        if (hgc_classifies(p->svm_type) && !(prob->y[i] > INT_MIN - 1.0 && prob->y[i] < INT_MAX + 1.0))
            return "a class label does not fit an int";
    }
    return NULL;
}

static const char *check_hinge(const struct svm_parameter *p)
{
    const hinge_task_row *task = hgc_task(p->svm_type);
    if (!isfinite(p->eps) || (task->uses_C && !isfinite(p->C) && (task->uses_nu || !(p->C > 0))) ||
        (task->uses_p && !isfinite(p->p)) || (kernel_row(p)->uses_gamma && !isfinite(p->gamma)) ||
        (kernel_row(p)->uses_coef0 && !isfinite(p->coef0)))
        return "a parameter is not a finite number";
    if (p->svm_type == C_SVC && p->nr_weight > 0 && (p->weight_label == NULL || p->weight == NULL))
        return "weight_label or weight is NULL";
    for (int k = 0; p->svm_type == C_SVC && k < p->nr_weight; k++)
        if (!(p->weight[k] >= 0 && isfinite(p->weight[k])))
            return "the weight of a class is not a finite number >= 0";
    return NULL;
}

const char *hgc_fault(const struct svm_problem *prob, const struct svm_parameter *p)
{
    if (prob == NULL || p == NULL)
        return "problem or parameters are NULL";
    HGC_TRY(check_kinds(p));
    HGC_TRY(check_numbers(p));
    HGC_TRY(check_targets(prob, p));
    HGC_TRY(p->svm_type == NU_SVC ? check_nu(prob, p->nu) : NULL);
    return check_hinge(p);
}

/* Whether labels are there yet: Algorithm::SVM checks with room for them that it fills afterwards, where anything may
 * stand. */
static bool has_labels(const struct svm_problem *prob)
{
    if (prob == NULL || prob->y == NULL || prob->l < 1)
        return false;
    for (int i = 0; i < prob->l; i++)
        if (!(prob->y[i] >= INT_MIN && prob->y[i] <= INT_MAX && prob->y[i] == floor(prob->y[i])))
            return false;
    return true;
}

const char *svm_check_parameter(const struct svm_problem *prob, const struct svm_parameter *p)
{
    if (p == NULL)
        return "parameters are NULL";
    HGC_TRY(check_kinds(p));
    if (!(p->cache_size > 0))
        return "cache_size <= 0";
    HGC_TRY(check_numbers(p));
    HGC_TRY(check_switches(p));
    return p->svm_type == NU_SVC && has_labels(prob) ? check_nu(prob, p->nu) : NULL;
}
