/* Perceptron and SGD: plain loops, exact solutions, separable data, seeds, threads, types, refusals. */
#include "test/support.h"

#include <hinge/theory.h>

/* Rows that w = (1, .., 1) / sqrt(d), b tell apart with at least this margin. */
static struct set separable(uint64_t seed, size_t n, size_t d, double b, double margin)
{
    struct set set = set_new(n, d);
    for (size_t i = 0; i < n; i++) {
        double f;
        do {
            f = b;
            for (size_t c = 0; c < d; c++) {
                set.x[i * d + c] = draw_normal(&seed);
                f += set.x[i * d + c] / sqrt((double)d);
            }
        } while (fabs(f) < margin);
        set.y[i] = f > 0 ? 1 : -1;
    }
    return set;
}

static double decide(const struct set *set, size_t i, const double *w, double b)
{
    for (size_t c = 0; c < set->d; c++)
        b += w[c] * set->x[i * set->d + c];
    return b;
}

static size_t errors_of(const struct set *set, const double *w, double b)
{
    size_t errors = 0;
    for (size_t i = 0; i < set->n; i++)
        errors += set->y[i] * decide(set, i, w, b) <= 0;
    return errors;
}

/* ---- the perceptron ---------------------------------------------------------------------------------------------- */

/* [Shi, eq. 1] to the letter, with "<" or "<=". */
TEST(batch_by_plain_loops)
{
    struct set set = set_two_class(1, 1500, 4, 2);
    double start[4] = { 0.3, -0.2, 0.1, 0.05 };
    for (int strict = 0; strict < 2; strict++)
        for (int bias = 0; bias < 2; bias++) {
            hinge_perceptron_options options = {
                .step = 0.01, .rounds = 40, .bias = bias, .strict = strict, .w0 = start
            };
            double w[4], b = 0, v[4], a = 0;
            hinge_online_round history[40];
            hinge_matrix x = set_matrix(&set);
            size_t rounds;
            assert_int_equal(hinge_perceptron(&x, set.y, &options, w, bias ? &b : NULL, history, &rounds, NULL),
                             HINGE_OK);
            assert_int_equal(rounds, 40); /* classes overlap */
            memcpy(v, start, sizeof v);
            for (size_t t = 0; t < 40; t++) {
                double sum[4] = { 0 }, sum_y = 0, loss = 0;
                for (size_t i = 0; i < set.n; i++) {
                    double margin = set.y[i] * decide(&set, i, v, a);
                    if (strict ? margin < 0 : margin <= 0) {
                        for (size_t c = 0; c < 4; c++)
                            sum[c] += set.y[i] * set.x[i * 4 + c];
                        sum_y += set.y[i];
                    }
                }
                for (size_t c = 0; c < 4; c++)
                    v[c] += 0.01 * sum[c];
                a += bias ? 0.01 * sum_y : 0;
                for (size_t i = 0; i < set.n; i++)
                    loss += fmax(0, -set.y[i] * decide(&set, i, v, a)) / (double)set.n;
                assert_int_equal(history[t].errors, errors_of(&set, v, a));
                assert_near(history[t].objective, loss, 1e-9);
            }
            assert_true(largest_difference(v, w, 4) <= 1e-9);
            assert_near(a, b, 1e-9);
        }
}

TEST(separable_data_are_separated)
{
    static const size_t batches[4] = { 0, 1, 16, 5000 };
    for (size_t k = 0; k < 8; k++) {
        int bias = k >= 4;
        struct set set = separable(k, 800, 5, bias ? 0.7 : 0, 0.1);
        hinge_perceptron_options options = { .rounds = 100000, .batch = batches[k % 4], .bias = bias, .seed = 3 };
        hinge_matrix x = set_matrix(&set);
        double w[5], b = 0;
        size_t rounds = 0, total = 0;
        hinge_online_round *history = get(100000, sizeof *history);
        assert_int_equal(hinge_perceptron(&x, set.y, &options, w, bias ? &b : NULL, history, &rounds, NULL), HINGE_OK);
        assert_int_equal(errors_of(&set, w, b), 0);
        assert_true(rounds > 0 && rounds < 100000);
        for (size_t t = 0; t < rounds; t++) {
            assert_int_equal(history[t].errors == 0, t + 1 == rounds);
            total += history[t].errors;
        }
        if (k == 0) /* errors of a batch run <= n R^2 / margin^2; of w_1 = 0, all n */
            assert_true((double)(total + set.n) <= 800 * 5 * 16 / 0.01);
        assert_true(history[rounds - 1].objective == 0);
    }
}

TEST(strict_from_zero_stays)
{
    struct set set = separable(9, 50, 3, 0, 0.1);
    hinge_perceptron_options options = { .strict = 1 };
    double w[3] = { 7, 7, 7 };
    size_t rounds = 99;
    assert_int_equal(hinge_perceptron(matrix_of(&set), set.y, &options, w, NULL, NULL, &rounds, NULL), HINGE_OK);
    assert_true(rounds == 0 && w[0] == 0 && w[1] == 0 && w[2] == 0); /* the first sum is empty */
    double start[3] = { 1e-3, 0, 0 };
    options.w0 = start;
    options.rounds = 10000;
    assert_int_equal(hinge_perceptron(matrix_of(&set), set.y, &options, w, NULL, NULL, &rounds, NULL), HINGE_OK);
    assert_true(rounds > 0);
    for (size_t i = 0; i < set.n; i++)
        assert_true(set.y[i] * decide(&set, i, w, 0) >= 0);
    options.w0 = w; /* nothing is left to do */
    double v[3];
    assert_int_equal(hinge_perceptron(matrix_of(&set), set.y, &options, v, NULL, NULL, &rounds, NULL), HINGE_OK);
    assert_true(rounds == 0);
    assert_memory_equal(w, v, sizeof w);
}

/* ---- SGD --------------------------------------------------------------------------------------------------------- */

static double objective_of(const struct set *set, double lambda, const double *w, double b)
{
    double norm2 = 0, loss = 0;
    for (size_t c = 0; c < set->d; c++)
        norm2 += w[c] * w[c];
    for (size_t i = 0; i < set->n; i++)
        loss += fmax(0, 1 - set->y[i] * decide(set, i, w, b));
    return lambda * norm2 + loss / (double)set->n;
}

/* min lambda ||w||^2 + mean hinge loss, with b by the dual (hinge_train), without by coordinate ascent here: alpha in
 * [0, C] one after the other, w = sum alpha y x (Hsieh et al. 2008). */
static double exact(const struct set *set, double lambda, int bias, double *w)
{
    double C = hinge_tradeoff_convert(HINGE_TRADEOFF_LAMBDA, HINGE_TRADEOFF_SUM, lambda, set->n), b = 0;
    memset(w, 0, set->d * sizeof *w);
    if (bias) {
        hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_linear(), C);
        params.eps = 1e-6;
        hinge_model *model = fit(set, &params, NULL);
        assert_int_equal(hinge_model_weights(model, 0, w, NULL), HINGE_OK);
        double sign = hinge_model_labels(model)[0];
        for (size_t c = 0; c < set->d; c++)
            w[c] *= sign;
        b = -hinge_model_rho(model)[0] * sign;
    } else {
        double *alpha = get(set->n, sizeof *alpha), change;
        int sweeps = 0;
        do {
            change = 0;
            for (size_t i = 0; i < set->n; i++) {
                double square = 0, old = alpha[i], slope = set->y[i] * decide(set, i, w, 0) - 1;
                for (size_t c = 0; c < set->d; c++)
                    square += set->x[i * set->d + c] * set->x[i * set->d + c];
                alpha[i] = fmin(C, fmax(0, old - slope / square));
                for (size_t c = 0; c < set->d; c++)
                    w[c] += (alpha[i] - old) * set->y[i] * set->x[i * set->d + c];
                change = fmax(change, fabs(alpha[i] - old) * square);
            }
        } while (change > 1e-7 && ++sweeps < 200000);
    }
    return objective_of(set, lambda, w, b);
}

/* After the documented number of epochs the objective is within 1e-2 of the optimum, with b and without. */
TEST(near_the_optimum)
{
    struct set sets[3] = { set_two_class(11, 1000, 5, 1.5), set_shipped("breast_cancer", "train", 30, 0, 1, 0),
                           separable(12, 500, 4, 0.5, 0.05) };
    set_scale(&sets[1]);
    for (size_t k = 0; k < 3; k++)
        for (double lambda = 1e-1; lambda > 0.9e-3; lambda /= 10)
            for (int bias = 0; bias < 2; bias++)
                for (size_t batch = 1; batch <= (lambda > 5e-3 ? 8 : 1); batch *= 8) {
                    const struct set *set = &sets[k];
                    hinge_matrix x = set_matrix(set);
                    hinge_sgd_options options = { .lambda = lambda, .batch = batch, .bias = bias, .seed = 5 };
                    double w[30], v[30], b = 0, best = exact(set, lambda, bias, v);
                    assert_int_equal(hinge_sgd(&x, set->y, &options, w, bias ? &b : NULL, NULL, NULL), HINGE_OK);
                    double found = objective_of(set, lambda, w, b);
                    if (getenv("VERBOSE"))
                        print_message("%zu lambda %g bias %d batch %zu: %.3e\n", k, lambda, bias, batch,
                                      found / best - 1);
                    assert_true(found >= best * (1 - 1e-6));
                    assert_true(found <= best * 1.01);
                }
}

/* Two steps of the recursion by hand. */
TEST(steps_by_hand)
{
    double x[2] = { 2, 2 }, y[2] = { 1, 1 }, w;
    hinge_matrix two = hinge_matrix_f64(x, 2, 1);
    hinge_online_round history[1];
    /* lambda = 1/2: eta_1 = 1, w = 0 + 1 * 2 = 2, onto ||w|| <= 1: 1. eta_2 = 1/2: margin 2, w = 1 - 1/2 = 1/2. */
    hinge_sgd_options options = { .lambda = 0.5, .epochs = 1, .last = 1 };
    assert_int_equal(hinge_sgd(&two, y, &options, &w, NULL, history, NULL), HINGE_OK);
    assert_near(w, 0.5, 1e-15);
    assert_near(history[0].objective, 0.125, 1e-15);
    assert_int_equal(history[0].errors, 0);
    options.last = 0; /* weights 1, 2: (1 + 2 * 1/2) / 3 */
    assert_int_equal(hinge_sgd(&two, y, &options, &w, NULL, NULL, NULL), HINGE_OK);
    assert_near(w, 2.0 / 3, 1e-15);
    /* eta = 0.1 / t: w = 0.2; then margin 0.4 < 1: 0.2 (1 - 0.05) + 0.05 * 2 = 0.29 */
    options = (hinge_sgd_options){ .lambda = 0.5, .epochs = 1, .last = 1, .eta = 0.1, .power = 1 };
    assert_int_equal(hinge_sgd(&two, y, &options, &w, NULL, NULL, NULL), HINGE_OK);
    assert_near(w, 0.29, 1e-15);
    options.batch = 2; /* one step on both: 0.1 / 2 * (2 + 2) */
    assert_int_equal(hinge_sgd(&two, y, &options, &w, NULL, NULL, NULL), HINGE_OK);
    assert_near(w, 0.2, 1e-15);
}

/* b is the best there is for w: no other value has a lower objective. */
TEST(best_bias)
{
    struct set set = set_two_class(13, 301, 3, 2);
    hinge_sgd_options options = { .lambda = 0.01, .epochs = 3, .bias = 1 };
    double w[3], b;
    assert_int_equal(hinge_sgd(matrix_of(&set), set.y, &options, w, &b, NULL, NULL), HINGE_OK);
    double here = objective_of(&set, 0.01, w, b);
    for (double move = -3; move < 3; move += 0.001)
        assert_true(objective_of(&set, 0.01, w, b + move) >= here - 1e-12);
    double only[301];
    for (size_t i = 0; i < 301; i++)
        only[i] = -1;
    assert_int_equal(hinge_sgd(matrix_of(&set), only, &options, w, &b, NULL, NULL), HINGE_OK); /* one class only */
    for (size_t i = 0; i < 301; i++)
        assert_true(decide(&set, i, w, b) <= -1 + 1e-9);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

TEST(threads_seeds_types)
{
    struct set set = set_two_class(21, 5000, 7, 2);
    float *x32 = get(5000 * 9, sizeof *x32);
    for (size_t i = 0; i < 5000; i++)
        for (size_t c = 0; c < 7; c++) {
            x32[i * 9 + c] = (float)set.x[i * 7 + c];
            set.x[i * 7 + c] = x32[i * 9 + c];
        }
    hinge_matrix x = set_matrix(&set), narrow = { x32, HINGE_F32, 5000, 7, 9 };
    for (size_t batch = 0; batch <= 100; batch += 50) {
        hinge_perceptron_options p = { .rounds = 7, .batch = batch, .bias = 1, .seed = 4, .threads = 1 };
        hinge_sgd_options s = { .lambda = 1e-3, .epochs = 2, .batch = batch, .bias = 1, .seed = 4, .threads = 1 };
        double w[2][7], b[2], v[7], a;
        hinge_online_round h[2][7], g[7];
        assert_int_equal(hinge_perceptron(&x, set.y, &p, w[0], &b[0], h[0], NULL, NULL), HINGE_OK);
        assert_int_equal(hinge_sgd(&x, set.y, &s, w[1], &b[1], h[1], NULL), HINGE_OK);
        for (int threads = 2; threads <= 5; threads++) { /* the same bits */
            p.threads = s.threads = threads;
            assert_int_equal(hinge_perceptron(&x, set.y, &p, v, &a, g, NULL, NULL), HINGE_OK);
            assert_memory_equal(v, w[0], sizeof v);
            assert_memory_equal(g, h[0], sizeof g);
            assert_int_equal(hinge_sgd(&x, set.y, &s, v, &a, g, NULL), HINGE_OK);
            assert_memory_equal(v, w[1], sizeof v);
            assert_memory_equal(g, h[1], 2 * sizeof *g);
            assert_true(a == b[1]);
        }
        assert_int_equal(hinge_perceptron(&narrow, set.y, &p, v, &a, NULL, NULL, NULL), HINGE_OK);
        assert_true(largest_difference(v, w[0], 7) <= 1e-9 * (1 + fabs(w[0][0])));
        assert_int_equal(hinge_sgd(&narrow, set.y, &s, v, &a, NULL, NULL), HINGE_OK);
        assert_true(largest_difference(v, w[1], 7) <= 1e-9);
        s.seed = p.seed = 5; /* another order */
        assert_int_equal(hinge_sgd(&x, set.y, &s, v, &a, NULL, NULL), HINGE_OK);
        assert_true(memcmp(v, w[1], sizeof v) != 0);
        assert_int_equal(hinge_perceptron(&x, set.y, &p, v, &a, NULL, NULL, NULL), HINGE_OK);
        assert_int_equal(memcmp(v, w[0], sizeof v) != 0, batch > 0);
    }
}

TEST(refusals)
{
    double x[4] = { 1, 2, 3, 4 }, y[2] = { 1, -1 }, odd[2] = { 1, 0 }, bad[4] = { 1, NAN, 3, 4 };
    double w[2] = { 5, 6 }, b = 7;
    hinge_matrix m = hinge_matrix_f64(x, 2, 2), broken = hinge_matrix_f64(bad, 2, 2), none = hinge_matrix_f64(x, 0, 2);
    hinge_sgd_options good = { .lambda = 1, .epochs = 1, .bias = 1 }, s;
    hinge_perceptron_options p = { .bias = 1 };
#define SAYS(call, word) \
    do { \
        assert_int_equal((call), HINGE_EINVAL); \
        if (strstr(err.text, word) == NULL) \
            fail_msg("\"%s\" does not say \"%s\"", err.text, word); \
    } while (0)
    SAYS(hinge_sgd(&m, odd, &good, w, &b, NULL, &err), "row 1 is 0");
    SAYS(hinge_sgd(&broken, y, &good, w, &b, NULL, &err), "row 0, column 1");
    SAYS(hinge_sgd(&none, y, &good, w, &b, NULL, &err), "no rows");
    SAYS(hinge_sgd(&m, NULL, &good, w, &b, NULL, &err), "y: NULL");
    SAYS(hinge_sgd(&m, y, NULL, w, &b, NULL, &err), "options");
    SAYS(hinge_sgd(&m, y, &good, NULL, &b, NULL, &err), "w: NULL");
    SAYS(hinge_sgd(&m, y, &good, w, NULL, NULL, &err), "b: NULL");
    s = good, s.bias = 0;
    SAYS(hinge_sgd(&m, y, &s, w, &b, NULL, &err), "b: given");
    s = good, s.bias = 2;
    SAYS(hinge_sgd(&m, y, &s, w, &b, NULL, &err), "bias: 2");
    s = good, s.lambda = 0;
    SAYS(hinge_sgd(&m, y, &s, w, &b, NULL, &err), "lambda: 0");
    s = good, s.eta = -1;
    SAYS(hinge_sgd(&m, y, &s, w, &b, NULL, &err), "eta");
    s = good, s.epochs = 0;
    hinge_online_round round;
    SAYS(hinge_sgd(&m, y, &s, w, &b, &round, &err), "history");
    s = good, s.threads = -1;
    SAYS(hinge_sgd(&m, y, &s, w, &b, NULL, &err), "threads: -1");
    SAYS(hinge_perceptron(&m, odd, &p, w, &b, NULL, NULL, &err), "row 1 is 0");
    SAYS(hinge_perceptron(&m, y, NULL, w, &b, NULL, NULL, &err), "b: given");
    p.step = -1;
    SAYS(hinge_perceptron(&m, y, &p, w, &b, NULL, NULL, &err), "step: -1");
    p.step = 0, p.w0 = bad;
    SAYS(hinge_perceptron(&m, y, &p, w, &b, NULL, NULL, &err), "w0");
    assert_true(w[0] == 5 && w[1] == 6 && b == 7);
    assert_int_equal(hinge_perceptron(&m, y, NULL, w, NULL, NULL, NULL, &err), HINGE_OK);
    assert_string_equal(err.text, "");
    assert_int_equal(hinge_sgd_epochs(0.25, 3, 100, 1), 6);
    assert_int_equal(hinge_sgd_epochs(0.25, 3, 100, 4), 24);
    assert_int_equal(hinge_sgd_epochs(1, 1, 100000, 0), 5);
    assert_int_equal(hinge_sgd_epochs(1e-6, 100, 100, 1), 1000);
}

struct watch {
    size_t last, calls, rounds; /* it ends the run after so many rounds */
    uint64_t steps;
};

static int watching(void *arg, const hinge_progress *p)
{
    struct watch *w = arg;
    assert_true(p->n_problems == 1 && p->n == 600 && isnan(p->violation));
    assert_true(p->rounds >= w->rounds && p->iterations >= w->steps && p->seconds >= 0);
    w->calls += p->rounds > w->rounds; /* once a round at least */
    w->rounds = p->rounds;
    w->steps = p->iterations;
    return p->rounds >= w->last;
}

/* A run that its callback ends after some rounds has come to what a run of as many rounds comes to. */
TEST(callback_ends_it)
{
    struct set set = set_two_class(23, 600, 5, 3);
    for (size_t batch = 0; batch <= 7; batch += 7)
        for (size_t last = 1; last <= 4; last += 3) {
            hinge_perceptron_options p = { .rounds = last, .batch = batch, .bias = 1 };
            hinge_sgd_options s = { .lambda = 1e-3, .epochs = last, .batch = batch, .bias = 1 };
            double w[5], v[5], b, a;
            size_t rounds;
            struct watch watch = { .last = last };
            assert_int_equal(hinge_perceptron(matrix_of(&set), set.y, &p, w, &b, NULL, NULL, NULL), HINGE_OK);
            p.rounds = 50;
            p.progress = watching;
            p.progress_arg = &watch;
            assert_int_equal(hinge_perceptron(matrix_of(&set), set.y, &p, v, &a, NULL, &rounds, NULL), HINGE_OK);
            assert_true(rounds == last && watch.rounds == last && watch.calls == last);
            assert_true(memcmp(v, w, sizeof v) == 0 && a == b);
            watch = (struct watch){ .last = last };
            assert_int_equal(hinge_sgd(matrix_of(&set), set.y, &s, w, &b, NULL, NULL), HINGE_OK);
            s.epochs = 50;
            s.progress = watching;
            s.progress_arg = &watch;
            assert_int_equal(hinge_sgd(matrix_of(&set), set.y, &s, v, &a, NULL, NULL), HINGE_OK);
            assert_true(watch.rounds == last && watch.calls == last);
            assert_int_equal(watch.steps, last * (batch == 0 ? 600 : 86));
            assert_true(memcmp(v, w, sizeof v) == 0 && a == b);
        }
}
