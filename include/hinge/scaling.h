/*
 * Scaling of features (hinge_scaling of hinge.h): fitted, applied, inverted, and stored in a model, which then takes
 * raw data. hinge_params.scaling has hinge_train do all of it, and cross-validation do it by fold. The conventions are
 * those of hinge.h.
 */
#ifndef HINGE_SCALING_H
#define HINGE_SCALING_H

#include <hinge/hinge.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fits a scaling to the ranges of the rows of x, of weight > 0 where weights[rows] is not NULL. *scaling is
 * overwritten; free it with hinge_scaling_free. EINVAL: lower and upper are no range, values that are not
 * finite, no row of weight > 0. */
HINGE_API hinge_status hinge_scaling_fit(hinge_scaling *scaling, const hinge_matrix *x, const double *weights,
                                         double lower, double upper, hinge_error *err);
/* Frees low and high of a fitted scaling and clears it; NULL is fine. */
HINGE_API void hinge_scaling_free(hinge_scaling *scaling);
/* Sets factor[n_features] and offset[n_features], the caller's: a feature becomes x * factor + offset. (The calls below
 * take (x - low) * factor + lower, the same, in which no digits are lost where a range is narrow beside its values.)
 * EINVAL: lower and upper are no range, or a feature's range is too wide or narrow for doubles. */
HINGE_API hinge_status hinge_scaling_factors(const hinge_scaling *scaling, double *factor, double *offset,
                                             hinge_error *err);
/* Scales the rows of x into out[i * ld + c], the caller's, ld >= x->cols = n_features, as a model with this scaling
 * sees them. out may be x's own data, of type HINGE_F64, with ld its stride. */
HINGE_API hinge_status hinge_scaling_apply(const hinge_scaling *scaling, const hinge_matrix *x, double *out, size_t ld,
                                           hinge_error *err);
/* Takes scaled rows of x back to raw ones in out, which is as for hinge_scaling_apply. A feature without width gets the
 * one value it had. */
HINGE_API hinge_status hinge_scaling_invert(const hinge_scaling *scaling, const hinge_matrix *x, double *out, size_t ld,
                                            hinge_error *err);
/* Stores a copy of the scaling in a model that was trained on examples scaled by it; see hinge_model_set_scaling. */
HINGE_API hinge_status hinge_scaling_attach(const hinge_scaling *scaling, hinge_model *model, hinge_error *err);

/* Makes a model that was trained on scaled data take raw data from now on: it scales them first, by
 * x[c] * factor[c] + offset[c]. factor[n_features] and offset[n_features] are copied; NULL, NULL takes the scaling off.
 * Files keep it in keys of hinge's own, which LIBSVM refuses. EINVAL: a precomputed kernel, a model of chosen columns
 * (hinge_model_columns), values that are not finite. */
HINGE_API hinge_status hinge_model_set_scaling(hinge_model *model, const double *factor, const double *offset,
                                               hinge_error *err);
/* Return the model's own factor and offset, [n_features] each; NULL: it does not scale. */
HINGE_API const double *hinge_model_scale_factor(const hinge_model *model);
HINGE_API const double *hinge_model_scale_offset(const hinge_model *model);
/* Return origin and base, [n_features] each: the model takes (x - origin) * factor + base, which is x * factor + offset
 * but for rounding. origin NULL: it is 0, and base is the offset. */
HINGE_API const double *hinge_model_scale_origin(const hinge_model *model);
HINGE_API const double *hinge_model_scale_base(const hinge_model *model);

#ifdef __cplusplus
}
#endif
#endif
