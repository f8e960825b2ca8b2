/*
 * prepare --list FOLDER: the known sets that are in the folder, one a line.
 * prepare NAME FOLDER ROWS TEST_ROWS OUT: reads the set, scales it, and writes what all contestants read to the folder
 * OUT: {x,y}_{train,test}.f64 and .f32, bare numbers, row-major. ROWS -1: as the table of sets says; 0: all. The set
 * generated-D is made up, with D features. Prints the job as JSON, by the keys of benchmarks/job.h.
 */
#include "benchmarks/job.h"
#include "benchmarks/sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char made_up[] = "generated-";

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

static void list(const char *folder)
{
    for (size_t i = 0; i < n_sets; i++)
        if (set_is_there(&sets[i], folder))
            puts(sets[i].name);
}

/* Loads the set named, or makes it up; *set says what it is. */
static void make(const char *name, const char *folder, long rows, long test_rows, struct set *set,
                 struct sample *sample)
{
    hinge_error err;
    hinge_status status;
    if (strncmp(name, made_up, strlen(made_up)) == 0) {
        size_t d = (size_t)strtol(name + strlen(made_up), NULL, 10), n = rows > 0 ? (size_t)rows : 10000;
        if (d == 0)
            job_fail(name, "wants a number of features");
        *set = (struct set){ .name = name, .task = HINGE_C_SVC, .C = 10, .gamma = 0.5 / (double)d };
        status = set_generate(n, d, test_rows > 0 ? (size_t)test_rows : n / 5, sample, &err);
    } else {
        const struct set *found = set_find(name);
        if (!found)
            job_fail(name, "no such set (benchmarks/sets.c has the table)");
        *set = *found;
        status = set_load(set, folder, rows < 0 ? set->max_rows : (size_t)rows, (size_t)test_rows, sample, &err);
    }
    if (status != HINGE_OK)
        job_fail(name, err.text);
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
    struct sample sample;
    make(argv[1], argv[2], strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10), &set, &sample);
    const struct part *train = &sample.train, *test = &sample.test;
    write_numbers(argv[5], "x_train", train->x, train->n * train->d);
    write_numbers(argv[5], "y_train", train->y, train->n);
    write_numbers(argv[5], "x_test", test->x, test->n * test->d);
    write_numbers(argv[5], "y_test", test->y, test->n);
    printf("{\"folder\": \"%s\", \"n\": %zu, \"d\": %zu, \"n_test\": %zu, ", argv[5], train->n, train->d, test->n);
    printf("\"task\": %d, \"C\": %.17g, \"gamma\": %.17g, \"p\": %.17g}\n", (int)set.task, set.C, set.gamma, set.p);
    sample_free(&sample);
    return 0;
}
