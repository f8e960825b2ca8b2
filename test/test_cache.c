/*
 * The row cache against a naive model: the same calls in random order, and after each of them the same rows
 * with the same contents, never more bytes than the budget, no pinned row lost, and the oldest row evicted.
 *
 * The model keeps a list of points by last use and each row's values. A row's content is a function of point,
 * column and version, so that a stale or shifted value shows.
 */
#include "test/tests.h"
#include "solver/smo/cache.h"

enum { MAX_POINTS = 60, MAX_COLS = 1300 };

struct row {
    bool there;
    uint64_t stamp, used; /* the round that pinned it; when it was last asked for */
    double value[MAX_COLS];
};

struct model {
    struct hg_cache cache;
    size_t n, cols, size, budget; /* cols: of a row now */
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

static void check_row(const struct model *m, const void *data, size_t p)
{
    for (size_t c = 0; c < m->cols; c++)
        assert_true(value_at(data, m->size, c) == m->row[p].value[c]);
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
        check_row(m, c->arena + (size_t)s * c->stride, p);
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
    const void *data = hg_cache_get(&m->cache, (uint32_t)p, m->stamp);
    assert_int_equal(data != NULL, m->row[p].there);
    if (data == NULL)
        return;
    check_row(m, data, p);
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

static void put(struct model *m, size_t p)
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
    for (size_t c = 0; c < m->cols; c++) {
        double value = (double)(p * 100000 + c) + (double)(m->clock % 8) / 8; /* 4e6 + 7/8: exact in double only */
        m->row[p].value[c] = m->size == sizeof(float) ? (double)(float)value : value;
        set_value(data, m->size, c, value);
    }
}

static void clear(struct model *m, size_t cols)
{
    hg_cache_clear(&m->cache, cols);
    m->cols = cols;
    for (size_t p = 0; p < m->n; p++)
        m->row[p].there = false;
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
TEST(test_lent_memory)
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

TEST(test_few_rows_of_many)
{
    enum { ROOM = 7, POINTS = 40 };
    struct hg_cache cache;
    uint64_t asked[POINTS] = { 0 }, seed = 5;
    void *place[POINTS] = { NULL };
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
        void *row = hg_cache_get(&cache, p, round);
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
        assert_true(cache.n_slots == ROOM && hg_cache_get(&cache, POINTS + 1, round) == NULL);
    }
    hg_cache_free(&cache);
}

/* ---- by hand --------------------------------------------------------------------------------------------- */

TEST(test_oldest_goes_first)
{
    struct model *m = model_new(10, 20, sizeof(float), 3 * slot_bytes(20, sizeof(float)));
    assert_int_equal(m->cache.n_slots, 3);
    for (size_t p = 0; p < 3; p++)
        put(m, p);
    m->stamp = 2;
    get(m, 0); /* 1 is the oldest now */
    put(m, 7);
    assert_false(m->row[1].there);
    assert_true(m->row[0].there && m->row[2].there && m->row[7].there);
    put(m, 8);
    assert_false(m->row[2].there);
    check_all(m);
    assert_int_equal(m->cache.evicted, 2);
    model_free(m);
}

TEST(test_pinned_rows_stay)
{
    struct model *m = model_new(10, 20, sizeof(double), 3 * slot_bytes(20, sizeof(double)));
    for (size_t p = 0; p < 3; p++)
        put(m, p);
    assert_null(hg_cache_put(&m->cache, 5, m->stamp)); /* all are of this round */
    check_all(m);
    m->stamp = 2;
    get(m, 2), get(m, 0);
    put(m, 5);
    assert_false(m->row[1].there);
    assert_null(hg_cache_put(&m->cache, 1, m->stamp));
    check_all(m);
    model_free(m);
}

TEST(test_budgets)
{
    size_t slot = slot_bytes(100, sizeof(float));
    const size_t budgets[] = { 0, 1, slot - 1, slot, slot + 1, 10 * slot - 1, 10 * slot, (size_t)1 << 30 };
    const size_t slots[] = { 0, 0, 0, 1, 1, 9, 10, 10 };
    for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++) {
        struct model *m = model_new(10, 100, sizeof(float), budgets[b]);
        assert_int_equal(m->cache.n_slots, slots[b]);
        for (size_t p = 0; p < 10; p++)
            put(m, p);
        check_all(m);
        assert_int_equal(rows_there(m), slots[b]);
        clear(m, 50);
        for (size_t p = 0; p < 10; p++)
            put(m, p);
        check_all(m);
        assert_true(rows_there(m) >= HG_MIN((size_t)10, 3 * slots[b] / 2)); /* of half the size */
        clear(m, 100);
        model_free(m);
    }
}

/* ---- at random ------------------------------------------------------------------------------------------- */

static void random_calls(uint64_t seed, size_t n, size_t cols, size_t size, size_t budget)
{
    struct model *m = model_new(n, cols, size, budget);
    for (int call = 0; call < 600; call++) {
        size_t p = hg_random_below(&seed, n);
        switch (hg_random_below(&seed, 20)) {
        case 0:
            if (hg_random_below(&seed, 4) == 0)
                clear(m, 1 + hg_random_below(&seed, cols));
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
            m->stamp++;
            break;
        default:
            put(m, p);
        }
        if (call % 5 == 0)
            check_all(m);
    }
    check_all(m);
    model_free(m);
}

TEST(test_random_calls)
{
    uint64_t seed = 11;
    for (int round = 0; round < 40; round++) {
        size_t n = 1 + hg_random_below(&seed, MAX_POINTS), cols = 1 + hg_random_below(&seed, MAX_COLS);
        size_t size = round % 2 == 0 ? sizeof(float) : sizeof(double), all = n * slot_bytes(cols, size);
        random_calls(hg_random(&seed), n, cols, size, hg_random_below(&seed, all + 1));
    }
}

/* 1024 floats are a page: slots must not be a multiple of it, and yet hold all. */
TEST(test_rows_of_a_page)
{
    size_t slot = slot_bytes(1024, sizeof(float));
    assert_true(slot % 4096 != 0);
    random_calls(12, 30, 1024, sizeof(float), 10 * slot);
}
