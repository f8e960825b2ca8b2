/*
 * The row store of block SMO: a source of rows behind a cache. It is asked for sums of rows over columns that it was
 * told; which rows are kept is known here alone. Read lib/rows/rows.h before.
 *
 * Rows that are dear are made once instead of again and again. Rows that are cheap to make are not kept
 * (hg_keeps_rows), which spares a third of the time and most of the memory (doc/tried.md). A test turns caching off by
 * a budget of 0 bytes (hg_smo_options.cache_bytes), or has rows kept or not by its fake's cost.
 */
#ifndef HG_STORE_H
#define HG_STORE_H

#include "solver/smo/block.h"
#include "solver/smo/cache.h"
#include "solver/smo/loops.h"

enum { HG_SMALL = 4096 }; /* points: their rows mostly stay in the processor's cache */

/* Says whether rows of n points are worth keeping. cost: of making a value, in reads of one. Reading a value from
 * memory, and the first touch of its place, take as long as making one of some 45 dense features (measured with two
 * threads; more of them share the same memory), and half as long where all rows together are a few 100 MB. Rows of few
 * points stay in a processor's cache. */
static inline bool hg_keeps_rows(double cost, size_t n)
{
    return cost > 4 || (cost > 2 && (double)n < cost * HG_SMALL) || (n <= HG_SMALL && !hg_is_cheap(cost));
}

/* A move of a point's coefficient, whose row is to be added that many times. */
struct hg_move {
    uint32_t point, at; /* at: its position among the columns, if it is there */
    double delta;
};

/* The terms of a sum of rows, [count] each. */
struct hg_terms {
    size_t count;
    uint32_t *point;
    double *coef;
    void **row; /* where each point's row is, or is to go; NULL: it is not kept */
};

/* A store: what the caller has set (rows to q, and columns), the cache, and the terms of the sum in work. */
struct hg_store {
    struct hg_rows *rows;
    const struct hg_loops *loops;
    const struct hg_halt *halt;
    const struct hg_smo_options *opt;
    struct hg_smo_result *res;
    size_t n, q;             /* points; moves at a time, at most */
    size_t size;             /* bytes of a value */
    const uint32_t *columns; /* [n_columns] points, then room */
    size_t n_columns;
    uint64_t number; /* of the columns as they stand, not 0 */
    double narrow;   /* moves that are no larger may be summed in f32 */
    struct hg_cache cache;
    bool *was_computed;    /* [n] by point: its row was made before */
    struct hg_terms held;  /* [q] rows in the cache to be added */
    struct hg_terms group; /* [q] rows being made; row: [n] */
    double work;           /* of the last sum: rows read, and rows computed again times their cost */
};

/* Makes a store of which rows, loops, halt, opt, res, n, q and columns are set; hg_store_free in any case. */
hinge_status hg_store_init(struct hg_store *store, hinge_error *err);
void hg_store_free(struct hg_store *store);

/* Lets what is held serve another problem on the same points: other options, another result, another g. */
void hg_store_renew(struct hg_store *store, const struct hg_smo_options *opt, struct hg_smo_result *res);

/* Makes the columns the first `count`, fewer or more than before; no row is held at these. */
void hg_store_change(struct hg_store *store, size_t count);

/* Adds the moves to g: g[c] += sum over the moves of delta K(point, column c). Brings the moves into another order. */
hinge_status hg_store_apply(struct hg_store *store, struct hg_move *moves, size_t count, double *g);
/* Makes the first sum, that of the points times coef; their rows are kept as far as there is room. */
hinge_status hg_store_begin(struct hg_store *store, const uint32_t *point, const double *coef, size_t count, double *g);

/* Returns how sums go by other sources, or without the cache: with the same adders, halt and limit of sums in f32. */
struct hg_how hg_store_how(const struct hg_store *store);

/* Returns the work of making all rows that are held anew, counted as that of a sum is (hg_store.work). */
double hg_store_worth(const struct hg_store *store);

/* Tells the result what was held. */
void hg_store_tell(const struct hg_store *store);

#endif
