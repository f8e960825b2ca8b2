/*
 * The end of the interior point: coefficients of the state as it stands, by proximal steps (finish.c), and the best of
 * them kept. Read interior_run.h and finish.h before.
 *
 * The interior point gets near a solution, and never to bounds: its a and u are positive. How near is near enough for
 * proximal steps to get there in a few of them is known only by trying, with a weight sigma that falls where they fail:
 * steps of a smaller sigma stay nearer to beta0, and gain less each. Whatever they come to is judged by itself, and the
 * best of all is the run's result (r->best, r->worth).
 */
#include "solver/ipm/interior_run.h"

#include <math.h>
#include <string.h>

enum { MAX_STEPS = 8 }; /* proximal ones in a row */

static const double finish_weight = 1e5; /* sigma times the mean squared norm of a row */

/* Puts a variable on the bound it is on its way to: to 0 where a is a smaller share of its box than l is of the scale
 * of margins, to C where u is a smaller share than m. */
void hg_interior_take(const struct hg_interior *r, bool rounded)
{
    for (size_t i = 0; i < r->n; i++) {
        struct hg_variable v;
        double beta = 0;
        for (int k = 0; k < r->sides; k++)
            if (hg_variable(r, k, i, &v)) {
                double cap = r->side[k].cap[i], size = v.bounded ? cap : 1;
                bool falls = rounded && v.a * r->scale < v.l * size;
                bool rises = rounded && v.bounded && v.u * r->scale < v.m * size;
                beta += v.s * (falls ? 0 : rises ? cap : v.a);
            }
        r->qp->beta[0][i] = beta;
    }
}

/* Keeps the coefficients that have the least gap so far, or the first ones: a gap that is NaN says that there are
 * none. */
static void keep_better(struct hg_interior *r, const struct hg_worth *worth)
{
    if (!(worth->gap < r->worth.gap) && !isnan(r->worth.gap))
        return;
    r->worth = *worth;
    memcpy(r->best, r->qp->beta[0], r->n * sizeof(double));
}

/* Lends the finish the run's own arrays: those that an iteration makes anew, and a copy of w, from which the iterations
 * go on where the finish has failed. Steps are counted against the same limit. */
static struct hg_finish finish_of(struct hg_interior *r)
{
    memcpy(r->rhs, r->w, r->cols * sizeof(double));
    return (struct hg_finish){ .qp = r->qp, .layered = r->layered, .space = &r->space, .cholesky = &r->cholesky,
                               .sums = r->opt->sums, .floor = r->floor, .w = r->rhs, .trial = r->dw, .force = r->r_w,
                               .acc = r->acc[0], .guess = r->acc[1], .from = r->t, .f = r->t_affine,
                               .most_steps = hg_steps_left(r) };
}

bool hg_interior_is_good(const struct hg_interior *r)
{
    return r->worth.gap <= r->opt->gap && r->worth.violation <= r->opt->eps;
}

/* Makes proximal steps from the interior point, while they pay: until the result is a thousand times as near as was
 * asked for, or the gap has not halved. Each has ten times the weight of the last, as its start is nearer. false: not
 * one came to its end. */
static bool finish_with(struct hg_interior *r, double sigma, bool search)
{
    double last = INFINITY;
    struct hg_finish f = finish_of(r);
    struct hg_worth worth;
    hg_interior_take(r, false);
    for (int k = 0; k < MAX_STEPS; k++) {
        if (!hg_finish_step(&f, sigma, search) || !hg_finish_judge(&f, &worth))
            break;
        keep_better(r, &worth);
        bool ends = (hg_interior_is_good(r) && worth.gap <= 1e-3 * r->opt->gap) || worth.gap > 0.5 * last;
        last = worth.gap;
        if (ends)
            break;
        sigma *= 10;
    }
    r->res->report.iterations += f.steps;
    return last < INFINITY;
}

/* Tries the usual weight, and a hundredth of it where no step of that comes to its end. Where the interior point is
 * stuck, this is the last chance: ever smaller weights, mostly with a line search, until one is good enough. */
void hg_interior_finish(struct hg_interior *r, bool stuck)
{
    double begin = hg_now(), sigma = finish_weight / fmax(r->space.norm, 1e-300);
    bool ended = finish_with(r, sigma, false) || finish_with(r, sigma / 100, false);
    for (int k = 1; stuck && !hg_interior_is_good(r) && k <= 3 && !hg_halted(&r->space.halt); k++)
        ended = finish_with(r, sigma * pow(100, -k), k > 1 || !ended);
    r->res->report.phase.certificate += hg_now() - begin;
}

/* Takes the best multiple of beta: without a sum, any from 0 to 1 is feasible. With h(beta) linear along it, the
 * objective t^2 |w|^2 / 2 + t h(beta) is least at t = -h(beta) / |w|^2. */
static void shorten(struct hg_interior *r, const struct hg_worth *worth, const struct hg_finish *f)
{
    double square = hg_dot(f->trial, f->trial, r->space.factor->d);
    double gain = square / 2 - worth->objective; /* -h(beta) */
    double factor = square > 0 ? fmin(1, fmax(0, gain / square)) : 1;
    for (size_t i = 0; i < r->n && factor < 1; i++)
        r->qp->beta[0][i] *= factor;
}

/* Rounds the state to bounds and judges it, without a look at the halt that ended the run: that takes two sweeps, and
 * without them there would be no result. A beta that is worth less than none is shortened. */
void hg_interior_salvage(struct hg_interior *r)
{
    struct hg_worth worth;
    struct hg_halt halt = r->space.halt;
    r->space.halt = (struct hg_halt){ .stop = &r->no_stop };
    struct hg_finish f = finish_of(r);
    hg_interior_take(r, true);
    if (hg_finish_judge(&f, &worth)) {
        keep_better(r, &worth);
        if (r->opt->sums[0] == 0 && worth.objective > 0) {
            shorten(r, &worth, &f);
            if (hg_finish_judge(&f, &worth))
                keep_better(r, &worth);
        }
    }
    r->space.halt = halt;
}
