/* What a trial's number stands for: task, kernel, size, parameters. See trials.h. */
#include "test/trials.h"

#include <sys/resource.h>

bool chance(uint64_t *state, double probability)
{
    return draw_unit(state) < probability;
}

size_t pick(uint64_t *state, size_t n)
{
    return (size_t)(draw(state) % n);
}

double power_between(uint64_t *state, double low, double high)
{
    return pow(10, low + (high - low) * draw_unit(state));
}

double processor_time(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* A kernel of the caller's own, one example pair at a time. */
static double user_value(const struct user_cookie *cookie, const double *a, const double *b, size_t d)
{
    double sum = 0;
    for (size_t c = 0; c < d; c++) {
        double v = cookie->kind == USER_LINEAR ? a[c] * b[c] : fabs(a[c] - b[c]);
        sum += v;
    }
    switch (cookie->kind) {
    case USER_DISTANCE:
        return -cookie->gamma * sum;
    case USER_LINEAR:
        return cookie->gamma * sum;
    case USER_NAN: /* of a point with itself, where its first feature is positive */
        return sum == 0 && a[0] > 0 ? NAN : exp(-cookie->gamma * sum);
    default:
        return exp(-cookie->gamma * sum);
    }
}

static const double *f64_row(const hinge_matrix *matrix, size_t i)
{
    return (const double *)matrix->data + i * matrix->stride;
}

int trial_user_kernel(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    const struct user_cookie *user = cookie;
    if (user->kind == USER_FAILS && a->rows * b->rows > 1)
        return 7;
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < b->rows; j++)
            out[i * ld + j] = user_value(user, f64_row(a, i), f64_row(b, j), a->cols);
    return 0;
}

static void draw_kernel(struct trial *t, uint64_t *s)
{
    static const hinge_kernel_type types[] = { HINGE_LINEAR,  HINGE_LINEAR,     HINGE_LINEAR,      HINGE_RBF,
                                               HINGE_RBF,     HINGE_RBF,        HINGE_RBF,         HINGE_POLYNOMIAL,
                                               HINGE_SIGMOID, HINGE_POLYNOMIAL, HINGE_PRECOMPUTED, HINGE_USER };
    hinge_kernel *k = &t->params.kernel;
    bool wild = chance(s, 0.35);
    *k = (hinge_kernel){ .type = types[pick(s, 12)], .degree = 3 };
    /* tame: multiplied by 1 / (d variance) when the data are there */
    k->gamma = wild ? power_between(s, -12, chance(s, 0.5) ? 3 : 16) : power_between(s, -2, 1.5);
    k->degree = wild ? 1 + (int)pick(s, 9) : 1 + (int)pick(s, 3);
    k->coef0 = chance(s, 0.3) ? 0 : wild ? power_between(s, -3, 3) : draw_unit(s) * 2;
    if (chance(s, k->type == HINGE_SIGMOID ? 0.5 : 0.15))
        k->coef0 = -k->coef0;
    if (k->type == HINGE_RBF && *s % 8 < 3) /* draws nothing, so that other trials stay as they are */
        k->type = *s % 8 == 0 ? HINGE_MATERN32 : *s % 8 == 1 ? HINGE_MATERN52 : HINGE_LAPLACIAN;
    if (k->type == HINGE_RBF && *s % 32 >= 3 && *s % 32 <= 6) /* likewise */
        k->type = *s % 2 ? HINGE_CHI2 : HINGE_TANIMOTO;
    t->psd = k->type == HINGE_LINEAR || k->type == HINGE_RBF || k->type >= HINGE_MATERN32 ||
             (k->type == HINGE_POLYNOMIAL && k->coef0 >= 0);
    t->symmetric = true;
    if (k->type == HINGE_USER) {
        t->user.kind = (enum user_kind)pick(s, 5);
        if ((t->user.kind == USER_NAN || t->user.kind == USER_FAILS) && chance(s, 0.6))
            t->user.kind = USER_LAPLACE;
        t->user.gamma = power_between(s, -3, 1);
        t->psd = t->user.kind == USER_LAPLACE || t->user.kind == USER_LINEAR;
        k->user = trial_user_kernel;
        strcpy(k->name, "trial");
    }
    snprintf(t->shape, sizeof t->shape, "%s", wild ? "wild " : "");
}

static void draw_size(struct trial *t, uint64_t *s)
{
    double u = draw_unit(s);
    t->n = u < 0.08 ? 1 + pick(s, 6)
                    : (size_t)power_between(s, u < 0.8 ? 0.8 : 2.3,
                                            u < 0.8    ? 2.4
                                            : u < 0.97 ? 3
                                                       : 3.7);
    u = draw_unit(s);
    t->d = u < 0.2 ? 1 + pick(s, 2)
                   : (size_t)power_between(s, u < 0.7 ? 0.3 : 1.3,
                                           u < 0.7   ? 1.3
                                           : u < 0.9 ? 2.3
                                                     : 3.3);
    if (t->n < 60 && chance(s, 0.03)) /* far more features than examples */
        t->d = (size_t)power_between(s, 3.3, 4);
    while (t->n * t->n * t->d > 200000000 && t->d > 1)
        t->d = (t->d + 1) / 2;
    if (t->params.kernel.type == HINGE_PRECOMPUTED) {
        t->n = t->n > 700 ? 700 : t->n;
        t->d = t->n + (chance(s, 0.25) ? pick(s, 4) : 0);
    }
    t->m = pick(s, 4) == 0 ? 0 : pick(s, 30);
    t->is_f32 = t->params.kernel.type == HINGE_PRECOMPUTED ? chance(s, 0.2) : chance(s, 0.3);
    t->gap = chance(s, 0.2) ? 1 + pick(s, 5) : 0;
}

static void draw_task(struct trial *t, uint64_t *s)
{
    static const hinge_task tasks[] = { HINGE_C_SVC,       HINGE_C_SVC,     HINGE_C_SVC,       HINGE_C_SVC,
                                        HINGE_NU_SVC,      HINGE_ONE_CLASS, HINGE_EPSILON_SVR, HINGE_EPSILON_SVR,
                                        HINGE_EPSILON_SVR, HINGE_NU_SVR };
    hinge_params *p = &t->params;
    *p = hinge_params_default(tasks[pick(s, 10)]);
    bool wild = chance(s, 0.3);
    p->C = wild ? power_between(s, -6, 8) : power_between(s, -2, 3);
    p->nu = chance(s, 0.1) ? 1 : draw_unit(s) * (chance(s, 0.3) ? 0.05 : 1) + 1e-4;
    p->p = chance(s, 0.1) ? 0 : power_between(s, wild ? -8 : -3, 0.5); /* times the spread of targets */
    p->eps = chance(s, 0.4) ? 1e-3 : power_between(s, chance(s, 0.25) ? -12 : -6, 0);
    p->no_bias = !hinge_task_info(p->task)->uses_nu && chance(s, 0.08);
    if (p->task == HINGE_C_SVC && chance(s, 0.08))
        p->C = INFINITY;
    else if (chance(s, 0.01))
        p->C = power_between(s, 50, 308);
    t->n_labels = 2;
    if (hinge_task_info(p->task)->classifies && chance(s, 0.25)) {
        t->n_labels = 2 + (int)pick(s, MAX_CLASSES - 1);
        p->multiclass = p->task == HINGE_C_SVC && chance(s, 0.4) ? HINGE_ONE_VS_REST : HINGE_ONE_VS_ONE;
    }
    t->integer_labels = chance(s, 0.9);
}

static int stop_when_asked(void *arg, const hinge_progress *progress)
{
    struct trial *t = arg;
    if (t->stop_after == 0 || ++t->looks < t->stop_after)
        return 0;
    if (t->stopped == 0)
        t->stopped = processor_time();
    return 1;
}

/* How it is to be solved. */
static void draw_run(struct trial *t, uint64_t *s)
{
    hinge_params *p = &t->params;
    double u = draw_unit(s);
    p->solver = u < 0.65 ? HINGE_SOLVER_AUTO : u < 0.87 ? HINGE_SOLVER_SMO : HINGE_SOLVER_INTERIOR_POINT;
    u = draw_unit(s);
    p->precision = u < 0.7 ? HINGE_PRECISION_AUTO : u < 0.85 ? HINGE_PRECISION_F32 : HINGE_PRECISION_F64;
    p->shrinking = chance(s, 0.85);
    p->newton = chance(s, 0.8);
    u = draw_unit(s);
    p->threads = u < 0.5 ? 1 : u < 0.88 ? 2 : 4;
    u = draw_unit(s); /* a row, or a few */
    p->cache_bytes = u < 0.8 ? 0 : u < 0.9 ? t->n * 8 : t->n * 8 * (1 + pick(s, 10));
    p->working_set = chance(s, 0.12) ? 2 + pick(s, 60) : 0;
    p->rank = chance(s, 0.05) ? 1 + pick(s, t->n) : 0;
    p->seed = chance(s, 0.5) ? 0 : draw(s);
    p->cpu_level = chance(s, 0.8) ? 0 : 1 + (int)pick(s, 4);
    u = draw_unit(s);
    if (u < 0.07)
        p->max_iter = 1 + (uint64_t)power_between(s, 0, 4);
    else if (u < 0.10)
        p->time_limit = power_between(s, -3, -0.5);
    else if (u < 0.14)
        t->stop_after = 1 + (unsigned)pick(s, 6);
    p->progress = stop_when_asked; /* the argument is set where the trial has its final place */
    t->twice = p->time_limit == 0 && chance(s, 0.15);
    t->round_trip = chance(s, 0.3);
    t->certify = chance(s, 0.5);
    t->warm = chance(s, 0.1);
    t->oracle = chance(s, 0.5);
    t->folds = t->n <= 300 && chance(s, 0.06) ? 2 + pick(s, 4) : 0;
}

struct trial trial_plan(uint64_t number)
{
    uint64_t seed = number, state = draw(&seed);
    struct trial t = { .number = number, .is_qp = chance(&state, 0.1) };
    draw_task(&t, &state);
    draw_kernel(&t, &state);
    draw_size(&t, &state);
    draw_run(&t, &state);
    if (t.params.task == HINGE_EPSILON_SVR && chance(&state, 0.3)) { /* drawn last: what stands above stays as it was */
        t.params.task = HINGE_QUANTILE;
        t.params.tau = chance(&state, 0.2) ? power_between(&state, -6, -1) : 0.02 + 0.96 * draw_unit(&state);
    }
    t.selects = t.params.rank == 0 && t.params.time_limit == 0 && t.stop_after == 0 &&
                chance(&state, t.n <= 200    ? 0.3
                               : t.n <= 1200 ? 0.15
                                             : 0);
    return t;
}

void trial_describe(const struct trial *t, char *text, size_t size)
{
    static const char *const precisions[] = { "auto", "f32", "f64" }, *const solvers[] = { "auto", "smo", "ipm" };
    static const char *const users[] = { "laplace", "distance", "linear", "nan", "fails" };
    const hinge_params *p = &t->params;
    if (t->is_qp) {
        snprintf(text, size, "hinge_qp_solve");
        return;
    }
    int length = snprintf(
        text, size,
        "%s%s %s%s%s g=%.9g r=%.9g d=%d, %zu x %zu %s%s, %d classes%s, C=%.9g nu=%.6g p=%.9g tau=%.6g eps=%.3g, "
        "solver %s, precision %s, threads %d",
        hinge_task_info(p->task)->keyword, p->no_bias ? " no_bias" : "", hinge_kernel_info(p->kernel.type)->keyword,
        p->kernel.type == HINGE_USER ? "/" : "", p->kernel.type == HINGE_USER ? users[t->user.kind] : "",
        p->kernel.type == HINGE_USER ? t->user.gamma : p->kernel.gamma, p->kernel.coef0, p->kernel.degree, t->n, t->d,
        t->is_f32 ? "f32 " : "", t->shape, t->n_labels, p->multiclass == HINGE_ONE_VS_REST ? " ovr" : "", p->C, p->nu,
        p->p, p->tau, p->eps, solvers[p->solver], precisions[p->precision], p->threads);
#define ADD(when, ...) \
    if ((when) && length >= 0 && (size_t)length < size) \
    length += snprintf(text + length, size - (size_t)length, __VA_ARGS__)
    ADD(t->weights != NULL, ", weights");
    ADD(p->n_class_weights > 0, ", class weights");
    ADD(p->cache_bytes > 0, ", cache %zu", p->cache_bytes);
    ADD(p->working_set > 0, ", working set %zu", p->working_set);
    ADD(p->rank > 0, ", rank %zu", p->rank);
    ADD(!p->shrinking, ", no shrinking");
    ADD(!p->newton, ", no newton");
    ADD(p->max_iter > 0, ", max_iter %llu", (unsigned long long)p->max_iter);
    ADD(p->time_limit > 0, ", time limit %.3g", p->time_limit);
    ADD(t->stop_after > 0, ", stop at look %u", t->stop_after);
    ADD(p->cpu_level > 0, ", cpu level %d", p->cpu_level);
    ADD(t->warm, ", warm");
    ADD(t->folds > 0, ", %zu folds", t->folds);
    ADD(t->selects, ", a grid");
#undef ADD
}
