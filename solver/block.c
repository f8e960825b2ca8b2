/*
 * Block SMO over a source of rows.
 *
 *   g     gradient K beta on the active points, in double, whatever the rows' type
 *   W     working set of q points: the newer ones stay, the rest are the worst violators
 *   K_WW  kept between rounds; only the part of the points new in W is computed, as a small GEMM
 *
 * A round: select_block, load_block (K_WW), solve_block (inner.c), update_gradient: g += K[moved, :]' dbeta,
 * fused with the tiles of rows that are not in the cache, then the violation of all. Rows are computed only for
 * points that moved. Nothing that decides looks at the clock or the number of threads, so the result depends on
 * neither.
 */
#include "solver/block.h"
#include "solver/cache.h"
#include "solver/inner.h"
#include "solver/newton.h"
#include "hg_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows that cost no more than so many reads of them, and do not stay in a processor's cache, are not worth the first
 * touch of memory unless they are asked for again and again (measured). */
static const double CHEAP = 2.6;
/* Rows that cost more are not computed again for the digits they lost in the cache. */
static const double DEAR = 6;
/* Rows that cost less than this are not worth reading: most of their values are left out as negligible, or they are
 * made of bytes. */
static const double WORTHLESS = 0.6;

/* Values in 16 bits are good to 2^-15: a larger move than so many eps would alter an entry of g wrongly by eps / 4.
 * Sums in f32, where rows come coded, are for smaller moves only, too. */
static const double COARSE = 8192;

enum {
    MEASURED = 512,     /* most points whose error is measured at the end, */
    EARLY = 64,         /* and on the way there, */
    AHEAD = 20,         /* at so many times the violation to be reached */
    SMALL = 4096,       /* points: their rows mostly stay in the processor's cache */
    LINE = 16,          /* f32 values in a cache line */
    UPDATE_COLS = 2048, /* columns a task of the gradient update */
    STALL_ROUNDS = 200, /* without progress */
    MAX_CORRECTIONS = 2 /* of the gradient in f64 before the rows themselves are taken in f64 */
};

struct candidate {
    double value; /* smaller is worse: a larger violation */
    uint64_t tie; /* a hash of the point: equal violators are taken from all over the data */
    uint32_t at;
};

struct moved { /* a point of W whose beta changed */
    uint32_t point, at; /* at: its position */
    double delta;
    size_t width; /* columns its row holds */
    void *row;    /* in the cache; NULL: no room */
};

struct part { /* a sum over rows */
    size_t count;
    void **row;
    double *coef;
};

struct run {
    struct hg_rows *rows, *exact;
    struct hg_qp *qp;
    const struct hg_smo_options *opt;
    struct hg_smo_result *res;
    const struct hg_loops *loops;
    size_t n, size; /* points; bytes of a row value, */
    size_t held_size; /* of one in the cache: 2 where rows are held as half (loops.h) */

    size_t m;                /* active points */
    size_t width;            /* m at the last shrinking: all rows in the cache have at least so many columns */
    uint64_t columns;        /* a number of the active points' list as it stands, not 0 */
    uint32_t *active;        /* [n] the active points, then room */
    uint32_t *position;      /* [n] of each point among the active ones */
    double *g;               /* [n] by position */
    double *up[2], *down[2]; /* [n] by position, see hg_up */
    double *diagonal;        /* [n] by point */
    struct hg_extremes extremes[2];

    size_t q, in_w;        /* size of W wanted, points in it */
    uint32_t *w;           /* [q] points, by slot of K_WW */
    uint64_t *age;         /* [q] round in which each came */
    uint8_t *is_in_w;      /* [n] */
    uint8_t *was_computed; /* [n] its row, so many times (255: or more) */
    uint8_t patience;      /* a row is kept when it is computed once more than so often */
    uint32_t *fresh;       /* [q] slots that are new this round */
    size_t n_fresh;
    void **block_row;       /* [q] */
    uint32_t *block_points; /* [q] */
    double *before[2];      /* [q] beta before the inner solve */
    struct hg_inner inner;

    struct moved *moved; /* [q] */
    size_t n_moved;
    struct part held, group;      /* [q] rows in the cache to be added; rows being fetched */
    uint32_t *group_point;        /* [n] */
    struct candidate *candidates; /* [n + q] */
    uint32_t *found;              /* [n] */
    struct hg_cache cache;
    double coarse_move;  /* rows of larger moves are not taken from the cache's 16 bits, but computed again; */
    size_t refined;      /* so many since it was last set */
    double *coarse;      /* [n] by point: the sum of its moves by rows of 16 bits */

    double round_work; /* of the last update: rows read, and rows computed again times their cost */
    double waste;      /* work done on points at rest: a first row is none, their gradient will need it too */
    bool torn;         /* an update was ended half-way: g is not K beta */

    double target;         /* violation to be reached: eps, or less where the error of F takes a share of 2 eps */
    double objective;      /* running: by the decreases of the inner solver */
    double best;           /* least violation so far, for the stall test, */
    uint64_t best_round;   /* the round it was seen in, */
    double best_objective; /* and the objective then */
    struct hg_halt halt;   /* the options', its stop perhaps own_stop */
    int own_stop;
    bool exact_rows; /* rows are f64 */
    bool looked;     /* ahead */
    bool settled;    /* in the end */
    bool cheap;      /* rows cost next to nothing: none are cached */
    struct hg_newton_rule newton;
    size_t newton_bytes; /* of its largest block */
};

extern const struct hg_loops hg_loops_plain;
#if HG_X86_LEVELS
extern const struct hg_loops hg_loops_v2, hg_loops_v3, hg_loops_v4;
#endif

const struct hg_loops *hg_loops(int level)
{
#if HG_X86_LEVELS
    const struct hg_loops *const tables[] = { &hg_loops_plain, &hg_loops_v2, &hg_loops_v3, &hg_loops_v4 };
    return tables[level - 1];
#else
    (void)level;
    return &hg_loops_plain;
#endif
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

/* 256 at a few thousand points, 512 at 10k, 1024 at 20k, 2048 from 25k on; all of a small problem. Where rows cost next
 * to nothing, K_WW is what a round costs: less of it, and least where most values are left out. */
static size_t choose_q(const struct run *r)
{
    size_t n = r->n, q = 256, asked = r->opt->working_set;
    size_t most = r->cheap ? 1024 : 2048, share = r->cheap && r->rows->order != NULL ? 200 : 24;
    if (asked > 0) /* half of it holds a pair of each layer */
        return HG_MIN(HG_MAX(asked, 4 * (size_t)r->qp->layers), n);
    if (n <= 512)
        return n;
    while (q < most && q * share < n)
        q *= 2;
    return q;
}

static void run_free(struct run *r)
{
    void *all[] = { r->active,    r->position,     r->g,           r->up[0],      r->up[1],
                    r->down[0],   r->down[1],      r->diagonal,    r->w,          r->age,
                    r->is_in_w,   r->was_computed, r->fresh,       r->block_row,  r->block_points,
                    r->before[0], r->before[1],    r->moved,       r->held.row,   r->held.coef,
                    r->group.row, r->group.coef,   r->group_point, r->candidates, r->found,
                    r->coarse };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hg_free(all[i]);
    hg_inner_free(&r->inner);
    hg_cache_free(&r->cache);
}

static bool allocate(struct run *r)
{
    size_t n = r->n, q = r->q, bytes = 0;
    struct {
        void **to;
        size_t count, size;
    } wanted[] = {
        { (void **)&r->active, n, sizeof *r->active },
        { (void **)&r->position, n, sizeof *r->position },
        { (void **)&r->g, n, sizeof *r->g },
        { (void **)&r->up[0], n, sizeof(double) },
        { (void **)&r->down[0], n, sizeof(double) },
        { (void **)&r->up[1], r->qp->layers == 2 ? n : 0, sizeof(double) },
        { (void **)&r->down[1], r->qp->layers == 2 ? n : 0, sizeof(double) },
        { (void **)&r->diagonal, n, sizeof(double) },
        { (void **)&r->w, q, sizeof *r->w },
        { (void **)&r->age, q, sizeof *r->age },
        { (void **)&r->is_in_w, n, sizeof *r->is_in_w },
        { (void **)&r->was_computed, n, sizeof *r->was_computed },
        { (void **)&r->fresh, q, sizeof *r->fresh },
        { (void **)&r->block_row, q, sizeof *r->block_row },
        { (void **)&r->block_points, q, sizeof *r->block_points },
        { (void **)&r->before[0], q, sizeof(double) },
        { (void **)&r->before[1], q, sizeof(double) },
        { (void **)&r->moved, q, sizeof *r->moved },
        { (void **)&r->held.row, q, sizeof(void *) },
        { (void **)&r->held.coef, q, sizeof(double) },
        { (void **)&r->group.row, n, sizeof(void *) },
        { (void **)&r->group.coef, n, sizeof(double) },
        { (void **)&r->group_point, n, sizeof *r->group_point },
        { (void **)&r->candidates, n, sizeof *r->candidates },
        { (void **)&r->found, n, sizeof *r->found },
        { (void **)&r->coarse, r->held_size < r->size ? n : 0, sizeof *r->coarse },
    };
    bool ok = true;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        *wanted[i].to = hg_zalloc(wanted[i].count, wanted[i].size);
        ok = *wanted[i].to != NULL && ok;
        bytes += wanted[i].count * wanted[i].size;
    }
    r->res->memory_bytes = bytes + q * (q + 32) * r->size;
    return ok;
}

/* Rows in 16 bits make some be computed again: not where they cost much, unless otherwise they would not fit. */
static bool pays_half(const struct run *r)
{
    bool fit = r->opt->cache_bytes / r->size / HG_MAX(r->n, (size_t)1) >= r->n / 2;
    return r->rows->unit && !r->exact_rows && r->n > SMALL && (r->rows->cost <= DEAR || !fit) &&
           r->rows->order == NULL && /* what is left out of a row is not packed either */
           !r->cheap;
}

/* Are rows held in 16 bits? */
static bool is_half(const struct run *r)
{
    return r->held_size < r->size;
}

static hinge_status run_init(struct run *r, hinge_error *err)
{
    r->n = r->m = r->width = r->qp->n;
    r->size = hg_size_of(r->rows->type);
    r->exact_rows = r->rows->type == HINGE_F64;
    r->cheap = r->rows->cost <= WORTHLESS;
    r->held_size = pays_half(r) ? sizeof(uint16_t) : r->size;
    r->coarse_move = COARSE * r->opt->eps;
    r->settled = !is_half(r);
    r->loops = hg_loops(r->opt->cpu_level);
    r->q = choose_q(r);
    r->halt = r->opt->halt;
    if (r->halt.stop == NULL)
        r->halt.stop = &r->own_stop;
    r->columns = 1;
    r->best = INFINITY;
    r->target = r->opt->eps;
    r->newton.least = INFINITY;
    r->patience = r->rows->cost > CHEAP || r->n <= SMALL ? 0 : 3;
    if (!allocate(r))
        return hg_fail(err, HINGE_ENOMEM, "no memory for a problem of %zu examples", r->n);
    for (size_t i = 0; i < r->n; i++)
        r->active[i] = r->rows->order != NULL ? r->rows->order[i] : (uint32_t)i;
    for (size_t i = 0; i < r->n; i++)
        r->position[r->active[i]] = (uint32_t)i;
    hinge_status status =
        hg_inner_init(&r->inner, r->q + r->qp->no_sum, r->qp->layers, r->qp->no_sum, r->qp->kink, r->rows->type,
                      r->loops, err);
    if (status == HINGE_OK)
        /* a problem that is one working set needs no rows */
        status = hg_cache_init(&r->cache, r->n, r->n, r->held_size,
                               r->q < r->n && !r->cheap ? r->opt->cache_bytes : 0, r->opt->arena, err);
    if (status == HINGE_OK) {
        status = r->rows->ops->diagonal(r->rows, r->diagonal);
        if (status != HINGE_OK)
            hg_fail(err, status, "the kernel failed on the diagonal");
    }
    return status;
}

static void set_offsets(struct run *r, size_t at)
{
    const struct hg_qp *qp = r->qp;
    size_t i = r->active[at];
    for (int l = 0; l < qp->layers; l++) {
        r->up[l][at] = hg_up(qp->beta[l][i], qp->hi[l][i], qp->off[l][i], qp->kink);
        r->down[l][at] = hg_down(qp->beta[l][i], qp->lo[l][i], qp->off[l][i], qp->kink);
    }
}

static uint64_t hash(uint64_t x)
{
    return hg_random(&x);
}

/* ---- the gradient ------------------------------------------------------------------------------------------------ */

/* Of a value in the cache, where reading one of f32 is 1. */
static double read_cost(const struct run *r)
{
    return is_half(r) ? 0.5 : 1;
}

/* g[first ..] += coef' rows, columns [first, first + n) of rows in the cache */
static void add_part(const struct run *r, const struct part *part, size_t first, size_t n, double *g)
{
    const void *row[8];
    for (size_t h = 0; h < part->count; h += 8) {
        size_t count = HG_MIN((size_t)8, part->count - h);
        for (size_t k = 0; k < count; k++)
            row[k] = (const char *)part->row[h + k] + first * r->held_size;
        if (is_half(r))
            r->loops->add_rows_half(count, part->coef + h, (const uint16_t *const *)row, n, g);
        else if (r->rows->type == HINGE_F32)
            r->loops->add_rows_f32(count, part->coef + h, (const float *const *)row, n, g);
        else
            r->loops->add_rows_f64(count, part->coef + h, (const double *const *)row, n, g);
    }
}

static void update_by_held(struct run *r, const struct part *part, size_t first, size_t end)
{
    if (part->count == 0)
        return;
    uint64_t bytes = (uint64_t)part->count * (end - first) * r->held_size;
    hinge_stages *stages = r->rows->stages;
    double seconds = 0;
    r->res->bytes_read += bytes;
#pragma omp parallel num_threads(r->opt->threads) reduction(+ : seconds)
    {
        double begin = stages != NULL ? hg_now() : 0;
#pragma omp for schedule(static) nowait
        for (size_t at = first; at < end; at += UPDATE_COLS)
            add_part(r, part, at, HG_MIN((size_t)UPDATE_COLS, end - at), r->g + at);
        seconds += stages != NULL ? hg_now() - begin : 0;
    }
    if (stages != NULL) {
        stages->read += seconds;
        stages->gbytes += 1e-9 * (double)bytes;
    }
}

/* Is a move too large for sums in f32? */
static bool is_large(const struct run *r, double delta)
{
    return fabs(delta) > COARSE * r->opt->eps;
}

static bool any_large(const struct run *r, size_t n, const double *coef)
{
    bool any = false;
    for (size_t k = 0; k < n; k++)
        any = any || is_large(r, coef[k]);
    return any;
}

/* What a fetch does with a finished tile. */
struct update {
    struct run *r;
    hinge_dtype type;
    double *g;               /* of column 0 of the fetch */
    const double *coef;      /* [rows of the fetch] */
    const uint32_t *point;   /* [rows of the fetch] */
    void *const *keep;       /* [rows of the fetch] where they are held as half, or NULL; or NULL */
    size_t first;            /* column 0's place in them */
};

static bool is_stopped(const struct run *r)
{
    return hg_halted(&r->halt);
}

static void update_tile(void *arg, const struct hg_tile *tile)
{
    struct update *u = arg;
    const double *coef = u->coef + tile->row0;
    double *g = u->g + tile->col0;
    if (tile->codes != NULL)
        u->r->loops->add_codes(tile->n_rows, coef, any_large(u->r, tile->n_rows, coef), tile->codes, tile->code,
                               tile->n_cols, g);
    else if (u->type == HINGE_F32)
        u->r->loops->add_rows_f32(tile->n_rows, coef, (const float *const *)tile->row, tile->n_cols, g);
    else
        u->r->loops->add_rows_f64(tile->n_rows, coef, (const double *const *)tile->row, tile->n_cols, g);
    hinge_stages *stages = u->keep != NULL ? u->r->rows->stages : NULL;
    double begin = stages != NULL ? hg_now() : 0;
    for (size_t k = 0; u->keep != NULL && k < tile->n_rows; k++)
        if (u->keep[tile->row0 + k] != NULL)
            u->r->loops->to_half(tile->n_cols, tile->row[k],
                                 (uint32_t)(hash(u->point[tile->row0 + k]) + u->first + tile->col0),
                                 (uint16_t *)u->keep[tile->row0 + k] + tile->col0);
    if (stages != NULL) {
        double seconds = hg_now() - begin;
#pragma omp atomic
        stages->pack += seconds;
    }
    hg_poll_halt(&u->r->halt);
}

/* g[first ..] += K[points of the group, first ..]' their coefficients. rows: NULL, or where each is kept in the cache
 * from column `first` on (or NULL); those count in the report. again: hg_fetch's. */
static hinge_status add_group(struct run *r, struct hg_rows *source, size_t first, void *const *rows, uint64_t again)
{
    const struct part *group = &r->group;
    bool half = is_half(r);
    struct update u = { r, source->type, r->g + first, group->coef, r->group_point, half ? rows : NULL, first };
    struct hg_fetch fetch = { r->group_point, group->count, r->active + first, r->m - first,
                              half ? NULL : rows, update_tile, &u, r->halt.stop, again, true, r->cheap };
    uint64_t before = source->values;
    hinge_status status = source->ops->fetch(source, &fetch);
    if (rows == NULL)
        return status;
    r->res->columns_computed += source->values - before;
    r->res->bytes_read += (source->values - before) * (source->coded ? 1 : r->size);
    for (size_t k = 0; k < group->count && status == HINGE_OK && !is_stopped(r); k++)
        if (rows[k] != NULL)
            hg_cache_set_width(&r->cache, r->group_point[k], r->m);
    return status;
}

/* Columns [width, m) of the moved points whose rows have that width: fetched, kept, and added to g there; the
 * part they hold already is added as it stands. */
static hinge_status update_by_group(struct run *r, size_t width)
{
    struct part *group = &r->group;
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

/* Columns a slot has room for when m are active: some may come back. */
static size_t columns_for(const struct run *r, size_t m)
{
    return HG_MIN(r->n, m + m / 8 + 64);
}

static int by_position(const void *a, const void *b)
{
    const struct moved *p = a, *q = b;
    return (p->at > q->at) - (p->at < q->at);
}

/* Whether a move may be made by a row of 16 bits. Where moves are many that may not, computing their rows again costs
 * more than the error that a later look will find (settle). */
static bool may_be_coarse(struct run *r, const struct moved *v)
{
    if (fabs(v->delta) <= r->coarse_move)
        return true;
    if (++r->refined > r->n / 8) {
        r->coarse_move *= 4;
        r->refined = 0;
    }
    return false;
}

/* g += K[moved, :]' delta */
static hinge_status update_gradient(struct run *r)
{
    struct part *held = &r->held;
    size_t missing = 0, again = 0;
    if (r->m * r->held_size > r->cache.stride) /* more points came back than there was room for */
        hg_cache_compact(&r->cache, r->width, NULL, r->width, columns_for(r, r->m), r->opt->threads);
    if (r->rows->order != NULL) /* neighbours side by side */
        qsort(r->moved, r->n_moved, sizeof *r->moved, by_position);
    else if (r->rows->coded) /* large moves first, so that few tiles have some */
        for (size_t k = 0, large = 0; k < r->n_moved; k++)
            if (is_large(r, r->moved[k].delta)) {
                struct moved v = r->moved[k];
                r->moved[k] = r->moved[large];
                r->moved[large++] = v;
            }
    held->count = 0;
    for (size_t k = 0; k < r->n_moved; k++) {
        struct moved *v = &r->moved[k];
        v->width = 0;
        v->row = hg_cache_get(&r->cache, v->point, r->res->rounds, &v->width);
        if (v->row != NULL && is_half(r) && !may_be_coarse(r, v)) {
            v->row = NULL; /* as if it were not there */
            v->width = 0;
        }
        if (v->row != NULL && v->width == r->m) {
            held->row[held->count] = v->row;
            held->coef[held->count++] = v->delta;
            v->width = SIZE_MAX;
            if (is_half(r))
                r->coarse[v->point] += v->delta;
        } else {
            missing++;
            again += r->was_computed[v->point] > 0;
            r->was_computed[v->point] = (uint8_t)HG_MIN(r->was_computed[v->point] + 1, 255);
        }
    }
    r->res->rows_asked += r->n_moved;
    r->round_work = read_cost(r) * (double)held->count + (1 + r->rows->cost) * (double)again;
    update_by_held(r, held, 0, r->m);
    if (missing == 0)
        return HINGE_OK;
    for (size_t k = 0; k < r->n_moved;
         k++) /* after all gets: rows of this round are not evicted for each other */
        if (r->moved[k].width != SIZE_MAX && r->moved[k].row == NULL &&
            r->was_computed[r->moved[k].point] > r->patience && r->cache.slot_of[r->moved[k].point] < 0) {
            r->moved[k].row = hg_cache_put(&r->cache, r->moved[k].point, r->res->rounds);
            if (is_half(r))
                r->coarse[r->moved[k].point] = 0; /* those moves were by other bits */
        }
    hinge_status status = HINGE_OK;
    for (size_t k = 0; k < r->n_moved && status == HINGE_OK && !is_stopped(r); k++)
        if (r->moved[k].width != SIZE_MAX)
            status = update_by_group(r, r->moved[k].width);
    r->torn = status != HINGE_OK || is_stopped(r);
    return status;
}

/* Room in the cache for the rows of the first points listed, as far as it goes; NULL for the rest. */
static void **keep_rows(struct run *r, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        r->group.row[k] = r->cache.used < r->cache.n_slots ? hg_cache_put(&r->cache, r->group_point[k], 0) : NULL;
        r->was_computed[r->group_point[k]] = 1;
    }
    return r->group.row;
}

/* g at positions [first, m) = K beta, from scratch, by the source given. At the start the rows are kept. */
static hinge_status compute_gradient(struct run *r, struct hg_rows *source, size_t first)
{
    size_t n_sv = r->group.count = hg_qp_support(r->qp, r->active, r->group_point, r->group.coef);
    memset(r->g + first, 0, (r->m - first) * sizeof *r->g);
    if (n_sv == 0 || first == r->m)
        return HINGE_OK;
    bool keep = source == r->rows && r->res->rounds == 0;
    r->res->rows_asked += keep ? n_sv : 0;
    return add_group(r, source, first, keep ? keep_rows(r, n_sv) : NULL, 0);
}

static void scan(struct run *r)
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
    r->res->violation = HG_MAX(violation, 0.0);
    if (r->extremes[0].nan != 0) /* NaN */
        r->res->violation = NAN;
}

/* ---- the working set --------------------------------------------------------------------------------------------- */

static bool worse(const struct candidate *a, const struct candidate *b)
{
    return a->value != b->value ? a->value < b->value : a->tie < b->tie;
}

/* Brings the k worst of n candidates to the front (quickselect by Hoare's partition). */
static void worst_first(struct candidate *c, size_t n, size_t k)
{
    size_t low = 0, high = n; /* the k-th is in [low, high) */
    while (high - low > 1 && k > low && k < high) {
        struct candidate pivot = c[low + (high - low - 1) / 2];
        size_t i = low, j = high - 1;
        for (;; i++, j--) {
            while (worse(&c[i], &pivot))
                i++;
            while (worse(&pivot, &c[j]))
                j--;
            if (i >= j)
                break;
            struct candidate t = c[i];
            c[i] = c[j];
            c[j] = t;
        }
        if (k <= j + 1) /* [low, j] are no better than (j, high), and j + 1 < high */
            high = j + 1;
        else
            low = j + 1;
    }
}

/* A bound below which about `wanted` of sign * (g + off) lie, from a sample; never above `bound`. */
static double sample_bound(struct run *r, const double *off, double sign, double bound, size_t wanted)
{
    size_t step = r->m / 1024, count = 0;
    if (step < 4)
        return bound;
    for (size_t at = 0; at < r->m; at += step) {
        double v = sign * (r->g[at] + off[at]);
        if (v < bound)
            r->candidates[count++] = (struct candidate){ v, at, (uint32_t)at };
    }
    size_t k = wanted * 5 / 4 / step + 4;
    if (k >= count)
        return bound;
    worst_first(r->candidates, count, k);
    double highest = -INFINITY;
    for (size_t c = 0; c < k; c++)
        highest = HG_MAX(highest, r->candidates[c].value);
    return highest;
}

/* The worst `wanted` violators of one layer and direction that are not in W go into it. */
static void add_violators(struct run *r, const double *off, double sign, double bound, size_t wanted)
{
    if (wanted == 0)
        return;
    double tight = sample_bound(r, off, sign, bound, wanted + r->in_w / 4);
    size_t count = 0;
    for (int attempt = 0; attempt < 2; attempt++, tight = bound) {
        size_t found = r->loops->below(r->m, r->g, off, sign, tight, r->found, r->m);
        count = 0;
        for (size_t f = 0; f < found; f++) {
            uint32_t at = r->found[f];
            if (!r->is_in_w[r->active[at]])
                r->candidates[count++] =
                    (struct candidate){ sign * (r->g[at] + off[at]), hash(r->active[at]), at };
        }
        if (count >= wanted || tight == bound)
            break;
    }
    worst_first(r->candidates, count, HG_MIN(wanted, count));
    for (size_t c = 0; c < count && c < wanted; c++) {
        uint32_t point = r->active[r->candidates[c].at];
        r->is_in_w[point] = 1;
        r->block_points[r->n_fresh++] = point; /* placed below */
    }
}

static void put_into_slot(struct run *r, size_t slot, size_t f)
{
    if (r->age[slot] != 0)
        r->is_in_w[r->w[slot]] = 0;
    r->w[slot] = r->block_points[f];
    r->age[slot] = r->res->rounds;
    r->fresh[f] = (uint32_t)slot;
}

/* Fresh points go into slots that are free, then into those of the points that have been in W longest. */
static void place_fresh(struct run *r)
{
    size_t f = 0;
    while (f < r->n_fresh && r->in_w < r->q)
        put_into_slot(r, r->in_w++, f++);
    while (f < r->n_fresh) {
        uint64_t oldest = UINT64_MAX;
        for (size_t k = 0; k < r->in_w; k++)
            oldest = HG_MIN(oldest, r->age[k]);
        for (size_t k = 0; k < r->in_w && f < r->n_fresh; k++)
            if (r->age[k] == oldest)
                put_into_slot(r, k, f++);
    }
}

/* Half of W (all of it at first) makes room for the worst violators, up and down, of each layer. */
static void select_block(struct run *r)
{
    size_t room = HG_MIN(HG_MAX(r->q - r->in_w, r->q / 2), r->m);
    r->n_fresh = 0;
    if (r->q == r->n && r->in_w == 0) { /* all there are, at once */
        for (; r->n_fresh < r->n; r->n_fresh++) {
            r->block_points[r->n_fresh] = r->active[r->n_fresh];
            r->is_in_w[r->active[r->n_fresh]] = 1;
        }
        place_fresh(r);
        return;
    }
    for (int l = 0; l < r->qp->layers; l++) {
        size_t share = room / (2 * (size_t)r->qp->layers);
        const struct hg_extremes *e = &r->extremes[l];
        add_violators(r, r->up[l], 1, e->high, HG_MAX(share, (size_t)1));
        size_t left = l + 1 < r->qp->layers ? share : room - HG_MIN(room, r->n_fresh);
        add_violators(r, r->down[l], -1, -e->low, HG_MAX(left, (size_t)1));
    }
    place_fresh(r);
}

/* K[slot of columns c0 ..][slots of rows f0 ..] = tile', f32. Slots that are neighbours are written as whole lines. */
static void mirror_block(const struct run *r, const struct hg_tile *tile, size_t f0, size_t c0)
{
    const struct hg_inner *in = &r->inner;
    const uint32_t *fresh = r->fresh + tile->row0 + f0;
    size_t rows = HG_MIN((size_t)LINE, tile->n_rows - f0), cols = HG_MIN((size_t)LINE, tile->n_cols - c0);
    bool whole = rows == LINE;
    float line[LINE][LINE];
    for (size_t f = 0; f < rows; f++)
        whole = whole && fresh[f] == fresh[0] + f;
    for (size_t f = 0; f < rows; f++) {
        const float *row = (const float *)r->block_row[tile->row0 + f0 + f] + tile->col0 + c0;
        for (size_t c = 0; c < cols; c++)
            line[c][f] = row[c];
    }
    for (size_t c = 0; c < cols; c++) {
        float *to = (float *)in->k + (tile->col0 + c0 + c) * in->ld;
        if (r->age[tile->col0 + c0 + c] == r->res->rounds) /* fresh itself */
            continue;
        if (whole)
            memcpy(to + fresh[0], line[c], sizeof line[c]);
        else
            for (size_t f = 0; f < rows; f++)
                to[fresh[f]] = line[c][f];
    }
}

/* K_WW's rows of points that stay, at the columns of fresh slots, by symmetry from a tile of the fresh rows. */
static void mirror_tile(void *arg, const struct hg_tile *tile)
{
    const struct run *r = arg;
    const struct hg_inner *in = &r->inner;
    for (size_t f = 0; tile->codes != NULL && f < tile->n_rows; f++)
        r->loops->decode(tile->codes, tile->code + f * HG_CODE_COLS, tile->n_cols,
                         (float *)r->block_row[tile->row0 + f] + tile->col0);
    if (r->n_fresh == r->in_w)
        ; /* every row is there already */
    else if (r->size == sizeof(float)) {
        for (size_t f = 0; f < tile->n_rows; f += LINE)
            for (size_t c = 0; c < tile->n_cols; c += LINE)
                mirror_block(r, tile, f, c);
    } else
        for (size_t c = 0; c < tile->n_cols; c++)
            for (size_t f = 0; f < tile->n_rows; f++)
                if (r->age[tile->col0 + c] != r->res->rounds)
                    ((double *)in->k)[(tile->col0 + c) * in->ld + r->fresh[tile->row0 + f]] =
                        ((const double *)r->block_row[tile->row0 + f])[tile->col0 + c];
    hg_poll_halt(&r->halt);
}

/* K_WW, the rows of fresh slots; then their columns, by symmetry. */
static hinge_status load_block(struct run *r)
{
    struct hg_inner *in = &r->inner;
    for (size_t f = 0; f < r->n_fresh; f++) {
        size_t slot = r->fresh[f];
        r->block_points[f] = r->w[slot];
        r->block_row[f] = (char *)in->k + slot * in->ld * r->size;
        in->diagonal[slot] = r->diagonal[r->w[slot]];
        in->diagonal32[slot] = (float)in->diagonal[slot];
        for (int l = 0; l < r->qp->layers; l++) {
            in->lo[l][slot] = r->qp->lo[l][r->w[slot]];
            in->hi[l][slot] = r->qp->hi[l][r->w[slot]];
            in->off[l][slot] = r->qp->off[l][r->w[slot]];
        }
    }
    in->q = r->in_w + r->qp->no_sum;
    if (r->n_fresh == 0)
        return HINGE_OK;
    struct hg_fetch fetch = { r->block_points, r->n_fresh, r->w, r->in_w, r->block_row, mirror_tile, r, r->halt.stop,
                              0, false, r->cheap };
    if (r->q == r->n)
        r->res->columns_computed += (uint64_t)r->n_fresh * r->in_w;
    return r->rows->ops->fetch(r->rows, &fetch);
}

/* ---- a round ----------------------------------------------------------------------------------------------------- */

static uint64_t steps_allowed(const struct run *r)
{
    uint64_t cap = 40 * (uint64_t)r->in_w + 4096;
    if (r->opt->max_iter == 0)
        return cap;
    return HG_MIN(cap, r->opt->max_iter - HG_MIN(r->opt->max_iter, r->res->iterations));
}

/* Solves on W; leaves the points that moved in r->moved. */
static void solve_block(struct run *r)
{
    struct hg_inner *in = &r->inner;
    bool whole = r->in_w == r->m;
    for (size_t k = 0; k < r->in_w; k++) {
        in->g[k] = r->g[r->position[r->w[k]]];
        for (int l = 0; l < r->qp->layers; l++)
            in->beta[l][k] = r->before[l][k] = r->qp->beta[l][r->w[k]];
    }
    struct hg_inner_result done =
        hg_inner_solve(in, whole ? r->target : r->target / 2, whole ? 0 : 0.1, whole, steps_allowed(r));
    r->res->iterations += done.steps;
    r->objective -= done.decrease;
    r->n_moved = 0;
    for (size_t k = 0; k < r->in_w; k++) {
        double delta = 0;
        bool touched = false;
        for (int l = 0; l < r->qp->layers; l++) {
            delta += in->beta[l][k] - r->before[l][k];
            touched = touched || in->beta[l][k] != r->before[l][k];
            r->qp->beta[l][r->w[k]] = in->beta[l][k];
        }
        if (touched)
            set_offsets(r, r->position[r->w[k]]);
        if (delta != 0)
            r->moved[r->n_moved++] = (struct moved){ r->w[k], r->position[r->w[k]], delta, 0, NULL };
        if (whole)
            r->g[r->position[r->w[k]]] = in->g[k]; /* W is all there is: the inner solver's g is the gradient */
    }
}

static hinge_status one_round(struct run *r)
{
    double t0 = hg_now();
    r->res->rounds++;
    select_block(r);
    double t1 = hg_now();
    hinge_status status = load_block(r);
    double t2 = hg_now();
    if (status != HINGE_OK || is_stopped(r))
        return status;
    solve_block(r);
    double t3 = hg_now();
    r->rows->stages = r->opt->profile ? &r->res->stages : NULL;
    if (r->in_w < r->m)
        status = update_gradient(r);
    r->rows->stages = NULL;
    double t4 = hg_now();
    hg_poll_halt(&r->halt);
    scan(r);
    r->res->seconds_select += t1 - t0 + (hg_now() - t4);
    r->res->seconds_block += t2 - t1;
    r->res->seconds_inner += t3 - t2;
    r->res->seconds_rows += t4 - t3;
    return status;
}

static void report_progress(struct run *r)
{
    if (r->opt->progress == NULL)
        return;
    hinge_progress p = { .rounds = r->res->rounds,
                         .iterations = r->res->iterations,
                         .violation = r->res->violation,
                         .objective = r->objective,
                         .n = r->n,
                         .n_active = r->m,
                         .n_sv = hg_qp_support(r->qp, NULL, NULL, NULL),
                         .rows_computed = r->res->columns_computed / HG_MAX(r->n, (size_t)1) };
    if (r->opt->progress(r->opt->progress_arg, &p) != 0)
        hg_request_halt(&r->halt, 2);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

struct measure {
    const struct hg_halt *halt;
    const double *coef; /* [n_sv] */
    double *part;       /* [tiles * MEASURED] */
};

/* part[tile][r] = sum over the tile's columns of K[r, c] coef[c] */
static void measure_tile(void *arg, const struct hg_tile *tile)
{
    struct measure *m = arg;
    double *part = m->part + tile->col0 / 32 * MEASURED; /* no tile is narrower than 32 columns but the last */
    for (size_t k = 0; k < tile->n_rows; k++) {
        const double *row = tile->row[k];
        const double *coef = m->coef + tile->col0;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t c = 0; c < tile->n_cols; c++)
            sum += row[c] * coef[c];
        part[tile->row0 + k] = sum;
    }
    hg_poll_halt(m->halt);
}

/* The points measured: the worst violators of both directions, and a random sample. */
static size_t choose_measured(struct run *r, size_t most, uint32_t *point)
{
    size_t all = r->opt->measured > 0 ? HG_MIN(r->opt->measured, most) : most;
    size_t count = 0, each = all / 4 / (size_t)r->qp->layers;
    if (r->m <= all) {
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
                    r->candidates[n++] = (struct candidate){ sign * (r->g[at] + off[at]), at, (uint32_t)at };
            worst_first(r->candidates, n, HG_MIN(each, n));
            for (size_t c = 0; c < each && c < n; c++)
                point[count++] = r->active[r->candidates[c].at];
        }
    uint64_t state = r->opt->seed;
    while (count < all)
        point[count++] = r->active[hg_random_below(&state, r->m)];
    return count;
}

/* res->error = max |g - g in f64| over some points, `most` at most. */
static hinge_status measure_error(struct run *r, size_t most)
{
    uint32_t point[MEASURED];
    double *coef = r->group.coef;
    size_t count = choose_measured(r, most, point), n_sv = hg_qp_support(r->qp, r->active, r->group_point, coef);
    size_t tiles = n_sv / 32 + 1;
    struct measure m = { &r->halt, coef, hg_zalloc(tiles * MEASURED, sizeof(double)) };
    if (m.part == NULL)
        return HINGE_ENOMEM;
    struct hg_fetch fetch = { point, count, r->group_point, n_sv, NULL, measure_tile, &m, r->halt.stop, 0, false,
                              false };
    hinge_status status = n_sv > 0 ? r->exact->ops->fetch(r->exact, &fetch) : HINGE_OK;
    double error = 0;
    for (size_t k = 0; k < count; k++) {
        double g = 0;
        for (size_t tile = 0; tile < tiles; tile++)
            g += m.part[tile * MEASURED + k];
        error = HG_MAX(error, fabs(g - r->g[r->position[point[k]]]));
    }
    hg_free(m.part);
    if (!is_stopped(r))
        r->res->error = error;
    return status;
}

/* g is that of rows as they are. */
static void forget_coarse(struct run *r)
{
    r->coarse_move = COARSE * r->opt->eps;
    r->refined = 0;
    if (is_half(r))
        memset(r->coarse, 0, r->n * sizeof *r->coarse);
}

/* The gradient anew, by the source in f64: the error of all rows so far is gone, and what follows adds only the
 * error of small changes. */
static hinge_status correct_gradient(struct run *r)
{
    r->res->corrections++;
    hinge_status status = compute_gradient(r, r->exact, 0);
    r->torn = status != HINGE_OK || is_stopped(r);
    forget_coarse(r);
    if (!r->torn)
        scan(r);
    r->best = INFINITY; /* the violation may well be larger now */
    return status;
}

/* ---- shrinking: points that are part of no violating pair are left out until the rest has converged -------------- */

static bool may_rest(const struct run *r, size_t at)
{
    for (int l = 0; l < r->qp->layers; l++)
        if (!(r->g[at] + r->up[l][at] > r->extremes[l].high && r->g[at] + r->down[l][at] < r->extremes[l].low))
            return false;
    return !r->is_in_w[r->active[at]];
}

/* Positions [first, end): those that may not rest come first, then the others, each in their order, so that neighbours
 * stay neighbours. found: where the former were. Returns where the latter begin; their g and offsets are gone. */
static size_t part_resting(struct run *r, size_t first, size_t end)
{
    size_t kept = first, resting = 0;
    for (size_t at = first; at < end; at++) {
        if (may_rest(r, at)) {
            r->group_point[resting++] = r->active[at];
            continue;
        }
        r->found[kept - first] = (uint32_t)at;
        r->active[kept] = r->active[at];
        r->g[kept] = r->g[at];
        for (int l = 0; l < r->qp->layers; l++) {
            r->up[l][kept] = r->up[l][at];
            r->down[l][kept] = r->down[l][at];
        }
        kept++;
    }
    memcpy(r->active + kept, r->group_point, resting * sizeof *r->active);
    for (size_t at = first; at < end; at++)
        r->position[r->active[at]] = (uint32_t)at;
    r->columns++;
    return kept;
}

static void shrink(struct run *r)
{
    size_t old = r->m, kept = part_resting(r, 0, old);
    r->m = r->width = kept;
    hg_cache_compact(&r->cache, old, r->found, kept, columns_for(r, kept), r->opt->threads);
    r->waste = 0;
}

/* What the gradient of points at rest is computed from: where it was corrected once, or Newton's, in f64 again. */
static struct hg_rows *waking_source(const struct run *r)
{
    return r->res->corrections > 0 || r->newton_bytes > 0 ? r->exact : r->rows;
}

/* Shrinks once the work wasted on points at rest exceeds what their gradient will cost in the end: then the
 * whole costs at most twice what it would with foresight. */
static void consider_shrinking(struct run *r)
{
    if (!r->opt->shrinking || r->in_w == r->m || r->res->rounds % 4 != 0)
        return;
    size_t resting = 0, n_sv = hg_qp_support(r->qp, NULL, NULL, NULL);
    for (size_t at = 0; at < r->m; at++)
        resting += may_rest(r, at);
    r->waste += 4 * r->round_work * (double)resting;
    double later = (1 + waking_source(r)->cost) * (double)n_sv * (double)(r->n - r->m + resting) +
                   /* waking the points, and compacting the cache */
                   3 * read_cost(r) * (double)r->cache.used * (double)r->m;
    if (resting > r->m / 8 && r->waste > later)
        shrink(r);
}

/* Computes the gradient of the points at rest; those that violate become active again. */
static hinge_status wake(struct run *r)
{
    size_t old = r->m;
    r->m = r->n;
    r->columns++;
    hinge_status status = compute_gradient(r, waking_source(r), old);
    forget_coarse(r); /* columns that know nothing of those moves */
    r->torn = status != HINGE_OK || is_stopped(r);
    if (r->torn)
        return status;
    for (size_t at = old; at < r->n; at++)
        set_offsets(r, at);
    r->best = INFINITY;
    scan(r);
    if (r->res->violation <= r->target)
        return HINGE_OK; /* they were rightly left alone */
    r->m = part_resting(r, old, r->n);
    return HINGE_OK;
}

/* ---- the Newton finish ------------------------------------------------------------------------------------------- */

/* After a round that made so many steps. */
static bool newton_is_due(struct run *r, uint64_t steps)
{
    double low = INFINITY, high = -INFINITY, violation = r->res->violation;
    if (r->opt->newton_bytes == 0 || r->qp->no_sum || is_stopped(r)) /* its systems hold the sums */
        return false;
    r->newton.work += r->round_work * (double)r->m + (double)r->in_w * (2 * (double)steps + (1 + r->rows->cost) *
                                                                         (double)r->n_fresh);
    if (r->in_w < r->m && r->res->rounds % 4 != 0)
        return false;
    for (size_t at = 0; at < r->m; at++) {
        double f = r->g[at] + r->qp->off[0][r->active[at]];
        low = HG_MIN(low, f);
        high = HG_MAX(high, f);
    }
    return hg_newton_is_due(&r->newton, r->qp, r->exact, violation, high - low, r->target);
}

static void newton_progress(void *arg, double violation)
{
    struct run *r = arg;
    r->res->rounds++;
    r->res->violation = violation;
    report_progress(r);
}

/* Newton's steps; where they gain, g is that of all points in f64. */
static hinge_status finish_by_newton(struct run *r)
{
    struct hg_newton_result result;
    size_t rows = hg_cache_touched(&r->cache);
    uint64_t rounds = r->res->rounds;
    double *g = r->group.coef, begin = hg_now(), violation = r->res->violation;
    struct hg_newton_options options = {
        .eps = r->target, .bytes = r->opt->newton_bytes - HG_MIN(r->opt->newton_bytes, rows),
        .threads = r->opt->threads, .cpu_level = r->opt->cpu_level, .halt = r->halt,
        .progress = newton_progress, .progress_arg = r
    };
    hinge_status status = hg_newton_finish(r->qp, r->exact, g, &options, &result);
    hg_newton_tell(&r->newton, &result);
    r->res->seconds_newton += hg_now() - begin;
    r->res->newton_steps += result.systems;
    r->res->newton_no_room = result.end == HG_NEWTON_NO_ROOM ? result.bytes : 0;
    r->res->iterations += result.steps;
    r->res->violation = violation;
    r->best_round += r->res->rounds - rounds;
    if (result.end != HG_NEWTON_NO_ROOM)
        r->newton_bytes = HG_MAX(r->newton_bytes, result.bytes);
    if (status != HINGE_OK || !result.gained)
        return status;
    r->m = r->n;
    r->columns++;
    forget_coarse(r);
    for (size_t at = 0; at < r->n; at++) {
        r->g[at] = g[r->active[at]];
        set_offsets(r, at);
    }
    r->objective = hg_qp_objective(r->qp, g);
    r->best = INFINITY;
    scan(r);
    return HINGE_OK;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

enum verdict { GO_ON, END };

static enum verdict end_with(struct run *r, hinge_outcome outcome)
{
    r->res->outcome = outcome;
    return END;
}

/* Takes back the moves by rows of 16 bits larger than `most`, and makes them again by rows in f32. */
static hinge_status make_again(struct run *r, double most)
{
    struct part *held = &r->held;
    hinge_status status = HINGE_OK;
    size_t at = 0;
    while (at < r->m && status == HINGE_OK && !is_stopped(r)) {
        r->n_moved = held->count = 0;
        for (; at < r->m && r->n_moved < r->q; at++) {
            uint32_t i = r->active[at];
            size_t width = 0;
            void *row = fabs(r->coarse[i]) > most ? hg_cache_get(&r->cache, i, r->res->rounds, &width) : NULL;
            if (row == NULL || width != r->m)
                continue;
            held->row[held->count] = row;
            held->coef[held->count++] = -r->coarse[i];
            r->moved[r->n_moved++] = (struct moved){ i, (uint32_t)at, r->coarse[i], 0, NULL };
            r->coarse[i] = 0;
        }
        r->res->rows_asked += 2 * r->n_moved;
        update_by_held(r, held, 0, r->m);
        if (r->n_moved > 0)
            status = update_by_group(r, 0);
    }
    r->torn = status != HINGE_OK || is_stopped(r);
    if (!r->torn)
        scan(r);
    return status;
}

/* Looks at the error. Where it is more than `most_error` and rows are held in 16 bits, the largest sums of moves by
 * them, whose squares are all but a share of the squares of all, are made again, so that eps / 16 of it is left. */
static hinge_status settle(struct run *r, double most_error)
{
    double all = 0, rest, most = 0;
    hinge_status status = measure_error(r, EARLY);
    if (!is_half(r) || status != HINGE_OK || is_stopped(r) || r->res->error <= most_error)
        return status;
    double share = r->opt->eps / 16 / r->res->error;
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
    if (status == HINGE_OK && !is_stopped(r))
        status = measure_error(r, EARLY);
    return status;
}

/* The violation is small enough: is it so for all points, and are the rows exact enough to say so? */
static enum verdict verify(struct run *r, hinge_status *status)
{
    struct hg_smo_result *res = r->res;
    if (!r->settled) { /* before points are woken, whose gradients know nothing of those moves */
        r->settled = true;
        *status = settle(r, r->opt->eps / 4);
        res->error = NAN; /* that of few points */
        return *status != HINGE_OK ? END : GO_ON; /* judged again */
    }
    if (r->m < r->n) {
        *status = wake(r);
        return *status != HINGE_OK ? END : GO_ON;
    }
    *status = measure_error(r, MEASURED);
    if (*status != HINGE_OK)
        return END;
    if (is_stopped(r))
        return GO_ON;
    if (res->violation + res->error <= 2 * r->opt->eps)
        return end_with(r, HINGE_CONVERGED);
    double left = 2 * r->opt->eps - res->error;
    if (left >= 0.25 * r->opt->eps && r->target > left) { /* cheaper than a gradient in f64 */
        r->target = 0.9 * left;
        return GO_ON;
    }
    if (res->corrections >= MAX_CORRECTIONS) {
        res->coarse = !r->exact_rows;
        return end_with(r, HINGE_STALLED);
    }
    *status = correct_gradient(r);
    return *status != HINGE_OK ? END : GO_ON;
}

/* On the way: where the rows' error will not do in the end, the active gradient is corrected while it is still far from
 * the goal, and what follows is not done twice. */
static hinge_status look_ahead(struct run *r)
{
    r->looked = true;
    double t = hg_now();
    hinge_status status = settle(r, r->opt->eps / 8);
    if (status == HINGE_OK && !is_stopped(r) && r->res->error > r->opt->eps)
        status = correct_gradient(r);
    r->res->error = NAN;
    r->res->seconds_certificate += hg_now() - t;
    return status;
}

/* What the last round's violation means. */
static enum verdict judge(struct run *r, hinge_status *status)
{
    struct hg_smo_result *res = r->res;
    if (is_stopped(r))
        return end_with(r, __atomic_load_n(r->halt.stop, __ATOMIC_RELAXED) == 1 ? HINGE_TIME_LIMIT : HINGE_STOPPED);
    if (!isfinite(res->violation))
        return end_with(r, HINGE_NONFINITE);
    if (res->violation <= r->target) {
        double t = hg_now();
        size_t m = r->m;
        int corrections = res->corrections;
        bool settled = r->settled;
        enum verdict verdict = verify(r, status);
        res->seconds_certificate += hg_now() - t;
        if (verdict == GO_ON && res->violation > r->target)
            return GO_ON;
        if (verdict == GO_ON &&
            (m != r->m || corrections != res->corrections || settled != r->settled || is_stopped(r)))
            return judge(r, status);
        return verdict;
    }
    if (!r->looked && res->violation <= AHEAD * r->target && r->rows != r->exact && r->in_w < r->m) {
        *status = look_ahead(r);
        return *status != HINGE_OK ? END : GO_ON;
    }
    if (r->opt->max_iter > 0 && res->iterations >= r->opt->max_iter)
        return end_with(r, HINGE_MAX_ITER);
    bool better = res->violation < 0.999 * r->best;
    if (!better && res->rounds - r->best_round > STALL_ROUNDS + r->n / r->q) {
        if (r->best_objective - r->objective <= 1e-10 * fabs(r->objective)) {
            res->coarse = !r->exact_rows; /* f64 rows may get further */
            return end_with(r, HINGE_STALLED);
        }
        better = true; /* the violation goes up and down, but the objective moves; or so rows without digits say */
        *status = r->exact_rows ? HINGE_OK : measure_error(r, MEASURED);
        if (*status != HINGE_OK)
            return END;
        if (res->error > res->violation) {
            res->coarse = true;
            return end_with(r, HINGE_STALLED);
        }
    }
    if (better) {
        r->best = res->violation;
        r->best_round = res->rounds;
        r->best_objective = r->objective;
    }
    return GO_ON;
}

static hinge_status start(struct run *r)
{
    hinge_status status = compute_gradient(r, r->rows, 0);
    for (size_t at = 0; at < r->m; at++)
        set_offsets(r, at);
    r->objective = hg_qp_objective(r->qp, r->g);
    r->torn = status != HINGE_OK || is_stopped(r);
    scan(r);
    return status;
}

/* Threads' seconds to their share of the clock's. */
static void share_stages(struct run *r)
{
    hinge_stages *s = &r->res->stages;
    double *const seconds[] = { &s->gather, &s->products, &s->map, &s->update, &s->pack, &s->read };
    s->update -= s->pack; /* the source, which has both as tile(), does not tell them apart */
    for (size_t k = 0; k < sizeof seconds / sizeof *seconds; k++)
        *seconds[k] /= r->opt->threads;
}

static void finish(struct run *r)
{
    struct hg_smo_result *res = r->res;
    share_stages(r);
    res->working_set = r->q;
    res->rows_evicted = r->cache.evicted;
    res->cache_bytes = r->cache.budget;
    res->cache_used = r->cache.most_bytes;
    res->memory_bytes += hg_cache_touched(&r->cache) + r->newton_bytes;
    for (int l = 0; l < r->qp->layers; l++)
        res->bias[l] = r->torn ? hg_qp_bias(r->qp, r->w, r->in_w, r->inner.g, l)
                               : hg_qp_bias(r->qp, r->active, r->m, r->g, l);
    res->objective = r->objective;
    if (r->m == r->n && !r->torn) {
        double *by_point = r->group.coef;
        for (size_t at = 0; at < r->n; at++)
            by_point[r->active[at]] = r->g[at];
        res->objective = hg_qp_objective(r->qp, by_point);
    }
}

hinge_status hg_block_smo(struct hg_qp *qp, struct hg_rows *rows, struct hg_rows *exact,
                          const struct hg_smo_options *options, struct hg_smo_result *result, hinge_error *err)
{
    struct run r = { .rows = rows, .exact = exact, .qp = qp, .opt = options, .res = result };
    memset(result, 0, sizeof *result);
    result->error = NAN;
    hinge_status status = run_init(&r, err);
    if (status == HINGE_OK)
        status = start(&r);
    while (status == HINGE_OK && judge(&r, &status) == GO_ON) {
        uint64_t steps = result->iterations;
        status = one_round(&r);
        report_progress(&r);
        if (status == HINGE_OK && newton_is_due(&r, result->iterations - steps))
            status = finish_by_newton(&r);
        else if (status == HINGE_OK && !is_stopped(&r))
            consider_shrinking(&r);
    }
    if (status == HINGE_OK)
        finish(&r);
    else if (status == HINGE_ENOMEM)
        hg_fail(err, status, "no memory while solving a problem of %zu examples", qp->n);
    else if (err == NULL || err->status == HINGE_OK)
        hg_fail(err, status, "the kernel function reported a failure");
    run_free(&r);
    return status;
}
