/*
 * The second collective of a round: points that are to go into W, and g of those that stay there, go to all ranks. Each
 * sends as many records as it is likely to need, so that all know how many there are; what is left follows, where some
 * rank has more.
 */
#include "mpi/mpi_run.h"

#include <math.h>

static size_t vector_bytes(const struct hm_run *r)
{
    return (r->own->pr.data.d * hg_size_of(r->type) + 7) / 8 * 8;
}

static size_t record_bytes(const struct hm_run *r)
{
    return sizeof(struct hm_fresh) + vector_bytes(r);
}

/* How many records each rank sends at once, of so many that all ranks are to find: more than its share, and none where
 * what fills them up would be more than they are themselves. */
static size_t records_at_once(const struct hm_run *r, double expected)
{
    if (r->net->ranks == 1)
        return r->winners.n;
    double share = expected / r->net->ranks, most = 1.25 * share + 4 * sqrt(share) + 4;
    return most <= 2 * share ? (size_t)most : 0;
}

static void write_record(const struct hm_run *r, size_t w, char *to)
{
    size_t at = r->winners.at[w];
    struct hm_fresh f = { .number = r->own->number[r->points.of[at]],
                          .kind = r->winners.kind[w],
                          .g = r->points.g[at] };
    hm_violation_of(r, at, f.kind, &f.value);
    f.tie = hm_tie_of(r, f.number);
    for (int l = 0; l < r->qp.layers; l++) {
        f.beta[l] = r->qp.beta[l][at];
        f.lo[l] = r->qp.lo[l][at];
        f.hi[l] = r->qp.hi[l][at];
        f.off[l] = r->qp.off[l][at];
    }
    memcpy(to, &f, sizeof f);
    memset(to + sizeof f, 0, vector_bytes(r));
    hg_points_pack(&r->own->points, NULL, r->points.of[at], 1, r->type, to + sizeof f, r->own->pr.data.d);
}

/* Makes this rank's words: how many winners it has, g of own points in W, and the first of the winners. */
static void write_message(const struct hm_run *r, size_t at_once)
{
    uint64_t count = r->winners.n;
    char *to = r->winners.message;
    memcpy(to, &count, sizeof count);
    to += sizeof count;
    for (size_t k = 0; k < r->w.n; k++)
        if (r->slots.owner[k] == (uint32_t)r->net->rank) {
            memcpy(to, &r->points.g[r->slots.at[k]], sizeof(double));
            to += sizeof(double);
        }
    for (size_t w = 0; w < at_once; w++, to += record_bytes(r))
        if (w < r->winners.n)
            write_record(r, w, to);
        else
            memset(to, 0, record_bytes(r));
}

static void take_records(struct hm_run *r, const char *from, size_t n, uint32_t sender, size_t *count)
{
    for (size_t k = 0; k < n; k++, from += record_bytes(r)) {
        struct hm_winner *winner = &r->winners.all[(*count)++];
        memcpy(&winner->fresh, from, sizeof winner->fresh);
        winner->vector = from + sizeof winner->fresh;
        winner->sender = sender;
    }
}

/* Reads all messages: g of W, and winners; sizes [ranks] becomes the bytes of those that each rank has left. */
static size_t read_messages(struct hm_run *r, size_t at_once, size_t *count)
{
    size_t left = 0;
    const char *from = r->winners.messages;
    for (uint32_t k = 0; k < (uint32_t)r->net->ranks; k++) {
        uint64_t winners;
        memcpy(&winners, from, sizeof winners);
        from += sizeof winners;
        for (size_t slot = 0; slot < r->w.n; slot++)
            if (r->slots.owner[slot] == k) {
                memcpy(&r->w.inner.g[slot], from, sizeof(double));
                from += sizeof(double);
            }
        r->net->sizes[k] = winners > at_once ? (winners - at_once) * record_bytes(r) : 0;
        left += r->net->sizes[k];
        if (*count + winners > 4 * r->w.q) /* the draw went far beyond what was wanted; the same on all ranks */
            return SIZE_MAX;
        take_records(r, from, HG_MIN(winners, at_once), k, count);
        from += at_once * record_bytes(r);
    }
    return left;
}

hinge_status hm_share_winners(struct hm_run *r, double expected, size_t *count)
{
    size_t ranks = (size_t)r->net->ranks, at_once = records_at_once(r, expected), total = 0;
    *count = 0;
    write_message(r, at_once);
    for (size_t k = 0; k < ranks; k++)
        r->net->sizes[k] = sizeof(uint64_t) + at_once * record_bytes(r);
    for (size_t k = 0; k < r->w.n; k++)
        r->net->sizes[r->slots.owner[k]] += sizeof(double);
    for (size_t k = 0; k < ranks; k++)
        total += r->net->sizes[k];
    if (total > r->winners.room)
        return HINGE_EINTERNAL;
    hm_lap(r, HM_SELECT);
    r->net->gather(r->net, r->winners.message, r->net->sizes, r->winners.messages);
    hm_lap(r, HM_EXCHANGE);
    size_t left = read_messages(r, at_once, count);
    r->last.bytes = total;
    if (left == 0)
        return HINGE_OK;
    if (left > r->winners.room - total)
        return HINGE_EINTERNAL;
    for (size_t w = at_once; w < r->winners.n; w++)
        write_record(r, w, r->winners.message + (w - at_once) * record_bytes(r));
    hm_lap(r, HM_SELECT);
    r->net->gather(r->net, r->winners.message, r->net->sizes, r->winners.messages + total);
    hm_lap(r, HM_EXCHANGE);
    r->last.bytes += left;
    for (size_t k = 0; k < ranks; k++) {
        take_records(r, r->winners.messages + total, r->net->sizes[k] / record_bytes(r), (uint32_t)k, count);
        total += r->net->sizes[k];
    }
    return HINGE_OK;
}
