/* Sets that are made up, always the same: training rows and test rows of each. */
#ifndef BENCHMARKS_MADE_H
#define BENCHMARKS_MADE_H

#include <stddef.h>
#include <stdint.h>

struct part {
    size_t n, d;
    double *x; /* [n*d], row-major */
    double *y; /* [n] */
};

struct sample {
    struct part train, test;
};

struct part part_allocate(size_t n, size_t d);

/* Two classes: four clusters each around corners of a cube in min(d, 20) directions, stretched at random, the other
 * features noise, of deviation 1 or so; 5 % of the labels are flipped. */
struct sample made_clusters(size_t n, size_t d, size_t n_test);
/* Embeddings, of unit norm: 40 factors and 8 clusters behind 768 features and two classes, or 1,536 and ten. */
struct sample made_embeddings(size_t n, size_t n_test);
struct sample made_embeddings_10(size_t n, size_t n_test);
/* 784 whole numbers from 0 to 255, ten classes: such vectors in a byte a feature, or images. */
struct sample made_bytes_10(size_t n, size_t n_test);
/* 1,000 features, uniform in [0, 1): two classes by a sum. */
struct sample made_uniform(size_t n, size_t n_test);
/* 25 features, 16 of which are one-hot: a target with much noise, as the delays of flights have. */
struct sample made_delays(size_t n, size_t n_test);

uint64_t next_random(uint64_t *state);

#endif
