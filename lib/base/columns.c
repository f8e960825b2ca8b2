/*
 * A set of feature indices as bits, with the number of those before each word (columns.h). An index is looked up by its
 * bit, and its place is the number before its word and the bits below it: two reads and a count, whatever the size.
 */
#include "lib/base/columns.h"

#include <limits.h>

enum { EMPTY = 16 }; /* columns for one that holds something */

/* Compares with what the text can hold at most, a value in 4 bytes ("1:1 "). Matrices of less than 2^23 values, 64 MB
 * in f64, are never too large. */
bool hg_columns_wasted(size_t rows, size_t last, size_t text)
{
    double values = (double)rows * (double)last;
    return values >= (double)((size_t)1 << 23) && values / EMPTY >= (double)text / 4;
}

bool hg_columns_worth(const struct hg_columns *columns)
{
    return columns->count <= columns->last / EMPTY;
}

hinge_status hg_columns_check(const size_t *columns, size_t n, hinge_error *err)
{
    for (size_t k = 0; k < n; k++)
        if (columns[k] <= (k == 0 ? 0 : columns[k - 1]) || columns[k] > INT_MAX)
            return hg_fail(err, HINGE_EINVAL, "columns[%zu]: %zu, where they ascend from 1 to %d at most", k,
                           columns[k], INT_MAX);
    return HINGE_OK;
}

/* Takes 12 bytes for each 64 indices up to the last; a file with one huge index is refused rather than served. */
hinge_status hg_columns_open(struct hg_columns *columns, const char *name, size_t last, hinge_error *err)
{
    size_t words = last / 64 + 1;
    *columns = (struct hg_columns){ .last = last };
    if (words <= hg_total_memory() / 16 / (sizeof *columns->bits + sizeof *columns->before) &&
        HG_ROOM(HG_ZEROS(columns->bits, words), HG_ZEROS(columns->before, words)))
        return HINGE_OK;
    return hg_fail_at(err, HINGE_ENOMEM, name, 0, "no memory for the columns of %zu that hold something", last);
}

void hg_columns_free(struct hg_columns *columns)
{
    hg_free(columns->bits);
    *columns = (struct hg_columns){ 0 };
}

/* Walks over the bits of each word from the lowest on: bits & (bits - 1) takes one away. */
hinge_status hg_columns_list(const struct hg_columns *columns, size_t **list, hinge_error *err)
{
    size_t n = 0;
    HG_TRY(HG_MAKE(err, "the columns that hold something", HG_ARRAY(*list, columns->count)));
    for (size_t word = 0; word <= columns->last / 64; word++)
        for (uint64_t bits = columns->bits[word]; bits != 0; bits &= bits - 1)
            (*list)[n++] = word * 64 + (size_t)__builtin_ctzll(bits);
    return HINGE_OK;
}
