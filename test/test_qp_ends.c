/*
 * How block SMO starts and ends: warm starts, limits, stops, a source that fails, and kernels that are not
 * finite, not positive definite, or not as exact as they should be.
 */
#include "backwards.h"

/* ---- starts and ends ------------------------------------------------------------------------------------- */

TEST(test_warm_start)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct problem p = problem_new(kind, 300, 51, 0.3, 0.3, 0.5);
        struct hg_smo_options o = options(1e-9, 32);
        for (int l = 0; l < p.qp.layers; l++)
            memcpy(p.qp.beta[l], p.optimum[l], 300 * sizeof(double));
        struct hg_smo_result res = run(&p, HINGE_F64, &o);
        assert_int_equal(res.report.iterations, 0);
        check_optimum(&p, &res, 1e-9);
        for (int l = 0; l < p.qp.layers; l++) { /* not the optimum, and most points not at 0 */
            for (size_t i = 0; i < 300; i++)
                p.qp.beta[l][i] = p.qp.lo[l][i] + (i % 7) / 6.0 * (p.qp.hi[l][i] - p.qp.lo[l][i]);
        }
        assert_true(hg_qp_project(&p.qp, p.sums));
        res = run(&p, HINGE_F32, &o);
        check_optimum(&p, &res, 1e-9);
    }
}

TEST(test_iteration_limit)
{
    struct problem p = problem_new(PLAIN, 500, 61, 0.3, 0.3, 0.5);
    for (uint64_t limit = 1; limit < 100; limit = limit * 3 + 1)
        for (size_t q = 0; q <= 16; q += 16) {
            struct hg_smo_options o = options(1e-9, q);
            o.max_iter = limit;
            restart(&p);
            double start = plain_objective(p.k, &p.qp);
            struct hg_smo_result res = run(&p, HINGE_F64, &o);
            assert_int_equal(res.report.outcome, HINGE_MAX_ITER);
            assert_int_equal(res.report.iterations, limit);
            check_feasible(&p);
            assert_near(res.report.objective, plain_objective(p.k, &p.qp), 1e-9 * fabs(start));
            assert_true(res.report.objective < start && res.report.violation > o.eps);
        }
}

TEST(test_stop)
{
    struct problem p = problem_new(PLAIN, 500, 62, 0.3, 0.3, 0.5);
    struct hg_smo_options o = options(1e-9, 16);
    struct watch w = { .stop_at = 3 };
    o.progress = watch_progress, o.progress_arg = &w;
    restart(&p);
    struct hg_smo_result res = run(&p, HINGE_F64, &o);
    assert_int_equal(res.report.outcome, HINGE_STOPPED);
    assert_int_equal(res.report.rounds, 3);
    check_feasible(&p);
    int stop = 2;
    o.progress = NULL, o.halt.stop = &stop; /* another run of the training was stopped */
    restart(&p);
    res = run(&p, HINGE_F64, &o);
    assert_int_equal(res.report.outcome, HINGE_STOPPED);
    assert_int_equal(res.report.iterations, 0);
}

struct steps {
    uint64_t polls, asked, iterations, most; /* asked: polls when the last round ended */
};

static void count_poll(void *arg)
{
    ((struct steps *)arg)->polls++;
}

static int count_steps(void *arg, const hinge_progress *p)
{
    struct steps *s = arg;
    assert_true(s->polls > s->asked);
    s->asked = s->polls;
    s->most = HG_MAX(s->most, p->iterations - s->iterations);
    s->iterations = p->iterations;
    return 0;
}

/* The time limit is looked at in each round, and no round has more steps than take some milliseconds. q: 0 all, so that
 * the run is one working set and never fetches rows for an update. */
TEST(test_deadline)
{
    for (size_t q = 0; q <= 64; q += 64) {
        struct problem p = problem_new(PLAIN, 1000, 63, 0.8, 0.1, 1e-5);
        struct hg_smo_options o = options(1e-12, q);
        struct steps steps = { 0 };
        int stop = 0;
        o.halt = (struct hg_halt){ &stop, 0, count_poll, &steps };
        o.progress = count_steps, o.progress_arg = &steps;
        o.max_iter = 300000;
        memset(p.qp.beta[0], 0, p.n * sizeof(double)); /* so that the start needs no rows */
        p.sums[0] = 0;
        assert_int_equal(run(&p, HINGE_F64, &o).report.outcome, HINGE_MAX_ITER);
        print_message("q = %zu: at most %llu steps from one look at the clock to the next\n", q,
                      (unsigned long long)steps.most);
        assert_true(steps.most <= 20000);
        o.halt.deadline = 1e-9; /* long ago */
        assert_int_equal(run(&p, HINGE_F64, &o).report.outcome, HINGE_TIME_LIMIT);
        check_feasible(&p);
    }
}

TEST(test_failing_source)
{
    struct problem p = problem_new(PLAIN, 200, 64, 0.3, 0.3, 0.5);
    struct hg_smo_options o = options(1e-9, 16);
    for (int after = 0; after < 12; after++) {
        struct fake rows = fake_rows(p.k, p.n, HINGE_F64, 1), exact = rows;
        rows.fail_after = after;
        struct hg_smo_result res;
        hinge_error err = { .status = HINGE_OK };
        restart(&p);
        assert_int_equal(hg_block_smo(&p.qp, &rows.super, &exact.super, &o, &res, &err), HINGE_ECALLBACK);
        assert_int_equal(err.status, HINGE_ECALLBACK);
        assert_true(err.text[0] != '\0');
    }
}

/* ---- kernels that are not what they should be ------------------------------------------------------------ */

TEST(test_not_finite)
{
    static const double bad[] = { NAN, INFINITY };
    for (int b = 0; b < 2; b++)
        for (size_t q = 0; q <= 16; q += 16) {
            struct problem p = problem_new(PLAIN, 100, 71, 0.5, 0.3, 0.5);
            for (size_t at = 0; at < 100; at++) /* point 13 against all, point 14 against itself alone */
                p.k[13 * 100 + at] = p.k[at * 100 + 13] = bad[b];
            p.k[14 * 100 + 14] = bad[b];
            for (int type = HINGE_F32; type <= HINGE_F64; type++) {
                struct hg_smo_options o = options(1e-6, q);
                restart(&p);
                assert_int_equal(run(&p, type, &o).report.outcome, HINGE_NONFINITE);
            }
        }
}

/* Every point twice: K is singular (no ridge between twins). The objective and the twins' sums are unique. */
TEST(test_duplicates)
{
    size_t n = 200;
    struct problem p = problem_new(PLAIN, n, 72, 0.4, 0.3, 0.5);
    double *k = get(4 * n * n, sizeof *k);
    struct problem two = { .qp = new_qp(2 * n, 1), .n = 2 * n, .k = k, .sums = { p.sums[0] } };
    for (size_t i = 0; i < 2 * n; i++) {
        for (size_t j = 0; j < 2 * n; j++)
            k[i * 2 * n + j] = p.k[i / 2 * n + j / 2];
        set(&two.qp, 0, i, p.qp.off[0][i / 2], p.qp.lo[0][i / 2] / 2, p.qp.hi[0][i / 2] / 2, 0);
    }
    for (size_t q = 0; q <= 16; q += 16) {
        struct hg_smo_options o = options(1e-9, q);
        restart(&two);
        struct hg_smo_result res = run(&two, HINGE_F64, &o);
        assert_int_equal(res.report.outcome, HINGE_CONVERGED);
        check_feasible(&two);
        assert_near(res.report.objective, p.objective, 1e-6);
        for (size_t i = 0; i < n; i++)
            assert_near(two.qp.beta[0][2 * i] + two.qp.beta[0][2 * i + 1], p.optimum[0][i], 1e-6);
    }
}

/* Rank 0: a linear program. Points with less off than the bias are at their upper bound. */
TEST(test_zero_kernel)
{
    for (size_t q = 0; q <= 8; q += 8) {
        struct problem p = problem_new(PLAIN, 60, 73, 0, 0.5, 0.5);
        memset(p.k, 0, 60 * 60 * sizeof *p.k);
        memset(p.qp.beta[0], 0, 60 * sizeof(double));
        uint64_t seed = 3;
        for (size_t i = 0; i < 60; i++)
            choose_off(&p, 0, i, 0, &seed);
        memcpy(p.qp.beta[0], p.optimum[0], 60 * sizeof(double));
        p.objective = plain_objective(p.k, &p.qp);
        struct hg_smo_options o = options(1e-6, q);
        restart(&p);
        struct hg_smo_result res = run(&p, HINGE_F32, &o);
        assert_int_equal(res.report.outcome, HINGE_CONVERGED);
        check_feasible(&p);
        assert_near(res.report.objective, p.objective, 1e-9);
    }
}

/* No positive definite K: the run ends, within the box, and no worse than it began. */
TEST(test_indefinite_ends)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t q = 0; q <= 16; q += 16) {
            struct problem p = problem_new(kind, 150, 74, 0.4, 0.3, 0.5);
            for (size_t i = 0; i < 150; i++)
                for (size_t j = 0; j < 150; j++)
                    p.k[i * 150 + j] *= (i + j) % 3 == 0 ? -1 : 1;
            struct hg_smo_options o = options(1e-6, q);
            o.max_iter = 200000;
            restart(&p);
            double start = plain_objective(p.k, &p.qp);
            struct hg_smo_result res = run(&p, HINGE_F64, &o);
            assert_true(res.report.outcome == HINGE_CONVERGED || res.report.outcome == HINGE_MAX_ITER ||
                        res.report.outcome == HINGE_STALLED);
            check_feasible(&p);
            assert_true(plain_objective(p.k, &p.qp) <= start + 1e-9);
        }
}

/* Rows that are off, symmetrically, by a share of each value: good enough for a coarse eps; mended by gradients
 * from the exact source for a finer one; and where that does not do, said so. */
TEST(test_coarse_rows)
{
    enum { N = 300 };
    static const struct {
        double off, eps;
        bool corrected, coarse;
    } cases[] = { { 1e-4, 1e-1, false, false }, { 1e-4, 1e-5, true, false }, { 3e-2, 1e-10, true, true } };
    struct problem p = problem_new(PLAIN, N, 75, 0.5, 0.2, 0.5);
    double *k = get(N * N, sizeof *k), *g = get(N, sizeof *g), *wrong = get(N, sizeof *wrong);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (size_t at = 0; at < N * N; at++)
            k[at] = p.k[at] * (1 + ((at / N) * (at % N) % 2 == 0 ? 1 : -1) * cases[c].off);
        struct fake rows = fake_rows(k, N, HINGE_F32, 1), exact = fake_rows(p.k, N, HINGE_F64, 1);
        struct hg_smo_options o = options(cases[c].eps, 16);
        struct hg_smo_result res;
        restart(&p);
        assert_int_equal(hg_block_smo(&p.qp, &rows.super, &exact.super, &o, &res, NULL), HINGE_OK);
        assert_int_equal(res.report.outcome, cases[c].coarse ? HINGE_STALLED : HINGE_CONVERGED);
        assert_int_equal(res.coarse, cases[c].coarse);
        assert_int_equal(res.report.corrections > 0, cases[c].corrected);
        check_feasible(&p);
        plain_gradient(p.k, &p.qp, g);
        plain_gradient(k, &p.qp, wrong);
        double error = 0;
        for (size_t i = 0; i < N; i++)
            error = HG_MAX(error, fabs(g[i] - wrong[i]));
        assert_true(res.report.error >= 0 && res.report.error <= 1.01 * error); /* measured everywhere, and mended */
        if (!cases[c].coarse)
            assert_near(hg_qp_violation(&p.qp, g), res.report.violation, 1e-12);
        assert_true(hg_qp_violation(&p.qp, g) <= res.report.violation + 2 * res.report.error + 1e-12);
    }
}

/* A question that ends the run once the exact source has been asked so often. */
struct asker {
    const struct fake *exact;
    size_t fetches;
    int stop;
};

static void ask(void *arg)
{
    struct asker *a = arg;
    if (a->exact->fetches >= a->fetches)
        a->stop = 2;
}

/* Stopped while the error of the rows is measured, or the gradient corrected: the bias is between the bounds that the
 * points set it, as far as the rows are right. */
TEST(test_stop_in_correction)
{
    enum { N = 300 };
    double *k = get(N * N, sizeof *k), *g = get(N, sizeof *g);
    for (uint64_t seed = 75; seed < 80; seed++) {
        struct problem p = problem_new(PLAIN, N, seed, 0.5, 0.2, 0.5);
        for (size_t at = 0; at < N * N; at++)
            k[at] = p.k[at] * (1 + ((at / N) * (at % N) % 2 == 0 ? 1e-4 : -1e-4));
        for (size_t fetches = 1; fetches <= 2; fetches++) {
            struct fake rows = fake_rows(k, N, HINGE_F32, 1), exact = fake_rows(p.k, N, HINGE_F64, 1);
            struct asker a = { &exact, fetches, 0 };
            struct hg_smo_options o = options(1e-5, 64);
            struct hg_smo_result res;
            o.halt.stop = &a.stop, o.halt.ask = ask, o.halt.arg = &a;
            restart(&p);
            assert_int_equal(hg_block_smo(&p.qp, &rows.super, &exact.super, &o, &res, NULL), HINGE_OK);
            assert_int_equal(res.report.outcome, HINGE_STOPPED);
            assert_int_equal(res.report.corrections, fetches - 1);
            check_feasible(&p);
            plain_gradient(p.k, &p.qp, g);
            double low = INFINITY, high = -INFINITY;
            for (size_t i = 0; i < N; i++) {
                low = fmin(low, g[i] + hg_up(p.qp.beta[0][i], p.qp.hi[0][i], p.qp.off[0][i], 0));
                high = fmax(high, g[i] + hg_down(p.qp.beta[0][i], p.qp.lo[0][i], p.qp.off[0][i], 0));
            }
            assert_true(high - low < 0.1); /* not far from the end */
            assert_true(-res.bias[0] >= low - 1e-2 && -res.bias[0] <= high + 1e-2);
        }
    }
}

/* ---- other problems on the same points ------------------------------------------------------------------- */

struct again {
    struct problem *p;
    hinge_dtype type;
    const struct hg_smo_options *options;
    double eps;
    size_t solved, work, cold_work;
};

/* Rows where a working set is small against the points: it is solved more deeply then, by more steps. */
static size_t work_of(const hinge_report *report, const struct hg_smo_options *o)
{
    return o->working_set > 0 ? report->rows_asked : report->iterations;
}

/* Every fifth entry's box becomes empty, in turn: the solution is as good as that of a run of its own. */
static hinge_status solve_again(void *arg, struct hg_run *r, const double *whole, const struct hg_smo_result *first,
                                hinge_error *err)
{
    struct again *a = arg;
    struct problem other = *a->p;
    size_t n = other.n;
    double *g = get(n, sizeof *g), *plain = get(n, sizeof *plain);
    assert_int_equal(first->report.outcome, HINGE_CONVERGED);
    plain_gradient(other.k, &other.qp, plain);
    for (size_t i = 0; i < n; i++)
        assert_near(whole[i], plain[i], a->eps);
    for (size_t f = 0; f < 5; f++) {
        other.qp = new_qp(n, a->p->qp.layers);
        other.qp.no_sum = a->p->qp.no_sum, other.qp.kink = a->p->qp.kink;
        for (int l = 0; l < other.qp.layers; l++)
            for (size_t i = 0; i < n; i++) {
                bool held = i % 5 == f;
                set(&other.qp, l, i, a->p->qp.off[l][i], held ? 0 : a->p->qp.lo[l][i], held ? 0 : a->p->qp.hi[l][i],
                    a->p->qp.beta[l][i]);
            }
        if (hg_qp_project(&other.qp, other.sums)) {
            struct hg_smo_result res, cold;
            assert_int_equal(hg_smo_again(r, &other.qp, a->eps, 0, g, &res, err), HINGE_OK);
            assert_int_equal(res.report.outcome, HINGE_CONVERGED);
            check_feasible(&other);
            plain_gradient(other.k, &other.qp, plain);
            assert_true(hg_qp_violation(&other.qp, plain) <= 2 * a->eps + 1e-13 * (double)n);
            for (size_t i = 0; i < n; i++)
                assert_near(g[i], plain[i], a->eps);
            for (int l = 0; l < other.qp.layers; l++)
                assert_near(res.bias[l], hg_qp_bias(&other.qp, NULL, n, plain, l), 2 * a->eps);
            a->work += work_of(&res.report, a->options);
            restart(&other);
            struct hg_smo_options o = *a->options;
            o.eps = a->eps, o.then = NULL;
            cold = run(&other, a->type, &o);
            assert_near(res.report.objective, cold.report.objective, 2 * a->eps * (double)n);
            a->cold_work += work_of(&cold.report, a->options);
            a->solved++;
        }
    }
    return HINGE_OK;
}

TEST(test_again)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int c = 0; c < 8; c++) {
            struct problem p = problem_new(kind, c & 1 ? 700 : 300, 90 + (uint64_t)c, 0.2, 0.3, 0.5);
            struct hg_smo_options o = options(1e-7, c & 2 ? 32 : 0);
            struct again a = { &p, c & 4 ? HINGE_F64 : HINGE_F32, &o, kind == PLAIN ? 1e-8 : 1e-5, 0, 0, 0 };
            p.cost = c & 2 ? 5 : 0.5;                                           /* rows are kept, and are not */
            o.cache_bytes = c == 3 ? 100 * 700 * sizeof(float) : o.cache_bytes; /* few of them */
            o.then = solve_again, o.then_arg = &a;
            restart(&p);
            struct hg_smo_result res = run(&p, a.type, &o);
            check_optimum(&p, &res, 1e-7);
            assert_true(kind >= BY_CLASS || a.solved == 5);
            assert_true(kind >= BY_CLASS || a.work < a.cold_work);
        }
}
