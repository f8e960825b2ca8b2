/* A training, or a cross-validation, by ranks that are threads: what they are given, and what comes out. */
#ifndef TEST_RANKS_JOB_H
#define TEST_RANKS_JOB_H

#include "mpi/mpi_train.h"
#include "test/ranks.h"
#include "test/support.h"

enum { MOST_RANKS = 8 };

struct job {
    const struct set *set;
    const double *weights, *beta0; /* [n], [problems * n], or NULL */
    size_t problems;
    hinge_params params;
    int stopped_rank, failing_rank; /* -1: none; whose callback ends it at a call, whose kernel at its third */
    int calls;                      /* up to that; 0: 3 */
    size_t tile;                    /* of rows that are dealt; 0: they are shared */
    const char *checkpoint;
    double every;
    hinge_model *model; /* rank 0's */
    hinge_report report;
    hinge_certificate certificate;
    struct hm_traffic traffic[MOST_RANKS];
    hinge_error err[MOST_RANKS];
    double values[MOST_RANKS]; /* that each rank's kernel made; of a kernel of the user's own */
    size_t folds;              /* 0: it is a training, not a cross-validation */
    double *predictions;       /* [n] of the latter */
};

/* A job on these rows, of one thread a rank where params name no number. */
struct job job_of(const struct set *set, hinge_params params);
/* Does a rank's part of one (run_ranks); arg: the job. */
void train_rank(const struct hm_net *net, void *arg);
void assert_same_model(const hinge_model *a, const hinge_model *b);

#endif
