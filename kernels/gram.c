/*
 * Kernel rows by GEMM. fetch(I, J): gather X_I, then, tile by tile of columns (in parallel), X_I X_tile' by one
 * single-threaded GEMM a block of rows, mapped in place or straight into the rows asked for. The arithmetic of
 * a tile does not depend on the number of threads.
 */
#include "kernels/gram.h"

#include <omp.h>
#include <string.h>

/* ---- work space: X_I and its norms once, the rest a thread ------------------------------------------------------- */

struct work { /* of one thread */
    void *dots, *b, *norm_b;
    uint32_t *ids;
    void **row;
};

static size_t row_stride(const struct hg_gram *g)
{
    return (g->tiler.d + 15) / 16 * 16;
}

/* Lays out the work space at base (NULL: only measures); returns its size. */
static size_t lay_out(const struct hg_gram *g, char *base, int thread, void **a, void **norm_a,
                      uint32_t **ids_a, struct work *w)
{
    size_t size = hg_size_of(g->tiler.type), at = 0;
    size_t per_a = hg_aligned(g->max_rows * row_stride(g) * size);
    size_t rows = HG_TILE_ROWS, cols = g->tile_cols;
    *a = base + at, at += per_a;
    *norm_a = base + at, at += hg_aligned(g->max_rows * size);
    *ids_a = (uint32_t *)(void *)(base + at), at += hg_aligned(g->max_rows * sizeof(uint32_t));
    for (int t = 0; t <= thread; t++) {
        w->dots = base + at, at += hg_aligned(rows * cols * size);
        w->b = base + at, at += hg_aligned(cols * row_stride(g) * size);
        w->norm_b = base + at, at += hg_aligned(cols * size);
        w->ids = (uint32_t *)(void *)(base + at), at += hg_aligned(cols * sizeof(uint32_t));
        w->row = (void **)(void *)(base + at), at += hg_aligned(rows * sizeof(void *));
    }
    return at;
}

/* ---- one fetch --------------------------------------------------------------------------------------------------- */

static size_t point_of(const struct hg_gram *g, size_t i)
{
    return g->subset != NULL ? g->subset[i] : i;
}

static void gather_norms(const struct hg_gram *g, const uint32_t *ids, size_t count, void *out)
{
    if (g->norms == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        if (g->tiler.type == HINGE_F32)
            ((float *)out)[i] = ((const float *)g->norms)[ids[i]];
        else
            ((double *)out)[i] = ((const double *)g->norms)[ids[i]];
    }
}

/* Precomputed: values are looked up. */
static void look_up(const struct hg_gram *g, size_t m, const uint32_t *rows, size_t n, const uint32_t *cols,
                    void *const *out)
{
    const uint32_t *order = g->points.order;
    for (size_t r = 0; r < m; r++) {
        size_t row = order != NULL ? order[rows[r]] : rows[r];
        for (size_t c = 0; c < n; c++) {
            double value = hg_matrix_value(&g->points.x, row, g->column != NULL ? g->column[cols[c]] : cols[c]);
            if (g->tiler.type == HINGE_F32)
                ((float *)out[r])[c] = (float)value;
            else
                ((double *)out[r])[c] = value;
        }
    }
}

/* X_I as GEMM reads it. */
struct left {
    const uint32_t *ids;
    const void *a, *norm;
    size_t ld, count, row0; /* row0: of the rows asked for */
};

static hinge_status make_tile(struct hg_gram *g, const struct hg_fetch *f, const struct left *left, size_t col0,
                              const struct work *w)
{
    size_t size = hg_size_of(g->tiler.type), cols = HG_MIN(g->tile_cols, f->n_cols - col0), ldb = row_stride(g);
    bool looked_up = g->tiler.kernel.type == HINGE_PRECOMPUTED;
    for (size_t c = 0; c < cols; c++)
        w->ids[c] = (uint32_t)point_of(g, f->cols != NULL ? f->cols[col0 + c] : col0 + c);
    const void *b = NULL;
    if (!looked_up) {
        b = hg_points_direct(&g->points, w->ids, 0, cols, g->tiler.type, &ldb);
        if (b == NULL) {
            hg_points_pack(&g->points, w->ids, 0, cols, g->tiler.type, w->b, ldb);
            b = w->b;
        }
    }
    gather_norms(g, w->ids, cols, w->norm_b);
    for (size_t r0 = 0; r0 < left->count; r0 += HG_TILE_ROWS) {
        size_t rows = HG_MIN((size_t)HG_TILE_ROWS, left->count - r0);
        for (size_t r = 0; r < rows; r++) {
            char *out = f->out != NULL ? f->out[left->row0 + r0 + r] : NULL;
            w->row[r] = out != NULL ? out + col0 * size : (char *)w->dots + r * g->tile_cols * size;
        }
        if (looked_up) {
            look_up(g, rows, left->ids + r0, cols, w->ids, w->row);
        } else {
            hinge_status status =
                hg_tile_values(&g->tiler, rows, (const char *)left->a + r0 * left->ld * size, left->ld,
                               g->norms != NULL ? (const char *)left->norm + r0 * size : NULL, cols, b, ldb,
                               g->norms != NULL ? w->norm_b : NULL, w->dots, g->tile_cols, w->row);
            if (status != HINGE_OK)
                return status;
        }
        if (f->tile != NULL) {
            struct hg_tile tile = { left->row0 + r0, rows, col0, cols, (const void *const *)w->row };
            f->tile(f->arg, &tile);
        }
    }
    return HINGE_OK;
}

static bool stopped(const struct hg_fetch *f)
{
    return f->stop != NULL && __atomic_load_n(f->stop, __ATOMIC_RELAXED) != 0;
}

/* Rows [row0, row0 + count) of those asked for, count <= max_rows. */
static hinge_status fetch_some(struct hg_gram *g, const struct hg_fetch *f, size_t row0, size_t count)
{
    void *a, *norm_a;
    uint32_t *ids_a;
    struct work first;
    lay_out(g, g->work, 0, &a, &norm_a, &ids_a, &first);
    for (size_t r = 0; r < count; r++)
        ids_a[r] = (uint32_t)point_of(g, f->rows[row0 + r]);
    struct left left = { ids_a, NULL, norm_a, row_stride(g), count, row0 };
    if (g->tiler.kernel.type != HINGE_PRECOMPUTED)
        left.a = hg_points_direct(&g->points, ids_a, 0, count, g->tiler.type, &left.ld);
    bool gather = left.a == NULL && g->tiler.kernel.type != HINGE_PRECOMPUTED;
    if (gather)
        left.a = a;
    gather_norms(g, ids_a, count, norm_a);

    size_t tiles = (f->n_cols + g->tile_cols - 1) / g->tile_cols, size = hg_size_of(g->tiler.type);
    int failed = HINGE_OK;
#pragma omp parallel num_threads(g->super.threads)
    {
        hg_blas_alone();
        void *a_, *norm_;
        uint32_t *ids_;
        struct work w;
        lay_out(g, g->work, omp_get_thread_num(), &a_, &norm_, &ids_, &w);
        if (gather) {
#pragma omp for schedule(static)
            for (size_t r = 0; r < count; r++)
                hg_points_pack(&g->points, ids_a + r, 0, 1, g->tiler.type, (char *)a + r * row_stride(g) * size,
                               row_stride(g));
        }
#pragma omp for schedule(dynamic, 1)
        for (size_t tile = 0; tile < tiles; tile++) {
            if (stopped(f) || __atomic_load_n(&failed, __ATOMIC_RELAXED) != HINGE_OK)
                continue;
            hinge_status status = make_tile(g, f, &left, tile * g->tile_cols, &w);
            if (status != HINGE_OK)
                __atomic_store_n(&failed, (int)status, __ATOMIC_RELAXED);
        }
    }
    return (hinge_status)failed;
}

static hinge_status fetch(struct hg_rows *super, const struct hg_fetch *f)
{
    struct hg_gram *g = (struct hg_gram *)super;
    hinge_status status = HINGE_OK;
    for (size_t r = 0; r < f->n_rows && status == HINGE_OK && !stopped(f); r += g->max_rows)
        status = fetch_some(g, f, r, HG_MIN(g->max_rows, f->n_rows - r));
    super->values += (uint64_t)f->n_rows * f->n_cols;
    if (hg_kernel_row(g->tiler.kernel.type)->source == HG_FROM_DOTS)
        super->gflop += 2e-9 * (double)f->n_rows * (double)f->n_cols * (double)g->tiler.d;
    return status;
}

static hinge_status diagonal(const struct hg_rows *super, double *out)
{
    const struct hg_gram *g = (const struct hg_gram *)super;
    const struct hg_kernel_row *row = hg_kernel_row(g->tiler.kernel.type);
    double *x = hg_alloc(HG_MAX(g->tiler.d, (size_t)1), sizeof *x);
    hinge_status status = x != NULL ? HINGE_OK : HINGE_ENOMEM;
    for (size_t i = 0; i < super->n && status == HINGE_OK; i++) {
        uint32_t p = (uint32_t)point_of(g, i);
        if (row->source == HG_FROM_DOTS) {
            double norm = hg_points_norm(&g->points, p, g->tiler.type);
            out[i] = hg_kernel_value(&g->tiler.kernel, norm, norm, norm);
        } else if (row->source == HG_FROM_MATRIX) {
            void *to = &out[i];
            struct hg_gram f64 = *g;
            f64.tiler.type = HINGE_F64;
            look_up(&f64, 1, &p, 1, &p, &to);
        } else {
            hg_points_pack(&g->points, &p, 0, 1, HINGE_F64, x, g->tiler.d);
            hinge_matrix view = { x, HINGE_F64, 1, g->tiler.d, g->tiler.d };
            if (g->tiler.kernel.user(g->tiler.kernel.cookie, &view, &view, &out[i], 1) != 0)
                status = HINGE_ECALLBACK;
        }
    }
    hg_free(x);
    return status;
}

static const struct hg_rows_ops ops = { diagonal, fetch };

hinge_status hg_gram_init(struct hg_gram *g, const struct hg_tiler *tiler, const struct hg_points *points,
                          const uint32_t *subset, size_t n, const uint32_t *column, const void *norms,
                          int threads, hinge_error *err)
{
    memset(g, 0, sizeof *g);
    /* 2 d operations at 90 GFLOP/s and 0.4 ns of map against 0.3 ns for reading 4 bytes */
    double cost = hg_kernel_row(tiler->kernel.type)->source == HG_FROM_DOTS ? 1.5 + (double)tiler->d / 14 : 50;
    g->super = (struct hg_rows){ .ops = &ops, .n = n, .type = tiler->type, .threads = threads, .cost = cost };
    g->tiler = *tiler;
    g->points = *points;
    g->subset = subset;
    g->column = column;
    g->norms = norms;
    size_t bytes = HG_MAX(row_stride(g), (size_t)1) * hg_size_of(tiler->type);
    g->tile_cols = HG_MIN((size_t)HG_TILE_COLS, HG_MAX((size_t)32, ((size_t)8 << 20) / bytes / 16 * 16));
    g->max_rows = HG_MIN((size_t)2048, HG_MAX((size_t)64, ((size_t)32 << 20) / bytes));
    g->max_rows = HG_MIN(g->max_rows, HG_MAX(n, (size_t)1));
    void *a, *norm_a;
    uint32_t *ids_a;
    struct work w;
    g->work_bytes = lay_out(g, NULL, threads - 1, &a, &norm_a, &ids_a, &w);
    g->work = hg_alloc(g->work_bytes, 1);
    if (g->work == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for the work space of kernel blocks (%zu bytes)",
                       g->work_bytes);
    return HINGE_OK;
}

void hg_gram_free(struct hg_gram *g)
{
    hg_free(g->work);
    g->work = NULL;
}
