/*
 * The perceptron: w += eta sum y_i x_i over the examples that w gets wrong (Rosenblatt 1958; all at once as in the
 * slides of Shi, eq. 1). Batch: the sum runs over all examples, one pass a round, which measures w too. Novikoff's
 * bound on the number of corrections is in doc/online.md. Read online.h before.
 */
#include "lib/data/params.h"
#include "lib/base/team.h"
#include "lib/theory/online.h"

#include <math.h>
#include <string.h>

/* Holds a run and its options, defaults filled in. */
struct perceptron {
    struct hg_online o;
    hinge_perceptron_options p;
    double *gradient; /* [d + 1] or, in batches, NULL */
};

/* Corrects w and b by a batch, unless it has no error. */
static void take_batch(void *arg, const double *rows, size_t ld, size_t count, bool any)
{
    struct perceptron *p = arg;
    if (any)
        hg_online_step(&p->o, rows, ld, count, 1, p->p.step, p->p.step);
}

/* Goes round by round until no example is wrong, and returns how many rounds were carried out. All at once, the
 * gradient of a round is measured together with the errors of the round before: the sweep before the loop is round 0's.
 * In batches each round is a walk, and the sweep only measures. */
static size_t run(struct perceptron *p, hinge_online_round *history)
{
    struct hg_online *o = &p->o;
    size_t d = o->x.cols, round = 0;
    uint64_t state = p->p.seed;
    struct hg_online_sweep sweep;
    bool any = hg_online_sweep(o, o->w, o->b, 0, p->p.strict, p->gradient, &sweep);
    while (any && round < p->p.rounds && !o->stopped) {
        if (p->gradient != NULL) {
            for (size_t c = 0; c < d; c++)
                o->w[c] += p->p.step * p->gradient[c];
            o->b += o->bias ? p->p.step * p->gradient[d] : 0;
        } else {
            hg_online_pass(o, &state, 0, p->p.strict, take_batch, p);
            if (o->stopped)
                break;
        }
        any = hg_online_sweep(o, o->w, o->b, 0, p->p.strict, p->gradient, &sweep);
        double loss = sweep.loss / (double)o->x.rows;
        if (history != NULL)
            history[round] = (hinge_online_round){ loss, sweep.errors };
        round++;
        hg_online_tell(o, true, loss);
    }
    return round;
}

/* Starts at w0, or 0, and b = 0. */
static hinge_status train_perceptron(const hinge_matrix *x, const double *y, const hinge_perceptron_options *options,
                                     double *w, double *b, hinge_online_round *history, size_t *n_rounds,
                                     hinge_error *err)
{
    struct perceptron s = { .p = options != NULL ? *options : (hinge_perceptron_options){ 0 } };
    hinge_perceptron_options *p = &s.p;
    HG_TRY(hg_online_check(x, y, p->threads, p->bias, w, b, err));
    p->step = p->step == 0 ? 1 : p->step;
    p->rounds = p->rounds == 0 ? 1000 : p->rounds;
    if (!(p->step > 0 && isfinite(p->step)))
        return hg_fail(err, HINGE_EINVAL, "step: %g is not a finite number > 0", p->step);
    HG_TRY(hg_check_finite(p->w0, p->w0 != NULL ? x->cols : 0, "w0: weight", err));
    HG_TRY(hg_online_init(&s.o, x, y, p->batch, p->bias, hg_threads(p->threads), p->progress, p->progress_arg, err));
    if (p->w0 != NULL)
        memcpy(s.o.w, p->w0, x->cols * sizeof *s.o.w);
    hinge_status status = HINGE_OK;
    if (p->batch == 0)
        status = HG_MAKE(err, "a gradient", HG_ARRAY(s.gradient, x->cols + 1));
    size_t rounds = status == HINGE_OK ? run(&s, history) : 0;
    if (status == HINGE_OK && n_rounds != NULL)
        *n_rounds = rounds;
    hg_free(s.gradient);
    return hg_online_end(&s.o, status, w, b, err);
}

hinge_status hinge_perceptron(const hinge_matrix *x, const double *y, const hinge_perceptron_options *options,
                              double *w, double *b, hinge_online_round *history, size_t *n_rounds, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    HG_TEAM(hg_online_team(x, options != NULL ? options->threads : 0))
    status = train_perceptron(x, y, options, w, b, history, n_rounds, err);
    return status;
}
