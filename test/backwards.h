/*
 * Problems built backwards from a known optimum: choose beta (0, free, at its bounds), the bias and a positive
 * definite K; then F = g + off +- kink is -bias at a free entry, at most that at the upper bound, at least
 * that at the lower one, and this gives off. With some slack at the bounds the optimum is unique, so beta and
 * the objective are demanded back. K's entries are rounded to f32, so rows in f32 are as exact as in f64.
 *
 * K comes through a fake source of rows over a dense matrix, in narrow tiles made by several threads. What the
 * solver claims is checked in plain loops: box, sums, gradient, violation, objective.
 */
#ifndef TEST_BACKWARDS_H
#define TEST_BACKWARDS_H

#include "lib/rows/source.h"
#include "solver/smo/block.h"
#include "test/support.h"

/* ---- the fake source: a matrix --------------------------------------------------------------------------- */

enum { TILE_ROWS = 7, TILE_COLS = 48, COPY = 64 };

struct fake {
    struct hg_rows super;
    const double *k; /* [n * n] */
    int fail_after;  /* fetches; -1: never */
    size_t fetches;
};

static inline void make_tile(const struct fake *s, const struct hg_fetch *f, size_t r0, size_t c0)
{
    size_t rows = HG_MIN((size_t)TILE_ROWS, f->n_rows - r0), cols = HG_MIN((size_t)TILE_COLS, f->n_cols - c0);
    size_t size = s->super.type == HINGE_F32 ? sizeof(float) : sizeof(double);
    double own[TILE_ROWS][TILE_COLS];
    const void *row[TILE_ROWS];
    for (size_t r = 0; r < rows; r++) {
        char *out = f->out != NULL ? f->out[r0 + r] : NULL;
        void *to = out != NULL ? (void *)(out + c0 * size) : (void *)own[r];
        for (size_t c = 0; c < cols; c++) {
            size_t col = f->cols != NULL ? f->cols[c0 + c] : c0 + c;
            double v = s->k[f->rows[r0 + r] * s->super.n + col];
            if (s->super.type == HINGE_F32)
                ((float *)to)[c] = (float)v;
            else
                ((double *)to)[c] = v;
        }
        row[r] = to;
    }
    struct hg_tile tile = { r0, rows, c0, cols, row, NULL, NULL };
    if (f->tile != NULL)
        f->tile(f->arg, &tile);
}

static inline bool stopped(const struct hg_fetch *f)
{
    return f->stop != NULL && __atomic_load_n(f->stop, __ATOMIC_RELAXED) != 0;
}

static inline hinge_status fake_fetch(struct hg_rows *super, const struct hg_fetch *f)
{
    struct fake *s = (struct fake *)super;
    if (s->fail_after >= 0 && s->fetches >= (size_t)s->fail_after)
        return HINGE_ECALLBACK;
    s->fetches++;
    super->values += (uint64_t)f->n_rows * f->n_cols;
#pragma omp parallel for num_threads(super->threads) schedule(dynamic, 1)
    for (size_t c0 = 0; c0 < f->n_cols; c0 += TILE_COLS)
        for (size_t r0 = 0; r0 < f->n_rows && !stopped(f); r0 += TILE_ROWS)
            make_tile(s, f, r0, c0);
    return HINGE_OK;
}

static inline hinge_status fake_diagonal(const struct hg_rows *super, double *diagonal, double *size)
{
    for (size_t i = 0; i < super->n; i++) {
        diagonal[i] = ((const struct fake *)super)->k[i * super->n + i];
        if (size != NULL)
            size[i] = fabs(diagonal[i]);
    }
    return HINGE_OK;
}

static inline struct fake fake_rows(const double *k, size_t n, hinge_dtype type, int threads)
{
    static const struct hg_rows_ops ops = { fake_diagonal, fake_fetch };
    return (struct fake){ .super = { .ops = &ops, .n = n, .type = type, .threads = threads, .cost = 0.7 },
                          .k = k,
                          .fail_after = -1 };
}

/* ---- problems -------------------------------------------------------------------------------------------- */

static inline double between(uint64_t *seed, double low, double high)
{
    return low + (high - low) * (double)(hg_random(seed) >> 11) * 0x1p-53;
}

/* exp(-|x - z|^2) of points in the plane, + ridge on the diagonal */
static inline double *random_k(uint64_t *seed, size_t n, double ridge)
{
    double *x = get(2 * n, sizeof *x), *k = get(n * n, sizeof *k);
    for (size_t c = 0; c < 2 * n; c++)
        x[c] = between(seed, -2, 2);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double a = x[2 * i] - x[2 * j], b = x[2 * i + 1] - x[2 * j + 1];
            k[i * n + j] = k[j * n + i] = (double)(float)(exp(-a * a - b * b) + (i == j ? ridge : 0));
        }
    return k;
}

/* C-SVC, epsilon-SVR, both without bias, nu-SVC, nu-SVR */
enum kind { PLAIN, KINK, ALONE, ALONE_KINK, BY_CLASS, BY_SIGN, KINDS };

struct problem {
    struct hg_qp qp;
    size_t n;
    double *k, *optimum[2], bias[2], sums[2], objective;
    double cost;     /* of a value of its rows; 0: 0.7 */
    uint64_t values; /* that the last run made of them */
};

/* g = K b */
static inline void plain_gradient(const double *k, const struct hg_qp *qp, double *g)
{
    memset(g, 0, qp->n * sizeof *g);
    for (size_t j = 0; j < qp->n; j++)
        for (size_t i = 0; i < qp->n && hg_qp_beta(qp, j) != 0; i++)
            g[i] += k[j * qp->n + i] * hg_qp_beta(qp, j);
}

static inline double plain_objective(const double *k, const struct hg_qp *qp)
{
    double *g = get(qp->n, sizeof *g), sum = 0;
    plain_gradient(k, qp, g);
    for (size_t i = 0; i < qp->n; i++) {
        sum += hg_qp_beta(qp, i) * g[i] / 2;
        for (int l = 0; l < qp->layers; l++)
            sum += qp->off[l][i] * qp->beta[l][i] + qp->kink * fabs(qp->beta[l][i]);
    }
    return sum;
}

/* Box and optimal beta of entry i. p_free of them are free, p_bound at the far bound (away from 0), the rest 0.
 */
static inline void choose_entry(struct problem *p, enum kind kind, size_t i, uint64_t *seed, double p_free,
                                double p_bound)
{
    struct hg_qp *qp = &p->qp;
    double c = between(seed, 0.5, 2), u = between(seed, 0, 1);
    bool positive = hg_random_below(seed, 2);
    double value = u < p_free ? between(seed, 0.1, 0.9) * c : u < p_free + p_bound ? c : 0;
    int l = kind < BY_CLASS || positive ? 0 : 1;
    if (qp->kink > 0 || kind == BY_SIGN) {
        qp->hi[0][i] = c;
        qp->lo[qp->layers - 1][i] = -c; /* two layers: [0, c] and [-c, 0] */
    } else if (positive) {
        qp->hi[l][i] = c;
    } else {
        qp->lo[l][i] = -c;
    }
    p->optimum[l][i] = positive ? value : -value;
}

/* off such that KKT holds at the optimum with the bias and some slack. */
static inline void choose_off(struct problem *p, int l, size_t i, double g, uint64_t *seed)
{
    struct hg_qp *qp = &p->qp;
    double b = p->optimum[l][i], f = -p->bias[l], slack = between(seed, 0.05, 1);
    if (qp->kink > 0 && b == 0)
        qp->off[l][i] = f - g + qp->kink * between(seed, -0.9, 0.9);
    else if (b == qp->hi[l][i])
        qp->off[l][i] = f - g - (b > 0 ? qp->kink : 0) - slack;
    else if (b == qp->lo[l][i])
        qp->off[l][i] = f - g + (b < 0 ? qp->kink : 0) + slack;
    else
        qp->off[l][i] = f - g - (b > 0 ? qp->kink : -qp->kink);
}

static inline void end_qp(void *qp)
{
    hg_qp_free(qp);
}

/* To the end of the test, as all of a problem. */
static inline struct hg_qp new_qp(size_t n, int layers)
{
    struct hg_qp *qp = get(1, sizeof *qp);
    assert_int_equal(hg_qp_init(qp, n, layers, NULL), HINGE_OK);
    at_end(end_qp, qp);
    return *qp;
}

static inline struct problem problem_new(enum kind kind, size_t n, uint64_t seed, double p_free, double p_bound,
                                         double ridge)
{
    struct problem p = { .n = n, .k = random_k(&seed, n, ridge), .bias = { 0.7, -1.3 } };
    p.qp = new_qp(n, kind < BY_CLASS ? 1 : 2);
    p.qp.kink = kind == KINK || kind == ALONE_KINK ? 0.3 : 0;
    p.qp.no_sum = kind == ALONE || kind == ALONE_KINK;
    p.bias[0] = p.qp.no_sum ? 0 : p.bias[0];
    for (int l = 0; l < p.qp.layers; l++)
        p.optimum[l] = get(n, sizeof(double));
    for (size_t i = 0; i < n; i++)
        choose_entry(&p, kind, i, &seed, p_free, p_bound);
    for (int l = 0; l < p.qp.layers; l++) {
        memcpy(p.qp.beta[l], p.optimum[l], n * sizeof(double));
        for (size_t i = 0; i < n; i++)
            p.sums[l] += p.optimum[l][i];
    }
    double *g = get(n, sizeof *g);
    plain_gradient(p.k, &p.qp, g);
    for (int l = 0; l < p.qp.layers; l++)
        for (size_t i = 0; i < n; i++)
            choose_off(&p, l, i, g[i], &seed);
    assert_true(hg_qp_violation(&p.qp, g) < 1e-12);
    p.objective = plain_objective(p.k, &p.qp);
    return p;
}

/* The start: 0, moved to where the sums are right. */
static inline void restart(struct problem *p)
{
    for (int l = 0; l < p->qp.layers; l++)
        memset(p->qp.beta[l], 0, p->n * sizeof(double));
    assert_true(hg_qp_project(&p->qp, p->sums));
}

static inline struct hg_smo_options options(double eps, size_t working_set)
{
    return (struct hg_smo_options){ .eps = eps,
                                    .working_set = working_set,
                                    .shrinking = true,
                                    .threads = 1,
                                    .cpu_level = hg_cpu_level(0),
                                    .cache_bytes = (size_t)1 << 30,
                                    .measured = 512 };
}

static inline struct hg_smo_result run(struct problem *p, hinge_dtype type, const struct hg_smo_options *o)
{
    struct fake rows = fake_rows(p->k, p->n, type, o->threads), exact = fake_rows(p->k, p->n, HINGE_F64, o->threads);
    struct hg_smo_result res;
    hinge_error err;
    if (p->cost > 0)
        rows.super.cost = p->cost;
    assert_int_equal(hg_block_smo(&p->qp, &rows.super, &exact.super, o, &res, &err), HINGE_OK);
    p->values = rows.super.values;
    return res;
}

/* Inside the box, sums kept; true of every run, however it ended. */
static inline void check_feasible(const struct problem *p)
{
    for (int l = 0; l < p->qp.layers; l++) {
        double sum = 0, size = 1;
        for (size_t i = 0; i < p->n; i++) {
            double b = p->qp.beta[l][i];
            assert_true(b >= p->qp.lo[l][i] && b <= p->qp.hi[l][i]);
            sum += b;
            size += fabs(b);
        }
        assert_true(p->qp.no_sum || fabs(sum - p->sums[l]) <= 1e-12 * size);
    }
}

/* Everything the solver claims, and the known optimum within what 2 eps allows. */
static inline void check_optimum(const struct problem *p, const struct hg_smo_result *res, double eps)
{
    double *g = get(p->n, sizeof *g), tolerance = 40 * eps * sqrt((double)p->n);
    assert_int_equal(res->report.outcome, HINGE_CONVERGED);
    check_feasible(p);
    plain_gradient(p->k, &p->qp, g);
    assert_true(hg_qp_violation(&p->qp, g) <= 2 * eps + 1e-13 * (double)p->n);
    assert_true(res->report.violation <= eps && res->report.error <= 2 * eps);
    assert_int_equal(res->report.corrections, 0); /* the rows are exact: the gradient must be so at once */
    assert_near(res->report.objective, hg_qp_objective(&p->qp, g), 1e-11 * (1 + fabs(p->objective)) + eps);
    assert_near(res->report.objective, p->objective, 1e-11 * (1 + fabs(p->objective)) + eps * tolerance * (double)p->n);
    for (int l = 0; l < p->qp.layers; l++) {
        assert_near(res->bias[l], p->bias[l], tolerance);
        for (size_t i = 0; i < p->n; i++)
            assert_near(p->qp.beta[l][i], p->optimum[l][i], tolerance);
    }
}

static inline void set(struct hg_qp *qp, int l, size_t i, double off, double lo, double hi, double beta)
{
    qp->off[l][i] = off, qp->lo[l][i] = lo, qp->hi[l][i] = hi, qp->beta[l][i] = beta;
}

struct watch {
    size_t least_active, rounds, stop_at;
    int widened; /* points came back */
    size_t last_active;
    uint64_t iterations;
    double objective;
};

static inline int watch_progress(void *arg, const hinge_progress *p)
{
    struct watch *w = arg;
    w->rounds++;
    assert_int_equal(p->rounds, w->rounds);
    assert_true(p->iterations >= w->iterations && p->n_active <= p->n && p->n_sv <= p->n);
    assert_true(w->rounds == 1 || p->objective <= w->objective + 1e-12 * fabs(w->objective));
    w->objective = p->objective;
    w->least_active = w->rounds == 1 ? p->n_active : HG_MIN(w->least_active, p->n_active);
    w->widened += w->rounds > 1 && p->n_active > w->last_active;
    w->last_active = p->n_active;
    w->iterations = p->iterations;
    return w->rounds == w->stop_at ? 7 : 0;
}

#endif
