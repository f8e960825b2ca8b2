/* Makes the scaling that parameters ask for, by the ranges of all ranks' rows. */
#include "lib/base/base.h"
#include "lib/model/scaling.h"
#include "mpi/mpi_own.h"

#include <hinge/scaling.h>

#include <math.h>

/* Ranges of x, or those given, for d features; one that x has not is 0 in all of its rows. */
static hinge_status make_ranges(const hinge_scaling *given, const hinge_matrix *x, const double *weights, size_t d,
                                hinge_scaling *s, hinge_error *err)
{
    hinge_scaling own = { 0 }, from = *given;
    *s = (hinge_scaling){ .lower = given->lower, .upper = given->upper, .n_features = d };
    if (given->low == NULL) {
        HG_TRY(hinge_scaling_fit(&own, x, weights, given->lower, given->upper, err));
        from = own;
    } else if (given->n_features != d || given->high == NULL) {
        return hg_fail(err, HINGE_EINVAL, "scaling: it has ranges of %zu features, and there are %zu",
                       given->high != NULL ? given->n_features : 0, d);
    }
    hinge_status status = HG_MAKE(err, "the ranges of features", HG_ZEROS(s->low, d), HG_ZEROS(s->high, d));
    for (size_t c = 0; status == HINGE_OK && c < from.n_features; c++) {
        s->low[c] = from.low[c];
        s->high[c] = from.high[c];
    }
    hinge_scaling_free(&own);
    return status;
}

hinge_status hm_scale(const struct hm_net *net, const hinge_matrix *x, const hinge_params *params, size_t d,
                      hinge_scaling *scaling, double **factor, hinge_error *err)
{
    bool used = params->weights == NULL && x->rows > 0;
    HG_TRY(hm_agree(net, make_ranges(params->scaling, x, params->weights, d, scaling, err), err));
    for (size_t i = 0; params->weights != NULL && i < x->rows; i++)
        used |= params->weights[i] != 0;
    if (params->scaling->low == NULL)
        hm_merge_ranges(net, scaling->low, scaling->high, d, used);
    HG_TRY(HM_MAKE(net, err, "the scaling of features", HG_ARRAY(*factor, 2 * d)));
    HG_TRY(hinge_scaling_factors(scaling, *factor, *factor + d, err)); /* on all ranks alike */
    hg_scaling_base(scaling, *factor, *factor + d);
    return HINGE_OK;
}
