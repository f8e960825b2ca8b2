/*
 * The matrix of a face: K_FF = LL' on the free entries of a block, the entries and sums that are held, and the step
 * that solves with both. face.c chooses the entries and takes the steps. Read face.h before.
 */
#ifndef HG_FACE_MATRIX_H
#define HG_FACE_MATRIX_H

#include "solver/smo/face.h"

enum { HG_FACE_PIECE = 64 }; /* rows of a matrix that a thread takes at a time */
/* The largest ridge, a share of the diagonal of K. */
#define HG_MOST_RIDGE 0.01

/* Counts operations, and values in f64 that are read for them: what takes longer is the work. */
static inline void hg_face_count(struct hg_face *t, double operations, double values)
{
    t->work += HG_MAX(HG_OPERATION * operations, 2 * values);
}

static inline size_t hg_face_entries(const struct hg_face *t)
{
    return (size_t)t->in->qp.layers * t->in->qp.n;
}

/* Returns row `slot` of K_AA. */
static inline const double *hg_face_row(const struct hg_face *t, size_t slot)
{
    return (const double *)t->in->k + slot * t->in->ld;
}

/* Brings L and V to F: by what changed (rows appended, entries held), or anew where that is too much or fails. */
bool hg_face_prepare(struct hg_face *face);
/* Makes V's rows [from, to), L^-1 of the constraints' columns, and those of the factor of V'V, the Schur complement
 * that holds entries and sums. */
bool hg_face_hold(struct hg_face *face, size_t from, size_t to);
/* Makes d the step of the free entries from where the moves so far have led: d = L^-T (y - V S^-1 (V'y - t)) with y =
 * -L^-1 r, S = V'V, and t = 0 for entries held, for sums the negative of what moves onto bounds add up to. */
void hg_face_step(struct hg_face *face);

#endif
