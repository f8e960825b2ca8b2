/*
 * Classes and the order of points (problem.h): each row finds its class and its weight, and points are sorted by class.
 * Without classes points are rows as they are given.
 */
#include "lib/data/problem.h"
#include "lib/data/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Multiplies the weights of all entries for this label, as a caller may name a label more than once; labels that have
 * none weigh 1. */
double hg_class_weight(const hinge_params *p, double label)
{
    double weight = 1;
    for (size_t k = 0; k < p->n_class_weights; k++)
        if (p->class_labels[k] == label)
            weight *= p->class_weights[k];
    return weight;
}

/* Makes a row of a class of this weight the next point, unless its own weight is 0: it then takes part in nothing. */
static void add_row(struct hg_problem *pr, uint32_t row, double weight)
{
    double w = pr->params.weights != NULL ? weight * pr->params.weights[row] : weight;
    if (w > 0) {
        pr->order[pr->data.n] = row;
        pr->weight[pr->data.n++] = w;
    }
}

/* Brings the positive class to the front: the one that positive_class names, or else that of the first row. Labels -1
 * and +1 are swapped where -1 came first, as LIBSVM does, so that a decision value > 0 means +1. The other classes keep
 * their order. */
static hinge_status choose_first(struct hg_problem *pr, hinge_error *err)
{
    const double *positive = pr->params.positive_class;
    double *labels = pr->labels;
    size_t k = pr->n_classes, c = 0;
    if (k == 2 && labels[0] == -1 && labels[1] == 1) {
        labels[0] = 1;
        labels[1] = -1;
    }
    while (positive != NULL && c < k && labels[c] != *positive)
        c++;
    if (c == k)
        return hg_fail(err, HINGE_EINVAL, "positive_class: no row has label %g", positive != NULL ? *positive : NAN);
    double first = labels[c];
    memmove(labels + 1, labels, c * sizeof *labels);
    labels[0] = first;
    return HINGE_OK;
}

/* Gives the classes the order that a model has them in, by swapping: a certificate compares problem p with the model's
 * problem p. A label of the model that no row has is an error. */
static hinge_status take_known_order(struct hg_problem *pr, hinge_error *err)
{
    for (size_t c = 0; c < pr->n_classes; c++) {
        size_t at = c;
        while (at < pr->n_classes && pr->labels[at] != pr->known[c])
            at++;
        if (at == pr->n_classes)
            return hg_fail(err, HINGE_EINVAL, "y: no row has label %g, a class of the model", pr->known[c]);
        pr->labels[at] = pr->labels[c];
        pr->labels[c] = pr->known[c];
    }
    return HINGE_OK;
}

hinge_status hg_problem_classes(struct hg_problem *pr, hinge_error *err)
{
    size_t k = pr->n_classes;
    HG_TRY(pr->known != NULL && pr->n_known == k ? take_known_order(pr, err) : choose_first(pr, err));
    pr->one_vs_rest = k > 2 && pr->params.multiclass == HINGE_ONE_VS_REST;
    pr->n_problems = hg_count_problems(pr->params.multiclass, k);
    return HINGE_OK;
}

/* Finds the classes: labels in the order of their first rows. Rows are sorted by label and number, so equal labels
 * stand side by side and the first of each is its first row; `first` is sorted by that row then. Leaves `row` [n]
 * sorted, with rows of weight 0 still in, as a class whose rows all weigh 0 is told of as an error, not passed over. -0
 * is the label 0. */
static hinge_status find_classes(struct hg_problem *pr, struct hg_numbered *row, size_t n, hinge_error *err)
{
    const double *y = pr->y;
    HG_TRY(hg_check_finite(y, n, "y: the label of row", err));
    for (size_t i = 0; y != NULL && i < n; i++) /* NULL was refused */
        row[i] = (struct hg_numbered){ y[i] == 0 ? 0 : y[i], (uint32_t)i };
    qsort(row, n, sizeof *row, hg_by_value_and_number);
    struct hg_numbered *first; /* of each class: its first row, and where that stands */
    HG_TRY(HG_MAKE(err, "the labels of rows", HG_ARRAY(first, n)));
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || row[i].value != row[i - 1].value)
            first[k++] = (struct hg_numbered){ row[i].number, (uint32_t)i };
    qsort(first, k, sizeof *first, hg_by_value);
    pr->n_classes = k;
    hinge_status status = HG_MAKE(err, "the labels of classes", HG_ARRAY(pr->labels, k));
    HG_THEN(status, HG_MAKE(err, "the ranges of classes", HG_ZEROS(pr->start, k + 1)));
    for (size_t c = 0; status == HINGE_OK && c < k; c++)
        pr->labels[c] = row[first[c].number].value;
    hg_free(first);
    HG_THEN(status, hg_problem_classes(pr, err));
    return status;
}

/* Returns where the rows of a label begin in rows sorted by label. */
static size_t lower_bound(const struct hg_numbered *row, size_t n, double label)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (row[middle].value < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sorts rows by class, the first class's first, each class's as they are given; rows of weight 0 are left out. A
 * two-class problem then is two ranges. */
static hinge_status order_by_class(struct hg_problem *pr, size_t n, hinge_error *err)
{
    struct hg_numbered *row;
    HG_TRY(HG_MAKE(err, "the labels of rows", HG_ARRAY(row, n)));
    hinge_status status = find_classes(pr, row, n, err);
    for (size_t c = 0; c < pr->n_classes && status == HINGE_OK; c++) {
        double weight = hg_class_weight(&pr->params, pr->labels[c]);
        for (size_t i = lower_bound(row, n, pr->labels[c]); i < n && row[i].value == pr->labels[c]; i++)
            add_row(pr, row[i].number, weight);
        pr->start[c + 1] = pr->data.n;
        if (pr->start[c + 1] == pr->start[c])
            status = hg_fail(err, HINGE_EINVAL, "weights: all rows of class %g have weight 0", pr->labels[c]);
    }
    hg_free(row);
    return status;
}

/* Takes rows in their order as one range of points, for regression and one-class, which have one problem, and for many
 * targets. n_classes is 2, as LIBSVM's files tell of such models. */
static hinge_status order_as_given(struct hg_problem *pr, size_t n, hinge_error *err)
{
    HG_TRY(hg_check_finite(pr->y, pr->task->regresses && pr->targets == NULL ? n : 0, "y: the target of row", err));
    for (size_t i = 0; i < n; i++)
        add_row(pr, (uint32_t)i, 1);
    if (pr->targets != NULL && pr->data.n > 0)
        HG_TRY(hg_targets_check(pr, err));
    pr->n_classes = 2;
    pr->n_problems = pr->targets != NULL ? pr->targets->n : 1;
    HG_TRY(HG_MAKE(err, "the range of rows", HG_ZEROS(pr->start, 2)));
    pr->start[1] = pr->data.n;
    return pr->data.n > 0 ? HINGE_OK : hg_fail(err, HINGE_EINVAL, "weights: all rows have weight 0");
}

hinge_status hg_problem_order(struct hg_problem *pr, hinge_error *err)
{
    return pr->classifies ? order_by_class(pr, pr->x.rows, err) : order_as_given(pr, pr->x.rows, err);
}
