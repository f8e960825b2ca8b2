/*
 * Folds over ranks: rank 0 runs hinge's own cross-validation and calibration (lib/validate.c, lib/calibrate.c) on the
 * labels and weights of all rows, and has all ranks train and predict: it tells each what its rows are to be.
 */
#include "lib/calibrate.h"
#include "lib/params.h"
#include "mpi/own.h"
#include "mpi/train.h"

#include <math.h>

struct validation {
    struct hg_others others; /* what rank 0 asks to train and predict */
    const struct hm_net *net;
    const hinge_matrix *x;
    const double *y;
    const hinge_params *params;
    struct hm_options options;
    bool copies;       /* all trainings are on copies of their rows */
    double begin;
    size_t trainings, done; /* in all, and so far */
    uint32_t *some;    /* [rows] that are copied */
    double *weight;    /* [rows] */
    double *label;     /* [rows] */
    double *pair;      /* [2 * rows] label and weight of each row, as given */
    /* on rank 0: */
    size_t n;          /* rows of all */
    uint64_t *rows;    /* [ranks] */
    double *all;       /* [2 * n] two values of each row, for the rank that has it */
    double *id, *all_y, *all_weight; /* [n] the row's number, label and weight; */
    double *predictions; /* [n] of cross-validation by so many folds, */
    size_t folds;
    hinge_report *report; /* which all ranks have; */
    hinge_model *model;  /* or what is calibrated, */
    hinge_outcome *outcome; /* and how that ended: on all ranks */
};

struct order { /* of rank 0 to all */
    enum { END, TRAIN, PREDICT } what;
    int copied; /* a training on a copy of the rows of weight > 0, */
    int plain;  /* or without weights of classes; */
    int labels; /* a prediction of labels, not of decision values */
    uint64_t trainings;
    double nu, time_limit;
};

/* ---- all ranks --------------------------------------------------------------------------------------------------- */

/* The two values of this rank's rows that rank 0 has in v->all, to be freed. */
static hinge_status receive(const struct validation *v, double **told, hinge_error *err)
{
    size_t total;
    void *mine;
    for (int r = 0; r < v->net->ranks; r++)
        v->net->out[r] = v->net->rank == 0 ? v->rows[r] * 2 * sizeof *v->all : 0;
    HG_TRY(hm_exchange(v->net, v->all, &mine, &total, err));
    *told = mine;
    return HINGE_OK;
}

/* v->some's first n rows, as a copy whose data are to be freed. */
static hinge_status copy_rows(const struct validation *v, size_t n, hinge_matrix *copy, hinge_error *err)
{
    void *data = hg_alloc(n * v->x->cols, hg_size_of(v->x->type));
    hinge_status status = HM_HAVE(v->net, data != NULL, err, "no memory for a copy of %zu rows", n);
    *copy = (hinge_matrix){ data, v->x->type, n, v->x->cols, v->x->cols, HINGE_ROW_MAJOR };
    if (status == HINGE_OK)
        hg_gather_rows(v->x, v->some, n, data);
    else
        hg_free(data);
    return status;
}

/* progress, arg: this rank's callback. */
static hinge_status train(const struct validation *v, const struct order *o, hinge_progress_fn progress, void *arg,
                          hinge_model **model, hinge_report *report, hinge_error *err)
{
    hinge_params p = *v->params;
    hinge_matrix x = *v->x;
    double *told;
    size_t n = 0;
    HG_TRY(receive(v, &told, err));
    for (size_t i = 0; i < v->x->rows; i++)
        if (!o->copied || told[2 * i + 1] > 0) {
            v->some[n] = (uint32_t)i;
            v->label[n] = told[2 * i];
            v->weight[n++] = told[2 * i + 1];
        }
    hg_free(told);
    p.weights = v->weight;
    p.beta0 = NULL;
    p.probability = 0;
    p.nu = o->nu;
    p.time_limit = o->time_limit;
    p.progress = progress;
    p.progress_arg = arg;
    p.n_class_weights = o->plain ? 0 : p.n_class_weights;
    if (o->copied) {
        p.positive_class = NULL;
        HG_TRY(copy_rows(v, n, &x, err));
    }
    hinge_status status = hm_train(v->net, &x, v->label, &p, &v->options, model, report, err);
    if (o->copied)
        hg_free((void *)x.data);
    return status;
}

/* What the model says of the rows whose second value is above 0, into rank 0's v->all as their first. */
static hinge_status predict(const struct validation *v, const struct order *o, const hinge_model *model,
                            hinge_error *err)
{
    hinge_predict_options options = { .threads = v->params->threads, .cpu_level = v->params->cpu_level };
    hinge_matrix x;
    double *told, *label = v->label;
    size_t n = 0, total;
    void *all = NULL;
    HG_TRY(receive(v, &told, err));
    for (size_t i = 0; i < v->x->rows; i++)
        if (told[2 * i + 1] > 0)
            v->some[n++] = (uint32_t)i;
    hg_free(told);
    HG_TRY(copy_rows(v, n, &x, err));
    hinge_status status = hm_predict(v->net, model, &x, &options, false, o->labels ? label : NULL,
                                     o->labels ? NULL : label, err);
    if (status == HINGE_OK)
        status = hm_collect(v->net, label, n * sizeof *label, &all, &total, err);
    const double *value = all;
    for (size_t row = 0; status == HINGE_OK && row < v->n; row++)
        if (v->all[2 * row + 1] > 0)
            v->all[2 * row] = *value++;
    hg_free((void *)x.data);
    hg_free(all);
    return status;
}

/* Problems are counted over all trainings. */
static int on_progress(void *arg, const hinge_progress *progress)
{
    const struct validation *v = arg;
    hinge_progress p = *progress;
    p.problem += v->done * p.n_problems;
    p.n_problems *= v->trainings;
    p.seconds = hg_now() - v->begin;
    return v->params->progress(v->params->progress_arg, &p);
}

/* On other ranks: does as it is told. What fails does so on all, and rank 0 says what then. */
static void serve(struct validation *v)
{
    hinge_progress_fn progress = v->params->progress != NULL ? on_progress : NULL;
    for (;;) {
        struct order o;
        hinge_model *none = NULL;
        hinge_report report;
        v->net->broadcast(v->net, &o, sizeof o, 0);
        v->trainings = o.trainings;
        if (o.what == END)
            return;
        if (o.what == TRAIN && train(v, &o, progress, v, &none, &report, NULL) == HINGE_OK)
            v->done++;
        if (o.what == PREDICT)
            (void)predict(v, &o, NULL, NULL);
    }
}

/* ---- rank 0 ------------------------------------------------------------------------------------------------------ */

/* The only feature of x is the number of each row among all. */
static hinge_status have_trained(const struct hg_others *others, hinge_model **model, const hinge_matrix *x,
                                 const double *y, const hinge_params *p, hinge_report *report, hinge_error *err)
{
    const struct validation *v = (const struct validation *)(const void *)others;
    struct order o = { TRAIN, v->copies || x->rows < v->n, p->n_class_weights == 0, 0, v->trainings, p->nu,
                       p->time_limit };
    memset(v->all, 0, 2 * v->n * sizeof *v->all);
    for (size_t k = 0; k < x->rows; k++) {
        size_t row = (size_t)hg_matrix_value(x, k, 0);
        v->all[2 * row] = y[k];
        v->all[2 * row + 1] = p->weights != NULL ? p->weights[k] : 1;
    }
    v->net->broadcast(v->net, &o, sizeof o, 0);
    return train(v, &o, p->progress, p->progress_arg, model, report, err);
}

static hinge_status have_predicted(const struct hg_others *others, const hinge_model *model, const uint32_t *rows,
                                   size_t n, double *labels, double *decisions, hinge_error *err)
{
    const struct validation *v = (const struct validation *)(const void *)others;
    struct order o = { PREDICT, .labels = labels != NULL, .trainings = v->trainings };
    double *out = labels != NULL ? labels : decisions;
    memset(v->all, 0, 2 * v->n * sizeof *v->all);
    for (size_t k = 0; k < n; k++)
        v->all[2 * rows[k] + 1] = 1;
    v->net->broadcast(v->net, &o, sizeof o, 0);
    HG_TRY(predict(v, &o, model, err));
    for (size_t k = 0; k < n; k++)
        out[k] = v->all[2 * rows[k]];
    return HINGE_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Labels and weights of all rows to rank 0. */
static hinge_status open_validation(struct validation *v, hinge_error *err)
{
    size_t rows = v->x->rows, ranks = (size_t)v->net->ranks, total;
    void *all = NULL;
    bool ok = HG_ROOM(HG_ARRAY(v->some, rows), HG_ARRAY(v->weight, rows), HG_ARRAY(v->label, rows),
                      HG_ARRAY(v->pair, 2 * rows));
    HG_TRY(HM_HAVE(v->net, ok, err, "no memory for the folds of %zu rows", rows));
    for (size_t i = 0; i < rows; i++) {
        v->pair[2 * i] = v->y != NULL ? v->y[i] : 0;
        v->pair[2 * i + 1] = v->params->weights != NULL ? v->params->weights[i] : 1;
    }
    HG_TRY(hm_collect(v->net, v->pair, 2 * rows * sizeof *v->pair, &all, &total, err));
    v->all = all;
    v->n = total / (2 * sizeof *v->all);
    ok = HG_ROOM(HG_ARRAY(v->id, v->n), HG_ARRAY(v->all_y, v->n), HG_ARRAY(v->all_weight, v->n),
                 HG_ARRAY(v->predictions, v->n), HG_ARRAY(v->rows, ranks));
    HG_TRY(HM_HAVE(v->net, ok, err, "no memory for the folds of %zu rows", v->n));
    for (size_t r = 0; r < ranks; r++)
        v->rows[r] = v->net->in[r] / (2 * sizeof *v->all);
    for (size_t i = 0; i < v->n; i++) {
        v->id[i] = (double)i;
        v->all_y[i] = v->all[2 * i];
        v->all_weight[i] = v->all[2 * i + 1];
    }
    v->others = (struct hg_others){ have_trained, have_predicted };
    return HINGE_OK;
}

static void close_validation(struct validation *v)
{
    hg_free(v->some);
    hg_free(v->all);
    hg_free(v->id);
}

/* Rank 0 does what hinge does with rows, and others as they are told. */
static hinge_status command(struct validation *v, hinge_error *err)
{
    struct order end = { END };
    hinge_status status = HINGE_OK;
    if (v->net->rank > 0) {
        serve(v);
    } else {
        const hinge_matrix x = hinge_matrix_f64(v->id, v->n, 1);
        hinge_params p = *v->params;
        p.kernel = hinge_kernel_linear(); /* each rank has the kernel, and the scaling */
        p.scaling = NULL;
        p.weights = v->all_weight;
        p.beta0 = NULL;
        v->trainings = v->model != NULL ? 5 * hinge_model_n_problems(v->model) : v->folds;
        status = v->model != NULL ? hg_calibrate_by_folds(&v->others, v->model, &x, v->all_y, &p, v->begin, v->outcome,
                                                          err)
                                  : hg_cross_validate(&v->others, &x, v->all_y, &p, v->folds, v->predictions,
                                                      v->report, err);
        v->net->broadcast(v->net, &end, sizeof end, 0);
    }
    return hm_agree(v->net, status, err);
}

static hinge_status check(const struct validation *v, const double *predictions, hinge_error *err)
{
    const struct hm_options *o = &v->options;
    hinge_params resolved;
    if (v->params == NULL || v->x == NULL)
        return hg_fail(err, HINGE_EINVAL, "%s: NULL", v->x == NULL ? "x" : "params");
    if (predictions == NULL && v->x->rows > 0)
        return hg_fail(err, HINGE_EINVAL, "predictions: NULL");
    if (o->checkpoint != NULL || o->rounds != NULL || o->certificate != NULL)
        return hg_fail(err, HINGE_EINVAL, "checkpoint, rounds, certificate: cross-validation keeps no model");
    if (v->params->probability)
        return hg_fail(err, HINGE_EINVAL, "probability: folds over ranks are scored by labels alone");
    HG_TRY(hm_check_rows(v->x, v->y, v->params, err));
    return hm_check_params(v->params, HG_MAX(v->x->rows, (size_t)1), v->x->cols, &resolved, err);
}

/* Rank 0's predictions of all rows to the ranks that have them; its report to all. */
static hinge_status share_predictions(const struct validation *v, double *predictions, hinge_error *err)
{
    struct hm_sum sum = { .most = { { v->x->cols, 0 } } };
    double *told;
    for (size_t i = 0; i < v->n; i++)
        v->all[2 * i] = v->predictions[i];
    HG_TRY(receive(v, &told, err));
    for (size_t i = 0; i < v->x->rows; i++)
        predictions[i] = told[2 * i];
    hg_free(told);
    v->net->sum(v->net, &sum);
    v->net->broadcast(v->net, v->report, sizeof *v->report, 0);
    v->report->d = sum.most[0].key;
    return HINGE_OK;
}

hinge_status hm_cross_validate(const struct hm_net *net, const hinge_matrix *x, const double *y,
                               const hinge_params *params, size_t folds, const struct hm_options *options,
                               double *predictions, hinge_report *report, hinge_error *err)
{
    hinge_report sum = { 0 };
    struct validation v = { .net = net, .x = x, .y = y, .params = params, .options = *options, .begin = hg_now(),
                            .folds = folds, .report = &sum };
    hg_ok(err);
    HG_TRY(hm_agree(net, check(&v, predictions, err), err));
    hinge_status status = open_validation(&v, err);
    if (status == HINGE_OK)
        status = command(&v, err);
    if (status == HINGE_OK)
        status = share_predictions(&v, predictions, err);
    if (status == HINGE_OK && report != NULL)
        *report = sum;
    close_validation(&v);
    return status;
}

hinge_status hm_calibrate(const struct hm_net *net, const hinge_matrix *x, const double *y, const hinge_params *params,
                          const struct hm_options *options, double begin, hinge_model *model, hinge_outcome *outcome,
                          hinge_error *err)
{
    struct validation v = { .net = net, .x = x, .y = y, .params = params, .options = { .tile = options->tile },
                            .begin = begin, .model = model, .outcome = outcome, .copies = true };
    hinge_status status = open_validation(&v, err);
    if (status == HINGE_OK)
        status = command(&v, err);
    if (status == HINGE_OK)
        net->broadcast(net, outcome, sizeof *outcome, 0);
    close_validation(&v);
    return status;
}
