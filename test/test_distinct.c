/* Equal rows, which training solves as one: objective, decision values and support vectors against LIBSVM, which solves
 * them one by one; conditions of optimality by plain loops over all rows; repeated rows against weights; warm starts,
 * limits, leave-one-out; the same bits for any number of threads. */
#include "test/support.h"

#include <hinge/theory.h>

enum { N = 240, D = 3, KINDS = 70 };

static const hinge_task TASKS[] = { HINGE_C_SVC,       HINGE_NU_SVC, HINGE_ONE_CLASS,
                                    HINGE_EPSILON_SVR, HINGE_NU_SVR, HINGE_QUANTILE };
enum { N_TASKS = sizeof TASKS / sizeof *TASKS };

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* Rows drawn out of few; most of those of one kind have one label or target, some another. Zeros are of both signs. */
static struct set repeated(uint64_t seed, size_t n, size_t classes)
{
    struct set kinds = set_regression(seed, KINDS, D), set = set_new(n, D);
    for (size_t i = 0; i < n; i++) {
        size_t kind = i < KINDS ? i : (size_t)(draw(&seed) % KINDS);
        double other = draw(&seed) % 8 == 0;
        memcpy(set.x + i * D, kinds.x + kind * D, D * sizeof *set.x);
        if (kind % 5 == 0)
            set.x[i * D + kind % D] = draw(&seed) % 2 == 0 ? 0.0 : -0.0;
        if (classes == 2)
            set.y[i] = (kinds.y[kind] > 0) != (other > 0) ? 1 : -1;
        else
            set.y[i] = classes > 0 ? (double)((kind + (size_t)other) % classes) : kinds.y[kind] + other;
    }
    return set;
}

static struct set data_for(hinge_task task, uint64_t seed)
{
    return repeated(seed, N, task == HINGE_C_SVC || task == HINGE_NU_SVC ? 2 : 0);
}

static hinge_params tight(hinge_task task, hinge_kernel kernel)
{
    hinge_params params = params_for(task, kernel, 2);
    params.nu = 0.6;
    params.tau = 0.3;
    params.eps = 1e-7;
    return params;
}

static bool are_equal(const struct set *set, size_t i, size_t j, bool with_y)
{
    for (size_t c = 0; c < set->d; c++)
        if (set->x[i * set->d + c] != set->x[j * set->d + c])
            return false;
    return !with_y || set->y[i] == set->y[j];
}

static size_t count_distinct(const struct set *set, bool with_y)
{
    size_t count = 0;
    for (size_t i = 0, j; i < set->n; i++) {
        for (j = 0; j < i && !are_equal(set, i, j, with_y); j++)
            ;
        count += j == i;
    }
    return count;
}

/* ---- the solution, row by row ------------------------------------------------------------------------------------ */

/* The bound of row i on the side where beta is. */
static double bound_of(const hinge_params *p, double beta)
{
    switch (p->task) {
    case HINGE_ONE_CLASS:
    case HINGE_NU_SVC:
        return 1;
    case HINGE_QUANTILE:
        return p->C * (beta > 0 ? p->tau : 1 - p->tau);
    default:
        return p->C;
    }
}

/* Of equal rows, the first are at their bound, one may be inside its box, and the others are no support vectors.
 * factor: what coefficients were divided by. */
static size_t check_order(const struct set *set, const hinge_params *p, const double *beta, double factor)
{
    size_t shared = 0;
    for (size_t i = 0; i < set->n; i++) {
        bool full = fabs(beta[i]) * factor >= bound_of(p, beta[i]) * (1 - 1e-12);
        for (size_t j = i + 1; j < set->n; j++) {
            if (!are_equal(set, i, j, p->task != HINGE_ONE_CLASS) || beta[j] == 0)
                continue;
            shared++;
            assert_true(full && beta[i] * beta[j] > 0);
        }
    }
    return shared;
}

/* C-SVC and epsilon-SVR: the conditions of optimality over all rows. */
static void check_conditions(const struct set *set, const hinge_params *p, const hinge_model *model,
                             const hinge_report *r)
{
    struct plain_certificate c = plain_certify(model, set, p);
    assert_near(c.kkt, r->violation, 1e-9);
    assert_true(c.kkt <= p->eps + 1e-9 && c.box <= 1e-15 && c.sum <= 1e-14);
    assert_close(-c.dual, r->objective, 1e-10);
    assert_close(c.primal, c.dual, 1e-4);
}

static void check_against_libsvm(const struct set *set, const hinge_params *p, const hinge_model *model,
                                 const hinge_report *r)
{
    struct oracle oracle = oracle_train(set, p);
    double *f = fit_decisions(model, set, HINGE_PRECISION_F64), *theirs = get(set->n, sizeof *theirs);
    double largest = 1;
    oracle_predict(&oracle, set, NULL, theirs);
    for (size_t i = 0; i < set->n; i++)
        largest = fmax(largest, fabs(theirs[i]));
    assert_close(r->objective, oracle.objective, 1e-4); /* theirs is printed with six decimals, nu-SVC's scaled */
    assert_true(largest_difference(f, theirs, set->n) <= 1e-4 * largest);
    assert_true(r->n_sv <= (size_t)oracle.model->l);
}

static void check_set(const struct set *set, const hinge_params *p)
{
    hinge_report r;
    hinge_model *model = fit(set, p, &r);
    double *beta = fit_beta(model, set->n), sum = 0, largest = 0;
    size_t bounded = 0;
    for (size_t i = 0; i < set->n; i++) {
        sum += fabs(beta[i]);
        largest = fmax(largest, fabs(beta[i]));
    }
    double factor = p->task == HINGE_NU_SVC ? p->nu * (double)set->n / sum : 1; /* it divides by r */
    for (size_t i = 0; i < set->n; i++)
        bounded += beta[i] != 0 && fabs(beta[i]) * factor >= bound_of(p, beta[i]) * (1 - 1e-12);
    assert_int_equal(r.outcome, HINGE_CONVERGED);
    assert_int_equal(r.n, set->n);
    assert_int_equal(r.distinct, count_distinct(set, p->task != HINGE_ONE_CLASS));
    assert_true(r.distinct < set->n / 2);
    assert_int_equal(r.n_sv, hinge_model_n_sv(model));
    assert_int_equal(r.n_bsv, bounded);
    assert_true(check_order(set, p, beta, factor) > 0);
    if (p->task == HINGE_C_SVC || p->task == HINGE_EPSILON_SVR)
        check_conditions(set, p, model, &r);
    if (p->task != HINGE_QUANTILE)
        check_against_libsvm(set, p, model, &r);
    hinge_certificate c = certified(model, set, p);
    assert_true(c.kkt <= 2 * p->eps && c.box_residual <= (p->task == HINGE_NU_SVC ? 1e-12 : 1e-15));
    assert_close(c.primal, c.dual, 1e-4);
    assert_close(c.dual, -r.objective, 1e-9);
}

TEST(test_each_task)
{
    const hinge_kernel kernels[] = { hinge_kernel_rbf(0.5),
                                     { .type = HINGE_POLYNOMIAL, .gamma = 0.5, .degree = 2, .coef0 = 1 } };
    for (uint64_t seed = 1; seed <= 6; seed++)
        for (size_t t = 0; t < N_TASKS; t++) {
            struct set set = data_for(TASKS[t], seed);
            hinge_params p = tight(TASKS[t], kernels[seed % 2]);
            p.precision = seed <= 2 ? HINGE_PRECISION_F64 : HINGE_PRECISION_AUTO;
            p.shrinking = seed % 3 != 0;
            check_set(&set, &p);
        }
}

/* The interior point solves the same problems. */
TEST(test_interior_point)
{
    const hinge_task tasks[] = { HINGE_C_SVC, HINGE_EPSILON_SVR };
    for (size_t t = 0; t < 2; t++) {
        struct set set = data_for(tasks[t], 9);
        hinge_params p = tight(tasks[t], hinge_kernel_linear());
        p.solver = HINGE_SOLVER_INTERIOR_POINT;
        check_set(&set, &p);
    }
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* A weight that is a whole number is so many rows: to the bit where no sum of boxes is rounded. */
TEST(test_weights_are_repetition)
{
    const hinge_kernel kernel = { .type = HINGE_POLYNOMIAL, .gamma = 0.5, .degree = 2, .coef0 = 1 };
    for (size_t t = 0; t < N_TASKS; t++) {
        struct set set = data_for(TASKS[t], 5), few = set_new(N, D);
        double weight[N] = { 0 };
        few.n = 0;
        for (size_t i = 0, j; i < N; i++) {
            for (j = 0; j < few.n; j++)
                if (memcmp(few.x + j * D, set.x + i * D, D * sizeof *set.x) == 0 && few.y[j] == set.y[i])
                    break;
            if (j == few.n) {
                memcpy(few.x + j * D, set.x + i * D, D * sizeof *set.x);
                few.y[few.n++] = set.y[i];
            }
            weight[j]++;
        }
        hinge_params p = tight(TASKS[t], kernel), weighted = p;
        hinge_report r, rw;
        weighted.weights = weight;
        hinge_model *model = fit(&set, &p, &r), *other = fit(&few, &weighted, &rw);
        double *f = fit_decisions(model, &set, HINGE_PRECISION_F64);
        double *g = fit_decisions(other, &set, HINGE_PRECISION_F64);
        assert_int_equal(r.distinct, rw.distinct);
        assert_close(r.objective, rw.objective, 1e-8);
        if (TASKS[t] == HINGE_C_SVC || TASKS[t] == HINGE_EPSILON_SVR) { /* which start at 0 */
            assert_true(r.objective == rw.objective && r.iterations == rw.iterations);
            assert_true(largest_difference(f, g, N) <= 1e-12 * (1 + fabs(f[0])));
        }
    }
}

/* Boxes of other sizes are filled in order as well: weights of examples and of classes. */
TEST(test_boxes_of_other_sizes)
{
    struct set set = data_for(HINGE_C_SVC, 11);
    hinge_params p = tight(HINGE_C_SVC, hinge_kernel_rbf(0.5));
    const double labels[] = { 1 }, weights[] = { 3 };
    double weight[N], C[N];
    uint64_t seed = 3;
    hinge_report r;
    for (size_t i = 0; i < N; i++) {
        weight[i] = draw(&seed) % 9 == 0 ? 0 : 0.1 + draw_unit(&seed);
        C[i] = p.C * weight[i] * (set.y[i] > 0 ? 3 : 1);
    }
    p.weights = weight;
    p.n_class_weights = 1;
    p.class_labels = labels;
    p.class_weights = weights;
    hinge_model *model = fit(&set, &p, &r);
    double *beta = fit_beta(model, N);
    struct plain_certificate c = plain_certify(model, &set, &p);
    assert_true(c.kkt <= 2 * p.eps && c.box <= 1e-15 && c.sum <= 1e-14);
    assert_close(-c.dual, r.objective, 1e-10);
    for (size_t i = 0; i < N; i++)
        for (size_t j = i + 1; j < N; j++)
            if (are_equal(&set, i, j, true) && beta[j] != 0 && C[i] > 0)
                assert_true(fabs(beta[i]) == C[i]);
}

/* ---- the rest of a training -------------------------------------------------------------------------------------- */

TEST(test_several_classes)
{
    for (int how = HINGE_ONE_VS_ONE; how <= HINGE_ONE_VS_REST; how++) {
        struct set set = repeated(21, N, 4);
        hinge_params p = tight(HINGE_C_SVC, hinge_kernel_rbf(0.5));
        hinge_report r;
        p.multiclass = (hinge_multiclass)how;
        hinge_model *model = fit(&set, &p, &r);
        double *beta = fit_beta(model, N);
        assert_int_equal(r.distinct, count_distinct(&set, true));
        for (size_t q = 0; q < hinge_model_n_problems(model); q++)
            assert_true(check_order(&set, &p, beta + q * N, 1) > 0);
        hinge_certificate c = certified(model, &set, &p);
        assert_true(c.kkt <= 2 * p.eps);
        assert_close(c.dual, -r.objective, 1e-9);
        if (how == HINGE_ONE_VS_ONE) {
            struct oracle oracle = oracle_train(&set, &p);
            double *f = fit_decisions(model, &set, HINGE_PRECISION_F64), *theirs = get(N * 6, sizeof *theirs);
            oracle_predict(&oracle, &set, NULL, theirs);
            assert_close(r.objective, oracle.objective, 1e-5);
            assert_true(largest_difference(f, theirs, N * 6) <= 1e-4);
        }
    }
}

/* What the solution gives to each of equal rows, given in equal parts, is a solution too: it is a start that needs no
 * steps to speak of. */
TEST(test_warm_starts)
{
    for (size_t t = 0; t < N_TASKS; t++) {
        struct set set = data_for(TASKS[t], 31);
        hinge_params p = tight(TASKS[t], hinge_kernel_rbf(0.5));
        hinge_report cold, warm;
        p.precision = HINGE_PRECISION_F64;
        p.newton = 0;
        p.eps = 1e-5;
        hinge_model *model = fit(&set, &p, &cold);
        double *beta = fit_beta(model, N), even[N];
        for (size_t i = 0; i < N; i++) {
            double sum = 0, count = 0;
            for (size_t j = 0; j < N; j++)
                if (are_equal(&set, i, j, TASKS[t] != HINGE_ONE_CLASS)) {
                    sum += beta[j];
                    count++;
                }
            even[i] = sum / count;
        }
        p.beta0 = even;
        model = fit(&set, &p, &warm);
        assert_close(warm.objective, cold.objective, 1e-6);
        assert_true(warm.iterations <= cold.iterations / 10);
    }
}

struct watch {
    size_t distinct, rounds; /* rounds after which to stop */
};

static int look(void *arg, const hinge_progress *progress)
{
    const struct watch *w = arg;
    assert_true(progress->n == w->distinct && progress->n_active <= progress->n && progress->n_sv <= progress->n);
    return progress->rounds >= w->rounds;
}

/* A run that is cut short leaves coefficients of all rows that are inside their boxes and keep the sum. */
TEST(test_limits)
{
    for (int callback = 0; callback <= 1; callback++) {
        struct set set = data_for(HINGE_EPSILON_SVR, 41);
        hinge_params p = tight(HINGE_EPSILON_SVR, hinge_kernel_rbf(2));
        struct watch watch = { count_distinct(&set, true), callback ? 2 : SIZE_MAX };
        hinge_report r;
        p.working_set = 8;
        p.max_iter = callback ? 0 : 20;
        p.progress = look;
        p.progress_arg = &watch;
        hinge_model *model = fit(&set, &p, &r);
        assert_int_equal(r.outcome, callback ? HINGE_STOPPED : HINGE_MAX_ITER);
        double *beta = fit_beta(model, N), sum = 0;
        for (size_t i = 0; i < N; i++) {
            assert_true(fabs(beta[i]) <= p.C);
            sum += beta[i];
        }
        assert_near(sum, 0, 1e-12);
        check_order(&set, &p, beta, 1);
    }
}

TEST(test_leave_one_out)
{
    struct set all = data_for(HINGE_C_SVC, 51), set = { 90, D, all.x, all.y };
    hinge_params p = tight(HINGE_C_SVC, hinge_kernel_rbf(0.5));
    hinge_leave_one_out_report r;
    double prediction[90], weight[90];
    p.eps = 1e-6;
    assert_int_equal(hinge_leave_one_out(matrix_of(&set), set.y, &p, prediction, &r, NULL), HINGE_OK);
    assert_true(r.retrained < 90);
    for (size_t i = 0; i < 90; i++) {
        for (size_t k = 0; k < 90; k++)
            weight[k] = k != i;
        p.weights = weight;
        hinge_model *model = fit(&set, &p, NULL);
        double *label = fit_labels(model, &set);
        assert_true(label[i] == prediction[i]);
    }
}

TEST(test_threads)
{
    for (size_t t = 0; t < N_TASKS; t++) {
        struct set set = repeated(61, 3000, TASKS[t] == HINGE_C_SVC || TASKS[t] == HINGE_NU_SVC ? 2 : 0);
        double *first = NULL;
        for (int threads = 1; threads <= 4; threads *= 2) {
            hinge_params p = tight(TASKS[t], hinge_kernel_rbf(0.5));
            hinge_report r;
            p.eps = 1e-3;
            p.threads = threads;
            hinge_model *model = fit(&set, &p, &r);
            double *beta = fit_beta(model, set.n);
            assert_true(r.distinct <= 2 * KINDS);
            if (first != NULL)
                assert_memory_equal(beta, first, set.n * sizeof *beta);
            first = beta;
        }
    }
}

/* ---- kernels that are not made of features ----------------------------------------------------------------------- */

TEST(test_other_kernels)
{
    struct set set = data_for(HINGE_C_SVC, 71);
    hinge_kernel rbf = hinge_kernel_rbf(0.5),
                 own = { .type = HINGE_USER, .user = plain_block, .cookie = &rbf, .name = "own" };
    hinge_params p = tight(HINGE_C_SVC, own);
    hinge_report r;
    hinge_model *model = fit(&set, &p, &r);
    assert_int_equal(r.distinct, N);
    hinge_params theirs = tight(HINGE_C_SVC, rbf);
    check_against_libsvm(&set, &theirs, model, &r);
    double *gram = plain_gram(&rbf, &set, &set);
    struct set values = { N, N, gram, set.y };
    p.kernel = (hinge_kernel){ .type = HINGE_PRECOMPUTED };
    model = fit(&values, &p, &r);
    assert_int_equal(r.distinct, N);
}
