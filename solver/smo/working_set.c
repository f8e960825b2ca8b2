/*
 * The working set W of block SMO: which points it has, and K_WW. Read run.h before.
 *
 * hg_select_block goes through the layers and directions, and lists for each the worst violators that are not in W yet:
 * a bound by a sample, one vectorised sweep for what is below it, a quickselect of what the sweep leaves
 * (add_violators). They take the slots of points that have been in W longest (hg_place_fresh), as the newer half is
 * what still moves (Serafini, Zanni 2005). hg_load_block then makes the rows of K_WW of fresh slots alone, and their
 * columns by symmetry.
 *
 * A point of W has a slot, which is a row and a column of K_WW, from when it comes until it goes. So slots are in no
 * order of points, and K_WW's values are never moved.
 */
#include "solver/smo/run.h"
#include "lib/base/team.h"

#include <string.h>

enum { LINE = 16 }; /* f32 values in a cache line */

/* Rows of K_WW that the store holds are gathered there where a value costs more than so many reads in order. That
 * spares trainings of many features up to a tenth of their processor time (doc/tried.md). */
static const double FROM_CACHE = 24;

/* Compares violators by their violation, and equal ones by a hash of the point: at the start all violate alike, and W
 * is then taken from all over the data and not from its beginning. */
static bool worse(const struct hg_candidate *a, const struct hg_candidate *b)
{
    return a->value != b->value ? a->value < b->value : a->tie < b->tie;
}

/* Makes a quickselect by Hoare's partition, in place and in expected linear time. The pivot is the middle one, so that
 * a list in order, as there is at the start, is halved. k = 0 or k >= n leaves nothing to do. */
void hg_worst_first(struct hg_candidate *c, size_t n, size_t k)
{
    size_t low = 0, high = n; /* the k-th is in [low, high) */
    while (high - low > 1 && k > low && k < high) {
        struct hg_candidate pivot = c[low + (high - low - 1) / 2];
        size_t i = low, j = high - 1;
        for (;; i++, j--) {
            while (worse(&c[i], &pivot))
                i++;
            while (worse(&pivot, &c[j]))
                j--;
            if (i >= j)
                break;
            struct hg_candidate t = c[i];
            c[i] = c[j];
            c[j] = t;
        }
        if (k <= j + 1) /* [low, j] are no better than (j, high), and j + 1 < high */
            high = j + 1;
        else
            low = j + 1;
    }
}

/* Returns a bound below which about `wanted` of sign * (g + off) lie, from a sample of 1 in m/1024 points; never above
 * `bound`. It is the value of rank 1.25 wanted / step + 4 in the sample: a quarter more than wanted, and some for
 * samples in which that is a handful. Below 4,096 points all are looked at. A sweep then lists only what may be chosen,
 * without which large trainings take a tenth more processor time (doc/tried.md). */
static double sample_bound(struct hg_run *r, const double *off, double sign, double bound, size_t wanted)
{
    size_t step = r->active.m / 1024, count = 0;
    if (step < 4)
        return bound;
    for (size_t at = 0; at < r->active.m; at += step) {
        double v = sign * (r->active.g[at] + off[at]);
        if (v < bound)
            r->spare.candidates[count++] = (struct hg_candidate){ v, at, (uint32_t)at };
    }
    size_t k = wanted * 5 / 4 / step + 4;
    if (k >= count)
        return bound;
    hg_worst_first(r->spare.candidates, count, k);
    double highest = -INFINITY;
    for (size_t c = 0; c < k; c++)
        highest = HG_MAX(highest, r->spare.candidates[c].value);
    return highest;
}

/* Lets the worst `wanted` violators of one layer and direction that are not in W into it: entries with sign * (g + off)
 * below `bound`, the least first. The sample's bound allows for a quarter of W being among the worst already. Where it
 * finds too few all the same, the sweep is made again with `bound` itself. */
static void add_violators(struct hg_run *r, const double *off, double sign, double bound, size_t wanted)
{
    if (wanted == 0)
        return;
    const struct hg_active *a = &r->active;
    struct hg_candidate *candidates = r->spare.candidates;
    double tight = sample_bound(r, off, sign, bound, wanted + r->w.n / 4);
    size_t count = 0;
    for (int attempt = 0; attempt < 2; attempt++, tight = bound) {
        size_t found = r->loops->below(a->m, a->g, off, sign, tight, r->spare.found, a->m);
        count = 0;
        for (size_t f = 0; f < found; f++) {
            uint32_t at = r->spare.found[f];
            if (!r->w.holds[a->point[at]])
                candidates[count++] = (struct hg_candidate){ sign * (a->g[at] + off[at]), hg_hash(a->point[at]), at };
        }
        if (count >= wanted || tight == bound)
            break;
    }
    hg_worst_first(candidates, count, HG_MIN(wanted, count));
    for (size_t c = 0; c < count && c < wanted; c++) {
        uint32_t point = a->point[candidates[c].at];
        r->w.holds[point] = 1;
        r->w.asked[r->w.n_fresh++] = point; /* placed below */
    }
}

/* Gives a slot to fresh point f; the point that was there, if any (age 0: none), is no longer in W. */
static void put_into_slot(void *arg, size_t slot, size_t f)
{
    struct hg_run *r = arg;
    struct hg_w *w = &r->w;
    if (w->age[slot] != 0)
        w->holds[w->point[slot]] = 0;
    w->point[slot] = w->asked[f];
    w->fresh[f] = (uint32_t)slot;
    hg_inner_put(&w->inner, slot, r->qp, w->point[slot]);
}

/* Fills slots that were never used, then those of the oldest points, all of one age before those of the next. Where
 * more than half of W is free, free points stay (spares) until no other is left that is not fresh itself. Searching an
 * age at a time takes q steps for each age there is, and not q for each point: selection fell from 0.14 to 0.02 s
 * (doc/tried.md). */
void hg_place_fresh(struct hg_w *w, uint64_t round, size_t count, void (*put)(void *arg, size_t slot, size_t f),
                    void *arg)
{
    size_t f = 0, n_free = 0;
    for (w->round = round; f < count && w->n < w->q; w->n++) {
        put(arg, w->n, f++);
        w->age[w->n] = round;
    }
    for (size_t k = 0; f < count && k < w->n; k++)
        n_free += hg_qp_is_free(&w->inner.qp, k);
    bool spares = 2 * n_free > w->n;
    while (f < count) {
        uint64_t oldest = UINT64_MAX;
        for (size_t k = 0; k < w->n; k++)
            if (w->age[k] < round && !(spares && hg_qp_is_free(&w->inner.qp, k)))
                oldest = HG_MIN(oldest, w->age[k]);
        spares = spares && oldest < UINT64_MAX;
        for (size_t k = 0; k < w->n && f < count; k++)
            if (w->age[k] == oldest && !(spares && hg_qp_is_free(&w->inner.qp, k))) {
                put(arg, k, f++);
                w->age[k] = round;
            }
    }
}

/* Places the points that add_violators has listed, by the beta that entries have now: free ones are told by it. */
static void place_fresh(struct hg_run *r)
{
    struct hg_w *w = &r->w;
    for (int l = 0; l < r->qp->layers; l++)
        for (size_t k = 0; k < w->n; k++) /* Newton's steps may have moved it */
            w->inner.qp.beta[l][k] = r->qp->beta[l][w->point[k]];
    hg_place_fresh(w, r->report->rounds, w->n_fresh, put_into_slot, r);
}

/* Empties W, which will be the worst half of all points. */
static void halve(struct hg_w *w, size_t n)
{
    w->q = n / 2;
    w->n = 0;
    memset(w->holds, 0, n);
    memset(w->age, 0, n * sizeof *w->age);
}

/* Chooses W. `room` points come in: as many as there are empty slots, or half of W; where a fold begins near its
 * solution (close), three times as many as came last time and moved, an eighth of W at least. Half of the room is for
 * points that may move up, half for those that may move down, and the last direction has what the others left. A point
 * whose violation is less than a share (cut) of the largest stays out. By the rule for folds, and W solved to a
 * fiftieth of its violation there (block.c), folds take down to six tenths of their rounds (doc/tried.md). */
void hg_select_block(struct hg_run *r)
{
    struct hg_w *w = &r->w;
    if (w->n == r->n && w->halves)
        halve(w, r->n);
    size_t most = r->opt->close ? HG_MIN(w->q / 2, HG_MAX(3 * w->fresh_moved, w->q / 8)) : w->q / 2;
    size_t room = HG_MIN(HG_MAX(w->q - w->n, most), r->active.m);
    w->n_fresh = 0;
    if (w->q == r->n && w->n == 0) { /* all there are, at once */
        memcpy(w->asked, r->active.point, r->n * sizeof *w->asked);
        memset(w->holds, 1, r->n);
        w->n_fresh = r->n;
        place_fresh(r);
        return;
    }
    for (int l = 0; l < r->qp->layers; l++) {
        size_t share = room / (2 * (size_t)r->qp->layers);
        const struct hg_extremes *e = &r->active.extremes[l];
        double range = e->high - e->low, cut = isfinite(range) ? r->opt->cut * range : 0;
        add_violators(r, r->active.up[l], 1, e->high - cut, HG_MAX(share, (size_t)1));
        size_t left = l + 1 < r->qp->layers ? share : room - HG_MIN(room, w->n_fresh);
        add_violators(r, r->active.down[l], -1, -e->low - cut, HG_MAX(left, (size_t)1));
    }
    place_fresh(r);
}

/* Fills K_WW's rows of points that stay, at the columns of fresh slots, by symmetry from a tile of the fresh rows: a
 * line's worth of these at a time, as neighbours mostly have slots side by side. A tile's columns are slots, and so
 * other rows of K_WW: threads, whose tiles have different columns, write to different rows. */
static void mirror_tile(void *arg, const struct hg_tile *tile)
{
    const struct hg_w *w = arg;
    const struct hg_inner *in = &w->inner;
    for (size_t first = 0; first < tile->n_rows && w->n_fresh < w->n; first += LINE) {
        const uint32_t *fresh = w->fresh + tile->row0 + first;
        void *const *row = w->row + tile->row0 + first;
        size_t rows = HG_MIN((size_t)LINE, tile->n_rows - first);
        for (size_t c = tile->col0; c < tile->col0 + tile->n_cols; c++)
            for (size_t f = 0; f < rows && w->age[c] != w->round; f++) /* fresh rows are there already */
                if (in->type == HINGE_F32)
                    ((float *)in->k)[c * in->ld + fresh[f]] = ((const float *)row[f])[c];
                else
                    ((double *)in->k)[c * in->ld + fresh[f]] = ((const double *)row[f])[c];
    }
}

/* Says whether peers make fresh rows in parts: where a value costs more than to be brought by another process. Of a
 * source with far values the cost is that of a row of which most are left out; none is here. */
static bool is_made_in_parts(const struct hg_rows *rows)
{
    enum { TO_BRING = 4 }; /* reads */
    return rows->peers != NULL && (rows->cost > TO_BRING || rows->order != NULL);
}

/* Fresh rows on their way between peers: tile by tile of columns, in each row by row. */
struct parts {
    struct hg_w *w;
    size_t n_left, grain, size;
    char *block;
};

static void put_part(void *arg, const struct hg_tile *tile)
{
    const struct parts *p = arg;
    size_t bytes = tile->n_cols * p->size;
    char *to = p->block + tile->col0 * p->n_left * p->size + tile->row0 * bytes;
    for (size_t r = 0; r < tile->n_rows; r++)
        memcpy(to + r * bytes, tile->row[r], bytes);
}

static void take_parts(void *arg, int thread, size_t first, size_t end)
{
    const struct parts *p = arg;
    struct hg_w *w = p->w;
    (void)thread;
    for (size_t at = first * p->grain; at < HG_MIN(end * p->grain, w->n); at += p->grain) {
        size_t cols = HG_MIN(p->grain, w->n - at);
        const char *from = p->block + at * p->n_left * p->size;
        for (size_t f = 0; f < p->n_left; f++)
            memcpy((char *)w->row[f] + at * p->size, from + f * cols * p->size, cols * p->size);
        mirror_tile(w, &(struct hg_tile){ 0, w->n_fresh, at, cols, NULL, NULL, NULL });
    }
}

/* Makes this process's columns of the fresh rows, brings them to its peers and takes theirs. */
static hinge_status fill_in_parts(struct hg_w *w, struct hg_rows *rows, const uint32_t *left, size_t n_left,
                                  const uint32_t *right, const struct hg_halt *halt)
{
    uint64_t before = rows->values;
    struct parts p = { w, n_left, hg_rows_few(rows, w->n), hg_size_of(w->inner.type), NULL };
    size_t words = (n_left * w->n * p.size + sizeof(double) - 1) / sizeof(double);
    double *block = hg_alloc(words + 1, sizeof *block);
    hinge_status status = block != NULL ? HINGE_OK : HINGE_ENOMEM;
    p.block = (char *)block;
    if (status == HINGE_OK) {
        block[words - (words > 0)] = 0; /* whose second half may be nothing's */
        status = hg_rows_fill_part(rows, left, n_left, right, w->n,
                                   &(struct hg_how){ .halt = halt, .added = put_part, .arg = &p });
    }
    size_t each = hg_rows_part(w->n, p.grain, rows->peers->count) * p.grain * n_left * p.size / sizeof *block;
    status = hg_rows_bring_made(rows, status, before, halt, block, words, each);
    if (status == HINGE_OK)
        hg_share(rows->threads, (w->n + p.grain - 1) / p.grain, 1, take_parts, &p);
    hg_free(block);
    return status;
}

/* Has the rows made in place, with mirror_tile called for each tile while it is hot. The diagonal is taken out of the
 * block: a source may compute K(x, x) with another rounding. */
hinge_status hg_fill_fresh(struct hg_w *w, struct hg_rows *rows, const uint32_t *left, size_t n_left,
                           const uint32_t *right, const struct hg_halt *halt)
{
    struct hg_inner *in = &w->inner;
    for (size_t f = 0; f < w->n_fresh; f++)
        w->row[f] = (char *)in->k + w->fresh[f] * in->ld * hg_size_of(in->type);
    struct hg_how how = { .halt = halt, .added = mirror_tile, .arg = w };
    hinge_status status = is_made_in_parts(rows) ? fill_in_parts(w, rows, left, n_left, right, halt)
                                                 : hg_rows_fill(rows, left, n_left, right, w->n, w->row, &how);
    for (size_t f = 0; f < n_left; f++) /* of the block itself: steps are as long as its curvature says */
        hg_inner_take_diagonal(in, w->fresh[f]);
    return status;
}

/* Parts the fresh slots: those whose rows the store has go behind the others, which are counted; row[k]: the k-th of
 * them. A value that costs few reads is sooner made again than found in a row: gathering reads from all over it. Of
 * peers none has whole rows. */
static size_t part_held(struct hg_run *r, const void **row)
{
    struct hg_w *w = &r->w;
    size_t lacking = 0, held = 0;
    for (size_t f = 0; f < w->n_fresh; f++) {
        uint32_t slot = w->fresh[f];
        bool looks = r->rows->cost > FROM_CACHE && r->rows->peers == NULL;
        const void *there = looks ? hg_cache_row(&r->store.cache, w->point[slot]) : NULL;
        if (there == NULL) {
            w->fresh[lacking++] = slot;
            continue;
        }
        row[held] = there;
        r->spare.found[held++] = slot;
    }
    memcpy(w->fresh + lacking, r->spare.found, held * sizeof *r->spare.found);
    return lacking;
}

struct gathering {
    struct hg_run *r;
    size_t first; /* of the fresh slots whose rows the store has */
    const void *const *row;
};

static void gather_some(void *arg, int thread, size_t begin, size_t end)
{
    const struct gathering *h = arg;
    struct hg_run *r = h->r;
    struct hg_w *w = &r->w;
    struct hg_tile tile = { h->first + begin, end - begin, 0, w->n, NULL, NULL, NULL };
    (void)thread;
    for (size_t f = begin; f < end; f++)
        hg_gather(h->row[f], r->store.size, r->spare.found, w->n, w->row[h->first + f]);
    mirror_tile(w, &tile);
}

/* Gathers rows of fresh slots from `first` on out of the store's, at the positions of W's points. All of W is active,
 * so each has a position. */
static void gather_held(struct hg_run *r, size_t first, const void *const *row)
{
    struct hg_w *w = &r->w;
    hg_gather(r->active.position, sizeof *r->active.position, w->point, w->n, r->spare.found);
    hg_share(r->opt->threads, w->n_fresh - first, LINE, gather_some, &(struct gathering){ r, first, row });
    for (size_t f = first; f < w->n_fresh; f++)
        hg_inner_take_diagonal(&r->w.inner, w->fresh[f]);
}

/* Brings K_WW up to date for the fresh slots; without any it is so already. W that is all points makes all kernel
 * values there are (columns_computed), as no row will be asked for. */
hinge_status hg_load_block(struct hg_run *r)
{
    const void **row = (const void **)r->store.held.row;
    size_t lacking = part_held(r, row);
    struct hg_w *w = &r->w;
    hg_gather(w->point, sizeof *w->point, w->fresh, lacking, w->asked);
    w->inner.qp.n = w->n + r->qp->no_sum;
    if (w->n_fresh == 0)
        return HINGE_OK;
    if (w->q == r->n)
        r->res->columns_computed += (uint64_t)w->n_fresh * w->n;
    hinge_status status = hg_fill_fresh(w, r->rows, w->asked, lacking, w->point, &r->halt);
    if (status == HINGE_OK && lacking < w->n_fresh && !hg_is_stopped(r))
        gather_held(r, lacking, row);
    return status;
}
