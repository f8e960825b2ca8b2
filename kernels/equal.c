/*
 * Equal points (equal.h): found by hashing, and set to 1 where a tile has them. First comes the table of points, which
 * models and merges use too; then what a source of rows does in a fetch: hg_equal_ask tells it which points are rows,
 * each tile's columns are matched with them, and hg_equal_forget takes back what was told. Both cost as much as the
 * lists of rows are long.
 */
#include "kernels/equal.h"
#include "lib/base/team.h"
#include "kernels/points.h"

#include <string.h>

/* ---- points ------------------------------------------------------------------------------------------------------ */

enum { AT_ONCE = 128 }; /* features */

/* Makes a hash of the features of point i as they are given, before the shift, which is the same for all points and may
 * round: four polynomials side by side, each of every fourth feature, which are one in the end. A feature's factor is a
 * power of its own, so that steps of one length in different features do not cancel. */
static uint64_t hash_of(const struct hg_points *points, size_t i)
{
    enum { LANES = 4 };
    double x[AT_ONCE];
    uint64_t part[LANES] = { 0 }, sum = 0;
    for (size_t c = 0, count; c < points->x.cols; c += count) {
        count = HG_MIN((size_t)AT_ONCE, points->x.cols - c);
        hg_points_given(points, i, c, count, x);
        for (size_t k = count; k % LANES != 0; k++)
            x[k] = 0;
        for (size_t k = 0; k < count; k += LANES)
            for (size_t l = 0; l < LANES; l++) {
                double v = x[k + l] + 0.0; /* -0 is 0 */
                uint64_t bits;
                memcpy(&bits, &v, sizeof bits);
                part[l] = part[l] * 0xd1342543de82ef95 + (bits ^ bits >> 32);
            }
    }
    for (size_t k = 0; k < LANES; k++)
        sum = sum * 0x9e3779b97f4a7c15 + part[k];
    return (sum ^ sum >> 32) * 0x9e3779b97f4a7c15;
}

/* Says whether points are equal in all features, as they are given: -0 equals 0, and NaN equals nothing. */
static bool are_equal(const struct hg_points *a, size_t i, const struct hg_points *b, size_t j)
{
    double x[AT_ONCE], z[AT_ONCE];
    for (size_t c = 0, count; c < a->x.cols; c += count) {
        count = HG_MIN((size_t)AT_ONCE, a->x.cols - c);
        hg_points_given(a, i, c, count, x);
        hg_points_given(b, j, c, count, z);
        for (size_t k = 0; k < count; k++)
            if (x[k] != z[k])
                return false;
    }
    return true;
}

/* Finds the slot of the points that are equal to point i of others, or one that is free for it: open addressing, by
 * steps of one. The hash is compared before the features. */
static uint32_t *slot_of(const struct hg_equal_table *t, const struct hg_points *points, const struct hg_points *others,
                         size_t i, uint64_t hash)
{
    size_t at = (size_t)(hash >> 20) & (t->slots - 1);
    for (uint32_t p; (p = t->slot[at]) != 0; at = (at + 1) & (t->slots - 1))
        if (t->hash[p - 1] == hash && are_equal(points, p - 1, others, i))
            break;
    return &t->slot[at];
}

struct hashing {
    struct hg_equal_table *table;
    const struct hg_points *points;
};

static void hash_points(void *arg, int thread, size_t first, size_t end)
{
    const struct hashing *h = arg;
    (void)thread;
    for (size_t i = first; i < end; i++)
        h->table->hash[i] = hash_of(h->points, i);
}

/* Fills at most half of the slots. Points go in from the last to the first, and each points at what stood in its slot:
 * a slot's chain ascends. */
hinge_status hg_equal_table_init(struct hg_equal_table *t, const struct hg_points *points, int threads,
                                 hinge_error *err)
{
    size_t n = points->n;
    for (t->slots = 16; t->slots < 2 * n; t->slots *= 2)
        ;
    HG_TRY(
        HG_MAKE(err, "a table of equal rows", HG_ZEROS(t->slot, t->slots), HG_ZEROS(t->next, n), HG_ARRAY(t->hash, n)));
    hg_share(threads, n, 512, hash_points, &(struct hashing){ t, points });
    for (size_t i = n; i-- > 0;) { /* so that the first comes first */
        uint32_t *slot = slot_of(t, points, points, i, t->hash[i]);
        t->next[i] = *slot;
        *slot = (uint32_t)i + 1;
    }
    return HINGE_OK;
}

void hg_equal_table_free(struct hg_equal_table *t)
{
    hg_free(t->slot);
    memset(t, 0, sizeof *t);
}

uint32_t hg_equal_table_find(const struct hg_equal_table *t, const struct hg_points *points,
                             const struct hg_points *others, size_t i)
{
    return *slot_of(t, points, others, i, hash_of(others, i));
}

void hg_equal_table_first(const struct hg_equal_table *t, uint32_t *first)
{
    for (size_t at = 0; at < t->slots; at++)
        for (uint32_t p = t->slot[at]; p != 0; p = t->next[p - 1])
            first[p - 1] = t->slot[at] - 1;
}

/* Tells most sets, which have no equal rows, by a NULL, so that nothing is kept for them. */
hinge_status hg_equal_find(const struct hg_points *points, int threads, uint32_t **first, hinge_error *err)
{
    struct hg_equal_table table;
    *first = NULL;
    HG_TRY(hg_equal_table_init(&table, points, threads, err));
    hinge_status status = HINGE_OK;
    size_t equal = 0;
    for (size_t i = 0; i < points->n; i++)
        equal += table.next[i] != 0;
    if (equal > 0)
        status = HG_MAKE(err, "the index of equal rows", HG_ARRAY(*first, points->n));
    if (*first != NULL)
        hg_equal_table_first(&table, *first);
    hg_equal_table_free(&table);
    return status;
}

/* Looks up (first, key) in a table of open addressing: slots, a power of 2 that is at least twice n, have 1 + the
 * number. */
hinge_status hg_equal_number(const uint32_t *first, const double *key, size_t n, uint32_t *number, uint32_t *first_of,
                             size_t *count, hinge_error *err)
{
    size_t slots = 16;
    uint32_t *slot;
    while (slots < 2 * n)
        slots *= 2;
    *count = 0;
    HG_TRY(HG_MAKE(err, "the numbers of equal rows", HG_ZEROS(slot, slots)));
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &key[i], sizeof bits);
        bits = (bits ^ bits >> 32 ^ (uint64_t)first[i] << 20) * 0x9e3779b97f4a7c15;
        size_t at = (size_t)(bits >> 20) & (slots - 1);
        for (uint32_t k; (k = slot[at]) != 0; at = (at + 1) & (slots - 1))
            if (first[first_of[k - 1]] == first[i] && key[first_of[k - 1]] == key[i])
                break;
        if (slot[at] == 0) {
            first_of[*count] = (uint32_t)i;
            *count += 1;
            slot[at] = (uint32_t)*count;
        }
        number[i] = slot[at] - 1;
    }
    hg_free(slot);
    return HINGE_OK;
}

/* ---- a source's rows --------------------------------------------------------------------------------------------- */

hinge_status hg_equal_init(struct hg_equal *e, const uint32_t *first, size_t n, size_t most_rows, hinge_error *err)
{
    *e = (struct hg_equal){ .first = first };
    return HG_MAKE(err, "the index of equal rows", HG_ZEROS(e->asked, n), HG_ZEROS(e->next, most_rows));
}

void hg_equal_free(struct hg_equal *e)
{
    hg_free(e->asked);
    memset(e, 0, sizeof *e);
}

/* Returns the place that tells which rows are equal to a point; equal points share that of their first. */
static uint32_t *asked_of(const struct hg_equal *e, uint32_t point)
{
    return &e->asked[e->first != NULL ? e->first[point] : point];
}

void hg_equal_ask(struct hg_equal *e, const uint32_t *rows, size_t count)
{
    for (size_t r = count; r-- > 0;) { /* so that the first is found first */
        uint32_t *asked = asked_of(e, rows[r]);
        e->next[r] = *asked;
        *asked = (uint32_t)r + 1;
    }
}

void hg_equal_forget(struct hg_equal *e, const uint32_t *rows, size_t count)
{
    for (size_t r = 0; r < count; r++)
        *asked_of(e, rows[r]) = 0;
}

/* Writes each column, and counts it where it is a match: no branch for what is rare. */
size_t hg_equal_match(const struct hg_equal *e, const uint32_t *cols, size_t n, struct hg_match *match)
{
    size_t count = 0;
    for (size_t c = 0; c < n; c++) {
        match[count] = (struct hg_match){ (uint32_t)c, *asked_of(e, cols[c]) };
        count += match[count].row != 0;
    }
    return count;
}

/* Walks each match's chain of rows as far as `end`, and leaves it there for the rows that come next. */
void hg_equal_set(const struct hg_equal *e, struct hg_match *match, size_t n_match, size_t first, size_t end,
                  hinge_dtype type, void *const *row)
{
    for (struct hg_match *m = match; m < match + n_match; m++)
        for (; m->row != 0 && m->row <= end; m->row = e->next[m->row - 1]) {
            if (m->row <= first) /* left out as negligible: it is not, so this does not happen to equal ones */
                continue;
            hg_put(row[m->row - 1 - first], type, m->col, 1);
        }
}
