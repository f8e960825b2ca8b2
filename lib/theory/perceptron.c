/*
 * The perceptron: w += eta sum y_i x_i over the examples that w gets wrong (Rosenblatt 1958; all at once as in the
 * slides of Shi, eq. 1). Batch: the sum runs over all examples, one pass a round, which measures w too.
 */
#include "lib/theory/online.h"

#include <math.h>
#include <string.h>

static void record(hinge_online_round *history, size_t round, const struct hg_online_sweep *sweep, size_t n)
{
    if (history != NULL)
        history[round] = (hinge_online_round){ sweep->loss / (double)n, sweep->errors };
}

/* The gradient of a round is measured together with the errors of the round before. */
static hinge_status all_at_once(struct hg_online *o, const hinge_perceptron_options *p, hinge_online_round *history,
                                size_t *n_rounds, hinge_error *err)
{
    size_t d = o->x.cols, round = 0;
    struct hg_online_sweep sweep;
    double *gradient = hg_alloc(d + 1, sizeof *gradient);
    if (gradient == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu features", d);
    bool any = hg_online_sweep(o, o->w, o->b, 0, p->strict, gradient, &sweep);
    while (any && round < p->rounds) {
        for (size_t c = 0; c < d; c++)
            o->w[c] += p->step * gradient[c];
        if (o->bias)
            o->b += p->step * gradient[d];
        any = hg_online_sweep(o, o->w, o->b, 0, p->strict, gradient, &sweep);
        record(history, round++, &sweep, o->x.rows);
        if (hg_online_tell(o, true, sweep.loss / (double)o->x.rows))
            break;
    }
    *n_rounds = round;
    hg_free(gradient);
    return HINGE_OK;
}

static void visit_all(struct hg_online *o, const hinge_perceptron_options *p)
{
    for (size_t first = 0; first < o->x.rows; first += o->batch) {
        size_t count = HG_MIN(o->batch, o->x.rows - first), ld;
        const double *rows = hg_online_visit(o, first, count, &ld);
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            double y = o->y[o->order[first + i]], margin = y * o->f[i];
            bool in = p->strict ? margin < 0 : margin <= 0;
            any |= in;
            o->c[i] = in ? y : 0;
        }
        if (any)
            hg_online_step(o, rows, ld, count, 1, p->step, p->step);
        if (hg_online_tell(o, false, NAN))
            break;
    }
}

static void batch_by_batch(struct hg_online *o, const hinge_perceptron_options *p, hinge_online_round *history,
                           size_t *n_rounds)
{
    uint64_t state = p->seed;
    struct hg_online_sweep sweep;
    size_t round = 0;
    bool any = hg_online_sweep(o, o->w, o->b, 0, p->strict, NULL, &sweep);
    while (any && round < p->rounds) {
        hg_online_shuffle(o, &state);
#pragma omp parallel num_threads(1)
        {
            hg_blas_alone();
            visit_all(o, p);
        }
        if (o->stopped)
            break;
        any = hg_online_sweep(o, o->w, o->b, 0, p->strict, NULL, &sweep);
        record(history, round++, &sweep, o->x.rows);
        if (hg_online_tell(o, true, sweep.loss / (double)o->x.rows))
            break;
    }
    *n_rounds = round;
}

hinge_status hg_perceptron(struct hg_online *o, const hinge_perceptron_options *p, hinge_online_round *history,
                           size_t *n_rounds, hinge_error *err)
{
    if (p->w0 != NULL)
        memcpy(o->w, p->w0, o->x.cols * sizeof *o->w);
    if (p->batch == 0)
        return all_at_once(o, p, history, n_rounds, err);
    batch_by_batch(o, p, history, n_rounds);
    return HINGE_OK;
}
