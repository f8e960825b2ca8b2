/*
 * The interior point: LIBSVM and SMO as oracles, optima known by hand, KKT conditions by plain loops, and what it
 * promises: bounds met exactly, a sum of 0, the same bits for any number of threads, stops that leave usable models.
 */
#include "test/support.h"

#include "kernels/gram.h"
#include "lib/rows/source.h"
#include "solver/ipm/cholesky.h"

static hinge_params linear(hinge_task task, double C)
{
    hinge_params p = params_for(task, hinge_kernel_linear(), C);
    p.solver = HINGE_SOLVER_INTERIOR_POINT;
    return p;
}

/* The gap relative to the dual, by hinge_certify; feasibility is asserted. */
static double certified_gap(const hinge_model *model, const struct set *set, const hinge_params *params)
{
    hinge_certificate c = certified(model, set, params);
    assert_true(c.sum_residual <= 1e-12 && c.box_residual == 0);
    return c.gap / fmax(fabs(c.dual), fabs(c.primal));
}

static double certified_kkt(const hinge_model *model, const struct set *set, const hinge_params *params)
{
    hinge_certificate c = certified(model, set, params);
    return c.kkt;
}

/* ---- oracles ----------------------------------------------------------------------------------------------------- */

/* LIBSVM at eps 1e-6, objective (it prints six decimals) and decision values; class weights for classification. */
static void as_libsvm(const struct set *set, hinge_task task, double C)
{
    hinge_params params = linear(task, C);
    double labels[] = { 1, -1 }, weights[] = { 2, 0.5 };
    hinge_report report;
    params.eps = 1e-6;
    params.nu = task == HINGE_NU_SVC ? 0.9 : 0.305; /* some coefficients inside their boxes: one bias alone is right */
    if (task == HINGE_C_SVC) {
        params.n_class_weights = 2;
        params.class_labels = labels;
        params.class_weights = weights;
    }
    struct oracle oracle = oracle_train(set, &params);
    params.eps = 1e-9;
    hinge_model *model = converged(set, &params, &report);
    assert_true(report.gap <= 1e-9 && strncmp(report.path, "interior-point", 14) == 0);
    assert_near(report.objective, oracle.objective, 2e-6 + 3e-6 * fabs(oracle.objective)); /* its rows are f32 */
    assert_true(certified_gap(model, set, &params) <= 1e-8);
    double *f = fit_decisions(model, set, HINGE_PRECISION_F64), *g = get(set->n, sizeof *g), largest = 1;
    oracle_predict(&oracle, set, NULL, g);
    for (size_t i = 0; i < set->n; i++)
        largest = fmax(largest, fabs(g[i]));
    double sign = hinge_task_info(task)->classifies && oracle.model->label[0] != hinge_model_labels(model)[0] ? -1 : 1;
    for (size_t i = 0; i < set->n; i++)
        assert_near(f[i], sign * g[i], 1e-4 * largest);
}

TEST(libsvm_agrees)
{
    const double C[] = { 0.01, 1, 10 };
    for (size_t t = 0; t < 3; t++) {
        struct set two = set_two_class(10 + t, 150 + 40 * t, 2 + 3 * t, 0.9),
                   real = set_regression(20 + t, 120 + 50 * t, 1 + 2 * t);
        as_libsvm(&two, HINGE_C_SVC, C[t]);
        as_libsvm(&real, HINGE_EPSILON_SVR, C[t]);
        as_libsvm(&two, HINGE_NU_SVC, 1);
        as_libsvm(&real, HINGE_NU_SVR, C[t]);
        for (size_t k = 0; k < two.n * two.d; k++)
            two.x[k] += 1.5; /* an origin within the points would leave nothing to find */
        as_libsvm(&two, HINGE_ONE_CLASS, 1);
    }
}

/* Weights of examples, some 0: the conditions by plain loops. */
TEST(weights_of_examples)
{
    for (uint64_t t = 0; t < 6; t++) {
        hinge_task task = t % 2 == 0 ? HINGE_C_SVC : HINGE_EPSILON_SVR;
        struct set set = t % 2 == 0 ? set_two_class(t, 130, 4, 1) : set_regression(t, 130, 4);
        hinge_params params = linear(task, pow(10, (double)t - 2));
        double weights[130];
        uint64_t seed = t;
        for (size_t i = 0; i < 130; i++)
            weights[i] = i > 4 && draw(&seed) % 4 == 0 ? 0 : 0.1 + 2 * draw_unit(&seed);
        params.weights = weights;
        params.eps = 1e-8;
        hinge_report report;
        hinge_model *model = fit(&set, &params, &report);
        struct plain_certificate c = plain_certify(model, &set, &params);
        assert_true((c.primal - c.dual) / fabs(c.dual) <= 1e-8);
        assert_true(c.kkt <= 1e-7 && c.sum <= 1e-12 && c.box == 0);
        assert_close(report.objective, -c.dual, 1e-12);
        assert_near(report.violation, c.kkt, 1e-9);
    }
}

TEST(several_classes)
{
    double labels[] = { 4, -2, 7, 1 };
    struct set set = set_blobs(5, 240, 3, 4, labels, 0.8);
    for (int rest = 0; rest < 2; rest++) {
        hinge_params params = linear(HINGE_C_SVC, 0.5);
        params.multiclass = rest ? HINGE_ONE_VS_REST : HINGE_ONE_VS_ONE;
        params.eps = 1e-5;
        hinge_report ipm, smo;
        hinge_model *a = fit(&set, &params, &ipm);
        params.solver = HINGE_SOLVER_SMO;
        hinge_model *b = fit(&set, &params, &smo);
        assert_int_equal(ipm.n_problems, rest ? 4 : 6);
        assert_int_equal(ipm.outcome, HINGE_CONVERGED);
        for (size_t p = 0; p < ipm.n_problems; p++) {
            assert_close(hinge_model_objectives(a)[p], hinge_model_objectives(b)[p], 1e-5);
            assert_near(hinge_model_rho(a)[p], hinge_model_rho(b)[p], 1e-3);
        }
        double *f = fit_decisions(a, &set, HINGE_PRECISION_F64), *g = fit_decisions(b, &set, HINGE_PRECISION_F64);
        assert_true(largest_difference(f, g, set.n * ipm.n_problems) <= 1e-3);
    }
}

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

/* x = +-1, +-2, ...: the closest two carry the margin, w = 1, alpha = min(1/2, C). */
TEST(on_a_line)
{
    struct set set = set_new(12, 1);
    for (size_t i = 0; i < 12; i++) {
        set.x[i] = (i % 2 == 0 ? 1 : -1) * (1 + (double)(i / 2));
        set.y[i] = i % 2 == 0 ? 1 : -1;
    }
    const double C[] = { 1, 10, 1e6, INFINITY };
    for (size_t t = 0; t < 4; t++) {
        hinge_params params = linear(HINGE_C_SVC, C[t]);
        hinge_report report;
        hinge_model *model = fit(&set, &params, &report);
        double w, *beta = fit_beta(model, 12);
        assert_int_equal(report.outcome, HINGE_CONVERGED);
        assert_int_equal(hinge_model_weights(model, 0, &w, NULL), HINGE_OK);
        assert_near(w, 1, 1e-9);
        assert_near(hinge_model_rho(model)[0], 0, 1e-9);
        assert_near(report.objective, -0.5, 1e-9);
        assert_int_equal(report.n_sv, 2); /* the others are 0 exactly */
        assert_near(beta[0], 0.5, 1e-9);
        assert_near(beta[1], -0.5, 1e-9);
    }
}

/* Bounds are met exactly: every coefficient is 0, C (weighted), or strictly between with y f = 1. */
TEST(bounds_exact)
{
    struct set set = set_two_class(3, 2000, 6, 1.2);
    hinge_params params = linear(HINGE_C_SVC, 0.7);
    hinge_report report;
    hinge_model *model = fit(&set, &params, &report);
    double *beta = fit_beta(model, set.n), *f = fit_decisions(model, &set, HINGE_PRECISION_F64), sum = 0;
    size_t free_ones = 0, bounded = 0;
    for (size_t i = 0; i < set.n; i++) {
        double y = set.y[i] == hinge_model_labels(model)[0] ? 1 : -1, alpha = y * beta[i];
        sum += beta[i];
        if (alpha == 0)
            assert_true(y * f[i] >= 1 - 1e-6);
        else if (alpha == params.C)
            assert_true(++bounded > 0 && y * f[i] <= 1 + 1e-6);
        else
            assert_true(++free_ones > 0 && alpha > 0 && alpha < params.C && fabs(y * f[i] - 1) <= 1e-6);
    }
    assert_true(free_ones >= 1 && free_ones <= 7 && bounded > 100); /* in general position d + 1 at most */
    assert_int_equal(report.n_sv, free_ones + bounded);
    assert_int_equal(report.n_bsv, bounded);
    assert_near(sum, 0, 1e-9);
}

/* LIBLINEAR's dual coordinate descent (Hsieh et al. 2008), without bias, to the end. */
static double descend(const struct set *s, const double *y, double C, double *w)
{
    double *alpha = get(s->n, sizeof *alpha), objective = 0;
    memset(w, 0, s->d * sizeof *w);
    for (int round = 0; round < 20000; round++)
        for (size_t i = 0; i < s->n; i++) {
            const double *x = s->x + i * s->d;
            double f = 0, norm = 0;
            for (size_t k = 0; k < s->d; k++) {
                f += w[k] * x[k];
                norm += x[k] * x[k];
            }
            double next = fmin(fmax(alpha[i] - (y[i] * f - 1) / norm, 0), C);
            for (size_t k = 0; k < s->d; k++)
                w[k] += (next - alpha[i]) * y[i] * x[k];
            alpha[i] = next;
        }
    for (size_t k = 0; k < s->d; k++)
        objective += w[k] * w[k] / 2;
    for (size_t i = 0; i < s->n; i++)
        objective -= alpha[i];
    return objective;
}

TEST(without_bias)
{
    for (uint64_t t = 0; t < 3; t++) {
        struct set set = set_two_class(30 + t, 90, 3, 1);
        for (size_t i = 0; i < set.n; i++)
            set.x[i * set.d] += 1; /* a bias would matter */
        hinge_params params = linear(HINGE_C_SVC, pow(10, (double)t - 1));
        hinge_report report;
        params.no_bias = 1;
        params.eps = 1e-8;
        hinge_model *model = fit(&set, &params, &report);
        double w[3], v[3], y[90];
        for (size_t i = 0; i < set.n; i++)
            y[i] = set.y[i] == hinge_model_labels(model)[0] ? 1 : -1;
        double objective = descend(&set, y, params.C, v);
        assert_int_equal(report.outcome, HINGE_CONVERGED);
        assert_true(hinge_model_rho(model)[0] == 0);
        assert_int_equal(hinge_model_weights(model, 0, w, NULL), HINGE_OK);
        for (size_t k = 0; k < 3; k++)
            assert_near(w[k], v[k], 1e-6);
        assert_close(report.objective, objective, 1e-8);
        hinge_certificate c = certified(model, &set, &params);
        assert_true(c.gap <= 1e-8 * fabs(c.dual) && c.kkt <= 1e-7);
    }
    /* regression through the origin: y = 2 x exactly, eps = 0: w = 2 */
    struct set set = set_new(20, 1);
    for (size_t i = 0; i < 20; i++) {
        set.x[i] = 1 + (double)i / 7;
        set.y[i] = 2 * set.x[i];
    }
    hinge_params params = linear(HINGE_EPSILON_SVR, 1000);
    hinge_report report;
    double w;
    params.no_bias = 1;
    params.p = 0;
    hinge_model *model = converged(&set, &params, &report);
    assert_int_equal(hinge_model_weights(model, 0, &w, NULL), HINGE_OK);
    assert_near(w, 2, 1e-8);
}

/* ---- factors of kernels ------------------------------------------------------------------------------------------ */

TEST(full_rank_is_exact)
{
    for (int t = 0; t < 3; t++) {
        hinge_task task = t == 0 ? HINGE_C_SVC : t == 1 ? HINGE_EPSILON_SVR : HINGE_ONE_CLASS;
        struct set set = t == 1 ? set_regression(6, 140, 3) : set_two_class(6, 140, 3, 1);
        hinge_params params = linear(task, 2);
        hinge_report ipm, smo;
        params.kernel = hinge_kernel_rbf(0.7);
        params.eps = 1e-9;
        params.rank = 140;
        hinge_model *a = fit(&set, &params, &ipm);
        params.rank = 0;
        params.solver = HINGE_SOLVER_SMO;
        params.precision = HINGE_PRECISION_F64;
        hinge_model *b = fit(&set, &params, &smo);
        assert_int_equal(ipm.outcome, HINGE_CONVERGED);
        assert_true(ipm.trace_error <= 1e-12);
        assert_close(ipm.objective, smo.objective, 1e-8);
        double *f = fit_decisions(a, &set, HINGE_PRECISION_F64), *g = fit_decisions(b, &set, HINGE_PRECISION_F64);
        assert_true(largest_difference(f, g, set.n) <= 1e-6);
    }
}

/* What a greedy factor of rank r leaves of the trace, by plain loops on the matrix itself (Schur complements). first:
 * which row comes first where all diagonals are equal. */
static double plain_trace_error(const double *gram, size_t n, size_t rank, size_t first)
{
    double *left = get(n * n, sizeof *left), whole = 0, rest = 0;
    memcpy(left, gram, n * n * sizeof *left);
    for (size_t i = 0; i < n; i++)
        whole += gram[i * n + i];
    for (size_t r = 0; r < rank; r++) {
        size_t p = first;
        for (size_t i = 0; i < n; i++)
            p = left[i * n + i] > left[p * n + p] ? i : p;
        double pivot = left[p * n + p], *row = get(n, sizeof *row);
        memcpy(row, left + p * n, n * sizeof *row);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                left[i * n + j] -= row[i] * row[j] / pivot;
    }
    for (size_t i = 0; i < n; i++)
        rest += left[i * n + i];
    return rest / whole;
}

TEST(low_rank)
{
    struct set set = set_two_class(8, 300, 4, 1);
    hinge_params params = linear(HINGE_C_SVC, 1);
    params.kernel = hinge_kernel_rbf(0.1);
    double *gram = plain_gram(&params.kernel, &set, &set), last = 1;
    params.solver = HINGE_SOLVER_SMO;
    params.eps = 1e-6;
    hinge_report report;
    hinge_model *exact = fit(&set, &params, NULL);
    double *f = fit_decisions(exact, &set, HINGE_PRECISION_F64), nearest = INFINITY;
    params.solver = HINGE_SOLVER_AUTO; /* rank asks for the interior point */
    for (size_t rank = 5; rank <= 160; rank *= 2) {
        params.rank = rank;
        hinge_model *model = fit(&set, &params, &report);
        double *g = fit_decisions(model, &set, HINGE_PRECISION_F64);
        /* what is said is of the kernel itself, not of the factor */
        assert_true(certified_kkt(model, &set, &params) > params.eps || report.outcome == HINGE_CONVERGED);
        assert_true(certified_kkt(model, &set, &params) <= params.eps || report.outcome == HINGE_STALLED);
        assert_int_equal(report.outcome == HINGE_STALLED, strstr(report.path, "approximate") != NULL);
        assert_near(report.violation, certified_kkt(model, &set, &params), 1e-9);
        assert_int_equal(report.rank, rank);
        size_t first = 0; /* points are grouped by class */
        while (set.y[first] != hinge_model_labels(model)[0])
            first++;
        assert_close(report.trace_error, plain_trace_error(gram, set.n, rank, first), 1e-9);
        assert_true(report.trace_error < last);
        last = report.trace_error;
        nearest = largest_difference(f, g, set.n);
    }
    assert_true(nearest <= 1e-2);
}

/* K = Z Z' on the rows of the pivots, K - ZZ' has no negative diagonal, and a rank found is a rank kept. */
TEST(pivoted_cholesky)
{
    struct set set = set_two_class(9, 64, 5, 1);
    struct hg_points points = { .x = set_matrix(&set), .n = set.n };
    struct hg_tiler tiler = { hinge_kernel_linear(), hg_maps(1), HINGE_F64, set.d, .maker = NULL };
    struct hg_gram rows;
    double z[64 * 20], *gram = plain_gram(&tiler.kernel, &set, &set), left;
    size_t used;
    int stop = 0;
    const struct hg_halt halt = { .stop = &stop }, past = { .stop = &stop, .deadline = 1e-9 };
    assert_int_equal(hg_gram_init(&rows, &tiler, &points, NULL, set.n, NULL, NULL, 2, NULL), HINGE_OK);
    assert_int_equal(hg_pivoted_cholesky(&rows.super, 20, 1e-12, &halt, z, NULL, &used, &left), HINGE_OK);
    assert_int_equal(used, 5); /* the linear kernel's, in 5 dimensions */
    assert_true(left >= 0 && left <= 1e-12);
    for (size_t i = 0; i < set.n; i++)
        for (size_t j = 0; j < set.n; j++) {
            double product = 0;
            for (size_t k = 0; k < used; k++)
                product += z[i * 20 + k] * z[j * 20 + k];
            assert_near(product, gram[i * set.n + j], 1e-10);
        }
    stop = 2;
    assert_int_equal(hg_pivoted_cholesky(&rows.super, 20, 1e-12, &halt, z, NULL, &used, &left), HINGE_OK);
    assert_int_equal(used, 0);
    stop = 0;
    assert_int_equal(hg_pivoted_cholesky(&rows.super, 20, 1e-12, &past, z, NULL, &used, &left), HINGE_OK);
    assert_true(used == 0 && stop == 1); /* the deadline is long past */
    hg_gram_free(&rows);
}

static const struct hg_rows_ops *counted;
static size_t fetches;

static hinge_status count_fetch(struct hg_rows *rows, const struct hg_fetch *fetch)
{
    fetches++;
    return counted->fetch(rows, fetch);
}

/* The pivots of several turns are those of plain loops, one pivot after the other, and so are the columns; for one
 * thread and several the same bits. Points are packed a few times a turn, and not for each pivot. */
TEST(pivots_of_turns)
{
    enum { N = 2600, RANK = 150 };
    struct set set = set_two_class(10, N, 4, 1);
    struct hg_points points = { .x = set_matrix(&set), .n = set.n };
    struct hg_tiler tiler = { hinge_kernel_rbf(1), hg_maps(1), HINGE_F64, set.d, .maker = NULL };
    double *norms = get(N, sizeof *norms), *left = get(N, sizeof *left), *plain = get(N * RANK, sizeof *plain);
    double *z[] = { get(N * RANK, sizeof **z), get(N * RANK, sizeof **z) }, trace[2];
    uint32_t pivots[2][RANK];
    size_t used;
    int stop = 0;
    for (size_t i = 0; i < N; i++) {
        left[i] = 1;
        for (size_t k = 0; k < set.d; k++)
            norms[i] += set.x[i * set.d + k] * set.x[i * set.d + k];
    }
    for (int t = 0; t < 2; t++) {
        struct hg_gram rows;
        assert_int_equal(hg_gram_init(&rows, &tiler, &points, NULL, N, NULL, norms, 1 + 2 * t, NULL), HINGE_OK);
        counted = rows.super.ops;
        rows.super.ops = &(struct hg_rows_ops){ counted->diagonal, count_fetch };
        fetches = 0;
        assert_int_equal(hg_pivoted_cholesky(&rows.super, RANK, 1e-12, &(struct hg_halt){ .stop = &stop }, z[t],
                                             pivots[t], &used, &trace[t]),
                         HINGE_OK);
        assert_int_equal(used, RANK);
        assert_true(fetches <= RANK / 4 && rows.super.values < 2 * N * RANK); /* few candidates come to nothing */
        hg_gram_free(&rows);
    }
    for (size_t c = 0; c < RANK; c++) {
        size_t p = 0;
        for (size_t i = 0; i < N; i++)
            p = left[i] > left[p] ? i : p;
        assert_int_equal(pivots[0][c], p);
        double root = sqrt(left[p]);
        for (size_t i = 0; i < N; i++) {
            double value = plain_kernel(&tiler.kernel, set.x + i * set.d, set.x + p * set.d, set.d);
            for (size_t k = 0; k < c; k++)
                value -= plain[i * RANK + k] * plain[p * RANK + k];
            plain[i * RANK + c] = value / root;
            left[i] -= value / root * (value / root);
            assert_near(z[0][i * RANK + c], value / root, 1e-9);
        }
        left[p] = 0;
    }
    assert_memory_equal(z[0], z[1], N * RANK * sizeof **z);
    assert_true(trace[0] == trace[1]);
}

/* ---- threads, data ----------------------------------------------------------------------------------------------- */

static void same_bits(const hinge_matrix *x, const double *y, hinge_params params)
{
    hinge_model *models[3];
    hinge_report reports[3];
    for (int t = 0; t < 3; t++) {
        params.threads = 1 << t;
        models[t] = trained(x, y, &params, &reports[t]);
        assert_int_equal(reports[t].threads, 1 << t);
    }
    size_t n = x->rows;
    double *a = get(n, sizeof *a), *b = get(n, sizeof *b);
    assert_int_equal(hinge_model_beta(models[0], n, a, NULL), HINGE_OK);
    for (int t = 1; t < 3; t++) {
        assert_int_equal(hinge_model_beta(models[t], n, b, NULL), HINGE_OK);
        assert_memory_equal(a, b, n * sizeof *a);
        assert_memory_equal(hinge_model_rho(models[0]), hinge_model_rho(models[t]), sizeof(double));
        assert_true(reports[0].gap == reports[t].gap && reports[0].rounds == reports[t].rounds);
    }
}

TEST(any_number_of_threads)
{
    struct set set = set_two_class(11, 3500, 21, 1.3);
    hinge_matrix x = set_matrix(&set);
    hinge_params params = linear(HINGE_C_SVC, 3);
    same_bits(&x, set.y, params);
    params.task = HINGE_EPSILON_SVR;
    same_bits(&x, set.y, params);
    params.task = HINGE_NU_SVR;
    same_bits(&x, set.y, params);
    params.task = HINGE_NU_SVC;
    params.nu = 0.9;
    same_bits(&x, set.y, params);
    float *x32 = get(set.n * 32, sizeof *x32); /* f32, with a stride */
    for (size_t i = 0; i < set.n; i++)
        for (size_t k = 0; k < 32; k++)
            x32[i * 32 + k] = k < set.d ? (float)set.x[i * set.d + k] : NAN;
    hinge_matrix strided = { x32, HINGE_F32, set.n, set.d, 32 };
    params = linear(HINGE_C_SVC, 3);
    same_bits(&strided, set.y, params);
    params.kernel = hinge_kernel_rbf(0.05);
    params.rank = 40;
    x.rows = 1200;
    same_bits(&x, set.y, params);
}

/* Values as f32 and as f64, with and without a stride: one model. */
TEST(types_of_data)
{
    struct set set = set_two_class(12, 400, 5, 1);
    float *x32 = get(set.n * 7, sizeof *x32);
    for (size_t i = 0; i < set.n; i++)
        for (size_t k = 0; k < 7; k++)
            x32[i * 7 + k] = k < 5 ? (float)set.x[i * 5 + k] : 1e30F;
    for (size_t k = 0; k < set.n * 5; k++)
        set.x[k] = (float)set.x[k];
    hinge_matrix a = set_matrix(&set), b = { x32, HINGE_F32, set.n, 5, 7 };
    hinge_params params = linear(HINGE_C_SVC, 1);
    double *f = fit_beta(trained(&a, set.y, &params, NULL), set.n);
    double *g = fit_beta(trained(&b, set.y, &params, NULL), set.n);
    assert_memory_equal(f, g, set.n * sizeof *f);
}

/* Features of size 1e3 to 1e7 side by side, and n = 200 in one dimension: converged is said only of what is. */
TEST(unscaled)
{
    size_t converged = 0;
    for (int power = 0; power <= 8; power++) {
        struct set line = set_two_class(60 + (uint64_t)power, 200, 1, 1.5), wide = set_two_class(61, 600, 5, 1);
        set_multiply(&line, pow(10, power));
        for (size_t i = 0; i < wide.n; i++)
            for (size_t k = 0; k < 5; k++)
                wide.x[i * 5 + k] = pow(10, (power < 5 ? 0 : 3) + (double)k) * (wide.x[i * 5 + k] + (double)power);
        struct set *sets[] = { &line, &wide };
        for (int s = 0; s < 2; s++) {
            hinge_params params = linear(HINGE_C_SVC, 1);
            hinge_report report;
            hinge_model *model = fit(sets[s], &params, &report);
            double gap = certified_gap(model, sets[s], &params);
            assert_true(report.outcome == HINGE_CONVERGED || report.outcome == HINGE_STALLED);
            assert_int_equal(report.outcome == HINGE_CONVERGED, report.gap <= 1e-6 && report.violation <= 1e-3);
            if (report.outcome == HINGE_CONVERGED)
                assert_true(gap <= 2e-6 || power >= 6); /* beyond, the certificate's own rounding counts */
            converged += report.outcome == HINGE_CONVERGED;
            if (power <= 4)
                assert_int_equal(report.outcome, HINGE_CONVERGED);
        }
    }
    assert_true(converged >= 10);
}

/* Far from the origin: the column means are taken off, in training and in what predictions are made with. */
TEST(far_away)
{
    struct set set = set_two_class(13, 300, 3, 1);
    hinge_params params = linear(HINGE_C_SVC, 100);
    hinge_report near, far;
    hinge_model *model = fit(&set, &params, &near);
    double *f = fit_decisions(model, &set, HINGE_PRECISION_F64);
    for (size_t k = 0; k < set.n * 3; k++)
        set.x[k] += 1e6; /* exact: these are floats */
    model = converged(&set, &params, &far);
    assert_close(far.objective, near.objective, 1e-7);
    double *g = fit_decisions(model, &set, HINGE_PRECISION_F64);
    assert_true(largest_difference(f, g, set.n) <= 1e-4); /* sum coef x, x being 1e6, is off by 0.1 */
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void check_usable(const hinge_model *model, const struct set *set, const hinge_params *params,
                         const hinge_report *report)
{
    double *beta = fit_beta(model, set->n), sum = 0, size = 0;
    for (size_t i = 0; i < set->n; i++) {
        double y = set->y[i] == hinge_model_labels(model)[0] ? 1 : -1;
        assert_true(y * beta[i] >= 0 && y * beta[i] <= params->C);
        sum += beta[i];
        size += fabs(beta[i]);
    }
    assert_true(fabs(sum) <= 1e-12 * size);
    assert_true(isfinite(report->objective) && report->objective <= 0 && isfinite(report->gap));
    hinge_certificate c = certified(model, set, params);
    assert_close(report->objective, -c.dual, 1e-8);
    assert_near(report->gap, c.gap / fmax(fabs(c.primal), fabs(c.dual)), 1e-6);
}

struct watch {
    uint64_t calls, stop_at, rounds;
    double last;
};

static int watch(void *arg, const hinge_progress *p)
{
    struct watch *w = arg;
    w->calls++;
    assert_true(p->n == 3000 && p->n_active == 3000 && p->n_sv <= 3000 && p->n_problems == 1);
    bool first = w->calls == 1, again = !first && p->rounds == w->rounds; /* asked in mid-round, where that is long, */
    if (again && p->rounds > 0) /* or before there was one, and then told of that start */
        assert_true(p->seconds - w->last > 0.05);
    else if (!again)
        assert_int_equal(p->rounds, first ? 0 : w->rounds + 1);
    w->rounds = p->rounds;
    w->last = p->seconds;
    assert_true(p->violation >= 0 && p->seconds >= 0);
    return w->calls == w->stop_at;
}

TEST(stops)
{
    struct set set = set_two_class(14, 3000, 12, 1.5);
    hinge_params params = linear(HINGE_C_SVC, 5);
    hinge_report report;
    for (uint64_t k = 1; k <= 12; k += k < 4 ? 1 : 4) {
        struct watch w = { .stop_at = k };
        params.progress = watch;
        params.progress_arg = &w;
        hinge_model *model = fit(&set, &params, &report);
        assert_int_equal(report.outcome, HINGE_STOPPED);
        assert_int_equal(w.calls, k);
        check_usable(model, &set, &params, &report);
        params.progress = NULL;
        params.max_iter = k;
        model = fit(&set, &params, &report);
        assert_int_equal(report.outcome, HINGE_MAX_ITER);
        assert_int_equal(report.rounds, k);
        check_usable(model, &set, &params, &report);
        params.max_iter = 0;
    }
    const double limits[] = { 1e-9, 0.001, 0.004 };
    for (int k = 0; k < 3; k++) {
        params.time_limit = limits[k];
        hinge_model *model = fit(&set, &params, &report);
        assert_true(report.outcome == HINGE_TIME_LIMIT || (k > 0 && report.outcome == HINGE_CONVERGED));
        check_usable(model, &set, &params, &report);
    }
    params.time_limit = 0;
    struct watch w = { 0 }, of_values = { 0 };
    params.progress = watch;
    params.progress_arg = &w;
    converged(&set, &params, &report);
    assert_true(w.calls >= report.rounds);
    params = linear(HINGE_EPSILON_SVR, 5); /* two variables an example, which is one all the same */
    params.progress = watch;
    params.progress_arg = &of_values;
    fit(&set, &params, &report);
}

TEST(degenerate)
{
    hinge_report report;
    struct set set = set_two_class(15, 60, 3, 1);
    hinge_params params = linear(HINGE_C_SVC, 1);
    for (size_t i = 0; i < set.n; i++)
        memcpy(set.x + i * 3, set.x, 3 * sizeof *set.x); /* one point, both classes */
    hinge_model *model = converged(&set, &params, &report);
    assert_true(certified_gap(model, &set, &params) <= 1e-6);
    memset(set.x, 0, set.n * 3 * sizeof *set.x); /* K = 0 */
    model = converged(&set, &params, &report);
    params.no_bias = 1;
    model = converged(&set, &params, &report);
    assert_near(report.objective, -60, 1e-6); /* all at C */

    set = set_regression(16, 50, 2); /* a constant target: b alone fits it */
    for (size_t i = 0; i < set.n; i++)
        set.y[i] = 7;
    params = linear(HINGE_EPSILON_SVR, 1);
    model = converged(&set, &params, &report);
    assert_int_equal(report.n_sv, 0);
    double *f = fit_decisions(model, &set, HINGE_PRECISION_F64);
    for (size_t i = 0; i < set.n; i++)
        assert_near(f[i], 7, 0.1 + 1e-9);
    params = linear(HINGE_ONE_CLASS, 1);
    params.nu = 1; /* every coefficient at its bound */
    model = converged(&set, &params, &report);
    assert_int_equal(report.n_bsv, 50);

    set = set_two_class(17, 40, 2, 1); /* no features at all */
    hinge_matrix none = hinge_matrix_f64(set.x, set.n, 0);
    params = linear(HINGE_C_SVC, 1);
    trained(&none, set.y, &params, &report);
    assert_int_equal(report.outcome, HINGE_CONVERGED);
    for (size_t k = 0; k < set.n * 2; k++)
        set.x[k] *= 1e200; /* overflows */
    model = fit(&set, &params, &report);
    assert_int_equal(report.outcome, HINGE_NONFINITE);
}

/* ---- the choice of the solver, refusals -------------------------------------------------------------------------- */

static void chosen(const struct set *set, const hinge_params *params, bool interior)
{
    hinge_report report;
    fit(set, params, &report);
    if ((strncmp(report.path, "interior-point", 14) == 0) != interior)
        fail_msg("path: %s", report.path);
    assert_int_equal(isnan(report.gap) != 0, !interior);
}

TEST(choice)
{
    struct set set = set_two_class(18, 240, 4, 1), wide = set_two_class(18, 240, 120, 1);
    struct set few = set_two_class(1, 60, 2, 1);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    double *beta0 = get(set.n, sizeof *beta0);
    chosen(&set, &params, false); /* RBF */
    params.rank = 30;
    chosen(&set, &params, true);
    params.rank = 0;
    params.kernel = hinge_kernel_linear();
    chosen(&set, &params, true);
    chosen(&wide, &params, false);
    chosen(&few, &params, false);
    params.no_bias = 1;
    chosen(&wide, &params, false);
    params.no_bias = 0;
    params.beta0 = beta0;
    chosen(&set, &params, false);
    params.beta0 = NULL;
    params.max_iter = 50;
    chosen(&set, &params, false);
    params.max_iter = 0;
    params.precision = HINGE_PRECISION_F32;
    chosen(&set, &params, false);
    params.precision = HINGE_PRECISION_AUTO;
    params.task = HINGE_NU_SVC;
    chosen(&set, &params, true);
}

/* Features so small that nu-SVC's r is below eps: the model is that of the features at their size, by either solver,
 * since r is found all the same. */
TEST(small_r)
{
    struct set set = set_two_class(20, 240, 4, 0.5);
    hinge_params params = linear(HINGE_NU_SVC, 1);
    params.nu = 0.4;
    hinge_model *whole = fit(&set, &params, NULL);
    double *f = fit_decisions(whole, &set, HINGE_PRECISION_F64);
    for (size_t k = 0; k < set.n * set.d; k++)
        set.x[k] *= 1e-4;
    for (int k = 0; k < 2; k++) {
        params.solver = k == 0 ? HINGE_SOLVER_INTERIOR_POINT : HINGE_SOLVER_SMO;
        hinge_model *model = converged(&set, &params, NULL);
        double *g = fit_decisions(model, &set, HINGE_PRECISION_F64);
        for (size_t i = 0; i < set.n; i++) /* SMO ends where r is certain, the interior point near the optimum */
            assert_near(g[i], f[i], k == 0 ? 1e-4 : 0.5);
    }
}

static void refused(const struct set *set, const hinge_params *params, const char *words)
{
    hinge_model *model = NULL;
    assert_int_equal(hinge_train(&model, matrix_of(set), set->y, params, NULL, &err), HINGE_EINVAL);
    assert_null(model);
    assert_says(err.text, words);
}

TEST(refusals)
{
    struct set set = set_two_class(19, 50, 2, 1);
    hinge_params good = linear(HINGE_C_SVC, 1), p = good;
    p.solver = (hinge_solver)3, refused(&set, &p, "solver: 3");
    p = good, p.no_bias = 2, refused(&set, &p, "no_bias: 2");
    p = good, p.solver = HINGE_SOLVER_SMO, p.no_bias = 1;
    p.task = HINGE_ONE_CLASS, refused(&set, &p, "no_bias: this task's sum");
    p.task = HINGE_NU_SVC, refused(&set, &p, "no_bias: this task's sum");
    p.task = HINGE_NU_SVR, refused(&set, &p, "no_bias: this task's sum");
    p = good, p.solver = HINGE_SOLVER_SMO, p.rank = 3, refused(&set, &p, "rank: a factor needs the interior point");
    p.rank = 0, p.C = INFINITY, refused(&set, &p, "C: the hard margin needs the interior point");
    p = good, p.C = NAN, refused(&set, &p, "C: nan");
    p = good, p.C = -INFINITY, refused(&set, &p, "C: -inf");
}

/* ---- a9a --------------------------------------------------------------------------------------------------------- */

TEST(adult)
{
    struct set set = set_shared("a9a", "train", 123, 0, 1, 0);
    const double C[] = { 0.01, 1e4 };
    for (int k = 0; k < 2; k++) {
        hinge_params params = linear(HINGE_C_SVC, C[k]);
        hinge_report report;
        hinge_model *model = converged(&set, &params, &report);
        assert_true(report.rounds <= 60 && report.violation <= params.eps);
        assert_true(certified_gap(model, &set, &params) <= 1e-6);
    }
}
