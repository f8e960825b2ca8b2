/*
 * Kernel rows that a rank keeps: their own columns, by the point's number among all. What is kept depends on what is
 * asked, and on how many rows there is room for, which is the same on all ranks.
 */
#ifndef HM_KEEP_H
#define HM_KEEP_H

#include "lib/base/base.h"

struct hm_keep {
    size_t rows, bytes;   /* room for so many, of so many bytes each */
    size_t used;
    struct hg_arena arena;
    uint64_t *number;     /* [rows] */
    uint64_t *stamp;      /* [rows] the round that last asked for it */
    uint32_t *older, *newer; /* [rows + 1] a ring by age; the last is its head */
    uint32_t *slot;       /* [mask + 1] by hash; UINT32_MAX: free */
    size_t mask;
};

hinge_status hm_keep_init(struct hm_keep *keep, size_t rows, size_t bytes, hinge_error *err);
void hm_keep_free(struct hm_keep *keep);

/* The row of a point, or NULL. */
void *hm_keep_find(struct hm_keep *keep, uint64_t number, uint64_t round);
/* Room for a row that is not there, for which the one that was asked for longest ago makes way; NULL: all are of this
 * round. */
void *hm_keep_add(struct hm_keep *keep, uint64_t number, uint64_t round);

#endif
