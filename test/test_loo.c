/* Exact leave-one-out beside retraining without each row, from scratch. */
#include "test/support.h"

#include <hinge/theory.h>

/* What a model trained on all rows but i predicts for it. */
static double without(const struct set *set, const hinge_params *params, size_t i)
{
    struct set rest = set_new(set->n - 1, set->d), one = { 1, set->d, set->x + i * set->d, set->y + i };
    for (size_t k = 0, j = 0; k < set->n; k++)
        if (k != i) {
            memcpy(rest.x + j * set->d, set->x + k * set->d, set->d * sizeof *rest.x);
            rest.y[j++] = set->y[k];
        }
    hinge_params p = *params;
    double *weights = NULL;
    if (params->weights != NULL) {
        weights = get(set->n, sizeof *weights);
        memcpy(weights, params->weights, i * sizeof *weights);
        memcpy(weights + i, params->weights + i + 1, (set->n - i - 1) * sizeof *weights);
        p.weights = weights;
    }
    hinge_model *model = fit(&rest, &p, NULL);
    double *label = fit_labels(model, &one), result = *label;
    return result;
}

static hinge_leave_one_out_report compare(const struct set *set, const hinge_params *params, double tolerance)
{
    hinge_leave_one_out_report r;
    double *predictions = get(set->n, sizeof *predictions), square = 0, n = 0;
    size_t errors = 0;
    assert_int_equal(hinge_leave_one_out(matrix_of(set), set->y, params, predictions, &r, NULL), HINGE_OK);
    assert_int_equal(r.outcome, HINGE_CONVERGED);
    for (size_t i = 0; i < set->n; i++) {
        assert_near(predictions[i], without(set, params, i), tolerance);
        if (params->weights != NULL && params->weights[i] == 0)
            continue;
        errors += predictions[i] != set->y[i];
        square += (predictions[i] - set->y[i]) * (predictions[i] - set->y[i]);
        n++;
    }
    assert_true(r.n == n);
    if (params->task == HINGE_C_SVC) {
        assert_int_equal(r.errors, errors);
        assert_near(r.error, (double)errors / n, 1e-15);
        assert_near(r.bound, (double)r.n_sv / n, 1e-15);
        assert_true(r.error <= r.bound);
    } else {
        assert_near(r.error, square / n, 1e-12 * square);
        assert_true(isnan(r.bound) && r.errors == 0);
    }
    return r;
}

/* Learning From Data, example 8.2: without (0, 0) and without (2, 2) the row left out is wrong, without (2, 0) not. */
TEST(by_hand)
{
    double x[8] = { 0, 0, 2, 2, 2, 0, 3, 0 }, y[4] = { -1, -1, 1, 1 }, predictions[4];
    hinge_matrix m = hinge_matrix_f64(x, 4, 2);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_leave_one_out_report r;
    params.kernel = hinge_kernel_linear();
    params.C = 1000;
    params.eps = 1e-9;
    assert_int_equal(hinge_leave_one_out(&m, y, &params, predictions, &r, NULL), HINGE_OK);
    assert_true(predictions[0] == 1 && predictions[1] == 1 && predictions[2] == 1 && predictions[3] == 1);
    assert_true(r.n == 4 && r.n_sv == 3 && r.retrained == 3 && r.errors == 2 && r.error == 0.5 && r.bound == 0.75);
}

TEST(two_classes)
{
    struct set set = set_two_class(1, 90, 3, 2);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(0.5), 1);
    params.eps = 1e-7;
    params.C = 3;
    hinge_leave_one_out_report r = compare(&set, &params, 0);
    assert_true(r.errors > 0 && r.retrained == r.n_sv && r.n_sv < set.n);
    double weights[90];
    for (size_t i = 0; i < 90; i++)
        weights[i] = (double)(i % 4) / 2;
    params.weights = weights;
    compare(&set, &params, 0);
    params.weights = NULL;
    params.kernel = hinge_kernel_linear();
    compare(&set, &params, 0);
}

TEST(more_classes)
{
    static const double labels[3] = { 4, 1, 9 };
    struct set set = set_blobs(2, 60, 2, 3, labels, 1);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(1), 1);
    params.eps = 1e-7;
    compare(&set, &params, 0);
    params.multiclass = HINGE_ONE_VS_REST;
    compare(&set, &params, 0);
    params.multiclass = HINGE_ONE_VS_ONE;
    set.y[17] = 33; /* a class of one row, which cannot be told without it */
    compare(&set, &params, 0);
}

TEST(regression)
{
    struct set set = set_regression(3, 70, 2);
    hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.5), 1);
    params.eps = 1e-8;
    params.p = 0.2;
    hinge_leave_one_out_report r = compare(&set, &params, 1e-6);
    assert_true(r.retrained < set.n);
}

/* Two vectors at C, none on the margin: b is the middle of a range, which (5) bounds too: 0.25 of [-0.25, 0.75].
 * Without (5) it is 0: a row that is no support vector has a say, so every row is left out. */
TEST(no_margin_vector)
{
    double x[5] = { -1, 1, 5, -30, 30 }, y[5] = { -1, 1, 1, -1, 1 };
    struct set set = { 5, 1, x, y }, rest = { 4, 1, x, y };
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_linear(), 0.125);
    params.eps = 1e-9;
    hinge_leave_one_out_report r = compare(&set, &params, 0);
    assert_true(r.n_sv == 2 && r.retrained == 5);
    hinge_model *model = fit(&set, &params, NULL);
    assert_near(hinge_model_rho(model)[0], -0.25, 1e-9);
    x[2] = 30; /* (5) is gone */
    model = fit(&rest, &params, NULL);
    assert_near(hinge_model_rho(model)[0], 0, 1e-9);
}

/* Through the origin the only row of a class may be no support vector; without it there is one class only. */
TEST(only_row_of_a_class)
{
    struct set set = { 3, 1, (double[]){ -0.1, -1, 10 }, (double[]){ -1, -1, 1 } };
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_leave_one_out_report r;
    double predictions[3];
    params.kernel = hinge_kernel_linear();
    params.C = 1e4;
    params.no_bias = 1;
    assert_int_equal(hinge_leave_one_out(matrix_of(&set), set.y, &params, predictions, &r, NULL), HINGE_OK);
    assert_int_equal(r.n_sv, 1);
    for (size_t i = 0; i < 3; i++)
        assert_true(predictions[i] == without(&set, &params, i));
    assert_int_equal(r.errors, 1);
}

/* Where coefficients are 0 or C and b is the middle of a range, what rounding leaves of the start for all rows must not
 * hold it. */
TEST(warm_as_cold)
{
    for (uint64_t t = 0; t < 110; t++) {
        uint64_t seed = t * 77 + 5;
        const double C[] = { 0.1, 0.3, 1, 10 }, p[] = { 0, 0.1, 0.3, 0.5 };
        size_t n = 5 + draw(&seed) % 30, d = 1 + draw(&seed) % 3;
        struct set set = set_regression(t, n, d);
        for (size_t whole = draw(&seed) % 2, i = 0; whole && i < set.n * set.d; i++)
            set.x[i] = rint(set.x[i]);
        for (size_t halves = draw(&seed) % 2, i = 0; halves && i < set.n; i++)
            set.y[i] = rint(2 * set.y[i]) / 2;
        hinge_params params = hinge_params_default(HINGE_EPSILON_SVR);
        params.kernel = draw(&seed) % 2 ? hinge_kernel_rbf(1) : hinge_kernel_linear();
        params.C = C[draw(&seed) % 4];
        params.p = p[draw(&seed) % 4];
        params.eps = 1e-9;
        params.solver = HINGE_SOLVER_SMO;
        params.precision = HINGE_PRECISION_F64;
        params.threads = 1;
        compare(&set, &params, 1e-6);
    }
}

static int stop_at_third(void *arg, const hinge_progress *progress)
{
    size_t *last = arg;
    if (progress->problem > *last)
        *last = progress->problem;
    return progress->problem >= 3;
}

TEST(stops_threads_refusals)
{
    struct set set = set_two_class(5, 60, 3, 2);
    hinge_matrix x = set_matrix(&set);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_leave_one_out_report r;
    size_t last = 0;
    double a[60], b[60];
    params.threads = 1;
    params.progress = stop_at_third;
    params.progress_arg = &last;
    memset(a, 0x5a, sizeof a);
    memcpy(b, a, sizeof a);
    assert_int_equal(hinge_leave_one_out(&x, set.y, &params, a, &r, NULL), HINGE_OK);
    assert_int_equal(r.outcome, HINGE_STOPPED);
    assert_true(last == 3);
    assert_memory_equal(a, b, sizeof a);
    params.progress = NULL;
    assert_int_equal(hinge_leave_one_out(&x, set.y, &params, a, NULL, NULL), HINGE_OK);
    params.threads = 3;
    assert_int_equal(hinge_leave_one_out(&x, set.y, &params, b, NULL, NULL), HINGE_OK);
    assert_memory_equal(a, b, sizeof a);
    params.task = HINGE_NU_SVC;
    assert_refused(hinge_leave_one_out(&x, set.y, &params, b, &r, &err), HINGE_EINVAL, "each row");
    params.task = HINGE_C_SVC;
    x.rows = 1;
    assert_int_equal(hinge_leave_one_out(&x, set.y, &params, b, &r, &err), HINGE_EINVAL);
    assert_int_equal(hinge_leave_one_out(&x, set.y, NULL, b, &r, &err), HINGE_EINVAL);
}
