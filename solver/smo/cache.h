/*
 * LRU cache of kernel rows, keyed by point, within a byte budget. The arena is reserved once and grows as it is
 * touched, on huge pages where the system gives them. Where there is room for n rows of more points than that, points
 * that leave the same remainder by n form a list. Read store.h before, which asks for the rows.
 *
 * Where rows are dear and asked for again, training with room for few of them takes several times as long
 * (doc/tried.md). Where rows cost little the store keeps none (hg_keeps_rows).
 */
#ifndef HG_CACHE_H
#define HG_CACHE_H

#include "lib/base/base.h"

struct hg_cache {
    size_t n;             /* rows at most, > 0; of so many points, or of more */
    size_t size;          /* bytes a value */
    size_t budget;        /* bytes */
    size_t stride;        /* bytes a row slot, */
    size_t counted;       /* and what it counts for */
    size_t n_slots, used; /* slots there are, slots ever filled since it was clear */
    size_t most_bytes;    /* most bytes in use at once */
    char *arena;
    size_t arena_bytes;
    struct hg_arena *lent; /* or NULL: */
    struct hg_arena own;
    int32_t *slot_of;       /* [n] of a point (number modulo n), or the first of several, or -1 */
    int32_t *next;          /* [n] per slot: the next of those, or -1 */
    uint32_t *point_of;     /* [n] per slot */
    uint64_t *stamp;        /* [n] per slot: pinned while equal to the round asking */
    int32_t *newer, *older; /* [n] LRU list over slots */
    int32_t newest, oldest;
    uint64_t evicted;
};

/* Makes room for rows of `cols` values of `size` bytes; in memory that is lent (or NULL), for as long as the cache is
 * there. */
hinge_status hg_cache_init(struct hg_cache *cache, size_t n, size_t cols, size_t size, size_t budget,
                           struct hg_arena *lent, hinge_error *err);
void hg_cache_free(struct hg_cache *cache);

/* Returns the bytes of memory that the rows take, those of the arena's earlier caches among them. */
size_t hg_cache_touched(const struct hg_cache *cache);

/* Returns the slot of a point's row; -1: it is not there. */
static inline int32_t hg_cache_slot(const struct hg_cache *cache, uint32_t point)
{
    int32_t s = cache->slot_of[point < cache->n ? point : point % cache->n];
    while (s >= 0 && cache->point_of[s] != point)
        s = cache->next[s];
    return s;
}

/* Returns the row of a point, without a change of its age; NULL: it is not there. */
static inline char *hg_cache_row(const struct hg_cache *cache, uint32_t point)
{
    int32_t slot = hg_cache_slot(cache, point);
    return slot >= 0 ? cache->arena + (size_t)slot * cache->stride : NULL;
}

/* Returns the row of a point, now the newest and pinned by stamp; NULL: it is not there. */
void *hg_cache_get(struct hg_cache *cache, uint32_t point, uint64_t stamp);
/* Returns a slot for a point that is not there, evicting the oldest row not pinned by stamp; NULL: all are. */
void *hg_cache_put(struct hg_cache *cache, uint32_t point, uint64_t stamp);
/* Forgets all rows; those to come are of `cols` values, no more than there were first. */
void hg_cache_clear(struct hg_cache *cache, size_t cols);
/* Has each row of an empty cache count for one of `cols` values, of which it is a part: then there are as many slots as
 * there would be for whole rows. */
void hg_cache_count(struct hg_cache *cache, size_t cols);

#endif
