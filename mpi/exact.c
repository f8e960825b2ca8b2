/* Sources of kernel rows over a rank's points, and g in f64 by all ranks together. Read run.h before. */
#include "mpi/mpi_run.h"

#include <math.h>

/* ---- kernel rows ------------------------------------------------------------------------------------------------- */

void hm_free_grams(struct hm_run *r, struct hm_part *part)
{
    for (size_t p = 0; part != NULL && p < r->points.n_parts; p++) {
        r->report.kernel_values += part[p].gram.super.values;
        part[p].gram.super.values = 0;
        hg_gram_free(&part[p].gram);
        hg_free(part[p].norms);
        hg_hamming_free(&part[p].hamming);
        part[p].norms = NULL;
    }
}

void hm_set_norm(struct hm_part *part, hinge_dtype type, size_t k)
{
    if (part->norms == NULL)
        return;
    hg_put(part->norms, type, part->n + k, hg_points_norm(&part->gram.points, part->n + k, type));
}

static struct hg_tiler tiler_of(const struct hm_run *r, hinge_dtype type)
{
    return hg_dataset_tiler(&r->own->pr.data, type);
}

static struct hg_points points_of(const struct hm_run *r, const struct hm_part *part, hinge_dtype type,
                                  const hinge_matrix *others)
{
    const struct hm_own *own = r->own;
    bool f32 = type == HINGE_F32;
    hinge_dtype from = f32 ? HINGE_F32 : own->type;
    const char *x = f32 ? (const char *)own->x32 : own->x;
    return (struct hg_points){ .x = { x + part->begin * own->stride * hg_size_of(from), from, part->n, own->pr.data.d,
                                      own->stride, HINGE_ROW_MAJOR },
                               .n = part->n + others->rows, .nonzeros = own->nonzeros, .more = others };
}

/* Points of a part, as far as the choice of a maker goes; like: what is known of counts. */
static struct hg_points points_to_choose_by(const struct hm_run *r, hinge_dtype type, struct hg_hamming *like)
{
    const hinge_matrix none = { 0 };
    struct hg_points points = points_of(r, &r->points.part[0], type, &none);
    *like = (struct hg_hamming){ .listed = r->own->kind.listed };
    points.hamming = type == HINGE_F32 && r->own->kind.features > 0 ? like : NULL;
    return points;
}

hinge_status hm_check_maker(const struct hm_run *r, hinge_error *err)
{
    struct hg_tiler tiler = tiler_of(r, r->type);
    struct hg_hamming like;
    struct hg_points points = points_to_choose_by(r, r->type, &like);
    tiler.close = hg_tiler_close(&tiler.kernel, r->type, tiler.d, r->own->pr.data.norm);
    return hg_maker_check(&tiler, &points, err);
}

double hm_cost(const struct hm_run *r, hinge_dtype type)
{
    struct hg_tiler tiler = tiler_of(r, type);
    struct hg_hamming like;
    struct hg_points points = points_to_choose_by(r, type, &like);
    hg_tiler_choose(&tiler, &points);
    return tiler.maker->cost(&tiler, &points).reads;
}

hinge_status hm_make_grams(const struct hm_run *r, struct hm_part *parts, hinge_dtype type,
                           const hinge_matrix *others, hinge_error *err)
{
    const struct hm_own *own = r->own;
    struct hg_tiler tiler = tiler_of(r, type);
    bool norms = hg_kernel_row(tiler.kernel.type)->of_distance;
    for (size_t p = 0; p < r->points.n_parts; p++) {
        struct hm_part *part = &parts[p];
        struct hg_points points = points_of(r, part, type, others);
        size_t n = points.n;
        if (type == HINGE_F32 && own->kind.features > 0) {
            HG_TRY(hg_hamming_make(&part->hamming, &own->kind, &points, part->n, r->threads, err));
            points.hamming = &part->hamming;
        }
        part->norms = norms ? hg_zalloc(n, hg_size_of(type)) : NULL;
        if (norms && part->norms == NULL)
            return hg_fail(err, HINGE_ENOMEM, "no memory for %zu norms", n);
        if (norms)
            hg_points_norms(&points, type, part->norms, r->threads);
        HG_TRY(hg_gram_init(&part->gram, &tiler, &points, NULL, n, NULL, part->norms, r->threads, err));
        /* the bound is that of all points */
        part->gram.tiler.close = hg_tiler_close(&tiler.kernel, type, tiler.d, own->pr.data.norm);
        size_t cols = HG_TILE_COLS; /* which divide a tile */
        while (cols > part->gram.tile_cols)
            cols /= 2;
        part->gram.tile_cols = cols;
    }
    return HINGE_OK;
}

hinge_status hm_make_vectors(const struct hm_run *r, size_t rows, hinge_dtype type, hinge_matrix *others,
                                 hinge_error *err)
{
    void *values = hg_zalloc(rows * r->own->stride, hg_size_of(type));
    if (values == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu vectors of %zu features", rows, r->own->pr.data.d);
    *others = (hinge_matrix){ values, type, rows, r->own->pr.data.d, r->own->stride, HINGE_ROW_MAJOR };
    return HINGE_OK;
}

/* Sources in f64 over the parts of the run, and vectors of others. */
struct exact {
    struct hm_run *r;
    struct hm_part *part; /* [n_parts] */
    hinge_matrix others;
};

static void close_exact(struct exact *e)
{
    hm_free_grams(e->r, e->part);
    hg_free(e->part);
    hg_free((void *)e->others.data);
}

/* Makes grams for so many others; to be closed on failure too. */
static hinge_status open_exact(struct exact *e, struct hm_run *r, size_t rows, hinge_error *err)
{
    *e = (struct exact){ .r = r };
    HG_TRY(HG_MAKE(err, "parts in f64", HG_ARRAY(e->part, r->points.n_parts)));
    for (size_t p = 0; p < r->points.n_parts; p++)
        e->part[p] =
            (struct hm_part){ .begin = r->points.part[p].begin, .n = r->points.part[p].n, .at = r->points.part[p].at };
    HG_TRY(hm_make_vectors(r, rows, HINGE_F64, &e->others, err));
    return hm_make_grams(r, e->part, HINGE_F64, &e->others, err);
}

/* The first `count` others, whose vectors are `step` apart. */
static void take_others(struct exact *e, const double *from, size_t step, size_t count)
{
    for (size_t k = 0; k < count; k++)
        memcpy((double *)e->others.data + k * e->others.stride, from + k * step, e->others.cols * sizeof *from);
    for (size_t p = 0; p < e->r->points.n_parts; p++)
        for (size_t k = 0; k < count; k++)
            hm_set_norm(&e->part[p], HINGE_F64, k);
}

/* ---- g in f64 ---------------------------------------------------------------------------------------------------- */

/* Gathers the points of a tile that have coefficients: their number, on all ranks, and the message: coefficients, then
 * vectors. rows: [tile] */
static size_t tell_tile(const struct hm_run *r, size_t tile, double *message, uint32_t *rows)
{
    size_t d = r->own->pr.data.d;
    int owner = (int)(tile % (size_t)r->net->ranks);
    uint64_t count = 0;
    for (const struct hm_tile *t = r->points.tile; t < r->points.tile + r->points.n_tiles; t++)
        for (size_t k = t->at; k < t->at + t->n && t->number == tile; k++)
            if (hg_qp_beta(&r->qp, k) != 0)
                rows[count++] = (uint32_t)k;
    for (size_t k = 0; k < count; k++) {
        message[k] = hg_qp_beta(&r->qp, rows[k]);
        hg_points_pack(&r->own->points, NULL, r->points.of[rows[k]], 1, HINGE_F64, message + count + k * d, d);
    }
    r->net->broadcast(r->net, &count, sizeof count, owner);
    if (count > 0)
        r->net->broadcast(r->net, message, count * (1 + d) * sizeof *message, owner);
    return count;
}

static hinge_status add_points(struct exact *e, const double *message, uint32_t *rows, size_t count)
{
    struct hm_run *r = e->r;
    struct hg_how how = { .add = &r->loops->add, .list = 1 };
    take_others(e, message + count, r->own->pr.data.d, count);
    for (size_t p = 0; p < r->points.n_parts; p++) {
        struct hm_part *part = &e->part[p];
        for (size_t k = 0; k < count; k++)
            rows[k] = (uint32_t)(part->n + k);
        HG_TRY(hg_rows_apply(&part->gram.super, rows, count, message, NULL, part->n, r->points.g + part->at, &how));
    }
    return HINGE_OK;
}

hinge_status hm_compute_gradient(struct hm_run *r, hinge_error *err)
{
    struct exact e;
    double *message = NULL;
    uint32_t *rows;
    size_t tile = r->own->tile;
    hinge_status status = open_exact(&e, r, tile, err);
    HG_THEN(status,
            HG_MAKE(err, "a tile in f64", HG_TABLE(message, tile, 1 + r->own->pr.data.d), HG_ARRAY(rows, tile)));
    status = hm_agree(r->net, status, err);
    if (status == HINGE_OK) {
        memset(r->points.g, 0, r->points.n * sizeof *r->points.g);
        for (size_t at = 0; at < r->points.n; at++)
            r->points.mended[at] = hg_qp_beta(&r->qp, at);
        for (size_t c = 0; c < r->own->n_groups; c++)
            for (size_t t = r->own->first_tile[c]; hm_has_group(r, c) && t < r->own->first_tile[c + 1]; t++) {
                size_t count = tell_tile(r, t, message, rows);
                if (count > 0 && status == HINGE_OK && add_points(&e, message, rows, count) != HINGE_OK)
                    status = hg_fail(err, HINGE_ECALLBACK, "the kernel function reported a failure");
            }
        status = hm_agree(r->net, status, err);
    }
    close_exact(&e);
    hg_free(message);
    return status;
}

/* ---- the error of g ---------------------------------------------------------------------------------------------- */

enum { DRAWN = 256 }; /* points that are measured of all, and of those between the extremes */

struct measure {
    struct exact exact;   /* others: the points measured */
    size_t count;
    double *told;         /* [count * (2 + d)] number, g, vector of each, as they travel */
    uint32_t *rows;       /* [count] */
    uint32_t *cols;       /* [tile] own support vectors of a tile, */
    double *coef;         /* and their coefficients */
    double *now;          /* [count] sums over a tile */
    double *sum;          /* [count * n_tiles] over all */
};

/* Points between the extremes may well be those whose g decides. */
static bool is_between(const struct hm_run *r, size_t at)
{
    bool is = false;
    for (int l = 0; l < r->qp.layers; l++) {
        double high = r->qp.no_sum ? 0 : r->course.now[l].high, low = r->qp.no_sum ? 0 : r->course.now[l].low;
        is = is || r->points.g[at] + r->points.up[l][at] < high || r->points.g[at] + r->points.down[l][at] > low;
    }
    return is;
}

static bool is_drawn(const struct hm_run *r, size_t at, double between)
{
    uint64_t number = r->own->number[r->points.of[at]], hash = number ^ (r->report.rounds + 1) << 40;
    double draw = (double)(hg_random(&hash) >> 11) * 0x1p-53;
    bool is = draw < DRAWN / (double)r->n_all || (is_between(r, at) && draw < DRAWN / between);
    for (int l = 0; l < r->qp.layers; l++)
        is = is || number == r->course.now[l].low_at || number == r->course.now[l].high_at;
    return is;
}

/* Tells the points drawn to all. */
static hinge_status tell_drawn(struct measure *m, const struct hm_run *r, hinge_error *err)
{
    struct hm_sum sum = { 0 };
    size_t d = r->own->pr.data.d, width = (2 + d) * sizeof(double), mine = 0, total;
    void *all;
    for (size_t at = 0; at < r->points.n; at++)
        sum.count[0] += is_between(r, at);
    r->net->sum(r->net, &sum);
    double between = (double)HG_MAX(sum.count[0], (uint64_t)1);
    for (size_t at = 0; at < r->points.n; at++)
        mine += is_drawn(r, at, between);
    double *own = hg_alloc(mine, width), *to = own;
    for (size_t at = 0; own != NULL && at < r->points.n; at++)
        if (is_drawn(r, at, between)) {
            memcpy(to, &r->own->number[r->points.of[at]], sizeof *to);
            to[1] = r->points.g[at];
            hg_points_pack(&r->own->points, NULL, r->points.of[at], 1, HINGE_F64, to + 2, d);
            to += 2 + d;
        }
    hinge_status status = hm_gather_all(r->net, own, mine * width, &all, &total, err);
    m->told = all;
    m->count = total / width;
    hg_free(own);
    return status;
}

/* Sums up over own tile t. */
static hinge_status measure_tile(struct measure *m, size_t t)
{
    const struct hm_run *r = m->exact.r;
    const struct hm_tile *tile = &r->points.tile[t];
    struct hm_part *part = &m->exact.part[tile->part];
    size_t n_sv = 0;
    for (size_t i = tile->at; i < tile->at + tile->n; i++)
        if (hg_qp_beta(&r->qp, i) != 0) {
            m->coef[n_sv] = hg_qp_beta(&r->qp, i);
            m->cols[n_sv++] = (uint32_t)(i - part->at);
        }
    for (size_t k = 0; k < m->count; k++)
        m->rows[k] = (uint32_t)(part->n + k);
    HG_TRY(hg_rows_dot(&part->gram.super, m->rows, m->count, m->coef, m->cols, n_sv, m->now, NULL, NULL));
    for (size_t k = 0; k < m->count; k++)
        m->sum[k * r->points.n_tiles + t] = m->now[k];
    return HINGE_OK;
}

static hinge_status measure_all(struct measure *m, struct hm_run *r, hinge_error *err)
{
    size_t d = r->own->pr.data.d, tile = r->own->tile;
    hinge_status status = open_exact(&m->exact, r, m->count, err);
    HG_THEN(status, HG_MAKE(err, "the error of the gradient", HG_ARRAY(m->rows, m->count), HG_ARRAY(m->cols, tile),
                            HG_ARRAY(m->coef, tile), HG_ARRAY(m->now, m->count),
                            HG_ZEROS(m->sum, m->count * r->points.n_tiles)));
    if (status == HINGE_OK)
        take_others(&m->exact, m->told + 2, 2 + d, m->count);
    for (size_t t = 0; status == HINGE_OK && t < r->points.n_tiles; t++)
        if ((status = measure_tile(m, t)) != HINGE_OK)
            hg_fail(err, status, status == HINGE_ENOMEM ? "no memory to measure the gradient of %zu points"
                                                        : "the kernel failed on the gradient of %zu points", m->count);
    close_exact(&m->exact);
    return hm_agree(r->net, status, err);
}

/* Makes *near, alike on all ranks, the most that one value of an own point may be off by, times the largest move of a
 * coefficient since g was in f64, where that may break the bounds on F (solver/smo/proof.c says why); 0: nowhere. */
static hinge_status measure_near(struct hm_run *r, double *near, hinge_error *err)
{
    const struct hm_points *all = &r->points;
    struct hm_sum sum = { 0 };
    double *diagonal, *size, largest = 0;
    size_t most = 0;
    for (size_t p = 0; p < all->n_parts; p++)
        most = HG_MAX(most, all->part[p].gram.super.n);
    hinge_status status = HG_MAKE(err, "the error of values", HG_ARRAY(diagonal, most), HG_ARRAY(size, most));
    HG_TRY(hm_agree(r->net, status, err));
    for (size_t at = 0; at < all->n; at++)
        hm_raise(&sum.most[0], hm_key(fabs(hg_qp_beta(&r->qp, at) - all->mended[at])), 0);
    r->net->sum(r->net, &sum);
    double move = hm_value(sum.most[0].key);
    for (size_t p = 0; p < all->n_parts && status == HINGE_OK; p++) {
        const struct hm_part *part = &all->part[p];
        if (part->gram.super.error_near > 0)
            status = hg_rows_told(hg_rows_diagonal(&part->gram.super, diagonal, size), err);
        for (size_t k = 0, at = part->at; k < part->n && part->gram.super.error_near > 0 && status == HINGE_OK;
             k++, at++)
            for (int l = 0; l < r->qp.layers; l++)
                if (hg_may_break(&r->qp, r->course.now[l].high, r->course.now[l].low, r->params->eps, move * size[k],
                                 all->g[at] + all->up[l][at], all->g[at] + all->down[l][at]))
                    largest = HG_MAX(largest, move * size[k]);
    }
    hg_free(diagonal);
    sum = (struct hm_sum){ .most[0].key = hm_key(largest) };
    r->net->sum(r->net, &sum);
    *near = hm_value(sum.most[0].key);
    return hm_agree(r->net, status, err);
}

hinge_status hm_measure_error(struct hm_run *r, hinge_error *err)
{
    double near = 0;
    struct measure m = { 0 };
    double sums[HM_REALS];
    hinge_status status = tell_drawn(&m, r, err);
    HG_THEN(status, measure_all(&m, r, err));
    HG_THEN(status, measure_near(r, &near, err));
    r->report.error = 0;
    for (size_t k = 0; status == HINGE_OK && k < m.count; k += HM_REALS) {
        size_t some = HG_MIN((size_t)HM_REALS, m.count - k);
        hm_add_reals(r->net, m.sum + k * r->points.n_tiles, r->points.n_tiles, some, sums);
        for (size_t j = 0; j < some; j++)
            r->report.error = hg_larger(r->report.error, fabs(sums[j] - m.told[(k + j) * (2 + r->own->pr.data.d) + 1]));
    }
    r->report.error *= 1 + 64 / (double)HG_MAX(m.count, (size_t)1); /* others may be worse */
    r->report.error = hg_larger(r->report.error, near);
    hg_free(m.told);
    hg_free(m.rows);
    return status;
}
