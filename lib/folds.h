/*
 * Folds: rows dealt at random to parts of equal size, and trainings that belong together, on all parts but one
 * each: side by side where they are small, in turn otherwise. What comes out is the same either way.
 */
#ifndef HG_FOLDS_H
#define HG_FOLDS_H

#include "lib/problem.h"

#include <omp.h>

/* fold[i] in [0, folds) for positions start[0] .. start[groups] - 1: each group (a class, say) is permuted and
 * dealt to the folds in turn, going on where the group before ended. Every fold gets its share of each group
 * and of all, to within one. work: as large as fold. */
void hg_folds_deal(uint64_t *state, const size_t *start, size_t groups, size_t folds, uint32_t *work,
                   uint32_t *fold);

/* fold[rows of x] by row: those of weight > 0 are dealt by class, then the others, for prediction alone. */
hinge_status hg_folds_draw(const struct hg_problem *problem, uint64_t *state, size_t folds, uint32_t *fold,
                           hinge_error *err);
/* The largest nu that the classes allow without the rows of one fold (fold NULL: with all rows); work: [n_classes]. */
double hg_folds_most_nu(const struct hg_problem *problem, const uint32_t *fold, size_t without, double *work);

/* Who trains and predicts in place of hinge itself: as hinge_train does, and rows of the jobs' x by number. */
struct hg_others {
    hinge_status (*train)(const struct hg_others *others, hinge_model **model, const hinge_matrix *x, const double *y,
                          const hinge_params *params, hinge_report *report, hinge_error *err);
    hinge_status (*predict)(const struct hg_others *others, const hinge_model *model, const uint32_t *rows, size_t n,
                            double *labels, double *decisions, hinge_error *err);
};

struct hg_jobs {
    const struct hg_others *others; /* NULL: nobody; jobs then go in turn */
    const hinge_matrix *x;
    const double *y;
    hinge_params params; /* for every job; hg_jobs_train sees to weights, threads, callback, time limit */
    size_t n_jobs;
    size_t largest;      /* examples of the largest two-class problem in any job */
    double begin;        /* time limit and progress count from here */
    int stopped;         /* atomically; 1: the user's callback said so */
    omp_lock_t lock;     /* of the callback */
    /* hinge_train, or what it is made of */
    hinge_status (*train)(hinge_model **model, const hinge_matrix *x, const double *y, const hinge_params *params,
                          hinge_report *report, hinge_error *err);
    hinge_status (*job)(void *arg, size_t number, int threads, hinge_error *err);
    void *arg;
};

/* Runs jobs 0 .. n_jobs - 1 until one fails; *by_side (may be NULL) tells whether side by side. */
hinge_status hg_jobs_run(struct hg_jobs *jobs, bool *by_side, hinge_error *err);

/* Whether the caller or the time limit has ended the jobs: STOPPED, TIME_LIMIT, otherwise CONVERGED. */
hinge_outcome hg_jobs_ended(const struct hg_jobs *jobs);

/* Within a job: trains on the rows named, in ascending order; the others take no part. y: of all rows of x. copy: on a
 * copy of them, as it must be where a class of y is missing among them (beta0 is then not used); otherwise by weights
 * of 0. */
hinge_status hg_jobs_train(struct hg_jobs *jobs, size_t number, int threads, const uint32_t *rows, size_t n,
                           const double *y, bool copy, const hinge_params *params, hinge_model **model,
                           hinge_report *report, hinge_error *err);

/* Within a job: hg_predict_rows on rows of x, or what others do. */
hinge_status hg_jobs_predict(const struct hg_jobs *jobs, const hinge_model *model, const uint32_t *rows, size_t n,
                             bool probable, const hinge_predict_options *options, double *labels, double *decisions,
                             hinge_error *err);

/* hinge_cross_validate, where params and predictions are there. */
hinge_status hg_cross_validate(const struct hg_others *others, const hinge_matrix *x, const double *y,
                               const hinge_params *params, size_t folds, double *predictions, hinge_report *report,
                               hinge_error *err);

/* out, in x's type without gaps, gets the rows named. */
void hg_gather_rows(const hinge_matrix *x, const uint32_t *rows, size_t n, void *out);

/* hinge_predict for the rows named (most probable classes where `probable`), gathered a chunk at a time.
 * labels[n], decisions[n * n_problems], either may be NULL. */
hinge_status hg_predict_rows(const hinge_model *model, const hinge_matrix *x, const uint32_t *rows, size_t n,
                             bool probable, const hinge_predict_options *options, double *labels,
                             double *decisions, hinge_error *err);

#endif
