/*
 * hinge: dense kernel support vector machines, trained exactly at the speed of BLAS.
 *
 * This header alone is the manual of training and prediction. What everybody needs comes first; what stands under
 * "Expert", in structs and at the end of the header, can be left at 0. hinge/io.h adds files, hinge/scaling.h the
 * scaling of features, hinge/select.h the choice of C and gamma, hinge/theory.h what textbooks derive, hinge/qp.h
 * convex quadratic programs.
 *
 * Conventions
 *   - Every function that can fail returns a hinge_status and takes a nullable hinge_error as its last
 *     argument. On failure output arguments are untouched, nothing is leaked, and the error says what is
 *     wrong and where. The library never prints, exits, or changes any setting of the process (signals,
 *     locale, BLAS and OpenMP thread counts); it holds no global state.
 *   - Whether a call was carried out (hinge_status) is apart from how the solver ended (hinge_outcome): a
 *     run that hit its limit delivers a usable model and says so in its report.
 *   - Inputs are borrowed during the call and never kept: a model owns all it needs. A model that is NULL is refused;
 *     other pointers are not NULL but where a comment allows it, and not all calls check.
 *   - Zero means "you decide" only in fields where zero would be illegal; the comment says what is decided.
 *   - Distinct models may be trained at the same time; a const model may be used by any number of threads.
 *   - Examples are indexed from 0, except where LIBSVM's files count from 1.
 *   - [n] in a comment is the number of elements of an array; [n * d] is a matrix of n rows, one after the other.
 *
 * Notation (of one two-class, one-class or regression problem of n rows)
 *   x_i, y_i   row i of the matrix x; its class as +1 or -1, or its target
 *   K          the kernel matrix [n * n], K_ij = K(x_i, x_j) = <phi(x_i), phi(x_j)>
 *   alpha, s   the coefficients of the dual problem, 0 <= alpha <= C, and their signs: s_i = y_i in classification, +1
 *              in one-class; regression has two alpha a row, of s = +1 and -1
 *   beta       the signed coefficients, s alpha summed by row; support vectors have beta_i != 0, bounded ones alpha = C
 *   f(x)       the decision value <w, phi(x)> - rho, w = sum_i beta_i phi(x_i); the bias b is -rho
 *   xi         the slack of an example, max(0, 1 - y f) in classification
 *   F          the gradient of the dual objective by beta, in units of f: F_i = (K beta)_i - y_i for C-SVC. F up is F
 *              where beta_i may rise, F down where it may fall; at the optimum max F down <= min F up
 *   violation  max F down - min F up (nu-SVC, nu-SVR: the larger of two, one for each sum)
 *   r          nu-SVC: the margin, y f >= r, before coefficients and rho are divided by it
 *   W, K_WW    the working set, which block SMO optimises in a round, and the block of K of its rows and columns
 *   Z          the interior point's factor [n * rank] of K: K ~ ZZ'; Z = x for linear kernels
 */
#ifndef HINGE_HINGE_H
#define HINGE_HINGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HINGE_VERSION_MAJOR 0
#define HINGE_VERSION_MINOR 1
#define HINGE_VERSION_PATCH 0
#define HINGE_SOVERSION 0 /* changes whenever a compiled program would have to be compiled anew */

#if defined(__GNUC__) || defined(__clang__)
#define HINGE_API __attribute__((visibility("default")))
#else
#define HINGE_API
#endif

/* Returns the version of the library that runs, such as "0.1.0"; static text. */
HINGE_API const char *hinge_version(void);

/* ---- Status and errors ------------------------------------------------------------------------------ */

typedef enum hinge_status {
    HINGE_OK = 0,
    HINGE_EINVAL,    /* an argument or parameter is out of its range, or does not fit another one */
    HINGE_ENOMEM,    /* no memory */
    HINGE_EIO,       /* the system refused to open, read or write a file */
    HINGE_EFORMAT,   /* the text or file is not what it should be; the error names the line */
    HINGE_ESIZE,     /* a size overflows what this machine or BLAS can address */
    HINGE_ECALLBACK, /* the user's kernel reported a failure, or a callback ended a call that has no half results */
    HINGE_EINTERNAL  /* a defect of hinge: please report it */
} hinge_status;

typedef struct hinge_error {
    hinge_status status;
    size_t line;    /* line of the file, from 1; 0: the error is not about a line */
    char text[256]; /* the whole message, one line; "" after success */
} hinge_error;

/* Returns a short text in English, such as "invalid argument"; static, never NULL. */
HINGE_API const char *hinge_status_text(hinge_status status);

/* ---- Matrices --------------------------------------------------------------------------------------- */

/* What values a matrix has: 4-byte floats, 8-byte doubles, bytes without and with a sign, 2-byte floats of IEEE 754
 * (binary16, as uint16_t). Outputs are of the first two. */
typedef enum hinge_dtype { HINGE_F32 = 1, HINGE_F64 = 2, HINGE_U8 = 3, HINGE_I8 = 4, HINGE_F16 = 5 } hinge_dtype;

typedef enum hinge_order { HINGE_ROW_MAJOR = 0, HINGE_COLUMN_MAJOR = 1 } hinge_order;

/* A view of a dense matrix: row i is example i. Nothing is copied, nothing is owned. */
typedef struct hinge_matrix {
    const void *data;  /* [rows * stride] (by columns: [cols * stride]), the caller's */
    hinge_dtype type;  /* what data points at */
    size_t rows, cols; /* number of examples, of features */
    size_t stride;     /* elements from one row to the next, >= cols; rows and stride below 2^31 - 1, or ESIZE */
    hinge_order order; /* HINGE_COLUMN_MAJOR, as Fortran, R, Julia and LAPACK have it: stride leads from one column to
                        * the next, >= rows. Rows are then gathered, which takes longer than reading them */
} hinge_matrix;

/* Make a view of a row-major array data[rows * cols] without gaps (stride = cols); the caller keeps the array. */
HINGE_API hinge_matrix hinge_matrix_f32(const float *data, size_t rows, size_t cols);
HINGE_API hinge_matrix hinge_matrix_f64(const double *data, size_t rows, size_t cols);

/* ---- Kernels ---------------------------------------------------------------------------------------- */

typedef enum hinge_kernel_type { /* values are LIBSVM's -t */
    HINGE_LINEAR = 0,      /* <x,z> */
    HINGE_POLYNOMIAL = 1,  /* (gamma <x,z> + coef0)^degree */
    HINGE_RBF = 2,         /* exp(-gamma ||x-z||^2) */
    HINGE_SIGMOID = 3,     /* tanh(gamma <x,z> + coef0); not positive semi-definite in general */
    HINGE_PRECOMPUTED = 4, /* the matrix holds kernel values, see hinge_params.precomputed_index */
    HINGE_USER = 5,        /* the caller's function, see hinge_user_kernel */
    HINGE_MATERN32 = 6,    /* (1 + r) exp(-r), r = sqrt(gamma) ||x-z||: Matern's of smoothness 3/2, where gamma is 3 /
                            * length^2 (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, 4.17) */
    HINGE_MATERN52 = 7,    /* (1 + r + r^2 / 3) exp(-r): that of smoothness 5/2, where gamma is 5 / length^2 */
    HINGE_LAPLACIAN = 8,   /* exp(-gamma sum of |x_c - z_c|) */
    HINGE_CHI2 = 9,        /* exp(-gamma sum of (x_c - z_c)^2 / (x_c + z_c)), of histograms; 0 / 0 is 0. A value below 0
                            * counts as one of another feature, |x_c|, here and in the next kernel */
    HINGE_TANIMOTO = 10,   /* sum of min(x_c, z_c) / sum of max(x_c, z_c), of counts and fingerprints; 0 / 0 is 1. Also
                            * called Jaccard's, Ruzicka's, MinMax (Ralaivola et al. 2005) */
    HINGE_COMBINED = 11    /* sums and products of others on groups of columns, see hinge_kernel_combine */
} hinge_kernel_type;

/* A kernel of the caller's own: fills out[i*ld + j] = K(a_i, b_j) for i < a->rows, j < b->rows. a and b are
 * HINGE_F64 views of examples. It is called from several threads at once, must be symmetric in its
 * arguments, and returns 0, or another number to give up (the call then ends with HINGE_ECALLBACK). */
typedef int (*hinge_user_kernel)(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld);

#define HINGE_GAMMA_AUTO (-1.0) /* gamma = 1 / number of features */

typedef struct hinge_kernel {
    hinge_kernel_type type;
    int degree;    /* polynomial: 0 <= degree; 3 by default */
    double gamma;  /* all but linear, tanimoto, combined: >= 0 or HINGE_GAMMA_AUTO; 0 means 0, a constant kernel */
    double coef0;  /* polynomial, sigmoid; 0 by default */
    hinge_user_kernel user; /* HINGE_USER: the function, its cookie (may be NULL), */
    void *cookie;
    char name[32];          /* and its name [A-Za-z0-9_-], which a model file stores */
    const struct hinge_kernel_part *parts; /* HINGE_COMBINED: [n_parts], whoever made them owns them */
    size_t n_parts;
    size_t n_features; /* HINGE_COMBINED: of examples; the library sets it */
} hinge_kernel;

/* A kernel on some columns of the examples: what sums and products of kernels are made of. */
typedef struct hinge_kernel_part {
    hinge_kernel kernel; /* one of features: not precomputed, user, combined. HINGE_GAMMA_AUTO is 1 / count */
    size_t first, count; /* columns first .. first + count - 1, which may be other parts' too; count 0: all from first
                          * on */
    double factor;       /* what its values are multiplied by, > 0; 0: 1 */
    int times;           /* 0: the part is added to what stands before it; 1: the part before is multiplied by it, so
                          * that a + b * c are three parts of which the last one has times = 1 */
} hinge_kernel_part;

/* Make a kernel of the given parameters, the others at their defaults. Values are checked by the call that takes the
 * kernel; a name longer than hinge_kernel.name is cut. */
HINGE_API hinge_kernel hinge_kernel_linear(void);
HINGE_API hinge_kernel hinge_kernel_polynomial(int degree, double gamma, double coef0);
HINGE_API hinge_kernel hinge_kernel_rbf(double gamma);
HINGE_API hinge_kernel hinge_kernel_sigmoid(double gamma, double coef0);
HINGE_API hinge_kernel hinge_kernel_matern32(double gamma);
HINGE_API hinge_kernel hinge_kernel_matern52(double gamma);
HINGE_API hinge_kernel hinge_kernel_laplacian(double gamma);
HINGE_API hinge_kernel hinge_kernel_chi2(double gamma);
HINGE_API hinge_kernel hinge_kernel_tanimoto(void);
HINGE_API hinge_kernel hinge_kernel_precomputed(void);
HINGE_API hinge_kernel hinge_kernel_user(const char *name, hinge_user_kernel function, void *cookie);
/* Makes a sum of products of kernels, parts [n], n > 0, which is a kernel where all parts are (Aronszajn 1950). Parts
 * are borrowed as long as the kernel is used; a model has a copy of its own, in which columns and gamma are resolved.
 * hinge/io.h reads such kernels from text. */
HINGE_API hinge_kernel hinge_kernel_combine(const hinge_kernel_part *parts, size_t n);

/* A row of the table that tells the kernels apart, as hinge_task_row those of tasks. */
typedef struct hinge_kernel_row {
    const char *keyword; /* its name for the command and in model files: LIBSVM's "linear", "polynomial", "rbf",
                          * "sigmoid", "precomputed"; and "user", "matern32", "matern52", "laplacian", "chi2",
                          * "tanimoto", "combined" */
    hinge_kernel_type kernel;
    int uses_gamma, uses_coef0, uses_degree; /* 1: the kernel looks at this field of hinge_kernel */
} hinge_kernel_row;

/* Returns the table's row of a kernel. NULL: there is no such kernel, which ends a loop over all. */
HINGE_API const hinge_kernel_row *hinge_kernel_info(hinge_kernel_type type);

/* ---- Scaling ---------------------------------------------------------------------------------------- */

/* A linear map that takes each feature from its range [low, high] to [lower, upper]; a feature whose low and high are
 * equal becomes 0. hinge_scaling_fit (hinge/scaling.h) makes one; or fill it by hand, as from ranges in a file. */
typedef struct hinge_scaling {
    double lower, upper; /* lower < upper */
    size_t n_features;
    double *low, *high;  /* [n_features] each; owned by whoever made them */
} hinge_scaling;

/* ---- Words for labels ------------------------------------------------------------------------------- */

/* Classes that data files name by words: the label k, a number from 1 on, is word[k - 1]. */
typedef struct hinge_words {
    size_t count;      /* 0: labels are numbers */
    const char **word; /* [count] not empty, each once, without control characters */
} hinge_words;

/* Returns the text of a label: its word, owned by words; or, where it has none or words is NULL, the shortest text of
 * the number, which is written to the caller's room. room NULL: only words are wanted, and NULL is returned. */
#define HINGE_WORD_ROOM 40
HINGE_API const char *hinge_word(const hinge_words *words, double label, char room[HINGE_WORD_ROOM]);

/* ---- Parameters ------------------------------------------------------------------------------------- */

typedef enum hinge_task { /* values are LIBSVM's -s */
    HINGE_C_SVC = 0,      /* classification, soft margin: Cortes and Vapnik 1995 */
    HINGE_NU_SVC = 1,     /* classification, nu bounds the fraction of margin errors: Schoelkopf et al. 2000 */
    HINGE_ONE_CLASS = 2,  /* support of a distribution: Schoelkopf et al. 2001 */
    HINGE_EPSILON_SVR = 3, /* regression with an epsilon tube */
    HINGE_NU_SVR = 4,     /* regression, nu sets the tube */
    HINGE_QUANTILE = 5    /* regression, f is the tau-quantile of targets: Takeuchi et al. 2006. Not LIBSVM's */
} hinge_task;

/* A row of the table that tells the tasks apart, which the library, its command and LIBSVM's interface all go by. Rows
 * are the library's own; a later version may add fields behind the last. */
typedef struct hinge_task_row {
    const char *keyword;         /* its name for the command and in model files: LIBSVM's, "c_svc" */
    int libsvm;                  /* LIBSVM's svm_type. LIBSVM has no quantile regression: its models predict as those
                                  * of epsilon_svr do and have that name in files */
    hinge_task task;
    int classifies, regresses;   /* 1: y holds class labels (classifies), or targets (regresses) */
    int one_class;               /* 1: y is not looked at, and predictions are +1 or -1 */
    int uses_C, uses_nu, uses_p; /* 1: the task looks at this field of hinge_params */
    int two_sums;                /* 1: the coefficients of each sign are held to a sum of their own (the nu tasks) */
    int uses_tau;                /* 1: the task looks at hinge_params.tau */
} hinge_task_row;

/* Returns the table's row of a task. NULL: there is no such task, which ends a loop over all. */
HINGE_API const hinge_task_row *hinge_task_info(hinge_task task);

typedef enum hinge_multiclass {
    HINGE_ONE_VS_ONE = 0, /* k (k-1) / 2 problems, the class with most votes wins: LIBSVM's */
    HINGE_ONE_VS_REST = 1 /* k problems, the class with the largest decision value wins */
} hinge_multiclass;

typedef enum hinge_precision {
    HINGE_PRECISION_AUTO = 0, /* f32 kernel rows whose error is measured, and f64 where it matters */
    HINGE_PRECISION_F32 = 1,  /* f32 kernel rows whatever the error; it is reported. RBF with gamma max ||x||^2 above
                               * 16,384, and values or ||x||^2 whose largest f32 has no room for, take f64, as does
                               * what would otherwise end as a model that is worse than none */
    HINGE_PRECISION_F64 = 2   /* f64 kernel rows */
} hinge_precision;

typedef enum hinge_solver {
    HINGE_SOLVER_AUTO = 0,      /* chosen by counted work. The interior point: a hard margin or rank set; linear kernels
                                 * of many rows; few points, polynomials of few monomials, smooth kernels at a large C.
                                 * SMO otherwise, and with beta0 at first, with working_set until it stalls, with
                                 * max_iter or precision f32 always. Where the one chosen stalls the other goes on */
    HINGE_SOLVER_SMO,           /* block SMO: every kernel, every task */
    HINGE_SOLVER_INTERIOR_POINT /* the interior point: every task, in f64; kernels other than the
                                 * linear one by a factor Z of low rank. It ignores beta0, shrinking, working_set */
} hinge_solver;

/* Who makes kernel values of dot products. What a maker cannot serve is refused, with EINVAL; values of the user's
 * kernel and of a matrix have no maker. Where small distances are lost in norms and dot products in f64,
 * GEMM makes them, whoever is asked. */
typedef enum hinge_maker {
    HINGE_MAKER_AUTO,   /* whoever is fastest on these data and this processor: GEMM for dense rows of many features */
    HINGE_MAKER_GEMM,   /* cblas_sgemm or cblas_dgemm, and a map */
    HINGE_MAKER_PANELS, /* rows, with their zeros, against panels of columns that are kept */
    HINGE_MAKER_LISTS,  /* rows as lists of what is not 0, against the same panels */
    HINGE_MAKER_COUNTS, /* kernels of distances on features of two values each, one step apart, by counts (AVX-512);
                         * not for prediction */
    HINGE_MAKER_INTEGERS /* exact products of whole numbers: of values that are all origin + k step, k in 0..255; for
                          * prediction by models of such support vectors for which auto takes them too */
} hinge_maker;

typedef enum hinge_outcome {
    HINGE_CONVERGED = 0, /* The violation in f64 is at most eps. The interior point, where it was asked for or alone can
                          * do it: report.gap <= eps (or 1e-6, 1e-12 beyond) too, both of the coefficients returned */
    HINGE_MAX_ITER,      /* params.max_iter reached */
    HINGE_TIME_LIMIT,    /* params.time_limit reached */
    HINGE_STOPPED,       /* the progress callback asked for it */
    HINGE_STALLED,       /* no progress over many rounds, or more steps than any problem should take; or the kernel rows
                          * are too coarse for eps, or the interior point's factor is (report.path: approximate) */
    HINGE_NONFINITE,     /* the kernel produced NaN or infinity: scale the data or lower degree, gamma. The model's
                          * coefficients are finite, but of no use; objective and violation may be NaN */
    HINGE_NO_MARGIN      /* nu-SVC: the reduced convex hulls of the classes meet, for all that a run to the end and
                          * rounding tell, so no direction separates. The model is that of the closest larger nu for
                          * which one does, to a hundredth (report.path: "margin from nu=0.357"); where no nu has one,
                          * coefficients are not divided by r, nor where a run was cut short with r <= 0. Hard margin:
                          * a combination of rows proves that no hyperplane separates the classes (report.path says:
                          * with a margin above so much); the model is empty. epsilon-SVR with C = INFINITY: a
                          * coefficient came to 1e10 (times its weight), so no function of the kernel's keeps to the
                          * tube, for all that such a bound tells; the model is that of C = 1e10 */
} hinge_outcome;

/* Returns "converged", "iteration limit", ...; static, never NULL. */
HINGE_API const char *hinge_outcome_text(hinge_outcome outcome);

/* How far a training has come; other calls say which fields they set. */
typedef struct hinge_progress {
    size_t problem, n_problems; /* number, from 0, of the two-class problem in hand, and how many there are */
    size_t rounds;              /* working sets solved */
    uint64_t iterations;        /* two-variable steps, and linear systems of Newton's finish */
    double violation;           /* the violation, which is compared with eps. Interior point: the relative gap */
    double objective;           /* minimised dual objective, as LIBSVM prints it */
    size_t n, n_active, n_sv;   /* examples, those not shrunk, those with alpha > 0; equal ones of one class
                                 * or of one target are one */
    uint64_t rows_computed;     /* kernel rows computed */
    double seconds;             /* seconds since the training began */
    int newton;                 /* 1: Newton's finish is at work, in which the figures above stay for long, */
    uint64_t newton_steps;      /* and it has solved so many linear systems */
} hinge_progress;

/* A callback that is called after every round, and in long rounds about ten times a second with the figures of the last
 * one (before the first: violation infinite); never by two threads at once. Return another value than 0 to stop the
 * run: the best model so far is then returned with outcome HINGE_STOPPED. */
typedef int (*hinge_progress_fn)(void *arg, const hinge_progress *progress);

typedef struct hinge_params {
    hinge_task task;
    hinge_kernel kernel;
    double C;   /* C-SVC, SVR: upper bound of alpha (quantile: see tau); 0: 1. C-SVC: INFINITY is the hard margin.
                 * epsilon-SVR: INFINITY is the hard tube, and stands for 1e10, see HINGE_NO_MARGIN */
    double nu;  /* nu-SVC, nu-SVR, one-class: nu in (0, 1]; 0: 0.5 */
    double p;   /* epsilon-SVR: half width of the tube in units of y, >= 0; 0 means 0; 0.1 by default */
    double tau; /* quantile: its level, in (0, 1); 0: 0.5, the median. The task minimises |w|^2 / 2 + C sum of the
                 * pinball loss, tau (y - f) for y >= f, (tau - 1) (y - f) below: beta is in [C (tau - 1), C tau] */
    double eps; /* stop when the violation is at most eps, in units of f; 0: 1e-3 */

    /* C is multiplied by the weight of the example's class and by the example's own. */
    size_t n_class_weights;
    const double *class_labels;  /* [n_class_weights]; 1 for classes not named, the product for one named twice */
    const double *class_weights; /* [n_class_weights], >= 0 */
    const double *weights;       /* [n] example weights >= 0 (0 leaves the example out), or NULL: all 1 */

    /* A scaling that is applied to examples before anything else; the model keeps it and takes raw examples. Where its
     * low is NULL, only lower and upper count, and the ranges are those of the rows of weight > 0 (in cross-validation
     * and calibration, of each fold's training part). NULL: examples are taken as they are. Training, cross-validation,
     * selection, certificate and kinds take one, and hold a copy of x in f64; other calls take scaled rows and NULL. */
    const hinge_scaling *scaling;

    hinge_multiclass multiclass; /* for three classes or more */
    const double *positive_class; /* label of the class that f > 0 stands for where there are two; it is the model's
                                   * first class in any case. NULL: chosen by y, as hinge_train says */

    /* 1: also calibrates the model for hinge_predict_probability, by 5-fold cross-validation seeded by `seed`: Platt
     * scaling (Platt 2000; Lin, Lin, Weng 2007), a Laplace width for regression, density marks for one-class. Quantile
     * regression has none. C-SVC's and epsilon-SVR's folds go on from the model's own solution where they can, and end
     * at a violation of 100 eps, 0.1, a tenth of the decision values' standard deviation or (regression) p, whichever
     * is least, but at least at eps. */
    int probability;

    int no_bias;  /* 1: f = <w, phi(x)> with rho = 0 (homogeneous halfspaces), and the sum of beta is free; not for
                   * tasks with nu. Set it to certify a model from a file, too: files do not tell, since LIBSVM refuses
                   * keys that it does not know */

    /* HINGE_PRECOMPUTED: x has n rows and L columns, and K(x_i, x_j) = x[i, precomputed_index[j]]; NULL: L = n, and
     * index j is j. */
    const size_t *precomputed_index; /* [n], each < L */

    int threads;         /* 0: omp_get_max_threads(); 4096 at most. The model does not depend on it */
    size_t cache_bytes;  /* budget in bytes for kernel rows and Newton's matrices; only what is filled is taken from the
                          * system. 0: what all rows of the largest problem take in f64, but at least an eighth and at
                          * most half of hinge_machine.total_memory; 64 MiB where no problem has over 192 rows */
    double time_limit;   /* seconds for the whole training; 0: no limit */
    uint64_t seed;       /* start of all random draws: equal seeds give equal models */
    hinge_progress_fn progress; /* called as the training goes on; NULL: not wanted */
    void *progress_arg;         /* handed to progress */

    /* -- Expert: how the solution is found, and no part of what it is. The defaults are right for nearly everybody. */
    hinge_solver solver;

    /* Warm start: beta[n_problems * n], as hinge_model_beta returns it; moved into the feasible set where it is
     * outside. NULL: start at 0. */
    const double *beta0;

    hinge_precision precision;
    uint64_t max_iter;   /* most two-variable steps and Newton systems of each two-class problem (interior point: linear
                          * systems); 0: only a limit beyond which nothing is known to converge (STALLED) */
    int shrinking;       /* 1, the default: set aside, for a while, examples likely to stay at a bound; 0: never */
    int newton;          /* 1, the default: Newton's steps, in f64, on the examples with 0 < alpha < C, where that is
                          * less work: at the end (tight eps), in working sets (large C); 0 or no_bias: never */
    size_t rank;  /* interior point: most columns of Z (report.trace_error says how near ZZ' is to K). 0: all of a
                   * linear kernel, at most the number of rows; of other kernels 1000 at first, then as many as eps
                   * needs, up to a quarter of the memory */
    hinge_maker maker;   /* of kernel rows; report.path names it */
    size_t working_set;  /* number of examples in W; 0: chosen by n */
    int cpu_level;       /* vector code: 0 the best this processor runs, 1 plain C, 2..4 x86-64-v2..v4 */
    int profile;         /* 1: fill report.stages, which takes a few looks at the clock; 0, the default: leave it 0 */
} hinge_params;

/* Returns the defaults: RBF with HINGE_GAMMA_AUTO, C = 1, nu = tau = 0.5, p = 0.1, eps = 1e-3, shrinking = newton = 1,
 * the rest 0. */
HINGE_API hinge_params hinge_params_default(hinge_task task);
/* Checks, without training, whether a training on n rows of n_features would take the parameters. n 0: weights are not
 * looked at. EINVAL: a parameter is out of its range or does not fit another one; the error names it. */
HINGE_API hinge_status hinge_params_check(const hinge_params *params, size_t n, size_t n_features, hinge_error *err);

/* ---- Report ----------------------------------------------------------------------------------------- */

/* Time that kernel rows and the gradient's update took in SMO, summed over problems: seconds of a problem's threads,
 * divided by their number. The rest of phase.rows is threads waiting for each other, and the lists of what the cache
 * holds. New pages of memory count where they are first written: products or map. */
typedef struct hinge_stages {
    double gather;   /* examples brought into the layout that products are made from */
    double products; /* dot products (path "counts": counts of features that differ; "lists", "panels": the map
                      * too, made at once), and kernel values that are looked up or the caller's */
    double map;      /* turning dot products into kernel values, and storing them */
    double update;   /* updating the gradient by rows just computed */
    double read;     /* updating the gradient by rows in the cache */
    double gbytes;   /* size of the rows read from the cache, 1e9 bytes */
    double gflop;    /* operations of these dot products, 1e9 (by lists: of non-zeros only) */
} hinge_stages;

typedef struct hinge_report {
    /* -- the result */
    hinge_outcome outcome; /* the worst of all two-class problems; STOPPED and TIME_LIMIT go before all others */
    size_t n, d;           /* examples and features trained on (weight 0 left out) */
    size_t distinct;       /* examples that differ in features, or in class or target: equal ones are solved as one, and
                            * its alpha goes to them in their order, each up to its bound. 0: a sum over folds */
    size_t n_classes;      /* 2 for regression and one-class, as in LIBSVM */
    size_t n_problems;     /* two-class problems: k (k-1) / 2 for k classes, k one-vs-rest, 1 otherwise */
    size_t n_sv, n_bsv;    /* distinct support vectors, and pairs' bounded ones (alpha = C) summed */
    double objective;      /* minimised dual (negative for C-SVC), summed over problems; dual = -objective. By f32 rows
                            * mostly right to 1e-5, and always to some 1e-4; hinge_certify has it in f64 */
    double violation;      /* the largest over problems; CONVERGED: of F in f64, otherwise of F as the run updated it */

    /* -- bounds: how near the result is to the solution */
    double gap;            /* interior point: the largest over problems of the relative gap, (primal + objective) / the
                            * larger of both, from the coefficients as returned. NaN: SMO, which measures none */
    double error;          /* largest |F - F in f64| left where it cannot raise the violation above eps, as measured on
                            * a sample; NaN: not measured */
    double trace_error;    /* interior point: the largest over problems of the sum of |(K - ZZ')_ii| over that of
                            * |K_ii|. Objective, gap and violation are of K itself all the same (of ZZ' in a run cut
                            * short). 0 for the data themselves, and with SMO */
    int corrections;       /* times the gradient was recomputed in f64 */
    hinge_precision precision; /* HINGE_PRECISION_F32 or _F64: precision of the kernel rows at the end */

    /* -- work */
    uint64_t iterations, rounds; /* as in hinge_progress, summed over problems */
    uint64_t newton_steps; /* linear systems of Newton's steps in SMO */
    size_t rank;           /* interior point: most columns that Z had; 0: SMO */
    uint64_t rows_asked, rows_computed, rows_evicted; /* kernel rows; computed are whole-row equivalents */
    uint64_t bytes_read;   /* bytes of kernel rows that updates of the gradient read: 4 or 8 a value, or 1 as a count */
    uint64_t kernel_values; /* kernel values computed in all, certificate included */
    double gflop;          /* operations of dot products, 1e9 (by lists: of non-zeros only) */
    size_t cache_bytes;    /* budget of the cache that held, bytes */
    size_t cache_used;     /* most bytes of it in use at once */
    size_t memory_bytes;   /* most bytes that hinge had allocated at once during training, cache_used included */
    size_t newton_no_room; /* bytes that the Newton finish lacked, 0 if it had room: raise cache_bytes by so much */
    int threads;           /* number of threads asked for; problems too small to share are solved by one */
    char blas[64];         /* BLAS and the core it chose, such as "OpenBLAS 0.3.21 openmp SkylakeX" */
    int blas_slow;         /* 1: the processor has AVX-512 and this OpenBLAS chose kernels without it */
    char path[128];        /* the way that was taken: "block-smo q=1024, gemm f32, rbf v4, centred"; instead of "gemm"
                            * the maker of the rows (hinge_maker), which auto makes "panels" for dense data of few
                            * features, "lists" for few non-zeros, "counts" for kernels of the distance on features of
                            * two values each, one step apart, where there is AVX-512, "integers" for values that are
                            * whole numbers of one step, at most 255 of them apart, and "differences" for the
                            * Laplacian; then ", newton" or ", no room for newton"; ", whole": few points of many
                            * features, all rows at once; ", rows shared": by classes against the rest.
                            * "interior-point d=123, linear"; "then interior-point" or "then block-smo": a problem at
                            * least; "margin from nu=0.357": NO_MARGIN, the largest nu that a problem took instead */

    /* -- time */
    double seconds;        /* wall-clock seconds of the training */
    struct {               /* wall-clock seconds of each phase, summed over problems */
        double rows, select, block, subproblem, newton, certificate;
    } phase;               /* kernel rows with the gradient update; selection of W; K_WW; inner solver; Newton; checks.
                            * Interior point: rows are normal matrices, subproblem the steps, certificate the finish */
    hinge_stages stages;   /* the parts of phase.rows; all 0 unless params.profile is 1 */
} hinge_report;

/* ---- Training --------------------------------------------------------------------------------------- */

typedef struct hinge_model hinge_model;

/* Trains on the rows of x. y[n]: class labels (any finite doubles, compared exactly), targets for regression, ignored
 * (may be NULL) for one-class. *model is the caller's, freed with hinge_model_free; report may be NULL. A run that a
 * limit or the callback ended returns HINGE_OK and its best model: see report->outcome.
 * The dual problem is min 1/2 beta'K beta + c'alpha subject to s'alpha = delta, 0 <= alpha <= C, where the task gives c
 * and delta (C-SVC: -1 and 0). Block SMO with second-order working pairs (Fan, Chen, Lin 2005) or the interior point
 * (Mehrotra 1992) solves it, by params.solver; params.multiclass says what more than two classes become.
 * The positive class is params.positive_class, or else the one that appears first in y (rows of weight 0 included),
 * except that -1 first, +1 second are swapped. Where there is one class only, the model has no problem and predicts
 * that class.
 * EINVAL: a parameter, no rows, values or labels that are not finite; ESIZE, ENOMEM; ECALLBACK: the user's kernel. */
HINGE_API hinge_status hinge_train(hinge_model **model, const hinge_matrix *x, const double *y,
                                   const hinge_params *params, hinge_report *report, hinge_error *err);

/* Many targets of the same rows: outputs of a regression, labels of a row that has several, bootstraps. */
typedef struct hinge_targets {
    size_t n;              /* how many; >= 1 */
    const double *y;       /* [n * rows] one target after the other: that of row i is y[t * rows + i] */
    const double *weights; /* [n * rows] in the same order, >= 0, beside params.weights; 0: the row is left out of this
                            * target. NULL: all 1 */
    const double *C, *p;   /* [n] each, of each target; NULL: those of params */
} hinge_targets;

/* Trains on the rows of x once for each target, and makes one model of all: its problem t is that of target t,
 * hinge_predict sets decisions[rows * n] to their values (labels are refused: it has none), and support vectors that
 * targets share are one. Kernel rows that are dear to make are made once for all targets: of few points with many
 * features as the whole matrix K in double (report.path: "whole"), of more points as targets ask for them ("rows
 * shared"). Rows that are cheap each target makes for itself. Targets are solved side by side, one thread each, where
 * there is memory for it. Each target's solution is that of hinge_train, to eps.
 * Tasks are epsilon-SVR, nu-SVR, quantile, and C-SVC of labels +1 and -1 (class_weights by these), whose values are the
 * decision values: > 0 is +1. The model of C-SVC is kept as one of epsilon-SVR. It is saved in a file that LIBSVM
 * refuses. hinge_certify_many certifies it; hinge_model_locate and hinge_calibrate do not take it. params.probability
 * is refused, and so is C-SVC's C = INFINITY. Otherwise as hinge_train. */
HINGE_API hinge_status hinge_train_many(hinge_model **model, const hinge_matrix *x, const hinge_targets *targets,
                                        const hinge_params *params, hinge_report *report, hinge_error *err);
/* Returns how many targets a model of hinge_train_many has; 0: another model. */
HINGE_API size_t hinge_model_n_targets(const hinge_model *model);

/* Frees a model and all that it owns; NULL is fine. */
HINGE_API void hinge_model_free(hinge_model *model);

/* ---- Prediction ------------------------------------------------------------------------------------- */

/* What a prediction did: filled where it succeeds. */
typedef struct hinge_predict_report {
    size_t rows;
    size_t rows_f64; /* of them made in double precision: all that precision and kernel leave no choice, and those that
                      * f32 left open or did not hold */
    double bound;    /* no decision value of the other rows is off by more, asked for or not; 0: there are none */
    double promise;  /* 1e-4 max(1, largest |rho|): decision values in auto are right to it where they are asked for */
} hinge_predict_report;

typedef struct hinge_predict_options {
    int threads;               /* number of threads; 0: omp_get_max_threads() */
    hinge_precision precision; /* auto: f32, and f64 where f32 may leave a label open or, if decision values are
                                * asked for, one of them wrong by over 1e-4 max(1, largest |rho|). f32: f64 only for
                                * examples that overflow it */
    int cpu_level;             /* as in hinge_params */
    hinge_maker maker;         /* as in hinge_params, of values of examples and support vectors */
    /* A callback that is told, at most ten times a second, of n rows in all, n_active of them left to do, and the
     * seconds; other fields are 0. It is never called by two threads at once, and ends the prediction with
     * HINGE_ECALLBACK by another value than 0. NULL: not wanted. */
    hinge_progress_fn progress;
    void *progress_arg;
    hinge_predict_report *report; /* what was done; NULL: not wanted. hinge_kernel_block leaves it as it is */
} hinge_predict_options;

/* Predicts each row of x; both outputs are the caller's arrays.
 * labels[rows]: class label, +1 / -1 for one-class, or the regression value; NULL: not wanted.
 * decisions[rows * n_problems]: decision values in LIBSVM's order (1v2, 1v3, ..., 2v3, ...); NULL: not wanted. A value
 * > 0 votes for the first class of its pair; ties in votes go to the lowest class index. One-vs-rest: one value for
 * each class, of which the largest wins.
 * x has the model's number of features (precomputed: as many columns as the training matrix). options may be NULL.
 * EINVAL: another number of features, values that are not finite; ECALLBACK: the user's kernel or the callback. */
HINGE_API hinge_status hinge_predict(const hinge_model *model, const hinge_matrix *x,
                                     const hinge_predict_options *options, double *labels, double *decisions,
                                     hinge_error *err);

/* Predicts as hinge_predict does, and rounds the outputs to floats. */
HINGE_API hinge_status hinge_predict_f32(const hinge_model *model, const hinge_matrix *x,
                                         const hinge_predict_options *options, float *labels, float *decisions,
                                         hinge_error *err);

/* ---- Probabilities ---------------------------------------------------------------------------------- */

/* Returns 1 if the model was calibrated (params.probability, or hinge_calibrate), otherwise or for NULL 0. A training
 * that the time limit or the callback ended does not calibrate, nor does one-class with fewer than 5 rows on a side. */
HINGE_API int hinge_model_has_probability(const hinge_model *model);

/* Predicts probabilities. Classification: probabilities[rows * n_classes] in the order of hinge_model_labels, each row
 * summing to 1, pairs coupled as in Wu, Lin, Weng 2004 (method 2), classes against the rest divided by their sum
 * (Zadrozny, Elkan 2002); labels[rows] the most probable class (which can differ from hinge_predict's). One-class:
 * probabilities[rows * 2] of +1 (normal) and -1. Regression has none: see hinge_model_laplace. labels may be NULL.
 * EINVAL where the model is not calibrated. */
HINGE_API hinge_status hinge_predict_probability(const hinge_model *model, const hinge_matrix *x,
                                                 const hinge_predict_options *options, double *labels,
                                                 double *probabilities, hinge_error *err);
/* Regression: sets *sigma, in units of the target, where target = prediction + z and z is Laplace distributed with
 * density exp(-|z| / sigma) / (2 sigma). EINVAL: another task, or the model is not calibrated. */
HINGE_API hinge_status hinge_model_laplace(const hinge_model *model, double *sigma, hinge_error *err);
/* Calibrates an existing model on examples it was not trained on, y[x->rows] their labels or targets; a calibration
 * that it has is replaced. Call it while no other thread uses the model. EINVAL: a label that is no class of the
 * model's or a class without a row, one-class with fewer than 5 rows on a side, quantile regression. */
HINGE_API hinge_status hinge_calibrate(hinge_model *model, const hinge_matrix *x, const double *y,
                                       const hinge_predict_options *options, hinge_error *err);

/* ---- Cross-validation ------------------------------------------------------------------------------- */

/* Sets predictions[n], the caller's: for each row what a model trained on the other folds predicts (a label, +-1, or
 * a value). Folds are drawn by params.seed, stratified by class for classification; 2 <= folds <= n. Small folds are
 * trained side by side. Where eps is 0.001 or more, folds of C-SVC and of epsilon-SVR go on from the solution of all
 * rows where they can, which mostly takes less time; the report is then that of all rows, with the work of the folds,
 * and progress tells of its problems alone.
 * With params.probability, predictions are the most probable classes. Where the time limit or the callback ends it,
 * rows of folds that are not done get NaN. params.beta0 is ignored. report (may be NULL) otherwise sums the reports
 * of the folds. Errors are those of hinge_train. */
HINGE_API hinge_status hinge_cross_validate(const hinge_matrix *x, const double *y, const hinge_params *params,
                                            size_t folds, double *predictions, hinge_report *report, hinge_error *err);

/* ---- What a model holds ----------------------------------------------------------------------------- */

/* Return what a model was made with or consists of; of NULL, 0 or NULL. */
HINGE_API hinge_task hinge_model_task(const hinge_model *model);
HINGE_API double hinge_model_tau(const hinge_model *model); /* the level of a quantile regression; 0: another task */
HINGE_API hinge_kernel hinge_model_kernel(const hinge_model *model); /* gamma resolved */
HINGE_API size_t hinge_model_n_features(const hinge_model *model);
HINGE_API hinge_multiclass hinge_model_multiclass(const hinge_model *model);
HINGE_API size_t hinge_model_n_classes(const hinge_model *model); /* 2 for regression and one-class */
HINGE_API size_t hinge_model_n_problems(const hinge_model *model);
HINGE_API size_t hinge_model_n_sv(const hinge_model *model);

/* The pointers below are the model's own and live as long as it does. */
HINGE_API const double *hinge_model_labels(const hinge_model *model);  /* [n_classes]; NULL: no classes */
HINGE_API const size_t *hinge_model_class_sv(const hinge_model *model); /* [n_classes] SVs a class, or NULL */
HINGE_API const double *hinge_model_rho(const hinge_model *model);     /* [n_problems]; f = sum - rho */
HINGE_API const double *hinge_model_objectives(const hinge_model *model); /* [n_problems]; NULL: from a file */
/* Row of the training matrix of each SV, [n_sv]; NULL for a model read from a file. */
HINGE_API const size_t *hinge_model_sv_index(const hinge_model *model);
/* Coefficients as LIBSVM lays them out: [(n_classes-1) * n_sv], row m, column SV; one-vs-rest: [n_problems * n_sv]. */
HINGE_API const double *hinge_model_coef(const hinge_model *model);
/* Copies support vector i into x[n_features], the caller's. EINVAL: there is no such vector, or the kernel is
 * precomputed and the model has no vectors. */
HINGE_API hinge_status hinge_model_sv(const hinge_model *model, size_t i, double *x, hinge_error *err);
/* Sets w[n_features], the caller's, of one problem (from 0) of a linear kernel: f(x) = <w,x> - rho. Precomputed kernel:
 * the same, with the kernel values of x as its features. EINVAL: another kernel, no such problem. */
HINGE_API hinge_status hinge_model_weights(const hinge_model *model, size_t problem, double *w, hinge_error *err);
/* Sets beta[n_problems * n], the caller's, by training row, for params.beta0 and certificates; n as trained (rows of
 * weight 0 included). EINVAL: the model is from a file (see hinge_model_locate in hinge/theory.h). */
HINGE_API hinge_status hinge_model_beta(const hinge_model *model, size_t n, double *beta, hinge_error *err);

/* Makes the model take examples of more features: its support vectors have 0 in those added, as LIBSVM sees features
 * that a model has not. Call it while no other thread uses the model. EINVAL: n_features is less than it has, or the
 * model scales its features. */
HINGE_API hinge_status hinge_model_widen(hinge_model *model, size_t n_features, hinge_error *err);

/* Tells a model that it was trained on these columns of wider examples, ascending from 1 (hinge_data.columns of
 * hinge/io.h); columns[n] is copied, and files of the model number its features so. EINVAL: n is not the model's number
 * of features, it scales them, or its kernel is precomputed. */
HINGE_API hinge_status hinge_model_set_columns(hinge_model *model, const size_t *columns, size_t n, hinge_error *err);
/* Returns those columns, [*n], the model's own; NULL: all. A model file of wide and mostly empty support vectors is
 * loaded as one of those columns that hold something; then hinge_data_options.columns reads examples for it. */
HINGE_API const size_t *hinge_model_columns(const hinge_model *model, size_t *n);

/* Tells a model which words its labels stand for (hinge_data.words of hinge/io.h); its file names them. words is
 * copied; NULL or count 0: labels are numbers. EINVAL: the model has no classes, or one without a word. */
HINGE_API hinge_status hinge_model_set_words(hinge_model *model, const hinge_words *words, hinge_error *err);
/* Returns those words, the model's own; NULL: labels are numbers. */
HINGE_API const hinge_words *hinge_model_words(const hinge_model *model);

/* Tells a model the names of its features, such as of a table's columns (hinge_data.names of hinge/io.h), and target,
 * that of what it predicts; its file tells them, and a table is matched by them (hinge_data_options.names). names->word
 * [names->count] and target are copied; NULL: there are none. EINVAL: more names than features, a name that is empty,
 * stands twice or holds control characters. */
HINGE_API hinge_status hinge_model_set_names(hinge_model *model, const hinge_words *names, const char *target,
                                             hinge_error *err);
/* Return those names, of the model's first features, and that of its target, the model's own; NULL: it has none. */
HINGE_API const hinge_words *hinge_model_names(const hinge_model *model);
HINGE_API const char *hinge_model_target(const hinge_model *model);

/* ---- The full certificate --------------------------------------------------------------------------- */

/* Objectives (summed over the two-class problems) and residuals (the largest of them), all recomputed in f64 from the
 * data and the model. By weak duality gap >= 0, and it is 0 at the optimum. Hard margin: primal is that of (w, b)
 * divided by the least y f, infinite where that is not > 0; residuals are not divided by C. */
typedef struct hinge_certificate {
    double primal, dual; /* primal objective, minimised; dual objective, maximised */
    double gap;          /* primal - dual */
    double kkt;          /* the violation, in units of f (without bias: the larger of max F down and - min F up) */
    double slackness;    /* largest of alpha (y f - 1 + xi) and (C - alpha) xi, divided by C */
    double sum_residual; /* |s'alpha - delta| divided by the sum of C */
    double box_residual; /* largest alpha outside [0, C], divided by C */
    double seconds;      /* wall-clock seconds that it took */
} hinge_certificate;

/* Computes the certificate of a model. Give x, y and params as it was trained; call hinge_model_locate (hinge/theory.h)
 * first for a model from a file, whose rows and classes may come in any order. It takes one pass over K(all, SV) in
 * f64, or with the linear kernel two over x. */
HINGE_API hinge_status hinge_certify(const hinge_model *model, const hinge_matrix *x, const double *y,
                                     const hinge_params *params, hinge_certificate *certificate, hinge_error *err);
/* Does the same for a model of hinge_train_many, by the targets that it was trained on: objectives and gap are sums
 * over them, the other numbers the largest of any. EINVAL: also a model of another number of targets, or of y. */
HINGE_API hinge_status hinge_certify_many(const hinge_model *model, const hinge_matrix *x, const hinge_targets *targets,
                                          const hinge_params *params, hinge_certificate *certificate, hinge_error *err);

/* ==== Expert ========================================================================================== */

/* ---- Kernel values ---------------------------------------------------------------------------------- */

/* Computes out[i * ld + j] = K(a_i, b_j) for i < a->rows, j < b->rows. out is the caller's, of `type`, [a->rows * ld],
 * ld >= b->rows in elements; what is between the rows is left as it is. a and b have as many features as each other,
 * whatever their types and orders; HINGE_GAMMA_AUTO goes by that number. Values are made by matrix products, as in
 * training: beside out this takes some 100 MB at most with two threads, and 100 bytes a row of a and b (features of two
 * values each: up to 1 KB). Where b is a (the same view), half of them are computed, and out is symmetric to the bit.
 * An RBF kernel's value of equal rows is 1. The bits are the same for any number of threads.
 * options may be NULL. threads, cpu_level, maker, progress (of a's rows) are as in hinge_predict, but that counts serve
 * too; precision auto makes the
 * values in out's type (in f64 where f32 does not hold the rows' norms, and for RBF as at HINGE_PRECISION_F32), f32 and
 * f64 in those. Values too large for `type` are infinite.
 * EINVAL: values of a or b that are not finite, a precomputed kernel. ECALLBACK: the user's kernel, or the callback,
 * ended it; out then holds some of the values. */
HINGE_API hinge_status hinge_kernel_block(const hinge_kernel *kernel, const hinge_matrix *a, const hinge_matrix *b,
                                          const hinge_predict_options *options, hinge_dtype type, void *out, size_t ld,
                                          hinge_error *err);

/* ---- How it was trained ------------------------------------------------------------------------------ */

/* Stores in a model how it was trained, so that its file can tell: C, nu, p, eps, no_bias, weights of classes, and
 * whether examples had weights. NULL: forgets them. Files keep them in a key of hinge's own, which LIBSVM refuses. */
HINGE_API hinge_status hinge_model_set_training(hinge_model *model, const hinge_params *params, hinge_error *err);
/* Returns 1 if the model holds how it was trained, and sets those fields of *params (task and kernel too; arrays are
 * the model's own) and *weighted (may be NULL), 1 where examples had weights. Returns 0 otherwise, and sets nothing. */
HINGE_API int hinge_model_training(const hinge_model *model, hinge_params *params, int *weighted);

/* ---- The machine ------------------------------------------------------------------------------------ */

typedef struct hinge_machine {
    int threads;         /* number of threads, omp_get_max_threads() */
    int cpu_level;       /* highest of 1..4 that this processor runs */
    int avx512;          /* 1: AVX-512 F, BW, DQ, VL, CD */
    char blas[64];       /* as in hinge_report */
    int blas_is_openmp;  /* 1: OpenBLAS's OpenMP build, 0: another build or BLAS */
    int blas_slow;       /* as in hinge_report */
    size_t total_memory; /* bytes; a container's limit, where that is less */
} hinge_machine;

/* Returns what the library sees of the machine and of the BLAS it is linked with. */
HINGE_API hinge_machine hinge_machine_info(void);

#ifdef __cplusplus
}
#endif
#endif
