/*
 * An active-set method on blocks. A is the set of points with an entry inside its box, or that violates, or nearly so;
 * K_AA is held in f64. With F the free entries of A (inside their boxes, and violators) a step d solves
 *
 *     (K_FF + ridge) d + E nu = -(g + off +- kink)_F,   E'd = 0          E: a column of ones a layer
 *
 * Entries that it takes out of their boxes are put on the bound, all at once, and the rest is solved for again until
 * none leaves. Mostly the objective is lower there; where it is not, the first step is taken as far as it is feasible,
 * and where that is nowhere, SMO goes on for a while. The objective only falls.
 *
 * K_FF = LL' is kept while F changes little: rows of entries set free are appended to L; an entry put on its bound is
 * held there by a constraint d_i = 0 beside the sums, with V = L^-1 [E, e_i, ...] and the factor of V'V. Beyond a share
 * of F that is more work than to factor anew. The ridge is rounding's share of K_FF: where it is singular, a direction
 * without curvature becomes a very long step, and ends at the boundary; all else is left with a residual of ridge |d|,
 * which the next step, by the same factor, takes out.
 */
#include "solver/smo/newton.h"
#include "solver/smo/inner.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum {
    ROWS = 256,      /* of a factor made at a time, */
    PIECE = 64,      /* and of them by a thread */
    MAX_PASSES = 30, /* over all points */
    MAX_FACES = 50, /* of a block */
    MAX_FIXES = 30   /* solutions of a face */
};

/* Where a face does not lower the objective, the ridge grows by a factor, up to a share of K's diagonal. */
static const double RIDGE_STEP = 1000, MOST_RIDGE = 0.01;

/* A lower triangle L by rows, LL' = a matrix that grows. */
struct factor {
    double *l;
    size_t ld, rows;
};

struct newton {
    struct hg_qp *qp;
    struct hg_rows *rows;
    const struct hg_newton_options *opt;
    struct hg_newton_result *res;
    double *g, *g_next;    /* [n] K beta; room for the next one */
    double *beta[2];       /* [n] the pass's start */
    double *coef;          /* [n] */
    uint32_t *list;        /* [n] */
    double bias[2];

    uint32_t *point;       /* [n] the points of A, */
    size_t q;              /* so many; an entry is layer * q + slot */
    struct hg_inner in;    /* K_AA; beta and g on A */
    double *low, *high;    /* [layers * q] of free entries: the box, with the kink as a bound, */
    double *off;           /* [layers * q] and the offset in it */
    uint8_t *is_free;      /* [layers * q] */
    double *move;          /* [layers * q] of the face so far */
    double *g_trial;       /* [q] g after the moves onto bounds */
    double *sum, *k_sum;   /* [q] moves of all layers; K_AA times it */

    size_t cap;            /* rows that L may have */
    struct factor l, s;    /* K_FF; V'V */
    uint32_t *entry;       /* [cap] of L's rows */
    int32_t *row_of;       /* [layers * q] or -1 */
    double ridge, least;   /* and its least value, with which K_FF is positive definite */
    double largest;        /* of K_AA's diagonal */
    double most_gflop;     /* that the finish may take */
    size_t max_held;       /* entries that may be held by constraints */
    double *v;             /* [(max_held + 2) * l.ld] V', row by row */
    int64_t *held;         /* [max_held + 2] entry, or -1 - layer for a sum */
    double *d, *first, *w; /* [cap] a step, the face's first; [max_held + 2] */
};

static bool is_stopped(const struct newton *t)
{
    return hg_poll_halt(&t->opt->halt);
}

/* By the caller, or the steps allowed are made, or far more work than a finish that succeeds is known to take. */
static bool is_over(const struct newton *t)
{
    return is_stopped(t) || t->res->gflop > t->most_gflop ||
           (t->opt->max_steps > 0 && t->res->systems + t->res->steps >= t->opt->max_steps);
}

/* ---- factors: the arithmetic of a piece does not depend on the number of threads --------------------------------- */

/* x [count * ld] = x L^-T, row by row: L^-1 of each row. */
static void forward(const struct newton *t, const struct factor *f, size_t n, double *x, size_t ld, size_t count)
{
    size_t piece = HG_MIN((size_t)PIECE, (count + 3) / 4);
    if (n == 0 || count == 0)
        return;
#pragma omp parallel num_threads(t->opt->threads)
    {
        hg_blas_alone();
#pragma omp for schedule(dynamic, 1)
        for (size_t r = 0; r < count; r += piece)
            if (!is_stopped(t)) /* what is left undone is not used then */
                cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit,
                            (int)HG_MIN(piece, count - r), (int)n, 1, f->l, (int)f->ld, x + r * ld, (int)ld);
    }
    t->res->gflop += 1e-9 * (double)count * (double)n * (double)n;
}

/* Rows [f->rows, rows), which hold the matrix's, become L's. false: not positive definite, or stopped */
static bool extend(const struct newton *t, struct factor *f, size_t rows)
{
    size_t ld = f->ld;
    for (size_t r0 = f->rows; r0 < rows; r0 = f->rows) {
        size_t count = HG_MIN((size_t)ROWS, rows - r0);
        double *x = f->l + r0 * ld, *corner = x + r0;
        if (is_stopped(t))
            return false;
        forward(t, f, r0, x, ld, count);
        if (is_stopped(t))
            return false;
        lapack_int info = 0;
#pragma omp parallel num_threads(t->opt->threads)
        {
            hg_blas_alone();
#pragma omp for schedule(dynamic, 1)
            for (size_t r = 0; r < count; r += PIECE)
                if (r0 > 0)
                    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)HG_MIN((size_t)PIECE, count - r),
                                (int)HG_MIN(r + PIECE, count), (int)r0, -1, x + r * ld, (int)ld, x, (int)ld, 1,
                                corner + r * ld, (int)ld);
#pragma omp single
            info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)count, corner, (lapack_int)ld);
        }
        t->res->gflop += 1e-9 * (double)count * (double)count * (double)r0;
        if (info != 0)
            return false;
        f->rows += count;
    }
    return true;
}

static void back(const struct factor *f, enum CBLAS_TRANSPOSE how, double *x)
{
#pragma omp parallel num_threads(1)
    {
        hg_blas_alone();
        cblas_dtrsv(CblasRowMajor, CblasLower, how, CblasNonUnit, (int)f->rows, f->l, (int)f->ld, x, 1);
    }
}

/* y = a x + c y or a' x + c y for the rows of a, rows * cols */
static void multiply(enum CBLAS_TRANSPOSE how, size_t rows, size_t cols, double factor, const double *a, size_t ld,
                     const double *x, double c, double *y)
{
#pragma omp parallel num_threads(1)
    {
        hg_blas_alone();
        cblas_dgemv(CblasRowMajor, how, (int)rows, (int)cols, factor, a, (int)ld, x, 1, c, y, 1);
    }
}

/* ---- entries of the block ---------------------------------------------------------------------------------------- */

static const double *kernel_row(const struct newton *t, size_t slot)
{
    return (const double *)t->in.k + slot * t->in.ld;
}

static bool is_inside(const struct hg_qp *qp, double b, int l, size_t i)
{
    return b > qp->lo[l][i] && b < qp->hi[l][i] && (qp->kink == 0 || b != 0);
}

/* The violation of the block, and each layer's bias. */
static double look(struct newton *t)
{
    struct hg_inner *in = &t->in;
    double violation = 0;
    for (int l = 0; l < in->layers; l++) {
        double low = INFINITY, high = -INFINITY, sum = 0;
        size_t count = 0;
        for (size_t k = 0; k < t->q; k++) {
            double b = in->beta[l][k], up = in->g[k] + hg_up(b, in->hi[l][k], in->off[l][k], in->kink),
                   down = in->g[k] + hg_down(b, in->lo[l][k], in->off[l][k], in->kink);
            low = HG_MIN(low, up);
            high = HG_MAX(high, down);
            if (up == down) {
                sum += up;
                count++;
            }
        }
        violation = HG_MAX(violation, high - low);
        if (count > 0)
            t->bias[l] = -sum / (double)count;
        else
            t->bias[l] = isinf(low) ? -high : isinf(high) ? -low : -(low + high) / 2;
    }
    return violation;
}

/* Sets entries free: those inside, and those that violate by more than `tolerance`; returns how many. */
static size_t set_free(struct newton *t, double tolerance)
{
    struct hg_inner *in = &t->in;
    size_t count = 0;
    for (int l = 0; l < in->layers; l++)
        for (size_t k = 0; k < t->q; k++) {
            size_t e = (size_t)l * t->q + k;
            double b = in->beta[l][k], lo = in->lo[l][k], hi = in->hi[l][k];
            double up = hg_up(b, hi, in->off[l][k], in->kink), down = hg_down(b, lo, in->off[l][k], in->kink);
            bool rises = up == down || in->g[k] + up + t->bias[l] < -tolerance;
            t->is_free[e] = rises || in->g[k] + down + t->bias[l] > tolerance;
            t->off[e] = rises ? up : down;
            bool positive = b > 0 || (b == 0 && rises); /* the side of the kink */
            t->low[e] = in->kink > 0 && positive ? 0 : lo;
            t->high[e] = in->kink > 0 && !positive ? 0 : hi;
            t->move[e] = 0;
            count += t->is_free[e];
        }
    return count;
}

/* ---- the face's matrix ------------------------------------------------------------------------------------------- */

/* V's rows [from, to), and those of the factor of V'V. */
static bool make_held(struct newton *t, size_t from, size_t to)
{
    size_t ld = t->l.ld, n = t->l.rows;
    t->s.rows = from;
    for (size_t c = from; c < to; c++) {
        double *v = t->v + c * ld;
        memset(v, 0, n * sizeof *v);
        if (t->held[c] >= 0)
            v[t->row_of[t->held[c]]] = 1;
        else
            for (size_t r = 0; r < n; r++)
                v[r] = t->entry[r] / t->q == (size_t)(-1 - t->held[c]);
    }
    forward(t, &t->l, n, t->v + from * ld, ld, to - from);
#pragma omp parallel num_threads(t->opt->threads)
    {
        hg_blas_alone();
#pragma omp for schedule(dynamic, 1)
        for (size_t c = from; c < to; c += PIECE)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)HG_MIN((size_t)PIECE, to - c), (int)to, (int)n, 1,
                        t->v + c * ld, (int)ld, t->v, (int)ld, 0, t->s.l + c * t->s.ld, (int)t->s.ld);
    }
    t->res->gflop += 2e-9 * (double)(to - from) * (double)to * (double)n;
    return extend(t, &t->s, to);
}

/* L's rows from `from` on: those of K_FF for its entries. */
static bool append(struct newton *t, size_t rows)
{
    size_t from = t->l.rows;
#pragma omp parallel for num_threads(t->opt->threads) schedule(static)
    for (size_t r = from; r < rows; r++) {
        const double *k = kernel_row(t, t->entry[r] % t->q);
        double *to = t->l.l + r * t->l.ld;
        for (size_t c = 0; c <= r; c++)
            to[c] = k[t->entry[c] % t->q];
        to[r] += t->ridge;
    }
    return extend(t, &t->l, rows);
}

static size_t list_entry(struct newton *t, size_t rows, size_t e)
{
    t->entry[rows] = (uint32_t)e;
    t->row_of[e] = (int32_t)rows;
    return rows + 1;
}

/* Factors K_FF anew. A matrix that rounding left not positive definite gets more of a ridge. */
static bool factor_anew(struct newton *t)
{
    size_t count = 0, entries = (size_t)t->in.layers * t->q;
    memset(t->row_of, 0xff, entries * sizeof *t->row_of);
    for (size_t e = 0; e < entries; e++)
        if (t->is_free[e] && count < t->cap)
            count = list_entry(t, count, e);
        else if (t->is_free[e])
            return false;
    do {
        t->l.rows = 0;
        t->res->factored++;
        if (append(t, count))
            return true;
        t->least = t->ridge *= 10;
    } while (!is_over(t) && t->ridge <= MOST_RIDGE * t->largest);
    t->l.rows = 0;
    return false;
}

/* L and V for F: by what changed, or anew. */
static bool prepare(struct newton *t)
{
    size_t rows = t->l.rows, held = 0, entries = (size_t)t->in.layers * t->q, count[2] = { 0, 0 }, fresh = 0;
    for (size_t e = 0; e < entries; e++) {
        count[e / t->q] += t->is_free[e];
        fresh += t->is_free[e] && t->row_of[e] < 0;
    }
    for (size_t r = 0; r < rows; r++)
        held += !t->is_free[t->entry[r]];
    if (rows == 0 || held + fresh > t->max_held || rows + fresh > t->cap) {
        if (!factor_anew(t))
            return false;
    } else if (fresh > 0) {
        for (size_t e = 0; e < entries; e++)
            if (t->is_free[e] && t->row_of[e] < 0)
                rows = list_entry(t, rows, e);
        if (!append(t, rows) && (is_stopped(t) || !factor_anew(t)))
            return false;
    }
    size_t n = 0;
    for (int l = 0; l < t->in.layers; l++)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): at most two layers */
        if (count[l] > 0)
            t->held[n++] = -1 - l;
    for (size_t r = 0; r < t->l.rows; r++)
        if (!t->is_free[t->entry[r]])
            t->held[n++] = t->entry[r];
    return make_held(t, 0, n);
}

/* ---- a face ------------------------------------------------------------------------------------------------------ */

/* d: the step of the free entries from where the moves so far have led. */
static void solve(struct newton *t)
{
    size_t n = t->l.rows, m = t->s.rows, ld = t->l.ld;
    for (size_t r = 0; r < n; r++) {
        size_t e = t->entry[r];
        t->d[r] = t->is_free[e] ? -(t->g_trial[e % t->q] + t->off[e] + t->bias[e / t->q]) : 0;
    }
    back(&t->l, CblasNoTrans, t->d);
    for (size_t c = 0; c < m; c++) {
        t->w[c] = 0;
        for (size_t k = 0; t->held[c] < 0 && k < t->q; k++) /* what the others moved is to be made up for */
            t->w[c] += t->move[(size_t)(-1 - t->held[c]) * t->q + k];
    }
    multiply(CblasNoTrans, m, n, 1, t->v, ld, t->d, 1, t->w);
    back(&t->s, CblasNoTrans, t->w);
    back(&t->s, CblasTrans, t->w);
    multiply(CblasTrans, m, n, -1, t->v, ld, t->w, 1, t->d);
    back(&t->l, CblasTrans, t->d);
    t->res->systems++;
    t->res->gflop += 1e-9 * (2 * (double)n * (double)n + 4 * (double)m * (double)n);
}

/* Entries that d takes out of their boxes are moved onto the bound and fixed; returns how many. */
static size_t fix_leavers(struct newton *t)
{
    size_t n = t->s.rows;
    for (size_t r = 0; r < t->l.rows; r++) {
        size_t e = t->entry[r], slot = e % t->q;
        double b = t->in.beta[e / t->q][slot], end = b + t->d[r];
        if (!t->is_free[e] || (end >= t->low[e] && end <= t->high[e]))
            continue;
        if (n < t->max_held + 2)
            t->held[n] = (int64_t)e;
        n++;
        t->is_free[e] = 0;
        t->move[e] = (end > t->high[e] ? t->high[e] : t->low[e]) - b;
        if (t->move[e] != 0)
            t->in.loops->add_rows_f64(1, &t->move[e], (const double *const[]){ kernel_row(t, slot) }, t->q,
                                      t->g_trial);
    }
    return n - t->s.rows;
}

/* k_sum = K_AA sum */
static void multiply_moves(struct newton *t)
{
    for (size_t k = 0; k < t->q; k++)
        t->sum[k] = t->in.layers == 1 ? t->move[k] : t->move[k] + t->move[t->q + k];
#pragma omp parallel num_threads(t->opt->threads)
    {
        hg_blas_alone();
#pragma omp for schedule(static)
        for (size_t k = 0; k < t->q; k += PIECE)
            cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)HG_MIN((size_t)PIECE, t->q - k), (int)t->q, 1,
                        kernel_row(t, k), (int)t->in.ld, t->sum, 1, 0, t->k_sum + k, 1);
    }
}

/* Takes the moves if they lower the objective. */
static bool take(struct newton *t, double *decrease)
{
    double change = 0;
    multiply_moves(t);
    for (size_t e = 0; e < (size_t)t->in.layers * t->q; e++)
        if (t->move[e] != 0)
            change += t->move[e] * (t->in.g[e % t->q] + t->off[e] + t->bias[e / t->q] + 0.5 * t->k_sum[e % t->q]);
    if (!(change < 0))
        return false;
    for (size_t e = 0; e < (size_t)t->in.layers * t->q; e++) {
        double *b = &t->in.beta[e / t->q][e % t->q];
        if (t->move[e] == t->high[e] - *b)
            *b = t->high[e];
        else if (t->move[e] == t->low[e] - *b)
            *b = t->low[e];
        else if (t->move[e] != 0)
            *b = HG_MIN(HG_MAX(*b + t->move[e], t->low[e]), t->high[e]);
    }
    for (size_t k = 0; k < t->q; k++)
        t->in.g[k] += t->k_sum[k];
    *decrease = -change;
    return true;
}

/* The first step, as far as it is feasible. */
static bool take_part(struct newton *t, double *decrease)
{
    double part = 1;
    for (size_t r = 0; r < t->l.rows; r++) {
        size_t e = t->entry[r];
        double b = t->in.beta[e / t->q][e % t->q], d = t->first[r];
        if (d != 0)
            part = HG_MIN(part, ((d > 0 ? t->high[e] : t->low[e]) - b) / d);
    }
    memset(t->move, 0, (size_t)t->in.layers * t->q * sizeof *t->move);
    for (size_t r = 0; r < t->l.rows; r++) {
        size_t e = t->entry[r];
        double b = t->in.beta[e / t->q][e % t->q], d = t->first[r];
        double room = (d > 0 ? t->high[e] : t->low[e]) - b;
        t->move[e] = d == 0 ? 0 : fabs(part * d) >= fabs(room) ? room : part * d;
    }
    return part > 0 && take(t, decrease);
}

/* What rounding left of the sums of moves is taken off the free entries; false: more than that is left. */
static bool balance(struct newton *t)
{
    for (int l = 0; l < t->in.layers; l++) {
        double sum = 0, size = 0;
        size_t count = 0;
        for (size_t e = (size_t)l * t->q; e < (size_t)(l + 1) * t->q; e++) {
            sum += t->move[e];
            size += fabs(t->move[e]);
            count += t->is_free[e];
        }
        if (fabs(sum) > 1e-8 * size)
            return false;
        for (size_t e = (size_t)l * t->q; e < (size_t)(l + 1) * t->q; e++)
            if (t->is_free[e])
                t->move[e] -= sum / (double)count;
    }
    return true;
}

/* One step of the kind above. false: the objective does not fall by it. */
static bool face(struct newton *t, double tolerance, double *decrease)
{
    if (set_free(t, tolerance) == 0 || !prepare(t))
        return false;
    memcpy(t->g_trial, t->in.g, t->q * sizeof *t->g_trial);
    bool whole = false, same_rows = true;
    for (int k = 0; k < MAX_FIXES && !is_over(t); k++) {
        solve(t);
        if (k == 0)
            memcpy(t->first, t->d, t->l.rows * sizeof *t->d);
        size_t made = t->s.rows, leave = fix_leavers(t);
        whole = leave == 0;
        if (whole)
            break;
        if (made + leave <= t->max_held + 2) {
            if (!make_held(t, made, made + leave))
                break;
        } else {
            same_rows = false;
            if (!prepare(t))
                break;
        }
    }
    if (is_stopped(t))
        return false;
    if (whole) {
        for (size_t r = 0; r < t->l.rows; r++)
            if (t->is_free[t->entry[r]])
                t->move[t->entry[r]] = t->d[r];
        if (balance(t) && take(t, decrease))
            return true;
    }
    return same_rows && take_part(t, decrease);
}

/* ---- a block ----------------------------------------------------------------------------------------------------- */

/* SMO, for about a step an entry. */
static bool go_on_by_smo(struct newton *t, double target, double *decrease)
{
    uint64_t made = t->res->systems + t->res->steps, most = t->opt->max_steps;
    struct hg_inner_result done =
        hg_inner_solve(&t->in, target, 0, true, most == 0 ? t->q : HG_MIN(t->q, most - HG_MIN(most, made)));
    t->res->steps += done.steps;
    *decrease = done.decrease;
    return done.decrease > 0;
}

/* After a face, by whether it has lowered the objective: the next one's ridge. false: there is none to be tried */
static bool adapt_ridge(struct newton *t, bool lowered)
{
    double ridge = t->ridge;
    t->ridge = lowered ? HG_MAX(ridge / RIDGE_STEP, t->least) : ridge * RIDGE_STEP;
    if (t->ridge != ridge)
        t->l.rows = 0; /* to be factored anew */
    return ridge > 0 && t->ridge <= MOST_RIDGE * t->largest;
}

/* Until the block's violation is at most target, or steps no longer gain. */
static void solve_block(struct newton *t, double target)
{
    double violation = look(t);
    for (int k = 0; k < MAX_FACES && violation > target && !is_over(t); k++) {
        double decrease = 0;
        bool lowered = face(t, target / 4, &decrease);
        if (!adapt_ridge(t, lowered) && !is_over(t)) {
            t->ridge = t->least;
            if (!go_on_by_smo(t, target, &decrease))
                return;
        }
        violation = look(t);
        if (t->opt->progress != NULL)
            t->opt->progress(t->opt->progress_arg, violation);
    }
}

static void block_free(struct newton *t)
{
    hg_free(t->low);
    t->low = NULL;
    hg_inner_free(&t->in);
}

static size_t padded(size_t n)
{
    return (n + 7) / 8 * 8 + 8;
}

/* Bytes of a block of q points; what is not quadratic is rounded up. */
static size_t block_bytes(const struct newton *t, size_t q)
{
    double n = (double)padded(q) + 16, held = n / 8 + 18;
    double bytes = sizeof(double) * (n * (2 * n + held + 40 * t->qp->layers) + held * held);
    return bytes < 1e18 ? (size_t)bytes : SIZE_MAX;
}

static hinge_status load_block(struct newton *t)
{
    size_t q = t->q, entries = (size_t)t->qp->layers * q;
    t->cap = q;
    t->max_held = t->cap / 8 + 16;
    t->l = (struct factor){ .ld = padded(t->cap) };
    t->s = (struct factor){ .ld = t->max_held + 2 };
    hinge_status status =
        hg_inner_init(&t->in, q, t->qp->layers, false, t->qp->kink, HINGE_F64, hg_loops(t->opt->cpu_level), NULL);
    if (status != HINGE_OK)
        return status;
    t->in.q = q;
    if (!HG_ROOM(HG_ARRAY(t->low, entries), HG_ARRAY(t->high, entries), HG_ARRAY(t->off, entries),
                 HG_ARRAY(t->is_free, entries), HG_ARRAY(t->move, entries), HG_ARRAY(t->g_trial, q),
                 HG_ARRAY(t->sum, q), HG_ARRAY(t->k_sum, q), HG_TABLE(t->l.l, t->cap, t->l.ld),
                 HG_TABLE(t->s.l, t->s.ld, t->s.ld), HG_ARRAY(t->entry, t->cap), HG_ARRAY(t->row_of, entries),
                 HG_TABLE(t->v, t->s.ld, t->l.ld), HG_ARRAY(t->held, t->s.ld), HG_ARRAY(t->d, t->cap),
                 HG_ARRAY(t->first, t->cap), HG_ARRAY(t->w, t->s.ld)))
        return HINGE_ENOMEM;
    memset(t->row_of, 0xff, entries * sizeof *t->row_of);
    t->largest = 0;
    for (size_t k = 0; k < q; k++) {
        t->in.row[k] = (void *)kernel_row(t, k);
        t->in.g[k] = t->g[t->point[k]];
        for (int l = 0; l < t->qp->layers; l++) {
            t->in.beta[l][k] = t->qp->beta[l][t->point[k]];
            t->in.lo[l][k] = t->qp->lo[l][t->point[k]];
            t->in.hi[l][k] = t->qp->hi[l][t->point[k]];
            t->in.off[l][k] = t->qp->off[l][t->point[k]];
        }
    }
    struct hg_fetch fetch = { t->point, q, t->point, q, t->in.row, NULL, NULL, t->opt->halt.stop, 0, false, false };
    status = t->rows->ops->fetch(t->rows, &fetch);
    for (size_t k = 0; k < q && status == HINGE_OK; k++) {
        t->in.diagonal[k] = kernel_row(t, k)[k];
        t->in.diagonal32[k] = (float)t->in.diagonal[k];
        t->largest = HG_MAX(t->largest, t->in.diagonal[k]);
    }
    double n = (double)q; /* 10 factorisations, and a thousand systems with what is held */
    t->most_gflop = HG_MAX(t->most_gflop, 1e-9 * (10.0 / 3 * n * n * n + 4000 * n * n));
    t->ridge = t->least = DBL_EPSILON * (double)(q + 16) * t->largest;
    t->res->bytes = HG_MAX(t->res->bytes, block_bytes(t, q));
    return status;
}

/* ---- all points -------------------------------------------------------------------------------------------------- */

struct update {
    struct newton *t;
    double *g;
};

static void add_tile(void *arg, const struct hg_tile *tile)
{
    struct update *u = arg;
    hg_loops(u->t->opt->cpu_level)
        ->add_rows_f64(tile->n_rows, u->t->coef + tile->row0, (const double *const *)tile->row, tile->n_cols,
                       u->g + tile->col0);
    is_stopped(u->t);
}

/* g += K[list, :]' coef */
static hinge_status add_rows(struct newton *t, size_t count, double *g)
{
    struct update u = { t, g };
    struct hg_fetch fetch = { t->list, count, NULL, t->qp->n, NULL, add_tile, &u, t->opt->halt.stop, 0, false, false };
    t->res->passes++;
    return count > 0 ? t->rows->ops->fetch(t->rows, &fetch) : HINGE_OK;
}

/* The points with an entry inside, or that may move with a slope of less than `near` against it. */
static size_t choose_block(struct newton *t, double near)
{
    const struct hg_qp *qp = t->qp;
    size_t count = 0;
    for (size_t i = 0; i < qp->n; i++) {
        bool in = false;
        for (int l = 0; l < qp->layers; l++) {
            double b = qp->beta[l][i], f = t->g[i] + t->bias[l];
            in = in || is_inside(qp, b, l, i) || f + hg_up(b, qp->hi[l][i], qp->off[l][i], qp->kink) < near ||
                 f + hg_down(b, qp->lo[l][i], qp->off[l][i], qp->kink) > -near;
        }
        if (in)
            t->point[count++] = (uint32_t)i;
    }
    return count;
}

/* What rounding has made of the sums goes to the entries with most room. */
static void mend_sums(struct newton *t, const double *sums)
{
    struct hg_qp *qp = t->qp;
    for (int l = 0; l < qp->layers; l++) {
        double missing = sums[l], most = 0, *to = NULL;
        for (size_t i = 0; i < qp->n; i++) {
            double b = qp->beta[l][i], room = HG_MIN(b - qp->lo[l][i], qp->hi[l][i] - b);
            missing -= b;
            room = qp->kink > 0 ? HG_MIN(room, fabs(b)) : room;
            if (room > most) {
                most = room;
                to = &qp->beta[l][i];
            }
        }
        if (to != NULL && fabs(missing) < most)
            *to += missing;
    }
}

/* The block's beta into the problem's, the sums mended, and what it moves g by into g_next. */
static hinge_status carry_over(struct newton *t, const double *sums)
{
    struct hg_qp *qp = t->qp;
    for (int l = 0; l < qp->layers; l++) {
        memcpy(t->beta[l], qp->beta[l], qp->n * sizeof(double));
        for (size_t k = 0; k < t->q; k++)
            qp->beta[l][t->point[k]] = t->in.beta[l][k];
    }
    mend_sums(t, sums);
    size_t count = 0;
    for (size_t i = 0; i < qp->n; i++) {
        double delta = 0;
        for (int l = 0; l < qp->layers; l++)
            delta += qp->beta[l][i] - t->beta[l][i];
        if (delta != 0) {
            t->list[count] = (uint32_t)i;
            t->coef[count++] = delta;
        }
    }
    memcpy(t->g_next, t->g, qp->n * sizeof *t->g);
    return add_rows(t, count, t->g_next);
}

static void give_back(struct newton *t)
{
    for (int l = 0; l < t->qp->layers; l++)
        memcpy(t->qp->beta[l], t->beta[l], t->qp->n * sizeof(double));
}

static hinge_status gradient(struct newton *t)
{
    size_t count = hg_qp_support(t->qp, NULL, t->list, t->coef);
    memset(t->g, 0, t->qp->n * sizeof *t->g);
    return add_rows(t, count, t->g);
}

/* One block; *go_on: a further one is worth while. */
static hinge_status pass(struct newton *t, const double *sums, bool *go_on)
{
    struct hg_newton_result *res = t->res;
    double violation = res->violation, objective = hg_qp_objective(t->qp, t->g);
    *go_on = false;
    for (int l = 0; l < t->qp->layers; l++)
        t->bias[l] = hg_qp_bias(t->qp, NULL, t->qp->n, t->g, l);
    t->q = choose_block(t, violation);
    if (block_bytes(t, t->q) > t->opt->bytes)
        t->q = choose_block(t, -t->opt->eps / 4);
    if (block_bytes(t, t->q) > t->opt->bytes) {
        res->bytes = block_bytes(t, t->q);
        res->end = HG_NEWTON_NO_ROOM;
        return HINGE_OK;
    }
    hinge_status status = load_block(t);
    if (status == HINGE_OK && !is_stopped(t) && t->largest > 0) { /* otherwise K_FF is nowhere positive definite */
        solve_block(t, HG_MAX(t->opt->eps / 2, 0.01 * violation));
        status = carry_over(t, sums);
        bool whole = status == HINGE_OK && !is_stopped(t);
        double then = whole ? hg_qp_violation(t->qp, t->g_next) : INFINITY;
        if (whole && (then < violation || hg_qp_objective(t->qp, t->g_next) < objective)) {
            double *g = t->g;
            t->g = t->g_next;
            t->g_next = g;
            res->violation = then;
            res->gained = true;
            *go_on = then < violation || objective - hg_qp_objective(t->qp, t->g) > 1e-12 * fabs(objective);
        } else {
            give_back(t);
        }
    }
    block_free(t);
    return status;
}

static hinge_status run(struct newton *t)
{
    double sums[2] = { 0, 0 };
    size_t inside = 0;
    for (int l = 0; l < t->qp->layers; l++)
        for (size_t i = 0; i < t->qp->n; i++) {
            sums[l] += t->qp->beta[l][i];
            inside += is_inside(t->qp, t->qp->beta[l][i], l, i);
        }
    t->res->end = HG_NEWTON_NO_ROOM;
    t->res->bytes = block_bytes(t, inside / (size_t)t->qp->layers);
    if (t->res->bytes > t->opt->bytes)
        return HINGE_OK;
    t->res->bytes = 0;
    t->res->end = HG_NEWTON_SLOW;
    hinge_status status = gradient(t);
    t->res->violation = hg_qp_violation(t->qp, t->g);
    bool go_on = true;
    for (int k = 0; k < MAX_PASSES && status == HINGE_OK && !is_over(t) && t->res->violation > t->opt->eps && go_on;
         k++)
        status = pass(t, sums, &go_on);
    if (t->res->violation <= t->opt->eps)
        t->res->end = HG_NEWTON_DONE;
    else if (is_stopped(t))
        t->res->end = HG_NEWTON_ENDED;
    return status;
}

hinge_status hg_newton_finish(struct hg_qp *qp, struct hg_rows *rows, double *gradient,
                              const struct hg_newton_options *options, struct hg_newton_result *result)
{
    size_t n = qp->n;
    struct newton t = { .qp = qp, .rows = rows, .opt = options, .res = result };
    memset(result, 0, sizeof *result);
    result->violation = INFINITY;
    t.most_gflop = 1; /* until there is a block */
    bool ok = HG_ROOM(HG_ARRAY(t.coef, n), HG_ARRAY(t.list, n), HG_ARRAY(t.point, n), HG_ARRAY(t.g, n),
                      HG_ARRAY(t.g_next, n), HG_ARRAY(t.beta[0], n), HG_ARRAY(t.beta[1], qp->layers == 2 ? n : 0));
    hinge_status status = ok ? run(&t) : HINGE_ENOMEM;
    if (status == HINGE_ENOMEM) { /* SMO needs no more than it has */
        status = HINGE_OK;
        result->end = HG_NEWTON_NO_ROOM;
        result->bytes = HG_MAX(block_bytes(&t, t.q), n * sizeof(double));
    }
    if (ok && status == HINGE_OK && result->gained)
        memcpy(gradient, t.g, n * sizeof *gradient);
    hg_free(t.coef);
    return status;
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

/* In reads of an f32 value from memory (0.3 ns): an operation of a factorisation in f64; factorisations, solutions, and
 * passes over all points that a finish takes, roughly. */
static const double OPERATION = 0.1, FACTORED = 3, SYSTEMS = 10, PASSES = 3;

static double work_of(const struct hg_qp *qp, const struct hg_rows *rows)
{
    double n = (double)qp->n, inside = 0, n_sv = (double)hg_qp_support(qp, NULL, NULL, NULL);
    for (size_t i = 0; i < qp->n; i++) {
        bool in = false;
        for (int l = 0; l < qp->layers; l++)
            in = in || is_inside(qp, qp->beta[l][i], l, i);
        inside += in;
    }
    return OPERATION * FACTORED * inside * inside * inside / 3 + 4 * SYSTEMS * inside * inside +
           (1 + rows->cost) * (inside * inside + n * (n_sv + PASSES * inside));
}

bool hg_newton_is_due(struct hg_newton_rule *rule, const struct hg_qp *qp, const struct hg_rows *rows,
                      double violation, double range, double eps)
{
    double below = rule->below > 0 ? rule->below : HG_NEWTON_BELOW * range;
    if (!(violation < rule->least))
        violation = rule->least;
    else
        rule->least = violation;
    if (rule->mark == 0) {
        rule->mark = violation;
        rule->mark_work = rule->work;
    }
    double since = rule->work - rule->mark_work;
    if (violation <= rule->mark / 4) {
        rule->rate = since / log(rule->mark / violation);
        rule->mark = violation;
        rule->mark_work = rule->work;
        since = 0;
    }
    if (rule->tries >= HG_NEWTON_TRIES || !(violation <= below) || !(violation > eps))
        return false;
    double left = HG_MAX(rule->rate, since / log(4)) * log(violation / eps);
    double margin = (eps < HG_NEWTON_TIGHT ? 1 : 2) * (violation > HG_NEWTON_NEAR * range ? 10 : 1);
    return left > margin * work_of(qp, rows);
}

void hg_newton_tell(struct hg_newton_rule *rule, const struct hg_newton_result *result)
{
    if (result->end != HG_NEWTON_NO_ROOM) /* without a gain it is not tried again */
        rule->tries += result->gained ? 1 : HG_NEWTON_TRIES;
    rule->below = rule->least / 10;
    rule->mark = 0;
    rule->rate = 0;
    rule->least = INFINITY;
}
