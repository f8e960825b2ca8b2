/*
 * Prediction of many examples by an RBF model whose support vectors are mostly far from them. Examples and support
 * vectors are sorted so that neighbours are side by side, and the sum of a strip of support vectors at a block of
 * examples is left out where their bounding boxes say that it is negligible (kernels/cells.h).
 *
 * Where most vectors are far, prediction takes a third of the processor time (doc/tried.md). Fewer than 1,024 examples
 * at once, or fewer than 2,048 support vectors, go without.
 */
#ifndef HG_NEARBY_H
#define HG_NEARBY_H

#include "lib/model/model.h"

enum { HG_STRIP = 64 }; /* SVs: whole panels of either type */

/* Holds the orders and boxes of one call's examples and support vectors, in one block whose first is `example`. Pairs
 * from squared distance distance2 on are far; predict.c takes examples and vectors in these orders. */
struct hg_nearby {
    uint32_t *example, *sv; /* [rows], [n_sv] in their new order, SVs within their classes; NULL: nothing is sorted */
    float *block_box;       /* [blocks * 2 d] of `block` examples each */
    float *strip_box;       /* [strips * 2 d] of HG_STRIP SVs each */
    size_t block, n_sv, d;
    double distance2;
    void *norms; /* the model's, in the SVs' new order; NULL where it has none */
};

/* Leaves nothing sorted where it would not pay: few examples or SVs, or half of the pairs are near. All values that are
 * left out change a decision value by at most 1e-10 (f32: 1e-6) of the largest coefficient, or of max(1, largest |rho|)
 * if that is less. */
hinge_status hg_nearby_init(struct hg_nearby *nearby, const hinge_model *model, const struct hg_points *examples,
                            const struct hg_points *sv, size_t block, hinge_dtype type, int threads, hinge_error *err);
void hg_nearby_free(struct hg_nearby *nearby);

/* Finds the next range of SVs, `most` at most and beginning at *first or later, that matter to examples of a block;
 * false: no more. */
bool hg_nearby_next(const struct hg_nearby *nearby, size_t block, size_t most, size_t *first, size_t *end);

#endif
