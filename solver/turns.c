/*
 * Who takes a turn, and what is kept of it. Read turns.h before.
 */
#include "solver/turns.h"

#include <math.h>
#include <string.h>

/* An iteration of the interior point, in reads of a value: of a row, and of a row and pair of columns
 * (doc/tried.md, "turns"). */
static const double OF_ROW = 700, OF_PAIR = 0.2;

enum { USUAL_ITERATIONS = 30 };

/* What a turn may take at least, 0.03 s of SMO's before it is looked at, 0.3 s of the interior point's, which may take
 * so many times what the problem has taken so far, as may be what SMO has left; and the share of itself by which SMO's
 * objective falls where that is a gain. */
static const double LEAST_SMO = 1e8, LEAST_INSIDE = 1e9, TIMES_SMO = 2, TIMES_INSIDE = 4, GAIN = 1e-4;

/* Copies the coefficients aside, or back. */
static void copy(const struct hg_turns *t, bool back)
{
    double *all = t->kept;
    for (int l = 0; l < t->qp->layers; l++, all += t->qp->n)
        memcpy(back ? t->qp->beta[l] : all, back ? all : t->qp->beta[l], t->qp->n * sizeof *all);
}

double hg_turns_inside_work(const struct hg_qp *qp, size_t columns, uint64_t iterations)
{
    double n = (double)qp->n * qp->layers, d = (double)columns;
    return (double)iterations * n * (OF_ROW + OF_PAIR * d * d);
}

bool hg_turns_may_inside(const struct hg_turns *t, size_t columns)
{
    return hg_turns_inside_work(t->qp, columns, USUAL_ITERATIONS) <= HG_MAX(TIMES_INSIDE * t->work, LEAST_INSIDE);
}

/* Says whether SMO would be at eps in time, if each factor by which the violation falls takes as long as since the last
 * look. */
static bool sees_eps(const struct hg_turns *t, const struct hg_way *way)
{
    double fallen = log(t->look.violation / way->violation), left = log(way->violation / t->eps);
    double since = way->work - t->look.last, so_far = t->work + way->work;
    return t->eps == 0 || (fallen > 0 && left / fallen * since <= TIMES_SMO * so_far);
}

struct hg_look hg_turns_first_look(double work, double objective, double violation)
{
    return (struct hg_look){ HG_MAX(work / 4, LEAST_SMO), objective, violation, 0 };
}

double hg_turns_look(void *turns, const struct hg_way *way)
{
    struct hg_turns *t = turns;
    struct hg_look *l = &t->look;
    bool falls = way->objective + way->noise < l->objective - GAIN * fabs(l->objective);
    bool gains = falls || (way->violation <= l->violation / 2 && way->objective <= t->objective);
    gains = gains && sees_eps(t, way);
    *l = (struct hg_look){ l->work, HG_MIN(l->objective, way->objective), HG_MIN(l->violation, way->violation),
                           way->work };
    return gains ? 2 * way->work : 0;
}

hinge_status hg_turns_take(struct hg_turns *t, enum hg_solver who)
{
    hinge_outcome before = t->outcome;
    double objective = t->objective, violation = t->violation;
    copy(t, false);
    t->keep(t);
    t->look = hg_turns_first_look(t->work, objective, violation);
    hinge_status status = t->run(t, who);
    if (status != HINGE_OK && status != HINGE_ENOMEM)
        return status;
    bool ran = status == HINGE_OK, ends = ran && t->outcome == HINGE_CONVERGED, lost = before == HINGE_NONFINITE;
    bool better = ran && (ends || (lost ? isfinite(t->objective) : t->objective < objective));
    bool says = ran && (ends || hg_ended_early(t->outcome) || (lost ? better : who == HG_SMO));
    if (!better) {
        copy(t, true);
        t->objective = objective;
        t->violation = violation;
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
    return HINGE_OK;
}
