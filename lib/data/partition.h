/* Folds: rows dealt at random to parts of equal size. */
#ifndef HG_PARTITION_H
#define HG_PARTITION_H

#include "lib/data/problem.h"

/* Deals fold[i] in [0, folds) for positions start[0] .. start[groups] - 1: each group (a class, say) is permuted and
 * dealt to the folds in turn, going on where the group before ended. Every fold gets its share of each group and of
 * all, to within one. work: as large as fold. */
void hg_folds_deal(uint64_t *state, const size_t *start, size_t groups, size_t folds, uint32_t *work, uint32_t *fold);

/* Deals fold[rows of x] by row: those of weight > 0 are dealt by class, then the others, for prediction alone. */
hinge_status hg_folds_draw(const struct hg_problem *problem, uint64_t *state, size_t folds, uint32_t *fold,
                           hinge_error *err);
/* Notes which rows of x are points (used), and which of these are the only one of their class (alone; NULL: not
 * wanted). Both [rows of x], cleared. */
void hg_folds_mark(const struct hg_problem *problem, bool *used, bool *alone);
/* Returns the largest nu that the classes allow without the rows of one fold (fold NULL: with all rows); work:
 * [n_classes]. */
double hg_folds_most_nu(const struct hg_problem *problem, const uint32_t *fold, size_t without, double *work);

enum { HG_FOLDS = 5 }; /* of a calibration */

/* Deals a calibration's folds of the points of problem p, by position: the same whoever asks. Returns how many: as many
 * as there are points, where those are fewer than `folds`. */
size_t hg_folds_deal_problem(const struct hg_problem *problem, size_t p, size_t folds, uint32_t *work, uint32_t *fold);

/* Gathers the rows named into out, in x's type without gaps. */
void hg_gather_rows(const hinge_matrix *x, const uint32_t *rows, size_t n, void *out);

#endif
