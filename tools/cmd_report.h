/*
 * What hinge report was asked for, what it found out, and how it is told.
 */
#ifndef HINGE_TOOLS_REPORT_H
#define HINGE_TOOLS_REPORT_H

#include "recall.h"
#include "subject.h"

struct report_settings {
    hinge_params params; /* C, nu, p: 0 or NaN where not given */
    struct class_weights classes;
    struct data_flags data;
    double tolerance, delta;
    const char *weights, *points;
    int leave_one_out, json, no_restart;
    const char *model_path, *data_path;
};

/* A two-class problem. */
struct two_class {
    double positive, negative; /* labels; negative NaN: the rest */
    size_t n, n_slack[4];
    double losses[HINGE_N_LOSSES];
    double norm2;      /* NaN: not known */
    hinge_kinds kinds; /* where there is a certificate */
};

struct bounds {
    double radius, radius_centred; /* in feature space; centred: NaN where it would take too long */
    double dimension;              /* of the feature space */
    double leave_one_out;          /* NaN: it does not hold */
    double vc_fat, vc_slides, vc_risk;
    double lambda, stability; /* without bias, which the theorem is about; otherwise 0 */
};

struct report {
    struct subject s;
    double *weights;            /* [n], NULL: there are none */
    struct two_class *problems; /* [n_problems], classification only */
    size_t n_problems;
    int certified;
    char why[400]; /* where not */
    struct recall recall;
    hinge_certificate certificate;
    struct bounds bounds; /* two classes, certified */
    hinge_leave_one_out_report loo;
    size_t n_labels, *confusion; /* [n_labels * n_labels], rows true, columns predicted */
    double *label;
    struct score score;
};

/* Prints the report, as JSON or as text. */
void report_print(const struct report *r, const struct report_settings *s);

#endif
