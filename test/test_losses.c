/* Other losses and the ball by SGD, the ball of C-SVC, hyperplanes normalised, falsification: plain loops, exact optima
 * by Newton's method, feasible neighbours, sums in long double. */
#include "test/support.h"

#include <hinge/theory.h>

enum { D = 3 };

static double decide(const struct set *set, size_t i, const double *w, double b)
{
    for (size_t c = 0; c < set->d; c++)
        b += w[c] * set->x[i * set->d + c];
    return b;
}

static double risk(const struct set *set, hinge_loss loss, const double *w, double b)
{
    double sum = 0;
    for (size_t i = 0; i < set->n; i++) {
        double m = set->y[i] * decide(set, i, w, b);
        sum += loss == HINGE_LOSS_HINGE        ? fmax(0, 1 - m)
               : loss == HINGE_LOSS_PERCEPTRON ? fmax(0, -m)
               : loss == HINGE_LOSS_LOGISTIC   ? log2(1 + exp(-m))
                                               : exp(-m);
    }
    return sum / (double)set->n;
}

static double squared(const double *w)
{
    return w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
}

static double objective(const struct set *set, hinge_loss loss, double lambda, const double u[D + 1])
{
    return lambda * squared(u) + risk(set, loss, u, u[D]);
}

/* Minimises lambda |w|^2 + risk over u = (w, b) by gradients from differences and steps that are halved until they
 * help. */
static double least(const struct set *set, hinge_loss loss, double lambda, int bias)
{
    double u[D + 1] = { 0 }, value = objective(set, loss, lambda, u), step = 1;
    for (int k = 0; k < 3000 && step > 1e-12; k++) {
        double g[D + 1] = { 0 }, next[D + 1];
        for (int c = 0; c < D + bias; c++) {
            double save = u[c];
            u[c] = save + 1e-6;
            g[c] = objective(set, loss, lambda, u);
            u[c] = save - 1e-6;
            g[c] = (g[c] - objective(set, loss, lambda, u)) / 2e-6;
            u[c] = save;
        }
        for (step *= 4; step > 1e-12; step /= 2) {
            for (int c = 0; c <= D; c++)
                next[c] = u[c] - step * g[c];
            if (objective(set, loss, lambda, next) < value)
                break;
        }
        memcpy(u, step > 1e-12 ? next : u, sizeof u);
        value = objective(set, loss, lambda, u);
    }
    return value;
}

TEST(slopes_are_differences)
{
    for (hinge_loss loss = 0; loss < HINGE_N_LOSSES; loss++)
        for (double m = -3.05; m < 3; m += 0.1) {
            double change = hinge_loss_value(loss, m - 1e-6) - hinge_loss_value(loss, m + 1e-6);
            if (loss != HINGE_LOSS_ZERO_ONE)
                assert_near(hinge_loss_slope(loss, m), change / 2e-6, 1e-7 * (1 + fabs(change / 2e-6)));
        }
    assert_true(hinge_loss_slope(HINGE_LOSS_ZERO_ONE, 0) == 0 && isnan(hinge_loss_slope(HINGE_N_LOSSES, 0)));
    assert_true(hinge_loss_slope(HINGE_LOSS_HINGE, 1) == 0 && hinge_loss_slope(HINGE_LOSS_PERCEPTRON, 0) == 1);
    assert_true(isfinite(hinge_loss_slope(HINGE_LOSS_EXPONENTIAL, -1e6)));
}

TEST(smooth_losses_come_to_their_optima)
{
    struct set set = set_two_class(5400100, 400, D, 1.5);
    for (int bias = 0; bias < 2; bias++)
        for (double lambda = 0.1; lambda > 0.009; lambda /= 10)
            for (hinge_loss loss = HINGE_LOSS_LOGISTIC; loss <= HINGE_LOSS_EXPONENTIAL; loss += 2) {
                hinge_sgd_options options = { .lambda = lambda, .loss = loss, .bias = bias, .seed = 5, .epochs = 400 };
                double u[D + 1] = { 0 }, best = least(&set, loss, lambda, bias);
                hinge_online_round history[400];
                assert_int_equal(hinge_sgd(matrix_of(&set), set.y, &options, u, bias ? &u[D] : NULL, history, NULL),
                                 HINGE_OK);
                double found = objective(&set, loss, lambda, u);
                if (getenv("VERBOSE"))
                    print_message("loss %d bias %d lambda %g: %g\n", loss, bias, lambda, found / best - 1);
                assert_true(found >= best * (1 - 1e-6) && found <= best * 1.01);
                if (!bias) /* what the history says is what is returned */
                    assert_near(history[399].objective, found, 1e-12);
                double here = risk(&set, loss, u, u[D]);
                for (double move = -1; bias && move <= 1; move += 0.01) /* b is the best for w */
                    assert_true(risk(&set, loss, u, u[D] + move) >= here - 1e-12);
            }
}

/* With the perceptron's loss, steps of eta and no lambda, a batch of one is the classical perceptron. */
/* Rows that are far from the origin want a b that is far from 0. */
TEST(biases_far_away)
{
    static const hinge_loss losses[] = { HINGE_LOSS_LOGISTIC, HINGE_LOSS_EXPONENTIAL };
    for (int k = 0; k < 2; k++) {
        struct set set = set_two_class(31, 200, D, 0.5);
        hinge_sgd_options options = { .lambda = 0.01, .loss = losses[k], .bias = 1, .seed = 5, .epochs = 3 };
        double w[D], b;
        for (size_t i = 0; i < set.n * D; i++)
            set.x[i] += 1e5;
        assert_ok(hinge_sgd(matrix_of(&set), set.y, &options, w, &b, NULL, &err));
        assert_true(fabs(b) > 4096);
        for (int j = -20; j <= 20; j++)
            assert_true(risk(&set, losses[k], w, b + 0.01 * j) >= risk(&set, losses[k], w, b) * (1 - 1e-9));
    }
}

TEST(perceptron_by_its_loss)
{
    struct set set = set_two_class(5400101, 200, D, 1);
    hinge_sgd_options s = { .loss = HINGE_LOSS_PERCEPTRON, .eta = 0.5, .epochs = 3, .last = 1, .seed = 9 };
    hinge_perceptron_options p = { .step = 0.5, .rounds = 3, .batch = 1, .seed = 9 };
    double w[D], v[D];
    assert_int_equal(hinge_sgd(matrix_of(&set), set.y, &s, w, NULL, NULL, NULL), HINGE_OK);
    assert_int_equal(hinge_perceptron(matrix_of(&set), set.y, &p, v, NULL, NULL, NULL, NULL), HINGE_OK);
    assert_true(squared(v) > 0 && largest_difference(v, w, D) <= 1e-12);
}

/* No point of the ball, near or far, has a smaller mean loss, to so much; the problem is convex. */
static void check_in_ball(const struct set *set, hinge_loss loss, double ball, const double *w, double b, double slack)
{
    uint64_t seed = 5400102;
    double here = risk(set, loss, w, b);
    assert_true(squared(w) <= ball * (1 + 1e-2 * slack));
    for (int k = 0; k < 4000; k++) {
        double v[D], size = pow(10, -4 * draw_unit(&seed)), a = b + size * draw_normal(&seed);
        for (int c = 0; c < D; c++)
            v[c] = w[c] + size * draw_normal(&seed);
        double shrink = fmin(1, sqrt(ball / squared(v)));
        for (int c = 0; c < D; c++)
            v[c] *= shrink;
        assert_true(risk(set, loss, v, a) >= here - slack);
    }
}

TEST(the_ball_both_ways)
{
    struct set set = set_two_class(5400103, 300, D, 1.5);
    for (double ball = 0.002; ball < 1; ball *= 10) {
        hinge_params params = hinge_params_default(HINGE_C_SVC), again;
        hinge_model *model = NULL;
        hinge_error err;
        double C, w[D], norm2;
        params.kernel = hinge_kernel_linear();
        params.eps = 1e-7;
        assert_int_equal(hinge_tradeoff_ball(&model, matrix_of(&set), set.y, &params, ball, &C, &err), HINGE_OK);
        assert_int_equal(hinge_model_norm2(model, 0, &norm2, NULL), HINGE_OK);
        assert_near(norm2 / ball, 1, 2e-6);
        assert_int_equal(hinge_model_weights(model, 0, w, NULL), HINGE_OK);
        double sign = hinge_model_labels(model)[0], b = -*hinge_model_rho(model) * sign, v[D], a;
        for (int c = 0; c < D; c++)
            w[c] *= sign;
        check_in_ball(&set, HINGE_LOSS_HINGE, ball, w, b, 1e-5);
        hinge_model_free(model);
        again = params; /* the other way: C's own solution has this norm */
        again.C = C;
        assert_int_equal(hinge_train(&model, matrix_of(&set), set.y, &again, NULL, NULL), HINGE_OK);
        assert_int_equal(hinge_model_norm2(model, 0, &norm2, NULL), HINGE_OK);
        assert_near(norm2 / ball, 1, 1e-4);
        hinge_model_free(model);
        hinge_sgd_options options = { .ball = ball, .bias = 1, .epochs = 500, .seed = 7 };
        assert_int_equal(hinge_sgd(matrix_of(&set), set.y, &options, v, &a, NULL, NULL), HINGE_OK);
        assert_true(squared(v) <= ball * (1 + 1e-12));
        double best = risk(&set, HINGE_LOSS_HINGE, w, b), found = risk(&set, HINGE_LOSS_HINGE, v, a);
        assert_true(found >= best - 1e-5 && found <= 1.01 * best);
        options.loss = HINGE_LOSS_LOGISTIC;
        assert_int_equal(hinge_sgd(matrix_of(&set), set.y, &options, v, &a, NULL, NULL), HINGE_OK);
        check_in_ball(&set, HINGE_LOSS_LOGISTIC, ball, v, a, 5e-3);
    }
}

/* Where the hard margin lies in the ball the constraint binds at no C; what cannot be is refused. */
TEST(balls_that_do_not_bind)
{
    double x[] = { 0, 0, 2, 2, 2, 0, 3, 0 }, y[] = { -1, -1, 1, 1 }, three[] = { 1, 2, 3, 1 }, C = 5, norm2;
    hinge_matrix m = hinge_matrix_f64(x, 4, 2);
    hinge_params params = hinge_params_default(HINGE_C_SVC), other = hinge_params_default(HINGE_ONE_CLASS);
    hinge_model *model = NULL;
    hinge_error err;
    params.kernel = hinge_kernel_linear();
    params.eps = 1e-8;
    assert_int_equal(hinge_tradeoff_ball(&model, &m, y, &params, 2.5, &C, &err), HINGE_OK);
    assert_int_equal(hinge_model_norm2(model, 0, &norm2, NULL), HINGE_OK); /* the widest street's: 2 */
    assert_true(isinf(C));
    assert_near(norm2, 2, 1e-6);
    hinge_model_free(model);
    model = NULL;
    C = 5;
    assert_int_equal(hinge_tradeoff_ball(&model, &m, y, &params, -1, &C, &err), HINGE_EINVAL);
    assert_non_null(strstr(err.text, "ball: -1"));
    assert_int_equal(hinge_tradeoff_ball(&model, &m, three, &params, 1, &C, &err), HINGE_EINVAL);
    assert_non_null(strstr(err.text, "two classes"));
    assert_int_equal(hinge_tradeoff_ball(&model, &m, NULL, &other, 1, &C, &err), HINGE_EINVAL);
    assert_true(model == NULL && C == 5);
    hinge_sgd_options s = { .lambda = 1, .epochs = 1, .loss = HINGE_LOSS_ZERO_ONE };
    double w[2] = { 5, 6 };
    assert_int_equal(hinge_sgd(&m, y, &s, w, NULL, NULL, &err), HINGE_EINVAL);
    assert_non_null(strstr(err.text, "loss: 3"));
    s = (hinge_sgd_options){ .ball = -2, .epochs = 1 };
    assert_int_equal(hinge_sgd(&m, y, &s, w, NULL, NULL, &err), HINGE_EINVAL);
    assert_true(strstr(err.text, "ball: -2") != NULL && w[0] == 5);
}

TEST(hyperplanes_normalised)
{
    struct set set = set_two_class(5400104, 50, D, 1.5);
    double w[D] = { 0.3, -2, 1 }, b = 0.7, before[50], nearest = INFINITY, at[D] = { 0 }, zero = 0;
    for (size_t i = 0; i < 50; i++) {
        before[i] = decide(&set, i, w, b);
        nearest = fmin(nearest, fabs(before[i]));
    }
    double distance = nearest / sqrt(squared(w));
    assert_near(hinge_distance(-nearest, squared(w)), distance, 1e-15);
    assert_int_equal(hinge_normalise(matrix_of(&set), w, &b, 1, NULL), HINGE_OK);
    for (size_t i = 0; i < 50; i++)
        assert_near(decide(&set, i, w, b), before[i] / nearest, 1e-12 * fabs(before[i] / nearest));
    assert_near(hinge_margin(squared(w)), distance, 1e-12);
    hinge_error err;
    assert_int_equal(hinge_normalise(matrix_of(&set), at, &zero, 1, &err), HINGE_EINVAL);
    assert_true(strstr(err.text, "lies on") != NULL && isnan(hinge_distance(1, 0)));
}

TEST(falsification)
{
    for (size_t n = 1; n <= 60; n++)
        for (size_t h = 0; h <= n + 2; h++) {
            long double term = 1, sum = 1;
            for (size_t i = 1; i <= h && i <= n; i++)
                sum += term *= (long double)(n - i + 1) / (long double)i;
            assert_near(hinge_bound_growth(h, n), (double)sum, 1e-12 * (double)sum);
            long double bound = 1 - sum * powl(0.5L, (long double)n);
            assert_near(hinge_bound_falsification(h, n), (double)(h >= n ? 0 : bound), 1e-11);
        }
    assert_near(hinge_bound_falsification(2, 4), 5.0 / 16, 1e-15); /* 1 - (1 + 4 + 6) / 16 */
    assert_true(hinge_bound_falsification(10, 5000) == 1 && isinf(hinge_bound_growth(3000, 6000)));
    assert_near(hinge_bound_falsification(3000, 6000), 0.5, 0.006);
}
