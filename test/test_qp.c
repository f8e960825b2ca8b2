/*
 * The functions of qp.h by hand, and block SMO on problems whose optimum is known (backwards.h): sizes below
 * and above the working set, caches from none to all, with and without shrinking, on one to three threads.
 */
#include "backwards.h"

#include <float.h>

/* ---- the functions of qp.h, by hand ---------------------------------------------------------------------- */

TEST(test_by_hand)
{
    struct hg_qp qp = new_qp(4, 1);
    double g[4] = { 1, 2, 3, 4 };
    set(&qp, 0, 0, -1, 0, 2, 1);    /* free: F = 0 */
    set(&qp, 0, 1, -1, 0, 2, 0);    /* up only: F = 1 */
    set(&qp, 0, 2, 1, -2, 0, -2);   /* up only: F = 4 */
    set(&qp, 0, 3, 1, -2, 0, -0.5); /* free: F = 5 */
    assert_near(hg_qp_objective(&qp, g), 0.5 * 1 - 1 + 0.5 * -2 * 3 - 2 + 0.5 * -0.5 * 4 - 0.5, 1e-15);
    assert_near(hg_qp_violation(&qp, g), 5, 1e-15);
    assert_near(hg_qp_bias(&qp, NULL, 4, g, 0), -2.5, 1e-15);
    static const uint32_t point[] = { 2, 1, 3 };
    assert_near(hg_qp_bias(&qp, point, 3, g, 0), -(3 + 1), 1e-15); /* point 3 has g[2]: free, F = 4 */
    assert_near(hg_qp_bias(&qp, point, 2, g, 0), -1, 1e-15);       /* up only: F = 1 + 1 and 2 - 1 */
    qp.beta[0][0] = 2;                                             /* down only: F = 0 */
    qp.beta[0][3] = -2;                                            /* up only: F = 5 */
    assert_near(hg_qp_bias(&qp, NULL, 4, g, 0), -(0 + 1) / 2.0, 1e-15);
    assert_true(hg_qp_violation(&qp, g) <= 0);
    qp.kink = 0.25;
    set(&qp, 0, 0, 1, -2, 2, 0);  /* on the kink: up 2.25, down 1.75 */
    set(&qp, 0, 1, 1, -2, 2, 1);  /* free, positive: 3.25 */
    set(&qp, 0, 2, 1, -2, 2, -1); /* free, negative: 3.75 */
    set(&qp, 0, 3, 1, -2, 2, 2);  /* down only: 5.25 */
    assert_near(hg_qp_violation(&qp, g), 5.25 - 2.25, 1e-15);
    assert_near(hg_qp_bias(&qp, NULL, 4, g, 0), -3.5, 1e-15);
    assert_near(hg_qp_objective(&qp, g), 1 + 1 - 1.5 - 1 + 4 + 2 + 0.25 * 4, 1e-15);
}

TEST(test_two_layers_by_hand)
{
    struct hg_qp qp = new_qp(2, 2);
    double g[2] = { 1, 2 };
    set(&qp, 0, 0, 0, 0, 1, 0.5);
    set(&qp, 0, 1, 3, 0, 1, 0.25);
    set(&qp, 1, 0, -1, -1, 0, -0.5);
    set(&qp, 1, 1, 4, -1, 0, 0); /* down only */
    assert_near(hg_qp_beta(&qp, 0), 0, 0);
    assert_near(hg_qp_objective(&qp, g), 0.25 + (0.25 + 0.75) + (-0.25 + 0.5), 1e-15);
    assert_near(hg_qp_violation(&qp, g), 6 - 0, 1e-15); /* layer 0: 5 - 1, layer 1: 6 - 0 */
    assert_near(hg_qp_bias(&qp, NULL, 2, g, 0), -3, 1e-15);
    assert_near(hg_qp_bias(&qp, NULL, 2, g, 1), 0, 1e-15);
}

TEST(test_project)
{
    struct hg_qp qp = new_qp(3, 1);
    set(&qp, 0, 0, 0, 0, 1, 5);
    set(&qp, 0, 1, 0, -1, 0, -0.5);
    set(&qp, 0, 2, 0, -2, 2, NAN);
    double sum = 0;
    assert_true(hg_qp_project(&qp, &sum)); /* clipped: 1, -0.5, -2; of 1.5 missing, the second takes 0.5 */
    assert_near(qp.beta[0][0], 1, 0);
    assert_near(qp.beta[0][1], 0, 0);
    assert_near(qp.beta[0][2], -1, 1e-15);
    sum = -0.25; /* the third alone is inside its box: the others stay at their bounds */
    assert_true(hg_qp_project(&qp, &sum));
    assert_near(qp.beta[0][0], 1, 0);
    assert_near(qp.beta[0][1], 0, 0);
    assert_near(qp.beta[0][2], -1.25, 1e-15);
    sum = -3; /* all the room there is */
    assert_true(hg_qp_project(&qp, &sum));
    assert_true(qp.beta[0][0] == 0 && qp.beta[0][1] == -1 && qp.beta[0][2] == -2);
    sum = 3;
    assert_true(hg_qp_project(&qp, &sum));
    assert_true(qp.beta[0][0] == 1 && qp.beta[0][1] == 0 && qp.beta[0][2] == 2);
    double before[3];
    memcpy(before, qp.beta[0], sizeof before);
    assert_true(hg_qp_project(&qp, &sum)); /* feasible already: not touched */
    assert_memory_equal(before, qp.beta[0], sizeof before);
    sum = 3.1;
    assert_false(hg_qp_project(&qp, &sum));
    sum = -3.1;
    assert_false(hg_qp_project(&qp, &sum));
    qp.no_sum = true; /* only clipped */
    qp.beta[0][1] = -7;
    assert_true(hg_qp_project(&qp, &sum));
    assert_true(qp.beta[0][0] == 1 && qp.beta[0][1] == -1 && qp.beta[0][2] == 2);
    double g[] = { 3, -4, 0.5 }; /* down, up, down */
    assert_near(hg_qp_violation(&qp, g), 4, 0);
    assert_near(hg_qp_bias(&qp, NULL, 3, g, 0), 0, 0);
    g[1] = -2;
    assert_near(hg_qp_violation(&qp, g), 3, 0);
    g[0] = -1, g[1] = 1, g[2] = -2; /* at rest */
    assert_near(hg_qp_violation(&qp, g), 0, 0);
}

/* What steps of two coefficients leave of 1 - 1 goes where the caller says that so much moves no F, and then the bias
 * is half way between what the others allow; otherwise it stays, as its K may be large. */
TEST(test_roundings_are_no_coefficients)
{
    struct hg_qp qp = new_qp(3, 1);
    double g[3] = { 7, -7, 20 };
    set(&qp, 0, 0, 0, -1, 1, DBL_EPSILON / 3);
    set(&qp, 0, 1, 0, -1, 1, 1);
    set(&qp, 0, 2, 0, -1, 1, -1);
    qp.kink = 6;
    hg_qp_tidy(&qp, DBL_EPSILON / 4);
    assert_true(qp.beta[0][0] == DBL_EPSILON / 3);
    hg_qp_tidy(&qp, DBL_EPSILON);
    assert_true(qp.beta[0][0] == 0 && qp.beta[0][1] == 1 && qp.beta[0][2] == -1);
    /* 0 may go up from F = 13, and down from 1; 1 down from -1; -1 up from 14 */
    assert_near(hg_qp_bias(&qp, NULL, 3, g, 0), -(13.0 + 1) / 2, 1e-15);
    set(&qp, 0, 0, 0, -DBL_EPSILON, DBL_EPSILON, DBL_EPSILON / 3); /* much of a narrow box is none */
    hg_qp_tidy(&qp, DBL_EPSILON);
    assert_true(qp.beta[0][0] > 0);
    set(&qp, 0, 0, 0, -1, 1, 4 * DBL_EPSILON); /* may move F by more than a rounding does */
    hg_qp_tidy(&qp, DBL_EPSILON);
    assert_true(qp.beta[0][0] > 0);
}

/* Where coefficients are at bounds whose sum rounds, one of them lacks what the sum does: it is at its bound too, and
 * the bias half way between what all allow. Beside another one that is inside its box it stays. */
TEST(test_sums_leave_no_coefficient)
{
    enum { N = 60 };
    struct hg_qp qp = new_qp(N, 1);
    double g[N] = { 0 };
    for (size_t i = 0; i < N; i++)
        set(&qp, 0, i, i < N / 2 ? -3 : -1, 0, 2.7, i < N / 2 ? 2.7 : 0);
    qp.beta[0][0] -= 100 * DBL_EPSILON;
    qp.beta[0][N / 2] = 1;
    hg_qp_tidy(&qp, 1e-12);
    assert_true(qp.beta[0][0] < 2.7);
    qp.beta[0][N / 2] = 0;
    hg_qp_tidy(&qp, 50 * DBL_EPSILON);
    assert_true(qp.beta[0][0] < 2.7);
    assert_near(hg_qp_bias(&qp, NULL, N, g, 0), 3, 1e-15);
    hg_qp_tidy(&qp, 1e-12);
    assert_true(qp.beta[0][0] == 2.7);
    assert_near(hg_qp_bias(&qp, NULL, N, g, 0), 2, 1e-15);
}

/* ---- known optima ---------------------------------------------------------------------------------------- */

static void solve_and_check(struct problem *p, hinge_dtype type, size_t working_set, double eps)
{
    struct hg_smo_options o = options(eps, working_set);
    restart(p);
    struct hg_smo_result res = run(p, type, &o);
    if (res.report.outcome != HINGE_CONVERGED)
        print_error("n = %zu, %d layers, kink %g, q = %zu: ended as '%s' at violation %g after %d rounds\n", p->n,
                    p->qp.layers, p->qp.kink, working_set, hinge_outcome_text(res.report.outcome), res.report.violation,
                    (int)res.report.rounds);
    check_optimum(p, &res, eps);
    size_t least = 4 * (size_t)p->qp.layers; /* half of it holds a pair of each layer */
    assert_int_equal(res.working_set, working_set == 0 ? p->n : HG_MIN(HG_MAX(working_set, least), p->n));
}

TEST(test_known_optimum)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct problem p = problem_new(kind, 40, seed, 0.4, 0.3, 0.5);
            for (int type = HINGE_F32; type <= HINGE_F64; type++)
                for (size_t q = 0; q <= 64; q += 16)
                    solve_and_check(&p, type, q, 1e-9);
            p = problem_new(kind, 500, seed, 0.2, 0.4, 0.5);
            solve_and_check(&p, seed % 2 ? HINGE_F32 : HINGE_F64, 16, 1e-9);
            solve_and_check(&p, HINGE_F32, 64, 1e-9);
            solve_and_check(&p, HINGE_F64, 0, 1e-9);
        }
}

TEST(test_known_optimum_2000)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct problem p = problem_new(kind, 2000, 7, 0.05, 0.1, 0.5);
        solve_and_check(&p, kind % 2 ? HINGE_F32 : HINGE_F64, 64, 1e-9);
    }
}

/* Large enough for thresholds from a sample of the points. */
TEST(test_known_optimum_4200)
{
    struct problem p = problem_new(BY_CLASS, 4200, 8, 0.02, 0.03, 0.5);
    solve_and_check(&p, HINGE_F64, 256, 1e-7);
}

/* The least working set: one pair, or less than a pair for each layer. */
TEST(test_tiny_working_sets)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t q = 2; q <= 7; q++) {
            struct problem p = problem_new(kind, 40, 9, 0.4, 0.3, 0.5);
            solve_and_check(&p, HINGE_F64, q, 1e-6);
        }
}

TEST(test_tiny_problems)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t n = 1; n <= 6; n++)
            for (uint64_t seed = 1; seed <= 20; seed++) {
                struct problem p = problem_new(kind, n, seed, 0.6, 0.2, 0.5);
                double *optimum = p.optimum[0];
                bool has_free[2] = { false, false };
                for (int l = 0; l < p.qp.layers; l++)
                    for (size_t i = 0; i < n; i++)
                        has_free[l] |= p.optimum[l][i] > p.qp.lo[l][i] && p.optimum[l][i] < p.qp.hi[l][i] &&
                                       (p.qp.kink == 0 || optimum[i] != 0);
                struct hg_smo_options o = options(1e-9, 0);
                restart(&p);
                struct hg_smo_result res = run(&p, HINGE_F64, &o);
                for (int l = 0; l < p.qp.layers; l++)
                    if (!has_free[l]) /* then the bias is an interval, and ours need not be its midpoint */
                        res.bias[l] = p.bias[l];
                check_optimum(&p, &res, 1e-9);
            }
}

/* ---- cache, shrinking, threads --------------------------------------------------------------------------- */

TEST(test_cache_budgets)
{
    struct problem p = problem_new(PLAIN, 500, 21, 0.3, 0.3, 0.5);
    for (int shrinking = 0; shrinking <= 1; shrinking++)
        for (size_t rows = 0; rows <= 500; rows = rows == 0 ? 1 : rows * 5 - rows / 4) {
            struct hg_smo_options o = options(1e-8, 16);
            o.cache_bytes = rows * 4096;
            o.shrinking = shrinking;
            restart(&p);
            struct hg_smo_result res = run(&p, HINGE_F64, &o);
            check_optimum(&p, &res, 1e-8);
            assert_true(res.report.cache_used <= o.cache_bytes && res.report.cache_bytes == o.cache_bytes);
            assert_true(res.report.rows_evicted <= res.report.rows_asked);
            if (rows > 0 && rows < 20)
                assert_true(res.report.rows_evicted > 0 && res.report.cache_used > 0);
            if (rows == 0) /* the start's rows are not counted */
                assert_true(res.report.rows_evicted == 0 &&
                            (shrinking || res.columns_computed == res.report.rows_asked * 500));
        }
    struct hg_smo_options o = options(1e-8, 16);
    o.shrinking = false;
    restart(&p);
    struct hg_smo_result res = run(&p, HINGE_F64, &o);
    assert_int_equal(res.report.rows_evicted, 0);
    assert_true(res.columns_computed <= 500 * 500); /* each row once */
}

/* Many points at bounds and a small working set: shrinking must happen, and the optimum be the same. */
TEST(test_shrinking)
{
    int shrunk = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t cache_rows = 0; cache_rows <= 1500; cache_rows += 500) {
            struct problem p = problem_new(kind, 1200, 31, 0.05, 0.25, 0.05);
            struct watch w = { 0 };
            struct hg_smo_options o = options(1e-7, 16);
            o.cache_bytes = cache_rows * 1200 * 8;
            o.progress = watch_progress, o.progress_arg = &w;
            restart(&p);
            struct hg_smo_result res = run(&p, HINGE_F32, &o);
            shrunk += w.least_active < 1000;
            assert_int_equal(w.rounds, res.report.rounds);
            /* by f32 steps, and anew */
            assert_near(w.objective, res.report.objective, 1e-7 * fabs(res.report.objective));
            check_optimum(&p, &res, 1e-7);
            w = (struct watch){ 0 };
            o.shrinking = false;
            restart(&p);
            res = run(&p, HINGE_F32, &o);
            assert_int_equal(w.least_active, 1200);
            check_optimum(&p, &res, 1e-7);
        }
    assert_true(shrunk >= 10);
}

/* Points wake by the rows of what has changed while they rested: all kernel values that a run asks for are fewer than
 * without shrinking, also where it is near its end as they go to rest. */
TEST(test_waking_goes_on)
{
    enum { N = 1200 };
    uint64_t values[2] = { 0 };
    for (uint64_t seed = 1; seed <= 6; seed++)
        for (int rests = 0; rests <= 1; rests++) {
            struct problem p = problem_new(0, N, seed, 0.3, 0.3, 0.05);
            struct hg_smo_options o = options(1e-3, 64);
            o.cache_bytes = 1;
            o.shrinking = rests != 0;
            restart(&p);
            struct hg_smo_result res = run(&p, HINGE_F64, &o);
            check_optimum(&p, &res, 1e-3);
            values[rests] += p.values;
        }
    print_message("values with shrinking: %.3f of those without\n", (double)values[1] / (double)values[0]);
    assert_true((double)values[1] < 0.62 * (double)values[0]); /* 0.69 by sums over all of beta */
}

/* Nearly singular, and a start far away, in a corner of the box: some points are laid to rest too early and
 * must come back. What has converged must have converged for all points. */
TEST(test_points_come_back)
{
    enum { N = 800 };
    double *g = get(N, sizeof *g);
    int woken = 0;
    for (int run_number = 0; run_number < 10; run_number++) {
        struct problem p = problem_new(run_number % KINDS, N, 3 + run_number / KINDS, 0.3, 0.3, 0.004);
        struct watch w = { 0 };
        struct hg_smo_options o = options(1e-3, 8);
        o.cache_bytes = 20 * N * 8;
        o.progress = watch_progress, o.progress_arg = &w;
        for (int l = 0; l < p.qp.layers; l++)
            for (size_t i = 0; i < N; i++)
                p.qp.beta[l][i] = i % 2 ? p.qp.lo[l][i] : p.qp.hi[l][i];
        assert_true(hg_qp_project(&p.qp, p.sums));
        struct hg_smo_result res = run(&p, HINGE_F64, &o);
        assert_int_equal(res.report.outcome, HINGE_CONVERGED);
        check_feasible(&p);
        plain_gradient(p.k, &p.qp, g);
        assert_true(w.least_active < N && hg_qp_violation(&p.qp, g) <= 2e-3);
        woken += w.widened;
    }
    print_message("points came back %d times in 10 runs\n", woken);
    assert_true(woken > 0);
}

/* Where values are dear, those of K_WW whose rows are held are not made again, and are the same. */
TEST(test_held_rows_serve_the_block)
{
    enum { N = 700 };
    double *cheap = get(N, sizeof *cheap);
    for (int kind = 0; kind < KINDS; kind++)
        for (int f32 = 0; f32 <= 1; f32++) {
            struct problem p = problem_new(kind, N, 43, 0.3, 0.3, 0.05);
            struct hg_smo_options o = options(1e-6, 64);
            uint64_t values[2];
            o.shrinking = false;
            o.threads = 1 + kind % 2;
            for (int dear = 0; dear <= 1; dear++) {
                p.cost = dear ? 100 : 0.7;
                restart(&p);
                struct hg_smo_result res = run(&p, f32 ? HINGE_F32 : HINGE_F64, &o);
                check_optimum(&p, &res, 1e-6);
                values[dear] = p.values;
                if (!dear)
                    memcpy(cheap, p.qp.beta[0], N * sizeof *cheap);
            }
            assert_memory_equal(cheap, p.qp.beta[0], N * sizeof *cheap);
            assert_true(values[1] < values[0]);
        }
}

TEST(test_threads_give_the_same_bits)
{
    double *one[2] = { get(700, sizeof(double)), get(700, sizeof(double)) };
    for (int kind = 0; kind < KINDS; kind++) {
        struct problem p = problem_new(kind, 700, 41, 0.2, 0.3, 0.1);
        uint64_t iterations = 0;
        for (int threads = 1; threads <= 3; threads++) {
            struct hg_smo_options o = options(1e-6, 32);
            o.threads = threads;
            o.cache_bytes = 200 * 700 * 4;
            restart(&p);
            struct hg_smo_result res = run(&p, HINGE_F32, &o);
            assert_int_equal(res.report.outcome, HINGE_CONVERGED);
            for (int l = 0; l < p.qp.layers; l++) {
                if (threads == 1)
                    memcpy(one[l], p.qp.beta[l], 700 * sizeof(double));
                assert_memory_equal(one[l], p.qp.beta[l], 700 * sizeof(double));
            }
            iterations = threads == 1 ? res.report.iterations : iterations;
            assert_int_equal(res.report.iterations, iterations);
        }
    }
}
