/* Pivots one after the other (cholesky.h), each by one row of the kernel. */
#include "solver/ipm/cholesky.h"

#include <math.h>
#include <omp.h>

/* The row of the largest remaining diagonal, the first of equal ones; *trace: the sum of their sizes, since what is
 * negative is as far from K as what is positive. */
static size_t find_pivot(const double *diagonal, size_t n, double *trace)
{
    size_t pivot = 0;
    *trace = 0;
    for (size_t i = 0; i < n; i++) {
        *trace += fabs(diagonal[i]);
        if (diagonal[i] > diagonal[pivot])
            pivot = i;
    }
    return pivot;
}

/* z[:, c] = (K[:, pivot] - Z[:, :c] Z[pivot, :c]') / sqrt(diagonal[pivot]), and the diagonal less its squares */
static void add_column(struct hg_rows *rows, size_t pivot, const double *k, size_t rank, size_t c, double *z,
                       double *diagonal)
{
    double root = sqrt(diagonal[pivot]);
    const double *zp = z + pivot * rank;
    int team = hg_crew_size(&rows->crew, hg_team(rows->threads, 10 * (double)rows->n * (double)c)); /* as of fetches */
    double worked = 0, start = hg_now();
#pragma omp parallel num_threads(team)
    {
#pragma omp for schedule(static) nowait
        for (size_t i = 0; i < rows->n; i++) {
            double *zi = z + i * rank, sum[4] = { 0, 0, 0, 0 };
            size_t j = 0;
            for (; j + 4 <= c; j += 4)
                for (size_t s = 0; s < 4; s++)
                    sum[s] += zi[j + s] * zp[j + s];
            for (; j < c; j++)
                sum[0] += zi[j] * zp[j];
            if (i == pivot)
                continue; /* zp is still read by others */
            zi[c] = (k[i] - (sum[0] + sum[1] + sum[2] + sum[3])) / root;
            diagonal[i] -= zi[c] * zi[c];
        }
        if (omp_get_thread_num() == 0)
            worked = hg_now() - start;
    }
    hg_crew_tell(&rows->crew, team, worked, hg_now() - start - worked);
    z[pivot * rank + c] = root;
    diagonal[pivot] = 0;
}

hinge_status hg_pivoted_cholesky(struct hg_rows *rows, size_t rank, double enough, const struct hg_halt *halt,
                                 double *z, uint32_t *pivots, size_t *used, double *left)
{
    size_t n = rows->n, c = 0;
    double whole = 0, trace, *diagonal = hg_alloc(n, sizeof *diagonal), *k = hg_alloc(n, sizeof *k);
    hinge_status status = diagonal != NULL && k != NULL ? rows->ops->diagonal(rows, diagonal) : HINGE_ENOMEM;
    size_t pivot = status == HINGE_OK && n > 0 ? find_pivot(diagonal, n, &whole) : 0;
    double largest = status == HINGE_OK && n > 0 ? diagonal[pivot] : 0;
    trace = status == HINGE_OK && n > 0 ? whole : 0;
    while (status == HINGE_OK && c < rank && trace > enough * whole && diagonal[pivot] > 1e-15 * largest &&
           !hg_poll_halt(halt)) {
        uint32_t row = (uint32_t)pivot;
        if (pivots != NULL)
            pivots[c] = row;
        status = hg_rows_block(rows, &row, 1, NULL, n, k);
        if (status == HINGE_OK)
            add_column(rows, pivot, k, rank, c++, z, diagonal);
        pivot = find_pivot(diagonal, n, &trace);
    }
    *used = c;
    *left = trace > 0 ? trace / whole : 0;
    hg_free(diagonal);
    hg_free(k);
    return status;
}
