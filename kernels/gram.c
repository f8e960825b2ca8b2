/*
 * Kernel rows. fetch(I, J): gather X_I, then, tile by tile of columns (in parallel), X_I X_tile' by one
 * single-threaded GEMM a block of rows, or by lists and panels, mapped in place or straight into the rows asked
 * for; or counts, and a table (hamming.h). The arithmetic of a tile does not depend on the number of threads.
 */
#include "kernels/gram.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* ---- work space: X_I and its norms once, the rest a thread ------------------------------------------------------- */

struct work { /* of one thread */
    void *dots, *b, *norm_b;
    void *rows; /* lists: vectors on their way into lists or panels */
    uint32_t *ids;
    void **row;
    uint8_t *code; /* [HG_CODE_ROWS * HG_CODE_COLS] counts */
    uint8_t *near; /* [cells] those that some column of the tile is near to; where there are cells */
    struct hg_match *match; /* [cols] columns of the tile that are equal to rows asked for */
    size_t n_match;
    struct watch *watch;
};

struct watch { /* of one thread: where its seconds went */
    double last;
    hinge_stages *spent; /* NULL: not wanted */
};

#pragma omp declare reduction(hg_stages : hinge_stages : hg_add_stages(&omp_out, &omp_in)) \
    initializer(omp_priv = (hinge_stages){ 0 })

struct stretch { /* rows asked for one after the other, of one cell */
    uint32_t cell, first, end;
};

struct shared { /* by all threads: X_I */
    void *a, *norm;
    uint32_t *ids;
    struct hg_lists lists;
    struct hg_gathered gathered;
    struct stretch *stretch; /* where there are cells */
    size_t n_stretches;
};

static size_t row_stride(const struct hg_gram *g)
{
    return (g->tiler.d + 15) / 16 * 16;
}

/* Lays out the work space at base (NULL: only measures); returns its size. */
static size_t lay_out(const struct hg_gram *g, char *base, int thread, struct shared *s, struct work *w)
{
    hinge_dtype type = g->tiler.type;
    size_t size = hg_size_of(type), at = 0, stride = row_stride(g) * size;
    size_t rows = HG_MIN((size_t)HG_TILE_ROWS, g->max_rows), cols = g->tile_cols;
    *w = (struct work){ 0 };
    s->a = hg_take(base, &at, g->tiler.lists || g->hamming != NULL ? 0 : g->max_rows * stride);
    if (g->tiler.lists)
        at += hg_lists_lay_out(&s->lists, g->max_rows, g->tiler.d, type, base != NULL ? base + at : NULL);
    if (g->hamming != NULL)
        at += hg_gathered_lay_out(&s->gathered, g->hamming, g->max_rows, base != NULL ? base + at : NULL);
    s->norm = hg_take(base, &at, g->max_rows * size);
    s->ids = hg_take(base, &at, g->max_rows * sizeof(uint32_t));
    s->stretch = hg_take(base, &at, g->points.cells != NULL ? g->max_rows * sizeof *s->stretch : 0);
    for (int t = 0; t <= thread; t++) {
        w->dots = hg_take(base, &at, rows * cols * size);
        w->b = hg_take(base, &at, g->hamming != NULL ? hg_hamming_panel_bytes(g->hamming) : cols * stride);
        w->code = hg_take(base, &at, g->hamming != NULL ? HG_CODE_ROWS * HG_CODE_COLS : 0);
        w->rows = hg_take(base, &at, g->tiler.lists ? hg_panel_cols(type) * stride : 0);
        w->norm_b = hg_take(base, &at, cols * size);
        w->ids = hg_take(base, &at, cols * sizeof(uint32_t));
        w->row = hg_take(base, &at, rows * sizeof(void *));
        w->near = hg_take(base, &at, g->points.cells != NULL ? g->points.cells->count : 0);
        w->match = hg_take(base, &at, g->equal.now != NULL ? cols * sizeof *w->match : 0);
    }
    return at;
}

/* ---- one fetch --------------------------------------------------------------------------------------------------- */

enum stage { WAITING, GATHER, PRODUCTS, MAP, UPDATE };

/* What passed since the last look was spent on this. */
static void lap(struct watch *watch, enum stage stage)
{
    hinge_stages *s = watch->spent;
    if (s == NULL)
        return;
    double now = hg_now(), other = 0, *const to[] = { &other, &s->gather, &s->products, &s->map, &s->update };
    *to[stage] += now - watch->last;
    watch->last = now;
}

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

struct kept { /* a tile of columns kept as panels */
    uint64_t *number; /* hg_fetch's, of the last fetch that saw these columns */
    uint32_t *ids;    /* [tile_cols] */
    void *norms;      /* [tile_cols] */
    uint8_t *near;    /* [cells] as struct work's */
    void *panels;
};

static size_t kept_tile(const struct hg_gram *g, char *base, struct kept *k)
{
    size_t size = hg_size_of(g->tiler.type), at = 0;
    k->number = hg_take(base, &at, sizeof(uint64_t));
    k->ids = hg_take(base, &at, g->tile_cols * sizeof(uint32_t));
    k->norms = hg_take(base, &at, g->tile_cols * size);
    k->near = hg_take(base, &at, g->points.cells != NULL ? g->points.cells->count : 0);
    k->panels = hg_take(base, &at, g->hamming != NULL ? hg_hamming_panel_bytes(g->hamming)
                                                      : hg_panels_size(g->tile_cols, g->tiler.d, g->tiler.type) * size);
    return at;
}

/* Without memory for it, nothing is kept. */
static void keep_columns(struct hg_gram *g)
{
    struct kept k;
    size_t tiles = (g->super.n + g->tile_cols - 1) / g->tile_cols;
    if (g->kept != NULL || (!g->tiler.lists && g->hamming == NULL))
        return;
    g->kept_bytes = kept_tile(g, NULL, &k);
    size_t bytes = tiles * g->kept_bytes;
    size_t most = g->lent != NULL ? g->lent->most_points / g->tile_cols + 1 : 0;
    g->kept = g->lent != NULL ? hg_arena_reserve(g->lent, HG_MAX(most, tiles) * g->kept_bytes) : hg_alloc(bytes, 1);
    if (g->kept == NULL)
        return;
    if (g->lent != NULL)
        bytes = g->lent->touched = HG_MAX(g->lent->touched, bytes);
    g->work_bytes += bytes;
    for (size_t t = 0; t < tiles; t++) {
        kept_tile(g, g->kept + t * g->kept_bytes, &k);
        *k.number = 0;
        memset(k.ids, 0xff, g->tile_cols * sizeof *k.ids); /* no point's number */
    }
}

/* Which cells' rows matter to some of the tile's columns. */
static void find_near(const struct hg_cells *cells, const uint32_t *ids, size_t count, uint8_t *near)
{
    memset(near, 0, cells->count);
    for (size_t c = 0; c < count; c++) {
        uint32_t cell = cells->cell[ids[c]];
        if (c > 0 && cell == cells->cell[ids[c - 1]])
            continue;
        const uint8_t *far = cells->far + cell * cells->count;
        for (size_t k = 0; k < cells->count; k++)
            near[k] |= (uint8_t)!far[k];
    }
}

/* The columns of a tile as its maker reads them; *near: the cells of rows that matter to them, NULL: all do. */
static struct hg_right make_right(struct hg_gram *g, const struct hg_fetch *f, size_t col0, size_t cols,
                                  const struct work *w, const uint8_t **near)
{
    uint32_t *ids = w->ids;
    struct hg_right right = { cols, row_stride(g), w->b, g->norms != NULL ? w->norm_b : NULL, { &g->points, ids, 0 } };
    struct kept k = { .near = w->near };
    bool keeps = f->again != 0 && g->kept != NULL;
    if (keeps) {
        kept_tile(g, g->kept + col0 / g->tile_cols * g->kept_bytes, &k);
        right.x = k.panels;
        right.norm = g->norms != NULL ? k.norms : NULL;
    }
    *near = f->near && g->points.cells != NULL ? k.near : NULL;
    if (keeps && *k.number == f->again)
        return right;
    for (size_t c = 0; c < cols; c++)
        ids[c] = (uint32_t)point_of(g, f->cols != NULL ? f->cols[col0 + c] : col0 + c);
    if (g->tiler.kernel.type == HINGE_PRECOMPUTED)
        return right;
    if (g->points.cells != NULL && (keeps || f->near))
        find_near(g->points.cells, ids, cols, k.near);
    if (keeps) {
        *k.number = f->again;
        if (memcmp(k.ids, ids, cols * sizeof *ids) == 0)
            return right;
        memcpy(k.ids, ids, cols * sizeof *ids);
        memset(k.ids + cols, 0xff, (g->tile_cols - cols) * sizeof *ids);
    }
    if (g->hamming != NULL) {
        hg_hamming_panel(g->hamming, ids, cols, (void *)right.x);
        return right;
    }
    gather_norms(g, ids, cols, g->norms != NULL ? (void *)right.norm : NULL);
    if (g->tiler.lists) {
        hg_points_panels(&g->points, ids, 0, cols, g->tiler.type, (void *)right.x, w->rows, row_stride(g));
        return right;
    }
    const void *direct = hg_points_direct(&g->points, ids, 0, cols, g->tiler.type, &right.ld);
    if (direct != NULL)
        right.x = direct;
    else
        hg_points_pack(&g->points, ids, 0, cols, g->tiler.type, w->b, row_stride(g));
    return right;
}

static void find_stretches(const struct hg_gram *g, struct shared *s, size_t count)
{
    s->n_stretches = 0;
    for (size_t r = 0; r < count; r++) {
        uint32_t cell = g->points.cells->cell[s->ids[r]];
        if (r == 0 || cell != s->stretch[s->n_stretches - 1].cell)
            s->stretch[s->n_stretches++] = (struct stretch){ cell, (uint32_t)r, (uint32_t)r };
        s->stretch[s->n_stretches - 1].end = (uint32_t)r + 1;
    }
}

/* Rows [first, end) of those gathered, which are from row0 on of those asked for, at the tile's columns. */
static hinge_status make_rows(struct hg_gram *g, const struct hg_fetch *f, const struct hg_left *left,
                              const struct shared *s, const struct hg_right *right, size_t row0, size_t first,
                              size_t end, size_t col0, const struct work *w)
{
    size_t size = hg_size_of(g->tiler.type), rows;
    size_t ld = HG_MIN(g->tile_cols, (right->count + 63) / 64 * 64); /* few columns touch little memory */
    for (size_t r0 = first; r0 < end; r0 += rows) {
        rows = HG_MIN((size_t)HG_TILE_ROWS, end - r0);
        for (size_t r = 0; r < rows; r++) {
            char *out = f->out != NULL ? f->out[row0 + r0 + r] : NULL;
            w->row[r] = out != NULL ? out + col0 * size : (char *)w->dots + r * ld * size;
        }
        hinge_status status = HINGE_OK;
        if (g->tiler.kernel.type == HINGE_PRECOMPUTED)
            look_up(g, rows, s->ids + r0, right->count, w->ids, w->row);
        else
            status = hg_tile_products(&g->tiler, left, r0, rows, right, w->dots, ld, w->row);
        if (status != HINGE_OK)
            return status;
        lap(w->watch, PRODUCTS);
        if (g->tiler.kernel.type != HINGE_PRECOMPUTED)
            hg_tile_map(&g->tiler, left, r0, rows, right, w->dots, ld, w->row);
        hg_equal_set(&g->equal, w->match, w->n_match, r0, r0 + rows, g->tiler.type, w->row);
        lap(w->watch, MAP);
        if (f->tile != NULL) {
            struct hg_tile tile = { row0 + r0, rows, col0, right->count, (const void *const *)w->row, NULL, NULL };
            f->tile(f->arg, &tile);
            lap(w->watch, UPDATE);
        }
    }
    return HINGE_OK;
}

/* Row r of counts as values. */
static void look_up_counts(const struct hg_gram *g, const uint8_t *count, size_t n, void *out)
{
    if (g->tiler.type == HINGE_F32)
        for (size_t c = 0; c < n; c++)
            ((float *)out)[c] = (float)g->value[count[c]];
    else
        for (size_t c = 0; c < n; c++)
            ((double *)out)[c] = g->value[count[c]];
}

/* make_rows by counts, of all rows. */
static void count_rows(struct hg_gram *g, const struct hg_fetch *f, const struct shared *s,
                       const struct hg_right *right, size_t row0, size_t count, size_t col0, const struct work *w)
{
    size_t size = hg_size_of(g->tiler.type), cols = right->count, rows;
    for (size_t r0 = 0; r0 < count; r0 += rows) {
        rows = HG_MIN((size_t)HG_CODE_ROWS, count - r0);
        g->tiler.maps->counts(&s->gathered, r0, rows, right->x, w->code);
        lap(w->watch, PRODUCTS);
        struct hg_tile tile = { row0 + r0, rows, col0, cols, NULL, &g->codes, w->code };
        if (!f->coded || !g->super.coded) {
            for (size_t r = 0; r < rows; r++) {
                char *out = f->out != NULL ? f->out[row0 + r0 + r] : NULL;
                w->row[r] = out != NULL ? out + col0 * size : (char *)w->dots + r * HG_CODE_COLS * size;
                look_up_counts(g, w->code + r * HG_CODE_COLS, cols, w->row[r]);
            }
            tile.row = (const void *const *)w->row;
            tile.codes = NULL;
            lap(w->watch, MAP);
        }
        if (f->tile != NULL) {
            f->tile(f->arg, &tile);
            lap(w->watch, UPDATE);
        }
    }
}

static void clear_rows(const struct hg_gram *g, const struct hg_fetch *f, size_t first, size_t end, size_t col0,
                       size_t cols, const struct work *w)
{
    size_t size = hg_size_of(g->tiler.type);
    for (size_t r = first; r < end && f->out != NULL; r++)
        if (f->out[r] != NULL)
            memset((char *)f->out[r] + col0 * size, 0, cols * size);
    lap(w->watch, MAP);
}

/* Rows [row0, row0 + count) of those asked for, without those whose cells are far from all of the tile's columns;
 * *values: how many were computed. */
static hinge_status make_tile(struct hg_gram *g, const struct hg_fetch *f, const struct hg_left *left,
                              const struct shared *s, size_t row0, size_t count, size_t col0, size_t width,
                              struct work *w, uint64_t *values)
{
    size_t cols = HG_MIN(width, f->n_cols - col0), done = 0;
    const uint8_t *near;
    struct hg_right right = make_right(g, f, col0, cols, w, &near);
    lap(w->watch, GATHER);
    if (g->hamming != NULL) {
        *values += count * cols;
        count_rows(g, f, s, &right, row0, count, col0, w);
        return HINGE_OK;
    }
    w->n_match = g->equal.now != NULL ? hg_equal_match(&g->equal, col0, cols, w->match) : 0;
    if (near == NULL) {
        *values += count * cols;
        return make_rows(g, f, left, s, &right, row0, 0, count, col0, w);
    }
    if (row0 == 0 && !near[s->stretch[0].cell] && f->tile != NULL) /* the range begins without rows */
        f->tile(f->arg, &(struct hg_tile){ .col0 = col0, .n_cols = cols });
    for (size_t k = 0; k < s->n_stretches;) {
        if (!near[s->stretch[k].cell]) {
            k++;
            continue;
        }
        size_t first = s->stretch[k].first, end;
        do
            end = s->stretch[k++].end;
        while (k < s->n_stretches && near[s->stretch[k].cell]);
        clear_rows(g, f, row0 + done, row0 + first, col0, cols, w);
        hinge_status status = make_rows(g, f, left, s, &right, row0, first, end, col0, w);
        if (status != HINGE_OK)
            return status;
        *values += (end - first) * cols;
        done = end;
    }
    clear_rows(g, f, row0 + done, row0 + count, col0, cols, w);
    return HINGE_OK;
}

static bool stopped(const struct hg_fetch *f)
{
    return f->stop != NULL && __atomic_load_n(f->stop, __ATOMIC_RELAXED) != 0;
}

/* Vector r of X_I into its place. */
static void gather_vector(const struct hg_gram *g, struct shared *s, size_t r, const struct work *w)
{
    size_t stride = row_stride(g);
    hinge_dtype type = g->tiler.type;
    if (g->hamming != NULL) {
        hg_gathered_set(&s->gathered, r, g->hamming, s->ids[r]);
        return;
    }
    void *to = g->tiler.lists ? w->rows : (char *)s->a + r * stride * hg_size_of(type);
    hg_points_pack(&g->points, s->ids + r, 0, 1, type, to, stride);
    if (g->tiler.lists)
        hg_lists_set(&s->lists, r, to, g->tiler.d, type);
}

/* Columns of a tile: fewer where there are few in all, so that each thread has some; by what is fetched alone, so that
 * values do not depend on the threads. What is kept or counted has its tiles as they are. */
static size_t tile_width(const struct hg_gram *g, const struct hg_fetch *f)
{
    if (f->again != 0 || g->hamming != NULL)
        return g->tile_cols;
    return HG_MIN(g->tile_cols, HG_MAX(f->n_cols / 4 / 64, (size_t)1) * 64);
}

/* Rows [row0, row0 + count) of those asked for, count <= max_rows. */
static hinge_status fetch_some(struct hg_gram *g, const struct hg_fetch *f, size_t row0, size_t count)
{
    hinge_stages *stages = g->super.stages;
    hinge_stages spent = { 0 };
    struct watch watch = { 0, stages != NULL ? &spent : NULL };
    struct shared s;
    struct work first;
    lap(&watch, WAITING);
    lay_out(g, g->work, 0, &s, &first);
    for (size_t r = 0; r < count; r++)
        s.ids[r] = (uint32_t)point_of(g, f->rows[row0 + r]);
    if (f->near && g->points.cells != NULL)
        find_stretches(g, &s, count);
    if (g->equal.now != NULL)
        hg_equal_ask(&g->equal, f->rows + row0, count);
    struct hg_left left = { row_stride(g), NULL, g->norms != NULL ? s.norm : NULL, s.lists, { &g->points, s.ids, 0 } };
    bool gather = g->tiler.kernel.type != HINGE_PRECOMPUTED;
    if (gather && !g->tiler.lists && g->hamming == NULL)
        left.x = hg_points_direct(&g->points, s.ids, 0, count, g->tiler.type, &left.ld);
    gather = gather && left.x == NULL;
    if (left.x == NULL)
        left.x = s.a;
    gather_norms(g, s.ids, count, s.norm);
    lap(&watch, GATHER);

    size_t width = tile_width(g, f), tiles = (f->n_cols + width - 1) / width;
    int failed = HINGE_OK;
    uint64_t values = 0;
    /* a tenth of the work is worth a team that is awake, round after round */
    int team = hg_kernel_team(&g->tiler.kernel, g->super.threads, 10 * (double)count * (double)f->n_cols, g->tiler.d);
    team = hg_crew_size(&g->super.crew, team);
    double worked = 0, start = hg_now();
#pragma omp parallel reduction(+ : values) reduction(hg_stages : spent) num_threads(team)
    {
        bool first_of_team = omp_get_thread_num() == 0;
        double begin = hg_now();
        hg_blas_alone();
        struct shared mine = s;
        struct work w;
        struct watch own = { 0, stages != NULL ? &spent : NULL };
        lap(&own, WAITING);
        lay_out(g, g->work, omp_get_thread_num(), &mine, &w);
        w.watch = &own;
        if (gather) {
#pragma omp for schedule(static) nowait
            for (size_t r = 0; r < count; r++)
                gather_vector(g, &mine, r, &w);
            lap(&own, GATHER);
            if (first_of_team)
                worked += hg_now() - begin;
#pragma omp barrier
            lap(&own, WAITING);
            begin = hg_now();
        }
#pragma omp for schedule(dynamic, 1) nowait
        for (size_t tile = 0; tile < tiles; tile++) {
            if (stopped(f) || __atomic_load_n(&failed, __ATOMIC_RELAXED) != HINGE_OK)
                continue;
            hinge_status status = make_tile(g, f, &left, &s, row0, count, tile * width, width, &w, &values);
            if (status != HINGE_OK)
                __atomic_store_n(&failed, (int)status, __ATOMIC_RELAXED);
        }
        if (first_of_team)
            worked += hg_now() - begin;
    }
    hg_crew_tell(&g->super.crew, team, worked, hg_now() - start - worked);
    if (g->equal.now != NULL)
        hg_equal_forget(&g->equal, f->rows + row0, count);
    g->super.values += values;
    if (hg_kernel_row(g->tiler.kernel.type)->source == HG_FROM_DOTS && g->hamming == NULL)
        spent.gflop = 2e-9 * (double)values * (g->tiler.lists ? g->points.nonzeros : (double)g->tiler.d);
    g->super.gflop += spent.gflop;
    if (stages != NULL)
        hg_add_stages(stages, &spent);
    return (hinge_status)failed;
}

static hinge_status fetch(struct hg_rows *super, const struct hg_fetch *f)
{
    struct hg_gram *g = (struct hg_gram *)super;
    hinge_status status = HINGE_OK;
    if (f->again != 0)
        keep_columns(g);
    if (g->equal.now != NULL)
        hg_equal_columns(&g->equal, f->cols, f->n_cols, f->again);
    for (size_t r = 0; r < f->n_rows && status == HINGE_OK && !stopped(f); r += g->max_rows)
        status = fetch_some(g, f, r, HG_MIN(g->max_rows, f->n_rows - r));
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
        if (g->tiler.kernel.type == HINGE_RBF) {
            out[i] = 1;
        } else if (row->source == HG_FROM_DOTS) {
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

/* The tiler's, for the source's points. */
static double close_for(const struct hg_gram *g, const struct hg_points *points, const uint32_t *subset, size_t n)
{
    double largest = 0;
    for (size_t i = 0; g->tiler.type == HINGE_F64 && g->norms != NULL && i < n; i++)
        largest = HG_MAX(largest, ((const double *)g->norms)[subset != NULL ? subset[i] : i]);
    return points->hamming == NULL ? hg_tiler_close(&g->tiler.kernel, g->tiler.type, g->tiler.d, largest) : 0;
}

/* Dot products of the longest vectors lose most in f32; where K(x, x) does not show which those are, they are named. */
static void name_doubtful(struct hg_gram *g)
{
    struct hg_rows *rows = &g->super;
    double norm[HG_DOUBTFUL];
    if (g->tiler.kernel.type != HINGE_RBF && g->tiler.kernel.type != HINGE_SIGMOID)
        return;
    for (size_t i = 0; i < rows->n && g->hamming == NULL; i++) {
        size_t p = point_of(g, i);
        double own = g->norms != NULL ? ((const float *)g->norms)[p] : hg_points_norm(&g->points, p, HINGE_F32);
        size_t k = rows->n_doubtful < HG_DOUBTFUL ? rows->n_doubtful++ : HG_DOUBTFUL - 1;
        if (k == HG_DOUBTFUL - 1 && i >= HG_DOUBTFUL && !(own > norm[k]))
            continue;
        for (; k > 0 && own > norm[k - 1]; k--) {
            norm[k] = norm[k - 1];
            rows->doubtful[k] = rows->doubtful[k - 1];
        }
        norm[k] = own;
        rows->doubtful[k] = (uint32_t)i;
    }
}

static const struct hg_rows_ops ops = { diagonal, fetch };

hinge_status hg_gram_init(struct hg_gram *g, const struct hg_tiler *tiler, const struct hg_points *points,
                          const uint32_t *subset, size_t n, const uint32_t *column, const void *norms,
                          int threads, hinge_error *err)
{
    memset(g, 0, sizeof *g);
    bool dots = hg_kernel_row(tiler->kernel.type)->source == HG_FROM_DOTS;
    g->hamming = tiler->kernel.type == HINGE_RBF ? points->hamming : NULL;
    g->norms = norms;
    g->tiler = *tiler;
    g->tiler.close = close_for(g, points, subset, n);
    bool lists = dots && g->hamming == NULL && !(g->tiler.close > 0) &&
                 hg_lists_win(points->nonzeros, tiler->d, tiler->type, tiler->maps->number);
    /* ns an entry of GEMM or lists, and of the map, against 0.3 for reading 4 bytes */
    double cost = !dots ? 50 : 1.2 + 0.1 * (lists ? points->nonzeros : 0.8 * (double)tiler->d);
    if (lists && tiler->d > 96) /* a panel and the lists do not both fit L1 */
        cost *= 1.4;
    if (tiler->type == HINGE_F64)
        cost *= 2;
    if (points->cells != NULL)
        cost *= points->cells->near;
    if (g->hamming != NULL)
        cost = tiler->type == HINGE_F32 ? 0.2 + 0.003 * g->hamming->listed : 3;
    g->super = (struct hg_rows){ .ops = &ops, .n = n, .type = tiler->type, .threads = threads, .cost = cost };
    g->super.unit = tiler->kernel.type == HINGE_RBF;
    g->super.coded = g->hamming != NULL && tiler->type == HINGE_F32;
    g->tiler.lists = lists;
    g->points = *points;
    g->subset = subset;
    g->column = column;
    size_t bytes = HG_MAX(row_stride(g), (size_t)1) * hg_size_of(tiler->type);
    size_t whole = lists ? hg_panel_cols(tiler->type) : 16, fit = ((size_t)8 << 20) / bytes / whole * whole;
    g->tile_cols = HG_MIN((size_t)HG_TILE_COLS, HG_MAX(fit, HG_MAX(whole, (size_t)32)));
    g->tile_cols = HG_MIN(g->tile_cols, HG_MAX((n + 63) / 64, (size_t)1) * 64); /* whole panels */
    if (g->hamming != NULL) /* however few the points */
        g->tile_cols = HG_COUNT_COLS;
    g->max_rows = HG_MIN((size_t)2048, HG_MAX((size_t)64, ((size_t)32 << 20) / bytes));
    g->max_rows = HG_MIN(g->max_rows, HG_MAX(n, (size_t)1));
    if (g->hamming != NULL)
        hg_hamming_values(g->hamming, tiler->kernel.gamma, g->value, &g->codes);
    if (tiler->kernel.type == HINGE_RBF && g->hamming == NULL) {
        hinge_status status = hg_equal_init(&g->equal, points->equal, points->n, subset, n, g->max_rows, err);
        if (status != HINGE_OK)
            return status;
    }
    struct shared shared;
    struct work w;
    g->work_bytes = lay_out(g, NULL, threads - 1, &shared, &w);
    g->work = hg_alloc(g->work_bytes, 1);
    g->order = points->cells != NULL ? hg_cells_order(points->cells, subset, n) : NULL;
    if (g->work == NULL || (points->cells != NULL && g->order == NULL)) {
        hg_gram_free(g);
        return hg_fail(err, HINGE_ENOMEM, "no memory for the work space of kernel blocks (%zu bytes)",
                       g->work_bytes);
    }
    g->super.order = g->order;
    if (tiler->type == HINGE_F32)
        name_doubtful(g);
    return HINGE_OK;
}

void hg_gram_free(struct hg_gram *g)
{
    hg_free(g->work);
    if (g->lent == NULL)
        hg_free(g->kept);
    hg_free(g->order);
    hg_equal_free(&g->equal);
    g->work = g->kept = NULL;
    g->order = NULL;
}
