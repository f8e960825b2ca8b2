#include "lib/lowrank.h"
#include "solver/cholesky.h"

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
                                  int *stop, double deadline, hinge_error *err)
{
    struct hg_gram gram = { 0 };
    size_t n = l->super.n, values, used = 0;
    rank = HG_MIN(rank > 0 ? rank : (size_t)HG_RANK_DEFAULT, n);
    l->z = hg_mul(n, rank, &values) ? hg_alloc(values, sizeof *l->z) : NULL;
    if (l->z == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for a factor of rank %zu of %zu rows", rank, n);
    l->bytes = values * sizeof *l->z;
    hinge_status status = hg_problem_exact(pr, l->subset, n, threads, &gram, err);
    if (status != HINGE_OK)
        return status;
    status = hg_pivoted_cholesky(&gram.super, rank, 1e-14, stop, deadline, l->z, &used, &l->trace_error);
    l->values = gram.super.values;
    hg_gram_free(&gram);
    if (status == HINGE_ENOMEM)
        return hg_fail(err, status, "no memory for a factor of rank %zu of %zu rows", rank, n);
    if (status != HINGE_OK)
        return hg_fail(err, status, "the kernel function reported a failure");
    drop_columns(l, rank, used);
    l->super.rows = rows_of_matrix;
    return HINGE_OK;
}

hinge_status hg_lowrank_init(struct hg_lowrank *l, const struct hg_problem *pr, const uint32_t *subset, size_t n,
                             size_t rank, int threads, int *stop, double deadline, hinge_error *err)
{
    *l = (struct hg_lowrank){ .super = { n, pr->d, rows_of_points }, .points = &pr->points, .subset = subset };
    if (pr->params.kernel.type == HINGE_LINEAR && (rank == 0 || rank >= pr->d))
        return HINGE_OK;
    hinge_status status = factor_kernel(l, pr, rank, threads, stop, deadline, err);
    if (status != HINGE_OK)
        hg_lowrank_free(l);
    return status;
}

void hg_lowrank_free(struct hg_lowrank *l)
{
    hg_free(l->z);
    l->z = NULL;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

bool hg_lowrank_pays(const struct hg_problem *pr)
{
    (void)pr;
    return false;
}
