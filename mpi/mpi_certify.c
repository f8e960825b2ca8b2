/* Tells what a solution is worth, recomputed in f64 by all ranks: hinge_certify's figures, by sums over tiles. */
#include "mpi/mpi_run.h"
#include "lib/train/training.h"

#include <math.h>

static double slope_of(const struct hm_run *r, size_t i, int l)
{
    return r->points.g[i] + r->qp.off[l][i] + r->bias[l];
}

/* Objective, gap; then of each layer the sum of its coefficients and of its boxes. */
static void form_worth(const struct hm_run *r, size_t at, size_t n, double *part)
{
    const struct hg_qp *qp = &r->qp;
    double slackness = 0;
    for (size_t i = at; i < at + n; i++)
        for (int l = 0; l < qp->layers; l++) {
            double b = qp->beta[l][i];
            part[0] += b * (0.5 * r->points.g[i] + qp->off[l][i]) + qp->kink * fabs(b);
            part[1] += hg_entry_gap(b, qp->lo[l][i], qp->hi[l][i], qp->kink, slope_of(r, i, l), &slackness);
            part[2 + l] += b;
            part[4 + l] += qp->hi[l][i] - qp->lo[l][i];
        }
}

/* Sums up C times the weights of the points outside of nu-SVR's tube. */
static void form_outside(const struct hm_run *r, size_t at, size_t n, double *part)
{
    for (size_t i = at; i < at + n; i++)
        part[0] += slope_of(r, i, 0) < 0 || slope_of(r, i, 1) > 0 ? r->qp.hi[0][i] : 0;
}

struct tube {
    struct hm_run *r;
    double b;
};

static double weight_outside(void *arg, double half)
{
    const struct tube *tube = arg;
    double sum[HM_REALS];
    tube->r->bias[0] = tube->b + half;
    tube->r->bias[1] = tube->b - half;
    hm_sum_tiles(tube->r, form_outside, 1, sum);
    return sum[0];
}

/* Finds the largest slackness and the largest way out of a box, of all points. */
static void find_largest(const struct hm_run *r, double *slackness, double *box)
{
    const struct hg_qp *qp = &r->qp;
    struct hm_sum sum = { 0 };
    for (size_t i = 0; i < r->points.n; i++)
        for (int l = 0; l < qp->layers; l++) {
            double b = qp->beta[l][i], lo = qp->lo[l][i], hi = qp->hi[l][i];
            hg_entry_gap(b, lo, hi, qp->kink, slope_of(r, i, l), slackness);
            *box = hi > lo ? fmax(*box, fmax(b - hi, lo - b) / (hi - lo)) : *box;
        }
    hm_raise(&sum.most[0], hm_key(*slackness), 0);
    hm_raise(&sum.most[1], hm_key(*box), 0);
    r->net->sum(r->net, &sum);
    *slackness = hm_value(sum.most[0].key);
    *box = hm_value(sum.most[1].key);
}

void hm_add_certificate(hinge_certificate *sum, const hinge_certificate *part)
{
    sum->dual += part->dual;
    sum->gap += part->gap;
    sum->primal += part->primal;
    sum->kkt = hg_larger(sum->kkt, part->kkt);
    sum->slackness = hg_larger(sum->slackness, part->slackness);
    sum->box_residual = hg_larger(sum->box_residual, part->box_residual);
    sum->sum_residual = hg_larger(sum->sum_residual, part->sum_residual);
    sum->seconds += part->seconds;
}

hinge_status hm_certify(struct hm_run *r, hinge_certificate *c, hinge_error *err)
{
    double sum[HM_REALS], b, factor, slackness = 0, box = 0, begin = hg_now();
    hg_problem_bias(&r->own->pr, r->bias, &b, &factor);
    factor = factor == 0 ? 1 : factor;
    struct tube tube = { r, b };
    HG_TRY(hm_compute_gradient(r, err));
    HG_TRY(hm_look(r, HINGE_OK));
    if (r->params->task == HINGE_NU_SVR)
        (void)weight_outside(&tube, hg_tube(weight_outside, &tube, r->sums[0] - r->sums[1])); /* which sets the bias */
    hm_sum_tiles(r, form_worth, 6, sum);
    find_largest(r, &slackness, &box);
    double dual = -sum[0] * factor * factor, gap = sum[1] * factor * factor;
    *c = (hinge_certificate){ .primal = dual + gap,
                              .dual = dual,
                              .gap = gap,
                              .kkt = r->report.violation,
                              .slackness = slackness,
                              .box_residual = box };
    for (int l = 0; l < r->qp.layers && !r->qp.no_sum; l++)
        c->sum_residual = hg_larger(c->sum_residual, fabs(sum[2 + l] - r->sums[l]) / fmax(sum[4 + l], 1e-300));
    c->seconds = hg_now() - begin;
    return HINGE_OK;
}

/* ---- nu-SVC's margin --------------------------------------------------------------------------------------------- */

/* Finds the largest |K(x, x)| of all points. */
static hinge_status largest_value(const struct hm_run *r, double *largest, hinge_error *err)
{
    struct hg_tiler tiler = hg_dataset_tiler(&r->own->pr.data, HINGE_F64);
    struct hg_gram gram = { 0 };
    struct hm_sum sum = { 0 };
    double *diagonal, most = 0;
    hinge_status status = HG_MAKE(err, "a diagonal", HG_ARRAY(diagonal, r->points.n));
    HG_THEN(status, hg_gram_init(&gram, &tiler, &r->own->points, r->points.of, r->points.n, NULL, NULL, 1, err));
    HG_THEN(status, hg_rows_told(hg_rows_diagonal(&gram.super, diagonal, NULL), err));
    for (size_t i = 0; status == HINGE_OK && i < r->points.n; i++)
        most = HG_MAX(most, fabs(diagonal[i]));
    hg_gram_free(&gram);
    hg_free(diagonal);
    HG_TRY(hm_agree(r->net, status, err));
    hm_raise(&sum.most[0], hm_key(most), 0);
    r->net->sum(r->net, &sum);
    *largest = hm_value(sum.most[0].key);
    return HINGE_OK;
}

/* Goes by the violation where that leaves enough of |w|^2, and otherwise by g in f64: |w|^2 less the gap is what any
 * feasible w' has at least of <w, w'>. */
hinge_status hm_look_at_margin(struct hm_run *r, double digits, bool *has_margin, hinge_error *err)
{
    double sum[HM_REALS], most, half = (r->bias[1] - r->bias[0]) / 2;
    double error = fmax(r->report.error, r->report.violation / 2);
    hm_sum_tiles(r, form_worth, 6, sum);
    HG_TRY(largest_value(r, &most, err));
    double rounding = hg_margin_rounding(r->sums, most), square = 2 * sum[0];
    *has_margin = half > digits * error;
    if (!*has_margin || (square > 4 * error * (sum[4] + sum[5]) && square > 2 * rounding))
        return HINGE_OK;
    HG_TRY(hm_compute_gradient(r, err));
    HG_TRY(hm_look(r, HINGE_OK));
    hm_sum_tiles(r, form_worth, 6, sum);
    /* as in lib/train/margin.c */
    bool proves = !hg_kernel_is_indefinite(&r->own->pr.data.kernel) && !(2 * sum[0] < -rounding);
    *has_margin = (proves ? 2 * sum[0] - sum[1] : half * (fabs(r->sums[0]) + fabs(r->sums[1]))) > rounding &&
                  half > digits * r->report.violation / 2;
    return HINGE_OK;
}
