/*
 * Calibration of a model by the data it was trained on.
 */
#ifndef HG_CALIBRATE_H
#define HG_CALIBRATE_H

#include "lib/folds.h"
#include "lib/model.h"

/* Calibrates a model on the data it was trained on, by 5-fold cross-validation (one-class: by the model
 * itself). begin: when the training began, from which time limit and progress count. A stop or a time limit
 * leaves the model as it is and makes *outcome say so; data that are too few leave it as it is. */
hinge_status hg_calibrate_by_folds(const struct hg_others *others, hinge_model *model, const hinge_matrix *x,
                                   const double *y, const hinge_params *params, double begin, hinge_outcome *outcome,
                                   hinge_error *err);

#endif
