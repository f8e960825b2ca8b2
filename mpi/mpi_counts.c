/* Features of two values each, on all ranks together: kernel rows are then made of counts (kernels/hamming.h). */
#include "mpi/mpi_own.h"

#include <math.h>

/* The values of each feature among own points, if there are any; false: some feature has three. */
static bool find_values(const struct hm_own *own, double *low, double *high)
{
    for (size_t i = 0; i < own->n; i++)
        for (size_t f = 0; f < own->pr.data.d; f++) {
            double v = own->x32[i * own->stride + f];
            if (i == 0)
                low[f] = high[f] = v;
            if (v == low[f] || v == high[f])
                continue;
            if (low[f] != high[f])
                return false;
            high[f] = fmax(low[f], v);
            low[f] = fmin(low[f], v);
        }
    return true;
}

/* How many of all points have the higher value, count [d + 1]; false: some feature has a third one. */
static bool count_values(const struct hm_net *net, const struct hm_own *own, const double *low, const double *high,
                         uint64_t *count)
{
    for (size_t i = 0; i < own->n; i++)
        for (size_t f = 0; f < own->pr.data.d; f++) {
            double v = own->x32[i * own->stride + f];
            count[f] += v == high[f];
            count[own->pr.data.d] += v != low[f] && v != high[f];
        }
    hm_add_counts(net, count, own->pr.data.d + 1);
    return count[own->pr.data.d] == 0;
}

/* The rarer value of each feature, and how long lists of them are. */
static void choose_rarer(const struct hm_net *net, struct hm_own *own, const uint64_t *count)
{
    struct hg_hamming_kind *kind = &own->kind;
    struct hm_sum sum = { 0 };
    for (size_t f = 0; f < kind->d; f++) {
        double low = kind->common[f], high = kind->rare[f];
        bool swap = 2 * count[f] > own->pr.data.n;
        kind->common[f] = swap ? high : low;
        kind->rare[f] = low == high ? (double)NAN : swap ? low : high;
    }
    for (size_t i = 0; i < own->n; i++) {
        uint64_t length = 0;
        for (size_t f = 0; f < kind->d; f++)
            length += (double)own->x32[i * own->stride + f] == kind->rare[f];
        sum.count[0] += length;
        sum.most[0].key = HG_MAX(sum.most[0].key, length);
    }
    net->sum(net, &sum);
    kind->longest = sum.most[0].key;
    kind->listed = (double)sum.count[0] / (double)own->pr.data.n;
    hg_hamming_kind_set(kind);
}

hinge_status hm_find_counts(const struct hm_net *net, struct hm_own *own, hinge_error *err)
{
    struct hg_hamming_kind *kind = &own->kind;
    const hinge_params *p = &own->pr.params;
    struct hm_sum sum = { 0 };
    uint64_t *count;
    kind->d = own->pr.data.d;
    HG_TRY(HM_MAKE(net, err, "the values of features", HG_ARRAY(kind->common, kind->d), HG_ARRAY(kind->rare, kind->d),
                   HG_ZEROS(kind->line, kind->d), HG_ZEROS(count, kind->d + 1)));
    bool asked = p->maker == HINGE_MAKER_AUTO || p->maker == HINGE_MAKER_COUNTS;
    sum.most[0].key = !hg_kernel_row(p->kernel.type)->of_distance || !asked || own->type != HINGE_F32 || kind->d == 0 ||
                      hg_cpu_level(p->cpu_level) < HG_COUNTS_LEVEL || !find_values(own, kind->common, kind->rare);
    net->sum(net, &sum);
    if (sum.most[0].key != 0)
        return HINGE_OK;
    hm_merge_ranges(net, kind->common, kind->rare, kind->d, own->n > 0);
    if (count_values(net, own, kind->common, kind->rare, count))
        choose_rarer(net, own, count);
    return HINGE_OK;
}
