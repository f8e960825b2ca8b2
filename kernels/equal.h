/*
 * Equal points. The squared distance of a point to itself is 0, and so is that of two points with the same features;
 * but what is left of norms and a dot product is their rounding. So an RBF kernel's values of such pairs are set to 1
 * after the map.
 *
 * Buys no time, but exact values where rounding would show most: of points far from the origin, and at a large gamma
 * (test/test_equal.c). A source whose `equal` is empty (hg_gram.equal.asked NULL) has values as they are rounded.
 */
#ifndef HG_EQUAL_H
#define HG_EQUAL_H

#include "lib/base/base.h"

struct hg_points;

/* Points by their features. */
struct hg_equal_table {
    size_t slots;
    uint32_t *slot; /* [slots] 1 + the first of equal points; 0: none */
    uint32_t *next; /* [n] 1 + the next point that is equal; 0: there is none */
    uint64_t *hash; /* [n] */
};

hinge_status hg_equal_table_init(struct hg_equal_table *table, const struct hg_points *points, int threads,
                                 hinge_error *err);
void hg_equal_table_free(struct hg_equal_table *table);
/* Returns 1 + the first of the table's points that are equal to point i of others; 0: there is none. */
uint32_t hg_equal_table_find(const struct hg_equal_table *table, const struct hg_points *points,
                             const struct hg_points *others, size_t i);
/* Makes first [n] the first point equal to each. */
void hg_equal_table_first(const struct hg_equal_table *table, uint32_t *first);

/* Makes *first [points->n], the first point equal to each, to be freed; NULL: no two are equal. */
hinge_status hg_equal_find(const struct hg_points *points, int threads, uint32_t **first, hinge_error *err);

/* Makes one number of points that are equal and have one key: number [n], in the order of the first of each, which are
 * first_of [n]; *count of them. first: hg_equal_find's; key [n]: no NaN. */
hinge_status hg_equal_number(const uint32_t *first, const double *key, size_t n, uint32_t *number, uint32_t *first_of,
                             size_t *count, hinge_error *err);

/* Knows which columns of a tile are equal to which of the rows asked for. */
struct hg_equal {
    const uint32_t *first; /* [points] hg_equal_find's, or NULL */
    uint32_t *asked; /* [points] at the first of equal ones: 1 + the first of the rows asked for that is; 0: none is.
                      * NULL: nothing is set, as for kernels whose K(x, x) is not 1 */
    uint32_t *next;  /* [most rows asked for] 1 + the next of them; 0: there is none */
};

struct hg_match { /* a column, and 1 + the next of the rows asked for that are equal to it */
    uint32_t col, row;
};

/* Borrows first, of n points. On failure nothing is left to be freed. */
hinge_status hg_equal_init(struct hg_equal *equal, const uint32_t *first, size_t n, size_t most_rows, hinge_error *err);
void hg_equal_free(struct hg_equal *equal);

/* Tells which points are asked for as rows, until they are forgotten. */
void hg_equal_ask(struct hg_equal *equal, const uint32_t *rows, size_t count);
void hg_equal_forget(struct hg_equal *equal, const uint32_t *rows, size_t count);

/* Those of n points, a tile's columns, that are equal to rows asked for into match [n]; returns how many. */
size_t hg_equal_match(const struct hg_equal *equal, const uint32_t *cols, size_t n, struct hg_match *match);
/* Sets values of equal pairs to 1 in rows [first, end) of those asked for: row[r] points at row first + r's value of
 * the tile's first column. To be called for ascending rows. */
void hg_equal_set(const struct hg_equal *equal, struct hg_match *match, size_t n_match, size_t first, size_t end,
                  hinge_dtype type, void *const *row);

#endif
