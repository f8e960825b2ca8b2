/* Trials of hinge_qp_solve: the textbooks' programs, and random ones. See trials.h. */
#include "test/trials.h"

#include <hinge/qp.h>

enum truth { UNKNOWN, SOLVABLE, INFEASIBLE, UNBOUNDED };

struct program {
    hinge_qp qp;
    double *q, *p, *a, *c, *e, *f;
    enum truth truth;
    double optimum; /* NaN: not known */
    char words[80];
};

static struct program program_new(size_t n, size_t m, size_t k)
{
    struct program g = { .q = get(n * n, sizeof(double)),
                         .p = get(n, sizeof(double)),
                         .a = get(m * n, sizeof(double)),
                         .c = get(m, sizeof(double)),
                         .e = get(k * n, sizeof(double)),
                         .f = get(k, sizeof(double)),
                         .optimum = NAN };
    g.qp = (hinge_qp){
        .n = n, .q = g.q, .p = g.p, .n_inequalities = m, .a = g.a, .c = g.c, .n_equalities = k, .e = g.e, .f = g.f
    };
    return g;
}

/* ---- Random programs --------------------------------------------------------------------------------------------- */

static double entry(uint64_t *s, bool whole, double density)
{
    if (!chance(s, density))
        return 0;
    return whole ? (double)(draw(s) % 9) - 4 : draw_normal(s);
}

/* Q = LL' of rank r. */
static void fill_quadratic(struct program *g, uint64_t *s, bool whole, size_t rank)
{
    size_t n = g->qp.n;
    double *l = get(n * rank, sizeof *l);
    for (size_t i = 0; i < n * rank; i++)
        l[i] = whole ? (double)(draw(s) % 5) - 2 : draw_normal(s);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t r = 0; r < rank; r++)
                sum += l[i * rank + r] * l[j * rank + r];
            g->q[i * n + j] = sum;
        }
    for (size_t i = 0; i < n; i++) /* the same to the last bit, whatever the compiler made of the sums */
        for (size_t j = 0; j < i; j++)
            g->q[i * n + j] = g->q[j * n + i];
}

/* Of any kind: solvable or not is not known beforehand. */
static struct program random_program(uint64_t *s)
{
    bool whole = chance(s, 0.6);
    size_t n = 1 + pick(s, chance(s, 0.6) ? 4 : 20), m = pick(s, 2 * n + 3), k = chance(s, 0.5) ? 0 : pick(s, n + 2);
    double density = 0.3 + 0.7 * draw_unit(s);
    struct program g = program_new(n, m, k);
    fill_quadratic(&g, s, whole, pick(s, n + 1));
    for (size_t i = 0; i < n; i++)
        g.p[i] = entry(s, whole, 0.8);
    for (size_t i = 0; i < m * n; i++)
        g.a[i] = entry(s, whole, density);
    for (size_t i = 0; i < k * n; i++)
        g.e[i] = entry(s, whole, density);
    for (size_t i = 0; i < m; i++)
        g.c[i] = entry(s, whole, 0.7);
    for (size_t i = 0; i < k; i++)
        g.f[i] = entry(s, whole, 0.7);
    snprintf(g.words, sizeof g.words, "random, %s", whole ? "whole numbers" : "real");
    return g;
}

/* From an optimum: u, z >= 0, y are drawn, constraints are made to hold, p to make u stationary. */
static struct program backwards_program(uint64_t *s)
{
    struct program g = random_program(s);
    size_t n = g.qp.n, m = g.qp.n_inequalities, k = g.qp.n_equalities;
    bool whole = strstr(g.words, "whole") != NULL;
    double *u = get(n, sizeof *u), optimum = 0;
    for (size_t i = 0; i < n; i++)
        u[i] = entry(s, whole, 0.8);
    for (size_t i = 0; i < n; i++) {
        g.p[i] = 0;
        for (size_t j = 0; j < n; j++)
            g.p[i] -= g.q[i * n + j] * u[j];
    }
    for (size_t r = 0; r < m; r++) {
        double z = chance(s, 0.4) ? (whole ? (double)(1 + draw(s) % 3) : draw_unit(s)) : 0, sum = 0;
        double spare = z > 0 || chance(s, 0.2) ? 0 : whole ? (double)(1 + draw(s) % 4) : draw_unit(s);
        for (size_t i = 0; i < n; i++) {
            sum += g.a[r * n + i] * u[i];
            g.p[i] += g.a[r * n + i] * z;
        }
        g.c[r] = sum - spare;
    }
    for (size_t r = 0; r < k; r++) {
        double y = entry(s, whole, 0.7);
        g.f[r] = 0;
        for (size_t i = 0; i < n; i++) {
            g.f[r] += g.e[r * n + i] * u[i];
            g.p[i] += g.e[r * n + i] * y;
        }
    }
    for (size_t i = 0; i < n; i++) {
        optimum += g.p[i] * u[i];
        for (size_t j = 0; j < n; j++)
            optimum += u[i] * g.q[i * n + j] * u[j] / 2;
    }
    g.truth = SOLVABLE;
    g.optimum = optimum;
    snprintf(g.words, sizeof g.words, "backwards, %s", whole ? "whole numbers" : "real");
    return g;
}

/* A row that others forbid: minus the sum of two, or an equality that contradicts another. */
static struct program infeasible_program(uint64_t *s)
{
    struct program g = random_program(s);
    size_t n = g.qp.n, m = g.qp.n_inequalities, k = g.qp.n_equalities;
    if (m >= 2) {
        size_t other = m >= 3 ? m - 2 : 0;
        for (size_t i = 0; i < n; i++)
            g.a[(m - 1) * n + i] = -(g.a[i] + (other > 0 ? g.a[other * n + i] : 0));
        g.c[m - 1] = -(g.c[0] + (other > 0 ? g.c[other] : 0)) + 1;
        g.truth = INFEASIBLE;
    } else if (k >= 2) {
        for (size_t i = 0; i < n; i++)
            g.e[n + i] = -2 * g.e[i];
        g.f[1] = -2 * g.f[0] + 1;
        g.truth = INFEASIBLE;
    }
    snprintf(g.words + strlen(g.words), 40, g.truth == INFEASIBLE ? ", infeasible" : "");
    return g;
}

/* Feasible at u = 0, and falling along a direction that nothing forbids. */
static struct program unbounded_program(uint64_t *s)
{
    struct program g = random_program(s);
    size_t n = g.qp.n;
    double slope = 0;
    for (size_t i = 0; i < n; i++) /* the last variable is free of Q; every constraint likes more of it */
        g.q[i * n + n - 1] = g.q[(n - 1) * n + i] = 0;
    for (size_t r = 0; r < g.qp.n_inequalities; r++) {
        g.a[r * n + n - 1] = fabs(g.a[r * n + n - 1]);
        g.c[r] = -fabs(g.c[r]);
    }
    for (size_t r = 0; r < g.qp.n_equalities; r++)
        g.e[r * n + n - 1] = g.f[r] = 0;
    slope = 1 + fabs(entry(s, true, 1));
    g.p[n - 1] = -slope;
    g.truth = UNBOUNDED;
    snprintf(g.words + strlen(g.words), 40, ", unbounded");
    return g;
}

/* ---- The textbooks' ---------------------------------------------------------------------------------------------- */

struct points {
    size_t n, d;
    double *x, *y;
    bool separable, known;
};

static struct points draw_points(uint64_t *s)
{
    struct points t = { .n = 2 + pick(s, chance(s, 0.6) ? 6 : 38), .d = 1 + pick(s, 3), .known = true };
    bool whole = chance(s, 0.6);
    double margin = chance(s, 0.7) ? 0.2 + draw_unit(s) : 0, w[3], b = draw_normal(s);
    t.x = get(t.n * t.d, sizeof(double));
    t.y = get(t.n, sizeof(double));
    for (size_t c = 0; c < 3; c++)
        w[c] = 1 + draw_unit(s);
    for (size_t i = 0; i < t.n; i++)
        for (bool again = true; again;) { /* beyond the margin, where there is one */
            double f = b;
            for (size_t c = 0; c < t.d; c++) {
                t.x[i * t.d + c] = whole ? (double)(draw(s) % 11) - 5 : 2 * draw_normal(s);
                f += w[c] * t.x[i * t.d + c];
            }
            t.y[i] = margin > 0 ? (f > 0 ? 1 : -1) : draw(s) % 2 ? 1 : -1;
            again = fabs(f) < margin;
        }
    t.separable = margin > 0;
    t.known = margin > 0;
    return t;
}

static bool both_classes(const struct points *t)
{
    bool seen[2] = { false, false };
    for (size_t i = 0; i < t->n; i++)
        seen[t->y[i] > 0] = true;
    return seen[0] && seen[1];
}

/* min |w|^2 / 2 [+ C sum xi], y (<w, x> + b) >= 1 [- xi, xi >= 0]: u = (b, w[, xi]) */
static struct program primal_program(const struct points *t, double C)
{
    size_t d = t->d, n = 1 + d + (C > 0 ? t->n : 0), m = t->n * (C > 0 ? 2 : 1);
    struct program g = program_new(n, m, 0);
    for (size_t c = 1; c <= d; c++)
        g.q[c * n + c] = 1;
    for (size_t i = 0; i < t->n; i++) {
        g.a[i * n] = t->y[i];
        for (size_t c = 0; c < d; c++)
            g.a[i * n + 1 + c] = t->y[i] * t->x[i * d + c];
        g.c[i] = 1;
        if (C > 0) {
            g.a[i * n + 1 + d + i] = g.a[(t->n + i) * n + 1 + d + i] = 1;
            g.p[1 + d + i] = C;
        }
    }
    g.truth = t->known || C > 0 ? SOLVABLE : UNKNOWN;
    snprintf(g.words, sizeof g.words, "%s margin, primal, %zu points", C > 0 ? "soft" : "hard", t->n);
    return g;
}

/* min |sum alpha y x|^2 / 2 - sum alpha, y'alpha = 0 as two inequalities or an equality, alpha >= 0 [<= C] */
static struct program dual_program(const struct points *t, double C, bool as_pair)
{
    size_t n = t->n, first = as_pair ? 2 : 0, m = first + n * (C > 0 ? 2 : 1);
    struct program g = program_new(n, m, as_pair ? 0 : 1);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            for (size_t c = 0; c < t->d; c++)
                g.q[i * n + j] += t->y[i] * t->y[j] * t->x[i * t->d + c] * t->x[j * t->d + c];
        g.p[i] = -1;
        if (as_pair) {
            g.a[i] = t->y[i];
            g.a[n + i] = -t->y[i];
        } else
            g.e[i] = t->y[i];
        g.a[(first + i) * n + i] = 1;
        if (C > 0) {
            g.a[(first + n + i) * n + i] = -1;
            g.c[first + n + i] = -C;
        }
    }
    g.truth = t->known || C > 0 ? SOLVABLE : UNKNOWN;
    snprintf(g.words, sizeof g.words, "%s margin, dual%s, %zu points", C > 0 ? "soft" : "hard",
             as_pair ? " by a pair" : "", n);
    return g;
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

struct answer {
    double *u, *z, *y;
    hinge_qp_result r;
};

static void too_far(const char *what, double off, double size, const struct program *g)
{
    double allowed = 1e-7 * size;
    if (!(off <= allowed))
        finding(what, "off by %g, allowed %g (%s)", off, allowed, g->words);
}

/* What u lacks of its constraints, row by row; of a ray: the right-hand sides are 0. */
static void check_rows(const struct program *g, const double *u, const double *z, double times)
{
    size_t n = g->qp.n;
    double cost = 0; /* the objective's terms, which their products are as large as */
    for (size_t i = 0; i < n; i++)
        cost += fabs(g->p[i] * u[i]);
    for (size_t r = 0; r < g->qp.n_inequalities + g->qp.n_equalities; r++) {
        bool equal = r >= g->qp.n_inequalities;
        const double *row = equal ? g->e + (r - g->qp.n_inequalities) * n : g->a + r * n;
        double right = times * (equal ? g->f[r - g->qp.n_inequalities] : g->c[r]), largest = 0;
        long double sum = -right, size = 1 + fabs(right);
        for (size_t i = 0; i < n; i++) {
            sum += (long double)row[i] * u[i];
            size += fabs(row[i] * u[i]);
            largest = fmax(largest, fabs(row[i]));
        }
        too_far(equal ? "equality" : "inequality", (double)(equal ? fabsl(sum) : -sum), (double)(size + largest), g);
        if (!equal && z != NULL) {
            too_far("multiplier", -z[r], 1, g);
            too_far("complementarity", z[r] * fabs((double)sum),
                    fmax(cost, fabs(g->qp.n_inequalities + 1.0) * fmax(1, fabs(z[r])) * (double)size), g);
        }
    }
}

/* Q u + p - A'z - E'y, or its parts where q, p are left out. */
static void check_stationary(const struct program *g, const double *u, const struct answer *s, double times,
                             const char *what)
{
    size_t n = g->qp.n;
    for (size_t i = 0; i < n; i++) {
        long double sum = times * g->p[i], size = 1 + fabs(times * g->p[i]);
        for (size_t j = 0; u != NULL && j < n; j++) {
            sum += (long double)g->q[i * n + j] * u[j];
            size += fabs(g->q[i * n + j] * u[j]);
        }
        for (size_t r = 0; s != NULL && r < g->qp.n_inequalities; r++) {
            sum -= (long double)g->a[r * n + i] * s->z[r];
            size += fabs(g->a[r * n + i] * s->z[r]);
        }
        for (size_t r = 0; s != NULL && r < g->qp.n_equalities; r++) {
            sum -= (long double)g->e[r * n + i] * s->y[r];
            size += fabs(g->e[r * n + i] * s->y[r]);
        }
        too_far(what, (double)fabsl(sum), (double)size, g);
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (long double)a[i] * b[i];
    return (double)sum;
}

static void check_answer(const struct program *g, const struct answer *s)
{
    size_t n = g->qp.n, m = g->qp.n_inequalities, k = g->qp.n_equalities;
    double quadratic = 0;
    switch (s->r.outcome) {
    case HINGE_QP_SOLVED:
        check_rows(g, s->u, s->z, 1);
        check_stationary(g, s->u, s, 1, "stationarity");
        for (size_t i = 0; i < n; i++)
            quadratic += s->u[i] * dot(g->q + i * n, s->u, n) / 2;
        double linear = dot(g->p, s->u, n), primal = quadratic + linear;
        double dual = dot(g->c, s->z, m) + dot(g->f, s->y, k) - quadratic;
        double size = 1 + fabs(quadratic) + fabs(linear);
        too_far("primal", fabs(s->r.primal - primal), size, g);
        too_far("dual", fabs(s->r.dual - dual), size, g);
        too_far("gap", fabs(primal - dual), 1 + fabs(primal), g);
        if (!isnan(g->optimum))
            too_far("optimum", fabs(primal - g->optimum), 1 + fabs(g->optimum), g);
        break;
    case HINGE_QP_INFEASIBLE: {
        struct program no_objective = *g;
        no_objective.p = get(n, sizeof(double));
        check_stationary(&no_objective, NULL, s, 1, "proof of infeasibility");
        for (size_t r = 0; r < m; r++)
            too_far("proof of infeasibility: z", -s->z[r], 1, g);
        too_far("proof of infeasibility: value", fabs(dot(g->c, s->z, m) + dot(g->f, s->y, k) - 1), 1, g);
        break;
    }
    case HINGE_QP_UNBOUNDED:
        check_rows(g, s->u, NULL, 0);
        check_stationary(g, s->u, NULL, 0, "ray");
        too_far("ray: slope", fabs(dot(g->p, s->u, n) + 1), 1, g);
        break;
    default:
        finding("qp limit", "residual %g after %llu steps (%s)", s->r.residual, (unsigned long long)s->r.iterations,
                g->words);
    }
}

static struct answer solve(const struct program *g)
{
    static const char *const truths[] = { "unknown", "solvable", "infeasible", "unbounded" };
    struct answer s = { get(g->qp.n, sizeof(double)),
                        get(g->qp.n_inequalities, sizeof(double)),
                        get(g->qp.n_equalities, sizeof(double)),
                        { 0 } };
    s.r = (hinge_qp_result){ .u = s.u, .z = s.z, .y = s.y };
    phase("hinge_qp_solve");
    hinge_status status = hinge_qp_solve(&g->qp, &s.r, &err);
    phase("checks");
    tell("%s, %zu variables, %zu inequalities, %zu equalities, %s: %s, primal %.12g, dual %.12g, residual %g, %llu "
         "steps\n",
         g->words, g->qp.n, g->qp.n_inequalities, g->qp.n_equalities, truths[g->truth],
         status == HINGE_OK ? hinge_qp_outcome_text(s.r.outcome) : err.text, s.r.primal, s.r.dual, s.r.residual,
         (unsigned long long)s.r.iterations);
    if (status != HINGE_OK) {
        finding("qp refused", "%s (%s)", err.text, g->words);
        return s;
    }
    if ((g->truth == SOLVABLE && s.r.outcome != HINGE_QP_SOLVED) ||
        (g->truth == INFEASIBLE && s.r.outcome != HINGE_QP_INFEASIBLE && s.r.outcome != HINGE_QP_UNBOUNDED) ||
        (g->truth == UNBOUNDED && s.r.outcome != HINGE_QP_UNBOUNDED))
        finding("qp outcome", "%s, but it is %s (%s)", hinge_qp_outcome_text(s.r.outcome), truths[g->truth], g->words);
    check_answer(g, &s);
    return s;
}

/* Primal and dual of one set of points: both ends agree, and so do the two w. */
static void check_textbook(uint64_t *s)
{
    struct points t = draw_points(s);
    double C = chance(s, 0.5) ? 0 : power_between(s, -2, 3);
    struct program primal = primal_program(&t, C), dual = dual_program(&t, C, chance(s, 0.7));
    if (C == 0 && !both_classes(&t))
        primal.truth = SOLVABLE; /* w = 0; the dual is bounded too: alpha = 0 */
    struct answer a = solve(&primal), b = solve(&dual);
    if (a.r.outcome == HINGE_QP_SOLVED && b.r.outcome == HINGE_QP_SOLVED) {
        /* half the square of a distance from the optimal w is the gap at most */
        double size = 0, sum = 0, allowed = C == 0 && both_classes(&t) ? 1e-8 : sqrt(1e-8 * (1 + fabs(a.r.primal)));
        for (size_t c = 0; c < t.d; c++)
            size = fmax(size, fabs(a.u[1 + c]));
        for (size_t i = 0; i < t.n && C == 0; i++) /* alpha are rounded */
            sum += b.u[i];
        allowed = fmax(allowed, 1e-16 * sum);
        for (size_t c = 0; c < t.d; c++) {
            long double w = 0;
            for (size_t i = 0; i < t.n; i++)
                w += (long double)b.u[i] * t.y[i] * t.x[i * t.d + c];
            if (fabsl(w - a.u[1 + c]) > allowed * (1 + size))
                finding("qp w", "primal %.12g, dual %.12Lg, allowed %g (%s)", a.u[1 + c], w, allowed, dual.words);
        }
    }
    bool infeasible = a.r.outcome == HINGE_QP_INFEASIBLE, unbounded = b.r.outcome == HINGE_QP_UNBOUNDED;
    if (infeasible != unbounded && a.r.outcome != HINGE_QP_LIMIT && b.r.outcome != HINGE_QP_LIMIT)
        finding("qp duality", "primal %s, dual %s (%s)", hinge_qp_outcome_text(a.r.outcome),
                hinge_qp_outcome_text(b.r.outcome), dual.words);
}

void check_qp(uint64_t number)
{
    uint64_t seed = number ^ 0x5150, state = draw(&seed);
    for (int k = 0; k < 10; k++) { /* they are small */
        size_t kind = pick(&state, 8);
        if (kind < 4) {
            check_textbook(&state);
            continue;
        }
        struct program g = kind == 4   ? random_program(&state)
                           : kind == 5 ? backwards_program(&state)
                           : kind == 6 ? infeasible_program(&state)
                                       : unbounded_program(&state);
        solve(&g);
    }
}
