/*
 * prepare --list FOLDER: the known sets that are in the folder, one a line.
 * prepare NAME FOLDER ROWS TEST_ROWS OUT: reads the set, scales it, and writes what all contestants read to the folder
 * OUT: {x,y}_{train,test}.f64 and .f32, bare numbers, row-major. ROWS -1: as the table of sets says; 0: all. The set
 * generated-D is made up, with D features. Prints the job as JSON, by the keys of benchmarks/job.h.
 */
#include "benchmarks/job.h"
#include "benchmarks/made.h"

#include <hinge/io.h>
#include <hinge/scaling.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum scaling {
    AS_IS,
    BY_255,       /* all values divided by 255 */
    TO_SYMMETRIC, /* each feature to [-1, 1], by its range in the training part; constant ones become 0 */
    TO_UNIT,      /* each feature to [0, 1], likewise */
    STANDARD      /* each feature to mean 0 and deviation 1 in the training part */
};

struct set {
    const char *name;
    const char *file;   /* FILE.train.xz and FILE.test.xz; NULL of a set that is made up */
    hinge_task task;    /* regression is on targets with mean 0 and deviation 1 */
    double C, gamma, p; /* p: nu for the nu tasks and one-class */
    enum scaling scaling;
    size_t max_rows; /* so many training rows, drawn at random; 0: all. Of a set that is made up: how many it has */
    struct sample (*make)(size_t n, size_t n_test); /* NULL: it is read from files */
};

static const struct set sets[] = {
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
    { "magic", "magic", HINGE_C_SVC, 1, 0.1, 0, STANDARD, 0, NULL }, /* real tables: gamma is 1 over the features */
    { "penbased", "penbased", HINGE_C_SVC, 1, 1.0 / 16, 0, STANDARD, 0, NULL },
    { "texture", "texture", HINGE_C_SVC, 1, 1.0 / 40, 0, STANDARD, 0, NULL },
    { "spambase", "spambase", HINGE_C_SVC, 1, 1.0 / 57, 0, STANDARD, 0, NULL },
    { "ring", "ring", HINGE_C_SVC, 1, 0.05, 0, STANDARD, 0, NULL },
    { "twonorm", "twonorm", HINGE_C_SVC, 1, 0.05, 0, STANDARD, 0, NULL },
    { "embeddings", NULL, HINGE_C_SVC, 10, 1, 0, AS_IS, 20000, made_embeddings },
    { "embeddings-10", NULL, HINGE_C_SVC, 10, 1, 0, AS_IS, 20000, made_embeddings_10 },
    { "bytes-10", NULL, HINGE_C_SVC, 10, 3e-7, 0, AS_IS, 20000, made_bytes_10 },
    { "uniform", NULL, HINGE_C_SVC, 10, 0.003, 0, AS_IS, 10000, made_uniform },
    { "delays", NULL, HINGE_EPSILON_SVR, 10, 0.1, 0.1, AS_IS, 30000, made_delays },
};
static const size_t n_sets = sizeof sets / sizeof *sets;
static const char made_up[] = "generated-";

static void check(const char *what, hinge_status status, const hinge_error *err)
{
    if (status != HINGE_OK)
        job_fail(what, err->text);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* path[size] = FOLDER/FILE.PART.xz */
static void path_of(const struct set *set, const char *folder, const char *part, char *path, size_t size)
{
    snprintf(path, size, "%s/%s.%s.xz", folder, set->file, part);
}

static int is_there(const struct set *set, const char *folder)
{
    char train[4096], test[4096];
    if (set->make)
        return 1;
    path_of(set, folder, "train", train, sizeof train);
    path_of(set, folder, "test", test, sizeof test);
    return access(train, R_OK) == 0 && access(test, R_OK) == 0;
}

static hinge_data read_part(const struct set *set, const char *folder, const char *part, size_t min_cols)
{
    const hinge_data_options options = { .format = HINGE_FORMAT_LIBSVM, .type = HINGE_F64, .min_cols = min_cols };
    char path[4096];
    hinge_data data;
    hinge_error err;
    path_of(set, folder, part, path, sizeof path);
    check(set->name, hinge_data_read(path, &options, &data, &err), &err);
    return data;
}

/* Gives a column the mean 0 and the deviation 1 in the training part; a constant one becomes 0. train, test: from its
 * first value on, [..][stride]. */
static void standardise_column(double *train, size_t n, size_t stride, double *test, size_t n_test, size_t test_stride)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += train[i * stride] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (train[i * stride] - mean) * (train[i * stride] - mean);
    double deviation = squares > 0 ? sqrt(squares / (double)n) : 1;
    for (size_t i = 0; i < n; i++)
        train[i * stride] = (train[i * stride] - mean) / deviation;
    for (size_t i = 0; i < n_test; i++)
        test[i * test_stride] = (test[i * test_stride] - mean) / deviation;
}

/* Scales both parts by the ranges of the training part. */
static void scale(const struct set *set, hinge_data *train, hinge_data *test)
{
    hinge_data *const parts[] = { train, test };
    hinge_scaling scaling;
    hinge_error err;
    for (size_t j = 0; j < train->x.cols && set->scaling == STANDARD; j++)
        standardise_column((double *)train->x.data + j, train->x.rows, train->x.stride, (double *)test->x.data + j,
                           test->x.rows, test->x.stride);
    if (set->scaling == AS_IS || set->scaling == STANDARD)
        return;
    check(set->name, hinge_scaling_fit(&scaling, &train->x, NULL, set->scaling == TO_SYMMETRIC ? -1 : 0, 1, &err),
          &err);
    for (size_t j = 0; j < scaling.n_features && set->scaling == BY_255; j++) {
        scaling.low[j] = 0;
        scaling.high[j] = 255;
    }
    for (int k = 0; k < 2; k++) {
        const hinge_matrix *x = &parts[k]->x;
        check(set->name, hinge_scaling_apply(&scaling, x, (double *)x->data, x->stride, &err), &err);
    }
    hinge_scaling_free(&scaling);
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

/* Takes at most max_rows rows (0: all), drawn at random, always the same. */
static struct part take_rows(const hinge_data *data, size_t max_rows)
{
    size_t d = data->x.cols, n = max_rows > 0 && max_rows < data->x.rows ? max_rows : data->x.rows;
    const double *values = data->x.data;
    size_t *rows = job_allocate(data->x.rows, sizeof *rows);
    struct part part = part_allocate(n, d);
    draw_rows(rows, data->x.rows, n);
    for (size_t i = 0; i < n; i++) {
        memcpy(part.x + i * d, values + rows[i] * data->x.stride, d * sizeof *values);
        part.y[i] = data->y[rows[i]];
    }
    free(rows);
    return part;
}

/* Reads, scales and subsamples. A part of a set need not use the last feature: both get the width of the wider one. */
static struct sample read_set(const struct set *set, const char *folder, size_t max_train, size_t max_test)
{
    hinge_data train = read_part(set, folder, "train", 0), test = read_part(set, folder, "test", train.x.cols);
    if (test.x.cols > train.x.cols) {
        hinge_data_free(&train);
        train = read_part(set, folder, "train", test.x.cols);
    }
    scale(set, &train, &test);
    if (hinge_task_info(set->task)->regresses)
        standardise_column(train.y, train.x.rows, 1, test.y, test.x.rows, 1);
    struct sample sample = { take_rows(&train, max_train), take_rows(&test, max_test) };
    hinge_data_free(&train);
    hinge_data_free(&test);
    return sample;
}

/* Reads the set named, or makes it up; *set says what it is. */
static struct sample load(const char *name, const char *folder, long rows, long test_rows, struct set *set)
{
    size_t k = 0;
    if (strncmp(name, made_up, strlen(made_up)) == 0) {
        size_t d = (size_t)strtol(name + strlen(made_up), NULL, 10), n = rows > 0 ? (size_t)rows : 10000;
        if (d == 0)
            job_fail(name, "wants a number of features");
        *set = (struct set){ .name = name, .task = HINGE_C_SVC, .C = 10, .gamma = 0.5 / (double)d };
        return made_clusters(n, d, test_rows > 0 ? (size_t)test_rows : n / 5);
    }
    while (k < n_sets && strcmp(sets[k].name, name) != 0)
        k++;
    if (k == n_sets)
        job_fail(name, "no such set (benchmarks/prepare.c has the table)");
    *set = sets[k];
    size_t n = rows < 0 ? set->max_rows : (size_t)rows, n_test = (size_t)test_rows;
    if (!set->make)
        return read_set(set, folder, n, n_test);
    return set->make(n ? n : set->max_rows, n_test ? n_test : set->max_rows);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static FILE *create(const char *folder, const char *name, const char *type)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, type);
    FILE *file = fopen(path, "wb");
    if (!file)
        job_fail(path, "cannot be written");
    return file;
}

static void write_numbers(const char *folder, const char *name, const double *values, size_t count)
{
    FILE *f64 = create(folder, name, "f64"), *f32 = create(folder, name, "f32");
    fwrite(values, sizeof *values, count, f64);
    for (size_t i = 0; i < count; i++)
        fwrite(&(float){ (float)values[i] }, sizeof(float), 1, f32);
    int failed = ferror(f64) || ferror(f32);
    if (fclose(f64) + fclose(f32) != 0 || failed)
        job_fail(name, "cannot be written whole");
}

static void write_part(const char *folder, const char *x, const char *y, struct part *part)
{
    write_numbers(folder, x, part->x, part->n * part->d);
    write_numbers(folder, y, part->y, part->n);
    free(part->x);
    free(part->y);
}

static void list(const char *folder)
{
    for (size_t i = 0; i < n_sets; i++)
        if (is_there(&sets[i], folder))
            puts(sets[i].name);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--list") == 0) {
        list(argv[2]);
        return 0;
    }
    if (argc != 6)
        job_fail("prepare", "wants NAME FOLDER ROWS TEST_ROWS OUT");
    struct set set;
    struct sample sample = load(argv[1], argv[2], strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10), &set);
    write_part(argv[5], "x_train", "y_train", &sample.train);
    write_part(argv[5], "x_test", "y_test", &sample.test);
    printf("{\"folder\": \"%s\", \"n\": %zu, \"d\": %zu, \"n_test\": %zu, ", argv[5], sample.train.n, sample.train.d,
           sample.test.n);
    printf("\"task\": %d, \"C\": %.17g, \"gamma\": %.17g, \"p\": %.17g}\n", (int)set.task, set.C, set.gamma, set.p);
    return 0;
}
