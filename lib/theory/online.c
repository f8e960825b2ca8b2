/*
 * Sweeps over all examples and walks over batches (online.h), for perceptron.c and sgd.c. Both take rows in f64, as
 * they stand in the caller's matrix where they are that already. A sweep is dealt to threads in stretches, whose sums
 * are added in order; a walk goes by one thread, since each batch begins where the one before has left w.
 */
#include "lib/theory/online.h"
#include "lib/base/team.h"
#include "lib/data/params.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Counts stretches of rows: of 256 KB, as they are read twice, for f and for the sum of y x. */
static size_t stretches(const struct hg_online *o)
{
    return (o->x.rows + o->stretch - 1) / o->stretch;
}

int hg_online_team(const hinge_matrix *x, int threads)
{
    bool valid = x != NULL && hg_options_check(&(hinge_predict_options){ .threads = threads }, NULL) == HINGE_OK;
    return valid ? hg_team_size(hg_threads(threads), 10 * (double)x->rows * (double)x->cols) : 1;
}

hinge_status hg_examples_check(const hinge_matrix *x, int threads, hinge_error *err)
{
    HG_TRY(hg_matrix_check(x, "x", err));
    HG_TRY(hg_options_check(&(hinge_predict_options){ .threads = threads }, err));
    return hg_matrix_check_finite(x, "x", hg_threads(threads), err);
}

/* Refuses labels other than +1 and -1, and a b that does not go with options.bias. */
hinge_status hg_online_check(const hinge_matrix *x, const double *y, int threads, int bias, const double *w,
                             const double *b, hinge_error *err)
{
    HG_TRY(hg_examples_check(x, threads, err));
    if (x->rows == 0)
        return hg_fail(err, HINGE_EINVAL, "x: no rows to train on");
    HG_NEED(err, y, "y");
    for (size_t i = 0; i < x->rows; i++)
        if (y[i] != 1 && y[i] != -1)
            return hg_fail(err, HINGE_EINVAL, "y: the label of row %zu is %g, neither +1 nor -1", i, y[i]);
    if (bias != 0 && bias != 1)
        return hg_fail(err, HINGE_EINVAL, "bias: %d is neither 0 nor 1", bias);
    if (w == NULL || (b != NULL) != (bias == 1))
        return hg_fail(err, HINGE_EINVAL, "%s",
                       w == NULL   ? "w: NULL"
                       : b == NULL ? "b: NULL, but options.bias asks for one"
                                   : "b: given, but without options.bias there is none");
    return HINGE_OK;
}

/* Makes work space: for batches only where there are any, and rows in f64 only where they do not stand so. A stretch
 * has 32 to 1,024 rows, by d alone. */
hinge_status hg_online_init(struct hg_online *o, const hinge_matrix *x, const double *y, size_t batch, bool bias,
                            int threads, hinge_progress_fn progress, void *progress_arg, hinge_error *err)
{
    size_t n = x->rows, d = x->cols, ld;
    *o = (struct hg_online){ .x = *x, .y = y, .bias = bias, .batch = HG_MIN(batch, n),
                             .points = { .x = *x, .n = n } };
    o->direct = hg_points_direct(&o->points, NULL, 0, n, HINGE_F64, &ld) != NULL;
    o->teller = (struct hg_teller){ .progress = progress, .arg = progress_arg, .begin = hg_now() };
    o->teller.told = o->teller.begin;
    o->stretch = HG_MAX((size_t)32, HG_MIN((size_t)1024, 32768 / HG_MAX(d, (size_t)1))); /* 256 KB of rows */
    size_t t = HG_MAX(HG_MIN((size_t)threads, stretches(o)), (size_t)1);
    o->threads = (int)t;
    HG_TRY(HG_MAKE(err, "the work space of examples", HG_ZEROS(o->w, d), HG_TABLE(o->rows, o->batch, d),
                   HG_ARRAY(o->f, o->batch), HG_ARRAY(o->c, o->batch), HG_ARRAY(o->order, batch > 0 ? n : 0),
                   HG_TABLE(o->part, stretches(o), d + 3), HG_TABLE(o->stretch_f, t * 2, o->stretch),
                   HG_TABLE(o->stretch_rows, o->direct ? 0 : t * o->stretch, d)));
    for (size_t i = 0; batch > 0 && i < n; i++)
        o->order[i] = (uint32_t)i;
    return HINGE_OK;
}

hinge_status hg_online_end(struct hg_online *o, hinge_status status, double *w, double *b, hinge_error *err)
{
    if (status == HINGE_OK) {
        memcpy(w, o->w, o->x.cols * sizeof *w);
        if (b != NULL)
            *b = o->b;
    }
    hg_free(o->w);
    return status == HINGE_OK ? hg_ok(err) : status;
}

const double *hg_take_rows(const struct hg_points *points, size_t first, size_t count, double *room, size_t *ld)
{
    const double *direct = hg_points_direct(points, NULL, first, count, HINGE_F64, ld);
    if (direct != NULL)
        return direct;
    *ld = points->x.cols;
    hg_points_pack(points, NULL, first, count, HINGE_F64, room, *ld);
    return room;
}

/* Makes f = rows w + b. */
static void decide(const double *rows, size_t ld, size_t count, size_t d, const double *w, double b, double *f)
{
    for (size_t i = 0; i < count; i++)
        f[i] = b;
    if (d > 0 && count == 1)
        f[0] += cblas_ddot((int)d, rows, 1, w, 1);
    else if (d > 0)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)count, (int)d, 1, rows, (int)ld, w, 1, 1, f, 1);
}

/* ---- all examples ------------------------------------------------------------------------------------------------ */

/* Sums up stretch s into its part: gradient [d + 1] if wanted, sum of losses in part[d + 1], errors in part[d + 2].
 * Returns whether an example is in the gradient. f and c are the thread's own room. */
static bool sweep_stretch(const struct hg_online *o, size_t s, const double *w, double b, double offset, bool strict,
                          bool gradient, int thread)
{
    size_t d = o->x.cols, first = s * o->stretch, count = HG_MIN(o->stretch, o->x.rows - first), ld;
    double *part = o->part + s * (d + 3), *f = o->stretch_f + (size_t)thread * 2 * o->stretch, *c = f + o->stretch;
    double *room = o->direct ? NULL : o->stretch_rows + (size_t)thread * o->stretch * d;
    const double *rows = hg_take_rows(&o->points, first, count, room, &ld);
    bool any = false;
    decide(rows, ld, count, d, w, b, f);
    memset(part, 0, (d + 3) * sizeof *part);
    for (size_t i = 0; i < count; i++) {
        double y = o->y[first + i], margin = y * f[i];
        bool in = strict ? margin < 0 : margin <= 0;
        any |= in;
        c[i] = in ? y : 0;
        part[d] += c[i];
        part[d + 1] += o->smooth ? hinge_loss_value(o->smooth, margin) : fmax(0, offset - margin);
        part[d + 2] += margin <= 0;
    }
    if (gradient && any && d > 0) /* sum y x = rows' c, while the rows are hot */
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)count, (int)d, 1, rows, (int)ld, c, 1, 0, part, 1);
    return any;
}

struct sweeping {
    const struct hg_online *o;
    const double *w;
    double b, offset;
    bool strict, gradient;
    int any; /* atomic */
};

static void sweep_one(void *arg, int thread, size_t stretch, size_t behind)
{
    struct sweeping *s = arg;
    (void)behind;
    if (sweep_stretch(s->o, stretch, s->w, s->b, s->offset, s->strict, s->gradient, thread))
        __atomic_store_n(&s->any, 1, __ATOMIC_RELAXED);
}

/* Deals stretches to threads and adds their parts in ascending order, so that the bits are the same for any number of
 * threads. */
bool hg_online_sweep(struct hg_online *o, const double *w, double b, double offset, bool strict, double *gradient,
                     struct hg_online_sweep *sweep)
{
    size_t d = o->x.cols, count = stretches(o);
    struct sweeping sweeping = { o, w, b, offset, strict, gradient != NULL, 0 };
    hg_share(o->threads, count, 1, sweep_one, &sweeping);
    double loss = 0, errors = 0;
    if (gradient != NULL)
        memset(gradient, 0, (d + 1) * sizeof *gradient);
    for (size_t s = 0; s < count; s++) { /* always in this order */
        const double *part = o->part + s * (d + 3);
        for (size_t c = 0; gradient != NULL && c <= d; c++)
            gradient[c] += part[c];
        loss += part[d + 1];
        errors += part[d + 2];
    }
    *sweep = (struct hg_online_sweep){ loss, (size_t)errors };
    return sweeping.any != 0;
}

/* ---- the callback ------------------------------------------------------------------------------------------------ */

/* Looks at the clock once in some 20 us of work, and calls the callback ten times a second at most, or at a round's
 * end. */
bool hg_online_tell(struct hg_online *o, bool round_over, double loss)
{
    enum { VALUES = 1 << 17 }; /* some 20 us of work */
    o->rounds += round_over;
    o->steps += !round_over;
    if (o->teller.progress == NULL || o->stopped)
        return o->stopped;
    o->unseen += o->batch * (o->x.cols + 1);
    if (!round_over && o->unseen < VALUES)
        return false;
    o->unseen = 0;
    if (!round_over && !hg_is_due(&o->teller))
        return false;
    hinge_progress p = { .n_problems = 1, .rounds = o->rounds, .iterations = o->steps, .violation = NAN,
                         .objective = loss, .n = o->x.rows, .n_active = o->x.rows };
    o->stopped = hg_tell(&o->teller, &p);
    return o->stopped;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* Brings an example of a later batch nearer, 1 KB of it at most: the order is random, so the processor cannot foresee
 * it. */
static void prefetch_row(const struct hg_online *o, size_t position)
{
    if (position >= o->x.rows || !hg_matrix_by_rows(&o->x))
        return;
    size_t size = hg_size_of(o->x.type), bytes = HG_MIN(o->x.cols * size, (size_t)1024);
    const char *row = (const char *)o->x.data + o->order[position] * o->x.stride * size;
    for (size_t at = 0; at < bytes; at += 64)
        __builtin_prefetch(row + at);
}

/* Takes examples order[first .. first + count): f = <x - mean, w> + b and the rows x - mean, *ld from each other. A
 * batch of one row that stands in f64 is not copied. */
static const double *visit(struct hg_online *o, size_t first, size_t count, size_t *ld)
{
    enum { AHEAD = 8 };
    size_t d = o->x.cols;
    const struct hg_points visited = { .x = o->x, .order = o->order, .n = o->x.rows };
    const double *rows = o->rows;
    for (size_t i = 0; i < count; i++)
        prefetch_row(o, first + i + HG_MAX(count, (size_t)AHEAD));
    *ld = d;
    if (count == 1 && o->direct && o->mean == NULL) {
        rows = (const double *)o->x.data + o->order[first] * o->x.stride;
    } else {
        hg_points_pack(&visited, NULL, first, count, HINGE_F64, o->rows, d);
        for (size_t i = 0; i < count * d && o->mean != NULL; i += d)
            for (size_t c = 0; c < d; c++)
                o->rows[i + c] -= o->mean[c];
    }
    decide(rows, *ld, count, d, o->w, o->b, o->f);
    return rows;
}

/* Walks over all batches in the order drawn, and hands each to the method with c = y of the examples that are in the
 * sum, 0 of others. Ends where the callback wants an end. */
static void visit_all(struct hg_online *o, double offset, bool strict, hg_online_batch *batch, void *arg)
{
    for (size_t first = 0; first < o->x.rows; first += o->batch) {
        size_t count = HG_MIN(o->batch, o->x.rows - first), ld;
        const double *rows = visit(o, first, count, &ld);
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            double y = o->y[o->order[first + i]], margin = y * o->f[i];
            bool in = strict ? margin < offset : margin <= offset;
            any |= in;
            o->c[i] = o->smooth ? y * hinge_loss_slope(o->smooth, margin) : in ? y : 0;
        }
        batch(arg, rows, ld, count, any);
        if (hg_online_tell(o, false, NAN))
            break;
    }
}

/* Draws an order and walks. */
void hg_online_pass(struct hg_online *o, uint64_t *state, double offset, bool strict, hg_online_batch *batch, void *arg)
{
    hg_shuffle(state, o->order, o->x.rows);
    visit_all(o, offset, strict, batch, arg);
}

/* Makes w = shrink w + step sum c x by one product, or by two vector operations where the batch is one row. */
void hg_online_step(struct hg_online *o, const double *rows, size_t ld, size_t count, double shrink, double step,
                    double bias_step)
{
    int d = (int)o->x.cols;
    if (d > 0 && count == 1) {
        if (shrink != 1)
            cblas_dscal(d, shrink, o->w, 1);
        cblas_daxpy(d, step * o->c[0], rows, 1, o->w, 1);
    } else if (d > 0) {
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)count, d, step, rows, (int)ld, o->c, 1, shrink, o->w, 1);
    }
    for (size_t i = 0; o->bias && i < count; i++)
        o->b += bias_step * o->c[i];
}
