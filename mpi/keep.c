#include "mpi/keep.h"

#include <string.h>

static size_t home_of(const struct hm_keep *k, uint64_t number)
{
    return (size_t)hg_random(&number) & k->mask;
}

hinge_status hm_keep_init(struct hm_keep *k, size_t rows, size_t bytes, hinge_error *err)
{
    size_t slots = 16, all;
    memset(k, 0, sizeof *k);
    rows = HG_MIN(rows, (size_t)UINT32_MAX - 1);
    while (slots < 2 * rows)
        slots *= 2;
    k->bytes = hg_aligned(HG_MAX(bytes, (size_t)1));
    k->rows = rows;
    k->mask = slots - 1;
    bool ok = HG_ROOM(HG_ARRAY(k->number, rows), HG_ZEROS(k->stamp, rows), HG_ARRAY(k->older, rows + 1),
                      HG_ARRAY(k->newer, rows + 1), HG_ARRAY(k->slot, slots)) &&
              hg_mul(rows, k->bytes, &all) && (all == 0 || hg_arena_reserve(&k->arena, all) != NULL);
    if (!ok) {
        hm_keep_free(k);
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu kernel rows", rows);
    }
    memset(k->slot, 0xff, slots * sizeof *k->slot);
    k->older[rows] = k->newer[rows] = (uint32_t)rows;
    return HINGE_OK;
}

void hm_keep_free(struct hm_keep *k)
{
    hg_free(k->number);
    hg_arena_free(&k->arena);
    memset(k, 0, sizeof *k);
}

static void unlink_row(struct hm_keep *k, uint32_t row)
{
    k->newer[k->older[row]] = k->newer[row];
    k->older[k->newer[row]] = k->older[row];
}

static void make_newest(struct hm_keep *k, uint32_t row, uint64_t round)
{
    uint32_t head = (uint32_t)k->rows;
    k->older[row] = k->older[head];
    k->newer[row] = head;
    k->newer[k->older[head]] = row;
    k->older[head] = row;
    k->stamp[row] = round;
}

static size_t place_of(const struct hm_keep *k, uint64_t number)
{
    size_t at = home_of(k, number);
    while (k->slot[at] != UINT32_MAX && k->number[k->slot[at]] != number)
        at = (at + 1) & k->mask;
    return at;
}

/* Those behind it move up, so that they are still found from their homes. */
static void forget(struct hm_keep *k, uint64_t number)
{
    size_t hole = place_of(k, number);
    for (size_t at = (hole + 1) & k->mask; k->slot[at] != UINT32_MAX; at = (at + 1) & k->mask) {
        size_t home = home_of(k, k->number[k->slot[at]]);
        if (((at - home) & k->mask) >= ((at - hole) & k->mask)) {
            k->slot[hole] = k->slot[at];
            hole = at;
        }
    }
    k->slot[hole] = UINT32_MAX;
}

static void *row_at(const struct hm_keep *k, uint32_t row)
{
    return k->arena.memory + row * k->bytes;
}

void *hm_keep_find(struct hm_keep *k, uint64_t number, uint64_t round)
{
    uint32_t row = k->slot[place_of(k, number)];
    if (row == UINT32_MAX)
        return NULL;
    unlink_row(k, row);
    make_newest(k, row, round);
    return row_at(k, row);
}

void *hm_keep_add(struct hm_keep *k, uint64_t number, uint64_t round)
{
    uint32_t row = (uint32_t)k->used;
    if (k->rows == 0)
        return NULL;
    if (k->used < k->rows) {
        k->used++;
    } else {
        row = k->newer[k->rows]; /* the oldest */
        if (k->stamp[row] == round)
            return NULL;
        forget(k, k->number[row]);
        unlink_row(k, row);
    }
    k->number[row] = number;
    k->slot[place_of(k, number)] = row;
    make_newest(k, row, round);
    return row_at(k, row);
}
