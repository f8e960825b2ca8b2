/* Sources of kernel rows over a rank's points, and g in f64 by all ranks together. Read run.h before. */
#include "mpi/run.h"

/* ---- kernel rows ------------------------------------------------------------------------------------------------- */

void hm_free_grams(struct hm_part *part, size_t n)
{
    for (size_t p = 0; part != NULL && p < n; p++) {
        hg_gram_free(&part[p].gram);
        hg_free(part[p].norms);
        part[p].norms = NULL;
    }
}

hinge_status hm_make_grams(const struct hm_run *r, struct hm_part *parts, hinge_dtype type,
                               const hinge_matrix *others, hinge_error *err)
{
    const struct hm_own *own = r->own;
    struct hg_tiler tiler = { own->pr.params.kernel, hg_maps(hg_cpu_level(own->pr.params.cpu_level)), type, own->pr.d,
                              .maker = NULL };
    bool f32 = type == HINGE_F32, norms = hg_kernel_row(tiler.kernel.type)->needs_norms;
    hinge_dtype from = f32 ? HINGE_F32 : own->type;
    const char *x = f32 ? (const char *)own->x32 : own->x;
    for (size_t p = 0; p < r->n_parts; p++) {
        struct hm_part *part = &parts[p];
        size_t n = part->n + others->rows;
        struct hg_points points = { .x = { x + part->begin * own->stride * hg_size_of(from), from, part->n, own->pr.d,
                                           own->stride, HINGE_ROW_MAJOR },
                                    .n = n, .nonzeros = own->nonzeros, .more = others };
        part->norms = norms ? hg_zalloc(n, hg_size_of(type)) : NULL;
        if (norms && part->norms == NULL)
            return hg_fail(err, HINGE_ENOMEM, "no memory for %zu norms", n);
        if (norms)
            hg_points_norms(&points, type, part->norms, r->threads);
        hinge_status status = hg_gram_init(&part->gram, &tiler, &points, NULL, n, NULL, part->norms, r->threads, err);
        if (status != HINGE_OK)
            return status;
        part->gram.tiler.close = hg_tiler_close(&tiler.kernel, type, own->pr.d, own->norm); /* that of all points */
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
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu vectors of %zu features", rows, r->own->pr.d);
    *others = (hinge_matrix){ values, type, rows, r->own->pr.d, r->own->stride, HINGE_ROW_MAJOR };
    return HINGE_OK;
}

/* ---- g in f64 ---------------------------------------------------------------------------------------------------- */

struct exact {
    struct hm_run *r;
    struct hm_part *part; /* [n_parts] with sources in f64 */
    hinge_matrix others;
    double *message;      /* [tile * (1 + d)] coefficients, then vectors */
    uint32_t *rows;       /* [tile] */
};

struct sum_of {
    struct exact *e;
    const struct hm_part *part;
};

static void add_tile(void *arg, const struct hg_tile *tile)
{
    const struct sum_of *s = arg;
    const struct hm_run *r = s->e->r;
    r->loops->add_rows_f64(tile->n_rows, s->e->message + tile->row0, (const double *const *)tile->row, tile->n_cols,
                           r->g + s->part->at + tile->col0);
}

/* The points of a tile that have coefficients: their number, on all ranks, and the message. */
static size_t tell_tile(struct exact *e, size_t tile)
{
    struct hm_run *r = e->r;
    size_t d = r->own->pr.d, i, n = hm_own_tile(r->net, r->own, tile, &i);
    int owner = (int)(tile % (size_t)r->net->ranks);
    uint64_t count = 0;
    for (size_t p = 0; p < r->n_parts && n > 0; p++)
        if (i >= r->part[p].begin && i < r->part[p].begin + r->part[p].n) {
            size_t at = r->part[p].at + i - r->part[p].begin;
            for (size_t k = at; k < at + n; k++)
                if (hg_qp_beta(&r->qp, k) != 0)
                    e->rows[count++] = (uint32_t)k;
            break;
        }
    if (r->net->rank == owner)
        for (size_t k = 0; k < count; k++) {
            e->message[k] = hg_qp_beta(&r->qp, e->rows[k]);
            hg_points_pack(&r->points, NULL, r->of[e->rows[k]], 1, HINGE_F64, e->message + count + k * d, d);
        }
    r->net->broadcast(r->net, &count, sizeof count, owner);
    if (count > 0)
        r->net->broadcast(r->net, e->message, count * (1 + d) * sizeof *e->message, owner);
    return count;
}

static hinge_status add_points(struct exact *e, size_t count)
{
    struct hm_run *r = e->r;
    size_t d = r->own->pr.d;
    double *to = (double *)e->others.data;
    for (size_t k = 0; k < count; k++)
        memcpy(to + k * e->others.stride, e->message + count + k * d, d * sizeof *to);
    for (size_t p = 0; p < r->n_parts; p++) {
        struct hm_part *part = &e->part[p];
        struct sum_of sum = { e, part };
        for (size_t k = 0; k < count; k++) {
            e->rows[k] = (uint32_t)(part->n + k);
            if (part->norms != NULL)
                ((double *)part->norms)[part->n + k] =
                    hg_points_norm(&part->gram.points, part->n + k, HINGE_F64);
        }
        struct hg_fetch fetch = { .rows = e->rows, .n_rows = count, .n_cols = part->n, .tile = add_tile, .arg = &sum,
                                  .again = 1 };
        hinge_status status = part->n > 0 ? part->gram.super.ops->fetch(&part->gram.super, &fetch) : HINGE_OK;
        if (status != HINGE_OK)
            return status;
    }
    return HINGE_OK;
}

static bool holds_tile(const struct hm_run *r, size_t tile)
{
    const struct hg_problem *pr = &r->own->pr;
    size_t a, b, c = hm_group_of_tile(r->own, tile);
    hg_problem_pair(pr, r->problem, &a, &b);
    return !pr->classifies || c == a || c == b || b == SIZE_MAX;
}

hinge_status hm_compute_gradient(struct hm_run *r, hinge_error *err)
{
    struct exact e = { .r = r };
    size_t tile = r->own->tile;
    r->corrections++;
    e.part = hg_alloc(r->n_parts, sizeof *e.part);
    e.message = hg_alloc(tile * (1 + r->own->pr.d), sizeof *e.message);
    e.rows = hg_alloc(tile, sizeof *e.rows);
    bool ok = e.part != NULL && e.message != NULL && e.rows != NULL;
    hinge_status status = ok ? hm_make_vectors(r, tile, HINGE_F64, &e.others, err)
                             : hg_fail(err, HINGE_ENOMEM, "no memory for %zu rows in f64", tile);
    for (size_t p = 0; e.part != NULL && p < r->n_parts; p++)
        e.part[p] = (struct hm_part){ .begin = r->part[p].begin, .n = r->part[p].n, .at = r->part[p].at };
    if (status == HINGE_OK)
        status = hm_make_grams(r, e.part, HINGE_F64, &e.others, err);
    status = hm_agree(r->net, status, err);
    bool ready = status == HINGE_OK;
    for (size_t at = 0; at < r->n && ready; at++)
        r->g[at] = 0;
    for (size_t t = 0; ready && t < r->own->n_tiles; t++) {
        size_t count = holds_tile(r, t) ? tell_tile(&e, t) : 0;
        if (count > 0 && status == HINGE_OK && add_points(&e, count) != HINGE_OK)
            status = hg_fail(err, HINGE_ECALLBACK, "the kernel function reported a failure");
    }
    if (ready)
        status = hm_agree(r->net, status, err);
    hm_free_grams(e.part, r->n_parts);
    hg_free(e.part);
    hg_free(e.message);
    hg_free(e.rows);
    hg_free((void *)e.others.data);
    return status;
}
