/*
 * Examples to train on, scaled where the parameters ask for it. Read include/hinge/scaling.h before, which has the map
 * and its ranges; hg_scaled_init and hg_scaled_free are what training and certificates put around their rows.
 */
#ifndef HG_SCALING_H
#define HG_SCALING_H

#include "lib/base/base.h"

#include <hinge/scaling.h>

/* Holds rows and parameters as those below see them: scaled, or the caller's own where nothing is to be scaled;
 * params.scaling is NULL either way. */
struct hg_scaled {
    hinge_matrix x;        /* the caller's, or data */
    hinge_params params;   /* without their scaling */
    hinge_scaling scaling; /* of the parameters, its ranges fitted where it had none */
    hinge_scaling fitted;  /* ranges that are to be freed, or none */
    double *data;          /* [rows * cols], NULL: not scaled */
};

hinge_status hg_scaled_init(struct hg_scaled *scaled, const hinge_matrix *x, const hinge_params *params,
                            hinge_error *err);
void hg_scaled_free(struct hg_scaled *scaled);

/* Makes base[n_features] of hinge_scaling_factors' factor: a feature becomes (x - low) * factor + base. */
void hg_scaling_base(const hinge_scaling *scaling, const double *factor, double *base);

#endif
