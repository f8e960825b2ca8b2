/*
 * What the lecture notes on support vector machines derive, as small functions: each can be called, tested and read
 * alone. The conventions and the notation are those of hinge.h. Sources, as named below:
 *
 *   [Shi]          J. Shi, ML Session 2, Part 2: Support Vector Machines, slides, 2018
 *   [Perez]        N. Perez de la Blanca, Optimal Linear Classifiers: Support Vector Machines, slides
 *   [Notes 9]      Linear SVM, notes with equations 9.1 to 9.30
 *   [Karagiannis]  G. Karagiannis, Lecture notes 8: Support Vector Machines, 2025
 *   [Ho]           C.-J. Ho, CSE 417T lecture 18, slides
 *
 * Two-class labels are +1 and -1, f is a decision value, y f its margin in units of the functional margin, and C the
 * factor of the sum of the slacks in 1/2 ||w||^2 + C sum xi, as in hinge_params. Functions of plain numbers return
 * NaN for arguments outside their domain.
 */
#ifndef HINGE_THEORY_H
#define HINGE_THEORY_H

#include <hinge/hinge.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Decision functions: [Shi, "Decision functions"] ------------------------------------------------------- */

/* Returns +1 if a > 0, otherwise -1: sign(0) = -1. */
HINGE_API double hinge_sign(double a);
/* Returns the position of the largest of values[n], the first of equal ones, as argmax_y <x, w_y> wants it. n >= 1; NaN
 * is never largest. */
HINGE_API size_t hinge_argmax(const double *values, size_t n);
/* Sets decisions[rows * k], the caller's: <x_i, w_c> + b_c of each row and each of k weight vectors w[k * x->cols],
 * row-major; b[k], or NULL: 0. The sign of the one value (k = 1) or the argmax of the row is the class. threads 0:
 * omp_get_max_threads(). EINVAL: values of x that are not finite. */
HINGE_API hinge_status hinge_linear_decisions(const hinge_matrix *x, const double *w, const double *b, size_t k,
                                              int threads, double *decisions, hinge_error *err);
/* Scales w[d] and *b such that the nearest row of x has |<x, w> + b| = 1, which leaves the hyperplane where it is and
 * makes its margin 1 / ||w|| [Perez, "the magnitude depends on a free scale"; Notes 9, eq. 9.3]. EINVAL: a row lies on
 * it, values that are not finite. */
HINGE_API hinge_status hinge_normalise(const hinge_matrix *x, double *w, double *b, int threads, hinge_error *err);
/* Makes a linear two-class model with f(x) = <w, x> + b, w[d], for hinge_predict and files; its one support vector is
 * w. *model is the caller's, freed with hinge_model_free. positive and negative are the labels for f > 0 and otherwise.
 * EINVAL: values that are not finite, equal labels. */
HINGE_API hinge_status hinge_linear_model(hinge_model **model, const double *w, size_t d, double b, double positive,
                                          double negative, hinge_error *err);

/* ---- Losses of a margin m = y f: [Perez, "Soft-SVM and SGD"] ----------------------------------------------- */

typedef enum hinge_loss {
    HINGE_LOSS_HINGE = 0,   /* max(0, 1 - m): the SVM */
    HINGE_LOSS_PERCEPTRON,  /* max(0, -m): [Shi, "View it in ERM"] */
    HINGE_LOSS_LOGISTIC,    /* log2(1 + exp(-m)): logistic regression; base 2, so that it is 1 at m = 0 */
    HINGE_LOSS_ZERO_ONE,    /* 1 if m <= 0, otherwise 0: [Karagiannis, example 30] */
    HINGE_LOSS_EXPONENTIAL, /* exp(-m): boosting */
    HINGE_N_LOSSES
} hinge_loss;

/* Returns a loss at a margin; NaN: there is no such loss. Hinge, logistic and exponential loss are >= the 0-1 loss at
 * every m; the perceptron's is not. */
HINGE_API double hinge_loss_value(hinge_loss loss, double margin);
/* Returns minus a loss's derivative by the margin, where it has none the larger one, but for the hinge loss's 0 at m =
 * 1: what subgradient steps are times y x. At most e^300; the 0-1 loss: 0. */
HINGE_API double hinge_loss_slope(hinge_loss loss, double margin);
/* Returns the mean of a loss over margins[n]: the empirical risk R_n. */
HINGE_API double hinge_loss_mean(hinge_loss loss, const double *margins, size_t n);
/* Returns "hinge", "perceptron", ...; static; NULL: there is no such loss. */
HINGE_API const char *hinge_loss_name(hinge_loss loss);

/* Returns the loss of quantile regression at level tau in [0, 1]: tau r for a residual r = target - f >= 0, (tau - 1) r
 * below [Koenker, Bassett 1978]. */
HINGE_API double hinge_pinball(double tau, double residual);

/* ---- Linear classifiers round by round --------------------------------------------------------------------- */

/* Where a method stands after a round (perceptron) or an epoch (SGD). */
typedef struct hinge_online_round {
    double objective; /* perceptron: mean of max(0, -y f); SGD: lambda ||w||^2 + mean loss */
    size_t errors;    /* examples with y f <= 0 */
} hinge_online_round;

/* Both methods call options.progress after each round and, in long ones, about ten times a second: rounds are those
 * carried out, iterations the batches, objective as above where the round was measured, otherwise NaN, violation NaN.
 * If it returns another value than 0, the run ends, and w and b are what it has come to. */

typedef struct hinge_perceptron_options {
    double step;      /* eta > 0; 0: 1 */
    size_t rounds;    /* T, at most; 0: 1000 */
    size_t batch;     /* examples an update; 0: all, as in [Shi, eq. 1]; 1: the classical perceptron */
    int bias;         /* 1: f = <x, w> + b, learnt as <(x, 1), (w, b)> [Shi, footnote 1]; 0: b = 0 */
    int strict;       /* 1: updates where y f < 0, as printed in [Shi, eq. 1]; 0: where y f <= 0, since with "<" and
                       * w_1 = 0 the first sum is empty and w stays 0 */
    const double *w0; /* [d] w_1, or NULL: 0; b begins at 0 */
    uint64_t seed;    /* batch > 0: start of the draws of the examples' order, anew each round */
    int threads;      /* number of threads; 0: omp_get_max_threads(). The result does not depend on it */
    hinge_progress_fn progress; /* or NULL; see hinge_online_round */
    void *progress_arg;
} hinge_perceptron_options;

/* Trains a perceptron: w += eta sum y_i x_i over examples with y_i f_i <= 0, a round at a time, until a round ends with
 * no error left or nothing can change any more. y[rows]: +1, -1. w[d]; *b only with options->bias (NULL otherwise);
 * history[rounds] gets *n_rounds entries, of those carried out; both may be NULL. On separable data the number of
 * rounds is finite (sum of the errors of a batch run <= n R^2 / margin^2). options may be NULL. EINVAL: labels, values
 * that are not finite. */
HINGE_API hinge_status hinge_perceptron(const hinge_matrix *x, const double *y, const hinge_perceptron_options *options,
                                        double *w, double *b, hinge_online_round *history, size_t *n_rounds,
                                        hinge_error *err);

typedef struct hinge_sgd_options {
    double lambda; /* > 0, see hinge_tradeoff_convert; 0: none, where there is a ball or eta */
    size_t epochs; /* passes over the examples; 0: as many as hinge_sgd_epochs says */
    size_t batch;  /* examples a step; 0: 1 */
    double eta;    /* eta_t = eta / t^power; 0: Pegasos' step 1 / (2 lambda t), with lambda = 0 sqrt(ball / t) / R */
    double power;  /* 0 constant, 0.5, 1, ...; with eta > 0 only */
    int bias;      /* 1: f = <x, w> + b, b not regularised [Karagiannis, example 31]; 0: homogeneous halfspaces, b = 0
                     * [Karagiannis, definition 21] */
    int last;      /* 1: the last iterate; 0: the mean of all, weighted by t */
    uint64_t seed; /* start of the draws of the examples' order, anew each epoch */
    int threads;   /* threads that measure history; 0: omp_get_max_threads(). The result does not depend on it */
    hinge_progress_fn progress; /* or NULL; see hinge_online_round */
    void *progress_arg;
    hinge_loss loss; /* 0: the hinge loss; logistic, exponential or the perceptron's, of which w = 0 is the best where
                      * lambda > 0 */
    double ball;     /* C of min E_in subject to w'w <= C [Perez]; 0: there is none. hinge_tradeoff_ball finds the C of
                      * the sum of slacks that has the same w */
} hinge_sgd_options;

/* Trains a soft SVM by stochastic subgradients: min lambda ||w||^2 + 1/m sum max(0, 1 - y_i (<x_i, w> + b))
 * [Karagiannis, eq. 3.4 and example 31, whose recursion leaves out the regulariser's 2 lambda w: it is put back here].
 * A step on a batch B: w <- w - eta_t (2 lambda w - 1/|B| sum over y f < 1 of y x), then onto the ball ||w||^2 <= 1 /
 * (2 lambda), which holds the optimum (Shalev-Shwartz, Singer, Srebro 2007); of other losses -loss'(y f) y x, and 1 /
 * lambda. A step by the exponential loss moves no margin of its batch by more than 1. With a bias, rows are taken
 * relative to their mean, b takes steps of 1 / sqrt(t) (with eta > 0: eta_t), and in the end the value that is best
 * for w, exactly. w[d]; *b only with options->bias (NULL otherwise); history[epochs] or NULL: after each epoch, of
 * what would be returned then but for that last step of b. EINVAL: labels, lambda, values that are not finite,
 * history without a number of epochs. */
HINGE_API hinge_status hinge_sgd(const hinge_matrix *x, const double *y, const hinge_sgd_options *options, double *w,
                                 double *b, hinge_online_round *history, hinge_error *err);
/* Returns the epochs after which the Pegasos step's mean is mostly within 1e-2 of the optimum, where w = 0 is worth 1,
 * on data of radius R (largest ||x||) with m examples and batches of so many: ceil(30 (1 + R^2) / (2 lambda) batch /
 * m), 5 at least and 1000 at most. A rule that tests hold up where the 1000 do not cut it short; the theorem behind it
 * has (R + sqrt(2 lambda))^2 / (1 + R^2) / 15 on average, without b. Where R is large, scale the data. */
HINGE_API size_t hinge_sgd_epochs(double lambda, double radius, size_t m, size_t batch);

/* ---- Feature maps: [Perez, "Polynomial kernel"], [Notes 9, eq. 9.20 to 9.28], [Ho] ------------------------- */

/* Sets *dimension = C(degree + d, degree), the number of monomials of degree at most `degree` in d variables. ESIZE
 * where the features of so many rows are more than this machine's memory holds: use the kernel then. rows 0: the number
 * alone, and ESIZE only where it overflows. */
HINGE_API hinge_status hinge_polynomial_dimension(size_t d, int degree, size_t rows, size_t *dimension,
                                                  hinge_error *err);
/* Sets z[rows * dimension], the caller's, row-major, such that <z_i, z_j> = (coef0 + gamma <x_i, x_j>)^degree:
 * monomials 1, x_1 .. x_d, x_1 x_1, x_1 x_2, .., x_d x_d, .. by degree q, each times sqrt(C(Q, q) coef0^(Q-q) gamma^q
 * q! / prod k_j!) for exponents k_j. Cross terms, which [Notes 9, eq. 9.25 and 9.26] leave out, are in; the first
 * coefficient is sqrt(coef0^Q), where [Perez] prints 1. kernel: HINGE_POLYNOMIAL with coef0 >= 0. EINVAL, ESIZE,
 * ENOMEM. */
HINGE_API hinge_status hinge_polynomial_features(const hinge_matrix *x, const hinge_kernel *kernel, int threads,
                                                 double *z, hinge_error *err);

/* ---- Mercer's condition: [Perez, "Choice of Kernels"], [Notes 9, eq. 9.30], [Ho] --------------------------- */

typedef struct hinge_mercer {
    double smallest, largest; /* eigenvalues of (K + K') / 2 */
    double asymmetry;         /* largest |K_ij - K_ji| */
    double tolerance;         /* relative, that the verdict used */
    int symmetric;            /* asymmetry <= tolerance max |K| */
    int semidefinite;         /* smallest >= - tolerance max(largest, -smallest) */
} hinge_mercer;

/* Checks whether the kernel matrix of these points is symmetric and positive semi-definite, as a kernel's must be for
 * any points. A "no" is a proof (but for rounding), a "yes" speaks of these points only. tolerance 0: 1e-10. All of K
 * in f64: n^2 values, 4/3 n^3 operations. EINVAL: a kernel value is not finite; ESIZE, ENOMEM, ECALLBACK. */
HINGE_API hinge_status hinge_mercer_check(const hinge_matrix *x, const hinge_kernel *kernel, double tolerance,
                                          int threads, hinge_mercer *mercer, hinge_error *err);

/* ---- Kinds of support vectors, classes of slack: [Shi, "Support Vectors"], [Perez], [Ho] ------------------- */

typedef enum hinge_sv_kind {
    HINGE_NO_SV = 0,    /* alpha = 0 */
    HINGE_MARGIN_SV,    /* 0 < alpha < C: on the margin, xi = 0 */
    HINGE_NON_MARGIN_SV /* alpha = C */
} hinge_sv_kind;

typedef enum hinge_slack_class {
    HINGE_SLACK_NONE = 0, /* xi = 0: on the margin or beyond it */
    HINGE_SLACK_INSIDE,   /* 0 < xi < 1: right, but inside the margin */
    HINGE_SLACK_BOUNDARY, /* xi = 1: on the decision boundary */
    HINGE_SLACK_WRONG     /* xi > 1: on the wrong side */
} hinge_slack_class;

/* Returns the kind of a coefficient. alpha >= C (1 - 1e-12) counts as alpha = C, so that coefficients divided by a
 * common factor are known again. */
HINGE_API hinge_sv_kind hinge_sv_kind_of(double alpha, double C);
/* Returns xi = max(0, 1 - y f). */
HINGE_API double hinge_slack(double y, double f);
/* Returns the class of a slack; one within tolerance of 0 or 1 counts as equal; 0 <= tolerance < 1/2. A run to
 * violation eps leaves xi of margin support vectors below eps. */
HINGE_API hinge_slack_class hinge_slack_class_of(double slack, double tolerance);

/* An example in a two-class problem. */
typedef struct hinge_point {
    double y;        /* +1 first class, -1 second; 0: the example is not in this problem, all else is 0 */
    double alpha, C; /* C times the weights of class and example; nu-SVC: 1/r times the weights */
    double f, slack; /* in f64 from the coefficients */
    hinge_sv_kind kind;
    hinge_slack_class slack_class;
} hinge_point;

/* A two-class problem summed up. */
typedef struct hinge_kinds {
    size_t n, n_margin_sv, n_non_margin_sv; /* examples, and support vectors of each kind */
    size_t n_slack[4];                      /* by hinge_slack_class */
    double sum_alpha;
    double norm2;               /* ||w||^2 = beta' K beta */
    double bias;                /* the model's b */
    double bias_low, bias_high; /* b that the optimality conditions allow [Perez, "In other cases there are a range of
                                 * solutions"], low <= high. Where they contradict each other by the violation, as
                                 * they do where there are margin SVs, b between them breaks none by more than that */
    double alpha_slackness;     /* largest |alpha (y f - 1 + xi)|, divided by C: [Shi, eq. 6] */
    double slack_slackness;     /* largest (C - alpha) xi, divided by C: [Shi, eq. 7] */
} hinge_kinds;

/* Finds kind and class of every example of a C-SVC or nu-SVC problem. Give x, y, params as the model was trained (see
 * hinge_model_locate for models from files); points[x->rows] is the caller's, or NULL. It takes one pass over K(all,
 * SV) in f64. */
HINGE_API hinge_status hinge_kinds_of(const hinge_model *model, const hinge_matrix *x, const double *y,
                                      const hinge_params *params, size_t problem, double tolerance, hinge_kinds *kinds,
                                      hinge_point *points, hinge_error *err);

/* A callback that is told of a problem and of all rows, points[x->rows], which are gone when it returns. Return another
 * value than 0 to end the call. */
typedef int (*hinge_kinds_fn)(void *arg, size_t problem, const hinge_kinds *kinds, const hinge_point *points);
/* Does hinge_kinds_of for every problem in turn, with data and coefficients set up once, which models of many classes
 * need. ECALLBACK: each returned another value than 0. */
HINGE_API hinge_status hinge_kinds_each(const hinge_model *model, const hinge_matrix *x, const double *y,
                                        const hinge_params *params, double tolerance, hinge_kinds_fn each, void *arg,
                                        hinge_error *err);

/* Finds the training row of each support vector of a model that was read from a file, by equality of all features and,
 * for classification, of the label; hinge_model_sv_index, hinge_model_beta, hinge_certify and hinge_kinds_of then work
 * as after training. x is as the model was trained: scaled, if it scales. Of equal rows the first are taken, each
 * once; of those with different targets (regression, y not NULL) the ones for which the coefficients are optimal.
 * Where examples have weights, hinge_certify and hinge_kinds_of look anew, by the bounds that these give. Precomputed
 * kernels: x[i, i] belongs to row i. EINVAL: some are not there; *missing (or NULL) says how many, and the model is as
 * it was. Call it while no other thread uses the model. */
HINGE_API hinge_status hinge_model_locate(hinge_model *model, const hinge_matrix *x, const double *y, size_t *missing,
                                          hinge_error *err);

/* ---- Margin and radius ------------------------------------------------------------------------------------- */

/* Sets *norm2 = ||w||^2 = beta' K beta of one problem, from the support vectors. EINVAL: precomputed kernel, whose
 * values at the rows trained on tell it: hinge_kinds. */
HINGE_API hinge_status hinge_model_norm2(const hinge_model *model, size_t problem, double *norm2, hinge_error *err);
/* Returns 1 / ||w||: the distance of the margin from the boundary in feature space [Shi], [Perez], [Notes 9]. norm2 >
 * 0. */
HINGE_API double hinge_margin(double norm2);
/* Returns |f| / ||w||: the distance of a point with decision value f from the hyperplane [Notes 9, eq. 9.2;
 * Karagiannis, lemma 17]. norm2 > 0. */
HINGE_API double hinge_distance(double f, double norm2);
/* Sets *radius = the largest ||Phi(x_i)||, or, centred, ||Phi(x_i) - mean Phi||, as [Shi] assumes of the data. Centred
 * takes n^2 kernel values, unless the kernel is linear. */
HINGE_API hinge_status hinge_radius(const hinge_matrix *x, const hinge_kernel *kernel, int centred, int threads,
                                    double *radius, hinge_error *err);

/* ---- Bounds ------------------------------------------------------------------------------------------------ */

/* Leave-one-out error <= number of support vectors / n: [Perez], [Ho]. It holds for C-SVC where each problem has a
 * margin support vector: leaving another row out does not change the solution. It does not for nu-SVC, whose sums are
 * shares of n. */
HINGE_API double hinge_bound_leave_one_out(size_t n_sv, size_t n);
/* VC dimension of rho-fat hyperplanes on a ball of radius R in d dimensions <= min(ceil(R^2/rho^2), d) + 1 [Perez,
 * "Fat Hyperplanes Shatter Fewer Points"]. d may be infinite. */
HINGE_API double hinge_bound_vc_fat(double radius, double margin, double d);
/* h <= min(D, ceil(4 R^2 / gamma^2)) [Shi, "Theoretical justification"]; R of centred data. */
HINGE_API double hinge_bound_vc_slides(double radius, double margin, double d);
/* m_H(n) <= sum of the first h + 1 binomial coefficients of n, for VC dimension h; infinite where that overflows. */
HINGE_API double hinge_bound_growth(size_t h, size_t n);
/* P[falsification] >= 1 - m_H(n) / 2^n [Perez, "Falsification and m_H(N)"]: n labels drawn at random are more than H
 * can fit. m_H by hinge_bound_growth; 0 where n <= h. */
HINGE_API double hinge_bound_falsification(size_t h, size_t n);
/* R(g) <= R_n(g) + 2 sqrt(2 (h ln(2 e n / h) + ln(2 / delta)) / n), with probability 1 - delta, for n >= h [Shi, "VC
 * bound"]. n < h: infinity, no bound. */
HINGE_API double hinge_bound_vc_risk(double risk, double h, size_t n, double delta);
/* E R(A(S)) <= R(u) + lambda ||u||^2 + 2 R^2 / (lambda m) for any u [Karagiannis, example 30; its rho is R here]. */
HINGE_API double hinge_bound_stability(double risk, double norm2, double lambda, double radius, size_t m);
/* The excess over min R(u), ||u|| <= B, at the best lambda = sqrt(2 R^2 / (B^2 m)): sqrt(8 R^2 B^2 / m). */
HINGE_API double hinge_bound_stability_best(double radius, double B, size_t m);
HINGE_API double hinge_stability_lambda(double radius, double B, size_t m);

typedef struct hinge_leave_one_out_report {
    size_t n, n_sv;        /* rows of weight > 0; support vectors of all of them */
    size_t retrained;      /* trainings beside that of all rows */
    size_t errors;         /* classification: wrong predictions of rows of weight > 0 */
    double error, bound;   /* errors / n (regression: mean squared error or pinball loss); n_sv / n (regression: NaN) */
    hinge_outcome outcome; /* the worst */
    double seconds;
} hinge_leave_one_out_report;

/* Computes the exact leave-one-out error of tasks without nu: predictions[n] (NULL: not wanted) of each row by a model
 * trained on all others. Rows that are no support vector do not change the solution, so only the others are left out,
 * each by a training that starts from the solution of all rows; all rows, where a problem has no margin SV (its b is
 * the middle of a range that other rows bound too). Trainings run side by side. params.progress is called for each:
 * problem counts them. Where it or the time limit ends the run, predictions are untouched, and errors of no use.
 * EINVAL: another task (there, every row has a say), fewer than two rows. */
HINGE_API hinge_status hinge_leave_one_out(const hinge_matrix *x, const double *y, const hinge_params *params,
                                           double *predictions, hinge_leave_one_out_report *report, hinge_error *err);

/* ---- Conventions of the trade-off -------------------------------------------------------------------------- */

typedef enum hinge_tradeoff {
    HINGE_TRADEOFF_SUM = 0, /* 1/2 ||w||^2 + C sum xi: [Shi], [Perez], [Ho]; hinge_params.C */
    HINGE_TRADEOFF_MEAN,    /* 1/2 ||w||^2 + C 1/m sum xi: [Karagiannis, eq. 3.1] */
    HINGE_TRADEOFF_LAMBDA   /* lambda ||w||^2 + 1/m sum xi: [Perez], lambda = 1/(2 C m); [Karagiannis], 1/(2 C) */
} hinge_tradeoff;

/* Returns the value in another convention that gives the same w and b on m examples. NaN: value <= 0, m = 0, or there
 * is no such convention. */
HINGE_API double hinge_tradeoff_convert(hinge_tradeoff from, hinge_tradeoff to, double value, size_t m);
/* Trains the C-SVC of two classes that minimises the mean loss subject to ||w||^2 <= ball [Perez: min E_in subject to
 * w'w <= C], and sets *C to the factor of the sum of slacks that does it. The other way needs no search: of a model,
 * ball = hinge_model_norm2. params->C is where the search begins, each training from the solution before; ||w||^2 is
 * right to ten times params->eps. Where the constraint binds at no C (||w||^2 grows no further), *C = infinity, and the
 * model is of a large C. *model is the caller's. EINVAL: another task, classes, a precomputed kernel; ECALLBACK: the
 * callback or the time limit ended a training. */
HINGE_API hinge_status hinge_tradeoff_ball(hinge_model **model, const hinge_matrix *x, const double *y,
                                           const hinge_params *params, double ball, double *C, hinge_error *err);
/* Max-margin form: min -gamma + C_mm sum xi, ||w|| = 1 [Shi, eq. 2]. A C-SVC problem solved with C solves it with C_mm
 * = C / sum alpha, gamma = 1 / ||w||, w / ||w||, b / ||w||. 0 < sum_alpha <= C m. */
HINGE_API double hinge_tradeoff_max_margin(double C, double sum_alpha);
/* The max-margin form is nu-SVC with nu = 1 / (C_mm m): trained so, w and b are the same up to a common factor. NaN
 * where C_mm m < 1: it is unbounded. */
HINGE_API double hinge_tradeoff_nu(double C_mm, size_t m);
/* Sets *sum_alpha, the sum of alpha of one problem of a C-SVC model. EINVAL: another task. */
HINGE_API hinge_status hinge_model_sum_alpha(const hinge_model *model, size_t problem, double *sum_alpha,
                                             hinge_error *err);

#ifdef __cplusplus
}
#endif
#endif
