#include "kernels/hamming.h"
#include "kernels/maker.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct pair { /* the values of a feature */
    double *common, *rare; /* [d]; rare: NaN where there is but one */
    double *rares;         /* [d] points that have it */
};

/* The values of point i; x [d]: work space. */
static const double *vector(const struct hg_points *points, size_t i, double *x)
{
    size_t stride;
    const double *direct = hg_points_direct(points, NULL, i, 1, HINGE_F64, &stride);
    if (direct == NULL)
        hg_points_pack(points, NULL, i, 1, HINGE_F64, x, points->x.cols);
    return direct != NULL ? direct : x;
}

/* Adds a point's values to those seen; false: some feature has a third one. */
static bool learn(struct pair *p, size_t d, const double *x)
{
    int strange = 0;
#pragma omp simd reduction(| : strange)
    for (size_t f = 0; f < d; f++) {
        int other = x[f] != p->common[f];
        strange |= other & (x[f] != p->rare[f]);
        p->rares[f] += other;
    }
    for (size_t f = 0; strange && f < d; f++) {
        if (x[f] != p->common[f] && isnan(p->rare[f]))
            p->rare[f] = x[f];
        if (x[f] != p->common[f] && x[f] != p->rare[f])
            return false;
    }
    return true;
}

static void swap_to_rarer(struct pair *p, size_t d, size_t n)
{
    for (size_t f = 0; f < d; f++)
        if (2 * p->rares[f] > (double)n) {
            double common = p->common[f];
            p->common[f] = p->rare[f];
            p->rare[f] = common;
            p->rares[f] = (double)n - p->rares[f];
        }
}

/* The step of all features that vary, 0 where they differ in it; at[f]: where such a feature's line is in a panel. */
static double find_step(struct hg_hamming *h, const struct pair *p, size_t d, uint32_t *at)
{
    double step = 0;
    for (size_t f = 0; f < d; f++) {
        double mine = fabs(p->rare[f] - p->common[f]);
        if (isnan(mine))
            continue;
        if (h->features == 0)
            step = mine;
        if (fabs(mine - step) > 1e-12 * step)
            return 0;
        at[f] = (uint32_t)(++h->features * HG_COUNT_COLS); /* the first line is the lists' lengths */
    }
    return step;
}

/* The lists; false where two of them might be longer together than counts go. */
static bool fill(struct hg_hamming *h, const struct hg_points *points, const struct pair *p, const uint32_t *at,
                 double *x)
{
    size_t d = points->x.cols, next = 0, all = 0;
    uint32_t zeros = (uint32_t)((h->features + 1) * HG_COUNT_COLS);
    for (size_t i = 0; i < points->n; i++) {
        h->begin[i] = next;
        const double *v = vector(points, i, x);
        for (size_t f = 0; f < d; f++)
            if (v[f] == p->rare[f])
                h->at[next++] = at[f];
        size_t length = next - h->begin[i];
        h->longest = HG_MAX(h->longest, length);
        all += length;
        h->length[i] = (uint8_t)length;
        while (next % HG_COUNTED != 0)
            h->at[next++] = zeros;
    }
    h->begin[points->n] = next;
    h->points = points->n;
    h->listed = (double)all / (double)points->n;
    bool few = HG_MIN(2 * h->longest, h->features) < HG_COUNTS;
    h->longest = (h->longest + HG_COUNTED - 1) / HG_COUNTED * HG_COUNTED;
    return few;
}

hinge_status hg_hamming_init(struct hg_hamming *h, const struct hg_points *points, hinge_error *err)
{
    size_t n = points->n, d = points->x.cols, total = 0;
    memset(h, 0, sizeof *h);
    if (n == 0 || d == 0 || d >= UINT32_MAX / HG_COUNT_COLS)
        return HINGE_OK;
    double *x;
    uint32_t *at;
    struct pair p;
    bool ok = HG_ROOM(HG_ARRAY(x, d), HG_ARRAY(p.common, d), HG_ARRAY(p.rare, d), HG_ZEROS(p.rares, d),
                      HG_ZEROS(at, d));
    bool like_that = ok;
    if (ok) {
        hg_points_pack(points, NULL, 0, 1, HINGE_F64, p.common, d);
        for (size_t f = 0; f < d; f++)
            p.rare[f] = NAN;
    }
    for (size_t i = 1; i < n && like_that; i++) {
        like_that = learn(&p, d, vector(points, i, x));
    }
    if (like_that) {
        swap_to_rarer(&p, d, n);
        double step = find_step(h, &p, d, at);
        h->step2 = step * step;
        like_that = h->step2 >= DBL_MIN && isfinite(h->step2);
    }
    if (like_that) {
        for (size_t f = 0; f < d; f++)
            total += (size_t)p.rares[f];
        ok = HG_ROOM(HG_ARRAY(h->begin, n + 1), HG_ARRAY(h->length, n), HG_ARRAY(h->at, total + n * (HG_COUNTED - 1)));
        like_that = ok && fill(h, points, &p, at, x);
    }
    hg_free(x);
    if (!like_that)
        hg_hamming_free(h);
    return ok ? HINGE_OK : hg_fail(err, HINGE_ENOMEM, "no memory for the lists of %zu rows", n);
}

void hg_hamming_values(const struct hg_hamming *h, double gamma, double *value, struct hg_codes *codes)
{
    for (int c = 0; c < HG_COUNTS; c++)
        value[c] = c == 0 ? 1 : exp(-gamma * h->step2 * c); /* also where gamma step^2 is infinite */
    for (int c = 0; c < 16; c++) {
        codes->low[c] = value[c] > 1e-25 ? (float)value[c] : 0;
        codes->high[c] = value[16 * c] > 1e-25 ? (float)value[16 * c] : 0;
    }
}

size_t hg_hamming_bytes(const struct hg_hamming *h)
{
    if (h->features == 0)
        return 0;
    return h->points * (sizeof *h->begin + sizeof *h->length) + h->begin[h->points] * sizeof *h->at;
}

void hg_hamming_free(struct hg_hamming *h)
{
    hg_free(h->begin);
    memset(h, 0, sizeof *h);
}

size_t hg_hamming_panel_bytes(const struct hg_hamming *h)
{
    return (h->features + 2) * HG_COUNT_COLS;
}

void hg_hamming_panel(const struct hg_hamming *h, const uint32_t *ids, size_t count, uint8_t *panel)
{
    memset(panel, 0, hg_hamming_panel_bytes(h));
    for (size_t c = 0; c < count; c++) {
        size_t begin = h->begin[ids[c]];
        panel[c] = h->length[ids[c]];
        for (size_t k = begin; k < begin + h->length[ids[c]]; k++)
            panel[h->at[k] + c] = 1;
    }
}

size_t hg_gathered_lay_out(struct hg_gathered *g, const struct hg_hamming *h, size_t count, char *base)
{
    size_t at = 0;
    g->capacity = h->longest;
    g->at = hg_take(base, &at, count * g->capacity * sizeof *g->at);
    g->length = hg_take(base, &at, count);
    return at;
}

void hg_gathered_set(struct hg_gathered *g, size_t r, const struct hg_hamming *h, uint32_t i)
{
    g->length[r] = h->length[i];
    memcpy(g->at + r * g->capacity, h->at + h->begin[i], (h->begin[i + 1] - h->begin[i]) * sizeof *g->at);
}

/* ---- the maker --------------------------------------------------------------------------------------------------- */

static bool fits(const struct hg_tiler *t, const struct hg_points *points)
{
    return t->kernel.type == HINGE_RBF && points->hamming != NULL;
}

static void tabulate(const struct hg_tiler *t, const struct hg_points *points, struct hg_table *table)
{
    hg_hamming_values(points->hamming, t->kernel.gamma, table->value, &table->codes);
}

static size_t own_room(const struct hg_tiler *t)
{
    (void)t;
    return HG_CODE_ROWS * HG_CODE_COLS; /* counts */
}

static size_t lay_left(const struct hg_tiler *t, const struct hg_points *points, size_t count, char *base,
                       struct hg_left *left)
{
    (void)t;
    return hg_gathered_lay_out(&left->gathered, points->hamming, count, base);
}

static size_t right_bytes(const struct hg_tiler *t, const struct hg_points *points, size_t count)
{
    (void)t, (void)count;
    return hg_hamming_panel_bytes(points->hamming);
}

static void set_left(const struct hg_tiler *t, const struct hg_left *left, size_t r, void *room)
{
    struct hg_gathered gathered = left->gathered;
    (void)t, (void)room;
    hg_gathered_set(&gathered, r, left->origin.points->hamming, hg_origin_point(&left->origin, r));
}

static void set_right(const struct hg_tiler *t, struct hg_right *right, void *x, void *room)
{
    (void)t, (void)room;
    right->x = x;
    hg_hamming_panel(right->origin.points->hamming, right->origin.ids, right->count, x);
}

static hinge_status products(const struct hg_tiler *t, const struct hg_part_of_tile *p)
{
    t->maps->counts(&p->left->gathered, p->row0, p->m, p->right->x, p->room);
    return HINGE_OK;
}

/* Counts as values. */
static void map(const struct hg_tiler *t, const struct hg_part_of_tile *p)
{
    const double *value = t->table->value;
    for (size_t r = 0; r < p->m; r++) {
        const uint8_t *count = (const uint8_t *)p->room + r * HG_CODE_COLS;
        void *out = hg_row_of_part(t, p, r);
        if (t->type == HINGE_F32)
            for (size_t c = 0; c < p->right->count; c++)
                ((float *)out)[c] = (float)value[count[c]];
        else
            for (size_t c = 0; c < p->right->count; c++)
                ((double *)out)[c] = value[count[c]];
    }
}

const struct hg_maker hg_by_counts = { .name = "counts",
                                       .keeps = true,
                                       .most_rows = HG_CODE_ROWS,
                                       .whole_cols = HG_COUNT_COLS,
                                       .fits = fits,
                                       .cost = hg_cost_counts,
                                       .tabulate = tabulate,
                                       .room = own_room,
                                       .lay_left = lay_left,
                                       .right_bytes = right_bytes,
                                       .set_left = set_left,
                                       .set_right = set_right,
                                       .products = products,
                                       .map = map };
