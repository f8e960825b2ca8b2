/*
 * hinge: the choice of C, gamma and the like by cross-validation.
 *
 * A grid is all combinations of the values given. Each of its points is trained on all folds but one, as often as there
 * are folds, and scored on the rows held out. All of that is one call, which computes each kernel row once for all
 * points of one kernel, and starts each training from what its neighbour found.
 *
 * Conventions and error codes are those of hinge/hinge.h.
 */
#ifndef HINGE_SELECT_H
#define HINGE_SELECT_H

#include <hinge/hinge.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Scores ----------------------------------------------------------------------------------------- */

/* What predictions of held-out rows are worth, by rows of weight > 0, each counted once. A score that a task has not,
 * or that its rows do not give, is NaN. */
typedef enum hinge_score {
    HINGE_SCORE_AUTO = 0,      /* accuracy for classification and one-class, the pinball loss for quantile regression,
                                * otherwise the mean squared error */
    HINGE_SCORE_ACCURACY,      /* the share of rows predicted right. One-class: y > 0 (y NULL: all) is to be normal */
    HINGE_SCORE_BALANCED,      /* the mean over classes of the share of their rows predicted right */
    HINGE_SCORE_F1,            /* 2 TP / (2 TP + FP + FN) of the positive (first) class; of three classes or more, the
                                * mean over classes */
    HINGE_SCORE_AUC,           /* the share of pairs of a row of either class that decision values put in the right
                                * order, equal ones counted half; two classes and one-class */
    HINGE_SCORE_MCC,           /* Matthews' correlation of classes and predictions (Gorodkin's for three or more) */
    HINGE_SCORE_LOG_LOSS,      /* two classes: mean -log of the probability of a row's class, by the sigmoid that fits
                                * all held-out decision values best (Platt 2000) */
    HINGE_SCORE_MSE,           /* regression: mean squared error */
    HINGE_SCORE_MAE,           /* regression: mean absolute error */
    HINGE_SCORE_R2,            /* regression: 1 - MSE / variance of the targets */
    HINGE_SCORE_PINBALL,       /* regression: mean pinball loss at params.tau (0.5 of tasks without tau) */
    HINGE_N_SCORES
} hinge_score;

/* Returns "accuracy", "balanced_accuracy", "f1", "auc", "mcc", "log_loss", "mse", "mae", "r2", "pinball", or "auto";
 * static. NULL: there is no such score. */
HINGE_API const char *hinge_score_name(hinge_score score);
/* Returns 1 where a larger score is better, 0 where a smaller one is (log_loss, mse, mae, pinball). */
HINGE_API int hinge_score_rises(hinge_score score);

/* ---- The grid --------------------------------------------------------------------------------------- */

/* Values of one parameter, the caller's; NULL: the default, see hinge_select_options. */
typedef struct hinge_values {
    const double *value; /* [count] */
    size_t count;
} hinge_values;

/* Writes 2^begin, 2^(begin + step), ... up to 2^end (step < 0: down to), as -log2c begin,end,step of LIBSVM's grid.py
 * does, into values[room], and returns how many there are, which may be more than room. step 0: 2^begin alone. Returns
 * 0 where the numbers are no range: not finite, or end on the wrong side of begin, or more than 10,000 values.
 * values may be NULL where room is 0. */
HINGE_API size_t hinge_log2_range(double begin, double end, double step, double *values, size_t room);

typedef enum hinge_drop { /* points whose folds need not all be trained */
    HINGE_DROP_NONE = 0,  /* none: each point gets its score */
    HINGE_DROP_EXACT,     /* those whose errors so far are more than the best point's in all: they cannot win, and the
                           * others' scores are as without dropping, to the bit where GEMM makes no kernel values (its
                           * last bits go by how many rows are made at once), otherwise within the eps of folds. For
                           * accuracy, MSE, MAE and the pinball loss, pooled; none for other scores and with one_se */
    HINGE_DROP_RACE       /* and those that do worse than the best point on the same held-out rows so surely that chance
                           * would do it once in a hundred times (McNemar's exact test; regression: the sign test on
                           * which of the two is nearer), and what follows two of those on a line of rising C (or nu)
                           * where each was worse than the one before; for the same scores */
} hinge_drop;

/* Which of the classes wins that have most votes of pairs, as the program that predicts by the model will have it. */
typedef enum hinge_ties {
    HINGE_TIES_APPEARANCE = 0, /* the one that appears first in y: hinge_predict's rule, and LIBSVM's */
    HINGE_TIES_LABEL,          /* the one of the least label, and a value of exactly 0 is a vote for the larger label:
                                * scikit-learn's */
    HINGE_TIES_VALUES          /* the one whose pairs' decision values, > 0 for it, sum to most; then that of the least
                                * label, for which a value of exactly 0 is a vote too: scikit-learn's break_ties */
} hinge_ties;

typedef enum hinge_point_state {
    HINGE_POINT_WAITING = 0, /* not begun: the call was ended before */
    HINGE_POINT_DONE,        /* all its folds are trained and scored */
    HINGE_POINT_KNOWN,       /* its scores were given (hinge_select_options.known) */
    HINGE_POINT_EXACT,       /* dropped: it cannot win */
    HINGE_POINT_RACE,        /* dropped: it, or the points before it on its line, is surely worse than the best */
    HINGE_POINT_FAILED       /* not to be trained (an infeasible nu, a parameter out of range): see text */
} hinge_point_state;

typedef struct hinge_grid_point {
    double C, nu, gamma, p, coef0, tau; /* what the task and the kernel do not look at is as in params */
    int degree;
    hinge_point_state state;
    double score[HINGE_N_SCORES];     /* over all held-out rows of a repeat at once, mean of repeats; NaN: not known */
    double mean[HINGE_N_SCORES];      /* the mean of folds' scores, */
    double deviation[HINGE_N_SCORES]; /* and their deviation (divided by the number of folds, as numpy's std is) */
    double *fold_score;               /* [n_folds * HINGE_N_SCORES] of each fold; the selection's; NULL: none */
    double *decisions;                /* [repeats * rows * n_problems] hinge_predict's decision values of each row where
                                       * it is held out, NaN elsewhere; the selection's; NULL: not asked for */
    double *predictions;              /* [repeats * rows] labels or values likewise; NULL: not asked for */
    hinge_outcome outcome;            /* the worst of its trainings */
    uint64_t iterations;              /* two-variable steps of its trainings */
    double seconds;                   /* since the call began, when its state was known */
    char text[128];                   /* why it was dropped or has failed; otherwise "" */
} hinge_grid_point;

/* How far a selection has come. */
typedef struct hinge_select_progress {
    size_t done, n_points;    /* points whose state is known, and all */
    const hinge_grid_point *point; /* the latest, */
    const hinge_grid_point *best;  /* and the best of those done so far; NULL: none. Both are the selection's */
    double seconds;           /* since the call began */
} hinge_select_progress;

/* Called after each point, never by two threads at once. Return another value than 0 to stop: the points so far are
 * then returned, and the best of them is trained, unless params.progress stops that too. */
typedef int (*hinge_select_fn)(void *arg, const hinge_select_progress *progress);

typedef struct hinge_select_options {
    /* Where a parameter counts for the task and the kernel, the values to be tried; NULL: for C 2^-5, 2^-3, ..., 2^15,
     * for gamma 2^3, 2^1, ..., 2^-15 (grid.py's), for nu 0.05, 0.1, 0.2, ..., 0.8, for the others the one in params.
     * A value that is given twice counts once. What does not count is not looked at. A gamma of HINGE_GAMMA_AUTO is 1 /
     * number of features. */
    hinge_values C, nu, gamma, p, degree, coef0, tau;

    size_t folds;    /* 2 .. rows; 0: 5. Drawn by params.seed, by class, as hinge_cross_validate draws them */
    size_t repeats;  /* how often folds are drawn anew; 0: 1 */
    const int *fold; /* [rows] the caller's folds: the number, from 0, of the fold in which a row is held out; -1:
                      * never, it is always trained on. Each fold leaves a row of weight > 0 to train on. folds and
                      * repeats are then not looked at. NULL: drawn */
    const int *group; /* [rows] rows of the same group are held out together: groups are dealt to the folds, which have
                       * about as many rows each. NULL: none */
    hinge_score score;  /* by which the best point is chosen */
    int by_fold;        /* 1: by the mean of the folds' scores, not the score of all held-out rows */
    hinge_drop drop;
    int one_se;         /* 1: the best point is the one of smallest C (largest nu), then smallest gamma, whose mean over
                         * folds is within one standard error of the best one's */
    double eps;         /* params.eps of the folds' trainings; 0: the larger of params.eps and 0.1 (regression: and a
                         * quarter of the targets' standard deviation, a thousandth where rows * columns is 100,000 at
                         * most, and half of the held-out error, where these are less than 0.1, or as far as held-out
                         * values have more to go than an eighth of that; nu-SVC: and a tenth of r; one-class: and a
                         * tenth of the decision values' standard deviation) */
    int no_refit;       /* 1: the best point's model is not trained */
    int decisions;      /* 1: fill decisions and predictions of points: rows * repeats * 8 bytes and more a point */
    const hinge_grid_point *known; /* [n_known] points of an earlier call with the same rows and folds, which are not
                                    * trained again: those whose state is done, with their scores (mean, deviation and
                                    * fold_score may be NaN and NULL), dropped or failed */
    size_t n_known;
    hinge_select_fn point; /* called after each point; NULL: not wanted */
    void *point_arg;
    hinge_ties ties;    /* of one-versus-one in the folds; the model predicts by that of appearance itself */
} hinge_select_options;

/* What was found. */
typedef struct hinge_selection {
    hinge_score score;     /* by which the best point was chosen, not AUTO */
    size_t rows, n_folds, repeats; /* rows of x; folds in all, of all repeats */
    int *fold;             /* [repeats * rows] the fold, from 0 to n_folds - 1, that holds each row out; -1: none */
    hinge_grid_point *points;   /* [n_points] gamma (degree, coef0) slowest, C fastest, each in the order given */
    size_t n_points;
    const hinge_grid_point *best; /* one of points; NULL: none is done */
    hinge_params params;   /* as given, with the best point's values; what it points at is the caller's */
    hinge_model *model;    /* trained with these on all rows; NULL: no best point, or no_refit */
    hinge_report report;   /* of that training */
    hinge_outcome outcome; /* CONVERGED; STOPPED or TIME_LIMIT where points are left waiting */
    double eps;            /* of the folds' trainings (but for C-SVC: at first, where options.eps is 0) */

    /* What it took, the last training apart */
    uint64_t trainings;       /* two-class problems solved */
    uint64_t iterations;      /* two-variable steps */
    uint64_t rows_computed;   /* kernel rows computed (whole-row equivalents), summed over kernels */
    uint64_t rows_distinct;   /* different rows among them, likewise; 0 where values cost less than storing them */
    uint64_t rows_support;    /* rows that were support vectors of some training in the end, likewise */
    uint64_t kernel_values;   /* kernel values computed in all */
    size_t n_kernels;         /* kernels: combinations of gamma, degree, coef0, one more where rows in f32 were too
                               * coarse for the largest coefficients; times the folds where each is scaled by itself
                               * (params.scaling), since they then share no rows */
    size_t stored_bytes;      /* most bytes of kernel rows kept at once, within params.cache_bytes */
    double seconds;           /* in all */
} hinge_selection;

/* Tries all points of a grid on the rows of x, and trains the best one's model. y and params are as for hinge_train;
 * params gives the task, the kernel and all that the grid does not name. params.beta0 is ignored, and
 * params.probability counts for the model alone. params.scaling is fitted on each fold's training part where it has no
 * ranges (low NULL), so that no fold sees what it is tested on: folds then share no kernel rows.
 * params.progress is called now and then while points are trained (problem of n_problems is a point of the grid's), and
 * in the last training. Where it returns another value than 0 among the points, or params.time_limit is reached there,
 * the points not done are left waiting and the best of the others is trained, with a time limit of its own.
 *
 * In a fold, the training is that of hinge_cross_validate: a class all of whose rows are held out is not there, a class
 * alone wins each row, and nu is at most what the fold's classes allow. The decision values of rows held out are those
 * of the fold's coefficients, but for half of the eps of folds (nu-SVC: divided by r) that sums over rows in f32 may be
 * off by, as sums in f64 for some of the rows have it; what is more is mended, in each precision. Ties go to the
 * smallest C (largest nu), then to the smallest gamma, then to the earlier point. Results are the same bits for any
 * number of threads.
 *
 * options may be NULL: LIBSVM's grid, 5 folds. *selection is the caller's, freed by hinge_selection_free. EINVAL: what
 * hinge_train refuses, folds, values that are not finite; a point of the grid that cannot be trained is no error, its
 * state says so. */
HINGE_API hinge_status hinge_select(hinge_selection **selection, const hinge_matrix *x, const double *y,
                                    const hinge_params *params, const hinge_select_options *options, hinge_error *err);
/* Frees a selection with its points and its model; NULL is fine. To keep the model, take it and set model to NULL. */
HINGE_API void hinge_selection_free(hinge_selection *selection);

#ifdef __cplusplus
}
#endif
#endif
