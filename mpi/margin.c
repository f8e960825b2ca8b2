/*
 * The closest nu that has a margin, over ranks: what lib/train/margin.c finds for a training. Each nu that is tried is
 * a run of its own from the usual start; all ranks see the same of it, and go the same way.
 */
#include "lib/train/training.h"
#include "mpi/mpi_run.h"

#include <math.h>

/* Forms what the boxes of each layer can hold (hm_sum_tiles). */
static void form_room(const struct hm_run *run, size_t at, size_t n, double *part)
{
    for (size_t i = at; i < at + n; i++) {
        part[0] += run->qp.hi[0][i];
        part[1] -= run->qp.lo[1][i];
    }
}

/* Solves the problem for another nu, by so many steps at most (0: as many as there are). has_margin: a solution to eps
 * proves one, and r has digits. */
static hinge_status try_nu(struct hm_run *run, const struct hm_run *of, struct hm_own *own, struct hm_watch *watch,
                           double nu, uint64_t steps, bool *has_margin, hinge_error *err)
{
    own->pr.params.nu = nu;
    own->pr.params.max_iter = steps;
    hinge_status status = hm_solve(run, of->net, own, of->problem, watch, err);
    *has_margin = false;
    if (status == HINGE_OK && run->report.outcome == HINGE_CONVERGED)
        status = hm_look_at_margin(run, 10, has_margin, err);
    return status;
}

/* Halves the interval from the nu asked for to the largest until its ends differ by a hundredth; each run may take a
 * quarter of the steps that the nu asked for took, and 100 a point, but no more than the caller allows in all. */
hinge_status hm_closest_nu(struct hm_run *run, struct hm_own *own, struct hm_watch *watch, double *nu, hinge_error *err)
{
    enum { LOOKS = 12 };
    const hinge_params asked = own->pr.params;
    struct hm_save *save = watch->save;
    struct hm_run other;
    hinge_outcome outcome = HINGE_NO_MARGIN;
    hinge_status status = HINGE_OK;
    uint64_t taken = run->report.iterations, most = taken / 4 + 100 * (uint64_t)run->n_all;
    double room[HM_REALS];
    hm_sum_tiles(run, form_room, 2, room);
    double low = 1, high = HG_LARGEST_NU * HG_MIN(room[0], room[1]) / run->sums[0], next = high;
    *nu = 0;
    watch->save = NULL; /* a checkpoint is of the nu asked for */
    for (int k = 0; k < LOOKS && high > 1.01 * low && !hg_ended_early(outcome) && status == HINGE_OK; k++) {
        uint64_t left = asked.max_iter > taken ? asked.max_iter - taken : 0;
        bool has_margin;
        if (asked.max_iter > 0 && left == 0)
            break;
        status = try_nu(&other, run, own, watch, next * asked.nu, asked.max_iter > 0 ? HG_MIN(left, most) : most,
                        &has_margin, err);
        taken += other.report.iterations;
        outcome = hg_ended_early(other.report.outcome) ? other.report.outcome : outcome;
        bool is_last = !has_margin && *nu == 0; /* the largest nu has none */
        hg_add_work(has_margin ? &other.report : &run->report, has_margin ? &run->report : &other.report);
        if (has_margin) {
            struct hm_run before = *run;
            *run = other;
            other = before;
            *nu = next * asked.nu;
        }
        *(has_margin ? &high : &low) = next;
        hm_run_free(&other);
        if (is_last)
            break;
        next = sqrt(low * high);
    }
    own->pr.params = asked;
    watch->save = save;
    run->report.outcome = outcome;
    return status;
}
