/*
 * Folds of nu-SVC that have no margin, for all that their solution tells: as in a training (lib/train/margin.c), a
 * finer solution is looked for, and then that of the closest nu that has a margin. Read line.c before.
 */
#include "lib/select/select.h"
#include "lib/train/training.h"

#include <math.h>

struct settling {
    const struct hg_selecting *s;
    struct hg_part *part;
    struct hg_reduced *reduced;
    struct hg_solution *solution;
    hinge_error *err;
};

/* Solves the part's problem by itself, by rows in f64 (hg_margin.solve). */
static hinge_status solve(void *arg, double eps, uint64_t max_iter, struct hg_turns *finer)
{
    const struct settling *a = arg;
    struct hg_smo_result result = { 0 };
    const struct hg_smo_options options = { .eps = eps,
                                            .max_iter = max_iter,
                                            .look_at = finer != NULL ? finer->look.work : 0,
                                            .look = hg_turns_look,
                                            .look_arg = finer };
    hinge_status status = hg_part_smo(a->s, a->part, options, &a->reduced->qp, &result, a->err);
    a->solution->report = result.report;
    a->solution->f_error = HG_MAX(result.report.error, result.report.violation / 2);
    for (int l = 0; l < 2; l++)
        a->solution->bias[l] = result.bias[l];
    return status;
}

/* Says whether r is so little that it may be of the violation's making: nothing that a converged fold is asked for
 * elsewhere (refine.c) leaves it so. */
static bool is_doubtful(const struct hg_selecting *s, const struct hg_part *part)
{
    const struct hg_many_problem *many = &part->many;
    double r = (many->bias[1] - many->bias[0]) / 2;
    return many->report.outcome == HINGE_CONVERGED && !(r > 10 * HG_MAX(s->params.eps, many->report.violation));
}

/* Takes what has been settled for the part's solution: coefficients of another nu have another gradient. */
static hinge_status take(const struct settling *a, hinge_error *err)
{
    struct hg_part *part = a->part;
    const struct hg_solution *solution = a->solution;
    HG_TRY(hg_part_settle(a->s, part, solution->report.outcome, err));
    part->undivided = solution->undivided && solution->nu == 0;
    part->nu = solution->nu > 0 ? solution->nu : part->nu;
    part->steps = solution->report.iterations;
    return HINGE_OK;
}

/* Settles one part. */
static hinge_status settle(struct hg_selecting *s, struct hg_part *part, hinge_error *err)
{
    const struct hg_problem *pr = &hg_part_field(s, part)->problem;
    struct hg_reduced reduced = { .qp = part->qp, .points = (uint32_t *)part->point, .g = part->g };
    struct hg_solution solution = { .report = part->many.report };
    struct settling settling = { s, part, &reduced, &solution, err };
    struct hg_margin m = { .problem = pr,
                           .nu = part->nu,
                           .reduced = &reduced,
                           .s = &solution,
                           .work = part->work,
                           .threads = pr->data.threads,
                           .halt = &s->halt,
                           .solve = solve,
                           .arg = &settling };
    solution.report.iterations = part->steps;
    solution.report.objective = hg_qp_objective(&part->qp, part->g);
    solution.f_error = part->many.report.violation / 2;
    for (int l = 0; l < 2; l++) {
        reduced.sums[l] = part->sums[l];
        solution.bias[l] = part->many.bias[l];
    }
    HG_TRY(HG_MAKE(err, "the search for a margin", HG_TABLE(reduced.kept, part->n, (size_t)part->qp.layers)));
    hinge_status status = hg_settle_margin(&m, err);
    hg_free(reduced.kept);
    return status == HINGE_OK ? take(&settling, err) : status;
}

void hg_part_bias(const struct hg_problem *pr, const struct hg_part *part, double *bias, double *factor)
{
    hg_problem_bias(pr, part->many.bias, bias, factor);
    *factor = *factor == 0 || part->undivided ? 1 : *factor;
}

hinge_status hg_select_margins(struct hg_selecting *s, hinge_grid_point *point, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    for (size_t b = 0; b < s->n_batch && status == HINGE_OK && s->params.task == HINGE_NU_SVC; b++) {
        struct hg_part *part = s->batch[b];
        uint64_t steps = part->steps;
        if (!is_doubtful(s, part) || hg_halted(&s->halt))
            continue;
        status = settle(s, part, err);
        point->iterations += part->steps - steps;
        s->out->iterations += part->steps - steps;
        point->outcome = hg_worse_outcome(point->outcome, part->many.report.outcome);
    }
    return status;
}
