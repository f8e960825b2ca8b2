/*
 * hinge_train: a training (training.c), and its model's calibration where that is asked for (calibrate.c).
 */
#include "lib/calibrate.h"
#include "lib/training.h"

hinge_status hinge_train(hinge_model **model, const hinge_matrix *x, const double *y,
                         const hinge_params *params, hinge_report *report, hinge_error *err)
{
    hinge_report r = { 0 };
    hinge_model *m = NULL;
    double begin = hg_now();
    hg_ok(err);
    if (model == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: NULL");
    if (params == NULL)
        return hg_fail(err, HINGE_EINVAL, "params: NULL");
    hinge_status status = hg_train(&m, x, y, params, &r, err);
    if (status == HINGE_OK && params->probability && !hg_ended_early(r.outcome)) {
        status = hg_calibrate_by_folds(NULL, m, x, y, params, begin, &r.outcome, err);
        r.seconds = hg_now() - begin;
    }
    if (status != HINGE_OK) {
        hinge_model_free(m);
        return status;
    }
    if (report != NULL)
        *report = r;
    *model = m;
    return HINGE_OK;
}
