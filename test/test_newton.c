/*
 * The Newton finish: on problems whose optimum is known (backwards.h), against the dense QP solver for all tasks, on
 * degenerate problems, within budgets, stopped, and with any number of threads. Claims are checked in plain loops.
 */
#include "backwards.h"
#include "solver/smo/face.h"
#include "solver/smo/newton.h"
#include "support.h"

#include <hinge/qp.h>
#include <inttypes.h>

/* Newton's systems hold the sums: kinds without one are SMO's. */
static int next_kind(int kind)
{
    do
        kind++;
    while (kind == ALONE || kind == ALONE_KINK);
    return kind;
}

static struct hg_newton_options finish_options(double eps, int threads, int *stop)
{
    return (struct hg_newton_options){ .eps = eps,
                                       .bytes = (size_t)1 << 30,
                                       .threads = threads,
                                       .cpu_level = hg_cpu_level(0),
                                       .halt = { .stop = stop } };
}

static struct hg_newton_result finish(struct problem *p, const struct hg_newton_options *o, double *g)
{
    struct fake rows = fake_rows(p->k, p->n, HINGE_F64, o->threads);
    struct hg_newton_result res;
    assert_int_equal(hg_newton_finish(&p->qp, &rows.super, g, o, &res), HINGE_OK);
    check_feasible(p);
    return res;
}

/* From where SMO stops at a violation of `from`; 0: from the start. */
static void finish_and_check(struct problem *p, double from)
{
    int stop = 0;
    struct hg_newton_options o = finish_options(1e-10, 1, &stop);
    struct hg_smo_options smo = options(from, 64);
    double *g = get(p->n, sizeof *g), *plain = get(p->n, sizeof *plain);
    restart(p);
    if (from > 0)
        run(p, HINGE_F64, &smo);
    struct hg_newton_result res = finish(p, &o, g);
    plain_gradient(p->k, &p->qp, plain);
    assert_int_equal(res.end, HG_NEWTON_DONE);
    assert_true(res.gained && res.systems > 0 && res.work > 0);
    assert_true(res.bytes > 0 && res.bytes <= o.bytes);
    assert_true(hg_qp_violation(&p->qp, plain) <= 1e-10 + 1e-14 * (double)p->n && res.violation <= 1e-10);
    assert_true(largest_difference(g, plain, p->n) <= 1e-14 * (double)p->n);
    assert_near(hg_qp_objective(&p->qp, plain), p->objective, 1e-10 * fabs(p->objective));
    for (int l = 0; l < p->qp.layers; l++)
        for (size_t i = 0; i < p->n; i++)
            assert_near(p->qp.beta[l][i], p->optimum[l][i], 1e-4);
}

TEST(test_known_optimum)
{
    static const double ridge[] = { 0.5, 1e-3, 1e-5 };
    for (int kind = next_kind(-1); kind < KINDS; kind = next_kind(kind))
        for (size_t r = 0; r < 3; r++) {
            struct problem p = problem_new(kind, 400, 5 + r, 0.4, 0.3, ridge[r]);
            finish_and_check(&p, 1e-3);
            finish_and_check(&p, 0.1);
        }
}

/* One factorisation and a few solutions are enough where the bounds are nearly right. */
TEST(test_few_systems)
{
    double g[400];
    int stop = 0;
    struct hg_newton_options o = finish_options(1e-10, 1, &stop);
    struct hg_smo_options smo = options(1e-3, 64);
    for (int kind = next_kind(-1); kind < KINDS; kind = next_kind(kind)) {
        struct problem p = problem_new(kind, 400, 2, 0.4, 0.3, 0.5);
        restart(&p);
        run(&p, HINGE_F64, &smo);
        struct hg_newton_result res = finish(&p, &o, g);
        assert_true(res.end == HG_NEWTON_DONE && res.systems <= 4 && res.steps == 0);
    }
}

/* A finish that takes more work than it was granted ends, and what it has is feasible. */
TEST(test_granted)
{
    double g[400];
    int stop = 0;
    struct hg_smo_options smo = options(0.1, 64);
    for (int kind = next_kind(-1); kind < KINDS; kind = next_kind(kind)) {
        struct problem p = problem_new(kind, 400, 2, 0.4, 0.3, 1e-5);
        double work = 0;
        for (int tight = 0; tight < 2; tight++) {
            struct hg_newton_options o = finish_options(1e-10, 1, &stop);
            o.most_work = tight ? work / 2 : 0;
            restart(&p);
            run(&p, HINGE_F64, &smo);
            struct hg_newton_result res = finish(&p, &o, g);
            assert_int_equal(res.end, tight ? HG_NEWTON_SLOW : HG_NEWTON_DONE);
            assert_true(res.work > 0 && (!tight || res.work < work));
            work = res.work;
        }
    }
}

/* No entry is inside its box at the optimum, nor at the start. */
TEST(test_all_at_bounds)
{
    double g[200];
    int stop = 0;
    struct hg_newton_options o = finish_options(1e-9, 1, &stop);
    for (int kind = next_kind(-1); kind < KINDS; kind = next_kind(kind)) {
        struct problem p = problem_new(kind, 200, 12, 0, 0.5, 0.5);
        restart(&p);
        struct hg_smo_options smo = options(1e-2, 16);
        run(&p, HINGE_F64, &smo);
        struct hg_newton_result res = finish(&p, &o, g);
        assert_int_equal(res.end, HG_NEWTON_DONE);
        for (size_t i = 0; i < 200; i++)
            assert_near(p.qp.beta[0][i], p.optimum[0][i], 1e-9);
    }
}

/* ---- all tasks, against the dense QP ----------------------------------------------------------------------------- */

/* The dual in alpha: a variable a point, two for regression (s = +1, then s = -1). */
static double dense_objective(const struct set *s, const hinge_params *p)
{
    bool svr = hinge_task_info(p->task)->regresses, two_sums = hinge_task_info(p->task)->two_sums;
    size_t n = s->n, m = svr ? 2 * n : n;
    double *k = plain_gram(&p->kernel, s, s), *q = get(m * m, sizeof *q), *linear = get(m, sizeof *linear);
    double *a = get(2 * m * m, sizeof *a), *c = get(2 * m, sizeof *c), *e = get(2 * m, sizeof *e);
    double f[2] = { 0, 0 }, total = 0;
    for (size_t i = 0; i < n; i++)
        total += p->weights != NULL ? p->weights[i] : 1;
    for (size_t v = 0; v < m; v++) {
        size_t i = v % n;
        double sign = svr ? (v < n ? 1 : -1) : p->task == HINGE_ONE_CLASS ? 1 : s->y[i];
        double w = p->weights != NULL ? p->weights[i] : 1;
        double box = (p->task == HINGE_C_SVC || svr ? p->C : 1) * w;
        for (size_t u = 0; u < m; u++)
            q[v * m + u] = sign * (svr ? (u < n ? 1 : -1) : p->task == HINGE_ONE_CLASS ? 1 : s->y[u % n]) *
                           k[i * n + u % n];
        linear[v] = p->task == HINGE_C_SVC ? -1 : svr ? -sign * s->y[i] : 0;
        linear[v] += p->task == HINGE_EPSILON_SVR ? p->p : 0;
        a[v * m + v] = 1;
        a[(m + v) * m + v] = -1;
        c[m + v] = -box;
        if (two_sums)
            e[(sign > 0 ? 0 : m) + v] = 1;
        else
            e[v] = sign;
    }
    f[0] = p->task == HINGE_ONE_CLASS ? p->nu * total
                                      : two_sums ? p->nu * total / 2 * (p->task == HINGE_NU_SVR ? p->C : 1) : 0;
    f[1] = f[0];
    hinge_qp qp = { .n = m, .q = q, .p = linear, .n_inequalities = 2 * m, .a = a, .c = c,
                    .n_equalities = two_sums ? 2 : 1, .e = e, .f = f, .eps = 1e-12 };
    hinge_qp_result result = { 0 };
    assert_int_equal(hinge_qp_solve(&qp, &result, NULL), HINGE_OK);
    assert_true(result.residual < 1e-10);
    return result.primal;
}

static void check_certificate(const struct set *s, const hinge_params *p, const hinge_model *m)
{
    struct plain_certificate plain = plain_certify(m, s, p);
    assert_true(plain.kkt <= 2e-9);
    assert_true(plain.primal - plain.dual <= 1e-8 * (1 + fabs(plain.primal)) && plain.box == 0 && plain.sum <= 1e-12);
}

/* Whether Newton's steps were called for. */
static bool agree(const struct set *s, hinge_params p)
{
    hinge_report r, alone;
    p.solver = HINGE_SOLVER_SMO;
    p.eps = 1e-9;
    p.working_set = 16;
    p.threads = 1;
    hinge_model *m = converged(s, &p, &r);
    assert_true((r.newton_steps > 0) == (strstr(r.path, ", newton") != NULL) && r.newton_no_room == 0);
    double scale = 1;
    if (p.task == HINGE_NU_SVC) { /* objective and alpha are of the problem divided by r */
        double *beta = fit_beta(m, s->n), sum = 0;
        for (size_t i = 0; i < s->n; i++)
            sum += fabs(beta[i]);
        scale = p.nu * (double)s->n / sum;
    }
    double dense = dense_objective(s, &p);
    if (!(fabs(r.objective * scale * scale - dense) <= 1e-9 * (1 + fabs(dense))))
        print_error("task %d, C %g, kernel %d: %.15g, the dense QP says %.15g\n", (int)p.task, p.C, (int)p.kernel.type,
                    r.objective * scale * scale, dense);
    assert_true(fabs(r.objective * scale * scale - dense) <= 1e-9 * (1 + fabs(dense)));
    if (!hinge_task_info(p.task)->uses_nu)
        check_certificate(s, &p, m);
    if (p.task != HINGE_C_SVC)
        return r.newton_steps > 0;
    p.newton = 0;
    m = fit(s, &p, &alone);
    assert_true(alone.newton_steps == 0 && strstr(alone.path, "newton") == NULL);
    assert_true(r.newton_steps == 0 || r.iterations < alone.iterations);
    return r.newton_steps > 0;
}

TEST(test_tasks)
{
    struct set c = set_two_class(3, 120, 4, 1.5), r = set_regression(4, 80, 3);
    double weights[120];
    int used = 0;
    for (size_t i = 0; i < 120; i++)
        weights[i] = 0.5 + (double)(i % 4) / 2;
    for (int task = HINGE_C_SVC; task <= HINGE_NU_SVR; task++) {
        hinge_params p = hinge_params_default(task);
        bool svr = hinge_task_info((hinge_task)task)->regresses;
        p.kernel = hinge_kernel_rbf(0.1);
        p.C = 300;
        p.nu = 0.1;
        p.p = 0.05;
        used += agree(svr ? &r : &c, p);
        if (task != HINGE_NU_SVC) { /* nu-SVC's factor above is for weights of 1 */
            p.weights = weights;
            used += agree(svr ? &r : &c, p);
        }
    }
    print_message("used in %d of 9 trainings\n", used);
    assert_true(used >= 6);
}

/* A smooth kernel and large boxes: steps of two entries do not get done with W, systems of its free entries do. Seen:
 * 250,000 and 5,200,000 steps. */
TEST(test_in_the_working_set)
{
    struct set s = set_regression(9, 1500, 3);
    hinge_params p = hinge_params_default(HINGE_EPSILON_SVR);
    hinge_report by_systems, by_pairs;
    p.kernel = hinge_kernel_rbf(0.3);
    p.C = 1e4, p.p = 0.01, p.eps = 0.01;
    p.solver = HINGE_SOLVER_SMO, p.precision = HINGE_PRECISION_F64, p.working_set = 128;
    hinge_model *m = fit(&s, &p, &by_systems), *pairs;
    struct plain_certificate plain = plain_certify(m, &s, &p);
    p.newton = 0;
    pairs = fit(&s, &p, &by_pairs);
    print_message("%" PRIu64 " steps (%" PRIu64 " systems), %" PRIu64 " steps of pairs alone\n", by_systems.iterations,
                  by_systems.newton_steps, by_pairs.iterations);
    assert_non_null(pairs);
    assert_int_equal(by_systems.outcome, HINGE_CONVERGED);
    assert_true(plain.kkt <= 2 * p.eps && plain.box == 0 && plain.sum <= 1e-12 * p.C * (double)s.n);
    assert_true(by_systems.newton_steps > 0 && by_pairs.newton_steps == 0);
    assert_true(by_systems.iterations < by_pairs.iterations / 2);
    assert_true(by_systems.objective < by_pairs.objective + 1e-2 * fabs(by_pairs.objective));
}

struct finish {
    uint64_t most, calls;
    bool ended; /* a call came after it that is not of it */
};

static int watch_finish(void *arg, const hinge_progress *p)
{
    struct finish *f = arg;
    if (p->newton) {
        assert_true(p->newton_steps >= f->most);
        f->most = p->newton_steps;
        f->calls++;
    }
    f->ended |= f->calls > 0 && !p->newton;
    return 0;
}

/* Progress tells that the finish is at work, and of what moves in it. */
TEST(test_is_told)
{
    struct set s = set_two_class(3, 120, 4, 1.5);
    hinge_params p = hinge_params_default(HINGE_C_SVC);
    hinge_report r;
    struct finish f = { 0 };
    p.kernel = hinge_kernel_rbf(0.1);
    p.C = 300, p.eps = 1e-9, p.working_set = 16, p.threads = 1, p.solver = HINGE_SOLVER_SMO;
    p.progress = watch_finish, p.progress_arg = &f;
    converged(&s, &p, &r);
    assert_true(r.newton_steps > 0 && f.calls > 0 && f.most > 0 && f.most <= r.newton_steps);
    f = (struct finish){ 0 };
    p.newton = 0;
    converged(&s, &p, &r);
    assert_int_equal(f.calls, 0);
}

/* Every row three times, some of them with the other label; kernels of rank 3 and 10; C from tiny to huge. */
TEST(test_degenerate)
{
    struct set s = set_two_class(7, 120, 2, 1.5);
    for (size_t i = 40; i < 120; i++)
        memcpy(s.x + i * 2, s.x + (i % 40) * 2, 2 * sizeof(double));
    for (size_t i = 40; i < 120; i++)
        s.y[i] = i % 7 == 0 ? -s.y[i % 40] : s.y[i % 40];
    hinge_params p = hinge_params_default(HINGE_C_SVC);
    p.p = 0.1;
    for (int kernel = 0; kernel < 3; kernel++)
        for (p.C = 0.3; p.C < 1e4; p.C *= 160) {
            p.kernel = kernel == 0   ? hinge_kernel_linear()
                       : kernel == 1 ? hinge_kernel_polynomial(3, 0.5, 1)
                                     : hinge_kernel_rbf(2);
            hinge_params q = p;
            hinge_report r;
            q.solver = HINGE_SOLVER_SMO, q.eps = 1e-9, q.working_set = 16, q.max_iter = 2000000;
            fit(&s, &q, &r);
            double dense = dense_objective(&s, &q);
            bool ended = r.outcome == HINGE_CONVERGED || /* rounding keeps F from 1e-9 where C is huge */
                         (r.outcome == HINGE_STALLED && p.C > 1000);
            if (!ended || fabs(r.objective - dense) > 1e-9 * (1 + fabs(dense)))
                print_error("kernel %d, C %g: %s, %.15g, the dense QP says %.15g\n", kernel, p.C,
                            hinge_outcome_text(r.outcome), r.objective, dense);
            assert_true(ended);
            assert_close(r.objective, dense, 1e-9);
        }
}

/* ---- budgets, threads, ends -------------------------------------------------------------------------------------- */

TEST(test_no_room)
{
    double g[400];
    int stop = 0;
    struct hg_newton_options o = finish_options(1e-9, 1, &stop);
    struct problem p = problem_new(PLAIN, 400, 2, 0.4, 0.3, 0.5);
    struct hg_smo_options smo = options(1e-3, 64);
    restart(&p);
    run(&p, HINGE_F64, &smo);
    double *before = get(400, sizeof *before);
    memcpy(before, p.qp.beta[0], 400 * sizeof *before);
    o.bytes = 100000;
    struct hg_newton_result res = finish(&p, &o, g);
    assert_true(res.end == HG_NEWTON_NO_ROOM && !res.gained && res.bytes > o.bytes && res.systems == 0);
    assert_memory_equal(before, p.qp.beta[0], 400 * sizeof *before);
    o.bytes = res.bytes * 3 / 2; /* those near the bounds need more than those inside */
    assert_int_equal(finish(&p, &o, g).end, HG_NEWTON_DONE);

    struct set s = set_two_class(3, 400, 4, 1.5);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_report r;
    params.kernel = hinge_kernel_rbf(0.1), params.C = 300, params.eps = 1e-8, params.working_set = 16;
    params.cache_bytes = 20000, params.solver = HINGE_SOLVER_SMO;
    fit(&s, &params, &r);
    assert_true(r.newton_steps == 0 && r.newton_no_room > 0);
    assert_non_null(strstr(r.path, "no room for newton"));
    struct set three = set_blobs(3, 600, 60, 3, NULL, 1); /* of several problems each has its room too */
    for (size_t i = 0; i < three.n; i++)
        three.y[i] = (double)(i % 3);
    params.cache_bytes = 0;
    params.kernel = hinge_kernel_rbf(0.0005);
    fit(&three, &params, &r);
    assert_true(r.newton_steps > 0 && r.newton_no_room == 0);
}

/* More rows than are factored at a time. */
TEST(test_threads_give_the_same_bits)
{
    enum { N = 900 };
    double *one[2] = { get(N, sizeof(double)), get(N, sizeof(double)) }, *g = get(N, sizeof *g),
           *first = get(N, sizeof *first);
    for (int kind = next_kind(-1); kind < KINDS; kind = next_kind(kind)) {
        struct problem p = problem_new(kind, N, 41, 0.7, 0.2, 1e-3);
        for (int threads = 1; threads <= 3; threads++) {
            int stop = 0;
            struct hg_newton_options o = finish_options(1e-9, threads, &stop);
            struct hg_smo_options smo = options(0.05, 64);
            restart(&p);
            run(&p, HINGE_F32, &smo);
            struct hg_newton_result res = finish(&p, &o, threads == 1 ? first : g);
            assert_int_equal(res.end, HG_NEWTON_DONE);
            for (int l = 0; l < p.qp.layers; l++) {
                if (threads == 1)
                    memcpy(one[l], p.qp.beta[l], N * sizeof(double));
                assert_memory_equal(one[l], p.qp.beta[l], N * sizeof(double));
            }
            if (threads > 1)
                assert_memory_equal(first, g, N * sizeof *g);
        }
    }
}

struct stopper {
    int *stop, after, called;
};

static void stop_later(void *arg, double violation)
{
    struct stopper *s = arg;
    assert_true(violation >= -1e-9);
    if (++s->called == s->after)
        *s->stop = 2;
}

TEST(test_stopped)
{
    double g[600];
    struct problem p = problem_new(PLAIN, 600, 3, 0.5, 0.2, 1e-5);
    for (int after = 0; after < 6; after++) {
        int stop = after == 0 ? 2 : 0;
        struct stopper s = { &stop, after, 0 };
        struct hg_newton_options o = finish_options(1e-10, 1, &stop);
        o.progress = stop_later, o.progress_arg = &s;
        o.halt.deadline = after == 5 ? hg_now() - 1 : 0;
        restart(&p);
        double start = plain_objective(p.k, &p.qp);
        struct hg_newton_result res = finish(&p, &o, g);
        assert_int_equal(res.end, HG_NEWTON_ENDED);
        assert_int_equal(stop, after == 5 ? 1 : 2);
        double end = plain_objective(p.k, &p.qp);
        assert_true(res.gained ? end < start : end == start);
    }
}

TEST(test_failing_source)
{
    double g[200];
    struct problem p = problem_new(BY_SIGN, 200, 64, 0.3, 0.3, 0.5);
    int stop = 0;
    struct hg_newton_options o = finish_options(1e-10, 1, &stop);
    for (int after = 0; after < 3; after++) {
        struct fake rows = fake_rows(p.k, p.n, HINGE_F64, 1);
        struct hg_newton_result res;
        rows.fail_after = after;
        restart(&p);
        assert_int_equal(hg_newton_finish(&p.qp, &rows.super, g, &o, &res), HINGE_ECALLBACK);
        check_feasible(&p);
    }
}

/* SMO turns to it for a tight eps, and never where it was told not to. */
TEST(test_when)
{
    for (int threads = 1; threads <= 2; threads++) {
        struct problem p = problem_new(PLAIN, 1200, 5, 0.3, 0.2, 1e-3);
        for (int newton = -1; newton <= 1; newton++) { /* -1: without room for it */
            struct hg_smo_options o = options(1e-8, 64);
            o.newton_bytes = newton < 0 ? 5000 : newton ? (size_t)1 << 30 : 0;
            o.threads = threads;
            restart(&p);
            struct hg_smo_result res = run(&p, HINGE_F64, &o);
            assert_true((res.report.newton_steps > 0) == (newton > 0));
            assert_true((res.report.newton_no_room > 0) == (newton < 0));
            check_optimum(&p, &res, 1e-8);
        }
    }
}

/* Four entries inside their boxes. As they are, no work is allowed: there is no step, and what memory held in its place
 * is not taken for one. With a matrix that rounding left indefinite, by 1e-6, the ridge grows until it has a factor. */
static void check_face(bool indefinite)
{
    enum { N = 4 };
    int stop = 0;
    struct hg_halt halt = { .stop = &stop };
    struct hg_inner in;
    double decrease = 0, sum = 0;
    assert_int_equal(hg_inner_init(&in, N, &(struct hg_qp){ .layers = 1 }, HINGE_F64, hg_loops(1), NULL), HINGE_OK);
    in.qp.n = N;
    for (size_t k = 0; k < N; k++) {
        for (size_t j = 0; j < N && indefinite; j++)
            ((double *)in.k)[k * in.ld + j] = 1 + 1e-6;
        ((double *)in.k)[k * in.ld + k] = 1;
        in.qp.off[0][k] = k % 2 == 0 ? -1 : 1;
        in.qp.lo[0][k] = -1;
        in.qp.hi[0][k] = 1;
        hg_inner_take_diagonal(&in, k);
    }
    struct hg_face face = { .in = &in, .threads = 1, .halt = &halt, .most_work = indefinite ? 1e9 : 0 };
    assert_int_equal(hg_face_init(&face, N), HINGE_OK);
    face.first[0] = 1;
    double violation = hg_face_solve(&face, 1e-6, &decrease);
    for (size_t k = 0; k < N; k++) {
        assert_true(fabs(in.qp.beta[0][k]) <= (indefinite ? 1 : 0) && (indefinite || in.g[k] == 0));
        sum += in.qp.beta[0][k];
    }
    assert_near(sum, 0, 1e-12);
    if (indefinite)
        assert_true(face.systems > 0 && face.least >= 1e-6 && decrease > 1 && violation < 2);
    else
        assert_true(face.systems == 0 && decrease == 0 && violation == 2);
    hg_face_free(&face);
    hg_inner_free(&in);
}

TEST(no_step_without_a_system)
{
    check_face(false);
}

TEST(ridge_where_rounding_left_no_square)
{
    check_face(true);
}
