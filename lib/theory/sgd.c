/*
 * Soft-SVM by stochastic subgradients (Pegasos: Shalev-Shwartz, Singer, Srebro 2007, here for lambda ||w||^2):
 *
 *     w <- (1 - 2 lambda eta_t) w + eta_t / |B| sum of y x over the examples of batch B with y f < 1,
 *     then onto the ball 2 lambda ||w||^2 <= 1, eta_t = 1 / (2 lambda t),
 *
 * and likewise for other losses, by their slope times y x; the ball is that of lambda ||w||^2 <= loss(0) = 1 then, or
 * the caller's.
 * averaged with weights t (Lacoste-Julien, Schmidt, Bach 2012), which leaves the wild first steps behind. b is not
 * regularised: nothing is strongly convex in it, so its steps shrink by 1 / sqrt(t) only (by 1/t it may never arrive);
 * the last step finds the b that is best for the w found, exactly. Read online.h before; doc/online.md compares the
 * result with the exact optimum.
 */
#include "lib/theory/online.h"
#include "lib/base/team.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Holds a run. online has the iterate w_t, b_t; w and b here are what is returned. All arrays are one block, whose
 * first is w. */
struct sgd {
    struct hg_online online, *o;
    const hinge_sgd_options *p;
    double t;     /* steps so far */
    double *w, b; /* [d] mean of the iterates, or the last one */
    double *mean; /* [d] of the rows, with a bias; otherwise 0 */
};

/* Returns eta_t: eta / t^power where eta is given, otherwise Pegasos' 1 / (2 lambda t). */
static double step_size(const hinge_sgd_options *p, double t)
{
    return p->eta > 0 ? p->eta / pow(t, p->power) : 1 / (2 * p->lambda * t);
}

/* Returns the step of b: eta_t where eta is given, otherwise 1 / sqrt(t). */
static double bias_step_size(const hinge_sgd_options *p, double t)
{
    return p->eta > 0 ? step_size(p, t) : 1 / sqrt(t);
}

/* Returns 1 / C of the ball ||w||^2 <= C, the caller's or one that holds the optimum, whichever is smaller; 0: all. */
static double curvature(const hinge_sgd_options *p)
{
    return fmax((p->loss == HINGE_LOSS_HINGE ? 2 : 1) * p->lambda, p->ball > 0 ? 1 / p->ball : 0);
}

/* Projects w onto the ball. */
static void project(const struct sgd *s)
{
    int d = (int)s->o->x.cols;
    double share = curvature(s->p) * cblas_ddot(d, s->o->w, 1, s->o->w, 1);
    if (share > 1)
        cblas_dscal(d, 1 / sqrt(share), s->o->w, 1);
}

/* Returns by what to shorten a step that would move a margin of its batch by more than 1, as the exponential loss
 * may. */
static double shorten(const struct sgd *s, const double *rows, size_t ld, size_t count, double step)
{
    double most = 1;
    if (s->p->loss != HINGE_LOSS_EXPONENTIAL)
        return 1;
    for (size_t i = 0; i < count; i++) {
        double norm2 = cblas_ddot((int)s->o->x.cols, rows + i * ld, 1, rows + i * ld, 1);
        most = fmax(most, step * fabs(s->o->c[i]) * (norm2 + 1) * (double)count);
    }
    return 1 / most;
}

/* Adds an iterate to the mean: mean += 2 / (t + 1) (iterate - mean), the mean with weights 1, 2, .. t. */
static void average(struct sgd *s)
{
    double share = s->p->last ? 1 : 2 / (s->t + 1);
    for (size_t c = 0; c < s->o->x.cols; c++)
        s->w[c] += share * (s->o->w[c] - s->w[c]);
    s->b += share * (s->o->b - s->b);
}

/* Makes step t: subgradient, projection, mean. */
static void take_batch(void *arg, const double *rows, size_t ld, size_t count, bool any)
{
    struct sgd *s = arg;
    double eta = step_size(s->p, ++s->t), bias_eta = bias_step_size(s->p, s->t);
    double share = shorten(s, rows, ld, count, fmax(eta, bias_eta) / (double)count) / (double)count;
    (void)any; /* w shrinks all the same */
    hg_online_step(s->o, rows, ld, count, 1 - 2 * s->p->lambda * eta, eta * share, bias_eta * share);
    project(s);
    average(s);
}

/* Sets f = <x, w> of all examples. */
static void find_decisions(const struct sgd *s, double *f)
{
    const hinge_matrix *x = &s->o->x;
    for (size_t i = 0; i < x->rows; i++) {
        f[i] = 0;
        for (size_t c = 0; c < x->cols; c++)
            f[i] += hg_matrix_value(x, i, c) * s->w[c];
    }
}

/* Finds the b that minimises sum max(0, offset - y (f + b)): its slope is -1 for each +1 with b < offset - f and +1 for
 * each -1 with b > -offset - f, so that it rises by 1 at each offset y - f, from minus the number of +1. Where it is 0
 * between two of them, their middle. at: f, spoilt. */
static double best_kink(const struct sgd *s, double offset, double *at)
{
    size_t n = s->o->x.rows, positive = 0;
    for (size_t i = 0; i < n; i++) {
        at[i] = offset * s->o->y[i] - at[i];
        positive += s->o->y[i] > 0;
    }
    qsort(at, n, sizeof *at, hg_by_value);
    if (positive == 0 || positive == n)
        return positive == 0 ? at[0] : at[n - 1];
    return (at[positive - 1] + at[positive]) / 2;
}

/* Returns minus the derivative of sum loss(y (f + b)) by b. */
static double pull(const struct sgd *s, const double *f, double b)
{
    double sum = 0;
    for (size_t i = 0; i < s->o->x.rows; i++)
        sum += s->o->y[i] * hinge_loss_slope(s->p->loss, s->o->y[i] * (f[i] + b));
    return sum;
}

/* Finds the b that minimises the sum of a smooth loss, by halving, between those that have all margins of one class at
 * 2^10 at least, and the other's at -2^10: no slope is left to the first. Of one class alone there is none that is
 * best, and the last of these serves. */
static double best_root(const struct sgd *s, const double *f)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < s->o->x.rows; i++) {
        least = fmin(least, f[i]);
        most = fmax(most, f[i]);
    }
    double low = -1024 - most, high = 1024 - least;
    for (int k = 0; k < 100; k++) {
        double middle = low + (high - low) / 2;
        if (!(middle > low && middle < high))
            break;
        *(pull(s, f, middle) > 0 ? &low : &high) = middle;
    }
    return low + (high - low) / 2;
}

/* Returns the b that is best for w. room: for a number an example. */
static double best_bias(const struct sgd *s, double *room)
{
    find_decisions(s, room);
    return s->o->smooth ? best_root(s, room) : best_kink(s, s->p->loss == HINGE_LOSS_HINGE, room);
}

/* Measures lambda |w|^2 + mean loss, and errors, of what would be returned now. The sweep takes rows as they stand, so
 * b is that of rows less their mean, minus <mean, w>. */
static void record(struct sgd *s, hinge_online_round *round)
{
    struct hg_online_sweep sweep;
    size_t d = s->o->x.cols;
    double b = s->b;
    for (size_t c = 0; s->o->mean != NULL && c < d; c++)
        b -= s->mean[c] * s->w[c];
    hg_online_sweep(s->o, s->w, b, s->p->loss == HINGE_LOSS_HINGE, false, NULL, &sweep);
    round->objective = s->p->lambda * hg_dot(s->w, s->w, d) + sweep.loss / (double)s->o->x.rows;
    round->errors = sweep.errors;
}

/* Makes the mean of the rows, which batches are taken relative to, f = <x - mean, w> + b: the same problem, in which w
 * and b do not pull at each other, and R is smaller. */
static void find_mean(struct sgd *s)
{
    const hinge_matrix *x = &s->o->x;
    for (size_t i = 0; i < x->rows; i++)
        for (size_t c = 0; c < x->cols; c++)
            s->mean[c] += hg_matrix_value(x, i, c) / (double)x->rows;
    s->o->mean = s->mean;
}

/* Walks through the epochs, then sets b to the best of w. In the end b is that of the rows as they are: best_bias looks
 * at these. */
static hinge_status run(struct sgd *s, hinge_online_round *history, hinge_error *err)
{
    struct hg_online *o = s->o;
    const hinge_sgd_options *p = s->p;
    uint64_t state = p->seed;
    size_t d = o->x.cols;
    bool hinge = p->loss == HINGE_LOSS_HINGE;
    double *room;
    HG_TRY(HG_MAKE(err, "the means of examples", HG_ZEROS(s->w, d), HG_ZEROS(s->mean, d), HG_ARRAY(room, o->x.rows)));
    if (o->bias)
        find_mean(s);
    for (size_t epoch = 0; epoch < p->epochs; epoch++) {
        hg_online_pass(o, &state, hinge, hinge, take_batch, s); /* w = 0 is no end of the perceptron's loss */
        if (o->stopped)
            break;
        if (history != NULL)
            record(s, &history[epoch]);
        if (hg_online_tell(o, true, history != NULL ? history[epoch].objective : NAN))
            break;
    }
    if (o->bias)
        s->b = best_bias(s, room);
    memcpy(o->w, s->w, d * sizeof *o->w);
    o->b = s->b;
    hg_free(s->w);
    return HINGE_OK;
}

/* Counts steps, 30 (1 + R^2) / (2 lambda) of them, by a rule that tests hold up (include/hinge/theory.h). */
size_t hinge_sgd_epochs(double lambda, double radius, size_t m, size_t batch)
{
    double steps = 30 * (1 + radius * radius) / (2 * lambda);
    double epochs = ceil(steps * (double)HG_MAX(batch, (size_t)1) / (double)HG_MAX(m, (size_t)1));
    return epochs > 5 ? (size_t)fmin(epochs, 1000) : 5; /* NaN: 5 */
}

struct measuring {
    const hinge_matrix *x;
    double largest;
};

static void measure_some(void *arg, int thread, size_t first, size_t end)
{
    struct measuring *m = arg;
    (void)thread;
    for (size_t i = first; i < end; i++) {
        double sum = 0;
        for (size_t c = 0; c < m->x->cols; c++)
            sum += hg_matrix_value(m->x, i, c) * hg_matrix_value(m->x, i, c);
        hg_raise(&m->largest, sum);
    }
}

/* Returns R, the largest |x|. */
static double largest_norm(const hinge_matrix *x, int threads)
{
    struct measuring m = { x, 0 };
    hg_share(hg_team_size(threads, (double)x->rows * (double)x->cols), x->rows, 256, measure_some, &m);
    return sqrt(m.largest);
}

/* Checks, and runs as many epochs as asked for or as hinge_sgd_epochs says. */
static hinge_status descend(const hinge_matrix *x, const double *y, const hinge_sgd_options *options, double *w,
                            double *b, hinge_online_round *history, hinge_error *err)
{
    if (options == NULL)
        return hg_fail(err, HINGE_EINVAL, "options: NULL, but lambda has no default");
    hinge_sgd_options p = *options;
    struct sgd s = { .o = &s.online, .p = &p };
    HG_TRY(hg_online_check(x, y, p.threads, p.bias, w, b, err));
    if ((size_t)p.loss >= HINGE_N_LOSSES || p.loss == HINGE_LOSS_ZERO_ONE)
        return hg_fail(err, HINGE_EINVAL, "loss: %d is no loss that has slopes", (int)p.loss);
    if (!(p.ball >= 0 && isfinite(p.ball)))
        return hg_fail(err, HINGE_EINVAL, "ball: %g is not a finite number >= 0", p.ball);
    if (!(p.lambda > 0 && isfinite(p.lambda)) && !(p.lambda == 0 && (p.ball > 0 || p.eta > 0)))
        return hg_fail(err, HINGE_EINVAL, "lambda: %g is not a finite number > 0", p.lambda);
    if (!(p.eta >= 0 && isfinite(p.eta) && p.power >= 0 && isfinite(p.power)))
        return hg_fail(err, HINGE_EINVAL, "eta, power: %g, %g are not finite numbers >= 0", p.eta, p.power);
    if (history != NULL && p.epochs == 0)
        return hg_fail(err, HINGE_EINVAL, "history: its length is not known with epochs = 0; see hinge_sgd_epochs");
    p.batch = p.batch == 0 ? 1 : p.batch;
    double radius = p.epochs == 0 || p.lambda == 0 ? largest_norm(x, hg_threads(p.threads)) : 0;
    if (p.epochs == 0)
        p.epochs = hinge_sgd_epochs(p.lambda, radius, x->rows, p.batch);
    if (p.lambda == 0 && p.eta == 0) {
        p.eta = sqrt(p.ball) / (radius > 0 ? radius : 1);
        p.power = 0.5;
    }
    HG_TRY(hg_online_init(s.o, x, y, p.batch, p.bias, hg_threads(p.threads), p.progress, p.progress_arg, err));
    s.o->smooth = p.loss == HINGE_LOSS_LOGISTIC || p.loss == HINGE_LOSS_EXPONENTIAL ? p.loss : HINGE_LOSS_HINGE;
    return hg_online_end(s.o, run(&s, history, err), w, b, err);
}

hinge_status hinge_sgd(const hinge_matrix *x, const double *y, const hinge_sgd_options *options, double *w, double *b,
                       hinge_online_round *history, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    HG_TEAM(hg_online_team(x, options != NULL ? options->threads : 0))
    status = descend(x, y, options, w, b, history, err);
    return status;
}
