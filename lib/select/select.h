/*
 * Model selection in parts:
 *
 *   grid.c    the points of a grid, and the order in which they are tried
 *   deal.c    which rows each fold holds out
 *   scores.c  what predictions of held-out rows are worth
 *   field.c   the points that folds are made of, and the kernel rows that all of them share
 *   line.c    the trainings of a line of points of rising C, each from what the one before found
 *   refine.c  to what eps
 *   inside.c  those that SMO side by side does not end
 *   margin.c  those of nu-SVC without a margin
 *   select.c  the call, dropping, the choice, the last training
 */
#ifndef HG_SELECT_H
#define HG_SELECT_H

#include "kernels/whole.h"
#include "lib/data/copy.h"
#include "lib/model/scaling.h"
#include "solver/smo/block.h"
#include "solver/smo/many.h"
#include "solver/turns.h"

#include <hinge/select.h>

/* Points, and the kernel rows over them that the problems of folds share. field.c makes and frees it. */
struct hg_field {
    struct hg_scaled scaled;   /* the rows */
    struct hg_problem problem; /* all of them, weight 0 too; weights are those of classes alone; with the parameters of
                                * the point in work, whose kernel is problem.data.kernel */
    struct hg_copy copy;
    struct hg_many many;
    bool wide;                         /* rows in f32 are too coarse for the kernel in hand */
    bool goes_whole;                   /* the Gram matrix is made whole, in f64, for all folds and all C */
    struct hg_whole whole, *own_whole; /* then, and its views: [threads] by one each; empty otherwise */
    struct hg_whole dots;   /* the matrix of dot products that it is made of; empty: of each kernel by itself */
    bool open;              /* a kernel is in hand, */
    struct hg_shared rows;  /* and these are its rows */
    bool checks;            /* rows are in f32, */
    struct hg_shared exact; /* and these are the same in f64, by which their error is measured */
};

/* A two-class problem of a fold, and its solution at the last point of the line. */
struct hg_part {
    size_t n;
    const uint32_t *point;    /* [n], */
    struct hg_range range[3]; /* as ranges */
    struct hg_qp qp;
    double *g, *moved;          /* [n] */
    double C, nu, sums[2], eps; /* that it was solved with */
    double looked_at;           /* violation of a regression at the last look (refine.c), NaN: not looked at */
    uint64_t steps;             /* that it took at this point of the line, */
    double work;                /* and its work, as hg_turns counts it */
    struct hg_look look;        /* what it had come to when a solver was last asked whether it gains */
    double trace_error;         /* of the nearest factor that the interior point has ended on; INFINITY: none */
    bool begun, absent;         /* there is a solution; the fold has no such problem */
    bool g_is_coarse;           /* g is by rows in f32, and those in hand are f64 */
    bool undivided;             /* nu-SVC: there is no margin, at any nu, by which decision values could be divided */
    struct hg_many_problem many;
};

struct hg_selecting;

/* Trains folds for a process that has the labels and weights of rows, and not their values, which other processes have.
 * `train` fills in s->decisions of the rows that a fold of a point holds out, and the point's outcome. */
struct hg_select_others {
    void *arg;
    hinge_status (*train)(void *arg, struct hg_selecting *s, hinge_grid_point *point, size_t fold, hinge_error *err);
};

/* A selection in work. */
struct hg_selecting {
    struct hg_select_others *others; /* NULL: nobody */
    hinge_matrix x;                  /* the caller's */
    const double *y;                 /* the caller's, or NULL */
    const hinge_params *given;       /* the caller's; */
    hinge_params params;             /* theirs, resolved but for what the grid names */
    hinge_select_options options;    /* the caller's, with defaults filled in */
    struct hg_problem problem;       /* of rows of weight > 0: its classes */
    hinge_selection *out;
    double unit;              /* of decision values: the targets' standard deviation, otherwise 1 */
    size_t rows, folds;       /* of x; of a repeat */
    bool *used;               /* [rows] weight > 0 */
    uint32_t *class_of;       /* [rows] by problem.labels; of classes only */
    size_t n_problems;        /* decision values of a row */
    double *decisions;        /* [repeats * rows * n_problems] of the point in work, NaN: not known; */
    double *predictions;      /* [repeats * rows] */
    bool *is_done;            /* [n_folds] and which folds of it are */
    double *best_predictions; /* [repeats * rows] of the best point so far, where dropping looks at them */
    double begin;
    int stop; /* as hg_halt's */
    struct hg_halt halt;
    size_t done;             /* points whose state is known */
    bool drops;              /* the last one trained was dropped, or would have been */
    hinge_grid_point **line; /* [n_points] those of the line that have been tried: n_line */
    size_t n_line, *reached; /* [n_folds] how many of them each fold is trained at */
    size_t falls;            /* consecutive points on this line, each worse than its predecessor: */
    double line_loss;        /* the last one's mean loss; NaN: not known */

    bool scales;     /* each fold by itself */
    size_t n_fields; /* n_folds then, otherwise 1 */
    struct hg_field *field;
    struct hg_part *part;             /* [n_folds * n_problems] */
    uint32_t *subset;                 /* points of each problem, */
    double *values;                   /* and the parts' g and moved */
    struct hg_part **batch;           /* [n_folds * n_problems] those being solved, */
    struct hg_many_problem **solving; /* the same as the solver sees them */
    size_t n_batch, first_of_batch;
    struct hg_range *held; /* of each fold, the points that it holds out: held_from[f] .. held_from[f + 1] */
    size_t *held_from;     /* [n_folds + 1] */
    double *class_weight;  /* [n_classes + 1] */
};

/* The field of a fold; the fold of a part, and its field. */
static inline struct hg_field *hg_field_of(const struct hg_selecting *s, size_t fold)
{
    return &s->field[s->scales ? fold : 0];
}

static inline size_t hg_fold_of(const struct hg_selecting *s, const struct hg_part *part)
{
    return (size_t)(part - s->part) / s->n_problems;
}

static inline struct hg_field *hg_part_field(const struct hg_selecting *s, const struct hg_part *part)
{
    return hg_field_of(s, hg_fold_of(s, part));
}

/* Where the rows of a fold's repeat begin, in out->fold, predictions and (times n_problems) decisions. */
static inline size_t hg_repeat_of(const struct hg_selecting *s, size_t fold)
{
    return fold / s->folds * s->rows;
}

/* ---- grid.c ------------------------------------------------------------------------------------------------------ */

/* Makes out->points, waiting, in the order of the table. */
hinge_status hg_grid_points(struct hg_selecting *s, hinge_error *err);
struct hg_turn {
    size_t turn; /* place of the point's kernel in the order in which kernels are tried */
    hinge_grid_point *point;
};
/* Makes order[n_points]: points of one kernel together, kernels from the middle outwards, C rising (nu likewise). */
void hg_grid_order(const struct hg_selecting *s, struct hg_turn *order);
/* Say whether both points have the same kernel; and all the same but for C or nu. */
bool hg_same_kernel(const hinge_grid_point *a, const hinge_grid_point *b);
bool hg_same_line(const hinge_grid_point *a, const hinge_grid_point *b);
/* Whether both stand for the same parameters, so that one's scores are the other's. */
bool hg_same_point(const hinge_grid_point *a, const hinge_grid_point *b);
/* Sets those parameters of the task that a point names; the kernel of a point; all its parameters. */
void hg_point_take(const hinge_grid_point *point, hinge_params *params);
hinge_kernel hg_point_kernel(const struct hg_selecting *s, const hinge_grid_point *point);
hinge_params hg_point_params(const struct hg_selecting *s, const hinge_grid_point *point);

/* ---- deal.c ------------------------------------------------------------------------------------------------------ */

/* Makes out->fold, n_folds, repeats; s->folds. */
hinge_status hg_deal(struct hg_selecting *s, hinge_error *err);

/* ---- scores.c ---------------------------------------------------------------------------------------------------- */

/* The scores of the point in work, by s->decisions and s->predictions of the folds done, into point: each fold's, their
 * means and deviations, and those of all rows. */
hinge_status hg_score_point(const struct hg_selecting *s, hinge_grid_point *point, hinge_error *err);
/* The loss of one row for scores that are a mean of losses: 0 or 1, a square, ...; smaller is better. false: the score
 * is no such mean. */
bool hg_row_loss(const struct hg_selecting *s, hinge_score score, size_t row, double prediction, double *loss);
/* The score that AUTO stands for, or the one given; false: the task has no such score. */
bool hg_score_of_task(const struct hg_selecting *s, hinge_score *score);

/* ---- field.c --------------------------------------------------------------------------------------------------- */

hinge_status hg_fields_init(struct hg_selecting *s, hinge_error *err);
/* Counts what the rows have taken. */
void hg_fields_free(struct hg_selecting *s);
/* Rows are those of this point's kernel from now on. again: they were, and those that were found too coarse are made in
 * f64. */
hinge_status hg_fields_take(struct hg_selecting *s, const hinge_grid_point *point, bool again, hinge_error *err);
/* Looks whether rounding of f32 rows shows in what a part's coefficients add up to. Its field then makes them in f64,
 * and *widens says so; or g alone is made anew, where the caller wants f32. */
hinge_status hg_field_looks(const struct hg_selecting *s, struct hg_part *part, bool *widens, hinge_error *err);
/* Whether errors of rows in f32 may add up to more than so much in sums times coefficients of this length. */
bool hg_field_doubts(const struct hg_selecting *s, const struct hg_part *part, double length, double most);
/* Makes g = K beta of a part in f64 at some points of its field. */
hinge_status hg_field_exact(struct hg_field *field, const struct hg_part *part, const uint32_t *point, size_t count,
                            double *g, hinge_error *err);

/* ---- line.c ---------------------------------------------------------------------------------------------------- */

/* Returns the largest nu that the classes allow without fold f (SIZE_MAX: with all rows). class_weight: [n_classes +
 * 1], for work */
double hg_select_most_nu(const struct hg_selecting *s, size_t f, double *class_weight);

hinge_status hg_parts_init(struct hg_selecting *s, hinge_error *err);
/* Discards solutions, which cannot start the next line. with_lanes: discards working sets too, because the kernel
 * changes. */
void hg_parts_forget(struct hg_selecting *s, bool with_lanes);

/* Trains and predicts so many folds of a point: s->decisions and s->predictions of their rows. */
hinge_status hg_train_folds(struct hg_selecting *s, hinge_grid_point *point, size_t first, size_t count,
                            hinge_error *err);

/* Predicts a fold's held-out rows by the decision values of its problems, as hinge_predict would, or by the rule of
 * ties that was asked for. */
hinge_status hg_predict_fold(const struct hg_selecting *s, size_t fold, hinge_error *err);

/* Goes on with some problems of the batch, for so many steps each (0: to their ends). */
hinge_status hg_solve_some(struct hg_selecting *s, struct hg_part *const *some, size_t count, uint64_t most,
                           hinge_error *err);
/* Solves the batch to some eps by SMO, then by what else may finish it. */
hinge_status hg_solve_to(struct hg_selecting *s, double eps, hinge_error *err);
/* Decides rows that a part's fold holds out by g of its problem: at its points, or (elsewhere) at those held out. */
void hg_decide_held(const struct hg_selecting *s, const struct hg_part *part, const double *g, bool elsewhere);

/* ---- refine.c -------------------------------------------------------------------------------------------------- */

/* Looks at a regression's held-out errors on the way to the first eps; then has those parts of the batch go on, each
 * time to a quarter of it, for which the last was too coarse. */
hinge_status hg_look_ahead(struct hg_selecting *s, hinge_error *err);
hinge_status hg_refine(struct hg_selecting *s, hinge_error *err);

/* ---- inside.c -------------------------------------------------------------------------------------------------- */

/* Solves a QP of the part's points by itself: by rows in f64, gradients made anew and Newton's finish, which problems
 * side by side do without. options: eps, max_iter, look. */
hinge_status hg_part_smo(const struct hg_selecting *s, const struct hg_part *part, struct hg_smo_options options,
                         struct hg_qp *qp, struct hg_smo_result *result, hinge_error *err);
/* Makes the part's gradient from the data, and what is told by it, of a run that has ended so. */
hinge_status hg_part_settle(const struct hg_selecting *s, struct hg_part *part, hinge_outcome outcome,
                            hinge_error *err);
/* Whether the caller's parameters leave nothing to SMO. */
bool hg_select_asks_inside(const struct hg_selecting *s);
/* Steps that SMO may take for a problem of the batch; 0: as many as there are. */
uint64_t hg_select_steps(const struct hg_selecting *s);
/* Steps of a look on the way, half of those after which another solver is asked for; never 0, which is no limit. */
uint64_t hg_select_look_steps(const struct hg_selecting *s);
/* Solves what SMO has left unsolved of the batch, or all of it where the caller asks for that. */
hinge_status hg_select_finish(struct hg_selecting *s, hinge_error *err);
/* Solves each problem of the batch that has stalled, or is not finite, by itself; then the point's outcome is the worst
 * of theirs and before. */
hinge_status hg_select_alone(struct hg_selecting *s, hinge_grid_point *point, hinge_outcome before, hinge_error *err);

/* ---- margin.c -------------------------------------------------------------------------------------------------- */

/* Gives those problems of the batch whose nu leaves no margin the closest that has one: the outcome is NO_MARGIN. */
hinge_status hg_select_margins(struct hg_selecting *s, hinge_grid_point *point, hinge_error *err);
/* What makes decision values of a part's g: f = (g + bias) factor. */
void hg_part_bias(const struct hg_problem *pr, const struct hg_part *part, double *bias, double *factor);

/* ---- drop.c ---------------------------------------------------------------------------------------------------- */

/* Says whether a point may be the best: its scores are known. */
bool hg_is_scored(const hinge_grid_point *point);
/* Says whether a beats b, or NULL: by score, then by simplicity, then by place in the table. */
bool hg_point_beats(const struct hg_selecting *s, const hinge_grid_point *a, const hinge_grid_point *b);
/* Returns the best point of all, or by one_se the simplest within a standard error of it; NULL: none has a score. */
const hinge_grid_point *hg_best_point(const struct hg_selecting *s);
/* Sets the state of a point the rest of whose folds need not be trained. */
void hg_drop_point(const struct hg_selecting *s, hinge_grid_point *point);
/* Says whether a point whose folds are all trained would have been dropped without the last of them, or so it seems. */
bool hg_would_be_dropped(const struct hg_selecting *s);
/* Counts the points of a line in a row that are worse and worse; drops those behind two such; false: it stays. */
void hg_follow_line(struct hg_selecting *s);
bool hg_drop_with_line(const struct hg_selecting *s, hinge_grid_point *point);

/* ---- select.c ---------------------------------------------------------------------------------------------------- */

/* Is hinge_select by the team of the caller. tries: points are tried; otherwise they are listed, scored where options
 * know them, and the best of those is chosen. others: NULL, or who trains; x tells rows and columns alone
 * then (its data is NULL), and options.no_refit is set. */
hinge_status hg_select(hinge_selection **selection, const hinge_matrix *x, const double *y, const hinge_params *params,
                       const hinge_select_options *options, bool tries, struct hg_select_others *others,
                       hinge_error *err);

#endif
