/* What trainings over ranks are made of: sums that do not depend on the number of ranks, and rows that are kept. */
#include "mpi/keep.h"
#include "test/ranks.h"
#include "test/support.h"

#include <math.h>

static void add_halves(const struct hm_net *net, void *arg)
{
    double part[600], sums[2];
    size_t n = 0;
    for (int k = 0; k < 300; k++)
        if (k % net->ranks == net->rank)
            part[n++] = ldexp(sin(k), k % 40);
    for (size_t k = 0; k < n; k++)
        part[n + k] = -part[k] / 3;
    hm_add_reals(net, part, n, 2, sums);
    if (net->rank == 0)
        memcpy(arg, sums, sizeof sums);
}

static void test_sums(void **state)
{
    (void)state;
    double first[2], other[2];
    long double truth = 0;
    for (int k = 0; k < 300; k++)
        truth += (long double)ldexp(sin(k), k % 40);
    run_ranks(1, add_halves, first);
    assert_close(first[0], (double)truth, 1e-14);
    assert_close(first[1], (double)(-truth / 3), 1e-14);
    for (int ranks = 2; ranks < 9; ranks++) {
        run_ranks(ranks, add_halves, other);
        assert_memory_equal(first, other, sizeof first);
    }
}

/* ---- rows that are kept ------------------------------------------------------------------------------------------ */

static void test_kept_rows(void **state)
{
    (void)state;
    enum { ROOM = 7, POINTS = 40 };
    struct hm_keep keep;
    uint64_t asked[POINTS] = { 0 }, seed = 5;
    void *place[POINTS] = { NULL };
    assert_int_equal(hm_keep_init(&keep, ROOM, 100, NULL), HINGE_OK);
    for (uint64_t round = 1; round < 4000; round++) {
        uint64_t p = draw(&seed) % POINTS, oldest = UINT64_MAX;
        size_t held = 0, last = 0;
        for (size_t k = 0; k < POINTS; k++) {
            held += place[k] != NULL;
            if (place[k] != NULL && asked[k] < oldest)
                oldest = asked[last = k];
        }
        void *row = hm_keep_find(&keep, p, round);
        assert_ptr_equal(row, place[p]);
        if (row == NULL) {
            row = hm_keep_add(&keep, p, round);
            assert_non_null(row);
            if (held == ROOM) {
                assert_ptr_equal(row, place[last]);
                place[last] = NULL;
            }
            place[p] = row;
        }
        asked[p] = round;
        assert_true(ROOM == 7 && hm_keep_find(&keep, POINTS + 1, round) == NULL);
    }
    hm_keep_free(&keep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_kept_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
