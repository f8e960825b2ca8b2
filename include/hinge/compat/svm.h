/*
 * LIBSVM's C interface, on top of hinge: the structs, constants and functions of its svm.h, laid out as in
 * LIBSVM 3.37, or as in 3.24 (Debian's libsvm.so.3) where HINGE_LIBSVM_324 is defined: that is for the stand-in
 * libsvm.so.3 alone, and hinge-svm is built without. A program written for LIBSVM includes this header instead and is
 * linked with hinge-svm; a compiled one is started with LIBDIR/hinge in LD_LIBRARY_PATH, where libsvm.so.3 and
 * libsvm.so.4 are.
 *
 * What differs from LIBSVM
 *   - Every function takes NULL. svm_train returns NULL where it cannot train, and a line on stderr says why.
 *     svm_check_parameter looks at what LIBSVM's does: parameters, and for nu-SVC the labels.
 *   - Examples become dense rows during training; columns that are 0 in all examples are left out.
 *   - Folds (cross-validation, probability) are drawn from a fixed seed, not by rand(): equal calls give equal
 *     results.
 *   - Model files hold every number in full; neither writing nor reading touches the process's locale.
 *   - svm_train and svm_cross_validation use svm_set_num_threads threads; one in a child made by fork after a training.
 *   - C may be infinite: the hard margin of C-SVC, by hinge's interior point, and the hard tube of epsilon-SVR.
 *   - Training ends after ten times as many steps as LIBSVM's own limit; a line says so, and the model is the one
 *     so far.
 *
 * This is the one library of hinge's that prints (as LIBSVM does: figures by svm_set_print_string_function, to stdout
 * by default; warnings to stderr) and that holds state: that function, the number of threads, a count of trainings, and
 * which process trained first.
 */
#ifndef HINGE_COMPAT_SVM_H
#define HINGE_COMPAT_SVM_H

#ifdef HINGE_LIBSVM_324
#define LIBSVM_VERSION 324
#else
#define LIBSVM_VERSION 337
#endif

#if defined(__GNUC__) || defined(__clang__)
#define HINGE_SVM_API __attribute__((visibility("default")))
#else
#define HINGE_SVM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

HINGE_SVM_API extern int libsvm_version; /* LIBSVM_VERSION */

/* One feature. An example is an array of these, indices ascending, ended by index -1. Precomputed kernels:
 * node 0 has index 0 and the example's serial number, from 1; node s the kernel value with the example of
 * serial number s. */
struct svm_node {
    int index;
    double value;
};

struct svm_problem {
    int l;               /* examples */
    double *y;           /* [l] class labels (integers) or targets */
    struct svm_node **x; /* [l] */
};

enum { C_SVC, NU_SVC, ONE_CLASS, EPSILON_SVR, NU_SVR }; /* svm_type */
enum { LINEAR, POLY, RBF, SIGMOID, PRECOMPUTED };       /* kernel_type */

struct svm_parameter {
    int svm_type;
    int kernel_type;
    int degree;   /* polynomial */
    double gamma; /* polynomial, RBF, sigmoid; 0 means 0 */
    double coef0; /* polynomial, sigmoid */

    /* training only */
    double cache_size; /* for kernel rows, 2^20 bytes */
    double eps;        /* the violation at which to stop */
    double C;          /* C-SVC, SVR */
    int nr_weight;     /* C-SVC: C of class weight_label[k] is multiplied by weight[k], k < nr_weight */
    int *weight_label;
    double *weight;
    double nu;       /* nu-SVC, one-class, nu-SVR */
    double p;        /* epsilon-SVR: half width of the tube */
    int shrinking;   /* 0 or 1 */
    int probability; /* 1: also fit what svm_predict_probability needs */
};

/* All arrays come from malloc. Callers may read, fill, copy and free them themselves. */
struct svm_model {
    struct svm_parameter param;
    int nr_class;         /* 2 for regression and one-class */
    int l;                /* support vectors */
    struct svm_node **SV; /* [l]; of a trained model: the problem's own rows, which must live as long */
    double **sv_coef;     /* [nr_class - 1][l] */
    double *rho;          /* [nr_class (nr_class - 1) / 2] */
    double *probA;        /* the same, or [1] for regression (the Laplace width), or NULL */
    double *probB;        /* the same, or NULL */
#ifndef HINGE_LIBSVM_324
    double *prob_density_marks; /* one-class: [10], or NULL */
#endif
    int *sv_indices; /* [l] rows of the problem, from 1; NULL for a model from a file */
    int *label;      /* [nr_class], or NULL: no classes */
    int *nSV;        /* [nr_class] support vectors of each class, which stand together; or NULL */
    int free_sv;     /* 1: SV[0] is a block that belongs to the model, which came from a file */
};

/* ---- training -------------------------------------------------------------------------------------------- */

/* NULL, or what is wrong with the parameters (nu-SVC: with nu for these labels). prob may be NULL, or without examples
 * yet. */
HINGE_SVM_API const char *svm_check_parameter(const struct svm_problem *prob, const struct svm_parameter *param);
HINGE_SVM_API struct svm_model *svm_train(const struct svm_problem *prob, const struct svm_parameter *param);
/* target[l]: predictions of models trained on the other folds; all NaN after a failure. */
HINGE_SVM_API void svm_cross_validation(const struct svm_problem *prob, const struct svm_parameter *param, int nr_fold,
                                        double *target);

/* ---- model files: LIBSVM's text. 0, or -1 and NULL on failure -------------------------------------------- */

HINGE_SVM_API int svm_save_model(const char *model_file_name, const struct svm_model *model);
HINGE_SVM_API struct svm_model *svm_load_model(const char *model_file_name);

/* ---- what a model holds ---------------------------------------------------------------------------------- */

HINGE_SVM_API int svm_get_svm_type(const struct svm_model *model);
HINGE_SVM_API int svm_get_nr_class(const struct svm_model *model);
HINGE_SVM_API void svm_get_labels(const struct svm_model *model, int *label);
HINGE_SVM_API void svm_get_sv_indices(const struct svm_model *model, int *sv_indices);
HINGE_SVM_API int svm_get_nr_sv(const struct svm_model *model);
HINGE_SVM_API double svm_get_svr_probability(const struct svm_model *model);
HINGE_SVM_API int svm_check_probability_model(const struct svm_model *model);

/* ---- prediction, one example a call: from the model's public fields alone -------------------------------- */

HINGE_SVM_API double svm_predict_values(const struct svm_model *model, const struct svm_node *x, double *dec_values);
HINGE_SVM_API double svm_predict(const struct svm_model *model, const struct svm_node *x);
HINGE_SVM_API double svm_predict_probability(const struct svm_model *model, const struct svm_node *x,
                                             double *prob_estimates);

/* ---- freeing --------------------------------------------------------------------------------------------- */

HINGE_SVM_API void svm_free_model_content(struct svm_model *model_ptr);
HINGE_SVM_API void svm_free_and_destroy_model(struct svm_model **model_ptr_ptr);
HINGE_SVM_API void svm_destroy_param(struct svm_parameter *param);

/* ---- the process ----------------------------------------------------------------------------------------- */

/* NULL: back to stdout. */
HINGE_SVM_API void svm_set_print_string_function(void (*print_func)(const char *));
/* 0 or less: as many as OpenMP would use, which is how it starts. */
HINGE_SVM_API void svm_set_num_threads(int threads);
HINGE_SVM_API int svm_get_max_threads(void);
/* Calls of hinge's training and cross-validation by this library so far: tells it from the real LIBSVM. */
HINGE_SVM_API unsigned long hinge_svm_train_count(void);

#ifdef __cplusplus
}
#endif
#endif
