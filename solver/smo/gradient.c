/*
 * The gradient g = K beta of block SMO: rows read, and rows computed, fused with the tiles that bring them; how wrong
 * it is, and what is done about it.
 */
#include "solver/smo/run.h"

#include <float.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Values in 16 bits are good to 2^-15: a larger move than so many eps would alter an entry of g wrongly by eps / 4.
 * Sums in f32, where rows come coded, are for smaller moves only, too. */
static const double COARSE = 8192;

/* The certificate's violation may be so many eps where rounding in f64 is what keeps it from 1. */
static const double SLACK = 1.05;

enum {
    EARLY = 64,        /* points whose error is measured on the way */
    UPDATE_COLS = 2048 /* columns a task of the gradient update */
};

/* g[first ..] += coef' rows, columns [first, first + n) of rows in the cache */
static void add_part(const struct hg_run *r, const struct hg_part *part, size_t first, size_t n, double *g)
{
    const void *row[8];
    for (size_t h = 0; h < part->count; h += 8) {
        size_t count = HG_MIN((size_t)8, part->count - h);
        for (size_t k = 0; k < count; k++)
            row[k] = (const char *)part->row[h + k] + first * r->held_size;
        if (hg_is_half(r))
            r->loops->add_rows_half(count, part->coef + h, (const uint16_t *const *)row, n, g);
        else
            hg_add_rows(&r->loops->add, r->rows->type, count, part->coef + h, row, n, g);
    }
}

static void update_by_held(struct hg_run *r, const struct hg_part *part, size_t first, size_t end)
{
    if (part->count == 0)
        return;
    uint64_t bytes = (uint64_t)part->count * (end - first) * r->held_size;
    hinge_stages *stages = r->rows->stages;
    int team = hg_crew_size(&r->rows->crew, r->opt->threads);
    double seconds = 0, worked = 0, start = hg_now();
    r->report->bytes_read += bytes;
#pragma omp parallel num_threads(team) reduction(+ : seconds)
    {
        double begin = hg_now();
#pragma omp for schedule(static) nowait
        for (size_t at = first; at < end; at += UPDATE_COLS)
            add_part(r, part, at, HG_MIN((size_t)UPDATE_COLS, end - at), r->g + at);
        seconds += hg_now() - begin;
        if (omp_get_thread_num() == 0)
            worked = seconds;
    }
    hg_crew_tell(&r->rows->crew, team, worked, hg_now() - start - worked);
    if (stages != NULL) {
        stages->read += seconds;
        stages->gbytes += 1e-9 * (double)bytes;
    }
}

/* Is a move too large for sums in f32? */
static bool is_large(const struct hg_run *r, double delta)
{
    return fabs(delta) > COARSE * r->opt->eps;
}

/* Where rows of a sum are held as half. */
struct keep {
    const struct hg_run *r;
    void *const *row; /* [rows] of each, from column `first` on, or NULL */
    size_t first;
};

static void keep_tile(void *arg, const struct hg_tile *tile)
{
    const struct keep *keep = arg;
    hinge_stages *stages = keep->r->rows->stages;
    double begin = stages != NULL ? hg_now() : 0;
    for (size_t k = 0, row = tile->row0; k < tile->n_rows; k++, row++)
        if (keep->row[row] != NULL)
            keep->r->loops->to_half(tile->n_cols, tile->row[k],
                                    (uint32_t)(hg_hash(keep->r->group_point[row]) + keep->first + tile->col0),
                                    (uint16_t *)keep->row[row] + tile->col0);
    if (stages != NULL) {
        double seconds = hg_now() - begin;
#pragma omp atomic
        stages->pack += seconds;
    }
}

/* g[first ..] += K[points of the group, first ..]' their coefficients. rows: NULL, or where each is kept in the cache
 * from column `first` on (or NULL); those count in the report. again: hg_fetch's. */
static hinge_status add_group(struct hg_run *r, struct hg_rows *source, size_t first, void *const *rows, uint64_t again)
{
    const struct hg_part *group = &r->group;
    bool half = rows != NULL && hg_is_half(r);
    struct keep keep = { r, rows, first };
    struct hg_how how = { .add = &r->loops->add, .halt = &r->halt, .out = half ? NULL : rows, .again = again,
                          .near = true, .coded = r->cheap, .narrow = COARSE * r->opt->eps,
                          .added = half ? keep_tile : NULL, .arg = &keep };
    uint64_t before = source->values;
    hinge_status status = hg_rows_apply(source, r->group_point, group->count, group->coef, r->active + first,
                                        r->m - first, r->g + first, &how);
    if (rows == NULL)
        return status;
    r->res->columns_computed += source->values - before;
    r->report->bytes_read += (source->values - before) * (source->coded ? 1 : r->size);
    for (size_t k = 0; k < group->count && status == HINGE_OK && !hg_is_stopped(r); k++)
        if (rows[k] != NULL)
            hg_cache_set_width(&r->cache, r->group_point[k], r->m);
    return status;
}

/* Columns [width, m) of the moved points whose rows have that width: fetched, kept, and added to g there; the
 * part they hold already is added as it stands. */
static hinge_status update_by_group(struct hg_run *r, size_t width)
{
    struct hg_part *group = &r->group;
    group->count = 0;
    for (size_t k = 0; k < r->n_moved; k++)
        if (r->moved[k].width == width) {
            r->moved[k].width = SIZE_MAX; /* done */
            r->group_point[group->count] = r->moved[k].point;
            group->row[group->count] = r->moved[k].row;
            group->coef[group->count++] = r->moved[k].delta;
        }
    if (width > 0) {
        update_by_held(r, group, 0, width);
        for (size_t k = 0; k < group->count; k++)
            group->row[k] = (char *)group->row[k] + width * r->held_size;
    }
    return add_group(r, r->rows, width, group->row, r->columns << 32 | width);
}

static int by_position(const void *a, const void *b)
{
    const struct hg_moved *p = a, *q = b;
    return (p->at > q->at) - (p->at < q->at);
}

/* Whether a move may be made by a row of 16 bits. Where moves are many that may not, computing their rows again costs
 * more than the error that a later look will find (hg_settle). */
static bool may_be_coarse(struct hg_run *r, const struct hg_moved *v)
{
    if (fabs(v->delta) <= r->coarse_move)
        return true;
    if (++r->refined > r->n / 8) {
        r->coarse_move *= 4;
        r->refined = 0;
    }
    return false;
}

hinge_status hg_update_gradient(struct hg_run *r)
{
    struct hg_part *held = &r->held;
    size_t missing = 0, again = 0;
    if (r->m * r->held_size > r->cache.stride) /* more points came back than there was room for */
        hg_cache_compact(&r->cache, r->width, NULL, r->width, hg_columns_for(r, r->m), r->opt->threads);
    if (r->rows->order != NULL) /* neighbours side by side */
        qsort(r->moved, r->n_moved, sizeof *r->moved, by_position);
    else if (r->rows->coded) /* large moves first, so that few tiles have some */
        for (size_t k = 0, large = 0; k < r->n_moved; k++)
            if (is_large(r, r->moved[k].delta)) {
                struct hg_moved v = r->moved[k];
                r->moved[k] = r->moved[large];
                r->moved[large++] = v;
            }
    held->count = 0;
    for (size_t k = 0; k < r->n_moved; k++) {
        struct hg_moved *v = &r->moved[k];
        v->width = 0;
        v->row = hg_cache_get(&r->cache, v->point, r->report->rounds, &v->width);
        if (v->row != NULL && hg_is_half(r) && !may_be_coarse(r, v)) {
            v->row = NULL; /* as if it were not there */
            v->width = 0;
        }
        if (v->row != NULL && v->width == r->m) {
            held->row[held->count] = v->row;
            held->coef[held->count++] = v->delta;
            v->width = SIZE_MAX;
            if (hg_is_half(r))
                r->coarse[v->point] += v->delta;
        } else {
            missing++;
            again += r->was_computed[v->point] > 0;
            r->was_computed[v->point] = (uint8_t)HG_MIN(r->was_computed[v->point] + 1, 255);
        }
    }
    r->report->rows_asked += r->n_moved;
    r->round_work = hg_read_cost(r) * (double)held->count + (1 + r->rows->cost) * (double)again;
    update_by_held(r, held, 0, r->m);
    if (missing == 0)
        return HINGE_OK;
    /* after all gets: rows of this round are not evicted for each other */
    for (size_t k = 0; k < r->n_moved; k++)
        if (r->moved[k].width != SIZE_MAX && r->moved[k].row == NULL &&
            r->was_computed[r->moved[k].point] > r->patience && r->cache.slot_of[r->moved[k].point] < 0) {
            r->moved[k].row = hg_cache_put(&r->cache, r->moved[k].point, r->report->rounds);
            if (hg_is_half(r))
                r->coarse[r->moved[k].point] = 0; /* those moves were by other bits */
        }
    hinge_status status = HINGE_OK;
    for (size_t k = 0; k < r->n_moved && status == HINGE_OK && !hg_is_stopped(r); k++)
        if (r->moved[k].width != SIZE_MAX)
            status = update_by_group(r, r->moved[k].width);
    r->torn = status != HINGE_OK || hg_is_stopped(r);
    return status;
}

/* Room in the cache for the rows of the first points listed, as far as it goes; NULL for the rest. */
static void **keep_rows(struct hg_run *r, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        r->group.row[k] = r->cache.used < r->cache.n_slots ? hg_cache_put(&r->cache, r->group_point[k], 0) : NULL;
        r->was_computed[r->group_point[k]] = 1;
    }
    return r->group.row;
}

hinge_status hg_compute_gradient(struct hg_run *r, struct hg_rows *source, size_t first, bool backwards)
{
    size_t n_sv = r->group.count = hg_qp_support(r->qp, r->active, r->group_point, r->group.coef);
    r->unseen = first == 0 ? 0 : r->unseen;
    for (size_t k = 0, last = n_sv; backwards && k + 1 < last--; k++) {
        uint32_t point = r->group_point[k];
        double coef = r->group.coef[k];
        r->group_point[k] = r->group_point[last];
        r->group.coef[k] = r->group.coef[last];
        r->group_point[last] = point;
        r->group.coef[last] = coef;
    }
    memset(r->g + first, 0, (r->m - first) * sizeof *r->g);
    if (n_sv == 0 || first == r->m)
        return HINGE_OK;
    bool keep = source == r->rows && r->report->rounds == 0;
    r->report->rows_asked += keep ? n_sv : 0;
    return add_group(r, source, first, keep ? keep_rows(r, n_sv) : NULL, 0);
}

void hg_scan(struct hg_run *r)
{
    double violation = -INFINITY;
    for (int l = 0; l < r->qp->layers; l++) {
        struct hg_extremes *e = &r->extremes[l];
        *e = r->loops->scan(r->m, r->g, r->up[l], r->down[l]);
        violation = HG_MAX(violation, hg_violation(r->qp, e->high, e->low));
        if (r->qp->no_sum) { /* 0 stands for the partner of a step alone */
            e->high = HG_MAX(e->high, 0.0);
            e->low = HG_MIN(e->low, 0.0);
        }
    }
    r->report->violation = HG_MAX(violation, 0.0);
    if (r->extremes[0].nan != 0) /* NaN */
        r->report->violation = NAN;
}

/* ---- its error --------------------------------------------------------------------------------------------------- */

/* What hg_rows_dot makes of all active points' coefficients, from K_WW where all points are in W. */
static void measure_block(struct hg_run *r, const uint32_t *point, size_t count, size_t n_sv, double *sum,
                          double *square)
{
    uint32_t *slot = r->block_points; /* of a point */
    for (size_t k = 0; k < r->in_w; k++)
        slot[r->w[k]] = (uint32_t)k;
    for (size_t k = 0; k < count; k++) {
        const double *row = (const double *)r->inner.k + slot[point[k]] * r->inner.ld;
        sum[k] = square[k] = 0;
        for (size_t c = 0; c < n_sv; c++) {
            double term = row[slot[r->group_point[c]]] * r->group.coef[c];
            sum[k] += term;
            square[k] += term * term;
        }
    }
}

/* The points measured, `most` at most: the worst violators of both directions, those whose values rounding alters most,
 * and a random sample; or all active ones. */
static size_t choose_measured(struct hg_run *r, size_t most, uint32_t *point)
{
    size_t count = 0, each = most / 4 / (size_t)r->qp->layers;
    if (r->m <= most) {
        memcpy(point, r->active, r->m * sizeof *point);
        return r->m;
    }
    for (int l = 0; l < r->qp->layers; l++)
        for (int direction = 0; direction < 2; direction++) {
            const double *off = direction == 0 ? r->up[l] : r->down[l];
            double sign = direction == 0 ? 1 : -1;
            size_t n = 0;
            for (size_t at = 0; at < r->m; at++)
                if (!isinf(off[at]))
                    r->candidates[n++] = (struct hg_candidate){ sign * (r->g[at] + off[at]), at, (uint32_t)at };
            hg_worst_first(r->candidates, n, HG_MIN(each, n));
            for (size_t c = 0; c < each && c < n; c++)
                point[count++] = r->active[r->candidates[c].at];
        }
    for (size_t k = 0; k < r->n_doubtful && count < most * 3 / 4; k++)
        if (r->position[r->doubtful[k]] < r->m)
            point[count++] = r->doubtful[k];
    uint64_t state = r->report->rounds; /* others than the last time: those are exact already, perhaps */
    while (count < most)
        point[count++] = r->active[hg_random_below(&state, r->m)];
    return count;
}

struct measured {
    double error;    /* the largest |g - g in f64| */
    double rounding; /* what adding up in f64 may make of g */
};

/* Over active points; with `mend` g becomes what it is in f64. */
static hinge_status measure(struct hg_run *r, const uint32_t *point, size_t count, bool mend, struct measured *result)
{
    size_t n_sv = hg_qp_support(r->qp, r->active, r->group_point, r->group.coef);
    double most = 0, *g, *square;
    hinge_status status = HG_ROOM(HG_ARRAY(g, count), HG_ARRAY(square, count)) ? HINGE_OK : HINGE_ENOMEM;
    r->measuring_bytes = HG_MAX(r->measuring_bytes, hg_rows_dot_bytes(count, n_sv) + 2 * count * sizeof *g);
    result->error = 0;
    if (status == HINGE_OK && r->exact_rows && r->in_w == r->n && r->opt->symmetric)
        measure_block(r, point, count, n_sv, g, square);
    else if (status == HINGE_OK)
        status = hg_rows_dot(r->exact, point, count, r->group.coef, r->group_point, n_sv, g, square, &r->halt);
    for (size_t k = 0; k < count && status == HINGE_OK && !hg_is_stopped(r); k++) {
        double *old = &r->g[r->position[point[k]]];
        result->error = HG_MAX(result->error, fabs(g[k] - *old));
        most = HG_MAX(most, square[k]);
        *old = mend ? g[k] : *old;
    }
    result->rounding = DBL_EPSILON * sqrt(most) * (1 + sqrt((double)n_sv) / 8);
    hg_free(g);
    return status;
}

hinge_status hg_measure_error(struct hg_run *r, size_t most)
{
    uint32_t point[HG_MEASURED];
    struct measured result;
    hinge_status status = measure(r, point, choose_measured(r, most, point), false, &result);
    if (!hg_is_stopped(r))
        r->report->error = result.error;
    return status;
}

/* Active points not yet made exact that may break the bounds on F if g is wrong by `error` there: bounds of width eps
 * around the middle of the extremes, or 0 where no sum is held. */
static size_t find_doubted(struct hg_run *r, double error, uint32_t *point)
{
    size_t count = 0;
    for (size_t at = 0; at < r->m; at++) {
        bool doubted = false;
        for (int l = 0; l < r->qp->layers; l++) {
            const struct hg_extremes *e = &r->extremes[l];
            double half = r->qp->no_sum ? r->opt->eps : r->opt->eps / 2;
            double middle = r->qp->no_sum ? 0 : (e->high + e->low) / 2;
            doubted = doubted || r->g[at] + r->up[l][at] < middle - half + error ||
                      r->g[at] + r->down[l][at] > middle + half - error;
        }
        if (doubted && !r->is_exact[r->active[at]])
            point[count++] = r->active[at];
    }
    return count;
}

hinge_status hg_prove(struct hg_run *r, bool *proven)
{
    uint32_t *point = r->found;
    size_t most = r->opt->measured > 0 ? HG_MIN(r->opt->measured, (size_t)HG_MEASURED) : HG_MEASURED;
    size_t count = choose_measured(r, most, point), room = HG_MAX(r->m / 4, (size_t)HG_MEASURED);
    struct measured result;
    *proven = false;
    memset(r->is_exact, 0, r->n);
    hinge_status status = measure(r, point, count, true, &result);
    double rounding = result.rounding;
    r->unseen = count == r->m ? 0 : HG_MAX(r->unseen, result.error * (1 + 64 / (double)count));
    double error = r->unseen;
    while (status == HINGE_OK && !hg_is_stopped(r)) {
        for (size_t k = 0; k < count; k++)
            r->is_exact[point[k]] = 1;
        hg_scan(r);
        r->report->error = error + rounding;
        if (!(r->report->violation <= r->opt->eps && r->report->violation + 2 * rounding <= SLACK * r->opt->eps))
            break;
        count = r->report->violation + 2 * error <= r->opt->eps ? 0 : find_doubted(r, error, point);
        *proven = count == 0;
        if (*proven || count > room)
            break;
        room -= count;
        status = measure(r, point, count, true, &result);
        error = r->unseen = HG_MAX(error, result.error);
        rounding = HG_MAX(rounding, result.rounding);
    }
    return status;
}

void hg_forget_coarse(struct hg_run *r)
{
    r->coarse_move = COARSE * r->opt->eps;
    r->refined = 0;
    if (hg_is_half(r))
        memset(r->coarse, 0, r->n * sizeof *r->coarse);
}

hinge_status hg_correct_gradient(struct hg_run *r)
{
    r->report->corrections++;
    hinge_status status = hg_compute_gradient(r, r->exact, 0, false);
    r->torn = status != HINGE_OK || hg_is_stopped(r);
    hg_forget_coarse(r);
    if (!r->torn)
        hg_scan(r);
    r->best = INFINITY; /* the violation may well be larger now */
    return status;
}

/* Takes back the moves by rows of 16 bits larger than `most`, and makes them again by rows in f32. */
static hinge_status make_again(struct hg_run *r, double most)
{
    struct hg_part *held = &r->held;
    hinge_status status = HINGE_OK;
    size_t at = 0;
    while (at < r->m && status == HINGE_OK && !hg_is_stopped(r)) {
        r->n_moved = held->count = 0;
        for (; at < r->m && r->n_moved < r->q; at++) {
            uint32_t i = r->active[at];
            size_t width = 0;
            void *row = fabs(r->coarse[i]) > most ? hg_cache_get(&r->cache, i, r->report->rounds, &width) : NULL;
            if (row == NULL || width != r->m)
                continue;
            held->row[held->count] = row;
            held->coef[held->count++] = -r->coarse[i];
            r->moved[r->n_moved++] = (struct hg_moved){ i, (uint32_t)at, r->coarse[i], 0, NULL };
            r->coarse[i] = 0;
        }
        r->report->rows_asked += 2 * r->n_moved;
        update_by_held(r, held, 0, r->m);
        if (r->n_moved > 0)
            status = update_by_group(r, 0);
    }
    r->torn = status != HINGE_OK || hg_is_stopped(r);
    if (!r->torn)
        hg_scan(r);
    return status;
}

hinge_status hg_settle(struct hg_run *r, double most_error)
{
    double all = 0, rest, most = 0;
    hinge_status status = hg_measure_error(r, EARLY);
    if (!hg_is_half(r) || status != HINGE_OK || hg_is_stopped(r) || r->report->error <= most_error)
        return status;
    double share = r->opt->eps / 16 / r->report->error;
    for (size_t at = 0; at < r->m; at++) {
        double moved = fabs(r->coarse[r->active[at]]);
        all += moved * moved;
        most = HG_MAX(most, moved);
    }
    do {
        rest = 0;
        most *= 0.75;
        for (size_t at = 0; at < r->m; at++) {
            double moved = fabs(r->coarse[r->active[at]]);
            rest += moved <= most ? moved * moved : 0;
        }
    } while (rest > share * share * all);
    status = make_again(r, most);
    if (status == HINGE_OK && !hg_is_stopped(r))
        status = hg_measure_error(r, EARLY);
    return status;
}
