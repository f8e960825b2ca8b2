/* Sets that are made up, each from a fixed seed: rows come one after the other, the training part's first. */
#include "benchmarks/job.h"
#include "benchmarks/made.h"

#include <math.h>
#include <stdlib.h>

enum { CLUSTERS = 8, DIRECTIONS = 20, FACTORS = 40, CLASSES = 10, MOST_FEATURES = 1536 };

/* splitmix64 */
uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [0, 1) */
static double next_uniform(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* Standard normal, by the sum of twelve uniform numbers: near enough for data that only have to be cloudy. */
static double next_normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += next_uniform(state);
    return sum;
}

/* Draws a row x[d]; its label or target. */
typedef double draw_row(const void *world, size_t d, uint64_t *state, double *x);

struct part part_allocate(size_t n, size_t d)
{
    return (struct part){ n, d, job_allocate(n * d, sizeof(double)), job_allocate(n, sizeof(double)) };
}

static struct part draw_part(draw_row *draw, const void *world, size_t n, size_t d, uint64_t *state)
{
    struct part part = part_allocate(n, d);
    for (size_t i = 0; i < n; i++)
        part.y[i] = draw(world, d, state, part.x + i * d);
    return part;
}

static struct sample draw_sample(draw_row *draw, const void *world, size_t n, size_t d, size_t n_test, uint64_t *state)
{
    struct sample sample;
    sample.train = draw_part(draw, world, n, d, state);
    sample.test = draw_part(draw, world, n_test, d, state);
    return sample;
}

/* --- generated-D -------------------------------------------------------------------------------------------------- */

struct clusters {
    size_t directions;
    double centre[CLUSTERS][DIRECTIONS];              /* corners: -1 or 1 */
    double stretch[CLUSTERS][DIRECTIONS][DIRECTIONS]; /* [from][to] */
};

static struct clusters draw_clusters(size_t d, uint64_t *state)
{
    struct clusters c = { .directions = d < DIRECTIONS ? d : DIRECTIONS };
    for (size_t k = 0; k < CLUSTERS; k++)
        for (size_t i = 0; i < c.directions; i++) {
            c.centre[k][i] = next_random(state) & 1 ? 1 : -1;
            for (size_t j = 0; j < c.directions; j++)
                c.stretch[k][i][j] = next_normal(state) / sqrt((double)c.directions);
        }
    return c;
}

static double draw_clustered(const void *world, size_t d, uint64_t *state, double *x)
{
    const struct clusters *c = world;
    size_t k = next_random(state) % CLUSTERS;
    for (size_t j = 0; j < d; j++)
        x[j] = j < c->directions ? c->centre[k][j] : next_normal(state);
    for (size_t i = 0; i < c->directions; i++) {
        double z = next_normal(state);
        for (size_t j = 0; j < c->directions; j++)
            x[j] += z * c->stretch[k][i][j];
    }
    int flipped = next_random(state) % 20 == 0;
    return (int)(k % 2) != flipped ? 1 : -1;
}

struct sample made_clusters(size_t n, size_t d, size_t n_test)
{
    uint64_t state = 12345;
    struct clusters clusters = draw_clusters(d, &state);
    return draw_sample(draw_clustered, &clusters, n, d, n_test, &state);
}

/* --- embeddings --------------------------------------------------------------------------------------------------- */

/* A row is a cluster's centre and a cloud around it in the factors' space, loaded onto all features, with some noise of
 * each feature, and of unit norm. The class is the cluster's parity, or with ten of them the factors' favourite. */
struct factors {
    size_t classes;
    double centre[CLUSTERS][FACTORS], favour[CLASSES][FACTORS];
    double loading[FACTORS][MOST_FEATURES];
};

static size_t favourite(const struct factors *f, const double *z)
{
    double best = -INFINITY;
    size_t found = 0;
    for (size_t k = 0; k < f->classes; k++) {
        double sum = 0;
        for (size_t i = 0; i < FACTORS; i++)
            sum += f->favour[k][i] * z[i];
        if (sum > best) {
            best = sum;
            found = k;
        }
    }
    return found;
}

static double draw_embedding(const void *world, size_t d, uint64_t *state, double *x)
{
    const struct factors *f = world;
    size_t k = next_random(state) % CLUSTERS;
    double z[FACTORS], squares = 0;
    for (size_t i = 0; i < FACTORS; i++)
        z[i] = f->centre[k][i] + next_normal(state);
    for (size_t j = 0; j < d; j++)
        x[j] = 0.5 * next_normal(state);
    for (size_t i = 0; i < FACTORS; i++)
        for (size_t j = 0; j < d; j++)
            x[j] += z[i] * f->loading[i][j];
    for (size_t j = 0; j < d; j++)
        squares += x[j] * x[j];
    for (size_t j = 0; j < d; j++)
        x[j] /= sqrt(squares);
    return f->classes == 2 ? (k % 2 ? 1 : -1) : (double)favourite(f, z);
}

static struct sample make_embeddings(draw_row *draw, size_t d, size_t classes, size_t n, size_t n_test)
{
    uint64_t state = 12345;
    struct factors *f = job_allocate(1, sizeof *f);
    f->classes = classes;
    for (size_t i = 0; i < FACTORS; i++) {
        for (size_t k = 0; k < CLUSTERS; k++)
            f->centre[k][i] = next_normal(&state);
        for (size_t k = 0; k < CLASSES; k++)
            f->favour[k][i] = next_normal(&state);
        for (size_t j = 0; j < d; j++)
            f->loading[i][j] = next_normal(&state) / sqrt(FACTORS);
    }
    struct sample sample = draw_sample(draw, f, n, d, n_test, &state);
    free(f);
    return sample;
}

struct sample made_embeddings(size_t n, size_t n_test)
{
    return make_embeddings(draw_embedding, 768, 2, n, n_test);
}

struct sample made_embeddings_10(size_t n, size_t n_test)
{
    return make_embeddings(draw_embedding, 1536, CLASSES, n, n_test);
}

/* The same rounded to whole numbers from 0 to 255, as vectors are kept in a byte a feature. */
static double draw_bytes(const void *world, size_t d, uint64_t *state, double *x)
{
    double label = draw_embedding(world, d, state, x), scale = 64 * sqrt((double)d);
    for (size_t j = 0; j < d; j++)
        x[j] = fmin(fmax(floor(128.5 + scale * x[j]), 0), 255);
    return label;
}

struct sample made_bytes_10(size_t n, size_t n_test)
{
    return make_embeddings(draw_bytes, 784, CLASSES, n, n_test);
}

/* --- others ------------------------------------------------------------------------------------------------------- */

/* The class tells which half of the features has the larger sum: points are all equally far, and nearly all become
 * support vectors. */
static double draw_uniform(const void *world, size_t d, uint64_t *state, double *x)
{
    double difference = 0;
    (void)world;
    for (size_t j = 0; j < d; j++) {
        x[j] = next_uniform(state);
        difference += j % 2 ? x[j] : -x[j];
    }
    return difference > 0 ? 1 : -1;
}

struct sample made_uniform(size_t n, size_t n_test)
{
    uint64_t state = 12345;
    return draw_sample(draw_uniform, NULL, n, 1000, n_test, &state);
}

/* As delays of flights: nine numbers, and one-hot columns of a day and of a carrier; much of the target is noise. */
static double draw_delay(const void *world, size_t d, uint64_t *state, double *x)
{
    enum { NUMBERS = 9, DAYS = 7, CARRIERS = 9 };
    (void)world;
    for (size_t j = 0; j < d; j++)
        x[j] = j < NUMBERS ? 2 * next_uniform(state) - 1 : 0;
    size_t day = next_random(state) % DAYS, carrier = next_random(state) % CARRIERS;
    x[NUMBERS + day] = x[NUMBERS + DAYS + carrier] = 1;
    double noise = next_normal(state);
    return 0.7 * sin(3 * x[0]) + 0.5 * x[1] * x[2] + 0.1 * (double)day * x[3] - 0.05 * (double)carrier + 0.2 * noise;
}

struct sample made_delays(size_t n, size_t n_test)
{
    uint64_t state = 12345;
    return draw_sample(draw_delay, NULL, n, 25, n_test, &state);
}
