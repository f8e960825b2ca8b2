/*
 * Model selection in parts:
 *
 *   grid.c    the points of a grid, and the order in which they are tried
 *   deal.c    which rows each fold holds out
 *   scores.c  what predictions of held-out rows are worth
 *   line.c    the trainings: a line of points of rising C, on kernel rows that all share
 *   select.c  the call, dropping, the choice, the last training
 */
#ifndef HG_SELECT_H
#define HG_SELECT_H

#include "lib/problem.h"

#include <hinge/select.h>

/* A selection in work. */
struct hg_selecting {
    hinge_matrix x;                /* the caller's */
    const double *y;               /* the caller's, or NULL */
    const hinge_params *given;     /* the caller's; */
    hinge_params params;           /* theirs, resolved but for what the grid names */
    hinge_select_options options;  /* the caller's, with defaults filled in */
    struct hg_problem problem;     /* of rows of weight > 0: its classes */
    hinge_selection *out;
    size_t rows, folds;            /* of x; of a repeat */
    bool *used;                    /* [rows] weight > 0 */
    uint32_t *class_of;            /* [rows] by problem.labels; of classes only */
    size_t n_problems;             /* decision values of a row */
    double *decisions;             /* [repeats * rows * n_problems] of the point in work, NaN: not known; */
    double *predictions;           /* [repeats * rows] */
    bool *is_done;                 /* [n_folds] and which folds of it are */
    double *best_predictions;      /* [repeats * rows] of the best point so far, where dropping looks at them */
    double begin;
    int stop;                      /* as hg_halt's */
};

/* ---- grid.c ------------------------------------------------------------------------------------------------------ */

/* out->points, waiting, in the order of the table. */
hinge_status hg_grid_points(struct hg_selecting *s, hinge_error *err);
/* order[n_points]: points of one kernel together, kernels from the middle outwards, C rising (nu likewise). */
void hg_grid_order(const struct hg_selecting *s, size_t *order);
/* Have both points the same kernel; and all the same but for C or nu? */
bool hg_same_kernel(const hinge_point *a, const hinge_point *b);
bool hg_same_line(const hinge_point *a, const hinge_point *b);
/* Whether both stand for the same parameters, so that one's scores are the other's. */
bool hg_same_point(const hinge_point *a, const hinge_point *b);
/* The parameters of a point. */
hinge_params hg_point_params(const struct hg_selecting *s, const hinge_point *point);

/* ---- deal.c ------------------------------------------------------------------------------------------------------ */

/* out->fold, n_folds, repeats; s->folds. */
hinge_status hg_deal(struct hg_selecting *s, hinge_error *err);

/* ---- scores.c ---------------------------------------------------------------------------------------------------- */

/* The scores of the point in work, by s->decisions and s->predictions of the folds done, into point: each fold's, their
 * means and deviations, and those of all rows. */
hinge_status hg_score_point(const struct hg_selecting *s, hinge_point *point, hinge_error *err);
/* The loss of one row for scores that are a mean of losses: 0 or 1, a square, ...; smaller is better. false: the score
 * is no such mean. */
bool hg_row_loss(const struct hg_selecting *s, hinge_score score, size_t row, double prediction, double *loss);
/* The score that AUTO stands for, or the one given; false: the task has no such score. */
bool hg_score_of_task(const struct hg_selecting *s, hinge_score *score);

/* ---- line.c ------------------------------------------------------------------------------------------------------ */

/* The largest nu that the classes allow without fold f (SIZE_MAX: with all rows). */
double hg_select_most_nu(const struct hg_selecting *s, size_t f);

/* Trains and predicts fold f of a point: s->decisions and s->predictions of its rows. */
hinge_status hg_train_fold(struct hg_selecting *s, hinge_point *point, size_t f, hinge_error *err);

#endif
