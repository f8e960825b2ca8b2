/*
 * Primal-dual interior point (Mehrotra 1992) in w-space. Read interior_run.h and sweep.h before. A variable v belongs
 * to a row i, has a sign s, a coefficient p and a box 0 <= a <= C; beta_i = sum s a. With f = Z w (the intercept is w's
 * last coordinate) and y = s f + p:
 *
 *     R w - Z'beta + q = 0,   y - l + m = 0,   C - a - u = 0,   a l = mu,   u m = mu,     a, l, u, m > 0
 *
 * R = diag(1, .., 1, 0) and q = (-sum shift, sum) with an intercept; R = I, q = 0 without. m is the slack xi, l what a
 * row has beyond the margin. Newton's step for t = <z, dw> is, variable by variable,
 *
 *     da = (rho - s t) / theta,   theta = l/a + m/u,   rho = -y + (mu - e_l)/a - (mu - e_u - m r_u)/u,
 *
 * e_l, e_u Mehrotra's second-order terms, r_u = C - a - u; and dw solves
 *
 *     (R + Z'G Z) dw = Z'h - (R w - Z'beta + q),     G_i = sum_v 1/theta,  h_i = sum_v s rho / theta,
 *
 * refined by the residual of R dw - Z'd beta. C = infinity: u = 1, m = 0 have no part. See Gertz and Griffin 2010 for
 * the structure; here the rows are swept anew for each product and never held.
 *
 * An iteration is four kinds of sweeps, each of which has its own loop over a block's rows below: normal_rows measures
 * the state, predictor_rows follows the step to mu = 0, step_rows makes the step and its residual, advance_rows takes
 * it. One loop for all four would take 1 to 10 % more instructions (doc/tried.md). Z'beta is summed from the
 * rows in each iteration and never updated, so that errors do not add up.
 */
#include "solver/ipm/interior_run.h"

#include <math.h>
#include <string.h>

enum {
    MAX_REFINEMENTS = 2, /* of a direction */
    PATIENCE = 12,       /* iterations without a better gap */
    MAX_FINISHES = 4     /* attempts at proximal steps, each from a nearer state */
};

static const double step_share = 0.995; /* of the way to the boundary */
static const double no_margin = 1e-9;   /* of the largest norm: a margin below is none, */
static const double small_margin = 1e-5; /* and below this the caller is asked, each time that it is a tenth */

/* ---- variables --------------------------------------------------------------------------------------------------- */

/* What a step adds to a variable's state. */
struct change {
    double a, l, u, m;
};

/* Makes Newton's change of a variable's a, l, u, m for t = <z, dw>, by the equations at the top of this file. target is
 * mu; e_l and e_u are Mehrotra's second-order terms, 0 of a predictor. A variable without a bound has no u and m. */
static struct change change_of(const struct hg_variable *v, double t, double target, double e_l, double e_u)
{
    struct change d = { 0, 0, 0, 0 };
    double rho = -v->y + (target - e_l) * v->by_a;
    if (v->bounded)
        rho += (v->m * v->r_u - target + e_u) * v->by_u;
    d.a = v->inverse * (rho - v->s * t);
    d.l = -v->l + (target - e_l - v->l * d.a) * v->by_a;
    if (v->bounded) {
        d.u = v->r_u - d.a;
        d.m = -v->m + (target - e_u - v->m * d.u) * v->by_u;
    }
    return d;
}

/* Makes the change that is taken: the predictor's products, a l and u m, are what its linearisation left out, and are
 * taken out of the target. */
static struct change whole_change(const struct hg_interior *r, const struct hg_variable *v, size_t i)
{
    struct change e = change_of(v, r->t_affine[i], 0, 0, 0);
    return change_of(v, r->t[i], r->target, e.a * e.l, e.u * e.m);
}

/* Returns the longest step, at most `step`, that keeps all four positive. */
static double longest(const struct hg_variable *v, const struct change *d, double step)
{
    const double x[] = { v->a, v->l, v->u, v->m }, dx[] = { d->a, d->l, d->u, d->m };
    for (int k = 0; k < (v->bounded ? 4 : 2); k++)
        if (x[k] + step * dx[k] < 0)
            step = -x[k] / dx[k];
    return step;
}

/* ---- what the sweeps do with rows -------------------------------------------------------------------------------- */

enum { PRODUCTS, PAIRS, LINEAR, SLACK, SUM_A, HEADING_UP }; /* sums of normal_rows; its least is that of y */

/* Makes, for the sweep that measures where the iterate is, beta and the weights G of the normal matrix, h in its two
 * parts (that of mu is kept apart, as mu is not known yet), and the sums of the gap and the objective. */
static void normal_rows(void *arg, const struct hg_block *b)
{
    struct hg_interior *r = arg;
    for (size_t k = 0; k < b->count; k++) {
        size_t i = b->first + k;
        double beta = 0, g = 0, h = 0, centre = 0;
        bool heads_up = false;
        struct hg_variable v;
        r->f[i] = b->t[k];
        for (int side = 0; side < r->sides; side++) {
            if (!hg_variable(r, side, i, &v))
                continue;
            beta += v.s * v.a;
            g += v.inverse;
            h += v.s * v.inverse * (v.m * v.r_u * v.by_u - v.y);
            centre += v.s * v.inverse * (v.by_a - (v.bounded ? v.by_u : 0));
            b->sum[PRODUCTS] += v.a * v.l + (v.bounded ? v.u * v.m : 0);
            b->sum[PAIRS] += 1 + v.bounded;
            b->sum[LINEAR] += v.p * v.a;
            b->sum[SLACK] += v.bounded ? (v.a + v.u) * fmax(0, -v.y) : 0;
            b->sum[SUM_A] += v.a;
            heads_up = heads_up || v.a * r->scale > v.l * (v.bounded ? v.a + v.u : 1);
            *b->least = fmin(*b->least, v.y);
        }
        b->sum[HEADING_UP] += heads_up;
        b->y[0][k] = beta;
        b->y[1][k] = h;
        b->y[2][k] = centre;
        b->weight[k] = g;
    }
}

enum { FIRST, SECOND }; /* derivatives of the complementary products along the predictor, and its longest step */

/* Follows the step to mu = 0 of each row: how far it can go, what the products a l and u m would be there, and the
 * second-order terms of h. */
static void predictor_rows(void *arg, const struct hg_block *b)
{
    struct hg_interior *r = arg;
    for (size_t k = 0; k < b->count; k++) {
        size_t i = b->first + k;
        double h = 0;
        struct hg_variable v;
        r->t_affine[i] = b->t[k];
        for (int side = 0; side < r->sides; side++) {
            if (!hg_variable(r, side, i, &v))
                continue;
            struct change d = change_of(&v, b->t[k], 0, 0, 0);
            *b->least = longest(&v, &d, *b->least);
            b->sum[FIRST] += v.a * d.l + v.l * d.a + v.u * d.m + v.m * d.u;
            b->sum[SECOND] += d.a * d.l + d.u * d.m;
            h += v.s * v.inverse * (d.u * d.m * v.by_u - d.a * d.l * v.by_a);
        }
        b->y[0][k] = h;
    }
}

/* Finds dbeta and the longest step of the whole change, by t = Z dw. */
static void step_rows(void *arg, const struct hg_block *b)
{
    struct hg_interior *r = arg;
    for (size_t k = 0; k < b->count; k++) {
        size_t i = b->first + k;
        double beta = 0;
        struct hg_variable v;
        r->t[i] = b->t[k];
        for (int side = 0; side < r->sides; side++) {
            if (!hg_variable(r, side, i, &v))
                continue;
            struct change d = whole_change(r, &v, i);
            *b->least = longest(&v, &d, *b->least);
            beta += v.s * d.a;
        }
        b->y[0][k] = beta;
    }
}

/* Takes the step, of one length for all variables: then the residuals shrink alike, and stay consistent with each
 * other. */
static void advance_rows(void *arg, const struct hg_block *b)
{
    struct hg_interior *r = arg;
    for (size_t k = 0; k < b->count; k++) {
        size_t i = b->first + k;
        struct hg_variable v;
        for (int side = 0; side < r->sides; side++) {
            if (!hg_variable(r, side, i, &v))
                continue;
            struct change d = whole_change(r, &v, i);
            r->side[side].a[i] = v.a + r->advance * d.a;
            r->side[side].l[i] = v.l + r->advance * d.l;
            r->side[side].u[i] = v.u + r->advance * d.u;
            r->side[side].m[i] = v.m + r->advance * d.m;
        }
    }
}

/* ---- one iteration ----------------------------------------------------------------------------------------------- */

/* What an iteration says of the run: CLOSE, the gap is at most the goal; STUCK, it gets no better; HALTED, by time or
 * caller; LIMIT, no systems are left; INSEPARABLE, no hyperplane separates the classes; COARSE, the factor cannot tell
 * that; NONFINITE, a sum is no number. */
enum verdict { GO_ON, CLOSE, STUCK, HALTED, LIMIT, INSEPARABLE, COARSE, NONFINITE };

/* Returns a bound on the geometric margin 1/|w| of all (w, b) with margins of 1, hard margin: for them sum a <= |w|
 * |Z'beta| + (1 + |w| R) |sum beta|, R the largest norm of a row, so any a >= 0 gives one. */
static double margin_bound(const struct hg_interior *r, const double *z_beta, double sum_a)
{
    double off = !r->qp->no_sum ? fabs(z_beta[r->cols - 1] - r->opt->sums[0]) : 0;
    double square = hg_dot(z_beta, z_beta, r->space.factor->d);
    return sum_a > off ? (sqrt(square) + sqrt(r->space.largest) * off) / (sum_a - off) : INFINITY;
}

/* Returns beta'K beta = |Z'beta|^2, by acc[0], which has Z'beta of the rows as swept: q is -sum shift there, so that
 * the difference is of rows as they are where beta sums to what it is to. */
static double square_of_beta(const struct hg_interior *r)
{
    double square = 0;
    for (size_t c = 0; c < r->space.factor->d; c++)
        square += (r->acc[0][c] - r->q[c]) * (r->acc[0][c] - r->q[c]);
    return square;
}

/* Returns the relative gap of the objectives of w and beta, each by itself:
 *
 *     primal = |w|^2 / 2 + sum C max(0, -y) + q'w,     dual = -(|Z'beta|^2 / 2 + sum p a)
 *
 * and with what the sums of beta lack may be worth: that times the sizes of the bias and of margins. Of the hard margin
 * w counts divided by the least margin, and only where that is positive. */
static double relative_gap(const struct hg_interior *r, const struct hg_sweep *s)
{
    size_t d = r->space.factor->d;
    double w = hg_dot(r->w, r->w, d), beta = square_of_beta(r), lacking = 0;
    double linear = hg_dot(r->q, r->w, r->cols); /* which is the sums times the biases */
    for (size_t c = d; c < r->cols; c++)
        lacking += fabs(r->acc[0][c] - r->q[c]) * (fabs(r->w[c]) + r->scale);
    double primal = w / 2 + s->sum[SLACK] + linear, dual = -(beta / 2 + s->sum[LINEAR]);
    if (isinf(r->side[0].cap[0])) { /* y = margin - 1; scaled to margins of 1 */
        double margin = 1 + s->least;
        primal = margin > 0 ? w / (2 * margin * margin) : INFINITY;
    }
    if (isinf(primal))
        return INFINITY;
    return (fabs(primal - dual) + lacking) / fmax(fmax(fabs(primal), fabs(dual)), r->floor);
}

/* Bounds the hard margin by the state, and says whether there is one; the caller is asked of small ones. */
static enum verdict judge_margin(struct hg_interior *r, double sum_a)
{
    double largest = sqrt(r->space.largest), bound = margin_bound(r, r->acc[0], sum_a);
    r->res->margin_bound = fmin(r->res->margin_bound, bound);
    if (r->res->margin_bound <= no_margin * largest)
        return INSEPARABLE;
    if (r->opt->ask == NULL || bound > r->asked / 10 || bound > small_margin * largest)
        return GO_ON;
    r->asked = bound;
    hg_interior_take(r, false);
    enum hg_denial denial = r->opt->ask(r->opt->ask_arg, bound);
    return denial == HG_DENIES_MARGIN ? INSEPARABLE : denial == HG_DENIES_FACTOR ? COARSE : GO_ON;
}

/* Makes the sums over rows that the state stands for, by one sweep: mu, the gap, the residual r_w, and the normal
 * matrix, which is factored at once. h comes in two parts, acc[1] for mu = 0 and acc[2] times mu. The verdict is GO_ON
 * unless the run was halted, the numbers are not finite, or, hard margin, the state proves that there is none. */
static enum verdict measure(struct hg_interior *r, struct hg_sweep *s)
{
    *s = (struct hg_sweep){
        .v = r->w, .n_acc = 3, .acc = { r->acc[0], r->acc[1], r->acc[2] }, .normal = true, .rows = normal_rows, .arg = r
    };
    if (!hg_sweep_run(&r->space, s))
        return HALTED;
    r->mu = s->sum[PRODUCTS] / s->sum[PAIRS];
    r->gap = relative_gap(r, s);
    if (isnan(r->gap) || isnan(r->mu))
        return NONFINITE;
    enum verdict verdict = isinf(r->side[0].cap[0]) ? judge_margin(r, s->sum[SUM_A]) : GO_ON;
    if (verdict != GO_ON)
        return verdict;
    for (size_t c = 0; c < r->cols; c++) {
        r->r_w[c] = hg_sweep_ridge(&r->space, c) * r->w[c] - r->acc[0][c] + r->q[c];
        r->space.normal[c * r->space.ld + c] += hg_sweep_ridge(&r->space, c);
    }
    bool factored = hg_cholesky_factor(&r->cholesky, r->space.normal, &r->space.halt);
    return hg_halted(&r->space.halt) ? HALTED : factored ? GO_ON : NONFINITE;
}

/* Makes the right-hand side: predictor, then centring by how far the predictor gets, and the second-order term. Where
 * the products a l and u m are P now, and P + step (first + step second) after the predictor's longest step, mu is to
 * fall by the cube of their ratio (Mehrotra's choice): a predictor that gets far needs next to no centring. */
static bool predict(struct hg_interior *r, const struct hg_sweep *s)
{
    const double *h = r->acc[1], *centre = r->acc[2];
    double *second = r->acc[0];
    for (size_t c = 0; c < r->cols; c++)
        r->rhs[c] = r->dw[c] = h[c] - r->r_w[c];
    hg_cholesky_solve(&r->cholesky, r->dw);
    struct hg_sweep p = { .v = r->dw, .n_acc = 1, .acc = { second }, .rows = predictor_rows, .arg = r };
    if (!hg_sweep_run(&r->space, &p))
        return false;
    double step = fmin(1, p.least);
    double left = (s->sum[PRODUCTS] + step * (p.sum[FIRST] + step * p.sum[SECOND])) / s->sum[PRODUCTS];
    r->target = r->mu * fmax(left, 0) * left * left;
    for (size_t c = 0; c < r->cols; c++)
        r->rhs[c] += r->target * centre[c] + second[c];
    return true;
}

/* Solves for dw, refined until what is left of R dw - Z'dbeta + r_w = 0 moves it no more; *step: the longest one. G is
 * not in the residual, which is why refinement finds digits that the matrix has lost: G spans many orders of magnitude.
 * The size of a correction is in the norm of the system, relative to the step's; one of more than 0.3 of the last is
 * rounding, and is not made. */
static bool direction(struct hg_interior *r, double *step)
{
    double *z_beta = r->acc[0], *left = r->acc[1], *correction = r->acc[2], last = INFINITY;
    memcpy(r->dw, r->rhs, r->cols * sizeof(double));
    hg_cholesky_solve(&r->cholesky, r->dw);
    for (int k = 0;; k++) {
        struct hg_sweep s = { .v = r->dw, .n_acc = 1, .acc = { z_beta }, .rows = step_rows, .arg = r };
        if (!hg_sweep_run(&r->space, &s))
            return false;
        *step = s.least;
        for (size_t c = 0; c < r->cols; c++)
            correction[c] = left[c] = z_beta[c] - r->r_w[c] - hg_sweep_ridge(&r->space, c) * r->dw[c];
        hg_cholesky_solve(&r->cholesky, correction);
        double size = sqrt(fabs(hg_dot(left, correction, r->cols) / hg_dot(r->rhs, r->dw, r->cols)));
        if (k == MAX_REFINEMENTS || !(size > 1e-9) || size > 0.3 * last)
            return true;
        for (size_t c = 0; c < r->cols; c++)
            r->dw[c] += correction[c];
        last = size;
    }
}

/* Tells the callback of an iteration; the relative gap stands for the violation, which is not known on the way. */
static bool report_progress(struct hg_interior *r, const struct hg_sweep *s)
{
    if (r->opt->progress == NULL)
        return true;
    hinge_progress p = { .rounds = r->res->report.rounds,
                         .iterations = r->res->report.rounds,
                         .violation = r->gap,
                         .n = r->n,
                         .n_active = r->n,
                         .n_sv = (size_t)s->sum[HEADING_UP] };
    p.objective = square_of_beta(r) / 2 + s->sum[LINEAR];
    if (r->opt->progress(r->opt->progress_arg, &p) == 0)
        return true;
    hg_request_halt(&r->opt->halt, 2);
    return false;
}

/* Judges the relative gap. Without a better one for some iterations the step is taken to be stuck, since rounding is
 * all that is left; while no gap was below 1, ten times as many are granted. */
static enum verdict judge(struct hg_interior *r, double goal)
{
    if (r->gap <= goal)
        return CLOSE;
    if (r->gap < 0.9 * r->best_gap) {
        r->best_gap = r->gap;
        r->best_iteration = r->res->report.rounds;
    } else if (r->res->report.rounds - r->best_iteration > PATIENCE && r->best_gap < 1) {
        return STUCK;
    }
    if (r->res->report.rounds - r->best_iteration > 10 * PATIENCE)
        return STUCK;
    return hg_steps_left(r) == 0 ? LIMIT : GO_ON;
}

/* Makes one iteration: where the iterate is (a sweep), the predictor (a sweep), the direction by both (sweeps of
 * refinement), and the step (a sweep). */
static enum verdict iterate(struct hg_interior *r, double goal)
{
    struct hg_sweep s;
    double begin = hg_now(), step;
    enum verdict verdict = measure(r, &s);
    r->res->report.phase.rows += hg_now() - begin;
    if (verdict == GO_ON && !report_progress(r, &s))
        return HALTED;
    if (verdict == GO_ON)
        verdict = judge(r, goal);
    if (verdict != GO_ON)
        return verdict;
    begin = hg_now();
    if (!predict(r, &s) || !direction(r, &step))
        return HALTED;
    r->advance = fmin(1, step_share * step);
    struct hg_sweep move = { .rows = advance_rows, .arg = r };
    if (!hg_sweep_run(&r->space, &move))
        return HALTED;
    for (size_t c = 0; c < r->cols; c++)
        r->w[c] += r->advance * r->dw[c];
    r->res->report.rounds++;
    r->res->report.iterations++;
    r->res->report.phase.subproblem += hg_now() - begin;
    return GO_ON;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Lays out the state in one block, of which f is the owner: arrays by row, by column, and five a side. */
static hinge_status allocate(struct hg_interior *r, hinge_error *err)
{
    size_t n = r->n, cols = r->cols, sides = (size_t)r->sides;
    double *state;
    r->res->report.memory_bytes =
        r->space.bytes + (cols * r->cholesky.ld + 10 * cols) * sizeof(double) + n * (4 + 5 * sides) * sizeof(double);
    HG_TRY(HG_MAKE(err, "the state of the interior point", HG_ZEROS(r->f, n), HG_ZEROS(r->t_affine, n),
                   HG_ZEROS(r->t, n), HG_ZEROS(r->best, n), HG_ZEROS(r->w, cols), HG_ZEROS(r->dw, cols),
                   HG_ZEROS(r->q, cols), HG_ZEROS(r->r_w, cols), HG_ZEROS(r->rhs, cols), HG_ZEROS(r->acc[0], cols),
                   HG_ZEROS(r->acc[1], cols), HG_ZEROS(r->acc[2], cols), HG_ZEROS(state, 5 * sides * n)));
    for (size_t k = 0; k < sides; k++, state += 5 * n)
        r->side[k] = (struct hg_side){ state, state + n, state + 2 * n, state + 3 * n, state + 4 * n };
    return HINGE_OK;
}

static void run_free(struct hg_interior *r)
{
    hg_free(r->f);
    hg_cholesky_free(&r->cholesky);
    if (r->opt->begun == NULL)
        hg_sweep_free(&r->space);
}

/* Returns the sizes of the sums that beta is to have, added up. */
static double sum_of_sizes(const struct hg_interior *r)
{
    double size = 0;
    for (int l = 0; l < r->layered->layers && !r->qp->no_sum; l++)
        size += fabs(r->opt->sums[l]);
    return size;
}

/* Returns with what an objective is compared. Where the optimum may be 0, it is compared with that of a w that matters:
 * one that moves f by the tube, but no more than what it costs all rows to be off by the tube (features may be next to
 * nothing); or one-class, the w of rows that all point the same way. */
static double least_objective(const struct hg_interior *r)
{
    double shift = hg_dot(r->space.shift, r->space.shift, r->space.factor->d);
    double tube = r->qp->kink * fmin(r->qp->kink / fmax(r->space.norm, 1e-300), r->caps);
    double class = sum_of_sizes(r) * sum_of_sizes(r) * (r->space.norm + shift);
    return fmax(0.5e-6 * fmax(tube, class), 1e-300);
}

/* Starts at half of the box, or where the sum is to be; without bounds what one row alone would take. w = 0, and l - m
 * = p with both at `size`, the scale of margins, or above: far from the boundary, long steps are possible from the
 * first. */
static void start(struct hg_interior *r)
{
    double size = 0, caps = 0, sums = sum_of_sizes(r);
    for (size_t i = 0; i < r->n; i++) {
        size = fmax(size, fabs(r->qp->off[0][i]) + r->qp->kink);
        caps += r->qp->hi[0][i] - r->qp->lo[0][i];
    }
    double share = sums > 0 && isfinite(caps) ? sums / caps : 0.5;
    share = fmin(fmax(share, 1e-3), 1 - 1e-3);
    if (size == 0) /* one-class and nu-SVC: f is about what a share of all rows makes */
        size = fmax(share * caps * r->space.norm, 1e-300);
    r->scale = size;
    r->caps = isfinite(caps) ? caps : 0;
    r->floor = least_objective(r);
    for (int k = 0; k < r->sides; k++) {
        struct hg_side *s = &r->side[k];
        for (size_t i = 0; i < r->n; i++) {
            double sign = hg_sign_of(r, k, i), p = r->qp->kink + sign * r->qp->off[0][i];
            s->cap[i] = fmax(0, sign > 0 ? r->qp->hi[0][i] : -r->qp->lo[0][i]);
            bool bounded = isfinite(s->cap[i]);
            s->a[i] = bounded ? share * s->cap[i] : size / fmax(r->space.norm, 1e-300);
            s->u[i] = bounded ? (1 - share) * s->cap[i] : 1;
            s->l[i] = fmax(p, 0) + size;
            s->m[i] = bounded ? fmax(-p, 0) + size : 0;
        }
    }
    size_t d = r->space.factor->d;
    for (size_t c = d; c < r->cols; c++)
        r->q[c] = r->opt->sums[c - d];
    for (size_t c = 0; c < d; c++)
        for (size_t at = d; at < r->cols; at++)
            r->q[c] -= r->q[at] * r->space.shift[c];
}

/* Takes two layers for one of twice the rows (flat), on the same arrays: the space sweeps all rows twice, with another
 * intercept each time. A row is on two sides where its box spans 0, as with a kink. */
void hg_interior_set(struct hg_interior *r, struct hg_qp *flat, struct hg_qp *qp,
                     const struct hg_interior_options *options, struct hg_interior_result *result)
{
    *flat = *qp;
    flat->n = qp->n * (size_t)qp->layers;
    flat->layers = 1;
    *r = (struct hg_interior){
        .qp = flat, .layered = qp, .opt = options, .res = result, .n = flat->n, .sides = 1, .best_gap = INFINITY,
        .asked = INFINITY
    };
    r->worth.gap = NAN;
    memset(result, 0, sizeof *result);
    result->margin_bound = INFINITY;
    for (size_t i = 0; i < r->n; i++)
        if (flat->lo[0][i] < 0 && flat->hi[0][i] > 0)
            r->sides = 2;
}

hinge_status hg_interior_start(struct hg_interior *r, hinge_error *err)
{
    r->cols = r->space.cols;
    r->space.lo = r->qp->lo[0];
    r->space.hi = r->qp->hi[0];
    HG_TRY(allocate(r, err));
    start(r);
    return HINGE_OK;
}

/* Makes the run's view of the rows, or takes the one that it shares. */
static hinge_status open_space(struct hg_interior *r, const struct hg_factor *factor, hinge_error *err)
{
    const struct hg_interior_options *o = r->opt;
    int intercepts = r->layered->no_sum ? 0 : r->layered->layers;
    if (o->begun == NULL)
        return hg_sweep_init(&r->space, factor, intercepts, o->threads, &o->halt, err);
    r->space = o->begun->space;
    r->space.factor = factor; /* which makes the same rows */
    r->space.halt = o->halt;
    r->space.gflop = 0;
    return HINGE_OK;
}

/* Solves to ever smaller gaps, and finishes after each: proximal steps put coefficients on their bounds exactly,
 * which the interior never does, and they need no more than a start that is close enough. How close is known only by
 * trying. */
static enum verdict solve(struct hg_interior *r)
{
    double goal = 1e-3 * r->opt->gap;
    enum verdict verdict = GO_ON;
    for (int k = 0; k < MAX_FINISHES; k++) {
        do
            verdict = k == 0 && r->close ? CLOSE : iterate(r, goal);
        while (verdict == GO_ON);
        if (verdict != CLOSE && verdict != STUCK)
            return verdict;
        hg_interior_finish(r, verdict == STUCK);
        if (hg_halted(&r->space.halt))
            return HALTED;
        if (hg_interior_is_good(r) || verdict == STUCK)
            return verdict;
        if (hg_steps_left(r) == 0)
            return LIMIT;
        goal *= 1e-2;
    }
    return verdict;
}

/* Tells the outcome by what the coefficients are worth, not by how the iterations ended: a run that was halted may be
 * good enough, and one that came close may not. */
static hinge_outcome outcome_of(const struct hg_interior *r, enum verdict verdict)
{
    if (verdict == INSEPARABLE)
        return HINGE_NO_MARGIN;
    bool finite = isfinite(r->worth.objective) && isfinite(r->worth.violation) && isfinite(r->space.largest);
    if (verdict == NONFINITE && !finite)
        return HINGE_NONFINITE;
    if (hg_interior_is_good(r))
        return HINGE_CONVERGED;
    if (verdict == HALTED)
        return hg_halt_outcome(&r->opt->halt);
    return verdict == LIMIT || hg_steps_left(r) == 0 ? HINGE_MAX_ITER : HINGE_STALLED;
}

/* Tells the result what the coefficients are worth. */
static void tell_worth(const struct hg_worth *worth, struct hg_interior_result *result)
{
    result->report.objective = worth->objective;
    result->report.gap = worth->gap;
    result->report.violation = worth->violation;
    memcpy(result->bias, worth->bias, sizeof result->bias);
}

/* What the run comes to is the best that proximal steps have found, or, where there is nothing good enough, what can be
 * had from the state (hg_interior_salvage). It is tidied by so little that no F moves by more than a share of eps. */
hinge_status hg_interior_point(struct hg_qp *qp, const struct hg_factor *factor,
                               const struct hg_interior_options *options, struct hg_interior_result *result,
                               hinge_error *err)
{
    struct hg_qp flat;
    struct hg_interior r;
    hg_interior_set(&r, &flat, qp, options, result);
    hinge_status status = open_space(&r, factor, err);
    HG_THEN(status, hg_cholesky_init(&r.cholesky, r.space.cols, err));
    HG_THEN(status, hg_interior_start(&r, err));
    if (status == HINGE_OK) {
        if (options->begun != NULL)
            hg_interior_take_lane(&r, options->begun, options->lane);
        enum verdict verdict = solve(&r);
        if (verdict != INSEPARABLE && verdict != COARSE && !hg_interior_is_good(&r))
            hg_interior_salvage(&r);
        result->report.outcome = outcome_of(&r, verdict);
        if (verdict == INSEPARABLE) {
            r.worth = (struct hg_worth){ -INFINITY, INFINITY, INFINITY, INFINITY, { 0 } };
            hg_interior_take(&r, false);
        } else {
            memcpy(qp->beta[0], r.best, r.n * sizeof(double));
        }
        if (r.n > 0) /* roundings go where that moves no F by more than a share of eps */
            hg_qp_tidy(qp, options->eps / (1000 * sqrt((double)r.n) * (double)r.n * r.space.norm));
        tell_worth(&r.worth, result);
        result->floor = r.floor;
        result->report.gflop += r.space.gflop;
        result->report.precision = HINGE_PRECISION_F64;
    }
    run_free(&r);
    return status;
}

/* Judges beta by the kernel itself, where the run has solved another problem, that of ZZ'. An outcome may only get
 * worse by it. A second look follows where beta is worth less than none, which is made 0 then. */
void hg_interior_judge(struct hg_qp *qp, double *g, const struct hg_interior_options *options,
                       struct hg_interior_result *result)
{
    struct hg_worth worth;
    struct hg_finish f = { .layered = qp, .sums = options->sums, .floor = result->floor, .f = g };
    for (int again = 0; again < 2; again++) {
        double square = 0;
        for (size_t i = 0; i < qp->n; i++)
            square += hg_qp_beta(qp, i) * g[i];
        hg_finish_worth(&f, square, &worth);
        if (!(worth.objective > 0 && options->sums[0] == 0))
            break;
        memset(g, 0, qp->n * sizeof *g); /* no coefficients at all are better */
        memset(qp->beta[0], 0, qp->n * sizeof *qp->beta[0]);
    }
    tell_worth(&worth, result);
    if (result->report.outcome == HINGE_CONVERGED && !(worth.gap <= options->gap && worth.violation <= options->eps))
        result->report.outcome = isfinite(worth.violation) ? HINGE_STALLED : HINGE_NONFINITE;
}
