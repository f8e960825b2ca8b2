/*
 * The verbs of a source of kernel rows (rows.h), each by one or more fetches whose tiles a function here takes: fill
 * and block (fill_tile), apply (add_tile), dot (dot_tile). A sum is made of tiles by the threads that make them. Two
 * threads never have the same columns, so that apply, whose sums are one a column, needs no lock; dot, whose sums are
 * one a row, gives each range of columns a sum of its own.
 */
#include "lib/rows/source.h"

#include <math.h>
#include <string.h>

static const struct hg_how plain = { 0 };

/* Points the adders at the stretch within each whole row; rows are added in their order. */
void hg_add_stretch(const struct hg_adders *add, hinge_dtype type, size_t n_rows, const double *coef, void *const *row,
                    size_t first, size_t n, double *g)
{
    const void *at[8]; /* adders take eight rows in one sweep over g */
    for (size_t r = 0, some; r < n_rows; r += some) {
        some = HG_MIN((size_t)8, n_rows - r);
        for (size_t k = 0; k < some; k++)
            at[k] = (const char *)row[r + k] + first * hg_size_of(type);
        hg_add_rows(add, type, some, coef + r, at, n, g);
    }
}

/* Turns a status into an error; a source itself tells nothing, as a fetch may be one of many. */
hinge_status hg_rows_told(hinge_status status, hinge_error *err)
{
    return status == HINGE_OK ? HINGE_OK
                              : hg_fail(err, status, "%s",
                                        status == HINGE_ENOMEM ? "no memory for kernel values"
                                                               : "the kernel function reported a failure");
}

hinge_status hg_rows_diagonal(const struct hg_rows *rows, double *diagonal, double *size)
{
    return rows->ops->diagonal(rows, diagonal, size);
}

/* Passes a tile on, and asks whether to go on, where values go to the caller's rows by themselves. */
static void fill_tile(void *arg, const struct hg_tile *tile)
{
    const struct hg_how *how = arg;
    if (how->added != NULL)
        how->added(how->arg, tile);
    if (how->halt != NULL)
        hg_poll_halt(how->halt);
}

/* Makes what a source is asked of what a verb was asked. */
static struct hg_fetch fetch_of(const uint32_t *left, size_t n_left, const uint32_t *right, size_t n_right,
                                void *const *out, const struct hg_how *how, hg_tile_fn *tile, void *arg)
{
    return (struct hg_fetch){ left, n_left, right, n_right, out, tile, arg,
                              how->halt != NULL ? how->halt->stop : NULL, how->list, how->rough };
}

/* Copies *how, which the tile function is given, so that NULL and all 0 are the same; a fetch for nobody's eyes has no
 * tile function. */
hinge_status hg_rows_fill(struct hg_rows *rows, const uint32_t *left, size_t n_left, const uint32_t *right,
                          size_t n_right, void *const *out, const struct hg_how *how)
{
    struct hg_how own = how != NULL ? *how : plain;
    bool looks = own.added != NULL || own.halt != NULL;
    struct hg_fetch fetch = fetch_of(left, n_left, right, n_right, out, &own, looks ? fill_tile : NULL, &own);
    return n_left > 0 ? rows->ops->fetch(rows, &fetch) : HINGE_OK;
}

hinge_status hg_rows_fill_part(struct hg_rows *rows, const uint32_t *left, size_t n_left, const uint32_t *right,
                               size_t n_right, const struct hg_how *how)
{
    struct hg_how own = *how;
    struct hg_fetch fetch = fetch_of(left, n_left, right, n_right, NULL, &own, fill_tile, &own);
    fetch.part = rows->peers->rank;
    fetch.parts = rows->peers->count;
    fetch.few = true;
    return n_left > 0 ? rows->ops->fetch(rows, &fetch) : HINGE_OK;
}

/* Makes addresses of rows, as a fetch wants them, for a block that lies in one piece. */
hinge_status hg_rows_block(struct hg_rows *rows, const uint32_t *left, size_t n_left, const uint32_t *right,
                           size_t n_right, double *out)
{
    void **row = hg_alloc(n_left, sizeof *row);
    if (row == NULL)
        return HINGE_ENOMEM;
    for (size_t r = 0; r < n_left; r++)
        row[r] = out + r * n_right;
    hinge_status status = hg_rows_fill(rows, left, n_left, right, n_right, row, NULL);
    hg_free(row);
    return status;
}

struct sum { /* what add_tile is given */
    const struct hg_how *how;
    hinge_dtype type;
    const double *coef;
    double *g;
};

/* Adds a tile of f64 row by row, as a definition of what adders do. */
static void add_plainly(const struct hg_tile *tile, const double *coef, double *g)
{
    for (size_t r = 0; r < tile->n_rows; r++) {
        const double *row = tile->row[r];
        double factor = coef != NULL ? coef[r] : 1;
        for (size_t c = 0; c < tile->n_cols; c++)
            g[c] += factor * row[c];
    }
}

/* Says whether a coefficient is too large for sums in f32; NaN is not. */
static bool any_larger(size_t n, const double *coef, double most)
{
    bool any = false;
    for (size_t k = 0; k < n; k++)
        any = any || fabs(coef[k]) > most;
    return any;
}

/* Adds a tile's rows to the sum by the tile itself (hg_tile.add), by the caller's adders, or plainly, while the tile is
 * in the caches of the thread that made it. Column ranges are disjoint and their tiles come in the order of rows, so
 * that no lock is needed and the bits are the same for any number of threads. */
static void add_tile(void *arg, const struct hg_tile *tile)
{
    const struct sum *s = arg;
    const struct hg_adders *add = s->how->add;
    const double *coef = s->coef != NULL ? s->coef + tile->row0 : NULL;
    double *g = s->g + tile->col0;
    if (s->how->halt != NULL && hg_poll_halt(s->how->halt))
        return;
    if (tile->add != NULL && coef != NULL) /* rough sums have coefficients */
        tile->add(tile, coef, s->type == HINGE_F32 && !any_larger(tile->n_rows, coef, s->how->narrow), g);
    else if (add == NULL)
        add_plainly(tile, coef, g);
    else
        hg_add_rows(add, s->type, tile->n_rows, coef, tile->row, tile->n_cols, g);
    if (s->how->added != NULL)
        s->how->added(s->how->arg, tile);
}

hinge_status hg_rows_bring(struct hg_rows *rows, hinge_status status, const struct hg_halt *halt, double *g, size_t n)
{
    uint64_t none = 0;
    return rows->peers != NULL ? rows->peers->bring(rows->peers, status, halt, &none, g, n, rows->grain) : status;
}

hinge_status hg_rows_bring_made(struct hg_rows *rows, hinge_status status, uint64_t before, const struct hg_halt *halt,
                                double *sums, size_t n, size_t grain)
{
    uint64_t own = rows->values - before, made = own;
    status = rows->peers->bring(rows->peers, status, halt, &made, sums, n, grain);
    rows->values = before + made;
    rows->peers->spared += made - own;
    return status;
}

/* Fetches this process's part, counts what values all parts have, and brings the others their sums [n]. */
static hinge_status fetch_part(struct hg_rows *rows, struct hg_fetch *fetch, const struct hg_halt *halt, double *sums,
                               size_t n)
{
    struct hg_peers *peers = rows->peers;
    uint64_t before = rows->values;
    fetch->part = peers->rank;
    fetch->parts = peers->count;
    hinge_status status = rows->ops->fetch(rows, fetch);
    return hg_rows_bring_made(rows, status, before, halt, sums, n, rows->grain);
}

/* Makes g[c] += sum over r of coef[r] K(left[r], right[c]) in one fetch. */
hinge_status hg_rows_apply(struct hg_rows *rows, const uint32_t *left, size_t n_left, const double *coef,
                           const uint32_t *right, size_t n_right, double *g, const struct hg_how *how)
{
    struct sum sum = { how != NULL ? how : &plain, rows->type, coef, g };
    struct hg_fetch fetch = fetch_of(left, n_left, right, n_right, sum.how->out, sum.how, add_tile, &sum);
    if (n_left == 0 || n_right == 0)
        return HINGE_OK;
    return rows->peers != NULL ? fetch_part(rows, &fetch, sum.how->halt, g, n_right) : rows->ops->fetch(rows, &fetch);
}

enum { DOT_ROWS = 512, DOT_COLS = 32 }; /* at a time; no range of columns is narrower but the last */
enum { DOT_PART = 32 };                 /* rows that peers are dealt together */

struct dot {
    const struct hg_halt *halt;
    const double *coef;
    size_t rows;  /* at a time */
    double *part; /* [ranges * rows * 2] sums, and those of squares */
    uint8_t *is_made; /* [ranges] a tile begins there */
};

/* Sums a tile's rows into parts, one a range of columns and row: threads may finish ranges in any order, and the parts
 * are added up in that of columns afterwards. */
static void dot_tile(void *arg, const struct hg_tile *tile)
{
    const struct dot *d = arg;
    const double *coef = d->coef + tile->col0;
    double *part = d->part + 2 * (tile->col0 / DOT_COLS * d->rows + tile->row0);
    d->is_made[tile->col0 / DOT_COLS] = 1;
    for (size_t k = 0; k < tile->n_rows; k++) {
        const double *row = tile->row[k];
        double sum = 0, square = 0;
#pragma omp simd reduction(+ : sum, square)
        for (size_t c = 0; c < tile->n_cols; c++) {
            double term = row[c] * coef[c];
            sum += term;
            square += term * term;
        }
        part[2 * k] = sum;
        part[2 * k + 1] = square;
    }
    if (d->halt != NULL)
        hg_poll_halt(d->halt);
}

/* Counts a pair of doubles for each range of 32 columns and each of 512 rows, and a mark a range. */
size_t hg_rows_dot_bytes(size_t n_left, size_t n_right)
{
    return (n_right / DOT_COLS + 1) * (2 * HG_MIN(n_left, (size_t)DOT_ROWS) * sizeof(double) + 1);
}

/* Adds up a row's parts in the order of columns. Of ranges where no tile began there are none. */
static void sum_parts(const struct dot *d, size_t row, size_t ranges, double *sum, double *square)
{
    double all = 0, squares = 0;
    for (size_t range = 0; range < ranges; range++)
        if (d->is_made[range]) {
            all += d->part[2 * (range * d->rows + row)];
            squares += d->part[2 * (range * d->rows + row) + 1];
        }
    *sum = all;
    if (square != NULL)
        *square = squares;
}

/* Takes 512 rows at a time, so that the parts stay small, and adds up their parts in the order of columns: the sums are
 * the same bits for any number of threads. A range of columns is no narrower than DOT_COLS (hg_tile_fn), so that no two
 * share a part. */
static hinge_status dot(struct hg_rows *rows, const uint32_t *left, size_t n_left, const double *coef,
                        const uint32_t *right, size_t n_right, double *sum, double *square, const struct hg_halt *halt)
{
    size_t bytes = hg_rows_dot_bytes(n_left, n_right), ranges = n_right / DOT_COLS + 1;
    struct dot d = { halt, coef, HG_MIN(n_left, (size_t)DOT_ROWS), hg_alloc(bytes, 1), NULL };
    hinge_status status = d.part != NULL ? HINGE_OK : HINGE_ENOMEM;
    d.is_made = d.part != NULL ? (uint8_t *)(d.part + 2 * ranges * d.rows) : NULL;
    for (size_t first = 0; first < n_left && status == HINGE_OK; first += d.rows) {
        struct hg_fetch fetch = { .rows = left + first, .n_rows = HG_MIN(d.rows, n_left - first), .cols = right,
                                  .n_cols = n_right, .tile = dot_tile, .arg = &d,
                                  .stop = halt != NULL ? halt->stop : NULL };
        memset(d.is_made, 0, ranges);
        status = n_right > 0 ? rows->ops->fetch(rows, &fetch) : HINGE_OK;
        for (size_t k = 0; k < fetch.n_rows && status == HINGE_OK; k++)
            sum_parts(&d, k, ranges, &sum[first + k], square != NULL ? &square[first + k] : NULL);
    }
    hg_free(d.part);
    return status;
}

/* Deals rows to peers, as each sum is one of all columns. */
hinge_status hg_rows_dot(struct hg_rows *rows, const uint32_t *left, size_t n_left, const double *coef,
                         const uint32_t *right, size_t n_right, double *sum, double *square, const struct hg_halt *halt)
{
    struct hg_peers *peers = rows->peers;
    hinge_status status = HINGE_OK;
    uint64_t before = rows->values, none = 0;
    if (peers == NULL)
        return dot(rows, left, n_left, coef, right, n_right, sum, square, halt);
    for (size_t at = peers->rank * DOT_PART; at < n_left && status == HINGE_OK; at += peers->count * DOT_PART)
        status = dot(rows, left + at, HG_MIN((size_t)DOT_PART, n_left - at), coef, right, n_right, sum + at,
                     square != NULL ? square + at : NULL, halt);
    status = hg_rows_bring_made(rows, status, before, halt, sum, n_left, DOT_PART);
    if (square != NULL && status == HINGE_OK)
        status = peers->bring(peers, status, halt, &none, square, n_left, DOT_PART);
    return status;
}
