/*
 * Finds which support vectors matter to a block of examples (nearby.h): both are sorted and boxed; a block passes over
 * strips that are far. The sums of the rest are what prediction would have made, in another order. Read kernels/cells.h
 * before: trees and boxes are those of training's cells.
 */
#include "lib/predict/nearby.h"
#include "lib/base/team.h"

#include <math.h>
#include <string.h>

enum { LEAST_ROWS = 1024, LEAST_SV = 2048 }; /* fewer are not worth sorting */

/* Returns the squared distance d2 from which on the SVs' values are negligible, all together: (sum over SVs of their
 * largest |coef|) K = share * min(max(1, largest |rho|), largest |coef|), share being 1e-10, or 1e-6 in
 * f32. */
static double negligible(const hinge_model *m, hinge_dtype type)
{
    double sum = 0, scale = 1, most = 0;
    for (size_t i = 0; i < m->n_sv; i++) {
        double largest = 0;
        for (size_t k = 0; k < hg_model_coef_rows(m); k++)
            largest = HG_MAX(largest, fabs(m->coef[k * m->n_sv + i]));
        sum += largest;
        most = HG_MAX(most, largest);
    }
    for (size_t p = 0; p < m->n_problems; p++)
        scale = HG_MAX(scale, fabs(m->rho[p]));
    return hg_kernel_reach(&m->kernel, (type == HINGE_F32 ? 1e-6 : 1e-10) * HG_MIN(scale, most) / sum);
}

struct sorting {
    struct hg_nearby *nearby;
    const hinge_model *model;
    const struct hg_points *examples, *sv;
};

/* Sorts examples all together (what = 0), and SVs within their classes (1), as coefficients are read by class. */
static void sort(void *arg, int thread, size_t what, size_t end)
{
    const struct sorting *s = arg;
    const hinge_model *m = s->model;
    struct hg_nearby *n = s->nearby;
    (void)thread;
    (void)end;
    for (size_t i = 0; what == 0 && i < s->examples->n; i++)
        n->example[i] = (uint32_t)i;
    for (size_t i = 0; what == 1 && i < m->n_sv; i++)
        n->sv[i] = (uint32_t)i;
    if (what == 0)
        hg_cells_sort(s->examples, n->block, n->example, s->examples->n);
    for (size_t c = 0, first = 0; what == 1 && c < hg_model_groups(m); first += hg_model_group_sv(m, c++))
        if (hg_model_group_sv(m, c) > 0)
            hg_cells_sort(s->sv, HG_STRIP, n->sv + first, hg_model_group_sv(m, c));
}

struct boxing {
    const struct hg_points *points;
    const uint32_t *ids;
    size_t each;
    float *box;
};

/* Boxes each `each` points that follow each other in the new order: box [2 * features] of the least and greatest
 * values. */
static void bound(void *arg, int thread, size_t first, size_t end)
{
    const struct boxing *b = arg;
    (void)thread;
    for (; first < end; first += b->each)
        hg_cells_box(b->points, b->ids + first, HG_MIN(b->each, end - first),
                     b->box + first / b->each * 2 * b->points->x.cols);
}

/* Asks a sample of pairs whether half of them are far before it sorts anything (hg_cells_may_pay). All arrays are one
 * block, whose first is `example`. Norms are brought into the SVs' order, since tiles read them by position. */
hinge_status hg_nearby_init(struct hg_nearby *n, const hinge_model *m, const struct hg_points *examples,
                            const struct hg_points *sv, size_t block, hinge_dtype type, int threads, hinge_error *err)
{
    *n = (struct hg_nearby){ .block = block, .n_sv = m->n_sv, .d = m->d };
    if (!hg_kernel_row(m->kernel.type)->of_distance || examples->n < LEAST_ROWS || m->n_sv < LEAST_SV)
        return HINGE_OK;
    n->distance2 = negligible(m, type);
    if (!isfinite(n->distance2) || !hg_cells_may_pay(examples, sv, n->distance2))
        return HINGE_OK;
    size_t size = hg_size_of(type), d2 = 2 * m->d;
    const char *norms = hg_model_norms(m, type);
    HG_TRY(HG_MAKE(err, "the order of support vectors and examples", HG_ARRAY(n->example, examples->n),
                   HG_ARRAY(n->sv, m->n_sv), HG_TABLE(n->block_box, (examples->n + block - 1) / block, d2),
                   HG_TABLE(n->strip_box, (m->n_sv + HG_STRIP - 1) / HG_STRIP, d2),
                   HG_VALUES(n->norms, norms != NULL ? m->n_sv : 0, size)));
    hg_share(threads, 2, 1, sort, &(struct sorting){ n, m, examples, sv });
    hg_share(threads, examples->n, 8 * block, bound, &(struct boxing){ examples, n->example, block, n->block_box });
    hg_share(threads, sv->n, 8 * HG_STRIP, bound, &(struct boxing){ sv, n->sv, HG_STRIP, n->strip_box });
    for (size_t i = 0; norms != NULL && i < m->n_sv; i++)
        memcpy((char *)n->norms + i * size, norms + n->sv[i] * size, size);
    n->norms = norms != NULL ? n->norms : NULL;
    return HINGE_OK;
}

void hg_nearby_free(struct hg_nearby *n)
{
    hg_free(n->example);
    *n = (struct hg_nearby){ 0 };
}

static bool is_far(const struct hg_nearby *n, size_t block, size_t sv)
{
    return hg_cells_are_far(n->block_box + block * 2 * n->d, n->strip_box + sv / HG_STRIP * 2 * n->d, n->d,
                            n->distance2);
}

/* Joins near strips that follow each other into one range, so that tiles are as wide as `most` allows. */
bool hg_nearby_next(const struct hg_nearby *n, size_t block, size_t most, size_t *first, size_t *end)
{
    size_t begin = *first;
    while (begin < n->n_sv && is_far(n, block, begin))
        begin += HG_STRIP;
    if (begin >= n->n_sv)
        return false;
    *first = begin;
    *end = HG_MIN(begin + HG_STRIP, n->n_sv);
    while (*end < n->n_sv && *end + HG_STRIP - begin <= most && !is_far(n, block, *end))
        *end = HG_MIN(*end + HG_STRIP, n->n_sv);
    return true;
}
