/*
 * A set of feature indices and the place of each among those in it: what is left of wide sparse text, or of LIBSVM's
 * examples in compat/svm_dense.c, when features without any value are dropped.
 */
#ifndef HG_COLUMNS_H
#define HG_COLUMNS_H

#include "lib/base/base.h"

struct hg_columns {
    size_t last;      /* highest index that fits in */
    size_t count;     /* indices in it, known after hg_columns_rank */
    uint64_t *bits;   /* [last / 64 + 1] */
    uint32_t *before; /* [last / 64 + 1] indices in the words before */
};

/* Say whether columns are to be dropped. wasted: a dense matrix of so many rows and columns up to `last` is large, and
 * mostly empty however its text of so many bytes (4 or more a value) is spread; that is known before the text is read.
 * worth: 16 columns or more for one that holds something; that is known afterwards. */
bool hg_columns_wasted(size_t rows, size_t last, size_t text);
bool hg_columns_worth(const struct hg_columns *columns);

/* EINVAL: a caller's list of columns does not ascend from 1 to INT_MAX. */
hinge_status hg_columns_check(const size_t *columns, size_t n, hinge_error *err);

/* Makes an empty set for indices up to `last`; HINGE_ENOMEM, with the file's name, where its bits take more than a
 * sixteenth of the memory. Ends with hg_columns_free. */
hinge_status hg_columns_open(struct hg_columns *columns, const char *name, size_t last, hinge_error *err);
void hg_columns_free(struct hg_columns *columns);

/* Adds an index, which is at most last; several threads may add at once. */
static inline void hg_columns_add(struct hg_columns *columns, size_t index)
{
    uint64_t *word = &columns->bits[index / 64], bit = (uint64_t)1 << index % 64;
    if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

/* Counts, once all are added: before that no index has a place. */
static inline void hg_columns_rank(struct hg_columns *columns)
{
    columns->count = 0;
    for (size_t word = 0; word <= columns->last / 64; word++) {
        columns->before[word] = (uint32_t)columns->count;
        columns->count += (size_t)__builtin_popcountll(columns->bits[word]);
    }
}

/* Returns the index's place, from 1; 0: it is not in the set. */
static inline size_t hg_columns_place(const struct hg_columns *columns, size_t index)
{
    uint64_t bit = (uint64_t)1 << index % 64;
    if (index > columns->last || !(columns->bits[index / 64] & bit))
        return 0;
    return columns->before[index / 64] + (size_t)__builtin_popcountll(columns->bits[index / 64] & (bit - 1)) + 1;
}

/* Lists all of them, ascending: [count], the caller's. */
hinge_status hg_columns_list(const struct hg_columns *columns, size_t **list, hinge_error *err);

#endif
