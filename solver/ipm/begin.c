/*
 * Problems into lanes (lanes.h), and out of them into their own runs. Read interior_run.h before.
 */
#include "solver/ipm/interior_run.h"

#include <string.h>

/* Makes the rows as they are swept, without intercepts and with columns of 0 up to d. */
static void make_rows(const struct hg_begun_inside *b, const struct hg_factor *factor, double *x)
{
    const struct hg_lanes *s = &b->lanes;
    factor->rows(factor, 0, s->n, x, s->d);
    for (size_t i = 0; i < s->n; i++)
        for (size_t c = 0; c < s->d; c++)
            x[i * s->d + c] = c < factor->d ? x[i * s->d + c] - b->space.shift[c] : 0;
}

/* Lays out all arrays of the lanes in one block, of which sign is the owner. A lane without a problem has variables of
 * the sign 0, and is at its end. */
static hinge_status lay_out(struct hg_begun_inside *b, const struct hg_factor *factor, hinge_error *err)
{
    struct hg_lanes *s = &b->lanes;
    size_t state = s->slots * s->n * s->lanes, cols = (s->d + (size_t)s->intercepts) * s->lanes;
    double *x, *one;
    size_t each = 5 * s->lanes;
    HG_TRY(HG_MAKE(err, "lanes of the interior point", HG_ZEROS(s->sign, state), HG_ZEROS(s->p, state),
                   HG_ZEROS(s->w, cols), HG_ZEROS(s->q, cols), HG_ZEROS(s->goal, s->lanes), HG_ARRAY(s->cap, state),
                   HG_ARRAY(s->a, state), HG_ARRAY(s->l, state), HG_ARRAY(s->u, state), HG_ARRAY(s->m, state),
                   HG_ARRAY(one, each), HG_TABLE(x, s->n, s->d), HG_ARRAY(s->room, hg_lanes_room(s))));
    b->bytes = (7 * state + 2 * cols + 6 * s->lanes + s->n * s->d + hg_lanes_room(s)) * sizeof(double);
    for (size_t k = 0; k < state; k++) {
        s->cap[k] = 2;
        s->a[k] = s->l[k] = s->u[k] = s->m[k] = 1;
    }
    for (size_t k = 0; k < each; k++)
        one[k] = 1;
    s->floor = one, s->scale = one + s->lanes;
    s->iterations = one + 2 * s->lanes, s->good = one + 3 * s->lanes;
    make_rows(b, factor, x);
    s->x = x;
    return HINGE_OK;
}

/* Returns where variable k of row i as the space sweeps them is in a lane: by side, then layer. */
static size_t place(const struct hg_lanes *s, const struct hg_interior *r, int k, size_t i, size_t lane)
{
    return ((size_t)k * r->n + i) * s->lanes + lane;
}

/* Returns where column c of a run is in a lane: intercepts stand behind the columns of 0. */
static size_t column(const struct hg_lanes *s, const struct hg_interior *r, size_t c, size_t lane)
{
    size_t d = r->space.factor->d;
    return (c < d ? c : s->d + c - d) * s->lanes + lane;
}

/* Puts a run, which is at its start, into a lane. */
static void put(struct hg_lanes *s, const struct hg_interior *r, size_t lane)
{
    for (int k = 0; k < r->sides; k++)
        for (size_t i = 0; i < r->n; i++) {
            const struct hg_side *side = &r->side[k];
            size_t at = place(s, r, k, i, lane);
            double sign = hg_sign_of(r, k, i);
            if (side->cap[i] == 0)
                continue;
            s->sign[at] = sign;
            s->p[at] = r->qp->kink + sign * r->qp->off[0][i];
            s->cap[at] = side->cap[i];
            s->a[at] = side->a[i], s->l[at] = side->l[i], s->u[at] = side->u[i], s->m[at] = side->m[i];
        }
    for (size_t c = 0; c < r->cols; c++)
        s->q[column(s, r, c, lane)] = r->q[c];
    s->floor[lane] = r->floor;
    s->scale[lane] = r->scale;
    s->goal[lane] = 1e-3 * r->opt->gap;
}

void hg_interior_take_lane(struct hg_interior *r, const struct hg_begun_inside *b, size_t lane)
{
    const struct hg_lanes *s = &b->lanes;
    hinge_report *report = &r->res->report;
    double n = (double)s->n, cols = (double)r->cols;
    report->rounds = report->iterations = (uint64_t)s->iterations[lane];
    report->phase.rows += b->seconds;
    report->memory_bytes += b->bytes;
    report->gflop += 1e-9 * s->iterations[lane] * n * cols * (cols + 20);
    if (s->good[lane] == 0)
        return;
    r->close = s->good[lane] == 2;
    for (int k = 0; k < r->sides; k++)
        for (size_t i = 0; i < r->n; i++) {
            struct hg_side *side = &r->side[k];
            size_t at = place(s, r, k, i, lane);
            if (side->cap[i] != 0)
                side->a[i] = s->a[at], side->l[i] = s->l[at], side->u[i] = s->u[at], side->m[i] = s->m[at];
        }
    for (size_t c = 0; c < r->cols; c++)
        r->w[c] = s->w[column(s, r, c, lane)];
}

/* Starts problem k and puts it into its lane; the first makes the lanes. */
static hinge_status begin_one(struct hg_begun_inside *b, struct hg_qp *qp, const double *sums, size_t k,
                              const struct hg_interior_options *options, bool *fits, hinge_error *err)
{
    struct hg_qp flat;
    struct hg_interior r;
    struct hg_interior_result result;
    struct hg_interior_options own = *options;
    own.sums = sums;
    hg_interior_set(&r, &flat, qp, &own, &result);
    size_t n = b->space.factor->n, slots = r.n / n * (size_t)r.sides;
    *fits = k == 0 || slots == b->lanes.slots;
    for (size_t i = 0; i < r.n; i++)
        *fits = *fits && isfinite(flat.lo[0][i]) && isfinite(flat.hi[0][i]);
    if (!*fits)
        return HINGE_OK;
    b->lanes.slots = slots;
    if (k == 0)
        HG_TRY(lay_out(b, b->space.factor, err));
    r.space = b->space;
    hinge_status status = hg_interior_start(&r, err);
    if (status == HINGE_OK)
        put(&b->lanes, &r, k);
    hg_free(r.f);
    return status;
}

hinge_status hg_interior_begin(struct hg_begun_inside *b, struct hg_qp *const *qps, const double *const *sums,
                               size_t count, const struct hg_factor *factor, const struct hg_interior_options *options,
                               int level, bool *fits, hinge_error *err)
{
    const struct hg_lanes_code *code = hg_lanes_code(level);
    int layers = qps[0]->layers;
    size_t columns = (factor->d + 7) / 8 * 8;
    *b = (struct hg_begun_inside){
        .lanes = { .lanes = code->lanes, .n = factor->n, .d = columns, .intercepts = qps[0]->no_sum ? 0 : layers }
    };
    *fits = count <= code->lanes && factor->d > 0 && factor->d <= HG_LANES_COLS && factor->n <= HG_LANES_VARIABLES / 2;
    if (!*fits)
        return HINGE_OK;
    double begin = hg_now();
    HG_TRY(hg_sweep_init(&b->space, factor, b->lanes.intercepts, options->threads, &options->halt, err));
    for (size_t k = 0; k < count && *fits; k++) {
        *fits = qps[k]->n == factor->n && qps[k]->layers == layers;
        if (*fits)
            HG_TRY(begin_one(b, qps[k], sums[k], k, options, fits, err));
    }
    if (*fits)
        code->run(&b->lanes, &options->halt);
    b->seconds = (hg_now() - begin) / (double)count;
    return HINGE_OK;
}

void hg_begun_inside_free(struct hg_begun_inside *b)
{
    hg_sweep_free(&b->space);
    hg_free(b->lanes.sign);
    b->lanes.sign = NULL;
}
