/*
 * Kernel rows. fetch(I, J): the vectors of I become a left side once; then, tile by tile of columns (in parallel),
 * those of J a right side, and a maker (maker.h) makes values of the two, straight into the rows asked for where there
 * are any. The arithmetic of a tile does not depend on the number of threads.
 *
 * Read gram.h before, and this file from its end: fetch() cuts I into batches, fetch_some() shares the tiles of a batch
 * among the threads of a team, make_tile() and make_rows() make one. Three filters stand around the maker, each absent
 * where it has nothing to do: right sides that are kept from fetch to fetch (keep_columns), rows whose cells are far
 * (cells.h), and values of equal points (equal.h).
 */
#include "kernels/gram.h"
#include "kernels/integers.h"
#include "lib/base/team.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- work space: X_I and its norms once, the rest a thread ------------------------------------------------------- */

struct work {                /* of one thread */
    void *dots, *b, *norm_b; /* [most_rows * tile_cols] products; the right side and its norms */
    void *room;              /* the maker's */
    uint32_t *ids;           /* [tile_cols] points of the tile */
    void **row;              /* [most_rows] where each row of a part goes */
    uint8_t *near;           /* [cells] those that some column of the tile is near to; where there are cells */
    struct hg_match *match;  /* [cols] columns of the tile that are equal to rows asked for */
    size_t n_match;
    uint64_t values;     /* made */
    double last;         /* when it looked at the clock last */
    hinge_stages *spent; /* where its seconds went; NULL: not wanted */
};

struct batch { /* rows that are made together, for all threads */
    struct hg_gram *g;
    const struct hg_fetch *f;
    size_t row0, count; /* of those asked for; at most max_rows */
    struct hg_left left;
    bool is_set;                   /* the left side, by whoever began; otherwise its vectors are still to be set */
    size_t width;                  /* columns of a tile */
    size_t first, step;            /* of the tiles that are made, and from one to the next */
    int failed;                    /* status */
    uint64_t values;               /* made */
    hinge_stages spent;            /* where threads' seconds went */
    int adding;                    /* a thread adds its own to spent */
    void *norm;                    /* [max_rows] of its points, */
    uint32_t *ids;                 /* [max_rows] which are these */
    struct hg_stretches stretches; /* where there are cells */
};

/* Lays out the work space at base (NULL: only measures); returns its size. First comes what all threads share, the
 * batch's, then each thread's in turn: w is what the thread asked for has. */
static size_t lay_out(const struct hg_gram *g, char *base, int thread, struct batch *b, struct work *w)
{
    const struct hg_tiler *t = &g->tiler;
    const struct hg_maker *maker = t->maker;
    size_t size = hg_size_of(t->type), at = 0, rows = HG_MIN(maker->most_rows, g->max_rows), cols = g->tile_cols;
    *w = (struct work){ 0 };
    b->left = (struct hg_left){ 0 };
    if (maker->lay_left != NULL)
        at = maker->lay_left(t, &g->points, g->max_rows, base, &b->left);
    b->norm = hg_take(base, &at, g->max_rows * size);
    b->ids = hg_take(base, &at, g->max_rows * sizeof(uint32_t));
    b->stretches.of = hg_take(base, &at, g->points.cells != NULL ? g->max_rows * sizeof *b->stretches.of : 0);
    for (int i = 0; i <= thread; i++) {
        w->dots = hg_take(base, &at, rows * cols * size);
        w->b = hg_take(base, &at, maker->lay_left != NULL ? maker->right_bytes(t, &g->points, cols) : 0);
        w->room = hg_take(base, &at, maker->room != NULL ? maker->room(t) : 0);
        w->norm_b = hg_take(base, &at, cols * size);
        w->ids = hg_take(base, &at, cols * sizeof(uint32_t));
        w->row = hg_take(base, &at, rows * sizeof(void *));
        w->near = hg_take(base, &at, g->points.cells != NULL ? g->points.cells->count : 0);
        w->match = hg_take(base, &at, g->equal.asked != NULL ? cols * sizeof *w->match : 0);
    }
    return at;
}

/* ---- one fetch --------------------------------------------------------------------------------------------------- */

enum stage { NOTHING, GATHER, PRODUCTS, MAP, UPDATE };

/* Counts what passed since the last look as spent on this. */
static void lap(struct work *w, enum stage stage)
{
    hinge_stages *s = w->spent;
    if (s == NULL)
        return;
    double now = hg_now(), other = 0, *const to[] = { &other, &s->gather, &s->products, &s->map, &s->update };
    *to[stage] += now - w->last;
    w->last = now;
}

/* Returns the number among the points of the source's point i. */
static size_t point_of(const struct hg_gram *g, size_t i)
{
    return g->subset != NULL ? g->subset[i] : i;
}

/* Gathers norms of points; of a source without norms nothing is read. */
static void gather_norms(const struct hg_gram *g, const uint32_t *ids, size_t count, void *out)
{
    if (g->norms != NULL)
        hg_gather(g->norms, hg_size_of(g->tiler.type), ids, count, out);
}

struct kept {       /* a right side that is kept: g->kept_bytes of g->kept, tile by tile */
    uint64_t *list; /* hg_fetch's, of the last fetch that saw these columns */
    uint32_t *ids;  /* [tile_cols] */
    void *norms;    /* [tile_cols] */
    uint8_t *near;  /* [cells] as struct work's */
    void *x;
};

/* Lays out a kept right side at base (NULL: only measures); returns its size. */
static size_t kept_tile(const struct hg_gram *g, char *base, struct kept *k)
{
    size_t size = hg_size_of(g->tiler.type), at = 0;
    k->list = hg_take(base, &at, sizeof(uint64_t));
    k->ids = hg_take(base, &at, g->tile_cols * sizeof(uint32_t));
    k->norms = hg_take(base, &at, g->tile_cols * size);
    k->near = hg_take(base, &at, g->points.cells != NULL ? g->points.cells->count : 0);
    k->x = hg_take(base, &at, g->tiler.maker->right_bytes(&g->tiler, &g->points, g->tile_cols));
    return at;
}

/* Makes room for right sides that are kept; without memory for it, nothing is kept, and neither is anything of a fetch
 * whose list is 0. Of a lent arena as much is reserved as the caller's largest problem needs, so that no later one
 * moves it. */
static void keep_columns(struct hg_gram *g)
{
    struct kept k;
    size_t tiles = (g->super.n + g->tile_cols - 1) / g->tile_cols;
    if (g->kept != NULL || !g->tiler.maker->keeps)
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
        *k.list = 0;
        memset(k.ids, 0xff, g->tile_cols * sizeof *k.ids); /* no point's number */
    }
}

/* Returns the columns of a tile as its maker reads them; *near: the cells of rows that matter to them, NULL: all do. A
 * side that is kept is taken as it is under the list that it was made for; under another it is compared, point by
 * point, and made again where it differs. A list of fewer columns leaves no number of a point behind them, so that a
 * longer one never takes them for its own. */
static struct hg_right make_right(struct hg_gram *g, const struct hg_fetch *f, size_t col0, size_t cols,
                                  const struct work *w, const uint8_t **near)
{
    uint32_t *ids = w->ids;
    struct kept k = { .near = w->near, .norms = w->norm_b, .x = w->b };
    bool keeps = f->list != 0 && g->kept != NULL;
    if (keeps)
        kept_tile(g, g->kept + col0 / g->tile_cols * g->kept_bytes, &k);
    const struct hg_origin origin = { &g->points, keeps ? k.ids : ids, 0 };
    struct hg_right right = { cols, 0, k.x, g->norms != NULL ? k.norms : NULL, origin };
    *near = f->rough && g->points.cells != NULL ? k.near : NULL;
    if (keeps && *k.list == f->list)
        return right;
    for (size_t c = 0; c < cols; c++)
        ids[c] = (uint32_t)point_of(g, f->cols != NULL ? f->cols[col0 + c] : col0 + c);
    if (g->points.cells != NULL && (keeps || f->rough))
        hg_cells_near(g->points.cells, ids, cols, k.near);
    if (keeps) {
        *k.list = f->list;
        if (memcmp(k.ids, ids, cols * sizeof *ids) == 0)
            return right;
        memcpy(k.ids, ids, cols * sizeof *ids);
        memset(k.ids + cols, 0xff, (g->tile_cols - cols) * sizeof *ids);
    }
    gather_norms(g, ids, cols, k.norms);
    if (g->tiler.maker->set_right != NULL)
        g->tiler.maker->set_right(&g->tiler, &right, k.x, w->room);
    return right;
}

struct unmade { /* a tile that adds itself */
    const struct hg_tiler *tiler;
    const struct hg_part_of_tile *part;
};

static void add_unmade(const struct hg_tile *tile, const double *coef, bool narrow, double *g)
{
    const struct unmade *u = tile->source;
    u->tiler->maker->add(u->tiler, u->part, coef, narrow, g);
}

/* Returns where a tile of columns from col0 on is within the rows that are kept of a fetch: of parts, behind the tiles
 * of this part alone. */
static size_t place_of(const struct batch *b, size_t col0)
{
    return b->f->parts > 1 ? col0 / (b->width * b->f->parts) * b->width : col0;
}

/* Makes rows [first, end) of the batch at the columns of a tile, most_rows at a time: products, map, values of equal
 * points, and the tile's consumer while all of that is in the cache. Rows that are wanted go straight to their place,
 * others to the thread's dots. */
static hinge_status make_rows(struct hg_gram *g, const struct batch *b, const struct hg_right *right, size_t first,
                              size_t end, size_t col0, struct work *w)
{
    const struct hg_maker *maker = g->tiler.maker;
    const struct hg_fetch *f = b->f;
    size_t size = hg_size_of(g->tiler.type), rows;
    size_t ld = HG_MIN(g->tile_cols, (right->count + 63) / 64 * 64); /* few columns touch little memory */
    bool adds = f->rough && f->tile != NULL && g->super.adds;
    w->values += (end - first) * right->count;
    for (size_t r0 = first; r0 < end; r0 += rows) {
        rows = HG_MIN(maker->most_rows, end - r0);
        for (size_t r = 0; r < rows && !adds; r++) {
            char *out = f->out != NULL ? f->out[b->row0 + r0 + r] : NULL;
            w->row[r] = out != NULL ? out + place_of(b, col0) * size : (char *)w->dots + r * ld * size;
        }
        struct hg_part_of_tile part = { &b->left, right, r0, rows, ld, w->dots, w->room, w->row, NULL };
        HG_TRY(maker->products(&g->tiler, &part));
        lap(w, PRODUCTS);
        if (maker->map != NULL && !adds)
            maker->map(&g->tiler, &part);
        hg_equal_set(&g->equal, w->match, w->n_match, r0, r0 + rows, g->tiler.type, w->row);
        lap(w, MAP);
        const struct unmade unmade = { &g->tiler, &part };
        struct hg_tile tile = { b->row0 + r0, rows, col0, right->count, (const void *const *)w->row, NULL, NULL };
        if (adds)
            tile.row = NULL, tile.add = add_unmade, tile.source = &unmade;
        if (f->tile != NULL) {
            f->tile(f->arg, &tile);
            lap(w, UPDATE);
        }
    }
    return HINGE_OK;
}

/* Writes 0 for the values that are left out as negligible, of rows [first, end) where they are kept. */
static void clear_rows(const struct hg_gram *g, const struct batch *b, size_t first, size_t end, size_t col0,
                       size_t cols, struct work *w)
{
    size_t size = hg_size_of(g->tiler.type);
    void *const *out = b->f->out != NULL ? b->f->out + b->row0 : NULL;
    for (size_t r = first; r < end && out != NULL; r++)
        if (out[r] != NULL)
            memset((char *)out[r] + place_of(b, col0) * size, 0, cols * size);
    lap(w, MAP);
}

/* Makes the batch's rows at a tile of columns, without those whose cells are far from all of these. */
static hinge_status make_tile(struct hg_gram *g, const struct batch *b, size_t col0, size_t width, struct work *w)
{
    const struct hg_fetch *f = b->f;
    size_t cols = HG_MIN(width, f->n_cols - col0), done = 0;
    const uint8_t *near;
    struct hg_right right = make_right(g, f, col0, cols, w, &near);
    lap(w, GATHER);
    struct hg_rows_near rows = { 0 };
    bool any = near == NULL || hg_cells_next(&b->stretches, near, &rows), looks = any && g->equal.asked != NULL;
    w->n_match = looks ? hg_equal_match(&g->equal, right.origin.ids, cols, w->match) : 0;
    if (near == NULL)
        return make_rows(g, b, &right, 0, b->count, col0, w);
    if (b->row0 == 0 && rows.first > 0 && f->tile != NULL) /* the range begins without rows */
        f->tile(f->arg, &(struct hg_tile){ .col0 = col0, .n_cols = cols });
    for (; any; any = hg_cells_next(&b->stretches, near, &rows)) {
        clear_rows(g, b, done, rows.first, col0, cols, w);
        HG_TRY(make_rows(g, b, &right, rows.first, rows.end, col0, w));
        done = rows.end;
    }
    clear_rows(g, b, done, b->count, col0, cols, w);
    return HINGE_OK;
}

/* Says whether the caller has asked the fetch to end. */
static bool stopped(const struct hg_fetch *f)
{
    return f->stop != NULL && __atomic_load_n(f->stop, __ATOMIC_RELAXED) != 0;
}

/* Returns the columns of a tile. Where few columns are fetched tiles are narrower, so that each thread has some. The
 * width depends on what is fetched alone, so that values do not depend on the threads. Tiles that are kept, dealt where
 * columns are many, or made whole, have their usual width. */
static size_t tile_width(const struct hg_gram *g, const struct hg_fetch *f)
{
    bool usual = f->list != 0 || (f->parts > 0 && !f->few) || g->tiler.maker->whole_cols != 0;
    return usual ? g->tile_cols : hg_few_columns(g->tile_cols, f->n_cols);
}

/* Prepares the batch's rows before the team begins: ids, norms, cells, equal ones, and their vectors where they are
 * taken as they lie. */
static void ask_rows(struct hg_gram *g, struct batch *b)
{
    const struct hg_maker *maker = g->tiler.maker;
    const void *direct = NULL;
    for (size_t r = 0; r < b->count; r++)
        b->ids[r] = (uint32_t)point_of(g, b->f->rows[b->row0 + r]);
    if (b->f->rough && g->points.cells != NULL)
        hg_cells_stretches(g->points.cells, b->ids, b->count, &b->stretches);
    if (g->equal.asked != NULL)
        hg_equal_ask(&g->equal, b->ids, b->count);
    gather_norms(g, b->ids, b->count, b->norm);
    b->left.norm = g->norms != NULL ? b->norm : NULL;
    b->left.origin = (struct hg_origin){ &g->points, b->ids, 0 };
    if (maker->plain)
        direct = hg_points_direct(&g->points, b->ids, 0, b->count, g->tiler.type, &b->left.ld);
    if (direct != NULL)
        b->left.x = direct;
    b->is_set = direct != NULL || maker->set_left == NULL;
}

/* Takes a thread's work space, for as long as it makes a piece. */
static struct work begin_piece(const struct batch *b, int thread, hinge_stages *spent)
{
    struct batch same;
    struct work w;
    lay_out(b->g, b->g->work, thread, &same, &w);
    *spent = (hinge_stages){ 0 };
    w.spent = b->g->super.stages != NULL ? spent : NULL;
    lap(&w, NOTHING);
    return w;
}

/* Adds what a piece took to what the batch took. */
static void end_piece(struct batch *b, const struct work *w)
{
    __atomic_fetch_add(&b->values, w->values, __ATOMIC_RELAXED);
    if (w->spent == NULL)
        return;
    while (__atomic_exchange_n(&b->adding, 1, __ATOMIC_ACQUIRE) != 0)
        ;
    hg_add_stages(&b->spent, w->spent);
    __atomic_store_n(&b->adding, 0, __ATOMIC_RELEASE);
}

/* Sets vectors [first, end) of the left side. */
static void set_vectors(void *arg, int thread, size_t first, size_t end)
{
    struct batch *b = arg;
    hinge_stages spent;
    struct work w = begin_piece(b, thread, &spent);
    for (size_t r = first; r < end; r++)
        b->g->tiler.maker->set_left(&b->g->tiler, &b->left, r, w.room);
    lap(&w, GATHER);
    end_piece(b, &w);
}

/* Makes a tile. The first failure ends the others before they begin. */
static void make_tiles(void *arg, int thread, size_t first, size_t end)
{
    struct batch *b = arg;
    hinge_stages spent;
    struct work w = begin_piece(b, thread, &spent);
    for (size_t tile = first; tile < end; tile++) {
        if (stopped(b->f) || __atomic_load_n(&b->failed, __ATOMIC_RELAXED) != HINGE_OK)
            break;
        hinge_status status = make_tile(b->g, b, (b->first + tile * b->step) * b->width, b->width, &w);
        if (status != HINGE_OK)
            __atomic_store_n(&b->failed, (int)status, __ATOMIC_RELAXED);
    }
    end_piece(b, &w);
}

/* Sets which tiles are this part's; returns how many they are. */
static size_t deal_tiles(struct batch *b)
{
    const struct hg_fetch *f = b->f;
    size_t tiles = (f->n_cols + b->width - 1) / b->width, parts = HG_MAX(f->parts, (size_t)1);
    size_t each = hg_rows_part(f->n_cols, b->width, parts);
    b->first = f->few ? HG_MIN(f->part * each, tiles) : f->part;
    b->step = f->few ? 1 : parts;
    return f->few ? HG_MIN(each, tiles - b->first) : (tiles + parts - 1 - f->part) / parts;
}

/* Makes rows [row0, row0 + count) of those asked for: the left side once, then tiles. Tiles are dealt one by one, since
 * those with far cells or kept sides are done sooner. */
static hinge_status fetch_some(struct hg_gram *g, const struct hg_fetch *f, size_t row0, size_t count)
{
    enum { VECTORS = 32 }; /* of the left side in a piece */
    hinge_stages *stages = g->super.stages;
    struct batch b = { .g = g, .f = f, .row0 = row0, .count = count, .width = tile_width(g, f) };
    struct work first;
    lay_out(g, g->work, 0, &b, &first);
    first.spent = stages != NULL ? &b.spent : NULL;
    lap(&first, NOTHING);
    ask_rows(g, &b);
    lap(&first, GATHER);
    int team = hg_kernel_team(&g->tiler.kernel, g->super.threads, (double)count * (double)f->n_cols, g->tiler.d);
    if (!b.is_set)
        hg_share(team, count, VECTORS, set_vectors, &b);
    hg_share(team, deal_tiles(&b), 1, make_tiles, &b);
    if (g->equal.asked != NULL)
        hg_equal_forget(&g->equal, b.ids, count);
    g->super.values += b.values;
    b.spent.gflop = 2e-9 * (double)b.values * g->tiler.maker->cost(&g->tiler, &g->points).products;
    g->super.gflop += b.spent.gflop;
    if (stages != NULL)
        hg_add_stages(stages, &b.spent);
    return (hinge_status)b.failed;
}

/* Answers a fetch, max_rows rows at a time: as many as a left side of 32 MB holds, 2,048 at most. */
static hinge_status fetch(struct hg_rows *super, const struct hg_fetch *f)
{
    struct hg_gram *g = (struct hg_gram *)super;
    hinge_status status = HINGE_OK;
    if (f->list != 0)
        keep_columns(g);
    for (size_t r = 0; r < f->n_rows && status == HINGE_OK && !stopped(f); r += g->max_rows)
        status = fetch_some(g, f, r, HG_MIN(g->max_rows, f->n_rows - r));
    return status;
}

/* Returns what values in f32 of two points that lie side by side, both of such a squared norm, are off by at most, as
 * measured (doc/tried.md): what a dot product loses grows with the root of how many of its products are not 0, up to
 * some 64, as more are added up in many lanes. hg_kernel_error is a bound, which is too large to doubt points by. */
static double error_near(const struct hg_gram *g, double norm)
{
    size_t most = g->points.most_nonzeros, terms = HG_MIN(most > 0 ? most : g->tiler.d, (size_t)64);
    return hg_kernel_error_by(&g->tiler.kernel, HINGE_F32, 0x1p-24 * (0.5 + sqrt((double)terms)), 0, norm);
}

/* Errors found already, by norms that are rounded up by a 64th at most, as those of many points are. */
enum { KNOWN = 512 };
struct known {
    float norm;
    double error;
};

/* Returns error_near of point p. */
static double error_of(const struct hg_gram *g, uint32_t p, struct known *known)
{
    enum { BITS = 17 }; /* of a float's 23 that are rounded away */
    float norm = g->norms != NULL ? ((const float *)g->norms)[p] : (float)hg_points_norm(&g->points, p, HINGE_F32);
    uint32_t bits;
    memcpy(&bits, &norm, sizeof bits);
    bits = (bits + (1u << BITS) - 1) >> BITS << BITS;
    memcpy(&norm, &bits, sizeof norm);
    known += (bits >> BITS) % KNOWN;
    if (known->norm != norm)
        *known = (struct known){ norm, error_near(g, norm) };
    return known->error;
}

/* Makes K(x_i, x_i): 1 of functions of x - z, by norms where the kernel is one of dot products, by parts, an entry of
 * the matrix given, or a call of the user's function. size: |K(x_i, x_i)|, but where that does not show which dot
 * products in f32 lose most, those of the longest vectors, their error; of points that are off their whole numbers, how
 * far, and of values that grow with vectors both. */
static hinge_status diagonal(const struct hg_rows *super, double *out, double *size)
{
    const struct hg_gram *g = (const struct hg_gram *)super;
    const struct hg_kernel_row *row = hg_kernel_row(g->tiler.kernel.type);
    const struct hg_integers *n = g->tiler.maker == &hg_by_integers ? g->points.integers : NULL;
    const float *moved = n != NULL ? n->moved : NULL;
    double most_moved = moved != NULL ? fmax(n->most_moved, DBL_MIN) : 0;
    struct known known[KNOWN] = { { NAN, 0 } };
    double *x = hg_alloc(HG_MAX(g->tiler.d, (size_t)1), sizeof *x);
    hinge_status status = x != NULL ? HINGE_OK : HINGE_ENOMEM;
    for (size_t i = 0; i < super->n && status == HINGE_OK; i++) {
        uint32_t p = (uint32_t)point_of(g, i);
        if (row->is_1_of_equal) {
            out[i] = 1;
        } else if (row->source == HG_FROM_DOTS) {
            double norm = hg_points_norm(&g->points, p, g->tiler.type);
            out[i] = hg_kernel_value(&g->tiler.kernel, norm, norm, norm);
        } else if (row->source == HG_FROM_PARTS) {
            out[i] = hg_combined_diagonal(&g->tiler, &g->points, p);
        } else if (row->source == HG_FROM_MATRIX) {
            size_t r = g->points.order != NULL ? g->points.order[p] : p;
            out[i] = hg_matrix_value(&g->points.x, r, g->tiler.column != NULL ? g->tiler.column[p] : p);
        } else {
            hg_points_pack(&g->points, &p, 0, 1, HINGE_F64, x, g->tiler.d);
            hinge_matrix view = { x, HINGE_F64, 1, g->tiler.d, g->tiler.d };
            if (g->tiler.kernel.user(g->tiler.kernel.cookie, &view, &view, &out[i], 1) != 0)
                status = HINGE_ECALLBACK;
        }
        if (size != NULL && moved != NULL)
            size[i] = (hg_kernel_is_bounded(&g->tiler.kernel) ? 1 : fabs(out[i])) * (1 + moved[p] / most_moved);
        else if (size != NULL && super->error_near > 0)
            size[i] = error_of(g, p, known);
        else if (size != NULL)
            size[i] = fabs(out[i]);
    }
    hg_free(x);
    return status;
}

/* Returns the largest squared norm of the source's points, in the tiler's type; 0: there are none. */
static double largest_norm(const struct hg_gram *g, const uint32_t *subset, size_t n)
{
    double largest = 0;
    for (size_t i = 0; g->norms != NULL && i < n; i++) {
        size_t p = subset != NULL ? subset[i] : i;
        largest = HG_MAX(largest, g->tiler.type == HINGE_F64 ? ((const double *)g->norms)[p]
                                                             : (double)((const float *)g->norms)[p]);
    }
    return largest;
}

static const struct hg_rows_ops ops = { diagonal, fetch };

/* Sets how the source works: the maker; a right side of at most 8 MB, in whole panels, of at most 512 columns; a left
 * side of at most 32 MB; and work space for all threads. No width depends on the number of threads. Rows add themselves
 * (super.adds) where the maker can add without writing values and making them again is cheaper than reading them: then
 * nobody keeps them. */
hinge_status hg_gram_init(struct hg_gram *g, const struct hg_tiler *tiler, const struct hg_points *points,
                          const uint32_t *subset, size_t n, const uint32_t *column, const void *norms, int threads,
                          hinge_error *err)
{
    memset(g, 0, sizeof *g);
    g->tiler = *tiler;
    g->tiler.column = column;
    g->tiler.table = &g->table;
    g->points = *points;
    g->subset = subset;
    g->norms = norms;
    double largest = largest_norm(g, subset, n);
    g->tiler.close = hg_tiler_close(&tiler->kernel, tiler->type, tiler->d, largest);
    hg_tiler_choose(&g->tiler, points);
    const struct hg_maker *maker = g->tiler.maker;
    g->super = (struct hg_rows){
        .ops = &ops, .n = n, .type = tiler->type, .threads = threads, .cost = maker->cost(&g->tiler, points).reads
    };
    if (points->cells != NULL)
        g->super.cost *= points->cells->near;
    bool varies = tiler->type == HINGE_F32 && hg_kernel_is_bounded(&tiler->kernel) && !maker->exact &&
                  maker->tabulate == NULL && maker != &hg_by_integers;
    /* sizes are those of norms rounded up by less than 2 % */
    g->super.error_near = !varies ? 0 : norms != NULL ? 1.02 * error_near(g, 1.02 * largest) : INFINITY;
    g->super.errors_fall = varies && hg_kernel_row(tiler->kernel.type)->of_distance;
    g->super.adds = maker->add != NULL && hg_is_cheap(g->super.cost);
    size_t size = hg_size_of(tiler->type), bytes = HG_MAX(hg_stride(tiler), (size_t)1) * size;
    size_t whole = maker->panel != 0 ? maker->panel / size : 16, fit = ((size_t)8 << 20) / bytes / whole * whole;
    g->tile_cols = HG_MIN((size_t)HG_TILE_COLS, HG_MAX(fit, HG_MAX(whole, (size_t)32)));
    g->tile_cols = HG_MIN(g->tile_cols, HG_MAX((n + 63) / 64, (size_t)1) * 64); /* whole panels */
    if (maker->whole_cols != 0)                                                 /* however few the points */
        g->tile_cols = maker->whole_cols;
    g->max_rows = HG_MIN((size_t)2048, HG_MAX((size_t)64, ((size_t)32 << 20) / bytes));
    g->max_rows = HG_MIN(g->max_rows, HG_MAX(n, (size_t)1));
    if (maker->tabulate != NULL) {
        g->norms = NULL;
        maker->tabulate(&g->tiler, points, &g->table);
    } else if (maker->exact && hg_kernel_row(tiler->kernel.type)->of_distance) {
        g->norms = NULL;
    } else if (hg_kernel_row(tiler->kernel.type)->of_distance) {
        hinge_status status = hg_equal_init(&g->equal, points->equal, points->n, g->max_rows, err);
        if (status != HINGE_OK)
            return status;
    }
    struct batch batch;
    struct work w;
    g->work_bytes = lay_out(g, NULL, threads - 1, &batch, &w);
    g->work = hg_alloc(g->work_bytes, 1);
    g->order = points->cells != NULL ? hg_cells_order(points->cells, subset, n) : NULL;
    if (g->work == NULL || (points->cells != NULL && g->order == NULL)) {
        hg_gram_free(g);
        return hg_fail(err, HINGE_ENOMEM, "no memory for the work space of kernel blocks (%zu bytes)", g->work_bytes);
    }
    g->super.order = g->order;
    return HINGE_OK;
}

/* Halves tiles until there are 16 of them, but for makers that have a width of their own. The width depends on the
 * points alone, so that values do not depend on how many peers there are. */
void hg_gram_share(struct hg_gram *g, struct hg_peers *peers)
{
    enum { TILES = 16, LEAST = 64 };
    while (peers != NULL && g->tiler.maker->whole_cols == 0 && g->tile_cols % (2 * LEAST) == 0 &&
           g->super.n < TILES * g->tile_cols)
        g->tile_cols /= 2;
    g->super.peers = peers;
    g->super.grain = g->tile_cols;
    g->super.is_coarse = g->tiler.maker->whole_cols != 0;
}

/* Leaves the kept sides of a lent arena to the caller. */
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
