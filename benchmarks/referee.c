/*
 * What a contestant's model is worth, in double precision from its support vectors' rows and coefficients alone, by
 * the same code for all. Takes the contestant's job; prints as JSON:
 *   objective     the minimised dual, summed over pairs of classes (n_sv^2 / 2 kernel values)
 *   sum_residual  largest |sum of coefficients| of a pair, over the sum of their sizes: should be 0
 *   box_residual  how far the largest coefficient is beyond C, over C: should be 0
 *   n_sv, score   support vectors; accuracy (one-class: share accepted) in per cent, or mean squared error
 */
#include "benchmarks/job.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { C_SVC, NU_SVC, ONE_CLASS, EPSILON_SVR, NU_SVR };
enum { TILE = 256 };

struct model {
    size_t n_sv, n_coef, d;
    double *x;      /* [n_sv*d], from the training part in double, whatever the contestant was given */
    double *y;      /* [n_sv] */
    double *norm;   /* [n_sv] squared */
    double *coef;   /* [n_sv*n_coef] */
    size_t *class_; /* [n_sv], numbered as they come; all 0 where there is one problem */
};

/* With two classes the coefficients are those of the one problem, in whatever order. With more, support vectors lie by
 * classes: a label that comes back is a model that was not understood. */
static void number_classes(struct model *m)
{
    if (m->n_coef == 1)
        return;
    double *labels = job_allocate(m->n_sv, sizeof *labels);
    size_t n_labels = 0;
    for (size_t i = 0; i < m->n_sv; i++) {
        if (i == 0 || m->y[i] != m->y[i - 1]) {
            for (size_t k = 0; k < n_labels; k++)
                if (labels[k] == m->y[i])
                    job_fail("model", "the support vectors are not grouped by class");
            labels[n_labels++] = m->y[i];
        }
        m->class_[i] = n_labels - 1;
    }
    if (n_labels != m->n_coef + 1)
        job_fail("model", "not as many classes as columns of coefficients say");
    free(labels);
}

static struct model load_model(const struct job *job)
{
    size_t count, d = job->d;
    double *numbers = job_load_out(job, "model", &count), *row = numbers + 2;
    struct model m = { .n_sv = (size_t)numbers[0], .n_coef = (size_t)numbers[1], .d = d };
    if (count != 2 + m.n_sv * (1 + m.n_coef))
        job_fail("model", "has not the size that it says");
    double *x = job_load_part(job, "x_train.f64", job->n * d), *y = job_load_part(job, "y_train.f64", job->n);
    m.x = job_allocate(m.n_sv * d, sizeof *m.x);
    m.y = job_allocate(m.n_sv, sizeof *m.y);
    m.norm = job_allocate(m.n_sv, sizeof *m.norm);
    m.coef = job_allocate(m.n_sv * m.n_coef, sizeof *m.coef);
    m.class_ = job_allocate(m.n_sv, sizeof *m.class_);
    for (size_t i = 0; i < m.n_sv; i++) {
        size_t from = (size_t)*row++;
        if (from >= job->n)
            job_fail("model", "a support vector that is no row of the training part");
        m.y[i] = y[from];
        for (size_t j = 0; j < d; j++) {
            double v = m.x[i * d + j] = x[from * d + j];
            m.norm[i] += v * v;
        }
        for (size_t k = 0; k < m.n_coef; k++)
            m.coef[i * m.n_coef + k] = *row++;
    }
    number_classes(&m);
    free(y);
    free(x);
    free(numbers);
    return m;
}

/* b_i b_j, summed over the pairs of classes that both belong to. In LIBSVM's layout a vector of class a has its
 * coefficient of the pair (a, b) in column b - 1 if a < b, and in column b if b < a. */
static double product(const struct model *m, size_t i, size_t j)
{
    const double *ci = m->coef + i * m->n_coef, *cj = m->coef + j * m->n_coef;
    size_t a = m->class_[i], b = m->class_[j];
    if (a != b)
        return a < b ? ci[b - 1] * cj[a] : ci[b] * cj[a - 1];
    double sum = 0;
    for (size_t k = 0; k < m->n_coef; k++)
        sum += ci[k] * cj[k];
    return sum;
}

/* 1/2 sum of b_i b_j K_ij over i in [i0, i1), j in [j0, j1), with j > i counted for i > j too. */
static double tile_sum(const struct model *m, double gamma, size_t i0, size_t i1, size_t j0, size_t j1, double *dots)
{
    double sum = 0;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(i1 - i0), (int)(j1 - j0), (int)m->d, 1, m->x + i0 * m->d,
                (int)m->d, m->x + j0 * m->d, (int)m->d, 0, dots, TILE);
    for (size_t i = i0; i < i1; i++)
        for (size_t j = j0 > i ? j0 : i; j < j1; j++) {
            double square = m->norm[i] + m->norm[j] - 2 * dots[(i - i0) * TILE + j - j0];
            sum += (i == j ? 0.5 : 1) * product(m, i, j) * exp(-gamma * fmax(square, 0));
        }
    return sum;
}

/* 1/2 b'Kb, summed over pairs */
static double quadratic(const struct model *m, double gamma, int threads)
{
    double sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        omp_set_num_threads(1); /* of BLAS, in this region */
        double *dots = job_allocate((size_t)TILE * TILE, sizeof *dots);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < m->n_sv; i += TILE)
            for (size_t j = i; j < m->n_sv; j += TILE)
                sum += tile_sum(m, gamma, i, i + TILE < m->n_sv ? i + TILE : m->n_sv, j,
                                j + TILE < m->n_sv ? j + TILE : m->n_sv, dots);
        free(dots);
    }
    return sum;
}

/* p'alpha in terms of the coefficients: C-SVC -sum alpha; regression sum of p |b| - y b; else 0. */
static double linear(const struct job *job, const struct model *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->n_sv * m->n_coef; i++)
        if (job->task == C_SVC)
            sum -= fabs(m->coef[i]);
        else if (job->task == EPSILON_SVR)
            sum += job->p * fabs(m->coef[i]) - m->y[i] * m->coef[i];
        else if (job->task == NU_SVR)
            sum -= m->y[i] * m->coef[i];
    return sum;
}

static double sum_residual(const struct job *job, const struct model *m)
{
    double worst = 0;
    for (size_t a = 0; a <= m->n_coef; a++)
        for (size_t b = a + 1; b <= m->n_coef; b++) {
            double sum = 0, size = 0;
            for (size_t i = 0; i < m->n_sv; i++) {
                size_t column = m->class_[i] == a ? b - 1 : a;
                if (m->n_coef > 1 && m->class_[i] != a && m->class_[i] != b)
                    continue;
                sum += m->coef[i * m->n_coef + column];
                size += fabs(m->coef[i * m->n_coef + column]);
            }
            worst = fmax(worst, size > 0 ? fabs(sum) / size : 0);
        }
    return job->task == ONE_CLASS ? 0 : worst; /* whose sum is nu n */
}

static double box_residual(const struct job *job, const struct model *m)
{
    double largest = 0;
    for (size_t i = 0; i < m->n_sv * m->n_coef; i++)
        largest = fmax(largest, fabs(m->coef[i]));
    return job->task == C_SVC || job->task == EPSILON_SVR ? fmax(largest / job->C - 1, 0) : 0;
}

static double score(const struct job *job)
{
    size_t n;
    double *predicted = job_load_out(job, "predicted", &n), *y = job_load_part(job, "y_test.f64", job->n_test);
    double right = 0, squares = 0;
    if (n != job->n_test)
        job_fail("predicted", "has not the size that the job says");
    for (size_t i = 0; i < n; i++) {
        right += job->task == ONE_CLASS ? predicted[i] > 0 : predicted[i] == y[i];
        squares += (predicted[i] - y[i]) * (predicted[i] - y[i]);
    }
    free(y);
    free(predicted);
    return (job->task >= EPSILON_SVR ? squares : 100 * right) / (double)n;
}

int main(int argc, char **argv)
{
    int with_objective = !(argc > 1 && argv[1][0] == '-'); /* --no-objective */
    struct job job = job_read(argc - !with_objective, argv + !with_objective);
    struct model m = load_model(&job);
    printf("{\"score\": %.8g, \"n_sv\": %zu, \"sum_residual\": %.3g, \"box_residual\": %.3g}\n", score(&job), m.n_sv,
           sum_residual(&job, &m), box_residual(&job, &m));
    if (with_objective)
        printf("{\"objective\": %.12g}\n", quadratic(&m, job.gamma, job.threads) + linear(&job, &m));
    free(m.x);
    free(m.y);
    free(m.norm);
    free(m.coef);
    free(m.class_);
    return 0;
}
