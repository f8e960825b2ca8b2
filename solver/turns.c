/*
 * Who takes a turn, and what is kept of it. Read turns.h before.
 */
#include "solver/turns.h"

#include <math.h>
#include <string.h>

/* Copies the coefficients aside, or back. */
static void copy(const struct hg_turns *t, bool back)
{
    double *all = t->kept;
    for (int l = 0; l < t->qp->layers; l++, all += t->qp->n)
        memcpy(back ? t->qp->beta[l] : all, back ? all : t->qp->beta[l], t->qp->n * sizeof *all);
}

hinge_status hg_turns_take(struct hg_turns *t, enum hg_solver who)
{
    hinge_outcome before = t->outcome;
    double objective = t->objective;
    copy(t, false);
    t->keep(t);
    hinge_status status = t->run(t, who);
    if (status != HINGE_OK && status != HINGE_ENOMEM)
        return status;
    bool ran = status == HINGE_OK, ends = ran && t->outcome == HINGE_CONVERGED, lost = before == HINGE_NONFINITE;
    bool better = ran && (ends || (lost ? isfinite(t->objective) : t->objective < objective));
    bool says = ran && (ends || hg_ended_early(t->outcome) || (lost && better));
    if (!better) {
        copy(t, true);
        t->objective = objective;
    }
    t->settle(t, who, better);
    t->outcome = says ? t->outcome : before;
    return HINGE_OK;
}

hinge_status hg_turns_go_on(struct hg_turns *t, bool may_inside)
{
    bool stalled = t->outcome == HINGE_STALLED;
    double objective = t->objective;
    if (may_inside)
        HG_TRY(hg_turns_take(t, HG_INSIDE));
    if (t->outcome == HINGE_CONVERGED || hg_ended_early(t->outcome))
        return HINGE_OK;
    if (t->objective < objective || !stalled)
        HG_TRY(hg_turns_take(t, HG_SMO));
    if (t->outcome == HINGE_MAX_ITER)
        t->outcome = HINGE_STALLED;
    return HINGE_OK;
}
