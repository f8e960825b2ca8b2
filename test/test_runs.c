/* How training runs: threads, limits, warm starts, callbacks, several trainings at once. */
#include "lib/base/base.h"
#include "test/support.h"

#include <stdatomic.h>

static const double labels[] = { 4, 2, 8 }; /* of blobs, where a test has none of its own */

static hinge_params c_svc(double gamma, double C, double eps)
{
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(gamma), C);
    params.eps = eps;
    return params;
}

/* Bit for bit, all a model holds. */
static void check_same_model(const hinge_model *a, const hinge_model *b)
{
    size_t n_sv = hinge_model_n_sv(a), k = hinge_model_n_classes(a), problems = hinge_model_n_problems(a);
    assert_int_equal(hinge_model_n_sv(b), n_sv);
    assert_int_equal(hinge_model_n_classes(b), k);
    assert_memory_equal(hinge_model_coef(a), hinge_model_coef(b), (k - 1) * n_sv * sizeof(double));
    assert_memory_equal(hinge_model_rho(a), hinge_model_rho(b), problems * sizeof(double));
    assert_memory_equal(hinge_model_objectives(a), hinge_model_objectives(b), problems * sizeof(double));
    assert_memory_equal(hinge_model_sv_index(a), hinge_model_sv_index(b), n_sv * sizeof(size_t));
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void same_for_threads(const struct set *set, hinge_params params, bool evicts)
{
    hinge_model *first = NULL;
    const int threads[] = { 1, 2, 4, 2 };
    for (size_t i = 0; i < 4; i++) {
        params.threads = threads[i];
        hinge_report report;
        hinge_model *model = converged(set, &params, &report);
        assert_int_equal(report.threads, threads[i]);
        assert_true(report.rounds > report.n_problems); /* several working sets, or the test says little */
        assert_true(!evicts || report.rows_evicted > 0);
        if (first == NULL)
            first = model;
        else
            check_same_model(first, model);
    }
}

TEST(threads_two_class)
{
    struct set set = set_two_class(20, 6000, 20, 1), part = set;
    part.n = 3000;
    hinge_params params = c_svc(0.05, 3, 1e-3);
    same_for_threads(&part, params, false);
    same_for_threads(&set, params, false);
    params.cache_bytes = 1 << 20;
    same_for_threads(&part, params, true);
    params.shrinking = 0;
    params.precision = HINGE_PRECISION_F64;
    same_for_threads(&part, params, true);
}

TEST(threads_multi_class)
{
    const double labels[] = { 4, 2, 8, 6, 1 };
    struct set set = set_blobs(21, 3000, 20, 5, labels, 0.9);
    hinge_params params = c_svc(0.05, 3, 1e-3);
    params.working_set = 128;
    same_for_threads(&set, params, false);
    params.cache_bytes = 1 << 20;
    same_for_threads(&set, params, false);
}

/* Of three problems the first is the largest, and leaves little of the memory that it shares with those after it: the
 * room for their Newton finish is the same, wherever they run. */
TEST(threads_newton)
{
    struct set all = set_blobs(36, 2400, 8, 3, labels, 1.4);
    size_t rows[2400], count = 0, last = 0;
    for (size_t i = 0; i < all.n; i++)
        if (all.y[i] != 8 || last++ < 60)
            rows[count++] = i;
    struct set set = set_rows(&all, rows, count);
    hinge_params params = c_svc(0.1, 300, 1e-8);
    params.working_set = 64;
    hinge_model *model[2];
    hinge_report report[2];
    for (int t = 0; t < 2; t++) {
        params.threads = t + 1;
        model[t] = converged(&set, &params, &report[t]);
    }
    assert_true(report[0].newton_steps > 0);
    assert_int_equal(report[0].newton_steps, report[1].newton_steps);
    check_same_model(model[0], model[1]);
}

TEST(threads_regression)
{
    struct set set = set_regression(22, 3000, 8);
    hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.3), 5);
    same_for_threads(&set, params, false);
}

/* Predictions of any number of threads are the same bits. */
TEST(threads_prediction)
{
    struct set set = set_blobs(23, 2000, 12, 3, labels, 0.9);
    hinge_params params = c_svc(0.1, 1, 1e-3);
    hinge_model *model = fit(&set, &params, NULL);
    double *f[3];
    for (int i = 0; i < 3; i++) {
        hinge_predict_options options = { .threads = 1 << i };
        f[i] = get(3 * set.n, sizeof(double));
        assert_int_equal(hinge_predict(model, matrix_of(&set), &options, NULL, f[i], NULL), HINGE_OK);
        assert_memory_equal(f[0], f[i], 3 * set.n * sizeof(double));
    }
    /* one row alone is the same to rounding, and its label follows from its decisions */
    for (size_t r = 0; r < set.n; r += 37) {
        hinge_matrix row = hinge_matrix_f64(set.x + r * set.d, 1, set.d);
        double alone[3], label, votes[3] = { 0 };
        assert_int_equal(hinge_predict(model, &row, NULL, &label, alone, NULL), HINGE_OK);
        assert_near(largest_difference(alone, f[0] + 3 * r, 3), 0, 1e-6);
        for (size_t p = 0, a = 0; a < 3; a++)
            for (size_t b = a + 1; b < 3; b++, p++)
                votes[alone[p] > 0 ? a : b]++;
        size_t best = 0;
        for (size_t a = 1; a < 3; a++)
            best = votes[a] > votes[best] ? a : best;
        assert_true(label == hinge_model_labels(model)[best]);
    }
}

TEST(blas_is_openmp)
{
#ifdef BLAS_SYMBOL_PREFIX
    skip_because("the OpenBLAS of Python's index has threads of its own");
#endif
    hinge_machine machine = hinge_machine_info();
    print_message("           %s, %d threads, level %d\n", machine.blas, machine.threads, machine.cpu_level);
    assert_int_equal(machine.blas_is_openmp, 1);
    assert_in_range(machine.cpu_level, 1, 4);
    assert_true(machine.total_memory > 1 << 20);
}

/* ---- Warm start -------------------------------------------------------------------------------------------------- */

TEST(warm_start)
{
    for (size_t k = 2; k <= 3; k++) {
        struct set set = set_blobs(24, 900, 8, k, labels, 1);
        hinge_params params = c_svc(0.1, 3, 1e-5);
        params.precision = HINGE_PRECISION_F64; /* in f32 objectives are as good as rows are */
        hinge_report cold, warm;
        hinge_model *model = fit(&set, &params, &cold);
        size_t problems = cold.n_problems, count = problems * set.n;
        double *beta = fit_beta(model, set.n);
        params.beta0 = beta;
        converged(&set, &params, &warm);
        assert_close(warm.objective, cold.objective, 1e-9);

        uint64_t seed = 1; /* garbage, in and out of the box, of either sign */
        for (size_t i = 0; i < count; i++)
            beta[i] = draw(&seed) % 3 == 0 ? 0 : 20 * draw_unit(&seed) - 10;
        converged(&set, &params, &warm);
        assert_close(warm.objective, cold.objective, 1e-6);

        for (size_t i = 0; i < count; i++) /* at one bound, all of them */
            beta[i] = 1e300;
        converged(&set, &params, &warm);
        assert_close(warm.objective, cold.objective, 1e-6);
    }
}

/* From another C's solution, and for the tasks whose sums are not 0. */
TEST(warm_start_other_tasks)
{
    struct set sets[] = { set_two_class(25, 500, 5, 1), set_regression(26, 500, 4) };
    const hinge_task tasks[] = { HINGE_C_SVC, HINGE_NU_SVC, HINGE_ONE_CLASS, HINGE_EPSILON_SVR, HINGE_NU_SVR };
    for (size_t t = 0; t < 5; t++) {
        const struct set *set = &sets[t >= 3];
        hinge_params params = hinge_params_default(tasks[t]);
        params.kernel = hinge_kernel_rbf(0.2);
        params.eps = 1e-6;
        params.nu = 0.3;
        hinge_report cold, warm;
        hinge_model *model = converged(set, &params, &cold);
        uint64_t seed = t;
        double *beta = fit_beta(model, set->n);
        params.beta0 = beta;
        for (int garbage = 0; garbage < 2; garbage++) {
            model = converged(set, &params, &warm);
            /* nu-SVC's is divided by r^2, which is as inexact as eps allows */
            assert_close(warm.objective, cold.objective, tasks[t] == HINGE_NU_SVC ? 1e-5 : 1e-6);
            for (size_t i = 0; i < set->n; i++)
                beta[i] = 4 * draw_unit(&seed) - 2;
        }
    }
}

/* From a solution, next to nothing is left to do. */
TEST(warm_start_is_quick)
{
    struct set sets[] = { set_two_class(34, 900, 8, 1), set_regression(35, 900, 5) };
    const hinge_task tasks[] = { HINGE_C_SVC, HINGE_NU_SVC, HINGE_ONE_CLASS, HINGE_EPSILON_SVR, HINGE_NU_SVR };
    size_t slow = 0;
    for (size_t t = 0; t < 5; t++) {
        const struct set *set = &sets[t >= 3];
        hinge_params params = hinge_params_default(tasks[t]);
        params.kernel = hinge_kernel_rbf(0.2);
        params.nu = 0.3;
        params.precision = HINGE_PRECISION_F64;
        hinge_report cold, warm;
        hinge_model *model = fit(set, &params, &cold);
        double *beta = fit_beta(model, set->n);
        params.beta0 = beta;
        fit(set, &params, &warm);
        if (warm.iterations > cold.iterations / 50) {
            print_error("task %d: %u iterations, cold %u\n", (int)tasks[t], (unsigned)warm.iterations,
                        (unsigned)cold.iterations);
            slow++;
        }
    }
    assert_int_equal(slow, 0);
}

/* Rows that are all one point leave of coefficients given that sum to 0 what rounding does of their sum: the point's
 * coefficient is 0, and so are the rows'. */
TEST(warm_start_leaves_no_rounding)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed;
        struct set set = set_new(211, 2);
        double beta0[211], sum = 0;
        for (size_t i = 0; i < set.n; i++) {
            set.x[2 * i] = 0.3;
            set.x[2 * i + 1] = -1.7;
            set.y[i] = 1.5;
            beta0[i] = i + 1 < set.n ? 0.002 * draw_unit(&random) - 0.001 : -sum;
            sum += beta0[i];
        }
        hinge_params params = params_for(HINGE_QUANTILE, hinge_kernel_rbf(0.1), 0.25);
        params.tau = 0.9;
        params.beta0 = beta0;
        double *beta = fit_beta(converged(&set, &params, NULL), set.n);
        for (size_t i = 0; i < set.n; i++)
            if (beta[i] != 0)
                fail_msg("seed %d, row %d: %g", (int)seed, (int)i, beta[i]);
    }
}

/* The same where the given ones are far larger than what may stay of them: the box reaches far down, but hardly up. */
TEST(projected_start_leaves_no_rounding)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t random = seed;
        struct set set = set_new(6, 2);
        double beta0[6];
        for (size_t i = 0; i < set.n; i++) {
            set.x[2 * i] = set.y[i] = 1;
            beta0[i] = draw_normal(&random);
        }
        hinge_params params = params_for(HINGE_QUANTILE, hinge_kernel_rbf(0.1), 0.75);
        params.tau = 6e-5;
        params.beta0 = beta0;
        double *beta = fit_beta(converged(&set, &params, NULL), set.n);
        for (size_t i = 0; i < set.n; i++)
            if (beta[i] != 0)
                fail_msg("seed %d, row %d: %g", (int)seed, (int)i, beta[i]);
    }
}

/* ---- Limits and the progress callback ---------------------------------------------------------------------------- */

/* A run cut short gives a model that is feasible, predicts, and is what its report says. */
static void check_usable(const struct set *set, const hinge_params *params, const hinge_model *model,
                         const hinge_report *report)
{
    hinge_certificate certificate = certified(model, set, params);
    assert_true(certificate.box_residual <= 1e-15);
    assert_true(certificate.sum_residual <= 1e-10);
    assert_true(certificate.gap >= 0 && isfinite(certificate.gap));
    assert_true(certificate.kkt > params->eps); /* not the optimum, or the limit was no limit */
    assert_near(-certificate.dual, report->objective, 1e-5 * (1 + fabs(report->objective)));
    assert_true(isfinite(hinge_model_rho(model)[0]));
    size_t count = set->n * hinge_model_n_problems(model);
    double *f = fit_decisions(model, set, HINGE_PRECISION_AUTO);
    for (size_t i = 0; i < count; i++)
        assert_true(isfinite(f[i]));
}

struct watch {
    atomic_int inside;
    int overlaps, calls, stop_after, after_stop;
    size_t n_problems, n;
    double seconds;
    bool sane;
};

static int watch_progress(void *arg, const hinge_progress *p)
{
    struct watch *w = arg;
    w->overlaps += atomic_fetch_add(&w->inside, 1) != 0;
    w->after_stop += w->stop_after > 0 && w->calls >= w->stop_after;
    w->calls++;
    w->sane &= p->problem < p->n_problems && p->n_problems == w->n_problems && p->n <= w->n &&
               (p->rounds > 0 || isinf(p->violation)) && /* asked before the first was over */
               p->n_active <= p->n && p->n_sv <= p->n && !isnan(p->violation) && isfinite(p->objective) &&
               p->objective <= 0 && p->seconds >= 0;
    w->seconds = p->seconds;
    atomic_fetch_sub(&w->inside, 1);
    return w->stop_after > 0 && w->calls >= w->stop_after;
}

TEST(limits)
{
    const double labels[] = { 4, 2, 8, 1 };
    for (size_t k = 2; k <= 4; k += 2) {
        struct set set = set_blobs(27, 2500, 10, k, labels, 1.2);
        hinge_params params = c_svc(0.1, 100, 1e-6);
        for (int way = 0; way < 4; way++) {
            struct watch w = { .n_problems = k * (k - 1) / 2, .n = set.n, .sane = true };
            hinge_params p = params;
            p.max_iter = way == 0 ? 100 : way == 1 ? 1 : 0;
            p.time_limit = way == 2 ? 1e-6 : 0;
            p.progress = watch_progress;
            p.progress_arg = &w;
            w.stop_after = way == 3 ? 3 : 0;
            hinge_report report;
            hinge_model *model = fit(&set, &p, &report);
            const hinge_outcome expected[] = { HINGE_MAX_ITER, HINGE_MAX_ITER, HINGE_TIME_LIMIT, HINGE_STOPPED };
            assert_int_equal(report.outcome, expected[way]);
            if (way < 2) {
                assert_true(report.iterations <= p.max_iter * report.n_problems);
                assert_true(report.iterations >= 1);
            }
            assert_true(w.sane);
            assert_int_equal(w.overlaps, 0);
            assert_int_equal(w.after_stop, 0);
            if (way == 3)
                assert_int_equal(w.calls, 3);
            assert_true(report.n_sv == hinge_model_n_sv(model));
            check_usable(&set, &params, model, &report);
        }
    }
}

TEST(time_limit_holds)
{
    struct set set = set_two_class(28, 8000, 10, 1.5);
    hinge_params params = c_svc(0.05, 1e5, 1e-7);
    params.time_limit = 0.3;
    params.precision = HINGE_PRECISION_F64;
    hinge_report report;
    hinge_model *model = fit(&set, &params, &report);
    assert_int_equal(report.outcome, HINGE_TIME_LIMIT);
    assert_true(report.seconds >= 0.3); /* test_limits counts what is done after the limit */
    check_usable(&set, &params, model, &report);
}

TEST(progress_tells)
{
    for (size_t k = 2; k <= 3; k++) {
        struct set set = set_blobs(29, 1500, 10, k, labels, 1.2);
        hinge_params params = c_svc(0.1, 10, 1e-3);
        hinge_model *without = fit(&set, &params, NULL);
        struct watch w = { .n_problems = k * (k - 1) / 2, .n = set.n, .sane = true };
        params.progress = watch_progress;
        params.progress_arg = &w;
        hinge_report report;
        hinge_model *with = fit(&set, &params, &report);
        assert_true(w.sane && w.overlaps == 0);
        assert_true((uint64_t)w.calls >= report.rounds); /* more often where a round takes long */
        assert_true(w.seconds <= report.seconds);
        check_same_model(without, with);
    }
}

/* ---- Where the time goes ----------------------------------------------------------------------------------------- */

/* What can be said of any clock: the stages are parts of the phase, and no machine is as fast as 1e4 a second. */
static void check_stages(const hinge_report *r)
{
    const hinge_stages *s = &r->stages;
    const double parts[] = { s->gather, s->products, s->map, s->update, s->read };
    double sum = 0;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        assert_true(parts[k] >= 0);
        sum += parts[k];
    }
    assert_true(sum > 0 && sum <= r->phase.rows + 1e-6);
    assert_true(s->gflop > 0 && s->gflop < r->gflop && s->gflop < 1e4 * s->products);
    assert_true(s->gbytes > 0 && s->gbytes <= 1e-9 * (double)r->bytes_read && s->gbytes < 1e4 * s->read);
    assert_true(s->gather > 0 && s->update > 0);
}

TEST(stages_are_parts)
{
    const struct {
        size_t n, d, k;
        hinge_precision precision;
        bool sparse;
    } cases[] = {
        { 1500, 50, 2, HINGE_PRECISION_F64, false },
        { 1500, 50, 2, HINGE_PRECISION_F32, false },
        { 1500, 50, 2, HINGE_PRECISION_F32, true },
        { 2400, 50, 3, HINGE_PRECISION_F64, false }, /* problems side by side */
        { 4500, 50, 2, HINGE_PRECISION_F32, false }, /* rows that are just worth keeping */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t d = cases[c].d, n = cases[c].n;
        struct set set = set_blobs(31, n, d, cases[c].k, labels, 3);
        for (size_t i = 0; i < n * d && cases[c].sparse; i++)
            set.x[i] = i % 20 == 0 ? set.x[i] : 0;
        hinge_params params = c_svc(0.005, 10, 1e-3);
        params.precision = cases[c].precision;
        params.threads = 2;
        params.max_iter = 4000;
        params.cpu_level = cases[c].sparse ? 0 : 3; /* with AVX-512 dense rows go by lists too */
        hinge_report plain, r;
        hinge_model *without = fit(&set, &params, &plain);
        params.profile = 1;
        hinge_model *with = fit(&set, &params, &r);
        check_same_model(without, with);
        assert_memory_equal(&plain.stages, &(hinge_stages){ 0 }, sizeof plain.stages);
        check_stages(&r);
        assert_true((strstr(r.path, "lists") != NULL) == cases[c].sparse);
        assert_true(cases[c].sparse || r.stages.map > 0);
        if (r.precision == HINGE_PRECISION_F64) { /* a row's value is read where it was computed, or in the cache */
            double computed = 8e9 * r.stages.gflop / (2 * (double)d), bytes = (double)r.bytes_read;
            assert_true(fabs(1e9 * r.stages.gbytes + computed - bytes) <= 1e-9 * bytes);
        }
    }
}

TEST(stages_of_folds)
{
    struct set set = set_two_class(32, 1800, 60, 1);
    hinge_params params = c_svc(0.005, 10, 1e-3);
    params.threads = 2;
    params.profile = 1;
    double *labels = get(set.n, sizeof *labels);
    hinge_report r;
    hinge_error err = { 0 };
    assert_int_equal(hinge_cross_validate(matrix_of(&set), set.y, &params, 3, labels, &r, &err), HINGE_OK);
    check_stages(&r);
}

TEST(predictions_in_float)
{
    struct set set = set_blobs(78, 300, 4, 3, NULL, 1);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = fit(&set, &params, NULL);
    hinge_matrix x = set_matrix(&set), narrow = x;
    double *label = fit_labels(model, &set), *decision = fit_decisions(model, &set, HINGE_PRECISION_AUTO);
    float label32[300], decision32[900];
    assert_int_equal(hinge_predict_f32(model, &x, NULL, label32, NULL, NULL), HINGE_OK);
    assert_int_equal(hinge_predict_f32(model, &x, NULL, NULL, decision32, NULL), HINGE_OK);
    for (size_t i = 0; i < 300; i++)
        assert_true(label32[i] == (float)label[i]);
    for (size_t i = 0; i < 900; i++)
        assert_true(decision32[i] == (float)decision[i]);
    narrow.cols = 3;
    label32[0] = 42;
    assert_int_equal(hinge_predict_f32(model, &narrow, NULL, label32, decision32, &err), HINGE_EINVAL);
    assert_int_equal(hinge_predict_f32(NULL, &x, NULL, label32, decision32, &err), HINGE_EINVAL);
    assert_int_equal(hinge_predict_f32(model, NULL, NULL, label32, decision32, &err), HINGE_EINVAL);
    assert_true(label32[0] == 42);
}

struct told {
    size_t calls, left;
    int answer;
};

static int of_prediction(void *arg, const hinge_progress *p)
{
    struct told *t = arg;
    assert_true(p->n == 5000 && p->n_active < 5000 && p->n_problems == 1);
    t->calls++;
    t->left = p->n_active;
    return t->answer;
}

/* The callback hears of the first rows that are done, and can end the prediction, which then leaves no half results. */
TEST(prediction_tells)
{
    struct set set = set_two_class(77, 5000, 6, 2);
    size_t first[300];
    for (size_t i = 0; i < 300; i++)
        first[i] = i;
    struct set some = set_rows(&set, first, 300);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = fit(&some, &params, NULL);
    double *labels = fit_labels(model, &set), *again = get(5000, sizeof *again);
    for (int threads = 1; threads <= 2; threads++) {
        struct told told = { 0 };
        hinge_predict_options options = { .threads = threads, .progress = of_prediction, .progress_arg = &told };
        assert_int_equal(hinge_predict(model, matrix_of(&set), &options, again, NULL, NULL), HINGE_OK);
        assert_true(told.calls > 0);
        assert_memory_equal(again, labels, 5000 * sizeof *again);
        for (size_t i = 0; i < 5000; i++)
            again[i] = 42;
        told = (struct told){ .answer = 1 };
        assert_refused(hinge_predict(model, matrix_of(&set), &options, again, NULL, &err), HINGE_ECALLBACK, "progress");
        assert_true(told.calls == 1 && told.left > 0);
        for (size_t i = 0; i < 5000; i++)
            assert_true(again[i] == 42);
    }
}
