/*
 * Tiles of points of whole numbers (integers.h, maker.h): words of bytes, halves or bits on both sides, a row's before
 * 16 bytes with its sums, and columns in panels of 64 with three lines of theirs in front. Products are 32-bit integers
 * in the thread's room; the map makes squared distances of them, or dot products, and hands these to the kernel's own
 * map. Parts of a row are k - 128, of a column k, as VNNI multiplies bytes with a sign by bytes without one: with S the
 * sum of such products, |x - z|^2 = sum(k_x^2) + (sum(k_z^2) - 256 sum(k_z)) - 2 S in steps squared, modulo 2^32.
 *
 * Kernels of differences (differences.c) ask for the number of bits that differ alone: times the step it is the sum of
 * |x - z|, and of (x - z)^2 / (|x| + |z|) where one of the two values is 0; then the sum of |x| + |z| is the step times
 * the number of bits that are 1 in either.
 */
#include "kernels/integers.h"
#include "kernels/maker.h"

#include <math.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { COLS = HG_INTEGER_COLS, SUMS = 4, CHUNK = 16 }; /* words of a row's sums; that are made together */

/* Returns the words of a vector of d features. */
static size_t words_of(const struct hg_points *points, size_t d)
{
    size_t group = (size_t)points->integers->loop->group;
    return (d + group - 1) / group;
}

/* Returns what a kernel's values, or what they are functions of, may lose by what points are off their places. That is
 * next to nothing beside the values' range, but may be much to a kernel that is made for features of other ranges, and
 * to products of values that are lost in a 0 with large ones. */
static double loss_of(const hinge_kernel *kernel, const struct hg_kernel_row *row, const struct hg_integers *n)
{
    double gamma = (row->told.uses_gamma ? kernel->gamma : 1) * (double)n->d;
    double largest = fabs(n->grid.origin) + n->grid.most * n->grid.step;
    if (row->source != HG_FROM_DIFFERENCES)
        return row->of_distance ? sqrt(gamma) * n->off : gamma * n->lost * largest;
    return row->difference != HG_DIFFERENCE_SHARE ? gamma * n->off : n->lost > 0 ? INFINITY : 0;
}

bool hg_integers_serve(const hinge_kernel *kernel, const struct hg_integers *n)
{
    const struct hg_kernel_row *row = hg_kernel_row(kernel->type);
    bool from_0 = n->grid.origin == 0 || row->difference == HG_DIFFERENCE;
    if (n->grid.most == 0 || (!n->grid.rough && loss_of(kernel, row, n) > 1e-12))
        return false;
    return row->source != HG_FROM_DIFFERENCES || (n->grid.bits && !n->grid.rough && from_0);
}

static bool fits(const struct hg_tiler *t, const struct hg_points *points)
{
    const struct hg_integers *n = points->integers;
    return n != NULL && (t->type == HINGE_F32 || !n->grid.rough) && hg_integers_serve(&t->kernel, n);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Collects bits of 32 bytes or fewer: 1 where a byte is `one`. */
static uint32_t bits_of(const uint8_t *byte, size_t count, uint8_t one)
{
    uint32_t word = 0;
#ifdef __SSE2__
    const __m128i ones = _mm_set1_epi8((char)one);
    if (count >= 32) {
        __m128i low = _mm_loadu_si128((const __m128i *)(const void *)byte);
        __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(byte + 16));
        return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(low, ones)) |
               (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(high, ones)) << 16;
    }
#endif
    for (size_t k = 0; k < HG_MIN(count, (size_t)32); k++)
        word |= (uint32_t)(byte[k] == one) << k;
    return word;
}

/* Loads four bytes. */
static inline uint32_t load_word(const uint8_t *byte)
{
    uint32_t word;
    memcpy(&word, byte, sizeof word);
    return word;
}

/* Makes word w of a vector; parts behind its last feature are 0. turned: bits of a part that are turned, by which k is
 * made of a byte and k - 128 of k. */
static uint32_t make_word(const struct hg_integers *n, const uint8_t *byte, size_t w, uint8_t turned)
{
    size_t group = (size_t)n->loop->group, f = w * group, left = HG_MIN(group, n->d - f);
    if (group == 32)
        return bits_of(byte + f, left, n->one);
    if (group == 4 && left == 4)
        return load_word(byte + f) ^ turned * 0x01010101U;
    uint32_t word = 0;
    for (size_t k = 0; k < left; k++) {
        uint8_t part = byte[f + k] ^ turned;
        word |= group == 4 ? (uint32_t)part << 8 * k : (uint32_t)(uint16_t)part << 16 * k;
    }
    return word;
}

/* Makes word w of a row of a left side, of parts k - 128. */
static uint32_t left_word(const struct hg_integers *n, const uint8_t *byte, size_t w)
{
    if (n->loop->group != 2)
        return make_word(n, byte, w, n->flip ^ 128);
    size_t f = 2 * w;
    uint16_t low = (uint16_t)((byte[f] ^ n->flip) - 128);
    uint16_t high = f + 1 < n->d ? (uint16_t)((byte[f + 1] ^ n->flip) - 128) : 0;
    return low | (uint32_t)high << 16;
}

static size_t row_of(const struct hg_origin *o, size_t i)
{
    const struct hg_integers *n = o->points->integers;
    uint32_t point = hg_origin_point(o, i);
    return n->order != NULL ? n->order[point] : point;
}

/* ---- sides ------------------------------------------------------------------------------------------------------- */

static size_t own_room(const struct hg_tiler *t)
{
    (void)t;
    return HG_INTEGER_ROWS * HG_TILE_COLS * sizeof(int32_t); /* products */
}

static size_t lay_left(const struct hg_tiler *t, const struct hg_points *points, size_t count, char *base,
                       struct hg_left *left)
{
    size_t at = 0;
    left->ld = SUMS + (words_of(points, t->d) + SUMS - 1) / SUMS * SUMS;
    left->x = hg_take(base, &at, count * left->ld * sizeof(uint32_t));
    return at;
}

static size_t right_bytes(const struct hg_tiler *t, const struct hg_points *points, size_t count)
{
    size_t panels = (count + COLS - 1) / COLS;
    return panels * COLS * (HG_INTEGER_HEAD + words_of(points, t->d)) * sizeof(uint32_t);
}

static void set_left(const struct hg_tiler *t, const struct hg_left *left, size_t r, void *room)
{
    const struct hg_integers *n = left->origin.points->integers;
    size_t from = row_of(&left->origin, r), words = words_of(left->origin.points, t->d);
    const uint8_t *byte = n->code + from * n->stride;
    uint32_t *row = (uint32_t *)left->x + r * left->ld, turned = (n->flip ^ 128U) * 0x01010101U;
    size_t w = 0;
    (void)room;
    row[0] = n->square[from];
    row[1] = n->sum[from];
    row += SUMS;
    for (; n->loop->group == 4 && 4 * (w + 1) <= n->d; w++)
        row[w] = load_word(byte + 4 * w) ^ turned;
    for (; w < words; w++)
        row[w] = left_word(n, byte, w);
}

#ifdef __SSE2__
/* Transposes four words of bytes of four columns in registers. */
static void set_four(uint32_t *to, const uint8_t *const *byte, size_t f, uint8_t turned)
{
    const __m128i turn = _mm_set1_epi8((char)turned);
    __m128i v[4], t[4];
    for (int k = 0; k < 4; k++)
        v[k] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(byte[k] + f)), turn);
    t[0] = _mm_unpacklo_epi32(v[0], v[1]), t[1] = _mm_unpacklo_epi32(v[2], v[3]);
    t[2] = _mm_unpackhi_epi32(v[0], v[1]), t[3] = _mm_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm_unpacklo_epi64(t[0], t[1]), v[1] = _mm_unpackhi_epi64(t[0], t[1]);
    v[2] = _mm_unpacklo_epi64(t[2], t[3]), v[3] = _mm_unpackhi_epi64(t[2], t[3]);
    for (int k = 0; k < 4; k++)
        _mm_storeu_si128((__m128i *)(void *)(to + k * COLS), v[k]);
}
#else
static void set_four(uint32_t *to, const uint8_t *const *byte, size_t f, uint8_t turned)
{
    for (size_t k = 0; k < 4; k++)
        for (size_t w = 0; w < 4; w++)
            to[w * COLS + k] = load_word(byte[k] + f + 4 * w) ^ turned * 0x01010101U;
}
#endif

/* Makes one panel of `count` columns from column c of a side on, a few words of all columns at a time; columns that are
 * left over are 0. Bytes go four words of four columns at once. */
static void set_panel(const struct hg_origin *o, size_t c, size_t count, size_t words, uint32_t *panel)
{
    const struct hg_integers *n = o->points->integers;
    uint32_t *squares = panel + COLS, *sums = squares + COLS, *to = panel + HG_INTEGER_HEAD * COLS;
    const uint8_t *byte[COLS];
    size_t fours = n->loop->group == 4 ? count / 4 * 4 : 0, whole = n->d / 16 * 4;
    if (count < COLS)
        memset(panel, 0, (HG_INTEGER_HEAD + words) * COLS * sizeof *panel);
    for (size_t k = 0; k < count; k++) {
        size_t from = row_of(o, c + k);
        byte[k] = n->code + from * n->stride;
        squares[k] = n->square[from];
        sums[k] = n->sum[from];
        panel[k] = squares[k] - 256 * sums[k];
    }
    for (size_t first = 0; first < words; first += CHUNK) {
        size_t end = HG_MIN(words, first + CHUNK), even = HG_MIN(end, HG_MAX(whole, first));
        for (size_t k = 0; k < fours; k += 4) {
            for (size_t w = first; w < even; w += 4)
                set_four(to + w * COLS + k, byte + k, 4 * w, n->flip);
            for (size_t w = even; w < end; w++)
                for (size_t i = k; i < k + 4; i++)
                    to[w * COLS + i] = make_word(n, byte[i], w, n->flip);
        }
        for (size_t k = fours; k < count; k++)
            for (size_t w = first; w < end; w++)
                to[w * COLS + k] = make_word(n, byte[k], w, n->flip);
    }
}

static void set_right(const struct hg_tiler *t, struct hg_right *right, void *x, void *room)
{
    size_t words = words_of(right->origin.points, t->d);
    uint32_t *panel = x;
    (void)room;
    right->x = x;
    for (size_t c = 0; c < right->count; c += COLS, panel += (HG_INTEGER_HEAD + words) * COLS)
        set_panel(&right->origin, c, HG_MIN((size_t)COLS, right->count - c), words, panel);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static hinge_status products(const struct hg_tiler *t, const struct hg_part_of_tile *p)
{
    const struct hg_integer_loop *loop = p->left->origin.points->integers->loop;
    size_t words = words_of(p->left->origin.points, t->d);
    const uint32_t *panel = p->right->x, *left = (const uint32_t *)p->left->x + p->row0 * p->left->ld + SUMS;
    int32_t *out = p->room;
    for (size_t c = 0; c < p->right->count; c += COLS, panel += (HG_INTEGER_HEAD + words) * COLS)
        loop->products(left, p->left->ld, p->m, panel + HG_INTEGER_HEAD * COLS, words, out + c, HG_TILE_COLS);
    return HINGE_OK;
}

/* Makes kernel values of n columns of a row, from their distances (RBF) or dot products. */
static void map_row(const struct hg_tiler *t, const hinge_kernel *kernel, size_t n, const void *measure, void *out)
{
    static const double zeros[HG_TILE_COLS]; /* of either type */
    bool distance = hg_kernel_row(kernel->type)->of_distance;
    t->maps->map[t->type](kernel, n, distance ? zeros : measure, out, 0, distance ? measure : NULL);
}

/* Divides counts of bits that differ by those of bits that are 1, of a row and of n columns: shares, whose 0 / 0 is
 * 0. */
static void divide(hinge_dtype type, uint32_t row, size_t n, const uint32_t *column, void *counts)
{
    float *out32 = counts;
    double *out64 = counts;
    if (type == HINGE_F32)
        for (size_t c = 0; c < n; c++)
            out32[c] /= (float)HG_MAX(row + column[c], 1U);
    else
        for (size_t c = 0; c < n; c++)
            out64[c] /= (double)HG_MAX(row + column[c], 1U);
}

/* Turns products into values, row by row, and sums them where they are not kept. RBF's gamma is that of distances in
 * steps, as is that of kernels of differences. */
static void map(const struct hg_tiler *t, const struct hg_part_of_tile *p)
{
    const struct hg_points *points = p->left->origin.points;
    const struct hg_grid *grid = &points->integers->grid;
    const struct hg_integer_loop *loop = points->integers->loop;
    size_t n = p->right->count, panel = (HG_INTEGER_HEAD + words_of(points, t->d)) * COLS, size = hg_size_of(t->type);
    double step = grid->step, first = hg_grid_first(grid);
    hinge_kernel kernel = t->kernel;
    const struct hg_kernel_row *kind = hg_kernel_row(kernel.type);
    bool differs = kind->source == HG_FROM_DIFFERENCES, shares = differs && kind->difference == HG_DIFFERENCE_SHARE;
    struct hg_integer_row row = {
        .bits = grid->bits, .dots = !differs && !kind->of_distance, .unit = step * step, .first = first
    };
    double measure[HG_TILE_COLS];
    kernel.gamma *= row.dots ? 1 : differs ? step : step * step;
    for (size_t r = 0; r < p->m; r++) {
        const uint32_t *left = (const uint32_t *)p->left->x + (p->row0 + r) * p->left->ld;
        const int32_t *product = (const int32_t *)p->room + r * HG_TILE_COLS;
        void *out = hg_row_of_part(t, p, r);
        row.square = left[0];
        row.base = (double)t->d * first * first + first * (double)left[1];
        for (size_t c = 0; c < n; c += COLS) {
            const uint32_t *head = (const uint32_t *)p->right->x + c / COLS * panel;
            size_t count = HG_MIN((size_t)COLS, n - c);
            loop->measure(&row, count, product + c, head, t->type, (char *)measure + c * size);
            if (shares)
                divide(t->type, left[1], count, head + 2 * COLS, (char *)measure + c * size);
        }
        map_row(t, &kernel, n, measure, out);
        if (p->sums != NULL)
            t->maps->sum[t->type](p->sums, p->row0 + r, n, out);
    }
}

#define MAKER(called, ...) \
    { \
        .name = called, .keeps = true, .exact = true, .most_rows = HG_INTEGER_ROWS, .panel = 2 * HG_PANEL_BYTES, \
        .cost = hg_cost_integers, .room = own_room, .lay_left = lay_left, .right_bytes = right_bytes, \
        .set_left = set_left, .set_right = set_right, .products = products, .map = map, __VA_ARGS__ \
    }

const struct hg_maker hg_by_integers = MAKER("integers", .asked = HINGE_MAKER_INTEGERS, .can = fits, .fits = fits,
                                             .needs = "values that are whole numbers of one step, at most 255 of them "
                                                      "apart");
const struct hg_maker hg_by_bits = MAKER("bits", .source = HG_FROM_DIFFERENCES, .fits = fits);
