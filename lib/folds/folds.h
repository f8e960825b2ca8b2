/*
 * Trainings that belong together, on all parts of the rows but one each (partition.h): side by side where they are
 * small, in turn otherwise. What comes out is the same either way.
 */
#ifndef HG_FOLDS_H
#define HG_FOLDS_H

#include "lib/base/teller.h"
#include "lib/data/partition.h"

struct hg_job;
struct hg_peers;

/* Trains and predicts for a process that does not have the values of rows, which others have: a job, by the params of
 * its training. *model: the job's own, or NULL, which becomes the model that is trained; the caller frees that one, on
 * failure too. */
struct hg_others {
    hinge_status (*hold_out)(struct hg_others *others, struct hg_job *job, const hinge_params *params,
                             hinge_model **model, hinge_error *err);
};

/* Holds trainings that belong together. The caller fills it; `stopped` alone changes while they run. */
struct hg_jobs {
    struct hg_others *others; /* NULL: nobody; jobs then go in turn */
    struct hg_peers *peers;   /* who run the other jobs (lib/rows/peers.h), each in turn one; NULL: nobody */
    const hinge_matrix *x;
    const double *y;
    hinge_params params; /* of every job, but for weights, threads, callback and time limit */
    size_t n_jobs;
    size_t largest;       /* examples of the largest two-class problem in any job */
    double begin;         /* time limit and progress count from here */
    int stopped;          /* atomically; not 0: the user's callback said so */
    pthread_mutex_t lock; /* of the callback */
    hinge_status (*job)(void *arg, int thread, size_t number, int threads, hinge_error *err);
    void *arg;
};

/* Runs jobs 0 .. n_jobs - 1 until one fails; *by_side (may be NULL) tells whether side by side. */
hinge_status hg_jobs_run(struct hg_jobs *jobs, bool *by_side, hinge_error *err);

/* Is called by all peers once their jobs have run: they agree on a status, and if it is OK each gets what all of them
 * have, in the order of their ranks: *all, of *total bytes, to be freed. mine: this one's part, or NULL where there was
 * no memory for it. */
hinge_status hg_jobs_collect(struct hg_jobs *jobs, hinge_status status, const void *mine, size_t bytes, void **all,
                             size_t *total, const hinge_error *err);

/* Tells whether the caller or the time limit has ended the jobs: STOPPED, TIME_LIMIT, otherwise CONVERGED. */
hinge_outcome hg_jobs_ended(const struct hg_jobs *jobs);

#define HG_NO_FOLD UINT32_MAX

/* Holds rows in folds, whoever dealt them; all arrays are the caller's. */
struct hg_split {
    size_t n;
    const uint32_t *row;      /* [n] of x; NULL: row i is i */
    const uint32_t *fold;     /* [n] which holds each out; none: HG_NO_FOLD */
    const bool *used, *alone; /* by row of x, as hg_folds_mark has them; NULL: all are used, none is alone */
};

/* Holds a training on the rows of all folds but one, and what its model predicts of that one's. */
struct hg_job {
    size_t number;
    int threads;
    const double *y; /* of all rows of x */
    bool copy; /* train on a copy of the rows, without beta0, and not on all rows with weights of 0 for the others:
                * needed where a class of y is missing among the job's rows */
    hinge_params params;
    hinge_model *model;  /* NULL: the training's; otherwise it predicts, and nothing is trained */
    double first;        /* the label of the model's first class */
    hinge_report report; /* a training that ended early, or did not begin since all have ended, predicts nothing */
    /* hg_jobs_hold_out's: */
    const uint32_t *train, *held; /* rows: those trained on; the others take no part */
    size_t n_train, n_held;
    double *labels, *decisions; /* [n_held] what is predicted; one of them is NULL */
};

/* Trains without a fold and writes what is predicted of its rows, labels or else decision values (of one problem), to
 * where the split has them in out [split->n]. Where a class goes with the fold, a copy is trained on: a weight of 0
 * would leave the class in the model. A fold without rows trains nothing. */
hinge_status hg_jobs_hold_out(struct hg_jobs *jobs, struct hg_job *job, const struct hg_split *split, size_t fold,
                              bool labels, double *out, hinge_error *err);

/* validate.c: hinge_cross_validate, with others who train and predict, or peers as of hg_train_by_peers, or (NULL)
 * neither. All peers get the same. Of what others have x tells rows and columns alone (its data is NULL). */
hinge_status hg_cross_validate(struct hg_others *others, struct hg_peers *peers, const hinge_matrix *x, const double *y,
                               const hinge_params *params, size_t folds, double *predictions, hinge_report *report,
                               hinge_error *err);

struct hg_refold;

/* calibrate.c: calibrates a model on the data it was trained on, by 5-fold cross-validation (one-class: by the model
 * itself). others and x: as above. refold: NULL, or what the training knows of its folds already, which is spoilt; its
 * start is to be freed.
 * begin: when the training began, from which time limit and progress count. A stop or a time limit leaves the model as
 * it is and makes *outcome say so; data that are too few leave it as it is. */
hinge_status hg_calibrate_by_folds(struct hg_others *others, struct hg_peers *peers, struct hg_refold *refold,
                                   hinge_model *model, const hinge_matrix *x, const double *y,
                                   const hinge_params *params, double begin, hinge_outcome *outcome, hinge_error *err);

/* entry.c: hinge_train with peers (lib/rows/peers.h), who have the same x, y and params but for threads and progress.
 * All get the same model. What one process fails with, all do: peers->failed and peers->err tell. */
hinge_status hg_train_by_peers(struct hg_peers *peers, hinge_model **model, const hinge_matrix *x, const double *y,
                               const hinge_params *params, hinge_report *report, hinge_error *err);

#endif
