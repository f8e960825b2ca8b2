/*
 * Says what a round's violation means for the run: whether it goes on, is corrected, is left to Newton, or ends. RULES
 * at the end is the state machine: the first rule that applies is acted by, and r->course.next then says where the run
 * goes from there. Read run.h before.
 */
#include "solver/smo/run.h"

#include <string.h>

enum {
    ERRS_MORE = 8, /* times the error of the first problem is more than another one near its solution has */
    AHEAD = 20     /* times the violation to be reached: the error of rows is looked at */
};

/* ---- steps and work ---------------------------------------------------------------------------------------------- */

bool hg_is_out_of_steps(const struct hg_run *r)
{
    return r->opt->max_iter > 0 && r->report->iterations >= r->opt->max_iter;
}

/* Counts the round's work in reads of a value: rows for m active points, two rows of K_WW a step, and the fresh rows of
 * K_WW. */
void hg_count_work(struct hg_run *r, uint64_t steps)
{
    double of_fresh = (1 + r->rows->cost) * (double)r->w.n_fresh;
    double work = r->store.work * (double)r->active.m + (double)r->w.n * (2 * (double)steps + of_fresh) +
                  r->w.face.work;
    r->course.newton.work += work;
    r->res->work += work;
}

/* ---- the objective ----------------------------------------------------------------------------------------------- */

/* Brings g from positions to points, as hg_qp_objective takes it. */
double hg_recompute_objective(struct hg_run *r)
{
    double *by_point = r->spare.coef;
    for (size_t at = 0; at < r->n; at++)
        by_point[r->active.point[at]] = r->active.g[at];
    return hg_qp_objective(r->qp, by_point);
}

/* Keeps beta as the one to go back to. Objectives are compared with HG_CERTAIN times the noise of the new one between
 * them: rounding may lead a run back and forth, and a beta is not to be kept for what rounding made of it. What is
 * known of it, violation and biases, is kept beside it. */
void hg_keep(struct hg_run *r)
{
    struct hg_course *c = &r->course;
    if (!(c->objective + HG_CERTAIN * c->noise <= c->kept.objective))
        return;
    c->kept.objective = c->objective;
    c->kept.violation = r->report->violation;
    for (int l = 0; l < r->qp->layers; l++) {
        memcpy(c->kept.beta[l], r->qp->beta[l], r->n * sizeof(double));
        c->kept.bias[l] = hg_qp_bias(r->qp, r->active.point, r->active.m, r->active.g, l);
    }
}

/* The gradient of all points in f64, added up in two orders: what they differ by is the noise of the objective. */
static hinge_status recompute(struct hg_run *r)
{
    double *g = r->active.g, *other = r->active.up[0]; /* set anew below */
    hg_activate_all(r);
    hinge_status status = hg_compute_gradient(r, r->exact, 0, true);
    memcpy(other, g, r->n * sizeof *other);
    if (status == HINGE_OK && !hg_is_stopped(r))
        status = hg_compute_gradient(r, r->exact, 0, false);
    r->course.noise = 0;
    for (size_t at = 0; at < r->n; at++) {
        r->course.noise += fabs(hg_qp_beta(r->qp, r->active.point[at]) * (g[at] - other[at]));
        hg_set_offsets(r, at);
    }
    return hg_note_torn(r, status);
}

/* ---- what is done ------------------------------------------------------------------------------------------------ */

/* Actions of the rules begin here; hg_judge has set r->course.next to HG_GO_ON, and an action sets it where it is
 * another one. */

static hinge_status end(struct hg_run *r)
{
    r->course.phase = HG_ENDED;
    return HINGE_OK;
}

static hinge_status end_with(struct hg_run *r, hinge_outcome outcome)
{
    r->report->outcome = outcome;
    return end(r);
}

/* Ends a run whose steps are used up, or which another solver goes on from. */
static hinge_status give_up(struct hg_run *r)
{
    return end_with(r, HINGE_MAX_ITER);
}

/* Ends a run that gains nothing. By rows that are not f64 that may be their rounding's doing, and the caller is told to
 * try better ones. */
static hinge_status stall(struct hg_run *r)
{
    r->res->coarse = r->rows->type != HINGE_F64; /* rows in f64 may get further */
    return end_with(r, HINGE_STALLED);
}

static bool is_small(struct hg_run *r)
{
    return r->report->violation <= r->course.target;
}

/* Goes on where a gradient was mended or completed: all rules anew where the violation is small still, or the run was
 * stopped meanwhile; otherwise with another round. */
static hinge_status judge_changed(struct hg_run *r, hinge_status status)
{
    r->course.next = is_small(r) || hg_is_stopped(r) ? HG_ANEW : HG_GO_ON;
    return status;
}

/* Ends the run where its rows are too coarse, of which hg_look_at_rows knows; otherwise the rules below decide. */
static hinge_status look_at_rows(struct hg_run *r)
{
    r->course.next = HG_NEXT;
    HG_TRY(hg_look_at_rows(r));
    return r->res->coarse ? end_with(r, HINGE_STALLED) : HINGE_OK;
}

/* Finds out whether the violation is small for all points, and whether the rows are exact enough to say so. The order
 * is that of cost: points at rest wake, g becomes exact where it decides, the goal is set lower, and in the end all of
 * g is made anew in f64.
 *
 * The goal can be lower where rows are right to a share of eps: at a violation of `left` by g, it is at most eps with
 * an error at both ends of it, and a tenth of that. A goal of less than a quarter of eps costs more than a new
 * gradient; one that has hardly changed was tried already.
 *
 * Where a first problem was proven with an error far below eps, this one's near its solution (ERRS_MORE times that) is
 * small as well, and nothing is measured. */
static hinge_status verify(struct hg_run *r)
{
    double eps = r->opt->eps;
    bool proven = false;
    if (r->active.m < r->n)
        return judge_changed(r, hg_wake(r));
    if (r->first.g != NULL && r->report->corrections == 0 && ERRS_MORE * r->first.error <= eps)
        return end_with(r, HINGE_CONVERGED); /* the error stays unknown: that of this problem is not measured */
    HG_TRY(hg_prove(r, &proven));
    if (hg_is_stopped(r))
        return judge_changed(r, HINGE_OK);
    if (proven)
        return end_with(r, HINGE_CONVERGED);
    /* The points that decide are exact now, and may say that there is more to do. */
    bool more = r->report->violation > eps && ++r->course.checks % HG_CHECKS != 0;
    double left = eps - HG_ERROR_SHARE * r->report->error;
    if (!more && left >= HG_LEAST_TARGET * eps && r->course.target > HG_SLACK * left) {
        r->course.target = left; /* cheaper than a gradient in f64 */
        more = true;
    }
    if (more && !is_small(r)) { /* whether there is progress from here on is asked as ever */
        r->course.phase = HG_NEAR;
        r->course.next = HG_NEXT;
    }
    if (more)
        return HINGE_OK;
    return r->report->corrections < HG_MAX_CORRECTIONS ? judge_changed(r, hg_correct_gradient(r)) : stall(r);
}

/* Looks at the rows' error on the way: where it will not do in the end, the active gradient is corrected while it is
 * still far from the goal, and what follows is not done twice. */
static hinge_status look_ahead(struct hg_run *r)
{
    r->course.phase = HG_NEAR;
    HG_TRY(hg_measure_error(r));
    if (!hg_is_stopped(r) && r->report->error > r->opt->eps)
        HG_TRY(hg_correct_gradient(r));
    r->report->error = NAN;
    r->course.next = hg_is_stopped(r) ? HG_ANEW : HG_GO_ON; /* by this W: the bias may have to come from it */
    return HINGE_OK;
}

/* Notes the best violation and its round, from which patience counts. */
static hinge_status mark(struct hg_run *r)
{
    r->course.best = r->report->violation;
    r->course.best_round = r->report->rounds;
    return HINGE_OK;
}

/* Makes the gradient and the objective anew, to find out whether there was no progress for long: a violation may go up
 * and down while the objective falls. Progress is more than the objective's noise since it was last computed so, as
 * what rounds add up drifts with the error of g. Newton's steps are the last resort, once. Where that is in vain too,
 * the run ends; the best beta that was kept is the result's (block.c, finish). */
static hinge_status look_back(struct hg_run *r)
{
    double before = r->course.last_objective, begin = hg_now();
    HG_TRY(recompute(r));
    if (!r->active.torn) {
        hg_scan(r);
        r->course.objective = r->course.last_objective = hg_recompute_objective(r);
        hg_keep(r);
    }
    r->report->phase.certificate += hg_now() - begin;
    if (hg_is_broken_off(r) || is_small(r)) {
        r->course.next = HG_ANEW;
        return HINGE_OK;
    }
    if (!hg_has_worked_enough(r) && before - r->course.objective > r->course.noise)
        return mark(r);
    if (r->course.resorted || !hg_may_use_newton(r))
        return stall(r);
    r->course.resorted = true;
    return hg_run_newton(r, hg_newton_granted(&r->course.newton, r->qp, r->exact));
}

/* Makes the gradient and the objective anew for the caller, who says whether the run gains. */
static hinge_status show(struct hg_run *r)
{
    double n_sv = (double)hg_qp_support(r->qp, NULL, NULL, NULL);
    HG_TRY(recompute(r));
    r->course.next = HG_ANEW;
    if (r->active.torn)
        return HINGE_OK;
    hg_scan(r);
    r->course.objective = r->course.last_objective = hg_recompute_objective(r);
    hg_keep(r);
    r->res->work += 2 * (1 + r->exact->cost) * n_sv * (double)r->n;
    struct hg_way way = { r->res->work, r->report->violation, r->course.objective, r->course.noise };
    r->course.look_at = r->opt->look(r->opt->look_arg, &way);
    return r->course.look_at > 0 ? HINGE_OK : give_up(r);
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

bool hg_is_broken_off(struct hg_run *r)
{
    if (hg_is_stopped(r))
        r->report->outcome = hg_halt_outcome(&r->halt);
    else if (!isfinite(r->report->violation))
        r->report->outcome = HINGE_NONFINITE;
    else
        return false;
    return true;
}

/* Rows are not exact, and their errors add up in gradients of points outside W. */
static bool may_err(const struct hg_run *r)
{
    return r->rows != r->exact && r->w.n < r->active.m;
}

/* Says whether it is time to look at the rows' error, by rounds: their errors grow with what they are added to. */
static bool may_have_erred(struct hg_run *r)
{
    return may_err(r) && (r->report->rounds + 1) % HG_LOOK == 0;
}

/* Says whether the run comes near its goal for the first time, where a look ahead is worth what it costs. */
static bool comes_near(struct hg_run *r)
{
    return r->course.phase == HG_FAR && r->report->violation <= AHEAD * r->course.target && may_err(r);
}

/* Says whether the steps are used up, or whether the caller leaves: another solver may do the rest in less time. */
static bool is_out_of_steps(struct hg_run *r)
{
    const struct hg_smo_options *o = r->opt;
    return hg_is_out_of_steps(r) || (o->leaves != NULL && o->leaves(o->leaves_arg, r->report->iterations));
}

/* Says whether the caller is to look at the run. */
static bool is_to_be_shown(struct hg_run *r)
{
    return r->course.look_at > 0 && r->res->work >= r->course.look_at;
}

/* Says whether the violation is less than any before, by a thousandth at least: less is no progress. */
static bool is_better(struct hg_run *r)
{
    return r->report->violation < HG_BETTER * r->course.best;
}

/* Says whether there was no less violation for so many rounds that a look back is worth two gradients in f64. Where W
 * is all points a round is a whole run, and few of them are many. */
static bool seems_stalled(struct hg_run *r)
{
    uint64_t patience = r->w.n == r->n ? HG_STALL_WHOLE : HG_STALL_ROUNDS + r->n / r->w.q;
    return hg_has_worked_enough(r) || (!is_better(r) && r->report->rounds - r->course.best_round > patience);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const struct rule {
    bool (*applies)(struct hg_run *r);
    hinge_status (*act)(struct hg_run *r);
    bool is_check; /* its time is that of checks */
} RULES[] = {
    /* when              what            how the run may end by it */
    { hg_is_broken_off,  end,          false }, /* as the halt says; NONFINITE */
    { may_have_erred,    look_at_rows, true },  /* STALLED, coarse: the rows' error outweighs the violation */
    { is_small,          verify,       true },  /* CONVERGED, proven in f64; STALLED where no correction proves it */
    { comes_near,        look_ahead,   true },
    { is_out_of_steps,   give_up,      false }, /* MAX_ITER */
    { is_to_be_shown,    show,         true },  /* MAX_ITER: it does not gain */
    { seems_stalled,     look_back,    false }, /* STALLED: no progress for long, by Newton neither */
    { is_better,         mark,         false },
};

/* Goes through the rules from the first: each that applies is acted by, and says in next whether the run goes on,
 * whether all rules are asked again, or those below it. All are asked again where the run was halted, which the first
 * rule ends, or where waking points or correcting g has left the violation small: corrections are counted, so that has
 * an end. */
hinge_status hg_judge(struct hg_run *r)
{
    for (size_t k = 0; k < sizeof RULES / sizeof *RULES;) {
        const struct rule *rule = &RULES[k++];
        if (!rule->applies(r))
            continue;
        double begin = hg_now();
        r->course.next = HG_GO_ON;
        HG_TRY(rule->act(r));
        r->report->phase.certificate += rule->is_check ? hg_now() - begin : 0;
        if (r->course.next == HG_GO_ON || r->course.phase == HG_ENDED)
            break;
        k = r->course.next == HG_ANEW ? 0 : k;
    }
    return HINGE_OK;
}
