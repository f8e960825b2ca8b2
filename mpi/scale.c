/* Rows scaled by the ranges of all ranks' rows. */
#include "lib/params.h"
#include "lib/scaling.h"
#include "mpi/own.h"

#include <math.h>

/* The ranges of all ranks, each of which has fitted its own; used: it has rows of weight > 0. */
static void merge_ranges(const struct hm_net *net, hinge_scaling *s, bool used)
{
    enum { AT_ONCE = HM_MOST / 2 };
    for (size_t first = 0; first < s->n_features; first += AT_ONCE) {
        size_t n = HG_MIN((size_t)AT_ONCE, s->n_features - first);
        struct hm_sum sum = { 0 };
        for (size_t k = 0; used && k < n; k++) {
            hm_raise(&sum.most[k], hm_key(-s->low[first + k]), 0);
            hm_raise(&sum.most[AT_ONCE + k], hm_key(s->high[first + k]), 0);
        }
        net->sum(net, &sum);
        for (size_t k = 0; k < n && sum.most[k].key != 0; k++) {
            s->low[first + k] = -hm_value(sum.most[k].key);
            s->high[first + k] = hm_value(sum.most[AT_ONCE + k].key);
        }
    }
}

/* This rank's rows with all columns; what it has not is 0. */
static hinge_status widen(const hinge_matrix *x, size_t cols, struct hg_scaled *scaled, hinge_error *err)
{
    HG_TRY(hg_matrix_check_finite(x, "x", 1, err));
    scaled->data = hg_zalloc(x->rows * cols, sizeof *scaled->data);
    if (scaled->data == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu x %zu scaled values", x->rows, cols);
    for (size_t i = 0; i < x->rows; i++)
        for (size_t c = 0; c < x->cols; c++)
            scaled->data[i * cols + c] = hg_matrix_value(x, i, c);
    scaled->x = hinge_matrix_f64(scaled->data, x->rows, cols);
    return HINGE_OK;
}

hinge_status hm_scale(const struct hm_net *net, const hinge_matrix *x, const hinge_params *params,
                      struct hg_scaled *scaled, hinge_error *err)
{
    const hinge_scaling *s = params->scaling;
    struct hm_sum sum = { .most = { { x->cols, 0 } } };
    *scaled = (struct hg_scaled){ .x = *x, .params = *params };
    scaled->params.scaling = NULL;
    if (s == NULL)
        return HINGE_OK;
    net->sum(net, &sum);
    hinge_status status = widen(x, sum.most[0].key, scaled, err);
    scaled->scaling = *s;
    if (status == HINGE_OK && s->low == NULL)
        status = hinge_scaling_fit(&scaled->fitted, &scaled->x, params->weights, s->lower, s->upper, err);
    status = hm_agree(net, status, err);
    if (status == HINGE_OK && s->low == NULL) {
        bool used = params->weights == NULL && x->rows > 0;
        for (size_t i = 0; params->weights != NULL && i < x->rows; i++)
            used |= params->weights[i] != 0;
        merge_ranges(net, &scaled->fitted, used);
        scaled->scaling = scaled->fitted;
    }
    if (status == HINGE_OK)
        status = hm_agree(net, hinge_scaling_apply(&scaled->scaling, &scaled->x, scaled->data, scaled->x.cols, err),
                          err);
    if (status != HINGE_OK)
        hg_scaled_free(scaled);
    return status;
}
