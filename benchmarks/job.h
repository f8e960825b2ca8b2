/* What every program of benchmarks/compare does alike: reads its job from the command line and its data from the
 * cache folder, measures, and prints what it found as lines of JSON. */
#ifndef BENCHMARKS_JOB_H
#define BENCHMARKS_JOB_H

#include <stddef.h>

/* One training and prediction. Given as arguments KEY=VALUE, the keys being the fields' names. */
struct job {
    const char *folder; /* of x_train.f64 [n*d], y_train.f64 [n], x_test.f64 [n_test*d], y_test.f64 [n_test] */
    const char *out;    /* prefix of the files that a contestant leaves: see job_save_model */
    size_t n, d, n_test;
    int task;           /* hinge's and LIBSVM's value */
    int threads, teams; /* teams: 1 where run_hinge is to tell what threads do alone and together */
    int times;          /* so many trainings, one after the other; 1 but where instructions are counted (README.md) */
    double C, gamma, p; /* p: nu for the nu tasks and one-class */
    double eps, cache_mb;
    double limit; /* seconds of training, and again of prediction; 0: none */
};

struct job job_read(int argc, char **argv);

/* OUT.model: the numbers n_sv, n_coef, then a row a support vector: its row in the training part (from 0) and its
 * n_coef coefficients, all as doubles. They lie as in LIBSVM, grouped by class: n_coef = classes - 1. */
void job_save_model(const struct job *job, size_t n_sv, size_t n_coef, const double *rows);
/* OUT.predicted: n_test doubles */
void job_save_predicted(const struct job *job, const double *predicted);

/* The doubles of FOLDER/NAME, which must be so many, or of OUT.NAME, told in *count. The caller's. */
double *job_load_part(const struct job *job, const char *name, size_t count);
double *job_load_out(const struct job *job, const char *name, size_t *count);

void *job_allocate(size_t n, size_t size);
_Noreturn void job_fail(const char *what, const char *text);

double job_now(void); /* seconds */

/* Begins a measured phase: the process is ended by SIGALRM where it takes longer than the limit. The first phase also
 * lets the peak of memory start again. job_stop prints {"NAME_s": wall clock, "NAME_user_s", "NAME_system_s",
 * "NAME_faults"} of the phase. */
void job_start(const struct job *job);
void job_stop(const char *name);

/* {"peak_mb": most memory since the first phase began, "base_mb": in use when it began} */
void job_print_memory(void);

#endif
