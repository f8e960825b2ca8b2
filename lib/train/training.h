/*
 * A training on its way: data and parameters, what all its two-class problems share, and what came out of each. Read
 * problem.h before.
 */
#ifndef HG_TRAINING_H
#define HG_TRAINING_H

#include "lib/data/copy.h"
#include "lib/data/distinct.h"
#include "kernels/whole.h"
#include "lib/model/model.h"
#include "lib/data/problem.h"
#include "solver/smo/many.h"
#include "solver/turns.h"

/* Holds one two-class problem solved. solve.c writes it, pack.c reads it for the model and the report; coefficients are
 * by point of the whole problem (hg_training.problem), rho and beta as a model has them: nu-SVC's divided by r. */
struct hg_solution {
    uint32_t *point; /* [n_sv] */
    double *beta;    /* [n_sv]; hg_keep_solution makes both in one block */
    size_t n_sv;
    double rho, bias[2];
    hinge_report report;  /* of this problem: the interior point tells of itself in SMO's terms */
    double rows_computed; /* whole ones */
    size_t working_set;
    const struct hg_maker *maker; /* of its kernel rows, */
    bool is_whole;                /* which were kept as a whole matrix */
    double margin_bound;          /* interior point */
    double f_error;               /* by so much its F, and so the r of nu-SVC, may be wrong */
    bool undivided;               /* nu-SVC: r was looked for and not found, so coefficients are not divided by it */
    double nu;                    /* the closest that has a margin, where the one asked for has none; 0: not so */
};

/* Holds the memory that one problem after the other takes for its rows and its panels of columns, so that the system
 * finds its pages once. Each thread that solves problems side by side has its own. */
struct hg_arenas {
    struct hg_arena rows, panels;
};

/* Holds what is asked of the folds of problems, and what comes of them, by position of the problems' points (refold.c).
 * The caller sets fold, folds, eps, predict and arg, and frees start, whose block all arrays are in but the
 * solutions. */
struct hg_refold {
    const uint32_t *fold; /* [rows of x] of each row; NULL: a calibration's, dealt for each problem */
    size_t folds;
    double eps;         /* to which folds are solved; a calibration's, at most */
    size_t *start;      /* [n_problems + 1] where each problem's decision values begin */
    double *decision;   /* of examples held out; the first class's are positive */
    bool *is_solved;    /* [n_problems] */
    int stopped;        /* atomically; 1: the user's callback said so in one of them */
    hinge_report *work; /* [n_problems] of its folds */
    /* NULL, or what each fold's model is given to once all problems are solved: an example's class is voted on by all
     * pairs, also those that it is not of */
    hinge_status (*predict)(void *arg, size_t fold, hinge_model *model, int threads, hinge_error *err);
    void *arg;
    struct hg_solution *solutions; /* [folds * n_problems] then, while there is a training */
};

/* Holds what a problem has come to side by side with the others (together.c): its own run begins there. hg_end_together
 * frees it. */
struct hg_begun {
    struct hg_qp qp;
    struct hg_many_problem many; /* its gradient, to be freed, and the report of the work so far */
};

/* Holds one call of hinge_train. training.c makes and frees it; while problems are solved, each writes its own solution
 * and nothing else but `stop`, and the callback under `lock`. */
struct hg_training {
    struct hg_problem problem;
    struct hg_distinct distinct; /* what solvers see of it */
    const hinge_params *params;  /* the problem's, resolved */
    struct hg_peers *peers;      /* who trains with this process; NULL: nobody */
    int threads;
    bool interior;            /* the solver */
    bool beyond_f32;          /* hg_kernel_beyond_f32: rows are f64, whatever is asked for */
    bool is_whole;            /* matrices of problems are made whole (kernels/whole.h), */
    bool whole_in_f64;        /* and in f64 where the precision is left open */
    struct hg_whole shared;   /* many targets: the matrix of all, in f64, made once; k NULL: there is none */
    struct hg_gram shared_of; /* by which it was made, and which has its diagonal */
    size_t cache_bytes;
    double begin;
    int stop;                      /* for all problems; 1: time, 2: callback */
    pthread_mutex_t lock;          /* of the callback */
    struct hg_copy copy;           /* of the points, as rows in f32 are made from it */
    struct hg_cells cells;         /* of the points; empty where no kernel values are negligible */
    struct hg_solution *solutions; /* [n_problems] */
    struct hg_arenas *rooms;       /* [threads] of those that problems run in */
    struct hg_begun *begun;        /* [n_problems]; NULL: no problem has */
    size_t begun_bytes;            /* that it took to get there */
    struct hg_refold *refold;      /* NULL: no folds are asked for, or they cannot be solved so */
};

/* Says whether kernel rows are made in f32 first, and then corrected by values in f64 (doc/solver.md, "The end").
 * Precision f64 switches that off. */
bool hg_wants_f32(const struct hg_training *t);
/* Returns the bytes of the cache's budget that a problem of n points can use at most: by all its rows, or, where rows
 * are made rather than kept (hg_keeps_rows), by the block of Newton's steps, which may have all points inside. */
size_t hg_problem_bytes(const struct hg_training *t, size_t n);
/* Says whether problems run side by side, one thread each, rather than in turn by all threads. */
bool hg_side_by_side(const struct hg_training *t);

/* Begins the problems of one-versus-rest by rows that all of them share, where those are dear; sets a run
 * of problem p to where it is then, if anywhere; adds the work of that to the solutions', and frees it. */
hinge_status hg_begin_together(struct hg_training *t, hinge_error *err);
void hg_take_begun(const struct hg_training *t, size_t p, struct hg_qp *qp, struct hg_smo_options *options);
void hg_end_together(struct hg_training *t);

/* Returns the peers that solve each problem with this process; NULL: none, as where there are several problems each
 * process solves some of them (dealt.c). */
struct hg_peers *hg_training_peers(const struct hg_training *t);
/* dealt.c: solves all problems, each by one of the peers; puts problems [n] in the order in which they are dealt. */
hinge_status hg_solve_dealt(struct hg_training *t, hinge_error *err);
struct hg_dealt {
    size_t points, number;
};
void hg_largest_first(struct hg_dealt *all, size_t n);

/* solve.c: problem p, by so many threads, into its solution. t: struct hg_training. */
hinge_status hg_solve_problem(void *t, int thread, size_t p, int threads, hinge_error *err);

/* lanes.c: in how many blocks problems are solved whose beginnings are side by side in lanes of vector registers, 0:
 * they are not; and solves a block. t: struct hg_training. */
size_t hg_blocks_of_lanes(const struct hg_training *t);
hinge_status hg_solve_lanes(void *t, int thread, size_t block, int threads, hinge_error *err);

/* refold.c: whether folds may go on from this training's solutions; room for the decision values of a problem's
 * examples, to be freed by hg_free(refold->start); and what block SMO calls where it has converged: hg_smo_options.then
 * of a problem, arg being its struct hg_refolding. */
struct hg_refolding {
    const struct hg_training *t;
    const struct hg_reduced *reduced;
    size_t problem;
};
bool hg_refold_may(const struct hg_training *t);
hinge_status hg_refold_init(struct hg_refold *refold, const struct hg_problem *problem, hinge_error *err);
/* Says whether the folds of all problems are solved. */
bool hg_refold_solved(const struct hg_refold *refold, size_t n_problems);
/* Gives each fold's model to refold->predict, if status is OK and all are solved; their solutions are freed. */
hinge_status hg_refold_predict(const struct hg_training *t, hinge_status status, hinge_error *err);
hinge_status hg_refold(void *arg, struct hg_run *run, const double *g, const struct hg_smo_result *result,
                       hinge_error *err);

/* training.c: trains a model, not calibrated, on rows as they are, with peers or (NULL) alone. refold: NULL, or room
 * for the folds of the problems, which is filled where that can be; where only the folds are wanted (refold->fold) and
 * they cannot be had so, nothing is trained, and refold->start stays NULL. Folds' models are made after the whole's,
 * and their failure is the training's. */
hinge_status hg_train(struct hg_peers *peers, hinge_model **model, const hinge_matrix *x, const double *y,
                      const hinge_targets *targets, const hinge_params *params, struct hg_refold *refold,
                      hinge_report *report, hinge_error *err);

/* margin.c: what a problem's solver hands over where it has converged. */
struct hg_margin {
    const struct hg_problem *problem; /* the distinct one of the training, */
    bool interior;                    /* and whether the interior point solves it */
    double nu;                        /* that is asked for */
    struct hg_reduced *reduced;
    struct hg_solution *s;
    double work; /* that it took, as hg_turns counts it */
    int threads;
    const struct hg_halt *halt;
    /* solves reduced->qp from its beta, by reduced->sums, in so many steps at most (0: no limit), into s, whose report
     * is of this run alone; SMO is looked at by finer (nullable), as in a turn */
    hinge_status (*solve)(void *arg, double eps, uint64_t max_iter, struct hg_turns *finer);
    void *arg;
};
/* Looks whether nu-SVC's solution proves a margin, and r has a digit; goes on to a finer eps where it does not, and
 * then to the closest nu that has a margin: the outcome is NO_MARGIN. So it is of epsilon-SVR with a hard tube where a
 * coefficient has come to its bound. Of other tasks it does nothing. */
hinge_status hg_settle_margin(const struct hg_margin *m, hinge_error *err);
/* The closest nu that has a margin is looked for up to so much of the largest, which leaves the smaller class one
 * choice of coefficients, and so the interior point no interior. */
#define HG_LARGEST_NU 0.999
/* What rounding may take from b'K b', coefficients of these two sums and |K| <= most (margin.c). */
double hg_margin_rounding(const double *sums, double most);

/* pack.c: the solution of a problem whose QP is solved. */
hinge_status hg_keep_solution(const struct hg_training *t, struct hg_reduced *reduced, struct hg_solution *s,
                              hinge_error *err);

/* pack.c: a model of a problem's classes and parameters, trained on so many rows, whose support vectors are yet to be
 * filled in; to be freed on failure too. The model of all solutions, the training's or a fold's, and the report on
 * the training's. */
hinge_status hg_empty_model(const struct hg_problem *problem, size_t rows, size_t n_sv, hinge_dtype type,
                            hinge_model **out, hinge_error *err);
hinge_status hg_build_model(const struct hg_training *t, const struct hg_solution *solutions, hinge_model **out,
                            hinge_error *err);
void hg_fill_report(const struct hg_training *t, const hinge_model *m, hinge_report *r);

#endif
