/*
 * The end of the interior point: coefficients of the state as it stands, by proximal steps (finish.c), and the best of
 * them kept. Read interior_run.h before.
 */
#include "solver/ipm/interior_run.h"

#include <math.h>
#include <string.h>

enum { MAX_STEPS = 8 }; /* proximal ones in a row */

static const double finish_weight = 1e5; /* sigma times the mean squared norm of a row */

/* Takes beta as the variables make it; rounded: those on their way to a bound are put there. */
static void take_interior(const struct hg_interior *r, bool rounded)
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

static void keep_better(struct hg_interior *r, const struct hg_worth *worth)
{
    if (!(worth->gap < r->worth.gap) && !isnan(r->worth.gap))
        return;
    r->worth = *worth;
    memcpy(r->best, r->qp->beta[0], r->n * sizeof(double));
}

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

/* Makes proximal steps from the interior point, while they pay. false: not one came to its end */
static bool finish_with(struct hg_interior *r, double sigma, bool search)
{
    double last = INFINITY;
    struct hg_finish f = finish_of(r);
    struct hg_worth worth;
    take_interior(r, false);
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

void hg_interior_finish(struct hg_interior *r, bool stuck)
{
    double begin = hg_now(), sigma = finish_weight / fmax(r->space.norm, 1e-300);
    bool ended = finish_with(r, sigma, false) || finish_with(r, sigma / 100, false);
    for (int k = 1; stuck && !hg_interior_is_good(r) && k <= 3 && !hg_halted(&r->space.halt); k++)
        ended = finish_with(r, sigma * pow(100, -k), k > 1 || !ended);
    r->res->report.phase.certificate += hg_now() - begin;
}

/* The best multiple of beta: without a sum, any from 0 to 1 is feasible. */
static void shorten(struct hg_interior *r, const struct hg_worth *worth, const struct hg_finish *f)
{
    double square = hg_dot(f->trial, f->trial, r->space.factor->d);
    double gain = square / 2 - worth->objective; /* -h(beta) */
    double factor = square > 0 ? fmin(1, fmax(0, gain / square)) : 1;
    for (size_t i = 0; i < r->n && factor < 1; i++)
        r->qp->beta[0][i] *= factor;
}

void hg_interior_salvage(struct hg_interior *r)
{
    struct hg_worth worth;
    struct hg_halt halt = r->space.halt;
    r->space.halt = (struct hg_halt){ .stop = &r->no_stop };
    struct hg_finish f = finish_of(r);
    take_interior(r, true);
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
