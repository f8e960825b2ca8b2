/*
 * Scaling of features: ranges fitted, examples mapped and mapped back, the map stored in a model. A feature of range
 * [low, high] becomes (x - low) * factor + lower with factor = (upper - lower) / (high - low). It is computed so, and
 * not as x * factor + offset, since the two terms of that cancel where low is large beside high - low.
 */
#include "lib/model/scaling.h"
#include "lib/model/model.h"
#include "lib/data/params.h"

#include <math.h>

/* ---- fitting ----------------------------------------------------------------------------------------------------- */

/* Refuses ranges that are empty, reversed or not finite. */
static hinge_status check_ends(double lower, double upper, hinge_error *err)
{
    if (!(lower < upper && isfinite(upper - lower)))
        return hg_fail(err, HINGE_EINVAL, "scaling: from lower = %g to upper = %g is no range", lower, upper);
    return HINGE_OK;
}

/* Finds each feature's least and greatest value over rows of weight above 0 (weights NULL: all). Without rows all
 * ranges are [0, 0]. low and high are one block. */
hinge_status hinge_scaling_fit(hinge_scaling *scaling, const hinge_matrix *x, const double *weights, double lower,
                               double upper, hinge_error *err)
{
    hinge_scaling s = { .lower = lower, .upper = upper };
    HG_NEED(err, scaling, "scaling");
    HG_TRY(check_ends(lower, upper, err));
    HG_TRY(hg_matrix_check(x, "x", err));
    HG_TRY(hg_matrix_check_finite(x, "x", 1, err));
    s.n_features = x->cols;
    HG_TRY(HG_MAKE(err, "the ranges of features", HG_ARRAY(s.low, x->cols), HG_ARRAY(s.high, x->cols)));
    bool none = true;
    for (size_t i = 0; i < x->rows; i++) {
        if (weights != NULL && weights[i] == 0)
            continue;
        for (size_t c = 0; c < x->cols; c++) {
            double value = hg_matrix_value(x, i, c);
            s.low[c] = none ? value : fmin(s.low[c], value);
            s.high[c] = none ? value : fmax(s.high[c], value);
        }
        none = false;
    }
    if (none) {
        hg_free(s.low);
        return hg_fail(err, HINGE_EINVAL, "weights: all of %zu rows have weight 0, so there are no ranges", x->rows);
    }
    *scaling = s;
    return hg_ok(err);
}

void hinge_scaling_free(hinge_scaling *scaling)
{
    if (scaling == NULL)
        return;
    hg_free(scaling->low); /* and with it high */
    *scaling = (hinge_scaling){ 0 };
}

/* ---- the map ----------------------------------------------------------------------------------------------------- */

/* Makes factors and offsets; a feature of one value has factor and offset 0, and becomes 0 whatever it is. */
hinge_status hinge_scaling_factors(const hinge_scaling *s, double *factor, double *offset, hinge_error *err)
{
    HG_NEED(err, s, "scaling");
    HG_TRY(check_ends(s->lower, s->upper, err));
    if (s->n_features > 0 && (s->low == NULL || s->high == NULL))
        return hg_fail(err, HINGE_EINVAL, "scaling: low or high is NULL, so it has no ranges: hinge_scaling_fit");
    for (size_t c = 0; c < s->n_features; c++) {
        double low = s->low[c], width = s->high[c] - low;
        factor[c] = width != 0 ? (s->upper - s->lower) / width : 0;
        offset[c] = width != 0 ? s->lower - low * factor[c] : 0;
        if (!(width >= 0 && isfinite(width) && isfinite(factor[c]) && isfinite(offset[c])))
            return hg_fail(err, HINGE_EINVAL, "scaling: feature %zu of %zu: values from %g to %g cannot be scaled",
                           c + 1, s->n_features, low, s->high[c]);
    }
    return hg_ok(err);
}

/* Sets the base of features that vary to `lower`, and of the others to 0. */
void hg_scaling_base(const hinge_scaling *s, const double *factor, double *base)
{
    for (size_t c = 0; c < s->n_features; c++)
        base[c] = factor[c] != 0 ? s->lower : 0;
}

/* Allocates factor[n_features], behind them offsets, origins (0 where a feature has no width) and bases; the
 * caller's. */
static hinge_status make_factors(const hinge_scaling *s, double **factor, hinge_error *err)
{
    size_t n = s->n_features;
    double *f;
    HG_TRY(HG_MAKE(err, "the scaling of features", HG_ARRAY(f, 4 * n)));
    hinge_status status = hinge_scaling_factors(s, f, f + n, err);
    if (status != HINGE_OK) {
        hg_free(f);
        return status;
    }
    for (size_t c = 0; c < n; c++)
        f[2 * n + c] = f[c] != 0 ? s->low[c] : 0;
    hg_scaling_base(s, f, f + 3 * n);
    *factor = f;
    return HINGE_OK;
}

/* Checks x, and that a scaling has as many features. */
static hinge_status check_matrix(const hinge_scaling *s, const hinge_matrix *x, size_t ld, hinge_error *err)
{
    HG_NEED(err, s, "scaling");
    HG_TRY(hg_matrix_check(x, "x", err));
    if (x->cols != s->n_features)
        return hg_fail(err, HINGE_EINVAL, "x: %zu features, but the scaling has %zu", x->cols, s->n_features);
    if (ld < x->cols)
        return hg_fail(err, HINGE_EINVAL, "ld: %zu is less than x.cols = %zu", ld, x->cols);
    return HINGE_OK;
}

/* Maps all values, or back: x = low + (value - lower) / factor, which is low where a feature has one value. */
static hinge_status map(const hinge_scaling *s, const hinge_matrix *x, bool back, double *out, size_t ld,
                        hinge_error *err)
{
    double *factor = NULL;
    HG_TRY(check_matrix(s, x, ld, err));
    HG_TRY(make_factors(s, &factor, err));
    for (size_t i = 0; i < x->rows; i++)
        for (size_t c = 0; c < x->cols; c++) {
            double value = hg_matrix_value(x, i, c), f = factor[c];
            out[i * ld + c] = !back    ? (value - factor[2 * x->cols + c]) * f + factor[3 * x->cols + c]
                              : f != 0 ? s->low[c] + (value - s->lower) / f
                                       : s->low[c];
        }
    hg_free(factor);
    return HINGE_OK;
}

hinge_status hinge_scaling_apply(const hinge_scaling *s, const hinge_matrix *x, double *out, size_t ld,
                                 hinge_error *err)
{
    return map(s, x, false, out, ld, err);
}

hinge_status hinge_scaling_invert(const hinge_scaling *s, const hinge_matrix *x, double *out, size_t ld,
                                  hinge_error *err)
{
    return map(s, x, true, out, ld, err);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

/* Stores the map in the model: prediction then takes examples as they are. */
hinge_status hinge_scaling_attach(const hinge_scaling *s, hinge_model *model, hinge_error *err)
{
    double *factor = NULL;
    HG_NEED(err, model, "model");
    HG_NEED(err, s, "scaling");
    size_t n = s->n_features;
    if (n != hinge_model_n_features(model))
        return hg_fail(err, HINGE_EINVAL, "scaling: %zu features, but the model has %zu", n,
                       hinge_model_n_features(model));
    hinge_status status = make_factors(s, &factor, err);
    const double *const part[] = { factor, factor + n, factor + 2 * n, factor + 3 * n };
    HG_THEN(status, hg_model_set_scaling(model, part, err));
    hg_free(factor);
    return status;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Fits ranges where the parameters give none, and makes the scaled copy in f64, which training reads as the caller's
 * rows. */
static hinge_status scale(struct hg_scaled *s, const hinge_matrix *x, const hinge_params *params, hinge_error *err)
{
    const hinge_scaling *given = params->scaling;
    if (params->kernel.type == HINGE_PRECOMPUTED)
        return hg_fail(err, HINGE_EINVAL, "scaling: the values of a precomputed kernel cannot be scaled");
    if (given->low == NULL)
        HG_TRY(hinge_scaling_fit(&s->fitted, x, params->weights, given->lower, given->upper, err));
    s->scaling = given->low == NULL ? s->fitted : *given;
    HG_TRY(HG_MAKE(err, "scaled rows", HG_ARRAY(s->data, x->rows * x->cols)));
    s->x = hinge_matrix_f64(s->data, x->rows, x->cols);
    return hinge_scaling_apply(&s->scaling, x, s->data, x->cols, err);
}

/* Leaves x and params as they are where nothing is to be scaled. On failure nothing is left to be freed. */
hinge_status hg_scaled_init(struct hg_scaled *scaled, const hinge_matrix *x, const hinge_params *params,
                            hinge_error *err)
{
    *scaled = (struct hg_scaled){ .params = *params };
    scaled->params.scaling = NULL;
    HG_TRY(hg_matrix_check(x, "x", err));
    scaled->x = *x;
    hinge_status status = params->scaling != NULL ? scale(scaled, x, params, err) : HINGE_OK;
    if (status != HINGE_OK)
        hg_scaled_free(scaled);
    return status;
}

void hg_scaled_free(struct hg_scaled *scaled)
{
    hg_free(scaled->data);
    hinge_scaling_free(&scaled->fitted);
    scaled->data = NULL;
}
