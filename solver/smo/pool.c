/*
 * Rows asked for in rounds, and made at the end of each. Read pool.h before.
 *
 * A round is begin, ask again and again (by one thread), make (by all threads of the source). What was asked for
 * carries the round's number as its stamp in the cache, and therefore stays until the next round begins, while problems
 * read it by hg_pool_row from several threads without a lock. To make the rows of all problems in one call is what the
 * pool is for: one wide block of rows costs less a row than many narrow ones.
 */
#include "solver/smo/pool.h"

#include <string.h>

enum { FEWEST_ROWS = 256 }; /* whatever the budget */

/* Lays out the cache for rows in f64; hg_pool_take has them be of the source's type, and in f32 up to twice as many
 * fit. Without the least of FEWEST_ROWS most rounds would move more points than there is room for, whose rows each
 * problem then makes for itself and keeps none of (many.c, update_alone). */
hinge_status hg_pool_init(struct hg_pool *pool, size_t n, size_t bytes, hinge_error *err)
{
    memset(pool, 0, sizeof *pool);
    pool->n = n;
    HG_TRY(HG_MAKE(err, "the table of shared kernel rows", HG_ARRAY(pool->was_made, n), HG_ARRAY(pool->lacking, n),
                   HG_ARRAY(pool->out, n)));
    size_t cols = HG_MAX(n, (size_t)1), least = FEWEST_ROWS * hg_aligned(cols * sizeof(double) + 64);
    return hg_cache_init(&pool->cache, cols, cols, sizeof(double), HG_MAX(bytes, least), NULL, err);
}

void hg_pool_free(struct hg_pool *pool)
{
    hg_free(pool->was_made);
    pool->was_made = NULL;
    hg_cache_free(&pool->cache);
}

/* Changes the source. Rows of the last one would be other numbers (another gamma, another width), so none is kept, and
 * the counts begin anew. */
void hg_pool_take(struct hg_pool *pool, struct hg_rows *rows)
{
    pool->rows = rows;
    pool->cache.size = hg_size_of(rows->type);
    hg_cache_clear(&pool->cache, pool->n);
    pool->rows_made = pool->rows_distinct = 0;
    memset(pool->was_made, 0, pool->n);
}

/* Begins a round: rows that the last one asked for may give way again, from the oldest on. */
void hg_pool_begin(struct hg_pool *pool)
{
    pool->n_lacking = pool->n_in_use = 0;
    pool->round++;
}

/* Asks for all of the points' rows or for none: a problem can go on only by all that it lacks. They are counted first
 * (rows already asked for in this round take no more room), then rows that are there are stamped, so that they do not
 * give way to those of the same call that are not, for which slots are taken last. As n_in_use never exceeds the slots,
 * each of these gets one. */
bool hg_pool_ask(struct hg_pool *pool, const uint32_t *point, size_t count)
{
    struct hg_cache *cache = &pool->cache;
    size_t more = 0;
    for (size_t k = 0; k < count; k++) {
        int32_t slot = hg_cache_slot(cache, point[k]);
        more += slot < 0 || cache->stamp[slot] != pool->round;
    }
    if (pool->n_in_use + more > cache->n_slots)
        return false;
    pool->n_in_use += more;
    for (size_t k = 0; k < count; k++) /* those that are there do not make room for the others */
        hg_cache_get(cache, point[k], pool->round);
    for (size_t k = 0; k < count; k++) {
        if (hg_cache_slot(cache, point[k]) >= 0)
            continue;
        pool->out[pool->n_lacking] = hg_cache_put(cache, point[k], pool->round);
        pool->lacking[pool->n_lacking++] = point[k];
        pool->rows_distinct += !pool->was_made[point[k]];
        pool->was_made[point[k]] = 1;
    }
    return true;
}

/* Makes the rows that were asked for and are not there, over all points, at once. Where that fails or is ended early,
 * some of the slots hold no rows, and nobody knows which: all are forgotten. */
hinge_status hg_pool_make(struct hg_pool *pool, const struct hg_halt *halt)
{
    const struct hg_how how = { .halt = halt };
    pool->rows_made += pool->n_lacking;
    hinge_status status =
        hg_rows_fill(pool->rows, pool->lacking, pool->n_lacking, NULL, pool->n, pool->out, halt != NULL ? &how : NULL);
    if (status != HINGE_OK || (halt != NULL && hg_halted(halt))) /* some were not made */
        hg_cache_clear(&pool->cache, pool->n);
    return status;
}
