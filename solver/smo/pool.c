/* Rows asked for in rounds, and made at the end of each (pool.h). */
#include "solver/smo/pool.h"

#include <string.h>

enum { FEWEST_ROWS = 256 }; /* whatever the budget */

hinge_status hg_pool_init(struct hg_pool *pool, size_t n, size_t bytes, hinge_error *err)
{
    memset(pool, 0, sizeof *pool);
    pool->n = n;
    HG_TRY(HG_MAKE(err, "who shares kernel rows", HG_ARRAY(pool->was_made, n), HG_ARRAY(pool->lacking, n),
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

void hg_pool_take(struct hg_pool *pool, struct hg_rows *rows)
{
    pool->rows = rows;
    pool->cache.size = hg_size_of(rows->type);
    hg_cache_clear(&pool->cache, pool->n);
    pool->rows_made = pool->rows_distinct = 0;
    memset(pool->was_made, 0, pool->n);
}

void hg_pool_begin(struct hg_pool *pool)
{
    pool->n_lacking = pool->n_in_use = 0;
    pool->round++;
}

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
