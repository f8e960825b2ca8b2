/*
 * What the tests share: data sets, plain loops to check against, and LIBSVM as the oracle. The plain loops know
 * nothing of hinge but its public header.
 */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

#include "test/folder.h"
#include "test/tests.h"

#include <hinge/hinge.h>
#include <hinge/select.h>
#include <libsvm/svm.h>

/* What a function below returns, be it an array, a set or a model, stays until the end of the test, which gives all of
 * it back: no test frees it. */

/* Gives back what the test got, files in its folder included: the end of every test. */
int give_back(void **state);
#undef TEST
#define TEST(name) TEST_WITH(name, NULL, give_back)
void *get(size_t count, size_t size);          /* zeroed memory */
void *copy_of(const void *bytes, size_t size); /* nothing is behind it: sanitizers see a step too far */
void at_end(void (*end)(void *), void *what);  /* the test ends what it has by end(what), the last first */
hinge_model *given_back(hinge_model *model);   /* what the test made itself */
hinge_selection *selection_given_back(hinge_selection *selection);

/* ---- Data sets --------------------------------------------------------------------------------------------------- */

/* n rows of d features, dense, and a label or target each */
struct set {
    size_t n, d;
    double *x, *y;
};

uint64_t draw(uint64_t *state);      /* SplitMix64 */
double draw_unit(uint64_t *state);   /* in [0, 1) */
double draw_normal(uint64_t *state); /* mean 0, variance 1, roughly */

struct set set_new(size_t n, size_t d);
hinge_matrix set_matrix(const struct set *set);
const hinge_matrix *matrix_of(const struct set *set); /* the same, until the end of the test */
/* The rows named, in that order; d, labels and values as they are. */
struct set set_rows(const struct set *set, const size_t *rows, size_t n);
struct set set_join(const struct set *a, const struct set *b);
/* Noisy blobs of k classes; the class of row i is drawn, and named labels[class] (NULL: 1, 2, 3, ...). */
struct set set_blobs(uint64_t seed, size_t n, size_t d, size_t k, const double *labels, double noise);
struct set set_two_class(uint64_t seed, size_t n, size_t d, double noise); /* blobs labelled +1, -1 */
struct set set_regression(uint64_t seed, size_t n, size_t d);
/* Every feature mapped to [-1, 1]. */
void set_scale(struct set *set);
void set_multiply(struct set *set, double factor);

/* Rows first, first + step, ... of a LIBSVM text file (.xz), at most n (0: all), d features; false: not there.
 */
bool set_read(struct set *set, const char *path, size_t d, size_t first, size_t step, size_t n);
/* A set of the source's data folder; the test fails without it. part: "train" or "test". */
struct set set_shipped(const char *name, const char *part, size_t d, size_t first, size_t step, size_t n);
/* A set of HINGE_DATA; the test is skipped where that is unset. */
struct set set_shared(const char *name, const char *part, size_t d, size_t first, size_t step, size_t n);

/* ---- Plain loops ------------------------------------------------------------------------------------------------- */

double plain_square(const double *a, const double *b, size_t d); /* |a - b|^2 */
double plain_kernel(const hinge_kernel *kernel, const double *a, const double *b, size_t d);
/* The same as a kernel of the caller's own, whose cookie is the hinge_kernel; data in f64. */
int plain_block(void *kernel, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld);
double *plain_gram(const hinge_kernel *kernel, const struct set *a, const struct set *b); /* [a->n * b->n] */
/* Decision values [set->n * n_problems] from the model's support vectors, coefficients and rho. */
double *plain_decisions(const hinge_model *model, const struct set *set);

struct plain_certificate {
    double primal, dual, kkt, slackness, sum, box; /* as in hinge_certificate; objective = -dual */
    double bounds;                                 /* sum of upper bounds */
};

/* One problem of C-SVC, epsilon-SVR or one class, from the model's coefficients of the set and its rho. Rows whose
 * bound is 0 take no part; all params but weights are those of the training. */
struct plain_certificate plain_certify(const hinge_model *model, const struct set *set, const hinge_params *params);

/* ---- hinge ------------------------------------------------------------------------------------------------------- */

hinge_params params_for(hinge_task task, hinge_kernel kernel, double C); /* the others at their defaults */
/* Trains, and fails the test with the error's text if that fails; report may be NULL. */
hinge_model *trained(const hinge_matrix *x, const double *y, const hinge_params *params, hinge_report *report);
hinge_model *fit(const struct set *set, const hinge_params *params, hinge_report *report);
hinge_model *converged(const struct set *set, const hinge_params *params, hinge_report *report); /* or the test fails */
/* What hinge_certify says of the set that the model was trained on. */
hinge_certificate certified(const hinge_model *model, const struct set *set, const hinge_params *params);
double *fit_beta(const hinge_model *model, size_t n); /* [n_problems * n] */
double *fit_labels(const hinge_model *model, const struct set *set);
double *fit_decisions(const hinge_model *model, const struct set *set, hinge_precision precision);
/* The text of a model's file, and a model through it. */
struct text {
    char *bytes;
    size_t size;
};
struct text text_of(const hinge_model *model);
bool same_text(struct text a, struct text b);
hinge_model *written_and_read(const hinge_model *model);

/* ---- LIBSVM ------------------------------------------------------------------------------------------------------ */

struct oracle {
    struct svm_model *model;
    double objective, rho; /* sum over problems; of the last problem */
    size_t n_problems;
};

/* Trains LIBSVM as params say (weights of examples excepted), without a word on the terminal. With a
 * precomputed kernel x holds kernel values. */
struct oracle oracle_train(const struct set *set, const hinge_params *params);
double *oracle_validate(const struct set *set, const hinge_params *params, int folds); /* predictions [set->n] */
struct oracle oracle_read(const hinge_model *model); /* from the file that hinge writes */
bool oracle_refuses(const hinge_model *model);       /* that file */
void oracle_predict(const struct oracle *oracle, const struct set *set, double *labels, double *decisions);
double *oracle_probabilities(const struct oracle *oracle, const struct set *set); /* [set->n * classes] */

/* ---- Assertions -------------------------------------------------------------------------------------------------- */

/* What a call of hinge says: for calls in these assertions, and others of the test's own thread. */
extern hinge_error err;
/* A call went well; otherwise the test fails by what it says. */
#define assert_ok(call) status_or_fail((call), HINGE_OK, "", __FILE__, __LINE__)
/* A call was refused, and says these words of why. */
#define assert_refused(call, status, words) status_or_fail((call), (status), (words), __FILE__, __LINE__)
void status_or_fail(hinge_status found, hinge_status wanted, const char *words, const char *file, int line);
/* A text has these words in it. */
#define assert_says(text, words) says_or_fail((text), (words), __FILE__, __LINE__)
void says_or_fail(const char *text, const char *words, const char *file, int line);
/* |a - b| <= tolerance, NaN fails */
#define assert_near(a, b, tolerance) near_or_fail((a), (b), (tolerance), #a " = " #b, __FILE__, __LINE__)
/* |a - b| <= tolerance * |b| */
#define assert_close(a, b, tolerance) close_or_fail((a), (b), (tolerance), #a " = " #b, __FILE__, __LINE__)
void near_or_fail(double a, double b, double tolerance, const char *what, const char *file, int line);
void close_or_fail(double a, double b, double tolerance, const char *what, const char *file, int line);
double largest_difference(const double *a, const double *b, size_t n);
double share_equal(const double *a, const double *b, size_t n);

#endif
