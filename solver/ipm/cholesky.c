/*
 * Pivots one after the other, each by one row of the kernel; and LAPACK's factor in pieces that can be halted. Read
 * cholesky.h before.
 *
 * The two have nothing in common but the name. The first never sees a matrix: it asks a source for one row of K a
 * column, takes n rank^2 / 2 multiply-adds and n rank values of memory, and makes the rows that the interior point
 * sweeps. The second factors the normal matrix of each Newton system, in pieces of a tenth of a second where it is
 * large.
 */
#include "solver/ipm/cholesky.h"
#include "lib/base/team.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>

/* ---- of a kernel, by its rows ------------------------------------------------------------------------------------ */

/* Returns the row of the largest remaining diagonal, the first of equal ones. *trace is the sum of their absolute
 * values: an entry below 0, by rounding, is part of the distance from K too. */
static size_t find_pivot(const double *diagonal, size_t n, double *trace)
{
    size_t pivot = 0;
    *trace = 0;
    for (size_t i = 0; i < n; i++) {
        *trace += fabs(diagonal[i]);
        if (diagonal[i] > diagonal[pivot])
            pivot = i;
    }
    return pivot;
}

struct column {           /* c of Z */
    const double *k, *zp; /* the pivot's column of K, and its row of Z */
    size_t pivot, rank, c;
    double *z, *diagonal, root;
};

static void add_rows(void *arg, int thread, size_t first, size_t end)
{
    const struct column *m = arg;
    size_t c = m->c;
    (void)thread;
    for (size_t i = first; i < end; i++) {
        double *zi = m->z + i * m->rank, sum[4] = { 0, 0, 0, 0 };
        size_t j = 0;
        for (; j + 4 <= c; j += 4)
            for (size_t s = 0; s < 4; s++)
                sum[s] += zi[j + s] * m->zp[j + s];
        for (; j < c; j++)
            sum[0] += zi[j] * m->zp[j];
        if (i == m->pivot)
            continue; /* zp is still read by others */
        zi[c] = (m->k[i] - (sum[0] + sum[1] + sum[2] + sum[3])) / m->root;
        m->diagonal[i] -= zi[c] * zi[c];
    }
}

/* Makes z[:, c] = (K[:, pivot] - Z[:, :c] Z[pivot, :c]') / sqrt(diagonal[pivot]), and the diagonal less its squares.
 * Each row is one thread's: four partial sums side by side, in an order that no number of threads changes. The pivot's
 * own row is done last, as all threads read it: its diagonal is 0 by construction, and not what rounding would leave of
 * it. */
static void add_column(struct hg_rows *rows, size_t pivot, const double *k, size_t rank, size_t c, double *z,
                       double *diagonal)
{
    double root = sqrt(diagonal[pivot]);
    struct column column = { k, z + pivot * rank, pivot, rank, c, z, diagonal, root };
    int threads = hg_team_size(rows->threads, (double)rows->n * (double)c);
    hg_share(threads, rows->n, 512, add_rows, &column);
    z[pivot * rank + c] = root;
    diagonal[pivot] = 0;
}

/* Goes on while columns are left, the trace of what is left is more than `enough` of the whole, and the pivot is more
 * than rounding: 1e-15 of the largest diagonal value. Of an indefinite K the diagonal left may become negative; it is
 * never a pivot then. `left` tells how near the factor is, and is report.trace_error in the end. */
hinge_status hg_pivoted_cholesky(struct hg_rows *rows, size_t rank, double enough, const struct hg_halt *halt,
                                 double *z, uint32_t *pivots, size_t *used, double *left)
{
    size_t n = rows->n, c = 0;
    double whole = 0, *diagonal, *k;
    bool room = HG_ROOM(HG_ARRAY(diagonal, n), HG_ARRAY(k, n));
    hinge_status status = room ? hg_rows_diagonal(rows, diagonal, NULL) : HINGE_ENOMEM;
    bool any = status == HINGE_OK && n > 0;
    size_t pivot = any ? find_pivot(diagonal, n, &whole) : 0;
    double largest = any ? diagonal[pivot] : 0, trace = whole;
    while (status == HINGE_OK && c < rank && trace > enough * whole && diagonal[pivot] > 1e-15 * largest &&
           !hg_poll_halt(halt)) {
        uint32_t row = (uint32_t)pivot;
        if (pivots != NULL)
            pivots[c] = row;
        status = hg_rows_block(rows, &row, 1, NULL, n, k);
        if (status == HINGE_OK)
            add_column(rows, pivot, k, rank, c++, z, diagonal);
        pivot = find_pivot(diagonal, n, &trace);
    }
    *used = c;
    *left = trace > 0 ? trace / whole : 0;
    hg_free(diagonal);
    return status;
}

/* ---- of a matrix that is there ----------------------------------------------------------------------------------- */

/* Makes room for factors of n columns: one object serves all Newton systems of a run. */
hinge_status hg_cholesky_init(struct hg_cholesky *c, size_t n, hinge_error *err)
{
    *c = (struct hg_cholesky){ .n = n, .ld = HG_MAX((n + 7) / 8 * 8, (size_t)8) };
    return HG_MAKE(err, "a Cholesky factor", HG_TABLE(c->l, n, c->ld), HG_ARRAY(c->scale, n));
}

void hg_cholesky_free(struct hg_cholesky *c)
{
    hg_free(c->l);
    c->l = NULL;
}

/* Factors c->l, block of rows by block of rows, each from those above it; polled where the next has as much to do as
 * BLAS does in a tenth of a second. The lower triangle by rows is LAPACK's upper one by columns: no transposing. */
static bool factor_blocks(struct hg_cholesky *c, const struct hg_halt *halt)
{
    size_t block = hg_rows_of_piece(c->n * c->n), ld = c->ld;
    for (size_t first = 0; first < c->n; first += block) {
        size_t count = HG_MIN(block, c->n - first), below = c->n - first - count;
        double *corner = c->l + first * ld + first, *rest = corner + count * ld;
        if (first > 0 && hg_poll_halt(halt))
            return false;
        if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)count, corner, (lapack_int)ld) != 0)
            return false;
        if (below == 0)
            break;
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)below, (int)count, 1, corner,
                    (int)ld, rest, (int)ld);
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)below, (int)count, -1, rest, (int)ld, 1, rest + count,
                    (int)ld);
    }
    return true;
}

/* Scales the matrix to a diagonal of 1 + shift, and factors it. The shift is a ridge for what rounding has made of a
 * semi-definite matrix. The matrix itself stays: it may have to be factored again with a larger shift. */
static bool decompose(struct hg_cholesky *c, const double *matrix, const struct hg_halt *halt)
{
    for (size_t r = 0; r < c->n; r++) {
        for (size_t k = 0; k <= r; k++)
            c->l[r * c->ld + k] = matrix[r * c->ld + k] * c->scale[r] * c->scale[k];
        c->l[r * c->ld + r] *= 1 + c->shift;
    }
    return factor_blocks(c, halt);
}

/* Scales by powers of two, which round nothing, so that one ridge is right for columns of any size. Where a factor
 * fails, the shift is n 1e-15, then a hundred times as much each time, up to 1e-3: beyond, the matrix is not near
 * positive definite. Refinement takes out what the shift changes (interior.c, direction). */
bool hg_cholesky_factor(struct hg_cholesky *c, const double *matrix, const struct hg_halt *halt)
{
    for (size_t r = 0; r < c->n; r++) {
        double diagonal = matrix[r * c->ld + r];
        if (!isfinite(diagonal))
            return false;
        int exponent = 0;
        frexp(diagonal, &exponent);
        c->scale[r] = diagonal > 0 ? ldexp(1, -exponent / 2) : 1;
    }
    c->shift = 0;
    while (!decompose(c, matrix, halt)) {
        if (hg_halted(halt))
            return false;
        c->shift = c->shift == 0 ? 1e-15 * (double)c->n : 100 * c->shift;
        if (c->shift > 1e-3)
            return false;
    }
    return true;
}

/* Solves L L' (x / scale) = scale x by two triangular solves of one right-hand side, by one thread. */
void hg_cholesky_solve(const struct hg_cholesky *c, double *x)
{
    for (size_t r = 0; r < c->n; r++)
        x[r] *= c->scale[r];
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)c->n, c->l, (int)c->ld, x, 1);
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, (int)c->n, c->l, (int)c->ld, x, 1);
    for (size_t r = 0; r < c->n; r++)
        x[r] *= c->scale[r];
}
