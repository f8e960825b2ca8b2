/*
 * Calibration of a model by the data it was trained on.
 */
#ifndef HG_CALIBRATE_H
#define HG_CALIBRATE_H

#include "lib/model.h"

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
