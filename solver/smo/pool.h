/*
 * Kernel rows that many problems share: a row that was made once is there for all of them, until its room is needed.
 * What is there changes only in hg_pool_make. Read many.h before, which says what sharing buys.
 */
#ifndef HG_POOL_H
#define HG_POOL_H

#include "lib/rows/rows.h"

struct hg_pool {
    struct hg_rows *rows;  /* of all points */
    size_t n, budget;      /* points; bytes for rows */
    size_t stride;         /* bytes of a row */
    size_t n_slots, used;  /* rows that there is room for, and that were ever stored */
    struct hg_arena arena;
    int32_t *slot_of;      /* [n] or -1 */
    uint32_t *point_of;    /* [n] by slot */
    uint8_t *in_use;       /* [n] by slot: its row was asked for */
    size_t n_in_use;
    size_t hand;           /* the slot that was given to another row last, and one */
    uint8_t *was_made;     /* [n] */
    uint32_t *lacking;     /* [n_lacking] points whose rows were asked for and are not there */
    size_t n_lacking;
    void **out;            /* [n] */
    uint64_t rows_made, rows_distinct;
    size_t most_bytes;     /* stored */
};

/* Makes room for n points, and for rows of so many bytes at most (some hundred rows at least); false: no memory. */
bool hg_pool_init(struct hg_pool *pool, size_t n, size_t bytes);
void hg_pool_free(struct hg_pool *pool);
/* Rows are of this source, the caller's, from now on, and none is there. */
void hg_pool_take(struct hg_pool *pool, struct hg_rows *rows);

/* NULL: not there */
static inline void *hg_pool_row(const struct hg_pool *pool, uint32_t point)
{
    int32_t slot = pool->slot_of[point];
    return slot >= 0 ? pool->arena.memory + (size_t)slot * pool->stride : NULL;
}

/* Rows are asked for as often as there is room for them (false: there is none for these); then those that are not there
 * are made, at once, and none that was asked for gives way to them. halt: NULL, or what ends that early: then they are
 * not there. */
void hg_pool_begin(struct hg_pool *pool);
bool hg_pool_ask(struct hg_pool *pool, const uint32_t *point, size_t count);
hinge_status hg_pool_make(struct hg_pool *pool, const struct hg_halt *halt);

#endif
