/* Counts what ranks tell each other, by a table before theirs (net.h). */
#include "mpi/net.h"

/* Counts a call that began at a time and has brought so many bytes. */
static void count(const struct hm_net *net, double begin, uint64_t bytes)
{
    struct hm_exchange *e = &net->traffic->part[net->traffic->now];
    e->calls++;
    e->bytes += net->ranks > 1 ? bytes : 0;
    e->seconds += hg_now() - begin;
}

/* Adds up bytes of all ranks but this one. */
static uint64_t of_others(const struct hm_net *net, const uint64_t *bytes)
{
    uint64_t sum = 0;
    for (int r = 0; r < net->ranks; r++)
        sum += r != net->rank ? bytes[r] : 0;
    return sum;
}

static void sum_up(const struct hm_net *net, struct hm_sum *sum)
{
    const struct hm_net *inner = net->traffic->inner;
    double begin = hg_now();
    inner->sum(inner, sum);
    net->traffic->part[net->traffic->now].sums++;
    count(net, begin, sizeof *sum);
}

static void gather(const struct hm_net *net, const void *send, const uint64_t *counts, void *recv)
{
    const struct hm_net *inner = net->traffic->inner;
    uint64_t bytes = of_others(net, counts); /* which recv may be */
    double begin = hg_now();
    inner->gather(inner, send, counts, recv);
    count(net, begin, bytes);
}

static void exchange(const struct hm_net *net, const void *send, const uint64_t *out, void *recv, const uint64_t *in)
{
    const struct hm_net *inner = net->traffic->inner;
    uint64_t bytes = of_others(net, in);
    double begin = hg_now();
    inner->exchange(inner, send, out, recv, in);
    count(net, begin, bytes);
}

static void broadcast(const struct hm_net *net, void *data, size_t bytes, int root)
{
    const struct hm_net *inner = net->traffic->inner;
    double begin = hg_now();
    inner->broadcast(inner, data, bytes, root);
    count(net, begin, net->rank != root ? bytes : 0);
}

void hm_traffic_begin(struct hm_traffic *traffic, const struct hm_net *net, struct hm_net *counted)
{
    *traffic = (struct hm_traffic){ .inner = net };
    *counted = *net;
    counted->sum = sum_up;
    counted->gather = gather;
    counted->exchange = exchange;
    counted->broadcast = broadcast;
    counted->traffic = traffic;
}

void hm_traffic_end(struct hm_traffic *traffic)
{
    struct hm_sum sum = { .count = { traffic->values }, .most = { { traffic->values, 0 } } };
    for (int k = 0; k < HM_PARTS; k++)
        sum.count[k + 1] = sum.most[k + 1].key = traffic->part[k].bytes;
    traffic->inner->sum(traffic->inner, &sum);
    traffic->values = sum.count[0];
    traffic->most_values = sum.most[0].key;
    for (int k = 0; k < HM_PARTS; k++) {
        traffic->part[k].bytes = sum.count[k + 1];
        traffic->part[k].most = sum.most[k + 1].key;
    }
}
