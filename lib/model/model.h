/*
 * The model: what training leaves and prediction, files and certificates read. Laid out as LIBSVM lays it out: support
 * vectors grouped by class in label order, coefficients [(n_classes - 1) * n_sv]. Read include/hinge/hinge.h before,
 * whose hinge_model this is.
 */
#ifndef HG_MODEL_H
#define HG_MODEL_H

#include "kernels/gram.h"
#include "kernels/integers.h"
#include "lib/base/base.h"

struct hg_problem;

enum { HG_TANGENTS = 4 };

/* A tangent to sqrt(t) k(t) and to t k(t), as functions of k = k(t) of a kernel of the distance: they are at most root
 * * k + root_rest and t * k + t_rest. */
struct hg_tangent {
    double root, root_rest, t, t_rest;
};

/* Owns every array; hinge_model_free frees them. Training and files write the upper part, hg_model_finish the lower
 * one, and after that nothing changes but by calls that take a model that is not const: any number of threads may read
 * it. */
struct hinge_model {
    hinge_task task;
    double tau;                  /* quantile regression: its level; otherwise 0 */
    double tube;                 /* nu-SVR: half the width of its tube; otherwise, or read from a file, 0 */
    hinge_kernel kernel;         /* gamma resolved; parts are the model's */
    hinge_multiclass multiclass; /* one-vs-one where there are fewer than three classes */
    size_t d;                    /* features; precomputed: columns of the kernel matrix it needs */
    size_t n_classes;            /* 2 for regression and one-class; 1 if training saw one class only */
    size_t n_targets;            /* of hinge_train_many; 0: another model */
    size_t n_problems;           /* n_classes (n_classes - 1) / 2; n_targets or 1 for regression, 1 for one-class */
    size_t n_sv;
    double *labels;          /* [n_classes] classification; otherwise NULL */
    hinge_words words;       /* of labels; count 0: they are numbers */
    hinge_words names;       /* of the first features, as of a table's columns; count 0: they have none */
    hinge_words target;      /* one: the name of what is predicted; or count 0 */
    size_t *class_sv;        /* [n_classes] SVs of each class; classification; otherwise NULL */
    double *rho;             /* [n_problems] */
    double *objectives;      /* [n_problems]; NULL if read from a file */
    double *coef;            /* [coef rows * n_sv], row m column SV; see hg_model_coef_rows */
    double *prob_a, *prob_b; /* [n_problems] Platt; regression: prob_a[0] is the Laplace sigma; NULL: not calibrated */
    double *density_marks;   /* [10] one-class; NULL: not calibrated */
    /* [d] each. factor and offset, both or none: examples are x * factor + offset; with origin and base, both or none,
     * they are (x - origin) * factor + base, which rounds less. */
    double *scale_factor, *scale_offset, *scale_origin, *scale_base;
    double *training; /* [n_training] by hg_training_field, NULL: not told */
    size_t n_training;
    size_t *columns;     /* [n_columns] the feature of files, from 1, of each of the first; NULL: feature j is j + 1 */
    size_t n_columns;    /* d, or fewer once the model was widened */
    void *sv;            /* [n_sv * d] as given, in sv_type; NULL for precomputed kernels */
    hinge_dtype sv_type; /* HINGE_F64; once finished, bytes where all values are such: HINGE_U8, HINGE_I8 */
    size_t *sv_serial;   /* precomputed: column of the kernel matrix of each SV, from 0; otherwise NULL */
    size_t *sv_index;    /* [n_sv] training row; NULL if read from a file */
    size_t n_trained;    /* rows of the training matrix, 0 if read from a file */

    /* Below: derived by hg_model_finish from what stands above, so that a reloaded model is the same. */
    hinge_model *merged; /* what predicts instead of this one: the same with equal SVs as one (merge.c); NULL: they
                           * are few. Where there is one, this one has norms and shift alone */
    double *shift;       /* [d] subtracted from SVs before dot products are taken; NULL: none */
    bool f32_is_enough;  /* precision "auto": most examples' labels may be told in f32; it begins there */
    bool f32_for_values; /* the same of decision values: most may be told in f32 */
    bool beyond_f32;     /* hg_kernel_beyond_f32: what it goes by in precision f32 */
    double doubt;        /* what decision values in f32 may typically be off by; 0: a small model does not know */
    float *sv32;         /* [n_sv * d] shifted and rounded; NULL unless f32_is_enough and dot products are taken */
    struct hg_integers integers; /* the SVs, where they are whole numbers and products of those pay; otherwise empty */
    void *panels;         /* instead of sv32: the SVs as panels of integers, where they are such, or where lists win
                           * (kernels/panel.h), in f32 if that is enough, otherwise in f64 */
    bool lists;           /* lists win, for examples that are no integers too */
    bool dense;           /* examples go by them with their zeros */
    double *norms;        /* [n_sv] of the shifted vectors; NULL where the kernel needs none */
    float *norms32;       /* [n_sv] the same of the vectors rounded to f32 */
    float *coef32;        /* hg_model_coef32's; NULL unless f32_is_enough */
    double *weights;      /* linear kernel: [n_problems * d] w of each problem; otherwise NULL */
    double *coef_sum;     /* [n_problems] of |coef| */
    bool mixed;           /* some row of coef has both signs within a class */
    double largest_norm;  /* of the shifted SVs, squared; kernels of differences: the largest sum of |z| */
    double nonzeros;      /* of a shifted SV, on average, as rounded to f32 */
    size_t most_nonzeros; /* of any of them: products that are 0 add no error to a dot product */
    double far;           /* where K is a function of t (kernel.h): the root of t from which on it is 1e-38 or less */
    struct hg_tangent tangent[HG_TANGENTS];
    struct hg_equal_table equal; /* RBF: the SVs by their features */
    uint8_t *seen;               /* [seen_slots] RBF: 1 at hg_model_seen of each SV's norm; NULL for other kernels */
    size_t seen_slots;
};

/* Tells how wrong prediction in f32 may be: a decision value of problem p, for an example, by at most the least of
 * share[k] * (sum of |coef| K, as made in f32) + rest[k] * coef_sum[p], and `least`. Infinite: nobody knows. any_order:
 * dot products are not by panels (kernels/panel.h), and their sums run in an order that is not known. */
struct hg_doubt {
    double share[HG_TANGENTS], rest[HG_TANGENTS];
    double least; /* coefficients, and products with them, that are less than f32 holds */
};
struct hg_doubt hg_model_doubt(const hinge_model *model, const struct hg_lengths *x, bool any_order);
/* Makes bounds of the sums of |coef| K, in size [n_problems]; false: none is known. */
bool hg_model_bounds(const hinge_model *model, const struct hg_doubt *doubt, double *size);

/* Derive what bounds need of the model (coef_sum to tangent), and what precision "auto" begins with
 * (f32_is_enough to beyond_f32); false: no memory. */
bool hg_model_derive_sizes(hinge_model *model);
bool hg_model_choose_f32(hinge_model *model);

/* Does what hinge_model_set_scaling does, with factor, offset, origin and base, each NULL or [d]. */
hinge_status hg_model_set_scaling(hinge_model *model, const double *const part[4], hinge_error *err);

/* Returns what decision values in precision "auto" are right to. */
double hg_model_promise(const hinge_model *model);

/* Says whether a model has few support vectors of few features: those are predicted in f64, unless there are many
 * examples. */
bool hg_model_is_small(const hinge_model *model);

/* Says whether prediction in f32 can be tried; how wrong decision values may be, where they are asked for or labels
 * alone, if it is to be likely that f32 leaves little open. */
bool hg_model_may_be_f32(const hinge_model *model);
double hg_model_may_doubt(const hinge_model *model, bool values);

/* Estimates what decision values in f32 may be off by, on average over so many of the examples, by so many of the
 * support vectors. false: no memory. */
bool hg_model_typical_doubt(const hinge_model *model, const struct hg_points *examples, size_t rows, size_t cols,
                            double *doubt);

/* Fills values [2 * coef rows * n_sv]: coef, its columns in an order (NULL: as they are), and its absolute values
 * behind */
void hg_model_coef32(const hinge_model *model, const uint32_t *order, float *values);

/* Returns where the norm of an example is looked up in `seen`. */
size_t hg_model_seen(const hinge_model *model, double norm);

/* The content of model.training; behind it the label and the weight of each class that has one. */
enum hg_training_field {
    HG_TRAINING_C,
    HG_TRAINING_NU,
    HG_TRAINING_P,
    HG_TRAINING_EPS,
    HG_TRAINING_NO_BIAS,
    HG_TRAINING_WEIGHTED,
    HG_TRAINING_FIELDS
};

/* Returns the rows of coef: n_classes - 1 (one-vs-rest: n_classes), and for regression and one-class a row a problem. A
 * model of one class has none. */
size_t hg_model_coef_rows(const hinge_model *model);

/* Allocates a model with room for its arrays (sv, in a type, unless precomputed, sv_serial if so; sv_index, objectives
 * not), all cleared but sv. n_targets: as the model has it. NULL without memory. */
hinge_model *hg_model_new(hinge_task task, hinge_kernel kernel, hinge_multiclass multiclass, size_t n_classes,
                          size_t n_targets, size_t n_sv, size_t d, hinge_dtype type);

/* Returns the type that a model of so many support vectors is to have them in, which come in a type: bytes stay such
 * unless they are few. */
hinge_dtype hg_model_sv_type(size_t n_sv, size_t d, hinge_dtype given);
/* What is seen of values in f64 that are to become bytes, atomic: some is no byte; is less than 0; is more than 127. */
struct hg_narrowed {
    int strange, below, above;
};
/* Makes bytes of values, as far as they are such; to may be NULL. */
void hg_narrow(struct hg_narrowed *narrowed, const double *from, size_t count, uint8_t *to);
/* Returns the type of bytes that holds all values; HINGE_F64: none does. */
hinge_dtype hg_narrowed_type(const struct hg_narrowed *narrowed);
/* Makes bytes of the SVs where they are many, and all values such; false: no memory. */
bool hg_model_narrow(hinge_model *model, int threads);

/* Resolves what a file leaves to be decided of a combined kernel, whose parts are the model's own, by its features, and
 * checks it. */
hinge_status hg_model_settle_parts(hinge_model *model, const char *file, hinge_error *err);

/* Fills the derived part. The last step of training and of loading. */
hinge_status hg_model_finish(hinge_model *model, int threads, hinge_error *err);

/* merge.c: by model->equal, a model without equal support vectors in a class, for prediction alone: *merged, to be
 * freed, or NULL where there are few. */
hinge_status hg_model_merge(const hinge_model *model, int threads, hinge_model **merged, hinge_error *err);

/* Return a value of a support vector; and [count * d] of SVs first .. first + count, as given: where they lie, or in
 * room [count * d]. Who reads SVs does so by these or as points. */
static inline double hg_model_value(const hinge_model *model, size_t sv, size_t feature)
{
    return hg_element(model->sv, model->sv_type, sv * model->d + feature);
}
const double *hg_model_vectors(const hinge_model *model, size_t first, size_t count, double *room);

/* Returns the SVs as points. */
struct hg_points hg_model_points(const hinge_model *model, hinge_dtype type);
const void *hg_model_norms(const hinge_model *model, hinge_dtype type); /* theirs, [n_sv]; NULL: none needed */

/* Searches as hinge_model_locate does: *index [n_sv] is the caller's. problem: the training's, with weights, by which
 * rows of weight 0 are none, and equal ones are told apart by their boxes; NULL: not known. */
hinge_status hg_find_rows(const hinge_model *model, const hinge_matrix *x, const double *y,
                          const struct hg_problem *problem, size_t **index, size_t *missing, hinge_error *err);

/* Returns the problem that coefficient row k of a support vector of class c (0 for regression and one-class) belongs
 * to. */
size_t hg_coef_problem(const hinge_model *model, size_t c, size_t row);

/* Returns which of k classes decision values choose: the largest of one-vs-rest's, or that with the most votes of
 * pairs, where of as many the first wins, as LIBSVM has it. size: NULL, or how wrong values may be, by which the votes
 * that are not sure go to neither, and are counted behind. votes: [k], with size [2 k]. */
size_t hg_vote(size_t k, bool one_vs_rest, const double *decision, const double *size, size_t *votes);

/* Return the number of such groups: classes, and one for regression and one-class; and how many SVs group c has. */
size_t hg_model_groups(const hinge_model *model);
size_t hg_model_group_sv(const hinge_model *model, size_t c);

/* Holds a coefficient, and the problem that it belongs to. */
struct hg_coef {
    size_t sv, row, problem;
    double value;
    size_t next, group, end; /* how far it is gone on: coefficients, groups, and the SVs of these */
};
/* Goes on from { 0 } to the next one, vector by vector; false: there are no more. */
bool hg_next_coef(const hinge_model *model, struct hg_coef *at);

#endif
