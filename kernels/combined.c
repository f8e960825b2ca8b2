/*
 * Tiles of combined kernels (maker.h): sums of products of other kernels, each on columns of its own. A part has its
 * own maker, by a tiler over these columns, whose sides lie one after the other in the combined sides; this maker has
 * each of them make its values of a tile, and multiplies and adds them while they are in the cache. Nothing is kept of
 * a part but its sides: what else it needs (its points, a view of the columns, and where its left side lies) is the
 * same each time it is asked, and costs next to nothing beside a tile. Norms of parts of the distance are made with
 * their sides, of the vectors as they are, without a shift.
 *
 * Parts go by GEMM or by differences, whatever the points: both sides of a tile must have been laid out by one maker,
 * and prediction has other points on the left than on the right.
 */
#include "kernels/maker.h"

#include <string.h>

enum { ROWS = 64 }; /* of a part of a tile: its values stay in L2 with those of the parts */

/* Is one part over its columns of some points. Its addresses hold as long as it stays where it is. */
struct piece {
    struct hg_tiler tiler;
    struct hg_points points;
    hinge_matrix more; /* points.more's columns */
    double factor;
    bool times, norms; /* norms: its kernel is one of the distance */
};

struct right_piece { /* of a right side, where it lies */
    struct piece piece;
    struct hg_right right;
};

static hinge_matrix columns_of(const hinge_matrix *x, size_t first, size_t count)
{
    hinge_matrix some = *x;
    size_t at = first * (hg_matrix_by_rows(x) ? 1 : x->stride);
    some.data = (const char *)x->data + at * hg_size_of(x->type);
    some.cols = count;
    return some;
}

static const struct hg_points any = { 0 }; /* the choice of a part's maker does not hang on them */

/* Chooses the part's tiler. */
static void take_tiler(const struct hg_tiler *t, size_t k, struct piece *p)
{
    hinge_kernel_part part = hg_kernel_part(&t->kernel, k);
    *p = (struct piece){ .tiler = { part.kernel, t->maps, t->type, part.count },
                         .factor = part.factor,
                         .times = part.times };
    p->norms = hg_kernel_row(part.kernel.type)->of_distance;
    hg_tiler_choose(&p->tiler, &any);
}

/* Takes the part's columns of the points. */
static void take_piece(const struct hg_tiler *t, const struct hg_points *points, size_t k, struct piece *p)
{
    size_t first = hg_kernel_part(&t->kernel, k).first;
    take_tiler(t, k, p);
    p->points =
        (struct hg_points){ .x = columns_of(&points->x, first, p->tiler.d), .order = points->order, .n = points->n };
    const double *const from[] = { points->shift, points->factor, points->offset, points->origin };
    const double **const to[] = { &p->points.shift, &p->points.factor, &p->points.offset, &p->points.origin };
    for (int i = 0; i < 4; i++)
        *to[i] = from[i] != NULL ? from[i] + first : NULL;
    if (points->more == NULL)
        return;
    p->more = columns_of(points->more, first, p->tiler.d);
    p->points.more = &p->more;
}

/* ---- sides ------------------------------------------------------------------------------------------------------- */

/* Lays out the part's left side of `count` vectors at base (NULL: only measures); returns its size. */
static size_t lay_piece(const struct piece *p, size_t count, char *base, struct hg_left *left)
{
    size_t at = 0;
    *left = (struct hg_left){ 0 };
    void *norm = hg_take(base, &at, p->norms ? count * hg_size_of(p->tiler.type) : 0);
    left->norm = p->norms ? norm : NULL;
    char *side = base != NULL ? base + at : NULL;
    return at + hg_aligned(p->tiler.maker->lay_left(&p->tiler, &p->points, count, side, left));
}

/* Keeps where the sides of parts begin, and in ld for how many vectors they were laid out. */
static size_t lay_left(const struct hg_tiler *t, const struct hg_points *points, size_t count, char *base,
                       struct hg_left *left)
{
    size_t at = 0;
    struct piece p;
    struct hg_left of_part;
    for (size_t k = 0; k < t->kernel.n_parts; k++) {
        take_piece(t, points, k, &p);
        at += lay_piece(&p, count, NULL, &of_part);
    }
    left->x = base;
    left->ld = count;
    return at;
}

/* Takes part k and its left side, which begins `at` bytes behind the first; returns where the next one begins. */
static size_t take_left(const struct hg_tiler *t, const struct hg_left *left, size_t k, size_t at, struct piece *p,
                        struct hg_left *of_part)
{
    take_piece(t, left->origin.points, k, p);
    at += lay_piece(p, left->ld, (char *)left->x + at, of_part);
    of_part->origin = (struct hg_origin){ &p->points, left->origin.ids, left->origin.first };
    return at;
}

static void set_norm(const struct piece *p, const struct hg_origin *origin, size_t i, const void *norms)
{
    if (p->norms)
        hg_put((void *)norms, p->tiler.type, i, hg_points_norm(&p->points, hg_origin_point(origin, i), p->tiler.type));
}

static void set_left(const struct hg_tiler *t, const struct hg_left *left, size_t r, void *room)
{
    struct piece p;
    struct hg_left of_part;
    for (size_t k = 0, at = 0; k < t->kernel.n_parts; k++) {
        at = take_left(t, left, k, at, &p, &of_part);
        p.tiler.maker->set_left(&p.tiler, &of_part, r, room);
        set_norm(&p, &of_part.origin, r, of_part.norm);
    }
}

static size_t right_bytes(const struct hg_tiler *t, const struct hg_points *points, size_t count)
{
    size_t bytes = hg_aligned(t->kernel.n_parts * sizeof(struct right_piece));
    struct piece p;
    for (size_t k = 0; k < t->kernel.n_parts; k++) {
        take_piece(t, points, k, &p);
        bytes += hg_aligned(count * hg_size_of(t->type)) +
                 hg_aligned(p.tiler.maker->right_bytes(&p.tiler, &p.points, count));
    }
    return bytes;
}

/* Parts stand first, then norms and side of each. */
static void set_right(const struct hg_tiler *t, struct hg_right *right, void *x, void *room)
{
    struct right_piece *part = x;
    size_t at = hg_aligned(t->kernel.n_parts * sizeof *part), count = right->count;
    right->x = x;
    for (size_t k = 0; k < t->kernel.n_parts; k++) {
        struct piece *p = &part[k].piece;
        take_piece(t, right->origin.points, k, p);
        void *norm = hg_take(x, &at, count * hg_size_of(t->type));
        void *side = hg_take(x, &at, p->tiler.maker->right_bytes(&p->tiler, &p->points, count));
        part[k].right = (struct hg_right){
            count, 0, NULL, p->norms ? norm : NULL, { &p->points, right->origin.ids, right->origin.first }
        };
        for (size_t c = 0; c < count; c++)
            set_norm(p, &part[k].right.origin, c, norm);
        p->tiler.maker->set_right(&p->tiler, &part[k].right, side, room);
    }
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Returns the bytes of values of a part of a tile, of which there are two: a product of parts, and the part at hand. */
static size_t value_bytes(const struct hg_tiler *t)
{
    return (size_t)ROWS * HG_TILE_COLS * hg_size_of(t->type);
}

static size_t room_bytes(const struct hg_tiler *t)
{
    size_t most = 0;
    struct piece p;
    for (size_t k = 0; k < t->kernel.n_parts; k++) {
        take_tiler(t, k, &p);
        if (p.tiler.maker->room != NULL)
            most = HG_MAX(most, p.tiler.maker->room(&p.tiler));
    }
    return 2 * value_bytes(t) + hg_aligned(most);
}

static double largest(const void *norms, hinge_dtype type, size_t first, size_t count)
{
    double most = 0;
    for (size_t i = first; norms != NULL && i < first + count; i++)
        most = HG_MAX(most, hg_get(norms, type, i));
    return most;
}

/* Makes a row of a product: term *= values. */
static void multiply(hinge_dtype type, size_t n, const void *values, void *term)
{
    const float *from32 = values;
    const double *from64 = values;
    float *to32 = term;
    double *to64 = term;
    if (type == HINGE_F32)
        for (size_t c = 0; c < n; c++)
            to32[c] *= from32[c];
    else
        for (size_t c = 0; c < n; c++)
            to64[c] *= from64[c];
}

/* Adds a row of a sum, or begins it: out = factor * values, or out += that. */
static void add(hinge_dtype type, size_t n, double factor, const void *values, bool begins, void *out)
{
    const float *from32 = values;
    const double *from64 = values;
    float *to32 = out, by = (float)factor;
    double *to64 = out;
    if (type == HINGE_F32)
        for (size_t c = 0; c < n; c++)
            to32[c] = begins ? by * from32[c] : to32[c] + by * from32[c];
    else
        for (size_t c = 0; c < n; c++)
            to64[c] = begins ? factor * from64[c] : to64[c] + factor * from64[c];
}

/* Makes the values of all parts in turn. A product gathers in `term`; where it ends, it is added to the sum, where the
 * tile's rows go. */
static hinge_status products(const struct hg_tiler *t, const struct hg_part_of_tile *tile)
{
    const struct right_piece *right = tile->right->x;
    size_t n = tile->right->count, ld = (n + 63) / 64 * 64, size = hg_size_of(t->type), parts = t->kernel.n_parts;
    char *term = tile->room, *values = term + value_bytes(t), *rest = values + value_bytes(t);
    double factor = 1;
    bool begins = true;
    struct piece p;
    struct hg_left left;
    for (size_t k = 0, at = 0; k < parts; k++) {
        at = take_left(t, tile->left, k, at, &p, &left);
        p.tiler.close = hg_tiler_close(
            &p.tiler.kernel, t->type, p.tiler.d,
            HG_MAX(largest(left.norm, t->type, tile->row0, tile->m), largest(right[k].right.norm, t->type, 0, n)));
        struct hg_part_of_tile part = { &left, &right[k].right,         tile->row0, tile->m,
                                        ld,    p.times ? values : term, rest,       NULL,
                                        NULL };
        HG_TRY(hg_tile_values(&p.tiler, &part));
        factor = p.times ? factor * p.factor : p.factor;
        bool ends = k + 1 == parts || !hg_kernel_part(&t->kernel, k + 1).times;
        for (size_t r = 0; r < tile->m; r++) {
            if (p.times)
                multiply(t->type, n, values + r * ld * size, term + r * ld * size);
            if (ends)
                add(t->type, n, factor, term + r * ld * size, begins, hg_row_of_part(t, tile, r));
        }
        begins = begins && !ends;
    }
    return HINGE_OK;
}

/* Adds up what the values of parts take, and a product's or sum's pass over them. */
static struct hg_cost cost(const struct hg_tiler *t, const struct hg_points *points)
{
    struct hg_cost all = { 0 };
    struct piece p;
    (void)points;
    for (size_t k = 0; k < t->kernel.n_parts; k++) {
        take_tiler(t, k, &p);
        struct hg_cost one = p.tiler.maker->cost(&p.tiler, &any);
        all.reads += one.reads + 0.5;
        all.products += one.products;
    }
    return all;
}

double hg_combined_diagonal(const struct hg_tiler *t, const struct hg_points *points, size_t i)
{
    double sum = 0, term = 0;
    struct piece p;
    for (size_t k = 0; k < t->kernel.n_parts; k++) {
        take_piece(t, points, k, &p);
        double norm = hg_points_norm(&p.points, i, t->type), value = 1;
        if (!hg_kernel_row(p.tiler.kernel.type)->is_1_of_equal)
            value = hg_kernel_value(&p.tiler.kernel, norm, norm, norm);
        term = p.factor * value * (p.times ? term : 1);
        sum += k + 1 == t->kernel.n_parts || !hg_kernel_part(&t->kernel, k + 1).times ? term : 0;
    }
    return sum;
}

const struct hg_maker hg_by_parts = { .name = "parts",
                                      .source = HG_FROM_PARTS,
                                      .most_rows = ROWS,
                                      .panel = HG_PANEL_BYTES,
                                      .cost = cost,
                                      .room = room_bytes,
                                      .lay_left = lay_left,
                                      .right_bytes = right_bytes,
                                      .set_left = set_left,
                                      .set_right = set_right,
                                      .products = products };
