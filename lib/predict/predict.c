/*
 * Prediction: blocks of examples times all distinct support vectors of all pairs. A tile of kernel values is made by
 * the tiler's maker (lists against panels that the model keeps, or GEMM and a map), and folded into the decision values
 * of every pair by a GEMM with the coefficients of the tile's class (decide.c). Linear models need only w. One example
 * alone works on the stack.
 *
 * In f32 each example's decision values have a bound of their error (hg_model_doubt). Examples whose labels it leaves
 * open, or whose values are asked for and may be wrong by more than is promised, are predicted again in f64.
 *
 * doc/performance.md has the times, 0.3 to 2.7 of one pass of GEMM, map and sum. Leaving out far support vectors
 * (nearby.h) makes prediction up to three times as fast, panels up to a quarter faster (doc/tried.md).
 * options.precision = f64 switches f32 off.
 */
#include "lib/data/params.h"
#include "lib/base/team.h"
#include "lib/predict/predict.h"

#include <hinge/scaling.h>
#include <math.h>
#include <string.h>

static const hinge_predict_options none = { 0 };

enum { STACK_BYTES = 1 << 16 }; /* a small batch needs no allocation */
enum { MANY_ROWS = 64 };         /* worth panels of the SVs of their own */
enum { WIDE = 64 }; /* features from which on values by integers take as long in f64, which leaves nothing open */
enum { TRIED = 16, TRIAL_ROWS = 512, TRIAL_VALUES = 1 << 19 }; /* so many are tried in f32, of at least so many */

/* Returns the examples of a block: by their number alone, so that the bits do not depend on the threads. Few examples'
 * lists stay in L1, but GEMM packs all SVs anew for each block, which takes as long as the products of 32 examples: its
 * blocks are an eighth of the examples and 64 at least, or half of fewer. */
static size_t block_rows(const struct hg_prediction *j)
{
    bool keeps = j->tiler.maker->keeps;
    size_t rows = j->x.n, some = keeps ? 32 : (rows / 8 + 31) / 32 * 32;
    if (j->tiler.maker == &hg_gemm && rows > 64 && rows < 512)
        return rows < 128 ? (rows / 2 + 15) / 16 * 16 : 64;
    return rows >= 2048 ? HG_TILE_ROWS : rows >= 128 ? some : HG_MIN(rows, keeps ? (size_t)8 : (size_t)32);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* Counts votes of pairs without branches: nobody knows who wins, and a processor would guess wrong half of the time. A
 * value that is exactly 0 votes for the second class, as LIBSVM has it. */
size_t hg_vote(size_t k, bool one_vs_rest, const double *decision, const double *size, size_t *votes)
{
    size_t best = 0, p = 0, *unsure = votes + k;
    if (one_vs_rest) {
        for (size_t c = 1; c < k; c++)
            best = decision[c] > decision[best] ? c : best;
        return best;
    }
    memset(votes, 0, (size != NULL ? 2 : 1) * k * sizeof *votes);
    for (size_t a = 0; a < k; p += k - ++a)
        for (size_t b = a + 1; b < k; b++) { /* without branches: nobody knows who wins */
            double value = decision[p + b - a - 1], off = size != NULL ? size[p + b - a - 1] : 0;
            size_t wins = value > off, open = size != NULL && fabs(value) <= off;
            votes[a] += wins, votes[b] += !(wins | open);
            if (size != NULL)
                unsure[a] += open, unsure[b] += open;
        }
    for (size_t c = 1; c < k; c++)
        best = votes[c] > votes[best] ? c : best;
    return best;
}

/* Returns what a row's decision values say: a class's label, +1 or -1 of one-class, or the value itself of a
 * regression. */
static double label_of(const hinge_model *m, const double *decision, size_t *votes)
{
    if (m->task == HINGE_ONE_CLASS)
        return decision[0] > 0 ? 1 : -1;
    if (m->labels == NULL)
        return decision[0];
    return m->labels[hg_vote(m->n_classes, m->multiclass == HINGE_ONE_VS_REST, decision, NULL, votes)];
}

/* Says whether decision values that may be wrong by `size` leave a label open: between classes, no vote that is not
 * sure can change who wins. A class c overtakes `best` if all its unsure votes go to it; where it comes first in order,
 * as many votes are enough. One-versus-rest: the largest value is not sure where another's range meets its own. */
static bool label_is_open(const hinge_model *m, const double *decision, const double *size, size_t *votes)
{
    size_t k = m->n_classes, *unsure = votes + k;
    bool rest = m->multiclass == HINGE_ONE_VS_REST;
    if (m->n_problems == 1 || m->n_targets > 0)
        return !hinge_task_info(m->task)->regresses && fabs(decision[0]) <= size[0];
    size_t best = hg_vote(k, rest, decision, size, votes);
    for (size_t c = 0; c < k; c++)
        if (c != best && (rest ? decision[best] - decision[c] <= size[best] + size[c]
                               : votes[c] + unsure[c] + (c < best) > votes[best]))
            return true;
    return false;
}

/* Says whether decision values of example r of the block leave something open in f32. Sums of |coef| K become bounds of
 * the values' errors (hg_model_bounds), with a hundredth of the promise for far SVs that were left out. A value that is
 * not finite is open in any case, as f64 may hold it. */
static bool is_open(const struct hg_prediction *j, struct hg_workplace *w, size_t r)
{
    const hinge_model *m = j->m;
    const double *decision = w->decisions + r * m->n_problems;
    double *size = w->sizes + r * m->n_problems;
    struct hg_doubt doubt = hg_model_doubt(m, &w->lengths[r], !j->tiler.maker->keeps);
    double left_out = j->nearby.sv != NULL ? j->promise / 100 : 0, largest = 0, sum = 0;
    bool open = !hg_model_bounds(m, &doubt, size);
    for (size_t p = 0; p < m->n_problems; p++) {
        size[p] += left_out;
        largest = HG_MAX(largest, size[p]);
        sum += fabs(decision[p]) + size[p];
    }
    open = open || !isfinite(sum) || (j->values && !j->as_asked && largest > j->promise);
    open = open || (!j->as_asked && label_is_open(m, decision, size, w->votes));
    w->bound = open ? w->bound : HG_MAX(w->bound, largest);
    return open;
}

/* Predicts a block of rows: sums over the support vectors, less rho, then what they leave open for a second look in
 * f64, and labels. Results go to the rows' own places, since examples may be sorted or a list of some. */
static hinge_status predict_block(const struct hg_prediction *j, struct hg_workplace *w, size_t row, size_t rows)
{
    const hinge_model *m = j->m;
    w->bound = 0;
    memset(w->decisions, 0, rows * m->n_problems * sizeof *w->decisions);
    memset(w->sizes, 0, (j->again != NULL ? rows * m->n_problems : 0) * sizeof *w->sizes);
    hinge_status status = hg_decide(j, w, row, rows);
    for (size_t r = 0; r < rows && status == HINGE_OK; r++) {
        double *decision = w->decisions + r * m->n_problems;
        for (size_t p = 0; p < m->n_problems; p++)
            decision[p] -= m->rho[p];
        size_t example = j->x.order != NULL ? j->x.order[row + r] : row + r;
        if (j->again != NULL)
            j->again[example] = is_open(j, w, r);
        if (j->decisions != NULL)
            memcpy(j->decisions + example * m->n_problems, decision, m->n_problems * sizeof *decision);
        if (j->labels != NULL)
            j->labels[example] = label_of(m, decision, w->votes);
    }
    return status;
}

/* ---- work space -------------------------------------------------------------------------------------------------- */

/* Lays out one thread's work space at base (NULL: only measures); returns its size. Tiles have at most HG_TILE_COLS
 * columns, and fewer where so many vectors would be more than 8 MB. What a model, maker or precision has no use for
 * has 0 bytes. `close` is the left side by GEMM that kernels of the distance in f64 may need instead of the maker's
 * (decide.c). */
static size_t lay_out(const struct hg_prediction *j, size_t rows, char *base, struct hg_workplace *w)
{
    const hinge_model *m = j->m;
    size_t size = m->weights != NULL ? sizeof(double) : hg_size_of(j->tiler.type), at = 0, dummy;
    const struct hg_maker *maker = j->tiler.maker;
    const struct hg_kernel_row *row = hg_kernel_row(m->kernel.type);
    bool tiles = m->sv_serial == NULL && m->weights == NULL;
    /* may be: by GEMM then */
    bool close = maker->keeps && !maker->exact && j->tiler.type == HINGE_F64 && row->of_distance;
    bool read = tiles && hg_points_direct(&j->sv, NULL, 0, m->n_sv, j->tiler.type, &dummy) != NULL; /* where they lie */
    bool packed = tiles && ((!maker->keeps && !(maker->plain && read)) || (close && !read));
    w->any_equal = false;
    w->rows = rows;
    w->ldx = (m->d + 15) / 16 * 16;
    w->cols = HG_MIN((size_t)HG_TILE_COLS,
                     HG_MAX((size_t)64, ((size_t)8 << 20) / (size * HG_MAX(w->ldx, (size_t)1)) / 64 * 64));
    size_t tile = m->weights == NULL ? w->cols : 0;
    if (tiles)
        at = maker->lay_left(&j->tiler, &j->x, rows, base, &w->left);
    if (tiles && close)
        at += hg_gemm.lay_left(&j->tiler, &j->x, rows, base != NULL ? base + at : NULL, &w->close);
    w->room = hg_take(base, &at, maker->room != NULL ? maker->room(&j->tiler) : 0);
    w->x = hg_take(base, &at, m->weights != NULL ? rows * w->ldx * size : 0);
    w->norm = hg_take(base, &at, rows * size);
    w->lengths = hg_take(base, &at, j->again != NULL ? rows * sizeof *w->lengths : 0);
    w->dots = hg_take(base, &at, rows * tile * size);
    size_t vectors = tile * w->ldx * size;
    if (packed && maker->right_bytes != NULL && !maker->keeps)
        vectors = HG_MAX(vectors, maker->right_bytes(&j->tiler, &j->sv, tile));
    w->sv = hg_take(base, &at, packed ? vectors : 0);
    w->part = hg_take(base, &at, rows * hg_decision_columns(m) * size);
    w->decisions = hg_take(base, &at, rows * m->n_problems * sizeof(double));
    w->equal = hg_take(base, &at, m->seen != NULL ? rows * sizeof *w->equal : 0);
    w->sums = (struct hg_sums){ .m = j->sizes != NULL ? 2 : 1, .ld = m->n_sv };
    w->sums.sum = hg_take(base, &at, j->summed ? rows * w->sums.m * HG_SUM_LANES * sizeof(double) : 0);
    w->ones = hg_take(base, &at, j->summed ? rows * HG_ONES * sizeof *w->ones : 0);
    w->sizes = hg_take(base, &at, j->again != NULL ? rows * m->n_problems * sizeof *w->sizes : 0);
    w->votes = hg_take(base, &at, 2 * m->n_classes * sizeof(size_t));
    w->problem = hg_take(base, &at, hg_decision_columns(m) * sizeof(size_t));
    return at;
}

/* Counts rows that are done, and tells the callback ten times a second at most, if nobody else is telling it: a thread
 * that finds the lock taken goes on with its work. */
static void tell(struct hg_prediction *j, size_t rows)
{
    size_t done = __atomic_add_fetch(&j->done, rows, __ATOMIC_RELAXED);
    if (j->teller.progress == NULL || pthread_mutex_trylock(&j->lock) != 0)
        return;
    hinge_progress p = { .n_problems = 1, .n = j->x.x.rows, .n_active = j->x.x.rows - done };
    if (hg_is_due(&j->teller))
        (void)hg_tell(&j->teller, &p);
    pthread_mutex_unlock(&j->lock);
}

struct blocks { /* of `rows` examples each */
    struct hg_prediction *j;
    size_t rows;
    char *memory; /* `bytes` of each thread */
    size_t bytes;
    int failed; /* atomic: a status */
};

static void predict_one(void *arg, int thread, size_t first, size_t end)
{
    struct blocks *b = arg;
    struct hg_workplace w;
    if (__atomic_load_n(&b->j->stopped, __ATOMIC_RELAXED))
        return;
    lay_out(b->j, b->rows, b->memory + (size_t)thread * b->bytes, &w);
    hinge_status status = predict_block(b->j, &w, first, end - first);
    if (status != HINGE_OK)
        __atomic_store_n(&b->failed, (int)status, __ATOMIC_RELAXED);
    hg_raise(&b->j->bound, w.bound);
    tell(b->j, end - first);
}

/* Predicts all rows, block by block, which threads take as they come. A thread's work space is laid out twice by the
 * same function, once to measure it; a small one stands on the stack, since a call for one row should take no longer
 * than the row. Where a block fails, by a user's kernel, the others are made all the same; after the callback's end
 * none begins. */
static hinge_status predict_all(struct hg_prediction *j, int threads, hinge_error *err)
{
    size_t total = j->x.n, rows = HG_MAX(block_rows(j), (size_t)1);
    struct hg_workplace measure;
    size_t bytes = lay_out(j, rows, NULL, &measure);
    threads = total > rows ? threads : 1;
    _Alignas(64) char stack[STACK_BYTES];
    bool small = threads == 1 && bytes <= sizeof stack;
    char *memory = small ? stack : hg_alloc((size_t)threads, bytes);
    if (memory == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for the work space of prediction (%zu bytes)", bytes);
    struct blocks job = { j, rows, memory, bytes, HINGE_OK };
    hg_share(threads, total, rows, predict_one, &job);
    if (!small)
        hg_free(memory);
    if (job.failed == HINGE_OK && j->stopped)
        return hg_fail(err, HINGE_ECALLBACK, "progress: the callback ended the prediction after %zu of %zu rows",
                       j->done, j->x.x.rows);
    return hg_rows_told((hinge_status)job.failed, err);
}

/* Returns how many threads are worth starting, by kernel values times what each of them costs. */
static int team_for(const hinge_model *m, size_t rows, int asked)
{
    double vectors = m->weights != NULL ? (double)m->n_problems : (double)m->n_sv;
    return hg_kernel_team(&m->kernel, asked, (double)rows * vectors, m->d + hg_decision_columns(m) / 10);
}

int hg_predict_team(const hinge_model *m, const hinge_matrix *x, const hinge_predict_options *options)
{
    int asked = options != NULL ? options->threads : 0;
    return m == NULL || x == NULL || hg_options_check(options != NULL ? options : &none, NULL) != HINGE_OK
               ? 1
               : team_for(m, x->rows, asked);
}

/* ---- the entry --------------------------------------------------------------------------------------------------- */

/* Refuses a maker that cannot serve; of a linear model's w GEMM makes the values. */
static hinge_status check_maker(const hinge_model *m, const hinge_matrix *x, const hinge_predict_options *o,
                                hinge_error *err)
{
    const struct hg_tiler tiler = { m->kernel, hg_maps(hg_cpu_level(o->cpu_level)), HINGE_F64, m->d,
                                    .asked = o->maker };
    const struct hg_points points = { .x = *x, .n = x->rows };
    if (o->maker != HINGE_MAKER_AUTO && o->maker != HINGE_MAKER_GEMM && m->weights != NULL)
        return hg_fail(err, HINGE_EINVAL, "maker: a linear model predicts by its weights, which is gemm");
    return o->maker == HINGE_MAKER_INTEGERS ? HINGE_OK /* who are looked for later */
                                            : hg_maker_check(&tiler, &points, err);
}

/* Refuses columns that are not the model's. A precomputed kernel's rows may be longer, and a model without support
 * vectors looks at none: f = -rho. */
static hinge_status check(const hinge_model *m, const hinge_matrix *x, const hinge_predict_options *o, hinge_error *err)
{
    HG_NEED(err, m, "model");
    hinge_status status = hg_matrix_check(x, "x", err);
    if (status != HINGE_OK || x == NULL) /* which is refused */
        return status;
    bool any = m->sv_serial != NULL || m->n_sv == 0; /* more columns do no harm, or none is looked at */
    if (any ? m->n_sv > 0 && x->cols < m->d : x->cols != m->d)
        return hg_fail(err, HINGE_EINVAL, "x.cols: %zu, but the model has %zu features", x->cols, m->d);
    status = hg_options_check(o, err);
    HG_THEN(status, check_maker(m, x, o, err));
    return status != HINGE_OK ? status : hg_matrix_check_finite(x, "x", team_for(m, x->rows, o->threads), err);
}

/* ---- f32, and f64 where it will not do --------------------------------------------------------------------------- */

/* Takes coefficients (in f32 with their absolute values, as hg_model_coef32 makes them), panels of the SVs, and where
 * each SV is, all in the SVs' order: the model's own where they are like that, otherwise made in *room, one block that
 * the caller frees. Panels have work space of one panel's rows behind them. */
static hinge_status take_sv(struct hg_prediction *j, void **room, hinge_error *err)
{
    const hinge_model *m = j->m;
    const uint32_t *order = j->sv.order;
    hinge_dtype type = j->tiler.type;
    bool f32 = type == HINGE_F32, coefs = order != NULL || (f32 && m->coef32 == NULL);
    const struct hg_maker *maker = j->tiler.maker;
    bool numbers = maker == &hg_by_integers || maker == &hg_by_bits;
    bool same = numbers ? j->sv.integers->loop == m->integers.loop
                        : m->integers.grid.most == 0 && f32 == m->f32_is_enough;
    bool panels = maker->keeps && (order != NULL || m->panels == NULL || !same);
    size_t count = hg_model_coef_rows(m) * m->n_sv, size = hg_size_of(type);
    size_t bytes = panels ? maker->right_bytes(&j->tiler, &j->sv, m->n_sv) : 0;
    size_t places = order != NULL && m->seen != NULL ? m->n_sv : 0;
    void *coef, *panel;
    uint32_t *place;
    j->coef = f32 ? (const void *)m->coef32 : (const void *)m->coef;
    j->panels = m->panels;
    if (coefs || panels)
        HG_TRY(HG_MAKE(err, "support vectors", HG_VALUES(coef, coefs ? 2 * count : 0, size), HG_ARRAY(place, places),
                       HG_VALUES(panel, panels ? hg_aligned(bytes) + maker->room(&j->tiler) : 0, 1)));
    *room = coefs || panels ? coef : NULL;
    if (coefs && f32)
        hg_model_coef32(m, order, coef);
    for (size_t i = 0; coefs && !f32 && i < count; i++)
        ((double *)coef)[i] = m->coef[i - i % m->n_sv + order[i % m->n_sv]];
    if (panels)
        maker->set_right(&j->tiler, &(struct hg_right){ .count = m->n_sv, .origin = { &j->sv, NULL, 0 } }, panel,
                         (char *)panel + hg_aligned(bytes));
    for (size_t i = 0; i < places; i++)
        place[order[i]] = (uint32_t)i;
    j->coef = coefs ? coef : j->coef;
    j->panels = panels ? panel : j->panels;
    j->place = places > 0 ? place : NULL;
    j->sizes = j->again != NULL && (j->summed || m->mixed) ? (const float *)j->coef + count : NULL;
    return HINGE_OK;
}

/* Brings examples and SVs into an order in which neighbours are side by side, where that pays (nearby.h), and takes the
 * norms in that order. */
static hinge_status leave_out_far(struct hg_prediction *j, int threads, hinge_error *err)
{
    struct hg_nearby *n = &j->nearby;
    HG_TRY(hg_nearby_init(n, j->m, &j->x, &j->sv, block_rows(j), j->tiler.type, threads, err));
    if (n->sv == NULL)
        return HINGE_OK;
    j->x.order = n->example;
    j->sv.order = n->sv;
    j->sv_norms = n->norms;
    return HINGE_OK;
}

/* Brings whole numbers of examples and SVs into their orders. */
static void take_integers(struct hg_prediction *j)
{
    j->sv.integers = NULL;
    if (j->x.integers == NULL)
        return;
    j->sv_integers = j->m->integers;
    j->sv_integers.loop = j->x_integers.loop;
    j->sv_integers.order = j->sv.order;
    j->x_integers.order = j->x.order;
    j->sv.integers = &j->sv_integers;
}

/* Tries f32 with some of the examples, which stand for all where nothing else tells how many rows it leaves open: it is
 * declined where that is more than a quarter. What the trial writes is written again. */
static hinge_status try_some(struct hg_prediction *j, hinge_error *err)
{
    struct hg_prediction trial = *j;
    uint32_t some[TRIED];
    size_t open = 0;
    for (size_t i = 0; i < TRIED; i++) {
        size_t at = i * j->x.n / TRIED;
        some[i] = j->x.order != NULL ? j->x.order[at] : (uint32_t)at;
    }
    trial.x.order = trial.x_integers.order = some;
    trial.x.integers = j->x.integers != NULL ? &trial.x_integers : NULL;
    trial.x.n = TRIED;
    trial.nearby = (struct hg_nearby){ 0 };
    trial.options = &none;
    HG_TRY(predict_all(&trial, 1, err));
    for (size_t i = 0; i < TRIED; i++)
        open += j->again[some[i]];
    j->declined = open > TRIED / 4;
    return HINGE_OK;
}

/* Predicts the examples of the job in one type. all: they may be sorted, which a few that are predicted again may not
 * be, since their order is their list. Panels that the model keeps in the other type are made anew for MANY_ROWS and
 * more. */
static hinge_status predict_as(struct hg_prediction *j, hinge_dtype type, bool all, int threads, hinge_error *err)
{
    const hinge_model *m = j->m;
    bool f32 = type == HINGE_F32, dots = hg_kernel_row(m->kernel.type)->source == HG_FROM_DOTS && m->weights == NULL;
    bool keeps = m->panels != NULL && m->integers.grid.most == 0 && f32 == m->f32_is_enough;
    bool lists = m->lists && j->x.integers == NULL && (keeps || j->x.n >= MANY_ROWS);
    void *room = NULL;
    j->tiler.type = type;
    hg_tiler_choose(&j->tiler, &j->x);
    if (lists && j->tiler.asked == HINGE_MAKER_AUTO) {
        j->tiler.dense = m->dense;
        j->tiler.maker = m->dense ? &hg_by_panels : &hg_by_lists;
    }
    j->promise = hg_model_promise(m);
    j->sv = hg_model_points(m, type);
    j->all_sv = hg_model_points(m, HINGE_F64);
    j->sv_norms = hg_model_norms(m, type);
    j->summed = hg_kernel_row(m->kernel.type)->of_distance && hg_model_coef_rows(m) == 1;
    if (dots && all)
        HG_TRY(leave_out_far(j, threads, err));
    take_integers(j);
    hinge_status status = take_sv(j, &room, err);
    if (f32 && j->on_trial)
        HG_THEN(status, try_some(j, err));
    if (!j->declined)
        HG_THEN(status, predict_all(j, threads, err));
    hg_free(room);
    hg_nearby_free(&j->nearby);
    return status;
}

/* Predicts in f32, and in f64 what that leaves open, which predict_block marks in again [rows]. Where that is more than
 * half, all rows are predicted again in one go. Up to 256 rows the marks stand on the stack. */
static hinge_status predict_in_f32(struct hg_prediction *j, int threads, hinge_error *err)
{
    uint8_t few[256];
    size_t rows = j->x.n, count = 0;
    uint32_t *list = NULL;
    j->again = few;
    if (rows > sizeof few)
        HG_TRY(HG_MAKE(err, "the rows to be predicted again", HG_ARRAY(j->again, rows)));
    hinge_status status = predict_as(j, HINGE_F32, true, threads, err);
    if (j->declined)
        memset(j->again, 1, rows);
    j->declined = false;
    for (size_t i = 0; i < rows && status == HINGE_OK; i++)
        count += j->again[i];
    if (count > 0)
        status = HG_MAKE(err, "the rows to be predicted again", HG_ARRAY(list, count));
    count = 0;
    for (size_t i = 0; i < rows && list != NULL; i++)
        if (j->again[i])
            list[count++] = (uint32_t)i;
    if (j->again != few)
        hg_free(j->again);
    j->again = NULL;
    bool most = count > rows / 2; /* so many that sorting them may pay: all are made again */
    j->x.order = most ? NULL : list;
    j->x.n = most ? rows : count;
    j->done = rows - j->x.n;
    j->rows_f64 = j->x.n;
    j->bound = most ? 0 : j->bound;
    if (status == HINGE_OK && count > 0)
        status = predict_as(j, HINGE_F64, most, threads, err);
    hg_free(list);
    return status;
}

/* Says whether precision "auto" begins in f32: where the model found that likely to do (f32_is_enough, f32_for_values),
 * and on trial where there are many examples, and an estimate does not rule it out. Small models have made none: they
 * keep their panels in f64, for examples that come one by one. */
static bool begins_in_f32(struct hg_prediction *j)
{
    const hinge_model *m = j->m;
    bool likely = j->values ? m->f32_for_values : m->f32_is_enough;
    bool many = j->x.n >= TRIAL_ROWS && (double)j->x.n * (double)m->n_sv >= TRIAL_VALUES;
    double doubt = m->doubt;
    if (likely || !many || !hg_model_may_be_f32(m))
        return likely;
    if (hg_model_is_small(m) && !hg_model_typical_doubt(m, &j->x, 4, 64, &doubt))
        return false;
    return j->on_trial = doubt <= 8 * hg_model_may_doubt(m, j->values);
}

/* Predicts in the precision that the options ask for; f32 makes in f64 only what it overflows. */
static hinge_status predict_with(struct hg_prediction *j, int threads, hinge_error *err)
{
    const hinge_model *m = j->m;
    bool made = hg_kernel_is_of_features(hg_kernel_row(m->kernel.type)) && m->weights == NULL && m->n_sv > 0;
    bool wide = j->x.integers != NULL && m->d >= WIDE;
    bool f32 = made && (j->as_asked ? !m->beyond_f32
                                    : j->options->precision == HINGE_PRECISION_AUTO && !wide && begins_in_f32(j));
    j->rows_f64 = j->x.n;
    return f32 ? predict_in_f32(j, threads, err) : predict_as(j, HINGE_F64, true, threads, err);
}

static void deliver(const double *from, size_t n, hinge_dtype type, void *to)
{
    if (to != NULL && type == HINGE_F64)
        memcpy(to, from, n * sizeof *from);
    for (size_t i = 0; to != NULL && type == HINGE_F32 && i < n; i++)
        ((float *)to)[i] = (float)from[i];
}

/* Predicts into arrays of its own first: a callback or a user's kernel can end it after some rows, and outputs in f32
 * are rounded. The caller's arrays are written only when all are there. */
static hinge_status predict_aside(struct hg_prediction *j, hinge_dtype type, void *labels, void *decisions, int threads,
                                  hinge_error *err)
{
    size_t rows = j->x.x.rows;
    double *label, *decision;
    HG_TRY(HG_MAKE(err, "labels and decision values", HG_ARRAY(label, labels != NULL ? rows : 0),
                   HG_TABLE(decision, decisions != NULL ? rows : 0, j->m->n_problems)));
    j->labels = labels != NULL ? label : NULL;
    j->decisions = decisions != NULL ? decision : NULL;
    hinge_status status = predict_with(j, threads, err);
    if (status == HINGE_OK) {
        deliver(label, rows, type, labels);
        deliver(decision, rows * j->m->n_problems, type, decisions);
    }
    hg_free(label);
    return status;
}

/* Finds the numbers of examples on the support vectors' grid, where products of these are faster. */
static hinge_status look_for_integers(struct hg_prediction *j, int threads, hinge_error *err)
{
    const struct hg_grid *grid = &j->m->integers.grid;
    hinge_maker asked = j->tiler.asked;
    bool wanted = asked == HINGE_MAKER_AUTO || asked == HINGE_MAKER_INTEGERS;
    if (grid->most > 0 && wanted)
        HG_TRY(hg_integers_match(&j->x_integers, grid, &j->x, j->tiler.maps->number, threads, err));
    if (hg_integers_serve(&j->m->kernel, &j->x_integers))
        j->x.integers = &j->x_integers;
    return asked == HINGE_MAKER_INTEGERS ? hg_maker_check(&j->tiler, &j->x, err) : HINGE_OK;
}

/* Predicts into labels and decisions of `type`. */
static hinge_status predict_checked(const hinge_model *m, const hinge_matrix *x, const hinge_predict_options *options,
                            hinge_dtype type, void *labels, void *decisions, hinge_error *err)
{
    const hinge_predict_options *o = options != NULL ? options : &none;
    hinge_status status = check(m, x, o, err);
    if (status == HINGE_OK && m->n_targets > 0 && labels != NULL)
        return hg_fail(err, HINGE_EINVAL, "labels: a model of many targets has none; their values are decisions");
    if (status != HINGE_OK || x == NULL)
        return status;
    const hinge_model *of = m->merged != NULL ? m->merged : m;
    struct hg_prediction j = { .m = of,
                     .x = { .x = *x, .shift = of->shift, .origin = m->scale_origin, .factor = m->scale_factor,
                            .offset = hinge_model_scale_base(m), .n = x->rows },
                     .labels = labels,
                     .decisions = decisions,
                     .options = o };
    j.teller = (struct hg_teller){ o->progress, o->progress_arg, hg_now(), -INFINITY, &j.stopped, NULL };
    j.tiler = (struct hg_tiler){ m->kernel, hg_maps(hg_cpu_level(o->cpu_level)), HINGE_F64, m->d, .asked = o->maker };
    j.values = decisions != NULL || hinge_task_info(m->task)->regresses;
    j.as_asked = o->precision == HINGE_PRECISION_F32;
    int threads = team_for(m, x->rows, o->threads);
    HG_TRY(look_for_integers(&j, threads, err));
    pthread_mutex_init(&j.lock, NULL);
    bool aside = type == HINGE_F32 || m->kernel.type == HINGE_USER || o->progress != NULL;
    status = aside ? predict_aside(&j, type, labels, decisions, threads, err) : predict_with(&j, threads, err);
    pthread_mutex_destroy(&j.lock);
    hg_integers_free(&j.x_integers);
    if (status == HINGE_OK && o->report != NULL)
        *o->report = (hinge_predict_report){ x->rows, j.rows_f64, j.bound, hg_model_promise(of) };
    return status == HINGE_OK ? hg_ok(err) : status;
}

static hinge_status predict(const hinge_model *m, const hinge_matrix *x, const hinge_predict_options *options,
                            hinge_dtype type, void *labels, void *decisions, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    HG_TEAM(hg_predict_team(m, x, options))
        status = predict_checked(m, x, options, type, labels, decisions, err);
    return status;
}

hinge_status hinge_predict(const hinge_model *m, const hinge_matrix *x, const hinge_predict_options *options,
                           double *labels, double *decisions, hinge_error *err)
{
    return predict(m, x, options, HINGE_F64, labels, decisions, err);
}

hinge_status hinge_predict_f32(const hinge_model *m, const hinge_matrix *x, const hinge_predict_options *options,
                               float *labels, float *decisions, hinge_error *err)
{
    return predict(m, x, options, HINGE_F32, labels, decisions, err);
}
