/*
 * Ranks that work together, by one small table: MPI's (net_mpi.c), or threads of one process (test/test_mpi.c). All
 * ranks call the same verb in the same order. What a verb brings does not depend on how many they are, but for gather
 * and exchange, which bring pieces in the order of ranks.
 */
#ifndef HM_NET_H
#define HM_NET_H

#include "lib/base/base.h"

#include <string.h>

enum { HM_MOST = 16, HM_COUNTS = 512 };

struct hm_most { /* the largest key, and among equals the largest tie */
    uint64_t key, tie;
};

struct hm_sum { /* 4,352 bytes */
    struct hm_most most[HM_MOST];
    uint64_t count[HM_COUNTS]; /* added up modulo 2^64, so that the order does not matter */
};

/* What came to a rank from others (traffic.c), by part of a training: all is as in hinge/mpi.h,
 * all ranks' once hm_traffic_end has summed up, and this one's before. */
enum hm_part_of { HM_DEAL, HM_SOLVING, HM_REST, HM_PARTS };
struct hm_traffic {
    const struct hm_net *inner; /* who carries it */
    enum hm_part_of now;
    struct hm_exchange {
        uint64_t calls, sums, bytes, most;
        double seconds;
    } part[HM_PARTS];
    uint64_t values, most_values; /* kernel values */
};

/* Sizes are in bytes, and multiples of 8, but for broadcast. */
struct hm_net {
    int rank, ranks;
    bool leads;          /* first rank on its machine */
    const char *machine; /* its name, or NULL */
    void *arg;
    uint64_t *sizes, *out, *in; /* [ranks] each, work space: bytes of messages, as gather and exchange are told them */
    void (*sum)(const struct hm_net *net, struct hm_sum *sum);
    /* What all ranks send, in their order; counts [ranks] bytes of each. What one sends may be where it comes to in
     * recv, on all ranks or on none. */
    void (*gather)(const struct hm_net *net, const void *send, const uint64_t *counts, void *recv);
    /* Rank r gets the next out[r] bytes of send; recv gets in[r] of each. */
    void (*exchange)(const struct hm_net *net, const void *send, const uint64_t *out, void *recv, const uint64_t *in);
    void (*broadcast)(const struct hm_net *net, void *data, size_t bytes, int root);
    struct hm_traffic *traffic; /* where it is counted; NULL: it is not */
};

/* Begins to count: *counted does what net does. hm_count_as tells which part what comes is of, hm_traffic_end makes the
 * figures those of all ranks. */
void hm_traffic_begin(struct hm_traffic *traffic, const struct hm_net *net, struct hm_net *counted);
void hm_traffic_end(struct hm_traffic *traffic);
static inline void hm_count_as(const struct hm_net *net, enum hm_part_of part)
{
    if (net->traffic != NULL)
        net->traffic->now = part;
}

/* Doubles as keys: larger ones are larger. NaN is above all. */
static inline uint64_t hm_key(double value)
{
    uint64_t bits;
    value = value != value ? (double)__builtin_nan("") : value;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static inline double hm_value(uint64_t key)
{
    double value;
    key = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
    memcpy(&value, &key, sizeof value);
    return value;
}

static inline void hm_raise(struct hm_most *most, uint64_t key, uint64_t tie)
{
    if (key > most->key || (key == most->key && tie > most->tie))
        *most = (struct hm_most){ key, tie };
}

/* Returns the table of one rank, whose work space is words [3]. */
struct hm_net hm_net_alone(uint64_t *words);

/* Adds b into a, as sum does. */
void hm_add_sum(struct hm_sum *a, const struct hm_sum *b);

/* Gathers what each rank has into net->sizes. */
void hm_sizes(const struct hm_net *net, uint64_t mine);

/* All ranks end with the status and message of the first that failed; never with HINGE_OK where this one did. What
 * another rank than 0 cannot read, or has no memory for, is told with the rank and its machine. */
hinge_status hm_agreed(const struct hm_net *net, hinge_status status, hinge_error *err);
/* Does the same with other sums, which come with it: most[0] is taken. */
hinge_status hm_agreed_with(const struct hm_net *net, hinge_status status, struct hm_sum *sum, hinge_error *err);
static inline hinge_status hm_agree(const struct hm_net *net, hinge_status status, hinge_error *err)
{
    hinge_status all = hm_agreed(net, status, err);
    return all != HINGE_OK ? all : status;
}

/* Ranges [n] become those of all ranks that have any, if one has. */
void hm_merge_ranges(const struct hm_net *net, double *low, double *high, size_t n, bool any);

/* Makes counts [n] their sums over all ranks. */
void hm_add_counts(const struct hm_net *net, uint64_t *counts, size_t n);

/* ENOMEM on all ranks where one of them lacks memory, and says so. */
#define HM_HAVE(net, ok, err, ...) hm_agree((net), (ok) ? HINGE_OK : hg_fail((err), HINGE_ENOMEM, __VA_ARGS__), (err))

/* HG_MAKE on each rank; ENOMEM on all where one of them lacks memory. */
#define HM_MAKE(net, err, what, ...) hm_agree((net), HG_MAKE((err), (what), __VA_ARGS__), (err))

/* Collects what all ranks send, in their order: *all of *total bytes, to be freed; net->sizes becomes the bytes of
 * each. Here and below, `send` is NULL on a rank that had no memory for its bytes: ENOMEM on all. */
hinge_status hm_gather_all(const struct hm_net *net, const void *send, size_t bytes, void **all, size_t *total,
                           hinge_error *err);

/* Exchanges what ranks send each other, net->out bytes to each: *all of *total bytes, to be freed, net->in of each. */
hinge_status hm_exchange(const struct hm_net *net, const void *send, void **all, size_t *total, hinge_error *err);

/* Does the same where all is for rank 0. */
hinge_status hm_collect(const struct hm_net *net, const void *send, size_t bytes, void **all, size_t *total,
                        hinge_error *err);

/* Makes sums[k] = the sum of all ranks' part[k * n + i], i < n, k < m: the same bits however they are spread over
 * ranks, good to 2^-60 of the largest part times the number of all parts. */
enum { HM_REALS = 8 };
void hm_add_reals(const struct hm_net *net, const double *part, size_t n, size_t m, double *sums);

#endif
