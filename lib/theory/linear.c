/*
 * Linear classifiers: decision functions, and models of them. Read include/hinge/theory.h ("Decision functions")
 * before.
 */
#include "lib/model/model.h"
#include "lib/base/team.h"
#include "lib/data/params.h"
#include "lib/theory/online.h"

#include <cblas.h>
#include <hinge/theory.h>
#include <math.h>

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

enum { CHUNK = 256 }; /* rows that a thread takes in one go */

/* Makes decisions = X w' + b for rows first .. first + count; room [CHUNK * d] for rows that do not stand in memory as
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

struct deciding {
    const struct hg_points *points;
    const double *w, *b;
    size_t k, share; /* share: of a thread's room */
    double *room, *decisions;
};

static void decide_some(void *arg, int thread, size_t first, size_t end)
{
    const struct deciding *d = arg;
    decide(d->points, first, end - first, d->w, d->b, d->k, d->room + (size_t)thread * d->share,
           d->decisions + first * d->k);
}

/* Makes X W' + b by a GEMM for each chunk of rows; a thread converts its rows to f64 in room of its own where they are
 * not that. A row's value does not depend on the number of threads. */
hinge_status hinge_linear_decisions(const hinge_matrix *x, const double *w, const double *b, size_t k, int threads,
                                    double *decisions, hinge_error *err)
{
    HG_TRY(hg_examples_check(x, threads, err));
    if (k == 0 || k >= INT32_MAX || w == NULL || decisions == NULL)
        return hg_fail(err, HINGE_EINVAL, "%s",
                       k == 0 || k >= INT32_MAX ? "k: not in 1 .. 2^31 - 2"
                       : w == NULL              ? "w: NULL"
                                                : "decisions: NULL");
    const struct hg_points points = { .x = *x, .n = x->rows };
    size_t share = x->type != HINGE_F64 || !hg_matrix_by_rows(x) ? CHUNK * x->cols : 0; /* of a thread */
    threads = hg_team_size(hg_threads(threads), (double)x->rows * (double)x->cols * (double)k);
    struct deciding job = { &points, w, b, k, share, NULL, decisions };
    HG_TRY(HG_MAKE(err, "rows in f64", HG_ARRAY(job.room, (size_t)threads * share)));
    hg_share(threads, x->rows, CHUNK, decide_some, &job);
    hg_free(job.room);
    return hg_ok(err);
}

hinge_status hinge_normalise(const hinge_matrix *x, double *w, double *b, int threads, hinge_error *err)
{
    double *f, nearest = INFINITY;
    HG_TRY(hg_examples_check(x, threads, err));
    HG_NEED(err, w, "w");
    HG_NEED(err, b, "b");
    HG_TRY(HG_MAKE(err, "decision values", HG_ARRAY(f, x->rows)));
    hinge_status status = hinge_linear_decisions(x, w, b, 1, threads, f, err);
    for (size_t i = 0; status == HINGE_OK && i < x->rows; i++)
        nearest = fabs(f[i]) >= nearest ? nearest : fabs(f[i]);
    hg_free(f);
    if (status != HINGE_OK)
        return status;
    if (!(nearest > 0 && isfinite(nearest)))
        return hg_fail(err, HINGE_EINVAL, "w, b: a row lies on the hyperplane, or there is none at a finite distance");
    for (size_t c = 0; c < x->cols; c++)
        w[c] /= nearest;
    *b /= nearest;
    return hg_ok(err);
}

/* Makes a model whose one support vector is w, with coefficient 1 and rho = -b; gamma is 1 / d, as a training leaves
 * it. */
hinge_status hinge_linear_model(hinge_model **model, const double *w, size_t d, double b, double positive,
                                double negative, hinge_error *err)
{
    if (model == NULL || (w == NULL && d > 0))
        return hg_fail(err, HINGE_EINVAL, "%s: NULL", model == NULL ? "model" : "w");
    HG_TRY(hg_check_finite(w, d, "w: weight", err));
    if (!isfinite(b) || !isfinite(positive) || !isfinite(negative) || positive == negative)
        return hg_fail(err, HINGE_EINVAL, "b, labels: %g, %g, %g: not finite, or equal labels", b, positive, negative);
    hinge_model *m = hg_model_new(HINGE_C_SVC, hinge_kernel_linear(), HINGE_ONE_VS_ONE, 2, 0, 1, d, HINGE_F64);
    if (m == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for a model of %zu features", d);
    m->kernel.gamma = 1.0 / (double)HG_MAX(d, (size_t)1);
    m->labels[0] = positive;
    m->labels[1] = negative;
    m->class_sv[0] = 1;
    m->coef[0] = 1;
    m->rho[0] = -b;
    if (d > 0)
        memcpy(m->sv, w, d * sizeof *w);
    hinge_status status = hg_model_finish(m, 1, err);
    if (status == HINGE_OK)
        *model = m;
    else
        hinge_model_free(m);
    return status == HINGE_OK ? hg_ok(err) : status;
}
