/*
 * Folds over ranks: those of hinge_cross_validate, or for calibration those of each two-class problem, and for each a
 * training by all ranks on the others, which predicts it. Each rank keeps folds and predictions of its own rows.
 */
#include "lib/calibrate.h"
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
    uint32_t *spot;    /* [rows] calibration: among those of a problem; otherwise the row's class, or one more */
    uint32_t *fold;    /* [rows] */
    uint32_t *some;    /* [rows] those of a fold, or of the others */
    double *weight;    /* [rows] */
    double *label;     /* [rows] */
    double begin;
    size_t now;        /* this fold */
    size_t done;       /* trainings before those of these folds, */
    size_t trainings;  /* and all */
    double *decision;  /* [rows] calibration: of those held out so far */
};

/* ---- folds ------------------------------------------------------------------------------------------------------- */

static const uint32_t NO_PLACE = UINT32_MAX; /* of rows that take no part */

/* Rank 0 draws for all: `all` holds the places of all ranks' rows in groups, and gets their folds. */
static hinge_status draw_all(const struct validation *v, uint64_t state, const size_t *start, size_t groups,
                             uint32_t *all, size_t count, hinge_error *err)
{
    size_t n = start[groups];
    uint32_t *fold, *work;
    if (!HG_ROOM(HG_ARRAY(fold, n), HG_ARRAY(work, n)))
        return hg_fail(err, HINGE_ENOMEM, "no memory for the folds of %zu rows", n);
    hg_folds_deal(&state, start, groups, v->folds, work, fold);
    for (size_t k = 0; k < count; k++)
        all[k] = all[k] == NO_PLACE ? NO_PLACE : fold[all[k]];
    hg_free(fold);
    return HINGE_OK;
}

/* Places go to rank 0, folds come back. */
static hinge_status draw_folds(struct validation *v, const uint32_t *place, uint64_t state, const size_t *start,
                               size_t groups, hinge_error *err)
{
    const struct hm_net *net = v->net;
    size_t bytes = (v->x->rows + 1) / 2 * 2 * sizeof *v->fold, total;
    void *all, *mine = NULL;
    HG_TRY(hm_collect(net, place, bytes, &all, &total, err));
    hinge_status status = net->rank == 0 ? draw_all(v, state, start, groups, all, total / sizeof *v->fold, err)
                                         : HINGE_OK;
    status = hm_agree(net, status, err);
    if (status == HINGE_OK) {
        memcpy(net->out, net->in, (size_t)net->ranks * sizeof *net->out);
        status = hm_exchange(net, all, &mine, &total, err);
    }
    if (status == HINGE_OK)
        memcpy(v->fold, mine, bytes);
    hg_free(all);
    hg_free(mine);
    return status;
}

/* ---- a fold ------------------------------------------------------------------------------------------------------ */

static double example_weight(const struct validation *v, size_t i)
{
    return v->params->weights != NULL ? v->params->weights[i] : 1;
}

static double weight_of(const struct validation *v, size_t i)
{
    double weight = example_weight(v, i);
    return v->own.pr.classifies ? weight * hg_class_weight(&v->own.pr.params, v->y[i]) : weight;
}

/* The summed weights of n groups without a fold (SIZE_MAX: with all); group [rows]. */
static void sum_weights(struct validation *v, const uint32_t *group, size_t n, size_t without, double *sums)
{
    for (size_t c = 0; c < n; c++) {
        for (size_t i = 0; i < v->x->rows; i++)
            v->weight[i] = group[i] == c && v->fold[i] != without ? weight_of(v, i) : 0;
        hm_add_reals(v->net, v->weight, v->x->rows, 1, &sums[c]);
    }
}

/* The largest nu that the classes allow without a fold. */
static hinge_status most_nu(struct validation *v, size_t without, double *most, hinge_error *err)
{
    const struct hg_problem *pr = &v->own.pr;
    double *weight = hg_alloc(pr->n_classes, sizeof *weight);
    hinge_status status = HM_HAVE(v->net, weight != NULL, err, "no memory for %zu classes", pr->n_classes);
    if (status == HINGE_OK) {
        sum_weights(v, v->spot, pr->n_classes, without, weight);
        *most = hg_most_nu(weight, pr->n_classes, pr->one_vs_rest);
    }
    hg_free(weight);
    return status;
}

/* Whether all rows of some class are in this fold. */
static bool misses_class(const struct validation *v)
{
    const struct hg_problem *pr = &v->own.pr;
    struct hm_sum sum = { 0 };
    for (size_t i = 0; pr->classifies && i < v->x->rows; i++) {
        size_t c = v->spot[i];
        sum.count[0] += v->fold[i] == v->now && c < v->own.n_groups && pr->start[c + 1] - pr->start[c] == 1;
    }
    v->net->sum(v->net, &sum);
    return sum.count[0] > 0;
}

/* This rank's rows of the fold, or those of others that count, as a copy whose data are to be freed. */
static hinge_status copy_rows(const struct validation *v, bool held, hinge_matrix *copy, hinge_error *err)
{
    *copy = (hinge_matrix){ .type = v->x->type, .cols = v->x->cols, .stride = v->x->cols };
    for (size_t i = 0; i < v->x->rows; i++)
        if (held ? v->fold[i] == v->now : v->fold[i] != v->now && v->fold[i] != NO_PLACE && v->place[i] < v->own.pr.n)
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
    p.problem += (v->done + v->now) * p.n_problems;
    p.n_problems *= v->trainings;
    p.seconds = hg_now() - v->begin;
    return v->params->progress(v->params->progress_arg, &p);
}

/* By v->weight and v->label of other folds' rows: on a copy of them, or on all rows, where others have weight 0. */
static hinge_status train_rest(struct validation *v, hinge_params *p, bool copied, hinge_model **model,
                               hinge_report *report, hinge_error *err)
{
    hinge_matrix x = *v->x;
    p->weights = v->weight;
    if (copied) {
        p->positive_class = NULL;
        HG_TRY(copy_rows(v, false, &x, err));
        for (size_t k = 0; k < x.rows; k++) {
            v->weight[k] = v->weight[v->some[k]];
            v->label[k] = v->label[v->some[k]];
        }
    }
    hinge_status status = hm_train(v->net, &x, copied ? v->label : v->y, p, &v->options, model, report, err);
    if (copied)
        hg_free((void *)x.data);
    return status;
}

/* Labels of this fold's rows, or decision values times sign. */
static hinge_status predict_fold(struct validation *v, const hinge_model *model, bool labels, double sign, double *out,
                                 hinge_error *err)
{
    hinge_predict_options options = { .threads = v->params->threads, .cpu_level = v->params->cpu_level };
    hinge_matrix x;
    HG_TRY(copy_rows(v, true, &x, err));
    hinge_status status = hm_predict(v->net, model, &x, &options, false, labels ? v->label : NULL,
                                     labels ? NULL : v->label, err);
    for (size_t k = 0; status == HINGE_OK && k < x.rows; k++)
        out[v->some[k]] = sign * v->label[k];
    hg_free((void *)x.data);
    return status;
}

/* Of a fold's training. */
static hinge_params params_of(struct validation *v)
{
    hinge_params p = *v->params;
    p.probability = 0;
    p.beta0 = NULL;
    if (p.time_limit > 0)
        p.time_limit = fmax(p.time_limit - (hg_now() - v->begin), 1e-9);
    if (p.progress != NULL) {
        p.progress = on_progress;
        p.progress_arg = v;
    }
    return p;
}

static hinge_status validate_fold(struct validation *v, double *predictions, hinge_report *report, hinge_error *err)
{
    hinge_params p = params_of(v);
    hinge_model *model = NULL;
    hinge_status status = HINGE_OK;
    double most;
    if (p.task == HINGE_NU_SVC && (status = most_nu(v, v->now, &most, err)) == HINGE_OK)
        p.nu = HG_MIN(v->own.pr.params.nu, most); /* a fold's share of the classes can differ by a row */
    for (size_t i = 0; i < v->x->rows; i++) {
        v->weight[i] = v->fold[i] == v->now ? 0 : example_weight(v, i);
        v->label[i] = v->y != NULL ? v->y[i] : 0;
    }
    if (status == HINGE_OK) /* on a copy where a class is missing among the rest */
        status = train_rest(v, &p, misses_class(v), &model, report, err);
    if (status == HINGE_OK && !hg_ended_early(report->outcome))
        status = predict_fold(v, model, true, 1, predictions, err);
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
    if (v->params->probability)
        return hg_fail(err, HINGE_EINVAL, "probability: folds over ranks are scored by labels alone");
    return HINGE_OK;
}

static hinge_status place_rows(struct validation *v, hinge_params *plain, hinge_error *err)
{
    size_t rows = (v->x->rows + 1) / 2 * 2;
    bool ok = HG_ROOM(HG_ZEROS(v->place, rows), HG_ZEROS(v->spot, rows), HG_ARRAY(v->fold, rows),
                      HG_ARRAY(v->some, rows), HG_ARRAY(v->weight, rows), HG_ARRAY(v->label, rows),
                      HG_ARRAY(v->decision, rows));
    HG_TRY(HM_HAVE(v->net, ok, err, "no memory for the folds of %zu rows", rows));
    *plain = *v->params;
    plain->probability = 0;
    plain->beta0 = NULL;
    return hm_place_rows(v->net, v->x, v->y, plain, &v->own, v->place, err);
}

static hinge_status make_folds(struct validation *v, hinge_error *err)
{
    hinge_params plain;
    double most;
    HG_TRY(place_rows(v, &plain, err));
    if (v->folds < 2 || v->folds > v->own.rows)
        return hg_fail(err, HINGE_EINVAL, "folds: %zu is not in 2 .. %zu rows", v->folds, v->own.rows);
    size_t groups = v->own.n_groups + 1, *start = hg_alloc(groups + 1, sizeof *start);
    hinge_status status = HM_HAVE(v->net, start != NULL, err, "no memory for %zu classes", groups);
    if (status == HINGE_OK) {
        memcpy(start, v->own.pr.start, groups * sizeof *start);
        start[groups] = v->own.rows; /* those of weight 0 */
        for (size_t i = 0; i < v->x->rows; i++) {
            v->spot[i] = 0;
            while (v->place[i] >= start[v->spot[i] + 1])
                v->spot[i]++;
        }
        status = draw_folds(v, v->place, plain.seed, start, groups, err);
    }
    hg_free(start);
    HG_TRY(status);
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
    v->trainings = v->folds;
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

/* ---- calibration ------------------------------------------------------------------------------------------------- */

struct decided { /* an example of a problem, on its way to rank 0 */
    uint64_t spot;
    double value;
};

/* How many examples of a problem's are of its first class; they come first. */
static size_t first_of(const struct validation *v, size_t p)
{
    const struct hg_problem *pr = &v->own.pr;
    size_t a, b;
    hg_problem_pair(pr, p, &a, &b);
    return pr->classifies ? pr->start[a + 1] - pr->start[a] : pr->n;
}

/* Where row i stands among the examples of problem p, as hg_problem_points has them. */
static uint32_t spot_of(const struct validation *v, size_t p, size_t i)
{
    const struct hg_problem *pr = &v->own.pr;
    size_t a, b, at = v->place[i], first = first_of(v, p);
    hg_problem_pair(pr, p, &a, &b);
    if (at >= pr->n)
        return NO_PLACE;
    if (!pr->classifies)
        return (uint32_t)at;
    if (at >= pr->start[a] && at < pr->start[a + 1])
        return (uint32_t)(at - pr->start[a]);
    if (b == SIZE_MAX)
        return (uint32_t)(at < pr->start[a] ? first + at : at);
    return at >= pr->start[b] && at < pr->start[b + 1] ? (uint32_t)(first + at - pr->start[b]) : NO_PLACE;
}

/* On the problem's examples out of this fold; one class against the rest as a problem of two. */
static hinge_status train_part(struct validation *v, size_t p, const double *sums, hinge_model **model,
                               hinge_report *report, hinge_error *err)
{
    hinge_params params = params_of(v);
    bool rest = v->own.pr.one_vs_rest;
    for (size_t i = 0; i < v->x->rows; i++) {
        v->weight[i] = rest ? weight_of(v, i) : example_weight(v, i);
        v->label[i] = !rest ? v->y[i] : v->spot[i] < first_of(v, p) ? 1 : -1;
    }
    if (rest)
        params.n_class_weights = 0;
    if (params.task == HINGE_NU_SVC)
        params.nu = HG_MIN(params.nu, hg_most_nu(sums, 2, false));
    return train_rest(v, &params, true, model, report, err);
}

/* Decision values of this fold's examples, with the sign that the whole model has. */
static hinge_status decide_part(struct validation *v, size_t p, const hinge_model *model, hinge_error *err)
{
    const struct hg_problem *pr = &v->own.pr;
    double sign = 1;
    size_t a, b;
    hg_problem_pair(pr, p, &a, &b);
    if (v->net->rank == 0 && pr->classifies && model->labels[0] != (pr->one_vs_rest ? 1 : pr->labels[a]))
        sign = -1;
    v->net->broadcast(v->net, &sign, sizeof sign, 0);
    return predict_fold(v, model, false, sign, v->decision, err);
}

static hinge_status calibrate_fold(struct validation *v, size_t p, hinge_report *report, hinge_error *err)
{
    double sums[2];
    hinge_model *model = NULL;
    for (size_t i = 0; i < v->x->rows; i++) /* the side of each */
        v->some[i] = v->spot[i] == NO_PLACE ? NO_PLACE : v->spot[i] >= first_of(v, p);
    sum_weights(v, v->some, 2, v->now, sums);
    *report = (hinge_report){ 0 };
    if (v->own.pr.classifies && (sums[0] == 0 || sums[1] == 0)) {
        for (size_t i = 0; i < v->x->rows; i++)
            if (v->fold[i] == v->now)
                v->decision[i] = sums[0] > 0 ? 1 : -1;
        return HINGE_OK;
    }
    hinge_status status = train_part(v, p, sums, &model, report, err);
    if (status == HINGE_OK && !hg_ended_early(report->outcome))
        status = decide_part(v, p, model, err);
    hinge_model_free(model);
    return status;
}

/* Decision values of a problem's n examples, or residuals, to rank 0, which fits them. */
static hinge_status fit_problem(const struct validation *v, size_t p, size_t n, struct hg_calibrated *result,
                                bool *sound, hinge_error *err)
{
    struct decided *mine = hg_alloc(v->x->rows, sizeof *mine);
    size_t count = 0, total;
    void *bytes;
    bool residuals = v->own.pr.task->regresses;
    for (size_t i = 0; mine != NULL && i < v->x->rows; i++)
        if (v->spot[i] != NO_PLACE)
            mine[count++] = (struct decided){ v->spot[i], residuals ? v->y[i] - v->decision[i] : v->decision[i] };
    hinge_status status = HM_HAVE(v->net, mine != NULL, err, "no memory for %zu decision values", v->x->rows);
    if (status == HINGE_OK)
        status = hm_collect(v->net, mine, count * sizeof *mine, &bytes, &total, err);
    hg_free(mine);
    HG_TRY(status);
    const struct decided *all = bytes;
    double *value;
    bool *first;
    if (v->net->rank == 0 && HG_ROOM(HG_ARRAY(value, n), HG_ARRAY(first, n))) {
        for (size_t k = 0; k < total / sizeof *all; k++)
            value[all[k].spot] = all[k].value;
        for (size_t k = 0; k < n; k++)
            first[k] = k < first_of(v, p);
        *sound = hg_calibrated_fit(result, p, value, first, n) && *sound;
        hg_free(value);
    } else if (v->net->rank == 0) {
        status = hg_fail(err, HINGE_ENOMEM, "no memory for %zu decision values", n);
    }
    hg_free(bytes);
    return hm_agree(v->net, status, err);
}

static hinge_status calibrate_problem(struct validation *v, size_t p, struct hg_calibrated *result, bool *sound,
                                      hinge_outcome *outcome, hinge_error *err)
{
    size_t n = hg_problem_size(&v->own.pr, p), start[] = { 0, first_of(v, p), n };
    uint64_t stream = v->params->seed + p * UINT64_C(0x632be59bd9b4e019), state = hg_random(&stream);
    v->folds = HG_MIN(v->folds, n);
    for (size_t i = 0; i < v->x->rows; i++)
        v->spot[i] = spot_of(v, p, i);
    HG_TRY(draw_folds(v, v->spot, state, start, 2, err));
    for (v->now = 0; v->now < v->folds && !hg_ended_early(*outcome); v->now++) {
        hinge_report report;
        HG_TRY(calibrate_fold(v, p, &report, err));
        if (hg_ended_early(report.outcome))
            *outcome = report.outcome;
    }
    return hg_ended_early(*outcome) ? HINGE_OK : fit_problem(v, p, n, result, sound, err);
}

/* By the model's own decision values. */
static hinge_status calibrate_one_class(struct validation *v, const hinge_model *model, struct hg_calibrated *result,
                                        bool *sound, hinge_error *err)
{
    hinge_predict_options options = { .threads = v->params->threads, .cpu_level = v->params->cpu_level };
    HG_TRY(hm_predict(v->net, model, v->x, &options, false, NULL, v->decision, err));
    for (size_t i = 0; i < v->x->rows; i++)
        v->spot[i] = v->place[i] < v->own.pr.n ? v->place[i] : NO_PLACE;
    return fit_problem(v, 0, v->own.pr.n, result, sound, err);
}

static hinge_status calibrate(struct validation *v, hinge_model *model, hinge_outcome *outcome, hinge_error *err)
{
    enum { FOLDS = 5 };
    struct hg_calibrated result = { 0 };
    const struct hg_problem *pr = &v->own.pr;
    hinge_params plain;
    bool sound = true;
    HG_TRY(place_rows(v, &plain, err));
    hinge_status status = v->net->rank == 0 ? hg_calibrated_init(&result, model, err) : HINGE_OK;
    status = hm_agree(v->net, status, err);
    v->trainings = FOLDS * pr->n_problems;
    if (status == HINGE_OK && pr->task->one_class)
        status = calibrate_one_class(v, model, &result, &sound, err);
    for (size_t p = 0; p < pr->n_problems && status == HINGE_OK && !pr->task->one_class; p++) {
        v->folds = FOLDS;
        v->done = FOLDS * p;
        if (pr->classifies || pr->n > 1)
            status = calibrate_problem(v, p, &result, &sound, outcome, err);
        else
            sound = false;
    }
    if (status == HINGE_OK && sound && model != NULL && !hg_ended_early(*outcome))
        hg_calibrated_install(&result, model);
    hg_calibrated_free(&result);
    return status;
}

hinge_status hm_calibrate(const struct hm_net *net, const hinge_matrix *x, const double *y, const hinge_params *params,
                          const struct hm_options *options, double begin, hinge_model *model, hinge_outcome *outcome,
                          hinge_error *err)
{
    struct validation v = { .net = net, .x = x, .y = y, .params = params, .options = { .tile = options->tile },
                            .begin = begin };
    hinge_status status = calibrate(&v, model, outcome, err);
    hm_own_free(&v.own);
    hg_free(v.place);
    return status;
}
