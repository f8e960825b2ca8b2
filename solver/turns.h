/*
 * Turns of two solvers at one problem: SMO, and the interior point. One goes on for the other where that has stalled,
 * or has taken more than the other would; the better point stays. A training and the folds of a grid have this in
 * common; how a solver runs, and on which factor of the kernel, is theirs. Read qp.h before.
 *
 * A second solver is not run for nothing. Work is counted, in reads of an f32 value from memory (0.3 ns), as block SMO
 * does. The interior point, whose iterations are few, is begun where those that it usually makes are not much more than
 * the problem has taken so far. SMO gets a quarter of that, and goes on for as much again, and so on, while each look
 * at it finds that it gains, and that eps is in sight. It gains where the objective has fallen by a share of itself,
 * or, where it is not above that of the best point known, the violation has halved. Eps is in sight where the
 * violation, should it go on falling by the same factors, would be there within twice the work so far.
 */
#ifndef HG_TURNS_H
#define HG_TURNS_H

#include "solver/qp.h"

#include <math.h>

enum hg_solver { HG_SMO, HG_INSIDE };

/* Tells how far a run of SMO has come, by a gradient that was made anew in f64. */
struct hg_way {
    double work;                 /* in reads of a value */
    double violation, objective; /* of the point */
    double noise;                /* what rounding may have made of the objective */
};

/* Holds where a problem stands between turns, and how its solvers run. The caller sets all but look before the first
 * turn. */
struct hg_turns {
    struct hg_qp *qp;            /* beta: the best point known */
    double eps;                  /* that is to be reached; 0: SMO goes on wherever it gains */
    double *kept;                /* [n * layers] room for the one before a turn */
    hinge_outcome outcome;       /* of beta, */
    double objective, violation; /* and these */
    double work;                 /* that it has taken so far, by all solvers */
    /* Runs a solver, SMO from qp->beta, and sets outcome, objective and violation to what came out; adds to work. SMO
     * asks hg_turns_look after look.work. HINGE_ENOMEM: it had no room, and err says nothing of it. */
    hinge_status (*run)(struct hg_turns *t, enum hg_solver who);
    /* Called before a turn to keep what else the caller knows of beta; then to take what has come out, or what was
     * kept. Work counts in both. */
    void (*keep)(struct hg_turns *t);
    void (*settle)(struct hg_turns *t, enum hg_solver who, bool taken);
    void *arg;
    /* Of the turn in hand: the work after which SMO is looked at for the first time, the best at looks so far, and the
     * work by the last. */
    struct hg_look {
        double work, objective, violation, last;
    } look;
};

/* Lets a solver take its turn. What comes out is taken where it has converged, or else where its objective is less, or
 * a number where that was none; otherwise all is as it was. The outcome is what the turn says where it is SMO's, has
 * converged or was ended by the caller; otherwise it stays. */
hinge_status hg_turns_take(struct hg_turns *t, enum hg_solver who);

/* Returns where a run of SMO stands that begins after so much work at such a point: it is looked at for the first time
 * after a quarter of that. */
struct hg_look hg_turns_first_look(double work, double objective, double violation);

/* Looks at SMO in its turn, as hg_smo_options.look; turns: struct hg_turns. Returns the work after which it is to be
 * looked at again; 0: it does not gain, and ends. */
double hg_turns_look(void *turns, const struct hg_way *way);

/* Returns the gap, a share of the objective, that the interior point is asked for beside a violation of eps: no less
 * than sums in double are good for. */
static inline double hg_turns_inside_gap(double eps)
{
    return fmin(fmax(eps, 1e-12), 1e-6);
}

/* Returns the work of so many iterations of the interior point, on a factor of so many columns; and whether it is worth
 * a turn on one. */
double hg_turns_inside_work(const struct hg_qp *qp, size_t columns, uint64_t iterations);
bool hg_turns_may_inside(const struct hg_turns *t, size_t columns);

/* Lets the interior point go on for SMO, where it may. Where that does not end at eps, SMO goes on from the better of
 * both, if that is not where it stalled. */
hinge_status hg_turns_go_on(struct hg_turns *t, bool may_inside);

#endif
