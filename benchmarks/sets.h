/* The sets a benchmark runs on: one table of what they are and how they are prepared, and their loader. */
#ifndef BENCHMARKS_SETS_H
#define BENCHMARKS_SETS_H

#include <hinge/hinge.h>
#include <stdint.h>

enum scaling {
    AS_IS,
    BY_255,       /* all values divided by 255 */
    TO_SYMMETRIC, /* each feature to [-1, 1], by its range in the training part; constant ones become 0 */
    TO_UNIT       /* each feature to [0, 1], likewise */
};

/* Examples as both contestants get them. */
struct part {
    size_t n, d;
    double *x; /* [n*d], row-major */
    double *y; /* [n] */
};

struct sample {
    struct part train, test;
};

struct set {
    const char *name;
    const char *file; /* FILE.train.xz and FILE.test.xz; NULL of a set that is made up */
    hinge_task task;  /* regression is on targets with mean 0 and deviation 1 */
    double C, gamma, p; /* p: nu for the nu tasks and one-class */
    enum scaling scaling;
    size_t max_rows; /* so many training rows, drawn at random; 0: all. Of a set that is made up: how many it has */
    hinge_status (*make)(size_t n, size_t n_test, struct sample *sample, hinge_error *err); /* NULL: read from files */
};

extern const struct set sets[];
extern const size_t n_sets;

/* NULL: no such set. */
const struct set *set_find(const char *name);

/* 1: both files of the set are in the folder, or it is made up. */
int set_is_there(const struct set *set, const char *folder);

/* Reads, scales and subsamples; at most max_train and max_test rows (0: all), drawn at random, always the same.
 * On failure *sample is untouched. */
hinge_status set_load(const struct set *set, const char *folder, size_t max_train, size_t max_test,
                      struct sample *sample, hinge_error *err);
/* Two classes made up: four clusters each around corners of a cube in min(d, 20) directions, stretched at random, the
 * other features noise, of deviation 1 or so; 5 % of the labels are flipped. Always the same. */
hinge_status set_generate(size_t n, size_t d, size_t n_test, struct sample *sample, hinge_error *err);

/* Embeddings, of unit norm: 40 factors and 8 clusters behind 768 features and two classes, or 1,536 and ten. */
hinge_status set_embeddings(size_t n, size_t n_test, struct sample *sample, hinge_error *err);
hinge_status set_embeddings_10(size_t n, size_t n_test, struct sample *sample, hinge_error *err);
/* 1,000 features, uniform in [0, 1): two classes by a sum. */
hinge_status set_uniform(size_t n, size_t n_test, struct sample *sample, hinge_error *err);
/* 25 features, 16 of which are one-hot: a target with much noise, as the delays of flights have. */
hinge_status set_delays(size_t n, size_t n_test, struct sample *sample, hinge_error *err);

uint64_t next_random(uint64_t *state);
hinge_status no_memory(hinge_error *err);
void sample_free(struct sample *sample);

#endif
