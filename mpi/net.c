/* Does what ranks do by any table: agree, and add up doubles in an order that does not matter (net.h). */
#include "mpi/net.h"

#include <math.h>
#include <stdio.h>

/* ---- one rank ---------------------------------------------------------------------------------------------------- */

static void sum_alone(const struct hm_net *net, struct hm_sum *sum)
{
    (void)net;
    (void)sum;
}

static void gather_alone(const struct hm_net *net, const void *send, const uint64_t *counts, void *recv)
{
    (void)net;
    if (counts[0] > 0)
        memmove(recv, send, counts[0]);
}

static void exchange_alone(const struct hm_net *net, const void *send, const uint64_t *out, void *recv,
                           const uint64_t *in)
{
    (void)out;
    gather_alone(net, send, in, recv);
}

static void broadcast_alone(const struct hm_net *net, void *data, size_t bytes, int root)
{
    (void)net;
    (void)data;
    (void)bytes;
    (void)root;
}

struct hm_net hm_net_alone(uint64_t *words)
{
    return (struct hm_net){ .ranks = 1,
                            .leads = true,
                            .sizes = words,
                            .out = words + 1,
                            .in = words + 2,
                            .sum = sum_alone,
                            .gather = gather_alone,
                            .exchange = exchange_alone,
                            .broadcast = broadcast_alone };
}

/* ---- any ranks --------------------------------------------------------------------------------------------------- */

void hm_add_sum(struct hm_sum *a, const struct hm_sum *b)
{
    for (size_t k = 0; k < HM_MOST; k++)
        hm_raise(&a->most[k], b->most[k].key, b->most[k].tie);
    for (size_t k = 0; k < HM_COUNTS; k++)
        a->count[k] += b->count[k];
}

void hm_add_counts(const struct hm_net *net, uint64_t *counts, size_t n)
{
    for (size_t first = 0; first < n; first += HM_COUNTS) {
        struct hm_sum sum = { 0 };
        size_t bytes = HG_MIN((size_t)HM_COUNTS, n - first) * sizeof *counts;
        memcpy(sum.count, counts + first, bytes);
        net->sum(net, &sum);
        memcpy(counts + first, sum.count, bytes);
    }
}

void hm_merge_ranges(const struct hm_net *net, double *low, double *high, size_t n, bool any)
{
    enum { AT_ONCE = HM_MOST / 2 };
    for (size_t first = 0; first < n; first += AT_ONCE) {
        size_t some = HG_MIN((size_t)AT_ONCE, n - first);
        struct hm_sum sum = { 0 };
        for (size_t k = 0; any && k < some; k++) {
            hm_raise(&sum.most[2 * k], hm_key(-low[first + k]), 0);
            hm_raise(&sum.most[2 * k + 1], hm_key(high[first + k]), 0);
        }
        net->sum(net, &sum);
        for (size_t k = 0; k < some && sum.most[0].key != 0; k++) {
            low[first + k] = -hm_value(sum.most[2 * k].key);
            high[first + k] = hm_value(sum.most[2 * k + 1].key);
        }
    }
}

void hm_sizes(const struct hm_net *net, uint64_t mine)
{
    for (int r = 0; r < net->ranks; r++)
        net->sizes[r] = sizeof mine;
    net->gather(net, &mine, net->sizes, net->sizes);
}

hinge_status hm_agreed(const struct hm_net *net, hinge_status status, hinge_error *err)
{
    struct hm_sum sum = { 0 };
    return hm_agreed_with(net, status, &sum, err);
}

/* Names the rank behind what it says of its machine. */
static void tell_where(const struct hm_net *net, hinge_error *err)
{
    size_t length = strlen(err->text);
    if (net->rank == 0 || (err->status != HINGE_EIO && err->status != HINGE_ENOMEM))
        return;
    snprintf(err->text + length, sizeof err->text - length, " (rank %d%s%s)", net->rank,
             net->machine != NULL ? " on " : "", net->machine != NULL ? net->machine : "");
}

hinge_status hm_agreed_with(const struct hm_net *net, hinge_status status, struct hm_sum *sum, hinge_error *err)
{
    hinge_error first = { .status = status };
    if (status != HINGE_OK)
        sum->most[0] = (struct hm_most){ 1, (uint64_t)(net->ranks - net->rank) };
    net->sum(net, sum);
    if (sum->most[0].key == 0)
        return HINGE_OK;
    int root = net->ranks - (int)sum->most[0].tie;
    if (net->rank == root && err != NULL)
        first = *err;
    if (net->rank == root && (err == NULL || err->status == HINGE_OK))
        hg_fail(&first, status, "rank %d failed: %s", root, hinge_status_text(status));
    if (net->rank == root)
        tell_where(net, &first);
    net->broadcast(net, &first, sizeof first, root);
    if (err != NULL)
        *err = first;
    return first.status;
}

/* Memory for `sizes` [ranks] bytes of other ranks; send: this one's, of so many bytes. */
static hinge_status make_room(const struct hm_net *net, const uint64_t *sizes, const void *send, size_t bytes,
                              void **all, size_t *total, hinge_error *err)
{
    *total = 0;
    for (int r = 0; r < net->ranks; r++)
        *total += sizes[r];
    *all = hg_alloc(*total, 1);
    hinge_status status = HM_HAVE(net, *all != NULL && (send != NULL || bytes == 0), err,
                                  "no memory for %zu bytes to other ranks, and %zu of them", bytes, *total);
    if (status != HINGE_OK) {
        hg_free(*all);
        *all = NULL;
    }
    return status;
}

hinge_status hm_gather_all(const struct hm_net *net, const void *send, size_t bytes, void **all, size_t *total,
                           hinge_error *err)
{
    hm_sizes(net, bytes);
    HG_TRY(make_room(net, net->sizes, send, bytes, all, total, err));
    net->gather(net, send, net->sizes, *all);
    return HINGE_OK;
}

hinge_status hm_exchange(const struct hm_net *net, const void *send, void **all, size_t *total, hinge_error *err)
{
    size_t bytes = 0;
    for (int r = 0; r < net->ranks; r++) {
        bytes += net->out[r];
        net->sizes[r] = sizeof *net->out;
    }
    net->exchange(net, net->out, net->sizes, net->in, net->sizes); /* how much comes from each */
    HG_TRY(make_room(net, net->in, send, bytes, all, total, err));
    net->exchange(net, send, net->out, *all, net->in);
    return HINGE_OK;
}

hinge_status hm_collect(const struct hm_net *net, const void *send, size_t bytes, void **all, size_t *total,
                        hinge_error *err)
{
    memset(net->out, 0, (size_t)net->ranks * sizeof *net->out);
    net->out[0] = bytes;
    return hm_exchange(net, send, all, total, err);
}

void hm_add_reals(const struct hm_net *net, const double *part, size_t n, size_t m, double *sums)
{
    struct hm_sum sum = { 0 };
    int unit[HM_REALS];
    for (size_t k = 0; k < m; k++)
        for (size_t i = 0; i < n; i++)
            hm_raise(&sum.most[k], hm_key(fabs(part[k * n + i])), 0);
    sum.count[0] = n;
    net->sum(net, &sum);
    double count = (double)HG_MAX(sum.count[0], (uint64_t)1);
    for (size_t k = 0; k < m; k++) {
        double bound = sum.most[k].key == 0 ? 0 : hm_value(sum.most[k].key) * count;
        sums[k] = bound;
        unit[k] = isfinite(bound) && bound > 0 ? HG_MAX(ilogb(bound) - 60, -1060) : 0;
    }
    sum = (struct hm_sum){ 0 };
    for (size_t k = 0; k < m; k++)
        for (size_t i = 0; isfinite(sums[k]) && i < n; i++)
            sum.count[k] += (uint64_t)llrint(ldexp(part[k * n + i], -unit[k]));
    net->sum(net, &sum);
    for (size_t k = 0; k < m; k++)
        if (isfinite(sums[k]))
            sums[k] = ldexp((double)(int64_t)sum.count[k], unit[k]);
        else
            sums[k] = NAN;
}
