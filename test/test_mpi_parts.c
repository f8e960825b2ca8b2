/* What trainings over ranks are made of: sums that do not depend on the number of ranks. */
#include "test/ranks.h"
#include "test/support.h"

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

TEST(test_sums)
{
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
