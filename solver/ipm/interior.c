/*
 * Primal-dual interior point (Mehrotra 1992) in w-space. A variable v belongs to a row i, has a sign s, a coefficient
 * p and a box 0 <= a <= C; beta_i = sum s a. With f = Z w (the intercept is w's last coordinate) and y = s f + p:
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
 */
#include "solver/ipm/interior.h"
#include "solver/ipm/finish.h"

#include <math.h>
#include <string.h>

enum {
    MAX_REFINEMENTS = 2,
    PATIENCE = 12, /* iterations without a better gap */
    MAX_STEPS = 8, /* proximal ones in a row */
    MAX_FINISHES = 4
};

static const double step_share = 0.995;   /* of the way to the boundary */
static const double finish_weight = 1e5;  /* sigma times the mean squared norm of a row */
static const double no_margin = 1e-9;     /* of the largest norm: a margin below is none */

struct side {
    double *a, *l, *u, *m, *cap; /* [n]; cap 0: no such variable */
};

struct run {
    struct hg_qp *qp;
    const struct hg_interior_options *opt;
    struct hg_interior_result *res;
    struct hg_sweep_space space;
    struct hg_cholesky cholesky;
    size_t n, cols;
    int sides;                  /* variables a row has at most: 2 with a kink */
    struct side side[2];
    double *f, *t_affine, *t;   /* [n] <z, w>; <z, dw> of the predictor and of the step */
    double *w, *dw, *q, *r_w, *rhs, *acc[HG_SWEEP_ACC]; /* [cols] */
    double scale;               /* of p and f: what y is measured by */
    double floor;               /* objectives below are 0 */
    double caps;                /* the sum of all boxes */
    double mu, target;          /* mean complementary product, and what the step aims at */
    double gap, best_gap;       /* relative, of (w, beta) as they stand; the least so far */
    uint64_t best_iteration;
    double *best;               /* [n] the best coefficients finished so far, */
    struct hg_worth worth;      /* and what they are worth */
    int no_stop;                /* 0, for sweeps that are to be finished after a stop */
};

/* ---- variables --------------------------------------------------------------------------------------------------- */

struct variable {
    double s, p, a, l, u, m;
    bool bounded;
    double y;       /* s f + p */
    double r_u;     /* C - a - u */
    double inverse; /* 1 / (l/a + m/u) */
};

struct change {
    double a, l, u, m;
};

static double sign_of(const struct run *r, int k, size_t i)
{
    return r->sides == 2 ? (k == 0 ? 1 : -1) : r->qp->hi[0][i] > 0 ? 1 : -1;
}

/* false: row i has no such variable */
static bool take(const struct run *r, int k, size_t i, struct variable *v)
{
    const struct side *side = &r->side[k];
    double cap = side->cap[i];
    if (cap == 0)
        return false;
    v->s = sign_of(r, k, i);
    v->p = r->qp->kink + v->s * r->qp->off[0][i];
    v->a = side->a[i], v->l = side->l[i], v->u = side->u[i], v->m = side->m[i];
    v->bounded = !isinf(cap);
    v->y = v->s * r->f[i] + v->p;
    v->r_u = v->bounded ? cap - v->a - v->u : 0;
    v->inverse = 1 / (v->l / v->a + v->m / v->u);
    return true;
}

static struct change change_of(const struct variable *v, double t, double target, double e_l, double e_u)
{
    struct change d = { 0, 0, 0, 0 };
    double rho = -v->y + (target - e_l) / v->a;
    if (v->bounded)
        rho += (v->m * v->r_u - target + e_u) / v->u;
    d.a = v->inverse * (rho - v->s * t);
    d.l = -v->l + (target - e_l - v->l * d.a) / v->a;
    if (v->bounded) {
        d.u = v->r_u - d.a;
        d.m = -v->m + (target - e_u - v->m * d.u) / v->u;
    }
    return d;
}

static struct change whole_change(const struct run *r, const struct variable *v, size_t i)
{
    struct change e = change_of(v, r->t_affine[i], 0, 0, 0);
    return change_of(v, r->t[i], r->target, e.a * e.l, e.u * e.m);
}

/* The longest step, at most `step`, that keeps all four positive. */
static double longest(const struct variable *v, const struct change *d, double step)
{
    const double x[] = { v->a, v->l, v->u, v->m }, dx[] = { d->a, d->l, d->u, d->m };
    for (int k = 0; k < (v->bounded ? 4 : 2); k++)
        if (dx[k] < 0)
            step = fmin(step, -x[k] / dx[k]);
    return step;
}

/* ---- what the sweeps do with rows -------------------------------------------------------------------------------- */

enum { PRODUCTS, PAIRS, LINEAR, SLACK, SUM_A, HEADING_UP }; /* sums of normal_rows */
enum { LEAST_MARGIN };                                      /* and its least: of y */

static void normal_rows(void *arg, const struct hg_block *b)
{
    struct run *r = arg;
    for (size_t k = 0; k < b->count; k++) {
        size_t i = b->first + k;
        double beta = 0, g = 0, h = 0, centre = 0;
        struct variable v;
        r->f[i] = b->t[k];
        for (int side = 0; side < r->sides; side++) {
            if (!take(r, side, i, &v))
                continue;
            beta += v.s * v.a;
            g += v.inverse;
            h += v.s * v.inverse * (v.m * v.r_u / v.u - v.y);
            centre += v.s * v.inverse * (1 / v.a - (v.bounded ? 1 / v.u : 0));
            b->sum[PRODUCTS] += v.a * v.l + (v.bounded ? v.u * v.m : 0);
            b->sum[PAIRS] += 1 + v.bounded;
            b->sum[LINEAR] += v.p * v.a;
            b->sum[SLACK] += v.bounded ? (v.a + v.u) * fmax(0, -v.y) : 0;
            b->sum[SUM_A] += v.a;
            b->sum[HEADING_UP] += v.a * r->scale > v.l * (v.bounded ? v.a + v.u : 1);
            b->least[LEAST_MARGIN] = fmin(b->least[LEAST_MARGIN], v.y);
        }
        b->y[0][k] = beta;
        b->y[1][k] = h;
        b->y[2][k] = centre;
        b->weight[k] = g;
    }
}

enum { FIRST, SECOND }; /* derivatives of the complementary products along the predictor, and its longest step */

static void predictor_rows(void *arg, const struct hg_block *b)
{
    struct run *r = arg;
    for (size_t k = 0; k < b->count; k++) {
        size_t i = b->first + k;
        double h = 0;
        struct variable v;
        r->t_affine[i] = b->t[k];
        for (int side = 0; side < r->sides; side++) {
            if (!take(r, side, i, &v))
                continue;
            struct change d = change_of(&v, b->t[k], 0, 0, 0);
            b->least[0] = longest(&v, &d, b->least[0]);
            b->sum[FIRST] += v.a * d.l + v.l * d.a + v.u * d.m + v.m * d.u;
            b->sum[SECOND] += d.a * d.l + d.u * d.m;
            h += v.s * v.inverse * (d.u * d.m / v.u - d.a * d.l / v.a);
        }
        b->y[0][k] = h;
    }
}

static void step_rows(void *arg, const struct hg_block *b)
{
    struct run *r = arg;
    for (size_t k = 0; k < b->count; k++) {
        size_t i = b->first + k;
        double beta = 0;
        struct variable v;
        r->t[i] = b->t[k];
        for (int side = 0; side < r->sides; side++) {
            if (!take(r, side, i, &v))
                continue;
            struct change d = whole_change(r, &v, i);
            b->least[0] = longest(&v, &d, b->least[0]);
            beta += v.s * d.a;
        }
        b->y[0][k] = beta;
    }
}

struct advance {
    struct run *r;
    double step;
};

static void advance_rows(void *arg, const struct hg_block *b)
{
    const struct advance *advance = arg;
    struct run *r = advance->r;
    for (size_t k = 0; k < b->count; k++) {
        size_t i = b->first + k;
        struct variable v;
        for (int side = 0; side < r->sides; side++) {
            if (!take(r, side, i, &v))
                continue;
            struct change d = whole_change(r, &v, i);
            r->side[side].a[i] = v.a + advance->step * d.a;
            r->side[side].l[i] = v.l + advance->step * d.l;
            r->side[side].u[i] = v.u + advance->step * d.u;
            r->side[side].m[i] = v.m + advance->step * d.m;
        }
    }
}

/* ---- one iteration ----------------------------------------------------------------------------------------------- */

enum verdict { GO_ON, CLOSE, STUCK, HALTED, LIMIT, INSEPARABLE, NONFINITE };

static double ridge(const struct run *r, size_t c)
{
    return c < r->space.factor->d ? 1 : 0;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

/* Hard margin. For all (w, b) with margins of 1, sum a <= |w| |Z'beta| + (1 + |w| R) |sum beta|: so 1/|w|, the
 * geometric margin, is at most what is returned. */
static double margin_bound(const struct run *r, const double *z_beta, double sum_a)
{
    double square = 0, off = !r->qp->no_sum ? fabs(z_beta[r->cols - 1] - r->opt->sum) : 0;
    for (size_t c = 0; c < r->space.factor->d; c++)
        square += z_beta[c] * z_beta[c];
    return sum_a > off ? (sqrt(square) + sqrt(r->space.largest) * off) / (sum_a - off) : INFINITY;
}

/* The relative gap of the objectives of w and beta, each by itself, with what the sum beta lacks may be worth. */
static double relative_gap(const struct run *r, const struct hg_sweep *s)
{
    double w = 0, beta = 0, bias = !r->qp->no_sum ? r->w[r->cols - 1] : 0;
    double lacking = !r->qp->no_sum ? fabs(r->acc[0][r->cols - 1] - r->opt->sum) * (fabs(bias) + r->scale) : 0;
    for (size_t c = 0; c < r->space.factor->d; c++) {
        double x = r->acc[0][c] - r->q[c];
        w += r->w[c] * r->w[c];
        beta += x * x;
        bias -= !r->qp->no_sum ? r->space.shift[c] * r->w[c] : 0;
    }
    double primal = w / 2 + s->sum[SLACK] + r->opt->sum * bias, dual = -(beta / 2 + s->sum[LINEAR]);
    if (isinf(r->side[0].cap[0])) { /* y = margin - 1; scaled to margins of 1 */
        double margin = 1 + s->least[LEAST_MARGIN];
        primal = margin > 0 ? w / (2 * margin * margin) : INFINITY;
    }
    if (isinf(primal))
        return INFINITY;
    return (fabs(primal - dual) + lacking) / fmax(fmax(fabs(primal), fabs(dual)), r->floor);
}

/* The sums over rows that the state stands for, and the matrix factored. */
static enum verdict measure(struct run *r, struct hg_sweep *s)
{
    *s = (struct hg_sweep){ .v = r->w, .n_acc = 3, .acc = { r->acc[0], r->acc[1], r->acc[2] }, .normal = true,
                            .rows = normal_rows, .arg = r };
    if (!hg_sweep_run(&r->space, s))
        return HALTED;
    r->mu = s->sum[PRODUCTS] / s->sum[PAIRS];
    r->gap = relative_gap(r, s);
    if (isnan(r->gap) || isnan(r->mu))
        return NONFINITE;
    if (isinf(r->side[0].cap[0])) {
        r->res->margin_bound = fmin(r->res->margin_bound, margin_bound(r, r->acc[0], s->sum[SUM_A]));
        if (r->res->margin_bound <= no_margin * sqrt(r->space.largest))
            return INSEPARABLE;
    }
    for (size_t c = 0; c < r->cols; c++) {
        r->r_w[c] = ridge(r, c) * r->w[c] - r->acc[0][c] + r->q[c];
        r->space.normal[c * r->space.ld + c] += ridge(r, c);
    }
    bool factored = hg_cholesky_factor(&r->cholesky, r->space.normal, &r->space.halt);
    return hg_sweep_stopped(&r->space) ? HALTED : factored ? GO_ON : NONFINITE;
}

/* The right-hand side: predictor, then centring by how far the predictor gets, and the second-order term. */
static bool predict(struct run *r, const struct hg_sweep *s)
{
    const double *h = r->acc[1], *centre = r->acc[2];
    double *second = r->acc[0];
    for (size_t c = 0; c < r->cols; c++)
        r->rhs[c] = r->dw[c] = h[c] - r->r_w[c];
    hg_cholesky_solve(&r->cholesky, r->dw);
    struct hg_sweep p = { .v = r->dw, .n_acc = 1, .acc = { second }, .rows = predictor_rows, .arg = r };
    if (!hg_sweep_run(&r->space, &p))
        return false;
    double step = fmin(1, p.least[0]);
    double left = (s->sum[PRODUCTS] + step * (p.sum[FIRST] + step * p.sum[SECOND])) / s->sum[PRODUCTS];
    r->target = r->mu * fmax(left, 0) * left * left;
    for (size_t c = 0; c < r->cols; c++)
        r->rhs[c] += r->target * centre[c] + second[c];
    return true;
}

/* dw, refined until what is left of R dw - Z'dbeta + r_w = 0 moves it no more; *step: the longest one. */
static bool direction(struct run *r, double *step)
{
    double *z_beta = r->acc[0], *left = r->acc[1], *correction = r->acc[2], last = INFINITY;
    memcpy(r->dw, r->rhs, r->cols * sizeof(double));
    hg_cholesky_solve(&r->cholesky, r->dw);
    for (int k = 0;; k++) {
        struct hg_sweep s = { .v = r->dw, .n_acc = 1, .acc = { z_beta }, .rows = step_rows, .arg = r };
        if (!hg_sweep_run(&r->space, &s))
            return false;
        *step = s.least[0];
        for (size_t c = 0; c < r->cols; c++)
            correction[c] = left[c] = z_beta[c] - r->r_w[c] - ridge(r, c) * r->dw[c];
        hg_cholesky_solve(&r->cholesky, correction);
        double size = sqrt(fabs(dot(left, correction, r->cols) / dot(r->rhs, r->dw, r->cols)));
        if (k == MAX_REFINEMENTS || !(size > 1e-9) || size > 0.3 * last)
            return true;
        for (size_t c = 0; c < r->cols; c++)
            r->dw[c] += correction[c];
        last = size;
    }
}

static bool report_progress(struct run *r, const struct hg_sweep *s)
{
    if (r->opt->progress == NULL)
        return true;
    hinge_progress p = { .rounds = r->res->report.rounds, .iterations = r->res->report.rounds, .violation = r->gap,
                         .n = r->n, .n_active = r->n, .n_sv = (size_t)s->sum[HEADING_UP] };
    double square = 0;
    for (size_t c = 0; c < r->space.factor->d; c++)
        square += (r->acc[0][c] - r->q[c]) * (r->acc[0][c] - r->q[c]);
    p.objective = square / 2 + s->sum[LINEAR];
    if (r->opt->progress(r->opt->progress_arg, &p) == 0)
        return true;
    hg_request_halt(&r->opt->halt, 2);
    return false;
}

/* Newton systems, those of the finish included. */
static uint64_t steps_left(const struct run *r)
{
    uint64_t done = r->res->report.iterations;
    return r->opt->max_iter == 0 ? UINT64_MAX : r->opt->max_iter - HG_MIN(done, r->opt->max_iter);
}

static enum verdict judge(struct run *r, double goal)
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
    return steps_left(r) == 0 ? LIMIT : GO_ON;
}

static enum verdict iterate(struct run *r, double goal)
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
    struct advance advance = { r, fmin(1, step_share * step) };
    struct hg_sweep move = { .rows = advance_rows, .arg = &advance };
    if (!hg_sweep_run(&r->space, &move))
        return HALTED;
    for (size_t c = 0; c < r->cols; c++)
        r->w[c] += advance.step * r->dw[c];
    r->res->report.rounds++;
    r->res->report.iterations++;
    r->res->report.phase.subproblem += hg_now() - begin;
    return GO_ON;
}

/* ---- the finish -------------------------------------------------------------------------------------------------- */

static void take_interior(const struct run *r)
{
    for (size_t i = 0; i < r->n; i++) {
        double beta = 0;
        for (int k = 0; k < r->sides; k++)
            if (r->side[k].cap[i] != 0)
                beta += sign_of(r, k, i) * r->side[k].a[i];
        r->qp->beta[0][i] = beta;
    }
}

static void keep_better(struct run *r, const struct hg_worth *worth)
{
    if (!(worth->gap < r->worth.gap) && !isnan(r->worth.gap))
        return;
    r->worth = *worth;
    memcpy(r->best, r->qp->beta[0], r->n * sizeof(double));
}

static struct hg_finish finish_of(struct run *r)
{
    memcpy(r->rhs, r->w, r->cols * sizeof(double));
    return (struct hg_finish){ .qp = r->qp, .space = &r->space, .cholesky = &r->cholesky, .sum = r->opt->sum,
                               .floor = r->floor, .w = r->rhs, .trial = r->dw, .force = r->r_w, .acc = r->acc[0],
                               .guess = r->acc[1], .from = r->t, .f = r->t_affine, .most_steps = steps_left(r) };
}

static bool is_good(const struct run *r)
{
    return r->worth.gap <= r->opt->gap && r->worth.violation <= r->opt->eps;
}

/* Proximal steps from the interior point, while they pay. false: not one came to its end */
static bool finish_with(struct run *r, double sigma, bool search)
{
    double last = INFINITY;
    struct hg_finish f = finish_of(r);
    struct hg_worth worth;
    take_interior(r);
    for (int k = 0; k < MAX_STEPS; k++) {
        if (!hg_finish_step(&f, sigma, search) || !hg_finish_judge(&f, &worth))
            break;
        keep_better(r, &worth);
        bool ends = (is_good(r) && worth.gap <= 1e-3 * r->opt->gap) || worth.gap > 0.5 * last;
        last = worth.gap;
        if (ends)
            break;
        sigma *= 10;
    }
    r->res->report.iterations += f.steps;
    return last < INFINITY;
}

/* The weight of a proximal step: the larger, the more it gains, the less of its digits are lost to f's rounding, and
 * the nearer its start must be. `stuck`: the interior point gets no nearer. */
static void finish(struct run *r, bool stuck)
{
    double begin = hg_now(), sigma = finish_weight / fmax(r->space.norm, 1e-300);
    bool ended = finish_with(r, sigma, false) || finish_with(r, sigma / 100, false);
    for (int k = 1; stuck && !is_good(r) && k <= 3 && !hg_sweep_stopped(&r->space); k++)
        ended = finish_with(r, sigma * pow(100, -k), k > 1 || !ended);
    r->res->report.phase.certificate += hg_now() - begin;
}

/* Coefficients on their way to a bound are put there. */
static void round_to_bounds(const struct run *r)
{
    take_interior(r);
    for (size_t i = 0; i < r->n; i++) {
        struct variable v;
        double beta = 0;
        for (int k = 0; k < r->sides; k++)
            if (take(r, k, i, &v)) {
                double cap = r->side[k].cap[i], size = v.bounded ? cap : 1;
                beta += v.s * (v.a * r->scale < v.l * size                ? 0
                               : v.bounded && v.u * r->scale < v.m * size ? cap
                                                                          : v.a);
            }
        r->qp->beta[0][i] = beta;
    }
}

/* The best multiple of beta: without a sum, any from 0 to 1 is feasible. */
static void shorten(struct run *r, const struct hg_worth *worth, const struct hg_finish *f)
{
    double square = 0;
    for (size_t c = 0; c < r->space.factor->d; c++)
        square += f->trial[c] * f->trial[c];
    double gain = square / 2 - worth->objective; /* -h(beta) */
    double factor = square > 0 ? fmin(1, fmax(0, gain / square)) : 1;
    for (size_t i = 0; i < r->n && factor < 1; i++)
        r->qp->beta[0][i] *= factor;
}

/* A run that ended before anything was finished: what can be had from the state as it stands. */
static void salvage(struct run *r)
{
    struct hg_worth worth;
    struct hg_halt halt = r->space.halt;
    r->space.halt = (struct hg_halt){ .stop = &r->no_stop };
    struct hg_finish f = finish_of(r);
    round_to_bounds(r);
    if (hg_finish_judge(&f, &worth)) {
        keep_better(r, &worth);
        if (r->opt->sum == 0 && worth.objective > 0) {
            shorten(r, &worth, &f);
            if (hg_finish_judge(&f, &worth))
                keep_better(r, &worth);
        }
    }
    r->space.halt = halt;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static bool allocate(struct run *r)
{
    struct side *s = r->side;
    size_t n = r->n, cols = r->cols, both = r->sides == 2 ? n : 0;
    r->res->report.memory_bytes = r->space.bytes + (cols * r->cholesky.ld + 10 * cols) * sizeof(double) +
                           n * (4 + 5 * (size_t)r->sides) * sizeof(double);
    return HG_ROOM(HG_ZEROS(r->f, n), HG_ZEROS(r->t_affine, n), HG_ZEROS(r->t, n), HG_ZEROS(r->best, n),
                   HG_ZEROS(r->w, cols), HG_ZEROS(r->dw, cols), HG_ZEROS(r->q, cols), HG_ZEROS(r->r_w, cols),
                   HG_ZEROS(r->rhs, cols), HG_ZEROS(r->acc[0], cols), HG_ZEROS(r->acc[1], cols),
                   HG_ZEROS(r->acc[2], cols), HG_ZEROS(s[0].a, n), HG_ZEROS(s[0].l, n), HG_ZEROS(s[0].u, n),
                   HG_ZEROS(s[0].m, n), HG_ZEROS(s[0].cap, n), HG_ZEROS(s[1].a, both), HG_ZEROS(s[1].l, both),
                   HG_ZEROS(s[1].u, both), HG_ZEROS(s[1].m, both), HG_ZEROS(s[1].cap, both));
}

static void run_free(struct run *r)
{
    hg_free(r->f);
    hg_cholesky_free(&r->cholesky);
    hg_sweep_free(&r->space);
}

/* Where the optimum may be 0, an objective is compared with that of a w that matters: one that moves f by the tube, but
 * no more than what it costs all rows to be off by the tube (features may be next to nothing); or one-class, the w of
 * rows that all point the same way. */
static double least_objective(const struct run *r)
{
    double shift = 0;
    for (size_t c = 0; c < r->space.factor->d; c++)
        shift += r->space.shift[c] * r->space.shift[c];
    double tube = r->qp->kink * fmin(r->qp->kink / fmax(r->space.norm, 1e-300), r->caps);
    double class = r->opt->sum * r->opt->sum * (r->space.norm + shift);
    return fmax(0.5e-6 * fmax(tube, class), 1e-300);
}

/* Half of the box, or where the sum is to be; without bounds what one row alone would take. w = 0, and l - m = p. */
static void start(struct run *r)
{
    double size = 0, caps = 0, lows = 0;
    for (size_t i = 0; i < r->n; i++) {
        size = fmax(size, fabs(r->qp->off[0][i]) + r->qp->kink);
        caps += r->qp->hi[0][i];
        lows += r->qp->lo[0][i];
    }
    double share = r->opt->sum > 0 && isfinite(caps) ? r->opt->sum / caps : 0.5;
    share = fmin(fmax(share, 1e-3), 1 - 1e-3);
    if (size == 0) /* one-class: f is about what a share of all rows makes */
        size = fmax(share * caps * r->space.norm, 1e-300);
    r->scale = size;
    r->caps = isfinite(caps - lows) ? caps - lows : 0;
    r->floor = least_objective(r);
    for (int k = 0; k < r->sides; k++) {
        struct side *s = &r->side[k];
        for (size_t i = 0; i < r->n; i++) {
            double sign = sign_of(r, k, i), p = r->qp->kink + sign * r->qp->off[0][i];
            s->cap[i] = fmax(0, sign > 0 ? r->qp->hi[0][i] : -r->qp->lo[0][i]);
            bool bounded = isfinite(s->cap[i]);
            s->a[i] = bounded ? share * s->cap[i] : size / fmax(r->space.norm, 1e-300);
            s->u[i] = bounded ? (1 - share) * s->cap[i] : 1;
            s->l[i] = fmax(p, 0) + size;
            s->m[i] = bounded ? fmax(-p, 0) + size : 0;
        }
    }
    for (size_t c = 0; !r->qp->no_sum && c < r->cols; c++)
        r->q[c] = c + 1 < r->cols ? -r->opt->sum * r->space.shift[c] : r->opt->sum;
}

static enum verdict solve(struct run *r)
{
    double goal = 1e-3 * r->opt->gap;
    enum verdict verdict = GO_ON;
    for (int k = 0; k < MAX_FINISHES; k++) {
        do
            verdict = iterate(r, goal);
        while (verdict == GO_ON);
        if (verdict != CLOSE && verdict != STUCK)
            return verdict;
        finish(r, verdict == STUCK);
        if (hg_sweep_stopped(&r->space))
            return HALTED;
        if (is_good(r) || verdict == STUCK)
            return verdict;
        if (steps_left(r) == 0)
            return LIMIT;
        goal *= 1e-2;
    }
    return verdict;
}

static hinge_outcome outcome_of(const struct run *r, enum verdict verdict)
{
    if (verdict == INSEPARABLE)
        return HINGE_NO_MARGIN;
    bool finite = isfinite(r->worth.objective) && isfinite(r->worth.violation) && isfinite(r->space.largest);
    if (verdict == NONFINITE && !finite)
        return HINGE_NONFINITE;
    if (is_good(r))
        return HINGE_CONVERGED;
    if (verdict == HALTED)
        return hg_halt_outcome(&r->opt->halt);
    return verdict == LIMIT || steps_left(r) == 0 ? HINGE_MAX_ITER : HINGE_STALLED;
}

static void tell_worth(const struct hg_worth *worth, struct hg_interior_result *result)
{
    result->report.objective = worth->objective;
    result->report.gap = worth->gap;
    result->report.violation = worth->violation;
    result->bias = worth->bias;
}

hinge_status hg_interior_point(struct hg_qp *qp, const struct hg_factor *factor,
                               const struct hg_interior_options *options, struct hg_interior_result *result,
                               hinge_error *err)
{
    struct run r = { .qp = qp, .opt = options, .res = result, .n = qp->n, .sides = 1, .best_gap = INFINITY };
    memset(result, 0, sizeof *result);
    result->margin_bound = INFINITY;
    r.worth.gap = NAN;
    hinge_status status = hg_sweep_init(&r.space, factor, !qp->no_sum, options->threads, &options->halt, err);
    r.cols = r.space.cols;
    for (size_t i = 0; i < r.n; i++)
        if (qp->lo[0][i] < 0 && qp->hi[0][i] > 0)
            r.sides = 2;
    if (status == HINGE_OK)
        status = hg_cholesky_init(&r.cholesky, r.cols, err);
    if (status == HINGE_OK && !allocate(&r))
        status = hg_fail(err, HINGE_ENOMEM, "no memory for a problem of %zu examples", r.n);
    if (status == HINGE_OK) {
        start(&r);
        enum verdict verdict = solve(&r);
        if (verdict != INSEPARABLE && !is_good(&r))
            salvage(&r);
        result->report.outcome = outcome_of(&r, verdict);
        if (verdict == INSEPARABLE)
            r.worth = (struct hg_worth){ -INFINITY, INFINITY, INFINITY, INFINITY, 0 };
        memcpy(qp->beta[0], r.best, r.n * sizeof(double));
        if (r.n > 0) /* roundings go where that moves no F by more than a share of eps */
            hg_qp_tidy(qp, options->eps / (1000 * sqrt((double)r.n) * (double)r.n * r.space.norm));
        tell_worth(&r.worth, result);
        result->floor = r.floor;
        result->report.gflop = r.space.gflop;
        result->report.precision = HINGE_PRECISION_F64;
    }
    run_free(&r);
    return status;
}

void hg_interior_judge(struct hg_qp *qp, double *g, const struct hg_interior_options *options,
                       struct hg_interior_result *result)
{
    struct hg_worth worth;
    struct hg_finish f = { .qp = qp, .sum = options->sum, .floor = result->floor, .f = g };
    for (int again = 0; again < 2; again++) {
        double square = 0;
        for (size_t i = 0; i < qp->n; i++)
            square += qp->beta[0][i] * g[i];
        hg_finish_worth(&f, square, &worth);
        if (!(worth.objective > 0 && options->sum == 0))
            break;
        memset(g, 0, qp->n * sizeof *g); /* no coefficients at all are better */
        memset(qp->beta[0], 0, qp->n * sizeof *qp->beta[0]);
    }
    tell_worth(&worth, result);
    if (result->report.outcome == HINGE_CONVERGED && !(worth.gap <= options->gap && worth.violation <= options->eps))
        result->report.outcome = isfinite(worth.violation) ? HINGE_STALLED : HINGE_NONFINITE;
}
