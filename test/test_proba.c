/* Probabilities: the fits against independent ones, LIBSVM's figures, what is kept in files, and what is
 * refused. */
#include "lib/folds/proba.h"
#include "test/support.h"

#include <hinge/io.h>
#include <hinge/scaling.h>


static const double labels[] = { 4, 2, 8 }; /* of blobs, where a test has none of its own */

static hinge_params probable(hinge_task task, double gamma, double C)
{
    hinge_params params = params_for(task, hinge_kernel_rbf(gamma), C);
    params.probability = 1;
    params.seed = 9;
    return params;
}

static double *probabilities(const hinge_model *model, const struct set *set, double *labels)
{
    double *p = get(set->n * hinge_model_n_classes(model), sizeof *p);
    assert_ok(hinge_predict_probability(model, matrix_of(set), NULL, labels, p, &err));
    return p;
}

static void check_rows(const double *p, size_t n, size_t k)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t c = 0; c < k; c++) {
            assert_true(p[i * k + c] >= 0 && p[i * k + c] <= 1);
            sum += p[i * k + c];
        }
        assert_near(sum, 1, 1e-12);
    }
}

/* ---- The sigmoid ----------------------------------------------------------------------------------------- */

static double platt_loss(const double *f, const bool *first, size_t n, double a, double b)
{
    double n1 = 0, n0 = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        *(first[i] ? &n1 : &n0) += 1;
    for (size_t i = 0; i < n; i++) {
        double t = first[i] ? (n1 + 1) / (n1 + 2) : 1 / (n0 + 2), z = a * f[i] + b;
        double log_p = z > 0 ? -z - log1p(exp(-z)) : -log1p(exp(z)), log_q = log_p + z;
        sum -= t * log_p + (1 - t) * log_q;
    }
    return sum;
}

/* Pattern search: slow and sure. */
static void search(const double *f, const bool *first, size_t n, double *a, double *b)
{
    double best = platt_loss(f, first, n, *a, *b);
    for (double step = 1; step > 1e-9;) {
        const double moves[][2] = { { 1, 0 }, { -1, 0 },  { 0, 1 },  { 0, -1 },
                                    { 1, 1 }, { -1, -1 }, { 1, -1 }, { -1, 1 } };
        bool better = false;
        for (size_t m = 0; m < 8 && !better; m++) {
            double value = platt_loss(f, first, n, *a + step * moves[m][0], *b + step * moves[m][1]);
            if (value < best) {
                best = value;
                *a += step * moves[m][0];
                *b += step * moves[m][1];
                better = true;
            }
        }
        step *= better ? 1 : 0.5;
    }
}

/* Fits with the values of the first class first, as is asked for. */
static void fit_sigmoid(const double *f, const bool *first, size_t n, double *a, double *b)
{
    double *sorted = malloc(n * sizeof *sorted);
    size_t n_first = 0;
    for (size_t i = 0; i < n; i++)
        n_first += first[i];
    size_t at[2] = { 0, n_first };
    for (size_t i = 0; i < n; i++)
        sorted[at[!first[i]]++] = f[i];
    hg_fit_sigmoid(sorted, n_first, n, a, b);
    free(sorted);
}

TEST(fits_sigmoids)
{
    enum { N = 20000 };
    static double f[N];
    static bool first[N];
    const double truth[][2] = { { -2, 0.3 }, { -0.5, -1 }, { -6, 2 }, { 1, 0 } };
    for (size_t k = 0; k < 4; k++) {
        uint64_t seed = 40 + k;
        for (size_t i = 0; i < N; i++) {
            f[i] = 1.5 * draw_normal(&seed);
            first[i] = draw_unit(&seed) < 1 / (1 + exp(truth[k][0] * f[i] + truth[k][1]));
        }
        double a, b;
        fit_sigmoid(f, first, N, &a, &b);
        assert_near(a, truth[k][0], 0.06 * (1 + fabs(truth[k][0])));
        assert_near(b, truth[k][1], 0.1);
        double sa = 0, sb = 0;
        fit_sigmoid(f, first, 500, &a, &b);
        search(f, first, 500, &sa, &sb);
        assert_near(a, sa, 1e-5);
        assert_near(b, sb, 1e-5);
        double value = f[7], far[500]; /* values that a small C leaves: they differ little, far from 0 */
        for (size_t i = 0; i < 500; i++)
            far[i] = 1 + 1e-9 * f[i];
        fit_sigmoid(far, first, 500, &a, &b);
        assert_near(hg_sigmoid(far[7], a, b), hg_sigmoid(value, sa, sb), 1e-5);
    }
    /* separated: the targets keep the slope finite; and one class alone */
    for (size_t i = 0; i < 100; i++) {
        f[i] = ((double)i - 49.5) * 1e3;
        first[i] = i >= 50;
    }
    double a, b;
    fit_sigmoid(f, first, 100, &a, &b);
    assert_true(isfinite(a) && isfinite(b) && a < 0);
    assert_near(hg_sigmoid(f[99], a, b), 1, 0.05);
    memset(first, 1, sizeof first);
    fit_sigmoid(f, first, 100, &a, &b);
    assert_true(isfinite(a) && isfinite(b));
    assert_near(hg_sigmoid(f[0], a, b), 101.0 / 102, 1e-3);
    first[0] = false;
    for (int zero = 0; zero < 2; zero++) { /* all the same, whose mean may be rounded */
        for (size_t i = 0; i < 100; i++)
            f[i] = zero ? 0 : 0.1;
        fit_sigmoid(f, first, 100, &a, &b);
        assert_true(a == 0 && isfinite(b));
    }
    assert_true(hg_sigmoid(1e308, -1, 0) == 1 && hg_sigmoid(-1e308, -1, 0) == 0);
}

/* ---- Coupling -------------------------------------------------------------------------------------------- */

TEST(couples)
{
    enum { MOST = 40 };
    static double r[MOST * MOST], work[MOST * MOST + MOST];
    for (size_t k = 3; k <= MOST; k += k < 6 ? 1 : 17) {
        uint64_t seed = k;
        double p[MOST], found[MOST], sum = 0, total = 0;
        for (size_t i = 0; i < k; i++)
            sum += p[i] = 0.05 + draw_unit(&seed);
        for (size_t i = 0; i < k; i++)
            p[i] /= sum;
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < k; j++)
                r[i * k + j] = i == j ? 0 : p[i] / (p[i] + p[j]);
        hg_couple_pairs(k, r, found, work);
        for (size_t i = 0; i < k; i++) {
            assert_near(found[i], p[i], 0.01);
            total += found[i];
        }
        assert_near(total, 1, 1e-12);
    }
    /* contradicting one another in a circle: nothing to choose */
    const double circle[] = { 0, 0.9, 0.1, 0.1, 0, 0.9, 0.9, 0.1, 0 };
    double p[3];
    hg_couple_pairs(3, circle, p, work);
    for (size_t i = 0; i < 3; i++)
        assert_near(p[i], 1.0 / 3, 1e-3);
    const double sure[] = { 0, 1 - 1e-7, 1 - 1e-7, 1e-7, 0, 0.5, 1e-7, 0.5, 0 };
    hg_couple_pairs(3, sure, p, work);
    assert_near(p[0], 1, 1e-3);
}

/* ---- LIBSVM ---------------------------------------------------------------------------------------------- */

static double mean_difference(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(a[i] - b[i]);
    return sum / (double)n;
}

static void like_theirs(const char *name, const struct set *train, const struct set *test, hinge_params params)
{
    hinge_model *model = fit(train, &params, NULL);
    struct oracle theirs = oracle_train(train, &params);
    size_t k = hinge_model_n_classes(model);
    assert_true(hinge_model_has_probability(model));
    assert_int_equal(svm_get_nr_class(theirs.model), k);
    for (size_t c = 0; c < k; c++)
        assert_true(hinge_model_labels(model)[c] == theirs.model->label[c]);
    double *ours = probabilities(model, test, NULL), *other = oracle_probabilities(&theirs, test);
    check_rows(ours, test->n, k);
    double difference = mean_difference(ours, other, test->n * k);
    print_message("%s: %zu classes, mean difference to LIBSVM's %.4f\n", name, k, difference);
    assert_true(difference < 0.02);
}

static void scale_both(struct set *train, struct set *test)
{
    struct set all = set_join(train, test);
    set_scale(&all);
    memcpy(train->x, all.x, train->n * train->d * sizeof *all.x);
    memcpy(test->x, all.x + train->n * train->d, test->n * test->d * sizeof *all.x);
}

TEST(like_libsvm_shipped)
{
    struct set train = set_shipped("breast_cancer", "train", 30, 0, 1, 0);
    struct set test = set_shipped("breast_cancer", "test", 30, 0, 1, 0);
    scale_both(&train, &test);
    like_theirs("breast_cancer", &train, &test, probable(HINGE_C_SVC, 0.05, 1));
    hinge_params nu = probable(HINGE_NU_SVC, 0.05, 1);
    nu.nu = 0.2;
    like_theirs("breast_cancer, nu", &train, &test, nu);
    train = set_shipped("digits", "train", 64, 0, 2, 0);
    test = set_shipped("digits", "test", 64, 0, 1, 0);
    scale_both(&train, &test);
    like_theirs("digits", &train, &test, probable(HINGE_C_SVC, 0.02, 2));
    const double labels[] = { 5, -2, 9, 1 };
    train = set_blobs(50, 800, 6, 4, labels, 2);
    like_theirs("four blobs", &train, &train, probable(HINGE_C_SVC, 0.1, 1));
}

TEST(like_libsvm_shared)
{
    struct set train = set_shared("heart_scale", "train", 13, 0, 1, 0);
    struct set test = set_shared("heart_scale", "test", 13, 0, 1, 0);
    like_theirs("heart_scale", &train, &test, probable(HINGE_C_SVC, 1.0 / 13, 1));
    train = set_shared("satimage", "train", 36, 0, 4, 0);
    test = set_shared("satimage", "test", 36, 0, 4, 0);
    scale_both(&train, &test);
    like_theirs("satimage", &train, &test, probable(HINGE_C_SVC, 0.5, 4));
    train = set_shared("a9a", "train", 123, 0, 20, 0);
    test = set_shared("a9a", "test", 123, 0, 40, 0);
    like_theirs("a9a", &train, &test, probable(HINGE_C_SVC, 0.05, 1));
}

static void widths(const char *name, const struct set *set, hinge_params params)
{
    hinge_model *model = fit(set, &params, NULL);
    struct oracle theirs = oracle_train(set, &params);
    double sigma = -1;
    assert_int_equal(hinge_model_laplace(model, &sigma, NULL), HINGE_OK);
    print_message("%s: sigma %.5g, LIBSVM's %.5g\n", name, sigma, svm_get_svr_probability(theirs.model));
    assert_close(sigma, svm_get_svr_probability(theirs.model), 0.05);
}

TEST(laplace)
{
    struct set set = set_regression(51, 900, 5);
    set.y[7] = 1e4; /* beyond five deviations */
    widths("made", &set, probable(HINGE_EPSILON_SVR, 0.2, 1));
    hinge_params nu = probable(HINGE_NU_SVR, 0.2, 1);
    nu.nu = 0.4;
    widths("made, nu", &set, nu);
}

TEST(laplace_shared)
{
    struct set set = set_shared("abalone", "train", 8, 0, 4, 0);
    set_scale(&set);
    widths("abalone", &set, probable(HINGE_EPSILON_SVR, 0.5, 10));
}

/* ---- One-class ------------------------------------------------------------------------------------------- */

/* f(x) = x, by hand. */
TEST(density_marks)
{
    static const char text[] =
        "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n1 1:1\n";
    const double marks[] = { -9, -7, -5, -3, -1, 0.5, 2, 4, 6, 8 };
    const double at[] = { -9.5, -9, -8, -0.5, 0.2, 1, 7, 8, 9 };
    const double expected[] = { 0.001, 0.1, 0.1, 0.5, 0.5, 0.6, 0.9, 0.9, 0.999 };
    double data[20], p[18], label[9];
    hinge_model *model = NULL;
    assert_int_equal(hinge_model_parse(&model, "m", text, sizeof text - 1, NULL, NULL), HINGE_OK);
    for (int i = 0; i < 20; i++)
        data[i] = (i * 7) % 20 - 10; /* -10 .. 9 in disorder */
    hinge_matrix x = hinge_matrix_f64(data, 20, 1), some = hinge_matrix_f64(at, 9, 1);
    assert_int_equal(hinge_calibrate(model, &x, NULL, NULL, NULL), HINGE_OK);
    assert_memory_equal(model->density_marks, marks, sizeof marks);
    assert_int_equal(hinge_predict_probability(model, &some, NULL, label, p, NULL), HINGE_OK);
    for (size_t i = 0; i < 9; i++) {
        assert_true(p[2 * i] == expected[i] && p[2 * i + 1] == 1 - expected[i]);
        assert_true(label[i] == (at[i] > 0 ? 1 : -1));
    }
    hinge_model_free(model);
}

TEST(density)
{
    struct set set = set_regression(52, 500, 3);
    hinge_params params = probable(HINGE_ONE_CLASS, 0.3, 1);
    params.nu = 0.4;
    hinge_model *model = fit(&set, &params, NULL);
    assert_true(hinge_model_has_probability(model));
    double *label = get(set.n, sizeof *label), *p = probabilities(model, &set, label);
    double *f = fit_decisions(model, &set, HINGE_PRECISION_AUTO);
    size_t low = 0, high = 0;
    check_rows(p, set.n, 2);
    for (size_t i = 0; i < set.n; i++) {
        assert_true(label[i] == (f[i] > 0 ? 1 : -1));
        low += p[2 * i] < 0.3;
        high += p[2 * i] > 0.7;
        for (size_t j = 0; j < set.n; j += 7)
            assert_true(f[i] <= f[j] ? p[2 * i] <= p[2 * j] : p[2 * i] >= p[2 * j]);
    }
    assert_true(low > 50 && high > 50); /* of 200 and 300, in tenths */
    for (size_t i = 1; i < 10; i++)
        assert_true(model->density_marks[i - 1] <= model->density_marks[i]);
    assert_true(model->density_marks[4] <= 0 && model->density_marks[5] >= 0);
    /* too few on one side, whichever: no calibration, and that is said */
    struct set nine = set;
    nine.n = 9;
    model = fit(&nine, &params, NULL);
    hinge_matrix x = set_matrix(&nine);
    assert_false(hinge_model_has_probability(model));
    assert_refused(hinge_calibrate(model, &x, NULL, NULL, &err), HINGE_EINVAL, "too few");
}

/* ---- Two classes: monotone ------------------------------------------------------------------------------- */

TEST(monotone)
{
    struct set set = set_two_class(53, 400, 5, 1.5);
    hinge_params params = probable(HINGE_C_SVC, 0.3, 2);
    hinge_model *model = fit(&set, &params, NULL);
    double *label = get(set.n, sizeof *label), *p = probabilities(model, &set, label);
    double *f = fit_decisions(model, &set, HINGE_PRECISION_AUTO);
    assert_true(model->prob_a[0] < 0);
    for (size_t i = 0; i < set.n; i++) {
        assert_true(label[i] == hinge_model_labels(model)[p[2 * i] < p[2 * i + 1]]);
        assert_true(p[2 * i] >= 1e-7 && p[2 * i] <= 1 - 1e-7);
        for (size_t j = 0; j < set.n; j += 7)
            assert_true(f[i] <= f[j] ? p[2 * i] <= p[2 * j] : p[2 * i] >= p[2 * j]);
    }
}

/* ---- Seeds, threads, weights ----------------------------------------------------------------------------- */

static void same_calibration(const hinge_model *a, const hinge_model *b)
{
    size_t size = a->n_problems * sizeof(double);
    assert_memory_equal(a->prob_a, b->prob_a, size);
    if (a->prob_b != NULL)
        assert_memory_equal(a->prob_b, b->prob_b, size);
}

static void same_for_threads(const struct set *set, hinge_params params)
{
    hinge_model *first = NULL, *other;
    double *p = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        params.threads = threads;
        other = fit(set, &params, NULL);
        hinge_predict_options options = { .threads = threads };
        double *q = get(set->n * other->n_classes, sizeof *q);
        if (params.task != HINGE_EPSILON_SVR)
            assert_int_equal(hinge_predict_probability(other, matrix_of(set), &options, NULL, q, NULL), HINGE_OK);
        if (first == NULL) {
            first = other;
            p = q;
            continue;
        }
        same_calibration(first, other);
        assert_memory_equal(p, q, set->n * other->n_classes * sizeof *q);
    }
    params.seed++;
    other = fit(set, &params, NULL);
    assert_true(other->prob_a[0] != first->prob_a[0]);
    assert_memory_equal(other->rho, first->rho, first->n_problems * sizeof(double));
}

TEST(threads_and_seeds)
{
    const double labels[] = { 4, 2, 8, 1 };
    struct set set = set_blobs(54, 900, 6, 4, labels, 1.5), line = set_regression(55, 500, 4);
    same_for_threads(&set, probable(HINGE_C_SVC, 0.2, 3));
    hinge_params params = probable(HINGE_C_SVC, 0.2, 3);
    params.cache_bytes = 1 << 18; /* in turn */
    same_for_threads(&set, params);
    same_for_threads(&line, probable(HINGE_EPSILON_SVR, 0.2, 1));
}

/* Rows of weight 0 are as if they were not there: the calibration too. */
TEST(weights_of_zero)
{
    for (size_t k = 2; k <= 3; k++) {
        struct set set = set_blobs(56, 300, 5, k, labels, 1.5), junk = set_blobs(57, 40, 5, k, labels, 9);
        struct set all = set_join(&set, &junk);
        double weights[340] = { 0 };
        for (size_t i = 0; i < set.n; i++)
            weights[i] = i % 5 == 0 ? 2 : 1;
        hinge_params params = probable(HINGE_C_SVC, 0.2, 1);
        params.weights = weights;
        hinge_model *a = fit(&set, &params, NULL), *b = fit(&all, &params, NULL);
        same_calibration(a, b);
    }
}

TEST(precomputed)
{
    for (size_t k = 2; k <= 3; k++) {
        struct set set = set_blobs(58, 200, 4, k, labels, 1);
        hinge_params params = probable(HINGE_C_SVC, 0.3, 1);
        params.eps = 1e-5;
        double *gram = plain_gram(&params.kernel, &set, &set);
        struct set matrix = { set.n, set.n, gram, set.y };
        hinge_model *direct = fit(&set, &params, NULL);
        params.kernel = hinge_kernel_precomputed();
        hinge_model *model = fit(&matrix, &params, NULL);
        for (size_t p = 0; p < model->n_problems; p++) {
            assert_near(model->prob_a[p], direct->prob_a[p], 1e-3);
            assert_near(model->prob_b[p], direct->prob_b[p], 1e-3);
        }
    }
}

/* ---- On data held out ------------------------------------------------------------------------------------ */

TEST(held_out)
{
    struct set set = set_blobs(59, 1500, 5, 3, labels, 1.5), line = set_regression(60, 800, 4);
    struct set train = set, test = { 900, set.d, set.x + 600 * set.d, set.y + 600 };
    train.n = 600;
    hinge_params params = probable(HINGE_C_SVC, 0.2, 1);
    hinge_model *folds = fit(&train, &params, NULL);
    params.probability = 0;
    hinge_model *model = fit(&train, &params, NULL);
    hinge_matrix x = set_matrix(&test);
    assert_false(hinge_model_has_probability(model));
    assert_int_equal(hinge_calibrate(model, &x, test.y, NULL, &err), HINGE_OK);
    double *p = probabilities(model, &test, NULL), *q = probabilities(folds, &test, NULL);
    double difference = mean_difference(p, q, 3 * test.n);
    print_message("held out against folds: mean difference %.4f\n", difference);
    assert_true(difference < 0.03 && difference > 0);
    assert_int_equal(hinge_calibrate(folds, &x, test.y, NULL, NULL), HINGE_OK); /* replaced */
    same_calibration(folds, model);
    /* refused, and nothing is changed by it */
    struct set other = set_join(&test, &test);
    x = set_matrix(&other);
    other.y[5] = 77;
    assert_int_equal(hinge_calibrate(folds, &x, other.y, NULL, &err), HINGE_EINVAL);
    assert_string_equal(err.text, "y: the label of row 5 is 77, no class of the model");
    for (size_t i = 0; i < other.n; i++)
        other.y[i] = 4;
    assert_refused(hinge_calibrate(folds, &x, other.y, NULL, &err), HINGE_EINVAL, "no row is of class");
    assert_int_equal(hinge_calibrate(folds, &x, NULL, NULL, &err), HINGE_EINVAL);
    assert_int_equal(hinge_calibrate(NULL, &x, other.y, NULL, &err), HINGE_EINVAL);
    same_calibration(folds, model);
    hinge_params svr = probable(HINGE_EPSILON_SVR, 0.2, 1);
    train = line;
    train.n = 400;
    model = fit(&train, &svr, NULL);
    double by_folds, sigma;
    x = hinge_matrix_f64(line.x + 400 * line.d, 400, line.d);
    assert_int_equal(hinge_model_laplace(model, &by_folds, NULL), HINGE_OK);
    assert_int_equal(hinge_calibrate(model, &x, line.y + 400, NULL, NULL), HINGE_OK);
    assert_int_equal(hinge_model_laplace(model, &sigma, NULL), HINGE_OK);
    assert_close(sigma, by_folds, 0.15);
}

/* ---- One class against the rest ------------------------------------------------------------------------- */

/* n rows of k classes, class after class, so that a class and the rest stand as the model has them. */
static struct set sorted_blobs(uint64_t seed, size_t n, size_t k, const double *labels)
{
    struct set set = set_blobs(seed, n, 5, k, labels, 1.5);
    size_t *order = get(n, sizeof *order), m = 0;
    for (size_t c = 0; c < k; c++)
        for (size_t i = 0; i < n; i++)
            if (set.y[i] == labels[c])
                order[m++] = i;
    struct set sorted = set_rows(&set, order, n);
    return sorted;
}

/* The sigmoid of each class is that of a problem of two classes, the rest being one, with all weights. */
TEST(rest_is_a_class)
{
    enum { N = 400 };
    const double labels[] = { 4, 2, 8, 5 }, classes[] = { 2, 5 }, by_class[] = { 2, 0.5 };
    struct set set = sorted_blobs(71, N, 4, labels);
    double weights[N], all[N], y[N];
    for (int weighted = 0; weighted < 2; weighted++)
        for (int task = HINGE_C_SVC; task <= HINGE_NU_SVC; task++) {
            hinge_params params = probable(task, 0.2, 1);
            params.multiclass = HINGE_ONE_VS_REST;
            params.nu = 0.15;
            for (size_t i = 0; i < N; i++) {
                weights[i] = i % 7 == 0 ? 0 : 1 + i % 3;
                all[i] = weights[i] * (set.y[i] == 2 ? 2 : set.y[i] == 5 ? 0.5 : 1);
            }
            if (weighted) {
                params.weights = weights;
                params.n_class_weights = 2;
                params.class_labels = classes;
                params.class_weights = by_class;
            }
            hinge_model *model = fit(&set, &params, NULL);
            assert_int_equal(hinge_model_n_problems(model), 4);
            for (size_t c = 0; c < 4; c++) {
                hinge_params alone = probable(task, 0.2, 1);
                alone.nu = 0.15;
                alone.weights = weighted ? all : NULL;
                alone.seed += c * UINT64_C(0x632be59bd9b4e019); /* each problem deals its own folds */
                for (size_t i = 0; i < N; i++)
                    y[i] = set.y[i] == labels[c] ? 1 : -1;
                struct set named = { N, set.d, set.x, y };
                hinge_model *binary = fit(&named, &alone, NULL);
                /* C-SVC's folds begin where the problem ends, whose points stand in another order */
                double most = task == HINGE_NU_SVC ? 0 : 0.05;
                assert_true(fabs(model->prob_a[c] - binary->prob_a[0]) <= most);
                assert_true(fabs(model->prob_b[c] - binary->prob_b[0]) <= most);
                assert_true(model->prob_a[c] < 0); /* the surer of the class, the larger its decision value */
            }
        }
}

/* From decision values by plain loops: the best sigmoid of each class, divided by their sum. */
TEST(rest_held_out)
{
    const double labels[] = { 4, 2, 8, 5 };
    struct set train = set_blobs(72, 500, 5, 4, labels, 1.5), held = set_blobs(72, 700, 5, 4, labels, 1.5);
    hinge_params params = probable(HINGE_C_SVC, 0.2, 1);
    params.probability = 0;
    params.multiclass = HINGE_ONE_VS_REST;
    hinge_model *model = fit(&train, &params, NULL);
    assert_int_equal(hinge_calibrate(model, matrix_of(&held), held.y, NULL, NULL), HINGE_OK);
    double label[500], *f = fit_decisions(model, &held, HINGE_PRECISION_F64);
    double *g = fit_decisions(model, &train, HINGE_PRECISION_F64);
    double *p = probabilities(model, &train, label), *mine = get(held.n, sizeof *mine), a[4], b[4];
    bool *first = get(held.n, sizeof *first);
    check_rows(p, train.n, 4);
    for (size_t c = 0; c < 4; c++) {
        for (size_t i = 0; i < held.n; i++) {
            mine[i] = f[i * 4 + c];
            first[i] = held.y[i] == hinge_model_labels(model)[c];
        }
        a[c] = b[c] = 0;
        search(mine, first, held.n, &a[c], &b[c]);
    }
    for (size_t i = 0; i < train.n; i++) {
        double r[4], sum = 0;
        size_t best = 0;
        for (size_t c = 0; c < 4; c++)
            sum += r[c] = 1 / (1 + exp(a[c] * g[i * 4 + c] + b[c]));
        for (size_t c = 0; c < 4; c++) {
            assert_near(p[i * 4 + c], r[c] / sum, 1e-4);
            best = p[i * 4 + c] > p[i * 4 + best] ? c : best;
        }
        assert_true(label[i] == hinge_model_labels(model)[best]);
    }
}

static double log_loss(const hinge_model *model, const struct set *set)
{
    double *p = probabilities(model, set, NULL), sum = 0;
    size_t k = hinge_model_n_classes(model);
    check_rows(p, set->n, k);
    for (size_t i = 0; i < set->n; i++)
        for (size_t c = 0; c < k; c++)
            sum -= set->y[i] == hinge_model_labels(model)[c] ? log(p[i * k + c]) : 0;
    return sum / (double)set->n;
}

TEST(rest_on_digits)
{
    struct set train = set_shipped("digits", "train", 64, 0, 2, 0), test = set_shipped("digits", "test", 64, 0, 1, 0);
    scale_both(&train, &test);
    hinge_params params = probable(HINGE_C_SVC, 0.02, 2);
    hinge_model *pairs = fit(&train, &params, NULL);
    params.multiclass = HINGE_ONE_VS_REST;
    hinge_model *rest = fit(&train, &params, NULL);
    double by_pairs = log_loss(pairs, &test), by_rest = log_loss(rest, &test);
    print_message("digits, log loss: one-vs-one %.4f, one-vs-rest %.4f\n", by_pairs, by_rest);
    assert_true(by_rest < 1.2 * by_pairs);
    params.threads = 1;
    hinge_model *again = fit(&train, &params, NULL);
    same_calibration(rest, again);
}

/* ---- Files ----------------------------------------------------------------------------------------------- */

static void same_predictions(const hinge_model *a, const hinge_model *b, const struct set *set)
{
    double *la = fit_labels(a, set), *lb = fit_labels(b, set);
    double *fa = fit_decisions(a, set, HINGE_PRECISION_AUTO), *fb = fit_decisions(b, set, HINGE_PRECISION_AUTO);
    assert_memory_equal(la, lb, set->n * sizeof *la);
    assert_memory_equal(fa, fb, set->n * hinge_model_n_problems(a) * sizeof *fa);
    assert_int_equal(hinge_model_has_probability(a), hinge_model_has_probability(b));
    if (hinge_model_has_probability(a) && hinge_model_task(a) < HINGE_EPSILON_SVR) {
        double *pa = probabilities(a, set, la), *pb = probabilities(b, set, lb);
        assert_memory_equal(pa, pb, set->n * hinge_model_n_classes(a) * sizeof *pa);
        assert_memory_equal(la, lb, set->n * sizeof *la);
    }
}

TEST(files)
{
    struct set three = set_blobs(61, 300, 5, 3, labels, 1.5), two = set_two_class(62, 200, 4, 1);
    struct set line = set_regression(63, 200, 4), one = line;
    const struct {
        const struct set *set;
        hinge_task task;
    } cases[] = { { &three, HINGE_C_SVC },      { &two, HINGE_C_SVC },   { &three, HINGE_NU_SVC },
                  { &line, HINGE_EPSILON_SVR }, { &line, HINGE_NU_SVR }, { &one, HINGE_ONE_CLASS } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hinge_params params = probable(cases[i].task, 0.3, 1);
        params.nu = 0.4;
        hinge_model *model = fit(cases[i].set, &params, NULL), *again = written_and_read(model);
        assert_true(hinge_model_has_probability(model));
        same_predictions(model, again, cases[i].set);
        if (cases[i].task == HINGE_ONE_CLASS) {
            assert_true(oracle_refuses(model) == (libsvm_version < 330)); /* which has density marks */
            continue;
        }
        struct oracle theirs = oracle_read(model);
        if (cases[i].task >= HINGE_EPSILON_SVR) {
            double sigma, other;
            assert_int_equal(hinge_model_laplace(model, &sigma, NULL), HINGE_OK);
            assert_int_equal(hinge_model_laplace(again, &other, NULL), HINGE_OK);
            assert_true(sigma == other && sigma == svm_get_svr_probability(theirs.model));
        } else {
            size_t k = hinge_model_n_classes(model);
            double *ours = probabilities(model, cases[i].set, NULL);
            double *other = oracle_probabilities(&theirs, cases[i].set);
            assert_near(largest_difference(ours, other, cases[i].set->n * k), 0, 1e-9);
        }
    }
}

TEST(files_of_our_own)
{
    struct set set = set_blobs(64, 300, 5, 3, labels, 1.5);
    hinge_params params = probable(HINGE_C_SVC, 0.3, 1);
    params.multiclass = HINGE_ONE_VS_REST;
    hinge_model *model = fit(&set, &params, NULL), *again = written_and_read(model);
    assert_true(hinge_model_has_probability(again));
    assert_int_equal(hinge_model_multiclass(again), HINGE_ONE_VS_REST);
    assert_int_equal(hinge_model_n_problems(again), 3);
    same_predictions(model, again, &set);
    assert_true(oracle_refuses(model));
    const double factor[] = { 0.5, 1.0 / 3, -2, 0, 1e-3 }, offset[] = { 0, -1, 1.0 / 7, 4, 1e3 };
    const hinge_kernel kernels[] = { hinge_kernel_rbf(0.3), hinge_kernel_linear(), hinge_kernel_polynomial(2, 0.5, 1) };
    for (size_t k = 0; k < 3; k++) {
        params = probable(HINGE_C_SVC, 0.3, 1);
        params.kernel = kernels[k];
        params.probability = k < 2; /* LIBSVM leaks those of a file that it refuses */
        model = fit(&set, &params, NULL);
        assert_int_equal(hinge_model_set_scaling(model, factor, offset, NULL), HINGE_OK);
        again = written_and_read(model);
        assert_memory_equal(hinge_model_scale_factor(again), factor, sizeof factor);
        assert_memory_equal(hinge_model_scale_offset(again), offset, sizeof offset);
        same_predictions(model, again, &set);
        assert_true(k < 2 || oracle_refuses(model));
    }
}

/* ---- Single classes, refusals, stops --------------------------------------------------------------------- */

TEST(single_class)
{
    struct set set = set_two_class(65, 20, 3, 1);
    for (size_t i = 0; i < set.n; i++)
        set.y[i] = 6;
    hinge_params params = probable(HINGE_C_SVC, 0.3, 1);
    hinge_model *model = fit(&set, &params, NULL), *again = written_and_read(model);
    double label[20], *p = probabilities(model, &set, label);
    assert_int_equal(hinge_model_n_classes(model), 1);
    for (size_t i = 0; i < set.n; i++)
        assert_true(p[i] == 1 && label[i] == 6);
    p = probabilities(again, &set, label);
    assert_true(p[0] == 1 && label[19] == 6);
    assert_int_equal(hinge_calibrate(model, matrix_of(&set), set.y, NULL, NULL), HINGE_OK);
    /* so few that folds see one class, or none at all */
    for (size_t n = 2; n <= 9; n++) {
        for (size_t i = 0; i < n; i++)
            set.y[i] = i == n - 1 ? 3 : 6;
        struct set few = set;
        few.n = n;
        model = fit(&few, &params, NULL);
        p = probabilities(model, &few, NULL);
        check_rows(p, n, 2);
        hinge_params svr = probable(HINGE_EPSILON_SVR, 0.3, 1);
        few.n = n - 1;
        model = fit(&few, &svr, NULL);
        assert_int_equal(hinge_model_has_probability(model), n > 2);
    }
}

static void refused(const hinge_model *model, const struct set *set, const char *part)
{
    double *p = get(set->n * 8, sizeof *p), label = 42;
    p[0] = 42;
    assert_int_equal(hinge_predict_probability(model, matrix_of(set), NULL, &label, p, &err), HINGE_EINVAL);
    assert_says(err.text, part);
    assert_true(p[0] == 42 && label == 42);
}

TEST(refuses)
{
    struct set set = set_blobs(66, 100, 3, 3, labels, 1), bad = set_blobs(66, 10000, 3, 3, labels, 1);
    hinge_params params = probable(HINGE_C_SVC, 0.3, 1);
    hinge_model *model = NULL;
    hinge_matrix x = set_matrix(&set);
    double sigma = 42;
    params.probability = 0;
    model = fit(&set, &params, NULL);
    refused(model, &set, "not calibrated");
    assert_int_equal(hinge_model_laplace(model, &sigma, NULL), HINGE_EINVAL);
    assert_int_equal(hinge_calibrate(model, &x, set.y, NULL, NULL), HINGE_OK);
    bad.x[3 * bad.n - 1] = NAN; /* nothing is told of the rows before it */
    refused(model, &bad, "not a finite number");
    assert_int_equal(hinge_predict_probability(model, &x, NULL, NULL, NULL, NULL), HINGE_EINVAL);
    assert_int_equal(hinge_predict_probability(model, NULL, NULL, NULL, &sigma, NULL), HINGE_EINVAL);
    assert_int_equal(hinge_predict_probability(NULL, &x, NULL, NULL, &sigma, NULL), HINGE_EINVAL);
    x.rows = 0;
    assert_int_equal(hinge_predict_probability(model, &x, NULL, NULL, &sigma, NULL), HINGE_OK);
    assert_int_equal(hinge_calibrate(model, &x, set.y, NULL, NULL), HINGE_EINVAL);
    params.task = HINGE_EPSILON_SVR;
    model = fit(&set, &params, NULL);
    assert_int_equal(hinge_model_laplace(model, &sigma, &err), HINGE_EINVAL);
    assert_string_equal(err.text, "model: not calibrated");
    refused(model, &set, "of a regression");
    assert_false(hinge_model_has_probability(NULL));
    assert_true(sigma == 42);
}

struct watch {
    size_t calls, allowed;
};

static int watching(void *arg, const hinge_progress *progress)
{
    struct watch *w = arg;
    assert_true(progress->problem < progress->n_problems);
    return ++w->calls > w->allowed;
}

/* A run stopped before its calibration is done has none, and is a usable model. */
TEST(stops)
{
    struct set set = set_blobs(67, 400, 4, 3, labels, 1.5);
    for (int threads = 1; threads <= 2; threads++) {
        struct watch w = { 0, SIZE_MAX };
        hinge_params params = probable(HINGE_C_SVC, 0.3, 1);
        hinge_report report;
        params.threads = threads;
        params.progress = watching;
        params.progress_arg = &w;
        converged(&set, &params, &report);
        size_t all = w.calls;
        assert_true(all >= 18); /* 3 problems, and 15 folds */
        for (size_t allowed = 0; allowed < all; allowed += 4) {
            w = (struct watch){ 0, allowed };
            hinge_model *model = fit(&set, &params, &report);
            bool stopped = allowed < 18 || w.calls > allowed; /* calls in mid-round are up to the machine */
            assert_int_equal(report.outcome, stopped ? HINGE_STOPPED : HINGE_CONVERGED);
            assert_true(w.calls == allowed + 1 || !stopped);
            assert_true(hinge_model_has_probability(model) != stopped);
            fit_labels(model, &set);
        }
        params.progress = NULL;
        params.time_limit = 1e-6;
        hinge_model *model = fit(&set, &params, &report);
        assert_int_equal(report.outcome, HINGE_TIME_LIMIT);
        assert_false(hinge_model_has_probability(model));
    }
}

/* nu at the most the classes allow: a fold that has a row less of the smaller one still calibrates. */
TEST(largest_nu)
{
    struct set set = set_two_class(68, 203, 4, 1);
    for (size_t i = 0; i < set.n; i++)
        set.y[i] = i % 4 == 0 ? 1 : -1;
    hinge_params params = probable(HINGE_NU_SVC, 0.3, 1);
    params.nu = 2 * 51.0 / 203;
    hinge_model *model = fit(&set, &params, NULL);
    assert_true(hinge_model_has_probability(model));
}
