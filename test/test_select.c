/* Model selection: its scores and its model are those of separate trainings on the same folds. */
#include "lib/select/select.h"
#include "test/support.h"

#include <hinge/scaling.h>
#include <hinge/select.h>

static hinge_selection *choose(const struct set *set, const hinge_params *params, const hinge_select_options *options)
{
    hinge_selection *selection = NULL;
    assert_ok(hinge_select(&selection, matrix_of(set), set->y, params, options, &err));
    return selection_given_back(selection);
}

static hinge_params tight(hinge_task task)
{
    hinge_params params = hinge_params_default(task);
    params.seed = 7;
    params.eps = 1e-8;
    return params;
}

/* The parameters of a point. */
static hinge_params params_of(const hinge_params *params, const hinge_grid_point *point)
{
    hinge_params p = *params;
    p.C = point->C;
    p.nu = point->nu;
    p.p = point->p;
    p.tau = point->tau;
    p.kernel.gamma = point->gamma;
    p.kernel.degree = point->degree;
    p.kernel.coef0 = point->coef0;
    return p;
}

/* ---- Against separate trainings ---------------------------------------------------------------------------------- */

/* Predictions and decision values of fold f by a training on the rows outside of it. */
static void check_fold(const struct set *set, const hinge_params *params, const hinge_selection *selection,
                       const hinge_grid_point *point, size_t f, double tolerance)
{
    double *weights = get(set->n, sizeof *weights); /* of 0 where held out: the classes' order is that of all rows */
    size_t *out = get(set->n, sizeof *out), held = 0;
    const int *fold = selection->fold + f / (selection->n_folds / selection->repeats) * set->n;
    size_t at = (size_t)(fold - selection->fold);
    for (size_t i = 0; i < set->n; i++) {
        weights[i] = fold[i] != (int)f;
        if (fold[i] == (int)f)
            out[held++] = i;
    }
    struct set test = set_rows(set, out, held);
    hinge_params p = params_of(params, point);
    p.weights = weights;
    hinge_model *model = fit(set, &p, NULL);
    double *label = fit_labels(model, &test), *decision = fit_decisions(model, &test, HINGE_PRECISION_F64);
    size_t k = hinge_model_n_problems(model);
    assert_true(k == hinge_model_n_problems(selection->model));
    for (size_t i = 0; i < held; i++) {
        bool open = false; /* a label that hangs on less than the tolerance */
        for (size_t c = 0; c < k; c++) {
            double value = decision[i * k + c];
            assert_near(point->decisions[(at + out[i]) * k + c], value, tolerance * (1 + fabs(value)));
            open = open || fabs(value) <= tolerance;
        }
        if (!open)
            assert_near(point->predictions[at + out[i]], label[i], tolerance * (1 + fabs(label[i])));
    }
}

static void check_points(const struct set *set, const hinge_params *params, hinge_select_options options,
                         double tolerance)
{
    options.decisions = 1;
    options.eps = params->eps;
    hinge_selection *selection = choose(set, params, &options);
    assert_non_null(selection->best);
    for (size_t i = 0; i < selection->n_points; i++) {
        assert_int_equal(selection->points[i].state, HINGE_POINT_DONE);
        for (size_t f = 0; f < selection->n_folds; f++)
            check_fold(set, params, selection, &selection->points[i], f, tolerance);
    }
    hinge_params best = params_of(params, selection->best);
    hinge_model *model = fit(set, &best, NULL);
    double *expected = fit_decisions(model, set, HINGE_PRECISION_F64);
    double *found = fit_decisions(selection->model, set, HINGE_PRECISION_F64);
    for (size_t i = 0; i < set->n * hinge_model_n_problems(model); i++)
        assert_near(found[i], expected[i], tolerance * (1 + fabs(expected[i])));
}

static const double few_C[] = { 0.1, 1, 10, 1000 }, few_gamma[] = { 0.05, 0.4 }, few_nu[] = { 0.1, 0.3, 0.5 };

static hinge_select_options small_grid(void)
{
    return (hinge_select_options){ .C = { few_C, 4 }, .gamma = { few_gamma, 2 }, .nu = { few_nu, 3 }, .folds = 3 };
}

TEST(finds_what_trainings_find)
{
    struct set set = set_two_class(1, 90, 4, 0.6);
    hinge_params params = tight(HINGE_C_SVC);
    check_points(&set, &params, small_grid(), 1e-6);
    params.no_bias = 1;
    check_points(&set, &params, small_grid(), 1e-6);
    params = tight(HINGE_NU_SVC);
    params.eps = 1e-10; /* decision values are divided by r */
    check_points(&set, &params, small_grid(), 1e-5);
    params = tight(HINGE_ONE_CLASS);
    check_points(&set, &params, small_grid(), 1e-6);
}

/* The gamma of hinge_params_default, given as the only one. */
TEST(finds_it_for_the_default_gamma)
{
    struct set set = set_two_class(1, 90, 4, 0.6);
    hinge_params params = tight(HINGE_C_SVC);
    hinge_select_options options = { .C = { few_C, 2 }, .gamma = { &params.kernel.gamma, 1 } };
    check_points(&set, &params, options, 1e-6);
    hinge_selection *selection = choose(&set, &params, &options);
    assert_true(selection->points[0].gamma == 0.25);
}

TEST(finds_it_for_regression)
{
    static const double tau[] = { 0.2, 0.6 }, p[] = { 0, 0.3 };
    struct set set = set_regression(2, 90, 4);
    hinge_select_options options = small_grid();
    options.C.count = 3;
    options.p = (hinge_values){ p, 2 };
    options.tau = (hinge_values){ tau, 2 };
    const hinge_task tasks[] = { HINGE_EPSILON_SVR, HINGE_NU_SVR, HINGE_QUANTILE };
    for (size_t t = 0; t < 3; t++) {
        hinge_params params = tight(tasks[t]);
        check_points(&set, &params, options, 1e-5);
    }
}

/* Targets far smaller than the usual tolerance of folds: the same scores in other units, and better than the mean's. */
TEST(finds_it_for_small_targets)
{
    struct set set = set_regression(3, 120, 3);
    double mse[2];
    for (int k = 0; k < 2; k++) {
        hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(0.4), 1);
        double unit = k == 0 ? 0x1p-6 : 0x1p-30, C[] = { 0.1 * unit, 10 * unit }, mean = 0, variance = 0;
        struct set small = set_new(set.n, set.d);
        memcpy(small.x, set.x, set.n * set.d * sizeof *set.x);
        for (size_t i = 0; i < set.n; i++)
            mean += (small.y[i] = set.y[i] * unit) / (double)set.n;
        for (size_t i = 0; i < set.n; i++)
            variance += (small.y[i] - mean) * (small.y[i] - mean) / (double)set.n;
        params.p = 0.1 * unit, params.eps = 1e-4 * unit;
        params.precision = HINGE_PRECISION_F64;
        hinge_select_options options = { .C = { C, 2 }, .gamma = { few_gamma, 2 }, .folds = 3 };
        hinge_selection *selection = choose(&small, &params, &options);
        mse[k] = selection->best->score[HINGE_SCORE_MSE] / unit / unit;
        assert_true(mse[k] * unit * unit < 0.5 * variance);
        assert_near(selection->eps, sqrt(variance) / 1000, 1e-12 * unit);
    }
    assert_close(mse[0], mse[1], 1e-9);
}

/* Targets that a point may be much nearer to than the usual tolerance of folds: the score of what wins is that of folds
 * trained to the end. */
TEST(finds_what_is_very_near)
{
    static const double C[] = { 1, 16, 512 }, gamma[] = { 0.25, 2 };
    struct set set = set_two_class(5, 240, 2, 0.5);
    hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_rbf(1), 1);
    hinge_selection *usual, *fine;
    double weights[240];
    params.eps = 1e-6;
    params.p = 1e-4;
    params.weights = weights;
    for (size_t i = 0; i < set.n; i++) {
        weights[i] = i % 20 != 7; /* some are neither trained on nor scored, whatever they are */
        set.y[i] = weights[i] == 0 ? 100 : sin(set.x[2 * i]) + cos(set.x[2 * i + 1]);
    }
    hinge_select_options options = { .C = { C, 3 }, .gamma = { gamma, 2 }, .folds = 3 };
    usual = choose(&set, &params, &options);
    options.eps = 1e-6;
    fine = choose(&set, &params, &options);
    assert_true(usual->best - usual->points == fine->best - fine->points);
    assert_near(usual->best->score[HINGE_SCORE_MSE], fine->best->score[HINGE_SCORE_MSE],
                fine->best->score[HINGE_SCORE_MSE]);
}

/* Smooth targets at a large C, where a violation makes an error that is larger than itself: the score is that of folds
 * trained to the end, though half of the error at the first look is no less than the violation. */
TEST(goes_on_while_the_error_moves)
{
    static const double C[] = { 1024 }, gamma[] = { 0.09 };
    const hinge_task tasks[] = { HINGE_EPSILON_SVR, HINGE_NU_SVR };
    struct set set = set_two_class(2, 60, 4, 0.5);
    for (size_t i = 0; i < set.n; i++) {
        const double *x = &set.x[4 * i];
        set.y[i] = sin(x[0]) - 0.3 * x[1] + 0.2 * x[2] + 0.1 * x[3];
    }
    for (size_t t = 0; t < 2; t++) {
        hinge_params params = params_for(tasks[t], hinge_kernel_polynomial(3, 1, 1), 1);
        hinge_select_options options = { .C = { C, 1 }, .gamma = { gamma, 1 }, .folds = 3 };
        params.eps = 1e-4;
        params.p = 2e-4;
        double usual = choose(&set, &params, &options)->best->score[HINGE_SCORE_MSE];
        options.eps = params.eps;
        double fine = choose(&set, &params, &options)->best->score[HINGE_SCORE_MSE];
        assert_near(usual, fine, 0.1 * fine);
    }
}

/* Features so small that decision values of nu-SVC and one-class are far below the usual tolerance of folds: the scores
 * are the same in other units, and nearly those of folds trained to the end. */
TEST(finds_it_for_small_features)
{
    static const double nu[] = { 0.05, 0.2, 0.5 };
    const hinge_task tasks[] = { HINGE_NU_SVC, HINGE_ONE_CLASS };
    for (int t = 0; t < 2; t++) {
        hinge_selection *selection[3];
        for (int k = 0; k < 3; k++) {
            struct set small = set_two_class(3, 240, 5, 0.4);
            double unit = k == 0 ? 0x1p-6 : 0x1p-12;
            hinge_params params = params_for(tasks[t], hinge_kernel_linear(), 1);
            set_multiply(&small, unit);
            params.eps = 1e-3 * unit * unit;
            params.precision = HINGE_PRECISION_F64;
            selection[k] =
                choose(&small, &params,
                       &(hinge_select_options){ .nu = { nu, 3 }, .folds = 3, .eps = k == 2 ? params.eps : 0 });
        }
        for (size_t i = 0; i < 3; i++) {
            const hinge_score score = HINGE_SCORE_ACCURACY;
            assert_true(selection[0]->points[i].iterations > 0 && selection[1]->points[i].iterations > 0);
            assert_near(selection[0]->points[i].score[score], selection[1]->points[i].score[score], 0.03);
            if (t == 0)
                assert_near(selection[0]->points[i].score[score], selection[2]->points[i].score[score], 0.03);
        }
    }
}

TEST(finds_it_for_more_classes)
{
    static const double labels[] = { 3, -1, 7, 2 };
    struct set set = set_blobs(3, 120, 4, 4, labels, 0.8);
    hinge_params params = tight(HINGE_C_SVC);
    check_points(&set, &params, small_grid(), 1e-6);
    params.multiclass = HINGE_ONE_VS_REST;
    check_points(&set, &params, small_grid(), 1e-6);
}

TEST(finds_it_for_other_kernels)
{
    static const double degree[] = { 2, 3 }, coef0[] = { 0, 1 };
    struct set set = set_two_class(4, 80, 3, 0.6);
    hinge_select_options options = small_grid();
    options.C.count = 2;
    hinge_params params = tight(HINGE_C_SVC);
    params.kernel = hinge_kernel_linear();
    check_points(&set, &params, options, 1e-6);
    params.kernel = hinge_kernel_polynomial(3, 1, 0);
    options.degree = (hinge_values){ degree, 2 };
    options.coef0 = (hinge_values){ coef0, 2 };
    check_points(&set, &params, options, 1e-5);
}

/* Two classes that overlap: more rows than a working set has. */
TEST(finds_it_in_many_rows)
{
    struct set set = set_two_class(5, 1500, 5, 0.9);
    hinge_params params = tight(HINGE_C_SVC);
    hinge_select_options options = small_grid();
    options.C.count = 3;
    options.gamma.count = 1;
    check_points(&set, &params, options, 1e-5);
}

/* Rows that stand twice, every fourth pair with both labels: its coefficients are at any C. The others' change no more,
 * and C is all that a larger one's trainings have to find. */
TEST(carries_contradictions_along)
{
    static const double C[] = { 1e3, 4e3, 16e3, 64e3 }, gamma[] = { 2 };
    struct set half = set_two_class(77, 100, 5, 0.6), set = set_new(200, 5);
    for (size_t i = 0; i < set.n; i++) {
        memcpy(set.x + i * set.d, half.x + i / 2 * set.d, set.d * sizeof *set.x);
        set.y[i] = i % 8 == 1 ? -half.y[i / 2] : half.y[i / 2];
    }
    int fold[200];
    for (size_t i = 0; i < set.n; i++)
        fold[i] = i / 2 % 5 == 0;
    hinge_params params = tight(HINGE_C_SVC);
    hinge_select_options options = { .C = { C, 4 }, .gamma = { gamma, 1 }, .fold = fold };
    check_points(&set, &params, options, 1e-4);
    options.eps = 1e-6;
    hinge_selection *selection = choose(&set, &params, &options);
    for (size_t i = 1; i < selection->n_points; i++)
        assert_true(selection->points[i].iterations < selection->points[0].iterations / 4);
}

/* Equal rows with both labels at C: what rounding in f32 can cost at most is too much, and what it costs is not. */
TEST(stays_in_f32_while_that_is_good)
{
    static const double C[] = { 1e3, 1e5 }, gamma[] = { 0.05 };
    struct set set = set_two_class(79, 400, 60, 0.3);
    for (size_t i = 0; i < set.n * set.d; i++)
        set.x[i] = set.x[i] > 0;
    for (size_t i = 0; i < 80; i += 2)
        memcpy(set.x + (i + 1) * set.d, set.x + i * set.d, set.d * sizeof *set.x);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_select_options options = { .C = { C, 2 }, .gamma = { gamma, 1 }, .eps = 1e-2 };
    hinge_selection *selection = choose(&set, &params, &options);
    assert_true(selection->outcome == HINGE_CONVERGED && selection->n_kernels == 1);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

TEST(is_the_same_for_any_threads)
{
    static const double labels[] = { 1, 2, 3 };
    for (int k = 2; k <= 3; k++) {
        struct set set = set_blobs(10, 700, 4, (size_t)k, labels, 0.9);
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        hinge_select_options options = small_grid();
        options.decisions = 1;
        options.drop = HINGE_DROP_RACE;
        hinge_selection *one = NULL;
        for (int threads = 1; threads <= 4; threads *= 2) {
            params.threads = threads;
            hinge_selection *selection = choose(&set, &params, &options);
            one = one == NULL ? selection : one;
            for (size_t i = 0; i < one->n_points; i++) {
                const hinge_grid_point *a = &one->points[i], *b = &selection->points[i];
                assert_true(a->state == b->state && a->iterations == b->iterations);
                for (size_t j = 0; j < set.n * (size_t)(k == 2 ? 1 : 3); j++)
                    assert_true(same(a->decisions[j], b->decisions[j]));
                for (int j = 0; j < HINGE_N_SCORES; j++)
                    assert_true(same(a->score[j], b->score[j]) && same(a->deviation[j], b->deviation[j]));
            }
            assert_true(one->rows_computed == selection->rows_computed &&
                        one->kernel_values == selection->kernel_values);
        }
    }
}

/* Rows of features that are 0 or 1 cost less than reading them: none is stored, and problems shrink. */
TEST(finds_it_in_rows_of_bits)
{
    static const double C[] = { 0.5, 8, 64 }, gamma[] = { 0.02 };
    struct set set = set_two_class(81, 4500, 40, 1.5);
    for (size_t i = 0; i < set.n * set.d; i++)
        set.x[i] = set.x[i] > 0;
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_select_options options = { .C = { C, 3 }, .gamma = { gamma, 1 }, .folds = 3 };
    params.eps = 1e-4;
    check_points(&set, &params, options, 2e-3);
    options.eps = 1e-2;
    options.decisions = 1;
    hinge_selection *of[2];
    for (int k = 0; k < 2; k++) {
        params.threads = k + 1;
        of[k] = choose(&set, &params, &options);
        assert_true(of[k]->stored_bytes == 0 && of[k]->rows_distinct == 0 && of[k]->rows_computed > 0);
    }
    assert_true(of[0]->kernel_values == of[1]->kernel_values && of[0]->rows_computed == of[1]->rows_computed);
    for (size_t i = 0; i < of[0]->n_points; i++)
        assert_memory_equal(of[0]->points[i].decisions, of[1]->points[i].decisions, set.n * sizeof(double));
}

/* Room for few rows: they are made again, and more rows than there is room for move at once (one-class begins with the
 * first half of its coefficients at their bound). */
TEST(does_with_little_memory)
{
    struct set set = set_two_class(11, 1000, 4, 1.2);
    hinge_select_options options = small_grid();
    options.C = (hinge_values){ few_C + 1, 2 };
    options.gamma.count = 1;
    hinge_params params = tight(HINGE_C_SVC);
    params.cache_bytes = 1;
    check_points(&set, &params, options, 1e-5);
    hinge_selection *little = choose(&set, &params, &options);
    params.cache_bytes = 0;
    hinge_selection *enough = choose(&set, &params, &options);
    assert_true(little->stored_bytes < enough->stored_bytes && little->rows_computed > enough->rows_computed);
    assert_int_equal(enough->rows_computed, enough->rows_distinct);
    params = tight(HINGE_ONE_CLASS);
    params.cache_bytes = 1;
    options.nu = (hinge_values){ few_nu + 1, 2 };
    check_points(&set, &params, options, 1e-5);
    static const double labels[] = { 1, 2, 3 };
    struct set three = set_blobs(12, 900, 4, 3, labels, 1.2);
    params = tight(HINGE_C_SVC);
    params.cache_bytes = 1;
    check_points(&three, &params, options, 1e-5);
}

/* Features of scales 1e-4 to 1e3: what SMO side by side does not end, a training by itself does, by Newton's finish,
 * from what they have come to, and by the steps that are left. */
TEST(ends_as_trainings_do)
{
    for (uint64_t seed = 1; seed <= (in_full() ? 4 : 2); seed++) {
        uint64_t draws = seed;
        struct set set = set_new(150, 8);
        double C = pow(10, -2 + (double)(seed % 3));
        for (size_t i = 0; i < set.n * set.d; i++)
            set.x[i] = draw_normal(&draws) * pow(10, (double)(i % set.d) - 4);
        for (size_t i = 0; i < set.n; i++)
            set.y[i] = draw_normal(&draws) > 0 ? 1 : -1;
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        hinge_select_options options = { .C = { &C, 1 }, .folds = 3, .eps = 0.01, .no_refit = 1 };
        params.kernel = hinge_kernel_linear(), params.C = C, params.eps = 0.01, params.solver = HINGE_SOLVER_SMO;
        hinge_selection *selection = choose(&set, &params, &options);
        double weights[150];
        params.weights = weights;
        for (int f = 0; f < 3; f++) {
            for (size_t i = 0; i < set.n; i++)
                weights[i] = selection->fold[i] != f;
            converged(&set, &params, NULL);
        }
        assert_int_equal(selection->points[0].outcome, HINGE_CONVERGED);
        if (selection->iterations > 2500000) /* 3.8 to 7.6 million where folds began again at 0 */
            fail_msg("%llu steps", (unsigned long long)selection->iterations);
    }
}

/* Folds of nu-SVC whose reduced hulls meet are told, and are those of the closest nu, as trainings have it: values of
 * the one asked for would be rounding divided by rounding. */
TEST(takes_the_closest_nu_with_a_margin)
{
    int without = 0;
    for (uint64_t seed = 1; seed <= (in_full() ? 6 : 2); seed++) {
        const double nu[] = { 0.15, 0.3, 0.7 };
        struct set set = set_new(60, 2);
        hinge_params params = hinge_params_default(HINGE_NU_SVC);
        hinge_select_options options = {
            .nu = { nu, 3 }, .gamma = { &params.kernel.gamma, 1 }, .folds = 3, .decisions = 1
        };
        uint64_t random = seed;
        for (size_t i = 0; i < set.n; i++)
            set.y[i] = draw_normal(&random) > 0 ? 1 : -1;
        for (size_t i = 0; i < set.n * set.d; i++)
            set.x[i] = draw_normal(&random);
        params.kernel = hinge_kernel_linear();
        for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F64; precision++) {
            params.precision = (hinge_precision)precision;
            hinge_selection *selection = choose(&set, &params, &options);
            for (size_t i = 0; i < 3; i++) {
                hinge_params p = params_of(&params, &selection->points[i]);
                double weights[60];
                hinge_outcome worst = HINGE_CONVERGED;
                p.weights = weights;
                for (size_t f = 0; f < 3; f++) {
                    hinge_report r;
                    for (size_t k = 0; k < set.n; k++)
                        weights[k] = selection->fold[k] != (int)f;
                    fit(&set, &p, &r);
                    worst = r.outcome > worst ? r.outcome : worst;
                    if (r.outcome == HINGE_NO_MARGIN)
                        check_fold(&set, &params, selection, &selection->points[i], f, 0.1);
                }
                without += worst == HINGE_NO_MARGIN;
                assert_int_equal(selection->points[i].outcome, worst);
            }
        }
    }
    assert_true(without > 3);
}

/* An eps of 0 is the default also where a margin is looked for: folds end as they do by that eps, to the bit. */
TEST(looks_for_a_margin_to_the_eps_that_0_stands_for)
{
    const double nu[] = { 0.05, 0.3 }, gamma = 0.001;
    struct set set = set_two_class(3, 60, 5, 0.4);
    hinge_params params = params_for(HINGE_NU_SVC, hinge_kernel_rbf(gamma), 1);
    const hinge_select_options options = {
        .nu = { nu, 2 }, .gamma = { &gamma, 1 }, .folds = 3, .decisions = 1, .no_refit = 1
    };
    params.eps = 0;
    const hinge_selection *by_0 = choose(&set, &params, &options);
    params.eps = 1e-3;
    const hinge_selection *by_default = choose(&set, &params, &options);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(by_0->points[i].outcome, by_default->points[i].outcome);
        assert_int_equal(by_0->points[i].iterations, by_default->points[i].iterations);
        for (size_t k = 0; k < set.n; k++)
            assert_true(by_0->points[i].decisions[k] == by_default->points[i].decisions[k]);
    }
}

/* So does one where rows in f32 were asked for, without a tube, by any number of threads. */
TEST(ends_in_f32_too)
{
    struct set set = set_regression(1, 60, 3);
    hinge_params params = hinge_params_default(HINGE_EPSILON_SVR);
    static const double C[] = { 1e3, 1e5 };
    params.kernel = hinge_kernel_polynomial(3, 1, 1), params.precision = HINGE_PRECISION_F32, params.p = 0;
    hinge_select_options options = {
        .C = { C, 2 }, .gamma = { &params.kernel.gamma, 1 }, .folds = 2, .eps = 1e-3, .no_refit = 1
    };
    double score[2];
    for (params.threads = 1; params.threads <= 2; params.threads++) {
        hinge_selection *selection = choose(&set, &params, &options);
        assert_true(selection->n_points == 2);
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(selection->points[i].outcome, HINGE_CONVERGED);
        score[params.threads - 1] = selection->points[1].score[HINGE_SCORE_MSE];
    }
    assert_true(score[0] == score[1]);
}

/* The mean squared error of a fold's regression by folds trained to eps; 0: as far as hinge chooses. */
static double error_of_folds(const struct set *set, hinge_params *params, double eps)
{
    hinge_select_options options = {
        .C = { &params->C, 1 }, .gamma = { &params->kernel.gamma, 1 }, .folds = 3, .eps = eps, .no_refit = 1
    };
    hinge_selection *selection = choose(set, params, &options);
    assert_int_equal(selection->points[0].outcome, HINGE_CONVERGED);
    return selection->points[0].score[HINGE_SCORE_MSE];
}

/* Rows far from all others, where a small violation is a large error: of small data, and of those that features of 0
 * alone make large. */
TEST(scores_are_those_of_the_end)
{
    enum { ROWS = 160, COLS = 7, MANY = 1000 };
    for (uint64_t seed = 22; seed <= 26; seed++)
        for (int large = 0; large < 2; large++) {
            size_t d = large ? MANY : COLS;
            uint64_t state = seed;
            struct set set = set_new(ROWS, d);
            for (size_t i = 0; i < ROWS; i++) {
                double sum = 0;
                for (size_t c = 0; c < COLS; c++) {
                    set.x[i * d + c] = draw_normal(&state) / pow(fabs(draw_normal(&state)) + 1e-3, 0.7);
                    sum += set.x[i * d + c] / sqrt(COLS);
                }
                set.y[i] = sin(sum) + 0.1 * sum + 0.02 * draw_normal(&state);
            }
            hinge_params params = params_for(HINGE_EPSILON_SVR, hinge_kernel_polynomial(2, 1e-3, 1), 100);
            params.p = 0.02;
            double end = error_of_folds(&set, &params, 1e-6), found = error_of_folds(&set, &params, 0);
            assert_true(found < 1.3 * end && end < 1.3 * found);
        }
}

/* The class of a row by its pairs' values: labels in the order of the pairs. */
static double winner(const double *labels, const double *value, hinge_ties ties)
{
    double votes[4] = { 0 }, sum[4] = { 0 };
    int best = 0;
    for (int a = 0; a < 4; a++)
        for (int b = a + 1; b < 4; b++, value++) {
            votes[*value > 0 ? a : b]++;
            sum[a] += *value;
            sum[b] -= *value;
        }
    for (int c = 1; c < 4; c++) {
        bool first =
            ties == HINGE_TIES_LABEL ? labels[c] < labels[best] : ties == HINGE_TIES_VALUES && sum[c] > sum[best];
        if (votes[c] > votes[best] || (votes[c] == votes[best] && first))
            best = c;
    }
    return labels[best];
}

/* Of classes with as many votes the one wins that the rule says; scores are those of these predictions. */
TEST(ties_go_by_the_rule)
{
    static const double labels[] = { 3, 1, 0, 2 };
    struct set set = set_blobs(5, 160, 2, 4, labels, 1);
    double C = 1, gamma = 3, predicted[3] = { 0 };
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_rbf(gamma), C);
    for (hinge_ties ties = HINGE_TIES_APPEARANCE; ties <= HINGE_TIES_VALUES; ties++) {
        hinge_select_options options = { .C = { &C, 1 }, .gamma = { &gamma, 1 }, .ties = ties, .decisions = 1 };
        hinge_selection *selection = choose(&set, &params, &options);
        const double *order = hinge_model_labels(selection->model);
        double right = 0;
        for (size_t i = 0; i < set.n; i++) {
            double label = winner(order, selection->points[0].decisions + 6 * i, ties);
            assert_true(selection->points[0].predictions[i] == label);
            right += label == set.y[i];
            predicted[ties] += label * (double)(i + 1);
        }
        assert_near(selection->points[0].score[HINGE_SCORE_ACCURACY], right / (double)set.n, 1e-12);
    }
    assert_true(predicted[0] != predicted[1] && predicted[1] != predicted[2] && predicted[0] != predicted[2]);
}

/* Rows in f32 are of no use where their rounding times the coefficients is as large as eps. */
TEST(takes_doubles_where_floats_are_coarse)
{
    struct set set = set_two_class(15, 200, 4, 1.2);
    set_multiply(&set, 1e5);
    const hinge_precision precision[] = { HINGE_PRECISION_AUTO, HINGE_PRECISION_F32, HINGE_PRECISION_F64 };
    for (int k = 0; k < 3; k++) {
        static const double C[] = { 1e-12, 1e-3 };
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        hinge_select_options options = { .C = { C, 2 }, .no_refit = 1 };
        params.kernel = hinge_kernel_linear();
        params.precision = precision[k];
        params.solver = HINGE_SOLVER_SMO;
        hinge_selection *selection = choose(&set, &params, &options);
        assert_int_equal(selection->n_kernels, k == 0 ? 2 : 1);
        assert_int_equal(selection->trainings, k == 0 ? 15 : 10);
        assert_null(selection->model);
    }
}

/* In f32 all values of this kernel are one number: coefficients go to C, where g is found wrong and is mended, and by
 * the same rows they go back to 0, where rows of no coefficient seem to have no error. */
TEST(mended_gradients_are_not_right_elsewhere)
{
    static const double C[] = { 3, 80 }, gamma[] = { 1e-8 };
    struct set set = set_two_class(16, 31, 5, 0.6);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_polynomial(7, 1, 160), 1);
    const hinge_solver solver[] = { HINGE_SOLVER_SMO, HINGE_SOLVER_AUTO };
    params.eps = 1e-2;
    for (int k = 0; k < 2; k++) {
        params.solver = solver[k];
        check_points(&set, &params, (hinge_select_options){ .C = { C, 2 }, .gamma = { gamma, 1 }, .folds = 3 }, 0.5);
    }
}

/* Adds the rows half way between two that follow each other; their targets are those of the first. */
static struct set with_half_ways(const struct set *some)
{
    size_t rows = some->n, cols = some->d;
    struct set set = set_new(rows + rows / 2, cols);
    memcpy(set.x, some->x, rows * cols * sizeof *set.x);
    memcpy(set.y, some->y, rows * sizeof *set.y);
    for (size_t k = 0; k < rows / 2; k++) {
        set.y[rows + k] = set.y[2 * k];
        for (size_t c = 0; c < cols; c++)
            set.x[(rows + k) * cols + c] = (set.x[2 * k * cols + c] + set.x[(2 * k + 1) * cols + c]) / 2;
    }
    return set;
}

/* A fold's values are those of its model: of a linear kernel, the value half way between two held-out rows is the mean
 * of theirs, but for half of the folds' eps at each of the three, by rows in f32 too, for pairs of classes too. */
static void check_half_ways(hinge_task task, const struct set *whole, size_t rows, hinge_precision precision,
                            hinge_solver solver, double C)
{
    hinge_params params = params_for(task, hinge_kernel_linear(), 1);
    hinge_select_options options = { .C = { &C, 1 }, .no_refit = 1, .decisions = 1 };
    int *fold = get(whole->n, sizeof *fold);
    for (size_t i = 0; i < rows; i++)
        fold[i] = (int)(i / 2 % 3);
    for (size_t k = 0; rows + k < whole->n; k++)
        fold[rows + k] = fold[2 * k];
    options.fold = fold;
    params.precision = precision;
    params.solver = solver;
    hinge_selection *selection = choose(whole, &params, &options);
    const hinge_grid_point *point = selection->points;
    size_t problems = task == HINGE_C_SVC ? 3 : 1;
    assert_int_equal(point->outcome, HINGE_CONVERGED);
    for (size_t k = 0; rows + k < whole->n; k++)
        for (size_t p = 0; p < problems; p++) {
            double first = point->decisions[2 * k * problems + p], other = point->decisions[(2 * k + 1) * problems + p];
            double middle = point->decisions[(rows + k) * problems + p];
            assert_near(middle, (first + other) / 2, selection->eps + 1e-9 * (fabs(first) + fabs(other)));
        }
}

/* Features far from 0 and of mixed units, and large coefficients: what f32 loses is far more than eps. */
TEST(values_of_folds_are_a_models)
{
    enum { ROWS = 120, COLS = 12 };
    static const double labels[] = { 1, 2, 3 };
    const hinge_precision precision[] = { HINGE_PRECISION_AUTO, HINGE_PRECISION_F32, HINGE_PRECISION_F64 };
    for (int task = 0; task < 2; task++) {
        struct set some = task == 0 ? set_regression(21, ROWS, COLS) : set_blobs(22, ROWS, COLS, 3, labels, 2);
        for (size_t i = 0; i < ROWS; i++) {
            some.y[i] *= task == 0 ? 1e4 : 1;
            for (size_t c = 0; c < COLS; c++)
                some.x[i * COLS + c] = 2 * rint(1e4 * pow(1.3, (double)c) * some.x[i * COLS + c] + 3e4);
        }
        struct set set = with_half_ways(&some);
        for (int k = 0; k < 3; k++) {
            hinge_task as = task == 0 ? HINGE_EPSILON_SVR : HINGE_C_SVC;
            check_half_ways(as, &set, ROWS, precision[k], HINGE_SOLVER_SMO, task == 0 ? 1e-4 : 1e-8);
            if (precision[k] != HINGE_PRECISION_F32) /* which leaves nothing to the interior point */
                check_half_ways(as, &set, ROWS, precision[k], HINGE_SOLVER_AUTO, 10);
        }
    }
}

/* Of 225 points 64 are measured, and made right. A fold that goes on from there would measure the same ones, which hide
 * what rows in f32 have made of the others. */
TEST(points_made_right_hide_no_others)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct set some = set_regression(23 + seed, 150, 12);
        uint64_t state = seed;
        set_multiply(&some, 100);
        for (size_t i = 0; i < some.n; i++)
            some.y[i] = 1e6 * draw_normal(&state);
        struct set set = with_half_ways(&some);
        check_half_ways(HINGE_EPSILON_SVR, &set, some.n, HINGE_PRECISION_AUTO, HINGE_SOLVER_AUTO, 57);
    }
}

/* Coefficients so large that SMO has no end: the interior point goes on after so many steps, on the data, on monomials,
 * and on as many columns as there are rows; asked for, it does all of it. */
TEST(ends_inside)
{
    static const double C[] = { 1, 1e6 }, labels[] = { 1, 2, 3 };
    const hinge_kernel kernels[] = { hinge_kernel_linear(), hinge_kernel_polynomial(2, 1, 1), hinge_kernel_rbf(1e-3) };
    struct set three = set_blobs(16, 240, 3, 3, labels, 1.5), two = set_two_class(17, 240, 3, 1.5),
               real = set_regression(18, 240, 3);
    for (int k = 0; k < 3; k++) {
        const struct set *set = k == 0 ? &three : k == 1 ? &real : &two;
        hinge_params params = tight(k == 1 ? HINGE_EPSILON_SVR : HINGE_C_SVC);
        hinge_select_options options = { .C = { C, 2 }, .folds = 3, .no_refit = 1, .eps = 1e-5 };
        params.eps = 1e-5;
        params.kernel = kernels[k];
        options.gamma = (hinge_values){ &params.kernel.gamma, 1 };
        uint64_t steps[2];
        for (int asked = 0; asked < 2; asked++) {
            params.solver = asked ? HINGE_SOLVER_INTERIOR_POINT : HINGE_SOLVER_AUTO;
            hinge_selection *selection = choose(set, &params, &options);
            for (size_t i = 0; i < selection->n_points; i++)
                assert_int_equal(selection->points[i].outcome, HINGE_CONVERGED);
            steps[asked] = selection->iterations / selection->trainings;
        }
        assert_true(steps[0] > 1000 && steps[0] < 200000 && steps[1] < 200);
        for (params.solver = 0; params.solver <= HINGE_SOLVER_INTERIOR_POINT; params.solver += 2) {
            hinge_select_options whole = options;
            whole.no_refit = 0;
            check_points(set, &params, whole, 1e-3);
        }
    }
}

/* Values of K are up to thousands, so that a violation that begins at 2 is above that for hundreds of rounds, in which
 * only the objective falls: that is no stall. */
TEST(goes_on_while_the_objective_falls)
{
    struct set set = set_two_class(1, 1200, 6, 1.5);
    hinge_params params = params_for(HINGE_C_SVC, hinge_kernel_polynomial(5, 1, 1), 1);
    params.solver = HINGE_SOLVER_SMO;
    hinge_select_options options = { .C = { (const double[]){ 1 }, 1 }, .gamma = { (const double[]){ 1 }, 1 } };
    hinge_selection *selection = choose(&set, &params, &options);
    assert_int_equal(selection->points[0].outcome, HINGE_CONVERGED);
    assert_true(selection->points[0].iterations > 1000000); /* else the data are too easy for this test */
}

/* What sharing rows and starts saves, by count. */
TEST(does_little_work)
{
    static const double gamma[] = { 0.1 };
    struct set set = set_two_class(13, 2500, 6, 0.7);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_select_options options = { .gamma = { gamma, 1 } };
    hinge_selection *selection = choose(&set, &params, &options);
    double *prediction = get(set.n, sizeof *prediction);
    uint64_t steps = 0;
    for (size_t k = 0; k < selection->n_points; k++) {
        hinge_params p = params_of(&params, &selection->points[k]);
        hinge_report report;
        assert_int_equal(hinge_cross_validate(matrix_of(&set), set.y, &p, 5, prediction, &report, NULL), HINGE_OK);
        steps += report.iterations;
    }
    print_message("steps %.3f of separate trainings', rows %.2f of support vectors, %.2f kernel values a row made\n",
                  (double)selection->iterations / (double)steps,
                  (double)selection->rows_distinct / (double)selection->rows_support,
                  (double)selection->kernel_values / (double)selection->rows_computed / 2500);
    assert_true((double)selection->iterations <= 0.3 * (double)steps);
    assert_true((double)selection->rows_distinct <= 1.3 * (double)selection->rows_support);
    assert_int_equal(selection->rows_computed, selection->rows_distinct);
    int *fold = get(set.n, sizeof *fold);
    for (size_t i = 0; i < set.n; i++)
        fold[i] = i % 2 == 0 ? 0 : -1;
    options.fold = fold;
    params.cache_bytes = 0;
    selection = choose(&set, &params, &options);
    assert_true(selection->rows_distinct <= set.n / 2); /* none of those held out */
}

/* ---- Folds ------------------------------------------------------------------------------------------------------- */

TEST(takes_the_folds_of_cross_validation)
{
    static const double labels[] = { 1, 2, 3 };
    struct set set = set_blobs(6, 150, 4, 3, labels, 1.2);
    double *weights = get(set.n, sizeof *weights), *prediction = get(set.n, sizeof *prediction);
    hinge_params params = tight(HINGE_C_SVC);
    hinge_select_options options = small_grid();
    for (size_t i = 0; i < set.n; i++)
        weights[i] = i % 10 == 3 ? 0 : 1 + (double)(i % 3);
    params.weights = weights;
    options.decisions = 1;
    options.eps = params.eps;
    hinge_selection *selection = choose(&set, &params, &options);
    for (size_t k = 0; k < selection->n_points; k++) {
        const hinge_grid_point *point = &selection->points[k];
        hinge_params p = params_of(&params, point);
        size_t right = 0, used = 0;
        assert_int_equal(hinge_cross_validate(matrix_of(&set), set.y, &p, 3, prediction, NULL, NULL), HINGE_OK);
        for (size_t i = 0; i < set.n; i++) {
            assert_true(point->predictions[i] == prediction[i]);
            used += weights[i] > 0;
            right += weights[i] > 0 && prediction[i] == set.y[i];
        }
        assert_near(point->score[HINGE_SCORE_ACCURACY], (double)right / (double)used, 1e-12);
    }
}

/* Ranges of each fold's training part, as in cross-validation. */
TEST(scales_each_fold_by_itself)
{
    struct set set = set_two_class(14, 100, 3, 0.8);
    hinge_scaling scaling = { .lower = 0, .upper = 1 };
    hinge_params params = tight(HINGE_C_SVC);
    hinge_select_options options = small_grid();
    double prediction[100];
    for (size_t i = 0; i < set.n; i++)
        set.x[3 * i] *= i == 17 ? 5000 : 100;
    params.scaling = &scaling;
    options.decisions = 1;
    options.eps = params.eps;
    hinge_selection *selection = choose(&set, &params, &options);
    assert_int_equal(selection->n_kernels, 2 * 3);
    for (size_t k = 0; k < selection->n_points; k++) {
        hinge_params p = params_of(&params, &selection->points[k]);
        assert_int_equal(hinge_cross_validate(matrix_of(&set), set.y, &p, 3, prediction, NULL, NULL), HINGE_OK);
        for (size_t i = 0; i < set.n; i++)
            if (fabs(selection->points[k].decisions[i]) > 1e-5)
                assert_true(selection->points[k].predictions[i] == prediction[i]);
    }
    assert_non_null(hinge_model_scale_factor(selection->model));
}

/* Nor does one fold alone see what it holds out: rows that are larger than any of the others. */
TEST(scales_one_fold_by_what_it_trains_on)
{
    struct set set = set_two_class(14, 100, 3, 0.8);
    hinge_scaling scaling = { .lower = 0, .upper = 1 };
    hinge_params params = tight(HINGE_C_SVC);
    hinge_select_options options = small_grid();
    int fold[100];
    double weights[100];
    for (size_t i = 0; i < set.n; i++) {
        fold[i] = i < 20 ? 0 : -1;
        weights[i] = i >= 20;
        for (size_t k = 0; k < 3; k++)
            set.x[3 * i + k] *= i < 20 ? 100 : 1;
    }
    params.scaling = &scaling;
    options.fold = fold;
    options.decisions = 1;
    options.eps = params.eps;
    hinge_selection *selection = choose(&set, &params, &options);
    params.weights = weights;
    hinge_params p = params_of(&params, &selection->points[1]);
    double *decision = fit_decisions(fit(&set, &p, NULL), &set, HINGE_PRECISION_F64);
    for (size_t i = 0; i < 20; i++)
        assert_near(selection->points[1].decisions[i], decision[i], 1e-5);
}

/* Rows never held out, folds of different sizes, and groups that stay together. */
TEST(takes_folds_of_the_caller)
{
    struct set set = set_two_class(7, 100, 3, 0.6);
    hinge_params params = tight(HINGE_C_SVC);
    hinge_select_options options = small_grid();
    int own[100], group[100];
    for (int i = 0; i < 100; i++) {
        own[i] = i % 7 == 0 ? -1 : i % 5 == 0;
        group[i] = i / 6;
    }
    options.fold = own;
    check_points(&set, &params, options, 1e-6);
    options.fold = NULL;
    options.group = group;
    options.repeats = 2;
    check_points(&set, &params, options, 1e-6);
    hinge_selection *selection = choose(&set, &params, &options);
    assert_int_equal(selection->n_folds, 6);
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 1; i < 100; i++) {
            const int *fold = selection->fold + r * 100;
            assert_true(fold[i] >= (int)r * 3 && fold[i] < (int)r * 3 + 3);
            assert_true(group[i] != group[i - 1] || fold[i] == fold[i - 1]);
        }
}

/* The numbers 0 and 2 of folds are of no row. */
TEST(takes_folds_without_rows)
{
    static const double labels[] = { 4, 2, 9 };
    struct set set = set_blobs(9, 90, 3, 3, labels, 0.8);
    hinge_params params = tight(HINGE_C_SVC);
    hinge_select_options options = small_grid();
    int fold[90];
    for (int i = 0; i < 90; i++)
        fold[i] = i % 2 == 0 ? 1 : 3;
    options.fold = fold;
    check_points(&set, &params, options, 1e-6);
}

/* ---- Scores ------------------------------------------------------------------------------------------------------ */

static double plain_auc(const hinge_selection *selection, const struct set *set, const double *decision, int fold)
{
    double wins = 0, pairs = 0;
    for (size_t i = 0; i < set->n; i++)
        for (size_t j = 0; j < set->n; j++)
            if (set->y[i] > 0 && set->y[j] < 0 &&
                (fold < 0 || (selection->fold[i] == fold && selection->fold[j] == fold))) {
                pairs++;
                wins += decision[i] > decision[j] ? 1 : decision[i] == decision[j] ? 0.5 : 0;
            }
    return wins / pairs;
}

TEST(scores_by_definition)
{
    struct set set = set_two_class(8, 120, 3, 1.2);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_select_options options = small_grid();
    options.decisions = 1;
    hinge_selection *selection = choose(&set, &params, &options);
    for (size_t k = 0; k < selection->n_points; k++) {
        const hinge_grid_point *point = &selection->points[k];
        double tp = 0, tn = 0, fp = 0, fn = 0, sum = 0, square = 0;
        for (size_t i = 0; i < set.n; i++) {
            bool positive = point->predictions[i] > 0;
            assert_true(positive == (point->decisions[i] > 0));
            *(set.y[i] > 0 ? (positive ? &tp : &fn) : (positive ? &fp : &tn)) += 1;
        }
        assert_near(point->score[HINGE_SCORE_ACCURACY], (tp + tn) / 120, 1e-12);
        assert_near(point->score[HINGE_SCORE_BALANCED], (tp / (tp + fn) + tn / (tn + fp)) / 2, 1e-12);
        assert_near(point->score[HINGE_SCORE_F1], 2 * tp / (2 * tp + fp + fn), 1e-12);
        assert_near(
            point->score[HINGE_SCORE_MCC],
            tp + fp > 0 && tn + fn > 0 ? (tp * tn - fp * fn) / sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)) : 0,
            1e-12);
        assert_near(point->score[HINGE_SCORE_AUC], plain_auc(selection, &set, point->decisions, -1), 1e-12);
        assert_true(isnan(point->score[HINGE_SCORE_MSE]));
        assert_true(point->score[HINGE_SCORE_LOG_LOSS] < log(2) + 0.01);
        for (int f = 0; f < 3; f++) {
            double auc = point->fold_score[f * HINGE_N_SCORES + HINGE_SCORE_AUC];
            assert_near(auc, plain_auc(selection, &set, point->decisions, f), 1e-12);
            sum += auc / 3;
            square += auc * auc / 3;
        }
        assert_near(point->mean[HINGE_SCORE_AUC], sum, 1e-12);
        assert_near(point->deviation[HINGE_SCORE_AUC], sqrt(square - sum * sum), 1e-6);
    }
}

TEST(scores_regression_by_definition)
{
    struct set set = set_regression(9, 90, 3);
    hinge_params params = hinge_params_default(HINGE_EPSILON_SVR);
    hinge_select_options options = small_grid();
    options.decisions = 1;
    hinge_selection *selection = choose(&set, &params, &options);
    assert_int_equal(selection->score, HINGE_SCORE_MSE);
    for (size_t k = 0; k < selection->n_points; k++) {
        const hinge_grid_point *point = &selection->points[k];
        double mse = 0, mae = 0, mean = 0, square = 0;
        for (size_t i = 0; i < set.n; i++) {
            double miss = point->predictions[i] - set.y[i];
            mse += miss * miss / 90;
            mae += fabs(miss) / 90;
            mean += set.y[i] / 90;
            square += set.y[i] * set.y[i] / 90;
        }
        assert_close(point->score[HINGE_SCORE_MSE], mse, 1e-12);
        assert_close(point->score[HINGE_SCORE_MAE], mae, 1e-12);
        assert_close(point->score[HINGE_SCORE_PINBALL], mae / 2, 1e-12);
        assert_near(point->score[HINGE_SCORE_R2], 1 - mse / (square - mean * mean), 1e-9);
        assert_true(mse >= selection->best->score[HINGE_SCORE_MSE]);
    }
    for (size_t i = 0; i < set.n; i++) /* equal targets have no variance, whatever their mean is rounded to */
        set.y[i] = 0.1;
    selection = choose(&set, &params, &options);
    for (size_t k = 0; k < selection->n_points; k++)
        assert_true(isnan(selection->points[k].score[HINGE_SCORE_R2]));
}

/* ---- The choice -------------------------------------------------------------------------------------------------- */

/* The best score, and of equal ones the smallest C, then gamma; dropping what cannot win changes nothing. */
TEST(chooses_the_best)
{
    static const double C[] = { 100, 0.01, 1, 10000, 10 }, gamma[] = { 1, 0.01, 0.1, 30 };
    for (uint64_t seed = 0; seed < 12; seed += in_full() ? 1 : 2) {
        struct set set = set_two_class(20 + seed, 60 + 10 * seed, 2, 0.3 + 0.1 * (double)seed);
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        hinge_select_options options = { .C = { C, 5 }, .gamma = { gamma, 4 }, .folds = 2 + seed % 5, .eps = 1e-7 };
        params.seed = seed;
        hinge_selection *all = choose(&set, &params, &options);
        const hinge_grid_point *best = &all->points[0];
        for (size_t k = 0; k < 20; k++) {
            const hinge_grid_point *p = &all->points[k];
            double gain = p->score[HINGE_SCORE_ACCURACY] - best->score[HINGE_SCORE_ACCURACY];
            assert_true(p->gamma == gamma[k / 5] && p->C == C[k % 5]);
            if (gain > 0 || (gain == 0 && (p->C < best->C || (p->C == best->C && p->gamma < best->gamma))))
                best = p;
        }
        assert_ptr_equal(all->best, best);
        options.drop = HINGE_DROP_EXACT;
        hinge_selection *some = choose(&set, &params, &options);
        assert_true(some->best->C == best->C && some->best->gamma == best->gamma);
        assert_true(some->best->score[HINGE_SCORE_ACCURACY] == best->score[HINGE_SCORE_ACCURACY]);
        for (size_t k = 0; k < 20; k++)
            assert_true(some->points[k].state == HINGE_POINT_DONE ||
                        (some->points[k].state == HINGE_POINT_EXACT && isnan(some->points[k].score[1]) &&
                         all->points[k].score[1] < best->score[1]));
    }
}

/* Points that are not dropped find what they would have found without dropping, at a coarse eps too. */
TEST(leaves_the_others_as_they_are)
{
    static const double C[] = { 0.01, 0.1, 1, 10, 100, 1000 }, gamma[] = { 0.03, 0.3, 2 };
    size_t dropped = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        bool regresses = seed % 2 == 1;
        struct set set = regresses ? set_regression(seed, 100, 3) : set_two_class(seed, 100, 3, 0.8);
        hinge_params params = hinge_params_default(regresses ? HINGE_EPSILON_SVR : HINGE_C_SVC);
        hinge_select_options options = { .C = { C, 6 }, .gamma = { gamma, 3 }, .no_refit = 1 };
        hinge_selection *all = choose(&set, &params, &options);
        options.drop = HINGE_DROP_EXACT;
        hinge_selection *some = choose(&set, &params, &options);
        assert_true(some->best - some->points == all->best - all->points);
        for (size_t k = 0; k < all->n_points; k++)
            if (some->points[k].state == HINGE_POINT_EXACT)
                dropped++;
            else
                assert_true(some->points[k].score[all->score] == all->points[k].score[all->score]);
    }
    assert_true(dropped > 0);
}

TEST(drops_what_is_surely_worse)
{
    static const double gamma[] = { 0.2, 0.1, 5 };
    struct set set = set_two_class(40, 600, 4, 0.9);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_select_options options = { .C = { few_C, 3 }, .gamma = { gamma, 3 }, .drop = HINGE_DROP_RACE };
    hinge_selection *selection = choose(&set, &params, &options);
    options.drop = HINGE_DROP_NONE;
    hinge_selection *all = choose(&set, &params, &options);
    size_t raced = 0;
    for (size_t k = 0; k < 9; k++) {
        const hinge_grid_point *p = &selection->points[k];
        raced += p->state == HINGE_POINT_RACE;
        assert_true(p->state != HINGE_POINT_RACE || all->points[k].score[1] < all->best->score[1]);
        assert_true((p->text[0] != 0) == (p->state != HINGE_POINT_DONE));
    }
    assert_true(raced > 0 && raced < 9);
}

/* Labels half of which are noise: the larger C, the worse. */
TEST(drops_the_rest_of_a_line_that_falls)
{
    static const double C[] = { 0.05, 0.5, 5, 50, 500, 5000 }, gamma[] = { 0.5 };
    struct set set = set_two_class(41, 1000, 4, 1.2);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_select_options options = { .C = { C, 6 }, .gamma = { gamma, 1 }, .drop = HINGE_DROP_RACE };
    hinge_selection *selection = choose(&set, &params, &options);
    options.drop = HINGE_DROP_NONE;
    hinge_selection *all = choose(&set, &params, &options);
    size_t followed = 0;
    for (size_t k = 0; k < 6; k++) {
        const hinge_grid_point *p = &selection->points[k];
        const double *score = &all->points[k].score[HINGE_SCORE_ACCURACY];
        if (p->state != HINGE_POINT_RACE || strstr(p->text, "before it") == NULL)
            continue;
        followed++;
        assert_true(p->iterations == 0 && isnan(p->score[HINGE_SCORE_ACCURACY]));
        assert_true(k >= 2 && *score < all->best->score[HINGE_SCORE_ACCURACY]);
        assert_true(all->points[k - 1].score[HINGE_SCORE_ACCURACY] < all->best->score[HINGE_SCORE_ACCURACY]);
        assert_true(all->points[k - 2].score[HINGE_SCORE_ACCURACY] < all->best->score[HINGE_SCORE_ACCURACY]);
    }
    assert_true(followed > 0);
    assert_true(selection->best->C == all->best->C);
}

/* Rows in f32 are too coarse for the training on the first half, whose classes are mixed and whose coefficients are
 * large, but not for that on the other half, which comes after it. */
TEST(ends_where_one_fold_needs_f64)
{
    static const double C[] = { 1, 32, 1024, 32768 }, gamma[] = { 1e-7, 1e-5 };
    struct set set = set_two_class(60, 120, 3, 0.5);
    int fold[120];
    for (size_t i = 0; i < set.n; i++) {
        fold[i] = i < 60;
        set.x[i * set.d] = i < 60 ? 2000 * set.x[i * set.d] : 5000 * set.y[i];
    }
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_select_options options = { .C = { C, 4 }, .gamma = { gamma, 2 }, .eps = 1e-3, .fold = fold };
    hinge_selection *selection = choose(&set, &params, &options);
    assert_true(selection->n_kernels > 2 && selection->outcome == HINGE_CONVERGED);
}

TEST(takes_the_simplest_within_an_error)
{
    struct set set = set_two_class(41, 200, 4, 0.9);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_select_options options = { .one_se = 1 };
    hinge_selection *selection = choose(&set, &params, &options);
    assert_int_equal(selection->n_points, 110);
    double most = 0, error = 0;
    for (size_t k = 0; k < 110; k++)
        if (selection->points[k].mean[1] > most) {
            most = selection->points[k].mean[1];
            error = selection->points[k].deviation[1] / 2;
        }
    assert_true(selection->best->mean[1] >= most - error - 1e-9);
    for (size_t k = 0; k < 110; k++)
        assert_true(selection->points[k].C >= selection->best->C || selection->points[k].mean[1] < most - error);
}

/* ---- Calling back, and going on ---------------------------------------------------------------------------------- */

struct seen {
    size_t calls, stop_at;
};

static int count_points(void *arg, const hinge_select_progress *progress)
{
    struct seen *seen = arg;
    assert_true(progress->done == ++seen->calls && progress->n_points == 8 && progress->best != NULL);
    return seen->calls == seen->stop_at;
}

TEST(stops_and_goes_on)
{
    struct set set = set_two_class(50, 80, 3, 0.6);
    struct seen seen = { 0, 3 };
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_select_options options = small_grid();
    hinge_selection *whole = choose(&set, &params, &options);
    options.point = count_points;
    options.point_arg = &seen;
    hinge_selection *part = choose(&set, &params, &options);
    assert_int_equal(seen.calls, 3);
    assert_int_equal(part->outcome, HINGE_STOPPED);
    assert_non_null(part->model);
    options.known = part->points;
    options.n_known = part->n_points;
    seen.stop_at = 0;
    hinge_selection *rest = choose(&set, &params, &options);
    assert_int_equal(seen.calls, 8);
    assert_true(rest->best->C == whole->best->C && rest->best->gamma == whole->best->gamma);
    for (size_t k = 0, known = 0; k < 8; k++) {
        known += rest->points[k].state == HINGE_POINT_KNOWN;
        assert_near(rest->points[k].score[1], whole->points[k].score[1], 0.05);
        assert_true(k < 7 || known == 3);
    }
}

struct asked {
    size_t calls, stop_at, last;
};

static int ask_once(void *arg, const hinge_progress *progress)
{
    struct asked *asked = arg;
    if (progress->n_problems == 8) { /* points, not the last training's problem */
        asked->calls++;
        asked->last = progress->problem;
        return asked->calls == asked->stop_at;
    }
    return 0;
}

/* Stopped while points are trained: the rest is left waiting, and the best so far is trained. */
TEST(can_be_asked_to_stop)
{
    struct set set = set_two_class(51, 300, 3, 0.8);
    struct asked asked = { 0, SIZE_MAX, 0 };
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_select_options options = small_grid();
    params.progress = ask_once;
    params.progress_arg = &asked;
    hinge_selection *selection = choose(&set, &params, &options);
    assert_true(asked.calls >= 8 && selection->outcome == HINGE_CONVERGED);
    asked = (struct asked){ 0, asked.calls / 2, 0 };
    selection = choose(&set, &params, &options);
    assert_int_equal(selection->outcome, HINGE_STOPPED);
    size_t waiting = 0;
    for (size_t k = 0; k < 8; k++)
        waiting += selection->points[k].state == HINGE_POINT_WAITING;
    assert_true(waiting == 8 - asked.last || waiting == 7 - asked.last); /* the point in work may have been done */
    assert_non_null(selection->model);
    params.progress = NULL;
    params.time_limit = 1e-9;
    selection = choose(&set, &params, &options);
    assert_int_equal(selection->outcome, HINGE_TIME_LIMIT);
    assert_null(selection->best);
    assert_null(selection->model);
}

/* ---- Ranges and bad input ---------------------------------------------------------------------------------------- */

TEST(makes_ranges)
{
    double v[20];
    assert_int_equal(hinge_log2_range(-5, 15, 2, v, 20), 11);
    assert_true(v[0] == 1.0 / 32 && v[10] == 32768);
    assert_int_equal(hinge_log2_range(3, -15, -2, v, 20), 10);
    assert_true(v[0] == 8 && v[9] == 1.0 / 32768);
    assert_int_equal(hinge_log2_range(1, 1, 0, v, 20), 1);
    assert_int_equal(hinge_log2_range(0, 1, 0.1, v, 20), 11);
    assert_int_equal(hinge_log2_range(0, 3, 2, NULL, 0), 2);
    assert_int_equal(hinge_log2_range(0, 3, -2, v, 20), 0);
    assert_int_equal(hinge_log2_range(0, INFINITY, 2, v, 20), 0);
    assert_int_equal(hinge_log2_range(0, 1e9, 1, v, 20), 0);
}

static void refuse(const struct set *set, const hinge_params *params, const hinge_select_options *options,
                   const char *word)
{
    hinge_selection *selection = (void *)&selection, *same = selection;
    assert_int_equal(hinge_select(&selection, matrix_of(set), set->y, params, options, &err), HINGE_EINVAL);
    assert_ptr_equal(selection, same);
    assert_says(err.text, word);
}

TEST(refuses_bad_input)
{
    struct set set = set_two_class(60, 40, 3, 0.6);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    double bad[] = { NAN };
    int fold[40] = { 0 }, group[40] = { 0 };
    refuse(&set, &params, &(hinge_select_options){ .folds = 41 }, "folds");
    refuse(&set, &params, &(hinge_select_options){ .folds = 1 }, "folds");
    refuse(&set, &params, &(hinge_select_options){ .C = { bad, 1 } }, "C");
    refuse(&set, &params, &(hinge_select_options){ .C = { bad, 0 } }, "C");
    refuse(&set, &params, &(hinge_select_options){ .ties = (hinge_ties)3 }, "ties");
    refuse(&set, &params, &(hinge_select_options){ .score = HINGE_SCORE_MSE }, "mse");
    refuse(&set, &params, &(hinge_select_options){ .score = (hinge_score)99 }, "score");
    refuse(&set, &params, &(hinge_select_options){ .drop = (hinge_drop)9 }, "drop");
    refuse(&set, &params, &(hinge_select_options){ .eps = -1 }, "eps");
    refuse(&set, &params, &(hinge_select_options){ .group = group }, "group");
    refuse(&set, &params, &(hinge_select_options){ .fold = fold }, "leaves none");
    fold[3] = -2;
    refuse(&set, &params, &(hinge_select_options){ .fold = fold }, "row 3");
    for (int i = 0; i < 40; i++)
        fold[i] = -1;
    refuse(&set, &params, &(hinge_select_options){ .fold = fold }, "held out");
    double weights[40] = { 0 };
    for (int i = 0; i < 40; i++) { /* of those with a weight, half are in each of two folds, or all in one group */
        weights[i] = i < 20;
        fold[i] = i / 20;
        group[i] = i / 20;
    }
    params.weights = weights;
    refuse(&set, &params, &(hinge_select_options){ .fold = fold }, "fold 0");
    refuse(&set, &params, &(hinge_select_options){ .group = group, .folds = 2 }, "group");
}

/* A point that cannot be trained says so, and the others go on. */
TEST(goes_on_without_bad_points)
{
    static const double C[] = { -1, 0, 1 }, nu[] = { 0.3, 0.9, 2 }, gamma[] = { 0.1 };
    static const double labels[] = { 1, -1 };
    struct set set = set_blobs(61, 60, 3, 2, labels, 0.6);
    for (size_t i = 0; i < 60; i++) /* 12 and 48 */
        set.y[i] = i % 5 == 0 ? 1 : -1;
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_select_options options = { .C = { C, 3 }, .nu = { nu, 3 }, .gamma = { gamma, 1 } };
    hinge_selection *selection = choose(&set, &params, &options);
    assert_int_equal(selection->points[0].state, HINGE_POINT_FAILED);
    assert_int_equal(selection->points[1].state, HINGE_POINT_FAILED);
    assert_int_equal(selection->points[2].state, HINGE_POINT_DONE);
    assert_non_null(strstr(selection->points[0].text, "C"));
    assert_ptr_equal(selection->best, &selection->points[2]);
    params.task = HINGE_NU_SVC;
    selection = choose(&set, &params, &options);
    assert_int_equal(selection->points[0].state, HINGE_POINT_DONE);
    assert_int_equal(selection->points[1].state, HINGE_POINT_FAILED);
    assert_non_null(strstr(selection->points[1].text, "infeasible"));
    assert_int_equal(selection->points[2].state, HINGE_POINT_FAILED);
}

/* A class smaller than the folds, and a fold that holds out all of a class. */
TEST(takes_classes_that_folds_miss)
{
    static const double gamma[] = { 0.1 };
    struct set set = set_two_class(62, 40, 3, 0.4);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_select_options options = { .C = { few_C, 2 }, .gamma = { gamma, 1 }, .decisions = 1 };
    int fold[40];
    for (size_t i = 0; i < 40; i++) {
        set.y[i] = i < 2 ? 5 : 4;
        fold[i] = i < 2 ? 0 : 1 + (int)i % 2;
    }
    hinge_selection *selection = choose(&set, &params, &options); /* 2 rows of class 5, 5 folds */
    assert_non_null(selection->model);
    options.fold = fold;
    selection = choose(&set, &params, &options);
    for (size_t i = 0; i < 2; i++) {
        assert_true(selection->points[0].predictions[i] == 4);
        assert_true(isnan(selection->points[0].decisions[i]));
    }
    assert_true(isfinite(selection->points[0].score[HINGE_SCORE_ACCURACY]));
    assert_true(isnan(selection->points[0].score[HINGE_SCORE_AUC]));
    for (size_t i = 0; i < 40; i++) /* one class alone */
        set.y[i] = 4;
    options.fold = NULL;
    selection = choose(&set, &params, &options);
    assert_true(selection->best->score[HINGE_SCORE_ACCURACY] == 1);
}

/* A look ahead on the way to eps has a limit of steps whatever the solver, of the caller's limit too; half of no limit
 * would be none, and a look at a hopeless fold would go on until that has worked enough. */
TEST(looks_ahead_have_an_end)
{
    static const hinge_solver solvers[] = { HINGE_SOLVER_AUTO, HINGE_SOLVER_SMO };
    for (size_t k = 0; k < 2; k++)
        for (uint64_t max_iter = 0; max_iter < 3; max_iter++) {
            hinge_params params = hinge_params_default(HINGE_EPSILON_SVR);
            params.kernel = hinge_kernel_rbf(1);
            params.solver = solvers[k];
            params.max_iter = max_iter;
            struct hg_dataset data = { .kernel = params.kernel, .n = 1000, .d = 5 };
            struct hg_field field = { .problem = { .params = params, .data = data } };
            struct hg_part part = { .n = 1000 }, *batch[] = { &part };
            struct hg_selecting s = { .given = &params,
                                      .params = params,
                                      .field = &field,
                                      .part = &part,
                                      .batch = batch,
                                      .n_batch = 1,
                                      .n_problems = 1 };
            uint64_t steps = hg_select_look_steps(&s);
            assert_true(steps > 0 && steps <= (max_iter > 0 ? max_iter : 25 * part.n));
        }
}
