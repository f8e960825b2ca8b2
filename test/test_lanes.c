/*
 * Interior points in lockstep (solver/ipm/lanes.h): what each lane comes to, by plain loops over its state, at every
 * level and for each kind of problem; that no lane's bits depend on others; what does not fit lanes; and trainings of
 * many targets by it, beside a training of each and for any number of threads.
 */
#include "solver/ipm/interior.h"
#include "test/support.h"

#include <hinge/io.h>
#include <math.h>

enum { N = 300, D = 20, FAR = 2 }; /* rows, columns, and one that is far from 0 */

struct matrix {
    struct hg_factor super;
    double x[N * D];
};

static void rows_of(const struct hg_factor *factor, size_t first, size_t count, double *out, size_t ld)
{
    const struct matrix *m = (const struct matrix *)factor;
    for (size_t k = 0; k < count; k++)
        memcpy(out + k * ld, m->x + (first + k) * D, D * sizeof *out);
}

static struct matrix *drawn_rows(uint64_t seed)
{
    struct matrix *m = get(1, sizeof *m);
    m->super = (struct hg_factor){ N, D, rows_of };
    for (size_t k = 0; k < N * D; k++)
        m->x[k] = draw_normal(&seed) * (k % D == 0 ? 10 : 1) + (k % D == FAR ? 100 : 0);
    return m;
}

/* The kinds of problems: with a kink, without a bias, of two layers, of signs. */
enum kind { KINK, NO_SUM, LAYERS, SIGNS, KINDS };

static void free_qp(void *qp)
{
    hg_qp_free(qp);
}

static struct hg_qp *drawn_problem(const struct matrix *m, enum kind kind, uint64_t seed, double *sums)
{
    struct hg_qp *qp = get(1, sizeof *qp);
    assert_int_equal(hg_qp_init(qp, N, kind == LAYERS ? 2 : 1, NULL), HINGE_OK);
    at_end(free_qp, qp);
    qp->no_sum = kind == NO_SUM;
    qp->kink = kind == KINK || kind == NO_SUM ? 0.2 : 0;
    sums[0] = kind == LAYERS ? 0.1 * N : 0;
    sums[1] = -sums[0];
    for (size_t i = 0; i < N; i++) {
        double y = 0, C = draw_unit(&seed) < 0.1 ? 0 : 0.2 + draw_unit(&seed);
        for (size_t c = 0; c < D; c++)
            y += m->x[i * D + c] * (c % 2 ? 0.3 : -0.2);
        y += draw_normal(&seed);
        y = kind == SIGNS ? (y > -60 + 0.3 * 100 ? 1 : -1) * (i % 9 ? 1 : -1) : y;
        qp->off[0][i] = -y;
        qp->lo[0][i] = kind == LAYERS || (kind == SIGNS && y > 0) ? 0 : -C;
        qp->hi[0][i] = kind == SIGNS && y < 0 ? 0 : C;
        if (kind == LAYERS)
            qp->off[1][i] = -y, qp->lo[1][i] = -C;
    }
    return qp;
}

/* Returns what is between the objectives of a lane's w and of its coefficients, relative to them, and with what their
 * sums lack. */
static double gap_of(const struct matrix *m, const struct hg_begun_inside *b, const struct hg_qp *qp,
                     const double *sums, size_t lane)
{
    const struct hg_lanes *s = &b->lanes;
    long double w2 = 0, beta2 = 0, loss = 0, linear = 0, lacking = 0, sum[2] = { 0 }, of_beta[D] = { 0 };
    double w[D + 2] = { 0 };
    for (size_t c = 0; c < D; c++)
        w[c] = s->w[c * s->lanes + lane], w2 += w[c] * w[c];
    for (int l = 0; l < s->intercepts; l++)
        w[D + l] = s->w[(s->d + (size_t)l) * s->lanes + lane];
    for (size_t v = 0; v < s->slots; v++)
        for (size_t i = 0; i < N; i++) {
            size_t at = (v * N + i) * s->lanes + lane;
            int l = qp->layers == 2 ? (int)v : 0;
            double cap = s->slots == 2 && v == 1 ? -qp->lo[l][i] : fmax(qp->hi[l][i], -qp->lo[l][i]);
            double sign = s->slots == 2 ? (v == 0 ? 1 : -1) : qp->hi[l][i] > 0 ? 1 : -1;
            double f = w[D + l], p = qp->kink + sign * qp->off[l][i], beta = sign * s->a[at];
            for (size_t c = 0; c < D; c++)
                f += (m->x[i * D + c] - b->space.shift[c]) * w[c];
            if (cap == 0)
                continue;
            assert_true(s->a[at] > 0 && s->u[at] > 0 && s->l[at] > 0 && s->m[at] > 0);
            assert_near(s->a[at] + s->u[at], cap, 1e-12);
            loss += cap * fmax(0, -(sign * f + p));
            linear += p * s->a[at];
            sum[l] += beta;
            for (size_t c = 0; c < D; c++)
                of_beta[c] += beta * m->x[i * D + c];
        }
    for (int l = 0; l < s->intercepts; l++) {
        lacking += fabsl(sum[l] - sums[l]);
        loss += sums[l] * w[D + l];
        for (size_t c = 0; c < D; c++)
            loss -= sums[l] * b->space.shift[c] * w[c];
    }
    for (size_t c = 0; c < D; c++)
        beta2 += of_beta[c] * of_beta[c];
    long double primal = w2 / 2 + loss, dual = -(beta2 / 2 + linear);
    return (double)((fabsl(primal - dual) + 100 * lacking) / fmaxl(fabsl(primal), fabsl(dual)));
}

static const struct hg_interior_options options = { .eps = 1e-6, .gap = 1e-6, .threads = 1 };

TEST(test_lanes_by_plain_loops)
{
    static int stop;
    struct hg_interior_options own = options;
    own.halt.stop = &stop;
    for (int level = 1; level <= hg_cpu_level(0); level++)
        for (int kind = 0; kind < KINDS; kind++) {
            size_t count = hg_lanes_code(level)->lanes;
            struct matrix *m = drawn_rows(5830200);
            struct hg_qp *qps[HG_LANES];
            double sums[HG_LANES][2];
            const double *of[HG_LANES];
            struct hg_begun_inside b, one;
            bool fits;
            for (size_t k = 0; k < count; k++) {
                qps[k] = drawn_problem(m, (enum kind)kind, 5830210 + k, sums[k]);
                of[k] = sums[k];
            }
            assert_int_equal(hg_interior_begin(&b, qps, of, count, &m->super, &own, level, &fits, NULL), HINGE_OK);
            assert_true(fits && (b.space.shift[FAR] != 0) == (kind != NO_SUM));
            for (size_t k = 0; k < count; k++) {
                assert_true(b.lanes.good[k] == 2 && b.lanes.iterations[k] >= 5 && b.lanes.iterations[k] < 40);
                assert_true(gap_of(m, &b, qps[k], sums[k], k) < 1e-8);
            }
            assert_int_equal(hg_interior_begin(&one, qps + 1, of + 1, 1, &m->super, &own, level, &fits, NULL),
                             HINGE_OK);
            for (size_t at = 0; at < b.lanes.slots * N; at++) /* the same bits alone, in another lane */
                assert_true(one.lanes.a[at * count] == b.lanes.a[at * count + 1]);
            hg_begun_inside_free(&b);
            hg_begun_inside_free(&one);
        }
}

/* Problems that are not alike, or have no bounds, are left alone; so is a run that was stopped. */
TEST(test_what_does_not_fit)
{
    static int stop;
    struct hg_interior_options own = options;
    own.halt.stop = &stop;
    struct matrix *m = drawn_rows(5830300);
    double sums[2][2];
    const double *of[2] = { sums[0], sums[1] };
    struct hg_qp *qps[2];
    for (int k = 0; k < 4; k++) {
        struct hg_begun_inside b;
        bool fits;
        qps[0] = drawn_problem(m, KINK, 5830301, sums[0]);
        qps[1] = drawn_problem(m, k == 0 ? SIGNS : k == 1 ? LAYERS : KINK, 5830302, sums[1]);
        if (k == 2)
            qps[1]->hi[0][N - 1] = INFINITY;
        stop = k == 3;
        assert_int_equal(hg_interior_begin(&b, qps, of, 2, &m->super, &own, 1, &fits, NULL), HINGE_OK);
        assert_true(fits == (k == 3));
        if (k == 3)
            assert_true(b.lanes.iterations[0] == 0 && b.lanes.good[0] == 1);
        hg_begun_inside_free(&b);
    }
}

/* ---- trainings --------------------------------------------------------------------------------------------------- */

enum { M = 19 };

/* Targets of one set, some of them of other sizes, one that is 0 and one that follows no feature. */
static double *drawn_targets(const struct matrix *m, uint64_t seed)
{
    double *y = get(M * N, sizeof *y);
    for (size_t t = 0; t < M; t++)
        for (size_t i = 0; i < N; i++) {
            double sum = draw_normal(&seed);
            for (size_t c = 0; c < D; c++)
                sum += (double)((t + c) % 4) * m->x[i * D + c];
            y[t * N + i] = t == 3 ? 0 : t == 4 ? draw_normal(&seed) : t == 5 ? 1e5 * sum : sum;
        }
    return y;
}

/* Some targets leave rows out, and go by themselves; a budget that is too small for two of them at once changes no
 * bit. */
TEST(test_trainings_by_lanes)
{
    static double weights[M * N];
    for (size_t k = 0; k < M * N; k++)
        weights[k] = k / N % 5 == 2 ? (double)(k % 3) : 1;
    static const hinge_task tasks[] = { HINGE_EPSILON_SVR, HINGE_NU_SVR, HINGE_QUANTILE };
    for (int k = 0; k < 6; k++) {
        struct matrix *m = drawn_rows(5830400);
        hinge_matrix x = { m->x, HINGE_F64, N, D, D };
        hinge_targets targets = { .n = M, .y = drawn_targets(m, 5830401) };
        hinge_params params = params_for(tasks[k % 3], hinge_kernel_linear(), k < 3 ? 1 : 50);
        params.solver = k < 3 ? HINGE_SOLVER_AUTO : HINGE_SOLVER_INTERIOR_POINT;
        params.no_bias = k == 3;
        targets.weights = k % 2 ? weights : NULL;
        params.nu = 0.4;
        params.eps = 1e-6;
        params.cache_bytes = k >= 2 ? 4096 : 0;
        struct text first = { 0 };
        hinge_report report;
        for (params.threads = 1; params.threads <= 4; params.threads++) {
            hinge_model *many = NULL;
            assert_ok(hinge_train_many(&many, &x, &targets, &params, &report, &err));
            given_back(many);
            assert_int_equal(report.outcome, HINGE_CONVERGED);
            assert_says(report.path, "interior-point d=20");
            first = params.threads == 1 ? text_of(many) : first;
            assert_true(same_text(first, text_of(many)));
            for (size_t t = 0; t < M && params.threads == 1; t++) {
                params.weights = targets.weights != NULL ? weights + t * N : NULL;
                hinge_model *alone = trained(&x, targets.y + t * N, &params, NULL);
                assert_close(hinge_model_objectives(many)[t], hinge_model_objectives(alone)[0], 1e-6);
            }
            params.weights = NULL;
        }
    }
}
