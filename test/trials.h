/*
 * The random tester: a trial is a problem drawn from one number, solved by hinge in a process of its own, and judged by
 * plain loops in long double that know nothing of hinge but its public headers.
 */
#ifndef TEST_TRIALS_H
#define TEST_TRIALS_H

#include "test/support.h"

/* ---- A trial ----------------------------------------------------------------------------------------------------- */

enum { MAX_CLASSES = 6 };

enum user_kind { USER_LAPLACE, USER_DISTANCE, USER_LINEAR, USER_NAN, USER_FAILS };

/* What a kernel of the caller's own is told; calls are counted for the one that fails. */
struct user_cookie {
    enum user_kind kind;
    double gamma;
};

struct trial {
    uint64_t number;
    bool is_qp;       /* a problem for hinge_qp_solve: nothing below has a part in it */
    bool is_f32;      /* examples are handed over as floats */
    size_t n, d, gap; /* examples, features, elements between rows */
    double *x, *y;    /* [n * d], [n]; as hinge sees them */
    void *given;      /* what matrix points at */
    hinge_matrix matrix;
    size_t m;     /* examples to predict beside those */
    double *test; /* [m * d] */
    hinge_params params;
    struct user_cookie user;
    double *weights, *beta0;
    double class_labels[MAX_CLASSES], class_weights[MAX_CLASSES];
    size_t *index;
    int n_labels; /* classes drawn */
    bool integer_labels, psd, symmetric;
    unsigned stop_after; /* looks at the progress until the callback says stop; 0: none */
    unsigned looks;
    double stopped; /* processor time when it said so; 0: not yet */
    bool twice, round_trip, certify, warm, oracle;
    size_t folds;   /* 0: no cross-validation */
    bool selects;   /* a grid is tried as well */
    char shape[96]; /* of the data, in words */
};

/* The parameters and the size (cheap), then the data. */
struct trial trial_plan(uint64_t number);
void trial_fill(struct trial *trial);
int trial_user_kernel(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld);
/* One line: what it is. */
void trial_describe(const struct trial *trial, char *text, size_t size);
/* The examples as a LIBSVM file, and the flags of `hinge train` on standard output. */
void trial_dump(const struct trial *trial, const char *path);

bool chance(uint64_t *state, double probability);
size_t pick(uint64_t *state, size_t n);                         /* 0 .. n - 1 */
double power_between(uint64_t *state, double low, double high); /* 10^low .. 10^high */
double processor_time(void);                                    /* seconds of this process, all threads */

/* ---- Truth ------------------------------------------------------------------------------------------------------- */

/* Sums over support vectors at some rows: [problems * rows], with what arithmetic in double may be off by. */
struct sums {
    size_t rows;
    long double *g;        /* sum of beta_j K(x_j, row) */
    double *slack;         /* what rounding to 53 bits in kernel values and sums may come to */
    double *absolute;      /* sum of |beta_j K(x_j, row)| */
    double largest_kernel; /* |K| */
};

/* <a, b>; adds the sum of its terms' absolute values */
long double truth_dot(const double *a, const double *b, size_t d, long double *absolute);
/* beta[problems * n]; rows[count * columns] */
struct sums truth_sums(const struct trial *trial, const double *beta, size_t problems, const double *rows,
                       size_t count);

/* A two-class problem: which examples, and their signs (regression: targets). */
struct two_class {
    size_t index;
    double sign_positive, sign_negative; /* labels; NaN: all the others */
};

struct verdict {
    long double objective, absolute;    /* minimised dual, and the sum of its terms' absolute values */
    long double kkt, kkt_low, kkt_high; /* violation; with F moved by its slack, to either side */
    long double primal, gap;
    double sum, sum_scale;    /* how far the sums are from what they should be; sum of |beta| */
    double box;               /* largest alpha outside its box, divided by the box */
    double rho_low, rho_high; /* what the conditions of optimality allow, of one layer */
    double middle, margin;    /* nu tasks: mean, and half the difference, of the two layers' thresholds; */
    double least_margin;      /* and that where a threshold has one end alone, which is taken for it */
    double r;                 /* nu-SVC: what coefficients were divided by */
    double slack;             /* largest of F */
    double drift;             /* what the sums are off by moves an objective by: that times the bias */
    double sum_caps;
    size_t n;
};

/* What example i has to do with problem p of the model: its sign, or 0. Regression, one-class: 1. */
double truth_sign(const struct trial *trial, const hinge_model *model, size_t p, size_t i);
double truth_cap(const struct trial *trial, size_t i); /* upper bound of alpha */
struct verdict truth_verdict(const struct trial *trial, const hinge_model *model, size_t p, const double *beta,
                             const struct sums *sums, double rho, bool unscaled);
size_t truth_classes(const struct trial *trial, double labels[MAX_CLASSES]);
/* false: hinge is right to refuse it; *why says so */
bool truth_valid(const struct trial *trial, const char **why);

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

void check_training(struct trial *trial);
void check_predictions(const struct trial *trial, const hinge_model *model, const struct sums *at_rows,
                       const double *beta);
void check_oracle(const struct trial *trial, const hinge_model *model, const hinge_report *report,
                  const struct verdict *verdicts, const double *beta);
void check_facts(const struct trial *trial, const hinge_model *model, const hinge_report *report,
                 const struct sums *sums, const double *beta);
void check_hulls(const struct trial *trial, const hinge_model *model, const hinge_report *report,
                 const struct sums *sums, size_t p);
void check_no_margin(const struct trial *trial, const hinge_model *model, const hinge_report *report,
                     const struct verdict *verdicts);
/* LIBSVM's coefficients by training row, [problems * n]; false: it did not end. */
bool oracle_solve(const struct trial *trial, size_t problems, double *beta);
void check_extras(struct trial *trial, const hinge_model *model, const hinge_report *report);
void check_selection(const struct trial *trial);
void check_qp(uint64_t number);
void check_tools(uint64_t number); /* scaling, stochastic gradients, geometry, or the drop-in library, by the number */
void check_geometry(const struct trial *trial, uint64_t *state);
void check_dropin(const struct trial *trial, uint64_t *state);

/* What goes on now: said where the process ends before its time. */
void phase(const char *what);
/* A finding: what is wrong, and both values. */
void finding(const char *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Said in front of the findings from now on. */
void about(const char *what);
/* What is worth knowing, and no failure. */
void remark(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Said with --one only. */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
