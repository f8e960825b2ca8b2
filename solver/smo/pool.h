/*
 * Kernel rows that many problems share: a row that was made once is there for all of them, until its room is needed.
 * What is there changes only while rows are asked for and made. Read cache.h and many.h before, which says what sharing
 * buys.
 */
#ifndef HG_POOL_H
#define HG_POOL_H

#include "lib/rows/rows.h"
#include "solver/smo/cache.h"

struct hg_pool {
    struct hg_rows *rows; /* of all points */
    size_t n;             /* points */
    struct hg_cache cache;
    uint64_t round;    /* number of the round of asking, whose rows stay until it is over, */
    size_t n_in_use;   /* and how many rows it has asked for */
    uint8_t *was_made; /* [n] */
    uint32_t *lacking; /* [n_lacking] points whose rows were asked for and are to be made, */
    size_t n_lacking;
    void **out; /* [n_lacking] and where they go */
    uint64_t rows_made, rows_distinct;
};

/* Makes room for n points, and for rows of so many bytes at most (some hundred rows at least). */
hinge_status hg_pool_init(struct hg_pool *pool, size_t n, size_t bytes, hinge_error *err);
void hg_pool_free(struct hg_pool *pool);
/* Takes a source, the caller's: rows are of it from now on, and none is there. */
void hg_pool_take(struct hg_pool *pool, struct hg_rows *rows);

/* Returns the row of a point, which stays until the next round asks for others; NULL: it is not there. */
static inline void *hg_pool_row(const struct hg_pool *pool, uint32_t point)
{
    return hg_cache_row(&pool->cache, point);
}

/* Begins a round, asks for the rows of some points, and makes rows. hg_pool_ask may be called as often as there is room
 * (false: there is none for these points, and none of them was asked for); hg_pool_make then makes those that are not
 * there, at once, and none that was asked for gives way to them. halt: NULL, or what ends that early: then none is
 * there any more. */
void hg_pool_begin(struct hg_pool *pool);
bool hg_pool_ask(struct hg_pool *pool, const uint32_t *point, size_t count);
hinge_status hg_pool_make(struct hg_pool *pool, const struct hg_halt *halt);

#endif
