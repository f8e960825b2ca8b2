/*
 * Cross-validation over ranks: the folds of hinge_cross_validate, and for each a training by all ranks on the others,
 * which predicts it. Each rank keeps folds and predictions of its own rows.
 */
#include "lib/folds.h"
#include "mpi/own.h"
#include "mpi/train.h"

#include <math.h>
#include <stdio.h>

struct validation {
    const struct hm_net *net;
    const hinge_matrix *x;
    const double *y;
    const hinge_params *params;
    struct hm_options options;
    struct hm_own own; /* classes, counts */
    size_t folds;
    uint32_t *place;   /* [rows] among all; from own.pr.n on: of weight 0 */
    uint32_t *fold;    /* [rows] */
    uint32_t *some;    /* [rows] those of a fold, or of the others */
    double *weight;    /* [rows] */
    double *label;     /* [rows] */
    double begin;
    size_t now;        /* this fold */
};

/* ---- folds ------------------------------------------------------------------------------------------------------- */

/* Rank 0 draws for all: `all` holds the places of all ranks' rows, and gets their folds. */
static hinge_status draw_all(const struct validation *v, uint32_t *all, size_t count, hinge_error *err)
{
    size_t n = v->own.rows, groups = v->own.n_groups, *start;
    uint32_t *fold, *work;
    uint64_t state = v->params->seed;
    if (!HG_ROOM(HG_ARRAY(fold, n), HG_ARRAY(work, n), HG_ARRAY(start, groups + 2)))
        return hg_fail(err, HINGE_ENOMEM, "no memory for the folds of %zu rows", n);
    memcpy(start, v->own.pr.start, (groups + 1) * sizeof *start);
    start[groups + 1] = n;
    hg_folds_deal(&state, start, groups + 1, v->folds, work, fold);
    for (size_t k = 0; k < count; k++)
        all[k] = fold[all[k]];
    hg_free(fold);
    return HINGE_OK;
}

/* Places go to rank 0, folds come back. */
static hinge_status draw_folds(struct validation *v, hinge_error *err)
{
    size_t rows = v->x->rows, bytes = (rows + 1) / 2 * 2 * sizeof *v->fold, total = 0, ranks = (size_t)v->net->ranks;
    uint64_t *out = hg_zalloc(2 * ranks, sizeof *out), *in = out != NULL ? out + ranks : NULL;
    void *all = NULL;
    hinge_status status = HM_HAVE(v->net, out != NULL, err, "no memory");
    if (status == HINGE_OK)
        status = hm_collect(v->net, v->place, bytes, &all, &total, err);
    if (status == HINGE_OK) {
        status = v->net->rank == 0 ? draw_all(v, all, total / sizeof *v->fold, err) : HINGE_OK;
        status = hm_agree(v->net, status, err);
    }
    if (status == HINGE_OK && in != NULL) {
        in[0] = out[0] = bytes;
        v->net->turn(v->net, out); /* rank 0 has bytes for all, the others none */
        v->net->exchange(v->net, all, out, v->fold, in);
    }
    hg_free(out);
    hg_free(all);
    return status;
}

/* ---- a fold ------------------------------------------------------------------------------------------------------ */

static size_t group_of(const struct validation *v, size_t i)
{
    size_t c = 0;
    while (c < v->own.n_groups && v->place[i] >= v->own.pr.start[c + 1])
        c++;
    return c;
}

/* The largest nu that the classes allow without a fold (SIZE_MAX: with all). */
static hinge_status most_nu(struct validation *v, size_t without, double *most, hinge_error *err)
{
    const struct hg_problem *pr = &v->own.pr;
    double *weight = hg_zalloc(pr->n_classes, sizeof *weight);
    hinge_status status = HM_HAVE(v->net, weight != NULL, err, "no memory for %zu classes", pr->n_classes);
    for (size_t c = 0; status == HINGE_OK && c < pr->n_classes; c++) {
        for (size_t i = 0; i < v->x->rows; i++)
            v->weight[i] = group_of(v, i) != c || v->fold[i] == without ? 0
                           : (v->params->weights != NULL ? v->params->weights[i] : 1) *
                                 hg_class_weight(&pr->params, pr->labels[c]);
        hm_add_reals(v->net, v->weight, v->x->rows, 1, &weight[c]);
    }
    if (status == HINGE_OK)
        *most = hg_most_nu(weight, pr->n_classes, pr->one_vs_rest);
    hg_free(weight);
    return status;
}

/* Whether all rows of some class are in this fold. */
static bool misses_class(const struct validation *v)
{
    struct hm_sum sum = { 0 };
    for (size_t i = 0; v->own.pr.classifies && i < v->x->rows; i++) {
        size_t c = v->fold[i] == v->now ? group_of(v, i) : v->own.n_groups;
        sum.count[0] += c < v->own.n_groups && v->own.pr.start[c + 1] - v->own.pr.start[c] == 1;
    }
    v->net->sum(v->net, &sum);
    return sum.count[0] > 0;
}

/* This rank's rows of the fold, or those of others that count, as a copy whose data are to be freed. */
static hinge_status copy_rows(const struct validation *v, bool held, hinge_matrix *copy, hinge_error *err)
{
    *copy = (hinge_matrix){ .type = v->x->type, .cols = v->x->cols, .stride = v->x->cols };
    for (size_t i = 0; i < v->x->rows; i++)
        if (held ? v->fold[i] == v->now : v->fold[i] != v->now && v->place[i] < v->own.pr.n)
            v->some[copy->rows++] = (uint32_t)i;
    void *data = hg_alloc(copy->rows * copy->cols, hg_size_of(copy->type));
    hinge_status status = HM_HAVE(v->net, data != NULL, err, "no memory for a copy of %zu rows", copy->rows);
    if (status != HINGE_OK) {
        hg_free(data);
        return status;
    }
    hg_gather_rows(v->x, v->some, copy->rows, data);
    copy->data = data;
    return HINGE_OK;
}

/* Problems are counted over all folds. */
static int on_progress(void *arg, const hinge_progress *progress)
{
    const struct validation *v = arg;
    hinge_progress p = *progress;
    p.problem += v->now * p.n_problems;
    p.n_problems *= v->folds;
    p.seconds = hg_now() - v->begin;
    return v->params->progress(v->params->progress_arg, &p);
}

/* On all rows but this fold's, which have weight 0; or on a copy of the others, where a class is missing among them. */
static hinge_status train_fold(struct validation *v, hinge_params *p, hinge_model **model, hinge_report *report,
                               hinge_error *err)
{
    hinge_matrix x = *v->x;
    const double *y = v->y;
    bool copied = misses_class(v);
    for (size_t i = 0; i < v->x->rows; i++)
        v->weight[i] = v->fold[i] == v->now ? 0 : v->params->weights != NULL ? v->params->weights[i] : 1;
    p->weights = v->weight;
    if (copied) {
        p->positive_class = NULL;
        HG_TRY(copy_rows(v, false, &x, err));
        for (size_t k = 0; k < x.rows; k++) {
            v->weight[k] = v->weight[v->some[k]];
            v->label[k] = v->y[v->some[k]];
        }
        y = v->label;
    }
    hinge_status status = hm_train(v->net, &x, y, p, &v->options, model, report, err);
    if (copied)
        hg_free((void *)x.data);
    return status;
}

static hinge_status predict_fold(struct validation *v, const hinge_model *model, double *predictions, hinge_error *err)
{
    hinge_predict_options options = { .threads = v->params->threads, .cpu_level = v->params->cpu_level };
    hinge_matrix x;
    HG_TRY(copy_rows(v, true, &x, err));
    hinge_status status = hm_predict(v->net, model, &x, &options, false, v->label, NULL, err);
    for (size_t k = 0; status == HINGE_OK && k < x.rows; k++)
        predictions[v->some[k]] = v->label[k];
    hg_free((void *)x.data);
    return status;
}

static hinge_status validate_fold(struct validation *v, double *predictions, hinge_report *report, hinge_error *err)
{
    hinge_params p = *v->params;
    hinge_model *model = NULL;
    hinge_status status = HINGE_OK;
    double most;
    p.beta0 = NULL;
    if (p.task == HINGE_NU_SVC && (status = most_nu(v, v->now, &most, err)) == HINGE_OK)
        p.nu = HG_MIN(v->own.pr.params.nu, most); /* a fold's share of the classes can differ by a row */
    if (p.time_limit > 0)
        p.time_limit = fmax(p.time_limit - (hg_now() - v->begin), 1e-9);
    if (p.progress != NULL) {
        p.progress = on_progress;
        p.progress_arg = v;
    }
    if (status == HINGE_OK)
        status = train_fold(v, &p, &model, report, err);
    if (status == HINGE_OK && !hg_ended_early(report->outcome))
        status = predict_fold(v, model, predictions, err);
    hinge_model_free(model);
    return status;
}

/* ---- all folds --------------------------------------------------------------------------------------------------- */

static hinge_status check(const struct validation *v, const double *predictions, hinge_error *err)
{
    const struct hm_options *o = &v->options;
    if (v->params == NULL || v->x == NULL)
        return hg_fail(err, HINGE_EINVAL, "%s: NULL", v->x == NULL ? "x" : "params");
    if (predictions == NULL && v->x->rows > 0)
        return hg_fail(err, HINGE_EINVAL, "predictions: NULL");
    if (o->checkpoint != NULL || o->rounds != NULL || o->certificate != NULL)
        return hg_fail(err, HINGE_EINVAL, "checkpoint, rounds, certificate: cross-validation keeps no model");
    return HINGE_OK;
}

static hinge_status make_folds(struct validation *v, hinge_error *err)
{
    hinge_params plain = *v->params;
    double most;
    size_t rows = (v->x->rows + 1) / 2 * 2;
    bool ok = HG_ROOM(HG_ZEROS(v->place, rows), HG_ARRAY(v->fold, rows), HG_ARRAY(v->some, rows),
                      HG_ARRAY(v->weight, rows), HG_ARRAY(v->label, rows));
    HG_TRY(HM_HAVE(v->net, ok, err, "no memory for the folds of %zu rows", rows));
    plain.beta0 = NULL;
    HG_TRY(hm_place_rows(v->net, v->x, v->y, &plain, &v->own, v->place, err));
    if (v->folds < 2 || v->folds > v->own.rows)
        return hg_fail(err, HINGE_EINVAL, "folds: %zu is not in 2 .. %zu rows", v->folds, v->own.rows);
    HG_TRY(draw_folds(v, err));
    if (plain.task != HINGE_NU_SVC)
        return HINGE_OK;
    HG_TRY(most_nu(v, SIZE_MAX, &most, err)); /* not for the want of rows in a fold alone */
    return plain.nu <= most * (1 + 1e-12)
               ? HINGE_OK
               : hg_fail(err, HINGE_EINVAL, "nu: %g is infeasible for these classes; at most %g", plain.nu, most);
}

/* Folds behind one that was ended early are not begun. */
static hinge_status validate(struct validation *v, double *predictions, hinge_report *report, hinge_error *err)
{
    hinge_report one = { 0 };
    HG_TRY(make_folds(v, err));
    for (size_t i = 0; i < v->x->rows; i++)
        predictions[i] = NAN;
    for (v->now = 0; v->now < v->folds && !hg_ended_early(one.outcome); v->now++) {
        hinge_error mine;
        hinge_status status = validate_fold(v, predictions, &one, &mine);
        if (status != HINGE_OK)
            return hg_fail(err, status, "fold %zu of %zu: %s", v->now + 1, v->folds, mine.text);
        if (v->now == 0)
            *report = one;
        else
            hg_add_report(report, &one);
    }
    report->n = v->own.pr.n;
    report->d = v->own.pr.d;
    report->seconds = hg_now() - v->begin;
    size_t used = strlen(report->path);
    snprintf(report->path + used, sizeof report->path - used, ", %zu folds in turn", v->folds);
    return HINGE_OK;
}

hinge_status hm_cross_validate(const struct hm_net *net, const hinge_matrix *x, const double *y,
                               const hinge_params *params, size_t folds, const struct hm_options *options,
                               double *predictions, hinge_report *report, hinge_error *err)
{
    struct validation v = { .net = net, .x = x, .y = y, .params = params, .options = *options, .folds = folds,
                            .begin = hg_now() };
    hinge_report sum = { 0 };
    hg_ok(err);
    hinge_status status = hm_agree(net, check(&v, predictions, err), err);
    if (status == HINGE_OK)
        status = validate(&v, predictions, &sum, err);
    if (status == HINGE_OK && report != NULL)
        *report = sum;
    hm_own_free(&v.own);
    hg_free(v.place);
    return status;
}
