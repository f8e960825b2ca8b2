/*
 * Pivoted partial Cholesky factor of a kernel matrix, K ~ Z Z' (Fine and Scheinberg 2001): the next pivot is the row of
 * the largest remaining diagonal, so the trace of what is left, K - Z Z' (positive semi-definite), falls greedily.
 */
#ifndef HG_CHOLESKY_H
#define HG_CHOLESKY_H

#include "lib/rows/rows.h"

/* z[i * rank + c]: Z, columns up to the returned *used. left: the sizes of the diagonal of K - ZZ' over those of K's.
 * Stops early where that is below `enough`, at a pivot lost in rounding, and when halted. pivots: [rank] the row of
 * each column, or NULL. rows: f64. */
hinge_status hg_pivoted_cholesky(struct hg_rows *rows, size_t rank, double enough, const struct hg_halt *halt,
                                 double *z, uint32_t *pivots, size_t *used, double *left);

#endif
