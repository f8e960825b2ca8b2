/*
 * The points of a grid: all that ranges and lists give, each once, and the order in which they are tried. Read select.h
 * before. The table of points is in the order of their values, C fastest, as a caller prints it; the order of trials is
 * the one that makes each of them cheap after the last.
 */
#include "lib/select/select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 10000, MOST_POINTS = 20000 };

/* Counts steps with a tolerance of rounding, so that an end that is a whole number of steps off belongs to the
 * range. */
size_t hinge_log2_range(double begin, double end, double step, double *values, size_t room)
{
    if (!isfinite(begin) || !isfinite(end) || !isfinite(step) || (end - begin) * step < 0)
        return 0;
    double steps = step != 0 ? floor((end - begin) / step * (1 + 1e-12)) : 0;
    if (steps >= MOST_VALUES)
        return 0;
    for (size_t k = 0; k <= (size_t)steps && k < room; k++)
        values[k] = exp2(begin + (double)k * step);
    return (size_t)steps + 1;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

enum axis { DEGREE, COEF0, GAMMA, TAU, P, NU, C, AXES }; /* the slowest first */

/* Returns where a point has a parameter's value; the degree, which is an int, has no such place. */
static double *place(hinge_grid_point *point, enum axis axis)
{
    double *const places[] = { NULL, &point->coef0, &point->gamma, &point->tau, &point->p, &point->nu, &point->C };
    return places[axis];
}

/* Says whether the task, or the kernel, has such a parameter. */
static bool counts(const struct hg_selecting *s, enum axis axis)
{
    const hinge_task_row *task = s->problem.task;
    const hinge_kernel_row *kernel = hinge_kernel_info(s->params.kernel.type);
    const int uses[] = { kernel->uses_degree, kernel->uses_coef0, kernel->uses_gamma, task->uses_tau,
                         task->uses_p,        task->uses_nu,      task->uses_C };
    return uses[axis] != 0;
}

static const char *const axis_name[] = { "degree", "coef0", "gamma", "tau", "p", "nu", "C" };

static const double default_nu[] = { 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8 };

enum { LIBSVM_C = 11, LIBSVM_GAMMA = 10 };

struct axes { /* the values of each parameter: value[a] [count[a]] is the caller's, or one of the arrays here */
    const double *value[AXES];
    size_t count[AXES];
    double own[AXES], C[LIBSVM_C], gamma[LIBSVM_GAMMA];
};

/* Finds each parameter's values: those given, or LIBSVM's grid.py's of C and gamma, and some of nu; of the others, and
 * of those that do not count, the one that the parameters have. */
static hinge_status find_axes(const struct hg_selecting *s, struct axes *axes, hinge_error *err)
{
    const hinge_select_options *o = &s->options;
    const hinge_values given[] = { o->degree, o->coef0, o->gamma, o->tau, o->p, o->nu, o->C };
    const hinge_kernel *kernel = &s->params.kernel;
    const double own[] = { kernel->degree, kernel->coef0, kernel->gamma, s->params.tau,
                           s->params.p,    s->params.nu,  s->params.C };
    memcpy(axes->own, own, sizeof own);
    const hinge_values usual[AXES] = { [GAMMA] = { axes->gamma,
                                                   hinge_log2_range(3, -15, -2, axes->gamma, LIBSVM_GAMMA) },
                                       [NU] = { default_nu, sizeof default_nu / sizeof *default_nu },
                                       [C] = { axes->C, hinge_log2_range(-5, 15, 2, axes->C, LIBSVM_C) } };
    for (enum axis a = DEGREE; a < AXES; a++) {
        bool used = counts(s, a);
        hinge_values v = !used ? (hinge_values){ NULL, 0 } : given[a].value != NULL ? given[a] : usual[a];
        if (v.value != NULL && v.count == 0)
            return hg_fail(err, HINGE_EINVAL, "%s: a grid of no values", axis_name[a]);
        for (size_t k = 0; k < v.count; k++)
            if (!isfinite(v.value[k]) || (a == DEGREE && v.value[k] != floor(v.value[k])))
                return hg_fail(err, HINGE_EINVAL, "%s: value %zu of the grid is %g, no %s number", axis_name[a], k,
                               v.value[k], a == DEGREE ? "whole" : "finite");
        axes->value[a] = v.value != NULL ? v.value : &axes->own[a];
        axes->count[a] = v.value != NULL ? v.count : 1;
    }
    return HINGE_OK;
}

/* Makes a point that waits and of which no score is known. */
static hinge_grid_point new_point(void)
{
    hinge_grid_point point;
    memset(&point, 0, sizeof point);
    for (int k = 0; k < HINGE_N_SCORES; k++)
        point.score[k] = point.mean[k] = point.deviation[k] = NAN;
    return point;
}

static bool is_there(const hinge_grid_point *points, size_t n, const hinge_grid_point *point)
{
    for (size_t i = 0; i < n; i++)
        if (hg_same_point(&points[i], point))
            return true;
    return false;
}

/* Counts through all combinations: point i has digit i mod count of C, the rest divided by it that of nu, and so on. A
 * point that is there already, as a value was given twice, is left out. */
hinge_status hg_grid_points(struct hg_selecting *s, hinge_error *err)
{
    struct axes axes = { 0 };
    size_t n = 1;
    double auto_gamma = 1 / (double)HG_MAX(s->x.cols, (size_t)1);
    hinge_status status = find_axes(s, &axes, err);
    for (enum axis a = DEGREE; a < AXES && status == HINGE_OK; a++)
        if (!hg_mul(n, axes.count[a], &n) || n > MOST_POINTS)
            status = hg_fail(err, HINGE_EINVAL, "the grid has more than %d points", MOST_POINTS);
    HG_TRY(status);
    HG_TRY(HG_MAKE(err, "the points of the grid", HG_ZEROS(s->out->points, n)));
    for (size_t i = 0; i < n; i++) {
        hinge_grid_point point = new_point();
        size_t rest = i;
        for (enum axis a = AXES; a-- > DEGREE;) {
            double value = axes.value[a][rest % axes.count[a]];
            rest /= axes.count[a];
            if (a == DEGREE)
                point.degree = (int)fmin(fmax(value, -1), 1e9);
            else
                *place(&point, a) = a == GAMMA && value == HINGE_GAMMA_AUTO ? auto_gamma : value;
        }
        if (!is_there(s->out->points, s->out->n_points, &point))
            s->out->points[s->out->n_points++] = point;
    }
    return HINGE_OK;
}

bool hg_same_kernel(const hinge_grid_point *a, const hinge_grid_point *b)
{
    return a->gamma == b->gamma && a->degree == b->degree && a->coef0 == b->coef0;
}

bool hg_same_line(const hinge_grid_point *a, const hinge_grid_point *b)
{
    return hg_same_kernel(a, b) && a->p == b->p && a->tau == b->tau;
}

bool hg_same_point(const hinge_grid_point *a, const hinge_grid_point *b)
{
    return hg_same_line(a, b) && a->C == b->C && a->nu == b->nu;
}

void hg_point_take(const hinge_grid_point *point, hinge_params *params)
{
    params->C = point->C;
    params->nu = point->nu;
    params->p = point->p;
    params->tau = point->tau;
}

hinge_kernel hg_point_kernel(const struct hg_selecting *s, const hinge_grid_point *point)
{
    hinge_kernel kernel = s->given->kernel;
    kernel.gamma = point->gamma;
    kernel.degree = point->degree;
    kernel.coef0 = point->coef0;
    kernel.n_features = s->params.kernel.n_features;
    return kernel;
}

hinge_params hg_point_params(const struct hg_selecting *s, const hinge_grid_point *point)
{
    hinge_params params = *s->given;
    hg_point_take(point, &params);
    params.kernel = hg_point_kernel(s, point);
    return params;
}

/* ---- the order --------------------------------------------------------------------------------------------------- */

/* Compares for qsort: by kernel, then by line (p, tau), then along the line; ties by place in the table. */
static int by_turn(const void *a, const void *b)
{
    const struct hg_turn *x = a, *y = b;
    const double of_x[] = { (double)x->turn, x->point->p, x->point->tau, x->point->C, x->point->nu };
    const double of_y[] = { (double)y->turn, y->point->p, y->point->tau, y->point->C, y->point->nu };
    for (size_t k = 0; k < sizeof of_x / sizeof *of_x; k++)
        if (of_x[k] != of_y[k])
            return of_x[k] < of_y[k] ? -1 : 1;
    return x->point < y->point ? -1 : 1;
}

/* Numbers kernels in the order of the table, and gives the middle one the first turn, its neighbours the next ones: the
 * best point is mostly found early there, and others are dropped by it. Within a line C rises, and nu, as each training
 * starts from the one before. */
void hg_grid_order(const struct hg_selecting *s, struct hg_turn *order)
{
    hinge_grid_point *points = s->out->points;
    size_t n = s->out->n_points, kernels = 0;
    for (size_t i = 0; i < n; i++) { /* points of one kernel follow each other, but where a value was given twice */
        kernels += i == 0 || !hg_same_kernel(&points[i], &points[i - 1]);
        order[i] = (struct hg_turn){ kernels - 1, &points[i] };
    }
    for (size_t i = 0, middle = (kernels - 1) / 2; i < n; i++) {
        size_t kernel = order[i].turn;
        order[i].turn = kernel > middle ? 2 * (kernel - middle) - 1 : 2 * (middle - kernel);
    }
    qsort(order, n, sizeof *order, by_turn);
}
