/*
 * Why a model predicts what it does: exact Shapley values of features, and gradients. The conventions are those of
 * hinge.h.
 */
#ifndef HINGE_EXPLAIN_H
#define HINGE_EXPLAIN_H

#include <hinge/hinge.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Shares each decision value out among features, by Shapley values: feature c of row i has in problem p the share
 * values[(i * n_problems + p) * n_features + c], and for each row and problem the shares and base[p] sum to f(x).
 * values[rows * n_problems * n_features] and base[n_problems] are the caller's, in units of f.
 * A share is the mean, over all orders in which features may become known, of what f gains by feature c. What f is
 * while only a set S is known is told by background: the mean of f over its rows, with the features in S taken from x
 * (what the package shap calls interventional), so that base is the mean of f over background. NULL: a feature that is
 * not known has the factor 1 in kernels that are products over features, and the value 0 in those of <x,z> (RBF:
 * Mohammadi et al. 2025, arXiv 2505.16516); it needs no data.
 * Linear, polynomial (degree 16 at most), RBF and Laplacian kernels alone have these: EINVAL otherwise. They are exact,
 * not sampled: right to about 1e-12 of the sum of |coefficient| K. Time goes by rows * (rows of background) * n_sv *
 * n_features * the lesser of n_features / 2 and 4 sqrt(n_features); polynomials by degree^3 instead of that.
 * Of options (NULL: defaults) threads, cpu_level and progress (of n rows, n_active left) count. The bits are the same
 * for any number of threads.
 * EINVAL: another number of features, no row in background, values that are not finite; ECALLBACK: the callback ended
 * it, and some rows of values are made. */
HINGE_API hinge_status hinge_explain(const hinge_model *model, const hinge_matrix *x, const hinge_matrix *background,
                                     const hinge_predict_options *options, double *values, double *base,
                                     hinge_error *err);

/* Sets gradients[(i * n_problems + p) * n_features + c], the caller's, to the derivative of decision value p by feature
 * c at row i, in f64. At a kink of the Laplacian (x_c = z_c) it is the middle of both sides. options as above.
 * EINVAL: a precomputed or a user's kernel, another number of features, values that are not finite. */
HINGE_API hinge_status hinge_gradients(const hinge_model *model, const hinge_matrix *x,
                                       const hinge_predict_options *options, double *gradients, hinge_error *err);

#ifdef __cplusplus
}
#endif
#endif
