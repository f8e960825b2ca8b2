/*
 * Folds that the interior point ends where SMO has taken too many steps, or has stalled, as hinge_train has it
 * (lib/solve.c): linear kernels and polynomials of few monomials, and any kernel of few points. Read line.c before.
 */
#include "lib/lowrank.h"
#include "lib/params.h"
#include "lib/select/select.h"

#include <string.h>

bool hg_select_asks_inside(const struct hg_selecting *s)
{
    return s->params.solver == HINGE_SOLVER_INTERIOR_POINT || hg_params_need_interior(&s->params);
}

/* Columns of the kernel in hand where they are so few that SMO's steps are limited; 0: they are not. */
static size_t columns_of(const struct hg_selecting *s, const struct hg_problem *pr, size_t n)
{
    return hg_params_leave_solver(&s->params) ? hg_lowrank_inside(pr, n) : 0;
}

uint64_t hg_select_steps(const struct hg_selecting *s, const hinge_grid_point *point)
{
    struct hg_problem pr = s->field[0].problem;
    size_t n = 0;
    pr.params = hg_point_params(s, point);
    for (size_t b = 0; b < s->n_batch; b++)
        n = HG_MAX(n, s->batch[b].part->n);
    size_t columns = columns_of(s, &pr, n);
    return columns > 0 ? hg_lowrank_steps(n, columns) : s->params.max_iter;
}

/* The part's problem anew, whatever its start. STALLED: not to eps. */
static hinge_status solve(const struct hg_selecting *s, const struct hg_problem *pr, struct hg_part *part,
                          hinge_error *err)
{
    struct hg_lowrank z;
    struct hg_interior_result result;
    struct hg_interior_options options = { .eps = s->out->eps, .gap = HG_MIN(s->out->eps, 1e-6), .sums = part->sums,
                                           .threads = pr->threads, .halt = s->halt };
    size_t rank = pr->params.rank;
    if (rank == 0 && hg_lowrank_columns(pr, HG_RANK_EXACT) == 0)
        rank = HG_MIN(part->n, (size_t)HG_RANK_EXACT);
    HG_TRY(hg_lowrank_init(&z, pr, part->point, part->n, rank, pr->threads, &s->halt, err));
    hinge_status status = hg_interior_point(&part->qp, &z.super, &options, &result, err);
    if (status == HINGE_OK)
        status = hg_problem_gradient(pr, part->point, &part->qp, pr->threads, NULL, part->g, err);
    if (status == HINGE_OK && z.z != NULL)
        hg_interior_judge(&part->qp, part->g, &options, &result);
    hg_lowrank_free(&z);
    if (status != HINGE_OK)
        return status;
    bool ends = result.report.outcome == HINGE_STALLED && result.report.violation <= s->out->eps;
    part->many.outcome = ends ? HINGE_CONVERGED : result.report.outcome;
    part->many.violation = result.report.violation;
    part->many.iterations += result.report.iterations;
    memcpy(part->many.bias, result.bias, sizeof part->many.bias);
    return HINGE_OK;
}

/* The better of what SMO has, which is kept in room, and what the interior point makes of it. */
static hinge_status improve(const struct hg_selecting *s, const struct hg_problem *pr, struct hg_part *part,
                            double *room, hinge_error *err)
{
    struct hg_many_problem before = part->many;
    size_t n = part->qp.n, values = n * (size_t)part->qp.layers;
    double objective = hg_qp_objective(&part->qp, part->g);
    memcpy(room, part->qp.beta[0], values * sizeof *room);
    memcpy(room + values, part->g, n * sizeof *room);
    hinge_status status = solve(s, pr, part, err);
    bool better = status == HINGE_OK &&
                  (part->many.outcome == HINGE_CONVERGED || hg_qp_objective(&part->qp, part->g) < objective);
    if (!better) {
        before.iterations = part->many.iterations;
        memcpy(part->qp.beta[0], room, values * sizeof *room);
        memcpy(part->g, room + values, n * sizeof *room);
        if (!hg_ended_early(part->many.outcome))
            part->many = before;
    }
    part->many.moved = NULL;
    return status == HINGE_ENOMEM ? hg_ok(err) : status;
}

hinge_status hg_select_inside(struct hg_selecting *s, const hinge_grid_point *point, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    bool asks = hg_select_asks_inside(s);
    for (size_t b = 0; b < s->n_batch && status == HINGE_OK; b++) {
        struct hg_part *part = s->batch[b].part;
        struct hg_field *field = &s->field[s->n_fields == 1 ? 0 : s->batch[b].fold];
        bool stalled = part->many.outcome == HINGE_STALLED, limited = part->many.outcome == HINGE_MAX_ITER;
        struct hg_problem pr = field->problem;
        pr.params = hg_point_params(s, point);
        size_t n = part->n, columns = columns_of(s, &pr, n);
        if (asks)
            status = solve(s, &pr, part, err);
        if (asks || !(stalled || limited) || columns == 0)
            continue;
        double *room = hg_alloc(n, 3 * sizeof *room);
        if (room == NULL)
            return hg_fail(err, HINGE_ENOMEM, "no memory for %zu coefficients", n);
        if (columns <= hg_lowrank_most(n))
            status = improve(s, &pr, part, room, err);
        hg_free(room);
        uint64_t iterations = part->many.iterations;
        if (status == HINGE_OK && part->many.outcome == HINGE_MAX_ITER) {
            struct hg_many_problem *problem = &part->many;
            status = hg_many_solve(&field->many, &problem, 1, s->out->eps, 0, &s->halt, err);
            part->many.iterations += iterations;
        }
    }
    return status;
}
