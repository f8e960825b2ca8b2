/*
 * Linear classifiers: decision functions, and the entries to the methods of lib/theory/online.h.
 */
#include "lib/model.h"
#include "lib/params.h"
#include "lib/theory/online.h"

#include <cblas.h>
#include <hinge/theory.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* ---- decision functions ------------------------------------------------------------------------------------------ */

double hinge_sign(double a)
{
    return a > 0 ? 1 : -1;
}

size_t hinge_argmax(const double *values, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (values[i] > values[best] || isnan(values[best]))
            best = i;
    return best;
}

static hinge_status check_examples(const hinge_matrix *x, int threads, hinge_error *err)
{
    HG_TRY(hg_matrix_check(x, "x", err));
    HG_TRY(hg_options_check(&(hinge_predict_options){ .threads = threads }, err));
    return hg_matrix_check_finite(x, "x", hg_threads(threads), err);
}

enum { CHUNK = 256 }; /* rows that a thread takes in one go */

/* decisions = X w' + b for rows first .. first + count; room [CHUNK * d] for rows that do not stand in memory as
 * doubles */
static void decide(const struct hg_points *x, size_t first, size_t count, const double *w, const double *b, size_t k,
                   double *room, double *decisions)
{
    size_t d = x->x.cols, ld;
    const double *rows = hg_take_rows(x, first, count, room, &ld);
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < k; c++)
            decisions[i * k + c] = b != NULL ? b[c] : 0;
    if (d > 0)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)k, (int)d, 1, rows, (int)ld, w, (int)d, 1,
                    decisions, (int)k);
}

hinge_status hinge_linear_decisions(const hinge_matrix *x, const double *w, const double *b, size_t k, int threads,
                                    double *decisions, hinge_error *err)
{
    HG_TRY(check_examples(x, threads, err));
    if (k == 0 || k >= INT32_MAX || w == NULL || decisions == NULL)
        return hg_fail(err, HINGE_EINVAL, "%s",
                       k == 0 || k >= INT32_MAX ? "k: not in 1 .. 2^31 - 2"
                       : w == NULL              ? "w: NULL"
                                                : "decisions: NULL");
    const struct hg_points points = { .x = *x, .n = x->rows };
    size_t share = x->type == HINGE_F32 || !hg_matrix_by_rows(x) ? CHUNK * x->cols : 0; /* of a thread */
    threads = hg_team(hg_threads(threads), (double)x->rows * (double)x->cols * (double)k);
    double *room = hg_alloc((size_t)threads * share, sizeof *room);
    if (room == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %d rows of %zu features", CHUNK, x->cols);
#pragma omp parallel num_threads(threads)
    {
        hg_blas_alone();
        double *mine = room + (size_t)omp_get_thread_num() * share;
#pragma omp for schedule(static)
        for (size_t i = 0; i < x->rows; i += CHUNK)
            decide(&points, i, HG_MIN((size_t)CHUNK, x->rows - i), w, b, k, mine, decisions + i * k);
    }
    hg_free(room);
    return hg_ok(err);
}

hinge_status hinge_linear_model(hinge_model **model, const double *w, size_t d, double b, double positive,
                                double negative, hinge_error *err)
{
    if (model == NULL || (w == NULL && d > 0))
        return hg_fail(err, HINGE_EINVAL, "%s: NULL", model == NULL ? "model" : "w");
    for (size_t c = 0; c < d; c++)
        if (!isfinite(w[c]))
            return hg_fail(err, HINGE_EINVAL, "w: weight %zu is %g, not a finite number", c, w[c]);
    if (!isfinite(b) || !isfinite(positive) || !isfinite(negative) || positive == negative)
        return hg_fail(err, HINGE_EINVAL, "b, labels: %g, %g, %g: not finite, or equal labels", b, positive, negative);
    hinge_model *m = hg_model_new(HINGE_C_SVC, hinge_kernel_linear(), HINGE_ONE_VS_ONE, 2, 1, d);
    if (m == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for a model of %zu features", d);
    m->kernel.gamma = 1.0 / (double)HG_MAX(d, (size_t)1);
    m->labels[0] = positive;
    m->labels[1] = negative;
    m->class_sv[0] = 1;
    m->coef[0] = 1;
    m->rho[0] = -b;
    for (size_t c = 0; c < d; c++)
        m->sv[c] = w[c];
    hinge_status status = hg_model_finish(m, 1, err);
    if (status == HINGE_OK)
        *model = m;
    else
        hinge_model_free(m);
    return status == HINGE_OK ? hg_ok(err) : status;
}

/* ---- perceptron and SGD ------------------------------------------------------------------------------------------ */

static hinge_status check_signs(const hinge_matrix *x, const double *y, hinge_error *err)
{
    if (x->rows == 0)
        return hg_fail(err, HINGE_EINVAL, "x: no rows to train on");
    if (y == NULL)
        return hg_fail(err, HINGE_EINVAL, "y: NULL");
    for (size_t i = 0; i < x->rows; i++)
        if (y[i] != 1 && y[i] != -1)
            return hg_fail(err, HINGE_EINVAL, "y: the label of row %zu is %g, neither +1 nor -1", i, y[i]);
    return HINGE_OK;
}

static hinge_status check_run(const hinge_matrix *x, const double *y, int threads, int bias, const double *w,
                              const double *b, hinge_error *err)
{
    HG_TRY(check_examples(x, threads, err));
    HG_TRY(check_signs(x, y, err));
    if (bias != 0 && bias != 1)
        return hg_fail(err, HINGE_EINVAL, "bias: %d is neither 0 nor 1", bias);
    if (w == NULL || (b != NULL) != (bias == 1))
        return hg_fail(err, HINGE_EINVAL, "%s",
                       w == NULL   ? "w: NULL"
                       : b == NULL ? "b: NULL, but options.bias asks for one"
                                   : "b: given, but without options.bias there is none");
    return HINGE_OK;
}

static void take(struct hg_online *o, hinge_status status, double *w, double *b)
{
    if (status == HINGE_OK) {
        memcpy(w, o->w, o->x.cols * sizeof *w);
        if (b != NULL)
            *b = o->b;
    }
    hg_online_free(o);
}

hinge_status hinge_perceptron(const hinge_matrix *x, const double *y, const hinge_perceptron_options *options,
                              double *w, double *b, hinge_online_round *history, size_t *n_rounds, hinge_error *err)
{
    hinge_perceptron_options p = options != NULL ? *options : (hinge_perceptron_options){ 0 };
    struct hg_online o;
    size_t rounds = 0;
    HG_TRY(check_run(x, y, p.threads, p.bias, w, b, err));
    p.step = p.step == 0 ? 1 : p.step;
    p.rounds = p.rounds == 0 ? 1000 : p.rounds;
    if (!(p.step > 0 && isfinite(p.step)))
        return hg_fail(err, HINGE_EINVAL, "step: %g is not a finite number > 0", p.step);
    for (size_t c = 0; p.w0 != NULL && c < x->cols; c++)
        if (!isfinite(p.w0[c]))
            return hg_fail(err, HINGE_EINVAL, "w0: weight %zu is %g, not a finite number", c, p.w0[c]);
    HG_TRY(hg_online_init(&o, x, y, p.batch, p.bias, hg_threads(p.threads), err));
    o.progress = p.progress;
    o.progress_arg = p.progress_arg;
    hinge_status status = hg_perceptron(&o, &p, history, &rounds, err);
    if (status == HINGE_OK && n_rounds != NULL)
        *n_rounds = rounds;
    take(&o, status, w, b);
    return status == HINGE_OK ? hg_ok(err) : status;
}

size_t hinge_sgd_epochs(double lambda, double radius, size_t m, size_t batch)
{
    double steps = 30 * (1 + radius * radius) / (2 * lambda);
    double epochs = ceil(steps * (double)HG_MAX(batch, (size_t)1) / (double)HG_MAX(m, (size_t)1));
    return epochs > 5 ? (size_t)fmin(epochs, 1000) : 5; /* NaN: 5 */
}

static double largest_norm(const hinge_matrix *x, int threads)
{
    double largest = 0;
#pragma omp parallel for num_threads(hg_team(threads, (double)x->rows * (double)x->cols)) reduction(max : largest) \
    schedule(static)
    for (size_t i = 0; i < x->rows; i++) {
        double sum = 0;
        for (size_t c = 0; c < x->cols; c++)
            sum += hg_matrix_value(x, i, c) * hg_matrix_value(x, i, c);
        largest = fmax(largest, sum);
    }
    return sqrt(largest);
}

hinge_status hinge_sgd(const hinge_matrix *x, const double *y, const hinge_sgd_options *options, double *w, double *b,
                       hinge_online_round *history, hinge_error *err)
{
    struct hg_online o;
    if (options == NULL)
        return hg_fail(err, HINGE_EINVAL, "options: NULL, but lambda has no default");
    hinge_sgd_options p = *options;
    HG_TRY(check_run(x, y, p.threads, p.bias, w, b, err));
    if (!(p.lambda > 0 && isfinite(p.lambda)))
        return hg_fail(err, HINGE_EINVAL, "lambda: %g is not a finite number > 0", p.lambda);
    if (!(p.eta >= 0 && isfinite(p.eta) && p.power >= 0 && isfinite(p.power)))
        return hg_fail(err, HINGE_EINVAL, "eta, power: %g, %g are not finite numbers >= 0", p.eta, p.power);
    if (history != NULL && p.epochs == 0)
        return hg_fail(err, HINGE_EINVAL, "history: its length is not known with epochs = 0; see hinge_sgd_epochs");
    p.batch = p.batch == 0 ? 1 : p.batch;
    if (p.epochs == 0)
        p.epochs = hinge_sgd_epochs(p.lambda, largest_norm(x, hg_threads(p.threads)), x->rows, p.batch);
    HG_TRY(hg_online_init(&o, x, y, p.batch, p.bias, hg_threads(p.threads), err));
    o.progress = p.progress;
    o.progress_arg = p.progress_arg;
    hinge_status status = hg_sgd(&o, &p, history, err);
    take(&o, status, w, b);
    return status == HINGE_OK ? hg_ok(err) : status;
}
