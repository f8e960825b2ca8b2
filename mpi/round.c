/*
 * A round of block SMO over ranks (run.h). hm_look sums up extremes and histograms of violations, from which every rank
 * derives the same threshold; share.c gathers the points beyond it, and g of those that stay in W. What follows needs
 * no traffic: K_WW, the inner solve, rows K(moved, own points).
 */
#include "mpi/mpi_run.h"
#include "lib/base/team.h"

#include <math.h>
#include <stdlib.h>

/* ---- violations -------------------------------------------------------------------------------------------------- */

static double find_violation(const struct hm_run *r)
{
    double violation = 0;
    for (int l = 0; l < r->qp.layers; l++)
        violation = hg_larger(violation, hg_violation(&r->qp, r->course.now[l].high, r->course.now[l].low));
    return violation;
}

static size_t bins_of(const struct hm_run *r)
{
    return HM_COUNTS / 2 / (size_t)r->qp.layers;
}

/* The bin of a violation: 16 octaves below four times the last round's, 0 the largest. */
static size_t bin_of(const struct hm_run *r, double violation, double largest)
{
    float share = (float)(violation / (4 * largest));
    uint32_t bits, one = 0x3f800000;
    size_t bins = bins_of(r);
    if (!(share > 0))
        return bins - 1;
    memcpy(&bits, &share, sizeof bits);
    size_t bin = bits >= one ? 0 : (one - bits) >> (r->qp.layers == 1 ? 19 : 20);
    return HG_MIN(bin, bins - 1);
}

double hm_violation_of(const struct hm_run *r, size_t at, size_t kind, double *f)
{
    size_t l = kind / 2;
    const struct hm_extremes *e = &r->course.before[l];
    if (kind % 2 == 0) {
        *f = r->points.g[at] + r->points.up[l][at];
        return (r->qp.no_sum ? 0 : e->high) - *f;
    }
    *f = -(r->points.g[at] + r->points.down[l][at]);
    return -*f - (r->qp.no_sum ? 0 : e->low);
}

static double largest_of(const struct hm_run *r, size_t kind)
{
    return hg_violation(&r->qp, r->course.before[kind / 2].high, r->course.before[kind / 2].low);
}

struct counting {
    const struct hm_run *r;
    size_t kind;
    double largest;
    uint64_t *count; /* [bins] atomic */
};

static void count_some(void *arg, int thread, size_t first, size_t end)
{
    const struct counting *c = arg;
    const struct hm_run *r = c->r;
    uint64_t count[HM_COUNTS / 2] = { 0 };
    (void)thread;
    for (size_t at = first; at < end; at++) {
        double f, v = hm_violation_of(r, at, c->kind, &f);
        if (!r->points.in_w[at] && v > 0)
            count[bin_of(r, v, c->largest)]++;
    }
    for (size_t b = 0; b < bins_of(r); b++)
        if (count[b] > 0)
            __atomic_fetch_add(&c->count[b], count[b], __ATOMIC_RELAXED);
}

static void count_bins(struct hm_run *r, size_t kind)
{
    size_t bins = bins_of(r);
    double largest = largest_of(r, kind);
    struct counting counting = { r, kind, largest, r->total.sum.count + kind * bins };
    if (!(largest > 0 && isfinite(largest)))
        return;
    memset(counting.count, 0, bins * sizeof *counting.count);
    hg_share(r->threads, r->points.n, 4096, count_some, &counting);
}

static void find_extremes(struct hm_run *r, int l)
{
    struct hm_most *low = &r->total.sum.most[2 * l], *high = low + 1;
    *low = *high = (struct hm_most){ hm_key(-INFINITY), 0 };
    for (size_t p = 0; p < r->points.n_parts; p++) {
        const struct hm_part *part = &r->points.part[p];
        if (part->n == 0)
            continue;
        struct hg_extremes e =
            r->loops->scan(part->n, r->points.g + part->at, r->points.up[l] + part->at, r->points.down[l] + part->at);
        const uint64_t *number = r->own->number + part->begin;
        hm_raise(low, hm_key(e.nan != 0 ? (double)NAN : -e.low), ~number[HG_MIN(e.i_low, part->n - 1)]);
        hm_raise(high, hm_key(e.nan != 0 ? (double)NAN : e.high), ~number[HG_MIN(e.i_high, part->n - 1)]);
    }
}

hinge_status hm_look(struct hm_run *r, hinge_status status)
{
    memset(r->total.sum.count, 0, sizeof r->total.sum.count);
    for (int l = 0; l < r->qp.layers; l++) {
        find_extremes(r, l);
        count_bins(r, 2 * (size_t)l);
        count_bins(r, 2 * (size_t)l + 1);
    }
    r->total.sum.most[HM_FAILED] = (struct hm_most){ status, 0 };
    hm_lap(r, HM_SELECT);
    r->net->sum(r->net, &r->total.sum);
    hm_lap(r, HM_EXCHANGE);
    for (int l = 0; l < r->qp.layers; l++)
        r->course.now[l] =
            (struct hm_extremes){ -hm_value(r->total.sum.most[2 * l].key), hm_value(r->total.sum.most[2 * l + 1].key),
                                  ~r->total.sum.most[2 * l].tie, ~r->total.sum.most[2 * l + 1].tie };
    r->report.violation = find_violation(r);
    return (hinge_status)r->total.sum.most[HM_FAILED].key;
}

/* ---- selection --------------------------------------------------------------------------------------------------- */

uint64_t hm_tie_of(const struct hm_run *r, uint64_t number)
{
    return hg_hash(number ^ r->report.rounds << 40);
}

/* Own points beyond the bin at which all ranks together have as many as are wanted; of that bin itself a share, drawn
 * by the points' numbers; and the worst of all. Returns how many all ranks are to find, more or less. */
static double pick(struct hm_run *r, size_t kind, size_t wanted)
{
    size_t bins = bins_of(r), last = 0;
    const uint64_t *count = r->total.sum.count + kind * bins;
    const struct hm_extremes *e = &r->course.now[kind / 2];
    uint64_t sum = 0, worst = kind % 2 == 0 ? e->low_at : e->high_at;
    double largest = largest_of(r, kind), end = kind % 2 == 0 ? e->high : -e->low;
    if (r->qp.no_sum)
        end = 0;
    while (last < bins && sum + count[last] < wanted)
        sum += count[last++];
    double share = last < bins ? (double)(wanted - sum) / (double)count[last] : 0;
    uint64_t most = share < 1 ? (uint64_t)(share * 0x1p64) : UINT64_MAX;
    for (size_t at = 0; at < r->points.n && r->winners.n < 4 * r->w.q; at++) {
        double f, v = hm_violation_of(r, at, kind, &f);
        uint64_t number = r->own->number[r->points.of[at]];
        if (r->points.in_w[at] || !(f < end))
            continue;
        bool in = number == worst;
        if (!in && v > 0 && largest > 0 && isfinite(largest)) {
            size_t bin = bin_of(r, v, largest);
            in = bin < last || (bin == last && hm_tie_of(r, number) <= most);
        }
        if (in) {
            r->points.in_w[at] = 2; /* chosen */
            r->winners.kind[r->winners.n] = (uint32_t)kind;
            r->winners.at[r->winners.n++] = (uint32_t)at;
        }
    }
    return (double)sum + (last < bins ? share * (double)count[last] : 0) + 1;
}

static int by_badness(const void *a, const void *b)
{
    const struct hm_fresh *f = &((const struct hm_winner *)a)->fresh, *g = &((const struct hm_winner *)b)->fresh;
    if (f->kind != g->kind)
        return f->kind < g->kind ? -1 : 1;
    if (f->value != g->value)
        return f->value < g->value ? -1 : 1;
    return f->tie < g->tie ? -1 : f->tie > g->tie;
}

/* ---- W ----------------------------------------------------------------------------------------------------------- */

static void fill_slot(void *arg, size_t slot, size_t k)
{
    struct hm_run *r = arg;
    const struct hm_winner *winner = &r->winners.all[k];
    const struct hm_fresh *f = &winner->fresh;
    struct hg_inner *in = &r->w.inner;
    size_t size = hg_size_of(r->type), stride = r->slots.others.stride;
    if (slot < r->w.n && r->slots.at[slot] != UINT32_MAX)
        r->points.in_w[r->slots.at[slot]] = 0;
    r->slots.number[slot] = f->number;
    r->slots.owner[slot] = winner->sender;
    r->slots.at[slot] = UINT32_MAX;
    r->w.fresh[r->w.n_fresh++] = (uint32_t)slot;
    in->g[slot] = f->g;
    for (int l = 0; l < r->qp.layers; l++) {
        in->qp.beta[l][slot] = f->beta[l];
        in->qp.lo[l][slot] = f->lo[l];
        in->qp.hi[l][slot] = f->hi[l];
        in->qp.off[l][slot] = f->off[l];
    }
    char *to = (char *)r->slots.others.data + slot * stride * size;
    memcpy(to, winner->vector, r->own->pr.data.d * size);
    for (size_t p = 0; p < r->points.n_parts; p++) { /* by the first: the others are the same */
        struct hm_part *part = &r->points.part[p];
        if (part->hamming.features > 0)
            hg_hamming_put(&part->hamming, &r->own->kind, &part->gram.points, part->n + slot, r->slots.x);
        hm_set_norm(part, r->type, slot);
    }
}

/* Takes what is gathered, worst first, at most as many of each kind as are wanted. */
static void take_winners(struct hm_run *r, size_t count, const size_t *wanted)
{
    size_t taken[4] = { 0 }, n = 0;
    qsort(r->winners.all, count, sizeof *r->winners.all, by_badness);
    for (size_t k = 0; k < count; k++)
        if (taken[r->winners.all[k].fresh.kind]++ < wanted[r->winners.all[k].fresh.kind])
            r->winners.all[n++] = r->winners.all[k];
    hg_place_fresh(&r->w, r->report.rounds, n, fill_slot, r);
    for (size_t w = 0; w < r->winners.n; w++) { /* those placed are marked; others are as they were */
        uint64_t number = r->own->number[r->points.of[r->winners.at[w]]];
        r->points.in_w[r->winners.at[w]] = 0;
        for (size_t k = 0; k < r->w.n_fresh; k++)
            if (r->slots.number[r->w.fresh[k]] == number) {
                r->slots.at[r->w.fresh[k]] = r->winners.at[w];
                r->points.in_w[r->winners.at[w]] = 1;
            }
    }
}

static hinge_status select_points(struct hm_run *r)
{
    size_t kinds = 2 * (size_t)r->qp.layers, count;
    double expected = 0;
    size_t left = HG_MIN(HG_MAX(r->w.q - r->w.n, r->w.q / 2), r->n_all), wanted[4];
    r->winners.n = r->w.n_fresh = 0;
    for (size_t kind = 0; kind < kinds; kind++) {
        wanted[kind] = HG_MAX(left / kinds, (size_t)1);
        expected += pick(r, kind, wanted[kind]);
    }
    hinge_status status = hm_share_winners(r, expected, &count);
    if (status == HINGE_OK)
        take_winners(r, count, wanted);
    return status;
}

/* Makes K_WW's rows of fresh points, and by symmetry their columns. */
static hinge_status load_block(struct hm_run *r)
{
    struct hm_part *part = &r->points.part[0];
    size_t n = r->w.n;
    uint32_t *rows = r->slots.ids + r->slots.room;
    r->w.inner.qp.n = n + r->qp.no_sum;
    for (size_t f = 0; f < r->w.n_fresh; f++)
        rows[f] = (uint32_t)part->n + r->w.fresh[f];
    for (size_t s = 0; s < n; s++)
        r->slots.ids[s] = (uint32_t)(part->n + s);
    return hg_fill_fresh(&r->w, &part->gram.super, rows, r->w.n_fresh, r->slots.ids, NULL);
}

/* Systems in W ask for no stop: all ranks are to do the same. */
static void solve_block(struct hm_run *r)
{
    const hinge_params *p = r->params;
    struct hg_inner *in = &r->w.inner;
    bool whole = r->w.n == r->n_all;
    struct hg_aim aim = { .target = whole ? r->judged.target : r->judged.target / 2,
                          .shrink = whole ? 0 : 0.1,
                          .whole = whole,
                          .most_steps =
                              p->max_iter == 0 ? UINT64_MAX : p->max_iter - HG_MIN(p->max_iter, r->report.iterations),
                          .face_bytes = p->newton ? r->memory : 0 };
    struct hg_inner_result done = { 0 };
    struct {
        uint64_t steps, systems;
        double work; /* of systems */
    } made = { 0 };
    for (int l = 0; l < r->qp.layers; l++)
        memcpy(r->w.before[l], in->qp.beta[l], r->w.n * sizeof(double));
    if (!r->mixed || r->net->rank == 0) {
        done = hg_solve_w(&r->w, &aim);
        made.steps = done.steps;
        made.systems = r->w.face.systems;
        made.work = r->w.face.work;
    }
    if (r->mixed) {
        r->net->broadcast(r->net, &made, sizeof made, 0);
        for (int l = 0; l < r->qp.layers; l++)
            r->net->broadcast(r->net, in->qp.beta[l], r->w.n * sizeof(double), 0);
    }
    r->report.iterations += made.steps;
    r->report.newton_steps += made.systems;
    r->last.steps = made.steps;
    r->course.work += 2 * (double)r->w.n * (double)made.steps + made.work;
}

/* ---- the gradient ------------------------------------------------------------------------------------------------ */

struct adding {
    struct hm_run *r;
    size_t count; /* rows */
};

static void add_tile(void *arg, int thread, size_t t, size_t end)
{
    const struct adding *a = arg;
    struct hm_run *r = a->r;
    (void)thread;
    (void)end;
    hg_add_stretch(&r->loops->add, r->type, a->count, r->slots.coef, r->w.row, r->points.tile[t].at,
                   r->points.tile[t].n, r->points.g + r->points.tile[t].at);
}

/* Adds rows that are kept, tile by tile. */
static void update_by_kept(struct hm_run *r, size_t count)
{
    size_t tiles = count > 0 ? r->points.n_tiles : 0;
    hg_share(r->threads, tiles, 1, add_tile, &(struct adding){ r, count });
}

static hinge_status update_by_new(struct hm_run *r, size_t first, size_t count)
{
    size_t size = hg_size_of(r->type);
    hinge_status status = HINGE_OK;
    for (size_t p = 0; p < r->points.n_parts && count > 0 && status == HINGE_OK; p++) {
        struct hm_part *part = &r->points.part[p];
        uint32_t *rows = r->slots.ids + r->slots.room;
        for (size_t k = 0; k < count; k++) {
            char *kept = r->w.row[first + k];
            rows[k] = (uint32_t)part->n + r->slots.ids[first + k];
            r->w.row[r->slots.room + k] = kept != NULL ? kept + part->at * size : NULL;
        }
        struct hg_how how = { .add = &r->loops->add, .out = r->w.row + r->slots.room, .list = 1, .rough = true };
        status = hg_rows_apply(&part->gram.super, rows, count, r->slots.coef + first, NULL, part->n,
                               r->points.g + part->at, &how);
    }
    return status;
}

/* The point of slot k moved by delta; where its row is, or is to be kept. */
static void add_moved(struct hm_run *r, uint32_t k, double delta, void *row)
{
    r->slots.ids[r->last.moved] = k;
    r->slots.coef[r->last.moved] = delta;
    r->w.row[r->last.moved++] = row;
}

static double delta_of(const struct hm_run *r, size_t k)
{
    double delta = 0;
    for (int l = 0; l < r->qp.layers; l++)
        delta += r->w.inner.qp.beta[l][k] - r->w.before[l][k];
    return delta;
}

/* Own beta, and g by the rows of all points that moved: those that are kept first. */
static hinge_status update_gradient(struct hm_run *r)
{
    uint32_t *missing = r->w.fresh + r->w.q;
    r->last.moved = r->last.made = 0;
    for (uint32_t k = 0; k < r->w.n; k++) {
        double delta = delta_of(r, k);
        void *row = delta != 0 ? hg_cache_get(&r->cache, (uint32_t)r->slots.number[k], r->report.rounds) : NULL;
        if (row != NULL)
            add_moved(r, k, delta, row);
        else if (delta != 0)
            missing[r->last.made++] = k;
    }
    size_t kept = r->last.moved;
    for (size_t m = 0; m < r->last.made; m++) { /* others make way only now */
        uint64_t number = r->slots.number[missing[m]];
        add_moved(r, missing[m], delta_of(r, missing[m]), hg_cache_put(&r->cache, (uint32_t)number, r->report.rounds));
    }
    r->report.rows_asked += r->last.moved;
    r->report.rows_computed += r->last.made;
    r->course.work += ((double)r->last.moved + r->course.cost * (double)r->last.made) * (double)r->n_all;
    for (size_t k = 0; k < r->w.n; k++)
        for (int l = 0; l < r->qp.layers && r->slots.at[k] != UINT32_MAX; l++) {
            r->qp.beta[l][r->slots.at[k]] = r->w.inner.qp.beta[l][k];
            hm_set_offsets(r, r->slots.at[k]);
        }
    update_by_kept(r, kept);
    return update_by_new(r, kept, r->last.made);
}

void hm_set_offsets(struct hm_run *r, size_t at)
{
    hg_qp_offsets(&r->qp, at, at, r->points.up, r->points.down);
}

hinge_status hm_round(struct hm_run *r)
{
    r->report.rounds++;
    hinge_status status = select_points(r);
    hm_lap(r, HM_SELECT);
    if (status != HINGE_OK) /* on all ranks */
        return status;
    status = load_block(r);
    hm_lap(r, HM_BLOCK);
    solve_block(r);
    hm_lap(r, HM_SOLVE);
    memcpy(r->course.before, r->course.now, sizeof r->course.now);
    hinge_status updated = update_gradient(r);
    hm_lap(r, HM_ROWS);
    return status != HINGE_OK ? status : updated;
}
