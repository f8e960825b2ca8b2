/*
 * The perceptron: w += eta sum y_i x_i over the examples that w gets wrong (Rosenblatt 1958; all at once as in the
 * slides of Shi, eq. 1). Batch: the sum runs over all examples, one pass a round, which measures w too.
 */
#include "lib/theory/online.h"

#include <math.h>
#include <string.h>

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

/* All at once, the gradient of a round is measured together with the errors of the round before. */
hinge_status hg_perceptron(struct hg_online *o, const hinge_perceptron_options *p, hinge_online_round *history,
                           size_t *n_rounds, hinge_error *err)
{
    size_t d = o->x.cols, n = o->x.rows, round = 0;
    uint64_t state = p->seed;
    struct hg_online_sweep sweep;
    double *gradient = p->batch == 0 ? hg_alloc(d + 1, sizeof *gradient) : NULL;
    if (p->batch == 0 && gradient == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu features", d);
    if (p->w0 != NULL)
        memcpy(o->w, p->w0, d * sizeof *o->w);
    bool any = hg_online_sweep(o, o->w, o->b, 0, p->strict, gradient, &sweep);
    while (any && round < p->rounds && !o->stopped) {
        if (gradient != NULL) {
            for (size_t c = 0; c < d; c++)
                o->w[c] += p->step * gradient[c];
            o->b += o->bias ? p->step * gradient[d] : 0;
        } else {
            hg_shuffle(&state, o->order, o->x.rows);
#pragma omp parallel num_threads(1)
            {
                hg_blas_alone();
                visit_all(o, p);
            }
            if (o->stopped)
                break;
        }
        any = hg_online_sweep(o, o->w, o->b, 0, p->strict, gradient, &sweep);
        if (history != NULL)
            history[round] = (hinge_online_round){ sweep.loss / (double)n, sweep.errors };
        round++;
        hg_online_tell(o, true, sweep.loss / (double)n);
    }
    *n_rounds = round;
    hg_free(gradient);
    return HINGE_OK;
}
