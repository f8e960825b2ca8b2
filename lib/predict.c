/*
 * Prediction: blocks of examples times all distinct support vectors of all pairs. A tile of kernel values is
 * made by one GEMM and a map, and folded into the decision values of every pair by a second GEMM with the
 * coefficients of the tile's class. Linear models need only w. One example alone works on the stack.
 */
#include "lib/nearby.h"
#include "lib/params.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { STACK_BYTES = 1 << 16 }; /* a small batch needs no allocation */

struct job {
    const hinge_model *m;
    struct hg_points x; /* the examples, less the model's shift */
    struct hg_tiler tiler;
    struct hg_points sv;
    const void *sv_norms; /* in the tiler's type, or NULL */
    const void *coef;     /* in the tiler's type */
    const void *panels;   /* of the SVs, where the tiler works by lists */
    struct hg_nearby nearby;
    double *labels, *decisions;
    /* the caller's callback, and what it is told */
    const hinge_predict_options *options;
    omp_lock_t lock;
    double begin, told; /* hg_now's: of the call, and when the callback was called last */
    size_t done;        /* rows, atomic */
    int stopped;        /* atomic: it wants an end */
};

struct work { /* of one thread, for blocks of up to `rows` examples */
    size_t rows, cols, ldx;
    void *x, *norm, *dots, *sv, *part;
    struct hg_lists lists; /* of x, where the SVs are panels */
    double *decisions;
    size_t *votes;
};

static size_t columns_of(const hinge_model *m)
{
    size_t coef_rows = hg_model_coef_rows(m);
    return HG_MAX(coef_rows, (size_t)1);
}

/* Examples a block: by their number alone, so that the bits do not depend on the threads. */
static size_t block_rows(size_t rows)
{
    return rows >= 2048 ? HG_TILE_ROWS : rows >= 128 ? 32 : HG_MIN(rows, (size_t)8);
}

/* ---- decision values --------------------------------------------------------------------------------------------- */

/* decisions[r, pair] += K[r, SVs] coef[SVs, other classes]' for SVs [first, first + n) of class c, the values of
 * which begin at column `at` of the tile. */
static void fold_tile(const struct job *j, const struct work *w, size_t rows, size_t c, size_t first, size_t n,
                      size_t at)
{
    const hinge_model *m = j->m;
    size_t columns = columns_of(m), stride = m->n_problems;
    int ir = (int)rows, ic = (int)columns, in = (int)n, ld = (int)w->cols;
    const float *dots32 = (const float *)w->dots + at, *coef32 = (const float *)j->coef + first;
    const double *dots64 = (const double *)w->dots + at, *coef64 = (const double *)j->coef + first;
    if (j->tiler.type == HINGE_F32 && columns == 1)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, ir, in, 1, dots32, ld, coef32, 1, 0, w->part, 1);
    else if (j->tiler.type == HINGE_F32)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, ir, ic, in, 1, dots32, ld, coef32, (int)m->n_sv, 0,
                    w->part, ic);
    else if (columns == 1)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, ir, in, 1, dots64, ld, coef64, 1, 0, w->part, 1);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, ir, ic, in, 1, dots64, ld, coef64, (int)m->n_sv, 0,
                    w->part, ic);
    for (size_t k = 0; k < columns; k++) {
        size_t pair = hg_coef_problem(m, c, k);
        for (size_t r = 0; r < rows; r++)
            w->decisions[r * stride + pair] += j->tiler.type == HINGE_F32
                                                   ? (double)((const float *)w->part)[r * columns + k]
                                                   : ((const double *)w->part)[r * columns + k];
    }
}

static hinge_status kernel_tile(const struct job *j, const struct work *w, size_t rows, size_t first, size_t n)
{
    size_t size = hg_size_of(j->tiler.type);
    struct hg_left left = { w->ldx, w->x, j->sv_norms != NULL ? w->norm : NULL, w->lists, { 0 } };
    struct hg_right right = { n, j->m->d, NULL, NULL, { 0 } };
    if (j->sv_norms != NULL)
        right.norm = (const char *)j->sv_norms + first * size;
    if (j->tiler.lists)
        right.x = (const char *)j->panels + first * j->m->d * size;
    else
        right.x = hg_points_direct(&j->sv, NULL, first, n, j->tiler.type, &right.ld);
    if (right.x == NULL) {
        right.ld = w->ldx;
        right.x = w->sv;
        hg_points_pack(&j->sv, NULL, first, n, j->tiler.type, w->sv, right.ld);
    }
    return hg_tile_values(&j->tiler, &left, 0, rows, &right, w->dots, w->cols, NULL);
}

/* The examples as a tile's left side. */
static void load_rows(const struct job *j, const struct work *w, size_t row, size_t rows)
{
    size_t size = hg_size_of(j->tiler.type);
    struct hg_lists lists = w->lists;
    hg_points_pack(&j->x, NULL, row, rows, j->tiler.type, w->x, w->ldx);
    for (size_t r = 0; r < rows && j->tiler.lists; r++)
        hg_lists_set(&lists, r, (const char *)w->x + r * w->ldx * size, j->m->d, j->tiler.type);
    for (size_t r = 0; r < rows && j->sv_norms != NULL; r++) {
        double norm = hg_points_norm(&j->x, row + r, j->tiler.type);
        if (j->tiler.type == HINGE_F32)
            ((float *)w->norm)[r] = (float)norm;
        else
            ((double *)w->norm)[r] = norm;
    }
}

/* The next SVs from `first` on: all, or those that matter to the examples. */
static bool next_tile(const struct job *j, const struct work *w, size_t row, size_t *first, size_t *end)
{
    if (j->nearby.sv != NULL)
        return hg_nearby_next(&j->nearby, row / w->rows, w->cols, first, end);
    *end = HG_MIN(j->m->n_sv, *first + w->cols);
    return *first < j->m->n_sv;
}

static hinge_status decide_by_tiles(const struct job *j, const struct work *w, size_t row, size_t rows)
{
    const hinge_model *m = j->m;
    size_t c = 0, class_end = hg_model_group_sv(m, 0);
    load_rows(j, w, row, rows);
    for (size_t first = 0, end; next_tile(j, w, row, &first, &end); first = end) {
        hinge_status status = kernel_tile(j, w, rows, first, end - first);
        if (status != HINGE_OK)
            return status;
        for (size_t sv = first; sv < end;) {
            while (sv >= class_end)
                class_end += hg_model_group_sv(m, ++c);
            size_t n = HG_MIN(end, class_end) - sv;
            fold_tile(j, w, rows, c, sv, n, sv - first);
            sv += n;
        }
    }
    return HINGE_OK;
}

static void decide_linear(const struct job *j, const struct work *w, size_t row, size_t rows)
{
    const hinge_model *m = j->m;
    hg_points_pack(&j->x, NULL, row, rows, HINGE_F64, w->x, w->ldx);
    if (m->d > 0 && m->n_problems > 0)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)m->n_problems, (int)m->d, 1, w->x,
                    (int)w->ldx, m->weights, (int)m->d, 0, w->decisions, (int)m->n_problems);
}

static void decide_precomputed(const struct job *j, const struct work *w, size_t row, size_t rows)
{
    const hinge_model *m = j->m;
    size_t classes = hg_model_groups(m), sv = 0;
    for (size_t c = 0; c < classes; c++)
        for (size_t end = sv + hg_model_group_sv(m, c); sv < end; sv++)
            for (size_t k = 0; k < columns_of(m); k++) {
                size_t pair = hg_coef_problem(m, c, k);
                double coef = m->coef[k * m->n_sv + sv];
                for (size_t r = 0; coef != 0 && r < rows; r++)
                    w->decisions[r * m->n_problems + pair] +=
                        coef * hg_matrix_value(&j->x.x, row + r, m->sv_serial[sv]);
            }
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static double label_of(const hinge_model *m, const double *decision, size_t *votes)
{
    if (m->task == HINGE_ONE_CLASS)
        return decision[0] > 0 ? 1 : -1;
    if (m->labels == NULL)
        return decision[0];
    size_t best = 0, p = 0;
    if (m->multiclass == HINGE_ONE_VS_REST) {
        for (size_t c = 1; c < m->n_classes; c++)
            if (decision[c] > decision[best])
                best = c;
        return m->labels[best];
    }
    memset(votes, 0, m->n_classes * sizeof *votes);
    for (size_t a = 0; a < m->n_classes; a++)
        for (size_t b = a + 1; b < m->n_classes; b++, p++)
            votes[decision[p] > 0 ? a : b]++;
    for (size_t c = 1; c < m->n_classes; c++)
        if (votes[c] > votes[best])
            best = c;
    return m->labels[best];
}

static hinge_status predict_block(const struct job *j, const struct work *w, size_t row, size_t rows)
{
    const hinge_model *m = j->m;
    hinge_status status = HINGE_OK;
    memset(w->decisions, 0, rows * m->n_problems * sizeof *w->decisions);
    if (m->n_sv == 0)
        ; /* f = -rho, whatever the features */
    else if (m->sv_serial != NULL)
        decide_precomputed(j, w, row, rows);
    else if (m->weights != NULL)
        decide_linear(j, w, row, rows);
    else
        status = decide_by_tiles(j, w, row, rows);
    for (size_t r = 0; r < rows && status == HINGE_OK; r++) {
        double *decision = w->decisions + r * m->n_problems;
        for (size_t p = 0; p < m->n_problems; p++)
            decision[p] -= m->rho[p];
        size_t example = j->x.order != NULL ? j->x.order[row + r] : row + r;
        if (j->decisions != NULL)
            memcpy(j->decisions + example * m->n_problems, decision, m->n_problems * sizeof *decision);
        if (j->labels != NULL)
            j->labels[example] = label_of(m, decision, w->votes);
    }
    return status;
}

/* ---- work space -------------------------------------------------------------------------------------------------- */

/* Lays out one thread's work space at base (NULL: only measures); returns its size. */
static size_t lay_out(const struct job *j, size_t rows, char *base, struct work *w)
{
    const hinge_model *m = j->m;
    size_t size = m->weights != NULL ? sizeof(double) : hg_size_of(j->tiler.type), at = 0, dummy;
    bool packed = m->sv_serial == NULL && m->weights == NULL && !j->tiler.lists &&
                  hg_points_direct(&j->sv, NULL, 0, m->n_sv, j->tiler.type, &dummy) == NULL;
    w->rows = rows;
    w->ldx = (m->d + 15) / 16 * 16;
    w->cols = HG_MIN((size_t)HG_TILE_COLS,
                     HG_MAX((size_t)64, ((size_t)8 << 20) / (size * HG_MAX(w->ldx, (size_t)1)) / 64 * 64));
    size_t features = m->sv_serial == NULL ? w->ldx : 0, tile = m->weights == NULL ? w->cols : 0;
    w->x = hg_take(base, &at, rows * features * size);
    w->norm = hg_take(base, &at, rows * size);
    w->dots = hg_take(base, &at, rows * tile * size);
    w->sv = hg_take(base, &at, packed ? tile * features * size : 0);
    w->part = hg_take(base, &at, rows * columns_of(m) * size);
    w->decisions = hg_take(base, &at, rows * m->n_problems * sizeof(double));
    if (j->tiler.lists)
        at += hg_lists_lay_out(&w->lists, rows, m->d, j->tiler.type, base != NULL ? base + at : NULL);
    w->votes = hg_take(base, &at, m->n_classes * sizeof(size_t));
    return at;
}

/* After so many rows: tells the callback, if nobody else is telling it. */
static void tell(struct job *j, size_t rows)
{
    size_t done = __atomic_add_fetch(&j->done, rows, __ATOMIC_RELAXED);
    if (j->options->progress == NULL || !omp_test_lock(&j->lock))
        return;
    double now = hg_now();
    if (now - j->told >= 0.1 && !__atomic_load_n(&j->stopped, __ATOMIC_RELAXED)) {
        const hinge_progress p = { .n_problems = 1, .n = j->x.x.rows, .n_active = j->x.x.rows - done,
                                   .seconds = now - j->begin };
        j->told = now;
        if (j->options->progress(j->options->progress_arg, &p) != 0)
            __atomic_store_n(&j->stopped, 1, __ATOMIC_RELAXED);
    }
    omp_unset_lock(&j->lock);
}

static hinge_status predict_all(struct job *j, int threads, hinge_error *err)
{
    size_t total = j->x.x.rows, rows = HG_MAX(block_rows(total), (size_t)1), blocks = (total + rows - 1) / rows;
    struct work measure;
    size_t bytes = lay_out(j, rows, NULL, &measure);
    threads = (int)HG_MIN((size_t)threads, HG_MAX(blocks, (size_t)1));
    _Alignas(64) char stack[STACK_BYTES];
    bool small = threads == 1 && bytes <= sizeof stack;
    char *memory = small ? stack : hg_alloc((size_t)threads, bytes);
    if (memory == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for the work space of prediction (%zu bytes)", bytes);
    int failed = HINGE_OK;
#pragma omp parallel num_threads(threads)
    {
        hg_blas_alone();
        struct work w;
        lay_out(j, rows, memory + (size_t)omp_get_thread_num() * bytes, &w);
#pragma omp for schedule(dynamic, 1)
        for (size_t b = 0; b < blocks; b++) {
            size_t count = HG_MIN(rows, total - b * rows);
            if (__atomic_load_n(&j->stopped, __ATOMIC_RELAXED))
                continue;
            hinge_status status = predict_block(j, &w, b * rows, count);
            if (status != HINGE_OK)
                __atomic_store_n(&failed, (int)status, __ATOMIC_RELAXED);
            tell(j, count);
        }
    }
    if (!small)
        hg_free(memory);
    if (failed == HINGE_OK && j->stopped)
        return hg_fail(err, HINGE_ECALLBACK, "progress: the callback ended the prediction after %zu of %zu rows",
                       j->done, total);
    return failed == HINGE_OK ? HINGE_OK
                              : hg_fail(err, (hinge_status)failed, "the kernel function reported a failure");
}

/* Threads worth starting. */
static int team_for(const hinge_model *m, size_t rows, int asked)
{
    double vectors = m->weights != NULL ? (double)m->n_problems : (double)m->n_sv;
    return hg_kernel_team(&m->kernel, asked, (double)rows * vectors, m->d + columns_of(m));
}

/* ---- the entry --------------------------------------------------------------------------------------------------- */

static hinge_status check(const hinge_model *m, const hinge_matrix *x, const hinge_predict_options *o,
                          hinge_error *err)
{
    if (m == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: NULL");
    hinge_status status = hg_matrix_check(x, "x", err);
    if (status != HINGE_OK)
        return status;
    bool any = m->sv_serial != NULL || m->n_sv == 0; /* more columns do no harm, or none is looked at */
    if (any ? m->n_sv > 0 && x->cols < m->d : x->cols != m->d)
        return hg_fail(err, HINGE_EINVAL, "x.cols: %zu, but the model has %zu features", x->cols, m->d);
    if (o->threads < 0 || o->threads > 4096)
        return hg_fail(err, HINGE_EINVAL, "threads: %d is not in 0 .. 4096", o->threads);
    if ((int)o->precision < 0 || (int)o->precision > HINGE_PRECISION_F64)
        return hg_fail(err, HINGE_EINVAL, "precision: %d is not a hinge_precision", (int)o->precision);
    if (o->cpu_level < 0 || o->cpu_level > 4)
        return hg_fail(err, HINGE_EINVAL, "cpu_level: %d is not in 0 .. 4", o->cpu_level);
    return hg_matrix_check_finite(x, "x", team_for(m, x->rows, o->threads), err);
}

/* A callback can end it after some rows: results wait until all are there. */
static hinge_status predict_by_callback(struct job *j, int threads, hinge_error *err)
{
    double *labels = j->labels, *decisions = j->decisions;
    size_t rows = j->x.x.rows, values;
    bool ok = hg_mul(rows, j->m->n_problems, &values);
    j->labels = labels != NULL ? hg_alloc(rows, sizeof *labels) : NULL;
    j->decisions = ok && decisions != NULL ? hg_alloc(values, sizeof *decisions) : NULL;
    ok = (labels == NULL || j->labels != NULL) && (decisions == NULL || j->decisions != NULL);
    hinge_status status = ok ? predict_all(j, threads, err)
                             : hg_fail(err, HINGE_ENOMEM, "no memory for the decision values of %zu rows", rows);
    if (status == HINGE_OK && labels != NULL)
        memcpy(labels, j->labels, rows * sizeof *labels);
    if (status == HINGE_OK && decisions != NULL)
        memcpy(decisions, j->decisions, values * sizeof *decisions);
    hg_free(j->labels);
    hg_free(j->decisions);
    return status;
}

/* Coefficients in f32, for a model that keeps none, on request of precision f32. */
static hinge_status coef_in_f32(const hinge_model *m, float **coef, hinge_error *err)
{
    size_t count = hg_model_coef_rows(m) * m->n_sv;
    *coef = hg_alloc(count, sizeof **coef);
    if (*coef == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu coefficients", count);
    for (size_t i = 0; i < count; i++)
        (*coef)[i] = (float)m->coef[i];
    return HINGE_OK;
}

/* Examples and SVs in an order in which neighbours are side by side, where that pays. */
static hinge_status leave_out_far(struct job *j, int threads, hinge_error *err)
{
    struct hg_nearby *n = &j->nearby;
    hinge_status status =
        hg_nearby_init(n, j->m, &j->x, &j->sv, block_rows(j->x.n), j->tiler.type, j->tiler.lists, threads, err);
    if (status != HINGE_OK || n->sv == NULL)
        return status;
    j->x.order = n->example;
    j->sv.order = n->sv;
    j->sv_norms = n->norms;
    j->coef = n->coef;
    j->panels = n->panels;
    return HINGE_OK;
}

hinge_status hinge_predict(const hinge_model *m, const hinge_matrix *x, const hinge_predict_options *options,
                           double *labels, double *decisions, hinge_error *err)
{
    static const hinge_predict_options none = { 0 };
    const hinge_predict_options *o = options != NULL ? options : &none;
    hinge_status status = check(m, x, o, err);
    if (status != HINGE_OK)
        return status;
    bool dots = hg_kernel_row(m->kernel.type)->source == HG_FROM_DOTS && m->weights == NULL;
    bool f32 = dots && ((o->precision == HINGE_PRECISION_F32 && !m->beyond_f32) ||
                        (o->precision == HINGE_PRECISION_AUTO && m->f32_is_enough));
    struct job j = { .m = m,
                     .x = { .x = *x, .shift = m->x_shift, .factor = m->scale_factor, .n = x->rows },
                     .labels = labels,
                     .decisions = decisions,
                     .options = o,
                     .begin = hg_now(),
                     .told = -INFINITY };
    j.tiler =
        (struct hg_tiler){ m->kernel, hg_maps(hg_cpu_level(o->cpu_level)), f32 ? HINGE_F32 : HINGE_F64, m->d,
                            false, 0 };
    j.tiler.lists = m->panels != NULL && f32 == m->f32_is_enough;
    j.sv = hg_model_points(m, j.tiler.type);
    j.sv_norms = hg_model_norms(m, j.tiler.type);
    j.coef = m->coef;
    float *coef32 = NULL;
    j.panels = m->panels;
    int threads = team_for(m, x->rows, o->threads);
    omp_init_lock(&j.lock);
    if (dots)
        status = leave_out_far(&j, threads, err);
    if (status == HINGE_OK && f32 && j.nearby.sv == NULL) {
        if (m->coef32 == NULL)
            status = coef_in_f32(m, &coef32, err);
        j.coef = m->coef32 != NULL ? m->coef32 : coef32;
    }
    if (status == HINGE_OK)
        status = (m->kernel.type == HINGE_USER || o->progress ? predict_by_callback : predict_all)(&j, threads, err);
    omp_destroy_lock(&j.lock);
    hg_free(coef32);
    hg_nearby_free(&j.nearby);
    return status == HINGE_OK ? hg_ok(err) : status;
}
