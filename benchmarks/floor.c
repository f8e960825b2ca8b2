/*
 * The floor: what one pass over the kernel rows of the support vectors costs at the least, SGEMM + RBF map + store of
 * n_sv x n values, and the same over test rows x n_sv. Takes hinge's job, after hinge has left its model; prints as
 * JSON train_s, predict_s (medians of five passes, in tiles of 512 or of 2048 columns, whichever is faster), store_mb,
 * and stored: 1 where all n_sv x n values were kept, 0 where they did not fit into half of the free memory and went to
 * a ring of 8 rows. Prediction always takes the ring, as its values are summed at once.
 */
#include "benchmarks/job.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 512, RING = 8, PASSES = 5 };

struct points {
    size_t n, d;
    float *x;    /* [n*d] */
    float *norm; /* [n] squared */
};

/* Rows rows[i * row_stride] of x[...*d], or its first n where rows is NULL. */
static struct points gather(const double *x, const double *rows, size_t row_stride, size_t n, size_t d)
{
    struct points p = { n, d, job_allocate(n * d, sizeof *p.x), job_allocate(n, sizeof *p.norm) };
    for (size_t i = 0; i < n; i++) {
        const double *from = x + (rows ? (size_t)rows[i * row_stride] : i) * d;
        for (size_t j = 0; j < d; j++) {
            float v = p.x[i * d + j] = (float)from[j];
            p.norm[i] += v * v;
        }
    }
    return p;
}

static void free_points(struct points *p)
{
    free(p->x);
    free(p->norm);
}

/* exp(x) for x <= 0, to a few units in the last place: 2^k times the series of the rest, |r| <= ln 2 / 2. Plain
 * arithmetic, so that the compiler makes vectors of it. */
static inline float exp_of(float x)
{
    const float to_integer = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
    x = x < -87 ? -87 : x;
    float shifted = x * 1.44269504f + to_integer, k = shifted - to_integer;
    float r = x - k * 0.693359375f + k * 2.12194440e-4f; /* ln 2 in two parts */
    float series = 1 + r * (1 + r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r / 720)))));
    int bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (int)((unsigned)bits << 23) + (127 << 23);
    float power;
    memcpy(&power, &bits, sizeof power);
    return series * power;
}

static void map(const float *restrict dots, const float *restrict norm, float own_norm, float gamma, size_t n,
                float *restrict out)
{
    for (size_t j = 0; j < n; j++) {
        float square = own_norm + norm[j] - 2 * dots[j];
        out[j] = exp_of(-gamma * (square > 0 ? square : 0));
    }
}

/* Row i of K(a, b) goes to store[(i % kept) * b->n]. One task is a tile of so many columns. */
static void pass(const struct points *a, const struct points *b, const struct job *job, size_t columns, float *store,
                 size_t kept)
{
    int d = (int)a->d;
#pragma omp parallel num_threads(job->threads)
    {
        omp_set_num_threads(1); /* of BLAS, in this region */
        float *dots = job_allocate(ROWS * columns, sizeof *dots);
#pragma omp for schedule(dynamic)
        for (size_t j = 0; j < b->n; j += columns) {
            size_t width = j + columns < b->n ? columns : b->n - j;
            for (size_t i = 0; i < a->n; i += ROWS) {
                size_t rows = i + ROWS < a->n ? ROWS : a->n - i;
                cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)width, d, 1, a->x + i * a->d, d,
                            b->x + j * b->d, d, 0, dots, (int)columns);
                for (size_t r = 0; r < rows; r++)
                    map(dots + r * columns, b->norm + j, a->norm[i + r], (float)job->gamma, width,
                        store + (i + r) % kept * b->n + j);
            }
        }
        free(dots);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of_passes(const struct points *a, const struct points *b, const struct job *job, size_t columns,
                               float *store, size_t kept)
{
    double seconds[PASSES];
    for (int k = 0; k < PASSES; k++) {
        double start = job_now();
        pass(a, b, job, columns, store, kept);
        seconds[k] = job_now() - start;
    }
    qsort(seconds, PASSES, sizeof *seconds, by_size);
    return seconds[PASSES / 2];
}

/* What was measured is the kernel: the last value kept is that of the definition. */
static void check(const struct points *a, const struct points *b, const struct job *job, const float *store,
                  size_t kept)
{
    size_t i = a->n - 1, j = b->n - 1;
    double square = 0;
    for (size_t c = 0; c < a->d; c++) {
        double difference = (double)a->x[i * a->d + c] - (double)b->x[j * a->d + c];
        square += difference * difference;
    }
    if (!(fabs(store[i % kept * b->n + j] - exp(-job->gamma * square)) < 1e-3))
        job_fail("floor", "a kernel value is wrong");
}

static double floor_of(const struct points *a, const struct points *b, const struct job *job, size_t kept)
{
    float *store = job_allocate(kept * b->n, sizeof *store);
    memset(store, 1, kept * b->n * sizeof *store); /* the pages are there before the clock runs */
    double narrow = median_of_passes(a, b, job, 512, store, kept);
    double wide = median_of_passes(a, b, job, 2048, store, kept);
    check(a, b, job, store, kept);
    free(store);
    return narrow < wide ? narrow : wide;
}

int main(int argc, char **argv)
{
    struct job job = job_read(argc, argv);
    size_t count, d = job.d;
    double *model = job_load_out(&job, "model", &count);
    double *x = job_load_part(&job, "x_train.f64", job.n * d);
    double *x_test = job_load_part(&job, "x_test.f64", job.n_test * d);
    size_t n_sv = (size_t)model[0], n_coef = (size_t)model[1];
    if (n_sv == 0)
        job_fail("floor", "a model without support vectors");
    struct points sv = gather(x, model + 2, 1 + n_coef, n_sv, d);
    struct points train = gather(x, NULL, 0, job.n, d), test = gather(x_test, NULL, 0, job.n_test, d);
    free(x);
    free(x_test);
    free(model);

    double free_bytes = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double bytes = (double)n_sv * (double)job.n * sizeof(float);
    int stored = bytes < free_bytes / 2;
    double train_s = floor_of(&sv, &train, &job, stored && n_sv > RING ? n_sv : RING);
    double predict_s = floor_of(&sv, &test, &job, RING);
    printf("{\"train_s\": %.6g, \"predict_s\": %.6g, \"stored\": %d, \"store_mb\": %.0f, \"n_sv\": %zu}\n", train_s,
           predict_s, stored, bytes / 1048576, n_sv);
    free_points(&sv);
    free_points(&train);
    free_points(&test);
    return 0;
}
