/*
 * Says what a round's violation means for a run: whether it goes on, is corrected, is left to its last resort, or ends.
 * RULES at the end is the state machine: the first rule that applies is acted by, and next then says where the run goes
 * from there. Read rules.h before.
 */
#include "solver/smo/rules.h"

#include <math.h>

enum { AHEAD = 20 }; /* times the violation to be reached: the error of rows is looked at */

void hg_course_begin(struct hg_course *c, double eps, uint64_t max_iter)
{
    *c = (struct hg_course){ .verbs = c->verbs,
                             .run = c->run,
                             .report = c->report,
                             .eps = eps,
                             .max_iter = max_iter,
                             .most_corrections = HG_MAX_CORRECTIONS,
                             .target = eps,
                             .best = INFINITY,
                             .best_round = c->report->rounds,
                             .best_work = c->verbs->work(c->run) };
}

/* ---- what is done ------------------------------------------------------------------------------------------------ */

/* Actions of the rules begin here; hg_judge has set next to HG_GO_ON, and an action sets it where it is another one. */

static hinge_status end(struct hg_course *c)
{
    c->phase = HG_ENDED;
    return HINGE_OK;
}

static hinge_status end_with(struct hg_course *c, hinge_outcome outcome)
{
    c->report->outcome = outcome;
    return end(c);
}

/* Ends the run with MAX_ITER: max_iter is reached, or another solver goes on from it. */
static hinge_status give_up(struct hg_course *c)
{
    return end_with(c, HINGE_MAX_ITER);
}

/* Ends a run that gains nothing. By rows that are not f64 that may be their rounding's doing, and the caller is told to
 * try better ones. */
static hinge_status stall(struct hg_course *c)
{
    c->coarse = true;
    return end_with(c, HINGE_STALLED);
}

static bool is_small(struct hg_course *c)
{
    return c->report->violation <= c->target;
}

static bool is_halted(const struct hg_course *c)
{
    return c->verbs->halt(c->run) != HINGE_CONVERGED;
}

/* Goes on where a gradient was mended or completed: all rules anew where the violation is small still, or the run was
 * stopped meanwhile; otherwise with another round. */
static hinge_status judge_changed(struct hg_course *c, hinge_status status)
{
    c->next = is_small(c) || is_halted(c) ? HG_ANEW : HG_GO_ON;
    return status;
}

/* Ends the run where its rows are too coarse; otherwise the rules below decide. */
static hinge_status look_at_rows(struct hg_course *c)
{
    c->next = HG_NEXT;
    HG_TRY(c->verbs->look_at_rows(c->run));
    return c->coarse ? end_with(c, HINGE_STALLED) : HINGE_OK;
}

/* Finds out whether the violation is small for all points, and whether the rows are exact enough to say so. The order
 * is that of cost: points at rest wake, g becomes exact where it decides, the goal is set lower, and in the end all of
 * g is made anew in f64.
 *
 * The goal can be lower where rows are right to a share of eps: at a violation of `left` by g, it is at most eps with
 * an error at both ends of it, and a tenth of that. One that has hardly changed was tried already. Where g is off at
 * points that decide nothing here, no goal mends that. */
static hinge_status verify(struct hg_course *c)
{
    const struct hg_verbs *v = c->verbs;
    bool proven = false;
    if (v->rests != NULL && v->rests(c->run))
        return judge_changed(c, v->wake(c->run));
    if (v->is_known(c->run))
        return end_with(c, HINGE_CONVERGED);
    c->is_off = false;
    HG_TRY(v->prove(c->run, &proven));
    if (is_halted(c))
        return judge_changed(c, HINGE_OK);
    if (proven && !c->is_off)
        return end_with(c, HINGE_CONVERGED);
    /* The points that decide are exact now, and may say that there is more to do. */
    bool more = c->report->violation > c->eps && ++c->checks % HG_CHECKS != 0;
    double left = c->eps - HG_ERROR_SHARE * c->report->error;
    if (!more && !c->is_off && left >= HG_LEAST_TARGET * c->eps && c->target > HG_SLACK * left) {
        c->target = left; /* cheaper than a gradient in f64 */
        more = true;
    }
    if (more && !c->is_off && !is_small(c)) { /* whether there is progress from here on is asked as ever */
        c->phase = HG_NEAR;
        c->next = HG_NEXT;
    }
    if (more && !c->is_off)
        return HINGE_OK;
    return c->report->corrections < c->most_corrections ? judge_changed(c, v->correct(c->run)) : stall(c);
}

/* Looks at the rows' error on the way: where it will not do in the end, the active gradient is corrected while it is
 * still far from the goal, and what follows is not done twice. */
static hinge_status look_ahead(struct hg_course *c)
{
    c->phase = HG_NEAR;
    HG_TRY(c->verbs->look_ahead(c->run));
    c->next = is_halted(c) ? HG_ANEW : HG_GO_ON; /* by this W: the bias may have to come from it */
    return HINGE_OK;
}

/* Notes the best violation, its round and work, from which patience counts, and the objective where rounds alone tell
 * it. */
static hinge_status mark(struct hg_course *c)
{
    c->best = c->report->violation;
    c->best_round = c->report->rounds;
    c->best_work = c->verbs->work(c->run);
    if (c->verbs->recompute == NULL)
        c->last_objective = c->objective;
    return HINGE_OK;
}

/* Says whether the objective is certainly below what it was. */
static bool falls(const struct hg_course *c, double before)
{
    return before - c->objective > HG_CERTAIN * c->noise;
}

/* Makes the gradient and the objective anew, to find out whether there was no progress for long: a violation may go up
 * and down while the objective falls. Progress is certainly more than the objective's noise since it was last computed
 * so, as what rounds add up drifts with the error of g, and less would not be kept; where nothing is computed anew,
 * since the last mark. Newton's steps are the last resort, once. Where they gain neither so much nor half of the
 * violation, the run ends. */
static hinge_status look_back(struct hg_course *c)
{
    const struct hg_verbs *v = c->verbs;
    double before = c->last_objective, violation;
    if (v->recompute != NULL)
        HG_TRY(v->recompute(c->run));
    else
        c->noise = HG_USUAL_NOISE * fabs(c->objective);
    if (hg_is_broken_off(c) || is_small(c)) {
        c->next = HG_ANEW;
        return HINGE_OK;
    }
    if (!v->has_worked_enough(c->run) && falls(c, before))
        return mark(c);
    bool tried = false;
    violation = c->report->violation;
    if (!c->resorted && v->resort != NULL)
        HG_TRY(v->resort(c->run, &tried));
    c->resorted = c->resorted || tried;
    bool gains = tried && (falls(c, before) || c->report->violation <= violation / 2);
    return gains || (tried && is_halted(c)) ? HINGE_OK : stall(c);
}

static hinge_status show(struct hg_course *c)
{
    bool goes_on = true;
    c->next = HG_ANEW;
    HG_TRY(c->verbs->show(c->run, &goes_on));
    return goes_on ? HINGE_OK : give_up(c);
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

bool hg_is_broken_off(struct hg_course *c)
{
    if (is_halted(c))
        c->report->outcome = c->verbs->halt(c->run);
    else if (!isfinite(c->report->violation))
        c->report->outcome = HINGE_NONFINITE;
    else
        return false;
    return true;
}

/* Says whether it is time to look at the rows' error, by rounds: their errors grow with what they are added to. */
static bool may_have_erred(struct hg_course *c)
{
    return c->verbs->look_at_rows != NULL && c->verbs->may_err(c->run) && (c->report->rounds + 1) % HG_LOOK == 0;
}

/* Says whether the run comes near its goal for the first time, where a look ahead is worth what it costs. */
static bool comes_near(struct hg_course *c)
{
    return c->verbs->look_ahead != NULL && c->phase == HG_FAR && c->report->violation <= AHEAD * c->target &&
           c->verbs->may_err(c->run);
}

/* Says whether the steps are used up, or whether the caller leaves: another solver may do the rest in less time. */
static bool is_out_of_steps(struct hg_course *c)
{
    return hg_is_out_of_steps(c) || (c->verbs->leaves != NULL && c->verbs->leaves(c->run));
}

/* Says whether the caller is to look at the run. */
static bool is_to_be_shown(struct hg_course *c)
{
    return c->verbs->is_shown != NULL && c->verbs->is_shown(c->run);
}

/* Says whether the violation is less than any before, by a thousandth at least: less is no progress. */
static bool is_better(struct hg_course *c)
{
    return c->report->violation < HG_BETTER * c->best;
}

/* Says whether there was no less violation for so many rounds that a look back is worth two gradients in f64. */
static bool seems_stalled(struct hg_course *c)
{
    return c->verbs->has_worked_enough(c->run) ||
           (!is_better(c) && c->report->rounds - c->best_round > c->verbs->patience(c->run));
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const struct rule {
    bool (*applies)(struct hg_course *c);
    hinge_status (*act)(struct hg_course *c);
    bool is_check; /* its time is that of checks */
} RULES[] = {
    /* when              what            how the run may end by it */
    { hg_is_broken_off, end, false },       /* as the halt says; NONFINITE */
    { may_have_erred, look_at_rows, true }, /* STALLED, coarse: the rows' error outweighs the violation */
    { is_small, verify, true },             /* CONVERGED, proven in f64; STALLED where no correction proves it */
    { comes_near, look_ahead, true },
    { is_out_of_steps, give_up, false }, /* MAX_ITER */
    { is_to_be_shown, show, true },      /* MAX_ITER: it does not gain */
    { seems_stalled, look_back, false }, /* STALLED: no progress for long, by the last resort neither */
    { is_better, mark, false },
};

/* Goes through the rules from the first: each that applies is acted by, and says in next whether the run goes on,
 * whether all rules are asked again, or those below it. All are asked again where the run was halted, which the first
 * rule ends, or where waking points or correcting g has left the violation small: corrections are counted, so that has
 * an end. */
hinge_status hg_judge(struct hg_course *c, double *checks)
{
    for (size_t k = 0; k < sizeof RULES / sizeof *RULES;) {
        const struct rule *rule = &RULES[k++];
        if (!rule->applies(c))
            continue;
        double begin = hg_now();
        c->next = HG_GO_ON;
        HG_TRY(rule->act(c));
        if (checks != NULL && rule->is_check)
            *checks += hg_now() - begin;
        if (c->next == HG_GO_ON || c->phase == HG_ENDED)
            break;
        k = c->next == HG_ANEW ? 0 : k;
    }
    return HINGE_OK;
}
