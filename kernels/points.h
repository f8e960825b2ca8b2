/*
 * Points: the vectors that kernel values are made of, as rows of a caller's matrix; how they are read, and brought into
 * the type that tiles are made in. Points own nothing: whoever makes them (lib/data/problem.c, lib/data/copy.c,
 * lib/model/model.c) keeps what they refer to.
 */
#ifndef HG_POINTS_H
#define HG_POINTS_H

#include "lib/base/base.h"

struct hg_cells;
struct hg_hamming;
struct hg_integers;

/* A set of n vectors of d features: vector i is row order[i] (NULL: i) of a caller's matrix, less origin, times factor,
 * plus offset, less shift. */
struct hg_points {
    hinge_matrix x;
    const uint32_t *order; /* [n] or NULL */
    const double *shift;   /* [d] hg_points_centre's, or NULL */
    const double *factor;  /* [d] of scaling, or NULL */
    size_t n;
    double nonzeros;                    /* of a vector, on average; 0: not counted, taken as dense */
    size_t most_nonzeros;               /* of any vector; 0: not counted */
    const struct hg_cells *cells;       /* of the vectors, or NULL: no value is left out (cells.h) */
    const struct hg_hamming *hamming;   /* of the vectors, or NULL: no counts (hamming.h) */
    const struct hg_integers *integers; /* of the vectors, or NULL: they are made in reals (integers.h) */
    const double *offset;               /* [d] of scaling, or NULL */
    const double *origin;               /* [d] or NULL, as it is without factor */
    const uint32_t *equal;              /* [n] hg_equal_find's of the vectors, or NULL */
    const hinge_matrix *more;           /* its rows come after those of x, or NULL */
};

/* Returns feature c of vector i. */
double hg_points_value(const struct hg_points *points, size_t i, size_t c);

/* Gathers out[k] = feature first + k of vector i before the shift, for k < count. */
void hg_points_given(const struct hg_points *points, size_t i, size_t first, size_t count, double *out);
/* Packs out[i * ld + c] = vector ids[i] (ids NULL: first + i) in the type asked for. */
void hg_points_pack(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count, hinge_dtype type,
                    void *out, size_t ld);
/* Returns, where vectors ids[0..count) lie one after the other in the type asked for, with no shift, their address and
 * stride; otherwise NULL. */
const void *hg_points_direct(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count,
                             hinge_dtype type, size_t *stride);
/* Returns the squared norm of vector i as rounded to type. */
double hg_points_norm(const struct hg_points *points, size_t i, hinge_dtype type);
/* What the rounding of a vector's dot products, or distances, in f32 hangs on, all of it of the vector as rounded to
 * f32. */
struct hg_lengths {
    double norm;    /* squared, hg_points_norm's */
    double running; /* over all partial sums that panels make (panel.h), the squared norm of what is in them */
    double sums;    /* how many those are */
    double nonzeros;
    double absolute; /* sum of absolute values */
};
struct hg_lengths hg_points_lengths(const struct hg_points *points, size_t i);
/* What one pass over all vectors finds of them. */
struct hg_survey {
    double *norms;        /* [n] to be made: squared norms; NULL: not wanted */
    float *norms32;       /* [n] to be made: those of the vectors as rounded to f32, or NULL */
    double largest;       /* squared norm */
    double nonzeros;      /* of a vector, on average, as rounded to f32 */
    size_t most_nonzeros; /* of any vector, before it is rounded */
};
void hg_points_survey(const struct hg_points *points, struct hg_survey *survey, int threads);
/* Makes norms[i] = squared norm of vector i as rounded to type, in that type. */
void hg_points_norms(const struct hg_points *points, hinge_dtype type, void *norms, int threads);

/* RBF by norms loses digits far from the origin, and is translation invariant. The column means [d] (the caller's, to
 * be freed) where taking them off cuts the mean squared norm enough to matter: fourfold where many values are 0 (lists
 * want them 0, and 0/1 data are exact as they are), otherwise by a third. NULL where not; with *wanted: no memory. Sets
 * points->nonzeros on the way. */
double *hg_points_centre(struct hg_points *points, int threads, bool *wanted);

#endif
