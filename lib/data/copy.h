/*
 * The points of a problem in the form that kernel rows in f32 are made from: a copy in f32, or lists of features of two
 * values each. Read problem.h before, and kernels/hamming.h for the lists.
 *
 * A training by rows in f32 takes down to half the processor time of one in f64 (doc/tried.md). With --precision f64
 * there is no copy.
 */
#ifndef HG_COPY_H
#define HG_COPY_H

#include "kernels/integers.h"
#include "lib/data/problem.h"

/* The tolerance, in units of decision values, below which what rounding leaves of rows in f32 may show where their
 * error is not measured on the way. */
#define HG_F32_EPS 1e-4

/* Holds what training reads instead of the caller's rows. Values are packed by rows of a stride that is a multiple of
 * 16, filled up with zeros, so that vector code reads whole registers; both arrays are one block. */
struct hg_copy {
    struct hg_points points;     /* the copy; the problem's where rows are f64, or made of lists */
    float *values, *norms;       /* of the copy; NULL: there is none */
    struct hg_hamming hamming;   /* of the points; empty where their features are not like that */
    struct hg_integers integers; /* the same where values are not whole numbers, or reals are as fast */
};

/* Makes a copy without values. lists: features of two values are looked for, for kernels of the distance, and whole
 * numbers (f32: also those that f32 has rounded, as rows in f32 are wanted); the problem's points get them too. */
hinge_status hg_copy_init(struct hg_copy *copy, struct hg_dataset *data, bool lists, bool f32, hinge_error *err);
/* Gives the copy values in f32, unless rows are made of lists, of integers or of a matrix. */
hinge_status hg_copy_round(struct hg_copy *copy, const struct hg_dataset *data, hinge_error *err);
/* Says whether Gram matrices of n of the problem's points, of which it is known whether they have lists, are to be made
 * whole (kernels/whole.h), each within so many bytes; then GEMM makes the problem's rows. */
bool hg_copy_goes_whole(struct hg_dataset *data, size_t n, size_t bytes);
/* Refuses a maker that the problem's parameters ask for and that cannot make its rows in this type. */
hinge_status hg_copy_check(const struct hg_copy *copy, const struct hg_dataset *data, hinge_dtype type,
                           hinge_error *err);
void hg_copy_free(struct hg_copy *copy);

/* Makes a source of kernel rows in f32 of a subset of the problem's points (NULL: all of them) by its copy;
 * hg_dataset_exact does in f64. */
hinge_status hg_copy_rows(const struct hg_copy *copy, const struct hg_dataset *data, const uint32_t *subset, size_t n,
                          int threads, struct hg_gram *gram, hinge_error *err);

/* Holds sources over all points of a problem, as many problems share them (solver/smo/many.h): one by all threads, and
 * one by each thread alone. */
struct hg_shared {
    struct hg_gram rows, *own; /* own: [threads] */
    struct hg_rows **each;     /* [threads] the own ones */
    int threads;
};

/* Opens the sources for so many threads, in f32 by a copy or, where that is NULL, in f64; hg_shared_free in any
 * case. */
hinge_status hg_shared_init(struct hg_shared *shared, const struct hg_copy *copy, const struct hg_dataset *data,
                            int threads, hinge_error *err);
void hg_shared_free(struct hg_shared *shared);
/* Returns how many kernel values all of them have computed. */
uint64_t hg_shared_values(const struct hg_shared *shared);

#endif
