/* Scaling: fitted, applied, inverted, kept by models, fitted anew by each fold. */
#include "test/support.h"

#include <hinge/scaling.h>
#include <hinge/theory.h>

enum { N = 40, D = 4 };

/* Wide, narrow and shifted features, one by much more than it is wide; the last never changes. One row is far out. */
static struct set uneven(void)
{
    struct set set = set_regression(11, N, D);
    for (size_t i = 0; i < N; i++) {
        double *x = set.x + i * D;
        x[0] = 1000 * x[0] + 5000;
        x[1] /= 100;
        x[2] = 1e9 + ldexp((double)(i * 7 % 40), -22);
        x[3] = 7;
    }
    set.x[17 * D] = 20000;
    return set;
}

static void range(const struct set *set, const double *weights, size_t c, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < set->n; i++) {
        if (weights != NULL && weights[i] == 0)
            continue;
        *low = fmin(*low, set->x[i * set->d + c]);
        *high = fmax(*high, set->x[i * set->d + c]);
    }
}

static hinge_scaling fitted(const struct set *set, const double *weights, double lower, double upper)
{
    hinge_scaling scaling;
    assert_ok(hinge_scaling_fit(&scaling, matrix_of(set), weights, lower, upper, &err));
    return scaling;
}

static void apply(const hinge_scaling *scaling, struct set *set)
{
    assert_ok(hinge_scaling_apply(scaling, matrix_of(set), set->x, set->d, &err));
}

TEST(there_and_back)
{
    struct set set = uneven();
    hinge_matrix x = set_matrix(&set), rows = x;
    double weights[N], out[N * (D + 1)], back[N * D];
    for (size_t i = 0; i < N; i++)
        weights[i] = i == 17 ? 0 : 1;
    for (int weighted = 0; weighted < 2; weighted++) {
        hinge_scaling scaling = fitted(&set, weighted ? weights : NULL, -1, 3);
        assert_int_equal(scaling.n_features, D);
        assert_int_equal(hinge_scaling_apply(&scaling, &x, out, D + 1, NULL), HINGE_OK);
        for (size_t c = 0; c < D; c++) {
            double low, high;
            range(&set, weighted ? weights : NULL, c, &low, &high);
            assert_true(scaling.low[c] == low && scaling.high[c] == high);
            for (size_t i = 0; i < N; i++) {
                double expected = low < high ? -1 + 4 * (set.x[i * D + c] - low) / (high - low) : 0;
                assert_near(out[i * (D + 1) + c], expected, 1e-13 * fmax(1, fabs(expected)));
            }
        }
        rows = (hinge_matrix){ .data = out, .type = HINGE_F64, .rows = N, .cols = D, .stride = D + 1 };
        assert_int_equal(hinge_scaling_invert(&scaling, &rows, back, D, NULL), HINGE_OK);
        for (size_t k = 0; k < N * D; k++)
            assert_close(back[k], set.x[k], 1e-12);
        hinge_scaling_free(&scaling);
    }
}

TEST(floats)
{
    const float x[] = { 1, 2, 3, 6, 2, 4 };
    const double expected[] = { 0, 0, 1, 1, 0.5, 0.5 };
    hinge_matrix matrix = hinge_matrix_f32(x, 3, 2);
    hinge_scaling scaling;
    double out[6];
    assert_int_equal(hinge_scaling_fit(&scaling, &matrix, NULL, 0, 1, NULL), HINGE_OK);
    assert_int_equal(hinge_scaling_apply(&scaling, &matrix, out, 2, NULL), HINGE_OK);
    assert_true(largest_difference(out, expected, 6) == 0);
    hinge_scaling_free(&scaling);
}

/* A training that scales is one on scaled rows, and its model takes raw ones. */
TEST(trains)
{
    struct set set = uneven(), scaled = uneven();
    const hinge_scaling ends = { .lower = -1, .upper = 1 };
    hinge_scaling ranges = fitted(&set, NULL, -1, 1);
    hinge_params params = hinge_params_default(HINGE_EPSILON_SVR);
    hinge_certificate raw, by_rows;
    hinge_matrix x = set_matrix(&set), rows = set_matrix(&scaled);
    apply(&ranges, &scaled);
    hinge_model *by_hand = fit(&scaled, &params, NULL), *model[2];
    assert_int_equal(hinge_certify(by_hand, &rows, set.y, &params, &by_rows, &err), HINGE_OK);
    assert_int_equal(hinge_scaling_attach(&ranges, by_hand, &err), HINGE_OK);
    double *expected = fit_labels(by_hand, &set);
    for (int given = 0; given < 2; given++) {
        params.scaling = given ? &ranges : &ends;
        model[given] = fit(&set, &params, NULL);
        double *labels = fit_labels(model[given], &set);
        assert_true(hinge_model_scale_factor(model[given]) != NULL);
        assert_memory_equal(labels, expected, N * sizeof *labels);
        assert_int_equal(hinge_certify(model[given], &x, set.y, &params, &raw, &err), HINGE_OK);
        assert_true(raw.primal == by_rows.primal && raw.kkt == by_rows.kkt);
    }
    double factor[D], offset[D];
    const double *origin = hinge_model_scale_origin(by_hand), *base = hinge_model_scale_base(by_hand);
    assert_int_equal(hinge_scaling_factors(&ranges, factor, offset, &err), HINGE_OK);
    assert_memory_equal(hinge_model_scale_factor(by_hand), factor, sizeof factor);
    assert_memory_equal(hinge_model_scale_offset(by_hand), offset, sizeof offset);
    for (size_t k = 0; k < N * D; k++) {
        size_t c = k % D;
        double digits = fabs(set.x[k] * factor[c]) * 1e-15; /* that x * factor + offset loses, and the other does not */
        assert_near(set.x[k] * factor[c] + offset[c], scaled.x[k], 1e-15 + 4 * digits);
        assert_true((set.x[k] - origin[c]) * factor[c] + base[c] == scaled.x[k]);
    }
    hinge_scaling_free(&ranges);
}

/* Each row is predicted by a training on the others, scaled by the others' ranges: by hand. */
TEST(folds)
{
    struct set set = uneven(), all = uneven();
    const hinge_scaling ends = { .lower = -1, .upper = 1 };
    hinge_matrix x = set_matrix(&set), whole = set_matrix(&all);
    hinge_params params = hinge_params_default(HINGE_EPSILON_SVR), plain = params;
    double predictions[N], snooping[N];
    hinge_scaling ranges = fitted(&set, NULL, -1, 1);
    apply(&ranges, &all);
    hinge_scaling_free(&ranges);
    params.scaling = &ends;
    params.eps = plain.eps = 1e-8;
    params.precision = plain.precision = HINGE_PRECISION_F64;
    assert_int_equal(hinge_cross_validate(&x, set.y, &params, N, predictions, NULL, NULL), HINGE_OK);
    assert_int_equal(hinge_cross_validate(&whole, set.y, &plain, N, snooping, NULL, NULL), HINGE_OK);
    assert_true(fabs(snooping[17] - predictions[17]) > 1e-3);
    for (size_t i = 0; i < N; i++) {
        size_t others[N], n = 0;
        for (size_t k = 0; k < N; k++)
            if (k != i)
                others[n++] = k;
        struct set rest = set_rows(&set, others, n), one = set_rows(&set, &i, 1);
        ranges = fitted(&rest, NULL, -1, 1);
        apply(&ranges, &rest);
        apply(&ranges, &one);
        hinge_model *model = fit(&rest, &plain, NULL);
        double *label = fit_labels(model, &one);
        assert_near(predictions[i], *label, 1e-6);
        hinge_scaling_free(&ranges);
    }
}

/* Calibration's folds too: of the rows as they are, and a model that scales already. */
TEST(calibrates)
{
    struct set set = set_two_class(5, 120, 3, 1.0);
    const hinge_scaling ends = { .lower = 0, .upper = 1 };
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    double probabilities[240];
    size_t likely = 0;
    set_multiply(&set, 1e4);
    params.probability = 1;
    params.C = 10;
    params.scaling = &ends;
    hinge_model *model = fit(&set, &params, NULL);
    assert_int_equal(hinge_predict_probability(model, matrix_of(&set), NULL, NULL, probabilities, NULL), HINGE_OK);
    for (size_t i = 0; i < set.n; i++)
        likely += probabilities[2 * i + (set.y[i] == hinge_model_labels(model)[1])] > 0.5;
    assert_true(likely > 100);
}

TEST(refusals)
{
    struct set set = uneven();
    hinge_matrix x = set_matrix(&set), narrow = x;
    double low[D] = { 0 }, high[D] = { 1, 1, 1, 1 }, out[N * D];
    hinge_scaling good = { .lower = 0, .upper = 1, .n_features = D, .low = low, .high = high }, bad = good;
    hinge_params params = hinge_params_default(HINGE_EPSILON_SVR);
    hinge_certificate certificate;
    assert_refused(hinge_scaling_fit(&bad, &x, NULL, 1, 1, &err), HINGE_EINVAL, "from lower = 1 to upper = 1");
    assert_int_equal(hinge_scaling_fit(&bad, &x, NULL, 0, NAN, &err), HINGE_EINVAL);
    assert_int_equal(hinge_scaling_fit(NULL, &x, NULL, 0, 1, &err), HINGE_EINVAL);
    assert_refused(hinge_scaling_fit(&bad, &x, get(N, sizeof(double)), 0, 1, &err), HINGE_EINVAL, "have weight 0");
    assert_int_equal(hinge_scaling_apply(NULL, &x, out, D, &err), HINGE_EINVAL);
    assert_int_equal(hinge_scaling_factors(NULL, out, out, &err), HINGE_EINVAL);
    assert_true(bad.low == low && bad.upper == 1);
    assert_int_equal(hinge_scaling_apply(&good, &x, out, D, &err), HINGE_OK);
    narrow.cols = D - 1;
    assert_int_equal(hinge_scaling_apply(&good, &narrow, out, D, &err), HINGE_EINVAL);
    assert_int_equal(hinge_scaling_apply(&good, &x, out, D - 1, &err), HINGE_EINVAL);
    bad.upper = 0;
    assert_int_equal(hinge_scaling_apply(&bad, &x, out, D, &err), HINGE_EINVAL);
    bad = good;
    bad.low = NULL;
    assert_int_equal(hinge_scaling_invert(&bad, &x, out, D, &err), HINGE_EINVAL);
    low[2] = -1e308;
    high[2] = 1e308;
    assert_refused(hinge_scaling_apply(&good, &x, out, D, &err), HINGE_EINVAL, "feature 3 of 4");
    low[2] = 2;
    high[2] = 1;
    assert_int_equal(hinge_scaling_apply(&good, &x, out, D, &err), HINGE_EINVAL);
    low[2] = 0;
    hinge_model *model = fit(&set, &params, NULL), *other = NULL;
    params.scaling = &good;
    assert_refused(hinge_certify(model, &x, set.y, &params, &certificate, &err), HINGE_EINVAL, "hinge_scaling_apply");
    assert_refused(hinge_leave_one_out(&x, set.y, &params, NULL, NULL, &err), HINGE_EINVAL, "hinge_scaling_apply");
    assert_int_equal(hinge_model_set_scaling(model, low, NULL, &err), HINGE_EINVAL);
    assert_int_equal(hinge_model_set_scaling(model, NULL, low, &err), HINGE_EINVAL);
    params.kernel = hinge_kernel_precomputed();
    assert_refused(hinge_train(&other, &x, set.y, &params, NULL, &err), HINGE_EINVAL, "precomputed");
    set.x[5] = NAN;
    assert_int_equal(hinge_scaling_fit(&bad, &x, NULL, 0, 1, &err), HINGE_EINVAL);
}
