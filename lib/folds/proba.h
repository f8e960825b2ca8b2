/*
 * Calibration: from decision values to probabilities. proba.c fits and applies, calibrate.c finds the decision values
 * that are fitted on. Read model.h before, whose prob_a, prob_b and density_marks are what a calibration leaves.
 */
#ifndef HG_PROBA_H
#define HG_PROBA_H

#include "lib/model/model.h"

enum { HG_MARKS = 10 }; /* of a one-class model's density */

/* Fits P(first class | f) = 1 / (1 + exp(a f + b)) by maximum likelihood: Platt's targets, Newton's method as in Lin,
 * Lin, Weng 2007. decision[n]: those of the n_first examples of the first class come first. */
void hg_fit_sigmoid(const double *decision, size_t n_first, size_t n, double *a, double *b);
double hg_sigmoid(double decision, double a, double b);

/* Brings pairwise probabilities r[i * k + j] = P(i | i or j) to p[k], method 2 of Wu, Lin, Weng 2004. work: [k * k +
 * k] */
void hg_couple_pairs(size_t k, const double *r, double *p, double *work);

/* Makes probabilities p[k] of classes from the decision values of their pairs, each with a sigmoid. work: [2 * k * k +
 * k] */
void hg_pair_probabilities(size_t k, const double *a, const double *b, const double *decision, double *p, double *work);

/* Returns P(normal) of one-class by the ten marks that a decision value lies between, in tenths. */
double hg_density(const double *marks, double decision);

#endif
