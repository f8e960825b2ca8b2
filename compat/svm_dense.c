/*
 * Sparse examples to a dense matrix. The columns that are not 0 in every example are found by a set of
 * indices (lib/base/columns.h); a column's number is its index's place in it. Precomputed kernels: instead of features,
 * the serial numbers of the examples.
 */
#include "compat/svm_own.h"

#include "lib/base/columns.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "no memory for the examples as dense rows";
static const char no_serial[] = "precomputed kernel: an example does not begin with 0:serial, or has too few values";

static bool is_precomputed(const struct svm_parameter *param)
{
    return param->kernel_type == PRECOMPUTED;
}

/* Serial number of an example, 0: it has none that fits. */
static int serial_of(const struct svm_node *x)
{
    return x[0].index == 0 && x[0].value >= 1 && x[0].value < INT_MAX ? (int)x[0].value : 0;
}

/* Every row reaches the largest serial number. */
static const char *check_kernel_values(const struct svm_problem *prob, int max)
{
    for (int i = 0; i < prob->l; i++)
        for (int s = 1; s <= max; s++) {
            if (prob->x[i][s].index == -1)
                return no_serial;
            if (!isfinite(prob->x[i][s].value))
                return "a kernel value is not a finite number";
        }
    return NULL;
}

/* The largest index that matters; *max stays -1 where there is none. */
static const char *largest_index(const struct svm_problem *prob, bool precomputed, int *max)
{
    for (int i = 0; i < prob->l; i++) {
        const struct svm_node *x = prob->x[i];
        if (x == NULL)
            return "an example is NULL";
        if (precomputed && serial_of(x) == 0)
            return no_serial;
        if (precomputed && serial_of(x) > *max)
            *max = serial_of(x);
        for (int last = -1; !precomputed && x->index != -1; last = x->index, x++) {
            if (x->index <= last)
                return "feature indices are not ascending";
            if (!isfinite(x->value))
                return "a feature is not a finite number";
            if (x->value != 0 && x->index > *max)
                *max = x->index;
        }
    }
    return NULL;
}

static const char *columns_find(struct hg_columns *c, const struct svm_problem *prob, bool precomputed)
{
    int max = -1;
    memset(c, 0, sizeof *c);
    HGC_TRY(largest_index(prob, precomputed, &max));
    HGC_TRY(precomputed ? check_kernel_values(prob, max) : NULL);
    c->last = max > 0 ? (size_t)max : 0;
    if (!HG_ROOM(HG_ZEROS(c->bits, c->last / 64 + 1), HG_ZEROS(c->before, c->last / 64 + 1)))
        return no_memory;
    for (int i = 0; i < prob->l; i++) {
        if (precomputed)
            hg_columns_add(c, (size_t)serial_of(prob->x[i]));
        for (const struct svm_node *x = prob->x[i]; !precomputed && x->index != -1; x++)
            if (x->value != 0)
                hg_columns_add(c, (size_t)x->index);
    }
    hg_columns_rank(c);
    return NULL;
}

static void fill_features(struct hgc_dense *dense, const struct hg_columns *c, const struct svm_problem *prob)
{
    for (int i = 0; i < prob->l; i++) {
        double *row = dense->values + (size_t)i * dense->x.stride;
        for (const struct svm_node *x = prob->x[i]; x->index != -1; x++)
            if (x->value != 0)
                row[hg_columns_place(c, (size_t)x->index) - 1] = x->value;
    }
}

/* Node s of a row is the value with the example of serial number s, whatever its index says: as LIBSVM reads
 * it. */
static void fill_kernel_values(struct hgc_dense *dense, const struct hg_columns *c, const struct svm_problem *prob)
{
    for (int i = 0; i < prob->l; i++) {
        double *row = dense->values + (size_t)i * dense->x.stride;
        for (size_t w = 0; w <= c->last / 64; w++)
            for (uint64_t bits = c->bits[w]; bits != 0; bits &= bits - 1)
                *row++ = prob->x[i][64 * w + (size_t)__builtin_ctzll(bits)].value;
        dense->serial[i] = hg_columns_place(c, (size_t)serial_of(prob->x[i])) - 1;
    }
}

/* Allocates f64 rows, which together with hinge's own f32 copy of them are to take four fifths of the machine's memory
 * at most. A column of zeros stands where all examples are 0. */
static const char *allocate(struct hgc_dense *dense, const struct svm_problem *prob, const struct svm_parameter *param,
                            size_t columns)
{
    size_t rows = (size_t)prob->l, cols = columns > 0 ? columns : 1;
    if ((double)rows * (double)cols * (sizeof(double) + sizeof(float)) > 0.8 * (double)hg_total_memory())
        return "the examples as dense rows do not fit the memory";
    dense->values = calloc(rows, cols * sizeof(double));
    dense->y = param->svm_type != ONE_CLASS ? malloc(rows * sizeof(double)) : NULL;
    dense->serial = is_precomputed(param) ? malloc(rows * sizeof(size_t)) : NULL;
    if (dense->values == NULL || (dense->y == NULL && param->svm_type != ONE_CLASS) ||
        (dense->serial == NULL && is_precomputed(param)))
        return no_memory;
    dense->x = hinge_matrix_f64(dense->values, rows, cols);
    return NULL;
}

const char *hgc_dense_make(struct hgc_dense *dense, const struct svm_problem *prob, const struct svm_parameter *param)
{
    struct hg_columns c;
    memset(dense, 0, sizeof *dense);
    const char *fault = columns_find(&c, prob, is_precomputed(param));
    if (fault == NULL)
        fault = allocate(dense, prob, param, c.count);
    if (fault == NULL && is_precomputed(param))
        fill_kernel_values(dense, &c, prob);
    else if (fault == NULL)
        fill_features(dense, &c, prob);
    for (int i = 0; fault == NULL && dense->y != NULL && i < prob->l; i++)
        dense->y[i] = hgc_classifies(param->svm_type) ? (double)(int)prob->y[i] : prob->y[i];
    hg_columns_free(&c);
    if (fault != NULL)
        hgc_dense_free(dense);
    return fault;
}

void hgc_dense_free(struct hgc_dense *dense)
{
    free(dense->values);
    free(dense->y);
    free(dense->serial);
    memset(dense, 0, sizeof *dense);
}
