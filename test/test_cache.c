/*
 * The row cache against a naive model: the same calls in random order, and after each of them the same rows
 * with the same widths and contents, never more bytes than the budget, no pinned row lost, and the oldest row
 * evicted.
 *
 * The model keeps a list of points by last use and each row's values. A row's content is a function of point,
 * column and version, so that a stale or shifted value shows. Of a compaction that has no room for all the
 * newest rows survive, and all keep their order of age.
 */
#include "solver/smo/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* wants the four above it */

enum { MAX_POINTS = 60, MAX_COLS = 1300 };

struct row {
    bool there;
    size_t width;
    uint64_t stamp, used; /* the round that pinned it; when it was last asked for */
    double value[MAX_COLS];
};

struct model {
    struct hg_cache cache;
    size_t n, cols, size, budget; /* cols: room in a row now */
    uint64_t clock, stamp, evicted;
    struct row row[MAX_POINTS];
};

static double value_at(const void *row, size_t size, size_t c)
{
    return size == sizeof(float) ? (double)((const float *)row)[c] : ((const double *)row)[c];
}

static void set_value(void *row, size_t size, size_t c, double value)
{
    if (size == sizeof(float))
        ((float *)row)[c] = (float)value;
    else
        ((double *)row)[c] = value;
}

static size_t rows_there(const struct model *m)
{
    size_t count = 0;
    for (size_t p = 0; p < m->n; p++)
        count += m->row[p].there;
    return count;
}

static void check_row(const struct model *m, const void *data, size_t p, size_t width)
{
    const struct row *row = &m->row[p];
    assert_int_equal(width, row->width);
    for (size_t c = 0; c < width; c++)
        assert_true(value_at(data, m->size, c) == row->value[c]);
}

/* Everything in the cache, looked at without touching the order of age. */
static void check_all(const struct model *m)
{
    const struct hg_cache *c = &m->cache;
    size_t listed = 0;
    for (size_t p = 0; p < m->n; p++) {
        int32_t s = c->slot_of[p];
        assert_int_equal(s >= 0, m->row[p].there);
        if (s < 0)
            continue;
        assert_int_equal(c->point_of[s], p);
        assert_true(((size_t)s + 1) * c->stride <= c->arena_bytes);
        check_row(m, c->arena + (size_t)s * c->stride, p, c->width[s]);
    }
    for (int32_t s = c->newest, before = -1; s >= 0; before = s, s = c->older[s]) {
        assert_int_equal(c->newer[s], before);
        assert_int_equal(c->slot_of[c->point_of[s]], s);
        assert_true(listed++ < m->n);
    }
    assert_int_equal(listed, rows_there(m));
    assert_true(c->stride >= m->cols * m->size || c->n_slots == 0);
    assert_true(c->used <= c->n_slots && c->used * c->stride <= m->budget);
    assert_true(c->arena_bytes <= m->budget && c->most_bytes <= m->budget);
    assert_true(c->most_bytes >= c->used * c->stride);
    assert_int_equal(c->evicted, m->evicted);
}

static void get(struct model *m, size_t p)
{
    size_t width = 99999;
    const void *data = hg_cache_get(&m->cache, (uint32_t)p, m->stamp, &width);
    assert_int_equal(data != NULL, m->row[p].there);
    if (data == NULL)
        return;
    check_row(m, data, p, width);
    m->row[p].used = ++m->clock;
    m->row[p].stamp = m->stamp;
}

/* The row that must go: the one not asked for for longest; n if there is none or it is pinned. */
static size_t victim(const struct model *m)
{
    size_t oldest = m->n;
    for (size_t p = 0; p < m->n; p++)
        if (m->row[p].there && (oldest == m->n || m->row[p].used < m->row[oldest].used))
            oldest = p;
    return oldest < m->n && m->row[oldest].stamp == m->stamp ? m->n : oldest;
}

/* Columns [width, upto) of a row: written to the cache and to the model. */
static void fill(struct model *m, void *data, size_t p, size_t upto)
{
    struct row *row = &m->row[p];
    for (size_t c = row->width; c < upto; c++) {
        row->value[c] =
            (double)(p * 100000 + c) + (double)(m->clock % 8) / 8; /* 4e6 + 7/8: exact in double only */
        if (m->size == sizeof(float))
            row->value[c] = (double)(float)row->value[c];
        set_value(data, m->size, c, row->value[c]);
    }
    row->width = upto;
    hg_cache_set_width(&m->cache, (uint32_t)p, upto);
}

static void put(struct model *m, size_t p, size_t width)
{
    if (m->row[p].there)
        return;
    bool full = rows_there(m) == m->cache.n_slots;
    size_t out = full ? victim(m) : m->n;
    void *data = hg_cache_put(&m->cache, (uint32_t)p, m->stamp);
    assert_int_equal(data == NULL, full && out == m->n);
    if (data == NULL)
        return;
    assert_int_equal((uintptr_t)data % 64, 0);
    if (full) {
        m->row[out].there = false;
        m->evicted++;
        assert_true(m->cache.slot_of[out] < 0);
    }
    m->row[p] = (struct row){ .there = true, .stamp = m->stamp, .used = ++m->clock };
    if (width > 0)
        fill(m, data, p, width);
}

/* A row that is there gets more columns. */
static void widen(struct model *m, size_t p, size_t width)
{
    size_t had;
    get(m, p);
    if (!m->row[p].there || m->row[p].width >= width)
        return;
    fill(m, hg_cache_get(&m->cache, (uint32_t)p, m->stamp, &had), p, width);
    m->row[p].used = ++m->clock;
}

/* How many rows that a compaction may keep were used after this one. */
static size_t newer_rows(const struct model *m, size_t n_old, uint64_t used)
{
    size_t count = 0;
    for (size_t p = 0; p < m->n; p++)
        count += m->row[p].there && m->row[p].width >= n_old && m->row[p].used > used;
    return count;
}

/* keep NULL: columns 0 .. n_keep - 1 */
static void compact(struct model *m, size_t n_old, const uint32_t *keep, size_t n_keep, size_t cols, int threads)
{
    bool stays[MAX_POINTS];
    hg_cache_compact(&m->cache, n_old, keep, n_keep, cols, threads);
    m->cols = cols;
    for (size_t p = 0; p < m->n; p++) /* as many as there is room for, the newest */
        stays[p] = m->row[p].there && m->row[p].width >= n_old &&
                   newer_rows(m, n_old, m->row[p].used) < m->cache.n_slots;
    for (size_t p = 0; p < m->n; p++) {
        struct row *row = &m->row[p];
        row->there = stays[p];
        for (size_t k = 0; k < n_keep && stays[p]; k++)
            row->value[k] = row->value[keep != NULL ? keep[k] : k];
        row->width = n_keep;
    }
    check_all(m);
}

static struct model *model_new(size_t n, size_t cols, size_t size, size_t budget)
{
    struct model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->n = n, m->cols = cols, m->size = size, m->budget = budget, m->stamp = 1;
    assert_int_equal(hg_cache_init(&m->cache, n, cols, size, budget, NULL, NULL), HINGE_OK);
    check_all(m);
    return m;
}

static void model_free(struct model *m)
{
    hg_cache_free(&m->cache);
    hg_cache_free(&m->cache); /* twice is fine */
    free(m);
}

/* Bytes of a slot, learnt from a cache with room for all. */
static size_t slot_bytes(size_t cols, size_t size)
{
    struct hg_cache c;
    assert_int_equal(hg_cache_init(&c, 3, cols, size, (size_t)1 << 20, NULL, NULL), HINGE_OK);
    size_t stride = c.stride;
    assert_true(stride >= cols * size && stride % 64 == 0);
    hg_cache_free(&c);
    return stride;
}

/* ---- memory lent ------------------------------------------------------------------------------------------ */

/* One cache after the other in the same memory, which grows where it is too small and is the lender's to free. */
static void test_lent_memory(void **state)
{
    struct hg_arena arena = { .most_points = 40 };
    struct hg_cache c;
    const size_t points[] = { 20, 40, 10, 50 };
    char *first = NULL;
    for (size_t i = 0; i < 4; i++) {
        size_t n = points[i];
        assert_int_equal(hg_cache_init(&c, n, n, sizeof(float), (size_t)1 << 20, &arena, NULL), HINGE_OK);
        assert_true(c.arena == arena.memory && arena.bytes >= n * c.stride && c.n_slots == n);
        first = i == 0 ? c.arena : first;
        assert_true(c.arena == first || n > arena.most_points);
        for (uint32_t k = 0; k < n; k++)
            memset(hg_cache_put(&c, k, 1), (int)i, n * sizeof(float));
        hg_cache_free(&c);
        assert_true(arena.memory[0] == (char)i); /* still there */
    }
    hg_arena_free(&arena);
    assert_true(arena.memory == NULL && arena.bytes == 0 && arena.most_points == 40);
    hg_arena_free(&arena); /* twice is fine */
}

/* ---- rows of more points than there is room for ----------------------------------------------------------- */

static void test_few_rows_of_many(void **state)
{
    enum { ROOM = 7, POINTS = 40 };
    struct hg_cache cache;
    uint64_t asked[POINTS] = { 0 }, seed = 5;
    void *place[POINTS] = { NULL };
    size_t width;
    assert_int_equal(hg_cache_init(&cache, ROOM, 25, sizeof(float), ROOM * 200, NULL, NULL), HINGE_OK);
    for (uint64_t round = 1; round < 4000; round++) {
        uint32_t p = (uint32_t)(hg_random(&seed) % POINTS);
        uint64_t oldest = UINT64_MAX;
        size_t held = 0, last = 0;
        for (size_t k = 0; k < POINTS; k++) {
            held += place[k] != NULL;
            if (place[k] != NULL && asked[k] < oldest)
                oldest = asked[last = k];
        }
        void *row = hg_cache_get(&cache, p, round, &width);
        assert_ptr_equal(row, place[p]);
        if (row == NULL) {
            row = hg_cache_put(&cache, p, round);
            assert_non_null(row);
            if (held == ROOM) {
                assert_ptr_equal(row, place[last]);
                place[last] = NULL;
            }
            place[p] = row;
        }
        asked[p] = round;
        assert_true(cache.n_slots == ROOM && hg_cache_get(&cache, POINTS + 1, round, &width) == NULL);
    }
    hg_cache_free(&cache);
}

/* ---- by hand --------------------------------------------------------------------------------------------- */

static void test_oldest_goes_first(void **state)
{
    struct model *m = model_new(10, 20, sizeof(float), 3 * slot_bytes(20, sizeof(float)));
    assert_int_equal(m->cache.n_slots, 3);
    for (size_t p = 0; p < 3; p++)
        put(m, p, 20);
    m->stamp = 2;
    get(m, 0); /* 1 is the oldest now */
    put(m, 7, 5);
    assert_false(m->row[1].there);
    assert_true(m->row[0].there && m->row[2].there && m->row[7].there);
    put(m, 8, 5);
    assert_false(m->row[2].there);
    check_all(m);
    assert_int_equal(m->cache.evicted, 2);
    model_free(m);
}

static void test_pinned_rows_stay(void **state)
{
    struct model *m = model_new(10, 20, sizeof(double), 3 * slot_bytes(20, sizeof(double)));
    for (size_t p = 0; p < 3; p++)
        put(m, p, 20);
    assert_null(hg_cache_put(&m->cache, 5, m->stamp)); /* all are of this round */
    check_all(m);
    m->stamp = 2;
    get(m, 2), get(m, 0);
    put(m, 5, 1);
    assert_false(m->row[1].there);
    assert_null(hg_cache_put(&m->cache, 1, m->stamp));
    check_all(m);
    model_free(m);
}

static void test_budgets(void **state)
{
    size_t slot = slot_bytes(100, sizeof(float));
    const size_t budgets[] = { 0, 1, slot - 1, slot, slot + 1, 10 * slot - 1, 10 * slot, (size_t)1 << 30 };
    const size_t slots[] = { 0, 0, 0, 1, 1, 9, 10, 10 };
    for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++) {
        struct model *m = model_new(10, 100, sizeof(float), budgets[b]);
        assert_int_equal(m->cache.n_slots, slots[b]);
        for (size_t p = 0; p < 10; p++)
            put(m, p, 100);
        check_all(m);
        assert_int_equal(rows_there(m), slots[b]);
        compact(m, 100, NULL, 100, 200, 1);
        compact(m, 100, NULL, 50, 50, 1);
        check_all(m);
        model_free(m);
    }
}

/* Columns 1, 3, 4 of 6; a row that lacks the last of the six is dropped. */
static void test_compaction_by_hand(void **state)
{
    static const uint32_t keep[] = { 1, 3, 4 };
    struct model *m = model_new(4, 6, sizeof(float), 1 << 16);
    size_t width;
    put(m, 0, 6), put(m, 1, 5), put(m, 2, 6);
    double want[3];
    for (int k = 0; k < 3; k++)
        want[k] = m->row[2].value[keep[k]];
    hg_cache_compact(&m->cache, 6, keep, 3, 4, 1);
    assert_non_null(hg_cache_get(&m->cache, 0, 9, &width));
    assert_null(hg_cache_get(&m->cache, 1, 9, &width));
    const float *row = hg_cache_get(&m->cache, 2, 9, &width);
    assert_int_equal(width, 3);
    for (int k = 0; k < 3; k++)
        assert_true((double)row[k] == want[k]);
    model_free(m);
}

/* ---- at random ------------------------------------------------------------------------------------------- */

/* n_keep of n_old columns, ascending. */
static size_t choose_columns(uint64_t *seed, size_t n_old, uint32_t *keep)
{
    size_t kept = 0, of_eight = hg_random_below(seed, 9);
    for (size_t c = 0; c < n_old; c++)
        if (hg_random_below(seed, 8) < of_eight)
            keep[kept++] = (uint32_t)c;
    return kept;
}

static void random_compaction(struct model *m, uint64_t *seed)
{
    static uint32_t keep[MAX_COLS];
    size_t n_old = hg_random_below(seed, 2) ? m->cols : hg_random_below(seed, m->cols + 1), n_keep = n_old;
    bool by_list = hg_random_below(seed, 2);
    if (by_list)
        n_keep = choose_columns(seed, n_old, keep);
    else
        n_keep = hg_random_below(seed, n_old + 1);
    size_t cols = hg_random_below(seed, 2) ? n_keep + hg_random_below(seed, MAX_COLS - n_keep + 1) : n_keep;
    compact(m, n_old, by_list ? keep : NULL, n_keep, HG_MAX(cols, (size_t)1), 1 + (int)hg_random_below(seed, 3));
}

static void random_calls(uint64_t seed, size_t n, size_t cols, size_t size, size_t budget)
{
    struct model *m = model_new(n, cols, size, budget);
    for (int call = 0; call < 600; call++) {
        size_t p = hg_random_below(&seed, n), width = hg_random_below(&seed, m->cols + 1);
        switch (hg_random_below(&seed, 20)) {
        case 0:
            random_compaction(m, &seed);
            m->stamp++;
            break;
        case 1:
        case 2:
        case 3:
        case 4:
        case 5:
            get(m, p);
            break;
        case 6:
        case 7:
        case 8:
            widen(m, p, width);
            break;
        case 9:
            m->stamp++;
            break;
        default:
            put(m, p, hg_random_below(&seed, 2) ? m->cols : width);
        }
        if (call % 5 == 0)
            check_all(m);
    }
    check_all(m);
    model_free(m);
}

static void test_random_calls(void **state)
{
    uint64_t seed = 11;
    for (int round = 0; round < 40; round++) {
        size_t n = 1 + hg_random_below(&seed, MAX_POINTS), cols = 1 + hg_random_below(&seed, MAX_COLS);
        size_t size = round % 2 == 0 ? sizeof(float) : sizeof(double), all = n * slot_bytes(cols, size);
        random_calls(hg_random(&seed), n, cols, size, hg_random_below(&seed, all + 1));
    }
}

/* 1024 floats are a page: slots must not be a multiple of it, and yet hold all. */
static void test_rows_of_a_page(void **state)
{
    size_t slot = slot_bytes(1024, sizeof(float));
    assert_true(slot % 4096 != 0);
    random_calls(12, 30, 1024, sizeof(float), 10 * slot);
}

/* The row least recently used goes first after a compaction as well. */
static void test_age_outlives_compaction(void **state)
{
    struct model *m = model_new(5, 20, sizeof(float), 3 * slot_bytes(20, sizeof(float)));
    for (size_t p = 0; p < 3; p++)
        put(m, p, 20);
    get(m, 0);
    hg_cache_compact(&m->cache, 20, NULL, 20, 20, 1);
    assert_non_null(hg_cache_put(&m->cache, 4, 2));
    size_t width;
    assert_null(hg_cache_get(&m->cache, 1, 2, &width));
    assert_non_null(hg_cache_get(&m->cache, 0, 2, &width));
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oldest_goes_first),
        cmocka_unit_test(test_pinned_rows_stay),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_compaction_by_hand),
        cmocka_unit_test(test_random_calls),
        cmocka_unit_test(test_rows_of_a_page),
        cmocka_unit_test(test_lent_memory),
        cmocka_unit_test(test_few_rows_of_many),
        cmocka_unit_test(test_age_outlives_compaction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
