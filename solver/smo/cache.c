/* Slots of the arena, and the list by age (cache.h). */
#include "solver/smo/cache.h"

#include <string.h>

/* Bytes of a row slot: whole cache lines, and never a multiple of a page, or rows would fall on each other's
 * sets. */
static size_t slot_bytes(size_t cols, size_t size)
{
    size_t bytes = (cols * size + 63) / 64 * 64;
    return bytes % 4096 == 0 ? bytes + 64 : bytes;
}

void hg_cache_clear(struct hg_cache *c, size_t cols)
{
    c->stride = slot_bytes(HG_MAX(cols, (size_t)1), c->size);
    c->n_slots = HG_MIN(c->n, c->arena_bytes / c->stride);
    c->used = 0;
    c->newest = c->oldest = -1;
    memset(c->slot_of, 0xff, c->n * sizeof *c->slot_of);
}

/* Returns the bytes that a cache of so many rows can fill. */
static size_t bytes_for(size_t n, size_t cols, size_t size, size_t budget)
{
    return HG_MIN(budget, n * slot_bytes(cols, size));
}

hinge_status hg_cache_init(struct hg_cache *c, size_t n, size_t cols, size_t size, size_t budget,
                           struct hg_arena *lent, hinge_error *err)
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

size_t hg_cache_touched(const struct hg_cache *c)
{
    const size_t huge = (size_t)2 << 20; /* the last page may be, and little of it used */
    size_t bytes = c->most_bytes > 0 ? c->most_bytes + huge : 0;
    bytes = HG_MIN(bytes, c->lent != NULL ? c->lent->bytes : c->own.bytes);
    return HG_MAX(bytes, c->lent != NULL ? c->lent->touched : 0);
}

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

void *hg_cache_put(struct hg_cache *c, uint32_t point, uint64_t stamp)
{
    int32_t s, *home = &c->slot_of[point % c->n];
    if (c->used < c->n_slots) {
        s = (int32_t)c->used++;
        c->most_bytes = HG_MAX(c->most_bytes, c->used * c->stride);
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
