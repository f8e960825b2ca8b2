/*
 * Folds of rows that are dealt: rank 0 runs hinge's own cross-validation, calibration and selection
 * (lib/folds/validate.c, lib/folds/calibrate.c, lib/select) on the labels and weights of all rows, and has all ranks
 * train and predict: it tells each what its rows are to be.
 */
#include "lib/folds/folds.h"
#include "lib/data/params.h"
#include "lib/select/select.h"
#include "mpi/mpi_own.h"
#include "mpi/mpi_train.h"

#include <math.h>

struct order { /* of rank 0 to all */
    int ends;   /* there is nothing more to do */
    int trains; /* there is a training, on rows of weight > 0; otherwise rank 0 has the model */
    int copied; /* the training is on a copy of those rows, */
    int plain;  /* and without weights of classes */
    int labels; /* of rows of weight -1 labels are predicted, not decision values */
    uint64_t number, trainings; /* of the training; of all */
    double time_limit;
    size_t width; /* of each row so many decision values are predicted, if no label is */
    struct chosen { /* of the parameters */
        double C, nu, p, tau, eps, gamma, coef0;
        int degree;
    } chosen;
};

struct rank_folds {
    struct hg_others others; /* what rank 0 asks to train and predict */
    struct order order; /* the last one */
    const struct hm_net *net;
    const hinge_matrix *x;
    const double *y;
    const hinge_params *params;
    struct hm_options options;
    double begin;
    uint32_t *some;    /* [rows] that are copied */
    double *weight;    /* [rows] */
    double *label;     /* [rows] */
    double *pair;      /* [2 * rows] label and weight of each row, as given */
    size_t d;          /* features of all */
    /* on rank 0: */
    size_t n;          /* rows of all */
    uint64_t *rows;    /* [ranks] */
    double *all;       /* [2 * n] two values of each row, for the rank that has it */
    double *decided;   /* NULL, or [n * order.width] decision values of the rows held out, one after the other */
    double *all_y, *all_weight; /* [n] */
    double *predictions; /* [n] of cross-validation by so many folds, */
    size_t folds;
    size_t width;         /* decision values of a row; */
    struct chosen chosen; /* what trainings go by, but for nu */
    const hinge_select_options *select; /* of a grid, or NULL; */
    hinge_selection **selection; /* what comes of it; */
    hinge_report *report; /* which all ranks have; */
    hinge_model *model;  /* or what is calibrated, */
    hinge_outcome *outcome; /* and how that ended: on all ranks */
};

/* ---- all ranks --------------------------------------------------------------------------------------------------- */

/* The two values of this rank's rows that rank 0 has in v->all, to be freed. */
static hinge_status receive(const struct rank_folds *v, double **told, hinge_error *err)
{
    size_t total;
    void *mine;
    for (int r = 0; r < v->net->ranks; r++)
        v->net->out[r] = v->net->rank == 0 ? v->rows[r] * 2 * sizeof *v->all : 0;
    HG_TRY(hm_exchange(v->net, v->all, &mine, &total, err));
    *told = mine;
    return HINGE_OK;
}

/* Copies v->some's first n rows, as a copy whose data are to be freed. */
static hinge_status copy_rows(const struct rank_folds *v, size_t n, hinge_matrix *copy, hinge_error *err)
{
    void *data;
    hinge_status status =
        HM_MAKE(v->net, err, "a copy of rows", HG_VALUES(data, n * v->x->cols, hg_size_of(v->x->type)));
    *copy = (hinge_matrix){ data, v->x->type, n, v->x->cols, v->x->cols, HINGE_ROW_MAJOR };
    if (status == HINGE_OK)
        hg_gather_rows(v->x, v->some, n, data);
    else
        hg_free(data);
    return status;
}

static struct chosen chosen_of(const hinge_params *p)
{
    return (struct chosen){ p->C,   p->nu, p->p, p->tau, p->eps, p->kernel.gamma, p->kernel.coef0,
                            p->kernel.degree };
}

static void choose(hinge_params *p, const struct chosen *c)
{
    p->C = c->C;
    p->nu = c->nu;
    p->p = c->p;
    p->tau = c->tau;
    p->eps = c->eps;
    p->kernel.gamma = c->gamma;
    p->kernel.coef0 = c->coef0;
    p->kernel.degree = c->degree;
}

/* Trains as told: label and weight of each row. progress, arg: this rank's callback. */
static hinge_status train(const struct rank_folds *v, const double *told, hinge_progress_fn progress, void *arg,
                          hinge_model **model, hinge_report *report, hinge_error *err)
{
    const struct order *o = &v->order;
    hinge_params p = *v->params;
    hinge_matrix x = *v->x;
    size_t n = 0;
    for (size_t i = 0; i < v->x->rows; i++)
        if (!o->copied || told[2 * i + 1] > 0) {
            v->some[n] = (uint32_t)i;
            v->label[n] = told[2 * i];
            v->weight[n++] = HG_MAX(told[2 * i + 1], 0.0);
        }
    p.weights = v->weight;
    p.beta0 = NULL;
    p.probability = 0;
    choose(&p, &o->chosen);
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

/* Puts what the model says of the rows held out into rank 0's v->all as their first value, or where it has room for
 * all decision values. */
static hinge_status predict(const struct rank_folds *v, const double *told, const hinge_model *model, hinge_error *err)
{
    hinge_predict_options options = { .threads = v->params->threads, .cpu_level = v->params->cpu_level };
    bool labels = v->order.labels;
    size_t n = 0, total, width = labels ? 1 : v->order.width;
    double *value;
    hinge_matrix x;
    void *all = NULL;
    for (size_t i = 0; i < v->x->rows; i++)
        if (told[2 * i + 1] < 0)
            v->some[n++] = (uint32_t)i;
    HG_TRY(HM_MAKE(v->net, err, "what is predicted", HG_TABLE(value, n, width)));
    hinge_status status = copy_rows(v, n, &x, err);
    if (status == HINGE_OK) {
        status = hm_predict(v->net, model, &x, &options, false, labels ? value : NULL, labels ? NULL : value, err);
        hg_free((void *)x.data);
    }
    HG_THEN(status, hm_collect(v->net, value, n * width * sizeof *value, &all, &total, err));
    if (status == HINGE_OK && v->decided != NULL)
        memcpy(v->decided, all, total);
    const double *next = all;
    for (size_t row = 0; status == HINGE_OK && row < v->n && v->decided == NULL; row++)
        if (v->all[2 * row + 1] < 0)
            v->all[2 * row] = *next++;
    hg_free(value);
    hg_free(all);
    return status;
}

/* All ranks do as they are told; model: rank 0's, as hg_others has it. */
static hinge_status hold_out(const struct rank_folds *v, hinge_progress_fn progress, void *arg, hinge_model **model,
                             hinge_report *report, hinge_error *err)
{
    double *told;
    HG_TRY(receive(v, &told, err));
    hinge_status status = HINGE_OK;
    if (v->order.trains)
        status = train(v, told, progress, arg, model, report, err);
    if (status == HINGE_OK && !hg_ended_early(report->outcome))
        status = predict(v, told, *model, err);
    hg_free(told);
    return status;
}

static void share_order(struct rank_folds *v)
{
    v->net->broadcast(v->net, &v->order, sizeof v->order, 0);
}

/* Problems are counted over all trainings. */
static int on_progress(void *arg, const hinge_progress *progress)
{
    const struct rank_folds *v = arg;
    struct hg_teller teller = { .progress = v->params->progress, .arg = v->params->progress_arg, .begin = v->begin };
    hinge_progress p = *progress;
    p.problem += v->order.number * p.n_problems;
    p.n_problems *= v->order.trainings;
    return hg_tell(&teller, &p);
}

/* Does what rank 0 says, on other ranks. What fails does so on all, and rank 0 says what then. */
static void serve(struct rank_folds *v)
{
    hinge_progress_fn progress = v->params->progress != NULL ? on_progress : NULL;
    for (share_order(v); !v->order.ends; share_order(v)) {
        hinge_model *none = NULL;
        hinge_report report = { 0 };
        (void)hold_out(v, progress, v, &none, &report, NULL);
    }
}

/* Has a job's rows held out, on rank 0. */
static hinge_status have_held_out(struct hg_others *others, struct hg_job *job, const hinge_params *p,
                                  hinge_model **model, hinge_error *err)
{
    struct rank_folds *v = (struct rank_folds *)(void *)others;
    bool calibrates = v->model != NULL;
    double *out = job->labels != NULL ? job->labels : job->decisions;
    v->order = (struct order){ .trains = *model == NULL, .copied = calibrates || job->copy,
                               .plain = p->n_class_weights == 0, .labels = job->labels != NULL, .number = job->number,
                               .trainings = calibrates ? 5 * hinge_model_n_problems(v->model) : v->folds,
                               .time_limit = p->time_limit, .width = v->width, .chosen = v->chosen };
    v->order.chosen.nu = p->nu;
    for (size_t row = 0; row < v->n; row++) {
        v->all[2 * row] = job->y != NULL ? job->y[row] : 0;
        v->all[2 * row + 1] = 0;
    }
    for (size_t k = 0; k < job->n_train; k++)
        v->all[2 * job->train[k] + 1] = p->weights[job->train[k]];
    for (size_t k = 0; k < job->n_held; k++)
        v->all[2 * job->held[k] + 1] = -1;
    share_order(v);
    HG_TRY(hold_out(v, p->progress, p->progress_arg, model, &job->report, err));
    for (size_t k = 0; k < job->n_held && v->decided == NULL; k++)
        out[k] = v->all[2 * job->held[k]];
    return HINGE_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Labels and weights of all rows to rank 0, and the features of all ranks' rows to each. */
static hinge_status open_folds(struct rank_folds *v, hinge_error *err)
{
    size_t rows = v->x->rows, ranks = (size_t)v->net->ranks, total;
    struct hm_sum sum = { .most = { { v->x->cols, 0 } } };
    void *all = NULL;
    v->net->sum(v->net, &sum);
    v->d = sum.most[0].key;
    HG_TRY(HM_MAKE(v->net, err, "the folds of own rows", HG_ARRAY(v->some, rows), HG_ARRAY(v->weight, rows),
                   HG_ARRAY(v->label, rows), HG_ARRAY(v->pair, 2 * rows)));
    for (size_t i = 0; i < rows; i++) {
        v->pair[2 * i] = v->y != NULL ? v->y[i] : 0;
        v->pair[2 * i + 1] = v->params->weights != NULL ? v->params->weights[i] : 1;
    }
    HG_TRY(hm_collect(v->net, v->pair, 2 * rows * sizeof *v->pair, &all, &total, err));
    v->all = all;
    v->n = total / (2 * sizeof *v->all);
    HG_TRY(HM_MAKE(v->net, err, "the folds of all rows", HG_ARRAY(v->all_y, v->n), HG_ARRAY(v->all_weight, v->n),
                   HG_ARRAY(v->predictions, v->n), HG_ARRAY(v->rows, ranks)));
    for (size_t r = 0; r < ranks; r++)
        v->rows[r] = v->net->in[r] / (2 * sizeof *v->all);
    for (size_t i = 0; i < v->n; i++) {
        v->all_y[i] = v->all[2 * i];
        v->all_weight[i] = v->all[2 * i + 1];
    }
    v->others = (struct hg_others){ have_held_out };
    v->chosen = chosen_of(v->params);
    v->width = 1;
    return HINGE_OK;
}

static void close_folds(struct rank_folds *v)
{
    hg_free(v->some);
    hg_free(v->all);
    hg_free(v->all_y);
}

/* Does hg_select_others.train: all ranks train without the rows of a fold, and decide these. */
static hinge_status train_fold(void *arg, struct hg_selecting *s, hinge_grid_point *point, size_t fold,
                               hinge_error *err)
{
    struct rank_folds *v = arg;
    size_t at = hg_repeat_of(s, fold), *trained;
    const int *of = s->out->fold + at;
    const struct hg_problem *pr = &s->problem;
    hinge_params p = hg_point_params(s, point);
    hinge_model *model = NULL;
    uint32_t *train, *held;
    struct hg_job job = { .number = s->done * s->out->n_folds + fold };
    p.eps = p.task == HINGE_C_SVC ? s->out->eps : s->params.eps; /* no later look at what is held out refines it */
    p.progress = v->params->progress != NULL ? on_progress : NULL;
    p.progress_arg = v;
    v->folds = s->out->n_points * s->out->n_folds;
    p.time_limit = s->halt.deadline > 0 ? HG_MAX(s->halt.deadline - hg_now(), 1e-9) : 0;
    HG_TRY(HG_MAKE(err, "the rows of folds", HG_ARRAY(train, v->n), HG_ARRAY(held, v->n),
                   HG_ZEROS(trained, pr->n_classes + 1), HG_TABLE(v->decided, v->n, s->n_problems)));
    for (uint32_t i = 0; i < v->n; i++)
        if (of[i] == (int)fold) {
            held[job.n_held++] = i;
        } else if (s->used[i]) {
            train[job.n_train++] = i;
            trained[s->class_of[i]]++;
        }
    hinge_status status = HINGE_OK;
    for (size_t c = 0; c < pr->n_classes && pr->classifies; c++)
        if (trained[c] == 0)
            status = hg_fail(err, HINGE_EINVAL, "folds: one holds out all rows of class %g, which rows that are dealt "
                                                "to ranks cannot be trained without", pr->labels[c]);
    job.train = train;
    job.held = held;
    job.y = v->all_y;
    job.decisions = v->decided;
    v->chosen = chosen_of(&p);
    v->width = s->n_problems;
    HG_THEN(status, have_held_out(&v->others, &job, &p, &model, err));
    const double *labels = model != NULL ? hinge_model_labels(model) : NULL;
    if (status == HINGE_OK && labels != NULL && memcmp(labels, pr->labels, pr->n_classes * sizeof *labels) != 0)
        status = hg_fail(err, HINGE_EINVAL, "weights: classes come in another order with the rows of weight 0");
    for (size_t k = 0; k < job.n_held && status == HINGE_OK; k++)
        memcpy(&s->decisions[(at + held[k]) * s->n_problems], &v->decided[k * s->n_problems],
               s->n_problems * sizeof *v->decided);
    point->outcome = hg_worse_outcome(point->outcome, job.report.outcome);
    point->iterations += job.report.iterations;
    s->out->iterations += job.report.iterations;
    s->out->trainings += s->n_problems;
    s->out->rows_computed += job.report.rows_computed;
    s->out->kernel_values += job.report.kernel_values;
    hinge_model_free(model);
    hg_free(train);
    v->decided = NULL;
    return status;
}

/* Rank 0 selects, of rows whose values it has not. */
static hinge_status select_by_ranks(struct rank_folds *v, const hinge_matrix *x, const hinge_params *p,
                                    hinge_error *err)
{
    struct hg_select_others others = { v, train_fold };
    hinge_select_options options = *v->select;
    options.no_refit = 1;
    return hg_select(v->selection, x, v->all_y, p, &options, true, &others, err);
}

/* Rank 0 does what hinge does with rows, and others as they are told. */
static hinge_status command(struct rank_folds *v, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    if (v->net->rank > 0) {
        serve(v);
    } else {
        const hinge_matrix x = { .rows = v->n, .cols = v->d };
        hinge_params p = *v->params;
        p.weights = v->all_weight;
        p.beta0 = NULL;
        status = v->select != NULL ? select_by_ranks(v, &x, &p, err)
                 : v->model != NULL
                     ? hg_calibrate_by_folds(&v->others, NULL, NULL, v->model, &x, v->all_y, &p, v->begin, v->outcome,
                                             err)
                     : hg_cross_validate(&v->others, NULL, &x, v->all_y, &p, v->folds, v->predictions, v->report, err);
        v->order = (struct order){ .ends = 1 };
        share_order(v);
    }
    return hm_agree(v->net, status, err);
}

static hinge_status refuse_options(const struct hm_options *o, hinge_error *err)
{
    return o->checkpoint == NULL && o->rounds == NULL && o->certificate == NULL && o->traffic == NULL
               ? HINGE_OK
               : hg_fail(err, HINGE_EINVAL, "checkpoint, rounds, certificate, traffic: folds keep no model");
}

static hinge_status check(const struct rank_folds *v, const double *predictions, hinge_error *err)
{
    const struct hm_options *o = &v->options;
    if (v->params == NULL || v->x == NULL)
        return hg_fail(err, HINGE_EINVAL, "%s: NULL", v->x == NULL ? "x" : "params");
    if (predictions == NULL && v->x->rows > 0)
        return hg_fail(err, HINGE_EINVAL, "predictions: NULL");
    HG_TRY(refuse_options(o, err));
    if (v->params->probability)
        return hg_fail(err, HINGE_EINVAL, "probability: folds over ranks are scored by labels alone");
    return hm_check_rows(v->x, v->y, v->params, err);
}

static hinge_status check_dealt(const struct rank_folds *v, hinge_error *err)
{
    hinge_params resolved;
    return hm_check_params(v->params, HG_MAX(v->x->rows, (size_t)1), v->x->cols, &resolved, err);
}

/* Rank 0's predictions of all rows to the ranks that have them; its report to all. */
static hinge_status share_predictions(const struct rank_folds *v, double *predictions, hinge_error *err)
{
    double *told;
    for (size_t i = 0; i < v->n; i++)
        v->all[2 * i] = v->predictions[i];
    HG_TRY(receive(v, &told, err));
    for (size_t i = 0; i < v->x->rows; i++)
        predictions[i] = told[2 * i];
    hg_free(told);
    v->net->broadcast(v->net, v->report, sizeof *v->report, 0);
    return HINGE_OK;
}

hinge_status hm_cross_validate(const struct hm_net *net, const hinge_matrix *x, const double *y,
                               const hinge_params *params, size_t folds, const struct hm_options *options,
                               double *predictions, hinge_report *report, hinge_error *err)
{
    hinge_report sum = { 0 };
    struct rank_folds v = { .net = net, .x = x, .y = y, .params = params, .options = *options, .begin = hg_now(),
                            .folds = folds, .report = &sum };
    hg_ok(err);
    HG_TRY(hm_agree(net, check(&v, predictions, err), err));
    if (hm_fits(net, x, params, options))
        return hm_cross_validate_shared(net, x, y, params, folds, predictions, report, err);
    HG_TRY(hm_agree(net, check_dealt(&v, err), err));
    hinge_status status = open_folds(&v, err);
    HG_THEN(status, command(&v, err));
    HG_THEN(status, share_predictions(&v, predictions, err));
    if (status == HINGE_OK && report != NULL)
        *report = sum;
    close_folds(&v);
    return status;
}

hinge_status hm_calibrate(const struct hm_net *net, const hinge_matrix *x, const double *y, const hinge_params *params,
                          const struct hm_options *options, double begin, hinge_model *model, hinge_outcome *outcome,
                          hinge_error *err)
{
    struct rank_folds v = { .net = net, .x = x, .y = y, .params = params, .options = { .tile = options->tile },
                            .begin = begin, .model = model, .outcome = outcome };
    hinge_status status = open_folds(&v, err);
    HG_THEN(status, command(&v, err));
    if (status == HINGE_OK)
        net->broadcast(net, outcome, sizeof *outcome, 0);
    close_folds(&v);
    return status;
}

/* Trains the best point's model by all ranks. */
static hinge_status train_best(const struct rank_folds *v, hinge_selection *out, hinge_error *err)
{
    struct {
        uint64_t any;
        struct chosen chosen;
    } told = { 0 };
    hinge_params p = *v->params;
    hinge_model *model = NULL;
    hinge_report report = { 0 };
    if (out != NULL && out->best != NULL && !v->select->no_refit) {
        told.any = 1;
        told.chosen = chosen_of(&out->params);
    }
    v->net->broadcast(v->net, &told, sizeof told, 0);
    if (!told.any)
        return HINGE_OK;
    choose(&p, &told.chosen);
    p.beta0 = NULL;
    HG_TRY(hm_train(v->net, v->x, v->y, &p, &v->options, &model, &report, err));
    if (out != NULL) {
        out->model = model;
        out->report = report;
    }
    return HINGE_OK;
}

hinge_status hm_select_dealt(const struct hm_net *net, hinge_selection **selection, const hinge_matrix *x,
                             const double *y, const hinge_params *params, const hinge_select_options *options,
                             const struct hm_options *own, hinge_error *err)
{
    const hinge_select_options none = { 0 };
    hinge_selection *made = NULL;
    struct rank_folds v = { .net = net, .x = x, .y = y, .params = params, .options = *own, .begin = hg_now(),
                            .select = options != NULL ? options : &none, .selection = &made };
    hg_ok(err);
    hinge_status status = hm_check_rows(x, y, params, err);
    HG_THEN(status, refuse_options(own, err));
    if (status == HINGE_OK && (v.select->decisions || v.select->fold != NULL || v.select->group != NULL))
        status = hg_fail(err, HINGE_EINVAL, "decisions, fold, group: rows that are dealt to ranks have none");
    if (status == HINGE_OK && params->kernel.type == HINGE_PRECOMPUTED)
        status = hg_fail(err, HINGE_EINVAL,
                         "kernel: a precomputed kernel has columns for all rows; they are not dealt");
    status = hm_agree(net, status, err);
    HG_THEN(status, open_folds(&v, err));
    HG_THEN(status, command(&v, err));
    HG_THEN(status, train_best(&v, made, err));
    if (status != HINGE_OK) {
        hinge_selection_free(made);
        made = NULL;
    }
    *selection = made;
    close_folds(&v);
    return status;
}
