/* The lecture notes' small functions beside hand computations: decisions, losses, features, Mercer, kinds, bounds,
 * conventions. */
#include "test/support.h"

#include <hinge/io.h>
#include <hinge/theory.h>

/* Learning From Data, example 8.2: w = (1, -1), b = -1, alpha = (1/2, 1/2, 1, 0). */
static double toy_x[8] = { 0, 0, 2, 2, 2, 0, 3, 0 }, toy_y[4] = { -1, -1, 1, 1 };
static struct set toy = { 4, 2, toy_x, toy_y };

static hinge_params linear_params(double C)
{
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_linear(), C);
    params.eps = 1e-9;
    params.precision = HINGE_PRECISION_F64;
    return params;
}

/* ---- decision functions, losses ---------------------------------------------------------------------------------- */

TEST(decisions_of_the_slides)
{
    assert_true(hinge_sign(20) == 1 && hinge_sign(-5) == -1 && hinge_sign(0) == -1 && hinge_sign(1e-300) == 1);
    double x[2] = { 1, 3.5 }, w[2] = { 2, -1 }, f[3];
    hinge_matrix example = hinge_matrix_f64(x, 1, 2);
    assert_int_equal(hinge_linear_decisions(&example, w, NULL, 1, 0, f, NULL), HINGE_OK);
    assert_true(f[0] == -1.5 && hinge_sign(f[0]) == -1);
    double all[6] = { 2, -1, 1, 2, 3, 2 };
    assert_int_equal(hinge_linear_decisions(&example, all, NULL, 3, 0, f, NULL), HINGE_OK);
    assert_true(f[0] == -1.5 && f[1] == 8 && f[2] == 10);
    assert_int_equal(hinge_argmax(f, 3), 2);
    double b[3] = { 20, 0, 0 };
    assert_int_equal(hinge_linear_decisions(&example, all, b, 3, 0, f, NULL), HINGE_OK);
    assert_true(f[0] == 18.5 && hinge_argmax(f, 3) == 0);
    double ties[4] = { 1, 3, 3, NAN }, nan_first[2] = { NAN, -1 };
    assert_int_equal(hinge_argmax(ties, 4), 1);
    assert_int_equal(hinge_argmax(nan_first, 2), 1);
}

TEST(decisions_of_many)
{
    struct set set = set_two_class(1, 700, 5, 1);
    double w[15], b[3], *f = get(700 * 3, sizeof *f), *g = get(700 * 3, sizeof *g);
    float *x32 = get(700 * 6, sizeof *x32);
    uint64_t seed = 2;
    for (size_t k = 0; k < 15; k++)
        w[k] = draw_normal(&seed);
    for (size_t k = 0; k < 3; k++)
        b[k] = draw_normal(&seed);
    for (size_t i = 0; i < 700; i++)
        for (size_t c = 0; c < 5; c++) { /* both types hold the same values; f32 with a gap behind each row */
            x32[i * 6 + c] = (float)set.x[i * 5 + c];
            set.x[i * 5 + c] = x32[i * 6 + c];
        }
    hinge_matrix x = set_matrix(&set), narrow = { x32, HINGE_F32, 700, 5, 6 };
    assert_int_equal(hinge_linear_decisions(&x, w, b, 3, 1, f, NULL), HINGE_OK);
    for (size_t i = 0; i < 700; i++)
        for (size_t k = 0; k < 3; k++) {
            double sum = b[k];
            for (size_t c = 0; c < 5; c++)
                sum += w[k * 5 + c] * set.x[i * 5 + c];
            assert_near(f[i * 3 + k], sum, 1e-12);
        }
    assert_int_equal(hinge_linear_decisions(&narrow, w, b, 3, 3, g, NULL), HINGE_OK);
    assert_true(largest_difference(f, g, 2100) <= 1e-12);
    assert_int_equal(hinge_linear_decisions(&x, w, b, 3, 4, g, NULL), HINGE_OK);
    assert_memory_equal(f, g, 2100 * sizeof *f);

    hinge_model *model = NULL;
    assert_int_equal(hinge_linear_model(&model, w, 5, b[0], 7, 3, NULL), HINGE_OK);
    double *labels = fit_labels(model, &set), *decisions = fit_decisions(model, &set, HINGE_PRECISION_F64);
    for (size_t i = 0; i < 700; i++) {
        assert_near(decisions[i], f[i * 3], 1e-12);
        assert_true(labels[i] == (f[i * 3] > 0 ? 7 : 3));
    }
    hinge_model *again = written_and_read(model); /* and it is a model file like any other */
    double back[5];
    assert_int_equal(hinge_model_weights(again, 0, back, NULL), HINGE_OK);
    assert_memory_equal(back, w, sizeof back);
    hinge_model_free(model);
}

TEST(losses_by_hand)
{
    static const double at[5] = { -2, 0, 0.5, 1, 3 };
    static const double want[HINGE_N_LOSSES][5] = {
        { 3, 1, 0.5, 0, 0 },
        { 2, 0, 0, 0, 0 },
        { 3.068508493859523, 1, 0.6839485140762355, 0.4519410830830482, 0.0700967311653661 },
        { 1, 1, 0, 0, 0 },
        { 7.38905609893065, 1, 0.6065306597126334, 0.36787944117144233, 0.049787068367863944 }
    };
    for (int l = 0; l < HINGE_N_LOSSES; l++) {
        double mean = 0;
        for (size_t k = 0; k < 5; k++) {
            assert_near(hinge_loss_value(l, at[k]), want[l][k], 1e-14);
            mean += want[l][k] / 5;
        }
        assert_near(hinge_loss_mean(l, at, 5), mean, 1e-14);
    }
    for (double m = -40; m <= 40; m += 0.01) {
        double wrong = hinge_loss_value(HINGE_LOSS_ZERO_ONE, m);
        assert_true(hinge_loss_value(HINGE_LOSS_HINGE, m) >= wrong);
        assert_true(hinge_loss_value(HINGE_LOSS_LOGISTIC, m) >= wrong);
        assert_true(hinge_loss_value(HINGE_LOSS_EXPONENTIAL, m) >= wrong);
        assert_true(hinge_loss_value(HINGE_LOSS_PERCEPTRON, m) <= hinge_loss_value(HINGE_LOSS_HINGE, m));
    }
    assert_near(hinge_loss_value(HINGE_LOSS_LOGISTIC, -2000), 2000 / log(2), 1e-9); /* no overflow */
    assert_true(isnan(hinge_loss_value(HINGE_LOSS_HINGE, NAN)) && isnan(hinge_loss_value(HINGE_N_LOSSES, 1)));
    assert_true(isnan(hinge_loss_mean(HINGE_LOSS_HINGE, at, 0)));
    assert_string_equal(hinge_loss_name(HINGE_LOSS_ZERO_ONE), "0-1");
    assert_null(hinge_loss_name(HINGE_N_LOSSES));
}

/* ---- features ---------------------------------------------------------------------------------------------------- */

TEST(dimensions)
{
    static const uint64_t want[][3] = { { 2, 2, 6 },
                                        { 3, 4, 35 },
                                        { 784, 2, 308505 },
                                        { 1, 1000, 1001 },
                                        { 5, 0, 1 },
                                        { 0, 3, 1 },
                                        { 30, 30, 118264581564861424 } };
    size_t dimension = 77;
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        bool counts = want[k][2] <= SIZE_MAX;
        hinge_status status = hinge_polynomial_dimension((size_t)want[k][0], (int)want[k][1], 0, &dimension, NULL);
        assert_int_equal(status, counts ? HINGE_OK : HINGE_ESIZE);
        if (counts)
            assert_int_equal(dimension, want[k][2]);
    }
    dimension = 77;
    assert_int_equal(hinge_polynomial_dimension(784, 10, 0, &dimension, &err), HINGE_ESIZE); /* 3e22 */
    assert_says(err.text, "kernel");
    assert_int_equal(hinge_polynomial_dimension(784, 5, 1000, &dimension, &err), HINGE_ESIZE); /* 2e16 bytes */
    assert_says(err.text, SIZE_MAX > UINT32_MAX ? "C(789, 5) = 2515874132157 " : "than can be numbered");
    assert_int_equal(hinge_polynomial_dimension(2, -1, 0, &dimension, &err), HINGE_EINVAL);
    assert_int_equal(dimension, 77);
}

/* Phi_2 of the slides, with cross terms and the first coefficient zeta. */
TEST(features_by_hand)
{
    double x[2] = { 3, -5 }, z[6];
    hinge_matrix example = hinge_matrix_f64(x, 1, 2);
    hinge_kernel kernel = hinge_kernel_polynomial(2, 0.5, 2); /* gamma = 1/2, zeta = 2 */
    assert_int_equal(hinge_polynomial_features(&example, &kernel, 0, z, NULL), HINGE_OK);
    double s = sqrt(2 * 0.5 * 2), want[6] = { 2, 3 * s, -5 * s, 0.5 * 9, 0.5 * sqrt(2) * -15, 0.5 * 25 };
    for (size_t k = 0; k < 6; k++)
        assert_near(z[k], want[k], 1e-14);
    kernel = hinge_kernel_polynomial(5, 1e200, 0); /* gamma^5 and x^5 are beyond doubles, their product is not */
    x[0] = 3e-100, x[1] = 0;
    double high[21];
    assert_int_equal(hinge_polynomial_features(&example, &kernel, 0, high, NULL), HINGE_OK);
    for (size_t k = 0; k < 21; k++)
        assert_near(high[k], k == 15 ? 243 : 0, 1e-10);
}

TEST(features_multiply_to_the_kernel)
{
    static const struct {
        size_t d;
        int degree;
        double gamma, zeta;
    } cases[] = { { 1, 5, 0.7, 1 }, { 2, 2, 1, 1 },   { 3, 4, 0.3, 0.5 }, { 6, 3, 1.3, 0 },
                  { 4, 1, 2, 3 },   { 9, 5, 0.1, 2 }, { 3, 0, 1, 1 },     { 4, 6, HINGE_GAMMA_AUTO, 1 } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct set set = set_two_class(k, 40, cases[k].d, 1);
        hinge_kernel kernel = hinge_kernel_polynomial(cases[k].degree, cases[k].gamma, cases[k].zeta);
        size_t dimension;
        assert_int_equal(hinge_polynomial_dimension(set.d, cases[k].degree, set.n, &dimension, NULL), HINGE_OK);
        double *z = get(set.n * dimension, sizeof *z), *other = get(set.n * dimension, sizeof *z);
        assert_int_equal(hinge_polynomial_features(matrix_of(&set), &kernel, 1, z, NULL), HINGE_OK);
        assert_int_equal(hinge_polynomial_features(matrix_of(&set), &kernel, 3, other, NULL), HINGE_OK);
        assert_memory_equal(z, other, set.n * dimension * sizeof *z);
        for (size_t i = 0; i < set.n; i++)
            for (size_t j = 0; j < set.n; j++) {
                double sum = 0, size = 0, value = plain_kernel(&kernel, set.x + i * set.d, set.x + j * set.d, set.d);
                for (size_t c = 0; c < dimension; c++) {
                    sum += z[i * dimension + c] * z[j * dimension + c];
                    size += fabs(z[i * dimension + c] * z[j * dimension + c]);
                }
                assert_near(sum, value, 1e-12 * fmax(1, size));
            }
    }
}

TEST(linear_in_feature_space_is_the_kernel)
{
    struct set set = set_two_class(5, 150, 3, 1);
    hinge_kernel kernel = hinge_kernel_polynomial(3, 0.4, 1);
    size_t dimension;
    assert_int_equal(hinge_polynomial_dimension(3, 3, set.n, &dimension, NULL), HINGE_OK);
    assert_int_equal(dimension, 20);
    struct set z = set_new(set.n, dimension);
    assert_int_equal(hinge_polynomial_features(matrix_of(&set), &kernel, 0, z.x, NULL), HINGE_OK);
    memcpy(z.y, set.y, set.n * sizeof *z.y);
    hinge_params params = linear_params(0.5), other = params;
    other.kernel = kernel;
    hinge_report a, b;
    hinge_model *explicit = fit(&z, &params, &a), *implicit = fit(&set, &other, &b);
    double *f = fit_decisions(explicit, &z, HINGE_PRECISION_F64),
           *g = fit_decisions(implicit, &set, HINGE_PRECISION_F64);
    assert_close(a.objective, b.objective, 1e-8);
    assert_true(largest_difference(f, g, set.n) <= 1e-6);
    double norm2, w[20], sum = 0;
    assert_int_equal(hinge_model_norm2(implicit, 0, &norm2, NULL), HINGE_OK);
    assert_int_equal(hinge_model_weights(explicit, 0, w, NULL), HINGE_OK);
    for (size_t k = 0; k < 20; k++)
        sum += w[k] * w[k];
    assert_close(norm2, sum, 1e-6);
}

/* ---- Mercer ------------------------------------------------------------------------------------------------------ */

static hinge_mercer mercer_of(const struct set *set, hinge_kernel kernel)
{
    hinge_mercer m, again;
    assert_int_equal(hinge_mercer_check(matrix_of(set), &kernel, 0, 1, &m, NULL), HINGE_OK);
    assert_int_equal(hinge_mercer_check(matrix_of(set), &kernel, 0, 4, &again, NULL), HINGE_OK);
    assert_memory_equal(&m, &again, sizeof m);
    return m;
}

static int lopsided(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < b->rows; j++)
            out[i * ld + j] = ((const double *)a->data)[i * a->stride] - ((const double *)b->data)[j * b->stride];
    return 0;
}

TEST(mercer)
{
    struct set set = set_two_class(7, 120, 4, 1);
    hinge_mercer m = mercer_of(&set, hinge_kernel_rbf(0.5));
    assert_true(m.symmetric && m.semidefinite && m.smallest > 0 && m.tolerance == 1e-10);
    m = mercer_of(&set, hinge_kernel_linear()); /* rank 4: all other eigenvalues are 0 but for rounding */
    assert_true(m.symmetric && m.semidefinite && fabs(m.smallest) < 1e-11 * m.largest);
    m = mercer_of(&set, hinge_kernel_polynomial(3, 1, 1));
    assert_true(m.symmetric && m.semidefinite);
    m = mercer_of(&set, hinge_kernel_sigmoid(1, -1)); /* K(x, x) = tanh(||x||^2 - 1) */
    assert_true(m.symmetric && !m.semidefinite && m.smallest < -0.1);
    m = mercer_of(&set, hinge_kernel_polynomial(2, 1, -1)); /* odd powers with a minus */
    assert_true(m.symmetric && !m.semidefinite);
    m = mercer_of(&set, hinge_kernel_user("lopsided", lopsided, NULL));
    assert_true(!m.symmetric && m.asymmetry > 1);
    set_multiply(&set, 1e-3);
    for (size_t i = 0; i < set.n * set.d; i++)
        set.x[i] += 1000; /* far from the origin RBF is as good a kernel as near it */
    m = mercer_of(&set, hinge_kernel_rbf(5e5));
    assert_true(m.symmetric && m.semidefinite);

    double two[4] = { 1, 2, 2, 1 }, skew[4] = { 1, 0.5, 0.4, 1 }, y[2] = { 1, 1 };
    struct set gram = { 2, 2, two, y };
    m = mercer_of(&gram, hinge_kernel_precomputed());
    assert_near(m.smallest, -1, 1e-14);
    assert_near(m.largest, 3, 1e-14);
    assert_true(m.symmetric && !m.semidefinite);
    gram.x = skew;
    m = mercer_of(&gram, hinge_kernel_precomputed());
    assert_near(m.asymmetry, 0.1, 1e-15);
    assert_near(m.smallest, 0.55, 1e-14);
    assert_true(!m.symmetric && m.semidefinite);

    double huge[2] = { 1e200, 1 };
    hinge_matrix x = hinge_matrix_f64(huge, 2, 1);
    hinge_kernel kernel = hinge_kernel_polynomial(3, 1, 0);
    memset(&m, 0x5a, sizeof m);
    hinge_mercer before = m;
    assert_refused(hinge_mercer_check(&x, &kernel, 0, 0, &m, &err), HINGE_EINVAL, "K(0, 0) is inf");
    assert_memory_equal(&m, &before, sizeof m);
    assert_int_equal(hinge_mercer_check(&x, NULL, 0, 0, &m, &err), HINGE_EINVAL);
    assert_int_equal(hinge_mercer_check(&x, &kernel, -1, 0, &m, &err), HINGE_EINVAL);
}

/* ---- margin, radius, bounds -------------------------------------------------------------------------------------- */

TEST(toy_by_hand)
{
    hinge_params params = linear_params(100);
    hinge_model *model = fit(&toy, &params, NULL);
    double norm2, w[2], R, centred, sum_alpha;
    assert_int_equal(hinge_model_norm2(model, 0, &norm2, NULL), HINGE_OK);
    assert_int_equal(hinge_model_weights(model, 0, w, NULL), HINGE_OK);
    assert_int_equal(hinge_model_weights(model, 1, w, NULL), HINGE_EINVAL);
    assert_int_equal(hinge_model_sum_alpha(model, 0, &sum_alpha, NULL), HINGE_OK);
    assert_near(norm2, 2, 1e-7);
    assert_near(w[0], 1, 1e-7);
    assert_near(w[1], -1, 1e-7);
    assert_near(hinge_model_rho(model)[0], 1, 1e-7);
    assert_near(sum_alpha, 2, 1e-7);
    assert_near(hinge_margin(norm2), sqrt(0.5), 1e-7);
    assert_int_equal(hinge_radius(matrix_of(&toy), &params.kernel, 0, 0, &R, NULL), HINGE_OK);
    assert_int_equal(hinge_radius(matrix_of(&toy), &params.kernel, 1, 0, &centred, NULL), HINGE_OK);
    assert_near(R, 3, 1e-14);
    assert_near(centred, sqrt(3.3125), 1e-14);                              /* mean (1.75, 0.5), farthest (0, 0) */
    assert_true(hinge_bound_vc_fat(R, sqrt(0.5), 2) == 3);                  /* min(18, 2) + 1 */
    assert_true(hinge_bound_vc_fat(1.5, 1, INFINITY) == 4);                 /* ceil(2.25) + 1 */
    assert_true(hinge_bound_vc_slides(centred, sqrt(0.5), 2) == 2);         /* min(2, 27) */
    assert_true(hinge_bound_vc_slides(centred, sqrt(0.5), INFINITY) == 27); /* ceil(26.5) */
    assert_true(hinge_bound_leave_one_out(hinge_model_n_sv(model), 4) == 0.75);

    hinge_kinds kinds;
    hinge_point points[4];
    assert_int_equal(hinge_kinds_of(model, matrix_of(&toy), toy.y, &params, 0, 1e-6, &kinds, points, NULL), HINGE_OK);
    static const double alpha[4] = { 0.5, 0.5, 1, 0 }, f[4] = { -1, -1, 1, 2 };
    for (size_t i = 0; i < 4; i++) {
        assert_near(points[i].alpha, alpha[i], 1e-7);
        assert_near(points[i].f, f[i], 1e-7);
        assert_near(points[i].slack, 0, 1e-7);
        assert_true(points[i].y == toy.y[i] && points[i].C == 100);
        assert_int_equal(points[i].kind, i < 3 ? HINGE_MARGIN_SV : HINGE_NO_SV);
        assert_int_equal(points[i].slack_class, HINGE_SLACK_NONE);
    }
    assert_true(kinds.n == 4 && kinds.n_margin_sv == 3 && kinds.n_non_margin_sv == 0 && kinds.n_slack[0] == 4);
    assert_near(kinds.norm2, 2, 1e-7);
    assert_near(kinds.sum_alpha, 2, 1e-7);
    assert_near(kinds.bias_low, -1, 1e-6);
    assert_near(kinds.bias_high, -1, 1e-6);
}

TEST(bounds_by_hand)
{
    assert_near(hinge_bound_vc_risk(0, 3, 4, 0.05), 4.388933176330921, 1e-14);
    assert_near(hinge_bound_vc_risk(1, 10, 1000, 0.01), 1.7390885794383695, 1e-14);
    assert_true(hinge_bound_vc_risk(0, 5, 4, 0.05) == INFINITY);
    assert_true(isnan(hinge_bound_vc_risk(0, 3, 4, 1)) && isnan(hinge_bound_vc_risk(0, 0, 4, 0.1)));
    assert_near(hinge_bound_stability(0.1, 4, 0.5, 3, 20), 3.9, 1e-14); /* 0.1 + 2 + 1.8 */
    assert_near(hinge_bound_stability_best(3, 2, 20), 3.794733192202055, 1e-14);
    double lambda = hinge_stability_lambda(3, 2, 20);
    assert_near(lambda, 0.4743416490252569, 1e-15);
    assert_near(hinge_bound_stability(0, 4, lambda, 3, 20), hinge_bound_stability_best(3, 2, 20), 1e-14);
    assert_true(hinge_bound_stability(0, 4, 1.1 * lambda, 3, 20) > hinge_bound_stability_best(3, 2, 20));
    assert_true(hinge_bound_stability(0, 4, 0.9 * lambda, 3, 20) > hinge_bound_stability_best(3, 2, 20));
    assert_true(isnan(hinge_margin(0)) && hinge_margin(4) == 0.5);
    assert_true(isnan(hinge_bound_vc_fat(1, 0, 2)) && isnan(hinge_bound_vc_slides(-1, 1, 2)));
    assert_true(isnan(hinge_bound_leave_one_out(0, 0)) && isnan(hinge_bound_stability(0, 1, 0, 1, 5)));
}

/* The radius in feature space from the definition, over a plain kernel matrix. */
TEST(radius_in_feature_space)
{
    struct set set = set_two_class(11, 150, 3, 1);
    hinge_kernel kernels[] = { hinge_kernel_linear(), hinge_kernel_rbf(0.3), hinge_kernel_polynomial(2, 0.5, 1) };
    for (size_t k = 0; k < 3; k++) {
        double *gram = plain_gram(&kernels[k], &set, &set), mean = 0, plain = 0, centred = 0, R, again;
        for (size_t i = 0; i < set.n * set.n; i++)
            mean += gram[i] / (double)(set.n * set.n);
        for (size_t i = 0; i < set.n; i++) {
            double row = 0, own = gram[i * set.n + i];
            for (size_t j = 0; j < set.n; j++)
                row += gram[i * set.n + j] / (double)set.n;
            plain = fmax(plain, own);
            centred = fmax(centred, own - 2 * row + mean);
        }
        assert_int_equal(hinge_radius(matrix_of(&set), &kernels[k], 0, 1, &R, NULL), HINGE_OK);
        assert_close(R, sqrt(plain), 1e-12);
        assert_int_equal(hinge_radius(matrix_of(&set), &kernels[k], 1, 1, &R, NULL), HINGE_OK);
        assert_close(R, sqrt(centred), 1e-10);
        assert_int_equal(hinge_radius(matrix_of(&set), &kernels[k], 1, 3, &again, NULL), HINGE_OK);
        assert_true(R == again);
    }
}

/* ---- kinds and classes ------------------------------------------------------------------------------------------- */

TEST(kinds_of_numbers)
{
    assert_int_equal(hinge_sv_kind_of(0, 2), HINGE_NO_SV);
    assert_int_equal(hinge_sv_kind_of(1e-9, 2), HINGE_MARGIN_SV);
    assert_int_equal(hinge_sv_kind_of(1.999, 2), HINGE_MARGIN_SV);
    assert_int_equal(hinge_sv_kind_of(2, 2), HINGE_NON_MARGIN_SV);
    assert_int_equal(hinge_sv_kind_of(0.1 / 3 * 60, 2), HINGE_NON_MARGIN_SV);
    assert_true(hinge_slack(1, 3) == 0 && hinge_slack(1, 0.25) == 0.75 && hinge_slack(-1, 2) == 3);
    assert_int_equal(hinge_slack_class_of(0, 0), HINGE_SLACK_NONE);
    assert_int_equal(hinge_slack_class_of(1e-4, 1e-3), HINGE_SLACK_NONE);
    assert_int_equal(hinge_slack_class_of(1e-4, 0), HINGE_SLACK_INSIDE);
    assert_int_equal(hinge_slack_class_of(0.5, 1e-3), HINGE_SLACK_INSIDE);
    assert_int_equal(hinge_slack_class_of(1, 0), HINGE_SLACK_BOUNDARY);
    assert_int_equal(hinge_slack_class_of(0.9995, 1e-3), HINGE_SLACK_BOUNDARY);
    assert_int_equal(hinge_slack_class_of(1.5, 1e-3), HINGE_SLACK_WRONG);
}

/* Two points at -1 and +1 with alpha = C each: w = 2 C, and b may be anything in [2 C - 1, 1 - 2 C]. */
TEST(range_of_b)
{
    double x[2] = { -1, 1 }, y[2] = { -1, 1 };
    struct set two = { 2, 1, x, y };
    hinge_params params = linear_params(0.125);
    hinge_model *model = fit(&two, &params, NULL);
    hinge_kinds k;
    assert_int_equal(hinge_kinds_of(model, matrix_of(&two), y, &params, 0, 0, &k, NULL, NULL), HINGE_OK);
    assert_true(k.n_margin_sv == 0 && k.n_non_margin_sv == 2 && k.n_slack[HINGE_SLACK_INSIDE] == 2);
    assert_near(k.bias_low, -0.75, 1e-12);
    assert_near(k.bias_high, 0.75, 1e-12);
    assert_near(k.bias, 0, 1e-12);
    assert_near(k.sum_alpha, 0.25, 1e-15);
}

/* Equal rows of both classes have coefficients that cancel, and kernel values of 1 to the bit: |w|^2 keeps its digits
 * where norms and dot products would lose them. */
TEST(w_of_equal_rows)
{
    (void)state;
    uint64_t s = 7;
    struct set set = set_new(60, 3);
    for (size_t i = 0; i < set.n; i++) {
        for (size_t c = 0; c < set.d; c++)
            set.x[i * set.d + c] = i < 20 ? 4 * draw_normal(&s) : set.x[i % 20 * set.d + c];
        set.y[i] = i % 20 == i / 20 || draw(&s) % 2 == 0 ? 1 : -1;
    }
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    params.kernel = hinge_kernel_rbf(33);
    params.C = 100;
    hinge_model *model = fit(&set, &params, NULL);
    double *beta = fit_beta(model, set.n), *gram = plain_gram(&params.kernel, &set, &set), norm2;
    long double square = 0, size = 0;
    for (size_t i = 0; i < set.n; i++)
        for (size_t j = 0; j < set.n; j++) {
            square += (long double)beta[i] * beta[j] * gram[i * set.n + j];
            size += fabs(beta[i] * beta[j]) * gram[i * set.n + j];
        }
    assert_int_equal(hinge_model_norm2(model, 0, &norm2, NULL), HINGE_OK);
    assert_near(norm2, (double)square, 1e-14 * (double)size);
}

/* A w so small that f does not tell it from b, which is 1 here: w = 2 C 1e-10. */
TEST(small_w)
{
    struct set set = { 3, 1, (double[]){ -1e-10, 1e-10, 1e-10 }, (double[]){ -1, 1, 1 } };
    hinge_params params = linear_params(0.125);
    hinge_model *model = fit(&set, &params, NULL);
    hinge_kinds k;
    double norm2;
    assert_int_equal(hinge_model_norm2(model, 0, &norm2, NULL), HINGE_OK);
    assert_int_equal(hinge_kinds_of(model, matrix_of(&set), set.y, &params, 0, 0, &k, NULL, NULL), HINGE_OK);
    assert_near(norm2, 6.25e-22, 1e-33);
    assert_near(k.norm2, 6.25e-22, 1e-33);
}

struct each {
    const hinge_model *model;
    const struct set *set;
    const hinge_params *params;
    size_t calls, last;
};

/* What hinge_kinds_each tells is what hinge_kinds_of does. */
static int same_as_alone(void *arg, size_t problem, const hinge_kinds *kinds, const hinge_point *points)
{
    struct each *e = arg;
    hinge_matrix x = set_matrix(e->set);
    hinge_point *alone = get(e->set->n, sizeof *alone);
    hinge_kinds k;
    assert_int_equal(problem, e->calls++);
    assert_int_equal(hinge_kinds_of(e->model, &x, e->set->y, e->params, problem, 1e-3, &k, alone, NULL), HINGE_OK);
    assert_memory_equal(&k, kinds, sizeof k);
    assert_memory_equal(alone, points, e->set->n * sizeof *alone);
    return problem == e->last;
}

static void check_each(const hinge_model *model, const struct set *set, const hinge_params *params)
{
    struct each e = { model, set, params, 0, SIZE_MAX };
    hinge_matrix x = set_matrix(set);
    assert_int_equal(hinge_kinds_each(model, &x, set->y, params, 1e-3, same_as_alone, &e, NULL), HINGE_OK);
    assert_int_equal(e.calls, hinge_model_n_problems(model));
    e.calls = e.last = 0;
    assert_int_equal(hinge_kinds_each(model, &x, set->y, params, 1e-3, same_as_alone, &e, NULL), HINGE_ECALLBACK);
    assert_int_equal(e.calls, 1);
    assert_int_equal(hinge_kinds_each(model, &x, set->y, params, 1e-3, NULL, &e, NULL), HINGE_EINVAL);
    assert_int_equal(hinge_kinds_each(model, &x, set->y, params, 0.5, same_as_alone, &e, NULL), HINGE_EINVAL);
}

/* Counts, classes and residuals of a problem in plain loops. */
static void check_kinds(const struct set *set, const hinge_params *params, double violation)
{
    hinge_report report;
    hinge_model *model = fit(set, params, &report);
    hinge_matrix x = set_matrix(set);
    double *f = plain_decisions(model, set), *beta = fit_beta(model, set->n);
    const double *labels = hinge_model_labels(model);
    hinge_point *points = get(set->n, sizeof *points);
    size_t bounded = 0, problems = hinge_model_n_problems(model);
    for (size_t a = 0, p = 0; a < hinge_model_n_classes(model); a++)
        for (size_t b = a + 1; b < hinge_model_n_classes(model); b++, p++) {
            hinge_kinds k;
            size_t sv = 0, n = 0, by_class[4] = { 0 };
            double norm2, sum = 0;
            assert_int_equal(hinge_kinds_of(model, &x, set->y, params, p, 1e-3, &k, points, NULL), HINGE_OK);
            for (size_t i = 0; i < set->n; i++) {
                double y = set->y[i] == labels[a] ? 1 : set->y[i] == labels[b] ? -1 : 0;
                double alpha = fabs(beta[p * set->n + i]), xi = fmax(0, 1 - y * f[i * problems + p]);
                assert_true(points[i].y == y);
                if (y == 0)
                    continue;
                assert_near(points[i].alpha, alpha, 1e-12 * (1 + alpha));
                assert_near(points[i].f, f[i * problems + p], 1e-9 * (1 + fabs(points[i].f)));
                assert_near(points[i].slack, xi, 1e-9 * (1 + xi));
                if (points[i].kind == HINGE_MARGIN_SV)
                    assert_true(points[i].slack_class == HINGE_SLACK_NONE || points[i].slack < 2 * violation);
                if (points[i].kind == HINGE_NO_SV)
                    assert_true(points[i].slack < 2 * violation);
                by_class[points[i].slack_class]++;
                sv += alpha > 0;
                sum += alpha;
                n++;
            }
            assert_int_equal(k.n, n);
            assert_int_equal(k.n_margin_sv + k.n_non_margin_sv, sv);
            assert_memory_equal(k.n_slack, by_class, sizeof by_class);
            assert_int_equal(hinge_model_norm2(model, p, &norm2, NULL), HINGE_OK);
            assert_close(k.norm2, norm2, 1e-8);
            assert_close(k.sum_alpha, sum, 1e-12);
            assert_true(k.bias_low <= k.bias + violation && k.bias <= k.bias_high + violation);
            assert_true(k.bias_low - k.bias_high <= 2 * violation);
            assert_true(k.alpha_slackness <= 2 * violation && k.slack_slackness <= 2 * violation);
            bounded += k.n_non_margin_sv;
        }
    assert_int_equal(bounded, report.n_bsv);
    check_each(model, set, params);
}

TEST(kinds_of_models)
{
    static const double classes[3] = { 2, 5, 9 };
    struct set two = set_two_class(21, 300, 4, 1.5), three = set_blobs(22, 240, 3, 3, classes, 1.2);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    params.eps = 1e-5;
    params.kernel = hinge_kernel_rbf(0.3);
    params.C = 2;
    check_kinds(&two, &params, 1e-5);
    check_kinds(&three, &params, 1e-5);
    double weights[300];
    for (size_t i = 0; i < 300; i++)
        weights[i] = 0.5 + (double)(i % 3);
    params.weights = weights;
    check_kinds(&two, &params, 1e-5);
    params = params_for(HINGE_NU_SVC, hinge_kernel_rbf(0.3), 1);
    params.nu = 0.4;
    params.eps = 1e-6; /* before the division by r */
    check_kinds(&two, &params, 1e-3);
    check_kinds(&three, &params, 1e-3);
}

TEST(kinds_refused)
{
    struct set set = set_regression(1, 30, 2);
    hinge_params params = hinge_params_default(HINGE_EPSILON_SVR);
    hinge_model *model = fit(&set, &params, NULL);
    hinge_matrix x = set_matrix(&set);
    hinge_kinds k;
    double value = 7;
    assert_int_equal(hinge_kinds_of(model, &x, set.y, &params, 0, 0, &k, NULL, &err), HINGE_EINVAL);
    assert_refused(hinge_model_norm2(model, 1, &value, &err), HINGE_EINVAL, "problem");
    assert_int_equal(hinge_model_sum_alpha(model, 0, &value, &err), HINGE_EINVAL);
    assert_true(value == 7);
    params = linear_params(1);
    model = fit(&toy, &params, NULL);
    x = set_matrix(&toy);
    assert_int_equal(hinge_kinds_of(model, &x, toy.y, &params, 1, 0, &k, NULL, &err), HINGE_EINVAL);
    assert_int_equal(hinge_kinds_of(model, &x, toy.y, &params, 0, 0.5, &k, NULL, &err), HINGE_EINVAL);
    assert_int_equal(hinge_kinds_of(model, &x, toy.y, &params, 0, NAN, &k, NULL, &err), HINGE_EINVAL);
    assert_int_equal(hinge_kinds_of(NULL, &x, toy.y, &params, 0, 0, &k, NULL, &err), HINGE_EINVAL);
}

/* ---- locating ---------------------------------------------------------------------------------------------------- */

/* Rows that are equal but for their targets, in an order of their own: the certificate shows that the right ones were
 * found, for coefficients at another row would not be optimal. */
TEST(locating_targets)
{
    for (int k = 0; k < 4; k++) {
        struct set once = set_regression(40 + k, 90, 2), twice = set_join(&once, &once), set = set_join(&twice, &once);
        for (size_t i = 0; i < set.n; i++) /* each row three times, targets up to 1 apart */
            set.y[i] = once.y[i % once.n] + (double)(i * 2654435761U % 1000) / 1000;
        hinge_params params = hinge_params_default(k % 2 == 0 ? HINGE_EPSILON_SVR : HINGE_NU_SVR);
        params.kernel = hinge_kernel_rbf(0.5);
        params.C = k < 2 ? 1 : 30;
        params.eps = 1e-6;
        hinge_model *model = fit(&set, &params, NULL), *again = written_and_read(model);
        hinge_certificate a, b;
        assert_int_equal(hinge_model_locate(again, matrix_of(&set), set.y, NULL, NULL), HINGE_OK);
        a = certified(model, &set, &params);
        b = certified(again, &set, &params);
        assert_true(b.kkt <= 2e-6);
        assert_near(a.primal, b.primal, 1e-7 * a.primal);
        assert_near(a.gap, b.gap, 1e-7 * a.primal);
    }
}

TEST(locating)
{
    static const double classes[3] = { 2, 5, 9 };
    struct set sets[3] = { set_two_class(31, 200, 4, 1.5), set_blobs(32, 200, 3, 3, classes, 1.2),
                           set_regression(33, 200, 3) };
    for (size_t k = 0; k < 3; k++) {
        struct set set = set_join(&sets[k], &sets[k]); /* each row twice */
        hinge_params params = hinge_params_default(k < 2 ? HINGE_C_SVC : HINGE_EPSILON_SVR);
        params.kernel = hinge_kernel_rbf(0.3);
        hinge_model *model = fit(&set, &params, NULL), *again = written_and_read(model);
        hinge_matrix x = set_matrix(&set);
        hinge_certificate a, b;
        size_t missing = 99;
        assert_int_equal(hinge_certify(again, &x, set.y, &params, &b, NULL), HINGE_EINVAL);
        assert_int_equal(hinge_model_locate(again, &x, set.y, &missing, NULL), HINGE_OK);
        assert_int_equal(missing, 0);
        a = certified(model, &set, &params);
        b = certified(again, &set, &params);
        assert_near(a.primal, b.primal, 1e-9 * a.primal);
        assert_near(a.gap, b.gap, 1e-9 * a.primal);
        assert_near(a.kkt, b.kkt, 1e-9);
        const size_t *index = hinge_model_sv_index(again);
        double sv[4];
        char *seen = get(set.n, 1);
        for (size_t i = 0; i < hinge_model_n_sv(again); i++) {
            assert_int_equal(hinge_model_sv(again, i, sv, NULL), HINGE_OK);
            assert_memory_equal(sv, set.x + index[i] * set.d, set.d * sizeof *sv);
            assert_false(seen[index[i]]);
            seen[index[i]] = 1;
        }
    }
    /* other data, other labels */
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = fit(&sets[0], &params, NULL), *again = written_and_read(model);
    struct set flipped = sets[0];
    flipped.y = get(flipped.n, sizeof *flipped.y);
    for (size_t i = 0; i < flipped.n; i++)
        flipped.y[i] = -sets[0].y[i];
    assert_true(certified(model, &flipped, &params).box_residual == 1);
    size_t lost, missing = 0, sv = hinge_model_sv_index(model)[3];
    hinge_matrix x = set_matrix(&sets[0]);
    sets[0].x[sv * 4 + 1] += 1e-9;
    assert_int_equal(hinge_model_locate(again, &x, sets[0].y, &missing, &err), HINGE_EINVAL);
    assert_int_equal(missing, 1);
    assert_says(err.text, "number 3 the first");
    assert_null(hinge_model_sv_index(again));
    sets[0].x[sv * 4 + 1] -= 1e-9;
    sets[0].y[sv] = -sets[0].y[sv];
    assert_int_equal(hinge_model_locate(again, &x, sets[0].y, &lost, &err), HINGE_EINVAL);
    assert_int_equal(lost, 1);
    assert_int_equal(hinge_model_locate(again, &x, NULL, &lost, &err), HINGE_EINVAL);
}

/* Rows in another order, where the classes appear in another order than the model's. */
TEST(locating_in_another_order)
{
    static const double classes[3] = { 2, 5, 9 };
    struct set set = set_blobs(32, 200, 3, 3, classes, 1.2);
    size_t *rows = get(set.n, sizeof *rows), n = 0;
    for (int c = 2; c >= 0; c--)
        for (size_t i = 0; i < set.n; i++)
            if (set.y[i] == classes[c])
                rows[n++] = i;
    struct set sorted = set_rows(&set, rows, n);
    for (int k = 0; k < 4; k++) {
        hinge_params params = params_for(k % 2 == 0 ? HINGE_C_SVC : HINGE_NU_SVC, hinge_kernel_rbf(0.3), 1);
        params.nu = 0.3;
        params.multiclass = k < 2 ? HINGE_ONE_VS_ONE : HINGE_ONE_VS_REST;
        hinge_model *model = fit(&set, &params, NULL), *again = written_and_read(model);
        hinge_matrix x = set_matrix(&sorted);
        hinge_certificate a = certified(model, &set, &params), b;
        assert_true(hinge_model_labels(model)[0] != 9);
        assert_int_equal(hinge_model_locate(again, &x, sorted.y, NULL, NULL), HINGE_OK);
        b = certified(again, &sorted, &params);
        assert_near(a.primal, b.primal, 1e-9 * fabs(a.primal));
        assert_near(a.gap, b.gap, 1e-9 * fabs(a.primal));
        assert_near(a.kkt, b.kkt, 1e-9);
        params.multiclass = k < 2 ? HINGE_ONE_VS_REST : HINGE_ONE_VS_ONE;
        assert_refused(hinge_certify(model, &x, sorted.y, &params, &b, &err), HINGE_EINVAL, "multiclass");
    }
}

/* ---- conventions ------------------------------------------------------------------------------------------------- */

TEST(conversions)
{
    assert_near(hinge_tradeoff_convert(HINGE_TRADEOFF_SUM, HINGE_TRADEOFF_MEAN, 3, 50), 150, 1e-12);
    assert_near(hinge_tradeoff_convert(HINGE_TRADEOFF_SUM, HINGE_TRADEOFF_LAMBDA, 3, 50), 1 / 300.0, 1e-17);
    assert_near(hinge_tradeoff_convert(HINGE_TRADEOFF_MEAN, HINGE_TRADEOFF_LAMBDA, 5, 50), 0.1, 1e-16); /* 1/(2C) */
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++) {
            double there = hinge_tradeoff_convert(from, to, 0.7, 31);
            assert_near(hinge_tradeoff_convert(to, from, there, 31), 0.7, 1e-15);
        }
    assert_true(isnan(hinge_tradeoff_convert(0, 1, 0, 5)) && isnan(hinge_tradeoff_convert(0, 1, 1, 0)));
    assert_true(isnan(hinge_tradeoff_convert(0, 3, 1, 5)) && isnan(hinge_tradeoff_convert(-1, 0, 1, 5)));
    assert_true(isnan(hinge_tradeoff_nu(0.01, 99)) && hinge_tradeoff_nu(0.5, 4) == 0.5);
    assert_true(isnan(hinge_tradeoff_max_margin(1, 0)));
}

/* C-SVC, and nu-SVC with the nu that its max-margin form has: one hyperplane, other lengths. */
TEST(max_margin_form)
{
    struct set set = set_two_class(41, 200, 3, 1.5);
    for (double C = 0.01; C < 20; C *= 10) {
        hinge_params params = linear_params(C), nu = params;
        hinge_model *a = fit(&set, &params, NULL);
        double sum_alpha, w[3], v[3], norm2 = 0, other2 = 0;
        assert_int_equal(hinge_model_sum_alpha(a, 0, &sum_alpha, NULL), HINGE_OK);
        double C_mm = hinge_tradeoff_max_margin(C, sum_alpha);
        nu.task = HINGE_NU_SVC;
        nu.nu = hinge_tradeoff_nu(C_mm, set.n);
        hinge_model *b = fit(&set, &nu, NULL);
        assert_int_equal(hinge_model_weights(a, 0, w, NULL), HINGE_OK);
        assert_int_equal(hinge_model_weights(b, 0, v, NULL), HINGE_OK);
        for (size_t c = 0; c < 3; c++) {
            norm2 += w[c] * w[c];
            other2 += v[c] * v[c];
        }
        for (size_t c = 0; c < 3; c++)
            assert_near(w[c] / sqrt(norm2), v[c] / sqrt(other2), 1e-5);
        assert_near(hinge_model_rho(a)[0] / sqrt(norm2), hinge_model_rho(b)[0] / sqrt(other2), 1e-5);
        /* the objective of the slides' eq. 2 is not lower at hyperplanes nearby, gamma being the best for each */
        double best = INFINITY, here = 0;
        for (int turn = -2; turn <= 2; turn++)
            for (int move = -2; move <= 2; move++) {
                double u[3] = { w[0] + 0.05 * turn * sqrt(norm2), w[1], w[2] }, length = 0, least = INFINITY;
                for (size_t c = 0; c < 3; c++)
                    length += u[c] * u[c];
                length = sqrt(length);
                double shift = -hinge_model_rho(a)[0] / sqrt(norm2) + 0.05 * move;
                for (int step = 0; step <= 400; step++) { /* -gamma + C_mm sum max(0, gamma - y f) over a grid */
                    double gamma = step / 200.0 / sqrt(norm2), value = -gamma;
                    for (size_t i = 0; i < set.n; i++) {
                        double f = shift;
                        for (size_t c = 0; c < 3; c++)
                            f += u[c] / length * set.x[i * 3 + c];
                        value += C_mm * fmax(0, gamma - set.y[i] * f);
                    }
                    least = fmin(least, value);
                }
                best = fmin(best, least);
                if (turn == 0 && move == 0)
                    here = least;
            }
        assert_true(here <= best + 1e-6 * fabs(best));
    }
}
