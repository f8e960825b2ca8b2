/*
 * Proximal steps by semismooth Newton, and what each is worth. Read finish.h before, which has the equations.
 *
 * The dual of a step, as a function of w, is piecewise quadratic; its pieces differ by which rows are free, at 0, or at
 * a bound. Each Newton step solves the piece that w is in, and once a whole step ends in the piece it began in, w is
 * the minimum. Sweeps do all work on rows: project_rows makes beta, the dual's gradient and second derivative at a
 * trial point; polish_rows mends the last digits of beta. The second half judges: bias, gap and violation by beta and Z
 * alone, of the layers as they are.
 */
#include "solver/ipm/finish.h"

#include <math.h>
#include <string.h>

/* Newton steps of a proximal step, alone and with a line search; trials of a search; mends of a projection. */
enum { MAX_STEPS = 10, MAX_SEARCHES = 40, MAX_HALVINGS = 12, MAX_POLISHES = 4 };

/* ---- the proximal step ------------------------------------------------------------------------------------------- */

/* Returns the linear term of the dual in w at column c, q of interior.c: the sums at the intercepts' columns, and minus
 * sum times shift at the others, as the rows are shifted. */
static double linear(const struct hg_finish *s, size_t c)
{
    size_t d = s->space->factor->d;
    double sum = 0;
    for (size_t at = d; at < s->space->cols; at++)
        sum += c < d ? -s->sums[at - d] * s->space->shift[c] : c == at ? s->sums[at - d] : 0;
    return sum;
}

/* Returns beta by the proximal point: v less the kink's dead zone, clipped to the box; a coefficient is free where
 * neither holds it. */
static double project(const struct hg_qp *qp, size_t i, double v, double dead, bool *is_free)
{
    double beta = v > dead ? v - dead : v < -dead ? v + dead : 0;
    *is_free = beta != 0 && beta > qp->lo[0][i] && beta < qp->hi[0][i];
    return beta >= qp->hi[0][i] ? qp->hi[0][i] : beta <= qp->lo[0][i] ? qp->lo[0][i] : beta;
}

/* Projects a block of rows. sum[0] is a number by which pieces of the piecewise quadratic dual are told apart: a whole
 * Newton step inside one piece is its minimum. */
static void project_rows(void *arg, const struct hg_block *b)
{
    struct hg_finish *s = arg;
    struct hg_qp *qp = s->qp;
    for (size_t k = 0; k < b->count; k++) {
        size_t i = b->first + k;
        bool is_free;
        double slope = b->t[k] + qp->off[0][i];
        double beta = project(qp, i, s->from[i] - s->sigma * slope, s->sigma * qp->kink, &is_free);
        qp->beta[0][i] = b->y[0][k] = beta;
        b->weight[k] = is_free ? s->sigma : 0;
        b->sum[0] += (double)(i + 1) * (is_free ? 1 : beta == 0 ? 0 : 2);
    }
}

/* Brings the negative gradient Z'beta - Rw - q of the dual at the trial point into acc, its second derivative into the
 * space's normal. */
static bool evaluate(struct hg_finish *s)
{
    struct hg_sweep sweep = {
        .v = s->trial, .n_acc = 1, .acc = { s->acc }, .exact = true, .normal = true, .rows = project_rows, .arg = s
    };
    size_t cols = s->space->cols, ld = s->space->ld;
    if (!hg_sweep_run(s->space, &sweep))
        return false;
    s->piece = sweep.sum[0];
    for (size_t c = 0; c < cols; c++) {
        s->acc[c] -= hg_sweep_ridge(s->space, c) * s->trial[c] + linear(s, c);
        s->space->normal[c * ld + c] += hg_sweep_ridge(s->space, c);
    }
    for (size_t c = s->space->factor->d; c < cols; c++)
        if (s->space->normal[c * ld + c] == 0) /* no row is free: nothing says how the intercept should move */
            s->space->normal[c * ld + c] = s->sigma;
    return true;
}

static double dot(const struct hg_finish *s, const double *a, const double *b)
{
    return hg_dot(a, b, s->space->cols);
}

/* Makes the trial point w + step force; a step of 0 is where a proximal step begins. */
static void try_step(struct hg_finish *s, double step)
{
    for (size_t c = 0; c < s->space->cols; c++)
        s->trial[c] = s->w[c] + step * s->force[c];
}

/* Makes force the Newton step from the trial point, which is accepted: (R + sigma Z_F'Z_F) force = acc. false: no
 * factor, or a halt. */
static bool newton_step(struct hg_finish *s)
{
    size_t bytes = s->space->cols * sizeof(double);
    memcpy(s->w, s->trial, bytes);
    memcpy(s->force, s->acc, bytes);
    s->steps++;
    if (!hg_cholesky_factor(s->cholesky, s->space->normal, &s->space->halt))
        return false;
    hg_cholesky_solve(s->cholesky, s->force);
    return true;
}

/* Goes along force; with `search` until the slope there, which only rises, is not steeply up: the dual itself has too
 * few digits to tell. The next trial is where the slope would be 0 if it rose evenly, at 0.1 to 0.7 of the last. acc,
 * normal: at the end. */
static bool go_along(struct hg_finish *s, bool search, double *step)
{
    double down = dot(s, s->force, s->acc);
    *step = 1;
    for (int k = 0; k < MAX_HALVINGS; k++) {
        try_step(s, *step);
        if (!evaluate(s))
            return false;
        double up = -dot(s, s->force, s->acc);
        if (isnan(up))
            return false;
        if (up <= 0.5 * down || !search)
            return true;
        *step *= fmin(fmax(down / (down + up), 0.1), 0.7);
    }
    return false;
}

/* Makes Newton steps until Z'beta = w to rounding: after a whole step within one piece, or where the residual falls no
 * more, for three steps, but is about the least there was. false: it got nowhere, or was stopped. */
static bool newton(struct hg_finish *s, bool search)
{
    double first = 0, least = INFINITY, piece = -1, step = 0;
    int idle = 0;
    try_step(s, 0);
    if (!evaluate(s))
        return false;
    for (int k = 0; k < (search ? MAX_SEARCHES : MAX_STEPS) && s->steps < s->most_steps; k++) {
        double left = sqrt(dot(s, s->acc, s->acc));
        first = k == 0 ? left : first;
        idle = left < 0.5 * least || step < 1 ? 0 : idle + 1;
        least = fmin(least, left);
        if (left <= 1e-12 * first || (step == 1 && s->piece == piece) || (idle == 3 && left <= 2 * least))
            return true;
        piece = s->piece;
        if (!newton_step(s) || !go_along(s, search, &step))
            return false;
    }
    return false;
}

/* Moves free coefficients by what the last step says, -sigma <z, force>, where that keeps them inside their boxes;
 * others stay, so that no bound or zero that was met exactly is left. */
static void polish_rows(void *arg, const struct hg_block *b)
{
    struct hg_finish *s = arg;
    const struct hg_qp *qp = s->qp;
    for (size_t k = 0; k < b->count; k++) {
        size_t i = b->first + k;
        double *beta = &qp->beta[0][i], moved = *beta - s->sigma * b->t[k];
        if (*beta != 0 && *beta > qp->lo[0][i] && *beta < qp->hi[0][i] && moved > qp->lo[0][i] && moved < qp->hi[0][i])
            *beta = moved;
        b->y[0][k] = *beta;
    }
}

/* Mends a projection, which loses digits: sigma times the rounding of f. So what is left of Z'beta = w is taken out by
 * small changes of the free coefficients, while it falls. false: stopped */
static bool polish(struct hg_finish *s)
{
    double left = sqrt(dot(s, s->acc, s->acc));
    if (s->steps >= s->most_steps)
        return true;
    s->steps++;
    if (left == 0 || !hg_cholesky_factor(s->cholesky, s->space->normal, &s->space->halt))
        return true;
    for (int k = 0; k < MAX_POLISHES; k++) {
        memcpy(s->force, s->acc, s->space->cols * sizeof(double));
        hg_cholesky_solve(s->cholesky, s->force);
        struct hg_sweep sweep = {
            .v = s->force, .n_acc = 1, .acc = { s->acc }, .exact = true, .rows = polish_rows, .arg = s
        };
        if (!hg_sweep_run(s->space, &sweep))
            return false;
        for (size_t c = 0; c < s->space->cols; c++) {
            s->trial[c] += s->force[c];
            s->acc[c] -= hg_sweep_ridge(s->space, c) * s->trial[c] + linear(s, c);
        }
        double now = sqrt(dot(s, s->acc, s->acc));
        if (!(now < 0.1 * left))
            return true;
        left = now;
    }
    return true;
}

/* Puts beta and w back where Newton's method got nowhere: the caller tries another weight from the same start. */
bool hg_finish_step(struct hg_finish *s, double sigma, bool search)
{
    double *beta = s->qp->beta[0];
    s->sigma = sigma;
    memcpy(s->from, beta, s->qp->n * sizeof(double));
    memcpy(s->guess, s->w, s->space->cols * sizeof(double));
    memset(s->force, 0, s->space->cols * sizeof(double));
    if (newton(s, search) && polish(s)) {
        memcpy(s->w, s->trial, s->space->cols * sizeof(double));
        return true;
    }
    memcpy(beta, s->from, s->qp->n * sizeof(double));
    memcpy(s->w, s->guess, s->space->cols * sizeof(double));
    return false;
}

/* ---- what it is worth -------------------------------------------------------------------------------------------- */

/* Gives the rows their beta, for the sum Z'beta alone. */
static void beta_rows(void *arg, const struct hg_block *b)
{
    const struct hg_finish *s = arg;
    memcpy(b->y[0], s->qp->beta[0] + b->first, b->count * sizeof(double));
}

/* Takes the decision values of the rows, those without a box too: the violation is asked of all. */
static void f_rows(void *arg, const struct hg_block *b)
{
    struct hg_finish *s = arg;
    memcpy(s->f + b->first, b->t, b->count * sizeof(double));
}

/* Makes trial = w = X'beta with intercept 0, as a model will have it (x - shift is rounded), and f = Z w */
static bool decision_values(struct hg_finish *s)
{
    size_t d = s->space->factor->d;
    struct hg_sweep sum = {
        .n_acc = 1, .acc = { s->trial }, .exact = true, .as_is = true, .rows = beta_rows, .arg = s
    };
    struct hg_sweep values = { .v = s->trial, .every = true, .rows = f_rows, .arg = s };
    if (!hg_sweep_run(s->space, &sum))
        return false;
    for (size_t c = d; c < s->space->cols; c++)
        s->trial[c] = 0;
    return hg_sweep_run(s->space, &values);
}

/* Returns a layer's part of the gap for a bias: the sum of hg_qp_gap over its entries, none of which is negative. */
static double gap_at(const struct hg_finish *s, int l, double bias)
{
    const struct hg_qp *qp = s->layered;
    double gap = 0;
    for (size_t i = 0; i < qp->n; i++)
        gap += hg_qp_gap(qp->beta[l][i], qp->lo[l][i], qp->hi[l][i], qp->kink, s->f[i] + qp->off[l][i] + bias);
    return gap;
}

/* Returns the derivative of the gap by the layer's bias: the sum less that of the best responses to it, each of which
 * is at hi, 0 or lo by the sign of its slope and the kink. Rises with bias. */
static double slope_at(const struct hg_finish *s, int l, double bias)
{
    const struct hg_qp *qp = s->layered;
    double slope = s->sums[l];
    for (size_t i = 0; i < qp->n; i++) {
        double g = s->f[i] + qp->off[l][i] + bias;
        slope -= g < -qp->kink ? qp->hi[l][i] : g > qp->kink ? qp->lo[l][i] : 0;
    }
    return slope;
}

/* Finds the bias of the least primal objective: brackets the zero of slope_at, from `near` on with widths that grow,
 * and bisects until the ends are neighbours; finite boxes. */
static double best_bias(const struct hg_finish *s, int l, double near)
{
    double width = 1e-6 + 1e-6 * fabs(near), low = near - width, high = near + width;
    for (; slope_at(s, l, low) > 0 && width < 1e300; width *= 4)
        low -= width;
    for (width = high - near; slope_at(s, l, high) < 0 && width < 1e300; width *= 4)
        high += width;
    for (int k = 0; k < 100; k++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        *(slope_at(s, l, middle) < 0 ? &low : &high) = middle;
    }
    return low + (high - low) / 2;
}

/* Says whether boxes have no upper end: the hard margin, whose gap is measured in another way. */
static bool is_hard(const struct hg_qp *qp)
{
    return qp->n > 0 && isinf(fmax(qp->hi[0][0], -qp->lo[0][0]));
}

/* Finds, for the hard margin, the least f of the positive class, the largest of the negative one. */
static void closest(const struct hg_finish *s, double *positive, double *negative)
{
    *positive = INFINITY;
    *negative = -INFINITY;
    for (size_t i = 0; i < s->layered->n; i++) {
        if (s->layered->hi[0][i] > 0)
            *positive = fmin(*positive, s->f[i]);
        else
            *negative = fmax(*negative, s->f[i]);
    }
}

/* Returns the primal objective of (w, b) divided by the least margin, which is feasible: |w|^2 / (2 least^2); infinite
 * where some row is on the wrong side. */
static double hard_primal(const struct hg_finish *s, double square, double bias)
{
    double positive, negative;
    closest(s, &positive, &negative);
    double least = fmin(positive + bias, -(negative + bias));
    return least > 0 ? square / (2 * least * least) : INFINITY;
}

/* Returns the bias half-way between the classes: of all it has the largest least margin. One class alone gets margins
 * of 1. */
static double hard_bias(const struct hg_finish *s)
{
    double positive, negative;
    closest(s, &positive, &negative);
    if (isinf(positive) || isinf(negative)) /* one class alone */
        return isinf(positive) ? (isinf(negative) ? 0 : -1 - negative) : 1 - positive;
    return -(positive + negative) / 2;
}

/* Returns the layer's bias in f's coordinates, where the intercept of w is 0: the usual one, by free coefficients, or
 * the one of the least gap where that is clearly better. Far from the solution few coefficients are free, or none, and
 * the usual bias may cost most of the gap. */
static double choose_bias(const struct hg_finish *s, int l)
{
    if (s->layered->no_sum)
        return 0;
    if (is_hard(s->layered))
        return hard_bias(s);
    double usual = hg_qp_bias(s->layered, NULL, s->layered->n, s->f, l), best = best_bias(s, l, usual);
    return gap_at(s, l, best) < 0.999 * gap_at(s, l, usual) ? best : usual;
}

/* Puts a layer's sum right by the one coefficient that is furthest from its bounds and from 0; those at a bound or at 0
 * are to stay there. Only what is more than one can take goes to others too. Sums are in twice the working precision,
 * so that what is missing is known to its last digit. */
static bool put_sum_right(const struct hg_finish *s, int l)
{
    const struct hg_qp *qp = s->layered;
    double *beta = qp->beta[l], sum = 0, low = 0, most = 0;
    size_t roomiest = 0;
    for (size_t i = 0; i < qp->n; i++) {
        hg_add_exactly(&sum, &low, beta[i]);
        double far = beta[i] > 0 ? qp->hi[l][i] - beta[i] : beta[i] - qp->lo[l][i], room = fmin(far, fabs(beta[i]));
        if (room > most)
            most = room, roomiest = i;
    }
    double missing = s->sums[l] - (sum + low);
    if (missing == 0 || fabs(missing) < 0.5 * most) {
        beta[roomiest] += missing;
        return true;
    }
    return hg_qp_project(s->layered, s->sums);
}

/* Finds violation, objective, biases and gap at f. The gap is summed entry by entry and not the difference of two
 * objectives, which would lose its digits; it is relative to the larger of them, or to floor where both may be 0. */
void hg_finish_worth(const struct hg_finish *s, double square, struct hg_worth *worth)
{
    const struct hg_qp *qp = s->layered;
    double gap = 0;
    worth->violation = hg_qp_violation(qp, s->f);
    worth->objective = square / 2 + hg_qp_objective(qp, NULL);
    worth->bias[1] = 0;
    for (size_t i = 0; i < qp->n; i++)
        worth->violation = isfinite(s->f[i]) ? worth->violation : NAN;
    for (int l = 0; l < qp->layers; l++) {
        worth->bias[l] = choose_bias(s, l);
        gap += is_hard(qp) ? hard_primal(s, square, worth->bias[l]) + worth->objective : gap_at(s, l, worth->bias[l]);
    }
    worth->primal = gap - worth->objective;
    double size = fmax(fmax(fabs(worth->primal), fabs(worth->objective)), s->floor);
    worth->gap = !isfinite(gap) ? INFINITY : size > 0 ? fmax(gap, 0) / size : 0;
}

/* Brings the sums to what they are to be, f to beta, and tells what beta is worth. f is by the rows as swept, relative
 * to the shift; the biases are taken back to rows as they are. */
bool hg_finish_judge(struct hg_finish *s, struct hg_worth *worth)
{
    size_t d = s->space->factor->d;
    for (int l = 0; l < s->space->intercepts; l++)
        if (!put_sum_right(s, l))
            return false;
    if (!decision_values(s))
        return false;
    double moved = hg_dot(s->trial, s->space->shift, d);
    hg_finish_worth(s, hg_dot(s->trial, s->trial, d), worth);
    for (int l = 0; l < s->space->intercepts; l++)
        worth->bias[l] -= moved; /* <z, w> + bias = <x, w> + bias - <shift, w> */
    return true;
}
