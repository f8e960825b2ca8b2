/* Counts (hamming.h): whether features have two values each, panels of bytes, and the tile maker hg_by_counts. */
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

enum { SHARE = 512 }; /* points that a thread looks at, one after the other */

/* All points' values into p, whose common ones are those of the first point. Of each share parts has rare and rares,
 * and x is work space. false: some feature has a third value. */
static bool learn_all(struct pair *p, const struct hg_points *points, int threads, const struct pair *parts, double *x)
{
    size_t d = points->x.cols, shares = (points->n + SHARE - 1) / SHARE;
    int strange = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : strange)
    for (size_t s = 0; s < shares; s++) {
        struct pair part = { p->common, parts->rare + s * d, parts->rares + s * d };
        for (size_t f = 0; f < d; f++)
            part.rare[f] = NAN;
        for (size_t i = s * SHARE; i < HG_MIN(points->n, (s + 1) * SHARE) && strange == 0; i++)
            strange = !learn(&part, d, vector(points, i, x + s * d));
    }
    for (size_t f = 0; f < d; f++)
        p->rare[f] = NAN;
    for (size_t k = 0, f = 0; k < shares * d && strange == 0; k++, f = k % d) {
        strange = !isnan(parts->rare[k]) && !isnan(p->rare[f]) && parts->rare[k] != p->rare[f];
        p->rare[f] = isnan(p->rare[f]) ? parts->rare[k] : p->rare[f];
        p->rares[f] += parts->rares[k];
    }
    return strange == 0;
}

/* Swaps the values of features whose rarer value so far is the more common one. parts: how many points of each share
 * have the rarer value, which is swapped too. */
static void swap_to_rarer(struct pair *p, size_t d, size_t n, struct pair *parts)
{
    for (size_t f = 0; f < d; f++)
        if (2 * p->rares[f] > (double)n) {
            double common = p->common[f];
            p->common[f] = p->rare[f];
            p->rare[f] = common;
            p->rares[f] = (double)n - p->rares[f];
            for (size_t first = 0, k = f; first < n; first += SHARE, k += d)
                parts->rares[k] = (double)HG_MIN(n - first, (size_t)SHARE) - parts->rares[k];
        }
}

/* The step of all features that vary, 0 where they differ in it; line[f]: where such a feature's is in a panel. */
static double find_step(struct hg_hamming *h, const struct pair *p, size_t d, uint32_t *line)
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
        line[f] = (uint32_t)(++h->features * HG_COUNT_COLS); /* the first line is the lists' lengths */
    }
    return step;
}

/* Point i's list, from at on, where there is room for one entry more; returns where the next may begin. */
static uint32_t *list(struct hg_hamming *h, size_t i, const struct pair *p, const uint32_t *line, size_t d,
                      const double *v, uint32_t *at)
{
    uint32_t *next = at, zeros = (uint32_t)((h->features + 1) * HG_COUNT_COLS);
    for (size_t f = 0; f < d; f++) {
        *next = line[f];
        next += v[f] == p->rare[f];
    }
    h->length[i] = (uint8_t)(next - at);
    h->begin[i + 1] = (size_t)(next - at);
    while ((next - at) % HG_COUNTED != 0)
        *next++ = zeros;
    return next;
}

/* Each share's lists are made where its own end at most, and then moved together. from: [shares + 1] work space. false:
 * two lists might be longer together than counts go. */
static bool fill(struct hg_hamming *h, const struct hg_points *points, const struct pair *p, const struct pair *parts,
                 const uint32_t *line, int threads, size_t *from, double *x)
{
    size_t n = points->n, d = points->x.cols, shares = (n + SHARE - 1) / SHARE, all = 0;
    from[0] = 0;
    for (size_t s = 0; s < shares; s++) {
        from[s + 1] = from[s] + SHARE * (HG_COUNTED - 1) + 1;
        for (size_t f = 0; f < d; f++)
            from[s + 1] += (size_t)parts->rares[s * d + f];
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t s = 0; s < shares; s++) {
        uint32_t *at = h->at + from[s];
        for (size_t i = s * SHARE; i < HG_MIN(n, (s + 1) * SHARE); i++)
            at = list(h, i, p, line, d, vector(points, i, x + s * d), at);
    }
    h->begin[0] = 0;
    for (size_t s = 0; s < shares; s++) {
        size_t first = h->begin[s * SHARE];
        for (size_t i = s * SHARE; i < HG_MIN(n, (s + 1) * SHARE); i++) {
            size_t length = h->begin[i + 1];
            h->longest = HG_MAX(h->longest, length);
            all += length;
            h->begin[i + 1] = h->begin[i] + (length + HG_COUNTED - 1) / HG_COUNTED * HG_COUNTED;
        }
        memmove(h->at + first, h->at + from[s], (h->begin[HG_MIN(n, (s + 1) * SHARE)] - first) * sizeof *h->at);
    }
    h->points = n;
    h->listed = (double)all / (double)n;
    bool few = HG_MIN(2 * h->longest, h->features) < HG_COUNTS;
    h->longest = (h->longest + HG_COUNTED - 1) / HG_COUNTED * HG_COUNTED;
    return few;
}

hinge_status hg_hamming_init(struct hg_hamming *h, const struct hg_points *points, int threads, hinge_error *err)
{
    size_t n = points->n, d = points->x.cols, shares = (n + SHARE - 1) / SHARE, total = 0;
    memset(h, 0, sizeof *h);
    if (n == 0 || d == 0 || d >= UINT32_MAX / HG_COUNT_COLS)
        return HINGE_OK;
    double *x;
    uint32_t *line;
    size_t *from;
    struct pair p, parts;
    bool ok = HG_ROOM(HG_TABLE(x, shares, d), HG_ARRAY(p.common, d), HG_ARRAY(p.rare, d), HG_ZEROS(p.rares, d),
                      HG_ZEROS(line, d), HG_ARRAY(from, shares + 1), HG_TABLE(parts.rare, shares, d),
                      HG_ZEROS(parts.rares, shares * d));
    bool like_that = ok;
    if (ok) {
        hg_points_pack(points, NULL, 0, 1, HINGE_F64, p.common, d);
        like_that = learn_all(&p, points, threads, &parts, x);
    }
    if (like_that) {
        swap_to_rarer(&p, d, n, &parts);
        double step = find_step(h, &p, d, line);
        h->step2 = step * step;
        like_that = h->step2 >= DBL_MIN && isfinite(h->step2);
    }
    if (like_that) {
        for (size_t f = 0; f < d; f++)
            total += (size_t)p.rares[f];
        total += shares * (SHARE * (HG_COUNTED - 1) + 1);
        ok = HG_ROOM(HG_ARRAY(h->begin, n + 1), HG_ARRAY(h->length, n), HG_ARRAY(h->at, total));
        like_that = ok && fill(h, points, &p, &parts, line, threads, from, x);
    }
    hg_free(x);
    if (!like_that)
        hg_hamming_free(h);
    return ok ? HINGE_OK : hg_fail(err, HINGE_ENOMEM, "no memory for the lists of %zu rows", n);
}

/* ---- of points of which others hold a part ----------------------------------------------------------------------- */

bool hg_hamming_kind_set(struct hg_hamming_kind *kind)
{
    struct hg_hamming h = { 0 };
    const struct pair p = { kind->common, kind->rare, NULL };
    double step = kind->d < UINT32_MAX / HG_COUNT_COLS ? find_step(&h, &p, kind->d, kind->line) : 0;
    kind->step2 = step * step;
    kind->features = kind->step2 >= DBL_MIN && isfinite(kind->step2) ? h.features : 0;
    return kind->features > 0;
}

hinge_status hg_hamming_make(struct hg_hamming *h, const struct hg_hamming_kind *kind, const struct hg_points *points,
                             size_t own, double *x, hinge_error *err)
{
    const struct pair p = { kind->common, kind->rare, NULL };
    size_t n = points->n;
    *h = (struct hg_hamming){ .features = kind->features, .step2 = kind->step2, .listed = kind->listed, .points = n };
    h->longest = (kind->longest + HG_COUNTED - 1) / HG_COUNTED * HG_COUNTED;
    if (!HG_ROOM(HG_ZEROS(h->begin, n + 1), HG_ZEROS(h->length, n), HG_ZEROS(h->at, (n + 1) * h->longest + 1)))
        return hg_fail(err, HINGE_ENOMEM, "no memory for the lists of %zu rows", n);
    for (size_t i = 0; i < n; i++) {
        uint32_t *at = h->at + h->begin[i];
        const uint32_t *end = i < own ? list(h, i, &p, kind->line, kind->d, vector(points, i, x), at) : at + h->longest;
        h->begin[i + 1] = (size_t)(end - h->at);
    }
    return HINGE_OK;
}

void hg_hamming_put(struct hg_hamming *h, const struct hg_hamming_kind *kind, const struct hg_points *points, size_t i,
                    double *x)
{
    const struct pair p = { kind->common, kind->rare, NULL };
    uint32_t *room = h->at + h->begin[h->points];
    size_t end = h->begin[i + 1];
    list(h, i, &p, kind->line, kind->d, vector(points, i, x), room); /* which writes one entry more */
    h->begin[i + 1] = end;
    memcpy(h->at + h->begin[i], room, h->longest * sizeof *room);
}

void hg_hamming_values(const struct hg_hamming *h, double gamma, double *value, struct hg_codes *codes)
{
    for (int c = 0; c < HG_COUNTS; c++)
        value[c] = c == 0 ? 1 : exp(-gamma * h->step2 * c); /* also where gamma step^2 is infinite */
    for (int c = 0; c < 16; c++) {
        codes->low[c] = value[c] > 1e-150 ? value[c] : 0;
        codes->high[c] = value[16 * c] > 1e-150 ? value[16 * c] : 0;
        codes->low32[c] = value[c] > 1e-25 ? (float)value[c] : 0;
        codes->high32[c] = value[16 * c] > 1e-25 ? (float)value[16 * c] : 0;
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
    return HG_COUNT_ROWS * HG_COUNT_COLS; /* counts */
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
        const uint8_t *count = (const uint8_t *)p->room + r * HG_COUNT_COLS;
        void *out = hg_row_of_part(t, p, r);
        if (t->type == HINGE_F32 && t->table->by_codes)
            t->maps->decode(&t->table->codes, count, p->right->count, out);
        else if (t->type == HINGE_F32)
            for (size_t c = 0; c < p->right->count; c++)
                ((float *)out)[c] = (float)value[count[c]];
        else
            for (size_t c = 0; c < p->right->count; c++)
                ((double *)out)[c] = value[count[c]];
    }
}

static void add(const struct hg_tiler *t, const struct hg_part_of_tile *p, const double *coef, bool narrow, double *g)
{
    t->maps->add_codes(p->m, coef, narrow, &t->table->codes, p->room, p->right->count, g);
}

const struct hg_maker hg_by_counts = { .name = "counts",
                                       .keeps = true,
                                       .most_rows = HG_COUNT_ROWS,
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
                                       .map = map,
                                       .add = add };
