/*
 * The two Cholesky factors of the interior point: of a kernel, which gives it the rows it runs on
 * (lib/train/lowrank.c), and of each Newton system (interior.c, finish.c).
 */
#ifndef HG_CHOLESKY_H
#define HG_CHOLESKY_H

#include "lib/rows/rows.h"

/* Pivoted partial factor of a kernel matrix, K ~ Z Z' (Fine and Scheinberg 2001): the next pivot is the row of the
 * largest remaining diagonal, so the trace of what is left, K - Z Z' (positive semi-definite), falls greedily.
 * z[i * rank + c]: Z, columns up to the returned *used. left: the sizes of the diagonal of K - ZZ' over those of K's.
 * Stops early where that is below `enough`, at a pivot lost in rounding, and when halted. pivots: [rank] the row of
 * each column, or NULL. rows: f64. */
hinge_status hg_pivoted_cholesky(struct hg_rows *rows, size_t rank, double enough, const struct hg_halt *halt,
                                 double *z, uint32_t *pivots, size_t *used, double *left);

/* Rows of BLAS's work whose every row takes so many multiplications: more would be too long without a poll. */
static inline size_t hg_rows_of_piece(size_t multiplications)
{
    return HG_MAX((size_t)4000000000 / HG_MAX(multiplications, (size_t)1), (size_t)32);
}

/* Cholesky factor by LAPACK, scaled by powers of two to a diagonal of
 * about 1; a matrix that rounding left not positive definite gets the least multiple of its diagonal that mends it. */
struct hg_cholesky {
    size_t n, ld;
    double *l, *scale; /* [n * ld], [n] */
    double shift;      /* of the scaled diagonal */
};

hinge_status hg_cholesky_init(struct hg_cholesky *cholesky, size_t n, hinge_error *err);
void hg_cholesky_free(struct hg_cholesky *cholesky);
/* Factors matrix [n * ld], lower triangle, row-major. false: it holds what is not finite, is not near positive
 * definite, or halted, which is polled as it goes. */
bool hg_cholesky_factor(struct hg_cholesky *cholesky, const double *matrix, const struct hg_halt *halt);
/* Solves for x [n], the right-hand side and then the solution. */
void hg_cholesky_solve(const struct hg_cholesky *cholesky, double *x);

#endif
