/*
 * A rank's own points. All points are numbered by class, in the order of rows within each (regression and one-class:
 * one group). Each class is cut into tiles of the same number of points, and tile t of all goes to rank t mod ranks:
 * what is computed for a tile does not depend on how many ranks there are. Read net.h before.
 */
#ifndef HM_OWN_H
#define HM_OWN_H

#include "kernels/hamming.h"
#include "lib/data/problem.h"
#include "mpi/net.h"

struct hm_own {
    struct hg_problem pr;  /* of all ranks: params, task, classes, start [n_groups + 1]; its data but for points */
    size_t n_groups, rows; /* rows: of all ranks, those of weight 0 included */
    size_t tile, n_tiles;  /* points of a tile, tiles of all */
    size_t *first_tile;    /* [n_groups + 1] */
    size_t n, *begin;      /* own points, and where those of each group begin, [n_groups + 1] */
    uint64_t *number;      /* [n] among all */
    uint64_t *row;         /* [n] of all ranks' rows, one after the other */
    double *y, *weight;    /* [n] */
    size_t starts;         /* coefficients of each point to start from: one a problem, or 0 */
    double *start;         /* [n * starts] */
    hinge_scaling scaling; /* that the values went through; low NULL: none */
    hinge_dtype type;      /* F32 where f32 holds all values as they are */
    size_t stride;
    void *x;                     /* [n * stride] */
    struct hg_points points;     /* these */
    float *x32;                  /* the same as floats, or x itself */
    double nonzeros;             /* of all points, on average */
    struct hg_hamming_kind kind; /* of the features of all points; features 0: of none */
};

/* Deals the rows of all ranks, which hm_check_rows has let pass. y may be NULL for one-class; tile 0: 2,048, others are
 * rounded up to columns that kernels take at once. All ranks fail alike. */
hinge_status hm_deal(const struct hm_net *net, const hinge_matrix *x, const double *y, const hinge_params *params,
                     size_t tile, struct hm_own *own, hinge_error *err);
void hm_own_free(struct hm_own *own);

/* Make room for what a rank has that alone has all points of a two-class problem: they are numbered, and lie in tiles,
 * as they do on all ranks. Both are to be freed on failure too; what is of all points stays that of `all`. */
hinge_status hm_alone_init(struct hm_own *alone, const struct hm_own *all, size_t problem, hinge_error *err);
void hm_alone_free(struct hm_own *alone);
/* A point as it travels: its bytes; writes own point i; takes one to its place among the own points of a rank of net's,
 * which is returned. Where all are there, hm_fill_floats is to be called. */
size_t hm_row_bytes(const struct hm_own *own);
void hm_write_row(const struct hm_own *own, size_t i, char *to);
size_t hm_take_row(const struct hm_net *net, struct hm_own *own, const char *from);
void hm_fill_floats(struct hm_own *own);

/* Refuse what hm_deal does not take: of this rank's rows; of parameters, which become those meant for n rows of d
 * features. */
hinge_status hm_check_rows(const hinge_matrix *x, const double *y, const hinge_params *params, hinge_error *err);
hinge_status hm_check_params(const hinge_params *params, size_t n, size_t d, hinge_params *resolved, hinge_error *err);
/* Makes (scale.c) the scaling that params ask for, fitted to all ranks' rows where it has no ranges, and its factors
 * [d] with the offsets [d] behind them; both the caller's, even where it fails. All ranks fail alike. */
hinge_status hm_scale(const struct hm_net *net, const hinge_matrix *x, const hinge_params *params, size_t d,
                      hinge_scaling *scaling, double **factor, hinge_error *err);
/* Makes (counts.c) own->kind. */
hinge_status hm_find_counts(const struct hm_net *net, struct hm_own *own, hinge_error *err);

/* What the ranks' machines are. */
struct hm_machines {
    bool mixed;    /* processors, or BLAS, differ, and make different bits */
    size_t memory; /* for rows of all ranks together: half of that of all machines, or what the parameters say */
    size_t least;  /* half of that of a machine, for each of its ranks alike */
};
struct hm_machines hm_ask_machines(const struct hm_net *net, const hinge_params *params); /* deal.c */

/* Finds the tile of a point, and its group. */
size_t hm_find_tile(const struct hm_own *own, uint64_t number, size_t *group);

#endif
