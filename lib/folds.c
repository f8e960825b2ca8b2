#include "lib/base.h"

hinge_status hinge_cross_validate(const hinge_matrix *x, const double *y, const hinge_params *params, size_t folds,
                                  double *predictions, hinge_report *report, hinge_error *err)
{
    (void)x, (void)y, (void)params, (void)folds, (void)predictions, (void)report;
    return hg_fail(err, HINGE_EINTERNAL, "cross-validation: not there yet");
}
