/*
 * Calibration: from decision values to probabilities.
 */
#ifndef HG_PROBA_H
#define HG_PROBA_H

#include "lib/model.h"

/* Calibrates a freshly trained model by 5-fold cross-validation on the data it was trained on. params as given to
 * hinge_train; time_limit, if any, is what is left. */
hinge_status hg_calibrate_by_folds(hinge_model *model, const hinge_matrix *x, const double *y,
                                   const hinge_params *params, hinge_error *err);

#endif
