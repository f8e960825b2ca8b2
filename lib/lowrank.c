/* Factors of a kernel matrix for the interior point (lowrank.h), and whether one pays. */
#include "lib/lowrank.h"
#include "solver/ipm/cholesky.h"

#include <math.h>
#include <string.h>

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void rows_of_points(const struct hg_factor *super, size_t first, size_t count, double *out, size_t ld)
{
    const struct hg_lowrank *l = (const struct hg_lowrank *)super;
    hg_points_pack(l->points, l->subset + first, 0, count, HINGE_F64, out, ld);
}

static void rows_of_matrix(const struct hg_factor *super, size_t first, size_t count, double *out, size_t ld)
{
    const struct hg_lowrank *l = (const struct hg_lowrank *)super;
    for (size_t k = 0; k < count; k++)
        memcpy(out + k * ld, l->z + (first + k) * super->d, super->d * sizeof *out);
}

/* ---- the factor -------------------------------------------------------------------------------------------------- */

/* Z is made with room for `rank` columns; what is not used is given up by moving the rows together. */
static void drop_columns(struct hg_lowrank *l, size_t rank, size_t used)
{
    for (size_t i = 1; i < l->super.n && used < rank; i++)
        memmove(l->z + i * used, l->z + i * rank, used * sizeof *l->z);
    l->super.d = used;
}

static hinge_status factor_kernel(struct hg_lowrank *l, const struct hg_problem *pr, size_t rank, int threads,
                                  const struct hg_halt *halt, hinge_error *err)
{
    struct hg_gram gram = { 0 };
    size_t n = l->super.n, values, used = 0;
    rank = HG_MIN(rank > 0 ? rank : (size_t)HG_RANK_DEFAULT, n);
    l->most = rank;
    l->z = hg_mul(n, rank, &values) ? hg_alloc(values, sizeof *l->z) : NULL;
    if (l->z == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for a factor of rank %zu of %zu rows", rank, n);
    HG_TRY(hg_problem_exact(pr, l->subset, n, threads, &gram, err));
    hinge_status status = hg_pivoted_cholesky(&gram.super, rank, 1e-14, halt, l->z, &used, &l->trace_error);
    l->values = gram.super.values;
    hg_gram_free(&gram);
    if (status == HINGE_ENOMEM)
        return hg_fail(err, status, "no memory for a factor of rank %zu of %zu rows", rank, n);
    if (status != HINGE_OK)
        return hg_fail(err, status, "the kernel function reported a failure");
    drop_columns(l, rank, used);
    l->bytes = n * used * sizeof *l->z;
    l->super.rows = rows_of_matrix;
    return HINGE_OK;
}

hinge_status hg_lowrank_init(struct hg_lowrank *l, const struct hg_problem *pr, const uint32_t *subset, size_t n,
                             size_t rank, int threads, const struct hg_halt *halt, hinge_error *err)
{
    *l = (struct hg_lowrank){ .super = { n, pr->d, rows_of_points }, .points = &pr->points, .subset = subset };
    bool is_linear = pr->params.kernel.type == HINGE_LINEAR;
    if (is_linear && pr->d <= n && (rank == 0 || rank >= pr->d))
        return HINGE_OK;
    if (is_linear && rank == 0)
        rank = n; /* what rows span has no more dimensions than there are rows */
    if (!is_linear && rank == 0 && hg_lowrank_columns(pr, HG_RANK_EXACT) > 0)
        rank = hg_lowrank_columns(pr, HG_RANK_EXACT) + 1; /* so that they can be seen to be all */
    hinge_status status = factor_kernel(l, pr, rank, threads, halt, err);
    if (status != HINGE_OK)
        hg_lowrank_free(l);
    return status;
}

void hg_lowrank_free(struct hg_lowrank *l)
{
    hg_free(l->z);
    l->z = NULL;
}

size_t hg_lowrank_most(size_t n)
{
    double values = (double)hg_total_memory() / (4 * sizeof(double)), rows = (double)n;
    double rank = (sqrt(rows * rows + 28 * values) - rows) / 14; /* rows * rank + 7 rank^2 = values */
    return HG_MIN(HG_MAX((size_t)rank, (size_t)HG_RANK_DEFAULT), n);
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

size_t hg_lowrank_columns(const struct hg_problem *pr, size_t most)
{
    const hinge_kernel *k = &pr->params.kernel;
    bool constant = k->coef0 != 0;
    double columns = 1;
    if (k->type == HINGE_LINEAR)
        return pr->d > 0 && pr->d <= most ? pr->d : 0;
    if (k->type != HINGE_POLYNOMIAL || k->degree < 1 || pr->d == 0 || !(k->gamma > 0 && k->coef0 >= 0))
        return 0;
    for (int i = 1; i <= k->degree && columns <= (double)most; i++)
        columns = columns * ((double)pr->d - !constant + i) / i;
    return columns <= (double)most ? (size_t)(columns + 0.5) : 0;
}

size_t hg_lowrank_inside(const struct hg_problem *pr, size_t n)
{
    size_t columns = hg_lowrank_columns(pr, HG_RANK_EXACT);
    if (columns > 0 && n >= 2 * columns)
        return columns;
    return n <= HG_RANK_EXACT && pr->params.kernel.type != HINGE_SIGMOID ? n : 0;
}

uint64_t hg_lowrank_steps(size_t n, size_t columns)
{
    const double each = 3000; /* multiplications in the time of a step; of some 20 systems */
    return 10000 + 10 * (uint64_t)n + (uint64_t)(20 * (double)n * (double)columns * (double)columns / each);
}

/* Some 20 iterations of n (d + 1)^2 multiplications, and n times a constant; SMO computes the rows of its support
 * vectors, a share of n^2 d, and then takes steps whose number no count tells before: it grows with C and with how the
 * data are scaled. Measured (doc/interior-point.md), the interior point is ahead from n = 3 d on at C = 1, and at C =
 * 100 by one to three orders; below 100 rows both take less than a millisecond. */
bool hg_lowrank_pays(const struct hg_problem *pr)
{
    enum { LEAST_ROWS = 100, ROWS_A_COLUMN = 3 };
    size_t columns = pr->params.kernel.type == HINGE_LINEAR ? hg_lowrank_columns(pr, HG_RANK_EXACT) : 0, rows = 0;
    if (columns == 0 || pr->n_problems == 0)
        return false;
    for (size_t p = 0; p < pr->n_problems; p++)
        rows += hg_problem_size(pr, p);
    rows /= pr->n_problems;
    return rows >= LEAST_ROWS && rows >= ROWS_A_COLUMN * columns;
}
