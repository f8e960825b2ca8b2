/*
 * Newton's system, dz and ds eliminated:
 *
 *     [ Q + A'DA   E' ] [  du ]
 *     [ E          0  ] [ -dy ],     D = diag(z / s)
 *
 * Both corners get a little beside: what they are short of rank leaves no direction in which rounding could run away.
 * Refinement by the residual of the system before the elimination takes it out again.
 */
#include "lib/theory/dense.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Makes out = beta out + alpha M x, M [rows * cols], or its transpose. */
static void multiply(CBLAS_TRANSPOSE transpose, double alpha, const double *matrix, size_t rows, size_t cols,
                     const double *x, double beta, double *out)
{
    if (rows > 0 && cols > 0)
        cblas_dgemv(CblasRowMajor, transpose, (int)rows, (int)cols, alpha, matrix, (int)cols, x, 1, beta, out, 1);
}

void hg_dense_add_q(const struct hg_dense *r, double alpha, const double *u, double beta, double *out)
{
    multiply(CblasNoTrans, alpha, r->q, r->n, r->n, u, beta, out);
}

void hg_dense_add_rows(const struct hg_dense *r, double alpha, const double *u, double beta, double *out)
{
    multiply(CblasNoTrans, alpha, r->a + r->e * r->n, r->m, r->n, u, beta, out + r->e);
    multiply(CblasNoTrans, alpha, r->a, r->e, r->n, u, beta, out);
}

void hg_dense_add_columns(const struct hg_dense *r, double alpha, const double *v, double *out)
{
    multiply(CblasTrans, alpha, r->a + r->e * r->n, r->m, r->n, v + r->e, 1, out);
    multiply(CblasTrans, alpha, r->a, r->e, r->n, v, 1, out);
}

double hg_dense_largest(const double *x, size_t n)
{
    double most = 0;
    for (size_t k = 0; k < n; k++)
        most = fmax(most, fabs(x[k]));
    return most;
}

/* ---- factor and solution ----------------------------------------------------------------------------------------- */

/* Puts E into the matrix's last rows. Where the lower right corner is as good as 0, equalities that depend on others
 * are left out, as the matrix would be singular: their y stays as it is. */
static void add_equalities(struct hg_dense *r, double corner)
{
    size_t n = r->n, order = r->order;
    bool all = corner > 1e-10;
    for (size_t i = 0; i < r->e; i++) {
        bool is_in = all || r->held[i] != 0;
        if (is_in)
            memcpy(r->factor + (n + i) * order, r->a + i * n, n * sizeof(double));
        r->factor[(n + i) * order + n + i] = is_in ? -corner : -1;
    }
}

/* Makes Q + A'DA by a rank-m product of sqrt(D) A, of which the lower triangle is enough, and factors it with E by
 * Bunch and Kaufman's method, as the matrix is indefinite. false: a pivot is 0. */
bool hg_dense_factor(struct hg_dense *r, double quadratic, double ridge, double corner)
{
    size_t n = r->n, m = r->m, order = r->order;
    const double *a = r->a + r->e * n;
    memset(r->factor, 0, order * order * sizeof(double));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            r->factor[i * order + j] = quadratic * r->q[i * n + j];
    for (size_t i = 0; i < m; i++) {
        double root = sqrt(r->d[i]);
        for (size_t j = 0; j < n; j++)
            r->root_a[i * n + j] = root * a[i * n + j];
    }
    if (m > 0)
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)n, (int)m, 1, r->root_a, (int)n, 1, r->factor,
                    (int)order);
    add_equalities(r, corner);
    for (size_t i = 0; i < n; i++)
        r->factor[i * order + i] += ridge + 1e-14 * r->factor[i * order + i];
    return LAPACKE_dsytrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)order, r->factor, (lapack_int)order, r->pivots,
                               r->work, r->work_size) == 0;
}

/* Eliminates z on the right-hand side, solves for u and y, and gets z back from its row: z = D (l_A - A u). */
bool hg_dense_add_solution(struct hg_dense *r, struct hg_dense_point *x)
{
    size_t n = r->n, m = r->m;
    const double *a = r->a + r->e * n;
    double *v = r->room, *weighted = r->room + r->order, *of_a = r->l + r->order;
    for (size_t i = 0; i < m; i++)
        weighted[i] = r->d[i] * of_a[i];
    memcpy(v, r->l, r->order * sizeof(double)); /* of u and y */
    multiply(CblasTrans, 1, a, m, n, weighted, 1, v);
    if (LAPACKE_dsytrs_work(LAPACK_COL_MAJOR, 'U', (lapack_int)r->order, 1, r->factor, (lapack_int)r->order, r->pivots,
                            v, (lapack_int)r->order) != 0)
        return false;
    multiply(CblasNoTrans, -1, a, m, n, v, 1, of_a);
    for (size_t i = 0; i < m; i++)
        x->z[i] += r->d[i] * of_a[i];
    for (size_t k = 0; k < n; k++)
        x->u[k] += v[k];
    for (size_t k = 0; k < r->e; k++)
        x->y[k] -= v[n + k];
    return true;
}
