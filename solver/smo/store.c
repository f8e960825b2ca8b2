/*
 * Sums of rows that are kept or made. Read store.h before.
 *
 * The parts: set-up, and the change of columns, which forgets all rows; sums by rows in the cache (add_held); sums by
 * rows that are made (add_made), tile by tile, each added to g by the thread that made it while it is in that core's
 * cache; and hg_store_apply, which parts the moves of a round into the two, after it has pinned the rows that are
 * there.
 *
 * The order of a sum's terms is that of the moves, first those of the one kind, then those of the other; threads share
 * the columns and never a sum. So g has the same bits for any number of threads.
 */
#include "solver/smo/store.h"
#include "lib/base/team.h"

#include <stdlib.h>

/* Sums in f32, where rows come as sums (features of two values each), are for moves of at most so many eps, of which
 * f32 loses a small share of eps. With all sums in f64 a training at a large C takes a third more processor time
 * (doc/tried.md). store.narrow = 0 has all of them in f64, as in problems of many.c. */
static const double NARROW = 8192;

enum { UPDATE_COLS = 2048 }; /* columns a task of a sum by rows in the cache */

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

/* Returns the columns that rows in the cache have: with peers those of this one's tiles, as many as any of them may
 * have. */
static size_t kept_columns(const struct hg_store *s, size_t count)
{
    const struct hg_rows *rows = s->rows;
    size_t grain = HG_MAX(rows->grain, (size_t)1), tiles = (count + grain - 1) / grain;
    return rows->peers == NULL ? count : HG_MIN(count, (tiles + rows->peers->count - 1) / rows->peers->count * grain);
}

/* Forgets all rows, those to come being of the first `count` columns. With peers as many are kept as whole ones have
 * room: how many peers there are changes nothing. */
static void clear(struct hg_store *s, size_t count)
{
    hg_cache_clear(&s->cache, kept_columns(s, count));
    if (s->rows->peers != NULL)
        hg_cache_count(&s->cache, count);
}

/* Makes room for the terms of a sum of q moves, and the cache. group.row has n places since the first sum is of all
 * support vectors of the start (hg_store_begin). */
hinge_status hg_store_init(struct hg_store *s, hinge_error *err)
{
    size_t n = s->n, q = s->q, room;
    s->size = hg_size_of(s->rows->type);
    s->n_columns = n;
    s->number = 1;
    s->narrow = NARROW * s->opt->eps;
    struct hg_array arrays[] = {
        HG_ZEROS(s->was_computed, n), HG_ZEROS(s->held.row, q),   HG_ZEROS(s->held.coef, q),
        HG_ZEROS(s->group.row, n),    HG_ZEROS(s->group.coef, q), HG_ZEROS(s->group.point, q)
    };
    if (!hg_room(arrays, sizeof arrays / sizeof *arrays, &room))
        return hg_fail(err, HINGE_ENOMEM, "no memory for a problem of %zu examples", n);
    s->res->report.memory_bytes += room;
    /* A problem that is one working set needs no rows. */
    size_t bytes = q < n && !s->rows->lies && hg_keeps_rows(s->rows->cost, n) ? s->opt->cache_bytes : 0;
    HG_TRY(hg_cache_init(&s->cache, n, kept_columns(s, n), s->size, bytes, s->opt->arena, err));
    clear(s, n);
    return HINGE_OK;
}

void hg_store_renew(struct hg_store *s, const struct hg_smo_options *opt, struct hg_smo_result *res)
{
    s->opt = opt;
    s->res = res;
    s->narrow = NARROW * opt->eps;
    hg_store_change(s, s->n);
}

void hg_store_free(struct hg_store *s)
{
    hg_free(s->was_computed);
    hg_cache_free(&s->cache);
}

/* Tells the report the budget, the most that was used, and the rows that gave way; memory_bytes gets what the arena has
 * really touched. */
void hg_store_tell(const struct hg_store *s)
{
    hinge_report *report = &s->res->report;
    report->rows_evicted = s->cache.evicted;
    report->cache_bytes = s->cache.budget;
    report->cache_used = s->cache.most_bytes;
    report->memory_bytes += hg_cache_touched(&s->cache);
}

/* Returns the rows that were filled, times all columns, times what a value costs to be made and then read: what
 * shrinking weighs against the work that points at rest cost, as it forgets these rows. */
double hg_store_worth(const struct hg_store *s)
{
    return (1 + s->rows->cost) * (double)s->cache.used * (double)s->n_columns;
}

/* Changes the columns. Rows are as wide as the columns and in their order, so all are forgotten. The new number tells
 * the source that this is another list: it may keep what it gathered of the columns as long as the number stays. */
void hg_store_change(struct hg_store *s, size_t count)
{
    if (count == s->n_columns)
        return;
    clear(s, count);
    s->n_columns = count;
    s->number++;
}

/* ---- rows that are read ------------------------------------------------------------------------------------------ */

struct adding {
    const struct hg_store *s;
    const struct hg_terms *terms;
    double *g;
    double *seconds; /* of all threads, atomic; NULL: not wanted */
};

static void add_some(void *arg, int thread, size_t first, size_t end)
{
    const struct adding *a = arg;
    double begin = a->seconds != NULL ? hg_now() : 0;
    const struct hg_rows *rows = a->s->rows;
    size_t parts = rows->peers != NULL ? rows->peers->count : 1, part = rows->peers != NULL ? rows->peers->rank : 0;
    size_t grain = parts > 1 ? rows->grain : end;
    (void)thread;
    for (size_t at = first, next; at < end; at = next) { /* a tile of this peer's at a time */
        next = HG_MIN(end, (at / grain + 1) * grain);
        size_t col = (at / grain * parts + part) * grain + at % grain;
        hg_add_stretch(&a->s->loops->add, rows->type, a->terms->count, a->terms->coef, a->terms->row, at, next - at,
                       a->g + (parts > 1 ? col : at));
    }
    if (a->seconds != NULL)
        hg_add(a->seconds, hg_now() - begin);
}

/* Adds rows in the cache: g[c] += sum over terms of coef K(point, c). A task has UPDATE_COLS columns: their g, 16 KB,
 * stays in L1 while the rows go by, eight at a time. It is bound by memory (doc/performance.md, "Roofline", read),
 * which the bytes counted here are for. */
static void add_held(struct hg_store *s, const struct hg_terms *terms, double *g)
{
    if (terms->count == 0)
        return;
    const struct hg_peers *peers = s->rows->peers;
    size_t end = peers != NULL ? hg_peers_columns(peers, peers->rank, s->n_columns, s->rows->grain) : s->n_columns;
    uint64_t bytes = (uint64_t)terms->count * end * s->size;
    hinge_stages *stages = s->rows->stages;
    s->res->report.bytes_read += bytes;
    hg_share(s->opt->threads, end, UPDATE_COLS, add_some,
             &(struct adding){ s, terms, g, stages != NULL ? &stages->read : NULL });
    if (stages != NULL)
        stages->gbytes += 1e-9 * (double)bytes;
}

/* ---- rows that are made ------------------------------------------------------------------------------------------ */

struct hg_how hg_store_how(const struct hg_store *s)
{
    return (struct hg_how){ .add = &s->loops->add, .halt = s->halt, .rough = true, .narrow = s->narrow };
}

/* Adds K[points of the terms, columns]' their coefficients to g. terms->row: where each is kept in the cache, or
 * NULL. */
static hinge_status add_made(struct hg_store *s, const struct hg_terms *terms, double *g)
{
    struct hg_how how = hg_store_how(s);
    how.out = terms->row;
    how.list = s->number;
    uint64_t before = s->rows->values;
    hinge_status status =
        hg_rows_apply(s->rows, terms->point, terms->count, terms->coef, s->columns, s->n_columns, g, &how);
    uint64_t made = s->rows->values - before;
    s->res->columns_computed += made;
    s->res->report.bytes_read += made * (s->rows->adds ? 1 : s->size);
    if (status != HINGE_OK || hg_halted(s->halt)) /* some rows were not made */
        clear(s, s->n_columns);
    return status;
}

/* Adds the start's support vectors, whose rows are wanted again soon: slots that were never filled take the first of
 * them. None evicts another, hence the stamp of no round. */
hinge_status hg_store_begin(struct hg_store *s, const uint32_t *point, const double *coef, size_t count, double *g)
{
    struct hg_terms all = { count, (uint32_t *)point, (double *)coef, s->group.row };
    for (size_t k = 0; k < count; k++) {
        all.row[k] = s->cache.used < s->cache.n_slots ? hg_cache_put(&s->cache, point[k], 0) : NULL;
        s->was_computed[point[k]] = true;
    }
    s->res->report.rows_asked += count;
    return add_made(s, &all, g);
}

/* ---- a sum ------------------------------------------------------------------------------------------------------- */

/* Compares for qsort, by position: points that stand side by side in the source's order have negligible columns in
 * common, and a source that knows of these leaves more out of a block of such rows. */
static int by_position(const void *a, const void *b)
{
    const struct hg_move *p = a, *q = b;
    return (p->at > q->at) - (p->at < q->at);
}

/* Parts the moves by whether their rows are in the cache, where a look pins them for this round; adds the ones there;
 * then finds slots for the others and has them made. A row without a slot (there are none, or all are pinned) is made
 * and not kept. work counts rows read, and rows that are made again at 1 + cost reads a value; rows made for the first
 * time are no waste, as every point's gradient needs them once (shrink.c). */
hinge_status hg_store_apply(struct hg_store *s, struct hg_move *moves, size_t count, double *g)
{
    struct hg_terms *held = &s->held, *made = &s->group;
    uint64_t round = s->res->report.rounds;
    size_t again = 0;
    if (s->rows->order != NULL) /* neighbours side by side */
        qsort(moves, count, sizeof *moves, by_position);
    held->count = made->count = 0;
    for (size_t k = 0; k < count; k++) {
        uint32_t point = moves[k].point;
        void *row = hg_cache_get(&s->cache, point, round);
        if (row != NULL) {
            held->row[held->count] = row;
            held->coef[held->count++] = moves[k].delta;
        } else {
            made->point[made->count] = point;
            made->coef[made->count++] = moves[k].delta;
            again += s->was_computed[point];
            s->was_computed[point] = true;
        }
    }
    s->res->report.rows_asked += count;
    s->work = (double)held->count + (1 + s->rows->cost) * (double)again;
    add_held(s, held, g);
    if (made->count == 0)
        return held->count > 0 ? hg_rows_bring(s->rows, HINGE_OK, s->halt, g, s->n_columns) : HINGE_OK;
    for (size_t k = 0; k < made->count; k++) /* after all look-ups: rows of this round are not evicted for each other */
        made->row[k] = hg_cache_put(&s->cache, made->point[k], round);
    return add_made(s, made, g);
}
