/*
 * Mehrotra's predictor and corrector for one problem a lane. Read lanes.h and interior.c before, whose letters and
 * order these are: where the lanes are and their normal matrices (measure), the predictor, the direction and its
 * refinement, the step. A lane that is at its end stays as it is, while others go on.
 *
 * Compiled once a level with HG_LEVEL; all arithmetic is lane by lane.
 */
#include "solver/ipm/lanes.h"
#include "lib/base/level.h"

#include "hg_config.h"

#include <math.h>
#include <string.h>

typedef double vector __attribute__((vector_size(VECTOR), aligned(VECTOR), may_alias));
typedef int64_t mask __attribute__((vector_size(VECTOR), aligned(VECTOR), may_alias));

enum { WIDTH = VECTOR / sizeof(double), MAX_ITERATIONS = 50, MAX_REFINEMENTS = 2 };

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

static inline vector all(double x)
{
    return x - (vector){ 0 };
}

static inline vector choose(mask of, vector yes, vector no)
{
    return (vector)((of & (mask)yes) | (~of & (mask)no));
}

static inline vector most(vector a, vector b)
{
    return choose(a > b, a, b);
}

static inline vector size_of(vector a)
{
    return (vector)((mask)a & INT64_MAX);
}

static inline vector root(vector a)
{
    vector r = a;
    for (size_t k = 0; k < WIDTH; k++)
        r[k] = sqrt(r[k]);
    return r;
}

static bool any(mask of)
{
    int64_t some = 0;
    for (size_t k = 0; k < WIDTH; k++)
        some |= of[k];
    return some != 0;
}

/* ---- products of rows -------------------------------------------------------------------------------------------- */

/* Makes out [n] = X v, four rows side by side, so that sums do not wait for each other. */
static void multiply(const double *x, size_t n, size_t d, const vector *v, vector *out)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4, x += 4 * d) {
        vector a = { 0 }, b = a, c = a, e = a;
        for (size_t k = 0; k < d; k++) {
            a += x[k] * v[k];
            b += x[d + k] * v[k];
            c += x[2 * d + k] * v[k];
            e += x[3 * d + k] * v[k];
        }
        out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = e;
    }
    for (; i < n; i++, x += d) {
        vector a = { 0 };
        for (size_t k = 0; k < d; k++)
            a += x[k] * v[k];
        out[i] = a;
    }
}

/* Columns whose products stay in registers; d is a multiple of twice as many. */
enum { TILE = NUMBER == 4 ? 4 : 2 };

/* Makes out [d] = X'y. */
static void sum_rows(const double *x, size_t n, size_t d, const vector *y, vector *out)
{
    for (size_t c = 0; c < d; c += 2 * TILE) {
        const double *at = x + c;
        vector sum[2 * TILE] = { 0 };
        for (size_t i = 0; i < n; i++, at += d)
            for (size_t k = 0; k < 2 * TILE; k++)
                sum[k] += at[k] * y[i];
        memcpy(out + c, sum, sizeof sum);
    }
}

/* Makes TILE rows from r on and as many columns from c on of X'G X. */
static void normal_tile(const struct hg_lanes *s, size_t r, size_t c, const vector *g, vector *out, size_t ld)
{
    vector sum[TILE][TILE] = { 0 };
    const double *x = s->x;
    for (size_t i = 0; i < s->n; i++, x += s->d)
        for (size_t k = 0; k < TILE; k++) {
            vector by = x[r + k] * g[i];
            for (size_t j = 0; j < TILE; j++)
                sum[k][j] += x[c + j] * by;
        }
    for (size_t k = 0; k < TILE; k++)
        memcpy(out + (r + k) * ld + c, sum[k], sizeof sum[k]);
}

/* Makes the lower triangle of X'G X, and what tiles have above it. */
static void normal_rows(const struct hg_lanes *s, const vector *g, vector *out, size_t ld)
{
    for (size_t r = 0; r < s->d; r += TILE)
        for (size_t c = 0; c <= r; c += TILE)
            normal_tile(s, r, c, g, out, ld);
}

/* ---- the state of a run ------------------------------------------------------------------------------------------ */

/* Points at the arrays of a run as vectors. Of rows: f, what the predictor and the step move it by; of columns: one
 * factor of the normal matrix, by rows, and the right-hand sides. */
struct run {
    struct hg_lanes *s;
    size_t n, d, cols, variables;
    vector *sign, *p, *cap, *a, *l, *u, *m, *w, *q, *floor, *scale, *goal;
    vector *f, *t_affine, *t;                            /* [n] */
    vector *beta, *h, *centre, *g, *g_each;              /* [n]; g_each [intercepts * n] where there are two */
    vector *normal, *inverse;                            /* [cols * cols]; [cols] of the diagonal of its factor */
    vector *r_w, *rhs, *dw, *left, *correction, *sum[3]; /* [cols] */
    vector products, pairs, linear, slack, mu, gap, target, best_gap;
    vector iterations, best_iteration;
    mask live;  /* lanes that are not at their end */
    mask close; /* and those that came to their goal */
};

enum { OF_ROWS = 8, OF_COLS = 9 }; /* arrays of rows, g_each apart, and of columns */

/* Takes an array of vectors from the room. */
static vector *part(double **room, size_t count)
{
    vector *array = (vector *)(void *)*room;
    *room += count * WIDTH;
    return array;
}

static vector *whole(double *array)
{
    return (vector *)(void *)array;
}

static struct run begin(struct hg_lanes *s)
{
    double *room = s->room;
    size_t n = s->n, cols = s->d + (size_t)s->intercepts;
    struct run r = { .s = s, .n = n, .d = s->d, .cols = cols, .variables = s->slots * n };
    r.sign = whole(s->sign), r.p = whole(s->p), r.cap = whole(s->cap);
    r.a = whole(s->a), r.l = whole(s->l), r.u = whole(s->u), r.m = whole(s->m);
    r.w = whole(s->w), r.q = whole(s->q);
    r.floor = whole(s->floor), r.scale = whole(s->scale), r.goal = whole(s->goal);
    r.f = part(&room, n), r.t_affine = part(&room, n), r.t = part(&room, n);
    r.beta = part(&room, n), r.h = part(&room, n), r.centre = part(&room, n), r.g = part(&room, n);
    r.g_each = part(&room, 2 * n);
    r.normal = part(&room, cols * cols), r.inverse = part(&room, cols);
    r.r_w = part(&room, cols), r.rhs = part(&room, cols), r.dw = part(&room, cols);
    r.left = part(&room, cols), r.correction = part(&room, cols);
    for (int k = 0; k < 3; k++)
        r.sum[k] = part(&room, cols);
    r.best_gap = all(INFINITY);
    r.live = *r.goal > 0;
    for (size_t v = 0; v < r.variables; v++)
        r.pairs += 2 * r.sign[v] * r.sign[v];
    return r;
}

/* A variable as interior.c has it (struct hg_variable), of all lanes; all are bounded. */
struct variable {
    vector s, a, l, u, m, y, r_u, by_a, by_u, inverse;
};

/* Takes up variable v of row i, by f with its intercept. 1 / a and 1 / u are made by one division. */
static inline struct variable take(const struct run *r, size_t at, vector f)
{
    struct variable v = { .s = r->sign[at], .a = r->a[at], .l = r->l[at], .u = r->u[at], .m = r->m[at] };
    vector by = 1 / (v.a * v.u);
    v.y = v.s * f + r->p[at];
    v.r_u = r->cap[at] - v.a - v.u;
    v.by_a = v.u * by;
    v.by_u = v.a * by;
    v.inverse = 1 / (v.l * v.by_a + v.m * v.by_u);
    return v;
}

struct change {
    vector a, l, u, m;
};

/* Is change_of of interior.c. */
static inline struct change change_of(const struct variable *v, vector t, vector target, vector e_l, vector e_u)
{
    struct change d;
    vector rho = -v->y + (target - e_l) * v->by_a + (v->m * v->r_u - target + e_u) * v->by_u;
    d.a = v->inverse * (rho - v->s * t);
    d.l = -v->l + (target - e_l - v->l * d.a) * v->by_a;
    d.u = v->r_u - d.a;
    d.m = -v->m + (target - e_u - v->m * d.u) * v->by_u;
    return d;
}

static inline struct change whole_change(const struct variable *v, vector t_affine, vector t, vector target)
{
    vector none = { 0 };
    struct change e = change_of(v, t_affine, none, none, none);
    return change_of(v, t, target, e.a * e.l, e.u * e.m);
}

/* Returns the largest share of itself by which one of a variable's four numbers falls: the longest step is 1 by it. */
static inline vector fall(const struct variable *v, const struct change *d, vector so_far)
{
    vector by = 1 / (v->l * v->m), share;
    share = most(most(-d->a * v->by_a, -d->u * v->by_u), most(-d->l * (v->m * by), -d->m * (v->l * by)));
    return most(so_far, choose(v->s != 0, share, (vector){ 0 }));
}

/* Returns what the intercept of variables `slot` adds to a row's product, of those there are. */
static inline vector intercept(const struct run *r, const vector *of, size_t slot)
{
    const vector zero = { 0 };
    return r->s->intercepts == 0 ? zero : of[r->s->intercepts == 2 ? slot : 0];
}

/* Adds what the variables of a slot came to at their intercept. */
static inline void add_intercept(const struct run *r, vector *sums, size_t slot, vector sum)
{
    if (r->s->intercepts > 0)
        sums[r->d + (r->s->intercepts == 2 ? slot : 0)] += sum;
}

static void clear_intercepts(const struct run *r, vector *sums)
{
    for (size_t c = r->d; c < r->cols; c++)
        sums[c] = (vector){ 0 };
}

/* ---- one iteration ----------------------------------------------------------------------------------------------- */

/* Takes the variables of one slot through the sweep that measures, row by row. */
static void measure_slot(struct run *r, size_t slot)
{
    const vector none = { 0 }, add = intercept(r, r->w + r->d, slot);
    vector beta = none, h = none, centre = none, g = none;
    for (size_t i = 0; i < r->n; i++) {
        struct variable v = take(r, slot * r->n + i, r->f[i] + add);
        vector is = v.s * v.s, of_beta = v.s * v.a, of_g = is * v.inverse, by = v.s * v.inverse;
        vector of_h = by * (v.m * v.r_u * v.by_u - v.y), of_centre = by * (v.by_a - v.by_u);
        r->products += is * (v.a * v.l + v.u * v.m);
        r->linear += is * r->p[slot * r->n + i] * v.a;
        r->slack += is * (v.a + v.u) * most(none, -v.y);
        r->beta[i] = of_beta + (slot > 0 ? r->beta[i] : none);
        r->h[i] = of_h + (slot > 0 ? r->h[i] : none);
        r->centre[i] = of_centre + (slot > 0 ? r->centre[i] : none);
        r->g[i] = of_g + (slot > 0 ? r->g[i] : none);
        if (r->s->intercepts == 2)
            r->g_each[slot * r->n + i] = of_g;
        beta += of_beta, h += of_h, centre += of_centre, g += of_g;
    }
    add_intercept(r, r->sum[0], slot, beta);
    add_intercept(r, r->sum[1], slot, h);
    add_intercept(r, r->sum[2], slot, centre);
    if (r->s->intercepts > 0) {
        size_t c = r->d + (r->s->intercepts == 2 ? slot : 0);
        r->normal[c * r->cols + c] += g;
    }
}

/* Finds the relative gap (relative_gap of interior.c). */
static void find_gap(struct run *r)
{
    vector w = { 0 }, beta = w, linear = w, lacking = w;
    for (size_t c = 0; c < r->cols; c++) {
        vector off = r->sum[0][c] - r->q[c];
        linear += r->q[c] * r->w[c];
        if (c < r->d)
            w += r->w[c] * r->w[c], beta += off * off;
        else
            lacking += size_of(off) * (size_of(r->w[c]) + *r->scale);
    }
    vector primal = w / 2 + r->slack + linear, dual = -(beta / 2 + r->linear);
    vector largest = most(most(size_of(primal), size_of(dual)), *r->floor);
    r->gap = (size_of(primal - dual) + lacking) / largest;
    r->mu = r->products / r->pairs;
}

/* Makes the sums that the state stands for, the residual and the normal matrix. */
static void measure(struct run *r)
{
    const struct hg_lanes *s = r->s;
    const vector none = { 0 };
    multiply(s->x, r->n, r->d, r->w, r->f);
    for (size_t c = r->d * r->cols; c < r->cols * r->cols; c++)
        r->normal[c] = none;
    for (int k = 0; k < 3; k++)
        clear_intercepts(r, r->sum[k]);
    r->products = r->linear = r->slack = none;
    for (size_t slot = 0; slot < s->slots; slot++)
        measure_slot(r, slot);
    sum_rows(s->x, r->n, r->d, r->beta, r->sum[0]);
    sum_rows(s->x, r->n, r->d, r->h, r->sum[1]);
    sum_rows(s->x, r->n, r->d, r->centre, r->sum[2]);
    normal_rows(s, r->g, r->normal, r->cols);
    for (size_t k = 0; k < (size_t)s->intercepts; k++)
        sum_rows(s->x, r->n, r->d, s->intercepts == 2 ? r->g_each + k * r->n : r->g, r->normal + (r->d + k) * r->cols);
    find_gap(r);
    for (size_t c = 0; c < r->cols; c++) {
        vector ridge = all(c < r->d ? 1 : 0);
        r->r_w[c] = ridge * r->w[c] - r->sum[0][c] + r->q[c];
        r->normal[c * r->cols + c] += ridge;
    }
}

/* Factors the normal matrix; lanes in which it is not positive definite live no more. */
static void factor(struct run *r)
{
    size_t cols = r->cols;
    for (size_t k = 0; k < cols; k++) {
        vector *row = r->normal + k * cols;
        for (size_t j = 0; j < k; j++) {
            const vector *other = r->normal + j * cols;
            vector x = row[j];
            for (size_t c = 0; c < j; c++)
                x -= row[c] * other[c];
            row[j] = x * r->inverse[j];
        }
        vector x = row[k];
        for (size_t c = 0; c < k; c++)
            x -= row[c] * row[c];
        r->live &= x > 1e-14 * row[k];
        r->inverse[k] = 1 / root(choose(x > 0, x, all(1)));
    }
}

static void solve(const struct run *r, vector *x)
{
    size_t cols = r->cols;
    for (size_t k = 0; k < cols; k++) {
        vector sum = x[k];
        for (size_t c = 0; c < k; c++)
            sum -= r->normal[k * cols + c] * x[c];
        x[k] = sum * r->inverse[k];
    }
    for (size_t k = cols; k-- > 0;) {
        x[k] *= r->inverse[k];
        for (size_t c = 0; c < k; c++)
            x[c] -= r->normal[k * cols + c] * x[k];
    }
}

/* Makes the right-hand side by the predictor (predict and predictor_rows of interior.c). */
static void predict(struct run *r)
{
    const vector none = { 0 };
    vector falls = all(1), first = none, second = none;
    for (size_t c = 0; c < r->cols; c++)
        r->rhs[c] = r->dw[c] = r->sum[1][c] - r->r_w[c];
    solve(r, r->dw);
    multiply(r->s->x, r->n, r->d, r->dw, r->t_affine);
    clear_intercepts(r, r->sum[0]);
    for (size_t slot = 0; slot < r->s->slots; slot++) {
        vector add = intercept(r, r->w + r->d, slot), add_t = intercept(r, r->dw + r->d, slot), sum = none;
        for (size_t i = 0; i < r->n; i++) {
            struct variable v = take(r, slot * r->n + i, r->f[i] + add);
            struct change d = change_of(&v, r->t_affine[i] + add_t, none, none, none);
            vector is = v.s * v.s;
            falls = fall(&v, &d, falls);
            first += is * (v.a * d.l + v.l * d.a + v.u * d.m + v.m * d.u);
            second += is * (d.a * d.l + d.u * d.m);
            vector h = v.s * v.inverse * (d.u * d.m * v.by_u - d.a * d.l * v.by_a);
            r->h[i] = h + (slot > 0 ? r->h[i] : none);
            sum += h;
        }
        add_intercept(r, r->sum[0], slot, sum);
    }
    sum_rows(r->s->x, r->n, r->d, r->h, r->sum[0]);
    vector step = 1 / falls, left = (r->products + step * (first + step * second)) / r->products;
    r->target = r->mu * most(left, none) * left * left;
    for (size_t c = 0; c < r->cols; c++)
        r->rhs[c] += r->target * r->sum[2][c] + r->sum[0][c];
}

/* Makes Z'dbeta of the step dw into sum[0], and returns by which share a number falls most (step_rows). The intercepts'
 * part of dw is kept for the predictor in `affine`. */
static vector follow(struct run *r, const vector *affine)
{
    const vector none = { 0 };
    vector falls = all(1e-300);
    multiply(r->s->x, r->n, r->d, r->dw, r->t);
    clear_intercepts(r, r->sum[0]);
    for (size_t slot = 0; slot < r->s->slots; slot++) {
        vector add = intercept(r, r->w + r->d, slot), add_t = intercept(r, r->dw + r->d, slot);
        vector add_affine = intercept(r, affine, slot), sum = none;
        for (size_t i = 0; i < r->n; i++) {
            struct variable v = take(r, slot * r->n + i, r->f[i] + add);
            struct change d = whole_change(&v, r->t_affine[i] + add_affine, r->t[i] + add_t, r->target);
            falls = fall(&v, &d, falls);
            vector beta = v.s * d.a;
            r->beta[i] = beta + (slot > 0 ? r->beta[i] : none);
            sum += beta;
        }
        add_intercept(r, r->sum[0], slot, sum);
    }
    sum_rows(r->s->x, r->n, r->d, r->beta, r->sum[0]);
    return falls;
}

/* Solves for the direction, refined in the lanes that gain by it, and returns the longest steps (direction). */
static vector direct(struct run *r, const vector *affine)
{
    vector last = all(INFINITY), falls;
    mask active = r->live;
    memcpy(r->dw, r->rhs, r->cols * sizeof *r->dw);
    solve(r, r->dw);
    for (int k = 0;; k++) {
        vector of_left = { 0 }, of_step = { 0 };
        falls = follow(r, affine);
        for (size_t c = 0; c < r->cols; c++) {
            vector ridge = all(c < r->d ? 1 : 0);
            r->correction[c] = r->left[c] = r->sum[0][c] - r->r_w[c] - ridge * r->dw[c];
        }
        solve(r, r->correction);
        for (size_t c = 0; c < r->cols; c++) {
            of_left += r->left[c] * r->correction[c];
            of_step += r->rhs[c] * r->dw[c];
        }
        vector size = root(size_of(of_left / of_step));
        active &= (size > 1e-9) & (size <= 0.3 * last);
        if (k == MAX_REFINEMENTS || !any(active))
            return 1 / falls;
        for (size_t c = 0; c < r->cols; c++)
            r->dw[c] += choose(active, r->correction[c], (vector){ 0 });
        last = choose(active, size, last);
    }
}

/* Takes the steps of the lanes that live (advance_rows). */
static void advance(struct run *r, const vector *affine, vector length)
{
    for (size_t slot = 0; slot < r->s->slots; slot++) {
        vector add = intercept(r, r->w + r->d, slot), add_t = intercept(r, r->dw + r->d, slot);
        vector add_affine = intercept(r, affine, slot);
        for (size_t i = 0, at = slot * r->n; i < r->n; i++, at++) {
            struct variable v = take(r, at, r->f[i] + add);
            struct change d = whole_change(&v, r->t_affine[i] + add_affine, r->t[i] + add_t, r->target);
            mask moves = r->live & (v.s != 0);
            r->a[at] = choose(moves, v.a + length * d.a, v.a);
            r->l[at] = choose(moves, v.l + length * d.l, v.l);
            r->u[at] = choose(moves, v.u + length * d.u, v.u);
            r->m[at] = choose(moves, v.m + length * d.m, v.m);
        }
    }
    for (size_t c = 0; c < r->cols; c++)
        r->w[c] = choose(r->live, r->w[c] + length * r->dw[c], r->w[c]);
}

/* Says which lanes go on: those that are not at their goal, and have gained lately. */
static void judge(struct run *r, vector iteration)
{
    enum { PATIENCE = 12 };
    mask gains = r->gap < 0.9 * r->best_gap;
    r->best_gap = choose(gains, r->gap, r->best_gap);
    r->best_iteration = choose(gains, iteration, r->best_iteration);
    r->close |= r->live & (r->gap <= *r->goal);
    r->live &= (r->gap > *r->goal) & (iteration - r->best_iteration <= PATIENCE);
}

/* Runs the lanes to their ends. A lane whose numbers are none any more is of no use. */
static void run(struct hg_lanes *s, const struct hg_halt *halt)
{
    struct run r = begin(s);
    vector affine[2], one = all(1);
    for (int k = 0; k < MAX_ITERATIONS && any(r.live) && !hg_poll_halt(halt); k++) {
        measure(&r);
        judge(&r, all(k));
        factor(&r);
        if (!any(r.live))
            break;
        predict(&r);
        memcpy(affine, r.dw + r.d, (r.cols - r.d) * sizeof *affine);
        vector step = 0.995 * direct(&r, affine);
        r.live &= step > 0;
        advance(&r, affine, choose(step < 1, step, one));
        r.iterations += choose(r.live, one, (vector){ 0 });
    }
    vector sum = { 0 };
    for (size_t v = 0; v < r.variables; v++)
        sum += r.a[v] + r.l[v] + r.u[v] + r.m[v];
    for (size_t c = 0; c < r.cols; c++)
        sum += r.w[c];
    *whole(s->iterations) = r.iterations;
    *whole(s->good) = choose(size_of(sum) < all(INFINITY), choose(r.close, 2 * one, one), (vector){ 0 });
}

extern const struct hg_lanes_code GLUE(hg_lanes_, HG_LEVEL);
const struct hg_lanes_code GLUE(hg_lanes_, HG_LEVEL) = { WIDTH, run };

#if NUMBER == 1

extern const struct hg_lanes_code hg_lanes_v2, hg_lanes_v3, hg_lanes_v4;

const struct hg_lanes_code *hg_lanes_code(int level)
{
#if HG_X86_LEVELS
    static const struct hg_lanes_code *const code[] = { &hg_lanes_plain, &hg_lanes_v2, &hg_lanes_v3, &hg_lanes_v4 };
    return code[level - 1];
#else
    (void)level;
    return &hg_lanes_plain;
#endif
}

size_t hg_lanes_room(const struct hg_lanes *s)
{
    size_t cols = s->d + (size_t)s->intercepts;
    return s->lanes * ((OF_ROWS + 1) * s->n + (OF_COLS + cols) * cols);
}

#endif
