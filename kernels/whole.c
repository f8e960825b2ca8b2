/*
 * The Gram matrix of few points, whole (whole.h): how it is made, strip by strip from the diagonal on, and read, tile
 * by tile of columns, as a source makes its tiles.
 */
#include "kernels/whole.h"
#include "lib/base/team.h"

#include <string.h>

static const double DEAR = 24; /* reads that a value costs: those of some 290 dense features in f64 */

enum {
    MOST_POINTS = 2048,
    MOST_IN_F64 = 1024, /* points up to which f64 takes no longer than f32 and a proof by 512 of them */
    STRIP = 256,        /* rows that are made together: of their values with each other both halves are */
    LEAST = 32,         /* and at least, where points are few */
    SQUARE = 64,        /* of values that are mirrored at a time */
    ROWS = 32,
    COLS = 512 /* of a tile that is read */
};

bool hg_whole_pays(double cost, size_t n, size_t bytes)
{
    return cost > DEAR && n <= MOST_POINTS && n * n * sizeof(double) <= bytes;
}

bool hg_whole_pays_in_f64(size_t n)
{
    return n <= MOST_IN_F64;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

struct mirror { /* hg_mirror_rows' */
    char *k;
    hinge_dtype type;
    size_t ld, row, end;
};

/* Mirrors a square; at the diagonal, what is above it. */
static void mirror_square(const struct mirror *m, size_t row, size_t row_end, size_t col, size_t col_end)
{
    for (size_t c = col; c < col_end; c++)
        if (m->type == HINGE_F32)
            for (size_t r = row; r < HG_MIN(row_end, c); r++)
                ((float *)(void *)m->k)[c * m->ld + r] = ((const float *)(void *)m->k)[r * m->ld + c];
        else
            for (size_t r = row; r < HG_MIN(row_end, c); r++)
                ((double *)(void *)m->k)[c * m->ld + r] = ((const double *)(void *)m->k)[r * m->ld + c];
}

/* Mirrors columns [first, end) behind the diagonal's beginning, in squares whose lines stay in the cache while they are
 * read by rows and written by columns. No two threads write the same rows. */
static void mirror_some(void *arg, int thread, size_t first, size_t end)
{
    const struct mirror *m = arg;
    (void)thread;
    for (size_t r = m->row; r < m->end; r += SQUARE)
        mirror_square(m, r, HG_MIN(r + SQUARE, m->end), m->row + first, m->row + end);
}

void hg_mirror_rows(void *k, hinge_dtype type, size_t ld, size_t n, size_t row, size_t count, int threads)
{
    hg_share(threads, n - row, SQUARE, mirror_some, &(struct mirror){ k, type, ld, row, row + count });
}

/* Makes all rows, a strip at a time: a quarter of few ones, so that less is made twice. */
static hinge_status fill(struct hg_whole *w, struct hg_rows *of, const struct hg_halt *halt)
{
    size_t n = w->super.n, size = hg_size_of(w->super.type);
    size_t strip = HG_MIN((size_t)STRIP, HG_MAX((size_t)LEAST, n / 4 / LEAST * LEAST));
    uint32_t *all = hg_alloc(n, sizeof *all);
    hinge_status status = all != NULL ? HINGE_OK : HINGE_ENOMEM;
    for (size_t i = 0; i < n && status == HINGE_OK; i++)
        all[i] = (uint32_t)i;
    for (size_t r0 = 0; r0 < n && status == HINGE_OK && (halt == NULL || !hg_halted(halt)); r0 += strip) {
        void *row[STRIP];
        size_t count = HG_MIN(strip, n - r0);
        for (size_t r = 0; r < count; r++)
            row[r] = w->k + ((r0 + r) * w->ld + r0) * size;
        status = hg_rows_fill(of, all + r0, count, all + r0, n - r0, row, &(struct hg_how){ .halt = halt });
        hg_mirror_rows(w->k, w->super.type, w->ld, n, r0, count, w->super.threads);
    }
    hg_free(all);
    return status;
}

struct mapping { /* hg_whole_map's */
    const struct hg_whole *to, *dots;
    const struct hg_map_of *map;
};

static void map_some(void *arg, int thread, size_t first, size_t end)
{
    const struct mapping *m = arg;
    const double *norms = m->map->norms;
    (void)thread;
    for (size_t r = first; r < end; r++) {
        const double *dot = (const double *)(const void *)m->dots->k + r * m->dots->ld;
        double *to = (double *)(void *)m->to->k + r * m->to->ld;
        m->map->maps->map[HINGE_F64](&m->map->kernel, m->to->super.n, dot, to, norms != NULL ? norms[r] : 0, norms);
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct reading {
    struct hg_whole *w;
    const struct hg_fetch *f;
    double *seconds; /* of all threads, atomic; NULL: not wanted */
};

/* Says whether a tile's columns are side by side, so that rows can be read where they lie. */
static bool side_by_side(const uint32_t *cols, size_t n)
{
    size_t c = 1;
    while (c < n && cols[c] == cols[0] + c)
        c++;
    return c >= n;
}

/* Reads a tile of columns. A row that is wanted is copied, others are gathered where they do not lie as they are. */
static void read_tile(void *arg, int thread, size_t tile, size_t end)
{
    const struct reading *a = arg;
    const struct hg_whole *w = a->w;
    const struct hg_fetch *f = a->f;
    size_t size = hg_size_of(w->super.type), col0 = tile * COLS, n = HG_MIN((size_t)COLS, f->n_cols - col0);
    const uint32_t *cols = f->cols != NULL ? f->cols + col0 : NULL;
    bool lies = cols == NULL || side_by_side(cols, n);
    size_t at = cols != NULL ? cols[0] : col0;
    double begin = a->seconds != NULL ? hg_now() : 0;
    (void)end;
    for (size_t r0 = 0; r0 < f->n_rows; r0 += ROWS) {
        const void *row[ROWS];
        size_t rows = HG_MIN((size_t)ROWS, f->n_rows - r0);
        if (f->stop != NULL && __atomic_load_n(f->stop, __ATOMIC_RELAXED) != 0)
            return;
        for (size_t r = 0; r < rows; r++) {
            const char *from = w->k + f->rows[r0 + r] * w->ld * size;
            char *out = f->out != NULL ? f->out[r0 + r] : NULL;
            char *to = out != NULL ? out + col0 * size : w->room + ((size_t)thread * ROWS + r) * COLS * size;
            row[r] = out == NULL && lies ? from + at * size : to;
            if (out != NULL && lies)
                memcpy(to, from + at * size, n * size);
            else if (!lies)
                hg_gather(from, size, cols, n, to);
        }
        if (f->tile != NULL)
            f->tile(f->arg, &(struct hg_tile){ r0, rows, col0, n, row, NULL, NULL });
    }
    if (a->seconds != NULL)
        hg_add(a->seconds, hg_now() - begin);
}

static hinge_status fetch(struct hg_rows *super, const struct hg_fetch *f)
{
    hinge_stages *stages = super->stages;
    struct reading reading = { (struct hg_whole *)super, f, stages != NULL ? &stages->read : NULL };
    hg_share(super->threads, (f->n_cols + COLS - 1) / COLS, 1, read_tile, &reading);
    if (stages != NULL)
        stages->gbytes += 1e-9 * (double)(f->n_rows * f->n_cols * hg_size_of(super->type));
    return HINGE_OK;
}

static hinge_status diagonal(const struct hg_rows *super, double *out, double *size)
{
    const struct hg_whole *w = (const struct hg_whole *)super;
    return hg_rows_diagonal(w->of, out, size);
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

static const struct hg_rows_ops ops = { diagonal, fetch };

/* Returns a source but for its matrix and room. A value costs its one read. Rows are no multiple of a page apart, which
 * would fall on the same sets of a cache. */
static struct hg_whole source(const struct hg_rows *of, size_t n, hinge_dtype type, int threads)
{
    struct hg_rows super = { .ops = &ops, .n = n, .type = type, .threads = threads, .cost = 1, .lies = true };
    super.error_near = of->error_near;
    super.errors_fall = of->errors_fall;
    return (struct hg_whole){ .super = super, .of = of, .ld = (n + 15) / 16 * 16 + 16 };
}

static size_t room_bytes(const struct hg_whole *w)
{
    return (size_t)w->super.threads * ROWS * COLS * hg_size_of(w->super.type);
}

hinge_status hg_whole_init(struct hg_whole *w, struct hg_rows *of, const struct hg_halt *halt, hinge_error *err)
{
    *w = source(of, of->n, of->type, of->threads);
    HG_TRY(HG_MAKE(err, "a Gram matrix", HG_VALUES(w->k, w->ld * of->n, hg_size_of(of->type)),
                   HG_VALUES(w->room, room_bytes(w), 1)));
    hinge_status status = hg_rows_told(fill(w, of, halt), err);
    if (status != HINGE_OK)
        hg_whole_free(w);
    return status;
}

hinge_status hg_whole_map(struct hg_whole *w, const struct hg_whole *dots, const struct hg_map_of *map,
                          const struct hg_rows *of, hinge_error *err)
{
    *w = source(of, of->n, HINGE_F64, of->threads);
    HG_TRY(HG_MAKE(err, "a Gram matrix", HG_VALUES(w->k, w->ld * of->n, sizeof(double)),
                   HG_VALUES(w->room, room_bytes(w), 1)));
    hg_share(of->threads, of->n, LEAST, map_some, &(struct mapping){ w, dots, map });
    double *diagonal = hg_alloc(of->n, sizeof *diagonal);
    hinge_status status = diagonal != NULL ? hg_rows_diagonal(of, diagonal, NULL) : HINGE_ENOMEM;
    for (size_t i = 0; i < of->n && status == HINGE_OK; i++) /* as rows have it: RBF's is 1 */
        ((double *)(void *)w->k)[i * w->ld + i] = diagonal[i];
    hg_free(diagonal);
    if (status != HINGE_OK)
        hg_whole_free(w);
    return hg_rows_told(status, err);
}

hinge_status hg_whole_view(struct hg_whole *view, const struct hg_whole *w, int threads, hinge_error *err)
{
    *view = source(w->of, w->super.n, w->super.type, threads);
    HG_TRY(HG_MAKE(err, "tiles of a Gram matrix", HG_VALUES(view->room, room_bytes(view), 1)));
    view->k = w->k;
    view->is_view = true;
    return HINGE_OK;
}

void hg_whole_free(struct hg_whole *w)
{
    hg_free(w->is_view ? w->room : w->k); /* and with the matrix its room */
    w->k = w->room = NULL;
}

size_t hg_whole_bytes(const struct hg_whole *w)
{
    return room_bytes(w) + (w->is_view ? 0 : w->super.n * w->ld * hg_size_of(w->super.type));
}
