/* General convex QPs: problems built backwards from a known optimum; the hard margin three ways; proofs checked. */
#include "test/support.h"

#include <hinge/qp.h>

/* ---- plain loops ------------------------------------------------------------------------------------------------- */

static double *zeros(size_t n)
{
    return get(n, sizeof(double));
}

/* out = M x, M [rows * cols] */
static void multiply(const double *m, size_t rows, size_t cols, const double *x, double *out)
{
    for (size_t i = 0; i < rows; i++) {
        out[i] = 0;
        for (size_t j = 0; j < cols; j++)
            out[i] += m[i * cols + j] * x[j];
    }
}

/* out -= M'x */
static void take_off(const double *m, size_t rows, size_t cols, const double *x, double *out)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            out[j] -= m[i * cols + j] * x[i];
}

static double dot(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += x[k] * y[k];
    return sum;
}

struct answer {
    hinge_qp_result r;
    double *u, *z, *y;
};

static struct answer solve(const hinge_qp *qp)
{
    struct answer a = { .u = zeros(qp->n), .z = zeros(qp->n_inequalities), .y = zeros(qp->n_equalities) };
    a.r.u = a.u, a.r.z = a.z, a.r.y = a.y;
    assert_ok(hinge_qp_solve(qp, &a.r, &err));
    return a;
}

/* The KKT conditions and both objectives, from the problem and u, z, y alone. */
static void check_optimal(const hinge_qp *qp, const struct answer *a, double tolerance)
{
    size_t n = qp->n, m = qp->n_inequalities, e = qp->n_equalities;
    double *qu = zeros(n), *gradient = zeros(n), *au = zeros(m), *eu = zeros(e);
    assert_int_equal(a->r.outcome, HINGE_QP_SOLVED);
    if (qp->q != NULL)
        multiply(qp->q, n, n, a->u, qu);
    for (size_t k = 0; k < n; k++)
        gradient[k] = qu[k] + (qp->p != NULL ? qp->p[k] : 0);
    take_off(qp->a, m, n, a->z, gradient);
    take_off(qp->e, e, n, a->y, gradient);
    for (size_t k = 0; k < n; k++)
        assert_near(gradient[k], 0, tolerance);
    multiply(qp->a, m, n, a->u, au);
    for (size_t k = 0; k < m; k++) {
        assert_true(au[k] >= qp->c[k] - tolerance && a->z[k] >= -tolerance);
        assert_near(a->z[k] * (au[k] - qp->c[k]), 0, tolerance);
    }
    multiply(qp->e, e, n, a->u, eu);
    for (size_t k = 0; k < e; k++)
        assert_near(eu[k], qp->f[k], tolerance);
    double primal = dot(a->u, qu, n) / 2 + (qp->p != NULL ? dot(qp->p, a->u, n) : 0);
    double dual = dot(qp->c, a->z, m) + dot(qp->f, a->y, e) - dot(a->u, qu, n) / 2;
    assert_near(a->r.primal, primal, 1e-10 * (1 + fabs(primal)));
    assert_near(a->r.dual, dual, 1e-10 * (1 + fabs(dual)));
    assert_near(primal, dual, tolerance * (1 + fabs(primal)));
}

/* ---- backwards from the optimum ---------------------------------------------------------------------------------- */

/* Q of the given rank, u, z >= 0 (a third of the rows active) and y drawn; p, c, f such that they are optimal. */
static void built_backwards(size_t n, size_t m, size_t e, size_t rank, uint64_t seed, double scale)
{
    double *b = zeros(rank * n), *q = zeros(n * n), *a = zeros(m * n), *eq = zeros(e * n), *p = zeros(n), *c = zeros(m),
           *f = zeros(e), *u = zeros(n), *z = zeros(m), *y = zeros(e), *column = zeros(n);
    for (size_t k = 0; k < n; k++) {
        column[k] = pow(scale, draw_unit(&seed) * 2 - 1); /* features of different size */
        u[k] = draw_normal(&seed) / column[k];
    }
    for (size_t k = 0; k < rank * n; k++)
        b[k] = draw_normal(&seed) * column[k % n];
    for (size_t k = 0; k < m * n; k++)
        a[k] = draw_normal(&seed) * column[k % n];
    for (size_t k = 0; k < e * n; k++)
        eq[k] = draw_normal(&seed) * column[k % n];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < rank; k++)
                q[i * n + j] += b[k * n + i] * b[k * n + j];
    multiply(q, n, n, u, p);
    for (size_t k = 0; k < n; k++)
        p[k] = -p[k];
    multiply(a, m, n, u, c);
    multiply(eq, e, n, u, f);
    for (size_t k = 0; k < m; k++) {
        bool active = k % 3 == 0;
        z[k] = active ? 0.5 + draw_unit(&seed) : 0;
        c[k] -= active ? 0 : 0.5 + draw_unit(&seed);
    }
    for (size_t k = 0; k < e; k++)
        y[k] = -draw_normal(&seed);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            p[j] += a[i * n + j] * z[i];
    for (size_t i = 0; i < e; i++)
        for (size_t j = 0; j < n; j++)
            p[j] += eq[i * n + j] * y[i];
    double *qu = zeros(n);
    multiply(q, n, n, u, qu);
    double optimum = dot(u, qu, n) / 2 + dot(p, u, n);
    hinge_qp qp = { .n = n, .q = q, .p = p, .n_inequalities = m, .a = a, .c = c, .n_equalities = e, .e = eq, .f = f };
    struct answer got = solve(&qp);
    check_optimal(&qp, &got, 1e-6 * scale);
    assert_near(got.r.primal, optimum, 1e-8 * (1 + fabs(optimum)));
    for (size_t k = 0; k < n && rank >= n; k++)
        assert_near(got.u[k] * column[k], u[k] * column[k], 1e-6);
}

TEST(known_optimum)
{
    for (uint64_t t = 0; t < 12; t++) {
        built_backwards(1 + 3 * t, 2 + 5 * t, t % 4 == 0 ? 0 : (1 + 3 * t) / 4, 1 + 3 * t, 70 + t, 1);
        built_backwards(5 + 3 * t, 40 + 5 * t, t % 3, 2 + t, 80 + t, 1); /* Q singular */
        built_backwards(4 + 2 * t, 30 + 5 * t, t % 3, 4 + 2 * t, 90 + t, 30);
    }
    built_backwards(60, 40, 10, 60, 7, 1);
    built_backwards(30, 0, 7, 30, 8, 1); /* equalities alone, */
    built_backwards(25, 0, 0, 25, 9, 1); /* and nothing at all */
}

/* min x + y, x + 2 y >= 2, x, y >= 0: (0, 1). The same twice over: equalities that depend on each other. */
TEST(linear_program)
{
    double p[] = { 1, 1 }, a[] = { 1, 2, 1, 0, 0, 1 }, c[] = { 2, 0, 0 };
    hinge_qp qp = { .n = 2, .p = p, .n_inequalities = 3, .a = a, .c = c };
    struct answer x = solve(&qp);
    check_optimal(&qp, &x, 1e-8);
    assert_near(x.u[0], 0, 1e-8);
    assert_near(x.u[1], 1, 1e-8);
    assert_near(x.z[0], 0.5, 1e-8);
    double e[] = { 1, 1, 2, 2, -1, -1 }, f[] = { 3, 6, -3 }, p2[] = { 1, 2 };
    qp = (hinge_qp){ .n = 2, .p = p2, .n_inequalities = 2, .a = a + 2, .c = c + 1, .n_equalities = 3, .e = e, .f = f };
    x = solve(&qp);
    check_optimal(&qp, &x, 1e-7);
    assert_near(x.u[0], 3, 1e-7);
    assert_near(x.r.primal, 3, 1e-8);
}

/* ---- proofs ------------------------------------------------------------------------------------------------------ */

/* A'z + E'y = 0, z >= 0, c'z + f'y = 1: with A u >= c, E u = f that is 0 >= 1. */
static void check_infeasible(const hinge_qp *qp, const struct answer *a, double tolerance)
{
    double *left = zeros(qp->n);
    assert_int_equal(a->r.outcome, HINGE_QP_INFEASIBLE);
    assert_true(isinf(a->r.primal) && a->r.primal > 0);
    take_off(qp->a, qp->n_inequalities, qp->n, a->z, left);
    take_off(qp->e, qp->n_equalities, qp->n, a->y, left);
    for (size_t k = 0; k < qp->n; k++)
        assert_near(left[k], 0, tolerance);
    for (size_t k = 0; k < qp->n_inequalities; k++)
        assert_true(a->z[k] >= 0);
    assert_near(dot(qp->c, a->z, qp->n_inequalities) + dot(qp->f, a->y, qp->n_equalities), 1, 1e-9);
}

static void check_unbounded(const hinge_qp *qp, const struct answer *a, double tolerance)
{
    double *product = zeros(qp->n + qp->n_inequalities + qp->n_equalities);
    assert_int_equal(a->r.outcome, HINGE_QP_UNBOUNDED);
    assert_true(isinf(a->r.primal) && a->r.primal < 0);
    assert_near(dot(qp->p, a->u, qp->n), -1, 1e-9);
    if (qp->q != NULL)
        multiply(qp->q, qp->n, qp->n, a->u, product);
    for (size_t k = 0; k < qp->n; k++)
        assert_near(product[k], 0, tolerance);
    multiply(qp->a, qp->n_inequalities, qp->n, a->u, product);
    for (size_t k = 0; k < qp->n_inequalities; k++)
        assert_true(product[k] >= -tolerance);
    multiply(qp->e, qp->n_equalities, qp->n, a->u, product);
    for (size_t k = 0; k < qp->n_equalities; k++)
        assert_near(product[k], 0, tolerance);
}

TEST(proofs)
{
    double up[] = { 1, -1 }, c[] = { 1, 0 }, p = -1, one = 1;
    hinge_qp qp = { .n = 1, .q = &one, .n_inequalities = 2, .a = up, .c = c }; /* x >= 1 and -x >= 0 */
    struct answer x = solve(&qp);
    check_infeasible(&qp, &x, 1e-8);
    qp = (hinge_qp){ .n = 1, .p = &p, .n_inequalities = 1, .a = up, .c = c }; /* min -x, x >= 1 */
    x = solve(&qp);
    check_unbounded(&qp, &x, 1e-8);
    /* min x^2 - y, y = 2 z, z >= 0: falls along (0, 2, 1) */
    double q3[] = { 2, 0, 0, 0, 0, 0, 0, 0, 0 }, p3[] = { 0, -1, 0 }, a3[] = { 0, 0, 1 }, e3[] = { 0, 1, -2 }, zero = 0;
    qp = (hinge_qp){
        .n = 3, .q = q3, .p = p3, .n_inequalities = 1, .a = a3, .c = &zero, .n_equalities = 1, .e = e3, .f = &zero
    };
    x = solve(&qp);
    check_unbounded(&qp, &x, 1e-8);
    assert_near(x.u[1], 1, 1e-7);
    assert_near(x.u[2], 0.5, 1e-7);
    double e2[] = { 1, 1, 1, 1 }, f2[] = { 1, 2 }; /* equalities that contradict each other */
    qp = (hinge_qp){ .n = 2, .n_equalities = 2, .e = e2, .f = f2 };
    x = solve(&qp);
    check_infeasible(&qp, &x, 1e-8);
    double q1 = 4, a1 = -1, e1[] = { 1, -2 }, f1[] = { -2, 0 };
    qp = (hinge_qp){ .n = 1, .q = &q1, .n_inequalities = 1, .a = &a1, .c = &zero, .n_equalities = 2, .e = e1, .f = f1 };
    x = solve(&qp);
    check_infeasible(&qp, &x, 1e-8);
}

/* What contradicts itself does so however small Q is beside p, which asks for u = -p / Q: x >= 1 and -x >= 0, and x +
 * 2y >= 1, 2x + y >= 1, -x - y >= -1/2. With -1 for -1/2 the optimum is (1/3, 1/3). */
TEST(small_objective)
{
    for (int k = 0; k <= 14; k++) {
        double small = pow(10, -k), one[] = { 1, -1 }, c[] = { 1, 0 }, p[] = { 1, 1.5 };
        double q[] = { small, 0, 0, small }, a[] = { 1, 2, 2, 1, -1, -1 }, c3[] = { 1, 1, -0.5 };
        hinge_qp qp = { .n = 1, .q = q, .p = p, .n_inequalities = 2, .a = one, .c = c };
        struct answer x = solve(&qp);
        check_infeasible(&qp, &x, 1e-8);
        qp = (hinge_qp){ .n = 2, .q = q, .p = p, .n_inequalities = 3, .a = a, .c = c3 };
        x = solve(&qp);
        check_infeasible(&qp, &x, 1e-8);
        c3[2] = -1;
        x = solve(&qp);
        check_optimal(&qp, &x, 1e-8);
        assert_near(x.u[0], 1.0 / 3, 1e-8);
        assert_near(x.u[1], 1.0 / 3, 1e-8);
    }
}

/* Q of rank 1 and one row leave two directions in which nothing changes, along which interior points go to 1e6: what is
 * told is a solution near 0. The program was built backwards from its optimum. */
TEST(far_along_what_is_flat)
{
    double q[] = { 0.17618243013003235,   0.40611362272573803,  -0.045573969512667858, -0.30239582438791179,
                   0.40611362272573803,   0.93612214590125087,  -0.10505139387123791,  -0.69704489629682465,
                   -0.045573969512667858, -0.10505139387123791, 0.011788841234671632,  0.07822220451404456,
                   -0.30239582438791179,  -0.69704489629682465, 0.07822220451404456,   0.51902584463022017 };
    double a[] = { 0,
                   0.83924540071902909,
                   -0.53217844126508906,
                   -0.28379670379055166,
                   0.17568467880969063,
                   1.1509696448913505,
                   0.83746699630361021,
                   -0.90851345454641519,
                   0,
                   -0.63672960917056531,
                   -0.35429837939755893,
                   0.20074480201493161,
                   0.51850268275944988,
                   0.64257967362494706,
                   -0.4415145376757672,
                   -0.53212447922165129 };
    double p[] = { -0.14361602274725965, -0.60911682086577135, -0.11752871479502029, 0.4265552543094232 };
    double c[] = { -0.59434415409114716, 1.3297254658522046, -1.1126417109878668, 0.23276479749622569 };
    hinge_qp qp = { .n = 4, .q = q, .p = p, .n_inequalities = 4, .a = a, .c = c };
    struct answer x = solve(&qp);
    check_optimal(&qp, &x, 1e-9);
    assert_near(x.r.primal, -0.34728103431788, 1e-12);
    for (size_t k = 0; k < 4; k++)
        assert_true(fabs(x.u[k]) < 10);
}

/* Two rows that all but contradict each other take u to 1 over what is between them, and z to its square. A limit is
 * told of them only where what is lacking, by plain loops, is more than rounding of the terms that add up to it. */
TEST(nearly_contradicting)
{
    enum { N = 10, M = 6 };
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        uint64_t state = seed;
        double q[N * N] = { 0 }, a[M * N], c[M], between = pow(10, -5 + 3 * draw_unit(&state));
        double slope[N], au[M], rows = 0, slopes = 0, terms = 0, most_u = 0, most_z = 0;
        for (size_t k = 0; k < N; k++)
            q[k * (N + 1)] = 0.5 + draw_unit(&state);
        for (size_t k = 0; k < M * N; k++)
            a[k] = draw_normal(&state);
        for (size_t k = 0; k < N; k++)
            a[N + k] = between * a[N + k] - a[k];
        for (size_t k = 0; k < M; k++)
            c[k] = k < 2 ? 1 : -draw_unit(&state);
        hinge_qp qp = { .n = N, .q = q, .n_inequalities = M, .a = a, .c = c };
        struct answer x = solve(&qp);
        multiply(q, N, N, x.u, slope);
        take_off(a, M, N, x.z, slope);
        multiply(a, M, N, x.u, au);
        for (size_t k = 0; k < N; k++) {
            slopes = fmax(slopes, fabs(slope[k]));
            most_u = fmax(most_u, fabs(x.u[k]));
            for (size_t i = 0; i < M; i++)
                terms += fabs(x.z[i] * a[i * N + k] * x.u[k]);
        }
        for (size_t k = 0; k < M; k++) {
            rows = fmax(rows, c[k] - au[k]);
            most_z = fmax(most_z, x.z[k]);
        }
        bool near = rows <= 2e-15 * most_u && slopes <= 2e-15 * most_z && fabs(x.r.primal - x.r.dual) <= 2e-15 * terms;
        if (near && x.r.outcome != HINGE_QP_SOLVED)
            fail_msg("seed %llu: %s, residual %g", (unsigned long long)seed, hinge_qp_outcome_text(x.r.outcome),
                     x.r.residual);
    }
}

/* ---- the hard margin, three ways --------------------------------------------------------------------------------- */

/* u = (b; w), Q = diag(0, I), rows y (1, x'), c = 1 */
static hinge_qp primal_problem(const struct set *s)
{
    size_t n = s->d + 1;
    double *q = zeros(n * n), *a = zeros(s->n * n), *c = zeros(s->n);
    for (size_t k = 1; k < n; k++)
        q[k * n + k] = 1;
    for (size_t i = 0; i < s->n; i++) {
        c[i] = 1;
        a[i * n] = s->y[i];
        for (size_t k = 0; k < s->d; k++)
            a[i * n + 1 + k] = s->y[i] * s->x[i * s->d + k];
    }
    return (hinge_qp){ .n = n, .q = q, .n_inequalities = s->n, .a = a, .c = c };
}

/* min 1/2 a'Q_D a - 1'a, y'a = 0, a >= 0, Q_D = y y' K */
static hinge_qp dual_problem(const struct set *s, const hinge_kernel *kernel)
{
    size_t n = s->n;
    double *q = plain_gram(kernel, s, s), *p = zeros(n), *a = zeros(n * n), *c = zeros(n), *f = zeros(1);
    for (size_t i = 0; i < n; i++) {
        p[i] = -1;
        a[i * n + i] = 1;
        for (size_t j = 0; j < n; j++)
            q[i * n + j] *= s->y[i] * s->y[j];
    }
    return (
        hinge_qp){ .n = n, .q = q, .p = p, .n_inequalities = n, .a = a, .c = c, .n_equalities = 1, .e = s->y, .f = f };
}

/* Two clouds, moved apart by `margin` along a direction. */
static struct set separable(uint64_t seed, size_t n, size_t d, double margin, double scale)
{
    struct set s = set_new(n, d);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < d; k++)
            sum += s.x[i * d + k] = draw_normal(&seed);
        s.y[i] = i == 0 ? 1 : i == 1 ? -1 : sum > 0 ? 1 : -1;
        for (size_t k = 0; k < d; k++)
            s.x[i * d + k] = scale * (s.x[i * d + k] + s.y[i] * (fabs(sum) + margin) / (double)d);
    }
    return s;
}

static hinge_params hard(hinge_kernel kernel)
{
    hinge_params p = hinge_params_default(HINGE_C_SVC);
    p.kernel = kernel;
    p.C = INFINITY;
    return p;
}

TEST(linear_three_ways)
{
    hinge_kernel linear = hinge_kernel_linear();
    for (uint64_t t = 0; t < 10; t++) {
        struct set s = separable(40 + t, 8 + 9 * t, 1 + t % 7, 0.2, t % 3 == 2 ? 20 : 1);
        hinge_qp primal = primal_problem(&s), dual = dual_problem(&s, &linear);
        struct answer p = solve(&primal), a = solve(&dual);
        check_optimal(&primal, &p, 1e-7);
        check_optimal(&dual, &a, 1e-7);
        assert_near(p.r.primal, -a.r.primal, 1e-8 * (1 + p.r.primal)); /* strong duality */
        hinge_params params = hard(linear);
        hinge_report report;
        hinge_model *model = converged(&s, &params, &report);
        double w[8], sign = s.y[0]; /* the class that comes first is positive */
        assert_int_equal(hinge_model_weights(model, 0, w, NULL), HINGE_OK);
        sign = hinge_model_labels(model)[0];
        double least = INFINITY;
        for (size_t k = 0; k < s.d; k++) {
            double from_dual = 0;
            for (size_t i = 0; i < s.n; i++)
                from_dual += a.u[i] * s.y[i] * s.x[i * s.d + k];
            assert_near(from_dual, p.u[1 + k], 1e-8);
            assert_near(sign * w[k], p.u[1 + k], 1e-8);
        }
        assert_near(-a.y[0], p.u[0], 1e-8); /* b is the multiplier of y'a = 0 */
        assert_near(-sign * hinge_model_rho(model)[0], p.u[0], 1e-8);
        for (size_t i = 0; i < s.n; i++)
            least = fmin(least, s.y[i] * (p.u[0] + dot(p.u + 1, s.x + i * s.d, s.d)));
        assert_near(least, 1, 1e-8);
        assert_near(report.objective, -p.r.primal, 1e-7 * (1 + p.r.primal));
    }
}

/* Linear regression whose tube is hard, as a QP in w and b: 1/2 |w|^2, all targets within p. Where that has a solution
 * it is the training's, by each solver; where it is proved to have none, a coefficient comes to the bound. */
TEST(hard_tube)
{
    int feasible = 0, infeasible = 0;
    for (uint64_t t = 0; t < 60; t++) {
        uint64_t random = t;
        size_t d = 1 + draw(&random) % 4, n = d + 1 + draw(&random) % 8;
        struct set set = set_regression(t, n, d);
        double half = 0.02 + draw_unit(&random);
        double *q = zeros((d + 1) * (d + 1)), *a = zeros(2 * n * (d + 1)), *c = zeros(2 * n);
        for (size_t k = 0; k < d; k++)
            q[k * (d + 1) + k] = 1;
        for (size_t i = 0; i < 2 * n; i++) {
            double sign = i < n ? 1 : -1;
            for (size_t k = 0; k < d; k++)
                a[i * (d + 1) + k] = sign * set.x[i % n * d + k];
            a[i * (d + 1) + d] = sign;
            c[i] = sign * set.y[i % n] - half;
        }
        hinge_qp qp = { .n = d + 1, .q = q, .n_inequalities = 2 * n, .a = a, .c = c };
        struct answer got = solve(&qp);
        assert_true(got.r.outcome == HINGE_QP_SOLVED || got.r.outcome == HINGE_QP_INFEASIBLE);
        feasible += got.r.outcome == HINGE_QP_SOLVED;
        infeasible += got.r.outcome == HINGE_QP_INFEASIBLE;
        for (hinge_solver solver = HINGE_SOLVER_AUTO; solver <= HINGE_SOLVER_INTERIOR_POINT; solver++) {
            hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_linear(), INFINITY);
            hinge_report report;
            bool by_gap = solver == HINGE_SOLVER_INTERIOR_POINT; /* relative to sums of terms of 1e10 */
            params.p = half;
            params.eps = 1e-4;
            params.solver = solver;
            hinge_model *model = fit(&set, &params, &report);
            if (got.r.outcome == HINGE_QP_INFEASIBLE) {
                assert_true(report.outcome == HINGE_NO_MARGIN || (by_gap && report.outcome == HINGE_STALLED));
                continue;
            }
            assert_true(report.outcome == HINGE_CONVERGED || (by_gap && report.violation <= params.eps));
            assert_near(-report.objective, got.r.primal, 1e-4 * (1 + got.r.primal));
            double *f = zeros(n);
            assert_ok(hinge_predict(model, &(hinge_matrix){ set.x, HINGE_F64, n, d, d }, NULL, f, NULL, &err));
            for (size_t i = 0; i < n; i++)
                assert_true(fabs(f[i] - set.y[i]) <= half + 1e-4);
        }
    }
    assert_true(feasible > 10 && infeasible > 10);
}

TEST(inseparable)
{
    hinge_kernel linear = hinge_kernel_linear();
    for (uint64_t t = 0; t < 6; t++) {
        struct set s = separable(50 + t, 20 + 12 * t, 1 + t % 5, 0.2, 1);
        if (t % 2 == 0) { /* one label is wrong: the point of a class deepest inside the other */
            memcpy(s.x + 2 * s.d, s.x + 3 * s.d, s.d * sizeof *s.x);
            s.y[2] = -s.y[3];
        } else {
            for (size_t i = 0; i < s.n; i++)
                s.y[i] = i % 2 == 0 ? 1 : -1;
        }
        hinge_qp primal = primal_problem(&s), dual = dual_problem(&s, &linear);
        struct answer p = solve(&primal), a = solve(&dual);
        check_infeasible(&primal, &p, 1e-7);
        check_unbounded(&dual, &a, 1e-7);
        hinge_params params = hard(linear);
        hinge_report report;
        fit(&s, &params, &report);
        assert_int_equal(report.outcome, HINGE_NO_MARGIN);
        assert_non_null(strstr(report.path, "no margin above"));
        assert_int_equal(report.n_sv, 0);
    }
}

/* One point of both classes, of more features than rows: the factor's rows of it differ by their roundings, between
 * which a hyperplane lies. */
TEST(inseparable_by_one_point)
{
    for (uint64_t t = 0; t < 40; t++) {
        struct set s = set_new(2 + t % 4, 3 + t);
        uint64_t seed = 690000 + t;
        for (size_t i = 0; i < s.n * s.d; i++)
            s.x[i] = i < s.d ? draw_normal(&seed) : s.x[i - s.d];
        for (size_t i = 0; i < s.n; i++)
            s.y[i] = i % 2 == 0 ? 1 : -1;
        for (int no_bias = 0; no_bias < 2; no_bias++) {
            hinge_params params = hard(hinge_kernel_linear());
            hinge_report report;
            params.no_bias = no_bias;
            hinge_model *model = fit(&s, &params, &report);
            assert_int_equal(report.outcome, HINGE_NO_MARGIN);
            assert_non_null(strstr(report.path, "no margin above"));
            assert_true(report.n_sv == 0 && hinge_model_rho(model)[0] == 0);
        }
    }
}

/* Points of both classes that differ by their last digits in f32, beside two that are equal: between them coefficients
 * may grow beyond all numbers. What is told is finite, or that there is no margin. */
TEST(next_to_no_margin)
{
    for (uint64_t t = 0; t < 400; t++) {
        struct set s = set_new(15, 4);
        uint64_t seed = 700000 + t;
        for (size_t i = 0; i < s.n * s.d; i++)
            s.x[i] = draw(&seed) % 2 == 0 ? 1000 : -1000;
        for (size_t i = 0; i < s.n; i++)
            s.y[i] = i % 2 == 0 ? 1 : -1;
        for (size_t c = 0; c < 3 * s.d; c++)
            s.x[c] += 0x1p-14 * (double)(draw(&seed) % 3);
        hinge_params params = hard(hinge_kernel_linear());
        hinge_report report;
        hinge_model *model = fit(&s, &params, &report);
        if (report.outcome == HINGE_NO_MARGIN)
            continue;
        assert_true(isfinite(report.objective) && isfinite(report.violation));
        assert_true(isfinite(hinge_model_rho(model)[0]));
    }
}

static struct set xor_set(void)
{
    struct set s = set_new(4, 2);
    const double x[] = { 1, 1, -1, -1, 1, -1, -1, 1 }, y[] = { 1, 1, -1, -1 };
    memcpy(s.x, x, sizeof x);
    memcpy(s.y, y, sizeof y);
    return s;
}

static struct set rings(void)
{
    struct set s = set_new(60, 2);
    for (size_t i = 0; i < s.n; i++) {
        double angle = 2.4 * (double)i, radius = i % 2 == 0 ? 1 : 2;
        s.x[2 * i] = radius * cos(angle) + 0.3;
        s.x[2 * i + 1] = radius * sin(angle);
        s.y[i] = i % 2 == 0 ? 1 : -1;
    }
    return s;
}

/* By the dual QP, and by hinge itself on a factor of full rank. */
TEST(kernels)
{
    const hinge_kernel kernel[] = { hinge_kernel_rbf(1), hinge_kernel_polynomial(2, 1, 1) };
    for (size_t t = 0; t < 4; t++) {
        struct set s = t < 2 ? xor_set() : rings();
        hinge_qp dual = dual_problem(&s, &kernel[t % 2]);
        struct answer a = solve(&dual);
        check_optimal(&dual, &a, 1e-7);
        hinge_params params = hard(kernel[t % 2]);
        hinge_report report;
        hinge_model *model = converged(&s, &params, &report);
        assert_true(report.trace_error <= 1e-12);
        double *f = fit_decisions(model, &s, HINGE_PRECISION_F64), *gram = plain_gram(&kernel[t % 2], &s, &s);
        assert_true(hinge_model_labels(model)[0] == 1);
        double least = INFINITY;
        for (size_t i = 0; i < s.n; i++) {
            double g = -a.y[0];
            for (size_t j = 0; j < s.n; j++)
                g += a.u[j] * s.y[j] * gram[i * s.n + j];
            assert_near(f[i], g, 1e-7);
            assert_true(s.y[i] * g > 0); /* no training error */
            least = fmin(least, s.y[i] * g);
        }
        assert_near(least, 1, 1e-8);
        assert_near(report.objective, a.r.primal, 1e-8 * (1 + fabs(a.r.primal)));
        if (t == 1) /* by hand: a = 1/8, w'w = 1/2 */
            for (size_t i = 0; i < 4; i++)
                assert_near(a.u[i], 0.125, 1e-8);
    }
}

/* The dual of four points as a textbook prints it, A = [y'; -y'; I], c = 0, and with y'a = 0: the same optimum. What
 * is drawn at random, and small programs of whole numbers, are for trials_qp.c. */
TEST(textbook_dual)
{
    struct set four = set_new(4, 2);
    const double x[] = { 3, 2, 1, 3, 2, 3, 3, 1 }, y[] = { 1, -1, -1, 1 };
    memcpy(four.x, x, sizeof x);
    memcpy(four.y, y, sizeof y);
    hinge_kernel linear = hinge_kernel_linear();
    hinge_qp dual = dual_problem(&four, &linear), printed = dual;
    double a[24] = { 0 }, c[6] = { 0 };
    for (size_t j = 0; j < 4; j++) {
        a[j] = y[j];
        a[4 + j] = -y[j];
        a[(j + 2) * 4 + j] = 1;
    }
    printed.n_inequalities = 6, printed.a = a, printed.c = c;
    printed.n_equalities = 0, printed.e = printed.f = NULL;
    struct answer one = solve(&printed), other = solve(&dual);
    check_optimal(&printed, &one, 1e-7);
    check_optimal(&dual, &other, 1e-7);
    assert_near(one.r.primal, other.r.primal, 1e-9 * (1 + fabs(other.r.primal)));
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void refused(const hinge_qp *qp, const char *words)
{
    hinge_qp_result r = { .iterations = 77 };
    assert_int_equal(hinge_qp_solve(qp, &r, &err), HINGE_EINVAL);
    assert_says(err.text, words);
    assert_int_equal(r.iterations, 77);
}

TEST(refusals)
{
    double q[] = { 1, 0, 0, 1 }, bad[] = { 1, 0, NAN, 1 }, skew[] = { 1, 0.5, 0, 1 }, saddle[] = { 1, 0, 0, -1 };
    double indefinite[] = { 1, 2, 2, 1 }, c = 0;
    hinge_qp good = { .n = 2, .q = q }, qp = good;
    struct answer x = solve(&good);
    check_optimal(&good, &x, 1e-10);
    qp.q = bad, refused(&qp, "q[2]: nan");
    qp.q = skew, refused(&qp, "not symmetric");
    qp.q = saddle, refused(&qp, "not positive semi-definite");
    qp.q = indefinite, refused(&qp, "not positive semi-definite");
    qp = good, qp.n = 0, refused(&qp, "no variables");
    qp = good, qp.n_inequalities = 1, refused(&qp, "a: NULL");
    qp.a = q, refused(&qp, "c: NULL");
    qp = good, qp.n_equalities = 1, qp.e = q, refused(&qp, "f: NULL");
    qp = good, qp.eps = -1, refused(&qp, "eps: -1");
    qp = good, qp.eps = NAN, refused(&qp, "eps: nan");
    assert_int_equal(hinge_qp_solve(NULL, NULL, NULL), HINGE_EINVAL);
    qp = (hinge_qp){ .n = 2, .q = q, .n_inequalities = 1, .a = q, .c = &c, .max_iter = 1 };
    double p[] = { -1, 3 }; /* one iteration may be enough; what is said of it is true */
    qp.p = p;
    x = solve(&qp);
    assert_int_equal(x.r.iterations, 1);
    check_optimal(&qp, &x, 1e-8);
    struct set clouds = separable(47, 60, 5, 0.2, 1);
    qp = primal_problem(&clouds);
    qp.max_iter = 1;
    x = solve(&qp);
    assert_int_equal(x.r.outcome, HINGE_QP_LIMIT);
    assert_true(x.r.residual > 1e-10 && isfinite(x.r.residual) && isfinite(x.r.primal));
    assert_string_equal(hinge_qp_outcome_text(HINGE_QP_UNBOUNDED), "unbounded");
    assert_string_equal(hinge_qp_outcome_text((hinge_qp_outcome)9), "unknown outcome");
}
