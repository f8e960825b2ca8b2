/*
 * Parameters, matrices and their checks (params.h). Checks refuse what would
 * make arithmetic meaningless (NaN, empty ranges, sizes that overflow) before anything is allocated; defaults stand in
 * hinge_params_default, and 0 means the default where 0 is no value (C, nu, tau, eps).
 */
#include "lib/data/params.h"
#include "kernels/maker.h"
#include "lib/base/team.h"

#include <math.h>
#include <string.h>

enum { MOST_THREADS = 4096 };

/* Sets the defaults; fields that it does not name are 0, which is theirs. */
hinge_params hinge_params_default(hinge_task task)
{
    hinge_params p;
    memset(&p, 0, sizeof p);
    p.task = task;
    p.kernel = hinge_kernel_rbf(HINGE_GAMMA_AUTO);
    p.C = 1;
    p.nu = 0.5;
    p.tau = 0.5;
    p.p = 0.1;
    p.eps = 1e-3;
    p.shrinking = 1;
    p.newton = 1;
    return p;
}

/* Checks the order before the stride, whose least value depends on it. rows and stride stay below 2^31, as BLAS takes
 * them as int; the product with a double's size must be a size_t, for any copy in f64 that is made later. */
hinge_status hg_matrix_check(const hinge_matrix *x, const char *name, hinge_error *err)
{
    size_t values;
    if (x == NULL || x->type < HINGE_F32 || x->type > HINGE_F16)
        return hg_fail(err, HINGE_EINVAL, "%s: not a matrix whose type is a hinge_dtype", name);
    bool by_rows = hg_matrix_by_rows(x);
    if (by_rows && x->order != HINGE_ROW_MAJOR)
        return hg_fail(err, HINGE_EINVAL, "%s.order: %d is not a hinge_order", name, (int)x->order);
    if (x->stride < (by_rows ? x->cols : x->rows))
        return hg_fail(err, HINGE_EINVAL, "%s.stride: %zu is less than %s = %zu", name, x->stride,
                       by_rows ? "cols" : "rows", by_rows ? x->cols : x->rows);
    if (!hg_mul(by_rows ? x->rows : x->cols, x->stride, &values) || !hg_mul(values, sizeof(double), &values) ||
        x->rows >= INT32_MAX || x->stride >= INT32_MAX)
        return hg_fail(err, HINGE_ESIZE, "%s: %zu x %zu is too large", name, x->rows, x->cols);
    if (x->data == NULL && x->rows * x->cols > 0)
        return hg_fail(err, HINGE_EINVAL, "%s.data: NULL for %zu x %zu values", name, x->rows, x->cols);
    return HINGE_OK;
}

/* Returns the first column of a row whose value is not finite; SIZE_MAX if all are. A row's values times 0 sum to 0
 * where all are finite, and to NaN otherwise: the compiler makes vectors of that loop, and only a row that fails it is
 * looked at value by value. Of a matrix by columns, values are looked at one by one, as a row's are far apart. */
static size_t first_nonfinite(const hinge_matrix *x, size_t row)
{
    double sum = 0;
    if (x->type == HINGE_U8 || x->type == HINGE_I8)
        return SIZE_MAX;
    if (!hg_matrix_by_rows(x) || x->type == HINGE_F16) {
        for (size_t c = 0; c < x->cols; c++)
            if (!isfinite(hg_matrix_value(x, row, c)))
                return c;
        return SIZE_MAX;
    }
    const float *v32 = (const float *)x->data + row * x->stride;
    const double *v64 = (const double *)x->data + row * x->stride;
    if (x->type == HINGE_F32) {
        float s = 0;
        for (size_t c = 0; c < x->cols; c++)
            s += v32[c] * 0.0F;
        sum = (double)s;
    } else {
        for (size_t c = 0; c < x->cols; c++)
            sum += v64[c] * 0.0;
    }
    if (sum == 0)
        return SIZE_MAX;
    for (size_t c = 0; c < x->cols; c++)
        if (!isfinite(x->type == HINGE_F32 ? (double)v32[c] : v64[c]))
            return c;
    return SIZE_MAX;
}

struct checking {
    const hinge_matrix *x;
    size_t bad; /* atomic: the lowest row found that fails */
};

static void check_some(void *arg, int thread, size_t first, size_t end)
{
    struct checking *c = arg;
    (void)thread;
    for (size_t i = first; i < end && i < __atomic_load_n(&c->bad, __ATOMIC_RELAXED); i++)
        if (first_nonfinite(c->x, i) != SIZE_MAX)
            hg_lower(&c->bad, i);
}

/* Finds the lowest row that fails, whatever the number of threads, so that the message is the same: a row is passed
 * over only where a lower one is known. A small matrix is not worth a job. */
hinge_status hg_matrix_check_finite(const hinge_matrix *x, const char *name, int threads, hinge_error *err)
{
    struct checking check = { x, SIZE_MAX };
    size_t piece = HG_MAX(65536 / HG_MAX(x->cols, (size_t)1), (size_t)1);
    hg_share(threads, x->rows, piece, check_some, &check);
    if (check.bad == SIZE_MAX)
        return HINGE_OK;
    size_t c = first_nonfinite(x, check.bad);
    double v = hg_matrix_value(x, check.bad, c);
    return hg_fail(err, HINGE_EINVAL, "%s: row %zu, column %zu is %g, not a finite number", name, check.bad, c, v);
}

hinge_status hg_check_finite(const double *v, size_t n, const char *what, hinge_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return hg_fail(err, HINGE_EINVAL, "%s %zu is %g, not a finite number", what, i, v[i]);
    return HINGE_OK;
}

/* Looks for a third label. */
static bool has_many_classes(const double *y, size_t n)
{
    size_t second = 1;
    while (second < n && y[second] == y[0])
        second++;
    for (size_t i = second + 1; i < n; i++)
        if (y[i] != y[0] && y[i] != y[second])
            return true;
    return false;
}

/* Counts a training of two classes, or of targets, by a sixth: a good part of it is one thread's (doc/performance.md,
 * "One thread, two, and more"). Several of them, or pairs of classes, share all of their work. */
int hg_params_team(const hinge_params *params, const hinge_matrix *x, const double *y, size_t trainings)
{
    const hinge_task_row *task = params != NULL ? hinge_task_info(params->task) : NULL;
    if (task == NULL || hg_matrix_check(x, "x", NULL) != HINGE_OK || params->threads < 0 ||
        params->threads > MOST_THREADS)
        return 1;
    bool classifies = task->classifies && y != NULL;
    double share = trainings > 1 || (classifies && has_many_classes(y, x->rows)) ? 1 : 1 / 6.0;
    double values = (double)HG_MAX(trainings, (size_t)1) * (double)x->rows * (double)x->rows;
    return hg_kernel_team(&params->kernel, params->threads, share * values, x->cols);
}

/* Refuses weights that are negative or no numbers. All 0 is refused later, where it is known class by class
 * (problem.c). */
static hinge_status check_weights(const hinge_params *p, size_t n, hinge_error *err)
{
    if (p->n_class_weights > 0 && (p->class_labels == NULL || p->class_weights == NULL))
        return hg_fail(err, HINGE_EINVAL, "class_weights: n_class_weights is %zu, but the arrays are NULL",
                       p->n_class_weights);
    for (size_t k = 0; k < p->n_class_weights; k++)
        if (!(p->class_weights[k] >= 0 && isfinite(p->class_weights[k])))
            return hg_fail(err, HINGE_EINVAL,
                           "class_weights: the weight of class %g is %g, not a finite number >= 0",
                           p->class_labels[k], p->class_weights[k]);
    for (size_t i = 0; p->weights != NULL && i < n; i++)
        if (!(p->weights[i] >= 0 && isfinite(p->weights[i])))
            return hg_fail(err, HINGE_EINVAL, "weights: the weight of row %zu is %g, not a finite number >= 0",
                           i, p->weights[i]);
    return HINGE_OK;
}

/* Refuses what the chosen solver alone cannot do. */
static hinge_status check_solver(const hinge_params *p, hinge_error *err)
{
    const hinge_task_row *row = hinge_task_info(p->task);
    const char *wish = hg_params_hard(p) ? "C: the hard margin" : "rank: a factor";
    if ((int)p->solver < 0 || (int)p->solver > HINGE_SOLVER_INTERIOR_POINT)
        return hg_fail(err, HINGE_EINVAL, "solver: %d is not a hinge_solver", (int)p->solver);
    if (p->no_bias && row->uses_nu)
        return hg_fail(err, HINGE_EINVAL, "no_bias: this task's sum of coefficients is what its nu stands for");
    if (p->solver == HINGE_SOLVER_SMO && hg_params_need_interior(p))
        return hg_fail(err, HINGE_EINVAL, "%s needs the interior point, and the solver asked for is SMO", wish);
    return HINGE_OK;
}

/* Returns k for one-versus-rest, k (k - 1) / 2 for one-versus-one; two classes are one problem either way. */
size_t hg_count_problems(hinge_multiclass multiclass, size_t k)
{
    return k > 2 && multiclass == HINGE_ONE_VS_REST ? k : k * (k - 1) / 2;
}

bool hg_params_leave_solver(const hinge_params *p)
{
    return p->solver == HINGE_SOLVER_AUTO && p->max_iter == 0 && p->working_set == 0 &&
           p->precision != HINGE_PRECISION_F32;
}

bool hg_params_hard(const hinge_params *p)
{
    return p->task == HINGE_C_SVC && isinf(p->C);
}

bool hg_params_hard_tube(const hinge_params *p)
{
    return p->task == HINGE_EPSILON_SVR && p->C == HG_HARD_TUBE;
}

/* Checks what training, prediction and kernel blocks have in common. */
hinge_status hg_options_check(const hinge_predict_options *o, hinge_error *err)
{
    if (o->threads < 0 || o->threads > MOST_THREADS)
        return hg_fail(err, HINGE_EINVAL, "threads: %d is not in 0 .. %d", o->threads, MOST_THREADS);
    if ((int)o->precision < 0 || (int)o->precision > HINGE_PRECISION_F64)
        return hg_fail(err, HINGE_EINVAL, "precision: %d is not a hinge_precision", (int)o->precision);
    if ((int)o->maker < 0 || (int)o->maker > HINGE_MAKER_INTEGERS)
        return hg_fail(err, HINGE_EINVAL, "maker: %d is not a hinge_maker", (int)o->maker);
    if (o->cpu_level < 0 || o->cpu_level > 4)
        return hg_fail(err, HINGE_EINVAL, "cpu_level: %d is not in 0 .. 4", o->cpu_level);
    return HINGE_OK;
}

bool hg_params_need_interior(const hinge_params *p)
{
    return p->rank > 0 || hg_params_hard(p);
}

/* Does what training does first, for callers that wish to know before they load data. */
hinge_status hinge_params_check(const hinge_params *params, size_t n, size_t n_features, hinge_error *err)
{
    hinge_params resolved;
    HG_NEED(err, params, "params");
    HG_TRY(hg_params_check(params, n, n_features, &resolved, err));
    if (params->scaling != NULL && params->kernel.type == HINGE_PRECOMPUTED)
        return hg_fail(err, HINGE_EINVAL, "scaling: the values of a precomputed kernel cannot be scaled");
    return hg_ok(err);
}

/* Fills in defaults, then checks each field that the task uses, flags as a table; *resolved stays untouched where one
 * is refused. The kernel's gamma is resolved here too, HINGE_GAMMA_AUTO becoming 1 / d (hg_kernel_check). */
hinge_status hg_params_check(const hinge_params *params, size_t n, size_t d, hinge_params *resolved, hinge_error *err)
{
    hinge_params p = *params;
    p.C = p.C == 0 ? 1 : p.C;
    p.C = p.task == HINGE_EPSILON_SVR && p.C == (double)INFINITY ? HG_HARD_TUBE : p.C;
    p.nu = p.nu == 0 ? 0.5 : p.nu;
    p.tau = p.tau == 0 ? 0.5 : p.tau;
    p.eps = p.eps == 0 ? 1e-3 : p.eps;
    const hinge_task_row *row = hinge_task_info(p.task);
    if (row == NULL)
        return hg_fail(err, HINGE_EINVAL, "task: %d is not a task", (int)p.task);
    if (row->uses_C && !(p.C > 0 && (isfinite(p.C) || hg_params_hard(&p))))
        return hg_fail(err, HINGE_EINVAL, "C: %g is not a finite number > 0", p.C);
    if (row->uses_nu && !(p.nu > 0 && p.nu <= 1))
        return hg_fail(err, HINGE_EINVAL, "nu: %g is not in (0, 1]", p.nu);
    if (row->uses_p && !(p.p >= 0 && isfinite(p.p)))
        return hg_fail(err, HINGE_EINVAL, "p: %g is not a finite number >= 0", p.p);
    if (row->uses_tau && !(p.tau > 0 && p.tau < 1))
        return hg_fail(err, HINGE_EINVAL, "tau: %g is not in (0, 1)", p.tau);
    if (!(p.eps > 0 && isfinite(p.eps)))
        return hg_fail(err, HINGE_EINVAL, "eps: %g is not a finite number > 0", p.eps);
    if ((int)p.multiclass < 0 || (int)p.multiclass > HINGE_ONE_VS_REST)
        return hg_fail(err, HINGE_EINVAL, "multiclass: %d is not a hinge_multiclass", (int)p.multiclass);
    const struct {
        const char *name;
        int value;
    } flags[] = { { "probability", p.probability }, { "shrinking", p.shrinking }, { "newton", p.newton },
                  { "profile", p.profile },         { "no_bias", p.no_bias } };
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (flags[k].value != 0 && flags[k].value != 1)
            return hg_fail(err, HINGE_EINVAL, "%s: %d is neither 0 nor 1", flags[k].name, flags[k].value);
    if (p.probability && row->uses_tau)
        return hg_fail(err, HINGE_EINVAL, "probability: a quantile is no mean that targets spread around");
    if (!(p.time_limit >= 0))
        return hg_fail(err, HINGE_EINVAL, "time_limit: %g is not a number >= 0", p.time_limit);
    const hinge_predict_options run = { .threads = p.threads, .precision = p.precision, .cpu_level = p.cpu_level,
                                        .maker = p.maker };
    HG_TRY(hg_options_check(&run, err));
    HG_TRY(check_solver(&p, err));
    HG_TRY(hg_kernel_check(&p.kernel, d, &p.kernel, err));
    HG_TRY(hg_maker_check_kernel(p.maker, &p.kernel, err));
    HG_TRY(check_weights(&p, n, err));
    *resolved = p;
    return HINGE_OK;
}
