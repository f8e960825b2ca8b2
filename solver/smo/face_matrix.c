/* Factors of a face's matrix, and steps by them. Read face_matrix.h before, and the head of face.c. */
#include "solver/smo/face_matrix.h"
#include "lib/base/team.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { ROWS = 256 }; /* of a factor made at a time */

/* ---- factors: the arithmetic of a piece does not depend on the number of threads --------------------------------- */

struct piece { /* of the work on a factor: rows of a [count * ld] by those of b */
    struct hg_face *t;
    const double *b;
    size_t n, b_ld, ld, count;
    double *x, *out;
};

static void forward_some(void *arg, int thread, size_t r, size_t end)
{
    const struct piece *p = arg;
    (void)thread;
    if (!hg_face_halted(p->t)) /* what is left undone is not used then */
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)(end - r), (int)p->n, 1, p->b,
                    (int)p->b_ld, p->x + r * p->ld, (int)p->ld);
}

/* Solves x [count * ld] = x L^-T row by row, which applies L^-1 to each row; in some four pieces at least, of
 * HG_FACE_PIECE rows at most: what a piece is depends on count alone, and so does its arithmetic. */
static void forward(struct hg_face *t, const struct hg_triangle *f, size_t n, double *x, size_t ld, size_t count)
{
    size_t piece = HG_MIN((size_t)HG_FACE_PIECE, (count + 3) / 4);
    if (n == 0 || count == 0)
        return;
    struct piece job = { .t = t, .b = f->l, .n = n, .b_ld = f->ld, .ld = ld, .x = x };
    hg_share(t->threads, count, piece, forward_some, &job);
    size_t pieces = (count + piece - 1) / piece;
    double size = (double)n * (double)n;
    hg_face_count(t, (double)count * size, (double)pieces * size / 2);
}

/* Takes xx' from the corner's rows. */
static void less_products(void *arg, int thread, size_t r, size_t end)
{
    const struct piece *p = arg;
    (void)thread;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(end - r), (int)end, (int)p->n, -1, p->x + r * p->ld,
                (int)p->ld, p->x, (int)p->ld, 1, p->out + r * p->ld, (int)p->ld);
}

/* Turns rows [f->rows, rows) from the matrix's into L's, ROWS at a time: x = A L^-T by the rows above, the corner less
 * xx', and LAPACK's factor of that. false: the matrix is not positive definite, or the caller stopped. */
static bool extend(struct hg_face *t, struct hg_triangle *f, size_t rows)
{
    size_t ld = f->ld;
    for (size_t r0 = f->rows; r0 < rows; r0 = f->rows) {
        size_t count = HG_MIN((size_t)ROWS, rows - r0);
        double *x = f->l + r0 * ld, *corner = x + r0;
        if (hg_face_halted(t))
            return false;
        forward(t, f, r0, x, ld, count);
        if (hg_face_halted(t))
            return false;
        struct piece job = { .t = t, .n = r0, .ld = ld, .x = x, .out = corner };
        if (r0 > 0)
            hg_share(t->threads, count, HG_FACE_PIECE, less_products, &job);
        lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)count, corner, (lapack_int)ld);
        hg_face_count(t, (double)count * (double)count * (double)r0, 0);
        if (info != 0)
            return false;
        f->rows += count;
    }
    return true;
}

/* Solves with the factor, or its transpose, for one right-hand side. */
static void back(const struct hg_triangle *f, enum CBLAS_TRANSPOSE how, double *x)
{
    cblas_dtrsv(CblasRowMajor, CblasLower, how, CblasNonUnit, (int)f->rows, f->l, (int)f->ld, x, 1);
}

/* Adds factor a x, or factor a' x, to y; a has rows * cols entries. */
static void multiply(enum CBLAS_TRANSPOSE how, size_t rows, size_t cols, double factor, const double *a, size_t ld,
                     const double *x, double *y)
{
    cblas_dgemv(CblasRowMajor, how, (int)rows, (int)cols, factor, a, (int)ld, x, 1, 1, y, 1);
}

/* ---- the face's matrix ------------------------------------------------------------------------------------------- */

static void multiply_held(void *arg, int thread, size_t c, size_t end)
{
    const struct piece *p = arg;
    (void)thread;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(end - c), (int)p->count, (int)p->n, 1, p->x + c * p->ld,
                (int)p->ld, p->t->v, (int)p->ld, 0, p->out + c * p->b_ld, (int)p->b_ld);
}

bool hg_face_hold(struct hg_face *t, size_t from, size_t to)
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
                v[r] = t->entry[r] / t->in->qp.n == (size_t)(-1 - t->held[c]);
    }
    forward(t, &t->l, n, t->v + from * ld, ld, to - from);
    struct piece job = {
        .t = t, .n = n, .b_ld = t->s.ld, .ld = ld, .count = to, .x = t->v + from * ld, .out = t->s.l + from * t->s.ld
    };
    hg_share(t->threads, to - from, HG_FACE_PIECE, multiply_held, &job);
    hg_face_count(t, 2 * (double)(to - from) * (double)to * (double)n, (double)to * (double)n);
    return extend(t, &t->s, to);
}

/* Gathers rows of K_FF behind those that are factored. */
static void gather_some(void *arg, int thread, size_t first, size_t end)
{
    struct hg_face *t = arg;
    size_t from = t->l.rows, q = t->in->qp.n;
    (void)thread;
    for (size_t r = from + first; r < from + end; r++) {
        const double *k = hg_face_row(t, t->entry[r] % q);
        double *to = t->l.l + r * t->l.ld;
        for (size_t c = 0; c <= r; c++)
            to[c] = k[t->entry[c] % q];
        to[r] += t->ridge;
    }
}

/* Makes L's rows from `from` on: K_FF's rows for entries listed behind those that are factored, with the ridge on the
 * diagonal. Two entries of a point have the same row of K. */
static bool append(struct hg_face *t, size_t rows)
{
    size_t from = t->l.rows;
    hg_share(t->threads, rows - from, HG_FACE_PIECE, gather_some, t);
    hg_face_count(t, 0, (double)(rows - from) * (double)(rows + from));
    return extend(t, &t->l, rows);
}

/* Gives an entry the next row of L; returns how many there are. */
static size_t list_entry(struct hg_face *t, size_t rows, size_t e)
{
    t->entry[rows] = (uint32_t)e;
    t->row_of[e] = (int32_t)rows;
    return rows + 1;
}

/* Factors K_FF anew. A matrix that rounding left not positive definite gets ten times the ridge, which is then the
 * least one for this block; false: the ridge is too much of K, or there is no room, or an end. */
static bool factor_anew(struct hg_face *t)
{
    size_t count = 0, entries = hg_face_entries(t);
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
    } while (!hg_face_is_over(t) && t->ridge <= HG_MOST_RIDGE * t->largest);
    t->l.rows = 0;
    return false;
}

bool hg_face_prepare(struct hg_face *t)
{
    size_t rows = t->l.rows, held = 0, entries = hg_face_entries(t), count[2] = { 0, 0 }, fresh = 0;
    for (size_t e = 0; e < entries; e++) {
        count[e / t->in->qp.n] += t->is_free[e];
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
        if (!append(t, rows) && (hg_face_halted(t) || !factor_anew(t)))
            return false;
    }
    size_t n = 0;
    for (int l = 0; l < t->in->qp.layers; l++)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): at most two layers */
        if (count[l] > 0)
            t->held[n++] = -1 - l;
    for (size_t r = 0; r < t->l.rows; r++)
        if (!t->is_free[t->entry[r]])
            t->held[n++] = t->entry[r];
    return hg_face_hold(t, 0, n);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

void hg_face_step(struct hg_face *t)
{
    size_t n = t->l.rows, m = t->s.rows, ld = t->l.ld;
    for (size_t r = 0; r < n; r++) {
        size_t e = t->entry[r];
        t->d[r] = t->is_free[e] ? -(t->g_trial[e % t->in->qp.n] + t->off[e] + t->bias[e / t->in->qp.n]) : 0;
    }
    back(&t->l, CblasNoTrans, t->d);
    for (size_t c = 0; c < m; c++) {
        t->w[c] = 0;
        for (size_t k = 0; t->held[c] < 0 && k < t->in->qp.n; k++) /* what the others moved is to be made up for */
            t->w[c] += t->move[(size_t)(-1 - t->held[c]) * t->in->qp.n + k];
    }
    multiply(CblasNoTrans, m, n, 1, t->v, ld, t->d, t->w);
    back(&t->s, CblasNoTrans, t->w);
    back(&t->s, CblasTrans, t->w);
    multiply(CblasTrans, m, n, -1, t->v, ld, t->w, t->d);
    back(&t->l, CblasTrans, t->d);
    t->systems++;
    if (t->told != NULL)
        ++*t->told;
    double values = (double)n * (double)n + 2 * (double)m * (double)n;
    hg_face_count(t, 2 * values, values);
}
