/* Slots of the arena, and who gives way (pool.h). */
#include "solver/smo/pool.h"

#include <string.h>

enum { FEWEST_ROWS = 256 }; /* whatever the budget */

bool hg_pool_init(struct hg_pool *pool, size_t n, size_t bytes)
{
    size_t whole;
    memset(pool, 0, sizeof *pool);
    pool->n = n;
    pool->budget = HG_MAX(bytes, FEWEST_ROWS * hg_aligned(n * sizeof(double)));
    if (hg_mul(n, hg_aligned(n * sizeof(double)), &whole))
        pool->budget = HG_MIN(pool->budget, HG_MAX(whole, (size_t)64));
    if (HG_ROOM(HG_ARRAY(pool->slot_of, n), HG_ARRAY(pool->point_of, n), HG_ZEROS(pool->in_use, n),
                HG_ZEROS(pool->was_made, n), HG_ARRAY(pool->lacking, n), HG_ARRAY(pool->out, n)) &&
        hg_arena_reserve(&pool->arena, pool->budget) != NULL)
        return true;
    hg_pool_free(pool);
    return false;
}

void hg_pool_free(struct hg_pool *pool)
{
    hg_free(pool->slot_of);
    hg_arena_free(&pool->arena);
    pool->slot_of = NULL;
}

void hg_pool_take(struct hg_pool *pool, struct hg_rows *rows)
{
    pool->rows = rows;
    pool->stride = hg_aligned(HG_MAX(pool->n, (size_t)1) * hg_size_of(rows->type));
    pool->n_slots = HG_MIN(pool->n, pool->budget / pool->stride);
    pool->used = pool->hand = 0;
    pool->rows_made = pool->rows_distinct = 0;
    for (size_t i = 0; i < pool->n; i++)
        pool->slot_of[i] = -1;
    memset(pool->was_made, 0, pool->n);
}

void hg_pool_begin(struct hg_pool *pool)
{
    pool->n_lacking = pool->n_in_use = 0;
    memset(pool->in_use, 0, pool->n);
}

bool hg_pool_ask(struct hg_pool *pool, const uint32_t *point, size_t count)
{
    size_t more = 0;
    for (size_t k = 0; k < count; k++) {
        int32_t slot = pool->slot_of[point[k]];
        more += slot == -1 || (slot >= 0 && pool->in_use[slot] == 0);
    }
    if (pool->n_lacking + pool->n_in_use + more > pool->n_slots)
        return false;
    for (size_t k = 0; k < count; k++) {
        int32_t slot = pool->slot_of[point[k]];
        if (slot >= 0) {
            pool->n_in_use += pool->in_use[slot] == 0;
            pool->in_use[slot] = 1;
        } else if (slot == -1) {
            pool->slot_of[point[k]] = -2; /* on the list */
            pool->lacking[pool->n_lacking++] = point[k];
        }
    }
    return true;
}

/* A slot for a point: the next one that no row in use has. */
static void give_slot(struct hg_pool *pool, uint32_t point)
{
    size_t slot = pool->used;
    if (slot < pool->n_slots)
        pool->used++;
    else {
        while (pool->in_use[pool->hand] != 0)
            pool->hand = (pool->hand + 1) % pool->n_slots;
        slot = pool->hand;
        pool->hand = (pool->hand + 1) % pool->n_slots;
        pool->slot_of[pool->point_of[slot]] = -1;
    }
    pool->in_use[slot] = 1;
    pool->point_of[slot] = point;
    pool->slot_of[point] = (int32_t)slot;
    pool->most_bytes = HG_MAX(pool->most_bytes, pool->used * pool->stride);
}

hinge_status hg_pool_make(struct hg_pool *pool, const struct hg_halt *halt)
{
    const struct hg_how how = { .halt = halt };
    for (size_t k = 0; k < pool->n_lacking; k++) {
        uint32_t point = pool->lacking[k];
        give_slot(pool, point);
        pool->out[k] = hg_pool_row(pool, point);
        pool->rows_distinct += !pool->was_made[point];
        pool->was_made[point] = 1;
    }
    pool->rows_made += pool->n_lacking;
    hinge_status status =
        hg_rows_fill(pool->rows, pool->lacking, pool->n_lacking, NULL, pool->n, pool->out, halt != NULL ? &how : NULL);
    for (size_t k = 0; k < pool->n_lacking && halt != NULL && hg_halted(halt); k++)
        pool->slot_of[pool->lacking[k]] = -1;
    return status;
}
