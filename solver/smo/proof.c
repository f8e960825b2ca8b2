/*
 * How wrong the gradient of block SMO is, and what is done about it. Read run.h before, and "The end, and how f32 rows
 * are corrected" in doc/solver.md.
 *
 * Sums are in f64 always, but rows of f32 (dK off) leave dK beta in g, which the violation by this g does not show.
 * hg_measure_error looks at 64 points, hg_prove makes g exact for as many as decide, hg_correct_gradient makes all of
 * it anew; hg_look_at_start and hg_look_at_rows say when the last is worth what it costs.
 *
 * Buys: rows in f32 are half the bytes, and twice the values an instruction; what is told at the end holds for f64.
 * Where a source is passed as rows and exact both (rows == exact), nothing is looked at on the way, and hg_prove
 * measures what rounding in f64 has left.
 */
#include "solver/smo/run.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Makes what hg_rows_dot makes of all active points' coefficients, from K_WW where all points are in W: its rows are
 * f64 and symmetric, so nothing has to be computed again. */
static void measure_block(struct hg_run *r, const uint32_t *point, size_t count, size_t n_sv, double *sum,
                          double *square)
{
    const struct hg_w *w = &r->w;
    uint32_t *slot = w->asked; /* of a point */
    for (size_t k = 0; k < w->n; k++)
        slot[w->point[k]] = (uint32_t)k;
    for (size_t k = 0; k < count; k++) {
        const double *row = (const double *)w->inner.k + slot[point[k]] * w->inner.ld;
        sum[k] = square[k] = 0;
        for (size_t c = 0; c < n_sv; c++) {
            double term = row[slot[r->spare.point[c]]] * r->spare.coef[c];
            sum[k] += term;
            square[k] += term * term;
        }
    }
}

/* Lists the points measured, `most` at most: the worst violators of both directions of each layer (half of them), those
 * whose values rounding alters most (up to three quarters), and a random sample of *drawn, which stands last; or all
 * active ones, where these are no more. The worst violators decide what the violation is; the sample knows of the
 * rest. */
static size_t choose_measured(struct hg_run *r, size_t most, uint32_t *point, size_t *drawn)
{
    const struct hg_active *a = &r->active;
    struct hg_candidate *candidates = r->spare.candidates;
    size_t count = 0, each = most / 4 / (size_t)r->qp->layers;
    *drawn = 0;
    if (a->m <= most) {
        memcpy(point, a->point, a->m * sizeof *point);
        return a->m;
    }
    for (int l = 0; l < r->qp->layers; l++)
        for (int direction = 0; direction < 2; direction++) {
            const double *off = direction == 0 ? a->up[l] : a->down[l];
            double sign = direction == 0 ? 1 : -1;
            size_t n = 0;
            for (size_t at = 0; at < a->m; at++)
                if (!isinf(off[at]))
                    candidates[n++] = (struct hg_candidate){ sign * (a->g[at] + off[at]), at, (uint32_t)at };
            hg_worst_first(candidates, n, HG_MIN(each, n));
            for (size_t c = 0; c < each && c < n; c++)
                point[count++] = a->point[candidates[c].at];
        }
    for (size_t k = 0; k < HG_DOUBTFUL && count < most * 3 / 4; k++)
        if (a->position[r->doubts.point[k]] < a->m)
            point[count++] = r->doubts.point[k];
    uint64_t state = r->doubts.chosen++; /* others than the last time: those are exact already, perhaps */
    *drawn = most - count;
    while (count < most)
        point[count++] = a->point[hg_random_below(&state, a->m)];
    return count;
}

struct measured {
    double error;    /* the largest |g - g in f64| */
    double rounding; /* what adding up in f64 may make of g */
};

/* Measures g at active points by rows in f64, which are made for it, n_sv values a point; with `mend` g becomes what it
 * is in f64. The rounding of a sum in f64 is estimated by its terms: 2^-52 times the root of the sum of their squares,
 * for products, and more of it the more terms there are, for partial sums; signs of roundings are taken for random. */
static hinge_status measure(struct hg_run *r, const uint32_t *point, size_t count, bool mend, struct measured *result)
{
    size_t n_sv = hg_qp_support(r->qp, r->active.point, r->spare.point, r->spare.coef);
    double most = 0, *g, *square;
    hinge_status status = HG_ROOM(HG_ARRAY(g, count), HG_ARRAY(square, count)) ? HINGE_OK : HINGE_ENOMEM;
    r->doubts.most_bytes = HG_MAX(r->doubts.most_bytes, hg_rows_dot_bytes(count, n_sv) + 2 * count * sizeof *g);
    result->error = 0;
    if (status == HINGE_OK && r->rows->type == HINGE_F64 && r->w.n == r->n && r->opt->symmetric)
        measure_block(r, point, count, n_sv, g, square);
    else if (status == HINGE_OK)
        status = hg_rows_dot(r->exact, point, count, r->spare.coef, r->spare.point, n_sv, g, square, &r->halt);
    for (size_t k = 0; k < count && status == HINGE_OK && !hg_is_stopped(r); k++) {
        double *old = &r->active.g[r->active.position[point[k]]];
        result->error = HG_MAX(result->error, fabs(g[k] - *old));
        most = HG_MAX(most, square[k]);
        *old = mend ? g[k] : *old;
    }
    result->rounding = DBL_EPSILON * sqrt(most) * (1 + sqrt((double)n_sv) / 8);
    hg_free(g);
    return status;
}

/* Measures at few points and mends nothing: what comes out says whether more is to be done. */
hinge_status hg_measure_error(struct hg_run *r)
{
    uint32_t point[HG_EARLY];
    size_t drawn, count = choose_measured(r, HG_EARLY, point, &drawn);
    struct measured result;
    hinge_status status = measure(r, point, count, false, &result);
    if (!hg_is_stopped(r))
        r->report->error = result.error;
    return status;
}

/* Asks the source what one value of each point may be off by. */
static hinge_status take_sizes(struct hg_run *r)
{
    struct hg_doubts *d = &r->doubts;
    if (!HG_ROOM(HG_ARRAY(d->size, r->n)))
        return HINGE_ENOMEM;
    r->report->memory_bytes += r->n * sizeof *d->size;
    return hg_rows_diagonal(r->rows, d->diagonal, d->size);
}

/* Returns how far a coefficient has moved since g was in f64. Times what one value is off by, that is what a point's g
 * may be off by though others are not: two points that lie side by side, far from the origin, lose digits of their
 * distance that others have, and few points that are measured would not show it. */
static double move_of(const struct hg_run *r, size_t i)
{
    const double *mended = r->doubts.mended;
    return fabs(hg_qp_beta(r->qp, i) - (mended != NULL ? mended[i] : 0));
}

/* Returns what one value of a point may be off by, at most; 0: all values are off alike. */
static double size_of(const struct hg_run *r, size_t i)
{
    return r->doubts.size != NULL ? r->doubts.size[i] : r->rows->error_near;
}

static double largest_move(const struct hg_run *r)
{
    double largest = 0;
    for (size_t i = 0; i < r->n && r->rows->error_near > 0; i++)
        largest = HG_MAX(largest, move_of(r, i));
    return largest;
}

double hg_near_doubt(const struct hg_run *r)
{
    double largest = 0;
    for (size_t i = 0; i < r->n && r->rows->error_near > 0; i++)
        largest = HG_MAX(largest, r->doubts.is_exact[i] ? 0 : size_of(r, i));
    return largest > 0 ? largest_move(r) * largest : 0;
}

/* Says of an active point not yet made exact whether it may break the bounds on F if g is wrong by `error` there, or by
 * what one value makes of it by such a move, or whether that is more than the caller can use. */
static bool is_doubted(const struct hg_run *r, size_t at, double error, double move)
{
    const struct hg_active *a = &r->active;
    uint32_t i = a->point[at];
    double beside = move > 0 ? move * size_of(r, i) : 0, off = HG_MAX(error, beside);
    bool doubted = r->opt->most_off > 0 && beside > r->opt->most_off;
    for (int l = 0; l < r->qp->layers; l++)
        doubted = doubted || hg_may_break(r->qp, a->extremes[l].high, a->extremes[l].low, r->opt->eps, off,
                                          a->g[at] + a->up[l][at], a->g[at] + a->down[l][at]);
    return doubted && !r->doubts.is_exact[i];
}

enum {
    MOVERS = 256, /* points of the largest moves that are looked at, */
    AT_ONCE = 16  /* so many at a time */
};

/* Brings points of the largest moves to the front of the candidates, value being minus their move; returns the largest
 * move of all others. */
static double choose_movers(struct hg_run *r, size_t count)
{
    struct hg_candidate *c = r->spare.candidates;
    double largest = 0;
    for (size_t i = 0; i < r->n; i++)
        c[i] = (struct hg_candidate){ -move_of(r, i), i, (uint32_t)i };
    hg_worst_first(c, r->n, count);
    for (size_t i = count; i < r->n; i++)
        largest = HG_MAX(largest, -c[i].value);
    return largest;
}

/* Leaves those of many doubted points that are still in doubt where the moves of a few points count by how near these
 * are, by the value of both: those of all others are mostly far smaller. */
static hinge_status look_beside(struct hg_run *r, double error, uint32_t *point, size_t *count)
{
    size_t n = *count, movers = HG_MIN(r->n, (size_t)MOVERS), left = 0, some;
    float *values;
    double *move;
    if (!r->rows->errors_fall || n <= HG_MEASURED || !HG_ROOM(HG_ARRAY(move, n), HG_TABLE(values, AT_ONCE, n)))
        return HINGE_OK;
    double others = choose_movers(r, movers);
    hinge_status status = HINGE_OK;
    for (size_t k = 0; k < n; k++)
        move[k] = others;
    for (size_t first = 0; first < movers && status == HINGE_OK && !hg_is_stopped(r); first += some) {
        uint32_t mover[AT_ONCE];
        void *row[AT_ONCE];
        some = HG_MIN(movers - first, (size_t)AT_ONCE);
        for (size_t m = 0; m < some; m++) {
            mover[m] = r->spare.candidates[first + m].at;
            row[m] = values + m * n;
        }
        status = hg_rows_fill(r->rows, mover, some, point, n, row, &(struct hg_how){ .halt = &r->halt });
        for (size_t m = 0; m < some; m++)
            for (size_t k = 0; k < n; k++)
                move[k] = HG_MAX(move[k], -r->spare.candidates[first + m].value * (double)values[m * n + k]);
    }
    for (size_t k = 0; k < n; k++)
        if (is_doubted(r, r->active.position[point[k]], error, move[k]))
            point[left++] = point[k];
    *count = left;
    hg_free(move);
    return status;
}

/* Lists active points that are doubted where a coefficient has moved so far; returns how many. */
static size_t list_doubted(const struct hg_run *r, double error, double move, uint32_t *point)
{
    size_t count = 0;
    for (size_t at = 0; at < r->active.m; at++)
        if (is_doubted(r, at, error, move))
            point[count++] = r->active.point[at];
    return count;
}

/* Says whether no point is doubted, as the extremes tell: of most points nothing has to be looked at then. */
static bool doubts_none(const struct hg_run *r, double error, double move)
{
    double beside = move > 0 ? move * r->rows->error_near : 0, off = HG_MAX(error, beside);
    bool none = !(r->opt->most_off > 0 && beside > r->opt->most_off);
    for (int l = 0; l < r->qp->layers; l++) {
        const struct hg_extremes *e = &r->active.extremes[l];
        none = none && !hg_may_break(r->qp, e->high, e->low, r->opt->eps, off, e->low, e->high);
    }
    return none;
}

/* Lists active points that are doubted; sizes of points are asked for only where the largest one makes some so. */
static hinge_status find_doubted(struct hg_run *r, double error, uint32_t *point, size_t *count)
{
    double move = largest_move(r);
    *count = doubts_none(r, error, move) ? 0 : list_doubted(r, error, move, point);
    if (*count == 0 || move == 0)
        return HINGE_OK;
    if (r->doubts.size == NULL) {
        HG_TRY(take_sizes(r));
        *count = list_doubted(r, error, move, point);
    }
    return look_beside(r, error, point, count);
}

/* Estimates half the sum of beta times the error of g over all points, which is what the objective is off by: as
 * `drawn` points at random have it, whose g was `before`, and six times what such a sample may be off by where errors
 * do not know of the coefficients. */
static double error_of_objective(const struct hg_run *r, const uint32_t *point, size_t drawn, const double *before)
{
    double sum = 0, errors = 0, sizes = 0, n = (double)r->n, share = n / (double)HG_MAX(drawn, (size_t)1);
    for (size_t k = 0; k < drawn; k++) {
        double error = r->active.g[r->active.position[point[k]]] - before[k];
        sum += hg_qp_beta(r->qp, point[k]) * error;
        errors += error * error;
    }
    for (size_t i = 0; i < r->n; i++)
        sizes += hg_qp_beta(r->qp, i) * hg_qp_beta(r->qp, i);
    return (share * fabs(sum) + 6 * share * sqrt(errors * sizes / n)) / 2;
}

/* Goes in steps: g is exact at the points measured, the extremes are found again, and the largest error seen (`unseen`,
 * with 64 / count more for what a sample misses) is taken for what any other point may be off by. Points that would
 * break the bounds on F by that much are the next to be made exact, until there are none (proven), until the violation
 * of exact values is more than eps (there is more to do), or until half of all were made exact so since all of g was
 * (the caller knows cheaper ways). Rounding in f64 may make the certificate's violation HG_SLACK eps at most. */
hinge_status hg_prove(struct hg_run *r, bool *proven)
{
    uint32_t *point = r->spare.found;
    size_t most = r->opt->measured > 0 ? HG_MIN(r->opt->measured, (size_t)HG_MEASURED) : HG_MEASURED;
    size_t drawn, count = choose_measured(r, most, point, &drawn), half = r->active.m / 2;
    const uint32_t *sample = point + (count - drawn);
    double before[HG_MEASURED];
    struct measured result;
    *proven = false;
    memset(r->doubts.is_exact, 0, r->n);
    for (size_t k = 0; k < drawn; k++)
        before[k] = r->active.g[r->active.position[sample[k]]];
    hinge_status status = measure(r, point, count, true, &result);
    r->res->objective_error = error_of_objective(r, sample, drawn, before);
    double rounding = result.rounding;
    r->doubts.unseen = count == r->active.m ? 0 : HG_MAX(r->doubts.unseen, result.error * (1 + 64 / (double)count));
    double error = r->doubts.unseen;
    while (status == HINGE_OK && !hg_is_stopped(r)) {
        for (size_t k = 0; k < count; k++)
            r->doubts.is_exact[point[k]] = 1;
        hg_scan(r);
        r->report->error = error + rounding;
        if (!(r->report->violation <= r->opt->eps && r->report->violation + 2 * rounding <= HG_SLACK * r->opt->eps))
            break;
        status = find_doubted(r, error, point, &count);
        *proven = count == 0 && status == HINGE_OK && !hg_is_stopped(r);
        if (status != HINGE_OK || *proven || count > HG_MAX(half - HG_MIN(half, r->doubts.proven), (size_t)HG_MEASURED))
            break;
        r->doubts.proven += count;
        status = measure(r, point, count, true, &result);
        error = r->doubts.unseen = HG_MAX(error, result.error);
        rounding = HG_MAX(rounding, result.rounding);
    }
    return status;
}

/* Makes g anew by rows in f64. What f32 adds from there on is its error times the change of beta, which is small:
 * iterative refinement, with the rows as the cheap operator. */
hinge_status hg_correct_gradient(struct hg_run *r)
{
    r->report->corrections++;
    hinge_status status = hg_note_torn(r, hg_compute_gradient(r, r->exact, 0, false));
    if (!r->active.torn)
        hg_scan(r);
    r->course.best = INFINITY; /* the violation may well be larger now */
    return status;
}

/* Corrects g of a warm start whose error is more than eps and a sixteenth of the violation: what is seen as a violation
 * may be error. Nothing is looked at where the start is not the caller's, or rows are f64. */
hinge_status hg_look_at_start(struct hg_run *r)
{
    if (!r->opt->warm || r->rows == r->exact || hg_is_stopped(r))
        return HINGE_OK;
    hinge_status status = hg_measure_error(r);
    double error = r->report->error;
    r->report->error = NAN; /* that of few points */
    bool hides = error > r->opt->eps && error > r->report->violation / 16;
    return status != HINGE_OK || hg_is_stopped(r) || !hides ? status : hg_correct_gradient(r);
}

/* Measures, and decides by the violation and by what it was at the last look:
 *
 *     error > violation / 4: what is seen as a violation may be error: g is corrected
 *     in vain: error > max(eps / 4, violation / 16) and the violation has not halved: the same
 *     hard: error > eps / 4, and half of the rounds did not get done with W: f64 rows, on which systems solve W
 *
 * After a first correction that did not help for long the rows are too coarse, and the run ends there if the caller can
 * go on in f64: regression at a large C, where this happens, takes a small part of its time then (doc/tried.md). */
hinge_status hg_look_at_rows(struct hg_run *r)
{
    double violation = r->report->violation, before = r->doubts.looked_at, error;
    hinge_status status = hg_measure_error(r);
    error = r->report->error;
    r->report->error = NAN; /* that of few points */
    r->doubts.looked_at = violation;
    bool in_vain = error > HG_MAX(r->opt->eps / 4, violation / 16) && violation > before / 2;
    /* rows in f64 are needed in the end, and with them W is solved by systems */
    bool systems_help = r->opt->f64_follows && hg_may_use_newton(r) && r->w.unsolved > HG_LOOK / 2;
    bool is_hard = systems_help && error > r->opt->eps / 4;
    r->w.unsolved = 0;
    if (is_hard)
        r->course.coarse = true;
    if (is_hard || status != HINGE_OK || hg_is_stopped(r) || !(error > violation / 4 || in_vain))
        return status;
    r->doubts.looked_at = INFINITY;
    r->course.coarse = r->opt->f64_follows && r->report->corrections > 0;
    return r->course.coarse || r->report->corrections >= HG_MAX_CORRECTIONS ? HINGE_OK : hg_correct_gradient(r);
}
