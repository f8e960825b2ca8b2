/*
 * Pivots one after the other, of candidates whose kernel rows are made together; and LAPACK's factor in pieces that can
 * be halted. Read cholesky.h before.
 *
 * The two have nothing in common but the name. The first never sees a matrix: it asks a source for the rows of up to 64
 * points at a time, which are likely to be the next pivots, takes little more than n rank^2 / 2 multiply-adds, nearly
 * all of them by GEMM, and n rank values of memory, and makes the rows that the interior point sweeps. No pivot is
 * another than without looking ahead: the first that is no candidate ends the turn. The second factors the normal
 * matrix of each Newton system, in pieces of a tenth of a second where it is large.
 */
#include "solver/ipm/cholesky.h"
#include "lib/base/team.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

/* ---- of a kernel, by its rows ------------------------------------------------------------------------------------ */

enum { SLICE = 1024, MOST_AHEAD = 64, POOLED = 4 }; /* points that a thread takes; candidates; points for each */

struct best { /* of a slice of the diagonal */
    double trace;
    size_t pivot;
};

/* Candidates for the next pivots, among all points or those of a pool. Each has a row of what the columns before these
 * leave of K, and where it becomes a pivot its row is made a column of Z where it stands. */
struct ahead {
    double *row;           /* [count * n] */
    double *diagonal;      /* [n] of K - ZZ' */
    struct best *best;     /* [n / SLICE, rounded up], or NULL */
    size_t n, count, used; /* points; rows; those that are columns, */
    size_t of[MOST_AHEAD]; /* which rows these are, in the order of columns */
};

struct factoring {
    struct hg_rows *rows;
    const struct hg_halt *halt;
    size_t rank, c;             /* columns of z; those that are made, but for the ones in `all` */
    double *z;                  /* [n * rank] */
    double *of_z;               /* [POOLED * MOST_AHEAD * rank] rows of it */
    struct ahead all, pool;     /* candidates; points of large diagonals, among which they are found: */
    uint32_t point[MOST_AHEAD]; /* which they are, */
    uint32_t *pooled;           /* [POOLED * MOST_AHEAD] and these */
};

/* Finds the point of the largest remaining diagonal, the first of equal ones. trace is the sum of their absolute
 * values: an entry below 0, by rounding, is part of the distance from K too. */
static struct best find_best(const double *diagonal, size_t first, size_t end)
{
    struct best best = { 0, first };
    for (size_t i = first; i < end; i++) {
        best.trace += fabs(diagonal[i]);
        if (diagonal[i] > diagonal[best.pivot])
            best.pivot = i;
    }
    return best;
}

struct column {
    struct ahead *a;
    size_t row, pivot;
    double root;
};

/* Makes a slice of a column: its row, less the columns of this turn times the pivot's row of them, over the root of the
 * pivot's diagonal; and the diagonal less its squares. The pivot's is 0 by construction, and not what rounding would
 * leave of it. */
static void make_column(void *arg, int thread, size_t first, size_t end)
{
    const struct column *m = arg;
    const struct ahead *a = m->a;
    double *z = a->row + m->row * a->n;
    (void)thread;
    for (size_t t = 0; t < a->used; t++) {
        const double *before = a->row + a->of[t] * a->n, factor = before[m->pivot];
#pragma omp simd
        for (size_t i = first; i < end; i++)
            z[i] -= factor * before[i];
    }
#pragma omp simd
    for (size_t i = first; i < end; i++) {
        z[i] /= m->root;
        a->diagonal[i] -= z[i] * z[i];
    }
    if (m->pivot >= first && m->pivot < end) {
        z[m->pivot] = m->root;
        a->diagonal[m->pivot] = 0;
    }
    if (a->best != NULL)
        a->best[first / SLICE] = find_best(a->diagonal, first, end);
}

static void take_column(struct ahead *a, size_t row, size_t pivot, int threads)
{
    struct column column = { a, row, pivot, sqrt(a->diagonal[pivot]) };
    hg_share(hg_team_size(threads, (double)a->n * (double)(a->used + 4)), a->n, SLICE, make_column, &column);
    a->of[a->used++] = row;
}

struct rest {
    const struct factoring *f;
    const struct ahead *a;
    const double *z; /* [n * rank] of the points */
};

static void subtract(void *arg, int thread, size_t first, size_t end)
{
    const struct rest *r = arg;
    const struct factoring *f = r->f;
    (void)thread;
    if (!hg_poll_halt(f->halt))
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)r->a->count, (int)(end - first), (int)f->c, -1,
                    f->of_z, (int)f->rank, r->z + first * f->rank, (int)f->rank, 1, r->a->row + first, (int)r->a->n);
}

/* Makes rows of K - ZZ' of the points given, over all points or over themselves. After a halt they are not whole. */
static hinge_status make_rest(struct factoring *f, const uint32_t *point, struct ahead *a)
{
    const struct hg_how how = { .halt = f->halt };
    bool all = a == &f->all;
    struct rest rest = { f, a, all ? f->z : f->of_z };
    void *row[POOLED * MOST_AHEAD];
    for (size_t r = 0; r < a->count; r++) {
        row[r] = a->row + r * a->n;
        memcpy(f->of_z + r * f->rank, f->z + point[r] * f->rank, f->c * sizeof *f->z);
    }
    a->used = 0;
    HG_TRY(hg_rows_fill(f->rows, point, a->count, all ? NULL : point, a->n, row, &how));
    if (f->c > 0)
        hg_share(hg_team_size(f->rows->threads, (double)a->n * (double)a->count * (double)f->c), a->n, SLICE, subtract,
                 &rest);
    return HINGE_OK;
}

/* Lists the points of the largest diagonals, largest first and the first of equal ones, up to `room`. Returns how many
 * they are. */
static size_t list_largest(const double *diagonal, size_t n, size_t room, uint32_t *of)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (count == room && !(diagonal[i] > diagonal[of[count - 1]]))
            continue;
        size_t k = count < room ? count++ : room - 1;
        for (; k > 0 && diagonal[of[k - 1]] < diagonal[i]; k--)
            of[k] = of[k - 1];
        of[k] = (uint32_t)i;
    }
    return count;
}

/* Returns how many candidates there are at most. POOLED points for each of them take an eighth of the time of their
 * rows, which take no more memory than z. */
static size_t most_ahead(size_t n, size_t rank)
{
    size_t most = HG_MIN(HG_MAX(n / (8 * POOLED * POOLED), (size_t)8), (size_t)MOST_AHEAD);
    return HG_MIN(most, rank);
}

/* Finds candidates: pivots of what is left of K on the points of the largest diagonals, of which the first is the next
 * pivot of all points. Rows of many are made at once, by GEMM, where rows one by one would read Z anew for each. */
static hinge_status look_ahead(struct factoring *f)
{
    struct ahead *a = &f->all, *pool = &f->pool;
    size_t most = HG_MIN(most_ahead(a->n, f->rank), f->rank - f->c);
    pool->n = pool->count = list_largest(a->diagonal, a->n, POOLED * most_ahead(a->n, f->rank), f->pooled);
    hg_gather(a->diagonal, sizeof *a->diagonal, f->pooled, pool->n, pool->diagonal);
    HG_TRY(make_rest(f, f->pooled, pool));
    for (a->count = 0; a->count < most; a->count++) {
        size_t next = find_best(pool->diagonal, 0, pool->n).pivot;
        if (!(pool->diagonal[next] > 0))
            break;
        f->point[a->count] = f->pooled[next];
        take_column(pool, next, next, 1);
    }
    return make_rest(f, f->point, a);
}

/* Moves columns from their rows to z. */
static void move_columns(void *arg, int thread, size_t first, size_t end)
{
    const struct factoring *f = arg;
    const struct ahead *a = &f->all;
    (void)thread;
    for (size_t i = first; i < end; i++)
        for (size_t t = 0; t < a->used; t++)
            f->z[i * f->rank + f->c + t] = a->row[a->of[t] * a->n + i];
}

static void end_turn(struct factoring *f)
{
    struct ahead *a = &f->all;
    hg_share(hg_team_size(f->rows->threads, 4 * (double)a->n * (double)a->used), a->n, SLICE, move_columns, f);
    f->c += a->used;
    a->used = a->count = 0;
}

/* Makes the pivot's column of Z, and sets the next pivot and the trace. A pivot that is no candidate ends a turn and
 * begins one. */
static hinge_status add_pivot(struct factoring *f, struct best *best)
{
    struct ahead *a = &f->all;
    size_t row = 0, slices = (a->n + SLICE - 1) / SLICE;
    while (row < a->count && f->point[row] != best->pivot)
        row++;
    if (row == a->count) {
        end_turn(f);
        HG_TRY(look_ahead(f));
        row = 0;
    }
    if (hg_halted(f->halt))
        return HINGE_OK;
    take_column(a, row, best->pivot, f->rows->threads);
    *best = a->best[0];
    for (size_t s = 1; s < slices; s++) {
        double trace = best->trace + a->best[s].trace;
        if (a->diagonal[a->best[s].pivot] > a->diagonal[best->pivot])
            *best = a->best[s];
        best->trace = trace;
    }
    return HINGE_OK;
}

/* Makes room for the factoring of rows; a->diagonal is the owner. */
static bool make_room(struct factoring *f)
{
    size_t n = f->rows->n, ahead = most_ahead(n, f->rank), pooled = POOLED * ahead;
    struct ahead *a = &f->all, *pool = &f->pool;
    a->n = n;
    return HG_ROOM(HG_ARRAY(a->diagonal, n), HG_TABLE(a->row, ahead, n), HG_ARRAY(a->best, n / SLICE + 1),
                   HG_TABLE(f->of_z, pooled, f->rank), HG_ARRAY(f->pooled, pooled), HG_ARRAY(pool->diagonal, pooled),
                   HG_TABLE(pool->row, pooled, pooled));
}

/* Goes on while columns are left, the trace of what is left is more than `enough` of the whole, and the pivot is more
 * than rounding: 1e-15 of the largest diagonal value. Of an indefinite K the diagonal left may become negative; it is
 * never a pivot then. `left` tells how near the factor is, and is report.trace_error in the end. */
hinge_status hg_pivoted_cholesky(struct hg_rows *rows, size_t rank, double enough, const struct hg_halt *halt,
                                 double *z, uint32_t *pivots, size_t *used, double *left)
{
    struct factoring f = { .rows = rows, .halt = halt, .rank = rank, .z = z };
    const struct ahead *a = &f.all;
    hinge_status status = make_room(&f) ? hg_rows_diagonal(rows, f.all.diagonal, NULL) : HINGE_ENOMEM;
    struct best best = status == HINGE_OK && rows->n > 0 ? find_best(a->diagonal, 0, rows->n) : (struct best){ 0, 0 };
    const double whole = best.trace, largest = whole > 0 ? a->diagonal[best.pivot] : 0;
    while (status == HINGE_OK && f.c + a->used < rank && best.trace > enough * whole &&
           a->diagonal[best.pivot] > 1e-15 * largest && !hg_poll_halt(halt)) {
        if (pivots != NULL)
            pivots[f.c + a->used] = (uint32_t)best.pivot;
        status = add_pivot(&f, &best);
    }
    end_turn(&f);
    *used = f.c;
    *left = best.trace > 0 ? best.trace / whole : 0;
    hg_free(f.all.diagonal);
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
