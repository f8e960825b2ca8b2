/*
 * Passes over Z by slots. Read sweep.h before.
 *
 * From the inside out: a block of up to 512 rows is made, used for all that a sweep wants of it while it is in a core's
 * caches, and forgotten (sweep_block); a slot is a stretch of blocks with sums of its own (sweep_slot); a sweep has its
 * slots done by whichever thread is free, and adds them up in their order (hg_sweep_run). Last is what a space knows of
 * Z from its beginning: which columns are shifted, and the rows' norms.
 *
 * Buys: memory of O(n + d^2) beside the data however the rows are made (doc/interior-point.md, "Memory and threads"),
 * and DSYRK on blocks that are in cache. The price is that rows are made anew in each of an iteration's sweeps, but for
 * those of small problems, which are held.
 */
#include "solver/ipm/sweep.h"
#include "lib/base/team.h"
#include "solver/ipm/cholesky.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* ---- layout ------------------------------------------------------------------------------------------------------ */

/* Values of rows that are held from sweep to sweep, a megabyte: what stays in a core's cache need not be made anew. */
static const size_t MOST_HELD = (size_t)1 << 17;

/* Rows and values of a slot: fewer are not worth a thread's start, and rows fewer than half the columns not its normal
 * matrix. */
enum { LEAST_SLOT = 256, LEAST_VALUES = 1 << 15 };

/* Lays out room by slot: normal, accumulators, sums, least. By thread: rows, weighted rows, v's products, y, weights.
 * Slots are as many as their normal matrices fit 256 MB, 4 to 32, but of LEAST_SLOT rows at least, and half as many as
 * there are columns, and LEAST_VALUES values: by n and d alone, so that the sums' order and bits are the same for any
 * number of threads. */
static void lay_out(struct hg_sweep_space *s)
{
    size_t most = ((size_t)256 << 20) / (s->cols * s->ld * sizeof(double) + 1);
    s->slots = HG_MIN(HG_MAX(most, (size_t)4), (size_t)32);
    size_t least = HG_MAX((size_t)LEAST_SLOT, HG_MAX(s->cols / 2, LEAST_VALUES / s->ld));
    s->slots = HG_MAX(HG_MIN(s->slots, s->n / least), (size_t)1);
    s->slot_rows = (s->n + s->slots - 1) / s->slots;
    s->work_slot = s->cols * s->ld + (HG_SWEEP_ACC + 1) * s->ld + HG_SWEEP_SUMS + 8;
    s->work_thread = (2 * s->ld + 2 + HG_SWEEP_ACC) * HG_SWEEP_BLOCK;
}

/* Points at a slot's sums in the work of a space. */
struct slot {
    double *normal, *acc[HG_SWEEP_ACC], *low, *sum, *least; /* acc[0] + low where that is to be exact */
};

static struct slot slot_of(const struct hg_sweep_space *s, size_t number)
{
    struct slot slot = { .normal = s->work + number * s->work_slot };
    double *at = slot.normal + s->cols * s->ld;
    for (int k = 0; k < HG_SWEEP_ACC; k++, at += s->ld)
        slot.acc[k] = at;
    slot.low = at;
    slot.sum = slot.low + s->ld;
    slot.least = slot.sum + HG_SWEEP_SUMS;
    return slot;
}

/* ---- one slot ---------------------------------------------------------------------------------------------------- */

/* Makes rows [first, first + count) as swept: the factor's, less the shift, and 1 in the column of their intercept.
 * With two intercepts rows n and on are the same rows in their second turn; a block that spans both is made in two
 * parts. */
static void make_rows(const struct hg_sweep_space *s, size_t first, size_t count, bool as_is, double *z)
{
    size_t n = s->factor->n, d = s->factor->d, turn = first / n, once = HG_MIN(count, (turn + 1) * n - first);
    s->factor->rows(s->factor, first - turn * n, once, z, s->ld);
    for (size_t k = 0; s->intercepts > 0 && k < once; k++) {
        double *row = z + k * s->ld;
        for (size_t c = 0; c < d && !as_is; c++)
            row[c] -= s->shift[c];
        for (size_t c = d; c < s->cols; c++)
            row[c] = c - d == turn;
    }
    if (once < count)
        make_rows(s, first + once, count - once, as_is, z + once * s->ld);
}

/* Says whether no row of a block may have a coefficient: half of nu-SVC's rows as swept are those of the other class,
 * and mostly stand together. */
static bool have_no_box(const struct hg_sweep_space *s, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        if (s->lo == NULL || s->lo[i] < s->hi[i])
            return false;
    return true;
}

/* Adds to the normal matrix: normal += sum weight z z' over the rows whose weight is not 0, as a product of the rows
 * times the roots of their weights with itself (DSYRK), which is symmetric to the bit. Rows at rest have no weight in
 * the finish, and cost nothing. Wide matrices are added in pieces of a tenth of a second, so that a halt is seen in
 * time. */
static void add_normal(const struct hg_sweep_space *s, const double *z, const double *weight, size_t count,
                       double *scaled, double *normal)
{
    size_t used = 0;
    for (size_t k = 0; k < count; k++) {
        if (weight[k] == 0)
            continue;
        double root = sqrt(weight[k]), *to = scaled + used++ * s->ld;
        for (size_t c = 0; c < s->cols; c++)
            to[c] = root * z[k * s->ld + c];
    }
    size_t piece = hg_rows_of_piece(s->cols * s->cols);
    for (size_t k = 0; k < used && (k == 0 || !hg_poll_halt(&s->halt)); k += piece)
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)s->cols, (int)HG_MIN(piece, used - k), 1,
                    scaled + k * s->ld, (int)s->ld, 1, normal, (int)s->ld);
}

/* Adds sum y z to acc[0] + low in twice the working precision: the finish looks for Z'beta = w to the last digit, while
 * y of either sign cancels. */
static void accumulate_exactly(const struct hg_sweep_space *s, const double *z, size_t count, const double *y,
                               const struct slot *slot)
{
    double *high = slot->acc[0], *low = slot->low;
    for (size_t k = 0; k < count; k++)
        hg_add_multiple(high, low, y[k], z + k * s->ld, s->cols);
}

/* Returns a block's rows: those that are held, or made in a thread's room. */
static const double *rows_of(const struct hg_sweep_space *s, size_t first, size_t count, bool as_is, double *room)
{
    if (s->held != NULL && !(as_is && s->shifts))
        return s->held + first * s->ld;
    make_rows(s, first, count, as_is, room);
    return room;
}

/* Takes a block of rows through a sweep: gathers them, makes t = Z v, calls the sweep's function, and adds what it gave
 * to the sums: Z'y, and Z'G Z where it is wanted. The block stays in a core's caches for all of that. */
static void sweep_block(const struct hg_sweep_space *s, const struct hg_sweep *w, const struct slot *slot, size_t first,
                        size_t count, double *room)
{
    double *scaled = room + s->ld * HG_SWEEP_BLOCK, *t = scaled + s->ld * HG_SWEEP_BLOCK;
    const double *z = room;
    struct hg_block block = { .first = first, .count = count, .sum = slot->sum, .least = slot->least };
    double *weight = t + HG_SWEEP_BLOCK;
    if (w->v != NULL || w->n_acc > 0 || w->normal || w->raw)
        block.rows = z = rows_of(s, first, count, w->as_is, room);
    if (w->v != NULL) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)count, (int)s->cols, 1, z, (int)s->ld, w->v, 1, 0, t, 1);
        block.t = t;
    }
    for (int k = 0; k < w->n_acc; k++)
        block.y[k] = weight + (size_t)(k + 1) * HG_SWEEP_BLOCK;
    block.weight = w->normal ? weight : NULL;
    w->rows(w->arg, &block);
    if (w->exact)
        accumulate_exactly(s, z, count, block.y[0], slot);
    for (int k = w->exact; k < w->n_acc; k++)
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)count, (int)s->cols, 1, z, (int)s->ld, block.y[k], 1, 1,
                    slot->acc[k], 1);
    if (w->normal)
        add_normal(s, z, weight, count, scaled, slot->normal);
}

/* Sweeps a slot's rows, block by block, into sums of its own. */
static void sweep_slot(const struct hg_sweep_space *s, const struct hg_sweep *w, size_t number, double *room)
{
    struct slot slot = slot_of(s, number);
    if (w->normal)
        memset(slot.normal, 0, s->cols * s->ld * sizeof(double));
    for (int k = 0; k < w->n_acc; k++)
        memset(slot.acc[k], 0, s->cols * sizeof(double));
    memset(slot.low, 0, s->cols * sizeof(double));
    memset(slot.sum, 0, HG_SWEEP_SUMS * sizeof(double));
    *slot.least = INFINITY;
    size_t first = number * s->slot_rows, end = HG_MIN(s->n, first + s->slot_rows);
    for (; first < end && !hg_poll_halt(&s->halt); first += HG_SWEEP_BLOCK) {
        size_t count = HG_MIN((size_t)HG_SWEEP_BLOCK, end - first);
        if (w->every || !have_no_box(s, first, count))
            sweep_block(s, w, &slot, first, count, room);
    }
}

/* ---- a sweep ----------------------------------------------------------------------------------------------------- */

/* Sums acc[0] + low over the slots, column by column, and rounds once. */
static void add_exact_slots(struct hg_sweep_space *s, double *acc)
{
    for (size_t c = 0; c < s->cols; c++) {
        double high = 0, low = 0;
        for (size_t number = 0; number < s->slots; number++) {
            struct slot slot = slot_of(s, number);
            hg_add_exactly(&high, &low, slot.acc[0][c]);
            low += slot.low[c];
        }
        acc[c] = high + low;
    }
}

/* Adds up the slots in their order. How rows are dealt to slots depends on their number alone, and threads take slots:
 * the bits are the same for any number of threads. */
static void add_slots(struct hg_sweep_space *s, struct hg_sweep *w)
{
    for (int k = 0; k < w->n_acc; k++)
        memset(w->acc[k], 0, s->cols * sizeof(double));
    memset(w->sum, 0, sizeof w->sum);
    w->least = INFINITY;
    for (size_t number = 0; number < s->slots; number++) {
        struct slot slot = slot_of(s, number);
        for (int k = 0; k < w->n_acc; k++)
            for (size_t c = 0; c < s->cols; c++)
                w->acc[k][c] += slot.acc[k][c];
        for (int k = 0; k < HG_SWEEP_SUMS; k++)
            w->sum[k] += slot.sum[k];
        w->least = fmin(w->least, *slot.least);
    }
    if (w->exact)
        add_exact_slots(s, w->acc[0]);
}

/* Counts multiply-adds as two operations: a product with v and one for each of acc, and half of a square for the normal
 * matrix. */
static void count_work(struct hg_sweep_space *s, const struct hg_sweep *w)
{
    double products = (w->v != NULL ? 2 : 0) + 2 * w->n_acc + (w->normal ? (double)s->cols : 0);
    s->gflop += 1e-9 * products * (double)s->n * (double)s->cols;
}

struct sweeping {
    struct hg_sweep_space *s;
    struct hg_sweep *w;
};

static void sweep_one(void *arg, int thread, size_t number, size_t end)
{
    const struct sweeping *j = arg;
    struct hg_sweep_space *s = j->s;
    (void)end;
    sweep_slot(s, j->w, number, s->work + s->slots * s->work_slot + (size_t)thread * s->work_thread);
}

/* Adds up rows of the slots' normal matrices. */
static void add_normals(void *arg, int thread, size_t first, size_t end)
{
    struct hg_sweep_space *s = arg;
    (void)thread;
    for (size_t r = first; r < end; r++) {
        memset(s->normal + r * s->ld, 0, s->ld * sizeof(double));
        for (size_t number = 0; number < s->slots; number++) {
            const double *part = slot_of(s, number).normal + r * s->ld;
            for (size_t c = 0; c <= r; c++)
                s->normal[r * s->ld + c] += part[c];
        }
    }
}

/* Sweeps: slots are taken by any thread, as each is one thread's whole; then the normal matrices are added up row by
 * row, each row by one thread in the order of the slots. */
bool hg_sweep_run(struct hg_sweep_space *s, struct hg_sweep *w)
{
    hg_share(s->threads, s->slots, 1, sweep_one, &(struct sweeping){ s, w });
    if (w->normal)
        hg_share(s->threads, s->cols, HG_MAX(20000 / (s->cols * s->slots + 1), (size_t)1), add_normals, s);
    add_slots(s, w);
    count_work(s, w);
    return !hg_halted(&s->halt);
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

/* Gives each row a weight of 1: acc is the columns' sums then, the normal matrix that of their products. */
static void add_ones(void *arg, const struct hg_block *block)
{
    (void)arg;
    for (size_t k = 0; k < block->count; k++)
        block->y[0][k] = block->weight[k] = 1;
}

/* Sums the squared norms of the rows, and finds the largest, as the least of their negatives. */
static void add_norms(void *arg, const struct hg_block *block)
{
    const struct hg_sweep_space *s = arg;
    for (size_t k = 0; k < block->count; k++) {
        const double *row = block->rows + k * s->ld;
        double norm = 0;
        for (size_t c = 0; c < s->factor->d; c++)
            norm += row[c] * row[c];
        block->sum[0] += norm;
        *block->least = fmin(*block->least, -norm);
    }
}

/* Shifts far-away columns by their means, so that they do not spoil the normal matrix; then the norms. mean: [cols]. A
 * column is far away where its mean is more than three standard deviations: x - mean is hardly rounded there, where f =
 * <x, w> would lose the digits that the rows have in common. Others are not shifted: zeros and small whole numbers stay
 * what they are. */
static void measure(struct hg_sweep_space *s, double *mean)
{
    double n = (double)s->n;
    struct hg_sweep sum = { .n_acc = 1, .acc = { mean }, .normal = true, .rows = add_ones };
    struct hg_sweep norms = { .raw = true, .rows = add_norms, .arg = s };
    if (s->intercepts > 0 && hg_sweep_run(s, &sum))
        for (size_t c = 0; c < s->factor->d; c++) {
            double m = mean[c] / n, variance = s->normal[c * s->ld + c] / n - m * m;
            s->shift[c] = m * m > 9 * variance ? m : 0;
            s->shifts = s->shifts || s->shift[c] != 0;
        }
    hg_sweep_run(s, &norms);
    s->norm = norms.sum[0] / n;
    s->largest = -norms.least;
}

/* Lays out shift, normal matrix and work in one block, of which shift is the owner. Without an intercept shift stays 0.
 * A halt on the way shows at the first sweep after. */
hinge_status hg_sweep_init(struct hg_sweep_space *s, const struct hg_factor *factor, int intercepts, int threads,
                           const struct hg_halt *halt, hinge_error *err)
{
    memset(s, 0, sizeof *s);
    *s = (struct hg_sweep_space){ .factor = factor, .intercepts = intercepts, .threads = threads, .halt = *halt };
    s->n = factor->n * (size_t)HG_MAX(intercepts, 1);
    s->cols = factor->d + (size_t)intercepts;
    s->ld = HG_MAX((s->cols + 7) / 8 * 8, (size_t)8);
    lay_out(s);
    size_t values = s->slots * s->work_slot + (size_t)threads * s->work_thread, square = s->cols * s->ld;
    size_t held = s->n <= MOST_HELD / s->ld ? s->n * s->ld : 0;
    double *mean, *rows;
    HG_TRY(HG_MAKE(err, "normal matrices", HG_ZEROS(s->shift, s->ld), HG_ARRAY(mean, s->ld),
                   HG_TABLE(s->normal, s->cols, s->ld), HG_ZEROS(s->work, values), HG_ARRAY(rows, held)));
    s->bytes = (values + square + held + 2 * s->ld) * sizeof(double);
    measure(s, mean);
    if (held > 0) {
        make_rows(s, 0, s->n, false, rows);
        s->held = rows;
    }
    return HINGE_OK;
}

void hg_sweep_free(struct hg_sweep_space *s)
{
    hg_free(s->shift);
    s->shift = NULL;
}
