#include "lib/proba.h"

int hinge_model_has_probability(const hinge_model *model)
{
    return model != NULL && (model->prob_a != NULL || model->density_marks != NULL);
}

hinge_status hinge_predict_probability(const hinge_model *model, const hinge_matrix *x,
                                       const hinge_predict_options *options, double *labels, double *probabilities,
                                       hinge_error *err)
{
    (void)model, (void)x, (void)options, (void)labels, (void)probabilities;
    return hg_fail(err, HINGE_EINTERNAL, "probabilities: not there yet");
}

hinge_status hinge_model_laplace(const hinge_model *model, double *sigma, hinge_error *err)
{
    (void)model, (void)sigma;
    return hg_fail(err, HINGE_EINTERNAL, "probabilities: not there yet");
}

hinge_status hinge_calibrate(hinge_model *model, const hinge_matrix *x, const double *y,
                             const hinge_predict_options *options, hinge_error *err)
{
    (void)model, (void)x, (void)y, (void)options;
    return hg_fail(err, HINGE_EINTERNAL, "probabilities: not there yet");
}

hinge_status hg_calibrate_by_folds(hinge_model *model, const hinge_matrix *x, const double *y,
                                   const hinge_params *params, hinge_error *err)
{
    (void)model, (void)x, (void)y, (void)params;
    return hg_fail(err, HINGE_EINTERNAL, "probabilities: not there yet");
}
