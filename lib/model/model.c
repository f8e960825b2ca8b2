/*
 * The model's arrays (model.h), and what prediction derives from them once. The parts: which coefficient belongs to
 * which problem; allocation; then, in the order of hg_model_finish, shift, norms, equal vectors, and vectors for f32
 * (the sizes that bounds need are derived in doubt.c); last, what a program may set later.
 */
#include "lib/model/model.h"
#include "lib/base/columns.h"
#include "lib/base/team.h"
#include "lib/base/words.h"
#include "lib/data/params.h"

#include <hinge/scaling.h>

#include <float.h>
#include <math.h>
#include <string.h>

size_t hg_model_coef_rows(const hinge_model *model)
{
    if (!hinge_task_info(model->task)->classifies)
        return HG_MAX(model->n_targets, (size_t)1);
    return model->multiclass == HINGE_ONE_VS_REST ? model->n_classes : model->n_classes - 1;
}

/* Returns the number of the problem of two classes, first < second, of one-versus-one: pairs 0-1, 0-2, .., 1-2, .. */
static size_t pair_number(size_t k, size_t first, size_t second)
{
    return first * (2 * k - first - 1) / 2 + (second - first - 1);
}

/* Row m of class c's coefficients belongs to the pair of c and another class: class m where m < c, class m + 1
 * otherwise, as LIBSVM has it; of one-versus-rest row m is problem m. */
size_t hg_coef_problem(const hinge_model *m, size_t c, size_t row)
{
    if (!hinge_task_info(m->task)->classifies || m->multiclass == HINGE_ONE_VS_REST)
        return row;
    size_t other = row < c ? row : row + 1;
    return pair_number(m->n_classes, HG_MIN(c, other), HG_MAX(c, other));
}

size_t hg_model_groups(const hinge_model *m)
{
    return m->class_sv != NULL ? m->n_classes : 1;
}

size_t hg_model_group_sv(const hinge_model *m, size_t c)
{
    return m->class_sv != NULL ? m->class_sv[c] : m->n_sv;
}

/* Walks vector by vector, row by row within. The group (class) of a vector is found by counting: at->end is the number
 * of vectors in the groups passed so far. */
bool hg_next_coef(const hinge_model *m, struct hg_coef *at)
{
    size_t rows = hg_model_coef_rows(m);
    if (at->next == rows * m->n_sv)
        return false;
    at->sv = at->next / rows;
    at->row = at->next++ % rows;
    while (at->sv >= at->end)
        at->end += hg_model_group_sv(m, at->group++);
    at->problem = hg_coef_problem(m, at->group - 1, at->row);
    at->value = m->coef[at->row * m->n_sv + at->sv];
    return true;
}

/* Copies the parts of a combined kernel, resolved, so that the model needs no caller's. false: no memory. */
static bool own_parts(hinge_kernel *kernel)
{
    hinge_kernel_part *parts = NULL;
    if (kernel->type != HINGE_COMBINED)
        return true;
    bool ok = HG_ROOM(HG_ARRAY(parts, kernel->n_parts));
    for (size_t k = 0; ok && k < kernel->n_parts; k++)
        parts[k] = hg_kernel_part(kernel, k);
    kernel->parts = parts;
    return ok;
}

/* Resolves in place. */
hinge_status hg_model_settle_parts(hinge_model *m, const char *file, hinge_error *err)
{
    hinge_kernel_part *parts = (hinge_kernel_part *)m->kernel.parts;
    hinge_error why;
    if (m->kernel.type != HINGE_COMBINED)
        return HINGE_OK;
    if (hg_kernel_check(&m->kernel, m->d, &m->kernel, &why) != HINGE_OK)
        return hg_fail_at(err, HINGE_EFORMAT, file, 0, "%.200s", why.text);
    for (size_t k = 0; k < m->kernel.n_parts; k++)
        parts[k] = hg_kernel_part(&m->kernel, k);
    return HINGE_OK;
}

/* Makes a model's own arrays, each in a block of its own, as some are replaced later. sv is not cleared, since training
 * and files fill all of it. */
hinge_model *hg_model_new(hinge_task task, hinge_kernel kernel, hinge_multiclass multiclass, size_t n_classes,
                          size_t n_targets, size_t n_sv, size_t d, hinge_dtype type)
{
    bool classifies = hinge_task_info(task)->classifies, ok;
    hinge_model *m = hg_zalloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->task = task;
    m->kernel = kernel;
    m->d = d;
    m->n_sv = n_sv;
    m->sv_type = type;
    m->n_classes = classifies ? n_classes : 2;
    m->multiclass = classifies && n_classes > 2 ? multiclass : HINGE_ONE_VS_ONE;
    m->n_targets = n_targets;
    m->n_problems = classifies ? hg_count_problems(multiclass, n_classes) : HG_MAX(n_targets, (size_t)1);
    ok = own_parts(&m->kernel);
    if (classifies)
        ok = ok && HG_ROOM(HG_ZEROS(m->labels, n_classes)) && HG_ROOM(HG_ZEROS(m->class_sv, n_classes));
    ok = ok && HG_ROOM(HG_ZEROS(m->rho, m->n_problems)) && HG_ROOM(HG_ZEROS(m->coef, hg_model_coef_rows(m) * n_sv));
    ok = ok && (kernel.type == HINGE_PRECOMPUTED ? HG_ROOM(HG_ZEROS(m->sv_serial, n_sv))
                                                 : HG_ROOM({ &m->sv, n_sv, d, hg_size_of(type), false }));
    if (ok)
        return m;
    hinge_model_free(m);
    return NULL;
}

/* Clears the derived part without freeing it, for a copy whose original still owns it. */
static void forget_derived(hinge_model *m)
{
    size_t first = offsetof(struct hinge_model, merged); /* all behind it is derived */
    memset((char *)m + first, 0, sizeof *m - first);
}

/* Frees what hg_model_finish has made; norms32 stands in the block of norms. */
static void free_derived(hinge_model *m)
{
    void *all[] = { m->shift, m->sv32, m->panels, m->norms, m->coef32, m->weights, m->coef_sum, m->seen };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hg_free(all[i]);
    hg_equal_table_free(&m->equal);
    hg_integers_free(&m->integers);
    hinge_model_free(m->merged);
    forget_derived(m);
}

void hinge_model_free(hinge_model *m)
{
    if (m == NULL)
        return;
    void *all[] = { m->labels,       m->class_sv,     m->rho,        m->objectives, m->coef,          m->sv,
                    m->sv_serial,    m->sv_index,     m->prob_a,     m->prob_b,     m->density_marks, m->scale_factor,
                    m->scale_offset, m->scale_origin, m->scale_base, m->training,   m->columns };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hg_free(all[i]);
    if (m->kernel.type == HINGE_COMBINED)
        hg_free((void *)m->kernel.parts);
    hg_words_free(&m->words);
    hg_words_free(&m->names);
    hg_words_free(&m->target);
    free_derived(m);
    hg_free(m);
}

/* ---- the derived part -------------------------------------------------------------------------------------------- */

struct hg_points hg_model_points(const hinge_model *m, hinge_dtype type)
{
    if (type == HINGE_F32 && m->sv32 != NULL)
        return (struct hg_points){ .x = { m->sv32, HINGE_F32, m->n_sv, m->d, m->d }, .n = m->n_sv };
    return (struct hg_points){ .x = { m->sv, m->sv_type, m->n_sv, m->d, m->d },
                               .shift = m->shift,
                               .n = m->n_sv,
                               .integers = m->integers.grid.most > 0 ? &m->integers : NULL };
}

const void *hg_model_norms(const hinge_model *m, hinge_dtype type)
{
    return type == HINGE_F32 ? (const void *)m->norms32 : (const void *)m->norms;
}

/* Takes the means of the SVs off under the rule by which training takes off those of the data (hg_points_centre):
 * kernels of the distance are the same for shifted vectors, and norms lose fewer digits. false: no memory. */
static bool choose_shift(hinge_model *m, int threads)
{
    if (!hg_kernel_row(m->kernel.type)->of_distance || m->n_sv == 0)
        return true;
    bool wanted;
    struct hg_points points = hg_model_points(m, HINGE_F64);
    m->shift = hg_points_centre(&points, threads, &wanted);
    return m->shift != NULL || !wanted;
}

/* ---- equal examples ---------------------------------------------------------------------------------------------- */

/* Hashes the bits of a norm by a multiplication (Fibonacci hashing); seen_slots is a power of 2. */
size_t hg_model_seen(const hinge_model *m, double norm)
{
    uint64_t bits;
    memcpy(&bits, &norm, sizeof bits);
    return (size_t)(bits * 0x9e3779b97f4a7c15 >> 32) & (m->seen_slots - 1);
}

/* Makes the table by which an example that equals a support vector gets exactly 1 as its kernel value, as in training.
 * `seen` has 1 for each norm of an SV, in f64 and in f32: most examples are known not to be equal to any by their norm
 * alone. At least 16 slots a vector keep chance hits few. Other kernels need the table for merging alone. */
static bool derive_equal(hinge_model *m, int threads)
{
    struct hg_points points = hg_model_points(m, HINGE_F64);
    const struct hg_kernel_row *row = hg_kernel_row(m->kernel.type);
    if (row->source != HG_FROM_DOTS || m->kernel.type == HINGE_LINEAR)
        return true;
    if (hg_equal_table_init(&m->equal, &points, threads, NULL) != HINGE_OK)
        return false;
    if (!row->of_distance)
        return true;
    for (m->seen_slots = 64; m->seen_slots < 16 * m->n_sv; m->seen_slots *= 2)
        ;
    m->seen = hg_zalloc(m->seen_slots, 1);
    for (size_t i = 0; m->seen != NULL && i < m->n_sv; i++)
        m->seen[hg_model_seen(m, m->norms[i])] = m->seen[hg_model_seen(m, m->norms32[i])] = 1;
    return m->seen != NULL;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* Takes panels also where GEMM would be as fast or a little faster, but the model is small: examples come one by one
 * then, and GEMM packs all SVs anew for each. */
static bool wants_panels(hinge_model *m, hinge_dtype type)
{
    int level = hg_cpu_level(0);
    m->dense = hg_lists_are_dense(m->nonzeros, m->d);
    if (m->n_sv < hg_panel_cols(type) / 4) /* panels would be mostly empty */
        return false;
    return hg_lists_win(m->nonzeros, m->d, type, level) || (hg_model_is_small(m) && m->d <= HG_STRETCH && level >= 3);
}

struct derivation { /* of support vectors in another layout */
    const struct hg_points *sv;
    hinge_dtype type;
    char *to, *rows; /* rows: of each thread, for one panel's */
    size_t ld;
};

/* Packs panels of SVs [first, end). */
static void pack_panels(void *arg, int thread, size_t first, size_t end)
{
    const struct derivation *t = arg;
    size_t size = hg_size_of(t->type), width = hg_panel_cols(t->type);
    for (size_t i = first; i < end; i += width)
        hg_points_panels(t->sv, NULL, i, HG_MIN(width, end - i), t->type, t->to + i * t->sv->x.cols * size,
                         t->rows + (size_t)thread * width * t->ld * size, t->ld);
}

static void pack_rows(void *arg, int thread, size_t first, size_t end)
{
    const struct derivation *t = arg;
    (void)thread;
    for (size_t i = first; i < end; i++)
        hg_points_pack(t->sv, NULL, i, 1, t->type, t->to + i * t->ld * hg_size_of(t->type), t->ld);
}

struct integer_panels {
    const struct hg_tiler *tiler;
    const struct hg_points *sv;
    char *to;
    size_t bytes; /* of a panel */
};

/* Lays out panels of SVs [first, end) as whole numbers. */
static void pack_integers(void *arg, int thread, size_t first, size_t end)
{
    const struct integer_panels *p = arg;
    struct hg_right right = { .count = end - first, .origin = { p->sv, NULL, first } };
    (void)thread;
    hg_by_integers.set_right(p->tiler, &right, p->to + first / HG_INTEGER_COLS * p->bytes, NULL);
}

/* Looks whether the SVs are whole numbers, and lays them out as panels of these, which are those of bits too. false: no
 * memory. */
static bool derive_integers(hinge_model *m, const struct hg_points *sv, int threads)
{
    int level = hg_cpu_level(0);
    if (m->n_sv < HG_INTEGER_COLS / 4)
        return true;
    if (hg_integers_init(&m->integers, sv, false, level, threads, NULL) != HINGE_OK)
        return false;
    if (!hg_integers_win(&m->kernel, &m->integers, m->nonzeros, HINGE_F32, level)) {
        hg_integers_free(&m->integers);
        return true;
    }
    struct hg_points points = hg_model_points(m, HINGE_F64);
    struct hg_tiler tiler = { m->kernel, hg_maps(level), HINGE_F64, m->d, .maker = &hg_by_integers };
    struct integer_panels pass = { &tiler, &points, NULL, hg_by_integers.right_bytes(&tiler, &points, 1) };
    m->panels = pass.to = hg_alloc((m->n_sv + HG_INTEGER_COLS - 1) / HG_INTEGER_COLS, pass.bytes);
    if (m->panels != NULL)
        hg_share(threads, m->n_sv, 8 * HG_INTEGER_COLS, pack_integers, &pass);
    return m->panels != NULL;
}

/* Lays the SVs out as panels (kernels/panel.h), in the type that prediction begins with; each thread packs its own
 * panels through rows of work space. false: no memory. */
static bool derive_panels(hinge_model *m, const struct hg_points *sv, int threads)
{
    hinge_dtype type = m->f32_is_enough ? HINGE_F32 : HINGE_F64;
    size_t ld = HG_MAX(m->d, (size_t)1), size = hg_size_of(type), width = hg_panel_cols(type);
    m->lists = wants_panels(m, type);
    if (!derive_integers(m, sv, threads))
        return false;
    if (!m->lists || m->panels != NULL)
        return true;
    char *rows = hg_alloc((size_t)threads * width * ld, size);
    char *panels = m->panels = hg_alloc(hg_panels_size(m->n_sv, m->d, type), size);
    struct derivation pass = { sv, type, panels, rows, ld };
    hg_share(threads, rows != NULL && panels != NULL ? m->n_sv : 0, 4 * width, pack_panels, &pass);
    hg_free(rows);
    return rows != NULL && panels != NULL;
}

/* Measures the shifted SVs: norms, in f64 and as rounded to f32, which kernels of the distance keep, and how many of
 * their values are not 0. */
static bool measure(hinge_model *m, int threads)
{
    struct hg_points points = hg_model_points(m, HINGE_F64);
    if (hg_kernel_row(m->kernel.type)->of_distance &&
        !HG_ROOM(HG_ARRAY(m->norms, m->n_sv), HG_ARRAY(m->norms32, m->n_sv)))
        return false;
    struct hg_survey survey = { .norms = m->norms, .norms32 = m->norms32 };
    if (m->sv != NULL)
        hg_points_survey(&points, &survey, threads);
    m->largest_norm = m->kernel.type == HINGE_USER ? 0 : survey.largest;
    m->nonzeros = survey.nonzeros;
    m->most_nonzeros = survey.most_nonzeros;
    return true;
}

/* Makes what predictions in f32 need: support vectors as panels or plain rows, and coefficients. */
static bool derive_f32(hinge_model *m, int threads)
{
    if (!hg_model_choose_f32(m))
        return false;
    enum hg_kernel_source source = hg_kernel_row(m->kernel.type)->source;
    bool dots = source == HG_FROM_DOTS && m->kernel.type != HINGE_LINEAR, differences = source == HG_FROM_DIFFERENCES;
    size_t coefs = hg_model_coef_rows(m) * m->n_sv;
    struct hg_points f64 = hg_model_points(m, HINGE_F64);
    if ((dots && !derive_panels(m, &f64, threads)) || (differences && !derive_integers(m, &f64, threads)))
        return false;
    if (m->f32_is_enough && m->panels == NULL) {
        float *sv32 = hg_alloc(m->n_sv * m->d, sizeof *sv32);
        if (sv32 == NULL)
            return false;
        struct derivation pass = { .sv = &f64, .type = HINGE_F32, .to = (char *)sv32, .ld = m->d };
        hg_share(threads, m->n_sv, 256, pack_rows, &pass);
        m->sv32 = sv32;
    }
    if (m->f32_is_enough && (m->coef32 = hg_alloc(2 * coefs, sizeof *m->coef32)) != NULL)
        hg_model_coef32(m, NULL, m->coef32);
    return m->coef32 != NULL || !m->f32_is_enough;
}

/* Makes w of each problem: w = sum coef x over the SVs, in twice the working precision (hg_add_multiple) and rounded
 * once: where features are far from 0 it is little of its terms. */
static bool collapse_linear(hinge_model *m)
{
    if (m->kernel.type != HINGE_LINEAR)
        return true;
    size_t values;
    double *low = NULL, *row;
    if (!hg_mul(m->n_problems, m->d, &values) || !HG_ROOM(HG_ZEROS(m->weights, values)) ||
        !HG_ROOM(HG_ZEROS(low, values), HG_ARRAY(row, m->d)))
        return false;
    for (struct hg_coef c = { 0 }; hg_next_coef(m, &c);)
        hg_add_multiple(m->weights + c.problem * m->d, low + c.problem * m->d, c.value,
                        hg_model_vectors(m, c.sv, 1, row), m->d);
    for (size_t k = 0; k < values; k++)
        m->weights[k] += isfinite(low[k]) ? low[k] : 0;
    hg_free(low);
    return true;
}

/* Derives in the order of need: all read bytes, the shift changes norms, norms tell which vectors are equal, and a
 * model that merges has no use for the rest, since the merged one predicts. The table of equal vectors stays for RBF
 * alone. */
hinge_status hg_model_finish(hinge_model *m, int threads, hinge_error *err)
{
    threads = hg_team_size(threads, (double)m->n_sv * (double)m->d);
    bool ok = hg_model_narrow(m, threads) && choose_shift(m, threads);
    ok = ok && measure(m, threads) && derive_equal(m, threads);
    hinge_status status = ok ? hg_model_merge(m, threads, &m->merged, err) : HINGE_OK;
    if (m->merged != NULL || m->seen == NULL)
        hg_equal_table_free(&m->equal);
    if (status != HINGE_OK || m->merged != NULL)
        return status;
    if (!ok || !hg_model_derive_sizes(m) || !derive_f32(m, threads) || !collapse_linear(m))
        return hg_fail(err, HINGE_ENOMEM, "no memory for a model of %zu support vectors of %zu features", m->n_sv,
                       m->d);
    return HINGE_OK;
}

/* Takes over `changed`, a copy of *m with other SVs or scaling (which it owns), and derives the rest anew. On failure
 * *m is as it was; what either loses is freed. */
static hinge_status replace(hinge_model *m, hinge_model *changed, hinge_error *err)
{
    forget_derived(changed);
    hinge_model old = *m;
    hinge_status status = hg_model_finish(changed, 1, err);
    hinge_model *losing = status == HINGE_OK ? &old : changed, *staying = status == HINGE_OK ? changed : &old;
    free_derived(losing);
    if (losing->sv != staying->sv)
        hg_free(losing->sv);
    double *const lost[] = { losing->scale_factor, losing->scale_offset, losing->scale_origin, losing->scale_base };
    if (losing->scale_factor != staying->scale_factor)
        for (int k = 0; k < 4; k++)
            hg_free(lost[k]);
    *m = *staying;
    return status == HINGE_OK ? hg_ok(err) : status;
}

/* Gives each SV zeros for the new features. As the shift may be another then, all that is derived is made anew. */
hinge_status hinge_model_widen(hinge_model *m, size_t n_features, hinge_error *err)
{
    HG_NEED(err, m, "model");
    if (n_features < m->d)
        return hg_fail(err, HINGE_EINVAL, "n_features: %zu, but the model has %zu already", n_features, m->d);
    if (n_features == m->d || m->sv == NULL)
        return hg_ok(err);
    if (m->scale_factor != NULL)
        return hg_fail(err, HINGE_EINVAL, "model: it scales %zu features; how others are scaled is not known", m->d);
    hinge_model wide = *m;
    char *sv;
    size_t size = hg_size_of(m->sv_type);
    HG_TRY(HG_MAKE(err, "wider support vectors", { &sv, m->n_sv, n_features, size, false }));
    memset(sv, 0, m->n_sv * n_features * size);
    for (size_t i = 0; i < m->n_sv; i++)
        memcpy(sv + i * n_features * size, (const char *)m->sv + i * m->d * size, m->d * size);
    wide.sv = sv;
    wide.d = n_features;
    return replace(m, &wide, err);
}

/* Notes which columns of files the features are: text that has others as well is then read by these alone. */
hinge_status hinge_model_set_columns(hinge_model *m, const size_t *columns, size_t n, hinge_error *err)
{
    HG_NEED(err, m, "model");
    if (m->sv == NULL || m->scale_factor != NULL || n != m->d)
        return hg_fail(err, HINGE_EINVAL, "columns: %zu of a model with %zu features%s", n, m->d,
                       m->sv == NULL             ? ", of a precomputed kernel"
                       : m->scale_factor != NULL ? ", which it scales"
                                                 : "");
    HG_TRY(hg_columns_check(columns, n, err));
    size_t *copy;
    HG_TRY(HG_MAKE(err, "the columns of files", HG_ARRAY(copy, n)));
    memcpy(copy, columns, n * sizeof *copy);
    hg_free(m->columns);
    m->columns = copy;
    m->n_columns = n;
    return hg_ok(err);
}

const size_t *hinge_model_columns(const hinge_model *m, size_t *n)
{
    *n = m != NULL ? m->n_columns : 0;
    return m != NULL ? m->columns : NULL;
}

/* Copies the words that labels stand for, and checks that each label has one; NULL or none takes them away. */
hinge_status hinge_model_set_words(hinge_model *m, const hinge_words *words, hinge_error *err)
{
    hinge_words copy = { 0 };
    HG_NEED(err, m, "model");
    if (words != NULL && words->count > 0) {
        if (m->labels == NULL)
            return hg_fail(err, HINGE_EINVAL, "words: the model has no classes that they could name");
        for (size_t k = 0; k < m->n_classes; k++)
            if (hinge_word(words, m->labels[k], NULL) == NULL)
                return hg_fail(err, HINGE_EINVAL, "words: there are %zu, and the label %g has none", words->count,
                               m->labels[k]);
        HG_TRY(hg_words_collect(words, NULL, 0, &copy, NULL, err));
    }
    hg_words_free(&m->words);
    m->words = copy;
    return hg_ok(err);
}

const hinge_words *hinge_model_words(const hinge_model *m)
{
    return m != NULL && m->words.count > 0 ? &m->words : NULL;
}

/* Copies both; words are unique and hold no control character, as hg_words_collect checks. */
hinge_status hinge_model_set_names(hinge_model *m, const hinge_words *names, const char *target, hinge_error *err)
{
    hinge_words none = { 0 }, copy, copy_of_target;
    HG_NEED(err, m, "model");
    names = names == NULL ? &none : names;
    if (names->count > m->d)
        return hg_fail(err, HINGE_EINVAL, "names: %zu, and the model has %zu features", names->count, m->d);
    HG_TRY(hg_words_collect(names, NULL, 0, &copy, NULL, err));
    hinge_status status =
        hg_words_collect(&(hinge_words){ target != NULL, &target }, NULL, 0, &copy_of_target, NULL, err);
    if (status != HINGE_OK) {
        hg_words_free(&copy);
        return status;
    }
    hg_words_free(&m->names);
    hg_words_free(&m->target);
    m->names = copy;
    m->target = copy_of_target;
    return hg_ok(err);
}

const hinge_words *hinge_model_names(const hinge_model *m)
{
    return m != NULL && m->names.count > 0 ? &m->names : NULL;
}

const char *hinge_model_target(const hinge_model *m)
{
    return m != NULL && m->target.count > 0 ? m->target.word[0] : NULL;
}

/* Checks that the map is finite, and derives anew, since shift and norms are those of scaled features. */
hinge_status hg_model_set_scaling(hinge_model *m, const double *const part[4], hinge_error *err)
{
    bool scales = part[0] != NULL && part[1] != NULL;
    hinge_status status = HINGE_OK;
    HG_NEED(err, m, "model");
    if (m->sv == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: the values of a precomputed kernel cannot be scaled");
    if (m->columns != NULL)
        return hg_fail(err, HINGE_EINVAL, "model: it knows some columns of its examples only, which are not scaled");
    for (size_t c = 0; scales && c < m->d; c++)
        if (!isfinite(part[0][c]) || !isfinite(part[1][c]))
            return hg_fail(err, HINGE_EINVAL, "scaling: x * %g + %g of feature %zu is not finite", part[0][c],
                           part[1][c], c);
    hinge_model scaled = *m;
    double **const to[] = { &scaled.scale_factor, &scaled.scale_offset, &scaled.scale_origin, &scaled.scale_base };
    for (int k = 0; k < 4; k++) {
        *to[k] = NULL;
        if (scales && part[k] != NULL)
            HG_THEN(status, HG_MAKE(err, "the scaling of features", HG_ARRAY(*to[k], m->d)));
        if (*to[k] != NULL)
            memcpy(*to[k], part[k], m->d * sizeof *part[k]);
    }
    if (status == HINGE_OK)
        return replace(m, &scaled, err);
    for (int k = 0; k < 4; k++)
        hg_free(*to[k]);
    return status;
}

hinge_status hinge_model_set_scaling(hinge_model *m, const double *factor, const double *offset, hinge_error *err)
{
    if ((factor == NULL) != (offset == NULL))
        return hg_fail(err, HINGE_EINVAL, "%s: NULL, and the other is not", factor == NULL ? "factor" : "offset");
    return hg_model_set_scaling(m, (const double *const[4]){ factor, offset }, err);
}
