/* A trial's examples, labels, weights. See trials.h. */
#include "test/trials.h"

#include <float.h>

enum value { NORMAL, BITS, SIGNS, COUNTS, SPARSE, UNIFORM, GRID, N_VALUES };

static const char *const value_names[] = { "normal", "0/1", "two values", "counts", "sparse", "uniform", "grid" };

static void word(struct trial *t, const char *format, double a)
{
    size_t length = strlen(t->shape);
    snprintf(t->shape + length, sizeof t->shape - length, format, a);
}

static double value(enum value kind, double range, uint64_t *s)
{
    switch (kind) {
    case BITS:
        return draw(s) % 3 == 0;
    case SIGNS:
        return draw(s) % 2 == 0 ? range : -1;
    case COUNTS:
        return floor(draw_unit(s) * range);
    case SPARSE:
        return draw(s) % 12 == 0 ? draw_unit(s) * 2 : 0;
    case UNIFORM:
        return 2 * draw_unit(s) - 1;
    case GRID:
        return (double)(draw(s) % 5) - 2;
    default:
        return draw_normal(s);
    }
}

static double *row_of(const struct trial *t, size_t i)
{
    return i < t->n ? t->x + i * t->d : t->test + (i - t->n) * t->d;
}

/* Examples that are others' copies, or nearly so; few far away; features that are constant. */
static void bend(struct trial *t, uint64_t *s)
{
    size_t all = t->n + t->m, d = t->d;
    if (chance(s, 0.2)) {
        double near = chance(s, 0.5) ? 0 : power_between(s, -9, -1);
        word(t, ", twins %.2g", near);
        for (size_t i = 1; i < all; i += 1 + pick(s, 3))
            for (size_t j = pick(s, i < t->n ? i : t->n), c = 0; c < d; c++)
                row_of(t, i)[c] = row_of(t, j)[c] + (near > 0 ? near * draw_normal(s) : 0);
    }
    if (chance(s, 0.1)) {
        double far = power_between(s, 1, 6);
        size_t count = 1 + pick(s, 4);
        word(t, ", outliers %.2g", far);
        for (size_t k = 0; k < count; k++)
            for (size_t i = pick(s, all), c = 0; c < d; c++)
                row_of(t, i)[c] += far * (1 + 1e-4 * draw_normal(s));
    }
    if (chance(s, 0.1))
        for (size_t c = 0; c < d; c++)
            for (size_t i = 0, fixed = pick(s, 3), zero = pick(s, 2); fixed == 0 && i < all; i++)
                row_of(t, i)[c] = zero ? 0 : 1.25;
}

/* Few different rows, one perhaps, with labels of their own each; zeros of either sign. Of a stream of their own: what
 * is drawn beside is what it was. */
static void repeat(struct trial *t)
{
    uint64_t seed = t->number ^ 0x7eb1e5, state = draw(&seed), *s = &state;
    size_t distinct = chance(s, 0.2) ? 1 : 1 + pick(s, chance(s, 0.5) ? 4 : t->n);
    if (!chance(s, 0.12))
        return;
    word(t, ", %.0f distinct", (double)distinct);
    for (size_t i = distinct < t->n ? distinct : t->n; i < t->n + t->m; i++)
        memcpy(row_of(t, i), row_of(t, pick(s, distinct < t->n ? distinct : t->n)), t->d * sizeof(double));
    for (size_t i = 0; i < t->n + t->m; i++)
        for (size_t c = 0; c < t->d; c++)
            if (row_of(t, i)[c] == 0 && chance(s, 0.3))
                row_of(t, i)[c] = -0.0;
}

static void scale(struct trial *t, uint64_t *s)
{
    double factor = 1, offset = 0, u = draw_unit(s);
    bool mixed = chance(s, 0.08);
    if (u < 0.35) {
        static const double exponents[] = { -12, -12, -6, -3, 1, 2, 3, 3, 4, 5, 7 };
        factor = pow(10, exponents[pick(s, 11)]);
        word(t, " * %.0g", factor);
    }
    if (chance(s, 0.1)) {
        offset = power_between(s, 3, 7);
        word(t, " + %.2g", offset);
    }
    if (mixed)
        word(t, ", mixed scales", 0);
    for (size_t c = 0; c < t->d; c++) {
        double own = mixed ? power_between(s, -4, 4) : 1;
        for (size_t i = 0; i < t->n + t->m; i++)
            row_of(t, i)[c] = row_of(t, i)[c] * factor * own + offset;
    }
}

static void fill_examples(struct trial *t, uint64_t *s)
{
    enum value kind = chance(s, 0.4) ? NORMAL : (enum value)pick(s, N_VALUES);
    double range = kind == SIGNS ? (chance(s, 0.5) ? 1 : 3.5) : chance(s, 0.5) ? 10 : power_between(s, 2, 9);
    word(t, value_names[kind], 0);
    if (kind == COUNTS)
        word(t, " to %.2g", range);
    size_t clusters = chance(s, 0.25) ? 1 + pick(s, 5) : 0;
    double spread = clusters > 0 ? power_between(s, 0, chance(s, 0.3) ? 4 : 1.5) : 0;
    double *centres = get((clusters + 1) * t->d, sizeof *centres);
    if (clusters > 0)
        word(t, ", clusters %.2g apart", spread);
    for (size_t i = 0; i < clusters * t->d; i++)
        centres[i] = spread * draw_normal(s);
    for (size_t i = 0; i < t->n + t->m; i++) {
        const double *centre = centres + (clusters > 0 ? pick(s, clusters) : 0) * t->d;
        for (size_t c = 0; c < t->d; c++)
            row_of(t, i)[c] = centre[c] + value(kind, range, s);
    }
    scale(t, s);
    bend(t, s);
    repeat(t);
    if (chance(s, 0.04)) /* examples to predict whose features are more than floats hold */
        for (size_t i = 0; i < t->m; i++)
            row_of(t, t->n + i)[pick(s, t->d)] = chance(s, 0.2) ? DBL_MAX : power_between(s, 20, 45);
}

/* Kernel values: semi-definite, or symmetric, or neither. */
static void fill_precomputed(struct trial *t, uint64_t *s)
{
    size_t n = t->n, rank = 1 + pick(s, 2 * n);
    double u = draw_unit(s), factor = chance(s, 0.7) ? 1 : power_between(s, -6, 8);
    t->psd = u < 0.5;
    t->symmetric = u < 0.85;
    word(t, t->psd ? "semi-definite" : t->symmetric ? "indefinite" : "asymmetric", 0);
    if (rank > 40)
        rank = 40;
    double *z = get(n * rank, sizeof *z);
    for (size_t i = 0; i < n * rank; i++)
        z[i] = draw_normal(s);
    t->index = get(n, sizeof *t->index); /* a permutation into the first d columns */
    for (size_t i = 0; i < n; i++)
        t->index[i] = t->d > n ? t->d - 1 - i : i;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0, *to = t->x + i * t->d + t->index[j];
            for (size_t r = 0; r < rank; r++)
                sum += z[i * rank + r] * z[j * rank + r] * (!t->psd && r % 2 == 1 ? -1 : 1);
            *to = factor * sum;
            if (t->is_f32)
                *to = (double)(float)*to;
        }
    for (size_t i = 0; !t->symmetric && i < n * t->d; i++)
        t->x[i] *= 1 + 0.3 * draw_normal(s);
    for (size_t i = 0; i < t->m; i++)
        memcpy(t->test + i * t->d, t->x + pick(s, n) * t->d, t->d * sizeof(double));
    if (t->d == n && chance(s, 0.5)) {
        t->index = NULL;
    }
    t->params.precomputed_index = t->index;
}

/* What an example is worth to a rule: a linear one, noise, or the first feature. */
static void fill_labels(struct trial *t, uint64_t *s)
{
    bool is_svr = hinge_task_info(t->params.task)->regresses;
    double noise = chance(s, 0.3) ? 0 : power_between(s, -3, 1), *w = get(t->d, sizeof *w), *f = get(t->n, sizeof *f);
    double mean = 0, square = 0;
    bool one_feature = chance(s, 0.3), all_random = chance(s, 0.15);
    for (size_t c = 0; c < t->d; c++)
        w[c] = one_feature && c > 0 ? 0 : draw_normal(s);
    for (size_t i = 0; i < t->n; i++) {
        for (size_t c = 0; c < t->d; c++)
            f[i] += all_random ? 0 : w[c] * t->x[i * t->d + c];
        mean += f[i] / (double)t->n;
    }
    for (size_t i = 0; i < t->n; i++)
        square += (f[i] - mean) * (f[i] - mean) / (double)t->n;
    double deviation = square > 0 ? sqrt(square) : 1, size = chance(s, 0.6) ? 1 : power_between(s, -6, 6);
    bool one_class = chance(s, 0.02), named_oddly = chance(s, 0.4), constant = chance(s, 0.03);
    for (size_t i = 0; i < t->n; i++) {
        double v = (f[i] - mean) / deviation + (noise > 0 || all_random ? (noise + all_random) * draw_normal(s) : 0);
        int k = t->n_labels == 2 ? v <= 0 : (int)floor((v + 2) / 4 * t->n_labels);
        k = one_class || k < 0 ? 0 : k >= t->n_labels ? t->n_labels - 1 : k;
        double label = t->n_labels == 2 && !named_oddly ? 1 - 2 * k : 3 * k - 4;
        t->y[i] = is_svr ? (constant ? size : size * v) : t->integer_labels ? label : label + 0.5;
    }
    if (is_svr)
        t->params.p *= size;
}

/* Tame kernels see the data at a scale of about 1. */
static void tame_gamma(struct trial *t)
{
    double spread = 0, mean = 0;
    for (size_t i = 0; i < t->n * t->d; i++)
        mean += t->x[i] / (double)(t->n * t->d);
    for (size_t i = 0; i < t->n * t->d; i++)
        spread += (t->x[i] - mean) * (t->x[i] - mean) / (double)(t->n * t->d);
    if (strncmp(t->shape, "wild", 4) != 0 && spread > 1e-24 * mean * mean && isfinite(spread))
        t->params.kernel.gamma /= (double)t->d * spread;
}

static void fill_weights(struct trial *t, uint64_t *s)
{
    if (chance(s, 0.12)) {
        bool wild = chance(s, 0.2);
        t->weights = get(t->n, sizeof *t->weights);
        for (size_t i = 0; i < t->n; i++)
            t->weights[i] = chance(s, 0.1) ? 0 : wild ? power_between(s, -4, 3) : (double)(1 + pick(s, 8)) / 4;
        t->params.weights = t->weights;
    }
    if (t->params.task == HINGE_C_SVC && chance(s, 0.15)) {
        t->params.n_class_weights = truth_classes(t, t->class_labels);
        for (size_t k = 0; k < t->params.n_class_weights; k++)
            t->class_weights[k] = chance(s, 0.04) ? 0 : power_between(s, -2, 2);
        t->params.class_labels = t->class_labels;
        t->params.class_weights = t->class_weights;
    }
}

/* As hinge is to get them: floats or doubles, rows apart. */
static void hand_over(struct trial *t)
{
    size_t stride = t->d + t->gap;
    t->given = get(t->n * stride, t->is_f32 ? sizeof(float) : sizeof(double));
    for (size_t i = 0; i < t->n; i++)
        for (size_t c = 0; c < t->d; c++) {
            if (t->is_f32)
                t->x[i * t->d + c] = (double)(((float *)t->given)[i * stride + c] = (float)t->x[i * t->d + c]);
            else
                ((double *)t->given)[i * stride + c] = t->x[i * t->d + c];
        }
    t->matrix = (hinge_matrix){ t->given, t->is_f32 ? HINGE_F32 : HINGE_F64, t->n, t->d, stride };
}

void trial_fill(struct trial *t)
{
    uint64_t seed = ~t->number, state = draw(&seed);
    t->x = get(t->n * t->d, sizeof *t->x);
    t->y = get(t->n, sizeof *t->y);
    t->test = get(t->m * t->d, sizeof *t->test);
    if (t->params.kernel.type == HINGE_PRECOMPUTED)
        fill_precomputed(t, &state);
    else
        fill_examples(t, &state);
    hand_over(t);
    fill_labels(t, &state);
    fill_weights(t, &state);
    tame_gamma(t);
    t->params.progress_arg = t;
    t->params.kernel.cookie = &t->user;
}

/* ---- For other programs ------------------------------------------------------------------------------------------ */

void trial_dump(const struct trial *t, const char *path)
{
    static const char *const precisions[] = { "auto", "f32", "f64" }, *const solvers[] = { "auto", "smo", "ipm" };
    const hinge_params *p = &t->params;
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return;
    for (size_t i = 0; i < t->n; i++) {
        fprintf(file, "%.17g", t->y[i]);
        if (p->kernel.type == HINGE_PRECOMPUTED)
            fprintf(file, " 0:%zu", i + 1);
        for (size_t c = 0; c < t->d; c++)
            if (t->x[i * t->d + c] != 0)
                fprintf(file, " %zu:%.17g", c + 1, t->x[i * t->d + c]);
        fprintf(file, "\n");
    }
    fclose(file);
    printf("hinge train -s %d -t %d -g %.17g -r %.17g -d %d -c %.17g -n %.17g -p %.17g --tau %.17g -e %.17g "
           "--solver %s --precision %s --threads %d -h %d --newton %d --features %zu",
           (int)p->task, (int)p->kernel.type, p->kernel.gamma, p->kernel.coef0, p->kernel.degree, p->C, p->nu, p->p,
           p->tau, p->eps, solvers[p->solver], precisions[p->precision], p->threads, p->shrinking, p->newton, t->d);
    for (size_t k = 0; k < p->n_class_weights; k++)
        printf(" -w %.17g=%.17g", p->class_labels[k], p->class_weights[k]);
    printf("%s%s", p->no_bias ? " --no-bias" : "", p->multiclass == HINGE_ONE_VS_REST ? " --multiclass ovr" : "");
    if (p->max_iter > 0)
        printf(" --max-iter %llu", (unsigned long long)p->max_iter);
    if (p->working_set > 0)
        printf(" --working-set %zu", p->working_set);
    if (p->rank > 0)
        printf(" --rank %zu", p->rank);
    if (p->cache_bytes > 0)
        printf(" -m %.17gK", (double)p->cache_bytes / 1024);
    if (p->cpu_level > 0)
        printf(" --cpu-level %d", p->cpu_level);
    if (t->weights != NULL) {
        char name[512];
        snprintf(name, sizeof name, "%s.weights", path);
        if ((file = fopen(name, "w")) != NULL) {
            for (size_t i = 0; i < t->n; i++)
                fprintf(file, "%.17g\n", t->weights[i]);
            fclose(file);
        }
        printf(" --weights %s", name);
    }
    printf(" %s\n", path);
}
