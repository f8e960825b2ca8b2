/*
 * The copy in f32 that training reads, or counts or whole numbers instead of it (copy.h): which of them a problem gets.
 * Counts come first, then integers: where they serve, rows are made of bytes and no copy is needed. A processor below
 * HG_COUNTS_LEVEL (params.cpu_level <= 3 in tests) has no counts, and precision f64 no copy.
 */
#include "lib/data/copy.h"
#include "kernels/whole.h"
#include "lib/base/team.h"

#include <string.h>

/* Looks for features of two values each, for kernels of the distance on a processor whose registers hold the tables
 * of 16 values. Points that are not like that leave copy->hamming empty. */
static hinge_status make_hamming(struct hg_copy *copy, struct hg_dataset *data, hinge_error *err)
{
    bool fast = hg_cpu_level(data->cpu_level) >= HG_COUNTS_LEVEL;
    bool wanted = data->maker == HINGE_MAKER_AUTO || data->maker == HINGE_MAKER_COUNTS;
    if (!hg_kernel_row(data->kernel.type)->of_distance || !fast || !wanted)
        return HINGE_OK;
    hinge_status status = hg_hamming_init(&copy->hamming, &data->points, data->threads, err);
    if (status == HINGE_OK && copy->hamming.features > 0)
        data->points.hamming = &copy->hamming;
    return status;
}

/* Says whether values by whole numbers that points are off may be wrong by no more than twice what those of a copy in
 * f32 may be. */
static bool are_near(const struct hg_copy *copy, const struct hg_dataset *data)
{
    struct hg_tiler tiler = hg_dataset_tiler(data, HINGE_F32);
    struct hg_points points = data->points;
    points.integers = &copy->integers;
    tiler.maker = &hg_by_integers;
    return hg_tiler_error(&tiler, &points, data->norm, NULL) <=
           2 * hg_kernel_error(&tiler.kernel, HINGE_F32, data->d, data->norm);
}

/* Looks for whole numbers, whose products are made of bytes where that is faster, and for bits, whose differences are
 * counted. They know nothing of a shift, which changes the values of all kernels but those of the distance. */
static hinge_status make_integers(struct hg_copy *copy, struct hg_dataset *data, bool f32, hinge_error *err)
{
    int level = hg_cpu_level(data->cpu_level);
    hinge_maker asked = data->maker;
    bool wanted = (asked == HINGE_MAKER_AUTO && copy->hamming.features == 0) || asked == HINGE_MAKER_INTEGERS;
    const struct hg_kernel_row *row = hg_kernel_row(data->kernel.type);
    bool features = row->source == HG_FROM_DOTS || row->source == HG_FROM_DIFFERENCES;
    if (!features || !wanted || (data->points.shift != NULL && !row->of_distance))
        return HINGE_OK;
    HG_TRY(hg_integers_init(&copy->integers, &data->points, f32, level, data->threads, err));
    bool serve = hg_integers_serve(&data->kernel, &copy->integers);
    if (asked != HINGE_MAKER_INTEGERS)
        serve = serve && are_near(copy, data) &&
                hg_integers_win(&data->kernel, &copy->integers, data->points.nonzeros, HINGE_F32, level);
    if (serve)
        data->points.integers = &copy->integers;
    else
        hg_integers_free(&copy->integers);
    return HINGE_OK;
}

struct rounding { /* of points to f32 */
    const struct hg_points *points;
    float *to;
    size_t stride;
};

static void round_some(void *arg, int thread, size_t first, size_t end)
{
    const struct rounding *r = arg;
    size_t d = r->points->x.cols;
    (void)thread;
    for (size_t i = first; i < end; i++) {
        hg_points_pack(r->points, NULL, i, 1, HINGE_F32, r->to + i * r->stride, r->stride);
        memset(r->to + i * r->stride + d, 0, (r->stride - d) * sizeof(float));
    }
}

/* Packs points less their shift, rounded to f32, in parallel: each row is one thread's. Norms are those of the rounded
 * vectors, so that a vector's distance to itself is next to 0 in f32 as well. */
hinge_status hg_copy_round(struct hg_copy *copy, const struct hg_dataset *data, hinge_error *err)
{
    bool serve = data->maker != HINGE_MAKER_GEMM; /* which hg_copy_goes_whole sets though there are lists */
    if (data->kernel.type == HINGE_PRECOMPUTED ||
        (serve && (data->points.hamming != NULL || data->points.integers != NULL)))
        return HINGE_OK;
    size_t stride = (data->d + 15) / 16 * 16;
    HG_TRY(HG_MAKE(err, "a copy of the rows in f32", HG_TABLE(copy->values, data->n, stride),
                   HG_ARRAY(copy->norms, data->n)));
    hg_share(data->threads, data->n, 256, round_some, &(struct rounding){ &data->points, copy->values, stride });
    copy->points = (struct hg_points){ .x = { copy->values, HINGE_F32, data->n, data->d, stride },
                                       .n = data->n,
                                       .nonzeros = data->points.nonzeros,
                                       .most_nonzeros = data->points.most_nonzeros,
                                       .equal = data->equal };
    hg_points_norms(&copy->points, HINGE_F32, copy->norms, data->threads);
    return HINGE_OK;
}

hinge_status hg_copy_init(struct hg_copy *copy, struct hg_dataset *data, bool lists, bool f32, hinge_error *err)
{
    memset(copy, 0, sizeof *copy);
    hinge_status status = lists ? make_hamming(copy, data, err) : HINGE_OK;
    if (lists)
        HG_THEN(status, make_integers(copy, data, f32, err));
    copy->points = data->points;
    return status;
}

bool hg_copy_goes_whole(struct hg_dataset *data, size_t n, size_t bytes)
{
    struct hg_tiler tiler = hg_dataset_tiler(data, HINGE_F64);
    hinge_maker asked = tiler.asked;
    tiler.asked = HINGE_MAKER_AUTO;
    hg_tiler_choose(&tiler, &data->points);
    bool goes = hg_kernel_row(data->kernel.type)->source == HG_FROM_DOTS &&
                hg_whole_pays(tiler.maker->cost(&tiler, &data->points).reads, n, bytes) &&
                (asked == HINGE_MAKER_AUTO || asked == HINGE_MAKER_GEMM);
    if (goes)
        data->maker = HINGE_MAKER_GEMM;
    return goes;
}

hinge_status hg_copy_check(const struct hg_copy *copy, const struct hg_dataset *data, hinge_dtype type,
                           hinge_error *err)
{
    struct hg_tiler tiler = hg_dataset_tiler(data, type);
    tiler.close = hg_tiler_close(&tiler.kernel, type, data->d, data->norm);
    return hg_maker_check(&tiler, &copy->points, err);
}

/* Hands over norms of all points: the Gram takes those of the subset by their numbers. */
hinge_status hg_copy_rows(const struct hg_copy *copy, const struct hg_dataset *data, const uint32_t *subset, size_t n,
                          int threads, struct hg_gram *gram, hinge_error *err)
{
    struct hg_tiler tiler = hg_dataset_tiler(data, HINGE_F32);
    return hg_gram_init(gram, &tiler, &copy->points, subset, n, data->column, copy->norms, threads, err);
}

void hg_copy_free(struct hg_copy *copy)
{
    hg_free(copy->values);
    hg_hamming_free(&copy->hamming);
    hg_integers_free(&copy->integers);
}

static hinge_status open_rows(const struct hg_copy *copy, const struct hg_dataset *data, int threads,
                              struct hg_gram *gram, hinge_error *err)
{
    return copy != NULL ? hg_copy_rows(copy, data, NULL, data->n, threads, gram, err)
                        : hg_dataset_exact(data, NULL, data->n, threads, gram, err);
}

hinge_status hg_shared_init(struct hg_shared *s, const struct hg_copy *copy, const struct hg_dataset *data, int threads,
                            hinge_error *err)
{
    *s = (struct hg_shared){ .threads = threads };
    HG_TRY(HG_MAKE(err, "the rows of threads", HG_ZEROS(s->own, threads), HG_ZEROS(s->each, threads)));
    hinge_status status = open_rows(copy, data, HG_MIN(threads, data->threads), &s->rows, err);
    for (int t = 0; t < threads && status == HINGE_OK; t++) {
        status = open_rows(copy, data, 1, &s->own[t], err);
        s->each[t] = &s->own[t].super;
    }
    return status;
}

void hg_shared_free(struct hg_shared *s)
{
    for (int t = 0; t < s->threads && s->own != NULL; t++)
        hg_gram_free(&s->own[t]);
    hg_gram_free(&s->rows);
    hg_free(s->own);
    *s = (struct hg_shared){ 0 };
}

uint64_t hg_shared_values(const struct hg_shared *s)
{
    uint64_t values = s->rows.super.values;
    for (int t = 0; t < s->threads && s->own != NULL; t++)
        values += s->own[t].super.values;
    return values;
}
