#include "benchmarks/sets.h"

#include <hinge/io.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct set sets[] = {
    /* name, file, task, C, gamma, p, scaling, rows, made by */
    { "heart_scale", "heart_scale", HINGE_C_SVC, 1, 0.1, 0, AS_IS, 0, NULL },
    { "breast_cancer", "breast_cancer", HINGE_C_SVC, 1, 0.1, 0, TO_SYMMETRIC, 0, NULL },
    { "digits", "digits", HINGE_C_SVC, 10, 0.001, 0, AS_IS, 0, NULL },
    { "a9a", "a9a", HINGE_C_SVC, 100, 0.5, 0, AS_IS, 0, NULL },
    { "a9a-easy", "a9a", HINGE_C_SVC, 1, 0.05, 0, AS_IS, 0, NULL },
    { "ijcnn1", "ijcnn1", HINGE_C_SVC, 32, 2, 0, AS_IS, 0, NULL },
    { "cod-rna", "cod-rna", HINGE_C_SVC, 32, 2, 0, TO_SYMMETRIC, 0, NULL },
    { "letter", "letter", HINGE_C_SVC, 16, 0.5, 0, AS_IS, 0, NULL },
    { "satimage", "satimage", HINGE_C_SVC, 16, 1, 0, TO_SYMMETRIC, 0, NULL },
    { "shuttle", "shuttle", HINGE_C_SVC, 2048, 8, 0, TO_SYMMETRIC, 0, NULL },
    { "mnist", "mnist", HINGE_C_SVC, 10, 0.02, 0, BY_255, 0, NULL },
    { "covtype", "covtype.binary", HINGE_C_SVC, 32, 32, 0, TO_UNIT, 50000, NULL },
    { "abalone", "abalone", HINGE_EPSILON_SVR, 10, 1, 0.1, TO_SYMMETRIC, 0, NULL },
    { "cpusmall", "cpusmall", HINGE_EPSILON_SVR, 10, 1, 0.1, TO_SYMMETRIC, 0, NULL },
    { "cadata", "cadata", HINGE_EPSILON_SVR, 10, 1, 0.1, TO_SYMMETRIC, 0, NULL },
    { "casp", "casp", HINGE_EPSILON_SVR, 10, 1, 0.1, TO_SYMMETRIC, 0, NULL },
    { "a9a-nu", "a9a", HINGE_NU_SVC, 1, 0.05, 0.3, AS_IS, 0, NULL },
    { "a9a-one-class", "a9a", HINGE_ONE_CLASS, 1, 0.05, 0.2, AS_IS, 0, NULL },
    { "susy30k", "susy30k", HINGE_C_SVC, 1, 0.1, 0, AS_IS, 0, NULL },
    { "cadata-nu", "cadata", HINGE_NU_SVR, 10, 1, 0.5, TO_SYMMETRIC, 0, NULL },
    { "madelon", "madelon", HINGE_C_SVC, 10, 0.01, 0, AS_IS, 0, NULL },
    { "dna", "dna", HINGE_C_SVC, 10, 0.01, 0, AS_IS, 0, NULL },
    { "keggundirected", "keggundirected", HINGE_EPSILON_SVR, 10, 1, 0.1, TO_SYMMETRIC, 0, NULL },
    { "embeddings", NULL, HINGE_C_SVC, 10, 1, 0, AS_IS, 20000, set_embeddings },
    { "embeddings-10", NULL, HINGE_C_SVC, 10, 1, 0, AS_IS, 20000, set_embeddings_10 },
    { "uniform", NULL, HINGE_C_SVC, 10, 0.003, 0, AS_IS, 10000, set_uniform },
    { "delays", NULL, HINGE_EPSILON_SVR, 10, 0.1, 0.1, AS_IS, 30000, set_delays },
};
const size_t n_sets = sizeof sets / sizeof *sets;

const struct set *set_find(const char *name)
{
    for (size_t i = 0; i < n_sets; i++)
        if (strcmp(sets[i].name, name) == 0)
            return &sets[i];
    return NULL;
}

/* path[size] = FOLDER/FILE.PART.xz */
static void path_of(const struct set *set, const char *folder, const char *part, char *path, size_t size)
{
    snprintf(path, size, "%s/%s.%s.xz", folder, set->file, part);
}

int set_is_there(const struct set *set, const char *folder)
{
    char train[4096], test[4096];
    if (set->make)
        return 1;
    path_of(set, folder, "train", train, sizeof train);
    path_of(set, folder, "test", test, sizeof test);
    return access(train, R_OK) == 0 && access(test, R_OK) == 0;
}

static hinge_status read_part(const struct set *set, const char *folder, const char *part, size_t min_cols,
                              hinge_data *data, hinge_error *err)
{
    char path[4096];
    path_of(set, folder, part, path, sizeof path);
    hinge_data_options options = { .format = HINGE_FORMAT_LIBSVM, .type = HINGE_F64, .min_cols = min_cols };
    return hinge_data_read(path, &options, data, err);
}

/* A part of a set need not use the last feature: both get the width of the wider one. */
static hinge_status read_both(const struct set *set, const char *folder, hinge_data *train, hinge_data *test,
                              hinge_error *err)
{
    hinge_status status = read_part(set, folder, "train", 0, train, err);
    if (status == HINGE_OK)
        status = read_part(set, folder, "test", train->x.cols, test, err);
    if (status == HINGE_OK && test->x.cols > train->x.cols) {
        hinge_data wider = { 0 };
        status = read_part(set, folder, "train", test->x.cols, &wider, err);
        if (status == HINGE_OK) {
            hinge_data_free(train);
            *train = wider;
        }
    }
    return status;
}

/* A feature's values become (value - shift) * factor. */
struct line {
    double shift, factor;
};

/* lines[d], from the training part */
static void fit_scaling(enum scaling scaling, const hinge_matrix *x, struct line *lines)
{
    const double *values = x->data;
    for (size_t j = 0; j < x->cols; j++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < x->rows; i++) {
            double v = values[i * x->stride + j];
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
        double range = high - low;
        lines[j] = (struct line){ 0, 1 };
        if (scaling == BY_255)
            lines[j].factor = 1.0 / 255;
        else if (scaling == TO_SYMMETRIC)
            lines[j] = (struct line){ (low + high) / 2, range > 0 ? 2 / range : 0 };
        else if (scaling == TO_UNIT)
            lines[j] = (struct line){ low, range > 0 ? 1 / range : 0 };
    }
}

/* Targets of regression get mean 0 and deviation 1; labels stay. */
static struct line fit_target(hinge_task task, const double *y, size_t n)
{
    if (!hinge_task_info(task)->regresses)
        return (struct line){ 0, 1 };
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += y[i];
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (y[i] - mean) * (y[i] - mean);
    return (struct line){ mean, squares > 0 ? 1 / sqrt(squares / (double)n) : 1 };
}

/* The first m entries of rows[n] are drawn from 0 ... n-1 at random, or all of them in order where m = n. */
static void draw_rows(size_t *rows, size_t n, size_t m)
{
    uint64_t state = 12345;
    for (size_t i = 0; i < n; i++)
        rows[i] = i;
    for (size_t i = 0; i < m && m < n; i++) {
        size_t j = i + (size_t)(next_random(&state) % (n - i));
        size_t row = rows[i];
        rows[i] = rows[j];
        rows[j] = row;
    }
}

/* part = at most max_rows rows of data, scaled */
static hinge_status make_part(const hinge_data *data, const struct line *lines, struct line target,
                              size_t max_rows, struct part *part, hinge_error *err)
{
    size_t d = data->x.cols, n = max_rows > 0 && max_rows < data->x.rows ? max_rows : data->x.rows;
    const double *values = data->x.data;
    size_t *rows = malloc(data->x.rows * sizeof *rows);
    *part = (struct part){ n, d, malloc(n * d * sizeof *part->x), malloc(n * sizeof *part->y) };
    if (!rows || !part->x || !part->y) {
        free(rows);
        return no_memory(err);
    }
    draw_rows(rows, data->x.rows, n);
    for (size_t i = 0; i < n; i++) {
        const double *from = values + rows[i] * data->x.stride;
        for (size_t j = 0; j < d; j++)
            part->x[i * d + j] = (from[j] - lines[j].shift) * lines[j].factor;
        part->y[i] = (data->y[rows[i]] - target.shift) * target.factor;
    }
    free(rows);
    return HINGE_OK;
}

hinge_status set_load(const struct set *set, const char *folder, size_t max_train, size_t max_test,
                      struct sample *sample, hinge_error *err)
{
    hinge_data train = { 0 }, test = { 0 };
    struct sample made = { 0 };
    struct line *lines = NULL;
    if (set->make)
        return set->make(max_train ? max_train : set->max_rows, max_test ? max_test : set->max_rows, sample, err);
    hinge_status status = read_both(set, folder, &train, &test, err);
    if (status != HINGE_OK)
        goto done;
    lines = malloc(train.x.cols * sizeof *lines);
    if (!lines) {
        status = no_memory(err);
        goto done;
    }
    fit_scaling(set->scaling, &train.x, lines);
    struct line target = fit_target(set->task, train.y, train.x.rows);
    status = make_part(&train, lines, target, max_train, &made.train, err);
    if (status == HINGE_OK)
        status = make_part(&test, lines, target, max_test, &made.test, err);
done:
    free(lines);
    hinge_data_free(&train);
    hinge_data_free(&test);
    if (status == HINGE_OK)
        *sample = made;
    else
        sample_free(&made);
    return status;
}

void sample_free(struct sample *sample)
{
    free(sample->train.x);
    free(sample->train.y);
    free(sample->test.x);
    free(sample->test.y);
    *sample = (struct sample){ 0 };
}
