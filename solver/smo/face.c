/*
 * A face of the Newton finish: the linear systems of a block's free entries, and the step that they give. newton.c says
 * what they are; face.h has what they hold.
 */
#include "solver/smo/face.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum {
    ROWS = 256,    /* of a factor made at a time, */
    PIECE = 64,    /* and of them by a thread */
    MAX_FIXES = 30 /* solutions of a face */
};

/* ---- factors: the arithmetic of a piece does not depend on the number of threads --------------------------------- */

/* Solves x [count * ld] = x L^-T row by row, which applies L^-1 to each row. */
static void forward(const struct hg_newton *t, const struct hg_triangle *f, size_t n, double *x, size_t ld,
                    size_t count)
{
    size_t piece = HG_MIN((size_t)PIECE, (count + 3) / 4);
    if (n == 0 || count == 0)
        return;
#pragma omp parallel num_threads(t->opt->threads)
    {
        hg_blas_alone();
#pragma omp for schedule(dynamic, 1)
        for (size_t r = 0; r < count; r += piece)
            if (!hg_newton_halted(t)) /* what is left undone is not used then */
                cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit,
                            (int)HG_MIN(piece, count - r), (int)n, 1, f->l, (int)f->ld, x + r * ld, (int)ld);
    }
    size_t pieces = (count + piece - 1) / piece;
    double size = (double)n * (double)n;
    hg_newton_count(t, (double)count * size, (double)pieces * size / 2);
}

/* Turns rows [f->rows, rows) from the matrix's into L's; false: the matrix is not positive definite, or the caller
 * stopped. */
static bool extend(const struct hg_newton *t, struct hg_triangle *f, size_t rows)
{
    size_t ld = f->ld;
    for (size_t r0 = f->rows; r0 < rows; r0 = f->rows) {
        size_t count = HG_MIN((size_t)ROWS, rows - r0);
        double *x = f->l + r0 * ld, *corner = x + r0;
        if (hg_newton_halted(t))
            return false;
        forward(t, f, r0, x, ld, count);
        if (hg_newton_halted(t))
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
        hg_newton_count(t, (double)count * (double)count * (double)r0, 0);
        if (info != 0)
            return false;
        f->rows += count;
    }
    return true;
}

static void back(const struct hg_triangle *f, enum CBLAS_TRANSPOSE how, double *x)
{
#pragma omp parallel num_threads(1)
    {
        hg_blas_alone();
        cblas_dtrsv(CblasRowMajor, CblasLower, how, CblasNonUnit, (int)f->rows, f->l, (int)f->ld, x, 1);
    }
}

/* Adds factor a x, or factor a' x, to y; a has rows * cols entries. */
static void multiply(enum CBLAS_TRANSPOSE how, size_t rows, size_t cols, double factor, const double *a, size_t ld,
                     const double *x, double *y)
{
#pragma omp parallel num_threads(1)
    {
        hg_blas_alone();
        cblas_dgemv(CblasRowMajor, how, (int)rows, (int)cols, factor, a, (int)ld, x, 1, 1, y, 1);
    }
}

/* ---- entries of the block ---------------------------------------------------------------------------------------- */

double hg_look_at_block(struct hg_newton *t)
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
static size_t set_free(struct hg_newton *t, double tolerance)
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
static bool make_held(struct hg_newton *t, size_t from, size_t to)
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
    hg_newton_count(t, 2 * (double)(to - from) * (double)to * (double)n, (double)to * (double)n);
    return extend(t, &t->s, to);
}

/* L's rows from `from` on: those of K_FF for its entries. */
static bool append(struct hg_newton *t, size_t rows)
{
    size_t from = t->l.rows;
#pragma omp parallel for num_threads(t->opt->threads) schedule(static)
    for (size_t r = from; r < rows; r++) {
        const double *k = hg_block_row(t, t->entry[r] % t->q);
        double *to = t->l.l + r * t->l.ld;
        for (size_t c = 0; c <= r; c++)
            to[c] = k[t->entry[c] % t->q];
        to[r] += t->ridge;
    }
    hg_newton_count(t, 0, (double)(rows - from) * (double)(rows + from));
    return extend(t, &t->l, rows);
}

static size_t list_entry(struct hg_newton *t, size_t rows, size_t e)
{
    t->entry[rows] = (uint32_t)e;
    t->row_of[e] = (int32_t)rows;
    return rows + 1;
}

/* Factors K_FF anew. A matrix that rounding left not positive definite gets more of a ridge. */
static bool factor_anew(struct hg_newton *t)
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
        if (append(t, count))
            return true;
        t->least = t->ridge *= 10;
    } while (!hg_newton_is_over(t) && t->ridge <= HG_MOST_RIDGE * t->largest);
    t->l.rows = 0;
    return false;
}

/* L and V for F: by what changed, or anew. */
static bool prepare(struct hg_newton *t)
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
        if (!append(t, rows) && (hg_newton_halted(t) || !factor_anew(t)))
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

/* Makes d the step of the free entries from where the moves so far have led. */
static void solve(struct hg_newton *t)
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
    multiply(CblasNoTrans, m, n, 1, t->v, ld, t->d, t->w);
    back(&t->s, CblasNoTrans, t->w);
    back(&t->s, CblasTrans, t->w);
    multiply(CblasTrans, m, n, -1, t->v, ld, t->w, t->d);
    back(&t->l, CblasTrans, t->d);
    t->res->systems++;
    double values = (double)n * (double)n + 2 * (double)m * (double)n;
    hg_newton_count(t, 2 * values, values);
}

/* Entries that d takes out of their boxes are moved onto the bound and fixed; returns how many. */
static size_t fix_leavers(struct hg_newton *t)
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
            t->in.loops->add.f64(1, &t->move[e], (const double *const[]){ hg_block_row(t, slot) }, t->q, t->g_trial);
    }
    return n - t->s.rows;
}

/* Makes k_sum = K_AA sum. */
static void multiply_moves(struct hg_newton *t)
{
    for (size_t k = 0; k < t->q; k++)
        t->sum[k] = t->in.layers == 1 ? t->move[k] : t->move[k] + t->move[t->q + k];
#pragma omp parallel num_threads(t->opt->threads)
    {
        hg_blas_alone();
#pragma omp for schedule(static)
        for (size_t k = 0; k < t->q; k += PIECE)
            cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)HG_MIN((size_t)PIECE, t->q - k), (int)t->q, 1,
                        hg_block_row(t, k), (int)t->in.ld, t->sum, 1, 0, t->k_sum + k, 1);
    }
    hg_newton_count(t, 2 * (double)t->q * (double)t->q, (double)t->q * (double)t->q);
}

/* Takes the moves if they lower the objective. */
static bool take(struct hg_newton *t, double *decrease)
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
static bool take_part(struct hg_newton *t, double *decrease)
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

/* Takes what rounding left of the sums of moves off the free entries; false: more than that is left. */
static bool balance(struct hg_newton *t)
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
bool hg_solve_face(struct hg_newton *t, double tolerance, double *decrease)
{
    if (set_free(t, tolerance) == 0 || !prepare(t))
        return false;
    memcpy(t->g_trial, t->in.g, t->q * sizeof *t->g_trial);
    bool whole = false, same_rows = true;
    for (int k = 0; k < MAX_FIXES && !hg_newton_is_over(t); k++) {
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
    if (hg_newton_halted(t))
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
