#include "lib/model.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static bool is_classifier(hinge_task task)
{
    return task == HINGE_C_SVC || task == HINGE_NU_SVC;
}

size_t hg_model_coef_rows(const hinge_model *model)
{
    if (!is_classifier(model->task))
        return 1;
    return model->multiclass == HINGE_ONE_VS_REST ? model->n_classes : model->n_classes - 1;
}

size_t hg_coef_problem(const hinge_model *m, size_t c, size_t row)
{
    if (!is_classifier(m->task))
        return 0;
    if (m->multiclass == HINGE_ONE_VS_REST)
        return row;
    size_t other = row < c ? row : row + 1;
    return hg_pair_number(m->n_classes, HG_MIN(c, other), HG_MAX(c, other));
}

size_t hg_model_groups(const hinge_model *m)
{
    return m->class_sv != NULL ? m->n_classes : 1;
}

size_t hg_model_group_sv(const hinge_model *m, size_t c)
{
    return m->class_sv != NULL ? m->class_sv[c] : m->n_sv;
}

size_t hg_pair_number(size_t k, size_t first, size_t second)
{
    return first * (2 * k - first - 1) / 2 + (second - first - 1);
}

hinge_model *hg_model_new(hinge_task task, hinge_kernel kernel, hinge_multiclass multiclass, size_t n_classes,
                          size_t n_sv, size_t d)
{
    hinge_model *m = hg_zalloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    size_t values = 0, coefs = 0;
    m->task = task;
    m->kernel = kernel;
    m->d = d;
    m->n_sv = n_sv;
    m->n_classes = is_classifier(task) ? n_classes : 2;
    m->multiclass = is_classifier(task) && n_classes > 2 ? multiclass : HINGE_ONE_VS_ONE;
    m->n_problems = !is_classifier(task)                 ? 1
                    : m->multiclass == HINGE_ONE_VS_REST ? n_classes
                                                         : n_classes * (n_classes - 1) / 2;
    bool ok = hg_mul(n_sv, d, &values) && hg_mul(hg_model_coef_rows(m), n_sv, &coefs);
    m->rho = hg_zalloc(m->n_problems, sizeof *m->rho);
    m->coef = ok ? hg_zalloc(coefs, sizeof *m->coef) : NULL;
    ok = m->rho != NULL && m->coef != NULL;
    if (is_classifier(task)) {
        m->labels = hg_zalloc(n_classes, sizeof *m->labels);
        m->class_sv = hg_zalloc(n_classes, sizeof *m->class_sv);
        ok = ok && m->labels != NULL && m->class_sv != NULL;
    }
    if (kernel.type == HINGE_PRECOMPUTED)
        ok = ok && (m->sv_serial = hg_zalloc(n_sv, sizeof *m->sv_serial)) != NULL;
    else
        ok = ok && (m->sv = hg_zalloc(values, sizeof *m->sv)) != NULL;
    if (ok)
        return m;
    hinge_model_free(m);
    return NULL;
}

static void free_derived(hinge_model *m)
{
    void *all[] = { m->shift, m->x_shift, m->sv32, m->panels, m->norms, m->norms32, m->coef32, m->weights };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hg_free(all[i]);
    m->shift = m->x_shift = m->norms = m->weights = NULL;
    m->sv32 = m->norms32 = m->coef32 = NULL;
    m->panels = NULL;
}

void hinge_model_free(hinge_model *m)
{
    if (m == NULL)
        return;
    void *all[] = { m->labels,      m->class_sv, m->rho,    m->objectives, m->coef,          m->sv,
                    m->sv_serial,   m->sv_index, m->prob_a, m->prob_b,     m->density_marks, m->scale_factor,
                    m->scale_offset, m->training, m->columns };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hg_free(all[i]);
    free_derived(m);
    hg_free(m);
}

/* ---- the derived part -------------------------------------------------------------------------------------------- */

struct hg_points hg_model_points(const hinge_model *m, hinge_dtype type)
{
    if (type == HINGE_F32 && m->sv32 != NULL)
        return (struct hg_points){ .x = { m->sv32, HINGE_F32, m->n_sv, m->d, m->d }, .n = m->n_sv };
    return (struct hg_points){ .x = { m->sv, HINGE_F64, m->n_sv, m->d, m->d }, .shift = m->shift, .n = m->n_sv };
}

const void *hg_model_norms(const hinge_model *m, hinge_dtype type)
{
    return type == HINGE_F32 ? (const void *)m->norms32 : (const void *)m->norms;
}

/* The means of the SVs are taken off under the rule by which training takes off those of the data. */
static bool choose_shift(hinge_model *m)
{
    if (!hg_kernel_row(m->kernel.type)->translation_invariant || m->n_sv == 0)
        return true;
    bool wanted;
    struct hg_points points = hg_model_points(m, HINGE_F64);
    points.nonzeros = hg_points_nonzeros(&points, 1);
    m->shift = hg_points_centre(&points, 1, &wanted);
    return m->shift != NULL || !wanted;
}

/* *difference = max |K in f32 - K in f64| over a sample of pairs of SVs; false: no memory. */
static bool f32_difference(const hinge_model *m, double *difference)
{
    enum { ROWS = 32, COLS = 64 };
    const struct hg_maps *maps = hg_maps(hg_cpu_level(0));
    enum hg_map_kind kind = hg_kernel_row(m->kernel.type)->map;
    struct hg_map_args args = { m->kernel.gamma, m->kernel.coef0, m->kernel.degree };
    struct hg_points points = hg_model_points(m, HINGE_F64);
    float *row = hg_alloc(2 * m->d + 1, sizeof *row), *col = row + m->d;
    double *x = hg_alloc(2 * m->d + 1, sizeof *x), *z = x + m->d, largest = 0;
    for (size_t r = 0; row != NULL && x != NULL && r < HG_MIN(m->n_sv, (size_t)ROWS); r++) {
        size_t i = r * m->n_sv / HG_MIN(m->n_sv, (size_t)ROWS);
        hg_points_pack(&points, NULL, i, 1, HINGE_F32, row, m->d);
        hg_points_pack(&points, NULL, i, 1, HINGE_F64, x, m->d);
        float norms32[2] = { (float)hg_points_norm(&points, i, HINGE_F32), 0 };
        for (size_t c = 0; c < HG_MIN(m->n_sv, (size_t)COLS); c++) {
            size_t j = (i + 1 + c * c) % m->n_sv;
            hg_points_pack(&points, NULL, j, 1, HINGE_F32, col, m->d);
            hg_points_pack(&points, NULL, j, 1, HINGE_F64, z, m->d);
            float dot32 = 0;
            double dot = 0, norms[2] = { 0, 0 };
            for (size_t k = 0; k < m->d; k++) {
                dot32 += row[k] * col[k];
                dot += x[k] * z[k];
                norms[0] += x[k] * x[k], norms[1] += z[k] * z[k];
            }
            norms32[1] = (float)hg_points_norm(&points, j, HINGE_F32);
            maps->f32[kind](&args, 1, &dot32, &dot32, norms32[0], norms32 + 1);
            double error = fabs((double)dot32 - hg_kernel_value(&m->kernel, dot, norms[0], norms[1]));
            largest = isnan(error) ? INFINITY : fmax(largest, error);
        }
    }
    bool measured = row != NULL && x != NULL;
    hg_free(row);
    hg_free(x);
    *difference = HG_MAX(largest, 0x1p-25);
    return measured;
}

/* The error that f32 kernel values leave in a decision value, about ||coef||_2 max|dK| / 10 (measured for RBF); twice
 * that, as the largest difference is a sample's. */
static bool f32_error(const hinge_model *m, double *error)
{
    double square = 0, difference;
    if (!f32_difference(m, &difference))
        return false;
    for (size_t r = 0; r < hg_model_coef_rows(m); r++) {
        double sum = 0;
        for (size_t i = 0; i < m->n_sv; i++)
            sum += m->coef[r * m->n_sv + i] * m->coef[r * m->n_sv + i];
        square = fmax(square, sum);
    }
    *error = sqrt(square) * difference / 5;
    return true;
}

static bool is_small(const hinge_model *m)
{
    return m->n_sv * m->d <= 65536;
}

/* Small models predict in f64 (it costs nothing), large ones in f32 where that leaves 1e-4 in a decision value.
 */
static bool choose_f32(hinge_model *m)
{
    const struct hg_kernel_row *row = hg_kernel_row(m->kernel.type);
    m->f32_is_enough = false;
    m->beyond_f32 = hg_kernel_beyond_f32(&m->kernel, m->n_sv, m->norms);
    if (m->beyond_f32 || row->source != HG_FROM_DOTS || row->map == HG_MAP_LINEAR || is_small(m))
        return true;
    double scale = 1, error;
    for (size_t p = 0; p < m->n_problems; p++)
        scale = fmax(scale, fabs(m->rho[p]));
    if (!f32_error(m, &error))
        return false;
    m->f32_is_enough = error <= 1e-4 * scale;
    return true;
}

/* Also where GEMM would be as fast or a little faster, but the model is small: examples come one by one then, and GEMM
 * packs all SVs anew for each. */
static bool wants_panels(const hinge_model *m, const struct hg_points *sv, hinge_dtype type)
{
    int level = hg_cpu_level(0);
    if (m->n_sv < hg_panel_cols(type) / 4) /* panels would be mostly empty */
        return false;
    return hg_lists_win(hg_points_nonzeros(sv, 1), m->d, type, level) ||
           (is_small(m) && m->d <= HG_STRETCH && level >= 3);
}

static bool derive_panels(hinge_model *m, const struct hg_points *sv)
{
    hinge_dtype type = m->f32_is_enough ? HINGE_F32 : HINGE_F64;
    size_t ld = HG_MAX(m->d, (size_t)1), size = hg_size_of(type);
    if (!wants_panels(m, sv, type))
        return true;
    void *rows = hg_alloc(hg_panel_cols(type) * ld, size);
    m->panels = hg_alloc(hg_panels_size(m->n_sv, m->d, type), size);
    if (rows != NULL && m->panels != NULL)
        hg_points_panels(sv, NULL, 0, m->n_sv, type, m->panels, rows, ld);
    hg_free(rows);
    return rows != NULL && m->panels != NULL;
}

static bool derive_norms(hinge_model *m)
{
    if (!hg_kernel_row(m->kernel.type)->needs_norms)
        return true;
    struct hg_points f64 = hg_model_points(m, HINGE_F64);
    m->norms = hg_alloc(m->n_sv, sizeof *m->norms);
    m->norms32 = hg_alloc(m->n_sv, sizeof *m->norms32);
    if (m->norms == NULL || m->norms32 == NULL)
        return false;
    hg_points_norms(&f64, HINGE_F64, m->norms, 1);
    hg_points_norms(&f64, HINGE_F32, m->norms32, 1);
    return true;
}

static bool derive_f32(hinge_model *m)
{
    if (!choose_f32(m))
        return false;
    bool dots = hg_kernel_row(m->kernel.type)->source == HG_FROM_DOTS;
    size_t coefs = hg_model_coef_rows(m) * m->n_sv;
    struct hg_points f64 = hg_model_points(m, HINGE_F64);
    if (dots && m->kernel.type != HINGE_LINEAR && !derive_panels(m, &f64))
        return false;
    if (m->f32_is_enough && m->panels == NULL) {
        float *sv32 = hg_alloc(m->n_sv * m->d, sizeof *sv32);
        if (sv32 == NULL)
            return false;
        hg_points_pack(&f64, NULL, 0, m->n_sv, HINGE_F32, sv32, m->d);
        m->sv32 = sv32;
    }
    if (m->f32_is_enough) {
        m->coef32 = hg_alloc(coefs, sizeof *m->coef32);
        if (m->coef32 == NULL)
            return false;
        for (size_t i = 0; i < coefs; i++)
            m->coef32[i] = (float)m->coef[i];
    }
    return true;
}

/* w of each problem: sum coef x over the SVs. */
static bool collapse_linear(hinge_model *m)
{
    if (m->kernel.type != HINGE_LINEAR)
        return true;
    size_t rows = hg_model_coef_rows(m), values, sv = 0;
    if (!hg_mul(m->n_problems, m->d, &values) || (m->weights = hg_zalloc(values, sizeof *m->weights)) == NULL)
        return false;
    for (size_t c = 0; c < hg_model_groups(m); c++)
        for (size_t end = sv + hg_model_group_sv(m, c); sv < end; sv++)
            for (size_t row = 0; row < rows; row++) {
                double coef = m->coef[row * m->n_sv + sv], *w = m->weights + hg_coef_problem(m, c, row) * m->d;
                for (size_t k = 0; coef != 0 && k < m->d; k++)
                    w[k] += coef * m->sv[sv * m->d + k];
            }
    return true;
}

/* What is taken off examples times scale_factor: (x * factor + offset) - shift. */
static bool derive_x_shift(hinge_model *m)
{
    if (m->shift == NULL && m->scale_offset == NULL)
        return true;
    m->x_shift = hg_zalloc(m->d, sizeof *m->x_shift);
    for (size_t c = 0; m->x_shift != NULL && c < m->d; c++)
        m->x_shift[c] =
            (m->shift != NULL ? m->shift[c] : 0) - (m->scale_offset != NULL ? m->scale_offset[c] : 0);
    return m->x_shift != NULL;
}

hinge_status hg_model_finish(hinge_model *m, hinge_error *err)
{
    if (!choose_shift(m) || !derive_x_shift(m) || !derive_norms(m) || !derive_f32(m) || !collapse_linear(m))
        return hg_fail(err, HINGE_ENOMEM, "no memory for a model of %zu support vectors of %zu features",
                       m->n_sv, m->d);
    return HINGE_OK;
}

/* Takes over `changed`, a copy of *m with other SVs or scaling (which it owns), and derives the rest anew. On failure
 * *m is as it was; what either loses is freed. */
static hinge_status replace(hinge_model *m, hinge_model *changed, hinge_error *err)
{
    changed->shift = changed->x_shift = changed->norms = changed->weights = NULL;
    changed->sv32 = changed->norms32 = changed->coef32 = NULL;
    changed->panels = NULL;
    hinge_model old = *m;
    hinge_status status = hg_model_finish(changed, err);
    hinge_model *losing = status == HINGE_OK ? &old : changed, *staying = status == HINGE_OK ? changed : &old;
    free_derived(losing);
    if (losing->sv != staying->sv)
        hg_free(losing->sv);
    if (losing->scale_factor != staying->scale_factor)
        hg_free(losing->scale_factor);
    if (losing->scale_offset != staying->scale_offset)
        hg_free(losing->scale_offset);
    *m = *staying;
    return status == HINGE_OK ? hg_ok(err) : status;
}

hinge_status hinge_model_widen(hinge_model *m, size_t n_features, hinge_error *err)
{
    size_t values;
    if (n_features < m->d)
        return hg_fail(err, HINGE_EINVAL, "n_features: %zu, but the model has %zu already", n_features, m->d);
    if (n_features == m->d || m->sv == NULL)
        return hg_ok(err);
    if (m->scale_factor != NULL)
        return hg_fail(err, HINGE_EINVAL, "model: it scales %zu features; how others are scaled is not known",
                       m->d);
    hinge_model wide = *m;
    wide.sv = hg_mul(m->n_sv, n_features, &values) ? hg_zalloc(values, sizeof *wide.sv) : NULL;
    if (wide.sv == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu support vectors of %zu features", m->n_sv,
                       n_features);
    for (size_t i = 0; i < m->n_sv; i++)
        memcpy(wide.sv + i * n_features, m->sv + i * m->d, m->d * sizeof *wide.sv);
    wide.d = n_features;
    return replace(m, &wide, err);
}

hinge_status hinge_model_set_columns(hinge_model *m, const size_t *columns, size_t n, hinge_error *err)
{
    if (m->sv == NULL || m->scale_factor != NULL || n != m->d)
        return hg_fail(err, HINGE_EINVAL, "columns: %zu of a model with %zu features%s", n, m->d,
                       m->sv == NULL              ? ", of a precomputed kernel"
                       : m->scale_factor != NULL ? ", which it scales"
                                                  : "");
    for (size_t k = 0; k < n; k++)
        if (columns[k] <= (k == 0 ? 0 : columns[k - 1]) || columns[k] > INT_MAX)
            return hg_fail(err, HINGE_EINVAL, "columns[%zu]: %zu, where they ascend from 1 to %d at most", k,
                           columns[k], INT_MAX);
    size_t *copy = hg_alloc(n, sizeof *copy);
    if (copy == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu columns", n);
    memcpy(copy, columns, n * sizeof *copy);
    hg_free(m->columns);
    m->columns = copy;
    m->n_columns = n;
    return hg_ok(err);
}

const size_t *hinge_model_columns(const hinge_model *m, size_t *n)
{
    *n = m->n_columns;
    return m->columns;
}

hinge_status hinge_model_set_scaling(hinge_model *m, const double *factor, const double *offset,
                                     hinge_error *err)
{
    if (m->sv == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: the values of a precomputed kernel cannot be scaled");
    if (m->columns != NULL)
        return hg_fail(err, HINGE_EINVAL, "model: it knows some columns of its examples only, which are not scaled");
    for (size_t c = 0; factor != NULL && offset != NULL && c < m->d; c++)
        if (!isfinite(factor[c]) || !isfinite(offset[c]))
            return hg_fail(err, HINGE_EINVAL, "scaling: x * %g + %g of feature %zu is not finite", factor[c],
                           offset[c], c);
    double *f = NULL, *o = NULL;
    hinge_model scaled = *m;
    if (factor != NULL && offset != NULL) {
        f = hg_alloc(m->d, sizeof *f);
        o = hg_alloc(m->d, sizeof *o);
        if (f == NULL || o == NULL) {
            hg_free(f);
            hg_free(o);
            return hg_fail(err, HINGE_ENOMEM, "no memory for the scaling of %zu features", m->d);
        }
        memcpy(f, factor, m->d * sizeof *f);
        memcpy(o, offset, m->d * sizeof *o);
    }
    scaled.scale_factor = f;
    scaled.scale_offset = o;
    return replace(m, &scaled, err);
}

const double *hinge_model_scale_factor(const hinge_model *m)
{
    return m->scale_factor;
}

const double *hinge_model_scale_offset(const hinge_model *m)
{
    return m->scale_offset;
}

/* ---- how it was trained ----------------------------------------------------------------------------------------- */

/* Labels and weights of classes stand one behind the other: arrays that hinge_params can point at. The hard margin's C
 * is 0, since files hold finite numbers. */
hinge_status hinge_model_set_training(hinge_model *m, const hinge_params *p, hinge_error *err)
{
    double *t = NULL;
    size_t k = p != NULL ? p->n_class_weights : 0;
    if (p != NULL && p->task != m->task)
        return hg_fail(err, HINGE_EINVAL, "params.task: not that of the model");
    if (p != NULL && (t = hg_alloc(HG_TRAINING_FIELDS + 2 * k, sizeof *t)) == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for the parameters of a training");
    if (t != NULL) {
        t[HG_TRAINING_C] = isinf(p->C) ? 0 : p->C == 0 ? 1 : p->C;
        t[HG_TRAINING_NU] = p->nu == 0 ? 0.5 : p->nu;
        t[HG_TRAINING_P] = p->p;
        t[HG_TRAINING_EPS] = p->eps == 0 ? 1e-3 : p->eps;
        t[HG_TRAINING_NO_BIAS] = p->no_bias != 0;
        t[HG_TRAINING_WEIGHTED] = p->weights != NULL;
        for (size_t c = 0; c < k; c++) {
            t[HG_TRAINING_FIELDS + c] = p->class_labels[c];
            t[HG_TRAINING_FIELDS + k + c] = p->class_weights[c];
        }
    }
    hg_free(m->training);
    m->training = t;
    m->n_training = t != NULL ? HG_TRAINING_FIELDS + 2 * k : 0;
    return hg_ok(err);
}

int hinge_model_training(const hinge_model *m, hinge_params *p, int *weighted)
{
    const double *t = m->training;
    if (t == NULL)
        return 0;
    p->task = m->task;
    p->kernel = m->kernel;
    p->multiclass = m->multiclass;
    p->C = t[HG_TRAINING_C] == 0 ? INFINITY : t[HG_TRAINING_C];
    p->nu = t[HG_TRAINING_NU];
    p->p = t[HG_TRAINING_P];
    p->eps = t[HG_TRAINING_EPS];
    p->no_bias = t[HG_TRAINING_NO_BIAS] != 0;
    p->n_class_weights = (m->n_training - HG_TRAINING_FIELDS) / 2;
    p->class_labels = t + HG_TRAINING_FIELDS;
    p->class_weights = t + HG_TRAINING_FIELDS + p->n_class_weights;
    if (weighted != NULL)
        *weighted = t[HG_TRAINING_WEIGHTED] != 0;
    return 1;
}

/* ---- accessors --------------------------------------------------------------------------------------------------- */

hinge_task hinge_model_task(const hinge_model *m)
{
    return m->task;
}

hinge_kernel hinge_model_kernel(const hinge_model *m)
{
    return m->kernel;
}

size_t hinge_model_n_features(const hinge_model *m)
{
    return m->d;
}

hinge_multiclass hinge_model_multiclass(const hinge_model *m)
{
    return m->multiclass;
}

size_t hinge_model_n_classes(const hinge_model *m)
{
    return m->n_classes;
}

size_t hinge_model_n_problems(const hinge_model *m)
{
    return m->n_problems;
}

size_t hinge_model_n_sv(const hinge_model *m)
{
    return m->n_sv;
}

const double *hinge_model_labels(const hinge_model *m)
{
    return m->labels;
}

const size_t *hinge_model_class_sv(const hinge_model *m)
{
    return m->class_sv;
}

const double *hinge_model_rho(const hinge_model *m)
{
    return m->rho;
}

const double *hinge_model_objectives(const hinge_model *m)
{
    return m->objectives;
}

const size_t *hinge_model_sv_index(const hinge_model *m)
{
    return m->sv_index;
}

const double *hinge_model_coef(const hinge_model *m)
{
    return m->coef;
}

hinge_status hinge_model_sv(const hinge_model *m, size_t i, double *x, hinge_error *err)
{
    if (i >= m->n_sv)
        return hg_fail(err, HINGE_EINVAL, "i: there is no support vector %zu, only %zu", i, m->n_sv);
    if (m->sv == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: a precomputed kernel's support vectors have no features");
    memcpy(x, m->sv + i * m->d, m->d * sizeof *x);
    return hg_ok(err);
}

hinge_status hinge_model_weights(const hinge_model *m, size_t problem, double *w, hinge_error *err)
{
    if (m->weights == NULL && m->sv_serial == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: its kernel is %s; only linear and precomputed ones have weights",
                       hinge_kernel_keyword(m->kernel.type));
    if (problem >= m->n_problems)
        return hg_fail(err, HINGE_EINVAL, "problem: there is no problem %zu, only %zu", problem, m->n_problems);
    if (m->weights != NULL) {
        memcpy(w, m->weights + problem * m->d, m->d * sizeof *w);
        return hg_ok(err);
    }
    memset(w, 0, m->d * sizeof *w);
    size_t rows = hg_model_coef_rows(m), sv = 0;
    for (size_t c = 0; c < hg_model_groups(m); c++)
        for (size_t end = sv + hg_model_group_sv(m, c); sv < end; sv++)
            for (size_t row = 0; row < rows; row++)
                if (hg_coef_problem(m, c, row) == problem)
                    w[m->sv_serial[sv]] += m->coef[row * m->n_sv + sv];
    return hg_ok(err);
}

hinge_status hinge_model_beta(const hinge_model *m, size_t n, double *beta, hinge_error *err)
{
    if (m->sv_index == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: read from a file, its training rows are not known");
    if (n != m->n_trained)
        return hg_fail(err, HINGE_EINVAL, "n: %zu, but the model was trained on %zu rows", n, m->n_trained);
    memset(beta, 0, m->n_problems * n * sizeof *beta);
    size_t rows = hg_model_coef_rows(m), sv = 0;
    for (size_t c = 0; c < hg_model_groups(m); c++)
        for (size_t end = sv + hg_model_group_sv(m, c); sv < end; sv++)
            for (size_t row = 0; row < rows; row++)
                beta[hg_coef_problem(m, c, row) * n + m->sv_index[sv]] = m->coef[row * m->n_sv + sv];
    return hg_ok(err);
}
