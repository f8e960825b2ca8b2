/*
 * Sums of rows that are kept or made (store.h): first those in the cache, then those that are made, at once for all
 * that lack as many columns; and what 16 bits cost.
 */
#include "solver/smo/store.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Values in 16 bits are good to 2^-15: a larger move than so many eps would alter an entry of g wrongly by eps / 4.
 * Sums in f32, where rows come coded, are for smaller moves only, too. */
static const double COARSE = 8192;

/* Rows that cost more are not computed again for the digits they lost in the cache. */
static const double DEAR = 6;

enum { UPDATE_COLS = 2048 }; /* columns a task of a sum by rows in the cache */

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

/* Rows in 16 bits make some be computed again: not where they cost much, unless otherwise they would not fit. */
static bool pays_half(const struct hg_store *s)
{
    bool fit = s->opt->cache_bytes / s->size / HG_MAX(s->n, (size_t)1) >= s->n / 2;
    return s->rows->unit && s->rows->type == HINGE_F32 && s->n > HG_SMALL && (s->rows->cost <= DEAR || !fit) &&
           s->rows->order == NULL && /* what is left out of a row is not packed either */
           !s->cheap;
}

hinge_status hg_store_init(struct hg_store *s, hinge_error *err)
{
    size_t n = s->n, q = s->q, room;
    s->size = hg_size_of(s->rows->type);
    s->cheap = hg_is_cheap(s->rows);
    s->patience = hg_patience(s->rows, n);
    s->held_size = pays_half(s) ? sizeof(uint16_t) : s->size;
    s->n_columns = s->width = n;
    s->number = 1;
    s->narrow = COARSE * s->opt->eps;
    struct hg_array arrays[] = { HG_ZEROS(s->was_computed, n), HG_ZEROS(s->coarse, hg_store_is_half(s) ? n : 0),
                                 HG_ZEROS(s->held.row, q),     HG_ZEROS(s->held.coef, q),
                                 HG_ZEROS(s->group.row, n),    HG_ZEROS(s->group.coef, q),
                                 HG_ZEROS(s->group.point, q) };
    if (!hg_room(arrays, sizeof arrays / sizeof *arrays, &room))
        return hg_fail(err, HINGE_ENOMEM, "no memory for a problem of %zu examples", n);
    s->res->report.memory_bytes += room;
    hg_store_forget(s);
    /* a problem that is one working set needs no rows */
    size_t bytes = q < n && !s->cheap ? s->opt->cache_bytes : 0;
    return hg_cache_init(&s->cache, n, n, s->held_size, bytes, s->opt->arena, err);
}

void hg_store_renew(struct hg_store *s, const struct hg_smo_options *opt, struct hg_smo_result *res)
{
    s->opt = opt;
    s->res = res;
    s->narrow = COARSE * opt->eps;
    hg_store_extend(s, s->n);
    hg_store_forget(s);
}

void hg_store_free(struct hg_store *s)
{
    hg_free(s->was_computed);
    hg_cache_free(&s->cache);
}

void hg_store_tell(const struct hg_store *s)
{
    hinge_report *report = &s->res->report;
    report->rows_evicted = s->cache.evicted;
    report->cache_bytes = s->cache.budget;
    report->cache_used = s->cache.most_bytes;
    report->memory_bytes += hg_cache_touched(&s->cache);
}

/* Of a value in the cache, where reading one of f32 is 1. */
static double read_cost(const struct hg_store *s)
{
    return hg_store_is_half(s) ? 0.5 : 1;
}

double hg_store_reads(const struct hg_store *s)
{
    return read_cost(s) * (double)s->cache.used * (double)s->n_columns;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* Columns that a slot has room for: some may come back. */
static size_t columns_for(const struct hg_store *s, size_t count)
{
    return HG_MIN(s->n, count + count / 8 + 64);
}

void hg_store_extend(struct hg_store *s, size_t count)
{
    s->n_columns = count;
    s->number++;
}

void hg_store_keep(struct hg_store *s, const uint32_t *keep, size_t count)
{
    hg_cache_compact(&s->cache, s->n_columns, keep, count, columns_for(s, count), s->opt->threads);
    s->n_columns = s->width = count;
    s->number++;
}

/* ---- rows that are read ------------------------------------------------------------------------------------------ */

/* g += coef' rows, columns [first, first + n) of rows in the cache */
static void add_stretch(const struct hg_store *s, const struct hg_terms *terms, size_t first, size_t n, double *g)
{
    const void *row[8];
    for (size_t h = 0; h < terms->count; h += 8) {
        size_t count = HG_MIN((size_t)8, terms->count - h);
        for (size_t k = 0; k < count; k++)
            row[k] = (const char *)terms->row[h + k] + first * s->held_size;
        if (hg_store_is_half(s))
            s->loops->add_rows_half(count, terms->coef + h, (const uint16_t *const *)row, n, g);
        else
            hg_add_rows(&s->loops->add, s->rows->type, count, terms->coef + h, row, n, g);
    }
}

/* Columns [0, end). */
static void add_held(struct hg_store *s, const struct hg_terms *terms, size_t end, double *g)
{
    if (terms->count == 0)
        return;
    uint64_t bytes = (uint64_t)terms->count * end * s->held_size;
    hinge_stages *stages = s->rows->stages;
    int team = hg_crew_size(&s->rows->crew, s->opt->threads);
    double seconds = 0, worked = 0, start = hg_now();
    s->res->report.bytes_read += bytes;
#pragma omp parallel num_threads(team) reduction(+ : seconds)
    {
        double begin = hg_now();
#pragma omp for schedule(static) nowait
        for (size_t at = 0; at < end; at += UPDATE_COLS)
            add_stretch(s, terms, at, HG_MIN((size_t)UPDATE_COLS, end - at), g + at);
        seconds += hg_now() - begin;
        if (omp_get_thread_num() == 0)
            worked = seconds;
    }
    hg_crew_tell(&s->rows->crew, team, worked, hg_now() - start - worked);
    if (stages != NULL) {
        stages->read += seconds;
        stages->gbytes += 1e-9 * (double)bytes;
    }
}

/* ---- rows that are made ------------------------------------------------------------------------------------------ */

struct hg_how hg_store_how(const struct hg_store *s)
{
    return (struct hg_how){ .add = &s->loops->add, .halt = s->halt, .near = true, .coded = s->cheap,
                            .narrow = s->narrow };
}

/* Where rows of a sum are held as half. */
struct keep {
    const struct hg_store *s;
    const uint32_t *point;
    void *const *row; /* [rows] of each, from column `first` on, or NULL */
    size_t first;
};

static void keep_tile(void *arg, const struct hg_tile *tile)
{
    const struct keep *keep = arg;
    hinge_stages *stages = keep->s->rows->stages;
    double begin = stages != NULL ? hg_now() : 0;
    for (size_t k = 0, row = tile->row0; k < tile->n_rows; k++, row++)
        if (keep->row[row] != NULL) {
            uint64_t seed = keep->point[row];
            keep->s->loops->to_half(tile->n_cols, tile->row[k], (uint32_t)(hg_random(&seed) + keep->first + tile->col0),
                                    (uint16_t *)keep->row[row] + tile->col0);
        }
    if (stages != NULL) {
        double seconds = hg_now() - begin;
#pragma omp atomic
        stages->pack += seconds;
    }
}

/* g += K[points of the terms, columns from `first` on]' their coefficients. terms->row: where each is kept in the cache
 * from there on, or NULL. again: hg_fetch's. */
static hinge_status add_made(struct hg_store *s, const struct hg_terms *terms, size_t first, uint64_t again, double *g)
{
    bool half = hg_store_is_half(s);
    struct keep keep = { s, terms->point, terms->row, first };
    struct hg_how how = hg_store_how(s);
    how.out = half ? NULL : terms->row;
    how.again = again;
    how.added = half ? keep_tile : NULL;
    how.arg = &keep;
    uint64_t before = s->rows->values;
    hinge_status status = hg_rows_apply(s->rows, terms->point, terms->count, terms->coef, s->columns + first,
                                        s->n_columns - first, g + first, &how);
    uint64_t made = s->rows->values - before;
    s->res->columns_computed += made;
    s->res->report.bytes_read += made * (s->rows->coded ? 1 : s->size);
    for (size_t k = 0; k < terms->count && status == HINGE_OK && !hg_halted(s->halt); k++)
        if (terms->row[k] != NULL)
            hg_cache_set_width(&s->cache, terms->point[k], s->n_columns);
    return status;
}

hinge_status hg_store_begin(struct hg_store *s, const uint32_t *point, const double *coef, size_t count, double *g)
{
    struct hg_terms all = { count, (uint32_t *)point, (double *)coef, s->group.row };
    for (size_t k = 0; k < count; k++) {
        all.row[k] = s->cache.used < s->cache.n_slots ? hg_cache_put(&s->cache, point[k], 0) : NULL;
        s->was_computed[point[k]] = 1;
    }
    s->res->report.rows_asked += count;
    return add_made(s, &all, 0, 0, g);
}

/* Columns [width, n_columns) of the moves whose rows have that width: made, kept, and added to g there; the part they
 * hold already is added as it stands. */
static hinge_status add_of_width(struct hg_store *s, struct hg_move *moves, size_t count, size_t width, double *g)
{
    struct hg_terms *group = &s->group;
    group->count = 0;
    for (size_t k = 0; k < count; k++)
        if (moves[k].width == width) {
            moves[k].width = SIZE_MAX; /* done */
            group->point[group->count] = moves[k].point;
            group->row[group->count] = moves[k].row;
            group->coef[group->count++] = moves[k].delta;
        }
    if (width > 0) {
        add_held(s, group, width, g);
        for (size_t k = 0; k < group->count; k++)
            group->row[k] = (char *)group->row[k] + width * s->held_size;
    }
    return add_made(s, group, width, s->number << 32 | width, g);
}

/* ---- a sum ------------------------------------------------------------------------------------------------------- */

/* Is a move too large for sums in f32? */
static bool is_large(const struct hg_store *s, double delta)
{
    return fabs(delta) > s->narrow;
}

static int by_position(const void *a, const void *b)
{
    const struct hg_move *p = a, *q = b;
    return (p->at > q->at) - (p->at < q->at);
}

static void put_in_order(const struct hg_store *s, struct hg_move *moves, size_t count)
{
    if (s->rows->order != NULL) /* neighbours side by side */
        qsort(moves, count, sizeof *moves, by_position);
    else if (s->rows->coded && s->rows->type == HINGE_F32) /* large moves first, so that few tiles have some */
        for (size_t k = 0, large = 0; k < count; k++)
            if (is_large(s, moves[k].delta)) {
                struct hg_move move = moves[k];
                moves[k] = moves[large];
                moves[large++] = move;
            }
}

/* Whether a move may be made by a row of 16 bits. Where moves are many that may not, computing their rows again costs
 * more than the error that a later look will find (hg_settle). */
static bool may_be_coarse(struct hg_store *s, const struct hg_move *move)
{
    if (fabs(move->delta) <= s->coarse_move)
        return true;
    if (++s->refined > s->n / 8) {
        s->coarse_move *= 4;
        s->refined = 0;
    }
    return false;
}

/* The row of a move, if it is there and good enough: whether it is whole. */
static bool look_up(struct hg_store *s, struct hg_move *move)
{
    move->width = 0;
    move->row = hg_cache_get(&s->cache, move->point, s->res->report.rounds, &move->width);
    if (move->row != NULL && hg_store_is_half(s) && !may_be_coarse(s, move)) {
        move->row = NULL; /* as if it were not there */
        move->width = 0;
    }
    return move->row != NULL && move->width == s->n_columns;
}

/* Room for rows that are not there: after all look-ups, so that rows of this round are not evicted for each other. */
static void find_room(struct hg_store *s, struct hg_move *moves, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        uint32_t point = moves[k].point;
        if (moves[k].width == SIZE_MAX || moves[k].row != NULL || s->was_computed[point] <= s->patience ||
            hg_cache_slot(&s->cache, point) >= 0)
            continue;
        moves[k].row = hg_cache_put(&s->cache, point, s->res->report.rounds);
        if (hg_store_is_half(s))
            s->coarse[point] = 0; /* those moves were by other bits */
    }
}

hinge_status hg_store_apply(struct hg_store *s, struct hg_move *moves, size_t count, double *g)
{
    struct hg_terms *held = &s->held;
    size_t missing = 0, again = 0;
    if (s->n_columns * s->held_size > s->cache.stride) /* more points came back than there was room for */
        hg_cache_compact(&s->cache, s->width, NULL, s->width, columns_for(s, s->n_columns), s->opt->threads);
    put_in_order(s, moves, count);
    held->count = 0;
    for (size_t k = 0; k < count; k++) {
        struct hg_move *move = &moves[k];
        uint32_t point = move->point;
        if (look_up(s, move)) {
            held->row[held->count] = move->row;
            held->coef[held->count++] = move->delta;
            move->width = SIZE_MAX;
            if (hg_store_is_half(s))
                s->coarse[point] += move->delta;
        } else {
            missing++;
            again += s->was_computed[point] > 0;
            s->was_computed[point] = (uint8_t)HG_MIN(s->was_computed[point] + 1, 255);
        }
    }
    s->res->report.rows_asked += count;
    s->work = read_cost(s) * (double)held->count + (1 + s->rows->cost) * (double)again;
    add_held(s, held, s->n_columns, g);
    if (missing == 0)
        return HINGE_OK;
    find_room(s, moves, count);
    hinge_status status = HINGE_OK;
    for (size_t k = 0; k < count && status == HINGE_OK && !hg_halted(s->halt); k++)
        if (moves[k].width != SIZE_MAX)
            status = add_of_width(s, moves, count, moves[k].width, g);
    return status;
}

/* ---- what 16 bits cost ------------------------------------------------------------------------------------------- */

void hg_store_forget(struct hg_store *s)
{
    s->coarse_move = COARSE * s->opt->eps;
    s->refined = 0;
    if (hg_store_is_half(s))
        memset(s->coarse, 0, s->n * sizeof *s->coarse);
}

/* Takes back the moves by rows of 16 bits larger than `most`, and makes them again by rows in f32. */
static hinge_status make_again(struct hg_store *s, double most, struct hg_move *moves, double *g)
{
    struct hg_terms *held = &s->held;
    hinge_status status = HINGE_OK;
    size_t at = 0;
    while (at < s->n_columns && status == HINGE_OK && !hg_halted(s->halt)) {
        size_t count = held->count = 0;
        for (; at < s->n_columns && count < s->q; at++) {
            uint32_t i = s->columns[at];
            size_t width = 0;
            void *row = fabs(s->coarse[i]) > most ? hg_cache_get(&s->cache, i, s->res->report.rounds, &width) : NULL;
            if (row == NULL || width != s->n_columns)
                continue;
            held->row[held->count] = row;
            held->coef[held->count++] = -s->coarse[i];
            moves[count++] = (struct hg_move){ i, (uint32_t)at, s->coarse[i], 0, NULL };
            s->coarse[i] = 0;
        }
        s->res->report.rows_asked += 2 * count;
        add_held(s, held, s->n_columns, g);
        if (count > 0)
            status = add_of_width(s, moves, count, 0, g);
    }
    return status;
}

hinge_status hg_store_refine(struct hg_store *s, double share, struct hg_move *moves, double *g)
{
    double all = 0, rest, most = 0;
    for (size_t at = 0; at < s->n_columns; at++) {
        double moved = fabs(s->coarse[s->columns[at]]);
        all += moved * moved;
        most = HG_MAX(most, moved);
    }
    do {
        rest = 0;
        most *= 0.75;
        for (size_t at = 0; at < s->n_columns; at++) {
            double moved = fabs(s->coarse[s->columns[at]]);
            rest += moved <= most ? moved * moved : 0;
        }
    } while (rest > share * share * all);
    return make_again(s, most, moves, g);
}

hinge_status hg_store_widen(struct hg_store *s)
{
    uint64_t evicted = s->cache.evicted;
    size_t most_bytes = s->cache.most_bytes;
    hg_cache_free(&s->cache);
    s->held_size = s->size;
    s->width = s->n_columns;
    hinge_status status = hg_cache_init(&s->cache, s->n, columns_for(s, s->n_columns), s->size, s->opt->cache_bytes,
                                        s->opt->arena, NULL);
    s->cache.evicted = evicted;
    s->cache.most_bytes = most_bytes;
    return status;
}
