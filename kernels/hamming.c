/*
 * Counts (hamming.h): whether features have two values each, panels of bytes, and the tile maker hg_by_counts. A first
 * pass over the points finds the values; where a feature has a third one, mostly among the first points, no more are
 * read. A second pass measures the lists, a third makes them. The loops on bytes are in counts.c. Each list has room
 * for the longest one, so that no pass is needed to add up their lengths, at next to no cost (doc/tried.md). With A and
 * B the sets of features in which two points have the rarer value, the points differ in |A| + |B| - 2 |A and B|
 * features.
 */
#include "kernels/hamming.h"
#include "kernels/maker.h"
#include "lib/base/team.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Returns the values of point i in f64, where they lie or in x [d]. */
static const double *vector(const struct hg_points *points, size_t i, double *x)
{
    size_t stride;
    const double *direct = hg_points_direct(points, NULL, i, 1, HINGE_F64, &stride);
    if (direct == NULL)
        hg_points_pack(points, NULL, i, 1, HINGE_F64, x, points->x.cols);
    return direct != NULL ? direct : x;
}

/* ---- the values of features -------------------------------------------------------------------------------------- */

/* Adds a point's values to those seen: rare [d], NaN where there was but the common one, and rares [d], how many points
 * have it. false: some feature has a third one. The vectorised pass says whether some value is neither of the two that
 * are known, which is also so when a feature's rare value comes first; the second pass tells these apart. */
static bool learn(const double *common, double *rare, double *rares, size_t d, const double *x)
{
    int strange = 0;
#pragma omp simd reduction(| : strange)
    for (size_t f = 0; f < d; f++) {
        int other = x[f] != common[f];
        strange |= other & (x[f] != rare[f]);
        rares[f] += other;
    }
    for (size_t f = 0; strange && f < d; f++) {
        if (x[f] != common[f] && isnan(rare[f]))
            rare[f] = x[f];
        if (x[f] != common[f] && x[f] != rare[f])
            return false;
    }
    return true;
}

enum { POINTS = 256 }; /* in a piece */

struct pass { /* over all points */
    struct hg_hamming_kind *kind;
    const struct hg_points *points;
    double *rares, *x;       /* [threads * d] */
    struct hg_hamming *lists;
    int strange;             /* atomic: some feature has a third value */
    double longest;          /* atomic */
    size_t all;              /* atomic */
};

/* Looks for a third value, until one is found. */
static void look_for_values(void *arg, int thread, size_t first, size_t end)
{
    struct pass *p = arg;
    size_t d = p->kind->d, own = (size_t)thread * d;
    for (size_t i = first; i < end && __atomic_load_n(&p->strange, __ATOMIC_RELAXED) == 0; i++)
        if (!learn(p->kind->common, p->kind->rare + own, p->rares + own, d, vector(p->points, i, p->x + own)))
            __atomic_store_n(&p->strange, 1, __ATOMIC_RELAXED);
}

/* Finds each feature's two values and which is the rarer one; false: some feature has a third. Of each thread: rare and
 * rares [d], the first's being what comes out, and x [d]. The common value is the first point's until the counts are
 * known; those that most points do not have are then exchanged. */
static bool find_values(struct hg_hamming_kind *kind, const struct hg_points *points, int threads, double *rares,
                        double *x)
{
    size_t d = kind->d, all = (size_t)threads * d;
    double *rare = kind->rare;
    struct pass pass = { .kind = kind, .points = points, .rares = rares, .x = x };
    hg_points_pack(points, NULL, 0, 1, HINGE_F64, kind->common, d);
    for (size_t k = 0; k < all; k++)
        rare[k] = NAN;
    hg_share(threads, points->n, POINTS, look_for_values, &pass);
    for (size_t k = d, f = 0; k < all; k++, f = k % d)
        if (!isnan(rare[k])) {
            pass.strange |= !isnan(rare[f]) && rare[f] != rare[k];
            rare[f] = rare[k];
            rares[f] += rares[k];
        }
    for (size_t f = 0; f < d; f++)
        if (2 * rares[f] > (double)points->n) {
            double common = kind->common[f];
            kind->common[f] = rare[f];
            rare[f] = common;
        }
    return pass.strange == 0;
}

static void measure_some(void *arg, int thread, size_t first, size_t end)
{
    struct pass *p = arg;
    const struct hg_hamming_kind *kind = p->kind;
    size_t longest = 0, all = 0;
    for (size_t i = first; i < end; i++) {
        const double *v = vector(p->points, i, p->x + (size_t)thread * kind->d);
        int length = 0;
#pragma omp simd reduction(+ : length)
        for (size_t f = 0; f < kind->d; f++)
            length += v[f] == kind->rare[f];
        longest = HG_MAX(longest, (size_t)length);
        all += (size_t)length;
    }
    __atomic_fetch_add(&p->all, all, __ATOMIC_RELAXED);
    hg_raise(&p->longest, (double)longest);
}

/* Finds how long points' lists are: the longest, and the mean, which is what counting a value costs (cost.c). */
static void measure_lists(struct hg_hamming_kind *kind, const struct hg_points *points, int threads, double *x)
{
    struct pass pass = { .kind = kind, .points = points, .x = x };
    hg_share(threads, points->n, POINTS, measure_some, &pass);
    kind->longest = (size_t)pass.longest;
    kind->listed = (double)pass.all / (double)points->n;
}

/* Checks that steps are equal but for rounding, and that counts fit a byte: two points differ in no more features than
 * vary, and in no more than both their lists hold. */
bool hg_hamming_kind_set(struct hg_hamming_kind *kind)
{
    double step = 0;
    size_t features = 0;
    kind->features = 0;
    for (size_t f = 0; f < kind->d && kind->d < UINT32_MAX / HG_COUNT_COLS; f++) {
        double mine = fabs(kind->rare[f] - kind->common[f]);
        if (isnan(mine))
            continue;
        step = features == 0 ? mine : step;
        if (fabs(mine - step) > 1e-12 * step)
            return false;
        kind->line[f] = (uint32_t)(++features * HG_COUNT_COLS); /* the first line is the lists' lengths */
    }
    kind->step2 = step * step;
    if (kind->step2 >= DBL_MIN && isfinite(kind->step2) && HG_MIN(2 * kind->longest, features) < HG_COUNTS)
        kind->features = features;
    return kind->features > 0;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Returns a list's length as it is read, four entries at a time. */
static size_t filled_up(size_t length)
{
    return (length + HG_COUNTED - 1) / HG_COUNTED * HG_COUNTED;
}

/* Fills a list up with the line of zeros, which adds nothing to a count. */
void hg_hamming_put(struct hg_hamming *h, const struct hg_hamming_kind *kind, const struct hg_points *points, size_t i,
                    double *x)
{
    const double *v = vector(points, i, x);
    uint32_t *at = h->at + i * h->longest;
    size_t length = 0;
    for (size_t f = 0; f < kind->d; f++)
        if (v[f] == kind->rare[f])
            at[length++] = kind->line[f];
    h->length[i] = (uint8_t)length;
    for (size_t k = length; k < filled_up(length); k++)
        at[k] = (uint32_t)((h->features + 1) * HG_COUNT_COLS); /* the line of zeros */
}

static void put_some(void *arg, int thread, size_t first, size_t end)
{
    const struct pass *p = arg;
    for (size_t i = first; i < end; i++)
        hg_hamming_put(p->lists, p->kind, p->points, i, p->x + (size_t)thread * p->kind->d);
}

/* Takes room for all points at the longest list's length; whose list is not made has length 0. */
hinge_status hg_hamming_make(struct hg_hamming *h, const struct hg_hamming_kind *kind, const struct hg_points *points,
                             size_t own, int threads, hinge_error *err)
{
    size_t n = points->n;
    double *x = hg_alloc((size_t)threads, kind->d * sizeof *x);
    *h = (struct hg_hamming){ .features = kind->features, .step2 = kind->step2, .listed = kind->listed,
                              .longest = filled_up(kind->longest), .points = n };
    bool ok = x != NULL && HG_ROOM(HG_ZEROS(h->length, n), HG_TABLE(h->at, n, h->longest));
    struct pass pass = { .kind = (struct hg_hamming_kind *)kind, .points = points, .x = x, .lists = h };
    hg_share(threads, ok ? own : 0, POINTS, put_some, &pass);
    hg_free(x);
    return ok ? HINGE_OK : hg_fail(err, HINGE_ENOMEM, "no memory for the lists of %zu rows", n);
}

/* Leaves hamming empty as soon as one of the passes finds that points are not like that; what the passes worked on is
 * freed in any case. */
hinge_status hg_hamming_init(struct hg_hamming *h, const struct hg_points *points, int threads, hinge_error *err)
{
    struct hg_hamming_kind kind = { .d = points->x.cols };
    size_t d = kind.d, team = (size_t)threads;
    double *x, *rares;
    memset(h, 0, sizeof *h);
    if (points->n == 0 || d == 0)
        return HINGE_OK;
    HG_TRY(HG_MAKE(err, "the values of features", HG_TABLE(x, team, d), HG_ARRAY(kind.common, d),
                   HG_TABLE(kind.rare, team, d), HG_ZEROS(rares, team * d), HG_ARRAY(kind.line, d)));
    bool like_that = find_values(&kind, points, threads, rares, x);
    if (like_that)
        measure_lists(&kind, points, threads, x);
    hinge_status status = HINGE_OK;
    if (like_that && hg_hamming_kind_set(&kind))
        status = hg_hamming_make(h, &kind, points, points->n, threads, err);
    hg_free(x);
    return status;
}

size_t hg_hamming_bytes(const struct hg_hamming *h)
{
    return h->points * (sizeof *h->length + h->longest * sizeof *h->at);
}

void hg_hamming_free(struct hg_hamming *h)
{
    hg_free(h->length);
    memset(h, 0, sizeof *h);
}

/* ---- the maker --------------------------------------------------------------------------------------------------- */

/* Says whether a source is by counts: whoever made its points (lib/data/copy.c) has decided that, and by the
 * processor's level. */
static bool fits(const struct hg_tiler *t, const struct hg_points *points)
{
    return hg_kernel_row(t->kernel.type)->of_distance && points->hamming != NULL;
}

/* Makes values of counts, and the same as codes: there what is below 1e-25 is 0, as products too small for f32's normal
 * numbers are slow. */
static void tabulate(const struct hg_tiler *t, const struct hg_points *points, struct hg_table *table)
{
    struct hg_codes *codes = &table->codes;
    double *value = table->value, scale = t->kernel.gamma * points->hamming->step2;
    for (int c = 0; c < HG_COUNTS; c++)
        value[c] = c == 0 ? 1 : hg_kernel_row(t->kernel.type)->value(scale * c); /* also where the scale is infinite */
    for (int c = 0; c < 16; c++) {
        codes->low[c] = value[c] > 1e-150 ? value[c] : 0;
        codes->high[c] = value[16 * c] > 1e-150 ? value[16 * c] : 0;
        codes->low32[c] = value[c] > 1e-25 ? (float)value[c] : 0;
        codes->high32[c] = value[16 * c] > 1e-25 ? (float)value[16 * c] : 0;
    }
}

static size_t own_room(const struct hg_tiler *t)
{
    (void)t;
    return HG_COUNT_ROWS * HG_COUNT_COLS; /* counts */
}

/* Lays out lists and their lengths. */
static size_t lay_left(const struct hg_tiler *t, const struct hg_points *points, size_t count, char *base,
                       struct hg_left *left)
{
    struct hg_gathered *g = &left->gathered;
    size_t at = 0;
    (void)t;
    g->capacity = points->hamming->longest;
    g->at = hg_take(base, &at, count * g->capacity * sizeof *g->at);
    g->length = hg_take(base, &at, count);
    return at;
}

/* Returns the bytes of a panel: a line for the columns' lengths, one for each feature, and one of zeros. */
static size_t right_bytes(const struct hg_tiler *t, const struct hg_points *points, size_t count)
{
    (void)t, (void)count;
    return (points->hamming->features + 2) * HG_COUNT_COLS;
}

/* Copies a point's list to the place in which the row is read. */
static void set_left(const struct hg_tiler *t, const struct hg_left *left, size_t r, void *room)
{
    const struct hg_hamming *h = left->origin.points->hamming;
    const struct hg_gathered *g = &left->gathered;
    uint32_t i = hg_origin_point(&left->origin, r);
    (void)t, (void)room;
    g->length[r] = h->length[i];
    memcpy(g->at + r * g->capacity, h->at + i * h->longest, filled_up(g->length[r]) * sizeof *g->at);
}

/* Makes a panel, whose columns that are left over are points of the commoner values. */
static void set_right(const struct hg_tiler *t, struct hg_right *right, void *x, void *room)
{
    const struct hg_origin *o = &right->origin;
    const struct hg_hamming *h = o->points->hamming;
    uint8_t *panel = memset(x, 0, right_bytes(t, o->points, right->count));
    (void)room;
    right->x = x;
    for (size_t c = 0; c < right->count; c++) {
        uint32_t i = hg_origin_point(o, c);
        const uint32_t *at = h->at + i * h->longest;
        panel[c] = h->length[i];
        for (size_t k = 0; k < panel[c]; k++)
            panel[at[k] + c] = 1;
    }
}

/* Makes a part's counts, in the thread's room. */
static hinge_status products(const struct hg_tiler *t, const struct hg_part_of_tile *p)
{
    t->maps->counts(&p->left->gathered, p->row0, p->m, p->right->x, p->room);
    return HINGE_OK;
}

/* Turns counts into values: in f32 by the codes, as sums have them, in f64 by the table. */
static void map(const struct hg_tiler *t, const struct hg_part_of_tile *p)
{
    const double *value = t->table->value;
    for (size_t r = 0; r < p->m; r++) {
        const uint8_t *count = (const uint8_t *)p->room + r * HG_COUNT_COLS;
        void *out = hg_row_of_part(t, p, r);
        if (t->type == HINGE_F32)
            t->maps->decode(&t->table->codes, count, p->right->count, out);
        else
            for (size_t c = 0; c < p->right->count; c++)
                ((double *)out)[c] = value[count[c]];
    }
}

/* Adds a part's rows to g by their counts, without writing a value. */
static void add(const struct hg_tiler *t, const struct hg_part_of_tile *p, const double *coef, bool narrow, double *g)
{
    t->maps->add_codes(p->m, coef, narrow, &t->table->codes, p->room, p->right->count, g);
}

const struct hg_maker hg_by_counts = { .name = "counts",
                                       .asked = HINGE_MAKER_COUNTS,
                                       .keeps = true,
                                       .most_rows = HG_COUNT_ROWS,
                                       .whole_cols = HG_COUNT_COLS,
                                       .can = fits,
                                       .fits = fits,
                                       .needs = "a kernel of distances on features of two values each, one step apart, "
                                                "of which rows differ in 255 at most, where there is AVX-512; and not "
                                                "of predictions",
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
