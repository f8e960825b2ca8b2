/*
 * Tiles by lists and panels (panel.h): how lists and panels are laid out and filled, and how values are made of them,
 * with the map in the same step. Panels come first, since prediction makes them too; then the maker's functions in the
 * order of its row. The loops over values are in panel_rows.h. What this buys, and how a test does without, is in
 * panel.h.
 */
#include "kernels/maker.h"

#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#ifdef __SSE__
/* Transposes four features of four vectors in registers. Value by value a short training of many features takes some
 * percent more instructions (doc/tried.md). */
static void set_four(float *panel, size_t width, const float *v, size_t ld)
{
    __m128 a = _mm_loadu_ps(v), b = _mm_loadu_ps(v + ld), c = _mm_loadu_ps(v + 2 * ld), d = _mm_loadu_ps(v + 3 * ld);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(panel, a);
    _mm_storeu_ps(panel + width, b);
    _mm_storeu_ps(panel + 2 * width, c);
    _mm_storeu_ps(panel + 3 * width, d);
}
#else
static void set_four(float *panel, size_t width, const float *v, size_t ld)
{
    for (size_t k = 0; k < 4; k++)
        for (size_t c = 0; c < 4; c++)
            panel[k * width + c] = v[c * ld + k];
}
#endif

/* Makes one panel [d * hg_panel_cols] from `count` vectors of `ld` values each; columns that are left over are 0. */
static void set_panel(void *panel, const void *vectors, size_t ld, size_t count, size_t d, hinge_dtype type)
{
    enum { AT_ONCE = 16 }; /* features: what is read and what is written stays in L1 */
    size_t width = hg_panel_cols(type);
    for (size_t k0 = 0; k0 < d; k0 += AT_ONCE) {
        size_t end = HG_MIN(d, k0 + AT_ONCE), fours = type == HINGE_F32 && end == k0 + AT_ONCE ? count / 4 * 4 : 0;
        for (size_t c = 0; c < fours; c += 4)
            for (size_t k = k0; k < end; k += 4)
                set_four((float *)panel + k * width + c, width, (const float *)vectors + c * ld + k, ld);
        for (size_t c = fours; c < width; c++)
            for (size_t k = k0; k < end; k++) {
                if (type == HINGE_F32)
                    ((float *)panel)[k * width + c] = c < count ? ((const float *)vectors)[c * ld + k] : 0;
                else
                    ((double *)panel)[k * width + c] = c < count ? ((const double *)vectors)[c * ld + k] : 0;
            }
    }
}

/* Makes each panel by way of `rows`, its vectors in the type asked for: they come from anywhere, and are read column by
 * column. */
void hg_points_panels(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count, hinge_dtype type,
                      void *panels, void *rows, size_t ld)
{
    size_t width = hg_panel_cols(type), d = points->x.cols;
    for (size_t c = 0; c < count; c += width) {
        size_t n = HG_MIN(width, count - c);
        hg_points_pack(points, ids != NULL ? ids + c : NULL, first + c, n, type, rows, ld);
        set_panel((char *)panels + c * d * hg_size_of(type), rows, ld, n, d, type);
    }
}

/* ---- the maker --------------------------------------------------------------------------------------------------- */

/* Says whether positions in a panel can be told. Small RBF distances that need to be taken anew (close > 0) are
 * GEMM's. */
static bool can(const struct hg_tiler *t, const struct hg_points *points)
{
    (void)points;
    return !(t->close > 0) && t->d <= UINT32_MAX / HG_PANEL_BYTES;
}

/* Says whether lists are faster than GEMM for these points (cost.c). */
static bool fits_lists(const struct hg_tiler *t, const struct hg_points *points)
{
    return !t->dense && can(t, points) && hg_lists_win(points->nonzeros, t->d, t->type, t->maps->number);
}

/* Says whether dense rows by panels are, and whether panels would not be too large a copy. */
static bool fits_panels(const struct hg_tiler *t, const struct hg_points *points)
{
    static const double most = 0x1p32; /* bytes of panels that are kept, another copy of the data */
    double bytes = (double)points->n * (double)t->d * (double)hg_size_of(t->type);
    return t->dense && can(t, points) && hg_lists_win(points->nonzeros, t->d, t->type, t->maps->number) &&
           !(t->d > HG_STRETCH && bytes > most);
}

/* Returns the bytes of one panel's vectors, of which hg_points_panels makes it; set_left uses the first. */
size_t hg_panels_room(const struct hg_tiler *t)
{
    return hg_panel_cols(t->type) * hg_stride(t) * hg_size_of(t->type);
}

/* Lays out lists as if no value were 0: a vector's begin at its number times d, so that threads fill them side by
 * side. */
static size_t lay_left(const struct hg_tiler *t, const struct hg_points *points, size_t count, char *base,
                       struct hg_left *left)
{
    struct hg_lists *lists = &left->lists;
    size_t at = 0, positions = t->dense ? 0 : count;
    (void)points;
    lists->stretches = HG_MAX((t->d + HG_STRETCH - 1) / HG_STRETCH, (size_t)1);
    lists->capacity = t->d;
    lists->dense = t->dense;
    lists->end = hg_take(base, &at, positions * lists->stretches * sizeof(uint32_t));
    lists->at = hg_take(base, &at, positions * t->d * sizeof(uint32_t));
    lists->value = hg_take(base, &at, count * t->d * hg_size_of(t->type));
    return at;
}

size_t hg_panels_right_bytes(const struct hg_tiler *t, const struct hg_points *points, size_t count)
{
    (void)points;
    return hg_panels_size(count, t->d, t->type) * hg_size_of(t->type);
}

/* Makes a vector's lists, one a stretch of features, without a branch on its values: each position is written, and the
 * next overwrites it where the value was 0. A position is where the feature begins in a panel, so that the loops over
 * entries multiply nothing to find it. */
static void set_left(const struct hg_tiler *t, const struct hg_left *left, size_t r, void *room)
{
    const struct hg_lists *lists = &left->lists;
    uint32_t point = hg_origin_point(&left->origin, r);
    size_t filled = r * lists->capacity, width = hg_panel_cols(t->type), size = hg_size_of(t->type);
    const float *v32 = room;
    const double *v64 = room;
    hg_points_pack(left->origin.points, &point, 0, 1, t->type, room, hg_stride(t));
    if (lists->dense)
        memcpy((char *)lists->value + filled * size, room, t->d * size);
    for (size_t s = 0; s < lists->stretches && !lists->dense; s++) {
        for (size_t k = s * HG_STRETCH; k < HG_MIN(t->d, (s + 1) * HG_STRETCH); k++) {
            lists->at[filled] = (uint32_t)(k * width);
            if (t->type == HINGE_F32) {
                ((float *)lists->value)[filled] = v32[k];
                filled += v32[k] != 0;
            } else {
                ((double *)lists->value)[filled] = v64[k];
                filled += v64[k] != 0;
            }
        }
        lists->end[r * lists->stretches + s] = (uint32_t)filled;
    }
}

/* Makes the panels of a tile's columns, one after the other. */
void hg_panels_set_right(const struct hg_tiler *t, struct hg_right *right, void *x, void *room)
{
    const struct hg_origin *o = &right->origin;
    right->x = x;
    hg_points_panels(o->points, o->ids, o->first, right->count, t->type, x, room, hg_stride(t));
}

enum { ROWS_AT_ONCE = 64 }; /* of a panel job: its sums stay in L1 with a stretch of the panel */

/* Makes values panel after panel, and of a panel 64 rows while a stretch of it is in L1; of one stretch, all rows. The
 * map is done where a row's sums end. */
static hinge_status products(const struct hg_tiler *t, const struct hg_part_of_tile *p)
{
    size_t size = hg_size_of(t->type), width = hg_panel_cols(t->type), m = p->m, count = p->right->count;
    _Alignas(64) char sums[ROWS_AT_ONCE * HG_PANEL_BYTES];
    void *to[HG_TILE_ROWS];
    for (size_t r = 0; r < m; r++)
        to[r] = hg_row_of_part(t, p, r);
    struct hg_panel_job job = { .kernel = &t->kernel, .lists = &p->left->lists, .sums = sums, .into = p->sums };
    size_t at_once = p->left->lists.stretches > 1 ? ROWS_AT_ONCE : m;
    for (size_t c = 0; c < count; c += width) {
        const void *panel = (const char *)p->right->x + c * t->d * size;
        const void *norms = p->right->norm != NULL ? (const char *)p->right->norm + c * size : NULL;
        for (size_t r = 0; r < m; r += at_once) {
            job.row0 = p->row0 + r;
            job.rows = HG_MIN(at_once, m - r);
            job.norm = p->left->norm != NULL ? (const char *)p->left->norm + job.row0 * size : NULL;
            job.out = to + r;
            t->maps->panel[t->type](&job, panel, norms, c, HG_MIN(width, count - c));
        }
    }
    return HINGE_OK;
}

#define NEEDS \
    "rows of at most 16777215 features, which in f64 and by a kernel of distances are not long beside their distance"

/* Both are one maker but for the zeros of its left sides, hg_tiler.dense. */
#define BY_PANELS(called, word, fit) \
    { \
        .name = called, .asked = word, .keeps = true, .most_rows = HG_TILE_ROWS, .panel = HG_PANEL_BYTES, .can = can, \
        .fits = fit, .needs = NEEDS, .cost = hg_cost_lists, .room = hg_panels_room, .lay_left = lay_left, \
        .right_bytes = hg_panels_right_bytes, .set_left = set_left, .set_right = hg_panels_set_right, \
        .products = products \
    }
const struct hg_maker hg_by_panels = BY_PANELS("panels", HINGE_MAKER_PANELS, fits_panels);
const struct hg_maker hg_by_lists = BY_PANELS("lists", HINGE_MAKER_LISTS, fits_lists);
