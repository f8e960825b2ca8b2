/*
 * Calibration: from decision values to probabilities (proba.c), and by what data (calibrate.c).
 */
#ifndef HG_PROBA_H
#define HG_PROBA_H

#include "lib/model.h"

enum { HG_MARKS = 10 }; /* of a one-class model's density */

/* P(first class | f) = 1 / (1 + exp(a f + b)) by maximum likelihood: Platt's targets, Newton's method as in
 * Lin, Lin, Weng 2007. first[i]: example i is of the first class. */
void hg_fit_sigmoid(const double *decision, const bool *first, size_t n, double *a, double *b);
double hg_sigmoid(double decision, double a, double b);

/* Pairwise probabilities r[i * k + j] = P(i | i or j) to p[k], method 2 of Wu, Lin, Weng 2004. work: [k * k +
 * k] */
void hg_couple_pairs(size_t k, const double *r, double *p, double *work);

/* Probabilities p[k] of classes from the decision values of their pairs, each with a sigmoid. work: [2 * k * k + k] */
void hg_pair_probabilities(size_t k, const double *a, const double *b, const double *decision, double *p,
                           double *work);

/* P(normal) of one-class by the ten marks that a decision value lies between, in tenths. */
double hg_density(const double *marks, double decision);

/* ---- calibrate.c ------------------------------------------------------------------------------------------------- */

/* Calibrates a model on the data it was trained on, by 5-fold cross-validation (one-class: by the model
 * itself). begin: when the training began, from which time limit and progress count. A stop or a time limit
 * leaves the model as it is and makes *outcome say so; data that are too few leave it as it is. */
hinge_status hg_calibrate_by_folds(hinge_model *model, const hinge_matrix *x, const double *y,
                                   const hinge_params *params, double begin, hinge_outcome *outcome,
                                   hinge_error *err);

/* What a calibration sets; moves into the model as a whole. */
struct hg_calibrated {
    double *a, *b, *marks;
};

hinge_status hg_calibrated_init(struct hg_calibrated *calibrated, const hinge_model *model, hinge_error *err);
/* Problem p's part, by decision values of n examples that were held out, or regression's residuals; one-class: of those
 * trained on, which are sorted. first [n], classes alone: is the example of the first one? Values that are not finite,
 * and too few for one-class, leave it as it is, and are told by false. */
bool hg_calibrated_fit(struct hg_calibrated *calibrated, size_t p, double *decision, const bool *first, size_t n);
/* Into the model; what it had is in calibrated then. */
void hg_calibrated_install(struct hg_calibrated *calibrated, hinge_model *model);
void hg_calibrated_free(struct hg_calibrated *calibrated);

#endif
