/*
 * Makes QPs of data and parameters: classes and their order, weights, the points as kernels read them, and the QP of
 * each two-class problem. Training and certification share it. Read solver/qp.h before.
 */
#ifndef HG_PROBLEM_H
#define HG_PROBLEM_H

#include "kernels/gram.h"
#include "solver/qp.h"

/* Holds points as kernels read them, and the kernel: all that kernel rows are made of. The caller sets the first part;
 * hg_dataset_look makes the rest, and hg_dataset_free frees it. */
struct hg_dataset {
    hinge_kernel kernel;     /* resolved */
    hinge_maker maker;       /* asked for */
    int cpu_level, threads;  /* asked for; 1 thread where there is too little to share */
    size_t n, d;             /* points, features */
    struct hg_points points; /* the caller's rows, in the order of points */
    uint32_t *column;        /* precomputed: column of each point; otherwise NULL */

    double *shift;   /* [d] column means, where subtracting them pays; otherwise NULL */
    double *norms;   /* [n] in f64, where the kernel needs them */
    double norm;     /* the largest of a point, or, precomputed, the largest |K(x, x)|; 0: the user's kernel */
    uint32_t *equal; /* [n] kernels of the distance: the first point that is equal to each; NULL: no two are */
};

/* Makes what hangs on the points and on the kernel: their shift, norms, equal ones. What has been made is to be freed
 * on failure too. */
hinge_status hg_dataset_look(struct hg_dataset *data, hinge_error *err);
/* Sets data->norm, as hg_dataset_look does; to be called again where the points' shift is another. */
void hg_dataset_measure(struct hg_dataset *data);
void hg_dataset_free(struct hg_dataset *data);

/* Returns what kernel values of a type are made by. */
struct hg_tiler hg_dataset_tiler(const struct hg_dataset *data, hinge_dtype type);
/* Makes a source of kernel rows of a subset of the points (NULL: all of them) in f64, from the caller's own rows. */
hinge_status hg_dataset_exact(const struct hg_dataset *data, const uint32_t *subset, size_t n, int threads,
                              struct hg_gram *gram, hinge_error *err);

/* Holds what a training or a certificate is given as its two-class problems see it. A *point* is a row of weight > 0;
 * all arrays by point are in the order of `order`. hg_problem_init makes it and hg_problem_free frees it; x, y and what
 * params point at are the caller's, and must outlive it. Nothing changes once it is made, so threads may share it. */
struct hg_problem {
    hinge_params params;          /* resolved; of the kernel, what problems are solved with is data.kernel */
    const hinge_task_row *task;   /* their task's */
    hinge_matrix x;               /* the caller's */
    const double *y;              /* the caller's; NULL for one-class */
    const hinge_targets *targets; /* the caller's: problem p is that of target p, all of regressions' layout; or NULL */
    bool classifies, one_vs_rest;
    bool is_elsewhere; /* others have the values: there are no points */
    uint32_t *order;   /* [n] caller's row of each point: grouped by class, in the caller's order within */
    double *weight;    /* [n] by point: example weight times class weight */
    size_t n_classes, n_problems;
    double *labels;      /* [n_classes] */
    const double *known; /* [n_known] the labels of a model, whose order the classes are to have; NULL: no model */
    size_t n_known;
    size_t *start;          /* [n_classes + 1] points of each class; one range for regression and one-class */
    struct hg_dataset data; /* the rows of weight > 0, in this order */
};

/* Tells what a problem is made of beside data and parameters; what is not set takes no part. */
struct hg_given {
    const hinge_targets *targets; /* many targets, in place of y */
    const double *labels; /* [n_labels] of a model that there is, which says the order of classes; EINVAL: the */
    size_t n_labels;      /* data have as many others */
    bool is_elsewhere;    /* others have the values: x tells rows and columns alone, and there are no points */
};
/* given: NULL where there is nothing else. */
hinge_status hg_problem_init(struct hg_problem *problem, const hinge_matrix *x, const double *y,
                             const hinge_params *params, const struct hg_given *given, hinge_error *err);
void hg_problem_free(struct hg_problem *problem);

/* Returns what examples of a class are weighted by. */
double hg_class_weight(const hinge_params *params, double label);

/* classes.c: makes classes, where the problem has some, and the order and the weights of points. */
hinge_status hg_problem_order(struct hg_problem *problem, hinge_error *err);
/* Makes pr->labels, which are in the order of first appearance, the classes: -1, +1 are swapped, and the positive one
 * goes to the front; or they are in the known order. And how many problems they make. */
hinge_status hg_problem_classes(struct hg_problem *problem, hinge_error *err);

/* Tells the classes of problem p, first < second; one-vs-rest: second is SIZE_MAX. The points of the first class come
 * first among the problem's. */
void hg_problem_pair(const struct hg_problem *problem, size_t p, size_t *first, size_t *second);

/* Count the points of problem p, those of its first class (without classes all), and those of the largest problem. */
size_t hg_problem_size(const struct hg_problem *problem, size_t p);
size_t hg_problem_firsts(const struct hg_problem *problem, size_t p);
size_t hg_problem_largest(const struct hg_problem *problem);

/* Puts the points of problem p into subset [room for n]; returns how many. */
size_t hg_problem_points(const struct hg_problem *problem, size_t p, uint32_t *subset);

/* Returns, for nu-SVC, the largest nu that can be reached in each two-class problem of classes whose examples' weights
 * sum so; classes of weight 0 are not there. */
double hg_most_nu(const double *weight, size_t n_classes, bool one_vs_rest);

/* Sets offset and bounds of entry k, a point of weight w and target y; qp is all zero. positive: of the first class. */
void hg_problem_box(const hinge_params *params, double w, double y, bool positive, struct hg_qp *qp, size_t k);

/* Sets what the layers of problem p are held to by these parameters, and by the weights of its first class's points and
 * of the others. EINVAL: nu cannot be reached. */
hinge_status hg_problem_sums(const struct hg_problem *problem, const hinge_params *params, size_t p, double first,
                             double second, double *sums, hinge_error *err);

/* Holds what boxes and sums are made of where it is not the problem's own, as in the folds of a grid. */
struct hg_boxes {
    const hinge_params *params; /* C, nu, p, tau, beta0 */
    const double *weight;       /* [n] by point */
};
/* Makes the QP of problem p over its points, with a feasible start (params.beta0's row p, if given), and the sums that
 * its layers are held to. boxes NULL: by the problem's parameters and weights. */
hinge_status hg_problem_qp(const struct hg_problem *problem, const struct hg_boxes *boxes, size_t p,
                           const uint32_t *subset, size_t n, struct hg_qp *qp, double *sums, hinge_error *err);

/* targets.c: refuses many targets that are not there, or that the parameters do not go with. */
hinge_status hg_targets_need(const hinge_targets *targets, const hinge_params *params, hinge_error *err);
/* Checks what many targets say of their rows; the largest product of a C, which is `most` or larger, and a
 * weight of theirs; C and p of one of them (targets NULL: they stay as they are). */
hinge_status hg_targets_check(const struct hg_problem *problem, hinge_error *err);
double hg_targets_most(const struct hg_problem *problem, double most);
void hg_target_params(const hinge_targets *targets, size_t p, hinge_params *params);
/* Returns a point as problem p sees it, of whose first class it is, or not. weight: [n] by point */
struct hg_entry {
    double weight, y;
    bool positive; /* classification: of the first class, or of label +1 */
};
struct hg_entry hg_entry_of(const struct hg_problem *problem, const double *weight, size_t p, uint32_t point,
                            bool is_first);

/* Returns the task that a model of the problem is told as. */
hinge_task hg_task_of_model(const struct hg_problem *problem);

/* Puts coefficients as a model has them, by the caller's rows, into the QP; nu-SVC's remain divided by r, and nu-SVR's
 * are not shared between both sides where sums is NULL. */
void hg_problem_take(const struct hg_problem *problem, const double *beta, const uint32_t *subset, struct hg_qp *qp,
                     const double *sums);

/* Shares out what sums lack: nu-SVR whose tube is 0 has points with both coefficients, of which a model keeps the
 * difference: what the sums lack goes to both sides of points inside their boxes, in the order given (NULL: by number),
 * which leaves all differences as they are. false: the sums lack nothing. */
bool hg_problem_share(struct hg_qp *qp, const double *sums, const struct hg_numbered *order);

/* Returns an entry's part of the duality gap, and sets the slackness of its two variables, beta = alpha - alpha*, where
 * it is larger than *slackness. slope = g + off + bias. */
double hg_entry_gap(double beta, double lo, double hi, double kink, double slope, double *slackness);

/* Returns half the width of nu-SVR's tube that makes the primal objective least. outside: C times the weights of the
 * points outside of a tube of that half width, of which nu allows so much. */
double hg_tube(double (*outside)(void *arg, double half), void *arg, double allowed);

/* Takes the scale out of a solved QP: the bias b (f = sum + b), and for nu-SVC the factor 1/r by which coefficients
 * and b are to be multiplied (1 otherwise). r <= 0 gives factor 0. */
void hg_problem_bias(const struct hg_problem *problem, const double *layer_bias, double *b, double *factor);

/* Multiply-adds of the gradient below, of which so many at most are done in a fraction of a second. */
double hg_problem_gradient_work(const struct hg_problem *problem, const struct hg_qp *qp);
#define HG_AT_ONCE 1e10
/* Makes g = K beta in f64, over the points of one problem. halt: NULL, or what ends it early, g being of no use
 * then. */
hinge_status hg_problem_gradient(const struct hg_problem *problem, const uint32_t *subset, const struct hg_qp *qp,
                                 int threads, const struct hg_halt *halt, double *g, hinge_error *err);

#endif
