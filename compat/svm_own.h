/*
 * What the files of the compat library share. Hinge is in the same library: they know what lib and
 * lib/files know. Names that are not svm.h's begin with hgc_.
 */
#ifndef HINGE_COMPAT_OWN_H
#define HINGE_COMPAT_OWN_H

#include "lib/model/model.h"

#include <hinge/compat/svm.h>

/* Prints to the caller's print function. */
void hgc_print(const char *format, ...) HG_PRINTF(1, 2);
/* Prints to stderr, which a program that silences the print function still shows: warnings, and why a call failed. */
void hgc_warn(const char *format, ...) HG_PRINTF(1, 2);
int hgc_threads(void); /* 0: not set; 1 in a child */
void hgc_count_training(void);
bool hgc_is_child(void); /* of the process that trained first: its threads are not there */

/* The table's row of a type; NULL where LIBSVM has none of the number. */
static inline const hinge_task_row *hgc_task(int svm_type)
{
    const hinge_task_row *task = hinge_task_info((hinge_task)svm_type);
    return task != NULL && task->libsvm == svm_type ? task : NULL;
}

static inline bool hgc_classifies(int svm_type)
{
    const hinge_task_row *task = hgc_task(svm_type);
    return task != NULL && task->classifies;
}

static inline bool hgc_regresses(int svm_type)
{
    const hinge_task_row *task = hgc_task(svm_type);
    return task != NULL && task->regresses;
}

static inline size_t hgc_pairs(const struct svm_model *m)
{
    size_t k = m->nr_class > 0 ? (size_t)m->nr_class : 0;
    return k * (k - (k > 0)) / 2;
}

/* Numbers of kernels are the same; what a kernel does not use is not looked at. */
static inline hinge_kernel hgc_kernel_of(const struct svm_parameter *p)
{
    return (hinge_kernel){
        .type = (hinge_kernel_type)p->kernel_type, .degree = p->degree, .gamma = p->gamma, .coef0 = p->coef0
    };
}

/* Makes LIBSVM's model of hinge's: all but parameters and support vectors, for which there is room, all 0. NULL: no
 * memory. */
struct svm_model *hgc_model_new(const hinge_model *h);

/* Returns from the function with what a check found. */
#define HGC_TRY(check) \
    do { \
        const char *fault_ = (check); \
        if (fault_ != NULL) \
            return fault_; \
    } while (0)

/* Returns a message where svm_train cannot do what is asked for, or NULL. Leaves out what it could ignore (cache,
 * shrinking, ...), and the examples' features, which hgc_dense_make looks at. */
const char *hgc_fault(const struct svm_problem *prob, const struct svm_parameter *param);

/* A problem as hinge takes it, owned. */
struct hgc_dense {
    hinge_matrix x;
    double *values; /* of x */
    double *y;      /* labels cut to integers, or targets; NULL for one-class */
    size_t *serial; /* precomputed: column of x of each example; otherwise NULL */
};

/* NULL, or a message; *dense is cleared then. */
const char *hgc_dense_make(struct hgc_dense *dense, const struct svm_problem *prob, const struct svm_parameter *param);
void hgc_dense_free(struct hgc_dense *dense);

/* Prints what LIBSVM prints of each two-class problem. iterations[n_problems], or NULL. */
void hgc_print_problems(const hinge_params *params, const struct hgc_dense *dense, const hinge_model *trained,
                        const struct svm_model *model, const unsigned long long *iterations);

#endif
