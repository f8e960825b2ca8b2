/*
 * Slots of the arena, and the lists over them. Read cache.h before.
 *
 * A slot is a piece of the arena, stride bytes long, and holds one row. Two kinds of lists run through the slots, by
 * number, so that no row is ever moved: chains of the points that leave the same remainder by n (slot_of, next), by
 * which a point's row is found, and one list by age (newest, newer, older, oldest), by which a row is chosen that gives
 * way. Where points are numbered below n, as those of a problem are, each chain has one slot at most.
 *
 * The cache neither makes rows nor reads them: put returns a place whose contents are the caller's to fill in. One
 * thread calls at a time; many may read rows between calls.
 */
#include "solver/smo/cache.h"

#include <string.h>

/* Returns the bytes of a row slot: whole cache lines, and never a multiple of a page, or rows would fall on each
 * other's sets. */
static size_t slot_bytes(size_t cols, size_t size)
{
    size_t bytes = (cols * size + 63) / 64 * 64;
    return bytes % 4096 == 0 ? bytes + 64 : bytes;
}

/* Cuts the arena into slots anew, for rows of `cols` values: narrower rows make more slots of the same bytes, n at
 * most. The lists need no more than their ends to be empty. Memory that was touched stays so. */
void hg_cache_clear(struct hg_cache *c, size_t cols)
{
    c->stride = slot_bytes(HG_MAX(cols, (size_t)1), c->size);
    c->counted = c->stride;
    c->n_slots = HG_MIN(c->n, c->arena_bytes / c->stride);
    c->used = 0;
    c->newest = c->oldest = -1;
    memset(c->slot_of, 0xff, c->n * sizeof *c->slot_of);
}

void hg_cache_count(struct hg_cache *c, size_t cols)
{
    c->counted = slot_bytes(HG_MAX(cols, (size_t)1), c->size);
    c->n_slots = HG_MIN(c->n_slots, c->budget / c->counted);
}

/* Returns the bytes that a cache of so many rows can fill. */
static size_t bytes_for(size_t n, size_t cols, size_t size, size_t budget)
{
    return HG_MIN(budget, n * slot_bytes(cols, size));
}

/* Reserves the arena at once, whose pages come as rows are put there. A budget of less than a row gives no slots, and
 * put returns NULL each time. An arena that is lent is reserved for the largest problem to come: a larger one later
 * would be another block of memory, whose pages would have to be found again. */
hinge_status hg_cache_init(struct hg_cache *c, size_t n, size_t cols, size_t size, size_t budget, struct hg_arena *lent,
                           hinge_error *err)
{
    memset(c, 0, sizeof *c);
    c->n = n;
    c->size = size;
    c->budget = budget;
    c->lent = lent;
    size_t slots = HG_MIN(n, budget / slot_bytes(cols, size));
    c->arena_bytes = bytes_for(n, cols, size, budget);
    if (slots == 0)
        c->arena_bytes = 0;
    bool ok = HG_ROOM(HG_ARRAY(c->slot_of, n), HG_ARRAY(c->point_of, n), HG_ARRAY(c->stamp, n), HG_ARRAY(c->newer, n),
                      HG_ARRAY(c->older, n), HG_ARRAY(c->next, n));
    if (ok && c->arena_bytes > 0) {
        size_t most = lent != NULL ? HG_MAX(lent->most_points, n) : 0;
        c->arena = hg_arena_reserve(lent != NULL ? lent : &c->own,
                                    HG_MAX(c->arena_bytes, bytes_for(most, most, size, budget)));
        ok = c->arena != NULL;
    }
    if (!ok) {
        hg_cache_free(c);
        return hg_fail(err, HINGE_ENOMEM, "no memory for a kernel row cache of %zu bytes", budget);
    }
    hg_cache_clear(c, cols);
    return HINGE_OK;
}

/* Counts a huge page more than is used, as the last one counts whole; never more than was reserved. Of a lent arena
 * what an earlier cache touched counts too. */
size_t hg_cache_touched(const struct hg_cache *c)
{
    const size_t huge = (size_t)2 << 20; /* the last page may be, and little of it used */
    size_t bytes = c->most_bytes > 0 ? c->most_bytes + huge : 0;
    bytes = HG_MIN(bytes, c->lent != NULL ? c->lent->bytes : c->own.bytes);
    return HG_MAX(bytes, c->lent != NULL ? c->lent->touched : 0);
}

/* Frees an arena of the cache's own. A lent one is told how much of it was touched: later caches in it tell that as
 * theirs too (hg_cache_touched), since the memory stays. */
void hg_cache_free(struct hg_cache *c)
{
    if (c->lent != NULL)
        c->lent->touched = hg_cache_touched(c);
    hg_arena_free(&c->own);
    hg_free(c->slot_of);
    memset(c, 0, sizeof *c);
}

/* Takes a slot out of the list from the oldest row to the newest. */
static void unlink_slot(struct hg_cache *c, int32_t s)
{
    if (c->newer[s] >= 0)
        c->older[c->newer[s]] = c->older[s];
    else
        c->newest = c->older[s];
    if (c->older[s] >= 0)
        c->newer[c->older[s]] = c->newer[s];
    else
        c->oldest = c->newer[s];
}

/* Puts a slot that is in no list to the newest end of the list by age. */
static void link_newest(struct hg_cache *c, int32_t s)
{
    c->newer[s] = -1;
    c->older[s] = c->newest;
    if (c->newest >= 0)
        c->newer[c->newest] = s;
    c->newest = s;
    if (c->oldest < 0)
        c->oldest = s;
}

/* Looks for a row, and makes it the newest. The stamp is the number of a round: until another round asks, put gives
 * this slot to nobody, so that the address stays good while the round's other rows are put. */
void *hg_cache_get(struct hg_cache *c, uint32_t point, uint64_t stamp)
{
    int32_t s = hg_cache_slot(c, point);
    if (s < 0)
        return NULL;
    unlink_slot(c, s);
    link_newest(c, s);
    c->stamp[s] = stamp;
    return c->arena + (size_t)s * c->stride;
}

/* Takes a slot that was never filled, while there are any, since rows that are there may be asked for again; then that
 * of the oldest row, which leaves its chain and the list by age. The point must not be there yet: it would be found at
 * one of two places. */
void *hg_cache_put(struct hg_cache *c, uint32_t point, uint64_t stamp)
{
    int32_t s, *home = &c->slot_of[point % c->n];
    if (c->used < c->n_slots) {
        s = (int32_t)c->used++;
        c->most_bytes = HG_MAX(c->most_bytes, c->used * c->counted);
    } else {
        s = c->oldest; /* pinned rows were touched in this round, so they are the newest: one look is enough */
        if (s < 0 || c->stamp[s] == stamp)
            return NULL;
        unlink_slot(c, s);
        int32_t *at = &c->slot_of[c->point_of[s] % c->n];
        while (*at != s)
            at = &c->next[*at];
        *at = c->next[s];
        c->evicted++;
    }
    c->point_of[s] = point;
    c->stamp[s] = stamp;
    c->next[s] = *home;
    *home = s;
    link_newest(c, s);
    return c->arena + (size_t)s * c->stride;
}
